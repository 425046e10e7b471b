//! Split SFQ: a request of more than 128 KiB is cut into pieces of that size, each an SFQ job of its own, so
//! that small requests do not wait behind a large one. The request is done when all its pieces are, in any
//! order.
//!
//! [`Discipline::next`] gives pieces: clones that carry their cost, their offset and their [`Piece`].
//! [`Discipline::finishes`] says which completion completes the request. PFSsim has the class, but no way to
//! select it.

use std::collections::BTreeMap;

use towtank_units::SimTime;

use crate::room::Room;
use crate::start_tags::StartTags;
use crate::{About, Discipline, Flows, NoMessage, Piece, Request};

/// SFQ(D) over pieces of requests.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Ssfq<T> {
    tags: StartTags<T>,
    room: Room,
    piece_cost: u64,
    /// The number of pieces that each request still lacks.
    open: BTreeMap<u64, u32>,
    /// The number of requests that have arrived: the ticket of the next one.
    came: u64,
}

/// The size of PFSsim's pieces: its `MAX_SUBREQ_SIZE`.
pub(crate) const PIECE_COST: u64 = 128 << 10;

impl<T> Ssfq<T> {
    /// Pieces of 128 KiB, where costs are bytes.
    ///
    /// # Panics
    /// When the depth or a weight is zero: some flow would never be served.
    #[must_use]
    pub fn new(depth: Option<u32>, flows: &Flows) -> Ssfq<T> {
        Ssfq::with_pieces(depth, flows, PIECE_COST)
    }

    /// Pieces of another size.
    ///
    /// # Panics
    /// When the depth, a weight or the size is zero.
    #[must_use]
    pub fn with_pieces(depth: Option<u32>, flows: &Flows, piece_cost: u64) -> Ssfq<T> {
        assert!(piece_cost > 0, "a request cannot be cut into pieces of nothing");
        Ssfq {
            tags: StartTags::new(flows),
            room: Room::new(depth),
            piece_cost,
            open: BTreeMap::new(),
            came: 0,
        }
    }
}

impl<T: Clone> Discipline for Ssfq<T> {
    type Item = T;
    type Message = NoMessage;

    /// # Panics
    /// When the flow of the request is unknown, or the request has more than 2^32 pieces.
    fn arrive(&mut self, _: SimTime, request: Request<T>) {
        let pieces = request.cost.div_ceil(self.piece_cost).max(1);
        let of = u32::try_from(pieces).expect("a request has fewer than 2^32 pieces");
        let ticket = self.came;
        self.came += 1;
        let other = self.open.insert(ticket, of);
        assert!(other.is_none(), "two requests have ticket {ticket}");
        for number in 0..of {
            let before = u64::from(number) * self.piece_cost;
            let offset = request.about.offset.saturating_add(before);
            let about = About { piece: Piece { number, of }, ticket, offset, ..request.about };
            let cost = (request.cost - before).min(self.piece_cost);
            self.tags.arrive(Request { cost, about, ..request.clone() });
        }
    }

    fn next(&mut self, _: SimTime) -> Option<Request<T>> {
        if self.room.is_full() {
            return None;
        }
        let piece = self.tags.next()?;
        self.room.take();
        Some(piece)
    }

    fn finishes(&self, served: &Request<T>) -> bool {
        self.open.get(&served.about.ticket) == Some(&1)
    }

    /// # Panics
    /// When the piece belongs to no open request: it was completed before, or was never given.
    fn complete(&mut self, _: SimTime, served: &Request<T>) {
        self.room.release();
        let open = self.open.get_mut(&served.about.ticket).expect("a piece is of a request that is open");
        *open -= 1;
        if *open == 0 {
            self.open.remove(&served.about.ticket);
        }
    }

    /// Requests with a waiting piece, each represented by its last piece.
    fn waiting(&self) -> Box<dyn Iterator<Item = &Request<T>> + '_> {
        Box::new(self.tags.waiting().filter(|request| !request.about.piece.has_more()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{at, push, request};

    /// Section 1.13, SSFQ: 300 KiB are two pieces of 128 KiB and one of 44; a small request of another flow
    /// goes between.
    #[test]
    fn a_large_request_goes_in_pieces() {
        let mut ssfq = Ssfq::new(Some(4), &Flows::equal(2));
        let about = About { offset: 1 << 20, ..About::default() };
        ssfq.arrive(at(0), request(0, 300 << 10, 1).about(about));
        push(&mut ssfq, 1, 4 << 10, 2);
        assert_eq!(ssfq.waiting().count(), 2);
        let given: Vec<Request<u32>> = std::iter::from_fn(|| ssfq.next(at(0))).collect();
        let seen: Vec<_> =
            given.iter().map(|one| (one.item, one.cost >> 10, one.about.offset >> 10)).collect();
        assert_eq!(seen, [(1, 128, 1024), (2, 4, 0), (1, 128, 1152), (1, 44, 1280)]);
        assert_eq!(ssfq.waiting().count(), 0);
        // The piece that completes last completes the request, whichever it is.
        for (index, ends) in [(3, false), (1, true), (0, false), (2, true)] {
            assert_eq!(ssfq.finishes(&given[index]), ends, "{index}");
            ssfq.complete(at(1), &given[index]);
        }
    }

    /// A request of which only some pieces have been given still waits, as one request.
    #[test]
    fn a_request_waits_until_its_last_piece_has_gone() {
        let mut ssfq = Ssfq::with_pieces(Some(1), &Flows::equal(1), 10);
        push(&mut ssfq, 0, 25, 7);
        for (cost, waits) in [(10, 1), (10, 1), (5, 0)] {
            let piece = ssfq.next(at(0)).expect("there is room");
            assert_eq!((piece.cost, ssfq.waiting().count()), (cost, waits));
            ssfq.complete(at(0), &piece);
        }
        push(&mut ssfq, 0, 0, 8);
        let whole = ssfq.next(at(0)).expect("there is room");
        assert_eq!((whole.cost, ssfq.finishes(&whole)), (0, true));
    }

    #[test]
    #[should_panic(expected = "two requests have ticket 0")]
    fn a_ticket_of_two_requests_breaks_a_law() {
        let mut ssfq = Ssfq::new(None, &Flows::equal(1));
        push(&mut ssfq, 0, 10, 0);
        ssfq.came = 0;
        push(&mut ssfq, 0, 10, 1);
    }
}
