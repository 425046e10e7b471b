//! A report on a terminal: the answer first, then the summary with intervals, points, claims and tables.
//!
//! Numbers are rounded for reading; the unrounded ones are in JSON and CSV. Names are printed as they are
//! written in gates (`mean_wait`), so that they can be typed.

mod brief;
mod grid;
mod printable;

use std::ops::RangeInclusive;

use crate::{
    Answer, Claim, Label, Line, Measure, Ordered, Report, Severity, Spread, Status, Step, Table, Tolerance,
    Verdict, Warning, human,
};
#[cfg(test)]
pub(crate) use brief::broken;
pub use brief::{Rest, SCREEN_LINES, brief};
pub use grid::wrap;
use grid::{Align, Grid};
pub use printable::{is_obeyed, printable, printable_lines};

/// Rows of a table that are shown; the others are only in the CSV file.
const ROWS_MAX: usize = 40;

/// The properties of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Colours may be used.
    pub colour: bool,
    /// Columns of text.
    pub width: usize,
}

impl Default for Style {
    /// Not a terminal: plain text, a hundred columns.
    fn default() -> Self {
        Self { colour: false, width: 100 }
    }
}

/// The role of a piece of text; the colours are the terminal's sixteen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Plain,
    Strong,
    Faint,
    Good,
    Bad,
    Caution,
}

