//! A point of the sweep, as answers, tables, figures and claims show it.

use super::Backfill;
use super::observed::{Run, prefix};
use super::scenario::{Discovery, Settled};
use crate::Point;

/// One point.
pub struct View<'a> {
    pub(super) point: &'a Point<'a, Backfill>,
    /// Its scenario.
    pub scenario: &'a Settled,
    /// What tells it from the others; empty without a sweep.
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

    /// The values of a measure of a discovery, one for each replicate that has it.
    #[must_use]
    pub fn values(&self, method: &str, measure: &str) -> Vec<f64> {
        self.point.values(&self.name_of(method, measure))
    }

    /// Their mean.
    #[must_use]
    pub fn mean(&self, method: &str, measure: &str) -> Option<f64> {
        self.point.value(&self.name_of(method, measure))
    }

    fn name_of(&self, method: &str, measure: &str) -> String {
        if self.methods().len() == 1 { measure.to_owned() } else { format!("{}{measure}", prefix(method)) }
    }

    /// The runs of a discovery.
    pub fn runs(&self, method: &'static str) -> impl Iterator<Item = &Run> {
        self.point
            .kept
            .iter()
            .flat_map(move |kept| kept.runs.iter().filter(move |run| run.discovery == method))
    }
}
