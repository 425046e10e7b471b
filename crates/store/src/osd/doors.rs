//! Incoming connections of other daemons and of clients, each read by its own thread.

use std::net::TcpListener;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex};

use crate::doors::{self, Kind, Limits, Visit};
use crate::frames::{Answer, Ask, Hello, PeerFrame, Taken};
use crate::osd::core;
use crate::osd::links::{self, Incoming, Place};
use crate::osd::peers::Me;
use crate::wire::{self, Receiver, Sender, WireError};

/// The most unanswered requests of one connection; more wait in the socket.
const OPEN_MAX: usize = 64;

/// An input of the daemon.
pub(super) type Arrival = core::Arrival<Arc<ClientDoor>>;

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

/// Accepts connections as long as the process lives.
pub(super) fn open(listener: TcpListener, me: Me, arrivals: SyncSender<Arrival>) {
    let incoming = Arc::<Mutex<Incoming>>::default();
    doors::open(listener, format!("osd.{}", me.osd), Limits::of_port(), move |visit| {
        // A daemon whose connection fails connects again.
        let _ = take(&visit, &me, &arrivals, &incoming);
    });
}

fn take(
    visit: &Arc<Visit>,
    me: &Me,
    arrivals: &SyncSender<Arrival>,
    incoming: &Mutex<Incoming>,
) -> Result<(), WireError> {
    let (sender, mut receiver) = wire::accept(Arc::clone(visit.stream()), &me.key)?;
    match receiver.receive()? {
        Some(Hello::Peer { osd, instance, to_instance, first })
            if to_instance == me.instance && visit.becomes(Kind::Daemon) =>
        {
            let from = links::Sender { osd, instance };
            incoming.lock().expect("no thread that holds it panics").begin(from, first);
            from_peer(from, (sender, receiver), visit, arrivals, incoming)
        }
        Some(Hello::Client) if visit.becomes(Kind::Client) => from_client(sender, receiver, visit, arrivals),
        // It addresses another run of this daemon, sent nothing, or there is no place.
        Some(_) | None => Ok(()),
    }
}

/// Receives frames from another daemon. A frame counts as taken once it is queued: a crash of this daemon,
/// which would lose it, ends the interval.
fn from_peer(
    from: links::Sender,
    (mut sender, mut receiver): (Sender, Receiver),
    visit: &Visit,
    arrivals: &SyncSender<Arrival>,
    incoming: &Mutex<Incoming>,
) -> Result<(), WireError> {
    while let Some(frame) = receiver.receive::<PeerFrame>()? {
        visit.begins();
        let sequence = frame.sequence;
        let place = incoming.lock().expect("no thread that holds it panics").place(from, sequence);
        let arrival = Arrival::Peer { from: from.osd, frame };
        match place {
            Place::Next if arrivals.send(arrival).is_err() => return Ok(()),
            Place::Next | Place::Again => {}
            Place::Beyond => return Ok(()),
        }
        sender.send(&Taken(sequence))?;
        visit.ends();
    }
    Ok(())
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
