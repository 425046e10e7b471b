//! Drivers: which job is next, which of its units, and what must be reserved first.

use towtank_kernel::{Context, Fault};
use towtank_units::{Bytes, SimSpan};

use super::event::{Event, Kind, Marks};
use super::server::{Active, Asking, Device, Server, Slot, WINDOW_MAX};
use super::undo::Undo;
use super::{Completion, DeviceId, Rebuild, Sample};
use crate::plan::Task;

/// The unit of a [`Kind::Start`] after the driver's own work.
pub(super) const WORKED: u32 = 2;

/// The unit of a [`Kind::Start`] of an object that stands for several and has had some of their turns, as
/// many as its bytes.
pub(super) const TURN: u32 = 3;

/// Position of a slot: the device, its index in the server, and the number of the slot.
#[derive(Clone, Copy)]
struct At {
    device: DeviceId,
    place: usize,
    slot: usize,
}

impl Rebuild<'_> {
    /// Starts tasks and jobs up to the limits.
    pub(super) fn go_on(&self, server: &mut Server, device: DeviceId, context: &mut Context<'_, Self>) {
        if let Some(most) = self.limits.server_streams {
            return self.take_turns(server, most as usize, context);
        }
        let place = self.hardware.place_of(device);
        self.begin_tasks(server, device, context);
        for slot in 0..server.devices[place].slots.len() {
            let free = server.devices[place].slots[slot].job == Slot::NONE;
            if free && server.devices[place].asleep.is_none() {
                let Some((task, job)) = self.choose(&mut server.devices[place]) else { return };
                self.begin(server, At { device, place, slot }, (task, job), context);
                if self.limits.reservations.is_none() {
                    self.begin_tasks(server, device, context);
                }
            }
        }
    }

    /// Starts jobs until the server drives as many as it may: its disks take turns, and each begins one job
    /// at a time.
    fn take_turns(&self, server: &mut Server, most: usize, context: &mut Context<'_, Self>) {
        let count = server.devices.len();
        let first = self.hardware.devices_of(context.me().0).next();
        let Some(DeviceId(first)) = first else { return };
        let mut idle = 0;
        while idle < count && server.driven() < most {
            let place = server.together.turn as usize % count;
            let device = DeviceId(first + place as u32);
            server.together.turn = ((place + 1) % count) as u32;
            let begun = !self.is_dead(device) && self.begin_one(server, (device, place), context);
            idle = if begun { 0 } else { idle + 1 };
        }
    }

    /// Starts one more job of a disk; returns whether there was one that it may start.
    fn begin_one(
        &self,
        server: &mut Server,
        (device, place): (DeviceId, usize),
        context: &mut Context<'_, Self>,
    ) -> bool {
        self.begin_tasks(server, device, context);
        let own = &mut server.devices[place];
        let free = own.slots.iter().position(|slot| slot.job == Slot::NONE);
        let Some(slot) = free.filter(|_| own.asleep.is_none()) else { return false };
        let Some(chosen) = self.choose(own) else { return false };
        self.begin(server, At { device, place, slot }, chosen, context);
        true
    }

    fn begin_tasks(&self, server: &mut Server, device: DeviceId, context: &mut Context<'_, Self>) {
        let place = self.hardware.place_of(device);
        while !server.devices[place].tasks.is_empty() && self.may_begin(&server.devices[place]) {
            let Some(task) = server.devices[place].tasks.next() else { break };
            let jobs = &self.plan.task(task).jobs;
            let (next_job, left) = (jobs.start, jobs.len() as u32);
            let since = context.now();
            debug_assert!(left > 0, "task {task} has no jobs");
            server.devices[place].active.push(Active { task, next_job, left, reserved: 0, since });
            self.ask_for_next(task, device, 0, context);
        }
    }

    /// Whether a device may start another task: with reservations, up to their limit; without, all tasks of
    /// the same priority, which take turns. Tasks of lower priority start when all jobs of the earlier ones
    /// have begun.
    fn may_begin(&self, device: &Device) -> bool {
        match self.limits.reservations {
            Some(at_once) => device.active.len() < at_once as usize,
            None => {
                let next = self.plan.task(device.tasks.start).priority;
                device.active.iter().all(|active| {
                    let task = self.plan.task(active.task);
                    active.next_job == task.jobs.end || task.priority >= next
                })
            }
        }
    }

    /// The next job of the active tasks, which take turns.
    fn choose(&self, device: &mut Device) -> Option<(u32, u32)> {
        let count = device.active.len();
        for step in 0..count {
            let at = (device.turn as usize + step) % count;
            let active = &mut device.active[at];
            let task = self.plan.task(active.task);
            let granted = active.reserved as usize == self.plan.reserves(task).len();
            let waits = self.limits.serial && active.left > task.jobs.end - active.next_job;
            if granted && !waits && active.next_job < task.jobs.end {
                active.next_job += 1;
                device.turn = (at as u32 + 1) % count as u32;
                return Some((active.task, active.next_job - 1));
            }
        }
        None
    }

    /// Puts a job into a slot and starts its first units.
    fn begin(
        &self,
        server: &mut Server,
        at: At,
        (task, number): (u32, u32),
        context: &mut Context<'_, Self>,
    ) {
        let job = self.plan.job(number);
        let (reads, writes) = (self.plan.reads(job), self.plan.writes(job));
        assert_eq!(
            server.devices[at.place].slots[at.slot].job,
            Slot::NONE,
            "job {number} takes a slot that is in use"
        );
        assert!(self.plan.task(task).jobs.contains(&number), "job {number} is not of task {task}");
        assert!(
            self.plan.tasks_of(at.device).contains(&task),
            "task {task} is driven by disk {}",
            at.device.0
        );
        assert!(!self.is_dead(at.device), "a disk that does not answer drives job {number}");
        server.devices[at.place].slots[at.slot] = Slot {
            job: number,
            task,
            next: job.resume,
            left: self.hardware.units(job.bytes) - job.resume,
            reads: reads.len() as u8,
            writes: writes.len() as u8,
            source: reads[0],
            target: writes[0],
            bytes: job.bytes,
            ..Slot::EMPTY
        };
        if self.has_items(at.device) {
            self.queue_item(server, (at.device, at.slot), (task, number), context);
        } else {
            self.start_units(server, at, context);
        }
    }

    /// A job begins: with the driver's own work, and then its first units.
    fn start_units(&self, server: &mut Server, at: At, context: &mut Context<'_, Self>) {
        if self.limits.serial {
            context.record(Sample::Begun(context.now()));
        }
        let Slot { job, task, .. } = server.devices[at.place].slots[at.slot];
        let Task { jobs, compares, .. } = self.plan.task(task);
        let first = if jobs.start == job { *compares } else { SimSpan::ZERO };
        let cost = self.limits.job_cost.saturating_add(first);
        if cost.is_zero() {
            return self.issue(server, at, context);
        }
        let ready = Event {
            slot: at.slot as u16,
            unit: WORKED,
            ..self.about(Kind::Start, job, at.device, at.device)
        };
        context.send(context.me(), cost, ready);
    }

    /// A driver goes to sleep.
    fn rest(
        &self,
        device: &mut Device,
        (task, driver): (u32, DeviceId),
        sleep: SimSpan,
        context: &mut Context<'_, Self>,
    ) {
        assert!(device.asleep.is_none(), "a disk rests already");
        device.asleep = Some(context.now());
        let wake = self.about(Kind::Wake, task, driver, driver);
        context.send(context.me(), sleep, wake);
    }

    /// The work item of a job has left the queue.
    pub(super) fn start_job(&self, server: &mut Server, item: &Event, context: &mut Context<'_, Self>) {
        if item.unit == WORKED {
            self.issue(server, self.at(item), context);
        } else {
            self.start_units(server, self.at(item), context);
        }
    }

    /// Prefetches the job that a disk begins next, whose task should be in the cache already.
    pub(super) fn fetch_next_job(&self, server: &Server, driver: DeviceId) {
        let device = server.devices.get(self.hardware.place_of(driver));
        if let Some(active) = device.and_then(Device::next_active) {
            self.plan.fetch(active.next_job, active.task);
        }
    }

    fn at(&self, event: &Event) -> At {
        let place = self.hardware.place_of(event.driver);
        At { device: event.driver, place, slot: usize::from(event.slot) }
    }

    /// Starts units of a job until its window is full.
    #[inline]
    fn issue(&self, server: &mut Server, at: At, context: &mut Context<'_, Self>) {
        let unit = self.hardware.unit();
        let device = &mut server.devices[at.place];
        let slot = &mut device.slots[at.slot];
        let kind = self.requested(at.device, slot.job);
        while u32::from(slot.flying) < self.limits.window && u32::from(slot.flying) < slot.left {
            let before = u64::from(slot.next) * unit;
            assert!(
                before < slot.bytes,
                "a job has {} bytes, and unit {} begins at {before}",
                slot.bytes,
                slot.next
            );
            let bytes = unit.min(slot.bytes - before);
            // A unit starts when the rate limit has granted all its bytes, so the limit holds over every
            // interval.
            let mut wait = SimSpan::ZERO;
            if let Some(rate) = self.limits.stream_rate {
                let granted =
                    slot.pace_at.max(context.now()).saturating_add(rate.span_for(Bytes::new(bytes)));
                slot.pace_at = granted;
                wait = granted.since(context.now());
            }
            if let Some(rate) = self.limits.device_rate {
                let granted =
                    device.pace_at.max(context.now()).saturating_add(rate.span_for(Bytes::new(bytes)));
                device.pace_at = granted;
                wait = wait.max(granted.since(context.now()));
            }
            if let Some(rate) = self.limits.server_rate {
                let clock = &mut server.together.pace_at;
                *clock = (*clock).max(context.now()).saturating_add(rate.span_for(Bytes::new(bytes)));
                wait = wait.max(clock.since(context.now()));
            }
            let after = slot.left - u32::from(slot.flying) - 1;
            let odd = odd_next(slot, at.device, after == self.limits.window, unit);
            let event = Event {
                kind,
                marks: Marks::before_odd(odd)
                    .of_last(after == 0)
                    .gathering(slot.reads > 1 || kind == Kind::Pull),
                slot: at.slot as u16,
                job: slot.job,
                unit: slot.next,
                bytes: bytes as u32,
                device: at.device,
                driver: at.device,
            };
            let one = [slot.source];
            let sources = if slot.reads == 1 { &one } else { self.plan.reads(self.plan.job(slot.job)) };
            for &source in sources {
                let to = self.entity_of(source);
                let remote = to != context.me();
                let wait = if remote { wait.saturating_add(self.hardware.control()) } else { wait };
                let marks = event.marks.gathering(event.marks.gathers() || remote);
                context.send(to, wait, Event { device: source, marks, ..event });
            }
            debug_assert_eq!(sources.len(), usize::from(slot.reads), "sources of job {}", slot.job);
            slot.flying += 1;
            slot.next += 1;
        }
        assert!(u32::from(slot.flying) <= slot.left, "more units of a job are under way than are left");
        assert!(slot.flying > 0, "a job in a slot has nothing under way");
        debug_assert!(usize::from(slot.flying) <= WINDOW_MAX, "{} units are in flight", slot.flying);
    }

    /// A unit is durable on a target.
    #[inline]
    pub(super) fn acknowledged(
        &self,
        server: &mut Server,
        event: &Event,
        context: &mut Context<'_, Self>,
    ) -> Result<Undo, Fault> {
        let at = self.at(event);
        let slot = &server.devices[at.place].slots[at.slot];
        if slot.job != event.job || slot.flying == 0 {
            return Err("a unit was acknowledged that is not in flight".into());
        }
        if slot.writes > 1 {
            let acks = slot.acks[event.unit as usize % super::WINDOW_MAX];
            assert!(acks < slot.writes, "a unit is durable on more devices than it was written to");
            if acks + 1 < slot.writes {
                let undo = Undo::Acks { before: acks };
                server.devices[at.place].slots[at.slot].acks[event.unit as usize % super::WINDOW_MAX] += 1;
                return Ok(undo);
            }
        }
        debug_assert_eq!(
            event.marks.is_last(),
            event.unit + 1 == self.hardware.units(slot.bytes),
            "the mark of unit {}",
            event.unit
        );
        let last = slot.left == 1;
        let undo = if last || slot.writes > 1 {
            Undo::device(self, server, at.place)
        } else {
            Undo::slot(self, server, at.place, at.slot)
        };
        let slot = &mut server.devices[at.place].slots[at.slot];
        debug_assert!(slot.left >= u32::from(slot.flying), "{} units fly of {}", slot.flying, slot.left);
        debug_assert_eq!(slot.parts[event.unit as usize % WINDOW_MAX], 0, "parts of a unit that is durable");
        slot.acks[event.unit as usize % super::WINDOW_MAX] = 0;
        slot.flying -= 1;
        slot.left -= 1;
        if last {
            self.finish(server, at, context)?;
        } else {
            self.issue(server, at, context);
        }
        Ok(undo)
    }

    /// A job has finished.
    fn finish(&self, server: &mut Server, at: At, context: &mut Context<'_, Self>) -> Result<(), Fault> {
        let device = &mut server.devices[at.place];
        let done = std::mem::replace(&mut device.slots[at.slot], Slot::EMPTY);
        let Slot { job, task, .. } = done;
        assert_eq!((done.left, done.flying), (0, 0), "job {job} is done, but units of it are left");
        assert_eq!(done.parts, [0; WINDOW_MAX], "parts of job {job} are left over");
        assert_eq!(done.acks, [0; WINDOW_MAX], "acknowledgements of job {job} are left over");
        assert_eq!(done.next, self.hardware.units(done.bytes), "units of job {job} that began");
        // The job in the tables is seldom in the cache.
        let bytes = done.bytes.saturating_mul(u64::from(done.writes));
        debug_assert_eq!(bytes, self.plan.bytes_over_targets(self.plan.job(job)), "bytes of job {job}");
        let spare = self.plan.task(task).spare.min(u32::from(u8::MAX)) as u8;
        let now = context.now();
        context.record(Sample::Done { bytes, at: now, spare });
        if self.plan.is_split() {
            context.record(Sample::Prior { bytes, at: now, priority: spare });
        }
        let active = device.active.iter_mut().find(|active| active.task == task);
        let active = active.ok_or("a job completed whose task is not active")?;
        assert!(active.left > 0, "more jobs of task {task} are done than it has");
        active.left -= 1;
        let whole = active.left == 0;
        assert!(
            !whole || active.next_job == self.plan.task(task).jobs.end,
            "task {task} ends before its jobs"
        );
        if whole && self.plan.counts_completed() {
            let group = self.plan.task(task).group;
            context.record(Sample::Completed(Completion { group, spare, at: now }));
        }
        if self.plan.task(task).below && (whole || !self.plan.grouped()) {
            context.record(Sample::Restored(now));
        }
        let has_items = self.has_items(at.device);
        match (whole, has_items) {
            (true, true) => self.queue_last_items(server, at.device, task, context),
            (true, false) => self.end_task(server, at.device, task, context)?,
            (false, _) => {}
        }
        let sleep = self.limits.pace(self.hardware, at.device).sleep;
        if !sleep.is_zero() && !has_items {
            self.rest(&mut server.devices[at.place], (task, at.device), sleep, context);
        }
        self.refill(server, at, context);
        Ok(())
    }

    /// Starts the next job in a slot that has become free, and whatever else may begin now.
    fn refill(&self, server: &mut Server, at: At, context: &mut Context<'_, Self>) {
        let waits = self.limits.reservations.is_some()
            || self.limits.serial
            || !self.limits.pace(self.hardware, at.device).sleep.is_zero();
        if waits || self.limits.server_streams.is_some() {
            return self.go_on(server, at.device, context);
        }
        // Where nothing waits for anything but a slot, no other is free as long as there are jobs. The others
        // lie in as many lines of the cache, so they are not looked at.
        self.begin_tasks(server, at.device, context);
        if let Some(chosen) = self.choose(&mut server.devices[at.place]) {
            let mut slots = server.devices[at.place].slots.iter();
            debug_assert_eq!(
                slots.position(|slot| slot.job == Slot::NONE),
                Some(at.slot),
                "the first free slot"
            );
            self.begin(server, at, chosen, context);
            self.begin_tasks(server, at.device, context);
        }
    }

    /// A task ends, and gives back its reservations.
    fn end_task(
        &self,
        server: &mut Server,
        device: DeviceId,
        task: u32,
        context: &mut Context<'_, Self>,
    ) -> Result<(), Fault> {
        let active = &mut server.devices[self.hardware.place_of(device)].active;
        let place = active.iter().position(|active| active.task == task);
        let ended = active.remove(place.ok_or("a task ends that is not active")?);
        assert_eq!(ended.left, 0, "task {task} ends before its jobs are done");
        context.record(Sample::Ended(context.now().since(ended.since)));
        self.ask_for_map(task, context);
        for &target in self.plan.reserves(self.plan.task(task)) {
            self.tell(target, self.about(Kind::Release, task, target, device), context);
        }
        Ok(())
    }

    /// A work item behind the last job of a task has left the queue.
    pub(super) fn emptied(
        &self,
        server: &mut Server,
        item: &Event,
        context: &mut Context<'_, Self>,
    ) -> Result<Undo, Fault> {
        let undo = Undo::device(self, server, self.hardware.place_of(item.driver));
        self.turn_comes(server, item.driver);
        if let Some(more) = item.unit.checked_sub(1) {
            self.queue_empty(server, item.driver, (item.job, more), context);
        } else {
            self.end_task(server, item.driver, item.job, context)?;
            self.go_on(server, item.driver, context);
        }
        Ok(undo)
    }

    pub(super) fn about(&self, kind: Kind, task: u32, device: DeviceId, driver: DeviceId) -> Event {
        Event { kind, marks: Marks::default(), slot: 0, job: task, unit: 0, bytes: 0, device, driver }
    }

    /// Requests a task's next reservation, if it needs another.
    fn ask_for_next(&self, task: u32, driver: DeviceId, reserved: u32, context: &mut Context<'_, Self>) {
        if let Some(&target) = self.plan.reserves(self.plan.task(task)).get(reserved as usize) {
            self.tell(target, self.about(Kind::Reserve, task, target, driver), context);
        }
    }

    /// The device that a request, grant or release of a reservation, or a wake-up, is about.
    pub(super) fn reserves_at(&self, event: &Event) -> DeviceId {
        if matches!(event.kind, Kind::Reserve | Kind::Release) { event.device } else { event.driver }
    }

    /// Handles requests, grants and releases of reservations, and wake-ups of drivers.
    pub(super) fn reservation(
        &self,
        server: &mut Server,
        event: &Event,
        context: &mut Context<'_, Self>,
    ) -> Result<(), Fault> {
        let at_once = self.limits.reservations.unwrap_or(u32::MAX);
        let task = event.job;
        match event.kind {
            Kind::Reserve => {
                let device = &mut server.devices[self.hardware.place_of(event.device)];
                if device.granted < at_once {
                    assert!(
                        device.asking.is_empty(),
                        "a reservation is granted before those who wait for it"
                    );
                    device.granted += 1;
                    self.tell(event.driver, event.then(Kind::Grant), context);
                } else {
                    let priority = self.plan.task(task).priority;
                    wait_for_one(device, Asking { priority, task, driver: event.driver });
                }
            }
            Kind::Release => {
                let device = &mut server.devices[self.hardware.place_of(event.device)];
                assert!(
                    device.granted <= at_once,
                    "{} reservations are granted, of {at_once}",
                    device.granted
                );
                device.granted = device.granted.checked_sub(1).ok_or("a reservation was released twice")?;
                if let Some(Asking { task, driver, .. }) = device.asking.pop_front() {
                    device.granted += 1;
                    let grant = self.about(Kind::Grant, task, event.device, driver);
                    self.tell(driver, grant, context);
                }
            }
            Kind::Grant => {
                let device = &mut server.devices[self.hardware.place_of(event.driver)];
                let active = device.active.iter_mut().find(|active| active.task == task);
                let active = active.ok_or("a reservation was granted to a task that is not active")?;
                active.reserved += 1;
                let reserved = active.reserved;
                let wanted = self.plan.reserves(self.plan.task(task)).len();
                assert!(
                    reserved as usize <= wanted,
                    "task {task} has {reserved} reservations and wants {wanted}"
                );
                if reserved as usize == wanted {
                    context.record(Sample::Reserved(context.now().since(active.since)));
                    self.go_on(server, event.driver, context);
                } else {
                    self.ask_for_next(task, event.driver, reserved, context);
                }
            }
            _ => {
                let device = &mut server.devices[self.hardware.place_of(event.driver)];
                let since = device.asleep.take().ok_or("a disk was woken that is not asleep")?;
                let rested = context.now().since(since);
                let sleep = self.limits.pace(self.hardware, event.driver).sleep;
                assert_eq!(rested, sleep, "a disk rests for as long as it should");
                if device.is_unfinished() {
                    context.record(Sample::Slept { own: rested, others: SimSpan::ZERO });
                }
                self.go_on(server, event.driver, context);
            }
        }
        Ok(())
    }
}

/// Queues a task for a reservation, behind those of the same priority.
fn wait_for_one(device: &mut Device, asking: Asking) {
    let after = device.asking.partition_point(|other| other.priority <= asking.priority);
    device.asking.insert(after, asking);
    let in_order = |at: usize| device.asking[at].priority <= device.asking[at + 1].priority;
    let sides = after.saturating_sub(1)..(after + 1).min(device.asking.len() - 1);
    assert!(sides.into_iter().all(in_order), "who waits for a reservation is out of order");
}

/// Whether the acknowledgement of the slot's next unit may start a unit that is shorter than a full one or
/// not on this disk. `starts_last`: it starts the last unit.
#[inline]
fn odd_next(slot: &Slot, device: DeviceId, starts_last: bool, unit: u64) -> bool {
    slot.reads > 1
        || slot.writes > 1
        || slot.source != device
        || (starts_last && !slot.bytes.is_multiple_of(unit))
}
