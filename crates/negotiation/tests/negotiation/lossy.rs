//! Gateways and servers over a network that loses, duplicates and delays messages: with timeouts, every put
//! and every get ends exactly once.
//!
//! Invariants for every network: a finished put lies on as many servers as it has replicas; accepted windows
//! on a server never overlap; nothing that a gateway started is forgotten.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use towtank_negotiation::bids::overlapping;
use towtank_negotiation::{
    Action, Extension, Fixed, GatewayId, GetId, Message, NegotiatingGateway, NegotiatingServer, Peer,
    Protocol, PutId, Rules, ServerId, Size, Step, Terms, Timeouts, UnicastGateway, UnicastServer, Wake,
};
use towtank_streams::{Draws, Purpose, Seed, Uniform};
use towtank_units::{BitRate, Bytes, Rate, SimSpan, SimTime};

const GATEWAYS: u32 = 3;
const SERVERS: u32 = 12;
/// Operations per gateway: puts and gets in turn.
const OPERATIONS: u32 = 8;

fn terms(protocol: Protocol) -> Terms {
    let ns = SimSpan::from_ns;
    Terms::new(Fixed {
        protocol,
        replicas: 3,
        servers: SERVERS,
        group: 6,
        link: BitRate::at_least_one(9_900_000_000),
        data_share: 900_000_000,
        trip: ns(1_000),
        frame: Bytes::new(9_000),
        control: Bytes::new(300),
        bucket_spare: Bytes::new(300),
        lead: Some(ns(30_000)),
        extension: Extension { of_transfer: 1_400_000_000 },
        capacity: None,
        queue_bytes: Bytes::from_kib(256),
        queue_least: 2,
        gap: None,
        aimd_step: BitRate::at_least_one(1_000_000_000),
        aimd_look: ns(10_200),
        timeouts: Some(Timeouts { bids: ns(100_000), acks: ns(3_000_000) }),
        sizes: vec![Bytes::from_kib(16), Bytes::from_kib(64)],
        disks: vec![Rate::from_bytes_per_second(400 << 20).expect("it is not zero")],
        reads: vec![Rate::from_bytes_per_second(400 << 20).expect("it is not zero")],
        disk_of: Vec::new(),
        rules: Rules::model(),
    })
}

enum Gateway {
    Unicast(UnicastGateway),
    Negotiating(NegotiatingGateway),
}

enum Server {
    Unicast(UnicastServer),
    Negotiating(NegotiatingServer),
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Put(Size),
    Get(Size),
    ToGateway(GatewayId, Message),
    ToServer(ServerId, Message),
    WakeGateway(GatewayId, Wake),
    WakeServer(ServerId, Wake),
    Granted(PutId),
    GetGranted(ServerId, GetId, u8),
    Frame(ServerId, PutId, u64),
    Data(ServerId, PutId, Size),
    GetData(GetId, u8, u64),
}

/// The unreliability of the network, in percent.
#[derive(Clone, Copy, Debug)]
struct Weather {
    lost: u64,
    doubled: u64,
    late: u64,
}

#[derive(Default)]
struct Ends {
    puts: BTreeMap<PutId, u32>,
    gets: BTreeMap<GetId, u32>,
    failed: u32,
    given_up: BTreeSet<PutId>,
    stored: BTreeMap<PutId, BTreeSet<ServerId>>,
    /// Bits of chunks sent, to servers and to readers.
    put_bits: u64,
    get_bits: u64,
}

struct World {
    terms: Terms,
    gateways: Vec<Gateway>,
    servers: Vec<Server>,
    due: BTreeMap<(SimTime, u64), (u32, Event)>,
    sequence: u64,
    now: SimTime,
    weather: Weather,
    seed: u64,
    ends: Ends,
}

