//! `towtank bench put`: runs the put protocols one after the other and reports the processor time of each.
//!
//! Each protocol is checked, run and measured separately, on one core. Processor time is that of this thread,
//! if the operating system reports it, and otherwise wall-clock time.

#![allow(clippy::disallowed_methods, reason = "a bench measures time")]

use std::fs;
use std::num::NonZeroU32;
use std::time::Instant;

use clap::Args;
use serde_json::json;
use towtank::Trouble;
use towtank_scenario::{Document, Problem, Setting};
use towtank_streams::Seed;
use towtank_studies::put::Put;
use towtank_study::{RunContext, StopAsked, Study};

use super::phold::Format;
use crate::exit::Exit;
use crate::{interrupt, screen};

/// Flags of `towtank bench put`.
#[derive(Debug, Args)]
pub struct Flags {
    /// Protocols, with commas between them
    #[arg(long, value_name = "NAMES", default_value = "uch-ccp,replicast-m,replicast-h")]
    pub protocol: String,
    /// Gateways
    #[arg(long, value_name = "N", default_value = "90")]
    pub gateways: NonZeroU32,
    /// Servers
    #[arg(long, value_name = "N", default_value = "90")]
    pub servers: NonZeroU32,
    /// Size of a chunk
    #[arg(long, value_name = "SIZE", default_value = "128KiB")]
    pub chunk: String,
    /// How fast disks write
    #[arg(long, value_name = "RATE", default_value = "400MiB/s")]
    pub disk: String,
    /// How long is simulated, after the warm-up if there is one
    #[arg(long, value_name = "TIME", default_value = "10ms")]
    pub duration: String,
    /// `surge` or `model`
    #[arg(long, value_name = "NAME", default_value = "surge")]
    pub fidelity: String,
    /// Where all random draws come from
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
    /// Text for people, or one JSON object
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: Format,
}

/// The measurement of one protocol.
struct Measured {
    protocol: String,
    cpu_seconds: f64,
    wall_seconds: f64,
    chunks: f64,
    events: u64,
    digest: String,
}

/// Runs the benchmark.
pub fn run(flags: &Flags) -> Result<Exit, Trouble> {
    let stop = interrupt::watch();
    let mut all = Vec::new();
    for protocol in flags.protocol.split(',') {
        let (measured, partial) = measure(protocol.trim(), flags, stop.flag())?;
        if partial {
            return Ok(Exit::Interrupted);
        }
        all.push(measured);
    }
    let text = match flags.format {
        Format::Json => as_json(&all, flags),
        Format::Text => all.iter().map(as_text).collect(),
    };
    screen::print(&text).map_err(Trouble::failed)?;
    Ok(Exit::Done)
}

fn measure(
    protocol: &str,
    flags: &Flags,
    stop: &std::sync::atomic::AtomicBool,
) -> Result<(Measured, bool), Trouble> {
    let mut document = Document::of_study("put", Vec::new());
    let settings = [
        ("protocol", protocol.to_owned()),
        ("gateways", flags.gateways.to_string()),
        ("servers", flags.servers.to_string()),
        ("chunk", flags.chunk.clone()),
        ("disk", flags.disk.clone()),
        ("duration", flags.duration.clone()),
        ("fidelity", flags.fidelity.clone()),
    ];
    for (name, value) in settings {
        let key = name.parse().map_err(Trouble::failed)?;
        document.set(Setting::of_flag(&format!("--{name}"), &key, &value)?)?;
    }
    let outline = document.outline()?;
    let point = outline.points().first().ok_or_else(|| Problem::new("there is no point to run"))?;
    let prepared = Put.check(point.draft())?;
    // Only the first replicate records data for figures, which is not part of the measurement.
    let context = RunContext { stop: StopAsked::by(stop), ..RunContext::alone(Seed(flags.seed), 1) };
    let (begun, charged) = (Instant::now(), processor_ns());
    let outcome = prepared.run(&context).map_err(Trouble::failed)?;
    let wall_seconds = begun.elapsed().as_secs_f64();
    let cpu = charged.zip(processor_ns()).map(|(before, after)| (after - before) as f64 / 1e9);
    let chunks = outcome.measures.get("puts_measured").and_then(|measure| measure.value()).unwrap_or(0.0);
    let measured = Measured {
        protocol: protocol.to_owned(),
        cpu_seconds: cpu.unwrap_or(wall_seconds),
        wall_seconds,
        chunks,
        events: outcome.events,
        digest: outcome.digest.unwrap_or_default(),
    };
    Ok((measured, outcome.partial))
}

/// Processor time of this thread in nanoseconds, if the operating system reports it.
fn processor_ns() -> Option<u64> {
    fs::read_to_string("/proc/thread-self/schedstat").ok()?.split_whitespace().next()?.parse().ok()
}

fn as_json(all: &[Measured], flags: &Flags) -> String {
    let one = |measured: &Measured| {
        let figures = json!({
            "cpu_seconds": measured.cpu_seconds,
            "wall_seconds": measured.wall_seconds,
            "chunks": measured.chunks as u64,
            "events": measured.events,
            "digest": measured.digest,
        });
        (measured.protocol.clone(), figures)
    };
    let protocols: serde_json::Map<String, serde_json::Value> = all.iter().map(one).collect();
    let object = json!({
        "gateways": flags.gateways,
        "servers": flags.servers,
        "chunk": flags.chunk,
        "disk": flags.disk,
        "duration": flags.duration,
        "fidelity": flags.fidelity,
        "seed": flags.seed,
        "peak_rss_bytes": super::phold::peak_rss_bytes(),
        "protocols": protocols,
    });
    format!("{object:#}\n")
}

fn as_text(measured: &Measured) -> String {
    format!(
        "{:<12} {:>9.4} s of processor, {:>8} chunks, {:>10} events, digest {}\n",
        measured.protocol, measured.cpu_seconds, measured.chunks, measured.events, measured.digest
    )
}
