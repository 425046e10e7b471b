//! What fails, and when: the words of a user, and the devices they mean.

use ::scenario::{Draft, Problems};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use streams::{Draws, Purpose, Seed, Uniform};
use units::SimSpan;

use super::hardware::Hardware;
use super::plan::DeviceId;
use super::scenario::Scenario;

/// What fails: one text, or a list of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum FailWords {
    /// One.
    One(String),
    /// Any number.
    Many(Vec<String>),
}

impl Default for FailWords {
    fn default() -> FailWords {
        FailWords::One("server".to_owned())
    }
}

/// A failure, by what is known of it before a replicate draws the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What fails.
    pub what: Failing,
    /// When.
    pub at: SimSpan,
}

/// What fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failing {
    /// A server, drawn if it is not named.
    Server(Option<u32>),
    /// A disk.
    Device(Option<u32>),
    /// A rack.
    Rack(Option<u32>),
}

/// A failure with its devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Struck {
    /// When.
    pub at: SimSpan,
    /// What fails.
    pub devices: Vec<DeviceId>,
    /// In words.
    pub name: String,
    /// It is a whole rack.
    pub rack: bool,
}

const CHOICE: Purpose = Purpose(40);

impl FailWords {
    pub(super) fn all(&self) -> &[String] {
        match self {
            FailWords::One(text) => std::slice::from_ref(text),
            FailWords::Many(texts) => texts,
        }
    }

    /// What is meant, in the order of time.
    pub fn resolve(&self, scenario: &Scenario, draft: &Draft, problems: &mut Problems) -> Vec<Failure> {
        let mut failures = Vec::new();
        if self.all().is_empty() {
            let hint = "name what fails: fail = \"server\"";
            problems.push(draft.problem("fail", "nothing fails, so there is nothing to rebuild").hint(hint));
        }
        for text in self.all() {
            match parse(text, scenario) {
                Ok(failure) => failures.push(failure),
                Err((message, hint)) => problems.push(draft.problem("fail", message).hint(hint)),
            }
        }
        failures.sort_by_key(|failure| failure.at);
        failures
    }
}

fn parse(text: &str, scenario: &Scenario) -> Result<Failure, (String, String)> {
    let (what, at) = text.split_once('@').unwrap_or((text, "0s"));
    let at: SimSpan = at.trim().parse().map_err(|error| {
        (format!("`fail` is `{text}`: {error}"), "write when behind an `@`: \"server@10min\"".to_owned())
    })?;
    let what = what.trim();
    let disks = scenario.servers * scenario.disks_per_server;
    let number = |digits: &str, count: u32, names: &str| {
        let number = digits.trim().parse().ok().filter(|&number: &u32| number < count);
        number.map(Some).ok_or_else(|| {
            let last = count - 1;
            (
                format!("`fail` names `{what}`, but {names} go from 0 to {last}"),
                format!("take one of 0 to {last}"),
            )
        })
    };
    let what = match what {
        "server" | "host" => Failing::Server(None),
        "disk" | "osd" => Failing::Device(None),
        "rack" => Failing::Rack(None),
        _ => match what.split_once(['=', '.']) {
            Some(("server" | "host", digits)) => {
                let digits = digits.trim_start_matches(|c: char| c.is_ascii_alphabetic());
                Failing::Server(number(digits, scenario.servers, "servers")?)
            }
            Some(("osd" | "disk", digits)) => Failing::Device(number(digits, disks, "disks")?),
            Some(("rack", digits)) => Failing::Rack(number(digits, scenario.racks, "racks")?),
            _ => {
                let hint = "say server, disk or rack to have one drawn, or name it: server=5, osd.3, rack=1";
                return Err((format!("`fail` names `{what}`, which is nothing that fails"), hint.to_owned()));
            }
        },
    };
    Ok(Failure { what, at })
}

/// The devices of one thing that fails, and its name; one that is not named is drawn among those that have not failed
/// before.
#[must_use]
pub fn strike_one(
    what: Failing,
    hardware: &Hardware,
    failed: &[bool],
    mut draws: Draws,
) -> (Vec<DeviceId>, String) {
    let mut draw = |fit: Vec<u32>| {
        let at = draws.of(CHOICE).below(fit.len().max(1) as u64) as usize;
        fit.get(at).copied().unwrap_or(0)
    };
    let whole = |server: u32| !hardware.devices_of(server).any(|device| failed[device.index()]);
    match what {
        Failing::Server(named) => {
            let server = named
                .unwrap_or_else(|| draw((0..hardware.servers()).filter(|&server| whole(server)).collect()));
            (hardware.devices_of(server).collect::<Vec<_>>(), hardware.server_name(server))
        }
        Failing::Device(named) => {
            let fit = || (0..hardware.devices()).filter(|&device| !failed[device as usize]).collect();
            let device = named.unwrap_or_else(|| draw(fit()));
            (vec![DeviceId(device)], hardware.disk_name(DeviceId(device)))
        }
        Failing::Rack(named) => {
            let rack = named.unwrap_or_else(|| draw((0..hardware.racks()).collect()));
            let servers = (0..hardware.servers()).filter(|&server| hardware.rack_of(server) == rack);
            (servers.flat_map(|server| hardware.devices_of(server)).collect(), hardware.rack_name(rack))
        }
    }
}

/// The devices of each failure.
#[must_use]
pub fn strike(failures: &[Failure], hardware: &Hardware, seed: Seed) -> Vec<Struck> {
    let mut failed = vec![false; hardware.devices() as usize];
    let mut struck = Vec::new();
    for (ordinal, failure) in (0u64..).zip(failures) {
        let draws = Draws::new(seed, u32::MAX, ordinal);
        let (devices, name) = strike_one(failure.what, hardware, &failed, draws);
        devices.iter().for_each(|device| failed[device.index()] = true);
        let rack = matches!(failure.what, Failing::Rack(_)) && hardware.racks() > 1;
        struck.push(Struck { at: failure.at, devices, name, rack });
    }
    struck
}
