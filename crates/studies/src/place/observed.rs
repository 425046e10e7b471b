//! The counts of one replicate: loads, peers, one failure, one change.

use serde::{Deserialize, Serialize};
use towtank_placement::algorithms::analysis::{Balance, Movement, Peers};
use towtank_placement::algorithms::{Arrangement, GROUPS_USUAL, Placement, ServerId, ServerSet, hashing};

use super::scenario::Scenario;
use towtank_study::{Measure, Progress, RunContext, StudyError, Value};

/// The counts of one replicate, per server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// Copies that each server holds, by id.
    pub loads: Vec<u64>,
    /// For each server with a weight, the number of other servers with which it shares data.
    pub peers: Vec<u32>,
    /// Copies of the failed server that each survivor rebuilds.
    pub rebuilt: Vec<u64>,
}

/// The kept results of a replicate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// The counts.
    pub observed: Stored,
}

/// The counts as they are stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// The counts per server.
    #[serde(flatten)]
    pub counted: Observed,
    /// One value per measure, in their order. Nothing reads it; it stays because the digest of a report
    /// covers it.
    measures: Vec<Option<f64>>,
}

/// The copies that an algorithm gives up.
#[derive(Clone, Copy, Debug, Default)]
struct Unplaced {
    /// Copies that are not placed, of all copies.
    before: u64,
    asked: u64,
    /// The same after the change.
    after: u64,
    asked_after: u64,
    /// Copies of the failed server that no survivor takes.
    after_failure: u64,
}

/// The results of one replicate.
pub struct Seen {
    /// The counts.
    pub observed: Observed,
    balance: Balance,
    unplaced: Unplaced,
    /// Copies on the server that fails, and the number that its weight predicts.
    lost: f64,
    expected: f64,
    /// The share of all copies that the change moves, and the minimum share that must move.
    moved: f64,
    least: f64,
}

type Row = Measure<Seen>;

/// The measures of one replicate.
pub fn measures() -> Vec<Row> {
    let mut measures = of_loads();
    measures.extend(of_the_unplaced());
    measures.extend(of_peers());
    measures.extend(of_the_failure());
    measures.extend(of_the_change());
    measures
}

fn of_loads() -> Vec<Row> {
    vec![
        Row::new("load_deviation", "share", "standard deviation of load over expected load", |seen| {
            known(seen.balance.relative_deviation())
        })
        .titled("Standard deviation of relative load"),
        Row::new("load_deviation_binomial", "share", "the same for independent draws", |seen| {
            known(seen.balance.binomial_deviation())
        })
        .titled("Standard deviation of relative load, independent draws"),
        Row::new("load_max", "ratio", "greatest load over expected load", |seen| {
            known(seen.balance.max_over_mean())
        })
        .titled("Greatest relative load"),
        Row::new("load_max_binomial", "ratio", "the same for independent draws", |seen| {
            known(seen.balance.binomial_max_over_mean())
        })
        .titled("Greatest relative load, independent draws"),
    ]
}

fn of_the_unplaced() -> Vec<Row> {
    let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    vec![
        Row::new("unplaced", "", "copies for which the algorithm finds no server", |seen| {
            Ok(seen.unplaced.before as f64)
        })
        .titled("Copies without a server"),
        Row::new("unplaced_fraction", "fraction", "share of all copies that have no server", move |seen| {
            Ok(share(seen.unplaced.before, seen.unplaced.asked))
        })
        .titled("Share of copies without a server"),
        Row::new("unplaced_after_fraction", "fraction", "the same after the change", move |seen| {
            Ok(share(seen.unplaced.after, seen.unplaced.asked_after))
        })
        .titled("Share of copies without a server, after the change"),
    ]
}

fn of_peers() -> Vec<Row> {
    vec![
        Row::new("peers_mean", "servers", "other servers that a server shares data with", |seen| {
            let peers = &seen.observed.peers;
            Ok(peers.iter().copied().map(f64::from).sum::<f64>() / peers.len().max(1) as f64)
        })
        .titled("Mean number of peers"),
        Row::new("peers_min", "servers", "fewest peers of any server", |seen| {
            known(seen.observed.peers.iter().min().copied().map(f64::from))
        })
        .titled("Fewest peers"),
    ]
}

