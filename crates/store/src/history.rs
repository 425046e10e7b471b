//! Whether what clients of one object have seen is what a single copy could have shown them.
//!
//! A history is linearizable (Herlihy and Wing, ACM TOPLAS 1990) if each operation can be given one moment
//! between its call and its answer such that, in the order of these moments, every read tells the last write
//! before it. Each client does one thing after the other, so how far all of them are, with the value at that
//! point, is all that a search has to remember (Wing and Gong 1993): it visits each such state once.

use std::collections::BTreeSet;

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

/// Finds an order that explains what each client of an object was told, each one's operations in the order in
/// which it made them. Before them the object did not exist.
///
/// # Errors
/// Where there is none.
pub fn explain(clients: &[Vec<Operation>]) -> Result<(), Violation> {
    let operations: usize = clients.iter().map(Vec::len).sum();
    // All states with so many operations explained; those with fewer are never needed again.
    let mut states: BTreeSet<(Vec<usize>, Option<u64>)> = BTreeSet::from([(vec![0; clients.len()], None)]);
    for explained in 0..operations {
        let mut further = BTreeSet::new();
        for (done, value) in &states {
            let next = || {
                clients
                    .iter()
                    .zip(done)
                    .enumerate()
                    .filter_map(|(at, (all, done))| Some((at, all.get(*done)?)))
            };
            // Whoever was answered first was done before whatever was called later.
            let latest = next().map(|(_, operation)| operation.answered).min().unwrap_or(u64::MAX);
            for (at, operation) in next().filter(|(_, operation)| operation.called <= latest) {
                let after = match operation.act {
                    Act::Set(value) => value,
                    Act::Read(told) if told == *value => told,
                    Act::Read(_) => continue,
                };
                let mut done = done.clone();
                done[at] += 1;
                further.insert((done, after));
            }
        }
        if further.is_empty() {
            let (done, _) = states.last().expect("there is one at the beginning");
            let next = clients.iter().zip(done).filter_map(|(all, done)| all.get(*done).copied()).collect();
            return Err(Violation { operations, explained, next });
        }
        states = further;
    }
    Ok(())
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
            assert_eq!(explain(&[write.clone(), vec![operation(5, 6, Act::Read(told))]]), Ok(()));
        }
        // Afterwards it may not, and a second read may not go back.
        assert!(explain(&[write.clone(), vec![operation(11, 12, Act::Read(None))]]).is_err());
        let back = vec![operation(2, 3, Act::Read(Some(1))), operation(4, 5, Act::Read(None))];
        assert!(explain(&[write.clone(), back]).is_err());
        assert!(explain(&[write, vec![operation(2, 3, Act::Read(Some(7)))]]).is_err(), "nobody wrote that");
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
            prop_assert_eq!(explain(&real(&moments, clients)), Ok(()));
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
            prop_assert_eq!(explain(&sound), Ok(()));
            all[0].push(operation(end + 3, end + 4, Act::Read(None)));
            prop_assert!(explain(&all).is_err());
        }
    }
}
