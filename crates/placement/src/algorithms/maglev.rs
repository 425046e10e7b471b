//! Maglev's table (Eisenbud and others, NSDI 2016): servers fill slots in turn, each in its own order.
//!
//! The paper has one server per key and equal weights. Here a server takes turns in proportion to its weight,
//! and each replica is a separate draw of a slot, repeated if it hits a server that is already in the list.
//! Slots are drawn independently rather than taken from neighbours, so that a server shares data with all
//! others.
//!
//! The number of slots is chosen once and must stay when servers come and go: a slot of a table of another
//! size means other keys, so nearly everything would move. The more slots a server has, the fewer of them
//! change hands without need.

use super::drawn_shares::shares_of;
use super::draws::{attempts_max, draw_word, fill_distinct, place_of};
use super::guarantees::{
    Balance, Cost, Declustering, FailureDomains, Granularity, Guarantees, Movement, Weights,
};
use super::hashing::{scatter, virtual_node_id};
use super::{Cluster, KeySpace, Placement, ServerId, ServerSet, SetupError};

/// Measured here at 50 servers with 100 slots each: 1.9 times the minimum for joining and leaving, 2.6 times
/// for halving a weight. With 10 slots each it may be more than ten times.
const MOVED: Movement = Movement::NearMinimal { times_max: 3.0 };

/// The slots per server that the paper recommends at least, on which the bound of the movement rests.
const SLOTS_EACH: usize = 100;

/// A Maglev table.
///
/// Shares follow the weights within one slot per turn; a server shares data with all others; at the 100 slots
/// per server that the paper recommends, any change moves two to three times the minimum, provided that the
/// number of slots stays; no failure domains.
#[derive(Clone, Debug)]
pub struct Maglev {
    cluster: Cluster,
    table: Vec<ServerId>,
    live: Vec<ServerId>,
    salt: u64,
    attempts: u32,
}

struct Turn {
    server: ServerId,
    /// Turns earned per round, at most one.
    rate: f64,
    owed: f64,
    slot: u64,
    skip: u64,
}

impl Maglev {
    /// The size of the paper's small table, with which scenarios begin.
    pub const SLOTS_PUBLISHED: u32 = 65_537;

    /// A table of `slots` slots, which must be a prime, so that each server's order reaches every slot.
    ///
    /// # Errors
    /// If no server has a weight, or if `slots` is not prime or less than the number of servers.
    pub fn new(cluster: &Cluster, slots: u32, seed: u32) -> Result<Maglev, SetupError> {
        Self::check(cluster, slots)?;
        let live: Vec<ServerId> = cluster.live().map(|(server, _)| server).collect();
        let heaviest = cluster.live().map(|(_, weight)| weight).max().ok_or(SetupError::NoServers)?;
        let turns = cluster.live().map(|(server, weight)| Turn {
            server,
            rate: weight.as_f64() / heaviest.as_f64(),
            owed: 0.0,
            slot: virtual_node_id(server.0, 0, seed) % u64::from(slots),
            skip: virtual_node_id(server.0, 1, seed) % (u64::from(slots) - 1).max(1) + 1,
        });
        let table = fill_table(turns.collect(), slots);
        let mut held = vec![0usize; cluster.ids()];
        table.iter().for_each(|server| held[server.index()] += 1);
        let fewest = held.iter().copied().filter(|slots| *slots > 0).min().unwrap_or(1);
        let attempts = attempts_max(live.len(), table.len().div_ceil(fewest * live.len()));
        Ok(Maglev { cluster: cluster.clone(), table, live, salt: scatter(u64::from(seed)), attempts })
    }

    /// Whether a table of so many slots can be filled, without filling it.
    ///
    /// # Errors
    /// As for [`Maglev::new`].
    pub fn check(cluster: &Cluster, slots: u32) -> Result<(), SetupError> {
        let servers = cluster.live_count();
        if servers == 0 {
            return Err(SetupError::NoServers);
        }
        if !is_prime(slots) {
            return Err(SetupError::NotPrime { asked: slots, next: prime_from(slots) });
        }
        if (slots as usize) < servers {
            return Err(SetupError::TooFewSlots { asked: slots, servers });
        }
        Ok(())
    }

    /// The smallest prime that gives at least a hundred slots to each of `servers`.
    #[must_use]
    pub fn slots_for(servers: u32) -> u32 {
        prime_from(servers.saturating_mul(100).clamp(2, 4_000_000_000))
    }