fn of_the_failure() -> Vec<Row> {
    vec![
        Row::new("failure_lost", "", "copies on the failed server, the last one", |seen| Ok(seen.lost))
            .titled("Copies on the failed server"),
        Row::new("failure_expected", "", "copies expected there by weight", |seen| Ok(seen.expected))
            .titled("Copies expected there by weight"),
        Row::new("rebuilt_max", "", "most of these copies rebuilt on one survivor", |seen| {
            known(seen.most_rebuilt().map(|most| most as f64))
        })
        .titled("Most copies rebuilt on one survivor"),
        Row::new("rebuilt_none", "servers", "survivors that rebuild nothing", |seen| {
            Ok(seen.observed.rebuilt.iter().filter(|taken| **taken == 0).count() as f64)
        })
        .titled("Survivors that rebuild nothing"),
        Row::new("unrebuilt", "", "copies of the failed server that no survivor rebuilds", |seen| {
            Ok(seen.unplaced.after_failure as f64)
        })
        .titled("Copies that no survivor rebuilds"),
        Row::new(
            "rebuilt_max_over_mean",
            "ratio",
            "most copies rebuilt on one survivor over the mean of all survivors",
            |seen| {
                let all: u64 = seen.observed.rebuilt.iter().sum();
                let most = seen.most_rebuilt().filter(|_| all > 0);
                known(most.map(|most| most as f64 * seen.observed.rebuilt.len() as f64 / all as f64))
            },
        )
        .titled("Most copies rebuilt on one survivor, over the mean"),
    ]
}

fn of_the_change() -> Vec<Row> {
    vec![
        Row::new(
            "moved_fraction",
            "fraction",
            "share of the copies that exist before and after the change that it moves",
            |seen| Ok(seen.moved),
        )
        .titled("Share of copies that the change moves"),
        Row::new(
            "minimum_fraction",
            "fraction",
            "minimum share of these copies that must move if loads follow the weights",
            |seen| Ok(seen.least),
        )
        .titled("Minimum share of copies to move"),
        Row::new("moved_over_minimum", "ratio", "share moved over minimum share", |seen| {
            let ratio = (seen.least > 0.0).then(|| seen.moved / seen.least);
            ratio.ok_or_else(|| "no copy needs to move".to_owned())
        })
        .titled("Share moved over minimum share"),
    ]
}

fn known(value: Option<f64>) -> Value {
    value.ok_or_else(|| "there is nothing to divide by".to_owned())
}

/// The maximum number of servers for which a table of pairs is kept, with one bit per pair.
const PEERS_SERVERS_MAX: usize = 16_385;

impl Seen {
    /// Places everything; nothing if the user stopped it.
    pub fn of(scenario: &Scenario, context: &RunContext<'_>) -> Result<Option<Seen>, StudyError> {
        let seed = hashing::scatter(context.seed.0);
        let with = Arrangement {
            vnodes: scenario.vnodes(),
            groups: scenario.groups.unwrap_or(GROUPS_USUAL),
            slots: scenario.slots(),
            replicas: scenario.replicas as usize,
            seed: seed as u32,
        };
        let set_up = |cluster: &towtank_placement::algorithms::Cluster| {
            scenario.algorithm.set_up(cluster, &with).map_err(|error| StudyError::Model {
                message: format!("{} cannot be set up: {error}", scenario.algorithm.name()),
                hint: Some("change `servers`, or choose another algorithm".to_owned()),
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
        Ok(Some(Self::from_counts(balance, &peers, &failure, &movement)))
    }

    fn from_counts(balance: Balance, peers: &Peers, failure: &Failure, movement: &Movement) -> Seen {
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
        let copies = movement.replicas.max(1) as f64;
        let asked_after = movement.keys * balance.replicas as u64;
        let unplaced = Unplaced {
            before: balance.unplaced,
            asked: balance.asked(),
            after: asked_after.saturating_sub(movement.replicas + movement.added),
            asked_after,
            after_failure: failure.unrebuilt,
        };
        Seen {
            observed: Observed { loads: balance.loads.clone(), peers: counts, rebuilt: survivors },
            lost: failure.lost as f64,
            expected: balance.expected(failure.failed),
            moved: movement.moved as f64 / copies,
            least: movement.minimum_of_weights / copies,
            unplaced,
            balance,
        }
    }

    /// The part of the results that is kept.
    #[must_use]
    pub fn keep(self) -> Kept {
        let measures = measures().iter().map(|measure| measure.value(&self).ok()).collect();
        Kept { observed: Stored { counted: self.observed, measures } }
    }

    fn most_rebuilt(&self) -> Option<u64> {
        self.observed.rebuilt.iter().max().copied()
    }
}

/// The keys that are placed in each pass.
struct Keys<'a> {
    items: u64,
    seed: u64,
    context: &'a RunContext<'a>,
    grouped: bool,
    by_number: bool,
}

/// Keys between two checks of the stop flag: a tenth of a second where each key is tested against 10,000
/// servers.
const KEYS_PER_LOOK: u64 = 1_024;
const PASSES: f64 = 4.0;

impl Keys<'_> {
    /// All keys, or those before the user stopped it. Objects have random keys. Groups have consecutive
    /// numbers: algorithms with a table of groups use the numbers directly, and for the others they are
    /// hashed, differently in each replicate.
    fn pass(&self, pass: u32) -> impl Iterator<Item = u64> + '_ {
        (0..self.items)
            .take_while(move |item| {
                if !item.is_multiple_of(KEYS_PER_LOOK) {
                    return true;
                }
                let fraction = (f64::from(pass) + *item as f64 / self.items as f64) / PASSES;
                (self.context.progress)(Progress { fraction, events: *item, ..Progress::default() });
                !self.context.stopped()
            })
            .map(|item| match (self.grouped, self.by_number) {
                (true, true) => item,
                (true, false) => hashing::scatter(self.seed.wrapping_add(item)),
                (false, _) => hashing::scatter(self.seed ^ item),
            })
    }
}

