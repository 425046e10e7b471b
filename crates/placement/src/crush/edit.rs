//! Changes a map as `crushtool` of Ceph 16.2.15 does: adds, moves, reweights and removes items and buckets,
//! and adds and removes rules. The resulting binary map is the same, byte for byte.
//!
//! Weights pass through single precision and wrap where Ceph's do; shadow trees are rebuilt after each
//! change, and weight sets are updated. Where crushtool fails an assertion or reads out of bounds, this
//! returns an error or uses the correct value. After a failed edit the map may be partly changed and must be
//! discarded.

mod hierarchy;
mod items;
mod roots;
mod rules;
mod weights;

use super::bucket::{Alg, BucketError};
use super::map::{ItemId, Map};
use std::collections::BTreeMap;

pub use rules::RuleSpec;

/// The position of an item: names of buckets by the names of their types.
pub type Location = BTreeMap<String, String>;

/// Why a map cannot be changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// There is no item with this name.
    #[error("the map has no item `{name}`")]
    NoItem {
        /// The name.
        name: String,
    },
    /// The item has a name, but no bucket contains it.
    #[error("`{name}` is in no bucket, so it has no weight to change; add it with --add-item")]
    NotHeld {
        /// The name.
        name: String,
    },
    /// There is no bucket type with this name.
    #[error("the map has no bucket type `{name}`")]
    NoType {
        /// The name.
        name: String,
    },
    /// There is no rule with this name.
    #[error("the map has no rule `{name}`")]
    NoRule {
        /// The name.
        name: String,
    },
    /// There are no devices of this class below the root.
    #[error("`{root}` has no devices of class `{class}`")]
    NoClass {
        /// The bucket from which the rule starts.
        root: String,
        /// The class.
        class: String,
    },
    /// A name contains characters that are not allowed.
    #[error("`{name}` is not a valid name; use letters, digits, `_`, `-` and `.`")]
    Name {
        /// The name.
        name: String,
    },
    /// Another item has this name.
    #[error("the name `{name}` belongs to item {id}; choose another name")]
    NameTaken {
        /// The name.
        name: String,
        /// The id of that item.
        id: ItemId,
    },
    /// There is already a rule with this name.
    #[error("rule `{name}` already exists; choose another name, or remove that rule first")]
    RuleTaken {
        /// The name.
        name: String,
    },
    /// Every rule id is in use.
    #[error("the map has 256 rules, Ceph's maximum; remove one first")]
    RulesFull,
    /// The weight does not fit in signed 16.16 fixed point.
    #[error("the weight is {weight}, but must be at least 0 and below 32768; weights are usually in TiB")]
    Weight {
        /// The weight as text, because floating-point numbers do not implement `Eq`.
        weight: String,
    },
    /// The location names no bucket type of the map.
    #[error("`{name}` has no location; add `--loc TYPE NAME` with a bucket type of the map")]
    NoPlace {
        /// The item.
        name: String,
    },
    /// A bucket of the location has another type.
    #[error("`{bucket}` is of type {is}, not {asked}; use `--loc {is} {bucket}`")]
    OtherType {
        /// The bucket.
        bucket: String,
        /// Its actual type.
        is: String,
        /// The type given in the location.
        asked: String,
    },
    /// The location names a device.
    #[error("`{name}` is a device and cannot contain items; use a bucket")]
    NotABucket {
        /// The device.
        name: String,
    },
    /// The item is already below that bucket.
    #[error("`{name}` is already below `{bucket}`; move or update it instead of adding it again")]
    AlreadyBelow {
        /// The item.
        name: String,
        /// The bucket.
        bucket: String,
    },
    /// The bucket would contain itself.
    #[error("`{name}` contains `{bucket}`, so it cannot move into it; move `{bucket}` out of it first")]
    Loop {
        /// The item to move.
        name: String,
        /// The target bucket.
        bucket: String,
    },
    /// The item is already at the target of the move.
    #[error("`{name}` is already at {place}; leave the move out")]
    AlreadyThere {
        /// The item.
        name: String,
        /// The location.
        place: String,
    },
    /// Only empty buckets can be removed.
    #[error("bucket `{name}` contains {items} items; remove or move them first")]
    NotEmpty {
        /// The bucket.
        name: String,
        /// The number of items in it.
        items: usize,
    },
    /// A rule starts from the bucket, or it is a shadow.
    #[error("a rule starts at bucket `{name}`, or it is a shadow bucket; remove the rule first")]
    InUse {
        /// The bucket.
        name: String,
    },
    /// The items of a uniform bucket must have equal weights.
    #[error(
        "all items of the uniform bucket `{bucket}` weigh {weight}; crushtool crashes when another weight is added: use straw2"
    )]
    Uniform {
        /// The bucket.
        bucket: String,
        /// The weight of each item, as text.
        weight: String,
    },
    /// The change would make an invalid bucket.
    #[error("bucket `{bucket}`: {why}")]
    Bucket {
        /// The bucket.
        bucket: String,
        /// The reason.
        why: BucketError,
    },
    /// A new bucket with an item would need several weight sets.
    #[error(
        "`{bucket}` would be a new bucket with an item, and choose_args {index} has weight sets of {positions} positions: there crushtool overwrites its memory and crashes; make the bucket empty first, with `--add-bucket {bucket} {kind}`, and give it weights in the sets afterwards, in the text of the map"
    )]
    NewBucketSets {
        /// The bucket that does not exist.
        bucket: String,
        /// Its type.
        kind: String,
        /// The index of the choose args.
        index: i64,
        /// The number of positions.
        positions: usize,
    },
    /// The weight sets of a bucket have more positions than those of a bucket in it.
    #[error(
        "in choose_args {index}, `{outer}` has weight sets of {positions} positions, and `{inner}` below it of {fewer}: there crushtool reads stray memory for the shadow trees of the device classes; give both as many positions in the text of the map"
    )]
    ShadowSets {
        /// The index of the choose args.
        index: i64,
        /// The outer bucket.
        outer: String,
        /// Its positions.
        positions: usize,
        /// The shadow of the inner bucket.
        inner: String,
        /// Its positions.
        fewer: usize,
    },
    /// A shadow has weight sets of no positions.
    #[error(
        "choose_args {index} has no weight sets for `{bucket}`, and crushtool fails an assertion where it changes weights after it has made shadow trees of the device classes again; make the changes one by one (in place of a move: remove the item, then add it), or give `{bucket}` weight sets in the text of the map"
    )]
    EmptySets {
        /// The bucket.
        bucket: String,
        /// The index of the choose args.
        index: i64,
    },
    /// A shadow tree cannot be made.
    #[error(
        "the shadow trees of the device classes cannot be made; in Ceph 16.2 uniform buckets have no classes, and the weights in a bucket must add up to less than 65536"
    )]
    Shadows,
    /// The tunable allows no bucket algorithm.
    #[error("allowed_bucket_algs is {allowed} and allows no algorithm for a new bucket; add 32 for straw2")]
    NoAlg {
        /// The bit mask.
        allowed: u32,
    },
    /// All bucket slots are in use.
    #[error("the map has no free slot for another bucket; remove one first")]
    BucketsFull,
}

