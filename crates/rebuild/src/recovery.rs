//! From the first failure to the last durable write: what happens when, and the runs of the model between.
//!
//! A failure is a moment at which devices stop; a while later the cluster knows; a while after that it gives
//! them up, and their data are made again elsewhere. Each of these moments ends the transfers under way and
//! makes a new plan: what is durable stays, and objects in work go on from their last durable unit where
//! their targets are still the same.

use std::collections::BTreeSet;

use towtank_devices::{Lane, Way};
use towtank_kernel::{Outcome as Run, RunError, Simulator};
use towtank_units::{SimSpan, SimTime};

use crate::affected::Affected;
use crate::bound::{Survivors, Work};
use crate::failures::Struck;
use crate::hardware::Hardware;
use crate::ledger::{Ledger, Planned, Progress, Rules, Standing, Stuck};
use crate::model::{Active, Clients, Counts, Device, Entity, Latencies, Limits, Load, Rebuild, SPARES, Slot};
use crate::plan::{DeviceId, Plan};

/// At the most so many operations of clients are looked at where nothing is rebuilt: enough for a 99th
/// percentile.
const QUIET_OPERATIONS: f64 = 20_000.0;

/// Why a recovery yields nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecoveryError {
    /// The kernel could not run the model, or the model failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// An object is neither whole in the end nor told as lost or stuck.
    #[error("{lacking} objects lack a copy or shard in the end, but {told} are told as lost or stuck")]
    Unaccounted {
        /// Objects that lack something.
        lacking: u64,
        /// Objects that are told.
        told: u64,
    },
}

/// How a failure becomes known, and when it is given up.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// Until it is known.
    pub detection: SimSpan,
    /// From then until it is given up.
    pub down_out: SimSpan,
    /// Never.
    pub noout: bool,
    /// Whole racks are given up too.
    pub rack_out: bool,
}

/// All that a recovery needs to know.
#[derive(Clone)]
pub struct Recovery<'a> {
    /// The machines.
    pub hardware: &'a Hardware,
    /// How much is done at once.
    pub limits: &'a Limits,
    /// What is affected.
    pub affected: &'a Affected,
    /// What fails.
    pub struck: &'a [Struck],
    /// What happens between a failure and its rebuild.
    pub waiting: Waiting,
    /// How plans are made.
    pub rules: Rules,
    /// Devices that were down before anything failed: they hold nothing, and nobody gives them up unless they
    /// fail too. Empty where there are none.
    pub down: Vec<DeviceId>,
    /// Bytes on each device before, and the most it takes.
    pub used: Vec<u64>,
    /// The most bytes each takes.
    pub limit: Vec<u64>,
    /// Who uses the cluster meanwhile.
    pub clients: Option<Load>,
    /// Whether clients are also run without a rebuild, for comparison.
    pub quiet: bool,
}

/// What clients waited.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Waited {
    /// Before anything failed.
    pub quiet: Latencies,
    /// While lost data were rebuilt.
    pub during: Latencies,
    /// The same by when they had their answers: the end of a bin, and for reads and writes how many, and the
    /// sum of nanoseconds.
    pub over_time: Vec<(SimTime, [(u64, u64); 2])>,
}

/// What one resource did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Busy {
    /// How long it worked.
    pub span: SimSpan,
    /// Bytes through it.
    pub bytes: u64,
}

