//! The checks of the shared keys.

use towtank_rebuild::hardware::Hardware;
use towtank_rebuild::model::{Arrivals, Load, WINDOW_MAX};
use towtank_rebuild::redundancy::Redundancy;
use towtank_report::{Warning, human};
use towtank_scenario::{Draft, Problems};
use towtank_units::{Bytes, Frequency, Percent};

use crate::keys::{Clients, Pacing};
use crate::levers::OVERRIDE;
use crate::releases::{self, Resets};
use crate::settings::Settings;

/// The largest share of the disks or NICs that clients may use when nothing has failed.
const CLIENTS_MAX: f64 = 0.9;

/// Keys of the queue of Ceph's daemons.
pub const QUEUE: [&str; 5] = ["ceph_release", "queue", "profile", "osd_capacity", "recovery_cost"];

/// The machines whose clients are checked.
#[derive(Clone, Copy)]
pub struct Fleet<'a> {
    /// The machines.
    pub hardware: &'a Hardware,
    /// For each class of disks, whether they rotate.
    pub rotates: &'a [bool],
}

impl Settings {
    /// Checks amounts.
    pub fn check_amounts(&self, draft: &Draft, problems: &mut Problems) {
        let legal = 512..=1 << 30;
        if !legal.contains(&self.unit.get()) {
            let message = format!("`unit` is {}, but it must lie from 512B to 1GiB", self.unit);
            problems.refuse(draft, "unit", message, "Ceph and the published study use 4MiB");
        }
        if self.window as usize > WINDOW_MAX {
            let message = format!("`window` is {}, but the limit is {WINDOW_MAX}", self.window);
            problems.refuse(draft, "window", message, "use larger units");
        }
        if self.backfillfull_ratio > Percent::FULL {
            let message = format!("`backfillfull_ratio` is {}, more than 100%", self.backfillfull_ratio);
            problems.refuse(draft, "backfillfull_ratio", message, "Ceph's default is 90%");
        }
    }

    /// Checks the keys of the queue against each other, and warns of what was asked for and has no effect.
    pub fn check_queue(&self, asked: &Pacing, draft: &Draft, problems: &mut Problems) -> Vec<Warning> {
        let named = asked.ceph_release.filter(|_| draft.says("ceph_release"));
        let mut warnings: Vec<Warning> =
            named.and_then(|named| releases::outside(named.0)).into_iter().collect();
        let Some(mclock) = self.mclock else {
            let unused = if self.usual.of_ceph { &QUEUE[2..] } else { &QUEUE[..] };
            for key in unused.iter().filter(|key| draft.says(key)) {
                let message = format!("`{key}` describes mClock, but the queue is not mClock");
                problems.refuse(draft, key, message, "set queue = \"mclock\", or leave it out");
            }
            return warnings;
        };
        if mclock.counts_bytes() && draft.says("recovery_cost") {
            let message = format!(
                "`recovery_cost` is what a work item counts for before Ceph 17.2.7, not in {}",
                mclock.release
            );
            let hint = "leave it out: from 17.2.7 on an object counts its bytes";
            problems.refuse(draft, "recovery_cost", message, hint);
        }
        let overridden = [
            ("recovery_sleep", asked.recovery_sleep != Some(self.recovery_sleep)),
            ("unit", asked.unit != Some(self.unit)),
            ("window", asked.window != Some(self.window)),
        ];
        for (key, _) in overridden.into_iter().filter(|(key, differs)| *differs && draft.says(key)) {
            let why = match key {
                "recovery_sleep" => "mClock sets all recovery sleeps to 0",
                _ => "under mClock an object moves in pushes of up to 8 MiB, one after the other",
            };
            warnings.push(Warning::note(format!("{why}, so `{key}` has no effect")));
        }
        let usual = mclock.recovering(true);
        let keys = [
            ("max_backfills", self.max_backfills, usual.backfills),
            ("recovery_max_active", self.recovery_max_active, usual.active),
        ];
        for (key, _, usual) in keys.into_iter().filter(|(key, own, usual)| own != usual && draft.says(key)) {
            warnings.push(Warning::note(match mclock.release.resets() {
                Resets::Always => format!(
                    "Ceph {} sets `osd_{key}` to {} under a profile; here it is as given",
                    mclock.release,
                    human::digits(f64::from(usual))
                ),
                Resets::Unless => {
                    format!("mClock resets `osd_{key}` unless `{OVERRIDE}` is true; here it is as given")
                }
            }));
        }
        warnings
    }

