//! A parallel file system with all defaults filled in: an estimate of its memory, and the default length of a
//! sample.

use towtank_devices::drives;
use towtank_scenario::{Draft, Problems, did_you_mean};
use towtank_units::{Bytes, Percent, SimSpan};

use super::{Application, Filled, Replays, Scenario, Sharing, Workload};

/// A scenario with all defaults filled in.
pub type Settled = Scenario<Filled>;

impl Settled {
    /// A hundredth of a lower bound on the measured phase (by the servers' disks, NICs or page copies, by the
    /// steps of a client's requests, or by the times of a trace); at least 1 ms.
    #[must_use]
    pub(crate) fn hundredth(&self, replays: &Replays) -> SimSpan {
        let bytes: f64 = self.loads(replays).map(|load| load.bytes).sum();
        let recorded = replays.values().map(|one| one.span().as_secs_f64()).fold(0.0, f64::max);
        let disk = self.disk.read.bytes_per_second().max(self.disk.write.bytes_per_second()) as f64;
        let card = self.network.card.bytes_per_second() as f64;
        let all = f64::from(self.servers) * disk.min(card);
        let copies = self.page_copies_s(replays) / f64::from(self.servers);
        let generated = self.applications.iter().filter(|(name, _)| !replays.contains_key(*name));
        let steps = generated.map(|(_, one)| self.steps_s(one)).fold(0.0, f64::max);
        let taken = (bytes / all).max(recorded).max(copies).max(steps);
        let seconds = self.duration.map_or(taken, |most| most.as_secs_f64().min(taken));
        // Sizes that a later check refuses make it longer than any span.
        let us = ((seconds / 100.0 * 1e6) as u64).max(1_000);
        SimSpan::from_us(1).checked_mul(us).unwrap_or(SimSpan::MAX)
    }

    /// Seconds that all servers together copy pages to and from their caches.
    fn page_copies_s(&self, replays: &Replays) -> f64 {
        if self.cache.direct {
            return 0.0;
        }
        let (read, write) = (self.cache.read_page.as_secs_f64(), self.cache.write_page.as_secs_f64());
        let of = |(one, load): (&Application<Filled>, Load)| {
            let read_share = match one.workload {
                _ if one.trace.is_some() => return load.bytes * read.min(write),
                Workload::Read => 1.0,
                Workload::Mix => one.read_share.fraction_f64(),
                _ => 0.0,
            };
            load.bytes * (read_share * read + (1.0 - read_share) * write * f64::from(self.replicas))
        };
        let all: f64 = self.applications.values().zip(self.loads(replays)).map(of).sum();
        all / towtank_pfs::PAGE as f64
    }

    /// The least time in seconds in which the clients of an application issue their requests: at their rate,
    /// or one after the other with the rest and the steps of each.
    fn steps_s(&self, one: &Application<Filled>) -> f64 {
        let each = one.requests() / f64::from(one.clients.max(1));
        if let Some(rate) = one.arrival_rate.filter(|rate| !rate.is_zero()) {
            return each / rate.per_second_f64();
        }
        let [think, request, job] =
            [one.think_time, self.client.request_cost, self.client.job_cost].map(SimSpan::as_secs_f64);
        let processor = each * (request + job);
        // What a client's cache holds needs no server.
        let at_servers = if self.client.cache.is_some() {
            0.0
        } else {
            let [latency, before, after, disk] =
                [self.network.latency, self.server.before, self.server.after, self.disk.overhead]
                    .map(SimSpan::as_secs_f64);
            2.0 * latency + before + after + if self.cache.direct { disk } else { 0.0 }
        };
        let in_a_row = (each / f64::from(one.flows.max(1))).ceil();
        processor.max((in_a_row - 1.0) * think + in_a_row * (request + job + at_servers))
    }

