//! Rates and shares computed from the nodes' counts.

use towtank_kernel::Outcome;

use crate::cluster::Cluster;
use crate::counts::Counts;
use crate::nodes::Entity;

/// The numbers of one run of a protocol.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The counts of all nodes.
    pub total: Counts,
    /// Whether the protocol negotiates.
    pub negotiates: bool,
    /// Whether some chunks are read.
    pub reads: bool,
    /// The fraction of time that disks are busy, mean over all servers, with those that store nothing.
    pub utilisation: f64,
    /// The utilisation of the racks' uplinks, mean of both directions; none if the core is not
    /// oversubscribed.
    pub uplinks: Option<f64>,
    /// The length of the span in which puts and gets are counted.
    pub seconds: f64,
    /// Chunks that waited at the gateways when the run ended.
    pub waiting: u64,
    /// The digest of the run.
    pub digest: String,
}

impl Counted {
    /// The numbers of a run; none if it was stopped before the end of the warm-up.
    #[must_use]
    pub fn of_run(cluster: &Cluster, run: &Outcome<Cluster>) -> Option<Counted> {
        let until = if run.partial { run.now.min(cluster.measured.until) } else { cluster.measured.until };
        let elapsed = until.checked_since(cluster.measured.from).filter(|span| !span.is_zero())?;
        // SURGE counts up to 0.99 of the run, but divides by all of it.
        let end = if run.partial { until } else { cluster.measured.end };
        let seconds = end.checked_since(cluster.measured.from)?.as_secs_f64();
        let busy = |busy_ns: u64| {
            if cluster.surge {
                let percent = (busy_ns + 5) * 100 / elapsed.as_ns();
                percent.min(100) as f64 / 100.0
            } else {
                busy_ns as f64 / elapsed.as_ns() as f64
            }
        };
        let (gateways, servers) = (cluster.gateways as usize, cluster.terms.fixed.servers as usize);
        // Work accepted before a run was stopped that would have been done later does not count.
        let ahead =
            |entity: &Entity| if run.partial { cluster.busy_after(entity, run.now).as_ns() } else { 0 };
        let nodes = run.statistics[gateways..].iter().zip(&run.entities[gateways..]);
        let nodes: Vec<u64> =
            nodes.map(|(counts, entity)| counts.busy_ns.saturating_sub(ahead(entity))).collect();
        let (servers, racks) = nodes.split_at(servers);
        let utilisation = servers.iter().copied().map(busy).sum::<f64>() / f64::from(cluster.servers);
        // Each rack's uplink counts both directions.
        let carried = racks.iter().sum::<u64>() as f64;
        let uplinks =
            (!racks.is_empty()).then(|| carried / (2 * racks.len()) as f64 / elapsed.as_ns() as f64);
        let most = if cluster.quirks.work_counts_early { f64::INFINITY } else { 1.0 };
        assert!((0.0..=most).contains(&utilisation), "disks are busy {utilisation} of their time");
        assert!(uplinks.is_none_or(|busy| (0.0..=1.0).contains(&busy)), "uplinks are busy for {uplinks:?}");
        assert!(seconds > 0.0, "nothing was measured in {seconds} s");
        let waits = |entity: &Entity| match entity {
            Entity::Gateway(gateway) => gateway.waiting.len() as u64,
            _ => 0,
        };
        let waiting = run.entities.iter().map(waits).sum();
        let (total, digest) = (run.merged_statistics(), run.digest.to_string());
        let (negotiates, reads) = (cluster.terms.fixed.protocol.negotiates(), cluster.read_share > 0);
        assert!(total.puts <= total.latencies.count(), "{} puts have no latency", total.puts);
        assert!(total.undecided <= total.requests, "more bids were undecided than asked for");
        assert!(reads || total.got.count() == 0, "{} gets of nobody", total.got.count());
        assert!(negotiates || total.requests == 0, "{} requests for no bids", total.requests);
        Some(Counted { total, negotiates, reads, utilisation, uplinks, seconds, waiting, digest })
    }

    /// Puts and gets that succeeded per second.
    #[must_use]
    pub fn operations_per_second(&self) -> f64 {
        let rate = (self.total.puts + self.total.got.count()) as f64 / self.seconds;
        assert!(rate.is_finite() && rate >= 0.0, "{rate} operations ended a second");
        rate
    }
}
