//! What the keys of a scenario mean.

use towtank_units::SimSpan;

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
    let messages: Vec<&str> = problems.iter().map(towtank_scenario::Problem::message).collect();
    assert_eq!(messages, ["`replicas` and `ec` both set the redundancy"]);
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
        let refusal = format!("{:?}", prepare(&format!("placement = \"{}\"", other.name())).unwrap_err());
        assert!(
            refusal.contains("which rebuilds do not model") && refusal.contains("crush-straw2"),
            "{refusal}"
        );
    }
}

fn refused(text: &str) -> Vec<String> {
    let problems = prepare(text).expect_err(text);
    problems.iter().map(|problem| problem.message().to_owned()).collect()
}

const QUEUED: &str = "preset = \"ceph-wpq\"\nservers = 4\nobjects = 400\ngroups = 16\nqueue = \"mclock\"\nceph_release = \"17.2.5\"\n";

/// Generated groups have the queue of a release if they are asked to; objects that are placed one by one and
/// the machines of the paper have none, and no costs of Ceph.
#[test]
fn generated_groups_may_have_the_queue_of_a_release() {
    let settled = complete(QUEUED).scenario;
    let mclock = settled.settings.mclock.expect("it was asked for");
    assert_eq!(mclock.release.to_string(), "17.2.5");
    assert_eq!(mclock.profile, towtank_recovery::queue::Profile::HighClientOps);
    assert_eq!(
        (settled.settings.max_backfills, settled.settings.usual.peering),
        (1_000, SimSpan::from_ms(3_100))
    );
    let usual = complete("preset = \"ceph-wpq\"\nservers = 4\nobjects = 400\ngroups = 16").scenario;
    assert_eq!((usual.settings.mclock, usual.keys.pacing.queue), (None, None));
    let single = complete("preset = \"ceph-wpq\"\nservers = 4\nobjects = 400").scenario;
    assert_eq!(
        (single.settings.usual.peering, single.settings.backfill),
        (SimSpan::ZERO, Default::default())
    );
    for text in [
        "queue = \"mclock\"",
        "preset = \"ceph-wpq\"\nceph_release = 17",
        "groups = 9\nprofile = \"balanced\"",
    ] {
        let refusal = refused(text).join("; ");
        assert!(
            refusal.contains("describes the daemons of Ceph, but the cluster is none of Ceph with groups"),
            "{refusal}"
        );
    }
    let messages = refused(&QUEUED.replace("\"17.2.5\"", "18\nrecovery_cost = \"20MiB\""));
    assert_eq!(
        messages,
        ["`recovery_cost` is what a work item counts for before Ceph 17.2.7, not in 18.2.7"]
    );
}

/// `high_recovery_ops` grants clients 80 % of 63 operations in each of 5 shards of 4 disks: 1,000 of cost 1 a
/// second, of which 90 % may be asked for. Clients that wait for replies take what they get.
#[test]
fn a_load_above_the_limit_of_the_profile_is_refused() {
    let fast =
        "profile = \"high_recovery_ops\"\nseeks = \"hdd\"\nio_cost = \"10us\"\nclient_size = \"4KiB\"\n";
    complete(&format!("{QUEUED}{fast}client_load = \"900/s\""));
    complete(&format!("{QUEUED}{fast}client_depth = 500"));
    complete(&format!("{QUEUED}{}client_load = \"901/s\"", fast.replace("recovery", "client")));
    let messages = refused(&format!("{QUEUED}{fast}client_load = \"901/s\""));
    let want = "`client_load` is 901/s, but `high_recovery_ops` grants clients at most 1000/s of 4096 bytes in Ceph 17.2.5";
    assert_eq!(messages, [want]);
}

