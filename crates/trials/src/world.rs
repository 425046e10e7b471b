//! The world: everything that runs, the events to come, and the network between.
//!
//! Events are handled in the order of (time, number), and numbers in the order in which they were scheduled,
//! so a run depends on its seed alone.

mod aims;
mod calm;
mod clients;
mod fleet;
mod gateway;
mod host;
mod ill;
mod keeper;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use towtank_replication::model::Model;
use towtank_replication::{Discovery, Epoch, Incarnation, Key, RequestId};
use towtank_store::frames::Inventory;
use towtank_store::identity::ClusterId;
use towtank_store::settings::Settings;
use towtank_streams::{Draws, Purpose, Seed, Uniform};
use towtank_units::{SimSpan, SimTime};

use crate::faults::{Fault, Kind, Odd};
use crate::planted::{Planted, Shell};
use clients::{Client, Habit};
use gateway::Gateway;
use host::Host;
use keeper::Keeper;

/// How long clients ask and faults happen, before the calm phase.
const BUSY: SimTime = SimTime::from_ns(40_000_000_000);

/// So many millionths a clock gains or loses at most: the leases of the store have a margin for one and a
/// half times the difference of two clocks.
const RATE_MOST: i64 = 20_000;

/// So many things a user asks a gateway for.
const ACTS: u64 = 80;

/// How long after a fault has begun or ended clients ask more often.
const DISTURBED: SimSpan = SimSpan::from_ms(1_500);

/// The most events of a run: more mean that something loops forever.
const EVENTS_MAX: u64 = 3_000_000;

/// Which run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seed.
    pub seed: u64,
    /// The faults to keep, by their places; all if none.
    pub only: Option<BTreeSet<usize>>,
    /// A rule that is broken.
    pub planted: Option<Planted>,
    /// Whether to record what happens.
    pub traces: bool,
    /// Whether there is a gateway of S3 too, with one user.
    pub gateway: bool,
}

impl Plan {
    /// The faults that are drawn.
    pub(crate) fn faults(&self) -> Vec<Fault> {
        let (settings, odd) = settings_of(self, &mut Draws::new(Seed(self.seed), 1, 0));
        crate::faults::drawn(self.seed, settings.osds, odd, BUSY)
    }
}

/// What happened in a run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// What is wrong, if something is.
    pub fault: Option<String>,
    /// Operations of clients that were answered.
    pub operations: u64,
    /// Those of them that a gateway was asked for.
    pub acts: u64,
    /// Faults that were injected, by kind.
    pub faults: BTreeMap<Kind, u64>,
    /// The number of faults that were drawn.
    pub drawn: usize,
    /// Messages that were sent.
    pub messages: u64,
    /// Messages that were lost, late, repeated or out of order.
    pub disturbed: u64,
    /// Simulated time.
    pub span: SimSpan,
    /// Whether objects stay unfound, of which the fragile device lost the only copy that was not undone.
    pub with_loss: bool,
    /// Whether any device could be harmed.
    pub is_beyond: bool,
    /// Whether groups wait for ever, as they say, since any device could be harmed.
    pub waits: bool,
    /// What happened, if it was recorded.
    pub trace: Vec<String>,
    /// A number that depends on all that happened.
    pub digest: u64,
}

/// Something on the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Node {
    Osd(u32),
    Monitor,
    Client(usize),
}

/// What a packet is for. Bytes are those that the store would send.
#[derive(Clone, Debug)]
enum Packet {
    /// A connection to another daemon begins.
    Hello {
        generation: u64,
        bytes: Vec<u8>,
    },
    /// It is accepted by this start.
    Welcome {
        generation: u64,
        start: u64,
    },
    Frame {
        generation: u64,
        start: u64,
        bytes: Vec<u8>,
    },
    Taken {
        generation: u64,
        bytes: Vec<u8>,
    },
    /// The connection is over.
    Closed {
        generation: u64,
    },
    /// A request to the monitor; the number tells its answer.
    ToMonitor {
        number: u64,
        bytes: Vec<u8>,
    },
    FromMonitor {
        number: u64,
        bytes: Vec<u8>,
    },
    /// A request of a client; the number tells its attempts apart.
    Ask {
        number: u64,
        bytes: Vec<u8>,
    },
    Answer {
        bytes: Vec<u8>,
    },
    /// The machine is there, but no process listens, or the one that was asked has just ended.
    Refused {
        number: u64,
    },
}

