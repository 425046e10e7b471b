//! `towtank whatif` as users run it: changes in the order of the command line.

use insta::assert_snapshot;

use super::tool::{EXPORTS, Folder, Said};

fn whatif(folder: &Folder, changes: &[&str]) -> Said {
    folder.run(&[&["whatif"], &EXPORTS[..], changes, &["--quiet"]].concat())
}

#[test]
fn changes_are_made_in_the_order_of_the_command_line() {
    let folder = Folder::with_cluster("whatif-order");
    let (add, drain) = (["--add-host", "h9=4x3.638:hdd@default"], ["--drain", "host=h9"]);
    let right = whatif(&folder, &[add, drain].concat());
    assert!(right.stdout.contains("host=h9 drained: no data move.               SAFE"), "{}", right.stdout);
    let wrong = whatif(&folder, &[drain, add].concat());
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("there is no device or bucket called `h9`"), "{}", wrong.stderr);
    let listed = whatif(&folder, &["--change", "add-host h9=4x3.638:hdd@default", drain[0], drain[1]]);
    let front = |said: &Said| said.stdout.lines().next().map(str::to_owned);
    assert_eq!(front(&listed), front(&right));
}

/// Changes that follow each other are lines of the course, in order of time.
#[test]
fn later_changes_stand_in_the_course() {
    let folder = Folder::with_cluster("whatif-course");
    let late =
        ["--drain", "osd.3@1h", "--fail", "osd.1", "--returns", "osd.1@20min", "--client-writes", "20/s"];
    let said = whatif(&folder, &late).stdout;
    let course: Vec<&str> =
        said.lines().filter(|line| line.starts_with("   ") && line.contains(":")).collect();
    let at = |text: &str| course.iter().position(|line| line.trim() == text);
    let places = ["0:00  osd.1 fails", "20:00  osd.1 returns", "1:00:00  osd.3 drained"].map(at);
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}\n{said}");
    // In the finding too.
    assert!(said.starts_with("osd.1 fails, osd.1 returns after 20 min, osd.3 drained after 1 h: "), "{said}");
    // Planted: another time is another line.
    assert_eq!(at("2:00:00  osd.3 drained"), None);
}

