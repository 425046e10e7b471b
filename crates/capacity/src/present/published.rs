//! Figures 2 to 5 as the paper draws them, of a model's own measurements: C and errors by read share, `f_rw`
//! by size, and mixes of sizes by case and ratio with their errors.
//!
//! The paper's plots are not printed as numbers, so no line of the paper is drawn beside ours.

use towtank_report::{Axis, BarSeries, CurvePoint, Draw, Figure, Kind, LineSeries, Num, Reference};

use super::figures::{IOPS, bars, figure, point, ranged, series};
use crate::elastic::Ranged;
use crate::estimate::{Asked, Beyond, estimate};
use crate::mix::{Shares, tidy};
use crate::model::{Mixture, Model, SizeModel};
use crate::published::{F_RW_CEPH, LARGE_PERCENT, MIXED_SIZES_PERCENT, SMALL_MAX, SMALL_PERCENT};

/// All of them that the measurements allow.
#[must_use]
pub fn as_published(model: &Model) -> Vec<Figure> {
    let small = |size: &&SizeModel| size.size_bytes <= SMALL_MAX;
    let large = |size: &&SizeModel| size.size_bytes > SMALL_MAX;
    let (small, large): (Vec<_>, Vec<_>) =
        (model.sizes.iter().filter(small).collect(), model.sizes.iter().filter(large).collect());
    let mut all = vec![constant(model), f_rw(model)];
    all.extend(errors("errors_small", "small operations", &small, SMALL_PERCENT));
    all.extend(errors("errors_large", "large operations", &large, LARGE_PERCENT));
    for (shares, stream) in [(Shares::Operations, "one stream"), (Shares::Concurrency, "two streams")] {
        let of: Vec<&Mixture> = model.mixtures.iter().filter(|mixture| mixture.shares == shares).collect();
        all.extend(mixtures(model, &of, (shares.name(), stream)));
    }
    all
}

/// C at each read share (3), over that of pure reads.
fn constant(model: &Model) -> Figure {
    let of = |size: &SizeModel| {
        let c = size.reads.iops.value;
        let mixed = size.mixes.iter().map(|mix| (mix.reads, mix.iops.iops));
        let ends = [(0.0, size.writes.iops), (1.0, size.reads.iops)];
        let mut points: Vec<CurvePoint> = mixed
            .chain(ends)
            .map(|(reads, iops)| {
                let over = |value: f64| size.capacity(reads, value) / c;
                let range = iops.range.map(|(low, high)| (over(low), over(high)));
                point(tidy(100.0 * reads), Ranged { value: over(iops.value), range })
            })
            .collect();
        points.sort_by(|one, other| {
            one.x.get().partial_cmp(&other.x.get()).unwrap_or(std::cmp::Ordering::Equal)
        });
        series(size.size(), points, Draw::Line)
    };
    let kind = Kind::Line {
        x: Axis::linear("reads", "%"),
        y: Axis::linear("C, over that of pure reads", ""),
        series: model.sizes.iter().map(of).collect(),
        references: vec![Reference::Horizontal { name: "constant".to_owned(), at: 1.0.into() }],
    };
    let about = "C of each mix (3), over the rate of pure reads of its size. If the system does the same work whatever the mix, lines \
                 are flat. Bars are 95 % intervals from the spread of repeated runs.";
    figure("c_values", "C by read share", about, kind)
}

fn f_rw(model: &Model) -> Figure {
    let values: Vec<Ranged> = model.sizes.iter().map(|size| model.f_rw(size)).collect();
    let (low, high) = F_RW_CEPH;
    let references = [("least", low), ("most", high)].map(|(which, at)| Reference::Horizontal {
        name: format!("the paper's {which}: {at}"),
        at: at.into(),
    });
    let kind = bars(
        "size",
        Axis::linear("f_rw", ""),
        model.sizes.iter().map(SizeModel::size).collect(),
        vec![ranged("f_rw", &values)],
        references.to_vec(),
    );
    let about = "How many reads a write costs: pure reads per second over pure writes per second (4), with 95 % intervals.";
    figure("f_rw", "Cost of a write in reads", about, kind)
}

