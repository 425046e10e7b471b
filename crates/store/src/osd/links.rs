//! What two daemons know of the messages between them: kept until they have been taken, taken once and in
//! order, over as many connections as needed.
//!
//! The protocol requires that messages of an interval are not lost. Frames are numbered across connections;
//! the receiver says up to which number it has queued them, and the rest is sent again after a connection
//! breaks. Frames for a run of a daemon that has ended are void, because an interval ends with it.

use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use towtank_replication::Message;

use crate::content::Encoded;
use crate::frames::PeerFrame;

/// The address and run of another daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The address on which it listens.
    pub address: String,
    /// The number of its run.
    pub instance: u64,
}

/// A connection that begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// The other daemon.
    pub target: Target,
    /// The number of the first frame.
    pub first: u64,
    /// What the connection is called in further calls.
    pub generation: u64,
}

/// The messages to another daemon.
#[derive(Debug)]
pub struct Outgoing {
    target: Option<Target>,
    /// Frames that have not been taken, from number `first` on.
    frames: VecDeque<Arc<Vec<u8>>>,
    first: u64,
    /// The number of frames at the front that have been sent over this connection.
    sent: usize,
    /// A new generation needs a new connection.
    generation: u64,
}

impl Default for Outgoing {
    fn default() -> Outgoing {
        // No frame has number 0, so that a daemon that has taken none can report 0.
        Outgoing { target: None, frames: VecDeque::new(), first: 1, sent: 0, generation: 0 }
    }
}

impl Outgoing {
    /// Sets the address and run of the other daemon; none if it is down. Returns whether that is news: then
    /// the connection is over, and what waits is void.
    pub fn locate(&mut self, target: Option<Target>) -> bool {
        if self.target == target {
            return false;
        }
        self.first += self.frames.len() as u64;
        self.frames.clear();
        (self.target, self.sent) = (target, 0);
        self.generation += 1;
        true
    }

    /// Adds a message, if the other daemon is up.
    pub fn push(&mut self, group: u32, message: Message<Encoded>) {
        if self.target.is_none() {
            return;
        }
        let sequence = self.first + self.frames.len() as u64;
        let frame = PeerFrame { sequence, group, message };
        self.frames.push_back(Arc::new(postcard::to_stdvec(&frame).expect("plain data can be written")));
    }

    /// Begins a connection, if there is something to send.
    pub fn begin(&mut self) -> Option<Begun> {
        self.sent = 0;
        let target = self.target.clone().filter(|_| !self.frames.is_empty())?;
        Some(Begun { target, first: self.first, generation: self.generation })
    }

    /// Whether a connection is still of use.
    #[must_use]
    pub(crate) fn is_current(&self, generation: u64) -> bool {
        self.generation == generation
    }

    /// The next frame to send over a connection.
    pub fn next(&mut self, generation: u64) -> Option<Arc<Vec<u8>>> {
        let frame = self.frames.get(self.sent).filter(|_| self.is_current(generation))?;
        self.sent += 1;
        Some(Arc::clone(frame))
    }

    /// Forgets frames up to a number: they have been taken.
    pub fn taken(&mut self, generation: u64, last: u64) {
        if !self.is_current(generation) {
            return;
        }
        while self.first <= last && self.frames.pop_front().is_some() {
            self.first += 1;
            self.sent = self.sent.saturating_sub(1);
        }
    }

    /// A connection is over: what was not taken is sent again over another one.
    pub fn broken(&mut self, generation: u64) {
        self.generation += u64::from(self.is_current(generation));
    }
}

/// The run of a daemon that sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sender {
    /// The daemon.
    pub osd: u32,
    /// The number of its run.
    pub instance: u64,
}

/// What becomes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It is the next one.
    Next,
    /// It has come before.
    Again,
    /// Frames before it are missing: the connection ends, and the other side sends them over another one.
    Beyond,
}

/// The numbers of the last frames from each run of each daemon.
#[derive(Debug, Default)]
pub struct Incoming(BTreeMap<Sender, u64>);

impl Incoming {
    /// A connection begins, with frame number `first`.
    pub fn begin(&mut self, from: Sender, first: u64) {
        // Former runs of the daemon do not send any more.
        self.0.retain(|other, _| other.osd != from.osd || *other == from);
        // Void frames are not sent any more, so numbers may continue later than after the last one.
        let before = self.0.entry(from).or_insert(0);
        *before = (*before).max(first.saturating_sub(1));
    }

    /// Where a frame belongs.
    pub fn place(&mut self, from: Sender, sequence: u64) -> Place {
        let Some(before) = self.0.get_mut(&from) else { return Place::Beyond };
        match sequence.cmp(&(*before + 1)) {
            Ordering::Less => Place::Again,
            Ordering::Equal => {
                *before = sequence;
                Place::Next
            }
            Ordering::Greater => Place::Beyond,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_once_and_in_order() {
        let (mut incoming, from) = (Incoming::default(), Sender { osd: 1, instance: 9 });
        assert_eq!(incoming.place(from, 1), Place::Beyond, "no connection has begun");
        incoming.begin(from, 4);
        assert_eq!(incoming.place(from, 4), Place::Next);
        assert_eq!(incoming.place(from, 4), Place::Again, "it has come before");
        assert_eq!(incoming.place(from, 6), Place::Beyond, "5 is missing");
        assert_eq!(incoming.place(from, 5), Place::Next);
        incoming.begin(Sender { osd: 1, instance: 10 }, 1);
        assert_eq!(incoming.place(from, 6), Place::Beyond, "this run has ended");
    }
}
