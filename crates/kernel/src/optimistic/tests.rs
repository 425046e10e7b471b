//! Planted violations of the laws of the optimistic executor.

use super::*;
use crate::partition::Joined;
use crate::phold::Phold;
use crate::transport::Token;

const MODEL: Phold = Phold {
    processes: 4,
    start_events: 2,
    remote: 0.5,
    look_ahead: SimSpan::from_ns(10),
    mean: SimSpan::from_ns(100),
    work: 0,
};

/// A transport that gives a worker what was planted, and forgets what it sends.
struct Planted(Vec<Message<Phold>>);

impl Transport<Phold> for Planted {
    fn send(&mut self, _to: usize, _packet: Packet<Phold>) {}

    fn receive(&mut self) -> Option<Packet<Phold>> {
        self.0.pop().map(Packet)
    }
}

fn key(at: u64) -> EventKey {
    EventKey::first_at(SimTime::from_ns(at))
}

/// The first of two workers, which has executed its first events.
fn worker() -> Optimistic<'static, Phold> {
    let rules = RunOptions::default().rules(&MODEL);
    let plan = Plan::new(&rules, 2, Joined::MayPart);
    Optimistic::new(rules, &plan, 0, UndoBy::Inverse)
}

fn executed() -> Optimistic<'static, Phold> {
    let mut worker = worker();
    worker.execute(&RunOptions::default());
    assert!(worker.run.executed > 10);
    worker
}

fn event(at: u64, to: u32) -> Sent<()> {
    Sent { scheduled: Scheduled { key: key(at), to: EntityId(to), timer: false, event: () }, id: 9_000 }
}

fn hear(mut worker: Optimistic<'static, Phold>, message: Message<Phold>) {
    let ended = worker.step(&mut Planted(vec![message]), &RunOptions::default());
    panic!("no law was broken: {ended:?}");
}

fn mail(letter: Letter<()>) -> Message<Phold> {
    Message::Mail(Mail { epoch: 0, letters: vec![letter] })
}

#[test]
#[should_panic(expected = "mail reaches the worker that has its entity: entity 3 is not here")]
fn mail_for_an_entity_of_another_worker_breaks_a_law() {
    hear(worker(), mail(Letter::Event(event(50, 3))));
}

#[test]
#[should_panic(expected = "no event arrives before global virtual time")]
fn mail_before_global_virtual_time_breaks_a_law() {
    hear(Optimistic { gvt: key(51), ..worker() }, mail(Letter::Event(event(50, 0))));
}

#[test]
#[should_panic(expected = "no event at global virtual time is cancelled")]
fn a_cancellation_at_global_virtual_time_breaks_a_law() {
    let anti = Letter::Anti { id: 9_000, key: key(50), to: EntityId(0) };
    hear(Optimistic { gvt: key(50), ..worker() }, mail(anti));
}

#[test]
#[should_panic(expected = "no event before global virtual time is executed")]
fn an_event_before_global_virtual_time_breaks_a_law() {
    let mut worker = Optimistic { gvt: key(1 << 40), horizon: SimSpan::MAX, ..worker() };
    worker.execute(&RunOptions::default());
}

#[test]
#[should_panic(expected = "an entity commits its events in order")]
fn a_commit_before_the_last_one_breaks_a_law() {
    let mut worker = executed();
    worker.slots.iter_mut().for_each(|slot| slot.extra.committed = key(1 << 40));
    worker.last = Some((key(1 << 40), EntityId(0)));
    worker.gvt = key(1 << 39);
    worker.commit();
}

#[test]
#[should_panic(expected = "no event is sent into the past: sent at 60ns for 50ns")]
fn a_speculative_send_into_the_past_breaks_a_law() {
    let mut worker = worker();
    let cause = key(40);
    let Optimistic { rules, desk, slots, .. } = &mut worker;
    let mut context = crate::Context::new(rules, desk, &mut slots[0].timers, (&cause, EntityId(0)), (9, 9));
    context.send(EntityId(0), SimSpan::from_ns(10), ());
    worker.post_sends(EntityId(0), SimTime::from_ns(60), 10);
}

#[test]
#[should_panic(expected = "an entity takes back no more events than it has handled")]
fn an_event_taken_back_twice_breaks_a_law() {
    let mut worker = executed();
    worker.slots.iter_mut().for_each(|slot| slot.ordinal = 1);
    worker.make_way(0, key(1));
}

#[test]
#[should_panic(expected = "an entity takes back no more sends than it has made")]
fn a_send_taken_back_twice_breaks_a_law() {
    let mut worker = executed();
    worker.slots.iter_mut().for_each(|slot| slot.sequence = 0);
    worker.make_way(0, key(1));
}

fn token(worker: &Optimistic<'static, Phold>) -> Token {
    Token { floor: key(50), ..worker.fresh_token() }
}

#[test]
#[should_panic(expected = "global virtual time never falls")]
fn a_fall_of_global_virtual_time_breaks_a_law() {
    let worker = Optimistic { gvt: key(51), ..worker() };
    let token = token(&worker);
    hear(worker, Message::Token(token));
}

#[test]
#[should_panic(expected = "no more mail is received than was sent: -1 in transit")]
fn mail_that_nobody_sent_breaks_a_law() {
    let worker = worker();
    let token = Token { in_transit: -1, ..token(&worker) };
    hear(worker, Message::Token(token));
}

#[test]
#[should_panic(expected = "what was executed is committed or undone: 1 are not 0 and 0")]
fn an_event_that_is_neither_committed_nor_undone_breaks_a_law() {
    let mut worker = worker();
    worker.run.executed += 1;
    worker.share(EventKey::MAX, false);
}

#[test]
#[should_panic(expected = "no history is left when the run is over")]
fn history_at_the_end_breaks_a_law() {
    let mut worker = executed();
    worker.run.committed = worker.run.executed;
    worker.share(EventKey::MAX, false);
}

#[test]
#[should_panic(expected = "each cancellation finds its event: 0 of 1 did")]
fn a_cancellation_of_nothing_breaks_a_law() {
    let mut worker = worker();
    worker.doomed.insert(9_000);
    worker.share(EventKey::MAX, false);
}