fn errors(id: &str, what: &str, sizes: &[&SizeModel], limit: f64) -> Option<Figure> {
    let of = |size: &&SizeModel| {
        let errors = size.mixes.iter().zip(size.errors_percent());
        let points = errors.map(|(mix, error)| CurvePoint::new(tidy(100.0 * mix.reads), error)).collect();
        series(size.size(), points, Draw::Line)
    };
    let drawn: Vec<LineSeries> =
        sizes.iter().map(of).filter(|line: &LineSeries| !line.points.is_empty()).collect();
    let kind = Kind::Line {
        x: Axis::linear("reads", "%"),
        y: Axis::linear("error", "%"),
        series: drawn,
        references: vec![Reference::Horizontal { name: format!("the paper: {limit} %"), at: limit.into() }],
    };
    let about = "Errors of the estimates (8) at each measured mix of reads and writes.";
    (!sizes.is_empty()).then(|| figure(id, &format!("Errors by read share, {what}"), about, kind))
}

/// Rates and errors of mixes of sizes, estimated beside measured.
fn mixtures(model: &Model, mixtures: &[&Mixture], (id, stream): (&str, &str)) -> Vec<Figure> {
    if mixtures.is_empty() {
        return Vec::new();
    }
    let estimated = |shares: Shares| -> Vec<Option<f64>> {
        let of = |mixture: &&Mixture| {
            let asked = Asked { mix: &mixture.mix, shares, beyond: Beyond::Refuse, curved: false };
            Some(estimate(model, &asked).ok()?.total.value)
        };
        mixtures.iter().map(of).collect()
    };
    let measured: Vec<Ranged> = mixtures.iter().map(|mixture| mixture.iops.iops).collect();
    let forms =
        [("estimated by (7)", Shares::Capacity), ("estimated by the harmonic mean", Shares::Operations)]
            .map(|(name, shares)| (name, estimated(shares)));
    let bar = |name: &str, values: Vec<Num>| BarSeries {
        name: name.to_owned(),
        values,
        low: Vec::new(),
        high: Vec::new(),
    };
    let rates =
        forms.iter().map(|(name, values)| bar(name, values.iter().map(|rate| Num::from(*rate)).collect()));
    let categories: Vec<String> = mixtures.iter().map(|mixture| case_of(mixture)).collect();
    let rates = bars(
        "case and ratio",
        Axis::linear("total", IOPS),
        categories.clone(),
        std::iter::once(ranged("measured", &measured)).chain(rates).collect(),
        Vec::new(),
    );
    let off = |values: &[Option<f64>]| -> Vec<Num> {
        let error = |(rate, measured): (&Option<f64>, &Ranged)| {
            Num::from(rate.map(|rate| 100.0 * (rate - measured.value).abs() / measured.value))
        };
        values.iter().zip(&measured).map(error).collect()
    };
    let limit = MIXED_SIZES_PERCENT;
    let errors = bars(
        "case and ratio",
        Axis::linear("error", "%"),
        categories,
        forms.iter().map(|(name, values)| bar(name, off(values))).collect(),
        vec![Reference::Horizontal { name: format!("the paper: {limit} %"), at: limit.into() }],
    );
    let about = format!(
        "Two sizes at once in {stream}: each group of bars is a case with the shares of its two sizes in percent. The shares are \
         of {}.",
        if id == "operations" { "operations" } else { "operations in flight" }
    );
    vec![
        figure(&format!("mixed_sizes_{id}"), &format!("Mixes of sizes, {stream}"), &about, rates),
        figure(
            &format!("mixed_sizes_errors_{id}"),
            &format!("Errors of mixes of sizes, {stream}"),
            &about,
            errors,
        ),
    ]
}

