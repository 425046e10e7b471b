//! Missions as they happen, until the first loss.

use towtank_streams::Draws;

use super::{Batch, Method, Question};
use crate::repair::Repair;
use crate::state::{Loss, State};

pub(super) fn batch<R: Repair>(question: &Question<'_, R>, cycles: u32, number: u32) -> Batch {
    let mut batch = Batch::new(Method::Plain, cycles, question.system);
    let blank = State::new(question.system);
    let mut state = blank.clone();
    for cycle in 0..cycles {
        let mut draws = Draws::new(question.seed, number, u64::from(cycle));
        let loss = question.start(&blank, &mut state, &mut draws).loss;
        let loss = loss.or_else(|| run_to(question, &mut state, question.mission_h, &mut draws));
        if let Some(loss) = loss {
            batch.hits += 1;
            batch.weight += 1.0;
            batch.square += 1.0;
            batch.lose(question.system, 1.0, loss);
        }
        batch.below_h += state.exposure.below_h;
        batch.observed_h += state.now_h;
    }
    batch
}

/// Runs until a time, or to the first loss.
pub(super) fn run_to<R: Repair>(
    question: &Question<'_, R>,
    state: &mut State,
    until_h: f64,
    draws: &mut Draws,
) -> Option<Loss> {
    loop {
        let (at, next) = state.next();
        if at >= until_h {
            state.advance(until_h);
            return None;
        }
        state.advance(at);
        let happened = state.perform(question.system, question.repair, next, draws);
        if happened.loss.is_some() {
            return happened.loss;
        }
    }
}
