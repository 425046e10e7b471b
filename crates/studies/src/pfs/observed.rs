//! The results of one replicate, and its measures.

use serde::{Deserialize, Serialize};
use towtank_metrics::Histogram;
use towtank_pfs::{Counts, Entity, Pfs, Work};
use towtank_units::{SimSpan, SimTime};

use super::scenario::Settled;
use towtank_study::{Measure, Value};

/// The results of one run; only its last phase is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The applications, in the order of the scenario.
    pub applications: Vec<Application>,
    /// The start of the measured phase, in seconds.
    pub began: f64,
    /// The end of its last request, in seconds; none where some were not done.
    pub ended: Option<f64>,
    /// The length of the measured part, in seconds.
    pub measured: f64,
    /// Bytes per second of each client that moved any, over the time until its last request was done.
    pub clients: Vec<f64>,
    /// The data servers.
    pub servers: Vec<Server>,
    /// Pages that readers found in memory, and pages that were read from disk for them.
    pub pages: (u64, u64),
    /// How often writers had to write pages back.
    pub throttled: u64,
    /// The mean wait of requests at metadata servers, in seconds.
    pub metadata_wait: Option<f64>,
    /// Messages that were lost.
    pub lost: u64,
    /// Bytes that readers found in their clients' caches, and bytes that were read from servers for them.
    #[serde(default)]
    pub kept: (u64, u64),
    /// How often writers waited for their clients' caches.
    #[serde(default)]
    pub held: u64,
    /// The share of time for which a client's NIC was busy in its busier direction, averaged over clients.
    pub client_cards: f64,
    /// The same share for its processor.
    pub client_processors: f64,
    /// The same share for the threads of a metadata server; none where it serves any number at once.
    pub metadata: Option<f64>,
    /// The share of time for which each router was busy in its busier direction.
    #[serde(default)]
    pub routers: Vec<f64>,
    /// The length of a sample, in seconds: that of the scenario, doubled until a run has no more samples than
    /// [`towtank_pfs::INTERVALS_MAX`].
    pub sample: f64,
}

/// The results of one application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Application {
    /// Its name.
    pub name: String,
    /// Its weight.
    pub weight: u32,
    /// Requests that were done.
    pub requests: u64,
    /// Bytes that its requests moved.
    pub bytes: u64,
    /// Latencies of its requests, in nanoseconds.
    pub latencies: Histogram,
    /// When its last request was done, in seconds.
    pub last: f64,
    /// Bytes that servers moved for it in each sample from the beginning of the measured phase.
    pub samples: Vec<u64>,
    /// Its mean latency when it ran alone, in seconds.
    pub alone: Option<f64>,
}

/// The work of one data server in the measured phase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Server {
    /// The share of time for which its disk was busy.
    pub disk: f64,
    /// The share of time for which its NIC was sending.
    pub sent: f64,
    /// The share of time for which its NIC was receiving.
    pub received: f64,
    /// The share of time for which it copied pages.
    pub memory: f64,
    /// The mean number of jobs at it.
    pub depth: f64,
    /// Bytes of its finished jobs.
    #[serde(default)]
    pub bytes: u64,
}

