//! Campaigns: many runs of one study on threads, stored in files, divided into shards, and joined in one
//! report.
//!
//! The steps:
//!
//! 1. A [`Plan`] says what is to be run: points, replicates, and keys that identify everything a result
//!    depends on.
//! 2. A [`Store`], if results are to be kept, opens a directory for that plan and locks it against other
//!    writers.
//! 3. [`run`] loads what is stored, distributes the rest to threads, and stores the outcomes.
//! 4. [`assemble`] turns the [`Ledger`] of outcomes into a report; the study adds its tables and figures;
//!    [`unmet`] evaluates gates.
//! 5. [`merge`] joins shards from different directories; [`compare`] compares two results.
//!
//! ```
//! use std::num::NonZeroUsize;
//! use towtank_campaign::{End, Header, KeyParts, Order, Plan, PointKey, PointSpec, Shard, Stop, assemble, run};
//!
//! let scenario = serde_json::json!({ "study": "toy" });
//! let parts =
//!     KeyParts { study: "toy", scenario_hash: "5f0c", input_hashes: &[], seed: 1, results_version: 1 };
//! let point = PointSpec { settings: vec![], scenario: scenario.clone(), key: PointKey::new(&parts) };
//! let header = Header {
//!     study: "toy".to_owned(),
//!     title: "A toy".to_owned(),
//!     results_version: 1,
//!     seed: 1,
//!     scenario,
//!     scenario_hash: "5f0c".to_owned(),
//! };
//! let plan = Plan::new(header, 3, vec![], vec![point])?;
//! let order = Order {
//!     plan: &plan,
//!     shard: Shard::WHOLE,
//!     jobs: NonZeroUsize::new(2).unwrap(),
//!     store: None,
//!     stop: &Stop::new(),
//!     progress: &|_| (),
//! };
//! let ran = run(&order, &|_, replicate, _| {
//!     let mut outcome = towtank_report::Outcome::default();
//!     outcome.measure("span_s", 4.0 + f64::from(replicate), "s");
//!     Ok::<_, std::convert::Infallible>(outcome)
//! });
//! assert!(matches!(ran.end, End::Done));
//! let report = assemble(&plan, ran.ledger, "sequential").report;
//! assert_eq!(report.summary["span_s"].value(), Some(5.0));
//! # Ok::<(), towtank_campaign::PlanError>(())
//! ```
//!
//! **Invariant:** the results of a campaign are a function of its plan. Jobs, shards, interruptions, crashes
//! and the order in which runs end determine how many of them exist, never their values.
//!
//! **Invariant:** an outcome is converted to text and read back before it is used, so that a fresh and a
//! stored outcome are the same value.
//!
//! Left out on purpose: models, clocks, printing, and any knowledge of studies. The caller passes a closure.

mod assembly;
mod compare;
mod crew;
mod differences;
mod disk;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod faults;
mod fingerprint;
mod gates;
mod inputs;
mod ledger;
mod lock;
mod manifest;
mod merge;
mod plan;
mod point_file;
mod report_files;
mod run;
#[cfg(test)]
mod scratch;
mod shard;
mod stop;
mod store;
mod writer;

pub use assembly::{Assembled, assemble, assemble_by};
pub use compare::{CompareError, LoadError, Side, compare, load_side};
pub use differences::Difference;
pub(crate) use differences::differences;
pub use disk::{Disk, HostDisk};
pub use gates::unmet;
pub use inputs::Inputs;
pub use ledger::{Ledger, PointOutcomes};
pub use merge::{MergeError, Merged, merge};
pub use plan::{CampaignKey, Header, KeyParts, Plan, PlanError, PointKey, PointSpec, TASKS_MAX, Task};
pub use point_file::Unstorable;
pub use report_files::ReportFile;
pub use run::{End, Failure, Order, Progress, Ran, run, run_one};
pub use shard::{Shard, ShardError};
pub use stop::Stop;
pub use store::{Damaged, Store, StoreError, Takeover};
pub use writer::{WriteError, Writer};
