//! Operation queues of devices that limit recovery, as Ceph's mClock does.
//!
//! Steps of a unit wait in such a queue. Each costs something, and steps of one flow follow each other no
//! faster than the limit grants. A queue has shards; all steps of a group use the shard of the group's number
//! in its pool.
//!
//! - *Push*: the work item with which the driver starts an object, the unit when it arrives at its target,
//!   and the reply when it arrives at the driver.
//! - *Pull*, where the driver lacks the object: the work item, the request at the device that has it, the
//!   unit when it arrives at the driver, and behind the last one a context, which costs as much as a work
//!   item.
//! - Work items that move nothing: a backfill begins with one that looks for what is to be copied, and two
//!   follow its last object. Where the log of the group says what is missing, one follows the last object.
//!
//! Operations of clients wait at their first device, if the profile limits clients: all of them are one flow
//! of a shard, as in Ceph. Their groups are not placed, so the shard is drawn. The writes that this device
//! sends to the others are flows of their own with the same limit, in the shard of the same number, so they
//! come no faster than the limit lets them go and do not wait again.
//!
//! Left out: reservations, which do not change the rate at a limit; the messages of a backfill's search and
//! of its end; threads, of which there are always enough. If other devices lack an object that is pulled,
//! they get it as soon as the driver has it, not after its context.

use towtank_iosched::Limiter;
use towtank_kernel::Context;
use towtank_units::{Rate, SimSpan};

use super::driver::{TURN, WORKED};
use super::event::{Event, Kind};
use super::server::{Server, shared};
use super::shared::Gate;
use super::undo::Undo;
use super::{DeviceId, Rebuild};
use crate::plan::Task;

/// The queues of all devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queues {
    /// The number of each pool's first group, in ascending order; the first is 0.
    pub pools: Vec<u32>,
    /// Which steps share a limit.
    pub sharing: Sharing,
    /// The costs and the limits, for each class of disk.
    pub throttles: Vec<Throttle>,
}

/// Which steps of a shard share a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Those from one device: units, replies and requests of each sender, and work items and contexts by
    /// themselves. In Ceph, these carry the number 0, so they share the limit of what osd.0 sends.
    BySender {
        /// The device whose messages share the limit of work items.
        with_items: Option<DeviceId>,
    },
    /// All.
    Together,
}

/// The costs and the limits of one class of disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttle {
    /// Shards of a device's queue.
    pub shards: u32,
    /// The most cost per second of a flow in one shard: for groups that lack copies or shards, and for those
    /// that only move. None: no limit.
    pub limits: [Option<u64>; 2],
    /// The most cost per second of all clients in one shard. None: no limit.
    pub clients: Option<u64>,
    /// The cost of a number of bytes.
    pub costs: Costs,
    /// The bytes that a work item or a context counts for; those of its object if none.
    pub item: Option<u64>,
    /// The bytes that a reply, or a request to pull, counts for.
    pub reply: u64,
}

/// How bytes are turned into cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Costs {
    /// Operations: `(per_io + per_byte * bytes) / unit`, rounded, and at least 1.
    Operations {
        /// For each operation.
        per_io: u64,
        /// For each byte.
        per_byte: u64,
        /// What counts as one.
        unit: u64,
    },
    /// Bytes, and at least this many.
    Bytes {
        /// The least cost.
        least: u64,
    },
    /// Bytes, and this many for each operation.
    Sum {
        /// For each operation.
        each: u64,
    },
}

impl Costs {
    /// The cost of an operation with this many bytes.
    #[must_use]
    pub fn of(self, bytes: u64) -> u64 {
        match self {
            Costs::Operations { per_io, per_byte, unit } => {
                let sum = u128::from(per_io) + u128::from(per_byte) * u128::from(bytes);
                let rounded = (sum + u128::from(unit) / 2) / u128::from(unit);
                u64::try_from(rounded).unwrap_or(u64::MAX).max(1)
            }
            Costs::Bytes { least } => bytes.max(least).max(1),
            Costs::Sum { each } => bytes.saturating_add(each).max(1),
        }
    }
}

/// What a push has beside its data (`osd_push_per_object_cost`).
const PUSH: u64 = 1_000;

/// The steps of one sender in one shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Flow {
    /// The shard.
    pub shard: u32,
    /// Whether the groups only move.
    moves: bool,
    sender: u32,
    limiter: Limiter,
    /// The time that the limit takes for all steps so far.
    pub taken: SimSpan,
}

/// The sender of work items and contexts where they share their limit with nothing else.
const NOBODY: u32 = u32::MAX;

