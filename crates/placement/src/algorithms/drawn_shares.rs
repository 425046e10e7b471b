//! How many copies of a key each server holds if distinct servers are drawn by weight: the exact expectation.
//!
//! A single draw hits a server with the probability that its weight gives. Further copies go to other
//! servers, so the next draw is among those that are left (successive sampling), and a heavy server gets less
//! than its weight asks for: with 3 copies and 30 % of the weight it holds not 90 % of the keys, but about 70
//! %. The expectation is a sum over how many servers of each weight were drawn. Servers of one weight are
//! alike, so this takes few states if there are few weights.
//!
//! CRUSH repeats a draw that hits a server for the second time, but not forever: with a limit on the number
//! of draws the expectation includes the copies that are given up.

use super::{Cluster, ServerId};

/// The maximum number of states: with three weights and 64 copies there are 274,625.
const STATES_MAX: usize = 1 << 20;

/// Servers of one weight.
struct Class {
    weight: u64,
    servers: Vec<ServerId>,
    /// How many states the number of its drawn servers has, and how far apart these are in the table.
    states: usize,
    stride: usize,
}

/// The number of copies of a key that each server is expected to hold, by id. `draws` limits the number of
/// draws for one key, counting those that hit a server again.
///
/// `None` if there are too many different weights to compute it.
pub(super) fn drawn_shares(cluster: &Cluster, copies: usize, draws: Option<usize>) -> Option<Vec<f64>> {
    let weights = cluster.live().map(|(server, weight)| (server, u64::from(weight.0)));
    shares_of(weights, (cluster.ids(), copies), draws)
}

/// The same for servers whose weights are whole numbers of any kind, such as slots of a table.
pub(super) fn shares_of(
    weights: impl Iterator<Item = (ServerId, u64)>,
    (ids, copies): (usize, usize),
    draws: Option<usize>,
) -> Option<Vec<f64>> {
    let mut shares = vec![0.0; ids];
    let (classes, states) = classes_of(weights, copies)?;
    let servers: usize = classes.iter().map(|class| class.servers.len()).sum();
    let urn = Urn { copies: copies.min(servers), classes };
    let mut chances = vec![0.0; states];
    chances[0] = 1.0;
    let expected = match draws {
        None => urn.drawn_without_limit(&mut chances),
        Some(draws) => urn.drawn_within(&mut chances, draws),
    };
    law_of_draws(&expected, urn.copies);
    for (class, expected) in urn.classes.iter().zip(expected) {
        let share = expected / class.servers.len() as f64;
        class.servers.iter().for_each(|server| shares[server.index()] = share);
    }
    Some(shares)
}

/// No more servers are drawn than an object has copies.
fn law_of_draws(expected: &[f64], copies: usize) {
    let sum: f64 = expected.iter().sum();
    let most = copies as f64 * (1.0 + 1e-6);
    assert!(sum <= most, "no more servers are drawn than an object has copies: {sum} of {copies}");
}

/// The classes with their places in the table of states, and the size of that table.
fn classes_of(weights: impl Iterator<Item = (ServerId, u64)>, copies: usize) -> Option<(Vec<Class>, usize)> {
    let mut sorted: Vec<(u64, ServerId)> =
        weights.filter(|(_, weight)| *weight > 0).map(|(server, weight)| (weight, server)).collect();
    sorted.sort_unstable();
    let mut classes: Vec<Class> = Vec::new();
    let mut table = 1usize;
    for same in sorted.chunk_by(|left, right| left.0 == right.0) {
        let servers: Vec<ServerId> = same.iter().map(|(_, server)| *server).collect();
        let states = servers.len().min(copies) + 1;
        classes.push(Class { weight: same[0].0, servers, states, stride: table });
        table = table.checked_mul(states).filter(|table| *table <= STATES_MAX)?;
    }
    Some((classes, table))
}

/// The servers that draws choose from.
struct Urn {
    copies: usize,
    classes: Vec<Class>,
}

