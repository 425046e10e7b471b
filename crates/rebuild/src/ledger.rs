//! The state of the affected objects while devices fail and rebuilds finish: which devices hold each record,
//! which are to hold it, and the plan that follows.
//!
//! A record keeps its surviving copies in their places; a lost place gets the next home that placement names
//! once the failed devices are out. Source and target are never devices that are known to be down. Where the
//! records follow a changed map, places that are left move too (`following`).

mod begun;
mod draft;
mod following;
mod leading;
mod order;
mod returning;
mod room;
mod stuck;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_kernel::prefetch;
use towtank_streams::Seed;
use towtank_units::SimSpan;

use self::draft::Drafted;
use self::following::Placed;
pub use self::order::Order;
use self::order::Turn;
use self::returning::Returning;
pub use self::returning::{LEADS_MOST, ToEach, Writes};
pub use self::stuck::Stuck;
use crate::affected::{Affected, Kind};
use crate::flags::Flags;
use crate::hardware::Hardware;
use crate::homes::Wanted;
use crate::model::SPARES;
use crate::plan::{DeviceId, Job, NOWHERE, Plan};
use crate::redundancy::Redundancy;

/// How many records ahead the tables are prefetched: about as long as memory takes.
const FETCH_AHEAD: usize = 16;

/// Which copy is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The first copy that is left.
    #[default]
    Primary,
    /// A random copy of those left, drawn for each object.
    Random,
    /// The copy whose device has been assigned the least to read so far.
    LeastLoaded,
}

/// Where shards are gathered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Gather {
    /// On the primary, as in Ceph.
    #[default]
    Primary,
    /// On the first target.
    Target,
}

/// The rules for making a plan.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Which copy is read.
    pub source: Source,
    /// Whether a group of copies is led by the device that the map says, as in Ceph; else by the first one
    /// that has a copy.
    pub led_by_map: bool,
    /// Where shards are gathered.
    pub gather: Gather,
    /// Whether all shards that are left are read, not only as many as are needed.
    pub reads_all: bool,
    /// Which objects or groups a driver rebuilds first.
    pub order: Order,
    /// What decides among groups of equal rank: chance, drawn from this seed; none if it is their numbers.
    pub ties: Option<Seed>,
    /// The replicate's seed.
    pub seed: Seed,
    /// Whether tasks reserve their targets.
    pub reserve: bool,
    /// What a backfill of a group costs before its first object is copied.
    pub backfill: Backfill,
    /// Whether records that become complete are counted over time.
    pub count_completed: bool,
}

/// The time that a backfill of a group takes before its first object is copied: to begin, and to list the
/// objects of the group on both sides and compare them. While a group is copied the next one of the same
/// driver begins, so only the first one waits for that: eight groups began no later than one (Ceph 16.2.15).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backfill {
    /// To begin.
    pub begin: SimSpan,
    /// For each object that it looks at.
    pub look: SimSpan,
}

impl Backfill {
    /// The time for so many objects, of the first group of a driver or of a later one.
    #[must_use]
    pub fn of(self, objects: usize, is_first: bool) -> SimSpan {
        let begin = if is_first { self.begin } else { SimSpan::ZERO };
        begin.saturating_add(self.look.saturating_mul(objects as u64))
    }
}

/// The state of the devices at one moment.
#[derive(Clone, Debug)]
pub struct Standing {
    /// Stopped, whether or not this is known.
    pub stopped: Vec<bool>,
    /// Known to be down.
    pub down: Vec<bool>,
    /// Out: placement passes over them.
    pub out: Vec<bool>,
    /// Bytes on each device.
    pub used: Vec<u64>,
    /// The most bytes that each device may hold.
    pub limit: Vec<u64>,
    /// What flags keep from happening.
    pub flags: Flags,
}