impl Style {
    pub(crate) fn paint(self, ink: Ink, text: &str) -> String {
        let code = match ink {
            Ink::Plain => return text.to_owned(),
            Ink::Strong => "1",
            Ink::Faint => "2",
            Ink::Good => "32",
            Ink::Bad => "31",
            Ink::Caution => "33",
        };
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// The whole report.
#[must_use]
pub fn render(report: &Report, style: Style) -> String {
    let mut blocks = vec![head(report, style)];
    blocks.extend(summary(report, style));
    blocks.extend(points(report, style));
    blocks.extend((!report.claims.is_empty()).then(|| claims(&report.claims, style)));
    let is_compared = |each: &&Table| report.answer.compared.as_deref() == Some(each.id());
    blocks.extend(
        report.tables.iter().filter(|each| !is_compared(each)).map(|each| table(each, &report.titles, style)),
    );
    blocks.push(origin(report, style));
    blocks.join("\n")
}

/// The whole answer: finding and verdict, warnings, the course, what is compared, and its lines.
fn head(report: &Report, style: Style) -> String {
    let answer = &report.answer;
    let mut blocks = vec![finding(report, style) + &stopped(report, style)];
    let serious = |one: &&Warning| one.severity != Severity::Note;
    let warned = |all: Vec<&Warning>| all.into_iter().flat_map(|one| warning(one, style)).collect::<Vec<_>>();
    blocks.push(joined(warned(report.warnings.iter().filter(serious).collect())));
    blocks.push(course(answer, style));
    blocks.push(compared(report).map_or_else(String::new, |all| table(all, &report.titles, style)));
    let lines = Label::ALL.into_iter().flat_map(|label| answer.of_label(label));
    let mut below: Vec<String> = lines.flat_map(|line| line_of(line, style)).collect();
    below.extend(warned(report.warnings.iter().filter(|one| !serious(one)).collect()));
    blocks.push(joined(below));
    blocks.retain(|block| !block.is_empty());
    blocks.join("\n")
}

fn joined(lines: Vec<String>) -> String {
    lines.into_iter().map(|line| line + "\n").collect()
}

/// The finding with the verdict at the end of its first line, or below it; then the reason of a verdict that
/// is not safe.
fn finding(report: &Report, style: Style) -> String {
    let text = printable(report.heading());
    let Some(verdict) = &report.answer.verdict else { return paragraph(&text, "", style, Ink::Strong) };
    let ink = match verdict.status() {
        Status::Safe => Ink::Good,
        Status::AtRisk | Status::Unknown => Ink::Caution,
        Status::NotSafe => Ink::Bad,
    };
    let word = verdict.word().to_uppercase();
    let mut lines = grid::wrap(&text, style.width.saturating_sub(word.len() + 2).max(20)).into_iter();
    let first = lines.next().unwrap_or_default();
    let gap = style.width.saturating_sub(first.chars().count() + word.len()).max(2);
    let mut out =
        format!("{}{}{}\n", style.paint(Ink::Strong, &first), " ".repeat(gap), style.paint(ink, &word));
    for line in lines {
        out += &format!("{}\n", style.paint(Ink::Strong, &line));
    }
    if verdict.status() != Status::Safe {
        out += &paragraph(&printable(verdict.reason()), &lead("because"), style, ink);
    }
    out
}

/// That the run was stopped early, where no warning says so.
fn stopped(report: &Report, style: Style) -> String {
    let silent = report.partial && report.warnings.is_empty();
    let warning = Warning::unknown("stopped early: the results cover only what was committed");
    if silent { joined(self::warning(&warning, style)) } else { String::new() }
}

/// The word before a line, padded so that all lines begin in one column.
fn lead(word: &str) -> String {
    format!("{word:<LEAD$}")
}

/// The column in which the text of lines begins.
const LEAD: usize = 12;

/// The lines of a warning.
fn warning(warning: &Warning, style: Style) -> Vec<String> {
    let (word, ink) = match warning.severity {
        Severity::Danger => ("danger", Ink::Bad),
        Severity::Unknown => ("unknown", Ink::Caution),
        Severity::Note => ("note", Ink::Plain),
    };
    split(&paragraph(&printable(&warning.text), &lead(word), style, ink))
}

/// The lines of a part of the answer.
fn line_of(line: &Line, style: Style) -> Vec<String> {
    let change = line.change.as_ref().map_or_else(String::new, |change| format!("   {change}"));
    let text = printable(&format!("{}{change}", line.text));
    split(&paragraph(&text, &lead(line.label.word()), style, Ink::Plain))
}

fn split(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// The events of the course, with their times in one column.
fn course(answer: &Answer, style: Style) -> String {
    steps(answer, style).concat()
}

/// The lines of each event of the course.
fn steps(answer: &Answer, style: Style) -> Vec<String> {
    let times: Vec<String> = answer.course.iter().map(Step::when).collect();
    let width = times.iter().map(|time| time.chars().count()).max().unwrap_or(0).max(LEAD - 2);
    let line = |(time, step): (&String, &Step)| {
        paragraph(&printable(&step.what_with_range()), &format!("{time:>width$}  "), style, Ink::Plain)
    };
    times.iter().zip(&answer.course).map(line).collect()
}

/// The table of what is compared.
fn compared(report: &Report) -> Option<&Table> {
    let id = report.answer.compared.as_deref()?;
    report.tables.iter().find(|table| table.id() == id)
}

/// The number of claims by verdict, and the names of those that miss or cannot tell.
fn claims_tally(report: &Report, style: Style) -> Option<String> {
    let named = |verdict| report.claims.iter().filter(move |claim| claim.verdict == verdict);
    let open = named(Verdict::Misses).chain(named(Verdict::CannotTell));
    let names: Vec<String> = open.map(|claim| printable(&claim.name)).collect();
    let more = if names.is_empty() { String::new() } else { format!("; not holding: {}", names.join(", ")) };
    let text = format!("{}{more}", tally(&report.claims));
    (!report.claims.is_empty()).then(|| paragraph(&text, &lead("claims"), style, Ink::Plain))
}

fn summary(report: &Report, style: Style) -> Option<String> {
    if report.summary.is_empty() {
        return None;
    }
    let mut grid = Grid::new(&[("", Align::Text), ("mean", Align::Number), ("95 % interval", Align::Text)]);
    for ((name, measure), mean) in report.summary.iter().zip(means(report.summary.iter())) {
        grid.push(vec![printable(name), mean, interval(name, measure)]);
    }
    let title = match report.replicates {
        0 => "Summary".to_owned(),
        all if report.partial => {
            let some = Report::replicates_in(&report.summary);
            format!("Summary over {}", part_of(some..=some, all))
        }
        all => format!("Summary over {}", replicates(all)),
    };
    Some(section(&title, style) + &grid.render(style))
}

fn replicates(count: u32) -> String {
    if count == 1 { "1 replicate".to_owned() } else { format!("{count} replicates") }
}

/// How many replicates a part of a run has, or a part of all, if some were stopped before their end.
fn part_of(some: RangeInclusive<u32>, all: u32) -> String {
    match (*some.start(), *some.end()) {
        (least, _) if least == all => format!("a part of {}", replicates(all)),
        (least, most) if least == most => format!("{least} of {}", replicates(all)),
        (least, most) => format!("{least} to {most} of {}", replicates(all)),
    }
}

/// Means with their units, padded so that the numbers end in one column.
fn means<'a>(measures: impl Iterator<Item = (&'a String, &'a Measure)>) -> Vec<String> {
    let parts: Vec<(String, String)> = measures
        .map(|(name, measure)| match measure.value() {
            Some(value) => human::small_probability(name, value).map_or_else(
                || {
                    let shown = human::Shown::fitting(value, measure.unit());
                    let digits = shown.digits(value);
                    let unit =
                        printable(if digits == "1" { human::singular(shown.unit()) } else { shown.unit() });
                    (digits, unit)
                },
                |odds| (odds, String::new()),
            ),
            None => ("–".to_owned(), String::new()),
        })
        .collect();
    let widest = parts.iter().map(|(_, unit)| unit.chars().count()).max().unwrap_or(0);
    parts.into_iter().map(|(digits, unit)| format!("{digits} {unit:<widest$}")).collect()
}

/// The interval, or why there is none.
fn interval(name: &str, measure: &Measure) -> String {
    let unit = printable(measure.unit());
    if let Some(odds) = measure.interval().and_then(|(low, high)| human::small_range(name, low, high)) {
        return odds;
    }
    match (measure.interval(), measure.reason(), measure.no_interval()) {
        (Some((low, high)), ..) => human::range(low, high, &unit),
        (None, Some(reason), _) => printable(reason),
        (None, None, Some(Spread { least, most, reason })) => {
            format!("none, {}; replicates {}", printable(reason), human::range(*least, *most, &unit))
        }
        (None, None, None) => String::new(),
    }
}

/// The points of a sweep with their heading, and why values are missing.
fn points(report: &Report, style: Style) -> Option<String> {
    let (heading, grid) = points_grid(report, &[], str::to_owned)?;
    let mut out = section(&heading, style) + &limited(grid, style, "points");
    for name in reasons_missing(report) {
        out.push_str(&paragraph(&name, "–  ", style, Ink::Faint));
    }
    Some(out)
}

/// One row per point; each measure is its mean, with the interval beside it: the half width, or both ends
/// where one lies farther from the mean than the other. Only the `chosen` measures, if there are any, in
/// their order; `title` makes the head of a column from the name of a measure.
fn points_grid(report: &Report, chosen: &[String], title: impl Fn(&str) -> String) -> Option<(String, Grid)> {
    let first = report.points.first()?;
    let keys: Vec<&String> = first.settings.keys().collect();
    let mut measures: Vec<(&String, &Measure)> = first.summary.iter().collect();
    // A screen often has room for the first block of columns only, so the headline must be in it.
    measures.sort_by_key(|(name, _)| report.headline.as_ref() != Some(*name));
    let place = |name: &String| chosen.iter().position(|one| one == name);
    if measures.iter().any(|(name, _)| place(name).is_some()) {
        measures.retain(|(name, _)| place(name).is_some());
        measures.sort_by_key(|(name, _)| place(name));
    }
    let results: Vec<(String, Vec<String>)> = measures
        .into_iter()
        .map(|(name, measure)| point_column(report, (name, &title(name)), measure.unit()))
        .collect();
    let names: Vec<String> = short_names(&keys).into_iter().map(&title).collect();
    let key_columns = names.iter().map(|name| (name.as_str(), Align::Number));
    let columns: Vec<(&str, Align)> =
        key_columns.chain(results.iter().map(|(head, _)| (head.as_str(), Align::Number))).collect();
    let mut grid = Grid::new(&columns).keys(keys.len());
    for (at, point) in report.points.iter().enumerate() {
        let setting = |key: &&String| point.settings.get(*key).map_or_else(String::new, setting_text);
        let cells = results.iter().map(|(_, cells)| cells[at].clone());
        grid.push(keys.iter().map(setting).chain(cells).collect());
    }
    let each = if report.partial {
        let some = || report.points.iter().map(|point| Report::replicates_in(&point.summary));
        part_of(some().min().unwrap_or(0)..=some().max().unwrap_or(0), report.replicates)
    } else {
        replicates(report.replicates)
    };
    Some((format!("{} points, {each} each", report.points.len()), grid))
}

/// The last parts of keys, which distinguish them in a narrow table; whole keys where they would not.
fn short_names<'a>(keys: &[&'a String]) -> Vec<&'a str> {
    let last = |key: &'a String| key.rsplit('.').next().unwrap_or(key);
    let alone = |key| keys.iter().filter(|other| last(other) == last(key)).count() == 1;
    keys.iter().map(|key| if alone(*key) { last(key) } else { key.as_str() }).collect()
}

