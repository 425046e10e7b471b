//! `towtank bench place`: places random keys on one core and reports lookups per second.
//!
//! The conditions are those under which libch-placement was measured: random 64-bit keys in random order,
//! each looked up once. Only the lookups are timed, not keys and digest; they use `lookup_batch`, in batches
//! that fit the first-level cache.

#![allow(clippy::disallowed_methods, reason = "a bench measures time")]

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Instant;

use clap::Args;
use serde_json::json;
use towtank::Trouble;
use towtank_placement::algorithms::{Algorithm, Arrangement, Cluster, Maglev, Placement, ServerId, hashing};
use towtank_scenario::{Problem, did_you_mean};

use super::phold::Format;
use crate::exit::Exit;
use crate::screen;

/// Flags of `towtank bench place`.
#[derive(Debug, Args)]
pub struct Flags {
    /// An algorithm of the `place` study
    #[arg(long, value_name = "NAME", default_value = "ring")]
    pub algorithm: String,
    /// Servers, all of weight 1
    #[arg(long, value_name = "N", default_value = "1024", value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    pub servers: u32,
    /// Virtual nodes of a server, where the algorithm has any
    #[arg(long, value_name = "N", default_value = "64")]
    pub vnodes: NonZeroU32,
    /// Servers to find for each key
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub replicas: u32,
    /// Keys to place
    #[arg(long, value_name = "N", default_value = "1000000")]
    pub keys: NonZeroU64,
    /// Where the keys come from
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u32,
    /// Text for people, or one JSON object
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: Format,
}

/// Keys per batch: their servers fit the first-level cache.
const BATCH: usize = 1_024;
/// Keys that are generated at once, 32 MiB of them; generation is not timed.
const STRETCH: u64 = 1 << 22;

/// Runs the benchmark.
pub fn run(flags: &Flags) -> Result<Exit, Trouble> {
    let algorithm = Algorithm::named(&flags.algorithm).ok_or_else(|| {
        let names = || Algorithm::ALL.into_iter().map(Algorithm::name);
        let hint = did_you_mean(&flags.algorithm, names())
            .unwrap_or_else(|| format!("the algorithms are {}", names().collect::<Vec<_>>().join(", ")));
        Problem::new(format!("there is no algorithm called `{}`", flags.algorithm)).hint(hint)
    })?;
    if flags.replicas > flags.servers {
        let message = format!("--replicas is {}, but there are {} servers", flags.replicas, flags.servers);
        return Err(Problem::new(message).hint("ask for fewer replicas, or more servers").into());
    }
    let with = Arrangement {
        vnodes: flags.vnodes.get(),
        groups: 65_536,
        slots: Maglev::slots_for(flags.servers),
        replicas: flags.replicas as usize,
        seed: flags.seed,
    };
    let begun = Instant::now();
    let placement = algorithm
        .set_up(&Cluster::equal(flags.servers), &with)
        .map_err(|error| Trouble::input(format!("{} cannot be set up: {error}", algorithm.name())))?;
    let init_seconds = begun.elapsed().as_secs_f64();
    let (seconds, digest) = place_all(&*placement, flags);
    let rate = flags.keys.get() as f64 / seconds;
    let text = match flags.format {
        Format::Json => {
            let object = json!({
                "algorithm": algorithm.name(),
                "servers": flags.servers,
                "vnodes": flags.vnodes,
                "replicas": flags.replicas,
                "keys": flags.keys,
                "seed": flags.seed,
                "placements_per_second": rate,
                "run_seconds": seconds,
                "init_seconds": init_seconds,
                "digest": format!("{digest:016x}"),
            });
            format!("{object:#}\n")
        }
        Format::Text => format!(
            "{:>14.0} placements/s: {} replicas each on {} servers by {}\n{:>14.3} s for {} keys\n{:>14.3} s to set up\n{:016x} digest\n",
            rate,
            flags.replicas,
            flags.servers,
            algorithm.name(),
            seconds,
            flags.keys,
            init_seconds,
            digest,
        ),
    };
    screen::print(&text).map_err(Trouble::failed)?;
    Ok(Exit::Done)
}

/// Seconds of the lookups, and a digest of all servers found, in order.
fn place_all(placement: &dyn Placement, flags: &Flags) -> (f64, u64) {
    let replicas = flags.replicas as usize;
    let salt = hashing::scatter(u64::from(flags.seed));
    let mut places = vec![ServerId::NONE; BATCH * replicas];
    let (mut seconds, mut digest) = (0.0, 0u64);
    let (mut done, all) = (0, flags.keys.get());
    while done < all {
        let end = (done + STRETCH).min(all);
        let keys: Vec<u64> = (done..end).map(|id| hashing::scatter(id ^ salt)).collect();
        for keys in keys.chunks(BATCH) {
            let places = &mut places[..keys.len() * replicas];
            let begun = Instant::now();
            placement.lookup_batch(keys, replicas, places);
            seconds += begun.elapsed().as_secs_f64();
            // In order, so that the digest covers all of them.
            digest = places.iter().fold(digest, |digest, server| digest.rotate_left(5) ^ u64::from(server.0));
        }
        done = end;
    }
    (seconds.max(1e-9), digest)
}
