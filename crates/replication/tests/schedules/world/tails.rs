//! The ends of journals: transactions that were never finished, and synced ones that are damaged later.

use std::collections::BTreeSet;

use towtank_replication::objects::Memory;
use towtank_replication::{Durable, Replica};
use towtank_streams::{Purpose, Uniform};

use super::{Part, World};

/// The transactions of the fragile device that may turn out to be damaged.
const ROTTEN_MAX: usize = 3;

/// What a disk holds of the groups of a device.
pub(super) type Contents = Vec<(Memory<Vec<u8>>, Durable)>;

impl World {
    /// Like `below`, for what concerns the ends of journals.
    pub(super) fn tail_below(&mut self, bound: u64) -> u64 {
        self.draws.of(Purpose(6)).below(bound)
    }

    /// The fragile device crashes, and some of the last transactions that it synced cannot be read.
    pub(super) fn rot(&mut self, device: usize) {
        if self.fragile != Some(device) || !self.devices[device].is_up {
            return;
        }
        self.crash(device);
        let lost = 1 + self.tail_below(ROTTEN_MAX as u64) as usize;
        let it = &mut self.devices[device];
        let Some(at) = it.before.len().checked_sub(lost) else { return };
        let contents = it.before.drain(at..).next().expect("there are so many");
        for (part, (objects, durable)) in it.parts.iter_mut().zip(contents) {
            let versions = |of: &Memory<Vec<u8>>| {
                of.iter().map(|(key, version, _)| (key, version)).collect::<BTreeSet<_>>()
            };
            let (now, then) = (versions(&part.objects), versions(&objects));
            self.damaged.extend(now.symmetric_difference(&then).map(|(key, _)| *key));
            // What is known of a damaged tail is durable before the device goes on.
            let doubts = part.durable.take().and_then(|durable| durable.undecided);
            let since = [durable.undecided, doubts].into_iter().flatten().min();
            (part.objects, part.durable) = (objects, Some(Durable { undecided: since, ..durable }));
        }
        self.doubt(device);
    }

    /// The end of the journal of a device that is down cannot be read.
    pub(super) fn doubt(&mut self, device: usize) {
        for (part, first) in self.devices[device].parts.iter_mut().zip(&mut self.doubted) {
            if let Some(durable) = part.durable.as_mut() {
                durable.doubt();
                *first = [*first, durable.undecided].into_iter().flatten().min();
            }
        }
    }

    /// Notes what the disk of the fragile device holds, before that changes.
    pub(super) fn keep_before(&mut self, device: usize) {
        let it = &mut self.devices[device];
        if self.fragile != Some(device) {
            return;
        }
        let content = |part: &Part| match (&part.synced, &part.replica) {
            (Some((objects, durable)), _) => Some((objects.clone(), durable.clone())),
            (None, replica) => Some((part.objects.clone(), replica.as_ref()?.durable().clone())),
        };
        // What changes nothing is no transaction.
        let changes = |part: &Part| {
            let now = part.replica.as_ref().map(Replica::durable);
            part.synced.as_ref().is_some_and(|(objects, was)| *objects != part.objects || Some(was) != now)
        };
        if it.parts.iter().any(changes) {
            it.before.extend(it.parts.iter().map(content).collect::<Option<Contents>>());
        }
        if it.before.len() > ROTTEN_MAX {
            it.before.pop_front();
        }
    }
}
