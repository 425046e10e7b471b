//! Invariants that hold whenever a phase ends: all work is done, a deadline cuts it short, or the user stops
//! it.
//!
//! - Bytes: for each disk bytes read and written, and for each server bytes sent and received, what was
//!   planned is the sum of what is done and what is left. What is left belongs to jobs that have not begun,
//!   to units not yet started, or to units in flight; a message to a dead device stays in flight for ever.
//!   What was sent is the sum of what was received, is in flight, and was dropped.
//! - Units: each unit in flight is accounted for by its parts or by its acknowledgements, exactly once, and
//!   nothing else is in flight.
//! - Reservations: each requested reservation is waiting, in transit, or held by an active task; none is held
//!   twice.
//! - Liveness: if nothing is in flight, all tasks are finished, except those that wait for a dead device.
//! - Work items: each job in a slot has units in flight, or one work item in the queue of its driver, or its
//!   driver sleeps. A task whose jobs are done has one more.
//! - Times of work items: as many are pending as wait for their time. A map is due if one was asked for.
//! - Servers: none drives more jobs than it may, nor started units sooner than its rate allows.
//! - Clients: each operation that was requested has its reply, its parts in flight, or a place in a queue.

use std::collections::BTreeMap;

use towtank_devices::{Broken, Lane};
use towtank_kernel::{Committed, Fault};
use towtank_units::{Bytes, SimSpan, SimTime};

use super::driver::WORKED;
use super::event::{Event, Kind};
use super::server::{Device, Entity, Server, Slot, WINDOW_MAX};
use super::shared::SharedLine;
use super::{DeviceId, Rebuild, Timer};
use crate::plan::Job;

/// Bytes by device and by server.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Tally {
    read: Vec<u64>,
    written: Vec<u64>,
    sent: Vec<u64>,
    received: Vec<u64>,
}

/// What is known of one unit of one job that is in flight.
#[derive(Clone, Copy, Debug, Default)]
struct UnderWay {
    /// Parts still being gathered.
    gathering: u64,
    /// Copies or shards in transit to a target, and acknowledgements in transit back.
    handed_out: u64,
}

/// Checks all invariants.
pub(super) fn audit(model: &Rebuild<'_>, committed: &Committed<'_, Rebuild<'_>>) -> Result<(), Fault> {
    let audit = Audit::new(model, committed);
    devices(committed).map_err(|broken| Fault::from(broken.to_string()))?;
    audit.together()?;
    audit.bytes()?;
    audit.reservations()?;
    audit.rests()?;
    audit.timers()?;
    audit.maps(committed)?;
    audit.items()?;
    audit.last_items()?;
    audit.finished()?;
    audit.clients()?;
    audit.counted(committed)
}

/// No NIC, disk or uplink was busy for longer than the elapsed time, and no queue in front of one lost an
/// entry.
fn devices(committed: &Committed<'_, Rebuild<'_>>) -> Result<(), Broken> {
    for entity in committed.entities {
        match entity {
            Entity::Server(server) => {
                let disks = server.devices.iter().map(|device| &device.disk.lane);
                disks.chain([&server.out.lane, &server.inward.lane]).try_for_each(Lane::audit)?;
                server.shared.iter().flat_map(|shared| shared.lines()).try_for_each(SharedLine::audit)?;
            }
            Entity::Rack(rack) => {
                rack.uplink.audit()?;
                rack.lines.iter().flatten().try_for_each(SharedLine::audit)?;
            }
            Entity::Monitor { .. } => {}
        }
    }
    Ok(())
}

struct Audit<'a> {
    model: &'a Rebuild<'a>,
    servers: Vec<&'a Server>,
    /// Events that are pending, wait at a shared resource, or were dropped.
    events: Vec<Event>,
    /// Whether any event is pending.
    goes_on: bool,
}

