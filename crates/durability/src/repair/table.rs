//! Repair times from elsewhere, such as a simulated rebuild of the very cluster: how long the groups of a
//! failed device stay exposed, by how many devices are failed at once and in how many hosts, for each degree
//! of exposure: of the groups that survive most, how many members they miss; of others, as many more as they
//! survive less. Groups that are more exposed are restored first, and those that are as exposed one after
//! the other: a fifth of them at a time.
//!
//! While the number of failed devices changes, what is left of a job keeps its share of the new time.

use towtank_streams::Uniform;

use super::{Job, Repair, STAGES_MAX, Stages};
use crate::error::{DurabilityError, within};
use crate::fleet::{Span, System};

/// In so many parts groups are restored that are as exposed.
pub const PARTS: usize = 5;

/// When the groups of a device that are as exposed are restored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Restored([f64; PARTS]);

impl Restored {
    /// All at once, so many hours after the repair begins.
    #[must_use]
    pub fn at_once(hours: f64) -> Restored {
        Restored([hours; PARTS])
    }

    /// From how many are restored at which times, in hours after the repair begins: for each fifth of them
    /// the mean time. None if there are none.
    #[must_use]
    pub fn of(times: &[(f64, u64)]) -> Option<Restored> {
        let mut times = times.to_vec();
        times.sort_by(|one, next| one.0.total_cmp(&next.0));
        let all: u64 = times.iter().map(|(_, count)| *count).sum();
        let each = all as f64 / PARTS as f64;
        let mut sums = [0.0; PARTS];
        let mut seen = 0.0;
        for (hours, count) in times {
            let end = seen + count as f64;
            for (part, sum) in sums.iter_mut().enumerate() {
                let within = end.min(each * (part as f64 + 1.0)) - f64::max(seen, each * part as f64);
                *sum += hours * within.max(0.0);
            }
            seen = end;
        }
        (all > 0).then(|| Restored(sums.map(|sum| sum / each)))
    }

    /// The last fifth.
    #[must_use]
    pub fn end_h(&self) -> f64 {
        self.0[PARTS - 1]
    }

    /// The mean over all groups.
    #[must_use]
    pub fn mean_h(&self) -> f64 {
        crate::sums::sum(self.0.iter().copied()) / PARTS as f64
    }
}

/// The times of one number of failures.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Devices that are failed at once.
    pub devices: usize,
    /// Hosts in which they are.
    pub hosts: usize,
    /// For each degree of exposure, from 1: when groups of it are restored, in several repairs, each as
    /// likely and sorted by their ends. Higher degrees end first.
    pub restored: Vec<Vec<Restored>>,
}

/// Repair times by number of failures.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Until a repair begins.
    pub delay: Span,
    /// Rows. Where one is missing, the row with the most devices that has no more devices and hosts counts;
    /// the first has one device in one host.
    pub rows: Vec<Row>,
    /// When what is lacking at the start is restored, whatever fails meanwhile: much of it may be a wait.
    pub start: Option<Row>,
}

impl Table {
    fn row(&self, jobs: &[Job]) -> &Row {
        let mut hosts: Vec<usize> = jobs.iter().map(|job| job.domain).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let fits = |row: &&Row| row.devices <= jobs.len() && row.hosts <= hosts.len();
        let best = self.rows.iter().filter(fits).max_by_key(|row| (row.devices, row.hosts));
        best.unwrap_or(&self.rows[0])
    }

    /// The same with repairs that take so many times as long; the delay before them stays.
    #[must_use]
    pub fn slower(&self, times: f64) -> Table {
        let slower = |row: &Row| Row {
            restored: row
                .restored
                .iter()
                .map(|each| each.iter().map(|one| Restored(one.0.map(|hours| hours * times))).collect())
                .collect(),
            ..row.clone()
        };
        Table {
            delay: self.delay.clone(),
            rows: self.rows.iter().map(slower).collect(),
            start: self.start.as_ref().map(slower),
        }
    }

    /// The row of a job among all.
    fn own<'a>(&'a self, row: &'a Row, job: &Job) -> &'a Row {
        self.start.as_ref().filter(|_| job.is_start).unwrap_or(row)
    }
}

fn mean_end_h(each: &[Restored]) -> f64 {
    crate::sums::sum(each.iter().map(Restored::end_h)) / each.len() as f64
}

/// When the groups of a degree are restored.
fn restored(row: &Row, job: &Job, degree: usize) -> Restored {
    let each = &row.restored[degree.min(row.restored.len()) - 1];
    each[(job.luck * each.len() as f64) as usize]
}

/// The end of all higher degrees.
fn before(row: &Row, job: &Job, degree: usize) -> f64 {
    let above = (degree + 1..=job.top.min(STAGES_MAX)).map(|degree| restored(row, job, degree).end_h());
    above.fold(0.0, f64::max)
}

/// The work of a degree: what its end is later than those of higher degrees.
fn work(row: &Row, job: &Job, degree: usize) -> f64 {
    (restored(row, job, degree).end_h() - before(row, job, degree)).max(0.0)
}

/// The work that is left of a degree when a part of it ends, as a share.
fn left_after(row: &Row, job: &Job) -> f64 {
    let (degree, part) = (job.stage, job.part.min(PARTS - 1));
    let work = work(row, job, degree);
    match part == PARTS - 1 || work <= 0.0 {
        true => 0.0,
        false => {
            let Restored(ends) = restored(row, job, degree);
            1.0 - ((ends[part] - before(row, job, degree)) / work).clamp(0.0, 1.0)
        }
    }
}

