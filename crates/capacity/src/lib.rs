//! What a storage system can do with any mix of reads, writes and sizes, from what it does with pure reads
//! and pure writes.
//!
//! The method is that of Ra and Lee, *Fighting with Unknowns: Estimating the Performance of Scalable
//! Distributed Storage Systems with Minimal Measurement Data*; equations are named by its numbers. A read
//! costs one unit of work and a write `f_rw` of them (2), (4); the system does C units a second whatever the
//! mix (3). So C is the rate of pure reads, and the total at a read share R follows (6). [`fit`] makes a
//! [`Model`] of measured [`Run`]s, [`estimate`] asks it, [`check`] holds it against other runs.
//!
//! With several sizes the paper writes (7), whose shares are of *capacity*. Where shares are of operations
//! the work adds up instead, and the total is a harmonic mean; [`Shares`] says which is meant.
//!
//! How sure an estimate is follows from runs of one point that differ ([`Spread`]): the method's own error is
//! another matter, and [`check`] is there to tell the two apart.
//!
//! What is deliberately absent: files and their formats (`imports` reads them), clocks, randomness.

mod check;
mod curvature;
mod elastic;
mod estimate;
mod file;
mod fit;
mod mix;
mod model;
pub mod present;
mod published;
mod run;
mod spread;

pub use check::{Checked, Checks, Verdict, VerdictKind, WITHIN_DEFAULT, check};
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
