//! The report of an estimate: the rates of the mix, by part and by each meaning of the shares, and compared
//! with a plan.

use towtank_report::{
    Answer, Axis, Column, CurvePoint, Draw, Figure, Kind, Num, Ordered, Reference, Report, Table, Warning,
};
use towtank_units::Bytes;

use super::figures::{self, IOPS};
use super::{About, glossary, interval, put, sure, words};
use crate::elastic::Ranged;
use crate::estimate::{Asked, Estimate, EstimateError, SizeKind, estimate};
use crate::mix::{Mix, Part, Plan, Shares, tidy};
use crate::model::Model;

/// The measures that gates may name.
pub const ESTIMATE_MEASURES: [About; 9] = [
    (
        "iops_total",
        IOPS,
        "operations per second, reads and writes together; with shares of concurrency, if they are served first come, first served",
    ),
    ("iops_read", IOPS, "reads per second"),
    ("iops_write", IOPS, "writes per second"),
    ("bandwidth", "bytes/s", "bytes per second, reads and writes together"),
    (
        "iops_total_sharing",
        IOPS,
        "the total with shares of concurrency, if the streams share the system evenly: the upper end of the bracket",
    ),
    ("planned", IOPS, "planned operations per second"),
    ("plan_used", "%", "the share of the capacity that the plan uses"),
    ("headroom", IOPS, "capacity that the plan leaves unused; negative if the plan does not fit"),
    (
        "growth_needed",
        "",
        "factor by which the system must grow for the plan, if it scales linearly; below 1 if it is large enough",
    ),
];

/// An estimate with its question.
#[derive(Clone, Copy, Debug)]
pub struct Answered<'a> {
    /// The model.
    pub model: &'a Model,
    /// The question.
    pub asked: Asked<'a>,
    /// The answer.
    pub estimate: &'a Estimate,
    /// The planned load.
    pub plan: Option<Plan>,
    /// Whether curves over read shares and shares of sizes are drawn too.
    pub curve: bool,
}

/// Steps of the curve over read shares, and of the map, in percent.
const STEPS: (usize, usize) = (5, 10);

/// Builds the report.
///
/// # Errors
/// Only those that the estimate had.
pub fn estimated(answered: &Answered<'_>) -> Result<Report, EstimateError> {
    let Answered { model, asked, estimate, plan, .. } = *answered;
    let mut summary = Ordered::new();
    let bracket = asked.shares == Shares::Concurrency && asked.mix.parts().len() > 1;
    for (about, value) in
        ESTIMATE_MEASURES.iter().zip([estimate.total, estimate.reads, estimate.writes, estimate.bandwidth])
    {
        put(&mut summary, *about, value);
    }
    if bracket {
        put(&mut summary, ESTIMATE_MEASURES[4], estimate.as_capacity);
    }
    let planned = plan.map(|plan| Planned::of(plan, estimate));
    if let Some(planned) = &planned {
        put(&mut summary, ESTIMATE_MEASURES[5], sure(planned.operations));
        put(&mut summary, ESTIMATE_MEASURES[6], planned.used);
        put(&mut summary, ESTIMATE_MEASURES[7], planned.headroom);
        put(&mut summary, ESTIMATE_MEASURES[8], planned.growth);
    }
    let mut tables = vec![parts(estimate)];
    if asked.mix.parts().len() > 1 {
        tables.push(forms(asked.shares, estimate));
    }
    let mut all = vec![part_figure(estimate)];
    if answered.curve {
        let (curve, map) = (curve(answered)?, map(answered)?);
        tables.push(curve_table(&curve));
        all.push(curve_figure(&curve, asked.mix));
        all.extend(map);
    }
    Ok(Report {
        study: "capacity-estimate".to_owned(),
        title: match &model.system {
            Some(system) => format!("Capacity of {system} for {}", asked.mix),
            None => format!("Capacity of the system for {}", asked.mix),
        },
        answer: Answer::of_text(&answer(estimate, bracket, planned.as_ref())),
        glossary: glossary(&summary, &ESTIMATE_MEASURES),
        summary,
        tables,
        figures: all,
        warnings: Warning::by_severity(warnings(answered)),
        replicates: 0,
        ..Report::default()
    })
}

