//! A point of the sweep, in the form that answers, tables, figures and claims use.

use super::Backfill;
use super::observed::{Run, prefix};
use super::scenario::{Discovery, Settled};
use towtank_study::Point;
use towtank_study::ranking::by_replicate;

/// One point.
pub struct View<'a> {
    pub(super) point: &'a Point<'a, Backfill>,
    /// Its scenario.
    pub scenario: &'a Settled,
    /// The settings that distinguish it from the other points; empty without a sweep.
    pub label: String,
}

impl<'a> View<'a> {
    pub(super) fn of(point: &'a Point<'a, Backfill>) -> View<'a> {
        View { point, scenario: &point.scenario, label: point.label() }
    }

    /// The names of its discoveries.
    pub fn methods(&self) -> Vec<&'static str> {
        self.scenario.methods().into_iter().map(Discovery::name).collect()
    }

    /// The values of a measure of a discovery, one per replicate that has it.
    #[must_use]
    pub fn values(&self, method: &str, measure: &str) -> Vec<f64> {
        self.point.values(&self.name_of(method, measure).unwrap_or_default())
    }

    /// The mean of those values.
    #[must_use]
    pub fn mean(&self, method: &str, measure: &str) -> Option<f64> {
        self.point.value(&self.name_of(method, measure)?)
    }

    /// The values of a measure of a discovery by replicate, to be compared in pairs.
    #[must_use]
    pub(crate) fn by_replicate(&self, method: &str, measure: &str) -> Vec<Option<f64>> {
        by_replicate(self.point.result, &self.name_of(method, measure).unwrap_or_default())
    }

    /// The name of a measure of a discovery; `None` if the discovery was not asked for. The measures of a
    /// single one have no prefix.
    fn name_of(&self, method: &str, measure: &str) -> Option<String> {
        let methods = self.methods();
        let prefix = if methods.len() == 1 { String::new() } else { prefix(method) };
        methods.contains(&method).then(|| format!("{prefix}{measure}"))
    }

    /// The runs of a discovery.
    pub fn runs(&self, method: &'static str) -> impl Iterator<Item = &Run> {
        self.point
            .kept
            .iter()
            .flat_map(move |kept| kept.runs.iter().filter(move |run| run.discovery == method))
    }
}
