//! What a cluster loses if the directory of a device never comes back.
//!
//! A group of which the primary is active has all that was acknowledged, without that device; of objects that
//! no running device has, it may still have the last copy. A group that is not active waits: then what was
//! acknowledged in an interval in which the device acted may be on it alone, or on devices that are away too.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use towtank_replication::Epoch;

/// What a group may lose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupLoss {
    /// The group.
    pub group: u32,
    /// What was acknowledged since this map may be lost.
    pub since: Epoch,
    /// Other devices that may have it, and are away.
    pub others: BTreeSet<u32>,
}

/// What a cluster may lose.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// The groups that wait, and may lose what was acknowledged.
    pub groups: Vec<GroupLoss>,
    /// Objects of which the device may have the last valid copy, in groups that serve.
    pub unfound: u64,
}

/// An interval of a group.
#[derive(Clone, Debug)]
pub(crate) struct Period {
    pub epoch: Epoch,
    /// The devices that acted, with whether each runs, in the life in which it acted, and has lost nothing of
    /// it.
    pub acting: Vec<(u32, bool)>,
    /// Those of them that tell no more: they are gone for ever, or run and have lost something of it.
    pub silent: Vec<u32>,
}

impl Loss {
    /// Whether nothing that was acknowledged is lost.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.groups.is_empty() && self.unfound == 0
    }

    /// Whether whoever accepted another loss has accepted this one too.
    #[must_use]
    pub(crate) fn is_within(&self, accepted: &Loss) -> bool {
        let is_accepted = |lost: &GroupLoss| {
            accepted.groups.iter().any(|other| {
                other.group == lost.group && other.since <= lost.since && other.others.is_subset(&lost.others)
            })
        };
        self.unfound <= accepted.unfound && self.groups.iter().all(is_accepted)
    }

    /// Adds what a group may lose without a device. If its primary is active, `unfound` is the number of
    /// objects of which the device may have the last copy. `periods` are all intervals in which the group may
    /// have served and this life of the device acted.
    pub(crate) fn add(&mut self, osd: u32, group: u32, unfound: Option<u64>, periods: &[Period]) {
        match unfound {
            Some(unfound) => self.unfound += unfound,
            None => {
                // Who runs, and acted, brings what it knows to the group.
                let is_away = |period: &&Period| !period.acting.iter().any(|(_, runs)| *runs);
                let away: Vec<&Period> = periods.iter().filter(is_away).collect();
                let Some(since) = away.iter().map(|period| period.epoch).min() else { return };
                let acted = away.iter().flat_map(|period| {
                    period.acting.iter().map(|(other, _)| *other).filter(|it| !period.silent.contains(it))
                });
                let others = acted.filter(|other| *other != osd).collect();
                self.groups.push(GroupLoss { group, since, others });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loss(unfound: Option<u64>, periods: &[Period]) -> Loss {
        let mut loss = Loss::default();
        loss.add(0, 7, unfound, periods);
        loss
    }

    fn period(epoch: Epoch, acting: &[(u32, bool)], silent: &[u32]) -> Period {
        Period { epoch, acting: acting.to_vec(), silent: silent.to_vec() }
    }

    #[test]
    fn a_group_that_is_active_loses_only_what_it_has_not_found() {
        let periods = [period(5, &[(0, false), (1, false)], &[])];
        assert!(loss(Some(0), &periods).is_nothing());
        assert_eq!(loss(Some(2), &periods).unfound, 2);
    }

    #[test]
    fn a_group_that_waits_loses_what_nobody_who_runs_has_heard() {
        let periods = [
            period(3, &[(0, false), (1, false), (2, true)], &[]),
            period(4, &[(0, false), (1, false)], &[]),
            period(6, &[(0, false), (3, false)], &[3]),
        ];
        let lost = GroupLoss { group: 7, since: 4, others: BTreeSet::from([1]) };
        assert_eq!(loss(None, &periods).groups, vec![lost]);
        assert!(loss(None, &periods[..1]).is_nothing(), "2 runs, and knows");
    }

    #[test]
    fn a_loss_is_accepted_only_with_all_that_may_be_lost() {
        let lost = |group, since, others: &[u32]| GroupLoss {
            group,
            since,
            others: others.iter().copied().collect(),
        };
        let of = |unfound, groups: &[GroupLoss]| Loss { groups: groups.to_vec(), unfound };
        let accepted = of(2, &[lost(1, 5, &[3]), lost(4, 5, &[])]);
        for within in
            [Loss::default(), accepted.clone(), of(1, &[lost(1, 6, &[2, 3])]), of(0, &[lost(4, 5, &[7])])]
        {
            assert!(within.is_within(&accepted), "{within:?}");
        }
        // More objects, another group, longer ago, and a device fewer that may have it too.
        let beyond =
            [of(3, &[]), of(0, &[lost(2, 5, &[3])]), of(0, &[lost(1, 4, &[3])]), of(0, &[lost(1, 5, &[2])])];
        for beyond in beyond {
            assert!(!beyond.is_within(&accepted), "{beyond:?}");
        }
    }
}
