//! `towtank bench`: measures the simulator itself, so that people can compare machines.
//!
//! Each benchmark makes one object of figures, which is printed as JSON or a line a figure. Clocks are read
//! only here. Processor time is that of this thread and memory the peak of the process, if the operating
//! system reports them. Digests depend neither on the machine nor on threads.

#![allow(clippy::disallowed_methods, reason = "a bench measures time")]

use std::fs;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, Subcommand, ValueEnum, value_parser};
use serde::Serialize;
use serde_json::{Value, json};
use towtank::Trouble;
use towtank_kernel::phold::Phold as Model;
use towtank_kernel::{Executor, RunError, RunOptions, UndoBy};
use towtank_placement::algorithms::{Algorithm, Arrangement, Cluster, Maglev, ServerId, hashing};
use towtank_placement::crush::tester::present_weights;
use towtank_placement::crush::{Ask, Map, Mapper, Mappings, Workspace};
use towtank_scenario::{Document, Problem, Setting, did_you_mean};
use towtank_streams::Seed;
use towtank_studies::rebuild::{benchmark, generated::course};
use towtank_study::{RunContext, StopAsked, Study, StudyError};
use towtank_units::{Bytes, SimSpan, SimTime};

use crate::crush::read_either;
use crate::executor_flag::executors;
use crate::exit::Exit;
use crate::{interrupt, screen};

/// `towtank bench`.
#[derive(Debug, Args)]
pub struct Bench {
    #[command(subcommand)]
    what: What,
    /// Text for people, or one JSON object
    #[arg(long, value_name = "FORMAT", default_value = "text", global = true)]
    format: Format,
}

/// What is measured.
#[derive(Debug, Subcommand)]
enum What {
    /// PHOLD, the benchmark of parallel simulators: each event schedules one more
    Phold(Phold),
    /// CRUSH: inputs mapped by a rule of a map
    Crush(Crush),
    /// Placements: lookups of random keys on one core
    Place(Place),
    /// Puts: gateways store chunks with each protocol in turn
    Put(Put),
    /// The published study's largest rebuild: two of 1,024 servers, 3.9 billion replicas
    Rebuild(Rebuild),
}

#[derive(Debug, Args)]
struct Phold {
    /// Logical processes
    #[arg(long, value_name = "N", default_value = "1024")]
    lps: NonZeroU32,
    /// Events each process starts with
    #[arg(long, value_name = "N", default_value = "16")]
    start_events: NonZeroU32,
    /// Probability that an event goes to a process drawn from all, from 0 to 1
    #[arg(long, value_name = "P", default_value_t = 0.25)]
    remote: f64,
    /// Constant part of every delay, in units of a second
    #[arg(long, value_name = "TIME", default_value_t = 0.1)]
    lookahead: f64,
    /// Mean of the whole delay
    #[arg(long, value_name = "TIME", default_value_t = 1.0)]
    mean: f64,
    /// Events at or after this time stay pending
    #[arg(long, value_name = "TIME", default_value_t = 20.0)]
    end: f64,
    #[command(flatten)]
    run: Run,
    /// Dependent integer steps an event takes, to stand for a model's own work
    #[arg(long, value_name = "N", default_value = "0")]
    work: u32,
    /// Events between two looks for messages, of the optimistic executor
    #[arg(long, value_name = "N", default_value = "256")]
    batch: NonZeroU32,
    /// Batches between two computations of global virtual time
    #[arg(long, value_name = "N", default_value = "16")]
    gvt_interval: NonZeroU32,
    /// How the optimistic and the check executor take events back
    #[arg(long, value_name = "HOW", default_value = "inverse")]
    undo: Undo,
}

