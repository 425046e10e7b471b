//! Small clusters of every kind: all executors agree, and sums add up.

use towtank_kernel::{Executor, run};
use towtank_negotiation::Protocol;
use towtank_streams::Seed;
use towtank_units::{BitRate, Bytes, Frequency, Percent, Rate};

use super::*;
use crate::counted::Counted;
use crate::nodes::{GatewayTally, ServerTally};
use crate::spec::{Fidelity, Network, Spec};

/// A cluster of six gateways and nine servers.
fn spec(read_percent: u64, racks: u32, fidelity: Fidelity) -> Spec {
    let uplink = (racks > 1).then(|| Rate::from_bytes_per_second(1_000_000_000).expect("above zero"));
    Spec {
        fidelity,
        gateways: 6,
        servers: 9,
        in_flight: 2,
        chunk: Bytes::from_kib(64),
        duration: SimSpan::from_ms(2),
        read_share: Percent::from_percent(read_percent).expect("a share"),
        network: Network { racks, uplink, ..Network::default() },
        ..Spec::default()
    }
}

/// Every kind of cluster, with its protocol.
fn kinds() -> impl Iterator<Item = (Protocol, Spec)> {
    let specs = [
        spec(0, 1, Fidelity::Model),
        spec(40, 1, Fidelity::Model),
        spec(20, 3, Fidelity::Model),
        spec(0, 1, Fidelity::Surge),
        Spec {
            pipelined: true,
            disk_read: Rate::from_bytes_per_second(900 << 20),
            ..spec(40, 1, Fidelity::Model)
        },
        Spec { arrival_rate: Frequency::from_per_second(20_000), ..spec(30, 1, Fidelity::Model) },
    ];
    let each = |protocol: Protocol| specs.clone().into_iter().map(move |spec| (protocol, spec));
    Protocol::ALL.into_iter().flat_map(each).collect::<Vec<_>>().into_iter()
}

fn outcome(cluster: &Cluster, executor: Executor) -> Outcome<Cluster> {
    let workers = if matches!(executor, Executor::Sequential | Executor::Check) { 1 } else { 2 };
    let end = Some(cluster.measured.end);
    run(cluster, RunOptions { seed: Seed(7), end, executor, workers, ..RunOptions::default() })
        .expect("the cluster runs")
}

fn tallies(outcome: &Outcome<Cluster>) -> (GatewayTally, ServerTally) {
    let (mut gateways, mut servers) = (GatewayTally::default(), ServerTally::default());
    for entity in &outcome.entities {
        match entity {
            Entity::Gateway(gateway) => gateways.add(&gateway.tally),
            Entity::Server(server) => servers.add(&server.tally),
            Entity::Rack(_) => {}
        }
    }
    (gateways, servers)
}

#[test]
fn executors_agree() {
    for (protocol, spec) in kinds() {
        let cluster = spec.cluster(protocol, true);
        let first = outcome(&cluster, Executor::Sequential);
        for executor in [Executor::Check, Executor::Conservative, Executor::Optimistic] {
            let other = outcome(&cluster, executor);
            assert_eq!(other.digest, first.digest, "{protocol:?} by {executor:?}: {spec:?}");
            assert_eq!(other.outputs, first.outputs, "{protocol:?} by {executor:?}: {spec:?}");
        }
    }
}

