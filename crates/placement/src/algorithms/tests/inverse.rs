//! Territories and visitors compared with trying every key.

use std::ops::Range;

use super::*;
use crate::algorithms::visit::for_each_list;

/// Calls `see` with each object of `ids` that has one of its first `replicas` servers in `servers`, and with
/// its servers, in ascending order of ids.
///
/// # Panics
/// If `replicas` exceeds 512.
fn visit_touching(
    placement: &dyn Placement,
    ids: Range<u64>,
    id_keys: IdKeys,
    touching: (&ServerSet, usize),
    see: &mut dyn FnMut(u64, &[ServerId]),
) {
    let (servers, replicas) = touching;
    let mut id = ids.start;
    for_each_list(placement, ids.map(|id| id_keys.key(id)), replicas, |_, list| {
        if list.iter().any(|server| servers.contains(*server)) {
            see(id, list);
        }
        id += 1;
    });
}

/// Like [`visit_touching`] for ids that are keys, but examines only objects in the servers' territories,
/// server by server. Returns false, without calling `see`, if the algorithm has no inverse over keys as
/// given.
///
/// # Panics
/// If `replicas` exceeds 512.
fn visit_by_inverse(
    placement: &dyn Placement,
    ids: Range<u64>,
    touching: (&ServerSet, usize),
    see: &mut dyn FnMut(u64, &[ServerId]),
) -> bool {
    let (servers, replicas) = touching;
    let has_inverse = placement.key_space() == KeySpace::AsGiven
        && placement.territory(Touching { server: ServerId(0), replicas: 0 }, &mut |_| ())
            != Territory::Unknown;
    let Some(last) = ids.end.checked_sub(1).filter(|last| ids.start <= *last && has_inverse) else {
        return has_inverse;
    };
    for server in servers.iter() {
        let mut visit = |run: KeyRun| {
            let keys = run.within(ids.start, last).positions();
            for_each_list(placement, keys, replicas, |key, list| {
                // An object on several of the servers is reported only for the one with the lowest id.
                let first = list.iter().filter(|server| servers.contains(**server)).min();
                if first == Some(&server) {
                    see(key, list);
                }
            });
        };
        placement.territory(Touching { server, replicas }, &mut visit);
    }
    true
}

/// The runs of a server, and their kind.
fn territory(placement: &dyn Placement, touching: Touching) -> (Vec<KeyRun>, Territory) {
    let mut runs = Vec::new();
    let kind = placement.territory(touching, &mut |run| runs.push(run));
    (runs, kind)
}

