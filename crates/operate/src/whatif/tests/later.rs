//! Changes that come later, and devices that come back.

use serde_json::Value as Json;

use super::*;

/// Two groups of ten objects where the map wants them, and a device that holds both.
pub(super) fn settled() -> ([[u32; 3]; 2], u32) {
    let all = HELD.iter().flat_map(|first| HELD.iter().map(|second| [*first, *second]));
    let is_settled =
        |held: &[[u32; 3]; 2]| value(&outcome(&Whatif, four(held, None), FOUR), "moved_bytes") == 0.0;
    let held = all.into_iter().find(is_settled).expect("the map wants the groups somewhere");
    let osd = (0..4).find(|osd| held.iter().all(|group| group.contains(osd)));
    (held, osd.expect("two groups leave out two devices at most"))
}

/// These groups; `DOWN` in the text is the device.
fn two(text: &str) -> Outcome {
    let (held, osd) = settled();
    let text = text.replace("DOWN", &format!("osd.{osd}"));
    outcome(&Whatif, four(&held, None), &format!("{FOUR}recovery_sleep = \"0s\"\n{text}"))
}

/// A change takes as long later as now, counted from its own moment.
#[test]
fn a_later_change_ends_later() {
    for change in
        ["mark-out osd.6", "add-host h9=4x3.638:hdd@default", "pgp-num rbd=128", "rule archive=by_osd"]
    {
        let now = with_room(&format!("changes = [\"{change}\"]"));
        let later = with_room(&format!("changes = [\"{change}@2h\"]"));
        for measure in ["moved_bytes", "moved_objects", "written_bytes", "moved_groups", "transfer_s"] {
            assert_eq!(value(&later, measure), value(&now, measure), "{change}: {measure}");
        }
        let (now, later) = (value(&now, "time_to_clean_s"), value(&later, "time_to_clean_s"));
        assert!((later - now - 7_200.0).abs() < 1e-6, "{change}: {now} and {later}");
    }
}

/// A change while an earlier one is under way: what has moved by then moves again where it must, and all of
/// it ends where the last map wants it.
#[test]
fn a_change_comes_while_another_is_under_way() {
    let out = "mark-out osd.6";
    let drained = with_room(&format!("changes = [\"{out}\"]"));
    let half = value(&drained, "time_to_clean_s") / 2.0;
    let back = with_room(&format!("changes = [\"{out}\", \"reweight osd.6=1@{half:.0}s\"]"));
    // The monitors drop the explicit mappings to a device that is out, so not all groups go back.
    assert!(value(&back, "upmaps_dropped") > 0.0);
    assert!(value(&back, "moved_bytes") < value(&drained, "moved_bytes"));
    assert!(value(&back, "written_bytes") > value(&back, "moved_bytes"));
    assert!(value(&back, "time_to_clean_s") > half);
    let both = with_room(&format!("changes = [\"{out}\", \"reweight osd.2=0.9@{half:.0}s\"]"));
    let at_once = with_room(&format!("changes = [\"{out}\", \"reweight osd.2=0.9\"]"));
    assert_eq!(value(&both, "moved_bytes"), value(&at_once, "moved_bytes"));
    assert!(value(&both, "written_bytes") >= value(&both, "moved_bytes"));
    assert!(value(&both, "time_to_clean_s") > half);
}

