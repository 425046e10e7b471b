//! Devices, their disks, a network and a monitor, all driven by the seed of a schedule.
//!
//! A device carries out its replicas' actions once its disk has synced their changes, for several calls
//! together. A crash loses the unsynced transaction, or keeps all of it; where it is lost, the device may
//! find part of it at the end of its journal, and then it does not know that it was unsynced.

mod tails;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};

use towtank_merkle::{Shape, Subspace};
use towtank_replication::objects::Memory;
use towtank_replication::{
    Action, Body, Config, DeviceId, Discovery, Durable, GroupId, Holder, Incarnation, Input, Key, Lot, Map,
    Member, Message, Objects, Operation, Outcome, Replica, Request, RequestId, Reserver, Summary, Token,
    Verdict, Version,
};
use towtank_streams::{Draws, Purpose, Seed, Uniform};
use towtank_units::{SimSpan, SimTime};

use crate::model::{Model, content};
use crate::steps::{BadDisk, DEVICES, Fault, KEYS, Schedule, Step};
use tails::Contents;

/// Two groups share the devices and their slots.
const GROUPS: usize = 2;
/// The holder of slots taken by requests outside the two groups.
const OTHERS: GroupId = GroupId(99);
const SLOTS: usize = 1;
/// Concurrent requests per object: more of them slow the search for an order, and find no more faults.
const OPEN_MAX: usize = 6;
/// The most events of a schedule: more of them mean that replicas loop forever.
const EVENTS_MAX: u64 = 60_000;

/// A replica of one group, or what a crash has left of it.
struct Part {
    replica: Option<Replica<Vec<u8>>>,
    durable: Option<Durable>,
    objects: Memory<Vec<u8>>,
    /// The state that a crash may leave, if there are unsynced changes.
    synced: Option<(Memory<Vec<u8>>, Durable)>,
    /// The number of maps that it has received.
    maps_received: usize,
    /// Objects that turned out to be damaged, until the next map.
    damaged: BTreeSet<Key>,
}

struct Device {
    is_up: bool,
    /// Begins at 1, and counts how often it came back empty.
    life: u64,
    parts: Vec<Part>,
    /// What the disk of the fragile device held before its last syncs, oldest first.
    before: VecDeque<Contents>,
    reserver: Reserver,
    busy: bool,
    /// Whether it will crash when the changes of its next call are durable, before its actions are carried
    /// out.
    dies: bool,
    /// Counts its starts: events of an earlier start are void.
    start: u64,
    /// Actions that wait for unsynced changes.
    held: Vec<(usize, Action<Vec<u8>>)>,
}

/// The holders of a group, as the monitor sees them.
struct Placed {
    maps: Vec<Map>,
    preference: Vec<usize>,
    temporary: Option<Vec<DeviceId>>,
}

enum Event {
    Input { group: usize, to: usize, start: Option<u64>, input: Input<Vec<u8>> },
    Maps { group: usize, to: usize, upto: usize },
    Sync { to: usize, start: u64 },
    Ask(RequestId),
    WantActing { group: usize, epoch: u32, acting: Vec<DeviceId> },
}

pub struct World {
    pub tell: bool,
    configs: Vec<Config>,
    draws: Draws,
    devices: Vec<Device>,
    groups: Vec<Placed>,
    alive: BTreeSet<usize>,
    /// The lives that ended when the fragile device lost everything.
    gone: Vec<Member>,
    events: BTreeMap<(SimTime, u64), Box<Event>>,
    sent: u64,
    now: SimTime,
    last_arrival: BTreeMap<(usize, usize, usize), SimTime>,
    reorders: bool,
    repeats: u64,
    pub model: Model,
    bad_disk: Option<BadDisk>,
    /// The device whose copies may be damaged or wiped: whatever was acknowledged, another device has had
    /// too.
    fragile: Option<usize>,
    /// Objects whose copy on the fragile device was damaged or wiped.
    damaged: BTreeSet<Key>,
    /// The versions that other devices have had.
    had_elsewhere: BTreeSet<(Key, Version)>,
    /// The first interval of each group in which a device does not know what it had.
    doubted: [Option<u32>; GROUPS],
    handled: u64,
}

