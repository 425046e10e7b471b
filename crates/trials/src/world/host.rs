//! A machine with a device: its directory, its clock, and the daemon that runs on it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use towtank_replication::Incarnation;
use towtank_store::engine::{Engine, Sync};
use towtank_store::frames::{Answer, Ask, FromMonitor, Hello, PeerFrame, Report, Taken, ToMonitor};
use towtank_store::identity::Shown;
use towtank_store::map::MapId;
use towtank_store::osd::core::{Arrival, Core, Effect, Parts, Portion};
use towtank_store::osd::line::{Heard, Me, Next, Talk};
use towtank_store::osd::links::{Incoming, Outgoing, Place, Sender};
use towtank_store::runs::Runs;
use towtank_streams::Purpose;
use towtank_units::{SimSpan, SimTime};

use super::words::Words;
use super::{Event, Node, Packet, World, decoded, encoded};
use crate::planted::{Planted, Shell};
use crate::twin::{Contents, Twin};

/// How long to connect to another daemon, and the time before the next attempt.
const CONNECT_TIME: SimSpan = SimSpan::from_secs(2);
const RETRY: SimSpan = SimSpan::from_ms(50);

/// How long the monitor may take for an answer, and the time before the next attempt.
const ANSWER_TIME: SimSpan = SimSpan::from_secs(10);
const RETRY_MONITOR: SimSpan = SimSpan::from_ms(100);

/// How long the monitor may wait until there is a newer map.
const MAPS_WAIT_MS: u32 = 2_000;
const MAPS_WAIT: SimSpan = SimSpan::from_ms(2_000);

/// After how long it is noticed that a packet was lost: its connection is broken.
const BREAK_MS: u64 = 300;

/// The most arrivals of a portion.
const PORTION: usize = 128;

/// Where an answer goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Door {
    Client(usize),
    /// Whoever compares the replicas at the end.
    Inspector,
}

/// What a device is by its directory.
#[derive(Clone, Debug)]
pub(super) struct Directory {
    pub incarnation: Incarnation,
    pub runs: Runs,
    pub contents: Contents,
    /// What others rely on that a daemon which ran in it has said.
    pub words: Words,
    /// Whether its journal rotted, and what was acknowledged is perhaps not known here again.
    pub is_rotten: bool,
}

impl Directory {
    pub(super) fn empty(incarnation: Incarnation) -> Directory {
        let (runs, contents) = (Runs::default(), Contents::default());
        Directory { incarnation, runs, contents, words: Words::default(), is_rotten: false }
    }
}

pub(super) struct Host {
    pub directory: Directory,
    /// A copy of the directory from before its last start.
    pub older: Option<Directory>,
    /// The directory that belongs here, while another is in its place.
    pub aside: Option<Directory>,
    /// The clock gains or loses so many millionths.
    rate: i64,
    /// How long the clock has stood still or will have when it goes on, and when it stopped and goes on.
    stood: u64,
    stopped: (SimTime, SimTime),
    pub paused_until: SimTime,
    /// The number of the last start; it changes when the daemon ends.
    pub start: u64,
    pub run: Option<Run>,
    /// Why the daemon cannot be started.
    pub refused: Option<String>,
    /// How many faults keep it from being started.
    pub held: u32,
    pub is_full: bool,
    pub is_slow: bool,
    /// Whether the machine is without power: then nothing answers there, not even that nobody listens.
    pub is_dark: bool,
}

/// The connection to the daemon at the other end.
#[derive(Debug, Default)]
struct Link {
    outgoing: Outgoing,
    /// The generation of the connection, and the start at the other end once that has accepted it.
    connected: Option<(u64, Option<u64>)>,
    /// The event that is due next.
    number: u64,
}

