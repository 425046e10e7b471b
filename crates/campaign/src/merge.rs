//! Joins the results of shards from different directories, and reports what is missing, duplicated or
//! damaged.
//!
//! The sources are only read, so they may be on a read-only file system or still be running. Overlapping
//! shards normally hold equal copies of a run. Copies that differ indicate a fault in the model, a machine or
//! a file, and nothing is joined then.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::point_file::Stored;
use crate::store::{difference_in_words, read_manifest, read_point};
use crate::{CampaignKey, Damaged, HostDisk, Ledger, Plan, Store, StoreError, Task};

/// The joined parts of one campaign.
#[derive(Debug)]
pub struct Merged {
    plan: Plan,
    found: BTreeMap<Task, Stored>,
    /// Runs that no part has, in plan order.
    pub missing: Vec<Task>,
    /// Runs that several parts have, with these parts. Their results are equal.
    pub double: Vec<(Task, Vec<PathBuf>)>,
    /// Files that could not be used. Their runs are missing unless another part has them.
    pub damaged: Vec<Damaged>,
}

/// Why parts cannot be joined.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// No parts.
    #[error("there is nothing to merge; name the directories of the parts")]
    Nothing,
    /// A directory was named twice.
    #[error("`{}` is named twice; name every part once", dir.display())]
    SameDirectory {
        /// The directory.
        dir: PathBuf,
    },
    /// Parts of different campaigns.
    #[error(
        "`{}` (key {}) and `{}` (key {}) are parts of different campaigns: {difference}; merge parts of one campaign only",
        first.0.display(), first.1, second.0.display(), second.1
    )]
    OtherCampaign {
        /// The first directory and its key.
        first: (PathBuf, CampaignKey),
        /// The directory that does not fit, and its key.
        second: (PathBuf, CampaignKey),
        /// What differs, in words.
        difference: String,
    },
    /// Two parts disagree about a run.
    #[error(
        "`{}` and `{}` hold different results of {place}, where one seed must give one result; find out which is wrong \
         (was a model changed without raising its results version?), remove it, and merge again",
        first.display(), second.display()
    )]
    Conflict {
        /// The run.
        task: Task,
        /// The run in words.
        place: String,
        /// The first directory that has it.
        first: PathBuf,
        /// The directory that disagrees.
        second: PathBuf,
    },
    /// A directory could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Joins the campaign directories `dirs`.
///
/// # Errors
/// If they are not parts of one campaign, disagree, or cannot be read.
pub fn merge(dirs: &[PathBuf]) -> Result<Merged, MergeError> {
    let plans = read_plans(dirs)?;
    // Parts may have been run with different numbers of replicates; the plan with the most contains all of
    // them.
    let most = plans.iter().rev().max_by_key(|plan| plan.replicates()).ok_or(MergeError::Nothing)?;
    let mut merged = Merged {
        plan: most.clone(),
        found: BTreeMap::new(),
        missing: Vec::new(),
        double: Vec::new(),
        damaged: Vec::new(),
    };
    for task in most.tasks() {
        merged.take(task, dirs)?;
    }
    Ok(merged)
}

fn read_plans(dirs: &[PathBuf]) -> Result<Vec<Plan>, MergeError> {
    let mut plans: Vec<Plan> = Vec::with_capacity(dirs.len());
    let mut real_dirs = Vec::with_capacity(dirs.len());
    for dir in dirs {
        let plan = read_manifest(&HostDisk, dir)?;
        let real = dir.canonicalize().map_err(|source| StoreError::Read { path: dir.clone(), source })?;
        if real_dirs.contains(&real) {
            return Err(MergeError::SameDirectory { dir: dir.clone() });
        }
        if let Some(first) = plans.first()
            && first.key() != plan.key()
        {
            return Err(MergeError::OtherCampaign {
                first: (dirs[0].clone(), first.key()),
                second: (dir.clone(), plan.key()),
                difference: difference_in_words(first, &plan, ("in the first", "in the second")),
            });
        }
        real_dirs.push(real);
        plans.push(plan);
    }
    Ok(plans)
}

impl Merged {
    /// Looks up one run in every part.
    fn take(&mut self, task: Task, dirs: &[PathBuf]) -> Result<(), MergeError> {
        let mut first: Option<Stored> = None;
        let mut holders: Vec<&Path> = Vec::new();
        for dir in dirs {
            match read_point(&HostDisk, dir, &self.plan, task) {
                Ok(None) => continue,
                Err(damage) => {
                    self.damaged.push(damage);
                    continue;
                }
                Ok(Some(stored)) => match &first {
                    Some(first) if first.text() != stored.text() => {
                        let place = self.plan.describe(task);
                        let (first, second) = (holders[0].to_owned(), dir.clone());
                        return Err(MergeError::Conflict { task, place, first, second });
                    }
                    Some(_) => {}
                    None => first = Some(stored),
                },
            }
            holders.push(dir);
        }
        if holders.len() > 1 {
            self.double.push((task, holders.into_iter().map(Path::to_owned).collect()));
        }
        match first {
            Some(stored) => drop(self.found.insert(task, stored)),
            None => self.missing.push(task),
        }
        Ok(())
    }

    /// The plan of the whole campaign.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The outcomes that were found.
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        let mut ledger = Ledger::new(&self.plan);
        for (task, stored) in &self.found {
            ledger.enter(*task, stored.outcome.clone());
        }
        ledger
    }

    /// Writes the runs that were found into a directory, which then belongs to the whole campaign: a run
    /// resumed there does what is missing.
    ///
    /// # Errors
    /// If a file cannot be written.
    ///
    /// # Panics
    /// If the directory was opened for another plan.
    pub fn store(&self, store: &Store) -> Result<(), StoreError> {
        assert!(store.plan() == &self.plan, "the directory was opened for another plan");
        let mut present = Ledger::new(&self.plan);
        store.load(&mut present);
        let open = self.found.iter().filter(|(task, _)| !present.is_finished(**task));
        open.into_iter().try_for_each(|(task, stored)| store.save_stored(*task, stored))
    }

    /// The missing runs in short form: `replicates 3, 7-9 of point 2 (servers = 16)`, one line per point.
    #[must_use]
    pub fn missing_in_words(&self) -> Vec<String> {
        let mut by_point: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for task in &self.missing {
            by_point.entry(task.point).or_default().push(task.replicate);
        }
        by_point.into_iter().map(|(point, replicates)| self.words(point, &replicates)).collect()
    }

    /// The runs that several parts have in short form, with these parts: one line per point and set of parts.
    #[must_use]
    pub fn double_in_words(&self) -> Vec<String> {
        let mut groups: BTreeMap<(usize, &[PathBuf]), Vec<u32>> = BTreeMap::new();
        for (task, dirs) in &self.double {
            groups.entry((task.point, dirs)).or_default().push(task.replicate);
        }
        let words = groups.into_iter().map(|((point, dirs), replicates)| {
            let dirs: Vec<String> = dirs.iter().map(|dir| format!("`{}`", dir.display())).collect();
            format!("{} in {}", self.words(point, &replicates), dirs.join(" and "))
        });
        words.collect()
    }

    fn words(&self, point: usize, replicates: &[u32]) -> String {
        let label = self.plan.points()[point].label();
        let which = ranges(replicates);
        let plural = if replicates.len() == 1 { "" } else { "s" };
        if label.is_empty() {
            return format!("replicate{plural} {which}");
        }
        format!("replicate{plural} {which} of point {} ({label})", point + 1)
    }
}

/// Ascending numbers as ranges: `0, 3-5`.
fn ranges(numbers: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let word =
        |(first, last): (u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    runs.into_iter().map(word).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
