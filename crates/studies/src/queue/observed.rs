//! From what a run counted to what it says: the measures of one replicate, and what is kept for the presentation.

use serde::{Deserialize, Serialize};
use towtank_metrics::{Histogram, LevelTimes};
use towtank_report::Outcome;
use towtank_units::{SimSpan, SimTime, plain};

use super::model::{Change, Entity, Network, Sample};
use super::scenario::{Scenario, Theory};
use crate::MeasureSpec;

/// What was counted in the measured part of one replicate, or of several merged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// How long was measured.
    #[serde(with = "plain")]
    pub span: SimSpan,
    /// In the order of the scenario.
    pub stations: Vec<ObservedStation>,
    /// From the door of the first station to that of the last, in nanoseconds.
    pub sojourns: Histogram,
}

/// What was counted at one station.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObservedStation {
    /// Its servers, which tell waiting from being served.
    pub servers: u32,
    /// How long each number of jobs was there.
    pub numbers: LevelTimes,
    /// Waits in nanoseconds.
    pub waits: Histogram,
    /// Responses in nanoseconds.
    pub responses: Histogram,
}

/// A step in the queue of a station.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// When.
    #[serde(with = "plain")]
    pub at_ns: SimTime,
    /// Which station, in the order of the scenario.
    pub station: usize,
    /// Jobs there from now on.
    pub number: u32,
}

/// The measures of one replicate; see [`Observed::measures`] for how each is taken.
pub const MEASURES: &[MeasureSpec] = &[
    MeasureSpec {
        name: "number_mean",
        unit: "jobs",
        about: "mean number of jobs at all stations, waiting and in service",
    },
    MeasureSpec { name: "waiting_mean", unit: "jobs", about: "mean number of jobs that wait" },
    MeasureSpec { name: "utilisation", unit: "fraction", about: "share of all servers that is busy" },
    MeasureSpec { name: "throughput", unit: "jobs/s", about: "jobs that leave per second" },
    MeasureSpec {
        name: "wait_share",
        unit: "fraction",
        about: "share of visits to a station that must wait",
    },
    MeasureSpec {
        name: "wait_mean",
        unit: "s",
        about: "mean wait of a visit, those that need not wait included",
    },
    MeasureSpec { name: "wait_p99", unit: "s", about: "wait that 99 % of visits do not exceed" },
    MeasureSpec {
        name: "sojourn_mean",
        unit: "s",
        about: "mean time of a job from its first station to the end of its last service",
    },
    MeasureSpec { name: "sojourn_p50", unit: "s", about: "sojourn that half of the jobs do not exceed" },
    MeasureSpec { name: "sojourn_p99", unit: "s", about: "sojourn that 99 % of the jobs do not exceed" },
    MeasureSpec {
        name: "little_ratio",
        unit: "",
        about: "mean number over rate times mean response; Little's law says 1",
    },
    MeasureSpec { name: "jobs_measured", unit: "jobs", about: "jobs that left in the measured span" },
];

impl Observed {
    /// What a run counted, or `None` if it was stopped before the warm-up was over.
    #[must_use]
    pub fn of_run(scenario: &Scenario, outcome: &towtank_kernel::Outcome<Network>) -> Option<Observed> {
        let from = scenario.measured_from();
        let end = if outcome.partial { outcome.now } else { scenario.end() };
        let span = end.checked_since(from).filter(|span| !span.is_zero())?;
        let mut stations = Vec::new();
        let counted = outcome.entities.iter().zip(&outcome.statistics);
        for (station, (entity, counts)) in scenario.stations.values().zip(counted) {
            let mut numbers = counts.numbers.clone();
            // The last number held from its beginning until the end, of which no event told.
            if let Entity::Station(state) = entity
                && let Some(Sample::Held { number, span }) = state.held(state.number(), end, from)
            {
                numbers.record(number, span);
            }
            let (waits, responses) = (counts.waits.clone(), counts.responses.clone());
            stations.push(ObservedStation { servers: station.servers, numbers, waits, responses });
        }
        let sojourns = outcome.merged_statistics().sojourns;
        Some(Observed { span, stations, sojourns })
    }

    /// Adds what another replicate counted.
    pub fn merge(&mut self, other: &Observed) {
        self.span = self.span.saturating_add(other.span);
        self.sojourns.merge(&other.sojourns);
        for (mine, theirs) in self.stations.iter_mut().zip(&other.stations) {
            mine.numbers.merge(&theirs.numbers);
            mine.waits.merge(&theirs.waits);
            mine.responses.merge(&theirs.responses);
        }
    }

