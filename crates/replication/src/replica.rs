//! One replica of one placement group: what happens to it goes in, what its host is to do comes out.
//!
//! [`Replica::handle`] is the only way in. It hands each input to the part that knows it: `peering` begins an
//! interval, `clients` reads and writes, `recovery` and `filling` bring the others up to date, `follower` is
//! what a replica does for its primary, whoever it is.

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

use std::collections::BTreeMap;

use towtank_merkle::{Sketch, Tree};
use towtank_units::{SimSpan, SimTime};

use crate::objects::Objects;
use crate::{
    Action, Body, Config, DeviceId, Durable, Input, Interval, Key, Lot, Map, Message, Note, Outcome, Planted,
    RequestId, Token, Version, Work,
};
use primary::{Ask, Primary, Stage};

/// A replica.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Replica<P> {
    config: Config,
    me: DeviceId,
    durable: Durable,
    /// None until the first map after a start: what was sent before is void.
    map: Option<Map>,
    #[serde(with = "towtank_units::pairs")]
    links: BTreeMap<DeviceId, Link<P>>,
    /// Messages of intervals that it has not heard of yet.
    early: Vec<(DeviceId, Message<P>)>,
    tokens: u64,
    #[serde(with = "towtank_units::pairs")]
    pending: BTreeMap<Token, After<P>>,
    /// Until when primaries may answer reads, as far as this replica has confirmed or heard; whose it is not
    /// to tell is under none.
    #[serde(with = "towtank_units::pairs")]
    promises: BTreeMap<Option<DeviceId>, SimTime>,
    /// Temporary objects: the version, and the length so far.
    #[serde(with = "towtank_units::pairs")]
    staged: BTreeMap<Key, (Version, u64)>,
    /// Objects of which the receiver has not confirmed the last part.
    #[serde(with = "towtank_units::pairs")]
    sending: BTreeMap<(DeviceId, Key), Version>,
    /// What stands still while it is compared.
    snapshot: Option<(Tree, Option<Sketch>)>,
    /// The slot that is held or asked for as a target, and the primary's round.
    remote_slot: Option<(Token, u64)>,
    primary: Option<Box<Primary<P>>>,
}

/// One direction of messages from this replica to another, and one back.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Link<P> {
    sent: u64,
    received: u64,
    /// Messages that came before others that were sent earlier.
    held: BTreeMap<u64, Body<P>>,
}

impl<P> Default for Link<P> {
    fn default() -> Self {
        Link { sent: 0, received: 0, held: BTreeMap::new() }
    }
}

/// What follows when work is done or time is up.
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

/// What can be seen of a replica from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// It leads the group.
    pub is_primary: bool,
    /// The group takes part in nothing but peering.
    pub is_peering: bool,
    /// The group waits for devices that are not there.
    pub is_down: bool,
    /// The group takes requests.
    pub serves: bool,
    /// All replicas are equal and complete, and as many as they should be.
    pub is_clean: bool,
    /// Objects that are missing here or elsewhere, as far as this replica knows.
    pub missing: usize,
    /// Targets of backfills that are not complete.
    pub targets: usize,
}

impl<P: crate::Payload> Replica<P> {
    /// A replica that starts, for the first time or after a crash. It takes part from the next map on that is
    /// new to it.
    #[must_use]
    pub fn start(config: Config, me: DeviceId, durable: Durable, now: SimTime) -> Replica<P> {
        config.check();
        let mut promises = BTreeMap::new();
        if let Some(lease) = config.lease {
            // What it has confirmed before, nobody knows.
            promises.insert(None, now.saturating_add(lease));
        }
        Replica {
            config,
            me,
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

    /// What must not be forgotten.
    #[must_use]
    pub fn durable(&self) -> &Durable {
        &self.durable
    }

    /// The same, for a store that notes what it has saved of trees and sketches.
    pub fn durable_mut(&mut self) -> &mut Durable {
        &mut self.durable
    }

    /// What is left after a crash.
    #[must_use]
    pub fn into_durable(self) -> Durable {
        self.durable
    }

    /// Who it is.
    #[must_use]
    pub fn device(&self) -> DeviceId {
        self.me
    }

    /// The rules it follows.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// How it stands.
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
        }
    }

    /// An object turned out to be damaged here. Called just before a map is told: in the interval that it
    /// begins the object is missing here, in the version that it had, and is made good from another replica.
    /// One above the cursor of a backfill is removed, and found to differ.
    pub fn lose<O: Objects<Payload = P>>(&mut self, key: Key, objects: &mut O) {
        let Some(listed) = objects.look_up(key) else { return };
        self.durable.remove(objects, key);
        if self.durable.cursor.covers(key) {
            self.durable.missing.insert(key, listed.version);
        }
    }

    /// Takes what happens. All changes to `objects` and to the durable state are one transaction, to be
    /// durable before any of the actions that are appended is carried out.
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

/// One call: the replica, and what it was given to work with.
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

    /// What came of an interval that is over is void; all that is volatile begins anew.
    fn begin_interval(&mut self, map: Map) {
        if map.epoch <= self.it.durable.epoch {
            return;
        }
        let is_alive = |device: &DeviceId| map.alive.contains(device);
        assert!(map.up.iter().chain(&map.acting).all(is_alive), "{map:?} names devices that are not alive");
        let differ =
            |devices: &[DeviceId]| (1..devices.len()).all(|at| !devices[..at].contains(&devices[at]));
        assert!(differ(&map.up) && differ(&map.acting), "{map:?} names a device twice");
        self.end_primary();
        self.give_back_remote_slot();
        let it = &mut *self.it;
        it.durable.epoch = map.epoch;
        it.durable.intervals.push(Interval { epoch: map.epoch, acting: map.acting.clone() });
        it.links.clear();
        it.pending.clear();
        it.sending.clear();
        it.snapshot = None;
        // After a start nobody knows what temporary objects there are.
        let keeps = it.config.planted == Some(Planted::KeepsTemporary);
        if (it.map.is_none() || !it.staged.is_empty()) && !keeps {
            it.staged.clear();
            self.objects.drop_staged();
        }
        let leads = map.acting.first() == Some(&it.me);
        it.map = Some(map);
        if leads {
            self.begin_peering();
        }
        let early = std::mem::take(&mut self.it.early);
        early.into_iter().for_each(|(from, message)| self.take_message(from, message));
    }

    /// Takes each message of this interval once and in order.
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
        // Taking one may begin another interval only by a map, so that the link is the same throughout.
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
            Body::NotHere(key, version) => self.not_there(from, key, version),
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