/// Whether Ceph accepts it as a name.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

fn check_name(name: &str) -> Result<(), EditError> {
    if is_name(name) { Ok(()) } else { Err(EditError::Name { name: name.to_owned() }) }
}

/// Converts a weight to 16.16 fixed point, through single precision.
fn fixed_point(weight: f32) -> Result<u32, EditError> {
    let scaled = weight * 65_536.0;
    if (0.0..2_147_483_648.0).contains(&scaled) {
        Ok(scaled as u32)
    } else {
        Err(EditError::Weight { weight: weight.to_string() })
    }
}

impl Map {
    /// The name of an item, or its id if it has none.
    pub(super) fn name_or_number(&self, id: ItemId) -> String {
        self.item_names.get(&id).cloned().unwrap_or_else(|| id.to_string())
    }

    fn named(&self, name: &str) -> Result<ItemId, EditError> {
        self.item_id(name).ok_or_else(|| EditError::NoItem { name: name.to_owned() })
    }

    /// The algorithm of new buckets: the newest that the tunables allow.
    fn usual_alg(&self) -> Result<Alg, EditError> {
        let allowed = self.tunables.allowed_bucket_algs;
        [Alg::Straw2, Alg::Straw, Alg::Tree, Alg::List, Alg::Uniform]
            .into_iter()
            .find(|alg| allowed & (1 << alg.number()) != 0)
            .ok_or(EditError::NoAlg { allowed })
    }
}
