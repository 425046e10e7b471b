//! Tests of logs.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn version(epoch: u32, counter: u64) -> Version {
    Version { epoch, counter }
}

fn entry(epoch: u32, counter: u64) -> Entry {
    Entry {
        version: version(epoch, counter),
        prior: None,
        key: Key { position: counter as u32, id: 0 },
        change: Change::Write,
        request: RequestId { client: 1, number: counter },
    }
}

fn log(versions: &[(u32, u64)]) -> Log {
    Log::replaced(
        Version::ZERO,
        Vec::new(),
        versions.iter().map(|(epoch, counter)| entry(*epoch, *counter)).collect(),
    )
}

#[test]
fn trimming_keeps_the_requests_of_some() {
    let mut log = log(&[(1, 1), (1, 2), (1, 3), (2, 4)]);
    assert_eq!(log.surplus(2, 1), Some(version(1, 2)));
    assert_eq!((log.surplus(2, 3), log.surplus(4, 1), log.surplus(9, 0)), (None, None, None));
    log.trim(version(1, 3), 2);
    assert_eq!((log.tail(), log.head(), log.len()), (version(1, 3), version(2, 4), 1));
    let request = |number| RequestId { client: 1, number };
    assert_eq!(log.find(request(1)), None, "the oldest is forgotten");
    assert_eq!(log.find(request(2)), Some(version(1, 2)));
    assert_eq!(log.find(request(4)), Some(version(2, 4)));
    assert!(log.reaches_back_to(version(1, 3)) && !log.reaches_back_to(version(1, 2)));
}

#[test]
fn a_log_has_little_room_that_it_does_not_need() {
    let is_close = |room: usize, count: usize| room <= count + packed::GROWN_LEAST.max(count / 8);
    let (mut log, mut doubled) = (log(&[]), VecDeque::new());
    for counter in 1..=10_000 {
        log.append(entry(1, counter));
        doubled.push_back(counter);
        assert!(is_close(log.entries.room(), counter as usize), "{counter}");
    }
    assert!(!is_close(doubled.capacity(), 10_000), "planted: a list that doubles");
}

#[test]
fn two_logs_meet_at_their_last_common_entry() {
    let ours = log(&[(1, 1), (1, 2), (3, 3), (3, 4)]);
    // The other log has two changes of epoch 2 that no other replica has.
    let mut theirs = log(&[(1, 1), (1, 2), (2, 3), (2, 4)]);
    let common = ours.common_with(theirs.head());
    assert_eq!(common, version(1, 2));
    let undone = theirs.rewind(common);
    assert_eq!(undone, [entry(2, 3), entry(2, 4)]);
    assert_eq!(theirs.find(RequestId { client: 1, number: 3 }), None, "what was undone may be done again");
    ours.after(common).into_iter().for_each(|entry| theirs.append(entry));
    assert_eq!(theirs, ours);
    assert_eq!(ours.common_with(Version::ZERO), Version::ZERO);
    assert_eq!((ours.before(version(3, 3)), ours.before(version(1, 1))), (version(1, 2), Version::ZERO));
}

