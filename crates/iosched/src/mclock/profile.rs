//! The profiles of Ceph's mClock scheduler: the shares of an OSD's capacity for clients, recovery and
//! background work. The figures are those of Ceph's documentation (Reef).

use towtank_units::SimSpan;

use crate::{AtLimit, FlowId, FlowSpec, Flows, Mclock};

/// A set of reservations, weights and limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Profile {
    /// Clients and recovery alike.
    Balanced,
    /// Clients first.
    HighClientOps,
    /// Recovery first.
    HighRecoveryOps,
}

/// A class of an OSD's work; each is a flow of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Class {
    /// Clients' reads and writes.
    Client,
    /// Recovery and backfill.
    Recovery,
    /// Scrubbing, trimming of snapshots and the like.
    BestEffort,
}

impl Class {
    /// All classes, in the order of their flows.
    pub const ALL: [Class; 3] = [Class::Client, Class::Recovery, Class::BestEffort];

    /// The flow of this class in every profile.
    #[must_use]
    pub fn flow(self) -> FlowId {
        FlowId(match self {
            Class::Client => 0,
            Class::Recovery => 1,
            Class::BestEffort => 2,
        })
    }
}

/// Reservation in percent of the capacity, weight, and limit in percent; a limit of 0 means none.
type Row = (u64, u32, u64);

impl Profile {
    /// All profiles, with their names in Ceph.
    pub const ALL: [(Profile, &'static str); 3] = [
        (Profile::Balanced, "balanced"),
        (Profile::HighClientOps, "high_client_ops"),
        (Profile::HighRecoveryOps, "high_recovery_ops"),
    ];

    /// The time without requests after which a class counts as idle. Ceph passes the ages of its library
    /// (`standard_idle_age` in `dmclock_server.h`, since December 2018): `mClockScheduler` of 16 to 20 leaves
    /// them out, and that of 21 names them. The library looks once a minute (`standard_check_time`), so that
    /// a class becomes idle up to a minute later. Its age for forgetting a client, 600 s, makes no
    /// difference: a client that is new is idle too.
    pub const IDLE_AGE: SimSpan = SimSpan::from_secs(300);

    /// The scheduler of this profile as Ceph has it: a class at its limit waits, and is idle after
    /// [`Profile::IDLE_AGE`]. The capacity is that of [`Profile::flows`].
    #[must_use]
    pub fn scheduler<T>(self, depth: Option<u32>, capacity: u64) -> Mclock<T> {
        Mclock::new(depth, AtLimit::Wait, &self.flows(capacity)).idle_after(Profile::IDLE_AGE)
    }

    /// The rows of the profile, by class.
    fn rows(self) -> [Row; 3] {
        match self {
            Profile::Balanced => [(50, 1, 0), (50, 1, 0), (0, 1, 90)],
            Profile::HighClientOps => [(60, 2, 0), (40, 1, 0), (0, 1, 70)],
            Profile::HighRecoveryOps => [(30, 1, 0), (70, 2, 0), (0, 1, 0)],
        }
    }

    /// One flow per class, for a device with a capacity of this many units of cost per second. Without a
    /// measurement, Ceph assumes 315 random writes of 4 KiB on a hard disk and 21,500 on a solid-state disk.
    #[must_use]
    pub fn flows(self, capacity: u64) -> Flows {
        let part = |percent: u64| (u128::from(capacity) * u128::from(percent) / 100) as u64;
        let spec = |(reservation, weight, limit): Row| FlowSpec {
            reservation: part(reservation),
            weight,
            limit: part(limit),
            ..FlowSpec::default()
        };
        Flows::new(self.rows().into_iter().map(spec).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the study's reference, row by row: profile, class, reservation, weight, limit.
    const TABLE: &str = "\
balanced,client,50,1,MAX
balanced,background_recovery,50,1,MAX
balanced,background_best_effort,MIN,1,90
high_client_ops,client,60,2,MAX
high_client_ops,background_recovery,40,1,MAX
high_client_ops,background_best_effort,MIN,1,70
high_recovery_ops,client,30,1,MAX
high_recovery_ops,background_recovery,70,2,MAX
high_recovery_ops,background_best_effort,MIN,1,MAX
";

    #[test]
    fn the_profiles_are_those_of_the_table() {
        let number =
            |text: &str| if matches!(text, "MIN" | "MAX") { 0 } else { text.parse::<u64>().unwrap() };
        for row in TABLE.lines() {
            let [name, class, reservation, weight, limit] = row.split(',').collect::<Vec<_>>()[..] else {
                panic!("{row}")
            };
            let profile = Profile::ALL.iter().find(|known| known.1 == name).expect(row).0;
            let names = ["client", "background_recovery", "background_best_effort"];
            let class = Class::ALL[names.iter().position(|&known| known == class).expect(row)];
            let flows = profile.flows(1_000);
            let spec = flows.get(class.flow()).expect(row);
            let seen = (spec.reservation / 10, u64::from(spec.weight), spec.limit / 10);
            assert_eq!(seen, (number(reservation), number(weight), number(limit)), "{row}");
        }
    }
}
