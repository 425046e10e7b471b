//! CRUSH, the placement algorithm of Ceph, bit for bit as in release 16.2.15.
//!
//! A [`Map`] describes the hierarchy, the rules and the tunables; [`binary`] reads and writes it as Ceph stores it,
//! [`text`] as operators edit it;
//! [`reference`] answers which devices a rule picks for an input, by the definition, and a [`Mapper`] gives the
//! same answers fast; [`objects`] and [`pools`] lead from an object's name to the devices that hold it.

pub mod binary;
mod bucket;
mod check;
mod classes;
pub mod hash;
mod lanes;
mod ln;
mod ln_tables;
mod map;
mod mapper;
pub mod objects;
pub mod pools;
pub mod reference;
mod straw;
pub mod text;
pub mod vring;

pub use bucket::{Alg, Bucket, BucketError, BucketSpec, Shape, TREE_ITEMS_MAX};
pub use check::{DEPTH_MAX, Fault, check};
pub use lanes::Lanes;
pub use ln::ln;
pub use map::{
    BUCKET_SLOTS_MAX, ChooseArg, ChooseArgs, DEFAULT_CHOOSE_ARGS, DEVICE_WEIGHT_MAX, ItemId, Map, Mode, NONE,
    RULE_SLOTS_MAX, Rule, RuleKind, Setting, Step, Tunables, id_of, slot_of,
};
pub use mapper::{Ask, Mapper, Workspace};
