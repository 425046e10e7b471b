//! `towtank learn`: what happened in a recovery, from what was kept of it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use towtank::Trouble;
use towtank_imports::past::read;
use towtank_imports::{File, ImportError};
use towtank_past::{
    Counters, Event, Past, PastError, Source as Kept, Span, disagreements, happened, join, shown,
};
use towtank_report::human;
use towtank_scenario::{Place, Problem, Source};

mod constants;
mod json;
mod sos;

use self::constants::Constants;
use super::print;
use crate::args::{Learn, ListFormat};
use crate::crush::{name_of, read_bytes};
use crate::exit::Exit;
use crate::screen;

/// Prints what happened, and what follows of the machines.
pub fn learn(flags: &Learn) -> Result<Exit, Trouble> {
    let (mut kept, mut notes) = (Vec::new(), Vec::new());
    for given in &flags.files {
        for path in files_of(given)? {
            let (name, bytes) = (name_of(&path), read_bytes(&path)?);
            match read(File { name: &name, bytes: &bytes }, flags.zone) {
                Ok(read) => {
                    notes.extend(read.notes);
                    kept.push((path, Kept { name, record: read.value }));
                }
                // A directory may hold other exports too.
                Err(error) if path != *given => notes.push(format!("left out: {error}")),
                Err(error) => return Err(of_import(&error).into()),
            }
        }
    }
    let files = kept.len();
    let past = join(kept.iter().map(|(_, kept)| kept.clone()).collect()).map_err(|error| of_past(&error))?;
    let events = happened(&past).map_err(|error| of_past(&error))?;
    let constants = constants::of(flags, &kept, (&past, &events))?;
    if let Constants::NotAsked(Some(why)) = &constants {
        notes.push(format!("no constants are fitted: {why}"));
    }
    if !flags.quiet {
        notes.iter().for_each(|note| screen::say(&format!("note: {note}\n")));
    }
    if matches!(flags.format, ListFormat::Json) {
        let found = json::Found { past: &past, events: &events, files, constants: &constants, notes: &notes };
        return print(&json::of(&found));
    }
    let said = match &constants {
        Constants::Fitted(learning) => format!("\n{}", constants::text(learning, flags)),
        Constants::NotAsked(_) => String::new(),
    };
    print(&(text(&past, &events, files) + &said))
}

/// The file, or the files of the directory by name.
fn files_of(path: &Path) -> Result<Vec<PathBuf>, Problem> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let failed = |error: std::io::Error| {
        Problem::new(format!("cannot read `{}`: {error}", path.display())).hint("check the path")
    };
    if let Some(root) = sos::root(path) {
        let files = sos::files(&root).map_err(failed)?;
        if files.is_empty() {
            return Err(Problem::new(format!("`{}` is of sos, and has nothing of Ceph", root.display()))
                .hint("collect it on a monitor: sos report -o ceph_mon"));
        }
        return Ok(files);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        if file.is_file() {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(Problem::new(format!("`{}` has no files", path.display())).hint("name what was kept"));
    }
    Ok(files)
}

/// A file that cannot be read.
pub(super) fn of_import(error: &ImportError) -> Problem {
    let key = error.key.as_ref().map_or(String::new(), |key| format!("`{key}`: "));
    let place = Place::whole(&Source::file(error.file.as_str(), ""));
    let problem = Problem::new(format!("{key}{}", error.reason)).at(place);
    match &error.hint {
        Some(hint) => problem.hint(hint.clone()),
        None => problem,
    }
}

fn of_past(error: &PastError) -> Problem {
    Problem::new(error.to_string()).hint(error.hint())
}

fn text(past: &Past, events: &[Event], files: usize) -> String {
    let samples = past.samples().len();
    let cluster = past.fsid.as_ref().map_or(String::new(), |fsid| format!(" of the cluster {fsid}"));
    let mut text = String::new();
    let some = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let (events_said, samples, files_said) =
        (some(events.len(), "event"), some(samples, "sample"), some(files, "file"));
    line(&mut text, &format!("{events_said} in {samples} of {files_said}{cluster}"));
    for event in events {
        line(&mut text, "");
        of_event(&mut text, past, event);
    }
    line(&mut text, "");
    if let Some(counters) = past.rebuilt() {
        line(&mut text, &of_counters(counters));
    }
    let disagree = disagreements(past);
    if disagree.is_empty() && files > 1 {
        line(&mut text, "The files agree, as far as they speak of the same times.");
    }
    disagree.iter().for_each(|said| line(&mut text, &format!("warning: {said}")));
    text.trim_end().to_owned() + "\n"
}

/// What counters of devices say of groups.
fn of_counters(Counters { devices, all, since_start }: Counters) -> String {
    let seconds = |value: f64| human::quantity(value, "s");
    let ends = all.shortest_s.zip(all.longest_s);
    let ends =
        ends.map_or(String::new(), |(low, high)| format!(", {} to {} of one", seconds(low), seconds(high)));
    let groups = human::plural(all.groups as f64, ["group", "groups"]);
    let devices = human::plural(devices as f64, ["device", "devices"]);
    let since = if since_start { "since the daemons started" } else { "between two dumps" };
    let mean = seconds(all.seconds / all.groups as f64);
    format!("Rebuilt by the counters of {devices}, {since}: {groups}, {mean} each in the mean{ends}")
}

fn line(text: &mut String, said: &str) {
    writeln!(text, "{said}").expect("writing to a string");
}

fn of_event(text: &mut String, past: &Past, event: &Event) {
    let span = |Span { after_us, by_us }: Span| {
        let by = shown(past.clock, by_us);
        match after_us {
            Some(after) if after != by_us => format!("between {} and {by}", shown(past.clock, after)),
            Some(_) => format!("at {by}"),
            None => format!("by {by}"),
        }
    };
    for change in &event.changes {
        let is = json::word(change.is);
        line(
            text,
            &format!(
                "  {:<9} {is} {} ({})",
                format!("osd.{}", change.device),
                span(change.when),
                change.file
            ),
        );
    }
    line(text, &format!("  began     {}", span(event.began)));
    let most = [(event.degraded_max, "degraded"), (event.misplaced_max, "misplaced")];
    let most: Vec<String> =
        most.iter().filter_map(|(count, what)| Some(format!("{} {what}", count.as_ref()?))).collect();
    line(text, &format!("  at most   {} (objects x copies)", most.join(", ")));
    match event.ended {
        Some(ended) => line(text, &format!("  over      {}", span(ended))),
        None => line(text, "  over      not yet in these files"),
    }
    if let Some(clean) = event.clean {
        line(text, &format!("  clean     {}", span(clean)));
    }
    event.warnings.iter().for_each(|warning| line(text, &format!("  warning: {warning}")));
}
