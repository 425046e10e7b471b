//! DTA: deadlines with lagged requests together, one scheduler in front of many servers, by the rules of
//! PFSsim's scheduler of that name (section 1.13 of the study's reference).
//!
//! A record's jobs ([`crate::Record`]) go to several servers ([`crate::About::server`]), and the record is
//! done with the last of them. Its deadline is its flow's delay after the arrival of its first job. Once few
//! of its jobs remain to be given it is *lagged*, and its waiting jobs go before those that are not urgent.
//! Each server with a free slot gets: the earliest deadline if it is urgent, else the first lagged job, else
//! the earliest deadline. A job is urgent if it would be late when served now or, in the last free slot, when
//! served after one more completion.
//!
//! A server's service time and the gap between its completions are running means that start at 1 ms; the
//! newest value counts 1/5 in the former and 3/5 in the latter. Departure from PFSsim: the number of jobs of
//! a record is what the record says, not always the number of servers.

use std::collections::{BTreeMap, BTreeSet};

use towtank_units::{SimSpan, SimTime};

use crate::{Discipline, Flows, NoMessage, Request};

/// Deadline and arrival number: the position of a job in its server's queue.
type Place = (SimTime, u64);

/// The DTA scheduler in front of many servers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Dta<T> {
    /// By flow.
    delays: Vec<SimSpan>,
    /// The depth of each server.
    depth: Option<u32>,
    lag_percent: u32,
    servers: BTreeMap<u32, Server<T>>,
    /// Servers that have waiting jobs and a free slot.
    open: BTreeSet<u32>,
    /// Records by id that still have jobs to be given.
    records: BTreeMap<u64, Open>,
    came: u64,
    lagged: u64,
    given: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Server<T> {
    #[serde(with = "towtank_units::pairs", bound(serialize = "T: serde::Serialize"))]
    #[serde(bound(deserialize = "T: serde::Deserialize<'de>"))]
    waiting: BTreeMap<Place, Job<T>>,
    /// In the order in which they became lagged.
    lagged: BTreeMap<u64, Place>,
    /// Outstanding jobs by ticket, with the instants at which they were given.
    outstanding: BTreeMap<u64, SimTime>,
    service: SimSpan,
    gap: SimSpan,
    completed: Option<SimTime>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Job<T> {
    request: Request<T>,
    /// Its number among the lagged jobs, if it is one.
    lagged: Option<u64>,
}

/// A record that has jobs to be given.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Open {
    due: SimTime,
    jobs: u32,
    given: u32,
    /// Its waiting jobs: server and place.
    waiting: BTreeSet<(u32, Place)>,
}

impl<T> Default for Server<T> {
    fn default() -> Server<T> {
        Server {
            waiting: BTreeMap::new(),
            lagged: BTreeMap::new(),
            outstanding: BTreeMap::new(),
            service: SimSpan::from_ms(1),
            gap: SimSpan::from_ms(1),
            completed: None,
        }
    }
}

impl<T> Server<T> {
    fn has_room(&self, depth: Option<u32>) -> bool {
        depth.is_none_or(|depth| self.outstanding.len() < depth as usize)
    }

    /// The job that goes now.
    fn choose(&self, now: SimTime, depth: Option<u32>) -> Option<Place> {
        let (&first, _) = self.waiting.first_key_value()?;
        let is_last_place = depth.is_some_and(|depth| self.outstanding.len() + 1 == depth as usize);
        let done = now.saturating_add(self.service);
        let urgent = first.0 <= done || (is_last_place && first.0 <= done.saturating_add(self.gap));
        let lagged = self.lagged.first_key_value().map(|lagged| *lagged.1);
        Some(if urgent { first } else { lagged.unwrap_or(first) })
    }
}

/// A running mean in which the newest value counts this many fifths.
fn mean(old: SimSpan, new: SimSpan, fifths: u64) -> SimSpan {
    debug_assert!(fifths <= 5, "{fifths} fifths of a mean are new");
    let sum = u128::from(old.as_ns()) * u128::from(5 - fifths) + u128::from(new.as_ns()) * u128::from(fifths);
    SimSpan::from_ns((sum / 5) as u64)
}

impl<T> Dta<T> {
    /// The depth is that of each server; a record is lagged once at most `lag_percent` of its jobs remain to
    /// be given.
    ///
    /// # Panics
    /// When the depth is zero: no request would ever be served.
    #[must_use]
    pub fn new(depth: Option<u32>, lag_percent: u32, flows: &Flows) -> Dta<T> {
        assert!(depth != Some(0), "with a depth of zero nobody is ever served");
        Dta {
            delays: flows.specs().iter().map(|spec| spec.delay).collect(),
            depth,
            lag_percent,
            servers: BTreeMap::new(),
            open: BTreeSet::new(),
            records: BTreeMap::new(),
            came: 0,
            lagged: 0,
            given: 0,
        }
    }

