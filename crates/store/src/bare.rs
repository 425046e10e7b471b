//! The embedded tree alone: how long disk and tree take for a write, without replicas, network and protocol.

use std::path::Path;
use std::time::Duration;

use crate::clock::{Clock, now};
use crate::engine::{Engine, EngineError, Sync, Table};

/// Has `writers` threads write these data for a time, each time under a new key and in a separate transaction
/// that is as durable as those of a store. Returns how long each write took. The directory must be empty or
/// not exist.
///
/// # Errors
/// When the disk cannot be read or written.
pub fn writes(
    directory: &Path,
    sync: Sync,
    (writers, data): (u32, &[u8]),
    span: Duration,
    stopped: &(dyn Fn() -> bool + std::marker::Sync),
) -> Result<Vec<Duration>, EngineError> {
    let engine = Engine::open(directory, sync)?;
    let clock = Clock::start();
    let write = |writer: u32| -> Result<Vec<Duration>, EngineError> {
        let mut latencies = Vec::new();
        while clock.elapsed() < span && !stopped() {
            let began = now();
            let mut transaction = engine.begin();
            let key = [&writer.to_be_bytes()[..], &(latencies.len() as u64).to_be_bytes()].concat();
            transaction.set(Table::Data, key, data.to_vec());
            transaction.commit()?;
            latencies.push(now().duration_since(began));
        }
        Ok(latencies)
    };
    let write = &write;
    let all: Vec<Result<Vec<Duration>, EngineError>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..writers).map(|writer| scope.spawn(move || write(writer))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no writer panics")).collect()
    });
    all.into_iter().try_fold(Vec::new(), |mut latencies, one| {
        latencies.extend(one?);
        Ok(latencies)
    })
}
