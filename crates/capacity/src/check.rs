//! Compares a model with measurements: errors (8), cross-validation of a curvature, and a plain verdict.

mod reason;

use towtank_metrics::{student_t_975, student_t_beyond};

use crate::curvature::{Curvature, LeftOut};
use crate::elastic::Ranged;
use crate::estimate::{Asked, Beyond, EstimateError, SizeKind, estimate};
use crate::mix::{Mix, Shares};
use crate::model::Model;
use crate::run::{Group, mean};
use crate::spread::Spread;

/// Errors up to this many percent count as small: what the paper finds for small operations.
pub const WITHIN_DEFAULT: f64 = 10.0;

/// A measured point and its estimate.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The mix.
    pub mix: Mix,
    /// What the shares of the mix refer to.
    pub shares: Shares,
    /// The measured rate, with the interval from the spread.
    pub measured: Ranged,
    /// Number of runs of which `measured` is the mean.
    pub runs: usize,
    /// The model's estimate.
    pub estimate: Ranged,
    /// The error (8) of the estimate, in percent of the measured rate.
    pub error_percent: f64,
    /// The errors with shares of operations and with shares of capacity, for mixes of sizes.
    pub forms_percent: Option<(f64, f64)>,
    /// Whether the difference may be chance, because it lies within the spread of both numbers. None if the
    /// spread is unknown.
    pub by_chance: Option<bool>,
    /// The least reliable kind among its sizes.
    pub kind: SizeKind,
}

impl Checked {
    /// Whether this is a pure load of one size, whose rate the model takes from measurement.
    #[must_use]
    pub(crate) fn is_pure(&self) -> bool {
        self.mix.single().is_some_and(|part| part.reads == 0.0 || part.reads == 1.0)
    }

    /// The group of points that it belongs to: those of one size, or mixes of sizes.
    #[must_use]
    pub fn name(&self) -> String {
        match self.mix.single() {
            Some(part) => part.size(),
            None => {
                let mut sizes: Vec<u64> = self.mix.parts().iter().map(|part| part.size_bytes).collect();
                sizes.sort_unstable();
                sizes.dedup();
                let sizes: Vec<String> =
                    sizes.into_iter().map(|size| towtank_units::Bytes::new(size).to_string()).collect();
                format!("{} by {}", sizes.join("+"), self.shares.name())
            }
        }
    }

    /// The error with its sign: above zero if the estimate is too high.
    #[must_use]
    pub(crate) fn signed_percent(&self) -> f64 {
        let percent = 100.0 * (self.estimate.value - self.measured.value) / self.measured.value;
        // The difference of a pure load from its own estimate is rounding.
        if percent.abs() < 1e-9 { 0.0 } else { percent }
    }
}

/// The result of a check for a group of points.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The group: a size, or mixes of sizes by what their shares refer to.
    pub of: String,
    /// Number of points without pure loads.
    pub points: usize,
    /// The mean error (8) in percent.
    pub error_mean: f64,
    /// The greatest error (8) in percent.
    pub error_max: f64,
    /// Whether the hypothesis holds.
    pub kind: VerdictKind,
    /// Why it cannot be decided.
    pub doubt: Option<Doubt>,
    /// The likely reason if it does not hold.
    pub reason: Option<String>,
    /// How much a curvature would reduce the errors.
    pub left_out: Option<LeftOut>,
}

/// Whether the hypothesis holds, the best result first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VerdictKind {
    /// All errors are small enough, whatever the spread of the runs allows.
    Holds,
    /// The spread of the runs allows errors that are small enough and errors that are not, or it is unknown.
    CannotTell,
    /// Some errors are too large, whatever the spread of the runs allows.
    Fails,
}

impl VerdictKind {
    /// The name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            VerdictKind::Holds => "holds",
            VerdictKind::CannotTell => "cannot tell",
            VerdictKind::Fails => "does not hold",
        }
    }
}

/// Why it cannot be decided whether the hypothesis holds, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doubt {
    /// No point was run twice, so the spread of runs is unknown.
    SingleRuns,
    /// Runs of one point differ so much that a rate has no interval.
    NoInterval,
    /// The intervals allow errors on both sides of the limit.
    WithinSpread,
}

impl Doubt {
    /// The reason in words, with the limit in percent.
    #[must_use]
    pub fn words(self, within: f64) -> String {
        match self {
            Doubt::SingleRuns => "no point was run twice, so the errors may be chance".to_owned(),
            Doubt::NoInterval => {
                "runs of one point differ so much that rates have no intervals, so the errors may be chance"
                    .to_owned()
            }
            Doubt::WithinSpread => {
                format!("the spread of the runs allows errors below and above {within} %")
            }
        }
    }
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq)]
pub struct Checks {
    /// Points in the order given.
    pub points: Vec<Checked>,
    /// One verdict per size, and those of mixes of sizes.
    pub verdicts: Vec<Verdict>,
    /// The verdict over all points without pure loads; none if there are only pure loads.
    pub whole: Option<Verdict>,
    /// The spread of single runs, over all known runs.
    pub spread: Option<Spread>,
    /// The error that counts as small, in percent.
    pub within: f64,
}

