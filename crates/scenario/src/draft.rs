//! One point of a scenario on its way to becoming a study's scenario type.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::check::check;
use crate::flag::FlagName;
use crate::hash::hash_of_bytes;
use crate::key::KeyPath;
use crate::node::{Node, Value};
use crate::read::read;
use crate::{Problem, Problems};

/// Text that knows its places: the study's own keys, every swept key set to this point's value.
#[derive(Debug)]
pub struct Draft {
    root: Node,
    flags: Option<Arc<[FlagName]>>,
    files: Option<Arc<dyn Files>>,
    inputs: Mutex<Vec<Input>>,
}

/// Reads the files that a scenario names. The face implements it; nothing below it touches a disk.
pub trait Files: fmt::Debug + Send + Sync {
    /// The contents of `path`, which is as the scenario has it.
    ///
    /// # Errors
    /// Why it cannot be read, in the words of the system.
    fn read(&self, path: &str) -> Result<Vec<u8>, String>;
}

/// A file that a scenario named and a study read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The key that named it.
    pub key: KeyPath,
    /// Its path, as the scenario has it.
    pub path: String,
    /// What is in it.
    pub bytes: Arc<[u8]>,
    /// The hash of that.
    pub hash: String,
}

impl Draft {
    pub(crate) fn new(root: Node, flags: Option<Arc<[FlagName]>>, files: Option<Arc<dyn Files>>) -> Draft {
        Draft { root, flags, files, inputs: Mutex::new(Vec::new()) }
    }

    /// Reads the study's scenario type: first against its schema, which finds everything that is wrong with
    /// keys, kinds, units, ranges and names, then into the type itself.
    ///
    /// # Errors
    /// All that was found.
    pub fn read<T: DeserializeOwned + JsonSchema>(&self) -> Result<T, Problems> {
        let schema = schemars::schema_for!(T).to_value();
        check(&self.root, &schema, self.flags.as_deref()).into_result(())?;
        read(&self.root)
    }

    /// Whether the user, or a sweep, says anything of `key`; what a study fills in by itself does not count.
    #[must_use]
    pub fn says(&self, key: &str) -> bool {
        let path: KeyPath = key.parse().unwrap_or_default();
        self.root.find(&path).is_some()
    }

    /// A problem with the value of `key` (`cluster.servers`, `stations[0].rate`), at its place: the key's
    /// line in the file, or the flag that set it. A key that the user left out is told at the nearest table
    /// around it.
    #[must_use]
    pub fn problem(&self, key: &str, message: impl Into<String>) -> Problem {
        let path: KeyPath = key.parse().unwrap_or_default();
        Problem::new(message).at(self.root.nearest(&path).place.clone()).of_key(path)
    }

    /// The file that `key` names. It counts into the scenario's hash from here on.
    ///
    /// # Errors
    /// When `key` holds no text, or the file cannot be read.
    pub fn input(&self, key: &str) -> Result<Input, Problem> {
        let path: KeyPath = key.parse().unwrap_or_default();
        let Some(Value::Text(name)) = self.root.find(&path).map(|node| &node.value) else {
            return Err(self
                .problem(key, format!("`{key}` must name a file"))
                .hint("write its path in quotes"));
        };
        let files = self.files.as_ref().ok_or_else(|| {
            self.problem(key, format!("`{key}` names a file, but none can be read here"))
                .hint("run the scenario from a file")
        })?;
        let bytes = files.read(name).map_err(|reason| {
            self.problem(key, format!("cannot read `{name}`: {reason}"))
                .hint("paths are relative to the directory of the scenario file")
        })?;
        let input = Input { key: path, path: name.clone(), hash: hash_of_bytes(&bytes), bytes: bytes.into() };
        let mut inputs = self.inputs.lock().unwrap_or_else(PoisonError::into_inner);
        if !inputs.contains(&input) {
            inputs.push(input.clone());
        }
        Ok(input)
    }

    /// The files read so far, in the order of their keys.
    #[must_use]
    pub fn inputs(&self) -> Vec<Input> {
        let mut inputs = self.inputs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        inputs.sort_by(|a, b| a.key.cmp(&b.key));
        inputs
    }
}
