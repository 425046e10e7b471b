//! Figures 2 and 6 of Aizman and Bestler as message charts: the state machines exchange these messages at
//! these times, and `docs/put.md` shows them.
//!
//! Figure 2: the server X of a group hears the put requests of initiators A, B and C. Figure 6: initiators A
//! and B put to the same server by UCH-CCP. The figures are examples without a scale, so what is compared is
//! who is told what, in which order, and how a window or a rate follows from the others.

use std::collections::BTreeMap;

use towtank_negotiation::{
    Action, Extension, Fixed, GatewayId, Message, NegotiatingServer, Peer, Protocol, PutId, Rules, ServerId,
    Size, Step, Terms, UnicastGateway, UnicastServer, Wake, Window,
};
use towtank_streams::{Draws, Purpose, Seed};
use towtank_units::{BitRate, Bytes, Rate, SimSpan, SimTime};

const PAGE: &str = include_str!("../../../docs/put.md");

/// The cluster of the paper, with as many servers as the figure needs.
fn terms(protocol: Protocol, servers: u32) -> Terms {
    let ns = SimSpan::from_ns;
    let negotiates = protocol.negotiates();
    Terms::new(Fixed {
        protocol,
        replicas: if negotiates { 3 } else { 1 },
        servers,
        group: 9,
        link: BitRate::at_least_one(9_900_000_000),
        data_share: 900_000_000,
        trip: ns(1_000),
        frame: Bytes::new(9_000),
        control: Bytes::new(if negotiates { 300 } else { 100 }),
        bucket_spare: Bytes::new(300),
        lead: None,
        extension: Extension { of_transfer: 1_400_000_000 },
        capacity: None,
        queue_bytes: Bytes::from_kib(256),
        queue_least: 2,
        gap: None,
        aimd_step: BitRate::at_least_one(1_000_000_000),
        aimd_look: ns(10_200),
        timeouts: None,
        sizes: vec![Bytes::from_kib(128)],
        disks: vec![Rate::from_bytes_per_second(400 << 20).expect("it is not zero")],
        reads: vec![Rate::from_bytes_per_second(400 << 20).expect("it is not zero")],
        disk_of: Vec::new(),
        rules: Rules::model(),
    })
}

fn us(at: SimTime) -> String {
    format!("{:.3}", at.as_ns() as f64 / 1e3)
}

fn name(put: PutId) -> char {
    char::from(b'A' + put.gateway.0 as u8)
}

fn told(message: &Message) -> String {
    let gigabits = |rate: BitRate| format!("{:.2} Gbit/s", rate.bits_per_second() as f64 / 1e9);
    let window = |window: Window| format!("{} to {}", us(window.left), us(window.right));
    match *message {
        Message::Request { put, .. } => format!("{} -> X  request", name(put)),
        Message::Bid { put, window: offered, .. } => format!("X -> {}  bid {}", name(put), window(offered)),
        Message::Accept { put, window: taken } => format!("{} -> X  accept {}", name(put), window(taken)),
        Message::Cancel { put } => format!("{} -> X  cancel", name(put)),
        Message::RateInit { put, rate, .. } => format!("X -> {}  rate init {}", name(put), gigabits(rate)),
        Message::RateSet { put, rate, .. } => format!("X -> {}  rate set {}", name(put), gigabits(rate)),
        Message::Ack { put, .. } => format!("X -> {}  acknowledgement", name(put)),
        _ => panic!("{message:?} is in no figure"),
    }
}

/// A chart: one line per message, with its time in microseconds.
#[derive(Default)]
struct Chart(String);

impl Chart {
    fn add(&mut self, at: SimTime, message: &Message) {
        self.0.push_str(&format!("{:>8}  {}\n", us(at), told(message)));
    }
}

/// What the server of figure 2 hears, one microsecond apart from each other where nothing else is said.
struct Server {
    terms: Terms,
    machine: NegotiatingServer,
    chart: Chart,
}

impl Server {
    fn new() -> Server {
        let terms = terms(Protocol::ReplicastM, 9);
        let machine = NegotiatingServer::new(ServerId(0), &terms);
        Server { terms, machine, chart: Chart::default() }
    }

