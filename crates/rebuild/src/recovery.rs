//! From the first failure to the last durable write: the sequence of moments, and the runs of the model
//! between them.
//!
//! A failure is a moment at which devices stop; after a detection time the cluster knows; after a further
//! time the devices are marked out, and their data are rebuilt elsewhere. Each of these moments ends the
//! transfers in progress and makes a new plan: what is durable stays, and unfinished objects continue from
//! their last durable unit if their targets are unchanged.

mod other_maps;
mod pgp_steps;
mod taken;

use std::collections::{BTreeMap, BTreeSet};

use towtank_kernel::{Outcome as Run, RunError, Simulator};
use towtank_units::{SimSpan, SimTime};

use self::pgp_steps::{Ahead, Course, Next};
pub use self::pgp_steps::{Manager, Stepped, Steps};
use crate::affected::Affected;
use crate::bound::{Survivors, Work};
use crate::failures::Struck;
use crate::flags::FlagsOverTime;
use crate::hardware::Hardware;
use crate::in_all::InAll;
use crate::ledger::{LEADS_MOST, Ledger, Planned, Progress, Rules, Short, Standing, Stuck, ToEach, Writes};
use crate::model::{Arrivals, Clients, Counts, Latencies, Limits, Load, Rebuild, SPARES};
use crate::plan::{DeviceId, Plan};
use crate::targets::Targets;

/// The maximum number of client operations simulated without a rebuild: enough for a 99th percentile.
const QUIET_OPERATIONS: f64 = 20_000.0;

/// Why a recovery has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecoveryError {
    /// The kernel could not run the model, or the model failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// An object is neither complete at the end nor counted as lost or stuck.
    #[error("at the end {lacking} objects lack a copy or shard, but {counted} are counted as lost or stuck")]
    Unaccounted {
        /// Objects that lack a copy or shard.
        lacking: u64,
        /// Objects counted as lost or stuck.
        counted: u64,
    },
}

/// How a failure is detected, and when its devices are marked out.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// Time until it is detected.
    pub detection: SimSpan,
    /// Time from detection until its devices are out.
    pub down_out: SimSpan,
    /// Time from then until the first object can move: the new map, peering and reservations.
    pub peering: SimSpan,
    /// Devices are never marked out.
    pub noout: bool,
    /// Whether whole racks are marked out too.
    pub rack_out: bool,
}

impl Waiting {
    /// The time until a failure is detected, and from then until its devices are out, where it may have been
    /// known for some time that they are down.
    #[must_use]
    pub fn of(self, down_for: Option<SimSpan>) -> [SimSpan; 2] {
        match down_for {
            None => [self.detection, self.down_out],
            Some(since) => [SimSpan::ZERO, self.down_out.saturating_sub(since)],
        }
    }
}

/// What happens after the beginning, besides failures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Later {
    /// When the map changes again, in order.
    pub changes: Vec<SimTime>,
    /// Changes after these that the manager makes in steps.
    pub steps: Option<Steps>,
    /// Devices that failed and come back, in order.
    pub returns: Vec<Return>,
    /// What clients write while devices are away.
    pub writes: Writes,
    /// Flags of the cluster that keep something from happening.
    pub flags: FlagsOverTime,
}

impl Later {
    /// Nothing but failures happens.
    pub const NOTHING: &Later = &Later {
        changes: Vec::new(),
        steps: None,
        returns: Vec::new(),
        writes: Writes { to_each: ToEach::PerSecond(0.0), log: 0, leads_most: LEADS_MOST, size: None },
        flags: FlagsOverTime::NEVER,
    };
}

/// Devices that failed and come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Return {
    /// When they do.
    pub at: SimTime,
    /// The devices. Those that were down before any failure stay down, and are given up as if nothing came
    /// back.
    pub devices: Vec<DeviceId>,
    /// Whether they come back without their data.
    pub empty: bool,
}

