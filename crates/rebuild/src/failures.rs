//! What fails and when: the devices that a failure takes, drawn at random where the failure is not named.

use towtank_streams::{Draws, Purpose, Seed, Uniform};
use towtank_units::SimSpan;

use crate::hardware::{Hardware, Layout};
use crate::plan::DeviceId;

/// A failure as it is specified, before a replicate draws the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What fails.
    pub what: Failing,
    /// When it fails.
    pub at: SimSpan,
}

/// What fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failing {
    /// A server, drawn if it is not named.
    Server(Option<u32>),
    /// A disk, drawn if it is not named.
    Device(Option<u32>),
    /// A rack, drawn if it is not named.
    Rack(Option<u32>),
}

/// A failure with the devices that it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Struck {
    /// When it fails.
    pub at: SimSpan,
    /// The devices that fail.
    pub devices: Vec<DeviceId>,
    /// The failure in words.
    pub name: String,
    /// Whether it is a whole rack.
    pub rack: bool,
    /// Whether its devices are never marked out by themselves, since they have the flag `noout`.
    pub noout: bool,
    /// How long it has been known by then that they are down, where it has.
    pub down_for: Option<SimSpan>,
}

const CHOICE: Purpose = Purpose(40);

/// A failure as the user wrote it, and its devices: those that it names, or the largest number that a drawn
/// one may take.
pub type Word<'a> = (&'a str, Stricken);

/// Which devices a failure takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stricken {
    /// These devices.
    Named(Vec<DeviceId>),
    /// At most this many devices, drawn.
    Drawn(usize),
}