/// Before it is given up, a device comes back with all that was not written meanwhile; empty, it takes
/// everything.
#[test]
fn a_device_that_comes_back_keeps_what_was_not_written() {
    let fails = "fail = \"DOWN\"\n";
    let seen = two(&format!("{fails}returns = \"DOWN@5min\"\nclient_writes = \"0/s\""));
    assert_eq!(value(&seen, "written_bytes"), 0.0);
    assert_eq!(value(&seen, "time_to_full_redundancy_s"), 300.0, "copies were missing until then");
    assert_eq!(value(&seen, "time_to_clean_s"), 300.0);
    let all = two(&format!("{fails}returns = \"DOWN@5min\"\nclient_writes = \"1000000/s\""));
    assert_eq!((value(&all, "moved_objects"), value(&all, "moved_bytes")), (20.0, 0.0));
    assert_eq!(value(&all, "written_bytes"), 83_886_080.0);
    assert!(value(&all, "time_to_clean_s") > 300.0);
    let empty = two(&format!("{fails}replace = \"DOWN@5min\""));
    assert_eq!(value(&empty, "written_bytes"), 83_886_080.0);
    // More writes than the log of 10,000 covers: groups are compared first, for 0.32 s and 22 us an object,
    // as are all of an empty device. What the log covers is known at once.
    let logged = two(&format!("{fails}returns = \"DOWN@5min\"\nclient_writes = \"30/s\""));
    assert_eq!(value(&logged, "moved_objects"), 20.0);
    let transfer = |seen: &Outcome| value(seen, "transfer_s");
    assert!((transfer(&all) - transfer(&empty)).abs() < 1e-3);
    let compared = transfer(&all) - transfer(&logged);
    // Both groups are led by the device with the lowest number, since that which came is their first one:
    // only the first of them waits for the begin.
    assert!((compared - (0.32 + 10.0 * 22e-6)).abs() < 1e-3, "{compared}");
}

/// A device that lacks fewer entries of the log than the limit leads its groups and pulls; one that lacks
/// more waits until another device has pushed them. Under mClock an object costs 218 or 153.
#[test]
fn the_limit_of_entries_decides_who_leads() {
    let returns = "fail = \"DOWN\"\nreturns = \"DOWN@5min\"\nclient_writes = \"1/s\"\nlog_entries = 1000\n";
    let queue = "queue = \"mclock\"\nceph_release = 16\n";
    let (held, _) = settled();
    let took = |osd: u32, limit: &str| {
        let text = format!("{FOUR}{returns}{queue}{limit}").replace("DOWN", &format!("osd.{osd}"));
        value(&outcome(&Whatif, four(&held, None), &text), "transfer_s")
    };
    // About 140 of 280 writes go to each group. Only the device that the map puts first can lead.
    let [pushed, pulled] = ["async_recovery_min_cost = 20", "async_recovery_min_cost = 500"]
        .map(|limit| held[0].map(|osd| took(osd, limit)));
    let leads = (0..3).find(|at| pushed[*at] != pulled[*at]).expect("some device is the first of a group");
    assert!(pulled[leads] > pushed[leads], "{pulled:?} and {pushed:?}");
    assert_eq!(took(held[0][leads], ""), pushed[leads], "140 entries are more than the 100 of the default");
}

/// Clients write to 20 objects at random: of those that were written in 280 s, the share is that of a Poisson
/// process. Over 30 seeds it lies within five standard deviations.
#[test]
fn as_much_is_copied_as_was_written() {
    let (held, osd) = settled();
    let text = format!(
        "{FOUR}recovery_sleep = \"0s\"\nfail = \"DOWN\"\nreturns = \"DOWN@5min\"\nclient_writes = \"0.05/s\""
    )
    .replace("DOWN", &format!("osd.{osd}"));
    let prepared = prepared(&Whatif, four(&held, None), &text).unwrap();
    let written: f64 = (0..30)
        .map(|seed| value(&prepared.run(&RunContext::alone(Seed(seed), 0)).unwrap(), "moved_objects"))
        .sum();
    let share = 1.0 - (-0.05_f64 * 280.0 / 20.0).exp();
    let want = 600.0 * share;
    assert!((written - want).abs() < 5.0 * (600.0 * share * (1.0 - share)).sqrt(), "{written} of {want}");
}

