//! The loop on a 4-ary heap.

use super::{Event, Lp, Workload, outcome};
use crate::measure::Outcome;

/// The state of the loop between initialisation and run, so that the run can be timed alone.
pub struct HeapLoop {
    workload: Workload,
    processes: Vec<Lp>,
    heap: Vec<Event>,
    sequence: u64,
}

impl HeapLoop {
    pub fn new(workload: Workload) -> Self {
        let mut this = HeapLoop {
            workload,
            processes: workload.processes(),
            heap: Vec::with_capacity(workload.pending() + 1),
            sequence: 0,
        };
        for to in 0..workload.lps {
            for _ in 0..workload.start_events {
                let at = workload.delay_ns(&mut this.processes[to as usize]);
                this.push(at, to);
            }
        }
        this
    }

    pub fn run(mut self) -> Outcome {
        let end = self.workload.end_ns();
        let mut events = 0;
        while let Some(&event) = self.heap.first() {
            if event.at >= end {
                break;
            }
            events += 1;
            let (to, at) = self.workload.handle(&event, &mut self.processes[event.to as usize]);
            // One event out, one in: the new one replaces the root.
            let sequence = self.sequence;
            self.sequence += 1;
            self.sift_down(Event { at, sequence, to });
        }
        outcome(events, self.heap.len(), &self.processes)
    }

    fn push(&mut self, at: u64, to: u32) {
        let event = Event { at, sequence: self.sequence, to };
        self.sequence += 1;
        let mut child = self.heap.len();
        self.heap.push(event);
        while child > 0 {
            let parent = (child - 1) / 4;
            if !event.precedes(&self.heap[parent]) {
                break;
            }
            self.heap[child] = self.heap[parent];
            child = parent;
        }
        self.heap[child] = event;
    }

    #[inline]
    fn sift_down(&mut self, event: Event) {
        let mut parent = 0;
        loop {
            let first = parent * 4 + 1;
            let children = match self.heap.get(first..first + 4) {
                Some(four) => four,
                None => self.heap.get(first..).unwrap_or(&[]),
            };
            let Some(mut least) = children.first() else { break };
            let mut child = first;
            for (place, other) in children.iter().enumerate().skip(1) {
                if other.precedes(least) {
                    least = other;
                    child = first + place;
                }
            }
            if !least.precedes(&event) {
                break;
            }
            self.heap[parent] = *least;
            parent = child;
        }
        self.heap[parent] = event;
    }
}
