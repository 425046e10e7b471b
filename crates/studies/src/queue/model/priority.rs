//! Jobs of several classes in the model, and stations that serve the more urgent ones first.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use towtank_kernel::{Context, Fault, TimerId};
use towtank_metrics::Histogram;
use towtank_units::{SimSpan, SimTime};

use super::{Event, Job, Network, Part, within_time};

/// The times of jobs of one class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OfClass {
    /// Waits in nanoseconds.
    pub waits: Histogram,
    /// Responses in nanoseconds.
    pub responses: Histogram,
    /// Sojourns in nanoseconds.
    pub sojourns: Histogram,
}

impl OfClass {
    /// Adds one time.
    pub fn add(&mut self, part: Part, span: SimSpan) {
        match part {
            Part::Wait => self.waits.record(span.as_ns()),
            Part::Response => self.responses.record(span.as_ns()),
            Part::Sojourn => self.sojourns.record(span.as_ns()),
        }
    }

    /// Adds the times of another one.
    pub fn merge(&mut self, other: &OfClass) {
        self.waits.merge(&other.waits);
        self.responses.merge(&other.responses);
        self.sojourns.merge(&other.sojourns);
    }
}

/// The entry of a class, in a list that grows with the classes that were seen.
pub fn entry(classes: &mut Vec<OfClass>, class: u8) -> &mut OfClass {
    let at = usize::from(class);
    if classes.len() <= at {
        classes.resize_with(at + 1, OfClass::default);
    }
    &mut classes[at]
}

/// A station at which a more urgent job takes the server of a less urgent one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Preemptive {
    /// Jobs that wait, the next one first: by class, and in a class by arrival.
    waiting: VecDeque<Visit>,
    serving: Vec<Serving>,
    /// When the number of jobs here last changed.
    changed: SimTime,
    /// Jobs that came, and that were finished.
    came: u64,
    finished: u64,
}

/// A job at a station, with its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Visit {
    job: Job,
    /// The service that it takes in all, and what is left of it.
    work: SimSpan,
    left: SimSpan,
}

/// A job in service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Serving {
    visit: Visit,
    /// When it will be finished unless it is interrupted.
    until: SimTime,
    timer: TimerId,
}

impl Network {
    /// A job arrives at a station with interruptions.
    pub(super) fn arrive_urgent(&self, station: &mut Preemptive, job: Job, context: &mut Context<'_, Self>) {
        let before = station.number();
        station.came += 1;
        let job = Job { arrived: context.now(), ..job };
        let work = self.draw_service(job, context);
        let visit = Visit { job, work, left: work };
        if station.serving.len() < self.servers(context.me()) {
            self.begin(station, visit, context);
        } else if let Some(at) = station.less_urgent_than(job) {
            let stopped = station.serving.swap_remove(at);
            context.cancel(stopped.timer);
            let left = stopped.until.since(context.now());
            station.wait_first(Visit { left, ..stopped.visit });
            self.begin(station, visit, context);
        } else {
            let place = station.waiting.partition_point(|other| other.job.class <= job.class);
            station.waiting.insert(place, visit);
        }
        self.changed(&mut station.changed, [before, before + 1], context);
    }

    /// A service at a station with interruptions is over.
    pub(super) fn finish_urgent(
        &self,
        station: &mut Preemptive,
        job: Job,
        context: &mut Context<'_, Self>,
    ) -> Result<(), Fault> {
        let (before, now) = (station.number(), context.now());
        let over = |one: &Serving| one.visit.job == job && one.until == now;
        let place = station.serving.iter().position(over);
        let place = place.ok_or("a job was finished that no server worked at")?;
        let Serving { visit, .. } = station.serving.swap_remove(place);
        station.finished += 1;
        let response = now.since(job.arrived);
        self.measure(Part::Wait, response.saturating_sub(visit.work), job, context);
        self.measure(Part::Response, response, job, context);
        self.send_on(job, context);
        if let Some(next) = station.waiting.pop_front() {
            self.begin(station, next, context);
        }
        self.changed(&mut station.changed, [before, before - 1], context);
        Ok(())
    }

    /// A free server takes a job, or takes it up again.
    fn begin(&self, station: &mut Preemptive, visit: Visit, context: &mut Context<'_, Self>) {
        let span = within_time(visit.left, context);
        let timer = context.set_timer(span, Event::Finish(visit.job));
        let until = context.now().saturating_add(span);
        station.serving.push(Serving { visit, until, timer });
    }
}

impl Preemptive {
    /// Jobs waiting and in service.
    #[must_use]
    pub fn number(&self) -> u32 {
        (self.serving.len() + self.waiting.len()) as u32
    }

    /// When the number of jobs here last changed.
    #[must_use]
    pub fn changed(&self) -> SimTime {
        self.changed
    }

    /// The place of the job in service that makes way for this one: of the least urgent ones, the last that
    /// came.
    fn less_urgent_than(&self, job: Job) -> Option<usize> {
        let rank = |one: &Serving| (one.visit.job.class, one.visit.job.arrived);
        let last = self.serving.iter().enumerate().max_by_key(|(at, one)| (rank(one), *at));
        last.filter(|(_, one)| one.visit.job.class > job.class).map(|(at, _)| at)
    }

    /// Lets an interrupted job wait, before those of its class that came later.
    fn wait_first(&mut self, visit: Visit) {
        let rank = |visit: &Visit| (visit.job.class, visit.job.arrived);
        let place = self.waiting.partition_point(|other| rank(other) < rank(&visit));
        self.waiting.insert(place, visit);
    }

    /// Jobs that came and that were finished.
    #[must_use]
    pub fn flow(&self) -> [u64; 2] {
        [self.came, self.finished]
    }

    /// Checks the laws of a station with these servers, of which these services will end.
    ///
    /// # Errors
    /// The law that does not hold.
    pub(crate) fn audit(&self, servers: u32, ends: &[(SimTime, Job)]) -> Result<(), String> {
        let (came, finished, number) = (self.came, self.finished, u64::from(self.number()));
        if came != finished + number {
            return Err(format!("{came} jobs came, but {finished} were finished and {number} are there"));
        }
        let (serving, waiting) = (self.serving.len(), self.waiting.len());
        if serving > servers as usize {
            return Err(format!("{serving} jobs are in service, but there are {servers} servers"));
        }
        if serving < servers as usize && waiting > 0 {
            return Err(format!(
                "{waiting} jobs wait, though {} servers are idle",
                servers as usize - serving
            ));
        }
        // Ends of services that were interrupted are still among the events, and are dropped when they are
        // due.
        let mut wanted: Vec<(SimTime, Job)> =
            self.serving.iter().map(|one| (one.until, one.visit.job)).collect();
        wanted.sort_unstable();
        let mut ends = ends.to_vec();
        ends.sort_unstable();
        let mut rest = ends.into_iter();
        if !wanted.iter().all(|one| rest.any(|end| end == *one)) {
            return Err(format!("{serving} jobs are in service, but not all of them will be finished"));
        }
        let rank = |visit: &Visit| (visit.job.class, visit.job.arrived);
        if !self.waiting.iter().is_sorted_by_key(rank) {
            return Err("jobs wait in another order than by class and arrival".to_owned());
        }
        let least = self.serving.iter().map(|one| one.visit.job.class).max();
        if let (Some(first), Some(least)) = (self.waiting.front(), least)
            && first.job.class < least
        {
            return Err("a job waits while a less urgent one is served".to_owned());
        }
        if self.waiting.iter().any(|visit| visit.left > visit.work) {
            return Err("a waiting job has more work left than it came with".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
