//! The assertions, checked against clusters, nodes and runs broken on purpose.

use std::panic::{AssertUnwindSafe, catch_unwind};

use towtank_kernel::{EntityId, Model, RunOptions, run};
use towtank_negotiation::{GatewayId, Message, Peer, Protocol, PutId, ServerId, Step, Window};
use towtank_streams::{Draws, Purpose, Seed};
use towtank_units::{BitRate, Bytes, Frequency, Percent, Rate, SimSpan};

use super::super::{is_among, racks};
use super::*;
use crate::counted::Counted;
use crate::counts::{Counts, Sample};
use crate::nodes::Wish;
use crate::spec::{ChunkShare, Fidelity, Network, Spec};

fn cluster(protocol: Protocol, racks: u32, fidelity: Fidelity) -> Cluster {
    let uplink = (racks > 1).then(|| Rate::from_bytes_per_second(1_000_000_000).unwrap());
    let spec = Spec {
        fidelity,
        gateways: 4,
        servers: 9,
        in_flight: 2,
        duration: SimSpan::from_ms(2),
        network: Network { racks, uplink, ..Network::default() },
        ..Spec::default()
    };
    spec.cluster(protocol, false)
}

fn complaint<T>(what: &str, act: impl FnOnce() -> T) -> String {
    let Err(payload) = catch_unwind(AssertUnwindSafe(act)) else { panic!("nothing notices: {what}") };
    let message = payload.downcast_ref::<String>().cloned();
    message.or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned())).expect("panics say why")
}

fn check<T>(words: &str, act: impl FnOnce() -> T) {
    let message = complaint(words, act);
    assert!(message.contains(words), "{words}: {message}");
}

type Damage<T> = fn(&mut T);

const CLUSTERS: &[(&str, Damage<Cluster>)] = &[
    ("there are no gateways", |one| one.gateways = 0),
    ("nothing at once", |one| one.in_flight = 0),
    ("what counts ends at", |one| one.measured.from = SimTime::from_ns(u64::MAX)),
    ("what counts ends after", |one| one.measured.until = SimTime::from_ns(u64::MAX)),
    ("puts are drawn after", |one| one.traced.puts_until = SimTime::from_ns(u64::MAX)),
    ("arrives when it is sent", |one| one.terms.fixed.trip = SimSpan::ZERO),
    ("has no replicas", |one| one.terms.fixed.replicas = 0),
    ("10 replicas, 9 servers", |one| one.terms.fixed.replicas = 10),
    ("each server has a disk", |one| one.terms.fixed.disk_of.clear()),
    ("a disk is of no kind", |one| one.terms.fixed.disk_of[0] = 7),
    ("10 of 9 servers fail", |one| one.failures.0 = 10),
    ("3 replicas, groups of 2", |one| one.terms.fixed.group = 2),
    ("some servers are in no group", |one| one.terms.fixed.group = 4),
    ("each size has its share", |one| one.shares.push(u64::MAX)),
    ("some chunks have no size", |one| one.shares[0] = 1),
    ("a disk writes each size", |one| one.terms.disks[0].writes.clear()),
    ("a disk reads each size", |one| one.terms.disks[0].reads.clear()),
    ("a chunk has no bytes", |one| one.terms.sizes[0].bytes = Bytes::ZERO),
    ("has no frames", |one| one.terms.sizes[0].frames = 0),
    ("is empty", |one| one.terms.sizes[0].last_bits = 0),
    ("is too long", |one| one.terms.sizes[0].last_bits = 1 << 40),
    ("do not make it up", |one| one.terms.sizes[0].last_bits -= 8),
    ("takes longer than others", |one| one.terms.sizes[0].last = SimSpan::from_secs(1)),
    ("takes more than its bid", |one| one.terms.sizes[0].bid = SimSpan::ZERO),
    ("may wait for a disk", |one| one.terms.sizes[0].queue = 0),
    ("have nothing to cross", |one| one.racks.as_mut().expect("there are racks").count = 1),
    ("10 racks, 9 servers", |one| one.racks.as_mut().expect("there are racks").count = 10),
    ("data have more", |one| {
        one.racks.as_mut().expect("there are racks").data = BitRate::at_least_one(u64::MAX)
    }),
    ("control messages have more", |one| {
        one.racks.as_mut().expect("there are racks").control = BitRate::at_least_one(u64::MAX)
    }),
];

