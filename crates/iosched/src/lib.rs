//! Queue disciplines: which request is served next, when several kinds of requests compete for one resource.
//!
//! A discipline ([`Discipline`]) is notified of arrivals and asked which request goes; the server decides how
//! long service takes. So the same code decides in a simulated disk and in a real store.
//!
//! - In order of arrival: [`Fifo`]. By priority or deadline: [`Priority`], [`Edf`], [`I2l`], [`Dta`].
//! - By shares: [`Fair`], [`Sfq`], [`Ssfq`], [`Wfq`], [`Wf2q`], [`Drr`], [`Wrr`], [`Bfq`]; of several servers
//!   together: [`Dsfq`].
//! - By rates, credits and reservations: [`TokenBucket`], [`BucketTree`], [`Tbf`], [`Sfqrc`], [`Mclock`].
//! - In batches of clients, objects or targets: [`Rounds`].
//!
//! [`Description`] names one in text, [`Flows`] holds the guarantees and limits of flows, and [`Scheduler`]
//! is any of them. [`Parda`] runs at the client and is not a discipline; [`Limiter`] is the limit of mClock
//! by itself.
//!
//! ```
//! use towtank_iosched::{Discipline, Fair, FlowId, Request};
//! use towtank_units::SimTime;
//!
//! let now = SimTime::ZERO;
//! let mut fair = Fair::new(&[3, 1]);
//! for number in 0..4 {
//!     fair.arrive(now, Request::new(FlowId(0), 10, format!("a{number}")));
//!     fair.arrive(now, Request::new(FlowId(1), 10, format!("b{number}")));
//! }
//! let order: Vec<String> = std::iter::from_fn(|| fair.next(now)).map(|one| one.item).collect();
//! assert_eq!(order, ["a0", "b0", "a1", "a2", "a3", "b1", "b2", "b3"]);
//! ```
//!
//! ```
//! use towtank_iosched::{Description, Flows, Scheduler};
//!
//! let description: Description = "dsfq-atb:4:100ms".parse()?;
//! let scheduler: Scheduler<u32> = description.build(&Flows::weighted(&[3, 1]))?;
//! let error = "sqf:4".parse::<Description>().unwrap_err().to_string();
//! assert!(error.starts_with("`sqf` is not a scheduler: use `sfq`, or another of fifo, sfq"), "{error}");
//! # Ok::<(), towtank_iosched::DescriptionError>(())
//! ```
//!
//! Left out: clocks, devices, randomness.

mod bfq;
mod buckets;
mod description;
mod discipline;
mod drr;
mod dsfq;
mod dta;
mod fair;
mod fifo;
mod flows;
mod i2l;
mod keyed;
mod limiter;
mod mclock;
mod parda;
mod room;
mod rounds;
mod scheduler;
mod sfq;
mod sfqrc;
mod ssfq;
mod start_tags;
mod tag;
mod tbf;
#[cfg(test)]
mod trial;
mod wf2q;
mod wfq;
mod wrr;

pub use bfq::{Bfq, BfqSpec};
pub use buckets::{BucketTree, Parent, TokenBucket};
pub use description::{Description, DescriptionError, Kind};
pub use discipline::{
    About, Access, Audience, Discipline, Feedback, FlowId, NoMessage, Piece, Record, Request, SchedulerId,
};
pub use drr::Drr;
pub use dsfq::{Dsfq, Lengths, Report};
pub use dta::Dta;
pub use fair::{Fair, FairMark};
pub use fifo::Fifo;
pub use flows::{FlowSpec, Flows};
pub use i2l::{I2l, I2lSpec};
pub use keyed::{Edf, Priority};
pub use limiter::Limiter;
pub use mclock::{AtLimit, Class, Mclock, Phase, Profile, Tracker};
pub use parda::{Parda, PardaSpec};
pub use rounds::{Batch, Rounds, Supported};
pub use scheduler::Scheduler;
pub use sfq::Sfq;
pub use sfqrc::{Sfqrc, SfqrcSpec};
pub use ssfq::Ssfq;
pub use tbf::{ClassBy, Rule, RuleError, Tbf};
pub use wf2q::Wf2q;
pub use wfq::Wfq;
pub use wrr::Wrr;
