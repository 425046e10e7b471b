//! What exports say of the states of groups: how many are unsafe or not known, and where the states show more
//! than the exports place.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use towtank_imports::ceph::{
    GroupStat, GroupSum, GroupsInState, OsdDump, OsdEntry, PgDump, PoolEntry, Report, Served,
};
use towtank_placement::crush::{NONE, RuleKind};

use towtank_report::human;

use crate::cluster::{Cluster, Group, PoolState, Stated};
use crate::gains::differs;
use crate::laid_out::LaidOut;
use crate::tree::device_list;

/// Counts of groups by their states.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupStates {
    /// Groups whose state is in an export.
    pub stated: u64,
    /// Groups that serve no requests.
    pub inactive: u64,
    /// Groups with data that were found on no device.
    pub lost: u64,
    /// Groups of which nobody knows whether their data are lost: `incomplete`.
    #[serde(default)]
    pub incomplete: u64,
    /// Groups that nobody has reported, or not for a while.
    pub unknown: u64,
    /// Groups on as many devices as they should be, of which some lack copies of objects: which of them do is
    /// in no export.
    pub behind: u64,
    /// The copies that these lack, where an export counts them.
    pub behind_copies: u64,
    /// Groups that serve no requests for some seconds while their devices come to an agreement.
    #[serde(default)]
    pub peering: u64,
    /// Groups that serve no requests for a reason that their state does not tell.
    pub unsettled: u64,
    /// Groups whose clients wait for a read lease (`laggy`, `wait`).
    pub paused: u64,
    /// Groups that are `down` by a report, which does not say which they are.
    #[serde(default)]
    pub down_somewhere: u64,
    /// Groups that are not `active` and `clean`.
    #[serde(default)]
    pub unclean: u64,
    /// Groups of which a scrub found damaged copies.
    pub inconsistent: u64,
    /// Groups that wait for room on a device.
    pub toofull: u64,
    /// Groups that are being copied, of which it is not known how far.
    pub halfway: u64,
    /// Groups whose sums are guesses, since they were split and not scrubbed since (`stats_invalid`).
    pub guessed: u64,
    /// Groups, or pools of a report, that have bytes and no count of objects.
    pub uncounted: u64,
    /// Pools of which nothing is written, or read, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stopped_pools: Vec<String>,
    /// Devices and pools that are above a limit of fill by the map, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marked_full: Vec<MarkedFull>,
    /// That the groups were exported before the map changed for the last time, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub older: Option<String>,
    /// Where the states show more than the exports place, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unplaced: Vec<String>,
    /// How many of these say that groups are not where the maps show them.
    #[serde(default)]
    pub differing: u64,
    /// The fewest groups that are elsewhere by them.
    #[serde(default)]
    pub elsewhere: u64,
}

/// The words of which states of groups are made (`pg_state_string` of Ceph 12 to 20).
const WORDS: [&str; 34] = [
    "active",
    "clean",
    "unknown",
    "stale",
    "creating",
    "down",
    "recovery_unfound",
    "backfill_unfound",
    "premerge",
    "scrubbing",
    "deep",
    "degraded",
    "inconsistent",
    "peering",
    "repair",
    "recovering",
    "forced_recovery",
    "backfill_wait",
    "incomplete",
    "undersized",
    "remapped",
    "activating",
    "backfilling",
    "forced_backfill",
    "backfill_toofull",
    "recovery_wait",
    "recovery_toofull",
    "peered",
    "snaptrim",
    "snaptrim_wait",
    "snaptrim_error",
    "failed_repair",
    "laggy",
    "wait",
];

impl GroupStates {
    /// Counts the groups of a dump; those that it lacks are in an unknown state.
    pub(crate) fn of_dump(cluster: &Cluster, dump: &PgDump) -> GroupStates {
        let mut states = GroupStates { stated: dump.groups.len() as u64, ..GroupStates::default() };
        let pools: BTreeMap<i64, &PoolState> =
            cluster.pools.iter().map(|pool| (pool.placed.id, pool)).collect();
        for stat in &dump.groups {
            let Some(pool) = pools.get(&stat.group.pool) else { continue };
            states.add(Stated::of(stat), 1);
            states.add_words(&|word| stat.is(word), 1);
            states.note_words(&stat.state);
            let copies = behind(stat, u64::from(pool.placed.size));
            let known = pool.groups.get(stat.group.seed as usize).is_some_and(|group| group.copied.is_some());
            let is_copied = stat.is("backfilling") || stat.is("recovering");
            states.halfway += u64::from(is_copied && !known && copies.is_none());
            states.behind += u64::from(copies.is_some());
            states.behind_copies += copies.unwrap_or(0);
            states.guessed += u64::from(stat.stats_invalid);
            states.uncounted += u64::from(is_uncounted(stat.sum));
        }
        let lacks = |group: &&Group| group.stated.is_none();
        states.unknown += cluster.pools.iter().flat_map(|pool| &pool.groups).filter(lacks).count() as u64;
        states
    }