impl Repair for Table {
    fn stages(&self) -> Stages {
        Stages::OfGroups
    }

    fn parts(&self) -> usize {
        PARTS
    }

    fn check(&self, system: &System) -> Result<(), DurabilityError> {
        self.delay.check("the delay of a repair in hours")?;
        let first = self.rows.first().map_or(0, |row| row.devices * row.hosts);
        within("the devices and hosts of the first row of a table of repairs", first as f64, 1.0, 1.0)?;
        let needs_start = !system.lacking.is_empty();
        within(
            "the rows of what is lacking at the start",
            f64::from(u8::from(self.start.is_some())),
            f64::from(u8::from(needs_start)),
            1.0,
        )?;
        for row in self.rows.iter().chain(&self.start) {
            let degrees = system.tolerance_max.clamp(1, STAGES_MAX);
            let most = (row.devices + system.tolerance_max - system.tolerance_min).min(degrees) as f64;
            within("the degrees of a row of a table of repairs", row.restored.len() as f64, most, 64.0)?;
            for each in &row.restored {
                within("the number of times of a degree", each.len() as f64, 1.0, 1e6)?;
                let all = each.iter().flat_map(|restored| &restored.0);
                all.into_iter()
                    .try_for_each(|at| within("a repair time in hours", *at, 1e-9, 1e9).map(|_| ()))?;
            }
        }
        Ok(())
    }

    fn begin(&self, _: &System, others: &[Job], job: &mut Job, source: &mut impl Uniform) {
        job.wait_h = if job.is_start { 0.0 } else { self.delay.draw(source) };
        job.luck = source.unit_f64();
        let mut all: Vec<Job> = others.to_vec();
        all.push(*job);
        // In shares of the work, so that it can be scaled when others fail or are repaired.
        let row = self.own(self.row(&all), job);
        for degree in 1..=job.top.min(STAGES_MAX) {
            job.left_h[degree - 1] = if work(row, job, degree) > 0.0 { 1.0 } else { 0.0 };
        }
    }

    fn pace(&self, _: &System, jobs: &mut [Job]) {
        let row = self.row(jobs);
        for job in jobs.iter_mut() {
            let row = self.own(row, job);
            job.pace = 1.0 / work(row, job, job.stage).max(1e-9);
            job.part_ends_h = left_after(row, job);
        }
    }

    fn mean_h(&self, _: &System) -> f64 {
        self.delay.mean_h() + mean_end_h(&self.rows[0].restored[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(stage: usize, top: usize) -> Job {
        Job {
            device: 0,
            group: 0,
            domain: 0,
            stage,
            top,
            wait_h: 0.0,
            left_h: [0.0; STAGES_MAX],
            part: 0,
            part_ends_h: 0.0,
            pace: 1.0,
            is_whole: false,
            is_start: false,
            luck: 0.5,
        }
    }

    /// What is left at a lower degree is what its end is later, also when the degree above is over: both
    /// together take until the end of the lower one.
    #[test]
    fn the_degrees_of_a_repair_end_one_after_the_other() {
        let at = |hours| vec![Restored::at_once(hours)];
        let row = Row { devices: 2, hosts: 2, restored: vec![at(9.0), at(2.0)] };
        for stage in [1, 2] {
            assert_eq!([1, 2].map(|degree| work(&row, &job(stage, 2), degree)), [7.0, 2.0]);
        }
        // A device whose groups lack nothing else is whole at the end of all.
        assert_eq!(work(&row, &job(1, 1), 1), 9.0);
    }

    #[test]
    fn fifths_of_groups_have_the_mean_of_their_times() {
        let each: Vec<(f64, u64)> = (1..=10).map(|hour| (f64::from(hour), 3)).collect();
        let restored = Restored::of(&each).expect("there are groups");
        assert_eq!(restored, Restored([1.5, 3.5, 5.5, 7.5, 9.5]));
        assert_eq!((restored.mean_h(), restored.end_h()), (5.5, 9.5));
        let near = |times: &[(f64, u64)], all: [f64; PARTS]| {
            let Restored(found) = Restored::of(times).expect("there are groups");
            assert!(found.iter().zip(all).all(|(one, other)| (one - other).abs() < 1e-9), "{found:?}");
        };
        near(&[(4.0, 1)], [4.0; PARTS]);
        // Of three groups each is 5/3 of a fifth.
        near(&[(30.0, 1), (0.0, 2)], [0.0, 0.0, 0.0, 20.0, 30.0]);
        assert_eq!(Restored::of(&[]), None);
    }

    /// A part ends where its groups are restored, within the work of their degree.
    #[test]
    fn parts_end_where_their_groups_are_restored() {
        let row = Row {
            devices: 1,
            hosts: 1,
            restored: vec![vec![Restored([2.0, 4.0, 6.0, 8.0, 10.0])], vec![Restored::at_once(5.0)]],
        };
        let left = |part, top| left_after(&row, &Job { part, ..job(1, top) });
        assert_eq!([0, 1, 4].map(|part| left(part, 1)), [0.8, 0.6, 0.0]);
        // What is restored before the higher degree ends counts from its end.
        assert_eq!([0, 1, 4].map(|part| left(part, 2)), [1.0, 1.0, 0.0]);
        assert!((left(2, 2) - 0.8).abs() < 1e-12);
    }
}