pub(super) struct Run {
    instance: u64,
    /// What the directory knows once the monitor has been reached.
    runs: Runs,
    pub core: Core<Door>,
    pub twin: Arc<Twin>,
    engine: Engine,
    talk: Talk,
    /// The question that the monitor has not answered, or the event that is due.
    line: u64,
    /// Whether nothing is to be said before that.
    rests: bool,
    maps: u64,
    heard: Option<MapId>,
    is_registered: bool,
    incoming: Incoming,
    /// Connections of others that were accepted and are not over.
    accepted: BTreeSet<(Sender, u64)>,
    links: BTreeMap<u32, Link>,
    inbox: Vec<Arrival<Door>>,
    pub pending: Option<Portion<Door>>,
    report: Report,
    wake: u64,
    pub leaves: bool,
}

impl Run {
    fn new(
        (instance, runs): (u64, Runs),
        core: Core<Door>,
        (twin, engine): (Arc<Twin>, Engine),
        talk: Talk,
        first: Portion<Door>,
    ) -> Run {
        Run {
            instance,
            runs,
            core,
            twin,
            engine,
            talk,
            line: 0,
            rests: false,
            maps: 0,
            heard: None,
            is_registered: false,
            incoming: Incoming::default(),
            accepted: BTreeSet::new(),
            links: BTreeMap::new(),
            inbox: Vec::new(),
            pending: Some(first),
            report: Report::default(),
            wake: 0,
            leaves: false,
        }
    }
}

impl Host {
    pub(super) fn new(incarnation: Incarnation, rate: i64) -> Host {
        Host {
            directory: Directory::empty(incarnation),
            older: None,
            aside: None,
            rate,
            stood: 0,
            stopped: (SimTime::ZERO, SimTime::ZERO),
            paused_until: SimTime::ZERO,
            start: 0,
            run: None,
            refused: None,
            held: 0,
            is_full: false,
            is_slow: false,
            is_dark: false,
        }
    }

    /// What the machine's clock shows.
    fn clock(&self, now: SimTime) -> SimTime {
        let rest = self.stopped.1.checked_since(now.max(self.stopped.0)).unwrap_or(SimSpan::ZERO);
        let runs = (1_000_000_000 + now.as_ns()).saturating_sub(self.stood.saturating_sub(rest.as_ns()));
        SimTime::from_ns((i128::from(runs) * i128::from(1_000_000 + self.rate) / 1_000_000) as u64)
    }

    /// The clock stands still from now on, for so long.
    pub(super) fn stop_clock(&mut self, now: SimTime, span: SimSpan) {
        if now >= self.stopped.1 {
            self.stopped = (now, now.saturating_add(span));
            self.stood += span.as_ns();
        }
    }
}

impl World {
    pub(super) fn is_running(&self, osd: u32) -> bool {
        self.hosts.get(&osd).is_some_and(|host| host.run.is_some())
    }

    /// Whether a daemon runs, is registered and does not end.
    pub(super) fn serves(&self, osd: u32) -> bool {
        let run = self.hosts.get(&osd).and_then(|host| host.run.as_ref());
        run.is_some_and(|run| run.is_registered && !run.leaves)
    }

    fn run_of(&mut self, osd: u32, start: u64) -> Option<(&mut Host, SimTime)> {
        let now = self.now;
        let host = self.hosts.get_mut(&osd)?;
        let clock = host.clock(now);
        (host.start == start && host.run.is_some()).then_some((host, clock))
    }

