//! Each kind of mistake is reported with its place and a next step.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_units::{Bytes, Percent, Rate, SimSpan};

use crate::{Document, Problems, Source};

/// One of everything that a scenario type may hold.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Example {
    /// How long the run is.
    end: SimSpan,
    cluster: Cluster,
    #[serde(default)]
    stations: Vec<Station>,
    #[serde(default)]
    policy: Policy,
    #[serde(default)]
    arrivals: Arrivals,
    #[serde(default)]
    limit: Option<Limit>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Cluster {
    /// How many servers there are. More than one share the line.
    #[schemars(range(min = 1, max = 64))]
    servers: u32,
    #[serde(default)]
    rate: Option<Rate>,
    #[serde(default)]
    disk: Option<Bytes>,
    #[serde(default)]
    full_at: Option<Percent>,
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    share: f64,
    #[serde(default)]
    keep_log: bool,
    #[serde(default)]
    tag: String,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Station {
    name: String,
    /// Mean service time.
    service: SimSpan,
}

#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Policy {
    /// First come, first served
    #[default]
    Fifo,
    /// Last come, first served
    Lifo,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum Arrivals {
    /// Evenly spaced
    Fixed { every: SimSpan },
    /// Poisson
    Random { mean: SimSpan },
}

impl Default for Arrivals {
    fn default() -> Self {
        Arrivals::Fixed { every: SimSpan::from_secs(1) }
    }
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Limit {
    None,
    Jobs(u32),
    Bytes { most: Bytes },
}

const GOOD: &str = "study = \"example\"\nend = \"1s\"\n[cluster]\nservers = 3\n";

fn read(text: &str) -> Result<Example, Problems> {
    let outline = Document::parse(&Source::file("a.toml", text))?.outline()?;
    outline.points()[0].draft().read::<Example>()
}

fn text_of(problems: &Problems) -> String {
    let mut lines = Vec::new();
    for problem in problems {
        let place = problem.place().map_or("nowhere".to_owned(), |place| {
            let (line, column) = place.line_and_column();
            format!("{line}:{column} {:?}", place.text().lines().next().unwrap_or_default())
        });
        lines.push(format!("{}\n  {place}\n  {}", problem.message(), problem.next_step().unwrap_or("-")));
    }
    lines.join("\n")
}

/// The problems of a scenario that is valid except for these lines.
fn mistake(lines: &str) -> String {
    let text = match lines.strip_prefix("[cluster]\n") {
        Some(more) => format!("{GOOD}{more}\n"),
        None if lines.starts_with('[') => format!("{GOOD}{lines}\n"),
        None => GOOD.replace("[cluster]", &format!("{lines}\n[cluster]")),
    };
    text_of(&read(&text).expect_err(lines))
}

#[test]
fn a_good_scenario_reads() {
    let more = "rate = \"10Gbit/s\"\nshare = 1\n[[stations]]\nname = \"a\"\nservice = \"2ms\"\n[arrivals]\nkind = \"random\"\nmean = \"1ms\"\n[limit.bytes]\nmost = \"1GiB\"\n";
    let example = read(&format!("{GOOD}{more}")).expect("good");
    assert_eq!(example.cluster.servers, 3);
    assert_eq!(example.stations[0].service, SimSpan::from_ms(2));
    assert!(matches!(example.limit, Some(Limit::Bytes { .. })));
    for limit in ["limit = \"none\"", "limit = { jobs = 3 }"] {
        read(&GOOD.replace("[cluster]", &format!("{limit}\n[cluster]"))).expect(limit);
    }
}

#[test]
fn unknown_keys() {
    insta::assert_snapshot!(mistake("ends = \"2s\""), @r#"
    unknown key `ends`
      3:1 "ends"
      did you mean `end`?
    "#);
    insta::assert_snapshot!(mistake("[cluster]\nshrae = 0.5"), @r#"
    unknown key `shrae` in `[cluster]`
      5:1 "shrae"
      did you mean `share`?
    "#);
    insta::assert_snapshot!(mistake("keep_log = true"), @r#"
    unknown key `keep_log`
      3:1 "keep_log"
      did you mean `cluster.keep_log`?
    "#);
    insta::assert_snapshot!(mistake("[cluster]\nzebra = 1"), @r#"
    unknown key `zebra` in `[cluster]`
      5:1 "zebra"
      the keys of `[cluster]` are `servers`, `rate`, `disk`, `full_at`, `share`, `keep_log`, `tag`
    "#);
    insta::assert_snapshot!(mistake("[[stations]]\nname = \"a\"\nservice = \"1s\"\nservers = 3"), @r#"
    unknown key `servers` in `stations[0]`
      8:1 "servers"
      did you mean `cluster.servers`?
    "#);
}

#[test]
fn wrong_kinds() {
    insta::assert_snapshot!(mistake("[cluster]\nshare = \"0.5\""), @r#"
    `cluster.share` is "0.5", but it must be a number
      5:9 "\"0.5\""
      write it without quotes: 0.5
    "#);
    insta::assert_snapshot!(mistake("[cluster]\ntag = 7"), @r#"
    `cluster.tag` is 7, but it must be a string
      5:7 "7"
      write it in quotes: "7"
    "#);
    insta::assert_snapshot!(mistake("[cluster]\nkeep_log = \"yes\""), @r#"
    `cluster.keep_log` is "yes", but it must be `true` or `false`
      5:12 "\"yes\""
      set `cluster.keep_log` to true or false, without quotes
    "#);
    insta::assert_snapshot!(mistake("stations = \"a\""), @r#"
    `stations` is "a", but it must be a list
      3:12 "\"a\""
      write it in brackets: ["a"]
    "#);
    insta::assert_snapshot!(mistake("policy = 3"), @r#"
    `policy` is 3, but it must be "fifo" or "lifo"
      3:10 "3"
      write it in quotes: "fifo"
    "#);
    insta::assert_snapshot!(mistake("[cluster]\nrate = 2024-01-01"), @r#"
    `cluster.rate` is 2024-01-01, but it must be a rate
      5:8 "2024-01-01"
      write it as "1.5GiB/s"
    "#);
}

#[test]
fn ranges() {
    insta::assert_snapshot!(text_of(&read(&GOOD.replace('3', "0")).unwrap_err()), @r#"
    `cluster.servers` is 0, but it must be from 1 to 64
      4:11 "0"
      set `cluster.servers` to a value from 1 to 64
    "#);
    insta::assert_snapshot!(text_of(&read(&GOOD.replace('3', "2.5")).unwrap_err()), @r#"
    `cluster.servers` is 2.5, but it must be a whole number
      4:11 "2.5"
      write a whole number, such as 2
    "#);
    insta::assert_snapshot!(mistake("[cluster]\nshare = nan"), @r#"
    `cluster.share` is NaN, but it must be a finite number
      5:9 "nan"
      set `cluster.share` to a value from 0 to 1
    "#);
    insta::assert_snapshot!(mistake("[limit]\njobs = -1"), @r#"
    `limit.jobs` is -1, but it must be at least 0
      6:8 "-1"
      set `limit.jobs` to 0 or more
    "#);
}

#[test]
fn units() {
    insta::assert_snapshot!(mistake("[cluster]\nrate = \"10Gbps\""), @r#"
    `cluster.rate`: `10Gbps`: `Gbps` is not a unit of a rate
      5:8 "\"10Gbps\""
      write `Gbit/s`
    "#);
    insta::assert_snapshot!(mistake("[cluster]\ndisk = 5"), @r#"
    `cluster.disk`: `5` has no unit, but a size needs one
      5:8 "5"
      write "5B" for bytes; the units are B, kB, KB, KiB, MB, MiB, GB, GiB, TB, TiB, PB, PiB, EB, EiB
    "#);
    insta::assert_snapshot!(text_of(&read(&GOOD.replace("1s", "1.5 parsecs")).unwrap_err()), @r#"
    `end`: `1.5 parsecs`: `parsecs` is not a unit of a duration
      2:7 "\"1.5 parsecs\""
      the units are ns, us, µs, ms, s, min, h, d, y
    "#);
}

#[test]
fn choices_and_forms() {
    insta::assert_snapshot!(mistake("policy = \"fifi\""), @r#"
    `policy` is "fifi", but it must be "fifo" or "lifo"
      3:10 "\"fifi\""
      did you mean "fifo"?
    "#);
    insta::assert_snapshot!(mistake("policy = \"random\""), @r#"
    `policy` is "random", but it must be "fifo" or "lifo"
      3:10 "\"random\""
      write one of "fifo" (First come, first served), "lifo" (Last come, first served)
    "#);
    insta::assert_snapshot!(mistake("[arrivals]\nkind = \"rnadom\"\nmean = \"1s\""), @r#"
    `arrivals.kind` is "rnadom", but it must be "fixed" or "random"
      6:8 "\"rnadom\""
      did you mean "random"?
    "#);
    insta::assert_snapshot!(mistake("[arrivals]\nmean = \"1s\""), @r#"
    `arrivals.kind` is missing
      5:1 "[arrivals]"
      add `kind = …` under `[arrivals]`: write one of "fixed" (Evenly spaced), "random" (Poisson)
    "#);
    insta::assert_snapshot!(mistake("[arrivals]\nkind = \"random\"\nevery = \"1s\""), @r#"
    `arrivals.mean` is missing
      5:1 "[arrivals]"
      add `mean = "250us"` under `[arrivals]`
    unknown key `every` in `[arrivals]`
      7:1 "every"
      the keys of `[arrivals]` are `kind`, `mean`
    "#);
    insta::assert_snapshot!(mistake("[limit]\nbites = 3"), @r#"
    unknown key `bites` in `[limit]`
      6:1 "bites"
      did you mean `bytes`?
    "#);
    insta::assert_snapshot!(mistake("limit = true"), @r#"
    `limit` is true, but it must be "none" or a table
      3:9 "true"
      change `limit`; `towtank schema` shows its forms
    "#);
}

#[test]
fn missing_keys_are_all_named() {
    insta::assert_snapshot!(text_of(&read("study = \"example\"\n[cluster]\n").unwrap_err()), @r#"
    `end` is missing
      1:1 "study = \"example\""
      add `end = "250us"`: how long the run is
    `cluster.servers` is missing
      2:1 "[cluster]"
      add `servers = 1` under `[cluster]`: how many servers there are
    "#);
}

#[test]
fn several_mistakes_come_together_in_reading_order() {
    let text =
        "study = \"example\"\nend = \"1x\"\npolcy = \"fifo\"\n[cluster]\nservers = \"many\"\nshare = 2\n";
    insta::assert_snapshot!(text_of(&read(text).unwrap_err()), @r#"
    `end`: `1x`: `x` is not a unit of a duration
      2:7 "\"1x\""
      the units are ns, us, µs, ms, s, min, h, d, y
    unknown key `polcy`
      3:1 "polcy"
      did you mean `policy`?
    `cluster.servers` is "many", but it must be a whole number
      5:11 "\"many\""
      set `cluster.servers` to a value from 1 to 64
    `cluster.share` is 2, but it must be from 0 to 1
      6:9 "2"
      set `cluster.share` to a value from 0 to 1
    "#);
}

#[test]
fn the_common_keys_are_checked_too() {
    insta::assert_snapshot!(mistake("seed = -1\nreplicates = 0\ntitle = 3"), @r#"
    `seed` is -1, but it must be from 0 to 9223372036854775807
      3:8 "-1"
      set `seed` to a value from 0 to 9223372036854775807
    `replicates` is 0, but it must be from 1 to 1000000
      4:14 "0"
      set `replicates` to a value from 1 to 1000000
    `title` is 3, but it must be a string
      5:9 "3"
      write it in quotes: "3"
    "#);
}

/// A number, or one of as many names as there are forms: the number was taken for a name.
#[test]
fn a_name_or_a_number() {
    #[derive(Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    enum Rule {
        /// All of them
        All,
        /// More than half
        Majority,
    }
    #[derive(Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
    #[serde(untagged)]
    enum Copies {
        Rule(Rule),
        Number(u32),
    }
    #[derive(Debug, Deserialize, Serialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Acknowledged {
        ack: Copies,
    }
    let read = |text: &str| {
        let document = Document::parse(&Source::file("ack.toml", format!("study = \"x\"\n{text}")))?;
        document.outline()?.points()[0].draft().read::<Acknowledged>()
    };
    assert_eq!(read("ack = 2").expect("a number").ack, Copies::Number(2));
    assert_eq!(read("ack = \"majority\"").expect("a name").ack, Copies::Rule(Rule::Majority));
    for (text, words) in
        [("ack = \"most\"", "\"majority\""), ("ack = 1.5", "it must be"), ("ack = -1", "ack")]
    {
        let problems = read(text).expect_err(text);
        assert!(text_of(&problems).contains(words), "{}", text_of(&problems));
    }
}
