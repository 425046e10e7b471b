//! What the paper says of its Ceph and its Swift, asked of another system's measurements.
//!
//! The paper's figures are not printed as numbers, so what its text gives is held against: errors below 10 % for small
//! operations and of 5 to 25 % for large ones (abstract and section III), below 9 % for mixes of sizes, and an `f_rw` of 3 to 9
//! for Ceph. The runs are not the paper's: a claim that misses says that the statement does not carry over to this system, or
//! not with this care in measuring. Each of ours has the range that it takes with one run or another of each pure load.

use report::{Claim, ClaimDraft, Reading, Tolerance};

use crate::estimate::{Asked, Beyond, estimate};
use crate::mix::{Mix, Shares};
use crate::model::{Measured, Mixture, Model, SizeModel};

const SOURCE: &str = "Ra and Lee, Fighting with Unknowns, sections I and III";

/// Operations up to this size are small: "equal or less than 32KB".
const SMALL_MAX: u64 = 32 << 10;

/// Judges what the paper says by these measurements; `of_ceph` for what it says of Ceph alone.
#[must_use]
pub fn claims(model: &Model, of_ceph: bool) -> Vec<Claim> {
    let mut claims = Vec::new();
    for size in &model.sizes {
        if of_ceph {
            claims.push(f_rw(model, size));
        }
        claims.extend((!size.mixes.is_empty()).then(|| errors(size)));
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

fn is_pure(mix: &Mix) -> bool {
    mix.parts().iter().all(|part| part.reads == 1.0 || part.reads == 0.0)
}

/// `4k` of `4KiB`, for names.
fn short(size: &str) -> String {
    size.to_ascii_lowercase().trim_end_matches("ib").to_owned()
}

fn f_rw(model: &Model, size: &SizeModel) -> Claim {
    let found = model.f_rw(size);
    let (low, high) = found.range.unzip();
    let draft = ClaimDraft {
        name: format!("f_rw_{}", short(&size.size())),
        source: SOURCE.to_owned(),
        statement: format!("a write of {} costs a Ceph of three copies as much as 3 to 9 reads", size.size()),
        unit: String::new(),
        published: Reading { value: None.into(), low: 3.0.into(), high: 9.0.into() },
        ours: Reading { value: found.value.into(), low: low.into(), high: high.into() },
        tolerance: Tolerance::Range { low: 3.0, high: 9.0 },
        fitted: false,
        note: Some("the range of ours is the 95 % interval from the spread of repeated runs".to_owned()),
    };
    draft.judge()
}

fn errors(size: &SizeModel) -> Claim {
    let small = size.size_bytes <= SMALL_MAX;
    let (limit, of) = if small { (10.0, "small") } else { (25.0, "large") };
    let error = |reads: f64, writes: f64| {
        let one = |mix: &crate::model::MeasuredMix| {
            let estimate = 1.0 / (mix.reads / reads + (1.0 - mix.reads) / writes);
            100.0 * (estimate - mix.iops.iops.value).abs() / mix.iops.iops.value
        };
        crate::run::mean(&size.mixes.iter().map(one).collect::<Vec<_>>())
    };
    let ours = error(size.reads.iops.value, size.writes.iops.value);
    let (low, high) = with_each_run(&[&size.reads, &size.writes], ours, |pure| error(pure[0], pure[1]));
    let most = size.errors_percent().into_iter().fold(0.0, f64::max);
    let draft = ClaimDraft {
        name: format!("error_{}", short(&size.size())),
        source: SOURCE.to_owned(),
        statement: format!(
            "reads and writes of {}, {of} operations: estimates are off by at most {limit:.0} % on average",
            size.size()
        ),
        unit: "%".to_owned(),
        published: Reading::of(limit),
        ours: Reading::with_range(ours, low, high),
        tolerance: Tolerance::AtMost,
        fitted: false,
        note: Some(format!(
            "ours is the mean over {} mixes; the greatest is {most:.1} %; the range is that with one run or another of each pure load",
            size.mixes.len()
        )),
    };
    draft.judge()
}

/// The range of a number with one run or another of each rate in place of their means.
fn with_each_run(rates: &[&Measured], start: f64, number: impl Fn(&[f64]) -> f64) -> (f64, f64) {
    let (mut low, mut high) = (start, start);
    let mut at = vec![0_usize; rates.len()];
    loop {
        let values: Vec<f64> = rates.iter().zip(&at).map(|(rate, at)| rate.runs[*at]).collect();
        let found = number(&values);
        (low, high) = (low.min(found), high.max(found));
        // Counts up like a number with a digit a rate.
        let Some(turn) = (0..rates.len()).find(|digit| at[*digit] + 1 < rates[*digit].runs.len()) else {
            return (low, high);
        };
        at[turn] += 1;
        at[..turn].fill(0);
    }
}

fn sizes(model: &Model, mixtures: &[&Mixture], form: Shares) -> Claim {
    let error = |mixture: &&Mixture| {
        let asked = Asked { mix: &mixture.mix, shares: form, beyond: Beyond::Refuse, curved: false };
        let measured = mixture.iops.iops.value;
        estimate(model, &asked)
            .map_or(f64::NAN, |found| 100.0 * (found.total.value - measured).abs() / measured)
    };
    let errors: Vec<f64> = mixtures.iter().map(error).collect();
    let least = errors.iter().copied().fold(f64::INFINITY, f64::min);
    let most = errors.iter().copied().fold(0.0, f64::max);
    let stream = match mixtures[0].shares {
        Shares::Concurrency => "two streams side by side",
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
    let mean = crate::run::mean(&errors);
    let draft = ClaimDraft {
        name: format!("sizes_{what}_{}_{form}", mixtures[0].shares.name()),
        source: SOURCE.to_owned(),
        statement: format!("two sizes, {of}, {stream}: {formula} is off by less than 9 %"),
        unit: "%".to_owned(),
        published: Reading::of(9.0),
        ours: Reading::with_range(most, least, most),
        tolerance: Tolerance::AtMost,
        fitted: false,
        note: Some(format!(
            "ours is the greatest of {} errors, whose range is given and whose mean is {mean:.1} %; the paper measured Swift",
            mixtures.len()
        )),
    };
    draft.judge()
}
