//! A server's disk: requests in the order in which they come, one at a time.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use towtank_devices::Extent;
use towtank_streams::Uniform;
use towtank_units::{Bytes, SimSpan};

use crate::spec::{Drive, PAGE};

/// For whom something is read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Owner {
    /// A job waits for it.
    Job(u32),
    /// A job waits for it, and the cache has no part in it.
    Around(u32),
    /// It is read ahead.
    Ahead,
    /// It is written back, and nobody waits.
    Background,
}

/// Something to read or write.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Io {
    /// Whether it writes.
    pub write: bool,
    /// What.
    pub extents: Vec<Extent>,
    /// For whom.
    pub owner: Owner,
}

impl Io {
    /// How many pages.
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.extents.iter().map(Extent::len).sum()
    }
}

/// The disk of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Disk {
    /// What waits.
    pub waiting: VecDeque<Io>,
    /// What it does.
    pub serving: Option<Io>,
    /// How long it has been given to do.
    pub busy: SimSpan,
    /// Pages that it has read.
    pub pages_read: u64,
    /// Pages that it has written.
    pub pages_written: u64,
}

impl Disk {
    /// The next request begins, if the disk is free and one waits: how long it takes.
    pub fn begin(&mut self, drive: &Drive, draws: &mut impl Uniform) -> Option<SimSpan> {
        if self.serving.is_some() {
            return None;
        }
        let io = self.waiting.pop_front()?;
        let bytes = Bytes::new(io.pages() * PAGE);
        let rate = if io.write { drive.write } else { drive.read };
        let span = drive.overhead.saturating_add(rate.span_for(bytes));
        let span = match drive.jitter {
            0.0 => span,
            jitter => {
                let factor = 1.0 + jitter * (2.0 * draws.unit_f64() - 1.0);
                SimSpan::from_ns((span.as_ns() as f64 * factor).round() as u64)
            }
        };
        match io.write {
            true => self.pages_written += io.pages(),
            false => self.pages_read += io.pages(),
        }
        self.busy = self.busy.saturating_add(span);
        self.serving = Some(io);
        Some(span)
    }
}
