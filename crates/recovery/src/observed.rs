//! From a recovery to its results: what is presented of one replicate.

use serde::{Deserialize, Serialize};
use towtank_metrics::Histogram;
use towtank_rebuild::affected::{Affected, Held};
use towtank_rebuild::failures::Struck;
use towtank_rebuild::hardware::Hardware;
use towtank_rebuild::model::Latencies;
use towtank_rebuild::plan::DeviceId;
use towtank_rebuild::recovery::{Recovered, Waited, Waiting};
use towtank_report::human;
use towtank_units::{SimSpan, SimTime};

use crate::bottleneck::name as name_bottleneck;
use crate::levers::{Tried, micros};
use crate::resources::Resource;
use crate::traffic::{Traffic, peers};

/// What the presented results are computed from.
pub struct Parts<'a> {
    /// The machines.
    pub hardware: &'a Hardware,
    /// The objects or groups that were affected.
    pub affected: &'a Affected,
    /// What failed.
    pub struck: &'a [Struck],
    /// The results of the recovery.
    pub recovered: &'a Recovered,
    /// What each device held before any failure, where it is known.
    pub held: Option<&'a Held>,
    /// The number of reservations that a device grants.
    pub reservations: Option<u32>,
    /// How busy each resource was.
    pub resources: &'a [Resource],
    /// Changes that were tried.
    pub tried: &'a [Tried],
    /// Whether nothing is left of a server.
    pub is_gone: &'a dyn Fn(u32) -> bool,
}

/// The results of one replicate that are presented.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// Its number, from 0.
    #[serde(default)]
    pub replicate: u32,
    /// The time of its transfers, in seconds; 0 if nothing was transferred.
    #[serde(default)]
    pub transfer_s: f64,
    /// The unit of [`ServerSeen::held`]: `groups` or `bytes`; none where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_in: Option<String>,
    /// What failed.
    pub failed: Vec<String>,
    /// What limited the rebuild.
    pub bottleneck: Option<String>,
    /// Changes that were tried, the one that helps most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Tried>,
    /// All resources, the busiest kind first.
    pub resources: Vec<Resource>,
    /// One entry per server.
    pub servers: Vec<ServerSeen>,
    /// The disks, where one server has all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<DiskSeen>,
    /// Bytes transferred between servers.
    pub traffic: Option<Traffic>,
    /// Bytes finished over time: seconds and bytes.
    pub progress: Vec<(f64, u64)>,
    /// Bytes that were rebuilt, over all targets.
    pub rebuilt: u64,
    /// Bytes that are not finished in the end: of lost objects, of those without a legal target, and of those
    /// left by a stop.
    pub unfinished: u64,
    /// How many groups, or single objects, take no writes, over time: seconds and number.
    pub below: Vec<(f64, u64)>,
    /// Latencies of clients, where there are some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<ClientsSeen>,
    /// How the affected objects or groups were found.
    pub found: String,
    /// Objects or groups that were examined to find them.
    pub asked: u64,
    /// Whether the records are groups (else objects).
    pub grouped: bool,
}

/// Latencies of clients, in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientsSeen {
    /// The entry for reads, then that for writes.
    pub kinds: [ClientKind; 2],
}

/// Latencies of one kind of operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientKind {
    /// Median, 90th, 99th and 99.9th percentile while no rebuild runs.
    pub quiet: Vec<f64>,
    /// The same during the rebuild.
    pub during: Vec<f64>,
    /// The mean while no rebuild runs.
    pub quiet_mean: Option<f64>,
    /// Means over time: seconds and microseconds.
    pub over_time: Vec<(f64, f64)>,
}

/// The percentiles of [`ClientKind`].
pub(crate) const PERCENTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

impl ClientsSeen {
    /// What they noticed.
    #[must_use]
    pub fn of(waited: &Waited) -> ClientsSeen {
        let kind = |write: usize| {
            let of = |latencies: &Latencies| {
                if write == 1 { latencies.writes.clone() } else { latencies.reads.clone() }
            };
            let (quiet, during) = (of(&waited.quiet), of(&waited.during));
            let all =
                |histogram: &Histogram| PERCENTILES.iter().filter_map(|&q| micros(histogram, q)).collect();
            let mean = |&(at, counts): &(SimTime, [(u64, u64); 2])| {
                let (count, sum) = counts[write];
                (count > 0).then(|| (at.as_secs_f64(), sum as f64 / count as f64 / 1e3))
            };
            ClientKind {
                quiet: all(&quiet),
                during: all(&during),
                quiet_mean: quiet.mean().map(|mean| mean / 1e3),
                over_time: waited.over_time.iter().filter_map(mean).collect(),
            }
        };
        ClientsSeen { kinds: [kind(0), kind(1)] }
    }
}