#[derive(Debug)]
enum Event {
    /// A packet arrives. `start` is the start of the sender, whose connections end with it.
    Deliver {
        from: Node,
        start: u64,
        to: Node,
        packet: Packet,
    },
    /// The core of a daemon is due.
    Wake {
        osd: u32,
        start: u64,
        number: u64,
    },
    /// What a portion wrote is on disk.
    Committed {
        osd: u32,
        start: u64,
    },
    /// A connection to another daemon is due: it begins, breaks, or is tried again.
    Link {
        osd: u32,
        start: u64,
        to: u32,
        number: u64,
    },
    /// What a daemon has to say to the monitor is due, or its answer overdue.
    Line {
        osd: u32,
        start: u64,
        number: u64,
    },
    /// The same for its question for new maps.
    Maps {
        osd: u32,
        start: u64,
        number: u64,
    },
    /// The monitor looks for silent daemons.
    Look {
        start: u64,
    },
    /// A client's wait is over.
    Client {
        client: usize,
        number: u64,
    },
    Fault {
        at: usize,
    },
    /// A fault ends.
    Ends {
        at: usize,
    },
    /// One reason fewer not to start a daemon.
    HoldsLess {
        osd: u32,
    },
    /// An operator starts a daemon that does not run.
    Start {
        osd: u32,
    },
}

/// How messages fare.
#[derive(Clone, Copy, Debug, Default)]
struct Weather {
    /// Of a thousand messages, so many are lost, doubled, late, or overtaken.
    lost: u64,
    doubled: u64,
    late: u64,
    overtaken: u64,
}

impl Weather {
    /// That of a run in which it is not bad.
    fn fair(draws: &mut Draws) -> Weather {
        let mut draws = draws.of(Purpose(2));
        let mut rate = |most: u64| if draws.below(2) == 0 { 0 } else { draws.below(most) };
        Weather { lost: rate(10), doubled: rate(20), late: rate(20), overtaken: rate(10) }
    }
}

pub(crate) struct World {
    plan: Plan,
    settings: Settings,
    cluster: ClusterId,
    draws: Draws,
    now: SimTime,
    events: BTreeMap<(SimTime, u64), Event>,
    scheduled: u64,
    handled: u64,
    hosts: BTreeMap<u32, Host>,
    keeper: Keeper,
    clients: Vec<Client>,
    gateway: Gateway,
    judge: Model,
    names: Vec<String>,
    faults: Vec<Fault>,
    fragile: Option<u32>,
    /// Whether any device may be harmed, and no copy need be left: then an operator accepts no loss, and
    /// groups may wait for ever.
    is_beyond: bool,
    /// The number of the next device that is added.
    next_osd: u32,
    /// Devices that were stopped in order to be removed, by the fault.
    removing: BTreeSet<usize>,
    /// Whether something was done to what the fragile device had synced.
    is_harmed: bool,
    /// Pairs of machines of which the first does not reach the second, with how many faults say so.
    cut: BTreeMap<(Node, Node), u32>,
    weather: Weather,
    fair: Weather,
    /// When the last packet from one to another arrives: packets are in order, unless one is overtaken.
    last_arrival: BTreeMap<(Node, Node), SimTime>,
    is_calm: bool,
    /// The order of magnitude of a sync, in microseconds.
    sync_micros: u64,
    /// How long a client waits for a daemon before it looks for a newer map.
    answer_time: SimSpan,
    /// A crash that waits until some device writes, and those that have waited.
    crash_in_commit: Option<usize>,
    /// Faults that come right after a client has heard that something is written.
    crash_after_answer: Vec<usize>,
    /// Faults that come right after a daemon has shown a client what another replica does not have, and those
    /// that will once they have come for the first time.
    crash_when_alone: Vec<usize>,
    strikes_again: BTreeSet<usize>,
    /// The object that clients want to read, and how long.
    wanted: Option<((u32, Key), SimTime)>,
    /// Who said so last, and whether that one comes back last after a loss of power of all.
    answered_by: u32,
    late: Option<u32>,
    /// Whether the next loss of power of all comes when a daemon has shown what it alone has: then the others
    /// lose what they are about to write, and that one comes back last.
    is_aimed: bool,
    /// How far faults are during which the others are away by turns.
    turns: BTreeMap<usize, ill::Turn>,
    /// When a fault began or ended last.
    disturbed_at: SimTime,
    waited: BTreeSet<usize>,
    /// What disks get of what was about to be written, if that is not drawn: see `World::kill`.
    kept: Option<u64>,
    /// What is wrong.
    fault: Option<String>,
    /// Numbers that are given once: runs, incarnations, questions.
    given: u64,
    /// What daemons said that they hold.
    inspections: BTreeMap<RequestId, Inventory>,
    /// The maps that were published, by epoch, as a checksum.
    published: BTreeMap<Epoch, u64>,
    outcome: Outcome,
}

