//! What is counted in one replicate: loads, peers, one failure, one change.

use serde::{Deserialize, Serialize};
use towtank_placement::algorithms::analysis::{Balance, Movement, Peers};
use towtank_placement::algorithms::{Placement, ServerId, ServerSet, hashing};
use towtank_report::Outcome;

use super::algorithms::{Arrangement, GROUPS_USUAL};
use super::scenario::Scenario;
use crate::{MeasureSpec, Progress, RunContext, StudyError};

/// What one replicate counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// Copies that each server holds, by id.
    pub loads: Vec<u64>,
    /// With how many others each server with a weight shares data.
    pub peers: Vec<u32>,
    /// What each survivor rebuilds of the failed server.
    pub rebuilt: Vec<u64>,
    /// One value for each of [`MEASURES`], in their order.
    pub measures: Vec<Option<f64>>,
}

/// The measures of one replicate.
pub const MEASURES: &[MeasureSpec] = &[
    MeasureSpec {
        name: "load_deviation",
        unit: "ratio",
        about: "standard deviation of load over what weights ask for",
    },
    MeasureSpec { name: "load_deviation_binomial", unit: "ratio", about: "the same for independent draws" },
    MeasureSpec { name: "load_max", unit: "ratio", about: "greatest load over what its weight asks for" },
    MeasureSpec { name: "load_max_binomial", unit: "ratio", about: "the same for independent draws" },
    MeasureSpec { name: "peers_mean", unit: "servers", about: "others that a server shares data with" },
    MeasureSpec { name: "peers_min", unit: "servers", about: "the fewest of any server" },
    MeasureSpec { name: "failure_lost", unit: "", about: "copies on the server that fails, the last one" },
    MeasureSpec { name: "failure_expected", unit: "", about: "copies that its weight asks for" },
    MeasureSpec { name: "rebuilt_max", unit: "", about: "most of these rebuilt on one survivor" },
    MeasureSpec { name: "rebuilt_none", unit: "servers", about: "survivors that rebuild nothing" },
    MeasureSpec {
        name: "rebuilt_max_over_mean",
        unit: "ratio",
        about: "most rebuilt on one survivor over the mean of all survivors",
    },
    MeasureSpec {
        name: "moved_fraction",
        unit: "fraction",
        about: "part of all copies that the change moves",
    },
    MeasureSpec {
        name: "minimum_fraction",
        unit: "fraction",
        about: "the least that must move between the loads that weights ask for",
    },
    MeasureSpec { name: "moved_over_minimum", unit: "ratio", about: "the first over the second" },
];

/// Servers and copies below which a table of pairs is kept; a bit a pair.
const PEERS_SERVERS_MAX: usize = 16_385;

impl Observed {
    /// Places everything; nothing if it was stopped.
    pub fn of(scenario: &Scenario, context: &RunContext<'_>) -> Result<Option<Observed>, StudyError> {
        let seed = hashing::scatter(context.seed.0);
        let with = Arrangement {
            vnodes: scenario.vnodes,
            groups: scenario.groups.unwrap_or(GROUPS_USUAL),
            replicas: scenario.replicas as usize,
            seed: seed as u32,
        };
        let set_up = |cluster: &towtank_placement::algorithms::Cluster| {
            scenario.algorithm.set_up(cluster, &with).map_err(|error| StudyError::Model {
                message: format!("{} cannot be set up: {error}", scenario.algorithm.name()),
                hint: Some("change `servers`, or take another algorithm".to_owned()),
            })
        };
        let before = set_up(&scenario.cluster())?;
        let after = set_up(&scenario.cluster_after())?;
        let keys = Keys {
            items: scenario.items(),
            seed,
            context,
            grouped: scenario.groups.is_some(),
            by_number: scenario.algorithm.has_table(),
        };
        let replicas = scenario.replicas as usize;
        let balance = Balance::of(&*before, keys.pass(0), replicas);
        let peers = Peers::of(&*before, keys.pass(1), replicas);
        let failure = Failure::of(&*before, keys.pass(2), replicas, scenario.last());
        let movement = Movement::between(&*before, &*after, keys.pass(3), replicas);
        if context.stopped() {
            return Ok(None);
        }
        Ok(Some(Self::from_counts(&balance, &peers, failure, &movement)))
    }

