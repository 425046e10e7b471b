//! The threads that send messages to other daemons.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use towtank_replication::Message;

use crate::content::Encoded;
use crate::control::Daemon;
use crate::frames::{Hello, Taken};
use crate::osd::links::{Begun, Outgoing, Target};
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

#[derive(Debug, Default)]
struct Queue {
    outgoing: Outgoing,
    stops: bool,
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
    pub(super) fn locate(&mut self, osd: u32, target: Option<Target>) {
        let me = &self.me;
        let link = self.links.entry(osd).or_insert_with(|| {
            let link = Arc::new(Link::default());
            let (me, sending) = (me.clone(), Arc::clone(&link));
            std::thread::spawn(move || send_all(&me, osd, &sending));
            link
        });
        if link.lock().outgoing.locate(target) {
            link.news.notify_all();
        }
    }

    /// Sends a message, if the other daemon is up.
    pub(super) fn send(&mut self, osd: u32, group: u32, message: Message<Encoded>) {
        let Some(link) = self.links.get(&osd) else { return };
        link.lock().outgoing.push(group, message);
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
        let begun = {
            let mut queue = link.lock();
            loop {
                if queue.stops {
                    return;
                }
                if let Some(begun) = queue.outgoing.begin() {
                    break begun;
                }
                queue = link.news.wait(queue).expect("no thread that holds it panics");
            }
        };
        if let Ok((sender, receiver)) = begin(me, to, &begun) {
            let (taking, generation) = (Arc::clone(link), begun.generation);
            std::thread::spawn(move || hear_taken(receiver, &taking, generation));
            // Frames that were not sent are sent again.
            let _ = send_on(sender, link, generation);
        }
        std::thread::sleep(RETRY);
    }
}

fn begin(me: &Me, to: u32, begun: &Begun) -> Result<(Sender, Receiver), WireError> {
    let Begun { target, first, .. } = begun;
    let stream = me.ways.connect(Daemon::Osd(to), &target.address, CONNECT_TIME)?;
    let (mut sender, receiver) = wire::connect(stream, &me.key)?;
    let hello =
        Hello::Peer { osd: me.osd, instance: me.instance, to_instance: target.instance, first: *first };
    sender.send(&hello)?;
    Ok((sender, receiver))
}

/// Sends frames over one connection as long as it works.
fn send_on(mut sender: Sender, link: &Link, generation: u64) -> Result<(), WireError> {
    loop {
        let frame = {
            let mut queue = link.lock();
            loop {
                if queue.stops || !queue.outgoing.is_current(generation) {
                    sender.close();
                    return Ok(());
                }
                if let Some(frame) = queue.outgoing.next(generation) {
                    break frame;
                }
                queue = link.news.wait(queue).expect("no thread that holds it panics");
            }
        };
        sender.send_bytes(&frame)?;
    }
}

/// Forgets frames that were taken, until the connection ends. Then the sending thread starts again.
fn hear_taken(mut receiver: Receiver, link: &Link, generation: u64) {
    while let Ok(Some(Taken(last))) = receiver.receive::<Taken>() {
        let mut queue = link.lock();
        if !queue.outgoing.is_current(generation) {
            return;
        }
        queue.outgoing.taken(generation, last);
    }
    link.lock().outgoing.broken(generation);
    link.news.notify_all();
}
