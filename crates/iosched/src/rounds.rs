//! Round-robin policies of Lustre's network request scheduler: CRR-N by client, ORR by object, TRR by target.
//!
//! Requests of one client, object or target form a batch of at most a quantum. Batches go in order of their
//! round and, within it, in the order in which they were begun. A source that has used up its quantum, or has
//! nothing waiting though some of its quantum is left, begins its next batch in a later round; none begins in
//! a round that has passed. Inside a batch CRR-N keeps the order of arrival; ORR and TRR go by ascending
//! offset, then the shorter request first. ORR and TRR order reads, writes or both ([`Supported`]); the other
//! requests go in order of arrival and alternate with the ordered ones.
//!
//! Offsets are those of the object ([`crate::About::offset`]); to order by physical position, put that there.

use std::collections::{BTreeMap, VecDeque};

use towtank_units::SimTime;

use crate::room::Room;
use crate::{Access, Discipline, NoMessage, Request};

/// What forms a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Batch {
    /// CRR-N: requests of one client ([`crate::About::client`]).
    Client,
    /// ORR: requests for one object ([`crate::About::object`]).
    Object,
    /// TRR: requests for one target ([`crate::About::server`]).
    Target,
}

impl Batch {
    /// Lustre's default quantum for this kind of batch.
    #[must_use]
    pub const fn quantum(self) -> u32 {
        match self {
            Batch::Client => 8,
            Batch::Object | Batch::Target => 256,
        }
    }

    fn key<T>(self, request: &Request<T>) -> u64 {
        match self {
            Batch::Client => u64::from(request.about.client),
            Batch::Object => request.about.object,
            Batch::Target => u64::from(request.about.server),
        }
    }
}

/// Which requests ORR and TRR put into order; CRR-N orders all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Supported {
    /// Reads only.
    #[default]
    Reads,
    /// Writes only.
    Writes,
    /// Reads and writes.
    Both,
}

impl Supported {
    fn has(self, access: Access) -> bool {
        match self {
            Supported::Reads => access == Access::Read,
            Supported::Writes => access == Access::Write,
            Supported::Both => true,
        }
    }
}

/// Round, batch number, offset, cost, arrival number.
type Place = (u64, u64, u64, u64, u64);

/// The round-robin policies: batches in rounds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Rounds<T> {
    batch: Batch,
    supported: Supported,
    quantum: u32,
    /// By client, object or target; sources that have nothing waiting and lie in no later round are dropped.
    sources: BTreeMap<u64, Source>,
    #[serde(with = "towtank_units::pairs", bound(serialize = "T: serde::Serialize"))]
    #[serde(bound(deserialize = "T: serde::Deserialize<'de>"))]
    ordered: BTreeMap<Place, Request<T>>,
    /// Requests that are not put into order.
    others: VecDeque<Request<T>>,
    /// Whether the next request is an unordered one, if both kinds wait.
    others_turn: bool,
    /// The round of the last request given.
    round: u64,
    begun: u64,
    came: u64,
    room: Room,
}

/// A client, object or target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Source {
    round: u64,
    batch: u64,
    /// The rest of the quantum of its batch.
    left: u32,
    waiting: u32,
}

impl<T> Rounds<T> {
    /// CRR-N.
    ///
    /// # Panics
    /// When the depth or the quantum is zero: no request would ever be served.
    #[cfg(test)]
    #[must_use]
    fn by_client(depth: Option<u32>, quantum: u32) -> Rounds<T> {
        Rounds::new(depth, Batch::Client, quantum, Supported::Both)
    }

    /// Any of the policies; without a depth, the number of requests in service is not bounded.
    ///
    /// # Panics
    /// When the depth or the quantum is zero: no request would ever be served.
    #[must_use]
    pub fn new(depth: Option<u32>, batch: Batch, quantum: u32, supported: Supported) -> Rounds<T> {
        assert!(quantum > 0, "a batch of no requests is never served");
        Rounds {
            batch,
            supported,
            quantum,
            sources: BTreeMap::new(),
            ordered: BTreeMap::new(),
            others: VecDeque::new(),
            others_turn: false,
            round: 0,
            begun: 0,
            came: 0,
            room: Room::new(depth),
        }
    }