/// The input of a recovery.
#[derive(Clone)]
pub struct Recovery<'a> {
    /// The machines.
    pub hardware: &'a Hardware,
    /// Limits on concurrency and rates.
    pub limits: &'a Limits,
    /// The affected records.
    pub affected: &'a Affected,
    /// What fails.
    pub struck: &'a [Struck],
    /// What happens later.
    pub later: &'a Later,
    /// The delays between a failure and its rebuild.
    pub waiting: Waiting,
    /// How plans are made.
    pub rules: Rules,
    /// Devices that were down before any failure: they hold nothing, and are marked out only if they fail
    /// too. Empty if there are none.
    pub down: Vec<DeviceId>,
    /// Bytes on each device before any failure.
    pub used: Vec<u64>,
    /// The most bytes that each device may hold.
    pub limit: Vec<u64>,
    /// The load of clients during the rebuild.
    pub clients: Option<Load>,
    /// Whether clients are also run without a rebuild, for comparison.
    pub quiet: bool,
}

/// Latencies of clients.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Waited {
    /// Before any failure.
    pub quiet: Latencies,
    /// During the rebuild.
    pub during: Latencies,
    /// How long clients were simulated before any failure.
    pub quiet_span: SimSpan,
    /// How long they were during the rebuild.
    pub during_span: SimSpan,
    /// The latter by reply time: the end of a bin, and for reads and writes their number and the sum of their
    /// nanoseconds.
    pub over_time: Vec<(SimTime, [(u64, u64); 2])>,
}

/// The usage of one resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Busy {
    /// Busy time.
    pub span: SimSpan,
    /// Bytes transferred.
    pub bytes: u64,
}

/// The result of a recovery.
#[derive(Debug)]
pub struct Recovered {
    /// When the first transfer could begin.
    pub first_transfer: SimTime,
    /// How long something moved, or slept before it moved on: all phases, without the time between them.
    pub moving: SimSpan,
    /// When the last write was durable; zero if there was none.
    pub last_write: SimTime,
    /// When the last copies counted again that devices came back with and nothing was written to, by the
    /// number that their records had to spare before. The last row is for those that lacked nothing: they
    /// move.
    pub taken_back: [Option<SimTime>; SPARES],
    /// When copies that were under way were last dropped, since a change had made them needless, and nothing
    /// else was left to do.
    pub dropped: Option<SimTime>,
    /// Copies of objects that devices came back with, in groups that took no writes while they were away.
    pub unwritten: u64,
    /// The last write of objects, by the number of copies or shards to spare.
    pub last_by_spare: [Option<SimTime>; SPARES],
    /// What could not be rebuilt in the end.
    pub stuck: Stuck,
    /// Bytes of finished jobs.
    pub bytes: u64,
    /// Finished jobs.
    pub jobs: u64,
    /// Where they were written.
    pub targets: Targets,
    /// Jobs begun over time, where groups have one object in progress: (end of a bin, jobs).
    pub begun: Vec<(SimTime, u64)>,
    /// Bytes finished over time: (end of a bin, bytes).
    pub progress: Vec<(SimTime, u64)>,
    /// The same by priority, with the rows of `last_by_spare`: only where records follow a changed map.
    pub progress_by_spare: [Vec<(SimTime, u64)>; SPARES],
    /// When groups were last complete: by their number, and the copies or shards that they had to spare; only
    /// where the rules ask for it. What has no room at first is planned again, so that a group may be
    /// complete several times.
    pub completed: BTreeMap<(u32, u8), SimTime>,
    /// Bytes that the last phase planned and did not finish.
    pub unfinished: u64,
    /// The bound, summed over phases.
    pub bound: SimSpan,
    /// The ideal, summed over phases.
    pub ideal: SimSpan,
    /// The work of devices in all phases, for the units that became durable.
    pub work: Work,
    /// When each disk last read or wrote something of it; none where it did nothing. Where there are clients
    /// it is their last request.
    pub last_on: Vec<Option<SimTime>>,
    /// For each disk, its busy time, and the bytes read and written.
    pub disks: Vec<(SimSpan, u64, u64)>,
    /// For each server's NIC, sending and receiving.
    pub cards: Vec<[Busy; 2]>,
    /// For each server, the time from the begin of a phase until its NIC has sent and received all of it,
    /// summed over phases. If there are clients, it covers their messages too.
    pub active: Vec<SimSpan>,
    /// For each rack's uplink, busy time up and down.
    pub uplinks: Vec<[SimSpan; 2]>,
    /// Time spent waiting for reservations.
    pub reserving: SimSpan,
    /// Time for which groups had all their reservations, summed over them.
    pub copying: SimSpan,
    /// How often a group was copied to its end.
    pub copied: u64,
    /// Time spent sleeping.
    pub sleeping: SimSpan,
    /// Time for which work items waited for those of other groups.
    pub idling: SimSpan,
    /// For each device and shard of a queue, the longest time that the limit of a flow takes for its steps,
    /// summed over phases.
    pub limited: BTreeMap<(DeviceId, u32), SimSpan>,
    /// Devices that drove something.
    pub drivers: u64,
    /// Records below min_size over time: (from when, number).
    pub below: Vec<(SimTime, u64)>,
    /// The largest number of records below min_size.
    pub below_min_size: u64,
    /// Where records are groups: those that lacked a part at the beginning, and after each failure.
    pub short: Vec<(SimTime, Vec<Short>)>,
    /// Bytes on each working device in the end, with what is planned for it.
    pub fill: Vec<u64>,
    /// Digests of all phases.
    pub digests: Vec<towtank_kernel::Digest>,
    /// Events of all phases.
    pub events: u64,
    /// Whether a phase ended before all of its transfers, because something else happened.
    pub interrupted: bool,
    /// Whether a run was stopped early.
    pub partial: bool,
    /// Latencies of clients, if there are clients.
    pub clients: Option<Waited>,
    /// When the objects of each step of the manager could move.
    pub steps: Vec<SimTime>,
    /// Maps on the way to its target that it never made.
    pub maps_left: u32,
    /// What the objects stand for, where objects were left out.
    pub(crate) in_all: Option<InAll>,
}

