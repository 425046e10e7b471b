//! What is to be rebuilt, as tables that do not change during a phase.
//!
//! A *job* is one object: the devices that it is read from, the devices that its lost copies or shards are
//! written to, and the driver, which gathers what is read and sends out what is written. A driver that reads
//! a copy elsewhere and writes it itself *pulls* it; else copies are pushed. A *task* is the unit of
//! reservation: a placement group, or, where objects are placed one by one and nothing is reserved, all jobs
//! of a device.

use std::ops::Range;

use towtank_kernel::prefetch;
use towtank_units::SimSpan;

/// A disk of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct DeviceId(pub u32);

impl DeviceId {
    /// Index in tables with one row per device.
    #[inline]
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The priority of records that have all their copies or shards, in a plan that is split by priority.
pub const MOVES: u32 = 3;

/// No device.
pub const NOWHERE: DeviceId = DeviceId(u32::MAX);

/// The rebuild of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Bytes of a copy, or of a shard: what is read from each source and written to each target.
    pub bytes: u64,
    /// Units that were durable before this phase began.
    pub resume: u32,
    devices_at: u32,
    reads: u8,
    writes: u8,
}

/// The unit of reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The group; the driver's number where objects are placed one by one.
    pub group: u32,
    /// Its jobs.
    pub jobs: Range<u32>,
    /// Where tasks wait for a device, the lowest value goes first.
    pub priority: u32,
    /// The row in which its finished jobs are counted: the copies or shards to spare of its records.
    pub spare: u32,
    /// Its records accept no writes until the task is done, because too few copies or shards are left.
    pub below: bool,
    /// Time before its first job in which its objects are compared.
    pub compares: SimSpan,
    /// Its log says what is missing, so nothing is searched for.
    pub by_log: bool,
    reserves: Range<u32>,
}

/// Everything to be rebuilt in one phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The tasks of each driver, by device.
    drivers: Vec<Range<u32>>,
    tasks: Vec<Task>,
    jobs: Vec<Job>,
    /// Tasks are groups, which are complete when all their jobs are done.
    grouped: bool,
    /// What is done is counted by priority too.
    split: bool,
    /// Tasks that are complete are counted.
    completed: bool,
    devices: Vec<DeviceId>,
    reserved: Vec<DeviceId>,
}

impl Plan {
    /// A plan in which no device drives anything.
    #[must_use]
    pub fn new() -> Plan {
        Plan::default()
    }

    /// Sets whether tasks are groups, rather than all objects of a device.
    #[must_use]
    pub fn of_groups(self, grouped: bool) -> Plan {
        Plan { grouped, ..self }
    }

    /// Sets whether what is done is counted by priority too.
    #[must_use]
    pub(crate) fn split_by_priority(self, split: bool) -> Plan {
        Plan { split, ..self }
    }

    /// Whether what is done is counted by priority too.
    #[inline]
    #[must_use]
    pub(crate) fn is_split(&self) -> bool {
        self.split
    }

    /// Sets whether tasks that are complete are counted.
    #[must_use]
    pub(crate) fn count_completed(self, completed: bool) -> Plan {
        Plan { completed, ..self }
    }

    /// Whether tasks that are complete are counted.
    #[inline]
    #[must_use]
    pub(crate) fn counts_completed(&self) -> bool {
        self.completed
    }

    /// Whether tasks are groups.
    #[inline]
    #[must_use]
    pub fn grouped(&self) -> bool {
        self.grouped
    }

    /// Reserves memory, so that large plans are not copied while they grow.
    pub fn reserve(&mut self, jobs: usize, devices: usize) {
        self.jobs.reserve(jobs);
        self.devices.reserve(devices);
    }

    /// Starts the next device: it drives what is added from here on. Devices are added in order, each once.
    ///
    /// # Panics
    /// If there are more tasks than fit in 32 bits.
    pub fn next_driver(&mut self) {
        let at = u32::try_from(self.tasks.len()).expect("tasks are numbered in 32 bits");
        self.drivers.push(at..at);
    }

