//! What is true of a drawn cluster, counted from the definition on its own record of who holds what. Nothing
//! is simulated, and no code is shared with the study.

use std::collections::BTreeSet;

use super::cluster::{Cluster, Group, NONE, Shown};

/// Copies or shards of a group that are not where they belong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ToCopy {
    /// To be made again: fewer devices have them than the pool asks for.
    pub(super) missing: u64,
    /// On another device than the map says.
    pub(super) misplaced: u64,
    /// Missing, and the map names no device for them.
    pub(super) homeless: u64,
}

impl ToCopy {
    pub(super) fn of_all(self) -> u64 {
        self.missing + self.misplaced
    }
}

/// What must be copied until a group is where `up` says. Nothing of a group that cannot be read.
pub(super) fn to_copy(cluster: &Cluster, group: &Group, up: &[i32]) -> ToCopy {
    let pool = cluster.pool(group);
    let live = cluster.live(group);
    if live.len() < pool.data as usize {
        return ToCopy::default();
    }
    let mut found = ToCopy::default();
    if pool.is_coded() {
        for (up, holder) in up.iter().zip(&group.holders) {
            match (*up != NONE, cluster.is_up(*holder)) {
                (true, true) => found.misplaced += u64::from(up != holder),
                (true, false) => found.missing += 1,
                (false, false) => found.homeless += 1,
                (false, true) => {}
            }
        }
        return found;
    }
    let needed = up.iter().filter(|osd| !live.contains(osd)).count() as u64;
    let lacking = u64::from(pool.width).saturating_sub(live.len() as u64);
    let missing = needed.min(lacking);
    ToCopy { missing, misplaced: needed - missing, homeless: lacking - missing }
}

/// Devices of `up` that are to get the objects of a group, which can be read.
pub(super) fn new_homes(cluster: &Cluster, group: &Group) -> Vec<i32> {
    let pool = cluster.pool(group);
    let live = cluster.live(group);
    if live.len() < pool.data as usize {
        return Vec::new();
    }
    let has = |place: usize, osd: &i32| {
        if pool.is_coded() { group.holders.get(place) == Some(osd) } else { live.contains(osd) }
    };
    let homes = group.up.iter().enumerate().filter(|(place, osd)| **osd != NONE && !has(*place, osd));
    homes.map(|(_, osd)| *osd).collect()
}

/// Whether a shard belongs on a device that holds another shard of the group, for which the map has no place:
/// Ceph keeps both there, and `whatif` leaves the first where it is, and names it.
pub(super) fn waits_for_itself(group: &Group) -> bool {
    let stays =
        |osd: i32| group.holders.iter().zip(&group.up).any(|(holder, up)| *holder == osd && *up == NONE);
    group.up.iter().any(|osd| *osd != NONE && stays(*osd))
}

/// A number that the exports fix, or only bound: what is not known of some groups may count or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) sure: u64,
    pub(super) perhaps: u64,
}

impl Count {
    pub(super) fn add(&mut self, sure: bool, perhaps: bool, amount: u64) {
        if sure {
            self.sure += amount;
        } else if perhaps {
            self.perhaps += amount;
        }
    }

    pub(super) fn holds(self, value: f64) -> bool {
        value >= self.sure as f64 && value <= (self.sure + self.perhaps) as f64
    }
}

/// What would lose data by itself if it failed next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Next {
    /// Each device.
    pub(super) devices: BTreeSet<i32>,
    /// Each host as a whole.
    pub(super) hosts: BTreeSet<usize>,
}

/// The state of a cluster, now or just after devices have failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// Groups with fewer devices than the pool asks for.
    pub(super) short: Count,
    /// Groups with fewer devices than `min_size`.
    pub(super) below: Count,
    /// Those of them that have no objects yet.
    pub(super) empty: u64,
    /// Groups that serve no requests.
    pub(super) inactive: Count,
    /// Groups of which too few devices are left, down or not, and their objects.
    pub(super) lost: Count,
    pub(super) lost_objects: Count,
    /// Groups that cannot be read now, and their objects.
    pub(super) unread: Count,
    pub(super) unread_objects: Count,
    /// Groups that are `incomplete`: the exports do not say whether their data are lost.
    pub(super) undecided: u64,
    /// Groups of which the dump has no news.
    pub(super) unknown: u64,
    /// Groups with a device that lacks some objects, which a log names.
    pub(super) behind: u64,
    /// Groups that lose data with one further device.
    pub(super) last: Count,
    /// Bytes of objects of groups with just as many devices as they need to be read.
    pub(super) last_bytes: Count,
    /// Bytes of objects of groups that lack something and have one device more than they need.
    pub(super) second_bytes: Count,
    /// What would lose data next.
    pub(super) next: Next,
    /// The same of groups that take no writes: the exports do not say what else is down holds of them.
    pub(super) perhaps_next: Next,
    /// Bytes to copy until all groups are where the map puts them.
    pub(super) missing_bytes: u64,
    pub(super) misplaced_bytes: u64,
    /// The same in copies or shards, and those without a place.
    pub(super) missing: u64,
    pub(super) misplaced: u64,
    pub(super) homeless: u64,
    /// Groups with something to copy.
    pub(super) waiting: u64,
    /// Groups with objects on what has failed, and those objects.
    pub(super) hit: Count,
    pub(super) hit_objects: Count,
    /// Of them, those that the map still wants on what has failed until it is marked out.
    pub(super) bound: u64,
}

