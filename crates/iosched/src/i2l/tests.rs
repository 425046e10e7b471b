//! Orders, buckets and limits computed by hand, from section 1.13 of the study's reference (I2L).

use super::*;
use crate::FlowSpec;
use crate::trial::{given, ms, request};

/// Applications of 20 and 10 requests per second, with deadlines after 100 and 30 ms; buckets are refilled
/// every 100 ms to 2 and 1 tokens.
fn i2l() -> I2l<u32> {
    let spec = |rate, delay| FlowSpec { rate, delay: SimSpan::from_ms(delay), ..FlowSpec::default() };
    let flows = Flows::new(vec![spec(20, 100), spec(10, 30)]);
    I2l::new(I2lSpec { sarc: SimSpan::from_ms(100), avatar: SimSpan::from_ms(1_000) }, &flows)
}

fn come(i2l: &mut I2l<u32>, now: SimTime, flow: u32, item: u32) {
    let mut request = request(flow, 1, item);
    request.about.rose = now;
    i2l.arrive(now, request);
}

#[test]
fn who_has_a_token_goes_by_deadline() {
    let mut i2l = i2l();
    come(&mut i2l, ms(0), 0, 0);
    come(&mut i2l, ms(0), 0, 1);
    come(&mut i2l, ms(1), 1, 10);
    assert_eq!(given(&mut i2l, ms(1)), [10, 0, 1]);
}

/// Four outstanding requests reach the limit and the server is not idle: the third request of application 0
/// waits for the next refill.
#[test]
fn who_has_no_token_waits_for_the_interval() {
    let mut i2l = i2l();
    for item in 0..5 {
        come(&mut i2l, ms(0), 0, item);
    }
    // An idle server lends: each arrival without a token refilled all buckets.
    assert_eq!(given(&mut i2l, ms(0)), [0, 1, 2, 3]);
    come(&mut i2l, ms(1), 0, 5);
    come(&mut i2l, ms(2), 0, 6);
    assert_eq!(i2l.sarc.waiting().map(|request| request.item).collect::<Vec<_>>(), [6]);
    assert_eq!((given(&mut i2l, ms(2)), i2l.wake_at()), (vec![], Some(ms(100))));
    i2l.wake(ms(100));
    assert_eq!(i2l.sarc.waiting().count(), 0);
    assert_eq!(i2l.waiting().count(), 3);
    // Request 4 was due at 100 ms: a nanosecond later it goes although four requests are outstanding.
    assert_eq!((given(&mut i2l, ms(100)), i2l.wake_at()), (vec![], Some(SimTime::from_ns(100_000_001))));
    assert_eq!(given(&mut i2l, SimTime::from_ns(100_000_001)), [4]);
}

#[test]
fn a_server_that_runs_out_of_work_lends_at_once() {
    let mut i2l = i2l();
    (0..5).for_each(|item| come(&mut i2l, ms(0), 0, item));
    let mut out: Vec<Request<u32>> = std::iter::from_fn(|| i2l.next(ms(0))).collect();
    (5..8).for_each(|item| come(&mut i2l, ms(1), 0, item));
    assert_eq!(i2l.sarc.waiting().count(), 2);
    // Completions free slots for 4 and 5; when those are done too, the queue is empty and three of four are
    // outstanding.
    while let Some(done) = (!out.is_empty()).then(|| out.remove(0)) {
        i2l.complete(ms(2), &done);
        out.extend(std::iter::from_fn(|| i2l.next(ms(2))));
    }
    assert_eq!(i2l.waiting().count(), 0);
}

/// X = 4 completions of 10 ms each after no wait: E = 100/10 = 10. Nothing is left: XL = 0 + 0 + 4, XU = 4; L
/// XU/X = 4 bounds the limit.
#[test]
fn the_limit_is_set_at_the_end_of_a_window() {
    let mut i2l = i2l();
    (0..4).for_each(|item| come(&mut i2l, ms(0), 0, item));
    let out: Vec<Request<u32>> = std::iter::from_fn(|| i2l.next(ms(0))).collect();
    assert_eq!(out.len(), 4);
    out.iter().for_each(|done| i2l.complete(ms(10), done));
    assert_eq!(i2l.avatar.limit_percent(), 400);
    i2l.wake(ms(1_000));
    assert_eq!(i2l.avatar.limit_percent(), 400);
    // Service of 200 ms with a delay of 100: E = 0.5 asks for 2, less than the lower bound of 4: no limit at
    // all.
    (0..4).for_each(|item| come(&mut i2l, ms(1_001), 0, item));
    let out: Vec<Request<u32>> = std::iter::from_fn(|| i2l.next(ms(1_001))).collect();
    out.iter().for_each(|done| i2l.complete(ms(1_201), done));
    i2l.wake(ms(2_000));
    assert_eq!(i2l.avatar.limit_percent(), 10_000);
    assert_eq!(i2l.wake_at(), None);
}

#[test]
#[should_panic(expected = "a request came at 5ms and is given at 1ms")]
fn a_request_that_is_given_before_it_came_breaks_a_law() {
    let mut i2l = i2l();
    come(&mut i2l, ms(5), 0, 0);
    let _ = i2l.next(ms(1));
}

#[test]
#[should_panic(expected = "buckets are filled at 3ms, and were at 5ms")]
fn buckets_that_are_filled_backwards_break_a_law() {
    let mut i2l = i2l();
    i2l.refill(ms(5));
    i2l.refill(ms(3));
}
