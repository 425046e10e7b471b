//! Two servers, each with a DSFQ scheduler: what flows get of both together goes by weight, however their data lies.

use std::collections::VecDeque;

use towtank_iosched::{Description, Discipline, FlowId, Flows, Lengths, Request, Scheduler, SchedulerId};
use towtank_units::SimTime;

/// Requests of this cost, one at a time at each server, each in a step of a microsecond.
const COST: u64 = 100;
const STEPS: u64 = 20_000;

/// Flow 0 sends to both servers and flow 1 to the second alone; each keeps eight requests with every server that it
/// uses. Returns what they got, in requests.
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

/// Alone, the second server gives each flow half: three quarters to one of all. Together, flow 1 gets the second
/// server. A planted network that loses all messages leaves it at the former.
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