    /// Starts a daemon that does not run, if nothing keeps it from that.
    pub(super) fn start(&mut self, osd: u32) {
        let (cluster, start, instance) = (self.cluster, self.give(), self.give());
        let cuts_silently = self.is_planted(Shell::CutsSilently);
        let (settings, now) = (self.settings.clone(), self.now);
        let Some(host) = self.hosts.get_mut(&osd) else { return };
        if host.run.is_some() || host.held > 0 || host.refused.is_some() {
            return;
        }
        host.is_dark = false;
        let before = host.directory.clone();
        let twin = match Twin::open(host.directory.contents.clone()) {
            Ok(twin) => Arc::new(twin),
            Err(error) => {
                host.refused = Some(error.to_string());
                self.tell(|| format!("osd.{osd} is not opened: {error}"));
                return;
            }
        };
        twin.fill(host.is_full);
        host.older = Some(before);
        let tables: Arc<dyn towtank_store::engine::Tables> = Arc::clone(&twin) as _;
        let engine = Engine::on(tables, Sync::Always).expect("the twin can be read");
        if cuts_silently {
            engine.decide().expect("the twin can be written");
        }
        host.directory.is_rotten &= engine.undecided().expect("the twin can be read").is_some();
        let Directory { incarnation, ref runs, ref words, .. } = host.directory;
        let words = words.clone();
        let mut runs = runs.clone();
        runs.begin(instance);
        let parts = Parts { settings, engine: engine.clone(), osd, instance, incarnation };
        let made = Core::new(parts, host.clock(now));
        let (core, first) = match made {
            Ok(made) => made,
            Err(error) => return self.wrong(format!("osd.{osd} cannot be started: {error}")),
        };
        let forgotten = words.forgotten(|group| core.durable(group));
        let me = Me {
            osd,
            instance,
            address: format!("osd.{osd}"),
            shown: Shown { cluster, incarnation, runs: runs.clone() },
        };
        let rule = match self.plan.planted {
            Some(Planted::Line(rule)) => Some(rule),
            _ => None,
        };
        let talk = Talk::new(me, core.known()).planted(rule);
        host.start = start;
        host.run = Some(Run::new((instance, runs), core, (twin, engine), talk, first));
        self.tell(|| format!("osd.{osd} starts, run {instance}"));
        if let Some(what) = forgotten {
            self.wrong(format!("osd.{osd} {what}"));
        }
        self.committed(osd, start);
        self.line_at(osd, start, SimSpan::from_ns(1));
    }

    /// The daemon ends without a word. What a portion has written may be on the disk or not; with the power
    /// goes what was not synced.
    pub(super) fn kill(&mut self, osd: u32, loses_power: bool) {
        let kept = match self.kept {
            Some(kept) => kept,
            None => self.below(3),
        };
        let mut draws = self.draws.clone();
        let Some(host) = self.hosts.get_mut(&osd) else { return };
        if let Some(run) = host.run.take() {
            if let Some(Portion { writes, .. }) = run.pending.filter(|it| !it.writes.is_empty()) {
                match kept {
                    0 => {}
                    1 => run.twin.write_unsynced(writes),
                    // A disk that fails loses it, as one that does not get it.
                    _ => drop(run.engine.commit(writes)),
                }
            }
            host.directory.contents = run.twin.contents();
        }
        if loses_power {
            host.directory.contents.lose_power(&mut draws.of(Purpose(4)));
        }
        self.draws = draws;
        let start = self.give();
        if let Some(host) = self.hosts.get_mut(&osd) {
            host.start = start;
            host.is_dark |= loses_power;
        }
        self.tell(|| format!("osd.{osd} ends"));
        self.hang_up(osd);
    }

    fn wake_at(&mut self, osd: u32, start: u64, span: SimSpan) {
        let number = self.give();
        let late = if self.below(50) == 0 { self.around(20_000) } else { SimSpan::from_ns(1_000) };
        let Some((host, _)) = self.run_of(osd, start) else { return };
        let Some(run) = &mut host.run else { return };
        run.wake = number;
        let after = SimSpan::from_ns(span.as_ns() + late.as_ns());
        self.after(after, Event::Wake { osd, start, number });
    }