#[test]
fn requests_above_their_rate_are_noticed() {
    let network = Network { request_rate: Frequency::from_per_second(1_000), ..Network::default() };
    let cluster = Spec { network, ..Spec::default() }.cluster(Protocol::ReplicastM, false);
    assert_eq!(cluster.request_gap, Some(SimSpan::from_ms(1)));
    let mut entity = cluster.create(EntityId(0));
    let Entity::Gateway(gateway) = &mut entity else { panic!("gateways come first") };
    gateway.tally.requests = 3;
    gateway.requests_from = SimTime::from_ns(3_000_000);
    cluster.assert_node(&entity, SimTime::from_ns(3_000_000));
    let Entity::Gateway(gateway) = &mut entity else { panic!("gateways come first") };
    gateway.tally.requests = 4;
    check("exceed their rate", || cluster.assert_node(&entity, SimTime::from_ns(3_000_000)));
}

/// The smallest capacity at which a server with one reservation is sound is that of one chunk.
#[test]
fn room_that_is_not_there_is_noticed() {
    let of = |capacity: u64| {
        let spec = Spec { capacity: Some(Bytes::new(capacity)), ..Spec::default() };
        spec.cluster(Protocol::ReplicastM, false)
    };
    let (enough, short) = (of(128 << 10), of((128 << 10) - 1));
    let put = PutId { gateway: GatewayId(0), number: 0 };
    let mut entity = enough.create(EntityId(enough.gateways));
    hear(
        &enough,
        &mut entity,
        Message::Request { put, size: Size(0), chunk: None, round: 1, from: SimTime::ZERO },
    );
    enough.assert_node(&entity, SimTime::ZERO);
    check("bytes are reserved or stored", || short.assert_node(&entity, SimTime::ZERO));
}

/// A server that holds a chunk, as one that has bid for it nevertheless.
#[test]
fn a_holder_that_bids_is_noticed() {
    let cluster = Spec::default().cluster(Protocol::ReplicastM, false);
    let chunk = towtank_negotiation::ChunkName(7);
    let holder = cluster.terms.holders(chunk)[0];
    let put = PutId { gateway: GatewayId(0), number: 0 };
    let request = |chunk| Message::Request { put, size: Size(0), chunk, round: 1, from: SimTime::ZERO };
    let mut entity = cluster.create(EntityId(cluster.gateways + holder.0));
    hear(&cluster, &mut entity, request(Some(chunk)));
    let Entity::Server(server) = &entity else { panic!("then come servers") };
    cluster.assert_no_holder_bids(holder, server, &request(Some(chunk)));
    hear(&cluster, &mut entity, request(None));
    let Entity::Server(server) = &entity else { panic!("then come servers") };
    check("holds the chunk and bids", || {
        cluster.assert_no_holder_bids(holder, server, &request(Some(chunk)))
    });
}

/// The server's state machine hears a message; its actions are dropped.
fn hear(cluster: &Cluster, entity: &mut Entity, message: Message) {
    let Entity::Server(server) = entity else { panic!("only servers hear requests") };
    let Target::Negotiating(machine) = &mut server.machine else { panic!("it negotiates") };
    let mut draws = Draws::new(Seed(1), 0, 0);
    let mut draws = draws.of(Purpose(1));
    machine.hear(&message, &mut Step::new(&cluster.terms, SimTime::ZERO, &mut draws));
}