impl Run {
    /// The results of a run of this work.
    #[must_use]
    pub fn of(settled: &Settled, work: &Work, run: &towtank_kernel::Outcome<Pfs<'_>>) -> Run {
        let counts: Counts = run.merged_statistics();
        let phase = (work.phases() - 1) as u16;
        let seconds = |at: SimTime| at.since(SimTime::ZERO).as_secs_f64();
        let began = counts.began.get(&phase).copied().unwrap_or(run.now);
        let wanted = |number: usize| {
            let application = &work.applications()[number];
            let first: u32 = work.applications()[..number].iter().map(|one| one.clients).sum();
            (first..first + application.clients)
                .map(|client| application.requests(application.phases[usize::from(phase)], work.rank(client)))
                .sum::<u64>()
        };
        let sample = counts.interval(settled.sample);
        let mut all_done = counts.began.contains_key(&phase);
        let applications: Vec<Application> = settled
            .applications
            .iter()
            .enumerate()
            .map(|(number, (name, application))| {
                let done = counts.done.get(&(phase, number as u16)).cloned().unwrap_or_default();
                all_done &= done.requests == wanted(number);
                Application {
                    name: name.clone(),
                    weight: application.weight,
                    requests: done.requests,
                    bytes: done.bytes,
                    latencies: done.latencies,
                    last: seconds(done.last),
                    samples: samples(&counts, number as u16, began, sample),
                    alone: None,
                }
            })
            .collect();
        let last = applications.iter().map(|one| one.last).fold(seconds(began), f64::max);
        let until = if all_done { last } else { seconds(run.now) };
        let measured = (until - seconds(began)).max(0.0);
        Run {
            clients: clients(run, phase, seconds(began)),
            servers: servers(run, until, measured),
            client_cards: of_clients(run, |client| {
                let sent = client.card.out.busy.as_secs_f64() - client.mark.sent.as_secs_f64();
                let received = client.card.received().as_secs_f64() - client.mark.received.as_secs_f64();
                share_of(sent.max(received), measured)
            }),
            client_processors: of_clients(run, |client| {
                share_of(client.cpu.busy.as_secs_f64() - client.mark.own.as_secs_f64(), measured)
            }),
            metadata: metadata(run, measured),
            routers: routers(run, measured),
            applications,
            began: seconds(began),
            ended: all_done.then_some(last),
            measured,
            pages: (counts.pages_here, counts.pages_missing),
            throttled: counts.throttled,
            metadata_wait: counts.metadata.mean().map(|mean| mean / 1e9),
            lost: counts.lost,
            kept: (counts.kept_here, counts.kept_missing),
            held: counts.held,
            sample: sample.as_secs_f64(),
        }
    }

    /// The number of whole samples during which every application with any requests still had work.
    #[must_use]
    fn common_samples(&self) -> usize {
        let asked = || self.applications.iter().filter(|one| one.bytes > 0);
        let first = asked().map(|one| one.last).fold(f64::INFINITY, f64::min);
        if !first.is_finite() || self.sample <= 0.0 {
            return 0;
        }
        let first = if self.ended.is_some() { first } else { self.began + self.measured };
        ((first - self.began) / self.sample).floor().max(0.0) as usize
    }

    /// The share of an application in each of those samples; samples in which nothing was done are left out.
    #[must_use]
    pub fn shares(&self, number: usize) -> Vec<f64> {
        let bytes = |one: &Application, at: usize| one.samples.get(at).copied().unwrap_or(0);
        (0..self.common_samples())
            .filter_map(|at| {
                let all: u64 = self.applications.iter().map(|one| bytes(one, at)).sum();
                (all > 0).then(|| bytes(&self.applications[number], at) as f64 / all as f64)
            })
            .collect()
    }

    /// Latencies of all applications together.
    #[must_use]
    pub fn latencies(&self) -> Histogram {
        let mut all = Histogram::new();
        self.applications.iter().for_each(|one| all.merge(&one.latencies));
        all
    }

    fn bytes(&self) -> u64 {
        self.applications.iter().map(|one| one.bytes).sum()
    }

    fn throughput(&self) -> Value {
        if self.measured > 0.0 { Ok(self.bytes() as f64 / self.measured) } else { Err(NOTHING.to_owned()) }
    }

    fn jain(&self) -> Value {
        let moving = || (0..self.applications.len()).filter(|&number| self.applications[number].bytes > 0);
        let got: Vec<f64> = if moving().count() > 1 {
            let by_weight = |number: usize| {
                Some(mean(&self.shares(number))? / f64::from(self.applications[number].weight))
            };
            moving().map(by_weight).collect::<Option<_>>().ok_or(NO_SAMPLE)?
        } else {
            self.clients.clone()
        };
        let squares: f64 = got.iter().map(|one| one * one).sum();
        let sum: f64 = got.iter().sum();
        let index = sum * sum / (got.len() as f64 * squares);
        if index.is_finite() { Ok(index.min(1.0)) } else { Err("no bytes were moved".to_owned()) }
    }

    fn busy_routers(&self) -> Result<&[f64], String> {
        if self.measured > 0.0 { Ok(&self.routers) } else { Err(NOTHING.to_owned()) }
    }

    fn of_servers(&self, value: impl Fn(&Server) -> f64) -> Value {
        if self.measured > 0.0 {
            Ok(self.servers.iter().map(value).sum::<f64>() / self.servers.len().max(1) as f64)
        } else {
            Err(NOTHING.to_owned())
        }
    }
}

