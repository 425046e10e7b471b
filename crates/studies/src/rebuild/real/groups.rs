//! The groups of a real cluster as records of a rebuild, and where they belong when devices are out.

use std::collections::BTreeMap;
use std::sync::Arc;

use towtank_ceph::{Cluster, Group, PoolState, upmaps};
use towtank_placement::crush::pools::{Placer, Pool};
use towtank_placement::crush::{Ask, ItemId, Mapper, NONE, RuleKind, Workspace};

use super::machines::Machines;
use crate::RunContext;
use towtank_rebuild::affected::{Affected, Kind};
use towtank_rebuild::homes::{Homes, Wanted};
use towtank_rebuild::plan::{DeviceId, NOWHERE};
use towtank_rebuild::redundancy::Redundancy;

/// A cluster and its machines, ready for lookups.
#[derive(Debug)]
pub struct Groups {
    /// The cluster as the exports describe it.
    pub cluster: Cluster,
    /// Its machines.
    pub machines: Machines,
    mapper: Mapper,
}

/// Finds where the records of one run belong.
#[derive(Debug)]
struct Homeward {
    groups: Arc<Groups>,
    /// The numbers of the records, in ascending order.
    numbers: Vec<u64>,
    width: usize,
}

/// The assumed object size for a dump that counts bytes but no objects: the size into which RBD divides
/// images.
const OBJECT_USUAL: u64 = 4 << 20;

impl Groups {
    /// Prepares a cluster whose map has been read.
    ///
    /// # Errors
    /// The fault of a map that cannot be compiled.
    pub fn new(cluster: Cluster, machines: Machines) -> Result<Groups, String> {
        let mapper = cluster.map.compile().map_err(|fault| fault.to_string())?;
        Ok(Groups { cluster, machines, mapper })
    }

    fn placed(&self, placer: &Placer<'_>, workspace: &mut Workspace, pool: &Pool, seed: u32) -> Vec<ItemId> {
        let mut crush = |rule, x, result_max, weights: &[u32], pool| {
            let mut found = Vec::with_capacity(result_max);
            self.mapper.do_rule(Ask { rule, x, result_max, weights, pool }, workspace, &mut found);
            found
        };
        placer.place_by(pool, seed, &mut crush).up.devices
    }

    /// Devices that are not serving.
    pub fn down(&self) -> Vec<DeviceId> {
        let devices = self.machines.devices.iter();
        devices.filter(|(osd, _)| !self.cluster.serves(**osd)).map(|(_, device)| *device).collect()
    }

    fn kind(pool: &PoolState) -> Kind {
        let redundancy = Redundancy { data: pool.data_shards, width: pool.placed.size };
        let min_size = pool.min_size.map_or_else(|| redundancy.min_size(), |size| size.min(redundancy.width));
        Kind { redundancy, min_size, by_place: pool.placed.kind == RuleKind::Erasure }
    }

    /// The groups on failing devices, and those that lacked copies before: their numbers, and how many of the
    /// latter there are. Nothing if the user stopped it.
    pub fn affected(self: &Arc<Self>, failing: &[bool], context: &RunContext<'_>) -> Option<(Affected, u64)> {
        let placer = Placer::new(&self.cluster.map, &self.cluster.overlay);
        let mut workspace = Workspace::default();
        let mut kinds: Vec<Kind> = Vec::new();
        let mut records = Vec::new();
        let (mut number, mut asked, mut lacking) = (0u64, 0, 0);
        for pool in &self.cluster.pools {
            let own = Self::kind(pool);
            let kind = kinds.iter().position(|kind| *kind == own).unwrap_or_else(|| {
                kinds.push(own);
                kinds.len() - 1
            });
            let width = own.redundancy.width as usize;
            for (seed, group) in (0u32..).zip(&pool.groups) {
                if context.stopped() {
                    return None;
                }
                let computed;
                let acting = match &group.acting {
                    Some(acting) => acting,
                    None => {
                        computed = self.placed(&placer, &mut workspace, &pool.placed, seed);
                        &computed
                    }
                };
                let list = self.list(acting, group.primary, own, width);
                let lacks = list.iter().filter(|device| **device == NOWHERE).count() > 0;
                let touches = list.iter().any(|device| *device != NOWHERE && failing[device.index()]);
                lacking += u64::from(lacks && !touches && group.bytes + group.objects > 0);
                if lacks || touches {
                    records.push((kind as u16, number, list, group, own.redundancy.data));
                }
                asked += 1;
                number += 1;
            }
        }
        let numbers: Vec<u64> = records.iter().map(|record| record.1).collect();
        let width = kinds.iter().map(|kind| kind.redundancy.width as usize).max().unwrap_or(0);
        let homes = Homeward { groups: Arc::clone(self), numbers, width };
        let mut affected = Affected::of_groups(kinds, Box::new(homes));
        affected.asked = asked;
        for (kind, number, list, group, data) in records {
            affected.push_group_of(kind, number, &list, sizes(group, data));
        }
        Some((affected, lacking))
    }

