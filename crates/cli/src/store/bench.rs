//! `towtank store bench`: throughput and latency of many clients, each with one request at a time.

// A benchmark reads the clock.
#![allow(clippy::disallowed_methods)]

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::json;
use towtank::Trouble;
use towtank_store::StoreError;
use towtank_store::client::Client;
use towtank_store::settings::Home;
use towtank_streams::{Draws, Purpose, Seed, Uniform as _};

use super::flags::{Bench, Form};
use super::{home, print, span, trouble};
use crate::exit::Exit;
use crate::interrupt;

/// The timeout of a request.
const PATIENCE: Duration = Duration::from_secs(60);

/// The requests of the clients with their latencies.
struct Measured {
    seconds: f64,
    latencies: Vec<Duration>,
}

impl Measured {
    fn rate(&self) -> f64 {
        self.latencies.len() as f64 / self.seconds
    }

    /// A quantile of the latencies in milliseconds; `None` if there was no request.
    fn quantile(&self, share: f64) -> Option<f64> {
        let last = self.latencies.len().checked_sub(1)?;
        let at = (share * last as f64).round() as usize;
        self.latencies.get(at).map(|latency| 1e3 * latency.as_secs_f64())
    }

    fn json(&self) -> serde_json::Value {
        let ms = |share| self.quantile(share);
        json!({
            "requests": self.latencies.len(),
            "requests_per_s": self.rate(),
            "latency_p50_ms": ms(0.5),
            "latency_p99_ms": ms(0.99),
            "latency_max_ms": ms(1.0),
        })
    }

    fn text(&self, what: &str, size: u64) -> String {
        let ms = |share| self.quantile(share).map_or("unknown".to_owned(), |ms| format!("{ms:.2} ms"));
        format!(
            "{what:5}  {:.0} requests/s, {:.1} MiB/s; latency p50 {}, p99 {}, most {}\n",
            self.rate(),
            self.rate() * size as f64 / f64::from(1 << 20),
            ms(0.5),
            ms(0.99),
            ms(1.0)
        )
    }
}

/// Writes new objects for a time, then reads them.
pub fn bench(flags: &Bench) -> Result<Exit, Trouble> {
    let home = home(&flags.place.dir)?;
    let size = flags.size.get();
    let data = noise(usize::try_from(size).unwrap_or(usize::MAX).min(towtank_store::content::DATA_MAX));
    let run = std::process::id();
    let name = |client: u32, number: u64| format!("bench/{run}/{client}/{number}");
    let stop = interrupt::watch();
    let limit = span(flags.time);
    let written = Mutex::new(vec![0_u64; flags.clients as usize]);
    let writes = all(&home, flags.clients, &|id, client, began| {
        let mut latencies = Vec::new();
        while began.elapsed() < limit && !stop.raised() {
            let at = Instant::now();
            client.put(&name(id, latencies.len() as u64), &BTreeMap::new(), &data)?;
            latencies.push(at.elapsed());
        }
        written.lock().expect("no client panics")[id as usize] = latencies.len() as u64;
        Ok(latencies)
    })?;
    let written = written.into_inner().expect("no client panics");
    let reads = all(&home, flags.clients, &|id, client, began| {
        let (mut latencies, count) = (Vec::new(), written[id as usize]);
        while count > 0 && began.elapsed() < limit && !stop.raised() {
            let at = Instant::now();
            let found = client.get(&name(id, latencies.len() as u64 % count))?;
            latencies.push(at.elapsed());
            if found.is_none_or(|object| object.data != data) {
                return Err(StoreError::Refused("an object is not as it was written".to_owned()));
            }
        }
        Ok(latencies)
    })?;
    if !flags.keep {
        all(&home, flags.clients, &|id, client, _| {
            (0..written[id as usize]).try_for_each(|number| client.remove(&name(id, number)).map(drop))?;
            Ok(Vec::new())
        })?;
    }
    let bare = if flags.bare && !stop.raised() { Some(bare(&home, flags, &data, limit)?) } else { None };
    match flags.format {
        Form::Json => print(&format!(
            "{:#}\n",
            json!({
                "clients": flags.clients,
                "bytes": size,
                "writes": writes.json(),
                "reads": reads.json(),
                "bare_writes": bare.as_ref().map(Measured::json),
                "bare_over_store": bare.as_ref().map(|bare| bare.rate() / writes.rate()),
            })
        )),
        Form::Text => print(
            &[
                writes.text("write", size),
                reads.text("read", size),
                bare.map_or_else(String::new, |bare| {
                    let times = bare.rate() / writes.rate();
                    format!("{}the tree alone writes {times:.2} times as many\n", bare.text("bare", size))
                }),
            ]
            .concat(),
        ),
    }?;
    Ok(if stop.raised() { Exit::Interrupted } else { Exit::Done })
}

/// Bytes that no compression shortens.
fn noise(size: usize) -> Vec<u8> {
    let mut draws = Draws::new(Seed(1), 0, 0);
    let mut source = draws.of(Purpose(0));
    let words = std::iter::repeat_with(|| source.next_u64().to_le_bytes());
    words.flatten().take(size).collect()
}

/// The embedded tree alone, in a directory beside those of the daemons, which is removed afterwards.
fn bare(home: &Home, flags: &Bench, data: &[u8], limit: Duration) -> Result<Measured, Trouble> {
    let sync = home.settings().map_err(|error| trouble(error.into()))?.sync;
    let directory = home.path(&format!("bare.{}", std::process::id()));
    let (stop, began) = (interrupt::watch(), Instant::now());
    let found =
        towtank_store::bare::writes(&directory, sync, (flags.clients, data), limit, &|| stop.raised());
    let seconds = began.elapsed().as_secs_f64();
    let removed = std::fs::remove_dir_all(&directory);
    let mut latencies = found.map_err(|error| trouble(error.into()))?;
    removed.map_err(|error| Trouble::failed(format!("`{}`: {error}", directory.display())))?;
    latencies.sort_unstable();
    Ok(Measured { seconds, latencies })
}

type Work<'a> = &'a (dyn Fn(u32, &mut Client, Instant) -> Result<Vec<Duration>, StoreError> + Sync);

/// Runs the work of each client in its own thread.
fn all(home: &Home, clients: u32, work: Work<'_>) -> Result<Measured, Trouble> {
    let began = Instant::now();
    let found: Vec<Result<Vec<Duration>, StoreError>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..clients)
            .map(|id| scope.spawn(move || work(id, &mut Client::open(home, PATIENCE)?, began)))
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no client panics")).collect()
    });
    let seconds = began.elapsed().as_secs_f64();
    let mut latencies = Vec::new();
    for one in found {
        latencies.extend(one.map_err(trouble)?);
    }
    latencies.sort_unstable();
    Ok(Measured { seconds, latencies })
}
