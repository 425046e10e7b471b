//! Service counts of a dmClock client, which tell each server how much service the flow got from the others.

use std::collections::BTreeMap;

use super::Phase;
use crate::Feedback;

/// One client's service counts for one flow, over all servers.
///
/// A request to a server carries how much was served in all since the last request to that server, without
/// what the server served itself, which it has tagged already. Servers that a client never used are not
/// stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Tracker {
    total: Feedback,
    servers: BTreeMap<u32, Server>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Server {
    /// The totals when a request was last sent to it.
    at_last: Feedback,
    /// The service that it has given itself since.
    own: Feedback,
}

impl Tracker {
    /// A tracker with no service counted.
    #[must_use]
    pub fn new() -> Tracker {
        Tracker::default()
    }

    /// The feedback that the next request to a server carries; zero for the first request.
    pub fn send(&mut self, server: u32) -> Feedback {
        let total = self.total;
        let new = Server { at_last: total, own: Feedback::default() };
        let Some(Server { at_last, own }) = self.servers.insert(server, new) else {
            return Feedback::default();
        };
        let reported = (at_last.delta.checked_add(own.delta), at_last.rho.checked_add(own.rho));
        assert!(
            reported.0.is_some_and(|delta| delta <= total.delta)
                && reported.1.is_some_and(|rho| rho <= total.rho),
            "server {server} is told of no more service than there was"
        );
        Feedback { delta: total.delta - at_last.delta - own.delta, rho: total.rho - at_last.rho - own.rho }
    }

    /// A server has served a request of this cost.
    pub fn served(&mut self, server: u32, cost: u64, phase: Phase) {
        let own = self.servers.get_mut(&server).map(|server| &mut server.own);
        for account in own.into_iter().chain([&mut self.total]) {
            account.delta += cost;
            if phase == Phase::Reservation {
                account.rho += cost;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_hears_what_the_others_served() {
        let mut tracker = Tracker::new();
        assert_eq!([0, 1].map(|server| tracker.send(server)), [Feedback::default(); 2]);
        tracker.served(0, 10, Phase::Share);
        tracker.served(1, 4, Phase::Reservation);
        tracker.served(1, 5, Phase::Share);
        assert_eq!(tracker.send(0), Feedback { delta: 9, rho: 4 });
        assert_eq!(tracker.send(0), Feedback::default());
        assert_eq!(tracker.send(1), Feedback { delta: 10, rho: 0 });
        tracker.served(0, 1, Phase::Reservation);
        assert_eq!(tracker.send(1), Feedback { delta: 1, rho: 1 });
    }

    /// A reply that arrives after the next request was sent counts with the request after that, and once.
    #[test]
    fn nothing_is_reported_twice() {
        let mut tracker = Tracker::new();
        let mut heard = 0;
        for round in 0..20 {
            heard += tracker.send(0).delta;
            tracker.send(1);
            tracker.served(1, 3, Phase::Share);
            tracker.served(0, round, Phase::Share);
        }
        assert_eq!(heard, 19 * 3);
    }

    #[test]
    #[should_panic(expected = "server 3 is told of no more service than there was")]
    fn service_that_never_was_breaks_a_law() {
        let mut tracker = Tracker::new();
        tracker.send(3);
        tracker.served(3, 10, Phase::Share);
        tracker.total.delta = 9;
        tracker.send(3);
    }
}