/// Which devices hold which records.
pub struct Ledger<'a> {
    affected: &'a Affected,
    hardware: &'a Hardware,
    rules: Rules,
    /// The device in each place of each record.
    holders: Vec<DeviceId>,
    /// The home on which each lost place is being rebuilt.
    aims: Vec<DeviceId>,
    /// Whether each object is complete on the homes in `aims`.
    done: Vec<bool>,
    /// For each device, the bytes of its parts of records that are complete again.
    gained: Vec<u64>,
    /// For each device, the bytes that it had at first and that have moved elsewhere since; and of which
    /// records.
    left: Vec<u64>,
    gone: std::collections::BTreeSet<(u32, DeviceId)>,
    /// Durable units of each object that is partly rebuilt.
    begun: std::collections::BTreeMap<usize, u32>,
    /// Records of groups that were being copied before, and have been given homes since.
    aimed: std::collections::BTreeSet<u32>,
    /// Copies on devices that come back.
    returning: Returning,
    /// Whether copies count again without a write since `taken_back` was asked, by what was to spare.
    taken_back: [bool; SPARES],
    /// Copies of objects that devices came back with, in records that took no writes meanwhile.
    unwritten: u64,
    /// Scratch space.
    spare: [Vec<DeviceId>; 2],
}

/// A record with fewer parts than it should have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Short {
    /// Its number.
    pub record: usize,
    /// The devices that hold one each and answer.
    pub devices: Vec<DeviceId>,
    /// How many there should be, and how many a read takes.
    pub redundancy: Redundancy,
    /// The bytes of one part.
    pub bytes: u64,
}

/// A plan, and the object of each job.
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// The record and the object of each job.
    pub jobs: Vec<(u32, u32)>,
    /// What cannot be rebuilt.
    pub stuck: Stuck,
    /// Records with fewer copies or shards than they need to accept writes.
    pub below_min_size: u64,
}