/// A write of request 3 is reverted, and executed again.
#[test]
fn a_request_whose_change_was_reverted_is_not_done() {
    let request = RequestId { client: 1, number: 3 };
    let mut log = log(&[(1, 1), (1, 2), (1, 3)]);
    assert_eq!(log.find(request), Some(version(1, 3)));
    let undo = Entry { change: Change::Revert(None), prior: Some(version(1, 3)), ..entry(1, 3) };
    log.append(Entry { version: version(2, 4), ..undo });
    assert_eq!(log.find(request), None);
    let again = Entry { version: version(2, 5), ..entry(1, 3) };
    let mut longer = log.clone();
    longer.append(again);
    assert_eq!(longer.find(request), Some(version(2, 5)));
    for keep in 0..=5 {
        let mut trimmed = longer.clone();
        trimmed.trim(version(1 + u32::from(keep > 3), keep), 9);
        let parts: Vec<Entry> = trimmed.iter().collect();
        let loaded = Log::replaced(trimmed.tail(), trimmed.trimmed().copied().collect(), parts);
        assert_eq!(loaded, trimmed);
        assert_eq!(loaded.find(request), Some(version(2, 5)), "trimmed to {keep}");
        // Before it is executed again, it is not done either.
        let mut shorter = log.clone();
        shorter.trim(version(1 + u32::from(keep > 3), keep.min(4)), 9);
        let parts: Vec<Entry> = shorter.iter().collect();
        let loaded = Log::replaced(shorter.tail(), shorter.trimmed().copied().collect(), parts);
        assert_eq!((loaded.find(request), shorter.find(request)), (None, None), "trimmed to {keep}");
    }
    // A revert that is itself undone leaves the request done, even if its entry was trimmed meanwhile.
    for tail in [version(1, 0), version(1, 3)] {
        let mut undone = longer.clone();
        undone.trim(tail, 9);
        undone.rewind(version(1, 3));
        assert_eq!(undone.find(request), Some(version(1, 3)));
    }
}

#[test]
fn changes_of_one_interval_in_a_row_are_found() {
    let mut log = log(&[(1, 1), (2, 2)]);
    for counter in 3..6 {
        let prior =
            Some(version(if counter == 3 { 1 } else { 2 }, if counter == 3 { 1 } else { counter - 1 }));
        log.append(Entry { prior, ..entry(2, counter) });
    }
    assert_eq!(log.first_leading_to(version(2, 5)), Some(version(2, 3)));
    assert_eq!(log.first_leading_to(version(2, 9)), None);
    log.trim(version(2, 3), 0);
    assert_eq!(log.first_leading_to(version(2, 5)), Some(version(2, 4)));
}

#[test]
fn a_store_learns_what_became_of_a_log() {
    let mut log = log(&[(1, 1), (1, 2), (1, 3)]);
    let (head, tail) = (log.head(), log.tail());
    let nothing = LogChange::Grown { appended: Vec::new(), trimmed_to: tail };
    assert_eq!(log.change_since(head, tail), nothing);
    log.append(entry(2, 4));
    log.trim(version(1, 2), 9);
    let grown = LogChange::Grown { appended: vec![entry(2, 4)], trimmed_to: version(1, 2) };
    assert_eq!(log.change_since(head, tail), grown);
    let head = log.head();
    log.rewind(version(1, 3));
    assert_eq!(log.change_since(head, version(1, 2)), LogChange::Rewritten);
    log.append(entry(3, 4));
    assert_eq!(log.change_since(head, version(1, 2)), LogChange::Rewritten, "another entry has its place");
    let longer = self::log(&[(1, 1), (1, 2), (1, 3), (3, 4)]);
    assert_eq!(longer.change_since(version(3, 4), version(1, 2)), LogChange::Rewritten);
}

#[test]
fn a_log_survives_being_written_down() {
    let mut log = log(&[(1, 1), (1, 2), (3, 3)]);
    log.trim(version(1, 1), 5);
    let text = serde_json::to_string(&log).expect("a log is plain data");
    assert_eq!(serde_json::from_str::<Log>(&text).expect("it was written by this crate"), log);
}

#[test]
#[should_panic(expected = "does not follow")]
fn an_entry_out_of_order_is_noticed() {
    log(&[(1, 2), (1, 1)]);
}

#[test]
#[should_panic(expected = "cannot be rewound")]
fn rewinding_past_the_tail_is_noticed() {
    let mut log = log(&[(1, 1), (1, 2), (1, 3)]);
    log.trim(version(1, 2), 0);
    log.rewind(version(1, 1));
}

/// What a log does, step by step, with lists and a map that is made anew each time.
#[derive(Clone, Debug, Default)]
struct Oracle {
    tail: Version,
    entries: Vec<Entry>,
    trimmed: Vec<Done>,
    /// Planted: what a revert undoes counts as done.
    forgets_reverts: bool,
}