    /// The core of a daemon handles what has arrived, unless it is still busy.
    pub(super) fn wake(&mut self, osd: u32, start: u64, number: u64) {
        let latency = {
            let is_slow = self.hosts.get(&osd).is_some_and(|host| host.is_slow);
            self.around(if is_slow { 60_000 } else { self.sync_micros })
        };
        let speaks_early = self.is_planted(Shell::SpeaksBeforeSync);
        let Some((host, clock)) = self.run_of(osd, start) else { return };
        let Some(run) = &mut host.run else { return };
        if run.wake != number || run.pending.is_some() || !run.is_registered || run.leaves {
            return;
        }
        let count = run.inbox.len().min(PORTION);
        let arrivals: Vec<_> = run.inbox.drain(..count).collect();
        let mut portion = match run.core.portion(clock, arrivals) {
            Ok(portion) => portion,
            Err(error) => return self.wrong(format!("osd.{osd} cannot go on: {error}")),
        };
        let leads = World::led_by(&portion.effects);
        let early = if speaks_early { std::mem::take(&mut portion.effects) } else { Vec::new() };
        let is_empty = portion.writes.is_empty();
        run.pending = Some(portion);
        early.into_iter().for_each(|effect| self.release(osd, start, effect));
        if is_empty {
            self.committed(osd, start);
        } else {
            self.after(latency, Event::Committed { osd, start });
            self.crash_in_commit_of(osd, SimSpan::from_ns(latency.as_ns() / 2), leads);
        }
    }

    /// Makes what a portion wrote durable, and carries out what follows from it.
    pub(super) fn committed(&mut self, osd: u32, start: u64) {
        let Some((host, _)) = self.run_of(osd, start) else { return };
        let Some(run) = &mut host.run else { return };
        let Some(Portion { writes, effects }) = run.pending.take() else { return };
        if run.engine.commit(writes).is_err() {
            self.tell(|| format!("the disk of osd.{osd} reports an error"));
            return self.end_with_error(osd);
        }
        host.directory.words.keep(|group| run.core.durable(group).is_some());
        for effect in effects {
            self.release(osd, start, effect);
        }
        self.rest(osd, start);
    }

    /// The daemon ends, since its disk has failed, and is started again later.
    fn end_with_error(&mut self, osd: u32) {
        self.kill(osd, false);
        let span = self.around(500_000);
        self.after(span, Event::Start { osd });
    }

    /// The core rests until something is due or arrives.
    fn rest(&mut self, osd: u32, start: u64) {
        let Some((host, clock)) = self.run_of(osd, start) else { return };
        let Some(run) = &mut host.run else { return };
        if run.leaves || !run.is_registered {
            return;
        }
        let span = if run.inbox.is_empty() { run.core.idle(clock) } else { SimSpan::ZERO };
        self.wake_at(osd, start, span);
    }

    /// Something has arrived for the core.
    pub(super) fn arrive(&mut self, osd: u32, start: u64, arrival: Arrival<Door>) {
        let Some((host, _)) = self.run_of(osd, start) else { return };
        let Some(run) = &mut host.run else { return };
        run.inbox.push(arrival);
        if run.pending.is_none() && run.is_registered {
            self.wake_at(osd, start, SimSpan::ZERO);
        }
    }

    fn release(&mut self, osd: u32, start: u64, effect: Effect<Door>) {
        let Some((host, _)) = self.run_of(osd, start) else { return };
        let Some(run) = &mut host.run else { return };
        match effect {
            Effect::Locate { osd: to, at } => {
                let link = run.links.entry(to).or_default();
                if link.outgoing.locate(at) {
                    (link.connected, link.number) = (None, 0);
                }
            }
            Effect::Send { to, group, message } => {
                host.directory.words.note(group, &message);
                let Some(link) = run.links.get_mut(&to) else { return };
                link.outgoing.push(group, message);
                self.push_link(osd, start, to);
            }
            Effect::Answer { door, answer } => self.answer(osd, door, answer),
            Effect::Want { group, epoch, acting } => {
                run.talk.want(group, epoch, acting);
                // One that waits for the monitor says it with its next word.
                if run.rests {
                    self.line_at(osd, start, SimSpan::from_ns(1));
                }
            }
            Effect::NoteDoubts(note) => run.engine.note_doubts(note).expect("the twin can be written"),
            Effect::Decide => {
                run.engine.decide().expect("the twin can be written");
                host.directory.is_rotten = false;
            }
            Effect::Mark => {
                if run.engine.mark().is_err() {
                    self.end_with_error(osd);
                }
            }
            Effect::Reclaim => {
                run.engine.reclaim().expect("the twin can be written");
                run.inbox.push(Arrival::Reclaimed);
            }
            Effect::Report(report) => run.report = *report,
            Effect::Say(text) => self.tell(|| format!("osd.{osd}: {text}")),
        }
    }

