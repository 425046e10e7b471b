//! The replicas of a device.
//!
//! Arrivals are taken in portions. All changes of a portion are one transaction; once it is durable, the
//! resulting messages are sent. So many writes share one sync of the disk. The core commits and sends nothing
//! itself: a [`Portion`] has the changes and what follows from them. It has no clock either, so that a
//! simulation can drive it.

mod looks;
mod room;
mod strays;
mod tails;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

use towtank_replication::{
    Action, Body, DeviceId, Durable, Epoch, GroupId, Holder, Incarnation, Input, Key, Member, Message, Note,
    Operation, Outcome, Replica, Request, RequestId, Reserver, Token, Verdict, Work,
};
use towtank_units::{SimSpan, SimTime};

use crate::StoreError;
use crate::content::{self, Encoded};
use crate::engine::{Changes, Engine, Transaction};
use crate::frames::{Answer, Ask, Counters, GroupReport, Inventory, PeerFrame, Reply, Report, Wanted};
use crate::known::Known;
use crate::map::{ClusterMap, MapId, Places};
use crate::names::{Address, address};
use crate::objects::{Totals, View};
use crate::osd::inventory::of_group;
use crate::osd::links::Target;
use crate::osd::pace::Pace;
use crate::saved::Saved;
use crate::settings::Settings;
use crate::tail;
use room::Room;

/// A portion ends after this many bytes to write.
const PORTION_BYTES: usize = 32 << 20;

/// How often the report for the monitor is updated.
const REPORT: SimSpan = SimSpan::from_ms(100);

/// How long after the last transaction an idle device notes that it is synced.
const MARK: SimSpan = SimSpan::from_ms(50);

/// An input of the daemon. `D` is where the answer to a request goes.
#[derive(Clone, Debug)]
pub enum Arrival<D> {
    /// A message for a replica.
    Peer {
        /// The daemon that sent it.
        from: u32,
        /// The message.
        frame: PeerFrame,
    },
    /// New maps of the cluster.
    Maps(Vec<ClusterMap>),
    /// Groups that are clean elsewhere, with the interval.
    Clean(Vec<(u32, Epoch)>),
    /// A client's request.
    Ask {
        /// The request.
        ask: Ask,
        /// Where the answer goes.
        door: D,
    },
    /// The space of removed data was reclaimed, or could not be.
    Reclaimed,
}

/// What follows from a portion, once its changes are durable.
#[derive(Clone, Debug)]
pub enum Effect<D> {
    /// Where another daemon is; none if it is down. Messages to its former run are void.
    Locate {
        /// The daemon.
        osd: u32,
        /// Its address and run.
        at: Option<Target>,
    },
    /// A message for a replica of another daemon.
    Send {
        /// The daemon.
        to: u32,
        /// The group.
        group: u32,
        /// The message.
        message: Message<Encoded>,
    },
    /// An answer to a client.
    Answer {
        /// Where it goes.
        door: D,
        /// The answer.
        answer: Answer,
    },
    /// The monitor is asked for other acting replicas of a group.
    Want {
        /// The group.
        group: u32,
        /// The interval in which the need was found.
        epoch: Epoch,
        /// The daemons wanted, the primary first.
        acting: Vec<u32>,
    },
    /// Each group has noted durably that it may have lost changes.
    NoteDoubts(tail::Note),
    /// Each group knows again what was acknowledged.
    Decide,
    /// The device is idle: it is noted that the last transaction is synced.
    Mark,
    /// The space of removed data is to be reclaimed, which may take long.
    Reclaim,
    /// A new report for the monitor.
    Report(Box<Report>),
    /// A line for the log.
    Say(String),
}

/// What a core does at once: the effects may be carried out when the changes are durable, and not before.
#[derive(Debug)]
pub struct Portion<D> {
    /// The changes.
    pub writes: Changes,
    /// What follows from them, in order.
    pub effects: Vec<Effect<D>>,
}

/// The components of a core.
#[derive(Debug)]
pub struct Parts {
    /// The settings of the cluster.
    pub settings: Settings,
    /// The tables of the device, which the core only reads.
    pub engine: Engine,
    /// The number of the daemon.
    pub osd: u32,
    /// The number of this run.
    pub instance: u64,
    /// The life of the device.
    pub incarnation: Incarnation,
}