/// A step that enters a queue.
struct Step {
    device: DeviceId,
    task: u32,
    /// The device that sent it; none for a work item or a context.
    sender: Option<DeviceId>,
    bytes: u64,
}

impl Queues {
    /// Checks the tables.
    pub(super) fn assert_whole(&self, kinds: usize) {
        assert_eq!(self.throttles.len(), kinds, "queues for each kind of disk");
        assert!(self.pools.first() == Some(&0) && self.pools.is_sorted(), "pools in order, from group 0 on");
        for throttle in &self.throttles {
            assert!(throttle.shards > 0, "a queue has one shard at least");
            let limits = throttle.limits.iter().chain([&throttle.clients]);
            assert!(!limits.flatten().any(|limit| *limit == 0), "a limit of zero lets nothing go");
        }
    }

    fn shard(&self, group: u32, shards: u32) -> u32 {
        let after = self.pools.partition_point(|&first| first <= group);
        (group - self.pools[after.saturating_sub(1)]) % shards
    }

    fn sender(&self, sender: Option<DeviceId>) -> u32 {
        match (self.sharing, sender) {
            (Sharing::Together, _) => 0,
            (Sharing::BySender { .. }, Some(device)) => device.0,
            (Sharing::BySender { with_items }, None) => with_items.map_or(NOBODY, |device| device.0),
        }
    }
}