    pub(super) fn check(&self, draft: &Draft, replays: &Replays, problems: &mut Problems) {
        let zero = [
            ("sample", self.sample.is_zero()),
            ("server.part", self.server.part.is_zero()),
            ("client.window", self.client.window.is_zero()),
            ("network.slice", self.network.slice.is_some_and(Bytes::is_zero)),
        ];
        for (key, _) in zero.into_iter().filter(|(_, zero)| *zero) {
            problems.refuse(draft, key, format!("`{key}` is 0"), "set it above zero");
        }
        for (key, share) in [("disk.jitter", self.disk.jitter), ("network.loss", self.network.loss)] {
            if share >= Percent::FULL {
                let message = format!("`{key}` is {share}, but it must be below 100%");
                problems.refuse(draft, key, message, "even 10% is a high value");
            }
        }
        let routers = self.network.routers;
        if routers == Some(0) || routers.is_none() && self.network.router_rate.is_some() {
            let (key, message) = match routers {
                Some(_) => ("network.routers", "`network.routers` is 0"),
                None => ("network.router_rate", "`network.router_rate` is set, but there are no routers"),
            };
            let hint = "set `network.routers` to their number, or leave both out";
            problems.refuse(draft, key, message.to_owned(), hint);
        }
        self.client.check(draft, problems);
        self.check_gates(draft, problems);
        self.check_rules(draft, problems);
        if self.cache.dirty > self.cache.size {
            let message =
                format!("`cache.dirty` is {}, but the cache holds {}", self.cache.dirty, self.cache.size);
            problems.refuse(draft, "cache.dirty", message, "a fifth of the cache is usual");
        }
        let requests: f64 = self.loads(replays).map(|load| load.requests).sum();
        if requests > REQUESTS_MAX {
            let message =
                format!("the applications make {requests:.0} requests, but the limit is {REQUESTS_MAX:.0}");
            let hint = "set fewer `files`, a smaller `file_size`, or a larger `request_size`";
            problems.refuse(draft, "files", message, hint);
        }
        let flows = self.flows();
        for description in &self.schedulers {
            if let Err(error) = description.build::<u32>(&flows) {
                problems.refuse(draft, "scheduler", error.to_string(), "give each application a weight");
            }
        }
        if let Some(name) = self.disk.drive.as_deref().filter(|name| drives::DiskModel::named(name).is_none())
        {
            let known = drives::DiskModel::NAMES;
            let message = format!("`disk.drive` is `{name}`, but there is no such drive");
            let meant = did_you_mean(name, known).map_or_else(String::new, |meant| format!("{meant} "));
            let hint = format!("{meant}known drives are {}", known.join(", "));
            problems.refuse(draft, "disk.drive", message, hint);
        } else if let Err(error) = self.disk.spec().model.check() {
            let message = format!("`disk.capacity` is {}: {error}", self.disk.capacity);
            problems.refuse(draft, "disk.capacity", message, "16GiB is the default");
        }
        self.check_applications(draft, problems);
    }

    fn check_applications(&self, draft: &Draft, problems: &mut Problems) {
        for (name, one) in &self.applications {
            for (key, zero) in [
                ("file_size", one.file_size.is_zero()),
                ("request_size", one.request_size.is_zero()),
                ("flows", one.flows == 0),
                ("files", one.files == 0),
            ] {
                if zero {
                    let message = format!("`{key}` of `{name}` is 0");
                    problems.refuse(draft, "applications", message, "give at least 1");
                }
            }
            if one.request_rate.is_some_and(|rate| rate.per_second_f64() < 1.0) {
                let rate = one.request_rate.map_or_else(String::new, |rate| rate.to_string());
                let message =
                    format!("`request_rate` of `{name}` is {rate}, less than one request per second");
                problems.refuse(draft, "applications", message, "set a whole number from 1/s");
            }
            if let (Some(reservation), Some(limit)) = (one.reservation, one.limit)
                && reservation > limit
            {
                let message =
                    format!("`reservation` of `{name}` is {reservation}, more than its `limit` of {limit}");
                problems.refuse(draft, "applications", message, "reserve no more than the limit");
            }
            if one.read_share > Percent::FULL {
                let message = format!("`read_share` of `{name}` is {}, more than 100%", one.read_share);
                problems.refuse(draft, "applications", message, "set it to at most 100%");
            }
        }
    }

