//! Figures 2 and 6 of Aizman and Bestler as message charts, made by the state machines themselves.
//!
//! Figure 2: the server X of a group hears the put requests of initiators A, B and C, after a promise to D.
//! Figure 6: initiators A and B put to the same server X by UCH-CCP. The figures are examples without a
//! scale, so the script (who asks when) is a choice here; who is sent what, in which order, and how a
//! window or a rate follows from the others is what the machines do.
//!
//! Left out: what other servers hear, and queues of links.

use std::collections::BTreeMap;
use std::fmt;

use towtank_streams::{Draws, Purpose, Seed};
use towtank_units::{BitRate, Bytes, Rate, SimSpan, SimTime};

use crate::{
    Action, Extension, Fixed, GatewayId, Message, NegotiatingServer, Peer, Protocol, PutId, Rules, ServerId,
    Size, Step, Terms, UnicastGateway, UnicastServer, Wake, Window,
};

/// One message of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// When it is sent.
    pub at: SimTime,
    /// The message.
    pub message: Message,
}

impl Line {
    /// The names of sender and receiver: initiators are A, B and so on, and X is the server.
    #[must_use]
    pub fn ends(&self) -> [char; 2] {
        let initiator = match self.message {
            Message::Request { put, .. }
            | Message::Bid { put, .. }
            | Message::Accept { put, .. }
            | Message::Cancel { put }
            | Message::RateInit { put, .. }
            | Message::RateSet { put, .. }
            | Message::Ack { put, .. } => char::from(b'A' + put.gateway.0 as u8),
            _ => '?',
        };
        let to_server =
            matches!(self.message, Message::Request { .. } | Message::Accept { .. } | Message::Cancel { .. });
        if to_server { [initiator, 'X'] } else { ['X', initiator] }
    }

    /// What the message says.
    #[must_use]
    pub fn said(&self) -> &'static str {
        match self.message {
            Message::Request { .. } => "request",
            Message::Bid { .. } => "bid",
            Message::Accept { .. } => "accept",
            Message::Cancel { .. } => "cancel",
            Message::RateInit { .. } => "rate init",
            Message::RateSet { .. } => "rate set",
            Message::Ack { .. } => "acknowledgement",
            _ => "another message",
        }
    }

    /// The window that is offered or taken.
    #[must_use]
    pub fn window(&self) -> Option<Window> {
        match self.message {
            Message::Bid { window, .. } | Message::Accept { window, .. } => Some(window),
            _ => None,
        }
    }

    /// The rate that is set.
    #[must_use]
    pub fn rate(&self) -> Option<BitRate> {
        match self.message {
            Message::RateInit { rate, .. } | Message::RateSet { rate, .. } => Some(rate),
            _ => None,
        }
    }
}

/// The line of a chart in text, with times in microseconds.
impl fmt::Display for Line {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |at: SimTime| format!("{:.3}", at.as_ns() as f64 / 1e3);
        let [from, to] = self.ends();
        write!(out, "{:>8}  {from} -> {to}  {}", us(self.at), self.said())?;
        if let Some(window) = self.window() {
            write!(out, " {} to {}", us(window.left), us(window.right))?;
        }
        if let Some(rate) = self.rate() {
            write!(out, " {:.2} Gbit/s", rate.bits_per_second() as f64 / 1e9)?;
        }
        Ok(())
    }
}

/// Figure 2: a window that is cancelled is offered to the next initiator.
#[must_use]
pub fn figure_2() -> Vec<Line> {
    let [a, b, c, d] = [0, 1, 2, 3].map(put);
    let mut server = Server::new();
    // An idle server bids wider than others, so X has promised a window to D before.
    let before = server.request(0, d);
    server.accept(7, d, before);
    let first = server.request(20, a);
    server.request(22, b);
    server.accept(29, a, first);
    server.hears(31, Message::Cancel { put: b });
    server.request(32, c);
    server.chart
}

/// Figure 6: two flows share a server's link.
#[must_use]
pub fn figure_6() -> Vec<Line> {
    let terms = terms(Protocol::UchCcp, 1);
    let gateways = [0, 1].map(|id| UnicastGateway::new(GatewayId(id), &terms)).to_vec();
    let server = UnicastServer::new(ServerId(0));
    let mut pair = Pair { terms, gateways, server, pending: BTreeMap::new(), count: 0, chart: Vec::new() };
    pair.at(SimTime::ZERO, Event::Submit(0));
    pair.at(SimTime::from_ns(30_000), Event::Submit(1));
    pair.run();
    // Acknowledgements are listed when their data arrive, but sent when the disk has written them.
    pair.chart.sort_by_key(|line| line.at);
    pair.chart
}

fn put(gateway: u32) -> PutId {
    PutId { gateway: GatewayId(gateway), number: 0 }
}

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
        disks: vec![Rate::from_bytes_per_second(400 << 20).expect("it is above zero")],
        reads: vec![Rate::from_bytes_per_second(400 << 20).expect("it is above zero")],
        disk_of: Vec::new(),
        rules: Rules::model(),
    })
}

/// The server of figure 2, and what it hears and says.
struct Server {
    terms: Terms,
    machine: NegotiatingServer,
    chart: Vec<Line>,
}

impl Server {
    fn new() -> Server {
        let terms = terms(Protocol::ReplicastM, 9);
        let machine = NegotiatingServer::new(ServerId(0), &terms);
        Server { terms, machine, chart: Vec::new() }
    }

    /// The server hears a message; returns the window that it offers.
    fn hears(&mut self, at_us: u64, message: Message) -> Option<Window> {
        let at = SimTime::from_ns(at_us * 1_000);
        let mut draws = Draws::new(Seed(1), 0, 0);
        let mut source = draws.of(Purpose(0));
        let mut step = Step::new(&self.terms, at, &mut source);
        self.machine.hear(&message, &mut step);
        let said = step.actions.into_iter().filter_map(|action| match action {
            Action::Send { message, .. } => Some(Line { at, message }),
            _ => None,
        });
        let said: Vec<Line> = said.collect();
        let offered = said.iter().rev().find_map(Line::window);
        self.chart.push(Line { at, message });
        self.chart.extend(said);
        offered
    }

    /// A request, and the window that the server bids.
    fn request(&mut self, at_us: u64, put: PutId) -> Window {
        let from = SimTime::from_ns(at_us * 1_000);
        let request = Message::Request { put, size: Size(0), chunk: None, round: 1, from };
        self.hears(at_us, request).expect("a server with room bids")
    }

    /// The initiator takes as much of an offered window as the chunk needs.
    fn accept(&mut self, at_us: u64, put: PutId, offered: Window) {
        let window = Window::of(offered.left, self.terms.size(Size(0)).window);
        self.hears(at_us, Message::Accept { put, window });
    }
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
    chart: Vec<Line>,
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
                    self.chart.push(Line { at: sent, message });
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

#[cfg(test)]
mod tests;
