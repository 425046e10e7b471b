//! CRUSH, the placement algorithm of Ceph, bit for bit as in release 16.2.15, with the multi-step-retry rules
//! of release 19.
//!
//! A [`Map`] describes the hierarchy, the rules and the tunables. [`binary`] reads and writes it as Ceph
//! stores it, [`text`] as operators edit it. [`mod@reference`] is the definition of which devices a rule
//! picks for an input, and a [`Mapper`] gives the same answers fast. [`edit`] changes a map as crushtool
//! does, [`mod@build`] makes one, [`tester`] tests one; [`objects`] and [`pools`] lead from an object's name
//! to the devices that hold it.

pub mod binary;
mod bucket;
pub mod build;
mod check;
mod classes;
mod dump;
pub mod edit;
mod general;
pub mod hash;
mod json;
mod lanes;
mod ln;
mod ln_tables;
mod locate;
mod map;
mod mapper;
mod msr;
pub mod objects;
pub mod pools;
pub mod reference;
mod straw;
pub mod tester;
pub mod text;
mod tree;
pub mod vring;
mod weight_sets;

pub use bucket::{Alg, Bucket, BucketError, BucketSpec, Shape, TREE_ITEMS_MAX};
pub use check::{DEPTH_MAX, Fault, check};
pub use dump::dump;
pub use general::{USUAL_DIGITS, general};
pub use lanes::Lanes;
pub use ln::ln;
pub use locate::location;
pub use map::{
    ChooseArg, ChooseArgs, ItemId, Map, Mode, NONE, RULE_SLOTS_MAX, Rule, RuleKind, Setting, Step, Tunables,
    id_of, slot_of,
};
pub use mapper::{Ask, Mapper, Mappings, Workspace};
pub use msr::MsrFault;
pub use tree::tree;