impl World {
    fn new(protocol: Protocol, weather: Weather, seed: u64) -> World {
        let terms = terms(protocol);
        let gateway = |id| {
            if protocol.negotiates() {
                Gateway::Negotiating(NegotiatingGateway::new(GatewayId(id)))
            } else {
                Gateway::Unicast(UnicastGateway::new(GatewayId(id), &terms))
            }
        };
        let server = |id| {
            if protocol.negotiates() {
                Server::Negotiating(NegotiatingServer::new(ServerId(id), &terms))
            } else {
                Server::Unicast(UnicastServer::new(ServerId(id)))
            }
        };
        let (gateways, servers) = ((0..GATEWAYS).map(gateway).collect(), (0..SERVERS).map(server).collect());
        let (due, now, ends) = (BTreeMap::new(), SimTime::ZERO, Ends::default());
        World { terms, gateways, servers, due, sequence: 0, now, weather, seed, ends }
    }

    fn chance(&self, percent: u64, purpose: u32) -> bool {
        Draws::new(Seed(self.seed), purpose, self.sequence).of(Purpose(7)).below(100) < percent
    }

    fn schedule(&mut self, after: SimSpan, at: u32, event: Event) {
        self.sequence += 1;
        self.due.insert((self.now.saturating_add(after), self.sequence), (at, event));
    }

    /// Sends over the network: the event arrives late, twice, or never.
    fn send(&mut self, after: SimSpan, event: Event) {
        self.sequence += 1;
        if self.chance(self.weather.lost, 1) {
            return;
        }
        let times = if self.chance(self.weather.doubled, 2) { 2 } else { 1 };
        for _ in 0..times {
            let late = if self.chance(self.weather.late, 3) { 40_000 } else { 0 };
            self.schedule(after.saturating_add(SimSpan::from_ns(late)), 0, event);
        }
    }

    fn run(&mut self) -> Result<(), TestCaseError> {
        for gateway in 0..GATEWAYS {
            for operation in 0..OPERATIONS {
                let size = Size((operation / 2 % 2) as u8);
                let event = if operation % 2 == 0 { Event::Put(size) } else { Event::Get(size) };
                let after = SimSpan::from_ns(u64::from(operation) * 40_000 + u64::from(gateway) * 7_000);
                self.schedule(after, gateway, event);
            }
        }
        for _ in 0..400_000 {
            let Some(((at, _), (owner, event))) = self.due.pop_first() else { return Ok(()) };
            self.now = at;
            self.happen(owner, event);
            self.check()?;
        }
        Err(TestCaseError::fail("it never ends"))
    }

    fn happen(&mut self, owner: u32, event: Event) {
        let now = self.now;
        match event {
            Event::Put(size) => self.at_gateway(GatewayId(owner), |gateway, step| match gateway {
                Gateway::Unicast(machine) => machine.submit(size, now, step),
                Gateway::Negotiating(machine) => machine.submit(size, now, step),
            }),
            Event::Get(size) => self.at_gateway(GatewayId(owner), |gateway, step| match gateway {
                Gateway::Unicast(machine) => machine.gets.submit(size, now, step),
                Gateway::Negotiating(machine) => machine.gets.submit(size, now, step),
            }),
            Event::ToGateway(to, message) => self.at_gateway(to, |gateway, step| match gateway {
                Gateway::Unicast(machine) => machine.hear(&message, step),
                Gateway::Negotiating(machine) => machine.hear(&message, step),
            }),
            Event::WakeGateway(to, wake) => self.at_gateway(to, |gateway, step| match gateway {
                Gateway::Unicast(machine) => machine.wake(wake, step),
                Gateway::Negotiating(machine) => machine.wake(wake, step),
            }),
            Event::Granted(put) => self.at_gateway(put.gateway, |gateway, step| {
                if let Gateway::Unicast(machine) = gateway {
                    machine.frame_started(put, step);
                }
            }),
            Event::GetData(get, round, bits) => self.at_gateway(get.gateway, |gateway, step| match gateway {
                Gateway::Unicast(machine) => machine.gets.receive(get, round, bits, step),
                Gateway::Negotiating(machine) => machine.gets.receive(get, step),
            }),
            other => self.happen_at_server(other),
        }
    }

