//! Changing a map as `crushtool` of Ceph 16.2.15 does: items and buckets added, moved, reweighted and taken
//! out, rules made and taken out. The binary map comes out the same, byte for byte.
//!
//! Weights pass through single precision and wrap where Ceph's do; shadow trees are made anew after each
//! change, and weight sets follow. Where crushtool ends in a failed assertion or reads stray memory, an error
//! or the right value stands. A map that an edit failed on may be half changed: throw it away.

mod hierarchy;
mod items;
mod roots;
mod rules;
mod weights;

use super::bucket::{Alg, BucketError};
use super::map::{ItemId, Map};
use std::collections::BTreeMap;

pub use rules::RuleSpec;

/// Where an item belongs: the name of a bucket, by the name of its type.
pub type Location = BTreeMap<String, String>;

/// Why a map was not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// There is no item of that name.
    #[error("the map has no item `{name}`")]
    NoItem {
        /// The name.
        name: String,
    },
    /// The item is named, and no bucket holds it.
    #[error("no bucket holds `{name}`, so it has no weight to change; add it with --add-item")]
    NotHeld {
        /// The name.
        name: String,
    },
    /// There is no type of that name.
    #[error("the map has no bucket type `{name}`")]
    NoType {
        /// The name.
        name: String,
    },
    /// There is no rule of that name.
    #[error("the map has no rule `{name}`")]
    NoRule {
        /// The name.
        name: String,
    },
    /// There is no device class of that name below the root.
    #[error("`{root}` has no devices of class `{class}`")]
    NoClass {
        /// Where the rule starts.
        root: String,
        /// The class.
        class: String,
    },
    /// A name has other characters.
    #[error("`{name}` is no name; names are made of letters, digits, `_`, `-` and `.`")]
    Name {
        /// The name.
        name: String,
    },
    /// The name is another item's.
    #[error("`{name}` is item {id} already; choose another name")]
    NameTaken {
        /// The name.
        name: String,
        /// Whose it is.
        id: ItemId,
    },
    /// There is a rule of that name.
    #[error("there is a rule `{name}` already; choose another name, or remove that one first")]
    RuleTaken {
        /// The name.
        name: String,
    },
    /// Every rule id is in use.
    #[error("the map has 256 rules, and Ceph takes no more; remove one first")]
    RulesFull,
    /// The weight does not fit 16.16 fixed point, signed.
    #[error("the weight is {weight}, but weights go from 0 to below 32768; weights are usually in TiB")]
    Weight {
        /// The weight, as text, since floating-point numbers do not compare.
        weight: String,
    },
    /// The location says nothing that the map can use.
    #[error("no place for `{name}` is named; add `--loc TYPE NAME` with a bucket type of the map")]
    NoPlace {
        /// The item.
        name: String,
    },
    /// The bucket of the location is of another type.
    #[error("`{bucket}` is of type {is}, not {asked}; say `--loc {is} {bucket}`")]
    OtherType {
        /// The bucket.
        bucket: String,
        /// Its type.
        is: String,
        /// The type that the location gives it.
        asked: String,
    },
    /// The location names a device.
    #[error("`{name}` is a device, which holds no items; name a bucket")]
    NotABucket {
        /// The device.
        name: String,
    },
    /// It is below that bucket already.
    #[error("`{name}` is below `{bucket}` already; move it, or update it, instead of adding it again")]
    AlreadyBelow {
        /// The item.
        name: String,
        /// The bucket.
        bucket: String,
    },
    /// The bucket would hold itself.
    #[error("`{name}` holds `{bucket}`, so it cannot be put into it; move `{bucket}` out of it first")]
    Loop {
        /// The item to move.
        name: String,
        /// Where it was to go.
        bucket: String,
    },
    /// It is where it was to be moved.
    #[error("`{name}` is at {place} already; leave the move out")]
    AlreadyThere {
        /// The item.
        name: String,
        /// The place.
        place: String,
    },
    /// Only empty buckets are removed.
    #[error("bucket `{name}` holds {items} items; remove or move them first")]
    NotEmpty {
        /// The bucket.
        name: String,
        /// How many it holds.
        items: usize,
    },
    /// A rule starts from it.
    #[error("bucket `{name}` is where a rule starts, or a shadow tree; remove the rule first")]
    InUse {
        /// The bucket.
        name: String,
    },
    /// Uniform buckets hold items of one weight.
    #[error(
        "`{bucket}` is a uniform bucket, whose items weigh {weight} each; crushtool crashes on adding to it: use straw2"
    )]
    Uniform {
        /// The bucket.
        bucket: String,
        /// The weight of each item, as text.
        weight: String,
    },
    /// A bucket cannot be as the change would make it.
    #[error("bucket `{bucket}`: {why}")]
    Bucket {
        /// The bucket.
        bucket: String,
        /// Why.
        why: BucketError,
    },
    /// A shadow tree cannot be made.
    #[error(
        "the shadow trees of the device classes cannot be made; a uniform bucket takes no classes in Ceph 16.2, and weights in a bucket add up to below 65536"
    )]
    Shadows,
    /// The tunable forbids every algorithm.
    #[error(
        "allowed_bucket_algs is {allowed}, which allows no algorithm for a new bucket; add 32 for straw2"
    )]
    NoAlg {
        /// The bit mask.
        allowed: u32,
    },
    /// There is no slot left.
    #[error("the map has no room for another bucket")]
    BucketsFull,
}

/// Whether Ceph takes it for a name.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

fn check_name(name: &str) -> Result<(), EditError> {
    if is_name(name) { Ok(()) } else { Err(EditError::Name { name: name.to_owned() }) }
}

/// A weight in 16.16 fixed point, by way of single precision.
fn fixed_point(weight: f32) -> Result<u32, EditError> {
    let scaled = weight * 65_536.0;
    if (0.0..2_147_483_648.0).contains(&scaled) {
        Ok(scaled as u32)
    } else {
        Err(EditError::Weight { weight: weight.to_string() })
    }
}

impl Map {
    /// What to call an item.
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
