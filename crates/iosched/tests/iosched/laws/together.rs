//! Two servers, each with a scheduler that takes the other into account: the service of flows by both
//! together follows their weights, wherever their data lies. DSFQ schedulers tell each other; dmClock clients
//! carry feedback.

use std::collections::VecDeque;

use towtank_iosched::{
    About, AtLimit, Description, Discipline, FlowId, Flows, Lengths, Mclock, Phase, Request, Scheduler,
    SchedulerId, Tracker,
};
use towtank_units::SimTime;

/// Requests of this cost, one at a time at each server, each in a step of a microsecond.
const COST: u64 = 100;
const STEPS: u64 = 20_000;

/// Flow 0 sends to both servers and flow 1 to the second alone; each keeps eight requests at every server
/// that it uses. Returns the number of requests that each got.
fn got(text: &str, heard: bool) -> [u64; 2] {
    let description: Description = text.parse().unwrap_or_else(|error| panic!("{error}"));
    let build = || description.build(&Flows::equal(2)).unwrap_or_else(|error| panic!("{error}"));
    let mut schedulers: [Scheduler<u32>; 2] = [build(), build()];
    let mut got = [0; 2];
    let send = |scheduler: &mut Scheduler<u32>, flow, now| {
        scheduler.arrive(now, Request::new(FlowId(flow), COST, 0));
    };
    for _ in 0..8 {
        send(&mut schedulers[0], 0, SimTime::ZERO);
        send(&mut schedulers[1], 0, SimTime::ZERO);
        send(&mut schedulers[1], 1, SimTime::ZERO);
    }
    for step in 1..=STEPS {
        let now = SimTime::from_ns(step * 1_000);
        let mut messages: VecDeque<(usize, Lengths)> = VecDeque::new();
        for (server, scheduler) in schedulers.iter_mut().enumerate() {
            scheduler.wake(now);
            let request = scheduler.next(now).expect("somebody always waits");
            scheduler.complete(now, &request);
            got[request.flow.0 as usize] += 1;
            send(scheduler, request.flow.0, now);
            while let Some((_, message)) = scheduler.tell() {
                messages.push_back((1 - server, message));
            }
        }
        for (to, message) in messages.into_iter().filter(|_| heard) {
            schedulers[to].hear(now, SchedulerId(1 - to as u32), message);
        }
    }
    got
}

/// Alone, the second server gives each flow half: three quarters to one of all. Together, flow 1 gets the
/// second server. A planted network that loses all messages leaves it at the former.
#[test]
fn flows_share_all_servers_by_weight() {
    for text in ["dsfq-a:4", "dsfq-d:4", "dsfq-f:4", "dsfq-atb:4:20us", "dsfq-alb:4:1kB"] {
        let [both, second] = got(text, true);
        assert!(second * 100 >= both * 95, "{text}: {both} to {second}");
        let [both, second] = got(text, false);
        assert!((28..=36).contains(&(second * 100 / both)), "{text}, unheard: {both} to {second}");
    }
    let [both, second] = got("sfq:4", true);
    assert!((28..=36).contains(&(second * 100 / both)), "sfq: {both} to {second}");
}

/// The same flows, and mClock at both servers. Requests carry their clients' feedback, or none.
fn got_by_clocks(feedback: bool) -> [u64; 2] {
    let build = || Mclock::new(Some(1), AtLimit::Wait, &Flows::equal(2));
    let mut clocks: [Mclock<u32>; 2] = [build(), build()];
    let mut trackers = [Tracker::new(), Tracker::new()];
    let mut got = [0; 2];
    let send =
        |clocks: &mut [Mclock<u32>; 2], trackers: &mut [Tracker; 2], flow: usize, server: usize, now| {
            let said = trackers[flow].send(server as u32);
            let about = About {
                feedback: if feedback { said } else { About::default().feedback },
                ..About::default()
            };
            clocks[server].arrive(now, Request::new(FlowId(flow as u32), COST, 0).about(about));
        };
    for (flow, server) in [(0, 0), (0, 1), (1, 1)].into_iter().cycle().take(24) {
        send(&mut clocks, &mut trackers, flow, server, SimTime::ZERO);
    }
    for step in 1..=STEPS {
        let now = SimTime::from_ns(step * 1_000);
        for server in 0..2 {
            let request = clocks[server].next(now).expect("somebody always waits");
            clocks[server].complete(now, &request);
            let flow = request.flow.0 as usize;
            got[flow] += 1;
            trackers[flow].served(server as u32, COST, Phase::of(&request.about));
            send(&mut clocks, &mut trackers, flow, server, now);
        }
    }
    got
}

/// A planted client that sends no feedback about the other server keeps three quarters of all.
#[test]
fn clients_of_dmclock_share_all_servers_by_weight() {
    let [both, second] = got_by_clocks(true);
    assert!(second * 100 >= both * 95, "{both} to {second}");
    let [both, second] = got_by_clocks(false);
    assert!((28..=36).contains(&(second * 100 / both)), "without feedback: {both} to {second}");
}
