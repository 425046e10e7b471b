//! The sums of the work, bounds against cases worked by hand, and sums broken on purpose.

use proptest::prelude::*;

use super::*;
use crate::sample::{self, Drawn, Size, Tasks, UNIT};

fn work(size: Size, jobs: &[Drawn], durable: impl Fn(u32) -> u32) -> (Work, Plan, Hardware) {
    let hardware = sample::hardware(size);
    let plan = sample::plan(&hardware, Tasks::Drivers, jobs);
    (Work::of(&hardware, &sample::limits(), &plan, durable), plan, hardware)
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let job = (0u32..8, 1u64..6 * UNIT, 1usize..4, 1usize..4, 0u32..8, any::<bool>());
    job.prop_map(|(driver, bytes, reads, writes, stride, pulls)| Drawn {
        driver,
        bytes,
        reads,
        writes,
        stride,
        by_log: pulls,
        pulls,
    })
}

const EIGHT: Size = Size { racks: 2, servers: 4, disks: 2 };

proptest! {
    /// The work up to some unit and the work from there add up to the whole; the even share is at most the
    /// busiest device's, and at least the longest chain.
    #[test]
    fn parts_of_the_work_are_the_whole(jobs in prop::collection::vec(drawn(), 1..12), cut in 0u32..7) {
        let (whole, plan, hardware) = work(EIGHT, &jobs, |_| u32::MAX);
        let part = Work::of(&hardware, &sample::limits(), &plan, |job| {
            cut.min(hardware.units(plan.job(job).bytes))
        });
        prop_assert!(part.bytes <= whole.bytes && part.bound() <= whole.bound());
        for (less, more) in part.disks.iter().zip(&whole.disks) {
            prop_assert!(less <= more);
        }
        let written: u128 = plan.each().map(|(_, _, job)| u128::from(job.bytes) * plan.writes(job).len() as u128).sum();
        prop_assert_eq!(whole.bytes, written);
        let survivors = Survivors::of(&hardware, &[false; 8]);
        prop_assert_eq!(survivors, Survivors { devices: 8, servers: 4, racks: 2 });
        let ideal = whole.ideal(&survivors);
        prop_assert!(whole.chain <= ideal && ideal <= whole.bound());
        let mut twice = whole.clone();
        twice.add(&whole);
        prop_assert_eq!(twice.bytes, 2 * whole.bytes);
        prop_assert_eq!(twice.units, 2 * whole.units);
        prop_assert_eq!(twice.bound(), whole.bound().saturating_mul(2));
        prop_assert!(twice.ideal(&survivors) >= ideal.saturating_mul(2));
    }
}

/// Two and a half units from one server to another: 2.5 us to read, 5 us to write, after a seek of 5 us each.
#[test]
fn the_work_of_one_copy_is_worked_by_hand() {
    let job = Drawn::one(0, 2_500);
    let (work, plan, hardware) = work(Size { racks: 2, servers: 2, disks: 1 }, &[job], |_| 3);
    let us = |tenths: u64| SimSpan::from_ns(tenths * 100);
    assert_eq!(work.disks, [us(75), us(100)]);
    assert_eq!((&work.sending[..], &work.receiving[..]), (&[us(25), us(0)][..], &[us(0), us(25)][..]));
    assert_eq!(work.traffic, Some(vec![0, 2_500, 0, 0]));
    // 2500 bytes at 400 MB/s.
    assert_eq!(work.uplinks, [[SimSpan::from_ns(6_250), us(0)], [us(0), SimSpan::from_ns(6_250)]]);
    assert_eq!((work.units, work.bytes, &work.moved[..]), (3, 2_500, &[[2_500, 0], [0, 2_500]][..]));
    // The first unit is read in 1 us and sent in 1 us with a latency of 3 us; all units are written in 5 us.
    assert_eq!(work.chain, us(100));
    assert_eq!(work.bound(), us(100));
    assert_eq!(work.ideal(&Survivors::of(&hardware, &[false, false])), us(100));
    // None of the units is durable.
    let none = Work::of(&hardware, &sample::limits(), &plan, |_| 0);
    assert_eq!((none.bound(), none.bytes, none.units), (SimSpan::ZERO, 0, 0));
}

#[test]
fn who_survives_is_counted_once() {
    let hardware = sample::hardware(EIGHT);
    let without = |gone: &[usize]| {
        let mut stopped = [false; 8];
        gone.iter().for_each(|&device| stopped[device] = true);
        let Survivors { devices, servers, racks } = Survivors::of(&hardware, &stopped);
        [devices, servers, racks]
    };
    assert_eq!(without(&[]), [8, 4, 2]);
    assert_eq!(without(&[0]), [7, 4, 2], "its server has another disk");
    assert_eq!(without(&[0, 1]), [6, 3, 2]);
    assert_eq!(without(&[0, 1, 2, 3]), [4, 2, 1]);
    assert_eq!(without(&[0, 1, 2, 3, 4, 5, 6, 7]), [0, 0, 0]);
}

fn one_job() -> Work {
    work(EIGHT, &[Drawn { writes: 2, stride: 2, ..Drawn::one(0, 900) }], |_| 1).0
}

#[test]
#[should_panic(expected = "nanoseconds that cards send, and that cards receive")]
fn work_that_is_sent_and_not_received_is_noticed() {
    let mut work = one_job();
    work.sending[1] = work.sending[1].saturating_add(SimSpan::from_ns(1));
    work.assert_conserved();
}

#[test]
#[should_panic(expected = "bytes written to disks, and bytes made again")]
fn bytes_that_are_written_from_nowhere_are_noticed() {
    let mut work = one_job();
    work.moved[2][1] += 1;
    work.assert_conserved();
}

#[test]
#[should_panic(expected = "a disk works 1ns for [0, 0] bytes")]
fn a_disk_that_works_for_nothing_is_noticed() {
    let mut work = one_job();
    let idle = work.disks.iter().position(|span| span.is_zero()).expect("of eight disks");
    work.disks[idle] = SimSpan::from_ns(1);
    work.assert_conserved();
}

#[test]
#[should_panic(expected = "disks had work, and 1 survive")]
fn work_of_more_disks_than_survive_is_noticed() {
    let _ = one_job().ideal(&Survivors { devices: 1, servers: 1, racks: 1 });
}
