//! How a gateway chooses among bids. These are pure functions that send nothing.
//!
//! Bids are examined in order of their start times. Idle servers offer the same start time, and the order
//! among them must be random: with a fixed order the servers that sort first become hot spots, which costs
//! SURGE's hybrid 16 % at 16 KiB.

use towtank_units::{SimSpan, SimTime};

use crate::{ServerId, Window};

/// A bid as the gateway stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Offer {
    /// The time that the server offers.
    pub window: Window,
    /// Random tie-breaker between equal start times.
    pub lot: u64,
    /// The server that bids.
    pub server: ServerId,
}

/// Sorts offers into the order in which they are examined.
pub fn rank(offers: &mut [Offer]) {
    offers.sort_unstable_by_key(|offer| (offer.window.left, offer.lot, offer.server));
}

/// The requirements for a common window.
#[derive(Clone, Copy, Debug)]
pub struct CommonWanted<'a> {
    /// Number of servers.
    pub servers: usize,
    /// Length of the window.
    pub span: SimSpan,
    /// The earliest start of the window.
    pub floor: SimTime,
    /// Skip the last of the possible choices, as SURGE does.
    pub skips_last: bool,
    /// The times at which the gateway itself is busy.
    pub busy: &'a [Window],
}

/// The first run of neighbouring offers with a common window, and that window.
#[must_use]
pub fn common(ranked: &[Offer], wanted: &CommonWanted<'_>) -> Option<(Vec<ServerId>, Window)> {
    debug_assert!(ranked.is_sorted_by_key(|offer| offer.window.left), "offers are out of order");
    let choices = (ranked.len() + 1).saturating_sub(wanted.servers.max(1));
    let looked_at = if wanted.skips_last && choices > 1 { choices - 1 } else { choices };
    for offers in ranked.windows(wanted.servers.max(1)).take(looked_at) {
        let left = offers.iter().map(|offer| offer.window.left).max()?.max(wanted.floor);
        let left = Window::first_free(left, wanted.span, wanted.busy);
        let right = offers.iter().map(|offer| offer.window.right).min()?;
        let window = Window::of(left, wanted.span);
        if window.right <= right {
            debug_assert!(
                offers.iter().all(|offer| window.lies_in(&offer.window)),
                "{window:?} lies in the offers of some servers only"
            );
            return Some((offers.iter().map(|offer| offer.server).collect(), window));
        }
    }
    None
}

/// The requirements for a sequence of windows.
#[derive(Clone, Copy, Debug)]
pub struct SequenceWanted {
    /// The maximum number of servers.
    pub servers: usize,
    /// Length of each window.
    pub span: SimSpan,
    /// The largest gap allowed between windows.
    pub gap: SimSpan,
    /// Transmission time of a frame.
    pub frame: SimSpan,
}

/// A window chosen on one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// The server.
    pub server: ServerId,
    /// The part of its bid that is used.
    pub window: Window,
    /// Whether that is less than it offered.
    pub trimmed: bool,
}

/// The first offer and those that follow it closely; or, alone, the offer of an idle server that is as early.
#[must_use]
pub fn sequence(ranked: &[Offer], wanted: &SequenceWanted) -> Vec<Pick> {
    debug_assert!(ranked.is_sorted_by_key(|offer| offer.window.left), "offers are out of order");
    let Some(first) = ranked.first() else { return Vec::new() };
    let mut picks = vec![trimmed(first, first.window.left, wanted.span)];
    let mut rest = &ranked[1..];
    while picks.len() < wanted.servers {
        let end = picks[picks.len() - 1].window.right;
        let Some((at, pick)) = follower(rest, end, wanted) else { break };
        picks.push(pick);
        rest = &rest[at + 1..];
    }
    if picks.len() == 1 && ranked.len() > 2 {
        picks[0] = idle_alternative(ranked, picks[0], wanted);
    }
    debug_assert!(
        picks.windows(2).all(|pair| pair[0].window.right <= pair[1].window.left),
        "windows of a sequence overlap: {picks:?}"
    );
    debug_assert!(
        (1..picks.len()).all(|at| picks[..at].iter().all(|pick| pick.server != picks[at].server)),
        "a server is picked twice: {picks:?}"
    );
    picks
}

fn trimmed(offer: &Offer, left: SimTime, span: SimSpan) -> Pick {
    let window = Window::of(left, span);
    Pick { server: offer.server, window, trimmed: window != offer.window }
}