impl Rebuild<'_> {
    /// Whether devices have queues that limit recovery.
    #[inline]
    pub(super) fn is_queued(&self) -> bool {
        self.limits.queues.is_some()
    }

    /// What arrives at a target to be written: with a queue it waits there first.
    #[inline]
    pub(super) fn arrives(&self, event: &Event) -> Kind {
        if self.is_queued() && !event.marks.is_client() { Kind::Push } else { Kind::Write }
    }

    /// What the driver receives when a unit is durable.
    #[inline]
    pub(super) fn replies(&self, event: &Event) -> Kind {
        if self.is_queued() && !event.marks.is_client() { Kind::Reply } else { Kind::Ack }
    }

    /// How long a step waits in the queue of its device.
    fn admit(&self, server: &mut Server, step: &Step, context: &Context<'_, Self>) -> SimSpan {
        let Some(queues) = &self.limits.queues else { return SimSpan::ZERO };
        let throttle = &queues.throttles[self.hardware.class_of(step.device)];
        let moves = self.plan.only_moves(step.task);
        let Some(limit) = throttle.limits[usize::from(moves)] else { return SimSpan::ZERO };
        let shard = queues.shard(self.plan.task(step.task).group, throttle.shards);
        let sender = queues.sender(step.sender);
        let flows = &mut server.devices[self.hardware.place_of(step.device)].flows;
        let key = (shard, moves, sender);
        let at = flows.binary_search_by_key(&key, |flow| (flow.shard, flow.moves, flow.sender));
        let at = at.unwrap_or_else(|at| {
            let taken = SimSpan::ZERO;
            flows.insert(at, Flow { shard, moves, sender, limiter: Limiter::default(), taken });
            at
        });
        let cost = throttle.costs.of(step.bytes);
        let flow = &mut flows[at];
        let rate = Rate::from_bytes_per_second(limit).expect("a limit of zero is refused");
        flow.taken = flow.taken.saturating_add(rate.span_for(towtank_units::Bytes::new(cost)));
        flow.limiter.admit(context.now(), cost, limit).since(context.now())
    }

    /// How long an operation of a client waits at its first device for the limit of all clients.
    pub(super) fn admit_client(
        &self,
        server: &mut Server,
        (event, bytes): (&Event, u32),
        context: &Context<'_, Self>,
    ) -> SimSpan {
        let Some(queues) = &self.limits.queues else { return SimSpan::ZERO };
        let throttle = &queues.throttles[self.hardware.class_of(event.driver)];
        let Some(limit) = throttle.clients else { return SimSpan::ZERO };
        // The place on the disk is drawn, so its remainder is a drawn shard.
        let key = (self.hardware.place_of(event.driver) as u32, event.unit % throttle.shards);
        let gates = &mut shared(server).gates;
        let at = gates.binary_search_by_key(&key, |gate| (gate.place, gate.shard)).unwrap_or_else(|at| {
            gates.insert(at, Gate { place: key.0, shard: key.1, limiter: Limiter::default() });
            at
        });
        let cost = throttle.costs.of(u64::from(bytes));
        gates[at].limiter.admit(context.now(), cost, limit).since(context.now())
    }

    /// A map gives each group of a device that waits for reservations a work item, which takes part of the
    /// limit of its flow. One that is still in the queue is not added again.
    pub(super) fn charge_idle_items(
        &self,
        server: &mut Server,
        device: DeviceId,
        context: &Context<'_, Self>,
    ) {
        let (Some(queues), Some(maps)) = (&self.limits.queues, self.limits.maps) else { return };
        let throttle = &queues.throttles[self.hardware.class_of(device)];
        let own = &mut server.devices[self.hardware.place_of(device)];
        let waiting: Vec<u32> = self.waiting(own).collect();
        for flow in &mut own.flows {
            let Some(limit) = throttle.limits[usize::from(flow.moves)] else { continue };
            let rate = Rate::from_bytes_per_second(limit).expect("a limit of zero is refused");
            let is_its = |task: &u32| {
                self.plan.only_moves(*task) == flow.moves
                    && queues.shard(self.plan.task(*task).group, throttle.shards) == flow.shard
            };
            let cost_of = |task: u32| {
                let bytes =
                    throttle.item.unwrap_or_else(|| self.plan.job(self.plan.task(task).jobs.start).bytes);
                throttle.costs.of(bytes) / u64::from(maps.one_in)
            };
            let cost: u64 = waiting.iter().copied().filter(is_its).map(cost_of).sum();
            let ahead =
                flow.limiter.last().and_then(|last| last.checked_since(context.now())).unwrap_or_default();
            let there = rate.bytes_in(ahead).get();
            if cost > there {
                let more = cost - there;
                flow.taken = flow.taken.saturating_add(rate.span_for(towtank_units::Bytes::new(more)));
                flow.limiter.admit(context.now(), more, limit);
            }
        }
    }

    /// The bytes that a work item or a context of a job counts for.
    fn item(&self, device: DeviceId, job: u32) -> u64 {
        let throttle =
            self.limits.queues.as_ref().map(|queues| queues.throttles[self.hardware.class_of(device)]);
        throttle.and_then(|throttle| throttle.item).unwrap_or_else(|| self.plan.job(job).bytes)
    }

    /// The bytes that a reply, or a request to pull, counts for.
    fn reply(&self, device: DeviceId) -> u64 {
        let class = self.hardware.class_of(device);
        self.limits.queues.as_ref().map_or(0, |queues| queues.throttles[class].reply)
    }

    /// What a driver asks the source of a unit for: with a queue, the request of a pull waits there first.
    pub(super) fn requested(&self, driver: DeviceId, job: u32) -> Kind {
        let pulls = self.is_queued() && self.plan.pulls(driver, self.plan.job(job));
        if pulls { Kind::Pull } else { Kind::Read }
    }

    /// Whether a unit is one that its driver pulls to itself.
    fn is_pulled(&self, event: &Event) -> bool {
        event.device == event.driver && self.plan.pulls(event.driver, self.plan.job(event.job))
    }

    /// Queues the work item of a job that has been put into a slot. The first one of a backfill moves
    /// nothing.
    pub(super) fn queue_item(
        &self,
        server: &mut Server,
        (device, slot): (DeviceId, usize),
        (task, number): (u32, u32),
        context: &mut Context<'_, Self>,
    ) {
        let Task { jobs, by_log, .. } = self.plan.task(task);
        let item = Event {
            slot: slot as u16,
            job: number,
            unit: u32::from(jobs.start == number && !by_log),
            ..self.about(Kind::Start, number, device, device)
        };
        self.queue_start(server, &item, task, context);
    }

    fn queue_start(&self, server: &mut Server, item: &Event, task: u32, context: &mut Context<'_, Self>) {
        if self.is_timed(item.device) {
            if item.unit == 0 {
                return self.take_turns_of(server, item, 0, context);
            }
            let wait = self.take_turn(server, item.device, 1, context);
            return context.send(context.me(), wait, *item);
        }
        let step = Step { device: item.device, task, sender: None, bytes: self.item(item.device, item.job) };
        let wait = self.admit(server, &step, context);
        context.send(context.me(), wait, *item);
    }

    /// Queues the first work item behind the last job of a task.
    pub(super) fn queue_last_items(
        &self,
        server: &mut Server,
        device: DeviceId,
        task: u32,
        context: &mut Context<'_, Self>,
    ) {
        let more = u32::from(!self.plan.task(task).by_log);
        self.queue_empty(server, device, (task, more), context);
    }

    /// Queues a work item behind the last job of a task, which `more` are to follow.
    pub(super) fn queue_empty(
        &self,
        server: &mut Server,
        device: DeviceId,
        (task, more): (u32, u32),
        context: &mut Context<'_, Self>,
    ) {
        let wait = if self.is_timed(device) {
            self.take_turn(server, device, 1, context)
        } else {
            let bytes = self.item(device, self.plan.task(task).jobs.end - 1);
            self.admit(server, &Step { device, task, sender: None, bytes }, context)
        };
        let item = Event { unit: more, ..self.about(Kind::Empty, task, device, device) };
        context.send(context.me(), wait, item);
    }

    /// A work item leaves the queue, or a unit, a reply or a request enters it.
    pub(super) fn at_queue(
        &self,
        server: &mut Server,
        event: &Event,
        context: &mut Context<'_, Self>,
    ) -> Undo {
        let arrives = matches!(event.kind, Kind::Push | Kind::Pull);
        let device = if arrives { event.device } else { event.driver };
        let place = self.hardware.place_of(device);
        let undo = Undo::device(self, server, place);
        if event.kind == Kind::Start && event.unit != WORKED {
            self.turn_comes(server, device);
        }
        // Jobs are looked up by their slot only where it is: at the driver.
        let task = match event.kind {
            Kind::Push | Kind::Pull => self.plan.task_of(event.job),
            _ => server.devices[place].slots[usize::from(event.slot)].task,
        };
        let (sender, bytes, then) = match event.kind {
            Kind::Start if event.unit == 1 => {
                self.queue_start(server, &Event { unit: 0, ..*event }, task, context);
                return undo;
            }
            Kind::Start if event.unit == TURN => {
                self.take_turns_of(server, event, event.bytes, context);
                return undo;
            }
            Kind::Start => {
                self.start_job(server, event, context);
                return undo;
            }
            Kind::Push => {
                let pulled = self.is_pulled(event).then(|| self.plan.reads(self.plan.job(event.job))[0]);
                (pulled.or(Some(event.driver)), u64::from(event.bytes) + PUSH, Kind::Write)
            }
            Kind::Pull => (Some(event.driver), self.reply(device), Kind::Read),
            _ if self.is_pulled(event) => {
                if event.unit + 1 < self.hardware.units(self.plan.job(event.job).bytes) {
                    context.send(context.me(), SimSpan::ZERO, event.then(Kind::Ack));
                    return undo;
                }
                (None, self.item(device, event.job), Kind::Ack)
            }
            _ => (Some(event.device), self.reply(device), Kind::Ack),
        };
        let wait = self.admit(server, &Step { device, task, sender, bytes }, context);
        context.send(context.me(), wait, event.then(then));
        undo
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The costs that Ceph 16.2.15 logs with its defaults for rotating disks: 109 for a work item (20 MiB,
    /// `osd_recovery_cost`), 44 for a reply, 22 for a push of 4 MiB and 1 for one of 4 KiB; and those of
    /// 18.2 in bytes.
    #[test]
    fn costs_are_those_of_the_log() {
        let hdd = Costs::Operations { per_io: 250_000, per_byte: 52, unit: 10_000_000 };
        let costs = [20 << 20, 8_389_608, (4 << 20) + PUSH, 4_096 + PUSH, 0].map(|bytes| hdd.of(bytes));
        assert_eq!(costs, [109, 44, 22, 1, 1]);
        let ssd = Costs::Operations { per_io: 50_000, per_byte: 11, unit: 1_000_000 };
        assert_eq!(ssd.of((4 << 20) + PUSH), 46);
        assert_eq!([1, 600_000].map(|bytes| Costs::Bytes { least: 499_321 }.of(bytes)), [499_321, 600_000]);
        assert_eq!(hdd.of(u64::MAX), 95_923_069_183_290, "no overflow");
    }

    #[test]
    fn shards_count_from_the_first_group_of_a_pool() {
        let throttle = Throttle {
            shards: 5,
            limits: [None; 2],
            clients: None,
            costs: Costs::Bytes { least: 1 },
            item: None,
            reply: 1,
        };
        let sharing = Sharing::BySender { with_items: None };
        let queues = Queues { pools: vec![0, 8, 12], sharing, throttles: vec![throttle] };
        assert_eq!([0, 7, 8, 11, 12, 18].map(|group| queues.shard(group, 5)), [0, 2, 0, 3, 0, 1]);
        assert_eq!(queues.sender(None), NOBODY);
        let zero = Queues { sharing: Sharing::BySender { with_items: Some(DeviceId(3)) }, ..queues.clone() };
        assert_eq!((zero.sender(None), zero.sender(Some(DeviceId(4)))), (3, 4));
        let all = Queues { sharing: Sharing::Together, ..queues };
        assert_eq!((all.sender(None), all.sender(Some(DeviceId(4)))), (0, 0));
    }
}
