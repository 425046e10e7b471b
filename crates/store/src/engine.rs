//! The on-disk state of a device: an embedded log-structured merge tree, and transactions on it.
//!
//! Objects are in two tables, so that listing versions reads no data: `heads` has version, size, name and
//! attributes of each object, `data` its bytes. `names` indexes objects in the order of their names. `staged`
//! has parts of objects that are being received, `groups` the durable state of each group.

mod tree;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use towtank_replication::{Key, Version};

use crate::crash;
use crate::space::Space;
use crate::tail::{Note, TailError};
use tree::Tree;

/// Why a disk operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The tree reported an error.
    #[error("the disk cannot be read or written: {0}")]
    Disk(#[from] fjall::Error),
    /// A transaction that was synced cannot be read.
    #[error(
        "`{path}` is damaged at byte {at}: the transaction there was synced, so it may be the only copy of what \
         was acknowledged, and nothing is changed"
    )]
    Rotten {
        /// The path of the journal.
        path: PathBuf,
        /// Where the transaction begins.
        at: u64,
    },
    /// The data on disk was not written by this version.
    #[error("{what} cannot be read: {why}")]
    Damaged {
        /// The kind of data.
        what: String,
        /// What is wrong with it.
        why: String,
    },
}

impl From<std::io::Error> for EngineError {
    fn from(error: std::io::Error) -> EngineError {
        EngineError::Disk(error.into())
    }
}

impl From<TailError> for EngineError {
    fn from(error: TailError) -> EngineError {
        match error {
            TailError::Io(error) => EngineError::Disk(error.into()),
            TailError::Locked => EngineError::Disk(fjall::Error::Locked),
            TailError::Rotten { path, at } => EngineError::Rotten { path, at },
        }
    }
}

/// When a change counts as durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sync {
    /// When it survives a loss of power.
    #[default]
    Always,
    /// When it survives the end of the process, but not of the machine.
    Never,
}

/// Everything that is known of an object without its data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectHead {
    /// Its version.
    pub version: Version,
    /// The number of bytes that the replica holds of it.
    pub size: u64,
    /// Its name.
    pub name: String,
    /// The number of bytes of its data.
    pub length: u64,
    /// The attributes that its owner set.
    pub attributes: BTreeMap<String, String>,
}

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// Version, size, name and attributes of each object.
    Heads,
    /// The bytes of objects.
    Data,
    /// Objects in the order of their names.
    Names,
    /// Parts of objects that are being received.
    Staged,
    /// The durable state of each group.
    Groups,
}

impl Table {
    /// All tables.
    pub const ALL: [Table; 5] = [Table::Heads, Table::Data, Table::Names, Table::Staged, Table::Groups];
}

/// What holds the tables of a device: the embedded tree, or what takes its place in a simulation.
/// Transactions and their numbers are the same above both.
pub trait Tables: Send + std::marker::Sync {
    /// The number of the last transaction.
    ///
    /// # Errors
    /// When the disk cannot be read.
    fn last(&self) -> Result<u64, EngineError>;

    /// The value of a key.
    ///
    /// # Errors
    /// When the disk cannot be read.
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError>;

    /// Keys and values in order, from `from` on, up to the first key that does not belong.
    fn range<'a>(
        &'a self,
        table: Table,
        from: &[u8],
        belongs: &'a dyn Fn(&[u8]) -> bool,
    ) -> Box<dyn Iterator<Item = Result<Row, EngineError>> + 'a>;

    /// Makes changes, all or none, with the number of their transaction.
    ///
    /// # Errors
    /// When the disk cannot be written.
    fn commit(&self, changes: Changes, numbers: Numbers, sync: Sync) -> Result<(), EngineError>;

    /// What is known of the end of the journal, if that was undecided.
    ///
    /// # Errors
    /// When the disk cannot be read.
    fn undecided(&self) -> Result<Option<Note>, EngineError>;

    /// Replaces what is known of the end of the journal.
    ///
    /// # Errors
    /// When the disk cannot be written.
    fn note(&self, note: &Note) -> Result<(), EngineError>;

    /// Forgets that the end of the journal was undecided, and what was cut off.
    ///
    /// # Errors
    /// When the disk cannot be written.
    fn decide(&self) -> Result<(), EngineError>;

    /// The space on the file system.
    fn space(&self) -> Space;

    /// The bytes of the tables on disk.
    fn disk_bytes(&self) -> u64;

    /// Frees the space of removed or overwritten data.
    ///
    /// # Errors
    /// When the disk cannot be read or written.
    fn reclaim(&self) -> Result<(), EngineError>;
}

