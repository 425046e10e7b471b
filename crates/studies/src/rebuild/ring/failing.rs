//! What fails in a ring, by the names that `swift-ring-builder` uses: `d12` or `10.0.0.3/sdc` for a disk,
//! `10.0.0.3` for a server, `r1z2` for a zone. `disk=`, `server=` and `zone=` may stand in front.

use towtank_rebuild::failures::Failing;
use towtank_rebuild::plan::{DeviceId, NOWHERE};
use towtank_scenario::did_you_mean;

use super::Rings;

/// A message and a hint.
type Wrong = (String, String);

/// The names of this many machines are listed where no similar one is found.
const LISTED: usize = 8;

/// Finds a disk, a server or a zone of the ring before the failures.
pub(in crate::rebuild) fn named(text: &str, rings: &Rings) -> Result<Failing, Wrong> {
    let (kind, name) = match text.split_once('=') {
        Some((kind, name)) => (Some(kind.trim()), name.trim()),
        None => (None, text),
    };
    match kind {
        Some("disk" | "device" | "osd") => disk(name, rings),
        Some("server" | "host") => place(name, "server", &rings.names.servers).map(Failing::Server),
        Some("zone" | "rack") => place(name, "zone", &rings.names.racks).map(Failing::Rack),
        Some(other) => Err((
            format!("`fail` names `{text}`, but `{other}` is no kind of thing that fails"),
            "write disk=d12, server=10.0.0.3 or zone=r1z2".to_owned(),
        )),
        None if is_disk(name) => disk(name, rings),
        None if rings.names.racks.iter().any(|rack| rack == name) => {
            place(name, "zone", &rings.names.racks).map(Failing::Rack)
        }
        None => place(name, "server", &rings.names.servers).map(Failing::Server),
    }
}

/// Whether a name without a kind is that of a disk: `d12`, or an address with a disk behind it.
fn is_disk(name: &str) -> bool {
    name.contains('/') || id(name).is_some_and(|_| name.starts_with('d'))
}

fn id(name: &str) -> Option<usize> {
    name.strip_prefix('d').unwrap_or(name).parse().ok()
}

fn disk(name: &str, rings: &Rings) -> Result<Failing, Wrong> {
    let before = rings.places.before();
    let in_ring = |disk: &DeviceId| *disk != NOWHERE;
    if let Some(id) = id(name) {
        let found = before.disks.get(id).copied().filter(in_ring);
        return found.map(|disk| Failing::Device(Some(disk.0))).ok_or_else(|| {
            let ids = before.disks.iter().enumerate().filter(|(_, disk)| in_ring(disk));
            let names: Vec<String> = ids.map(|(id, _)| format!("d{id}")).collect();
            no_such(name, "disk", &names)
        });
    }
    let wanted = |disk: &&DeviceId| {
        let disk = &rings.disks[disk.index()];
        name.rsplit_once('/').is_some_and(|(ip, of)| ip == disk.ip && of == disk.name)
    };
    let found: Vec<DeviceId> =
        before.disks.iter().filter(|disk| in_ring(disk)).filter(wanted).copied().collect();
    match found[..] {
        [disk] => Ok(Failing::Device(Some(disk.0))),
        [] => {
            let names = before.disks.iter().filter(|disk| in_ring(disk)).map(|disk| {
                let disk = &rings.disks[disk.index()];
                format!("{}/{}", disk.ip, disk.name)
            });
            Err(no_such(name, "disk", &names.collect::<Vec<_>>()))
        }
        _ => {
            let names: Vec<String> =
                found.iter().map(|disk| format!("d{}", rings.disks[disk.index()].id)).collect();
            let message =
                format!("`fail` names `{name}`, which is {} disks: {}", found.len(), names.join(", "));
            Err((message, format!("name one by its id: {}", names[0])))
        }
    }
}

fn place(name: &str, kind: &str, names: &[String]) -> Result<Option<u32>, Wrong> {
    // IPv6 addresses may be in brackets, as `swift-ring-builder` prints them.
    let plain: String = name.chars().filter(|letter| !matches!(letter, '[' | ']')).collect();
    let found = names.iter().position(|other| *other == plain);
    found.map(|at| Some(at as u32)).ok_or_else(|| no_such(name, kind, names))
}

fn no_such(name: &str, kind: &str, names: &[String]) -> Wrong {
    let hint = did_you_mean(name, names.iter().map(String::as_str)).unwrap_or_else(|| {
        let first: Vec<&str> = names.iter().take(LISTED).map(String::as_str).collect();
        let more = if names.len() > LISTED { ", …" } else { "" };
        format!("the ring has {}{more}", first.join(", "))
    });
    (format!("`fail` names `{name}`, but the ring has no {kind} of that name"), hint)
}
