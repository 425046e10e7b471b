//! Fills in what a user left out from a preset.

use std::collections::BTreeMap;

use towtank_units::{Bytes, Rate};

use super::{
    Application, Cache, Disk, Filled, Metadata, Network, Replays, Scenario, SchedulerAt, Server, Settled,
    Workload,
};

/// A rate of a preset.
pub(super) fn rate(bytes: u64) -> Rate {
    Rate::from_bytes_per_second(bytes).expect("a preset's rate is above zero")
}

/// A section with some keys as given or else as in the preset, and then those that have rules of their own.
macro_rules! filled {
    ($section:ident, $given:ident or $preset:ident: $($key:ident),*; $($own:ident),*) => {
        $section { $($key: $given.$key.unwrap_or($preset.$key),)* $($own,)* }
    };
}
pub(super) use filled;

/// A section with these keys as given, and then those that have rules of their own.
macro_rules! with {
    ($section:ident, $given:ident: $($key:ident),*; $($own:ident),*) => {
        $section { $($key: $given.$key,)* $($own,)* }
    };
}

impl Scenario {
    /// The value with defaults of the preset filled in.
    pub(super) fn with_preset(
        self,
        applications: BTreeMap<String, Application<Filled>>,
        replays: &Replays,
    ) -> Settled {
        let shipped = self.preset.shipped();
        let reads = |one: &Application<Filled>| {
            one.trace.is_none() && matches!(one.workload, Workload::Read | Workload::Mix)
        };
        let named = if self.schedulers.is_empty() { vec![self.scheduler.clone()] } else { self.schedulers };
        let write_first = self.write_first.unwrap_or(applications.values().any(reads));
        let stripe_count = self.stripe_count.unwrap_or(self.servers);
        let layout = self.layout.filter(|text| text.trim() != "striped");
        let schedulers = named.iter().filter_map(|text| text.parse().ok()).collect();
        let proxies = self.proxies.filter(|_| self.scheduler_at == SchedulerAt::Proxy);
        let given = self.sample.or(shipped.sample);
        let sample = given.unwrap_or_default();
        let alone = self.alone.unwrap_or((2..=4).contains(&applications.len()));
        let network = self.network.filled(&shipped.network, self.server.handshake.unwrap_or(false));
        let metadata = self.metadata.filled(&shipped.metadata);
        let client = self.client.filled(&shipped.client);
        let server = self.server.filled(&shipped.server);
        let cache = self.cache.filled(&shipped.cache);
        let disk = self.disk.filled(&shipped.disk);
        // What the applications have of the keys from `clients` to `fsync` is what counts.
        let settled = with!(Scenario, self: preset, servers, stripe, replicas, scheduler, scheduler_at, rules,
            duration, clients, weights, workload, trace, read_share, files, file_size, request_size, order,
            sharing, flows, think_time, arrival_rate, fsync; applications, write_first, stripe_count, layout,
            schedulers, proxies, sample, alone, network, metadata, client, server, cache, disk);
        if given.is_some() {
            return settled;
        }
        let sample = settled.hundredth(replays);
        Scenario { sample, ..settled }
    }
}

impl Network {
    fn filled(self, preset: &Network<Filled>, handshake: bool) -> Network<Filled> {
        let card = self.card.unwrap_or(preset.card);
        let slice = self.slice.or(handshake.then(|| Bytes::from_kib(16)));
        let router_rate = self.router_rate.or(self.routers.map(|_| card));
        let Network { ideal, buffer, routers, .. } = self;
        filled!(Network, self or preset: latency, sharing, header, loss, timeout;
            card, ideal, slice, buffer, routers, router_rate)
    }
}

impl Metadata {
    fn filled(self, preset: &Metadata<Filled>) -> Metadata<Filled> {
        filled!(Metadata, self or preset: servers, threads, open, create, stat, remove, by;)
    }
}

impl Server {
    fn filled(self, preset: &Server<Filled>) -> Server<Filled> {
        filled!(Server, self or preset: before, after, threads, part, handshake, locks;)
    }
}

impl Cache {
    fn filled(self, preset: &Cache<Filled>) -> Cache<Filled> {
        // The limits of dirty data scale with the size of the cache.
        let size = self.size.unwrap_or(preset.size);
        let part_of_cache = |bytes: Bytes| match size == preset.size {
            true => bytes,
            false => {
                let part = u128::from(bytes.get()) * u128::from(size.get()) / u128::from(preset.size.get());
                Bytes::new(u64::try_from(part).unwrap_or(u64::MAX))
            }
        };
        let direct = self.direct;
        let dirty = self.dirty.unwrap_or_else(|| part_of_cache(preset.dirty));
        let background = self.background.unwrap_or_else(|| part_of_cache(preset.background));
        filled!(Cache, self or preset: replacement, write_batch, read_batch, read_ahead, read_page, write_page;
            direct, size, dirty, background)
    }
}

impl Disk {
    fn filled(self, preset: &Disk<Filled>) -> Disk<Filled> {
        let Disk { model, drive, order, .. } = self;
        filled!(Disk, self or preset: capacity, read, write, overhead, jitter; model, drive, order)
    }
}
