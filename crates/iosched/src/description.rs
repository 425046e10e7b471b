//! The text form of a scheduler, as users write it: `fifo:8`, `dsfq-atb:4:100ms`, `tbf:depth=3`. It is
//! parsed, printed, and made into a [`Scheduler`]; the properties of flows are given separately ([`Flows`]).
//!
//! A name comes first; then, each after a colon, the depth D (the number of requests that may be in service;
//! `none`, a negative number or nothing sets no bound), the values that the name asks for, and options as
//! `key=value`. [`Description::USAGES`] lists all. Printed text reads back as the same description.

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

/// A scheduler and its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Description {
    /// The number of requests that may be in service; `None` sets no bound.
    pub depth: Option<u32>,
    /// The rules of the scheduler.
    pub kind: Kind,
}

/// The rules of a scheduler and their parameters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// [`crate::Fifo`].
    Fifo,
    /// [`crate::Sfq`].
    Sfq,
    /// [`crate::Ssfq`], with the cost of one piece.
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
    /// [`crate::I2l`], which bounds the number in service itself.
    I2l(I2lSpec),
    /// [`crate::Sfqrc`].
    Sfqrc(SfqrcSpec),
    /// [`crate::Dta`], with the lag in percent; the depth holds for each server.
    Dta(u32),
    /// [`crate::Mclock`].
    Mclock {
        /// What happens at the limit.
        at_limit: AtLimit,
        /// The time without requests after which a flow counts as idle; `None` is none.
        idle_after: Option<SimSpan>,
    },
    /// [`crate::Rounds`].
    Rounds {
        /// What forms a batch.
        batch: Batch,
        /// The length of a batch.
        quantum: u32,
        /// The requests that are put into order.
        supported: Supported,
    },
    /// [`crate::Tbf`], by flow.
    Tbf {
        /// The most tokens that a class holds.
        tokens: u64,
        /// Whether fractions of tokens are kept.
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
    /// Every name with its usage; brackets enclose optional parts, with their defaults.
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

    /// Builds the scheduler for these flows.
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
    /// Omits values that equal their defaults.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&print::text(self))
    }
}

#[cfg(test)]
mod tests;
