//! The state of the cluster after each change, and the placement of groups that follows from it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use towtank_placement::crush::build::{Layer, build};
use towtank_placement::crush::pools::{Device, Overlay, Placer, Pool};
use towtank_placement::crush::{Alg, Map as CrushMap, RuleKind};
use towtank_replication::{DeviceId, Epoch, Incarnation, Map, Member};
use twox_hash::XxHash3_64;

use crate::engine::written;
use crate::settings::Settings;

/// The state of a device daemon.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OsdState {
    /// Whether it runs, as far as is known.
    pub is_up: bool,
    /// Whether objects are placed on it.
    pub is_in: bool,
    /// Whether it is out because it was away for long; then it is in again when it returns.
    pub was_away: bool,
    /// The address on which it listens.
    pub address: String,
    /// The number of its run, which it draws at random when it starts.
    pub instance: u64,
    /// Whether its disk is full: then it takes no new data.
    pub is_full: bool,
    /// The life of its directory: a daemon with another one is refused.
    pub incarnation: Option<Incarnation>,
    /// The last run in this life that was let in: a directory that does not know it is an older copy.
    pub last_run: Option<u64>,
}

impl OsdState {
    /// A daemon that has not started yet, with a directory that has just been made.
    #[must_use]
    pub(crate) fn begins_with(incarnation: Incarnation) -> OsdState {
        OsdState { is_in: true, incarnation: Some(incarnation), ..OsdState::default() }
    }
}

/// What changed in a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// Daemons came or left: a new interval begins for all groups.
    Osds,
    /// Other replicas serve one group temporarily: a new interval begins for it.
    Group(u32),
    /// A disk became full, or is no longer full: no interval begins.
    Room,
    /// The monitor was built anew, with all daemons down: a new interval begins for all groups. The epochs
    /// before it may be missing.
    Rebuilt,
}

/// Which map: there should be one of each epoch, but a monitor that is an older copy would make another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapId {
    /// Its epoch.
    pub epoch: Epoch,
    /// A checksum of all that it says.
    pub digest: u64,
}

/// A version of the cluster's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterMap {
    /// Its epoch.
    pub epoch: Epoch,
    /// The oldest map that is still needed: all groups have been clean since then.
    pub oldest: Epoch,
    /// What changed.
    pub change: Change,
    /// The daemons that the cluster knows.
    pub osds: BTreeMap<u32, OsdState>,
    /// The acting replicas of groups whose intended devices are not ready.
    pub temporary: BTreeMap<u32, Vec<u32>>,
    /// Devices that were declared lost, removed or replaced.
    pub gone: Vec<Member>,
}

impl ClusterMap {
    /// What tells it from every other map.
    #[must_use]
    pub fn id(&self) -> MapId {
        MapId { epoch: self.epoch, digest: XxHash3_64::oneshot(&written(self)) }
    }

    /// Whether a new interval begins for a group.
    #[must_use]
    pub(crate) fn begins_interval_of(&self, group: u32) -> bool {
        match self.change {
            Change::Osds | Change::Rebuilt => true,
            Change::Group(other) => other == group,
            Change::Room => false,
        }
    }

    /// The daemons that run, each in the present life of its device.
    #[must_use]
    pub fn alive(&self) -> Vec<Member> {
        self.osds.iter().filter(|(_, osd)| osd.is_up).filter_map(|(id, _)| self.member(*id)).collect()
    }

    /// A device in its present life.
    #[must_use]
    pub(crate) fn member(&self, osd: u32) -> Option<Member> {
        let incarnation = self.osds.get(&osd)?.incarnation?;
        Some(Member { device: DeviceId(osd), incarnation })
    }

    /// The devices whose present life was declared lost.
    #[must_use]
    pub fn lost(&self) -> Vec<u32> {
        let is_lost = |osd: &u32| self.member(*osd).is_some_and(|member| self.gone.contains(&member));
        self.osds.keys().copied().filter(is_lost).collect()
    }
}

/// The placement of groups in a state of the cluster: CRUSH (straw2, each daemon a failure domain), without
/// the daemons that are down.
#[derive(Debug)]
pub struct Places {
    crush: CrushMap,
    overlay: Overlay,
    pool: Pool,
}