impl Recovery<'_> {
    /// Every moment at which something changes, in order.
    pub(crate) fn moments(&self) -> Vec<SimTime> {
        let mut moments = BTreeSet::new();
        if self.affected.follows {
            // The map has changed, so copies that are left move from the beginning.
            moments.insert(SimTime::ZERO);
        }
        for struck in self.struck {
            let (down, out) = self.moments_of(struck);
            moments.insert(SimTime::ZERO.saturating_add(struck.at));
            moments.extend(down);
            moments.extend(out);
        }
        moments.extend(&self.later.changes);
        // Flags of the beginning count at the first moment, whenever that is.
        let flags = self.later.flags.changes.iter().map(|(at, _)| *at);
        moments.extend(flags.filter(|at| *at > SimTime::ZERO));
        moments.extend(self.later.returns.iter().map(|back| back.at));
        moments.into_iter().collect()
    }

    /// When a failure is detected, and when its data begin to be rebuilt elsewhere, because its devices have
    /// been marked out; none where a flag keeps it from happening.
    #[must_use]
    pub fn moments_of(&self, struck: &Struck) -> (Option<SimTime>, Option<SimTime>) {
        let flags = &self.later.flags;
        let [detection, down_out] = self.waiting.of(struck.down_for);
        let missed = SimTime::ZERO.saturating_add(struck.at).saturating_add(detection);
        let was_down =
            struck.down_for.is_some() || struck.devices.iter().all(|device| self.down.contains(device));
        let found = match was_down {
            true => Some(missed),
            false => flags.first_without(missed, |flags| flags.no_down),
        };
        // A device that boots is known to have been down, whatever the flags are.
        let booted = self.boots(struck).map(|at| SimTime::from_ns(at.as_ns().saturating_sub(1)));
        let down = found.into_iter().chain(booted).min();
        let stays = self.waiting.noout || struck.noout || (struck.rack && !self.waiting.rack_out);
        let due = down.filter(|_| !stays).map(|down| down.saturating_add(down_out));
        let out = due.and_then(|due| flags.first_without(due, |flags| flags.no_out));
        (down, out.map(|out| out.saturating_add(self.waiting.peering)))
    }

    /// When all devices of a failure have booted again, at once.
    fn boots(&self, struck: &Struck) -> Option<SimTime> {
        let failed = SimTime::ZERO.saturating_add(struck.at);
        let all = |back: &&Return| struck.devices.iter().all(|device| back.devices.contains(device));
        self.later.returns.iter().filter(all).map(|back| back.at).filter(|at| *at > failed).min()
    }

    fn standing(&self, at: SimTime, used: Vec<u64>) -> Standing {
        let mut standing = Standing {
            stopped: vec![false; self.hardware.devices() as usize],
            down: vec![false; self.hardware.devices() as usize],
            out: vec![false; self.hardware.devices() as usize],
            used,
            limit: self.limit.clone(),
            flags: self.later.flags.at(at),
        };
        for device in &self.down {
            standing.stopped[device.index()] = true;
            standing.down[device.index()] = true;
        }
        for struck in self.struck {
            let (down, out) = self.moments_of(struck);
            let back = |device: &DeviceId| {
                let is = |back: &Return| back.at <= at && back.devices.contains(device);
                !self.down.contains(device) && self.later.returns.iter().any(is)
            };
            for device in struck.devices.iter().filter(|device| !back(device)) {
                standing.stopped[device.index()] |= SimTime::ZERO.saturating_add(struck.at) <= at;
                standing.down[device.index()] |= down.is_some_and(|down| down <= at);
                standing.out[device.index()] |= out.is_some_and(|out| out <= at);
            }
        }
        standing
    }

    /// Whether a device has stopped at a moment that is not known to be down.
    fn has_unnoticed(&self, at: SimTime) -> bool {
        let standing = self.standing(at, Vec::new());
        standing.stopped != standing.down
    }

    /// Runs the recovery.
    ///
    /// # Errors
    /// If the model fails.
    pub fn run<S: Simulator>(&self, simulator: &S) -> Result<Recovered, RecoveryError> {
        self.run_before(None, simulator)
    }

    /// Runs the part of the recovery before a time: to compare it with that of another one.
    ///
    /// # Errors
    /// If the model fails.
    pub fn run_until<S: Simulator>(&self, end: SimTime, simulator: &S) -> Result<Recovered, RecoveryError> {
        self.run_before(Some(end), simulator)
    }

    fn run_before<S: Simulator>(
        &self,
        end: Option<SimTime>,
        simulator: &S,
    ) -> Result<Recovered, RecoveryError> {
        if let Some(affected) = self.affected.laid_out() {
            return Recovery { affected: &affected, ..self.clone() }.run_before(end, simulator);
        }
        let returns = !self.later.returns.is_empty();
        let mut ledger = Ledger::new(self.affected, self.hardware, self.rules)
            .with_returns(returns.then_some(self.later.writes));
        let mut found = self.nothing();
        let mut last = SimTime::ZERO;
        let mut manager = self.later.steps.as_ref().map(Course::of);
        let mut moments: BTreeSet<SimTime> = self.moments().into_iter().collect();
        moments.retain(|moment| end.is_none_or(|end| *moment < end));
        while let Some(moment) = moments.pop_first() {
            let next = moments.first().copied().or(end);
            let mut standing = self.strike(&mut ledger, moment);
            let changes = self.later.changes.iter().filter(|change| **change <= moment).count();
            let maps = manager.as_ref().map_or(0, |manager| manager.maps_at(moment));
            let planned = ledger.plan(&mut standing, changes + maps);
            let again = ledger.taken_back();
            for (last, _) in found.taken_back.iter_mut().zip(again).filter(|(_, again)| *again) {
                *last = Some(moment);
            }
            found.unwritten = ledger.unwritten();
            found.below_min_size = found.below_min_size.max(planned.below_min_size);
            found.below.push((moment, planned.below_min_size));
            self.note_short((&ledger, &standing), moment, &mut found);
            found.stuck = planned.stuck;
            if found.unfinished > 0 && planned.jobs.is_empty() {
                found.dropped = Some(moment);
            }
            // What an earlier phase left unfinished is planned anew, or is stuck or needless now.
            found.unfinished = 0;
            if let Some(all) = &mut found.in_all {
                all.unfinished = 0;
            }
            let sound = |(used, stopped): (&u64, &bool)| if *stopped { 0 } else { *used };
            found.fill = standing.used.iter().zip(&standing.stopped).map(sound).collect();
            assert!(planned.stuck.objects() <= ledger.lacking(), "more is stuck than lacks a copy");
            let phase = Phase { from: moment, until: next };
            let begun = Begun { ledger: &mut ledger, planned: &planned, standing: &standing };
            let until = self.phases(begun, (phase, &mut manager), &mut found, simulator)?;
            if found.partial {
                break;
            }
            moments.extend(until.filter(|until| end.is_none_or(|end| *until < end)));
            if let Some(next) = until {
                ledger.write(next.since(moment));
            }
            last = moment;
        }
        if let Some((steps, left)) = manager.map(Course::into_steps) {
            (found.steps, found.maps_left) = (steps, left);
        }
        if !found.partial && end.is_none() {
            if self.has_unnoticed(last) {
                // Copies from and to what has stopped without notice wait for it.
                found.stuck.waiting += ledger.lacking().saturating_sub(found.stuck.objects());
            }
            accounted(ledger.lacking(), found.stuck)?;
        }
        found.assert_adds_up();
        if self.quiet && end.is_none() && found.clients.is_some() && !found.partial {
            self.quiet(&mut found, simulator)?;
        }
        Ok(found)
    }

    /// Which groups lack a part at the beginning, and after each failure.
    fn note_short(
        &self,
        (ledger, standing): (&Ledger<'_>, &Standing),
        moment: SimTime,
        found: &mut Recovered,
    ) {
        let fails = self.struck.iter().any(|struck| SimTime::ZERO.saturating_add(struck.at) == moment);
        if self.affected.grouped && (fails || found.short.is_empty()) {
            found.short.push((moment, ledger.short(standing)));
        }
    }

    /// What fails and comes back at a moment, and how the devices stand then.
    fn strike(&self, ledger: &mut Ledger<'_>, moment: SimTime) -> Standing {
        let standing = self.standing(moment, ledger.used(&self.used));
        ledger.strike(&standing);
        for back in self.later.returns.iter().filter(|back| back.at == moment) {
            let serves = |device: &&DeviceId| !standing.down[device.index()];
            let devices: Vec<DeviceId> = back.devices.iter().filter(serves).copied().collect();
            ledger.come_back(&devices, back.empty);
        }
        standing
    }

    /// The clients of the disks for which `works` is true.
    fn clients(&self, works: impl Fn(DeviceId) -> bool) -> Option<Clients> {
        Clients::new(self.clients?, self.hardware, works)
    }

    /// Latencies of clients without a rebuild, for comparison: over the duration of the transfers, or less if
    /// that is long enough.
    fn quiet<S: Simulator>(&self, found: &mut Recovered, simulator: &S) -> Result<(), RunError> {
        let Some(load) = self.clients else { return Ok(()) };
        let mut plan = Plan::new().of_groups(self.affected.grouped);
        (0..self.hardware.devices()).for_each(|_| plan.next_driver());
        let clients = self.clients(|device| !self.down.contains(&device));
        let model = Rebuild::new(self.hardware, &plan, self.limits).after(found.bytes).with_clients(clients);
        let seed = simulator.seed().part(found.digests.len() as u32);
        let gap = match load.arrivals {
            Arrivals::Open(rate) => rate.mean_gap_ns_f64(),
            Arrivals::Closed(_) => found.client_gap_ns(),
        };
        let enough = SimSpan::from_ns_f64_floor(QUIET_OPERATIONS * gap);
        let end = SimTime::ZERO.saturating_add(enough.min(found.moving));
        let run = simulator.run_model(&model, seed, Some(end))?;
        found.events += run.run.committed;
        found.digests.push(run.digest);
        found.partial |= run.partial;
        let counts: Counts = run.merged_statistics();
        if let (Some(waited), Some(quiet)) = (&mut found.clients, counts.clients) {
            waited.quiet = *quiet;
            waited.quiet_span = end.since(SimTime::ZERO);
        }
        Ok(())
    }

    fn nothing(&self) -> Recovered {
        Recovered {
            first_transfer: SimTime::MAX,
            moving: SimSpan::ZERO,
            last_write: SimTime::ZERO,
            taken_back: [None; SPARES],
            dropped: None,
            unwritten: 0,
            last_by_spare: [None; SPARES],
            stuck: Stuck::default(),
            bytes: 0,
            jobs: 0,
            targets: Targets::none(self.hardware.devices()),
            begun: Vec::new(),
            progress: Vec::new(),
            progress_by_spare: Default::default(),
            completed: BTreeMap::new(),
            unfinished: 0,
            bound: SimSpan::ZERO,
            ideal: SimSpan::ZERO,
            work: Work::none(self.hardware),
            last_on: vec![None; self.hardware.devices() as usize],
            disks: vec![(SimSpan::ZERO, 0, 0); self.hardware.devices() as usize],
            cards: vec![[Busy::default(); 2]; self.hardware.servers() as usize],
            active: vec![SimSpan::ZERO; self.hardware.servers() as usize],
            uplinks: vec![[SimSpan::ZERO; 2]; self.hardware.racks() as usize],
            reserving: SimSpan::ZERO,
            copying: SimSpan::ZERO,
            copied: 0,
            sleeping: SimSpan::ZERO,
            idling: SimSpan::ZERO,
            limited: BTreeMap::new(),
            drivers: 0,
            below: Vec::new(),
            below_min_size: 0,
            short: Vec::new(),
            fill: Vec::new(),
            digests: Vec::new(),
            events: 0,
            interrupted: false,
            partial: false,
            // There may be nothing that they could ask for.
            clients: self.clients.is_some().then(Default::default),
            steps: Vec::new(),
            maps_left: 0,
            in_all: self.affected.is_thinned().then(|| InAll::none(self.hardware)),
        }
    }

    /// The transfers from one moment to the next, or up to a step of the manager before that. Returns when
    /// it ends, if it does.
    fn phases<S: Simulator>(
        &self,
        begun: Begun<'_, '_>,
        (phase, manager): (Phase, &mut Option<Course<'_>>),
        found: &mut Recovered,
        simulator: &S,
    ) -> Result<Option<SimTime>, RunError> {
        let (planned, standing) = (begun.planned, begun.standing);
        let Phase { from, until } = phase;
        let empty = planned.jobs.is_empty();
        let Some(manager) = manager.as_mut().filter(|manager| manager.is_left()) else {
            if !empty {
                let run = self.simulate((planned, standing), (phase, &[]), found, simulator)?;
                self.settle(begun, (phase, &run), found);
            }
            return Ok(until);
        };
        let degraded = planned.stuck.any() || standing.stopped != standing.down;
        let mut ahead = Ahead::of((from, degraded), (self.affected, planned));
        // Most of a phase comes after the next step, so it is run up to a guess of when that is, and further
        // if it is not.
        let mut guess = manager.guess(from);
        let step = loop {
            let maps = manager.made_in(from, until);
            let part = Phase { from, until: Some(until.map_or(guess, |until| until.min(guess))) };
            if !empty {
                let run = self.simulate((planned, standing), (part, &maps), found, simulator)?;
                found.events += run.run.committed;
                if run.partial {
                    found.partial = true;
                    return Ok(None);
                }
                let counts: Counts = run.merged_statistics();
                ahead = ahead.with(&counts, part.until.filter(|_| run.pending > 0));
            }
            match manager.next(&ahead, until) {
                Next::Unknown => guess = from.saturating_add(guess.since(from).saturating_mul(2)),
                // Another change of the map may have come just then: the step comes right after it.
                Next::Moves(at) => break Some(at.max(from.saturating_add(SimSpan::from_ns(1)))),
                Next::Later => break None,
            }
        };
        let cut = Phase { from, until: step.or(until) };
        if !empty {
            let maps = manager.made_in(from, cut.until);
            let run = self.simulate((planned, standing), (cut, &maps), found, simulator)?;
            let counts: Counts = run.merged_statistics();
            ahead = ahead.with(&counts, cut.until);
            self.settle(begun, (cut, &run), found);
        }
        manager.pass(ahead, cut.until);
        Ok(cut.until)
    }

    /// Runs a phase; `maps` are those that the manager makes meanwhile.
    fn simulate<'r, S: Simulator>(
        &'r self,
        (planned, standing): (&'r Planned, &Standing),
        (phase, maps): (Phase, &[SimTime]),
        found: &Recovered,
        simulator: &S,
    ) -> Result<Run<Rebuild<'r>>, RunError> {
        let Phase { from, until } = phase;
        assert!(until.is_none_or(|until| until > from), "a phase ends before it begins");
        let model = Rebuild::new(self.hardware, &planned.plan, self.limits)
            .after(found.bytes)
            .with_dead(standing.stopped.clone())
            .with_clients(self.clients(|device| !standing.stopped[device.index()]))
            .with_changes(self.other_maps(phase, maps));
        // Each phase counts from zero, so it needs its own random draws.
        let seed = simulator.seed().part(found.digests.len() as u32);
        simulator.run_model(&model, seed, phase.span())
    }

    /// Adds what a phase did.
    fn settle(
        &self,
        Begun { ledger, planned, standing }: Begun<'_, '_>,
        (phase, run): (Phase, &Run<Rebuild<'_>>),
        found: &mut Recovered,
    ) {
        let (from, until) = (phase.from, phase.until);
        found.first_transfer = found.first_transfer.min(from);
        found.events += run.run.committed;
        found.digests.push(run.digest);
        found.partial |= run.partial;
        let progress = taken::progress(self.hardware, planned, run);
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
            .map(|(_, job)| planned.plan.bytes_over_targets(job))
            .fold(0, u64::saturating_add);
        found.take(self.hardware, &planned.plan, run, from, phase.span());
        let objects =
            |record: u32, object: u32| self.affected.stands_for_objects(record as usize, object as usize);
        found.targets.take(planned, &progress, objects);
        if let Some(all) = &mut found.in_all {
            all.take(self.affected, planned, &progress);
            found.unfinished = all.unfinished;
        }
        found.interrupted |= until.is_some() && progress.iter().any(|progress| *progress != Progress::Whole);
        let drives = |device: &u32| !planned.plan.tasks_of(DeviceId(*device)).is_empty();
        found.drivers = found.drivers.max((0..self.hardware.devices()).filter(drives).count() as u64);
        ledger.settle(planned, |job| progress[job as usize]);
    }
}

/// What a phase begins with.
struct Begun<'a, 'l> {
    ledger: &'a mut Ledger<'l>,
    planned: &'a Planned,
    standing: &'a Standing,
}

/// From one moment to the next; the last phase has no end.
#[derive(Clone, Copy)]
struct Phase {
    from: SimTime,
    until: Option<SimTime>,
}

impl Phase {
    fn span(self) -> Option<SimTime> {
        self.until.map(|until| SimTime::ZERO.saturating_add(until.since(self.from)))
    }
}

/// Checks that every object is complete or counted as lost or stuck in the end: the objects that lack a part
/// are those that the last plan left out.
fn accounted(lacking: u64, stuck: Stuck) -> Result<(), RecoveryError> {
    let counted = stuck.objects();
    if lacking == counted { Ok(()) } else { Err(RecoveryError::Unaccounted { lacking, counted }) }
}

impl Recovered {
    /// When the last copy was written, counted again on a device that came back, or was needed no more.
    #[must_use]
    pub fn last(&self) -> SimTime {
        let other = self.taken_back.iter().chain([&self.dropped]).flatten().max().copied();
        self.last_write.max(other.unwrap_or_default())
    }

    /// When the last object that lacked a copy or shard, and had at most this many to spare, was complete;
    /// none if there was none.
    #[must_use]
    pub fn until(&self, spare: usize) -> Option<SimTime> {
        self.last_by_spare[..=spare].iter().chain(&self.taken_back[..=spare]).flatten().max().copied()
    }

    /// Checks that totals counted in several ways agree.
    ///
    /// # Panics
    /// If they differ.
    pub(crate) fn assert_adds_up(&self) {
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
        let parts = self.targets.all_parts();
        assert!(parts >= self.jobs, "{} jobs are done, and {parts} copies or shards are written", self.jobs);
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
}

impl Waited {
    /// Replies per second, during the rebuild and without one.
    #[must_use]
    pub fn rates(&self) -> [Option<f64>; 2] {
        let rate = |latencies: &Latencies, span: SimSpan| {
            let replies = latencies.reads.count() + latencies.writes.count();
            (!span.is_zero()).then(|| replies as f64 / span.as_secs_f64())
        };
        [rate(&self.during, self.during_span), rate(&self.quiet, self.quiet_span)]
    }
}

impl Recovered {
    /// The mean time from one reply of a client to the next; that of all of the rebuild if there was none.
    fn client_gap_ns(&self) -> f64 {
        let rate = self.clients.as_ref().and_then(|waited| waited.rates()[0]).filter(|rate| *rate > 0.0);
        rate.map_or(self.moving.as_ns() as f64, |rate| 1e9 / rate)
    }
}

#[cfg(test)]
mod tests;
