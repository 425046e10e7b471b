//! Each algorithm in a slow and simple form.

use super::*;
use crate::algorithms::hashing::{mix, scatter, virtual_node_id};

fn check(placement: &dyn Placement, key: u64, want: Vec<ServerId>) {
    let found = list(placement, key, want.len());
    assert_eq!(found, want, "{} at {key:#x}", placement.name());
}

/// Every virtual node of every server.
fn nodes(cluster: &Cluster, per_unit: u32, seed: u32) -> Vec<(u64, u32, ServerId)> {
    let mut nodes = Vec::new();
    for (server, weight) in cluster.live() {
        for number in 0..weight.share_of(per_unit) {
            nodes.push((virtual_node_id(server.0, number, seed), number, server));
        }
    }
    nodes
}

fn distinct(servers: impl Iterator<Item = ServerId>) -> Vec<ServerId> {
    let mut found: Vec<ServerId> = Vec::new();
    for server in servers {
        if !found.contains(&server) {
            found.push(server);
        }
    }
    found
}

/// Starts at the last node at or below the key, then goes upwards and around.
fn walk_ring(mut nodes: Vec<(u64, u32, ServerId)>, key: u64) -> Vec<ServerId> {
    nodes.sort_unstable_by_key(|(at, _, _)| *at);
    let start = nodes.iter().rposition(|(at, _, _)| *at <= key).unwrap_or(nodes.len().saturating_sub(1));
    let around = nodes[start..].iter().chain(&nodes[..start]);
    distinct(around.map(|(_, _, server)| *server))
}

fn by_distance<D: Ord>(
    cluster: &Cluster,
    per_unit: u32,
    seed: u32,
    distance: impl Fn(u64) -> D,
) -> Vec<ServerId> {
    let mut nodes = nodes(cluster, per_unit, seed);
    nodes.sort_by_key(|(at, _, server)| (distance(*at), *server));
    distinct(nodes.into_iter().map(|(_, _, server)| server))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn rings_walk(cluster in clusters(), per_unit in 1u32..40, seed: u32, key: u64) {
        if let Ok(ring) = Ring::new(&cluster, per_unit, seed) {
            let all_nodes = nodes(&cluster, per_unit, seed);
            // Keys at nodes, next to them, and elsewhere.
            let beside = all_nodes.iter().take(3).flat_map(|(at, _, _)| [at.wrapping_sub(1), *at, at.wrapping_add(1)]);
            for key in beside.chain([key, 0, u64::MAX]) {
                check(&ring, key, walk_ring(all_nodes.clone(), key));
            }
        }
    }

    #[test]
    fn multirings_walk_the_ring_of_the_remainder(servers in 1u32..30, rings in 1u32..20, seed: u32, key: u64) {
        let cluster = Cluster::equal(servers);
        let multiring = MultiRing::new(&cluster, rings, seed).unwrap();
        let mut own = nodes(&cluster, rings, seed);
        own.retain(|(_, number, _)| u64::from(*number) == key % u64::from(rings));
        check(&multiring, key, walk_ring(own, key));
    }

    #[test]
    fn modulo_counts_up(cluster in clusters(), key: u64) {
        if let Ok(modulo) = StaticModulo::new(&cluster) {
            let live: Vec<ServerId> = cluster.live().map(|(server, _)| server).collect();
            let first = (scatter(key) % live.len() as u64) as usize;
            check(&modulo, key, (0..live.len()).map(|step| live[(first + step) % live.len()]).collect());
        }
    }

    #[test]
    fn rendezvous_sorts_all_draws(cluster in clusters(), seed: u32, key: u64) {
        if let Ok(rendezvous) = Rendezvous::new(&cluster, seed) {
            let salt = scatter(u64::from(seed));
            let mut draws: Vec<(f64, ServerId)> = cluster.live().map(|(server, weight)| {
                let word = mix(mix(key ^ salt, hashing::SPREAD[0]) ^ scatter(salt ^ u64::from(server.0)), hashing::SPREAD[1]);
                let uniform = (word as f64 + 0.5) / 2f64.powi(64);
                (-libm::log1p(-uniform) / weight.as_f64(), server)
            }).collect();
            draws.sort_by(|left, right| left.partial_cmp(right).unwrap());
            check(&rendezvous, key, draws.into_iter().map(|(_, server)| server).collect());
        }
    }

    #[test]
    fn xor_sorts_by_distance(cluster in clusters(), per_unit in 1u32..20, seed: u32, key: u64) {
        if let Ok(xor) = Xor::new(&cluster, per_unit, seed) {
            check(&xor, key, by_distance(&cluster, per_unit, seed, |at| at ^ key));
        }
    }

    #[test]
    fn two_d_sorts_by_distance(cluster in clusters(), per_unit in 1u32..20, seed: u32, key: u64) {
        if let Ok(two_d) = TwoD::new(&cluster, per_unit, seed) {
            let halves = |word: u64| [i128::from(word & 0xffff_ffff), i128::from(word >> 32)];
            check(&two_d, key, by_distance(&cluster, per_unit, seed, |at| {
                let ([x, y], [u, v]) = (halves(at), halves(key));
                (x - u) * (x - u) + (y - v) * (y - v)
            }));
        }
    }

    #[test]
    fn negotiating_ranks_the_members_of_the_remainder(cluster in clusters(), members in 1u32..10, seed: u32, key: u64) {
        if let (Ok(negotiating), Ok(everyone)) = (Negotiating::new(&cluster, members, seed), Rendezvous::new(&cluster, seed)) {
            let groups = cluster.ids() as u64 / u64::from(members);
            let mut want = list(&everyone, key, cluster.ids());
            want.retain(|server| u64::from(server.0 / members) == key % groups);
            check(&negotiating, key, want);
        }
    }

    #[test]
    fn groups_are_keys_of_the_placement_behind_them(cluster in clusters(), groups in 1u32..50, seed: u32, key: u64) {
        for (inner, again) in all(&cluster, seed).into_iter().zip(all(&cluster, seed)) {
            let spec = GroupedSpec { groups, replicas: 2, keys: KeySpace::Scattered };
            let grouped = Grouped::new(inner, spec).unwrap();
            let group = scatter(key) % u64::from(groups);
            prop_assert_eq!(grouped.group_of(key), group);
            for replicas in [1, 2, 3] {
                prop_assert_eq!(list(&grouped, key, replicas), list(&*again, scatter(group), replicas));
            }
        }
    }
}

