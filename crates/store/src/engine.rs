//! The on-disk state of a device: an embedded log-structured merge tree, and transactions on it.
//!
//! Objects are in two tables, so that listing versions reads no data: `heads` has version, size, name and
//! attributes of each object, `data` its bytes. `names` indexes objects in the order of their names. `staged`
//! has parts of objects that are being received, `groups` the durable state of each group.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use fjall::{
    AbstractTree as _, CompressionType, Database, Keyspace, KeyspaceCreateOptions, KvSeparationOptions,
    PersistMode,
};
use serde::{Deserialize, Serialize};
use towtank_replication::{Key, Version};

use crate::crash;
use crate::doors;
use crate::space::Space;
use crate::tail::{self, Found, Note, STAMP_KEY, Stamp, TailError};

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
pub(crate) enum Table {
    Heads,
    Data,
    Names,
    Staged,
    Groups,
}

/// The tables of a device.
#[derive(Clone)]
pub struct Engine {
    database: Database,
    tables: [Keyspace; 5],
    sync: Sync,
    directory: PathBuf,
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

/// Bytes of blocks cached in memory. The system caches the files as well.
const CACHE_BYTES: u64 = 16 << 20;

/// Bytes of journals before the tables are flushed, the least that the tree takes. All of them are read when
/// a daemon starts, for which the tree looks into its own tables at each change, and a full disk must have
/// room for them.
const JOURNAL_BYTES: u64 = 64 << 20;

/// Bytes of a table's changes in memory before they are flushed, as the tree counts them: small ones take
/// more than that, and some wait until they are written. A table has this from when it is made.
const MEMORY_BYTES: u64 = 4 << 20;

/// The same for the data of objects, so that fewer files have them.
const MEMORY_BYTES_OF_DATA: u64 = 8 << 20;

impl Engine {
    /// Opens the tables in a directory, or creates them.
    ///
    /// # Errors
    /// When the disk cannot be read or written, or another process has the directory open.
    pub fn open(directory: &Path, sync: Sync) -> Result<Engine, EngineError> {
        made_whole(directory, || Engine::open_made(directory, sync))
    }

    fn open_made(directory: &Path, sync: Sync) -> Result<Engine, EngineError> {
        let open = || {
            Database::builder(directory)
                .cache_size(CACHE_BYTES)
                .max_cached_files(Some(doors::files_kept()))
                .max_journaling_size(JOURNAL_BYTES)
                .journal_compression(CompressionType::None)
                .worker_threads(2)
                .open()
        };
        let found = tail::settle(directory)?;
        let opened = open().map_err(EngineError::from).and_then(|database| {
            let engine = Engine::of_database(database, directory, sync)?;
            if found.as_ref().is_some_and(|found| engine.is_ahead_of(found)) {
                return Err(found.as_ref().map(Found::rotten).expect("there is one").into());
            }
            Ok(engine)
        });
        match opened {
            Ok(engine) => {
                if let Some(note) = found.as_ref().and_then(Found::undecided) {
                    eprintln!("the end of the journal is undecided: {}", note.said());
                }
                Ok(engine)
            }
            Err(error) => {
                found.map_or(Ok(()), |found| found.undo(directory)).map_err(fjall::Error::from)?;
                Err(error)
            }
        }
    }

    fn of_database(database: Database, directory: &Path, sync: Sync) -> Result<Engine, EngineError> {
        let options = |bytes: u64| KeyspaceCreateOptions::default().max_memtable_size(bytes);
        let plain = |name: &str| database.keyspace(name, || options(MEMORY_BYTES));
        // Values of some KiB and more are stored apart from the keys, and are not rewritten when tables are
        // merged. Objects are not compressed, so that a write costs the same whatever is in it.
        let separation = || KvSeparationOptions::default().compression(CompressionType::None);
        let apart = || options(MEMORY_BYTES_OF_DATA).with_kv_separation(Some(separation()));
        let tables = [
            plain("heads")?,
            database.keyspace("data", apart)?,
            plain("names")?,
            database.keyspace("staged", apart)?,
            plain("groups")?,
        ];
        let stamp = tables[Table::Groups as usize].get(STAMP_KEY)?;
        let last = stamp.and_then(|bytes| Stamp::of_bytes(&bytes)).map_or(0, |stamp| stamp.number);
        // The tree syncs the journal that it opens.
        let committed = Committed { last, synced: last, is_marked: last == 0 };
        let committed = Arc::new(Mutex::new(committed));
        Ok(Engine { database, tables, sync, directory: directory.to_owned(), committed })
    }

