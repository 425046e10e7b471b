//! Failures put into missions, and followed with more failures where they matter.
//!
//! One cycle is a mission as it happens, and some times in it, one in each equal part of it. At each time a
//! part of the system is chosen, by hazard; it fails in a copy of the state. The copy is followed while a
//! group that was whole before misses a member since then. Meanwhile the devices of the most damaged of these
//! groups have an extra hazard, such that about one more failure is expected before a repair ends; all others
//! keep the hazard that they have, and those of less damaged groups have a little more. The weight is the
//! density of the course as it happens, divided by that with which it was drawn.

use towtank_streams::{Draws, Purpose, Uniform};

use super::plain::run_to;
use super::{Batch, Method, Question};
use crate::fleet::{LossRule, Part, System};
use crate::repair::{Job, Repair};
use crate::state::{Loss, Next, State};

/// Failures that are put into each mission.
const INJECTIONS: u32 = 4;

/// Expected extra failures in the most damaged groups until a repair ends, and in others.
const MOST_DAMAGED: f64 = 1.0;
const OTHERS: f64 = 0.15;

/// The share of extra failures that ruin a domain, where domains can be.
const RUINS: f64 = 0.25;

/// With what probability an unreadable place is drawn at least.
const UNREADABLE: f64 = 0.2;

const COURSE: Purpose = Purpose(0x636f_7572);
const CHOICE: Purpose = Purpose(0x6368_6f69);

pub(super) fn batch<R: Repair>(question: &Question<'_, R>, cycles: u32, number: u32) -> Batch {
    let mut batch = Batch::new(Method::Biased, cycles, question.system);
    let blank = State::new(question.system);
    let mut state = blank.clone();
    let mut course = Course::new(question.system, &blank);
    for cycle in 0..cycles {
        let key = u64::from(cycle);
        let mut draws = Draws::new(question.seed, number, key);
        let mut weight = 0.0;
        let started = question.start(&blank, &mut state, &mut draws);
        if question.starts_damaged() {
            let mut own = Draws::new(question.seed.part(1), number, key);
            course.begin(&state);
            let system = question.system;
            let failed = question.failed.iter().flat_map(|device| system.places(*device));
            course.root(system, failed.chain(system.lacking.iter().copied()));
            let loss = started.loss.map(|loss| (1.0, loss)).or_else(|| course.follow(question, &mut own));
            weight += loss.map_or(0.0, |found| count(question.system, &mut batch, 1.0, found));
        }
        let mut is_lost = started.loss.is_some();
        for injection in 0..INJECTIONS {
            let place = (f64::from(injection) + draws.of(CHOICE).unit_f64()) / f64::from(INJECTIONS);
            is_lost =
                is_lost || run_to(question, &mut state, place * question.mission_h, &mut draws).is_some();
            if is_lost {
                break;
            }
            let mut own = Draws::new(question.seed.part(2 + injection), number, key);
            let Some((part, density)) = choose(question.system, &state, &mut own) else { continue };
            let times = question.mission_h / f64::from(INJECTIONS) / density;
            course.begin(&state);
            let found = course.inject(question, part, &mut own);
            weight += found.map_or(0.0, |found| count(question.system, &mut batch, times, found));
        }
        batch.below_h += state.exposure.below_h;
        batch.observed_h += state.now_h;
        batch.hits += u64::from(weight > 0.0);
        batch.weight += weight;
        batch.square += weight * weight;
    }
    batch
}

/// Adds a loss to its causes; returns its weight.
fn count(system: &System, batch: &mut Batch, times: f64, found: (f64, Loss)) -> f64 {
    let weight = times * found.0;
    batch.lose(system, weight, found.1);
    weight
}

/// A part that fails, and the density with which it is chosen, divided by its hazard: devices and ruins of
/// domains equally often, within each by hazard.
fn choose(system: &System, state: &State, draws: &mut Draws) -> Option<(usize, f64)> {
    let devices = system.fleet.devices.len();
    let hazard = |part: usize| match system.parts[part] {
        Part::Device(device) if state.is_bad[device] => 0.0,
        Part::Outage(_) => 0.0,
        _ => state.hazard(system, part),
    };
    let ruins: f64 = (devices..system.parts.len()).map(hazard).sum();
    let all: f64 = (0..devices).map(hazard).sum();
    let kinds = f64::from(u8::from(ruins > 0.0) + u8::from(all > 0.0));
    let mut source = draws.of(CHOICE);
    let is_ruin = ruins > 0.0 && (all == 0.0 || source.unit_f64() < 0.5);
    let (range, total) = if is_ruin { (devices..system.parts.len(), ruins) } else { (0..devices, all) };
    let mut mark = source.unit_f64() * total;
    let mut last = None;
    for part in range {
        let own = hazard(part);
        if own > 0.0 {
            last = Some(part);
            if mark < own {
                break;
            }
            mark -= own;
        }
    }
    last.map(|part| (part, 1.0 / (kinds * total)))
}

