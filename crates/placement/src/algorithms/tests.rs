//! All algorithms compared with simple, slow implementations, and checked against their guarantees.

pub(super) mod broken;
mod change;
mod expectations;
mod inverse;
mod oracles;
mod population;
mod properties;

use proptest::prelude::*;

use super::*;

/// Every algorithm over one cluster, with small parameters; those that cannot be set up for it are left out.
fn all(cluster: &Cluster, seed: u32) -> Vec<Box<dyn Placement>> {
    let mut found: Vec<Box<dyn Placement>> = Vec::new();
    let mut add = |placement: Result<Box<dyn Placement>, SetupError>| found.extend(placement);
    let grouped = |inner: Result<Ring, SetupError>, keys| {
        let spec = GroupedSpec { groups: 37, replicas: 3, keys };
        inner.and_then(|inner| Ok(Box::new(Grouped::new(Box::new(inner), spec)?) as Box<dyn Placement>))
    };
    add(Ring::new(cluster, 1, seed).map(boxed));
    add(Ring::new(cluster, 16, seed).map(boxed));
    add(MultiRing::new(cluster, 1, seed).map(boxed));
    add(MultiRing::new(cluster, 12, seed).map(boxed));
    add(MultiRing::new(cluster, 8, seed).map(boxed));
    add(StaticModulo::new(cluster).map(boxed));
    add(Rendezvous::new(cluster, seed).map(boxed));
    add(Jump::new(cluster, seed).map(boxed));
    add(Maglev::new(cluster, 1009, seed).map(boxed));
    add(TwoChoice::new(cluster, TwoChoiceSpec { groups: 61, replicas: 3, seed }).map(boxed));
    add(Xor::new(cluster, 1, seed).map(boxed));
    add(Xor::new(cluster, 5, seed).map(boxed));
    add(TwoD::new(cluster, 1, seed).map(boxed));
    add(TwoD::new(cluster, 5, seed).map(boxed));
    add(Negotiating::new(cluster, MEMBERS_PUBLISHED, seed).map(boxed));
    add(grouped(Ring::new(cluster, 16, seed), KeySpace::AsGiven));
    add(grouped(Ring::new(cluster, 16, seed), KeySpace::Scattered));
    found
}

fn boxed(placement: impl Placement + 'static) -> Box<dyn Placement> {
    Box::new(placement)
}

/// The first `replicas` servers of a key's list.
fn list(placement: &dyn Placement, key: u64, replicas: usize) -> Vec<ServerId> {
    let mut servers = vec![ServerId::NONE; replicas];
    let found = placement.lookup(key, &mut servers);
    servers.truncate(found);
    servers
}

fn list_excluding(placement: &dyn Placement, key: u64, down: &ServerSet, replicas: usize) -> Vec<ServerId> {
    let mut servers = vec![ServerId::NONE; replicas];
    let found = placement.lookup_excluding(key, down, &mut servers);
    servers.truncate(found);
    servers
}

/// Clusters of up to thirty servers, of equal or mixed weights, some of weight zero.
fn clusters() -> impl Strategy<Value = Cluster> {
    let weight = prop_oneof![
        1 => Just(Weight::ZERO),
        6 => Just(Weight::ONE),
        1 => (0x4000u32..0x4_0000).prop_map(Weight),
    ];
    prop_oneof![
        (1u32..30).prop_map(Cluster::equal),
        proptest::collection::vec(weight, 1..30).prop_map(Cluster::weighted),
    ]
}

/// Scattered keys, which placements expect.
fn spread_keys(count: u64, salt: u64) -> impl Iterator<Item = u64> {
    (0..count).map(move |id| hashing::scatter(id ^ salt << 40))
}

fn arranged(replicas: usize, seed: u32) -> Arrangement {
    Arrangement { vnodes: 64, groups: 512, slots: Maglev::SLOTS_PUBLISHED, replicas, seed }
}

/// An algorithm by its name in scenarios.
fn by_name(algorithm: Algorithm, cluster: &Cluster, seed: u32) -> Box<dyn Placement> {
    algorithm.set_up(cluster, &arranged(3, seed)).unwrap()
}
