//! Failures in a real cluster, by the names of its map.

use std::collections::{BTreeMap, BTreeSet};

use towtank_ceph::{device_list, item_name};
use towtank_placement::crush::ItemId;
use towtank_rebuild::failures::{Stricken, Struck, Word, struck_again};
use towtank_rebuild::plan::DeviceId;
use towtank_rebuild::recovery::Waiting;
use towtank_scenario::{Draft, Problems};
use towtank_units::SimSpan;

use super::groups::Groups;
use crate::flags::ClusterFlags;
use crate::names;

/// What a user says that fails.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The key at which it stands.
    pub key: &'a str,
    /// As it stands there, with its time.
    pub written: &'a str,
    /// The name of a device or bucket.
    pub name: &'a str,
    /// When it fails.
    pub at: SimSpan,
}

/// Devices that fail together.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The devices.
    pub devices: Vec<DeviceId>,
    name: String,
    at: SimSpan,
    /// How long they have been down by then, where they are down already.
    down_for: Option<SimSpan>,
}

/// A message and a hint.
type Wrong = (String, String);

/// The failures that the user names, in order of time.
pub fn resolve(asked: &[Asked<'_>], groups: &Groups, draft: &Draft, problems: &mut Problems) -> Vec<Failure> {
    let mut failures = Vec::new();
    for one in asked {
        match named(one.key, one.name, groups) {
            Ok((devices, name)) => {
                failures.push((Failure { devices, name, at: one.at, down_for: None }, one))
            }
            Err((message, hint)) => {
                problems.push(draft.problem_with(one.key, one.written, message).hint(hint));
            }
        }
    }
    failures.sort_by_key(|(failure, _)| failure.at);
    let is_down = |device: &DeviceId| !groups.cluster.serves(groups.machines.osds[device.index()]);
    for (failure, one) in &failures {
        if !one.at.is_zero() && failure.devices.iter().all(is_down) {
            let message =
                format!("`{}` fails at {}, but it is down in the exports already", failure.name, one.at);
            let hint = "leave out the time to say that its data do not come back; leave out the failure where it is \
                        replaced";
            problems.push(draft.problem_with(one.key, one.written, message).hint(hint));
        }
    }
    let stricken = |failure: &Failure| Stricken::Named(failure.devices.clone());
    let words: Vec<Word<'_>> = failures.iter().map(|(failure, one)| (one.name, stricken(failure))).collect();
    // A device that is down already may be named, once.
    let all = vec![true; groups.machines.hardware.devices() as usize];
    for (message, hint) in struck_again(&words, all) {
        problems.refuse(draft, "fail", message, hint);
    }
    failures.into_iter().map(|(failure, _)| failure).collect()
}

/// Devices that are down at the beginning, and are replaced later, have failed by then.
pub(super) fn add_down(
    failures: &mut Vec<Failure>,
    groups: &Groups,
    osds: &BTreeSet<ItemId>,
    down_for: &BTreeMap<ItemId, u64>,
) {
    let named =
        |failures: &[Failure], device| failures.iter().any(|failure| failure.devices.contains(device));
    for osd in osds {
        let device = groups.machines.devices.get(osd).filter(|device| !named(failures, device));
        if let Some(device) = device.copied() {
            let name = format!("osd.{osd}");
            // Where it is not known since when, it counts as down from the beginning.
            let down_for = Some(SimSpan::from_secs(down_for.get(osd).copied().unwrap_or(0)));
            failures.insert(0, Failure { devices: vec![device], name, at: SimSpan::ZERO, down_for });
        }
    }
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
    if let Ok(number) = name.parse::<u32>() {
        let hint = format!("write osd.{number} for a device, host=NAME for a host, or rack=NAME for a rack");
        return (format!("`{key}` is {name}, which names nothing in the map"), hint);
    }
    let hint = names::hint(name, names.iter().map(String::as_str));
    (format!("`{key}` names `{name}`, but the map has no device or bucket of that name"), hint)
}

/// A failure, or its parts where the monitors keep some of its devices in: each has the names of its own.
pub(crate) fn parts(
    whole: Struck,
    groups: &Groups,
    is_kept: impl Fn(ItemId) -> bool,
) -> impl Iterator<Item = Struck> {
    let osd = |device: &DeviceId| groups.machines.osds[device.index()];
    let (kept, given_up): (Vec<DeviceId>, Vec<DeviceId>) =
        whole.devices.iter().partition(|device| is_kept(osd(device)));
    let is_parted = !given_up.is_empty() && !kept.is_empty();
    let part = |devices: Vec<DeviceId>, noout: bool| {
        let osds: Vec<ItemId> = devices.iter().map(osd).collect();
        let name = if is_parted { device_list(&osds) } else { whole.name.clone() };
        Struck { devices, name, noout: whole.noout || noout, ..whole.clone() }
    };
    let parts = [part(given_up, false), part(kept, true)];
    parts.into_iter().filter(|part| !part.devices.is_empty())
}

/// The devices of each failure, and whether the monitors keep them in: because a whole rack is down, or since
/// they have the flag `noout`. Of a failure with devices of both kinds, each kind is one by itself.
pub(super) fn strike(
    failures: &[Failure],
    groups: &Groups,
    waiting: Waiting,
    flags: &ClusterFlags,
) -> Vec<Struck> {
    let osd = |device: &DeviceId| groups.machines.osds[device.index()];
    let strike = |failure: &Failure| {
        let Failure { devices, name, at, down_for } = failure.clone();
        let due = waiting.of(down_for).into_iter().fold(at, SimSpan::saturating_add);
        let whole = Struck { at, devices, name, rack: false, noout: false, down_for };
        parts(whole, groups, move |osd| flags.of_device("noout", osd, due))
    };
    let mut struck: Vec<Struck> = failures.iter().flat_map(strike).collect();
    for at in 0..struck.len() {
        let given_up = struck[at].at.saturating_add(waiting.down_out);
        let known = struck.iter().filter(|other| other.at <= given_up);
        let down: BTreeSet<ItemId> = known.flat_map(|other| &other.devices).map(osd).collect();
        struck[at].rack =
            struck[at].devices.iter().any(|device| groups.cluster.in_dead_rack(osd(device), &down));
    }
    struck
}
