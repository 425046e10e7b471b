//! A system at an instant, and what happens to it next. Every part has the time at which it fails, drawn from
//! its law given its age; repairs end by their work and pace. The loss is found when it happens.

mod calendar;
mod exposure;

pub(crate) use calendar::Calendar;
pub(crate) use exposure::Exposure;

use towtank_streams::{Draws, Purpose, Uniform};

use crate::fleet::{LossRule, Part, System};
use crate::repair::{Job, Repair, STAGES_MAX, Stages};

const LIVES: Purpose = Purpose(0x6c69_7665);
const REPAIRS: Purpose = Purpose(0x7265_7061);
const READS: Purpose = Purpose(0x7265_6164);

/// What lost data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Failures of devices alone.
    Devices,
    /// Failures of which at least one ruined a domain.
    Domain,
    /// An unreadable place, when nothing more could be lost.
    Unreadable,
}

/// The first loss of a course of events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Loss {
    /// The lost group with the lowest number.
    pub(crate) group: usize,
    /// Groups that are lost in this event.
    pub(crate) groups: usize,
    pub(crate) cause: Cause,
}

/// What happened in one event.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Happened {
    pub(crate) loss: Option<Loss>,
    /// The degree of damage that a group reached by this event; 0 where none became worse.
    pub(crate) reached: usize,
}

/// What is next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Next {
    Failure(usize),
    Repair(usize),
    Return(usize),
}

/// A system at an instant.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) now_h: f64,
    /// When each part fails; infinite for a failed one.
    pub(crate) calendar: Calendar,
    born_h: Vec<f64>,
    pub(crate) is_bad: Vec<bool>,
    is_ruined: Vec<bool>,
    /// How many of its members a group misses.
    pub(crate) exposure: Exposure,
    /// For each pair of device and group, how exposed the group was when the device failed; 0 where it is not
    /// missed.
    degree: Vec<u8>,
    pub(crate) jobs: Vec<Job>,
    /// How many domains of each device are out.
    away: Vec<u8>,
    /// Outages under way: their ends and domains.
    outages: Vec<(f64, usize)>,
    /// Groups that are rebuilt whole.
    whole: usize,
    /// The density of this course, divided by that with which it is drawn.
    pub(crate) weight: f64,
    /// The probability with which an unreadable place is drawn; the true one if it is none.
    pub(crate) unreadable_as: Option<f64>,
}

impl State {
    /// All parts good, with the ages of the fleet. When they fail is not drawn yet.
    pub(crate) fn new(system: &System) -> State {
        let devices = system.fleet.devices.len();
        let ages = system.fleet.devices.iter().map(|device| -device.age_h);
        let born_h: Vec<f64> = ages.chain(std::iter::repeat_n(0.0, system.parts.len() - devices)).collect();
        State {
            now_h: 0.0,
            calendar: Calendar::new(system.parts.len()),
            born_h,
            is_bad: vec![false; devices],
            is_ruined: vec![false; devices],
            exposure: Exposure::new(system),
            degree: vec![0; system.all_places()],
            jobs: Vec::new(),
            away: vec![0; devices],
            outages: Vec::new(),
            whole: 0,
            weight: 1.0,
            unreadable_as: None,
        }
    }

    /// Takes over another state, without new allocations.
    pub(crate) fn copy(&mut self, other: &State) {
        self.now_h = other.now_h;
        self.calendar.copy(&other.calendar);
        self.born_h.clone_from(&other.born_h);
        self.is_bad.clone_from(&other.is_bad);
        self.is_ruined.clone_from(&other.is_ruined);
        self.exposure.copy(&other.exposure);
        self.degree.clone_from(&other.degree);
        self.jobs.clone_from(&other.jobs);
        self.away.clone_from(&other.away);
        self.outages.clone_from(&other.outages);
        self.whole = other.whole;
        self.weight = other.weight;
        self.unreadable_as = other.unreadable_as;
    }

