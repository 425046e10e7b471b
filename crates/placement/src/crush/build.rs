//! Builds a map from numbers alone, as `crushtool --build` of Ceph 16.2.15 does: devices of weight 1, layers
//! of buckets over them, and one rule.

use super::bucket::{Alg, Bucket, BucketError, BucketSpec, Shape};
use super::edit::{EditError, RuleSpec, is_name};
use super::map::{ItemId, Map, Mode, Tunables, id_of};
use super::tester::DEVICES_MAX;
use super::tree::roots;
use std::collections::BTreeSet;

/// The maximum length of a bucket's name: crushtool truncates longer ones.
const NAME_MAX: usize = 19;

/// One layer of buckets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// The name of its type, and the prefix of its buckets' names, which end with a number.
    pub name: String,
    /// The algorithm of its buckets.
    pub alg: Alg,
    /// The number of items per bucket; 0 puts all items into one bucket, whose name has no number.
    pub size: usize,
}

/// Why a map cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// There is no layer over the devices.
    #[error("no layer is given; add `NAME ALGORITHM SIZE`, such as `host straw2 4`")]
    NoLayers,
    /// The number of devices is zero, negative or too large.
    #[error("--num_osds is {devices}, but must be from 1 to {DEVICES_MAX}; give it after --build")]
    Devices {
        /// The requested number of devices.
        devices: i32,
    },
    /// The name of a layer is not valid.
    #[error("`{name}` is not a layer name; use letters, digits, `_`, `-` and `.`")]
    Name {
        /// The name.
        name: String,
    },
    /// The name of a bucket would be too long.
    #[error(
        "the bucket name `{name}` has {length} characters, but the limit is {NAME_MAX}; shorten the layer's name"
    )]
    Long {
        /// The name.
        name: String,
        /// Its length.
        length: usize,
    },
    /// Two buckets would have the same name.
    #[error("two buckets would have the name `{name}`; give the layers different names")]
    Twice {
        /// The name.
        name: String,
    },
    /// A bucket cannot be made.
    #[error("bucket `{name}`: {why}; make the layer's buckets smaller, or use straw2")]
    Bucket {
        /// The name of the bucket.
        name: String,
        /// The reason.
        why: BucketError,
    },
    /// The rule cannot be made.
    #[error(transparent)]
    Rule(#[from] EditError),
}

/// The result of building a map.
#[derive(Clone, Debug)]
pub struct Built {
    /// The map.
    pub map: Map,
    /// The name of the bucket from which the rule starts.
    pub root: String,
    /// The number of buckets without a parent; the rule reaches only one of them.
    pub roots: usize,
}

/// Builds a map.
pub fn build(devices: i32, layers: &[Layer]) -> Result<Built, BuildError> {
    let Some(last) = layers.last() else { return Err(BuildError::NoLayers) };
    if !(1..=DEVICES_MAX).contains(&devices) {
        return Err(BuildError::Devices { devices });
    }
    let mut map = Map { tunables: Tunables::JEWEL, max_devices: devices, ..Map::default() };
    map.item_names.extend((0..devices).map(|device| (device, format!("osd.{device}"))));
    map.type_names.insert(0, "osd".to_owned());
    let mut lower: Vec<(ItemId, u32)> = (0..devices).map(|device| (device, 0x1_0000)).collect();
    let mut names = BTreeSet::new();
    for (number, layer) in layers.iter().enumerate() {
        if !is_name(&layer.name) {
            return Err(BuildError::Name { name: layer.name.clone() });
        }
        map.type_names.insert(number as i32 + 1, layer.name.clone());
        lower = add_layer(&mut map, layer, number as u16 + 1, &lower, &mut names)?;
    }
    let root = if last.size == 0 { last.name.clone() } else { format!("{}0", last.name) };
    let roots = roots(&map).len();
    let spread_over = map.type_names.get(&1).cloned().unwrap_or_default();
    map.create_rule(RuleSpec {
        name: "replicated_rule",
        root: &root,
        spread_over: &spread_over,
        class: "",
        mode: Mode::Firstn,
    })?;
    Ok(Built { map, root, roots })
}

fn add_layer(
    map: &mut Map,
    layer: &Layer,
    kind: u16,
    lower: &[(ItemId, u32)],
    names: &mut BTreeSet<String>,
) -> Result<Vec<(ItemId, u32)>, BuildError> {
    let size = if layer.size == 0 { lower.len() } else { layer.size };
    let mut made = Vec::new();
    for (number, members) in lower.chunks(size).enumerate() {
        let name = if layer.size == 0 { layer.name.clone() } else { format!("{}{number}", layer.name) };
        if name.len() > NAME_MAX {
            return Err(BuildError::Long { length: name.len(), name });
        }
        if name.starts_with("osd.") || !names.insert(name.clone()) {
            return Err(BuildError::Twice { name });
        }
        // Every bucket has one name, so the number of names is the number of slots in use.
        let id = id_of(names.len() - 1);
        let bucket = bucket(BucketSpec::new(id, kind, layer.alg), members)
            .map_err(|why| BuildError::Bucket { name: name.clone(), why })?;
        // Crushtool sums the weights itself, independently of the uniform bucket.
        let weight = members.iter().fold(0u32, |sum, &(_, weight)| sum.wrapping_add(weight));
        if map.add_bucket(bucket).is_err() {
            return Err(EditError::BucketsFull.into());
        }
        map.item_names.insert(id, name);
        made.push((id, weight));
    }
    Ok(made)
}

/// A uniform bucket gives all its items the weight of the first, whatever the others weigh.
fn bucket(spec: BucketSpec, members: &[(ItemId, u32)]) -> Result<Bucket, BucketError> {
    let items: Vec<ItemId> = members.iter().map(|&(item, _)| item).collect();
    let weights: Vec<u32> = members.iter().map(|&(_, weight)| weight).collect();
    let Some(&first) = weights.first().filter(|_| spec.alg == Alg::Uniform) else {
        return Bucket::new(spec, items, weights);
    };
    let weight = (items.len() as u32).checked_mul(first).ok_or(BucketError::WeightOverflow)?;
    let empty = Bucket::new(spec, Vec::new(), Vec::new())?;
    Ok(Bucket { items, weight, shape: Shape::Uniform { item_weight: first }, ..empty })
}
