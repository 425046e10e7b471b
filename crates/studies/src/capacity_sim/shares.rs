//! The mix of sizes in the report: its rate with shares held in each of three ways beside the estimates for
//! shares that are counted in each, and the shares that each size had in the runs.

use towtank_capacity::Shares;
use towtank_metrics::{MeanInterval, mean_interval_95};
use towtank_report::{
    Axis, BarSeries, Cell, Column, CurvePoint, Draw, Figure, Kind, LineSeries, Num, Reference, Table, human,
};

use super::observed::{Estimated, MIX, estimated, mistaken};
use super::runs::{Held, Measured, Portion};
use super::scenario::Scenario;

/// A point that has a mix of sizes.
pub struct MixView<'a> {
    name: &'a str,
    scenario: &'a Scenario,
    measured: Vec<&'a Measured>,
    /// The estimates of each replicate.
    estimated: Vec<Vec<Estimated>>,
}

impl<'a> MixView<'a> {
    /// The view of a point; none without a mix of sizes that was measured.
    #[must_use]
    pub fn of(
        name: &'a str,
        scenario: &'a Scenario,
        measured: impl Iterator<Item = &'a Measured>,
    ) -> Option<MixView<'a>> {
        let measured: Vec<&Measured> = measured.filter(|measured| measured.mixed.is_some()).collect();
        let estimated: Vec<Vec<Estimated>> =
            measured.iter().map(|measured| estimated(scenario, measured)).collect();
        estimated.iter().any(|all| !all.is_empty()).then_some(MixView { name, scenario, measured, estimated })
    }

    /// The mean over the replicates of a value of the runs with shares of one kind.
    fn mean(&self, shares: Shares, value: impl Fn(&Estimated) -> Option<f64>) -> Option<MeanInterval> {
        let of = self.estimated.iter().flatten().filter(|one| one.shares == shares);
        mean_interval_95(&of.filter_map(value).collect::<Vec<f64>>())
    }

    fn value(&self, shares: Shares, value: impl Fn(&Estimated) -> Option<f64>) -> Option<f64> {
        Some(self.mean(shares, value)?.mean)
    }

    /// The mean share of a part in the runs with shares of one kind.
    fn portion(&self, shares: Shares, part: usize, way: fn(&Portion) -> f64) -> Option<f64> {
        let held = |measured: &&Measured| {
            let held: &Held = measured.mixed.as_ref()?.held.iter().find(|held| held.shares == shares)?;
            held.parts.get(part).map(way)
        };
        let values: Vec<f64> = self.measured.iter().filter_map(held).collect();
        Some(mean_interval_95(&values)?.mean)
    }
}

/// How the method counts shares of a kind.
fn form(shares: Shares) -> &'static str {
    match shares {
        Shares::Operations | Shares::Concurrency => "1/Σ(p/T)",
        Shares::Capacity => "(7), Σ(p·T)",
    }
}

