//! Messages of `towtank run` about invalid input: the value, the limit, the place, a hint, and exit code 2.

use insta::assert_snapshot;

use crate::tool::{COUNTER, Folder, Said};

fn run(args: &[&str]) -> Said {
    Folder::with_counter("bad_input").run(&[&["run"], args].concat())
}

/// The message about this scenario file.
fn file(name: &str, text: impl AsRef<[u8]>) -> Said {
    let folder = Folder::new(&format!("bad_input_{name}"));
    folder.write("ring.toml", text);
    folder.run(&["run", "ring.toml"])
}

/// The valid scenario with one change.
fn changed(name: &str, from: &str, to: &str) -> Said {
    assert!(COUNTER.contains(from), "{from}");
    file(name, COUNTER.replace(from, to))
}

#[test]
fn a_file_that_is_not_there() {
    assert_snapshot!(run(&["absent.toml"]), @"
    error: cannot read `absent.toml`: no such file or directory
    hint: check the path; `towtank list` shows the built-in scenarios
    exit 2
    ");
}

#[test]
fn a_name_that_nothing_has() {
    assert_snapshot!(run(&["queue-mn1"]), @"
    error: there is no scenario called `queue-mn1`, and no such file
    hint: did you mean `queue-mm1`?
    exit 2
    ");
    assert_snapshot!(run(&["zebra"]), @"
    error: there is no scenario called `zebra`, and no such file
    hint: `towtank list` shows the built-in ones; name a file of your own by its path
    exit 2
    ");
}

/// A former fault: `--set` replaced a flag, and nothing was said.
#[test]
fn a_key_that_a_flag_and_set_give_different_values() {
    let place = |more: &[&str]| {
        let args = ["place", "--servers", "8", "--keys", "1000", "--print-scenario"];
        Folder::with_counter("set_twice").run(&[&args[..], more].concat())
    };
    assert_snapshot!(place(&["--set", "servers=9"]), @"
    error: `--servers 8` and `--set servers=9` set `servers` to different values
      --> --set servers=9
                        ^
    hint: keep one of them
    exit 2
    ");
    assert_snapshot!(run(&["counter.toml", "--seed", "3", "--set", "seed=4"]), @"
    error: `--seed 3` and `--set seed=4` set `seed` to different values
      --> --set seed=4
                     ^
    hint: keep one of them
    exit 2
    ");
    assert_eq!(place(&["--set", "servers=8"]).code, 0);
}

#[test]
fn a_folder() {
    assert_snapshot!(run(&["."]), @"
    error: cannot read `.`: is a directory
    hint: name a scenario file in it
    exit 2
    ");
}

#[test]
fn no_text() {
    assert_snapshot!(file("no_text", b"study = \"queue\"\n\xff\xfe"), @"
    error: `ring.toml` is not text: byte 16, in line 2, is not valid UTF-8
    hint: save it as UTF-8; is it a scenario file?
    exit 2
    ");
}

#[test]
fn an_empty_file() {
    assert_snapshot!(file("empty", ""), @r#"
    error: `study` is missing
      --> ring.toml
    hint: begin the file with `study = "…"`; `towtank list` shows the studies
    exit 2
    "#);
}

#[test]
fn a_value_without_quotes() {
    assert_snapshot!(changed("quotes", "\"100s\"", "100s"), @r#"
    error: not valid TOML: `100s` is not in quotes
      --> ring.toml:4:8
    hint: write "100s"
    exit 2
    "#);
}

#[test]
fn a_quote_that_is_never_closed() {
    assert_snapshot!(changed("open", "\"100s\"", "\"100s"), @r#"
    error: not valid TOML: a quote is not closed
      --> ring.toml:4:13
    hint: close the string with `"` on the same line
    exit 2
    "#);
}

#[test]
fn a_key_twice() {
    assert_snapshot!(changed("twice", "warm_up", "span"), @"
    error: not valid TOML: `span` is defined twice
      --> ring.toml:4:1
    hint: keep one of the two
    exit 2
    ");
}

#[test]
fn no_study() {
    assert_snapshot!(changed("no_study", "study = \"queue\"\n", ""), @r#"
    error: `study` is missing
      --> ring.toml
    hint: begin the file with `study = "…"`; `towtank list` shows the studies
    exit 2
    "#);
}

#[test]
fn an_unknown_study() {
    assert_snapshot!(changed("study", "\"queue\"", "\"queues\""), @"
    error: there is no study called `queues`
      --> ring.toml:1:9
    hint: did you mean `queue`?
    exit 2
    ");
}

#[test]
fn an_unknown_key() {
    assert_snapshot!(changed("key", "arrival_rate", "arival_rate"), @"
    error: unknown key `arival_rate` in `[stations.counter]`
      --> ring.toml:8:1
    hint: did you mean `arrival_rate`?
    exit 2
    ");
}

#[test]
fn a_key_in_the_wrong_table() {
    assert_snapshot!(changed("elsewhere", "[stations.counter]\n", "[stations.counter]\ntravel = \"1ms\"\n"), @"
    error: unknown key `travel` in `[stations.counter]`
      --> ring.toml:7:1
    hint: `travel` belongs at the top of the scenario, above the first `[table]`
    exit 2
    ");
}

#[test]
fn a_value_of_the_wrong_kind() {
    assert_snapshot!(changed("kind", "replicates = 3", "replicates = \"many\""), @r#"
    error: `replicates` is "many", but it must be a whole number
      --> ring.toml:2:14
    hint: set `replicates` to a value from 1 to 1000000
    exit 2
    "#);
}

#[test]
fn an_unknown_unit() {
    assert_snapshot!(changed("unit", "\"5/s\"", "\"5/fortnight\""), @"
    error: `stations.counter.arrival_rate`: `5/fortnight`: `/fortnight` is not a unit of a frequency
      --> ring.toml:8:16
    hint: the units are /d, /h, /min, /s, k/s, /ms, M/s, /us
    exit 2
    ");
}

#[test]
fn a_number_without_its_unit() {
    assert_snapshot!(changed("bare", "\"100s\"", "100"), @r#"
    error: `span`: `100` has no unit, but a duration needs one
      --> ring.toml:4:8
    hint: write "100s" for seconds; the units are ns, us, µs, ms, s, min, h, d, y
    exit 2
    "#);
}

#[test]
fn a_number_out_of_range() {
    assert_snapshot!(changed("range", "[stations.counter]\n", "[stations.counter]\nservers = 0\n"), @"
    error: `stations.counter.servers` is 0, but it must be from 1 to 100000
      --> ring.toml:7:11
    hint: set `stations.counter.servers` to a value from 1 to 100000
    exit 2
    ");
}

#[test]
fn a_key_that_is_missing() {
    assert_snapshot!(changed("missing", "service_rate = \"10/s\"\n", ""), @r#"
    error: `stations.counter.service_rate` is missing
      --> ring.toml:6:1
    hint: add `service_rate = "100/s"` under `[stations.counter]` (--service-rate 100/s): mean rate at which one busy server finishes jobs
    exit 2
    "#);
}

#[test]
fn many_things_at_once() {
    let text = "study = \"queue\"\nseeds = 3\nspan = \"10 parsecs\"\n[stations.counter]\nservers = 1.5\narrival_rate = \"5/s\"\n";
    assert_snapshot!(file("many", text), @r#"
    error: unknown key `seeds`
      --> ring.toml:2:1
    hint: did you mean `seed`?

    error: `span`: `10 parsecs`: `parsecs` is not a unit of a duration
      --> ring.toml:3:8
    hint: the units are ns, us, µs, ms, s, min, h, d, y

    error: `stations.counter.servers` is 1.5, but it must be a whole number
      --> ring.toml:5:11
    hint: write a whole number, such as 1
    exit 2
    "#);
}

#[test]
fn a_scenario_that_makes_no_sense() {
    assert_snapshot!(changed("sense", "\"5/s\"", "\"15/s\""), @"
    error: 15 jobs/s reach `counter`, but its server finishes at most 10 jobs/s
      --> ring.toml:6:1
    hint: set `stations.counter.servers` to at least 2, or lower the arrival rate
    exit 2
    ");
}

#[test]
fn a_route_to_nowhere() {
    assert_snapshot!(changed("route", "\"5/s\"\n", "\"5/s\"\nroutes = { desk = \"50%\" }\n"), @"
    error: `stations.counter.routes` names `desk`, but there is no such station
      --> ring.toml:9:19
    hint: the stations are counter; what is not routed leaves
    exit 2
    ");
}

#[test]
fn a_sweep_over_nothing() {
    assert_snapshot!(file("no_sweep", format!("{COUNTER}[sweep]\n\"stations.counter.servers\" = []\n")), @"
    error: the sweep over `stations.counter.servers` has no values
      --> ring.toml:10:30
    hint: give it at least one value, or remove the line
    exit 2
    ");
}

#[test]
fn a_swept_value_that_does_not_fit() {
    let text = format!(
        "{COUNTER}[sweep]\n\"stations.counter.servers\" = [1, 2, 0]\n\"stations.counter.severs\" = [1]\n"
    );
    assert_snapshot!(file("swept", text), @"
    error: `stations.counter.servers` is 0, but it must be from 1 to 100000
      --> ring.toml:10:37
    hint: set `stations.counter.servers` to a value from 1 to 100000

    error: unknown key `severs` in `[stations.counter]`
      --> ring.toml:11:1
    hint: did you mean `servers`?
    exit 2
    ");
}

#[test]
fn settings_that_set_nothing() {
    assert_snapshot!(run(&["counter.toml", "--set", "stations.counter.severs=3"]), @"
    error: unknown key `severs` in `[stations.counter]`
      --> --set stations.counter.severs=3
                ^^^^^^^^^^^^^^^^^^^^^^^
    hint: did you mean `servers`?
    exit 2
    ");
    assert_snapshot!(run(&["counter.toml", "--set", "span"]), @"
    error: `span` has no value
      --> --set span
                ^^^^
    hint: write --set span=value
    exit 2
    ");
    assert_snapshot!(run(&["counter.toml", "--set", "stations.counter.service_rate=fast"]), @r#"
    error: `stations.counter.service_rate`: `fast` is not a frequency
      --> --set stations.counter.service_rate=fast
                                              ^^^^
    hint: write digits, with a point before any decimals, and a unit, such as "200000/s"; the units are /d, /h, /min, /s, k/s, /ms, M/s, /us
    exit 2
    "#);
    assert_snapshot!(run(&["queue-load", "--set", "stations.counter.arrival_rate=0.5/s"]), @r#"
    error: `stations.counter.arrival_rate` is swept by the scenario, so one value for it has no effect
      --> --set stations.counter.arrival_rate=0.5/s
                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    hint: set the sweep instead: --set 'sweep."stations.counter.arrival_rate"=["0.5/s"]'
    exit 2
    "#);
    assert_snapshot!(run(&["counter.toml", "--set", "title=\"open"]), @r#"
    error: not valid TOML: a quote is not closed
      --> --set title="open
                           ^
    hint: close every quote and bracket of the value
    exit 2
    "#);
}

#[test]
fn seeds_and_replicates_that_are_none() {
    assert_snapshot!(run(&["counter.toml", "--replicates", "0", "--seed", "-3"]), @"
    error: `replicates` is 0, but it must be from 1 to 1000000
      --> --replicates 0
                       ^
    hint: set `replicates` to a value from 1 to 1000000

    error: `seed` is -3, but it must be from 0 to 9223372036854775807
      --> --seed -3
                 ^^
    hint: set `seed` to a value from 0 to 9223372036854775807
    exit 2
    ");
    let mut command = Folder::with_counter("bad_seed").command(&["run", "counter.toml"]);
    let said = Said::of(command.env("TOWTANK_SEED", "seven").output().expect("it runs"));
    assert_snapshot!(said, @r#"
    error: `seed` is "seven", but it must be a whole number
      --> TOWTANK_SEED=seven
                       ^^^^^
    hint: set `seed` to a value from 0 to 9223372036854775807
    exit 2
    "#);
}

#[test]
fn gates_that_cannot_be_judged() {
    assert_snapshot!(run(&["counter.toml", "--fail-if", "wait_meen > 3s"]), @"
    error: unknown measure `wait_meen`
      --> --fail-if 'wait_meen > 3s'
                     ^^^^^^^^^
    hint: did you mean `wait_mean`?
    exit 2
    ");
    assert_snapshot!(run(&["counter.toml", "--fail-if", "wait_mean > 3GiB"]), @"
    error: `wait_mean` is measured in s, and `GiB` is not a unit for it
      --> --fail-if 'wait_mean > 3GiB'
                                 ^^^^
    hint: write one of ns, us, ms, s, min, h, d, or no unit
    exit 2
    ");
    assert_snapshot!(run(&["counter.toml", "--fail-if", "wait_mean > 3s and"]), @"
    error: a comparison is missing
      --> --fail-if 'wait_mean > 3s and'
                                       ^
    hint: write a measure, a comparison and a limit: `wait_mean > 2ms`
    exit 2
    ");
}

#[test]
fn scenario_and_gate_are_reported_together() {
    assert_snapshot!(run(&["counter.toml", "--set", "span=10", "--fail-if", "wait > 3s"]), @r#"
    error: `span`: `10` has no unit, but a duration needs one
      --> --set span=10
                     ^^
    hint: write "10s" for seconds; the units are ns, us, µs, ms, s, min, h, d, y

    error: unknown measure `wait`
      --> --fail-if 'wait > 3s'
                     ^^^^
    hint: did you mean `waiting_mean`, `wait_share`, `wait_mean` or `wait_p99`?
    exit 2
    "#);
}

#[test]
fn more_threads_than_make_sense() {
    assert_snapshot!(run(&["counter.toml", "--workers", "4"]), @"
    error: --workers is 4, but the sequential executor uses one
    hint: use --executor conservative or optimistic, or run replicates in parallel with --jobs
    exit 2
    ");
    let said = run(&["counter.toml", "--jobs", "100000"]);
    assert_eq!(said.code, 2);
    assert!(
        said.stderr.starts_with("error: 100000 jobs of 1 worker are 100000 threads, but there "),
        "{said}"
    );
}

#[test]
fn flags_that_are_none() {
    assert_snapshot!(run(&["counter.toml", "--executor", "sequentail"]), @"
    error: invalid value 'sequentail' for '--executor <NAME>'
      [possible values: sequential, conservative, optimistic, check]

      tip: a similar value exists: 'sequential'

    For more information, try '--help'.
    exit 2
    ");
    assert_snapshot!(run(&["counter.toml", "--shard", "9/8", "--out", "o"]), @"
    error: invalid value '9/8' for '--shard <I/N>': shard 9 of 8 does not exist: the first is `1/8`, the last `8/8`

    For more information, try '--help'.
    exit 2
    ");
    assert_snapshot!(run(&["counter.toml", "--shard", "1/8"]), @"
    error: the following required arguments were not provided:
      --out <DIR>

    Usage: towtank run --out <DIR> --shard <I/N> <FILE|NAME>

    For more information, try '--help'.
    exit 2
    ");
    assert_snapshot!(run(&["counter.toml", "--replicates", "-1"]), @"
    error: `replicates` is -1, but it must be from 1 to 1000000
      --> --replicates -1
                       ^^
    hint: set `replicates` to a value from 1 to 1000000
    exit 2
    ");
    assert_snapshot!(run(&["counter.toml", "--jobs", "-1"]), @"
    error: invalid value '-1' for '--jobs <N>': it must be a whole number from 1

    For more information, try '--help'.
    exit 2
    ");
    assert_snapshot!(run(&["queue"]), @"
    error: `queue` is a study, and `run` takes a scenario
    hint: `towtank queue -h` shows how to ask it; `towtank list queue` lists scenarios of it
    exit 2
    ");
    assert_snapshot!(Folder::new("none").run(&["queue"]), @"
    error: `stations` is missing
    hint: add --arrival-rate 70/s and --service-rate 100/s
    exit 2
    ");
    assert_snapshot!(Folder::new("none").run(&["rebuild", "--fail", "3"]), @"
    error: `fail` names `3`, which is no server, disk or rack
      --> --fail 3
                 ^
    hint: write server, disk or rack to have one drawn, or name it: server=5, disk=3, rack=1
    exit 2
    ");
    assert_snapshot!(Folder::new("none").run(&["whatif", "--crush-map", "nosuch.txt"]), @"
    error: cannot read `nosuch.txt`: no such file or directory
      --> --crush-map nosuch.txt
                      ^^^^^^^^^^
    hint: check the path
    exit 2
    ");
    assert_snapshot!(Folder::new("none").run(&["reproduce", "whatif", "--list"]), @"
    error: no published results of the study `whatif` are known
    hint: these have published results: queue, place, rebuild, backfill, pfs, put, capacity; `towtank reproduce --list` names the scenarios
    exit 2
    ");
    assert_snapshot!(run(&["counter.toml", "--jobs", "0"]), @"
    error: invalid value '0' for '--jobs <N>': it must be a whole number from 1

    For more information, try '--help'.
    exit 2
    ");
    assert_snapshot!(run(&["counter.toml", "--repliactes", "3"]), @"
    error: unexpected argument '--repliactes' found

      tip: a similar argument exists: '--replicates'

    Usage: towtank run --replicates <N> <FILE|NAME>

    For more information, try '--help'.
    exit 2
    ");
    assert_snapshot!(run(&[]), @"
    error: the following required arguments were not provided:
      <FILE|NAME>

    Usage: towtank run <FILE|NAME>

    For more information, try '--help'.
    exit 2
    ");
}

#[test]
fn a_directory_of_something_else() {
    let folder = Folder::with_counter("taken");
    folder.run(&["run", "counter.toml", "--out", "results", "--quiet"]).data();
    assert_snapshot!(folder.run(&["run", "counter.toml", "--out", "results", "--seed", "2"]).without_keys(), @"
    error: `results` holds the results of another campaign (key KEY, this one is KEY): seed is 1 there and 2 here
    hint: choose another directory, or take this one over with `--force`
    exit 2
    ");
    assert_snapshot!(folder.run(&["run", "counter.toml", "--out", "."]), @"
    error: `.` holds files but no campaign (`results`)
    hint: choose a new or an empty directory, or write into this one with `--force`
    exit 2
    ");
    assert_snapshot!(folder.run(&["run", "counter.toml", "--out", "counter.toml"]), @"
    error: cannot make the directory `counter.toml`: file exists
    hint: a part of the path is a file, not a directory: choose another path
    exit 2
    ");
}