    /// The names of the applications, in the order of their numbers.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.applications.keys().map(String::as_str).collect()
    }

    /// The load of each application.
    fn loads(&self, replays: &Replays) -> impl Iterator<Item = Load> {
        self.applications.iter().map(|(name, one)| match replays.get(name) {
            Some(replay) => {
                let requests = replay.records().len() as f64;
                let request_bytes = replay.bytes().div_ceil((replay.records().len() as u64).max(1));
                let (files, bytes) = (f64::from(replay.files()), replay.bytes() as f64);
                Load { requests, bytes, files, file_bytes: u64::MAX, request_bytes }
            }
            None => Load {
                requests: one.requests(),
                bytes: one.bytes(),
                files: one.all_files(),
                file_bytes: one.file_size.get(),
                request_bytes: one.request_size.get(),
            },
        })
    }

    /// An estimate of the memory of a replicate: ranges of pages at servers, files that clients and servers
    /// know, jobs under way, clients, samples of servers, and the records of traces.
    #[must_use]
    pub fn memory(&self, replays: &Replays) -> Bytes {
        let (mut ranges, mut files, mut jobs, mut clients) = (0.0, 0.0, 0.0, 0.0);
        let copies = f64::from(self.replicas);
        let components = self.components();
        for (one, load) in self.applications.values().zip(self.loads(replays)) {
            let parts = |bytes: u64| {
                let of = |one: &towtank_pfs::Component| {
                    let stripes = bytes.div_ceil(one.stripe.max(1)) as f64;
                    stripes.clamp(1.0, f64::from(one.count))
                };
                components.iter().map(of).fold(1.0, f64::max)
            };
            ranges += load.requests * parts(load.request_bytes) * copies;
            files += load.files * (1.0 + parts(load.file_bytes) * copies);
            let own = load.requests / f64::from(one.clients.max(1));
            let at_once = f64::from(one.flows).min(own);
            jobs += f64::from(one.clients) * at_once * parts(load.request_bytes) * copies;
            clients += f64::from(one.clients);
        }
        let least = self.stripe.get().min(self.server.part.get()).max(towtank_pfs::PAGE) as f64;
        let cached = f64::from(self.servers) * self.cache.size.get() as f64 / least;
        let kept = if self.cache.direct { 0.0 } else { ranges.min(cached) };
        // An SSD has a map of its pages.
        let flash = match self.disk.spec().model {
            drives::DiskModel::Ssd(spec) => {
                f64::from(self.servers) * spec.capacity.get() as f64 / FLASH_PER_BYTE
            }
            _ => 0.0,
        };
        // A client's cache has a range for each request that it holds.
        let held = self.client.cache.as_ref().map_or(0.0, |cache| {
            let loads = self.applications.values().zip(self.loads(replays));
            let of = |(one, load): (&Application<Filled>, Load)| {
                let fits = cache.size.get() as f64 / load.request_bytes.max(1) as f64;
                f64::from(one.clients) * fits.min(load.requests / f64::from(one.clients.max(1)))
            };
            loads.map(of).sum()
        });
        let intervals = f64::from(self.servers)
            * (self.applications.len() as f64)
            * f64::from(towtank_pfs::INTERVALS_MAX);
        let known = RANGE * kept + FILE * files + HELD * held + SAMPLE * ranges.min(intervals);
        let records: usize = replays.values().map(|one| one.records().len()).sum();
        let recorded = RECORD * records as f64;
        Bytes::new((PROGRAM + known + recorded + JOB * jobs + CLIENT * clients + flash) as u64)
    }
}

/// The maximum number of requests of a scenario: some hours of computing.
const REQUESTS_MAX: f64 = 1e10;
/// Bytes of a small run. This and the following values were measured: 192,000 small files, 51,200 and 410,000
/// jobs at once, 30,000 clients, and the paper's read test.
const PROGRAM: f64 = 3_000_000.0;
/// Bytes per range of pages in a cache, with its places in the orders.
const RANGE: f64 = 90.0;
/// Bytes per range in a client's cache: its two places in trees, half full.
const HELD: f64 = 200.0;
/// Bytes per sample of an application at a server: an entry of a tree, half full.
const SAMPLE: f64 = 40.0;
/// Bytes per known file, at a client and at each server.
const FILE: f64 = 20.0;
/// Bytes per job under way, with its events: 140 to 430 were measured.
const JOB: f64 = 300.0;
/// Bytes per client.
const CLIENT: f64 = 1_900.0;
/// Bytes per record of a trace.
const RECORD: f64 = size_of::<towtank_pfs::Record>() as f64;
/// Bytes of flash per byte of its map, by its layout: 8 bytes per page of 8 KiB, and 7 % spare.
const FLASH_PER_BYTE: f64 = 8_192.0 / 8.56;

/// The load of an application in the measured phase, generated or recorded.
struct Load {
    requests: f64,
    bytes: f64,
    files: f64,
    /// Bytes per file; no bound where a trace does not give it.
    file_bytes: u64,
    /// Mean bytes per request.
    request_bytes: u64,
}

impl Application<Filled> {
    fn all_files(&self) -> f64 {
        let own = if self.sharing == Sharing::Own { f64::from(self.clients) } else { 1.0 };
        own * self.files as f64
    }

    /// Bytes of all its files.
    fn bytes(&self) -> f64 {
        self.all_files() * self.file_size.get() as f64
    }

    /// Requests of all its clients.
    fn requests(&self) -> f64 {
        self.all_files() * (self.file_size.get() as f64 / self.request_size.get().max(1) as f64).ceil()
    }
}
