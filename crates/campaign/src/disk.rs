//! What the store asks of a file system, so that a crash and a full disk are things a test can hold in its
//! hand.
//!
//! [`HostDisk`] is the machine's own. Tests wrap it in one that fails, tears a write or dies at the n-th
//! step.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The few steps from which every durable change is made.
pub trait Disk: Send + Sync {
    /// All of a plain file.
    ///
    /// # Errors
    /// What the system says, or that it is something else: a pipe, a device.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// Writes a new file at `path`, in place of whatever lay there, and returns once its bytes are on the
    /// medium.
    ///
    /// # Errors
    /// What the system says; the file may be left half written.
    fn write_through(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;

    /// Puts `from` in the place of `to` in one step: who opens `to` sees the old file or the new one, whole.
    /// A power cut may undo it; the old file is there then, whole, and a resumed campaign does that task
    /// again.
    ///
    /// # Errors
    /// What the system says; `to` is as it was then.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// What the system says.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes a directory and those above it; one that is there is fine.
    ///
    /// # Errors
    /// What the system says.
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// What lies in a directory, sorted, so that nothing depends on the order the system likes.
    ///
    /// # Errors
    /// What the system says.
    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>>;
}

/// The file system of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostDisk;

impl Disk for HostDisk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        // Opening a pipe waits for somebody at its other end, perhaps for ever.
        if fs::metadata(path)?.is_file() { fs::read(path) } else { Err(not_plain(path)) }
    }

    fn write_through(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        // Never through a link to somebody else's file, and never into a pipe that nobody reads.
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        let mut entries =
            fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
        entries.sort();
        Ok(entries)
    }
}

fn not_plain(path: &Path) -> io::Error {
    let kind = if path.is_dir() { io::ErrorKind::IsADirectory } else { io::ErrorKind::InvalidInput };
    io::Error::new(kind, "it is not a plain file")
}
