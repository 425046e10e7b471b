//! The finding of a comparison: one sentence on the main measure and the verdicts.

use towtank_report::human::{self, Shown};
use towtank_report::{Standing, Status, title};

use super::Side;
use super::against::Against;
use super::main_measures::Main;
use super::row::{self, Row, Verdict};

/// So many results are named one by one; a screen has room for no longer sentence.
const NAMED_MAX: usize = 4;

/// The sentence.
pub(crate) fn finding(first: &Side, others: &[Against<'_>], main: Option<&Main>) -> String {
    let names =
        |all: &[&Against<'_>]| joined(&all.iter().map(|one| one.side.name.clone()).collect::<Vec<_>>());
    let all: Vec<&Against<'_>> = others.iter().collect();
    let verb = if all.len() == 1 { "is" } else { "are" };
    if all.iter().all(|other| other.is_same_as(first)) {
        return format!("{} {verb} the same result as {}.", names(&all), first.name);
    }
    if all.iter().all(|other| other.is_equal()) {
        let measures = human::plural(all[0].rows.len() as f64, ["value", "values"]);
        return format!("{} {verb} equal to {} in all {measures}.", names(&all), first.name);
    }
    let mut parts: Vec<String> = main.map(|main| of_measure(first, others, main)).into_iter().collect();
    parts.extend(of_verdicts(first, others));
    if parts.is_empty() {
        parts.extend(others.iter().map(|other| other.tally(first)));
    }
    format!("{}.", parts.join("; "))
}

/// What is said of the main measure.
fn of_measure(first: &Side, others: &[Against<'_>], main: &Main) -> String {
    let event = main.title.strip_prefix("Time until ");
    let rows: Vec<&Row> = others.iter().flat_map(|other| other.of_measure(&main.name)).collect();
    let mut words =
        Words { a: &first.name, less: "less", more: "more", named: false, shown: row::shown(&rows) };
    if event.is_some() {
        (words.less, words.more) = ("sooner", "later");
    }
    let sweeps = !first.report.sweep.is_empty();
    let named = others.iter().take(NAMED_MAX);
    let clauses: Vec<String> = named
        .filter_map(|other| {
            let rows: Vec<&Row> = other.of_measure(&main.name).collect();
            match rows[..] {
                [] => None,
                [row] if !sweeps => Some(words.of_row(&other.side.name, row)),
                _ => Some(words.of_points(&other.side.name, &rows)),
            }
        })
        .collect();
    let clear = others
        .first()
        .and_then(|other| other.of_measure(&main.name).next())
        .is_some_and(|row| matches!(row.verdict(), Verdict::Higher | Verdict::Lower | Verdict::NoInterval));
    let lead = match event.filter(|_| clear && !sweeps) {
        Some(event) => format!("{} ", title::capital(event)),
        None => format!("{}: ", main.title),
    };
    let more = others.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 {
        format!("; and {}", human::plural(more as f64, ["more result", "more results"]))
    } else {
        String::new()
    };
    format!("{lead}{}{more}", clauses.join("; "))
}

/// How differences are said; the first result is named once.
struct Words<'a> {
    a: &'a str,
    less: &'static str,
    more: &'static str,
    named: bool,
    /// The unit of all values, that of the table below.
    shown: Shown,
}

impl Words<'_> {
    /// A result against the first one at the only point.
    fn of_row(&mut self, b: &str, row: &Row) -> String {
        let a = self.a;
        let Some((left, right)) = row.both() else { return self.of_missing(b, row) };
        let [right_text, left_text] = [right, left].map(|value| self.shown.quantity(value));
        // A small difference has a unit of its own: 1 s, and not 0.01667 min.
        let apart = (right - left).abs();
        let own = Shown::fitting(apart, row.a.unit());
        let of_difference = if self.shown.fits(apart) { &self.shown } else { &own };
        let difference = of_difference.quantity(apart);
        let word = if right < left { self.less } else { self.more };
        let known = std::mem::replace(&mut self.named, true);
        match (row.verdict(), known) {
            (Verdict::Equal, false) => format!("the same in {b} and {a} ({left_text})"),
            (Verdict::Equal, true) => format!("the same in {b}"),
            (Verdict::Unclear, false) => {
                format!("{b} and {a} are tied ({right_text} against {left_text}, which may be chance)")
            }
            (Verdict::Unclear, true) => format!("tied in {b} ({right_text})"),
            (_, false) => {
                let range = row.difference_range().map_or_else(String::new, |(low, high)| {
                    let (low, high) = if low < 0.0 { (-high, -low) } else { (low, high) };
                    format!(", a difference of {}", of_difference.range(low, high))
                });
                format!("{difference} {word} in {b} than in {a} ({right_text} against {left_text}{range})")
            }
            (_, true) => format!("{difference} {word} in {b} ({right_text})"),
        }
    }

    fn of_missing(&mut self, b: &str, row: &Row) -> String {
        let a = self.a;
        let text = |value: f64| self.shown.quantity(value);
        match (row.a.value(), row.b.value()) {
            (None, Some(value)) if self.named => format!("{} in {b}", text(value)),
            (None, Some(value)) => {
                self.named = true;
                format!("{} in {b}, no value in {a}", text(value))
            }
            (Some(value), None) if !self.named => {
                self.named = true;
                format!("no value in {b}, {} in {a}", self.shown.quantity(value))
            }
            (Some(_), Some(_)) => format!("{b} has another unit than {a}"),
            _ => format!("no value in {b}"),
        }
    }

    /// A result against the first one at several points.
    fn of_points(&self, b: &str, rows: &[&Row]) -> String {
        let count = |wanted: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| wanted(row)).count();
        let apart =
            |row: &Row| matches!(row.verdict(), Verdict::Higher | Verdict::Lower | Verdict::NoInterval);
        let (a, less, more) = (self.a, self.less, self.more);
        let parts = [
            (count(&|row| apart(row) && row.difference() < Some(0.0)), format!("{less} in {b} than in {a}")),
            (count(&|row| apart(row) && row.difference() > Some(0.0)), format!("{more} in {b} than in {a}")),
            (count(&|row| row.verdict() == Verdict::Unclear), format!("tied in {b} and {a}")),
            (count(&|row| row.verdict() == Verdict::Equal), format!("the same in {b} and {a}")),
            (count(&|row| row.verdict() == Verdict::NoValue), format!("no value in {b} or {a}")),
        ];
        let parts = parts.into_iter().filter(|(count, _)| *count > 0).map(|(count, words)| {
            let points = human::plural(rows.len() as f64, ["point", "points"]);
            let all = if rows.len() > 1 { "all " } else { "" };
            if count == rows.len() {
                format!("{words} at {all}{points}")
            } else {
                format!("{words} at {count} of {points}")
            }
        });
        parts.collect::<Vec<_>>().join(", ")
    }
}