    fn happen_at_server(&mut self, event: Event) {
        match event {
            Event::ToServer(to, message) => self.at_server(to, |server, step| match server {
                Server::Unicast(machine) => machine.hear(&message, step),
                Server::Negotiating(machine) => machine.hear(&message, step),
            }),
            Event::WakeServer(to, wake) => self.at_server(to, |server, step| match server {
                Server::Unicast(machine) => machine.wake(wake, step),
                Server::Negotiating(machine) => machine.wake(wake, step),
            }),
            Event::GetGranted(to, get, round) => self.at_server(to, |server, step| {
                if let Server::Unicast(machine) = server {
                    machine.get_frame_started(get, round, step);
                }
            }),
            Event::Frame(to, put, bits) => self.at_server(to, |server, step| {
                if let Server::Unicast(machine) = server {
                    machine.receive(put, bits, step);
                }
            }),
            Event::Data(to, put, size) => self.at_server(to, |server, step| {
                if let Server::Negotiating(machine) = server {
                    machine.receive(put, size, step);
                }
            }),
            _ => unreachable!("{event:?} happens at a gateway"),
        }
    }

    fn at_gateway(&mut self, id: GatewayId, call: impl FnOnce(&mut Gateway, &mut Step<'_>)) {
        let terms = self.terms.clone();
        let mut draws = Draws::new(Seed(self.seed), id.0, self.sequence);
        let mut source = draws.of(Purpose(0));
        let mut step = Step::new(&terms, self.now, &mut source);
        call(&mut self.gateways[id.0 as usize], &mut step);
        for action in step.actions {
            self.act(Peer::Gateway(id), action);
        }
    }

    fn at_server(&mut self, id: ServerId, call: impl FnOnce(&mut Server, &mut Step<'_>)) {
        let terms = self.terms.clone();
        let mut draws = Draws::new(Seed(self.seed), 1_000 + id.0, self.sequence);
        let mut source = draws.of(Purpose(0));
        let mut step = Step::new(&terms, self.now, &mut source);
        call(&mut self.servers[id.0 as usize], &mut step);
        for action in step.actions {
            self.act(Peer::Server(id), action);
        }
    }

    fn act(&mut self, me: Peer, action: Action) {
        let way = self.terms.control_and_trip();
        let trip = self.terms.fixed.trip;
        match (action, me) {
            (Action::Send { to: Peer::Gateway(to), message, after }, _) => {
                self.send(after.saturating_add(way), Event::ToGateway(to, message));
            }
            (Action::Send { to: Peer::Server(to), message, after }, _) => {
                self.send(after.saturating_add(way), Event::ToServer(to, message));
            }
            (Action::Multicast(to), _) => {
                to.into_iter().for_each(|(server, message)| self.send(way, Event::ToServer(server, message)));
            }
            (Action::Wake { at, wake }, Peer::Gateway(me)) => {
                assert!(at >= self.now, "{wake:?} is in the past");
                self.schedule(at.since(self.now), 0, Event::WakeGateway(me, wake));
            }
            (Action::Wake { at, wake }, Peer::Server(me)) => {
                assert!(at >= self.now, "{wake:?} is in the past");
                self.schedule(at.since(self.now), 0, Event::WakeServer(me, wake));
            }
            (Action::Offer { put, .. }, _) => self.schedule(SimSpan::ZERO, 0, Event::Granted(put)),
            (Action::Frame { to, put, bits, span }, _) => {
                self.ends.put_bits += bits;
                self.send(span.saturating_add(trip), Event::Frame(to, put, bits));
            }
            (Action::Data { to, put, size, span, window, .. }, _) => {
                self.ends.put_bits += self.terms.size(size).bytes.get() * 8 * to.len() as u64;
                assert!(
                    self.now.saturating_add(span) <= window.right,
                    "data of {put:?} end after {window:?}"
                );
                let way = span.saturating_add(trip);
                to.into_iter().for_each(|server| self.send(way, Event::Data(server, put, size)));
            }
            (Action::GetOffer { get, round, bits }, Peer::Server(me)) => {
                self.schedule(self.terms.wire(bits), 0, Event::GetGranted(me, get, round));
            }
            (Action::GetFrame { get, round, bits }, _) => {
                self.ends.get_bits += bits;
                self.send(trip, Event::GetData(get, round, bits));
            }
            (Action::Deliver { get, size, span, window }, _) => {
                self.ends.get_bits += self.terms.size(size).bytes.get() * 8;
                assert!(
                    self.now.saturating_add(span) <= window.right,
                    "data of {get:?} end after {window:?}"
                );
                self.send(span.saturating_add(trip), Event::GetData(get, 0, 0));
            }
            (Action::Write { put, .. }, Peer::Server(me)) => {
                self.ends.stored.entry(put).or_default().insert(me);
            }
            (Action::Done(done), _) => *self.ends.puts.entry(done.put).or_default() += 1,
            (Action::Failed(done), _) => {
                self.ends.failed += 1;
                *self.ends.puts.entry(done.put).or_default() += 1;
                self.ends.given_up.insert(done.put);
            }
            (Action::GetDone(done), _) => *self.ends.gets.entry(done.get).or_default() += 1,
            (Action::GetFailed(done), _) => {
                self.ends.failed += 1;
                *self.ends.gets.entry(done.get).or_default() += 1;
            }
            (Action::Dropped(put), _) => panic!("{put:?} was dropped"),
            _ => {}
        }
    }

    fn check(&self) -> Result<(), TestCaseError> {
        for server in &self.servers {
            if let Server::Negotiating(machine) = server {
                prop_assert!(overlapping(machine.reservations()).is_none(), "{:?}", machine.reservations());
                let deliveries = machine.deliveries().list();
                prop_assert!(overlapping(deliveries).is_none(), "{deliveries:?}");
            }
        }
        Ok(())
    }

    fn check_ends(&self) -> Result<(), TestCaseError> {
        let each = OPERATIONS / 2 * GATEWAYS;
        prop_assert_eq!(self.ends.puts.len() as u32, each);
        prop_assert_eq!(self.ends.gets.len() as u32, each);
        prop_assert!(self.ends.puts.values().all(|count| *count == 1), "{:?}", self.ends.puts);
        prop_assert!(self.ends.gets.values().all(|count| *count == 1), "{:?}", self.ends.gets);
        prop_assert!(self.ends.given_up.iter().all(|put| self.ends.puts.contains_key(put)));
        prop_assert!(self.ends.failed as usize >= self.ends.given_up.len());
        for gateway in &self.gateways {
            let left = match gateway {
                Gateway::Unicast(machine) => machine.puts() + machine.gets.len(),
                Gateway::Negotiating(machine) => machine.puts() + machine.gets.len(),
            };
            prop_assert_eq!(left, 0, "puts and gets that have ended are kept");
        }
        for server in &self.servers {
            let disk = match server {
                Server::Unicast(machine) => machine.disk(),
                Server::Negotiating(machine) => machine.disk(),
            };
            prop_assert!(disk.audit().is_ok(), "{disk:?}");
        }
        for (put, servers) in &self.ends.stored {
            let given_up = self.ends.given_up.contains(put);
            prop_assert!(given_up || servers.len() >= 3, "{put:?} lies on {servers:?} only");
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn every_put_and_get_ends_once_on_a_bad_network(
        protocol in prop::sample::select(Protocol::ALL.to_vec()),
        lost in 0..30_u64,
        doubled in 0..30_u64,
        late in 0..30_u64,
        seed in any::<u64>(),
    ) {
        let mut world = World::new(protocol, Weather { lost, doubled, late }, seed);
        world.run()?;
        world.check_ends()?;
    }
}

/// On a reliable network nothing fails, and no chunk is stored more often than requested.
#[test]
fn nothing_fails_on_a_good_network() {
    for protocol in Protocol::ALL {
        let mut world = World::new(protocol, Weather { lost: 0, doubled: 0, late: 0 }, 5);
        world.run().unwrap();
        world.check_ends().unwrap();
        assert_eq!(world.ends.failed, 0, "{}", protocol.name());
        assert!(world.ends.stored.values().all(|servers| servers.len() == 3), "{}", protocol.name());
        // Each gateway puts and gets two chunks of each size.
        let chunks: u64 = world.terms.sizes.iter().map(|size| size.bytes.get() * 8).sum();
        let once = 2 * chunks * u64::from(GATEWAYS);
        assert_eq!(world.ends.put_bits, 3 * once, "{}", protocol.name());
        assert_eq!(world.ends.get_bits, once, "{}", protocol.name());
    }
}
