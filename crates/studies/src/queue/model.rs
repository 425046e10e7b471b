//! The network on the kernel: sources, stations and the exit, and the jobs that travel between them.
//!
//! A source sends itself a `Create` for each job. A job is an event that arrives at a station, waits there if
//! all servers are busy, comes back to the station as `Finish` when its service is over, and goes on to
//! another station or the exit. Entities share no state: they communicate by events alone.
//!
//! **Conservation:** jobs created and finished = jobs that came to stations or left + jobs on their way; at
//! each station, jobs that came = finished + waiting + in service, and each in service will be finished
//! there. [`Model::audit`] checks it.

mod audit;
mod priority;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use towtank_kernel::{
    Committed, Context, EntityId, Fault, Links, Model, Outcome, RunError, RunOptions, Runs, Statistics,
};
use towtank_metrics::{Histogram, LevelTimes};
use towtank_streams::distributions::{DistributionError, Exponential};
use towtank_streams::{Purpose, Uniform};
use towtank_units::{Percent, SimSpan, SimTime};

use super::order::Order;
use super::scenario::Settled;
use super::service::{self, Sampler};
use super::stations::routes;

use priority::Preemptive;

/// The time until the next job arrives from outside.
const ARRIVAL: Purpose = Purpose(1);
/// The service time of a job.
const SERVICE: Purpose = Purpose(2);
/// The route of a finished job.
const ROUTE: Purpose = Purpose(3);
/// The class of a job from outside, where there are several.
const CLASS: Purpose = Purpose(4);

/// A network of stations, ready for the kernel. Entities are the stations, then a source for each station
/// with arrivals from outside, then the exit.
#[derive(Clone, Debug)]
pub struct Network {
    stations: Vec<StationSpec>,
    sources: Vec<SourceSpec>,
    /// The cumulative shares of the classes; empty where all jobs are alike.
    classes: Vec<u64>,
    travel: SimSpan,
    measured_from: SimTime,
    trace_until: SimTime,
}

#[derive(Clone, Debug)]
struct StationSpec {
    name: String,
    servers: u32,
    order: Order,
    /// The service times of each class; one entry where all jobs are alike.
    services: Vec<Sampler>,
    /// Stations with the cumulative shares up to them; the rest leaves.
    routes: Vec<(u64, EntityId)>,
}

#[derive(Clone, Debug)]
struct SourceSpec {
    station: EntityId,
    gap: Exponential,
}

/// The state of one entity.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Entity {
    /// A source of jobs, and how many it has created.
    Source { created: u64 },
    /// A queue and its servers.
    Station(Station),
    /// A station where more urgent jobs interrupt the service of others.
    Preemptive(Preemptive),
    /// The exit, where jobs leave the network, and how many have.
    Exit { left: u64 },
}

/// A queue and its servers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Station {
    pub waiting: VecDeque<Job>,
    in_service: u32,
    /// When the number of jobs here last changed.
    changed: SimTime,
    /// Jobs that came, and that were finished.
    came: u64,
    finished: u64,
}

/// A job, as it travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Job {
    /// When it arrived at its first station.
    pub entered: SimTime,
    /// When it arrived at its current station, or at the last one.
    pub arrived: SimTime,
    /// Its class; 0 is the most urgent.
    pub class: u8,
}

/// An event of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Event {
    /// A source creates a job.
    Create,
    /// A job arrives at a station.
    Arrive(Job),
    /// A server has finished a job.
    Finish(Job),
    /// A job arrives at the exit.
    Leave(Job),
}

/// One observation for the statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sample {
    /// `number` jobs, waiting and in service, were at the station for this long after the warm-up.
    Held { number: u32, span: SimSpan },
    /// A time of a job that ended after the warm-up, and its class where there are several.
    Time { part: Part, span: SimSpan, class: Option<u8> },
}

/// What a time of a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Part {
    /// From arrival to the beginning of service; with interruptions, all time without service.
    Wait,
    /// From arrival to the end of service.
    Response,
    /// From arrival at the first station to the end of service at the last.
    Sojourn,
}