/// Counts equal the nodes' tallies, and each replica has the bytes of a chunk.
#[test]
fn counts_are_what_nodes_have_done() {
    for (protocol, spec) in kinds() {
        let cluster = spec.cluster(protocol, false);
        let outcome = outcome(&cluster, Executor::Sequential);
        let (gateways, servers) = tallies(&outcome);
        let counted = Counted::of_run(&cluster, &outcome).expect("something was measured");
        let total = &counted.total;
        assert!(gateways.done > 0, "{protocol:?} has put nothing: {spec:?}");
        assert!(total.puts <= gateways.done, "{} of {} puts count", total.puts, gateways.done);
        assert!(total.got.count() <= gateways.gets_done, "{} gets count", total.got.count());
        assert!(total.replicas <= servers.replicas, "{} replicas count", total.replicas);
        assert_eq!(servers.bytes_stored, servers.replicas * spec.chunk.get(), "{protocol:?}");
        assert!(
            gateways.acknowledged <= servers.replicas,
            "replicas were acknowledged before they were stored"
        );
        assert!(servers.bytes_received <= gateways.bytes_sent, "bytes came that nobody sent");
        assert!(gateways.bytes_received <= servers.bytes_sent, "bytes came that no server sent");
        assert_eq!((gateways.failed, gateways.gets_failed, servers.bytes_lost), (0, 0, 0), "nothing fails");
        assert_eq!(spec.read_share == Percent::ZERO, gateways.gets_created == 0, "{protocol:?}");
        if spec.fidelity == Fidelity::Model {
            assert_eq!((gateways.violations, servers.violations), (0, 0), "{protocol:?}: {spec:?}");
            assert_eq!(gateways.dropped, 0, "only SURGE drops chunks");
        }
        assert!(counted.operations_per_second() >= 0.0 && counted.seconds <= spec.duration.as_secs_f64());
        assert!((0.0..=1.0).contains(&counted.utilisation) || spec.fidelity == Fidelity::Surge);
        assert_eq!(counted.uplinks.is_some(), spec.network.racks > 1, "uplinks are of racks");
    }
}

#[test]
fn as_many_are_chosen_as_were_asked_for() {
    for all in 1..40 {
        for some in 0..=all {
            let chosen: Vec<u32> = (0..all).filter(|&server| is_among(some, all, server)).collect();
            assert_eq!(chosen.len() as u32, some, "{some} of {all}");
            // Spread evenly: no two gaps differ by more than one.
            let gaps: Vec<u32> = chosen.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let (least, most) = (gaps.iter().min(), gaps.iter().max());
            assert!(most.zip(least).is_none_or(|(most, least)| most - least <= 1), "{chosen:?} of {all}");
        }
    }
}

#[test]
fn frames_make_up_their_chunk() {
    for bytes in [1, 8_999, 9_000, 9_001, 65_536, 1_000_000] {
        let spec = Spec { chunk: Bytes::new(bytes), ..spec(0, 3, Fidelity::Model) };
        for protocol in Protocol::ALL {
            let cluster = spec.cluster(protocol, false);
            let (mut bits, mut last_at, mut lasts) = (0, SimSpan::ZERO, 0);
            cluster.each_frame(Size(0), |after, length, last| {
                assert!(after >= last_at, "a frame goes out before the one ahead of it");
                (bits, last_at, lasts) = (bits + length, after, lasts + u32::from(last));
            });
            assert_eq!((bits, lasts), (bytes * 8, 1), "{bytes} bytes by {protocol:?}");
            let (hop, last_hop) = cluster.hops();
            assert_eq!(hop.saturating_mul(2).saturating_add(last_hop), cluster.terms.fixed.trip);
        }
    }
}

/// Busy intervals at the edge of the measured span count only within it.
#[test]
fn stretches_are_cut_to_what_is_measured() {
    let mut cluster = spec(0, 1, Fidelity::Model).cluster(Protocol::Serial, false);
    let at = SimTime::from_ns;
    cluster.measured = Measured { from: at(100), until: at(200), end: at(200) };
    let within =
        |left: u64, right: u64| cluster.within_measured(Window { left: at(left), right: at(right) }).as_ns();
    assert_eq!([within(0, 100), within(0, 101), within(120, 150)], [0, 1, 30]);
    assert_eq!([within(150, 300), within(200, 300), within(0, 300)], [50, 0, 100]);
    assert!(cluster.counts(at(100)) && cluster.counts(at(200)));
    assert!(!cluster.counts(at(99)) && !cluster.counts(at(201)));
}

#[test]
fn shares_of_a_link_are_stretches_of_the_whole() {
    let rate = BitRate::at_least_one;
    let share = |ns: u64, part: u64, whole: u64| {
        racks::share_of(SimSpan::from_ns(ns), rate(part), rate(whole)).as_ns()
    };
    assert_eq!([share(1_000, 9, 10), share(1_000, 1, 10), share(1_000, 10, 10)], [900, 100, 1_000]);
    assert_eq!(share(1_000, 1, 3), 333, "rounded down");
    assert_eq!(share(u64::MAX, 7, 7), u64::MAX);
}
