//! One replica of one placement group: inputs go in, actions for its host come out.
//!
//! [`Replica::handle`] is the only entry point. It passes each input to the responsible module: `peering`
//! begins an interval, `clients` reads and writes, `recovery` and `filling` bring the other replicas up to
//! date, and `follower` is what a replica does for its primary.

mod audit;
mod clients;
mod exchange;
mod exchanging;
mod fill;
mod filling;
mod follower;
mod gathering;
mod look;
mod peering;
mod primary;
mod recovery;
mod reverting;

use std::collections::BTreeMap;

use towtank_merkle::{Sketch, Tree};
use towtank_units::{SimSpan, SimTime};

use crate::objects::Objects;
use crate::{
    Action, Body, Config, DeviceId, Durable, Incarnation, Input, Interval, Key, Lot, Map, Member, Message,
    Note, Outcome, Planted, RequestId, Token, Version, Work,
};
use primary::{Ask, Primary, Stage};

/// A replica of a placement group.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Replica<P> {
    config: Config,
    me: DeviceId,
    incarnation: Incarnation,
    durable: Durable,
    /// None until the first map after a start: messages and work from before it are void.
    map: Option<Map>,
    #[serde(with = "towtank_units::pairs")]
    links: BTreeMap<DeviceId, Link<P>>,
    /// Messages of intervals that it has not heard of yet.
    early: Vec<(DeviceId, Message<P>)>,
    tokens: u64,
    #[serde(with = "towtank_units::pairs")]
    pending: BTreeMap<Token, After<P>>,
    /// Until when primaries may answer reads, as far as this replica has confirmed or heard; under `None` if
    /// the primary is not known.
    #[serde(with = "towtank_units::pairs")]
    promises: BTreeMap<Option<DeviceId>, SimTime>,
    /// Temporary objects: version, and length so far.
    #[serde(with = "towtank_units::pairs")]
    staged: BTreeMap<Key, (Version, u64)>,
    /// Objects being sent, whose receiver has not confirmed the last part.
    #[serde(with = "towtank_units::pairs")]
    sending: BTreeMap<(DeviceId, Key), Version>,
    /// The copies that are compared during an exchange.
    snapshot: Option<(Tree, Option<Sketch>)>,
    /// The slot held or requested as a target, and the round of the primary's request.
    remote_slot: Option<(Token, u64)>,
    primary: Option<Box<Primary<P>>>,
}

/// The messages between this replica and another, in both directions.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Link<P> {
    sent: u64,
    received: u64,
    /// Messages that arrived before earlier ones.
    held: BTreeMap<u64, Body<P>>,
}

impl<P> Default for Link<P> {
    fn default() -> Self {
        Link { sent: 0, received: 0, held: BTreeMap::new() }
    }
}

/// What to do when work is done or a wait is over.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
enum After<P> {
    Committed(Version),
    Say { to: DeviceId, body: Body<P> },
    Answer { request: RequestId, outcome: Outcome<P> },
    Stored { from: DeviceId, key: Key, version: Version, next: Option<u64> },
    Looked { target: DeviceId, round: u64 },
    Gathered { number: u64, part: P, is_last: bool },
    Rested,
    AskSlot { target: DeviceId },
    PromisesOver,
}

/// The observable state of a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// It is the primary of the group.
    pub is_primary: bool,
    /// The group is still peering.
    pub is_peering: bool,
    /// The group waits for devices that are not available.
    pub is_down: bool,
    /// The group accepts requests.
    pub serves: bool,
    /// All replicas are equal and complete, and as many as intended.
    pub is_clean: bool,
    /// Objects missing here or on other replicas, as far as this replica knows.
    pub missing: usize,
    /// Targets of backfills that are not complete yet.
    pub targets: usize,
    /// Objects that no available replica has in the version that the log names.
    pub unfound: usize,
}

impl<P: crate::Payload> Replica<P> {
    /// Starts a replica, for the first time or after a crash. It takes part from the next map that is new to
    /// it.
    #[must_use]
    pub fn start(config: Config, me: Member, durable: Durable, now: SimTime) -> Replica<P> {
        config.check();
        let mut promises = BTreeMap::new();
        if let Some(lease) = config.lease {
            // Nobody knows which leases it confirmed before the start.
            promises.insert(None, now.saturating_add(lease));
        }
        Replica {
            config,
            me: me.device,
            incarnation: me.incarnation,
            durable,
            map: None,
            links: BTreeMap::new(),
            early: Vec::new(),
            tokens: 0,
            pending: BTreeMap::new(),
            promises,
            staged: BTreeMap::new(),
            sending: BTreeMap::new(),
            snapshot: None,
            remote_slot: None,
            primary: None,
        }
    }

