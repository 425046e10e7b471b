//! The report of an experiment: what was measured, and the prediction of each point beside it.

use towtank_report::{
    Axis, Cell, Column, CurvePoint, Draw, Figure, Kind, LineSeries, Measure, Ordered, Report, Table, human,
};
use towtank_store::experiment::{Measured, Plan};

use super::Point;
use super::predict::{Fitted, Predicted, scenario};

/// Measures of the whole: name, unit, and what it is.
pub const MEASURES: [(&str, &str, &str); 6] = [
    (
        "median_error",
        "",
        "The median over all points that costs were not fitted on of how far the predicted time is from the measured one, over the \
         measured one",
    ),
    ("worst_error", "", "The largest of these errors"),
    (
        "scan_over_best",
        "",
        "The largest ratio of a scan's measured time to that of another method at the same point",
    ),
    ("startup_s", "s", "Fitted: a backfill, before it looks at anything"),
    ("look_s", "s", "Fitted: a look at an object"),
    ("recovery_s", "s", "Fitted: the recovery of an object"),
];

/// The report.
#[must_use]
pub fn report(plan: &Plan, fitted: &Fitted, point: Point) -> Report {
    let mut errors: Vec<f64> =
        fitted.cases.iter().filter(|case| !case.is_fitted).map(|case| case.error().abs()).collect();
    errors.sort_by(f64::total_cmp);
    let costs = fitted.costs;
    let values = [
        median(&errors),
        errors.last().copied(),
        gain(&fitted.cases),
        Some(costs.startup_s),
        Some(costs.look_s),
        Some(costs.recovery_s),
    ];
    let why = "all points were fitted, or there is no scan to compare with";
    let mut summary = Ordered::new();
    let mut glossary = Ordered::new();
    for ((name, unit, about), value) in MEASURES.into_iter().zip(values) {
        let measure = match value {
            Some(value) => Measure::new(value, unit, plan.repeat),
            None => Measure::missing(unit, 0, why),
        };
        summary.insert(name.to_owned(), measure);
        glossary.insert(name.to_owned(), about.to_owned());
    }
    Report {
        study: "store experiment backfill".to_owned(),
        title: "Backfills of real replicas, and the simulation of the same".to_owned(),
        answer: answer(fitted, point, median(&errors)),
        scenario: told(plan, fitted),
        seed: plan.seed,
        replicates: plan.repeat,
        executor: "store".to_owned(),
        summary,
        glossary,
        tables: vec![points(&fitted.cases)],
        figures: figures(fitted),
        warnings: warnings(point),
        ..Report::default()
    }
}

/// What was asked for, and the scenario of a point that was fitted.
fn told(plan: &Plan, fitted: &Fitted) -> serde_json::Value {
    let first = fitted.cases.iter().find(|case| case.is_fitted);
    serde_json::json!({
        "objects": plan.objects,
        "stale": plan.stale,
        "ranges": plan.leaf_bits.iter().map(|bits| 1_u32 << bits).collect::<Vec<_>>(),
        "discovery": plan.discoveries.iter().map(|discovery| discovery.name()).collect::<Vec<_>>(),
        "repeat": plan.repeat,
        "object_size": plan.object_bytes,
        "seed": plan.seed,
        "simulation_of_a_fitted_point": first.map(|case| scenario(&case.case, fitted.costs)),
    })
}

fn median(sorted: &[f64]) -> Option<f64> {
    match sorted.len() {
        0 => None,
        count if count % 2 == 1 => Some(sorted[count / 2]),
        count => Some((sorted[count / 2 - 1] + sorted[count / 2]) / 2.0),
    }
}

fn time(case: &Predicted) -> f64 {
    case.median(|run| run.backfill_s)
}

/// The scan of the same point.
fn scan_of<'a>(cases: &'a [Predicted], case: &Predicted) -> Option<&'a Predicted> {
    cases.iter().find(|other| {
        let same = (other.case.objects, other.case.stale) == (case.case.objects, case.case.stale);
        same && other.case.discovery == super::Discovery::Scan
    })
}

fn gain(cases: &[Predicted]) -> Option<f64> {
    let others = cases.iter().filter(|case| case.case.discovery != super::Discovery::Scan);
    let ratios = others.filter_map(|case| Some(time(scan_of(cases, case)?) / time(case)));
    ratios.reduce(f64::max)
}

fn answer(fitted: &Fitted, (objects, stale): Point, error: Option<f64>) -> String {
    let others = fitted.cases.iter().filter(|case| case.case.discovery != super::Discovery::Scan);
    let best = others
        .filter_map(|case| Some((time(case), time(scan_of(&fitted.cases, case)?), case)))
        .max_by(|left, right| (left.1 / left.0).total_cmp(&(right.1 / right.0)));
    let mut told = Vec::new();
    if let Some((taken, scan, case)) = best {
        told.push(format!(
            "{} takes {}, and a scan {}.",
            super::name_of(&case.case),
            human::quantity(taken, "s"),
            human::quantity(scan, "s")
        ));
    }
    told.push(match error {
        Some(error) => format!(
            "The simulation, with costs from {stale} of {objects} objects, predicts the other points with a median error of {:.0} %.",
            100.0 * error
        ),
        None => "No point is left to predict: all were used for the costs of the simulation.".to_owned(),
    });
    told.join(" ")
}

