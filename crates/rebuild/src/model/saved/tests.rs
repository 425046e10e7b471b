//! Undo that forgets a part: the check executor must notice each.

use std::cell::Cell;

use towtank_kernel::{Executor, RunError, RunOptions, run};
use towtank_streams::Seed;
use towtank_units::Frequency;

use super::*;
use crate::model::{Arrivals, Clients, Load, Weights};
use crate::redundancy::Redundancy;
use crate::sample::{self, Drawn, Size, Tasks, UNIT};

/// A part of a server that the undo leaves as the event made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Cards,
    Bytes,
    Device,
    Line,
    Operation,
    Free,
}

thread_local! {
    static FORGOTTEN: Cell<Option<Part>> = const { Cell::new(None) };
}

/// What was saved, with one part as it is after the event.
pub(super) fn damaged(saved: Saved, server: &Server) -> Saved {
    let shared = server.shared.as_ref().expect("clients use the server");
    match FORGOTTEN.get() {
        None => saved,
        Some(Part::Cards) => Saved { cards: [server.out, server.inward], ..saved },
        Some(Part::Bytes) => Saved { bytes: [server.sent, server.received], ..saved },
        Some(Part::Device) => Saved { device: SavedDevice::None, ..saved },
        Some(Part::Line) => Saved { line: None, ..saved },
        Some(Part::Operation) => Saved { operation: None, ..saved },
        Some(Part::Free) => Saved { free: (shared.free.len(), shared.free.last().copied()), ..saved },
    }
}

/// A rebuild beside clients on the check executor, where the undo forgets a part.
fn checked(forgotten: Option<Part>) -> Result<(), RunError> {
    let hardware = sample::hardware(Size { racks: 1, servers: 3, disks: 2 });
    let job = |driver| Drawn {
        driver,
        bytes: 5 * UNIT,
        reads: 2,
        writes: 1,
        stride: 1,
        by_log: false,
        pulls: false,
    };
    let plan = sample::plan(&hardware, Tasks::Groups, &[job(0), job(1), job(2), job(3)]);
    let load = Load {
        arrivals: Arrivals::Open(Frequency::from_per_second(50_000).expect("not so often")),
        reads: 0.5,
        bytes: 1_500,
        redundancy: Redundancy { data: 1, width: 2 },
        weights: Weights { clients: 2, lacking: 1, moving: Some(1) },
    };
    let limits = sample::limits();
    let model = Rebuild::new(&hardware, &plan, &limits).with_clients(Clients::new(load, &hardware, |_| true));
    let options = RunOptions { seed: Seed(3), executor: Executor::Check, ..RunOptions::default() };
    FORGOTTEN.set(forgotten);
    let checked = run(&model, options).map(|_| ());
    FORGOTTEN.set(None);
    checked
}

#[test]
fn an_undo_that_forgets_a_part_is_noticed() {
    checked(None).expect("a whole undo is right");
    for part in [Part::Cards, Part::Bytes, Part::Device, Part::Line, Part::Operation, Part::Free] {
        assert!(checked(Some(part)).is_err(), "nobody noticed that {part:?} was forgotten");
    }
}
