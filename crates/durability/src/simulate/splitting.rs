//! Fixed effort splitting on the degree of damage: as many courses from each degree to the next.
//!
//! The last step is not drawn: while a group survives nothing more, the hazard of its good devices is summed
//! over time, which has the expectation of the number of first losses by them. Losses by anything else are
//! counted.
//!
//! A course is continued from the state in which another one reached the degree, with the ages of all devices
//! and all repairs as they are; when good parts fail is drawn anew, given their ages. So no failure is
//! dropped, which would happen if lives were drawn from the start of the mission again.

use towtank_streams::{Draws, Purpose, Uniform};

use super::{Batch, Method, Question};
use crate::fleet::{LossRule, System};
use crate::repair::Repair;
use crate::state::{Happened, Loss, Next, State};

const CHOICE: Purpose = Purpose(0x656e_7472);

/// Where a course reached a degree of damage.
struct Entry {
    state: State,
    reached: usize,
    loss: Option<Loss>,
}

pub(super) fn batch<R: Repair>(question: &Question<'_, R>, cycles: u32, number: u32) -> Batch {
    let system = question.system;
    let mut batch = Batch::new(Method::Splitting, cycles, system);
    let blank = State::new(system);
    let mut state = blank.clone();
    let mut entries: Vec<Entry> = Vec::new();
    for cycle in 0..cycles {
        let mut draws = Draws::new(question.seed, number, u64::from(cycle));
        let started = question.start(&blank, &mut state, &mut draws);
        if top(question) == 1 {
            entries.push(Entry { state: state.clone(), reached: started.reached, loss: started.loss });
        } else {
            entries.extend(run_up(question, &mut state, started, 1, &mut draws));
        }
    }
    let mut chance = entries.len() as f64 / f64::from(cycles);
    batch.hits = entries.len() as u64;
    let is_stack = question.system.fleet.rule != LossRule::AnyGroup;
    let drawn = if is_stack { top(question) } else { top(question) - 1 };
    for degree in 2..=drawn {
        if entries.is_empty() {
            return batch;
        }
        let part = question.seed.part(degree as u32);
        let offset = Draws::new(part, number, u64::from(cycles)).of(CHOICE).unit_f64();
        let mut next: Vec<Entry> = Vec::new();
        for cycle in 0..cycles {
            let mut draws = Draws::new(part, number, u64::from(cycle));
            let place = (f64::from(cycle) + offset) * entries.len() as f64 / f64::from(cycles);
            let entry = &entries[(place as usize).min(entries.len() - 1)];
            state.copy(&entry.state);
            let so_far = Happened { loss: entry.loss, reached: entry.reached };
            if so_far.loss.is_none() && so_far.reached < degree {
                state.redraw(system, &mut draws);
            }
            next.extend(run_up(question, &mut state, so_far, degree, &mut draws));
        }
        chance *= next.len() as f64 / f64::from(cycles);
        batch.hits = batch.hits.min(next.len() as u64);
        entries = next;
    }
    if is_stack {
        finish(system, &mut batch, &entries, chance);
    } else {
        last_step(question, &mut batch, entries, chance, number);
    }
    batch
}

/// Follows each course to its end, and sums up how likely the last failure is.
fn last_step<R: Repair>(
    question: &Question<'_, R>,
    batch: &mut Batch,
    mut entries: Vec<Entry>,
    chance: f64,
    number: u32,
) {
    let is_first = top(question) == 1;
    let (cycles, count) = (batch.cycles as f64, entries.len().max(1) as f64);
    let times = if is_first { 1.0 } else { chance * cycles / count };
    let part = question.seed.part(top(question) as u32);
    for (index, entry) in entries.iter_mut().enumerate() {
        let mut draws = Draws::new(part, number, index as u64);
        entry.state.redraw(question.system, &mut draws);
        for (weight, loss) in ends(question, entry, &mut draws) {
            batch.weight += times * weight;
            batch.lose(question.system, times * weight, loss);
        }
    }
    batch.square = batch.weight * batch.weight / cycles;
}

/// The ends of a course, each with its weight.
fn ends<R: Repair>(question: &Question<'_, R>, entry: &mut Entry, draws: &mut Draws) -> Vec<(f64, Loss)> {
    if let Some(loss) = entry.loss {
        return vec![(1.0, loss)];
    }
    let system = question.system;
    let state = &mut entry.state;
    let mut found = Vec::new();
    loop {
        let exposed = state.exposed(system);
        let (at, next) = state.next();
        let end = at.min(question.mission_h);
        for (device, loss) in &exposed {
            found.push((state.hazard_until(system, *device, end), *loss));
        }
        state.advance(end);
        if at >= question.mission_h {
            return found;
        }
        let is_counted = exposed.iter().any(|(device, _)| next == Next::Failure(*device));
        if let Some(loss) = state.perform(system, question.repair, next, draws).loss {
            if !is_counted {
                found.push((1.0, loss));
            }
            return found;
        }
    }
}

fn finish(system: &System, batch: &mut Batch, entries: &[Entry], chance: f64) {
    let cycles = batch.cycles as f64;
    batch.weight = chance * cycles;
    batch.square = chance * chance * cycles;
    for entry in entries {
        let loss = entry.loss.expect("the last degree is a loss");
        batch.lose(system, chance * cycles / entries.len() as f64, loss);
    }
}

/// The degree that is a loss.
fn top<R>(question: &Question<'_, R>) -> usize {
    let one = question.system.tolerance_max + 1;
    match question.system.fleet.rule {
        LossRule::AnyGroup => one,
        LossRule::MoreGroupsThan(tolerance) => {
            let groups = question.system.fleet.groups.iter();
            let mut each: Vec<usize> = groups.map(|group| group.tolerance + 1).collect();
            each.sort_unstable_by(|left, right| right.cmp(left));
            each[..=tolerance].iter().sum()
        }
    }
}

/// Runs until the damage reaches a degree; none if the mission ends first.
fn run_up<R: Repair>(
    question: &Question<'_, R>,
    state: &mut State,
    mut so_far: Happened,
    degree: usize,
    draws: &mut Draws,
) -> Option<Entry> {
    let is_last = degree == top(question);
    loop {
        if so_far.loss.is_some() || (so_far.reached >= degree && !is_last) {
            return Some(Entry { state: state.clone(), reached: so_far.reached, loss: so_far.loss });
        }
        let (at, next) = state.next();
        if at >= question.mission_h {
            return None;
        }
        state.advance(at);
        so_far = state.perform(question.system, question.repair, next, draws);
    }
}