#[derive(Debug, Args)]
struct Run {
    /// How events are executed; the digest is the same
    #[arg(long, value_name = "NAME", default_value = "sequential", value_parser = executors())]
    executor: Executor,
    /// Threads, for the conservative and the optimistic executor
    #[arg(long, value_name = "N", default_value = "1")]
    workers: NonZeroU32,
    /// Where all random draws come from
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// A line a figure
    Text,
    /// One object
    Json,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Undo {
    /// By PHOLD's hand-written inverse
    Inverse,
    /// By a clone of the process before each event
    Clone,
}

#[derive(Debug, Args)]
struct Crush {
    /// A CRUSH map, binary or text
    #[arg(long, value_name = "FILE")]
    map: PathBuf,
    /// A rule's id or name
    #[arg(long, value_name = "RULE", default_value = "0")]
    rule: String,
    /// Replicas to ask for
    #[arg(long, value_name = "N", default_value = "3", value_parser = value_parser!(u32).range(1..=1024))]
    num_rep: u32,
    /// Inputs to map, from 0 up
    #[arg(long, value_name = "COUNT", default_value = "1000000")]
    inputs: NonZeroU32,
    /// Threads; the digest is the same
    #[arg(long, value_name = "T", default_value = "1", value_parser = value_parser!(u32).range(1..=1024))]
    threads: u32,
}

#[derive(Debug, Args, Serialize)]
struct Place {
    /// An algorithm of the `place` study
    #[arg(long, value_name = "NAME", default_value = "ring")]
    algorithm: String,
    /// Servers, all of weight 1
    #[arg(long, value_name = "N", default_value = "1024", value_parser = value_parser!(u32).range(1..=1_048_576))]
    servers: u32,
    /// Virtual nodes of a server, where the algorithm has any
    #[arg(long, value_name = "N", default_value = "64")]
    vnodes: NonZeroU32,
    /// Servers to find for each key
    #[arg(long, value_name = "N", default_value = "3", value_parser = value_parser!(u32).range(1..=64))]
    replicas: u32,
    /// Keys to place
    #[arg(long, value_name = "N", default_value = "1000000")]
    keys: NonZeroU64,
    /// Where the keys come from
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u32,
}

#[derive(Debug, Args, Serialize)]
struct Put {
    /// Protocols, with commas between them
    #[serde(skip)]
    #[arg(long, value_name = "NAMES", default_value = "uch-ccp,replicast-m,replicast-h")]
    protocol: String,
    /// Gateways
    #[arg(long, value_name = "N", default_value = "90")]
    gateways: NonZeroU32,
    /// Servers
    #[arg(long, value_name = "N", default_value = "90")]
    servers: NonZeroU32,
    /// Size of a chunk
    #[arg(long, value_name = "SIZE", default_value = "128KiB")]
    chunk: String,
    /// How fast disks write
    #[arg(long, value_name = "RATE", default_value = "400MiB/s")]
    disk: String,
    /// How long is simulated, after the warm-up if there is one
    #[arg(long, value_name = "TIME", default_value = "10ms")]
    duration: String,
    /// `surge` or `model`
    #[arg(long, value_name = "NAME", default_value = "surge")]
    fidelity: String,
    /// Where all random draws come from
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
}

#[derive(Debug, Args)]
struct Rebuild {
    /// Servers; the published run has 1024
    #[arg(long, value_name = "N", default_value_t = benchmark::SERVERS, value_parser = value_parser!(u32).range(8..=16_384))]
    servers: u32,
    /// Servers that fail at once; with 2 there are about as many events as were published
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = value_parser!(u32).range(1..=3))]
    fail: u32,
    /// What a server holds
    #[arg(long, value_name = "BYTES", default_value = "60TiB")]
    per_server: Bytes,
    #[command(flatten)]
    run: Run,
}

/// Runs a benchmark and prints its figures; there are none if it was interrupted early.
pub fn run(bench: &Bench) -> Result<Exit, Trouble> {
    let figures = match &bench.what {
        What::Phold(flags) => flags.measure()?,
        What::Crush(flags) => flags.measure()?,
        What::Place(flags) => flags.measure()?,
        What::Put(flags) => flags.measure()?,
        What::Rebuild(flags) => flags.measure()?,
    };
    let text = match bench.format {
        Format::Json => format!("{figures:#}\n"),
        Format::Text => lines("", &figures),
    };
    if !figures.is_null() {
        screen::print(&text).map_err(Trouble::failed)?;
    }
    Ok(if figures.is_null() || figures["partial"] == true { Exit::Interrupted } else { Exit::Done })
}

/// A line a figure; the names of those of an object begin with its name.
fn lines(name: &str, value: &Value) -> String {
    let text = match value {
        Value::Object(figures) => {
            let within = |(figure, value): (&String, &Value)| lines(&format!("{name}{figure} "), value);
            return figures.iter().map(within).collect();
        }
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => format!("{:.4}", number.as_f64().unwrap_or_default()),
        other => other.to_string(),
    };
    format!("{:<22} {text}\n", name.trim_end().replace('_', " "))
}

/// The result of some work and its wall-clock seconds.
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let begun = Instant::now();
    let result = work();
    (result, begun.elapsed().as_secs_f64().max(1e-9))
}

/// Processor time of this thread in nanoseconds.
fn processor_ns() -> Option<u64> {
    fs::read_to_string("/proc/thread-self/schedstat").ok()?.split_whitespace().next()?.parse().ok()
}

