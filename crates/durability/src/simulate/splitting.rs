//! Fixed effort splitting on the degree of damage: as many courses from each degree to the next.
//!
//! Whether a course reaches the next degree is not drawn: the hazard of the parts whose failure leads there
//! is summed over time, which has the expectation of the number of first such failures. One of these, chosen
//! with that density, is where a course goes on from, with the sum as its weight; if it does not lead there
//! after all, the course ends. What reaches a degree otherwise is counted as it happens; so are all steps
//! where groups are lost only together.
//!
//! A course is continued from the state in which another one reached the degree, with the ages of all devices
//! and all repairs as they are; when good parts fail is drawn anew, given their ages. So no failure is
//! dropped, which would happen if lives were drawn from the start of the mission again.

use towtank_streams::{Draws, Purpose, Uniform};

use super::{Batch, Method, Question};
use crate::fleet::{LossRule, System};
use crate::repair::Repair;
use crate::state::{Happened, Loss, Next, State};
use crate::sums::sum;

/// With what probability an unreadable place is drawn at least; courses have weights for it.
const UNREADABLE: f64 = 0.2;

const CHOICE: Purpose = Purpose(0x656e_7472);

/// Where a course reached a degree of damage.
struct Entry {
    weight: f64,
    state: State,
    reached: usize,
    loss: Option<Loss>,
}

impl Entry {
    /// A course of a weight, which is that of the entry from now on.
    fn of(weight: f64, state: &State, reached: usize, loss: Option<Loss>) -> Entry {
        let mut state = state.clone();
        state.weight = 1.0;
        Entry { weight, state, reached, loss }
    }
}

pub(super) fn batch<R: Repair>(question: &Question<'_, R>, cycles: u32, number: u32) -> Batch {
    let system = question.system;
    let mut batch = Batch::new(Method::Splitting, cycles, system);
    let mut blank = State::new(system);
    blank.unreadable_as = Some(UNREADABLE);
    let mut state = blank.clone();
    let mut entries: Vec<Entry> = Vec::new();
    let mut step = Step::new(question, 1);
    for cycle in 0..cycles {
        let mut draws = Draws::new(question.seed, number, u64::from(cycle));
        let started = question.start(&blank, &mut state, &mut draws);
        step.climb(&mut state, started, &mut draws, &mut entries);
    }
    let mean = |entries: &[Entry]| sum(entries.iter().map(|entry| entry.weight)) / f64::from(cycles);
    let mut chance = mean(&entries);
    batch.hits = entries.len() as u64;
    for degree in 2..=top(question) {
        if entries.is_empty() {
            return batch;
        }
        let part = question.seed.part(degree as u32);
        let offset = Draws::new(part, number, u64::from(cycles)).of(CHOICE).unit_f64();
        let each = sum(entries.iter().map(|entry| entry.weight)) / f64::from(cycles);
        let (mut at, mut end) = (0, entries[0].weight);
        let mut next: Vec<Entry> = Vec::new();
        let mut step = Step::new(question, degree);
        for cycle in 0..cycles {
            let mut draws = Draws::new(part, number, u64::from(cycle));
            while (f64::from(cycle) + offset) * each > end && at + 1 < entries.len() {
                at += 1;
                end += entries[at].weight;
            }
            let entry = &entries[at];
            state.copy(&entry.state);
            let so_far = Happened { loss: entry.loss, reached: entry.reached };
            if so_far.loss.is_none() && so_far.reached < degree {
                state.redraw(system, &mut draws);
            }
            step.climb(&mut state, so_far, &mut draws, &mut next);
        }
        chance *= mean(&next);
        batch.hits = batch.hits.min(next.len() as u64);
        entries = next;
    }
    finish(system, &mut batch, &entries, chance);
    batch
}