    /// Draws anew when each good part fails, given its age.
    pub(crate) fn redraw(&mut self, system: &System, draws: &mut Draws) {
        for part in 0..system.parts.len() {
            let is_down = match system.parts[part] {
                Part::Device(device) => self.is_bad[device],
                Part::Outage(domain) => self.outages.iter().any(|(_, out)| *out == domain),
                Part::Ruin(_) => false,
            };
            let at = if is_down { f64::INFINITY } else { self.life_end(system, part, draws) };
            self.calendar.put(part, at);
        }
        self.calendar.sort();
    }

    fn life_end(&self, system: &System, part: usize, draws: &mut Draws) -> f64 {
        let hazard = draws.of(LIVES).unit_exponential();
        self.now_h + system.life(part).rest_h(self.now_h - self.born_h[part], hazard)
    }

    /// The present hazard of a part that is good.
    pub(crate) fn hazard(&self, system: &System, part: usize) -> f64 {
        system.life(part).hazard(self.now_h - self.born_h[part])
    }

    /// The hazard that a good part accumulates until a time.
    pub(crate) fn hazard_until(&self, system: &System, part: usize, until_h: f64) -> f64 {
        let life = system.life(part);
        let age = self.now_h - self.born_h[part];
        life.accumulated(age + until_h - self.now_h) - life.accumulated(age)
    }

    /// The recovery that is under way at the start begins; returns the degree of damage.
    pub(crate) fn start<R: Repair>(&mut self, system: &System, repair: &R, draws: &mut Draws) -> usize {
        let mut stage = 0;
        let mut reached = 0;
        for place in &system.lacking {
            let group = system.group_at(*place);
            let missing = self.exposure.missing(group) + 1;
            self.exposure.set_missing(system, group, missing);
        }
        for place in &system.lacking {
            let group = system.group_at(*place);
            let degree = self.degree_of(system, repair, group);
            self.degree[*place] = degree.min(255) as u8;
            stage = stage.max(degree);
            reached = reached.max(self.depth(system, group));
        }
        if stage > 0 {
            let job = Job {
                group: usize::MAX,
                domain: usize::MAX,
                is_start: true,
                ..self.job(system, system.device_at(system.lacking[0]), stage)
            };
            self.begin(system, repair, job, draws);
            repair.pace(system, &mut self.jobs);
        }
        reached
    }

    /// How exposed a group is, as a repair counts it.
    fn degree_of<R: Repair>(&self, system: &System, repair: &R, group: usize) -> usize {
        match repair.stages() {
            Stages::One => 1,
            Stages::OfGroups => self.depth(system, group),
            Stages::OfPool => self.exposure.missing(group),
        }
    }

    /// The damage of a group: those that survive all lie as deep as those that survive less with fewer lost.
    fn depth(&self, system: &System, group: usize) -> usize {
        self.exposure.missing(group) + system.tolerance_max - system.fleet.groups[group].tolerance
    }

    /// Whether the recovery at the start has not brought a place to its device yet.
    fn is_lacking(&self, system: &System, place: usize) -> bool {
        let is_left = || self.degree[place] > 0 && self.jobs.iter().any(|job| job.is_start);
        system.lacking.binary_search(&place).is_ok() && is_left()
    }

    /// Whether a device has its part of a group.
    fn holds(&self, system: &System, device: usize, group: usize) -> bool {
        let lacks = || {
            let mut own = system.lacking.iter().filter(|place| system.group_at(**place) == group);
            own.any(|place| self.is_lacking(system, *place) && system.device_at(*place) == device)
        };
        !self.is_bad[device] && !lacks()
    }

    /// When a good part has accumulated so much more hazard.
    pub(crate) fn time_of(&self, system: &System, part: usize, hazard: f64) -> f64 {
        self.now_h + system.life(part).rest_h(self.now_h - self.born_h[part], hazard)
    }

    /// The parts whose failure leads to a degree of damage, and perhaps others; `always` are those that lead
    /// there from a whole system.
    pub(crate) fn leading_to(&self, system: &System, degree: usize, always: &[usize]) -> Vec<usize> {
        let mut found: Vec<usize> = always.to_vec();
        for group in self.jobs.iter().flat_map(|job| job.places(system)).map(|place| system.group_at(place)) {
            if self.exposure.missing(group) > 0 {
                let depth = self.depth(system, group);
                let holds = |device: usize| self.holds(system, device, group);
                system.leading_from((group, depth), degree, holds, &mut found);
            }
        }
        found.sort_unstable();
        found.dedup();
        let is_good = |part: usize| self.is_bad.get(part).is_none_or(|is_bad| !is_bad);
        found.retain(|part| is_good(*part));
        found
    }