/// Opens the tables of the embedded tree in a directory, or creates them.
///
/// # Errors
/// When the disk cannot be read or written, or another process has the directory open.
pub fn tables(directory: &Path) -> Result<Arc<dyn Tables>, EngineError> {
    made_whole(directory, || Ok(Arc::new(Tree::open(directory)?) as Arc<dyn Tables>))
}

/// A key and its value.
pub type Row = (Vec<u8>, Vec<u8>);

/// What a transaction says about itself and those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// Counts the transactions of the directory, from 1 on.
    pub number: u64,
    /// The last transaction that was known to be synced when this one was written.
    pub synced: u64,
}

/// The tables of a device, and the numbers of its transactions.
#[derive(Clone)]
pub struct Engine {
    tables: Arc<dyn Tables>,
    sync: Sync,
    committed: Arc<Mutex<Committed>>,
}

/// The transactions of a directory so far.
#[derive(Debug)]
struct Committed {
    /// The number of the last one.
    last: u64,
    /// The number of the last one that is synced.
    synced: u64,
    /// Whether the last one was written only to tell that the one before it is synced.
    is_marked: bool,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Engine").field("sync", &self.sync).finish_non_exhaustive()
    }
}

impl Engine {
    /// Opens the tables in a directory, or creates them.
    ///
    /// # Errors
    /// When the disk cannot be read or written, or another process has the directory open.
    pub fn open(directory: &Path, sync: Sync) -> Result<Engine, EngineError> {
        Engine::on(tables(directory)?, sync)
    }

    /// The engine on tables that are open. Whatever they have was synced by those who opened them.
    ///
    /// # Errors
    /// When the disk cannot be read.
    pub fn on(tables: Arc<dyn Tables>, sync: Sync) -> Result<Engine, EngineError> {
        let last = tables.last()?;
        let committed = Committed { last, synced: last, is_marked: last == 0 };
        Ok(Engine { tables, sync, committed: Arc::new(Mutex::new(committed)) })
    }

    /// Whether the end of the journal was undecided, and some group may still have lost changes.
    ///
    /// # Errors
    /// When the disk cannot be read.
    pub fn undecided(&self) -> Result<Option<Note>, EngineError> {
        self.tables.undecided()
    }

    /// Notes that each group has noted durably that it may have lost changes.
    ///
    /// # Errors
    /// When the disk cannot be written.
    pub fn note_doubts(&self, note: Note) -> Result<(), EngineError> {
        self.tables.note(&Note { is_noted: true, ..note })
    }

    /// Notes that each group has taken over the authoritative log: what was cut off is not needed any more.
    ///
    /// # Errors
    /// When the disk cannot be written.
    pub fn decide(&self) -> Result<(), EngineError> {
        self.tables.decide()
    }

    /// Writes that the last transaction is synced, unless that is known or it is left to the system when
    /// something is.
    ///
    /// # Errors
    /// When the disk cannot be written.
    pub fn mark(&self) -> Result<(), EngineError> {
        if self.sync == Sync::Never || self.committed.lock().expect("no thread panics").is_marked {
            return Ok(());
        }
        self.write(Changes::default(), true)
    }

    /// Makes the changes of a transaction durable, all or none.
    ///
    /// # Errors
    /// When the disk cannot be written.
    pub fn commit(&self, changes: Changes) -> Result<(), EngineError> {
        if changes.is_empty() {
            return Ok(());
        }
        crash::point();
        self.write(changes, false)?;
        crash::point();
        Ok(())
    }

    /// Commits changes with their numbers.
    fn write(&self, changes: Changes, is_mark: bool) -> Result<(), EngineError> {
        // Numbers are in the order of the journal.
        let mut committed = self.committed.lock().expect("no thread that holds it panics");
        let number = committed.last + 1;
        self.tables.commit(changes, Numbers { number, synced: committed.synced }, self.sync)?;
        let synced = if self.sync == Sync::Always { number } else { committed.synced };
        *committed = Committed { last: number, synced, is_marked: is_mark };
        Ok(())
    }

