//! All points: the constant over the mixes, a map of the errors, how busy the disks were under each rule of
//! admission, and mixes of sizes by the meaning of their shares.

use towtank_metrics::{Better, Chance, mean_interval_95};
use towtank_report::{
    Answer, Axis, Cell, Column, CurvePoint, Draw, Figure, Kind, Label, LineSeries, Num, Reference, Table,
    Warning, human,
};

use super::CapacitySim;
use super::runs::{Measured, READS, size_model};
use super::shares::{self, MixView};
use towtank_study::points::{columns_of, text};
use towtank_study::ranking::{Ranked, by_replicate};
use towtank_study::{MeasureSpec, Point, Points, Presentation, Study};

/// More lines than these cannot be distinguished.
const LINES_MAX: usize = 12;
/// An estimate with a larger relative error is called wrong.
const HOLDS_WITHIN: f64 = 0.05;

/// A point with its label.
struct View<'a> {
    point: &'a Point<'a, CapacitySim>,
    label: String,
}

impl<'a> View<'a> {
    fn of(point: &'a Point<'a, CapacitySim>) -> View<'a> {
        View { point, label: point.label() }
    }

    fn mean(&self, measure: &str) -> Option<f64> {
        self.point.value(measure)
    }

    fn measured(&self) -> impl Iterator<Item = &Measured> {
        self.point.kept.iter().map(|kept| &kept.measured)
    }

    fn name(&self) -> String {
        if self.label.is_empty() { self.point.scenario.system.clone() } else { self.label.clone() }
    }

    /// C at each share of reads, relative to its value at pure reads.
    fn constants(&self) -> Vec<CurvePoint> {
        let at = |(index, reads): (usize, &u64)| {
            let one = |measured: &Measured| {
                let model = size_model(&self.point.scenario, &measured.iops)?;
                let constant =
                    model.capacity(*reads as f64 / 100.0, measured.iops.get(index).copied().flatten()?);
                Some(constant / model.reads.iops.value * 100.0)
            };
            let values: Vec<f64> = self.measured().filter_map(one).collect();
            let mean = mean_interval_95(&values)?;
            let (low, high) = mean.range.unzip();
            Some(CurvePoint {
                low: low.into(),
                high: high.into(),
                ..CurvePoint::new(*reads as f64, mean.mean)
            })
        };
        READS.iter().enumerate().filter_map(at).collect()
    }
}

/// The presentation of all points of the study.
#[must_use]
pub fn present(points: &Points<'_, CapacitySim>) -> Presentation {
    let views: Vec<View<'_>> = points.iter().map(View::of).collect();
    if views.is_empty() {
        return Presentation::default();
    }
    let mut figures = vec![constants(&views)];
    figures.extend(map(&views));
    // For a sweep, the table shows how well the target was kept, so the figure is left out.
    figures.extend(
        views
            .first()
            .filter(|view| alone(&views) && !view.point.kept[0].measured.controlled.is_empty())
            .map(control),
    );
    let names: Vec<String> = views.iter().map(View::name).collect();
    let mixes: Vec<MixView<'_>> = views
        .iter()
        .zip(&names)
        .filter_map(|(view, name)| MixView::of(name, &view.point.scenario, view.measured()))
        .collect();
    // Who asks for a mix of sizes asks about its shares.
    figures.splice(0..0, shares::figures(&mixes));
    let mut tables = shares::tables(&mixes);
    tables.push(errors(&views));
    let compared = if mixes.is_empty() { "capacity" } else { "mixes" };
    let asked = if mixes.is_empty() { "error_worst" } else { "mix_by_operations_error" };
    Presentation {
        headline: points.first_measure([asked, "error_worst", "reads_per_second"]),
        main_figure: figures.first().map(|figure| figure.id.clone()),
        answer: answer(&views, shares::answer(&mixes)).comparing(compared).by_measures([asked]),
        tables,
        figures,
        claims: Vec::new(),
        warnings: warnings(&views),
    }
}