/// What came of it.
#[derive(Debug)]
pub struct Recovered {
    /// When the first transfer could begin.
    pub first_transfer: SimTime,
    /// How long something moved, or rested before it moved on: all phases, without the time between them.
    pub moving: SimSpan,
    /// When the last write was durable; none if something could not be rebuilt.
    pub last_write: SimTime,
    /// The last write of objects with so many copies or shards to spare.
    pub last_by_spare: [Option<SimTime>; SPARES],
    /// What could not be rebuilt, at the end.
    pub stuck: Stuck,
    /// Bytes and jobs that were finished.
    pub bytes: u64,
    /// Objects made whole.
    pub jobs: u64,
    /// When how much was finished: (end of a bin, bytes).
    pub progress: Vec<(SimTime, u64)>,
    /// Bytes that were to be finished by then and were not.
    pub unfinished: u64,
    /// The bound, summed over phases.
    pub bound: SimSpan,
    /// How long all would have taken if it had been even, summed over phases.
    pub ideal: SimSpan,
    /// What devices had to do in all phases, for the units that became durable.
    pub work: Work,
    /// For each disk, how long it worked, and the bytes read and written.
    pub disks: Vec<(SimSpan, u64, u64)>,
    /// For each server's card.
    pub cards: Vec<[Busy; 2]>,
    /// For each rack's uplink, up and down.
    pub uplinks: Vec<[SimSpan; 2]>,
    /// Waiting for reservations.
    pub reserving: SimSpan,
    /// Rests.
    pub sleeping: SimSpan,
    /// Devices that drove something.
    pub drivers: u64,
    /// Records below min_size: from when on, how many.
    pub below: Vec<(SimTime, u64)>,
    /// Records below min_size at the most.
    pub below_min_size: u64,
    /// What each device that works holds in the end, with what is planned for it.
    pub fill: Vec<u64>,
    /// Digests of all phases.
    pub digests: Vec<towtank_kernel::Digest>,
    /// Events of all phases.
    pub events: u64,
    /// Stopped early.
    pub partial: bool,
    /// What clients waited, where there are some.
    pub clients: Option<Waited>,
}

