//! Writes the files of a report as one set, without leaving files of an older report.
//!
//! `report.files` lists what the last report wrote, each file with a fingerprint of its bytes. It is written
//! before the files, with both the old and the new entries, and again at the end; so a process that dies in
//! between leaves a list of all files that may exist. A file is removed only if it is on the list, the new
//! report has none of that name, and its bytes are still those that were written: files that somebody else
//! added or changed are kept.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::fingerprint::Fingerprint;
use crate::{WriteError, Writer};

/// The list's name within the directory.
pub(crate) const NAME: &str = "report.files";

/// The layout of the list. A list of another layout is not read, and nothing is removed then.
const FORMAT: u32 = 1;

/// One file of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportFile {
    /// Its name, without a directory.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

#[derive(Default, Serialize, Deserialize)]
struct List {
    towtank_report_files: u32,
    files: Vec<Entry>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    name: String,
    fingerprint: String,
}

impl Entry {
    fn of(name: &str, bytes: &[u8]) -> Entry {
        let print = Fingerprint::of("towtank report file 1").part(bytes);
        Entry { name: name.to_owned(), fingerprint: print.hex() }
    }
}

impl Writer {
    /// Writes the files of a report to `dir`, each atomically, and removes those of the previous report that
    /// this one does not have.
    ///
    /// # Errors
    /// If a path is an input's, or the system reports an error.
    ///
    /// # Panics
    /// If a name is not a plain file name.
    pub fn replace_report(&self, dir: &Path, files: &[ReportFile]) -> Result<(), WriteError> {
        for file in files {
            let plain = Path::new(&file.name).file_name().is_some_and(|name| name == file.name.as_str());
            assert!(plain && file.name != NAME, "`{}` cannot be a file of a report", file.name);
        }
        let old = self.listed(dir);
        let new: Vec<Entry> = files.iter().map(|file| Entry::of(&file.name, &file.bytes)).collect();
        let both: Vec<Entry> = old.iter().filter(|entry| !new.contains(entry)).chain(&new).cloned().collect();
        self.list_files(dir, both)?;
        for file in files {
            self.replace(&dir.join(&file.name), &file.bytes)?;
        }
        for entry in old.iter().filter(|entry| new.iter().all(|file| file.name != entry.name)) {
            self.remove_stale(dir, entry)?;
        }
        self.list_files(dir, new)
    }

    /// The files of the last report. A list that is damaged or of another layout counts as empty: a stale
    /// file is better than removing one that is not ours.
    fn listed(&self, dir: &Path) -> Vec<Entry> {
        let Ok(bytes) = self.disk().read(&dir.join(NAME)) else { return Vec::new() };
        let list: List = serde_json::from_slice(&bytes).unwrap_or_default();
        if list.towtank_report_files == FORMAT { list.files } else { Vec::new() }
    }

    fn list_files(&self, dir: &Path, files: Vec<Entry>) -> Result<(), WriteError> {
        let list = List { towtank_report_files: FORMAT, files };
        let mut bytes = serde_json::to_vec(&list).expect("a list of texts can be written");
        bytes.push(b'\n');
        self.replace(&dir.join(NAME), &bytes)
    }

