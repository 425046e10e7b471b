//! From the counts of a run to its results: the measures of one replicate, and what is kept for the
//! presentation.

use serde::{Deserialize, Serialize};
use towtank_kernel::Written;
use towtank_metrics::{Histogram, LevelTimes};
use towtank_report::Outcome;
use towtank_units::{SimSpan, SimTime, plain};

use super::model::{Change, Network, Times};
use super::scenario::Settled;
use super::theory::Theory;
use towtank_study::{Measure, Replicate};

/// The counts of the measured part of one replicate, or of several merged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// The length of the measured part of one replicate.
    #[serde(with = "plain")]
    pub span: SimSpan,
    /// The stations, in the order of the scenario.
    pub stations: Vec<ObservedStation>,
    /// From arrival at the first station to the end of service at the last, in nanoseconds.
    pub sojourns: Histogram,
    /// The times of each class, at all stations; empty where all jobs are alike.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Times>,
}

/// The counts of one station.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObservedStation {
    /// The number of its servers, which separates waiting jobs from those in service.
    pub servers: u32,
    /// For how long the station held each number of jobs.
    pub numbers: LevelTimes,
    /// Waits in nanoseconds.
    pub waits: Histogram,
    /// Responses in nanoseconds.
    pub responses: Histogram,
}

/// A change of the number of jobs at a station.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// When it happened.
    #[serde(with = "plain")]
    pub at_ns: SimTime,
    /// The station, by its position in the scenario.
    pub station: usize,
    /// The number of jobs there from now on.
    pub number: u32,
}

/// A measure, with its value, nothing where no job was measured, and its closed form, where one is known.
pub struct Row {
    pub name: &'static str,
    pub unit: &'static str,
    pub about: &'static str,
    pub value: fn(&Observed) -> Option<f64>,
    pub theory: fn(&Theory) -> Option<f64>,
}

/// A measure, as tables and claims show it.
pub struct Shown {
    pub name: String,
    pub unit: &'static str,
    pub about: &'static str,
    /// Its closed form.
    pub theory: Option<f64>,
}

/// The measures of one replicate.
pub(crate) const ROWS: &[Row] = &[
    Row {
        name: "number_mean",
        unit: "jobs",
        about: "mean number of jobs at all stations, waiting and in service",
        value: |seen| Some(seen.number_mean()),
        theory: Theory::number_mean,
    },
    Row {
        name: "waiting_mean",
        unit: "jobs",
        about: "mean number of waiting jobs",
        value: |seen| Some(seen.number_mean() - seen.busy_mean()),
        theory: Theory::waiting_mean,
    },
    Row {
        name: "utilisation",
        unit: "fraction",
        about: "mean share of servers that are busy",
        value: |seen| Some(seen.busy_mean() / seen.servers()),
        theory: |theory| Some(theory.utilisation()),
    },
    Row {
        name: "throughput",
        unit: "jobs/s",
        about: "jobs that leave per second",
        value: |seen| Some(seen.sojourns.count() as f64 / seen.span.as_secs_f64()),
        theory: |theory| Some(theory.throughput),
    },
    Row {
        name: "wait_share",
        unit: "fraction",
        about: "share of visits to a station that must wait",
        value: |seen| above_zero(&seen.waits()),
        theory: Theory::wait_share,
    },
    Row {
        name: "wait_mean",
        unit: "s",
        about: "mean wait of a visit to a station, zero waits included",
        value: |seen| seconds(seen.waits().mean()),
        theory: Theory::wait_mean,
    },
    Row {
        name: "wait_p99",
        unit: "s",
        about: "99th percentile of the wait of a visit",
        value: |seen| quantile(&seen.waits(), 0.99),
        theory: |theory| theory.wait_quantile(0.99),
    },
    Row {
        name: "sojourn_mean",
        unit: "s",
        about: "mean time of a job from its first station to the end of its last service",
        value: |seen| seconds(seen.sojourns.mean()),
        theory: Theory::sojourn_mean,
    },
    Row {
        name: "sojourn_p50",
        unit: "s",
        about: "median sojourn time of a job",
        value: |seen| quantile(&seen.sojourns, 0.5),
        theory: |theory| theory.sojourn_quantile(0.5),
    },
    Row {
        name: "sojourn_p99",
        unit: "s",
        about: "99th percentile of the sojourn time of a job",
        value: |seen| quantile(&seen.sojourns, 0.99),
        theory: |theory| theory.sojourn_quantile(0.99),
    },
    Row {
        name: "little_ratio",
        unit: "",
        about: "mean number of jobs over arrival rate times mean response; 1 by Little's law",
        value: |seen| seen.little_ratio(),
        theory: |_| Some(1.0),
    },
    Row {
        name: "jobs_measured",
        unit: "jobs",
        about: "jobs that left in the measured span",
        value: |seen| Some(seen.sojourns.count() as f64),
        theory: |_| None,
    },
];

