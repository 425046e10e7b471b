//! Properties of every algorithm: distinct servers, prefixes, lists without the servers that are down,
//! batches.

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn lists_are_distinct_live_and_as_long_as_can_be(cluster in clusters(), seed: u32, key: u64) {
        for placement in all(&cluster, seed) {
            let whole = list(&*placement, key, cluster.ids() + 3);
            let set: ServerSet = whole.iter().copied().collect();
            prop_assert_eq!(set.len(), whole.len(), "{:?}", placement);
            prop_assert!(whole.iter().all(|server| cluster.weight(*server) > Weight::ZERO), "{:?}", placement);
            if placement.name() != "negotiating" {
                prop_assert_eq!(whole.len(), cluster.live_count(), "{:?}", placement);
            }
        }
    }

    #[test]
    fn shorter_lists_begin_longer_ones(cluster in clusters(), seed: u32, key: u64) {
        for placement in all(&cluster, seed) {
            let whole = list(&*placement, key, cluster.ids());
            for replicas in 0..whole.len() {
                prop_assert_eq!(&list(&*placement, key, replicas)[..], &whole[..replicas], "{:?}", placement);
            }
        }
    }

    #[test]
    fn servers_that_are_down_are_passed_over(
        cluster in clusters(), seed: u32, key: u64, down in proptest::collection::vec(0u32..30, 0..4), replicas in 0usize..6,
    ) {
        let down: ServerSet = down.into_iter().map(ServerId).collect();
        for placement in all(&cluster, seed) {
            let mut want = list(&*placement, key, cluster.ids());
            want.retain(|server| !down.contains(*server));
            want.truncate(replicas);
            prop_assert_eq!(list_excluding(&*placement, key, &down, replicas), want, "{:?}", placement);
        }
    }

    #[test]
    fn batches_are_lookups(cluster in clusters(), seed: u32, first: u64, count in 0usize..100, replicas in 0usize..7) {
        let mut keys: Vec<u64> = (0..count as u64).map(|at| hashing::scatter(first.wrapping_add(at))).collect();
        keys.extend([0, 1, u64::MAX - 1, u64::MAX]);
        for placement in all(&cluster, seed) {
            let mut servers = vec![ServerId(7); keys.len() * replicas];
            placement.lookup_batch(&keys, replicas, &mut servers);
            for (at, key) in keys.iter().enumerate() {
                let mut want = list(&*placement, *key, replicas);
                want.resize(replicas, ServerId::NONE);
                prop_assert_eq!(&servers[at * replicas..][..replicas], &want[..], "{:?}", placement);
            }
        }
    }

    #[test]
    fn the_same_setup_gives_the_same_lists(cluster in clusters(), seed: u32, key: u64) {
        for (left, right) in all(&cluster, seed).iter().zip(all(&cluster, seed)) {
            prop_assert_eq!(list(&**left, key, 5), list(&*right, key, 5));
        }
    }
}

#[test]
fn clusters_without_weight_are_refused() {
    for cluster in [Cluster::equal(0), Cluster::weighted(vec![Weight::ZERO; 20])] {
        assert!(all(&cluster, 0).is_empty());
        assert_eq!(Ring::new(&cluster, 3, 0).unwrap_err(), SetupError::NoServers);
    }
    let error = Ring::new(&Cluster::equal(3), 0, 0).unwrap_err().to_string();
    assert_eq!(error, "`virtual_nodes` is 0: set it to at least 1");
    let error = Negotiating::new(&Cluster::equal(8), 9, 0).unwrap_err().to_string();
    assert_eq!(error, "8 servers are too few for one group of 9: add servers or use smaller groups");
}

/// Published lists must not change: a machine, compiler or version that gives others is wrong. The positions
/// of virtual nodes are those of lookup3, which its own test vectors pin.
#[test]
fn lists_never_change() {
    let cluster =
        Cluster::weighted([4, 4, 2, 0, 1, 4, 8, 4, 4, 4, 3].map(|weight| Weight(weight << 14)).to_vec());
    let lists: Vec<String> = all(&cluster, 1)
        .iter()
        .map(|placement| {
            let ids = list(&**placement, 0x0123_4567_89ab_cdef, 4);
            let ids: Vec<String> = ids.iter().map(|server| server.0.to_string()).collect();
            format!("{} {}", placement.name(), ids.join(" "))
        })
        .collect();
    insta::assert_snapshot!(lists.join("\n"), @r"
    ring 6 1 0 7
    ring 1 6 9 8
    multiring 6 1 0 7
    multiring 0 7 5 1
    multiring 10 0 5 8
    static-modulo 6 7 8 9
    rendezvous 7 6 9 1
    jump 6 5 0 2
    maglev 0 2 9 5
    two-choice 5 7 6 0
    xor 1 0 7 5
    xor 1 9 5 6
    two-d 1 0 7 5
    two-d 1 9 8 7
    negotiating 7 6 1 0
    ring 10 1 0 6
    ring 2 10 1 0
    ");
}
