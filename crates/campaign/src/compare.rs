//! Compares results with the first of them: what differs, by how much, and whether that is more than chance.
//!
//! Points are paired by their settings, measures by their names. If both campaigns kept their runs and share
//! a seed, replicates are paired too: replicate r of both drew the same random numbers, so the interval of
//! the differences is narrower than that of either mean. Otherwise two means count as different only if their
//! 95 % intervals do not overlap. This is a conservative rule: means whose intervals overlap may still
//! differ.
//!
//! The result is a [`Report`] of the study `compare`, so it is printed, written and gated like any other. Its
//! summary holds the differences: B minus A under the names of the measures; of more than two results, each
//! minus the first one under `name[B]`, `name[C]` and so on.
//!
//! - `against`: one result and the first one;
//! - `settings`: what differs in the scenarios; `main_measures`: by what results are judged;
//! - `finding`, `beside`, `overlay`, `layout`, `notes`: the parts of the report.

mod against;
mod beside;
mod finding;
mod layout;
mod main_measures;
mod notes;
mod overlay;
mod row;
mod settings;
mod side;

use serde_json::{Map, Value};
use towtank_report::{Answer, Label, Measure, Ordered, PointSummary, Report, SweepAxis};

use crate::fingerprint::Fingerprint;
use against::Against;
use main_measures::{Main, main_measures, title_of};
use row::Row;

pub use side::{LoadError, Side, load_side};

/// The most results that are compared at once: one for each letter.
pub(crate) const RESULTS_MAX: usize = 26;

/// So many results have a line that counts what differs; more lines would fill a screen.
const TALLIES_MAX: usize = 3;

/// Why results cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// There are too few or too many.
    #[error(
        "{given} results are given, but 2 to {RESULTS_MAX} can be compared; name a directory or `report.json` for each"
    )]
    Number {
        /// How many there are.
        given: usize,
    },
    /// One is a comparison itself.
    #[error("{name} is a comparison, whose numbers are differences; name the results that it compares")]
    Comparison {
        /// Name of the result.
        name: String,
    },
    /// One has no measure: of `reproduce`, or of a command that simulates nothing.
    #[error(
        "{name}, a report of `{study}`, has no measures to compare; name results of `towtank run` or of a study"
    )]
    NoMeasure {
        /// Name of the result.
        name: String,
        /// What it is a report of.
        study: String,
    },
    /// Two have no point in common.
    #[error(
        "{a} sweeps over {a_axes} and {b} over {b_axes}, and they have no point in common; compare results that share \
         some values"
    )]
    NoCommonPoint {
        /// Name of the first result.
        a: String,
        /// Its sweep axes, in words.
        a_axes: String,
        /// Name of the second result.
        b: String,
        /// Its sweep axes, in words.
        b_axes: String,
    },
    /// Two have no measure in common.
    #[error(
        "{a} is a result of the study `{a_study}` and {b} of `{b_study}`, and they have no measure in common; compare \
         results of one study"
    )]
    NoCommonMeasure {
        /// Name of the first result.
        a: String,
        /// Its study.
        a_study: String,
        /// Name of the second result.
        b: String,
        /// Its study.
        b_study: String,
    },
}

