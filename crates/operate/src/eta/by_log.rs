//! Groups that recover by their log. No export says on which devices they lack copies, so the model moves
//! nothing: what is left is counted between two reports. While groups wait for a reservation, as many are
//! copied at a time as before, and the rate stays. Where all recover at once, each primary copies one object
//! after the other, so the rate falls while primaries end, and the one with the most groups is last: which
//! groups a primary has is drawn.

use serde::{Deserialize, Serialize};
use towtank_imports::ceph::GroupsInState;
use towtank_streams::{Draws, Purpose, Seed, Uniform as _};

use super::case::Ready;
use super::moments::Moment;
use super::stretch::{TENTH, apart_s};
use crate::whatif::orders::{SHARES, quantile};

/// So many times groups are drawn onto primaries.
const DRAWN: u64 = 101;

const PRIMARIES: Purpose = Purpose(1);

/// What was counted in two reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// The file of the earlier report.
    pub file: String,
    /// How long before the latest one it was made, in seconds.
    pub since_s: f64,
    /// Copies that were left then, and that are now.
    pub left: [u64; 2],
    /// Groups that recovered then, and that do now, without those that wait for it.
    pub groups: [u64; 2],
    /// Groups that wait for it now.
    pub waiting: u64,
    /// Devices that are up.
    pub devices: u64,
}

impl Counted {
    /// Copies that were made between the reports.
    pub fn made(&self) -> u64 {
        self.left[0].saturating_sub(self.left[1])
    }

    /// The time that is left, in seconds, with the ends of its range.
    pub fn times(&self) -> [f64; 3] {
        let made = self.made().max(1) as f64;
        let spread = TENTH * libm::hypot(apart_s() / self.since_s.max(apart_s()), 1.0 / libm::sqrt(made));
        let ends =
            |time: f64, [low, high]: [f64; 2]| [time, low * (1.0 - spread).max(0.0), high * (1.0 + spread)];
        if self.waiting > 0 {
            let time = self.left[1] as f64 * self.since_s / made;
            return ends(time, [time; 2]);
        }
        let groups = self.groups[1].max(1);
        let busy = (self.busy(self.groups[0].max(groups)) + self.busy(groups)) / 2.0;
        // What one primary takes for a copy.
        let each = self.since_s * busy / made;
        let of_group = self.left[1] as f64 / groups as f64;
        let mut times: Vec<f64> =
            (0..DRAWN).map(|draw| self.most_groups(groups, draw) as f64 * of_group * each).collect();
        times.sort_by(f64::total_cmp);
        ends(times[times.len() / 2], SHARES.map(|share| quantile(&times, share)))
    }

    /// How many devices are primaries of so many groups, in the mean.
    fn busy(&self, groups: u64) -> f64 {
        let devices = self.devices.max(1) as f64;
        devices * (1.0 - libm::pow(1.0 - 1.0 / devices, groups as f64))
    }

    /// How many groups the primary has that has the most of them, in a draw.
    fn most_groups(&self, groups: u64, draw: u64) -> u64 {
        let mut draws = Draws::new(Seed(0), 0, draw);
        let mut draws = draws.of(PRIMARIES);
        let mut of_devices = vec![0_u64; self.devices.max(1) as usize];
        for _ in 0..groups {
            let device = draws.next_u64() % self.devices.max(1);
            of_devices[device as usize] += 1;
        }
        of_devices.into_iter().max().unwrap_or(0)
    }
}

/// What the newest stretch counted, or why there is none.
pub(super) fn counted(ready: &Ready) -> Result<Counted, String> {
    let stretches = &ready.stretches;
    let why = stretches.stands.as_ref().or(stretches.assumed.as_ref());
    let Some(number) = stretches.begins.first() else {
        return Err(why.map_or("the reports do not count what is left", String::as_str).to_owned());
    };
    let (one, latest) = (&ready.moments[*number], ready.latest());
    let left = |moment: &Moment| {
        moment.left().ok_or_else(|| format!("`{}` does not count what is left", moment.file))
    };
    let devices = latest.report.osd_dump.osds.iter().filter(|osd| osd.up).count() as u64;
    Ok(Counted {
        file: one.file.clone(),
        since_s: one.seconds_before(latest),
        left: [left(one)?, left(latest)?],
        groups: [one, latest].map(|moment| groups(moment, "recovering")),
        waiting: groups(latest, "recovery_wait"),
        devices,
    })
}

/// Groups that are being copied by their state.
pub(super) fn copied(moment: &Moment) -> u64 {
    groups(moment, "recovering") + groups(moment, "backfilling")
}

/// Groups whose state has a word.
fn groups(moment: &Moment, word: &str) -> u64 {
    let is = |one: &&GroupsInState| one.is(word);
    moment.report.states.iter().filter(is).map(|one| one.groups).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(since_s: f64, left: [u64; 2], groups: [u64; 2], devices: u64) -> Counted {
        Counted { file: "1.report.json".to_owned(), since_s, left, groups, waiting: 0, devices }
    }

    #[test]
    fn what_is_left_takes_as_long_as_its_last_primary() {
        // One device is the primary of all: 10 copies a second.
        let [time, low, high] = of(60.0, [900, 300], [8, 8], 1).times();
        assert!((time - 30.0).abs() < 1e-9 && low < time && time < high, "{low} {time} {high}");
        assert_eq!(of(60.0, [300, 0], [8, 1], 6).times(), [0.0; 3]);
        // The one that has the most groups takes longer than the mean of all.
        let [time, ..] = of(60.0, [900, 300], [8, 8], 6).times();
        assert!(time > 40.0, "{time}");
        // With many groups on few devices all end at about the same time.
        let [time, ..] = of(60.0, [90_000, 30_000], [2_000, 2_000], 4).times();
        assert!((30.0..34.0).contains(&time), "{time}");
    }

    #[test]
    fn groups_that_wait_go_on_at_the_rate_of_all() {
        let waiting = Counted { waiting: 3, ..of(60.0, [900, 300], [1, 1], 6) };
        let [time, low, high] = waiting.times();
        assert!((time - 30.0).abs() < 1e-9 && 24.0 < low && high < 36.0, "{low} {time} {high}");
    }

    #[test]
    fn few_copies_and_little_time_say_little() {
        let width = |counted: Counted| counted.times()[2] / counted.times()[1];
        let enough = || width(of(60.0, [900, 300], [8, 8], 6));
        assert!(width(of(60.0, [90, 30], [8, 8], 6)) > enough());
        assert!(width(of(10.0, [900, 300], [8, 8], 6)) > enough());
    }
}
