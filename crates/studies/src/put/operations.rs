//! The cluster of puts for another study: operations a second, puts and gets together.

use towtank_negotiation::Protocol;
use towtank_units::{Bytes, Percent, Rate, SimSpan, SimTime};

use super::observed::Counted;
use super::scenario::Scenario;
use crate::{RunContext, StudyError};

/// What is asked of the cluster; all else is as `towtank put` has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operations {
    /// The protocol.
    pub protocol: Protocol,
    /// Gateways, and as many servers.
    pub nodes: u32,
    /// Copies of each chunk.
    pub replicas: u32,
    /// The size of a chunk.
    pub chunk: Bytes,
    /// How fast a disk is.
    pub disk: Rate,
    /// Each node's link.
    pub link: Rate,
    /// From node to node.
    pub trip: SimSpan,
    /// Chunks under way at each gateway.
    pub in_flight: u32,
    /// The share of them that are read.
    pub read_share: Percent,
    /// What is thrown away.
    pub warm_up: SimSpan,
    /// What is measured.
    pub duration: SimSpan,
}

/// What came of it.
pub(crate) struct Done {
    /// Puts and gets a second; nothing if it was stopped before anything was measured.
    pub per_second: Option<f64>,
    /// Events committed.
    pub events: u64,
    /// The digest of the run.
    pub digest: String,
    /// Whether it was stopped.
    pub partial: bool,
}

impl Operations {
    fn scenario(&self) -> Scenario {
        let scenario = Scenario {
            protocol: self.protocol.name().to_owned(),
            gateways: self.nodes,
            servers: self.nodes,
            replicas: self.replicas,
            chunk: self.chunk,
            disk: self.disk,
            in_flight: self.in_flight,
            read_share: self.read_share,
            duration: self.duration,
            warm_up: Some(self.warm_up),
            start_spread: Some(self.warm_up),
            ..Scenario::default()
        };
        scenario.on_links(self.link, self.trip)
    }

    /// About how much memory it takes. Nothing is drawn of it.
    pub(crate) fn memory_estimate(&self) -> Bytes {
        super::memory::of_run(&self.scenario(), self.protocol)
    }

    /// Runs it.
    ///
    /// # Errors
    /// When the model fails.
    pub(crate) fn run(&self, context: &RunContext<'_>) -> Result<Done, StudyError> {
        let scenario = self.scenario();
        let cluster = scenario.cluster(self.protocol, false);
        let end = SimTime::from_ns(cluster.measured.end.as_ns().saturating_add(1));
        let run = context.simulate(&cluster, Some(end))?;
        let per_second = Counted::of_run(&cluster, &run).map(|counted| counted.operations_per_second());
        let digest = run.digest.to_string();
        Ok(Done { per_second, events: run.run.committed, digest, partial: run.partial })
    }
}
