//! Whether what clients of one object have seen is what a single copy could have shown them.
//!
//! A history is linearizable (Herlihy and Wing, ACM TOPLAS 1990) if each operation can be given one moment
//! between its call and its answer such that, in the order of these moments, every read tells the last write
//! before it. Each client does one thing after the other, so how far all of them are, with the value at that
//! point, is all that a search has to remember (Wing and Gong 1993): it visits each such state once. The
//! torture of the store and the random schedules of this crate's tests use the same search.

use std::collections::{BTreeMap, BTreeSet};

/// What was done to an object. Values are told apart by numbers, each of which is written once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    /// It was written, or removed.
    Set(Option<u64>),
    /// It was read.
    Read(Option<u64>),
}

/// An operation that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// When it was called.
    pub called: u64,
    /// When it was answered.
    pub answered: u64,
    /// What it was.
    pub act: Act,
}

/// A history that no single copy could have shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no order explains the answers: {explained} of {operations} operations can be explained, and then {next:?} cannot"
)]
pub struct Violation {
    /// Operations of the history.
    pub operations: usize,
    /// How many of them some order explains.
    pub explained: usize,
    /// What each client was told next.
    pub next: Vec<Operation>,
}

/// How far each client is, and what the object holds then.
type State = (Vec<usize>, Option<u64>);

/// Finds an order that explains what each client of an object was told, each one's operations in the order in
/// which it made them. `before` is what the object holds at the beginning; none where it does not exist.
///
/// # Errors
/// Where there is none.
pub fn explain(before: Option<u64>, clients: &[Vec<Operation>]) -> Result<(), Violation> {
    let operations: usize = clients.iter().map(Vec::len).sum();
    let explained = |(done, _): &State| done.iter().sum::<usize>();
    // All states after so many writes; those after fewer are never needed again.
    let mut states = BTreeSet::from([with_reads(clients, (vec![0; clients.len()], before))]);
    while !states.iter().any(|state| explained(state) == operations) {
        let mut further = BTreeSet::new();
        for (done, _) in &states {
            for (client, operation) in possible(clients, done) {
                if let Act::Set(value) = operation.act {
                    let mut done = done.clone();
                    done[client] += 1;
                    further.insert(with_reads(clients, (done, value)));
                }
            }
        }
        if further.is_empty() {
            let best =
                states.iter().max_by_key(|state| explained(state)).expect("there is one to begin with");
            let next =
                clients.iter().zip(&best.0).filter_map(|(all, done)| all.get(*done).copied()).collect();
            return Err(Violation { operations, explained: explained(best), next });
        }
        states = further;
    }
    Ok(())
}

/// The operations that may come next: whatever was answered first was done before whatever was called later.
fn possible<'a>(
    clients: &'a [Vec<Operation>],
    done: &'a [usize],
) -> impl Iterator<Item = (usize, &'a Operation)> {
    let next = || {
        clients
            .iter()
            .zip(done)
            .enumerate()
            .filter_map(|(client, (all, done))| Some((client, all.get(*done)?)))
    };
    let latest = next().map(|(_, operation)| operation.answered).min().unwrap_or(u64::MAX);
    next().filter(move |(_, operation)| operation.called <= latest)
}

/// The state with all reads that can be explained by it. A read changes nothing, so that it loses nothing to
/// take it as early as possible.
fn with_reads(clients: &[Vec<Operation>], (mut done, value): State) -> State {
    loop {
        let is_read = |(_, operation): &(usize, &Operation)| operation.act == Act::Read(value);
        let Some(client) = possible(clients, &done).find(is_read).map(|(client, _)| client) else {
            return (done, value);
        };
        done[client] += 1;
    }
}

/// Writes and removals that were answered and are not there any more: a read that was called later told what
/// was there before them, and no read told of them after it.
#[must_use]
pub fn lost_writes(before: Option<u64>, clients: &[Vec<Operation>]) -> usize {
    // When each value was last written, and last seen.
    let mut written: BTreeMap<Option<u64>, u64> = BTreeMap::from([(before, 0)]);
    let mut seen: BTreeMap<Option<u64>, u64> = BTreeMap::new();
    for operation in clients.iter().flatten() {
        let (times, value) = match operation.act {
            Act::Set(value) => (&mut written, value),
            Act::Read(value) => (&mut seen, value),
        };
        let last = times.entry(value).or_default();
        *last = operation.answered.max(*last);
    }
    let is_lost = |write: &&Operation| {
        let Act::Set(value) = write.act else { return false };
        let last_seen = seen.get(&value).copied().unwrap_or(0);
        clients.iter().flatten().any(|read| match read.act {
            Act::Read(told) => {
                let is_older = written.get(&told).is_some_and(|answered| *answered < write.called);
                read.called > write.answered && is_older && last_seen < read.called
            }
            Act::Set(_) => false,
        })
    };
    clients.iter().flatten().filter(is_lost).count()
}

