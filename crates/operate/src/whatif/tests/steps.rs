//! Steps of `pgp_num`: which maps lie on the way, and what keeps the manager from going on.

use super::*;
use crate::whatif::observed::Observed;
use crate::whatif::steps::Made;

fn made(seen: &Outcome) -> Option<Made> {
    let observed: Observed = serde_json::from_value(seen.series["observed"].clone()).expect("as it is kept");
    observed.steps
}

/// A new number of groups is one of places too, and the target is reached in steps of a few groups each.
#[test]
fn a_new_number_of_groups_is_reached_in_steps() {
    let (one, both) =
        (with_room("pg_num = \"rbd=512\""), with_room("pg_num = \"rbd=512\"\npgp_num = \"rbd=512\""));
    assert_eq!(value(&one, "moved_bytes"), value(&both, "moved_bytes"), "`pgp_num` follows `pg_num`");
    let steps = made(&one).expect("the manager makes steps");
    assert_eq!(steps.words, "`pgp_num` of rbd from 256 to 512");
    assert!(steps.left == 0 && steps.merged == 0);
    assert!(steps.at_s.len() > 10 && steps.at_s.is_sorted(), "{:?}", steps.at_s);
    // Groups that a split makes are inactive at first, and the first objects of a step move 2.3 s after it.
    assert!(steps.at_s[0] >= 2.0 + 3.0 + 2.3, "{:?}", steps.at_s);
    assert!(steps.at_once_s.is_some_and(|once| once <= value(&one, "time_to_clean_s")));
    let split = with_room("pg_num = \"rbd=512\"\npgp_num = \"rbd=256\"");
    let [of_split, of_all] = [&split, &one].map(|seen| value(seen, "moved_bytes"));
    assert!(
        made(&split).is_none() && of_split < 0.1 * of_all,
        "only what explicit mappings held elsewhere moves"
    );
}

/// A number that is no power of two is named, and so is an autoscaler that would change it again.
#[test]
fn what_becomes_of_a_number_later_is_said() {
    let said = |folder: Folder, number: u32| {
        let text = format!("{EXAMPLE}pg_num = \"rbd={number}\"");
        Warning::texts(outcome(&Whatif, folder, &text).warnings).join("; ")
    };
    let (odd, even) = (said(roomy(), 300), said(roomy(), 512));
    assert!(odd.contains("`pg_num` 300 of pool `rbd` is no power of two"), "{odd}");
    assert!(!even.contains("power of two") && !even.contains("the autoscaler is on"), "{even}");
    let Folder(mut files) = roomy();
    let mut dump: serde_json::Value = serde_json::from_slice(&files["osd_dump.json"]).unwrap();
    let pools = dump["pools"].as_array_mut().unwrap();
    let rbd = pools.iter_mut().find(|pool| pool["pool_name"] == "rbd").unwrap();
    rbd["pg_autoscale_mode"] = serde_json::json!("on");
    files.insert("osd_dump.json".to_owned(), dump.to_string().into_bytes());
    let scaled = said(Folder(files), 512);
    assert!(scaled.contains("the autoscaler is on for pool `rbd`"), "{scaled}");
}

/// Pools are merged after their groups have been moved together.
#[test]
fn fewer_groups_are_moved_together_and_then_merged() {
    let steps = made(&with_room("pg_num = \"rbd=128\"")).expect("the manager makes steps");
    assert_eq!(
        (steps.words.as_str(), steps.merged, steps.left),
        ("`pgp_num` of rbd from 256 to 128", 128, 0)
    );
}

/// Before each merge the manager removes the mappings of both groups; those of the others stay.
#[test]
fn merged_groups_have_no_mappings() {
    let dump: serde_json::Value = serde_json::from_slice(&roomy().0["osd_dump.json"]).unwrap();
    let seeds: Vec<u32> = (dump["pg_upmap_items"].as_array().unwrap().iter())
        .filter_map(|entry| entry["pgid"].as_str()?.strip_prefix("1."))
        .map(|seed| u32::from_str_radix(seed, 16).unwrap())
        .collect();
    for (groups, into) in [(128, 0..128), (192, 64..128)] {
        let merges = |seed: &&u32| **seed >= groups || into.contains(*seed);
        let want = seeds.iter().filter(merges).count();
        let (seen, alone) = (with_room(&format!("pg_num = \"rbd={groups}\"")), seeds.len());
        assert_eq!(value(&seen, "upmaps_dropped"), want as f64, "{groups}: of {alone}");
        assert!(want > 0 && (groups == 128 || want < alone), "{groups}: {want} of {alone}");
    }
}

