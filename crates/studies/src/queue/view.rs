//! A point of the sweep, in the form that answers, tables and figures use.

use towtank_metrics::MeanInterval;

use super::Queue;
use super::closed_form::Mmk;
use super::observed::{Observed, ObservedStation, ROWS, count_above_zero};
use super::scenario::Theory;
use crate::Point;
use crate::points::text;

/// With fewer expected waits than this, a mean of waits cannot be judged: a free choice. The number of waits
/// of replicates then varies by a fifth and more, and most replicates may have none.
const WAITS_LEAST: f64 = 20.0;

/// An interval that contains the closed form confirms it only if both ends are within this share of it: a
/// free choice. A wider one would also contain half of the closed form, or one and a half times it.
pub const APART_MOST: f64 = 0.5;

/// Waits that are too few to judge by.
#[derive(Clone, Copy, Debug)]
pub struct RareWaits {
    /// Visits to stations, in all replicates.
    pub visits: u64,
    /// Those that had to wait.
    pub seen: u64,
    /// The share that must wait, by theory.
    pub chance: f64,
    /// The visits among which theory expects enough waits.
    pub enough: f64,
}

/// A count rounded up to two digits, since it is only a guide.
pub fn up_to_two_digits(count: f64) -> f64 {
    let unit = libm::pow(10.0, libm::floor(libm::log10(count.max(1.0))) - 1.0).max(1.0);
    (count / unit).ceil() * unit
}

/// One point, with everything that tables and figures need of it.
pub struct View<'a> {
    /// The point.
    pub point: &'a Point<'a, Queue>,
    /// The closed forms.
    pub theory: Theory,
    /// The merged counts of its replicates.
    pub observed: Observed,
    /// The swept keys with their values: `servers = 2`; empty without a sweep.
    pub label: String,
}

impl<'a> View<'a> {
    pub(super) fn of(point: &'a Point<'a, Queue>) -> Option<View<'a>> {
        let theory = point.scenario.theory()?;
        let mut observed = point.kept.iter().map(|seen| &seen.observed);
        let mut all = observed.next()?.clone();
        observed.for_each(|one| all.merge(one));
        Some(View { point, theory, observed: all, label: label(point.result.settings) })
    }

    /// The mean of a measure over the replicates that have it.
    #[must_use]
    pub fn mean(&self, measure: &str) -> Option<MeanInterval> {
        self.point.mean(measure)
    }

    /// The waits of all replicates, if they are too few to judge a mean of waits by: an interval over
    /// replicates that saw no wait has no width, although it says nothing.
    #[must_use]
    pub fn rare_waits(&self) -> Option<RareWaits> {
        let waits = self.observed.waits();
        let (visits, seen) = (waits.count(), count_above_zero(&waits));
        let chance = self.theory.wait_share();
        let enough = up_to_two_digits(WAITS_LEAST / chance);
        (visits > 0 && (visits as f64) < enough && (seen as f64) < WAITS_LEAST).then_some(RareWaits {
            visits,
            seen,
            chance,
            enough,
        })
    }

    /// Whether the interval of a measure contains its closed form, but is too wide to confirm it.
    #[must_use]
    pub fn is_wide(&self, measure: &str) -> bool {
        let row = ROWS.iter().find(|row| row.name == measure);
        let theory = row.and_then(|row| (row.theory)(&self.theory));
        let range = self.mean(measure).and_then(|mean| mean.range);
        theory.zip(range).is_some_and(|(theory, (low, high))| {
            (low..=high).contains(&theory) && (theory - low).max(high - theory) > APART_MOST * theory
        })
    }

    /// The names of the stations with their closed forms and their counts.
    pub fn stations(&self) -> impl Iterator<Item = (&str, &Mmk, &ObservedStation)> {
        let names = self.point.scenario.stations.keys().map(String::as_str);
        names
            .zip(&self.theory.stations)
            .zip(&self.observed.stations)
            .map(|((name, theory), observed)| (name, theory, observed))
    }
}

/// The swept keys with their values. Only the last part of a key is shown, unless two keys would then be the
/// same.
fn label(settings: &[(String, serde_json::Value)]) -> String {
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    let alone = |key: &str| settings.iter().filter(|(other, _)| last(other) == last(key)).count() == 1;
    let name = |key: &str| if alone(key) { last(key) } else { key.to_owned() };
    let setting = |(key, value): &(String, serde_json::Value)| format!("{} = {}", name(key), text(value));
    settings.iter().map(setting).collect::<Vec<_>>().join(", ")
}