    /// Counts the groups of a report, and compares what it says of them with where its maps place them.
    pub(crate) fn of_report(cluster: &Cluster, report: &Report) -> GroupStates {
        let mut states = GroupStates::default();
        for of in &report.states {
            let is = |word: &str| of.is(word);
            states.stated += of.groups;
            states.add(Stated::by(&is), of.groups);
            states.add_words(&is, of.groups);
            states.note_words(&of.state);
            let behind = is("degraded") && !is("undersized");
            states.behind += if behind { of.groups } else { 0 };
            states.halfway += if is("backfilling") || is("recovering") { of.groups } else { 0 };
            states.down_somewhere += if is("down") { of.groups } else { 0 };
        }
        states.uncounted = report.pools.iter().filter(|(_, sum)| is_uncounted(*sum)).count() as u64;
        let (elsewhere, said) = unplaced(cluster, report);
        (states.elsewhere, states.differing) = (elsewhere, said.len() as u64);
        states.unplaced.extend(said);
        let unfound: u64 = report.pools.iter().map(|(_, sum)| u64::from(sum.num_objects_unfound)).sum();
        if unfound > 0 && states.lost == 0 {
            let objects = human::plural(unfound as f64, ["object is", "objects are"]);
            states
                .unplaced
                .push(format!("{objects} unfound by the sums of pools, and no state of a group says so"));
        }
        states
    }

    fn add(&mut self, stated: Stated, groups: u64) {
        let Stated { inactive, lost, incomplete, unknown } = stated;
        self.inactive += if inactive { groups } else { 0 };
        self.lost += if lost { groups } else { 0 };
        self.incomplete += if incomplete { groups } else { 0 };
        self.unknown += if unknown { groups } else { 0 };
    }

    fn add_words(&mut self, is: &dyn Fn(&str) -> bool, groups: u64) {
        let any = |words: &[&str]| words.iter().any(|word| is(word));
        let is_settled = any(&["active", "peered", "unknown", "stale", "down", "incomplete"]);
        let is_peering = !is_settled && any(&["peering", "activating"]);
        self.peering += if is_peering { groups } else { 0 };
        self.unsettled += if is_settled || is_peering { 0 } else { groups };
        self.inconsistent += if any(&["inconsistent", "failed_repair"]) { groups } else { 0 };
        self.toofull += if any(&["backfill_toofull", "recovery_toofull"]) { groups } else { 0 };
        self.paused += if any(&["laggy", "wait"]) { groups } else { 0 };
        self.unclean += if is("active") && is("clean") { 0 } else { groups };
    }

    /// Names words of a state that are none of Ceph's.
    fn note_words(&mut self, state: &str) {
        for word in state.split('+').filter(|word| !WORDS.contains(word)) {
            let text = format!("`{word}` is no state of groups that is known here");
            if !self.unplaced.contains(&text) {
                self.unplaced.push(text);
            }
        }
    }

    /// A count by state; nothing where no export has states.
    #[must_use]
    pub fn known(&self, count: u64) -> Option<f64> {
        (self.stated > 0).then_some(count as f64)
    }
}

/// Pools that serve no requests, or only reads, because of a flag (`pg_pool_t::FLAG_FULL`, `FLAG_EIO`).
pub(crate) fn stopped_pools(dump: &OsdDump) -> Vec<String> {
    let of = |pool: &PoolEntry| {
        let name = &pool.name;
        match () {
            () if pool.has_flag("eio") => {
                Some(format!("pool `{name}` has the flag `eio`: its clients get errors"))
            }
            () if pool.has_flag("full_quota") => {
                Some(format!("pool `{name}` is full by its quota (`full`): it takes no writes"))
            }
            () if pool.has_flag("full") => {
                Some(format!("pool `{name}` has the flag `full`: it takes no writes"))
            }
            () => None,
        }
    };
    dump.pools.iter().filter_map(of).collect()
}

/// What the map says of a device or a pool that is above a limit of fill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkedFull {
    /// In words.
    pub text: String,
    /// Whether writes stop.
    pub stops: bool,
}

/// Devices and pools that the map marks as above a limit of fill, whatever other exports say of their fill.
pub(crate) fn marked_full(dump: &OsdDump) -> Vec<MarkedFull> {
    let levels = [
        ("full", "pools with groups there take no writes", true),
        ("backfillfull", "nothing is moved there", false),
        ("nearfull", "Ceph warns", false),
    ];
    let mut said = Vec::new();
    for (level, effect, stops) in levels {
        let marked = |osd: &&OsdEntry| osd.state.iter().any(|word| word == level);
        let devices: Vec<i32> = dump.osds.iter().filter(marked).map(|osd| osd.id).collect();
        if !devices.is_empty() {
            let (devices, verb) = (device_list(&devices), if devices.len() == 1 { "is" } else { "are" });
            said.push(MarkedFull { text: format!("{devices} {verb} {level} by the map: {effect}"), stops });
        }
        if !stops {
            let pools = dump.pools.iter().filter(|pool| pool.has_flag(level));
            said.extend(pools.map(|pool| MarkedFull {
                text: format!(
                    "pool `{}` has the flag `{level}`: a device of it is above that limit",
                    pool.name
                ),
                stops,
            }));
        }
    }
    said
}