impl Recovery<'_> {
    /// Every moment at which something changes, in order.
    fn moments(&self) -> Vec<SimTime> {
        let mut moments = BTreeSet::new();
        for struck in self.struck {
            let (down, out) = self.moments_of(struck);
            moments.insert(SimTime::ZERO.saturating_add(struck.at));
            moments.insert(down);
            moments.extend(out);
        }
        moments.into_iter().collect()
    }

    /// When a failure is known, and when it is given up.
    fn moments_of(&self, struck: &Struck) -> (SimTime, Option<SimTime>) {
        let down = SimTime::ZERO.saturating_add(struck.at).saturating_add(self.waiting.detection);
        let stays = self.waiting.noout || (struck.rack && !self.waiting.rack_out);
        (down, (!stays).then(|| down.saturating_add(self.waiting.down_out)))
    }

    fn standing(&self, at: SimTime, used: Vec<u64>) -> Standing {
        let mut standing = Standing {
            stopped: vec![false; self.hardware.devices() as usize],
            down: vec![false; self.hardware.devices() as usize],
            out: vec![false; self.hardware.devices() as usize],
            used,
            limit: self.limit.clone(),
        };
        for device in &self.down {
            standing.stopped[device.index()] = true;
            standing.down[device.index()] = true;
        }
        for struck in self.struck {
            let (down, out) = self.moments_of(struck);
            for device in &struck.devices {
                standing.stopped[device.index()] |= SimTime::ZERO.saturating_add(struck.at) <= at;
                standing.down[device.index()] |= down <= at;
                standing.out[device.index()] |= out.is_some_and(|out| out <= at);
            }
        }
        standing
    }

    /// Runs it.
    ///
    /// # Errors
    /// When the model fails.
    pub fn run<S: Simulator>(&self, simulator: &S) -> Result<Recovered, RecoveryError> {
        let mut ledger = Ledger::new(self.affected, self.hardware, self.rules);
        let mut found = self.nothing();
        let moments = self.moments();
        for (at, &moment) in moments.iter().enumerate() {
            let next = moments.get(at + 1).copied();
            let held =
                self.used.iter().zip(ledger.gained()).map(|(used, gained)| used.saturating_add(*gained));
            let mut standing = self.standing(moment, held.collect());
            ledger.strike(&standing);
            let planned = ledger.plan(&mut standing);
            found.below_min_size = found.below_min_size.max(planned.below_min_size);
            found.below.push((moment, planned.below_min_size));
            found.stuck = planned.stuck;
            // What an earlier phase left is planned anew, or stuck now.
            found.unfinished = 0;
            let sound = |(used, stopped): (&u64, &bool)| if *stopped { 0 } else { *used };
            found.fill = standing.used.iter().zip(&standing.stopped).map(sound).collect();
            assert!(planned.stuck.objects() <= ledger.lacking(), "more is stuck than lacks a copy");
            if !planned.jobs.is_empty() {
                let phase = Phase { from: moment, until: next };
                self.phase(&mut ledger, &planned, &standing, phase, &mut found, simulator)?;
            }
            if found.partial {
                break;
            }
        }
        if !found.partial {
            accounted(ledger.lacking(), found.stuck)?;
        }
        found.assert_adds_up();
        if self.quiet && found.clients.is_some() && !found.partial {
            self.quiet(&mut found, simulator)?;
        }
        Ok(found)
    }

    /// The clients of the disks that `works` names.
    fn clients(&self, works: impl Fn(DeviceId) -> bool) -> Option<Clients> {
        Clients::new(self.clients?, self.hardware, works)
    }

    /// What clients wait when nothing is rebuilt, for comparison: for as long as the transfers took, or less
    /// where that says enough.
    fn quiet<S: Simulator>(&self, found: &mut Recovered, simulator: &S) -> Result<(), RunError> {
        let Some(load) = self.clients else { return Ok(()) };
        let mut plan = Plan::new();
        (0..self.hardware.devices()).for_each(|_| plan.next_driver());
        let clients = self.clients(|device| !self.down.contains(&device));
        let model = Rebuild::new(self.hardware, &plan, self.limits).with_clients(clients);
        let seed = simulator.seed().part(found.digests.len() as u32);
        let enough = SimSpan::from_ns_f64_floor(QUIET_OPERATIONS * load.rate.mean_gap_ns_f64());
        let end = SimTime::ZERO.saturating_add(enough.min(found.moving));
        let run = simulator.run_model(&model, seed, Some(end))?;
        found.events += run.run.committed;
        found.digests.push(run.digest);
        found.partial |= run.partial;
        let counts: Counts = run.merged_statistics();
        if let (Some(waited), Some(quiet)) = (&mut found.clients, counts.clients) {
            waited.quiet = *quiet;
        }
        Ok(())
    }

    fn nothing(&self) -> Recovered {
        Recovered {
            first_transfer: SimTime::MAX,
            moving: SimSpan::ZERO,
            last_write: SimTime::ZERO,
            last_by_spare: [None; SPARES],
            stuck: Stuck::default(),
            bytes: 0,
            jobs: 0,
            progress: Vec::new(),
            unfinished: 0,
            bound: SimSpan::ZERO,
            ideal: SimSpan::ZERO,
            work: Work::none(self.hardware),
            disks: vec![(SimSpan::ZERO, 0, 0); self.hardware.devices() as usize],
            cards: vec![[Busy::default(); 2]; self.hardware.servers() as usize],
            uplinks: vec![[SimSpan::ZERO; 2]; self.hardware.racks() as usize],
            reserving: SimSpan::ZERO,
            sleeping: SimSpan::ZERO,
            drivers: 0,
            below: Vec::new(),
            below_min_size: 0,
            fill: Vec::new(),
            digests: Vec::new(),
            events: 0,
            partial: false,
            clients: None,
        }
    }

    /// The transfers from one moment to the next.
    fn phase<S: Simulator>(
        &self,
        ledger: &mut Ledger<'_>,
        planned: &Planned,
        standing: &Standing,
        phase: Phase,
        found: &mut Recovered,
        simulator: &S,
    ) -> Result<(), RunError> {
        let Phase { from, until } = phase;
        assert!(until.is_none_or(|until| until > from), "a phase ends before it begins");
        let model = Rebuild::new(self.hardware, &planned.plan, self.limits)
            .with_dead(standing.stopped.clone())
            .with_clients(self.clients(|device| !standing.stopped[device.index()]));
        let span = until.map(|until| SimTime::ZERO.saturating_add(until.since(from)));
        // Each phase counts from zero, so it has draws of its own.
        let seed = simulator.seed().part(found.digests.len() as u32);
        let run = simulator.run_model(&model, seed, span)?;
        found.first_transfer = found.first_transfer.min(from);
        found.events += run.run.committed;
        found.digests.push(run.digest);
        found.partial |= run.partial;
        let progress = progress(self.hardware, planned, &run);
        let units = |job: u32| self.hardware.units(planned.plan.job(job).bytes);
        let work = Work::of(self.hardware, self.limits, &planned.plan, |job| match progress[job as usize] {
            Progress::Whole => units(job),
            Progress::Units(durable) => durable,
        });
        let (bound, ideal) = (work.bound(), work.ideal(&Survivors::of(self.hardware, &standing.stopped)));
        assert!(ideal <= bound, "what is even takes {ideal}, longer than the busiest device with {bound}");
        found.bound = found.bound.saturating_add(bound);
        found.ideal = found.ideal.saturating_add(ideal);
        found.work.add(&work);
        found.unfinished = (0..)
            .zip(planned.plan.jobs())
            .filter(|(number, _)| progress[*number] != Progress::Whole)
            .map(|(_, job)| job.bytes.saturating_mul(planned.plan.writes(job).len() as u64))
            .fold(0, u64::saturating_add);
        found.take(self.hardware, &planned.plan, &run, from, span);
        let drives = |device: &u32| !planned.plan.tasks_of(DeviceId(*device)).is_empty();
        found.drivers = found.drivers.max((0..self.hardware.devices()).filter(drives).count() as u64);
        ledger.settle(planned, |job| progress[job as usize]);
        Ok(())
    }
}