impl Urn {
    /// How many servers of each class are drawn in a state, and how many of all.
    fn drawn_in(&self, state: usize) -> (impl Iterator<Item = (&Class, usize)>, usize) {
        let counted = move |class: &Class| state / class.stride % class.states;
        let all = self.classes.iter().map(counted).sum();
        (self.classes.iter().map(move |class| (class, counted(class))), all)
    }

    /// The weight of the servers that are drawn in a state.
    fn weight_in(&self, state: usize) -> u64 {
        self.drawn_in(state).0.map(|(class, drawn)| class.weight * drawn as u64).sum()
    }

    fn weight(&self) -> u64 {
        self.classes.iter().map(|class| class.weight * class.servers.len() as u64).sum()
    }

    /// The expected number of servers of each class where every copy finds one. A draw leads to a state with
    /// a higher number, so the chance of a state is final when its turn comes.
    fn drawn_without_limit(&self, chances: &mut [f64]) -> Vec<f64> {
        let whole = self.weight();
        let mut expected = vec![0.0; self.classes.len()];
        for state in 0..chances.len() {
            let (counts, all) = self.drawn_in(state);
            let chance = chances[state];
            if all >= self.copies || chance == 0.0 {
                continue;
            }
            let left = (whole - self.weight_in(state)) as f64;
            for ((class, drawn), expected) in counts.zip(&mut expected) {
                let open = class.weight * (class.servers.len() - drawn) as u64;
                if open > 0 {
                    let hit = chance * open as f64 / left;
                    *expected += hit;
                    chances[state + class.stride] += hit;
                }
            }
        }
        expected
    }

    /// The same where at most `draws` draws are made for one key. Each draw takes chance only to states with
    /// a higher number, so the states are visited from the last to the first.
    fn drawn_within(&self, chances: &mut [f64], draws: usize) -> Vec<f64> {
        let whole = self.weight() as f64;
        for _ in 0..draws {
            for state in (0..chances.len()).rev() {
                let (counts, all) = self.drawn_in(state);
                let chance = chances[state];
                if all >= self.copies || chance == 0.0 {
                    continue;
                }
                for (class, drawn) in counts {
                    let open = class.weight * (class.servers.len() - drawn) as u64;
                    if open > 0 {
                        let hit = chance * open as f64 / whole;
                        chances[state + class.stride] += hit;
                    }
                }
                chances[state] = chance * self.weight_in(state) as f64 / whole;
            }
        }
        let mut expected = vec![0.0; self.classes.len()];
        for (state, chance) in chances.iter().enumerate() {
            for ((_, drawn), expected) in self.drawn_in(state).0.zip(&mut expected) {
                *expected += chance * drawn as f64;
            }
        }
        expected
    }
}

#[cfg(test)]
mod tests {
    use super::super::Weight;
    use super::*;
    use proptest::prelude::*;

    fn cluster(weights: &[u32]) -> Cluster {
        Cluster::weighted(weights.iter().map(|weight| Weight(*weight)).collect())
    }

    /// Every order of draws, with its probability.
    fn by_enumeration(weights: &[u32], copies: usize) -> Vec<f64> {
        fn go(weights: &mut [u32], left: usize, chance: f64, held: &mut [f64]) {
            let whole: f64 = weights.iter().copied().map(f64::from).sum();
            if left == 0 || whole == 0.0 {
                return;
            }
            for at in 0..weights.len() {
                let weight = std::mem::take(&mut weights[at]);
                if weight > 0 {
                    let hit = chance * f64::from(weight) / whole;
                    held[at] += hit;
                    go(weights, left - 1, hit, held);
                    weights[at] = weight;
                }
            }
        }
        let mut held = vec![0.0; weights.len()];
        go(&mut weights.to_vec(), copies, 1.0, &mut held);
        held
    }

