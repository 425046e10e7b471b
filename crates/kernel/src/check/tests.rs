//! Planted violations of the laws of the check executor.

use towtank_units::SimTime;

use super::*;
use crate::key::EntityId;
use crate::phold::Phold;

const MODEL: Phold = Phold {
    processes: 2,
    start_events: 2,
    remote: 0.5,
    look_ahead: SimSpan::from_ns(10),
    mean: SimSpan::from_ns(100),
    work: 0,
};

fn options() -> RunOptions<'static> {
    RunOptions { end: Some(SimTime::from_ns(1_000)), ..RunOptions::default() }
}

fn started() -> Check<'static, Phold> {
    let mut plain = Plain::new(options().rules(&MODEL), Whole(MODEL.processes));
    plain.start().expect("it starts");
    Check::new(plain, UndoBy::Inverse)
}

fn message(check: Check<'static, Phold>) -> String {
    check.run(&options()).map(|_| ()).expect_err("a law is broken").to_string()
}

#[test]
fn a_checked_event_below_the_last_one_breaks_a_law() {
    let mut check = started();
    check.plain.last = Some((EventKey::first_at(SimTime::from_ns(900)), EntityId(0)));
    let message = message(check);
    assert!(message.contains("events are handled in the order of their keys"), "{message}");
}

#[test]
fn a_twin_that_has_handled_something_else_breaks_a_law() {
    let mut check = started();
    check.twins.iter_mut().for_each(|twin| twin.chain ^= 1);
    let message = message(check);
    assert!(message.contains("a twin has handled and sent what its entity has"), "{message}");
}
