//! Whole scenarios: flags over files, sweeps, the resolved form and its hash.

use std::sync::Arc;

use proptest::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_scenario::{
    Document, Files, FlagName, HashedBeside, KeyPath, Problem, Problems, Resolved, SchemaParts, Setting,
    Source, file_schema,
};
use towtank_units::{Bytes, SimSpan};

#[derive(Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Example {
    /// How long the run is.
    end: SimSpan,
    #[serde(default = "one_mebibyte")]
    object_size: Bytes,
    #[serde(default)]
    log: Option<String>,
    #[serde(default)]
    cluster: Cluster,
    #[serde(default)]
    stations: Vec<Station>,
}

#[derive(Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Cluster {
    /// How many servers there are.
    #[schemars(range(min = 1))]
    servers: u32,
    share: f64,
}

#[derive(Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Station {
    service: SimSpan,
}

impl Default for Cluster {
    fn default() -> Self {
        Cluster { servers: 4, share: 0.5 }
    }
}

fn one_mebibyte() -> Bytes {
    "1MiB".parse().expect("a size")
}

fn document(text: &str, settings: &[&str]) -> Result<Document, Problems> {
    let mut document = Document::parse(&Source::file("a.toml", text))?;
    for text in settings {
        document.set(Setting::parse("--set", text)?)?;
    }
    Ok(document)
}

fn resolve(text: &str, settings: &[&str]) -> Result<Resolved, Problems> {
    finish(document(text, settings)?)
}

fn finish(document: Document) -> Result<Resolved, Problems> {
    let outline = document.outline()?;
    let mut problems = Problems::new();
    let mut studies = Vec::new();
    for point in outline.points() {
        match point.draft().read::<Example>() {
            Ok(example) => studies.push(serde_json::to_value(example).expect("JSON")),
            Err(found) => problems.extend(found),
        }
    }
    let studies = problems.into_result(studies)?;
    outline.resolve(studies, HashedBeside { results_version: 1, input_hashes: &[] })
}

fn text_of(problems: &Problems) -> String {
    let tell = |problem: &Problem| {
        let place = problem.place().map_or_else(String::new, |place| {
            let (line, column) = place.line_and_column();
            format!("{}:{line}:{column} {}", place.source().name(), place.text())
        });
        format!("{}\n  {place}\n  {}", problem.message(), problem.next_step().unwrap_or("-"))
    };
    problems.iter().map(tell).collect::<Vec<_>>().join("\n")
}

fn refused(text: &str, settings: &[&str]) -> String {
    text_of(&resolve(text, settings).expect_err(text))
}

const TEXT: &str = "study = \"example\"\nend = \"1s\"\n";