/// A device that comes back after its data were rebuilt elsewhere takes them back: only what was written
/// since it failed is copied.
#[test]
fn a_device_comes_back_after_it_was_given_up() {
    let text = "fail = \"DOWN\"\nreturns = \"DOWN@2h\"\nclient_writes = \"0/s\"";
    let seen = two(text);
    assert_eq!((value(&seen, "moved_objects"), value(&seen, "moved_bytes")), (20.0, 0.0));
    assert_eq!(value(&seen, "time_to_clean_s"), 7_200.0, "then its copies count again");
    assert!(value(&seen, "transfer_s") < 60.0);
    let full = value(&seen, "time_to_full_redundancy_s");
    assert!((600.0..700.0).contains(&full), "its data were rebuilt elsewhere long before: {full}");
    let soon = "fail = \"DOWN\"\nreturns = \"DOWN@5min\"\nclient_writes = \"0/s\"";
    let seen = two(soon);
    assert_eq!(value(&seen, "time_to_full_redundancy_s"), 300.0, "its copies were missing until it was back");
    assert_eq!(value(&seen, "time_to_two_copies_s"), 0.0, "two copies were left all the time");
}

/// Where all lasts until a device comes back, no setting ends it sooner, though copies are written sooner.
#[test]
fn no_setting_brings_a_device_back_sooner() {
    let (held, osd) = settled();
    let helping = |later: &str| {
        let text = format!("{FOUR}fail = \"osd.{osd}\"\nclient_writes = \"0/s\"\n{later}");
        let prepared = prepared(&Whatif, four(&held, None), &text).expect("it can be asked");
        // The first replicate tries settings.
        let seen = prepared.run(&RunContext::alone(Seed(3), 0)).expect("it runs");
        let observed: observed::Observed = serde_json::from_value(seen.series["observed"].clone()).unwrap();
        assert!(!observed.work.tried.is_empty(), "{text}: no setting was tried");
        observed.work.tried.iter().filter(|tried| tried.time_s.is_some()).count()
    };
    assert_eq!(helping(&format!("returns = \"osd.{osd}@2h\"")), 0);
    assert!(helping("") > 0);
}

/// What cannot be is refused, with what to write instead.
#[test]
fn times_and_returns_that_cannot_be_are_refused() {
    let refused = |keys: &str| {
        let text = format!("{FOUR}{keys}");
        let problems = prepared(&Whatif, four(&[[0, 1, 3]], None), &text).err().expect(keys);
        problems.iter().map(|problem| problem.message().to_owned()).collect::<Vec<_>>().join("; ")
    };
    for (keys, message) in [
        ("fail = \"osd.3\"\nreturns = \"osd.3\"", "does not say when"),
        ("fail = \"osd.3\"\nreturns = \"osd.3@40\"", "`40` is no time"),
        ("mark_out = \"osd.3@soon\"", "`soon` is no time"),
        ("fail = \"osd.3\"\nreturns = \"osd.3@40min\"", "how much clients write meanwhile is not given"),
        (
            "fail = \"osd.3@1h\"\nreturns = \"osd.3@40min\"\nclient_writes = \"1/s\"",
            "osd.3 has not failed before 40min",
        ),
        ("returns = \"osd.3@40min\"\nclient_writes = \"1/s\"", "has not failed before"),
        (
            "fail = \"osd.3\"\nreturns = \"osd.7@40min\"\nclient_writes = \"1/s\"",
            "no device or bucket of that name",
        ),
        (
            "fail = \"osd.3\"\nreturns = [\"osd.3@40min\", \"osd.3@50min\"]\nclient_writes = \"1/s\"",
            "has come back before",
        ),
        ("fail = \"disk@1h\"", "what fails must be named here"),
        (
            "fail = \"osd.3\"\nasync_recovery_min_cost = 1",
            "is about devices that come back, but nothing does",
        ),
    ] {
        let refusal = refused(keys);
        assert!(refusal.contains(message), "{keys}: {refusal}");
    }
}

/// The same exports of a cluster in which this device is down: it serves no group.
fn with_down(folder: Folder, (osds, pgs): (&str, &str), osd: u32) -> Folder {
    let mut files = folder.0;
    let mut change = |name: &str, change: &dyn Fn(&mut Json)| {
        let mut dump: Json = serde_json::from_slice(&files[name]).expect(name);
        change(&mut dump);
        files.insert(name.to_owned(), dump.to_string().into_bytes());
    };
    change(osds, &|dump| {
        let devices = dump["osds"].as_array_mut().expect("a list of devices");
        let device = devices.iter_mut().find(|device| device["osd"] == osd).expect("the device is known");
        device["up"] = 0.into();
    });
    change(pgs, &|dump| {
        let groups = dump.as_array_mut().expect("a list of groups");
        for group in groups {
            for key in ["up", "acting"] {
                group[key].as_array_mut().expect("a list of devices").retain(|device| *device != osd);
            }
            group["acting_primary"] = group["acting"][0].clone();
        }
    });
    Folder(files)
}

