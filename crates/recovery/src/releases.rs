//! What is assumed of each release of Ceph, from 15 to 21: one table, which the queues, the answers and the
//! guide are made from.
//!
//! - `key`: a release as a user names it;
//! - `table`: the rows: a rule, the releases that have it, its value, its source, and whether it is modelled;
//! - `value`: rules and values.
//!
//! What it leaves out: rules that all these releases share.

mod key;
mod table;
#[cfg(test)]
mod tests;
mod value;

use std::fmt;

use towtank_imports::ceph::Version;
use towtank_report::{Label, Line, Warning};

pub use self::key::CephRelease;
use self::table::ROWS;
pub(crate) use self::value::{Cost, Disk, Kind, Resets, Share};
use self::value::{Modelled, Rule, Value};
pub use self::value::{Profile, Queue};

/// A version with all its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    major: u32,
    minor: u32,
    patch: u32,
}

/// The oldest and the newest release of the table.
const MODELLED: [u32; 2] = [15, 21];

/// The newest version of each release that was read, or whose changes are known.
const NEWEST: [Release; 7] = [
    Release::new(15, 2, 0),
    Release::new(16, 2, 15),
    Release::new(17, 2, 9),
    Release::new(18, 2, 7),
    Release::new(19, 2, 3),
    Release::new(20, 2, 4),
    Release::new(21, 1, 0),
];

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Row {
    rule: Rule,
    /// The first version that has it.
    from: Release,
    /// The first version after.
    before: Release,
    value: Value,
    /// A file of Ceph's source, a pull request of `ceph/ceph`, or a measurement.
    source: &'static str,
    modelled: Modelled,
}

impl Row {
    fn covers(&self, release: Release) -> bool {
        (self.from..self.before).contains(&release)
    }
}

/// The one row of a rule that a release has.
fn row_of(rows: &[Row], rule: Rule, release: Release) -> Option<&Row> {
    let mut found = rows.iter().filter(|row| row.rule == rule && row.covers(release));
    found.next().filter(|_| found.next().is_none())
}

impl Release {
    pub(crate) const fn new(major: u32, minor: u32, patch: u32) -> Release {
        Release { major, minor, patch }
    }

    /// The version that is assumed where this is known: the newest one of those that it may be, and the
    /// nearest one where the table has none.
    #[must_use]
    pub fn assumed(known: Version) -> Release {
        let [oldest, newest] = MODELLED;
        let Version { major, minor, patch } = known;
        let of_major = NEWEST[(major.clamp(oldest, newest) - oldest) as usize];
        match (minor, patch) {
            _ if major < oldest => Release::new(oldest, 0, 0),
            _ if major > newest => of_major,
            (None, _) => of_major,
            (Some(minor), Some(patch)) => Release::new(major, minor, patch),
            (Some(minor), None) if minor == of_major.minor => of_major,
            (Some(minor), None) => Release::new(major, minor, 0),
        }
    }

    fn value(self, rule: Rule) -> Value {
        row_of(ROWS, rule, self).map(|row| row.value).expect("the table has one row of each rule")
    }

    fn count(self, rule: Rule) -> u32 {
        match self.value(rule) {
            Value::Count(count) => count,
            other => unreachable!("{rule:?} is a count and not {other:?}"),
        }
    }

    /// `osd_op_queue`.
    pub(crate) fn queue(self) -> Queue {
        match self.value(Rule::Queue) {
            Value::Queue(queue) => queue,
            other => unreachable!("{other:?} is no queue"),
        }
    }

    /// The kind of its mClock.
    pub(crate) fn kind(self) -> Kind {
        match self.value(Rule::Mclock) {
            Value::Kind(kind) => kind,
            other => unreachable!("{other:?} is no kind of mClock"),
        }
    }

    /// `osd_mclock_profile`.
    pub(crate) fn profile(self) -> Profile {
        match self.value(Rule::DefaultProfile) {
            Value::Profile(profile) => profile,
            other => unreachable!("{other:?} is no profile"),
        }
    }

    /// What a profile grants clients, recovery and best effort.
    pub(crate) fn shares(self, profile: Profile) -> [Share; 3] {
        match self.value(Rule::Shares(profile)) {
            Value::Shares(shares) => shares,
            other => unreachable!("{other:?} are no shares"),
        }
    }

    /// `osd_max_backfills`.
    pub(crate) fn backfills(self, queue: Queue) -> u32 {
        self.count(Rule::Backfills(queue))
    }

    /// `osd_recovery_max_active_*`.
    #[must_use]
    pub fn active(self, queue: Queue, rotates: bool) -> u32 {
        self.count(Rule::Active(queue, Disk::of(rotates)))
    }

    /// `osd_op_num_shards_*`.
    pub(crate) fn shards(self, disk: Disk) -> u32 {
        self.count(Rule::Shards(disk))
    }

    /// `osd_mclock_max_capacity_iops_*`.
    pub(crate) fn capacity(self, disk: Disk) -> u32 {
        self.count(Rule::Capacity(disk))
    }