impl<'a> Ledger<'a> {
    /// The state before any failure.
    #[must_use]
    pub fn new(affected: &'a Affected, hardware: &'a Hardware, rules: Rules) -> Ledger<'a> {
        let width = affected.width;
        affected.assert_whole();
        let wide = |kind: &Kind| kind.redundancy.width as usize <= width;
        assert!(affected.kinds.iter().all(wide), "a record has more than {width} places");
        let holders =
            (0..affected.records()).flat_map(|record| &affected.list(record)[..width]).copied().collect();
        let aims = vec![NOWHERE; affected.records() * width];
        let done = vec![false; affected.objects()];
        Ledger {
            affected,
            hardware,
            rules,
            holders,
            aims,
            done,
            gained: vec![0; hardware.devices() as usize],
            left: vec![0; hardware.devices() as usize],
            gone: std::collections::BTreeSet::new(),
            begun: std::collections::BTreeMap::new(),
            aimed: std::collections::BTreeSet::new(),
            returning: Returning::default(),
            taken_back: [false; SPARES],
            unwritten: 0,
            spare: Default::default(),
        }
    }

    /// Remembers what devices hold that go down, since some of them come back.
    #[must_use]
    pub(crate) fn with_returns(self, writes: Option<Writes>) -> Ledger<'a> {
        Ledger { returning: Returning::new(writes), ..self }
    }

    fn places(&self, record: usize) -> std::ops::Range<usize> {
        let first = record * self.affected.width;
        first..first + self.affected.kind(record).redundancy.width as usize
    }

    /// For each device, the bytes that it holds beyond those before any failure.
    #[cfg(test)]
    fn gained(&self) -> &[u64] {
        &self.gained
    }

    /// Removes from each record the places on devices that are known to be down.
    ///
    /// # Panics
    /// If `standing` has another number of devices, or a device is down that has not stopped.
    pub fn strike(&mut self, standing: &Standing) {
        let devices = self.hardware.devices() as usize;
        assert_eq!(standing.down.len(), devices, "each device is down or not");
        assert_eq!(standing.stopped.len(), devices, "each device has stopped or not");
        let unknown = |(down, stopped): (&bool, &bool)| *down && !*stopped;
        assert!(
            !standing.down.iter().zip(&standing.stopped).any(unknown),
            "a device is down that has not stopped"
        );
        assert_eq!(standing.out.len(), devices, "each device is given up or not");
        let early = |(out, down): (&bool, &bool)| *out && !*down;
        assert!(!standing.out.iter().zip(&standing.down).any(early), "a device is given up that is not down");
        self.returning.leave_again(&standing.down);
        let width = self.affected.width;
        for (at, holder) in self.holders.iter_mut().enumerate() {
            if *holder != NOWHERE && standing.down[holder.index()] {
                self.returning.leave(at / width, at % width, *holder);
                *holder = NOWHERE;
            }
        }
    }

    /// Clients have written for some time to all records with enough copies or shards.
    pub fn write(&mut self, span: SimSpan) {
        let mut returning = std::mem::take(&mut self.returning);
        returning.write(span, |record| {
            let live = self.holders[self.places(record)].iter().filter(|holder| **holder != NOWHERE).count();
            live as u32 >= self.affected.kind(record).min_size
        });
        self.returning = returning;
    }

    /// Devices come back, empty or with the copies that they had. Copies to which nothing was written count
    /// at once.
    pub(crate) fn come_back(&mut self, devices: &[DeviceId], empty: bool) {
        for record in self.returning.come_back(devices, empty) {
            let record = record as usize;
            for copy in self.returning.of(record).to_vec() {
                let place = self.places(record).start + copy.place as usize;
                let first = self.affected.first_object(record);
                let objects = first..first + self.affected.sizes(record).len();
                let written = |object| self.returning.is_written(&copy, object, self.rules.seed);
                if copy.written.is_zero() && devices.contains(&copy.device) {
                    let all = |object| self.affected.stands_for(record, object).objects;
                    self.unwritten += objects.clone().map(all).sum::<u64>();
                }
                let held = self.holders[self.places(record)].contains(&copy.device);
                if self.holders[place] == NOWHERE && !held && !objects.clone().any(written) {
                    self.taken_back[self.row(record)] = true;
                    self.holders[place] = copy.device;
                    let places = self.places(record);
                    self.aims[places].fill(NOWHERE);
                    self.done[objects].fill(false);
                    self.returning.forget(record, copy.device);
                }
            }
        }
    }

    /// Copies of objects that devices came back with, in records that took no writes meanwhile.
    pub fn unwritten(&self) -> u64 {
        self.unwritten
    }

    /// Whether copies of devices that came back count again without a write, since this was last asked, by
    /// the number that their record had to spare before. The last row is for records that lacked nothing:
    /// they move.
    pub fn taken_back(&mut self) -> [bool; SPARES] {
        std::mem::take(&mut self.taken_back)
    }

    /// The row of a record among those by what is to spare.
    fn row(&self, record: usize) -> usize {
        let holders = &self.holders[self.places(record)];
        let missing = holders.iter().filter(|holder| **holder == NOWHERE).count();
        let spare = (holders.len() - missing).saturating_sub(self.data(record));
        usize::from(following::priority(spare as u32, missing))
    }

    /// The copies of a record on devices that have come back, and are among its new homes.
    fn kept(&self, record: usize) -> impl Iterator<Item = &returning::Back> {
        let places = self.places(record);
        let by_place = self.affected.kind(record).by_place;
        let aims = &self.aims[places];
        self.returning.of(record).iter().filter(move |copy| {
            if by_place { aims[copy.place as usize] == copy.device } else { aims.contains(&copy.device) }
        })
    }

    /// Whether a new home of a record has this object already, since it has come back with it.
    fn has(&self, record: usize, home: DeviceId, object: usize) -> bool {
        let has = |copy: &returning::Back| {
            copy.device == home && !self.returning.is_written(copy, object, self.rules.seed)
        };
        self.kept(record).any(has)
    }

    /// Counts objects as done that all new homes of their record have already. If these are all, the record
    /// is complete on its new homes.
    fn keep(&mut self, record: usize) {
        if self.kept(record).next().is_none() {
            return;
        }
        let first = self.affected.first_object(record);
        let places = self.places(record);
        for object in first..first + self.affected.sizes(record).len() {
            let mut homes = self.aims[places.clone()].iter().filter(|aim| **aim != NOWHERE);
            if homes.all(|home| self.has(record, *home, object)) {
                self.done[object] = true;
            }
        }
        let row = self.row(record);
        self.adopt(record);
        self.taken_back[row] |= self.aims[places].iter().all(|aim| *aim == NOWHERE);
    }

    /// The plan for what is missing now, after so many later changes of the map.
    ///
    /// # Panics
    /// If the state of a record contradicts itself.
    pub fn plan(&mut self, standing: &mut Standing, changes: usize) -> Planned {
        let out = standing.out.clone();
        let affected = self.affected;
        let mut homes = affected.homes.as_ref().map(|homes| homes.with_out(changes, &out));
        let mut drafted = self.draft_with_room(standing, homes.as_deref_mut());
        drafted.orders.iter_mut().for_each(|turns| turns.sort_unstable());
        let Drafted { orders, stuck, below_min_size } = drafted;
        let records = self.affected.records() as u64;
        assert!(below_min_size <= records, "{below_min_size} of {records} records are below min_size");
        assert!(stuck.objects() <= self.lacking(), "more objects are stuck than lack a copy");
        let (plan, jobs) = self.write_plan(&orders);
        let turns: usize = orders.iter().map(Vec::len).sum();
        assert!(plan.tasks().len() <= turns, "more tasks are planned than records");
        Planned { plan, jobs, stuck, below_min_size }
    }

    /// The records with bytes that lack a part or more.
    pub(crate) fn short(&self, standing: &Standing) -> Vec<Short> {
        let of = |record: usize| {
            let answers = |holder: &&DeviceId| **holder != NOWHERE && !standing.stopped[holder.index()];
            let holders = &self.holders[self.places(record)];
            let (live, bytes) = (holders.iter().filter(answers).count(), self.affected.bytes_of(record));
            (live < holders.len() && bytes > 0).then(|| Short {
                record,
                devices: holders.iter().filter(answers).copied().collect(),
                redundancy: self.affected.kind(record).redundancy,
                bytes,
            })
        };
        (0..self.affected.records()).filter_map(of).collect()
    }

    /// How many places of a record are on devices that have stopped, which nobody knows yet.
    fn silent(&self, record: usize, standing: &Standing) -> u32 {
        let has_stopped = |holder: &&DeviceId| **holder != NOWHERE && standing.stopped[holder.index()];
        self.holders[self.places(record)].iter().filter(has_stopped).count() as u32
    }

    /// How many shards of a lost record are left, and belong elsewhere.
    fn staying(&self, record: usize, standing: &Standing, homes: Option<&mut (dyn Wanted + '_)>) -> u64 {
        if !self.affected.follows || !self.affected.kind(record).by_place {
            return 0;
        }
        let places = self.places(record);
        let mut wanted = vec![NOWHERE; places.len()];
        self.wanted(record, standing, homes, &mut wanted);
        let placed = Placed { holders: &self.holders[places], wanted: &wanted, down: &standing.down };
        placed.staying(&vec![NOWHERE; wanted.len()]) as u64
    }

    fn is_readable(&self, record: usize) -> bool {
        let holders = &self.holders[self.places(record)];
        holders.iter().filter(|holder| **holder != NOWHERE).count() >= self.data(record)
    }

    /// How many lost places of a record are on devices that came back and that the log brings up to date:
    /// they take writes meanwhile.
    fn logged(&self, record: usize) -> u32 {
        let objects = self.affected.sizes(record).len();
        let places = self.places(record);
        let takes = |copy: &&returning::Back| {
            self.holders[places.start + copy.place as usize] == NOWHERE
                && !self.returning.needs_backfill(copy, objects)
        };
        self.kept(record).filter(takes).count() as u32
    }

    /// Finds homes for the lost places of a record. If they differ from its earlier homes, its rebuild starts
    /// again.
    fn aim(&mut self, record: usize, standing: &Standing, homes: Option<&mut (dyn Wanted + '_)>) -> Aimed {
        let places = self.places(record);
        let [mut wanted, mut aims] = std::mem::take(&mut self.spare);
        for list in [&mut wanted, &mut aims] {
            list.clear();
            list.resize(places.len(), NOWHERE);
        }
        self.wanted(record, standing, homes, &mut wanted);
        let holders = &self.holders[places.clone()];
        let by_place = self.affected.kind(record).by_place;
        let mut next = wanted.iter().copied().filter(|home| *home != NOWHERE && !holders.contains(home));
        let (mut found, mut waits) = (0, false);
        for (place, holder) in holders.iter().enumerate() {
            if *holder != NOWHERE {
                continue;
            }
            let home = if by_place { Some(wanted[place]) } else { next.next() };
            // A map may name a device twice, which holds one copy all the same.
            let is_free =
                |home: &DeviceId| *home != NOWHERE && !holders.contains(home) && !aims.contains(home);
            match home.filter(is_free) {
                Some(home) if standing.down[home.index()] => waits = true,
                Some(home) => {
                    assert!(!out_of(standing, home), "a record finds a home that is given up");
                    aims[place] = home;
                    found += 1;
                }
                None => {}
            }
        }
        let up = |home: &DeviceId| *home != NOWHERE && !standing.down[home.index()];
        let first = wanted.iter().copied().find(up).unwrap_or(NOWHERE);
        let (mut moved, mut staying) = (0, 0);
        if self.affected.follows {
            let placed = Placed { holders, wanted: &wanted, down: &standing.down };
            if by_place {
                placed.aim_shards(&mut aims);
                staying = placed.staying(&aims);
                let filled = |lost: bool| {
                    let is = |(holder, aim): &(&DeviceId, &DeviceId)| {
                        (**holder == NOWHERE) == lost && **aim != NOWHERE
                    };
                    holders.iter().zip(&aims).filter(is).count()
                };
                (found, moved) = (filled(true), filled(false));
            } else {
                moved = placed.aim_copies(&mut aims);
            }
        }
        debug_assert!(once(&aims), "a record is to have two copies on one device: {aims:?}");
        debug_assert!(
            aims.iter().filter(|aim| **aim != NOWHERE).count() == found + moved,
            "a record has {found} new homes, and its places {aims:?}"
        );
        if self.aims[places.clone()] != aims[..] {
            self.aims[places].copy_from_slice(&aims);
            let first = self.affected.first_object(record);
            let objects = first..first + self.affected.sizes(record).len();
            let whole = self.aims_first(record);
            let (there, rest) = self.done[objects.clone()].split_at_mut(whole);
            there.fill(true);
            rest.fill(false);
            if !self.begun.is_empty() {
                self.begun.retain(|object, _| !objects.contains(object));
            }
        }
        self.spare = [wanted, aims];
        Aimed { found, moved, staying, waits, first }
    }

    /// Where a record belongs now.
    fn wanted(
        &self,
        record: usize,
        standing: &Standing,
        homes: Option<&mut (dyn Wanted + '_)>,
        wanted: &mut [DeviceId],
    ) {
        if let Some(homes) = homes {
            homes.find(self.affected.name(record), wanted);
            return;
        }
        wanted.fill(NOWHERE);
        let live = |device: &DeviceId| *device != NOWHERE && !standing.out[device.index()];
        let list = self.affected.list(record).iter().copied().filter(live);
        for (place, device) in wanted.iter_mut().zip(list) {
            *place = device;
        }
    }

    /// Number of devices that a record is read from.
    fn data(&self, record: usize) -> usize {
        self.affected.kind(record).redundancy.data as usize
    }

    /// The plan for the turns of each driver.
    fn write_plan(&self, orders: &[Vec<Turn>]) -> (Plan, Vec<(u32, u32)>) {
        let mut plan = Plan::new()
            .of_groups(self.affected.grouped)
            .split_by_priority(self.affected.follows)
            .count_completed(self.rules.count_completed);
        let mut jobs = Vec::new();
        // Large tables are not copied while they grow.
        let turns: usize = orders.iter().map(Vec::len).sum();
        let open = |turn: &Turn| self.affected.sizes(turn.record as usize).len();
        let most = if self.affected.grouped { orders.iter().flatten().map(open).sum() } else { turns };
        jobs.reserve_exact(most);
        let devices = if turns == 0 { 0 } else { turns * (self.data(0) + 1) };
        plan.reserve(most, devices);
        let mut ahead = orders.iter().flatten().skip(FETCH_AHEAD);
        let (mut sources, mut targets) = (Vec::new(), Vec::new());
        for (driver, turns) in (0u32..).map(DeviceId).zip(orders) {
            plan.next_driver();
            let (mut priority, mut begun, mut turn) = (None, false, 0);
            for next in turns {
                assert_eq!(next.driver, driver, "a record in the plan has another driver");
                let (at, urgency) = (next.record as usize, next.priority);
                ahead.next().inspect(|later| self.fetch(later.record as usize));
                self.sources(at, next.source, &mut sources);
                targets.clear();
                targets.extend(self.aims[self.places(at)].iter().copied().filter(|aim| *aim != NOWHERE));
                if self.affected.grouped {
                    begun |= self.begin_group(&mut plan, next, (&targets, begun), &mut turn);
                } else if priority != Some(urgency) {
                    assert!(
                        priority < Some(urgency) || self.rules.order != Order::FewestCopies,
                        "tasks with {urgency} to spare come after less urgent ones"
                    );
                    priority = Some(urgency);
                    let below = self.is_below(at, self.affected.kind(at));
                    plan.next_task(driver.0, (u32::from(urgency), below), &[]);
                    self.rules.order.place(&mut plan, &mut turn, false);
                }
                self.add_jobs(&mut plan, next, (&sources, &targets), &mut jobs);
            }
        }
        assert_eq!(plan.jobs().len(), jobs.len(), "each job has its object");
        (plan, jobs)
    }

    /// Adds the jobs of a record to the current task.
    fn add_jobs(
        &self,
        plan: &mut Plan,
        &Turn { driver, source, record, .. }: &Turn,
        (sources, targets): (&[DeviceId], &[DeviceId]),
        jobs: &mut Vec<(u32, u32)>,
    ) {
        let at = record as usize;
        let kept = self.kept(at).next().is_some();
        let first = self.affected.first_object(at);
        for (object, &bytes) in (first..).zip(self.affected.sizes(at)) {
            if self.done[object] || bytes == 0 {
                continue;
            }
            let resume = self.begun.get(&object).copied().unwrap_or(0);
            if kept {
                let lacks = |home: &DeviceId| !self.has(at, *home, object);
                let lacking: Vec<DeviceId> = targets.iter().copied().filter(lacks).collect();
                let bytes = self.copied(at, &lacking, bytes);
                // A driver that pulls has the objects that only others lack.
                let own = [driver];
                let pushes = source != driver && !lacking.contains(&driver);
                plan.next_job(bytes, resume, if pushes { &own[..] } else { sources }, &lacking);
            } else {
                plan.next_job(bytes, resume, sources, targets);
            }
            jobs.push((record, object as u32));
        }
    }

    /// Objects of a record that are not yet on all its new homes.
    fn open(&self, record: usize) -> usize {
        let first = self.affected.first_object(record);
        let objects = first..first + self.affected.sizes(record).len();
        objects.filter(|object| !self.done[*object]).count()
    }

    /// Whether a record accepts no writes until its planned rebuild is done, because too few of its copies or
    /// shards are left. A task that fills no lost place changes nothing about that.
    fn is_below(&self, record: usize, kind: Kind) -> bool {
        let places = self.places(record);
        let (holders, aims) = (&self.holders[places.clone()], &self.aims[places]);
        let live = holders.iter().filter(|holder| **holder != NOWHERE).count() as u32;
        let fills = holders.iter().zip(aims).any(|(holder, aim)| *holder == NOWHERE && *aim != NOWHERE);
        live + self.logged(record) < kind.min_size && fills
    }

    /// Objects with bytes whose record lacks a copy or shard.
    #[must_use]
    pub fn lacking(&self) -> u64 {
        let lacks = |record: &usize| {
            let holders = &self.holders[self.places(*record)];
            holders.contains(&NOWHERE) && self.affected.sizes(*record).iter().any(|&bytes| bytes > 0)
        };
        (0..self.affected.records()).filter(lacks).map(|record| self.affected.objects_of(record)).sum()
    }

    /// Applies the results of a phase: finished jobs, and durable units of unfinished ones. Complete records
    /// get their new holders.
    ///
    /// # Panics
    /// If a job has more durable units than it has units, or an object is completed twice.
    pub fn settle(&mut self, planned: &Planned, whole: impl Fn(u32) -> Progress) {
        self.begun.clear();
        assert_eq!(planned.plan.jobs().len(), planned.jobs.len(), "each job has its object");
        let lacking = self.lacking();
        let mut touched = vec![false; self.affected.records()];
        for (job, &(record, object)) in (0u32..).zip(&planned.jobs) {
            touched[record as usize] = true;
            let Job { bytes, resume, .. } = *planned.plan.job(job);
            match whole(job) {
                Progress::Whole => {
                    let before = std::mem::replace(&mut self.done[object as usize], true);
                    assert!(!before, "object {object} is made whole twice");
                }
                Progress::Units(units) if units > 0 => {
                    assert!(
                        units < self.hardware.units(bytes),
                        "all units of a job are durable, but it is not done"
                    );
                    assert!(units >= resume, "units of a job were durable, and are not any more");
                    self.begun.insert(object as usize, units);
                }
                Progress::Units(_) => {}
            }
        }
        // In the order of the records and not of the jobs, in which the tables would be read here and there.
        for (record, _) in touched.iter().enumerate().filter(|(_, touched)| **touched) {
            self.adopt(record);
        }
        let left = self.lacking();
        assert!(left <= lacking, "{left} objects lack a copy after a phase, and {lacking} did before");
        assert!(self.begun.len() <= planned.jobs.len(), "more objects are in work than were planned");
    }

    /// Prefetches what a plan reads of a record. The records of one driver lie far apart in the tables.
    #[inline]
    fn fetch(&self, record: usize) {
        let place = record * self.affected.width;
        if self.affected.grouped || !self.has_one_source(record) {
            prefetch(&self.holders[place]);
        }
        prefetch(&self.aims[place]);
        let first = self.affected.first_object(record);
        if let (Some(done), Some(size)) = (self.done.get(first), self.affected.sizes.get(first)) {
            prefetch(done);
            prefetch(size);
        }
    }

    fn adopt(&mut self, record: usize) {
        let first = self.affected.first_object(record);
        let sizes = self.affected.sizes(record);
        let whole = (first..).zip(sizes).all(|(object, &bytes)| self.done[object] || bytes == 0);
        if whole {
            let bytes = self.affected.bytes_of(record);
            let places = self.places(record);
            let before =
                if self.affected.follows { self.holders[places.clone()].to_vec() } else { Vec::new() };
            for place in places.clone() {
                let home = self.aims[place];
                if self.holders[place] == NOWHERE || home != NOWHERE {
                    let old = self.kept(record).any(|copy| copy.device == home) || self.held(record, home);
                    let left = std::mem::replace(&mut self.holders[place], home);
                    let new = bytes - self.had(record, home);
                    if let Some(gained) = self.gained.get_mut(home.index()).filter(|_| !old) {
                        *gained += new;
                    }
                    // A device that had gained it, and gives it up again.
                    if left != NOWHERE && !self.held(record, left) {
                        self.gained[left.index()] = self.gained[left.index()].saturating_sub(bytes);
                    }
                    self.returning.forget(record, home);
                }
                self.aims[place] = NOWHERE;
            }
            self.count_left(record, &before);
            debug_assert!(
                once(&self.holders[places.clone()]) || !once(&self.affected.list(record)[..places.len()]),
                "record {record} has two copies on one device"
            );
            self.done[first..first + sizes.len()].fill(false);
        }
    }
}

/// Whether no device is named twice.
fn once(devices: &[DeviceId]) -> bool {
    let before = |(at, device): (usize, &DeviceId)| *device == NOWHERE || !devices[..at].contains(device);
    devices.iter().enumerate().all(before)
}

fn out_of(standing: &Standing, device: DeviceId) -> bool {
    standing.out.get(device.index()).is_none_or(|out| *out)
}

/// The progress of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// All units are durable.
    Whole,
    /// This many units from the beginning are durable.
    Units(u32),
}

/// How many places of a record have a new home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Aimed {
    /// Lost places.
    found: usize,
    /// Places that are left, and move.
    moved: usize,
    /// Shards that are left and stay, although another device that is up should hold them.
    staying: usize,
    /// The holder of a place without a home is down and not out yet.
    waits: bool,
    /// The first of the devices where the record belongs that is up: it leads where records are groups of
    /// Ceph.
    first: DeviceId,
}

impl Aimed {
    fn any(self) -> bool {
        self.found + self.moved > 0
    }
}

#[cfg(test)]
mod tests;
