//! The choices of peering, from what the replicas report about themselves: whether enough of them answered,
//! whose log is authoritative, and which replicas can serve.
//!
//! A write is acknowledged when all acting replicas have it. So every acknowledged write of an interval is in
//! the log of each of its acting replicas, and hearing one complete replica of each interval that may have
//! served is enough to know of all of them. A replica whose `last_epoch_started` is E knows all writes
//! acknowledged before E, so earlier intervals need not be queried.
//!
//! A replica whose disk has lost the end of its journal, or has never finished it, does not know which of
//! both it was. From the interval on that it was in by then it testifies only together with all others that
//! acted, or when those are gone for ever: who else acted has what was acknowledged.
//!
//! Ceph skips intervals in which the primary did not announce itself (`up_thru`). This code does not, so a
//! group may wait unnecessarily for a device that served no requests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use towtank_units::SimSpan;

use crate::{Cursor, DeviceId, Epoch, Incarnation, Interval, Member, Planted, Version};

/// What a replica reports about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Info {
    /// The life of its device: it knows nothing of intervals in which another life of the device acted.
    pub incarnation: Incarnation,
    /// The version of its last change.
    pub last_update: Version,
    /// The version after which its log holds all changes.
    pub tail: Version,
    /// The last interval for which it took over the authoritative log.
    pub last_epoch_started: Epoch,
    /// How far its objects have been backfilled.
    pub cursor: Cursor,
    /// The interval from which on it may have lost changes, as in [`Durable`](crate::Durable).
    pub undecided: Option<Epoch>,
    /// The bytes of its objects.
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

/// The information that every choice is based on.
#[derive(Clone, Copy, Debug)]
pub struct Ballot<'a> {
    /// The reports of all that answered, and of the primary itself.
    pub infos: &'a BTreeMap<DeviceId, Info>,
    /// The intervals since the group was clean, without the current one.
    pub intervals: &'a [Interval],
    /// The devices that are lost for ever.
    pub gone: &'a [Member],
    /// An interval with fewer acting replicas accepted no requests.
    pub size_min: usize,
    /// A rule that is broken on purpose.
    #[doc(hidden)]
    pub planted: Option<Planted>,
}

