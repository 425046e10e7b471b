//! A point of the sweep, as answers, tables, figures and claims show it.

use super::Pfs;
use super::observed::{Run, Server};
use super::scenario::Settled;
use crate::Point;

/// What the table of parts calls the disks.
pub const DISKS: &str = "the servers' disks";

/// A point of the sweep.
pub struct View<'a> {
    /// As it was stored.
    pub point: &'a Point<'a, Pfs>,
    /// Its scenario.
    pub scenario: &'a Settled,
    /// What tells it from the others; empty without a sweep.
    pub label: String,
}

impl<'a> View<'a> {
    /// A point as it was read back.
    pub fn of(point: &'a Point<'a, Pfs>) -> View<'a> {
        View { point, scenario: &point.scenario, label: point.label() }
    }

    /// The mean of a measure.
    pub fn mean(&self, measure: &str) -> Option<f64> {
        self.point.value(measure)
    }

    /// What each replicate came to.
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        self.point.kept.iter().map(|kept| &kept.run)
    }

    /// Of each data server: how busy its disk, its copying of pages and its card, sending and receiving,
    /// are, the jobs at it, and its bytes a second; means of all replicates.
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

    /// How much of the time each part is busy, mean of all replicates; the busiest first.
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
            (of_servers(|one| one.memory), "copying pages at the servers"),
            (of_servers(|one| one.sent), "the servers' cards, sending"),
            (of_servers(|one| one.received), "the servers' cards, receiving"),
            (of_runs(|run| run.client_cards), "the clients' cards"),
            (of_runs(|run| run.client_processors), "the clients' processors"),
            (of_runs(|run| run.metadata.unwrap_or(0.0)), "the metadata servers"),
        ];
        parts.sort_by(|left, right| right.0.total_cmp(&left.0));
        parts
    }
}