/// A plan compared with the estimate.
struct Planned {
    operations: f64,
    used: Ranged,
    headroom: Ranged,
    growth: Ranged,
}

impl Planned {
    fn of(plan: Plan, estimate: &Estimate) -> Self {
        let operations = match plan {
            Plan::Operations(rate) => rate,
            Plan::Bytes(rate) => rate * estimate.total.value / estimate.bandwidth.value,
        };
        let total = estimate.total;
        let growth = Ranged {
            value: operations / total.value,
            range: total.range.map(|(low, high)| (operations / high, operations / low)),
        };
        let used = Ranged {
            value: 100.0 * growth.value,
            range: growth.range.map(|(low, high)| (100.0 * low, 100.0 * high)),
        };
        let headroom = Ranged {
            value: total.value - operations,
            range: total.range.map(|(low, high)| (low - operations, high - operations)),
        };
        Self { operations, used, headroom, growth }
    }
}

fn answer(estimate: &Estimate, bracket: bool, planned: Option<&Planned>) -> String {
    let total = match bracket {
        false => format!("{}{}", words(estimate.total.value, IOPS), interval(estimate.total, IOPS)),
        true => format!(
            "between {} (first come, first served) and {} (shared evenly)",
            words(estimate.total.value, IOPS),
            words(estimate.as_capacity.value, IOPS)
        ),
    };
    let split = format!(
        "The system does {total}{}: {} of reads and {} of writes, {}.",
        if bracket { "; first come, first served" } else { "" },
        words(estimate.reads.value, IOPS),
        words(estimate.writes.value, IOPS),
        words(estimate.bandwidth.value, "bytes/s")
    );
    let Some(planned) = planned else { return split };
    let plan = words(planned.operations, IOPS);
    let verdict = if planned.growth.value <= 1.0 {
        format!("The plan of {plan} uses {:.1} % of it.", planned.used.value)
    } else {
        format!("The plan of {plan} needs {:.2} times this capacity.", planned.growth.value)
    };
    format!("{split} {verdict}")
}

fn warnings(answered: &Answered<'_>) -> Vec<Warning> {
    let Answered { model, asked, estimate, .. } = *answered;
    let mut warnings = Vec::new();
    for part in &estimate.parts {
        if part.kind != SizeKind::Measured {
            let errors =
                model.interpolation_errors().into_iter().flat_map(|(_, reads, writes)| [reads, writes]);
            let most = errors.fold(0.0, f64::max);
            let off = match most > 0.0 {
                true => {
                    format!("; measured sizes, when left out, are estimated with errors of up to {most:.0} %")
                }
                false => String::new(),
            };
            let (size, kind) = (part.part.size(), part.kind.name());
            warnings.push(Warning::unknown(format!("{size} was not measured: its rates are {kind}{off}")));
        }
    }
    if model.spread.is_none() {
        warnings.push(Warning::unknown("no point was run twice, so the estimate has no interval"));
    }
    warnings.extend(super::unknown_interval(model).map(Warning::unknown));
    let straight = !asked.curved;
    let bends = model.sizes.iter().filter_map(|size| Some((size.size(), size.curvature?.left_out?)));
    let asked_sizes: Vec<String> = asked
        .mix
        .parts()
        .iter()
        .filter(|part| part.reads > 0.0 && part.reads < 1.0)
        .map(Part::size)
        .collect();
    for (size, left) in bends.filter(|(size, _)| straight && asked_sizes.contains(size)) {
        if left.curved_percent < 0.75 * left.straight_percent {
            warnings.push(Warning::note(format!(
                "mixes of {size} that were left out are predicted within {:.1} % on average with --curved, and {:.1} % without",
                left.curved_percent, left.straight_percent
            )));
        }
    }
    if asked.mix.parts().len() > 1 && model.mixtures.is_empty() {
        warnings.push(Warning::unknown(
            "no mix of sizes was measured; on a measured Ceph such estimates were 3 to 15 % off for reads, and 14 to 36 % for half writes: measure one",
        ));
    }
    warnings
}