/// From one moment at which something changes to the next; the last one has no end.
#[derive(Clone, Copy)]
struct Phase {
    from: SimTime,
    until: Option<SimTime>,
}

/// In the end every object is whole again or told as lost or stuck: what the ledger still lacks is what the
/// last plan left out.
fn accounted(lacking: u64, stuck: Stuck) -> Result<(), RecoveryError> {
    let told = stuck.objects();
    if lacking == told { Ok(()) } else { Err(RecoveryError::Unaccounted { lacking, told }) }
}

impl Recovered {
    /// What was counted in several ways is counted alike.
    ///
    /// # Panics
    /// When it is not.
    pub fn assert_adds_up(&self) {
        let over_time: u64 = self.progress.iter().map(|(_, bytes)| bytes).sum();
        assert_eq!(self.bytes, over_time, "bytes finished in all, and over time");
        assert!(
            u128::from(self.bytes) <= self.work.bytes,
            "{} bytes are done of {}",
            self.bytes,
            self.work.bytes
        );
        let moments = self.progress.windows(2).all(|pair| pair[0].0 <= pair[1].0);
        assert!(moments, "bytes were finished before others that were counted earlier");
        let last = self.last_by_spare.iter().flatten().max().copied().unwrap_or_default();
        assert_eq!(last, self.last_write, "the last write, and the last by what was to spare");
        assert!((self.jobs == 0) == (self.bytes == 0), "{} jobs have {} bytes", self.jobs, self.bytes);
        assert!(self.ideal <= self.bound, "what is even takes {}, of {}", self.ideal, self.bound);
        assert!(self.bound <= self.moving, "a bound of {} is beaten with {}", self.bound, self.moving);
        let peak = self.below.iter().map(|(_, records)| *records).max().unwrap_or_default();
        assert!(
            self.below_min_size <= peak,
            "{} are below min_size, and {peak} over time",
            self.below_min_size
        );
        let sent: u64 = self.cards.iter().map(|card| card[0].bytes).sum();
        let received: u64 = self.cards.iter().map(|card| card[1].bytes).sum();
        assert!(received <= sent, "{received} bytes are received of {sent} that were sent");
    }

