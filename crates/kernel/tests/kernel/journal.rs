//! An entity that is undone by its journal.

use towtank_kernel::journal::{JournalCell, JournalMap, JournalVec, Journaled};
use towtank_kernel::{Context, EntityId, Executor, Fault, Links, Model, RunOptions, UndoBy, run};
use towtank_streams::{Purpose, Seed, Uniform};
use towtank_units::{SimSpan, SimTime};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Ledger {
    map: JournalMap<u8, u32>,
    list: JournalVec<u32>,
    cell: JournalCell<u32>,
}

towtank_kernel::journaled!(Ledger { map, list, cell });

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

/// A model whose entities are undone by journal.
struct Ledgers;

impl Model for Ledgers {
    type Entity = Ledger;
    type Event = u32;
    type Undo = <Ledger as Journaled>::Mark;
    type Statistics = ();
    type Output = ();

    const UNDO: UndoBy = UndoBy::Inverse;

    fn entities(&self) -> u32 {
        12
    }

    fn links(&self) -> Links {
        Links::all(SimSpan::from_ns(3))
    }

    fn create(&self, _id: EntityId) -> Ledger {
        Ledger::new()
    }

    fn start(&self, _ledger: &mut Ledger, context: &mut Context<'_, Self>) -> Result<(), Fault> {
        context.send(context.me(), SimSpan::from_ns(1), 7);
        Ok(())
    }

    fn handle(
        &self,
        ledger: &mut Ledger,
        event: &u32,
        context: &mut Context<'_, Self>,
    ) -> Result<Self::Undo, Fault> {
        let mark = ledger.mark();
        ledger.change(*event);
        let mut draws = context.draws(Purpose(0));
        let (to, after, next) = (draws.below(12) as u32, 3 + draws.below(40), draws.next_u64() as u32);
        context.send(EntityId(to), SimSpan::from_ns(after), next);
        Ok(mark)
    }

    fn undo(&self, ledger: &mut Ledger, _event: &u32, mark: Self::Undo) {
        ledger.revert(mark);
    }

    fn begin_speculation(&self, ledger: &mut Ledger) {
        ledger.begin();
    }

    fn committed(&self, ledger: &mut Ledger, mark: Self::Undo) {
        ledger.forget(mark);
    }
}

#[test]
fn a_journal_undoes_as_well_as_a_clone() {
    let options = RunOptions { seed: Seed(4), end: Some(SimTime::from_ns(4_000)), ..RunOptions::default() };
    let want = run(&Ledgers, options.clone()).expect("it runs").digest;
    run(&Ledgers, RunOptions { executor: Executor::Check, ..options.clone() }).expect("it is reversible");
    let mut rolled_back = 0;
    for workers in [2, 3, 4] {
        for undo in [UndoBy::Inverse, UndoBy::Clone] {
            let executor = Executor::Optimistic;
            let options = RunOptions { executor, workers, undo: Some(undo), batch: 50, ..options.clone() };
            let outcome = run(&Ledgers, options).expect("it runs");
            assert_eq!(outcome.digest, want, "{workers} workers, {undo:?}");
            rolled_back += outcome.run.rolled_back;
        }
    }
    assert!(rolled_back > 0, "nothing was rolled back");
}
