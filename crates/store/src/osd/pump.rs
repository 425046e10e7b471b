//! The thread around a [`Core`]: takes arrivals from a channel, commits what the core writes, and only then
//! carries out what follows from it.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use towtank_units::SimSpan;

use super::core::{Arrival, Core, Effect, Portion};
use super::doors::ClientDoor;
use super::monitoring::Monitor;
use super::peers::Peers;
use crate::StoreError;
use crate::clock::Clock;
use crate::crash;
use crate::engine::Engine;
use crate::frames::Report;

/// A portion ends after this many arrivals.
const PORTION_ARRIVALS: usize = 128;

/// What a core's portions are committed to, and where its effects go.
pub(super) struct Pump {
    pub engine: Engine,
    pub peers: Peers,
    pub monitor: Monitor,
    pub report: Arc<Mutex<Report>>,
    pub clock: Clock,
    /// Where the end of a reclaim is reported.
    pub arrivals: SyncSender<Arrival<Arc<ClientDoor>>>,
}

impl Pump {
    /// Handles arrivals until `stopped` returns true.
    pub(super) fn run(
        mut self,
        mut core: Core<Arc<ClientDoor>>,
        arrivals: &Receiver<Arrival<Arc<ClientDoor>>>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), StoreError> {
        while !stopped() {
            let wait = core.idle(self.clock.sim());
            let first = match arrivals.recv_timeout(duration(wait)) {
                Ok(arrival) => Some(arrival),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            let taken: VecDeque<_> =
                first.into_iter().chain(arrivals.try_iter()).take(PORTION_ARRIVALS).collect();
            // All of it has arrived by now: what is decided holds at a moment after its arrival.
            let portion = core.portion(self.clock.sim(), taken)?;
            self.carry_out(portion)?;
        }
        Ok(self.engine.mark()?)
    }

    /// Commits a portion, and then carries out what follows from it.
    pub(super) fn carry_out(&mut self, portion: Portion<Arc<ClientDoor>>) -> Result<(), StoreError> {
        self.engine.commit(portion.writes)?;
        portion.effects.into_iter().try_for_each(|effect| self.release(effect))
    }

    fn release(&mut self, effect: Effect<Arc<ClientDoor>>) -> Result<(), StoreError> {
        crash::point();
        match effect {
            Effect::Locate { osd, at } => self.peers.locate(osd, at),
            Effect::Send { to, group, message } => self.peers.send(to, group, message),
            Effect::Answer { door, answer } => door.answer(answer),
            Effect::Want { group, epoch, acting } => self.monitor.want(group, epoch, acting),
            Effect::NoteDoubts(note) => self.engine.note_doubts(note)?,
            Effect::Decide => self.engine.decide()?,
            Effect::Mark => self.engine.mark()?,
            Effect::Reclaim => {
                let (engine, done) = (self.engine.clone(), self.arrivals.clone());
                std::thread::spawn(move || {
                    if let Err(error) = engine.reclaim() {
                        eprintln!("disk space cannot be reclaimed: {error}");
                    }
                    // If the daemon ends, nobody waits for it.
                    let _ = done.send(Arrival::Reclaimed);
                });
            }
            Effect::Report(report) => {
                *self.report.lock().expect("no thread that holds it panics") = *report;
            }
            Effect::Say(text) => println!("{text}"),
        }
        Ok(())
    }
}

fn duration(span: SimSpan) -> Duration {
    Duration::from_nanos(span.as_ns())
}