impl<'a> Audit<'a> {
    fn new(model: &'a Rebuild<'_>, committed: &Committed<'a, Rebuild<'_>>) -> Audit<'a> {
        let mut events: Vec<Event> = committed.pending.iter().map(|scheduled| scheduled.event).collect();
        let mut servers = Vec::new();
        for entity in committed.entities {
            match entity {
                Entity::Server(server) => {
                    events.extend(&server.swallowed);
                    events.extend(server.shared.iter().flat_map(|shared| shared.events()));
                    servers.push(server);
                }
                Entity::Rack(rack) => {
                    events.extend(rack.lines.iter().flatten().flat_map(SharedLine::items));
                }
                Entity::Monitor { .. } => {}
            }
        }
        Audit { model, servers, events, goes_on: !committed.pending.is_empty() }
    }

    /// Every device with its state.
    fn devices(&self) -> impl Iterator<Item = (DeviceId, &'a Device)> {
        (0u32..)
            .zip(&self.servers)
            .flat_map(|(number, server)| self.model.hardware.devices_of(number).zip(&server.devices))
    }

    fn rebuilding(&self) -> impl Iterator<Item = &Event> {
        let unit = |kind| {
            use Kind::{Ack, Down, In, Out, Part, Pull, Push, Read, Reply, Up, Write};
            matches!(kind, Pull | Read | Out | Up | Down | In | Part | Push | Write | Reply | Ack)
        };
        self.events.iter().filter(move |event| unit(event.kind) && !event.marks.is_client())
    }

    /// Planned = done + left, also for the units in flight.
    fn bytes(&self) -> Result<(), Fault> {
        let (model, plan) = (self.model, self.model.plan);
        let mut planned = Tally::new(model);
        for (driver, _, job) in plan.each() {
            let bytes = job.bytes.saturating_sub(u64::from(job.resume) * model.hardware.unit());
            planned.reads(model, job, driver, bytes);
            planned.writes(model, job, driver, bytes);
        }
        let mut found = Tally::new(model);
        for (number, server) in (0usize..).zip(&self.servers) {
            (found.sent[number], found.received[number]) = (server.sent, server.received);
        }
        for (id, device) in self.devices() {
            (found.read[id.index()], found.written[id.index()]) = (device.read, device.written);
        }
        self.left(&mut found)?;
        for (what, planned, found) in [
            ("read from device", &planned.read, &found.read),
            ("written to device", &planned.written, &found.written),
            ("sent by server", &planned.sent, &found.sent),
            ("received by server", &planned.received, &found.received),
        ] {
            if let Some(at) = planned.iter().zip(found).position(|(planned, found)| planned != found) {
                let (planned, found) = (planned[at], found[at]);
                return Err(format!(
                    "{planned} bytes are to be {what} {at}, but completed and remaining bytes add up to {found}"
                )
                .into());
            }
        }
        Ok(())
    }

    /// Adds the work left to do.
    fn left(&self, left: &mut Tally) -> Result<(), Fault> {
        let (model, plan) = (self.model, self.model.plan);
        let mut under_way: BTreeMap<(u32, u32), UnderWay> = BTreeMap::new();
        for event in self.rebuilding() {
            left.under_way(model, event);
            let unit = under_way.entry((event.job, event.unit)).or_default();
            let gathers = event.marks.gathers() || matches!(event.kind, Kind::Pull | Kind::Read | Kind::Part);
            *(if gathers { &mut unit.gathering } else { &mut unit.handed_out }) += 1;
        }
        for (driver, device) in self.devices() {
            let active = device.active.iter().map(|task| task.next_job..plan.task(task.task).jobs.end);
            let tasks = device.tasks.clone().map(|task| plan.task(task).jobs.clone());
            for number in active.chain(tasks).flatten() {
                let job = plan.job(number);
                let bytes = job.bytes.saturating_sub(u64::from(job.resume) * model.hardware.unit());
                left.reads(model, job, driver, bytes);
                left.writes(model, job, driver, bytes);
            }
            for slot in device.slots.iter().filter(|slot| slot.job != Slot::NONE) {
                self.in_work(driver, slot, left, &mut under_way)?;
            }
        }
        match under_way.first_key_value() {
            Some(((job, unit), _)) => {
                Err(format!("unit {unit} of job {job} has events, but is not in flight").into())
            }
            None => Ok(()),
        }
    }

    /// Adds the work left of a started job, and removes its units from those in flight.
    fn in_work(
        &self,
        driver: DeviceId,
        slot: &Slot,
        left: &mut Tally,
        under_way: &mut BTreeMap<(u32, u32), UnderWay>,
    ) -> Result<(), Fault> {
        let (model, size) = (self.model, self.model.hardware.unit());
        let job = model.plan.job(slot.job);
        let started = (u64::from(slot.next) * size).min(job.bytes);
        left.reads(model, job, driver, job.bytes - started);
        left.writes(model, job, driver, job.bytes - started);
        let units = model.hardware.units(job.bytes);
        let flying = u32::from(slot.flying);
        if slot.next > units || slot.left != units - slot.next + flying || slot.next < job.resume + flying {
            return Err(format!(
                "job {}: {} of {units} units are left, but {flying} are in flight before unit {}",
                slot.job, slot.left, slot.next
            )
            .into());
        }
        for unit in slot.next - flying..slot.next {
            let seen = under_way.remove(&(slot.job, unit)).unwrap_or_default();
            let at = unit as usize % WINDOW_MAX;
            let (parts, acks) = (u64::from(slot.parts[at]), u64::from(slot.acks[at]));
            let gathered = seen.gathering + parts > 0;
            let (found, wanted, other) = if gathered {
                (seen.gathering + parts, u64::from(slot.reads), seen.handed_out + acks)
            } else {
                (seen.handed_out + acks, u64::from(slot.writes), 0)
            };
            if found != wanted || other != 0 {
                let what = if gathered { "sources" } else { "targets" };
                return Err(format!(
                    "unit {unit} of job {}: {found} of {wanted} {what} are accounted for, and {other} after them",
                    slot.job
                )
                .into());
            }
            if gathered {
                let bytes = size.min(job.bytes - u64::from(unit) * size);
                left.writes(model, job, driver, bytes);
            }
        }
        Ok(())
    }

    /// Each granted reservation is held or in transit, and each requested one is accounted for.
    fn reservations(&self) -> Result<(), Fault> {
        let plan = self.model.plan;
        let mut held = vec![0u64; plan.device_count()];
        let mut asked: BTreeMap<u32, u64> = BTreeMap::new();
        for event in &self.events {
            match event.kind {
                Kind::Grant => {
                    held[event.device.index()] += 1;
                    *asked.entry(event.job).or_default() += 1;
                }
                Kind::Release if !self.model.is_dead(event.device) => held[event.device.index()] += 1,
                Kind::Reserve => *asked.entry(event.job).or_default() += 1,
                _ => {}
            }
        }
        for (_, device) in self.devices() {
            device.asking.iter().for_each(|asking| *asked.entry(asking.task).or_default() += 1);
        }
        for (driver, device) in self.devices() {
            for active in &device.active {
                let reserves = plan.reserves(plan.task(active.task));
                let granted =
                    reserves.get(..active.reserved as usize).ok_or("more is reserved than is needed")?;
                granted.iter().for_each(|target| held[target.index()] += 1);
                let asking = asked.remove(&active.task).unwrap_or(0);
                let wants = u64::from((active.reserved as usize) < reserves.len());
                if asking != wants {
                    return Err(format!(
                        "task {} of device {driver} waits for {wants} reservations, but requested {asking}",
                        active.task,
                        driver = driver.0
                    )
                    .into());
                }
            }
        }
        if let Some((task, _)) = asked.first_key_value() {
            return Err(format!("task {task} requests a reservation, but is not active").into());
        }
        let most = u64::from(self.model.limits.reservations.unwrap_or(u32::MAX));
        for (id, device) in self.devices().filter(|(id, _)| !self.model.is_dead(*id)) {
            let (granted, held) = (u64::from(device.granted), held[id.index()]);
            if granted != held || granted > most {
                return Err(format!(
                    "device {} granted {granted} reservations (limit {most}), but {held} are held",
                    id.0
                )
                .into());
            }
        }
        Ok(())
    }

    /// Every sleeping driver has exactly one wake-up.
    fn rests(&self) -> Result<(), Fault> {
        let mut wakes = vec![0u32; self.model.plan.device_count()];
        let wake = self.events.iter().filter(|event| event.kind == Kind::Wake);
        wake.for_each(|event| wakes[event.driver.index()] += 1);
        match self.devices().find(|(id, device)| wakes[id.index()] != u32::from(device.asleep.is_some())) {
            Some((id, device)) => Err(format!(
                "device {} {}, but is woken {} times",
                id.0,
                if device.asleep.is_some() { "rests" } else { "works" },
                wakes[id.index()]
            )
            .into()),
            None => Ok(()),
        }
    }

    /// Each item that waits for its time is an event, and none has a time behind the last one.
    fn timers(&self) -> Result<(), Fault> {
        let mut waiting: BTreeMap<DeviceId, u32> = BTreeMap::new();
        let own = |event: &&Event| {
            let item = event.kind == Kind::Empty || (event.kind == Kind::Start && event.unit != WORKED);
            item && !event.marks.is_client() && self.model.is_timed(event.driver)
        };
        for event in self.events.iter().filter(own) {
            *waiting.entry(event.driver).or_default() += 1;
        }
        for (id, device) in self.devices() {
            let found = waiting.remove(&id).unwrap_or(0);
            if found != device.timer.waiting {
                return Err(format!(
                    "{} items of device {} wait for their time, but {found} are pending",
                    device.timer.waiting, id.0
                )
                .into());
            }
            if device.timer != Timer::default() && !self.model.is_timed(id) {
                return Err(format!("device {} does not sleep, and its items have times", id.0).into());
            }
        }
        Ok(())
    }

    /// A map is due exactly if the monitor says so.
    fn maps(&self, committed: &Committed<'_, Rebuild<'_>>) -> Result<(), Fault> {
        let due = self.events.iter().filter(|event| event.kind == Kind::Due).count();
        for entity in committed.entities {
            let Entity::Monitor { made, .. } = entity else { continue };
            if due != usize::from(made.due) || (made.asked && !made.due) {
                return Err(format!("{due} maps are due, and the monitor has {made:?}").into());
            }
        }
        Ok(())
    }

    /// Each job in a slot has units in flight, or exactly one work item or work of its driver, or its disk
    /// sleeps.
    fn items(&self) -> Result<(), Fault> {
        let mut items: BTreeMap<(DeviceId, u16), u32> = BTreeMap::new();
        let items_of_jobs = |event: &&Event| event.kind == Kind::Start && !event.marks.is_client();
        for event in self.events.iter().filter(items_of_jobs) {
            *items.entry((event.driver, event.slot)).or_default() += 1;
        }
        for (id, device) in self.devices() {
            for (number, slot) in (0u16..).zip(&device.slots) {
                let found = items.remove(&(id, number)).unwrap_or(0);
                let waits = slot.job != Slot::NONE && slot.flying == 0;
                let wanted = u32::from(waits && device.asleep.is_none());
                if found != wanted {
                    return Err(format!(
                        "slot {number} of device {} has {found} work items in the queue, not {wanted}",
                        id.0
                    )
                    .into());
                }
            }
        }
        match items.first_key_value() {
            Some(((id, _), _)) => Err(format!("a work item of device {} has no slot", id.0).into()),
            None => Ok(()),
        }
    }

    /// Each task whose jobs are done has exactly one work item in the queue, and no other task has.
    fn last_items(&self) -> Result<(), Fault> {
        let mut items: BTreeMap<(DeviceId, u32), u32> = BTreeMap::new();
        for event in self.events.iter().filter(|event| event.kind == Kind::Empty) {
            *items.entry((event.driver, event.job)).or_default() += 1;
        }
        for (id, device) in self.devices() {
            for active in &device.active {
                let (task, found) = (active.task, items.remove(&(id, active.task)).unwrap_or(0));
                let wanted = u32::from(active.left == 0);
                if found != wanted {
                    return Err(format!(
                        "task {task} of device {} has {found} work items behind its jobs, not {wanted}",
                        id.0
                    )
                    .into());
                }
            }
        }
        match items.first_key_value() {
            Some(((id, task), _)) => {
                Err(format!("a work item behind the jobs of task {task} of device {} has no task", id.0)
                    .into())
            }
            None => Ok(()),
        }
    }

    /// The limits that all disks of a server share.
    fn together(&self) -> Result<(), Fault> {
        let limits = self.model.limits;
        for (number, server) in (0u32..).zip(&self.servers) {
            let (driven, most) = (server.driven(), limits.server_streams.unwrap_or(u32::MAX));
            if driven > most as usize {
                return Err(format!("server {number} drives {driven} jobs, more than {most}").into());
            }
            let used = limits.server_streams.is_some() || server.together.turn == 0;
            if !used || (limits.server_rate.is_none() && server.together.pace_at != SimTime::ZERO) {
                return Err(format!("server {number} has the state of a limit that is not set").into());
            }
            let Some(rate) = limits.server_rate else { continue };
            let started: SimSpan = self
                .started(number)
                .map(|bytes| rate.span_for(Bytes::new(bytes)))
                .fold(SimSpan::ZERO, SimSpan::saturating_add);
            let granted = server.together.pace_at.since(SimTime::ZERO);
            if started > granted {
                return Err(format!(
                    "server {number} started units that take {started} at its rate, and {granted} were granted"
                )
                .into());
            }
        }
        Ok(())
    }

    /// The bytes of each unit that the disks of a server have started, in jobs that are in progress or done.
    fn started(&self, server: u32) -> impl Iterator<Item = u64> + '_ {
        let (model, state) = (self.model, self.servers[server as usize]);
        let disks = model.hardware.devices_of(server).zip(&state.devices);
        disks.flat_map(move |(id, device)| {
            let begun = model.plan.tasks_of(id).filter(|task| !device.tasks.contains(task));
            let jobs = begun.flat_map(move |task| {
                let all = model.plan.task(task).jobs.clone();
                let active = device.active.iter().find(|active| active.task == task);
                all.start..active.map_or(all.end, |active| active.next_job)
            });
            jobs.flat_map(move |number| {
                let job = model.plan.job(number);
                let slot = device.slots.iter().find(|slot| slot.job == number);
                let end = slot.map_or(model.hardware.units(job.bytes), |slot| slot.next);
                let unit = model.hardware.unit();
                (job.resume..end).map(move |at| unit.min(job.bytes.saturating_sub(u64::from(at) * unit)))
            })
        })
    }

    /// If no event is pending, all work that can be done has been done.
    fn finished(&self) -> Result<(), Fault> {
        if self.goes_on {
            return Ok(());
        }
        for (id, device) in self.devices().filter(|(id, _)| !self.model.is_dead(*id)) {
            let unfinished = device.active.len() + device.tasks.len();
            // Jobs of other disks of the server may hold what the disk waits for.
            let server = self.model.hardware.server_of(id);
            let shares = self.model.limits.server_streams.is_some();
            let holds =
                |other: DeviceId| other == id || (shares && self.model.hardware.server_of(other) == server);
            let swallowed = || self.events.iter().any(|event| holds(event.driver));
            let waits = || {
                let needs = |task: u32| self.model.plan.reserves(self.model.plan.task(task)).len();
                device.active.iter().any(|active| (active.reserved as usize) < needs(active.task))
            };
            let excused = !self.model.dead.is_empty() && (swallowed() || waits());
            if unfinished > 0 && !excused {
                return Err(format!(
                    "no event is pending, but {unfinished} tasks of device {} are not finished",
                    id.0
                )
                .into());
            }
        }
        Ok(())
    }

    /// Each client operation without a reply has all its parts in flight.
    fn clients(&self) -> Result<(), Fault> {
        let mut parts: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        for event in self.events.iter().filter(|event| event.marks.is_client() && event.kind != Kind::Arrive)
        {
            *parts.entry((self.model.hardware.server_of(event.driver), event.job)).or_default() += 1;
        }
        for (number, server) in (0u32..).zip(&self.servers) {
            let Some(shared) = &server.shared else { continue };
            for (operation, state) in (0u32..).zip(&shared.operations) {
                let found = parts.remove(&(number, operation)).unwrap_or(0);
                let wanted = if shared.free.contains(&operation) { 0 } else { u64::from(state.left.max(1)) };
                if found != wanted {
                    return Err(format!(
                        "client operation {operation} of server {number} has {found} parts in flight, not {wanted}"
                    )
                    .into());
                }
            }
        }
        match parts.first_key_value() {
            Some(((server, operation), _)) => {
                Err(format!("operation {operation} at server {server} was never requested").into())
            }
            None => Ok(()),
        }
    }

    /// The totals counted as done are those that are not left.
    fn counted(&self, committed: &Committed<'_, Rebuild<'_>>) -> Result<(), Fault> {
        let plan = self.model.plan;
        let whole = |job: &Job| u128::from(job.bytes) * plan.writes(job).len() as u128;
        let (mut jobs, mut bytes) = (plan.jobs().len() as u64, plan.jobs().iter().map(whole).sum::<u128>());
        let mut open = |job: u32| {
            jobs -= 1;
            bytes -= whole(plan.job(job));
        };
        for (_, device) in self.devices() {
            let active = device.active.iter().map(|task| task.next_job..plan.task(task.task).jobs.end);
            let tasks = device.tasks.clone().map(|task| plan.task(task).jobs.clone());
            active.chain(tasks).flatten().for_each(&mut open);
            device.slots.iter().map(|slot| slot.job).filter(|&job| job != Slot::NONE).for_each(&mut open);
        }
        let counted = committed.statistics.iter().fold((0u64, 0u128), |(jobs, bytes), counts| {
            (jobs + counts.jobs, bytes + u128::from(counts.bytes))
        });
        if counted == (jobs, bytes) {
            return Ok(());
        }
        Err(format!("{jobs} jobs of {bytes} bytes are done, but {} of {} were counted", counted.0, counted.1)
            .into())
    }
}

