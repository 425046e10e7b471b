//! Tables with a column of times: Grafana's CSV of series that are joined by time, and our own, with the
//! columns `time,degraded_objects,misplaced_objects,bytes_per_s` and optionally `unfound_objects` and
//! `objects_per_s`.

use std::collections::BTreeMap;

use super::instant::{self, Instant, Zone};
use super::series::{self, Field, NAMES, Series};
use super::{Clock, Format, Record};
use crate::table::{Row, Table};
use crate::{File, ImportError, Imported};

/// Seconds since 1970 have been above this number since 1973, and milliseconds since 1970 ever since.
const SECONDS_MIN: i64 = 100_000_000;
/// Milliseconds since 1970 have been above this since 2001, and seconds will be from 5138 on.
const MILLISECONDS_MIN: i64 = 100_000_000_000;

/// A column with values.
struct Column {
    at: usize,
    series: Series,
}

/// Reads the table.
///
/// # Errors
/// If it has no times, or no column that is known, or damaged cells.
pub(super) fn read(file: File<'_>, text: &str, zone: Option<Zone>) -> Result<Imported<Record>, ImportError> {
    let text = text.trim_start_matches('\u{feff}');
    // A first line for spreadsheets.
    let blanked = text.starts_with("sep=").then(|| text.replacen("sep=", "#", 1));
    let text = blanked.as_deref().unwrap_or(text);
    let table = Table::parse(file, text)?;
    let names = table.names();
    let Some(time) = names.iter().position(|name| name.eq_ignore_ascii_case("time")) else {
        let reason = format!(
            "this is nothing that says how a recovery went; it begins with `{}`",
            table.head_in_short()
        );
        return Err(ImportError::new(file.name, reason).hint(super::FORMATS));
    };
    if let Some(name) = table.twice() {
        return Err(ImportError::new(file.name, "it is there twice").key(name).hint("leave one of them out"));
    }
    let mut columns: Vec<Column> = Vec::new();
    let mut others = Vec::new();
    for (at, name) in names.iter().enumerate().filter(|(at, _)| *at != time) {
        let (name, labels) = named(name);
        match Field::of(&name) {
            Some(field) => columns.push(Column { at, series: Series { field, labels, values: Vec::new() } }),
            None => others.push(name),
        }
    }
    if columns.is_empty() {
        let known: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
        let reason = format!("none of its columns is known: `{}`", table.head_in_short());
        return Err(ImportError::new(file.name, reason).hint(format!("known are {}", known.join(", "))));
    }
    let (clock, lines) = fill(file, text, &table, (time, zone), &mut columns)?;
    let mut record = Record::new(Format::Table, clock);
    let mut notes =
        series::add(file, &mut record, columns.into_iter().map(|column| column.series).collect())?;
    for sample in &mut record.samples {
        sample.line = lines.get(&sample.at_us).copied().unwrap_or(0);
    }
    if !others.is_empty() {
        notes.push(format!(
            "`{}`: columns that are not known are left out: {}",
            file.name,
            others.join(", ")
        ));
    }
    if !text.ends_with('\n') {
        notes.push(format!("`{}`: its last line is left out: {}", file.name, super::MAY_BE_CUT));
    }
    Ok(Imported { value: record, notes })
}

