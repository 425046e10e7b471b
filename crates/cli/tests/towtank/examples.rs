//! The examples that helps show: each runs as it is printed, with files of the guide's cluster and of
//! benchmarks in place of a user's.

use std::fs;
use std::path::{Path, PathBuf};

use crate::tool::{COUNTER, Folder, Said, example};

/// A file of the repository.
fn file(path: &str) -> Vec<u8> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A folder with all files that examples name.
fn with_files() -> Folder {
    let folder = Folder::with_cluster("examples");
    folder.write("osd.json", example("osd_dump.json"));
    folder.write("pg.json", example("pg_dump.json.gz"));
    folder.write("object.ring", file("docs/examples/swift/object.ring.gz"));
    folder.write("trace.csv", "128166372003061629,usr,0,Read,7014609920,24576,41286\n");
    folder.write("my.toml", COUNTER);
    for (name, recorded) in [("earlier.json", "1"), ("now.json", "3")] {
        folder.write(name, file(&format!("docs/examples/underway/{recorded}.report.json.gz")));
    }
    for map in [
        "-c crush.txt -o map.bin",
        "-i map.bin --reweight-item osd.3 1.5 -o after.bin",
        "-d map.bin -o map.txt",
    ] {
        folder.run(&std::iter::once("crush").chain(map.split(' ')).collect::<Vec<_>>()).data();
    }
    let runs = String::from_utf8(file("scenarios/papers/capacity-ceph.csv")).expect("it is text");
    let runs = runs.replace("ceph-rbd", "ceph");
    for name in ["runs.csv", "mixes.csv", "other.csv"] {
        folder.write(name, &runs);
    }
    fs::create_dir(folder.path().join("results")).expect("a folder can be made");
    for (name, sample) in
        [("reads", "r100"), ("writes", "r0"), ("results/a", "r100"), ("results/b", "r0"), ("mixes", "r50")]
    {
        let sample = format!("crates/imports/tests/benchmarks/fio_rbd_4k_{sample}.json");
        folder.write(&format!("{name}.json"), file(&sample));
    }
    fs::create_dir(folder.path().join("kept")).expect("a folder can be made");
    for (name, kept) in [
        ("kept/ceph.log", "ceph.log"),
        ("kept/before.json", "before.report.json"),
        ("ceph.log", "ceph.log"),
        ("prometheus.json", "prometheus.json"),
        ("before.json", "before.report.json"),
        ("after.json", "after.report.json"),
        ("report.json", "before.report.json"),
    ] {
        folder.write(name, file(&format!("docs/examples/event/{kept}.gz")));
    }
    let table = "Time,ceph_num_objects_degraded\n2026-11-28 10:53:30,0\n2026-11-28 10:54:00,706\n2026-11-28 10:55:15,0\n";
    folder.write("grafana.csv", table);
    folder
}

/// Runs a line in a shell, as a user does. A scenario is checked and not run.
fn run(folder: &Folder, line: &str) -> Said {
    // There is no report of `ceph report` among the files: the exports that it has in it stand in its place.
    let exports = "--crush-map map.bin --osd-dump osd.json --pg-dump pg.json";
    let line = line
        .replace("--report ceph-report.json --pg-dump pg.json", exports)
        .replace("--report ceph-report.json", exports);
    let of_study =
        towtank::studies().iter().any(|study| line.starts_with(&format!("towtank {} ", study.name())));
    let runs = !of_study && !line.starts_with("towtank run ");
    let answers = [" plan ", " tune ", " --compare "].iter().any(|word| line.contains(word));
    let print = if runs || answers { "" } else { " --print-scenario" };
    folder.run(&["capacity", "fit", "runs.csv", "-o", "model.json", "--quiet"]).data();
    let binary = Path::new(env!("CARGO_BIN_EXE_towtank"));
    let mut shell = std::process::Command::new("sh");
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", binary.parent().expect("it lies in a folder").display());
    shell.args(["-c", &format!("{line}{print}")]).current_dir(folder.path()).env_clear();
    shell.env("PATH", path).env("LANG", "C.UTF-8").stdin(std::process::Stdio::null());
    Said::of(shell.output().expect("there is a shell"))
}

/// The commands that a help lists.
fn listed(help: &str) -> Vec<String> {
    let lines = help.lines().take_while(|line| *line != "Options:");
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect()
}

/// The examples in a help; one that goes on behind a backslash is a single command.
fn examples(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Examples:").skip(1);
    let mut found: Vec<String> = Vec::new();
    for line in lines.take_while(|line| !line.is_empty()) {
        match found.last_mut().filter(|before| before.ends_with('\\')) {
            Some(before) => *before += &format!("\n{line}"),
            None => found.push(line.to_owned()),
        }
    }
    found
}

/// The help of every command, with the words of the command.
fn helps(folder: &Folder) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut left = vec![String::new()];
    while let Some(command) = left.pop() {
        let words: Vec<&str> = command.split_whitespace().chain(["-h"]).collect();
        let help = folder.run(&words).data();
        let inner = help.contains("\nCommands:\n") || command.is_empty();
        left.extend(listed(&help).into_iter().filter(|_| inner).map(|name| format!("{command} {name}")));
        found.push((command, help));
    }
    found
}

/// What needs more than files: fio and a device, or a cluster of processes, which has its own tests.
fn needs_more(line: &str) -> bool {
    line.ends_with(" --run") || line.contains("towtank store ")
}

#[test]
fn each_example_of_each_help_runs_as_it_is_printed() {
    let folder = with_files();
    let mut count = 0;
    for (command, help) in helps(&folder) {
        for line in examples(&help) {
            count += 1;
            if needs_more(&line) {
                continue;
            }
            let said = run(&folder, line.trim());
            // A gate that is not met is an answer.
            assert!(matches!(said.code, 0 | 3), "towtank{command} -h shows {line}: {said}");
        }
    }
    assert!(count > 45, "{count} examples were found");
    // Planted: a map alone is no cluster, and a value that the study refuses.
    assert_eq!(run(&folder, "towtank preview --crush-map map.bin --remove host=h1").code, 2);
    assert_eq!(run(&folder, "towtank queue --arrival-rate 3/s --service-rate 1/s").code, 2);
}

/// A line that is longer than a screen is wrapped inside an example, which cannot be copied then.
fn too_long(help: &str) -> Vec<String> {
    let is_whole = |line: &str| line.starts_with("  towtank ") || line.starts_with("  echo ");
    let fits = |line: &str| line.lines().all(|part| part.chars().count() <= 100);
    examples(help).into_iter().filter(|line| !is_whole(line) || !fits(line)).collect()
}

#[test]
fn examples_stand_on_one_line() {
    let folder = Folder::new("examples");
    for (command, help) in helps(&folder) {
        assert_eq!(too_long(&help), [""; 0], "towtank{command}");
    }
    // Planted: an example that is wrapped.
    assert_eq!(too_long("Examples:\n  towtank queue\n  --service-rate 1/s\n\n"), ["  --service-rate 1/s"]);
}
