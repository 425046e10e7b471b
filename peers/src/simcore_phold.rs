//! PHOLD as a model for simcore.

use std::cell::RefCell;
use std::rc::Rc;

use serde::Serialize;
use simcore::{Event, EventHandler, Id, Simulation, SimulationContext};

use crate::bare::{self, Lp, UNIT_NS, Workload};
use crate::measure::Outcome;

#[derive(Clone, Serialize)]
struct Ball;

struct Process {
    lp: Lp,
    workload: Workload,
    context: SimulationContext,
}

impl EventHandler for Process {
    fn on(&mut self, event: Event) {
        let at = (event.time * UNIT_NS) as u64;
        let ball = bare::Event { at, sequence: event.id, to: self.context.id() };
        let (to, next) = self.workload.handle(&ball, &mut self.lp);
        self.context.emit(Ball, to as Id, (next - at) as f64 / UNIT_NS);
    }
}

/// A simulation ready to run.
pub struct Prepared {
    simulation: Simulation,
    end: f64,
}

pub fn prepare(workload: Workload) -> Prepared {
    let mut simulation = Simulation::new(workload.seed);
    for (number, lp) in workload.processes().into_iter().enumerate() {
        let name = number.to_string();
        let context = simulation.create_context(name.clone());
        let process = Rc::new(RefCell::new(Process { lp, workload, context }));
        simulation.add_handler(name, process.clone());
        let mut process = process.borrow_mut();
        for _ in 0..workload.start_events {
            let delay = workload.delay_ns(&mut process.lp) as f64 / UNIT_NS;
            process.context.emit_self(Ball, delay);
        }
    }
    Prepared { simulation, end: workload.end }
}

impl Prepared {
    pub fn run(mut self) -> Outcome {
        let before = self.simulation.event_count();
        self.simulation.step_until_time(self.end);
        // Events created are events handled: each answers with one.
        Outcome { events: self.simulation.event_count() - before, pending: 0, check: 0 }
    }
}