    /// The load of the clients; none where their rate is zero.
    #[must_use]
    pub fn load(&self, redundancy: Redundancy) -> Option<Load> {
        let clients = self.clients?;
        Some(Load {
            arrivals: clients.arrivals,
            reads: clients.read.fraction_f64(),
            bytes: u32::try_from(clients.size.get()).ok()?,
            redundancy,
            weights: clients.weights,
        })
    }

    /// Checks the clients. A queue that grows without bound has no mean latency, so a cluster that cannot
    /// serve them even without a rebuild is refused.
    pub fn check_clients(
        &self,
        asked: &Clients,
        redundancy: Redundancy,
        fleet: Fleet<'_>,
        draft: &Draft,
        problems: &mut Problems,
    ) {
        let legal = 512..=64 << 20;
        if let Some(size) = asked.client_size.filter(|size| !legal.contains(&size.get())) {
            let message = format!("`client_size` is {size}, but it must lie from 512B to 64MiB");
            problems.refuse(draft, "client_size", message, "leave it out for 64KiB");
            return;
        }
        if let Some(read) = asked.client_read.filter(|&read| read > Percent::FULL) {
            let message = format!("`client_read` is {read}, more than 100%");
            problems.refuse(draft, "client_read", message, "leave it out for 70%");
            return;
        }
        let Some(load) = self.load(redundancy) else {
            let keys = ["client_read", "client_size", "client_weight"].into_iter();
            let left_out = asked.client_load.is_none();
            // What clients write while a device is away has a size too.
            let counts = |key: &str| key == "client_size" && draft.says("client_writes");
            for key in keys.filter(|key| left_out && draft.says(key) && !counts(key)) {
                let message =
                    format!("`{key}` describes clients, but `client_load` and `client_depth` are left out");
                problems.refuse(draft, key, message, "set client_load = \"1000/s\", or leave it out");
            }
            return;
        };
        if asked.client_load.is_some() && asked.client_depth.is_some() {
            let message = "`client_load` and `client_depth` both say how many operations clients request";
            problems.refuse(draft, "client_depth", message, "leave one of them out");
        }
        let Arrivals::Open(rate) = load.arrivals else { return };
        self.check_profile(&load, rate, fleet, draft, problems);
        let share = load.share(fleet.hardware, rate);
        if share > CLIENTS_MAX {
            let most = (rate.per_second_f64() / share * CLIENTS_MAX).floor();
            let size = Bytes::new(u64::from(load.bytes));
            let message = format!(
                "`client_load` is {}, but the cluster serves at most {most}/s of {size} at {:.0} % of its disks or NICs",
                rate,
                100.0 * CLIENTS_MAX
            );
            problems.refuse(draft, "client_load", message, "lower it, or set more or faster disks");
        }
    }

    /// The rate that the profile grants clients of this load, if they come at a rate that is too near it.
    fn exceeded(&self, load: &Load, rate: Frequency, fleet: Fleet<'_>) -> Option<f64> {
        let mclock = self.mclock?;
        // Each disk is the first one of as many operations, so the class with the lowest limit decides.
        let bytes = u64::from(load.bytes);
        let each = fleet.rotates.iter().filter_map(|&rotates| mclock.most_of_clients(rotates, bytes));
        let most = each.reduce(f64::min).map(|each| each * f64::from(fleet.hardware.devices()));
        most.filter(|most| rate.per_second_f64() > CLIENTS_MAX * most)
    }

    /// Whether the profile grants clients what they request.
    #[must_use]
    pub fn grants(&self, load: &Load, fleet: Fleet<'_>) -> bool {
        match load.arrivals {
            Arrivals::Open(rate) => self.exceeded(load, rate, fleet).is_none(),
            Arrivals::Closed(_) => true,
        }
    }

    /// Refuses a rate of clients that the profile does not grant them: their queue would grow without bound.
    fn check_profile(
        &self,
        load: &Load,
        rate: Frequency,
        fleet: Fleet<'_>,
        draft: &Draft,
        problems: &mut Problems,
    ) {
        let Some(mclock) = self.mclock else { return };
        if let Some(most) = self.exceeded(load, rate, fleet) {
            let message = format!(
                "`client_load` is {rate}, but `{}` grants clients at most {most:.0}/s of {} bytes in Ceph {}",
                mclock.profile.name(),
                load.bytes,
                mclock.release
            );
            let hint =
                "set client_load to at most 90 % of that, set `client_depth`, or choose another profile";
            problems.refuse(draft, "client_load", message, hint);
        }
    }
}
