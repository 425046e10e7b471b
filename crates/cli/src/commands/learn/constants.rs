//! The constants of the machines that an event tells.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use towtank::Trouble;
use towtank_campaign::Inputs;
use towtank_imports::past::{Format, microseconds};
use towtank_operate::learned::Constant;
use towtank_operate::learning::{Asked, Learning, learn};
use towtank_past::{Event, Past, Source as Kept};
use towtank_report::human;
use towtank_scenario::{Files, Problem};

use super::line;
use crate::args::Learn;
use crate::crush::read_bytes;
use crate::replaced;

/// What is said of constants.
pub(super) enum Constants {
    /// What was fitted.
    Fitted(Box<Learning>),
    /// Nothing asks for a fit; why none is possible, where that is worth a note.
    NotAsked(Option<String>),
}

/// Files by their paths.
#[derive(Debug)]
struct ByPath;

impl Files for ByPath {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        read_bytes(Path::new(path)).map_err(|problem| problem.message().to_owned())
    }
}

/// Fits constants where exports from before the event are given, or are among the files.
pub(super) fn of(
    flags: &Learn,
    kept: &[(PathBuf, Kept)],
    (past, events): (&Past, &[Event]),
) -> Result<Constants, Trouble> {
    let is_asked = flags.out.is_some() || !flags.change.is_empty() || !given(flags).is_empty();
    match fitted(flags, kept, (past, events)) {
        Ok(learning) => Ok(Constants::Fitted(Box::new(learning))),
        Err(trouble) if is_asked => Err(trouble),
        Err(Trouble::Input(problems)) => {
            let first = problems.iter().next().map(|problem| problem.message().to_owned());
            Ok(Constants::NotAsked(first))
        }
        Err(trouble) => Err(trouble),
    }
}

fn fitted(
    flags: &Learn,
    kept: &[(PathBuf, Kept)],
    (past, events): (&Past, &[Event]),
) -> Result<Learning, Trouble> {
    let event = one(flags, events)?;
    let asked = Asked {
        past,
        event,
        files: kept.iter().map(|(_, kept)| kept.name.clone()).collect(),
        exports: exports(flags, kept, event)?,
        changes: flags.change.clone(),
        at_us: flags.at.as_deref().map(|at| moment(at, flags)).transpose()?,
        keys: flags.set.iter().map(|set| key(set)).collect::<Result<_, _>>()?,
    };
    let learning = learn(&asked, Arc::new(ByPath)).map_err(Trouble::Input)?;
    if let Some(path) = &flags.out {
        let mut inputs: Vec<PathBuf> = kept.iter().map(|(path, _)| path.clone()).collect();
        inputs.extend(given(flags).into_iter().map(|(_, path)| path.clone()));
        replaced::put(path, learning.learned.text().as_bytes(), Inputs::new(&inputs))?;
    }
    Ok(learning)
}

/// The event that is meant.
fn one<'a>(flags: &Learn, events: &'a [Event]) -> Result<&'a Event, Problem> {
    match (flags.event, events) {
        (None, [event]) => Ok(event),
        (None, events) => Err(Problem::new(format!("there are {} events", events.len()))
            .hint("say which one with --event 1, or give files of one")),
        (Some(number), events) => events.get(number.wrapping_sub(1)).ok_or_else(|| {
            Problem::new(format!("--event is {number}, of {} in all", events.len())).hint("they count from 1")
        }),
    }
}

/// Exports that flags name.
fn given(flags: &Learn) -> Vec<(&'static str, &PathBuf)> {
    let all = [
        ("report", &flags.report),
        ("crush_map", &flags.crush_map),
        ("osd_dump", &flags.osd_dump),
        ("pg_dump", &flags.pg_dump),
        ("osd_df", &flags.osd_df),
    ];
    all.into_iter().filter_map(|(key, path)| Some((key, path.as_ref()?))).collect()
}