/// The first offer whose window can begin at `end`, or at most `gap` later.
fn follower(rest: &[Offer], end: SimTime, wanted: &SequenceWanted) -> Option<(usize, Pick)> {
    for (at, offer) in rest.iter().enumerate() {
        if offer.window.left > end.saturating_add(wanted.gap) {
            return None;
        }
        let left = offer.window.left.max(end);
        if end.saturating_add(wanted.span) <= offer.window.right {
            return Some((at, trimmed(offer, left, wanted.span)));
        }
    }
    None
}

/// A server without other work has made a wider bid; if it can begin within a frame of the first, its whole
/// bid is used.
fn idle_alternative(ranked: &[Offer], first: Pick, wanted: &SequenceWanted) -> Pick {
    let width = first.window.span();
    let mut best = first;
    for offer in &ranked[1..3] {
        let later = offer.window.left.checked_since(best.window.left);
        if later.is_some_and(|later| later < wanted.frame)
            && offer.window.span() > width.saturating_add(wanted.frame)
        {
            best = Pick { server: offer.server, window: offer.window, trimmed: false };
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(server: u32, left: u64, right: u64) -> Offer {
        let window = Window { left: SimTime::from_ns(left), right: SimTime::from_ns(right) };
        Offer { window, lot: 0, server: ServerId(server) }
    }

    fn common_of(offers: &[Offer], span: u64, floor: u64, skips_last: bool) -> Option<(Vec<u32>, u64)> {
        let (span, floor) = (SimSpan::from_ns(span), SimTime::from_ns(floor));
        let wanted = CommonWanted { servers: 3, span, floor, skips_last, busy: &[] };
        let (servers, window) = common(offers, &wanted)?;
        Some((servers.iter().map(|server| server.0).collect(), window.left.as_ns()))
    }

    #[test]
    fn the_earliest_neighbours_with_a_common_window_win() {
        let offers = [offer(1, 0, 40), offer(2, 10, 50), offer(3, 30, 70), offer(4, 32, 90)];
        assert_eq!(common_of(&offers, 10, 0, false), Some((vec![1, 2, 3], 30)));
        assert_eq!(common_of(&offers, 11, 0, false), Some((vec![2, 3, 4], 32)));
        assert_eq!(common_of(&offers, 11, 0, true), None, "the last choice is not looked at");
        assert_eq!(
            common_of(&offers, 10, 31, false),
            Some((vec![2, 3, 4], 32)),
            "nothing begins before the floor"
        );
        assert_eq!(common_of(&offers, 30, 0, false), None);
        assert_eq!(common_of(&offers[..2], 1, 0, false), None);
    }

    fn sequence_of(offers: &[Offer], servers: usize) -> Vec<(u32, u64, bool)> {
        let (span, gap) = (SimSpan::from_ns(100), SimSpan::from_ns(10));
        let wanted = SequenceWanted { servers, span, gap, frame: SimSpan::from_ns(8) };
        sequence(offers, &wanted)
            .iter()
            .map(|pick| (pick.server.0, pick.window.left.as_ns(), pick.trimmed))
            .collect()
    }

    #[test]
    fn windows_that_follow_each_other_are_taken_together() {
        let wide = [offer(1, 0, 110), offer(2, 0, 300), offer(3, 205, 400)];
        assert_eq!(sequence_of(&wide, 3), [(1, 0, true), (2, 100, true), (3, 205, true)]);
        assert_eq!(sequence_of(&wide, 2), [(1, 0, true), (2, 100, true)]);
        let far = [offer(1, 0, 110), offer(2, 111, 300), offer(3, 205, 400)];
        assert_eq!(sequence_of(&far, 3), [(1, 0, true)], "the second begins too late");
    }

    #[test]
    fn an_idle_server_that_is_as_early_is_taken_whole() {
        let offers = [offer(1, 0, 110), offer(2, 5, 190), offer(3, 7, 160)];
        assert_eq!(sequence_of(&offers, 1), [(3, 7, false)]);
        assert_eq!(sequence_of(&offers[..2], 1), [(1, 0, true)], "only with more than two bids");
        assert_eq!(sequence_of(&[offers[0], offer(2, 8, 190), offer(3, 9, 190)], 1), [(1, 0, true)]);
    }
}
