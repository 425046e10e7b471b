//! Tests of the audit, on states that were damaged deliberately.

use towtank_kernel::{EntityId, RunOptions, run};
use towtank_testkit::Finished;

use super::*;
use crate::queue::model::{Entity, Event};

type State = Finished<Network>;

/// Three busy stations, stopped during the run.
fn finished() -> (Network, State) {
    let network = Network::new(&settled(NETWORK), SimTime::ZERO).unwrap();
    // The first instant at which some jobs wait and others are on their way.
    for ms in (500_000..).step_by(37) {
        let options = RunOptions { end: Some(SimTime::from_ns(ms * 1_000_000)), ..RunOptions::default() };
        let state = Finished::of(run(&network, options).unwrap());
        let waits =
            |entity: &Entity| matches!(entity, Entity::Station(station) if !station.waiting.is_empty());
        let goes = state.pending.iter().any(|one| matches!(one.event, Event::Arrive(_)));
        if goes && state.entities.iter().any(waits) {
            return (network, state);
        }
    }
    unreachable!("some job waits at some time")
}

fn busy(state: &mut State) -> (usize, &mut model::Station) {
    let found = state.entities.iter_mut().enumerate().find_map(|(id, entity)| match entity {
        Entity::Station(station) if !station.waiting.is_empty() => Some((id, station)),
        _ => None,
    });
    found.expect("jobs wait somewhere")
}

fn place(state: &State, of: fn(&Event) -> bool) -> usize {
    state.pending.iter().position(|one| of(&one.event)).expect("it is in flight")
}

fn lose(state: &mut State, of: fn(&Event) -> bool) {
    state.pending.remove(place(state, of));
}

fn arrives(event: &Event) -> bool {
    matches!(event, Event::Arrive(_))
}

fn finishes(event: &Event) -> bool {
    matches!(event, Event::Finish(_))
}

#[test]
fn the_audit_notices_what_is_lost_doubled_or_in_wrong_hands() {
    type Damage = fn(&mut State);
    let damages: [(&str, &str, Damage); 12] = [
        ("a job lost on its way", "are on their way", |state| lose(state, arrives)),
        ("a job doubled on its way", "are on their way", |state| {
            let again = state.pending[place(state, arrives)].clone();
            state.pending.push(again);
        }),
        ("a job that is never finished", "will be finished there", |state| lose(state, finishes)),
        ("a job finished at another station", "will be finished there", |state| {
            let at = place(state, finishes);
            state.pending[at].to = EntityId((state.pending[at].to.0 + 1) % 3);
        }),
        ("a job finished nowhere", "which is no station", |state| {
            let at = place(state, finishes);
            state.pending[at].to = EntityId(99);
        }),
        ("a waiting job lost", "were finished and", |state| {
            busy(state).1.waiting.pop_front();
        }),
        ("a waiting job doubled", "were finished and", |state| {
            let waiting = &mut busy(state).1.waiting;
            let job = waiting[0];
            waiting.push_front(job);
        }),
        ("a waiting job at another station", "were finished and", |state| {
            let (from, station) = busy(state);
            let job = station.waiting.pop_front().unwrap();
            let Entity::Station(other) = &mut state.entities[(from + 1) % 3] else { return };
            other.waiting.push_back(job);
        }),
        ("a job that came from nowhere", "jobs were created", |state| {
            state.entities.iter_mut().for_each(|entity| {
                if let Entity::Exit { left } = entity {
                    *left += 1;
                }
            });
        }),
        ("a job that was never created", "jobs were created", |state| {
            let source = state.entities.iter_mut().find_map(|entity| match entity {
                Entity::Source { created } => Some(created),
                _ => None,
            });
            *source.unwrap() -= 1;
        }),
        ("a job that waits since tomorrow", "in another order", |state| {
            let end = state.now;
            busy(state).1.waiting[0].arrived = SimTime::from_ns(end.as_ns() + 1);
        }),
        ("a wait that nobody had", "waits were counted", |state| {
            (0..1_000_000).for_each(|_| state.statistics[0].times.waits.record(1));
        }),
    ];
    let (network, sound) = finished();
    for (what, law, damage) in damages {
        let complaint = sound.complaint(&network, what, damage);
        assert!(complaint.contains(law), "{what}: {complaint}");
    }
}