/// The exports from before the event: those that flags name, or else the last ones among the files.
fn exports(flags: &Learn, kept: &[(PathBuf, Kept)], event: &Event) -> Result<Vec<(String, String)>, Problem> {
    let mut exports = given(flags);
    let before_us = event.changes.iter().map(|change| change.when.by_us).chain([event.began.by_us]).min();
    let last = |format: Format| {
        let at = |kept: &Kept| kept.record.samples.first().map(|sample| sample.at_us);
        let before = kept.iter().filter(|(_, kept)| kept.record.format == format && at(kept) < before_us);
        before.filter(|(_, kept)| at(kept).is_some()).max_by_key(|(_, kept)| at(kept)).map(|(path, _)| path)
    };
    if exports.is_empty() {
        exports.extend(last(Format::Report).map(|path| ("report", path)));
    }
    if exports.is_empty() {
        return Err(Problem::new("none of the files is a report from before the event")
            .hint("name one: --report before.json; it says where which data were"));
    }
    if !exports.iter().any(|(key, _)| *key == "pg_dump") {
        exports.extend(last(Format::Groups).map(|path| ("pg_dump", path)));
    }
    let text = |(key, path): (&str, &PathBuf)| (key.to_owned(), path.display().to_string());
    Ok(exports.into_iter().map(text).collect())
}

fn moment(text: &str, flags: &Learn) -> Result<i64, Problem> {
    microseconds(text, flags.zone).ok_or_else(|| {
        Problem::new(format!("--at is `{text}`, which is no time"))
            .hint("such as 2026-11-28T09:54:07Z, or seconds of the clock of the files")
    })
}

/// A key and its value, quoted where it is no number.
fn key(set: &str) -> Result<(String, String), Problem> {
    let Some((key, value)) = set.split_once('=') else {
        return Err(
            Problem::new(format!("--set is `{set}`, without a value")).hint("such as max_backfills=1")
        );
    };
    let is_toml = format!("value = {value}").parse::<toml::Table>().is_ok();
    let value = if is_toml { value.to_owned() } else { toml::Value::String(value.to_owned()).to_string() };
    Ok((key.trim().to_owned(), value))
}

/// What the screen says.
pub(super) fn text(Learning { learned, doubts }: &Learning, flags: &Learn) -> String {
    let event = &learned.event;
    let mut text = String::new();
    let of = [event.release.as_ref().map(|release| format!("Ceph {release}")), event.queue.clone()];
    let of: Vec<String> = of.into_iter().flatten().collect();
    line(
        &mut text,
        &format!(
            "Constants of {} disks ({}), from {} in {}",
            event.class,
            of.join(", "),
            event.changes.join(", "),
            event.source
        ),
    );
    doubts.iter().for_each(|doubt| line(&mut text, &format!("  warning: {doubt}")));
    for (name, unit, constant) in learned.constants.all() {
        line(&mut text, &format!("  {name:<15} {}", of_constant(constant, unit)));
    }
    let [predicted, took] = human::alike([event.predicted_s, event.took_s], "s");
    let percent = |share: f64| human::quantity(share, "share");
    line(
        &mut text,
        &format!(
            "Its first half predicts that it takes {predicted}, and it took {took}: the second half is {} off, and {} with \
             constants from all of it.",
            percent(event.error_after),
            percent(event.error_within)
        ),
    );
    if let Some(path) = &flags.out {
        let path = path.display();
        line(
            &mut text,
            &format!("Written to {path}. To use it: towtank whatif --machines {path} --report now.json ..."),
        );
    }
    text
}

fn of_constant(constant: Constant, unit: &str) -> String {
    let Constant { value, low, high, known, .. } = constant;
    let shown = |value: f64| match unit {
        "" => human::digits(value),
        "times" => format!("{} times that of the profile", human::digits(value)),
        unit => human::quantity(value, unit),
    };
    let range = match unit {
        "" | "times" => format!("{} to {}", human::digits(low), human::digits(high)),
        unit => human::range(low, high, unit),
    };
    match known {
        true if low == high => shown(value),
        true => format!("{} ({range})", shown(value)),
        false => format!("{} ({range}): cannot be known, so this is what is assumed", shown(value)),
    }
}
