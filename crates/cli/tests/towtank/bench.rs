//! `towtank bench phold`: its figures, its errors, and that the digest does not depend on the executor.

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
    // A former fault: this one ended as if the tool had failed.
    let said = folder.run(&["bench", "rebuild", "--servers", "8", "--executor", "check", "--workers", "2"]);
    assert_eq!(said.code, 2, "{said}");
}

const MAP: &str = "\
device 0 osd.0
device 1 osd.1
device 2 osd.2
device 3 osd.3
type 0 osd
type 1 root
root r {
\talg straw2
\titem osd.0 weight 1
\titem osd.1 weight 2
\titem osd.2 weight 1
\titem osd.3 weight 1
}
rule spread {
\tid 3
\ttype replicated
\tmin_size 1
\tmax_size 10
\tstep take r
\tstep choose firstn 0 type osd
\tstep emit
}
";

#[test]
fn crush_is_measured_and_threads_never_show() {
    let folder = Folder::new("bench_crush");
    folder.write("map.txt", MAP);
    let made = folder.run(&["crush", "-c", "map.txt", "-o", "map.bin"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let figures = |more: &[&str]| -> serde_json::Value {
        let usual = ["bench", "crush", "--num-rep", "3", "--inputs", "5000", "--format", "json"];
        serde_json::from_str(&folder.run(&[&usual, more].concat()).data()).expect("the output is JSON")
    };
    let one = figures(&["--map", "map.bin", "--rule", "3"]);
    assert!(one["mappings_per_second"].as_f64() > Some(0.0), "{one}");
    assert_eq!(
        (&one["rule"], &one["num_rep"], &one["inputs"], &one["threads"]),
        (&3.into(), &3.into(), &5000.into(), &1.into())
    );
    assert_eq!(one["digest"].as_str().map(str::len), Some(16), "{one}");
    for more in [
        &["--map", "map.bin", "--rule", "3", "--threads", "2"][..],
        &["--map", "map.bin", "--rule", "3", "--threads", "7"],
        &["--map", "map.txt", "--rule", "3"],
        &["--map", "map.txt", "--rule", "spread"],
    ] {
        assert_eq!(figures(more)["digest"], one["digest"], "{more:?}");
    }
}

#[test]
fn crush_is_not_measured_on_what_is_not_there() {
    let folder = Folder::new("bench_crush_errors");
    folder.write("map.txt", MAP);
    folder.write("cut.txt", &MAP[..150]);
    let refused = |flags: &[&str]| folder.run(&[&["bench", "crush"], flags].concat());
    insta::assert_snapshot!(refused(&["--map", "none.bin"]), @r"
    error: cannot read `none.bin`: no such file or directory
    hint: check the path
    exit 2
    ");
    insta::assert_snapshot!(refused(&["--map", "cut.txt"]), @r"
    error: found `ite`, but expected `}`
      --> cut.txt:11:2
    exit 2
    ");
    insta::assert_snapshot!(refused(&["--map", "map.txt", "--rule", "spred"]), @r"
    error: the map has no rule `spred`
    hint: did you mean `spread`?
    exit 2
    ");
    insta::assert_snapshot!(refused(&["--map", "map.txt"]), @r"
    error: the map has no rule `0`
    hint: its rules are 3
    exit 2
    ");
    insta::assert_snapshot!(refused(&["--map", "map.txt", "--rule", "3", "--threads", "5000"]), @r"
    error: invalid value '5000' for '--threads <T>': 5000 is not in 1..=1024

    For more information, try '--help'.
    exit 2
    ");
    insta::assert_snapshot!(refused(&["--map", "map.txt", "--rule", "3", "--inputs", "0"]), @r"
    error: invalid value '0' for '--inputs <COUNT>': number would be zero for non-zero type

    For more information, try '--help'.
    exit 2
    ");
    insta::assert_snapshot!(refused(&["--map", "map.txt", "--rule", "3", "--num-rep", "0"]), @r"
    error: invalid value '0' for '--num-rep <N>': 0 is not in 1..=1024

    For more information, try '--help'.
    exit 2
    ");
}

#[test]
fn placing_is_measured() {
    let folder = Folder::new("bench_place");
    let figures = |algorithm: &str, more: &[&str]| -> serde_json::Value {
        let usual = ["bench", "place", "--algorithm", algorithm, "--servers", "40", "--keys", "3000"];
        let said = folder.run(&[&usual, more, &["--format", "json"]].concat());
        serde_json::from_str(&said.data()).expect("the output is JSON")
    };
    let ring = figures("ring", &[]);
    for name in ["placements_per_second", "run_seconds", "init_seconds"] {
        assert!(ring[name].is_number(), "{name}: {ring}");
    }
    assert_eq!(ring["digest"].as_str().map(str::len), Some(16));
    assert_eq!(figures("ring", &[])["digest"], ring["digest"]);
    assert_ne!(figures("ring", &["--seed", "2"])["digest"], ring["digest"]);
    assert_ne!(figures("multiring", &[])["digest"], ring["digest"]);
}

#[test]
fn placing_is_not_measured_without_sense() {
    let folder = Folder::new("bench_place_errors");
    let refused = |flags: &[&str]| folder.run(&[&["bench", "place"], flags].concat());
    insta::assert_snapshot!(refused(&["--algorithm", "rnig"]), @r"
    error: there is no algorithm called `rnig`
    hint: did you mean `ring`?
    exit 2
    ");
    insta::assert_snapshot!(refused(&["--servers", "0"]), @r"
    error: invalid value '0' for '--servers <N>': 0 is not in 1..=1048576

    For more information, try '--help'.
    exit 2
    ");
    insta::assert_snapshot!(refused(&["--servers", "2", "--replicas", "3"]), @r"
    error: --replicas is 3, but there are 2 servers
    hint: ask for fewer replicas, or more servers
    exit 2
    ");
    insta::assert_snapshot!(refused(&["--replicas", "65"]), @r"
    error: invalid value '65' for '--replicas <N>': 65 is not in 1..=64

    For more information, try '--help'.
    exit 2
    ");
    insta::assert_snapshot!(refused(&["--vnodes", "4000000000"]), @r"
    error: ring cannot be set up: 4096000000000 positions are needed, but the limit is 100000000: use fewer virtual nodes or smaller weights
    exit 2
    ");
}