    /// The round and batch of a new request of a source; updates the source's batch.
    fn place(&mut self, key: u64) -> (u64, u64) {
        let new = Source { round: self.round, batch: 0, left: 0, waiting: 0 };
        let source = self.sources.entry(key).or_insert(new);
        let is_rest = source.waiting == 0 && source.left > 0;
        if source.left == 0 || is_rest || source.round < self.round {
            source.round = (source.round + u64::from(is_rest)).max(self.round);
            source.batch = self.begun;
            source.left = self.quantum;
            self.begun += 1;
        }
        assert!(source.left > 0 && source.left <= self.quantum, "a batch has room for {}", source.left);
        debug_assert!(
            source.round >= self.round,
            "a request is put into round {}, which is over",
            source.round
        );
        let place = (source.round, source.batch);
        source.waiting += 1;
        source.left -= 1;
        if source.left == 0 {
            source.round += 1;
        }
        place
    }

    fn next_ordered(&mut self) -> Option<Request<T>> {
        let ((round, ..), request) = self.ordered.pop_first()?;
        assert!(round >= self.round, "round {round} is served in round {}", self.round);
        self.round = round;
        if self.ordered.is_empty() {
            self.round += 1;
        }
        let key = self.batch.key(&request);
        let source = self.sources.get_mut(&key)?;
        assert!(source.waiting > 0, "source {key} is served and has nothing waiting");
        source.waiting -= 1;
        if source.waiting == 0 && source.round < self.round {
            self.sources.remove(&key);
        }
        Some(request)
    }
}

impl<T: Clone> Discipline for Rounds<T> {
    type Item = T;
    type Message = NoMessage;

    fn arrive(&mut self, _: SimTime, request: Request<T>) {
        if !self.supported.has(request.about.access) {
            self.others.push_back(request);
            return;
        }
        let (round, batch) = self.place(self.batch.key(&request));
        let (offset, cost) = match self.batch {
            Batch::Client => (0, 0),
            Batch::Object | Batch::Target => (request.about.offset, request.cost),
        };
        self.ordered.insert((round, batch, offset, cost, self.came), request);
        self.came += 1;
    }

    fn next(&mut self, _: SimTime) -> Option<Request<T>> {
        if self.room.is_full() {
            return None;
        }
        let others = self.ordered.is_empty() || (self.others_turn && !self.others.is_empty());
        let request = if others { self.others.pop_front() } else { self.next_ordered() }?;
        self.others_turn = !others;
        self.room.take();
        Some(request)
    }

    fn complete(&mut self, _: SimTime, _: &Request<T>) {
        self.room.release();
    }

    /// The ordered requests, then the others.
    fn waiting(&self) -> Box<dyn Iterator<Item = &Request<T>> + '_> {
        Box::new(self.ordered.values().chain(&self.others))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::About;
    use crate::trial::{at, given, request, served};

    fn from(client: u32, item: u32) -> Request<u32> {
        request(0, 1, item).about(About { client, ..About::default() })
    }

    fn of(object: u64, offset: u64, cost: u64, item: u32) -> Request<u32> {
        request(0, cost, item).about(About { object, offset, ..About::default() })
    }

    /// Section 3.1, CRR-N with a quantum of 2: round 0 has two requests of each client, and so on, each batch
    /// in order of arrival.
    #[test]
    fn clients_go_in_batches_of_a_quantum() {
        let mut crr = Rounds::by_client(None, 2);
        (0..5).for_each(|item| crr.arrive(at(0), from(0, item)));
        (10..13).for_each(|item| crr.arrive(at(0), from(1, item)));
        assert_eq!(served(&mut crr), [0, 1, 10, 11, 2, 3, 12, 4]);
    }