/// The work of one disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiskSeen {
    /// Its name.
    pub disk: String,
    /// Bytes that it read.
    pub read: u64,
    /// Bytes that it wrote.
    pub written: u64,
    /// Share of the transfer time for which it was busy.
    pub busy: f64,
}

/// The work of one server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerSeen {
    /// Its number.
    pub server: u32,
    /// Its name, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Bytes it sent.
    pub sent: u64,
    /// Bytes it received.
    pub received: u64,
    /// Bytes its disks read.
    pub read: u64,
    /// Bytes its disks wrote.
    pub written: u64,
    /// Share of the transfer time for which its busiest disk was busy.
    pub disk_busy: f64,
    /// Share of the transfer time for which its NIC was sending.
    pub sending_busy: f64,
    /// Share of the transfer time for which its NIC was receiving.
    pub receiving_busy: f64,
    /// Copies or shards that were rebuilt on it.
    #[serde(default)]
    pub rebuilt: u64,
    /// Groups of which it took anything; none where objects are placed one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<u64>,
    /// With how many other servers it exchanged anything; none where the cluster is too large to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peers: Option<u32>,
    /// Seconds until it had sent and received all of its part.
    #[serde(default)]
    pub active_s: f64,
    /// What it held before any failure, in [`Observed::held_in`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<u64>,
}

impl ServerSeen {
    /// Its name, or its number.
    #[must_use]
    pub fn label(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.server.to_string())
    }

    /// Bytes that passed its NIC.
    #[must_use]
    pub fn traffic(&self) -> u64 {
        self.sent + self.received
    }

    /// Its active peers, and the bytes that passed its NIC per second until it had sent and received all of
    /// its part. None if it took no part: then it had no rate to sustain.
    #[must_use]
    pub(crate) fn sustained(&self) -> Option<(f64, f64)> {
        let peers = self.peers.filter(|_| self.traffic() > 0 && self.active_s > 0.0)?;
        Some((f64::from(peers), self.traffic() as f64 / self.active_s))
    }
}

impl Observed {
    /// Computes the presented results of a replicate.
    #[must_use]
    pub fn of(parts: &Parts<'_>) -> Observed {
        let Parts { hardware, affected, recovered, held, resources, tried, is_gone, .. } = *parts;
        let matrix = recovered.work.traffic.as_deref();
        let servers = (0..hardware.servers()).filter(|&server| !is_gone(server));
        let servers = servers.map(|server| parts.server(server)).collect();
        let found = match affected.found {
            towtank_rebuild::affected::Found::ByInverse => "found by the placement's inverse",
            towtank_rebuild::affected::Found::ByAsking => "found by looking up every one",
            towtank_rebuild::affected::Found::Drawn => "drawn from the exact distribution of the placement",
        };
        Observed {
            replicate: 0,
            transfer_s: transfer(recovered).map_or(0.0, SimSpan::as_secs_f64),
            held_in: held.map(|held| match held {
                Held::Groups(_) => "groups".to_owned(),
                Held::Bytes(_) => "bytes".to_owned(),
            }),
            failed: parts.struck.iter().map(|struck| struck.name.clone()).collect(),
            bottleneck: name_bottleneck(resources, parts.reservations, tried),
            tried: tried.to_vec(),
            resources: resources.to_vec(),
            servers,
            disks: Vec::new(),
            traffic: matrix.and_then(|matrix| Traffic::of(matrix, hardware, is_gone)),
            progress: recovered.progress.iter().map(|(at, bytes)| (at.as_secs_f64(), *bytes)).collect(),
            rebuilt: recovered.bytes,
            unfinished: recovered.unfinished.saturating_add(recovered.stuck.bytes),
            below: recovered.below.iter().map(|(at, count)| (at.as_secs_f64(), *count)).collect(),
            clients: recovered.clients.as_ref().map(ClientsSeen::of),
            found: found.to_owned(),
            asked: affected.asked,
            grouped: affected.grouped,
        }
    }
}

impl Observed {
    /// The same with these disks, where one server has all of them.
    #[must_use]
    pub fn with_disks(self, parts: &Parts<'_>, listed: &dyn Fn(DeviceId) -> bool) -> Observed {
        Observed { disks: parts.disks(listed), ..self }
    }
}

