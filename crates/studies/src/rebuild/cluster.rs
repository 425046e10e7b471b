//! The machines that a scenario describes, and their settings for a rebuild.

use towtank_rebuild::hardware::{Hardware, Layout, Names, Uplinks};
use towtank_rebuild::model::Limits;
use towtank_rebuild::plan::DeviceId;
use towtank_recovery::keys::Seeks;

use super::ring::Rings;
use super::scenario::Scenario;
use super::settled::Settled;

/// The topology of a scenario: which disk is in which server, and which server in which rack.
#[must_use]
pub fn layout(scenario: &Scenario) -> Layout {
    let disks = scenario.disks_per_server;
    // Racks get equally many servers; where the number does not divide, the first racks get one more.
    let rack_of =
        |server: u32| (u64::from(server) * u64::from(scenario.racks) / u64::from(scenario.servers)) as u32;
    Layout {
        server_of: (0..scenario.servers * disks).map(|device| device / disks).collect(),
        rack_of: (0..scenario.servers).map(rack_of).collect(),
        class_of: vec![0; (scenario.servers * disks) as usize],
    }
}

/// The machines of a scenario, or those of a ring with the speeds of the scenario. So many `new` disks are in
/// the only server besides its own.
#[must_use]
pub fn machines(scenario: &Settled, rings: Option<&Rings>, new: u32) -> Hardware {
    let racks = rings.map_or(scenario.racks as usize, |rings| rings.names.racks.len());
    let uplinks = scenario.settings.uplink.filter(|_| racks > 1).map(|rate| Uplinks { rate });
    let mut layout = rings.map_or_else(|| layout(scenario), |rings| rings.layout.clone());
    let disks = layout.server_of.len() as u32;
    let names = (new > 0).then(|| names(disks, new));
    assert!(new == 0 || layout.rack_of.len() == 1, "new disks are in the only server");
    layout.server_of.resize((disks + new) as usize, 0);
    layout.class_of.resize((disks + new) as usize, 0);
    let settings = &scenario.settings;
    let hardware = Hardware::new(layout, vec![settings.disk()], settings.card(), uplinks, settings.unit);
    match rings.map(|rings| rings.names.clone()).or(names) {
        Some(names) => hardware.with_names(names),
        None => hardware,
    }
}

/// The names of the machines of a chassis into which new disks come.
fn names(disks: u32, new: u32) -> Names {
    let old = (0..disks).map(|disk| format!("disk {disk}"));
    let new = (1..=new).map(|at| format!("new disk {at}"));
    Names {
        servers: vec!["server 0".to_owned()],
        disks: old.chain(new).collect(),
        racks: vec!["rack 0".to_owned()],
    }
}

/// The limits on concurrent work.
#[must_use]
pub fn limits(scenario: &Settled) -> Limits {
    let settings = &scenario.settings;
    // Generated groups are those of one pool, and the first device has the number 0.
    let rotates = [settings.seeks != Seeks::None];
    let queues = settings.mclock.map(|mclock| mclock.queues(vec![0], Some(DeviceId(0)), &rotates));
    settings.limits(queues)
}
