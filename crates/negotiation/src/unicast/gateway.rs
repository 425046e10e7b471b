//! The gateway's side: one flow per chunk at a time, with frames as fast as token buckets and the receiver's
//! rate allow.

use towtank_devices::Bucket;
use towtank_units::{BitRate, Rounding, SimTime};

use crate::getting::UnicastGets;
use crate::{Action, Done, GatewayId, Message, Peer, Protocol, PutId, ServerId, Size, Step, Terms, Wake};

/// A gateway of a unicast protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct UnicastGateway {
    me: GatewayId,
    next_number: u32,
    previous: Vec<ServerId>,
    egress: Bucket,
    puts: Vec<Put>,
    /// Its gets.
    pub gets: UnicastGets,
}

/// A put in progress.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Put {
    number: u32,
    size: Size,
    created: SimTime,
    /// Servers of its replicas, and whether they have acknowledged.
    targets: Vec<(ServerId, bool)>,
    /// Servers that did not reply.
    avoided: Vec<ServerId>,
    /// Index of the current target; past the last one when all frames are sent.
    current: usize,
    flow: Flow,
    attempt: u32,
}

/// The replica being sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Flow {
    /// None until the server has replied.
    rate: Option<BitRate>,
    /// A rate that arrived before the reply.
    early: Option<BitRate>,
    frames_left: u64,
    previous_end: SimTime,
    bucket: Bucket,
    generation: u32,
    /// Whether a frame waits for the link.
    offered: bool,
    /// AIMD: bits sent since the rate last changed.
    since_change: u64,
}

impl UnicastGateway {
    /// A gateway without puts.
    #[must_use]
    pub fn new(me: GatewayId, terms: &Terms) -> UnicastGateway {
        let egress = Bucket::full(terms.bucket_bits, SimTime::ZERO);
        let (puts, gets) = (Vec::new(), UnicastGets::new(me));
        UnicastGateway { me, next_number: 0, previous: Vec::new(), egress, puts, gets }
    }

    /// Number of puts in progress.
    #[must_use]
    pub fn puts(&self) -> usize {
        self.puts.len()
    }

    /// Number of puts whose data have not all been sent.
    #[must_use]
    pub fn sending(&self) -> usize {
        self.puts.iter().filter(|put| put.target().is_some()).count()
    }

