//! Whether the end of a journal is whole, torn or rotten.
//!
//! A crash of the machine may leave a part of the last transaction, or of its blocks: it is torn, and was
//! never acknowledged. Damage of a synced transaction looks the same. A transaction is synced with its
//! commit, and only a later write can say so. So each says which was the last that was known to be synced,
//! and a device that has nothing to write soon writes one that says only that. Up to the last transaction
//! that is known to be synced, the *mark*, bytes that cannot be read are rotten for certain: the directory is
//! not opened, and nothing in it is changed. After it they are undecided: the journal is cut before them, and
//! until each group has taken over the authoritative log, the device says that it may have lost changes.
//! Until then what was cut off is kept, and so is the note that says so.

mod frames;

use std::fs::{self, File, TryLockError};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::identity::write_synced;
pub use frames::Frame;
pub(crate) use frames::{STAMP_KEY, Stamp};

/// The file that says that the end of the journal was undecided.
const NOTE: &str = "undecided.json";

/// The lock of the embedded tree.
const LOCK: &str = "lock";

/// How often another process is given time to release the tree's lock, and how long.
const LOOKS: usize = 3;
const LOOK: Duration = Duration::from_millis(100);

/// Why the journals of a directory are not opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TailError {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("another process has it open")]
    Locked,
    #[error("`{path}` is damaged at byte {at}")]
    Rotten { path: PathBuf, at: u64 },
}

/// What the transactions of a journal show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All can be read.
    Whole,
    /// What begins here cannot be read, and may never have been finished.
    Undecided {
        /// The place in the newest journal.
        at: u64,
        /// The last transaction before it, if there is one.
        after: Option<u64>,
    },
    /// What begins here cannot be read, and was synced.
    Rotten {
        /// The place in the journal.
        at: u64,
    },
}

/// Judges the transactions of a journal, in order, of which those up to number `mark` were synced.
#[must_use]
pub fn judge(frames: &[Frame], mark: u64) -> Verdict {
    let mut last: Option<(u64, u64)> = None;
    for (place, frame) in frames.iter().enumerate() {
        let at = match *frame {
            Frame::Sound { number, end, .. } if last.is_none_or(|(last, _)| last + 1 == number) => {
                last = Some((number, end));
                continue;
            }
            // Some before it are missing.
            Frame::Sound { .. } => last.map_or(0, |(_, end)| end),
            Frame::Bad { at } => at,
        };
        let number = |frame: &Frame| match frame {
            Frame::Sound { number, .. } => Some(*number),
            Frame::Bad { .. } => None,
        };
        // The first that cannot be read follows the last that can, or comes before the next.
        let next = || frames[place..].iter().find_map(number).map(|next| next.saturating_sub(1));
        let first = last.map(|(last, _)| last + 1).or_else(next).unwrap_or(u64::MAX);
        return if first <= mark {
            Verdict::Rotten { at }
        } else {
            Verdict::Undecided { at, after: last.map(|(last, _)| last) }
        };
    }
    Verdict::Whole
}

/// What a directory knows of the end of its journal while that is undecided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// The name of the journal that was cut.
    pub journal: String,
    /// Where the bytes began that were cut off.
    pub at: u64,
    /// How many they were.
    pub bytes: u64,
    /// The last transaction before them; none if there is no other in the journals.
    pub after: Option<u64>,
    /// The last that is known to have been synced.
    pub mark: u64,
    /// Whether each group has noted that it may have lost changes.
    pub is_noted: bool,
}

impl Note {
    /// The note of a directory, if the end of its journal is undecided.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn of(directory: &Path) -> std::io::Result<Option<Note>> {
        match fs::read(directory.join(NOTE)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            bytes => Ok(Some(serde_json::from_slice(&bytes?)?)),
        }
    }

    pub(crate) fn write(&self, directory: &Path) -> std::io::Result<()> {
        write_synced(&directory.join(NOTE), &serde_json::to_vec(self)?)
    }

    /// What is said to a user.
    #[must_use]
    pub fn said(&self) -> String {
        let Note { journal, at, bytes, mark, .. } = self;
        let kept = self.kept_in(Path::new(""));
        format!(
            "{bytes} bytes of {journal} from byte {at} on cannot be read, and transactions are known to be synced \
             up to {mark} only. They may be acknowledged, or never finished: until it knows what others \
             have acknowledged, this device does not testify alone. They are kept in {}",
            kept.display()
        )
    }

    fn kept_in(&self, directory: &Path) -> PathBuf {
        directory.join(format!("undecided-{}.tail", self.after.unwrap_or(0)))
    }
}

