//! The cases of a plan, the objects drawn, and the file of results.

use super::*;

fn plan() -> Plan {
    Plan {
        objects: vec![1_000, 2_000],
        stale: vec![0.01, 0.2],
        leaf_bits: vec![4, 8],
        discoveries: vec![Discovery::Scan, Discovery::Bitmap, Discovery::Merkle, Discovery::Sketch],
        repeat: 3,
        object_bytes: 1_024,
        seed: 1,
        start_with: None,
    }
}

#[test]
fn a_backfill_of_one_object_is_measured_once_for_all_methods() {
    let with = Plan { start_with: Some(2_000), ..plan() };
    let (cases, plain) = (with.cases(), plan().cases());
    assert_eq!(cases[..plain.len()], plain);
    let more = &cases[plain.len()..];
    assert_eq!(more.len(), 3);
    assert!(more.iter().all(|case| case.is_start() && case.objects == 2_000 && case.leaf_bits.is_none()));
    assert!(!plain.iter().any(Case::is_start));
}

#[test]
fn methods_without_ranges_run_once_for_all_of_them() {
    let cases = plan().cases();
    assert_eq!(cases.len(), 2 * 2 * (1 + 2 + 2 + 1) * 3);
    let mut different = cases.clone();
    different.sort();
    different.dedup();
    assert_eq!(different.len(), cases.len(), "each case once");
    assert!(cases.iter().all(
        |case| case.leaf_bits.is_none() == matches!(case.discovery, Discovery::Scan | Discovery::Sketch)
    ));
}

#[test]
fn objects_are_drawn_once_each() {
    for case in plan().cases() {
        let mut drawn = drawn(&case);
        assert_eq!(drawn.len(), case.stale as usize);
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), case.stale as usize, "none twice");
        assert!(drawn.iter().all(|object| *object < case.objects));
    }
}

#[test]
fn a_line_that_was_cut_is_measured_again() {
    let directory = std::env::temp_dir().join(format!("towtank-experiment-{}", std::process::id()));
    fs::create_dir_all(&directory).expect("a directory can be made");
    let cases = plan().cases();
    let measured = |case: Case| Measured {
        case,
        backfill_s: 1.5,
        discovery_s: None,
        looked_at: 10,
        recovered: 5,
        exchanged_bytes: 0,
        cpu_s: 0.25,
        peak_bytes: 1 << 20,
        summary_bytes: 0,
        writes: (5, 0.5),
    };
    note(&directory, &measured(cases[0])).expect("it can be written");
    note(&directory, &measured(cases[1])).expect("it can be written");
    let text = fs::read_to_string(results(&directory)).expect("it was written");
    fs::write(results(&directory), &text[..text.len() - 9]).expect("it can be cut");
    let known = measured_in(&directory).expect("it can be read");
    assert_eq!(known.keys().collect::<Vec<_>>(), [&cases[0]]);
    assert_eq!(known[&cases[0]], measured(cases[0]));
    note(&directory, &measured(cases[2])).expect("it can be written");
    let known = measured_in(&directory).expect("it can be read");
    assert_eq!(known.keys().collect::<Vec<_>>(), [&cases[0], &cases[2]]);
    fs::remove_dir_all(&directory).expect("it can be removed");
}
