//! Shortest request first: how much sooner are requests done, and can it avoid starving a long one?
//!
//! An example of a custom scheduler. Run it with `cargo run -p towtank-iosched --example own`.

use std::collections::VecDeque;

use towtank_iosched::{Discipline, Fifo, FlowId, NoMessage, Request};
use towtank_units::{SimSpan, SimTime};

/// The cheapest request first. A request that has waited for longer than `patience` goes before all others.
#[derive(Clone)]
struct Shortest<T> {
    patience: SimSpan,
    /// Requests and their arrival times, in order of arrival.
    waiting: VecDeque<(SimTime, Request<T>)>,
}

impl<T: Clone> Discipline for Shortest<T> {
    type Item = T;
    type Message = NoMessage;

    fn arrive(&mut self, now: SimTime, request: Request<T>) {
        self.waiting.push_back((now, request));
    }

    fn next(&mut self, now: SimTime) -> Option<Request<T>> {
        let &(came, _) = self.waiting.front()?;
        let overdue = now.since(came) > self.patience;
        let cost = |&place: &usize| self.waiting[place].1.cost;
        let first = if overdue { 0 } else { (0..self.waiting.len()).min_by_key(cost)? };
        self.waiting.remove(first).map(|waiting| waiting.1)
    }

    fn waiting(&self) -> Box<dyn Iterator<Item = &Request<T>> + '_> {
        Box::new(self.waiting.iter().map(|waiting| &waiting.1))
    }
}

/// When each of 41 requests is done at a server that serves one at a time, in 10 ms per MiB, rounded up to
/// whole ms. A short request arrives every 3 ms and takes 3 ms; the long one, the last of the list, arrives
/// at 1 ms and takes 40 ms.
fn finishes(mut discipline: impl Discipline<Item = usize>) -> Vec<u64> {
    let mut coming: Vec<(u64, usize, u64)> =
        (0..40).map(|number| (number as u64 * 3, number, 256 << 10)).collect();
    coming.insert(1, (1, 40, 4 << 20));
    let (mut coming, mut now_ms, mut done) = (coming.into_iter().peekable(), 0, vec![0; 41]);
    while done.contains(&0) {
        while let Some((at_ms, item, cost)) = coming.next_if(|one| one.0 <= now_ms) {
            discipline.arrive(SimTime::from_ns(at_ms * 1_000_000), Request::new(FlowId(0), cost, item));
        }
        let now = SimTime::from_ns(now_ms * 1_000_000);
        let Some(request) = discipline.next(now) else {
            now_ms += 1;
            continue;
        };
        now_ms += (request.cost * 10).div_ceil(1 << 20);
        done[request.item] = now_ms;
        discipline.complete(SimTime::from_ns(now_ms * 1_000_000), &request);
    }
    done
}

/// The result, in the words that `main` prints.
pub fn answer() -> String {
    let line = |name: &str, done: Vec<u64>| {
        let late: u64 = (0..40).map(|number| done[number] - number as u64 * 3).sum();
        format!("{name:22} {:5.1} ms {:8} ms\n", late as f64 / 40.0, done[40] - 1)
    };
    let shortest = |ms| Shortest { patience: SimSpan::from_ms(ms), waiting: VecDeque::new() };
    [
        format!("{:22} {:>8} {:>11}\n", "scheduler", "short", "long"),
        line("first come", finishes(Fifo::new())),
        line("shortest, patience 50", finishes(shortest(50))),
        line("shortest, patience 9 s", finishes(shortest(9_000))),
    ]
    .concat()
}

#[allow(dead_code, reason = "the test that compares the output has a main of its own")]
fn main() {
    print!("{}", answer());
}