/// Compares results with the first of them. `words` says in words what a key of the scenario is.
///
/// # Errors
/// If there are too few or too many, or one of them has no point or no measure in common with the first.
pub fn compare(sides: &[Side], words: &dyn Fn(&str) -> Option<String>) -> Result<Report, CompareError> {
    let ([first, rest @ ..], 2..=RESULTS_MAX) = (sides, sides.len()) else {
        return Err(CompareError::Number { given: sides.len() });
    };
    sides.iter().try_for_each(may_compare)?;
    let others: Vec<Against<'_>> =
        rest.iter().map(|side| Against::of(first, side)).collect::<Result<_, _>>()?;
    let main = main_measures(first, &others);
    let settings = settings::differing(sides, words);
    let beside = beside::Beside { sides, others: &others, settings: &settings, main: &main };
    let mut tables = vec![beside.table()];
    tables.extend(layout::tables(sides, &others, &settings));
    let overlaid = overlay::overlaid(sides);
    let main_figure = overlaid.first().map(|figure| figure.id.clone());
    let names = Names { several: rest.len() > 1 };
    let mut report = Report {
        study: "compare".to_owned(),
        title: title(sides),
        answer: answer(first, &others, &main),
        main_figure,
        results_version: sides.iter().map(|side| side.report.results_version).max().unwrap_or_default(),
        scenario: scenarios(sides),
        scenario_hash: joint("scenarios", sides.iter().map(|side| side.report.scenario_hash.as_str())),
        seed: first.report.seed,
        replicates: sides.iter().map(|side| side.report.replicates).min().unwrap_or_default(),
        digest: Some(joint(
            "digests",
            sides.iter().map(|side| side.report.digest.as_deref().unwrap_or_default()),
        )),
        partial: sides.iter().any(|side| side.report.partial),
        tables,
        figures: [overlaid, layout::figures(sides, &others, &main)].concat(),
        warnings: notes::notes(sides),
        ..Report::default()
    };
    if first.report.sweep.is_empty() {
        report.summary =
            others.iter().flat_map(|other| names.differences(&other.side.name, &other.rows)).collect();
    } else {
        report.points = names.points(&others);
        report.sweep = common_axes(&first.report.sweep, &report.points);
    }
    (report.titles, report.headline) = names.titles(sides, &others, &main);
    Ok(report)
}

fn may_compare(side: &Side) -> Result<(), CompareError> {
    if side.report.study == "compare" {
        return Err(CompareError::Comparison { name: side.shown() });
    }
    if side.point_summaries().iter().all(|point| point.summary.is_empty()) {
        return Err(CompareError::NoMeasure { name: side.shown(), study: side.report.study.clone() });
    }
    Ok(())
}

/// A point's settings as text, independent of the order of its keys.
fn identity(point: &PointSummary) -> String {
    let mut settings: Vec<String> =
        point.settings.iter().map(|(key, value)| format!("{key:?}={value}")).collect();
    settings.sort();
    settings.join(",")
}

fn no_common_point(a: &Side, b: &Side) -> CompareError {
    let axes = |side: &Side| {
        let keys: Vec<String> = side.report.sweep.iter().map(|axis| format!("`{}`", axis.key)).collect();
        if keys.is_empty() { "nothing".to_owned() } else { keys.join(" and ") }
    };
    CompareError::NoCommonPoint { a: a.shown(), a_axes: axes(a), b: b.shown(), b_axes: axes(b) }
}

fn title(sides: &[Side]) -> String {
    let first = &sides[0].report.title;
    let alike = sides.iter().all(|side| side.report.title == *first);
    let named = |side: &Side| {
        if alike { side.shown() } else { format!("{} ({})", side.report.title, side.shown()) }
    };
    let names = finding::joined(&sides.iter().map(named).collect::<Vec<_>>());
    if alike { format!("{first}: {names} compared") } else { format!("{names} compared") }
}