/// Nothing is changed while copies are missing: not before a failure is repaired, and never where it is not.
#[test]
fn no_step_is_made_while_copies_are_missing() {
    let failed = "fail = \"osd.6\"\npg_num = \"rbd=512\"\n";
    let seen = with_room(failed);
    let steps = made(&seen).expect("the manager makes steps");
    let repaired = value(&seen, "time_to_full_redundancy_s");
    assert!(steps.left == 0 && steps.at_s[0] > repaired, "{:?} and {repaired}", steps.at_s[0]);
    let never = with_room(&format!("{failed}noout = true\n"));
    let steps = made(&never).expect("it is asked for");
    assert!(steps.at_s.is_empty() && steps.left > 0);
    // What the steps that are left would have moved is in no map, and counts as not done all the same.
    assert!(value(&never, "written_bytes") + unfinished(&never) >= value(&never, "moved_bytes"));
    assert!(reason(&never, "time_to_clean_s").contains("the manager goes no further"), "{never:?}");
}

/// What is misplaced and stays so keeps the manager from going on.
#[test]
fn a_flag_that_keeps_groups_in_their_places_stops_the_steps() {
    let seen = with_room("pg_num = \"rbd=512\"\nset_flag = \"norebalance\"\n");
    let steps = made(&seen).expect("it is asked for");
    assert!(!steps.at_s.is_empty() && steps.left > 0, "some steps are made, until 5 % are misplaced");
    assert!(value(&seen, "stuck_objects") >= 0.0);
}

/// Where the map is changed again later, all is changed at once, which is said.
#[test]
fn a_later_change_leaves_no_steps() {
    let seen = with_room("changes = [\"pg-num rbd=512\", \"mark-out osd.6@40min\"]");
    assert!(made(&seen).is_none());
    assert!(seen.warnings.iter().any(|warning| warning.text.contains("it changes at once here")));
}

/// At most so many objects are misplaced at a time: with a smaller share it takes longer.
#[test]
fn a_smaller_share_takes_longer() {
    let time = |share: &str| value(&with_room(&format!("pg_num = \"rbd=512\"\n{share}")), "time_to_clean_s");
    let [small, usual, large] =
        ["target_max_misplaced_ratio = \"1%\"\n", "", "target_max_misplaced_ratio = \"50%\"\n"].map(time);
    // With the usual share no device waits for a step any more, so that a larger one changes only the order.
    assert!(small > 1.1 * usual && large < 1.02 * usual, "{small} {usual} {large}");
}

/// What makes no sense is refused, with the way out.
#[test]
fn periods_and_shares_have_limits() {
    let refused = |keys: &str| {
        let problems = prepared(&Whatif, roomy(), &format!("{EXAMPLE}{keys}")).err().expect("it is refused");
        problems.iter().map(|problem| problem.message().to_owned()).collect::<Vec<_>>().join("; ")
    };
    let split = "pg_num = \"rbd=264\"\n";
    for (keys, message) in [
        ("mgr_tick_period = \"0s\"\n", "`mgr_tick_period` is 0s; 100ms to 1h are possible"),
        ("mgr_stats_period = \"2h\"\n", "`mgr_stats_period` is 2h; 100ms to 1h are possible"),
        ("target_max_misplaced_ratio = \"101%\"\n", "`target_max_misplaced_ratio` is 101%, more than all"),
    ] {
        assert_eq!(refused(&format!("{split}{keys}")), message);
    }
    let unused = refused("mark_out = \"osd.6\"\nmgr_tick_period = \"1s\"\n");
    assert_eq!(unused, "`mgr_tick_period` is about steps of `pgp_num`, but nothing changes it");
}

/// The roomy cluster, of whose pool `rbd` the dump has these numbers.
fn changing(numbers: &[(&str, u32)]) -> Folder {
    crate::exports::samples::pool_with(roomy(), "rbd", numbers)
}