    fn take(
        &mut self,
        hardware: &Hardware,
        plan: &Plan,
        run: &Run<Rebuild<'_>>,
        from: SimTime,
        end: Option<SimTime>,
    ) {
        let counts: Counts = run.merged_statistics();
        let ended = over(run, &counts, end);
        // What a queue would have done after the end of the phase, it has not done; and clients who are still
        // there when all is rebuilt do not count.
        let done = |lane: Lane| lane.busy.saturating_sub(lane.idle_at.max(ended).since(ended));
        self.moving = self.moving.saturating_add(ended.since(SimTime::ZERO));
        self.bytes += counts.bytes;
        self.jobs += counts.jobs;
        self.reserving = self.reserving.saturating_add(counts.reserving);
        self.sleeping = self.sleeping.saturating_add(counts.sleeping);
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
            // Their answers may come after the last write.
            let after = |at: SimTime| from.saturating_add(at.since(SimTime::ZERO));
            waited.over_time.extend(clients.over_time.ends().map(|(at, counts)| (after(at), *counts)));
        }
        let mut below = self.below.last().map_or(0, |last| last.1);
        for (at, restored) in counts.restored.ends() {
            below = below.saturating_sub(*restored);
            self.below.push((later(at), below));
        }
        self.progress.push((from, 0));
        self.progress.extend(counts.progress.ends().map(|(at, bytes)| (later(at), *bytes)));
        self.progress.push((later(ended), 0));
        let busy = |lane: Lane, bytes: u64| Busy { span: done(lane), bytes };
        let add = |to: &mut Busy, more: Busy| {
            to.span = to.span.saturating_add(more.span);
            to.bytes += more.bytes;
        };
        for (number, entity) in (0u32..).zip(&run.entities) {
            match entity {
                Entity::Server(server) => {
                    let card = &mut self.cards[number as usize];
                    add(&mut card[0], busy(server.out.lane, server.sent));
                    add(&mut card[1], busy(server.inward.lane, server.received));
                    for (id, device) in hardware.devices_of(number).zip(&server.devices) {
                        self.reserving = self.reserving.saturating_add(waits_on(device, plan, ended));
                        self.sleeping = self.sleeping.saturating_add(rests_on(device, ended));
                        let disk = &mut self.disks[id.index()];
                        disk.0 = disk.0.saturating_add(done(device.disk.lane));
                        disk.1 += device.read;
                        disk.2 += device.written;
                    }
                }
                Entity::Monitor { .. } => {}
                Entity::Rack(seen) => {
                    let rack = &mut self.uplinks[(number - hardware.servers()) as usize];
                    for (mine, way) in rack.iter_mut().zip(Way::BOTH) {
                        *mine = mine.saturating_add(done(*seen.uplink.lane(way)));
                    }
                }
            }
        }
    }
}

/// When a phase was over: by the time up to which all has happened, and by the moment that cuts it short.
fn over(run: &Run<Rebuild<'_>>, counts: &Counts, cut: Option<SimTime>) -> SimTime {
    let ended = ended(run, counts, cut);
    assert!(ended <= run.now || run.pending == 0, "a phase ends at {ended}, and now is {}", run.now);
    assert!(cut.is_none_or(|cut| ended <= cut), "a phase ends at {ended}, after it is cut short");
    ended
}

/// When a phase was over: when it was cut short, if something was still to be done and under way; else when
/// the last thing had been done.
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
        // What is left waits for somebody who does not answer; others may have units of it that are durable.
        let disks = servers().flat_map(|server| &server.devices).map(|device| device.disk.lane.idle_at);
        return disks.fold(last, SimTime::max).min(now);
    }
    last
}

/// How long the tasks of a device have waited for reservations that they do not have when the phase ends.
fn waits_on(device: &Device, plan: &Plan, ended: SimTime) -> SimSpan {
    let waits = |active: &&Active| (active.reserved as usize) < plan.reserves(plan.task(active.task)).len();
    let since = |active: &Active| ended.checked_since(active.since).unwrap_or_default();
    device.active.iter().filter(waits).map(since).fold(SimSpan::ZERO, SimSpan::saturating_add)
}

/// How long a device has rested, with work left, when the phase ends.
fn rests_on(device: &Device, ended: SimTime) -> SimSpan {
    let since = device.asleep.filter(|_| device.is_unfinished());
    since.and_then(|since| ended.checked_since(since)).unwrap_or_default()
}

/// How far each job is when a phase has ended.
fn progress(hardware: &Hardware, planned: &Planned, run: &Run<Rebuild<'_>>) -> Vec<Progress> {
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
        // All units of a job go through the same queues, so they become durable in their order.
        let units = hardware.units(planned.plan.job(slot.job).bytes);
        assert!(slot.left > 0 && slot.left <= units, "{} of {units} units of a job are left", slot.left);
        let open = all[slot.job as usize] == Progress::Whole;
        assert!(open, "job {} is in a slot and has not begun, or is in two", slot.job);
        all[slot.job as usize] = Progress::Units(units - slot.left);
    }
    all
}

#[cfg(test)]
mod tests;
