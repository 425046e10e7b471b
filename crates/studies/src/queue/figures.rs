//! The figures of the queue study: queue lengths over time, distributions against their closed forms, flows,
//! and sweeps.

use towtank_metrics::Histogram;
use towtank_report::{
    Axis, Bin, BoxStats, CurvePoint, Draw, EcdfSeries, Figure, HistogramSeries, Kind, Lane, LineSeries, Num,
    Reference, Span,
};

use super::observed::Step;
use super::stations::routes;
use super::theory::Theory;
use super::view::View;

/// Figures per station are drawn for at most this many: those with the highest utilisation.
const STATIONS_SHOWN: usize = 4;
/// The maximum number of points in a curve; more would not be visible.
const POINTS_MAX: usize = 200;
/// How much of a logarithmic axis a curve covers, as a factor.
const DECADES: f64 = 1_000.0;
/// Below this share of time or jobs, a tail is cut off.
const TAIL: f64 = 1e-3;

/// The figures of a scenario without a sweep.
pub(crate) fn of_point(view: &View<'_>) -> Vec<Figure> {
    let shown = busiest(view);
    let mut steps = view.point.kept.iter().map(|seen| &seen.steps[..]);
    let steps = steps.find(|steps| !steps.is_empty());
    let mut figures = Vec::new();
    figures.extend(steps.map(|steps| lengths(view, steps, &shown)));
    figures.push(responses(view, &shown));
    figures.extend(steps.map(|steps| busy(view, steps, &shown)));
    figures.extend(shown.iter().map(|station| numbers(view, *station)));
    figures.extend(spread(view));
    if view.theory.stations.len() > 1 {
        figures.extend([shares_of_time(view), flows(view)]);
    }
    figures
}

