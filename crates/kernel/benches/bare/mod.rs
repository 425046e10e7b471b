//! PHOLD written directly as a loop, without an engine: the baseline for the kernel.
//!
//! Both loops run one workload: `lps` logical processes with `start_events` events each, drawn from a
//! SplitMix64 stream per process. An event folds its time and number into its process's state and sends one
//! event, with probability `remote` to a process chosen uniformly, else to its own process, after `lookahead`
//! plus an exponential delay. Time is in whole nanoseconds, rounded down. Events past the end are created and
//! kept.

pub mod bucket_loop;
pub mod heap_loop;

use crate::measure::Outcome;

/// Nanoseconds per unit of time of the workload.
pub const UNIT_NS: f64 = 1e9;

/// The parameters of the workload.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    pub lps: u32,
    pub start_events: u32,
    pub remote: f64,
    pub mean: f64,
    pub lookahead: f64,
    pub end: f64,
    pub seed: u64,
}

impl Workload {
    pub fn end_ns(&self) -> u64 {
        (self.end * UNIT_NS) as u64
    }

    pub fn pending(&self) -> usize {
        self.lps as usize * self.start_events as usize
    }

    /// The look-ahead plus one exponential delay.
    #[inline]
    pub fn delay_ns(&self, lp: &mut Lp) -> u64 {
        let exponential = -lp.open_unit().ln() * (self.mean - self.lookahead);
        ((self.lookahead + exponential) * UNIT_NS) as u64
    }

    /// Handles one event; returns the receiver and the time of the next one.
    #[inline]
    pub fn handle(&self, event: &Event, lp: &mut Lp) -> (u32, u64) {
        lp.fold(event);
        let to = if lp.unit() <= self.remote { lp.below(self.lps) } else { event.to };
        (to, event.at + self.delay_ns(lp))
    }

    pub fn processes(&self) -> Vec<Lp> {
        (0..u64::from(self.lps)).map(|lp| Lp { stream: (self.seed << 32) ^ (lp << 8), state: lp }).collect()
    }
}

/// An event: its time, its number (which breaks ties), and its receiver.
#[derive(Clone, Copy, Debug, Default)]
pub struct Event {
    pub at: u64,
    pub sequence: u64,
    pub to: u32,
}

impl Event {
    #[inline]
    pub fn precedes(&self, other: &Event) -> bool {
        if self.at == other.at { self.sequence < other.sequence } else { self.at < other.at }
    }
}

/// A logical process: its random stream and its state.
#[derive(Clone, Copy, Debug)]
pub struct Lp {
    stream: u64,
    state: u64,
}

impl Lp {
    #[inline]
    fn fold(&mut self, event: &Event) {
        self.state =
            (self.state ^ event.at).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) ^ event.sequence;
    }

    /// SplitMix64 (Steele, Lea and Flood 2014).
    #[inline]
    fn next(&mut self) -> u64 {
        self.stream = self.stream.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.stream;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    #[inline]
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    #[inline]
    fn open_unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    #[inline]
    fn below(&mut self, bound: u32) -> u32 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u32
    }
}

/// The result of a loop: the number of events handled, the number left, and a checksum of its processes.
fn outcome(events: u64, pending: usize, processes: &[Lp]) -> Outcome {
    let check = processes.iter().fold(0u64, |sum, lp| sum.rotate_left(1) ^ lp.state);
    Outcome { events, pending: pending as u64, check }
}