/// The finding, what is counted, and why main measures are missing.
fn answer(first: &Side, others: &[Against<'_>], main: &[Main]) -> Answer {
    let mut answer = Answer::of(finding::finding(first, others, main.first())).comparing_columns(beside::ID);
    let mut reasons: Vec<String> = Vec::new();
    let sides = std::iter::once(first).chain(others.iter().map(|other| other.side));
    for side in sides {
        for point in side.point_summaries() {
            let missing =
                main.iter().filter_map(|main| Some((main, point.summary.get(&main.name)?.reason()?)));
            // One reason is often that of several measures.
            let Some((main, reason)) = missing.into_iter().next() else { continue };
            let reason = format!("{} has no {}: {reason}", side.name, lower(&main.title));
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
    }
    reasons.into_iter().for_each(|reason| answer.push(Label::Also, reason));
    let counted = others.iter().filter(|other| !other.is_same_as(first) && others.len() <= TALLIES_MAX);
    counted.for_each(|other| answer.push(Label::Also, other.tally(first)));
    answer
}

/// A title within a sentence.
fn lower(title: &str) -> String {
    let mut chars = title.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// The scenarios by letter.
fn scenarios(sides: &[Side]) -> Value {
    let named =
        ('a'..='z').zip(sides).map(|(letter, side)| (letter.to_string(), side.report.scenario.clone()));
    Value::Object(named.collect::<Map<_, _>>())
}

fn joint<'a>(purpose: &str, parts: impl Iterator<Item = &'a str>) -> String {
    parts.fold(Fingerprint::of(purpose), Fingerprint::part).hex()
}

/// The names of differences.
struct Names {
    /// Whether there are more than two results, so that a name says whose difference it is.
    several: bool,
}

impl Names {
    fn of(&self, measure: &str, side: &str) -> String {
        match measure.strip_suffix(']') {
            _ if !self.several => measure.to_owned(),
            // A measure of one of several things already has brackets.
            Some(front) => format!("{front}, {side}]"),
            None => format!("{measure}[{side}]"),
        }
    }

    fn differences<'r>(&self, side: &str, rows: impl IntoIterator<Item = &'r Row>) -> Ordered<Measure> {
        rows.into_iter().map(|row| (self.of(&row.measure, side), row.difference_measure())).collect()
    }

    /// The points that any result has in common with the first, in the order of the first.
    fn points(&self, others: &[Against<'_>]) -> Vec<PointSummary> {
        let mut points: Vec<PointSummary> = Vec::new();
        for other in others {
            for rows in other.rows.chunk_by(|one, next| one.settings == next.settings) {
                let summary = self.differences(&other.side.name, rows);
                match points.iter_mut().find(|point| point.settings == rows[0].settings) {
                    Some(point) => {
                        point.summary.extend(summary);
                        point.partial |= rows[0].partial;
                    }
                    None => points.push(PointSummary {
                        settings: rows[0].settings.clone(),
                        label: rows[0].label.clone(),
                        summary,
                        digest: None,
                        partial: rows[0].partial,
                    }),
                }
            }
        }
        points
    }

    /// The titles of the differences, and the name of the main measure of the first result that differs in
    /// it.
    fn titles(
        &self,
        sides: &[Side],
        others: &[Against<'_>],
        main: &[Main],
    ) -> (Ordered<String>, Option<String>) {
        let mut titles = Ordered::new();
        let a = &sides[0].name;
        for other in others {
            let b = &other.side.name;
            for row in &other.rows {
                let title = title_of(sides.iter(), &row.measure, row.a.unit());
                titles.insert(self.of(&row.measure, b), format!("{title}: {b} minus {a}"));
            }
        }
        let main = main.first().map(|main| main.name.as_str()).unwrap_or_default();
        let differs = |row: &Row| row.difference().is_some_and(|difference| difference != 0.0);
        let first = others.iter().find(|other| other.of_measure(main).any(differs)).or(others.first());
        let headline = first.map(|other| self.of(main, &other.side.name));
        let headline = headline.filter(|name| titles.contains_key(name));
        (titles, headline)
    }
}

/// The axes with the values that some other result has too.
fn common_axes(axes: &[SweepAxis], points: &[PointSummary]) -> Vec<SweepAxis> {
    let used = |axis: &SweepAxis, value: &Value| {
        points.iter().any(|point| point.settings.get(&axis.key) == Some(value))
    };
    let cut = |axis: &SweepAxis| SweepAxis {
        key: axis.key.clone(),
        values: axis.values.iter().filter(|value| used(axis, value)).cloned().collect(),
    };
    axes.iter().map(cut).collect()
}

#[cfg(test)]
mod tests;
