//! Drives a crew with one thread per worker, over mailboxes in memory.
//!
//! A waiting worker yields its processor, so a run with more workers than processors finishes too.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::crew::Crew;
use crate::error::RunError;
use crate::model::Model;
use crate::options::RunOptions;
use crate::plain::panic_message;
use crate::transport::{Packet, Step, Transport};
use crate::worker::Worker;

/// How often a waiting worker polls before it yields.
const SPINS: u32 = 64;

/// The packets for one worker.
struct Mailbox<M: Model> {
    packets: Mutex<Vec<Packet<M>>>,
    /// The number of packets, readable without the lock.
    count: AtomicUsize,
}

/// The mailboxes of all workers, and the index of the owner.
struct Mailboxes<'a, M: Model> {
    all: &'a [Mailbox<M>],
    me: usize,
    taken: VecDeque<Packet<M>>,
}

impl<M: Model> Transport<M> for Mailboxes<'_, M> {
    fn send(&mut self, to: usize, packet: Packet<M>) {
        let mut packets = self.all[to].packets.lock().unwrap_or_else(PoisonError::into_inner);
        packets.push(packet);
        self.all[to].count.store(packets.len(), Ordering::Release);
    }

    fn receive(&mut self) -> Option<Packet<M>> {
        if self.taken.is_empty() && self.all[self.me].count.load(Ordering::Acquire) > 0 {
            let mut packets = self.all[self.me].packets.lock().unwrap_or_else(PoisonError::into_inner);
            self.taken.extend(packets.drain(..));
            self.all[self.me].count.store(0, Ordering::Release);
        }
        self.taken.pop_front()
    }
}

/// Runs all workers to their end. Worker 0 runs on the calling thread.
pub(crate) fn drive<M: Model>(crew: &mut Crew<'_, '_, M>) -> Result<(), RunError> {
    let mailboxes: Vec<Mailbox<M>> = crew
        .workers
        .iter()
        .map(|_| Mailbox { packets: Mutex::new(Vec::new()), count: AtomicUsize::new(0) })
        .collect();
    let abandoned = AtomicBool::new(false);
    let (options, mailboxes, abandoned) = (&crew.options, &mailboxes[..], &abandoned);
    let mut workers = crew.workers.iter_mut().enumerate();
    let (_, first) = workers.next().expect("there is always one worker");
    std::thread::scope(|scope| {
        let others: Vec<_> = workers
            .map(|(me, worker)| scope.spawn(move || work(worker, me, mailboxes, options, abandoned)))
            .collect();
        let mut result = work(first, 0, mailboxes, options, abandoned);
        for other in others {
            let theirs = other.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload));
            result = result.and(theirs);
        }
        result
    })
}

/// Steps one worker until it has finished, or another one is lost.
fn work<M: Model>(
    worker: &mut Worker<'_, M>,
    me: usize,
    mailboxes: &[Mailbox<M>],
    options: &RunOptions<'_>,
    abandoned: &AtomicBool,
) -> Result<(), RunError> {
    let mut transport = Mailboxes { all: mailboxes, me, taken: VecDeque::new() };
    let stepping = catch_unwind(AssertUnwindSafe(|| {
        let mut idle = 0;
        loop {
            match worker.step(&mut transport, options) {
                Step::Finished => return,
                Step::Worked => idle = 0,
                Step::Waiting if abandoned.load(Ordering::Relaxed) => return,
                Step::Waiting => {
                    idle += 1;
                    if idle < SPINS {
                        std::hint::spin_loop();
                    } else {
                        std::thread::yield_now();
                    }
                }
            }
        }
    }));
    stepping.map_err(|payload| {
        abandoned.store(true, Ordering::Relaxed);
        RunError::WorkerLost { worker: me as u32, message: panic_message(payload.as_ref()) }
    })
}
