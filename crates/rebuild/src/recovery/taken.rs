//! What a phase adds to the result of a recovery.

use towtank_devices::{Lane, Way};
use towtank_kernel::Outcome as Run;
use towtank_units::{SimSpan, SimTime};

use super::{Busy, Recovered};
use crate::hardware::Hardware;
use crate::ledger::{Planned, Progress};
use crate::model::{Active, Completion, Counts, Device, Entity, Rebuild, Server, Slot};
use crate::plan::{DeviceId, Plan};

impl Recovered {
    /// Adds a phase that ran from a time on, up to its end if it has one.
    pub(super) fn take(
        &mut self,
        hardware: &Hardware,
        plan: &Plan,
        run: &Run<Rebuild<'_>>,
        from: SimTime,
        end: Option<SimTime>,
    ) {
        let counts: Counts = run.merged_statistics();
        let ended = over(run, &counts, end);
        self.moving = self.moving.saturating_add(ended.since(SimTime::ZERO));
        self.bytes += counts.bytes;
        self.jobs += counts.jobs;
        self.reserving = self.reserving.saturating_add(counts.reserving);
        self.take_tasks((hardware, plan), run, &counts, ended);
        // Items that are queued when the last object is done still have their sleeps before them.
        let drives = (0..hardware.devices()).filter(|&device| !plan.tasks_of(DeviceId(device)).is_empty());
        let most = ended.since(SimTime::ZERO).saturating_mul(drives.count() as u64);
        let sleeping = counts.sleeping.min(most);
        self.sleeping = self.sleeping.saturating_add(sleeping);
        self.idling = self.idling.saturating_add(counts.idling.0.min(most.saturating_sub(sleeping)));
        let later = |at: SimTime| from.saturating_add(at.min(ended).since(SimTime::ZERO));
        for (mine, last) in self.last_by_spare.iter_mut().zip(counts.last) {
            if last > SimTime::ZERO {
                *mine = (*mine).max(Some(later(last)));
                self.last_write = self.last_write.max(later(last));
            }
        }
        if let Some(clients) = &counts.clients {
            let waited = self.clients.get_or_insert_default();
            waited.during.merge(clients);
            waited.during_span = waited.during_span.saturating_add(run.now.since(SimTime::ZERO));
            // Client replies may arrive after the last write.
            let after = |at: SimTime| from.saturating_add(at.since(SimTime::ZERO));
            waited.over_time.extend(clients.over_time.ends().map(|(at, counts)| (after(at), *counts)));
        }
        let mut below = self.below.last().map_or(0, |last| last.1);
        for (at, restored) in counts.restored.ends() {
            below = below.saturating_sub(*restored);
            self.below.push((later(at), below));
        }
        self.take_progress(&counts, (from, later(ended)), later);
        for (number, entity) in (0u32..).zip(&run.entities) {
            match entity {
                Entity::Server(server) => {
                    self.take_server((hardware, plan), number, server, ended);
                    for (id, device) in hardware.devices_of(number).zip(&server.devices) {
                        let lane = device.disk.lane;
                        let last = (!lane.busy.is_zero()).then(|| later(lane.idle_at));
                        self.last_on[id.index()] = self.last_on[id.index()].max(last);
                    }
                }
                Entity::Monitor { .. } => {}
                Entity::Rack(seen) => {
                    let rack = &mut self.uplinks[(number - hardware.servers()) as usize];
                    for (mine, way) in rack.iter_mut().zip(Way::BOTH) {
                        *mine = mine.saturating_add(busy_until(*seen.uplink.lane(way), ended));
                    }
                }
            }
        }
    }

    /// Adds how long groups had all their reservations: since they requested the first one, but for the time
    /// that they waited.
    fn take_tasks(
        &mut self,
        (hardware, plan): (&Hardware, &Plan),
        run: &Run<Rebuild<'_>>,
        counts: &Counts,
        ended: SimTime,
    ) {
        let (mut asked, mut waited) = (counts.ended.span, counts.reserving);
        for (number, entity) in (0u32..).zip(&run.entities) {
            let Entity::Server(server) = entity else { continue };
            for (_, device) in hardware.devices_of(number).zip(&server.devices) {
                let since = |active: &Active| ended.checked_since(active.since).unwrap_or_default();
                asked = device.active.iter().map(since).fold(asked, SimSpan::saturating_add);
                waited = waited.saturating_add(waits_on(device, plan, ended));
            }
        }
        self.copied += counts.ended.tasks;
        self.copying = self.copying.saturating_add(asked.saturating_sub(waited));
    }

    /// Adds what the devices and the NIC of a server did in a phase.
    fn take_server(
        &mut self,
        (hardware, plan): (&Hardware, &Plan),
        number: u32,
        server: &Server,
        ended: SimTime,
    ) {
        let add = |to: &mut Busy, lane: Lane, bytes: u64| {
            to.span = to.span.saturating_add(busy_until(lane, ended));
            to.bytes += bytes;
        };
        let (out, inward) = (server.out.lane, server.inward.lane);
        let card = &mut self.cards[number as usize];
        add(&mut card[0], out, server.sent);
        add(&mut card[1], inward, server.received);
        let until = out.idle_at.max(inward.idle_at).min(ended);
        let active = &mut self.active[number as usize];
        *active = active.saturating_add(until.since(SimTime::ZERO));
        for (id, device) in hardware.devices_of(number).zip(&server.devices) {
            self.reserving = self.reserving.saturating_add(waits_on(device, plan, ended));
            self.sleeping = self.sleeping.saturating_add(rests_on(device, ended));
            self.take_flows(id, device);
            let disk = &mut self.disks[id.index()];
            disk.0 = disk.0.saturating_add(busy_until(device.disk.lane, ended));
            disk.1 += device.read;
            disk.2 += device.written;
        }
    }

