//! The paper's statements on its Ceph and its Swift, tested with another system's measurements.
//!
//! The paper's figures are not printed as numbers, so the statements in its text are tested: errors below 10
//! % for small operations and of 5 to 25 % for large ones (abstract and section III), below 9 % for mixes of
//! sizes, an `f_rw` of 3 to 9 for Ceph, and that C is approximately constant. The errors are stated for each
//! mix, so the greatest is judged as well as the mean. The runs are not the paper's: a claim that misses
//! means that the statement does not carry over to this system. Each of our values has the range given by
//! the spread of runs; if the range includes the limit, the claim is undecided. Results for systems that
//! are not distributed are shown [apart] and make no claims.

use towtank_report::{Claim, ClaimDraft, Column, Reading, Table, Tolerance};

use crate::elastic::Ranged;
use crate::estimate::{Asked, Beyond, estimate};
use crate::mix::{Mix, Shares};
use crate::model::{MeasuredMix, Mixture, Model, SizeModel};

const SOURCE: &str = "Ra and Lee, Fighting with Unknowns, sections I and III";

/// The largest small operation: "equal or less than 32KB".
pub(crate) const SMALL_MAX: u64 = 32 << 10;
/// Errors of small operations, in percent: the accuracy is about 90 % or above.
pub(crate) const SMALL_PERCENT: f64 = 10.0;
/// Errors of large operations, in percent: 5 to 25 %, by the abstract.
pub(crate) const LARGE_PERCENT: f64 = 25.0;
/// Errors of mixes of sizes, in percent.
pub(crate) const MIXED_SIZES_PERCENT: f64 = 9.0;
/// The cost of a write in reads, on Ceph with three copies.
pub(crate) const F_RW_CEPH: (f64, f64) = (3.0, 9.0);

/// The error that the paper states for operations of a size, in percent, and what it calls them.
fn limit_of(size: &SizeModel) -> (f64, &'static str) {
    if size.size_bytes <= SMALL_MAX { (SMALL_PERCENT, "small") } else { (LARGE_PERCENT, "large") }
}

/// Tests the paper's statements on Ceph with measurements of a Ceph cluster.
#[must_use]
pub fn claims(model: &Model) -> Vec<Claim> {
    let mut claims = Vec::new();
    for size in &model.sizes {
        claims.push(f_rw(model, size));
        claims.extend(constant(model, size));
        claims.extend(errors(model, size));
    }
    for shares in [Shares::Operations, Shares::Concurrency] {
        for pure in [true, false] {
            let of = |mixture: &&Mixture| mixture.shares == shares && is_pure(&mixture.mix) == pure;
            let some: Vec<&Mixture> = model.mixtures.iter().filter(of).collect();
            if !some.is_empty() {
                claims.extend([Shares::Capacity, Shares::Operations].map(|form| sizes(model, &some, form)));
            }
        }
    }
    claims
}

/// The same statements on errors next to the measurements of a system that the paper does not cover. A row is
/// no claim: that the model fits a local disk says nothing about distributed systems.
#[must_use]
pub fn apart(model: &Model) -> Table {
    let mut columns = vec![Column::text("statement")];
    columns.extend(["published", "ours", "low", "high"].map(|name| Column::number(name, "%")));
    columns.push(Column::text("would_be"));
    let about =
        "The paper is about distributed systems, and this is not one: the rows are not counted as claims.";
    let name = model.system.as_deref().unwrap_or("another system");
    let mut table = Table::new("apart", format!("The same statements for {name}"), columns).about(about);
    for claim in model.sizes.iter().flat_map(|size| errors(model, size)) {
        table.push(vec![
            claim.statement.as_str().into(),
            claim.published.value.get().into(),
            claim.ours.value.get().into(),
            claim.ours.low.get().into(),
            claim.ours.high.get().into(),
            claim.verdict.name().into(),
        ]);
    }
    table
}

fn is_pure(mix: &Mix) -> bool {
    mix.parts().iter().all(|part| part.reads == 1.0 || part.reads == 0.0)
}

/// `4k` for `4KiB`, for names.
fn short(size: &str) -> String {
    size.to_ascii_lowercase().trim_end_matches("ib").to_owned()
}

fn f_rw(model: &Model, size: &SizeModel) -> Claim {
    let found = model.f_rw(size);
    let (low, high) = found.range.unzip();
    let draft = ClaimDraft {
        name: format!("f_rw_{}", short(&size.size())),
        source: SOURCE.to_owned(),
        statement: format!(
            "on Ceph with three copies, a write of {} costs as much as 3 to 9 reads",
            size.size()
        ),
        unit: String::new(),
        published: Reading { value: None.into(), low: F_RW_CEPH.0.into(), high: F_RW_CEPH.1.into() },
        ours: Reading { value: found.value.into(), low: low.into(), high: high.into() },
        tolerance: Tolerance::Range { low: F_RW_CEPH.0, high: F_RW_CEPH.1 },
        fitted: false,
        note: Some("our range is the 95 % interval from the spread of repeated runs".to_owned()),
    };
    draft.judge()
}

