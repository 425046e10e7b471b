//! The rate of the system for a mix: equations (3) to (7), and the harmonic form for shares of operations.

mod locate;

use towtank_units::Bytes;

use crate::curvature::{Curvature, evenness};
use crate::elastic::{Elastic, Ranged};
use crate::mix::{Mix, Part, Shares};
use crate::model::Model;
use locate::locate;
pub use locate::{Located, SizeKind};

/// What to estimate, and how.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The mix.
    pub mix: &'a Mix,
    /// What its shares refer to.
    pub shares: Shares,
    /// How to treat sizes outside those measured.
    pub beyond: Beyond,
    /// Whether the fitted curvatures are applied.
    pub curved: bool,
}

/// How to treat sizes smaller or larger than any measured one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Beyond {
    /// Return an error.
    #[default]
    Refuse,
    /// Extend the line through the two nearest sizes.
    Extrapolate,
}

/// The rates that were estimated.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// One estimate per part of the mix.
    pub parts: Vec<PartEstimate>,
    /// Operations per second. With shares of concurrency, those under first come, first served.
    pub total: Ranged,
    /// Reads per second.
    pub reads: Ranged,
    /// Writes per second.
    pub writes: Ranged,
    /// Bytes per second.
    pub bandwidth: Ranged,
    /// The total if shares are of operations: `1 / Σ(p/T)`.
    pub as_operations: Ranged,
    /// The total if shares are of capacity: (7), `Σ(p·T)`.
    pub as_capacity: Ranged,
}

/// The estimate for one part of the mix.
#[derive(Clone, Debug, PartialEq)]
pub struct PartEstimate {
    /// The part.
    pub part: Part,
    /// Whether its size was measured.
    pub kind: SizeKind,
    /// The rate of the system for this part alone, at its own read share: T of the paper, 100·k.
    pub alone: Ranged,
    /// Its reads per second.
    pub reads: Ranged,
    /// Its writes per second.
    pub writes: Ranged,
    /// Its bytes per second.
    pub bandwidth: Ranged,
}

/// Why there is no estimate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EstimateError {
    /// A size that was not measured, outside the range of those measured.
    #[error("{size} is outside the measured sizes, {least} to {most}")]
    Outside {
        /// The size.
        size: Bytes,
        /// The smallest measured size.
        least: Bytes,
        /// The largest measured size.
        most: Bytes,
    },
    /// Only one size was measured, and a line needs two points.
    #[error("{size} was not measured, and other sizes cannot be estimated from {only} alone")]
    OneSize {
        /// The size.
        size: Bytes,
        /// The only measured size.
        only: Bytes,
    },
}

impl EstimateError {
    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Outside { size, .. } => format!("measure {size}, or add --extrapolate to extend the line"),
            Self::OneSize { size, .. } => format!("measure pure reads and pure writes of {size}"),
        }
    }
}

/// Estimates the rates of a mix.
///
/// # Errors
/// If the model cannot estimate a size.
pub fn estimate(model: &Model, asked: &Asked<'_>) -> Result<Estimate, EstimateError> {
    let halves = model.half_widths();
    let halves = halves.as_deref();
    let mut alone = Vec::new();
    for part in asked.mix.parts() {
        let located = locate(model, part.size_bytes, asked.beyond)?;
        alone.push((*part, located.kind, of_one_size(&located, part.reads, asked.curved)));
    }
    let weighed: Vec<(f64, &Elastic)> = alone.iter().map(|(part, _, rate)| (part.share, rate)).collect();
    let bend = model.curvature.filter(|_| asked.curved).map_or(0.0, |curvature| curvature.value);
    let bent = Curvature::bend(bend, asked.mix.diversity(), 1.0);
    let operations = Elastic::harmonic(&weighed).times(bent);
    let capacity = Elastic::arithmetic(&weighed);
    let rates: Vec<Elastic> = match asked.shares {
        Shares::Capacity => weighed.iter().map(|(share, rate)| rate.times(*share)).collect(),
        Shares::Operations | Shares::Concurrency => {
            weighed.iter().map(|(share, _)| operations.times(*share)).collect()
        }
    };
    let sum = |factor: &dyn Fn(&Part) -> f64| {
        let terms: Vec<(f64, &Elastic)> =
            alone.iter().zip(&rates).map(|((part, _, _), rate)| (factor(part), rate)).collect();
        Elastic::arithmetic(&terms).ranged(halves)
    };
    let part = |((part, kind, rate), own): (&(Part, SizeKind, Elastic), &Elastic)| PartEstimate {
        part: *part,
        kind: *kind,
        alone: rate.ranged(halves),
        reads: own.times(part.reads).ranged(halves),
        writes: own.times(1.0 - part.reads).ranged(halves),
        bandwidth: own.times(part.size_bytes as f64).ranged(halves),
    };
    Ok(Estimate {
        parts: alone.iter().zip(&rates).map(part).collect(),
        total: sum(&|_| 1.0),
        reads: sum(&|part| part.reads),
        writes: sum(&|part| 1.0 - part.reads),
        bandwidth: sum(&|part| part.size_bytes as f64),
        as_operations: operations.ranged(halves),
        as_capacity: capacity.ranged(halves),
    })
}

/// (6): the total of one size at a read share.
fn of_one_size(located: &Located, reads: f64, curved: bool) -> Elastic {
    let straight = Elastic::harmonic(&[(reads, &located.reads), (1.0 - reads, &located.writes)]);
    let bend = if curved { located.curvature } else { 0.0 };
    straight.times(Curvature::bend(bend, evenness(reads), 1.0))
}

#[cfg(test)]
mod tests;
