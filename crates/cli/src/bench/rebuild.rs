//! `towtank bench rebuild`: the speed of the published study's largest rebuild.
//!
//! The work is fixed (`towtank_studies::rebuild::benchmark`); placement, the plan and the simulation are all
//! timed. The clock is read at the begin of the command and at the end of the work.

#![allow(clippy::disallowed_methods, reason = "a bench measures time")]

use std::num::NonZeroU32;
use std::time::Instant;

use clap::Args;
use serde_json::json;
use towtank::Trouble;
use towtank_kernel::Executor;
use towtank_scenario::Problem;
use towtank_streams::Seed;
use towtank_studies::rebuild::benchmark;
use towtank_studies::rebuild::generated::{Course, course};
use towtank_study::{RunContext, StopAsked};
use towtank_units::Bytes;

use super::phold::{Format, peak_rss_bytes};
use crate::executor_flag::executors;
use crate::exit::Exit;
use crate::{interrupt, screen};

/// Flags of `towtank bench rebuild`.
#[derive(Debug, Args)]
pub struct Flags {
    /// Servers; the published run has 1024
    #[arg(long, value_name = "N", default_value_t = benchmark::SERVERS, value_parser = clap::value_parser!(u32).range(8..=16_384))]
    pub servers: u32,
    /// Servers that fail at once; with 2 there are about as many events as were published
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=3))]
    pub fail: u32,
    /// What a server holds
    #[arg(long, value_name = "BYTES", default_value = "60TiB")]
    pub per_server: Bytes,
    /// How events are executed; the digest is the same
    #[arg(long, value_name = "NAME", default_value = "sequential", value_parser = executors())]
    pub executor: Executor,
    /// Threads, for the conservative and the optimistic executor
    #[arg(long, value_name = "N", default_value = "1")]
    pub workers: NonZeroU32,
    /// Where all random draws come from
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
    /// Text for people, or one JSON object
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: Format,
}

/// Runs the benchmark.
pub fn run(flags: &Flags) -> Result<Exit, Trouble> {
    let begun = Instant::now();
    if flags.per_server.is_zero() {
        let problem = Problem::new("--per-server is 0B, so nothing can be lost");
        return Err(problem.hint("60TiB is what the published study has").into());
    }
    let stop = interrupt::watch();
    let context = RunContext {
        seed: Seed(flags.seed),
        replicate: 0,
        executor: flags.executor,
        workers: flags.workers.get(),
        stop: StopAsked::by(stop.flag()),
        progress: &|_| (),
        notice: &|notice| screen::say(&format!("note: {notice}\n")),
    };
    let complete = benchmark::scenario(flags.servers, flags.fail, &flags.per_server.to_string());
    let Some(course) = course(&complete, &context, false).map_err(Trouble::failed)? else {
        return Ok(Exit::Interrupted);
    };
    let wall_seconds = begun.elapsed().as_secs_f64();
    let text = match flags.format {
        Format::Json => format!("{:#}\n", figures(&course, wall_seconds)),
        Format::Text => lines(&course, wall_seconds),
    };
    screen::print(&text).map_err(Trouble::failed)?;
    Ok(if course.recovered.partial { Exit::Interrupted } else { Exit::Done })
}

fn figures(course: &Course, wall_seconds: f64) -> serde_json::Value {
    let recovered = &course.recovered;
    let units = recovered.work.units;
    json!({
        "replicas": course.population.objects() * 3,
        "replicas_enumerated": course.affected.asked * 3,
        "units": units,
        "bytes_rebuilt": recovered.bytes,
        // Each unit is sent once and acknowledged once.
        "messages": 2 * units,
        "events": recovered.events,
        "events_per_unit": recovered.events as f64 / units.max(1) as f64,
        "digest": recovered.digests.first().map(ToString::to_string),
        "wall_seconds": wall_seconds,
        "peak_rss_bytes": peak_rss_bytes(),
        "events_per_second": recovered.events as f64 / wall_seconds,
        "objects_rebuilt": recovered.jobs,
        "lost_objects": recovered.stuck.lost,
        "transfer_seconds": recovered.last_write.as_secs_f64(),
        "partial": recovered.partial,
    })
}

fn lines(course: &Course, wall_seconds: f64) -> String {
    let recovered = &course.recovered;
    let simulated = recovered.last_write.as_secs_f64();
    let rate = recovered.bytes as f64 / simulated.max(f64::MIN_POSITIVE);
    let digest = recovered.digests.first().map_or_else(String::new, ToString::to_string);
    let lines = [
        ("replicas", (course.population.objects() * 3).to_string()),
        ("objects rebuilt", recovered.jobs.to_string()),
        ("units", recovered.work.units.to_string()),
        ("rebuilt", towtank_report::human::quantity(recovered.bytes as f64, "bytes")),
        ("in", towtank_report::human::quantity(simulated, "s")),
        ("at", towtank_report::human::quantity(rate, "bytes/s")),
        ("events", recovered.events.to_string()),
        ("wall time", format!("{wall_seconds:.3} s")),
        ("events per second", format!("{:.3} M", recovered.events as f64 / wall_seconds / 1e6)),
        ("digest", digest),
    ];
    lines.iter().map(|(name, value)| format!("{name:<20}{value}\n")).collect()
}
