//! `towtank bench phold`: its figures, its errors, and that no executor shows in the digest.

use super::tool::Folder;

const SMALL: [&str; 8] = ["--lps", "64", "--end", "3", "--remote", "0.5", "--seed", "7"];

fn json(folder: &Folder, more: &[&str]) -> serde_json::Value {
    let mut arguments = vec!["bench", "phold", "--format", "json"];
    arguments.extend(SMALL);
    arguments.extend(more);
    let said = folder.run(&arguments);
    assert_eq!(said.code, 0, "{}", said.stderr);
    serde_json::from_str(&said.stdout).expect("the output is JSON")
}

#[test]
fn every_promised_figure_is_there() {
    let figures = json(&Folder::new("phold_figures"), &[]);
    for name in [
        "events_committed",
        "events_per_second",
        "init_seconds",
        "run_seconds",
        "efficiency",
        "rollbacks",
        "anti_messages",
        "gvt_rounds",
        "peak_pending",
        "wall_seconds",
        "peak_rss_bytes",
    ] {
        assert!(figures[name].is_number(), "{name}: {}", figures[name]);
    }
    assert_eq!(figures["digest"].as_str().map(str::len), Some(16));
    assert!(figures["peak_pending"].as_u64() >= Some(16 * 64));
}

#[test]
fn no_executor_shows_in_the_digest() {
    let folder = Folder::new("phold_digest");
    let want = json(&folder, &[]);
    for more in [
        &["--executor", "check"][..],
        &["--executor", "conservative", "--workers", "2"],
        &["--executor", "optimistic", "--workers", "3", "--batch", "16"],
        &["--executor", "optimistic", "--workers", "2", "--undo", "clone"],
    ] {
        let got = json(&folder, more);
        assert_eq!(got["digest"], want["digest"], "{more:?}");
        assert_eq!(got["events_committed"], want["events_committed"], "{more:?}");
    }
}

#[test]
fn flags_that_make_no_sense_are_refused() {
    let folder = Folder::new("phold_errors");
    let refuse = |flags: &[&str]| {
        let mut arguments = vec!["bench", "phold"];
        arguments.extend(flags);
        let said = folder.run(&arguments);
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{flags:?}");
        said.stderr
    };
    insta::assert_snapshot!(refuse(&["--remote", "1.5"]), @"
    error: --remote is 1.5, but a probability lies from 0 to 1
    hint: 0.25 is what most published runs use
    ");
    insta::assert_snapshot!(refuse(&["--lookahead", "2"]), @"
    error: --lookahead is 2, but the whole delay is 1 on average
    hint: set --lookahead to at most --mean
    ");
    insta::assert_snapshot!(refuse(&["--end", "1e30"]), @"
    error: --end is 1000000000000000000000000000000, but a time lies from 0 to 9223372037
    hint: times are in units of a second
    ");
    insta::assert_snapshot!(refuse(&["--workers", "2"]), @"
    error: `workers` is 2, but the sequential executor uses one
    hint: choose conservative or optimistic
    ");
}
