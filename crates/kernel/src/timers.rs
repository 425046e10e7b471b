//! The live timers of an entity: set, not cancelled, and not yet fired.
//!
//! A timer is an event that an entity sends to itself; cancelling it only removes its sequence here, and the
//! event is dropped when it is due. So the pending events need not be searched.

/// Identifies a timer of one entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct TimerId(pub(crate) u64);

/// The live timers of an entity, by the sequence of their event. Most entities have none, so it takes one
/// word.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timers(
    #[allow(clippy::box_collection, reason = "one word where there are no timers")] Option<Box<Vec<u64>>>,
);

impl PartialEq for Timers {
    fn eq(&self, other: &Timers) -> bool {
        self.live() == other.live()
    }
}

impl Timers {
    fn live(&self) -> &[u64] {
        self.0.as_ref().map_or(&[], |live| live.as_slice())
    }

    pub(crate) fn insert(&mut self, sequence: u64) {
        let live = self.0.get_or_insert_default();
        match live.last() {
            Some(&last) if last > sequence => {
                let place = live.partition_point(|&other| other < sequence);
                assert!(live[place] != sequence, "a timer is set once: {sequence} is set already");
                live.insert(place, sequence);
            }
            Some(&last) => {
                assert!(last != sequence, "a timer is set once: {sequence} is set already");
                live.push(sequence);
            }
            None => live.push(sequence),
        }
    }

    /// Removes a timer; returns false if it was not live.
    pub(crate) fn remove(&mut self, sequence: u64) -> bool {
        let Some(live) = &mut self.0 else { return false };
        match live.binary_search(&sequence) {
            Ok(place) => {
                live.remove(place);
                true
            }
            Err(_) => false,
        }
    }

    pub(crate) fn contains(&self, sequence: u64) -> bool {
        self.live().binary_search(&sequence).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_come_and_go_in_any_order() {
        let mut timers = Timers::default();
        for sequence in [3, 9, 5, 1] {
            timers.insert(sequence);
        }
        assert!(timers.remove(5));
        assert!(!timers.remove(5));
        assert!(timers.contains(9) && timers.contains(1) && timers.contains(3) && !timers.contains(5));
        assert!(!Timers::default().remove(0));
    }

    #[test]
    #[should_panic(expected = "a timer is set once: 4 is set already")]
    fn a_timer_set_twice_breaks_a_law() {
        let mut timers = Timers::default();
        [4, 9, 4].into_iter().for_each(|sequence| timers.insert(sequence));
    }
}