fn encoded<T: serde::Serialize>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value).expect("plain data can be written")
}

fn decoded<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> T {
    postcard::from_bytes(bytes).expect("it was encoded by this process")
}

/// The settings of a seed, and which devices are not like the others.
fn settings_of(plan: &Plan, draws: &mut Draws) -> (Settings, Odd) {
    let mut draws = draws.of(Purpose(1));
    let replicas = 2 + draws.below(2) as u32;
    let osds = replicas + draws.below(3) as u32;
    let settings = Settings {
        osds,
        groups: 1 << draws.below(4),
        replicas,
        discovery: Discovery::ALL[draws.below(5) as usize],
        leaf_bits: 1 + draws.below(6) as u8,
        sketch_cells: [16, 64, 512][draws.below(3) as usize],
        log_entries_min: 2 + draws.below(3) as u32,
        log_entries_max: [5, 12, 100][draws.below(3) as usize],
        backfills: 1 + draws.below(2) as u32,
        scan_max: [None, Some(3)][draws.below(2) as usize],
        recovery_sleep_ms: [0, 5, 10, 150][draws.below(4) as usize],
        grace_ms: [600, 1_000, 2_000][draws.below(3) as usize],
        out_after_s: [3, 20, 600][draws.below(3) as usize],
        planted: match plan.planted {
            Some(Planted::Protocol(rule)) => Some(rule),
            _ => None,
        },
        ..Settings::default()
    };
    // With two replicas a group serves with one: then whatever harms it may harm the only copy.
    let fragile = draws.below(osds.into()) as u32;
    let slow = draws.below(osds.into()) as u32;
    let is_beyond = draws.below(8) == 0;
    let is_edge = draws.below(8) == 0;
    let settings = match is_edge {
        // Long leases, and few groups: so a former primary is seen to answer when it should not.
        true => Settings { osds: replicas, groups: 1, grace_ms: 2_000, out_after_s: 600, ..settings },
        false => settings,
    };
    let (fragile, slow) = (fragile % settings.osds, slow % settings.osds);
    (settings, Odd { fragile: (replicas > 2).then_some(fragile), is_beyond, is_edge, slow })
}

impl World {
    pub(crate) fn new(plan: Plan) -> World {
        let mut draws = Draws::new(Seed(plan.seed), 1, 0);
        let (settings, odd) = settings_of(&plan, &mut draws);
        settings.check().expect("what is drawn is in range");
        let faults = crate::faults::drawn(plan.seed, settings.osds, odd, BUSY);
        let cluster = ClusterId::of(plan.seed);
        let devices: BTreeMap<u32, Incarnation> =
            (0..settings.osds).map(|osd| (osd, Incarnation(1 + u64::from(osd)))).collect();
        let fair = Weather::fair(&mut draws);
        let next_osd = settings.osds;
        let mut world = World {
            keeper: Keeper::new(devices.clone()),
            hosts: BTreeMap::new(),
            clients: Vec::new(),
            gateway: Gateway::default(),
            settings,
            cluster,
            draws,
            now: SimTime::ZERO,
            events: BTreeMap::new(),
            scheduled: 0,
            handled: 0,
            judge: Model::default(),
            names: Vec::new(),
            faults,
            fragile: odd.fragile,
            is_beyond: odd.is_beyond,
            next_osd,
            removing: BTreeSet::new(),
            is_harmed: false,
            cut: BTreeMap::new(),
            weather: fair,
            fair,
            last_arrival: BTreeMap::new(),
            is_calm: false,
            sync_micros: 0,
            answer_time: SimSpan::ZERO,
            crash_in_commit: None,
            crash_after_answer: Vec::new(),
            crash_when_alone: Vec::new(),
            strikes_again: BTreeSet::new(),
            wanted: None,
            answered_by: 0,
            late: None,
            is_aimed: false,
            turns: BTreeMap::new(),
            disturbed_at: SimTime::ZERO,
            waited: BTreeSet::new(),
            kept: None,
            fault: None,
            given: 1_000,
            inspections: BTreeMap::new(),
            published: BTreeMap::new(),
            outcome: Outcome::default(),
            plan,
        };
        let differ_most = world.below(2) == 0 || odd.is_edge;
        for (osd, incarnation) in devices {
            let rate = match world.below(2 * RATE_MOST as u64 + 1) as i64 - RATE_MOST {
                _ if differ_most && osd == odd.slow => -RATE_MOST,
                _ if differ_most => RATE_MOST,
                rate => rate,
            };
            world.hosts.insert(osd, Host::new(incarnation, rate));
        }
        world.begin(odd.is_edge);
        world
    }

