//! Failures in a real cluster, by the names of its map.

use std::collections::BTreeSet;

use towtank_ceph::item_name;
use towtank_placement::crush::ItemId;
use towtank_scenario::{Draft, Problems, did_you_mean};
use towtank_streams::{Draws, Seed};
use towtank_units::SimSpan;

use super::super::scenario::Scenario;
use super::groups::Groups;
use towtank_rebuild::failures::{Failing, Stricken, Struck, Word, strike_one, struck_again};
use towtank_rebuild::plan::DeviceId;
use towtank_rebuild::recovery::Waiting;

/// A failure before a replicate has drawn the devices that are not named.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    what: What,
    at: SimSpan,
}

#[derive(Clone, Debug, PartialEq)]
enum What {
    /// These devices, under this name.
    Named(Vec<DeviceId>, String),
    /// One of this kind, to be drawn.
    Drawn(Failing),
}

/// A message and a hint.
type Wrong = (String, String);

/// The failures that the user names.
pub fn resolve(scenario: &Scenario, groups: &Groups, draft: &Draft, problems: &mut Problems) -> Vec<Failure> {
    let mut failures = Vec::new();
    if scenario.fail.all().is_empty() {
        let hint = "name what fails: fail = \"osd.3\"";
        problems.push(draft.problem("fail", "nothing fails, so there is nothing to rebuild").hint(hint));
    }
    for text in scenario.fail.all() {
        match one(text, groups) {
            Ok(failure) => failures.push((failure, text.as_str())),
            Err((message, hint)) => problems.push(draft.problem("fail", message).hint(hint)),
        }
    }
    failures.sort_by_key(|(failure, _)| failure.at);
    let words: Vec<Word<'_>> =
        failures.iter().map(|(failure, text)| (*text, stricken(&failure.what, groups))).collect();
    // A device that is down already may be named, once.
    let all = vec![true; groups.machines.hardware.devices() as usize];
    for (message, hint) in struck_again(&words, all) {
        problems.push(draft.problem("fail", message).hint(hint));
    }
    failures.into_iter().map(|(failure, _)| failure).collect()
}

fn stricken(what: &What, groups: &Groups) -> Stricken {
    let hardware = &groups.machines.hardware;
    let disks = |server: u32| hardware.devices_of(server).len();
    let servers = || 0..hardware.servers();
    let in_rack = |rack: u32| servers().filter(|&server| hardware.rack_of(server) == rack).map(disks).sum();
    match what {
        What::Named(devices, _) => Stricken::Named(devices.clone()),
        What::Drawn(Failing::Device(_)) => Stricken::Drawn(1),
        What::Drawn(Failing::Server(_)) => Stricken::Drawn(servers().map(disks).max().unwrap_or(0)),
        What::Drawn(Failing::Rack(_)) => {
            Stricken::Drawn((0..hardware.racks()).map(in_rack).max().unwrap_or(0))
        }
    }
}

fn one(text: &str, groups: &Groups) -> Result<Failure, Wrong> {
    let (what, at) = text.split_once('@').unwrap_or((text, "0s"));
    let at: SimSpan = at.trim().parse().map_err(|error| {
        (format!("`fail` is `{text}`: {error}"), "write the time behind an `@`: \"osd.3@10min\"".to_owned())
    })?;
    let what = match what.trim() {
        "server" | "host" => What::Drawn(Failing::Server(None)),
        "disk" | "osd" => What::Drawn(Failing::Device(None)),
        "rack" if groups.machines.racks => What::Drawn(Failing::Rack(None)),
        "rack" => {
            let hint = "name what fails instead: osd.3, or host=NAME";
            return Err(("`fail` is `rack`, but the map has no racks".to_owned(), hint.to_owned()));
        }
        name => named("fail", name, groups).map(|(devices, name)| What::Named(devices, name))?,
    };
    Ok(Failure { what, at })
}

