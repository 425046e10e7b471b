//! A server behind a discipline, which drives the trait as documented: a number of slots, each serving at one
//! rate. It records all events, and reports where a law that every discipline keeps is broken.

use std::collections::{BTreeMap, BTreeSet};

use towtank_iosched::{About, Discipline, FlowId, Request};
use towtank_units::SimTime;

/// A request to come: instant, flow, cost and properties.
#[derive(Clone, Debug)]
pub struct Job {
    pub at_ns: u64,
    pub flow: u32,
    pub cost: u64,
    pub about: About,
}

impl Job {
    pub fn new(at_ns: u64, flow: u32, cost: u64) -> Job {
        let about = About { rose: SimTime::from_ns(at_ns), ..About::default() };
        Job { at_ns, flow, cost, about }
    }
}

/// A request that a discipline gave, or that was completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub at_ns: u64,
    pub flow: u32,
    pub cost: u64,
    pub item: u32,
    /// Whether this is the last piece of the request.
    pub last: bool,
    /// Flows that have requests waiting after it.
    pub waiting: BTreeSet<u32>,
    /// The number in service after it, in all and at the server of this request.
    pub in_service: (usize, usize),
}

/// The events of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    pub given: Vec<Step>,
    pub done: Vec<Step>,
    /// Instants at which a request waited, a slot was free, and nothing was given; with the number in
    /// service.
    pub held_back: Vec<(u64, usize)>,
}

/// A server behind a discipline.
#[derive(Clone)]
pub struct Server<D: Discipline<Item = u32>> {
    pub discipline: D,
    jobs: Vec<Job>,
    came: usize,
    /// Units of cost per second and slot.
    rate: u64,
    places: usize,
    now: u64,
    /// By end and number.
    serving: BTreeMap<(u64, u64), Request<u32>>,
    started: u64,
    pub trace: Trace,
}

impl<D: Discipline<Item = u32>> Server<D> {
    pub fn new(discipline: D, jobs: &[Job], rate: u64, places: usize) -> Server<D> {
        Server {
            discipline,
            jobs: jobs.to_vec(),
            came: 0,
            rate,
            places,
            now: 0,
            serving: BTreeMap::new(),
            started: 0,
            trace: Trace::default(),
        }
    }

    /// Runs to the end, or to the last event before an instant.
    pub fn run(&mut self, until_ns: u64) -> Result<(), String> {
        while let Some(next) = self.next_event().filter(|&next| next < until_ns) {
            self.now = next;
            self.happen();
            self.ask()?;
        }
        let waits = self.discipline.waiting().count();
        if until_ns == u64::MAX && waits > 0 {
            return Err(format!("{waits} wait for ever"));
        }
        Ok(())
    }

    fn next_event(&self) -> Option<u64> {
        let arrival = self.jobs.get(self.came).map(|job| job.at_ns);
        let end = self.serving.keys().next().map(|&(end, _)| end);
        let wake = self.discipline.wake_at().map(|at| at.as_ns().max(self.now));
        // A discipline without requests may still want to send messages, which do not matter here.
        let wake =
            wake.filter(|_| arrival.is_some() || end.is_some() || self.discipline.waiting().next().is_some());
        arrival.into_iter().chain(end).chain(wake).min()
    }

    fn happen(&mut self) {
        let now = SimTime::from_ns(self.now);
        while let Some(first) = self.serving.first_entry().filter(|first| first.key().0 <= self.now) {
            let request = first.remove();
            let last = self.discipline.finishes(&request);
            self.discipline.complete(now, &request);
            let step = self.step(&request, last);
            self.trace.done.push(step);
        }
        while let Some(job) = self.jobs.get(self.came).filter(|job| job.at_ns <= self.now) {
            let request = Request::new(FlowId(job.flow), job.cost, self.came as u32).about(job.about);
            self.came += 1;
            self.discipline.arrive(now, request);
        }
        if self.discipline.wake_at().is_some_and(|at| at <= now) {
            self.discipline.wake(now);
        }
    }

    fn ask(&mut self) -> Result<(), String> {
        let now = SimTime::from_ns(self.now);
        while self.serving.len() < self.places {
            let Some(request) = self.discipline.next(now) else { break };
            let service = (u128::from(request.cost) * 1_000_000_000).div_ceil(u128::from(self.rate)) as u64;
            self.serving.insert((self.now + service, self.started), request.clone());
            self.started += 1;
            let step = self.step(&request, !request.about.piece.has_more());
            self.trace.given.push(step);
        }
        while self.discipline.tell().is_some() {}
        let waits = self.discipline.waiting().count();
        if waits > 0 && self.serving.len() < self.places {
            self.trace.held_back.push((self.now, self.serving.len()));
            let wakes = self.discipline.wake_at().is_some_and(|at| at > now);
            if self.serving.is_empty() && !wakes {
                return Err(format!(
                    "at {} ns {waits} wait, nothing is served, and nobody is to wake",
                    self.now
                ));
            }
        }
        Ok(())
    }

    fn step(&self, request: &Request<u32>, last: bool) -> Step {
        let here = |other: &&Request<u32>| other.about.server == request.about.server;
        Step {
            at_ns: self.now,
            flow: request.flow.0,
            cost: request.cost,
            item: request.item,
            last,
            waiting: self.discipline.waiting().map(|request| request.flow.0).collect(),
            in_service: (self.serving.len(), self.serving.values().filter(here).count()),
        }
    }
}

/// Runs all jobs.
pub fn run<D: Discipline<Item = u32>>(
    discipline: D,
    jobs: &[Job],
    rate: u64,
    places: usize,
) -> Result<Trace, String> {
    let mut server = Server::new(discipline, jobs, rate, places);
    server.run(u64::MAX)?;
    Ok(server.trace)
}
