//! Choices among bids, compared with exhaustive search over all windows and choices.

use std::collections::BTreeSet;

use proptest::prelude::*;
use towtank_negotiation::choice::{CommonWanted, Offer, SequenceWanted, common, rank, sequence};
use towtank_negotiation::{ServerId, Window};
use towtank_units::{SimSpan, SimTime};

fn at(ns: u64) -> SimTime {
    SimTime::from_ns(ns)
}

fn ns(ns: u64) -> SimSpan {
    SimSpan::from_ns(ns)
}

/// Windows of a few nanoseconds, so that they overlap often.
fn windows(count: usize) -> impl Strategy<Value = Vec<Window>> {
    let window = (0u64..60, 1u64..30).prop_map(|(left, span)| Window::of(at(left), ns(span)));
    prop::collection::vec(window, 0..count)
}

fn offers() -> impl Strategy<Value = Vec<Offer>> {
    (windows(9), any::<u64>()).prop_map(|(windows, seed)| {
        let offer = |(server, window): (u32, Window)| Offer {
            window,
            lot: seed.rotate_left(server * 7),
            server: ServerId(server),
        };
        let mut offers: Vec<Offer> = (0u32..).zip(windows).map(offer).collect();
        rank(&mut offers);
        offers
    })
}

proptest! {
    /// Two windows overlap if they have a nanosecond in common, and one lies in the other if no nanosecond of
    /// it lies outside.
    #[test]
    fn windows_are_sets_of_moments(left in 0u64..40, span in 1u64..20, other in 0u64..40, wide in 1u64..20) {
        let (one, two) = (Window::of(at(left), ns(span)), Window::of(at(other), ns(wide)));
        let moments = |window: &Window| (window.left.as_ns()..window.right.as_ns()).collect::<BTreeSet<u64>>();
        prop_assert_eq!(one.overlaps(&two), !moments(&one).is_disjoint(&moments(&two)));
        prop_assert_eq!(one.overlaps(&two), two.overlaps(&one));
        prop_assert_eq!(one.lies_in(&two), moments(&one).is_subset(&moments(&two)));
        prop_assert_eq!(one.span(), ns(moments(&one).len() as u64));
        prop_assert!(one.lies_in(&one) && one.overlaps(&one));
    }

    /// The first free interval is the earliest of all that overlap no busy window.
    #[test]
    fn the_first_free_stretch_is_the_first(busy in windows(8), left in 0u64..70, span in 1u64..20) {
        let free = |begin: &u64| busy.iter().all(|window| !window.overlaps(&Window::of(at(*begin), ns(span))));
        let want = (left..200).find(free).expect("all is free behind the last window");
        prop_assert_eq!(Window::first_free(at(left), ns(span), &busy), at(want));
    }

    /// A common window lies in all its offers, and no earlier choice of neighbours was possible.
    #[test]
    fn a_common_window_is_the_first_that_will_do(
        offers in offers(), busy in windows(3), servers in 1usize..4, span in 1u64..20, floor in 0u64..50, skips_last: bool
    ) {
        let wanted = CommonWanted { servers, span: ns(span), floor: at(floor), skips_last, busy: &busy };
        let found = common(&offers, &wanted);
        let fits = |choice: &[Offer]| {
            let left = choice.iter().map(|offer| offer.window.left.as_ns()).max().unwrap_or_default().max(floor);
            let begin = Window::first_free(at(left), ns(span), &busy);
            let window = Window::of(begin, ns(span));
            choice.iter().all(|offer| window.lies_in(&offer.window)).then_some(window)
        };
        let mut choices: Vec<&[Offer]> = offers.windows(servers).collect();
        if skips_last && choices.len() > 1 {
            choices.pop();
        }
        let want = choices.iter().find_map(|choice| fits(choice).map(|window| (*choice, window)));
        prop_assert_eq!(found.is_some(), want.is_some());
        if let (Some((chosen, window)), Some((choice, first))) = (found, want) {
            prop_assert_eq!(window, first);
            prop_assert_eq!(chosen, choice.iter().map(|offer| offer.server).collect::<Vec<_>>());
            prop_assert!(window.left >= at(floor) && window.span() == ns(span));
            prop_assert!(!busy.iter().any(|other| other.overlaps(&window)));
        }
    }

    /// Windows of a sequence follow each other closely, each from another server, and start with the first
    /// offer.
    #[test]
    fn a_sequence_goes_on_without_wide_gaps(
        offers in offers(), servers in 1usize..5, span in 1u64..20, gap in 0u64..9
    ) {
        let wanted = SequenceWanted { servers, span: ns(span), gap: ns(gap), frame: ns(4) };
        let picks = sequence(&offers, &wanted);
        prop_assert_eq!(picks.is_empty(), offers.is_empty());
        prop_assert!(picks.len() <= servers);
        let chosen: BTreeSet<ServerId> = picks.iter().map(|pick| pick.server).collect();
        prop_assert_eq!(chosen.len(), picks.len(), "a server is picked twice");
        for pair in picks.windows(2) {
            let between = pair[1].window.left.checked_since(pair[0].window.right);
            prop_assert!(between.is_some_and(|between| between <= ns(gap)), "{:?}", picks);
        }
        for pick in &picks {
            let offer = offers.iter().find(|offer| offer.server == pick.server).expect("it has bid");
            prop_assert!(pick.window.left >= offer.window.left);
            prop_assert_eq!(pick.trimmed, pick.window != offer.window);
            // Alone, an idle server's bid may be accepted with its whole width.
            prop_assert!(pick.window.span() == ns(span) || (picks.len() == 1 && !pick.trimmed));
        }
    }

    /// Ranks do not depend on the order of arrival, and equal start times are ordered by lot.
    #[test]
    fn ranks_are_by_beginning_and_lot(offers in offers(), turn in 0usize..9) {
        let mut others = offers.clone();
        let turn = turn.min(others.len());
        others.rotate_left(turn);
        rank(&mut others);
        prop_assert_eq!(&others, &offers);
        for pair in offers.windows(2) {
            prop_assert!(pair[0].window.left <= pair[1].window.left);
            prop_assert!(pair[0].window.left < pair[1].window.left || pair[0].lot <= pair[1].lot);
        }
    }
}

#[test]
#[should_panic(expected = "offers are out of order")]
fn offers_that_were_not_ranked_are_noticed() {
    let offer =
        |server, left| Offer { window: Window::of(at(left), ns(9)), lot: 0, server: ServerId(server) };
    let wanted = SequenceWanted { servers: 2, span: ns(5), gap: ns(1), frame: ns(4) };
    let _ = sequence(&[offer(0, 20), offer(1, 10)], &wanted);
}
