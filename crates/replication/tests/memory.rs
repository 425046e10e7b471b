//! The memory that the log of a group takes when it is full: a device holds those of all its groups.
//!
//! A binary of its own, because memory is that of a whole process.
#![cfg(target_os = "linux")]

use std::collections::{BTreeMap, VecDeque};

use towtank_replication::{Change, Entry, Key, Log, RequestId, Version};

/// The entries of a full log, and the requests that it remembers besides: what the store has by default.
const ENTRIES: u64 = 10_000;

/// So many logs are measured together.
const LOGS: u64 = 20;

/// The most bytes that a full log may take: 75 for each entry and each request.
const BYTES_MAX: f64 = 75.0 * 2.0 * ENTRIES as f64;

/// Bytes of memory of this process that are no files.
fn memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("it has memory");
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse().expect("a number");
    kib * 1024.0
}

/// The change with this number: ten clients overwrite objects in turn.
fn entry(number: u64) -> Entry {
    let version = |counter| Version { epoch: 3, counter };
    Entry {
        version: version(number),
        prior: number.checked_sub(5_000).filter(|prior| *prior > 0).map(version),
        key: Key { position: (number as u32).wrapping_mul(0x9e37_79b9), id: number % 5_000 },
        change: Change::Write,
        request: RequestId { client: 0x1234_5678_9abc_def0 + number % 10, number },
    }
}

/// Bytes that each takes of some that are made one after the other; they stay, so that no others get theirs.
fn bytes_of<T>(make: impl Fn() -> T) -> (f64, Vec<T>) {
    let before = memory();
    let made: Vec<T> = (0..LOGS).map(|_| make()).collect();
    ((memory() - before) / LOGS as f64, made)
}

fn full_log() -> Log {
    let mut log = Log::default();
    for number in 1..=3 * ENTRIES {
        log.append(entry(number));
        if let Some(to) = number.checked_sub(ENTRIES).filter(|to| to % 100 == 0) {
            log.trim(Version { epoch: 3, counter: to }, ENTRIES as usize);
        }
    }
    log
}

/// Planted: entries as they are sent, and a map of the requests.
#[derive(Default)]
struct Lists {
    entries: VecDeque<Entry>,
    trimmed: VecDeque<(RequestId, Version)>,
    requests: BTreeMap<RequestId, Version>,
}

fn lists() -> Lists {
    let Lists { mut entries, mut trimmed, mut requests } = Lists::default();
    for entry in (1..=3 * ENTRIES).map(entry) {
        requests.insert(entry.request, entry.version);
        entries.push_back(entry);
        if entries.len() as u64 > ENTRIES {
            let trimmed_now: Entry = entries.pop_front().expect("it has entries");
            trimmed.push_back((trimmed_now.request, trimmed_now.version));
        }
        if trimmed.len() as u64 > ENTRIES {
            let (request, _) = trimmed.pop_front().expect("it has requests");
            requests.remove(&request);
        }
    }
    Lists { entries, trimmed, requests }
}

#[test]
fn a_full_log_takes_less_than_half_of_lists_and_a_map() {
    let (bytes, _logs) = bytes_of(full_log);
    let (planted, _lists) = bytes_of(lists);
    println!("a full log takes {:.2} MB, lists and a map {:.2} MB", bytes / 1e6, planted / 1e6);
    assert!(bytes < BYTES_MAX, "a full log takes {bytes} bytes");
    assert!(planted > BYTES_MAX, "lists and a map take {planted} bytes");
}
