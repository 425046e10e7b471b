//! `towtank bench phold`: runs PHOLD and reports its speed.
//!
//! Times without a unit are in units of 10^9 ns. The clock is read here, not in the kernel: before the
//! processes are created, before the first event, and after the last. Memory is the peak of the process, as
//! reported by the operating system.

#![allow(clippy::disallowed_methods, reason = "a bench measures time")]

use std::fmt::Write as _;
use std::fs;
use std::num::NonZeroU32;
use std::time::Instant;

use clap::{Args, ValueEnum};
use serde_json::json;
use towtank::Trouble;
use towtank_kernel::phold::Phold;
use towtank_kernel::{Executor, Outcome, RunError, RunOptions, UndoBy};
use towtank_scenario::Problem;
use towtank_streams::Seed;
use towtank_units::{SimSpan, SimTime};

use crate::executor_flag::executors;
use crate::exit::Exit;
use crate::{interrupt, screen};

/// Nanoseconds per unit of time of PHOLD.
const UNIT_NS: f64 = 1e9;

/// Flags of `towtank bench phold`.
#[derive(Debug, Args)]
pub struct Flags {
    /// Logical processes
    #[arg(long, value_name = "N", default_value = "1024")]
    pub lps: NonZeroU32,
    /// Events each process starts with
    #[arg(long, value_name = "N", default_value = "16")]
    pub start_events: NonZeroU32,
    /// Probability that an event goes to a process drawn from all, from 0 to 1
    #[arg(long, value_name = "P", default_value_t = 0.25)]
    pub remote: f64,
    /// Constant part of every delay, in units of a second
    #[arg(long, value_name = "TIME", default_value_t = 0.1)]
    pub lookahead: f64,
    /// Mean of the whole delay
    #[arg(long, value_name = "TIME", default_value_t = 1.0)]
    pub mean: f64,
    /// Events at or after this time stay pending
    #[arg(long, value_name = "TIME", default_value_t = 20.0)]
    pub end: f64,
    /// How events are executed; the digest is the same
    #[arg(long, value_name = "NAME", default_value = "sequential", value_parser = executors())]
    pub executor: Executor,
    /// Threads, for the conservative and the optimistic executor
    #[arg(long, value_name = "N", default_value = "1")]
    pub workers: NonZeroU32,
    /// Where all random draws come from
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
    /// Dependent integer steps an event takes, to stand for a model's own work
    #[arg(long, value_name = "N", default_value = "0")]
    pub work: u32,
    /// Events between two looks for messages, of the optimistic executor
    #[arg(long, value_name = "N", default_value = "256")]
    pub batch: NonZeroU32,
    /// Batches between two computations of global virtual time
    #[arg(long, value_name = "N", default_value = "16")]
    pub gvt_interval: NonZeroU32,
    /// How the optimistic and the check executor take events back
    #[arg(long, value_name = "HOW", default_value = "inverse")]
    pub undo: Undo,
    /// Text for people, or one JSON object
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: Format,
}

/// How events are taken back.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Undo {
    /// By PHOLD's hand-written inverse
    Inverse,
    /// By a clone of the process before each event
    Clone,
}

/// How the figures are printed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Format {
    /// A line a figure
    Text,
    /// One object
    Json,
}

/// The measured figures.
struct Measured {
    outcome: Outcome<Phold>,
    init_seconds: f64,
    run_seconds: f64,
    wall_seconds: f64,
    peak_rss_bytes: Option<u64>,
}

/// Runs the benchmark.
pub fn run(flags: &Flags) -> Result<Exit, Trouble> {
    let begun = Instant::now();
    let model = model(flags)?;
    let stop = interrupt::watch();
    let options = RunOptions {
        seed: Seed(flags.seed),
        end: Some(SimTime::from_ns(nanoseconds("end", flags.end)?)),
        executor: flags.executor,
        workers: flags.workers.get(),
        undo: Some(match flags.undo {
            Undo::Inverse => UndoBy::Inverse,
            Undo::Clone => UndoBy::Clone,
        }),
        batch: flags.batch.get(),
        gvt_interval: flags.gvt_interval.get(),
        stop: Some(stop.flag()),
        notice: Some(&|notice| screen::say(&format!("note: {notice}\n"))),
        ..RunOptions::default()
    };
    let trouble = |error: RunError| match error {
        RunError::Options(message) => Trouble::input(message),
        error => Trouble::failed(error),
    };
    let prepared = model.prepare(options).map_err(trouble)?;
    let ready = Instant::now();
    let outcome = Phold::run(prepared).map_err(trouble)?;
    let run_seconds = ready.elapsed().as_secs_f64();
    for notice in &outcome.notices {
        screen::say(&format!("note: {notice}\n"));
    }
    let partial = outcome.partial;
    let measured = Measured {
        outcome,
        init_seconds: (ready - begun).as_secs_f64(),
        run_seconds,
        wall_seconds: begun.elapsed().as_secs_f64(),
        peak_rss_bytes: peak_rss_bytes(),
    };
    let text = match flags.format {
        Format::Json => measured.json(),
        Format::Text => measured.text(),
    };
    screen::print(&text).map_err(Trouble::failed)?;
    Ok(if partial { Exit::Interrupted } else { Exit::Done })
}