/// A replica and its state on disk.
struct Held {
    replica: Replica<Encoded>,
    saved: Saved,
    totals: Totals,
    /// Since when each target has been backfilled.
    filling: BTreeMap<u32, SimTime>,
    /// The acting replicas, by the last map.
    acting: Vec<DeviceId>,
    /// The daemons that serve the group or should hold it, by the last map.
    holders: Vec<u32>,
    /// Reads for recovery that wait until no disk of the group is full.
    stalled: Vec<Token>,
}

impl Held {
    fn new(replica: Replica<Encoded>, saved: Saved, totals: Totals) -> Held {
        Held {
            replica,
            saved,
            totals,
            filling: BTreeMap::new(),
            acting: Vec::new(),
            holders: Vec::new(),
            stalled: Vec::new(),
        }
    }
}

/// The clients that wait for an answer.
type Waiting<D> = BTreeMap<RequestId, (u32, Key, D)>;

/// Messages of a group that arrived before its first map, with their senders.
type Early = Vec<(DeviceId, Message<Encoded>)>;

/// All replicas of the device.
pub struct Core<D> {
    settings: Settings,
    engine: Engine,
    osd: u32,
    instance: u64,
    incarnation: Incarnation,
    /// The time of this portion.
    now: SimTime,
    reserver: Reserver,
    groups: BTreeMap<u32, Held>,
    /// All maps, in order.
    maps: Vec<(ClusterMap, Places)>,
    /// Those that the directory keeps.
    known: Known,
    timers: BinaryHeap<Reverse<(SimTime, u32, Token)>>,
    pace: Pace,
    /// What has arrived, and is not handled yet.
    arrived: VecDeque<Arrival<D>>,
    /// What follows inside the device from what was handled.
    inputs: VecDeque<(u32, Input<Encoded>)>,
    /// What follows from this portion.
    effects: Vec<Effect<D>>,
    waiting: Waiting<D>,
    /// Requests that need no data, and wait for a lease.
    looks: BTreeMap<RequestId, (Ask, D)>,
    /// Messages for groups for which no map has arrived yet.
    early: BTreeMap<u32, Early>,
    /// Objects that are not as they were written, until the next interval of their group.
    damaged: BTreeMap<u32, BTreeSet<Key>>,
    /// Groups that have moved to other daemons, with objects still to be removed.
    purging: BTreeSet<u32>,
    room: Room,
    /// The end of the journal was undecided, and groups may still have lost changes.
    is_undecided: bool,
    /// When to note that the last transaction is synced, if nothing is committed until then.
    mark_at: Option<SimTime>,
    counters: Counters,
    reported: SimTime,
}

impl<D> std::fmt::Debug for Core<D> {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Core").field("osd", &self.osd).field("now", &self.now).finish_non_exhaustive()
    }
}

impl<D> Core<D> {
    /// A core from what the tables hold, and its first portion.
    ///
    /// # Errors
    /// When the disk cannot be read.
    pub fn new(parts: Parts, now: SimTime) -> Result<(Core<D>, Portion<D>), StoreError> {
        let Parts { settings, engine, osd, instance, incarnation } = parts;
        let member = Member { device: DeviceId(osd), incarnation };
        let mut groups = BTreeMap::new();
        let note = engine.undecided()?;
        let mut transaction = engine.begin();
        for group in Saved::groups(settings.groups, &mut transaction) {
            let config = settings.config(group);
            if let Some((mut saved, mut durable, totals)) = Saved::load(group, &config, &mut transaction)? {
                if note.as_ref().is_some_and(|note| !note.is_noted) {
                    durable.doubt();
                    saved.save(&mut durable, totals, &mut transaction);
                }
                let replica = Replica::start(config, member, durable, now);
                groups.insert(group, Held::new(replica, saved, totals));
            }
        }
        let is_held = |group| groups.contains_key(&group);
        let purging = strays::left_over(settings.groups, is_held, &mut transaction);
        let known = Known::load(&mut transaction)?;
        let writes = transaction.into_changes()?;
        let is_undecided = note.is_some();
        let effects = note.filter(|note| !note.is_noted).map(Effect::NoteDoubts).into_iter().collect();
        let room = Room::of(&engine, now);
        let core = Core {
            reserver: room.reserver(settings.backfills as usize),
            maps: Vec::new(),
            known,
            timers: BinaryHeap::new(),
            pace: Pace::new(settings.pacing.as_ref()),
            arrived: VecDeque::new(),
            inputs: VecDeque::new(),
            effects: Vec::new(),
            waiting: BTreeMap::new(),
            looks: BTreeMap::new(),
            early: BTreeMap::new(),
            damaged: BTreeMap::new(),
            purging,
            room,
            is_undecided,
            mark_at: Some(now.saturating_add(MARK)),
            counters: Counters::default(),
            reported: now,
            settings,
            engine,
            osd,
            instance,
            incarnation,
            now,
            groups,
        };
        Ok((core, Portion { writes, effects }))
    }

