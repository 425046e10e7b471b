//! Segments that are being read, and those that are removed once nobody reads them any more.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::manifest::Segment;

#[derive(Default)]
struct State {
    /// How many read each segment, by its id.
    read: BTreeMap<String, usize>,
    /// Segments to be removed after the last reader.
    doomed: BTreeMap<String, Segment>,
}

/// Who reads what.
#[derive(Default)]
pub struct Leases(Mutex<State>);

impl Leases {
    fn lock(&self) -> MutexGuard<'_, State> {
        // What it holds is whole at any moment.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody begins to read segments.
    pub fn begin(&self, segments: &[Segment]) {
        let mut state = self.lock();
        for segment in segments {
            *state.read.entry(segment.id.clone()).or_default() += 1;
        }
    }

    /// Somebody has read them. Gives those that are to be removed now.
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

    /// Segments are not needed any more. Gives those that nobody reads; the others follow when they are read.
    #[must_use]
    pub fn doom(&self, segments: Vec<Segment>) -> Vec<Segment> {
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
