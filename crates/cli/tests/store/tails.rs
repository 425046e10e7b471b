//! The end of a device's journal that is damaged while its daemon is stopped: what was synced is refused, and
//! what may have been unfinished does not testify alone.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Cluster;

/// All files below a directory, with their bytes.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).expect("it is there") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            let bytes = fs::read(&path).expect("it can be read");
            found.insert(path, bytes);
        }
    }
    found
}

/// The newest journal of a device, and where the last transaction with these data has them.
fn last_of(cluster: &Cluster, osd: u32, data: &[u8]) -> (PathBuf, Vec<u8>, usize) {
    let directory = cluster.0.join(format!("osd.{osd}"));
    let mut journals: Vec<PathBuf> = fs::read_dir(directory)
        .expect("it is there")
        .map(|entry| entry.expect("it can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jnl"))
        .collect();
    journals.sort();
    let path = journals.pop().expect("a device has a journal");
    let bytes = fs::read(&path).expect("it can be read");
    let at = bytes.windows(data.len()).rposition(|window| window == data).expect("it was written");
    (path, bytes, at)
}

impl Cluster {
    /// What is said to a command that is refused, in one line.
    fn is_refused(&self, words: &[&str]) -> String {
        let said = self.run(words);
        assert_eq!(said.code, 1, "{words:?}: {}{}", said.stdout, said.stderr);
        said.stderr.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Whether an object is read within some seconds.
    fn reads_in_time(&self, name: &str) -> Option<Vec<u8>> {
        let output = self.command(&["get", name, "--timeout", "4s"]).output().expect("it can be run");
        output.status.success().then_some(output.stdout)
    }
}

/// One flipped byte in the last acknowledged transaction of a stopped daemon, and the other replica is given
/// up: `get` answered with the old version.
#[test]
fn damage_of_what_was_synced_is_not_taken_for_an_unfinished_write() {
    let cluster = Cluster::up("rotten-tail", &["--osds", "2", "--groups", "1", "--grace", "1s"]);
    cluster.put("it", b"the first version");
    cluster.put("it", b"the second version");
    for osd in ["1", "0"] {
        cluster.run(&["osd", "stop", osd]).done();
    }
    let (journal, mut bytes, at) = last_of(&cluster, 0, b"the second version");
    let sound = bytes.clone();
    bytes[at] ^= 1;
    fs::write(&journal, &bytes).expect("it can be written");
    cluster.run(&["osd", "lost", "1", "--yes-i-know"]).done();
    let before = files(&cluster.0.join("osd.0"));
    let said = cluster.is_refused(&["osd", "start", "0"]);
    assert!(said.contains(".jnl") && said.contains("was synced"), "{said}");
    assert!(said.contains("bring the directory back") && said.contains("osd replace 0"), "{said}");
    assert!(files(&cluster.0.join("osd.0")) == before, "a start that fails changes nothing");
    assert_eq!(cluster.reads_in_time("it"), None, "nobody answers");
    // With the journal as it was, the device goes on.
    fs::write(&journal, &sound).expect("it can be written");
    cluster.run(&["osd", "start", "0"]).done();
    assert_eq!(cluster.get("it"), b"the second version");
}

/// The second version is acknowledged by 0 and 1 alone, and the journal of 0 ends within it, as a torn write
/// does: then 0 waits for 1, and with it has all.
#[test]
fn an_undecided_tail_does_not_testify_alone() {
    let cluster = Cluster::up("undecided-tail", &["--osds", "3", "--groups", "1", "--grace", "1s"]);
    cluster.put("it", b"the first version");
    cluster.run(&["osd", "stop", "2"]).done();
    cluster.put("it", b"the second version");
    for osd in ["1", "0"] {
        cluster.run(&["osd", "stop", osd]).done();
    }
    let (journal, bytes, at) = last_of(&cluster, 0, b"the second version");
    fs::write(&journal, &bytes[..at + 3]).expect("it can be written");
    for osd in ["0", "2"] {
        cluster.run(&["osd", "start", osd]).done();
    }
    assert_eq!(cluster.reads_in_time("it"), None, "1 may know what 0 has lost");
    let status = cluster.run(&["status"]).done();
    assert!(
        status.contains("osd.0 found its journal torn or damaged at the end: 1 of its groups"),
        "{status}"
    );
    // Another start does not forget that the tail is undecided.
    cluster.run(&["osd", "kill", "0"]).done();
    cluster.run(&["osd", "start", "0"]).done();
    assert_eq!(cluster.reads_in_time("it"), None, "1 may still know it");
    let kept = |cluster: &Cluster| {
        let names: Vec<_> = files(&cluster.0.join("osd.0")).into_keys().collect();
        let is_kept = |path: &&PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("undecided"))
        };
        names.iter().filter(is_kept).count()
    };
    assert_eq!(kept(&cluster), 2, "what was cut off is kept until it is decided");
    cluster.run(&["osd", "start", "1"]).done();
    assert_eq!(cluster.get("it"), b"the second version");
    cluster.wait_until_clean();
    cluster.verified();
    let is_gone = |_: &u32| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        kept(&cluster) == 0
    };
    assert!((0..100).any(|look| is_gone(&look)), "it is decided");
}

/// The power fails everywhere within one write: all are there, so they go on.
#[test]
fn tails_that_are_all_torn_go_on() {
    let cluster = Cluster::up("torn-tails", &["--osds", "3", "--groups", "1", "--grace", "1s"]);
    cluster.put("it", b"the first version");
    cluster.put("it", b"the second version");
    cluster.run(&["down"]).done();
    for osd in 0..3 {
        let (journal, bytes, at) = last_of(&cluster, osd, b"the second version");
        fs::write(&journal, &bytes[..at + 3]).expect("it can be written");
    }
    cluster.run(&["up"]).done();
    assert_eq!(cluster.get("it"), b"the first version", "it counts as never acknowledged");
    cluster.wait_until_clean();
    cluster.verified();
}

/// An operator can say that the others are gone: the loss is named first.
#[test]
fn an_operator_decides_an_undecided_tail() {
    let cluster = Cluster::up("decided-tail", &["--osds", "2", "--groups", "1", "--grace", "1s"]);
    cluster.put("it", b"the first version");
    cluster.put("it", b"the second version");
    for osd in ["1", "0"] {
        cluster.run(&["osd", "stop", osd]).done();
    }
    let (journal, bytes, at) = last_of(&cluster, 0, b"the second version");
    fs::write(&journal, &bytes[..at + 3]).expect("it can be written");
    cluster.run(&["osd", "start", "0"]).done();
    assert_eq!(cluster.reads_in_time("it"), None, "1 may know more");
    let said = cluster.run(&["osd", "lost", "1"]);
    assert_eq!(said.code, 2, "the loss is named first: {}{}", said.stdout, said.stderr);
    cluster.run(&["osd", "lost", "1", "--yes-i-know"]).done();
    assert_eq!(cluster.get("it"), b"the first version");
}
