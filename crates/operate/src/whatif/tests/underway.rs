//! Groups that are being copied in the exports, of which the dump says how far.

use super::flags::answered;
use super::*;

/// A group of ten objects that moves from osd.3, which is out, to osd.2, where so many are missing. A dump
/// without a count of them says 0, as while a group peers.
fn moving(misplaced: u64) -> Folder {
    let Folder(mut files) = four(&[[0, 1, 3]], Some(3));
    let text = String::from_utf8(files["pgs"].clone()).unwrap();
    let text = text
        .replace("active+clean", "active+remapped+backfilling")
        .replace(r#""up":[0, 1, 3]"#, r#""up":[0, 1, 2]"#)
        .replace(r#""num_objects":10"#, &format!(r#""num_objects":10,"num_objects_misplaced":{misplaced}"#));
    files.insert("pgs".to_owned(), text.into_bytes());
    Folder(files)
}

/// What the new device has is not copied again, and takes no time.
#[test]
fn what_is_there_already_is_not_copied_again() {
    let (some, words) = answered(moving(3), FOUR);
    assert_eq!((value(&some, "moved_objects"), value(&some, "written_bytes")), (3.0, 3.0 * 4_194_304.0));
    // Nor is it among what is to move.
    for measure in ["moved_bytes", "pending_bytes"] {
        assert_eq!(value(&some, measure), 3.0 * 4_194_304.0, "{measure}");
    }
    assert!(words.prose().contains("1 group has been copied in part"), "{words:?}");
    // All of them without a count, and the first time as much longer as seven objects take.
    let (all, words) = answered(moving(0), FOUR);
    assert_eq!((value(&all, "moved_objects"), value(&all, "moved_bytes")), (10.0, 10.0 * 4_194_304.0));
    assert!(!words.prose().contains("in part"), "{words:?}");
    let less = value(&all, "time_to_clean_s") - value(&some, "time_to_clean_s");
    let each = 0.008 + 0.004 + 4.194_304 / 200.0 + 4.194_304 / 190.0 + 4.194_304 / 1_250.0;
    assert!((less - 7.0 * (0.1 + each)).abs() < 0.02, "seven objects take {less} s");
    // Nor does it wait for a flag.
    let flagged = |keys: &str| value(&answered(moving(3), &format!("{FOUR}{keys}")).0, "halted_objects");
    assert_eq!([flagged("set_flag = \"nobackfill\""), flagged("set_flag = \"norebalance\"")], [3.0, 3.0]);
    // Another copy moves to the same device.
    let other = format!("{FOUR}changes = [\"mark-out osd.1\", \"reweight osd.3=1\"]");
    assert_eq!(value(&answered(moving(3), &other).0, "moved_objects"), 3.0);
    // By a dump of another time it was not copied there.
    let Folder(mut files) = moving(3);
    let text = String::from_utf8(files["pgs"].clone()).unwrap();
    let of_another_time = text.replace(r#""up":[0, 1, 2]"#, r#""up":[0, 1, 3]"#);
    files.insert("pgs".to_owned(), of_another_time.into_bytes());
    assert_eq!(value(&answered(Folder(files), FOUR).0, "moved_objects"), 10.0);
}

/// What is there is counted in the fill of the device already.
#[test]
fn what_is_there_already_has_its_room() {
    let moved = |misplaced: u64| {
        let Folder(mut files) = moving(misplaced);
        // 10 MiB more fit.
        let node = |osd: u32| {
            let (size, used) = if osd == 2 { (100_000, 79_760) } else { (1_000_000, 40_960) };
            format!(r#"{{"id":{osd},"kb":{size},"kb_used":{used}}}"#)
        };
        let nodes: Vec<String> = (0..4).map(node).collect();
        files.insert("df".to_owned(), format!(r#"{{"nodes":[{}]}}"#, nodes.join(",")).into_bytes());
        value(&answered(Folder(files), &format!("osd_df = \"df\"\n{FOUR}")).0, "moved_objects")
    };
    assert_eq!([moved(2), moved(3), moved(0)], [2.0, 0.0, 0.0]);
}

/// A source that fails meanwhile: the rest is copied from another one, to the same device.
#[test]
fn a_copy_goes_on_from_another_source() {
    let text = format!("{FOUR}detection = \"0s\"\ndown_out = \"1h\"\nfail = \"osd.0\"");
    assert_eq!(value(&outcome(&Whatif, moving(3), &text), "moved_objects"), 3.0);
}