    /// Adds the time that the limits of a device's queue took in a phase.
    fn take_flows(&mut self, id: DeviceId, device: &Device) {
        for shard in device.flows.chunk_by(|one, next| one.shard == next.shard) {
            let number = shard[0].shard;
            let taken = shard.iter().map(|flow| flow.taken).max().unwrap_or_default();
            let before = self.limited.entry((id, number)).or_default();
            *before = before.saturating_add(taken);
        }
    }

    /// Adds the bytes that a phase finished, over time.
    fn take_progress(
        &mut self,
        counts: &Counts,
        (from, ended): (SimTime, SimTime),
        later: impl Fn(SimTime) -> SimTime,
    ) {
        self.progress.push((from, 0));
        self.progress.extend(counts.progress.ends().map(|(at, bytes)| (later(at), *bytes)));
        self.progress.push((ended, 0));
        self.begun.extend(counts.begun.ends().map(|(at, jobs)| (later(at), *jobs)));
        for (row, mine) in self.progress_by_spare.iter_mut().enumerate() {
            mine.extend(counts.by_priority.ends(row).map(|(at, bytes)| (later(at), bytes)));
        }
        for Completion { group, spare, at } in counts.completed.each() {
            let last = self.completed.entry((*group, *spare)).or_default();
            *last = later(*at).max(*last);
        }
    }
}

/// How long a lane was busy up to the end of a phase: queued service after it does not count, and neither do
/// clients that are still served after the rebuild.
fn busy_until(lane: Lane, ended: SimTime) -> SimSpan {
    lane.busy.saturating_sub(lane.idle_at.max(ended).since(ended))
}

/// When a phase ended, checked against the time reached and the moment that cuts it short.
fn over(run: &Run<Rebuild<'_>>, counts: &Counts, cut: Option<SimTime>) -> SimTime {
    let ended = ended(run, counts, cut);
    assert!(ended <= run.now || run.pending == 0, "a phase ends at {ended}, and now is {}", run.now);
    assert!(cut.is_none_or(|cut| ended <= cut), "a phase ends at {ended}, after it is cut short");
    ended
}

/// When a phase ended: the cut, if work was still in progress; else the completion of the last work.
fn ended(run: &Run<Rebuild<'_>>, counts: &Counts, cut: Option<SimTime>) -> SimTime {
    let servers = || {
        run.entities.iter().filter_map(|entity| match entity {
            Entity::Server(server) => Some(server),
            Entity::Rack(_) | Entity::Monitor { .. } => None,
        })
    };
    let unfinished = servers().flat_map(|server| &server.devices).any(Device::is_unfinished);
    let now = cut.map_or(run.now, |cut| cut.min(run.now));
    if unfinished && run.pending > 0 {
        return now;
    }
    let last = counts.last.iter().copied().max().unwrap_or_default();
    if unfinished {
        // The rest waits for something dead; other targets may hold durable units of it.
        let disks = servers().flat_map(|server| &server.devices).map(|device| device.disk.lane.idle_at);
        return disks.fold(last, SimTime::max).min(now);
    }
    last
}

/// How long tasks of a device have waited for reservations that they still lack at the end of the phase.
fn waits_on(device: &Device, plan: &Plan, ended: SimTime) -> SimSpan {
    let waits = |active: &&Active| (active.reserved as usize) < plan.reserves(plan.task(active.task)).len();
    let since = |active: &Active| ended.checked_since(active.since).unwrap_or_default();
    device.active.iter().filter(waits).map(since).fold(SimSpan::ZERO, SimSpan::saturating_add)
}

/// How long a device with work left has slept at the end of the phase.
fn rests_on(device: &Device, ended: SimTime) -> SimSpan {
    let since = device.asleep.filter(|_| device.is_unfinished());
    since.and_then(|since| ended.checked_since(since)).unwrap_or_default()
}

/// The progress of each job at the end of a phase.
pub(super) fn progress(hardware: &Hardware, planned: &Planned, run: &Run<Rebuild<'_>>) -> Vec<Progress> {
    let mut all = vec![Progress::Whole; planned.jobs.len()];
    let mut open = |number: u32| {
        all[number as usize] = Progress::Units(planned.plan.job(number).resume);
    };
    let mut slots: Vec<Slot> = Vec::new();
    for (number, entity) in (0u32..).zip(&run.entities) {
        let Entity::Server(server) = entity else { continue };
        for (_, device) in hardware.devices_of(number).zip(&server.devices) {
            for task in device.tasks.clone() {
                planned.plan.task(task).jobs.clone().for_each(&mut open);
            }
            for active in &device.active {
                (active.next_job..planned.plan.task(active.task).jobs.end).for_each(&mut open);
            }
            slots.extend(device.slots.iter().filter(|slot| slot.job != Slot::NONE));
        }
    }
    for slot in slots {
        // All units of a job pass the same queues, so they become durable in order.
        let units = hardware.units(planned.plan.job(slot.job).bytes);
        assert!(slot.left > 0 && slot.left <= units, "{} of {units} units of a job are left", slot.left);
        let open = all[slot.job as usize] == Progress::Whole;
        assert!(open, "job {} is in a slot and has not begun, or is in two", slot.job);
        all[slot.job as usize] = Progress::Units(units - slot.left);
    }
    all
}