/// The peak memory of this process.
fn peak_rss_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// What was given, such as flags, and what was measured, in one object.
fn with(given: &impl Serialize, measured: Value) -> Result<Value, Trouble> {
    let mut figures = serde_json::to_value(given).map_err(Trouble::failed)?;
    if let (Value::Object(figures), Value::Object(mut measured)) = (&mut figures, measured) {
        figures.append(&mut measured);
    }
    Ok(figures)
}

/// A time without a unit, which is in units of a second, in nanoseconds and rounded down.
fn nanoseconds(flag: &str, time: f64) -> Result<u64, Problem> {
    // 2^63 ns, so that a delay added to any time below the end still fits.
    let most = (1u64 << 63) as f64 / 1e9;
    if (0.0..most).contains(&time) {
        return Ok((time * 1e9) as u64);
    }
    let message = format!("--{flag} is {time}, but a time lies from 0 to {most:.0}");
    Err(Problem::new(message).hint("times are in units of a second"))
}

impl Phold {
    fn model(&self) -> Result<Model, Problem> {
        if !(0.0..=1.0).contains(&self.remote) {
            let message = format!("--remote is {}, but a probability lies from 0 to 1", self.remote);
            return Err(Problem::new(message).hint("0.25 is what most published runs use"));
        }
        let (look_ahead, mean) = (nanoseconds("lookahead", self.lookahead)?, nanoseconds("mean", self.mean)?);
        if look_ahead > mean {
            let Phold { lookahead, mean, .. } = self;
            let message = format!("--lookahead is {lookahead}, but the whole delay is {mean} on average");
            return Err(Problem::new(message).hint("set --lookahead to at most --mean"));
        }
        if mean == 0 {
            let message = "--mean is 0, but time must move on for the run to end";
            return Err(Problem::new(message).hint("set --mean above 0; 1 is usual"));
        }
        Ok(Model {
            processes: self.lps.get(),
            start_events: self.start_events.get(),
            remote: self.remote,
            look_ahead: SimSpan::from_ns(look_ahead),
            mean: SimSpan::from_ns(mean),
            work: self.work,
        })
    }

    fn measure(&self) -> Result<Value, Trouble> {
        let model = self.model()?;
        let stop = interrupt::watch();
        let options = RunOptions {
            seed: Seed(self.run.seed),
            end: Some(SimTime::from_ns(nanoseconds("end", self.end)?)),
            executor: self.run.executor,
            workers: self.run.workers.get(),
            undo: Some(match self.undo {
                Undo::Inverse => UndoBy::Inverse,
                Undo::Clone => UndoBy::Clone,
            }),
            batch: self.batch.get(),
            gvt_interval: self.gvt_interval.get(),
            stop: Some(stop.flag()),
            notice: Some(&|notice| screen::say(&format!("note: {notice}\n"))),
            ..RunOptions::default()
        };
        let trouble = |error: RunError| match error {
            RunError::Options(message) => Trouble::input(message),
            error => Trouble::failed(error),
        };
        let (prepared, init_seconds) = timed(|| model.prepare(options));
        let prepared = prepared.map_err(trouble)?;
        let (outcome, run_seconds) = timed(|| Model::run(prepared));
        let outcome = outcome.map_err(trouble)?;
        outcome.notices.iter().for_each(|notice| screen::say(&format!("note: {notice}\n")));
        let run = &outcome.run;
        let measured = json!({
            "events_committed": run.committed,
            "events_executed": run.executed,
            "events_per_second": run.committed as f64 / run_seconds,
            "init_seconds": init_seconds,
            "run_seconds": run_seconds,
            "wall_seconds": init_seconds + run_seconds,
            "efficiency": run.efficiency(),
            "rollbacks": run.rollbacks(),
            "peak_rss_bytes": peak_rss_bytes(),
            "digest": outcome.digest.to_string(),
            "partial": outcome.partial,
        });
        with(&measured, json!(run))
    }
}

impl Crush {
    /// Only the fast mapper is measured, with map and tables prepared.
    fn measure(&self) -> Result<Value, Trouble> {
        let map = read_either(&self.map)?;
        let rule = self.rule_of(&map)?;
        let weights = present_weights(&map).map_err(Trouble::input)?;
        let mapper = map.compile().map_err(Trouble::input)?;
        let ask = Ask { rule, x: 0, result_max: self.num_rep as usize, weights: &weights, pool: 0 };
        let (digest, seconds) = timed(|| self.map_all(&mapper, ask));
        Ok(json!({
            "mappings_per_second": f64::from(self.inputs.get()) / seconds,
            "digest": format!("{digest:016x}"),
            "rule": rule,
            "num_rep": self.num_rep,
            "inputs": self.inputs,
            "threads": self.threads,
            "lanes": format!("{:?}", mapper.lanes()).to_lowercase(),
            "run_seconds": seconds,
        }))
    }

