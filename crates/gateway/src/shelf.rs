//! What the gateway asks of a store: objects by name, with attributes, and their names in order.

use std::collections::BTreeMap;

use crate::fault::Fault;

/// Attributes of an object of the store.
pub type Labels = BTreeMap<String, String>;

/// An object of the store, with its data.
pub type Found = (Labels, Vec<u8>);

/// A store.
pub trait Shelf: Send + Sync {
    /// Sets an object, whether or not there is one. A failure does not say that it was not set.
    ///
    /// # Errors
    /// When the store does not answer.
    fn put(&self, name: &str, labels: &Labels, data: &[u8]) -> Result<(), Fault>;

    /// An object; none where there is none.
    ///
    /// # Errors
    /// When the store does not answer.
    fn get(&self, name: &str) -> Result<Option<Found>, Fault>;

    /// An object's attributes, without its data.
    ///
    /// # Errors
    /// When the store does not answer.
    fn head(&self, name: &str) -> Result<Option<Labels>, Fault>;

    /// Removes an object, if there is one.
    ///
    /// # Errors
    /// When the store does not answer.
    fn remove(&self, name: &str) -> Result<(), Fault>;

    /// Goes over the objects whose names begin with `prefix`, from `from` on.
    ///
    /// # Errors
    /// When the store does not answer.
    fn walk(&self, prefix: &str, from: &str) -> Result<Box<dyn Walk + '_>, Fault>;
}

/// A walk over objects in the order of their names.
pub trait Walk {
    /// The next name with its attributes; none after the last one.
    ///
    /// # Errors
    /// When the store does not answer.
    fn next(&mut self) -> Result<Option<(String, Labels)>, Fault>;

    /// Leaves out all names before this one.
    fn skip_to(&mut self, name: &str);
}

#[cfg(test)]
pub(crate) mod memory;
