//! A result compared with the first one.

use super::row::{Compared, Row, Verdict, rows};
use super::{CompareError, Side, identity, no_common_point};

/// A result compared with the first one.
pub(crate) struct Against<'a> {
    pub side: &'a Side,
    /// What both have: every measure of every common point.
    pub rows: Vec<Row>,
}

impl<'a> Against<'a> {
    /// Compares a result with the first one.
    pub(crate) fn of(first: &Side, side: &'a Side) -> Result<Against<'a>, CompareError> {
        let (points_a, points_b) = (first.point_summaries(), side.point_summaries());
        let partners: std::collections::BTreeMap<String, usize> =
            points_b.iter().enumerate().map(|(at, point)| (identity(point), at)).collect();
        let pairs: Vec<(usize, usize)> = points_a
            .iter()
            .enumerate()
            .filter_map(|(at, point)| Some((at, *partners.get(&identity(point))?)))
            .collect();
        if pairs.is_empty() {
            return Err(no_common_point(first, side));
        }
        let both = |(at_a, at_b): (usize, usize)| {
            rows(
                Compared { side: first, at: at_a, point: &points_a[at_a] },
                Compared { side, at: at_b, point: &points_b[at_b] },
            )
        };
        let rows: Vec<Row> = pairs.into_iter().flat_map(both).collect();
        if rows.is_empty() {
            return Err(CompareError::NoCommonMeasure {
                a: first.shown(),
                a_study: first.report.study.clone(),
                b: side.shown(),
                b_study: side.report.study.clone(),
            });
        }
        Ok(Against { side, rows })
    }

    /// Whether it is the first result once more. A digest is that of a simulation: what comes before it, such
    /// as the time until a failure is detected, is in values alone.
    pub(crate) fn is_same_as(&self, first: &Side) -> bool {
        let [one, other] = [&first.report, &self.side.report];
        let alike = one.digest.is_some() && one.digest == other.digest;
        alike && one.answer.verdict == other.answer.verdict && self.is_equal()
    }

    /// Whether no value differs.
    pub(crate) fn is_equal(&self) -> bool {
        self.rows.iter().all(|row| row.verdict() == Verdict::Equal || row.has_no_value_anywhere())
    }

    /// The rows of a measure, one for each point.
    pub(crate) fn of_measure<'r>(&'r self, name: &'r str) -> impl Iterator<Item = &'r Row> {
        self.rows.iter().filter(move |row| row.measure == name)
    }

    /// How many values are higher, lower and so on, in words.
    pub(crate) fn tally(&self, first: &Side) -> String {
        let count = |verdict: Verdict| self.rows.iter().filter(|row| row.verdict() == verdict).count();
        let nowhere = self.rows.iter().filter(|row| row.has_no_value_anywhere()).count();
        let parts = [
            (count(Verdict::Higher), "higher"),
            (count(Verdict::Lower), "lower"),
            (count(Verdict::NoInterval), "different"),
            (count(Verdict::Unclear), "tied"),
            (count(Verdict::Equal), "equal"),
            (count(Verdict::NoValue) - nowhere, "without a value on one side"),
            (nowhere, "without a value on both sides"),
        ];
        let words = parts.into_iter().filter(|(count, _)| *count > 0);
        let words: Vec<String> = words.map(|(count, word)| format!("{count} {word}")).collect();
        let values = if self.rows.len() == 1 { "value" } else { "values" };
        let (own, a) = (&self.side.name, &first.name);
        format!("{own} against {a}, of {} {values}: {}", self.rows.len(), words.join(", "))
    }
}