fn points(cases: &[Predicted]) -> Table {
    let columns = vec![
        Column::number("objects", "objects"),
        Column::number("stale", "objects"),
        Column::text("discovery"),
        Column::number("ranges", ""),
        Column::number("runs", ""),
        Column::number("backfill_s", "s"),
        Column::number("least_s", "s"),
        Column::number("most_s", "s"),
        Column::number("predicted_s", "s"),
        Column::number("error", ""),
        Column::flag("fitted"),
        Column::number("discovery_s", "s"),
        Column::number("objects_looked_at", "objects"),
        Column::number("predicted_looked_at", "objects"),
        Column::number("objects_recovered", "objects"),
        Column::number("exchanged_bytes", "bytes"),
        Column::number("cpu_s", "s"),
        Column::number("peak_bytes", "bytes"),
        Column::number("summary_bytes", "bytes"),
        Column::number("writes_per_s", "/s"),
    ];
    let about = "Medians over the runs. The error is that of the predicted time over the measured one. Processor time is that of all \
                 daemons from the start of the replica until the group was clean; memory that of the daemon which had most";
    let mut table =
        Table::new("points", "What was measured, and what the simulation says", columns).about(about);
    for case in cases {
        let of = |value: fn(&Measured) -> f64| Cell::from(case.median(value));
        let times = || case.runs.iter().map(|run| run.backfill_s);
        let discovery: Vec<f64> = case.runs.iter().filter_map(|run| run.discovery_s).collect();
        let known = discovery.len() == case.runs.len();
        table.push(vec![
            Cell::from(case.case.objects),
            Cell::from(case.case.stale),
            Cell::from(case.case.discovery.name()),
            case.case
                .leaf_bits
                .map_or_else(|| Cell::missing("the method has none"), |bits| Cell::from(1_u32 << bits)),
            Cell::from(case.runs.len() as u64),
            of(|run| run.backfill_s),
            Cell::from(times().fold(f64::INFINITY, f64::min)),
            Cell::from(times().fold(0.0, f64::max)),
            Cell::from(case.backfill_s),
            Cell::from(case.error()),
            Cell::from(case.is_fitted),
            match median(&sorted(discovery)) {
                Some(seconds) if known => Cell::from(seconds),
                _ => Cell::missing("the objects themselves are looked at"),
            },
            of(|run| run.looked_at as f64),
            Cell::from(case.looked_at),
            of(|run| run.recovered as f64),
            of(|run| run.exchanged_bytes as f64),
            of(|run| run.cpu_s),
            of(|run| run.peak_bytes as f64),
            of(|run| run.summary_bytes as f64),
            of(|run| f64::from(run.writes.0) / run.writes.1),
        ]);
    }
    table
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// For each size a figure over the share that was written: measured lines, and dots where the simulation
/// says they should lie. Then all predictions over what was measured.
fn figures(fitted: &Fitted) -> Vec<Figure> {
    let mut sizes: Vec<u32> = fitted.cases.iter().map(|case| case.case.objects).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut figures: Vec<Figure> =
        sizes.into_iter().map(|objects| over_stale(&fitted.cases, objects)).collect();
    let all: Vec<CurvePoint> =
        fitted.cases.iter().map(|case| CurvePoint::new(time(case), case.backfill_s)).collect();
    let ends = fitted
        .cases
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(least, most), case| (least.min(time(case)), most.max(time(case))));
    let series = vec![
        LineSeries { name: "points".to_owned(), points: all, draw: Draw::Points },
        LineSeries {
            name: "equal".to_owned(),
            points: vec![CurvePoint::new(ends.0, ends.0), CurvePoint::new(ends.1, ends.1)],
            draw: Draw::Line,
        },
    ];
    figures.push(Figure {
        id: "predictions".to_owned(),
        title: "Predicted and measured times".to_owned(),
        caption: "Each dot is a point; on the line the simulation is right.".to_owned(),
        kind: Kind::Line {
            x: Axis::log("measured", "s"),
            y: Axis::log("predicted", "s"),
            series,
            references: Vec::new(),
        },
    });
    figures
}

fn over_stale(cases: &[Predicted], objects: u32) -> Figure {
    let mut series: Vec<LineSeries> = Vec::new();
    for case in cases.iter().filter(|case| case.case.objects == objects) {
        let ranges =
            case.case.leaf_bits.map_or_else(String::new, |bits| format!(", {} ranges", 1_u32 << bits));
        let name = format!("{}{ranges}", case.case.discovery.name());
        let x = 100.0 * f64::from(case.case.stale) / f64::from(objects);
        let both = [
            (name.clone(), time(case), Draw::Line),
            (format!("{name}, predicted"), case.backfill_s, Draw::Points),
        ];
        for (name, y, draw) in both {
            let point = CurvePoint::new(x, y);
            match series.iter_mut().find(|one| one.name == name) {
                Some(line) => line.points.push(point),
                None => series.push(LineSeries { name, points: vec![point], draw }),
            }
        }
    }
    Figure {
        id: format!("time_{objects}"),
        title: format!("Time of the backfill of {objects} objects"),
        caption: "Lines: measured. Dots: predicted.".to_owned(),
        kind: Kind::Line {
            x: Axis::linear("written while the replica was away", "%"),
            y: Axis::linear("time", "s"),
            series,
            references: Vec::new(),
        },
    }
}

fn warnings((objects, stale): Point) -> Vec<String> {
    vec![
        "These are times of this machine, with whatever else it did: they are no measure of the store on others".to_owned(),
        format!("Costs were fitted on the runs with {stale} of {objects} objects written; errors of that point say nothing"),
    ]
}
