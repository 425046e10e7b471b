//! SFQRC: start-time fair queueing with reserved credits, by the rules of PFSsim's own scheduler of that name
//! (section 1.13 of the study's reference).
//!
//! An application has a credit in units of cost that grows with its rate. Requests within its credit are
//! *basic* and always go by deadline; the rest are *overflow* and go by fair shares, as long as they cannot
//! make a basic request late: the expected end of all requests under way, plus all credits that could still
//! be drawn, plus the overflow request, has to lie before the earliest deadline that a basic request could
//! have. Credits of applications that overflow turn into a discount on their tags.
//!
//! Departures from PFSsim: an idle server takes the first overflow request untested, since nothing would ever
//! wake it; and the virtual time does not go back where a discount leads below it.

use std::collections::BTreeMap;

use towtank_units::{Bytes, Rate, SimSpan, SimTime};

use crate::room::Room;
use crate::start_tags::StartTags;
use crate::{Access, Discipline, FlowId, FlowSpec, Flows, NoMessage, Request};

/// The assumed speed of the server, where costs are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct SfqrcSpec {
    /// Read throughput.
    pub read: Rate,
    /// Write throughput.
    pub write: Rate,
    /// Added to a read of a different object than the previous request.
    pub seek: SimSpan,
    /// How far ahead of now the expected end of all requests under way is set when it has passed.
    pub step: SimSpan,
}

impl Default for SfqrcSpec {
    /// Free choices, of the magnitude of a hard disk: PFSsim has no default.
    fn default() -> SfqrcSpec {
        let rate = Rate::from_bytes_per_second(100_000_000).expect("it is not zero");
        SfqrcSpec { read: rate, write: rate, seek: SimSpan::from_ms(8), step: SimSpan::from_ms(10) }
    }
}

impl SfqrcSpec {
    fn service(&self, cost: u64, access: Access, seeks: bool) -> SimSpan {
        match access {
            Access::Write => self.write.span_for(Bytes::new(cost)),
            Access::Read => {
                let seek = if seeks { self.seek } else { SimSpan::ZERO };
                self.read.span_for(Bytes::new(cost)).saturating_add(seek)
            }
        }
    }
}

/// The SFQRC scheduler: basic requests by deadline, overflow by shares.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Sfqrc<T> {
    spec: SfqrcSpec,
    accounts: Vec<Account>,
    /// By deadline and arrival number.
    #[serde(with = "towtank_units::pairs", bound(serialize = "T: serde::Serialize"))]
    #[serde(bound(deserialize = "T: serde::Deserialize<'de>"))]
    basic: BTreeMap<(SimTime, u64), Request<T>>,
    came: u64,
    overflow: StartTags<T>,
    /// Counts overflow requests only.
    room: Room,
    /// Requests of both kinds.
    under_way: u32,
    /// The expected end of all requests under way.
    finish: SimTime,
    /// The object of the last request given.
    object: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Account {
    spec: FlowSpec,
    /// In 10^-9 of a unit of cost, so that a rate per second gains whole parts per nanosecond.
    credit: u128,
    counted: SimTime,
}

const PARTS: u128 = 1_000_000_000;

impl Account {
    fn count(&mut self, now: SimTime, capped: bool) {
        let gained = u128::from(self.spec.rate) * u128::from(now.since(self.counted).as_ns());
        self.counted = now;
        self.credit = self.credit.saturating_add(gained);
        if capped {
            self.credit = self.credit.min(u128::from(self.spec.burst) * PARTS);
        }
    }

    fn whole(&self) -> u64 {
        u64::try_from(self.credit / PARTS).unwrap_or(u64::MAX)
    }

    /// How many more basic requests it could send, and the size of each.
    fn drawable(&self) -> (u64, u64) {
        let size = self.spec.request_cost.max(1);
        (self.whole() / size, size)
    }
}

impl<T> Sfqrc<T> {
    /// Weights, rates, credits (burst), delays and sizes of requests are those of the flows; the depth bounds
    /// only overflow.
    ///
    /// # Panics
    /// When the depth or a weight is zero: some flow would never be served.
    #[must_use]
    pub fn new(depth: Option<u32>, spec: SfqrcSpec, flows: &Flows) -> Sfqrc<T> {
        let account = |spec: &FlowSpec| Account {
            credit: u128::from(spec.burst) * PARTS,
            counted: SimTime::ZERO,
            spec: spec.clone(),
        };
        Sfqrc {
            spec,
            accounts: flows.specs().iter().map(account).collect(),
            basic: BTreeMap::new(),
            came: 0,
            overflow: StartTags::new(flows),
            room: Room::new(depth),
            under_way: 0,
            finish: SimTime::ZERO,
            object: None,
        }
    }