/// A change of `pgp_num` that is under way goes on as if it were asked for: in what moves, how long it takes,
/// and with a failure beside it; and what moves is also what moves without the user.
#[test]
fn a_change_under_way_goes_on_as_if_it_were_asked_for() {
    // What is asked for begins with a new map, which takes its time, and what is under way does not.
    for (target, beside) in [(224, "start = \"0s\"\n"), (240, "fail = \"osd.6\"\n")] {
        let target_of = [("pg_placement_num_target", target)];
        let own = outcome(&Whatif, changing(&target_of), &format!("{EXAMPLE}{beside}"));
        let asked =
            outcome(&Whatif, changing(&[]), &format!("{EXAMPLE}{beside}pgp_num = \"rbd={target}\"\n"));
        let steps = made(&own).expect("the manager makes steps");
        assert!(steps.left == 0 && steps.at_s.len() > 2, "{steps:?}");
        assert_eq!(made(&own), made(&asked));
        for measure in asked.measures.keys().filter(|key| *key != "pending_bytes" && !key.contains("_plan")) {
            let [one, other] = [&own, &asked].map(|seen| format!("{:?}", seen.measures[measure]));
            assert_eq!(one, other, "{measure}");
        }
        assert!(value(&own, "pending_bytes") > 0.0 && value(&asked, "pending_bytes") == 0.0);
        assert!(own.warnings.iter().any(|warning| warning.text.contains("the manager goes on with it")));
        let moves = outcome(&crate::preview::Preview, changing(&target_of), EXAMPLE);
        let all = value(&own, "moved_bytes");
        assert!(target != 224 || value(&moves, "moved_bytes") == all, "{all}");
    }
}

/// How long a split takes that is still to come is not known, unless the user asks for it.
#[test]
fn a_split_to_come_has_no_time() {
    let to_come = [("pg_num_target", 512), ("pg_placement_num_target", 512)];
    let seen = outcome(&Whatif, changing(&to_come), EXAMPLE);
    let why = reason(&seen, "time_to_clean_s");
    assert!(
        why.contains("`pg_num` is changing from 256 to 512") && why.contains("--pg-num rbd=512"),
        "{why}"
    );
    let asked = format!("{EXAMPLE}pg_num = \"rbd=512\"\n");
    let [asked, without] = [changing(&to_come), changing(&[])].map(|folder| outcome(&Whatif, folder, &asked));
    assert_eq!(value(&asked, "time_to_clean_s"), value(&without, "time_to_clean_s"));
    // Of a merge the manager first moves groups together.
    let fewer = [("pg_num_target", 128), ("pg_placement_num_target", 128)];
    let merged = made(&outcome(&Whatif, changing(&fewer), EXAMPLE)).expect("the manager makes steps");
    assert_eq!(merged.words, "`pgp_num` of rbd from 256 to 128");
    assert_eq!(merged.merged, 128);
}

/// Ceph refuses another number of groups for a pool that is locked.
#[test]
fn a_locked_pool_keeps_its_groups() {
    let Folder(mut files) = changing(&[]);
    let mut dump: serde_json::Value = serde_json::from_slice(&files["osd_dump.json"]).unwrap();
    let mut id = serde_json::Value::Null;
    for pool in dump["pools"].as_array_mut().expect("there are pools") {
        if pool["pool_name"] == "rbd" {
            pool["flags_names"] = "hashpspool,nopgchange".into();
            id = pool["pool"].clone();
        }
    }
    let by_id = format!("pg_num = \"{id}=264\"\n");
    files.insert("osd_dump.json".to_owned(), dump.to_string().into_bytes());
    for (keys, is_refused) in [
        ("pg_num = \"rbd=264\"\n", true),
        (&*by_id, true),
        ("pgp_num = \"rbd=248\"\n", true),
        ("mark_out = \"osd.6\"\n", false),
    ] {
        let seen = outcome(&crate::preview::Preview, Folder(files.clone()), &format!("{EXAMPLE}{keys}"));
        let refused = format!("{:?}", seen.series).contains("its flag `nopgchange` is set");
        assert_eq!(refused, is_refused, "{keys}");
    }
}
