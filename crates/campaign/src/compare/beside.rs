//! The table of results side by side: what differs in the scenarios, verdicts, main measures, findings.

use std::cmp::Ordering;

use towtank_metrics::Better;
use towtank_report::human::{self, Shown};
use towtank_report::{Cell, Column, Measure, Standing, Table};

use super::Side;
use super::against::Against;
use super::main_measures::{Main, better};
use super::row::{self, Row, Verdict};
use super::settings::Setting;

/// The table's id.
pub(crate) const ID: &str = "side_by_side";

/// So many settings that differ, and points of a sweep, have a row: a choice, for a screen. Other tables have
/// all of them.
const SETTINGS_MAX: usize = 6;
const POINTS_MAX: usize = 12;

/// What is shown side by side.
pub(crate) struct Beside<'a> {
    pub sides: &'a [Side],
    pub others: &'a [Against<'a>],
    pub settings: &'a [Setting],
    pub main: &'a [Main],
}

impl Beside<'_> {
    /// The table: a column for each result.
    pub(crate) fn table(&self) -> Table {
        let heads = std::iter::once("what").chain(self.sides.iter().map(|side| side.name.as_str()));
        let about = "What differs in the scenarios, then the results; measures are means over replicates. Better, worse and \
                     tied are said against the first result where intervals can tell; the differences with their intervals \
                     are in the table of differences.";
        let mut table = Table::new(ID, "Side by side", heads.map(Column::text).collect()).about(about);
        let rows = [self.names(), self.scenarios(), self.verdicts(), self.measures(), self.findings()];
        for (label, cells) in rows.into_iter().flatten() {
            let texts = std::iter::once(label).chain(cells);
            table.push(texts.map(Cell::Text).collect());
        }
        table
    }

    fn texts(&self, of: impl Fn(&Side) -> String) -> Vec<String> {
        self.sides.iter().map(of).collect()
    }

    fn names(&self) -> Vec<(String, Vec<String>)> {
        let mut rows = Vec::new();
        if self.sides.iter().any(|side| !side.called.is_empty()) {
            rows.push(("result".to_owned(), self.texts(|side| side.called.clone())));
        }
        if self.sides.iter().any(|side| side.report.study != self.sides[0].report.study) {
            rows.push(("study".to_owned(), self.texts(|side| side.report.study.clone())));
        }
        rows
    }

    fn scenarios(&self) -> Vec<(String, Vec<String>)> {
        let shown = self.settings.iter().take(SETTINGS_MAX);
        let mut rows: Vec<_> = shown.map(|one| (one.label(self.settings), one.texts())).collect();
        let more = self.settings.len().saturating_sub(SETTINGS_MAX);
        if more > 0 {
            rows.push((format!("{more} more settings differ"), self.texts(|_| "…".to_owned())));
        }
        rows
    }

    fn verdicts(&self) -> Vec<(String, Vec<String>)> {
        if self.sides.iter().all(|side| side.report.answer.verdict.is_none()) {
            return Vec::new();
        }
        let word = |side: &Side| {
            side.report
                .answer
                .verdict
                .as_ref()
                .map_or_else(|| "–".to_owned(), |one| Standing::word(one).to_lowercase())
        };
        vec![("verdict".to_owned(), self.texts(word))]
    }

    /// Every main measure at the only point, or the first one at each point.
    fn measures(&self) -> Vec<(String, Vec<String>)> {
        if self.sides[0].report.sweep.is_empty() {
            return self.main.iter().map(|main| (main.title.clone(), self.cells(main, ""))).collect();
        }
        let Some(main) = self.main.first() else { return Vec::new() };
        let mut labels: Vec<&str> = Vec::new();
        for row in self.others.iter().flat_map(|other| other.of_measure(&main.name)) {
            if !labels.contains(&row.label.as_str()) {
                labels.push(&row.label);
            }
        }
        let row = |label: &&str| (format!("{}, {label}", main.title), self.cells(main, label));
        labels.iter().take(POINTS_MAX).map(row).collect()
    }

    /// A measure at a point, in one unit.
    fn cells(&self, main: &Main, label: &str) -> Vec<String> {
        let rows: Vec<Option<&Row>> = self
            .others
            .iter()
            .map(|other| other.of_measure(&main.name).find(|row| row.label == label))
            .collect();
        let first = rows.iter().flatten().next().map(|row| &row.a);
        let unit = first.map_or("", Measure::unit);
        let shown = row::shown(&rows.iter().flatten().copied().collect::<Vec<_>>());
        let value = |measure: Option<&Measure>| {
            let odds = |one: &Measure| human::small_probability(&main.name, one.value()?);
            measure
                .map_or_else(|| "–".to_owned(), |one| odds(one).unwrap_or_else(|| value(one, &shown, unit)))
        };
        let mut cells = vec![value(first)];
        for row in rows {
            let judged = row.map_or_else(Vec::new, |row| judged(row, &shown));
            let parts = std::iter::once(value(row.map(|row| &row.b))).chain(judged);
            cells.push(parts.collect::<Vec<_>>().join(", "));
        }
        cells
    }

    fn findings(&self) -> Vec<(String, Vec<String>)> {
        let finding = |side: &Side| side.report.answer.finding.clone();
        let rows = vec![("finding".to_owned(), self.texts(finding))];
        if self.sides.iter().all(|side| finding(side).is_empty()) { Vec::new() } else { rows }
    }
}

