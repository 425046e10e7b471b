//! Checks whether the results that clients saw of one object could come from a single copy.
//!
//! A history is linearizable (Herlihy and Wing, ACM TOPLAS 1990) if each operation can be assigned one
//! instant between its call and its answer such that, in the order of these instants, every read returns the
//! last write before it. Each client does one operation at a time, so the search state is the progress of
//! each client and the value at that point (Wing and Gong 1993); it visits each such state once. The search
//! does not branch on writes that no read returned, so that many clients that write at once are no problem.
//! The torture runs of the store and the random schedules of this crate's tests use the same search.

use std::collections::{BTreeMap, BTreeSet};

/// An operation on an object. Values are numbers, each of which is written once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    /// The object was written, or removed if `None`.
    Set(Option<u64>),
    /// The object was read; `None` if it did not exist.
    Read(Option<u64>),
}

/// An operation that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// When it was called.
    pub called: u64,
    /// When it was answered.
    pub answered: u64,
    /// The operation.
    pub act: Act,
}

/// A history that no single copy could produce.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no order explains the answers: {explained} of {operations} operations can be explained, and then {next:?} cannot"
)]
pub struct Violation {
    /// The number of operations in the history.
    pub operations: usize,
    /// The most operations that some order explains.
    pub explained: usize,
    /// The next operation of each client at that point.
    pub next: Vec<Operation>,
}

/// The progress of each client, and the object's value at that point.
type State = (Vec<usize>, Option<u64>);

/// Finds an order that explains the answers that the clients of an object received; each list holds one
/// client's operations in the order in which it made them. `before` is the object's initial value; none if it
/// does not exist.
///
/// # Errors
/// If there is no such order.
pub fn explain(before: Option<u64>, clients: &[Vec<Operation>]) -> Result<(), Violation> {
    let operations: usize = clients.iter().map(Vec::len).sum();
    let explained = |(done, _): &State| done.iter().sum::<usize>();
    let seen = seen(clients);
    // All states after so many writes of values that were read; states after fewer are not needed again.
    let mut states = BTreeSet::from([with_reads(clients, (vec![0; clients.len()], before))]);
    loop {
        let mut further = BTreeSet::new();
        let mut best: Option<State> = None;
        for state in states {
            let overwritten = (with_unread(clients, state.0, &seen), state.1);
            if explained(&overwritten) == operations {
                return Ok(());
            }
            for (client, operation) in possible(clients, &overwritten.0) {
                if let Act::Set(value) = operation.act {
                    let mut done = overwritten.0.clone();
                    done[client] += 1;
                    further.insert(with_reads(clients, (done, value)));
                }
            }
            if best.as_ref().is_none_or(|best| explained(best) < explained(&overwritten)) {
                best = Some(overwritten);
            }
        }
        if further.is_empty() {
            let best = best.expect("there is a state to begin with, and each round leaves some");
            let next =
                clients.iter().zip(&best.0).filter_map(|(all, done)| all.get(*done).copied()).collect();
            return Err(Violation { operations, explained: explained(&best), next });
        }
        states = further;
    }
}

/// The values that reads returned.
fn seen(clients: &[Vec<Operation>]) -> BTreeSet<Option<u64>> {
    let read_value = |operation: &Operation| match operation.act {
        Act::Read(value) => Some(value),
        Act::Set(_) => None,
    };
    clients.iter().flatten().filter_map(read_value).collect()
}

/// The progress of the clients after all writes that may come next and that no read returned. They may all
/// come directly before the next write, which overwrites them: an order that has such a write later explains
/// as much without it there, because no read follows it before another write.
fn with_unread(clients: &[Vec<Operation>], mut done: Vec<usize>, seen: &BTreeSet<Option<u64>>) -> Vec<usize> {
    let is_unread = |(_, operation): &(usize, &Operation)| match operation.act {
        Act::Set(value) => !seen.contains(&value),
        Act::Read(_) => false,
    };
    loop {
        let unread: Vec<usize> =
            possible(clients, &done).filter(is_unread).map(|(client, _)| client).collect();
        if unread.is_empty() {
            return done;
        }
        for client in unread {
            done[client] += 1;
        }
    }
}

