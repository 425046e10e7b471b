//! The likely reason why the hypothesis does not hold, guessed from the shape of the errors.
//!
//! With mixes of one size, 1/T is a straight line in the read share if the hypothesis holds. If the mixes lie
//! on a different line whose ends are not the pure loads, a pure load is at fault: served from a cache, or
//! too light to saturate the system. If they lie on no line, or a curvature through the pure loads fits
//! better, the system is not linear. If the total does not depend on the mix at all, another resource is the
//! bottleneck.

use super::Checked;
use crate::curvature::{Bent, Curvature, evenness};
use crate::estimate::SizeKind;

/// Totals that vary by less than this are constant.
const CONSTANT: f64 = 0.05;
/// Estimates must vary by at least this for a constant total to be significant.
const VARIED: f64 = 0.2;
/// Ends of a line that differ by this much from the pure loads are different from them.
const OTHER: f64 = 0.10;
/// A line explains the mixes if it leaves less than this fraction of their squared errors.
const EXPLAINED: f64 = 0.25;

/// The point relative to the straight line.
pub(crate) fn bent(point: &Checked) -> Bent {
    let x = match point.mix.single() {
        Some(part) => evenness(part.reads),
        None => point.mix.diversity(),
    };
    Bent { x, straight: point.estimate.value, measured: point.measured.value }
}

/// The likely reason, as a sentence without a full stop.
pub(crate) fn likely(points: &[&Checked]) -> String {
    if let Some(point) = points.iter().find(|point| point.kind != SizeKind::Measured) {
        return format!("one of its sizes was not measured, and its rates are {}", point.kind.name());
    }
    let one_size = points.iter().all(|point| point.mix.single().is_some());
    if one_size
        && points.len() >= 3
        && let Some(reason) = another_limit(points).or_else(|| pure_load(points))
    {
        return reason;
    }
    let lean = points.iter().map(|point| libm::log(point.measured.value / point.estimate.value)).sum::<f64>();
    let agree =
        points.iter().filter(|point| (point.measured.value > point.estimate.value) == (lean > 0.0)).count();
    let most = 4 * agree >= 3 * points.len();
    let reason = match (one_size, most, lean > 0.0) {
        (true, true, true) => {
            "mixes are faster than the pure loads predict: reads and writes use different resources, or some are served from a cache"
        }
        (true, true, false) => {
            "mixes are slower than the pure loads predict: reads and writes interfere, so the cost is not linear"
        }
        (true, false, _) => {
            "errors go both ways: the cost is not linear in the read share, or the runs were disturbed"
        }
        (false, true, true) => {
            "mixes of sizes are faster than their parts predict: small and large operations use different resources"
        }
        (false, true, false) => {
            "mixes of sizes are slower than their parts predict: large operations delay small ones, or the shares have another meaning"
        }
        (false, false, _) => {
            "errors of mixes of sizes go both ways: the shares may have another meaning, or the runs were disturbed"
        }
    };
    reason.to_owned()
}

/// Applies if the total is the same for every mix.
fn another_limit(points: &[&Checked]) -> Option<String> {
    let measured: Vec<f64> = points.iter().map(|point| point.measured.value).collect();
    let estimates: Vec<f64> = points.iter().map(|point| point.estimate.value).collect();
    let mean = crate::run::mean(&measured);
    let range = |values: &[f64]| {
        let most = values.iter().copied().fold(0.0, f64::max);
        most - values.iter().copied().fold(f64::INFINITY, f64::min)
    };
    let constant = range(&measured) < CONSTANT * mean && range(&estimates) > VARIED * mean;
    constant.then(|| {
        format!("the total is {mean:.0}/s at every mix: another resource is saturated, such as the client, its CPU or the network")
    })
}

/// Applies if the mixes lie on a different line than the pure loads.
fn pure_load(points: &[&Checked]) -> Option<String> {
    let (reads, writes) = line(points)?;
    let time = |share: f64| share / reads + (1.0 - share) / writes;
    let left = |expect: &dyn Fn(&Checked) -> f64| {
        points.iter().map(|point| (point.measured.value / expect(point) - 1.0).powi(2)).sum::<f64>()
    };
    let share = |point: &Checked| point.mix.single().map_or(0.0, |part| part.reads);
    let (with_line, without) = (left(&|point| 1.0 / time(share(point))), left(&|point| point.estimate.value));
    let bend = Curvature::fit(&points.iter().map(|point| bent(point)).collect::<Vec<_>>())?.value;
    let with_bend = left(&|point| Curvature::bend(bend, evenness(share(point)), point.estimate.value));
    if with_line > EXPLAINED * without || with_bend < with_line {
        return None;
    }
    // The straight line through the pure loads, computed from the estimates of two mixes.
    let (pure_reads, pure_writes) = line_of(points, |point| point.estimate.value)?;
    let off = |pure: f64, implied: f64| libm::log(pure / implied);
    let (of_reads, of_writes) = (off(pure_reads, reads), off(pure_writes, writes));
    let (what, pure, implied, off) = if of_reads.abs() >= of_writes.abs() {
        ("reads", pure_reads, reads, of_reads)
    } else {
        ("writes", pure_writes, writes, of_writes)
    };
    if off.abs() < OTHER {
        return None;
    }
    let cause = match (off > 0.0, what) {
        (true, "reads") => "pure reads were served from a cache that mixes do not have",
        (true, _) => "pure writes were absorbed by a cache or a journal that mixes do not have",
        (false, _) => "the pure load did not fill the system, or was disturbed",
    };
    Some(format!(
        "the mixes lie on a different line, with pure {what} at {implied:.0}/s where {pure:.0}/s were measured: {cause}"
    ))
}

/// The rates of pure reads and pure writes whose line best fits the measured mixes; `None` if no such line is
/// above zero.
fn line(points: &[&Checked]) -> Option<(f64, f64)> {
    line_of(points, |point| point.measured.value)
}

/// Least squares of `T·(a·r + b·(1 - r)) = 1`, so that errors are relative.
fn line_of(points: &[&Checked], rate: impl Fn(&Checked) -> f64) -> Option<(f64, f64)> {
    let (mut rr, mut rw, mut ww, mut r1, mut w1) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for point in points {
        let reads = point.mix.single()?.reads;
        let (r, w) = (rate(point) * reads, rate(point) * (1.0 - reads));
        rr += r * r;
        rw += r * w;
        ww += w * w;
        r1 += r;
        w1 += w;
    }
    let scale = rr * ww - rw * rw;
    let (a, b) = ((r1 * ww - w1 * rw) / scale, (w1 * rr - r1 * rw) / scale);
    (a.is_finite() && b.is_finite() && a > 0.0 && b > 0.0).then(|| (1.0 / a, 1.0 / b))
}
