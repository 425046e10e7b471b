//! Time that one request takes in each scheduler (arrival, dispatch and completion), with 64 flows that have
//! requests waiting, and with 4,096 flows for schedulers whose cost could grow with the number of flows.
//!
//! `cargo bench -p towtank-iosched -- [runs] [part of a case's name]`. Times are processor time where the
//! operating system reports it (Linux: `/proc/self/schedstat`), so that other work on the machine counts
//! less, and wall-clock time elsewhere.

use std::hint::black_box;
use std::time::Instant;

use towtank_iosched::{
    About, Access, Description, Discipline, FlowId, FlowSpec, Flows, Record, Request, Scheduler,
};
use towtank_units::{SimSpan, SimTime};

/// Requests that each flow has waiting, and the number of rounds over all flows in one repetition.
const WAITING: u32 = 4;
const ROUNDS: u32 = 8;

/// The measured cases: a description and the number of flows.
const CASES: [(&str, u32); 33] = [
    ("fifo:32", 64),
    ("sfq:32", 64),
    ("ssfq:32", 64),
    ("wfq:32", 64),
    ("wf2q+:32", 64),
    ("drr:32", 64),
    ("wrr:32", 64),
    ("priority:32", 64),
    ("dsfq-a:32", 64),
    ("dsfq-d:32", 64),
    ("dsfq-f:32", 64),
    ("dsfq-atb:32:100ms", 64),
    ("dsfq-alb:32:1MiB", 64),
    ("edf:32", 64),
    ("i2l", 64),
    ("sfqrc:32", 64),
    ("dta:32", 64),
    ("mclock:32", 64),
    ("crr-n:32", 64),
    ("orr:32", 64),
    ("trr:32", 64),
    ("tbf:32", 64),
    ("bfq:32:idle=0s", 64),
    ("token-bucket:32", 64),
    ("htb:32:rate=1TB/s", 64),
    ("sfq:32", 4_096),
    ("wfq:32", 4_096),
    ("wf2q+:32", 4_096),
    ("drr:32", 4_096),
    ("dsfq-d:32", 4_096),
    ("mclock:32", 4_096),
    ("tbf:32", 4_096),
    ("token-bucket:32", 4_096),
];

fn flows(count: u32) -> Flows {
    let spec = |number: u32| FlowSpec {
        weight: 1 + number % 7,
        priority: number % 4,
        reservation: 1 << 20,
        delay: SimSpan::from_ms(100),
        rate: 1 << 40,
        burst: 1 << 40,
        request_cost: 64 << 10,
        ..FlowSpec::default()
    };
    Flows::new((0..count).map(spec).collect())
}

fn request(number: u32, flows: u32, now: SimTime) -> Request<u32> {
    let flow = number.wrapping_mul(2_654_435_761) % flows;
    let about = About {
        client: flow,
        server: number % 4,
        object: u64::from(number % 512),
        offset: u64::from(number) << 12,
        access: Access::Read,
        rose: now,
        record: Record { id: u64::from(number), jobs: 1 },
        ..About::default()
    };
    Request::new(FlowId(flow), 4_096 + u64::from(number % 16) * 4_096, number).about(about)
}

/// One repetition: a request arrives and another is dispatched and completed, one microsecond apart, over and
/// over. Returns the number of requests served.
fn work(mut scheduler: Scheduler<u32>, flows: u32) -> u64 {
    let (mut now_ns, mut number, mut served) = (0, 0, 0);
    for _ in 0..flows * WAITING {
        scheduler.arrive(SimTime::ZERO, request(number, flows, SimTime::ZERO));
        number += 1;
    }
    for _ in 0..flows * WAITING * ROUNDS {
        now_ns += 1_000;
        let now = SimTime::from_ns(now_ns);
        scheduler.arrive(now, request(number, flows, now));
        number += 1;
        if scheduler.wake_at().is_some_and(|at| at <= now) {
            scheduler.wake(now);
        }
        while scheduler.tell().is_some() {}
        let Some(given) = scheduler.next(now) else { continue };
        scheduler.complete(now, black_box(&given));
        served += 1;
    }
    served
}

fn main() {
    if std::env::args().any(|argument| argument == "--help") {
        println!("schedulers [runs] [part of a case's name]: nanoseconds for one request in each scheduler");
        return;
    }
    let numbers: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let runs = numbers.first().copied().unwrap_or(9);
    let is_word = |argument: &String| argument.parse::<usize>().is_err() && !argument.starts_with("--");
    let wanted = std::env::args().skip(1).find(is_word).unwrap_or_default();
    println!("{runs} runs: median (least to greatest) for one request");
    for (text, count) in CASES.into_iter().filter(|case| case.0.contains(&wanted)) {
        let description: Description = text.parse().expect("every case is understood");
        let scheduler = description.build(&flows(count)).expect("every flow has a weight");
        let [least, median, most] = measure(runs, &scheduler, count);
        println!("{:34} {median:8.0} ({least:.0} to {most:.0}) ns", format!("{text}, {count} flows"));
    }
}

/// Least, median and greatest time per request, after one warm-up run that is not counted.
fn measure(runs: usize, scheduler: &Scheduler<u32>, flows: u32) -> [f64; 3] {
    // Short work is repeated: the operating system's processor time advances in steps of some milliseconds.
    let mut times = 1;
    while seconds(scheduler, flows, times).0 < 0.05 {
        times *= 2;
    }
    let one = |_| {
        let (seconds, served) = seconds(scheduler, flows, times);
        seconds * 1e9 / served as f64
    };
    let mut found: Vec<f64> = (0..runs.max(1)).map(one).collect();
    found.sort_by(f64::total_cmp);
    [found[0], found[found.len() / 2], found[found.len() - 1]]
}

#[allow(clippy::disallowed_methods, reason = "a bench is what measures")]
fn seconds(scheduler: &Scheduler<u32>, flows: u32, times: usize) -> (f64, u64) {
    let (wall, processor) = (Instant::now(), processor_ns());
    let served: u64 = (0..times).map(|_| work(scheduler.clone(), flows)).sum();
    let seconds = match (processor, processor_ns()) {
        (Some(before), Some(after)) if after > before => (after - before) as f64 / 1e9,
        _ => wall.elapsed().as_secs_f64(),
    };
    (seconds, served.max(1))
}

/// Processor time of this thread, if the operating system reports it.
fn processor_ns() -> Option<u64> {
    let account = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    account.split_whitespace().next()?.parse().ok()
}