#[test]
fn a_multicast_to_no_rendezvous_group_is_noticed() {
    let spec = Spec { servers: 18, ..Spec::default() };
    let cluster = spec.cluster(Protocol::ReplicastM, false);
    cluster.assert_rendezvous(&[9, 17, 12].map(ServerId));
    for (words, to) in [
        ("of several groups", vec![8, 9, 10]),
        ("has a server twice", vec![1, 2, 1]),
        ("4 servers receive one chunk", vec![1, 2, 3, 4]),
    ] {
        let to: Vec<ServerId> = to.into_iter().map(ServerId).collect();
        check(words, || cluster.assert_rendezvous(&to));
    }
}

#[test]
fn a_cluster_that_makes_no_sense_is_noticed() {
    for (words, damage) in CLUSTERS {
        let mut cluster = cluster(Protocol::ReplicastM, 3, Fidelity::Model);
        cluster.assert_sound();
        damage(&mut cluster);
        check(words, || cluster.assert_sound());
    }
    let mut unsorted = cluster(Protocol::Serial, 1, Fidelity::Model);
    let size = unsorted.terms.sizes[0];
    unsorted.terms.sizes.push(size);
    unsorted.shares = vec![u64::MAX, 0];
    check("less than no share", || unsorted.assert_sound());
    unsorted.terms.sizes.clear();
    check("chunks have no size", || unsorted.assert_sound());
}

const GATEWAYS: &[(&str, Damage<Gateway>)] = &[
    ("chunks that came, ended", |one| one.tally.created += 1),
    ("chunks that came, ended", |one| one.tally.done += 1),
    ("wait for nothing", |one| {
        one.tally.created += 1;
        one.waiting.push_back(wish(0));
    }),
    ("before its acknowledgements", |one| {
        one.tally.created += 1;
        one.tally.done += 1;
    }),
    ("1 chunks were dropped", |one| (one.tally.created, one.tally.dropped) = (1, 1)),
    ("1 were given up unasked", |one| (one.tally.created, one.tally.failed) = (1, 1)),
    ("a delivery ended at", |one| one.received_until = SimTime::from_ns(u64::MAX)),
    ("nobody wanted", |one| one.tally.bytes_received = 1),
    ("held back without a limit", |one| one.held.push_back(Vec::new())),
];

const SERVERS: &[(&str, Damage<Server>)] = &[
    ("0 came", |one| one.tally.bytes_stored = 1),
    ("stored in 1 replicas", |one| one.tally.replicas = 1),
    ("stored in 0 replicas", |one| (one.tally.bytes_received, one.tally.bytes_stored) = (9, 9)),
    ("lost of nothing stored", |one| one.tally.acknowledgements_lost = 1),
    ("at a server that works", |one| one.tally.bytes_lost = 1),
    ("wait for no bucket", |one| {
        let put = towtank_negotiation::PutId { gateway: GatewayId(0), number: 0 };
        one.offers.push_back((put, 8));
    }),
];

fn wish(at: u64) -> Wish {
    Wish { size: Size(0), created: SimTime::from_ns(at), reads: false, known: false }
}

#[test]
fn a_node_that_knows_better_is_noticed() {
    let cluster = cluster(Protocol::UchCcp, 3, Fidelity::Model);
    let now = SimTime::from_ns(1_000);
    for (words, damage) in GATEWAYS {
        let mut node = cluster.create(EntityId(0));
        cluster.assert_node(&node, now);
        let Entity::Gateway(gateway) = &mut node else { panic!("gateways come first") };
        damage(gateway);
        check(words, || cluster.assert_node(&node, now));
    }
    for (words, damage) in SERVERS {
        let mut node = cluster.create(EntityId(4));
        cluster.assert_node(&node, now);
        let Entity::Server(server) = &mut node else { panic!("then come servers") };
        damage(server);
        check(words, || cluster.assert_node(&node, now));
    }
    let mut node = cluster.create(EntityId(13));
    cluster.assert_node(&node, now);
    let Entity::Rack(rack) = &mut node else { panic!("then come racks") };
    let ports = &mut rack.ports;
    for link in [&mut ports.data_in, &mut ports.data_out, &mut ports.control_in, &mut ports.control_out] {
        link.lane.idle_at = cluster.measured.until;
    }
    let mut generous = cluster.clone();
    generous.terms.fixed.protocol = Protocol::ReplicastM;
    check("is busy for", || generous.busy_after(&node, now));
    let Entity::Rack(rack) = &mut node else { panic!("it is a rack") };
    (rack.ports.data_in.lane.idle_at, rack.ports.data_in.lane.busy) = (now, SimSpan::from_us(2));
    check("an uplink is busy", || cluster.assert_node(&node, now));
    let flat = Cluster { racks: None, ..cluster.clone() };
    check("leads nowhere", || flat.assert_node(&node, now));
}