/// Finds a device by its name or number, or a bucket by its name, with its type or without: its devices, and
/// its name.
pub fn named(key: &str, text: &str, groups: &Groups) -> Result<(Vec<DeviceId>, String), Wrong> {
    let map = &groups.cluster.map;
    let (kind, name) = match text.split_once('=') {
        Some((kind, name)) => (Some(kind.trim()), name.trim()),
        None => (None, text),
    };
    let number = name.strip_prefix("osd.").or((kind == Some("osd") || kind == Some("disk")).then_some(name));
    let by_number = || number?.parse::<ItemId>().ok().filter(|osd| groups.machines.devices.contains_key(osd));
    let item = map.item_id(name).filter(|_| !name.contains('~')).or_else(by_number);
    let item = item.ok_or_else(|| no_such(key, name, groups))?;
    let own = map.bucket(item).map_or(0, |bucket| i32::from(bucket.kind));
    let own = map.type_names.get(&own).map_or("osd", String::as_str);
    let kind = kind.map(|kind| if kind == "server" { "host" } else { kind });
    if kind.is_some_and(|kind| kind != own && !(kind == "disk" && item >= 0)) {
        return Err((
            format!("`{key}` names `{text}`, but `{name}` is of type {own}"),
            format!("write `{own}={name}`"),
        ));
    }
    let mut devices = BTreeSet::new();
    let mut open = vec![item];
    while let Some(item) = open.pop() {
        match map.bucket(item) {
            Some(bucket) => open.extend(&bucket.items),
            None => devices.extend(groups.machines.devices.get(&item)),
        }
    }
    if devices.is_empty() {
        let hint = "`towtank crush --tree -i MAP` shows what the map holds".to_owned();
        return Err((format!("`{key}` names `{text}`, which holds no device"), hint));
    }
    let name = if item >= 0 { format!("osd.{item}") } else { format!("{own} {}", item_name(map, item)) };
    Ok((devices.into_iter().collect(), name))
}

fn no_such(key: &str, name: &str, groups: &Groups) -> Wrong {
    let map = &groups.cluster.map;
    let mut names: Vec<String> = map
        .item_names
        .iter()
        .filter(|(id, name)| **id < 0 && !name.contains('~'))
        .map(|at| at.1.clone())
        .collect();
    names.extend(groups.machines.osds.iter().map(|osd| format!("osd.{osd}")));
    let hint = did_you_mean(name, names.iter().map(String::as_str)).unwrap_or_else(|| {
        let first: Vec<&str> = names.iter().take(12).map(String::as_str).collect();
        format!("the cluster has {}", first.join(", "))
    });
    (format!("`{key}` names `{name}`, but the map has no device or bucket of that name"), hint)
}

/// The devices of each failure, and whether the monitors keep them in because a whole rack is down.
pub fn strike(failures: &[Failure], groups: &Groups, waiting: Waiting, seed: Seed) -> Vec<Struck> {
    let hardware = &groups.machines.hardware;
    let mut failed = vec![false; hardware.devices() as usize];
    // Devices that are down already are not drawn.
    groups.down().iter().for_each(|device| failed[device.index()] = true);
    // Devices that fail by name are not drawn either.
    let named = failures.iter().filter_map(|failure| match &failure.what {
        What::Named(devices, _) => Some(devices),
        What::Drawn(_) => None,
    });
    named.flatten().for_each(|device| failed[device.index()] = true);
    let mut struck: Vec<Struck> = Vec::new();
    for (ordinal, failure) in (0u64..).zip(failures) {
        let (devices, name) = match &failure.what {
            What::Named(devices, name) => (devices.clone(), name.clone()),
            What::Drawn(what) => strike_one(*what, hardware, &failed, Draws::new(seed, u32::MAX, ordinal)),
        };
        devices.iter().for_each(|device| failed[device.index()] = true);
        struck.push(Struck { at: failure.at, devices, name, rack: false });
    }
    let osd = |device: &DeviceId| groups.machines.osds[device.index()];
    for at in 0..struck.len() {
        let given_up = struck[at].at.saturating_add(waiting.down_out);
        let known = struck.iter().filter(|other| other.at <= given_up);
        let down: BTreeSet<ItemId> = known.flat_map(|other| &other.devices).map(osd).collect();
        struck[at].rack =
            struck[at].devices.iter().any(|device| groups.cluster.in_dead_rack(osd(device), &down));
    }
    struck
}

/// The expected number of devices that fail: those named, and those that are drawn.
pub fn expected(failures: &[Failure], groups: &Groups) -> f64 {
    let hardware = &groups.machines.hardware;
    let each = |failure: &Failure| match &failure.what {
        What::Named(devices, _) => devices.len() as f64,
        What::Drawn(Failing::Device(_)) => 1.0,
        What::Drawn(Failing::Server(_)) => f64::from(hardware.devices()) / f64::from(hardware.servers()),
        What::Drawn(Failing::Rack(_)) => f64::from(hardware.devices()) / f64::from(hardware.racks()),
    };
    failures.iter().map(each).sum()
}