    /// The state that must survive a crash.
    #[must_use]
    pub fn durable(&self) -> &Durable {
        &self.durable
    }

    /// The same, mutably: a store records there which parts of trees and sketches it has saved.
    pub fn durable_mut(&mut self) -> &mut Durable {
        &mut self.durable
    }

    /// The state that is left after a crash.
    #[must_use]
    pub fn into_durable(self) -> Durable {
        self.durable
    }

    /// The device that holds this replica.
    #[must_use]
    pub fn device(&self) -> DeviceId {
        self.me
    }

    /// The parameters of the group.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Its observable state.
    #[must_use]
    pub fn view(&self) -> View {
        let primary = self.primary.as_deref();
        let is_at = |stage: Stage| primary.is_some_and(|primary| primary.stage == stage);
        View {
            is_primary: primary.is_some(),
            is_peering: primary.is_some() && !is_at(Stage::Active) && !is_at(Stage::Down),
            is_down: is_at(Stage::Down),
            serves: is_at(Stage::Active) && self.acting().len() >= self.config.size_min,
            is_clean: primary.is_some_and(|primary| primary.is_clean),
            missing: self.durable.missing.len()
                + primary.map_or(0, |primary| primary.peers.values().map(|peer| peer.missing.len()).sum()),
            targets: primary.map_or(0, |primary| primary.targets().count()),
            unfound: primary.map_or(0, |primary| primary.unfound.len()),
        }
    }

    /// The objects that no available replica has, with the versions that are missing.
    #[must_use]
    pub fn unfound(&self) -> Vec<(Key, Version)> {
        let keys = self.primary.as_deref().into_iter().flat_map(|primary| &primary.unfound);
        keys.filter_map(|key| Some((*key, *self.durable.missing.get(key)?))).collect()
    }

    /// The devices that are not available and may have an object that no available replica has. If there are
    /// none although an object is unfound, every device that had it has lost it.
    #[must_use]
    pub fn awaited(&self) -> std::collections::BTreeSet<DeviceId> {
        let Some(primary) = self.primary.as_deref() else { return Default::default() };
        let Some(first) = self.unfound().iter().map(|(_, version)| version.epoch).min() else {
            return Default::default();
        };
        let since = self.durable.intervals.iter().filter(|interval| interval.epoch >= first);
        let gone = self.map.as_ref().map_or(&[][..], |map| &map.gone);
        let acted = since.flat_map(|interval| &interval.acting);
        let is_away = |member: &&Member| !primary.has_heard(**member) && !gone.contains(member);
        acted.filter(is_away).map(|member| member.device).collect()
    }

    /// Reports that an object turned out to be damaged on this device. Call it just before a map is passed:
    /// in the interval that the map begins, the object is missing here in the version that it had, and is
    /// recovered from another replica. An object above the cursor of a backfill is removed, and the backfill
    /// finds the difference.
    pub fn lose<O: Objects<Payload = P>>(&mut self, key: Key, objects: &mut O) {
        let Some(listed) = objects.look_up(key) else { return };
        self.durable.remove(objects, key);
        if self.durable.cursor.covers(key) {
            // If a later version is missing already, the copy was an old one.
            self.durable.missing.entry(key).or_insert(listed.version);
        }
    }

    /// Whether an object of this replica, the group's primary, may be shown to clients: no replica that acts
    /// may turn out not to have it. What is being written meanwhile is not considered.
    #[must_use]
    pub fn may_show(&self, key: Key) -> bool {
        let is_settled = |primary: &Primary<P>| !primary.unsettled.contains_key(&key);
        !self.durable.missing.contains_key(&key) && self.primary.as_deref().is_some_and(is_settled)
    }

    /// Whether that holds for all objects.
    #[must_use]
    pub fn may_show_all(&self) -> bool {
        let is_settled = |primary: &Primary<P>| primary.unsettled.is_empty();
        self.durable.missing.is_empty() && self.primary.as_deref().is_some_and(is_settled)
    }

    /// Whether this primary may answer reads: no other one serves meanwhile.
    #[must_use]
    pub fn has_lease(&self, now: SimTime) -> bool {
        let is_alone = self.acting().len() == 1;
        let is_planted = self.config.planted == Some(Planted::ReadsWithoutLease);
        let until = self.primary.as_ref().map_or(SimTime::ZERO, |primary| primary.lease_until);
        self.config.lease.is_none() || is_alone || is_planted || now < until
    }