impl Tally {
    fn new(model: &Rebuild<'_>) -> Tally {
        let devices = vec![0; model.plan.device_count()];
        let servers = vec![0; model.hardware.servers() as usize];
        Tally { read: devices.clone(), written: devices, sent: servers.clone(), received: servers }
    }

    fn travels(&mut self, model: &Rebuild<'_>, from: DeviceId, to: DeviceId, bytes: u64) {
        let (from, to) = (model.hardware.server_of(from), model.hardware.server_of(to));
        if from != to {
            self.sent[from as usize] += bytes;
            self.received[to as usize] += bytes;
        }
    }

    /// Adds `bytes` read from each source.
    fn reads(&mut self, model: &Rebuild<'_>, job: &Job, driver: DeviceId, bytes: u64) {
        for &source in model.plan.reads(job) {
            self.read[source.index()] += bytes;
            self.travels(model, source, driver, bytes);
        }
    }

    /// Adds `bytes` written to each target.
    fn writes(&mut self, model: &Rebuild<'_>, job: &Job, driver: DeviceId, bytes: u64) {
        for &target in model.plan.writes(job) {
            self.written[target.index()] += bytes;
            self.travels(model, driver, target, bytes);
        }
    }

    /// Adds the work left for a part that is in flight; the work of its unit after gathering is not counted
    /// here.
    fn under_way(&mut self, model: &Rebuild<'_>, event: &Event) {
        let bytes = u64::from(event.bytes);
        let gathers = event.marks.gathers() || matches!(event.kind, Kind::Pull | Kind::Read);
        let (from, to) = if gathers { (event.device, event.driver) } else { (event.driver, event.device) };
        let receiver = model.hardware.server_of(to) as usize;
        match event.kind {
            Kind::Pull | Kind::Read => {
                self.read[event.device.index()] += bytes;
                self.travels(model, from, to, bytes);
            }
            Kind::Out => self.travels(model, from, to, bytes),
            Kind::Up | Kind::Down | Kind::In => self.received[receiver] += bytes,
            _ => {}
        }
        use Kind::{Down, In, Out, Push, Up, Write};
        if !gathers && matches!(event.kind, Out | Up | Down | In | Push | Write) {
            self.written[event.device.index()] += bytes;
        }
    }
}
