//! The performance of a storage system for any mix of reads, writes and sizes, estimated from its performance
//! with pure reads and pure writes.
//!
//! The method is that of Ra and Lee, *Fighting with Unknowns: Estimating the Performance of Scalable
//! Distributed Storage Systems with Minimal Measurement Data*; equations have its numbers. A read costs one
//! unit of work and a write `f_rw` units (2), (4); the system does C units per second for every mix (3). So C
//! is the rate of pure reads, and the total at a read share R follows (6). [`fit`] makes a [`Model`] from
//! measured [`Run`]s, [`estimate`] evaluates it, [`check`] compares it with other runs.
//!
//! With several sizes the paper uses (7), whose shares are of *capacity*. With shares of operations the work
//! adds up instead, and the total is a harmonic mean; [`Shares`] says which is meant.
//!
//! The uncertainty of an estimate follows from differences between runs of one point ([`Spread`]). The error
//! of the method itself is separate, and [`check`] distinguishes the two.
//!
//! Left out on purpose: files and their formats (`imports` reads them), clocks, randomness.

mod check;
mod curvature;
mod elastic;
mod estimate;
mod file;
mod fit;
pub mod measure;
mod mix;
mod model;
pub mod present;
mod published;
mod run;
mod spread;

pub use check::{Checked, Checks, Doubt, Verdict, VerdictKind, WITHIN_DEFAULT, check};
pub use curvature::{Curvature, LeftOut};
pub use elastic::{Elastic, Ranged};
pub use estimate::{Asked, Beyond, Estimate, EstimateError, Located, PartEstimate, SizeKind, estimate};
pub use file::{ReadError, SCHEMA};
pub use fit::{FitError, fit};
pub use mix::{MIX_PARTS_MAX, Mix, MixError, Part, Plan, Shares};
pub use model::{Measured, MeasuredMix, Mixture, Model, SizeModel};
pub use published::{apart, claims};
pub use run::{Group, Run, groups};
pub use spread::Spread;
