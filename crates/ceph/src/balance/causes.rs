//! Why the fullest device is as full as it is: the fill is computed again and again, each time with one more
//! fact about the cluster, from an even fill of all devices to the cluster as it is. What a fact adds to the
//! fill of the fullest device is its contribution. The sum is exact; each contribution depends on the order,
//! which is fixed.
//!
//! Only devices count that share pools, directly or over others, with the fullest one: a pool of flash says
//! nothing about disks that hold none of it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use towtank_placement::crush::ItemId;

use super::ideal::Picked;
use super::spread::{Load, Placed, Spread, real};

/// A fact, and what it adds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// Its name.
    pub kind: CauseKind,
    /// What it adds to the fill of the fullest device; nothing where the exports do not tell.
    pub added: Option<f64>,
    /// The fill of the fullest device with all facts up to this one.
    pub fill: f64,
    /// The fullest device then; none in an even fill.
    pub device: Option<ItemId>,
}

/// The facts, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CauseKind {
    /// All devices equally full.
    EvenFill,
    /// Used space beyond the bytes of objects differs between devices.
    Overheads,
    /// Rules keep copies of a group apart, and pools to their devices.
    Rule,
    /// Weights in the map are not in proportion to the sizes of devices.
    CrushWeights,
    /// Overrides of weights, as `ceph osd reweight` sets them.
    Reweights,
    /// CRUSH draws one failure domain after the other, so heavy ones get less than their weight.
    Draws,
    /// There are so few groups that chance gives some devices more of them than others.
    TooFewGroups,
    /// Groups of one pool are larger than those of another.
    SizesBetweenPools,
    /// Groups of the same pool differ in size.
    SizesWithinPools,
    /// Explicit mappings.
    Upmaps,
    /// Data that are on their way to where the map puts them.
    UnderWay,
    /// The exports contradict each other.
    NotExplained,
}

impl CauseKind {
    /// Its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::EvenFill => "even_fill",
            Self::Overheads => "overheads",
            Self::Rule => "rule",
            Self::CrushWeights => "crush_weights",
            Self::Reweights => "reweights",
            Self::Draws => "draws",
            Self::TooFewGroups => "too_few_groups",
            Self::SizesBetweenPools => "sizes_between_pools",
            Self::SizesWithinPools => "sizes_within_pools",
            Self::Upmaps => "upmaps",
            Self::UnderWay => "under_way",
            Self::NotExplained => "not_explained",
        }
    }
}

type Amounts = BTreeMap<ItemId, f64>;

/// The causes of the fill of the fullest device; empty if nothing can be filled.
#[must_use]
pub fn causes(spread: &Spread) -> Vec<Cause> {
    let devices = around_fullest(spread);
    let Some(mut steps) = Steps::begin(spread, &devices) else { return Vec::new() };
    let expected = |weight: &dyn Fn(&Load) -> f64, picked| -> Vec<Amounts> {
        spread.pools.iter().map(|pool| spread.expected(pool, weight, picked)).collect()
    };
    let takes = |load: &Load| load.effective > 0.0;
    let by = |shards: &[Amounts]| spread.bytes_of(shards);
    let by_size = |load: &Load| if takes(load) { load.capacity } else { 0.0 };
    let by_weight = |load: &Load| if takes(load) { load.weight } else { 0.0 };
    steps.next(CauseKind::Rule, &by(&expected(&by_size, Picked::Even)));
    steps.next(CauseKind::CrushWeights, &by(&expected(&by_weight, Picked::Even)));
    steps.next(CauseKind::Reweights, &by(&expected(&|load| load.effective, Picked::Even)));
    let drawn = expected(&|load| load.effective, Picked::Drawn);
    let drawn_bytes = by(&drawn);
    steps.next(CauseKind::Draws, &drawn_bytes);
    // Where chance puts more shards of any pool on a device, its bytes rise in proportion.
    let plain = counted(spread, |group| &group.plain);
    let sum = |pools: &[Amounts], id: &ItemId| pools.iter().filter_map(|pool| pool.get(id)).sum::<f64>();
    let ids: BTreeSet<ItemId> = plain.iter().flat_map(|pool| pool.keys().copied()).collect();
    let scaled = |id: &ItemId| {
        let (count, usual) = (sum(&plain, id), sum(&drawn, id));
        let bytes = drawn_bytes.get(id).copied().unwrap_or(0.0);
        (*id, if usual > 0.0 { bytes * count / usual } else { 0.0 })
    };
    steps.next(CauseKind::TooFewGroups, &ids.iter().map(scaled).collect());
    steps.next(CauseKind::SizesBetweenPools, &by(&plain));
    let sized = spread.pools.iter().all(|pool| pool.sized);
    steps.known(CauseKind::SizesWithinPools, &weighed(spread, |group| &group.plain), sized);
    steps.next(CauseKind::Upmaps, &weighed(spread, |group| &group.up));
    steps.end(spread);
    steps.causes
}