    /// Adds the waiting jobs of a record to the lagged ones, if few of its jobs are left.
    fn look_for_lag(&mut self, record: u64) {
        let Some(record) = self.records.get(&record) else { return };
        let left = u64::from(record.jobs.saturating_sub(record.given));
        if left * 100 > u64::from(self.lag_percent) * u64::from(record.jobs) {
            return;
        }
        for (server, place) in &record.waiting {
            let Some(server) = self.servers.get_mut(server) else { continue };
            let Some(job) = server.waiting.get_mut(place).filter(|job| job.lagged.is_none()) else {
                continue;
            };
            job.lagged = Some(self.lagged);
            let other = server.lagged.insert(self.lagged, *place);
            debug_assert!(other.is_none(), "two jobs lag as number {}", self.lagged);
            self.lagged += 1;
        }
    }

    /// Updates whether a server has both waiting jobs and a free slot.
    fn look_at(&mut self, number: u32) {
        let open = |server: &Server<T>| !server.waiting.is_empty() && server.has_room(self.depth);
        if self.servers.get(&number).is_some_and(open) {
            self.open.insert(number);
        } else {
            self.open.remove(&number);
        }
    }

    /// Records that a job of a record has been given.
    fn note_given(&mut self, id: u64, server: u32, place: Place) {
        let Some(record) = self.records.get_mut(&id) else { return };
        let waited = record.waiting.remove(&(server, place));
        assert!(waited, "a job of record {id} is given that did not wait at server {server}");
        record.given += 1;
        if record.given >= record.jobs && record.waiting.is_empty() {
            self.records.remove(&id);
        } else {
            self.look_for_lag(id);
        }
    }
}

impl<T: Clone> Discipline for Dta<T> {
    type Item = T;
    type Message = NoMessage;

    /// # Panics
    /// When the flow of the request is unknown.
    fn arrive(&mut self, now: SimTime, request: Request<T>) {
        let due = now.saturating_add(self.delays[request.flow.0 as usize]);
        let (number, record) = (request.about.server, request.about.record);
        let new = || Open { due, jobs: record.jobs, given: 0, waiting: BTreeSet::new() };
        let open = self.records.entry(record.id).or_insert_with(new);
        let place = (open.due, self.came);
        self.came += 1;
        open.waiting.insert((number, place));
        let server = self.servers.entry(number).or_default();
        server.waiting.insert(place, Job { request, lagged: None });
        self.look_for_lag(record.id);
        self.look_at(number);
    }

    /// Gives a job of the lowest-numbered server with a free slot: [`crate::About::server`] says which.
    fn next(&mut self, now: SimTime) -> Option<Request<T>> {
        let &number = self.open.first()?;
        let server = self.servers.get_mut(&number)?;
        let place = server.choose(now, self.depth)?;
        let Job { mut request, lagged } = server.waiting.remove(&place)?;
        lagged.and_then(|lagged| server.lagged.remove(&lagged));
        request.about.ticket = self.given;
        assert!(server.has_room(self.depth), "server {number} is given more than it has room for");
        let other = server.outstanding.insert(self.given, now);
        assert!(other.is_none(), "two jobs have ticket {}", self.given);
        self.given += 1;
        self.note_given(request.about.record.id, number, place);
        self.look_at(number);
        Some(request)
    }

    /// # Panics
    /// When the job was completed before, or was never given.
    fn complete(&mut self, now: SimTime, served: &Request<T>) {
        let number = served.about.server;
        let server = self.servers.get_mut(&number).expect("what completes was given for a server");
        let given = server.outstanding.remove(&served.about.ticket).expect("what completes was given");
        server.service = mean(server.service, now.since(given), 1);
        if let Some(before) = server.completed.replace(now) {
            server.gap = mean(server.gap, now.since(before), 3);
        }
        self.look_at(number);
    }

