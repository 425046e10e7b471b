//! What peering chooses, from what the replicas tell of themselves: whether enough of them answered, whose
//! log counts, and who can serve.
//!
//! A write is acknowledged when all acting replicas have it. So every acknowledged write of an interval is in
//! the log of each of its acting replicas, and whoever hears one complete replica of each interval that may
//! have served has heard of all of them. A replica whose `last_epoch_started` is E knows all that was
//! acknowledged before E, and earlier intervals need not be asked.
//!
//! Ceph leaves out intervals in which the primary did not announce itself (`up_thru`). This does not: a group
//! may wait for a device in vain that served nobody.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use towtank_units::SimSpan;

use crate::{Cursor, DeviceId, Epoch, Interval, Version};

/// What a replica tells of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Info {
    /// Its last change.
    pub last_update: Version,
    /// Behind which its log tells all changes.
    pub tail: Version,
    /// The last interval for which it took over the authoritative log.
    pub last_epoch_started: Epoch,
    /// How far it is filled.
    pub cursor: Cursor,
    /// What its objects take.
    pub bytes: u64,
    /// How long an earlier primary may still answer reads, as far as it knows.
    pub promised: SimSpan,
}

impl Info {
    /// Whether it needs no backfill.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.cursor == Cursor::End
    }
}

/// What every choice is made from.
#[derive(Clone, Copy, Debug)]
pub struct Ballot<'a> {
    /// All that answered, and the one who asks.
    pub infos: &'a BTreeMap<DeviceId, Info>,
    /// The intervals since the group was clean, without the present one.
    pub intervals: &'a [Interval],
    /// With fewer acting replicas an interval served nobody.
    pub size_min: usize,
}

