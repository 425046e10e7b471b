//! How many groups are unsafe or in an unknown state, now and after a change.
//!
//! A group is short if it is on fewer devices than its pool asks for, and accepts no writes on fewer than
//! `min_size`. "Now" is where the dump says that it is served; "after" is where the map puts it when all that
//! can move has moved.

use serde::{Deserialize, Serialize};
use towtank_ceph::{FillLimits, Stated};

/// The safety of groups, now and after the change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Safety {
    /// Groups that are served by fewer devices than their pool asks for.
    pub short_now: u64,
    /// Groups that are on fewer devices than `min_size` now.
    pub below_min_size_now: u64,
    /// Groups that are on fewer devices than `min_size` after the change.
    pub below_min_size: u64,
    /// Groups of pools whose `min_size` is not in the dump.
    pub min_size_unknown: u64,
    /// Groups whose state is in the dump.
    pub stated: u64,
    /// Of these, groups that serve no requests.
    pub inactive: u64,
    /// Groups with data that exist nowhere.
    pub lost: u64,
    /// Groups that nobody has reported, or not recently.
    pub unknown: u64,
    /// The limits of fill of a device.
    pub limits: FillLimits,
}

impl Safety {
    /// Counts the state of a group.
    pub(super) fn note_state(&mut self, stated: Option<Stated>) {
        let Some(Stated { inactive, lost, unknown }) = stated else { return };
        self.stated += 1;
        self.inactive += u64::from(inactive);
        self.lost += u64::from(lost);
        self.unknown += u64::from(unknown);
    }

    /// A count of groups by state; nothing where no dump gives states.
    pub(super) fn by_state(&self, count: u64) -> Option<f64> {
        (self.stated > 0).then_some(count as f64)
    }
}
