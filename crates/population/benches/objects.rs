//! Cost per object of its size, its rank, its key, and the inverse look-ups.
//!
//! `cargo bench -p towtank-population --bench objects -- [runs] [objects]`. Times are medians over the runs,
//! in nanoseconds of wall clock per object.

use std::hint::black_box;
use std::time::Instant;

use towtank_population::{Extent, Layout, Population, Preset, SizeHistogram, Thinning};
use towtank_streams::{Purpose, Seed};

fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse::<u64>().ok());
    let runs = numbers.next().unwrap_or(9) as usize;
    let objects = numbers.next().unwrap_or(1_000_000);
    for (name, population) in cases() {
        let count = population.objects();
        // A stride that is coprime to most counts, so that ids are far apart and distinct.
        let ids: Vec<u64> = (0..objects).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) % count).collect();
        println!("{name}: {count} objects, {} files", population.files());
        show("object, in order", runs, objects, || {
            (0..objects).map(|id| population.object(id).size.get()).sum()
        });
        show("object, scattered", runs, objects, || {
            ids.iter().map(|id| population.object(*id).size.get()).sum()
        });
        show("rank", runs, objects, || ids.iter().map(|id| population.rank(*id)).fold(0, u64::wrapping_add));
        show("id of rank", runs, objects, || {
            ids.iter().map(|id| population.id_of_rank(*id)).fold(0, u64::wrapping_add)
        });
        show("key", runs, objects, || ids.iter().map(|id| population.key(*id)).fold(0, u64::wrapping_add));
        let share = 0.003;
        let drawn = Thinning::new(share, Seed(1), Purpose(1));
        show("a drawn id", runs, objects, || drawn.ids(0..(objects as f64 / share) as u64).count() as u64);
    }
}

fn cases() -> Vec<(&'static str, Population)> {
    let bytes = Extent::Bytes(1024 * 20 * (1 << 40));
    let make = |histogram: &SizeHistogram, layout| {
        Population::new(histogram, layout, bytes, Seed(1)).expect("the case is sound")
    };
    let [genomes, mira] = Preset::ALL;
    vec![
        ("1000-genomes", make(&genomes.histogram(), genomes.layout(341))),
        ("mira", make(&mira.histogram(), mira.layout(341))),
        ("mira in chunks", make(&mira.histogram(), Layout::CHUNKS)),
    ]
}

/// Prints the median time per object over the runs.
#[allow(clippy::disallowed_methods, reason = "a bench measures time")]
fn show(what: &str, runs: usize, objects: u64, mut work: impl FnMut() -> u64) {
    let mut times: Vec<f64> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            black_box(work());
            start.elapsed().as_nanos() as f64 / objects as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("  {what:20} {:6.1} ns ({:.1} to {:.1})", times[runs / 2], times[0], times[runs - 1]);
}