#[test]
fn the_resolved_form_has_every_default_and_one_spelling() {
    let text = "study = \"example\"\ntitle = \"An example\"\nend = \"1500ms\"\nobject_size = \"1024KiB\"\n[[stations]]\nservice = \"2000us\"\n";
    insta::assert_snapshot!(resolve(text, &[]).expect("good").to_toml(), @r#"
    study = "example"
    title = "An example"
    seed = 1
    replicates = 1
    end = "1.5s"
    object_size = "1MiB"

    [cluster]
    servers = 4
    share = 0.5

    [[stations]]
    service = "2ms"
    "#);
}

#[test]
fn the_hash_does_not_see_how_a_scenario_is_written() {
    let hash = |text: &str, settings: &[&str]| resolve(text, settings).expect(text).hash().to_owned();
    let want = hash(TEXT, &[]);
    for (text, settings) in [
        ("# words\nend = \"1000ms\"\nstudy='example'\nseed = 1", &[][..]),
        ("study = \"example\"\nend = \"1s\"\nobject_size = \"1024KiB\"\n[cluster]\nservers = 4", &[]),
        ("study = \"example\"\ntitle = \"Another\"\nend = \"1s\"", &[]),
        ("study = \"example\"", &["end=1s", "cluster.share=0.5"]),
        ("study = \"example\"\nend = \"2s\"", &["end=9s", "end=1s"]),
    ] {
        assert_eq!(hash(text, settings), want, "{text} {settings:?}");
    }
    for settings in ["seed=2", "replicates=2", "cluster.servers=5", "sweep.end=[\"1s\"]", "log=x"] {
        assert_ne!(hash(TEXT, &[settings]), want, "{settings}");
    }
}

#[test]
fn the_hash_sees_inputs_and_results_version() {
    let outline = document(TEXT, &[]).and_then(Document::outline).expect("good");
    let studies = vec![serde_json::json!({})];
    let hash = |results_version, inputs: &[String]| {
        let beside = HashedBeside { results_version, input_hashes: inputs };
        outline.resolve(studies.clone(), beside).expect("good").hash().to_owned()
    };
    assert_ne!(hash(1, &[]), hash(2, &[]));
    assert_ne!(hash(1, &[]), hash(1, &["abc".to_owned()]));
}

#[test]
fn a_sweep_is_a_cross_product_in_file_order() {
    let text = "study = \"example\"\nend = \"1s\"\n[sweep]\n\"cluster.servers\" = [8, 16]\nend = [\"1s\", \"2000ms\"]\n";
    let resolved = resolve(text, &[]).expect("good");
    let settings: Vec<String> =
        resolved.points().iter().map(|point| serde_json::to_string(&point.settings).expect("JSON")).collect();
    insta::assert_snapshot!(settings.join("\n"), @r#"
    [["cluster.servers",8],["end","1s"]]
    [["cluster.servers",8],["end","2s"]]
    [["cluster.servers",16],["end","1s"]]
    [["cluster.servers",16],["end","2s"]]
    "#);
    insta::assert_snapshot!(resolved.to_toml(), @r#"
    study = "example"
    seed = 1
    replicates = 1
    object_size = "1MiB"
    stations = []

    [cluster]
    share = 0.5

    [sweep]
    "cluster.servers" = [8, 16]
    end = ["1s", "2s"]
    "#);
    let again = resolve(&resolved.to_toml(), &[]).expect("what is printed reads back");
    assert_eq!(again.hash(), resolved.hash());
    let other_spelling =
        "study = \"example\"\nend = \"7s\"\n[sweep]\ncluster.servers = [8, 16]\nend = [\"1s\", \"2s\"]\n";
    assert_eq!(resolve(other_spelling, &[]).expect("good").hash(), resolved.hash());
}

#[test]
fn a_sweep_reaches_into_lists() {
    let text = "study = \"example\"\nend = \"1s\"\n[[stations]]\nservice = \"1ms\"\n[sweep]\n\"stations[0].service\" = [\"2ms\", \"3ms\"]\n";
    let resolved = resolve(text, &[]).expect("good");
    assert_eq!(resolved.points()[1].scenario["stations"][0]["service"], "3ms");
    assert_eq!(resolve(&resolved.to_toml(), &[]).expect("reads back").hash(), resolved.hash());
}

#[test]
fn mistakes_in_a_sweep() {
    let sweep = |lines: &str| refused(&format!("{TEXT}[sweep]\n{lines}\n"), &[]);
    insta::assert_snapshot!(sweep("\"cluster.servers\" = [8, 0, \"x\"]"), @r#"
    `cluster.servers` is 0, but it must be at least 1
      a.toml:4:25 0
      set `cluster.servers` to 1 or more
    `cluster.servers` is "x", but it must be a whole number
      a.toml:4:28 "x"
      set `cluster.servers` to a value from 1 to 4294967295
    "#);
    insta::assert_snapshot!(sweep("\"cluster.severs\" = [8]"), @r#"
    unknown key `severs` in `[cluster]`
      a.toml:4:1 "cluster.severs"
      did you mean `servers`?
    "#);
    insta::assert_snapshot!(sweep("end = \"1s\""), @r#"
    the sweep over `end` is "1s", but it must be a list
      a.toml:4:7 "1s"
      write it in brackets: ["1s"]
    "#);
    insta::assert_snapshot!(sweep("end = []"), @"
    the sweep over `end` has no values
      a.toml:4:7 []
      give it at least one value, or remove the line
    ");
    insta::assert_snapshot!(sweep("end = [\"1s\", \"2s\", \"1000ms\"]"), @r#"
    the sweep over `end` has "1000ms" twice
      a.toml:4:20 "1000ms"
      remove one: it equals value 1 of the list
    "#);
    insta::assert_snapshot!(sweep("seed = [1, 2]"), @"
    `seed` cannot be swept
      a.toml:4:1 seed
      set `replicates`: every replicate draws from another seed
    ");
    insta::assert_snapshot!(sweep("cluster.servers = [1]\n\"cluster.servers\" = [2]"), @r#"
    `cluster.servers` is swept twice
      a.toml:5:1 "cluster.servers"
      keep one of the two
    "#);
    insta::assert_snapshot!(sweep("\"end.x\" = [1]"), @r#"
    `end.x` does not exist: `end` is a string
      a.toml:4:1 "end.x"
      set `end` itself
    "#);
    insta::assert_snapshot!(sweep("\"a b\" = [1]"), @r#"
    `a b` cannot be swept: ' ' is not allowed in a key
      a.toml:4:1 "a b"
      name a key of the scenario: "cluster.servers" = [8, 16, 32]
    "#);
    insta::assert_snapshot!(refused(&format!("{TEXT}sweep = 3"), &[]), @r#"
    `sweep` is 3, but it must be a table
      a.toml:3:9 3
      write a line `[sweep]` and below it lists of values: "cluster.servers" = [8, 16, 32]
    "#);
    let many = (0..400).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    insta::assert_snapshot!(sweep(&format!("a = [{many}]\nb = [{many}]")).lines().next().unwrap_or_default(), @"the sweep has 400 × 400 points, but at most 10000 can be run");
}

#[test]
fn mistakes_in_settings_point_at_the_flag() {
    insta::assert_snapshot!(refused(TEXT, &["cluster.servers=many"]), @r#"
    `cluster.servers` is "many", but it must be a whole number
      --set:1:23 many
      set `cluster.servers` to a value from 1 to 4294967295
    "#);
    insta::assert_snapshot!(refused(TEXT, &["cluster.severs=3"]), @"
    unknown key `severs` in `[cluster]`
      --set:1:7 cluster.severs
      did you mean `servers`?
    ");
    insta::assert_snapshot!(refused(TEXT, &["cluster.servers"]), @"
    `cluster.servers` has no value
      --set:1:7 cluster.servers
      write --set cluster.servers=value
    ");
    insta::assert_snapshot!(refused(TEXT, &["=3"]), @"
    no key: a key cannot begin with '='
      --set:1:7 =3
      write --set key=value, as in --set replicates=10
    ");
    insta::assert_snapshot!(refused(TEXT, &["log=\"open"]), @"
    not valid TOML: a quote is not closed
      --set:1:16 
      close every quote and bracket of the value
    ");
    insta::assert_snapshot!(refused(TEXT, &["end.x=3"]), @"
    `end.x` does not exist: `end` is a string
      --set:1:7 end.x
      set `end` itself
    ");
    insta::assert_snapshot!(refused(TEXT, &["stations[2].service=1s"]), @"
    `stations[2].service` does not exist: the scenario has no list `stations`
      --set:1:7 stations[2].service
      set the whole list: stations=[…]
    ");
    insta::assert_snapshot!(refused(&format!("{TEXT}[sweep]\n\"cluster.servers\" = [1, 2]"), &["cluster.servers=3"]), @r#"
    `cluster.servers` is swept by the scenario, so one value for it has no effect
      --set:1:7 cluster.servers
      set the sweep instead: --set 'sweep."cluster.servers"=[3]'
    "#);
}

#[test]
fn what_is_missing_from_a_command_is_asked_for_by_flag() {
    let flag = FlagName { flag: "--end".to_owned(), key: "end".parse().expect("a key") };
    let document = Document::of_study("example", vec![flag]);
    let problems = finish(document.clone()).expect_err("no end");
    insta::assert_snapshot!(text_of(&problems), @"
    `end` is missing
      :1:1 
      add --end 250us: how long the run is
    ");
    let mut document = document;
    let key: KeyPath = "end".parse().expect("a key");
    document.set(Setting::of_flag("--end", &key, "1s").expect("a value")).expect("a key");
    assert_eq!(finish(document).expect("good").hash(), resolve(TEXT, &[]).expect("good").hash());
}

#[test]
fn broken_toml_is_reported_with_its_place() {
    insta::assert_snapshot!(refused("study = \"example\"\nend = 10s\n", &[]), @r#"
    not valid TOML: `10s` is not in quotes
      a.toml:2:7 10s
      write "10s"
    "#);
    insta::assert_snapshot!(refused("study = \"example\"\nend = \"1s\nlog = 1\n", &[]), @r#"
    not valid TOML: a quote is not closed
      a.toml:2:10 
      close the string with `"` on the same line
    "#);
    insta::assert_snapshot!(refused("study = \"example\"\n[cluster\nservers = 1\n", &[]), @"
    not valid TOML: a heading is not closed
      a.toml:2:9 
      close it with `]`, as in `[cluster]`
    ");
    insta::assert_snapshot!(refused("end = \"1s\"\nend = \"2s\"\n", &[]), @"
    not valid TOML: `end` is defined twice
      a.toml:2:1 end
      keep one of the two
    ");
    insta::assert_snapshot!(refused("x = 99999999999999999999999999999999999999999", &[]), @"
    the number 99999999999999999999999999999999999999999 is too large
      a.toml:1:5 99999999999999999999999999999999999999999
      whole numbers range from -9223372036854775808 to 9223372036854775807
    ");
    insta::assert_snapshot!(refused("", &[]), @r#"
    `study` is missing
      a.toml:1:1 
      add `study = "…"`: the name of the study; `towtank list` shows all studies
    "#);
}

#[test]
fn depth_is_bounded() {
    let deep = vec!["a"; 100_000].join(".");
    for text in [format!("{deep} = 1"), format!("[{deep}]"), format!("{TEXT}[sweep]\n\"{deep}\" = [1]")] {
        resolve(&text, &[]).expect_err("nobody nests so deep");
    }
    resolve(TEXT, &[&format!("{deep}=1")]).expect_err("nobody nests so deep");
    resolve(&format!("a = {}", "[".repeat(100_000)), &[]).expect_err("nobody nests so deep");
}

#[derive(Debug)]
struct OneFile;

impl Files for OneFile {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        if path == "map.json" { Ok(b"{}".to_vec()) } else { Err("no such file".to_owned()) }
    }
}

#[test]
fn input_files_come_from_the_face_and_are_hashed() {
    let draft = |name: &str| {
        let document = document(TEXT, &[&format!("log={name}")]).expect("good").with_files(Arc::new(OneFile));
        document.outline().expect("good")
    };
    let outline = draft("map.json");
    let read = outline.points()[0].draft().input("log").expect("the file is there");
    assert_eq!(&*read.bytes, b"{}");
    assert_eq!(outline.points()[0].draft().inputs(), [read]);
    let outline = draft("other.json");
    let problem = outline.points()[0].draft().input("log").expect_err("the file is not there");
    insta::assert_snapshot!(text_of(&problem.into()), @"
    cannot read `other.json`: no such file
      --set:1:11 other.json
      paths are relative to the directory of the scenario file
    ");
}

#[test]
fn the_schema_has_the_common_keys_and_the_studys_own() {
    let own = schemars::schema_for!(Example).to_value();
    let schema = file_schema(SchemaParts { study: "example", title: "An example", own: &own });
    let keys: Vec<&String> = schema["properties"].as_object().expect("properties").keys().collect();
    assert_eq!(
        keys,
        ["study", "title", "seed", "replicates", "end", "object_size", "log", "cluster", "stations", "sweep"]
    );
    assert_eq!(schema["properties"]["study"]["const"], "example");
    assert_eq!(schema["required"], serde_json::json!(["study", "end"]));
}

/// Texts near enough to scenarios to reach most of the code.
fn scenario_like() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "study",
        "end",
        "seed",
        "cluster",
        "servers",
        "sweep",
        "stations",
        "service",
        "replicates",
        "object_size",
        "=",
        "=",
        "=",
        "\n",
        "\n",
        "\n",
        "[",
        "]",
        "[[",
        "]]",
        "{",
        "}",
        ",",
        ".",
        "\"",
        "\"1s\"",
        "\"example\"",
        "1",
        "-1",
        "1e400",
        "nan",
        "true",
        "2024-01-01",
        "é",
        "\"\"\"",
        "#",
        "0x10",
        "\"cluster.servers\"",
        "[1, 2]",
        "\0",
    ]);
    prop::collection::vec(words, 0..40).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn no_text_panics(text in any::<String>()) {
        let _ = resolve(&text, &[&text]);
    }

    #[test]
    fn no_scenario_like_text_panics(text in scenario_like(), setting in scenario_like()) {
        let _ = resolve(&text, &[]);
        let _ = resolve(TEXT, &[&setting]);
        let _ = resolve(&format!("{TEXT}{text}"), &[&setting]);
    }

    #[test]
    fn what_is_printed_has_the_same_hash(
        end in 1u64..=u64::MAX,
        size in any::<u64>(),
        servers in 1u32..,
        share in -1e300f64..1e300,
        log in prop::option::of(any::<String>()),
        services in prop::collection::vec(any::<u64>(), 0..3),
        seed in 0..=i64::MAX,
        replicates in 1u32..1_000_000,
        swept in prop::collection::btree_set(1u32.., 0..4),
    ) {
        let example = Example {
            end: SimSpan::from_ns(end),
            object_size: Bytes::new(size),
            log,
            cluster: Cluster { servers, share },
            stations: services.into_iter().map(|ns| Station { service: SimSpan::from_ns(ns) }).collect(),
        };
        let mut text = serde_json::to_value(&example).expect("JSON");
        let table = text.as_object_mut().expect("a table");
        table.retain(|_, value| !value.is_null());
        table.insert("study".to_owned(), "example".into());
        table.insert("seed".to_owned(), seed.into());
        table.insert("replicates".to_owned(), replicates.into());
        if !swept.is_empty() {
            table.insert("sweep".to_owned(), serde_json::json!({ "cluster.servers": swept }));
        }
        let first = resolve(&toml::to_string(&text).expect("TOML"), &[]).expect("good");
        let second = resolve(&first.to_toml(), &[]).expect("what is printed reads back");
        prop_assert_eq!(first.hash(), second.hash());
        prop_assert_eq!(first.points(), second.points());
        if swept.is_empty() {
            let read: Example = serde_json::from_value(second.points()[0].scenario.clone()).expect("reads back");
            prop_assert_eq!(read, example);
        }
    }
}
