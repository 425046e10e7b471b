//! Repair times from elsewhere, such as a simulated rebuild of the very cluster: how long the groups of a
//! failed device stay exposed, by how many devices are failed at once and in how many hosts, for each degree
//! of exposure. Groups that miss more members are restored first.
//!
//! While the number of failed devices changes, what is left of a job keeps its share of the new time.

use towtank_streams::Uniform;

use super::{Job, Repair, STAGES_MAX, Stages};
use crate::error::{DurabilityError, within};
use crate::fleet::{Span, System};

/// The times of one number of failures.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Devices that are failed at once.
    pub devices: usize,
    /// Hosts in which they are.
    pub hosts: usize,
    /// For each degree of exposure, from 1: sorted times from the beginning of the repair until no group is
    /// exposed to that degree, each as likely. Higher degrees end first.
    pub until_h: Vec<Vec<f64>>,
}

/// Repair times by number of failures.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Until a repair begins.
    pub delay: Span,
    /// Rows. Where one is missing, the row with the most devices that has no more devices and hosts counts;
    /// the first has one device in one host.
    pub rows: Vec<Row>,
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
}

/// The work of each degree: what its end is later than that of the next degree.
fn works(row: &Row, job: &Job) -> [f64; STAGES_MAX] {
    let mut work = [0.0; STAGES_MAX];
    let mut before = 0.0;
    for degree in (1..=job.top.min(STAGES_MAX)).rev() {
        let times = &row.until_h[degree.min(row.until_h.len()) - 1];
        let at = times[(job.luck * times.len() as f64) as usize];
        work[degree - 1] = (at - before).max(0.0);
        before = before.max(at);
    }
    work
}

impl Repair for Table {
    fn stages(&self) -> Stages {
        Stages::OfGroups
    }

    fn check(&self, system: &System) -> Result<(), DurabilityError> {
        self.delay.check("the delay of a repair in hours")?;
        let first = self.rows.first().map_or(0, |row| row.devices * row.hosts);
        within("the devices and hosts of the first row of a table of repairs", first as f64, 1.0, 1.0)?;
        for row in &self.rows {
            let degrees = system.tolerance_max.clamp(1, STAGES_MAX);
            let most = row.devices.min(degrees) as f64;
            within("the degrees of a row of a table of repairs", row.until_h.len() as f64, most, 64.0)?;
            for times in &row.until_h {
                within("the number of times of a degree", times.len() as f64, 1.0, 1e6)?;
                times
                    .iter()
                    .try_for_each(|at| within("a repair time in hours", *at, 1e-9, 1e9).map(|_| ()))?;
            }
        }
        Ok(())
    }

    fn begin(&self, _: &System, others: &[Job], job: &mut Job, source: &mut impl Uniform) {
        job.wait_h = self.delay.draw(source);
        job.luck = source.unit_f64();
        let mut all: Vec<Job> = others.to_vec();
        all.push(*job);
        // In shares of the work, so that it can be scaled when others fail or are repaired.
        let work = works(self.row(&all), job);
        job.left_h = work.map(|hours| if hours > 0.0 { 1.0 } else { 0.0 });
    }

    fn pace(&self, _: &System, jobs: &mut [Job]) {
        let row = self.row(jobs);
        for job in jobs.iter_mut() {
            let whole = works(row, job)[job.stage - 1];
            job.pace = 1.0 / whole.max(1e-9);
        }
    }

    fn mean_h(&self, _: &System) -> f64 {
        let times = &self.rows[0].until_h[0];
        self.delay.mean_h() + crate::sums::sum(times.iter().copied()) / times.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left at a lower degree is what its end is later, also when the degree above is over: both
    /// together take until the end of the lower one.
    #[test]
    fn the_degrees_of_a_repair_end_one_after_the_other() {
        let row = Row { devices: 2, hosts: 2, until_h: vec![vec![9.0], vec![2.0]] };
        let job = |stage, top| Job {
            device: 0,
            group: 0,
            domain: 0,
            stage,
            top,
            wait_h: 0.0,
            left_h: [0.0; STAGES_MAX],
            pace: 1.0,
            is_whole: false,
            luck: 0.5,
        };
        assert_eq!(works(&row, &job(2, 2))[..2], [7.0, 2.0]);
        assert_eq!(works(&row, &job(1, 2))[..2], [7.0, 2.0]);
        // A device whose groups lack nothing else is whole at the end of all.
        assert_eq!(works(&row, &job(1, 1))[..2], [9.0, 0.0]);
    }
}
