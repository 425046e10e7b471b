//! Incoming connections of other daemons and of clients, each read by its own thread.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex};

use towtank_replication::Epoch;

use crate::doors::{self, Kind, Limits, Visit};
use crate::frames::{Answer, Ask, Hello, PeerFrame, Taken};
use crate::map::ClusterMap;
use crate::osd::peers::Me;
use crate::wire::{self, Receiver, Sender, WireError};

/// The most unanswered requests of one connection; more wait in the socket.
const OPEN_MAX: usize = 64;

/// An input of the daemon.
#[derive(Debug)]
pub(super) enum Arrival {
    /// A message for a replica.
    Peer { from: u32, frame: PeerFrame },
    /// New maps of the cluster.
    Maps(Vec<ClusterMap>),
    /// Groups that are clean elsewhere, with the interval.
    Clean(Vec<(u32, Epoch)>),
    /// A client's request.
    Ask { ask: Ask, door: Arc<ClientDoor> },
}

/// The channel for answers to a client.
#[derive(Debug)]
pub(super) struct ClientDoor {
    /// None once the client is gone.
    answers: std::sync::mpsc::Sender<Option<Answer>>,
    open: Arc<Open>,
}

/// Counts requests of a connection whose answers have not been written to it: a client that does not read its
/// answers is no longer read from.
#[derive(Debug, Default)]
struct Open {
    count: Mutex<usize>,
    fewer: Condvar,
}

impl ClientDoor {
    pub(super) fn answer(&self, answer: Answer) {
        // If the client is gone, the answer is dropped.
        let _ = self.answers.send(Some(answer));
    }
}

impl Open {
    fn answered(&self) {
        let mut count = self.count.lock().expect("no thread that holds it panics");
        *count = count.saturating_sub(1);
        self.fewer.notify_all();
    }

    /// No more answers will be written.
    fn end(&self) {
        *self.count.lock().expect("no thread that holds it panics") = 0;
        self.fewer.notify_all();
    }

    fn wait_for_room(&self) {
        let count = self.count.lock().expect("no thread that holds it panics");
        let mut count =
            self.fewer.wait_while(count, |count| *count >= OPEN_MAX).expect("no thread that holds it panics");
        *count += 1;
    }
}

/// The numbers of the last frames from each run of each daemon.
type Last = Arc<Mutex<BTreeMap<(u32, u64), u64>>>;

/// Accepts connections as long as the process lives.
pub(super) fn open(listener: TcpListener, me: Me, arrivals: SyncSender<Arrival>) {
    let last = Last::default();
    doors::open(listener, format!("osd.{}", me.osd), Limits::of_port(), move |visit| {
        // A daemon whose connection fails connects again.
        let _ = take(&visit, &me, &arrivals, &last);
    });
}

fn take(visit: &Arc<Visit>, me: &Me, arrivals: &SyncSender<Arrival>, last: &Last) -> Result<(), WireError> {
    let (sender, mut receiver) = wire::accept(Arc::clone(visit.stream()), &me.key)?;
    match receiver.receive()? {
        Some(Hello::Peer { osd, instance: from, to_instance, first })
            if to_instance == me.instance && visit.becomes(Kind::Daemon) =>
        {
            {
                let mut last = last.lock().expect("no thread that holds it panics");
                // Former runs of the daemon do not send any more.
                last.retain(|(other, run), _| *other != osd || *run == from);
                // Void frames are not sent any more, so numbers may continue later than after the last one.
                let before = last.entry((osd, from)).or_insert(0);
                *before = (*before).max(first.saturating_sub(1));
            }
            from_peer((osd, from), (sender, receiver), visit, arrivals, last)
        }
        Some(Hello::Client) if visit.becomes(Kind::Client) => from_client(sender, receiver, visit, arrivals),
        // It addresses another run of this daemon, sent nothing, or there is no place.
        Some(_) | None => Ok(()),
    }
}

/// Receives frames from another daemon. A frame counts as taken once it is queued: a crash of this daemon,
/// which would lose it, ends the interval.
fn from_peer(
    from: (u32, u64),
    (mut sender, mut receiver): (Sender, Receiver),
    visit: &Visit,
    arrivals: &SyncSender<Arrival>,
    last: &Last,
) -> Result<(), WireError> {
    while let Some(frame) = receiver.receive::<PeerFrame>()? {
        visit.begins();
        let sequence = frame.sequence;
        let is_next = {
            let mut last = last.lock().expect("no thread that holds it panics");
            let Some(before) = last.get_mut(&from) else { return Ok(()) };
            // The other side sends what is missing again over a new connection.
            let Some(is_next) = follows(before, sequence) else { return Ok(()) };
            is_next
        };
        if is_next && arrivals.send(Arrival::Peer { from: from.0, frame }).is_err() {
            return Ok(());
        }
        sender.send(&Taken(sequence))?;
        visit.ends();
    }
    Ok(())
}

/// Whether a frame is the next one, or has come before; none where frames before it are missing.
fn follows(before: &mut u64, sequence: u64) -> Option<bool> {
    match sequence.cmp(&(*before + 1)) {
        Ordering::Less => Some(false),
        Ordering::Equal => {
            *before = sequence;
            Some(true)
        }
        Ordering::Greater => None,
    }
}

fn from_client(
    mut sender: Sender,
    mut receiver: Receiver,
    visit: &Arc<Visit>,
    arrivals: &SyncSender<Arrival>,
) -> Result<(), WireError> {
    let (answers, outgoing) = std::sync::mpsc::channel::<Option<Answer>>();
    let open = Arc::<Open>::default();
    let door = Arc::new(ClientDoor { answers: answers.clone(), open: Arc::clone(&open) });
    let writing = Arc::clone(visit);
    std::thread::Builder::new().spawn(move || {
        while let Ok(Some(answer)) = outgoing.recv() {
            let is_sent = sender.send(&answer).is_ok();
            writing.ends();
            open.answered();
            if !is_sent {
                break;
            }
        }
        sender.close();
        open.end();
    })?;
    let read = read_asks(&mut receiver, visit, arrivals, &door);
    // Answers may take long yet, and hold neither the connection nor its thread.
    let _ = answers.send(None);
    read
}

fn read_asks(
    receiver: &mut Receiver,
    visit: &Visit,
    arrivals: &SyncSender<Arrival>,
    door: &Arc<ClientDoor>,
) -> Result<(), WireError> {
    while let Some(ask) = receiver.receive::<Ask>()? {
        door.open.wait_for_room();
        visit.begins();
        if arrivals.send(Arrival::Ask { ask, door: Arc::clone(door) }).is_err() {
            return Ok(());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::follows;

    #[test]
    fn frames_come_once_and_in_order() {
        let mut before = 3;
        assert_eq!((follows(&mut before, 4), before), (Some(true), 4));
        assert_eq!((follows(&mut before, 4), before), (Some(false), 4), "it has come before");
        assert_eq!((follows(&mut before, 6), before), (None, 4), "5 is missing");
        assert_eq!((follows(&mut before, 5), before), (Some(true), 5));
    }
}
