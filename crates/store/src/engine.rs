//! What a device has on its disk: an embedded log-structured merge tree, and transactions on it.
//!
//! Objects lie in two tables, so that a look at all versions does not read data: `heads` has version, size,
//! name and attributes of each, `data` its bytes. `names` finds them in the order of their names. `staged`
//! has parts of objects that are being received, `groups` what each group must not forget.

use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use fjall::{Database, Keyspace, KeyspaceCreateOptions, KvSeparationOptions, PersistMode};
use serde::{Deserialize, Serialize};
use towtank_replication::{Key, Version};

use crate::crash;
use crate::space::Space;

/// Why the disk does not do what it is asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The tree reports it.
    #[error("the disk cannot be read or written: {0}")]
    Disk(#[from] fjall::Error),
    /// What lies there was not written by this version.
    #[error("{what} cannot be read: {why}")]
    Damaged {
        /// Which part.
        what: String,
        /// What is wrong with it.
        why: String,
    },
}

/// When a change counts as durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sync {
    /// When it would survive a loss of power.
    #[default]
    Always,
    /// When it would survive the end of the process, but not of the machine.
    Never,
}

/// What is known of an object without its data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectHead {
    /// Its version.
    pub version: Version,
    /// Bytes that the replica holds of it.
    pub size: u64,
    /// Its name.
    pub name: String,
    /// Bytes of its data.
    pub length: u64,
    /// What its owner says of it.
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
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Engine").field("sync", &self.sync).finish_non_exhaustive()
    }
}

/// Bytes of blocks that are kept in memory.
const CACHE_BYTES: u64 = 64 << 20;

/// Bytes of journals before the tables are written out.
const JOURNAL_BYTES: u64 = 512 << 20;

/// On a disk of less than this, journals and memory take less, so that the reserve of a full disk has room
/// for what must still be written.
const SMALL_DISK: u64 = 8 << 30;
const JOURNAL_BYTES_SMALL: u64 = 64 << 20;
const MEMORY_BYTES_SMALL: u64 = 8 << 20;

impl Engine {
    /// Opens the tables of a directory, or makes them.
    ///
    /// # Errors
    /// When the disk cannot be read or written, or another process has the directory open.
    pub fn open(directory: &Path, sync: Sync) -> Result<Engine, EngineError> {
        made_whole(directory, || Engine::open_made(directory, sync))
    }

    fn open_made(directory: &Path, sync: Sync) -> Result<Engine, EngineError> {
        let total = Space::of(directory).map_or(u64::MAX, |space| space.total_bytes);
        let is_small = total < SMALL_DISK;
        let open = || {
            Database::builder(directory)
                .cache_size(CACHE_BYTES)
                .max_journaling_size(if is_small { JOURNAL_BYTES_SMALL } else { JOURNAL_BYTES })
                .worker_threads(2)
                .open()
        };
        let database = match open() {
            Err(fjall::Error::JournalRecovery(why)) => {
                discard_torn(directory).map_err(fjall::Error::from)?;
                let opened = open()?;
                eprintln!("the last transaction was not written whole ({why:?}), and is discarded");
                opened
            }
            opened => opened?,
        };
        let options = || {
            let options = KeyspaceCreateOptions::default();
            if is_small { options.max_memtable_size(MEMORY_BYTES_SMALL) } else { options }
        };
        let plain = |name: &str| database.keyspace(name, options);
        // Values of some KiB and more lie apart from the keys, and are not written again when tables are
        // merged.
        let apart = || options().with_kv_separation(Some(KvSeparationOptions::default()));
        let tables = [
            plain("heads")?,
            database.keyspace("data", apart)?,
            plain("names")?,
            database.keyspace("staged", apart)?,
            plain("groups")?,
        ];
        Ok(Engine { database, tables, sync, directory: directory.to_owned() })
    }

    /// A transaction.
    #[must_use]
    pub fn begin(&self) -> Transaction<'_> {
        Transaction { engine: self, writes: Default::default(), bytes: 0, failed: None }
    }

    /// The room on its file system; endless where the system does not tell.
    #[must_use]
    pub fn space(&self) -> Space {
        Space::of(&self.directory).unwrap_or(Space::ENDLESS)
    }

    /// Gives back the room of what was removed or written anew: memory is written out and all tables are
    /// merged. It takes as long as reading and writing all keys.
    ///
    /// # Errors
    /// When the disk cannot be read or written.
    pub fn reclaim(&self) -> Result<(), EngineError> {
        for table in &self.tables {
            table.rotate_memtable_and_wait()?;
            // The first merge counts what values are not needed any more, the second leaves them out.
            table.major_compact()?;
            table.major_compact()?;
        }
        Ok(())
    }

    /// Bytes that the tables take on the disk.
    #[must_use]
    pub fn disk_bytes(&self) -> u64 {
        self.database.disk_space().unwrap_or_default()
    }

    fn table(&self, table: Table) -> &Keyspace {
        &self.tables[table as usize]
    }
}

