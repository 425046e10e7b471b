//! The servers that a placement chooses from: their ids, their weights, and sets of them.
//!
//! A server's id is its index and never changes: a server that leaves keeps its index with weight zero, so
//! the other servers keep their ids and a change moves only what it must. Racks and rows are not modelled: of
//! the algorithms, only CRUSH knows failure domains.

use std::fmt;

/// A server, identified by its index in the [`Cluster`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerId(pub u32);

impl ServerId {
    /// No server: the value of places of a batch that could not be filled.
    pub const NONE: ServerId = ServerId(u32::MAX);

    /// The index in tables with one row per server.
    #[inline]
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "server {}", self.0)
    }
}

/// The amount of data that a server should have, relative to the others: 16.16 fixed point, so that
/// comparison is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Weight(pub u32);

impl Weight {
    /// The weight of a server that gets no data, because it is gone or not yet in use.
    pub const ZERO: Weight = Weight(0);
    /// The weight 1.0, in the same representation as in CRUSH.
    pub const ONE: Weight = Weight(0x1_0000);

    /// The weight as a float; exact.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(Weight::ONE.0)
    }

    /// The number of items for this weight if a weight of 1.0 has `per_unit`, rounded; at least one unless
    /// the weight or `per_unit` is zero.
    #[must_use]
    pub fn share_of(self, per_unit: u32) -> u32 {
        if self == Weight::ZERO || per_unit == 0 {
            return 0;
        }
        let exact = u64::from(self.0) * u64::from(per_unit);
        let rounded = (exact + u64::from(Weight::ONE.0 / 2)) >> 16;
        u32::try_from(rounded.max(1)).unwrap_or(u32::MAX)
    }
}

/// The servers with their weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    weights: Vec<Weight>,
}

impl Cluster {
    /// A cluster of `servers` servers of weight 1.0.
    #[must_use]
    pub fn equal(servers: u32) -> Cluster {
        Cluster { weights: vec![Weight::ONE; servers as usize] }
    }

    /// A cluster with one server per weight; ids are in the order of the weights.
    #[must_use]
    pub fn weighted(weights: Vec<Weight>) -> Cluster {
        Cluster { weights }
    }

    /// A copy of the cluster with one more server, which has the next free id.
    #[must_use]
    pub fn with_added(&self, weight: Weight) -> Cluster {
        let mut weights = self.weights.clone();
        weights.push(weight);
        Cluster { weights }
    }

    /// A copy of the cluster with another weight for one server.
    ///
    /// # Panics
    /// If there is no such server.
    #[must_use]
    pub fn with_weight(&self, server: ServerId, weight: Weight) -> Cluster {
        let mut weights = self.weights.clone();
        weights[server.index()] = weight;
        Cluster { weights }
    }

    /// A copy of the cluster without one of its servers; the others keep their ids.
    ///
    /// # Panics
    /// If there is no such server.
    #[must_use]
    pub fn without(&self, server: ServerId) -> Cluster {
        self.with_weight(server, Weight::ZERO)
    }

    /// The number of ids, including servers of weight zero.
    #[must_use]
    pub fn ids(&self) -> usize {
        self.weights.len()
    }

    /// The weight of a server; zero for an id that was never used.
    #[must_use]
    pub fn weight(&self, server: ServerId) -> Weight {
        self.weights.get(server.index()).copied().unwrap_or(Weight::ZERO)
    }

    /// The servers with a weight above zero, by id.
    pub fn live(&self) -> impl Iterator<Item = (ServerId, Weight)> + '_ {
        let all = (0u32..).map(ServerId).zip(self.weights.iter().copied());
        all.filter(|(_, weight)| *weight > Weight::ZERO)
    }

    /// The number of servers with a weight above zero.
    #[must_use]
    pub fn live_count(&self) -> usize {
        self.live().count()
    }

    /// Whether all servers with a weight above zero have the same weight.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        let mut live = self.live().map(|(_, weight)| weight);
        let first = live.next();
        live.all(|weight| Some(weight) == first)
    }

    /// The number of replicas per object that each server should hold: `replicas` times its share of the
    /// weight, given that no server can hold two replicas of one object. The excess of a heavy server is
    /// distributed over the others by weight, so the sum is the number of replicas (or of live servers, if
    /// there are fewer).
    #[must_use]
    pub fn ideal_shares(&self, replicas: usize) -> Vec<f64> {
        self.ideal_shares_of(replicas as f64)
    }

    /// Like [`Cluster::ideal_shares`] for a mean number of replicas per object, where some have fewer than
    /// others.
    #[must_use]
    pub(super) fn ideal_shares_of(&self, replicas: f64) -> Vec<f64> {
        let mut shares = vec![0.0; self.weights.len()];
        let mut open: Vec<(ServerId, Weight)> = self.live().collect();
        let mut left = replicas.min(open.len() as f64);
        loop {
            let total: f64 = open.iter().map(|(_, weight)| weight.as_f64()).sum();
            let unit = left / total;
            let full = |(_, weight): &(ServerId, Weight)| weight.as_f64() * unit >= 1.0;
            if !open.iter().any(full) {
                open.iter().for_each(|(server, weight)| shares[server.index()] = weight.as_f64() * unit);
                law_of_shares(&shares, replicas.min(self.live_count() as f64));
                return shares;
            }
            for (server, _) in open.iter().filter(|entry| full(entry)) {
                shares[server.index()] = 1.0;
                left -= 1.0;
            }
            open.retain(|entry| !full(entry));
        }
    }
}