/// Times of jobs, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Times {
    pub waits: Histogram,
    pub responses: Histogram,
    pub sojourns: Histogram,
}

impl Times {
    fn add(&mut self, part: Part, span: SimSpan) {
        let times = match part {
            Part::Wait => &mut self.waits,
            Part::Response => &mut self.responses,
            Part::Sojourn => &mut self.sojourns,
        };
        times.record(span.as_ns());
    }

    pub fn merge(&mut self, other: &Times) {
        self.waits.merge(&other.waits);
        self.responses.merge(&other.responses);
        self.sojourns.merge(&other.sojourns);
    }
}

/// The statistics of one entity: numbers, waits and responses at stations, sojourns at the exit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Counts {
    /// For how long the station held each number of jobs.
    pub numbers: LevelTimes,
    pub times: Times,
    /// Those of each class that was seen; empty where all jobs are alike.
    pub classes: Vec<Times>,
}

/// A change of the number of jobs at a station, recorded in the first part of a run, for the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The number of jobs, waiting and in service, from now on.
    pub number: u32,
}

impl Counts {
    /// The entry of a class, in a list that grows with the classes that were seen.
    fn class(&mut self, class: usize) -> &mut Times {
        let seen = self.classes.len().max(class + 1);
        self.classes.resize_with(seen, Times::default);
        &mut self.classes[class]
    }
}

impl Statistics for Counts {
    type Sample = Sample;

