//! Laws that every discipline keeps, and planted disciplines that break each.

use std::collections::BTreeMap;

use proptest::prelude::*;
use towtank_iosched::NoMessage;
use towtank_iosched::{
    About, Access, Description, Discipline, Fifo, FlowSpec, Flows, Record, Request, Scheduler,
};
use towtank_units::{SimSpan, SimTime};

use super::server::{Job, Server, Trace, run};

/// Units of cost per second, and a number of slots that no depth of these tests reaches.
const RATE: u64 = 1_000_000;
const PLACES: usize = 16;

/// Every scheduler, the depth that it must keep, if any, and whether it is work-conserving.
const ALL: [(&str, Option<usize>, bool); 30] = [
    ("fifo", None, true),
    ("fifo:3", Some(3), true),
    ("sfq:3", Some(3), true),
    ("ssfq:3:piece=200", Some(3), true),
    ("wfq:3", Some(3), true),
    ("wf2q+:3", Some(3), true),
    ("drr:3:quantum=100", Some(3), true),
    ("wrr:3", Some(3), true),
    ("priority:3", Some(3), true),
    ("dsfq-a:3", Some(3), true),
    ("dsfq-d:3", Some(3), true),
    ("dsfq-f:3", Some(3), true),
    ("dsfq-atb:3:1ms", Some(3), true),
    ("dsfq-alb:3:1kB", Some(3), true),
    ("edf:3", Some(3), true),
    ("i2l:sarc=2ms:avatar=5ms", None, false),
    ("sfqrc:3:read=1MB/s:write=1MB/s:seek=10us:step=20us", None, false),
    ("dta:3:lag=50", Some(3), true),
    ("mclock:3", Some(3), false),
    ("mclock:3:at-limit=allow", Some(3), true),
    ("crr-n:3:quantum=2", Some(3), true),
    ("orr:3:quantum=3:for=reads", Some(3), true),
    ("trr:3:quantum=3:for=both", Some(3), true),
    ("tbf:3", Some(3), false),
    ("tbf:3:depth=1:realtime", Some(3), false),
    ("bfq:3:min=200:max=2000:idle=1ms", Some(3), false),
    ("bfq:3:min=200:max=2000:idle=0s", Some(3), true),
    ("token-bucket:3", Some(3), false),
    ("htb:3:rate=500000:burst=1000", Some(3), false),
    ("htb:3:rate=500000:burst=1000:lend", Some(3), false),
];

fn flows() -> Flows {
    let spec = |number: u64| FlowSpec {
        weight: 1 + number as u32,
        priority: number as u32 % 2,
        reservation: 50_000 * number,
        limit: if number == 1 { 100_000 } else { 0 },
        delay: SimSpan::from_ms(3 - number),
        rate: 2_000 * (number + 1),
        burst: if number == 2 { 500 } else { 1_500 },
        request_cost: 300,
    };
    Flows::new((0..3).map(spec).collect())
}

fn scheduler(text: &str) -> Scheduler<u32> {
    let description: Description = text.parse().unwrap_or_else(|error| panic!("{error}"));
    description.build(&flows()).unwrap_or_else(|error| panic!("{error}"))
}

fn jobs() -> impl Strategy<Value = Vec<Job>> {
    let one = (0u64..600_000, 0u32..3, 0u64..1_000, 0u64..4, 0u64..50, prop::bool::ANY);
    prop::collection::vec(one, 1..60).prop_map(|raw| {
        let mut now = 0;
        let job =
            |(number, (gap, flow, cost, object, offset, writes)): (u64, (u64, u32, u64, u64, u64, bool))| {
                now += gap / (1 + number % 4) * (number % 3);
                let rose = SimTime::from_ns(now.saturating_sub(gap));
                let access = if writes { Access::Write } else { Access::Read };
                let record = Record { id: number / 2, jobs: 2 };
                let (client, server) = (object as u32, (offset % 2) as u32);
                let about =
                    About { client, server, object, offset, access, rose, record, ..About::default() };
                Job { about, ..Job::new(now, flow, cost) }
            };
        (0..).zip(raw).map(job).collect()
    })
}

/// Each request is given once, whole or in pieces that add up to it, is completed once, and nothing else is.
fn conserves(jobs: &[Job], trace: &Trace) -> Result<(), String> {
    for steps in [&trace.given, &trace.done] {
        let mut seen: BTreeMap<u32, (u64, u32)> = BTreeMap::new();
        for step in steps {
            let one = seen.entry(step.item).or_default();
            *one = (one.0 + step.cost, one.1 + u32::from(step.last));
        }
        for (item, job) in (0..).zip(jobs) {
            match seen.remove(&item) {
                Some((cost, 1)) if cost == job.cost => (),
                other => return Err(format!("request {item} of {} was seen as {other:?}", job.cost)),
            }
        }
        if !seen.is_empty() {
            return Err(format!("these never came: {seen:?}"));
        }
    }
    Ok(())
}

/// At most `depth` requests are in service; of a scheduler in front of several servers, at each of them.
fn keeps_depth(depth: usize, each_server: bool, trace: &Trace) -> Result<(), String> {
    let most = |step: &super::server::Step| if each_server { step.in_service.1 } else { step.in_service.0 };
    match trace.given.iter().find(|step| most(step) > depth) {
        Some(step) => Err(format!("{} are in service at {} ns, depth {depth}", most(step), step.at_ns)),
        None => Ok(()),
    }
}

/// No request waits while fewer than the depth are in service.
fn conserves_work(depth: Option<usize>, trace: &Trace) -> Result<(), String> {
    let room = depth.unwrap_or(PLACES);
    match trace.held_back.iter().find(|held| held.1 < room) {
        Some((at_ns, serving)) => {
            Err(format!("at {at_ns} ns somebody waits, and {serving} of {room} are served"))
        }
        None => Ok(()),
    }
}