/// Reads the rows into the columns; the clock of the times, and the line of each.
fn fill(
    file: File<'_>,
    text: &str,
    table: &Table<'_>,
    (time, zone): (usize, Option<Zone>),
    columns: &mut [Column],
) -> Result<(Clock, BTreeMap<i64, usize>), ImportError> {
    let (mut clock, mut lines, mut times) = (None, BTreeMap::new(), Vec::new());
    let last_line = text.lines().count();
    for row in table.rows() {
        if row.line == last_line && !text.ends_with('\n') {
            continue;
        }
        if row.width() < table.names().len() {
            let reason = format!("it has {} cells, and the heading {}", row.width(), table.names().len());
            return Err(ImportError::new(file.name, reason)
                .key(format!("line {}", row.line))
                .hint("export it again"));
        }
        let (at_us, of) = moment(&row, time, zone)?;
        if *clock.get_or_insert(of) != of {
            return Err(row
                .wrong("time", "this time is of another kind than those before it")
                .hint("write all times in one way"));
        }
        lines.insert(at_us, row.line);
        times.push((at_us, row.line));
        for column in columns.iter_mut() {
            if let Some(value) = value(&row, column.at, &table.names()[column.at])? {
                column.series.values.push((at_us, value));
            }
        }
    }
    ordered(file, &times)?;
    Ok((clock.unwrap_or(Clock::Zoned), lines))
}

/// Refuses times that go back; a table may begin with the newest.
fn ordered(file: File<'_>, times: &[(i64, usize)]) -> Result<(), ImportError> {
    let falls = |pair: &&[(i64, usize)]| pair[1].0 < pair[0].0;
    let rises = |pair: &&[(i64, usize)]| pair[1].0 > pair[0].0;
    let begins_with_newest = times.first().zip(times.last()).is_some_and(|(first, last)| first.0 > last.0);
    let wrong = match begins_with_newest {
        true => times.windows(2).find(rises),
        false => times.windows(2).find(falls),
    };
    match wrong {
        Some(pair) => Err(ImportError::new(file.name, "the time goes back")
            .key(format!("line {}", pair[1].1))
            .hint("sort the rows by time")),
        None => Ok(()),
    }
}

/// The name of a column and its labels: `ceph_osd_up{ceph_daemon="osd.3"}`, `{__name__="ceph_osd_up"}`.
fn named(text: &str) -> (String, BTreeMap<String, String>) {
    let (name, rest) = text.split_once('{').unwrap_or((text, ""));
    let pairs = rest.trim_end_matches('}').split("\",").filter_map(|pair| pair.split_once('='));
    let clean = |text: &str| text.trim().trim_matches('"').to_owned();
    let mut labels: BTreeMap<String, String> = pairs.map(|(key, value)| (clean(key), clean(value))).collect();
    let name = match name.trim() {
        "" => labels.remove("__name__").unwrap_or_default(),
        name => name.to_ascii_lowercase(),
    };
    (name, labels)
}

fn moment(row: &Row<'_>, at: usize, zone: Option<Zone>) -> Result<(i64, Clock), ImportError> {
    let text = row.cell(at);
    if let Some(at) = instant::of(text) {
        let Instant { at_us, zoned } = at.within(zone);
        return Ok((at_us, if zoned { Clock::Zoned } else { Clock::Local }));
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    let Some(micros) = instant::decimal_us(digits) else {
        return Err(row
            .wrong("time", format!("`{text}` is not a time"))
            .hint("write 2026-11-28T09:48:57Z, or seconds since 1970 or since some moment"));
    };
    let micros = if digits.len() < text.len() { -micros } else { micros };
    match micros / 1_000_000 {
        seconds if seconds >= MILLISECONDS_MIN => Ok((micros / 1_000, Clock::Zoned)),
        seconds if seconds >= SECONDS_MIN => Ok((micros, Clock::Zoned)),
        _ => Ok((micros, Clock::Start)),
    }
}

/// The number in a cell; missing where there is none.
fn value(row: &Row<'_>, at: usize, name: &str) -> Result<Option<f64>, ImportError> {
    let text = row.cell(at);
    if ["", "null", "undefined", "nan"].iter().any(|missing| text.eq_ignore_ascii_case(missing)) {
        return Ok(None);
    }
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    let number: Option<f64> = text.parse().ok().filter(|number: &f64| is_plain && number.is_finite());
    number.map(Some).ok_or_else(|| {
        row.wrong(name, format!("`{text}` is not a plain number"))
            .hint("export without units: in Grafana, switch `Formatted data` off")
    })
}
