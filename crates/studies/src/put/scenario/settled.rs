//! A scenario of puts with all defaults filled in.

use serde::{Deserialize, Serialize};
use towtank_negotiation::Protocol;
use towtank_puts::Spec;
use towtank_scenario::did_you_mean;
use towtank_units::{Bytes, Rate, SimSpan};

use super::{Bids, ChunkShare, Faults, Fidelity, Layout, Network, Scenario};

/// The default warm-up and the default of what is measured, in multiples of the latency of a put.
const PUTS: u64 = 10;

/// By default, no more operations are simulated in the warm-up, and as many after it.
const OPERATIONS_MAX: f64 = 1e6;

/// The cluster, and the protocols on it. It is serialised as the scenario with all defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Scenario", into = "Scenario")]
pub struct Settled {
    said: Scenario,
    /// The cluster and its load.
    pub spec: Spec,
    /// The protocols, in the order of the scenario.
    pub protocols: Vec<Protocol>,
}

impl Settled {
    /// Fills in all defaults.
    pub(super) fn of(mut said: Scenario, protocols: Vec<Protocol>) -> Settled {
        let idle = said.idle_put();
        let surge = said.fidelity == Fidelity::Surge;
        let or_none = |span: SimSpan| if surge { SimSpan::ZERO } else { span };
        let loaded = said.lasting(idle);
        let warm_up = *said.warm_up.get_or_insert(or_none(loaded));
        let start_spread = *said.start_spread.get_or_insert(or_none(idle));
        let measured = SimSpan::from_ms(or_none(loaded).as_ns() / 1_000_000).max(Spec::default().duration);
        let duration = *said.duration.get_or_insert(measured);
        let spec = said.spec(duration, warm_up, start_spread);
        Settled { said, spec, protocols }
    }

    /// Whether racks have links to the core.
    #[must_use]
    pub(crate) fn has_uplinks(&self) -> bool {
        self.said.network.racks > 1
    }

    /// A rough estimate of the time of a put of the largest chunk on idle nodes.
    #[must_use]
    pub(crate) fn idle_put(&self) -> SimSpan {
        self.said.idle_put()
    }
}

impl TryFrom<Scenario> for Settled {
    type Error = String;

    fn try_from(said: Scenario) -> Result<Settled, String> {
        let protocols = protocols(&said.protocol).map_err(|(message, _)| message)?;
        Ok(Settled::of(said, protocols))
    }
}

impl From<Settled> for Scenario {
    fn from(settled: Settled) -> Scenario {
        settled.said
    }
}

/// Parses a list of protocols, separated by commas.
///
/// # Errors
/// What is wrong with it, and what to write instead.
pub(super) fn protocols(text: &str) -> Result<Vec<Protocol>, (String, String)> {
    let mut list: Vec<Protocol> = Vec::new();
    for name in text.split(',').map(str::trim) {
        let Some(protocol) = Protocol::ALL.into_iter().find(|protocol| protocol.name() == name) else {
            let names = || Protocol::ALL.into_iter().map(Protocol::name);
            let hint = did_you_mean(name, names())
                .unwrap_or_else(|| format!("the protocols are {}", names().collect::<Vec<_>>().join(", ")));
            return Err((format!("there is no protocol called `{name}`"), hint));
        };
        if list.contains(&protocol) {
            return Err((format!("`protocol` names {name} twice"), "name each protocol once".to_owned()));
        }
        list.push(protocol);
    }
    Ok(list)
}

impl Scenario {
    /// A rough estimate of the time of a put of the largest chunk on idle nodes: its data once over the link
    /// and once per replica to the disk. In whole microseconds, to be readable.
    fn idle_put(&self) -> SimSpan {
        let largest = self.sizes().into_iter().max().unwrap_or(self.chunk);
        let writes = self.slowest_disk().span_for(largest).saturating_mul(u64::from(self.replicas));
        let all = self.network.link.span_for(largest).saturating_add(writes);
        SimSpan::from_ns(all.as_ns().div_ceil(1_000).saturating_mul(1_000))
    }

