//! `list`, `show`, `schema` and `--print-scenario`.

use insta::assert_snapshot;
use serde_json::Value;
use towtank_scenario::{Document, Problems, Source};

use crate::tool::{COUNTER, Folder};

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn data(args: &[&str]) -> String {
    Folder::with_counter("lists").run(args).data()
}

#[test]
fn the_list_of_a_study() {
    assert_snapshot!(data(&["list", "queue"]), @"
    Studies, each a command of its own (towtank STUDY -h):
      queue             How long do jobs wait at a queue, or in a network of queues

    Scenarios (towtank run NAME; towtank show NAME prints one to copy):

    queue:
      queue-load        The wait at one counter, by its load
      queue-mm1         M/M/1: one queue, one server
      queue-network     A network of queues: gate, workers, database, disk
      queue-priorities  Priorities: urgent jobs at one server
      queue-service     M/G/1: the wait at one counter, by the distribution of service times
    ");
}

#[test]
fn the_list_by_words_of_papers_and_titles() {
    assert_snapshot!(data(&["list", "Replicast", "table 2"]), @r#"
    Scenarios (towtank run NAME; towtank show NAME prints one to copy):

    put, as in "Scalable object storage with resource reservations and dynamic load balancing":
      put-table2-128k  Table 2: 128 KiB chunks, disks of 400 MiB/s
      put-table2-16k   Table 2: 16 KiB chunks, disks of 400 MiB/s
      put-table2-1m    Table 2: 1 MiB chunks, disks of 400 MiB/s
    "#);
    assert_snapshot!(data(&["list", "longhorn"]), @"
    Scenarios (towtank run NAME; towtank show NAME prints one to copy):

    rebuild:
      rebuild-longhorn  A replica of a Longhorn volume is rebuilt
    ");
    assert_snapshot!(Folder::new("list").run(&["list", "no-such-thing"]), @"
    error: no study and no scenario has `no-such-thing`
    hint: `towtank list` lists all; words of names, titles, studies and papers are looked for
    exit 2
    ");
    assert_snapshot!(Folder::new("list").run(&["list", "queue-netwrok"]), @"
    error: no study and no scenario has `queue-netwrok`
    hint: did you mean `queue-network`?
    exit 2
    ");
    let json = json(&data(&["list", "put", "6x18", "--format", "json"]));
    assert_eq!(json["studies"], serde_json::json!([]));
    assert_eq!(json["scenarios"][0]["name"], "put-6x18");
    let paper = "Scalable object storage with resource reservations and dynamic load balancing";
    assert_eq!(json["scenarios"][0]["paper"], paper);
}

/// Scenarios that stand under a wrong heading: each heading has the study, and the paper if there is one.
fn misplaced(text: &str, list: &Value) -> Vec<String> {
    let mut heading = "";
    let mut wrong = Vec::new();
    for line in text.lines() {
        let name = line.strip_prefix("  ").and_then(|rest| rest.split_whitespace().next());
        let entry = list["scenarios"]
            .as_array()
            .expect("a list")
            .iter()
            .find(|one| Some(one["name"].as_str()) == Some(name));
        match (name, entry) {
            (None, _) => heading = line,
            (Some(name), Some(entry)) => {
                let study = entry["study"].as_str().expect("text");
                let want = match entry["paper"].as_str() {
                    Some(paper) => format!("{study}, as in \"{paper}\":"),
                    None => format!("{study}:"),
                };
                wrong.extend((heading != want).then(|| name.to_owned()));
            }
            (Some(_), None) => {}
        }
    }
    wrong
}

#[test]
fn the_list_has_every_scenario_once_under_its_study_and_paper() {
    let (text, list) = (data(&["list"]), json(&data(&["list", "--format", "json"])));
    let scenarios = text.split_once("Scenarios (").expect("it has some").1;
    assert_eq!(misplaced(scenarios, &list), [""; 0]);
    for entry in list["scenarios"].as_array().expect("a list") {
        let name = entry["name"].as_str().expect("text");
        assert_eq!(scenarios.matches(&format!("\n  {name} ")).count(), 1, "{name}");
    }
    // Planted: a scenario under the heading of another study.
    let moved = scenarios.replacen("\n\nplace:", "\n\nqueue:", 1);
    assert_eq!(misplaced(&moved, &list), ["place-algorithms"]);
}

#[test]
fn the_list_for_programs() {
    let list = json(&data(&["list", "--format", "json"]));
    assert_eq!(list["studies"][0]["name"], "queue");
    assert!(list["studies"][0]["measures"][0]["unit"].is_string());
    let names: Vec<&str> = towtank::studies().iter().map(|study| study.name()).collect();
    for scenario in list["scenarios"].as_array().expect("a list") {
        assert!(names.contains(&scenario["study"].as_str().expect("text")), "{scenario}");
    }
}

#[test]
fn show_prints_the_file_as_it_is() {
    let list = json(&data(&["list", "--format", "json"]));
    for scenario in list["scenarios"].as_array().expect("a list") {
        let file = format!(
            "{}/../../scenarios/{}",
            env!("CARGO_MANIFEST_DIR"),
            scenario["file"].as_str().expect("text")
        );
        let text = std::fs::read_to_string(file).expect("the file is in the repository");
        assert_eq!(data(&["show", scenario["name"].as_str().expect("text")]), text);
    }
    assert_snapshot!(Folder::new("show").run(&["show", "queue-network1"]), @"
    error: there is no scenario called `queue-network1`, and no such file
    hint: did you mean `queue-network`?
    exit 2
    ");
}

#[test]
fn the_schema_of_a_study() {
    let schema = json(&data(&["schema", "queue"]));
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["properties"]["study"]["const"], "queue");
    assert_eq!(schema["additionalProperties"], false);
    for key in ["study", "title", "seed", "replicates", "sweep", "stations"] {
        assert!(schema["properties"][key]["description"].is_string(), "{key} is not described");
    }
    assert_snapshot!(Folder::new("schema").run(&["schema", "quee"]), @"
    error: there is no study called `quee`
    hint: did you mean `queue`?
    exit 2
    ");
}

#[test]
fn the_schema_of_all_holds_each() {
    let schema = json(&data(&["schema"]));
    let ids: Vec<&str> =
        schema["oneOf"].as_array().expect("a list").iter().filter_map(|one| one["$id"].as_str()).collect();
    let want: Vec<String> =
        towtank::studies().iter().map(|study| format!("urn:towtank:scenario:{}", study.name())).collect();
    assert_eq!(ids, want);
}

#[test]
fn the_scenario_with_every_default() {
    assert_snapshot!(data(&["run", "counter.toml", "--print-scenario", "--set", "travel=1000us"]), @r#"
    study = "queue"
    seed = 1
    replicates = 3
    travel = "1ms"
    warm_up = "10s"
    span = "100s"

    [stations.counter]
    servers = 1
    service_rate = "10/s"
    arrival_rate = "5/s"
    "#);
    let printed = json(&data(&["run", "counter.toml", "--print-scenario", "--format", "json"]));
    assert_eq!(printed["seed"], 1);
}

#[test]
fn a_printed_scenario_is_the_same_scenario() {
    let folder = Folder::with_counter("printed");
    let printed = folder.run(&["run", "counter.toml", "--print-scenario"]).data();
    folder.write("printed.toml", &printed);
    assert_eq!(folder.run(&["run", "printed.toml", "--print-scenario"]).data(), printed);
    let hash = |file: &str| {
        let report = json(&folder.run(&["run", file, "--format", "json"]).data());
        report["scenario_hash"].clone()
    };
    assert_eq!(hash("printed.toml"), hash("counter.toml"));
}

#[test]
fn a_studys_command_is_its_scenario_in_flags() {
    let flags =
        ["queue", "--arrival-rate", "5/s", "--service-rate", "10/s", "--warm-up", "10s", "--span", "100s"];
    let printed = data(&[&flags[..], &["--replicates", "3", "--print-scenario"]].concat());
    assert_eq!(printed, data(&["run", "counter.toml", "--print-scenario"]));
    assert_snapshot!(Folder::new("flags").run(&["queue", "--service-rate", "10/s"]), @r#"
    error: no jobs come from outside
      --> --service-rate 10/s
          ^^^^^^^^^^^^^^
    hint: give at least one station an `arrival_rate`, such as "70/s"
    exit 2
    "#);
    assert_snapshot!(Folder::new("flags").run(&["queue", "--service-rate", "ten/s", "--arrival-rate", "5/s"]), @r#"
    error: `stations.counter.service_rate`: `ten/s` is not a frequency
      --> --service-rate ten/s
                         ^^^^^
    hint: write digits, with a point before any decimals, and a unit, such as "200000/s"; the units are /d, /h, /min, /s, k/s, /ms, M/s, /us
    exit 2
    "#);
}

#[test]
fn a_scenario_comes_from_stdin() {
    use std::io::Write as _;
    use std::process::Stdio;
    let folder = Folder::new("stdin");
    let mut child = folder
        .command(&["run", "-", "--print-scenario"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    child.stdin.take().expect("a pipe").write_all(COUNTER.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stdout), data(&["run", "counter.toml", "--print-scenario"]));
}

/// The schema for editors and the check of the tool agree about every built-in scenario.
#[test]
fn every_shipped_scenario_is_right() {
    let list = json(&data(&["list", "--format", "json"]));
    let scenarios = list["scenarios"].as_array().expect("a list");
    assert!(!scenarios.is_empty());
    for scenario in scenarios {
        let name = scenario["name"].as_str().expect("text");
        data(&["run", name, "--print-scenario"]);
        assert!(!scenario["title"].as_str().unwrap_or_default().is_empty(), "{name} has no title");
        let schema = json(&data(&["schema", scenario["study"].as_str().expect("text")]));
        let document = Document::parse(&Source::file(name, data(&["show", name]))).expect("TOML");
        assert_eq!(document.check_against(&schema), Problems::new(), "{name}");
    }
}
