//! `ceph osd df -f json`: the usage of each device.

use serde::Deserialize;

use super::fields;
use crate::envelope::{FILE_MAX_BYTES, read_json, unpack};
use crate::{File, ImportError, Imported};

/// The usage of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceUse {
    /// The device's id.
    pub id: i32,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Bytes used, including metadata and overhead.
    pub used_bytes: u64,
}

/// A device in `pg dump` and `report`.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Statistic {
    #[serde(rename = "osd", deserialize_with = "fields::device")]
    id: i32,
    #[serde(deserialize_with = "fields::count")]
    kb: u64,
    #[serde(deserialize_with = "fields::count")]
    kb_used: u64,
}

impl Statistic {
    pub(super) fn used(&self) -> DeviceUse {
        DeviceUse {
            id: self.id,
            size_bytes: self.kb.saturating_mul(1024),
            used_bytes: self.kb_used.saturating_mul(1024),
        }
    }
}

#[derive(Deserialize)]
struct Tree {
    nodes: Vec<Node>,
}

/// A device, or a bucket in `osd df tree`.
#[derive(Deserialize)]
struct Node {
    id: i32,
    #[serde(default, deserialize_with = "fields::count")]
    kb: u64,
    #[serde(default, deserialize_with = "fields::count")]
    kb_used: u64,
}

/// Reads the dump, or the output of `ceph osd df tree -f json`.
///
/// # Errors
/// If it is no such dump.
pub fn read_osd_df(file: File<'_>) -> Result<Imported<Vec<DeviceUse>>, ImportError> {
    let bytes = unpack(file, FILE_MAX_BYTES)?;
    let read = read_json::<Tree>(file, &bytes).map_err(|error| match error.hint {
        Some(_) => error,
        None => error.hint("it should be the output of `ceph osd df -f json`"),
    })?;
    let device = |node: Node| {
        let Node { id, kb, kb_used } = node;
        Statistic { id, kb, kb_used }.used()
    };
    Ok(read.map(|tree| tree.nodes.into_iter().filter(|node| node.id >= 0).map(device).collect()))
}