    fn remove_stale(&self, dir: &Path, entry: &Entry) -> Result<(), WriteError> {
        let path = dir.join(&entry.name);
        // An edited list must not make us remove files elsewhere.
        let plain = Path::new(&entry.name).file_name().is_some_and(|name| name == entry.name.as_str());
        let link = path.symlink_metadata().is_ok_and(|found| found.is_symlink());
        if !plain || link || self.inputs().at(&path).is_some() {
            return Ok(());
        }
        match self.disk().read(&path) {
            Ok(bytes) if Entry::of(&entry.name, &bytes) == *entry => {}
            _ => return Ok(()),
        }
        match self.disk().remove(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(WriteError::Stale { path, source })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use crate::Inputs;
    use crate::faults::{Fault, FaultyDisk};
    use crate::scratch::Scratch;

    fn files(names: &[(&str, &str)]) -> Vec<ReportFile> {
        let file = |(name, text): &(&str, &str)| ReportFile {
            name: (*name).to_owned(),
            bytes: text.as_bytes().to_owned(),
        };
        names.iter().map(file).collect()
    }

    fn names(dir: &Scratch) -> Vec<String> {
        dir.files().into_keys().map(|path| path.to_str().unwrap().to_owned()).collect()
    }

    fn write(dir: &Scratch, set: &[(&str, &str)]) {
        Writer::new(Inputs::default()).replace_report(dir.path(), &files(set)).unwrap();
    }

    #[test]
    fn nothing_of_an_older_report_is_left() {
        let dir = Scratch::new();
        write(&dir, &[("report.json", "partial"), ("points.csv", "1"), ("slow.csv", "2")]);
        assert_eq!(names(&dir), ["points.csv", "report.files", "report.json", "slow.csv"]);
        write(&dir, &[("report.json", "whole"), ("summary.csv", "1")]);
        assert_eq!(names(&dir), ["report.files", "report.json", "summary.csv"]);
        assert_eq!(fs::read_to_string(dir.path().join("report.json")).unwrap(), "whole");
    }

    #[test]
    fn what_is_not_ours_stays() {
        let dir = Scratch::new();
        dir.file("notes.csv", "mine");
        write(
            &dir,
            &[("report.json", "a"), ("edited.csv", "ours"), ("input.csv", "ours"), ("gone.csv", "x")],
        );
        dir.file("edited.csv", "ours, and a line of mine");
        fs::remove_file(dir.path().join("gone.csv")).unwrap();
        let writer = Writer::new(Inputs::new([dir.path().join("input.csv")]));
        writer.replace_report(dir.path(), &files(&[("report.json", "b")])).unwrap();
        assert_eq!(names(&dir), ["edited.csv", "input.csv", "notes.csv", "report.files", "report.json"]);
    }

    #[test]
    fn a_forged_list_removes_nothing_elsewhere() {
        let dir = Scratch::new();
        fs::create_dir(dir.path().join("out")).unwrap();
        dir.file("precious", "p");
        let entry = |name: &str| {
            let print = Entry::of("", b"p").fingerprint;
            format!(r#"{{"name":"{name}","fingerprint":"{print}"}}"#)
        };
        let entries = [entry("../precious"), entry("/etc/hostname"), entry("")].join(",");
        let list = format!(r#"{{"towtank_report_files":1,"files":[{entries}]}}"#);
        for text in [list.as_str(), &list.replace(":1,", ":2,"), "{", ""] {
            dir.file("out/report.files", text);
            Writer::new(Inputs::default())
                .replace_report(&dir.path().join("out"), &files(&[("report.json", "a")]))
                .unwrap();
            assert_eq!(names(&dir), ["out/report.files", "out/report.json", "precious"]);
        }
    }

    #[test]
    fn whenever_it_dies_the_next_report_is_alone() {
        let partial = files(&[("report.json", "partial"), ("points.csv", "1"), ("slow.csv", "2")]);
        let whole = files(&[("report.json", "whole"), ("summary.csv", "3")]);
        let mut deaths = 0;
        for step in 0..40 {
            for second in [false, true] {
                let dir = Scratch::new();
                let dying = Writer::on(Arc::new(FaultyDisk::new(Fault::DiesAt(step))), Inputs::default());
                if second {
                    write(&dir, &[("old.csv", "0"), ("report.json", "old")]);
                }
                deaths += u32::from(dying.replace_report(dir.path(), &partial).is_err());
                let writer = Writer::new(Inputs::default());
                writer.replace_report(dir.path(), &whole).unwrap();
                // The next run cleans up.
                writer.sweep_up(dir.path());
                assert_eq!(names(&dir), ["report.files", "report.json", "summary.csv"], "step {step}");
            }
        }
        assert!(deaths > 10, "{deaths}");
    }
}