    fn answer(&mut self, osd: u32, door: Door, answer: Answer) {
        match door {
            Door::Client(client) => {
                self.tells(osd, client, &answer.reply);
                self.send(Node::Osd(osd), Node::Client(client), Packet::Answer { bytes: encoded(&answer) });
            }
            Door::Inspector => self.inspected(osd, answer),
        }
    }

    // Links to other daemons.

    fn link_at(&mut self, osd: u32, start: u64, to: u32, span: SimSpan) {
        let number = self.give();
        let Some((host, _)) = self.run_of(osd, start) else { return };
        let Some(link) = host.run.as_mut().and_then(|run| run.links.get_mut(&to)) else { return };
        link.number = number;
        self.after(span, Event::Link { osd, start, to, number });
    }

    /// Sends what waits over the connection, or begins one.
    fn push_link(&mut self, osd: u32, start: u64, to: u32) {
        loop {
            let Some((host, _)) = self.run_of(osd, start) else { return };
            let Some(run) = &mut host.run else { return };
            let (instance, Some(link)) = (run.instance, run.links.get_mut(&to)) else { return };
            match link.connected {
                // It is being tried again later.
                None if link.number != 0 => return,
                None => {
                    let Some(begun) = link.outgoing.begin() else { return };
                    let generation = begun.generation;
                    link.connected = Some((generation, None));
                    let to_instance = begun.target.instance;
                    let bytes = encoded(&Hello::Peer { osd, instance, to_instance, first: begun.first });
                    let is_sent =
                        self.send(Node::Osd(osd), Node::Osd(to), Packet::Hello { generation, bytes });
                    let span = if is_sent { CONNECT_TIME } else { self.break_time() };
                    return self.link_at(osd, start, to, span);
                }
                Some((_, None)) => return,
                Some((generation, Some(there))) => {
                    let Some(frame) = link.outgoing.next(generation) else { return };
                    let packet = Packet::Frame { generation, start: there, bytes: frame.to_vec() };
                    if !self.send(Node::Osd(osd), Node::Osd(to), packet) {
                        if self.is_planted(Shell::TakenUnseen) {
                            let sequence = decoded::<PeerFrame>(&frame).sequence;
                            self.taken(osd, start, to, (generation, sequence));
                            continue;
                        }
                        let span = self.break_time();
                        self.link_at(osd, start, to, span);
                    }
                }
            }
        }
    }

    fn break_time(&mut self) -> SimSpan {
        SimSpan::from_ms(1 + self.below(2 * BREAK_MS))
    }

    /// The connection to another daemon is over, or the pause after that.
    pub(super) fn link(&mut self, osd: u32, start: u64, to: u32, number: u64) {
        let Some((host, _)) = self.run_of(osd, start) else { return };
        let Some(link) = host.run.as_mut().and_then(|run| run.links.get_mut(&to)) else { return };
        if link.number != number {
            return;
        }
        link.number = 0;
        match link.connected.take() {
            Some((generation, _)) => {
                link.outgoing.broken(generation);
                self.link_at(osd, start, to, RETRY);
            }
            None => self.push_link(osd, start, to),
        }
    }

