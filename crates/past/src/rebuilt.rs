//! Groups that devices led back to all copies in their places, by counters that Ceph has since 20.2.4.

use std::collections::BTreeMap;

use towtank_imports::past::Rebuilt;

use crate::join::Past;

/// What counters of devices say of the groups that they led.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counters {
    /// Devices with such groups.
    pub devices: usize,
    /// Groups, their times, and the ends of these.
    pub all: Rebuilt,
    /// Whether they are of all the time since the daemons started; else of that between two dumps, and their
    /// ends are still of all of it.
    pub since_start: bool,
}

impl Past {
    /// The counters of all devices: of each the difference between its first and its last dump. One whose
    /// counts fell was started again in between, so that the last one says all.
    #[must_use]
    pub fn rebuilt(&self) -> Option<Counters> {
        let mut of: BTreeMap<Option<i32>, Vec<Rebuilt>> = BTreeMap::new();
        for work in self.work() {
            of.entry(work.device).or_default().extend(work.rebuilt);
        }
        let mut found: Option<Counters> = None;
        for dumps in of.values() {
            let Some((first, last)) = dumps.first().zip(dumps.last()) else { continue };
            let between = dumps.len() > 1 && first.groups <= last.groups && first.seconds <= last.seconds;
            let one = match between {
                true => Rebuilt {
                    groups: last.groups - first.groups,
                    seconds: last.seconds - first.seconds,
                    ..*last
                },
                false => *last,
            };
            if one.groups == 0 {
                continue;
            }
            let sum = found.get_or_insert(Counters {
                devices: 0,
                all: Rebuilt { groups: 0, seconds: 0.0, ..one },
                since_start: false,
            });
            let end = |mine: Option<f64>, theirs: Option<f64>, of: fn(f64, f64) -> f64| {
                mine.zip(theirs).map(|(mine, theirs)| of(mine, theirs))
            };
            sum.devices += 1;
            sum.since_start |= !between;
            sum.all = Rebuilt {
                groups: sum.all.groups.saturating_add(one.groups),
                seconds: sum.all.seconds + one.seconds,
                shortest_s: end(sum.all.shortest_s, one.shortest_s, f64::min),
                longest_s: end(sum.all.longest_s, one.longest_s, f64::max),
            };
        }
        found
    }
}