    /// The serving devices of a group, each at its position; copies follow their primary.
    fn list(&self, acting: &[ItemId], primary: Option<ItemId>, kind: Kind, width: usize) -> Vec<DeviceId> {
        let device = |osd: &ItemId| match self.machines.devices.get(osd) {
            Some(device) if self.cluster.serves(*osd) => *device,
            _ => NOWHERE,
        };
        let mut list: Vec<DeviceId> = acting.iter().take(width).map(device).collect();
        if !kind.by_place {
            list.retain(|device| *device != NOWHERE);
            let lead = primary.and_then(|osd| self.machines.devices.get(&osd));
            if let Some(at) = lead.and_then(|lead| list.iter().position(|device| device == lead)) {
                list[..=at].rotate_right(1);
            }
        }
        list.resize(width, NOWHERE);
        list
    }

    /// The number of objects of a group, estimated from its bytes where the dump has no count.
    pub fn objects(group: &Group) -> u64 {
        if group.objects > 0 { group.objects } else { group.bytes.div_ceil(OBJECT_USUAL) }
    }
}

/// The sizes of the objects of a group, all of the mean size; the remainder goes to the first ones. An object
/// without bytes still takes an operation, so it counts as one byte.
fn sizes(group: &Group, data: u32) -> impl Iterator<Item = u64> + use<> {
    let objects = Groups::objects(group);
    let bytes = group.bytes;
    let (each, more) = bytes.checked_div(objects).map_or((0, 0), |each| (each, bytes % objects));
    (0..objects).map(move |at| (each + u64::from(at < more)).div_ceil(u64::from(data)).max(1))
}

impl Homes for Homeward {
    fn with_out<'a>(&'a self, out: &'a [bool]) -> Box<dyn Wanted + 'a> {
        let groups = &self.groups;
        let mut state = Cluster {
            map: groups.cluster.map.clone(),
            overlay: groups.cluster.overlay.clone(),
            pools: groups.cluster.pools.iter().map(PoolState::without_groups).collect(),
            fill: BTreeMap::new(),
        };
        // A device that is down but not out still counts, since its groups wait for it. So all devices are
        // taken as up here.
        state.overlay.devices.iter_mut().for_each(|device| device.up = device.exists);
        for (osd, _) in groups.machines.osds.iter().zip(out).filter(|(_, out)| **out) {
            if let Some(device) = state.overlay.devices.get_mut(*osd as usize) {
                device.weight = 0;
            }
        }
        if out.contains(&true) {
            // Explicit mappings to devices that are out are removed, as the monitors do.
            upmaps::drop_broken(&mut state);
        }
        let placer = Placer::new(&state.map, &state.overlay);
        let mut workspace = Workspace::default();
        let mut table = vec![NOWHERE; self.numbers.len() * self.width];
        let mut numbers = self.numbers.iter().copied().zip(table.chunks_mut(self.width.max(1))).peekable();
        let mut first = 0;
        for pool in &groups.cluster.pools {
            let end = first + pool.groups.len() as u64;
            while let Some((number, row)) = numbers.next_if(|(number, _)| *number < end) {
                let up = groups.placed(&placer, &mut workspace, &pool.placed, (number - first) as u32);
                for (place, osd) in row.iter_mut().zip(up).filter(|(_, osd)| *osd != NONE) {
                    *place = groups.machines.devices.get(&osd).copied().unwrap_or(NOWHERE);
                }
            }
            first = end;
        }
        Box::new(Table { numbers: &self.numbers, width: self.width, table })
    }
}

/// Where all records belong at one instant.
struct Table<'a> {
    numbers: &'a [u64],
    width: usize,
    table: Vec<DeviceId>,
}

impl Wanted for Table<'_> {
    fn find(&mut self, (number, _): (u64, u64), devices: &mut [DeviceId]) {
        devices.fill(NOWHERE);
        if let Ok(at) = self.numbers.binary_search(&number) {
            devices.iter_mut().zip(&self.table[at * self.width..]).for_each(|(to, from)| *to = *from);
        }
    }
}