    /// Brings all credits up to date.
    fn count(&mut self, now: SimTime) {
        for (flow, account) in (0..).zip(&mut self.accounts) {
            account.count(now, self.overflow.is_empty(FlowId(flow)));
        }
    }

    /// The expected end of all requests under way, at `now`.
    fn finish_at(&self, now: SimTime) -> SimTime {
        match self.finish {
            _ if self.under_way == 0 => now,
            finish if finish < now => now.saturating_add(self.spec.step),
            finish => finish,
        }
    }

    fn service_of(&self, request: &Request<T>) -> SimSpan {
        let seeks = self.object != Some(request.about.object);
        self.spec.service(request.cost, request.about.access, seeks)
    }

    /// Turns the credits of applications that overflow into discounts.
    fn discount(&mut self) {
        for (flow, account) in (0..).zip(&mut self.accounts) {
            let flow = FlowId(flow);
            if !self.overflow.is_empty(flow) && account.whole() > 0 {
                self.overflow.advance_head(flow, account.whole());
                account.credit = 0;
            }
        }
    }

    /// The flow of the first overflow request that makes no basic request late.
    fn admitted(&self, now: SimTime) -> Option<FlowId> {
        if self.under_way == 0 {
            return self.overflow.first();
        }
        let mut finish = self.finish_at(now);
        let mut deadline = SimTime::MAX;
        for (flow, account) in (0..).zip(&self.accounts) {
            let (requests, size) = account.drawable();
            if requests > 0 && self.overflow.is_empty(FlowId(flow)) {
                let each = self.spec.service(size, Access::Read, true).as_ns();
                finish = finish.saturating_add(SimSpan::from_ns(each.saturating_mul(requests)));
                deadline = deadline.min(now.saturating_add(account.spec.delay));
            }
        }
        let in_time = |request: &&Request<T>| finish.saturating_add(self.service_of(request)) < deadline;
        self.overflow.heads().find(in_time).map(|request| request.flow)
    }

    fn give(&mut self, now: SimTime, request: &mut Request<T>, basic: bool) {
        self.finish = self.finish_at(now).saturating_add(self.service_of(request));
        debug_assert!(self.finish >= now, "what begins at {now} is done by {}", self.finish);
        self.object = Some(request.about.object);
        self.under_way += 1;
        request.about.ticket = u64::from(basic);
    }
}

impl<T: Clone> Discipline for Sfqrc<T> {
    type Item = T;
    type Message = NoMessage;

    /// # Panics
    /// When the flow of the request is unknown.
    fn arrive(&mut self, now: SimTime, request: Request<T>) {
        let is_empty = self.overflow.is_empty(request.flow);
        let account = &mut self.accounts[request.flow.0 as usize];
        account.count(now, is_empty);
        let cost = u128::from(request.cost) * PARTS;
        if is_empty && account.credit >= cost {
            account.credit -= cost;
            let most = u128::from(account.spec.burst) * PARTS;
            debug_assert!(account.credit <= most, "flow {} has saved more than its burst", request.flow.0);
            let due = now.saturating_add(account.spec.delay);
            self.basic.insert((due, self.came), request);
            self.came += 1;
        } else {
            self.overflow.arrive(request);
        }
    }

    fn next(&mut self, now: SimTime) -> Option<Request<T>> {
        if let Some((_, mut request)) = self.basic.pop_first() {
            self.give(now, &mut request, true);
            return Some(request);
        }
        if self.room.is_full() || self.overflow.first().is_none() {
            return None;
        }
        self.count(now);
        self.discount();
        let flow = self.admitted(now)?;
        let mut request = self.overflow.take(flow)?;
        self.give(now, &mut request, false);
        self.room.take();
        Some(request)
    }

    /// # Panics
    /// When more requests are completed than were given.
    fn complete(&mut self, _: SimTime, served: &Request<T>) {
        assert!(self.under_way > 0, "more was completed than was given");
        self.under_way -= 1;
        if served.about.ticket == 0 {
            self.room.release();
        }
    }