/// What the runs with each kind of shares say, as the end of an answer.
#[must_use]
pub fn answer(views: &[MixView<'_>]) -> Option<String> {
    let worst = |shares: Shares, counted: Shares| {
        let errors = views.iter().filter_map(|view| view.value(shares, |one| one.error(counted)));
        errors.map(f64::abs).reduce(f64::max).map(|error| human::digits(error * 100.0))
    };
    let of = |shares| worst(shares, shares);
    let (operations, concurrency, capacity) =
        (of(Shares::Operations)?, of(Shares::Concurrency)?, of(Shares::Capacity)?);
    let mistaken = worst(Shares::Operations, Shares::Capacity)?;
    let most = if views.len() > 1 { "at most " } else { "" };
    Some(format!(
        "of mixes of sizes, the error is {most}{operations} % for shares of operations, {concurrency} % for shares of operations in \
         flight and {capacity} % for shares of capacity; {mistaken} % if shares of operations are counted as shares of capacity, as in \
         the paper"
    ))
}

/// The tables.
#[must_use]
pub fn tables(views: &[MixView<'_>]) -> Vec<Table> {
    if views.is_empty() { Vec::new() } else { vec![estimates(views), portions(views)] }
}

fn estimates(views: &[MixView<'_>]) -> Table {
    let mut columns =
        vec![Column::text("point"), Column::text("shares_of"), Column::number("simulated", "operations/s")];
    for shares in Shares::ALL {
        columns.push(Column::number(format!("as_{}", shares.name()), "operations/s"));
        columns.push(Column::number(format!("error_as_{}", shares.name()), "share"));
    }
    let about = "The mix of sizes, run with its shares held as shares of operations, of operations in flight (concurrency) and of \
                 capacity, each beside the estimates for shares that are counted in each way; means over the replicates. The method \
                 has 1/Σ(p/T) for shares of operations, (7) of the paper for shares of capacity, and a value between the two for \
                 shares of operations in flight, of which the lower end is shown.";
    let mut table = Table::new("mixes", "Mixes of sizes by meaning of the shares", columns).about(about);
    for view in views {
        for shares in Shares::ALL {
            let mut row: Vec<Cell> = vec![Cell::from(view.name), Cell::from(shares.name())];
            row.push(Cell::from(view.value(shares, |one| Some(one.simulated))));
            for counted in Shares::ALL {
                row.push(Cell::from(view.value(shares, |one| one.estimate(counted))));
                row.push(Cell::from(view.value(shares, |one| one.error(counted))));
            }
            table.push(row);
        }
    }
    table
}

/// A kind of share, and its value in a portion.
type Way = (Shares, fn(&Portion) -> f64);

fn portions(views: &[MixView<'_>]) -> Table {
    const WAYS: [Way; 3] = [
        (Shares::Operations, |portion| portion.operations),
        (Shares::Concurrency, |portion| portion.concurrency),
        (Shares::Capacity, |portion| portion.capacity),
    ];
    let mut columns = vec![Column::text("point"), Column::text("shares_of"), Column::text("part")];
    columns.push(Column::number("asked", "fraction"));
    columns.extend(WAYS.iter().map(|(way, _)| Column::number(format!("of_{}", way.name()), "fraction")));
    let about = "The shares that each part had in the same runs, counted as shares of the operations done, of the operations in \
                 flight and of the capacity used. The count of the kind that was held is the share that was asked.";
    let mut table = Table::new("mix_shares", "Shares of sizes in the runs", columns).about(about);
    for view in views {
        let Some(mix) = view.scenario.mix_of_sizes() else { continue };
        for shares in Shares::ALL {
            for (at, part) in mix.parts().iter().enumerate() {
                let reads = human::digits(100.0 * part.reads);
                let mut row: Vec<Cell> = vec![Cell::from(view.name), Cell::from(shares.name())];
                row.push(Cell::from(format!("{}, {reads} % reads", part.size())));
                row.push(Cell::from(part.share));
                row.extend(WAYS.iter().map(|(_, way)| Cell::from(view.portion(shares, at, *way))));
                table.push(row);
            }
        }
    }
    table
}

/// The figure: rates of one point, or errors of several.
#[must_use]
pub fn figures(views: &[MixView<'_>]) -> Vec<Figure> {
    match views {
        [] => Vec::new(),
        [only] => vec![rates(only)],
        _ => vec![errors(views), errors_mistaken(views)],
    }
}

fn rates(view: &MixView<'_>) -> Figure {
    let means = |value: &dyn Fn(Shares, &Estimated) -> Option<f64>| -> Vec<Option<MeanInterval>> {
        Shares::ALL.iter().map(|shares| view.mean(*shares, |one| value(*shares, one))).collect()
    };
    let bars = |name: &str, means: Vec<Option<MeanInterval>>| {
        let of = |pick: &dyn Fn(&MeanInterval) -> Option<f64>| -> Vec<Num> {
            means.iter().map(|mean| Num::from(mean.as_ref().and_then(pick))).collect()
        };
        let range = |end: fn((f64, f64)) -> f64| of(&|mean| mean.range.map(end));
        let (low, high) = (range(|range| range.0), range(|range| range.1));
        BarSeries { name: name.to_owned(), values: of(&|mean| Some(mean.mean)), low, high }
    };
    Figure::new(
        "mixes",
        "Rate of the mix of sizes by meaning of its shares",
        "The shares of the mix were held as shares of operations, of operations in flight (concurrency) or of capacity. \
                  Beside each rate is its estimate for shares of that kind, and the estimate if the shares are mistaken for those \
                  of another kind: (7) of the paper for shares of operations or concurrency, 1/Σ(p/T) for shares of capacity. \
                  Means with their 95 % confidence interval.",
        Kind::Bar {
            x: "shares held".to_owned(),
            y: Axis::linear("rate", "operations/s"),
            categories: Shares::ALL
                .iter()
                .map(|shares| format!("{}, {}", shares.name(), form(*shares)))
                .collect(),
            series: vec![
                bars("simulated", means(&|_, one| Some(one.simulated))),
                bars("estimated", means(&|shares, one| one.estimate(shares))),
                bars("estimated, shares mistaken", means(&|shares, one| one.estimate(mistaken(shares)))),
            ],
            stacked: false,
            references: Vec::new(),
        },
    )
}

fn errors(views: &[MixView<'_>]) -> Figure {
    let own = |shares: Shares| dots(views, format!("shares of {}", shares.name()), shares, shares);
    Figure::new(
        "mixes",
        "Errors of mixes of sizes by meaning of their shares",
        format!(
            "One dot for each point and kind of shares: the estimate for shares of that kind, over the simulated rate, minus 1. \
             {MEANS}"
        ),
        errors_over_rates(Shares::ALL.into_iter().map(own).collect()),
    )
}

/// On axes of its own: beside errors of several hundred percent nothing else could be read.
fn errors_mistaken(views: &[MixView<'_>]) -> Figure {
    let of = |shares: Shares| {
        dots(views, format!("shares of {}", shares.name()), shares, mistaken(Shares::Operations))
    };
    Figure::new(
        "mixes_mistaken",
        "Errors where shares of operations are counted as shares of capacity",
        format!(
            "One dot for each point: the estimate by (7) of the paper, which is for shares of capacity, over the rate that was \
             simulated with shares of operations, minus 1. The other figure of mixes has the errors of the right estimates. {MEANS}"
        ),
        errors_over_rates(vec![of(Shares::Operations)]),
    )
}

const MEANS: &str = "Means with their 95 % confidence interval.";

fn errors_over_rates(series: Vec<LineSeries>) -> Kind {
    Kind::Line {
        x: Axis::log("simulated rate of the mix", "operations/s"),
        y: Axis::linear("error of the estimate", "%"),
        series,
        references: vec![Reference::Horizontal { name: "exact".to_owned(), at: Num::from(0.0) }],
    }
}

/// The error of each point by its rate, for shares of one kind that are counted as those of another.
fn dots(views: &[MixView<'_>], name: String, shares: Shares, counted: Shares) -> LineSeries {
    let point = |view: &MixView<'_>| {
        let rate = view.value(shares, |one| Some(one.simulated))?;
        let error = view.mean(shares, |one| one.error(counted))?;
        let (low, high) = error.range.map(|(low, high)| (100.0 * low, 100.0 * high)).unzip();
        let (low, high) = (low.into(), high.into());
        Some(CurvePoint { low, high, ..CurvePoint::new(rate, 100.0 * error.mean) })
    };
    let mut points: Vec<CurvePoint> = views.iter().filter_map(point).collect();
    let x = |point: &CurvePoint| point.x.get().unwrap_or(0.0);
    points.sort_by(|one, other| x(one).total_cmp(&x(other)));
    LineSeries { name, points, draw: Draw::Points }
}

/// Whether a measure is one of the mix of sizes, which has tables of its own.
#[must_use]
pub(super) fn is_of_mix(measure: &str) -> bool {
    measure.starts_with(MIX)
}
