//! A device: its replicas, its disk and its card.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};
use towtank_devices::{Access, Disk, DiskClock, Lane, Link};
use towtank_replication::objects::Size;
use towtank_replication::{Replica, RequestId, Reserver, Work};
use towtank_units::SimTime;

use crate::objects::Overlay;
use crate::spec::Costs;

/// A replica with what it holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// The protocol.
    pub replica: Replica<Size>,
    /// Its objects.
    pub overlay: Overlay,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// Its replicas, by their groups.
    #[serde(with = "towtank_units::pairs")]
    pub groups: BTreeMap<u32, Held>,
    /// Who may backfill.
    pub reserver: Reserver,
    /// Its disk.
    pub disk: Disk,
    /// Where objects are looked at, one after the other.
    pub looking: Lane,
    /// Where objects are recovered, one after the other.
    pub recovering: Lane,
    /// Its card, sending.
    pub out: Link,
    /// Its card, receiving.
    pub inward: Link,
    /// Bytes that were read for recovery, here.
    pub recovery_read: u64,
    /// Bytes that were written by recovery, here.
    pub recovery_written: u64,
    /// Since when clients wait.
    #[serde(with = "towtank_units::pairs")]
    pub asked: BTreeMap<RequestId, SimTime>,
}

/// By what is durable of each group and how busy all was: the rest follows from it.
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
    /// Without replicas.
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

    /// Does some work, and says when it is done.
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
        // Each object is elsewhere on the disk, so each access moves the head.
        let stream = self.disk.seeks;
        self.disk.serve(clock, now, Access { stream, offset: 0, bytes, write }).end
    }
}
