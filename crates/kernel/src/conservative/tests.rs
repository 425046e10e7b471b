//! Planted violations of the laws of the conservative executor: packets that no worker would send.

use super::*;
use crate::partition::Joined;
use crate::phold::Phold;

const MODEL: Phold = Phold {
    processes: 4,
    start_events: 2,
    remote: 0.5,
    look_ahead: SimSpan::from_ns(10),
    mean: SimSpan::from_ns(100),
    work: 0,
};

/// A transport that gives a worker what was planted, and forgets what it sends.
struct Planted(Vec<Window<()>>);

impl Transport<Phold> for Planted {
    fn send(&mut self, _to: usize, _packet: Packet<Phold>) {}

    fn receive(&mut self) -> Option<Packet<Phold>> {
        self.0.pop().map(|window| Packet(Message::Window(window)))
    }
}

fn window(round: u64, at: u64) -> Window<()> {
    let floor = EventKey::first_at(SimTime::from_ns(at));
    Window {
        round,
        events: Vec::new(),
        floor,
        reach: floor.at,
        committed: 0,
        work: 0,
        last: None,
        error: None,
        stop: false,
    }
}

/// The first of two workers, when its first window is over.
fn waiting() -> Conservative<'static, Phold> {
    let options = RunOptions::default();
    let rules = options.rules(&MODEL);
    let plan = Plan::new(&rules, 2, Joined::StayTogether);
    let mut worker = Conservative::new(rules, &plan, 0);
    worker.step(&mut Planted(Vec::new()), &options);
    assert!(matches!(worker.phase, Phase::Waiting(_)));
    worker
}

fn hear(worker: &mut Conservative<'static, Phold>, windows: Vec<Window<()>>) {
    let ended = worker.step(&mut Planted(windows), &RunOptions::default());
    panic!("no law was broken: {ended:?}");
}

#[test]
#[should_panic(expected = "a peer is in this window or the next: a packet of 2 came in 0")]
fn a_packet_of_a_later_round_breaks_a_law() {
    hear(&mut waiting(), vec![window(2, 50)]);
}

#[test]
#[should_panic(expected = "each peer sends one packet a window: 2 came")]
fn two_packets_of_a_window_break_a_law() {
    hear(&mut waiting(), vec![window(0, 50), window(0, 50)]);
}

#[test]
#[should_panic(expected = "no event comes from a peer below its floor")]
fn an_event_below_the_floor_of_its_sender_breaks_a_law() {
    let key = EventKey::first_at(SimTime::from_ns(49));
    let events = vec![Scheduled { key, to: EntityId(0), timer: false, event: () }];
    hear(&mut waiting(), vec![Window { events, ..window(0, 50) }]);
}

#[test]
#[should_panic(expected = "no event is left before the end of a window")]
fn an_event_left_behind_breaks_a_law() {
    let mut worker = waiting();
    let Phase::Waiting(own) = &mut worker.phase else { unreachable!("it waits") };
    own.bound = EventKey::first_at(SimTime::from_ns(60));
    hear(&mut worker, vec![window(0, 50)]);
}

/// A peer whose floor it can reach at once would end the window where it begins.
#[test]
#[should_panic(expected = "a window ends after it begins")]
fn a_window_that_ends_where_it_begins_breaks_a_law() {
    hear(&mut waiting(), vec![window(0, 0)]);
}

#[test]
#[should_panic(expected = "no link without delay joins two partitions")]
fn partitions_joined_without_delay_break_a_law() {
    let model = Phold { look_ahead: SimSpan::ZERO, ..MODEL };
    let rules = RunOptions::default().rules(&model);
    let plan = Plan::new(&rules, 2, Joined::MayPart);
    Conservative::new(rules, &plan, 0);
}
