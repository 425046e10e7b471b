//! How busy each resource was, as a share of the time.

use serde::{Deserialize, Serialize};
use towtank_metrics::{Better, Chance};
use towtank_rebuild::plan::DeviceId;
use towtank_rebuild::recovery::{Recovered, Recovery};
use towtank_units::SimSpan;

use towtank_study::ranking::Ranked;

/// A kind of resource, and how busy it was during the transfers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resource {
    /// The name of the kind.
    pub name: String,
    /// The name of the busiest of its kind, or of all that are equally busy.
    pub which: String,
    /// The busy share of that one, from 0 to 1.
    pub busiest: f64,
    /// The mean share of its kind.
    pub mean: f64,
    /// How many of its kind were busy for at least nine tenths of the time.
    pub saturated: u64,
    /// The number of resources of this kind.
    pub count: u64,
}

/// A resource with this busy share is saturated.
const SATURATED: f64 = 0.9;

/// The limits of mClock on recovery.
pub const QUEUE: &str = "mClock limits";

/// The rate limit of a whole server.
pub const SERVER_RATE: &str = "server rate cap";

/// The busy shares of all kinds, the busiest first.
#[must_use]
pub fn resources(recovery: &Recovery<'_>, recovered: &Recovered) -> Vec<Resource> {
    let failed = |device| recovery.struck.iter().any(|struck| struck.devices.contains(&device));
    resources_without(recovery, recovered, &failed)
}

/// The same, with the disks that are gone for good.
#[must_use]
pub fn resources_without(
    recovery: &Recovery<'_>,
    recovered: &Recovered,
    failed: &dyn Fn(DeviceId) -> bool,
) -> Vec<Resource> {
    let Recovery { hardware, limits, .. } = recovery;
    let seconds = recovered.moving.as_secs_f64();
    let share = |busy: SimSpan| if seconds > 0.0 { busy.as_secs_f64() / seconds } else { 0.0 };
    let sound = |server: u32| !hardware.devices_of(server).all(failed);
    let servers = || (0..hardware.servers()).filter(|&server| sound(server));
    let disks = servers().flat_map(|server| hardware.devices_of(server)).filter(|&device| !failed(device));
    let disks = disks.map(|device| (hardware.disk_name(device), share(recovered.disks[device.index()].0)));
    let card = |way: usize| {
        servers().map(move |server| {
            (hardware.server_name(server), share(recovered.cards[server as usize][way].span))
        })
    };
    let mut all = vec![
        kind("disks", disks.collect()),
        kind("NICs, sending", card(0).collect()),
        kind("NICs, receiving", card(1).collect()),
    ];
    if hardware.uplinks().is_some() {
        let ways = (0u32..).zip(&recovered.uplinks).flat_map(|(rack, lanes)| {
            let name = hardware.rack_name(rack);
            [(format!("{name}, up"), share(lanes[0])), (format!("{name}, down"), share(lanes[1]))]
        });
        all.push(kind("rack uplinks", ways.collect()));
    }
    let drivers = recovered.drivers.max(1) as f64;
    let part = |name: &str, span: SimSpan, slots: f64| {
        let mean = share(span) / drivers / slots;
        let which = "all leading disks".to_owned();
        let saturated = if mean >= SATURATED { recovered.drivers } else { 0 };
        Resource { name: name.to_owned(), which, busiest: mean, mean, saturated, count: recovered.drivers }
    };
    if let Some(slots) = limits.reservations {
        all.push(part("reservations", recovered.reserving, f64::from(slots)));
    }
    if !limits.sleep.is_zero() {
        all.push(part("sleep", recovered.sleeping, 1.0));
    }
    if limits.queues.is_some() {
        let flows = recovered.limited.iter().map(|((device, shard), taken)| {
            (format!("{}, shard {shard}", hardware.disk_name(*device)), share(*taken).min(1.0))
        });
        all.push(kind(QUEUE, flows.collect()));
    }
    if limits.stream_rate.is_some() || limits.device_rate.is_some() {
        let stream = recovered.work.stream;
        let device = recovered.work.rates.iter().copied().max().unwrap_or(SimSpan::ZERO);
        if limits.stream_rate.is_some() {
            all.push(kind("stream limit", vec![("the largest object".to_owned(), share(stream))]));
        }
        if limits.device_rate.is_some() {
            all.push(kind("rate cap", vec![("the disk that leads most".to_owned(), share(device))]));
        }
    }
    if limits.server_rate.is_some() {
        let rates = servers().map(|server| {
            (hardware.server_name(server), share(recovered.work.server_rates[server as usize]))
        });
        all.push(kind(SERVER_RATE, rates.collect()));
    }
    all.sort_by(|left, right| right.busiest.total_cmp(&left.busiest));
    all
}

fn kind(name: &str, members: Vec<(String, f64)>) -> Resource {
    let count = members.len() as u64;
    let mean = members.iter().map(|member| member.1).sum::<f64>() / members.len().max(1) as f64;
    let saturated = members.iter().filter(|member| member.1 >= SATURATED).count() as u64;
    let candidates = members.into_iter().map(|(name, share)| (name, vec![Some(share)])).collect();
    let ranked = Ranked::of(candidates, Better::Higher, Chance::None);
    let (which, busiest) = (ranked.best_alike(), ranked.ends().map_or(0.0, |ends| ends[0]));
    Resource { name: name.to_owned(), which, busiest, mean, saturated, count }
}
