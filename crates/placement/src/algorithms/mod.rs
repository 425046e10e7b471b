//! The placement algorithms, behind one trait. [`Algorithm`] names them; CRUSH on one flat bucket is one of
//! them.
//!
//! A [`Placement`] gives each key a list of distinct servers; the first `r` of the list hold the replicas. A
//! failed server's data move to the next server of the list, as the `decluster-check` tool of libch-placement
//! defines it: [`Placement::lookup_excluding`] returns the list without the servers that are down.
//!
//! | type | rule | source |
//! | --- | --- | --- |
//! | [`Ring`] | sorted virtual nodes, walk to the next distinct servers | Chord; `ring` of libch-placement |
//! | [`MultiRing`] | one ring per virtual node, by the key's remainder | `multiring` of libch-placement |
//! | [`StaticModulo`] | the hash's remainder and the next indices | `static_modulo` of libch-placement |
//! | [`Rendezvous`] | the least `-ln(u)/weight` | Thaler and Ravishankar 1998; weights: exponential races |
//! | [`Jump`] | jump consistent hash, redrawn for each replica | Lamping and Veach 2014 |
//! | [`Maglev`] | a table that servers fill in turn | Eisenbud and others, NSDI 2016 |
//! | [`TwoChoice`] | the less loaded of two random servers | Azar and others 1994; Mitzenmacher 1996 |
//! | [`Xor`] | least bitwise distance | Kademlia; `xor` of libch-placement |
//! | [`TwoD`] | least distance in the plane | `two_d` of libch-placement |
//! | [`Negotiating`] | a group by the key's remainder, any of its members | Replicast |
//! | [`Grouped`] | any of the above over groups of keys instead of keys | placement groups |
//!
//! Keys are used as given, as in libch-placement, except where the table above says hash: counters must be
//! spread with [`hashing::scatter`] first. No lookup allocates memory, and no list contains a server twice
//! (which is possible with `xor` and `two_d` of libch-placement).

mod algorithm;
pub mod analysis;
mod circles;
mod cluster;
mod contest;
mod drawn_shares;
mod draws;
mod flat_crush;
mod groups;
pub mod guarantees;
pub mod hashing;
mod jump;
mod lines;
mod maglev;
mod modulo;
mod multiring;
mod negotiating;
mod rendezvous;
mod ring;
mod territory;
mod two_choice;
mod two_d;
mod visit;
mod xor;

#[cfg(test)]
mod tests;

pub use algorithm::{Algorithm, Arrangement, GROUPS_USUAL, POSITIONS_MAX};
pub use cluster::{Cluster, ServerId, ServerSet, SetupError, Weight};
pub use groups::{Grouped, GroupedSpec};
pub use guarantees::Guarantees;
pub use jump::Jump;
pub use maglev::Maglev;
pub use modulo::StaticModulo;
pub use multiring::MultiRing;
pub use negotiating::{MEMBERS_PUBLISHED, Negotiating};
pub use rendezvous::Rendezvous;
pub use ring::Ring;
pub use territory::{KeyRun, KeySpace, Territory, Touching};
pub use two_choice::{TwoChoice, TwoChoiceSpec};
pub use two_d::TwoD;
pub use visit::IdKeys;
pub use xor::Xor;

static NOBODY: ServerSet = ServerSet::none();

/// A rule that gives each key a list of distinct servers.
pub trait Placement: Send + Sync + std::fmt::Debug {
    /// The algorithm's name in scenarios.
    fn name(&self) -> &'static str;

    /// The servers for which it was set up.
    fn cluster(&self) -> &Cluster;

    /// Its guarantees.
    fn guarantees(&self) -> Guarantees;

    /// Fills `servers` with the first servers of the key's list and returns their number: all that were
    /// requested, unless fewer are available. The contents of places beyond that number are unspecified.
    fn lookup(&self, key: u64, servers: &mut [ServerId]) -> usize {
        self.lookup_excluding(key, &NOBODY, servers)
    }

    /// Like [`Placement::lookup`], without the servers in `down`.
    fn lookup_excluding(&self, key: u64, down: &ServerSet, servers: &mut [ServerId]) -> usize;

    /// Looks up many keys at once: `replicas` servers per key, stored in `servers` one key after the other.
    /// Places that cannot be filled hold [`ServerId::NONE`].
    ///
    /// # Panics
    /// If `servers` does not have `replicas` places for each key.
    fn lookup_batch(&self, keys: &[u64], replicas: usize, servers: &mut [ServerId]) {
        assert_eq!(servers.len(), keys.len() * replicas, "a batch needs {replicas} places for each key");
        if replicas > 0 {
            for (key, places) in keys.iter().zip(servers.chunks_exact_mut(replicas)) {
                let found = self.lookup(*key, places);
                places[found..].fill(ServerId::NONE);
            }
        }
    }

    /// The number of copies of a key that each server holds in the mean over all keys, by id, if it is known
    /// exactly: for several copies it differs from the shares of the weights, because copies are on
    /// different servers.
    fn expected_shares(&self, replicas: usize) -> Option<Vec<f64>> {
        let _ = replicas;
        None
    }

    /// The space in which keys are divided, to which [`KeyRun`]s refer.
    fn key_space(&self) -> KeySpace;

    /// Lists the runs of keys with a replica on a server, if they can be computed without trying keys.
    fn territory(&self, touching: Touching, run: &mut dyn FnMut(KeyRun)) -> Territory {
        let _ = (touching, run);
        Territory::Unknown
    }
}