    fn taken(&mut self, osd: u32, start: u64, by: u32, (generation, last): (u64, u64)) {
        let Some((host, _)) = self.run_of(osd, start) else { return };
        let Some(link) = host.run.as_mut().and_then(|run| run.links.get_mut(&by)) else { return };
        link.outgoing.taken(generation, last);
    }

    /// The other end closes the connection.
    fn closed(&mut self, osd: u32, start: u64, by: u32, generation: u64) {
        let Some((host, _)) = self.run_of(osd, start) else { return };
        let Some(link) = host.run.as_mut().and_then(|run| run.links.get_mut(&by)) else { return };
        if link.connected.is_some_and(|(current, _)| current == generation) {
            self.link_at(osd, start, by, SimSpan::from_ns(1));
        }
    }

    /// A packet arrives at a machine.
    pub(super) fn hand_over(&mut self, osd: u32, from: Node, sender: u64, packet: Packet) {
        let start = self.hosts.get(&osd).map_or(0, |host| host.start);
        let is_over = match from {
            Node::Osd(other) => self.hosts.get(&other).is_none_or(|host| host.start != sender),
            Node::Monitor => self.keeper.start != sender,
            Node::Client(_) => false,
        };
        match (from, packet) {
            // The connection has ended with the process at its other end.
            _ if is_over => {}
            (from, packet) if !self.is_running(osd) => self.refuse(osd, from, packet),
            (Node::Osd(other), Packet::Hello { generation, bytes }) => {
                self.accept(osd, start, other, (generation, &bytes));
            }
            (Node::Osd(other), Packet::Frame { generation, start: to, bytes }) => {
                if to == start {
                    self.take_frame(osd, start, other, (generation, &bytes));
                } else {
                    self.close(osd, other, generation);
                }
            }
            (Node::Osd(other), Packet::Welcome { generation, start: there }) => {
                self.welcomed(osd, start, other, (generation, there));
            }
            (Node::Osd(other), Packet::Taken { generation, bytes }) => {
                let Taken(last) = decoded(&bytes);
                self.taken(osd, start, other, (generation, last));
            }
            (Node::Osd(other), Packet::Closed { generation }) => self.closed(osd, start, other, generation),
            (Node::Monitor, Packet::FromMonitor { number, bytes }) => {
                self.hear_monitor(osd, start, number, decoded(&bytes));
            }
            (Node::Client(client), Packet::Ask { bytes, .. }) => {
                let ask: Ask = decoded(&bytes);
                self.arrive(osd, start, Arrival::Ask { ask, door: Door::Client(client) });
            }
            (from, packet) => unreachable!("{packet:?} from {from:?}"),
        }
    }

    /// No process listens: the machine says so, if it has power.
    fn refuse(&mut self, osd: u32, from: Node, packet: Packet) {
        if self.hosts.get(&osd).is_none_or(|host| host.is_dark) {
            return;
        }
        match (from, packet) {
            (Node::Osd(other), Packet::Hello { generation, .. } | Packet::Frame { generation, .. }) => {
                self.close(osd, other, generation);
            }
            (Node::Client(_), Packet::Ask { number, .. }) => {
                self.send(Node::Osd(osd), from, Packet::Refused { number });
            }
            _ => {}
        }
    }

    fn accept(&mut self, osd: u32, start: u64, other: u32, (generation, bytes): (u64, &[u8])) {
        let Hello::Peer { osd: by, instance, to_instance, first } = decoded(bytes) else { return };
        let Some((host, _)) = self.run_of(osd, start) else { return };
        let Some(run) = &mut host.run else { return };
        if to_instance != run.instance {
            return self.close(osd, other, generation);
        }
        let sender = Sender { osd: by, instance };
        run.incoming.begin(sender, first);
        run.accepted.insert((sender, generation));
        self.send(Node::Osd(osd), Node::Osd(other), Packet::Welcome { generation, start });
    }