#[test]
fn a_queue_out_of_order_is_noticed() {
    let mut busy = cluster(Protocol::ReplicastM, 1, Fidelity::Model);
    let options = RunOptions { end: Some(SimTime::from_ns(400_000)), ..RunOptions::default() };
    let mut entities = run(&busy, options).expect("it runs").entities;
    let Entity::Gateway(gateway) = &mut entities[0] else { panic!("gateways come first") };
    let under_way = (gateway.machine.puts() + gateway.machine.gets()) as u32;
    assert_eq!(under_way, busy.in_flight, "a closed loop keeps its gateways busy");
    let now = SimTime::from_ns(400_000);
    gateway.waiting.extend([wish(500), wish(400)]);
    gateway.tally.created += 2;
    check("closed loop", || busy.assert_gateway(gateway, now));
    busy.load =
        Load::Open(towtank_streams::distributions::Exponential::with_mean(1.0).expect("it is a mean"));
    check("overtook", || busy.assert_gateway(gateway, now));
    check("before it came", || {
        gateway.waiting[1].created = SimTime::from_ns(u64::MAX);
        busy.assert_gateway(gateway, now);
    });
    busy.in_flight = 1;
    check("2 of 1 under way", || busy.assert_gateway(gateway, now));
}

#[test]
fn what_cannot_be_carried_is_noticed() {
    let cluster = cluster(Protocol::ReplicastM, 3, Fidelity::Model);
    let at = SimTime::from_ns;
    let sent = |(left, right): (u64, u64), began: u64, ended: u64| Transfer {
        window: Window { left: at(left), right: at(right) },
        began: at(began),
        ended: at(ended),
    };
    check("ends before it begins", || cluster.assert_transfer(sent((9, 8), 1, 2), at(1_002)));
    check("went out from", || cluster.assert_transfer(sent((1, 2), 2, 1), at(1_001)));
    check("took 1us", || cluster.assert_transfer(sent((1, 2), 1, 2), at(1_003)));
    check("a frame is empty", || cluster.assert_frame(0));
    check("not 72000", || cluster.assert_frame(72_008));
    check("within a byte", || cluster.assert_frame(12));
    check("size 1 of 1", || cluster.assert_size(Size(1)));
    check("no gateway 4", || cluster.entity_of(Peer::Gateway(GatewayId(4))));
    check("no server 9", || cluster.entity_of(Peer::Server(ServerId(9))));
    let (slow, fast) = (BitRate::at_least_one(1), BitRate::at_least_one(2));
    check("a share of", || racks::share_of(SimSpan::from_ns(1), fast, slow));
    check("3 of 2 servers", || is_among(3, 2, 0));
    check("server 2 of 2", || is_among(1, 2, 2));
    check("more bids were undecided", || {
        let mut counts = Counts { undecided: 1, ..Counts::default() };
        towtank_kernel::Statistics::add(&mut counts, Sample::Request { undecided: true });
    });
    check("has no latency", || {
        let mut counts = Counts { puts: 2, ..Counts::default() };
        towtank_kernel::Statistics::add(&mut counts, Sample::Latency(SimSpan::from_ns(1)));
    });
    for (words, other) in [
        ("has no latency", Counts { puts: 1, ..Counts::default() }),
        ("more bids were undecided", Counts { undecided: 1, ..Counts::default() }),
    ] {
        check(words, || towtank_kernel::Statistics::merge(&mut Counts::default(), &other));
    }
}

