//! Planted violations of the laws of execution without speculation.

use towtank_units::SimSpan;

use super::*;
use crate::options::RunOptions;
use crate::partition::{Joined, Plan, Territory, Whole};
use crate::phold::Phold;

const MODEL: Phold = Phold {
    processes: 4,
    start_events: 2,
    remote: 0.5,
    look_ahead: SimSpan::from_ns(10),
    mean: SimSpan::from_ns(100),
    work: 0,
};

fn started() -> Plain<'static, Phold, Whole> {
    let mut plain = Plain::new(RunOptions::default().rules(&MODEL), Whole(MODEL.processes));
    plain.start().expect("it starts");
    plain
}

fn key(at: u64) -> EventKey {
    EventKey::first_at(SimTime::from_ns(at))
}

/// A send, with its key, that a handler puts on the desk at a time.
fn sent_at(plain: &mut Plain<'static, Phold, Whole>, at: u64) {
    let cause = key(at);
    let Plain { rules, desk, slots, .. } = plain;
    let (ordinal, sequence) = (slots[0].ordinal, slots[0].sequence);
    let mut context =
        crate::Context::new(rules, desk, &mut slots[0].timers, (&cause, EntityId(0)), (ordinal, sequence));
    context.send(EntityId(0), SimSpan::from_ns(10), ());
    slots[0].sequence = context.sequence();
}

/// The panics of a model's handlers and those of the executor are reported in the same way.
fn message_of_batch(plain: &mut Plain<'static, Phold, Whole>) -> String {
    plain.batch(EventKey::MAX, 10).expect_err("a law is broken").to_string()
}

#[test]
fn an_event_below_the_last_one_breaks_a_law() {
    let mut plain = started();
    assert!(plain.batch(EventKey::MAX, 10).expect("the events are in order"));
    plain.queue.push(Scheduled { key: EventKey::MIN, to: EntityId(0), timer: false, event: () });
    let message = message_of_batch(&mut plain);
    assert!(message.contains("events are handled in the order of their keys"), "{message}");
}

#[test]
fn an_event_that_is_handled_twice_breaks_a_law() {
    let mut plain = started();
    let first = plain.queue.peek().expect("an event is pending").clone();
    plain.queue.push(first);
    let message = message_of_batch(&mut plain);
    assert!(message.contains("events are handled in the order of their keys"), "{message}");
}

#[test]
#[should_panic(expected = "no event is sent into the past: sent at 60ns for 50ns")]
fn a_send_into_the_past_breaks_a_law() {
    let mut plain = started();
    sent_at(&mut plain, 40);
    plain.take_desk(key(60), EntityId(0), 0);
}

#[test]
#[should_panic(expected = "sends to other realms are delivered before a run ends")]
fn a_send_that_was_not_delivered_breaks_a_law() {
    let mut plain = started();
    plain.outgoing.push(Scheduled { key: key(7), to: EntityId(1), timer: false, event: () });
    plain.share(key(9), false);
}

#[test]
#[should_panic(expected = "an event reaches the worker that has its entity: entity 3 is not here")]
fn an_event_for_an_entity_of_another_worker_breaks_a_law() {
    let rules = RunOptions::default().rules(&MODEL);
    let territory: Territory = Plan::new(&rules, 2, Joined::StayTogether).territory(0);
    let mut plain = Plain::new(rules, territory);
    plain.start().expect("it starts");
    plain.arrive(Scheduled { key: key(7), to: EntityId(3), timer: false, event: () });
}
