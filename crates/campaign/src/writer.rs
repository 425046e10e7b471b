//! Files are replaced atomically, and never on top of an input.
//!
//! A file is written next to its final path under another name, synced to the medium, and then renamed.
//! Whatever goes wrong before the rename (a full disk, a kill) leaves the old file unchanged, and at worst a
//! `.NAME.towtank-tmp` that the next run removes.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{Disk, HostDisk, Inputs};

/// Writes files for one campaign.
#[derive(Clone)]
pub struct Writer {
    disk: Arc<dyn Disk>,
    inputs: Inputs,
}

/// Why a file was not written. The old file is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The path is that of a file that the campaign reads.
    #[error(
        "writing `{}` would overwrite the input `{}`; choose another place for the results", path.display(), input.display()
    )]
    OverInput {
        /// The path of the output.
        path: PathBuf,
        /// The input, as the user named it.
        input: PathBuf,
    },
    /// The system reported an error when creating a directory.
    #[error("cannot make the directory `{}`: {source}; {}", path.display(), next_step(source))]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The system reported an error when writing a file.
    #[error("cannot write `{}`: {source}; an older file there is unchanged; {}", path.display(), next_step(source))]
    File {
        /// The path of the output.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file of an older report, which must not be left beside the new one, could not be removed.
    #[error("cannot remove `{}`, which belongs to an older report: {source}; remove it yourself", path.display())]
    Stale {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// What the user can do about it.
fn next_step(error: &io::Error) -> &'static str {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::StorageFull | Kind::QuotaExceeded => {
            "free some space or write elsewhere, then run the same command again; stored results are kept"
        }
        Kind::FileTooLarge => "raise the limit on file sizes (`ulimit -f`), then run the same command again",
        Kind::ReadOnlyFilesystem | Kind::PermissionDenied => {
            "write to a directory of your own, or get permission to write here"
        }
        Kind::NotADirectory | Kind::AlreadyExists => {
            "a part of the path is a file, not a directory: choose another path"
        }
        _ => "fix the cause, then run the same command again; stored results are kept",
    }
}

impl Writer {
    /// A writer to this machine's file system that never overwrites `inputs`.
    #[must_use]
    pub fn new(inputs: Inputs) -> Self {
        Self::on(Arc::new(HostDisk), inputs)
    }

    /// A writer to another disk.
    #[must_use]
    pub fn on(disk: Arc<dyn Disk>, inputs: Inputs) -> Self {
        Self { disk, inputs }
    }

    /// Writes `bytes` to `path` atomically. The directory must exist.
    ///
    /// # Errors
    /// If the path is an input's, or the system reports an error.
    pub fn replace(&self, path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
        self.clear(path)?;
        let failed = |source| WriteError::File { path: path.to_owned(), source };
        let temporary = temporary_beside(path);
        self.clear(&temporary)?;
        let written =
            self.disk.write_through(&temporary, bytes).and_then(|()| self.disk.rename(&temporary, path));
        written.map_err(|source| {
            // The disk may be full: the half-written file must not keep it full. If even this fails, the next
            // run removes the file.
            let _ = self.disk.remove(&temporary);
            failed(source)
        })
    }

    /// Checks that `path` is not an input's.
    ///
    /// # Errors
    /// If it is.
    pub fn clear(&self, path: &Path) -> Result<(), WriteError> {
        match self.inputs.at(path) {
            Some(input) => Err(WriteError::OverInput { path: path.to_owned(), input: input.to_owned() }),
            None => Ok(()),
        }
    }

    /// Creates a directory and its parents.
    ///
    /// # Errors
    /// If the system reports an error.
    pub fn create_dir(&self, path: &Path) -> Result<(), WriteError> {
        self.disk.create_dir(path).map_err(|source| WriteError::Directory { path: path.to_owned(), source })
    }

    /// Removes files that killed runs left half written in `dir`. Only the holder of the directory's lock may
    /// call this.
    pub(crate) fn sweep_up(&self, dir: &Path) {
        for path in self.disk.list(dir).unwrap_or_default() {
            let ours = path.file_name().and_then(|name| name.to_str()).is_some_and(is_temporary);
            if ours && self.inputs.at(&path).is_none() {
                let _ = self.disk.remove(&path);
            }
        }
    }

    /// The disk it writes to.
    pub(crate) fn disk(&self) -> &dyn Disk {
        self.disk.as_ref()
    }

    /// The files that it must not overwrite.
    pub(crate) fn inputs(&self) -> &Inputs {
        &self.inputs
    }
}

const TEMPORARY_END: &str = ".towtank-tmp";

fn temporary_beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(TEMPORARY_END);
    path.with_file_name(name)
}

/// Whether a file of this name is a leftover of a killed run.
pub(crate) fn is_temporary(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(TEMPORARY_END)
}

#[cfg(test)]
mod tests;