/// Empty devices take the places of those that failed: all that is lost is written to them, and to no other.
#[test]
fn devices_that_are_replaced_are_never_given_up() {
    let base = "preset = \"ceph-wpq\"\nservers = 4\nobjects = 400\ngroups = 16\nfail = \"server=1\"\n";
    let seen = outcome(&format!("{base}replace = \"1min\""), 1);
    let lost = value(&seen, "objects_affected");
    // One server writes: all of it is on the device that replaced the lost one.
    assert_eq!((value(&seen, "objects_rebuilt"), value(&seen, "servers_writing")), (lost, 1.0));
    // Detected after 20 s, replaced after 60 s more, and 3.1 s until objects move.
    let before = value(&seen, "time_to_full_redundancy_s") - value(&seen, "transfer_s");
    assert!((before - 83.1).abs() < 1e-6, "{before}");
    // Later than they would be marked out, it is the same, only later.
    let late = outcome(&format!("{base}replace = \"11min\""), 1);
    assert_eq!(value(&late, "objects_rebuilt"), lost);
    let before = value(&late, "time_to_full_redundancy_s") - value(&late, "transfer_s");
    assert!((before - 683.1).abs() < 1e-6, "{before}");
}

/// A pool has a number only where Ceph's placement can be computed: groups of copies on servers of one disk.
#[test]
fn a_numbered_pool_has_groups_that_ceph_places() {
    let base = "servers = 8\nobjects = 400\npool = 2\n";
    let usual = format!("{base}groups = 16\nplacement = \"crush-straw2\"\n");
    assert_eq!(complete(&usual).placing().pool, Some(2));
    for (text, message) in [
        (base.to_owned(), "objects are placed one by one"),
        (format!("{base}groups = 16"), "by crush-straw2 on servers of one disk"),
        (format!("{usual}disks_per_server = 2"), "by crush-straw2 on servers of one disk"),
        (format!("{usual}racks = 4\nfailure_domain = \"rack\""), "by crush-straw2 on servers of one disk"),
        (format!("{usual}ec = \"4+2\""), "by crush-straw2 on servers of one disk"),
    ] {
        let refusal = refused(&text).join("; ");
        assert!(refusal.contains(message), "{refusal}");
    }
}

/// Which device leads while another is brought up to date is asked only where one comes back.
#[test]
fn asynchronous_recovery_needs_a_return() {
    let base = "preset = \"ceph-wpq\"\nservers = 4\nobjects = 400\ngroups = 16\nasync_recovery_min_cost = 1";
    assert_eq!(
        refused(base),
        ["`async_recovery_min_cost` is about devices that come back, but nothing does"]
    );
    let rebuilt = |cost: u32| {
        let text = format!(
            "preset = \"ceph-wpq\"\nservers = 4\nobjects = 400\ngroups = 16\nplacement = \"crush-straw2\"\npool = 2\n\
             fail = \"server=0\"\nreturns = \"1s\"\nqueue = \"mclock\"\nceph_release = \"17.2.5\"\nasync_recovery_min_cost = {cost}\n\
             max_backfills = 10\nrecovery_max_active = 10"
        );
        value(&outcome(&text, 1), "transfer_s")
    };
    // Where osd.0 leads it pulls, at 218 for an object and not 153.
    assert_ne!(rebuilt(1), rebuilt(100));
}

/// Of three copies one is left while two servers are away: nothing is written, and all copies count again
/// when they come back. Until then objects lacked copies, and had a single one.
#[test]
fn copies_that_come_back_unwritten_were_missing_until_then() {
    let base = "preset = \"ceph-wpq\"\nservers = 3\nobjects = 40\ngroups = 4\nreturns = \"1min\"\n";
    let seen = outcome(&format!("{base}fail = [\"server=0\", \"server=1\"]"), 1);
    assert_eq!((value(&seen, "objects_affected"), value(&seen, "objects_rebuilt")), (40.0, 0.0));
    assert_eq!(value(&seen, "objects_unwritten"), 80.0);
    // Detected after 20 s, back after a minute, and 3.1 s of peering.
    assert_eq!(value(&seen, "time_to_full_redundancy_s"), 83.1);
    assert_eq!(value(&seen, "time_to_two_copies_s"), 83.1);
    // With one server away, clients write.
    let seen = outcome(&format!("{base}fail = \"server=0\""), 1);
    assert!(!seen.measures.contains_key("objects_unwritten"));
}

