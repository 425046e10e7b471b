//! Where the bytes of a body come from, in runs.

use bytes::Bytes;

use crate::fault::Fault;

/// Bytes that come one run after the other.
pub trait Source {
    /// The next run, which is not empty; none after the last one.
    ///
    /// # Errors
    /// When the bytes do not come, or are not those that were promised.
    fn next(&mut self) -> Result<Option<Bytes>, Fault>;

    /// A header that follows the body, by its name in small letters, once the last run has come.
    fn trailer(&self, name: &str) -> Option<&str>;
}

/// Runs that lie in memory.
#[cfg(test)]
#[derive(Debug, Default)]
pub struct Runs(pub std::collections::VecDeque<Bytes>);

#[cfg(test)]
impl Runs {
    /// Bytes in runs of `run`.
    #[must_use]
    pub fn of(bytes: &[u8], run: usize) -> Runs {
        Runs(bytes.chunks(run).map(Bytes::copy_from_slice).collect())
    }
}

#[cfg(test)]
impl Source for Runs {
    fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        Ok(self.0.pop_front())
    }

    fn trailer(&self, _: &str) -> Option<&str> {
        None
    }
}