/// Positions at which a run may be off by one, and others.
fn telling_positions(runs: &[KeyRun], salt: u64) -> Vec<u64> {
    let edges = runs
        .iter()
        .flat_map(|run| [run.first, run.last, run.first.wrapping_sub(1), run.last.wrapping_add(1)]);
    let around = edges.flat_map(|edge| (0..13).map(move |step| edge.wrapping_add(step)));
    around.chain(spread_keys(50, salt)).chain([0, 1, u64::MAX]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn territories_are_the_keys_that_touch(cluster in clusters(), seed: u32, server in 0u32..30, replicas in 0usize..5) {
        let touching = Touching { server: ServerId(server), replicas };
        for placement in all(&cluster, seed) {
            let (runs, kind) = territory(&*placement, touching);
            let space = placement.key_space();
            for position in telling_positions(&runs, u64::from(seed)) {
                let holding = runs.iter().filter(|run| run.contains(position)).count();
                let touches = list(&*placement, space.key(position), replicas).contains(&touching.server);
                match kind {
                    Territory::Exact(given) => {
                        prop_assert_eq!(given, space);
                        prop_assert_eq!(holding, usize::from(touches), "{:?} at {:#x}", placement, position);
                    }
                    Territory::Superset(given) => {
                        prop_assert_eq!(given, space);
                        prop_assert!(holding <= 1 && (!touches || holding == 1), "{:?}", placement);
                    }
                    Territory::Unknown => prop_assert!(runs.is_empty()),
                }
            }
        }
    }

    #[test]
    fn territories_add_up_to_all_keys(cluster in clusters(), seed: u32, replicas in 1usize..5) {
        for placement in all(&cluster, seed) {
            let mut sum = 0u128;
            let mut exact = true;
            for server in (0..cluster.ids() as u32).map(ServerId) {
                let (runs, kind) = territory(&*placement, Touching { server, replicas });
                exact &= matches!(kind, Territory::Exact(_));
                sum += runs.iter().map(KeyRun::len).sum::<u128>();
            }
            if exact {
                let want = replicas.min(cluster.live_count()) as u128;
                prop_assert_eq!(sum, want << 64, "{:?}", placement);
            }
        }
    }

    #[test]
    fn visitors_see_what_enumeration_sees(
        cluster in clusters(), seed: u32, first: u64, count in 0u64..400, servers in proptest::collection::vec(0u32..30, 0..4),
    ) {
        let ids = first..first.saturating_add(count);
        let servers: ServerSet = servers.into_iter().map(ServerId).collect();
        for placement in all(&cluster, seed) {
            for id_keys in [IdKeys::AsGiven, IdKeys::Scattered] {
                let want: Vec<(u64, Vec<ServerId>)> = ids.clone()
                    .map(|id| (id, list(&*placement, id_keys.key(id), 3)))
                    .filter(|(_, list)| list.iter().any(|server| servers.contains(*server)))
                    .collect();
                let mut seen = Vec::new();
                visit_touching(&*placement, ids.clone(), id_keys, (&servers, 3), &mut |id, list| seen.push((id, list.to_vec())));
                prop_assert_eq!(&seen, &want);
                if id_keys == IdKeys::AsGiven {
                    let mut seen = Vec::new();
                    let known = visit_by_inverse(&*placement, ids.clone(), (&servers, 3), &mut |id, list| seen.push((id, list.to_vec())));
                    seen.sort_unstable();
                    prop_assert_eq!(seen, if known { want } else { vec![] });
                }
            }
        }
    }
}

/// Checks which algorithms have an inverse.
#[test]
fn who_has_an_inverse() {
    let known = |placement: &dyn Placement| {
        let touching = Touching { server: ServerId(0), replicas: 3 };
        placement.territory(touching, &mut |_| ()) != Territory::Unknown
    };
    for placement in all(&Cluster::equal(20), 0) {
        let wanted = !matches!(placement.name(), "rendezvous" | "jump" | "maglev" | "xor" | "two-d");
        assert_eq!(known(&*placement), wanted, "{}", placement.name());
        let spec = GroupedSpec { groups: 10, replicas: 3, keys: KeySpace::Scattered };
        assert!(known(&Grouped::new(placement, spec).unwrap()));
    }
}

/// The inverse of a large ring examines only the server's keys; otherwise it could not finish.
#[test]
fn the_inverse_skips_what_does_not_touch() {
    let ring = Ring::new(&Cluster::equal(1024), 64, 5).unwrap();
    let servers: ServerSet = [ServerId(17)].into_iter().collect();
    let (mut runs, mut keys) = (0, 0u128);
    ring.territory(Touching { server: ServerId(17), replicas: 3 }, &mut |run| {
        runs += 1;
        keys += run.len();
    });
    let part = keys as f64 / 2f64.powi(64);
    assert!((64..=65).contains(&runs), "{runs}");
    // Three replicas over 1,024 servers, within four deviations of 1/sqrt(64 * 3).
    assert!((part * 1024.0 / 3.0 - 1.0).abs() < 4.0 / libm::sqrt(192.0), "{part}");
    let mut seen = 0u64;
    let ids = 0..1u64 << 62;
    let known = visit_by_inverse(
        &Grouped::new(
            boxed(ring),
            GroupedSpec { groups: u32::MAX >> 12, replicas: 3, keys: KeySpace::AsGiven },
        )
        .unwrap(),
        ids.start..1 << 20,
        (&servers, 3),
        &mut |_, list| {
            assert!(list.contains(&ServerId(17)));
            seen += 1;
        },
    );
    assert!(known && seen > 1000, "{seen}");
}