/// The claim that C of one size does not depend on the read share (figure 2 (a)).
fn constant(model: &Model, size: &SizeModel) -> Option<Claim> {
    let (limit, _) = limit_of(size);
    // C of a mix over that of pure reads is the measured rate over the estimated one.
    let inverted = |off: Off| Off { log: -off.log, ..off };
    let offs: Vec<Off> = offs(model, size).into_iter().map(inverted).collect();
    let draft = ClaimDraft {
        name: format!("constant_c_{}", short(&size.size())),
        source: SOURCE.to_owned(),
        statement: format!(
            "C of {} is approximately constant: each mix has that of pure reads within {limit:.0} %",
            size.size()
        ),
        unit: "%".to_owned(),
        published: Reading::of(limit),
        ours: greatest_of(&offs),
        tolerance: Tolerance::AtMost,
        fitted: false,
        note: Some(RANGE.to_owned()),
    };
    let reason =
        "the paper says approximately, without a tolerance; the error that it states for this size is taken";
    (!offs.is_empty()).then(|| draft.judge().loosened(reason))
}

/// The deviations of all measured mixes of a size.
fn offs(model: &Model, size: &SizeModel) -> Vec<Off> {
    let off = |mix: &MeasuredMix| {
        let asked = Mix::alone(size.size_bytes, mix.reads);
        Off::of(model, &asked, Shares::Operations, mix.iops.iops)
    };
    size.mixes.iter().filter_map(off).collect()
}

/// Claims on the mean and the greatest error of one size.
fn errors(model: &Model, size: &SizeModel) -> Vec<Claim> {
    let (limit, of) = limit_of(size);
    let offs = offs(model, size);
    if offs.is_empty() {
        return Vec::new();
    }
    let judged = |name: &str, ours: Reading, how: &str| {
        let draft = ClaimDraft {
            name: format!("{name}_{}", short(&size.size())),
            source: SOURCE.to_owned(),
            statement: format!(
                "reads and writes of {}, {of} operations: estimates are off by at most {limit:.0} % {how}",
                size.size()
            ),
            unit: "%".to_owned(),
            published: Reading::of(limit),
            ours,
            tolerance: Tolerance::AtMost,
            fitted: false,
            note: Some(RANGE.to_owned()),
        };
        draft.judge()
    };
    vec![
        judged("error", mean_of(&offs), "on average over the mixes"),
        judged("error_max", greatest_of(&offs), "at each mix"),
    ]
}

/// The origin of the ranges.
const RANGE: &str = "our range is what the spread of repeated runs allows, with 95 % confidence";

/// The deviation of an estimate from the measurement, in logarithms.
struct Off {
    /// The logarithm of estimate over measurement.
    log: f64,
    /// Half widths of the intervals of the estimate, which all mixes of a size share, and of the measurement;
    /// none if one is unknown.
    halves: Option<(f64, f64)>,
}

impl Off {
    /// The deviation at a mix; none if the model cannot estimate one of its sizes.
    fn of(model: &Model, mix: &Mix, shares: Shares, measured: Ranged) -> Option<Self> {
        let asked = Asked { mix, shares, beyond: Beyond::Refuse, curved: false };
        let found = estimate(model, &asked).ok()?.total;
        let half = |ranged: Ranged| ranged.range.map(|(low, high)| 0.5 * libm::log(high / low));
        let log = libm::log(found.value / measured.value);
        Some(Self { log, halves: half(found).zip(half(measured)) })
    }

    fn percent(&self) -> f64 {
        100.0 * libm::expm1(self.log).abs()
    }

    /// The least and the greatest error that the intervals allow.
    fn ends(&self) -> Option<(f64, f64)> {
        let (estimate, own) = self.halves?;
        let both = libm::hypot(estimate, own);
        let error = |log: f64| 100.0 * libm::expm1(log).abs();
        let near = (self.log.abs() - both).max(0.0).copysign(self.log);
        Some((error(near), error(self.log - both).max(error(self.log + both))))
    }
}

/// A number with its range; missing if the range is unknown, because then the claim cannot be judged.
fn reading(value: f64, range: Option<(f64, f64)>) -> Reading {
    range.map_or_else(Reading::default, |(low, high)| Reading::with_range(value, low, high))
}

fn mean_of(offs: &[Off]) -> Reading {
    let count = offs.len() as f64;
    let value = offs.iter().map(Off::percent).sum::<f64>() / count;
    let halves: Option<Vec<(f64, f64)>> = offs.iter().map(|off| off.halves).collect();
    let range = halves.map(|halves| {
        // Errors of the pure loads shift all estimates of a size the same way; errors of the measured mixes
        // average out.
        let shared = halves.iter().map(|(estimate, _)| estimate).sum::<f64>() / count;
        let own = libm::sqrt(halves.iter().map(|(_, own)| own * own).sum::<f64>()) / count;
        let half = 100.0 * libm::hypot(shared, own);
        ((value - half).max(0.0), value + half)
    });
    reading(value, range)
}