/// Ids beyond 16 bits use the wide table, which has no lines in front of it.
#[test]
fn rings_of_many_ids_walk() {
    let weights = (0..70_000u32).map(|id| Weight(if id % 1000 == 7 { 0x1_0000 } else { 0 }));
    let cluster = Cluster::weighted(weights.collect());
    let (ring, multiring) = (Ring::new(&cluster, 8, 1).unwrap(), MultiRing::new(&cluster, 8, 1).unwrap());
    let all_nodes = nodes(&cluster, 8, 1);
    for key in spread_keys(300, 5).chain(all_nodes.iter().map(|(at, _, _)| *at).take(50)) {
        let want = walk_ring(all_nodes.clone(), key);
        for replicas in [1, 3, 4, 9] {
            check(&ring, key, want[..replicas].to_vec());
        }
        let mut own = all_nodes.clone();
        own.retain(|(_, number, _)| u64::from(*number) == key % 8);
        check(&multiring, key, walk_ring(own, key)[..5].to_vec());
        let mut batch = [ServerId::NONE; 3];
        ring.lookup_batch(&[key], 3, &mut batch);
        assert_eq!(batch, want[..3]);
    }
}

/// The paper's own way to fill a table: whole permutations, one slot per turn.
fn maglev_table(servers: u32, slots: u64, seed: u32) -> Vec<u32> {
    let permutation = |server: u32| -> Vec<u64> {
        let offset = virtual_node_id(server, 0, seed) % slots;
        let skip = virtual_node_id(server, 1, seed) % (slots - 1) + 1;
        (0..slots).map(|step| (offset + step * skip) % slots).collect()
    };
    let permutations: Vec<Vec<u64>> = (0..servers).map(permutation).collect();
    let mut next = vec![0usize; servers as usize];
    let mut table: Vec<Option<u32>> = vec![None; slots as usize];
    loop {
        for server in 0..servers as usize {
            let mut slot = permutations[server][next[server]] as usize;
            while table[slot].is_some() {
                next[server] += 1;
                slot = permutations[server][next[server]] as usize;
            }
            table[slot] = Some(server as u32);
            next[server] += 1;
            if table.iter().all(Option::is_some) {
                return table.into_iter().flatten().collect();
            }
        }
    }
}

