//! One type for all named schedulers, so that a study holds any of them without being generic.

use towtank_units::{SimSpan, SimTime};

use crate::{
    Audience, Bfq, BucketTree, Description, Discipline, Drr, Dsfq, Dta, Edf, Fifo, Flows, I2l, Kind, Lengths,
    Mclock, Priority, Request, Rounds, SchedulerId, Sfq, Sfqrc, Ssfq, Tbf, TokenBucket, Wf2q, Wfq, Wrr,
};

/// Any of the schedulers, made from a [`Description`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each variant is the type of its name")]
pub enum Scheduler<T> {
    Fifo(Fifo<T>),
    Sfq(Sfq<T>),
    Ssfq(Ssfq<T>),
    Wfq(Wfq<T>),
    Wf2q(Wf2q<T>),
    Drr(Drr<T>),
    Wrr(Wrr<T>),
    Priority(Priority<T>),
    Dsfq(Dsfq<T>),
    Edf(Edf<T>),
    I2l(Box<I2l<T>>),
    Sfqrc(Box<Sfqrc<T>>),
    Dta(Box<Dta<T>>),
    Mclock(Box<Mclock<T>>),
    Rounds(Box<Rounds<T>>),
    Tbf(Box<Tbf<T>>),
    Bfq(Box<Bfq<T>>),
    TokenBucket(Box<TokenBucket<T>>),
    BucketTree(Box<BucketTree<T>>),
}

/// Applies one expression to whichever scheduler it is.
macro_rules! each {
    ($scheduler:expr, $one:ident => $what:expr) => {
        match $scheduler {
            Scheduler::Fifo($one) => $what,
            Scheduler::Sfq($one) => $what,
            Scheduler::Ssfq($one) => $what,
            Scheduler::Wfq($one) => $what,
            Scheduler::Wf2q($one) => $what,
            Scheduler::Drr($one) => $what,
            Scheduler::Wrr($one) => $what,
            Scheduler::Priority($one) => $what,
            Scheduler::Dsfq($one) => $what,
            Scheduler::Edf($one) => $what,
            Scheduler::I2l($one) => $what,
            Scheduler::Sfqrc($one) => $what,
            Scheduler::Dta($one) => $what,
            Scheduler::Mclock($one) => $what,
            Scheduler::Rounds($one) => $what,
            Scheduler::Tbf($one) => $what,
            Scheduler::Bfq($one) => $what,
            Scheduler::TokenBucket($one) => $what,
            Scheduler::BucketTree($one) => $what,
        }
    };
}

impl<T> Scheduler<T> {
    /// The scheduler of a description, for these flows. [`Description::build`] refuses flows that would never
    /// be served.
    pub(crate) fn new(description: &Description, flows: &Flows) -> Scheduler<T> {
        let depth = description.depth;
        match description.kind {
            Kind::Fifo => Scheduler::Fifo(Fifo::with_depth(depth)),
            Kind::Sfq => Scheduler::Sfq(Sfq::new(depth, flows)),
            Kind::Ssfq(piece_cost) => Scheduler::Ssfq(Ssfq::with_pieces(depth, flows, piece_cost)),
            Kind::Wfq => Scheduler::Wfq(Wfq::new(depth, flows)),
            Kind::Wf2q => Scheduler::Wf2q(Wf2q::new(depth, flows)),
            Kind::Drr(quantum) => Scheduler::Drr(Drr::new(depth, quantum, flows)),
            Kind::Wrr => Scheduler::Wrr(Wrr::new(depth, flows)),
            Kind::Priority => Scheduler::Priority(Priority::new(depth, flows)),
            Kind::Dsfq(report) => Scheduler::Dsfq(Dsfq::new(depth, report, flows)),
            Kind::Edf => Scheduler::Edf(Edf::new(depth, flows)),
            Kind::I2l(spec) => Scheduler::I2l(Box::new(I2l::new(spec, flows))),
            Kind::Sfqrc(spec) => Scheduler::Sfqrc(Box::new(Sfqrc::new(depth, spec, flows))),
            Kind::Dta(lag) => Scheduler::Dta(Box::new(Dta::new(depth, lag, flows))),
            Kind::Mclock { at_limit, idle_after } => {
                let idle_after = idle_after.unwrap_or(SimSpan::ZERO);
                Scheduler::Mclock(Box::new(Mclock::new(depth, at_limit, flows).idle_after(idle_after)))
            }
            Kind::Rounds { batch, quantum, supported } => {
                Scheduler::Rounds(Box::new(Rounds::new(depth, batch, quantum, supported)))
            }
            Kind::Tbf { tokens, realtime } => {
                Scheduler::Tbf(Box::new(Tbf::by_flow(depth, tokens, realtime, flows)))
            }
            Kind::Bfq(spec) => Scheduler::Bfq(Box::new(Bfq::new(depth, spec, flows))),
            Kind::TokenBucket => Scheduler::TokenBucket(Box::new(TokenBucket::new(depth, flows))),
            Kind::BucketTree(parent) => {
                Scheduler::BucketTree(Box::new(BucketTree::new(depth, parent, flows)))
            }
        }
    }
}

impl<T: Clone> Discipline for Scheduler<T> {
    type Item = T;
    type Message = Lengths;

    /// # Panics
    /// When the flow of the request is unknown, for schedulers that use flows.
    fn arrive(&mut self, now: SimTime, request: Request<T>) {
        each!(self, one => one.arrive(now, request));
    }

    fn next(&mut self, now: SimTime) -> Option<Request<T>> {
        each!(self, one => one.next(now))
    }

    fn complete(&mut self, now: SimTime, served: &Request<T>) {
        each!(self, one => one.complete(now, served));
    }

    fn finishes(&self, served: &Request<T>) -> bool {
        each!(self, one => one.finishes(served))
    }

    fn wake_at(&self) -> Option<SimTime> {
        each!(self, one => one.wake_at())
    }

    fn wake(&mut self, now: SimTime) {
        each!(self, one => one.wake(now));
    }

    /// Only DSFQ schedulers use messages; the others ignore them.
    fn hear(&mut self, now: SimTime, from: SchedulerId, message: Lengths) {
        if let Scheduler::Dsfq(dsfq) = self {
            dsfq.hear(now, from, message);
        }
    }

    fn tell(&mut self) -> Option<(Audience, Lengths)> {
        if let Scheduler::Dsfq(dsfq) = self { dsfq.tell() } else { None }
    }

    fn waiting(&self) -> Box<dyn Iterator<Item = &Request<T>> + '_> {
        each!(self, one => one.waiting())
    }
}