    fn add(&mut self, sample: Sample) {
        match sample {
            Sample::Held { number, span } => self.numbers.record(number, span),
            Sample::Time { part, span, class } => {
                self.times.add(part, span);
                class.into_iter().for_each(|class| self.class(class.into()).add(part, span));
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        self.numbers.merge(&other.numbers);
        self.times.merge(&other.times);
        for (class, theirs) in other.classes.iter().enumerate() {
            self.class(class).merge(theirs);
        }
    }
}

impl Network {
    /// The network of a complete scenario, whose rates are above zero. Changes before `trace_until` are
    /// recorded.
    pub fn new(scenario: &Settled, trace_until: SimTime) -> Result<Network, DistributionError> {
        let (mut stations, mut sources) = (Vec::new(), Vec::new());
        for ((name, station), routes) in scenario.stations.iter().zip(routes(&scenario.stations)) {
            let id = entity(stations.len());
            if !station.arrival_rate.is_zero() {
                let gap = Exponential::with_mean(station.arrival_rate.mean_gap_ns_f64())?;
                sources.push(SourceSpec { station: id, gap });
            }
            let services = station.services(&scenario.classes).into_iter();
            stations.push(StationSpec {
                name: name.clone(),
                servers: station.servers,
                order: station.order,
                services: services.map(|(service, rate)| service.sampler(rate)).collect::<Result<_, _>>()?,
                routes: cumulated(routes.into_iter().map(|(to, share)| (share, entity(to)))),
            });
        }
        let shares = scenario.classes.iter().map(|class| (class.share, ()));
        let classes = cumulated(shares).into_iter().map(|(end, ())| end).collect();
        let (travel, measured_from) = (scenario.travel, scenario.measured_from());
        Ok(Network { stations, sources, classes, travel, measured_from, trace_until })
    }

    fn exit(&self) -> EntityId {
        entity(self.stations.len() + self.sources.len())
    }

    fn spec(&self, id: EntityId) -> &StationSpec {
        &self.stations[id.0 as usize]
    }

    fn source(&self, id: EntityId) -> &SourceSpec {
        &self.sources[id.0 as usize - self.stations.len()]
    }

    /// Schedules the next job.
    fn await_job(&self, context: &mut Context<'_, Self>) {
        let source = self.source(context.me());
        let gap = service::nearest(&source.gap, &mut context.draws(ARRIVAL));
        context.send(context.me(), within_time(gap, context), Event::Create);
    }

    fn create_job(&self, created: &mut u64, context: &mut Context<'_, Self>) {
        *created += 1;
        let entered = context.now().saturating_add(self.travel);
        let job = Job { entered, arrived: entered, class: self.draw_class(context) };
        context.send(self.source(context.me()).station, self.travel, Event::Arrive(job));
        self.await_job(context);
    }

    /// Draws the class of a job from outside.
    fn draw_class(&self, context: &mut Context<'_, Self>) -> u8 {
        if self.classes.is_empty() {
            return 0;
        }
        let place = context.draws(CLASS).below(Percent::FULL.billionths());
        self.classes.partition_point(|end| *end <= place) as u8
    }

    fn arrive(&self, station: &mut Station, job: Job, context: &mut Context<'_, Self>) {
        let before = station.number();
        station.came += 1;
        let job = Job { arrived: context.now(), ..job };
        if station.in_service < self.spec(context.me()).servers {
            self.serve(station, job, context);
        } else {
            self.spec(context.me()).order.enqueue(&mut station.waiting, job, |job| job.class);
        }
        self.changed(&mut station.changed, [before, before + 1], context);
    }

    fn finish(&self, station: &mut Station, job: Job, context: &mut Context<'_, Self>) -> Result<(), Fault> {
        let before = station.number();
        let in_service = station.in_service.checked_sub(1);
        station.in_service = in_service.ok_or("a job was finished, but no server was busy")?;
        station.finished += 1;
        self.measure(Part::Response, context.now().since(job.arrived), job, context);
        self.send_on(job, context);
        if let Some(next) = station.waiting.pop_front() {
            self.serve(station, next, context);
        }
        self.changed(&mut station.changed, [before, before - 1], context);
        Ok(())
    }

    /// A free server takes a job.
    fn serve(&self, station: &mut Station, job: Job, context: &mut Context<'_, Self>) {
        station.in_service += 1;
        self.measure(Part::Wait, context.now().since(job.arrived), job, context);
        let service = self.draw_service(job, context);
        context.send(context.me(), within_time(service, context), Event::Finish(job));
    }

    /// Draws how long the service of a job takes here.
    fn draw_service(&self, job: Job, context: &mut Context<'_, Self>) -> SimSpan {
        let services = &self.spec(context.me()).services;
        services[usize::from(job.class)].sample_span(&mut context.draws(SERVICE))
    }

    /// Records a time of a job that ends now, unless the warm-up is not over.
    fn measure(&self, part: Part, span: SimSpan, job: Job, context: &mut Context<'_, Self>) {
        if context.now() < self.measured_from {
            return;
        }
        let class = (!self.classes.is_empty()).then_some(job.class);
        context.record(Sample::Time { part, span, class });
    }

    /// Draws where a finished job goes, and sends it there.
    fn send_on(&self, job: Job, context: &mut Context<'_, Self>) {
        let place = context.draws(ROUTE).below(Percent::FULL.billionths());
        let routes = &self.spec(context.me()).routes;
        match routes.iter().find(|(end, _)| place < *end) {
            Some((_, station)) => context.send(*station, self.travel, Event::Arrive(job)),
            None => context.send(self.exit(), self.travel, Event::Leave(job)),
        }
    }

    fn leave(&self, left: &mut u64, job: Job, context: &mut Context<'_, Self>) {
        *left += 1;
        let sojourn = context.now().saturating_sub(self.travel).since(job.entered);
        self.measure(Part::Sojourn, sojourn, job, context);
    }

    /// Records for how long a station held `before` jobs, as far as that is after the warm-up.
    fn changed(&self, changed: &mut SimTime, [before, after]: [u32; 2], context: &mut Context<'_, Self>) {
        let now = context.now();
        if let Some(span) = now.checked_since((*changed).max(self.measured_from)) {
            context.record(Sample::Held { number: before, span });
        }
        *changed = now;
        if now < self.trace_until {
            context.emit(Change { number: after });
        }
    }
}

/// Items with the cumulative shares up to them, in billionths.
fn cumulated<T>(items: impl Iterator<Item = (Percent, T)>) -> Vec<(u64, T)> {
    let mut end = 0;
    let cumulate = |(share, item): (Percent, T)| {
        end += share.billionths();
        (end, item)
    };
    items.map(cumulate).collect()
}

/// A span that would end after all simulated time ends with it. No run reaches that instant.
fn within_time(span: SimSpan, context: &Context<'_, Network>) -> SimSpan {
    span.min(SimTime::MAX.since(context.now()))
}

impl Station {
    /// Jobs waiting and in service.
    pub fn number(&self) -> u32 {
        self.in_service + self.waiting.len() as u32
    }
}

impl Entity {
    /// The number of jobs at a station, and since when; nothing for a source or the exit.
    pub fn holds(&self) -> Option<(u32, SimTime)> {
        match self {
            Entity::Station(station) => Some((station.number(), station.changed)),
            Entity::Preemptive(station) => Some((station.number(), station.changed)),
            Entity::Source { .. } | Entity::Exit { .. } => None,
        }
    }
}

fn entity(at: usize) -> EntityId {
    EntityId(at as u32)
}

impl Runs for Network {
    fn run(&self, options: RunOptions<'_>) -> Result<Outcome<Self>, RunError> {
        towtank_kernel::run(self, options)
    }
}

impl Model for Network {
    type Entity = Entity;
    type Event = Event;
    type Undo = ();
    type Statistics = Counts;
    type Output = Change;

    const AUDITS_PENDING: bool = true;

    fn entities(&self) -> u32 {
        self.exit().0 + 1
    }

    fn links(&self) -> Links {
        let mut links = Links::none();
        for (at, source) in self.sources.iter().enumerate() {
            links.connect(entity(self.stations.len() + at), source.station, self.travel);
        }
        for (at, station) in self.stations.iter().enumerate() {
            station.routes.iter().for_each(|(_, to)| links.connect(entity(at), *to, self.travel));
            links.connect(entity(at), self.exit(), self.travel);
        }
        links
    }

    fn create(&self, id: EntityId) -> Entity {
        match id.0 as usize {
            at if at < self.stations.len() => match self.stations[at].order {
                Order::Preemptive => Entity::Preemptive(Preemptive::default()),
                Order::Fifo | Order::Priority => Entity::Station(Station::default()),
            },
            _ if id == self.exit() => Entity::Exit { left: 0 },
            _ => Entity::Source { created: 0 },
        }
    }

    fn start(&self, entity: &mut Entity, context: &mut Context<'_, Self>) -> Result<(), Fault> {
        if let Entity::Source { .. } = entity {
            self.await_job(context);
        }
        Ok(())
    }

    fn handle(
        &self,
        entity: &mut Entity,
        event: &Event,
        context: &mut Context<'_, Self>,
    ) -> Result<(), Fault> {
        match (entity, *event) {
            (Entity::Source { created }, Event::Create) => self.create_job(created, context),
            (Entity::Station(station), Event::Arrive(job)) => self.arrive(station, job, context),
            (Entity::Station(station), Event::Finish(job)) => self.finish(station, job, context)?,
            (Entity::Preemptive(station), Event::Arrive(job)) => self.arrive_urgent(station, job, context),
            (Entity::Preemptive(station), Event::Finish(job)) => self.finish_urgent(station, job, context)?,
            (Entity::Exit { left }, Event::Leave(job)) => self.leave(left, job, context),
            (_, event) => return Err(format!("{event:?} makes no sense here").into()),
        }
        Ok(())
    }

    fn describe(&self, id: EntityId) -> String {
        match id.0 as usize {
            at if at < self.stations.len() => format!("station `{}`", self.stations[at].name),
            _ if id == self.exit() => "the exit".to_owned(),
            _ => format!("the source of `{}`", self.spec(self.source(id).station).name),
        }
    }

    fn audit(&self, committed: &Committed<'_, Self>) -> Result<(), Fault> {
        audit::audit(self, committed)
    }
}
