//! One protocol at one point: its replicates, in the form that tables, figures and claims use.

use towtank_metrics::{Histogram, MeanInterval};
use towtank_negotiation::Protocol;
use towtank_report::human;
use towtank_units::Percent;

use super::Put;
use super::observed::{Kept, Observed, prefix};
use super::scenario::Settled;
use towtank_study::points;
use towtank_study::ranking::by_replicate;
use towtank_study::{Point, PointResult};

/// One protocol at one point, with everything that the report shows of it.
pub struct View<'a> {
    /// The point.
    pub result: &'a PointResult<'a>,
    /// The scenario.
    pub settled: &'a Settled,
    /// The protocol.
    pub protocol: Protocol,
    /// The counts of its replicates; the first one has the events for the figures.
    pub observed: Vec<&'a Observed>,
    /// The swept keys with their values; empty without a sweep.
    pub label: String,
}

impl<'a> View<'a> {
    /// One view per protocol that ran.
    #[must_use]
    pub(super) fn all_of(point: &'a Point<'a, Put>) -> Vec<View<'a>> {
        let of = |protocol: Protocol| {
            let read = |kept: &'a Kept| kept.observed.get(protocol.name());
            let observed: Vec<&Observed> = point.kept.iter().filter_map(read).collect();
            let (result, settled) = (point.result, &point.scenario);
            let label = label(result.settings);
            (!observed.is_empty()).then_some(View { result, settled, protocol, observed, label })
        };
        point.scenario.protocols.iter().copied().filter_map(of).collect()
    }

    /// The mean of a measure over the replicates that have it.
    #[must_use]
    pub fn mean(&self, measure: &str) -> Option<MeanInterval> {
        points::mean_of::<Put>(self.result, &self.name_of(measure))
    }

    /// The values of a measure, of each replicate that has it.
    #[must_use]
    pub fn values(&self, measure: &str) -> Vec<f64> {
        points::values(self.result, &self.name_of(measure))
    }

    fn name_of(&self, measure: &str) -> String {
        let alone = self.settled.protocols.len() == 1;
        if alone { measure.to_owned() } else { format!("{}{measure}", prefix(self.protocol)) }
    }

    /// The values of a measure by replicate, to be compared in pairs.
    #[must_use]
    pub(crate) fn by_replicate(&self, measure: &str) -> Vec<Option<f64>> {
        by_replicate(self.result, &self.name_of(measure))
    }

    /// The standard deviation of single replicates; 0 if there are fewer than two.
    #[must_use]
    pub(crate) fn deviation(&self, measure: &str) -> f64 {
        let values = self.values(measure);
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        (squares / (values.len().max(2) - 1) as f64).sqrt()
    }

    /// A quantile of the latencies of puts, in nanoseconds, of each replicate that stored anything.
    #[must_use]
    pub fn quantiles(&self, q: f64) -> Vec<f64> {
        let of = |observed: &&Observed| observed.latencies.quantile(q).map(|estimate| estimate.value);
        self.observed.iter().filter_map(of).collect()
    }

    /// Latencies of puts of all replicates, in nanoseconds.
    #[must_use]
    pub fn latencies(&self) -> Histogram {
        let mut all = Histogram::new();
        self.observed.iter().for_each(|observed| all.merge(&observed.latencies));
        all
    }

    /// Latencies of gets, of all replicates, in nanoseconds.
    #[must_use]
    pub fn got(&self) -> Histogram {
        let mut all = Histogram::new();
        self.observed.iter().for_each(|observed| all.merge(&observed.got));
        all
    }

    /// The length of the measured span of each replicate, in seconds: shorter than `duration` where it was
    /// stopped.
    #[must_use]
    pub(super) fn spans_s(&self) -> Vec<f64> {
        let asked = self.settled.spec.duration.as_secs_f64();
        self.observed.iter().map(|one| one.stopped_after_s.unwrap_or(asked)).collect()
    }

    /// Whether chunks are read.
    #[must_use]
    pub fn reads(&self) -> bool {
        self.settled.spec.read_share > Percent::ZERO
    }

    /// The name of the view in a sentence: `replicast-m, uplink 10GB/s`.
    pub(super) fn said(&self) -> String {
        let own = std::iter::once(self.protocol.name().to_owned());
        let others = human::settings(&other_settings(self.result.settings));
        own.chain(Some(others).filter(|others| !others.is_empty())).collect::<Vec<_>>().join(", ")
    }

    /// The name of the view: its protocol and its label.
    #[must_use]
    pub fn name(&self) -> String {
        match self.label.as_str() {
            "" => self.protocol.name().to_owned(),
            label => format!("{}, {label}", self.protocol.name()),
        }
    }
}

/// The swept keys without the protocol, which is shown anyway.
fn other_settings(settings: &[(String, serde_json::Value)]) -> Vec<(String, serde_json::Value)> {
    settings.iter().filter(|(key, _)| key != "protocol").cloned().collect()
}

/// The swept keys with their values, without the protocol.
fn label(settings: &[(String, serde_json::Value)]) -> String {
    let setting = |(key, value): &(String, serde_json::Value)| format!("{key} = {}", points::text(value));
    other_settings(settings).iter().map(setting).collect::<Vec<_>>().join(", ")
}
