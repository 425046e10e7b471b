//! The order of service, and the audit of stations with interruptions.

use towtank_kernel::{RunOptions, run};
use towtank_testkit::Finished;

use super::*;
use crate::queue::model::Entity;
use crate::queue::tests::settled;

const URGENT: &str = "study = \"queue\"\nwarm_up = \"1s\"\nspan = \"1000s\"\n\
    classes = [{ name = \"a\", share = \"40%\" }, { name = \"b\", share = \"30%\" }, { name = \"c\", share = \"30%\" }]\n\
    stations.s = { servers = 2, service_rate = \"1/s\", arrival_rate = \"1.8/s\", order = \"preemptive\" }\n";

fn job(class: u8, arrived: u64) -> Job {
    Job { entered: SimTime::ZERO, arrived: SimTime::from_ns(arrived), class }
}

#[test]
fn jobs_wait_behind_those_that_are_as_urgent() {
    let mut waiting = VecDeque::new();
    for (class, arrived) in [(1, 1), (2, 2), (0, 3), (1, 4), (0, 5), (2, 6)] {
        Order::Priority.enqueue(&mut waiting, job(class, arrived), |job| job.class);
    }
    let order: Vec<(u8, u64)> = waiting.iter().map(|job| (job.class, job.arrived.as_ns())).collect();
    assert_eq!(order, [(0, 3), (0, 5), (1, 1), (1, 4), (2, 2), (2, 6)]);
    Order::Fifo.enqueue(&mut waiting, job(0, 7), |job| job.class);
    assert_eq!(waiting.back(), Some(&job(0, 7)));
}

/// Two servers, stopped while jobs of several classes are there, one of them interrupted.
fn finished() -> (Network, Finished<Network>) {
    let network = Network::new(&settled(URGENT), SimTime::ZERO).unwrap();
    for ms in (100_000..).step_by(91) {
        let options = RunOptions { end: Some(SimTime::from_ns(ms * 1_000_000)), ..RunOptions::default() };
        let state = Finished::of(run(&network, options).unwrap());
        let Entity::Preemptive(here) = &state.entities[0] else { unreachable!("it interrupts") };
        let interrupted = here.waiting.iter().any(|visit| visit.left < visit.work);
        if here.waiting.len() > 2 && interrupted && here.serving[0].visit.job.class == 0 {
            return (network, state);
        }
    }
    unreachable!("some job is interrupted at some time")
}

fn station(state: &mut Finished<Network>) -> &mut Preemptive {
    let Entity::Preemptive(here) = &mut state.entities[0] else { unreachable!("it interrupts") };
    here
}

#[test]
fn the_audit_notices_what_is_lost_or_out_of_order() {
    type Damage = fn(&mut Finished<Network>);
    let damages: [(&str, &str, Damage); 8] = [
        ("a waiting job lost", "were finished and", |state| {
            station(state).waiting.pop_back();
        }),
        ("a job in service lost", "were finished and", |state| {
            station(state).serving.pop();
        }),
        ("a job that never came", "were finished and", |state| station(state).came += 1),
        ("a server that idles", "servers are idle", |state| {
            let here = station(state);
            let stopped = here.serving.pop().unwrap();
            here.waiting.push_back(stopped.visit);
        }),
        ("a service that never ends", "not all jobs in service will be finished", |state| {
            let until = station(state).serving[0].until;
            state.pending.retain(|one| one.key.at != until);
        }),
        ("an urgent job that waits", "less urgent", |state| {
            let here = station(state);
            let least = here.serving.iter_mut().max_by_key(|one| one.visit.job.class).unwrap();
            least.visit.job.class = 9;
            let (until, job) = (least.until, least.visit.job);
            let end = state.pending.iter_mut().find(|one| one.key.at == until).unwrap();
            end.event = Event::Finish(job);
        }),
        ("jobs in another order", "another order", |state| {
            let waiting = &mut station(state).waiting;
            let last = waiting.len() - 1;
            waiting.swap(0, last);
        }),
        ("work from nowhere", "more work left", |state| {
            let visit = &mut station(state).waiting[0];
            visit.left = visit.work.saturating_add(SimSpan::from_ns(1));
        }),
    ];
    let (network, sound) = finished();
    for (what, law, damage) in damages {
        let complaint = sound.complaint(&network, what, damage);
        assert!(complaint.contains(law), "{what}: {complaint}");
    }
}
