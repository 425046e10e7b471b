//! Fills in what a user left out from a preset.

use std::collections::BTreeMap;

use towtank_units::{Bytes, Percent, Rate, SimSpan};

use super::preset::Shipped;
use super::settled::{Application, Cache, Disk, Metadata, Network, Server, Settled};
use super::{Replays, Scenario, SchedulerAt, Workload};

/// A rate of a preset.
pub(super) fn rate(bytes: u64) -> Rate {
    Rate::from_bytes_per_second(bytes).expect("a preset's rate is above zero")
}

impl Scenario {
    /// The value with defaults of the preset filled in.
    pub(super) fn with_preset(
        self,
        applications: BTreeMap<String, Application>,
        replays: &Replays,
    ) -> Settled {
        let shipped = self.preset.shipped();
        let reads =
            |one: &Application| one.trace.is_none() && matches!(one.workload, Workload::Read | Workload::Mix);
        let write_first = self.write_first.unwrap_or(applications.values().any(reads));
        let alone = self.alone.unwrap_or((2..=4).contains(&applications.len()));
        let handshake = self.server.handshake.unwrap_or(false);
        let named = if self.schedulers.is_empty() { vec![self.scheduler] } else { self.schedulers };
        let schedulers = named.iter().filter_map(|text| text.parse().ok()).collect();
        let settled = Settled {
            preset: self.preset,
            write_first,
            servers: self.servers,
            stripe: self.stripe,
            stripe_count: self.stripe_count.unwrap_or(self.servers),
            layout: self.layout.filter(|text| text.trim() != "striped"),
            replicas: self.replicas,
            schedulers,
            scheduler_at: self.scheduler_at,
            proxies: self.proxies.filter(|_| self.scheduler_at == SchedulerAt::Proxy),
            rules: self.rules,
            duration: self.duration,
            sample: SimSpan::ZERO,
            alone,
            network: self.network.filled(&shipped, handshake),
            metadata: self.metadata.filled(&shipped),
            client: self.client.filled(&shipped),
            server: self.server.filled(&shipped),
            cache: self.cache.filled(&shipped),
            disk: self.disk.filled(&shipped),
            applications,
        };
        let sample = self.sample.or(shipped.sample).unwrap_or_else(|| settled.hundredth(replays));
        Settled { sample, ..settled }
    }
}

impl super::Network {
    fn filled(self, shipped: &Shipped, handshake: bool) -> Network {
        let card = self.card.unwrap_or(rate(shipped.card));
        Network {
            card,
            ideal: self.ideal,
            latency: self.latency.unwrap_or(shipped.latency),
            sharing: self.sharing.unwrap_or_default(),
            header: self.header.unwrap_or(shipped.header),
            slice: self.slice.or(handshake.then(|| Bytes::from_kib(16))),
            loss: self.loss.unwrap_or(Percent::ZERO),
            buffer: self.buffer,
            timeout: self.timeout.unwrap_or(shipped.timeout),
            routers: self.routers,
            router_rate: self.router_rate.or(self.routers.map(|_| card)),
        }
    }
}

impl super::Metadata {
    fn filled(self, shipped: &Shipped) -> Metadata {
        Metadata {
            servers: self.servers.unwrap_or(1),
            threads: self.threads.unwrap_or(shipped.metadata_threads),
            open: self.open.unwrap_or(shipped.open),
            create: self.create.unwrap_or(shipped.create),
            stat: self.stat.unwrap_or(shipped.stat),
            remove: self.remove.unwrap_or(shipped.remove),
            by: self.by.unwrap_or(shipped.by),
        }
    }
}

impl super::Server {
    fn filled(self, shipped: &Shipped) -> Server {
        Server {
            before: self.before.unwrap_or(shipped.before),
            after: self.after.unwrap_or(shipped.after),
            threads: self.threads.unwrap_or(shipped.threads),
            part: self.part.unwrap_or(shipped.part),
            handshake: self.handshake.unwrap_or(false),
            locks: self.locks.unwrap_or(false),
        }
    }
}

impl super::Cache {
    fn filled(self, shipped: &Shipped) -> Cache {
        // The limits of dirty data scale with the size of the cache.
        let size = self.size.unwrap_or(shipped.cache);
        let part_of_cache = |bytes: Bytes| match size == shipped.cache {
            true => bytes,
            false => {
                let part = u128::from(bytes.get()) * u128::from(size.get()) / u128::from(shipped.cache.get());
                Bytes::new(u64::try_from(part).unwrap_or(u64::MAX))
            }
        };
        Cache {
            direct: self.direct,
            size: self.size.unwrap_or(shipped.cache),
            dirty: self.dirty.unwrap_or_else(|| part_of_cache(shipped.dirty)),
            background: self.background.unwrap_or_else(|| part_of_cache(shipped.background)),
            replacement: self.replacement.unwrap_or_default(),
            write_batch: self.write_batch.unwrap_or(shipped.write_batch),
            read_batch: self.read_batch.unwrap_or(shipped.read_batch),
            read_ahead: self.read_ahead.unwrap_or(shipped.read_ahead),
            read_page: self.read_page.unwrap_or(shipped.read_page),
            write_page: self.write_page.unwrap_or(shipped.write_page),
        }
    }
}

impl super::Disk {
    fn filled(self, shipped: &Shipped) -> Disk {
        Disk {
            model: self.model,
            drive: self.drive,
            order: self.order,
            capacity: self.capacity.unwrap_or(Bytes::from_gib(16)),
            read: self.read.unwrap_or(rate(shipped.disk_read)),
            write: self.write.unwrap_or(rate(shipped.disk_write)),
            overhead: self.overhead.unwrap_or(shipped.disk_overhead),
            jitter: self.jitter.unwrap_or(shipped.jitter),
        }
    }
}
