//! How long is the queue? A network of stations with Poisson arrivals, against its closed forms.
//!
//! The first study, and the example in `docs/writing-a-study.md`: its answer is known exactly, so it tests
//! the whole path from scenario to report. What it leaves out: arrivals other than Poisson streams, and
//! queues of limited length.
//!
//! - `scenario`: the keys of a scenario, and their checks;
//! - `stations`: what is said of a station, and what flows between stations;
//! - `service` and `order`: distributions of service times, and classes of jobs: what a first study can leave
//!   out;
//! - `model`: the entities and events on the kernel;
//! - `closed_form` and `theory`: results of queueing theory, the oracle, and where they hold;
//! - `observed` and `classes`: from counts to measures;
//! - `present`, `figures` and `answer`: the contents of the report.

mod answer;
mod classes;
mod closed_form;
mod figures;
mod model;
mod observed;
mod order;
mod present;
mod scenario;
mod service;
mod stations;
mod theory;
mod view;

use towtank_scenario::{Draft, Problems};
use towtank_units::{Bytes, SimSpan, SimTime};

use self::model::Network;
use self::observed::Seen;
use self::scenario::{Scenario, Settled};
use self::theory::Theory;
use towtank_study::{Flag, Measure, Points, Presentation, Question, Replicate, RunContext, StudyError};

/// The queue study.
#[derive(Clone, Copy, Debug)]
pub struct Queue;

/// The flags of `towtank queue` set the keys of one station, named `counter`; networks need a file.
const FLAGS: &[Flag] = &[
    Flag { name: "arrival-rate", key: "stations.counter.arrival_rate" },
    Flag { name: "service-rate", key: "stations.counter.service_rate" },
    Flag { name: "servers", key: "stations.counter.servers" },
    Flag { name: "service", key: "stations.counter.service" },
    Flag { name: "travel", key: "travel" },
    Flag { name: "warm-up", key: "warm_up" },
    Flag { name: "span", key: "span" },
];

impl Question for Queue {
    const NAME: &'static str = "queue";
    const TITLE: &'static str = "how long do jobs wait at a queue, or in a network of queues";
    const ABOUT: &'static str = "Jobs arrive from outside at random (Poisson streams), wait at a station until one of its servers is free, are served, \
         and go on to another station or leave: M/M/1, M/M/k and open Jackson networks; with other service times and \
         with classes of jobs of which some are more urgent, M/G/1 and M/G/k. The report shows the closed forms that \
         there are beside the simulated values.\n\n\
         Statistics begin after a warm-up and cover what ends in the measured span. Not modelled: arrivals other than \
         Poisson streams, queues of limited length.";
    const RESULTS_VERSION: u32 = 3;
    const EXAMPLES: &'static [&'static str] = &[
        "towtank queue --arrival-rate 0.8/s --service-rate 1/s",
        "towtank queue --arrival-rate 8/s --service-rate 1/s --servers 10 --replicates 10",
        "towtank run queue-load --out results",
    ];
    const FLAGS: &'static [Flag] = FLAGS;
    const MEMORY_KEYS: &'static [&'static str] = &["span"];
    const PUBLISHED: &'static [&'static str] = &["queue-mm1", "queue-network"];

    type Scenario = Scenario;
    type Settled = Settled;
    type Ready = Ready;
    type Seen = Seen;
    type Kept = Seen;

    fn check(scenario: Scenario, draft: &Draft) -> Result<Ready, Problems> {
        let (scenario, theory) = scenario.settle(draft)?;
        Ok(Ready { scenario, theory })
    }

    fn settled(ready: &Ready) -> &Settled {
        &ready.scenario
    }

    fn memory(ready: &Ready) -> Option<Bytes> {
        Some(memory_estimate(&ready.scenario, &ready.theory))
    }

    fn measures() -> Vec<Measure<Seen>> {
        observed::measures()
    }

    fn measures_of(settled: &Settled) -> Vec<Measure<Seen>> {
        classes::measures_of(settled)
    }

    fn run(ready: &Ready, context: &RunContext<'_>) -> Result<Replicate<Seen>, StudyError> {
        let network = Network::new(&ready.scenario, ready.trace_until(context.replicate))
            .map_err(|error| StudyError::Model { message: error.to_string(), hint: None })?;
        let run = context.simulate(&network, Some(ready.scenario.end()))?;
        Ok(observed::replicate(&ready.scenario, &run))
    }

    fn keep(seen: Seen) -> Seen {
        seen
    }

    fn present(points: &Points<'_, Queue>) -> Presentation {
        present::present(points)
    }
}

/// A checked scenario with its closed forms.
pub struct Ready {
    scenario: Settled,
    theory: Theory,
}

/// The expected number of changes of queue lengths that are recorded for the figure.
const STEPS_DRAWN: f64 = 1_500.0;

impl Ready {
    /// The trace covers only the beginning of the first replicate. Each visit changes a queue length twice.
    fn trace_until(&self, replicate: u32) -> SimTime {
        let span = STEPS_DRAWN / (2.0 * self.theory.visit_rate());
        let span = if replicate == 0 { SimSpan::from_ns_f64_floor(span * 1e9) } else { SimSpan::ZERO };
        SimTime::ZERO.saturating_add(span)
    }
}

/// Bytes per station with its histograms, in the run and in its outcome; bytes per job at a station or on its
/// way; and bytes per distinct number of jobs that a station reaches. Measured with 64 stations, with 200,000
/// jobs on their way, and with 99,000 in service.
const STATION: u64 = 750 << 10;
const JOB: u64 = 160;
/// Bytes per class at a station: its histograms. Measured with 16 stations of eight classes.
const CLASS: u64 = 16 << 10;
const LEVEL: u64 = 480;

/// An estimate of the memory of a replicate.
fn memory_estimate(scenario: &Settled, theory: &Theory) -> Bytes {
    let seconds = scenario.end().since(SimTime::ZERO).as_secs_f64();
    // A queue near saturation does not reach its mean within the run: its length is a random walk that starts
    // at 0.
    let number = |(known, station): (&theory::Closed, &stations::Station)| {
        let walks = 2.0 * (2.0 * known.load.arrival_rate * seconds).sqrt();
        known.number_about().min(f64::from(station.servers) + walks)
    };
    let here: f64 = theory.stations.iter().zip(scenario.stations.values()).map(number).sum();
    let travel = scenario.travel.as_secs_f64().min(seconds);
    let goes = (theory.visit_rate() + theory.throughput) * travel;
    let jobs = (here + goes) * JOB as f64 + here * LEVEL as f64;
    let histograms = theory.stations.len() as u64 * (STATION + CLASS * scenario.classes.len() as u64);
    Bytes::new(histograms.saturating_add(jobs as u64))
}

#[cfg(test)]
mod tests;