/// Shards of each pool on each device.
fn counted(spread: &Spread, devices: fn(&Placed) -> &Vec<ItemId>) -> Vec<Amounts> {
    let mut counts = vec![Amounts::new(); spread.pools.len()];
    for group in &spread.groups {
        real(devices(group)).for_each(|id| *counts[group.pool].entry(id).or_default() += 1.0);
    }
    counts
}

/// Bytes on each device.
fn weighed(spread: &Spread, devices: fn(&Placed) -> &Vec<ItemId>) -> Amounts {
    let mut bytes = Amounts::new();
    for group in &spread.groups {
        real(devices(group)).for_each(|id| *bytes.entry(id).or_default() += group.shard as f64);
    }
    bytes
}

/// The devices that take data and share pools with the fullest of them, over any number of others.
fn around_fullest(spread: &Spread) -> BTreeSet<ItemId> {
    let fill = |load: &Load| load.fill_now().or_else(|| load.fill());
    let takes = spread.devices.iter().filter(|(_, load)| load.effective > 0.0 && load.capacity > 0.0);
    let fills = takes.filter_map(|(id, load)| Some((*id, fill(load)?)));
    let Some((fullest, _)) = fills.reduce(|best, next| if next.1 > best.1 { next } else { best }) else {
        return BTreeSet::new();
    };
    let around = together(spread, fullest);
    let usable = |id: &ItemId| {
        let load = spread.devices.get(id);
        load.is_some_and(|load| load.effective > 0.0 && load.capacity > 0.0)
    };
    around.into_iter().filter(usable).collect()
}

/// The devices of all pools that are joined with this one by common devices.
#[must_use]
pub fn together(spread: &Spread, device: ItemId) -> BTreeSet<ItemId> {
    let mut found = BTreeSet::from([device]);
    let mut open: Vec<_> = spread.pools.iter().filter(|pool| pool.shards > 0).collect();
    loop {
        let (joined, apart): (Vec<_>, Vec<_>) =
            open.into_iter().partition(|pool| pool.shape.devices.keys().any(|id| found.contains(id)));
        if joined.is_empty() {
            return found;
        }
        found.extend(joined.iter().flat_map(|pool| pool.shape.devices.keys().copied()));
        open = apart;
    }
}

struct Steps<'a> {
    devices: Vec<(ItemId, &'a Load)>,
    causes: Vec<Cause>,
}

impl<'a> Steps<'a> {
    fn begin(spread: &'a Spread, ids: &BTreeSet<ItemId>) -> Option<Steps<'a>> {
        let devices: Vec<(ItemId, &Load)> =
            ids.iter().filter_map(|id| Some((*id, spread.devices.get(id)?))).collect();
        let capacity: f64 = devices.iter().map(|(_, load)| load.capacity).sum();
        if capacity <= 0.0 {
            return None;
        }
        let bytes: f64 = devices.iter().map(|(_, load)| load.bytes as f64).sum();
        let overhead: f64 = devices.iter().map(|(_, load)| load.overhead).sum();
        let fill = ((bytes + overhead) / capacity).max(0.0);
        let even = Cause { kind: CauseKind::EvenFill, added: Some(fill), fill, device: None };
        let mut steps = Steps { causes: vec![even], devices };
        let level = steps.devices.iter().map(|(id, load)| (*id, bytes * load.capacity / capacity)).collect();
        steps.next(CauseKind::Overheads, &level);
        Some(steps)
    }

    fn last(&self) -> f64 {
        self.causes.last().map_or(0.0, |cause| cause.fill)
    }

    fn next(&mut self, kind: CauseKind, bytes: &Amounts) {
        self.known(kind, bytes, true);
    }

    /// The fill with these bytes; where the exports do not tell, it is as before.
    fn known(&mut self, kind: CauseKind, bytes: &Amounts, known: bool) {
        let fill = |(id, load): &(ItemId, &Load)| {
            Some((*id, load.fill_with(bytes.get(id).copied().unwrap_or(0.0))?))
        };
        let fills = self.devices.iter().filter_map(fill);
        let fullest = fills.reduce(|best, next| if next.1 > best.1 { next } else { best });
        let (device, fill) = match fullest.filter(|_| known) {
            Some((id, fill)) => (Some(id), fill),
            None => (None, self.last()),
        };
        let added = known.then(|| exact(fill - self.last()));
        self.causes.push(Cause { kind, added, fill, device });
    }

    /// From the state that the cluster moves towards to what devices report now.
    fn end(&mut self, spread: &Spread) {
        let Some((load, fill)) = spread.fullest_now() else { return };
        let device = spread.devices.iter().find(|(_, own)| std::ptr::eq(*own, load)).map(|(id, _)| *id);
        let moving = spread.pending_bytes > 0 && spread.disagreeing.0 == 0;
        let kind = if moving { CauseKind::UnderWay } else { CauseKind::NotExplained };
        let added = Some(exact(fill - self.last()));
        self.causes.push(Cause { kind, added, fill, device });
    }
}

/// Differences that only come from rounding count as none.
fn exact(added: f64) -> f64 {
    if added.abs() < 1e-12 { 0.0 } else { added }
}
