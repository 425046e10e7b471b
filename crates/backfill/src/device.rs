//! A device: its replicas, its disk and its NIC.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};
use towtank_devices::{Access, Disk, DiskClock, Lane, Link};
use towtank_replication::objects::Size;
use towtank_replication::{Replica, RequestId, Reserver, Work};
use towtank_units::SimTime;

use crate::objects::Overlay;
use crate::spec::Costs;

/// A replica and its objects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// The protocol state.
    pub replica: Replica<Size>,
    /// Its objects.
    pub overlay: Overlay,
    /// When its last backfill has begun: no object is read for it before.
    pub begun: SimTime,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// Its replicas, by group.
    #[serde(with = "towtank_units::pairs")]
    pub groups: BTreeMap<u32, Held>,
    /// Assigns its backfill slots.
    pub reserver: Reserver,
    /// Its disk.
    pub disk: Disk,
    /// Serves lookups of objects, one after the other.
    pub looking: Lane,
    /// Serves recoveries of objects, one after the other.
    pub recovering: Lane,
    /// The sending side of its NIC.
    pub out: Link,
    /// The receiving side of its NIC.
    pub inward: Link,
    /// Bytes read here for recovery.
    pub recovery_read: u64,
    /// Bytes written here for recovery.
    pub recovery_written: u64,
    /// When each waiting client's request was made.
    #[serde(with = "towtank_units::pairs")]
    pub asked: BTreeMap<RequestId, SimTime>,
}

/// Hashes what is durable in each group and how busy the device was; the rest follows from these.
impl Hash for Device {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        for (group, held) in &self.groups {
            let durable = held.replica.durable();
            (group, &held.overlay, durable.epoch, durable.cursor, &durable.log).hash(hasher);
            durable.summary.tree().map(|tree| tree.clone().settle().root()).hash(hasher);
        }
        (self.disk, self.looking, self.recovering, self.out, self.inward, &self.asked).hash(hasher);
    }
}

impl Device {
    /// A device without replicas.
    #[must_use]
    pub fn new(slots: u32) -> Device {
        Device {
            groups: BTreeMap::new(),
            reserver: Reserver::new(slots as usize),
            disk: Disk::default(),
            looking: Lane::default(),
            recovering: Lane::default(),
            out: Link::default(),
            inward: Link::default(),
            recovery_read: 0,
            recovery_written: 0,
            asked: BTreeMap::new(),
        }
    }

    /// When work for a group may begin. A sketch names objects without a look at any, so a read for recovery
    /// may be the first work of a backfill, and waits for its start.
    #[must_use]
    pub(crate) fn may_begin(&self, now: SimTime, group: u32, work: Work) -> SimTime {
        match (work, self.groups.get(&group)) {
            (Work::Read { is_recovery: true, .. }, Some(held)) => now.max(held.begun),
            _ => now,
        }
    }

    /// Performs some work and returns when it is done.
    pub fn work(&mut self, now: SimTime, work: Work, costs: &Costs, clock: &DiskClock) -> SimTime {
        match work {
            Work::Look { objects } => self.looking.serve(now, costs.look.saturating_mul(objects)).end,
            Work::Read { bytes, is_recovery } => {
                self.recovery_read += if is_recovery { bytes } else { 0 };
                self.access(now, bytes, false, clock)
            }
            Work::Apply { bytes, is_recovery: false } => self.access(now, bytes, true, clock),
            Work::Apply { bytes, is_recovery: true } => {
                self.recovery_written += bytes;
                let ready = self.recovering.serve(now, costs.recovery).end;
                self.access(ready, bytes, true, clock)
            }
        }
    }

    fn access(&mut self, now: SimTime, bytes: u64, write: bool, clock: &DiskClock) -> SimTime {
        // Each object is at another place on the disk, so each access seeks.
        let stream = self.disk.seeks;
        self.disk.serve(clock, now, Access { stream, offset: 0, bytes, write }).end
    }
}
