//! Ports compared with cases worked by hand, and with the same sharing simulated nanosecond by nanosecond.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

const PORT: PortId = PortId(0);

/// One byte per nanosecond.
fn spec(sharing: Sharing) -> SwitchSpec {
    SwitchSpec { port: Rate::from_bytes_per_second(1_000_000_000).expect("above zero"), sharing }
}

fn at(ns: u64) -> SimTime {
    SimTime::from_ns(ns)
}

/// Sends transfers of (instant, flow, bytes) through a port; returns when each ends, in the order of the
/// list.
fn ends(spec: &SwitchSpec, comes: &[(u64, u32, u64)]) -> Vec<u64> {
    let (mut switch, mut ends) = (Switch::new(1), vec![0; comes.len()]);
    let mut take = |switch: &mut Switch<usize>, until: SimTime| {
        while let Some(due) = switch.due(spec, PORT).filter(|&due| due <= until) {
            let one = switch.done(spec, due, PORT).expect("something is done when it is due");
            ends[one.item] = due.as_ns();
        }
    };
    for (item, &(now, flow, bytes)) in comes.iter().enumerate() {
        take(&mut switch, at(now));
        switch.send(spec, at(now), PORT, Transfer { flow, bytes, item });
        switch.audit(spec).expect("the laws hold on the way");
    }
    take(&mut switch, SimTime::MAX);
    switch.audit(spec).expect("the laws hold at the end");
    assert_eq!(switch.inside().count(), 0);
    ends
}

#[test]
fn cases_worked_by_hand() {
    let check = |sharing, comes: &[(u64, u32, u64)], want: &[u64]| {
        assert_eq!(ends(&spec(sharing), comes), want, "{sharing:?} {comes:?}");
    };
    // One transfer has the port to itself.
    check(Sharing::Fair, &[(5, 1, 100)], &[105]);
    check(Sharing::Fifo, &[(5, 1, 100)], &[105]);
    // Two flows at once: each gets half until the shorter one is done.
    check(Sharing::Fair, &[(0, 1, 100), (0, 2, 50)], &[150, 100]);
    check(Sharing::Fifo, &[(0, 1, 100), (0, 2, 50)], &[100, 150]);
    // The second comes when the first has sent half: 25 more bytes of each take 50 ns, then the first has 25
    // left.
    check(Sharing::Fair, &[(0, 1, 100), (50, 2, 25)], &[125, 100]);
    // Two transfers of one flow follow each other, and together get no more than another flow's one.
    check(Sharing::Fair, &[(0, 1, 50), (0, 1, 50), (0, 2, 100)], &[100, 200, 200]);
    // Idle time is not saved, neither by a port nor by a flow.
    check(Sharing::Fair, &[(0, 1, 10), (1_000, 1, 10)], &[10, 1_010]);
    check(Sharing::Fifo, &[(0, 1, 10), (1_000, 1, 10)], &[10, 1_010]);
    check(Sharing::Fair, &[(0, 1, 100), (50, 2, 100)], &[150, 200]);
    // An empty transfer takes no time.
    check(Sharing::Fair, &[(7, 1, 0)], &[7]);
}

#[test]
fn ports_do_not_hinder_each_other() {
    let (spec, mut switch) = (spec(Sharing::Fair), Switch::new(2));
    switch.send(&spec, at(0), PortId(0), Transfer { flow: 1, bytes: 10, item: 'a' });
    switch.send(&spec, at(0), PortId(1), Transfer { flow: 2, bytes: 10, item: 'b' });
    assert_eq!([0, 1].map(|port| switch.due(&spec, PortId(port))), [Some(at(10)); 2]);
    assert_eq!(
        switch.inside().map(|(port, one)| (port.0, one.item)).collect::<Vec<_>>(),
        [(0, 'a'), (1, 'b')]
    );
}

#[test]
fn an_event_for_an_instant_that_has_moved_finds_nothing() {
    let (spec, mut switch) = (spec(Sharing::Fair), Switch::new(1));
    switch.send(&spec, at(0), PORT, Transfer { flow: 1, bytes: 10, item: () });
    switch.send(&spec, at(5), PORT, Transfer { flow: 2, bytes: 10, item: () });
    assert_eq!(switch.done(&spec, at(10), PORT), None);
    assert_eq!(switch.due(&spec, PORT), Some(at(15)));
    assert!(switch.done(&spec, at(15), PORT).is_some());
    assert_eq!(switch.busy(PORT), SimSpan::from_ns(15));
}

