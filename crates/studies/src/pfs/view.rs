//! A point of the sweep, in the form that answers, tables, figures and claims use.

use super::Pfs;
use super::observed::{Run, Server};
use super::scenario::Settled;
use towtank_report::human;
use towtank_study::Point;

/// The name of the disks in the table of parts.
pub(crate) const DISKS: &str = "the servers' disks";

/// The name of the routers in the table of parts.
const ROUTERS: &str = "the routers";

/// A point of the sweep.
pub struct View<'a> {
    /// The point as it was stored.
    pub point: &'a Point<'a, Pfs>,
    /// Its scenario.
    pub scenario: &'a Settled,
    /// The settings that distinguish it from the other points; empty without a sweep.
    pub label: String,
}

impl<'a> View<'a> {
    /// The view of a point.
    pub fn of(point: &'a Point<'a, Pfs>) -> View<'a> {
        View { point, scenario: &point.scenario, label: point.label() }
    }

    /// The point in a sentence. A scheduler says by itself what it is: `sfq:8`.
    pub(super) fn said(&self) -> String {
        match self.point.result.settings {
            [(key, value)] if key == "scheduler" => human::setting(value),
            _ => self.point.said(),
        }
    }

    /// The mean of a measure.
    pub fn mean(&self, measure: &str) -> Option<f64> {
        self.point.value(measure)
    }

    /// The run of each replicate.
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        self.point.kept.iter().map(|kept| &kept.run)
    }

    /// Per data server: the busy shares of its disk, of its copying of pages, and of its NIC, sending and
    /// receiving; the jobs at it; and its bytes per second. Means of all replicates.
    pub fn servers(&self) -> Vec<[f64; 6]> {
        let mut all: Vec<[f64; 6]> = Vec::new();
        for run in self.runs() {
            all.resize(all.len().max(run.servers.len()), [0.0; 6]);
            for (sums, one) in all.iter_mut().zip(&run.servers) {
                let rate = if run.measured > 0.0 { one.bytes as f64 / run.measured } else { 0.0 };
                let values = [one.disk, one.memory, one.sent, one.received, one.depth, rate];
                sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            }
        }
        let count = self.point.kept.len().max(1) as f64;
        all.iter_mut().flatten().for_each(|sum| *sum /= count);
        all
    }

    /// The busy share of each part, as a mean of all replicates; the busiest first.
    pub fn parts(&self) -> Vec<(f64, &'static str)> {
        let count = self.point.kept.len().max(1) as f64;
        let of_servers = |value: fn(&Server) -> f64| {
            let of_run =
                |run: &Run| run.servers.iter().map(value).sum::<f64>() / run.servers.len().max(1) as f64;
            self.runs().map(of_run).sum::<f64>() / count
        };
        let of_runs = |value: fn(&Run) -> f64| self.runs().map(value).sum::<f64>() / count;
        let mut parts = vec![
            (of_servers(|one| one.disk), DISKS),
            (of_servers(|one| one.memory), "page copies at the servers"),
            (of_servers(|one| one.sent), "the servers' NICs, sending"),
            (of_servers(|one| one.received), "the servers' NICs, receiving"),
            (of_runs(|run| run.client_cards), "the clients' NICs"),
            (of_runs(|run| run.client_processors), "the clients' CPUs"),
            (of_runs(|run| run.metadata.unwrap_or(0.0)), "the metadata servers"),
        ];
        if self.scenario.network.routers.is_some() {
            let mean = |run: &Run| run.routers.iter().sum::<f64>() / run.routers.len().max(1) as f64;
            parts.push((of_runs(mean), ROUTERS));
        }
        parts.sort_by(|left, right| right.0.total_cmp(&left.0));
        parts
    }
}