impl Ballot<'_> {
    fn complete(&self) -> impl Iterator<Item = (DeviceId, &Info)> + '_ {
        self.infos.iter().filter(|(_, info)| info.is_complete()).map(|(device, info)| (*device, info))
    }

    /// The last interval that may have acknowledged writes of which nobody who answered would know, if there
    /// is one.
    #[must_use]
    pub fn blocked_by(&self) -> Option<&Interval> {
        let started = self.complete().map(|(_, info)| info.last_epoch_started).max().unwrap_or(0);
        // Who acted in an interval that served has noted that it began; so who has not knows that it did not
        // serve.
        let knows = |device: &DeviceId, interval: &Interval| {
            let info = self.infos.get(device);
            info.is_some_and(|info| info.is_complete() || info.last_epoch_started < interval.epoch)
        };
        let is_heard = |interval: &Interval| interval.acting.iter().any(|device| knows(device, interval));
        let may_have_served = |interval: &Interval| interval.acting.len() >= self.size_min;
        let mut intervals = self.intervals.iter().rev().filter(|interval| interval.epoch >= started);
        intervals.find(|interval| may_have_served(interval) && !is_heard(interval))
    }

    /// Whose log counts: of the complete ones that took part last, the one with the most changes; with the
    /// longest log among equals, then `preferred`, then the least.
    #[must_use]
    pub fn authority(&self, preferred: DeviceId) -> Option<DeviceId> {
        let rank = |(device, info): &(DeviceId, &Info)| {
            let log = (info.last_epoch_started, info.last_update, std::cmp::Reverse(info.tail));
            (log, *device == preferred, std::cmp::Reverse(*device))
        };
        self.complete().max_by_key(rank).map(|(device, _)| device)
    }

    /// Who should act: those of `up` that can catch up from the authoritative log, its first one first if it
    /// can, else the authority; and others that can, until there are as many as in `up`.
    #[must_use]
    pub fn acting(&self, authority: DeviceId, up: &[DeviceId], acting: &[DeviceId]) -> Vec<DeviceId> {
        let tail = self.infos[&authority].tail;
        let can = |device: &DeviceId| {
            self.infos.get(device).is_some_and(|info| info.is_complete() && info.last_update >= tail)
        };
        assert!(can(&authority), "the authority {authority:?} cannot follow itself");
        let first = up.first().filter(|first| can(first)).copied().unwrap_or(authority);
        let mut chosen = vec![first];
        let others = up.iter().chain(acting).chain(self.infos.keys()).filter(|device| can(device));
        for device in others {
            if !chosen.contains(device) && (up.contains(device) || chosen.len() < up.len()) {
                chosen.push(*device);
            }
        }
        assert!(chosen.iter().all(|device| self.infos.contains_key(device)), "who did not answer is chosen");
        assert!(chosen.len() <= up.len().max(1), "{} are chosen for {}", chosen.len(), up.len());
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(started: Epoch, epoch: Epoch, counter: u64, tail: u64) -> Info {
        Info {
            last_update: Version { epoch, counter },
            tail: Version { epoch: u32::from(tail > 0), counter: tail },
            last_epoch_started: started,
            cursor: Cursor::End,
            bytes: 0,
            promised: SimSpan::from_ns(0),
        }
    }

    fn devices(ids: &[u32]) -> Vec<DeviceId> {
        ids.iter().map(|id| DeviceId(*id)).collect()
    }

    struct Case {
        infos: BTreeMap<DeviceId, Info>,
        intervals: Vec<Interval>,
    }

    impl Case {
        fn new(infos: &[(u32, Info)], intervals: &[(Epoch, &[u32])]) -> Case {
            let interval =
                |(epoch, acting): &(Epoch, &[u32])| Interval { epoch: *epoch, acting: devices(acting) };
            Case {
                infos: infos.iter().map(|(device, info)| (DeviceId(*device), *info)).collect(),
                intervals: intervals.iter().map(interval).collect(),
            }
        }

        fn ballot(&self) -> Ballot<'_> {
            Ballot { infos: &self.infos, intervals: &self.intervals, size_min: 2 }
        }

        fn acting(&self, up: &[u32]) -> Vec<DeviceId> {
            let ballot = self.ballot();
            let authority = ballot.authority(DeviceId(up[0])).expect("somebody is complete");
            ballot.acting(authority, &devices(up), &[])
        }
    }

    #[test]
    fn a_later_interval_counts_more_than_more_changes() {
        // Device 0 took a change that nobody else has; then 1 and 2 went on without it.
        let case = Case::new(&[(0, info(5, 5, 99, 0)), (1, info(6, 6, 20, 0)), (2, info(6, 6, 19, 0))], &[]);
        assert_eq!(case.ballot().authority(DeviceId(0)), Some(DeviceId(1)));
        let equal = Case::new(&[(0, info(5, 5, 9, 3)), (1, info(5, 5, 9, 1)), (2, info(5, 5, 9, 1))], &[]);
        assert_eq!(
            equal.ballot().authority(DeviceId(2)),
            Some(DeviceId(2)),
            "the longer log, then the asker"
        );
    }

    #[test]
    fn who_is_being_filled_has_no_say() {
        let mut filled = info(7, 7, 30, 0);
        filled.cursor = Cursor::START;
        let case = Case::new(&[(0, filled), (1, info(5, 5, 9, 0))], &[(7, &[2, 3])]);
        assert_eq!(case.ballot().authority(DeviceId(0)), Some(DeviceId(1)));
        assert_eq!(case.ballot().blocked_by().map(|interval| interval.epoch), Some(7));
        let case = Case::new(&[(0, filled), (1, info(5, 5, 9, 0))], &[(8, &[0, 3])]);
        assert_eq!(case.ballot().blocked_by(), None, "0 acted then, and never heard that it began");
        let alone = Case::new(&[(0, filled)], &[]);
        assert_eq!(alone.ballot().authority(DeviceId(0)), None);
    }

    #[test]
    fn an_interval_that_may_have_served_must_be_heard() {
        let intervals: &[(Epoch, &[u32])] = &[(4, &[3, 4]), (5, &[0, 1]), (6, &[1, 2]), (7, &[2])];
        let heard = |ids: &[u32]| {
            let infos: Vec<(u32, Info)> = ids.iter().map(|id| (*id, info(5, 5, 9, 0))).collect();
            Case::new(&infos, intervals).ballot().blocked_by().map(|interval| interval.epoch)
        };
        assert_eq!(heard(&[0]), Some(6), "1 and 2 may have served; 2 alone may not");
        assert_eq!(heard(&[0, 2]), None, "4 lies before what they know");
        assert_eq!(heard(&[1]), None);
        assert_eq!(heard(&[2]), Some(5));
    }

    #[test]
    fn who_cannot_catch_up_does_not_act() {
        let case = Case::new(
            &[
                (0, info(3, 1, 4, 0)),
                (1, info(6, 6, 20, 10)),
                (2, info(6, 1, 12, 10)),
                (7, info(6, 6, 19, 10)),
            ],
            &[],
        );
        assert_eq!(case.acting(&[0, 1, 2]), devices(&[1, 2, 7]), "0 is too far behind, and 7 can stand in");
        assert_eq!(case.acting(&[2, 1]), devices(&[2, 1]), "2 catches up, and leads");
        assert_eq!(case.acting(&[0]), devices(&[1]));
    }
}
