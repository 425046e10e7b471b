//! A cluster of servers with one disk each, read and written by clients, to measure its capacity for a mix of
//! operations.
//!
//! A read goes to a random server; a hit is served from its cache, any other read from its disk, and the
//! data leave through its NIC. A write goes to as many servers as there are replicas; each receives it
//! through its NIC and writes it. The client has its acknowledgement when as many have as it waits for, and
//! the others write on. Disks and NICs serve in the order of arrival ([`towtank_devices`]). All clients are
//! one entity without a link of its own: either a fixed number of operations is under way at any time, or
//! they arrive at random and [`Admission`] decides which are admitted. Operations may be of several sizes
//! ([`Part`]): a closed loop draws the size of each, or keeps a number of each size under way
//! ([`Load::Streams`]).
//!
//! **Conservation:** operations begun = done + under way, and each of these waits for as many answers as
//! there are requests and answers of it in flight; operations begun = acknowledged + not yet acknowledged,
//! which in a closed loop are as many as its depth, of each size if sizes have their own; requests sent =
//! come to servers + in flight; what came to a server = answered by it + at it; answers sent = come + in
//! flight; and the work of disks = the work reported in answers + the work that later answers will report.
//! `audit` checks them.

mod audit;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use towtank_devices::{Access, CardClock, Disk, DiskClock, Link, Service};
use towtank_kernel::journal::{JournalVec, Journaled};
use towtank_kernel::{
    Committed, Context, EntityId, Fault, Links, Model, Outcome, RunError, RunOptions, Runs, Statistics,
    UndoBy,
};
use towtank_metrics::Histogram;
use towtank_streams::distributions::Exponential;
use towtank_streams::{Purpose, Uniform};
use towtank_units::{Bytes, SimSpan, SimTime};

use crate::admission::{Admission, PPM};

/// Whether an operation is a read or a write.
const KIND: Purpose = Purpose(1);
/// The servers of an operation.
const TARGET: Purpose = Purpose(2);
/// Whether a read hits the cache.
const HIT: Purpose = Purpose(3);
/// The time until the next operation arrives.
const ARRIVAL: Purpose = Purpose(4);
/// The part of the mix that an operation belongs to.
const PART: Purpose = Purpose(5);

/// How operations arrive.
#[derive(Clone, Debug)]
pub enum Load {
    /// A closed loop: this many are under way at any time.
    Closed(u32),
    /// A closed loop for each part of the mix: this many of it are under way at any time.
    Streams(Vec<u32>),
    /// An open loop: random arrivals, with a rate and a share of reads per phase.
    Open(Vec<(Exponential, u64)>),
}

/// Operations of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Bytes per operation.
    pub size: Bytes,
    /// The share of reads in a closed loop, in parts of 2^64.
    pub reads: u64,
    /// An operation belongs to the first part whose bound is not below its draw, in parts of 2^64; the last
    /// bound is `u64::MAX`.
    pub up_to: u64,
}

/// The cluster, with its load and its statistics.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// The number of servers.
    pub servers: u32,
    /// The number of servers with the fast disk; they come first.
    pub fast: u32,
    /// Copies of each write.
    pub replicas: u32,
    /// Copies that are written when a write is acknowledged.
    pub acks: u32,
    /// The parts of the mix; never empty, and at most 256.
    pub parts: Vec<Part>,
    /// The normal disk and the fast one.
    pub disks: [DiskClock; 2],
    /// The NIC of each server, and the latency from node to node.
    pub card: CardClock,
    /// The time of a read from the cache.
    pub cached: SimSpan,
    /// The share of reads that hit the cache, in parts of 2^64.
    pub hits: u64,
    /// How operations arrive.
    pub load: Load,
    /// The rule of admission.
    pub admission: Admission,
    /// Statistics begin here.
    pub from: SimTime,
    /// Statistics end here.
    pub until: SimTime,
    /// The length of a phase of an open loop.
    pub phase: SimSpan,
    /// The interval at which the busy time of disks is measured.
    pub window: SimSpan,
}

/// The state of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Entity {
    /// All clients.
    Clients(Box<Clients>),
    /// A server.
    Server(Server),
}

