//! Work items that find nothing to do, as in Ceph.
//!
//! A group that is complete again asks the monitors for a map without its temporary mapping, and its primary
//! for a second map after that one. With each new map, every group that is led by a device and not complete
//! gets a work item in the device's recovery queue, if it has none there. That of a group that waits for its
//! reservations starts nothing, but takes its turn: with WPQ a sleep of the whole device, with mClock (from
//! 17.2.7 on) the cost of an object. So groups that wait slow down the one that is copied.
//!
//! - *Maps*: changes that are asked for while a map is due share it. A map is made [`Maps::soon`] after it
//!   was asked for, but no sooner than [`Maps::apart`] after the one before.
//! - *The timer*: the items of a device get times that are a sleep apart, in the order in which they are
//!   queued. Items that start nothing need no events: they only move the time of the next one.
//! - *Objects that stand for very many* take the turns of all of them at once ([`Maps::at_once`]). Items that
//!   start nothing come between those turns, so they are counted as if they shared the queue with them, and
//!   they move the time of the next object.
//!
//! Left out: the item of a group that gets its reservations while the item waits (here the group gets another
//! one, behind it); a second object of a group that starts because a map comes while the first is under way;
//! maps for reasons that are no part of the recovery; and that a device takes several maps at once when it is
//! late.

use std::hash::{Hash, Hasher};

use towtank_kernel::{Context, EntityId};
use towtank_units::{SimSpan, SimTime};

use super::driver::TURN;
use super::event::{Event, Kind, plain};
use super::server::{Active, Device, Server};
use super::undo::Undo;
use super::{DeviceId, Rebuild, Sample};

/// When monitors make maps, and what an item that starts nothing takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Maps {
    /// From the request of a change until its map is made, if none was made lately.
    pub soon: SimSpan,
    /// The least time between two maps.
    pub apart: SimSpan,
    /// Items that start nothing take one in so many of what others do: 1, except where only some of the
    /// objects are simulated.
    pub one_in: u32,
    /// An object takes the turns of all that it stands for at once. Else they are taken one by one where
    /// groups wait, and a run takes as many events for them as with all objects.
    pub at_once: bool,
}

/// The maps that the monitor makes. Without maps it stays as it begins, and is no part of digests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Made {
    /// When the last one was made.
    pub last: Option<SimTime>,
    /// Whether the next one is due.
    pub due: bool,
    /// Whether a change was asked for since the last one.
    pub asked: bool,
    /// How many were made.
    pub count: u64,
}

impl Hash for Made {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if *self != Made::default() {
            (self.last, self.due, self.asked, self.count).hash(state);
        }
    }
}

/// The times of a device's work items. Without sleeps it stays as it begins, and is no part of digests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Timer {
    /// The time of the last item.
    pub last: SimTime,
    /// Items that wait for their time, besides those that start nothing.
    pub waiting: u32,
    /// Until when items that start nothing are in the queue, where objects take several turns at once.
    pub idle: SimTime,
}

impl Hash for Timer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if *self != Timer::default() {
            (self.last, self.waiting).hash(state);
        }
        if self.idle != SimTime::ZERO {
            self.idle.hash(state);
        }
    }
}

/// Total time that work items waited for those of other groups. Where there are none it is no part of
/// digests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Idling(pub SimSpan);

impl Hash for Idling {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if !self.0.is_zero() {
            self.0.hash(state);
        }
    }
}

/// That a task of a group is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Completion {
    /// The group.
    pub group: u32,
    /// How many copies or shards it had beyond those needed to read it.
    pub spare: u8,
    /// When.
    pub at: SimTime,
}

/// Tasks that are complete, for models that ask for them; others hash as if there were no such list.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Completed(Vec<Completion>);

impl Hash for Completed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if !self.0.is_empty() {
            self.0.hash(state);
        }
    }
}

impl Completed {
    pub(super) fn add(&mut self, completion: Completion) {
        self.0.push(completion);
    }

    pub(super) fn merge(&mut self, other: &Completed) {
        self.0.extend(&other.0);
    }