    /// A default length of the run in which gateways do as many operations at once as they may: ten times
    /// the time of each, by Little's law at the rate that the disks allow, if that is no more than a million
    /// operations; and at least ten times a put on idle nodes. In whole microseconds.
    fn lasting(&self, idle: SimSpan) -> SimSpan {
        let reads = self.read_share.fraction_f64();
        let speed = |rate: Rate| rate.bytes_per_second() as f64;
        let read = speed(self.disk) / speed(self.disk_read.unwrap_or(self.disk));
        // What an operation costs a disk, in writes of a chunk.
        let writes = reads * read + (1.0 - reads) * f64::from(self.replicas);
        let largest = self.sizes().into_iter().max().unwrap_or(self.chunk);
        let write = self.slowest_disk().span_for(largest).as_secs_f64();
        let at_once = f64::from(self.gateways) * f64::from(self.in_flight);
        let operations = (PUTS as f64 * at_once).min(OPERATIONS_MAX);
        let lasting = operations * writes * write / f64::from(self.servers.max(1));
        let micros = (lasting * 1e6).ceil().min(u64::MAX as f64 / 1e6) as u64;
        SimSpan::from_ns(micros.saturating_mul(1_000)).max(idle.saturating_mul(PUTS))
    }

    fn slowest_disk(&self) -> Rate {
        if self.faults.slow_servers > 0 { self.disk.min(self.faults.slow_disk) } else { self.disk }
    }

    /// Sizes of chunks, the main one first.
    #[must_use]
    pub fn sizes(&self) -> Vec<Bytes> {
        std::iter::once(self.chunk).chain(self.other_chunks.iter().map(|other| other.chunk)).collect()
    }

    /// The cluster of the scenario, with these spans.
    fn spec(&self, duration: SimSpan, warm_up: SimSpan, start_spread: SimSpan) -> Spec {
        let other = |other: &ChunkShare| towtank_puts::ChunkShare { chunk: other.chunk, share: other.share };
        Spec {
            fidelity: match self.fidelity {
                Fidelity::Model => towtank_puts::Fidelity::Model,
                Fidelity::Surge => towtank_puts::Fidelity::Surge,
            },
            gateways: self.gateways,
            servers: self.servers,
            replicas: self.replicas,
            group: self.group,
            chunk: self.chunk,
            other_chunks: self.other_chunks.iter().map(other).collect(),
            disk: self.disk,
            disk_read: self.disk_read,
            duration,
            warm_up,
            start_spread,
            in_flight: self.in_flight,
            arrival_rate: self.arrival_rate,
            pipelined: self.pipelined,
            read_share: self.read_share,
            known_share: self.known_share,
            capacity: self.capacity,
            network: self.network.spec(),
            bids: self.bids.spec(),
            faults: self.faults.spec(),
        }
    }
}

impl Network {
    fn spec(&self) -> towtank_puts::Network {
        towtank_puts::Network {
            link: self.link,
            overhead: self.overhead,
            data_share: self.data_share,
            trip: self.trip,
            racks: self.racks,
            uplink: self.uplink,
            layout: match self.layout {
                Layout::Spread => towtank_puts::Layout::Spread,
                Layout::Blocks => towtank_puts::Layout::Blocks,
            },
            frame: self.frame,
            control_unicast: self.control_unicast,
            control_replicast: self.control_replicast,
            bucket_spare: self.bucket_spare,
            request_rate: self.request_rate,
            aimd_step: self.aimd_step,
            aimd_look: self.aimd_look,
        }
    }
}

impl Bids {
    fn spec(&self) -> towtank_puts::Bids {
        towtank_puts::Bids {
            extension_m: self.extension_m,
            extension_h: self.extension_h,
            lead: self.lead,
            gap: self.gap,
            keep_holes: self.keep_holes,
            queue: self.queue,
            queue_chunks: self.queue_chunks,
        }
    }
}

impl Faults {
    fn spec(&self) -> towtank_puts::Faults {
        towtank_puts::Faults {
            slow_servers: self.slow_servers,
            slow_disk: self.slow_disk,
            failed_servers: self.failed_servers,
            fail_at: self.fail_at,
            bid_timeout: self.bid_timeout,
            ack_timeout: self.ack_timeout,
        }
    }
}