    /// What happens next, and when.
    pub(crate) fn next(&self) -> (f64, Next) {
        let (at, part) = self.calendar.next();
        let mut next = (at, Next::Failure(part));
        for (index, job) in self.jobs.iter().enumerate() {
            let end = self.now_h + job.rest_h();
            if end < next.0 {
                next = (end, Next::Repair(index));
            }
        }
        for (index, (end, _)) in self.outages.iter().enumerate() {
            if *end < next.0 {
                next = (*end, Next::Return(index));
            }
        }
        next
    }

    /// Lets time pass in which nothing ends.
    pub(crate) fn advance(&mut self, to_h: f64) {
        let span = to_h - self.now_h;
        for job in &mut self.jobs {
            if job.wait_h > 0.0 {
                // It ends by its own event, which rounding must not forestall.
                job.wait_h = (job.wait_h - span).max(f64::MIN_POSITIVE);
            } else {
                job.left_h[job.stage - 1] -= span * job.pace;
            }
        }
        self.exposure.advance(span);
        self.now_h = to_h;
    }

    /// Carries out what is next, at its time.
    pub(crate) fn perform<R: Repair>(
        &mut self,
        system: &System,
        repair: &R,
        next: Next,
        draws: &mut Draws,
    ) -> Happened {
        match next {
            Next::Failure(part) => self.fail(system, repair, part, draws),
            Next::Repair(index) => {
                self.end_of_stage(system, repair, index, draws);
                repair.pace(system, &mut self.jobs);
                Happened::default()
            }
            Next::Return(index) => {
                let (_, domain) = self.outages.swap_remove(index);
                let is_it = |part: &Part| *part == Part::Outage(domain);
                let part = system.parts.iter().position(is_it).expect("an outage is of a part");
                self.born_h[part] = self.now_h;
                let at = self.life_end(system, part, draws);
                self.calendar.set(part, at);
                for device in &system.under[domain] {
                    self.away[*device] -= 1;
                    self.show(system, *device, self.away[*device] == 0, -1);
                }
                Happened::default()
            }
        }
    }

    /// A part fails now.
    pub(crate) fn fail<R: Repair>(
        &mut self,
        system: &System,
        repair: &R,
        part: usize,
        draws: &mut Draws,
    ) -> Happened {
        match system.parts[part] {
            Part::Device(device) => self.lose(system, repair, &[device], draws),
            Part::Ruin(domain) => {
                self.born_h[part] = self.now_h;
                let at = self.life_end(system, part, draws);
                self.calendar.set(part, at);
                let happened = self.lose(system, repair, &system.under[domain], draws);
                let loss = happened.loss.map(|loss| Loss { cause: Cause::Domain.max(loss.cause), ..loss });
                Happened { loss, ..happened }
            }
            Part::Outage(domain) => {
                self.calendar.set(part, f64::INFINITY);
                let span = system.fleet.domains[domain].outage.as_ref().map(|outage| outage.span.clone());
                let end = self.now_h + span.map_or(0.0, |span| span.draw(&mut draws.of(REPAIRS)));
                self.outages.push((end, domain));
                for device in &system.under[domain] {
                    self.away[*device] += 1;
                    self.show(system, *device, self.away[*device] == 1, 1);
                }
                Happened::default()
            }
        }
    }

    /// Counts a good device as away or back, if that changed.
    fn show(&mut self, system: &System, device: usize, is_changed: bool, by: i32) {
        if is_changed && !self.is_bad[device] {
            system.places(device).for_each(|place| self.exposure.away(system, system.group_at(place), by));
        }
    }

