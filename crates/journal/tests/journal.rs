//! Compares journaling containers with clones, and checks that only their contents are serialised.

use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use towtank_journal::{JournalCell, JournalMap, JournalVec, Journaled};

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Ledger {
    map: JournalMap<u8, u32>,
    list: JournalVec<u32>,
    cell: JournalCell<u32>,
}

towtank_journal::journaled!(Ledger { map, list, cell });

impl Ledger {
    fn new() -> Ledger {
        Ledger { map: JournalMap::new(), list: JournalVec::new(vec![1, 2, 3]), cell: JournalCell::new(0) }
    }

    fn change(&mut self, dice: u32) {
        let key = (dice >> 4) as u8 % 8;
        let length = self.list.get().len();
        match dice % 8 {
            0 => drop(self.map.insert(key, dice)),
            1 => drop(self.map.remove(&key)),
            2 => self.list.push(dice),
            3 => drop(self.list.pop()),
            4 if length > 0 => drop(self.list.set(dice as usize % length, dice)),
            5 => self.list.insert(dice as usize % (length + 1), dice),
            6 if length > 0 => drop(self.list.remove(dice as usize % length)),
            _ => self.cell.set(dice),
        }
    }
}

proptest! {
    /// Reverting to any mark restores the state that was cloned there; forgetting older marks does not change
    /// this.
    #[test]
    fn reverting_restores_the_clone(changes in prop::collection::vec(any::<u32>(), 1..60), back in 0usize..60, forget in 0usize..60) {
        let mut ledger = Ledger::new();
        ledger.begin();
        let mut past = vec![(ledger.mark(), ledger.clone())];
        for change in changes {
            ledger.change(change);
            past.push((ledger.mark(), ledger.clone()));
        }
        let back = back.min(past.len() - 1);
        ledger.forget(past[forget.min(back)].0);
        ledger.revert(past[back].0);
        prop_assert_eq!(&ledger, &past[back].1);
    }

    /// Contents survive serialisation; the journal is not serialised.
    #[test]
    fn what_is_read_back_is_equal_and_records_nothing(changes in prop::collection::vec(any::<u32>(), 0..60)) {
        let mut ledger = Ledger::new();
        ledger.begin();
        changes.into_iter().for_each(|change| ledger.change(change));
        let text = serde_json::to_string(&ledger).expect("contents can be written");
        let mut again: Ledger = serde_json::from_str(&text).expect("what was written can be read");
        prop_assert_eq!(&again, &ledger);
        let mark = again.mark();
        again.change(2);
        prop_assert_eq!(again.mark(), mark);
    }
}

#[test]
fn nothing_is_recorded_until_told() {
    let mut ledger = Ledger::new();
    let mark = ledger.mark();
    ledger.change(2);
    assert_eq!(ledger.mark(), mark);
}

#[test]
fn a_key_that_stands_twice_is_refused() {
    let error =
        serde_json::from_str::<JournalMap<u8, u8>>("[[1,2],[3,4],[1,5]]").expect_err("1 stands twice");
    assert!(error.to_string().contains("the map contains a key twice"), "{error}");
}