    fn rule_of(&self, map: &Map) -> Result<usize, Problem> {
        let named = map.rule_names.iter().find(|(_, name)| **name == self.rule);
        let id = self.rule.parse().ok().or_else(|| usize::try_from(*named?.0).ok());
        id.filter(|&id| map.rule(id).is_some()).ok_or_else(|| {
            let hint = did_you_mean(&self.rule, map.rule_names.values().map(String::as_str));
            let ids = map.rules.iter().enumerate().filter(|(_, rule)| rule.is_some());
            let ids: Vec<String> = ids.map(|(id, _)| id.to_string()).collect();
            Problem::new(format!("the map has no rule `{}`", self.rule))
                .hint(hint.unwrap_or_else(|| format!("its rules are {}", ids.join(", "))))
        })
    }

    /// The sum over all inputs of a hash of the input's devices, so that threads and their order do not show.
    fn map_all(&self, mapper: &Mapper, ask: Ask<'_>) -> u64 {
        // The number of inputs that are mapped at once.
        const BLOCK: usize = 4_096;
        let share = self.inputs.get().div_ceil(self.threads.min(self.inputs.get()));
        let part = |begin: u32| {
            let (mut workspace, mut found, mut sum) = (Workspace::default(), Mappings::default(), 0u64);
            let end = begin.saturating_add(share).min(self.inputs.get());
            for first in (begin..end).step_by(BLOCK) {
                let inputs: Vec<u32> = (first..end).take(BLOCK).collect();
                mapper.map_all(ask, &inputs, &mut workspace, &mut found);
                let hashes = inputs.iter().zip(found.iter()).map(|(&x, devices)| hash(x, devices));
                sum = hashes.fold(sum, u64::wrapping_add);
            }
            sum
        };
        std::thread::scope(|scope| {
            let begins = (0..self.inputs.get()).step_by(share as usize);
            let workers: Vec<_> = begins.map(|begin| scope.spawn(move || part(begin))).collect();
            let sums = workers.into_iter().map(|worker| worker.join().expect("a mapping does not panic"));
            sums.fold(0, u64::wrapping_add)
        })
    }
}

/// FNV-1a over words, which depends on devices, their order and the input.
fn hash(x: u32, devices: &[i32]) -> u64 {
    let words = devices.iter().map(|&device| device as u32);
    let start = 0xcbf2_9ce4_8422_2325u64;
    words.chain([x]).fold(start, |hash, word| (hash ^ u64::from(word)).wrapping_mul(0x0100_0000_01b3))
}

impl Place {
    /// The conditions are those under which libch-placement was measured: random 64-bit keys in random order,
    /// each looked up once. Only lookups are timed, in batches whose servers fit the first-level cache.
    fn measure(&self) -> Result<Value, Trouble> {
        // Keys that are generated at once, 32 MiB of them, and keys of a batch.
        const STRETCH: u64 = 1 << 22;
        const BATCH: usize = 1_024;
        let algorithm = Algorithm::named(&self.algorithm).ok_or_else(|| {
            let names = || Algorithm::ALL.into_iter().map(Algorithm::name);
            let hint = did_you_mean(&self.algorithm, names())
                .unwrap_or_else(|| format!("the algorithms are {}", names().collect::<Vec<_>>().join(", ")));
            Problem::new(format!("there is no algorithm called `{}`", self.algorithm)).hint(hint)
        })?;
        if self.replicas > self.servers {
            let message = format!("--replicas is {}, but there are {} servers", self.replicas, self.servers);
            return Err(Problem::new(message).hint("ask for fewer replicas, or more servers").into());
        }
        let replicas = self.replicas as usize;
        let slots = Maglev::slots_for(self.servers);
        let arrangement =
            Arrangement { vnodes: self.vnodes.get(), groups: 65_536, slots, replicas, seed: self.seed };
        let (placement, init_seconds) =
            timed(|| algorithm.set_up(&Cluster::equal(self.servers), &arrangement));
        let placement = placement
            .map_err(|error| Trouble::input(format!("{} cannot be set up: {error}", algorithm.name())))?;
        let (salt, all) = (hashing::scatter(u64::from(self.seed)), self.keys.get());
        let mut places = vec![ServerId::NONE; BATCH * replicas];
        let (mut seconds, mut digest, mut done) = (0.0, 0u64, 0);
        while done < all {
            let end = (done + STRETCH).min(all);
            let keys: Vec<u64> = (done..end).map(|id| hashing::scatter(id ^ salt)).collect();
            for keys in keys.chunks(BATCH) {
                let places = &mut places[..keys.len() * replicas];
                seconds += timed(|| placement.lookup_batch(keys, replicas, places)).1;
                // In order, so that the digest covers all of them.
                digest =
                    places.iter().fold(digest, |digest, server| digest.rotate_left(5) ^ u64::from(server.0));
            }
            done = end;
        }
        let measured = json!({
            "placements_per_second": all as f64 / seconds,
            "run_seconds": seconds,
            "init_seconds": init_seconds,
            "digest": format!("{digest:016x}"),
        });
        with(self, measured)
    }
}