fn greatest_of(offs: &[Off]) -> Reading {
    let value = offs.iter().map(Off::percent).fold(0.0, f64::max);
    let ends: Option<Vec<(f64, f64)>> = offs.iter().map(Off::ends).collect();
    let most = |pick: fn(&(f64, f64)) -> f64, ends: &[(f64, f64)]| ends.iter().map(pick).fold(0.0, f64::max);
    reading(value, ends.map(|ends| (most(|end| end.0, &ends), most(|end| end.1, &ends))))
}

fn sizes(model: &Model, mixtures: &[&Mixture], form: Shares) -> Claim {
    let off = |mixture: &&Mixture| Off::of(model, &mixture.mix, form, mixture.iops.iops);
    let offs: Vec<Off> = mixtures.iter().filter_map(off).collect();
    let stream = match mixtures[0].shares {
        Shares::Concurrency => "two concurrent streams",
        _ => "one stream",
    };
    let (what, of) = if is_pure(&mixtures[0].mix) {
        ("reads", "pure reads")
    } else {
        ("mixed", "half reads, half writes")
    };
    let (form, formula) = match form {
        Shares::Capacity => ("capacity", "(7), the mean weighted by the shares"),
        _ => ("operations", "the harmonic mean instead of (7)"),
    };
    let mean = offs.iter().map(Off::percent).sum::<f64>() / offs.len() as f64;
    let draft = ClaimDraft {
        name: format!("sizes_{what}_{}_{form}", mixtures[0].shares.name()),
        source: SOURCE.to_owned(),
        statement: format!("two sizes, {of}, {stream}: {formula} is off by less than 9 %"),
        unit: "%".to_owned(),
        published: Reading::of(MIXED_SIZES_PERCENT),
        // If the model cannot estimate one of the mixtures, the greatest error is unknown.
        ours: if offs.len() == mixtures.len() { greatest_of(&offs) } else { Reading::default() },
        tolerance: Tolerance::AtMost,
        fitted: false,
        note: Some(format!(
            "our value is the greatest of {} errors, whose mean is {mean:.1} %; {RANGE}; the paper measured Swift",
            offs.len()
        )),
    };
    draft.judge()
}

#[cfg(test)]
mod tests {
    use towtank_report::Verdict;

    use super::*;

    fn off(log: f64, half: f64) -> Off {
        Off { log, halves: Some((half, half)) }
    }

    fn verdict(ours: Reading, limit: f64) -> Verdict {
        Tolerance::AtMost.verdict(Reading::of(limit), ours)
    }

    /// One mix of ten is off by half, which a mean of 5 % hid.
    #[test]
    fn the_greatest_error_is_judged_beside_the_mean() {
        let mut offs: Vec<Off> = (0..9).map(|_| off(0.0, 1e-3)).collect();
        offs.push(off(libm::log(1.5), 1e-3));
        assert_eq!(verdict(mean_of(&offs), 10.0), Verdict::Holds);
        assert_eq!(verdict(greatest_of(&offs), 10.0), Verdict::Misses);
    }

    /// C of a mix over that of pure reads is 1 / 1.3 where the estimate is 30 % too high: 23 % below it.
    #[test]
    fn a_mix_with_another_c_is_no_constant() {
        let run = |reads: f64, iops: f64| crate::run::Run {
            system: None,
            mix: Mix::alone(4 << 10, reads),
            shares: Shares::Operations,
            iops,
            file: "runs".to_owned(),
            place: String::new(),
        };
        let judged = |mixed: f64| {
            let pure = [
                run(1.0, 1_000.0),
                run(1.0, 1_001.0),
                run(1.0, 1_002.0),
                run(0.0, 1_000.0),
                run(0.0, 1_001.0),
            ];
            let mixed = [run(0.5, mixed), run(0.5, mixed + 1.0)];
            let model = crate::fit(&[&pure[..], &mixed].concat()).expect("it has pure loads");
            constant(&model, &model.sizes[0]).expect("it has a mix")
        };
        assert_eq!(judged(1_000.0).verdict, Verdict::Holds);
        let planted = judged(1_000.0 / 1.3);
        assert_eq!(planted.verdict, Verdict::Misses);
        assert!((planted.ours.value.get().expect("it is known") - 23.0).abs() < 0.2, "{:?}", planted.ours);
    }

    #[test]
    fn errors_within_the_spread_of_the_runs_cannot_be_judged() {
        let offs = [off(libm::log(1.08), 0.1), off(libm::log(0.95), 0.1)];
        assert_eq!(verdict(mean_of(&offs), 10.0), Verdict::CannotTell);
        assert_eq!(verdict(greatest_of(&offs), 10.0), Verdict::CannotTell);
        assert_eq!(verdict(greatest_of(&[off(libm::log(3.0), 0.1)]), 10.0), Verdict::Misses);
    }

    #[test]
    fn an_unknown_spread_leaves_nothing_to_judge() {
        let offs = [Off { log: 0.0, halves: None }, off(0.0, 1e-3)];
        assert_eq!((mean_of(&offs), greatest_of(&offs)), (Reading::default(), Reading::default()));
    }
}