    /// The numbers of the puts in progress.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        self.puts.iter().map(|put| put.number)
    }

    /// Starts a put of a chunk that was created at `created`.
    pub fn submit(&mut self, size: Size, created: SimTime, step: &mut Step<'_>) {
        let replicas = step.terms.replicas();
        let mut targets = Vec::with_capacity(replicas);
        for _ in 0..replicas {
            // If there are too few servers to avoid all of the previous chunk's, none of them is avoided.
            let few = step.terms.fixed.servers as usize <= self.previous.len() + replicas;
            let taken: Vec<ServerId> =
                if few { targets.clone() } else { [&targets[..], &self.previous[..]].concat() };
            targets.extend(draw_server(&taken, step));
        }
        self.previous.clone_from(&targets);
        let again = |at: usize| targets[..at].contains(&targets[at]);
        debug_assert!(!(1..targets.len()).any(again), "two replicas are on one server: {targets:?}");
        debug_assert!(!targets.is_empty(), "a put has no server");
        let number = self.next_number;
        self.next_number += 1;
        let mut put = Put {
            number,
            size,
            created,
            targets: targets.into_iter().map(|server| (server, false)).collect(),
            avoided: Vec::new(),
            current: 0,
            flow: Flow::new(size, step),
            attempt: 0,
        };
        put.request(self.me, &mut self.egress, step);
        let newer = self.puts.last().is_none_or(|last| last.number < number);
        debug_assert!(newer, "put {number} starts after a later one");
        self.puts.push(put);
    }

    /// Handles a message.
    pub fn hear(&mut self, message: &Message, step: &mut Step<'_>) {
        match *message {
            Message::RateInit { put, server, rate } => {
                let begins = step.terms.fixed.aimd_step;
                let aimd = step.terms.fixed.protocol == Protocol::UchAimd;
                self.change_rate(put, server, step, |flow| {
                    flow.rate = Some(flow.early.take().unwrap_or(if aimd { begins } else { rate }));
                });
            }
            Message::RateSet { put, server, rate } => {
                self.change_rate(put, server, step, |flow| match &mut flow.rate {
                    None => flow.early = Some(rate),
                    Some(now) => *now = rate,
                });
            }
            Message::Ding { put, server } => {
                let least = step.terms.fixed.aimd_step;
                self.change_rate(put, server, step, |flow| {
                    flow.rate = flow.rate.map(|rate| rate.shared_by(2).max(least));
                    flow.since_change = 0;
                });
            }
            Message::Ack { put, server } => self.acknowledge(put.number, server, step),
            _ => {}
        }
    }

    /// Handles a timer that the state machine has set.
    pub fn wake(&mut self, wake: Wake, step: &mut Step<'_>) {
        match wake {
            Wake::Frame { number, generation } => {
                let Some(at) = self.find(number) else { return };
                let flow = &self.puts[at].flow;
                if flow.generation == generation && !flow.offered {
                    self.puts[at].try_frame(self.me, &mut self.egress, step);
                }
            }
            Wake::AcksDue { number, attempt } => {
                if let Some(at) = self.find(number).filter(|at| self.puts[*at].attempt == attempt) {
                    self.replace_silent(at, step);
                }
            }
            _ => self.gets.wake(wake, step),
        }
    }

    /// The link is free: sends the frame that was offered.
    pub fn frame_started(&mut self, put: PutId, step: &mut Step<'_>) {
        if let Some(at) = self.find(put.number) {
            self.puts[at].send_frame(self.me, &mut self.egress, step);
        }
    }

    fn find(&self, number: u32) -> Option<usize> {
        self.puts.iter().position(|put| put.number == number)
    }

    /// Changes the rate of the current flow. A frame already on the wire keeps its end time.
    fn change_rate(&mut self, id: PutId, server: ServerId, step: &mut Step<'_>, change: impl Fn(&mut Flow)) {
        let Some(at) = self.find(id.number) else { return };
        let put = &mut self.puts[at];
        if put.target() != Some(server) {
            return;
        }
        put.flow.bucket.fill(step.now, put.flow.rate);
        change(&mut put.flow);
        if !put.flow.offered {
            put.try_frame(self.me, &mut self.egress, step);
        }
    }

    fn acknowledge(&mut self, number: u32, server: ServerId, step: &mut Step<'_>) {
        let Some(at) = self.find(number) else { return };
        let put = &mut self.puts[at];
        if let Some(target) = put.targets.iter_mut().find(|target| target.0 == server) {
            target.1 = true;
        }
        if put.targets.iter().all(|target| target.1) {
            let put = self.puts.remove(at);
            step.act(Action::Done(put.done(self.me)));
        }
    }

    /// Sends replicas that were not acknowledged in time to other servers; if there are none, the put has
    /// failed.
    fn replace_silent(&mut self, at: usize, step: &mut Step<'_>) {
        let put = &mut self.puts[at];
        let sent = put.current.min(put.targets.len() - 1) + 1;
        let silent: Vec<usize> = (0..sent).filter(|target| !put.targets[*target].1).collect();
        let Some(&first) = silent.first() else { return };
        for target in silent {
            put.avoided.push(put.targets[target].0);
            let held = put.targets.iter().map(|target| target.0).filter(|held| !put.avoided.contains(held));
            let taken: Vec<ServerId> = held.chain(put.avoided.iter().copied()).collect();
            let Some(server) = draw_server(&taken, step) else {
                let put = self.puts.remove(at);
                step.act(Action::Failed(put.done(self.me)));
                return;
            };
            let other = put.targets.iter().all(|target| target.0 != server);
            debug_assert!(other, "server {} has two replicas of one put", server.0);
            put.targets[target] = (server, false);
        }
        // The server that was being sent to must not wait for the rest.
        let left = put.avoided[put.avoided.len() - 1];
        let (to, message) = (Peer::Server(left), Message::Cancel { put: put.id(self.me) });
        step.act(Action::Send { to, message, after: towtank_units::SimSpan::ZERO });
        put.current = first;
        put.flow = Flow { generation: put.flow.generation.wrapping_add(1), ..Flow::new(put.size, step) };
        step.act(Action::Retried(PutId { gateway: self.me, number: put.number }));
        put.request(self.me, &mut self.egress, step);
    }
}

/// A server that is not in `taken`, if there is one.
fn draw_server(taken: &[ServerId], step: &mut Step<'_>) -> Option<ServerId> {
    let servers = u64::from(step.terms.fixed.servers);
    if servers <= taken.len() as u64 && (0..servers as u32).all(|at| taken.contains(&ServerId(at))) {
        return None;
    }
    loop {
        let server = ServerId(step.draws.below(servers) as u32);
        if !taken.contains(&server) {
            return Some(server);
        }
    }
}

impl Flow {
    fn new(size: Size, step: &Step<'_>) -> Flow {
        Flow {
            rate: None,
            early: None,
            frames_left: step.terms.size(size).frames,
            previous_end: step.now,
            bucket: Bucket::full(step.terms.bucket_bits, step.now),
            generation: 0,
            offered: false,
            since_change: 0,
        }
    }
}

impl Put {
    fn done(&self, gateway: GatewayId) -> Done {
        Done { put: PutId { gateway, number: self.number }, size: self.size, created: self.created }
    }

    fn id(&self, gateway: GatewayId) -> PutId {
        PutId { gateway, number: self.number }
    }

    fn target(&self) -> Option<ServerId> {
        self.targets.get(self.current).map(|target| target.0)
    }