/// Opens a database, which is made where the directory is empty. The tree cannot open one whose making was
/// interrupted: a file beside the directory says that it is being made, and then it is made anew. Nothing was
/// written to it by then.
pub(crate) fn made_whole<T>(
    directory: &Path,
    open: impl Fn() -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    let mut marker = directory.as_os_str().to_owned();
    marker.push(".making");
    let marker = Path::new(&marker);
    let begins = || -> std::io::Result<bool> {
        std::fs::create_dir_all(directory)?;
        let is_empty = std::fs::read_dir(directory)?.next().is_none();
        if !is_empty && !marker.exists() {
            return Ok(false);
        }
        std::fs::File::create(marker)?.sync_all()?;
        for entry in std::fs::read_dir(directory)? {
            let entry = entry?;
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

/// Takes the end away from the last transaction of the newest journal, so that it counts as one that was not
/// finished.
///
/// A crash of the machine may leave a transaction of which the end was written and blocks before it were not.
/// The tree discards a transaction without its end, and refuses a journal with one that has an end and
/// another checksum. That transaction was not synced, so nobody was told of it. One in the middle of a
/// journal is another matter: the tree still refuses it.
fn discard_torn(directory: &Path) -> std::io::Result<()> {
    const BLOCK: u64 = 1 << 16;
    let numbered = |path: PathBuf| {
        let number: u64 = path.file_stem()?.to_str()?.parse().ok()?;
        (path.extension()? == "jnl").then_some((number, path))
    };
    let paths = std::fs::read_dir(directory)?.flatten().filter_map(|entry| numbered(entry.path()));
    let Some((_, path)) = paths.max() else { return Ok(()) };
    let mut file = std::fs::OpenOptions::new().read(true).write(true).open(path)?;
    let mut end = file.metadata()?.len();
    // What was allocated and not written is zeros.
    while end > 0 {
        let begin = end.saturating_sub(BLOCK);
        let mut block = vec![0; (end - begin) as usize];
        file.seek(SeekFrom::Start(begin))?;
        file.read_exact(&mut block)?;
        if let Some(last) = block.iter().rposition(|byte| *byte != 0) {
            file.set_len(begin + last as u64)?;
            return file.sync_all();
        }
        end = begin;
    }
    Ok(())
}

/// Changes of one table, by key: new values, or none where the key is removed.
type Writes = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// Changes that become durable together. Who reads through it sees them before that.
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

    /// Bytes of values that it has taken so far.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Makes all changes durable, or none of them.
    ///
    /// # Errors
    /// When the disk cannot be read or written, also earlier in the transaction.
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
        let mode = match self.engine.sync {
            Sync::Always => PersistMode::SyncAll,
            Sync::Never => PersistMode::Buffer,
        };
        crash::point();
        batch.durability(Some(mode)).commit()?;
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

    /// The value of a key; none also where the disk cannot be read, and then the transaction fails.
    pub(crate) fn get(&mut self, table: Table, key: &[u8]) -> Option<Vec<u8>> {
        if let Some(written) = self.writes[table as usize].get(key) {
            return written.clone();
        }
        let found = self.engine.table(table).get(key);
        self.expect(found).map(|value| value.to_vec())
    }

    /// The same of a value that others have too: one that cannot be read is none, and the transaction goes
    /// on.
    pub(crate) fn get_if_sound(&mut self, table: Table, key: &[u8]) -> Option<Vec<u8>> {
        match self.writes[table as usize].get(key) {
            Some(written) => written.clone(),
            None => self.engine.table(table).get(key).ok().flatten().map(|value| value.to_vec()),
        }
    }

    /// At most `most` keys with their values, from `from` on, all of which begin with `prefix`.
    pub(crate) fn scan(
        &mut self,
        table: Table,
        prefix: &[u8],
        from: &[u8],
        most: usize,
    ) -> Vec<(Vec<u8>, Vec<u8>)> {
        self.scan_while(table, from, most, &|key| key.starts_with(prefix))
    }

    /// At most `most` keys with their values, from `from` on, up to the first one that does not belong.
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

    /// Something went wrong: the transaction cannot be made durable.
    pub(crate) fn fail(&mut self, error: impl Into<EngineError>) {
        self.failed.get_or_insert(error.into());
    }

    /// What is read, or the transaction fails.
    pub(crate) fn expect<T: Default, E: Into<EngineError>>(&mut self, result: Result<T, E>) -> T {
        result.unwrap_or_else(|error| {
            self.fail(error);
            T::default()
        })
    }
}

/// The key of an object in the tables: they lie in the order of their group.
#[must_use]
pub(crate) fn key_bytes(group: u32, key: Key) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&group.to_be_bytes());
    bytes[4..8].copy_from_slice(&key.position.to_be_bytes());
    bytes[8..].copy_from_slice(&key.id.to_be_bytes());
    bytes
}

/// The object of a key.
pub(crate) fn key_of(bytes: &[u8]) -> Option<Key> {
    let position = u32::from_be_bytes(bytes.get(4..8)?.try_into().ok()?);
    let id = u64::from_be_bytes(bytes.get(8..16)?.try_into().ok()?);
    Some(Key { position, id })
}

/// The key of a name in the table of names.
#[must_use]
pub(crate) fn name_bytes(group: u32, name: &str) -> Vec<u8> {
    [&group.to_be_bytes()[..], name.as_bytes()].concat()
}

/// What was written of a value of ours.
pub(crate) fn read<T: for<'a> Deserialize<'a>>(what: &str, bytes: &[u8]) -> Result<T, EngineError> {
    postcard::from_bytes(bytes)
        .map_err(|error| EngineError::Damaged { what: what.to_owned(), why: error.to_string() })
}

/// A value of ours as bytes.
pub(crate) fn written<T: Serialize>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value).expect("plain data can be written")
}