/// The operations that may come next: an operation answered before another was called precedes it.
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

/// The state after all reads that it explains. A read changes nothing, so taking it as early as possible
/// loses no order.
fn with_reads(clients: &[Vec<Operation>], (mut done, value): State) -> State {
    loop {
        let is_read = |(_, operation): &(usize, &Operation)| operation.act == Act::Read(value);
        let Some(client) = possible(clients, &done).find(is_read).map(|(client, _)| client) else {
            return (done, value);
        };
        done[client] += 1;
    }
}

/// The number of answered writes and removals that were lost: a later read returned the state before them,
/// and no read returned them after that.
#[must_use]
pub fn lost_writes(before: Option<u64>, clients: &[Vec<Operation>]) -> usize {
    // When each value was last written, and when last seen.
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
            Act::Read(returned) => {
                let is_older = written.get(&returned).is_some_and(|answered| *answered < write.called);
                read.called > write.answered && is_older && last_seen < read.called
            }
            Act::Set(_) => false,
        })
    };
    clients.iter().flatten().filter(is_lost).count()
}

/// Groups operations of one object into sequences in which none begins before the previous one was answered.
/// An operation that overlaps with others goes into a separate sequence.
#[must_use]
pub(crate) fn in_sequences(mut operations: Vec<Operation>) -> Vec<Vec<Operation>> {
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
        for returned in [None, Some(1)] {
            assert_eq!(explain(None, &[write.clone(), vec![operation(5, 6, Act::Read(returned))]]), Ok(()));
        }
        // After that it may not, and a second read may not go back.
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

    /// Operations of a real object: each happens at an instant between its call and its answer.
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

    /// The search without any shortcut: it takes each write that may come next.
    fn explain_slowly(before: Option<u64>, clients: &[Vec<Operation>]) -> bool {
        let operations: usize = clients.iter().map(Vec::len).sum();
        let mut states = BTreeSet::from([with_reads(clients, (vec![0; clients.len()], before))]);
        while !states.iter().any(|(done, _)| done.iter().sum::<usize>() == operations) {
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
                return false;
            }
            states = further;
        }
        true
    }

    #[test]
    fn many_clients_that_write_at_once_are_explained_in_no_time() {
        let write = |value| vec![operation(0, 1_000, Act::Set(Some(value)))];
        let mut clients: Vec<Vec<Operation>> = (0..96).map(write).collect();
        clients.push(vec![
            operation(2_000, 2_001, Act::Read(Some(17))),
            operation(2_002, 2_003, Act::Read(Some(17))),
        ]);
        assert_eq!(explain(None, &clients), Ok(()));
        clients.push(vec![operation(2_004, 2_005, Act::Read(Some(18)))]);
        assert!(explain(None, &clients).is_err(), "one of both was overwritten");
    }

    proptest! {
        /// Sound histories and damaged ones: the fast search and the slow one agree.
        #[test]
        fn the_search_agrees_with_the_slow_one(
            moments in proptest::collection::vec(any::<(u8, u8, u8, u8)>(), 0..14),
            clients in 1..5_usize,
            damage in any::<Option<(u8, u8)>>(),
        ) {
            let mut all = real(&moments, clients);
            if let Some((at, value)) = damage {
                let mut reads: Vec<&mut Operation> =
                    all.iter_mut().flatten().filter(|operation| matches!(operation.act, Act::Read(_))).collect();
                let count = reads.len().max(1);
                if let Some(read) = reads.get_mut(usize::from(at) % count) {
                    read.act = Act::Read(Some(u64::from(value) % 16).filter(|value| *value < 15));
                }
            }
            prop_assert_eq!(explain(None, &all).is_ok(), explain_slowly(None, &all));
        }

        #[test]
        fn what_really_happened_is_explained(
            moments in proptest::collection::vec(any::<(u8, u8, u8, u8)>(), 0..200),
            clients in 1..6_usize,
        ) {
            prop_assert_eq!(explain(None, &real(&moments, clients)), Ok(()));
        }

        /// The search also explains sequences built from times alone, without knowing the clients.
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

        /// A write that was answered and then lost is detected by the next read.
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
