//! A point of the sweep, in the form that answers, tables and figures use.

use towtank_metrics::MeanInterval;

use super::Queue;
use super::closed_form::Mmk;
use super::observed::{Observed, ObservedStation};
use super::scenario::Theory;
use crate::Point;
use crate::points::text;

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