    /// Starts the next task of the current driver. The task must reserve `reserves` before its first job.
    ///
    /// # Panics
    /// If no driver has been started.
    pub fn next_task(&mut self, group: u32, (priority, below): (u32, bool), reserves: &[DeviceId]) {
        assert!(!reserves.contains(&NOWHERE), "a task reserves a device that does not exist");
        let (jobs, at) = (self.jobs.len() as u32, self.reserved.len() as u32);
        self.reserved.extend_from_slice(reserves);
        // All tasks reserve in the same order, so that no two of them deadlock.
        self.reserved[at as usize..].sort_unstable();
        debug_assert!(no_device_twice(&self.reserved[at as usize..]), "a task reserves a device twice");
        let reserves = at..self.reserved.len() as u32;
        let (compares, by_log) = (SimSpan::ZERO, false);
        let spare = priority;
        self.tasks.push(Task { group, jobs: jobs..jobs, priority, spare, below, compares, by_log, reserves });
        self.drivers.last_mut().expect("a driver has begun").end += 1;
    }

    /// Sets the priority of the current task where it is not what its records have to spare.
    ///
    /// # Panics
    /// If no task has been started.
    pub(crate) fn wait_as(&mut self, priority: u32) {
        self.tasks.last_mut().expect("a task has begun").priority = priority;
    }

    /// Sets for how long the objects of the current task are compared before its first job.
    ///
    /// # Panics
    /// If no task has been started.
    pub(crate) fn compare_first(&mut self, span: SimSpan) {
        self.tasks.last_mut().expect("a task has begun").compares = span;
    }

    /// Says that the log of the current task's group tells what is missing.
    ///
    /// # Panics
    /// If no task has been started.
    pub fn recover_by_log(&mut self) {
        self.tasks.last_mut().expect("a task has begun").by_log = true;
    }

    /// Adds a job to the current task.
    ///
    /// # Panics
    /// If no task has been started, nothing is read or written, or there are more than 255 sources or
    /// targets.
    pub fn next_job(&mut self, bytes: u64, resume: u32, reads: &[DeviceId], writes: &[DeviceId]) {
        assert!(!reads.is_empty() && !writes.is_empty() && bytes > 0, "a job moves something");
        assert!(!reads.contains(&NOWHERE) && !writes.contains(&NOWHERE), "a job goes by devices that exist");
        // A device that takes one shard of an object may give another; a copy comes from another device.
        assert!(reads.len() > 1 || !writes.contains(&reads[0]), "a job writes where it reads");
        // Which devices are read is checked where they are chosen: after a repair, one may hold two shards.
        debug_assert!(no_device_twice(writes), "a job writes to a device twice: {writes:?}");
        let few =
            |devices: &[DeviceId]| u8::try_from(devices.len()).expect("an object has at most 255 shards");
        let devices_at = self.devices_of(reads, writes);
        self.jobs.push(Job { bytes, resume, devices_at, reads: few(reads), writes: few(writes) });
        self.tasks.last_mut().expect("a task has begun").jobs.end += 1;
    }

    /// Where the devices of the next job are. The objects of a group have the same ones, most of the time.
    fn devices_of(&mut self, reads: &[DeviceId], writes: &[DeviceId]) -> u32 {
        let before = self.jobs.last().filter(|_| self.grouped);
        let same = before.filter(|job| self.reads(job) == reads && self.writes(job) == writes);
        if let Some(same) = same {
            return same.devices_at;
        }
        let devices_at = u32::try_from(self.devices.len()).expect("jobs name fewer than 2^32 devices in all");
        self.devices.extend_from_slice(reads);
        self.devices.extend_from_slice(writes);
        devices_at
    }

