//! The loop on a ring of time buckets of about 128 events. Each bucket is sorted when it is reached, and the
//! processes of the next few events are prefetched.
//!
//! The bucket width is chosen from the workload, which an engine cannot know, so this loop has an advantage.

use super::{Event, Lp, UNIT_NS, Workload, outcome};
use crate::measure::Outcome;

/// The intended number of events per bucket.
const BUCKET_EVENTS: f64 = 128.0;

/// The number of mean delays that the ring spans. Later events wait in a list that is scanned once per turn.
const TURN_MEANS: f64 = 8.0;

/// How many events ahead a process is prefetched.
const AHEAD: usize = 8;

/// The state of the loop between initialisation and run.
pub struct BucketLoop {
    workload: Workload,
    processes: Vec<Lp>,
    ring: Vec<Vec<Event>>,
    shift: u32,
    /// The bucket, counted from time zero, at which the later events are scanned again.
    turn_end: u64,
    later: Vec<Event>,
    sequence: u64,
}

impl BucketLoop {
    pub fn new(workload: Workload) -> Self {
        let width = BUCKET_EVENTS * workload.mean * UNIT_NS / workload.pending() as f64;
        let shift = width.log2().round() as u32;
        let buckets = ((TURN_MEANS * workload.mean * UNIT_NS) as u64 >> shift).next_power_of_two();
        let mut this = BucketLoop {
            workload,
            processes: workload.processes(),
            ring: (0..buckets).map(|_| Vec::new()).collect(),
            shift,
            turn_end: buckets,
            later: Vec::new(),
            sequence: 0,
        };
        for to in 0..workload.lps {
            for _ in 0..workload.start_events {
                let at = workload.delay_ns(&mut this.processes[to as usize]);
                this.push(at, to, 0);
            }
        }
        this
    }

    /// Puts an event into its bucket, or into the list of later events.
    #[inline]
    fn push(&mut self, at: u64, to: u32, current: u64) {
        let event = Event { at, sequence: self.sequence, to };
        self.sequence += 1;
        self.place(event, current);
    }

    #[inline]
    fn place(&mut self, event: Event, current: u64) {
        let bucket = event.at >> self.shift;
        if bucket - current < self.ring.len() as u64 {
            let mask = self.ring.len() - 1;
            self.ring[bucket as usize & mask].push(event);
        } else {
            self.later.push(event);
        }
    }

    pub fn run(mut self) -> Outcome {
        let end = self.workload.end_ns();
        let mask = self.ring.len() - 1;
        let mut sorted: Vec<Event> = Vec::new();
        let mut order: Vec<u64> = Vec::new();
        let mut events = 0;
        let mut current = 0u64;
        loop {
            std::mem::swap(&mut sorted, &mut self.ring[current as usize & mask]);
            let base = current << self.shift;
            order.clear();
            order.extend(
                sorted.iter().enumerate().map(|(place, event)| (event.at - base) << 16 | place as u64),
            );
            order.sort_unstable();
            for next in 0..order.len() {
                if let Some(&ahead) = order.get(next + AHEAD) {
                    prefetch(&self.processes[sorted[ahead as usize & 0xffff].to as usize]);
                }
                let event = sorted[order[next] as usize & 0xffff];
                if event.at >= end {
                    let left = self.left() + order.len() - next;
                    return outcome(events, left, &self.processes);
                }
                events += 1;
                let (to, at) = self.workload.handle(&event, &mut self.processes[event.to as usize]);
                self.push(at, to, current);
            }
            sorted.clear();
            std::mem::swap(&mut sorted, &mut self.ring[current as usize & mask]);
            current += 1;
            if current == self.turn_end {
                self.turn_end += self.ring.len() as u64;
                for event in std::mem::take(&mut self.later) {
                    self.place(event, current);
                }
            }
        }
    }

    fn left(&self) -> usize {
        self.later.len() + self.ring.iter().map(Vec::len).sum::<usize>()
    }
}

#[inline]
fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
    }
}
