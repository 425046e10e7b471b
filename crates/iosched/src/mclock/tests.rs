//! Tags and phases computed by hand, from section 3.1 of the study's reference; behaviour over time is tested
//! in `tests/iosched/laws`.

use super::*;
use crate::trial::{at, given, ms, push, request, served};

fn spec(reservation: u64, weight: u32, limit: u64) -> FlowSpec {
    FlowSpec { reservation, weight, limit, ..FlowSpec::default() }
}

fn mclock(specs: &[FlowSpec], at_limit: AtLimit) -> Mclock<u32> {
    Mclock::new(None, at_limit, &Flows::new(specs.to_vec()))
}

/// What is given at one instant, by item, with the phase.
fn phases(mclock: &mut Mclock<u32>, now: SimTime) -> Vec<(u32, Phase)> {
    std::iter::from_fn(|| mclock.next(now)).map(|one| (one.item, Phase::of(&one.about))).collect()
}

/// r = 10 and l = 20 per second, costs of 1: R at 0, 100, 200 ms, L at 0, 50, 100 ms. A request served by
/// share brings R forward by 100 ms.
#[test]
fn reservation_and_limit_by_hand() {
    let mut mclock = mclock(&[spec(10, 1, 20)], AtLimit::Wait);
    (0..4).for_each(|item| push(&mut mclock, 0, 1, item));
    assert_eq!(phases(&mut mclock, ms(0)), [(0, Phase::Reservation)]);
    // R = 100, L = 50.
    assert_eq!(mclock.wake_at(), Some(ms(50)));
    assert_eq!(phases(&mut mclock, ms(49)), []);
    assert_eq!(phases(&mut mclock, ms(50)), [(1, Phase::Share)]);
    // R' = 100 was brought back to 0, so that R = 100 again; L = 100. The reservation goes first.
    assert_eq!(mclock.wake_at(), Some(ms(100)));
    assert_eq!(phases(&mut mclock, ms(100)), [(2, Phase::Reservation)]);
    assert_eq!(mclock.wake_at(), Some(ms(150)));
}

/// P = 1/w, 2/w, 3/w ..: weights 1 and 2, without limits.
#[test]
fn shares_by_hand() {
    let mut mclock = mclock(&[spec(0, 1, 0), spec(0, 2, 0)], AtLimit::Wait);
    (0..3).for_each(|item| push(&mut mclock, 0, 1, item));
    (10..14).for_each(|item| push(&mut mclock, 1, 1, item));
    // P of flow 0: 1, 2, 3; of flow 1: 0.5, 1, 1.5, 2.
    assert_eq!(given(&mut mclock, at(0)), [10, 0, 11, 12, 1, 13, 2]);
    assert_eq!(mclock.wake_at(), None);
}

#[test]
fn who_comes_back_starts_where_the_others_are() {
    let mut mclock = mclock(&[spec(0, 1, 0), spec(0, 1, 0)], AtLimit::Wait);
    push(&mut mclock, 1, 1, 10);
    assert_eq!(served(&mut mclock), [10]);
    (0..60).for_each(|item| push(&mut mclock, 0, 1, item));
    (0..50).for_each(|_| assert!(mclock.next(at(0)).is_some()));
    (11..15).for_each(|item| mclock.arrive(at(1), request(1, 1, item)));
    assert_eq!(given(&mut mclock, at(1))[..6], [50, 11, 51, 12, 52, 13]);
}

/// A flow with a request in service keeps its claim, however short the idle age, and one that sends again at
/// the instant at which its last one completes was never idle.
#[test]
fn who_has_a_request_in_service_keeps_its_claim() {
    for completes in [false, true] {
        let mut mclock = mclock(&[spec(0, 1, 0), spec(0, 4, 0)], AtLimit::Wait);
        push(&mut mclock, 1, 1, 10);
        assert_eq!(given(&mut mclock, at(0)), [10]);
        (0..4).for_each(|item| push(&mut mclock, 0, 1, item));
        (0..2).for_each(|_| assert!(mclock.next(at(1)).is_some()));
        if completes {
            mclock.complete(at(5), &request(1, 1, 10));
        }
        // Flow 0 has P = 1.25, where flow 1 left off, and its fourth request P = 4.25. Flow 1 has 0.5 to 2.
        (11..18).for_each(|item| mclock.arrive(at(5), request(1, 1, item)));
        assert_eq!(given(&mut mclock, at(5))[..7], [11, 12, 13, 14, 15, 16, 17], "completes: {completes}");
    }
}

/// A flow that was away for less than the idle age takes what it did not use; for longer, nothing.
#[test]
fn a_claim_ends_with_the_idle_age() {
    let back = |idle_after: u64, at_s: u64| {
        let second = |s: u64| SimTime::ZERO.saturating_add(SimSpan::from_secs(s));
        let mut mclock =
            mclock(&[spec(0, 1, 0), spec(0, 1, 0)], AtLimit::Wait).idle_after(SimSpan::from_secs(idle_after));
        push(&mut mclock, 1, 1, 10);
        assert_eq!(served(&mut mclock), [10]);
        (0..20).for_each(|item| push(&mut mclock, 0, 1, item));
        (0..10).for_each(|_| assert!(mclock.next(at(1)).is_some()));
        (101..105).for_each(|item| mclock.arrive(second(at_s), request(1, 1, item)));
        given(&mut mclock, second(at_s))[..4].iter().filter(|&&item| item > 100).count()
    };
    assert_eq!((back(0, 1), back(300, 300), back(300, 301)), (2, 4, 2));
    let ceph: Mclock<u32> = Profile::Balanced.scheduler(Some(4), 1_000);
    assert_eq!(ceph.idle_after, SimSpan::from_secs(300));
}

