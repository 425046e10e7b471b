//! `learn` and `record`.

use std::io::Write as _;
use std::process::{Command, Stdio};

use insta::assert_snapshot;

use crate::tool::Folder;

const HEAD: &str = "time,degraded_objects,misplaced_objects,bytes_per_s\n";

/// Whether a shell finds a script well-formed. It runs none of it.
fn is_well_formed(script: &str) -> bool {
    let shell = Command::new("sh").arg("-n").stdin(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut shell = shell.expect("there is a shell");
    shell.stdin.take().expect("it reads").write_all(script.as_bytes()).expect("it takes it");
    shell.wait().expect("it ends").success()
}

#[test]
fn what_record_prints_is_a_script() {
    let folder = Folder::new("record");
    let plain = folder.run(&["record"]).data();
    assert!(is_well_formed(&plain), "{plain}");
    let odd = folder.run(&[
        "record",
        "--dir",
        "it's $HOME; `rm`",
        "--prometheus",
        "http://h:9090/'\"",
        "--every",
        "1min",
    ]);
    let odd = odd.data();
    assert!(is_well_formed(&odd), "{odd}");
    assert!(odd.contains("dir='it'\\''s $HOME; `rm`'\n") && odd.contains("sleep 60\n"), "{odd}");
    // Planted: a name that is not quoted breaks the script.
    assert!(!is_well_formed(&plain.replace("dir=kept", "dir=it(s")));
    for command in ["ceph report -f json", "ceph pg dump -f json", "ceph -s -f json", "perf dump", "ceph -w"]
    {
        assert!(plain.contains(command), "{command}");
    }
    let words = ["osd out", "osd in", "osd set", "config set", "rm ", "osd down"];
    assert!(words.iter().all(|word| !plain.contains(word)), "it only asks");
}

#[test]
fn what_record_refuses() {
    let folder = Folder::new("record");
    assert_snapshot!(folder.run(&["record", "--every", "1s"]), @"
    error: --every is 1s, and `ceph -s` takes up to a second to start
    hint: 2s or more
    exit 2
    ");
    assert_snapshot!(folder.run(&["record", "--prometheus", "monitoring"]), @"
    error: --prometheus is no address of a server
    hint: such as http://HOST:9090
    exit 2
    ");
    assert_snapshot!(folder.run(&["record", "--report", "none.json"]), @"
    error: cannot read `none.json`: no such file or directory
    hint: check the path
    exit 2
    ");
}

#[test]
fn two_tables_that_agree_and_one_that_does_not() {
    let folder = Folder::new("learn");
    let rows = |times: u64| {
        let row = |at: u64| {
            format!(
                "2026-11-28T09:{:02}:{:02}Z,{},0,\n",
                at / 60,
                at % 60,
                times * (600_u64.saturating_sub(at))
            )
        };
        (0..70).map(|step| row(10 * step)).collect::<String>()
    };
    folder.write("one.csv", format!("{HEAD}2026-11-28T08:59:50Z,0,0,\n{}", rows(1)));
    folder.write("same.csv", format!("{HEAD}2026-11-28T08:59:55Z,0,0,\n{}", rows(1)));
    folder.write("other.csv", format!("{HEAD}2026-11-28T08:59:55Z,0,0,\n{}", rows(2)));
    assert_snapshot!(folder.run(&["learn", "one.csv", "same.csv"]), @"
    1 event in 142 samples of 2 files

      began     between 2026-11-28T08:59:55.0Z and 2026-11-28T09:00:00.0Z
      at most   600 degraded, 0 misplaced (objects x copies)
      over      between 2026-11-28T09:09:50.0Z and 2026-11-28T09:10:00.0Z
      warning: no file says what became of a device: say it yourself, or give ceph.log, or reports from before and after

    The files agree, as far as they speak of the same times.
    --
    note: no constants are fitted: none of the files is a report from before the event
    exit 0
    ");
    assert_snapshot!(folder.run(&["learn", "one.csv", "other.csv"]).stdout.lines().last().unwrap_or_default(), @"warning: `one.csv` and `other.csv` differ in 48 of 64 counts of degraded objects, most at 2026-11-28T09:00:40.0Z: 560 and 1040 to 1200");
}

#[test]
fn what_learn_refuses() {
    let folder = Folder::new("learn");
    folder.write("quiet.csv", format!("{HEAD}2026-11-28T09:00:00Z,0,0,\n"));
    folder.write("local.csv", format!("{HEAD}2026-11-28 09:00:00,5,0,\n"));
    folder.write("back.csv", format!("{HEAD}9,5,0,\n3,5,0,\n20,5,0,\n"));
    folder.write("units.csv", format!("{HEAD}9,1.2 K,0,\n"));
    assert_snapshot!(folder.run(&["learn", "quiet.csv"]), @"
    error: nothing is degraded or misplaced from 2026-11-28T09:00:00.0Z to 2026-11-28T09:00:00.0Z (samples: 1)
    hint: give files of the time of the event: from before it until all is clean
    exit 2
    ");
    assert_snapshot!(folder.run(&["learn", "quiet.csv", "local.csv"]), @"
    error: the times of `quiet.csv` have a zone, and those of `local.csv` have no zone
    hint: say the zone of times that have none with --zone +01:00; seconds that begin anywhere stand alone
    exit 2
    ");
    assert_snapshot!(folder.run(&["learn", "back.csv"]), @"
    error: `line 3`: the time goes back
      --> back.csv
    hint: sort the rows by time
    exit 2
    ");
    assert_snapshot!(folder.run(&["learn", "units.csv"]), @"
    error: `line 2, degraded_objects`: `1.2 K` is not a plain number
      --> units.csv
    hint: export without units: in Grafana, switch `Formatted data` off
    exit 2
    ");
    assert_snapshot!(folder.run(&["learn", "none.csv"]), @"
    error: cannot read `none.csv`: no such file or directory
    hint: check the path
    exit 2
    ");
    assert_eq!(folder.run(&["learn", "local.csv", "--zone", "-08:00"]).code, 0);
    assert_eq!(folder.run(&["learn", "quiet.csv", "local.csv", "--zone", "+01:00"]).code, 0);
}

/// The recorded event, as `sos report` would have kept it, and for programs.
#[test]
fn what_sos_kept_is_read_and_archives_are_refused() {
    let event = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/event");
    let kept = |name: &str| std::fs::read(event.join(name)).expect("it is recorded");
    let folder = Folder::new("learn-sos");
    folder.write("host/sos_commands/ceph_mon/ceph_report", kept("before.report.json.gz"));
    folder.write("host/sos_commands/ceph_mon/json_output/ceph_pg_dump", kept("before.pg_dump.json.gz"));
    folder.write("host/sos_commands/ceph_mon/ceph_osd_tree", "ID CLASS\n");
    folder.write("host/sos_commands/kernel/lsmod", "Module\n");
    folder.write("host/var/log/ceph/ceph.log", kept("ceph.log.gz"));
    folder.write("host/var/log/ceph/ceph-osd.0.log", "a line\n");
    for root in [".", "host"] {
        let found = folder.run(&["learn", root, "--set", "max_backfills=1", "--format", "json"]);
        let said: serde_json::Value = serde_json::from_str(&found.stdout).expect("it is JSON");
        assert_eq!(said["files"], 3, "{root}: {}", found.stderr);
        assert_eq!(said["events"][0]["changes"][1]["is"], "out");
        assert_eq!(said["events"][0]["changes"][1]["osd"], 3);
        assert_eq!(said["learned"]["constants"]["max_backfills"]["value"], 1.0);
        assert_eq!(said["notes"].as_array().map(Vec::len), Some(1), "{}", said["notes"]);
        assert!(said["notes"][0].as_str().is_some_and(|note| note.contains("ceph_osd_tree")));
    }
    let mut archive = vec![0_u8; 512];
    archive[257..262].copy_from_slice(b"ustar");
    folder.write("sos.tar", &archive);
    folder.write("sos.tar.xz", b"\xfd7zXZ\x00\x00\x04");
    folder.write("other/sos_commands/kernel/lsmod", "Module\n");
    let refused = ["sos.tar", "sos.tar.xz", "other"].map(|name| folder.run(&["learn", name]).stderr);
    assert_snapshot!(refused.join(""), @"
    error: it is an archive of tar, and is not unpacked here
      --> sos.tar
    hint: unpack it (tar -xf), and name the directory
    error: it is compressed with xz, and is not unpacked here
      --> sos.tar.xz
    hint: unpack it (tar -xf), and name the directory
    error: `other` is of sos, and has nothing of Ceph
    hint: collect it on a monitor: sos report -o ceph_mon
    ");
}

/// What a fit needs and does not get, each with the next step.
#[test]
fn what_a_fit_refuses() {
    let folder = Folder::with_cluster("learn-fit");
    let falling = |from: u64| (0..30).map(move |step| (from + 2 * step, 600_u64.saturating_sub(25 * step)));
    let rows = |rows: &mut dyn Iterator<Item = (u64, u64)>| -> String {
        rows.map(|(at, count)| format!("{at},{count},0,\n")).collect()
    };
    let one = format!("{HEAD}10,0,0,\n{}", rows(&mut falling(20)));
    folder.write("one.csv", &one);
    folder.write("two.csv", format!("{one}{}", rows(&mut falling(200))));
    folder.write("none.toml", "version = 1\ncolour = \"red\"\n");
    folder.write("newer.toml", "version = 2\n");
    let maps = ["--crush-map", "crush.txt", "--osd-dump", "osd_dump.json", "--pg-dump", "pg_dump.json.gz"];
    let with_maps = |flags: &[&str]| folder.run(&[&["learn"], flags, &maps[..]].concat()).stderr;
    assert_snapshot!(folder.run(&["learn", "one.csv", "-o", "machines.toml"]), @"
    error: none of the files is a report from before the event
    hint: name one: --report before.json; it says where which data were
    exit 2
    ");
    assert_snapshot!(with_maps(&["one.csv"]), @"
    error: no file says which device was marked out or in
    hint: say what was done: --change 'fail osd.3', with --at for when
    ");
    assert_snapshot!(with_maps(&["two.csv"]), @"
    error: there are 2 events
    hint: say which one with --event 1, or give files of one
    ");
    assert_snapshot!(with_maps(&["one.csv", "--event", "2"]), @"
    error: --event is 2, of 1 in all
    hint: they count from 1
    ");
    assert_snapshot!(with_maps(&["one.csv", "--change", "fail osd.99", "--at", "15"]), @"
    error: `changes` names `osd.99`, but the map has no device or bucket of that name
    hint: the devices are osd.0 to osd.15
    ");
    assert_snapshot!(with_maps(&["one.csv", "--change", "fail osd.3", "--at", "noon"]), @"
    error: --at is `noon`, which is no time
    hint: such as 2026-11-28T09:54:07Z, or seconds of the clock of the files
    ");
    assert_snapshot!(with_maps(&["one.csv", "--set", "max_backfills"]), @"
    error: --set is `max_backfills`, without a value
    hint: such as max_backfills=1
    ");
    let whatif = |machines: &str| {
        folder.run(&[&["whatif", "--fail", "osd.3", "--machines", machines], &maps[..]].concat()).stderr
    };
    assert_snapshot!(whatif("none.toml"), @"
    error: `none.toml`: line 2: unknown field `colour`, expected one of `version`, `event`, `constants`, `draws`
      --> --machines none.toml
                     ^^^^^^^^^
    hint: write it anew: towtank learn FILES --report before.json -o machines.toml
    ");
    assert_snapshot!(whatif("newer.toml"), @"
    error: `newer.toml`: `version`: it is 2, and this towtank reads 1
      --> --machines newer.toml
                     ^^^^^^^^^^
    hint: write it anew: towtank learn FILES --report before.json -o machines.toml
    ");
    assert_snapshot!(whatif("one.csv"), @"
    error: `one.csv`: line 1: key with no value, expected `=`
      --> --machines one.csv
                     ^^^^^^^
    hint: write it anew: towtank learn FILES --report before.json -o machines.toml
    ");
    assert!(
        folder
            .run(
                &[
                    &["learn", "one.csv", "--change", "fail osd.3", "--at", "15", "-o", "machines.toml"],
                    &maps[..]
                ]
                .concat()
            )
            .code
            == 0
    );
    let both =
        [&["whatif", "--fail", "osd.3", "--machines", "machines.toml", "--disk-read", "100MB/s"], &maps[..]]
            .concat();
    assert_snapshot!(folder.run(&both).stderr, @"
    error: `disk_read` is set, and `machines` has it too
      --> --disk-read 100MB/s
                      ^^^^^^^
    hint: leave out one of them: `machines` has what was learned
    ");
    let other =
        [&["whatif", "--fail", "osd.3", "--machines", "machines.toml", "--ceph", "18.2.4"], &maps[..]]
            .concat();
    assert_snapshot!(folder.run(&other).stdout.lines().take(6).collect::<Vec<_>>().join("\n"), @"
    osd.3 fails: all copies are back after 26.91 min (19.89 to 40.91 min), calibrated on the        SAFE
    recovery after fail osd.3, which no constants explain: predicted 40.58 min, took 0.825 min
    (not the same: its queue was wpq, and this one is mclock, whose pace is assumed; its disks
    were hdd: typical values are assumed of ssd).
          0:00  osd.3 fails
          0:20  detected
    ");
}
