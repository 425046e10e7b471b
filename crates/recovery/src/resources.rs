//! How busy each resource was, as a share of the time.

use serde::{Deserialize, Serialize};
use towtank_metrics::{Better, Chance};
use towtank_rebuild::plan::DeviceId;
use towtank_rebuild::recovery::{Recovered, Recovery};
use towtank_units::SimSpan;

use towtank_study::ranking::Ranked;

/// A kind of resource. Its name is shown, and stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Disks.
    #[serde(rename = "disks")]
    Disks,
    /// NICs, sending.
    #[serde(rename = "NICs, sending")]
    Sending,
    /// NICs, receiving.
    #[serde(rename = "NICs, receiving")]
    Receiving,
    /// Uplinks of racks.
    #[serde(rename = "rack uplinks")]
    Uplinks,
    /// Reservations that slots of leading disks waited for.
    #[serde(rename = "reservations")]
    Reservations,
    /// The recovery sleep.
    #[serde(rename = "sleep")]
    Sleep,
    /// The turns of work items of groups that wait for reservations, for which others wait.
    #[serde(rename = "items of waiting groups")]
    IdleItems,
    /// The limits of mClock on recovery.
    #[serde(rename = "mClock limits")]
    Queue,
    /// The rate limit of one object.
    #[serde(rename = "stream limit")]
    StreamLimit,
    /// The rate limit of a disk.
    #[serde(rename = "rate cap")]
    RateCap,
    /// The rate limit of a whole server.
    #[serde(rename = "server rate cap")]
    ServerRateCap,
}

impl Kind {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Disks => "disks",
            Kind::Sending => "NICs, sending",
            Kind::Receiving => "NICs, receiving",
            Kind::Uplinks => "rack uplinks",
            Kind::Reservations => "reservations",
            Kind::Sleep => "sleep",
            Kind::IdleItems => "items of waiting groups",
            Kind::Queue => "mClock limits",
            Kind::StreamLimit => "stream limit",
            Kind::RateCap => "rate cap",
            Kind::ServerRateCap => "server rate cap",
        }
    }
}

/// The resource of a kind among these.
#[must_use]
pub(crate) fn of_kind(resources: &[Resource], kind: Kind) -> Option<&Resource> {
    resources.iter().find(|resource| resource.kind == kind)
}

/// A kind of resource, and how busy it was during the transfers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resource {
    /// Its kind.
    #[serde(rename = "name")]
    pub kind: Kind,
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
        of_members(Kind::Disks, disks.collect()),
        of_members(Kind::Sending, card(0).collect()),
        of_members(Kind::Receiving, card(1).collect()),
    ];
    if hardware.uplinks().is_some() {
        let ways = (0u32..).zip(&recovered.uplinks).flat_map(|(rack, lanes)| {
            let name = hardware.rack_name(rack);
            [(format!("{name}, up"), share(lanes[0])), (format!("{name}, down"), share(lanes[1]))]
        });
        all.push(of_members(Kind::Uplinks, ways.collect()));
    }
    let drivers = recovered.drivers.max(1) as f64;
    let part = |kind: Kind, span: SimSpan, slots: f64| {
        let mean = share(span) / drivers / slots;
        let which = "all leading disks".to_owned();
        let saturated = if mean >= SATURATED { recovered.drivers } else { 0 };
        Resource { kind, which, busiest: mean, mean, saturated, count: recovered.drivers }
    };
    if let Some(slots) = limits.reservations {
        all.push(part(Kind::Reservations, recovered.reserving, f64::from(slots)));
    }
    if !limits.sleep.is_zero() {
        all.push(part(Kind::Sleep, recovered.sleeping, 1.0));
        if limits.maps.is_some() {
            all.push(part(Kind::IdleItems, recovered.idling, 1.0));
        }
    }
    if limits.queues.is_some() {
        let flows = recovered.limited.iter().map(|((device, shard), taken)| {
            (format!("{}, shard {shard}", hardware.disk_name(*device)), share(*taken).min(1.0))
        });
        all.push(of_members(Kind::Queue, flows.collect()));
    }
    if limits.stream_rate.is_some() || limits.device_rate.is_some() {
        let stream = recovered.work.stream;
        let device = recovered.work.rates.iter().copied().max().unwrap_or(SimSpan::ZERO);
        if limits.stream_rate.is_some() {
            all.push(of_members(Kind::StreamLimit, vec![("the largest object".to_owned(), share(stream))]));
        }
        if limits.device_rate.is_some() {
            all.push(of_members(Kind::RateCap, vec![("the disk that leads most".to_owned(), share(device))]));
        }
    }
    if limits.server_rate.is_some() {
        let rates = servers().map(|server| {
            (hardware.server_name(server), share(recovered.work.server_rates[server as usize]))
        });
        all.push(of_members(Kind::ServerRateCap, rates.collect()));
    }
    all.sort_by(|left, right| right.busiest.total_cmp(&left.busiest));
    all
}

fn of_members(kind: Kind, members: Vec<(String, f64)>) -> Resource {
    let count = members.len() as u64;
    let mean = members.iter().map(|member| member.1).sum::<f64>() / members.len().max(1) as f64;
    let saturated = members.iter().filter(|member| member.1 >= SATURATED).count() as u64;
    let candidates = members.into_iter().map(|(name, share)| (name, vec![Some(share)])).collect();
    let ranked = Ranked::of(candidates, Better::Higher, Chance::None);
    let (which, busiest) = (ranked.best_alike(), ranked.ends().map_or(0.0, |ends| ends[0]));
    Resource { kind, which, busiest, mean, saturated, count }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is stored is the name, as before it was an enum.
    #[test]
    fn a_kind_is_stored_by_its_name() {
        let all = [
            Kind::Disks,
            Kind::Sending,
            Kind::Receiving,
            Kind::Uplinks,
            Kind::Reservations,
            Kind::Sleep,
            Kind::IdleItems,
            Kind::Queue,
            Kind::StreamLimit,
            Kind::RateCap,
            Kind::ServerRateCap,
        ];
        for kind in all {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }
}