/// Bytes in each sample from the beginning of the measured phase on. Samples lie at multiples of their
/// length; the first whole one comes first.
fn samples(counts: &Counts, application: u16, began: SimTime, sample: SimSpan) -> Vec<u64> {
    let first = began.as_ns().div_ceil(sample.as_ns().max(1)).min(u64::from(u32::MAX)) as u32;
    let mut found = Vec::new();
    for (&(_, bin), &bytes) in counts.served.range((application, first)..=(application, u32::MAX)) {
        found.resize((bin - first) as usize + 1, 0);
        found[(bin - first) as usize] = bytes;
    }
    found
}

fn clients(run: &towtank_kernel::Outcome<Pfs<'_>>, phase: u16, began: f64) -> Vec<f64> {
    let mut rates = Vec::new();
    for (entity, counts) in run.entities.iter().zip(&run.statistics) {
        if !matches!(entity, Entity::Client(_)) {
            continue;
        }
        let done = counts.done.iter().filter(|((of, _), _)| *of == phase);
        for (_, done) in done.filter(|(_, done)| done.bytes > 0) {
            let span = done.last.since(SimTime::ZERO).as_secs_f64() - began;
            rates.push(done.bytes as f64 / span);
        }
    }
    rates
}

fn servers(run: &towtank_kernel::Outcome<Pfs<'_>>, until: f64, measured: f64) -> Vec<Server> {
    let of = |entity: &Entity| {
        let Entity::Server(server) = entity else { return None };
        let share =
            |busy: SimSpan, before: SimSpan| share_of(busy.as_secs_f64() - before.as_secs_f64(), measured);
        let at = SimTime::ZERO.saturating_add(SimSpan::from_ns((until * 1e9).round() as u64));
        Some(Server {
            disk: share(server.disk.busy_at(run.now), server.mark.own),
            memory: share(server.memory.busy, server.mark.memory),
            sent: share(server.card.out.busy, server.mark.sent),
            received: share(server.card.received(), server.mark.received),
            depth: depth_over(server.depth.area_at(at.max(run.now)), measured),
            bytes: server.moved - server.mark.moved,
        })
    };
    run.entities.iter().filter_map(of).collect()
}

fn routers(run: &towtank_kernel::Outcome<Pfs<'_>>, measured: f64) -> Vec<f64> {
    let of = |entity: &Entity| {
        let Entity::Router(router) = entity else { return None };
        let to_servers = router.to_servers.busy.as_secs_f64() - router.mark.sent.as_secs_f64();
        let to_clients = router.to_clients.busy.as_secs_f64() - router.mark.received.as_secs_f64();
        Some(share_of(to_servers.max(to_clients), measured))
    };
    run.entities.iter().filter_map(of).collect()
}

/// The mean number of jobs over the measured time. Timers and messages that end later, when no job is left,
/// do not count.
fn depth_over(job_ns: u128, measured_s: f64) -> f64 {
    if measured_s > 0.0 { job_ns as f64 / 1e9 / measured_s } else { 0.0 }
}

/// The share of a time for which something was busy; 0 for a time of zero. Work in progress reaches beyond
/// the end, so the share is limited to 1.
fn share_of(busy_s: f64, measured_s: f64) -> f64 {
    if measured_s > 0.0 { (busy_s / measured_s).clamp(0.0, 1.0) } else { 0.0 }
}

fn of_clients(run: &towtank_kernel::Outcome<Pfs<'_>>, value: impl Fn(&towtank_pfs::Client) -> f64) -> f64 {
    let values: Vec<f64> = run
        .entities
        .iter()
        .filter_map(|entity| match entity {
            Entity::Client(client) => Some(value(client)).filter(|value| value.is_finite()),
            _ => None,
        })
        .collect();
    mean(&values).unwrap_or(0.0)
}