    /// `osd_mclock_max_sequential_bandwidth_*`; none where costs are operations.
    pub(crate) fn bandwidth(self, disk: Disk) -> Option<u64> {
        self.bytes(Rule::Bandwidth(disk))
    }

    fn bytes(self, rule: Rule) -> Option<u64> {
        match self.value(rule) {
            Value::Bytes(bytes) => Some(bytes),
            Value::Words(_) => None,
            other => unreachable!("{rule:?} are bytes and not {other:?}"),
        }
    }

    /// What bytes cost.
    pub(crate) fn cost(self, disk: Disk) -> Cost {
        match self.value(Rule::Cost(disk)) {
            Value::Cost(cost) => cost,
            other => unreachable!("{other:?} is no cost"),
        }
    }

    /// The bytes that a work item counts for; none where they are those of its object.
    pub(crate) fn item(self) -> Option<u64> {
        self.bytes(Rule::Item)
    }

    /// The bytes that a reply counts for.
    pub(crate) fn reply(self) -> u64 {
        self.bytes(Rule::Reply).unwrap_or(1)
    }

    /// Whether items of groups that wait are charged.
    pub(crate) fn charges_idle_items(self) -> bool {
        self.value(Rule::IdleItems) == Value::Flag(true)
    }

    /// Whether reads of shards for recovery wait in the queue of their class, which is not modelled.
    #[must_use]
    pub fn queues_reads_of_shards(self) -> bool {
        self.value(Rule::ShardReads) == Value::Words(value::BY_CLASS)
    }

    /// What daemons with mClock do with limits of recovery that an operator sets.
    pub(crate) fn resets(self) -> Resets {
        match self.value(Rule::Resets) {
            Value::Resets(resets) => resets,
            other => unreachable!("{other:?} is nothing that daemons reset"),
        }
    }

    /// `mon_target_pg_per_osd`.
    #[must_use]
    pub fn groups_target(self) -> u32 {
        self.count(Rule::GroupsTarget)
    }

    /// `mon_max_pg_per_osd`.
    #[must_use]
    pub fn groups_max(self) -> u32 {
        self.count(Rule::GroupsMax)
    }
}

/// What is to be said where a version is none of the table: which one is taken.
#[must_use]
pub fn outside(known: Version) -> Option<Warning> {
    let [oldest, newest] = MODELLED;
    let (which, taken) = match known.major {
        major if major < oldest => ("older", oldest),
        major if major > newest => ("newer", newest),
        major => {
            let last = NEWEST[(major - oldest) as usize];
            let text =
                format!("the rules of Ceph {major} were read at {last}: they are assumed for Ceph {known}");
            let is_newer = Release::assumed(known) > last;
            return is_newer.then(|| Warning::note(text));
        }
    };
    let text = format!(
        "Ceph {known} is {which} than the releases that are modelled ({oldest} to {newest}): Ceph {taken} is assumed; --ceph says \
         another one"
    );
    Some(Warning::unknown(text))
}

/// What an answer assumes of a release, where a queue paces recovery: the version where only a part of it is
/// known and others differ, and numbers that are not known.
#[must_use]
pub fn said(known: Version, queue: Option<Queue>) -> Vec<Line> {
    let release = Release::assumed(known);
    let line = |text: String, change: String| Line { label: Label::Assumed, text, change: Some(change) };
    let [oldest, newest] = MODELLED;
    let mut lines = Vec::new();
    let is_mclock = queue.unwrap_or(release.queue()) == Queue::Mclock;
    let is_part = known.patch.is_none() && (oldest..=newest).contains(&known.major);
    if is_part && is_mclock && differs_within(known) {
        let text = format!("Ceph {release}, the newest version of {known} that is modelled");
        lines.push(line(text, format!("--ceph {}", earlier(release))));
    }
    if is_mclock {
        let rows = ROWS.iter().filter(|row| row.covers(release));
        let unknown = rows.filter_map(|row| match row.modelled {
            Modelled::Unknown(said) => Some(said),
            _ => None,
        });
        lines.extend(unknown.map(|said| line(format!("Ceph {release}: {said}"), "--ceph".to_owned())));
    }
    lines
}

/// Whether versions that this may be differ in a rule that is modelled.
fn differs_within(known: Version) -> bool {
    let within = |release: Release| {
        release.major == known.major && known.minor.is_none_or(|minor| release.minor == minor)
    };
    ROWS.iter().any(|row| row.modelled != Modelled::No && within(row.from) && row.from.patch > 0)
}

/// The last version before the newest change of a rule in the release: another one that a user may have.
fn earlier(release: Release) -> Release {
    let changes = ROWS.iter().filter(|row| row.modelled != Modelled::No && row.from.major == release.major);
    let last = changes.map(|row| row.from).filter(|from| from.patch > 0 && *from <= release).max();
    last.map_or(release, |last| Release { patch: last.patch - 1, ..last })
}