    /// The same by the race of exponential clocks: a server is among the first n if fewer than n others ring
    /// before it. The number of others that rang by a time is a sum of independent coins, and the time is
    /// integrated over.
    fn by_the_race(weights: &[u32], copies: usize) -> Vec<f64> {
        let whole: f64 = weights.iter().copied().map(f64::from).sum();
        let one = |own: usize| {
            let rate = |at: usize| f64::from(weights[at]) / whole;
            if weights[own] == 0 {
                return 0.0;
            }
            const STEPS: u32 = 20_000;
            // u = exp(-rate t) is uniform for the own clock.
            let at = |step: u32| {
                let u = (f64::from(step) + 0.5) / f64::from(STEPS);
                let mut fewer = vec![0.0; copies];
                fewer[0] = 1.0;
                for other in (0..weights.len()).filter(|other| *other != own && weights[*other] > 0) {
                    let rang = 1.0 - u.powf(rate(other) / rate(own));
                    for count in (0..copies).rev() {
                        let below = if count > 0 { fewer[count - 1] } else { 0.0 };
                        fewer[count] = fewer[count] * (1.0 - rang) + below * rang;
                    }
                }
                fewer.iter().sum::<f64>()
            };
            (0..STEPS).map(at).sum::<f64>() / f64::from(STEPS)
        };
        (0..weights.len()).map(one).collect()
    }

    fn near(found: &[f64], want: &[f64], tolerance: f64) -> bool {
        found.len() == want.len() && found.iter().zip(want).all(|(f, w)| (f - w).abs() < tolerance)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn expectations_are_those_of_every_order(
            weights in proptest::collection::vec(prop_oneof![Just(0u32), Just(1), Just(2), Just(7), 1u32..200], 1..7),
            copies in 1usize..8,
        ) {
            let found = drawn_shares(&cluster(&weights), copies, None).unwrap();
            let want = by_enumeration(&weights, copies);
            prop_assert!(near(&found, &want, 1e-12), "{weights:?} {copies}: {found:?} {want:?}");
            let many = drawn_shares(&cluster(&weights), copies, Some(30_000)).unwrap();
            prop_assert!(near(&many, &want, 1e-9), "{weights:?} {copies}: {many:?} {want:?}");
        }
    }

    #[test]
    fn expectations_are_those_of_a_race() {
        for (weights, copies) in [
            (&[1u32, 1, 1, 1, 4][..], 3usize),
            (&[27, 7, 7, 7, 7, 7, 7, 7, 7, 7], 3),
            (&[1, 2, 3, 4, 5, 6, 7, 8], 4),
            (&[5, 5, 0, 1, 1, 1], 5),
        ] {
            let found = drawn_shares(&cluster(weights), copies, None).unwrap();
            let want = by_the_race(weights, copies);
            assert!(near(&found, &want, 1e-4), "{weights:?}: {found:?} {want:?}");
        }
    }

    /// The planted violation of the checks above: shares in proportion to the weights are not it.
    #[test]
    fn a_heavy_server_gets_less_than_its_weight_asks_for() {
        // 30 % of the weight, three copies.
        let mut weights = [7u32; 11];
        weights[0] = 30;
        let heavy = drawn_shares(&cluster(&weights), 3, None).unwrap()[0];
        let by_weight = cluster(&weights).ideal_shares(3)[0];
        assert!((by_weight - 0.9).abs() < 1e-12, "{by_weight}");
        assert!((heavy - by_enumeration(&weights, 3)[0]).abs() < 1e-12 && heavy < 0.75, "{heavy}");
    }

    /// Two servers of one weight, and two copies: the second copy is given up if all further draws hit the
    /// first server again.
    #[test]
    fn copies_are_given_up_after_the_last_draw() {
        let placed = |draws| -> f64 { drawn_shares(&cluster(&[1, 1]), 2, Some(draws)).unwrap().iter().sum() };
        for (draws, want) in [(0, 0.0), (1, 1.0), (2, 1.5), (3, 1.75), (5, 1.9375)] {
            assert!((placed(draws) - want).abs() < 1e-12, "{draws} draws: {}", placed(draws));
        }
    }

    #[test]
    fn too_many_weights_are_not_computed() {
        let many: Vec<u32> = (1..200).collect();
        assert_eq!(drawn_shares(&cluster(&many), 3, None), None);
        assert_eq!(drawn_shares(&cluster(&[]), 3, None), Some(Vec::new()));
    }

    #[test]
    #[should_panic(expected = "no more servers are drawn than an object has copies: 3.5 of 3")]
    fn more_draws_than_copies_break_a_law() {
        law_of_draws(&[2.0, 1.5], 3);
    }
}