/// The results of one replicate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// The counts.
    pub observed: Observed,
    /// The first changes of queue lengths; only in the first replicate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

/// The measures of [`ROWS`], as the study reports them.
pub fn measures() -> Vec<Measure<Seen>> {
    let measure = |row: &'static Row| {
        let value = |seen: &Seen| (row.value)(&seen.observed).ok_or_else(|| NO_JOB.to_owned());
        let measure = Measure::new(row.name, row.unit, row.about, value);
        match title(row.name) {
            Some(title) => measure.titled(title),
            None => measure,
        }
    };
    ROWS.iter().map(measure).collect()
}

/// A title where the name alone gives a poor one.
fn title(name: &str) -> Option<&'static str> {
    match name {
        "number_mean" => Some("Jobs, mean"),
        "waiting_mean" => Some("Waiting jobs, mean"),
        "wait_share" => Some("Visits that wait"),
        "little_ratio" => Some("Ratio of Little's law"),
        _ => None,
    }
}

pub(crate) const NO_JOB: &str = "no job was measured";

impl Observed {
    /// The counts of a run, or `None` if it was stopped before the warm-up was over.
    pub(crate) fn of_run(scenario: &Settled, outcome: &towtank_kernel::Outcome<Network>) -> Option<Observed> {
        let from = scenario.measured_from();
        let end = if outcome.partial { outcome.now } else { scenario.end() };
        let span = end.checked_since(from).filter(|span| !span.is_zero())?;
        let mut stations = Vec::new();
        let counted = outcome.entities.iter().zip(&outcome.statistics);
        for (station, (entity, counts)) in scenario.stations.values().zip(counted) {
            let mut numbers = counts.numbers.clone();
            // The last number held until the end, which no event has recorded.
            if let Some((number, since)) = entity.holds()
                && let Some(span) = end.checked_since(since.max(from))
            {
                numbers.record(number, span);
            }
            let Times { waits, responses, .. } = counts.times.clone();
            stations.push(ObservedStation { servers: station.servers, numbers, waits, responses });
        }
        let all = outcome.merged_statistics();
        let mut classes = all.classes;
        // A class of which no job was seen has its entry all the same.
        classes.resize_with(scenario.classes.len(), Times::default);
        Some(Observed { span, stations, sojourns: all.times.sojourns, classes })
    }

    /// Adds the counts of another replicate of the same length.
    pub fn merge(&mut self, other: &Observed) {
        self.sojourns.merge(&other.sojourns);
        self.classes.iter_mut().zip(&other.classes).for_each(|(mine, theirs)| mine.merge(theirs));
        for (mine, theirs) in self.stations.iter_mut().zip(&other.stations) {
            mine.numbers.merge(&theirs.numbers);
            mine.waits.merge(&theirs.waits);
            mine.responses.merge(&theirs.responses);
        }
    }

    /// The mean number of jobs at all stations, waiting and in service.
    fn number_mean(&self) -> f64 {
        self.stations.iter().map(ObservedStation::number_mean).sum()
    }

    /// The mean number of busy servers.
    fn busy_mean(&self) -> f64 {
        self.stations.iter().map(ObservedStation::busy_mean).sum()
    }

    fn servers(&self) -> f64 {
        self.stations.iter().map(|station| f64::from(station.servers)).sum()
    }

    /// The waits of visits to all stations.
    pub fn waits(&self) -> Histogram {
        let mut waits = Histogram::new();
        self.stations.iter().for_each(|station| waits.merge(&station.waits));
        waits
    }

    fn little_ratio(&self) -> Option<f64> {
        let seconds = self.span.as_secs_f64();
        // Rate times mean response is the sum of all responses over the span.
        let little: f64 =
            self.stations.iter().map(|station| station.responses.sum() as f64 / 1e9 / seconds).sum();
        (little > 0.0).then(|| self.number_mean() / little)
    }
}