    /// Whether tables hold what the journals should hold and do not: it was synced before it was flushed.
    fn is_ahead_of(&self, found: &Found) -> bool {
        let last = self.committed.lock().expect("no thread that holds it panics").last;
        let flushed = self.tables.iter().filter_map(|table| table.tree.get_highest_persisted_seqno()).max();
        found.misses(last, flushed.unwrap_or(0))
    }

    /// Whether the end of the journal was undecided, and some group may still have lost changes.
    ///
    /// # Errors
    /// When the disk cannot be read.
    pub fn undecided(&self) -> Result<Option<Note>, EngineError> {
        Ok(Note::of(&self.directory).map_err(fjall::Error::from)?)
    }

    /// Notes that each group has noted durably that it may have lost changes.
    ///
    /// # Errors
    /// When the disk cannot be written.
    pub(crate) fn note_doubts(&self, note: Note) -> Result<(), EngineError> {
        Ok(Note { is_noted: true, ..note }.write(&self.directory).map_err(fjall::Error::from)?)
    }

    /// Notes that each group has taken over the authoritative log: what was cut off is not needed any more.
    ///
    /// # Errors
    /// When the disk cannot be written.
    pub fn decide(&self) -> Result<(), EngineError> {
        Ok(tail::forget(&self.directory).map_err(fjall::Error::from)?)
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
        self.write(self.database.batch(), true)
    }

    /// Commits a batch with its stamp.
    fn write(&self, mut batch: fjall::OwnedWriteBatch, is_mark: bool) -> Result<(), EngineError> {
        let mode = match self.sync {
            Sync::Always => PersistMode::SyncAll,
            Sync::Never => PersistMode::Buffer,
        };
        // Numbers are in the order of the journal.
        let mut committed = self.committed.lock().expect("no thread that holds it panics");
        let number = committed.last + 1;
        let stamp = Stamp { number, synced: committed.synced, sequence: self.database.seqno() };
        batch.insert(self.table(Table::Groups), STAMP_KEY, stamp.to_bytes());
        batch.durability(Some(mode)).commit()?;
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
        Space::of(&self.directory).unwrap_or(Space::ENDLESS)
    }

    /// Frees the space of removed or overwritten data: flushes memory and merges all tables. It takes as long
    /// as reading and writing all keys.
    ///
    /// # Errors
    /// When the disk cannot be read or written.
    pub(crate) fn reclaim(&self) -> Result<(), EngineError> {
        for table in &self.tables {
            table.rotate_memtable_and_wait()?;
            // The first merge counts the values that are no longer needed, the second omits them.
            table.major_compact()?;
            table.major_compact()?;
        }
        Ok(())
    }

    /// The bytes of the tables on disk.
    #[must_use]
    pub fn disk_bytes(&self) -> u64 {
        self.database.disk_space().unwrap_or_default()
    }

    fn table(&self, table: Table) -> &Keyspace {
        &self.tables[table as usize]
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
        if let Some(error) = self.failed {
            return Err(error);
        }
        crash::point();
        let mut batch = self.engine.database.batch();
        for (table, writes) in self.engine.tables.iter().zip(self.writes) {
            for (key, value) in writes {
                crash::point();
                match value {
                    Some(value) => batch.insert(table, key, value),
                    None => batch.remove(table, key),
                }
            }
        }
        if batch.is_empty() {
            return Ok(());
        }
        crash::point();
        self.engine.write(batch, false)?;
        crash::point();
        Ok(())
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
        let found = self.engine.table(table).get(key);
        self.expect(found).map(|value| value.to_vec())
    }

    /// Like `get`, for a value of which other replicas have copies: one that cannot be read counts as none,
    /// and the transaction continues.
    pub(crate) fn get_if_sound(&mut self, table: Table, key: &[u8]) -> Option<Vec<u8>> {
        match self.writes[table as usize].get(key) {
            Some(written) => written.clone(),
            None => self.engine.table(table).get(key).ok().flatten().map(|value| value.to_vec()),
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
            let mut lying = self.engine.table(table).range(from.to_vec()..).map_while(|guard| {
                let read = guard.into_inner_if(|key| belongs(key));
                match read {
                    Ok((key, value)) => value.map(|value| (key.to_vec(), value.to_vec())),
                    Err(error) => {
                        failed = Some(error);
                        None
                    }
                }
            });
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
pub(crate) fn key_bytes(group: u32, key: Key) -> [u8; 16] {
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