    /// The server hears a message; returns the window that it offers.
    fn hears(&mut self, at_us: u64, message: Message) -> Option<Window> {
        let now = SimTime::from_ns(at_us * 1_000);
        let mut draws = Draws::new(Seed(1), 0, 0);
        let mut source = draws.of(Purpose(0));
        let mut step = Step::new(&self.terms, now, &mut source);
        self.machine.hear(&message, &mut step);
        self.chart.add(now, &message);
        let mut offered = None;
        for action in step.actions {
            let Action::Send { message, .. } = action else { continue };
            self.chart.add(now, &message);
            if let Message::Bid { window, .. } = message {
                offered = Some(window);
            }
        }
        offered
    }

    fn request(&mut self, at_us: u64, put: PutId) -> Window {
        let from = SimTime::from_ns(at_us * 1_000);
        self.hears(at_us, Message::Request { put, size: Size(0), chunk: None, round: 1, from })
            .expect("a bid")
    }
}

fn put(gateway: u32) -> PutId {
    PutId { gateway: GatewayId(gateway), number: 0 }
}

#[test]
fn figure_2_a_cancelled_window_is_offered_to_the_next_initiator() {
    let (a, b, c, trip) = (put(0), put(1), put(2), SimSpan::from_us(1));
    let mut server = Server::new();
    // An idle server bids wider than others, so X has promised a window to D before.
    let before = server.request(0, put(3));
    // Two control messages of 2,424 ns and a trip after the request.
    assert_eq!(before.left.as_ns(), 5_848, "X is available right away");
    let window = server.terms.size(Size(0)).window;
    let before = Window::of(before.left, window);
    server.hears(7, Message::Accept { put: put(3), window: before });
    let first = server.request(20, a);
    assert_eq!(first.left, before.right.saturating_add(trip), "A gets the time after D's");
    let second = server.request(22, b);
    assert_eq!(second.left, first.right.saturating_add(trip), "B's bid is shifted by A's reservation");
    let taken = Window::of(first.left, window);
    server.hears(29, Message::Accept { put: a, window: taken });
    server.hears(31, Message::Cancel { put: b });
    let third = server.request(32, c);
    assert_eq!(third.left, taken.right.saturating_add(trip), "A's reservation is trimmed, and B's is gone");
    assert!(third.left <= second.left && third.right > second.left, "C gets B's time: {third:?} {second:?}");
    shown("figure 2", &server.chart);
}

/// The trade-off of figure 2: a request before the cancellation must wait for a put that never comes.
#[test]
fn figure_2_a_request_before_the_cancellation_waits_for_both() {
    let mut busy = Server::new();
    let narrow = busy.terms.size(Size(0)).window;
    let earlier = busy.request(0, put(3));
    busy.hears(1, Message::Accept { put: put(3), window: Window::of(earlier.left, narrow) });
    let first = busy.request(2, put(0));
    let second = busy.request(3, put(1));
    busy.hears(9, Message::Accept { put: put(0), window: Window::of(first.left, narrow) });
    let third = busy.request(10, put(2));
    assert!(third.left > second.right, "C waits for A and B: {third:?} {second:?}");
}

/// An event of figure 6.
enum Event {
    Submit(u32),
    ToServer(Message),
    ToGateway(u32, Message),
    WakeGateway(u32, Wake),
    WakeServer(Wake),
    Frame(PutId, u64),
}

/// The machines of figure 6, and what lies between them: messages and frames that do not queue.
struct Pair {
    terms: Terms,
    gateways: Vec<UnicastGateway>,
    server: UnicastServer,
    /// By time, and in the order of their causes.
    pending: BTreeMap<(SimTime, u32), Event>,
    count: u32,
    chart: Chart,
}

impl Pair {
    fn at(&mut self, at: SimTime, event: Event) {
        self.count += 1;
        self.pending.insert((at, self.count), event);
    }