/// How a schedule has ended.
#[derive(PartialEq, Eq)]
enum Ended {
    Whole,
    /// Bytes are lost that no protocol could recover; the group says so, and waits.
    WithLoss,
}

/// The number of schedules that ended with a loss, without those that have a planted fault.
pub static LOSSES: AtomicU64 = AtomicU64::new(0);

/// Each byte of a damaged copy.
const DAMAGE: u8 = 0xff;

fn is_damaged(content: &[u8]) -> bool {
    content.first() == Some(&DAMAGE) && content.iter().all(|byte| *byte == DAMAGE)
}

/// The group of object `number`.
fn group_of(number: u64) -> usize {
    number as usize / 3 % GROUPS
}

fn key(number: u64) -> Key {
    // Some objects share a position, and so a leaf at any depth. The low bit is the group.
    let hash = (number as u32 / 3).wrapping_mul(0x9e37_79b9) & !1 | group_of(number) as u32;
    Key::of_hash(hash, number)
}

fn config(schedule: &Schedule, draws: &mut Draws) -> Config {
    let mut draws = draws.of(Purpose(2));
    let space = Subspace::of_group(0, GROUPS as u32).expect("a group of two");
    let size = 2 + draws.below(2) as usize;
    let mut config = Config::new(size, space, 1 + draws.below(6) as u8).expect("few leaves");
    config.size_min = 1 + draws.below(2) as usize;
    config.discovery = Discovery::ALL[draws.below(5) as usize];
    config.sketch_cells = [8, 64, 512][draws.below(3) as usize];
    config.sketch_first_cells = 4;
    config.log_entries_min = 1 + draws.below(3) as usize;
    config.log_entries_max = config.log_entries_min + draws.below(8) as usize;
    config.log_trim_min = 1;
    config.scan_max = 1 + draws.below(8) as usize;
    config.scan_min = 1;
    config.active_max = 1 + draws.below(3) as usize;
    config.sleep = SimSpan::from_us(draws.below(2) * 50);
    config.chunk_bytes = [8, 16, 1 << 20][draws.below(3) as usize];
    config.lease = Some(SimSpan::from_us(300));
    config.retry = SimSpan::from_us(500);
    config.planted = match schedule.planted {
        Some(Fault::Rule(rule)) => Some(rule),
        _ => None,
    };
    config
}

impl World {
    pub fn new(schedule: &Schedule) -> World {
        let mut draws = Draws::new(Seed(schedule.seed), 1, 0);
        let config = config(schedule, &mut draws);
        let of_group = |group: usize| {
            let space = Subspace::of_group(group as u32, GROUPS as u32).expect("a group of two");
            let shape = Shape::new(space, config.shape.leaf_bits()).expect("few leaves");
            Config { shape, ..config }
        };
        let configs: Vec<Config> = (0..GROUPS).map(of_group).collect();
        let part = |config: &Config| Part {
            replica: None,
            durable: Some(Durable::new(config)),
            objects: Memory::new(),
            synced: None,
            maps_received: 0,
            damaged: BTreeSet::new(),
        };
        let device = |_| Device {
            is_up: false,
            life: 1,
            parts: configs.iter().map(part).collect(),
            before: VecDeque::new(),
            reserver: Reserver::new(SLOTS).full_at(1000).preempting(),
            busy: false,
            dies: false,
            start: 0,
            held: Vec::new(),
        };
        let devices = (0..DEVICES).map(device).collect();
        let placed = |group: usize| Placed {
            maps: Vec::new(),
            preference: (0..DEVICES as usize).map(|at| (at + group) % DEVICES as usize).collect(),
            temporary: None,
        };
        let groups = (0..GROUPS).map(placed).collect();
        let (reorders, repeats) = {
            let mut draws = draws.of(Purpose(3));
            (draws.below(2) == 0, draws.below(10))
        };
        let fragile = draws.of(Purpose(5)).below(DEVICES) as usize;
        let fragile = (configs[0].size_min > 1).then_some(fragile);
        let mut world = World {
            tell: false,
            configs,
            draws,
            devices,
            groups,
            alive: BTreeSet::new(),
            gone: Vec::new(),
            events: BTreeMap::new(),
            sent: 0,
            now: SimTime::ZERO,
            last_arrival: BTreeMap::new(),
            reorders,
            repeats,
            model: Model::default(),
            bad_disk: match schedule.planted {
                Some(Fault::Disk(disk)) => Some(disk),
                _ => None,
            },
            fragile,
            damaged: BTreeSet::new(),
            had_elsewhere: BTreeSet::new(),
            doubted: [None; GROUPS],
            handled: 0,
        };
        (0..DEVICES as usize).for_each(|device| world.start(device));
        world
    }