    /// Devices lose their data.
    fn lose<R: Repair>(
        &mut self,
        system: &System,
        repair: &R,
        devices: &[usize],
        draws: &mut Draws,
    ) -> Happened {
        let mut found = Happened::default();
        let is_ruin = devices.len() > 1;
        let mut lost: Vec<usize> = Vec::new();
        let mut critical: Vec<usize> = Vec::new();
        for device in devices.iter().copied().filter(|device| !self.is_bad[*device]).collect::<Vec<_>>() {
            if self.is_bad[device] {
                continue;
            }
            self.show(system, device, self.away[device] > 0, -1);
            self.is_bad[device] = true;
            self.is_ruined[device] = is_ruin;
            self.calendar.set(device, f64::INFINITY);
            let mut stage = 1;
            for place in system.places(device) {
                let group = system.group_at(place);
                let was_lacking = self.is_lacking(system, place);
                let missing = self.exposure.missing(group) + usize::from(!was_lacking);
                self.exposure.set_missing(system, group, missing);
                self.degree[place] = self.degree_of(system, repair, group).min(255) as u8;
                stage = stage.max(usize::from(self.degree[place]));
                if was_lacking {
                    continue;
                }
                let tolerance = system.fleet.groups[group].tolerance;
                if missing == tolerance + 1 {
                    lost.push(group);
                } else if missing == tolerance && system.fleet.unreadable > 0.0 {
                    critical.push(group);
                }
            }
            let job = self.job(system, device, stage);
            self.begin(system, repair, job, draws);
            if let (LossRule::MoreGroupsThan(_), Some(group)) = (system.fleet.rule, lost.last()) {
                self.begin_whole(system, repair, *group, draws);
            }
        }
        repair.pace(system, &mut self.jobs);
        found.reached = self.damage(system, devices);
        found.loss = self.judge(system, &lost);
        if found.loss.is_none() && self.is_unreadable(system, &critical, draws) {
            found.loss = Some(Loss { group: critical[0], groups: 1, cause: Cause::Unreadable });
        }
        found
    }

    /// Whether losing these groups is a loss.
    fn judge(&self, system: &System, lost: &[usize]) -> Option<Loss> {
        let group = *lost.iter().min()?;
        if let LossRule::MoreGroupsThan(tolerance) = system.fleet.rule
            && self.whole <= tolerance
        {
            return None;
        }
        let members = &system.fleet.groups[group].devices;
        let is_ruined = members.iter().any(|device| self.is_bad[*device] && self.is_ruined[*device]);
        let cause = if is_ruined { Cause::Domain } else { Cause::Devices };
        Some(Loss { group, groups: lost.len(), cause })
    }

    /// Whether one of the groups that survive nothing more has an unreadable place.
    fn is_unreadable(&mut self, system: &System, critical: &[usize], draws: &mut Draws) -> bool {
        if critical.is_empty() {
            return false;
        }
        let chance = -libm::expm1(critical.len() as f64 * libm::log1p(-system.fleet.unreadable));
        let drawn = self.unreadable_as.map_or(chance, |drawn| drawn.max(chance));
        let is_so = draws.of(READS).unit_f64() < drawn;
        self.weight *= if is_so { chance / drawn } else { (1.0 - chance) / (1.0 - drawn).max(1e-300) };
        is_so
    }

    /// The degree of damage of the groups of these devices.
    fn damage(&self, system: &System, devices: &[usize]) -> usize {
        if let LossRule::MoreGroupsThan(tolerance) = system.fleet.rule {
            let of_group =
                |group: usize| self.exposure.missing(group).min(system.fleet.groups[group].tolerance + 1);
            let mut all: Vec<usize> = (0..system.groups()).map(of_group).collect();
            all.sort_unstable_by(|left, right| right.cmp(left));
            return all[..=tolerance].iter().sum();
        }
        let places = devices.iter().flat_map(|device| system.places(*device));
        places.map(|place| self.depth(system, system.group_at(place))).max().unwrap_or(0)
    }