    /// The bound is known only for as many slots as the paper recommends.
    fn moved(&self) -> Movement {
        if self.table.len() >= SLOTS_EACH * self.live.len() { MOVED } else { Movement::Unbounded }
    }

    fn draw(&self, key: u64, attempt: u32) -> ServerId {
        self.table[place_of(draw_word(key, self.salt, attempt), self.table.len() as u64) as usize]
    }
}

fn fill_table(mut turns: Vec<Turn>, slots: u32) -> Vec<ServerId> {
    let mut table = vec![ServerId::NONE; slots as usize];
    let mut left = slots;
    loop {
        for turn in &mut turns {
            turn.owed += turn.rate;
            if turn.owed < 1.0 {
                continue;
            }
            turn.owed -= 1.0;
            while table[turn.slot as usize] != ServerId::NONE {
                turn.slot = (turn.slot + turn.skip) % u64::from(slots);
            }
            table[turn.slot as usize] = turn.server;
            left -= 1;
            if left == 0 {
                return table;
            }
        }
    }
}

fn is_prime(number: u32) -> bool {
    let divisors = (2u32..).take_while(|divisor| u64::from(*divisor).pow(2) <= u64::from(number));
    number >= 2 && divisors.into_iter().all(|divisor| !number.is_multiple_of(divisor))
}

/// The smallest prime from `number` on; 4,294,967,291 is the largest of 32 bits.
fn prime_from(number: u32) -> u32 {
    (number.min(4_294_967_291)..).find(|number| is_prime(*number)).unwrap_or(4_294_967_291)
}

impl Placement for Maglev {
    fn name(&self) -> &'static str {
        "maglev"
    }

    fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees {
            balance: Balance::Slots { slots: self.table.len() as u64 },
            declustering: Declustering::Everyone,
            weights: Weights::Rounded { steps: (self.table.len() / self.live.len()) as u32 },
            on_add: self.moved(),
            on_remove: self.moved(),
            on_reweight: self.moved(),
            failure_domains: FailureDomains::ServersOnly,
            cost: Cost::Constant,
            granularity: Granularity::AnyKey,
        }
    }

    fn lookup_excluding(&self, key: u64, down: &ServerSet, servers: &mut [ServerId]) -> usize {
        let draw = |attempt| Some(self.draw(key, attempt));
        fill_distinct(servers, down, (self.attempts, draw), &self.live)
    }

    /// Slots are drawn until enough servers are found.
    fn expected_shares(&self, replicas: usize) -> Option<Vec<f64>> {
        let mut slots = vec![0u64; self.cluster.ids()];
        self.table.iter().for_each(|server| slots[server.index()] += 1);
        if self.live.iter().any(|server| slots[server.index()] == 0) {
            // Servers without slots are filled in where copies are left; that is no draw.
            return None;
        }
        let slots = (0u32..).map(ServerId).zip(slots);
        shares_of(slots, (self.cluster.ids(), replicas), None)
    }

    fn key_space(&self) -> KeySpace {
        KeySpace::AsGiven
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_must_be_prime_and_enough() {
        let three = Cluster::equal(3);
        let error = |slots| Maglev::new(&three, slots, 0).map(|_| ()).unwrap_err().to_string();
        assert_eq!(error(100), "`slots` is 100, but must be a prime: use 101");
        assert_eq!(error(0), "`slots` is 0, but must be a prime: use 2");
        assert_eq!(error(2), "`slots` is 2 for 3 servers: use at least one per server, better 100");
        assert_eq!(Maglev::slots_for(655), 65_519);
        assert!(is_prime(Maglev::SLOTS_PUBLISHED));
    }

    #[test]
    fn slots_follow_the_weights() {
        let weights = [1, 2, 4, 0, 1].map(|weight| super::super::Weight(weight << 16));
        let table = Maglev::new(&Cluster::weighted(weights.to_vec()), 10_007, 3).unwrap();
        let slots: Vec<usize> =
            (0..5).map(|id| table.table.iter().filter(|owner| owner.0 == id).count()).collect();
        for (slots, weight) in slots.iter().zip([1.0, 2.0, 4.0, 0.0, 1.0]) {
            assert!((*slots as f64 - weight * 10_007.0 / 8.0).abs() <= 2.0, "{slots} for {weight}");
        }
    }
}
