//! What the keys of a scenario mean.

use super::super::tests::{complete, outcome, prepare, value};
use super::*;

/// As in Ceph: `size - size / 2` for copies, and k + min(1, m - 1) for shards. A fault made 3+1 block every
/// group that had lost a shard.
#[test]
fn min_size_is_that_of_ceph() {
    for (data, width, want) in [
        (1, 1, 1),
        (1, 2, 1),
        (1, 3, 2),
        (1, 4, 2),
        (1, 5, 3),
        (2, 3, 2),
        (3, 4, 3),
        (8, 9, 8),
        (2, 4, 3),
        (4, 6, 5),
        (8, 11, 9),
    ] {
        assert_eq!(Redundancy { data, width }.min_size(), want, "{data} of {width}");
    }
}

#[test]
fn a_code_with_one_parity_shard_takes_writes_with_one_lost() {
    let below = |ec: &str| {
        let text = format!("servers = 8\nobjects = 400\ngroups = 64\nec = \"{ec}\"\nfail = \"server\"");
        value(&outcome(&text, 1), "below_min_size")
    };
    assert_eq!(below("3+1"), 0.0);
    let two = "servers = 8\nobjects = 400\ngroups = 64\nec = \"3+2\"\nfail = [\"server=1\", \"server=2\"]";
    assert!(value(&outcome(two, 1), "below_min_size") > 0.0, "two of 3+2 lost leave fewer than 4");
}

#[test]
fn copies_and_shards_together_are_refused() {
    let problems = prepare("replicas = 3\nec = \"4+2\"").expect_err("both say how many");
    let told: Vec<&str> = problems.iter().map(towtank_scenario::Problem::message).collect();
    assert_eq!(told, ["`replicas` and `ec` both set the redundancy"]);
    complete("ec = \"4+2\"");
}

#[test]
fn ceph_is_another_name_of_ceph_wpq() {
    let of = |name: &str| complete(&format!("preset = \"{name}\"")).scenario;
    assert_eq!(of("ceph"), of("ceph-wpq"));
    assert_eq!(serde_json::to_value(of("ceph").preset).unwrap(), "ceph-wpq");
}

#[test]
fn as_many_objects_as_asked_for() {
    for objects in [1, 1_000, 4_321] {
        let complete = complete(&format!("servers = 3\nobjects = {objects}"));
        let population = super::super::generated::population(&complete, towtank_streams::Seed(1)).unwrap();
        assert_eq!(population.objects(), objects);
    }
}

/// Every placement that the schema lists runs, or is refused with a hint what to use instead.
#[test]
fn every_placement_runs_or_is_refused() {
    let all = [
        ("crush-straw2", Algorithm::CrushStraw2),
        ("crush-straw", Algorithm::CrushStraw),
        ("crush-vring", Algorithm::CrushVring),
        ("ring", Algorithm::Ring),
        ("multiring", Algorithm::Multiring),
        ("rendezvous", Algorithm::Rendezvous),
        ("jump", Algorithm::Jump),
        ("maglev", Algorithm::Maglev),
        ("static-modulo", Algorithm::StaticModulo),
    ];
    for (name, placement) in all {
        let text = format!("placement = \"{name}\"\nservers = 8\nobjects = 10");
        assert_eq!(complete(&text).scenario.placement, placement);
        assert_eq!(serde_json::to_value(placement).unwrap(), name);
        assert_eq!(value(&outcome(&text, 1), "lost_objects"), 0.0, "{name}");
    }
    for other in Algorithm::ALL.into_iter().filter(|other| all.iter().all(|(_, one)| one != other)) {
        let told = format!("{:?}", prepare(&format!("placement = \"{}\"", other.name())).unwrap_err());
        assert!(told.contains("which rebuilds do not model") && told.contains("crush-straw2"), "{told}");
    }
}
