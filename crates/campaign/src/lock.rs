//! One writer per directory: an advisory lock that the system releases when its holder ends, even by a kill.
//!
//! The lock file itself stays, and its existence means nothing: if it were removed, two writers could each
//! lock a file of that name.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

/// A lock, held until it is dropped.
#[derive(Debug)]
pub(crate) struct DirLock(File);

/// Why the lock was not taken.
#[derive(Debug)]
pub(crate) enum LockError {
    /// Another process holds it: its process number, if it could be written.
    Busy(Option<String>),
    /// Something else is in its place, such as a link: writing the process number would overwrite another
    /// file.
    NotALock(&'static str),
    /// The system's error.
    System(io::Error),
}

impl DirLock {
    /// Takes the lock at `path`, or says who holds it. Never waits.
    pub(crate) fn take(path: &Path) -> Result<Self, LockError> {
        refuse_others(path)?;
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = opened.map_err(LockError::System)?;
        // Checked again, for a link created between the two steps.
        refuse_others(path)?;
        match file.try_lock() {
            Ok(()) => {
                // Only used to name the holder in messages: a full disk must not prevent locking.
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

/// Rejects anything that is not our lock file: a symbolic or hard link, a pipe, a directory, a file that
/// holds more than a number.
fn refuse_others(path: &Path) -> Result<(), LockError> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(LockError::System(error)),
    };
    let why = if found.is_symlink() {
        "a link"
    } else if !found.is_file() {
        "not a plain file"
    } else if names_of(&found) > 1 {
        "a file with other names"
    } else if found.len() > NUMBER_MAX {
        "a file with other contents"
    } else {
        return Ok(());
    };
    Err(LockError::NotALock(why))
}

/// The maximum length of a process number in bytes.
const NUMBER_MAX: u64 = 20;

#[cfg(unix)]
fn names_of(found: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(found)
}

#[cfg(not(unix))]
fn names_of(_found: &fs::Metadata) -> u64 {
    1
}

impl Drop for DirLock {
    /// Unlocks explicitly instead of by closing: a child process that has just been forked holds a copy of
    /// the open file, and the lock with it, until it executes its program.
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

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_place_of_the_lock_is_not_written_through() {
        let dir = Scratch::new();
        let precious = dir.file("thesis.txt", "years");
        let path = dir.path().join("campaign.lock");
        let refused = || match DirLock::take(&path) {
            Err(LockError::NotALock(why)) => why,
            other => panic!("{other:?}"),
        };
        std::os::unix::fs::symlink(&precious, &path).unwrap();
        assert_eq!(refused(), "a link");
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(dir.path().join("nowhere"), &path).unwrap();
        assert_eq!(refused(), "a link");
        assert!(!dir.path().join("nowhere").exists());
        fs::remove_file(&path).unwrap();
        fs::hard_link(&precious, &path).unwrap();
        assert_eq!(refused(), "a file with other names");
        fs::remove_file(&path).unwrap();
        dir.file("campaign.lock", "a longer text than any number");
        assert_eq!(refused(), "a file with other contents");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert_eq!(refused(), "not a plain file");
        assert_eq!(fs::read_to_string(precious).unwrap(), "years");
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
