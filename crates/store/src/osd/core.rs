//! The replicas of a device, in a single thread.
//!
//! Arrivals are taken in portions. All changes of a portion are one transaction; once it is durable, the
//! resulting messages are sent. So many writes share one sync of the disk.

mod room;
mod strays;
mod tails;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use towtank_replication::{
    Action, Body, DeviceId, Epoch, GroupId, Holder, Incarnation, Input, Key, Member, Message, Note,
    Operation, Outcome, Replica, Request, RequestId, Reserver, Token, Verdict, Work,
};

use crate::StoreError;
use crate::clock::{Clock, now};
use crate::content::{self, Encoded};
use crate::engine::{Engine, Transaction};
use crate::frames::{Answer, Ask, Counters, GroupReport, Inventory, Reply, Report, Wanted};
use crate::known::Known;
use crate::map::{ClusterMap, Places};
use crate::names::{Address, address};
use crate::objects::{Totals, View};
use crate::osd::doors::{Arrival, ClientDoor};
use crate::osd::heads;
use crate::osd::inventory::of_group;
use crate::osd::monitoring::Monitor;
use crate::osd::pace::Pace;
use crate::osd::peers::{Me, Peers};
use crate::saved::Saved;
use crate::settings::Settings;
use room::Room;

/// A portion ends after this many arrivals, or bytes to write.
const PORTION_ARRIVALS: usize = 128;
const PORTION_BYTES: usize = 32 << 20;

/// How often the report for the monitor is updated.
const REPORT: Duration = Duration::from_millis(100);

/// How long after the last transaction an idle device notes that it is synced.
const MARK: Duration = Duration::from_millis(50);

/// The components of a core.
pub(super) struct Parts {
    pub settings: Settings,
    pub engine: Engine,
    pub me: Me,
    pub incarnation: Incarnation,
    pub monitor: Monitor,
    pub report: Arc<Mutex<Report>>,
}