    /// The last map that the directory knows.
    #[must_use]
    pub fn known(&self) -> Option<MapId> {
        self.known.newest()
    }

    /// What the replica of a group has on disk, or will have once the last portion is written.
    #[must_use]
    pub fn durable(&self, group: u32) -> Option<&Durable> {
        self.groups.get(&group).map(|held| held.replica.durable())
    }

    /// How long the core may rest if nothing arrives.
    #[must_use]
    pub fn idle(&self, now: SimTime) -> SimSpan {
        let is_busy = !self.inputs.is_empty() || !self.arrived.is_empty() || !self.purging.is_empty();
        if is_busy || self.pace.is_ready(now) {
            return SimSpan::ZERO;
        }
        let timer = self.timers.peek().map(|Reverse((at, ..))| *at);
        let times = [timer, self.pace.wake_at(), self.mark_at].into_iter().flatten();
        times
            .map(|at| at.saturating_sub(SimSpan::from_ns(now.as_ns())))
            .fold(REPORT, |least, at| least.min(SimSpan::from_ns(at.as_ns())))
    }

    /// Handles what has arrived, and what is due.
    ///
    /// # Errors
    /// When the disk cannot be read: then the core is of no use any more.
    pub fn portion(
        &mut self,
        now: SimTime,
        arrivals: impl IntoIterator<Item = Arrival<D>>,
    ) -> Result<Portion<D>, StoreError> {
        self.now = now;
        self.arrived.extend(arrivals);
        let engine = self.engine.clone();
        let mut transaction = engine.begin();
        let mut turn = Turn { actions: Vec::new(), answers: Vec::new(), touched: BTreeSet::new() };
        self.handle_due(&mut transaction, &mut turn);
        while let Some(arrival) = self.arrived.pop_front() {
            match arrival {
                Arrival::Maps(maps) => self.take_maps(maps, &mut transaction, &mut turn),
                Arrival::Clean(groups) => self.drop_strays(groups, &mut transaction, &turn),
                Arrival::Peer { from, frame } => {
                    let input = Input::Message { from: DeviceId(from), message: frame.message };
                    self.handle(frame.group, input, &mut transaction, &mut turn);
                }
                Arrival::Ask { ask, door } => self.take_ask(ask, door, &mut transaction, &mut turn),
                Arrival::Reclaimed => self.room.is_reclaiming = false,
            }
            if transaction.bytes() >= PORTION_BYTES {
                break;
            }
        }
        self.answer_looks(&mut transaction, &mut turn);
        self.purge_some(&mut transaction);
        for group in &turn.touched {
            if let Some(held) = self.groups.get_mut(group) {
                held.saved.save(held.replica.durable_mut(), held.totals, &mut transaction);
            }
        }
        let writes = transaction.into_changes()?;
        if !writes.is_empty() {
            self.counters.transactions += 1;
            self.mark_at = Some(now.saturating_add(MARK));
        }
        for (group, action) in turn.actions {
            self.carry_out(group, action);
        }
        let answers = turn.answers.into_iter().map(|(door, answer)| Effect::Answer { door, answer });
        self.effects.extend(answers);
        self.mark_if_idle();
        self.look_around();
        Ok(Portion { writes, effects: std::mem::take(&mut self.effects) })
    }

    /// Handles work that is done, what follows from the last portion, and timers.
    fn handle_due(&mut self, transaction: &mut Transaction<'_>, turn: &mut Turn<D>) {
        for (group, token) in self.pace.next(self.now) {
            self.handle(group, Input::Done(token), transaction, turn);
        }
        for (group, input) in std::mem::take(&mut self.inputs) {
            self.handle(group, input, transaction, turn);
        }
        while let Some(Reverse((_, group, token))) =
            self.timers.peek().copied().filter(|due| due.0.0 <= self.now)
        {
            self.timers.pop();
            self.handle(group, Input::Woken(token), transaction, turn);
        }
    }

    /// Looks at the disk from time to time, and makes a report.
    fn look_around(&mut self) {
        if self.now.since(self.reported) < REPORT {
            return;
        }
        self.reported = self.now;
        self.look_at_room();
        self.go_on();
        self.decide_if_all_know();
        let report = Box::new(self.report());
        self.effects.push(Effect::Report(report));
    }

