//! What is learned of machines from a recovery that happened: their constants, each with an interval, and how
//! well they explain it. `towtank learn` writes it, and `whatif` uses it in place of what is assumed.
//!
//! - `file`: the file, read.

mod file;

use serde::{Deserialize, Serialize};
use towtank_recovery::queue::Queue;

pub(crate) use self::file::read;

/// The version of the file that is written, and the only one that is read.
pub(crate) const VERSION: u32 = 1;

/// What is learned of machines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Learned {
    /// The version of the file.
    pub version: u32,
    /// The recovery that it was learned from.
    pub event: Recovery,
    /// The constants.
    pub constants: Fitted,
    /// Constants that explain the recovery as well as each other, one of each row with the same number: what
    /// is not known apart goes together.
    pub draws: Rows,
}

/// A recovery that something was learned from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recovery {
    /// The cluster (`fsid`), if the files say which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The release of Ceph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// The queue of its daemons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// The class of the disks.
    pub class: String,
    /// What was done, as `whatif` has it.
    pub changes: Vec<String>,
    /// When it began.
    pub began: String,
    /// The files.
    pub files: Vec<String>,
    /// What was read of it most often: the source that was fitted to.
    pub source: String,
    /// The seconds that constants from its first half say for all of it.
    pub predicted_s: f64,
    /// The seconds that it took.
    pub took_s: f64,
    /// By how much the second half is off, with constants from the first: the mean, as a share of the whole.
    pub error_after: f64,
    /// By how much all of it is off, with constants from all of it.
    pub error_within: f64,
    /// Where no constants explain it, by how many times what is expected it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unexplained: Option<f64>,
}

/// The constants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fitted {
    /// Bytes per second that a disk writes; it reads in proportion.
    pub disk_rate: Constant,
    /// Seconds of an object besides its bytes and the sleep.
    pub object_cost: Constant,
    /// Seconds of sleep after each object, where the queue sleeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_sleep: Option<Constant>,
    /// The limit of the queue on recovery, as a share of that of the profile, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_limit: Option<Constant>,
    /// Seconds from the change to the first object.
    pub start: Constant,
    /// Groups that a device leads at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_backfills: Option<Constant>,
}

/// A constant.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constant {
    /// What is assumed without this file.
    pub assumed: f64,
    /// What was found; what is assumed where that cannot be known.
    pub value: f64,
    /// The lower end of nine tenths of what it may be.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Whether the recovery tells it.
    pub known: bool,
}

/// Rows of constants.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rows {
    /// Of `disk_rate`.
    pub disk_rate: Vec<f64>,
    /// Of `object_cost`.
    pub object_cost: Vec<f64>,
    /// Of `recovery_sleep`, if that is there; and so the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recovery_sleep: Vec<f64>,
    /// Of `queue_limit`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queue_limit: Vec<f64>,
    /// Of `start`.
    pub start: Vec<f64>,
    /// Of `max_backfills`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub max_backfills: Vec<f64>,
}

impl Fitted {
    /// The constants with their names and units, in the order of the file.
    #[must_use]
    pub fn all(&self) -> Vec<(&'static str, &'static str, Constant)> {
        let all = [
            ("disk_rate", "bytes/s", Some(self.disk_rate)),
            ("object_cost", "s", Some(self.object_cost)),
            ("recovery_sleep", "s", self.recovery_sleep),
            ("queue_limit", "times", self.queue_limit),
            ("start", "s", Some(self.start)),
            ("max_backfills", "", self.max_backfills),
        ];
        all.into_iter().filter_map(|(name, unit, constant)| Some((name, unit, constant?))).collect()
    }
}

impl Rows {
    /// The rows with their names.
    fn all(&self) -> [(&'static str, &Vec<f64>); 6] {
        [
            ("disk_rate", &self.disk_rate),
            ("object_cost", &self.object_cost),
            ("recovery_sleep", &self.recovery_sleep),
            ("queue_limit", &self.queue_limit),
            ("start", &self.start),
            ("max_backfills", &self.max_backfills),
        ]
    }
}

impl Learned {
    /// The file, with what its parts mean.
    #[must_use]
    pub fn text(&self) -> String {
        let body = toml::to_string(self).expect("all of it can be written");
        format!(
            "# What `towtank learn` found of these machines: `towtank whatif --machines` uses it in place of typical values.\n\
             # value: what was found, or what is assumed where known = false; low and high: nine tenths of what it may be.\n\
             # Seconds, and bytes per second. The columns of [draws] belong together.\n{body}"
        )
    }
}

/// The name of a queue, as in `osd_op_queue`.
pub(crate) const fn name_of(queue: Queue) -> &'static str {
    match queue {
        Queue::Wpq => "wpq",
        Queue::Mclock => "mclock",
    }
}