/// Removes the note, and what was cut off.
pub(crate) fn forget(directory: &Path) -> std::io::Result<()> {
    match fs::remove_file(directory.join(NOTE)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        removed => removed?,
    }
    File::open(directory)?.sync_all()?;
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let is_kept = |name: &str| name.starts_with("undecided-") && name.ends_with(".tail");
        if path.file_name().and_then(|name| name.to_str()).is_some_and(is_kept) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// The journals of a directory as they were found.
#[derive(Debug)]
pub(crate) struct Found {
    newest: PathBuf,
    length: u64,
    /// The last transaction that can be read.
    last: Option<Frame>,
    cut: Option<Cut>,
}

/// What was cut from the newest journal, and the note that was there before.
#[derive(Debug)]
struct Cut {
    note: Note,
    bytes: Vec<u8>,
    before: Option<Note>,
}

/// Judges the journals of a directory, before the tree opens it. An undecided end is kept beside the journal
/// and cut off. None if the directory has no journals.
///
/// # Errors
/// When something is rotten, or cannot be read or written.
pub(crate) fn settle(directory: &Path) -> Result<Option<Found>, TailError> {
    let mut journals = journals(directory)?;
    let Some(newest) = journals.pop() else { return Ok(None) };
    let _lock = lock(directory)?;
    // The tree syncs a journal before it begins another.
    let mut last = None;
    for path in &journals {
        let mut frames = Vec::from_iter(last);
        frames.extend(frames::frames(&fs::read(path)?));
        if let Verdict::Rotten { at } | Verdict::Undecided { at, .. } = judge(&frames, u64::MAX) {
            return Err(rotten(path, at));
        }
        last = last_of(&frames);
    }
    let bytes = fs::read(&newest)?;
    let mut frames = Vec::from_iter(last);
    frames.extend(frames::frames(&bytes));
    let synced = |frame: &Frame| match frame {
        Frame::Sound { synced, .. } => Some(*synced),
        Frame::Bad { .. } => None,
    };
    let mark = frames.iter().filter_map(synced).max().unwrap_or(0);
    let mut found = Found { length: bytes.len() as u64, last: last_of(&frames), cut: None, newest };
    match judge(&frames, mark) {
        Verdict::Whole => {}
        Verdict::Rotten { at } => return Err(rotten(&found.newest, at)),
        Verdict::Undecided { at, after } => {
            found.last =
                frames.iter().find(|frame| after.is_some() && number_of(Some(**frame)) == after).copied();
            found.cut(directory, &bytes[at as usize..], mark)?;
        }
    }
    Ok(Some(found))
}

impl Found {
    /// The note about what was cut off now.
    pub(crate) fn undecided(&self) -> Option<&Note> {
        self.cut.as_ref().map(|cut| &cut.note)
    }

    /// Whether the tables, which have this transaction and this sequence number, have what the journals
    /// should have and have not: whatever is in tables was synced before.
    pub(crate) fn misses(&self, number: u64, sequence: u64) -> bool {
        let is_earlier = |last: &Frame| match last {
            Frame::Sound { number: last, sequence: at, .. } => *last < number || *at < sequence,
            Frame::Bad { .. } => false,
        };
        self.last.as_ref().is_some_and(is_earlier)
    }

    fn cut(&mut self, directory: &Path, tail: &[u8], mark: u64) -> std::io::Result<()> {
        let name = self.newest.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let (bytes, at) = (tail.len() as u64, self.length - tail.len() as u64);
        let note =
            Note { journal: name.to_owned(), at, bytes, after: number_of(self.last), mark, is_noted: false };
        let before = Note::of(directory)?;
        write_synced(&note.kept_in(directory), tail)?;
        note.write(directory)?;
        let file = File::options().write(true).open(&self.newest)?;
        file.set_len(at)?;
        file.sync_all()?;
        self.cut = Some(Cut { note, bytes: tail.to_vec(), before });
        Ok(())
    }

    /// Makes the newest journal what it was: a start that fails changes nothing.
    pub(crate) fn undo(self, directory: &Path) -> std::io::Result<()> {
        let mut file = File::options().write(true).open(&self.newest)?;
        if let Some(cut) = &self.cut {
            file.seek(SeekFrom::Start(cut.note.at))?;
            file.write_all(&cut.bytes)?;
        }
        file.set_len(self.length)?;
        file.sync_all()?;
        let Some(Cut { note, before, .. }) = self.cut else { return Ok(()) };
        match before {
            Some(before) => before.write(directory)?,
            None => fs::remove_file(directory.join(NOTE))?,
        }
        fs::remove_file(note.kept_in(directory))
    }

    /// The error of a directory of which a synced transaction is missing.
    pub(crate) fn rotten(&self) -> TailError {
        rotten(&self.newest, self.cut.as_ref().map_or(self.length, |cut| cut.note.at))
    }
}

fn rotten(path: &Path, at: u64) -> TailError {
    TailError::Rotten { path: path.to_owned(), at }
}

fn last_of(frames: &[Frame]) -> Option<Frame> {
    let last = frames.last().copied();
    // The places of another journal mean nothing in the next.
    last.map(|frame| match frame {
        Frame::Sound { number, synced, sequence, .. } => Frame::Sound { number, synced, sequence, end: 0 },
        bad @ Frame::Bad { .. } => bad,
    })
}

fn number_of(frame: Option<Frame>) -> Option<u64> {
    match frame? {
        Frame::Sound { number, .. } => Some(number),
        Frame::Bad { .. } => None,
    }
}

/// The paths of the journals, the newest last.
fn journals(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let number = path.file_stem().and_then(|stem| stem.to_str()?.parse::<u64>().ok());
        if let Some(number) = number.filter(|_| path.extension().is_some_and(|it| it == "jnl")) {
            found.push((number, path));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// Keeps other processes from the tree while its journals are judged.
fn lock(directory: &Path) -> Result<Option<File>, TailError> {
    let file = match File::options().read(true).write(true).open(directory.join(LOCK)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    for look in 0..LOOKS {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::Error(error)) => return Err(error.into()),
            Err(TryLockError::WouldBlock) if look + 1 < LOOKS => std::thread::sleep(LOOK),
            Err(TryLockError::WouldBlock) => {}
        }
    }
    Err(TailError::Locked)
}

#[cfg(test)]
mod tests;