/// A replica and its state on disk.
struct Held {
    replica: Replica<Encoded>,
    saved: Saved,
    totals: Totals,
    /// Since when each target has been backfilled.
    filling: BTreeMap<u32, Instant>,
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
type Waiting = BTreeMap<RequestId, (u32, Key, Arc<ClientDoor>)>;

/// Messages of a group that arrived before its first map, with their senders.
type Early = Vec<(DeviceId, Message<Encoded>)>;

/// All replicas of the device.
pub(super) struct Core {
    settings: Settings,
    engine: Engine,
    me: Me,
    incarnation: Incarnation,
    monitor: Monitor,
    report: Arc<Mutex<Report>>,
    clock: Clock,
    peers: Peers,
    reserver: Reserver,
    groups: BTreeMap<u32, Held>,
    /// All maps, in order.
    maps: Vec<(ClusterMap, Places)>,
    /// Those that the directory keeps.
    known: Known,
    timers: BinaryHeap<Reverse<(Instant, u32, Token)>>,
    pace: Pace,
    waiting: Waiting,
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
    mark_at: Option<Instant>,
    counters: Counters,
    reported: Instant,
}

impl Core {
    pub(super) fn new(parts: Parts) -> Result<Core, StoreError> {
        let Parts { settings, engine, me, incarnation, monitor, report } = parts;
        let member = Member { device: DeviceId(me.osd), incarnation };
        let clock = Clock::start();
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
                let replica = Replica::start(config, member, durable, clock.sim());
                groups.insert(group, Held::new(replica, saved, totals));
            }
        }
        let is_held = |group| groups.contains_key(&group);
        let purging = strays::left_over(settings.groups, is_held, &mut transaction);
        let known = Known::load(&mut transaction);
        transaction.commit()?;
        let is_undecided = note.is_some();
        if let Some(note) = note.filter(|note| !note.is_noted) {
            engine.note_doubts(note)?;
        }
        let room = Room::of(&engine);
        Ok(Core {
            reserver: room.reserver(settings.backfills as usize),
            peers: Peers::new(me.clone()),
            maps: Vec::new(),
            known,
            timers: BinaryHeap::new(),
            pace: Pace::new(settings.pacing.as_ref()),
            waiting: BTreeMap::new(),
            early: BTreeMap::new(),
            damaged: BTreeMap::new(),
            purging,
            room,
            is_undecided,
            mark_at: Some(now() + MARK),
            counters: Counters::default(),
            reported: now(),
            settings,
            engine,
            me,
            incarnation,
            monitor,
            report,
            clock,
            groups,
        })
    }

    /// The last map that the directory knows.
    pub(super) fn epoch(&self) -> Epoch {
        let heard = self.groups.values().map(|held| held.replica.durable().epoch);
        heard.fold(self.known.newest(), Epoch::max)
    }

    /// Handles arrivals until `stopped` returns true.
    pub(super) fn run(
        mut self,
        arrivals: &Receiver<Arrival>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), StoreError> {
        let mut inputs = VecDeque::new();
        while !stopped() {
            let is_busy =
                !inputs.is_empty() || !self.purging.is_empty() || self.pace.is_ready(self.clock.sim());
            let wait = if is_busy { Duration::ZERO } else { self.idle() };
            let first = match arrivals.recv_timeout(wait) {
                Ok(arrival) => Some(arrival),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            self.portion(first, arrivals, &mut inputs)?;
            self.mark_if_idle()?;
            if now().duration_since(self.reported) >= REPORT {
                self.reported = now();
                self.look_at_room();
                self.go_on(&mut inputs);
                self.decide_if_all_know()?;
                let report = self.report();
                *self.report.lock().expect("no thread that holds it panics") = report;
            }
        }
        Ok(self.engine.mark()?)
    }

    /// How long the core may sleep if nothing arrives.
    fn idle(&self) -> Duration {
        let mark = self.mark_at.map(|at| at.saturating_duration_since(now()));
        let timer = self.timers.peek().map(|Reverse((at, ..))| at.saturating_duration_since(now()));
        let paced = self
            .pace
            .wake_at()
            .map(|at| Duration::from_nanos(at.as_ns().saturating_sub(self.clock.sim().as_ns())));
        [timer, paced, mark].into_iter().flatten().fold(REPORT, Duration::min)
    }

    /// Handles one portion: processes what waits, commits it, and then carries out the resulting actions.
    fn portion(
        &mut self,
        first: Option<Arrival>,
        arrivals: &Receiver<Arrival>,
        inputs: &mut VecDeque<(u32, Input<Encoded>)>,
    ) -> Result<(), StoreError> {
        let engine = self.engine.clone();
        let mut transaction = engine.begin();
        let mut turn = Turn { actions: Vec::new(), answers: Vec::new(), touched: BTreeSet::new() };
        for (group, token) in self.pace.next(self.clock.sim()) {
            self.handle(group, Input::Done(token), &mut transaction, &mut turn);
        }
        for _ in 0..inputs.len() {
            let (group, input) = inputs.pop_front().expect("it has so many");
            self.handle(group, input, &mut transaction, &mut turn);
        }
        while let Some(Reverse((_, group, token))) =
            self.timers.peek().copied().filter(|due| due.0.0 <= now())
        {
            self.timers.pop();
            self.handle(group, Input::Woken(token), &mut transaction, &mut turn);
        }
        let mut next = first;
        for _ in 0..PORTION_ARRIVALS {
            let Some(arrival) = next.take().or_else(|| arrivals.try_recv().ok()) else { break };
            match arrival {
                Arrival::Maps(maps) => self.take_maps(maps, &mut transaction, &mut turn),
                Arrival::Clean(groups) => self.drop_strays(groups, &mut transaction, &turn),
                Arrival::Peer { from, frame } => {
                    let input = Input::Message { from: DeviceId(from), message: frame.message };
                    self.handle(frame.group, input, &mut transaction, &mut turn);
                }
                Arrival::Ask { ask, door } => self.take_ask(ask, door, &mut transaction, &mut turn),
            }
            if transaction.bytes() >= PORTION_BYTES {
                break;
            }
        }
        self.purge_some(&mut transaction);
        for group in &turn.touched {
            if let Some(held) = self.groups.get_mut(group) {
                held.saved.save(held.replica.durable_mut(), held.totals, &mut transaction);
            }
        }
        if !transaction.is_empty() {
            transaction.commit()?;
            self.counters.transactions += 1;
            self.mark_at = Some(now() + MARK);
        }
        for (group, action) in turn.actions {
            crate::crash::point();
            self.carry_out(group, action, inputs);
        }
        for (door, answer) in turn.answers {
            crate::crash::point();
            door.answer(answer);
        }
        Ok(())
    }

    fn handle(
        &mut self,
        group: u32,
        input: Input<Encoded>,
        transaction: &mut Transaction<'_>,
        turn: &mut Turn,
    ) {
        let Some(held) = self.groups.get_mut(&group) else {
            if let Input::Message { from, message } = input {
                self.take_strange(group, (from, message), transaction, turn);
            }
            return;
        };
        let mut actions = Vec::new();
        let mut view = View::new(transaction, group, &mut held.totals);
        held.replica.handle(self.clock.sim(), input, &mut view, &mut actions);
        turn.touched.insert(group);
        turn.actions.extend(actions.into_iter().map(|action| (group, action)));
    }

    /// Passes each new map to the groups for which it begins an interval.
    fn take_maps(&mut self, maps: Vec<ClusterMap>, transaction: &mut Transaction<'_>, turn: &mut Turn) {
        self.known.keep(&maps, transaction);
        for map in maps {
            if self.maps.last().is_some_and(|(last, _)| last.epoch >= map.epoch) {
                continue;
            }
            for (id, osd) in &map.osds {
                if *id != self.me.osd {
                    self.peers.locate(*id, osd.is_up.then_some((osd.address.as_str(), osd.instance)));
                }
            }
            let places = Places::new(&self.settings, &map);
            self.maps.retain(|(earlier, _)| earlier.epoch >= map.oldest);
            self.maps.push((map, places));
            let (map, places) = self.maps.last().expect("one was just pushed");
            let mut changed = Vec::new();
            for group in (0..self.settings.groups).filter(|group| map.begins_interval_of(*group)) {
                let map = places.map_of(map, group);
                let me = DeviceId(self.me.osd);
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
        turn: &mut Turn,
    ) {
        if !self.groups.contains_key(&group) {
            self.purge_all(group, transaction);
            let config = self.settings.config(group);
            let me = Member { device: DeviceId(self.me.osd), incarnation: self.incarnation };
            let replica = Replica::start(config, me, self.new_durable(&config), self.clock.sim());
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

    fn take_ask(
        &mut self,
        ask: Ask,
        door: Arc<ClientDoor>,
        transaction: &mut Transaction<'_>,
        turn: &mut Turn,
    ) {
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
            what @ (Wanted::Names { .. } | Wanted::Head { .. }) => {
                self.look(ask.group, &what, transaction).unwrap_or(retry)
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

    /// Answers requests that need no data; none, so that the client retries, while the log names objects
    /// missing here, or objects that clients must not see yet.
    fn look(&self, group: u32, what: &Wanted, transaction: &mut Transaction<'_>) -> Option<Reply> {
        let held = self.groups.get(&group)?;
        let replica = &held.replica;
        match what {
            Wanted::Names { prefix, from, most } if replica.may_show_all() => {
                heads::names(group, (prefix, from), *most as usize, transaction)
            }
            Wanted::Head { key } if replica.may_show(*key) => heads::head(group, *key, transaction),
            _ => None,
        }
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
            println!("group {group}: {key:?} is damaged here");
            self.counters.damaged += 1;
            let acting = held.acting.iter().map(|device| device.0).collect();
            self.monitor.want(group, held.replica.durable().epoch, acting);
        }
    }

    fn carry_out(
        &mut self,
        group: u32,
        action: Action<Encoded>,
        inputs: &mut VecDeque<(u32, Input<Encoded>)>,
    ) {
        match action {
            Action::Send { message: Message { body: Body::Part { key, ref part, .. }, .. }, .. }
                if content::decode(part).is_err() =>
            {
                self.damaged(group, key);
            }
            Action::Send { to, message } => self.peers.send(to.0, group, message),
            Action::Work { token, work: Work::Read { is_recovery: true, .. } }
                if !self.full_holders(group).is_empty() =>
            {
                self.stall(group, token);
            }
            // The writes of this work are durable already, and its reads have been done.
            Action::Work { token, work } => self.pace.arrive(self.clock.sim(), group, token, work),
            Action::Wake { token, after } => {
                self.timers.push(Reverse((now() + Duration::from_nanos(after.as_ns()), group, token)));
            }
            Action::Reply { request, outcome } => self.reply(request, outcome),
            Action::Reserve { token, lot, priority, bytes } => {
                let holder = Holder { group: GroupId(group), token };
                let mut verdicts = Vec::new();
                self.reserver.request(Request { holder, lot, priority, bytes }, &mut verdicts);
                inputs.extend(verdicts.into_iter().map(input_of));
            }
            Action::Release { token, lot } => {
                let mut verdicts = Vec::new();
                self.reserver.release(lot, Holder { group: GroupId(group), token }, &mut verdicts);
                inputs.extend(verdicts.into_iter().map(input_of));
            }
            Action::WantActing { epoch, acting } => {
                self.monitor.want(group, epoch, acting.iter().map(|device| device.0).collect());
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
        door.answer(Answer { request, reply });
    }

    fn note(&mut self, group: u32, note: Note) {
        match note {
            Note::Recovered { .. } => self.counters.recovered += 1,
            Note::BackfillBegan { target, discovery, resumed } => {
                println!("group {group}: backfill of osd.{} by {discovery:?}, resumed: {resumed}", target.0);
                if let Some(held) = self.groups.get_mut(&group) {
                    held.filling.insert(target.0, now());
                }
            }
            Note::Discovered { target, by, differing, bytes } => {
                println!("group {group}: osd.{} differs in {differing} items ({by:?}, {bytes} B)", target.0);
                let began = self.groups.get(&group).and_then(|held| held.filling.get(&target.0));
                if let Some(began) = began {
                    self.counters.discovery_ns += now().duration_since(*began).as_nanos() as u64;
                    self.counters.discovered += 1;
                }
            }
            Note::BackfillEnded { target, tally } => {
                let began = self.groups.get_mut(&group).and_then(|held| held.filling.remove(&target.0));
                let span = began.map_or(Duration::ZERO, |began| now().duration_since(began));
                println!("group {group}: osd.{} is complete after {span:?}: {tally:?}", target.0);
                self.counters.backfills += 1;
                self.counters.backfill_ns += span.as_nanos() as u64;
                self.counters.looked_at += tally.looked_at.max(tally.looked_at_by_target);
                self.counters.exchanged_bytes += tally.exchanged_bytes;
                self.counters.backfilled += tally.recovered;
            }
            Note::Down { .. } | Note::Unfound { .. } | Note::Reverted { .. } | Note::TargetFull { .. } => {
                println!("group {group}: {note:?}")
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
struct Turn {
    actions: Vec<(u32, Action<Encoded>)>,
    answers: Vec<(Arc<ClientDoor>, Answer)>,
    touched: BTreeSet<u32>,
}

fn input_of(verdict: Verdict) -> (u32, Input<Encoded>) {
    match verdict {
        Verdict::Granted(holder) => (holder.group.0, Input::Granted(holder.token)),
        Verdict::Rejected(holder) => (holder.group.0, Input::Rejected(holder.token)),
        Verdict::Revoked(holder) => (holder.group.0, Input::Revoked(holder.token)),
    }
}