    fn begin(&mut self, is_edge: bool) {
        self.sync_micros = [300, 3_000, 30_000][if is_edge { 0 } else { self.below(3) as usize }];
        self.answer_time = SimSpan::from_ms([50, 500][self.below(2) as usize]);
        let count = if is_edge { 3 } else { [2, 5, 20, 80][self.below(4) as usize] };
        self.names = (0..count).map(|number| format!("object-{number}")).collect();
        self.start_monitor();
        for osd in 0..self.settings.osds {
            self.after(SimSpan::from_ms(1), Event::Start { osd });
        }
        let clients = 2 + self.below(3) as usize;
        let operations = 200 + self.below(400);
        let (has_reader, has_eager) = (is_edge || self.below(3) > 0, is_edge || self.below(3) > 0);
        for client in 0..clients {
            let habit = match client {
                0 if has_reader => Habit::ReadsOnly,
                1 if has_eager => Habit::AsksForMaps,
                _ => Habit::Usual,
            };
            self.clients.push(Client::new(habit, operations / clients as u64));
            self.after(SimSpan::from_ms(50), Event::Client { client, number: 0 });
        }
        if self.plan.gateway {
            self.clients.push(Client::new(Habit::Gateway, ACTS));
            self.after(SimSpan::from_ms(50), Event::Client { client: clients, number: 0 });
        }
        for at in 0..self.faults.len() {
            if self.plan.only.as_ref().is_none_or(|only| only.contains(&at)) {
                self.at(self.faults[at].at, Event::Fault { at });
            }
        }
    }

    /// Runs to the end, and tells how it ended.
    pub(crate) fn run(mut self) -> Outcome {
        while self.now < BUSY && self.fault.is_none() && self.next() {}
        if self.fault.is_none() {
            self.calm();
        }
        if self.fault.is_none() {
            self.judge_all();
        }
        let (fault, span, drawn) = (self.fault, self.now.since(SimTime::ZERO), self.faults.len());
        Outcome { fault, span, drawn, is_beyond: self.is_beyond, ..self.outcome }
    }

    /// Handles the next event; false if something is wrong, or nothing is left.
    fn next(&mut self) -> bool {
        let Some(((at, _), event)) = self.events.pop_first() else { return false };
        self.now = at;
        self.handled += 1;
        if self.handled > EVENTS_MAX {
            self.wrong("there is no end of events".to_owned());
            return false;
        }
        if let Some(later) = self.paused_until(&event) {
            // Its order among the events of that machine stays.
            self.at(later, event);
            return true;
        }
        match event {
            Event::Deliver { from, start, to, packet } => self.deliver(from, start, to, packet),
            Event::Wake { osd, start, number } => self.wake(osd, start, number),
            Event::Committed { osd, start } => self.committed(osd, start),
            Event::Link { osd, start, to, number } => self.link(osd, start, to, number),
            Event::Line { osd, start, number } => self.line(osd, start, number),
            Event::Maps { osd, start, number } => self.ask_for_maps(osd, start, number),
            Event::Look { start } => self.look(start),
            Event::Client { client, number } => self.client(client, number),
            Event::Fault { at } => self.begin_fault(at),
            Event::Ends { at } => self.end_fault(at),
            Event::HoldsLess { osd } => self.hold_less(osd),
            Event::Start { osd } => self.start(osd),
        }
        self.fault.is_none()
    }