/// Finds failures, taken in order of time, that hit nothing that still works: a message and a hint for each.
/// `open` says which devices work before the first failure.
pub fn struck_again(words: &[Word<'_>], mut open: Vec<bool>) -> Vec<(String, String)> {
    let count = |open: &[bool]| open.iter().filter(|open| **open).count();
    let all = count(&open);
    let mut wrong = Vec::new();
    // A device that a failure names is never drawn by another one.
    let mut by: Vec<(&str, &[DeviceId])> = Vec::new();
    for (text, stricken) in words {
        let Stricken::Named(devices) = stricken else { continue };
        let before = by.iter().filter(|(_, before)| before.iter().any(|device| devices.contains(device)));
        let before: Vec<String> = before.map(|(text, _)| format!("`{text}`")).collect();
        if !before.is_empty() && devices.iter().all(|device| !open[device.index()]) {
            let message = format!(
                "`fail` names `{text}`, but all its disks have already failed with {}",
                before.join(" and ")
            );
            wrong.push((
                message,
                "leave it out, or name something else; what comes back and fails again is not modelled"
                    .to_owned(),
            ));
        }
        devices.iter().for_each(|device| open[device.index()] = false);
        by.push((text, devices));
    }
    let mut left = count(&open);
    for (text, stricken) in words {
        let Stricken::Drawn(most) = stricken else { continue };
        if left == 0 {
            let message = format!(
                "`fail` draws `{text}`, but possibly none of {all} disks is left: {} other failures precede it or name disks",
                words.len() - 1
            );
            wrong.push((message, "remove failures, or set more servers".to_owned()));
            break;
        }
        left = left.saturating_sub(*most);
    }
    wrong
}

/// The devices that a failure takes in a synthetic cluster.
#[must_use]
pub fn named(what: Failing, layout: &Layout) -> Stricken {
    let servers = layout.rack_of.len() as u32;
    let of = |fits: &dyn Fn(u32) -> bool| {
        let devices = (0u32..).zip(&layout.server_of).filter(|(_, server)| fits(**server));
        Stricken::Named(devices.map(|(device, _)| DeviceId(device)).collect())
    };
    let mut disks = vec![0usize; servers as usize];
    layout.server_of.iter().for_each(|&server| disks[server as usize] += 1);
    match what {
        Failing::Server(Some(server)) => of(&|other| other == server),
        Failing::Device(Some(device)) => Stricken::Named(vec![DeviceId(device)]),
        Failing::Rack(Some(rack)) => of(&|server| layout.rack_of[server as usize] == rack),
        Failing::Server(None) => Stricken::Drawn(disks.into_iter().max().unwrap_or(0)),
        Failing::Device(None) => Stricken::Drawn(1),
        Failing::Rack(None) => {
            let racks = layout.rack_of.iter().max().map_or(0, |&rack| rack + 1);
            let mut sizes = vec![0; racks as usize];
            layout.rack_of.iter().zip(disks).for_each(|(&rack, disks)| sizes[rack as usize] += disks);
            Stricken::Drawn(sizes.into_iter().max().unwrap_or(0))
        }
    }
}

/// The devices and the name of one failure. A failure that is not named is drawn among the things of which no
/// device is `taken` (failed before, or named by another failure); if there is none, among those that still
/// work in part. The list is empty if nothing works.
#[must_use]
fn strike_one(
    what: Failing,
    hardware: &Hardware,
    taken: &[bool],
    mut draws: Draws,
) -> (Vec<DeviceId>, String) {
    let stands = |device: &DeviceId| !taken[device.index()];
    let in_rack = |rack: u32| {
        let servers = (0..hardware.servers()).filter(move |&server| hardware.rack_of(server) == rack);
        servers.flat_map(|server| hardware.devices_of(server))
    };
    let mut draw = |count: u32, devices: &dyn Fn(u32) -> Vec<DeviceId>| {
        let whole = |one: &u32| devices(*one).iter().all(stands) && !devices(*one).is_empty();
        let mut fit: Vec<u32> = (0..count).filter(whole).collect();
        if fit.is_empty() {
            fit = (0..count).filter(|&one| devices(one).iter().any(stands)).collect();
        }
        let at = draws.of(CHOICE).below(fit.len().max(1) as u64) as usize;
        fit.get(at).copied()
    };
    let (devices, name) = match what {
        Failing::Server(named) => {
            let devices = |server| hardware.devices_of(server).collect::<Vec<_>>();
            let server = named.or_else(|| draw(hardware.servers(), &devices));
            (server.map(devices), server.map(|server| hardware.server_name(server)))
        }
        Failing::Device(named) => {
            let device = named.or_else(|| draw(hardware.devices(), &|device| vec![DeviceId(device)]));
            let device = device.map(DeviceId);
            (device.map(|device| vec![device]), device.map(|device| hardware.disk_name(device)))
        }
        Failing::Rack(named) => {
            let devices = |rack| in_rack(rack).collect::<Vec<_>>();
            let rack = named.or_else(|| draw(hardware.racks(), &devices));
            (rack.map(devices), rack.map(|rack| hardware.rack_name(rack)))
        }
    };
    let devices = devices.unwrap_or_default();
    let end = hardware.devices();
    assert!(devices.iter().all(|device| device.0 < end), "a disk fails beyond the {end} there are");
    (devices, name.unwrap_or_else(|| "nothing".to_owned()))
}

/// The devices of each failure.
#[must_use]
pub fn strike(failures: &[Failure], hardware: &Hardware, seed: Seed) -> Vec<Struck> {
    let mut taken = vec![false; hardware.devices() as usize];
    for failure in failures {
        if let Failing::Server(Some(_)) | Failing::Device(Some(_)) | Failing::Rack(Some(_)) = failure.what {
            let (devices, _) = strike_one(failure.what, hardware, &taken, Draws::new(seed, u32::MAX, 0));
            devices.iter().for_each(|device| taken[device.index()] = true);
        }
    }
    let mut struck = Vec::new();
    for (ordinal, failure) in (0u64..).zip(failures) {
        let draws = Draws::new(seed, u32::MAX, ordinal);
        let (devices, name) = strike_one(failure.what, hardware, &taken, draws);
        let drawn =
            matches!(failure.what, Failing::Server(None) | Failing::Device(None) | Failing::Rack(None));
        let stood = |device: &DeviceId| !taken[device.index()];
        let fresh = devices.is_empty() || devices.iter().any(stood);
        assert!(fresh || !drawn, "{name} was drawn to fail, and all of it has failed before");
        devices.iter().for_each(|device| taken[device.index()] = true);
        let rack = matches!(failure.what, Failing::Rack(_)) && hardware.racks() > 1;
        struck.push(Struck { at: failure.at, devices, name, rack, noout: false, down_for: None });
    }
    assert_eq!(struck.len(), failures.len(), "failures with devices, and failures");
    struck
}

#[cfg(test)]
mod tests;