/// What a device lacks that was down before is not known: alone it cannot come back, and with its host it
/// stays down and is named in a warning.
#[test]
fn a_device_that_was_down_before_does_not_come_back() {
    let down = || with_down(four(&[[0, 1, 3]], None), ("osds", "pgs"), 3);
    let text =
        |verb: &str| format!("{FOUR}fail = \"osd.3\"\n{verb} = \"osd.3@40min\"\nclient_writes = \"1/s\"");
    let problems = prepared(&Whatif, down(), &text("returns")).err().expect("it is refused");
    let messages = problems.iter().map(|problem| problem.message().to_owned()).collect::<Vec<_>>().join("; ");
    assert!(
        messages.contains("down in the exports already, so what it lacks is not known: osd.3"),
        "{messages}"
    );
    for verb in ["returns", "replace"] {
        assert!(prepared(&Whatif, four(&[[0, 1, 3]], None), &text(verb)).is_ok(), "it may, if it was up");
    }
    // An empty one lacks all of it.
    assert!(prepared(&Whatif, down(), &text("replace")).is_ok());
    let mut cluster = example();
    let mut dump: Json = serde_json::from_slice(&cluster.0["osd_dump.json"]).expect("a dump");
    dump["osds"][5]["up"] = 0.into();
    cluster.0.insert("osd_dump.json".to_owned(), dump.to_string().into_bytes());
    let back = "fail = \"host=h1\"\nreturns = \"host=h1@5min\"\nclient_writes = \"0/s\"";
    let seen = outcome(&Whatif, cluster, &format!("{EXAMPLE}{back}"));
    let words = "of host=h1, what was down before does not come back: osd.5";
    let warns = |outcome: &Outcome| outcome.warnings.iter().any(|warning| warning.text.contains(words));
    assert!(warns(&seen), "{:?}", seen.warnings);
    assert!(!warns(&whatif(back)));
}

proptest! {
    /// Small clusters in which devices fail, come back or are replaced while the map changes, on all
    /// executors. In some of them another device is down from the beginning.
    #[test]
    fn generated_courses_give_one_result_on_all_executors_and_keep_their_laws(
        places in proptest::collection::vec(0..4_usize, 1..5),
        (fails, back, change) in (0..60_u32, 1..1_500_u32, 0..1_500_u32),
        (which, empty) in (0..6_usize, any::<bool>()),
        writes in 0..4_usize,
        spare in 0..4_usize,
        osd in 0..4_u32,
        (seed, down) in (0..1_000_u64, prop::bool::weighted(0.2)),
    ) {
        let held: Vec<[u32; 3]> = places.iter().map(|at| HELD[*at]).collect();
        let other = (osd + 1) % 4;
        let map = match which {
            0 => format!("mark-out osd.{other}"),
            1 => format!("reweight osd.{other}=0.5"),
            2 => format!("drain osd.{other}"),
            3 => "add-host h9=1x1.0:hdd@default".to_owned(),
            4 => "rule data=pair".to_owned(),
            _ => format!("fail osd.{other}"),
        };
        let verb = if empty { "replace" } else { "returns" };
        let changes = format!(
            "changes = [\"fail osd.{osd}@{fails}s\", \"{verb} osd.{osd}@{}s\", \"{map}@{change}s\"]",
            fails + back
        );
        let writes = ["0/s", "0.01/s", "0.2/s", "1000/s"][writes];
        let text = format!("osd_df = \"df\"\n{FOUR}{changes}\nclient_writes = \"{writes}\"\nlog_entries = 12");
        let mut cluster = filled(&held, spare);
        if down {
            cluster = with_down(cluster, ("osds", "pgs"), (osd + 2) % 4);
        }
        let prepared = prepared(&Whatif, cluster, &text);
        let prepared = prepared.unwrap_or_else(|problems| panic!("{changes}: {problems:?}"));
        let ran = on_all_executors(&*prepared, seed);
        let (want, differ) = ran.unwrap_or_else(|error| panic!("{changes}: {error}"));
        prop_assert_eq!(differ, Vec::<String>::new(), "{}", changes);
        prop_assert_eq!(broken(&want), Vec::<String>::new(), "{}", changes);
        prop_assert!(is_settled(&want, true), "{}", changes);
    }
}