impl ObservedStation {
    /// The mean number of jobs, waiting and in service.
    pub(crate) fn number_mean(&self) -> f64 {
        self.mean_of(u32::MAX)
    }

    /// The mean number of busy servers.
    fn busy_mean(&self) -> f64 {
        self.mean_of(self.servers)
    }

    /// The mean share of its servers that are busy.
    pub(crate) fn utilisation(&self) -> f64 {
        self.busy_mean() / f64::from(self.servers)
    }

    /// The mean over time of the number of jobs, each number counted as at most `limit`.
    fn mean_of(&self, limit: u32) -> f64 {
        let limit = u128::from(limit);
        let total: u128 = self.numbers.ns_by_level().sum();
        let area: u128 =
            (0_u128..).zip(self.numbers.ns_by_level()).map(|(number, ns)| number.min(limit) * ns).sum();
        area as f64 / total as f64
    }
}

/// The share of values that are not zero.
fn above_zero(histogram: &Histogram) -> Option<f64> {
    (histogram.count() > 0).then(|| count_above_zero(histogram) as f64 / histogram.count() as f64)
}

/// The number of values that are not zero.
pub(crate) fn count_above_zero(histogram: &Histogram) -> u64 {
    let zeros = histogram.bins().next().filter(|bin| bin.low == 0).map_or(0, |bin| bin.count);
    histogram.count() - zeros
}

/// A quantile in seconds.
pub fn quantile(histogram: &Histogram, q: f64) -> Option<f64> {
    seconds(histogram.quantile(q).map(|estimate| estimate.value))
}

pub fn seconds(ns: Option<f64>) -> Option<f64> {
    ns.map(|ns| ns / 1e9)
}

/// The results of one replicate: the counts, and the first changes of queue lengths.
pub fn replicate(scenario: &Settled, run: &towtank_kernel::Outcome<Network>) -> Replicate<Seen> {
    let beside = Outcome {
        digest: Some(run.digest.to_string()),
        events: run.run.committed,
        partial: run.partial,
        ..Outcome::default()
    };
    let step = |written: &Written<Change>| {
        let Change { number } = written.output;
        Step { at_ns: written.key.at, station: written.by.index(), number }
    };
    let steps = run.outputs.iter().map(step).collect();
    let seen = Observed::of_run(scenario, run).map(|observed| Seen { observed, steps });
    Replicate { seen: seen.ok_or("the run was stopped before its warm-up was over"), beside }
}

#[cfg(test)]
mod tests {
    use super::*;
    use towtank_study::testing::by_hand;

    fn histogram(seconds: &[f64]) -> Histogram {
        let mut histogram = Histogram::new();
        seconds.iter().for_each(|seconds| histogram.record((seconds * 1e9) as u64));
        histogram
    }

    /// Ten seconds of a station with two servers: empty for four, one job for two, three jobs for four.
    fn seen() -> Seen {
        let mut numbers = LevelTimes::new();
        for (number, seconds) in [(0, 4), (1, 2), (3, 4)] {
            numbers.record(number, SimSpan::from_secs(seconds));
        }
        let station = ObservedStation {
            servers: 2,
            numbers,
            waits: histogram(&[0.0, 0.5, 1.0, 2.5]),
            responses: histogram(&[1.0, 7.0, 12.0]),
        };
        let sojourns = histogram(&[1.0, 2.0, 7.0]);
        let observed =
            Observed { span: SimSpan::from_secs(10), stations: vec![station], sojourns, classes: Vec::new() };
        Seen { observed, steps: Vec::new() }
    }

    #[test]
    fn each_measure_has_its_own_value() {
        let expected = [
            ("number_mean", 1.4),
            ("waiting_mean", 0.4),
            ("utilisation", 0.5),
            ("throughput", 0.3),
            ("wait_share", 0.75),
            ("wait_mean", 1.0),
            ("wait_p99", 2.5),
            ("sojourn_mean", 10.0 / 3.0),
            ("sojourn_p50", 2.0),
            ("sojourn_p99", 7.0),
            ("little_ratio", 0.7),
            ("jobs_measured", 3.0),
        ];
        by_hand::hold(measures, &seen(), &expected);
    }
}