impl Put {
    /// Each protocol is checked, run and measured separately, on one core.
    fn measure(&self) -> Result<Value, Trouble> {
        let stop = interrupt::watch();
        let mut protocols = serde_json::Map::new();
        for protocol in self.protocol.split(',').map(str::trim) {
            let figures = self.measure_one(protocol, StopAsked::by(stop.flag()))?;
            if figures.is_null() {
                return Ok(figures);
            }
            protocols.insert(protocol.to_owned(), figures);
        }
        let measured = json!({ "peak_rss_bytes": peak_rss_bytes(), "protocols": protocols });
        with(self, measured)
    }

    fn measure_one(&self, protocol: &str, stop: StopAsked<'_>) -> Result<Value, Trouble> {
        let mut document = Document::of_study("put", Vec::new());
        let mut settings = with(self, json!({ "protocol": protocol }))?;
        let settings = settings.as_object_mut().into_iter().flatten();
        for (name, value) in settings.filter(|setting| setting.0 != "seed") {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let key = name.parse().map_err(Trouble::failed)?;
            document.set(Setting::of_flag(&format!("--{name}"), &key, &value)?)?;
        }
        let outline = document.outline()?;
        let point = outline.points().first().ok_or_else(|| Problem::new("there is no point to run"))?;
        let prepared = towtank_studies::put::Put.check(point.draft())?;
        // Only the first replicate records data for figures, which is not part of the measurement.
        let context = RunContext { stop, ..RunContext::alone(Seed(self.seed), 1) };
        let charged = processor_ns();
        let (outcome, wall_seconds) = timed(|| prepared.run(&context));
        let cpu = charged.zip(processor_ns()).map(|(before, after)| (after - before) as f64 / 1e9);
        let outcome = outcome.map_err(Trouble::failed)?;
        let chunks = outcome.measures.get("puts_measured").and_then(|measure| measure.value());
        if outcome.partial {
            return Ok(Value::Null);
        }
        Ok(json!({
            "cpu_seconds": cpu.unwrap_or(wall_seconds),
            "wall_seconds": wall_seconds,
            "chunks": chunks.unwrap_or(0.0) as u64,
            "events": outcome.events,
            "digest": outcome.digest.unwrap_or_default(),
        }))
    }
}

impl Rebuild {
    /// The work is fixed; placement, the plan and the simulation are all timed.
    fn measure(&self) -> Result<Value, Trouble> {
        if self.per_server.is_zero() {
            let problem = Problem::new("--per-server is 0B, so nothing can be lost");
            return Err(problem.hint("60TiB is what the published study has").into());
        }
        let stop = interrupt::watch();
        let context = RunContext {
            seed: Seed(self.run.seed),
            replicate: 0,
            executor: self.run.executor,
            workers: self.run.workers.get(),
            stop: StopAsked::by(stop.flag()),
            progress: &|_| (),
            notice: &|notice| screen::say(&format!("note: {notice}\n")),
        };
        let (course, wall_seconds) = timed(|| {
            let complete = benchmark::scenario(self.servers, self.fail, &self.per_server.to_string());
            course(&complete, &context, false)
        });
        let trouble = |error: StudyError| match error {
            StudyError::Run(RunError::Options(message)) => Trouble::input(message),
            error => Trouble::failed(error),
        };
        let Some(course) = course.map_err(trouble)? else { return Ok(Value::Null) };
        let recovered = &course.recovered;
        let units = recovered.work.units;
        Ok(json!({
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
        }))
    }
}