/// A flow with one request at a time is idle between any two of them, and gains nothing by that: it keeps its
/// own last P.
#[test]
fn one_at_a_time_gains_nothing() {
    let mut mclock = mclock(&[spec(0, 1, 0), spec(0, 3, 0)], AtLimit::Wait);
    (0..100).for_each(|item| push(&mut mclock, 1, 1, 1_000 + item));
    let mut small = 0;
    push(&mut mclock, 0, 1, 0);
    for _ in 0..80 {
        if mclock.next(at(0)).expect("somebody waits").item < 1_000 {
            small += 1;
            push(&mut mclock, 0, 1, 0);
        }
    }
    assert!((19..=21).contains(&small), "{small} of 80 for a quarter");
}

/// All requests of a busy flow may be in service when another flow's arrive: the latter starts at the P of
/// the busy one, not at the clock.
#[test]
fn who_is_all_in_service_is_active() {
    let mut mclock = mclock(&[spec(0, 1, 0), spec(0, 1, 0)], AtLimit::Wait);
    (0..50).for_each(|item| push(&mut mclock, 0, 1, item));
    assert_eq!(given(&mut mclock, at(0)).len(), 50);
    (60..63).for_each(|item| push(&mut mclock, 1, 1, item));
    (50..53).for_each(|item| push(&mut mclock, 0, 1, item));
    assert_eq!(given(&mut mclock, at(0)), [50, 60, 51, 61, 52, 62]);
}

#[test]
fn limits_bind_or_not_as_chosen() {
    for (at_limit, want, wake) in
        [(AtLimit::Wait, vec![0], Some(ms(100))), (AtLimit::Allow, vec![0, 1, 2], None)]
    {
        let mut mclock = mclock(&[spec(0, 1, 10)], at_limit);
        (0..3).for_each(|item| push(&mut mclock, 0, 1, item));
        assert_eq!((given(&mut mclock, at(0)), mclock.wake_at()), (want, wake));
    }
}

#[test]
fn without_weight_only_the_reservation_counts() {
    let mut mclock = mclock(&[spec(10, 0, 0), spec(0, 1, 0)], AtLimit::Wait);
    (0..3).for_each(|item| push(&mut mclock, 0, 1, item));
    push(&mut mclock, 1, 1, 10);
    assert_eq!(given(&mut mclock, at(0)), [0, 10]);
    assert_eq!((mclock.wake_at(), given(&mut mclock, ms(100))), (Some(ms(100)), vec![1]));
    let allowed = &mut Mclock::new(None, AtLimit::Allow, &Flows::new(vec![spec(10, 0, 0)]));
    (0..2).for_each(|item| push(allowed, 0, 1, item));
    assert_eq!(given(allowed, at(0)), [0, 1]);
}

/// dmClock: rho and delta of the service that a client got elsewhere move R by (rho + c)/r, and P and L by
/// (delta + c)/w and (delta + c)/l.
#[test]
fn feedback_delays_tags() {
    let mut mclock = mclock(&[spec(10, 1, 20)], AtLimit::Wait);
    let feedback = Feedback { delta: 5, rho: 2 };
    push(&mut mclock, 0, 1, 0);
    assert_eq!(phases(&mut mclock, ms(0)), [(0, Phase::Reservation)]);
    mclock.arrive(ms(0), request(0, 1, 1).about(About { feedback, ..About::default() }));
    let tags = mclock.flows[0].tags.expect("it has a head");
    let instants = [tags.reservation, tags.share, tags.limit].map(Tag::instant);
    assert_eq!(instants, [ms(300), ms(7_000), ms(300)]);
}

#[test]
fn a_depth_bounds_what_is_in_service_and_asks_for_no_wake() {
    let mut mclock = Mclock::new(Some(1), AtLimit::Wait, &Flows::new(vec![spec(10, 1, 0)]));
    (0..2).for_each(|item| push(&mut mclock, 0, 1, item));
    assert_eq!((given(&mut mclock, at(0)), mclock.wake_at()), (vec![0], None));
    mclock.complete(at(1), &request(0, 1, 0));
    assert_eq!(given(&mut mclock, at(1)), [1]);
}

#[test]
#[should_panic(expected = "shares that wait")]
fn a_flow_that_lost_its_share_is_noticed() {
    let mut mclock = Mclock::new(None, AtLimit::Wait, &Flows::weighted(&[1, 1]));
    (0..4).for_each(|item| crate::trial::push(&mut mclock, item % 2, 10, item));
    mclock.by_share.pop_last();
    let _ = crate::trial::served(&mut mclock);
}

#[test]
#[should_panic(expected = "came at 5s and is given at 0s")]
fn a_request_from_the_future_breaks_a_law() {
    let mut mclock = mclock(&[spec(0, 1, 0)], AtLimit::Allow);
    mclock.arrive(ms(5_000), request(0, 1, 0));
    let _ = mclock.next(at(0));
}

#[test]
#[should_panic(expected = "flow 0 is served for a reservation that it does not have")]
fn a_reservation_that_nobody_has_breaks_a_law() {
    let mut mclock = mclock(&[spec(0, 1, 0)], AtLimit::Wait);
    push(&mut mclock, 0, 1, 0);
    mclock.by_reservation.insert((Tag::ZERO, 0));
    let _ = mclock.next(at(0));
}