    /// One value for each of [`MEASURES`], in their order; `None` where no job was there to measure.
    #[must_use]
    pub fn measures(&self) -> Vec<Option<f64>> {
        let seconds = self.span.as_secs_f64();
        let number: f64 = self.stations.iter().map(ObservedStation::number_mean).sum();
        let busy: f64 = self.stations.iter().map(ObservedStation::busy_mean).sum();
        let servers: f64 = self.stations.iter().map(|station| f64::from(station.servers)).sum();
        let mut waits = Histogram::new();
        self.stations.iter().for_each(|station| waits.merge(&station.waits));
        let quantile = |histogram: &Histogram, q| histogram.quantile(q).map(|estimate| estimate.value / 1e9);
        // Rate times mean response is the sum of all responses over the span.
        let little: f64 =
            self.stations.iter().map(|station| station.responses.sum() as f64 / 1e9 / seconds).sum();
        vec![
            Some(number),
            Some(number - busy),
            Some(busy / servers),
            Some(self.sojourns.count() as f64 / seconds),
            above_zero(&waits),
            waits.mean().map(|ns| ns / 1e9),
            quantile(&waits, 0.99),
            self.sojourns.mean().map(|ns| ns / 1e9),
            quantile(&self.sojourns, 0.5),
            quantile(&self.sojourns, 0.99),
            (little > 0.0).then(|| number / little),
            Some(self.sojourns.count() as f64),
        ]
    }
}

impl ObservedStation {
    /// The mean number of jobs, waiting and in service.
    #[must_use]
    pub fn number_mean(&self) -> f64 {
        self.mean_of(u32::MAX)
    }

    /// The mean number of busy servers.
    #[must_use]
    pub fn busy_mean(&self) -> f64 {
        self.mean_of(self.servers)
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
    let zeros = histogram.bins().next().filter(|bin| bin.low == 0).map_or(0, |bin| bin.count);
    (histogram.count() > 0).then(|| (histogram.count() - zeros) as f64 / histogram.count() as f64)
}

/// What theory says about each of [`MEASURES`], in their order; `None` where no closed form is known.
#[must_use]
pub fn expected(theory: &Theory) -> Vec<Option<f64>> {
    let servers: f64 = theory.stations.iter().map(|station| station.offered() / station.utilisation()).sum();
    let offered: f64 = theory.stations.iter().map(|station| station.offered()).sum();
    let single = (theory.stations.len() == 1).then(|| theory.stations[0]);
    vec![
        Some(theory.number_mean()),
        Some(theory.waiting_mean()),
        Some(offered / servers),
        Some(theory.throughput),
        Some(theory.wait_share()),
        Some(theory.wait_mean()),
        single.map(|station| station.wait_quantile(0.99)),
        Some(theory.sojourn_mean()),
        theory.sojourn_quantile(0.5),
        theory.sojourn_quantile(0.99),
        Some(1.0),
        None,
    ]
}

/// The outcome of one replicate: its measures, and for the presentation what was counted and the first steps of the queues.
#[must_use]
pub fn outcome(scenario: &Scenario, run: &towtank_kernel::Outcome<Network>) -> Outcome {
    let mut outcome = Outcome {
        digest: Some(run.digest.to_string()),
        events: run.run.committed,
        partial: run.partial,
        ..Outcome::default()
    };
    let Some(observed) = Observed::of_run(scenario, run) else {
        for measure in MEASURES {
            outcome.missing(measure.name, measure.unit, "the run was stopped before its warm-up was over");
        }
        return outcome;
    };
    for (measure, value) in MEASURES.iter().zip(observed.measures()) {
        match value {
            Some(value) => outcome.measure(measure.name, value, measure.unit),
            None => outcome.missing(measure.name, measure.unit, "no job was there to measure"),
        }
    }
    let steps: Vec<Step> = run
        .outputs
        .iter()
        .map(|written| {
            let Change { number } = written.output;
            Step { at_ns: written.key.at, station: written.by.index(), number }
        })
        .collect();
    if !steps.is_empty() {
        outcome.series.insert("steps".to_owned(), json(&steps));
    }
    outcome.series.insert("observed".to_owned(), json(&observed));
    outcome
}

fn json<T: Serialize>(value: &T) -> serde_json::Value {
    serde_json::to_value(value).expect("counts are plain integers")
}
