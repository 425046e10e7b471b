//! A scheduler in a word, as users write it: `fifo:8`, `dsfq-atb:4:100ms`, `tbf:depth=3`. Parsed, printed,
//! and made into a [`Scheduler`]; what is said of flows is given apart ([`Flows`]).
//!
//! A name comes first; then, each after a colon, the depth D (how many may be in service; `none`, a negative
//! number or nothing sets no bound), what the name asks for, and options as `key=value`.
//! [`Description::USAGES`] lists all. What is printed reads back as the same.

use std::fmt;
use std::str::FromStr;

use crate::dsfq::Report;
use crate::i2l::I2lSpec;
use crate::mclock::AtLimit;
use crate::rounds::{Batch, Supported};
use crate::scheduler::Scheduler;
use crate::sfqrc::SfqrcSpec;
use crate::{BfqSpec, FlowId, Flows, Parent};
use towtank_units::SimSpan;

mod error;
mod parse;
mod print;

pub use error::DescriptionError;

/// Which scheduler, and with what.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Description {
    /// How many requests may be in service; none sets no bound.
    pub depth: Option<u32>,
    /// Which rules.
    pub kind: Kind,
}

/// The rules of a scheduler, and what they are set to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// [`crate::Fifo`].
    Fifo,
    /// [`crate::Sfq`].
    Sfq,
    /// [`crate::Ssfq`], with the cost of a piece.
    Ssfq(u64),
    /// [`crate::Wfq`].
    Wfq,
    /// [`crate::Wf2q`].
    Wf2q,
    /// [`crate::Drr`], with the quantum for a weight of 1.
    Drr(u64),
    /// [`crate::Wrr`].
    Wrr,
    /// [`crate::Priority`].
    Priority,
    /// [`crate::Dsfq`].
    Dsfq(Report),
    /// [`crate::Edf`].
    Edf,
    /// [`crate::I2l`], which bounds what is in service itself.
    I2l(I2lSpec),
    /// [`crate::Sfqrc`].
    Sfqrc(SfqrcSpec),
    /// [`crate::Dta`], with the lag in percent; the depth is that of each server.
    Dta(u32),
    /// [`crate::Mclock`].
    Mclock {
        /// What is done at the limit.
        at_limit: AtLimit,
        /// After how long a flow counts as idle.
        idle_after: SimSpan,
    },
    /// [`crate::Rounds`].
    Rounds {
        /// What forms a batch.
        batch: Batch,
        /// How long one is.
        quantum: u32,
        /// What is put into order.
        supported: Supported,
    },
    /// [`crate::Tbf`], by flow.
    Tbf {
        /// The most tokens of a class.
        tokens: u64,
        /// Whether parts of tokens are kept.
        realtime: bool,
    },
    /// [`crate::Bfq`].
    Bfq(BfqSpec),
    /// [`crate::TokenBucket`].
    TokenBucket,
    /// [`crate::BucketTree`].
    BucketTree(Parent),
}

impl Description {
    /// Every name, and what may follow it; brackets hold what may be left out, with its default.
    pub const USAGES: [(&'static str, &'static str); 25] = [
        ("fifo", "fifo[:D]"),
        ("sfq", "sfq[:D]"),
        ("ssfq", "ssfq[:D][:piece=128KiB]"),
        ("wfq", "wfq[:D]"),
        ("wf2q+", "wf2q+[:D]"),
        ("drr", "drr[:D][:quantum=64KiB]"),
        ("wrr", "wrr[:D]"),
        ("priority", "priority[:D]"),
        ("dsfq-a", "dsfq-a[:D]"),
        ("dsfq-d", "dsfq-d[:D]"),
        ("dsfq-f", "dsfq-f[:D]"),
        ("dsfq-atb", "dsfq-atb:D:PERIOD"),
        ("dsfq-alb", "dsfq-alb:D:BYTES"),
        ("edf", "edf[:D]"),
        ("i2l", "i2l[:sarc=100ms][:avatar=1s]"),
        ("sfqrc", "sfqrc[:D][:read=100MB/s][:write=100MB/s][:seek=8ms][:step=10ms]"),
        ("dta", "dta[:D][:lag=25]"),
        ("mclock", "mclock[:D][:at-limit=wait|allow][:idle-after=0s]"),
        ("crr-n", "crr-n[:D][:quantum=8]"),
        ("orr", "orr[:D][:quantum=256][:for=reads|writes|both]"),
        ("trr", "trr[:D][:quantum=256][:for=reads|writes|both]"),
        ("tbf", "tbf[:D][:depth=3][:realtime]"),
        ("bfq", "bfq[:D][:min=512KiB][:max=8MiB][:idle=8ms][:timeout=125ms]"),
        ("token-bucket", "token-bucket[:D]"),
        ("htb", "htb[:D]:rate=RATE[:burst=BYTES][:lend]"),
    ];

    /// The scheduler for these flows.
    ///
    /// # Errors
    /// When a flow would never be served.
    pub fn build<T: Clone>(&self, flows: &Flows) -> Result<Scheduler<T>, DescriptionError> {
        let may_lack_weight = match self.kind {
            Kind::Sfq
            | Kind::Ssfq(_)
            | Kind::Wfq
            | Kind::Wf2q
            | Kind::Drr(_)
            | Kind::Wrr
            | Kind::Dsfq(_)
            | Kind::Sfqrc(_)
            | Kind::Bfq(_) => |_: u64| false,
            Kind::Mclock { .. } => |reservation: u64| reservation > 0,
            _ => |_: u64| true,
        };
        for (flow, spec) in (0..).zip(flows.specs()) {
            if spec.weight == 0 && !may_lack_weight(spec.reservation) {
                return Err(DescriptionError::Weight { flow: FlowId(flow), scheduler: self.to_string() });
            }
        }
        Ok(Scheduler::new(self, flows))
    }
}

impl FromStr for Description {
    type Err = DescriptionError;

    fn from_str(text: &str) -> Result<Description, DescriptionError> {
        parse::description(text)
    }
}

impl TryFrom<String> for Description {
    type Error = DescriptionError;

    fn try_from(text: String) -> Result<Description, DescriptionError> {
        text.parse()
    }
}

impl From<Description> for String {
    fn from(description: Description) -> String {
        description.to_string()
    }
}

impl fmt::Display for Description {
    /// What is as it would be anyway is left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&print::text(self))
    }
}

#[cfg(test)]
mod tests;
