//! What held the rebuild up, by name: which resource was busy for how much of the time, and what would have to change.

use serde::{Deserialize, Serialize};
use towtank_units::SimSpan;

use super::levers::{NO_REST, Tried, helps_most};
use super::recovery::{Recovered, Recovery};

/// A kind of resource, and how busy it was during the transfers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resource {
    /// What it is.
    pub name: String,
    /// The busiest of its kind.
    pub which: String,
    /// Its share of the time, from 0 to 1.
    pub busiest: f64,
    /// The mean of its kind.
    pub mean: f64,
    /// How many of its kind were busy for nine tenths of the time or more.
    pub saturated: u64,
    /// How many there are.
    pub count: u64,
}

/// A resource this busy has no more to give.
const SATURATED: f64 = 0.9;

/// How busy everything was.
#[must_use]
pub fn resources(recovery: &Recovery<'_>, recovered: &Recovered) -> Vec<Resource> {
    let Recovery { hardware, struck, limits, .. } = recovery;
    let seconds = recovered.moving.as_secs_f64();
    let share = |busy: SimSpan| if seconds > 0.0 { busy.as_secs_f64() / seconds } else { 0.0 };
    let failed = |device| struck.iter().any(|struck| struck.devices.contains(&device));
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
        kind("cards, sending", card(0).collect()),
        kind("cards, receiving", card(1).collect()),
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
        all.push(part("rests", recovered.sleeping, 1.0));
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
    all.sort_by(|left, right| right.busiest.total_cmp(&left.busiest));
    all
}

fn kind(name: &str, members: Vec<(String, f64)>) -> Resource {
    let count = members.len() as u64;
    let mean = members.iter().map(|member| member.1).sum::<f64>() / members.len().max(1) as f64;
    let saturated = members.iter().filter(|member| member.1 >= SATURATED).count() as u64;
    let busiest = members.into_iter().max_by(|left, right| left.1.total_cmp(&right.1));
    let (which, busiest) = busiest.unwrap_or_default();
    Resource { name: name.to_owned(), which, busiest, mean, saturated, count }
}

/// What held it up, in a few words; nothing where nothing was done. Where changes were tried, the one that helps most has the say
/// between rests and what waits for those that rest.
#[must_use]
pub fn name(resources: &[Resource], reservations: Option<u32>, tried: &[Tried]) -> Option<String> {
    let of = |name: &str| resources.iter().find(|resource| resource.name == name);
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let top =
        resources.iter().find(|resource| resource.name != "rests" && resource.name != "reservations")?;
    let mean = |name: &str| of(name).map_or(0.0, |resource| resource.mean);
    // Shares of all leading disks are small where a few of them lead much longer than the others, so where nothing was busy
    // the larger of the two is named.
    let idle = |share: f64| top.busiest < 0.7 && share > top.mean.max(0.1);
    let (rests, waits) = (mean("rests"), mean("reservations"));
    if waits > rests && rests > 0.0 && helps_most(tried, NO_REST) {
        return Some(format!(
            "the rest after each object: disks rested {} of the time, and groups waited {} of it for disks that were taken",
            percent(rests),
            percent(waits)
        ));
    }
    if rests > 0.5 || (idle(rests) && rests >= waits) {
        return Some(format!(
            "the rest after each object, {} of the time of all leading disks",
            percent(rests)
        ));
    }
    if top.busiest <= 0.0 {
        return None;
    }
    if idle(waits) || (waits > 0.3 && top.mean < 0.7) {
        return Some(format!(
            "reservations: with {} a disk, groups waited {} of the time while disks worked {}",
            reservations.unwrap_or(0),
            percent(waits),
            percent(mean("disks"))
        ));
    }
    let what = format!("{} ({}: {})", top.name, top.which, percent(top.busiest));
    if top.busiest < 0.7 {
        return Some(format!("nothing was busy: at most {what}; too little was under way at once"));
    }
    if top.mean < 0.75 * top.busiest {
        return Some(format!(
            "{what}, while the mean of all was {}: the placement gives some more to do than others",
            percent(top.mean)
        ));
    }
    Some(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(name: &str, mean: f64) -> Resource {
        Resource { name: name.to_owned(), which: String::new(), busiest: mean, mean, saturated: 0, count: 10 }
    }

    /// Groups wait longer than disks rest; what was tried says which of both it was.
    #[test]
    fn a_trial_has_the_say_between_rests_and_reservations() {
        let resources = [resource("reservations", 0.34), resource("rests", 0.19), resource("disks", 0.07)];
        let told = |change: &str, time_s| {
            let tried = [Tried { change: change.to_owned(), time_s }];
            name(&resources, Some(1), &tried).unwrap()
        };
        assert!(told(NO_REST, Some(7_690.0)).starts_with("the rest after each object"));
        for (change, time_s) in [(NO_REST, None), ("max_backfills = 4", Some(7_690.0))] {
            assert!(told(change, time_s).starts_with("reservations"), "{change}");
        }
        assert!(name(&resources, Some(1), &[]).unwrap().starts_with("reservations"));
    }
}