/// A former fault: what was replaced before its failure was detected counted as full at once. That it boots
/// shows that it was down.
#[test]
fn what_is_replaced_before_it_is_missed_is_filled_all_the_same() {
    let seen = |change: &str| outcome(&Whatif, four(&[[0, 1, 3]], None), &format!("{FOUR}{change}"));
    let late = seen("fail = \"osd.3\"\nreplace = \"osd.3@25s\"");
    let early = seen("fail = \"osd.3\"\nreplace = \"osd.3@10s\"");
    assert!(value(&late, "written_bytes") > 0.0);
    assert_eq!(value(&early, "written_bytes"), value(&late, "written_bytes"));
    // It leads the group, of which nothing moves until it is known to be down. Replaced before that, it and
    // the other new device take each object in one job.
    assert_eq!((value(&early, "moved_objects"), value(&late, "moved_objects")), (10.0, 20.0));
    let times = [&early, &late].map(|seen| value(seen, "time_to_full_redundancy_s"));
    assert!(times[0] > 10.0 && (times[1] - times[0] - 15.0).abs() < 0.1, "{times:?}");
    // A part of a host that boots says nothing of the rest.
    let part = whatif("fail = \"host=h1\"\nreplace = \"osd.4@10s\"");
    let said = |seen: &Outcome| Warning::texts(seen.warnings.clone()).join("; ");
    assert!(said(&part).contains("osd.4 is back before its failure is detected"), "{}", said(&part));
    assert!(!said(&early).contains("is back before"), "{}", said(&early));
}

/// Until a device is known to be down its groups take no writes, so a daemon that starts again at once has
/// nothing to recover; a flag that keeps it from being marked down does not outlive its boot.
#[test]
fn what_boots_again_was_down() {
    let at_once = "fail = \"DOWN\"\nreturns = \"DOWN@5s\"\nclient_writes = \"1/s\"";
    assert_eq!(value(&two(at_once), "moved_objects"), 0.0);
    let flagged = format!("{at_once}\nset_flag = \"nodown\"").replace("@5s", "@30min");
    let flagged = two(&flagged);
    assert_eq!(value(&flagged, "moved_objects"), 0.0);
    assert_eq!(value(&flagged, "time_to_full_redundancy_s"), 1_800.0);
    // Without the flag it was missed after 20 s, and all that was written since is recovered.
    let missed = two(&at_once.replace("@5s", "@5min"));
    assert!(value(&missed, "moved_objects") > 0.0);
    // One that never boots is never missed, and how many groups take no writes is no 0.
    let never = two("fail = \"DOWN\"\nset_flag = \"nodown\"");
    assert!(reason(&never, "below_min_size").contains("`nodown` is set"));
}

/// A group all of whose devices are away for a while is named, also where all come back.
#[test]
fn groups_without_any_copy_for_a_while_are_named() {
    let said = || {
        let fails = "fail = [\"osd.0\", \"osd.1\", \"osd.3\"]";
        let text = format!("{FOUR}{fails}\nreturns = \"osd.3@2h\"\nclient_writes = \"0/s\"");
        let (seen, words) = super::flags::answered(four(&[[0, 1, 3]], None), &text);
        assert_eq!(value(&seen, "lost_objects"), 0.0);
        words.verdict.unwrap().reason().to_owned()
    };
    let all = said();
    assert!(
        all.contains("1 group has too few copies or shards left to be read until devices return"),
        "{all}"
    );
    let words = super::flags::answered(four(&[[0, 1, 3]], None), &format!("{FOUR}fail = \"osd.0\"")).1;
    assert!(!words.verdict.unwrap().reason().contains("until devices return"));
}