    fn run(&mut self) {
        let mut draws = Draws::new(Seed(1), 0, 0);
        let mut source = draws.of(Purpose(0));
        while let Some(((now, _), event)) = self.pending.pop_first() {
            let terms = self.terms.clone();
            let mut step = Step::new(&terms, now, &mut source);
            let gateway = match event {
                Event::Submit(id) => {
                    self.gateways[id as usize].submit(Size(0), now, &mut step);
                    Some(id)
                }
                Event::ToGateway(id, message) => {
                    self.gateways[id as usize].hear(&message, &mut step);
                    Some(id)
                }
                Event::WakeGateway(id, wake) => {
                    self.gateways[id as usize].wake(wake, &mut step);
                    Some(id)
                }
                Event::ToServer(message) => {
                    self.server.hear(&message, &mut step);
                    None
                }
                Event::WakeServer(wake) => {
                    self.server.wake(wake, &mut step);
                    None
                }
                Event::Frame(put, bits) => {
                    self.server.receive(put, bits, &mut step);
                    None
                }
            };
            let mut actions: Vec<Action> = step.actions;
            while let Some(offered) = self.carry_out(now, gateway, actions) {
                let mut step = Step::new(&terms, now, &mut source);
                self.gateways[offered.gateway.0 as usize].frame_started(offered, &mut step);
                actions = step.actions;
            }
        }
    }

    /// Carries out actions; returns the put whose frame can start, since the link is free.
    fn carry_out(&mut self, now: SimTime, gateway: Option<u32>, actions: Vec<Action>) -> Option<PutId> {
        let (trip, way) = (self.terms.fixed.trip, self.terms.control_and_trip());
        let mut offered = None;
        for action in actions {
            match (action, gateway) {
                (Action::Send { to, message, after }, _) => {
                    let sent = now.saturating_add(after);
                    self.chart.add(sent, &message);
                    let event = match to {
                        Peer::Gateway(GatewayId(id)) => Event::ToGateway(id, message),
                        Peer::Server(_) => Event::ToServer(message),
                    };
                    self.at(sent.saturating_add(way), event);
                }
                (Action::Wake { at, wake }, Some(id)) => self.at(at, Event::WakeGateway(id, wake)),
                (Action::Wake { at, wake }, None) => self.at(at, Event::WakeServer(wake)),
                (Action::Offer { put, .. }, _) => offered = Some(put),
                (Action::Frame { put, bits, span, .. }, _) => {
                    self.at(now.saturating_add(span).saturating_add(trip), Event::Frame(put, bits));
                }
                _ => {}
            }
        }
        offered
    }
}

#[test]
fn figure_6_two_flows_share_a_servers_link() {
    let terms = terms(Protocol::UchCcp, 1);
    let gateways = [0, 1].map(|id| UnicastGateway::new(GatewayId(id), &terms)).to_vec();
    let server = UnicastServer::new(ServerId(0));
    let mut pair =
        Pair { terms, gateways, server, pending: BTreeMap::new(), count: 0, chart: Chart::default() };
    pair.at(SimTime::ZERO, Event::Submit(0));
    pair.at(SimTime::from_ns(30_000), Event::Submit(1));
    pair.run();
    // Acknowledgements are listed when their data arrive, but sent when the disk has written them.
    let mut lines: Vec<&str> = pair.chart.0.lines().collect();
    lines.sort_by_key(|line| line[..8].trim().replace('.', "").parse::<u64>().expect("a time"));
    let said: Vec<&str> = lines.iter().map(|line| &line[10..]).collect();
    assert_eq!(
        said,
        [
            "A -> X  request",
            "X -> A  rate init 9.90 Gbit/s",
            "X -> A  rate set 9.90 Gbit/s",
            "B -> X  request",
            "X -> B  rate init 4.95 Gbit/s",
            "X -> A  rate set 4.95 Gbit/s",
            "X -> B  rate set 4.95 Gbit/s",
            "X -> B  rate set 9.90 Gbit/s",
            "X -> A  acknowledgement",
            "X -> B  acknowledgement",
        ]
    );
    let chart: String = lines.iter().map(|line| format!("{line}\n")).collect();
    shown("figure 6", &Chart(chart));
}

fn shown(figure: &str, chart: &Chart) {
    assert!(PAGE.contains(&chart.0), "docs/put.md does not show {figure} as it is:\n{}", chart.0);
}