    /// Checks that each task has one driver and each job one task, both in the order of their numbers.
    ///
    /// # Panics
    /// If a table leaves out a row or has one twice.
    pub(crate) fn assert_whole(&self) {
        let mut tasks = 0;
        for (driver, range) in self.drivers.iter().enumerate() {
            assert_eq!(range.start, tasks, "the tasks of driver {driver} do not follow those before");
            tasks = range.end;
        }
        assert_eq!(tasks as usize, self.tasks.len(), "tasks of all drivers, and tasks");
        let (mut jobs, mut reserved) = (0, 0);
        for (number, task) in self.tasks.iter().enumerate() {
            assert_eq!(task.jobs.start, jobs, "the jobs of task {number} do not follow those before");
            assert_eq!(task.reserves.start, reserved, "task {number} reserves what is not its own");
            (jobs, reserved) = (task.jobs.end, task.reserves.end);
        }
        assert_eq!(jobs as usize, self.jobs.len(), "jobs of all tasks, and jobs");
        assert_eq!(reserved as usize, self.reserved.len(), "reservations of all tasks, and reservations");
        let (mut devices, mut before) = (0, None);
        for (number, job) in self.jobs.iter().enumerate() {
            let row = (job.devices_at, job.reads, job.writes);
            if before.replace(row).filter(|_| self.grouped) == Some(row) {
                continue;
            }
            assert_eq!(job.devices_at, devices, "the devices of job {number} do not follow those before");
            devices += u32::from(job.reads) + u32::from(job.writes);
        }
        assert_eq!(devices as usize, self.devices.len(), "devices of all jobs, and devices");
    }

    /// Number of devices.
    #[must_use]
    pub(crate) fn device_count(&self) -> usize {
        self.drivers.len()
    }

    /// The tasks that a device drives.
    #[inline]
    #[must_use]
    pub(crate) fn tasks_of(&self, device: DeviceId) -> Range<u32> {
        self.drivers[device.index()].clone()
    }

    /// A task.
    #[inline]
    #[must_use]
    pub fn task(&self, task: u32) -> &Task {
        &self.tasks[task as usize]
    }

    /// The task of a job.
    #[must_use]
    pub(crate) fn task_of(&self, job: u32) -> u32 {
        self.tasks.partition_point(|task| task.jobs.end <= job) as u32
    }

    /// Whether the records of a task have all their copies or shards, and only move.
    #[must_use]
    pub(crate) fn only_moves(&self, task: u32) -> bool {
        self.split && self.task(task).spare >= MOVES
    }

    /// All tasks.
    #[must_use]
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// A job.
    #[inline]
    #[must_use]
    pub fn job(&self, job: u32) -> &Job {
        &self.jobs[job as usize]
    }

    /// Prefetches a job that begins soon, its devices, which lie at the same share of their table where all
    /// jobs have equally many, and its task.
    #[inline]
    pub(crate) fn fetch(&self, job: u32, task: u32) {
        if let Some(row) = self.jobs.get(job as usize) {
            prefetch(row);
            prefetch(&self.devices[self.devices.len() * job as usize / self.jobs.len()]);
        }
        self.tasks.get(task as usize).into_iter().for_each(prefetch);
    }

    /// All jobs, by driver and task.
    #[must_use]
    pub fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    /// The sources of a job.
    #[inline]
    #[must_use]
    pub fn reads(&self, job: &Job) -> &[DeviceId] {
        let at = job.devices_at as usize;
        &self.devices[at..at + usize::from(job.reads)]
    }

    /// The targets of a job.
    #[inline]
    #[must_use]
    pub fn writes(&self, job: &Job) -> &[DeviceId] {
        let at = job.devices_at as usize + usize::from(job.reads);
        &self.devices[at..at + usize::from(job.writes)]
    }

    /// Whether a device that drives a job pulls it: it lacks the copy itself, and reads it elsewhere.
    #[inline]
    #[must_use]
    pub fn pulls(&self, driver: DeviceId, job: &Job) -> bool {
        job.reads == 1 && self.writes(job).contains(&driver)
    }

    /// The bytes that a job makes durable, over all its targets.
    #[inline]
    #[must_use]
    pub(crate) fn bytes_over_targets(&self, job: &Job) -> u64 {
        job.bytes.saturating_mul(self.writes(job).len() as u64)
    }

