//! The clients' load during a torture run: one random operation after the other.
//!
//! A few objects get a third of all requests, so that requests for one object overlap. Half of the clients
//! read one of these objects and do hardly anything else: such a client talks to one daemon, and does not
//! learn of a new primary as long as the former one answers. Some answers are dropped on purpose, and the
//! request is repeated.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use towtank_replication::history::{Act, Operation};

use super::{PATIENCE, Shared, Unanswered, draws_of};
use crate::StoreError;
use crate::client::Client;

/// The least number of objects that get a third of all requests; with many clients it is half the number of
/// clients.
const HOT: u64 = 4;

/// How long a client waits for one daemon: shorter than most faults last.
const ANSWER_TIME: Duration = Duration::from_millis(700);

/// How often a client that writes asks for the newest map, in nanoseconds.
const LEARN_NS: u64 = 150_000_000;

/// The longest time from a request until its connection is closed to lose its answer, in milliseconds.
const LOSE_AFTER_MS: u64 = 120;

/// Runs one client until the torture ends.
pub(super) fn load(shared: &Shared<'_>, client: u32) -> Result<(), StoreError> {
    let mut draws = draws_of(shared.plan.seed, client + 1);
    let mut line = Client::reach(&shared.plan.home, PATIENCE)?;
    line.answers_within(ANSWER_TIME);
    let reads_mostly = client % 2 == 1;
    let (mut number, mut learned) = (0_u64, shared.now());
    while !shared.ends.load(Ordering::Relaxed) {
        let open = shared.gate.read().expect("no thread that holds it panics");
        if shared.ends.load(Ordering::Relaxed) {
            break;
        }
        let objects = u64::from(shared.plan.objects);
        // The search for an order takes longer with each concurrent write to one object.
        let hot = u64::from(shared.plan.clients / 2).max(HOT).min(objects);
        let (object, what) = match draws(1_000) {
            1.. if reads_mostly => (u64::from(client / 2) % hot, 9),
            _ if draws(3) == 0 => (draws(hot), draws(10)),
            _ => (draws(objects), draws(10)),
        };
        let object = object as u32;
        number += 1;
        // A client that writes learns of a new primary before a write is stuck at the former one, where it
        // would block readers.
        if !reads_mostly && shared.now() - learned > LEARN_NS {
            line.learn_map();
            learned = shared.now();
        }
        let value = u64::from(client) << 40 | number;
        let size = draws(4) * draws(2_000);
        if what < 7 && draws(12) == 0 {
            line.lose_next_answer(Duration::from_millis(draws(LOSE_AFTER_MS)));
            shared.answers_lost.fetch_add(1, Ordering::Relaxed);
        }
        let set = match what {
            0..6 => Some(Some(value)),
            6 => Some(None),
            _ => None,
        };
        let called = shared.now();
        let done = perform(&mut line, object, set, size);
        let act = done.inspect_err(|_| {
            let mut unanswered = shared.unanswered.lock().expect("no thread that holds it panics");
            unanswered.push(Unanswered { client, object, called, set });
        })?;
        let answered = shared.now();
        let counter = if matches!(act, Act::Read(_)) { &shared.reads } else { &shared.writes };
        counter.fetch_add(1, Ordering::Relaxed);
        let mut history = shared.histories[client as usize].lock().expect("no thread that holds it panics");
        history.entry(object).or_default().push(Operation { called, answered, act });
        drop((history, open));
    }
    Ok(())
}

/// Writes or removes an object if something is to be set, and reads it otherwise.
fn perform(line: &mut Client, object: u32, set: Option<Option<u64>>, size: u64) -> Result<Act, StoreError> {
    match set {
        Some(Some(value)) => line.put(&name(object), &BTreeMap::new(), &content(value, size))?,
        Some(None) => line.remove(&name(object))?,
        None => return Ok(Act::Read(read(line, object)?)),
    };
    Ok(Act::Set(set.flatten()))
}

/// The name of an object, from its number.
pub(super) fn name(object: u32) -> String {
    format!("object {object}")
}

/// Reads an object and returns the number that was written, if the object exists.
pub(super) fn read(line: &mut Client, object: u32) -> Result<Option<u64>, StoreError> {
    Ok(line.get(&name(object))?.map(|found| value_of(&found.data)))
}

fn content(value: u64, size: u64) -> Vec<u8> {
    let mut data = value.to_le_bytes().to_vec();
    data.resize(8 + size as usize, value as u8);
    data
}

/// The number that was written; a number that is never written if the data is anything else.
fn value_of(data: &[u8]) -> u64 {
    let value = data.first_chunk::<8>().map_or(u64::MAX, |bytes| u64::from_le_bytes(*bytes));
    if data.iter().skip(8).all(|byte| *byte == value as u8) { value } else { u64::MAX }
}
