//! Several bad states and changes at once: each with what Ceph's rules make of it.

use towtank_report::Answer;

use super::flags::answered;
use super::real::with_down;
use super::*;

type Json = serde_json::Value;

/// Four racks of two devices each, 32 groups of three copies in hosts, of which some devices are down;
/// `min_size` is 2, and groups have the states that follow.
fn cluster(down: &[i32], flags: &str) -> Folder {
    let Folder(mut files) = with_down(4, down);
    let mut groups: Json = serde_json::from_slice(&files["pgs"]).unwrap();
    for group in groups.as_array_mut().unwrap() {
        group["state"] = match group["acting"].as_array().unwrap().len() {
            3 => "active+clean",
            2 => "active+undersized+degraded",
            _ => "undersized+degraded+peered",
        }
        .into();
    }
    files.insert("pgs".to_owned(), groups.to_string().into_bytes());
    let mut dump: Json = serde_json::from_slice(&files["osds"]).unwrap();
    dump["pools"][0]["min_size"] = 2.into();
    dump["flags"] = format!("sortbitwise{flags}").into();
    files.insert("osds".to_owned(), dump.to_string().into_bytes());
    Folder(files)
}

/// The devices of each group.
fn acting(folder: &Folder) -> Vec<Vec<i64>> {
    let groups: Json = serde_json::from_slice(&folder.0["pgs"]).unwrap();
    let of =
        |group: &Json| group["acting"].as_array().unwrap().iter().map(|id| id.as_i64().unwrap()).collect();
    groups.as_array().unwrap().iter().map(of).collect()
}

fn asked(folder: Folder, keys: &str) -> (Outcome, Answer) {
    answered(folder, &format!("crush_map = \"map\"\nosd_dump = \"osds\"\npg_dump = \"pgs\"\n{keys}"))
}

/// When something happens by the course of an answer.
fn at(answer: &Answer, what: &str) -> Option<f64> {
    answer
        .course
        .iter()
        .find(|step| step.what == what)
        .map(|step| step.at_s.get().expect("a step has its time"))
}

/// A group that took no writes waits for what is down, whatever else fails; one that took writes has left it
/// behind.
#[test]
fn a_further_failure_of_a_group_that_takes_no_writes_loses_nothing() {
    let folder = || cluster(&[0, 2], ",noout");
    let groups = acting(&folder());
    let left =
        |count: usize| groups.iter().filter(|group| group.len() == count && group.contains(&7)).count();
    let (waiting, alone) = (left(1), groups.iter().filter(|group| group.len() == 2).count());
    assert!(waiting > 0 && alone > 0, "{groups:?}");
    let (seen, answer) = asked(folder(), "fail = \"osd.7\"");
    assert_eq!(value(&seen, "lost_objects"), 0.0, "{}", answer.prose());
    assert_eq!(value(&seen, "unavailable_objects"), 10.0 * waiting as f64);
    assert!(answer.prose().contains("lost only if these never return"), "{}", answer.prose());
    // With the devices gone for good that were down, they are lost.
    let (seen, _) = asked(folder(), "fail = \"osd.7\"\nremove = [\"osd.0\", \"osd.2\"]");
    assert_eq!(value(&seen, "lost_objects"), 10.0 * waiting as f64);
    // Groups with two copies left took writes: what fails takes them, and what is down is old.
    let pair = groups.iter().find(|group| group.len() == 2).unwrap();
    let both = groups.iter().filter(|group| group.iter().all(|osd| pair.contains(osd)) && group.len() == 2);
    let (seen, _) = asked(folder(), &format!("fail = [\"osd.{}\", \"osd.{}\"]", pair[0], pair[1]));
    assert_eq!(value(&seen, "lost_objects"), 10.0 * both.count() as f64);
}

/// The time of what is down begins anew when its rack is no more down as a whole.
#[test]
fn what_is_left_of_a_rack_is_marked_out_when_a_part_of_it_is_back() {
    let keys = "fail = [\"osd.0\", \"osd.1\"]\nclient_writes = \"0/s\"\n";
    for (down, more, out) in [
        (&[][..], &format!("{keys}returns = \"osd.0@30min\"")[..], Some(2400.0)),
        (&[], &format!("{keys}returns = \"osd.0@5min\""), Some(900.0)),
        (&[], &format!("{keys}replace = \"osd.0@30min\""), Some(2400.0)),
        (&[], &format!("{keys}add_host = \"h9=1x1.0@r0\""), Some(620.0)),
        (&[], &format!("{keys}add_host = \"h9=1x1.0@r0@20min\""), Some(1800.0)),
        (&[], keys, None),
        (&[0, 1], "replace = \"osd.0\"", Some(600.0)),
        (&[0, 1], "replace = \"osd.0@5min\"", Some(900.0)),
        (&[0, 1], "add_host = \"h9=1x1.0@r0@20min\"", Some(1800.0)),
        (&[0, 1], "", None),
    ] {
        let (_, answer) = asked(cluster(down, ""), more);
        let found = answer.course.iter().find(|step| step.what.contains("osd.1 marked out"));
        let also = answer.course.iter().find(|step| step.what.contains("osd.0, osd.1 marked out"));
        let found = found.or(also).map(|step| step.at_s.get().expect("a step has its time"));
        assert_eq!(found, out, "{down:?} {more}: {:?}", answer.course);
        let stays = answer.prose().contains("a whole rack that is down");
        assert_eq!(stays, out.is_none(), "{down:?} {more}: {}", answer.prose());
    }
}

