//! A disk that fails on demand: full from some step on, or dead at some step, with the write of that step
//! torn.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Disk, HostDisk};

/// The fault, and the changing step (counted from 0) at which it occurs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// The disk is full: half of the bytes are written, followed by the error.
    FullFrom(u64),
    /// The machine dies: a write at this step is half done, a rename is done or not done, and nothing after
    /// it happens.
    DiesAt(u64),
    /// The disk acknowledges this step but does only half of it, performs one more step, and dies: a lost
    /// write cache.
    LiesAt(u64),
    /// No fault.
    None,
}

/// A disk that fails on demand.
pub(crate) struct FaultyDisk {
    fault: Fault,
    steps: AtomicU64,
}

impl FaultyDisk {
    pub(crate) fn new(fault: Fault) -> Self {
        Self { fault, steps: AtomicU64::new(0) }
    }

    /// Changing steps so far.
    pub(crate) fn steps(&self) -> u64 {
        self.steps.load(Ordering::SeqCst)
    }

    fn step(&self, fill: bool, whole: &dyn Fn() -> io::Result<()>, torn: &dyn Fn()) -> io::Result<()> {
        let step = self.steps.fetch_add(1, Ordering::SeqCst);
        match self.fault {
            Fault::FullFrom(from) if fill && step >= from => {
                torn();
                Err(io::Error::from(io::ErrorKind::StorageFull))
            }
            Fault::DiesAt(at) if step == at => {
                torn();
                Err(dead())
            }
            Fault::LiesAt(at) if step == at => {
                torn();
                Ok(())
            }
            Fault::DiesAt(at) if step > at => Err(dead()),
            Fault::LiesAt(at) if step > at + 1 => Err(dead()),
            _ => whole(),
        }
    }
}

fn dead() -> io::Error {
    io::Error::other("the machine died")
}

impl Disk for FaultyDisk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        HostDisk.read(path)
    }

    fn write_through(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let torn = || HostDisk.write_through(path, &bytes[..bytes.len() / 2]).unwrap();
        self.step(true, &|| HostDisk.write_through(path, bytes), &torn)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        // A rename during a crash happens or does not happen, alternately.
        let lucky = self.steps().is_multiple_of(2);
        let torn = || {
            if lucky {
                HostDisk.rename(from, to).unwrap();
            }
        };
        self.step(false, &|| HostDisk.rename(from, to), &torn)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step(false, &|| HostDisk.remove(path), &|| ())
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.step(true, &|| HostDisk.create_dir(path), &|| ())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        HostDisk.list(path)
    }
}
