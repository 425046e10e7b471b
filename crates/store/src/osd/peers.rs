//! Messages to other daemons: kept until they have been taken, over as many connections as needed.
//!
//! The protocol requires that messages of an interval are not lost. Frames are numbered across connections;
//! the receiver reports up to which number it has queued them, and the rest is sent again after a connection
//! breaks. Frames for a run of a daemon that has ended are void, because an interval ends with it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use towtank_replication::Message;

use crate::content::Encoded;
use crate::control::Daemon;
use crate::frames::{Hello, PeerFrame, Taken};
use crate::ways::Ways;
use crate::wire::{self, ClusterKey, Receiver, Sender, WireError};

/// The longest time to connect, and the time before the next attempt.
const CONNECT_TIME: Duration = Duration::from_secs(2);
const RETRY: Duration = Duration::from_millis(50);

/// The identity of the sender.
#[derive(Clone, Debug)]
pub(super) struct Me {
    pub osd: u32,
    pub instance: u64,
    pub key: ClusterKey,
    pub ways: Ways,
}

/// The address and run of another daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    address: String,
    instance: u64,
}

#[derive(Debug)]
struct Queue {
    target: Option<Target>,
    /// Frames that have not been taken, from number `first` on.
    frames: VecDeque<Arc<Vec<u8>>>,
    first: u64,
    /// The number of frames at the front that have been sent over this connection.
    sent: usize,
    /// A new generation makes the sending thread start again.
    generation: u64,
    stops: bool,
}

impl Default for Queue {
    fn default() -> Queue {
        // No frame has number 0, so that a daemon that has taken none can report 0.
        Queue { target: None, frames: VecDeque::new(), first: 1, sent: 0, generation: 0, stops: false }
    }
}

#[derive(Debug, Default)]
struct Link {
    queue: Mutex<Queue>,
    news: Condvar,
}

impl Link {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().expect("no thread that holds it panics")
    }
}

/// The links to all other daemons.
#[derive(Debug)]
pub(super) struct Peers {
    me: Me,
    links: BTreeMap<u32, Arc<Link>>,
}

impl Peers {
    pub(super) fn new(me: Me) -> Peers {
        Peers { me, links: BTreeMap::new() }
    }

    /// Sets the address and run of a daemon; none if it is down.
    pub(super) fn locate(&mut self, osd: u32, at: Option<(&str, u64)>) {
        let target = at.map(|(address, instance)| Target { address: address.to_owned(), instance });
        let me = &self.me;
        let link = self.links.entry(osd).or_insert_with(|| {
            let link = Arc::new(Link::default());
            let (me, sending) = (me.clone(), Arc::clone(&link));
            std::thread::spawn(move || send_all(&me, osd, &sending));
            link
        });
        let mut queue = link.lock();
        if queue.target != target {
            queue.first += queue.frames.len() as u64;
            queue.frames.clear();
            (queue.target, queue.sent) = (target, 0);
            queue.generation += 1;
            link.news.notify_all();
        }
    }

    /// Sends a message, if the other daemon is up.
    pub(super) fn send(&mut self, osd: u32, group: u32, message: Message<Encoded>) {
        let Some(link) = self.links.get(&osd) else { return };
        let mut queue = link.lock();
        if queue.target.is_none() {
            return;
        }
        let sequence = queue.first + queue.frames.len() as u64;
        let frame = PeerFrame { sequence, group, message };
        queue.frames.push_back(Arc::new(postcard::to_stdvec(&frame).expect("plain data can be written")));
        link.news.notify_all();
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        for link in self.links.values() {
            link.lock().stops = true;
            link.news.notify_all();
        }
    }
}

fn send_all(me: &Me, to: u32, link: &Arc<Link>) {
    loop {
        let (target, first, generation) = {
            let queue = link.lock();
            let ready =
                |queue: &mut Queue| !queue.stops && (queue.target.is_none() || queue.frames.is_empty());
            let mut queue = link.news.wait_while(queue, ready).expect("no thread that holds it panics");
            if queue.stops {
                return;
            }
            queue.sent = 0;
            let Some(target) = queue.target.clone() else { continue };
            (target, queue.first, queue.generation)
        };
        if let Ok((sender, receiver)) = begin(me, (to, &target), first) {
            let taking = Arc::clone(link);
            std::thread::spawn(move || hear_taken(receiver, &taking, generation));
            // Frames that were not sent are sent again.
            let _ = send_on(sender, link, generation);
        }
        std::thread::sleep(RETRY);
    }
}

fn begin(me: &Me, (to, target): (u32, &Target), first: u64) -> Result<(Sender, Receiver), WireError> {
    let stream = me.ways.connect(Daemon::Osd(to), &target.address, CONNECT_TIME)?;
    let (mut sender, receiver) = wire::connect(stream, &me.key)?;
    let hello = Hello::Peer { osd: me.osd, instance: me.instance, to_instance: target.instance, first };
    sender.send(&hello)?;
    Ok((sender, receiver))
}

/// Sends frames over one connection as long as it works.
fn send_on(mut sender: Sender, link: &Link, generation: u64) -> Result<(), WireError> {
    loop {
        let frame = {
            let queue = link.lock();
            let idle = |queue: &mut Queue| {
                !queue.stops && queue.generation == generation && queue.sent >= queue.frames.len()
            };
            let mut queue = link.news.wait_while(queue, idle).expect("no thread that holds it panics");
            if queue.stops || queue.generation != generation {
                sender.close();
                return Ok(());
            }
            queue.sent += 1;
            Arc::clone(&queue.frames[queue.sent - 1])
        };
        sender.send_bytes(&frame)?;
    }
}

/// Forgets frames that were taken, until the connection ends. Then the sending thread starts again.
fn hear_taken(mut receiver: Receiver, link: &Link, generation: u64) {
    while let Ok(Some(Taken(last))) = receiver.receive::<Taken>() {
        let mut queue = link.lock();
        if queue.generation != generation {
            return;
        }
        while queue.first <= last && queue.frames.pop_front().is_some() {
            queue.first += 1;
            queue.sent = queue.sent.saturating_sub(1);
        }
    }
    let mut queue = link.lock();
    if queue.generation == generation {
        queue.generation += 1;
        link.news.notify_all();
    }
}