fn parts(estimate: &Estimate) -> Table {
    let columns = vec![
        Column::text("size"),
        Column::number("share", "%"),
        Column::number("reads_share", "%"),
        Column::number("alone", IOPS),
        Column::number("reads", IOPS),
        Column::number("writes", IOPS),
        Column::number("bandwidth", "bytes/s"),
        Column::text("size_is"),
    ];
    let about = "The rate of each part of the mix; `alone` is its rate if the system serves nothing else.";
    let mut table = Table::new("parts", "Part by part", columns).about(about);
    for part in &estimate.parts {
        table.push(vec![
            part.part.size().into(),
            tidy(100.0 * part.part.share).into(),
            tidy(100.0 * part.part.reads).into(),
            part.alone.value.into(),
            part.reads.value.into(),
            part.writes.value.into(),
            part.bandwidth.value.into(),
            part.kind.name().into(),
        ]);
    }
    table
}

fn forms(shares: Shares, estimate: &Estimate) -> Table {
    let columns = vec![
        Column::text("shares_of"),
        Column::number("total", IOPS),
        Column::number("low", IOPS),
        Column::number("high", IOPS),
        Column::flag("asked"),
    ];
    let about = "The total by each meaning of the shares. Concurrency lies between the two rows: at operations if all wait in one queue, at capacity if the streams share the system evenly.";
    let mut table = Table::new("forms", "Meaning of the shares", columns).about(about);
    for (form, total) in
        [(Shares::Operations, estimate.as_operations), (Shares::Capacity, estimate.as_capacity)]
    {
        let (low, high) = total.range.unzip();
        let asked = shares == form || shares == Shares::Concurrency;
        table.push(vec![form.name().into(), total.value.into(), low.into(), high.into(), asked.into()]);
    }
    table
}

fn part_figure(estimate: &Estimate) -> Figure {
    let label = |part: &Part| format!("{} r{}", part.size(), tidy(100.0 * part.reads));
    let categories = estimate.parts.iter().map(|part| label(&part.part)).collect();
    let values = |pick: &dyn Fn(&crate::estimate::PartEstimate) -> Ranged| -> Vec<Ranged> {
        estimate.parts.iter().map(pick).collect()
    };
    figures::figure(
        "parts",
        "Reads and writes, part by part",
        "The rate of each part of the mix, with 95 % intervals where points were run more than once.",
        figures::bars(
            "part",
            Axis::linear("rate", IOPS),
            categories,
            vec![
                figures::ranged("reads", &values(&|part| part.reads)),
                figures::ranged("writes", &values(&|part| part.writes)),
            ],
            Vec::new(),
        ),
    )
}

/// Totals over read shares: of the whole mix, and of each size alone.
struct Curve {
    names: Vec<String>,
    /// By read share in percent.
    rows: Vec<(f64, Vec<Ranged>)>,
}