    fn say(&mut self, text: String) {
        self.effects.push(Effect::Say(text));
    }

    fn handle(
        &mut self,
        group: u32,
        input: Input<Encoded>,
        transaction: &mut Transaction<'_>,
        turn: &mut Turn<D>,
    ) {
        let Some(held) = self.groups.get_mut(&group) else {
            if let Input::Message { from, message } = input {
                self.take_strange(group, (from, message), transaction, turn);
            }
            return;
        };
        let mut actions = Vec::new();
        let mut view = View::new(transaction, group, &mut held.totals);
        held.replica.handle(self.now, input, &mut view, &mut actions);
        turn.touched.insert(group);
        turn.actions.extend(actions.into_iter().map(|action| (group, action)));
    }

    /// Passes each new map to the groups for which it begins an interval.
    fn take_maps(&mut self, maps: Vec<ClusterMap>, transaction: &mut Transaction<'_>, turn: &mut Turn<D>) {
        self.known.keep(&maps, transaction);
        for map in maps {
            if self.maps.last().is_some_and(|(last, _)| last.epoch >= map.epoch) {
                continue;
            }
            for (id, osd) in &map.osds {
                if *id != self.osd {
                    let target = || Target { address: osd.address.clone(), instance: osd.instance };
                    self.effects.push(Effect::Locate { osd: *id, at: osd.is_up.then(target) });
                }
            }
            let places = Places::new(&self.settings, &map);
            self.maps.retain(|(earlier, _)| earlier.epoch >= map.oldest);
            self.maps.push((map, places));
            let (map, places) = self.maps.last().expect("one was just pushed");
            let mut changed = Vec::new();
            for group in (0..self.settings.groups).filter(|group| map.begins_interval_of(*group)) {
                let map = places.map_of(map, group);
                let me = DeviceId(self.osd);
                let is_mine = map.up.contains(&me) || map.acting.contains(&me);
                if is_mine || self.groups.contains_key(&group) || self.early.contains_key(&group) {
                    changed.push((group, map));
                }
            }
            for (group, map) in changed {
                self.tell_map(group, map, transaction, turn);
            }
        }
    }

    /// Passes a map to a replica; a replica that is new here receives all intervals of its group.
    fn tell_map(
        &mut self,
        group: u32,
        map: towtank_replication::Map,
        transaction: &mut Transaction<'_>,
        turn: &mut Turn<D>,
    ) {
        if !self.groups.contains_key(&group) {
            self.purge_all(group, transaction);
            let config = self.settings.config(group);
            let me = Member { device: DeviceId(self.osd), incarnation: self.incarnation };
            let replica = Replica::start(config, me, self.new_durable(&config), self.now);
            self.groups.insert(group, Held::new(replica, Saved::nothing(group), Totals::default()));
            let before: Vec<_> = self
                .maps
                .iter()
                .filter(|(earlier, _)| earlier.epoch < map.epoch && earlier.begins_interval_of(group))
                .map(|(earlier, places)| places.map_of(earlier, group))
                .collect();
            for earlier in before {
                self.handle(group, Input::Map(earlier), transaction, turn);
            }
        }
        if let Some(held) = self.groups.get_mut(&group) {
            held.acting.clone_from(&map.acting);
            let holders: BTreeSet<u32> = map.acting.iter().chain(&map.up).map(|device| device.0).collect();
            held.holders = holders.into_iter().collect();
            held.stalled.clear();
            for key in self.damaged.remove(&group).unwrap_or_default() {
                held.replica.lose(key, &mut View::new(transaction, group, &mut held.totals));
            }
        }
        self.handle(group, Input::Map(map), transaction, turn);
        for (from, message) in self.early.remove(&group).unwrap_or_default() {
            self.handle(group, Input::Message { from, message }, transaction, turn);
        }
    }