    /// Bits of the next frame.
    fn next_bits(&self, terms: &Terms) -> u64 {
        if self.flow.frames_left > 1 { terms.frame_bits } else { terms.size(self.size).last_bits }
    }

    fn request(&mut self, gateway: GatewayId, egress: &mut Bucket, step: &mut Step<'_>) {
        let Some(server) = self.target() else { return };
        let (put, size) = (self.id(gateway), self.size);
        egress.fill(step.now, step.terms.data);
        egress.take(step.terms.control_bits);
        self.flow.bucket.take(step.terms.control_bits);
        let message = Message::Request { put, size, chunk: None, round: 0, from: step.now };
        step.act(Action::Send { to: Peer::Server(server), message, after: towtank_units::SimSpan::ZERO });
        self.expect_acks(step);
    }

    /// Restarts the timeout for acknowledgements.
    fn expect_acks(&mut self, step: &mut Step<'_>) {
        if let Some(timeouts) = step.terms.fixed.timeouts {
            self.attempt += 1;
            let wake = Wake::AcksDue { number: self.number, attempt: self.attempt };
            step.act(Action::Wake { at: step.now.saturating_add(timeouts.acks), wake });
        }
    }

    /// Offers the next frame to the link, or sets a timer for when that can be done.
    fn try_frame(&mut self, gateway: GatewayId, egress: &mut Bucket, step: &mut Step<'_>) {
        let Some(to) = self.target() else { return };
        if self.flow.rate.is_none() {
            return;
        }
        let bits = self.next_bits(step.terms);
        debug_assert!(self.flow.frames_left > 0, "a frame of a complete replica is offered");
        debug_assert!(!self.flow.offered, "a frame is offered while another one is");
        egress.fill(step.now, step.terms.data);
        self.flow.bucket.fill(step.now, self.flow.rate);
        let ready = [egress.ready(bits, step.terms.data), self.flow.bucket.ready(bits, self.flow.rate)];
        let at = ready.into_iter().flatten().fold(step.now.max(self.flow.previous_end), SimTime::max);
        if at <= step.now {
            self.flow.offered = true;
            step.act(Action::Offer { to, put: self.id(gateway), bits });
        } else {
            self.flow.generation = self.flow.generation.wrapping_add(1);
            let wake = Wake::Frame { number: self.number, generation: self.flow.generation };
            step.act(Action::Wake { at, wake });
        }
    }

    fn send_frame(&mut self, gateway: GatewayId, egress: &mut Bucket, step: &mut Step<'_>) {
        let Some(to) = self.target().filter(|_| self.flow.offered) else { return };
        let Some(rate) = self.flow.rate else { return };
        let (terms, now) = (step.terms, step.now);
        let (bits, last) = (self.next_bits(terms), self.flow.frames_left == 1);
        let span = rate.span(bits, Rounding::Down);
        let on_wire = if terms.fixed.rules.frames_at_flow_rate { span } else { terms.wire(bits) };
        let put = self.id(gateway);
        step.act(Action::Frame { to, put, bits, span: on_wire });
        self.flow.offered = false;
        self.flow.previous_end = now.saturating_add(span);
        self.flow.frames_left -= 1;
        if !(last && terms.fixed.rules.last_frame_free) {
            egress.fill(now, terms.data);
            egress.take(bits);
            self.flow.bucket.fill(now, self.flow.rate);
            self.flow.bucket.take(bits);
        }
        if terms.fixed.protocol == Protocol::UchAimd {
            self.speed_up(bits, rate, terms);
        }
        if !last {
            self.try_frame(gateway, egress, step);
            return;
        }
        let before = self.current;
        self.current = self.targets.len().min(self.next_unsent());
        debug_assert!(self.current > before, "a replica is sent again after it was sent");
        debug_assert_eq!(self.flow.frames_left, 0, "a replica that was sent has frames left");
        if self.target().is_some() {
            let generation = self.flow.generation.wrapping_add(1);
            self.flow = Flow { generation, ..Flow::new(self.size, step) };
            self.request(gateway, egress, step);
        } else {
            self.expect_acks(step);
        }
    }

    /// The next target after the current one that has not acknowledged already.
    fn next_unsent(&self) -> usize {
        let rest = self.targets.iter().enumerate().skip(self.current + 1);
        rest.filter(|(_, target)| !target.1).map(|(at, _)| at).next().unwrap_or(self.targets.len())
    }

    /// AIMD: after a bucket's worth of bits without a request to slow down, the rate grows by a step.
    fn speed_up(&mut self, bits: u64, rate: BitRate, terms: &Terms) {
        self.flow.since_change += bits;
        if self.flow.since_change >= terms.bucket_bits {
            self.flow.since_change = 0;
            let faster = rate.saturating_add(terms.fixed.aimd_step);
            self.flow.rate = Some(faster.min(terms.data));
            debug_assert!(
                self.flow.rate >= Some(rate.min(terms.data)),
                "a flow at {rate:?} is slowed down for sending well"
            );
        }
    }
}