/// Counts what is true after these devices have failed, for good, at once.
pub(super) fn facts(cluster: &Cluster, failed: &[i32]) -> Facts {
    let mut facts = Facts::default();
    for group in &cluster.groups {
        count(cluster, group, failed, &mut facts);
    }
    facts
}

fn count(cluster: &Cluster, group: &Group, failed: &[i32], facts: &mut Facts) {
    let pool = cluster.pool(group);
    let (data, width, least) = (pool.data as usize, pool.width as usize, pool.least as usize);
    let left: Vec<i32> = cluster.live(group).into_iter().filter(|osd| !failed.contains(osd)).collect();
    let known = group.shown == Shown::Now;
    let asleep = cluster.asleep(group)
        - group.holders.iter().filter(|osd| failed.contains(osd) && !cluster.is_up(**osd)).count();
    let unread = left.len() < data;
    // A group that cannot be read has no data to serve, whatever devices are named as serving it.
    let gone = cluster.live(group).len() < data;
    facts.short.add(known && !gone && left.len() < width, !known || gone, 1);
    facts.below.add(known && left.len() < least, !known, 1);
    facts.empty += u64::from(known && left.len() < least && group.objects == 0);
    facts.inactive.add(known && left.len() < least, !known, 1);
    // Of a group that could not be read before, the exports do not say which devices have its data, and of
    // one with a device that is behind, not which.
    let clear = known && !group.behind;
    let before = gone && cluster.live(group).len() + cluster.asleep(group) >= data;
    let lost = unread && left.len() + asleep < data;
    facts.lost.add(clear && lost && !before, !clear || before, 1);
    let open = gone && !before;
    facts.undecided += u64::from(known && open);
    let lost = lost && !open;
    // A group that took no writes waits for what is down, of which the exports do not say what it holds.
    let paused = cluster.live(group).len() < least.max(data);
    let sure = clear && lost && !before && !paused;
    facts.lost_objects.add(sure, !clear || before || open || (paused && lost), group.objects);
    facts.unread.add(clear && unread, !clear, 1);
    facts.unread_objects.add(clear && unread, !clear, group.objects);
    facts.unknown += u64::from(!known);
    facts.behind += u64::from(known && group.behind);
    let falls = |osd: &i32| left.iter().filter(|other| *other != osd).count() + asleep < data;
    facts.last.add(clear && !unread && left.iter().any(falls), !clear, 1);
    facts.last_bytes.add(clear && left.len() == data, !clear, group.bytes);
    let second = left.len() == data + 1 && left.len() < width;
    facts.second_bytes.add(clear && second, !clear, group.bytes);
    if clear && !unread && group.objects > 0 {
        let next = if paused { &mut facts.perhaps_next } else { &mut facts.next };
        next.devices.extend(left.iter().filter(|osd| falls(osd)));
        next.hosts.extend((0..cluster.hosts.len()).filter(|host| {
            left.iter().filter(|osd| !cluster.hosts[*host].osds.contains(osd)).count() + asleep < data
        }));
    }
    let hit = group.objects > 0 && cluster.live(group).iter().any(|osd| failed.contains(osd));
    facts.hit.add(known && hit && !gone, !known || gone || group.objects == 0, 1);
    facts.hit_objects.add(known && hit && !gone, !known || gone, group.objects);
    facts.bound += u64::from(known && hit && group.up.iter().any(|osd| failed.contains(osd)));
    if known && failed.is_empty() {
        let found = to_copy(cluster, group, &group.up);
        let shard = cluster.shard(group);
        facts.missing_bytes += found.missing * shard;
        facts.misplaced_bytes += found.misplaced * shard;
        facts.missing += found.missing;
        facts.misplaced += found.misplaced;
        facts.homeless += found.homeless;
        facts.waiting += u64::from(found.of_all() > 0 && group.objects > 0);
    }
}