fn metadata(run: &towtank_kernel::Outcome<Pfs<'_>>, measured: f64) -> Option<f64> {
    let values: Vec<f64> = run
        .entities
        .iter()
        .filter_map(|entity| match entity {
            Entity::Metadata(server) if !server.threads.is_empty() => {
                let busy = server.busy.as_secs_f64() - server.before.as_secs_f64();
                Some(share_of(busy / server.threads.len() as f64, measured))
            }
            _ => None,
        })
        .filter(|share| share.is_finite())
        .collect();
    mean(&values)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The results of one replicate.
pub struct Seen {
    /// The run.
    pub run: Run,
}

/// The kept results of a replicate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// The run.
    pub run: Run,
}

const NOTHING: &str = "no request of the measured phase was done";
const NO_SAMPLE: &str = "no whole sample has requests of all applications";

fn quantile(latencies: &Histogram, q: f64) -> Value {
    latencies.quantile(q).map(|estimate| estimate.at_most / 1e9).ok_or_else(|| NOTHING.to_owned())
}

fn average(latencies: &Histogram) -> Value {
    latencies.mean().map(|mean| mean / 1e9).ok_or_else(|| NOTHING.to_owned())
}

/// The measures that every scenario has.
pub fn measures() -> Vec<Measure<Seen>> {
    let mut all = of_requests();
    all.extend(of_parts());
    all
}

/// The measures of requests.
fn of_requests() -> Vec<Measure<Seen>> {
    vec![
        Measure::new(
            "throughput_bytes_per_s",
            "bytes/s",
            "bytes of all requests per second of the measured phase",
            |seen: &Seen| seen.run.throughput(),
        )
        .titled("Throughput of all clients"),
        Measure::new(
            "requests_per_s",
            "requests/s",
            "requests done per second of the measured phase",
            |seen: &Seen| {
                let done: u64 = seen.run.applications.iter().map(|one| one.requests).sum();
                if seen.run.measured > 0.0 {
                    Ok(done as f64 / seen.run.measured)
                } else {
                    Err(NOTHING.to_owned())
                }
            },
        ),
        Measure::new(
            "makespan_s",
            "s",
            "time from the beginning of the measured phase to the end of its last request",
            |seen: &Seen| {
                let ended = seen.run.ended.ok_or("the run ended before all requests were done")?;
                Ok(ended - seen.run.began)
            },
        )
        .titled("Time until all requests are done"),
        Measure::new("latency_mean_s", "s", "mean latency of a request", |seen: &Seen| {
            average(&seen.run.latencies())
        })
        .titled("Mean latency of requests"),
        Measure::new(
            "latency_p99_s",
            "s",
            "99th percentile of the latency of requests, rounded up by at most 0.8 %",
            |seen: &Seen| quantile(&seen.run.latencies(), 0.99),
        )
        .titled("Latency of requests, 99th percentile"),
        Measure::new(
            "jain_index",
            "fraction",
            "fairness of the shares of applications by weight, or of clients: 1 is even",
            |seen: &Seen| seen.run.jain(),
        )
        .titled("Jain's fairness index"),
    ]
}

/// The measures of the parts of the file system.
fn of_parts() -> Vec<Measure<Seen>> {
    vec![
        Measure::new(
            "cache_hit_share",
            "fraction",
            "share of the pages read that were found in memory",
            |seen: &Seen| match seen.run.pages {
                (0, 0) => Err("nothing was read through a page cache".to_owned()),
                (here, missing) => Ok(here as f64 / (here + missing) as f64),
            },
        )
        .titled("Share of pages found in the servers' caches"),
        Measure::new(
            "disk_busy",
            "fraction",
            "share of time that a disk is busy, mean of all",
            |seen: &Seen| seen.run.of_servers(|one| one.disk),
        ),
        Measure::new(
            "network_busy",
            "fraction",
            "share of time that a server's NIC is busy in its busier direction, mean of all",
            |seen: &Seen| seen.run.of_servers(|one| one.sent.max(one.received)),
        ),
        Measure::new(
            "queue_depth_mean",
            "jobs",
            "jobs at a data server, mean over time and servers",
            |seen: &Seen| seen.run.of_servers(|one| one.depth),
        ),
        Measure::new(
            "metadata_wait_mean_s",
            "s",
            "mean wait of a request in the queue of a metadata server",
            |seen: &Seen| {
                seen.run.metadata_wait.ok_or_else(|| "no request went to a metadata server".to_owned())
            },
        ),
        Measure::new(
            "writers_throttled",
            "times",
            "times that a writer had to write dirty pages back first",
            |seen: &Seen| Ok(seen.run.throttled as f64),
        ),
        Measure::new("messages_lost", "messages", "messages that were lost and sent again", |seen: &Seen| {
            Ok(seen.run.lost as f64)
        }),
    ]
}

