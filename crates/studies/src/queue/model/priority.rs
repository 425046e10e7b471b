//! Jobs of several classes in the model, and stations that serve the more urgent ones first.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use towtank_kernel::{Context, Fault, TimerId};
use towtank_units::{SimSpan, SimTime};

use super::audit;
use super::{Event, Job, Network, Part, within_time};
use crate::queue::order::Order;

/// A station at which a more urgent job takes the server of a less urgent one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Preemptive {
    /// Jobs that wait, the next one first: by class, and in a class by arrival.
    waiting: VecDeque<Visit>,
    serving: Vec<Serving>,
    /// When the number of jobs here last changed.
    pub changed: SimTime,
    /// Jobs that came, and that were finished.
    pub came: u64,
    pub finished: u64,
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
        if station.serving.len() < self.spec(context.me()).servers as usize {
            self.begin(station, visit, context);
        } else if let Some(at) = station.less_urgent_than(job) {
            let stopped = station.serving.swap_remove(at);
            context.cancel(stopped.timer);
            let left = stopped.until.since(context.now());
            station.wait_first(Visit { left, ..stopped.visit });
            self.begin(station, visit, context);
        } else {
            Order::Preemptive.enqueue(&mut station.waiting, visit, |visit| visit.job.class);
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
    pub fn number(&self) -> u32 {
        (self.serving.len() + self.waiting.len()) as u32
    }

    /// The place of the job in service that makes way for this one: of the least urgent ones, the last that
    /// came.
    fn less_urgent_than(&self, job: Job) -> Option<usize> {
        let last = self.serving.iter().enumerate().max_by_key(|(at, one)| (rank(&one.visit), *at));
        last.filter(|(_, one)| one.visit.job.class > job.class).map(|(at, _)| at)
    }

    /// Lets an interrupted job wait, before those of its class that came later.
    fn wait_first(&mut self, visit: Visit) {
        let place = self.waiting.partition_point(|other| rank(other) < rank(&visit));
        self.waiting.insert(place, visit);
    }

    /// Checks the laws of a station with these servers, of which these services will end.
    pub(crate) fn audit(&self, servers: u32, ends: &[(SimTime, Job)]) -> Result<[u64; 2], String> {
        // Ends of services that were interrupted are still among the events, and are dropped when they are
        // due.
        let mut wanted: Vec<(SimTime, Job)> =
            self.serving.iter().map(|one| (one.until, one.visit.job)).collect();
        wanted.sort_unstable();
        let mut ends = ends.to_vec();
        ends.sort_unstable();
        let mut rest = ends.into_iter();
        let least = self.serving.iter().map(|one| one.visit.job.class).max();
        let urgent = |visit: &Visit| least.is_some_and(|least| visit.job.class < least);
        let own = [
            (
                wanted.iter().all(|one| rest.any(|end| end == *one)),
                "not all jobs in service will be finished",
            ),
            (
                self.waiting.iter().is_sorted_by_key(rank),
                "jobs wait in another order than by class and arrival",
            ),
            (!self.waiting.front().is_some_and(urgent), "a job waits while a less urgent one is served"),
            (
                self.waiting.iter().all(|visit| visit.left <= visit.work),
                "a waiting job has more work left than it came with",
            ),
        ];
        let own = own.map(|(holds, law)| (holds, law.to_owned()));
        let [waiting, serving] = [self.waiting.len(), self.serving.len()];
        audit::laws([self.came, self.finished], [waiting, serving, servers as usize], own)
    }
}

/// Jobs wait in this order.
fn rank(visit: &Visit) -> (u8, SimTime) {
    (visit.job.class, visit.job.arrived)
}

#[cfg(test)]
mod tests;