/// The state of all clients.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Clients {
    /// Operations under way, and free slots: there are many, so they keep a journal of changes.
    under_way: JournalVec<Option<Operation>>,
    free: JournalVec<u32>,
    books: Books,
}

/// The small part of the clients' state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Books {
    admission: Admission,
    begun: u64,
    acked: u64,
    done: u64,
    /// Requests sent, and answers received.
    asked: u64,
    answered: u64,
    /// The work of disks that answers reported, and its value at the last measurement.
    worked_ns: u64,
    looked_ns: u64,
    /// The first operation for which an answer arrived although it was not under way. Under speculation that
    /// may happen and be undone; if it is still set at the end, it is a fault.
    unknown: Option<u32>,
}

/// The state to restore when an event is undone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Undo {
    /// At the clients: the small part, and positions in the journals.
    Clients(Books, [u64; 2]),
    /// At a server: its whole state.
    Server(Server),
}

/// An operation under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Operation {
    began: SimTime,
    /// Answers that are to come.
    answers: u32,
    /// Those of them after which it is acknowledged.
    unacked: u32,
    /// Its part of the mix.
    part: u8,
    /// Whether it is a write.
    write: bool,
}

/// A server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Server {
    disk: Disk,
    card_in: Link,
    card_out: Link,
    /// Requests received, and answers sent.
    asked: u64,
    answered: u64,
}

/// An event of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Event {
    /// At the clients: the start of the run.
    Begin,
    /// At the clients: an operation arrives.
    Arrive,
    /// At the clients: the busy time of disks is measured.
    Look,
    /// At a server: a request arrives; that of a write with its last byte.
    Request {
        /// The operation.
        operation: u32,
        /// Its part of the mix.
        part: u8,
        /// Whether it is a write.
        write: bool,
        /// Whether it hits the cache.
        hit: bool,
    },
    /// At a server: the data of a write have been received.
    TakenIn {
        /// The operation.
        operation: u32,
        /// Its part of the mix.
        part: u8,
    },
    /// At a server: the disk or the cache has finished.
    Served {
        /// The operation.
        operation: u32,
        /// Its part of the mix.
        part: u8,
        /// Whether it is a write.
        write: bool,
        /// The disk's work for it.
        work_ns: u64,
    },
    /// At the clients: the answer of a server arrives.
    Answer {
        /// The operation.
        operation: u32,
        /// The disk's work for it.
        work_ns: u64,
    },
}

/// One observation for the statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// An operation was acknowledged within the measured span.
    Done {
        /// Its latency.
        span: SimSpan,
        /// Its part of the mix.
        part: u8,
        /// Whether it is a write.
        write: bool,
    },
    /// An operation was rejected.
    SentAway,
    /// A disk is busy from the first to the second instant.
    Busy(SimTime, SimTime),
    /// The number of windows that count, their length, and the start of the first.
    Windows(u32, SimSpan, SimTime),
}

/// The operations of one part of the mix that were acknowledged within the measured span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PartCounts {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// The sum of their latencies, in nanoseconds.
    pub waited_ns: u64,
}

/// The statistics of one node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Counts {
    /// Latencies of operations, in nanoseconds.
    pub latencies: Histogram,
    /// The operations of each part of the mix, up to the last part that has any.
    pub parts: Vec<PartCounts>,
    /// Operations rejected.
    pub sent_away: u64,
    /// Busy time of disks in nanoseconds, per window.
    pub busy_ns: Vec<u64>,
    window_ns: u64,
    from_ns: u64,
}

impl Statistics for Counts {
    type Sample = Sample;

    fn add(&mut self, sample: Sample) {
        match sample {
            Sample::Done { span, part, write } => {
                self.latencies.record(span.as_ns());
                let at = usize::from(part);
                if self.parts.len() <= at {
                    self.parts.resize(at + 1, PartCounts::default());
                }
                let counts = &mut self.parts[at];
                counts.reads += u64::from(!write);
                counts.writes += u64::from(write);
                counts.waited_ns += span.as_ns();
            }
            Sample::SentAway => self.sent_away += 1,
            Sample::Windows(count, window, from) => {
                self.busy_ns = vec![0; count as usize];
                (self.window_ns, self.from_ns) = (window.as_ns(), from.as_ns());
            }
            Sample::Busy(begin, end) => {
                let (mut at, end) = (begin.as_ns().max(self.from_ns), end.as_ns());
                while at < end {
                    let window = (at - self.from_ns) / self.window_ns.max(1);
                    let Some(busy) = self.busy_ns.get_mut(window as usize) else { return };
                    let next = (self.from_ns + (window + 1) * self.window_ns).min(end);
                    *busy += next - at;
                    at = next;
                }
            }
        }
    }

