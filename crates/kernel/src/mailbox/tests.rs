//! No packet is left with a sleeping owner: the order of steps that would lose a wake-up, all orders of a
//! model of the protocol, and threads that pause at drawn places beside busy ones.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use towtank_streams::{Draws, Purpose, Seed, Uniform};

use super::*;

const PAUSE: Purpose = Purpose(0);

/// The owner finds its box empty, a packet comes, and only then does the owner fall asleep.
#[test]
fn a_packet_that_comes_before_sleep_ends_it() {
    let mailbox = Mailbox::new();
    assert!(mailbox.is_empty());
    mailbox.deliver(7);
    mailbox.sleep();
    let mut taken = VecDeque::new();
    mailbox.empty_into(&mut taken);
    assert_eq!((taken, mailbox.is_empty()), (VecDeque::from([7]), true));
    mailbox.close();
    mailbox.sleep();
}

/// Two workers that sleep, and are woken in turn, both look for long again: sleep does not cause sleep for
/// ever.
#[test]
fn a_worker_that_looked_in_vain_looks_for_long_again() {
    let long: Vec<u32> = (0..100).filter(|&vain| looks_after(vain) == LOOKS).collect();
    assert_eq!(long, [0, 1, 32, 64, 96]);
    assert!((0..100).all(|vain| [LOOKS, LOOKS_LEAST].contains(&looks_after(vain))));
}

/// Waits, for as long as it takes, until the owner of a box sleeps.
fn until_asleep<P>(mailbox: &Mailbox<P>) {
    while !mailbox.open().asleep {
        thread::yield_now();
    }
}

#[test]
fn a_sleeper_is_woken_by_a_packet_and_by_the_loss_of_a_worker() {
    let post = Post::new(2);
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            let mut counter = post.counter(1);
            counter.wait();
            let first = counter.take();
            counter.wait();
            (first, counter.take())
        });
        until_asleep(&post.boxes[1]);
        post.counter(0).put(1, 3);
        until_asleep(&post.boxes[1]);
        post.abandon();
        assert_eq!(sleeper.join().expect("the sleeper does not panic"), (Some(3), None));
    });
    assert!(post.is_abandoned());
}

/// What an owner does before it sleeps, as steps that no other thread can interrupt.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// Leaves if there is a packet.
    Look,
    /// Notes that it sleeps.
    Note,
    /// Sleeps, if it still notes so.
    Sleep,
    /// The last two after a last look, under the lock.
    LookAndSleep,
}

/// Whether, in some order of these steps and of a sender's, the owner sleeps although a packet is there. A
/// sender delivers, and takes back the note in the same step, which wakes the owner.
fn loses(owner: &[Step], (packets, noted, asleep): (u32, bool, bool), to_send: u32) -> bool {
    if asleep && packets > 0 && to_send == 0 {
        return true;
    }
    let sends = to_send > 0 && loses(owner, (packets + 1, false, asleep && !noted), to_send - 1);
    let Some((step, rest)) = owner.split_first().filter(|_| !asleep) else { return sends };
    let after = match step {
        Step::Look | Step::LookAndSleep if packets > 0 => return sends,
        Step::Look => (packets, noted, false),
        Step::Note => (packets, true, false),
        Step::Sleep => (packets, noted, true),
        Step::LookAndSleep => (packets, true, true),
    };
    sends || loses(rest, after, to_send)
}

#[test]
fn no_order_of_steps_loses_a_packet_but_those_of_a_wrong_protocol() {
    use Step::{Look, LookAndSleep, Note, Sleep};
    for packets in 1..4 {
        let start = (0, false, false);
        assert!(!loses(&[Look, LookAndSleep], start, packets), "the protocol loses one of {packets}");
        assert!(loses(&[Look, Note, Sleep], start, packets), "no second look");
        assert!(loses(&[Note, Look, Sleep], start, packets), "a note that is taken back before sleep");
    }
}

/// Does something else for a drawn time, often none at all.
fn pause(draws: &mut Draws) {
    let mut source = draws.of(PAUSE);
    match source.below(4) {
        0 => thread::yield_now(),
        1 => (0..source.below(3 * u64::from(LOOKS))).for_each(|_| std::hint::spin_loop()),
        _ => {}
    }
}

/// Packets go round among more workers than there are processors, beside threads that are always busy. A lost
/// wake-up would leave all asleep.
#[test]
fn packets_go_round_under_load() {
    const WORKERS: usize = 6;
    const ROUNDS: u64 = 900;
    let over = Arc::new(AtomicBool::new(false));
    let busy: Vec<_> = (0..2)
        .map(|_| {
            let over = Arc::clone(&over);
            thread::spawn(move || while !over.load(Ordering::Relaxed) {})
        })
        .collect();
    for seed in 0..4 {
        let post = Post::new(WORKERS);
        let go_round = |me: usize| {
            let (mut draws, mut counter) = (Draws::new(Seed(seed), me as u32, 0), post.counter(me));
            let mut heard = 0;
            // Two packets are under way from each worker, so that some come while others are handled.
            (0..2).for_each(|_| counter.put((me + 1) % WORKERS, ROUNDS / 2));
            while heard < ROUNDS {
                counter.wait();
                while let Some(left) = counter.take() {
                    heard += 1;
                    pause(&mut draws);
                    if left > 1 {
                        counter.put((me + 1) % WORKERS, left - 1);
                    }
                }
                pause(&mut draws);
            }
            heard
        };
        let heard: Vec<u64> = thread::scope(|scope| {
            let threads: Vec<_> = (0..WORKERS).map(|me| scope.spawn(move || go_round(me))).collect();
            threads.into_iter().map(|thread| thread.join().expect("a worker does not panic")).collect()
        });
        assert_eq!(heard, [ROUNDS; WORKERS]);
    }
    over.store(true, Ordering::Relaxed);
    busy.into_iter().for_each(|thread| thread.join().expect("a busy thread does not panic"));
}

#[test]
#[should_panic(expected = "a mailbox counts its packets: 2 counted, 1 there")]
fn a_miscounted_mailbox_breaks_a_law() {
    let mailbox = Mailbox::new();
    mailbox.deliver(7);
    mailbox.count.store(2, Ordering::Release);
    mailbox.empty_into(&mut VecDeque::new());
}