    fn from_counts(balance: &Balance, peers: &Peers, failure: Failure, movement: &Movement) -> Observed {
        let live: Vec<ServerId> = (0u32..)
            .zip(&balance.shares)
            .filter(|(_, share)| **share > 0.0)
            .map(|(server, _)| ServerId(server))
            .collect();
        debug_assert!(live.len() <= PEERS_SERVERS_MAX);
        let counts: Vec<u32> = live.iter().map(|server| peers.count(*server)).collect();
        let survivors: Vec<u64> = live
            .iter()
            .filter(|server| **server != failure.failed)
            .map(|server| failure.taken[server.index()])
            .collect();
        let most = survivors.iter().max().copied();
        let all: u64 = survivors.iter().sum();
        let over_mean =
            most.filter(|_| all > 0).map(|most| most as f64 * survivors.len() as f64 / all as f64);
        let moved = movement.moved as f64 / movement.replicas.max(1) as f64;
        let least = movement.minimum_of_weights / movement.replicas.max(1) as f64;
        let measures = vec![
            balance.relative_deviation(),
            balance.binomial_deviation(),
            balance.max_over_mean(),
            balance.binomial_max_over_mean(),
            Some(counts.iter().copied().map(f64::from).sum::<f64>() / counts.len().max(1) as f64),
            counts.iter().min().copied().map(f64::from),
            Some(failure.lost as f64),
            Some(balance.expected(failure.failed)),
            most.map(|most| most as f64),
            Some(survivors.iter().filter(|taken| **taken == 0).count() as f64),
            over_mean,
            Some(moved),
            Some(least),
            (least > 0.0).then(|| moved / least),
        ];
        Observed { loads: balance.loads.clone(), peers: counts, rebuilt: survivors, measures }
    }

    /// The measures, with what the presentation needs.
    #[must_use]
    pub fn outcome(&self, scenario: &Scenario) -> Outcome {
        let mut outcome = Outcome { events: scenario.items(), ..Outcome::default() };
        for (measure, value) in MEASURES.iter().zip(&self.measures) {
            match value {
                Some(value) => outcome.measure(measure.name, *value, measure.unit),
                None => outcome.missing(measure.name, measure.unit, "there is nothing to divide by"),
            }
        }
        let json = serde_json::to_value(self).expect("counts have a JSON form");
        outcome.series.insert("observed".to_owned(), json);
        outcome
    }
}

/// What is placed, pass by pass.
struct Keys<'a> {
    items: u64,
    seed: u64,
    context: &'a RunContext<'a>,
    grouped: bool,
    by_number: bool,
}

/// Keys between two looks at whether to stop: a tenth of a second where each is asked of 10,000 servers.
const KEYS_PER_LOOK: u64 = 1_024;
const PASSES: f64 = 4.0;

impl Keys<'_> {
    /// All keys, or those until it was stopped. Objects have random keys. Groups are numbers: algorithms that keep a table
    /// of them use those as they are, and the others scatter them, each replicate in its own way.
    fn pass(&self, pass: u32) -> impl Iterator<Item = u64> + '_ {
        (0..self.items)
            .take_while(move |item| {
                if !item.is_multiple_of(KEYS_PER_LOOK) {
                    return true;
                }
                let fraction = (f64::from(pass) + *item as f64 / self.items as f64) / PASSES;
                (self.context.progress)(Progress { fraction, events: *item });
                !self.context.stopped()
            })
            .map(|item| match (self.grouped, self.by_number) {
                (true, true) => item,
                (true, false) => hashing::scatter(self.seed.wrapping_add(item)),
                (false, _) => hashing::scatter(self.seed ^ item),
            })
    }
}

/// One server fails: who takes its copies over.
struct Failure {
    failed: ServerId,
    lost: u64,
    taken: Vec<u64>,
}

impl Failure {
    /// Places everything as it was and as it is without `failed`; what a survivor has then and had not before, it rebuilds.
    fn of(
        placement: &dyn Placement,
        keys: impl Iterator<Item = u64>,
        replicas: usize,
        failed: ServerId,
    ) -> Failure {
        let down: ServerSet = [failed].into_iter().collect();
        let mut failure = Failure { failed, lost: 0, taken: vec![0; placement.cluster().ids()] };
        let (mut before, mut after) = (vec![ServerId::NONE; replicas], vec![ServerId::NONE; replicas]);
        for key in keys {
            let held = placement.lookup(key, &mut before);
            if !before[..held].contains(&failed) {
                continue;
            }
            failure.lost += 1;
            let found = placement.lookup_excluding(key, &down, &mut after);
            for server in after[..found].iter().filter(|server| !before[..held].contains(server)) {
                failure.taken[server.index()] += 1;
            }
        }
        failure
    }
}