    fn merge(&mut self, other: &Counts) {
        self.latencies.merge(&other.latencies);
        self.sent_away += other.sent_away;
        if self.parts.len() < other.parts.len() {
            self.parts.resize(other.parts.len(), PartCounts::default());
        }
        for (mine, theirs) in self.parts.iter_mut().zip(&other.parts) {
            mine.reads += theirs.reads;
            mine.writes += theirs.writes;
            mine.waited_ns += theirs.waited_ns;
        }
        if self.busy_ns.len() < other.busy_ns.len() {
            self.busy_ns.resize(other.busy_ns.len(), 0);
        }
        self.busy_ns.iter_mut().zip(&other.busy_ns).for_each(|(mine, theirs)| *mine += theirs);
    }
}

type Ctx<'a> = Context<'a, Cluster>;

const CLIENTS: EntityId = EntityId(0);

impl Cluster {
    /// The transmission time of an operation at a NIC.
    fn wire(&self, part: u8) -> SimSpan {
        self.card.span(self.parts[usize::from(part)].size.get())
    }

    /// The latency from node to node.
    fn trip(&self) -> SimSpan {
        self.card.spec().latency
    }

    /// The part of the next operation of a loop that draws it.
    fn drawn(&self, context: &mut Ctx<'_>) -> u8 {
        if self.parts.len() == 1 {
            return 0;
        }
        let word = context.draws(PART).next_u64();
        self.parts.partition_point(|part| part.up_to < word) as u8
    }

    fn is_read(&self, now: SimTime, part: u8, word: u64) -> bool {
        let reads = match &self.load {
            Load::Closed(_) | Load::Streams(_) => self.parts[usize::from(part)].reads,
            Load::Open(phases) => phases[self.phase_at(now, phases.len())].1,
        };
        word < reads || reads == u64::MAX
    }

    fn phase_at(&self, now: SimTime, phases: usize) -> usize {
        let since = now.checked_since(self.from).unwrap_or(SimSpan::ZERO);
        ((since.as_ns() / self.phase.as_ns().max(1)) as usize).min(phases.saturating_sub(1))
    }

    fn at_clients(&self, clients: &mut Clients, event: &Event, context: &mut Ctx<'_>) -> bool {
        match *event {
            Event::Begin => match &self.load {
                Load::Closed(depth) => (0..*depth).for_each(|_| {
                    let part = self.drawn(context);
                    self.begin(clients, part, context);
                }),
                Load::Streams(depths) => {
                    for (part, depth) in (0_u8..).zip(depths) {
                        (0..*depth).for_each(|_| self.begin(clients, part, context));
                    }
                }
                Load::Open(_) => {}
            },
            Event::Arrive => {
                let part = self.drawn(context);
                self.begin(clients, part, context);
                self.await_operation(context);
            }
            Event::Look => {
                let whole = u128::from(self.servers) * u128::from(self.window.as_ns().max(1));
                let books = &mut clients.books;
                let work_ns = books.worked_ns - books.looked_ns;
                let busy = u128::from(work_ns) * PPM as u128 / whole;
                books.admission.look(i64::try_from(busy).unwrap_or(i64::MAX));
                books.looked_ns = books.worked_ns;
                context.send(CLIENTS, self.window, Event::Look);
            }
            Event::Answer { operation, work_ns } => self.answer(clients, operation, work_ns, context),
            _ => return false,
        }
        true
    }

    fn await_operation(&self, context: &mut Ctx<'_>) {
        if let Load::Open(phases) = &self.load {
            let gaps = &phases[self.phase_at(context.now(), phases.len())].0;
            let gap = gaps.sample_span(&mut context.draws(ARRIVAL));
            context.send(CLIENTS, gap, Event::Arrive);
        }
    }