fn alone(views: &[View<'_>]) -> bool {
    views.len() == 1
}

fn answer(views: &[View<'_>], of_mixes: Option<String>) -> Answer {
    // Points whose error is missing do not count among those where the method holds.
    let known: Vec<f64> = views.iter().filter_map(|view| view.mean("error_worst")).collect();
    let error = |view: &View<'_>| (view.name(), by_replicate(view.point.result, "error_worst"));
    let ranked = Ranked::of(views.iter().map(error).collect(), Better::Lower, Chance::Seeds);
    let Some([_, error]) = ranked.ends() else {
        return Answer::of("The error of predicted mixes is not known: no point was measured to its end.");
    };
    let holds = known.iter().filter(|error| **error <= HOLDS_WITHIN).count();
    let percent = human::digits(error * 100.0);
    let mut finding = if views.len() == 1 {
        format!("From pure reads and pure writes, the rates of mixes are predicted to within {percent} %")
    } else {
        let largest = if ranked.is_tied() {
            format!("errors are {} at all of them: {}", ranked.range("share"), ranked.why_tied())
        } else {
            format!("the largest error is {percent} % at {}", ranked.worst())
        };
        format!("Predictions are within 5 % at {holds} of {} points; {largest}", known.len())
    };
    if known.len() < views.len() {
        finding += &format!("; {} points were not measured to their end", views.len() - known.len());
    }
    let mut answer = Answer::of(finding + ".");
    let first = &views[0];
    let off = |name: &str| first.mean(&format!("{name}_deviation")).map(|off| human::digits(off * 100.0));
    if let (true, Some(budget), Some(fixed), Some(pid)) =
        (alone(views), off("budget"), off("fixed"), off("pid"))
    {
        let words = format!(
            "while the mix changes, the mean deviation of disk utilisation from the target is {budget} points with a budget, {fixed} with a fixed limit, {pid} with a regulator"
        );
        answer.push(Label::Also, words);
    }
    if let Some(more) = of_mixes {
        answer.push(Label::Also, more);
    }
    answer
}

fn errors(views: &[View<'_>]) -> Table {
    let mut columns = vec![Column::text("point")];
    let measures: Vec<MeasureSpec> =
        CapacitySim.measures().iter().filter(|measure| !shares::is_of_mix(measure.name)).copied().collect();
    columns.extend(columns_of(&measures));
    let about =
        "Means over the replicates. An error above zero means that the prediction exceeds the measured rate.";
    let mut table = Table::new("capacity", "Results of each point", columns).about(about);
    for view in views {
        let mut row: Vec<Cell> = vec![Cell::from(view.name())];
        row.extend(view.point.means(&measures));
        table.push(row);
    }
    table
}

fn constants(views: &[View<'_>]) -> Figure {
    let mut lines: Vec<(LineSeries, usize)> = Vec::new();
    for view in views {
        let points = view.constants();
        match lines.iter_mut().find(|(line, _)| line.points == points) {
            Some((_, more)) => *more += 1,
            None => lines.push((LineSeries { name: view.name(), points, draw: Draw::Line }, 0)),
        }
    }
    let mut said = String::new();
    if lines.len() < views.len() {
        said += " Points with the same values have one line.";
    }
    let step = lines.len().div_ceil(LINES_MAX).max(1);
    if step > 1 {
        said += &format!(" One of every {step} lines is drawn.");
    }
    let mut series: Vec<LineSeries> = lines.into_iter().step_by(step).map(named).collect();
    if bands_overlap(&series) {
        said += " The 95 % confidence intervals of some overlap, where nothing tells the lines apart, and are not drawn.";
        series.iter_mut().flat_map(|line| &mut line.points).for_each(|point| {
            (point.low, point.high) = (Num::MISSING, Num::MISSING);
        });
    } else {
        said += " Means with their 95 % confidence interval.";
    }
    Figure::new(
        "constant",
        "Capacity constant by mix",
        format!(
            "C at each mix, relative to C at pure reads: 100 % everywhere if the method holds. Above 100 %, the cluster does more \
             of a mix than predicted.{said}"
        ),
        Kind::Line {
            x: Axis::linear("reads", "%"),
            y: Axis::linear("C relative to pure reads", "%"),
            series,
            references: vec![Reference::Horizontal { name: "the method".to_owned(), at: Num::from(100.0) }],
        },
    )
}

/// A line under the name of its first point, and the number of the others.
fn named((line, more): (LineSeries, usize)) -> LineSeries {
    match more {
        0 => line,
        more => LineSeries { name: format!("{} and {more} more", line.name), ..line },
    }
}

/// Whether the intervals of two lines overlap at the same place; those of no width, as at pure reads, do not
/// count.
pub(super) fn bands_overlap(series: &[LineSeries]) -> bool {
    let overlap = |one: &CurvePoint, other: &CurvePoint| {
        let ends = [one.low, one.high, other.low, other.high].map(Num::get);
        let [Some(low), Some(high), Some(others_low), Some(others_high)] = ends else { return false };
        one.x == other.x && high > low && others_high > others_low && low < others_high && others_low < high
    };
    let overlaps = |one: &LineSeries, other: &LineSeries| {
        one.points.iter().any(|point| other.points.iter().any(|near| overlap(point, near)))
    };
    series.iter().enumerate().any(|(at, one)| series[at + 1..].iter().any(|other| overlaps(one, other)))
}

/// The worst error over both keys, where two keys are swept.
fn map(views: &[View<'_>]) -> Option<Figure> {
    let [(across, _), (down, _)] = views.first()?.point.result.settings else { return None };
    let names = |at: usize| {
        let mut names: Vec<String> = Vec::new();
        for view in views {
            let name = text(&view.point.result.settings.get(at)?.1);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Some(names)
    };
    let (columns, rows) = (names(0)?, names(1)?);
    let mut values = vec![vec![Num::MISSING; columns.len()]; rows.len()];
    for view in views {
        let at = |which: usize, names: &[String]| {
            names.iter().position(|name| *name == text(&view.point.result.settings[which].1))
        };
        let (column, row) = (at(0, &columns)?, at(1, &rows)?);
        values[row][column] = Num::from(view.mean("error_worst").map(|error| error * 100.0));
    }
    Some(Figure::new(
        "map",
        "Largest error by settings",
        "The largest absolute error of the three mixes.",
        Kind::Heatmap {
            x: across.clone(),
            y: down.clone(),
            columns,
            rows,
            value: Axis::linear("error", "%"),
            values,
        },
    ))
}

/// The busy share of the disks per window, in the first replicate of a point.
fn control(view: &View<'_>) -> Figure {
    let window_ms = view.point.scenario.control.window.as_ns() as f64 / 1e6;
    let line = |one: &super::runs::Controlled| LineSeries {
        name: one.name.clone(),
        points: (0_u32..)
            .zip(&one.busy)
            .map(|(at, busy)| CurvePoint::new((f64::from(at) + 0.5) * window_ms, busy * 100.0))
            .collect(),
        draw: Draw::Line,
    };
    let control = &view.point.scenario.control;
    let target = control.target.fraction_f64() * 100.0;
    let mut references = vec![Reference::Horizontal { name: "target".to_owned(), at: Num::from(target) }];
    references.extend((0_u32..).zip(&control.reads).map(|(at, reads)| Reference::Vertical {
        name: format!("{reads} reads"),
        at: Num::from(f64::from(at) * control.phase.as_ns() as f64 / 1e6),
    }));
    Figure::new(
        "control",
        "Utilisation of the disks while the mix changes",
        format!(
            "The first replicate of {}. The offered load exceeds the capacity; operations that are not admitted are rejected.",
            view.name()
        ),
        Kind::Line {
            x: Axis::linear("time", "ms"),
            y: Axis::linear("utilisation of the disks", "%"),
            series: view.point.kept[0].measured.controlled.iter().map(line).collect(),
            references,
        },
    )
}

fn warnings(views: &[View<'_>]) -> Vec<Warning> {
    let few = |view: &&View<'_>| {
        let scenario = &view.point.scenario;
        let span = |reads: u64| scenario.spans(scenario.size, reads as f64 / 100.0).measured.as_secs_f64();
        let counts = view.measured().flat_map(|one| READS.into_iter().zip(&one.iops));
        counts.filter_map(|(reads, iops)| Some((*iops)? * span(reads))).any(|count| count < 1_000.0)
    };
    let short = |view: &&View<'_>| {
        let scenario = &view.point.scenario;
        READS.into_iter().any(|reads| scenario.spans(scenario.size, reads as f64 / 100.0).too_short)
    };
    let early = |view: &View<'_>| {
        Warning::unknown(format!(
            "{}: `warm_up` or `duration` is too short for {} operations in flight per server, so rates may be those of the start: \
             leave both out, or lengthen them",
            view.name(),
            view.point.scenario.depth
        ))
    };
    let warn = |view: &View<'_>| {
        Warning::unknown(format!(
            "{}: a mix has fewer than 1,000 operations, so its rate varies by 3 %; lengthen `duration`",
            view.name()
        ))
    };
    let too_short = views.iter().filter(short).map(early);
    too_short.chain(views.iter().filter(few).map(warn)).collect()
}
