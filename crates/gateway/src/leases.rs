//! The segments being read, and those to be removed once nobody reads them any more.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::manifest::Segment;

#[derive(Default)]
struct State {
    /// The number of readers of each segment, by its id.
    read: BTreeMap<String, usize>,
    /// Segments to be removed after their last reader.
    doomed: BTreeMap<String, Segment>,
}

/// Tracks the readers of segments.
#[derive(Default)]
pub(crate) struct Leases(Mutex<State>);

impl Leases {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent at any time, even after a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a reader of segments.
    pub fn begin(&self, segments: &[Segment]) {
        let mut state = self.lock();
        for segment in segments {
            *state.read.entry(segment.id.clone()).or_default() += 1;
        }
    }

    /// Unregisters a reader. Returns the segments that are to be removed now.
    #[must_use]
    pub fn end(&self, segments: &[Segment]) -> Vec<Segment> {
        let mut state = self.lock();
        let mut free = Vec::new();
        for segment in segments {
            let left = state.read.get_mut(&segment.id).expect("it was begun");
            *left -= 1;
            if *left == 0 {
                state.read.remove(&segment.id);
                free.extend(state.doomed.remove(&segment.id));
            }
        }
        free
    }

    /// Marks segments as unneeded. Returns those that nobody reads; `end` returns the others after their last
    /// reader.
    #[must_use]
    pub(crate) fn doom(&self, segments: Vec<Segment>) -> Vec<Segment> {
        let mut state = self.lock();
        let (read, free): (Vec<_>, Vec<_>) =
            segments.into_iter().partition(|segment| state.read.contains_key(&segment.id));
        state.doomed.extend(read.into_iter().map(|segment| (segment.id.clone(), segment)));
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_reader_frees_what_is_doomed() {
        let segment = |id: &str| Segment { id: id.to_owned(), length: 1, piece: 1 };
        let (a, b) = (segment("a"), segment("b"));
        let leases = Leases::default();
        leases.begin(&[a.clone(), b.clone()]);
        leases.begin(std::slice::from_ref(&a));
        assert_eq!(leases.doom(vec![a.clone(), segment("c")]), [segment("c")]);
        assert_eq!(leases.end(&[a.clone(), b.clone()]), []);
        assert_eq!(leases.end(std::slice::from_ref(&a)), std::slice::from_ref(&a));
        assert_eq!(leases.doom(vec![a.clone()]), [a]);
    }
}