/// Whether there are bytes, and no count of the objects that have them.
fn is_uncounted(sum: GroupSum) -> bool {
    sum.bytes() > 0 && sum.num_objects == 0
}

/// The copies of objects that devices lack which serve a group, beyond what the group lacks because it is on
/// fewer devices than it should be. None if they lack nothing.
fn behind(stat: &GroupStat, size: u64) -> Option<u64> {
    let held = stat.acting.iter().filter(|id| **id != NONE).count() as u64;
    let missing = size.saturating_sub(held);
    let absent = stat.sum.num_objects.saturating_mul(missing);
    let more = stat.sum.num_objects_degraded.saturating_sub(absent);
    let is_behind = match missing {
        0 => more > 0 || stat.is("degraded"),
        // Without a count of objects, it is not known how many copies the missing devices stand for.
        _ => more > 0 && stat.sum.num_objects > 0,
    };
    is_behind.then_some(more)
}

/// Where the states of a report show more than its maps place, with the fewest groups of which that is so.
fn unplaced(cluster: &Cluster, report: &Report) -> (u64, Vec<String>) {
    let count = |fits: &dyn Fn(&GroupsInState) -> bool| -> u64 {
        report.states.iter().filter(|of| fits(of)).map(|of| of.groups).sum()
    };
    let placed = Placed::of(cluster);
    let mut said = Vec::new();
    let mut elsewhere = 0;
    let mut compare = |what: &str, states: u64, placed: u64| {
        if states > placed {
            elsewhere = elsewhere.max(states - placed);
            said.push(format!("{} {what} by their states, and the maps show {placed}", groups_are(states)));
        }
    };
    compare("undersized", count(&|of| of.is("undersized")), placed.undersized);
    compare("remapped", count(&|of| of.is("remapped")), placed.remapped);
    // What serves nothing may be in none of these states.
    let most = count(&|of| of.is("undersized") || !of.is("active"));
    if placed.undersized > most {
        let shown = placed.undersized;
        let groups = groups_are(most);
        elsewhere = elsewhere.max(shown - most);
        said.push(format!("{groups} undersized or inactive by their states, and the maps show {shown}"));
    }
    let other = |served: &Served| {
        let shown = i32::try_from(served.id).ok().filter(|id| *id != NONE)?;
        let apart = placed.served.get(&shown).copied().unwrap_or(0).abs_diff(served.groups);
        (apart > 0).then_some(apart)
    };
    let others: Vec<u64> = report.served.iter().filter_map(other).collect();
    let differ = others.len();
    if differ > 0 {
        elsewhere = elsewhere.max(others.into_iter().max().unwrap_or_default());
        let devices = human::plural(differ as f64, ["device serves", "devices serve"]);
        said.push(format!("{devices} another number of groups than the maps show"));
    }
    (elsewhere, said)
}

/// The beginning of a sentence about so many groups.
fn groups_are(count: u64) -> String {
    if count == 0 {
        "no group is".to_owned()
    } else {
        human::plural(count as f64, ["group is", "groups are"])
    }
}

/// What the maps of a report show.
#[derive(Default)]
struct Placed {
    undersized: u64,
    remapped: u64,
    served: BTreeMap<i32, u64>,
}

impl Placed {
    fn of(cluster: &Cluster) -> Placed {
        let mut placed = Placed::default();
        for pool in &cluster.pools {
            let coded = pool.placed.kind == RuleKind::Erasure;
            for group in &pool.groups {
                let (Some(held), Some(up)) = (&group.acting, &group.up) else { continue };
                let holders = held.iter().copied().filter(|id| *id != NONE);
                placed.undersized += u64::from(holders.clone().count() < pool.placed.size as usize);
                placed.remapped += u64::from(differs(held, up, coded));
                holders.for_each(|id| *placed.served.entry(id).or_default() += 1);
            }
        }
        placed
    }
}

impl Cluster {
    /// Writes down where each group is of which no dump says it, and where it should be: where the map and
    /// its temporary mappings have it. Nothing is done where the map cannot be compiled.
    pub(crate) fn settle(&mut self) {
        let open = |pool: &PoolState| pool.groups.iter().any(|group| group.acting.is_none());
        if !self.pools.iter().any(open) {
            return;
        }
        let plain = self.clone();
        let Ok(mut laid_out) = LaidOut::new(&plain) else { return };
        for (pool, of_plain) in self.pools.iter_mut().zip(&plain.pools) {
            let open = (0u32..).zip(&mut pool.groups).filter(|(_, group)| group.acting.is_none());
            let (seeds, groups): (Vec<u32>, Vec<&mut Group>) = open.unzip();
            for (group, place) in groups.into_iter().zip(laid_out.place_all(&of_plain.placed, &seeds)) {
                group.acting = Some(place.acting.devices);
                group.up = Some(place.up.devices);
                group.primary = group.primary.or(place.acting.primary);
            }
        }
    }
}