    /// A client that has nothing waiting loses the rest of its quantum: its next request goes to the next
    /// round.
    #[test]
    fn an_unused_quantum_is_lost() {
        let mut crr = Rounds::by_client(Some(1), 4);
        crr.arrive(at(0), from(0, 0));
        (10..14).for_each(|item| crr.arrive(at(0), from(1, item)));
        assert_eq!(given(&mut crr, at(0)), [0]);
        crr.arrive(at(0), from(0, 1));
        crr.complete(at(0), &from(0, 0));
        assert_eq!(served(&mut crr), [10, 11, 12, 13, 1]);
        // A new client begins in the current round, not in one that has passed.
        crr.arrive(at(0), from(0, 2));
        crr.arrive(at(0), from(2, 20));
        assert_eq!(served(&mut crr).len(), 2);
        assert!(crr.sources.len() <= 2, "sources that lie behind are dropped: {:?}", crr.sources);
    }

    /// Section 3.1, ORR: by object; inside a batch ascending offset, then the shorter first.
    #[test]
    fn objects_go_in_batches_by_offset() {
        let mut orr = Rounds::new(None, Batch::Object, 3, Supported::Reads);
        for (item, (object, offset, cost)) in
            (0..).zip([(7, 30, 9), (7, 10, 9), (8, 5, 1), (7, 10, 4), (7, 0, 1), (8, 0, 1)])
        {
            orr.arrive(at(0), of(object, offset, cost, item));
        }
        // The first three of object 7, then those of 8; offset 0 of object 7 is in the next round.
        assert_eq!(served(&mut orr), [3, 1, 0, 5, 2, 4]);
    }

    #[test]
    fn targets_go_in_batches() {
        let mut trr = Rounds::new(None, Batch::Target, 256, Supported::Both);
        for (item, (server, offset)) in (0..).zip([(1, 9), (0, 5), (1, 3), (0, 1)]) {
            trr.arrive(at(0), request(0, 1, item).about(About { server, offset, ..About::default() }));
        }
        assert_eq!(served(&mut trr), [2, 0, 3, 1]);
    }

    /// Requests that are not ordered keep their order and alternate with the ordered ones.
    #[test]
    fn what_is_not_ordered_takes_turns() {
        let mut orr = Rounds::new(None, Batch::Object, 256, Supported::Reads);
        for (item, offset) in [(0, 9), (1, 4)] {
            orr.arrive(at(0), of(1, offset, 1, item));
        }
        for (item, offset) in [(10, 9), (11, 4), (12, 0)] {
            let about = About { offset, access: Access::Write, ..About::default() };
            orr.arrive(at(0), request(0, 1, item).about(about));
        }
        assert_eq!(served(&mut orr), [1, 10, 0, 11, 12]);
    }

    #[test]
    #[should_panic(expected = "is served in round")]
    fn a_round_that_goes_back_is_noticed() {
        let mut rounds = Rounds::by_client(None, 2);
        crate::trial::push(&mut rounds, 0, 10, 0);
        rounds.round = 9;
        let _ = crate::trial::served(&mut rounds);
    }

    #[test]
    #[should_panic(expected = "a batch has room for 7")]
    fn a_batch_with_more_room_than_a_quantum_breaks_a_law() {
        let mut crr = Rounds::by_client(None, 2);
        crr.sources.insert(0, Source { round: 0, batch: 0, left: 7, waiting: 1 });
        crr.arrive(at(0), from(0, 0));
    }

    #[test]
    #[should_panic(expected = "source 0 is served and has nothing waiting")]
    fn a_source_that_lost_its_count_breaks_a_law() {
        let mut crr = Rounds::by_client(None, 2);
        crr.arrive(at(0), from(0, 0));
        crr.sources.values_mut().for_each(|source| source.waiting = 0);
        let _ = served(&mut crr);
    }
}