fn curve(answered: &Answered<'_>) -> Result<Curve, EstimateError> {
    let Answered { model, asked, .. } = *answered;
    let mut sizes: Vec<u64> = asked.mix.parts().iter().map(|part| part.size_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let several = sizes.len() > 1;
    let mut names: Vec<String> = sizes.iter().map(|size| Bytes::new(*size).to_string()).collect();
    if several {
        names.push("the whole mix".to_owned());
    }
    let mut rows = Vec::new();
    for step in 0..=100 / STEPS.0 {
        let percent = (step * STEPS.0) as f64;
        let total = |mix: &Mix| estimate(model, &Asked { mix, ..asked }).map(|found| found.total);
        let mut row = Vec::new();
        for size in &sizes {
            row.push(total(&Mix::alone(*size, percent / 100.0))?);
        }
        if several {
            row.push(total(&asked.mix.with_reads(percent / 100.0))?);
        }
        rows.push((percent, row));
    }
    Ok(Curve { names, rows })
}

fn curve_table(curve: &Curve) -> Table {
    let names = curve.names.iter().map(|name| Column::number(name.replace(' ', "_"), IOPS));
    let columns = std::iter::once(Column::number("reads", "%")).chain(names).collect();
    let about = "The total at every read share, of each size alone and of the whole mix with this share in all its parts.";
    let mut table = Table::new("curve", "By read share", columns).about(about);
    for (percent, totals) in &curve.rows {
        let cells = totals.iter().map(|total| total.value.into());
        table.push(std::iter::once((*percent).into()).chain(cells).collect());
    }
    table
}

fn curve_figure(curve: &Curve, mix: &Mix) -> Figure {
    let line = |(at, name): (usize, &String)| {
        let points: Vec<CurvePoint> =
            curve.rows.iter().map(|(percent, totals)| figures::point(*percent, totals[at])).collect();
        figures::series(name.as_str(), points, Draw::Line)
    };
    let asked = mix
        .single()
        .map(|part| Reference::Vertical { name: "asked".to_owned(), at: tidy(100.0 * part.reads).into() });
    let kind = Kind::Line {
        x: Axis::linear("reads", "%"),
        y: Axis::log("total", IOPS),
        series: curve.names.iter().enumerate().map(line).collect(),
        references: asked.into_iter().collect(),
    };
    let caption =
        "The total at every read share (6); bands are 95 % intervals where points were run more than once.";
    figures::figure("curve", "Capacity by read share", caption, kind)
}

/// The total over read shares and shares of the two most frequent sizes.
fn map(answered: &Answered<'_>) -> Result<Option<Figure>, EstimateError> {
    let Answered { model, asked, .. } = *answered;
    let mut shares: Vec<(u64, f64)> = Vec::new();
    for part in asked.mix.parts() {
        match shares.iter_mut().find(|(size, _)| *size == part.size_bytes) {
            Some((_, share)) => *share += part.share,
            None => shares.push((part.size_bytes, part.share)),
        }
    }
    shares.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let [(first, _), (second, _), ..] = shares[..] else { return Ok(None) };
    let (small, large) = (first.min(second), first.max(second));
    let steps: Vec<usize> = (0..=100 / STEPS.1).map(|step| step * STEPS.1).collect();
    let mut values = Vec::new();
    for reads in steps.iter().rev() {
        let mut row: Vec<Num> = Vec::new();
        for percent in &steps {
            let (reads, share) = (*reads as f64 / 100.0, *percent as f64 / 100.0);
            let part = |size_bytes, share| Part { size_bytes, share, reads };
            let parts = [part(small, 1.0 - share), part(large, share)];
            let mix = Mix::new(parts.into_iter().filter(|part| part.share > 0.0).collect());
            let Some(mix) = mix else { continue };
            row.push(estimate(model, &Asked { mix: &mix, ..asked })?.total.value.into());
        }
        values.push(row);
    }
    let names = |percent: &usize| format!("{percent} %");
    let kind = Kind::Heatmap {
        x: format!("share of {}", Bytes::new(large)),
        y: "reads".to_owned(),
        columns: steps.iter().map(names).collect(),
        rows: steps.iter().rev().map(names).collect(),
        value: Axis::log("total", IOPS),
        values,
    };
    let caption = format!(
        "The total of {} and {} together, with shares of {}{}.",
        Bytes::new(small),
        Bytes::new(large),
        asked.shares.name(),
        if asked.shares == Shares::Concurrency { ", first come, first served" } else { "" }
    );
    Ok(Some(figures::figure("map", "Two sizes together", caption, kind)))
}