/// Servers have all replicas together, and none has more than one of an object.
fn law_of_shares(shares: &[f64], replicas: f64) {
    let sum: f64 = shares.iter().sum();
    assert!(
        (sum - replicas).abs() <= 1e-6 * (1.0 + replicas),
        "shares add up to all replicas: {sum} of {replicas}"
    );
    let most = shares.iter().copied().fold(0.0, f64::max);
    assert!(most <= 1.0 + 1e-9, "a server has no more than one replica of an object: {most}");
}

/// A set of servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerSet {
    words: Vec<u64>,
}

impl ServerSet {
    /// The empty set; allocates no memory.
    #[must_use]
    pub const fn none() -> ServerSet {
        ServerSet { words: Vec::new() }
    }

    /// Adds a server.
    pub fn insert(&mut self, server: ServerId) {
        let word = server.index() / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (server.0 % 64);
    }

    /// Whether the set contains the server.
    #[inline]
    #[must_use]
    pub fn contains(&self, server: ServerId) -> bool {
        self.words.get(server.index() / 64).is_some_and(|word| word >> (server.0 % 64) & 1 == 1)
    }

    /// The servers of the set, by id.
    pub fn iter(&self) -> impl Iterator<Item = ServerId> + '_ {
        let bits = |(at, word): (u32, u64)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| ServerId(at * 64 + bit))
        };
        (0u32..).zip(self.words.iter().copied()).flat_map(bits)
    }

    /// The number of servers in the set.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }
}

impl FromIterator<ServerId> for ServerSet {
    fn from_iter<I: IntoIterator<Item = ServerId>>(servers: I) -> ServerSet {
        let mut set = ServerSet::none();
        servers.into_iter().for_each(|server| set.insert(server));
        set
    }
}

/// Why an algorithm cannot be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// No server has a weight above zero.
    #[error("no server has a weight above 0: give at least one server a weight")]
    NoServers,
    /// A parameter that must be at least one is zero.
    #[error("`{parameter}` is 0: set it to at least 1")]
    Zero {
        /// The parameter's name.
        parameter: &'static str,
    },
    /// More positions than the tables can number.
    #[error(
        "{asked} positions are needed, but the limit is {limit}: use fewer virtual nodes or smaller weights"
    )]
    TooManyPositions {
        /// The number of positions requested.
        asked: u64,
        /// The maximum number of positions.
        limit: u64,
    },
    /// The size of a Maglev table is not prime, so some servers would never reach some slots.
    #[error("`slots` is {asked}, but must be a prime: use {next}")]
    NotPrime {
        /// The requested size.
        asked: u32,
        /// The next larger prime.
        next: u32,
    },
    /// Fewer slots than servers.
    #[error("`slots` is {asked} for {servers} servers: use at least one per server, better 100")]
    TooFewSlots {
        /// The requested size.
        asked: u32,
        /// The number of servers with a weight above zero.
        servers: usize,
    },
    /// Fewer servers than one negotiating group needs.
    #[error("{servers} servers are too few for one group of {members}: add servers or use smaller groups")]
    GroupTooLarge {
        /// The number of servers.
        servers: usize,
        /// The number of servers per group.
        members: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_heavy_servers_stop_at_one() {
        let thirds = Cluster::weighted(vec![Weight(3 << 16), Weight::ONE, Weight::ONE, Weight::ZERO]);
        let close =
            |found: Vec<f64>| found.iter().zip([0.6, 0.2, 0.2, 0.0]).all(|(f, w)| (f - w).abs() < 1e-12);
        assert!(close(thirds.ideal_shares(1)), "{:?}", thirds.ideal_shares(1));
        assert_eq!(thirds.ideal_shares(2), [1.0, 0.5, 0.5, 0.0]);
        assert_eq!(thirds.ideal_shares(3), [1.0, 1.0, 1.0, 0.0]);
        assert_eq!(thirds.ideal_shares(7), [1.0, 1.0, 1.0, 0.0]);
        assert_eq!(Cluster::equal(0).ideal_shares(3), Vec::<f64>::new());
    }

    #[test]
    fn virtual_nodes_follow_the_weight() {
        let check =
            |weight: u32, per_unit: u32, want: u32| assert_eq!(Weight(weight).share_of(per_unit), want);
        check(0, 64, 0);
        check(0x1_0000, 64, 64);
        check(0x8000, 64, 32);
        check(0x1_8000, 1, 2);
        check(1, 64, 1);
        check(u32::MAX, u32::MAX, u32::MAX);
    }

    #[test]
    fn sets_give_back_what_was_put_in() {
        let servers = [0, 1, 63, 64, 200].map(ServerId);
        let set: ServerSet = servers.into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), servers);
        assert_eq!(set.len(), 5);
        assert!(!set.contains(ServerId(2)) && !set.contains(ServerId(9999)));
        assert!(ServerSet::none().is_empty() && !set.is_empty());
    }

    #[test]
    #[should_panic(expected = "shares add up to all replicas: 1.5 of 2")]
    fn shares_that_do_not_add_up_break_a_law() {
        law_of_shares(&[0.75, 0.75], 2.0);
    }

    #[test]
    #[should_panic(expected = "a server has no more than one replica of an object: 1.5")]
    fn a_share_of_more_than_one_breaks_a_law() {
        law_of_shares(&[1.5, 0.5], 2.0);
    }
}