/// The same device fails, returns or is replaced once at a time.
#[test]
fn what_is_asked_twice_is_refused_or_done_twice() {
    let folder = Folder::with_cluster("whatif-twice");
    assert_snapshot!(whatif(&folder, &["--replace", "osd.3", "--replace", "osd.3"]), @r#"
    error: `replace` has "osd.3": osd.3 stands in `replace` already, and a change is made once
      --> --replace ["osd.3","osd.3"]
                     ^^^^^^^
    hint: leave one of them out
    exit 2
    "#);
    let both = whatif(&folder, &["--replace", "osd.3", "--replace", "osd.4"]).stdout;
    assert!(both.starts_with("osd.3 replaced, osd.4 replaced: "), "{both}");
    let twice = whatif(&folder, &["--fail", "osd.3", "--down-out", "1min", "--down-out", "2min"]);
    assert_eq!(twice.code, 2);
    assert!(twice.stderr.contains("'--down-out <SPAN>' cannot be used multiple times"), "{}", twice.stderr);
}

/// A value below zero is a value: the error says what its flag takes.
#[test]
fn negative_values_are_refused_as_values() {
    let folder = Folder::with_cluster("whatif-negative");
    assert_snapshot!(whatif(&folder, &["--fail", "osd.3", "--client-writes", "-1/s"]), @r#"
    error: `client_writes`: `-1/s` is negative, but a frequency must not be
      --> --client-writes -1/s
                          ^^^^
    hint: write a value of zero or more, such as "200000/s"
    exit 2
    "#);
    for (flag, value) in
        [("--down-out", "-1s"), ("--speed-spread", "-5%"), ("--nic", "-1Gbit/s"), ("--max-backfills", "-1")]
    {
        let said = whatif(&folder, &["--fail", "osd.3", flag, value]);
        assert!(said.code == 2 && said.stderr.contains(&format!("--> {flag} {value}")), "{flag}: {said}");
    }
    // Planted: a flag that does not exist is none of these.
    assert!(whatif(&folder, &["--fail", "osd.3", "-1s"]).stderr.contains("unexpected argument '-1'"));
}

/// In a pipe `COLUMNS` says how wide lines may be.
#[test]
fn columns_wrap_lines_in_a_pipe() {
    let folder = Folder::with_cluster("whatif-columns");
    let widest = |columns: &str| {
        let mut command =
            folder.command(&[&["whatif"], &EXPORTS[..], &["--fail", "osd.3", "--quiet"]].concat());
        let said = Said::of(command.env("COLUMNS", columns).output().expect("the binary can be run")).data();
        said.lines().map(|line| line.chars().count()).max().unwrap_or(0)
    };
    for (columns, most) in [("60", 60), ("80", 80), ("100", 100), ("no number", 100), ("0", 100)] {
        let widest = widest(columns);
        assert!(widest <= most && widest + 20 > most, "{widest} columns of {columns}");
    }
}

/// What is assumed names the flag that changes it.
#[test]
fn assumptions_name_their_flags() {
    let folder = Folder::with_cluster("whatif-assumed");
    let all = folder
        .run(&[&["whatif"], &EXPORTS[..], &["--fail", "osd.3", "--verbose", "--quiet"]].concat())
        .data();
    for flag in
        ["--disk-read", "--disk-write", "--seeks", "--nic", "--recovery-sleep", "--speed-spread", "--seed"]
    {
        assert!(all.contains(&format!("`{flag}`")), "{flag}: {all}");
    }
    let given = ["--fail", "osd.3", "--disk-read", "1GB/s", "--verbose", "--quiet"];
    let given = folder.run(&[&["whatif"], &EXPORTS[..], &given].concat()).data();
    // What is given is not assumed.
    assert!(!given.contains("reads 200 MB/s (`--disk-read`)"), "{given}");
}

/// With several replicates one time stands on the screen, and changes say where they were tried.
#[test]
fn with_replicates_one_time_is_shown() {
    let folder = Folder::with_cluster("whatif-replicates");
    let said = whatif(&folder, &["--fail", "osd.3", "--replicates", "2"]).stdout;
    let tried: Vec<&str> = said.lines().filter(|line| line.starts_with("try ")).collect();
    assert!(
        !tried.is_empty() && tried.iter().all(|line| line.contains(" less time in the first replicate")),
        "{said}"
    );
    assert!(said.contains("the time is the mean of 2 replicates"), "{said}");
    // Planted: one run has its own time beside it.
    let one = whatif(&folder, &["--fail", "osd.3"]).stdout;
    assert!(one.lines().any(|line| line.starts_with("try ") && line.contains(", instead of ")), "{one}");
}

/// The change that is wrong is marked, among flags as in a file.
#[test]
fn a_wrong_change_is_marked() {
    let folder = Folder::with_cluster("whatif-wrong");
    assert_snapshot!(whatif(&folder, &["--mark-out", "osd.5", "--reweight", "osd.3=2", "--drain", "host=h1"]), @r#"
    error: `changes` is "reweight osd.3=2": the override is 2, but overrides go from 0 to 1
      --> --mark-out osd.5 --reweight osd.3=2 --drain host=h1
                                      ^^^^^^^
    hint: for the weight in the map, usually the size in TiB, use `crush_reweight`
    exit 2
    "#);
    let [map, dump, groups] = [EXPORTS[1], EXPORTS[3], EXPORTS[5]];
    folder.write(
        "wrong.toml",
        format!(
            "study = \"whatif\"\ncrush_map = \"{map}\"\nosd_dump = \"{dump}\"\npg_dump = \"{groups}\"\n\
             changes = [\n    \"mark-out osd.5\",\n    \"returns osd.3@1h\",\n]\n"
        ),
    );
    assert_snapshot!(folder.run(&["run", "wrong.toml", "--quiet"]), @r#"
    error: `changes` has "returns osd.3@1h": osd.3 has not failed before 1h
      --> wrong.toml:7:5
    hint: say when it fails, before 1h: --fail osd.3
    exit 2
    "#);
}