/// A course that is followed, and its extra hazards.
struct Course {
    state: State,
    /// Whether groups are lost only together: then all of them are one, from the first damaged member to
    /// none.
    is_stack: bool,
    /// Groups that are damaged since the root.
    rooted: Vec<usize>,
    is_rooted: Vec<bool>,
    extra: Vec<f64>,
    /// Parts that have an extra hazard.
    touched: Vec<usize>,
}

impl Course {
    fn new(system: &System, blank: &State) -> Course {
        Course {
            state: blank.clone(),
            is_stack: system.fleet.rule != LossRule::AnyGroup,
            rooted: Vec::new(),
            is_rooted: vec![false; system.groups()],
            extra: vec![0.0; system.parts.len()],
            touched: Vec::new(),
        }
    }

    fn begin(&mut self, from: &State) {
        self.state.copy(from);
        self.state.weight = 1.0;
        self.state.unreadable_as = Some(UNREADABLE);
        self.rooted.drain(..).for_each(|group| self.is_rooted[group] = false);
    }

    /// Marks the groups of places as damaged since the root.
    fn root(&mut self, system: &System, places: impl Iterator<Item = usize>) {
        for group in places.map(|place| system.group_at(place)) {
            if !self.is_rooted[group] {
                self.is_rooted[group] = true;
                self.rooted.push(group);
            }
        }
    }

    /// A part fails now: follows what comes of it.
    fn inject<R: Repair>(
        &mut self,
        question: &Question<'_, R>,
        part: usize,
        draws: &mut Draws,
    ) -> Option<(f64, Loss)> {
        let system = question.system;
        let devices: &[usize] = match &system.parts[part] {
            Part::Device(device) => std::slice::from_ref(device),
            Part::Ruin(domain) => &system.under[*domain],
            Part::Outage(_) => &[],
        };
        if self.is_stack && !self.state.jobs.is_empty() {
            return None;
        }
        let good = devices.iter().copied().filter(|device| !self.state.is_bad[*device]);
        let exposure = &self.state.exposure;
        let whole: Vec<usize> = good
            .filter(|device| {
                system.places(*device).any(|place| exposure.missing(system.group_at(place)) == 0)
            })
            .collect();
        self.root(system, whole.into_iter().flat_map(|device| system.places(device)));
        let exposure = &self.state.exposure;
        let is_rooted = &mut self.is_rooted;
        self.rooted.retain(|group| {
            is_rooted[*group] = exposure.missing(*group) == 0;
            is_rooted[*group]
        });
        if self.rooted.is_empty() {
            return None;
        }
        let happened = self.state.fail(system, question.repair, part, draws);
        match happened.loss {
            Some(loss) => self.counted(loss),
            None => self.follow(question, draws),
        }
    }

    /// Follows the course until its groups are whole, the mission ends, or something is lost.
    fn follow<R: Repair>(&mut self, question: &Question<'_, R>, draws: &mut Draws) -> Option<(f64, Loss)> {
        let system = question.system;
        loop {
            if self.is_over() {
                return None;
            }
            let extra = self.add_hazards(system, question.mission_h);
            let (at, next) = self.state.next();
            let wait = draws.of(COURSE).unit_exponential();
            let added_at = if extra > 0.0 { self.state.now_h + wait / extra } else { f64::INFINITY };
            let end = at.min(added_at);
            if end >= question.mission_h {
                return None;
            }
            self.state.weight *= libm::exp(extra * (end - self.state.now_h));
            self.state.advance(end);
            let next = if added_at < at { Next::Failure(self.pick(extra, draws)) } else { next };
            if let Next::Failure(part) = next
                && self.extra[part] > 0.0
            {
                let own = self.state.hazard(system, part);
                self.state.weight *= own / (own + self.extra[part]);
            }
            let happened = self.state.perform(system, question.repair, next, draws);
            if let Some(loss) = happened.loss {
                return self.counted(loss);
            }
        }
    }

