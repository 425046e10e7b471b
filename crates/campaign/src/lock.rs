//! One writer a directory: an advisory lock that the system lets go when its holder dies, however it dies.
//!
//! The lock file stays behind, empty of meaning: removing it would let two writers each lock a file of that name.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

/// Held from here until dropped.
#[derive(Debug)]
pub(crate) struct DirLock(File);

/// Why the lock was not had.
#[derive(Debug)]
pub(crate) enum LockError {
    /// Somebody else holds it: their process number, if they could write it down.
    Busy(Option<String>),
    /// The system refused.
    System(io::Error),
}

impl DirLock {
    /// Takes the lock at `path`, or says who has it. Never waits.
    pub(crate) fn take(path: &Path) -> Result<Self, LockError> {
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = opened.map_err(LockError::System)?;
        match file.try_lock() {
            Ok(()) => {
                // Only to name the holder in a message: a full disk must not keep anybody from the lock.
                let number = std::process::id().to_string();
                let _ = file
                    .set_len(0)
                    .and_then(|()| file.rewind())
                    .and_then(|()| file.write_all(number.as_bytes()));
                Ok(Self(file))
            }
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let known = file.read_to_string(&mut holder).is_ok() && !holder.trim().is_empty();
                Err(LockError::Busy(known.then(|| holder.trim().to_owned())))
            }
            Err(TryLockError::Error(error)) => Err(LockError::System(error)),
        }
    }
}

impl Drop for DirLock {
    /// Lets go by word, not by closing: a child process that was forked a moment ago holds a copy of the open file until it
    /// executes its program, and the lock with it.
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_second_writer_learns_who_is_first_and_gets_in_when_he_is_gone() {
        let dir = Scratch::new();
        let path = dir.path().join("campaign.lock");
        let first = DirLock::take(&path).unwrap();
        let LockError::Busy(holder) = DirLock::take(&path).unwrap_err() else { panic!("it is held") };
        assert_eq!(holder, Some(std::process::id().to_string()));
        drop(first);
        DirLock::take(&path).unwrap();
    }

    #[test]
    fn a_copy_of_the_open_file_in_a_forked_child_does_not_keep_the_lock() {
        let dir = Scratch::new();
        let path = dir.path().join("campaign.lock");
        let first = DirLock::take(&path).unwrap();
        let copy = first.0.try_clone().unwrap();
        drop(first);
        DirLock::take(&path).unwrap();
        drop(copy);
    }
}
