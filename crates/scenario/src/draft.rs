//! One point of a scenario, to be read into a study's scenario type.

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

/// The study's own keys with their places in the text; every swept key has this point's value.
#[derive(Debug)]
pub struct Draft {
    root: Node,
    flags: Option<Arc<[FlagName]>>,
    files: Option<Arc<dyn Files>>,
    inputs: Mutex<Vec<Input>>,
}

/// Reads the files that a scenario names. The front end implements it; nothing below accesses a disk.
pub trait Files: fmt::Debug + Send + Sync {
    /// The contents of `path`, as written in the scenario.
    ///
    /// # Errors
    /// Why it cannot be read, in the words of the operating system.
    fn read(&self, path: &str) -> Result<Vec<u8>, String>;
}

/// A file that a scenario named and a study read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The key that named it.
    pub key: KeyPath,
    /// Its path, as written in the scenario.
    pub path: String,
    /// Its contents.
    pub bytes: Arc<[u8]>,
    /// The hash of its contents.
    pub hash: String,
}

impl Draft {
    pub(crate) fn new(root: Node, flags: Option<Arc<[FlagName]>>, files: Option<Arc<dyn Files>>) -> Draft {
        Draft { root, flags, files, inputs: Mutex::new(Vec::new()) }
    }

    /// Reads the study's scenario type: first checks it against its schema, which finds all errors in keys,
    /// kinds, units, ranges and names, then reads the type itself.
    ///
    /// # Errors
    /// All problems found.
    pub fn read<T: DeserializeOwned + JsonSchema>(&self) -> Result<T, Problems> {
        let schema = schemars::schema_for!(T).to_value();
        check(&self.root, &schema, self.flags.as_deref()).into_result(())?;
        read(&self.root)
    }

    /// Whether the user or a sweep sets `key`; values that a study fills in by itself do not count.
    #[must_use]
    pub fn says(&self, key: &str) -> bool {
        let path: KeyPath = key.parse().unwrap_or_default();
        self.root.find(&path).is_some()
    }

    /// Whether keys may be set by flags of a command, rather than only in a file.
    #[must_use]
    pub fn has_flags(&self) -> bool {
        self.flags.is_some()
    }

    /// A problem with the value of `key` (`cluster.servers`, `stations[0].rate`), at its place: the key's
    /// line in the file, or the flag that set it. A key that the user left out is reported at the nearest
    /// enclosing table.
    #[must_use]
    pub fn problem(&self, key: &str, message: impl Into<String>) -> Problem {
        let path: KeyPath = key.parse().unwrap_or_default();
        Problem::new(message).at(self.root.nearest(&path).place.clone()).of_key(path)
    }

    /// A problem with one text of `key`, which has one text or a list of them.
    #[must_use]
    pub fn problem_with(&self, key: &str, text: &str, message: impl Into<String>) -> Problem {
        let path: KeyPath = key.parse().unwrap_or_default();
        let mut node = self.root.nearest(&path);
        if let Value::List(items) = &node.value {
            let is_it = |item: &&Node| matches!(&item.value, Value::Text(found) if found == text);
            node = items.iter().find(is_it).unwrap_or(node);
        }
        Problem::new(message).at(node.place.clone()).of_key(path)
    }

    /// Reads the file that `key` names. From here on it counts in the scenario's hash.
    ///
    /// # Errors
    /// When `key` is not a string, or the file cannot be read.
    pub fn input(&self, key: &str) -> Result<Input, Problem> {
        let path: KeyPath = key.parse().unwrap_or_default();
        let Some(Value::Text(name)) = self.root.find(&path).map(|node| &node.value) else {
            return Err(self
                .problem(key, format!("`{key}` must name a file"))
                .hint("write its path in quotes"));
        };
        let files = self.files.as_ref().ok_or_else(|| {
            self.problem(key, format!("`{key}` names a file, but files cannot be read here"))
                .hint("run the scenario from a file")
        })?;
        let bytes = files.read(name).map_err(|reason| {
            let hint = match self.flags {
                Some(_) if name == "-" => "standard input is not read: save it to a file, and name that",
                Some(_) => "check the path",
                None => "paths are relative to the directory of the scenario file",
            };
            self.problem(key, format!("cannot read `{name}`: {reason}")).hint(hint)
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