/// Compares a model with measured points; `own` says that the points are those the model was made from.
///
/// # Errors
/// If the model cannot estimate a size.
pub fn check(
    model: &Model,
    points: &[Group],
    own: bool,
    beyond: Beyond,
    within: f64,
) -> Result<Checks, EstimateError> {
    let known = model.groups();
    // Runs that the model was made from count once, even if they are given again.
    let others = points.iter().filter(|point| !own && !known.contains(point));
    let spread = Spread::pooled(known.iter().chain(others));
    let mut model = model.clone();
    model.spread = spread;
    let points: Vec<Checked> =
        points.iter().map(|group| one(&model, group, beyond)).collect::<Result<_, _>>()?;
    let mut names: Vec<String> = Vec::new();
    for point in points.iter().filter(|point| !point.is_pure()) {
        let name = point.name();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let verdicts = names.iter().map(|name| {
        let of: Vec<&Checked> =
            points.iter().filter(|point| !point.is_pure() && point.name() == *name).collect();
        verdict(name, &of, spread, within)
    });
    let verdicts: Vec<Verdict> = verdicts.collect();
    let mixed: Vec<&Checked> = points.iter().filter(|point| !point.is_pure()).collect();
    let whole = (!mixed.is_empty()).then(|| whole(&mixed, &verdicts));
    Ok(Checks { points, verdicts, whole, spread, within })
}

fn one(model: &Model, group: &Group, beyond: Beyond) -> Result<Checked, EstimateError> {
    let asked = Asked { mix: &group.mix, shares: group.shares, beyond, curved: false };
    let found = estimate(model, &asked)?;
    let half = model.spread.map(|spread| spread.half_width(group.iops.len()));
    let measured = Ranged::around(group.mean(), half);
    let error = |value: f64| 100.0 * (value - measured.value).abs() / measured.value;
    let forms = (error(found.as_operations.value), error(found.as_capacity.value));
    let within = measured.range.zip(found.total.range).map(|(measured_range, range)| {
        let half_of = |range: (f64, f64)| 0.5 * libm::log(range.1 / range.0);
        let both = libm::hypot(half_of(measured_range), half_of(range));
        libm::log(found.total.value / measured.value).abs() <= both
    });
    // Runs that scatter so widely that there is no useful interval may explain any difference.
    let by_chance = within.or(model.spread.map(|_| true));
    let known = [SizeKind::Extrapolated, SizeKind::Interpolated];
    let is = |kind: &&SizeKind| found.parts.iter().any(|part| part.kind == **kind);
    Ok(Checked {
        mix: group.mix.clone(),
        shares: group.shares,
        measured,
        runs: group.iops.len(),
        estimate: found.total,
        error_percent: error(found.total.value),
        forms_percent: group.mix.single().is_none().then_some(forms),
        by_chance,
        kind: known.iter().find(is).copied().unwrap_or(SizeKind::Measured),
    })
}

/// The verdict on points of one group.
fn verdict(of: &str, points: &[&Checked], spread: Option<Spread>, within: f64) -> Verdict {
    let errors: Vec<f64> = points.iter().map(|point| point.error_percent).collect();
    let (kind, doubt) = judged(points, spread, within);
    let bent: Vec<_> = points.iter().map(|point| reason::bent(point)).collect();
    let straight =
        !points.iter().any(|point| point.mix.single().is_none() && point.shares != Shares::Operations);
    Verdict {
        of: of.to_owned(),
        points: points.len(),
        error_mean: mean(&errors),
        error_max: errors.iter().copied().fold(0.0, f64::max),
        kind,
        doubt,
        reason: (kind == VerdictKind::Fails).then(|| reason::likely(points)),
        left_out: Curvature::fit(&bent).filter(|_| straight).and_then(|curvature| curvature.left_out),
    }
}

/// The deviation of an estimate from the measured rate, in logarithms, with the half widths of the intervals
/// of both.
#[derive(Clone, Copy)]
struct Deviation {
    log: f64,
    of_estimate: f64,
    of_measured: f64,
}

impl Deviation {
    /// None if an interval is unknown.
    fn of(point: &Checked) -> Option<Self> {
        let half = |ranged: Ranged| ranged.range.map(|(low, high)| 0.5 * libm::log(high / low));
        let (of_estimate, of_measured) = half(point.estimate).zip(half(point.measured))?;
        let log = libm::log(point.estimate.value / point.measured.value);
        Some(Self { log, of_estimate, of_measured })
    }

    /// The error (8) in percent at a deviation.
    fn percent(log: f64) -> f64 {
        100.0 * libm::expm1(log).abs()
    }

    /// The least and the greatest error in percent within an interval that is wider by this factor.
    fn errors(self, wider: f64) -> (f64, f64) {
        let both = wider * libm::hypot(self.of_estimate, self.of_measured);
        let least = (self.log.abs() - both).max(0.0).copysign(self.log);
        let most = Self::percent(self.log - both).max(Self::percent(self.log + both));
        (Self::percent(least), most)
    }
}

/// Whether the errors of these points are within the limit. Without the spread of runs this is unknown,
/// however large or small the errors are.
fn judged(points: &[&Checked], spread: Option<Spread>, within: f64) -> (VerdictKind, Option<Doubt>) {
    let open = |doubt| (VerdictKind::CannotTell, Some(doubt));
    let Some(spread) = spread else { return open(Doubt::SingleRuns) };
    let deviations: Option<Vec<Deviation>> = points.iter().map(|point| Deviation::of(point)).collect();
    let Some(deviations) = deviations else { return open(Doubt::NoInterval) };
    if deviations.iter().all(|deviation| deviation.errors(1.0).1 <= within) {
        return (VerdictKind::Holds, None);
    }
    // Of many points, some lie outside their intervals by chance, so intervals are wider (Bonferroni): all of
    // them together hold with 95 %.
    let tails = 0.05 / deviations.len() as f64;
    let wider = student_t_beyond(spread.degrees, tails) / student_t_975(spread.degrees);
    let one_is_off = deviations.iter().any(|deviation| deviation.errors(wider).0 > within);
    if one_is_off || least_lean(&deviations) > within {
        return (VerdictKind::Fails, None);
    }
    open(Doubt::WithinSpread)
}

/// The least mean error in percent that the intervals allow: estimates share the errors of the pure loads,
/// and the errors of the points average out. If it exceeds the limit, one of the points does.
fn least_lean(deviations: &[Deviation]) -> f64 {
    let count = deviations.len() as f64;
    let log = deviations.iter().map(|deviation| deviation.log).sum::<f64>() / count;
    let of_estimate = deviations.iter().map(|deviation| deviation.of_estimate).sum::<f64>() / count;
    let squares = deviations.iter().map(|deviation| deviation.of_measured * deviation.of_measured);
    let of_measured = libm::sqrt(squares.sum::<f64>()) / count;
    Deviation { log, of_estimate, of_measured }.errors(1.0).0
}

/// The verdict over all points: the worst of the parts, with its reason, and the worst doubt about a part.
fn whole(points: &[&Checked], verdicts: &[Verdict]) -> Verdict {
    let errors: Vec<f64> = points.iter().map(|point| point.error_percent).collect();
    let failing = verdicts.iter().filter(|verdict| verdict.kind == VerdictKind::Fails);
    let worst = failing.max_by(|a, b| a.error_max.total_cmp(&b.error_max));
    Verdict {
        of: "all".to_owned(),
        points: points.len(),
        error_mean: mean(&errors),
        error_max: errors.iter().copied().fold(0.0, f64::max),
        kind: verdicts.iter().map(|verdict| verdict.kind).max().unwrap_or(VerdictKind::CannotTell),
        doubt: verdicts.iter().filter_map(|verdict| verdict.doubt).min(),
        reason: worst.and_then(|verdict| Some(format!("{}: {}", verdict.of, verdict.reason.as_ref()?))),
        left_out: None,
    }
}

impl Model {
    /// The points that the model was made from.
    #[must_use]
    pub fn groups(&self) -> Vec<Group> {
        let alone = |size_bytes, reads, runs: &Vec<f64>| Group {
            mix: Mix::alone(size_bytes, reads),
            shares: Shares::Operations,
            iops: runs.clone(),
        };
        let mut groups = Vec::new();
        for size in &self.sizes {
            groups.push(alone(size.size_bytes, 1.0, &size.reads.runs));
            groups.push(alone(size.size_bytes, 0.0, &size.writes.runs));
            groups.extend(size.mixes.iter().map(|mix| alone(size.size_bytes, mix.reads, &mix.iops.runs)));
        }
        groups.extend(self.mixtures.iter().map(|mixture| Group {
            mix: mixture.mix.clone(),
            shares: mixture.shares,
            iops: mixture.iops.runs.clone(),
        }));
        groups
    }
}

#[cfg(test)]
mod tests;