#[test]
#[should_panic(expected = "was not taken out")]
fn what_has_ended_must_be_taken_out() {
    let (spec, mut switch) = (spec(Sharing::Fifo), Switch::new(1));
    switch.send(&spec, at(0), PORT, Transfer { flow: 1, bytes: 10, item: () });
    switch.send(&spec, at(11), PORT, Transfer { flow: 1, bytes: 10, item: () });
}

#[test]
fn lost_bytes_and_too_many_of_them_are_noticed() {
    let (spec, mut switch) = (spec(Sharing::Fair), Switch::new(1));
    switch.send(&spec, at(0), PORT, Transfer { flow: 1, bytes: 10, item: () });
    assert_eq!(switch.audit(&spec), Ok(()));
    let mut planted = switch.clone();
    planted.ports[0].inside.clear();
    assert_eq!(planted.audit(&spec), Err(Broken::LostBytes { came: 10, gone: 0, inside: 0 }));
    assert!(switch.done(&spec, at(10), PORT).is_some());
    assert_eq!(switch.audit(&spec), Ok(()));
    let mut planted = switch.clone();
    planted.ports[0].busy = SimSpan::from_ns(9);
    assert_eq!(planted.audit(&spec), Err(Broken::TooFast { gone: 10, busy: SimSpan::from_ns(9) }));
}

/// The same, nanosecond by nanosecond: each backlogged flow gets its part of what the port sends in one.
fn slowly(bytes_per_ns: u64, sharing: Sharing, comes: &[(u64, u32, u64)]) -> Vec<u64> {
    let mut ends = vec![0; comes.len()];
    let mut flows: BTreeMap<u32, VecDeque<(usize, f64)>> = BTreeMap::new();
    let (mut next, mut now) = (0, 0);
    while next < comes.len() || !flows.is_empty() {
        while let Some(&(_, flow, bytes)) = comes.get(next).filter(|one| one.0 <= now) {
            let flow = if sharing == Sharing::Fair { flow } else { 0 };
            flows.entry(flow).or_default().push_back((next, bytes as f64));
            next += 1;
        }
        let share = bytes_per_ns as f64 / flows.len() as f64;
        now += 1;
        for waiting in flows.values_mut() {
            let mut share = share;
            while let Some((item, left)) = waiting.front_mut() {
                *left -= share;
                if *left > 1e-9 {
                    break;
                }
                share = -*left;
                ends[*item] = now;
                waiting.pop_front();
            }
        }
        flows.retain(|_, waiting| !waiting.is_empty());
    }
    ends
}

proptest! {
    /// Each transfer ends when it would if the port were shared one nanosecond at a time, apart from the
    /// nanoseconds in which others end.
    #[test]
    fn a_port_is_shared_as_if_each_nanosecond_were(
        gaps in prop::collection::vec((0u64..60, 0u32..4, 1u64..200), 1..25), bytes_per_ns in 1u64..4, fair: bool,
    ) {
        let mut now = 0;
        let comes: Vec<_> = gaps.iter().map(|&(gap, flow, bytes)| { now += gap; (now, flow, bytes) }).collect();
        let sharing = if fair { Sharing::Fair } else { Sharing::Fifo };
        let port = Rate::from_bytes_per_second(bytes_per_ns * 1_000_000_000).expect("above zero");
        let (fast, slow) = (ends(&SwitchSpec { port, sharing }, &comes), slowly(bytes_per_ns, sharing, &comes));
        let most = comes.len() as u64;
        for (fast, slow) in fast.iter().zip(&slow) {
            prop_assert!(fast.abs_diff(*slow) <= most, "{fast} {slow}");
        }
    }

    /// However flows share it, a permanently backlogged port is done when its bytes have been sent.
    #[test]
    fn sharing_neither_makes_nor_loses_time(sizes in prop::collection::vec((0u32..5, 1u64..10_000), 1..40), fair: bool) {
        let comes: Vec<_> = sizes.iter().map(|&(flow, bytes)| (0, flow, bytes)).collect();
        let sharing = if fair { Sharing::Fair } else { Sharing::Fifo };
        let last = ends(&spec(sharing), &comes).into_iter().max().expect("there is one");
        let bytes: u64 = sizes.iter().map(|size| size.1).sum();
        prop_assert!((bytes..=bytes + sizes.len() as u64).contains(&last), "{last} {bytes}");
    }
}