fn finish(system: &System, batch: &mut Batch, entries: &[Entry], chance: f64) {
    let cycles = batch.cycles as f64;
    batch.weight = chance * cycles;
    batch.square = chance * chance * cycles;
    let all = sum(entries.iter().map(|entry| entry.weight));
    for entry in entries {
        let loss = entry.loss.expect("the last degree is a loss");
        batch.lose(system, chance * cycles * entry.weight / all, loss);
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

/// A part that fails in a state, when its hazard until the next event has reached a share.
struct Chosen {
    state: State,
    part: usize,
    share: f64,
}

/// The step to one degree of damage.
struct Step<'a, R> {
    question: &'a Question<'a, R>,
    degree: usize,
    /// Parts that lead there from a whole system.
    always: Vec<usize>,
}

impl<'a, R: Repair> Step<'a, R> {
    fn new(question: &'a Question<'a, R>, degree: usize) -> Step<'a, R> {
        Step { question, degree, always: question.system.leading_to(degree) }
    }

    /// Runs until the damage reaches the degree, and adds where courses go on from; nothing if the mission
    /// ends first.
    fn climb(&mut self, state: &mut State, so_far: Happened, draws: &mut Draws, to: &mut Vec<Entry>) {
        let system = self.question.system;
        let is_last = self.degree == top(self.question);
        if so_far.loss.is_some() || (so_far.reached >= self.degree && !is_last) {
            let (reached, loss) = (so_far.reached, so_far.loss);
            to.push(Entry::of(state.weight, state, reached, loss));
            return;
        }
        let is_stack = system.fleet.rule != LossRule::AnyGroup;
        let mut all = 0.0;
        let mut chosen: Option<Chosen> = None;
        loop {
            let (at, next) = state.next();
            let end = at.min(self.question.mission_h);
            let leading =
                if is_stack { Vec::new() } else { state.leading_to(system, self.degree, &self.always) };
            let each: Vec<f64> = leading.iter().map(|part| state.hazard_until(system, *part, end)).collect();
            let here = state.weight * sum(each.iter().copied());
            all += here;
            if here > 0.0 && draws.of(CHOICE).unit_f64() * all < here {
                let place = draws.of(CHOICE).unit_f64() * here / state.weight;
                let share = draws.of(CHOICE).unit_f64();
                let part = leading[place_in(&each, place)];
                chosen = Some(Chosen { state: state.clone(), part, share });
            }
            if at >= self.question.mission_h {
                break;
            }
            state.advance(at);
            let is_counted = leading.iter().any(|part| next == Next::Failure(*part));
            let happened = state.perform(system, self.question.repair, next, draws);
            let is_there = happened.loss.is_some() || (happened.reached >= self.degree && !is_last);
            if is_there && !is_counted {
                let (reached, loss) = (happened.reached, happened.loss);
                to.push(Entry::of(state.weight, state, reached, loss));
            }
            if is_there {
                break;
            }
        }
        to.extend(chosen.and_then(|chosen| self.entry(all, chosen, draws)));
    }

    /// A part fails in a course.
    fn entry(&self, weight: f64, chosen: Chosen, draws: &mut Draws) -> Option<Entry> {
        let system = self.question.system;
        let Chosen { mut state, part, share } = chosen;
        let end = state.next().0.min(self.question.mission_h);
        let at = state.time_of(system, part, share * state.hazard_until(system, part, end)).min(end);
        state.advance(at);
        let before = state.weight;
        let happened = state.fail(system, self.question.repair, part, draws);
        let is_there = happened.loss.is_some() || happened.reached >= self.degree;
        is_there.then(|| Entry::of(weight * state.weight / before, &state, happened.reached, happened.loss))
    }
}

/// The place in a list of weights where their sum passes a mark.
fn place_in(weights: &[f64], mark: f64) -> usize {
    let mut sum = 0.0;
    let passed = weights.iter().position(|weight| {
        sum += weight;
        mark < sum
    });
    passed.unwrap_or(weights.len() - 1)
}
