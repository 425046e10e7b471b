//! Reservations under any order of requests, answers and data: accepted windows never overlap, and an offer
//! satisfies its request.

use proptest::prelude::*;
use towtank_negotiation::bids::{CommonBids, OwnBids, Reservation, State, Wanted, overlapping};
use towtank_negotiation::{GatewayId, PutId, Window};
use towtank_units::{SimSpan, SimTime};

const BID: u64 = 150;
const WINDOW: u64 = 110;

/// An event at a server, some time after the previous one.
#[derive(Clone, Debug)]
enum Happening {
    Request {
        disk_wait: u64,
        coin: bool,
    },
    /// One of the open bids is accepted; `share` gives the start of the accepted part within the window.
    Accept {
        which: usize,
        share: u64,
    },
    Cancel {
        which: usize,
    },
    Data {
        which: usize,
    },
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        4 => (0..3_u64, any::<bool>()).prop_map(|(wait, coin)| Happening::Request { disk_wait: wait * 90, coin }),
        2 => (any::<usize>(), 0..=100_u64).prop_map(|(which, share)| Happening::Accept { which, share }),
        3 => any::<usize>().prop_map(|which| Happening::Cancel { which }),
        1 => any::<usize>().prop_map(|which| Happening::Data { which }),
    ]
}

fn wanted(number: u32, now: SimTime, disk_wait: u64) -> Wanted {
    let ns = SimSpan::from_ns;
    Wanted {
        put: PutId { gateway: GatewayId(0), number },
        now,
        from: now,
        soonest: now.saturating_add(ns(60)),
        disk_wait: ns(disk_wait),
        bid: ns(BID),
        net: ns(100),
        trip: ns(10),
    }
}

/// Both kinds of lists, driven alike.
enum List {
    Common(CommonBids),
    Own(OwnBids),
}

impl List {
    fn all(&self) -> &[Reservation] {
        match self {
            List::Common(bids) => bids.list(),
            List::Own(bids) => bids.list(),
        }
    }

    fn offer(&mut self, wanted: &Wanted, coin: bool) -> Window {
        match self {
            List::Common(bids) => {
                bids.expire(wanted.now.saturating_add(SimSpan::from_ns(34)), SimSpan::from_ns(BID));
                bids.offer(wanted)
            }
            List::Own(bids) => bids.offer(wanted, coin),
        }
    }

    fn accept(&mut self, put: PutId, window: Window) -> bool {
        match self {
            List::Common(bids) => bids.accept(put, window, SimSpan::from_ns(24)),
            List::Own(bids) => bids.accept(put, window),
        }
    }

    fn cancel(&mut self, put: PutId) -> bool {
        match self {
            List::Common(bids) => bids.cancel(put),
            List::Own(bids) => bids.cancel(put),
        }
    }

    fn remove(&mut self, put: PutId) -> bool {
        match self {
            List::Common(bids) => bids.remove(put).is_some(),
            List::Own(bids) => bids.remove(put).is_some(),
        }
    }
}

/// Some open bid in the given state.
fn one_of(list: &List, which: usize, state: State) -> Option<Reservation> {
    let open: Vec<Reservation> = list.all().iter().copied().filter(|one| one.state == state).collect();
    (!open.is_empty()).then(|| open[which % open.len()])
}

fn drive(mut list: List, happenings: &[(u64, Happening)]) -> Result<(), TestCaseError> {
    let mut now = SimTime::ZERO;
    for (number, (pause, happening)) in happenings.iter().enumerate() {
        now = now.saturating_add(SimSpan::from_ns(*pause));
        match *happening {
            Happening::Request { disk_wait, coin } => {
                let window = list.offer(&wanted(number as u32, now, disk_wait), coin);
                if let List::Own(_) = list {
                    prop_assert!(window.span() >= SimSpan::from_ns(BID));
                    prop_assert!(window.left >= now.saturating_add(SimSpan::from_ns(60)));
                }
            }
            Happening::Accept { which, share } => {
                if let Some(bid) = one_of(&list, which, State::Tentative) {
                    let spare = bid.window.span().as_ns().saturating_sub(WINDOW);
                    let left = bid.window.left.saturating_add(SimSpan::from_ns(spare * share / 100));
                    prop_assert!(list.accept(
                        bid.put,
                        Window::of(left, SimSpan::from_ns(WINDOW.min(bid.window.span().as_ns())))
                    ));
                }
            }
            Happening::Cancel { which } => {
                if let Some(bid) = one_of(&list, which, State::Tentative) {
                    prop_assert!(list.cancel(bid.put));
                }
            }
            Happening::Data { which } => {
                if let Some(bid) = one_of(&list, which, State::Accepted) {
                    prop_assert!(list.remove(bid.put));
                }
            }
        }
        prop_assert!(overlapping(list.all()).is_none(), "{:?}", overlapping(list.all()));
    }
    Ok(())
}

proptest! {
    #[test]
    fn surges_list_never_accepts_windows_that_overlap(happenings in prop::collection::vec((0..80_u64, happening()), 1..200)) {
        drive(List::Common(CommonBids::default()), &happenings)?;
    }

    #[test]
    fn the_list_of_gaps_never_accepts_windows_that_overlap(happenings in prop::collection::vec((0..80_u64, happening()), 1..200)) {
        drive(List::Own(OwnBids::default()), &happenings)?;
    }
}

/// Overlapping windows are detected, so the checks of the other tests can fail.
#[test]
fn windows_that_overlap_are_found() {
    let reservation = |number, left| Reservation {
        put: PutId { gateway: GatewayId(0), number },
        window: Window::of(SimTime::from_ns(left), SimSpan::from_ns(10)),
        state: State::Accepted,
    };
    assert!(overlapping(&[reservation(1, 0), reservation(2, 10)]).is_none());
    assert!(overlapping(&[reservation(1, 0), reservation(2, 9)]).is_some());
}
