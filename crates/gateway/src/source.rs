//! The source of the bytes of a body, in runs.

use bytes::Bytes;

use crate::fault::Fault;

/// Bytes that arrive in consecutive runs.
pub trait Source {
    /// The next run, which is not empty; none after the last one.
    ///
    /// # Errors
    /// If the bytes do not arrive, or are not those that were stated.
    fn next(&mut self) -> Result<Option<Bytes>, Fault>;

    /// A header after the body, by its lower-case name, once the last run has arrived.
    fn trailer(&self, name: &str) -> Option<&str>;

    /// The names of all headers that followed the bytes.
    fn trailing(&self) -> Vec<&str> {
        Vec::new()
    }
}

/// Runs that are in memory.
#[derive(Debug, Default)]
pub struct Runs(pub std::collections::VecDeque<Bytes>);

impl Runs {
    /// Bytes in runs of `run` bytes.
    #[must_use]
    pub fn of(bytes: &[u8], run: usize) -> Runs {
        Runs(bytes.chunks(run).map(Bytes::copy_from_slice).collect())
    }
}

impl Source for Runs {
    fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        Ok(self.0.pop_front())
    }

    fn trailer(&self, _: &str) -> Option<&str> {
        None
    }
}