/// Nothing waits for a device that the map places nothing on, and each is named once.
#[test]
fn what_is_put_out_or_removed_is_not_waited_for() {
    for keys in ["mark_out = \"osd.0\"", "remove = \"osd.0\"", "drain = \"osd.0\"", "reweight = \"osd.0=0\""]
    {
        let prose = asked(cluster(&[0, 2], ",noout"), keys).1.prose();
        assert!(prose.contains("wait for osd.2, which stays in"), "{keys}: {prose}");
    }
    let prose = asked(cluster(&[0, 2], ",noout"), "fail = \"osd.0\"").1.prose();
    assert!(prose.contains("wait for osd.0, osd.2, which stay in"), "{prose}");
}

/// A failure of which only a part is marked out is named by that part.
#[test]
fn each_part_of_a_failure_has_its_own_name() {
    let (_, answer) =
        asked(cluster(&[], ""), "fail = \"rack=r0\"\nset_flag = \"noout:osd.1\"\nrack_out = true");
    assert_eq!(at(&answer, "osd.0 marked out"), Some(620.0), "{:?}", answer.course);
    assert!(answer.prose().contains("wait for osd.1, which stays in"), "{}", answer.prose());
}

/// What is out already is not marked out.
#[test]
fn what_is_out_is_not_marked_out_again() {
    for keys in ["fail = \"osd.0\"\nmark_out = \"osd.0@1min\"", "mark_out = \"osd.0\"\nfail = \"osd.0@1min\""]
    {
        let (_, answer) = asked(cluster(&[], ""), keys);
        assert!(!answer.course.iter().any(|step| step.what.contains("marked out")), "{:?}", answer.course);
    }
    let (_, answer) = asked(cluster(&[], ""), "fail = \"osd.0\"\nmark_out = \"osd.2@1min\"");
    assert_eq!(at(&answer, "osd.0 marked out"), Some(620.0), "{:?}", answer.course);
}

/// A device that is drained and stays up goes on to serve what has no other place.
#[test]
fn drained_devices_serve_until_they_are_gone() {
    let three = "[\"rack=r1\", \"rack=r2\", \"rack=r3\"]";
    let (seen, answer) = asked(cluster(&[], ""), &format!("drain = {three}"));
    let [below, old, now] =
        ["groups_below_min_size", "groups_on_old_devices", "below_min_size"].map(|name| value(&seen, name));
    assert_eq!((below, now), (0.0, 0.0), "{}", answer.prose());
    // Two devices are left for three copies, so each group has two of them.
    assert_eq!(old, 0.0);
    let (seen, answer) =
        asked(cluster(&[], ""), &format!("drain = [{}, \"osd.0\"]", &three[1..three.len() - 1]));
    assert_eq!(value(&seen, "groups_on_old_devices"), 32.0, "{}", answer.prose());
    assert!(
        answer.prose().contains("take writes only while those that hold them now stay up"),
        "{}",
        answer.prose()
    );
    // What has failed serves nothing.
    let (seen, _) = asked(
        cluster(&[], ""),
        "fail = [\"osd.0\", \"osd.2\", \"osd.3\", \"osd.4\", \"osd.5\", \"osd.6\", \"osd.7\"]",
    );
    assert_eq!(value(&seen, "groups_on_old_devices"), 0.0);
    assert!(value(&seen, "groups_below_min_size") > 0.0);
}

/// Groups that cannot be read until devices return are named beside those that serve no requests now.
#[test]
fn what_cannot_be_read_for_a_while_is_named_beside_what_is_down() {
    let folder = || cluster(&[0, 2], ",noout");
    let count = acting(&folder()).iter().filter(|group| group.len() == 1 && group.contains(&7)).count();
    let (_, answer) = asked(folder(), "fail = \"osd.7\"\nreturns = \"osd.7@10min\"\nclient_writes = \"0/s\"");
    let said = format!("{count} groups have too few copies or shards left to be read until devices return");
    assert!(count > 1 && answer.prose().contains(&said), "{said}: {}", answer.prose());
}

/// A part of the cluster whose `noout` is unset is marked out then, and the course says it.
#[test]
fn what_a_flag_kept_in_is_marked_out_when_it_is_unset() {
    let keys = "set_flag = \"noout:osd.5\"\nfail = \"osd.5@1min\"\nunset_flag = \"noout:osd.5@30min\"";
    let (_, answer) = asked(cluster(&[], ""), keys);
    assert_eq!(at(&answer, "osd.5 marked out"), Some(1800.0), "{:?}", answer.course);
}
