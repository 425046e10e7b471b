//! The report of an experiment: the measurements, with the prediction of each point.

use towtank_report::{
    Answer, Axis, Cell, Column, CurvePoint, Draw, Figure, Kind, LineSeries, Measure, Ordered, Report, Table,
    Warning, human,
};
use towtank_store::experiment::Plan;

use super::Point;
use super::predict::{Fitted, Predicted, scenario};

/// A measure over all points.
pub struct Whole {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    about: &'static str,
    value: fn(&Fitted) -> Option<f64>,
}

/// All measures.
pub(super) const MEASURES: [Whole; 8] = [
    Whole {
        name: "median_error",
        unit: "",
        about: "The median over all points that costs were not fitted on of how far the predicted time is from the measured one, \
                over the measured one",
        value: |fitted| super::median(errors(fitted)),
    },
    Whole {
        name: "worst_error",
        unit: "",
        about: "The largest of these errors",
        value: |fitted| errors(fitted).reduce(f64::max),
    },
    Whole {
        name: "median_error_of_long",
        unit: "",
        about: "The median of the errors of the points that took a second or more",
        value: |fitted| super::median(errors_of_long(fitted)),
    },
    Whole {
        name: "worst_error_of_long",
        unit: "",
        about: "The largest of these",
        value: |fitted| errors_of_long(fitted).reduce(f64::max),
    },
    Whole {
        name: "scan_over_best",
        unit: "",
        about: "The largest ratio of a scan's measured time to that of another method at the same point",
        value: |fitted| best(&fitted.cases).map(|(case, scan)| time(scan) / time(case)),
    },
    Whole {
        name: "startup_s",
        unit: "s",
        about: "Fitted: a backfill, before it looks at anything",
        value: |fitted| Some(fitted.costs.startup_s),
    },
    Whole {
        name: "look_s",
        unit: "s",
        about: "Fitted: a look at an object",
        value: |fitted| Some(fitted.costs.look_s),
    },
    Whole {
        name: "recovery_s",
        unit: "s",
        about: "Fitted: the recovery of an object",
        value: |fitted| Some(fitted.costs.recovery_s),
    },
];

/// The report.
#[must_use]
pub fn report(plan: &Plan, fitted: &Fitted, point: Point) -> Report {
    let why = "all such points were fitted, or there is none";
    let mut summary = Ordered::new();
    let mut glossary = Ordered::new();
    for Whole { name, unit, about, value } in MEASURES {
        let measure = match value(fitted) {
            Some(value) => Measure::new(value, unit, plan.repeat),
            None => Measure::missing(unit, 0, why),
        };
        summary.insert(name.to_owned(), measure);
        glossary.insert(name.to_owned(), about.to_owned());
    }
    Report {
        study: "store experiment backfill".to_owned(),
        title: "Backfills of real replicas, and the simulation of the same".to_owned(),
        answer: Answer::of(answer(fitted, point)),
        scenario: request_json(plan, fitted),
        seed: plan.seed,
        replicates: plan.repeat,
        executor: "store".to_owned(),
        summary,
        glossary,
        tables: vec![points(&fitted.cases)],
        figures: figures(fitted),
        warnings: warnings(point).into_iter().map(Warning::note).collect(),
        ..Report::default()
    }
}

/// The requested plan, and the scenario of a fitted point.
fn request_json(plan: &Plan, fitted: &Fitted) -> serde_json::Value {
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

/// Relative errors of the points that were not fitted.
fn errors(fitted: &Fitted) -> impl Iterator<Item = f64> + '_ {
    fitted.cases.iter().filter(|case| !case.is_fitted).map(|case| case.error().abs())
}

/// The same of the points that took a second or more: those of shorter ones are mostly of their start.
fn errors_of_long(fitted: &Fitted) -> impl Iterator<Item = f64> + '_ {
    let is_long = |case: &&Predicted| !case.is_fitted && time(case) >= 1.0;
    fitted.cases.iter().filter(is_long).map(|case| case.error().abs())
}

fn time(case: &Predicted) -> f64 {
    case.median(|run| run.backfill_s)
}

/// The case with the scan at the same point.
fn scan_of<'a>(cases: &'a [Predicted], case: &Predicted) -> Option<&'a Predicted> {
    cases.iter().find(|other| {
        let same = (other.case.objects, other.case.stale) == (case.case.objects, case.case.stale);
        same && other.case.discovery == super::Discovery::Scan
    })
}