/// Clients that are paused write nothing, so both together are refused.
#[test]
fn writes_of_paused_clients_are_refused() {
    let refused = |flag: &str, writes: &str| {
        let text = format!(
            "{FOUR}fail = \"osd.3\"\nreturns = \"osd.3@5min\"\nclient_writes = \"{writes}\"\nset_flag = \"{flag}\""
        );
        let problems = prepared(&Whatif, four(&[[0, 1, 3]], None), &text).err();
        problems.is_some_and(|problems| problems.iter().any(|one| one.message().contains("(`pause`)")))
    };
    assert!(refused("pause", "8/s") && refused("pause@1min", "8/s"));
    assert!(!refused("pause", "0/s") && !refused("noout", "8/s"));
}

/// What is at risk after a later failure stands at the time of that failure, in an estimate too.
#[test]
fn what_is_at_risk_later_has_its_time_in_an_estimate() {
    let moments = |exact: &str| -> Vec<f64> {
        let seen = whatif(&format!("fail = [\"osd.3\", \"osd.7@3h\"]\n{exact}"));
        let moments = seen.series["exposure"]["moments"].as_array().unwrap().clone();
        moments.iter().map(|moment| moment[0].as_f64().unwrap()).collect()
    };
    let estimated = moments("exact_objects = 5000");
    assert_eq!(estimated, moments("exact = true"));
    assert!(estimated.contains(&10_800.0), "{estimated:?}");
}

/// A former fault: the replacement was dropped without a word.
#[test]
fn a_failure_and_a_replacement_at_once_are_refused() {
    let refused = |change: &str| {
        let problems = prepared(&Whatif, four(&[[0, 1, 3]], None), &format!("{FOUR}{change}"));
        problems.err().map(|problems| problems.iter().map(|one| one.message().to_owned()).collect::<String>())
    };
    let both = refused("fail = \"osd.3\"\nreplace = \"osd.3\"").unwrap();
    assert!(both.contains("osd.3 fails at the same time"), "{both}");
    assert_eq!(refused("fail = \"osd.3@1h\"\nreplace = \"osd.3\""), None);
    assert_eq!(refused("fail = \"osd.1\"\nreplace = \"osd.3\""), None);
}

/// A former fault: the model panicked where its times ended.
#[test]
fn a_recovery_beyond_the_end_of_time_is_an_error() {
    let text = format!("{EXAMPLE}fail = \"osd.3\"\ndisk_read = \"1B/s\"");
    let failed = prepared(&Whatif, example(), &text).unwrap().run(&RunContext::alone(Seed(3), 1));
    assert!(
        matches!(failed, Err(StudyError::Run(towtank_kernel::RunError::TimeOverflow { .. }))),
        "{failed:?}"
    );
}

/// What is rebuilt before the next failure is not missing then. Two failures at once leave single copies;
/// days apart they do not, and so they lose data less likely.
#[test]
fn failures_far_apart_do_not_add_up() {
    let seen = |gap: &str| {
        with_room(&format!("changes = [\"fail osd.3\", \"fail osd.7@{gap}\"]\nrecovery_sleep = \"0s\""))
    };
    let [soon, late] = ["30s", "3d"].map(seen);
    let alone = with_room("changes = [\"fail osd.3\"]\nrecovery_sleep = \"0s\"");
    assert!(value(&alone, "time_to_clean_s") < 3.0 * 86_400.0, "the second failure comes too early");
    for measure in ["one_copy_bytes", "devices_critical", "data_loss_probability_fraction"] {
        let [soon, late] = [&soon, &late].map(|seen| value(seen, measure));
        assert!(soon > late, "{measure}: {soon} and {late}");
    }
    assert_eq!(value(&late, "one_copy_bytes"), 0.0);
    assert!(value(&late, "two_copies_bytes") >= value(&alone, "two_copies_bytes"));
    assert_eq!(value(&alone, "time_to_two_copies_s"), 0.0);
}
