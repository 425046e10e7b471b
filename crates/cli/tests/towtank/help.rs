//! The help of each command, and the flags of studies.

use insta::assert_snapshot;

use crate::tool::Folder;

fn help(args: &[&str]) -> String {
    Folder::new("help").run(&[args, &["--help"]].concat()).data()
}

#[test]
fn without_a_word_it_says_what_there_is() {
    let said = Folder::new("nothing").run(&[]).to_string();
    assert_eq!(said, format!("{}exit 2", help(&[])));
}

#[test]
fn the_whole() {
    assert_snapshot!(help(&[]), @"
    What-if answers for distributed storage, from simulation

    Usage: towtank <COMMAND>

    About a cluster that runs, from its exports or measurements:
      whatif        What a change of a Ceph cluster moves, how long it takes, and
                    what is at risk
      eta           How long a recovery that is under way still takes, and what it
                    waits for
      durability    How likely a cluster loses data, real or described by keys
      preview       What moves if I change the map of a Ceph cluster
      balance       How evenly a Ceph cluster is filled, why not, and which moves
                    win space back
      capacity      Estimate operations per second of any mix of reads, writes and
                    sizes, from two measurements
      learn         Say what happened in a recovery, from logs, metrics and reports
                    that were kept of it
      record        Print the shell lines that keep of the next recovery what can be
                    learned from
      crush         Read, test, edit and write CRUSH maps, as Ceph's crushtool does

    About systems that a scenario describes:
      rebuild       How long it takes to restore redundancy after a failure, and
                    what limits the rebuild
      backfill      How long it takes to bring a replica up to date after an outage
      place         How evenly an algorithm spreads data, which servers share it,
                    and what a change moves
      put           How fast gateways store chunks on servers with UCH-CCP,
                    Replicast-M or Replicast-H
      pfs           What throughput and latency applications get from a parallel
                    file system, by scheduler
      capacity-sim  Whether rates of pure reads and pure writes predict those of
                    mixes on a simulated cluster
      queue         How long do jobs wait at a queue, or in a network of queues

    Scenarios and results:
      list          List the studies and the built-in scenarios
      show          Print a built-in scenario, to read or to copy
      schema        Print the JSON Schema of a study's scenario files, for editors
      run           Run a scenario: a file, or a built-in one by its name
      compare       Compare the reports of two or more runs
      merge         Join the results of `--shard` runs from several directories
      reproduce     Run published set-ups and compare the results with the published
                    values

    The store:
      store         Run a replicated object store on this machine, with the same
                    protocol as the simulator

    The tool itself:
      bench         Measure the simulator itself
      completions   Print a completion script for a shell
      man           Print the manual page, or that of one command

    Options:
      -V, --version  Print version
      -h, --help     Print help

    Begin with `towtank list`; `towtank COMMAND -h` shows examples.
    Exit codes: 0 done, 1 failed, 2 bad input, 3 a gate not met, 130 interrupted.
    ");
}

#[test]
fn run() {
    assert_snapshot!(help(&["run"]), @"
    Run a scenario: a file, or a built-in one by its name

    Usage: towtank run [OPTIONS] <FILE|NAME>

    Arguments:
      <FILE|NAME>  A scenario file, the name of a built-in scenario (see `towtank list`), or `-` for
                   stdin

    Options:
      -h, --help  Print help: `-h` the usual flags, `--help` all

    Scenario:
          --set <KEY=VALUE>         Set a key of the scenario; may be repeated. Values are TOML; text
                                    needs no quotes
          --seed <N>                Seed of all random draws [default: the scenario's, or 1]
          --replicates <N>          Replicates of each point; from 2 on, results have 95 % intervals
                                    [default: the scenario's, or 1]
          --compare <KEY=VALUE, …>  Run the scenario as given and with these keys set, and compare both;
                                    may be repeated
          --print-scenario          Print the scenario with all defaults filled in, and do not run it

    Running:
          --jobs <N>         Number of runs in parallel [default: as many as the cores allow]
          --executor <NAME>  Executor of the kernel; it does not change the result [default: sequential]
                             [possible values: sequential, conservative, optimistic, check]
          --workers <N>      Threads per run, for the conservative and the optimistic executor [default:
                             all cores]
          --force            Use more threads than cores; write into a directory that has other results
          --allow-memory     Run even if the estimated memory exceeds that of the machine
          --shard <I/N>      Run only part I of N, counted from 1; `towtank merge` joins the parts

    Results:
          --out <DIR>             Write the report, its tables and every finished run into this
                                  directory; the same command resumes from there
          --format <FORMAT>       What to print on stdout [default: text] [possible values: text, json,
                                  csv]
      -q, --quiet                 Print no progress and no messages on stderr
      -v, --verbose               Print all tables; by default one screen is printed, which begins with
                                  the answer
          --fail-if <EXPRESSION>  Exit with code 3 if this condition on measures is true:
                                  'NAME[.low|.high] < 2ms', joined by and/or; may be repeated
          --commands <FILE>       Write the commands of the plan into this file, one per line; `-` is
                                  stdout, and the report is not printed

    Examples:
      towtank run queue-mm1
      towtank run my.toml --set stations.counter.servers=2 --out results
      towtank run my.toml --fail-if 'sojourn_mean.high > 30min'
      towtank run queue-mm1 --compare stations.counter.servers=2

    Environment variables that stand for flags: TOWTANK_SEED, TOWTANK_REPLICATES, TOWTANK_JOBS,
    TOWTANK_EXECUTOR, TOWTANK_WORKERS, TOWTANK_SHARD, TOWTANK_OUT, TOWTANK_FORMAT
    ");
}

#[test]
fn a_study() {
    assert_snapshot!(help(&["queue"]), @r#"
    How long do jobs wait at a queue, or in a network of queues

    Usage: towtank queue [OPTIONS]

    Options:
      -h, --help  Print help: `-h` the usual flags, `--help` all

    Scenario:
          --arrival-rate <FREQUENCY>  Mean rate at which jobs arrive from outside, independently of each
                                      other (a Poisson stream) [default: 0/s]
          --service-rate <FREQUENCY>  Mean rate at which one busy server finishes jobs. Service times
                                      are exponential unless `service` says otherwise
          --servers <N>               Number of servers; each serves one job at a time [default: 1]
          --service <VALUE>           Distribution of service times: `"exponential"`, `"constant"`, or a
                                      table such as `{ erlang = { phases = 4 } }`
          --travel <SPAN>             Travel time of a job to each station and from the last one to the
                                      exit. It does not count as wait, but lets several workers share
                                      one run [default: 0s]
          --warm-up <SPAN>            Time discarded at the beginning, while the queues fill. Left out:
                                      20 relaxation times of the slowest station
          --span <SPAN>               Measured time after the warm-up. Left out: 1000 relaxation times
                                      of the slowest station, or the time of five million arrivals if
                                      that is shorter
          --set <KEY=VALUE>           Set a key of the scenario; may be repeated. Values are TOML; text
                                      needs no quotes
          --seed <N>                  Seed of all random draws [default: the scenario's, or 1]
          --replicates <N>            Replicates of each point; from 2 on, results have 95 % intervals
                                      [default: the scenario's, or 1]
          --compare <KEY=VALUE, …>    Run the scenario as given and with these keys set, and compare
                                      both; may be repeated
          --print-scenario            Print the scenario with all defaults filled in, and do not run it

    Running:
          --jobs <N>         Number of runs in parallel [default: as many as the cores allow]
          --executor <NAME>  Executor of the kernel; it does not change the result [default: sequential]
                             [possible values: sequential, conservative, optimistic, check]
          --workers <N>      Threads per run, for the conservative and the optimistic executor [default:
                             all cores]
          --force            Use more threads than cores; write into a directory that has other results
          --allow-memory     Run even if the estimated memory exceeds that of the machine
          --shard <I/N>      Run only part I of N, counted from 1; `towtank merge` joins the parts

    Results:
          --out <DIR>             Write the report, its tables and every finished run into this
                                  directory; the same command resumes from there
          --format <FORMAT>       What to print on stdout [default: text] [possible values: text, json,
                                  csv]
      -q, --quiet                 Print no progress and no messages on stderr
      -v, --verbose               Print all tables; by default one screen is printed, which begins with
                                  the answer
          --fail-if <EXPRESSION>  Exit with code 3 if this condition on measures is true:
                                  'NAME[.low|.high] < 2ms', joined by and/or; may be repeated

    Jobs arrive from outside at random (Poisson streams), wait at a station until one of its servers is
    free, are served, and go on to another station or leave: M/M/1, M/M/k and open Jackson networks;
    with other service times and with classes of jobs of which some are more urgent, M/G/1 and M/G/k.
    The report shows the closed forms that there are beside the simulated values.

    Statistics begin after a warm-up and cover what ends in the measured span. Not modelled: arrivals
    other than Poisson streams, queues of limited length.

    Examples:
      towtank queue --arrival-rate 0.8/s --service-rate 1/s
      towtank queue --arrival-rate 8/s --service-rate 1/s --servers 10 --replicates 10
      towtank run queue-load --out results

    Keys without a flag are set with --set; `towtank schema queue` lists them.

    Measures, for --fail-if:
      number_mean    mean number of jobs at all stations, waiting and in service [jobs]
      waiting_mean   mean number of waiting jobs [jobs]
      utilisation    mean share of servers that are busy [fraction]
      throughput     jobs that leave per second [jobs/s]
      wait_share     share of visits to a station that must wait [fraction]
      wait_mean      mean wait of a visit to a station, zero waits included [s]
      wait_p99       99th percentile of the wait of a visit [s]
      sojourn_mean   mean time of a job from its first station to the end of its last service [s]
      sojourn_p50    median sojourn time of a job [s]
      sojourn_p99    99th percentile of the sojourn time of a job [s]
      little_ratio   mean number of jobs over arrival rate times mean response; 1 by Little's law
      jobs_measured  jobs that left in the measured span [jobs]

    Environment variables that stand for flags: TOWTANK_SEED, TOWTANK_REPLICATES, TOWTANK_JOBS,
    TOWTANK_EXECUTOR, TOWTANK_WORKERS, TOWTANK_SHARD, TOWTANK_OUT, TOWTANK_FORMAT
    "#);
}

#[test]
fn the_others() {
    assert_snapshot!(help(&["list"]), @"
    List the studies and the built-in scenarios

    Usage: towtank list [OPTIONS] [WORD]...

    Arguments:
      [WORD]...  Only what has all these words in its name, title, study or paper; the name of a study
                 means that study alone

    Options:
          --format <FORMAT>  What to print on stdout [default: text] [possible values: text, json]
      -h, --help             Print help

    Examples:
      towtank list put
      towtank list replicast table
      towtank list longhorn
    ");
    assert_snapshot!(help(&["show"]), @"
    Print a built-in scenario, to read or to copy

    Usage: towtank show <NAME>

    Arguments:
      <NAME>  A name from `towtank list`

    Options:
      -h, --help  Print help
    ");
    assert_snapshot!(help(&["schema"]), @"
    Print the JSON Schema of a study's scenario files, for editors

    Usage: towtank schema [STUDY]

    Arguments:
      [STUDY]  A study from `towtank list`; all of them if left out

    Options:
      -h, --help  Print help
    ");
    assert_snapshot!(help(&["reproduce"]), @"
    Run published set-ups and compare the results with the published values

    Usage: towtank reproduce [OPTIONS] [NAME]...

    Arguments:
      [NAME]...  Names of published scenarios or studies [default: all]

    Options:
          --list   Print every claim with its source, and the time that each scenario takes, and run
                   nothing
          --quick  Only the cheapest scenarios, as many as take a minute in all on one core
      -h, --help   Print help: `-h` the usual flags, `--help` all

    Running:
          --jobs <N>         Number of runs in parallel [default: as many as the cores allow]
          --executor <NAME>  Executor of the kernel; it does not change the result [default: sequential]
                             [possible values: sequential, conservative, optimistic, check]
          --workers <N>      Threads per run, for the conservative and the optimistic executor [default:
                             all cores]
          --force            Use more threads than cores; write into a directory that has other results
          --allow-memory     Run even if the estimated memory exceeds that of the machine

    Results:
          --out <DIR>        Write the report, its tables and every finished run into this directory;
                             the same command resumes from there
          --format <FORMAT>  What to print on stdout [default: text] [possible values: text, json, csv]
      -q, --quiet            Print no progress and no messages on stderr
      -v, --verbose          Print all tables; by default one screen is printed, which begins with the
                             answer

    Environment variables that stand for flags: TOWTANK_JOBS, TOWTANK_EXECUTOR, TOWTANK_WORKERS,
    TOWTANK_OUT, TOWTANK_FORMAT
    ");
    assert_snapshot!(help(&["compare"]), @"
    Compare the reports of two or more runs

    Usage: towtank compare [OPTIONS] <RUN> <RUN>...

    Arguments:
      <RUN> <RUN>...  Two or more directories that were given to `--out`, or report.json files; all are
                      compared with the first

    Options:
      -h, --help  Print help

    Results:
          --out <DIR>        Write the report and its tables into this directory
          --format <FORMAT>  What to print on stdout [default: text] [possible values: text, json, csv]
      -q, --quiet            Print no progress and no messages on stderr
      -v, --verbose          Print all tables; by default one screen is printed, which begins with the
                             answer

    Environment variables that stand for flags: TOWTANK_OUT, TOWTANK_FORMAT
    ");
    assert_snapshot!(help(&["merge"]), @"
    Join the results of `--shard` runs from several directories

    Usage: towtank merge [OPTIONS] <DIR>...

    Arguments:
      <DIR>...  The directories of the parts

    Options:
      -h, --help  Print help

    Results:
          --out <DIR>             Write the report, its tables and every finished run into this
                                  directory; the same command resumes from there
          --format <FORMAT>       What to print on stdout [default: text] [possible values: text, json,
                                  csv]
      -q, --quiet                 Print no progress and no messages on stderr
      -v, --verbose               Print all tables; by default one screen is printed, which begins with
                                  the answer
          --fail-if <EXPRESSION>  Exit with code 3 if this condition is true for the joined results, as
                                  in `run`; may be repeated
          --force                 Write into a directory that has other results

    Environment variables that stand for flags: TOWTANK_OUT, TOWTANK_FORMAT
    ");
    assert_snapshot!(help(&["completions"]), @"
    Print a completion script for a shell

    Usage: towtank completions <SHELL>

    Arguments:
      <SHELL>  The shell [possible values: bash, elvish, fish, powershell, zsh]

    Options:
      -h, --help  Print help
    ");
    assert_snapshot!(help(&["man"]), @"
    Print the manual page, or that of one command

    Usage: towtank man [COMMAND]

    Arguments:
      [COMMAND]  A command, such as `run`; the main page if left out

    Options:
      -h, --help  Print help
    ");
}

/// `rebuild` knows the flags of exports, to say which study has them, and does not offer them.
#[test]
fn flags_that_are_only_refused_are_not_offered() {
    let offered = |study: &str| {
        let text = help(&[study]);
        let exports = ["--crush-map <", "--osd-dump <", "--pg-dump <", "--osd-df <", "--report <"];
        exports.into_iter().filter(|flag| text.contains(flag)).count()
    };
    assert_eq!((offered("rebuild"), offered("whatif")), (0, 5));
}

#[test]
fn the_version() {
    let version = Folder::new("version").run(&["--version"]).data();
    assert_eq!(version, format!("towtank {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_command_that_is_none() {
    assert_snapshot!(Folder::new("no_command").run(&["rnu"]), @"
    error: unrecognized subcommand 'rnu'

    Usage: towtank <COMMAND>

    For more information, try '--help'.
    exit 2
    ");
}

#[test]
fn completions_know_commands_and_flags() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = Folder::new("completions").run(&["completions", shell]).data();
        for word in ["towtank", "reproduce", "queue", "fail-if", "arrival-rate"] {
            assert!(script.contains(word), "{shell} does not complete {word}");
        }
    }
}

#[test]
fn manual_pages_are_pages() {
    let folder = Folder::new("man");
    let page = folder.run(&["man"]).data();
    assert!(page.contains(".TH towtank 1"), "{page}");
    let page = folder.run(&["man", "queue"]).data();
    assert!(page.contains("arrival\\-rate"), "{page}");
    assert_snapshot!(folder.run(&["man", "rum"]), @"
    error: there is no command called `rum`
    hint: did you mean `run`?
    exit 2
    ");
}

fn short(args: &[&str]) -> String {
    Folder::new("short-help").run(&[args, &["-h"]].concat()).data()
}

#[test]
fn a_study_in_short() {
    assert_snapshot!(short(&["queue"]), @r#"
    How long do jobs wait at a queue, or in a network of queues

    Usage: towtank queue [OPTIONS]

    Options:
      -h, --help  Print help: `-h` the usual flags, `--help` all

    Scenario:
          --arrival-rate <FREQUENCY>  Mean rate at which jobs arrive from outside, independently of each
                                      other (a Poisson stream) [default: 0/s]
          --service-rate <FREQUENCY>  Mean rate at which one busy server finishes jobs. Service times
                                      are exponential unless `service` says otherwise
          --servers <N>               Number of servers; each serves one job at a time [default: 1]
          --service <VALUE>           Distribution of service times: `"exponential"`, `"constant"`, or a
                                      table such as `{ erlang = { phases = 4 } }`
          --travel <SPAN>             Travel time of a job to each station and from the last one to the
                                      exit. It does not count as wait, but lets several workers share
                                      one run [default: 0s]
          --warm-up <SPAN>            Time discarded at the beginning, while the queues fill. Left out:
                                      20 relaxation times of the slowest station
          --span <SPAN>               Measured time after the warm-up. Left out: 1000 relaxation times
                                      of the slowest station, or the time of five million arrivals if
                                      that is shorter
          --set <KEY=VALUE>           Set a key of the scenario; may be repeated. Values are TOML; text
                                      needs no quotes
          --seed <N>                  Seed of all random draws [default: the scenario's, or 1]
          --replicates <N>            Replicates of each point; from 2 on, results have 95 % intervals
                                      [default: the scenario's, or 1]
          --compare <KEY=VALUE, …>    Run the scenario as given and with these keys set, and compare
                                      both; may be repeated

    Running:
          --jobs <N>  Number of runs in parallel [default: as many as the cores allow]

    Results:
          --out <DIR>             Write the report, its tables and every finished run into this
                                  directory; the same command resumes from there
          --format <FORMAT>       What to print on stdout [default: text] [possible values: text, json,
                                  csv]
      -q, --quiet                 Print no progress and no messages on stderr
      -v, --verbose               Print all tables; by default one screen is printed, which begins with
                                  the answer
          --fail-if <EXPRESSION>  Exit with code 3 if this condition on measures is true:
                                  'NAME[.low|.high] < 2ms', joined by and/or; may be repeated

    Examples:
      towtank queue --arrival-rate 0.8/s --service-rate 1/s
      towtank queue --arrival-rate 8/s --service-rate 1/s --servers 10 --replicates 10
      towtank run queue-load --out results

    `towtank queue --help` lists all flags, what is modelled, and the measures.
    "#);
}

#[test]
fn the_short_help_of_a_study_has_three_examples_and_fewer_lines() {
    let folder = Folder::new("short-help");
    let list: serde_json::Value =
        serde_json::from_str(&folder.run(&["list", "--format", "json"]).data()).expect("JSON");
    let studies = list["studies"].as_array().expect("a list");
    assert!(studies.len() >= 9, "{list}");
    for study in studies {
        let study = study["name"].as_str().expect("a name");
        let of = |flag| folder.run(&[study, flag]).data();
        let (short, full) = (of("-h"), of("--help"));
        let examples = short.lines().skip_while(|line| *line != "Examples:").skip(1);
        let examples = examples.take_while(|line| line.starts_with("  towtank ")).count();
        assert_eq!(examples, 3, "{short}");
        assert!(short.lines().count() <= 60, "{study}: {} lines", short.lines().count());
        assert!(short.lines().count() < full.lines().count());
        assert!(full.contains("Measures, for --fail-if:") && !short.contains("Measures, for --fail-if:"));
    }
}
