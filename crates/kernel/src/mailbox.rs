//! Mailboxes in memory, and waiting for what comes into them.
//!
//! A worker that has nothing to do looks a number of times whether a packet has come, and then sleeps until
//! one comes, so that its processor is free for another worker or another process. Whether it sleeps is noted
//! under the lock of its packets: a sender either finds it asleep and wakes it, or has delivered before it
//! looked for the last time. So no packet is left with a sleeping owner.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::model::Model;
use crate::transport::{Packet, Transport};

/// How often a waiting worker looks for a packet before it sleeps: about 60 us, somewhat more than it takes
/// to be woken on a virtual machine. With fewer looks, one worker that sleeps makes the others sleep too
/// while it is woken, and it would sleep again while they are.
const LOOKS: u32 = 3_000;

/// How often where looking has been in vain, because the other workers have no processor: then a worker
/// sleeps nearly at once, so that they get one.
const LOOKS_LEAST: u32 = 25;

/// After this many waits in vain, one after the other, a worker sleeps nearly at once.
const VAIN: u32 = 2;

/// Every so many-th wait it looks for long again, in case the other workers have their processors back.
const TRY_AGAIN: u32 = 32;

/// What is under the lock of a mailbox.
struct Contents<P> {
    packets: Vec<P>,
    /// Whether the owner sleeps.
    asleep: bool,
    /// Whether the owner must not sleep any more, because a worker is lost.
    closed: bool,
}

/// The packets for one worker.
struct Mailbox<P> {
    contents: Mutex<Contents<P>>,
    /// The number of packets, readable without the lock.
    count: AtomicUsize,
    arrived: Condvar,
}

impl<P> Mailbox<P> {
    fn new() -> Mailbox<P> {
        let contents = Contents { packets: Vec::new(), asleep: false, closed: false };
        Mailbox { contents: Mutex::new(contents), count: AtomicUsize::new(0), arrived: Condvar::new() }
    }

    fn open(&self) -> MutexGuard<'_, Contents<P>> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn deliver(&self, packet: P) {
        let mut contents = self.open();
        contents.packets.push(packet);
        self.count.store(contents.packets.len(), Ordering::Release);
        self.wake(contents);
    }

    fn close(&self) {
        let mut contents = self.open();
        contents.closed = true;
        self.wake(contents);
    }

    fn wake(&self, mut contents: MutexGuard<'_, Contents<P>>) {
        let asleep = std::mem::take(&mut contents.asleep);
        drop(contents);
        if asleep {
            self.arrived.notify_one();
        }
    }

    fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    fn empty_into(&self, taken: &mut VecDeque<P>) {
        let mut contents = self.open();
        let (count, packets) = (self.count.load(Ordering::Acquire), contents.packets.len());
        assert!(count == packets, "a mailbox counts its packets: {count} counted, {packets} there");
        taken.extend(contents.packets.drain(..));
        self.count.store(0, Ordering::Release);
    }

    /// Returns once a packet is there, or the mailbox is closed.
    fn sleep(&self) {
        let mut contents = self.open();
        while contents.packets.is_empty() && !contents.closed {
            contents.asleep = true;
            contents = self.arrived.wait(contents).unwrap_or_else(PoisonError::into_inner);
        }
        contents.asleep = false;
    }
}

/// The mailboxes of all workers of a run.
pub(crate) struct Post<P> {
    boxes: Vec<Mailbox<P>>,
    abandoned: AtomicBool,
}

impl<P> Post<P> {
    pub(crate) fn new(workers: usize) -> Post<P> {
        Post { boxes: (0..workers).map(|_| Mailbox::new()).collect(), abandoned: AtomicBool::new(false) }
    }

    /// Tells all workers, also those that sleep, that one is lost.
    pub(crate) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
        self.boxes.iter().for_each(Mailbox::close);
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }

    /// One worker's end.
    pub(crate) fn counter(&self, me: usize) -> Counter<'_, P> {
        Counter { post: self, me, taken: VecDeque::new(), vain: 0 }
    }
}

/// How often a worker looks whose last so many waits ended in sleep.
const fn looks_after(vain: u32) -> u32 {
    if vain < VAIN || vain.is_multiple_of(TRY_AGAIN) { LOOKS } else { LOOKS_LEAST }
}

/// Where one worker hands in its packets and collects those for it.
pub(crate) struct Counter<'a, P> {
    post: &'a Post<P>,
    me: usize,
    taken: VecDeque<P>,
    /// How many waits in a row ended in sleep.
    vain: u32,
}

impl<P> Counter<'_, P> {
    fn put(&self, to: usize, packet: P) {
        self.post.boxes[to].deliver(packet);
    }

    fn take(&mut self) -> Option<P> {
        let mine = &self.post.boxes[self.me];
        if self.taken.is_empty() && !mine.is_empty() {
            mine.empty_into(&mut self.taken);
        }
        self.taken.pop_front()
    }

    /// Returns when a packet is there, or a worker is lost.
    pub(crate) fn wait(&mut self) {
        let mine = &self.post.boxes[self.me];
        for _ in 0..looks_after(self.vain) {
            if !self.taken.is_empty() || !mine.is_empty() || self.post.is_abandoned() {
                self.vain = 0;
                return;
            }
            std::hint::spin_loop();
        }
        self.vain = self.vain.saturating_add(1);
        mine.sleep();
    }
}

impl<M: Model> Transport<M> for Counter<'_, Packet<M>> {
    fn send(&mut self, to: usize, packet: Packet<M>) {
        self.put(to, packet);
    }

    fn receive(&mut self) -> Option<Packet<M>> {
        self.take()
    }
}

#[cfg(test)]
mod tests;