#[test]
fn a_run_that_goes_wrong_ends_where_it_does() {
    let cases: [(&str, Protocol, u32, Fidelity, Damage<Cluster>); 3] = [
        ("in no frame", Protocol::ReplicastM, 3, Fidelity::Model, |one| {
            one.terms.sizes[0].bytes = Bytes::from_mib(1)
        }),
        ("more bits than their chunk", Protocol::ReplicastH, 3, Fidelity::Model, |one| {
            one.terms.sizes[0].last_bits += 8
        }),
        ("a frame has", Protocol::UchCcp, 1, Fidelity::Surge, |one| one.terms.sizes[0].last_bits = 72_008),
    ];
    for (words, protocol, racks, fidelity, damage) in cases {
        let mut cluster = cluster(protocol, racks, fidelity);
        damage(&mut cluster);
        let options = RunOptions { end: Some(cluster.measured.end), ..RunOptions::default() };
        let message = run(&cluster, options).map(|_| ()).expect_err(words).to_string();
        assert!(message.contains(words), "{words}: {message}");
    }
}

#[test]
fn counts_that_cannot_be_are_noticed() {
    let cluster = cluster(Protocol::UchCcp, 3, Fidelity::Model);
    let end = Some(cluster.measured.end.saturating_add(SimSpan::from_ns(1)));
    let sound = || run(&cluster, RunOptions { end, ..RunOptions::default() }).expect("it runs");
    assert!(Counted::of_run(&cluster, &sound()).is_some_and(|counted| counted.total.puts > 0));
    let cases: [(&str, Damage<Counts>); 4] = [
        ("a put that counts has no latency", |counts| counts.puts += 1_000_000),
        ("gets of nobody", |counts| counts.got.record(1)),
        ("requests for no bids", |counts| counts.requests = 1),
        ("disks are busy", |counts| counts.busy_ns += 1_000_000_000),
    ];
    for (words, damage) in cases {
        let mut outcome = sound();
        damage(&mut outcome.statistics[4]);
        check(words, || Counted::of_run(&cluster, &outcome));
    }
    let mut outcome = sound();
    outcome.statistics[13].busy_ns = 1_000_000_000;
    check("uplinks are busy", || Counted::of_run(&cluster, &outcome));
}

#[test]
fn a_spec_that_makes_no_sense_is_noticed() {
    let cases: [(&str, Damage<Spec>); 5] = [
        ("nobody puts anything", |spec| spec.gateways = 0),
        ("3 replicas on 2 servers", |spec| spec.servers = 2),
        ("3 replicas in groups of 1", |spec| spec.group = 1),
        ("more than all chunks", |spec| {
            let share = Percent::from_percent(101).unwrap();
            spec.other_chunks.push(ChunkShare { chunk: Bytes::from_kib(1), share });
        }),
        ("are read", |spec| spec.read_share = Percent::from_percent(101).unwrap()),
    ];
    for (words, damage) in cases {
        let mut spec = Spec::default();
        damage(&mut spec);
        let protocol = if words.contains("2 servers") { Protocol::Serial } else { Protocol::ReplicastM };
        check(words, || {
            let cluster = spec.cluster(protocol, false);
            (cluster, crate::memory::estimate(&spec, &[protocol]))
        });
    }
}

/// Servers beyond the last whole group were once counted among those that could be slow, and the assertion
/// rejected this.
#[test]
fn more_slow_servers_than_take_part_are_all_that_do() {
    let mut spec = Spec { gateways: 2, servers: 11, ..Spec::default() };
    spec.faults.slow_servers = 10;
    let terms = spec.terms(Protocol::ReplicastM);
    assert_eq!(terms.fixed.disk_of, [1; 9]);
}