/// Why values are missing, by measure, each reason once.
fn reasons_missing(report: &Report) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (name, measure) in report.points.iter().flat_map(|point| &point.summary) {
        let line = measure.reason().map(|reason| printable(&format!("{name}: {reason}")));
        lines.extend(line.filter(|line| !lines.contains(line)));
    }
    lines
}

/// Heading and cells of one measure over all points, in one unit.
fn point_column(report: &Report, (name, title): (&str, &str), unit: &str) -> (String, Vec<String>) {
    let measures = || report.points.iter().map(|point| point.summary.get(name));
    let values = || measures().flatten().filter_map(Measure::value);
    let shown = human::Shown::column(values(), unit);
    if values().any(|value| human::small_probability(name, value).is_some()) {
        let quantity =
            |value| human::small_probability(name, value).unwrap_or_else(|| human::quantity(value, unit));
        let cell = |measure: &Measure| measure.value().map_or_else(|| "–".to_owned(), quantity);
        let cells = measures().map(|measure| measure.map_or_else(String::new, cell)).collect();
        return (printable(title), cells);
    }
    let cells = measures().map(|measure| measure.map_or_else(String::new, |measure| spread(measure, &shown)));
    let unit = printable(shown.unit());
    (headed(&printable(title), &unit), cells.collect())
}

