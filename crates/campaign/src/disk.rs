//! The file system operations that the store needs, as a trait, so that tests can simulate a crash and a full
//! disk.
//!
//! [`HostDisk`] is the machine's own file system. Tests wrap it in one that fails, tears a write or dies at
//! the n-th step.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The operations from which every durable change is made.
pub trait Disk: Send + Sync {
    /// Reads a whole regular file.
    ///
    /// # Errors
    /// The system's error, or that it is not a regular file but for example a pipe or a device.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// Writes a new file at `path`, replacing any old one, and returns once its bytes are on the medium.
    ///
    /// # Errors
    /// The system's error; the file may be partly written.
    fn write_through(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;

    /// Replaces `to` by `from` atomically: a reader of `to` sees either the whole old file or the whole new
    /// one. A power failure may undo it; the old file is then there in full, and a resumed campaign runs that
    /// task again.
    ///
    /// # Errors
    /// The system's error; `to` is then unchanged.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// The system's error.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Creates a directory and its parents; existing ones are accepted.
    ///
    /// # Errors
    /// The system's error.
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// The entries of a directory, sorted, so that nothing depends on the system's order.
    ///
    /// # Errors
    /// The system's error.
    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>>;
}

/// The file system of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostDisk;

impl Disk for HostDisk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        // Opening a pipe waits for another process, perhaps for ever.
        if fs::metadata(path)?.is_file() { fs::read(path) } else { Err(not_plain(path)) }
    }

    fn write_through(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        // Never write through a link to another file, or into a pipe that nobody reads.
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
