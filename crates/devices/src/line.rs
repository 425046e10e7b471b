//! A queue discipline in front of a device: which requests wait, which are in service, and which is next.
//!
//! Without a discipline, a device says at once when an arriving request will be done ([`crate::Lane`]). With
//! one, the next request is chosen when another is done, so each service ends with an event of its own. The
//! owner of a line passes to the device what [`Line::begin`] returns, schedules that event, and calls
//! [`Line::complete`] when it comes. A request in service is never interrupted.

use towtank_iosched::{Audience, Discipline, Fair, FairMark, FlowId, Request, SchedulerId};
use towtank_units::SimTime;

use crate::Broken;

/// A service slot of a line; a line has as many as its device serves requests concurrently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Place(pub u16);

impl Place {
    /// The slot of a line that has only one.
    pub const ONLY: Place = Place(0);
}

/// The requests that wait for one device, and those in service.
///
/// **Conservation:** requests that arrived = served + in service + waiting ([`Line::audit`]).
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(bound(
    serialize = "D: serde::Serialize, D::Item: serde::Serialize",
    deserialize = "D: serde::Deserialize<'de>, D::Item: serde::Deserialize<'de>"
))]
pub struct Line<D: Discipline> {
    discipline: D,
    /// The request in service at each place.
    serving: Vec<Option<Request<D::Item>>>,
    /// The instant of the last wake-up that [`Line::wake_at`] returned.
    asked: Option<SimTime>,
    came: u64,
    served: u64,
}

impl<D: Discipline> Line<D> {
    /// A line in front of a device that serves `places` requests concurrently.
    ///
    /// # Panics
    /// If `places` is zero.
    #[must_use]
    pub fn new(discipline: D, places: u16) -> Line<D> {
        assert!(places > 0, "a device serves at least one request at once");
        let serving = (0..places).map(|_| None).collect();
        Line { discipline, serving, asked: None, came: 0, served: 0 }
    }

    /// Adds a request. [`Line::begin`] returns the request to serve now.
    pub fn arrive(&mut self, now: SimTime, request: Request<D::Item>) {
        self.came += 1;
        self.discipline.arrive(now, request);
    }

    /// Returns a request that begins service now, and its place. Call it after every change to the line until
    /// it returns `None`.
    pub fn begin(&mut self, now: SimTime) -> Option<(Place, &Request<D::Item>)> {
        let at = self.serving.iter().position(Option::is_none)?;
        let request = self.discipline.next(now)?;
        // If the request is cut, its remainder waits on as one more request.
        self.came += u64::from(request.about.piece.has_more());
        Some((Place(at as u16), self.serving[at].insert(request)))
    }

    /// Ends the service at `place` and returns its request; `None` if the place was empty.
    pub fn complete(&mut self, now: SimTime, place: Place) -> Option<Request<D::Item>> {
        let request = self.serving.get_mut(usize::from(place.0))?.take()?;
        self.served += 1;
        self.discipline.complete(now, &request);
        Some(request)
    }

    /// When [`Line::wake`] must be called, unless an earlier call already returned that instant or an earlier
    /// one. Call it after every change to the line.
    pub fn wake_at(&mut self, now: SimTime) -> Option<SimTime> {
        let at = self.discipline.wake_at()?.max(now);
        if self.asked.is_some_and(|asked| asked <= at) {
            return None;
        }
        self.asked = Some(at);
        self.asked
    }

    /// Handles a wake-up at an instant that [`Line::wake_at`] returned.
    pub fn wake(&mut self, now: SimTime) {
        self.asked = self.asked.filter(|&asked| asked > now);
        self.discipline.wake(now);
    }

    /// Receives a message from another scheduler.
    pub fn hear(&mut self, now: SimTime, from: SchedulerId, message: D::Message) {
        self.discipline.hear(now, from, message);
    }

    /// The next message that this line's scheduler sends, if any.
    pub fn tell(&mut self) -> Option<(Audience, D::Message)> {
        self.discipline.tell()
    }

    /// Whether a place is free.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.serving.iter().any(Option::is_none)
    }

    /// The items of all requests that wait or are in service.
    pub fn items(&self) -> impl Iterator<Item = &D::Item> {
        self.discipline.waiting().chain(self.serving.iter().flatten()).map(|request| &request.item)
    }

    /// Mutable access to the discipline, for changing its weights during a run.
    pub fn discipline_mut(&mut self) -> &mut D {
        &mut self.discipline
    }

    /// Checks the conservation law.
    ///
    /// # Errors
    /// If requests were lost or appeared from nowhere.
    pub fn audit(&self) -> Result<(), Broken> {
        let (came, served) = (self.came, self.served);
        let serving = self.serving.iter().flatten().count() as u64;
        let waiting = self.discipline.waiting().count() as u64;
        if came == served + serving + waiting {
            Ok(())
        } else {
            Err(Broken::Lost { came, served, serving, waiting })
        }
    }
}

/// What [`Line::take_back`] needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineMark<T> {
    discipline: FairMark,
    /// The request that is in service at the mark.
    pub serving: Option<Request<T>>,
    came: u64,
    served: u64,
}

/// Undo without a copy of all that waits, for fair lines with one place.
impl<T: Clone> Line<Fair<T>> {
    /// The state to which [`Line::take_back`] returns: before one request arrives, which is then of the flow
    /// `arriving`, or one is done, and before the next begins.
    ///
    /// # Panics
    /// When the line has several places, or the flow has no weight.
    #[must_use]
    pub fn mark(&self, arriving: Option<FlowId>) -> LineMark<T> {
        let [serving] = &self.serving[..] else { panic!("a line of several places has no mark") };
        let discipline = self.discipline.mark(arriving);
        LineMark { discipline, serving: serving.clone(), came: self.came, served: self.served }
    }

