//! The study on the example cluster and on small ones, in good and in bad states.

use std::sync::Arc;

use towtank_report::Outcome;
use towtank_scenario::{Document, Source};
use towtank_streams::{Draws, Purpose, Seed, Uniform as _};
use towtank_study::{PointResult, Study};

use super::*;
use crate::exports::samples::{EXAMPLE, Folder, example, placed};
use crate::whatif::replay::Replay;

type Json = serde_json::Value;

fn outline(folder: Folder, text: &str) -> Result<Box<dyn towtank_study::Prepared>, Problems> {
    let text = format!("study = \"durability\"\n{text}");
    let document = Document::parse(&Source::file("asked.toml", text))?.with_files(Arc::new(folder));
    let outline = document.outline()?;
    Study::check(&Durability, outline.points()[0].draft())
}

fn answered(folder: Folder, text: &str) -> (Outcome, String) {
    let prepared = outline(folder, text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
    let outcome = prepared.run(&RunContext::alone(Seed(3), 0)).unwrap();
    let outcomes = [outcome.clone()];
    let scenario = prepared.resolved();
    let point = PointResult { settings: &[], scenario: &scenario, outcomes: &outcomes };
    let answer = Study::present(&Durability, &[point]).answer;
    (outcome, answer.prose())
}

fn value(outcome: &Outcome, measure: &str) -> f64 {
    let found = &outcome.measures[measure];
    found.value().unwrap_or_else(|| panic!("{measure} is missing: {:?}", found.reason()))
}

fn refused(folder: Folder, text: &str) -> String {
    let problems = outline(folder, text).err().unwrap_or_else(|| panic!("{text} is taken"));
    problems.iter().map(|problem| problem.message().to_owned()).collect::<Vec<_>>().join("; ")
}

/// Six hosts with one device each, in two racks, and 16 groups of three copies where the map places them;
/// some devices are down.
fn small(down: &[i64]) -> Folder {
    hosts((6, 16), (40_000_000, 10), down)
}

/// So many hosts with one device each, in two racks, and so many groups of three copies with so many bytes
/// and objects each.
fn hosts((hosts, groups): (i64, u32), (bytes, objects): (u64, u64), down: &[i64]) -> Folder {
    let count = groups;
    let mut map = String::from(
        "tunable choose_total_tries 50\ntunable chooseleaf_descend_once 1\ntunable chooseleaf_vary_r 1\ntunable \
         chooseleaf_stable 1\ntunable straw_calc_version 1\n",
    );
    (0..hosts).for_each(|osd| map += &format!("device {osd} osd.{osd} class hdd\n"));
    map += "type 0 osd\ntype 1 host\ntype 3 rack\ntype 11 root\n";
    let bucket = |name: String, id: i64, items: &[String], weight: &str| {
        let items: String = items.iter().map(|item| format!("\titem {item} weight {weight}\n")).collect();
        format!("{name} {{\n\tid {id}\n\talg straw2\n\thash 0\n{items}}}\n")
    };
    for host in 0..hosts {
        map += &bucket(format!("host h{host}"), -2 - host, &[format!("osd.{host}")], "1.0");
    }
    let each = hosts / 2;
    for rack in 0..2 {
        let end = if rack == 0 { each } else { hosts };
        let own: Vec<String> = (each * rack..end).map(|host| format!("h{host}")).collect();
        map += &bucket(format!("rack r{rack}"), -100 - rack, &own, "1.0");
    }
    let racks: String = (0..2).map(|rack| format!("\titem r{rack} weight {each}.0\n")).collect();
    map += &format!("root default {{\n\tid -1\n\talg straw2\n\thash 0\n{racks}}}\n");
    map += "rule one {\n\tid 0\n\ttype replicated\n\tmin_size 1\n\tmax_size 10\n\tstep take default\n";
    map += "\tstep chooseleaf firstn 0 type host\n\tstep emit\n}\n";
    let osd =
        |osd: i64| format!(r#"{{"osd":{osd},"up":{},"in":1,"weight":1.0}}"#, i32::from(!down.contains(&osd)));
    let osds: Vec<String> = (0..hosts).map(osd).collect();
    let pool = format!(
        r#"{{"pool":1,"pool_name":"data","type":1,"size":3,"min_size":2,"crush_rule":0,"flags":1,"pg_num":{groups},"pg_placement_num":{groups}}}"#
    );
    let dump = format!(r#"{{"pools":[{pool}],"osds":[{}]}}"#, osds.join(","));
    let group = |seed: u32| {
        format!(
            r#"{{"pgid":"1.{seed:x}","state":"active+clean","up":[],"acting":[],"stat_sum":{{"num_bytes":{bytes},"num_objects":{objects}}}}}"#
        )
    };
    let groups: Vec<String> = (0..groups).map(group).collect();
    let file = |name: &str, text: String| (name.to_owned(), text.into_bytes());
    let folder =
        Folder([file("map", map), file("osds", dump), file("pgs", format!("[{}]", groups.join(",")))].into());
    let Folder(mut files) = placed(folder);
    let mut groups: Json = serde_json::from_slice(&files["pgs"]).unwrap();
    for group in groups.as_array_mut().unwrap() {
        let left = group["acting"].as_array().unwrap().len();
        group["state"] = match left {
            3 => "active+clean",
            0 => "down",
            _ => "active+undersized+degraded",
        }
        .into();
    }
    files.insert("pgs".to_owned(), groups.to_string().into_bytes());
    let used = 3 * bytes / 1_000 * u64::from(count) / hosts as u64;
    let node = |osd: i64| format!(r#"{{"id":{osd},"kb":{},"kb_used":{used}}}"#, 25 * used);
    let nodes: Vec<String> = (0..hosts).map(node).collect();
    files.insert("df".to_owned(), format!(r#"{{"nodes":[{}]}}"#, nodes.join(",")).into_bytes());
    Folder(files)
}

const SMALL: &str = "crush_map = \"map\"\nosd_dump = \"osds\"\npg_dump = \"pgs\"\nosd_df = \"df\"\n";

/// The devices of each group of the small cluster.
fn groups(folder: &Folder) -> Vec<Vec<i64>> {
    let groups: Json = serde_json::from_slice(&folder.0["pgs"]).unwrap();
    let of =
        |group: &Json| group["acting"].as_array().unwrap().iter().map(|id| id.as_i64().unwrap()).collect();
    groups.as_array().unwrap().iter().map(of).collect()
}

/// What three devices at once lose is what counting says, and of one device or two nothing is lost.
#[test]
fn bursts_are_counted_on_the_groups_as_they_are() {
    let all = groups(&small(&[]));
    let lost = |set: &[i64]| all.iter().any(|group| group.iter().all(|osd| set.contains(osd)));
    let (mut losing, mut sets, mut in_two, mut of_two) = (0, 0, 0, 0);
    for one in 0..6 {
        for two in one + 1..6 {
            for three in two + 1..6 {
                let mut racks: Vec<i64> = [one, two, three].iter().map(|osd| osd / 3).collect();
                racks.dedup();
                let loses = u32::from(lost(&[one, two, three]));
                (losing, sets) = (losing + loses, sets + 1);
                if racks.len() == 2 {
                    (in_two, of_two) = (in_two + loses, of_two + 1);
                }
            }
        }
    }
    assert!(losing > 0 && losing < sets && in_two > 0, "{losing} of {sets}, {in_two} of {of_two}");
    let ask =
        |burst: &str| value(&answered(small(&[]), &format!("{SMALL}burst = \"{burst}\"")).0, "burst_loss");
    assert!((ask("3 disks") - f64::from(losing) / f64::from(sets)).abs() < 1e-12);
    assert!((ask("3 hosts") - f64::from(losing) / f64::from(sets)).abs() < 1e-12);
    assert!((ask("3 disks in 2 racks") - f64::from(in_two) / f64::from(of_two)).abs() < 1e-12);
    assert_eq!(ask("2 disks"), 0.0);
    assert_eq!(ask("50 % of disks"), ask("3 disks"));
}

/// The probability is that of three failures within a repair, to leading order.
#[test]
fn three_failures_within_repairs_lose_data() {
    let often = format!("{SMALL}failure_rate = \"50%\"\ndown_out = \"24h\"\nreplace_after = \"30h\"");
    let (seen, words) = answered(small(&[]), &often);
    let loss = value(&seen, "loss_probability");
    assert!(words.contains("they agree") && words.contains("from a whole cluster"), "{words}");
    // Each losing set of three: a first failure, a second one while it is repaired, a third one while two
    // lack.
    let all = groups(&small(&[]));
    let mut sets: Vec<Vec<i64>> = all
        .iter()
        .map(|group| {
            let mut group = group.clone();
            group.sort_unstable();
            group
        })
        .collect();
    sets.sort();
    sets.dedup();
    let per_h = 0.5 / 8_766.0;
    let [one_h, two_h] = ["repair_s", "repair_two_s"].map(|name| value(&seen, name) / 3_600.0);
    let orders = 6.0;
    let expected = sets.len() as f64 * orders * per_h * 8_766.0 * (per_h * one_h) * (per_h * two_h) / 2.0;
    assert!((0.2..5.0).contains(&(loss / expected)), "{loss}, and {expected} to leading order");
    // Planted: a formula that forgets the third failure is off by orders of magnitude.
    assert!(loss < 1e-2 * expected / (per_h * two_h));
    assert!((value(&seen, "loss_nines") + loss.log10()).abs() < 1e-9);
    assert!(value(&seen, "loss_low") <= loss && loss <= value(&seen, "loss_high"));
}

/// More failures, a longer mission and a later repair make a loss more likely; one seed has one result.
#[test]
fn what_is_worse_is_less_durable() {
    let ask = |keys: &str| answered(small(&[]), &format!("{SMALL}replace_after = \"30h\"\n{keys}")).0;
    let loss = |keys: &str| value(&ask(keys), "loss_probability");
    let usual = loss("");
    assert_eq!(usual, loss(""));
    // Three times the rate is 27 times the loss, three times the mission is three times it.
    let more = loss("failure_rate = \"4.5%\"") / usual;
    assert!((20.0..35.0).contains(&more), "{more}");
    let longer = loss("mission = \"26298h\"") / usual;
    assert!((2.5..3.5).contains(&longer), "{longer}");
    assert!(loss("down_out = \"24h\"") > 2.0 * usual);
    // A replacement that comes first is what repairs a device.
    let late = value(&ask("down_out = \"240h\""), "repair_s");
    assert!((late / 108_000.0 - 1.0).abs() < 0.02, "{late} s with a replacement after 30 h");
    let ratio = loss("down_out = \"240h\"") / loss("down_out = \"30h\"");
    assert!((0.5..1.5).contains(&ratio), "{ratio} times as likely as with that time until it is out");
}

/// Each way in which things fail makes a loss more likely, and is named; forms of one rate are one rate.
#[test]
fn ways_in_which_things_fail_are_added() {
    let ask = |keys: &str| answered(small(&[]), &format!("{SMALL}replace_after = \"30h\"\n{keys}"));
    let loss = |keys: &str| value(&ask(keys).0, "loss_probability");
    let usual = loss("failure_rate = \"3%\"");
    let probability = -(-0.03_f64).exp_m1() * 100.0;
    let same = loss(&format!("failure_probability = \"{probability:.6}%\""));
    assert!((same / usual - 1.0).abs() < 0.02, "{same} and {usual}");
    let read = "failure_rate = \"3%\"\nlatent_error_rate = \"500%\"\nscrub_interval = \"14d\"";
    let (seen, words) = ask(read);
    let more = value(&seen, "loss_probability");
    assert!(more > 3.0 * usual && words.contains("an unreadable place"), "{more} and {usual}: {words}");
    assert!(!words.contains("unreadable sectors"), "{words}");
    let (seen, words) = ask("failure_rate = \"3%\"\nserver_ruin_rate = \"30%\"");
    let ruined = value(&seen, "loss_probability");
    // Each host has one device: eleven times as many failures.
    assert!((400.0..4_000.0).contains(&(ruined / usual)), "{ruined} and {usual}: {words}");
    assert!(
        words.contains("a host or rack that is ruined") && words.contains("each host is ruined 0.3 times"),
        "{words}"
    );
    let (seen, words) = ask("failures = 9\ndisk_years = 300");
    let [low, at, high] =
        ["loss_at_low_rate", "loss_probability", "loss_at_high_rate"].map(|name| value(&seen, name));
    assert!((at / usual - 1.0).abs() < 0.02 && low < 0.3 * at && high > 3.0 * at, "{low} {at} {high}");
    assert!(words.contains("counted: 0.01372 to 0.05695"), "{words}");
    let [fast, slow] = ["loss_if_fast", "loss_if_slow"].map(|name| value(&seen, name));
    assert!(fast <= at * 1.1 && slow >= at * 0.9 && fast <= slow, "{fast} {at} {slow}");
}

/// The small cluster with other texts in its exports.
fn changed(file: &str, from: &str, to: &str) -> Folder {
    let Folder(mut files) = small(&[]);
    let text = String::from_utf8(files[file].clone()).unwrap();
    assert!(text.contains(from), "{text}");
    files.insert(file.to_owned(), text.replacen(from, to, 1).into_bytes());
    Folder(files)
}

/// Nobody knows how likely a loss is from a state that is not modelled.
#[test]
fn a_state_that_is_not_modelled_is_refused() {
    for (folder, why) in [
        (small(&[0, 1, 2, 3, 4]), "of the cluster as it is"),
        (changed("pgs", "active+clean", "active+recovering+degraded"), "lacks copies of objects"),
        (changed("pgs", "active+clean", "stale+active+clean"), "in an unknown state"),
        (changed("pgs", "active+clean", "down"), "serves no requests now"),
        (changed("pgs", "active+clean", "active+clean+inconsistent"), "is inconsistent"),
        (changed("pgs", "active+clean", "active+clean+wait"), "read lease"),
        (changed("pgs", "active+clean", "active+forced_backfill"), "not active+clean"),
    ] {
        let said = refused(folder, SMALL);
        assert!(said.contains(why), "{why}: {said}");
    }
    let said = refused(small(&[]), "crush_map = \"map\"\nosd_dump = \"osds\"\npg_dump = \"pgs\"\n");
    assert!(said.contains("the fill of the devices is not known"), "{said}");
    let scrubbed = changed("pgs", "active+clean", "active+clean+scrubbing+deep");
    assert!(outline(scrubbed, SMALL).is_ok());
    // A flag keeps repairs from happening, and no replacement helps.
    let flagged = changed("osds", "\"pools\"", "\"flags\":\"sortbitwise,noout\",\"pools\"");
    let (seen, _) = answered(flagged, SMALL);
    let why = seen.measures["loss_probability"].reason().unwrap().to_owned();
    assert!(why.contains("not marked out"), "{why}");
}

/// A cluster that lacks something begins there: with more to lose at first, and with the repairs of a whole
/// cluster later.
#[test]
fn a_degraded_cluster_begins_there() {
    let keys = format!(
        "{SMALL}failure_rate = \"20%\"\nmission = \"48h\"\ndown_out = \"12h\"\nreplace_after = \"36h\"\n"
    );
    let (whole, words) = answered(small(&[]), &keys);
    assert!(words.contains("from a whole cluster"), "{words}");
    let (now, words) = answered(small(&[2]), &keys);
    let lacking = groups(&small(&[])).iter().filter(|group| group.contains(&2)).count();
    assert!(
        words.contains(&format!("beginning with {lacking} groups that lack a device now, until ")),
        "{words}"
    );
    // Until it is out nothing is restored, and two failures lose data: not three within a repair.
    let [before, after] = [&whole, &now].map(|seen| value(seen, "loss_probability"));
    assert!(after > 20.0 * before, "{after} and {before}");
    // Pairs of devices of which a group has the rest: both fail before it is restored.
    let mut pairs: Vec<Vec<i64>> =
        groups(&small(&[2])).into_iter().filter(|group| group.len() == 2).collect();
    pairs.iter_mut().for_each(|pair| pair.sort_unstable());
    pairs.sort();
    pairs.dedup();
    let each: f64 = 0.2 / 8_766.0 * 12.0;
    let expected = pairs.len() as f64 * each.powi(2);
    assert!((0.8..1.3).contains(&(after / expected)), "{after}, and {expected} to leading order");
    // Planted: the copies of the device that is down do not count.
    let all = 15.0 * each.powi(2);
    assert!(pairs.len() < 15 && !(0.8..1.3).contains(&(after / all)), "{} pairs", pairs.len());
    // A burst meets the groups as they stand now.
    let (burst, words) = answered(small(&[2]), &format!("{keys}burst = \"2 disks\"\n"));
    let share = pairs.len() as f64 / 10.0;
    assert!((value(&burst, "burst_loss") - share).abs() < 1e-12, "{share}: {words}");
    assert!(words.contains("if 2 disks fail at once now:"), "{words}");
    // The repairs of later failures are those of a whole cluster.
    let [one, other] = [&whole, &now].map(|seen| value(seen, "repair_s"));
    assert!((one / other - 1.0).abs() < 0.2, "{one} and {other}");
}

/// Where the map has no other device for what is lacking, a replacement brings it, or nothing does.
#[test]
fn what_is_down_may_be_replaced() {
    let three = || hosts((3, 16), (40_000_000, 10), &[2]);
    let said = refused(three(), SMALL);
    assert!(said.contains("16 groups lack a device, and the map has no other for it"), "{said}");
    let keys = format!("{SMALL}failure_rate = \"20%\"\nreplace_after = \"24h\"\nmission = \"24h\"\n");
    let (seen, words) = answered(three(), &keys);
    assert!(
        words.contains("beginning with 16 groups that lack a device now, until 1.001 d from now"),
        "{words}"
    );
    // Both of the others fail within the day; planted: one of them is not enough.
    let each: f64 = 0.2 / 8_766.0 * 24.0;
    let loss = value(&seen, "loss_probability");
    assert!((0.95..1.05).contains(&(loss / each.powi(2))), "{loss} and {}", each.powi(2));
    assert!(loss < 0.01 * each);
}

/// Each failure loses data of a pool of one copy.
#[test]
fn a_pool_of_one_copy_is_refused() {
    let Folder(mut files) = changed("osds", "\"size\":3,\"min_size\":2", "\"size\":1,\"min_size\":1");
    let mut groups: Json = serde_json::from_slice(&files["pgs"]).unwrap();
    for group in groups.as_array_mut().unwrap() {
        for of in ["up", "acting"] {
            group[of].as_array_mut().unwrap().truncate(1);
        }
    }
    files.insert("pgs".to_owned(), groups.to_string().into_bytes());
    let said = refused(Folder(files), SMALL);
    assert!(said.contains("each failure of a device loses data"), "{said}");
}

/// What has no room is not repaired, which is said; a replacement repairs it.
#[test]
fn a_repair_that_does_not_fit_has_no_probability() {
    let (seen, words) = answered(example(), EXAMPLE);
    let why = seen.measures["loss_probability"].reason().unwrap().to_owned();
    assert!(why.contains("do not fit") && why.contains("replace_after"), "{why}");
    assert!(words.starts_with("no probability of loss: when osd."), "{words}");
}

#[test]
fn what_cannot_be_is_refused() {
    for (keys, why) in [
        ("mission = \"0s\"", "`mission` is"),
        ("mission = \"4500000h\"", "`mission` is"),
        ("failure_rate = \"0%\"", "`failure_rate` is 0"),
        ("burst = \"7 disks\"", "has 6 disks"),
        ("burst = \"2 disks in 3 racks\"", "`burst` has"),
        ("burst = [\"3 disks\", \"x\"]", "does not say what fails"),
        ("fail = \"osd.3\"", "unknown key `fail`"),
        ("failure_probability = \"2%\"\nfailure_rate = \"2%\"", "both say how often"),
        ("failures = 3", "are missing"),
        ("latent_error_rate = \"3%\"", "goes with `scrub_interval`"),
        ("server_outage_rate = \"3%\"\nserver_outage_time = \"1h\"", "is asked of a cluster"),
        ("weibull_shape = 2.0", "a law of age"),
        ("ec = \"4+2\"", "asks for two systems"),
    ] {
        let said = refused(small(&[]), &format!("{SMALL}{keys}"));
        assert!(said.contains(why), "{keys}: {said}");
    }
    assert!(refused(small(&[]), "").contains("missing"));
}

/// Missions in which devices fail at drawn times, each run whole by the model of `whatif`: as many lose data
/// as the study says. What it puts together from single recoveries is judged by this: which groups are
/// exposed how long, what is left of a repair when another device fails, and where groups are after it.
#[test]
fn missions_that_are_run_whole_lose_data_as_often() {
    let is_long = std::env::var_os("TOWTANK_DURABILITY_LONG").is_some();
    let missions = if is_long { 6_000 } else { 300 };
    let folder = || hosts((16, 256), (100_000_000_000, 25_000), &[]);
    let (mission_h, a_year) = (40.0, 40.0);
    let keys = format!("{SMALL}down_out = \"10min\"\n");
    let asked = format!("{keys}failure_rate = \"4000%\"\nmission = \"40h\"\n");
    let (seen, words) = answered(folder(), &asked);
    let loss = value(&seen, "loss_probability");
    let files: Arc<dyn towtank_scenario::Files> = Arc::new(folder());
    let (mut lost, mut run, mut again) = (0, 0, 0);
    for mission in 0..missions {
        let mut draws = Draws::new(Seed(77), 0, mission);
        let mut source = draws.of(Purpose(1));
        let mut failures: Vec<(f64, i64)> = Vec::new();
        for osd in 0..16 {
            let mut at = source.unit_exponential() * 8_766.0 / a_year;
            if at < mission_h {
                failures.push((at, osd));
                at += source.unit_exponential() * 8_766.0 / a_year;
                again += u32::from(at < mission_h);
            }
        }
        failures.sort_by(|one, next| one.0.total_cmp(&next.0));
        let first = failures.first().map_or(0.0, |first| first.0);
        let each: Vec<String> = failures
            .iter()
            .map(|(at, osd)| match ((at - first) * 3_600.0).round() as u64 {
                0 => format!("\"osd.{osd}\""),
                after => format!("\"osd.{osd}@{after}s\""),
            })
            .collect();
        if failures.len() > 2 {
            run += 1;
            let text = format!("study = \"whatif\"\n{keys}fail = [{}]", each.join(", "));
            let replay =
                Replay::of(text.clone(), Arc::clone(&files)).unwrap_or_else(|why| panic!("{text}: {why:?}"));
            let found = replay.lost(mission as u32, &RunContext::alone(Seed(0), 0)).unwrap();
            lost += u32::from(found > 0);
        }
    }
    let share = f64::from(lost) / missions as f64;
    let error = (loss * (1.0 - loss) / missions as f64).sqrt();
    println!("{lost} of {missions} missions ({run} run), {again} failed again: {share} and {loss}; {words}");
    assert!((share - loss).abs() < 4.0 * error, "{share} of missions, and {loss} ({error})");
    // Planted: groups that are exposed until the last one of their device is restored are lost thrice as
    // often.
    let bound = 3.0 * loss;
    assert!((share - bound).abs() > 4.0 * (bound * (1.0 - bound) / missions as f64).sqrt());
}