/// A case of the paper after its ratio, which a short label must not lose: `10/90 16KiB R + 1MiB R`.
fn case_of(mixture: &Mixture) -> String {
    let parts = mixture.mix.parts();
    let load = |reads: f64| match reads {
        1.0 => "R",
        0.0 => "W",
        _ => "R/W",
    };
    let sizes: Vec<String> = parts
        .iter()
        .map(|part| format!("{} {}", towtank_units::Bytes::new(part.size_bytes), load(part.reads)))
        .collect();
    let shares: Vec<String> = parts.iter().map(|part| format!("{}", tidy(100.0 * part.share))).collect();
    format!("{} {}", shares.join("/"), sizes.join(" + "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::fit;
    use crate::mix::{Mix, Part};
    use crate::run::Run;

    fn run(parts: &[(u64, f64, f64)], iops: f64) -> Run {
        let parts = parts.iter().map(|&(size_bytes, share, reads)| Part { size_bytes, share, reads });
        Run {
            system: None,
            mix: Mix::new(parts.collect()).expect("it is one"),
            shares: Shares::Operations,
            iops,
            file: "runs".to_owned(),
            place: String::new(),
        }
    }

    fn line(figure: &Figure) -> Vec<Vec<(f64, f64)>> {
        let Kind::Line { series, .. } = &figure.kind else { panic!("{} has no lines", figure.id) };
        let of = |one: &LineSeries| {
            one.points.iter().map(|point| (point.x.get().unwrap(), point.y.get().unwrap())).collect()
        };
        series.iter().map(of).collect()
    }

    /// Reads of 1,000 and writes of 250 per second: a mix of both halves does 400, and C is 1,000. A mix that
    /// does 500 instead is planted.
    #[test]
    fn figures_have_the_numbers_of_the_equations() {
        let size = 4 << 10;
        let large = 1 << 20;
        let pure = [
            run(&[(size, 1.0, 1.0)], 1_000.0),
            run(&[(size, 1.0, 0.0)], 250.0),
            run(&[(large, 1.0, 1.0)], 100.0),
            run(&[(large, 1.0, 0.0)], 100.0),
        ];
        let mixes = [
            run(&[(size, 1.0, 0.5)], 400.0),
            run(&[(size, 1.0, 0.75)], 500.0),
            run(&[(size, 0.5, 1.0), (large, 0.5, 1.0)], 200.0),
        ];
        let model = fit(&[&pure[..], &mixes].concat()).expect("it has pure loads");
        let all = as_published(&model);
        let find = |id: &str| all.iter().find(|figure| figure.id == id).unwrap_or_else(|| panic!("no {id}"));
        let c = line(find("c_values"));
        assert_eq!(c[0].iter().map(|point| point.0).collect::<Vec<_>>(), [0.0, 50.0, 75.0, 100.0]);
        let values: Vec<f64> = c[0].iter().map(|point| point.1).collect();
        assert!((values[0] - 1.0).abs() < 1e-12 && (values[1] - 1.0).abs() < 1e-12, "{values:?}");
        assert!((values[2] - 500.0 * 1.75 / 1_000.0).abs() < 1e-12, "{values:?}");
        let errors = line(find("errors_small"));
        // (6) gives 1000 / 1.75 = 571 where 500 were measured.
        assert!(errors[0][0].1 < 1e-9 && (errors[0][1].1 - 14.2857).abs() < 1e-3, "{errors:?}");
        let Kind::Bar { categories, series, .. } = &find("mixed_sizes_operations").kind else { panic!() };
        assert_eq!(categories, &["50/50 4KiB R + 1MiB R"]);
        let values: Vec<f64> = series.iter().map(|one| one.values[0].get().unwrap()).collect();
        // Measured, the mean of 1,000 and 100, and their harmonic mean.
        assert_eq!(values[..2], [200.0, 550.0]);
        assert!((values[2] - 2_000.0 / 11.0).abs() < 1e-9, "{values:?}");
    }
}
