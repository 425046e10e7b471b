//! The check executor on large entities: it compares them seldom enough to be fast, and often enough to find
//! errors.

use std::cell::Cell;
use std::hash::{Hash, Hasher};

use towtank_kernel::{Context, EntityId, Executor, Fault, Links, Model, RunError, RunOptions, UndoBy, run};
use towtank_streams::Seed;
use towtank_units::{SimSpan, SimTime};

thread_local! {
    static CLONES: Cell<u64> = const { Cell::new(0) };
    static COMPARISONS: Cell<u64> = const { Cell::new(0) };
}

/// A state of many words, which counts how often all of it is cloned or compared.
#[derive(Debug)]
struct Large(Vec<u64>);

impl Clone for Large {
    fn clone(&self) -> Large {
        CLONES.set(CLONES.get() + 1);
        Large(self.0.clone())
    }
}

impl PartialEq for Large {
    fn eq(&self, other: &Large) -> bool {
        COMPARISONS.set(COMPARISONS.get() + 1);
        self.0 == other.0
    }
}

impl Hash for Large {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// One entity that adds to one of its words at each event.
struct Adder {
    words: usize,
    undo: UndoBy,
    /// The event whose undo is incomplete.
    wrong_at: u64,
}

impl Model for Adder {
    type Entity = Large;
    type Event = u64;
    type Undo = u64;
    type Statistics = ();
    type Output = ();

    const UNDO: UndoBy = UndoBy::Inverse;

    fn entities(&self) -> u32 {
        1
    }

    fn links(&self) -> Links {
        Links::all(SimSpan::from_ns(1))
    }

    fn create(&self, _id: EntityId) -> Large {
        Large(vec![0; self.words])
    }

    fn start(&self, _state: &mut Large, context: &mut Context<'_, Self>) -> Result<(), Fault> {
        context.send(context.me(), SimSpan::from_ns(1), 1);
        Ok(())
    }

    fn handle(&self, state: &mut Large, event: &u64, context: &mut Context<'_, Self>) -> Result<u64, Fault> {
        let place = *event as usize % state.0.len();
        state.0[place] += event;
        context.send(context.me(), SimSpan::from_ns(1), event + 1);
        Ok(*event)
    }

    fn undo(&self, state: &mut Large, event: &u64, undo: u64) {
        let place = *event as usize % state.0.len();
        state.0[place] -= undo - u64::from(*event == self.wrong_at);
    }
}

const EVENTS: u64 = 10_000;

fn check(model: &Adder) -> Result<u64, RunError> {
    let options = |executor| RunOptions {
        seed: Seed(1),
        end: Some(SimTime::from_ns(EVENTS + 1)),
        executor,
        undo: Some(model.undo),
        ..RunOptions::default()
    };
    CLONES.set(0);
    COMPARISONS.set(0);
    let checked = run(model, options(Executor::Check))?;
    assert_eq!(checked.digest, run(model, options(Executor::Sequential))?.digest);
    Ok(checked.run.committed)
}

/// Regression test: all of an entity was cloned and compared three times at each event, and the undo data
/// printed, which was 350 times slower.
#[test]
fn a_large_entity_is_not_copied_or_compared_at_every_event() {
    for undo in [UndoBy::Inverse, UndoBy::Clone] {
        let model = Adder { words: 25_600, undo, wrong_at: u64::MAX };
        assert_eq!(check(&model), Ok(EVENTS));
        // The state is a hundred times as large as what is compared per event: three comparisons at one event
        // in a hundred.
        let most = 3 * EVENTS / 100 * 3 / 2;
        assert!(
            (EVENTS / 100..most).contains(&COMPARISONS.get()),
            "{} comparisons, {undo:?}",
            COMPARISONS.get()
        );
        assert!(CLONES.get() < EVENTS / 50, "{} clones, {undo:?}", CLONES.get());
    }
    let small = Adder { words: 16, undo: UndoBy::Inverse, wrong_at: u64::MAX };
    assert_eq!(check(&small), Ok(EVENTS));
    assert!(COMPARISONS.get() >= 2 * EVENTS, "{} comparisons of a small entity", COMPARISONS.get());
}

#[test]
fn one_wrong_undo_of_a_large_entity_is_caught() {
    for wrong_at in [1, 2, 5_000, EVENTS] {
        let model = Adder { words: 25_600, undo: UndoBy::Inverse, wrong_at };
        let Err(RunError::Irreversible { place, what, .. }) = check(&model) else {
            panic!("the wrong undo of event {wrong_at} went through");
        };
        assert!(what.starts_with("the state"), "{what}");
        assert!(place.key.at.as_ns() >= wrong_at, "found at {place}");
    }
}

#[test]
fn the_wrong_undo_of_a_small_entity_is_caught_at_once() {
    let model = Adder { words: 16, undo: UndoBy::Inverse, wrong_at: 5_000 };
    let Err(RunError::Irreversible { place, what, .. }) = check(&model) else { panic!("it went through") };
    assert_eq!((what.as_str(), place.key.at.as_ns()), ("the state", 5_000));
}
