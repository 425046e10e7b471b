//! Numbers for names: files of fio and Darshan, volumes of MSR.

use std::collections::BTreeMap;

use crate::error::Fault;

/// The maximum number of distinct names per trace.
pub const NAMES_MAX: usize = 1_000_000;
/// The maximum size of all names together, in bytes.
pub const NAMES_MAX_BYTES: usize = 64 << 20;

/// The names of a trace, numbered from 0 in the order in which they first appear.
#[derive(Clone, Debug, Default)]
pub struct Names {
    numbers: BTreeMap<Box<[u8]>, u64>,
    names: Vec<Box<[u8]>>,
    bytes: usize,
    /// The number returned last: most records have the same name as the previous one.
    last: u64,
}

impl Names {
    /// Number of names.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are no names.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The name with this number; invalid UTF-8 is replaced.
    #[must_use]
    pub fn name(&self, number: u64) -> Option<String> {
        let name = self.names.get(usize::try_from(number).ok()?)?;
        Some(String::from_utf8_lossy(name).into_owned())
    }

    /// The number of a name, which is added if it is new.
    #[inline]
    pub(crate) fn number(&mut self, name: &[u8]) -> Result<u64, Box<Fault>> {
        if self.names.get(self.last as usize).is_some_and(|last| **last == *name) {
            return Ok(self.last);
        }
        self.last = match self.numbers.get(name) {
            Some(&number) => number,
            None => self.add(name)?,
        };
        Ok(self.last)
    }

    fn add(&mut self, name: &[u8]) -> Result<u64, Box<Fault>> {
        let bytes = self.bytes + name.len();
        if self.names.len() == NAMES_MAX || bytes > NAMES_MAX_BYTES {
            let reason = format!(
                "there are more than {NAMES_MAX} names, or more than {NAMES_MAX_BYTES} bytes of names"
            );
            return Err(Fault::new(reason).hint("read a part of the trace with fewer files"));
        }
        let number = self.names.len() as u64;
        self.bytes = bytes;
        self.names.push(name.into());
        self.numbers.insert(name.into(), number);
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_number() {
        let mut names = Names::default();
        assert!(names.is_empty());
        let numbers: Vec<u64> = ["a", "b", "a", "a", "c", "b"]
            .iter()
            .map(|name| names.number(name.as_bytes()).unwrap())
            .collect();
        assert_eq!(numbers, [0, 1, 0, 0, 2, 1]);
        assert_eq!((names.len(), names.name(2).as_deref(), names.name(3)), (3, Some("c"), None));
    }

    #[test]
    fn names_beyond_the_limit_are_refused() {
        let mut names = Names { bytes: NAMES_MAX_BYTES - 3, ..Names::default() };
        assert_eq!(names.number(b"abc"), Ok(0));
        assert!(names.number(b"d").is_err());
        assert_eq!(names.number(b"abc"), Ok(0));
    }
}