impl Ballot<'_> {
    fn complete(&self) -> impl Iterator<Item = (DeviceId, &Info)> + '_ {
        self.infos.iter().filter(|(_, info)| info.is_complete()).map(|(device, info)| (*device, info))
    }

    /// The latest interval that may have acknowledged writes unknown to every replica that answered, if there
    /// is one.
    #[must_use]
    pub(crate) fn blocked_by(&self) -> Option<&Interval> {
        let started = self.complete().map(|(_, info)| info.last_epoch_started).max().unwrap_or(0);
        let is_heard = |interval: &Interval| interval.acting.iter().any(|it| self.knows(*it, interval));
        let may_have_served = |interval: &Interval| interval.acting.len() >= self.size_min;
        let mut intervals = self.intervals.iter().rev().filter(|interval| interval.epoch >= started);
        intervals.find(|interval| may_have_served(interval) && !is_heard(interval) && !self.is_lost(interval))
    }

    /// Whether a device that acted in an interval has answered, and knows what was acknowledged in it, alone
    /// or with the others.
    fn knows(&self, member: Member, interval: &Interval) -> bool {
        let Some(info) = self.infos.get(&member.device) else { return false };
        let is_undecided = info.undecided.is_some_and(|since| since <= interval.epoch);
        let needs_others = is_undecided && self.planted != Some(Planted::UndecidedTestifies);
        let mut others = interval.acting.iter().filter(|other| **other != member);
        self.is_witness(member, info, interval)
            && (!needs_others || others.all(|other| self.has_answered_whole(*other, interval)))
    }

    /// Whether a device that acted in an interval is gone, or has answered with all that it knew.
    fn has_answered_whole(&self, member: Member, interval: &Interval) -> bool {
        if self.gone.contains(&member) {
            return true;
        }
        let Some(info) = self.infos.get(&member.device).filter(|it| it.incarnation == member.incarnation)
        else {
            return false;
        };
        // One that is being filled gave its log up for that of the interval in which the filling began.
        let is_heard = |device: &Member| {
            self.gone.contains(device)
                || self.infos.get(&device.device).is_some_and(|it| it.incarnation == device.incarnation)
        };
        let mut later = self.intervals.iter().filter(|later| later.epoch == info.last_epoch_started);
        self.is_witness(member, info, interval) || later.all(|later| later.acting.iter().all(is_heard))
    }

    fn is_witness(&self, member: Member, info: &Info, interval: &Interval) -> bool {
        // A replica that acted in an interval that served has recorded that it began; a replica without that
        // record knows that the interval did not serve. A replica without objects looks like both, so it
        // counts only if it is the one that acted.
        let is_behind = info.last_epoch_started < interval.epoch;
        let is_witness = info.is_complete() || is_behind;
        let is_believed = match self.planted {
            Some(Planted::EmptyIsComplete) => info.is_complete(),
            Some(Planted::EmptyIsBehind) => is_behind,
            _ => false,
        };
        is_witness && (info.incarnation == member.incarnation || is_believed)
    }

    /// Whether nobody can tell any more what was acknowledged in an interval of which nobody who answered
    /// knows: devices are gone for ever, and all others have answered.
    fn is_lost(&self, interval: &Interval) -> bool {
        let is_gone = |member: &Member| self.gone.contains(member);
        let has_answered = |member: &Member| {
            self.infos.get(&member.device).is_some_and(|info| info.incarnation == member.incarnation)
        };
        let is_out = |member: &Member| {
            is_gone(member) || has_answered(member) || self.planted == Some(Planted::OneGoneIsAll)
        };
        // What one knew that gave its log up, those know for whose log it did: they may be gone too.
        let is_passed_on =
            |member: &Member| self.filled_in(*member, interval).is_some_and(|it| self.is_lost(it));
        interval.acting.iter().any(|member| is_gone(member) || is_passed_on(member))
            && interval.acting.iter().all(is_out)
    }

    /// The later interval in which a device that acted in one gave up its log and began to be filled.
    fn filled_in(&self, member: Member, interval: &Interval) -> Option<&Interval> {
        let info = self.infos.get(&member.device).filter(|info| info.incarnation == member.incarnation)?;
        let since =
            Some(info.last_epoch_started).filter(|since| !info.is_complete() && *since > interval.epoch)?;
        self.intervals.iter().find(|later| later.epoch == since)
    }

    /// The device whose log is authoritative: among the complete ones that took part last, the one with the
    /// most changes; among equals the one with the longest log, then `preferred`, then the least id.
    #[must_use]
    pub(crate) fn authority(&self, preferred: DeviceId) -> Option<DeviceId> {
        let rank = |(device, info): &(DeviceId, &Info)| {
            let log = (info.last_epoch_started, info.last_update, std::cmp::Reverse(info.tail));
            (log, *device == preferred, std::cmp::Reverse(*device))
        };
        self.complete().max_by_key(rank).map(|(device, _)| device)
    }

    /// Which devices should act: those of `up` that can catch up from the authoritative log, with the first
    /// of `up` in front if it can, else the authority; then others that can, until there are as many as in
    /// `up`.
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
            incarnation: Incarnation(1),
            last_update: Version { epoch, counter },
            tail: Version { epoch: u32::from(tail > 0), counter: tail },
            last_epoch_started: started,
            cursor: Cursor::End,
            undecided: None,
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
        gone: Vec<Member>,
    }

    impl Case {
        fn new(infos: &[(u32, Info)], intervals: &[(Epoch, &[u32])]) -> Case {
            let interval = |(epoch, acting): &(Epoch, &[u32])| Interval {
                epoch: *epoch,
                acting: devices(acting).into_iter().map(Member::original).collect(),
            };
            Case {
                infos: infos.iter().map(|(device, info)| (DeviceId(*device), *info)).collect(),
                intervals: intervals.iter().map(interval).collect(),
                gone: Vec::new(),
            }
        }

        fn ballot(&self) -> Ballot<'_> {
            let Case { infos, intervals, gone } = self;
            Ballot { infos, intervals, gone, size_min: 2, planted: None }
        }

        fn blocked_by(&self, planted: Option<Planted>) -> Option<Epoch> {
            Ballot { planted, ..self.ballot() }.blocked_by().map(|interval| interval.epoch)
        }

        fn with_gone(mut self, gone: &[u32]) -> Case {
            self.gone.extend(devices(gone).into_iter().map(Member::original));
            self
        }

        fn acting(&self, up: &[u32]) -> Vec<DeviceId> {
            let ballot = self.ballot();
            let authority = ballot.authority(DeviceId(up[0])).expect("somebody is complete");
            ballot.acting(authority, &devices(up), &[])
        }
    }

    #[test]
    fn a_later_interval_counts_more_than_more_changes() {
        // Device 0 took a change that no other device has; then 1 and 2 continued without it.
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

    /// What an empty directory in the place of a device reports.
    fn empty() -> Info {
        Info { incarnation: Incarnation(2), ..info(0, 0, 0, 0) }
    }

    #[test]
    fn an_empty_device_testifies_nothing() {
        // 0 and 1 acknowledged a write without 2; 0 is empty now, and 1 is away.
        let intervals: &[(Epoch, &[u32])] = &[(4, &[0, 1, 2]), (5, &[0, 1])];
        let case = Case::new(&[(0, empty()), (2, info(4, 4, 9, 0))], intervals);
        assert_eq!(case.blocked_by(None), Some(5));
        for planted in [Planted::EmptyIsComplete, Planted::EmptyIsBehind] {
            assert_eq!(case.blocked_by(Some(planted)), None, "{planted:?} takes its word");
        }
        let returned = Case::new(&[(0, empty()), (1, info(5, 5, 10, 0)), (2, info(4, 4, 9, 0))], intervals);
        assert_eq!(returned.blocked_by(None), None);
        assert_eq!(returned.ballot().authority(DeviceId(0)), Some(DeviceId(1)));
        // Two of three, or all, are empty after a clean interval.
        let clean: &[(Epoch, &[u32])] = &[(4, &[0, 1, 2])];
        let two = Case::new(&[(0, empty()), (1, empty())], clean);
        let all = Case::new(&[(0, empty()), (1, empty()), (2, empty())], clean);
        assert_eq!((two.blocked_by(None), all.blocked_by(None)), (Some(4), Some(4)));
        let with_the_third = Case::new(&[(0, empty()), (1, empty()), (2, info(4, 4, 9, 0))], clean);
        assert_eq!(with_the_third.blocked_by(None), None);
        assert_eq!(with_the_third.ballot().authority(DeviceId(0)), Some(DeviceId(2)));
    }

    #[test]
    fn nobody_waits_for_who_is_gone() {
        let intervals: &[(Epoch, &[u32])] = &[(4, &[0, 1, 2]), (5, &[0, 1])];
        let case =
            |gone: &[u32]| Case::new(&[(0, empty()), (2, info(4, 4, 9, 0))], intervals).with_gone(gone);
        assert_eq!(case(&[0]).blocked_by(None), Some(5), "1 may know, and may come back");
        assert_eq!(case(&[0]).blocked_by(Some(Planted::OneGoneIsAll)), None);
        assert_eq!(case(&[0, 1]).blocked_by(None), None, "nobody who may know can come back");
        // One that is being filled cannot tell, and has answered.
        let mut filled = info(5, 5, 9, 0);
        filled.cursor = Cursor::START;
        let filled = Case::new(&[(1, filled), (2, info(4, 4, 9, 0))], intervals);
        assert_eq!(filled.blocked_by(None), Some(5));
        assert_eq!(filled.with_gone(&[0]).blocked_by(None), None);
    }

    /// All waited for 6 for ever: 0 and 1, which were new then, began to be filled in 7 by 2 alone, which was
    /// replaced.
    #[test]
    fn nobody_waits_for_what_was_passed_on_to_who_is_gone() {
        let intervals: &[(Epoch, &[u32])] = &[(5, &[2, 3]), (6, &[0, 1]), (7, &[2])];
        let mut filled = info(7, 7, 9, 0);
        filled.cursor = Cursor::START;
        let case = |filler: &[u32]| {
            let infos = [(0, filled), (1, filled), (3, info(5, 5, 9, 0))];
            Case::new(&infos, intervals).with_gone(filler)
        };
        assert_eq!(case(&[]).blocked_by(None), Some(6), "2 knows, and may come back");
        assert_eq!(case(&[2]).blocked_by(None), None);
        assert_eq!(case(&[2]).ballot().authority(DeviceId(0)), Some(DeviceId(3)));
        let mut without = case(&[2]);
        without.infos.remove(&DeviceId(1));
        assert_eq!(without.blocked_by(None), Some(6), "1 may know");
    }

    #[test]
    fn an_undecided_tail_testifies_only_with_all_others() {
        // 0 and 1 acknowledged a write without 2; the end of 0's journal cannot be read.
        let intervals: &[(Epoch, &[u32])] = &[(4, &[0, 1, 2]), (5, &[0, 1])];
        let undecided = |since, started| Info { undecided: Some(since), ..info(started, 4, 9, 0) };
        let with =
            |first: Info, others: &[(u32, Info)]| Case::new(&[&[(0, first)], others].concat(), intervals);
        let third = (2, info(4, 4, 9, 0));
        let alone = with(undecided(5, 5), &[third]);
        assert_eq!(alone.blocked_by(None), Some(5));
        assert_eq!(alone.blocked_by(Some(Planted::UndecidedTestifies)), None);
        // It may even have lost that the interval began.
        assert_eq!(with(undecided(4, 4), &[third]).blocked_by(None), Some(5));
        assert_eq!(with(undecided(6, 5), &[third]).blocked_by(None), None, "what it lost is later");
        assert_eq!(with(undecided(5, 5), &[third]).with_gone(&[1]).blocked_by(None), None);
        let both = with(undecided(5, 5), &[(1, info(5, 5, 12, 0))]);
        assert_eq!(both.blocked_by(None), None);
        assert_eq!(both.ballot().authority(DeviceId(0)), Some(DeviceId(1)));
        // The tails of all are torn: all are there.
        let torn = with(undecided(5, 5), &[(1, undecided(5, 5)), third]);
        assert_eq!(torn.blocked_by(None), None);
        // Another life of the other knows nothing, nor does one that gave its log up for that of 3.
        assert_eq!(with(undecided(5, 5), &[(1, empty())]).blocked_by(None), Some(5));
        let mut filled = info(6, 6, 12, 0);
        filled.cursor = Cursor::START;
        let mut case = with(undecided(5, 5), &[(1, filled)]);
        case.intervals.push(Interval { epoch: 6, acting: vec![Member::original(DeviceId(3))] });
        assert_eq!(case.blocked_by(None), Some(5), "3 knows, and is away");
        assert_eq!(case.with_gone(&[3]).blocked_by(None), None);
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