/// The figures of a sweep: how wait and number of jobs grow with utilisation.
pub(crate) fn of_sweep(views: &[View<'_>]) -> Vec<Figure> {
    let load = |view: &View<'_>| {
        view.theory.stations.iter().map(|station| station.load.utilisation()).fold(0.0, f64::max)
    };
    let mut sorted: Vec<(f64, &View<'_>)> = views.iter().map(|view| (load(view), view)).collect();
    sorted.sort_by(|left, right| left.0.total_cmp(&right.0));
    let figure = |measure: &str, title: &str, unit: &str, theory: fn(&Theory) -> Option<f64>| {
        let point = |(load, view): &(f64, &View<'_>)| {
            let mean = view.mean(measure);
            let (low, high) = mean.and_then(|mean| mean.range).unzip();
            let (low, high) = (low.into(), high.into());
            CurvePoint { low, high, ..CurvePoint::new(*load, mean.map(|mean| mean.mean)) }
        };
        let formula =
            sorted.iter().filter_map(|(load, view)| Some(CurvePoint::new(*load, theory(&view.theory)?)));
        let formula: Vec<CurvePoint> = formula.collect();
        let curve = Reference::Curve { name: "closed form".to_owned(), points: formula.clone() };
        Figure::new(
            format!("{measure}_by_utilisation"),
            format!("{title} by utilisation"),
            "Each point of the sweep with its 95 % interval, over the utilisation of its busiest station.",
            Kind::Line {
                x: Axis::linear("utilisation of the busiest station", "fraction"),
                y: Axis::log(title.to_lowercase(), unit),
                series: vec![line("simulated", sorted.iter().map(point).collect(), Draw::Line)],
                references: if formula.is_empty() { Vec::new() } else { vec![curve] },
            },
        )
    };
    vec![
        figure("wait_mean", "Mean wait", "s", Theory::wait_mean),
        figure("number_mean", "Jobs, mean", "jobs", Theory::number_mean),
    ]
}

fn line(name: impl Into<String>, points: Vec<CurvePoint>, draw: Draw) -> LineSeries {
    LineSeries { name: name.into(), points, draw }
}

/// The stations with the highest utilisation, in the order of the scenario.
fn busiest(view: &View<'_>) -> Vec<usize> {
    let load = |at: &usize| view.theory.stations[*at].load.utilisation();
    let mut order: Vec<usize> = (0..view.theory.stations.len()).collect();
    order.sort_by(|left, right| load(right).total_cmp(&load(left)));
    order.truncate(STATIONS_SHOWN);
    order.sort_unstable();
    order
}

fn name(view: &View<'_>, station: usize) -> String {
    view.point.scenario.stations.keys().nth(station).cloned().unwrap_or_default()
}

fn lengths(view: &View<'_>, steps: &[Step], shown: &[usize]) -> Figure {
    let series = shown.iter().map(|station| {
        let own = steps.iter().filter(|step| step.station == *station);
        let mut points = vec![CurvePoint::new(0.0, 0.0)];
        points.extend(own.map(|step| CurvePoint::new(step.at_ns.as_secs_f64(), step.number)));
        line(name(view, *station), points, Draw::Step)
    });
    let last = steps.last().map_or(0.0, |step| step.at_ns.as_secs_f64());
    let measured_from = view.point.scenario.measured_from().as_secs_f64();
    let warm = Reference::Vertical { name: "warm-up ends".to_owned(), at: measured_from.into() };
    Figure::new(
        "queue_length",
        "Jobs at the stations over time",
        "The beginning of the first replicate, jobs in service included. It starts empty.",
        Kind::Line {
            x: Axis::linear("time", "s"),
            y: Axis::linear("jobs", "jobs"),
            series: series.collect(),
            references: if measured_from <= last { vec![warm] } else { Vec::new() },
        },
    )
}

fn responses(view: &View<'_>, shown: &[usize]) -> Figure {
    // Times of stations may differ by orders of magnitude, so they need a logarithmic axis.
    let several = shown.len() > 1;
    let label = "time at the station";
    let x = if several { Axis::log(label, "s") } else { Axis::linear(label, "s") };
    let (mut series, mut references) = (Vec::new(), Vec::new());
    for station in shown {
        let name = name(view, *station);
        series.push(EcdfSeries {
            name: name.clone(),
            points: shares_below(&view.observed.stations[*station].responses),
        });
        let Some(theory) = view.theory.stations[*station].law_of_times else { continue };
        let longest = theory.response_quantile(1.0 - TAIL);
        let formula = (1..=POINTS_MAX).map(|at| {
            let along = at as f64 / POINTS_MAX as f64;
            let t = longest * if several { libm::pow(DECADES, along - 1.0) } else { along };
            CurvePoint::new(t, 1.0 - theory.response_tail(t))
        });
        references.push(Reference::Curve { name: format!("{name}, closed form"), points: formula.collect() });
    }
    let formula = if references.is_empty() { "" } else { ", and the formula of M/M/k" };
    Figure::new(
        "responses",
        "Time at a station",
        format!("Share of visits with at most this time, wait and service together{formula}."),
        Kind::Ecdf { x, series, references, tail: false },
    )
}

/// The empirical distribution at the ends of buckets, where it is exact; thinned, and cut off where little is
/// left on either side: the single shortest time of a million would stretch a logarithmic axis over empty
/// decades.
fn shares_below(histogram: &Histogram) -> Vec<(Num, Num)> {
    let total = histogram.count() as f64;
    let mut points: Vec<(Num, Num)> = Vec::new();
    let (mut below, mut drawn) = (0, 0.0);
    for bin in histogram.bins() {
        below += bin.count;
        let share = below as f64 / total;
        if share - drawn >= 1.0 / POINTS_MAX as f64 || (points.is_empty() && share >= TAIL) {
            points.push(((bin.high as f64 / 1e9).into(), share.into()));
            drawn = share;
        }
        if share > 1.0 - TAIL {
            break;
        }
    }
    points
}

fn numbers(view: &View<'_>, station: usize) -> Figure {
    let shares = view.observed.stations[station].numbers.shares();
    let most = cut(&shares).min(POINTS_MAX);
    let bins = shares.iter().take(most).enumerate().map(|(number, share)| {
        let number = number as f64;
        Bin { from: (number - 0.5).into(), to: (number + 0.5).into(), height: (*share).into() }
    });
    let formula = view.theory.stations[station].law_of_numbers.map(|law| {
        let chances = law.number_chances(most);
        let points = chances.iter().enumerate().map(|(number, chance)| CurvePoint::new(number, *chance));
        Reference::Curve { name: "closed form".to_owned(), points: points.collect() }
    });
    let name = name(view, station);
    let law = match (&formula, view.observed.stations[station].servers) {
        (None, _) => "",
        (Some(_), 1) => ", and the geometric distribution",
        (Some(_), _) => ", and the distribution of M/M/k",
    };
    Figure::new(
        format!("numbers_{name}"),
        format!("Number of jobs at {name}"),
        format!("Share of time with this number of jobs, waiting and in service{law}."),
        Kind::Histogram {
            x: Axis::linear("jobs at the station", "jobs"),
            y: Axis::linear("share of time", "fraction"),
            series: vec![HistogramSeries { name: "simulated".to_owned(), bins: bins.collect() }],
            references: formula.into_iter().collect(),
        },
    )
}

/// The number of leading shares after which the sum of the rest is at most the tail.
fn cut(shares: &[f64]) -> usize {
    let mut sum = 0.0;
    let needed = shares.iter().take_while(|share| {
        let more = sum < 1.0 - TAIL;
        sum += **share;
        more
    });
    needed.count()
}

/// When all servers of a station were busy, and when some.
fn busy(view: &View<'_>, steps: &[Step], shown: &[usize]) -> Figure {
    let end = steps.last().map_or(0.0, |step| step.at_ns.as_secs_f64());
    let lanes = shown.iter().map(|station| {
        let servers = view.observed.stations[*station].servers;
        let what = |number: u32| match number {
            0 => "",
            number if number < servers => "some servers busy",
            number if number == servers => "all servers busy",
            _ => "jobs wait",
        };
        let mut spans: Vec<Span> = Vec::new();
        let mut open = (0.0, "");
        let own = steps.iter().filter(|step| step.station == *station);
        let own = own.map(|step| (step.at_ns.as_secs_f64(), what(step.number)));
        for (now, what) in own.chain([(end, "the end")]) {
            let (from, was) = open;
            if what != was {
                if !was.is_empty() {
                    let (from, to) = (from.into(), now.into());
                    spans.push(Span { from, to, what: was.to_owned(), note: String::new() });
                }
                open = (now, what);
            }
        }
        Lane { name: name(view, *station), spans, marks: Vec::new() }
    });
    let kind = Kind::Timeline { x: Axis::linear("time", "s"), lanes: lanes.collect() };
    Figure::new("busy", "Busy periods of the stations", "The beginning of the first replicate.", kind)
}

/// Fewer replicates than this are drawn one by one, not as a box.
const REPLICATES_BOXED: usize = 5;

/// The spread of the mean number over replicates.
fn spread(view: &View<'_>) -> Option<Figure> {
    let kept = &view.point.kept;
    let boxes = (0..view.theory.stations.len()).map(|station| {
        let values = kept.iter().map(|seen| seen.observed.stations[station].number_mean());
        BoxStats::of(name(view, station), &values.collect::<Vec<f64>>())
    });
    let formula = view.theory.number_mean().filter(|_| view.theory.stations.len() == 1);
    let formula = formula.map(|at| Reference::Horizontal { name: "closed form".to_owned(), at: at.into() });
    let figure = Figure::new(
        "replicates",
        "Mean number of jobs, by replicate",
        "Boxes hold the middle half of the replicates; whiskers reach at most 1.5 box heights further.",
        Kind::Box {
            x: "station".to_owned(),
            y: Axis::linear("mean number of jobs", "jobs"),
            boxes: boxes.collect(),
            references: formula.into_iter().collect(),
        },
    );
    (kept.len() >= REPLICATES_BOXED).then_some(figure)
}

/// Columns in the figure of all stations; the last one includes all larger numbers of jobs.
const NUMBERS_SHOWN: usize = 24;

fn shares_of_time(view: &View<'_>) -> Figure {
    let shares: Vec<Vec<f64>> =
        view.observed.stations.iter().map(|station| station.numbers.shares()).collect();
    let most = shares.iter().map(|shares| cut(shares)).max().unwrap_or(0).min(NUMBERS_SHOWN);
    let row = |shares: &Vec<f64>| (0..most).map(|number| Num::from(shares.get(number).copied())).collect();
    Figure::new(
        "shares_of_time",
        "Number of jobs at each station",
        "Share of time with this number of jobs, for each station.",
        Kind::Heatmap {
            x: "jobs at the station".to_owned(),
            y: "station".to_owned(),
            columns: (0..most).map(|number| number.to_string()).collect(),
            rows: view.point.scenario.stations.keys().cloned().collect(),
            value: Axis::linear("share of time", "fraction"),
            values: shares.iter().map(row).collect(),
        },
    )
}

/// The flow of jobs between stations, by the traffic equations.
fn flows(view: &View<'_>) -> Figure {
    let count = view.theory.stations.len();
    let mut matrix = vec![vec![0.0; count + 1]; count + 1];
    for (at, station) in view.point.scenario.stations.values().enumerate() {
        matrix[count][at] = station.arrival_rate.per_second_f64();
    }
    for (from, targets) in routes(&view.point.scenario.stations).iter().enumerate() {
        let rate = view.theory.stations[from].load.arrival_rate;
        let mut leaving = rate;
        for (to, share) in targets {
            matrix[from][*to] += rate * share.fraction_f64();
            leaving -= rate * share.fraction_f64();
        }
        matrix[from][count] = leaving.max(0.0);
    }
    let labels = view.point.scenario.stations.keys().cloned().chain(["outside".to_owned()]);
    Figure::new(
        "flows",
        "Flow of jobs between stations",
        "Rates from the traffic equations; jobs come from outside and finally leave to it.",
        Kind::Chord {
            value: Axis::linear("jobs", "jobs/s"),
            labels: labels.collect(),
            groups: Vec::new(),
            matrix: matrix.into_iter().map(|row| row.into_iter().map(Num::from).collect()).collect(),
            name: String::new(),
            others: Vec::new(),
        },
    )
}