/// The case with the greatest gain over the scan of the same point, and that scan.
fn best(cases: &[Predicted]) -> Option<(&Predicted, &Predicted)> {
    let others = cases.iter().filter(|case| case.case.discovery != super::Discovery::Scan);
    let pairs = others.filter_map(|case| Some((case, scan_of(cases, case)?)));
    let gain = |(case, scan): &(&Predicted, &Predicted)| time(scan) / time(case);
    pairs.max_by(|left, right| gain(left).total_cmp(&gain(right)))
}

fn answer(fitted: &Fitted, (objects, stale): Point) -> String {
    let mut sentences = Vec::new();
    if let Some((case, scan)) = best(&fitted.cases) {
        sentences.push(format!(
            "{} takes {}, and a scan {}.",
            super::name_of(&case.case),
            human::quantity(time(case), "s"),
            human::quantity(time(scan), "s")
        ));
    }
    sentences.push(match super::median(errors(fitted)) {
        Some(error) => format!(
            "The simulation, with costs from {stale}, from the fewest and from one of {objects} objects, predicts the other points with a median error of {:.0} %.",
            100.0 * error
        ),
        None => "No point is left to predict: all were used for the costs of the simulation.".to_owned(),
    });
    sentences.join(" ")
}

/// A column of numbers: name, unit, and the cell in the row of a case.
type Number = (&'static str, &'static str, fn(&Predicted) -> Cell);

/// The columns after that of the discovery method.
const NUMBERS: [Number; 16] = [
    ("ranges", "", |case| match case.case.leaf_bits {
        Some(bits) => Cell::from(1_u32 << bits),
        None => Cell::missing("the method has none"),
    }),
    ("runs", "", |case| Cell::from(case.runs.len() as u64)),
    ("backfill_s", "s", |case| Cell::from(time(case))),
    ("least_s", "s", |case| Cell::from(times(case).fold(f64::INFINITY, f64::min))),
    ("most_s", "s", |case| Cell::from(times(case).fold(0.0, f64::max))),
    ("predicted_s", "s", |case| Cell::from(case.backfill_s)),
    ("error", "", |case| Cell::from(case.error())),
    ("discovery_s", "s", |case| {
        let known: Option<Vec<f64>> = case.runs.iter().map(|run| run.discovery_s).collect();
        match known.and_then(|known| super::median(known.into_iter())) {
            Some(seconds) => Cell::from(seconds),
            None => Cell::missing("the objects themselves are looked at"),
        }
    }),
    ("objects_looked_at", "objects", |case| Cell::from(case.median(|run| run.looked_at as f64))),
    ("predicted_looked_at", "objects", |case| Cell::from(case.looked_at)),
    ("objects_recovered", "objects", |case| Cell::from(case.median(|run| run.recovered as f64))),
    ("exchanged_bytes", "bytes", |case| Cell::from(case.median(|run| run.exchanged_bytes as f64))),
    ("cpu_s", "s", |case| Cell::from(case.median(|run| run.cpu_s))),
    ("peak_bytes", "bytes", |case| Cell::from(case.median(|run| run.peak_bytes as f64))),
    ("summary_bytes", "bytes", |case| Cell::from(case.median(|run| run.summary_bytes as f64))),
    ("writes_per_s", "/s", |case| Cell::from(case.median(|run| f64::from(run.writes.0) / run.writes.1))),
];

fn times(case: &Predicted) -> impl Iterator<Item = f64> + '_ {
    case.runs.iter().map(|run| run.backfill_s)
}

fn points(cases: &[Predicted]) -> Table {
    let mut columns = vec![
        Column::number("objects", "objects"),
        Column::number("stale", "objects"),
        Column::text("discovery"),
        Column::flag("fitted"),
    ];
    columns.extend(NUMBERS.map(|(name, unit, _)| Column::number(name, unit)));
    let about = "Medians over the runs. The error is that of the predicted time over the measured one. Processor time is that of all \
                 daemons from the start of the replica until the group was clean; memory that of the daemon which had most";
    let mut table =
        Table::new("points", "What was measured, and what the simulation says", columns).about(about);
    for case in cases {
        let mut row = vec![
            Cell::from(case.case.objects),
            Cell::from(case.case.stale),
            Cell::from(case.case.discovery.name()),
            Cell::from(case.is_fitted),
        ];
        row.extend(NUMBERS.map(|(_, _, value)| value(case)));
        table.push(row);
    }
    table
}