#[test]
fn maglev_draws_from_the_table_of_the_paper() {
    for (servers, slots, seed) in [(1u32, 2u64, 0u32), (3, 7, 1), (5, 101, 2), (20, 251, 3)] {
        let table = maglev_table(servers, slots, seed);
        let placement = Maglev::new(&Cluster::equal(servers), slots as u32, seed).unwrap();
        for key in spread_keys(200, 1) {
            let draw = |attempt: u32| {
                let word = mix(key ^ scatter(u64::from(seed)), hashing::SPREAD[0]);
                let word =
                    mix(word ^ u64::from(attempt).wrapping_mul(hashing::SPREAD[1]), hashing::SPREAD[1]);
                table[((u128::from(word) * u128::from(slots)) >> 64) as usize]
            };
            let rounds = (0..2000).map(|attempt| ServerId(draw(attempt)));
            let want = distinct(rounds);
            check(&placement, key, want[..want.len().min(3)].to_vec());
        }
    }
}

/// Growing by one bucket must only ever move a word to the newest bucket, which makes the hash consistent.
/// Each bucket must get its share.
#[test]
fn jumps_go_to_the_newest_bucket() {
    let mut counts = [0u32; 20];
    for word in spread_keys(20_000, 2) {
        let mut at = 0;
        for buckets in 1..=20 {
            let next = super::super::jump::bucket(word, buckets);
            assert!(next == at || next == buckets - 1, "{word:#x}: {at} to {next} of {buckets}");
            at = next;
        }
        counts[at as usize] += 1;
    }
    // Five deviations of a binomial count around 1,000.
    assert!(counts.iter().all(|count| count.abs_diff(1000) < 155), "{counts:?}");
}

/// Group by group, with loads as plain fractions.
#[test]
fn two_choice_takes_the_less_loaded_of_two() {
    let cluster = Cluster::weighted([1, 2, 1, 3, 0, 1].map(|weight| Weight(weight << 16)).to_vec());
    let spec = TwoChoiceSpec { groups: 50, replicas: 2, seed: 9 };
    let placement = TwoChoice::new(&cluster, spec).unwrap();
    // Weights 1, 2, 1, 3, 1 on a line of eight units.
    let line = [0u32, 1, 1, 2, 3, 3, 3, 5];
    let weight = |server: u32| cluster.weight(ServerId(server)).as_f64();
    let mut loads = [0f64; 6];
    for group in 0..50u64 {
        let mut row: Vec<u32> = Vec::new();
        for attempt in 0u64.. {
            let word = mix(scatter(group) ^ scatter(9), hashing::SPREAD[0]);
            let word = mix(word ^ attempt.wrapping_mul(hashing::SPREAD[1]), hashing::SPREAD[1]);
            let server = |word: u64| line[(word >> 61) as usize];
            let (left, right) = (server(word), server(scatter(word)));
            let is_right = loads[right as usize] / weight(right) < loads[left as usize] / weight(left);
            let chosen = if is_right { right } else { left };
            if !row.contains(&chosen) {
                row.push(chosen);
            }
            if row.len() == 2 {
                break;
            }
        }
        row.iter().for_each(|server| loads[*server as usize] += 1.0);
        check(&placement, KeySpace::Scattered.key(group), row.into_iter().map(ServerId).collect());
    }
    assert_eq!(placement.loads().iter().map(|load| *load as f64).collect::<Vec<_>>(), loads);
}
