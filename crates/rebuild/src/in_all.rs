//! What the objects of a thinned recovery stand for: objects and bytes that were copied, of all objects.

use crate::affected::Affected;
use crate::hardware::Hardware;
use crate::ledger::{Planned, Progress};
use crate::model::SPARES;

/// What the objects of a thinned recovery stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct InAll {
    /// Objects that were copied.
    pub(crate) jobs: u64,
    /// Their bytes on all targets, by the copies or shards that their records had to spare.
    pub(crate) bytes: [u64; SPARES],
    /// For each device, bytes that were read from it and written to it.
    pub(crate) moved: Vec<[u64; 2]>,
    /// The same of the objects themselves, without those that they stand for.
    pub(crate) own: Vec<[u64; 2]>,
    /// Bytes that the last phase did not finish.
    pub(crate) unfinished: u64,
}

impl InAll {
    /// Nothing is copied yet.
    pub(crate) fn none(hardware: &Hardware) -> InAll {
        let none = vec![[0; 2]; hardware.devices() as usize];
        InAll { moved: none.clone(), own: none, ..InAll::default() }
    }

    /// Adds what a phase did.
    pub(crate) fn take(&mut self, affected: &Affected, planned: &Planned, progress: &[Progress]) {
        let plan = &planned.plan;
        for task in plan.tasks() {
            let spare = (task.spare as usize).min(SPARES - 1);
            for number in task.jobs.clone() {
                let (job, (record, object)) = (plan.job(number), planned.jobs[number as usize]);
                let all = affected.stands_for(record as usize, object as usize);
                let (reads, writes) = (plan.reads(job), plan.writes(job));
                let bytes = all.bytes.saturating_mul(writes.len() as u64);
                if progress[number as usize] != Progress::Whole {
                    self.unfinished = self.unfinished.saturating_add(bytes);
                    continue;
                }
                self.jobs += all.objects;
                self.bytes[spare] = self.bytes[spare].saturating_add(bytes);
                let ends =
                    reads.iter().map(|device| (device, 0)).chain(writes.iter().map(|device| (device, 1)));
                for (device, way) in ends {
                    self.moved[device.index()][way] += all.bytes;
                    self.own[device.index()][way] += job.bytes;
                }
            }
        }
    }
}