impl Parts<'_> {
    /// The work of each of these disks.
    fn disks(&self, listed: &dyn Fn(DeviceId) -> bool) -> Vec<DiskSeen> {
        let Parts { hardware, recovered, .. } = *self;
        let span = transfer(recovered).map_or(0.0, SimSpan::as_secs_f64);
        let disks = (0..hardware.devices()).map(DeviceId).filter(|disk| listed(*disk));
        let seen = |disk: DeviceId| {
            let (busy, read, written) = recovered.disks[disk.index()];
            let busy = if span > 0.0 { busy.as_secs_f64() / span } else { 0.0 };
            DiskSeen { disk: hardware.disk_name(disk), read, written, busy }
        };
        disks.map(seen).collect()
    }

    /// The work of one server.
    fn server(&self, server: u32) -> ServerSeen {
        let Parts { hardware, affected, recovered, .. } = *self;
        let span = transfer(recovered).map_or(0.0, SimSpan::as_secs_f64);
        let share = |busy: SimSpan| if span > 0.0 { busy.as_secs_f64() / span } else { 0.0 };
        let devices = || hardware.devices_of(server);
        let disks = || devices().map(|device| recovered.disks[device.index()]);
        let card = recovered.cards[server as usize];
        let matrix = recovered.work.traffic.as_deref();
        let held = self.held.map(Held::by_device);
        ServerSeen {
            server,
            name: hardware.names().map(|names| names.servers[server as usize].clone()),
            sent: card[0].bytes,
            received: card[1].bytes,
            read: disks().map(|disk| disk.1).sum(),
            written: disks().map(|disk| disk.2).sum(),
            disk_busy: disks().map(|disk| share(disk.0)).fold(0.0, f64::max),
            sending_busy: share(card[0].span),
            receiving_busy: share(card[1].span),
            rebuilt: devices().map(|device| recovered.targets.parts(device)).sum(),
            groups: affected.grouped.then(|| recovered.targets.groups_on(devices())),
            peers: matrix.map(|matrix| peers(matrix, hardware.servers(), server)),
            active_s: recovered.active[server as usize].as_secs_f64(),
            held: held.map(|held| devices().map(|device| held[device.index()]).sum()),
        }
    }
}

/// For how long anything was being transferred; nothing where nothing was.
#[must_use]
pub fn transfer(recovered: &Recovered) -> Option<SimSpan> {
    (!recovered.moving.is_zero()).then_some(recovered.moving)
}

/// The digest of all models of a recovery.
#[must_use]
pub fn digest(recovered: &Recovered) -> String {
    match &recovered.digests[..] {
        [] => "0000000000000000".to_owned(),
        digests => {
            let folded =
                digests.iter().fold(0u64, |folded, digest| towtank_streams::mix(folded ^ 1, digest.0 ^ 2));
            if let [one] = digests { one.to_string() } else { format!("{folded:016x}") }
        }
    }
}

/// Why it is not known when no object is left with a single copy, or with as few shards as it needs: some are
/// left with no more, or are lost.
pub fn bare(recovered: &Recovered, waits: &str) -> Option<String> {
    let stuck = recovered.stuck;
    let is_bare = recovered.partial
        || stuck.lost + stuck.unavailable + stuck.undecided > 0
        || stuck.least_spare == Some(0);
    left(recovered, waits).filter(|_| is_bare)
}

/// What objects wait for whose devices are never marked out, where nothing more is known than these delays.
#[must_use]
pub fn waits(waiting: Waiting) -> &'static str {
    if waiting.noout { "wait because `noout` is set" } else { "wait for devices that are not marked out" }
}

/// Why the rebuild is not complete, where not everything could be rebuilt. `waits` is what objects do whose
/// devices are not marked out.
pub fn left(recovered: &Recovered, waits: &str) -> Option<String> {
    if recovered.partial {
        return Some("the run was stopped before everything was rebuilt".to_owned());
    }
    let stuck = recovered.stuck;
    let mut reasons = Vec::new();
    let mut say = |count: u64, why: &str| {
        if count > 0 {
            reasons.push(format!("{} {why}", human::plural(count as f64, ["object", "objects"])));
        }
    };
    say(stuck.lost, "are lost: too few copies or shards are left");
    say(stuck.unavailable, "wait for devices that are down and hold copies or shards of them");
    say(stuck.undecided, "are in `incomplete` groups: it is not known whether they are lost");
    say(stuck.waiting, waits);
    say(stuck.homeless, "have no valid target left");
    say(stuck.full, "do not fit: their target would exceed `backfillfull_ratio`");
    let flag = stuck.flag.unwrap_or_default();
    say(stuck.flagged - stuck.flagged_begun, &format!("wait while `{flag}` is set"));
    (!reasons.is_empty()).then(|| reasons.join(", "))
}