/// The measures of routers.
fn of_routers() -> Vec<Measure<Seen>> {
    vec![
        Measure::new(
            "router_busy",
            "fraction",
            "share of time that a router is busy in its busier direction, mean of all",
            |seen: &Seen| Ok(mean(seen.run.busy_routers()?).unwrap_or(0.0)),
        ),
        Measure::new(
            "router_busy_max",
            "fraction",
            "share of time that the busiest router is busy in its busier direction",
            |seen: &Seen| Ok(seen.run.busy_routers()?.iter().copied().fold(0.0, f64::max)),
        ),
    ]
}

/// The measures of clients' caches.
fn of_client_caches() -> Vec<Measure<Seen>> {
    vec![
        Measure::new(
            "client_cache_hit_share",
            "fraction",
            "share of the bytes read that were found in the client's own cache",
            |seen: &Seen| match seen.run.kept {
                (0, 0) => Err("nothing was read through a client's cache".to_owned()),
                (here, missing) => Ok(here as f64 / (here + missing) as f64),
            },
        )
        .titled("Share of bytes found in the clients' caches"),
        Measure::new(
            "client_writes_held",
            "requests",
            "writes that waited for room for dirty bytes in their client's cache",
            |seen: &Seen| Ok(seen.run.held as f64),
        ),
    ]
}

/// The measures of every scenario, those of clients' caches where there are any, and those of each
/// application where there are several.
pub fn measures_of(settled: &Settled) -> Vec<Measure<Seen>> {
    let mut all = measures();
    if settled.client.cache.is_some() {
        all.extend(of_client_caches());
    }
    if settled.network.routers.is_some() {
        all.extend(of_routers());
    }
    let names = settled.names();
    if names.len() < 2 {
        return all;
    }
    for (number, name) in names.into_iter().enumerate() {
        let named = |measure: &str| format!("{measure}[{name}]");
        all.push(Measure::new(
            named("share"),
            "fraction",
            "its share of the bytes that servers moved, while all applications had requests",
            move |seen: &Seen| mean(&seen.run.shares(number)).ok_or_else(|| NO_SAMPLE.to_owned()),
        ));
        all.push(Measure::new(
            named("share_sd"),
            "",
            "the standard deviation of its share over the samples",
            move |seen: &Seen| deviation(&seen.run.shares(number)).ok_or_else(|| NO_SAMPLE.to_owned()),
        ));
        all.push(Measure::new(
            named("throughput_bytes_per_s"),
            "bytes/s",
            "bytes of its requests per second, until its last one was done",
            move |seen: &Seen| {
                let one = &seen.run.applications[number];
                let span =
                    if seen.run.ended.is_some() { one.last - seen.run.began } else { seen.run.measured };
                if span > 0.0 { Ok(one.bytes as f64 / span) } else { Err(NOTHING.to_owned()) }
            },
        ));
        all.push(Measure::new(
            named("latency_mean_s"),
            "s",
            "mean latency of its requests",
            move |seen: &Seen| average(&seen.run.applications[number].latencies),
        ));
        all.push(Measure::new(
            named("latency_p99_s"),
            "s",
            "99th percentile of the latency of its requests, rounded up by at most 0.8 %",
            move |seen: &Seen| quantile(&seen.run.applications[number].latencies, 0.99),
        ));
        all.push(Measure::new(
            named("slowdown"),
            "ratio",
            "its mean latency with the others over its mean latency alone",
            move |seen: &Seen| {
                let one = &seen.run.applications[number];
                let alone = one.alone.ok_or(NOT_ALONE)?;
                Ok(average(&one.latencies)? / alone)
            },
        ));
    }
    all
}

/// Why this scenario has no value of a measure, whatever happens in its runs.
#[must_use]
pub fn lacks(settled: &Settled, measure: &str) -> Option<&'static str> {
    (measure.starts_with("slowdown[") && !settled.alone).then_some(NOT_ALONE)
}

const NOT_ALONE: &str = "it was not run alone (set `alone`)";

/// The standard deviation of samples.
fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}