    /// Ends a connection of another daemon, which notices that sooner or later: what says so is repeated.
    fn close(&mut self, osd: u32, other: u32, generation: u64) {
        let (from, to, packet) = (Node::Osd(osd), Node::Osd(other), Packet::Closed { generation });
        if !self.send(from, to, packet.clone()) {
            let (start, span) = (self.hosts.get(&osd).map_or(0, |host| host.start), self.break_time());
            self.after(span, Event::Deliver { from, start, to, packet });
        }
    }

    fn welcomed(&mut self, osd: u32, start: u64, other: u32, (generation, there): (u64, u64)) {
        let Some((host, _)) = self.run_of(osd, start) else { return };
        let Some(link) = host.run.as_mut().and_then(|run| run.links.get_mut(&other)) else { return };
        if link.connected != Some((generation, None)) {
            return;
        }
        link.connected = Some((generation, Some(there)));
        link.number = 0;
        self.push_link(osd, start, other);
    }

    /// Receives a frame from another daemon, as `osd::doors` does.
    fn take_frame(&mut self, osd: u32, start: u64, other: u32, (generation, bytes): (u64, &[u8])) {
        let (gaps, twice) = (self.is_planted(Shell::DeliversGaps), self.is_planted(Shell::DeliversTwice));
        let instance = self.hosts.get(&other).and_then(|host| Some(host.run.as_ref()?.instance));
        let Some((host, _)) = self.run_of(osd, start) else { return };
        let Some(run) = &mut host.run else { return };
        let sender = Sender { osd: other, instance: instance.unwrap_or(0) };
        if !run.accepted.contains(&(sender, generation)) {
            return self.close(osd, other, generation);
        }
        let frame: PeerFrame = decoded(bytes);
        let sequence = frame.sequence;
        let place = run.incoming.place(sender, sequence);
        let arrival = Arrival::Peer { from: other, frame };
        match place {
            Place::Next => self.arrive(osd, start, arrival),
            Place::Again if twice => self.arrive(osd, start, arrival),
            Place::Beyond if gaps => self.arrive(osd, start, arrival),
            Place::Again => {}
            Place::Beyond => {
                run.accepted.remove(&(sender, generation));
                self.close(osd, other, generation);
                return;
            }
        }
        let packet = Packet::Taken { generation, bytes: encoded(&Taken(sequence)) };
        self.send(Node::Osd(osd), Node::Osd(other), packet);
    }

    // The line to the monitor.

    fn line_at(&mut self, osd: u32, start: u64, span: SimSpan) {
        let number = self.give();
        self.after(span, Event::Line { osd, start, number });
        if let Some(run) = self.run_of(osd, start).and_then(|(host, _)| host.run.as_mut()) {
            (run.line, run.rests) = (number, false);
        }
    }

    /// Says what is due to the monitor; also again, if it has not answered.
    pub(super) fn line(&mut self, osd: u32, start: u64, number: u64) {
        let question = self.give();
        let is_reached = self.keeper.state.is_some() && self.reaches(Node::Osd(osd), Node::Monitor);
        let notes_late = self.is_planted(Shell::NotesRunLate);
        let Some((host, clock)) = self.run_of(osd, start) else { return };
        let Some(run) = &mut host.run else { return };
        if run.line != number {
            return;
        }
        match run.talk.next(clock, &run.report) {
            Next::Ask(ask) => {
                (run.line, run.rests) = (question, false);
                if is_reached && !notes_late {
                    host.directory.runs.clone_from(&run.runs);
                }
                let packet = Packet::ToMonitor { number: question, bytes: encoded(&*ask) };
                let is_sent = self.send(Node::Osd(osd), Node::Monitor, packet);
                let span = self.answer_time(osd, is_sent);
                self.after(span, Event::Line { osd, start, number: question });
            }
            Next::Rest(span) => {
                self.line_at(osd, start, span);
                // A word that comes meanwhile need not wait for it.
                if let Some(run) = self.run_of(osd, start).and_then(|(host, _)| host.run.as_mut()) {
                    run.rests = true;
                }
            }
            Next::End => {
                self.kill(osd, false);
                self.tell(|| format!("osd.{osd} has stopped"));
            }
        }
    }

