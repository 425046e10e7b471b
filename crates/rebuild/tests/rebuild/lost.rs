//! What failures affect: each way to find it compared with the lookup of every object.

use towtank_placement::algorithms::Algorithm;
use towtank_rebuild::affected::{Affected, Found};
use towtank_rebuild::placing::LostSet;
use towtank_rebuild::plan::NOWHERE;
use towtank_streams::Seed;

use crate::cluster::Cluster;

/// Compares the lookup of every object with the result of the search; at 10^7 objects the search is the
/// inverse of the ring.
#[test]
fn what_is_lost_is_what_enumeration_finds() {
    let check = |cluster: Cluster, failing: &[u32]| -> Affected {
        let found = cluster.affected_as(Found::ByInverse, failing, 7);
        let listed = cluster.found_by(LostSet::Enumerate).affected_as(Found::ByAsking, failing, 7);
        assert_eq!(found.numbers, listed.numbers, "{cluster:?}");
        for record in 0..found.records() {
            assert_eq!(found.list(record), listed.list(record), "{cluster:?}");
            assert_eq!(found.sizes(record), listed.sizes(record), "{cluster:?}");
        }
        found
    };
    let found = check(Cluster::new((300, 1), Algorithm::Ring, 10_000_000), &[123]);
    assert!((80_000..120_000).contains(&found.records()), "{}", found.records());
    check(Cluster::new((40, 1), Algorithm::Multiring, 100_000), &[5, 31]);
}

/// The objects of lost groups, compared with the lookup of the group of every object and of the servers of
/// every group.
#[test]
fn the_objects_of_lost_groups_are_all_theirs() {
    let cluster = Cluster::new((16, 1), Algorithm::CrushStraw, 50_000).in_groups(Some(128));
    let affected = cluster.affected(&[9], 3);
    let population = cluster.population(Seed(3));
    let groups = &affected.numbers;
    assert!(!groups.is_empty() && groups.len() < 128, "{} groups lie there", groups.len());
    let mut want = vec![Vec::new(); groups.len()];
    for id in 0..population.objects() {
        if let Ok(at) = groups.binary_search(&(population.rank(id) % 128)) {
            want[at].push(population.object(id).size.get());
        }
    }
    for (record, mut sizes) in want.into_iter().enumerate() {
        let mut found = affected.sizes(record).to_vec();
        found.sort_unstable();
        sizes.sort_unstable();
        assert_eq!(found, sizes, "group {}", groups[record]);
    }
}

/// A drawn lost set and one found by enumeration agree in size, in bytes, and in the share of each peer.
/// Servers with two disks are hosts of a map of CRUSH, which lie elsewhere on its ring than servers do.
#[test]
fn drawn_sets_are_like_those_that_are_asked() {
    for (algorithm, disks) in [
        (Algorithm::CrushVring, 1),
        (Algorithm::CrushVring, 2),
        (Algorithm::CrushStraw2, 1),
        (Algorithm::CrushStraw2, 2),
        (Algorithm::Rendezvous, 1),
    ] {
        let failing: Vec<u32> = (4 * disks..5 * disks).collect();
        let sets = |lost_set| {
            let affected =
                Cluster::new((12, disks), algorithm, 60_000).found_by(lost_set).affected(&failing, 9);
            let mut shared = [0f64; 12];
            for record in 0..affected.records() {
                let list = &affected.list(record)[..3];
                assert!(list.iter().any(|device| device.0 / disks == 4) && !list.contains(&NOWHERE));
                list.iter().for_each(|device| shared[(device.0 / disks) as usize] += 1.0);
            }
            shared
        };
        let (drawn, asked) = (sets(LostSet::Draw), sets(LostSet::Enumerate));
        let chi: f64 = drawn.iter().zip(&asked).map(|(a, b)| (a - b).powi(2) / (a + b)).sum();
        // Twelve counts; the bound is the value that two samples of one distribution exceed once in ten
        // thousand cases.
        assert!(chi < 38.0, "{algorithm:?}, {disks} disks: {chi}: {drawn:?} {asked:?}");
    }
}