    fn job(&self, system: &System, device: usize, stage: usize) -> Job {
        Job {
            device,
            group: system.group_of(device).unwrap_or(usize::MAX),
            domain: system.fleet.devices[device].domain,
            stage: stage.min(STAGES_MAX),
            top: stage.min(STAGES_MAX),
            wait_h: 0.0,
            left_h: [0.0; STAGES_MAX],
            part: 0,
            part_ends_h: 0.0,
            pace: 1.0,
            is_whole: false,
            is_start: false,
            luck: 0.0,
        }
    }

    fn begin<R: Repair>(&mut self, system: &System, repair: &R, mut job: Job, draws: &mut Draws) {
        repair.begin(system, &self.jobs, &mut job, &mut draws.of(REPAIRS));
        self.jobs.push(job);
    }

    /// A group is lost as a whole, and rebuilt from others.
    fn begin_whole<R: Repair>(&mut self, system: &System, repair: &R, group: usize, draws: &mut Draws) {
        if self.jobs.iter().any(|job| job.is_whole && job.group == group) {
            return;
        }
        self.jobs.retain(|job| job.group != group);
        for device in &system.fleet.groups[group].devices {
            self.show(system, *device, self.away[*device] > 0, -1);
            self.is_bad[*device] = true;
            self.calendar.set(*device, f64::INFINITY);
        }
        let mut job = self.job(system, system.fleet.groups[group].devices[0], 1);
        job.is_whole = true;
        repair.begin(system, &self.jobs, &mut job, &mut draws.of(REPAIRS));
        self.jobs.push(job);
        self.whole += 1;
    }

    /// The wait, a part of the stage, or the stage of a job is over.
    fn end_of_stage<R: Repair>(&mut self, system: &System, repair: &R, index: usize, draws: &mut Draws) {
        let job = &mut self.jobs[index];
        if job.wait_h > 0.0 {
            job.wait_h = 0.0;
            return;
        }
        let stage = job.stage;
        if job.part_ends_h > 0.0 {
            job.left_h[stage - 1] = job.left_h[stage - 1].min(job.part_ends_h);
            job.part += 1;
            let job = *job;
            self.restore(system, &job, |degree, group| {
                degree == stage && job.part_of(group, repair.parts()) < job.part
            });
            repair.pace(system, &mut self.jobs);
            return;
        }
        job.left_h[stage - 1] = 0.0;
        (job.part, job.part_ends_h) = (0, 0.0);
        job.stage -= 1;
        let job = *job;
        if job.is_whole {
            self.jobs.swap_remove(index);
            self.whole -= 1;
            self.exposure.set_missing(system, job.group, 0);
            for device in &system.fleet.groups[job.group].devices {
                self.renew(system, *device, draws);
            }
            return;
        }
        if job.stage == 0 {
            self.jobs.swap_remove(index);
        }
        if repair.stages() == Stages::OfPool {
            for group in job.places(system).map(|place| system.group_at(place)) {
                let stages = self.jobs.iter().filter(|other| other.group == group).map(|other| other.stage);
                self.exposure.set_missing(system, group, stages.max().unwrap_or(0));
            }
        } else {
            self.restore(system, &job, |degree, _| degree >= stage);
        }
        if job.stage == 0 && !job.is_start {
            self.renew(system, job.device, draws);
        }
    }

    /// Groups of a job, chosen by how exposed they were and their numbers, do not miss their member any more.
    /// What the recovery at the start was to bring to a device that failed since is for the repair of that.
    fn restore(&mut self, system: &System, job: &Job, is_restored: impl Fn(usize, usize) -> bool) {
        for place in job.places(system) {
            let (group, degree) = (system.group_at(place), usize::from(self.degree[place]));
            let is_own = !job.is_start || !self.is_bad[system.device_at(place)];
            if degree > 0 && is_own && is_restored(degree, group) {
                self.degree[place] = 0;
                self.exposure.set_missing(system, group, self.exposure.missing(group) - 1);
            }
        }
    }

    /// A device is good again, and new.
    fn renew(&mut self, system: &System, device: usize, draws: &mut Draws) {
        self.is_bad[device] = false;
        self.is_ruined[device] = false;
        self.born_h[device] = self.now_h;
        self.show(system, device, self.away[device] > 0, 1);
        let at = self.life_end(system, device, draws);
        self.calendar.set(device, at);
    }
}
