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
        let settled = Scenario {
            write_first: self.write_first.unwrap_or(applications.values().any(reads)),
            stripe_count: self.stripe_count.unwrap_or(self.servers),
            layout: self.layout.filter(|text| text.trim() != "striped"),
            schedulers: named.iter().filter_map(|text| text.parse().ok()).collect(),
            proxies: self.proxies.filter(|_| self.scheduler_at == SchedulerAt::Proxy),
            sample: self.sample.or(shipped.sample).unwrap_or_default(),
            alone: self.alone.unwrap_or((2..=4).contains(&applications.len())),
            network: self.network.filled(&shipped.network, self.server.handshake.unwrap_or(false)),
            metadata: self.metadata.filled(&shipped.metadata),
            client: self.client.filled(&shipped.client),
            server: self.server.filled(&shipped.server),
            cache: self.cache.filled(&shipped.cache),
            disk: self.disk.filled(&shipped.disk),
            applications,
            preset: self.preset,
            servers: self.servers,
            stripe: self.stripe,
            replicas: self.replicas,
            scheduler_at: self.scheduler_at,
            rules: self.rules,
            duration: self.duration,
            // What the applications above have of these is what counts.
            clients: self.clients,
            weights: self.weights,
            workload: self.workload,
            trace: self.trace,
            read_share: self.read_share,
            files: self.files,
            file_size: self.file_size,
            request_size: self.request_size,
            order: self.order,
            sharing: self.sharing,
            flows: self.flows,
            think_time: self.think_time,
            arrival_rate: self.arrival_rate,
            fsync: self.fsync,
            scheduler: self.scheduler,
        };
        if self.sample.or(shipped.sample).is_some() {
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