/// Verdicts that are not that of the first result.
fn of_verdicts(first: &Side, others: &[Against<'_>]) -> Vec<String> {
    let status = |side: &Side| side.report.answer.verdict.as_ref().map(Standing::status);
    let Some(own) = status(first) else { return Vec::new() };
    let mut parts: Vec<String> = Vec::new();
    for wanted in [Status::NotSafe, Status::Unknown, Status::AtRisk, Status::Safe] {
        let alike = others.iter().map(|other| other.side).filter(|side| status(side) == Some(wanted));
        let names: Vec<String> = alike.map(|side| side.name.clone()).collect();
        if wanted == own || names.is_empty() {
            continue;
        }
        parts.push(says(&names, wanted));
    }
    if !parts.is_empty() {
        parts.push(says(std::slice::from_ref(&first.name), own));
    }
    if parts.is_empty() { parts } else { vec![parts.join(", ")] }
}

fn says(names: &[String], status: Status) -> String {
    let (names, are) = (joined(names), if names.len() == 1 { "is" } else { "are" });
    match status {
        Status::Safe => format!("{names} {are} safe"),
        Status::AtRisk => format!("{names} {are} at risk"),
        Status::NotSafe => format!("{names} {are} not safe"),
        Status::Unknown => format!("whether {names} {are} safe is not known"),
    }
}

/// `A`, `A and B`, `A, B and C`.
pub(crate) fn joined(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [front @ .., last] => format!("{} and {last}", front.join(", ")),
    }
}