    fn begin(&self, clients: &mut Clients, part: u8, context: &mut Ctx<'_>) {
        let now = context.now();
        let word = context.draws(KIND).next_u64();
        let write = !self.is_read(now, part, word);
        if !clients.books.admission.admits(now, write) {
            if self.from <= now && now < self.until {
                context.record(Sample::SentAway);
            }
            return;
        }
        let hit = !write && self.hits > 0 && context.draws(HIT).next_u64() <= self.hits;
        let answers = if write { self.replicas } else { 1 };
        let unacked = if write { self.acks.clamp(1, answers) } else { answers };
        let entry = Some(Operation { began: now, answers, unacked, part, write });
        let operation = match clients.free.pop() {
            Some(place) => {
                clients.under_way.set(place as usize, entry);
                place
            }
            None => {
                clients.under_way.push(entry);
                clients.under_way.get().len() as u32 - 1
            }
        };
        clients.books.begun += 1;
        clients.books.asked += u64::from(answers);
        let after = if write { self.trip().saturating_add(self.wire(part)) } else { self.trip() };
        let mut chosen: Vec<u32> = Vec::with_capacity(answers as usize);
        while chosen.len() < answers as usize {
            let server = context.draws(TARGET).below(u64::from(self.servers)) as u32;
            if !chosen.contains(&server) {
                chosen.push(server);
                context.send(EntityId(1 + server), after, Event::Request { operation, part, write, hit });
            }
        }
    }

    fn answer(&self, clients: &mut Clients, operation: u32, work_ns: u64, context: &mut Ctx<'_>) {
        let Some(Operation { began, part, write, .. }) = clients.take(operation, work_ns) else { return };
        let now = context.now();
        if self.from <= now && now < self.until {
            context.record(Sample::Done { span: now.since(began), part, write });
        }
        match self.load {
            Load::Closed(_) => {
                let part = self.drawn(context);
                self.begin(clients, part, context);
            }
            Load::Streams(_) => self.begin(clients, part, context),
            Load::Open(_) => {}
        }
    }

    fn at_server(&self, server: &mut Server, event: &Event, context: &mut Ctx<'_>) -> bool {
        let now = context.now();
        server.asked += u64::from(matches!(event, Event::Request { .. }));
        server.answered += u64::from(matches!(event, Event::Served { .. }));
        match *event {
            Event::Request { operation, part, write: true, .. } => {
                let in_at = server.card_in.receive(now, self.wire(part)).end;
                context.send_at(context.me(), in_at, Event::TakenIn { operation, part });
            }
            Event::Request { operation, part, hit: true, .. } => {
                let served = Event::Served { operation, part, write: false, work_ns: 0 };
                context.send(context.me(), self.cached, served);
            }
            Event::Request { operation, part, .. } => {
                self.to_disk(server, (operation, part), false, context);
            }
            Event::TakenIn { operation, part } => self.to_disk(server, (operation, part), true, context),
            Event::Served { operation, part, write, work_ns } => {
                let sent = if write { now } else { server.card_out.send(now, self.wire(part)).end };
                let answer = Event::Answer { operation, work_ns };
                context.send_at(CLIENTS, sent.saturating_add(self.trip()), answer);
            }
            _ => return false,
        }
        true
    }

    fn to_disk(&self, server: &mut Server, (operation, part): (u32, u8), write: bool, context: &mut Ctx<'_>) {
        let fast = context.me().0 <= self.fast;
        let bytes = self.parts[usize::from(part)].size.get();
        let access = Access { stream: operation, offset: 0, bytes, write };
        let Service { begin, end } = server.disk.serve(&self.disks[usize::from(fast)], context.now(), access);
        context.record(Sample::Busy(begin, end));
        let work_ns = end.since(begin).as_ns();
        context.send_at(context.me(), end, Event::Served { operation, part, write, work_ns });
    }
}