    pub fn run(mut self, steps: &[Step]) -> Result<(), String> {
        for step in steps {
            if self.tell {
                println!("{:?} {step:?}", self.now);
            }
            self.step(*step)?;
        }
        if self.heal()? == Ended::WithLoss {
            let is_planted = self.bad_disk.is_some() || self.configs[0].planted.is_some();
            LOSSES.fetch_add(u64::from(!is_planted), Ordering::Relaxed);
            return Ok(());
        }
        self.model.judge.check_histories()?;
        if self.model.judge.ignores_versions { Ok(()) } else { self.check_equal() }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.draws.of(Purpose(4)).below(bound)
    }

    fn step(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::Write(at) => {
                let number = self.model.next_number();
                self.ask(at % KEYS, Operation::Write(content(number)));
            }
            Step::Delete(at) => self.ask(at % KEYS, Operation::Delete),
            Step::Read(at) => self.ask(at % KEYS, Operation::Read),
            Step::Crash(device) if self.below(2) == 0 => self.devices[device as usize].dies = true,
            Step::Crash(device) => self.crash(device as usize),
            Step::Restart(device) => self.start(device as usize),
            Step::Suspect(device) => {
                if self.alive.remove(&(device as usize)) {
                    self.publish_all();
                }
            }
            Step::Trust(device) => self.trust(device as usize),
            Step::Prefer(device) => {
                let group = device as usize % GROUPS;
                let preference = &mut self.groups[group].preference;
                preference.retain(|other| *other != device as usize);
                preference.insert(self.configs[group].size - 1, device as usize);
                self.publish(group, true);
            }
            Step::Busy(device) => self.set_busy(device as usize, true)?,
            Step::Idle(device) => self.set_busy(device as usize, false)?,
            Step::Full(device) => self.devices[device as usize].reserver.set_used(2000),
            Step::Empty(device) => self.devices[device as usize].reserver.set_used(0),
            Step::Damage(at) => self.damage(at % KEYS),
            Step::Wipe(device) => self.wipe(device as usize),
            Step::Rot(device) => self.rot(device as usize),
            Step::Run(count) => {
                for _ in 0..count {
                    self.next_event()?;
                }
            }
        }
        Ok(())
    }

    fn ask(&mut self, number: u64, operation: Operation<Vec<u8>>) {
        if self.model.open_of(key(number)) >= OPEN_MAX {
            return;
        }
        let request = self.model.ask(key(number), operation);
        self.schedule(10, Event::Ask(request));
    }

    /// Schedules an event after a random delay of this order of magnitude.
    fn schedule(&mut self, around_us: u64, event: Event) {
        let after = SimSpan::from_ns(1 + self.below(around_us * 2_000));
        self.schedule_at(self.now.saturating_add(after), event);
    }

    fn schedule_at(&mut self, at: SimTime, event: Event) {
        self.sent += 1;
        self.events.insert((at, self.sent), Box::new(event));
    }

    /// Damages the fragile device's copy of an object, whether or not it is the last one; nobody notices it
    /// before the copy is read.
    fn damage(&mut self, number: u64) {
        let Some(device) = self.fragile else { return };
        let part = &mut self.devices[device].parts[group_of(number)];
        let synced = part.synced.as_mut().map(|(objects, _)| objects);
        for objects in [Some(&mut part.objects), synced].into_iter().flatten() {
            if let Some(listed) = objects.look_up(key(number)) {
                objects.put(key(number), listed.version, vec![DAMAGE; listed.size as usize]);
                self.damaged.insert(key(number));
            }
        }
    }

    /// The fragile device comes back with an empty directory, now or later. Nobody waits for its former life.
    fn wipe(&mut self, device: usize) {
        if self.fragile != Some(device) {
            return;
        }
        self.crash(device);
        let former = self.member(device);
        self.gone.push(former);
        let it = &mut self.devices[device];
        it.life += 1;
        for (part, config) in it.parts.iter_mut().zip(&self.configs) {
            self.damaged.extend(part.objects.iter().map(|(key, ..)| key));
            (part.objects, part.durable) = (Memory::new(), Some(Durable::new(config)));
        }
        it.before.clear();
        if self.below(2) == 0 {
            self.start(device);
        }
    }

    fn member(&self, device: usize) -> Member {
        let incarnation = Incarnation(self.devices[device].life);
        Member { device: DeviceId(device as u32), incarnation }
    }

    /// An object of a device is not as it was written: as in the store, another interval is requested, and
    /// the object is lost as it begins.
    fn notice(&mut self, group: usize, device: usize, key: Key) {
        self.devices[device].parts[group].damaged.insert(key);
        let epoch = self.groups[group].maps.len() as u32;
        let Some(acting) = self.groups[group].maps.last().map(|map| map.acting.clone()) else { return };
        self.schedule(50, Event::WantActing { group, epoch, acting });
    }

    fn crash(&mut self, device: usize) {
        if !self.devices[device].is_up {
            return;
        }
        let is_left = self.below(2) == 0 && self.bad_disk.is_none();
        let tears = self.bad_disk == Some(BadDisk::TearsTransactions);
        let keeps_objects = self.below(2) == 0;
        let doubts = self.tail_below(2) == 0 && !is_left;
        let it = &mut self.devices[device];
        let is_unfinished = it.parts.iter().any(|part| part.synced.is_some());
        it.is_up = false;
        it.held.clear();
        for part in &mut it.parts {
            part.durable = part.replica.take().map(Replica::into_durable);
            let Some((objects, durable)) = part.synced.take().filter(|_| !is_left) else { continue };
            if !tears || !keeps_objects {
                part.objects = objects;
            }
            if !tears || keeps_objects {
                part.durable = Some(durable);
            }
        }
        it.reserver = Reserver::new(SLOTS).full_at(1000).preempting();
        (it.busy, it.dies) = (false, false);
        it.start += 1;
        if doubts && is_unfinished {
            self.doubt(device);
        }
    }

    fn start(&mut self, device: usize) {
        let json = self.sent.is_multiple_of(16);
        let member = self.member(device);
        let it = &mut self.devices[device];
        if std::mem::replace(&mut it.is_up, true) {
            return;
        }
        for (part, config) in it.parts.iter_mut().zip(&self.configs) {
            let mut durable = part.durable.take().expect("a device that is down has left it");
            if json {
                let text = serde_json::to_string(&durable).expect("plain data");
                durable = serde_json::from_str(&text).expect("it was just written");
            }
            part.replica = Some(Replica::start(*config, member, durable, self.now));
            part.maps_received = 0;
            part.damaged.clear();
        }
        // A device that starts was away, whether or not anybody noticed.
        if self.alive.remove(&device) {
            self.publish_all();
        }
        self.trust(device);
    }

    fn trust(&mut self, device: usize) {
        if self.devices[device].is_up && self.alive.insert(device) {
            self.publish_all();
        }
    }

    fn publish_all(&mut self) {
        (0..GROUPS).for_each(|group| self.publish(group, true));
    }

    /// Publishes a new map of a group, which each device receives after its own delay.
    fn publish(&mut self, group: usize, forgets_temporary: bool) {
        let alive = self.alive.iter().map(|device| self.member(*device)).collect();
        let placed = &mut self.groups[group];
        if forgets_temporary {
            placed.temporary = None;
        }
        let device = |device: &usize| DeviceId(*device as u32);
        let up = placed.preference.iter().filter(|device| self.alive.contains(device));
        let up: Vec<DeviceId> = up.take(self.configs[group].size).map(device).collect();
        let acting = placed.temporary.clone().unwrap_or_else(|| up.clone());
        let epoch = placed.maps.len() as u32 + 1;
        if self.tell {
            println!("{:?} map {epoch} of {group}: up {up:?}, acting {acting:?}", self.now);
        }
        placed.maps.push(Map { epoch, up, acting, alive, gone: self.gone.clone() });
        let upto = epoch as usize;
        for to in 0..self.devices.len() {
            // A device that the monitor considers dead may be cut off from it.
            let is_cut_off = !self.alive.contains(&to);
            let around = if is_cut_off { 3000 } else { [5, 5, 20, 400][self.below(4) as usize] };
            self.schedule(around, Event::Maps { group, to, upto });
        }
    }

    fn next_event(&mut self) -> Result<bool, String> {
        let Some(((at, _), event)) = self.events.pop_first() else { return Ok(false) };
        self.now = at;
        self.handled += 1;
        match *event {
            Event::Input { group, to, start, input } => {
                if start.is_none_or(|start| start == self.devices[to].start) {
                    self.give(group, to, input)?;
                }
            }
            Event::Maps { group, to, upto } => self.tell_maps(group, to, upto)?,
            Event::Sync { to, start } => {
                if start == self.devices[to].start {
                    self.sync(to)?;
                }
            }
            Event::Ask(request) => self.ask_primary(request),
            Event::WantActing { group, epoch, acting } => {
                let is_alive = acting.iter().all(|device| self.alive.contains(&(device.0 as usize)));
                let placed = &mut self.groups[group];
                if epoch as usize == placed.maps.len() && is_alive {
                    let is_up = placed.maps.last().is_some_and(|map| map.up == acting);
                    placed.temporary = (!is_up).then_some(acting);
                    self.publish(group, false);
                }
            }
        }
        Ok(true)
    }

    fn tell_maps(&mut self, group: usize, to: usize, upto: usize) -> Result<(), String> {
        let part = &mut self.devices[to].parts[group];
        let maps_received = part.maps_received;
        if part.replica.is_none() || upto <= maps_received {
            return Ok(());
        }
        part.maps_received = upto;
        let maps: Vec<Map> = self.groups[group].maps[maps_received..upto].into();
        maps.into_iter().try_for_each(|map| self.give(group, to, Input::Map(map)))
    }

    /// Sends a request to the primary of the last map or of an earlier one, and repeats it if no answer
    /// comes.
    fn ask_primary(&mut self, request: RequestId) {
        if self.model.judge.is_answered(request) {
            return;
        }
        let asked = self.model.get(request);
        let is_read = asked.operation == Operation::Read;
        let back = if self.below(if is_read { 2 } else { 4 }) == 0 { self.below(3) as usize } else { 0 };
        let group = group_of(self.model.get(request).key.id);
        let maps = &self.groups[group].maps;
        let map = maps.get(maps.len().saturating_sub(1 + back));
        let asked = self.model.get(request);
        let (key, operation) = (asked.key, asked.operation.clone());
        let primary = map.and_then(|map| map.acting.first().copied());
        if let Some(to) = primary.map(|device| device.0 as usize) {
            for _ in 0..1 + u64::from(self.below(4) == 0) {
                let input = Input::Client { request, key, operation: operation.clone() };
                let around = if self.below(10) == 0 { 500 } else { 10 };
                self.schedule(around, Event::Input { group, to, start: None, input });
            }
        }
        self.schedule(300, Event::Ask(request));
    }

    fn give(&mut self, group: usize, to: usize, input: Input<Vec<u8>>) -> Result<(), String> {
        let promises_early = self.bad_disk == Some(BadDisk::PromisesEarly);
        let syncs = self.below(2) == 0 && !promises_early;
        let it = &mut self.devices[to];
        let waits = it.parts.iter().any(|part| part.synced.is_some());
        let Part { replica: Some(replica), objects, synced, damaged, .. } = &mut it.parts[group] else {
            return Ok(());
        };
        if self.tell {
            println!("{:?} {to}/{group} <- {input:?}", self.now);
        }
        if (!syncs || self.fragile == Some(to)) && synced.is_none() {
            *synced = Some((objects.clone(), replica.durable().clone()));
        }
        if matches!(input, Input::Map(_)) {
            std::mem::take(damaged).into_iter().for_each(|key| replica.lose(key, objects));
        }
        let mut actions = Vec::new();
        replica.handle(self.now, input, objects, &mut actions);
        if self.fragile.is_some_and(|fragile| fragile != to) {
            self.had_elsewhere.extend(objects.iter().map(|(key, version, _)| (key, version)));
        }
        it.held.extend(actions.into_iter().map(|action| (group, action)));
        let start = it.start;
        if promises_early {
            // Like a disk cache that reports a write as done.
            self.carry_out_held(to)?;
        }
        if syncs {
            self.sync(to)?;
        } else if !waits {
            self.schedule(if promises_early { 5_000 } else { 8 }, Event::Sync { to, start });
        }
        if self.handled.is_multiple_of(32) {
            self.check_summary(group, to)?;
        }
        Ok(())
    }

    /// Makes all changes of a device durable, and carries out the actions that waited for them.
    fn sync(&mut self, device: usize) -> Result<(), String> {
        self.keep_before(device);
        let it = &mut self.devices[device];
        for part in &mut it.parts {
            part.synced = None;
        }
        if it.dies {
            self.crash(device);
            return Ok(());
        }
        self.carry_out_held(device)
    }

    fn carry_out_held(&mut self, device: usize) -> Result<(), String> {
        let held = std::mem::take(&mut self.devices[device].held);
        held.into_iter().try_for_each(|(group, action)| self.carry_out(group, device, action))
    }

    fn carry_out(&mut self, group: usize, device: usize, action: Action<Vec<u8>>) -> Result<(), String> {
        if self.tell && matches!(action, Action::Note(_) | Action::Reply { .. } | Action::WantActing { .. }) {
            println!("{:?} {device}/{group} -> {action:?}", self.now);
        }
        let start = Some(self.devices[device].start);
        match action {
            Action::Send { message: Message { body: Body::Part { key, ref part, .. }, .. }, .. }
                if is_damaged(part) =>
            {
                self.notice(group, device, key);
            }
            Action::Reply { request, outcome: Outcome::Read { found: Some((_, ref content)), .. } }
                if is_damaged(content) =>
            {
                let key = self.model.get(request).key;
                self.notice(group, device, key);
            }
            Action::Send { to, message } => self.send(group, device, to.0 as usize, message),
            Action::Work { token, .. } => {
                self.schedule(5, Event::Input { group, to: device, start, input: Input::Done(token) });
            }
            Action::Wake { token, after } => {
                let at = self.now.saturating_add(after);
                self.schedule_at(at, Event::Input { group, to: device, start, input: Input::Woken(token) });
            }
            Action::Reply { request, outcome } => {
                if outcome != Outcome::Retry || !self.model.judge.is_answered(request) {
                    self.model.answer(request, outcome)?;
                }
            }
            Action::Reserve { token, lot, priority, bytes } => {
                let holder = Holder { group: GroupId(group as u32), token };
                let mut verdicts = Vec::new();
                self.devices[device]
                    .reserver
                    .request(Request { holder, lot, priority, bytes }, &mut verdicts);
                self.tell_verdicts(device, verdicts)?;
            }
            Action::Release { token, lot } => {
                let holder = Holder { group: GroupId(group as u32), token };
                let mut verdicts = Vec::new();
                self.devices[device].reserver.release(lot, holder, &mut verdicts);
                self.tell_verdicts(device, verdicts)?;
            }
            Action::WantActing { epoch, acting } => {
                self.schedule(50, Event::WantActing { group, epoch, acting })
            }
            Action::Note(_) => {}
        }
        Ok(())
    }

    fn tell_verdicts(&mut self, device: usize, verdicts: Vec<Verdict>) -> Result<(), String> {
        let held = |lot| self.devices[device].reserver.held(lot);
        if held(Lot::Local) > SLOTS || held(Lot::Remote) > SLOTS {
            return Err(format!("device {device} has given more slots than it has"));
        }
        for verdict in verdicts {
            let (holder, input) = match verdict {
                Verdict::Granted(holder) => (holder, Input::Granted(holder.token)),
                Verdict::Rejected(holder) => (holder, Input::Rejected(holder.token)),
                Verdict::Revoked(holder) => (holder, Input::Revoked(holder.token)),
            };
            if holder.group != OTHERS {
                let group = holder.group.0 as usize;
                let start = Some(self.devices[device].start);
                self.schedule(1, Event::Input { group, to: device, start, input });
            }
        }
        Ok(())
    }

    fn set_busy(&mut self, device: usize, busy: bool) -> Result<(), String> {
        if self.devices[device].busy == busy {
            return Ok(());
        }
        self.devices[device].busy = busy;
        let holder = Holder { group: OTHERS, token: Token(0) };
        let mut verdicts = Vec::new();
        for lot in [Lot::Local, Lot::Remote] {
            let reserver = &mut self.devices[device].reserver;
            if busy {
                reserver.request(Request { holder, lot, priority: 255, bytes: 0 }, &mut verdicts);
            } else {
                reserver.release(lot, holder, &mut verdicts);
            }
        }
        self.tell_verdicts(device, verdicts)
    }

    fn send(&mut self, group: usize, from: usize, to: usize, message: Message<Vec<u8>>) {
        let message = if self.sent.is_multiple_of(64) {
            let text = serde_json::to_string(&message).expect("plain data");
            serde_json::from_str(&text).expect("it was just written")
        } else {
            message
        };
        let copies = 1 + u64::from(self.below(100) < self.repeats);
        for _ in 0..copies {
            let around = [2, 10, 200][(self.below(20) / 9) as usize];
            let mut at = self.now.saturating_add(SimSpan::from_ns(1 + self.below(around * 2_000)));
            if !self.reorders {
                let last = self.last_arrival.entry((group, from, to)).or_default();
                at = at.max(*last);
                *last = at;
            }
            let input = Input::Message { from: DeviceId(from as u32), message: message.clone() };
            self.schedule_at(at, Event::Input { group, to, start: None, input });
        }
    }

    /// Restarts and trusts all devices, and runs until no event is left.
    fn heal(&mut self) -> Result<Ended, String> {
        for device in 0..self.devices.len() {
            self.devices[device].reserver.set_used(0);
            self.devices[device].dies = false;
            self.set_busy(device, false)?;
            self.start(device);
            self.trust(device);
        }
        let from = self.handled;
        loop {
            while self.next_event()? {
                if self.handled - from > EVENTS_MAX {
                    let fault = "there is no end of events".to_owned();
                    return if self.is_lost() { Ok(Ended::WithLoss) } else { Err(fault) };
                }
            }
            if !self.scrub() {
                break;
            }
        }
        if self.model.judge.unanswered() > 0 {
            return Err(format!("{} requests are not answered", self.model.judge.unanswered()));
        }
        Ok(Ended::Whole)
    }

    /// Whether some object is unfound because one copy was damaged or wiped, and others were overwritten or
    /// removed by changes that were undone: without the old bytes nobody could recover it. Nothing else may
    /// be unfound.
    fn is_lost(&self) -> bool {
        let parts = self.devices.iter().flat_map(|device| &device.parts);
        let unfound: Vec<(Key, Version)> =
            parts.filter_map(|part| part.replica.as_ref()).flat_map(Replica::unfound).collect();
        let is_lost = |missed: &(Key, Version)| {
            // Who does not know what it had cannot say that it never had it.
            let doubted = self.doubted[group_of(missed.0.id)].is_some_and(|since| since <= missed.1.epoch);
            self.damaged.contains(&missed.0) && (self.had_elsewhere.contains(missed) || doubted)
        };
        !unfound.is_empty() && unfound.iter().all(is_lost)
    }

    /// Looks for damaged copies in the groups' last holders, as `verify --repair` does; false if there are
    /// none.
    fn scrub(&mut self) -> bool {
        let Some(device) = self.fragile else { return false };
        let mut found = Vec::new();
        for group in 0..GROUPS {
            let acts = |map: &Map| map.acting.contains(&DeviceId(device as u32));
            if self.groups[group].maps.last().is_some_and(acts) {
                let objects = self.devices[device].parts[group].objects.iter();
                let bad = objects.filter(|(_, _, content)| is_damaged(content));
                found.extend(bad.map(|(key, ..)| (group, key)));
            }
        }
        found.iter().for_each(|(group, key)| self.notice(*group, device, *key));
        !found.is_empty()
    }

    fn check_summary(&self, group: usize, device: usize) -> Result<(), String> {
        let part = &self.devices[device].parts[group];
        let Some(replica) = &part.replica else { return Ok(()) };
        let objects = part.objects.iter().map(|(key, version, _)| (key, version));
        let rebuilt = Summary::of_objects(&self.configs[group], objects);
        let holds = replica.durable().summary.sums_up_as(&rebuilt);
        if holds { Ok(()) } else { Err(format!("the tree of {device} is not that of its objects")) }
    }

    fn check_equal(&self) -> Result<(), String> {
        for device in 0..self.devices.len() {
            (0..GROUPS).try_for_each(|group| self.check_summary(group, device))?;
            let it = &self.devices[device];
            if it.reserver.held(Lot::Local) + it.reserver.held(Lot::Remote) > 0 {
                return Err(format!("device {device} holds a slot for nothing"));
            }
        }
        (0..GROUPS).try_for_each(|group| self.check_group(group))?;
        for (key, last) in self.model.last_of_each() {
            let group = group_of(key.id);
            let map = self.groups[group].maps.last().expect("there are maps");
            let objects = &self.devices[map.acting[0].0 as usize].parts[group].objects;
            let found = objects.look_up(key).map(|listed| {
                let content = objects.read(key, 0, listed.size).expect("it was just looked up");
                (listed.version, content)
            });
            if found != last {
                return Err(format!("{key:?} is {found:?} and should be {last:?}"));
            }
        }
        Ok(())
    }

    /// Checks that the group is clean, and that its replicas are equal.
    fn check_group(&self, group: usize) -> Result<(), String> {
        let map = self.groups[group].maps.last().expect("there are maps");
        let part = |device: &DeviceId| &self.devices[device.0 as usize].parts[group];
        let primary = part(&map.acting[0]);
        let view = primary.replica.as_ref().map(Replica::view);
        if view.is_none_or(|view| !view.is_clean) || map.up != map.acting {
            return Err(format!("the group is not clean but {view:?} in {map:?}"));
        }
        for device in &map.acting {
            let it = part(device);
            let head = |part: &Part| part.replica.as_ref().map(|it| it.durable().log.head());
            if it.objects != primary.objects || head(it) != head(primary) || it.objects.staged() > 0 {
                return Err(format!("{device:?} differs from the primary"));
            }
        }
        Ok(())
    }
}
