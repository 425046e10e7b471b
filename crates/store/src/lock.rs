//! Locks of a cluster's directory, which the system releases when their process ends: each daemon holds one,
//! so that a second set of processes cannot run, whatever name of the directory it was started with.

use std::fmt::Display;
use std::fs::{File, TryLockError};
use std::time::Duration;

use crate::StoreError;
use crate::clock::now;
use crate::settings::Home;

/// How long a lock is tried: another process may be looking whether it is free, and one that has ended has it
/// until the system has freed its memory, when it no longer has a command line.
const PATIENCE: Duration = Duration::from_secs(2);

const LOOK: Duration = Duration::from_millis(20);

/// A lock that is held.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code, reason = "it is held as long as the file is open")] File);

fn file(home: &Home, daemon: &dyn Display) -> std::io::Result<File> {
    let path = home.path(&format!("run/{daemon}.lock"));
    File::options().create(true).append(true).open(path)
}

/// Takes the lock of a daemon.
///
/// # Errors
/// When another process has it.
pub(crate) fn take(home: &Home, daemon: &dyn Display) -> Result<Lock, StoreError> {
    take_within(home, daemon, PATIENCE)
}

fn take_within(home: &Home, daemon: &dyn Display, patience: Duration) -> Result<Lock, StoreError> {
    let file = file(home, daemon)?;
    let until = now() + patience;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Lock(file)),
            Err(TryLockError::Error(error)) => return Err(error.into()),
            Err(TryLockError::WouldBlock) if now() >= until => return Err(runs(home, daemon)),
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOOK),
        }
    }
}

/// Refuses if another process has the lock of a daemon.
///
/// # Errors
/// When another process has it.
pub(crate) fn expect_free(home: &Home, daemon: &dyn Display) -> Result<(), StoreError> {
    take(home, daemon).map(drop)
}

/// Waits until the process that had the lock of a daemon has released it.
///
/// # Errors
/// When it still has it after this time.
pub(crate) fn wait_until_free(home: &Home, daemon: &dyn Display, most: Duration) -> Result<(), StoreError> {
    take_within(home, daemon, most).map(drop)
}

fn runs(home: &Home, daemon: &dyn Display) -> StoreError {
    let at = home.directory().display();
    StoreError::Refused(format!("{daemon} of the cluster in `{at}` is already running"))
}

/// Waits until no other command starts processes of this cluster, and keeps others from it.
///
/// # Errors
/// When the directory cannot be made or locked.
pub fn turn(home: &Home) -> Result<Lock, StoreError> {
    std::fs::create_dir_all(home.directory())?;
    let directory = File::open(home.directory())?;
    directory.lock()?;
    Ok(Lock(directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `osd start` right after `osd stop` of a large daemon said that it still ran: the system was freeing
    /// its memory, and its lock comes after that.
    #[test]
    fn a_lock_that_is_about_to_be_released_is_waited_for() {
        let directory = std::env::temp_dir().join(format!("towtank-lock-{}", std::process::id()));
        let home = Home::at(&directory);
        std::fs::create_dir_all(home.path("run")).expect("a directory can be made");
        let held = take(&home, &"osd.0").expect("it is free");
        let ends = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            drop(held);
        });
        let is_free = wait_until_free(&home, &"osd.0", Duration::ZERO).is_ok();
        assert!(!is_free, "planted: who does not wait is refused");
        expect_free(&home, &"osd.0").expect("it is released in time");
        ends.join().expect("it ends");
        std::fs::remove_dir_all(&directory).expect("the directory can be removed");
    }
}
