//! Locks of a cluster's directory, which the system releases when their process ends: each daemon holds one,
//! so that a second set of processes cannot run, whatever name of the directory it was started with.

use std::fmt::Display;
use std::fs::{File, TryLockError};
use std::time::Duration;

use crate::StoreError;
use crate::clock::now;
use crate::settings::Home;

/// How long a daemon tries to get its lock: another process may be looking whether it is free.
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
    let file = file(home, daemon)?;
    let until = now() + PATIENCE;
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
    match file(home, daemon)?.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(runs(home, daemon)),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
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
