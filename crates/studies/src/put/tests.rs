//! The study from scenario text to presentation: the published cells, one digest, refusals, audits that can fail.

use std::sync::atomic::AtomicBool;

use ::scenario::{Document, Source};
use kernel::Executor;
use streams::Seed;

use super::published::CELLS;
use super::*;

fn check(text: &str) -> Result<Box<dyn Prepared>, Problems> {
    let text = format!("study = \"put\"\n{text}");
    let outline = Document::parse(&Source::file("put.toml", &text))?.outline()?;
    Put.check(outline.points()[0].draft())
}

fn prepare(text: &str) -> Box<dyn Prepared> {
    check(text).unwrap_or_else(|problems| panic!("{:?}", problems.iter().collect::<Vec<_>>()))
}

fn run_as(prepared: &dyn Prepared, replicate: u32, executor: Executor, workers: u32) -> Outcome {
    let context = RunContext {
        seed: Seed(1).replicate(replicate),
        replicate,
        executor,
        workers,
        stop: &AtomicBool::new(false),
        progress: &|_| {},
        notice: &|_| {},
    };
    prepared.run(&context).unwrap_or_else(|error| panic!("{executor}, {workers} workers: {error}"))
}

#[test]
fn look() {
    let seeds: u32 = std::env::var("SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    for cell in CELLS {
        let text = format!(
            "protocol = \"{}\"\nchunk = \"{}KiB\"\ndisk = \"{}MiB/s\"\nduration = \"{}ms\"\nfidelity = \"{}\"",
            cell.protocol.name(),
            cell.chunk_kib,
            cell.disk_mib,
            cell.duration_ms,
            std::env::var("FIDELITY").unwrap_or("surge".into())
        );
        let prepared = prepare(&text);
        let begun = std::time::Instant::now();
        let outcomes: Vec<Outcome> =
            (0..seeds).map(|seed| run_as(&*prepared, seed, Executor::Sequential, 1)).collect();
        let took = begun.elapsed().as_secs_f64() / seeds as f64;
        let mean = |name: &str| {
            outcomes.iter().map(|o| o.measures[name].value().unwrap_or(f64::NAN)).sum::<f64>() / seeds as f64
        };
        let off = |ours: f64, q: published::Quoted| {
            100.0
                * if ours < q.low {
                    ours / q.low - 1.0
                } else if ours > q.high {
                    ours / q.high - 1.0
                } else {
                    0.0
                }
        };
        let (c, d, l) =
            (mean("chunks_per_second"), 100.0 * mean("disk_utilisation"), mean("put_latency_mean_us"));
        let dd = if d < cell.disk.low {
            d - cell.disk.low
        } else if d > cell.disk.high {
            d - cell.disk.high
        } else {
            0.0
        };
        println!(
            "{:>4} {:>4} {:>11}: {:>9.0} c/s ({:+.1}% of {:.0}..{:.0}) disk {:.1} ({:+.1}) lat {:.1} ({:+.1}% of {:.0}..{:.0}) rounds {:.2} undecided {:.3} dropped {} viol {} ev {} {:.3}s",
            cell.chunk_kib,
            cell.disk_mib,
            cell.protocol.name(),
            c,
            off(c, cell.rate),
            cell.rate.low,
            cell.rate.high,
            d,
            dd,
            l,
            off(l, cell.latency),
            cell.latency.low,
            cell.latency.high,
            mean("rounds_per_put"),
            mean("undecided_share"),
            mean("chunks_dropped"),
            mean("violations"),
            outcomes[0].events,
            took
        );
    }
}
