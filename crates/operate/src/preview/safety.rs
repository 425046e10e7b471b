//! How many groups are short of copies, now and after a change.
//!
//! A group is short if it is on fewer devices than its pool asks for, and accepts no writes on fewer than
//! `min_size`. "Now" is where the dump says that it is served; "after" is where the map puts it when all that
//! can move has moved.

use serde::{Deserialize, Serialize};
use towtank_ceph::FillLimits;

/// The safety of groups, now and after the change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Safety {
    /// Groups that are served by fewer devices than their pool asks for.
    pub short_now: u64,
    /// Groups that are on fewer devices than `min_size` now.
    pub below_min_size_now: u64,
    /// Groups that are on fewer devices than `min_size` after the change, with those that hold them now and
    /// stay up.
    pub below_min_size: u64,
    /// Groups that have enough devices for writes only with those that hold them now and that the map takes
    /// them from.
    #[serde(default)]
    pub on_old_devices: u64,
    /// Groups of pools whose `min_size` is not in the dump.
    pub min_size_unknown: u64,
    /// Groups that take no writes while the host is down whose failure stops most, now.
    pub host_stops_now: u64,
    /// The same after the change, of groups that have all copies or shards then.
    pub host_stops: u64,
    /// Groups that are lost with the host whose loss costs most, now.
    pub host_loses_now: u64,
    /// The same after the change.
    pub host_loses: u64,
    /// Groups of which one host has all copies or shards after the change.
    #[serde(default)]
    pub on_one_host: u64,
    /// Whether there are more groups then that the failure of some host stops. Where each host stops its
    /// groups anyway, one of them may get a few more, which is no danger of the change.
    pub more_stop: bool,
    /// The same of groups that are lost with some host.
    pub more_are_lost: bool,
    /// More groups on a device than this bring a warning: `mon_max_pg_per_osd`.
    pub groups_max: u32,
    /// The limits of fill of a device.
    pub limits: FillLimits,
}