fn model(flags: &Flags) -> Result<Phold, Problem> {
    if !(0.0..=1.0).contains(&flags.remote) {
        let message = format!("--remote is {}, but a probability lies from 0 to 1", flags.remote);
        return Err(Problem::new(message).hint("0.25 is what most published runs use"));
    }
    let (look_ahead, mean) = (nanoseconds("lookahead", flags.lookahead)?, nanoseconds("mean", flags.mean)?);
    if look_ahead > mean {
        let message =
            format!("--lookahead is {}, but the whole delay is {} on average", flags.lookahead, flags.mean);
        return Err(Problem::new(message).hint("set --lookahead to at most --mean"));
    }
    if mean == 0 {
        let message = "--mean is 0, but time must move on for the run to end";
        return Err(Problem::new(message).hint("set --mean above 0; 1 is usual"));
    }
    Ok(Phold {
        processes: flags.lps.get(),
        start_events: flags.start_events.get(),
        remote: flags.remote,
        look_ahead: SimSpan::from_ns(look_ahead),
        mean: SimSpan::from_ns(mean),
        work: flags.work,
    })
}

/// A time without a unit in nanoseconds, rounded down.
fn nanoseconds(flag: &str, time: f64) -> Result<u64, Problem> {
    // 2^63 ns, so that a delay added to any time below the end still fits.
    let most = (1u64 << 63) as f64 / UNIT_NS;
    if (0.0..most).contains(&time) {
        Ok((time * UNIT_NS) as u64)
    } else {
        let message = format!("--{flag} is {time}, but a time lies from 0 to {most:.0}");
        Err(Problem::new(message).hint("times are in units of a second"))
    }
}

impl Measured {
    fn events_per_second(&self) -> f64 {
        self.outcome.run.committed as f64 / self.run_seconds.max(f64::MIN_POSITIVE)
    }

    fn json(&self) -> String {
        let run = &self.outcome.run;
        let figures = json!({
            "events_committed": run.committed,
            "events_per_second": self.events_per_second(),
            "init_seconds": self.init_seconds,
            "run_seconds": self.run_seconds,
            "efficiency": run.efficiency(),
            "rollbacks": run.rollbacks(),
            "anti_messages": run.anti_messages,
            "gvt_rounds": run.gvt_rounds,
            "peak_pending": run.peak_pending,
            "digest": self.outcome.digest.to_string(),
            "wall_seconds": self.wall_seconds,
            "peak_rss_bytes": self.peak_rss_bytes,
            "events_executed": run.executed,
            "rolled_back": run.rolled_back,
            "messages": run.messages,
            "windows": run.windows,
            "throttled": run.throttled,
            "peak_history": run.peak_history,
            "partial": self.outcome.partial,
        });
        format!("{figures:#}\n")
    }

    fn text(&self) -> String {
        let run = &self.outcome.run;
        let mut text = String::new();
        let mut line = |name: &str, value: String| {
            let _ = writeln!(text, "{name:<20}{value}");
        };
        line("events committed", run.committed.to_string());
        line("events per second", format!("{:.3} M", self.events_per_second() / 1e6));
        line("initialisation", format!("{:.3} s", self.init_seconds));
        line("run", format!("{:.3} s", self.run_seconds));
        line("efficiency", format!("{:.4}", run.efficiency()));
        line("rollbacks", run.rollbacks().to_string());
        line("anti-messages", run.anti_messages.to_string());
        line("GVT rounds", run.gvt_rounds.to_string());
        line("windows", run.windows.to_string());
        line("peak pending", run.peak_pending.to_string());
        let memory = self
            .peak_rss_bytes
            .map_or("unknown".to_owned(), |bytes| format!("{:.1} MiB", bytes as f64 / 1_048_576.0));
        line("peak memory", memory);
        line("digest", self.outcome.digest.to_string());
        text
    }
}

/// The peak memory of this process, if the operating system reports it.
pub fn peak_rss_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
