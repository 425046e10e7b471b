//! `towtank eta --watch DIR`: a line for each report that appears in a directory, until the cluster is clean.
//!
//! A cron job writes the reports, so a file may be half written, or damaged: it is named once, and read
//! again when it has changed. What is not a report is left out. The latest report says what is left, and
//! those before it how fast it goes.

// The command line may wait; it does not affect results.
#![allow(clippy::disallowed_methods)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::ArgMatches;
use towtank::{Document, Registry, Trouble};
use towtank_imports::File;
use towtank_imports::past::{Format, read};
use towtank_report::human;
use towtank_scenario::{Problem, Setting};
use towtank_study::Study;

use super::{print, run};
use crate::args::{self, RunFlags};
use crate::crush::{name_of, read_bytes};
use crate::exit::Exit;
use crate::watching::Watching;
use crate::{interrupt, output, screen};

/// How often the directory is looked at. A choice: reports are written each minute or so.
const EVERY: Duration = Duration::from_secs(1);

/// A signal is heard so many times in this time.
const PARTS: u32 = 10;

/// So many of the latest reports are read together: older ones say nothing of the speed now. A choice.
const REPORTS: usize = 12;

/// What is known of a file: its size, and when it was written.
type Version = (u64, Option<SystemTime>);

/// What is asked for of each report.
pub(super) struct Asked<'a> {
    pub study: &'static dyn Study,
    pub matches: &'a ArgMatches,
    pub flags: &'a RunFlags,
}

/// The reports of a directory.
#[derive(Default)]
struct Reports {
    seen: BTreeMap<PathBuf, Version>,
    /// By their times, in microseconds since 1970.
    all: BTreeMap<i64, PathBuf>,
    /// The latest that was answered for, with the seconds that were said.
    said: Option<(i64, f64)>,
}

/// Answers for each report that appears in the directory.
pub(super) fn watch(registry: &Registry, asked: &Asked<'_>, directory: &Path) -> Result<Exit, Trouble> {
    let mut reports = Reports::default();
    let mut waits = false;
    loop {
        reports.look(directory)?;
        let latest = reports.all.last_key_value().map(|(at, _)| *at);
        if latest > reports.said.map(|(at, _)| at)
            && let Some(at) = latest
            && let Some(exit) = reports.answer(registry, asked, at)?
        {
            return Ok(exit);
        }
        if latest.is_none() && !waits {
            screen::say(&format!("waiting for a report in `{}`\n", directory.display()));
            waits = true;
        }
        // A signal is heard in between.
        for _ in 0..PARTS {
            if interrupt::watch().raised() {
                return Ok(Exit::Interrupted);
            }
            std::thread::sleep(EVERY / PARTS);
        }
    }
}

impl Reports {
    /// Reads the files that are new or have changed.
    fn look(&mut self, directory: &Path) -> Result<(), Problem> {
        let failed = |error: std::io::Error| {
            Problem::new(format!("cannot read the directory `{}`: {error}", directory.display()))
                .hint("name the directory that reports are written into: --watch DIR")
        };
        for entry in std::fs::read_dir(directory).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let Ok(about) = path.metadata() else { continue };
            let version = (about.len(), about.modified().ok());
            if !about.is_file() || self.seen.get(&path) == Some(&version) {
                continue;
            }
            match time_of(&path) {
                Ok(Some(at)) => {
                    self.all.retain(|_, known| *known != path);
                    self.all.entry(at).or_insert_with(|| path.clone());
                }
                Ok(None) => {
                    screen::say(&format!("note: `{}` is no report, and is left out\n", path.display()))
                }
                Err(why) => {
                    screen::say(&format!("note: {why}; it is read again when it has changed\n"));
                }
            }
            self.seen.insert(path, version);
        }
        Ok(())
    }

    /// Prints the line of the latest report; the exit code where it is the last one.
    fn answer(
        &mut self,
        registry: &Registry,
        Asked { study, matches, flags }: &Asked<'_>,
        at: i64,
    ) -> Result<Option<Exit>, Trouble> {
        let files: Vec<String> =
            self.all.values().rev().take(REPORTS).map(|path| path.display().to_string()).collect();
        let list = serde_json::to_string(&files).expect("texts are JSON");
        let mut document = Document::of_study(*study, args::named_flags(*study));
        let mut settings = args::settings(*study, matches)?;
        settings.extend(run::settings(&flags.changes, matches)?);
        settings.push(Setting::parse("--watch", &format!("report={list}"))?);
        run::lay(&mut document, settings)?;
        flags.fail_if.iter().for_each(|gate| document.fail_if(gate));
        let scenario = document.check(registry)?;
        let ran = towtank::run(&scenario, &flags.machine.options(None), &Watching::new(true))?;
        let Some(report) = ran.report.filter(|_| !ran.interrupted) else {
            return Ok(Some(Exit::Interrupted));
        };
        let left = report.summary.get("time_to_clean_s").and_then(|measure| measure.value());
        let before = left.zip(self.said).map_or(String::new(), |(left, said)| compared((at, left), said));
        print(&format!("{}{before}\n", report.answer.finding))?;
        if let Some(left) = left {
            self.said = Some((at, left));
        } else {
            self.said = self.said.map(|(_, said)| (at, said)).or(Some((at, f64::NAN)));
        }
        let gates = output::gates(&ran.unmet);
        let ends = left == Some(0.0) || !ran.unmet.is_empty();
        Ok(ends.then_some(gates))
    }
}

/// The time of a report; none where a file is something else; why it cannot be read.
fn time_of(path: &Path) -> Result<Option<i64>, String> {
    let bytes = read_bytes(path).map_err(|error| error.message().to_owned())?;
    let name = name_of(path);
    let record = read(File { name: &name, bytes: &bytes }, None).map_err(|error| error.to_string())?.value;
    let at = record.samples.first().map(|sample| sample.at_us);
    Ok(at.filter(|_| record.format == Format::Report))
}

/// What was said before, against what is said now.
fn compared((at, left): (i64, f64), (then, said): (i64, f64)) -> String {
    if !said.is_finite() {
        return String::new();
    }
    let passed = human::quantity((at - then) as f64 / 1e6, "s");
    format!(" Said {} {passed} ago, now {}.", human::quantity(said, "s"), human::quantity(left, "s"))
}
