//! A measure at one point, on both sides.

use std::cmp::Ordering;

use serde_json::Value;
use towtank_metrics::{MeanInterval, mean_interval_95, significant_order};
use towtank_report::human::Shown;
use towtank_report::{Measure, Ordered, PointSummary};

use super::Side;
use crate::PointOutcomes;

/// A measure at one point, on both sides.
pub(crate) struct Row {
    pub settings: Ordered<Value>,
    pub label: String,
    pub partial: bool,
    /// The names of both sides.
    pub names: [String; 2],
    pub measure: String,
    pub a: Measure,
    pub b: Measure,
    /// The differences of replicates with the same random numbers.
    pub paired: Option<Paired>,
    /// Whether the digests of the two points are equal, so that each replicate has the same values.
    pub same: bool,
}

/// The result of comparing B with A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Higher,
    Lower,
    /// The same number in every replicate.
    Equal,
    /// The difference may be chance.
    Unclear,
    /// A single replicate allows no statement about chance.
    NoInterval,
    NoValue,
}

impl Verdict {
    /// The word used in tables.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Higher => "higher",
            Self::Lower => "lower",
            Self::Equal => "equal",
            Self::Unclear => "unclear",
            Self::NoInterval => "no interval",
            Self::NoValue => "no value",
        }
    }
}

/// A point of one side.
#[derive(Clone, Copy)]
pub(crate) struct Compared<'a> {
    /// The side.
    pub side: &'a Side,
    /// The number of the point in it.
    pub at: usize,
    /// The point.
    pub point: &'a PointSummary,
}

/// The rows of one point: every measure that both sides have, in the order of the first.
pub(crate) fn rows(a: Compared<'_>, b: Compared<'_>) -> Vec<Row> {
    let Compared { side: side_a, at: at_a, point: point_a } = a;
    let Compared { side: side_b, at: at_b, point: point_b } = b;
    let paired = side_a.report.seed == side_b.report.seed;
    let runs = side_a.points.as_ref().zip(side_b.points.as_ref()).filter(|_| paired);
    let runs = runs.map(|(runs_a, runs_b)| (&runs_a[at_a], &runs_b[at_b]));
    let same = point_a.digest.is_some() && point_a.digest == point_b.digest;
    let common = point_a.summary.iter().filter_map(|(name, a)| Some((name, a, point_b.summary.get(name)?)));
    let row = |(name, a, b): (&String, &Measure, &Measure)| Row {
        settings: point_a.settings.clone(),
        label: point_a.label.clone(),
        partial: point_a.partial || point_b.partial,
        names: [side_a.name.clone(), side_b.name.clone()],
        measure: name.clone(),
        a: a.clone(),
        b: b.clone(),
        paired: runs.filter(|_| a.unit() == b.unit()).and_then(|(a, b)| paired_difference(name, a, b)),
        same,
    };
    common.map(row).collect()
}

/// One unit for a measure in all results.
pub(crate) fn shown(rows: &[&Row]) -> Shown {
    let first = rows.first().map(|row| &row.a);
    let measures = first.into_iter().chain(rows.iter().map(|row| &row.b));
    Shown::column(measures.filter_map(Measure::value), first.map_or("", Measure::unit))
}

/// The differences of replicates with the same random numbers, B minus A.
pub(crate) struct Paired {
    /// Their mean.
    pub mean: MeanInterval,
    /// Which side is larger, where the differences tell that; by the rule for everything that is compared.
    apart: Option<Ordering>,
    /// Whether both sides have the same number in every replicate.
    equal: bool,
}

