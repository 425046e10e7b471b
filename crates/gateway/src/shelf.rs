//! The interface to a store: objects by name, with attributes, and their names in order.

use std::collections::BTreeMap;

use crate::fault::Fault;

/// Attributes of an object of the store.
pub type Labels = BTreeMap<String, String>;

/// An object of the store, with its data.
pub type Found = (Labels, Vec<u8>);

/// A store of named objects.
pub trait Shelf: Send + Sync {
    /// Sets an object, whether or not it exists. After a failure it may have been set.
    ///
    /// # Errors
    /// If the store does not answer.
    fn put(&self, name: &str, labels: &Labels, data: &[u8]) -> Result<(), Fault>;

    /// An object; none if it does not exist.
    ///
    /// # Errors
    /// If the store does not answer.
    fn get(&self, name: &str) -> Result<Option<Found>, Fault>;

    /// An object's attributes, without its data.
    ///
    /// # Errors
    /// If the store does not answer.
    fn head(&self, name: &str) -> Result<Option<Labels>, Fault>;

    /// Removes an object, if it exists.
    ///
    /// # Errors
    /// If the store does not answer.
    fn remove(&self, name: &str) -> Result<(), Fault>;

    /// Walks the objects whose names begin with `prefix`, from `from` on.
    ///
    /// # Errors
    /// If the store does not answer.
    fn walk(&self, prefix: &str, from: &str) -> Result<Box<dyn Walk + '_>, Fault>;
}

/// A walk over objects in the order of their names.
pub trait Walk {
    /// The next name with its attributes; none after the last one.
    ///
    /// # Errors
    /// If the store does not answer.
    fn next(&mut self) -> Result<Option<(String, Labels)>, Fault>;

    /// Skips all names before this one.
    fn skip_to(&mut self, name: &str);
}

pub(crate) mod memory;