    fn take_ask(&mut self, ask: Ask, door: D, transaction: &mut Transaction<'_>, turn: &mut Turn<D>) {
        let epoch = self.maps.last().map_or(0, |(map, _)| map.epoch);
        let retry = Reply::Retry(epoch);
        let request = ask.request;
        let reply = match ask.what {
            Wanted::Inventory { repairs } => {
                let inventory = self.inventory(ask.group, transaction);
                for (key, _) in inventory.damaged.iter().filter(|_| repairs) {
                    self.damaged(ask.group, *key);
                }
                Reply::Inventory(inventory)
            }
            _ if !self.groups.get(&ask.group).is_some_and(|held| held.replica.view().serves) => retry,
            Wanted::Names { .. } | Wanted::Head { .. } => {
                return self.take_look(ask, door, transaction, turn);
            }
            Wanted::Object { key, operation } => {
                if let Some(why) = self.fault_of(ask.group, key, &operation) {
                    turn.answers.push((door, Answer { request, reply: Reply::Refused(why) }));
                    return;
                }
                if let Some(why) = self.refusal(ask.group, request, &operation) {
                    turn.answers.push((door, Answer { request, reply: Reply::Refused(why) }));
                    return;
                }
                self.waiting.insert(request, (ask.group, key, door));
                self.handle(ask.group, Input::Client { request, key, operation }, transaction, turn);
                return;
            }
        };
        turn.answers.push((door, Answer { request, reply }));
    }

    /// What is wrong with a request: a correct client never names an object of another group, or writes bytes
    /// that are not an object.
    fn fault_of(&self, group: u32, key: Key, operation: &Operation<Encoded>) -> Option<String> {
        if let Operation::Write(bytes) = operation {
            let name = match content::decode(bytes) {
                Ok((head, _)) => head.name,
                Err(error) => return Some(error.to_string()),
            };
            let is_its_place = address(&name, self.settings.groups) == Address { group, key };
            return (!is_its_place).then(|| format!("`{name}` does not belong at {key:?} of group {group}"));
        }
        let space = self.settings.config(group).shape.space();
        (!space.contains(key.at())).then(|| format!("{key:?} is not in group {group}"))
    }

    /// Everything that this daemon holds of a group, with checksums checked.
    fn inventory(&self, group: u32, transaction: &mut Transaction<'_>) -> Inventory {
        let Some(held) = self.groups.get(&group) else { return Inventory::default() };
        let durable = held.replica.durable();
        let inventory = of_group(group, &held.replica, transaction);
        Inventory { is_complete: durable.is_complete() && durable.missing.is_empty(), ..inventory }
    }

    /// Records that an object is not as it was written. It counts as missing from the group's next interval
    /// on, which is requested from the monitor.
    fn damaged(&mut self, group: u32, key: Key) {
        let Some(held) = self.groups.get(&group) else { return };
        if self.damaged.entry(group).or_default().insert(key) {
            self.counters.damaged += 1;
            let acting = held.acting.iter().map(|device| device.0).collect();
            let epoch = held.replica.durable().epoch;
            self.say(format!("group {group}: {key:?} is damaged here"));
            self.effects.push(Effect::Want { group, epoch, acting });
        }
    }

    fn carry_out(&mut self, group: u32, action: Action<Encoded>) {
        match action {
            Action::Send { message: Message { body: Body::Part { key, ref part, .. }, .. }, .. }
                if content::decode(part).is_err() =>
            {
                self.damaged(group, key);
            }
            Action::Send { to, message } => self.effects.push(Effect::Send { to: to.0, group, message }),
            Action::Work { token, work: Work::Read { is_recovery: true, .. } }
                if !self.full_holders(group).is_empty() =>
            {
                self.stall(group, token);
            }
            // The writes of this work are durable already, and its reads have been done.
            Action::Work { token, work } => self.pace.arrive(self.now, group, token, work),
            Action::Wake { token, after } => {
                self.timers.push(Reverse((self.now.saturating_add(after), group, token)));
            }
            Action::Reply { request, outcome } => self.reply(request, outcome),
            Action::Reserve { token, lot, priority, bytes } => {
                let holder = Holder { group: GroupId(group), token };
                let mut verdicts = Vec::new();
                self.reserver.request(Request { holder, lot, priority, bytes }, &mut verdicts);
                self.inputs.extend(verdicts.into_iter().map(input_of));
            }
            Action::Release { token, lot } => {
                let mut verdicts = Vec::new();
                self.reserver.release(lot, Holder { group: GroupId(group), token }, &mut verdicts);
                self.inputs.extend(verdicts.into_iter().map(input_of));
            }
            Action::WantActing { epoch, acting } => {
                let acting = acting.iter().map(|device| device.0).collect();
                self.effects.push(Effect::Want { group, epoch, acting });
            }
            Action::Note(note) => self.note(group, note),
        }
    }