/// A server that comes back with its logs gets all that was lost, no sooner than an empty one would. Where
/// there is no log, or something else takes its place, that is refused.
#[test]
fn devices_that_come_back_find_their_logs() {
    let base = "preset = \"ceph-wpq\"\nservers = 4\nobjects = 400\ngroups = 16\nfail = \"server=1\"\n";
    let seen = outcome(&format!("{base}returns = \"1min\""), 1);
    let lost = value(&seen, "objects_affected");
    assert_eq!((value(&seen, "objects_rebuilt"), value(&seen, "servers_writing")), (lost, 1.0));
    let before = value(&seen, "time_to_full_redundancy_s") - value(&seen, "transfer_s");
    assert!((before - 83.1).abs() < 1e-6, "{before}");
    for (text, message) in [
        ("groups = 16\nreturns = \"1s\"", "`returns` needs the logs of Ceph's groups"),
        ("preset = \"ceph\"\nreturns = \"1s\"", "`returns` needs the logs of Ceph's groups"),
        (
            "preset = \"ceph\"\ngroups = 16\nreplace = \"1s\"\nreturns = \"1s\"",
            "`returns` and `replace` both say",
        ),
    ] {
        let refusal = refused(text).join("; ");
        assert!(refusal.contains(message), "{text}: {refusal}");
    }
}

/// A group of more objects than its log has entries is backfilled: all its objects are compared first, for
/// 0.32 s and 22 us an object. One group on a disk has a log of 10,000.
#[test]
fn a_log_that_is_too_short_makes_a_backfill() {
    let time = |objects: u32, key: &str| {
        let text = format!(
            "preset = \"ceph\"\nservers = 3\nobjects = {objects}\ngroups = 1\nfail = \"server=1\"\n{key} = \"1s\"\n\
             recovery_sleep = \"0s\"\n[population]\ndistribution = \"constant\"\nsize = \"4KiB\"\nlayout = \"whole\""
        );
        value(&outcome(&text, 1), "transfer_s")
    };
    let compared = |objects: u32| time(objects, "replace") - time(objects, "returns");
    // Recovery by log also reserves the third device, which takes a message there and back.
    let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-3, "{found}, not {wanted}");
    near(compared(10_000), 0.32 + 10_000.0 * 22e-6);
    near(compared(10_001), 0.0);
}

/// An order is one of what is placed: groups, or single objects.
#[test]
fn an_order_of_what_is_not_there_is_refused() {
    let messages_of = |text: &str| -> Vec<String> {
        let problems = prepare(text).expect_err("it is refused");
        problems.iter().map(|problem| problem.message().to_owned()).collect()
    };
    let grouped = messages_of("groups = 64\norder = \"object\"");
    assert_eq!(grouped, ["`order` is `object`, but the objects of a group are rebuilt together"]);
    assert_eq!(messages_of("order = \"group\""), ["`order` is `group`, but objects are placed one by one"]);
    for text in ["groups = 64\norder = \"group\"", "order = \"object\"", "groups = 64\norder = \"random\""] {
        complete(text);
    }
    // The default is not written out, so that the hash of a scenario is what it was without the key.
    let resolved = |text: &str| super::super::generated::resolved(&complete(text).scenario);
    assert_eq!(resolved("order = \"fewest-copies\""), resolved(""));
    assert_eq!(resolved("order = \"random\"")["order"], "random");
}

/// Regression test: simulated time ended before the rebuild did, and the model failed.
#[test]
fn rates_at_which_simulated_time_would_end_are_refused() {
    for key in ["disk_read", "disk_write", "nic"] {
        let problems = prepare(&format!("{key} = \"1B/s\"")).expect_err("it is refused");
        let messages: Vec<&str> = problems.iter().map(|problem| problem.message()).collect();
        let want = format!("`{key}` is 1B/s, at which the rebuild of one disk takes at least ");
        assert!(messages.len() == 1 && messages[0].starts_with(&want), "{messages:?}");
        complete(&format!("{key} = \"1B/s\"\nper_server = \"1GiB\""));
        complete(&format!("{key} = \"1KiB/s\""));
    }
}
