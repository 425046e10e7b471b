//! The movement caused by a change, compared with the minimum.

use super::*;
use crate::algorithms::analysis::Movement;
use crate::algorithms::guarantees;

fn each(cluster: &Cluster) -> Vec<Box<dyn Placement>> {
    vec![
        boxed(Ring::new(cluster, 64, 3).unwrap()),
        boxed(MultiRing::new(cluster, 64, 3).unwrap()),
        boxed(StaticModulo::new(cluster).unwrap()),
        boxed(Rendezvous::new(cluster, 3).unwrap()),
        boxed(Jump::new(cluster, 3).unwrap()),
        boxed(Maglev::new(cluster, Maglev::slots_for(60), 3).unwrap()),
        boxed(TwoChoice::new(cluster, TwoChoiceSpec { groups: 5000, replicas: 3, seed: 3 }).unwrap()),
        boxed(Xor::new(cluster, 4, 3).unwrap()),
        boxed(TwoD::new(cluster, 4, 3).unwrap()),
        boxed(Negotiating::new(cluster, 9, 3).unwrap()),
    ]
}

/// Changes the cluster of every algorithm and compares the movement with the guarantee.
fn check(from: &Cluster, to: &Cluster, promise: fn(&Guarantees) -> guarantees::Movement) {
    for (before, after) in each(from).iter().zip(each(to)) {
        let moved = Movement::between(&**before, &*after, spread_keys(30_000, 3), 3);
        let name = before.name();
        let least = moved.minimum_of_loads;
        if name == "rendezvous" {
            // The minimum by weights equals the minimum by loads, except for the random variation of a few
            // hundred keys.
            assert!((moved.minimum_of_weights - least as f64).abs() < 200.0, "{moved:?}");
        }
        match promise(&before.guarantees()) {
            guarantees::Movement::Minimal => assert_eq!(moved.moved, least, "{name}"),
            guarantees::Movement::NearMinimal { times_max } => {
                assert!(moved.moved as f64 <= times_max * least as f64, "{name}");
            }
            guarantees::Movement::Nothing => assert_eq!(moved.moved, 0, "{name}"),
            guarantees::Movement::Most => {}
        }
    }
}

#[test]
fn joining_moves_what_is_promised() {
    let cluster = Cluster::equal(50);
    check(&cluster, &cluster.with_added(Weight::ONE), |guarantees| guarantees.on_add);
}

#[test]
fn leaving_moves_what_is_promised() {
    let cluster = Cluster::equal(50);
    check(&cluster, &cluster.without(ServerId(20)), |guarantees| guarantees.on_remove);
}

#[test]
fn reweighting_moves_what_is_promised() {
    let cluster = Cluster::equal(50);
    let lighter = cluster.with_weight(ServerId(20), Weight(0x8000));
    check(&cluster, &lighter, |guarantees| guarantees.on_reweight);
    check(&lighter, &cluster, |guarantees| guarantees.on_reweight);
}

#[test]
fn static_modulo_moves_nearly_everything() {
    let cluster = Cluster::equal(50);
    let [before, after] = [cluster.clone(), cluster.with_added(Weight::ONE)]
        .map(|cluster| StaticModulo::new(&cluster).unwrap());
    let moved = Movement::between(&before, &after, spread_keys(30_000, 3), 3);
    // Three of 51 servers coincide by chance, for each of the three replicas.
    assert!(
        (moved.moved_fraction().unwrap() - (1.0 - 3.0 / 51.0)).abs() < 0.06,
        "{:?}",
        moved.moved_fraction()
    );
}

#[test]
fn nothing_changed_moves_nothing() {
    let cluster = Cluster::equal(50);
    check(&cluster, &cluster, |_| guarantees::Movement::Nothing);
}