    fn reply(&mut self, request: RequestId, outcome: Outcome<Encoded>) {
        let Some((group, key, door)) = self.waiting.remove(&request) else { return };
        let retry = Reply::Retry(self.maps.last().map_or(0, |(map, _)| map.epoch));
        let reply = match outcome {
            Outcome::Done(version) => Reply::Done(version),
            // The client repeats the read, which succeeds once another replica has supplied the object.
            Outcome::Read { found: Some((_, bytes)), .. } if content::decode(&bytes).is_err() => {
                self.damaged(group, key);
                retry
            }
            Outcome::Read { found, .. } => Reply::Found(found),
            Outcome::Retry => retry,
        };
        self.counters.requests += 1;
        self.effects.push(Effect::Answer { door, answer: Answer { request, reply } });
    }

    fn note(&mut self, group: u32, note: Note) {
        match note {
            Note::Recovered { .. } => self.counters.recovered += 1,
            Note::BackfillBegan { target, discovery, resumed } => {
                let osd = target.0;
                self.say(format!(
                    "group {group}: backfill of osd.{osd} by {discovery:?}, resumed: {resumed}"
                ));
                if let Some(held) = self.groups.get_mut(&group) {
                    held.filling.insert(osd, self.now);
                }
            }
            Note::Discovered { target, by, differing, bytes } => {
                let osd = target.0;
                self.say(format!(
                    "group {group}: osd.{osd} differs in {differing} items ({by:?}, {bytes} B)"
                ));
                let began = self.groups.get(&group).and_then(|held| held.filling.get(&target.0));
                if let Some(began) = began {
                    self.counters.discovery_ns += self.now.since(*began).as_ns();
                    self.counters.discovered += 1;
                }
            }
            Note::BackfillEnded { target, tally } => {
                let began = self.groups.get_mut(&group).and_then(|held| held.filling.remove(&target.0));
                let span = began.map_or(SimSpan::ZERO, |began| self.now.since(began));
                let osd = target.0;
                self.say(format!("group {group}: osd.{osd} is complete after {span}: {tally:?}"));
                self.counters.backfills += 1;
                self.counters.backfill_ns += span.as_ns();
                self.counters.looked_at += tally.looked_at.max(tally.looked_at_by_target);
                self.counters.exchanged_bytes += tally.exchanged_bytes;
                self.counters.backfilled += tally.recovered;
            }
            Note::Down { .. } | Note::Unfound { .. } | Note::Reverted { .. } | Note::TargetFull { .. } => {
                self.say(format!("group {group}: {note:?}"));
            }
            _ => {}
        }
    }

    fn report(&self) -> Report {
        let mut led = BTreeMap::new();
        for (group, held) in &self.groups {
            let view = held.replica.view();
            if !view.is_primary {
                continue;
            }
            led.insert(
                *group,
                GroupReport {
                    epoch: held.replica.durable().epoch,
                    acting: held.acting.iter().map(|device| device.0).collect(),
                    is_clean: view.is_clean,
                    is_peering: view.is_peering,
                    is_down: view.is_down,
                    serves: view.serves,
                    missing: view.missing as u64,
                    targets: view.targets as u32,
                    unfound: view.unfound as u64,
                    awaited: held.replica.awaited().into_iter().map(|device| device.0).collect(),
                    objects: held.totals.objects,
                    bytes: held.totals.bytes,
                },
            );
        }
        Report {
            epoch: self.maps.last().map_or(0, |(map, _)| map.epoch),
            known: self.known.newest(),
            led,
            objects: self.groups.values().map(|held| held.totals.objects).sum(),
            bytes: self.groups.values().map(|held| held.totals.bytes).sum(),
            disk_bytes: self.engine.disk_bytes(),
            summary_bytes: self
                .groups
                .values()
                .map(|held| held.replica.durable().summary.memory_bytes())
                .sum(),
            free_bytes: self.room.space.free_bytes,
            is_full: self.room.is_full,
            strays: self.strays(),
            undecided: self.undecided(),
            counters: self.counters,
        }
    }
}

/// The results of a portion so far.
struct Turn<D> {
    actions: Vec<(u32, Action<Encoded>)>,
    answers: Vec<(D, Answer)>,
    touched: BTreeSet<u32>,
}

fn input_of(verdict: Verdict) -> (u32, Input<Encoded>) {
    match verdict {
        Verdict::Granted(holder) => (holder.group.0, Input::Granted(holder.token)),
        Verdict::Rejected(holder) => (holder.group.0, Input::Rejected(holder.token)),
        Verdict::Revoked(holder) => (holder.group.0, Input::Revoked(holder.token)),
    }
}