/// For each size a figure over the rewritten share: measured lines, and dots for the simulation. Then all
/// predictions over the measurements.
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
    figures.push(Figure::new(
        "predictions",
        "Predicted and measured times",
        "Each dot is a point; on the line the simulation is right.",
        Kind::Line {
            x: Axis::log("measured", "s"),
            y: Axis::log("predicted", "s"),
            series,
            references: Vec::new(),
        },
    ));
    figures
}

fn over_stale(cases: &[Predicted], objects: u32) -> Figure {
    let mut series: Vec<LineSeries> = Vec::new();
    for case in cases.iter().filter(|case| case.case.objects == objects) {
        let name = super::method_of(&case.case);
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
    Figure::new(
        format!("time_{objects}"),
        format!("Time of the backfill of {objects} objects"),
        "Lines: measured. Dots: predicted.",
        Kind::Line {
            x: Axis::linear("written while the replica was away", "%"),
            y: Axis::linear("time", "s"),
            series,
            references: Vec::new(),
        },
    )
}

fn warnings((objects, stale): Point) -> Vec<String> {
    vec![
        "These are times of this machine, with whatever else it did: they are no measure of the store on others".to_owned(),
        format!("Costs were fitted on the runs with {objects} objects of which {stale}, the fewest, or one were written again; errors of these points say nothing"),
    ]
}

#[cfg(test)]
mod tests {
    use towtank_store::experiment::{Case, Measured};

    use super::*;
    use crate::store::experiment::Discovery;
    use crate::store::experiment::predict::Costs;

    /// A point that took so long in each of its runs, with the prediction for it.
    fn point(taken_s: [f64; 3], predicted_s: f64, is_fitted: bool) -> Predicted {
        let discovery = Discovery::Scan;
        let case =
            Case { objects: 9, stale: 3, discovery, leaf_bits: None, repeat: 0, object_bytes: 64, seed: 1 };
        let run = |backfill_s| Measured {
            case,
            backfill_s,
            discovery_s: None,
            looked_at: 9,
            recovered: 3,
            exchanged_bytes: 0,
            cpu_s: 0.0,
            peak_bytes: 0,
            summary_bytes: 0,
            writes: (3, 1.0),
        };
        let runs = taken_s.map(run).to_vec();
        Predicted { case, runs, backfill_s: predicted_s, looked_at: 9.0, is_fitted }
    }

    fn measures(cases: &[Predicted]) -> [Option<f64>; 4] {
        let costs = Costs { startup_s: 0.0, look_s: 0.0, recovery_s: 0.0 };
        let fitted = Fitted { costs, cases: cases.to_vec() };
        ["median_error", "worst_error", "median_error_of_long", "worst_error_of_long"].map(|name| {
            let measure = MEASURES.iter().find(|measure| measure.name == name).expect("it is a measure");
            (measure.value)(&fitted).map(|error| (error * 1e6).round() / 1e6)
        })
    }

    #[test]
    fn errors_of_long_points_are_of_those_that_took_a_second_and_were_not_fitted() {
        let cases = [
            point([1.0, 1.0, 9.0], 0.9, false),
            point([2.0; 3], 2.4, false),
            point([4.0; 3], 5.2, false),
            point([0.9, 0.9, 5.0], 1.8, false),
            point([3.0; 3], 9.0, true),
        ];
        assert_eq!(measures(&cases), [Some(0.25), Some(1.0), Some(0.2), Some(0.3)]);
        // Planted: a point that was fitted, and one that was shorter, are counted.
        let of_fitted: Vec<_> = cases.iter().map(|it| Predicted { is_fitted: false, ..it.clone() }).collect();
        assert_ne!(measures(&of_fitted)[2..], measures(&cases)[2..]);
        let longer: Vec<_> =
            cases.iter().map(|it| Predicted { runs: it.runs[2..].to_vec(), ..it.clone() }).collect();
        assert_ne!(measures(&longer)[2..], measures(&cases)[2..]);
        assert_eq!(measures(&cases[3..4])[2..], [None, None], "missing is not 0");
    }
}
