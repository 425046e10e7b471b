//! Files that are replaced whole or not at all, and never on top of an input.
//!
//! A file is written beside its place under another name, brought to the medium, and only then renamed.
//! Whatever goes wrong before the rename (a full disk, a kill) leaves the old file as it was, and at worst a
//! `.NAME.tmp` that the next run removes.

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

/// Why a file was not written. What was there before is there still.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The place is taken by something the campaign reads.
    #[error(
        "writing `{}` would overwrite the input `{}`; choose another place for the results", path.display(), input.display()
    )]
    OverInput {
        /// Where the output would have gone.
        path: PathBuf,
        /// The input, as it was named.
        input: PathBuf,
    },
    /// The system refused a directory.
    #[error("cannot make the directory `{}`: {source}; {}", path.display(), next_step(source))]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system refused a file.
    #[error("cannot write `{}`: {source}; an older file there is untouched; {}", path.display(), next_step(source))]
    File {
        /// Where the output would have gone.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file of an older report, which must not lie beside the new one, could not be removed.
    #[error("cannot remove `{}`, which is of an older report: {source}; remove it yourself", path.display())]
    Stale {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What a person does about it.
fn next_step(error: &io::Error) -> &'static str {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::StorageFull | Kind::QuotaExceeded => {
            "free some space or write elsewhere, then run the same command again; what is stored is kept"
        }
        Kind::FileTooLarge => "raise the limit on file sizes (`ulimit -f`), then run the same command again",
        Kind::ReadOnlyFilesystem | Kind::PermissionDenied => {
            "write to a directory that is yours, or ask for the right to write here"
        }
        Kind::NotADirectory | Kind::AlreadyExists => {
            "something on the way is a file, not a directory: write elsewhere"
        }
        _ => "see to the cause, then run the same command again; what is stored is kept",
    }
}

impl Writer {
    /// Writes to this machine's file system, anywhere but on `inputs`.
    #[must_use]
    pub fn new(inputs: Inputs) -> Self {
        Self::on(Arc::new(HostDisk), inputs)
    }

    /// Writes to another disk.
    #[must_use]
    pub fn on(disk: Arc<dyn Disk>, inputs: Inputs) -> Self {
        Self { disk, inputs }
    }

    /// Puts `bytes` at `path`, whole or not at all. The directory must be there.
    ///
    /// # Errors
    /// When the place is an input's, or the system refuses.
    pub fn replace(&self, path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
        self.clear(path)?;
        let failed = |source| WriteError::File { path: path.to_owned(), source };
        let temporary = temporary_beside(path);
        self.clear(&temporary)?;
        let written =
            self.disk.write_through(&temporary, bytes).and_then(|()| self.disk.rename(&temporary, path));
        written.map_err(|source| {
            // The disk may be full: the half-written file must not keep it so. If even this fails, the next
            // run removes it.
            let _ = self.disk.remove(&temporary);
            failed(source)
        })
    }

    /// Checks that `path` is not an input's.
    ///
    /// # Errors
    /// When it is.
    pub fn clear(&self, path: &Path) -> Result<(), WriteError> {
        match self.inputs.at(path) {
            Some(input) => Err(WriteError::OverInput { path: path.to_owned(), input: input.to_owned() }),
            None => Ok(()),
        }
    }

    /// Makes a directory and those above it.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn create_dir(&self, path: &Path) -> Result<(), WriteError> {
        self.disk.create_dir(path).map_err(|source| WriteError::Directory { path: path.to_owned(), source })
    }

    /// Removes what runs that were killed left half written in `dir`. Only for who holds the directory's
    /// lock.
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

    /// The files it stays away from.
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

/// Whether a file of this name was left behind by a run that died.
pub(crate) fn is_temporary(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(TEMPORARY_END)
}

#[cfg(test)]
mod tests;