/// Two clones made in the middle of a run end in the same way, and so does a serialised copy.
fn has_one_future<D>(discipline: D, jobs: &[Job]) -> Result<(), String>
where
    D: Discipline<Item = u32> + serde::Serialize + serde::de::DeserializeOwned,
{
    let mut one = Server::new(discipline, jobs, RATE, PLACES);
    one.run(jobs[jobs.len() / 2].at_ns)?;
    let mut other = one.clone();
    let written = serde_json::to_string(&one.discipline).map_err(|error| error.to_string())?;
    let mut read = one.clone();
    read.discipline = serde_json::from_str(&written).map_err(|error| error.to_string())?;
    for server in [&mut one, &mut other, &mut read] {
        server.run(u64::MAX)?;
    }
    if one.trace != other.trace {
        return Err("a clone went another way".to_owned());
    }
    if one.trace != read.trace {
        return Err("what was read back went another way".to_owned());
    }
    Ok(())
}

/// All of these laws, for one discipline.
fn keeps_all<D>(
    discipline: D,
    jobs: &[Job],
    (depth, works, each_server): (Option<usize>, bool, bool),
) -> Result<(), String>
where
    D: Discipline<Item = u32> + serde::Serialize + serde::de::DeserializeOwned,
{
    let trace = run(discipline.clone(), jobs, RATE, PLACES)?;
    conserves(jobs, &trace)?;
    depth.map_or(Ok(()), |depth| keeps_depth(depth, each_server, &trace))?;
    // Of several servers one may have work and no free slot while another has a free slot and no work.
    if works && !each_server {
        conserves_work(depth, &trace)?;
    }
    has_one_future(discipline, jobs)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn every_scheduler_keeps_the_laws(jobs in jobs()) {
        for (text, depth, works) in ALL {
            let kept = keeps_all(scheduler(text), &jobs, (depth, works, text.starts_with("dta")));
            prop_assert!(kept.is_ok(), "{}: {:?}", text, kept);
        }
    }
}

/// The fault of a planted discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
enum Fault {
    None,
    Loses,
    Repeats,
    HoldsBack,
    SleepsSilently,
    TooDeep,
    Forgets,
}

/// First come, first served, with a fault.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
struct Planted {
    fault: Fault,
    fifo: Fifo<u32>,
    given: u64,
    /// Not serialised, for the fault of that name.
    #[serde(skip)]
    bias: bool,
}

impl Discipline for Planted {
    type Item = u32;
    type Message = NoMessage;

    fn arrive(&mut self, now: SimTime, request: Request<u32>) {
        if self.fault == Fault::Loses && request.item % 3 == 1 {
            return;
        }
        if self.fault == Fault::Repeats && request.item % 3 == 1 {
            self.fifo.arrive(now, request.clone());
        }
        self.bias |= self.fault == Fault::Forgets && request.item == 0;
        self.fifo.arrive(now, request);
    }

    fn next(&mut self, now: SimTime) -> Option<Request<u32>> {
        let waits = self.fifo.waiting().count();
        let holds = match self.fault {
            Fault::HoldsBack => waits == 1 && self.given > 0,
            Fault::SleepsSilently => waits == 1 && now.as_ns() < 1_000_000_000,
            _ => false,
        };
        if holds || self.bias {
            return None;
        }
        let request = self.fifo.next(now)?;
        self.given += 1;
        Some(request)
    }

    fn complete(&mut self, now: SimTime, served: &Request<u32>) {
        self.given -= 1;
        self.fifo.complete(now, served);
    }

    fn wake_at(&self) -> Option<SimTime> {
        self.bias.then(|| SimTime::from_ns(2_000_000_000))
    }

    fn wake(&mut self, _: SimTime) {
        self.bias = false;
    }

    fn waiting(&self) -> Box<dyn Iterator<Item = &Request<u32>> + '_> {
        self.fifo.waiting()
    }
}

#[test]
fn planted_faults_are_found() {
    let jobs: Vec<Job> = (0..12).map(|number| Job::new(number / 4 * 100_000, 0, 300)).collect();
    let kept = |fault, depth: Option<u32>| {
        let fifo = Fifo::with_depth(if fault == Fault::TooDeep { None } else { depth });
        let planted = Planted { fault, fifo, given: 0, bias: false };
        keeps_all(planted, &jobs, (depth.map(|depth| depth as usize), fault != Fault::Forgets, false))
    };
    assert_eq!(kept(Fault::None, Some(2)), Ok(()));
    for (fault, want) in [
        (Fault::Loses, "request 1 of 300 was seen as None"),
        (Fault::Repeats, "request 1 of 300 was seen as Some((600, 2))"),
        (Fault::HoldsBack, "somebody waits, and 1 of 2 are served"),
        (Fault::SleepsSilently, "1 wait, nothing is served, and nobody is to wake"),
        (Fault::TooDeep, "3 are in service at 0 ns, depth 2"),
    ] {
        let found = kept(fault, Some(2)).expect_err("a fault was planted");
        assert!(found.contains(want), "{fault:?}: {found}");
    }
    let late: Vec<Job> = [0, 10_000_000].map(|at_ns| Job::new(at_ns, 0, 300)).to_vec();
    let planted = Planted { fault: Fault::Forgets, fifo: Fifo::new(), given: 0, bias: false };
    let found = has_one_future(planted, &late).expect_err("a field is not written");
    assert!(found.contains("read back") || found.contains("nobody is to wake"), "{found}");
}