    /// Begins a transaction.
    #[must_use]
    pub fn begin(&self) -> Transaction<'_> {
        Transaction { engine: self, writes: Default::default(), bytes: 0, failed: None }
    }

    /// The space on the device's file system; unlimited if the system does not report it.
    #[must_use]
    pub fn space(&self) -> Space {
        self.tables.space()
    }

    /// Frees the space of removed or overwritten data: flushes memory and merges all tables. It takes as long
    /// as reading and writing all keys.
    ///
    /// # Errors
    /// When the disk cannot be read or written.
    pub fn reclaim(&self) -> Result<(), EngineError> {
        self.tables.reclaim()
    }

    /// The bytes of the tables on disk.
    #[must_use]
    pub fn disk_bytes(&self) -> u64 {
        self.tables.disk_bytes()
    }
}

/// Opens a database, creating it if the directory has none. The tree cannot open a database whose creation
/// was interrupted. A file beside the directory marks a creation in progress, and then the database is
/// created again; nothing was written to it by then.
pub(crate) fn made_whole<T>(
    directory: &Path,
    open: impl Fn() -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    let mut marker = directory.as_os_str().to_owned();
    marker.push(".making");
    let marker = Path::new(&marker);
    let begins = || -> std::io::Result<bool> {
        std::fs::create_dir_all(directory)?;
        let entries = || std::fs::read_dir(directory);
        let is_identity = |entry: &std::fs::DirEntry| crate::identity::is_identity(&entry.file_name());
        let is_empty = entries()?.all(|entry| entry.is_ok_and(|entry| is_identity(&entry)));
        if !is_empty && !marker.exists() {
            return Ok(false);
        }
        std::fs::File::create(marker)?.sync_all()?;
        for entry in entries()? {
            let entry = entry?;
            if is_identity(&entry) {
                continue;
            }
            let is_directory = entry.file_type()?.is_dir();
            let path = entry.path();
            if is_directory { std::fs::remove_dir_all(path)? } else { std::fs::remove_file(path)? }
        }
        Ok(true)
    };
    let begins = begins().map_err(fjall::Error::from)?;
    let opened = open()?;
    if begins {
        std::fs::remove_file(marker).map_err(fjall::Error::from)?;
    }
    Ok(opened)
}

/// Changes of one table, by key: new values, or `None` for a removed key.
type Writes = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// The changes of a transaction, by table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes([Writes; 5]);

impl Changes {
    /// Whether nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(BTreeMap::is_empty)
    }

    /// The changes, each with its table and its key.
    pub fn into_rows(self) -> impl Iterator<Item = (Table, Vec<u8>, Option<Vec<u8>>)> {
        let of = |(table, writes): (Table, Writes)| writes.into_iter().map(move |(key, to)| (table, key, to));
        Table::ALL.into_iter().zip(self.0).flat_map(of)
    }
}

impl FromIterator<(Table, Vec<u8>, Option<Vec<u8>>)> for Changes {
    fn from_iter<I: IntoIterator<Item = (Table, Vec<u8>, Option<Vec<u8>>)>>(rows: I) -> Changes {
        let mut changes = Changes::default();
        for (table, key, to) in rows {
            changes.0[table as usize].insert(key, to);
        }
        changes
    }
}

/// Changes that become durable together. Reads through the transaction see them before that.
#[derive(Debug)]
pub struct Transaction<'e> {
    engine: &'e Engine,
    writes: [Writes; 5],
    bytes: usize,
    failed: Option<EngineError>,
}