    /// A loss with its weight, if its root is that of the course.
    fn counted(&self, loss: Loss) -> Option<(f64, Loss)> {
        (self.is_stack || self.is_rooted[loss.group]).then_some((self.state.weight, loss))
    }

    /// Forgets groups that are whole again; whether all are.
    fn is_over(&mut self) -> bool {
        let exposure = &self.state.exposure;
        let is_rooted = &mut self.is_rooted;
        self.rooted.retain(|group| {
            is_rooted[*group] = exposure.missing(*group) > 0;
            is_rooted[*group]
        });
        if self.is_stack { self.state.jobs.is_empty() } else { self.rooted.is_empty() }
    }

    /// One of the parts with an extra hazard, in proportion to it.
    fn pick(&self, extra: f64, draws: &mut Draws) -> usize {
        let mut mark = draws.of(CHOICE).unit_f64() * extra;
        for part in &self.touched {
            mark -= self.extra[*part];
            if mark < 0.0 {
                return *part;
            }
        }
        *self.touched.last().expect("there is an extra hazard")
    }

    /// Sets the extra hazards of the present state; returns their sum.
    fn add_hazards(&mut self, system: &System, mission_h: f64) -> f64 {
        self.touched.drain(..).for_each(|part| self.extra[part] = 0.0);
        let missing = |group: usize| self.state.exposure.missing(group);
        let left = |group: usize| (system.fleet.groups[group].tolerance + 1).saturating_sub(missing(group));
        let concerned: Vec<usize> = match self.is_stack {
            true => (0..system.groups()).filter(|group| left(*group) > 0).collect(),
            false => self.rooted.clone(),
        };
        let Some(least) = concerned.iter().map(|group| left(*group)).min() else { return 0.0 };
        let (most, others): (Vec<usize>, Vec<usize>) =
            concerned.into_iter().partition(|group| left(*group) == least);
        let window = self.window(system, most[0]).min(mission_h - self.state.now_h).max(1e-9);
        let mut sum = self.add(system, &most, MOST_DAMAGED / window);
        if let Some(other) = others.first() {
            let window = self.window(system, *other).min(mission_h - self.state.now_h).max(1e-9);
            sum += self.add(system, &others, OTHERS / window);
        }
        sum
    }

    /// Until a repair of a member of the group ends; of any, where the group is whole.
    fn window(&self, system: &System, group: usize) -> f64 {
        let is_member = |job: &Job| job.places(system).any(|place| system.group_at(place) == group);
        let is_whole = self.state.exposure.missing(group) == 0;
        let jobs = self.state.jobs.iter().filter(|job| is_whole || is_member(job));
        let rests = jobs.map(|job| job.wait_h.max(0.0) + job.left_h[job.stage - 1] / job.pace.max(1e-12));
        rests.fold(f64::INFINITY, f64::min)
    }

    /// Raises the hazard of what can damage these groups to a sum, where it is below that; returns what is
    /// added.
    fn add(&mut self, system: &System, groups: &[usize], to: f64) -> f64 {
        let mut found: Vec<(usize, f64)> = Vec::new();
        let mut ruins: Vec<usize> = Vec::new();
        let has_ruins = system.ruin_of.iter().any(Option::is_some);
        for device in groups.iter().flat_map(|group| &system.fleet.groups[*group].devices) {
            if !self.state.is_bad[*device] {
                found.push((*device, self.state.hazard(system, *device)));
                if has_ruins {
                    ruins.extend(system.above[*device].iter().filter_map(|domain| system.ruin_of[*domain]));
                }
            }
        }
        ruins.sort_unstable();
        ruins.dedup();
        let present = found.iter().map(|(_, hazard)| hazard).sum::<f64>();
        let extra = (to - present).max(0.0);
        let share = if ruins.is_empty() { 0.0 } else { RUINS };
        let mut sum = self.spread(&found, extra * (1.0 - share));
        let ruins: Vec<(usize, f64)> =
            ruins.into_iter().map(|part| (part, self.state.hazard(system, part))).collect();
        sum += self.spread(&ruins, extra * share);
        sum
    }

    /// Spreads an extra hazard over parts, in proportion to theirs.
    fn spread(&mut self, parts: &[(usize, f64)], extra: f64) -> f64 {
        let present = parts.iter().map(|(_, hazard)| hazard).sum::<f64>();
        if present <= 0.0 || extra <= 0.0 {
            return 0.0;
        }
        for (part, hazard) in parts {
            if self.extra[*part] == 0.0 {
                self.touched.push(*part);
            }
            self.extra[*part] += extra * hazard / present;
        }
        extra
    }
}