/// The failure of one server, and the copies that each survivor takes over.
struct Failure {
    failed: ServerId,
    lost: u64,
    /// Lost copies that the second placement does not have.
    unrebuilt: u64,
    taken: Vec<u64>,
}

impl Failure {
    /// Places every key with and without `failed`; a survivor rebuilds the copies that it has only in the
    /// second placement.
    fn of(
        placement: &dyn Placement,
        keys: impl Iterator<Item = u64>,
        replicas: usize,
        failed: ServerId,
    ) -> Failure {
        let down: ServerSet = [failed].into_iter().collect();
        let mut failure =
            Failure { failed, lost: 0, unrebuilt: 0, taken: vec![0; placement.cluster().ids()] };
        let (mut before, mut after) = (vec![ServerId::NONE; replicas], vec![ServerId::NONE; replicas]);
        for key in keys {
            let held = placement.lookup(key, &mut before);
            if !before[..held].contains(&failed) {
                continue;
            }
            failure.lost += 1;
            let found = placement.lookup_excluding(key, &down, &mut after);
            failure.unrebuilt += held.saturating_sub(found) as u64;
            for server in after[..found].iter().filter(|server| !before[..held].contains(server)) {
                failure.taken[server.index()] += 1;
            }
        }
        failure
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use towtank_study::testing::by_hand;

    /// Two replicas of 100 keys on four servers; the last one fails.
    fn seen() -> Seen {
        let half = vec![0.5; 4];
        let balance = Balance {
            keys: 100,
            replicas: 2,
            loads: vec![60, 40, 71, 29],
            unplaced: 0,
            shares: half.clone(),
            shares_of_all: half.clone(),
            drawn: half,
        };
        let unplaced = Unplaced { before: 7, asked: 200, after: 3, asked_after: 200, after_failure: 4 };
        Seen {
            observed: Observed {
                loads: balance.loads.clone(),
                peers: vec![3, 3, 2, 2],
                rebuilt: vec![22, 7, 0],
            },
            balance,
            unplaced,
            lost: 29.0,
            expected: 50.0,
            moved: 0.15,
            least: 0.125,
        }
    }

    #[test]
    fn each_measure_has_its_own_value() {
        let seen = seen();
        let expected = [
            ("load_deviation", (f64::midpoint(0.2 * 0.2, 0.42 * 0.42)).sqrt()),
            ("load_deviation_binomial", 0.1),
            ("load_max", 1.42),
            ("load_max_binomial", seen.balance.binomial_max_over_mean().unwrap()),
            ("unplaced", 7.0),
            ("unplaced_fraction", 0.035),
            ("unplaced_after_fraction", 0.015),
            ("peers_mean", 2.5),
            ("peers_min", 2.0),
            ("failure_lost", 29.0),
            ("failure_expected", 50.0),
            ("rebuilt_max", 22.0),
            ("rebuilt_none", 1.0),
            ("unrebuilt", 4.0),
            ("rebuilt_max_over_mean", 66.0 / 29.0),
            ("moved_fraction", 0.15),
            ("minimum_fraction", 0.125),
            ("moved_over_minimum", 1.2),
        ];
        by_hand::hold(measures, &seen, &expected);
    }
}