    /// Server by server, by deadline.
    fn waiting(&self) -> Box<dyn Iterator<Item = &Request<T>> + '_> {
        Box::new(self.servers.values().flat_map(|server| server.waiting.values().map(|job| &job.request)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{at, ms, request};
    use crate::{About, FlowSpec, Record};

    fn dta(depth: u32, lag_percent: u32) -> Dta<u32> {
        let delay = |delay| FlowSpec { delay: SimSpan::from_ms(delay), ..FlowSpec::default() };
        Dta::new(Some(depth), lag_percent, &Flows::new(vec![delay(1_000), delay(500)]))
    }

    fn job(flow: u32, server: u32, (id, jobs): (u64, u32), item: u32) -> Request<u32> {
        let about = About { server, record: Record { id, jobs }, ..About::default() };
        request(flow, 1, item).about(about)
    }

    fn given(dta: &mut Dta<u32>, now: SimTime) -> Vec<(u32, u32)> {
        std::iter::from_fn(|| dta.next(now)).map(|one| (one.about.server, one.item)).collect()
    }

    #[test]
    fn each_server_has_its_own_depth() {
        let mut dta = dta(1, 0);
        for (item, server) in [(0, 1), (1, 1), (2, 0), (3, 7)] {
            dta.arrive(at(0), job(0, server, (u64::from(item), 1), item));
        }
        assert_eq!(given(&mut dta, at(0)), [(0, 2), (1, 0), (7, 3)]);
        let done = Request { about: About { ticket: 1, server: 1, ..About::default() }, ..request(0, 1, 0) };
        dta.complete(ms(5), &done);
        assert_eq!(given(&mut dta, ms(5)), [(1, 1)]);
        // (4 x 1 + 5)/5 ms; one completion does not define a gap.
        assert_eq!(dta.servers[&1].service, SimSpan::from_us(1_800));
        assert_eq!(dta.servers[&1].gap, SimSpan::from_ms(1));
    }

    /// A record of two jobs with a lag of 50 %: once its job at server 0 has gone, its job at server 1 goes
    /// before one that is due earlier but not urgent.
    #[test]
    fn what_is_left_of_a_record_goes_first() {
        for (lag, want) in [(50, 3), (49, 2)] {
            let mut dta = dta(4, lag);
            dta.arrive(at(0), job(0, 0, (9, 2), 1));
            assert_eq!(given(&mut dta, at(0)), [(0, 1)]);
            dta.arrive(at(0), job(1, 1, (5, 3), 2));
            dta.arrive(at(0), job(0, 1, (9, 2), 3));
            assert_eq!(given(&mut dta, at(0))[0], (1, want), "lag {lag}");
        }
    }

    /// Due at 500 ms with a mean service time of 1 ms: urgent from 499 ms on; in the last slot from 498 ms
    /// on, because of the gap.
    #[test]
    fn the_earliest_deadline_goes_first_when_it_is_urgent() {
        for (now, depth, want) in [(498, 4, 3), (499, 4, 2), (497, 1, 3), (498, 1, 2)] {
            let mut dta = dta(depth, 0);
            dta.arrive(ms(0), job(1, 1, (5, 2), 2));
            dta.lag_percent = 100;
            dta.arrive(ms(0), job(0, 1, (9, 1), 3));
            assert_eq!(given(&mut dta, ms(now))[0], (1, want), "{now} ms at depth {depth}");
        }
    }

    /// The deadline of a record is that of its first job.
    #[test]
    fn a_record_is_due_by_its_first_job() {
        let mut dta = dta(1, 0);
        dta.arrive(ms(0), job(1, 0, (5, 2), 0));
        dta.arrive(ms(10), job(1, 1, (6, 1), 1));
        dta.arrive(ms(20), job(1, 1, (5, 2), 2));
        assert_eq!(given(&mut dta, ms(20)), [(0, 0), (1, 2)]);
        assert_eq!(dta.records.len(), 1);
    }

    #[test]
    #[should_panic(expected = "two jobs have ticket 0")]
    fn a_ticket_that_is_used_twice_is_noticed() {
        let mut dta = Dta::new(None, 25, &Flows::equal(1));
        (0..2).for_each(|item| crate::trial::push(&mut dta, 0, 10, item));
        assert!(dta.next(SimTime::ZERO).is_some());
        dta.given = 0;
        let _ = dta.next(SimTime::ZERO);
    }

    #[test]
    #[should_panic(expected = "a job of record 9 is given that did not wait at server 0")]
    fn a_job_that_its_record_does_not_know_breaks_a_law() {
        let mut dta = dta(1, 0);
        dta.arrive(at(0), job(0, 0, (9, 2), 0));
        dta.records.values_mut().for_each(|record| record.waiting.clear());
        let _ = dta.next(at(0));
    }

    #[test]
    #[should_panic(expected = "server 0 is given more than it has room for")]
    fn a_server_that_is_given_too_much_breaks_a_law() {
        let mut dta = dta(1, 0);
        (0..2).for_each(|item| dta.arrive(at(0), job(0, 0, (u64::from(item), 1), item)));
        assert!(dta.next(at(0)).is_some());
        dta.open.insert(0);
        let _ = dta.next(at(0));
    }
}