impl Places {
    /// The placement in a state of a cluster.
    ///
    /// # Panics
    /// If the cluster has no daemons, or more than CRUSH supports.
    #[must_use]
    pub fn new(settings: &Settings, map: &ClusterMap) -> Places {
        let count = map.osds.keys().next_back().map_or(1, |last| last + 1);
        let layer = |name: &str, size| Layer { name: name.to_owned(), alg: Alg::Straw2, size };
        let built =
            build(count as i32, &[layer("host", 1), layer("root", 0)]).expect("a flat tree can be built");
        let device = |id: u32| match map.osds.get(&id) {
            Some(osd) => {
                Device { up: osd.is_up, weight: if osd.is_in { Device::IN.weight } else { 0 }, ..Device::IN }
            }
            None => Device::ABSENT,
        };
        let overlay = Overlay { devices: (0..count).map(device).collect(), ..Overlay::default() };
        let pool = Pool {
            id: 1,
            kind: RuleKind::Replicated,
            size: settings.replicas,
            rule: 0,
            pg_num: settings.groups,
            pgp_num: settings.groups,
            hashpspool: true,
        };
        Places { crush: built.map, overlay, pool }
    }

    /// The daemons that should hold a group and are up; the primary first.
    #[must_use]
    pub fn up(&self, group: u32) -> Vec<u32> {
        let placed = Placer::new(&self.crush, &self.overlay).place(&self.pool, group).up;
        placed.devices.iter().filter_map(|device| u32::try_from(*device).ok()).collect()
    }

    /// The map for the replicas of a group.
    #[must_use]
    pub fn map_of(&self, map: &ClusterMap, group: u32) -> Map {
        let devices = |ids: &[u32]| ids.iter().map(|id| DeviceId(*id)).collect::<Vec<_>>();
        let up = self.up(group);
        let acting = map.temporary.get(&group).unwrap_or(&up);
        Map {
            epoch: map.epoch,
            up: devices(&up),
            acting: devices(acting),
            alive: map.alive(),
            gone: map.gone.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(osds: u32) -> ClusterMap {
        let incarnation = Some(Incarnation(1));
        let osd = OsdState { is_up: true, is_in: true, incarnation, ..OsdState::default() };
        let osds = (0..osds).map(|id| (id, osd.clone())).collect();
        ClusterMap {
            epoch: 1,
            oldest: 1,
            change: Change::Osds,
            osds,
            temporary: BTreeMap::new(),
            gone: Vec::new(),
        }
    }

    fn settings() -> Settings {
        Settings { osds: 6, groups: 64, ..Settings::default() }
    }

    #[test]
    fn groups_lie_on_different_devices_and_stay_where_they_are() {
        let (settings, mut map) = (settings(), map(6));
        let before: Vec<Vec<u32>> = (0..64).map(|group| Places::new(&settings, &map).up(group)).collect();
        for up in &before {
            let mut different = up.clone();
            different.sort_unstable();
            different.dedup();
            assert_eq!((up.len(), different.len()), (3, 3), "{up:?}");
        }
        map.osds.get_mut(&2).expect("it is there").is_up = false;
        let places = Places::new(&settings, &map);
        for (group, up) in before.iter().enumerate() {
            let left: Vec<u32> = up.iter().copied().filter(|osd| *osd != 2).collect();
            assert_eq!(places.up(group as u32), left, "down is not out");
        }
        map.osds.get_mut(&2).expect("it is there").is_in = false;
        let places = Places::new(&settings, &map);
        for (group, up) in before.iter().enumerate() {
            let now = places.up(group as u32);
            assert!(now.len() == 3 && !now.contains(&2), "{now:?}");
            if !up.contains(&2) {
                assert_eq!(now, *up, "a group without it stays");
            }
        }
    }

    #[test]
    fn others_serve_for_a_while() {
        let (settings, mut map) = (settings(), map(6));
        let up = Places::new(&settings, &map).up(5);
        map.temporary.insert(5, vec![up[1]]);
        let group_map = Places::new(&settings, &map).map_of(&map, 5);
        assert_eq!(
            (group_map.up.len(), group_map.acting, group_map.alive.len()),
            (3, vec![DeviceId(up[1])], 6)
        );
        map.change = Change::Group(5);
        assert!(map.begins_interval_of(5) && !map.begins_interval_of(4));
        map.change = Change::Room;
        assert!(!map.begins_interval_of(5), "a full disk does not begin an interval");
    }
}