    /// All of them.
    #[must_use]
    pub fn each(&self) -> &[Completion] {
        &self.0
    }
}

/// Tasks that have ended. It is no part of digests: when jobs were done and reservations were granted is, and
/// this follows from both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Ended {
    /// How many.
    pub tasks: u64,
    /// The sum over them of the time since they requested their first reservation.
    pub span: SimSpan,
}

impl Hash for Ended {
    fn hash<H: Hasher>(&self, _state: &mut H) {}
}

impl Ended {
    /// One more, that requested its first reservation so long ago.
    pub(super) fn add(&mut self, span: SimSpan) {
        self.merge(Ended { tasks: 1, span });
    }

    /// Those of another server too.
    pub(super) fn merge(&mut self, other: Ended) {
        self.tasks += other.tasks;
        self.span = self.span.saturating_add(other.span);
    }
}

impl Rebuild<'_> {
    /// Whether the work items of a device wait for its timer.
    #[inline]
    pub(super) fn is_timed(&self, device: DeviceId) -> bool {
        self.limits.serial
            && self.limits.queues.is_none()
            && !self.limits.pace(self.hardware, device).sleep.is_zero()
    }

    /// Whether the jobs of a device begin with work items.
    #[inline]
    pub(super) fn has_items(&self, device: DeviceId) -> bool {
        self.is_queued() || self.is_timed(device)
    }

    /// For how many items an object stands.
    fn one_in(&self) -> u32 {
        self.limits.maps.map_or(1, |maps| maps.one_in)
    }

    /// Whether an object takes the turns of all that it stands for at once.
    fn at_once(&self) -> bool {
        self.limits.maps.is_some_and(|maps| maps.at_once)
    }

    /// The sleep of one item.
    fn sleep(&self, device: DeviceId) -> SimSpan {
        let sleep = self.limits.pace(self.hardware, device).sleep;
        SimSpan::from_ns((sleep.as_ns() / u64::from(self.one_in())).max(1))
    }

    /// The groups of a device that wait for reservations.
    pub(super) fn waiting<'d>(&'d self, own: &'d Device) -> impl Iterator<Item = u32> + 'd {
        let wants = |task: u32| self.plan.reserves(self.plan.task(task)).len();
        let asks = move |active: &&Active| (active.reserved as usize) < wants(active.task);
        own.tasks.clone().chain(own.active.iter().filter(asks).map(|active| active.task))
    }

    /// The item of an object enters the queue. An object that stands for several takes their turns one after
    /// the other, since items of groups that wait come between them, or all at once; `done` says how many it
    /// has had.
    pub(super) fn take_turns_of(
        &self,
        server: &mut Server,
        item: &Event,
        done: u32,
        context: &mut Context<'_, Self>,
    ) {
        let all = self.one_in();
        assert!(done < all, "an object takes turn {done} of {all}");
        let own = &server.devices[self.hardware.place_of(item.device)];
        let apart = !self.at_once() && self.waiting(own).next().is_some();
        let turns = if apart { 1 } else { all - done };
        let wait = self.take_turn(server, item.device, turns, context);
        let (unit, bytes) = if done + turns < all { (TURN, done + turns) } else { (0, 0) };
        context.send(context.me(), wait, Event { unit, bytes, ..*item });
    }

    /// How long the next item of a device waits for its time, or for that of so many in a row.
    pub(super) fn take_turn(
        &self,
        server: &mut Server,
        device: DeviceId,
        turns: u32,
        context: &mut Context<'_, Self>,
    ) -> SimSpan {
        let (now, sleep) = (context.now(), self.sleep(device).saturating_mul(u64::from(turns)));
        let timer = &mut server.devices[self.hardware.place_of(device)].timer;
        timer.last = timer.last.max(now).saturating_add(sleep);
        timer.waiting += 1;
        let wait = timer.last.since(now);
        context.record(Sample::Slept { own: sleep, others: SimSpan::from_ns(wait.as_ns() - sleep.as_ns()) });
        wait
    }

    /// The time of an item of a device has come.
    pub(super) fn turn_comes(&self, server: &mut Server, device: DeviceId) {
        if self.is_timed(device) {
            let timer = &mut server.devices[self.hardware.place_of(device)].timer;
            timer.waiting = timer.waiting.checked_sub(1).expect("the turn of an item that does not wait");
        }
    }

    /// A new map has come: each group that waits for reservations gets a work item that starts nothing.
    pub(super) fn take_map(&self, server: &mut Server, context: &mut Context<'_, Self>) {
        for device in self.hardware.devices_of(context.me().0).filter(|&device| !self.is_dead(device)) {
            let waits = self.waiting(&server.devices[self.hardware.place_of(device)]).count();
            if waits == 0 {
                continue;
            }
            if self.is_timed(device) {
                self.add_idle_items(server, device, waits as u64, context.now());
            } else if self.is_queued() {
                self.charge_idle_items(server, device, context);
            }
        }
    }

    fn add_idle_items(&self, server: &mut Server, device: DeviceId, waits: u64, now: SimTime) {
        let idle = self.sleep(device).as_ns();
        if self.at_once() {
            return self.add_idle_share(server, device, waits, now);
        }
        let timer = &mut server.devices[self.hardware.place_of(device)].timer;
        // What waits is behind each other without gaps, so the last time tells how many wait.
        let ahead = timer.last.checked_since(now).unwrap_or_default().as_ns();
        let there = ahead.div_ceil(idle).saturating_sub(u64::from(timer.waiting));
        let span = SimSpan::from_ns(idle.saturating_mul(waits.saturating_sub(there)));
        timer.last = timer.last.max(now).saturating_add(span);
    }

    /// The same where objects take the turns of several in one. The items share the queue with as many turns
    /// of objects as there would be between them.
    fn add_idle_share(&self, server: &mut Server, device: DeviceId, waits: u64, now: SimTime) {
        let idle = self.sleep(device).as_ns();
        let timer = &mut server.devices[self.hardware.place_of(device)].timer;
        let slots = waits + u64::from(timer.waiting);
        let ahead = timer.idle.checked_since(now).unwrap_or_default().as_ns().div_ceil(idle);
        let there = ahead.saturating_mul(waits).div_ceil(slots).min(waits);
        let span = |items: u64| SimSpan::from_ns(idle.saturating_mul(items));
        timer.last = timer.last.max(now).saturating_add(span(waits - there));
        timer.idle = timer.idle.max(now.saturating_add(span(slots)));
    }

    /// The monitor waits for the changes of other reasons.
    pub(super) fn await_changes(&self, context: &mut Context<'_, Self>) {
        if self.limits.maps.is_some() {
            for at in &self.changes {
                context.send(context.me(), at.since(SimTime::ZERO), plain(Kind::Changed));
            }
        }
    }

    /// Tells the monitor that a group is complete, which changes the map.
    pub(super) fn ask_for_map(&self, task: u32, context: &mut Context<'_, Self>) {
        if self.limits.maps.is_some() && !self.plan.task(task).by_log {
            context.send(self.monitor(), self.hardware.control(), plain(Kind::Changed));
        }
    }

    /// A group has asked for a change, or a map is due.
    pub(super) fn make_map(&self, made: &mut Made, event: &Event, context: &mut Context<'_, Self>) -> Undo {
        let (before, now) = (*made, context.now());
        let Some(maps) = self.limits.maps else { return Undo::Nothing };
        let mut again = made.asked;
        if event.kind == Kind::Due {
            (made.last, made.due, made.asked) = (Some(now), false, false);
            made.count += 1;
            for server in (0..self.hardware.servers()).filter(|&server| self.drives(server)) {
                context.send(EntityId(server), self.hardware.control(), plain(Kind::Map));
            }
        } else {
            made.asked = true;
            again = true;
        }
        if again && !made.due {
            made.due = true;
            let next = made.last.map_or(SimTime::ZERO, |last| last.saturating_add(maps.apart));
            let at = now.saturating_add(maps.soon).max(next);
            context.send(context.me(), at.since(now), plain(Kind::Due));
        }
        Undo::Made(Box::new(before))
    }
}