impl Transaction<'_> {
    /// Whether it changes nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.writes.iter().all(BTreeMap::is_empty) && self.failed.is_none()
    }

    /// The bytes of values written so far.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Makes all changes durable, or none.
    ///
    /// # Errors
    /// When the disk cannot be read or written, including earlier in the transaction.
    pub fn commit(self) -> Result<(), EngineError> {
        let engine = self.engine;
        engine.commit(self.into_changes()?)
    }

    /// The changes, to be committed later.
    ///
    /// # Errors
    /// When the disk could not be read or written earlier in the transaction.
    pub(crate) fn into_changes(self) -> Result<Changes, EngineError> {
        match self.failed {
            Some(error) => Err(error),
            None => Ok(Changes(self.writes)),
        }
    }

    pub(crate) fn set(&mut self, table: Table, key: Vec<u8>, value: Vec<u8>) {
        crash::point();
        self.bytes += value.len();
        self.writes[table as usize].insert(key, Some(value));
    }

    pub(crate) fn remove(&mut self, table: Table, key: Vec<u8>) {
        self.writes[table as usize].insert(key, None);
    }

    pub(crate) fn remove_if_there(&mut self, table: Table, key: Vec<u8>) {
        if self.get(table, &key).is_some() {
            self.remove(table, key);
        }
    }

    /// The value of a key; also none if the disk cannot be read, in which case the transaction fails.
    pub(crate) fn get(&mut self, table: Table, key: &[u8]) -> Option<Vec<u8>> {
        if let Some(written) = self.writes[table as usize].get(key) {
            return written.clone();
        }
        let found = self.engine.tables.get(table, key);
        self.expect(found)
    }

    /// Like `get`, for a value of which other replicas have copies: one that cannot be read counts as none,
    /// and the transaction continues.
    pub(crate) fn get_if_sound(&mut self, table: Table, key: &[u8]) -> Option<Vec<u8>> {
        match self.writes[table as usize].get(key) {
            Some(written) => written.clone(),
            None => self.engine.tables.get(table, key).ok().flatten(),
        }
    }

    /// At most `most` keys with their values, from `from` on, that begin with `prefix`.
    pub(crate) fn scan(
        &mut self,
        table: Table,
        prefix: &[u8],
        from: &[u8],
        most: usize,
    ) -> Vec<(Vec<u8>, Vec<u8>)> {
        self.scan_while(table, from, most, &|key| key.starts_with(prefix))
    }

    /// At most `most` keys with their values, from `from` on, up to the first key that does not belong.
    pub(crate) fn scan_while(
        &mut self,
        table: Table,
        from: &[u8],
        most: usize,
        belongs: &dyn Fn(&[u8]) -> bool,
    ) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut found = Vec::new();
        let mut failed = None;
        {
            let mut lying = self
                .engine
                .tables
                .range(table, from, belongs)
                .map_while(|row| row.map_err(|error| failed = Some(error)).ok());
            let mut written = self.writes[table as usize]
                .range(from.to_vec()..)
                .take_while(|(key, _)| belongs(key))
                .peekable();
            let mut next = lying.next();
            while found.len() < most {
                let is_written = match (&next, written.peek()) {
                    (Some((key, _)), Some((other, _))) => *other <= key,
                    (None, Some(_)) => true,
                    (Some(_), None) => false,
                    (None, None) => break,
                };
                if !is_written {
                    found.extend(next.take());
                    next = lying.next();
                    continue;
                }
                let (key, value) = written.next().expect("one was just seen");
                if next.as_ref().is_some_and(|(other, _)| other == key) {
                    next = lying.next();
                }
                found.extend(value.clone().map(|value| (key.clone(), value)));
            }
        }
        if let Some(error) = failed {
            self.fail(error);
        }
        found
    }

    /// Records a failure: the transaction can no longer be committed.
    pub(crate) fn fail(&mut self, error: impl Into<EngineError>) {
        self.failed.get_or_insert(error.into());
    }

    /// The value of a result; an error makes the transaction fail.
    pub(crate) fn expect<T: Default, E: Into<EngineError>>(&mut self, result: Result<T, E>) -> T {
        result.unwrap_or_else(|error| {
            self.fail(error);
            T::default()
        })
    }
}

/// The key of an object in the tables, which are ordered by group.
#[must_use]
pub fn key_bytes(group: u32, key: Key) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&group.to_be_bytes());
    bytes[4..8].copy_from_slice(&key.position.to_be_bytes());
    bytes[8..].copy_from_slice(&key.id.to_be_bytes());
    bytes
}

/// The object with this table key.
pub(crate) fn key_of(bytes: &[u8]) -> Option<Key> {
    let position = u32::from_be_bytes(bytes.get(4..8)?.try_into().ok()?);
    let id = u64::from_be_bytes(bytes.get(8..16)?.try_into().ok()?);
    Some(Key { position, id })
}

/// The key of a name in the table `names`.
#[must_use]
pub(crate) fn name_bytes(group: u32, name: &str) -> Vec<u8> {
    [&group.to_be_bytes()[..], name.as_bytes()].concat()
}

/// Decodes a stored value.
pub(crate) fn read<T: for<'a> Deserialize<'a>>(what: &str, bytes: &[u8]) -> Result<T, EngineError> {
    postcard::from_bytes(bytes)
        .map_err(|error| EngineError::Damaged { what: what.to_owned(), why: error.to_string() })
}

/// Encodes a value for storage.
pub(crate) fn written<T: Serialize>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value).expect("plain data can be written")
}
