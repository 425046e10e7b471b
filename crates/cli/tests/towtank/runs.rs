//! Finished runs: data on stdout, messages on stderr, gates, files, colours and closed pipes.

use std::io::Read as _;
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::Value;

use crate::tool::{COUNTER, Folder, Said};

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn off_a_terminal_a_run_says_nothing_but_its_report() {
    let said = Folder::with_counter("plain").run(&["run", "counter.toml"]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    assert!(said.stdout.contains("wait_mean"), "{}", said.stdout);
    assert!(!said.stdout.contains('\u{1b}'), "colours off a terminal");
    assert!(said.stdout.starts_with("A job waits "), "{}", said.stdout);
    assert!(said.stdout.lines().count() <= 24, "{}", said.stdout);
}

#[test]
fn formats_are_three_views_of_one_report() {
    let folder = Folder::with_counter("formats");
    let report = json(&folder.run(&["run", "counter.toml", "--format", "json"]).data());
    assert_eq!(report["schema"], "towtank-report/2");
    assert_eq!(report["study"], "queue");
    assert_eq!(report["replicates"], 3);
    assert_eq!(report["partial"], false);
    let mean = &report["summary"]["wait_mean"];
    assert!(
        mean["low"].as_f64() < mean["value"].as_f64() && mean["value"].as_f64() < mean["high"].as_f64(),
        "{mean}"
    );
    let csv = folder.run(&["run", "counter.toml", "--format", "csv"]).data();
    assert!(
        csv.lines().any(|line| line.starts_with("wait_mean,") && line.contains(&mean["value"].to_string())),
        "{csv}"
    );
}

#[test]
fn every_measure_of_a_queue_that_gates_may_name_is_in_its_report() {
    let report =
        json(&Folder::with_counter("measures").run(&["run", "counter.toml", "--format", "json"]).data());
    for measure in towtank_study::named(towtank::studies(), "queue").expect("a study").measures() {
        let found = &report["summary"][measure.name];
        assert_eq!(found["unit"], measure.unit, "{}", measure.name);
        assert!(report["glossary"][measure.name].is_string());
    }
    let declared = towtank_study::named(towtank::studies(), "queue").expect("a study").measures().len();
    assert_eq!(report["summary"].as_object().map(serde_json::Map::len), Some(declared));
}

#[test]
fn executor_workers_and_jobs_never_show() {
    let folder = Folder::with_counter("executors");
    folder.write("counter.toml", COUNTER.replace("span =", "travel = \"5ms\"\nspan ="));
    let run = |flags: &[&str]| {
        let mut report = json(
            &folder.run(&[&["run", "counter.toml", "--format", "json", "--force"], flags].concat()).data(),
        );
        assert!(report["executor"].take().is_string());
        report
    };
    let want = run(&[]);
    for flags in [
        &["--jobs", "3"][..],
        &["--executor", "check"],
        &["--executor", "conservative", "--workers", "2"],
        &["--executor", "optimistic", "--workers", "3", "--jobs", "2"],
    ] {
        assert_eq!(run(flags), want, "{flags:?}");
    }
}

#[test]
fn files_are_written_under_out() {
    let folder = Folder::with_counter("files");
    let said = folder.run(&["run", "counter.toml", "--out", "results"]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    assert!(said.stdout.contains("\nreport      results/report.html; "), "{}", said.stdout);
    let data = folder.run(&["run", "counter.toml", "--out", "results", "--format", "csv"]);
    assert_eq!((data.code, data.stderr.ends_with("\nreport: results/report.html\n")), (0, true));
    let printed = folder.run(&["run", "counter.toml", "--format", "json"]).data();
    assert_eq!(folder.read("results/report.json"), printed);
    assert!(folder.read("results/report.html").starts_with("<!doctype html>"));
    assert!(folder.read("results/summary.csv").contains("wait_mean"));
    let quiet = folder.run(&["run", "counter.toml", "--out", "results", "--quiet"]);
    assert_eq!((quiet.code, quiet.stderr.as_str()), (0, ""));
}

#[test]
fn gates_end_with_three_and_say_why() {
    let folder = Folder::with_counter("gates");
    let gate = |expression: &str| {
        let said = folder.run(&["run", "counter.toml", "--format", "csv", "--fail-if", expression]);
        assert!(said.stdout.contains("wait_mean"), "the report is printed all the same");
        (said.code, said.stderr)
    };
    assert_eq!(gate("wait_mean > 1h"), (0, String::new()));
    let (code, words) = gate("wait_mean > 1us and utilisation.high < 99%");
    assert_eq!(code, 3);
    let shape: Vec<&str> = words.lines().map(|line| line.split(" is ").next().unwrap_or(line)).collect();
    assert_eq!(shape[0], "gate not met: --fail-if 'wait_mean > 1us and utilisation.high < 99%'");
    assert_eq!(shape[1..], ["  `wait_mean`", "  `utilisation.high`"]);
}

#[test]
fn a_gate_on_an_interval_needs_two_replicates() {
    let folder = Folder::with_counter("interval");
    let said = folder.run(&[
        "run",
        "counter.toml",
        "--replicates",
        "1",
        "--format",
        "csv",
        "--fail-if",
        "wait_mean.high > 1h",
    ]);
    assert_eq!(said.code, 3);
    assert_snapshot!(said.stderr, @"
    gate not met: --fail-if 'wait_mean.high > 1h'
      `wait_mean.high` has no value: an interval takes at least 2 replicates
    ");
}

#[test]
fn a_sweep_is_gated_at_every_point() {
    let folder = Folder::new("sweep");
    folder.write("sweep.toml", format!("{COUNTER}[sweep]\n\"stations.counter.servers\" = [1, 2]\n"));
    let args = ["run", "sweep.toml", "--format", "json", "--fail-if", "utilisation > 40%"];
    let said = folder.run(&args);
    assert_eq!(said.code, 3);
    let report = json(&said.stdout);
    assert_eq!(report["points"].as_array().map(Vec::len), Some(2));
    assert_eq!(report["summary"], serde_json::json!({}));
    let reasons: Vec<&str> =
        said.stderr.lines().skip(1).map(|line| line.split(':').next().unwrap_or(line)).collect();
    assert_eq!(reasons, ["  servers=1"]);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = Folder::with_counter("pipe");
    // Printed several times, the schema exceeds the capacity of a pipe.
    for args in [&["run", "counter.toml", "--format", "json"][..], &["schema"], &["list"]] {
        let mut child =
            folder.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        drop(child.stdout.take());
        let mut words = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut words).expect("text");
        assert_eq!((child.wait().expect("it ends").code(), words.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_behind_stdout_is_a_failure() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let output =
        Folder::new("full").command(&["list"]).stdout(full).stderr(Stdio::piped()).output().expect("it runs");
    let said = Said::of(output);
    assert_eq!(said.code, 1);
    assert!(said.stderr.starts_with("error: cannot write to stdout: "), "{}", said.stderr);
}

#[test]
fn environment_variables_stand_for_flags() {
    let folder = Folder::with_counter("environment");
    let mut command = folder.command(&["run", "counter.toml"]);
    command.envs([
        ("TOWTANK_FORMAT", "json"),
        ("TOWTANK_SEED", "7"),
        ("TOWTANK_REPLICATES", "2"),
        ("TOWTANK_OUT", "o"),
    ]);
    let report = json(&Said::of(command.output().expect("it runs")).data());
    assert_eq!((&report["seed"], &report["replicates"]), (&7.into(), &2.into()));
    assert_eq!(json(&folder.read("o/report.json")), report);
    let mut command = folder.command(&["run", "counter.toml", "--seed", "8", "--format", "json"]);
    let report = json(&Said::of(command.env("TOWTANK_SEED", "7").output().expect("it runs")).data());
    assert_eq!(report["seed"], 8);
}

/// Runs the command in a terminal of its own, using `script`; `None` where `script` is missing.
fn on_a_terminal(folder: &Folder, line: &str, variables: &[(&str, &str)]) -> Option<String> {
    let line = format!("{} {line}", env!("CARGO_BIN_EXE_towtank"));
    let mut command = std::process::Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).current_dir(folder.path()).env_clear();
    command
        .env("PATH", "/usr/bin:/bin")
        .env("TERM", "xterm")
        .env("LANG", "C.UTF-8")
        .envs(variables.iter().copied());
    let output = command.stdin(Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).replace('\r', ""))
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let folder = Folder::with_counter("colour");
    let Some(coloured) = on_a_terminal(&folder, "run counter.toml", &[]) else { return };
    assert!(coloured.contains("\u{1b}["), "no colours on a terminal: {coloured}");
    for refused in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let plain = on_a_terminal(&folder, "run counter.toml --quiet", &[refused]).expect("it ran before");
        assert!(!plain.contains("\u{1b}["), "colours in spite of {refused:?}: {plain}");
        assert!(plain.contains("wait_mean"), "{plain}");
    }
}

#[test]
fn a_terminal_shows_the_line_of_a_mistake() {
    let folder = Folder::new("graphical");
    folder.write("ring.toml", COUNTER.replace("\"5/s\"", "\"5/x\""));
    let Some(said) = on_a_terminal(&folder, "run ring.toml", &[("NO_COLOR", "1")]) else { return };
    assert_snapshot!(said, @r#"
     × `stations.counter.arrival_rate`: `5/x`: `/x` is not a unit of a frequency
      ╭─[ring.toml:8:16]
    7 │ service_rate = "10/s"
    8 │ arrival_rate = "5/x"
      ·                ─────
      ╰────
     help: the units are /d, /h, /min, /s, k/s, /ms, M/s, /us
    "#);
}

#[test]
fn reproduce_shows_claims_and_ends_well() {
    let folder = Folder::new("reproduce");
    let names: Vec<&str> =
        towtank_study::named(towtank::studies(), "queue").expect("a study").published().to_vec();
    let said = folder.run(&["reproduce", names[0], "--format", "json", "--out", "results"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stderr.starts_with(&format!("running {}\n", names[0])), "{}", said.stderr);
    let report = json(&said.stdout);
    let claims = report["claims"].as_array().expect("claims");
    assert!(!claims.is_empty());
    assert_eq!(report["answer"]["finding"], format!("{0} of {0} claims hold.", claims.len()));
    assert!(
        claims.iter().all(|claim| claim["source"].is_string() && claim["verdict"].is_string()),
        "{claims:?}"
    );
    assert!(folder.read("results/report.html").contains("<html"));
    assert!(folder.read("results/claims.csv").contains("verdict"));
    // The page of all claims has them by source, with figures under the names of what they answer to.
    let part = &report["chapters"][0]["parts"][0];
    assert_eq!(part["claims"].as_array().map(Vec::len), Some(claims.len()));
    let figure = &report["figures"][1];
    assert_eq!(
        (&part["figures"][0], &figure["title"]),
        (&figure["id"], &"M/M/1: replicates and the closed form".into())
    );
    assert!(folder.read(&format!("results/{}/report.html", names[0])).contains("<html"), "its own report");
    let zebra = folder.run(&["reproduce", "zebra"]);
    let words = "error: `zebra` is neither a published scenario nor a study\nhint: these can be reproduced: queue-mm1, queue-network, ";
    assert!(zebra.code == 2 && zebra.stderr.starts_with(words), "{zebra}");
}

/// A flag that is true or false needs no value, and takes one.
#[test]
fn a_switch_needs_no_value() {
    let folder = Folder::new("switch");
    let answer = |flag: &[&str]| {
        let small = ["rebuild", "--servers", "4", "--objects", "100", "--replicates", "1"];
        folder.run(&[&small[..], flag].concat()).stdout
    };
    let wait = "objects wait because `noout` is set";
    assert!(answer(&["--noout"]).contains(wait) && answer(&["--noout", "true", "--quiet"]).contains(wait));
    assert!(answer(&["--noout", "--quiet"]).contains(wait), "the next flag is no value");
    assert!(!answer(&["--noout", "false"]).contains(wait) && !answer(&[]).contains(wait));
}

#[test]
fn what_is_reproduced_is_listed_and_nothing_runs() {
    let folder = Folder::new("reproduce-list");
    assert_snapshot!(folder.run(&["reproduce", "rebuild-pair", "rebuild-peers", "--list"]), @"
    Impact of Data Placement on Resilience in Large-Scale Object Storage Systems

      Slide: aggregate rebuild bandwidth example
        Impact of Data Placement on Resilience in Large-Scale Object Storage Systems, MSST 2016:
          rebuild-pair/pair_streaming_rate: data can be streamed between pairs of servers at about 1.5
            GiB/s
      Slide: a closer look at inter-server traffic
        Impact of Data Placement on Resilience in Large-Scale Object Storage Systems, MSST 2016:
          rebuild-peers/more_peers_higher_rate: the more peers are active, the higher the rate

    Scenarios, with processor time on one core (AMD EPYC, 2 cores, release build):
      rebuild-pair       < 1 s  One server sends all its data to another
      rebuild-peers       30 s  One server of 64 fails: from few peers to all

    2 claims, 2 scenarios, about 30 s on one core. The replicates of a scenario share all cores.
    `--quick` chooses scenarios that take 60 s or less together.
    --
    exit 0
    ");
    let all = folder.run(&["reproduce", "--list", "--format", "json", "--out", "o"]);
    let listed = json(&all.data());
    assert!(!folder.path().join("o").exists(), "nothing is written");
    let published = |study: &&dyn towtank_study::Study| study.published().len();
    let scenarios = listed["scenarios"].as_array().expect("scenarios");
    assert_eq!(scenarios.len(), towtank::studies().iter().map(published).sum::<usize>() + 2);
    assert!(scenarios.iter().all(|one| one["core_seconds"].is_number()), "{scenarios:?}");
    let claims = listed["claims"].as_array().expect("claims");
    let csv = folder.run(&["reproduce", "--list", "--format", "csv"]).data();
    assert!(
        csv.starts_with("paper,part,claim,source,statement,scenario,scenario_events,scenario_core_s\n"),
        "{csv}"
    );
    assert_eq!(csv.lines().count(), claims.len() + 1);

    let quick = json(&folder.run(&["reproduce", "--list", "--quick", "--format", "json"]).data());
    let seconds = quick["scenarios"]
        .as_array()
        .expect("scenarios")
        .iter()
        .filter_map(|one| one["core_seconds"].as_f64());
    assert!(seconds.sum::<f64>() <= 60.0, "{quick}");
    let zebra = folder.run(&["reproduce", "zebra", "--list"]);
    assert!(zebra.code == 2 && zebra.stderr.contains("neither a published scenario nor a study"), "{zebra}");
}

/// A shell lowers `ulimit -v` for the run: 10,000,000,000 objects of which a sixth is lost need hundreds of
/// GiB.
#[cfg(target_os = "linux")]
#[test]
fn a_run_that_does_not_fit_into_memory_is_refused_before_it_starts() {
    let folder = Folder::new("memory");
    let said = |limit_kib: &str, flags: &str| {
        let run = format!(
            "ulimit -v {limit_kib} && exec '{}' rebuild --servers 8 {flags}",
            env!("CARGO_BIN_EXE_towtank")
        );
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &run]).current_dir(folder.path()).env_clear();
        Said::of(command.output().expect("a shell can be run"))
    };
    let refused = said("4000000", "--objects 10000000000 --out o --jobs 1");
    assert_eq!(refused.code, 2, "{refused}");
    assert!(refused.stderr.starts_with("error: a run takes about "), "{refused}");
    assert!(refused.stderr.contains(" of memory, but `ulimit -v` leaves 3."), "{refused}");
    assert!(refused.stderr.contains("hint: lower `objects`"), "{refused}");
    assert!(refused.stderr.contains("add --allow-memory to run it anyway"), "{refused}");
    assert!(!folder.path().join("o").exists(), "nothing is begun");
    assert_eq!(said("4000000", "--objects 10000000000 --print-scenario --allow-memory").code, 0);
    // A run that fits succeeds under the same limit.
    assert_eq!(said("4000000", "--objects 1000 --seed 2 --jobs 1").code, 0);
}

/// Every study's result is one screen that begins with the answer, on a terminal and in a pipe; `--verbose`
/// prints all, and begins with the answer, too.
#[test]
fn a_terminal_shows_one_screen_with_the_answer_first() {
    let folder = Folder::with_counter("screen");
    for command in [
        "run counter.toml",
        "place --servers 20",
        "rebuild --servers 8 --objects 2000",
        "rebuild --servers 3 --objects 1000",
        "put --duration 2ms --gateways 4 --servers 27",
        "backfill --objects-per-group 2000 --discovery scan,sketch",
        "pfs --clients 2 --servers 2 --files 2 --file-size 1MiB",
    ] {
        let lines = |flags: &str| -> Option<Vec<String>> {
            let said = on_a_terminal(&folder, &format!("{command} {flags}"), &[("NO_COLOR", "1")])?;
            Some(said.lines().map(|line| line.trim_end().to_owned()).collect())
        };
        let Some(shown) = lines("--quiet") else { return };
        assert!(shown.len() <= 24, "{command}: {} lines\n{}", shown.len(), shown.join("\n"));
        let piped = |flags| folder.run(&format!("{command} {flags}").split(' ').collect::<Vec<_>>());
        let screen = piped("--quiet");
        assert_eq!(shown, screen.stdout.lines().map(str::trim_end).collect::<Vec<_>>(), "{command}");
        let whole = piped("--quiet --verbose");
        let answer: Vec<&str> = whole.stdout.lines().take_while(|line| !line.is_empty()).collect();
        assert!(!answer.is_empty(), "{command}");
        assert_eq!(shown[..answer.len()], answer[..], "{command}: the answer is first");
        let verbose = lines("--quiet --verbose").expect("it ran before");
        assert!(verbose.len() > shown.len(), "{command}");
        assert_eq!(verbose[..answer.len()], answer[..], "{command}: the answer is first");
    }
}
