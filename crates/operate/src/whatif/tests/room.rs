//! Devices that have no room, and what counts on it.

use towtank_report::Answer;

use super::flags::answered;
use super::later::settled;
use super::*;

/// The first group is to move from `middle` to `last`, the second one to `middle`, which has room for it once
/// the first has left: from `last` if they change places, or from another one. `last` has room or not.
fn chain(has_room: bool, swap: bool, (more, later): (&str, &str)) -> (Outcome, Answer) {
    let (held, _) = settled();
    let left_out =
        held.map(|group| (0..4).find(|osd| !group.contains(osd)).expect("one of four is left out"));
    let [last, middle] = left_out;
    assert_ne!(last, middle, "the two groups are on the same devices");
    let from = held[1].into_iter().find(|osd| (*osd == last) == swap).expect("a group has three devices");
    let Folder(mut files) = four(&held, None);
    let node = |osd: u32| {
        let used = held.iter().flatten().filter(|one| **one == osd).count();
        let size = if osd == middle || (osd == last && !has_room) { 1.2 } else { 9.0 };
        format!(r#"{{"id":{osd},"kb":{},"kb_used":{}}}"#, (40_960.0 * size) as u64, 40_960 * used)
    };
    let nodes: Vec<String> = (0..4).map(node).collect();
    files.insert("df".to_owned(), format!(r#"{{"nodes":[{}]}}"#, nodes.join(",")).into_bytes());
    let upmaps = format!(
        "changes = [\"upmap-items 1.0 {middle} {last}{later}\", \"upmap-items 1.1 {from} {middle}\"]\n{more}"
    );
    answered(Folder(files), &format!("osd_df = \"df\"\nrecovery_sleep = \"0s\"\n{FOUR}{upmaps}"))
}

/// What has no room stays, and so does what counted on its leaving.
#[test]
fn what_counted_on_the_leaving_of_what_stays_stays_too() {
    for swap in [false, true] {
        let (all, words) = chain(true, swap, ("", ""));
        assert_eq!((value(&all, "moved_objects"), value(&all, "time_to_clean_s") > 0.0), (20.0, true));
        assert_eq!(all.series["observed"]["in_turn"], 10);
        // That they wait for the others is not in the time, which is a bound then.
        assert!(words.finding.contains("all groups are clean after at least "), "{}", words.finding);
        // Where both are full, each waits for the other to leave first.
        let (stays, _) = chain(false, swap, ("", ""));
        assert_eq!((value(&stays, "moved_objects"), value(&stays, "written_bytes")), (0.0, 0.0));
        assert_eq!(value(&stays, "unmoved_objects"), 20.0);
        // A flag keeps both where they are, whatever room there is.
        let (flagged, _) = chain(true, swap, ("set_flag = \"norebalance\"", ""));
        assert_eq!((value(&flagged, "moved_objects"), value(&flagged, "halted_objects")), (0.0, 20.0));
    }
}

/// Room that a later change makes is not there before.
#[test]
fn room_is_there_once_what_leaves_has_left() {
    let (at_once, _) = chain(true, false, ("", ""));
    let (later, _) = chain(true, false, ("", "@2h"));
    assert_eq!(value(&later, "moved_objects"), 20.0);
    assert!(value(&at_once, "time_to_clean_s") < 600.0);
    assert!(value(&later, "time_to_clean_s") > 7_200.0);
    let first = later.series["observed"]["first_s"].as_f64().unwrap();
    assert!(first >= 7_200.0, "the first object moves at {first} s");
}
