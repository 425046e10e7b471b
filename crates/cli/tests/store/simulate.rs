//! `towtank store simulate`: what it prints of many seeds, of one, and of one that fails.

use std::process::Command;

use crate::Said;

fn simulate(words: &[&str]) -> Said {
    let output = Command::new(env!("CARGO_BIN_EXE_towtank")).args(["store", "simulate"]).args(words).output();
    Said::of(&output.expect("the program is there"))
}

#[test]
fn seeds_are_summed_up() {
    let said = simulate(&["--seeds", "1..4", "--format", "json"]).done();
    let found: serde_json::Value = serde_json::from_str(&said).expect("it is JSON");
    assert_eq!((&found["seeds"], &found["fault"]), (&4.into(), &serde_json::Value::Null));
    assert!(found["operations"].as_u64() > Some(400) && found["faults"].as_u64() > Some(20), "{found}");
    let kinds = found["faults_by_kind"].as_object().expect("faults by kind");
    let sum: u64 = kinds.values().filter_map(serde_json::Value::as_u64).sum();
    assert_eq!(found["faults"].as_u64(), Some(sum));
}

#[test]
fn a_seed_that_fails_is_one_command() {
    for words in [
        &["--seed", "4", "--planted", "TakenUnseen"][..],
        &["--seed", "1", "--planted", "LosesObjects", "--gateway"],
    ] {
        let failed = simulate(words);
        assert_eq!(failed.code, 1, "{words:?}: {}", failed.stdout);
        let again =
            failed.stderr.strip_prefix("again: towtank store simulate ").expect("it says how to repeat it");
        let again: Vec<&str> = again.split_whitespace().chain(words[2..4].iter().copied()).collect();
        let repeated = simulate(&again);
        assert_eq!(repeated.code, 1, "{again:?}");
        assert!(repeated.stdout.contains(" WRONG: "), "the trace ends with what is wrong");
        let trace = |said: &Said| said.stdout.lines().count();
        assert!(
            trace(&repeated) > trace(&failed) + 40 && trace(&failed) < 40,
            "a trace is printed on request only"
        );
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    for words in [&["--seeds", "4..1"][..], &["--trace"], &["--seed", "1", "--seeds", "1..2"]] {
        let said = simulate(words);
        assert_eq!(said.code, 2, "{words:?}: {}", said.stderr);
    }
}