/// A head with its unit, unless it has the word in it.
fn headed(title: &str, unit: &str) -> String {
    let has = title.split([' ', '_']).any(|word| word.eq_ignore_ascii_case(unit));
    if unit.is_empty() || has { title.to_owned() } else { format!("{title} [{unit}]") }
}

fn setting_text(value: &serde_json::Value) -> String {
    printable(&human::setting(value))
}

fn spread(measure: &Measure, shown: &human::Shown) -> String {
    let Some(value) = measure.value() else { return "–".to_owned() };
    let beside = measure.interval().map(|(low, high)| {
        let halves = [value - low, high - value].map(|half| shown.rough(half));
        if halves == ["0", "0"] {
            String::new()
        } else if halves[0] == halves[1] {
            format!(" ±{}", halves[0])
        } else {
            format!(" ({} to {})", shown.digits(low), shown.digits(high))
        }
    });
    shown.digits(value) + &beside.unwrap_or_default()
}

fn claims(claims: &[Claim], style: Style) -> String {
    let mut grid = Grid::new(&[
        ("", Align::Text),
        ("claim", Align::Text),
        ("published", Align::Number),
        ("ours", Align::Number),
        ("tolerance", Align::Text),
        ("source", Align::Text),
    ])
    .keys(2);
    for claim in claims {
        let loosened = if claim.loosened.is_some() { ", loosened" } else { "" };
        grid.push_inked(
            vec![
                verdict(claim),
                printable(&claim.name),
                reading(claim.published, &claim.unit),
                reading(claim.ours, &claim.unit),
                tolerance(claim.tolerance, &claim.unit) + loosened,
                printable(&claim.source),
            ],
            match claim.verdict {
                Verdict::Holds => Ink::Good,
                Verdict::Misses => Ink::Bad,
                Verdict::CannotTell | Verdict::Fitted | Verdict::NotJudged => Ink::Caution,
            },
        );
    }
    let heading = paragraph(&format!("Claims: {}", tally(claims)), "", style, Ink::Strong);
    heading + &grid.render(style) + &notes(claims, style)
}

/// The number of claims by verdict: `8 of 11 hold, 1 misses, 1 cannot tell, 1 fitted and not counted`. Those
/// that are not judged come first.
#[must_use]
pub fn tally(claims: &[Claim]) -> String {
    let count = |verdict| claims.iter().filter(|claim| claim.verdict == verdict).count();
    let (open, holds, all) = (count(Verdict::NotJudged), count(Verdict::Holds), claims.len());
    let mut words = match open {
        0 => format!("{holds} of {all} hold"),
        _ if open == all => format!("{open} of {all} not judged"),
        _ => format!("{open} of {all} not judged, {holds} hold"),
    };
    let mut more = |count: usize, one: &str, many: &str| {
        if count > 0 {
            words.push_str(&format!(", {count} {}", if count == 1 { one } else { many }));
        }
    };
    more(count(Verdict::Misses), "misses", "miss");
    more(count(Verdict::CannotTell), "cannot tell", "cannot tell");
    more(count(Verdict::Fitted), "fitted and not counted", "fitted and not counted");
    words
}

/// The verdict in words; for a fitted claim also the verdict that its numbers alone give.
fn verdict(claim: &Claim) -> String {
    let would = |verdict| match verdict {
        Verdict::Holds => "would hold",
        Verdict::Misses => "would miss",
        Verdict::CannotTell | Verdict::Fitted | Verdict::NotJudged => "could not tell",
    };
    match (claim.verdict, claim.would_be) {
        (Verdict::CannotTell, _) => "cannot tell".to_owned(),
        (Verdict::NotJudged, _) => "not judged".to_owned(),
        (Verdict::Fitted, Some(verdict)) => format!("fitted ({})", would(verdict)),
        (verdict, _) => verdict.name().to_owned(),
    }
}

