//! Which servers share data, and which servers receive a failed server's data.

use super::super::visit::for_each_list;
use super::super::{Placement, ServerId};

/// Which servers share at least one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peers {
    servers: usize,
    /// One bit per pair of servers, row by row.
    words: Vec<u64>,
}

impl Peers {
    /// Places all keys. Uses one bit per pair of servers.
    ///
    /// # Panics
    /// If `replicas` exceeds 512.
    pub fn of(placement: &dyn Placement, keys: impl Iterator<Item = u64>, replicas: usize) -> Peers {
        let servers = placement.cluster().ids();
        let mut peers = Peers { servers, words: vec![0; servers * servers.div_ceil(64)] };
        for_each_list(placement, keys, replicas, |_, list| {
            for (at, left) in list.iter().enumerate() {
                for right in &list[at + 1..] {
                    peers.note(*left, *right);
                    peers.note(*right, *left);
                }
            }
        });
        peers
    }

    fn row(&self, server: ServerId) -> std::ops::Range<usize> {
        let words = self.servers.div_ceil(64);
        server.index() * words..(server.index() + 1) * words
    }

    fn note(&mut self, own: ServerId, other: ServerId) {
        assert!(own != other, "no server shares data with itself: {own:?} is in a list twice");
        let begin = self.row(own).start;
        self.words[begin + other.index() / 64] |= 1 << (other.0 % 64);
    }

    /// The number of other servers with which a server shares data.
    ///
    /// # Panics
    /// If there is no such server.
    #[must_use]
    pub fn count(&self, server: ServerId) -> u32 {
        self.words[self.row(server)].iter().map(|word| word.count_ones()).sum()
    }

    /// The counts of all servers, by id.
    pub fn counts(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.servers as u32).map(|server| self.count(ServerId(server)))
    }
}

/// The effect of the failure of one server on the others: each replica moves to the next server of its list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebuild {
    /// The server that failed.
    pub failed: ServerId,
    /// The number of replicas lost.
    pub lost: u64,
    /// The number of replicas for which there is no other server.
    pub homeless: u64,
    /// The number of replicas that each server receives, by id.
    pub taken: Vec<u64>,
    /// The number of servers that could receive replicas: those with a weight, without the failed one.
    pub survivors: usize,
}

impl Rebuild {
    /// Places all keys with and without `failed`.
    ///
    /// # Panics
    /// If `replicas` exceeds 511.
    pub fn of(
        placement: &dyn Placement,
        keys: impl Iterator<Item = u64>,
        replicas: usize,
        failed: ServerId,
    ) -> Rebuild {
        let cluster = placement.cluster();
        let survivors = cluster.live().filter(|(server, _)| *server != failed).count();
        let (mut lost, mut homeless, mut taken) = (0, 0, vec![0u64; cluster.ids()]);
        for_each_list(placement, keys, replicas + 1, |_, list| {
            let held = &list[..replicas.min(list.len())];
            if held.contains(&failed) {
                lost += 1;
                match list.get(replicas) {
                    Some(target) => {
                        assert!(
                            *target != failed,
                            "what a server held goes to another one: {failed:?} is in {list:?}"
                        );
                        taken[target.index()] += 1;
                    }
                    None => homeless += 1,
                }
            }
        });
        Rebuild { failed, lost, homeless, taken, survivors }
    }

    /// The number of servers that receive replicas.
    #[must_use]
    pub fn targets(&self) -> usize {
        self.taken.iter().filter(|taken| **taken > 0).count()
    }

    /// The maximum received by one server relative to the mean over all survivors; `None` if nothing was
    /// lost.
    #[must_use]
    pub fn max_over_mean(&self) -> Option<f64> {
        let most = self.taken.iter().max().filter(|most| **most > 0)?;
        Some(*most as f64 * self.survivors as f64 / (self.lost - self.homeless) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::tests::broken::Broken;

    #[test]
    #[should_panic(expected = "no server shares data with itself: ServerId(1) is in a list twice")]
    fn a_server_that_is_its_own_peer_breaks_a_law() {
        let _ = Peers::of(&Broken::listing(3, &[1, 2, 1]), 0..1, 3);
    }

    #[test]
    #[should_panic(expected = "what a server held goes to another one: ServerId(1) is in")]
    fn a_server_that_takes_its_own_data_breaks_a_law() {
        let _ = Rebuild::of(&Broken::listing(3, &[1, 2, 1]), 0..1, 2, ServerId(1));
    }
}
