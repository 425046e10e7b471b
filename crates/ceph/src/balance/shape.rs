//! What a rule may do: the tree from which it picks devices, and how many it picks at each level.
//!
//! A rule is a list of branches, each from a `take` to its `emit`. `chooseleaf 0 host` of a pool of three
//! copies picks three hosts below its start and one device in each. The tree leaves out the levels between:
//! a rack restricts nothing unless a step names racks. Steps that set tries are left out too. `choosemsr 4
//! host` and `choosemsr 2 osd` are the same: a host serves one stride only, so it holds two copies at most.

use std::collections::{BTreeMap, BTreeSet};

use towtank_placement::crush::pools::Pool;
use towtank_placement::crush::{ItemId, Map, Step};

/// A rule for the groups of one pool.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    /// Its branches, in the order of the rule.
    pub branches: Vec<Branch>,
    /// The devices below its branches, with their weights in the map.
    pub devices: BTreeMap<ItemId, f64>,
}

/// From a `take` to its `emit`.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Copies or shards of a group that it places.
    pub asked: u32,
    /// The item that it starts from.
    pub top: Node,
}

/// An item that a rule picks, or picks from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The item.
    pub item: ItemId,
    /// How many of its children one group takes.
    pub picks: u32,
    /// The items that can be picked; none for a device.
    pub children: Vec<Node>,
}

/// Where a device stands in a branch: two devices may replace each other if they have the same `within`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// The bucket of which the group takes several children; it stays the same when a shard moves.
    pub within: ItemId,
    /// The child: the failure domain, which holds one shard of a group.
    pub domain: ItemId,
}

impl Node {
    /// The most copies or shards of one group below this item.
    #[must_use]
    pub fn most(&self) -> u32 {
        self.children.first().map_or(1, |child| self.picks.saturating_mul(child.most()))
    }
}

impl Shape {
    /// The rule of a pool.
    #[must_use]
    pub fn of(map: &Map, pool: &Pool) -> Shape {
        let mut shape = Shape::default();
        let Some(rule) = map.rule(pool.rule as usize) else { return shape };
        let (mut start, mut levels) = (None, Vec::new());
        let mut left = pool.size;
        for step in &rule.steps {
            match *step {
                Step::Take(item) => (start, levels) = (Some(item), Vec::new()),
                Step::Choose { count, kind, .. } => {
                    let wanted = if count > 0 { count } else { pool.size as i32 + count };
                    levels.push((wanted.max(0) as u32, kind));
                }
                Step::ChooseMsr { count, kind } => {
                    let strides = if count == 0 { pool.size } else { u32::try_from(count).unwrap_or(0) };
                    levels.push((strides, kind));
                }
                Step::Emit => {
                    let Some(top) = start.take().filter(|_| !levels.is_empty()) else { continue };
                    if rule.kind.msr_mode().is_some() {
                        cut(&mut levels, left);
                    }
                    let top = grow(map, top, &levels);
                    let asked = top.most().min(left);
                    left -= asked;
                    collect(map, top.item, &mut shape.devices);
                    shape.branches.push(Branch { asked, top });
                }
                _ => {}
            }
        }
        shape
    }

    /// Where each device stands in each branch. A device that stands in several places of one branch is left
    /// out: which of its failure domains counts depends on where CRUSH met it.
    #[must_use]
    pub(super) fn spots(&self) -> BTreeMap<ItemId, Vec<Option<Spot>>> {
        let mut spots = BTreeMap::new();
        let mut several = BTreeSet::new();
        for (at, branch) in self.branches.iter().enumerate() {
            let mut path = Vec::new();
            note_spots(&branch.top, &mut path, &mut |device, spot| {
                let all: &mut Vec<Option<Spot>> =
                    spots.entry(device).or_insert_with(|| vec![None; self.branches.len()]);
                if all[at].replace(spot).is_some_and(|other| other != spot) {
                    several.insert(device);
                }
            });
        }
        spots.retain(|device, _| !several.contains(device));
        spots
    }
}

/// The strides of each level of a multi-step-retry rule that have a position: they are as long as all levels
/// below make them, and the last ones are left over if the pool has fewer positions.
fn cut(levels: &mut [(u32, i32)], positions: u32) {
    let mut positions = positions;
    for at in 0..levels.len() {
        let below = levels[at + 1..].iter().map(|level| level.0);
        let length = below.fold(1u32, u32::saturating_mul).max(1);
        levels[at].0 = levels[at].0.min(positions.div_ceil(length));
        positions = positions.min(length);
    }
}

/// The tree below an item.
fn grow(map: &Map, item: ItemId, levels: &[(u32, i32)]) -> Node {
    let Some(((picks, kind), rest)) = levels.split_first() else {
        // Below the last level, one device of each picked bucket.
        let leaf = |item| Node { item, picks: 0, children: Vec::new() };
        return Node { item, picks: 1, children: below(map, item, 0).into_iter().map(leaf).collect() };
    };
    let child = |item: ItemId| match kind {
        0 => Node { item, picks: 0, children: Vec::new() },
        _ => grow(map, item, rest),
    };
    let children = below(map, item, *kind).into_iter().map(child);
    // A bucket without devices can hold nothing.
    let children = children.filter(|node| node.item >= 0 || !node.children.is_empty()).collect();
    Node { item, picks: *picks, children }
}

/// The items of a type below an item, each once, in the order of the map.
fn below(map: &Map, top: ItemId, kind: i32) -> Vec<ItemId> {
    let mut found = Vec::new();
    let mut open: Vec<ItemId> =
        map.bucket(top).map(|bucket| bucket.items.iter().rev().copied().collect()).unwrap_or_default();
    while let Some(item) = open.pop() {
        match map.bucket(item) {
            Some(bucket) if i32::from(bucket.kind) == kind => found.push(item),
            Some(bucket) => open.extend(bucket.items.iter().rev()),
            None if item >= 0 && kind == 0 => found.push(item),
            None => {}
        }
    }
    let mut seen = BTreeSet::new();
    found.retain(|item| seen.insert(*item));
    found
}

/// The devices below an item, with the weights in the buckets that hold them.
fn collect(map: &Map, top: ItemId, weights: &mut BTreeMap<ItemId, f64>) {
    let mut open = vec![top];
    while let Some(item) = open.pop() {
        let Some(bucket) = map.bucket(item) else { continue };
        for (at, &inner) in bucket.items.iter().enumerate() {
            if inner >= 0 {
                let weight = f64::from(bucket.item_weight(at)) / 65_536.0;
                weights.entry(inner).or_insert(weight);
            } else {
                open.push(inner);
            }
        }
    }
}

fn note_spots<'a>(node: &'a Node, path: &mut Vec<&'a Node>, note: &mut impl FnMut(ItemId, Spot)) {
    path.push(node);
    if node.children.is_empty() && node.item >= 0 {
        let holders = &path[..path.len() - 1];
        // The last level of which a group takes several; below it, all follow from the domain.
        let at = holders.iter().rposition(|holder| holder.picks > 1).unwrap_or(0);
        if let (Some(within), Some(domain)) = (path.get(at), path.get(at + 1)) {
            note(node.item, Spot { within: within.item, domain: domain.item });
        }
    }
    for child in &node.children {
        note_spots(child, path, note);
    }
    path.pop();
}
