//! Towtank as a library: from a scenario's text to its report, with the built-in studies and your own.
//!
//! 1. A [`Registry`] holds studies and scenarios by name: [`Registry::builtin`], and those added by
//!    [`with`](Registry::with).
//! 2. A [`Document`] is a scenario's text, from any source, with values that override it and gates;
//!    [`Document::check`] reports all errors, or makes a [`Scenario`] of it.
//! 3. [`run()`] runs a scenario according to [`Options`] and returns its report; [`reproduce()`] does so with
//!    published scenarios and judges their claims; [`merge()`] joins the shards of a campaign; [`compare()`]
//!    compares results, and [`run_alternatives`] runs a scenario in several versions and compares them.
//!    [`preview_of_memory`] estimates the memory of a run beforehand; [`search()`] looks for settings that
//!    meet goals. A [`Delegated`] campaign has its runs done by other processes.
//! 4. An [`Observer`] receives progress, and may request a stop. [`Trouble`] is the error of all of these,
//!    and says whether the input is at fault.
//!
//! ```
//! use towtank::{Document, Options, Registry, run};
//!
//! let registry = Registry::builtin();
//! let mut document = Document::builtin("queue-mm1", &registry)?;
//! document.set("replicates", "2")?;
//! document.set("span", "100s")?;
//! document.fail_if("wait_mean > 1h");
//! let ran = run(&document.check(&registry)?, &Options::default(), &())?;
//! let report = ran.report.expect("nobody stopped it");
//! assert_eq!(report.summary["wait_mean"].n(), 2);
//! assert!(ran.unmet.is_empty());
//! # Ok::<(), towtank::Trouble>(())
//! ```
//!
//! Messages name flags of the `towtank` command (`--jobs`, `--allow-memory`): they refer to the options of
//! the same names.
//!
//! Left out: printing, signals, exit codes, clocks, and the form of a command line, which belong to the front
//! end.

mod alternatives;
mod answer;
mod catalogue;
mod compare;
mod delegated;
mod document;
mod files;
pub mod gates;
pub mod laws;
mod machine;
mod measured;
mod merge;
mod need;
mod observer;
mod options;
mod overflow;
mod preview;
mod registry;
mod reproduce;
mod run;
mod scenario;
mod search;
mod trouble;

pub use alternatives::{Alternative, Alternatives, run_alternatives};
pub use answer::report_of;
pub use catalogue::Builtin;
pub use compare::compare;
pub use delegated::{Delegated, Runner};
pub use document::{Document, read_text};
pub use files::write_report;
pub use gates::Unmet;
pub use machine::{Limit, Memory, refusal_of_file};
pub use measured::capacity_run;
pub use merge::{Merged, merge};
pub use observer::{Observer, Remark, Which};
pub use options::Options;
pub use preview::{MemoryPreview, preview_of_memory};
pub use registry::{NameTaken, Registry, studies};
pub use reproduce::{
    Announced, Estimate, Listing, PaperName, QUICK_SECONDS, Wanted, listing, paper_of, reproduce,
    reproducible,
};
pub use run::{Done, Run, run};
pub use scenario::{Scenario, heading};
pub use search::{Searched, search};
pub use trouble::Trouble;