impl Oracle {
    fn requests(&self) -> BTreeMap<RequestId, Version> {
        let mut requests: BTreeMap<_, _> = self.trimmed.iter().map(|it| (it.request, it.version)).collect();
        for entry in &self.entries {
            match entry.undoes().filter(|_| !self.forgets_reverts) {
                None if entry.undoes().is_none() => drop(requests.insert(entry.request, entry.version)),
                Some(undone) if requests.get(&entry.request) == Some(&undone) => {
                    requests.remove(&entry.request);
                }
                _ => {}
            }
        }
        requests
    }

    fn trim(&mut self, count: usize, requests_max: usize) -> Version {
        for entry in self.entries.drain(..count) {
            self.tail = entry.version;
            match entry.undoes() {
                None => self.trimmed.push(Done { request: entry.request, version: entry.version }),
                Some(undone) => self.trimmed.retain(|done| done.version != undone),
            }
        }
        self.trimmed.drain(..self.trimmed.len().saturating_sub(requests_max));
        self.tail
    }

    fn agrees(&self, log: &Log, requests: u64) -> bool {
        let known = self.requests();
        let is_found = |number| {
            let request = RequestId { client: number % 3, number };
            log.find(request) == known.get(&request).copied()
        };
        log.tail() == self.tail
            && log.iter().eq(self.entries.iter().copied())
            && log.trimmed().eq(&self.trimmed)
            && (0..requests).all(is_found)
            && *log == Log::replaced(self.tail, self.trimmed.clone(), self.entries.clone())
    }
}

/// Carries out steps on a log and on lists; true if they agree after each.
fn agree(steps: &[(u8, usize)], forgets_reverts: bool) -> bool {
    let mut oracle = Oracle { forgets_reverts, ..Oracle::default() };
    let (mut log, mut given, mut epoch) = (Log::default(), 0, 1);
    for (step, choice) in steps {
        let count = oracle.entries.len();
        let head = oracle.entries.last().map_or(oracle.tail, |entry| entry.version);
        let next = head.next_in(epoch);
        let known = oracle.requests();
        let chosen = oracle.entries.get(choice % count.max(1)).copied();
        let is_done = |entry: &Entry| known.get(&entry.request) == Some(&entry.version);
        match (step % 8, chosen) {
            (0, Some(made)) if is_done(&made) => {
                let change = Change::Revert(made.prior);
                let undo = Entry { version: next, prior: Some(made.version), change, ..made };
                oracle.entries.push(undo);
                log.append(undo);
            }
            (1, Some(made)) if !known.contains_key(&made.request) => {
                let again = Entry { version: next, prior: None, change: Change::Write, ..made };
                oracle.entries.push(again);
                log.append(again);
            }
            (2, _) => {
                let requests_max = choice / 7 % 9;
                let to = oracle.trim(choice % (count + 1), requests_max);
                log.trim(to, requests_max);
            }
            (3, _) => {
                let keep = count - choice % (count + 1).min(4);
                let to = keep.checked_sub(1).map_or(oracle.tail, |last| oracle.entries[last].version);
                assert_eq!(log.rewind(to), oracle.entries.split_off(keep));
                epoch += 1;
            }
            _ => {
                let request = RequestId { client: given % 3, number: given };
                given += 1;
                let change = if choice % 5 == 0 { Change::Delete } else { Change::Write };
                let prior = chosen.filter(|_| choice % 2 == 0).map(|entry| entry.version);
                let key = Key { position: *choice as u32, id: given };
                let entry = Entry { version: next, prior, key, change, request };
                oracle.entries.push(entry);
                log.append(entry);
            }
        }
        if !oracle.agrees(&log, given) {
            return false;
        }
    }
    true
}

proptest! {
    #[test]
    fn a_log_does_what_lists_and_a_map_do(steps in proptest::collection::vec((any::<u8>(), 0..100_000_usize), 1..200)) {
        prop_assert!(agree(&steps, false));
    }
}

#[test]
fn a_log_that_forgets_reverts_is_noticed() {
    let steps: Vec<(u8, usize)> = (0..60).map(|number| ((number * 5 % 8) as u8, number * 37)).collect();
    assert!(agree(&steps, false));
    assert!(!agree(&steps, true));
}