    /// When a machine that does not run now goes on.
    fn paused_until(&self, event: &Event) -> Option<SimTime> {
        let osd = match event {
            Event::Deliver { to: Node::Osd(osd), .. }
            | Event::Wake { osd, .. }
            | Event::Committed { osd, .. }
            | Event::Link { osd, .. }
            | Event::Line { osd, .. }
            | Event::Maps { osd, .. } => *osd,
            _ => return None,
        };
        self.hosts.get(&osd).map(|host| host.paused_until).filter(|until| *until > self.now)
    }

    fn wrong(&mut self, what: String) {
        self.tell(|| format!("WRONG: {what}"));
        self.fault.get_or_insert(what);
    }

    fn tell(&mut self, what: impl FnOnce() -> String) {
        if self.plan.traces {
            let line = format!("{:.6} {}", self.now.as_secs_f64(), what());
            self.outcome.trace.push(line);
        }
    }

    fn mix(&mut self, word: u64) {
        let so_far = self.outcome.digest ^ self.now.as_ns();
        self.outcome.digest =
            towtank_streams::mix(so_far ^ 0x9e37_79b9_7f4a_7c15, word ^ so_far.rotate_left(17));
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.draws.of(Purpose(3)).below(bound)
    }

    /// A number that was not given before.
    fn give(&mut self) -> u64 {
        self.given += 1;
        self.given
    }

    fn is_planted(&self, rule: Shell) -> bool {
        self.plan.planted == Some(Planted::Shell(rule))
    }

    fn at(&mut self, at: SimTime, event: Event) {
        self.scheduled += 1;
        self.events.insert((at.max(self.now), self.scheduled), event);
    }

    fn after(&mut self, span: SimSpan, event: Event) {
        self.at(self.now.saturating_add(span), event);
    }

    /// A drawn span of this order of magnitude.
    fn around(&mut self, micros: u64) -> SimSpan {
        SimSpan::from_ns(1 + self.below(micros * 2_000))
    }

    fn reaches(&self, from: Node, to: Node) -> bool {
        self.cut.get(&(from, to)).is_none_or(|count| *count == 0)
    }

    /// Whether any two machines do not reach each other.
    fn is_cut(&self) -> bool {
        self.cut.values().any(|count| *count > 0)
    }

    /// Whether a fault has just begun or ended, or machines do not reach each other.
    fn is_disturbed(&self) -> bool {
        self.is_cut() || self.now.since(self.disturbed_at) < DISTURBED
    }

    /// Sends a packet; false if it is lost.
    fn send(&mut self, from: Node, to: Node, packet: Packet) -> bool {
        let start = match from {
            Node::Osd(osd) => self.hosts.get(&osd).map_or(0, |host| host.start),
            Node::Monitor => self.keeper.start,
            Node::Client(_) => 0,
        };
        self.outcome.messages += 1;
        if !self.reaches(from, to) {
            return false;
        }
        let Weather { lost, doubled, late, overtaken } = self.weather;
        if self.below(1_000) < lost {
            self.outcome.disturbed += 1;
            return false;
        }
        let copies = 1 + u64::from(self.below(1_000) < doubled);
        for _ in 0..copies {
            let is_late = self.below(1_000) < late;
            let span = self.around(if is_late { 100_000 } else { 150 });
            let mut at = self.now.saturating_add(span);
            let is_overtaken = self.below(1_000) < overtaken;
            self.outcome.disturbed += u64::from(is_late) + u64::from(is_overtaken) + (copies - 1);
            if !is_overtaken {
                let last = self.last_arrival.entry((from, to)).or_default();
                at = at.max(*last);
                *last = at;
            }
            self.at(at, Event::Deliver { from, start, to, packet: packet.clone() });
        }
        true
    }

    fn deliver(&mut self, from: Node, start: u64, to: Node, packet: Packet) {
        match (to, packet) {
            (Node::Monitor, Packet::ToMonitor { number, bytes }) => {
                self.ask_monitor(from, start, number, &bytes);
            }
            (Node::Osd(osd), packet) => self.hand_over(osd, from, start, packet),
            (Node::Client(client), Packet::Answer { bytes }) => self.answered(client, &bytes),
            (Node::Client(client), Packet::FromMonitor { number, bytes }) => {
                self.map_for_client(client, number, &bytes);
            }
            (Node::Client(client), Packet::Refused { number }) => self.refused(client, number),
            (to, packet) => unreachable!("{packet:?} for {to:?}"),
        }
    }

    fn request(&mut self, client: usize) -> RequestId {
        RequestId { client: 1 + client as u64, number: self.give() }
    }
}
