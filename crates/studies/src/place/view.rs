//! A point as the answer, the tables and the figures of `place` see it.

use towtank_metrics::MeanInterval;
use towtank_placement::algorithms::{Arrangement, Placement};

use super::Place;
use super::observed::Observed;
use towtank_study::Point;
use towtank_study::points::text;

/// One point with its label.
pub(super) struct View<'a> {
    pub(super) point: &'a Point<'a, Place>,
    pub(super) label: String,
}

impl<'a> View<'a> {
    pub(super) fn of(point: &'a Point<'a, Place>) -> Self {
        let setting = |(key, setting): &(String, serde_json::Value)| match key.as_str() {
            "algorithm" => text(setting),
            _ => format!("{key} = {}", text(setting)),
        };
        let label = match point.result.settings {
            [] => point.scenario.algorithm.name().to_owned(),
            settings => settings.iter().map(setting).collect::<Vec<_>>().join(", "),
        };
        Self { point, label }
    }

    pub(super) fn mean(&self, measure: &str) -> Option<MeanInterval> {
        self.point.mean(measure)
    }

    pub(super) fn value(&self, measure: &str) -> Option<f64> {
        self.point.value(measure)
    }

    pub(super) fn observed(&self) -> impl Iterator<Item = &Observed> {
        self.point.kept.iter().map(|kept| &kept.observed.counted)
    }

    /// The algorithm as it is before the change, with some seed.
    pub(super) fn placement(&self) -> Option<Box<dyn Placement>> {
        let scenario = &self.point.scenario;
        let with = Arrangement {
            vnodes: scenario.vnodes(),
            groups: 1,
            slots: scenario.slots(),
            replicas: scenario.replicas as usize,
            seed: 1,
        };
        scenario.algorithm.set_up(&scenario.cluster(), &with).ok()
    }
}