fn paired_difference(name: &str, a: &PointOutcomes, b: &PointOutcomes) -> Option<Paired> {
    let value = |point: &PointOutcomes, at: usize| point.outcomes[at].measures.get(name)?.value();
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for (at_a, replicate) in a.replicates.iter().enumerate() {
        // Replicates are in ascending order.
        let at_b = b.replicates.binary_search(replicate).ok();
        if let Some(pair) = at_b.and_then(|at_b| value(a, at_a).zip(value(b, at_b))) {
            left.push(Some(pair.0));
            right.push(Some(pair.1));
        }
    }
    let differences: Vec<f64> =
        left.iter().zip(&right).filter_map(|(left, right)| Some((*right)? - (*left)?)).collect();
    Some(Paired {
        mean: mean_interval_95(&differences)?,
        apart: significant_order(&right, &left, 1),
        equal: differences.len() > 1 && differences.iter().all(|difference| *difference == 0.0),
    })
}

impl Row {
    /// Both values, where they have one unit.
    pub(crate) fn both(&self) -> Option<(f64, f64)> {
        self.a.value().zip(self.b.value()).filter(|_| self.a.unit() == self.b.unit())
    }

    /// Whether neither side has a value.
    pub(crate) fn has_no_value_anywhere(&self) -> bool {
        self.a.value().is_none() && self.b.value().is_none()
    }

    /// B minus A.
    pub(crate) fn difference(&self) -> Option<f64> {
        self.both().map(|(a, b)| b - a)
    }

    /// B divided by A; none if A is zero.
    pub(crate) fn ratio(&self) -> Option<f64> {
        self.both().filter(|(a, _)| *a != 0.0).map(|(a, b)| b / a)
    }

    /// Whether the 95 % intervals of the two means overlap.
    pub(crate) fn intervals_overlap(&self) -> Option<bool> {
        self.both()?;
        let ((low_a, high_a), (low_b, high_b)) = self.a.interval().zip(self.b.interval())?;
        Some(low_a <= high_b && low_b <= high_a)
    }

    pub(crate) fn verdict(&self) -> Verdict {
        let Some((a, b)) = self.both() else { return Verdict::NoValue };
        let paired = self.paired.as_ref().filter(|paired| paired.mean.range.is_some());
        if let Some(paired) = paired {
            return match paired.apart {
                _ if paired.equal => Verdict::Equal,
                Some(Ordering::Greater) => Verdict::Higher,
                Some(_) => Verdict::Lower,
                None => Verdict::Unclear,
            };
        }
        match self.intervals_overlap() {
            _ if self.same && a == b => Verdict::Equal,
            Some(true) => Verdict::Unclear,
            Some(false) if b > a => Verdict::Higher,
            Some(false) => Verdict::Lower,
            None if a == b => Verdict::Equal,
            None => Verdict::NoInterval,
        }
    }

    /// The difference with the interval of the paired differences.
    pub(crate) fn difference_measure(&self) -> Measure {
        let unit = self.a.unit();
        let n = self.a.n().min(self.b.n());
        let Some(difference) = self.difference() else {
            return Measure::missing(unit, n, self.why_missing());
        };
        match &self.paired {
            // All replicates of both sides must be paired; otherwise the mean and the interval would be of
            // different replicates.
            Some(Paired { mean: paired, .. }) if paired.count == u64::from(n) && self.a.n() == self.b.n() => {
                let mean = Measure::new(paired.mean, unit, n);
                paired.range.map_or(mean.clone(), |(low, high)| mean.with_interval(low, high))
            }
            _ => Measure::new(difference, unit, n),
        }
    }

    /// The 95 % interval of the paired differences, where it is of all replicates.
    pub(crate) fn difference_range(&self) -> Option<(f64, f64)> {
        self.difference_measure().interval()
    }

    /// Why there is no difference.
    pub(crate) fn why_missing(&self) -> String {
        let [name_a, name_b] = &self.names;
        if self.a.unit() != self.b.unit() {
            return format!("{name_a} is in `{}`, {name_b} in `{}`", self.a.unit(), self.b.unit());
        }
        let reason =
            |side: &str, measure: &Measure| Some(format!("{side} has no value: {}", measure.reason()?));
        reason(name_a, &self.a).or_else(|| reason(name_b, &self.b)).unwrap_or_default()
    }
}