/// A mean with its interval, if it has one that shows.
fn value(measure: &Measure, shown: &Shown, unit: &str) -> String {
    let Some(value) = measure.value() else { return "none".to_owned() };
    if measure.unit() != unit {
        return human::quantity(value, measure.unit());
    }
    let Some((low, high)) = measure.interval() else { return shown.quantity(value) };
    let halves = [value - low, high - value].map(|half| shown.rough(half));
    let unit = if shown.unit().is_empty() { String::new() } else { format!(" {}", shown.unit()) };
    match halves {
        [low, high] if low == "0" && high == "0" => shown.quantity(value),
        [half, other] if half == other => format!("{} ±{half}{unit}", shown.digits(value)),
        _ => format!("{} ({} to {}){unit}", shown.digits(value), shown.rough(low), shown.rough(high)),
    }
}

/// The difference from the first result, and whether it is better where intervals tell that.
fn judged(row: &Row, shown: &Shown) -> Vec<String> {
    let word = match row.verdict() {
        Verdict::NoValue => return Vec::new(),
        Verdict::Equal => return vec!["same".to_owned()],
        Verdict::Unclear => return vec!["tied".to_owned()],
        Verdict::NoInterval => None,
        Verdict::Higher => Some(by_merit(row, Ordering::Greater)),
        Verdict::Lower => Some(by_merit(row, Ordering::Less)),
    };
    change(row, shown).into_iter().chain(word.map(str::to_owned)).collect()
}

fn by_merit(row: &Row, order: Ordering) -> &'static str {
    match (better(&row.measure, &row.a), order) {
        (Some(Better::Lower), Ordering::Less) | (Some(Better::Higher), Ordering::Greater) => "better",
        (Some(_), _) => "worse",
        (None, Ordering::Less) => "lower",
        (None, _) => "higher",
    }
}

/// The change in per cent of the first value; the difference where that is zero or tiny.
fn change(row: &Row, shown: &Shown) -> Option<String> {
    let difference = row.difference()?;
    let sign = if difference < 0.0 { "-" } else { "+" };
    match row.ratio().map(|ratio| (ratio - 1.0).abs()) {
        Some(part) if part < 10.0 => Some(format!("{sign}{} %", Shown::fitting(part, "share").rough(part))),
        _ => Some(format!("{sign}{}", shown.quantity(difference.abs()))),
    }
}