/// The notes on the claims; a note that several share is printed once.
fn notes(claims: &[Claim], style: Style) -> String {
    let mut by_note: crate::Ordered<Vec<&str>> = crate::Ordered::new();
    for claim in claims {
        let loosened = claim.loosened.as_ref().map(|reason| format!("tolerance loosened: {reason}"));
        for note in claim.note.iter().chain(&loosened) {
            by_note.entry(printable(note)).or_default().push(&claim.name);
        }
    }
    let line = |(note, names): (&String, &Vec<&str>)| {
        let shared = names.len() > 1 && names.len() == claims.len();
        let about = if shared { "all claims".to_owned() } else { printable(&names.join(", ")) };
        paragraph(&format!("{about}: {note}"), "", style, Ink::Faint)
    };
    by_note.iter().map(line).collect()
}

fn reading(reading: crate::Reading, unit: &str) -> String {
    reading.value.get().map_or_else(|| "–".to_owned(), |value| human::quantity(value, &printable(unit)))
}

/// The tolerance, in words that fit a column.
#[must_use]
pub fn tolerance(tolerance: Tolerance, unit: &str) -> String {
    let unit = &printable(unit);
    match tolerance {
        Tolerance::Relative { fraction } => format!("±{} %", human::digits(fraction * 100.0)),
        Tolerance::Absolute { amount } => format!("±{}", human::quantity(amount, unit)),
        Tolerance::Range { low, high } => human::range(low, high, unit),
        Tolerance::Interval => "within our 95 %".to_owned(),
        Tolerance::AtLeast => "at least".to_owned(),
        Tolerance::AtMost => "at most".to_owned(),
        Tolerance::Above => "above (95 %)".to_owned(),
    }
}

fn table(table: &Table, titles: &Ordered<String>, style: Style) -> String {
    let mut out = section(&printable(table.title()), style);
    if !table.description().is_empty() {
        out.push_str(&paragraph(&printable(table.description()), "", style, Ink::Faint));
    }
    // Commands are to be pasted: a part of them is no plan.
    if table.columns().iter().any(|column| column.name == "command") {
        return out + &grid::of_table(table, titles).render(style);
    }
    out + &limited(grid::of_table(table, titles), style, table.id())
}

/// The first rows of a long grid, and where to find the others.
fn limited(mut grid: Grid, style: Style, id: &str) -> String {
    let hidden = grid.truncate(ROWS_MAX);
    let mut out = grid.render(style);
    if hidden > 0 {
        out.push_str(&style.paint(Ink::Faint, &format!("… and {hidden} more rows in {id}.csv")));
        out.push('\n');
    }
    out
}

/// The provenance of the numbers: what is needed to reproduce them.
fn origin(report: &Report, style: Style) -> String {
    let mut parts = Vec::new();
    // Without a run there is no random draw that a seed could change.
    if report.replicates > 0 {
        parts.push(format!("seed {}", report.seed));
    }
    if report.events > 0 {
        parts.push(format!("{} events", human::digits(crate::Num::from(report.events).get().unwrap_or(0.0))));
    }
    if !report.executor.is_empty() {
        parts.push(format!("executor {}", printable(&report.executor)));
    }
    parts.extend(report.digest.as_deref().map(|digest| format!("digest {}", printable(digest))));
    if !report.scenario_hash.is_empty() {
        parts.push(format!("scenario {}", printable(&report.scenario_hash)));
    }
    parts.push(format!("towtank {} (results {})", printable(&report.towtank), report.results_version));
    paragraph(&parts.join(", "), "", style, Ink::Faint)
}

fn section(title: &str, style: Style) -> String {
    style.paint(Ink::Strong, title) + "\n"
}

/// Text wrapped to the width; the lines after the first are indented by the lead's length.
fn paragraph(text: &str, lead: &str, style: Style, ink: Ink) -> String {
    let indent = lead.chars().count();
    let mut out = String::new();
    for (at, line) in grid::wrap(text, style.width.saturating_sub(indent).max(20)).iter().enumerate() {
        let start = if at == 0 { lead.to_owned() } else { " ".repeat(indent) };
        out.push_str(&style.paint(ink, &format!("{start}{line}")));
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests;