    /// The devices that a task must reserve, in order.
    #[inline]
    #[must_use]
    pub(crate) fn reserves(&self, task: &Task) -> &[DeviceId] {
        &self.reserved[task.reserves.start as usize..task.reserves.end as usize]
    }

    /// Every job with its driver and its task.
    pub fn each(&self) -> impl Iterator<Item = (DeviceId, &Task, &Job)> {
        let drivers = (0u32..).map(DeviceId).zip(&self.drivers);
        drivers.flat_map(move |(driver, tasks)| {
            self.tasks[tasks.start as usize..tasks.end as usize].iter().flat_map(move |task| {
                let jobs = &self.jobs[task.jobs.start as usize..task.jobs.end as usize];
                jobs.iter().map(move |job| (driver, task, job))
            })
        })
    }

    /// Approximate memory of the tables, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (self.jobs.capacity() * size_of::<Job>()
            + (self.devices.capacity() + self.reserved.capacity()) * size_of::<DeviceId>()
            + self.tasks.capacity() * size_of::<Task>()
            + self.drivers.capacity() * size_of::<Range<u32>>()) as u64
    }
}

/// Whether no device is named twice.
fn no_device_twice(devices: &[DeviceId]) -> bool {
    devices.iter().enumerate().all(|(at, device)| !devices[..at].contains(device))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sample::{self, Drawn, Size, Tasks};

    #[test]
    fn what_is_put_in_comes_out() {
        let mut plan = Plan::new();
        let device = DeviceId;
        plan.next_driver();
        plan.next_driver();
        plan.next_task(7, (1, false), &[device(3), device(0)]);
        plan.next_job(10, 0, &[device(1)], &[device(3), device(0)]);
        plan.next_job(20, 2, &[device(1), device(2)], &[device(3)]);
        plan.next_task(8, (0, true), &[]);
        plan.next_driver();
        assert_eq!(plan.device_count(), 3);
        assert_eq!(
            [plan.tasks_of(device(0)), plan.tasks_of(device(1)), plan.tasks_of(device(2))],
            [0..0, 0..2, 2..2]
        );
        assert_eq!(plan.reserves(plan.task(0)), [device(0), device(3)]);
        let job = plan.job(1);
        assert_eq!((plan.reads(job), plan.writes(job)), (&[device(1), device(2)][..], &[device(3)][..]));
        let all: Vec<(u32, u32, u64)> =
            plan.each().map(|(driver, task, job)| (driver.0, task.group, job.bytes)).collect();
        assert_eq!(all, [(1, 7, 10), (1, 7, 20)]);
        assert!(plan.bytes() > 0);
    }

    fn drawn(bytes: &[u64]) -> Vec<Drawn> {
        let job = |(at, &bytes): (usize, &u64)| Drawn {
            driver: at as u32 * 3,
            bytes,
            reads: 1 + at % 3,
            writes: 1 + at % 2,
            stride: at as u32,
            by_log: at % 4 == 2,
            pulls: at % 8 == 2,
        };
        bytes.iter().enumerate().map(job).collect()
    }

    proptest! {
        /// Every task has one driver and every job one task, in the order of their numbers.
        #[test]
        fn every_job_is_in_one_task_of_one_driver(bytes in prop::collection::vec(1u64..9_000, 0..20), grouped: bool) {
            let hardware = sample::hardware(Size { racks: 1, servers: 5, disks: 1 });
            let tasks = if grouped { Tasks::Reserving } else { Tasks::Drivers };
            let plan = sample::plan(&hardware, tasks, &drawn(&bytes));
            plan.assert_whole();
            prop_assert_eq!(plan.jobs().len(), bytes.len());
            let of_drivers: usize = (0..5).map(|device| plan.tasks_of(DeviceId(device)).len()).sum();
            prop_assert_eq!(of_drivers, plan.tasks().len());
            let each: Vec<&Job> = plan.each().map(|(_, _, job)| job).collect();
            prop_assert_eq!(each.len(), bytes.len());
            prop_assert!(each.iter().zip(plan.jobs()).all(|(left, right)| std::ptr::eq(*left, right)));
            let sum = |jobs: &[Job]| jobs.iter().map(|job| job.bytes).sum::<u64>();
            prop_assert_eq!(sum(plan.jobs()), bytes.iter().sum::<u64>());
            for (driver, task, job) in plan.each() {
                let pulls = plan.pulls(driver, job);
                prop_assert_eq!(plan.reads(job)[0] == driver, !pulls);
                prop_assert!(task.by_log || !pulls || !grouped);
                prop_assert!(plan.reads(job).iter().all(|source| !plan.writes(job).contains(source)));
                prop_assert!(plan.reserves(task).is_sorted());
                prop_assert_eq!(plan.reserves(task).len(), if grouped { plan.writes(job).len() } else { 0 });
                prop_assert!(!plan.reserves(task).contains(&driver));
            }
        }
    }

    type Damage = fn(&mut Plan);

    /// A plan of one driver, one task that reserves, and one job.
    fn small() -> Plan {
        let mut plan = Plan::new();
        plan.next_driver();
        plan.next_task(0, (0, false), &[DeviceId(1)]);
        plan.next_job(10, 0, &[DeviceId(0)], &[DeviceId(1)]);
        plan
    }

    fn complaint(damage: impl FnOnce(&mut Plan) + std::panic::UnwindSafe) -> String {
        let broken = std::panic::catch_unwind(|| {
            let mut plan = small();
            plan.assert_whole();
            damage(&mut plan);
            plan.assert_whole();
        });
        let panic = broken.expect_err("the damage is noticed");
        let said = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        panic.downcast_ref::<String>().cloned().or(said).expect("in words")
    }

    #[test]
    fn tables_that_lost_a_row_are_noticed() {
        let cases: [(Damage, &str); 7] = [
            (|plan| plan.drivers[0].end = 0, "tasks of all drivers, and tasks"),
            (|plan| plan.drivers[0].start = 1, "the tasks of driver 0 do not follow those before"),
            (|plan| plan.tasks[0].jobs.end = 2, "jobs of all tasks, and jobs"),
            (|plan| plan.tasks[0].jobs.start = 1, "the jobs of task 0 do not follow those before"),
            (|plan| plan.reserved.clear(), "reservations of all tasks, and reservations"),
            (|plan| plan.jobs[0].devices_at = 1, "the devices of job 0 do not follow those before"),
            (|plan| plan.devices.push(DeviceId(0)), "devices of all jobs, and devices"),
        ];
        for (damage, want) in cases {
            let found = complaint(damage);
            assert!(found.contains(want), "{found}, not {want}");
        }
    }

    #[test]
    fn jobs_that_cannot_be_are_refused() {
        let refuse = |bytes: u64, reads: &[u32], writes: &[u32], want: &str| {
            let of = |devices: &[u32]| devices.iter().copied().map(DeviceId).collect::<Vec<_>>();
            let found = complaint(move |plan| plan.next_job(bytes, 0, &of(reads), &of(writes)));
            assert!(found.contains(want), "{found}, not {want}");
        };
        refuse(9, &[0], &[1, 2, 1], "a job writes to a device twice");
        let twice = complaint(|plan| plan.next_task(0, (0, false), &[DeviceId(2), DeviceId(2)]));
        assert!(twice.contains("a task reserves a device twice"), "{twice}");
    }

    #[test]
    #[should_panic(expected = "a job writes where it reads")]
    fn a_job_that_writes_where_it_reads_is_refused() {
        small().next_job(9, 0, &[DeviceId(2)], &[DeviceId(1), DeviceId(2)]);
    }

    #[test]
    #[should_panic(expected = "a job moves something")]
    fn a_job_of_no_bytes_is_refused() {
        small().next_job(0, 0, &[DeviceId(0)], &[DeviceId(2)]);
    }

    #[test]
    #[should_panic(expected = "a driver has begun")]
    fn a_task_without_a_driver_is_refused() {
        Plan::new().next_task(0, (0, false), &[]);
    }
}
