//! `eta`, and its `--watch`.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::tool::Folder;

fn recorded(file: &str) -> Vec<u8> {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples");
    std::fs::read(format!("{docs}/{file}")).expect("it is recorded")
}

#[test]
fn a_clean_cluster_ends_it_and_a_gate_has_its_exit_code() {
    let folder = Folder::new("eta-clean");
    folder.write("now.json.gz", recorded("event/after.report.json.gz"));
    let said = folder.run(&["eta", "--watch", "."]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(
        said.stdout.starts_with("nothing to wait for: all groups are active+clean at"),
        "{}",
        said.stdout
    );
    let folder = Folder::new("eta-gate");
    folder.write("now.json.gz", recorded("underway/1.report.json.gz"));
    // The planted condition that holds: nothing is said of it, and the line is the same.
    let of = |gate: &str| folder.run(&["eta", "--report", "now.json.gz", "--quiet", "--fail-if", gate]);
    assert_eq!([of("time_to_clean_s > 1s").code, of("time_to_clean_s > 1h").code], [3, 0]);
    let said = folder.run(&["eta", "--watch", ".", "--fail-if", "time_to_clean_s > 1s"]);
    assert_eq!(said.code, 3, "{}", said.stderr);
    assert_eq!(folder.run(&["eta", "--watch", "nowhere"]).code, 2);
    assert_eq!(folder.run(&["eta", "--watch", ".", "--report", "now.json.gz"]).code, 2);
}

#[test]
fn a_report_that_is_half_written_is_read_again_and_ctrl_c_ends_it() {
    let folder = Folder::new("eta-watch");
    let [first, second] = ["underway/1.report.json.gz", "underway/2.report.json.gz"].map(recorded);
    folder.write("1.json.gz", &first[..first.len() / 2]);
    folder.write("pgs.json.gz", recorded("underway/3.pg_dump.json.gz"));
    let mut watch = folder
        .command(&["eta", "--watch", "."])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut errors = BufReader::new(watch.stderr.take().expect("it is piped")).lines();
    let mut named = Vec::new();
    while named.len() < 2 {
        named.push(errors.next().expect("it goes on").expect("it is text"));
    }
    named.sort();
    assert!(
        named[0].contains("1.json.gz") && named[0].contains("read again when it has changed"),
        "{named:?}"
    );
    assert!(named[1].contains("`./pgs.json.gz` is no report, and is left out"), "{named:?}");
    let mut lines = BufReader::new(watch.stdout.take().expect("it is piped")).lines();
    let mut line = || lines.next().expect("it goes on").expect("it is text");
    folder.write("1.json.gz", &first);
    let said = line();
    assert!(said.contains("speeds are assumed") && !said.contains("Said"), "{said}");
    folder.write("2.json.gz", &second);
    let said = line();
    assert!(said.contains("speed measured") && said.contains(" Said 1.485 min 21.34 s ago, now "), "{said}");
    let sent = Command::new("kill").args(["-INT", &watch.id().to_string()]).status();
    assert!(sent.expect("`kill` is there").success());
    assert_eq!(watch.wait().expect("it ends").code(), Some(130));
}