impl Clients {
    /// Processes an answer; returns its operation, if it acknowledges it.
    fn take(&mut self, operation: u32, work_ns: u64) -> Option<Operation> {
        let Some(waiting) = self.under_way.get().get(operation as usize).copied().flatten() else {
            self.books.unknown.get_or_insert(operation);
            return None;
        };
        self.books.answered += 1;
        self.books.worked_ns += work_ns;
        let acks = waiting.unacked == 1;
        self.books.acked += u64::from(acks);
        let answers = waiting.answers - 1;
        if answers > 0 {
            let unacked = waiting.unacked.saturating_sub(1);
            self.under_way.set(operation as usize, Some(Operation { answers, unacked, ..waiting }));
        } else {
            self.under_way.set(operation as usize, None);
            self.free.push(operation);
            self.books.done += 1;
        }
        acks.then_some(waiting)
    }

    fn marks(&self) -> [u64; 2] {
        [self.under_way.mark(), self.free.mark()]
    }
}

impl Runs for Cluster {
    fn run(&self, options: RunOptions<'_>) -> Result<Outcome<Self>, RunError> {
        towtank_kernel::run(self, options)
    }
}

impl Model for Cluster {
    type Entity = Entity;
    type Event = Event;
    type Undo = Undo;
    type Statistics = Counts;
    type Output = ();

    const UNDO: UndoBy = UndoBy::Inverse;
    const AUDITS_PENDING: bool = true;

    fn entities(&self) -> u32 {
        1 + self.servers
    }

    fn links(&self) -> Links {
        Links::all(self.trip())
    }

    fn create(&self, id: EntityId) -> Entity {
        if id != CLIENTS {
            return Entity::Server(Server::default());
        }
        Entity::Clients(Box::new(Clients {
            under_way: JournalVec::new(Vec::new()),
            free: JournalVec::new(Vec::new()),
            books: Books {
                admission: self.admission,
                begun: 0,
                acked: 0,
                done: 0,
                asked: 0,
                answered: 0,
                worked_ns: 0,
                looked_ns: 0,
                unknown: None,
            },
        }))
    }

    fn start(&self, entity: &mut Entity, context: &mut Ctx<'_>) -> Result<(), Fault> {
        let windows = self.until.since(self.from).as_ns() / self.window.as_ns().max(1);
        context.record(Sample::Windows(u32::try_from(windows).unwrap_or(u32::MAX), self.window, self.from));
        if let Entity::Clients(_) = entity {
            context.send(CLIENTS, SimSpan::ZERO, Event::Begin);
            if let Load::Open(_) = self.load {
                self.await_operation(context);
                context.send(CLIENTS, self.window, Event::Look);
            }
        }
        Ok(())
    }

    fn handle(&self, entity: &mut Entity, event: &Event, context: &mut Ctx<'_>) -> Result<Undo, Fault> {
        let (undo, understood) = match entity {
            Entity::Clients(clients) => {
                (Undo::Clients(clients.books, clients.marks()), self.at_clients(clients, event, context))
            }
            Entity::Server(server) => (Undo::Server(*server), self.at_server(server, event, context)),
        };
        if understood { Ok(undo) } else { Err(format!("{event:?} makes no sense here").into()) }
    }

    fn undo(&self, entity: &mut Entity, _: &Event, undo: Undo) {
        match (entity, undo) {
            (Entity::Clients(clients), Undo::Clients(books, [under_way, free])) => {
                clients.books = books;
                clients.under_way.revert(under_way);
                clients.free.revert(free);
            }
            (Entity::Server(server), Undo::Server(before)) => *server = before,
            (entity, undo) => unreachable!("{undo:?} is not of {entity:?}"),
        }
    }

    fn begin_speculation(&self, entity: &mut Entity) {
        if let Entity::Clients(clients) = entity {
            clients.under_way.begin();
            clients.free.begin();
        }
    }

    fn committed(&self, entity: &mut Entity, undo: Undo) {
        if let (Entity::Clients(clients), Undo::Clients(_, [under_way, free])) = (entity, undo) {
            clients.under_way.forget(under_way);
            clients.free.forget(free);
        }
    }

    fn audit(&self, committed: &Committed<'_, Self>) -> Result<(), Fault> {
        audit::audit(self, committed)
    }
}