    fn hear_monitor(&mut self, osd: u32, start: u64, number: u64, answer: FromMonitor) {
        let Some((host, clock)) = self.run_of(osd, start) else { return };
        let Some(run) = &mut host.run else { return };
        if number == run.maps {
            let FromMonitor::Maps(maps) = answer else { return };
            if let Some(last) = maps.last() {
                run.heard = Some(last.id());
                self.arrive(osd, start, Arrival::Maps(maps));
            }
            return self.maps_at(osd, start, SimSpan::from_ns(1));
        }
        if number != run.line {
            return;
        }
        match run.talk.take(clock, answer) {
            Heard::Nothing => {}
            Heard::Waits(why) => self.tell(|| format!("osd.{osd} waits: {why}")),
            Heard::Registered => {
                run.is_registered = true;
                host.directory.runs.clone_from(&run.runs);
                self.maps_at(osd, start, SimSpan::from_ns(1));
                self.rest(osd, start);
            }
            Heard::Clean(groups) => self.arrive(osd, start, Arrival::Clean(groups)),
            Heard::Refused(why) => {
                self.tell(|| format!("osd.{osd} is refused: {why}"));
                self.kill(osd, false);
                if let Some(host) = self.hosts.get_mut(&osd) {
                    host.refused = Some(why);
                }
                return;
            }
        }
        self.line_at(osd, start, SimSpan::from_ns(1));
    }

    fn maps_at(&mut self, osd: u32, start: u64, span: SimSpan) {
        let number = self.give();
        self.after(span, Event::Maps { osd, start, number });
        if let Some(run) = self.run_of(osd, start).and_then(|(host, _)| host.run.as_mut()) {
            run.maps = number;
        }
    }

    /// Asks the monitor for newer maps; also again, if it has not answered.
    pub(super) fn ask_for_maps(&mut self, osd: u32, start: u64, number: u64) {
        let question = self.give();
        let Some((host, _)) = self.run_of(osd, start) else { return };
        let Some(run) = &mut host.run else { return };
        if run.maps != number {
            return;
        }
        run.maps = question;
        let (after, digest) = (run.heard.map_or(0, |it| it.epoch), run.heard.map(|it| it.digest));
        let bytes = encoded(&ToMonitor::Maps { after, digest, wait_ms: MAPS_WAIT_MS });
        let is_sent = self.send(Node::Osd(osd), Node::Monitor, Packet::ToMonitor { number: question, bytes });
        let span = self.answer_time(osd, is_sent);
        let span = SimSpan::from_ns(span.as_ns() + MAPS_WAIT.as_ns());
        self.after(span, Event::Maps { osd, start, number: question });
    }

    /// After how long a daemon gives up that waits for an answer of the monitor: a connection that breaks is
    /// noticed soon, one on which nothing comes back is not.
    fn answer_time(&mut self, osd: u32, is_sent: bool) -> SimSpan {
        if self.keeper.state.is_none() {
            return RETRY_MONITOR;
        }
        match is_sent && !self.reaches(Node::Monitor, Node::Osd(osd)) {
            true => ANSWER_TIME,
            false => SimSpan::from_ns(RETRY_MONITOR.as_ns() + self.break_time().as_ns()),
        }
    }

    /// The operator stops a daemon: it finishes what it does, and says that it ends.
    pub(super) fn leave(&mut self, osd: u32) {
        let start = self.hosts.get(&osd).map_or(0, |host| host.start);
        let Some((host, _)) = self.run_of(osd, start) else { return };
        let Some(run) = &mut host.run else { return };
        if !run.is_registered {
            return self.kill(osd, false);
        }
        run.leaves = true;
        run.talk.leave();
        if run.rests {
            self.line_at(osd, start, SimSpan::from_ns(1));
        }
    }
}
