//! The embedded log-structured merge tree (fjall) that holds the tables of a device in its directory.

use std::path::{Path, PathBuf};

use fjall::{
    AbstractTree as _, CompressionType, Database, Keyspace, KeyspaceCreateOptions, KvSeparationOptions,
    PersistMode,
};

use super::{Changes, EngineError, Numbers, Row, Sync, Table, Tables};
use crate::crash;
use crate::doors;
use crate::space::Space;
use crate::tail::{self, Found, Note, STAMP_KEY, Stamp};

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

/// The tables in a directory.
pub(super) struct Tree {
    database: Database,
    tables: [Keyspace; 5],
    directory: PathBuf,
}

impl Tree {
    pub(super) fn open(directory: &Path) -> Result<Tree, EngineError> {
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
            let tree = Tree::of_database(database, directory)?;
            match &found {
                Some(found) if tree.is_ahead_of(found)? => Err(found.rotten().into()),
                _ => Ok(tree),
            }
        });
        match opened {
            Ok(tree) => {
                if let Some(note) = found.as_ref().and_then(Found::undecided) {
                    eprintln!("the end of the journal is undecided: {}", note.said());
                }
                Ok(tree)
            }
            Err(error) => {
                found.map_or(Ok(()), |found| found.undo(directory))?;
                Err(error)
            }
        }
    }

    fn of_database(database: Database, directory: &Path) -> Result<Tree, EngineError> {
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
        Ok(Tree { database, tables, directory: directory.to_owned() })
    }

    /// Whether tables hold what the journals should hold and do not: it was synced before it was flushed.
    fn is_ahead_of(&self, found: &Found) -> Result<bool, EngineError> {
        let flushed = self.tables.iter().filter_map(|table| table.tree.get_highest_persisted_seqno()).max();
        Ok(found.misses(self.last()?, flushed.unwrap_or(0)))
    }

    fn table(&self, table: Table) -> &Keyspace {
        &self.tables[table as usize]
    }
}

impl Tables for Tree {
    /// The tree syncs the journal that it opens.
    fn last(&self) -> Result<u64, EngineError> {
        let stamp = self.table(Table::Groups).get(STAMP_KEY)?;
        Ok(stamp.and_then(|bytes| Stamp::of_bytes(&bytes)).map_or(0, |stamp| stamp.number))
    }

    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        Ok(self.table(table).get(key)?.map(|value| value.to_vec()))
    }

    fn range<'a>(
        &'a self,
        table: Table,
        from: &[u8],
        belongs: &'a dyn Fn(&[u8]) -> bool,
    ) -> Box<dyn Iterator<Item = Result<Row, EngineError>> + 'a> {
        let rows = self.table(table).range(from.to_vec()..).map_while(move |guard| {
            match guard.into_inner_if(|key| belongs(key)) {
                Ok((key, value)) => value.map(|value| Ok((key.to_vec(), value.to_vec()))),
                Err(error) => Some(Err(error.into())),
            }
        });
        Box::new(rows)
    }

    fn commit(&self, changes: Changes, numbers: Numbers, sync: Sync) -> Result<(), EngineError> {
        let mut batch = self.database.batch();
        for (table, key, value) in changes.into_rows() {
            crash::point();
            match value {
                Some(value) => batch.insert(self.table(table), key, value),
                None => batch.remove(self.table(table), key),
            }
        }
        let Numbers { number, synced } = numbers;
        let stamp = Stamp { number, synced, sequence: self.database.seqno() };
        batch.insert(self.table(Table::Groups), STAMP_KEY, stamp.to_bytes());
        let mode = match sync {
            Sync::Always => PersistMode::SyncAll,
            Sync::Never => PersistMode::Buffer,
        };
        Ok(batch.durability(Some(mode)).commit()?)
    }

    fn undecided(&self) -> Result<Option<Note>, EngineError> {
        Ok(Note::of(&self.directory)?)
    }

    fn note(&self, note: &Note) -> Result<(), EngineError> {
        Ok(note.write(&self.directory)?)
    }

    fn decide(&self) -> Result<(), EngineError> {
        Ok(tail::forget(&self.directory)?)
    }

    fn space(&self) -> Space {
        Space::of(&self.directory).unwrap_or(Space::ENDLESS)
    }

    fn disk_bytes(&self) -> u64 {
        self.database.disk_space().unwrap_or_default()
    }

    fn reclaim(&self) -> Result<(), EngineError> {
        for table in &self.tables {
            table.rotate_memtable_and_wait()?;
            // The first merge counts the values that are no longer needed, the second omits them.
            table.major_compact()?;
            table.major_compact()?;
        }
        Ok(())
    }
}