    /// Handles an input. All changes to `objects` and to the durable state are one transaction, which must be
    /// durable before any of the actions appended is carried out.
    pub fn handle<O: Objects<Payload = P>>(
        &mut self,
        now: SimTime,
        input: Input<P>,
        objects: &mut O,
        actions: &mut Vec<Action<P>>,
    ) {
        let mut turn = Turn { it: self, now, objects, actions };
        turn.take(input);
        turn.begin_rest();
        self.audit(now);
    }

    fn acting(&self) -> &[DeviceId] {
        self.map.as_ref().map_or(&[], |map| &map.acting)
    }
}

/// One call: the replica, and the arguments of the call.
struct Turn<'a, O: Objects> {
    it: &'a mut Replica<O::Payload>,
    now: SimTime,
    objects: &'a mut O,
    actions: &'a mut Vec<Action<O::Payload>>,
}

impl<O: Objects> Turn<'_, O> {
    fn take(&mut self, input: Input<O::Payload>) {
        match input {
            Input::Map(map) => self.begin_interval(map),
            Input::Message { from, message } => self.take_message(from, message),
            Input::Client { request, key, operation } => self.take_ask(Ask { request, key, operation }),
            Input::Lease => {
                if !self.it.has_lease(self.now) {
                    self.ask_lease();
                }
            }
            Input::Done(token) | Input::Woken(token) => {
                if let Some(after) = self.it.pending.remove(&token) {
                    self.go_on(after);
                }
            }
            Input::Granted(token) => self.take_slot(token),
            Input::Rejected(token) => self.lose_slot(token, Body::Refused),
            Input::Revoked(token) => self.lose_slot(token, Body::Revoked),
        }
    }

    fn go_on(&mut self, after: After<O::Payload>) {
        match after {
            After::Committed(version) => self.committed(self.it.me, version),
            After::Say { to, body } => self.say(to, body),
            After::Answer { request, outcome } => self.reply(request, outcome),
            After::Stored { from, key, version, next } => self.stored_here(from, key, version, next),
            After::Looked { target, round } => self.looked_here(target, round),
            After::Gathered { number, part, is_last } => {
                self.gathered(self.it.me, number, part, is_last);
            }
            After::Rested => self.rested(),
            After::AskSlot { target } => self.ask_remote_slot(target),
            After::PromisesOver => self.activate_if_all_follow(),
        }
    }

    /// Begins an interval: results from past intervals are void, and all volatile state is reset.
    fn begin_interval(&mut self, map: Map) {
        if map.epoch <= self.it.durable.epoch {
            return;
        }
        let is_alive = |device: &DeviceId| map.member(*device).is_some();
        assert!(map.up.iter().chain(&map.acting).all(is_alive), "{map:?} names devices that are not alive");
        let differ =
            |devices: &[DeviceId]| (1..devices.len()).all(|at| !devices[..at].contains(&devices[at]));
        assert!(differ(&map.up) && differ(&map.acting), "{map:?} names a device twice");
        self.end_primary();
        self.give_back_remote_slot();
        let it = &mut *self.it;
        it.durable.epoch = map.epoch;
        let acting = map.acting.iter().filter_map(|device| map.member(*device)).collect();
        it.durable.intervals.push(Interval { epoch: map.epoch, acting });
        it.links.clear();
        it.pending.clear();
        it.sending.clear();
        it.snapshot = None;
        // After a start it is not known which temporary objects exist.
        let keeps = it.config.planted == Some(Planted::KeepsTemporary);
        if (it.map.is_none() || !it.staged.is_empty()) && !keeps {
            it.staged.clear();
            self.objects.drop_staged();
        }
        // A former life of this device may have led intervals that it is told of.
        let is_me = map.member(it.me).is_some_and(|member| member.incarnation == it.incarnation);
        let leads = is_me && map.acting.first() == Some(&it.me);
        it.map = Some(map);
        if leads {
            self.begin_peering();
        }
        let early = std::mem::take(&mut self.it.early);
        early.into_iter().for_each(|(from, message)| self.take_message(from, message));
    }

    /// Handles each message of this interval once and in order.
    fn take_message(&mut self, from: DeviceId, message: Message<O::Payload>) {
        let it = &mut *self.it;
        let known = it.durable.epoch;
        if message.interval > known {
            it.early.push((from, message));
            return;
        }
        if message.interval < known || it.map.is_none() {
            return;
        }
        let link = it.links.entry(from).or_default();
        if message.sequence < link.received {
            return;
        }
        link.held.insert(message.sequence, message.body);
        // Only a map can begin another interval, so the link stays the same during this loop.
        while let Some(link) = self.it.links.get_mut(&from) {
            let Some(body) = link.held.remove(&link.received) else { break };
            link.received += 1;
            self.take_body(from, body);
        }
    }

    fn take_body(&mut self, from: DeviceId, body: Body<O::Payload>) {
        match body {
            Body::Query => self.tell_info(from),
            Body::GetLog => self.tell_log(from),
            Body::Activate(activate) => self.follow(from, activate),
            Body::Write { entry, payload, applies, trim_to } => {
                self.take_write(from, entry, payload, applies, trim_to);
            }
            Body::Pull(key, version) => self.give(from, key, version),
            Body::Part { key, version, at, part, is_last } => {
                self.take_part(from, (key, version), at, part, is_last);
            }
            Body::Stored(key, version, next) => self.stored_there(from, key, version, next),
            Body::Remove(round, key) => self.remove_for(from, round, key),
            Body::Reserve { round, priority, bytes } => self.reserve_for(round, priority, bytes),
            Body::Release => self.give_back_remote_slot(),
            Body::Exchange(round, bytes) => self.take_exchange(from, round, &bytes),
            Body::GetBitmap(round) => self.tell_bitmap(from, round),
            Body::Scan(round, runs, most) => self.look_for(from, round, &runs, most),
            Body::Progress(cursor) => self.keep_progress(from, cursor),
            Body::Clean => self.note_clean(),
            Body::Renew(sent) => self.renew_for(from, sent),
            Body::Info(info) => self.take_info(from, info),
            Body::Log { tail, trimmed, entries } => self.take_log(tail, trimmed, entries),
            Body::Activated(missing) => self.take_activated(from, missing),
            Body::Committed(version) => self.committed(from, version),
            Body::NotHere(key, version, never) => self.not_there(from, key, version, never),
            Body::Removed(round, key) => self.removed_there(from, round, key),
            Body::Reserved(round) => self.reserved_there(from, round),
            Body::Refused(round) => self.refused_there(from, round),
            Body::Revoked(round) => self.revoked_there(from, round),
            Body::Bitmap(round, bitmap) => self.take_bitmap(from, round, bitmap),
            Body::Listed(round, objects, end) => self.take_listed(from, round, &objects, end),
            Body::ProgressKept(cursor) => self.progress_kept(from, cursor),
            Body::Renewed(sent) => self.renewed(from, sent),
            Body::Gather(number, key, version, at) => self.give_shard(from, number, (key, version), at),
            Body::Gathered(number, part, is_last) => self.gathered(from, number, part, is_last),
        }
    }

    fn say(&mut self, to: DeviceId, body: Body<O::Payload>) {
        let it = &mut *self.it;
        assert_ne!(to, it.me, "a replica does not write to itself");
        let interval = it.durable.epoch;
        let link = it.links.entry(to).or_default();
        let message = Message { interval, sequence: link.sent, body };
        link.sent += 1;
        self.actions.push(Action::Send { to, message });
    }

    fn reply(&mut self, request: RequestId, outcome: Outcome<O::Payload>) {
        self.actions.push(Action::Reply { request, outcome });
    }

    fn note(&mut self, note: Note) {
        self.actions.push(Action::Note(note));
    }

    fn token(&mut self) -> Token {
        self.it.tokens += 1;
        Token(self.it.tokens)
    }

    fn work(&mut self, work: Work, after: After<O::Payload>) {
        let token = self.token();
        let before = self.it.pending.insert(token, after);
        assert!(before.is_none(), "{token:?} was given twice");
        self.actions.push(Action::Work { token, work });
    }

    fn wake(&mut self, span: SimSpan, after: After<O::Payload>) {
        let token = self.token();
        let before = self.it.pending.insert(token, after);
        assert!(before.is_none(), "{token:?} was given twice");
        self.actions.push(Action::Wake { token, after: span });
    }

    fn give_back_remote_slot(&mut self) {
        if self.it.config.planted == Some(Planted::KeepsSlot) {
            return;
        }
        if let Some((token, _)) = self.it.remote_slot.take() {
            self.actions.push(Action::Release { token, lot: Lot::Remote });
        }
    }

    /// How long primaries other than `asker` may still answer reads, as far as this replica knows.
    fn promised_to_others(&mut self, asker: DeviceId) -> SimSpan {
        let now = self.now;
        self.it.promises.retain(|_, until| *until > now);
        let others = self.it.promises.iter().filter(|(to, _)| **to != Some(asker));
        others.map(|(_, until)| until.since(now)).max().unwrap_or_default()
    }
}
