//! Shared code of the benches: parsing flags, measuring time, and medians.

use std::fmt;
use std::time::Instant;

/// The counts of a run, and a value that depends on every event of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub events: u64,
    pub pending: u64,
    pub check: u64,
}

/// The flags of a bench. Cargo's own `--bench` is ignored.
pub struct Arguments(Vec<String>);

impl Arguments {
    pub fn read() -> Self {
        Arguments(std::env::args().skip(1).filter(|argument| argument != "--bench").collect())
    }

    fn value(&self, flag: &str) -> Option<&str> {
        let place = self.0.iter().position(|argument| argument == flag)?;
        Some(self.0.get(place + 1).unwrap_or_else(|| panic!("{flag} needs a value")))
    }

    pub fn text(&self, flag: &str) -> Option<&str> {
        self.value(flag)
    }

    pub fn number(&self, flag: &str) -> Option<f64> {
        let value = self.value(flag)?;
        Some(value.parse().unwrap_or_else(|_| panic!("{flag} is `{value}`, which is not a number")))
    }

    pub fn list(&self, flag: &str) -> Option<Vec<u64>> {
        let parse =
            |one: &str| one.parse().unwrap_or_else(|_| panic!("{flag} has `{one}`, which is not a number"));
        Some(self.value(flag)?.split(',').map(parse).collect())
    }
}

/// The clock by which a span is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    Wall,
    Cpu,
}

/// A point in time on both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    wall: Instant,
    cpu_ns: Option<u64>,
}

impl Moment {
    pub fn now() -> Self {
        // On Linux the first word of this file is the thread's processor time; elsewhere the wall clock is
        // used.
        let cpu_ns = std::fs::read_to_string("/proc/thread-self/schedstat")
            .ok()
            .and_then(|text| text.split_whitespace().next()?.parse().ok());
        Moment { wall: Instant::now(), cpu_ns }
    }

    /// Seconds since then, by the wall clock and by processor time.
    pub fn seconds(&self) -> (f64, f64) {
        let now = Moment::now();
        let wall = now.wall.duration_since(self.wall).as_secs_f64();
        let cpu = now.cpu_ns.zip(self.cpu_ns).map_or(wall, |(now, then)| (now - then) as f64 * 1e-9);
        (wall, cpu)
    }
}

/// The rates of one contestant, in millions of events per second.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    wall: Vec<f64>,
    cpu: Vec<f64>,
}

impl Rates {
    /// Runs and records the rate.
    pub fn time(&mut self, run: impl FnOnce() -> Outcome) -> Outcome {
        let begin = Moment::now();
        let outcome = run();
        let (wall, cpu) = begin.seconds();
        self.wall.push(outcome.events as f64 / wall * 1e-6);
        self.cpu.push(outcome.events as f64 / cpu * 1e-6);
        outcome
    }

    fn sorted(&self, span: Span) -> Vec<f64> {
        let mut rates = match span {
            Span::Wall => self.wall.clone(),
            Span::Cpu => self.cpu.clone(),
        };
        rates.sort_by(f64::total_cmp);
        rates
    }

    /// Median, minimum and maximum.
    pub fn spread(&self, span: Span) -> String {
        let rates = self.sorted(span);
        format!("{:6.2} ({:.2} to {:.2})", rates[rates.len() / 2], rates[0], rates[rates.len() - 1])
    }

    /// The median over the rounds of the ratio of this contestant's rate to the other's, by the wall clock.
    pub fn median_ratio(&self, other: &Rates) -> f64 {
        let mut ratios: Vec<f64> =
            self.wall.iter().zip(&other.wall).map(|(mine, theirs)| mine / theirs).collect();
        ratios.sort_by(f64::total_cmp);
        ratios[ratios.len() / 2]
    }

    pub fn median(&self, span: Span) -> f64 {
        let rates = self.sorted(span);
        rates[rates.len() / 2]
    }
}

impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by wall, {} by processor time", self.spread(Span::Wall), self.spread(Span::Cpu))
    }
}
