//! Rules of the table, and the values that they have.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_units::Bytes;

/// The queue of a daemon: `osd_op_queue`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Queue {
    /// Weighted priorities, and a sleep after each object: the default up to Ceph 16.
    Wpq,
    /// Reservations, weights and limits by profile: the default from Ceph 17 on.
    Mclock,
}

/// A profile of mClock: `osd_mclock_profile`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// Clients and recovery alike: the default from Ceph 18 on.
    Balanced,
    /// Clients first: the default of 16 and 17.
    HighClientOps,
    /// Recovery first.
    HighRecoveryOps,
}

/// What a release decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    Queue,
    Mclock,
    DefaultProfile,
    /// What a profile grants each class.
    Shares(Profile),
    Backfills(Queue),
    Active(Queue, Disk),
    Resets,
    Shards(Disk),
    Capacity(Disk),
    Bandwidth(Disk),
    /// Which of the capacities that daemons measure are kept.
    Measured,
    /// What bytes cost.
    Cost(Disk),
    /// What a work item counts for.
    Item,
    /// What a reply counts for.
    Reply,
    /// The class of recovery.
    Class,
    /// Items of groups that wait for reservations.
    IdleItems,
    /// Reads of shards for recovery.
    ShardReads,
    /// Whose limit the operations of clients share.
    Clients,
    GroupsTarget,
    GroupsMax,
}

/// A kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disk {
    /// It rotates.
    Hdd,
    /// Flash.
    Ssd,
}

impl Disk {
    pub(crate) const fn of(rotates: bool) -> Disk {
        if rotates { Disk::Hdd } else { Disk::Ssd }
    }
}

/// Which mClock a release has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Costs and limits are operations, and all recovery is one class.
    Operations,
    /// The same with lower limits of recovery.
    Third,
    /// Costs and limits are bytes, and groups that only move are best effort.
    Bytes,
}

/// What a class is granted, in percent of the capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// Its reservation.
    pub reservation: u32,
    /// Its weight.
    pub weight: u32,
    /// Its limit; none for no limit.
    pub limit: Option<u32>,
}

/// How bytes are turned into cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cost {
    /// `(per_io + per_byte * bytes) / unit` operations.
    Operations {
        /// For each operation.
        per_io: u64,
        /// For each byte.
        per_byte: u64,
        /// What counts as one.
        unit: u64,
    },
    /// The larger of the bytes and bandwidth / IOPS.
    Larger,
    /// Their sum.
    Sum,
}

/// What daemons with mClock do with `osd_max_backfills` and `osd_recovery_max_active` that an operator sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resets {
    /// They set their own again.
    Always,
    /// They do so without `osd_mclock_override_recovery_settings`.
    Unless,
}

/// Where reads of shards for recovery wait in the queue of their class.
pub(super) const BY_CLASS: &str = "by the priority of the group: recovery or best effort";

/// The value of a rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Queue(Queue),
    Kind(Kind),
    Profile(Profile),
    /// Of clients, recovery and best effort.
    Shares([Share; 3]),
    Count(u32),
    Bytes(u64),
    Cost(Cost),
    Resets(Resets),
    Flag(bool),
    Words(&'static str),
}

/// Whether the model has a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Modelled {
    /// It has.
    Yes,
    /// It has, but the source was not seen for all of these versions: what is taken.
    Assumed(&'static str),
    /// The values are not known: what is taken, and said in answers.
    Unknown(&'static str),
    /// It has not.
    No,
}

impl Profile {
    /// Its name in Ceph.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Profile::Balanced => "balanced",
            Profile::HighClientOps => "high_client_ops",
            Profile::HighRecoveryOps => "high_recovery_ops",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |queue: &Queue| if *queue == Queue::Wpq { "WPQ" } else { "mClock" };
        match self {
            Rule::Queue => f.write_str("`osd_op_queue`"),
            Rule::Mclock => f.write_str("unit of costs and limits of mClock"),
            Rule::DefaultProfile => f.write_str("`osd_mclock_profile`"),
            Rule::Shares(profile) => write!(f, "`{}`", profile.name()),
            Rule::Backfills(queue) => write!(f, "`osd_max_backfills`, {}", of(queue)),
            Rule::Active(queue, disk) => write!(f, "`osd_recovery_max_active_{disk}`, {}", of(queue)),
            Rule::Resets => f.write_str("a change of these two limits under mClock"),
            Rule::Shards(disk) => write!(f, "`osd_op_num_shards_{disk}`"),
            Rule::Capacity(disk) => write!(f, "`osd_mclock_max_capacity_iops_{disk}`"),
            Rule::Bandwidth(disk) => write!(f, "`osd_mclock_max_sequential_bandwidth_{disk}`"),
            Rule::Measured => f.write_str("capacities that daemons measure are kept"),
            Rule::Cost(disk) => write!(f, "cost in mClock, {disk}"),
            Rule::Item => f.write_str("bytes of a work item in mClock"),
            Rule::Reply => f.write_str("bytes of the reply to a push in mClock"),
            Rule::Class => f.write_str("class of a work item of recovery"),
            Rule::IdleItems => f.write_str("mClock charges the items of groups that wait"),
            Rule::ShardReads => f.write_str("reads of shards for recovery (`MSG_OSD_EC_READ`) under mClock"),
            Rule::Clients => f.write_str("reservation and limit of clients"),
            Rule::GroupsTarget => f.write_str("`mon_target_pg_per_osd`"),
            Rule::GroupsMax => f.write_str("`mon_max_pg_per_osd`"),
        }
    }
}

impl fmt::Display for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Disk::Hdd { "hdd" } else { "ssd" })
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} % / {} / ", self.reservation, self.weight)?;
        match self.limit {
            Some(limit) => write!(f, "{limit} %"),
            None => f.write_str("–"),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Value::Queue(Queue::Wpq) => f.write_str("`wpq`"),
            Value::Queue(Queue::Mclock) => f.write_str("`mclock_scheduler`"),
            Value::Kind(Kind::Operations) => f.write_str("operations"),
            Value::Kind(Kind::Third) => f.write_str("operations, with lower limits of recovery"),
            Value::Kind(Kind::Bytes) => f.write_str("bytes"),
            Value::Profile(profile) => write!(f, "`{}`", profile.name()),
            Value::Shares([clients, recovery, rest]) => {
                write!(f, "clients {clients}; recovery {recovery}; best effort {rest}")
            }
            Value::Count(count) => write!(f, "{}", towtank_report::human::digits(f64::from(count))),
            Value::Bytes(bytes) => write!(f, "{}", Bytes::new(bytes)),
            Value::Cost(Cost::Operations { per_io, per_byte, unit }) => {
                write!(f, "({per_io} + {per_byte} × bytes) / {unit}, rounded, at least 1")
            }
            Value::Cost(Cost::Larger) => f.write_str("the larger of bytes and bandwidth / IOPS"),
            Value::Cost(Cost::Sum) => f.write_str("bytes + bandwidth / IOPS"),
            Value::Resets(Resets::Always) => f.write_str("taken back"),
            Value::Resets(Resets::Unless) => {
                f.write_str("taken back, but for `osd_mclock_override_recovery_settings`")
            }
            Value::Flag(flag) => f.write_str(if flag { "yes" } else { "no" }),
            Value::Words(words) => f.write_str(words),
        }
    }
}

impl fmt::Display for Modelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Modelled::Yes => f.write_str("yes"),
            Modelled::Assumed(what) => write!(f, "yes; {what}"),
            Modelled::Unknown(what) => write!(f, "in part; {what}"),
            Modelled::No => f.write_str("no"),
        }
    }
}