    /// Basic requests by deadline, then overflow by flow.
    fn waiting(&self) -> Box<dyn Iterator<Item = &Request<T>> + '_> {
        Box::new(self.basic.values().chain(self.overflow.waiting()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{given, ms, request};

    /// 1 MB/s either way, seeks of 5 ms. Application 0: credit 10 kB at 1 kB/s, due after 100 ms, requests of
    /// 10 kB. The other has no credit.
    fn sfqrc(depth: u32, delay_ms: u64) -> Sfqrc<u32> {
        let rate = Rate::from_bytes_per_second(1_000_000).unwrap();
        let spec =
            SfqrcSpec { read: rate, write: rate, seek: SimSpan::from_ms(5), step: SimSpan::from_ms(20) };
        let first = FlowSpec {
            rate: 1_000,
            burst: 10_000,
            request_cost: 10_000,
            delay: SimSpan::from_ms(delay_ms),
            ..FlowSpec::default()
        };
        Sfqrc::new(Some(depth), spec, &Flows::new(vec![first, FlowSpec::default()]))
    }

    #[test]
    fn within_its_credit_a_flow_goes_first() {
        let mut sfqrc = sfqrc(4, 100);
        sfqrc.arrive(ms(0), request(1, 10_000, 10));
        sfqrc.arrive(ms(0), request(0, 6_000, 0));
        sfqrc.arrive(ms(0), request(0, 4_000, 1));
        sfqrc.arrive(ms(0), request(0, 1_000, 2));
        // The first two use up the credit. The others go by start tags: both at 0, flow 0 before flow 1.
        assert_eq!(given(&mut sfqrc, ms(0)), [0, 1, 2, 10]);
    }

    /// Credit grows by the rate, and is capped only while nothing overflows.
    #[test]
    fn credits_grow() {
        let mut sfqrc = sfqrc(1, 100);
        sfqrc.arrive(ms(0), request(0, 10_000, 0));
        assert_eq!(sfqrc.accounts[0].whole(), 0);
        sfqrc.arrive(ms(5_000), request(0, 6_000, 1));
        assert_eq!((sfqrc.basic.len(), sfqrc.accounts[0].whole()), (1, 5_000));
        sfqrc.count(ms(65_000));
        assert_eq!(sfqrc.accounts[0].whole(), 5_000 + 60_000);
        sfqrc.overflow.take(FlowId(0));
        sfqrc.count(ms(65_001));
        assert_eq!(sfqrc.accounts[0].whole(), 10_000);
    }

    /// Under way: 10 kB in 10 ms + 5 of seek. Drawable: one request of 10 kB, 15 ms more. The next of 10 kB
    /// without seek would end at 40 ms: admitted if a basic request that comes now is due later.
    #[test]
    fn overflow_waits_where_it_could_make_a_basic_request_late() {
        for (delay, want) in [(41, vec![10, 11]), (40, vec![10])] {
            let mut sfqrc = sfqrc(4, delay);
            sfqrc.arrive(ms(0), request(1, 10_000, 10));
            sfqrc.arrive(ms(0), request(1, 10_000, 11));
            assert_eq!(given(&mut sfqrc, ms(0)), want, "due after {delay} ms");
            sfqrc.complete(ms(15), &request(1, 10_000, 10));
            assert_eq!(given(&mut sfqrc, ms(15)).len(), 2 - want.len());
        }
    }

    /// An unused credit advances the tags of overflow requests: by 5,000 over a weight of 1.
    #[test]
    fn credits_are_a_discount() {
        let mut sfqrc = sfqrc(1, 100);
        for item in 0..4 {
            sfqrc.arrive(ms(0), request(0, 10_000, item));
            sfqrc.arrive(ms(0), request(1, 10_000, 10 + item));
        }
        assert_eq!(given(&mut sfqrc, ms(0)), [0, 1]);
        assert_eq!(sfqrc.overflow.head_tags(0), Some((10_000, 20_000)));
        sfqrc.count(ms(5_000));
        sfqrc.discount();
        assert_eq!(sfqrc.overflow.head_tags(0), Some((5_000, 15_000)));
        assert_eq!(sfqrc.accounts[0].whole(), 0);
    }
}
