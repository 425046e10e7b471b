//! Connections: whatever comes over one that nobody has signed.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};

use super::{keys, now};
use crate::depot::Depot;
use crate::fault::Fault;
use crate::server::serve_one;
use crate::service::Service;
use crate::shelf::memory::Memory;
use crate::shelf::{Found, Labels, Shelf, Walk};

/// The bytes of a connection, of which the first chooses in which runs the rest arrives. Each request is
/// refused with a code of the caller's faults, and the store is not asked.
pub fn connection(data: &[u8]) {
    let Some((&run, rest)) = data.split_first() else { return };
    let asked = Arc::new(AtomicU64::new(0));
    let shelf = Counted { memory: Memory::new(), asked: Arc::clone(&asked) };
    let depot = Depot::open(shelf, "run0").expect("it answers");
    let before = asked.load(Ordering::SeqCst);
    let sent = Arc::new(Mutex::new(Vec::new()));
    let stream = Wire { left: rest.to_vec(), run: usize::from(run) + 1, sent: Arc::clone(&sent) };
    serve_one(Arc::new(Service::new(depot, keys(), now)), stream).expect("it needs no socket");
    let sent = sent.lock().expect("nobody panics with it");
    all_are_refused(&sent, asked.load(Ordering::SeqCst) - before);
}

/// Whether the first reply is a refusal, and the store was not asked.
pub(super) fn all_are_refused(sent: &[u8], asked: u64) {
    let head = String::from_utf8_lossy(&sent[..sent.len().min(80)]);
    // Browsers need no signature to learn what is lacking.
    let is_refusal = ["HTTP/1.0 4", "HTTP/1.1 4", "HTTP/1.0 501", "HTTP/1.1 501"];
    let is_refusal = is_refusal.iter().any(|start| head.starts_with(start));
    assert!(sent.is_empty() || is_refusal, "an unsigned request is answered: {head}");
    assert_eq!(asked, 0, "the store was asked for an unsigned request");
}

/// A connection in memory.
struct Wire {
    left: Vec<u8>,
    run: usize,
    sent: Arc<Mutex<Vec<u8>>>,
}

impl Read for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut to: ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        let length = self.left.len().min(self.run).min(to.remaining());
        to.put_slice(&self.left[..length]);
        self.left.drain(..length);
        Poll::Ready(Ok(()))
    }
}

impl Write for Wire {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, data: &[u8]) -> Poll<std::io::Result<usize>> {
        self.sent.lock().expect("nobody panics with it").extend_from_slice(data);
        Poll::Ready(Ok(data.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A store that counts how often it is asked.
struct Counted {
    memory: Arc<Memory>,
    asked: Arc<AtomicU64>,
}

impl Counted {
    fn memory(&self) -> &Arc<Memory> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        &self.memory
    }
}

impl Shelf for Counted {
    fn put(&self, name: &str, labels: &Labels, data: &[u8]) -> Result<(), Fault> {
        self.memory().put(name, labels, data)
    }

    fn get(&self, name: &str) -> Result<Option<Found>, Fault> {
        self.memory().get(name)
    }

    fn head(&self, name: &str) -> Result<Option<Labels>, Fault> {
        self.memory().head(name)
    }

    fn remove(&self, name: &str) -> Result<(), Fault> {
        self.memory().remove(name)
    }

    fn walk(&self, prefix: &str, from: &str) -> Result<Box<dyn Walk + '_>, Fault> {
        self.memory().walk(prefix, from)
    }
}