/// Operations of one object as sequences in which none begins before the last one was answered. An operation
/// that overlaps with others goes to a sequence of its own.
#[must_use]
pub fn in_sequences(mut operations: Vec<Operation>) -> Vec<Vec<Operation>> {
    operations.sort_by_key(|operation| operation.called);
    let mut sequences: Vec<Vec<Operation>> = Vec::new();
    for operation in operations {
        let is_free = |all: &&mut Vec<Operation>| {
            all.last().is_some_and(|last: &Operation| last.answered < operation.called)
        };
        match sequences.iter_mut().find(is_free) {
            Some(sequence) => sequence.push(operation),
            None => sequences.push(vec![operation]),
        }
    }
    sequences
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn operation(called: u64, answered: u64, act: Act) -> Operation {
        Operation { called, answered, act }
    }

    #[test]
    fn a_read_may_tell_either_of_what_is_written_meanwhile() {
        let write = vec![operation(0, 10, Act::Set(Some(1)))];
        for told in [None, Some(1)] {
            assert_eq!(explain(None, &[write.clone(), vec![operation(5, 6, Act::Read(told))]]), Ok(()));
        }
        // Afterwards it may not, and a second read may not go back.
        assert!(explain(None, &[write.clone(), vec![operation(11, 12, Act::Read(None))]]).is_err());
        let back = vec![operation(2, 3, Act::Read(Some(1))), operation(4, 5, Act::Read(None))];
        assert!(explain(None, &[write.clone(), back]).is_err());
        assert!(
            explain(None, &[write, vec![operation(2, 3, Act::Read(Some(7)))]]).is_err(),
            "nobody wrote that"
        );
    }

    #[test]
    fn a_write_that_is_never_seen_again_is_lost() {
        let set = |called, answered, value| vec![operation(called, answered, Act::Set(value))];
        let read = |called, value| vec![operation(called, called + 1, Act::Read(value))];
        let lost = |reads: &[Vec<Operation>]| {
            lost_writes(Some(9), &[&[set(1, 4, Some(1)), set(5, 7, Some(2))], reads].concat())
        };
        assert_eq!(lost(&[read(8, Some(2))]), 0);
        assert_eq!(lost(&[read(8, Some(1))]), 1, "the second is not there");
        assert_eq!(lost(&[read(6, Some(1))]), 0, "it was not answered yet");
        assert_eq!(lost(&[read(8, Some(9))]), 2, "neither is there");
        assert_eq!(lost(&[read(8, Some(1)), read(10, Some(2))]), 0, "a stale read, and nothing is lost");
        let begun = [vec![operation(3, 4, Act::Read(Some(6)))]];
        assert_eq!((explain(Some(6), &begun), explain(None, &begun).is_err()), (Ok(()), true));
    }

    /// Operations of an object that is really there: each happens at a moment between its call and its
    /// answer.
    fn real(moments: &[(u8, u8, u8, u8)], clients: usize) -> Vec<Vec<Operation>> {
        let mut all = vec![Vec::new(); clients];
        let (mut free_at, mut value) = (vec![0_u64; clients], None);
        let mut last = 0_u64;
        for (number, (who, wait, before, after)) in moments.iter().enumerate() {
            let client = usize::from(*who) % clients;
            let moment = last.max(free_at[client]) + 1 + u64::from(wait % 4);
            last = moment;
            let act = match who / 8 % 4 {
                0 => Act::Set(None),
                1 => Act::Set(Some(number as u64)),
                _ => Act::Read(value),
            };
            if let Act::Set(set) = act {
                value = set;
            }
            let called = moment.saturating_sub(u64::from(before % 16)).max(free_at[client]);
            let answered = moment + u64::from(after % 16);
            free_at[client] = answered + 1;
            all[client].push(operation(called, answered, act));
        }
        all
    }

    proptest! {
        #[test]
        fn what_really_happened_is_explained(
            moments in proptest::collection::vec(any::<(u8, u8, u8, u8)>(), 0..200),
            clients in 1..6_usize,
        ) {
            prop_assert_eq!(explain(None, &real(&moments, clients)), Ok(()));
        }

        /// The search over sequences made from times alone, without knowing who asked, explains the same.
        #[test]
        fn clients_may_be_forgotten(
            moments in proptest::collection::vec(any::<(u8, u8, u8, u8)>(), 0..100),
            clients in 1..6_usize,
        ) {
            let all: Vec<Operation> = real(&moments, clients).into_iter().flatten().collect();
            let sequences = in_sequences(all.clone());
            prop_assert_eq!(sequences.iter().map(Vec::len).sum::<usize>(), all.len());
            prop_assert_eq!(explain(None, &sequences), Ok(()));
        }

        /// A write that was answered and then forgotten is noticed by the next read.
        #[test]
        fn a_lost_write_is_noticed(
            moments in proptest::collection::vec(any::<(u8, u8, u8, u8)>(), 0..60),
            clients in 1..6_usize,
        ) {
            let mut all = real(&moments, clients);
            let end = all.iter().flatten().map(|operation| operation.answered).max().unwrap_or(0);
            all[0].push(operation(end + 1, end + 2, Act::Set(Some(1 << 40))));
            let mut sound = all.clone();
            sound[0].push(operation(end + 3, end + 4, Act::Read(Some(1 << 40))));
            prop_assert_eq!(explain(None, &sound), Ok(()));
            prop_assert_eq!(lost_writes(None, &sound), 0);
            all[0].push(operation(end + 3, end + 4, Act::Read(None)));
            prop_assert!(explain(None, &all).is_err());
        }
    }
}
