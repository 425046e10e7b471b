//! Which device leads a group of which one has come back, and what it pulls or pushes.

use super::*;

const ONCE: Writes = Writes { to_each: ToEach::Once, log: 500, leads_most: LEADS_MOST, size: None };

/// A group of so many objects on these devices, of which some come back after they were away for these
/// seconds, those that are away for longest first.
struct Group<'a> {
    devices: &'a [u32],
    data: u32,
    objects: usize,
    away: &'a [(u32, u64)],
    writes: Writes,
}

impl Group<'_> {
    fn plan(&self) -> Planned {
        let devices: Vec<DeviceId> = self.devices.iter().copied().map(DeviceId).collect();
        let redundancy = Redundancy { data: self.data, width: devices.len() as u32 };
        let kind = Kind { redundancy, min_size: self.data, by_place: self.data > 1 };
        let mut affected = Affected::of_groups(vec![kind], Arc::new(Fixed(devices.clone())));
        affected.push_group_of(0, 0, &devices, (0..self.objects).map(|_| UNIT));
        affected.follows = true;
        let hardware = sample::hardware(SIZE);
        let rules = rules(Source::Primary, Gather::Primary);
        let mut ledger = Ledger::new(&affected, &hardware, rules).with_returns(Some(self.writes));
        for (at, (_, span)) in self.away.iter().enumerate() {
            let gone: Vec<usize> = self.away[..=at].iter().map(|(device, _)| *device as usize).collect();
            let mut gone = standing(&gone, false, u64::MAX);
            ledger.strike(&gone);
            assert!(ledger.plan(&mut gone, 0).jobs.is_empty(), "no device is out");
            let next = self.away.get(at + 1).map_or(0, |(_, span)| *span);
            ledger.write(SimSpan::from_secs(span - next));
        }
        let back: Vec<DeviceId> = self.away.iter().map(|(device, _)| DeviceId(*device)).collect();
        ledger.come_back(&back, false);
        let planned = ledger.plan(&mut standing(&[], false, 0), 0);
        planned.plan.assert_whole();
        ledger.settle(&planned, |_| Progress::Whole);
        assert_eq!(ledger.lacking(), 0, "all copies are whole in the end");
        planned
    }

    /// The device that leads, the devices that it reserves, and whether the log says what is missing.
    fn led(&self) -> (u32, Vec<u32>, bool) {
        let plan = self.plan().plan;
        let (driver, task, _) = plan.each().next().expect("there is something to do");
        assert!(plan.each().all(|(other, ..)| other == driver), "one device leads");
        (driver.0, plan.reserves(task).iter().map(|device| device.0).collect(), task.by_log)
    }
}

/// Three copies, of which one was away for a second while all objects were written.
fn one_back(devices: &[u32], back: u32, objects: usize) -> (u32, Vec<u32>, bool) {
    Group { devices, data: 1, objects, away: &[(back, 1)], writes: ONCE }.led()
}

/// The first device leads at once, if it lacks 100 entries at most; else the next one leads until it is up to
/// date. Any other device is pushed to. Beyond the log there is a backfill, which another leads.
#[test]
fn the_first_device_leads_if_it_lacks_little() {
    assert_eq!(one_back(&[2, 0, 1], 2, 1), (2, vec![0, 1], true));
    assert_eq!(one_back(&[2, 0, 1], 2, 100), (2, vec![0, 1], true));
    assert_eq!(one_back(&[2, 0, 1], 2, 101), (0, vec![1, 2], true));
    assert_eq!(one_back(&[2, 0, 1], 2, 500), (0, vec![1, 2], true));
    assert_eq!(one_back(&[2, 0, 1], 2, 501), (0, vec![2], false));
    assert_eq!(one_back(&[0, 2, 1], 2, 9), (0, vec![1, 2], true));
    assert_eq!(one_back(&[0, 1, 2], 2, 9), (0, vec![1, 2], true));
}

/// The number of entries that it may lack is a setting.
#[test]
fn the_most_that_a_leader_lacks_is_set() {
    let led = |leads_most, objects| {
        let writes = Writes { leads_most, ..ONCE };
        Group { devices: &[2, 0, 1], data: 1, objects, away: &[(2, 1)], writes }.led().0
    };
    assert_eq!([led(1, 1), led(1, 2), led(400, 400), led(400, 401)], [2, 0, 2, 0]);
}

/// Writes at a rate count as entries, not as objects: 10 writes to each of 9 objects are 90, and 12 are 108.
#[test]
fn entries_are_counted_and_not_objects() {
    let at = |rate| Group {
        devices: &[2, 0, 1],
        data: 1,
        objects: 9,
        away: &[(2, 1)],
        writes: Writes { to_each: ToEach::PerSecond(rate), log: 500, ..Writes::default() },
    };
    assert_eq!([10.0, 12.0].map(|rate| at(rate).led().0), [2, 0]);
    // All objects have been written then, so both plans have the same copies.
    assert_eq!([10.0, 12.0].map(|rate| at(rate).plan().jobs.len()), [9, 9]);
}

/// What the leader lacks it pulls, for others that lack it too; what only others lack it pushes.
#[test]
fn a_leader_pushes_what_it_has() {
    let writes = Writes { to_each: ToEach::PerSecond(0.5), log: 500, ..Writes::default() };
    let both = Group { devices: &[0, 1, 2], data: 1, objects: 60, away: &[(2, 4), (0, 1)], writes };
    assert_eq!(both.led(), (0, vec![1, 2], true));
    let plan = both.plan().plan;
    let ids = |devices: &[DeviceId]| devices.iter().map(|device| device.0).collect::<Vec<_>>();
    let mut seen = [0; 2];
    for (driver, _, job) in plan.each() {
        let pulls = plan.pulls(driver, job);
        let wanted = if pulls { (vec![1], vec![0, 2]) } else { (vec![0], vec![2]) };
        assert_eq!((ids(plan.reads(job)), ids(plan.writes(job))), wanted);
        seen[usize::from(pulls)] += 1;
    }
    // 1 - exp(-0.5) of 60 were written while both were away, and 1 - exp(-2) while the last one was.
    assert!(seen[0] > 5 && seen[1] > 5, "{seen:?}");
}

/// Shards are gathered by a device that holds one, also if the first one came back.
#[test]
fn shards_are_not_pulled() {
    let group = Group { devices: &[3, 0, 1, 2], data: 2, objects: 9, away: &[(3, 1)], writes: ONCE };
    assert_eq!(group.led(), (0, vec![1, 2, 3], true));
    let plan = group.plan().plan;
    assert!(plan.jobs().iter().all(|job| plan.reads(job).len() == 2));
}
