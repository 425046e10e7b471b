//! A schedule: a seed for all random draws, and steps in order. It is written as one line and parsed from it.

use std::fmt;

use towtank_replication::Planted;
use towtank_streams::{Draws, Purpose, Seed, Uniform};

pub const KEYS: u64 = 20;
pub const DEVICES: u64 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Write(u64),
    Delete(u64),
    Read(u64),
    Crash(u64),
    Restart(u64),
    /// The monitor marks the device as dead, whether or not it is.
    Suspect(u64),
    Trust(u64),
    /// The group's placement prefers this device.
    Prefer(u64),
    /// Other requests of high priority take the device's slots.
    Busy(u64),
    Idle(u64),
    /// The device has no space for backfills.
    Full(u64),
    Empty(u64),
    /// The fragile device's copy of this object is damaged; only one device of a schedule is fragile.
    Damage(u64),
    /// If this device is the fragile one, it loses everything it holds. It may start again at once.
    Wipe(u64),
    /// If this device is the fragile one, it crashes, and the last transactions that it synced are damaged.
    Rot(u64),
    /// Handles this many events.
    Run(u64),
}

impl Step {
    fn parts(self) -> (char, u64) {
        match self {
            Step::Write(at) => ('w', at),
            Step::Delete(at) => ('d', at),
            Step::Read(at) => ('r', at),
            Step::Crash(at) => ('c', at),
            Step::Restart(at) => ('s', at),
            Step::Suspect(at) => ('u', at),
            Step::Trust(at) => ('t', at),
            Step::Prefer(at) => ('p', at),
            Step::Busy(at) => ('b', at),
            Step::Idle(at) => ('i', at),
            Step::Full(at) => ('f', at),
            Step::Empty(at) => ('e', at),
            Step::Damage(at) => ('x', at),
            Step::Wipe(at) => ('z', at),
            Step::Rot(at) => ('o', at),
            Step::Run(at) => ('n', at),
        }
    }

    fn of_parts(letter: char, at: u64) -> Option<Step> {
        let make: fn(u64) -> Step = match letter {
            'w' => Step::Write,
            'd' => Step::Delete,
            'r' => Step::Read,
            'c' => Step::Crash,
            's' => Step::Restart,
            'u' => Step::Suspect,
            't' => Step::Trust,
            'p' => Step::Prefer,
            'b' => Step::Busy,
            'i' => Step::Idle,
            'f' => Step::Full,
            'e' => Step::Empty,
            'x' => Step::Damage,
            'z' => Step::Wipe,
            'o' => Step::Rot,
            'n' => Step::Run,
            _ => return None,
        };
        Some(make(at))
    }
}

/// A disk that breaks its promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum BadDisk {
    /// A crash leaves part of the last transaction.
    TearsTransactions,
    /// It reports a transaction as durable before it is.
    PromisesEarly,
}

/// A fault that is planted on purpose, so that a test can prove that it is detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
pub enum Fault {
    Rule(Planted),
    Disk(BadDisk),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    pub seed: u64,
    pub planted: Option<Fault>,
    pub steps: Vec<Step>,
}

impl fmt::Display for Schedule {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let planted = match self.planted {
            None => "-".to_owned(),
            Some(Fault::Rule(rule)) => format!("{rule:?}"),
            Some(Fault::Disk(disk)) => format!("{disk:?}"),
        };
        write!(to, "{} {planted}", self.seed)?;
        for step in &self.steps {
            let (letter, at) = step.parts();
            write!(to, " {letter}{at}")?;
        }
        Ok(())
    }
}

impl Schedule {
    pub fn parse(line: &str) -> Option<Schedule> {
        let mut words = line.split_whitespace();
        let seed = words.next()?.parse().ok()?;
        let planted = match words.next()? {
            "-" => None,
            name => Some(serde_json::from_str(&format!("\"{name}\"")).ok()?),
        };
        let step = |word: &str| {
            let letter = word.chars().next()?;
            Step::of_parts(letter, word[letter.len_utf8()..].parse().ok()?)
        };
        Some(Schedule { seed, planted, steps: words.map(step).collect::<Option<_>>()? })
    }

    pub fn of_seed(seed: u64, planted: Option<Fault>) -> Schedule {
        let mut draws = Draws::new(Seed(seed), 0, 0);
        let mut draws = draws.of(Purpose(1));
        let mut steps: Vec<Step> = (0..KEYS).step_by(2).map(Step::Write).collect();
        steps.push(Step::Run(200));
        // Most schedules are short, so that many run per second; some go through many intervals.
        let count = 10 + draws.below(if seed % 16 == 15 { 250 } else { 50 });
        // With few objects requests often conflict; with many they do not.
        let keys = [3, KEYS][draws.below(2) as usize];
        let mut rotten = Draws::new(Seed(seed), 0, 0);
        let mut rotten = rotten.of(Purpose(2));
        for _ in 0..count {
            steps.push(drawn(&mut draws, keys));
            if rotten.below(24) == 0 {
                steps.push(Step::Rot(rotten.below(DEVICES)));
            }
        }
        Schedule { seed, planted, steps }
    }
}

fn drawn(draws: &mut impl Uniform, keys: u64) -> Step {
    let (kind, key, device) = (draws.below(107), draws.below(keys), draws.below(DEVICES));
    match kind {
        0..22 => Step::Write(key),
        22..28 => Step::Delete(key),
        28..42 => Step::Read(key),
        42..48 => Step::Crash(device),
        48..56 => Step::Restart(device),
        56..59 => Step::Suspect(device),
        59..63 => Step::Trust(device),
        63..66 => Step::Prefer(device),
        66..67 => Step::Busy(device),
        67..69 => Step::Idle(device),
        69..70 => Step::Full(device),
        70..72 => Step::Empty(device),
        72..95 => Step::Run(1 + draws.below(20)),
        100..104 => Step::Damage(key),
        104.. => Step::Wipe(device),
        _ => Step::Run(50 + draws.below(200)),
    }
}