    /// Returns to a mark, since which only what was announced has happened.
    pub fn take_back(&mut self, mark: LineMark<T>) {
        let was_free = mark.serving.is_none() || self.served > mark.served;
        let serving = std::mem::replace(&mut self.serving[0], mark.serving);
        self.discipline.take_back(mark.discipline, serving.filter(|_| was_free));
        (self.came, self.served) = (mark.came, mark.served);
    }
}

#[cfg(test)]
mod tests {
    use towtank_iosched::{Fifo, Flows, NoMessage, Ssfq};

    use super::*;

    fn at(ns: u64) -> SimTime {
        SimTime::from_ns(ns)
    }

    fn request(item: u32) -> Request<u32> {
        Request::new(FlowId(item % 2), 10, item)
    }

    fn begun<D: Discipline<Item = u32>>(line: &mut Line<D>, now: SimTime) -> Vec<(u16, u32)> {
        std::iter::from_fn(|| line.begin(now).map(|(place, request)| (place.0, request.item))).collect()
    }

    #[test]
    fn a_place_that_falls_free_goes_to_who_is_next() {
        let mut line = Line::new(Fifo::new(), 2);
        (0..4).for_each(|item| line.arrive(at(0), request(item)));
        assert_eq!(begun(&mut line, at(0)), [(0, 0), (1, 1)]);
        assert!(!line.has_room());
        assert_eq!(line.complete(at(3), Place(1)).map(|done| done.item), Some(1));
        assert_eq!(begun(&mut line, at(3)), [(1, 2)]);
        assert_eq!(line.items().copied().collect::<Vec<_>>(), [3, 0, 2]);
        assert_eq!(line.complete(at(4), Place(0)).map(|done| done.item), Some(0));
        assert_eq!(line.complete(at(4), Place(0)), None);
        assert_eq!(line.complete(at(4), Place(2)), None);
        assert_eq!(line.audit(), Ok(()));
    }

    #[test]
    fn the_discipline_decides_when_something_is_done() {
        let mut line = Line::new(Fair::new(&[1, 1]), 1);
        [0, 2, 4, 1].into_iter().for_each(|item| line.arrive(at(0), request(item)));
        let mut order = Vec::new();
        while let Some((place, request)) = line.begin(at(0)) {
            order.push(request.item);
            line.complete(at(0), place);
        }
        assert_eq!(order, [0, 1, 2, 4]);
    }

    /// Arrivals and ends of services, each taken back once; a mark of another flow does not lead back.
    #[test]
    fn a_line_returns_to_its_marks() {
        let mut line = Line::new(Fair::new(&[1, 1]), 1);
        for step in 0..60u32 {
            let arrives = step % 5 != 3 && step < 40;
            let (before, mark) = (line.clone(), line.mark(arrives.then_some(FlowId(step % 2))));
            let act = |line: &mut Line<Fair<u32>>| {
                if arrives {
                    line.arrive(at(0), request(step));
                } else {
                    line.complete(at(0), Place::ONLY);
                }
                line.begin(at(0)).is_some()
            };
            act(&mut line);
            let mut wrong = line.clone();
            wrong.take_back(before.mark(arrives.then_some(FlowId((step + 1) % 2))));
            assert_eq!(wrong == before, !arrives, "step {step} with a mark of another flow");
            line.take_back(mark);
            assert_eq!(line, before, "step {step}");
            act(&mut line);
        }
        assert_eq!((line.audit(), line.items().count()), (Ok(()), 4));
    }

    #[test]
    fn the_law_holds_while_a_request_is_cut() {
        let mut line = Line::new(Ssfq::with_pieces(Some(2), &Flows::equal(2), 4), 2);
        line.arrive(at(0), request(0));
        line.arrive(at(0), request(1));
        for _ in 0..6 {
            assert_eq!(line.audit(), Ok(()));
            while line.begin(at(0)).is_some() {
                assert_eq!(line.audit(), Ok(()));
            }
            assert!(line.complete(at(1), Place(1)).or_else(|| line.complete(at(1), Place(0))).is_some());
        }
        assert_eq!((line.audit(), line.items().count()), (Ok(()), 0));
    }

    /// A discipline that serves nothing and loses every second request.
    #[derive(Clone, Debug)]
    struct Leaky(Vec<Request<u32>>);

    impl Discipline for Leaky {
        type Item = u32;
        type Message = NoMessage;

        fn arrive(&mut self, _: SimTime, request: Request<u32>) {
            if request.item.is_multiple_of(2) {
                self.0.push(request);
            }
        }

        fn next(&mut self, _: SimTime) -> Option<Request<u32>> {
            None
        }

        fn waiting(&self) -> Box<dyn Iterator<Item = &Request<u32>> + '_> {
            Box::new(self.0.iter())
        }
    }

    #[test]
    fn a_discipline_that_loses_requests_is_noticed() {
        let mut line = Line::new(Leaky(Vec::new()), 1);
        line.arrive(at(0), request(0));
        assert_eq!(line.audit(), Ok(()));
        line.arrive(at(0), request(1));
        assert_eq!(line.audit(), Err(Broken::Lost { came: 2, served: 0, serving: 0, waiting: 1 }));
    }
}
