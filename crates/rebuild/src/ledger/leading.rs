//! Which device drives the recovery of a record, and from where it reads.
//!
//! Copies are pushed by the device that is read. A device that came back with its log leads the groups of
//! copies whose first device it is, although it lacks objects: it pulls them from the device that would have
//! pushed them. In Ceph it draws one of those that have an object.

use towtank_streams::{Draws, Purpose, Uniform};

use super::order::Turn;
use super::{Aimed, Gather, Ledger, Source, following, once, order, returning};
use crate::plan::{DeviceId, NOWHERE, Plan};

const SOURCE: Purpose = Purpose(43);

impl Ledger<'_> {
    /// The driver of a record, and the device that it reads first. `first` is the first device where the
    /// record belongs.
    fn leader(&self, record: usize, first: DeviceId, read_load: &mut [u64]) -> (DeviceId, DeviceId) {
        let source = self.driver(record, first, read_load);
        (if self.leads(record, first) { first } else { source }, source)
    }

    /// Whether a device leads a record of which it lacks objects, because its log says which.
    fn leads(&self, record: usize, first: DeviceId) -> bool {
        let objects = self.affected.sizes(record).len();
        let leads = |copy: &returning::Back| copy.device == first && self.returning.leads(copy, objects);
        self.is_copied_group(record) && self.kept(record).any(leads)
    }

    /// Whether a record is a group of copies, whose order says which device leads it.
    fn is_copied_group(&self, record: usize) -> bool {
        let kind = self.affected.kind(record);
        self.affected.grouped && kind.redundancy.data == 1 && !kind.by_place
    }

    /// The device that leads a record as its primary: the first one that has a part; as in Ceph, of a group
    /// of copies the first one where it belongs now, if that has a copy, else the one with the lowest
    /// number (`calc_replicated_acting`, and `find_best_info`, which goes through them by their numbers).
    /// Of 214 groups in eight events of a real Ceph 16.2.15, all but one were led so.
    fn primary(&self, record: usize, first: DeviceId) -> Option<DeviceId> {
        let mut holders =
            self.holders[self.places(record)].iter().copied().filter(|holder| *holder != NOWHERE);
        match self.rules.led_by_map && self.is_copied_group(record) {
            true if holders.clone().any(|holder| holder == first) => Some(first),
            true => holders.min(),
            false => holders.next(),
        }
    }

    /// The device from which copies of a record are made, or that gathers its shards: the primary or a
    /// target.
    fn driver(&self, record: usize, first: DeviceId, read_load: &mut [u64]) -> DeviceId {
        let places = self.places(record);
        let holders = self.holders[places.clone()].iter().copied().filter(|holder| *holder != NOWHERE);
        if self.data(record) > 1 && self.rules.gather == Gather::Target {
            let mut aims = self.aims[places].iter().copied().filter(|aim| *aim != NOWHERE);
            return aims.next().unwrap_or(NOWHERE);
        }
        let bytes = self.affected.bytes_of(record);
        let chosen = match self.rules.source {
            Source::Primary => self.primary(record, first),
            Source::Random => {
                let mut draws = Draws::new(self.rules.seed, u32::MAX - 2, self.affected.numbers[record]);
                let at = draws.of(SOURCE).below(holders.clone().count().max(1) as u64);
                holders.clone().nth(at as usize)
            }
            Source::LeastLoaded => holders.clone().min_by_key(|holder| read_load[holder.index()]),
        };
        let chosen = chosen.unwrap_or(NOWHERE);
        if let Some(load) = read_load.get_mut(chosen.index()) {
            *load += bytes;
        }
        chosen
    }

    /// Begins the task of a group. Returns whether its objects are compared first, which takes longer for the
    /// first such group of a driver; `begun` says whether there was one.
    pub(super) fn begin_group(
        &self,
        plan: &mut Plan,
        &Turn { driver, priority, record, .. }: &Turn,
        (targets, begun): (&[DeviceId], bool),
        turn: &mut u32,
    ) -> bool {
        let at = record as usize;
        let below = self.is_below(at, self.affected.kind(at));
        let objects = self.affected.sizes(at).len();
        let logged = |copy: &returning::Back| !self.returning.needs_backfill(copy, objects);
        let by_log = |target: &DeviceId| self.kept(at).any(|copy| copy.device == *target && logged(copy));
        let by_log = targets.iter().all(by_log);
        let mut reserves = Vec::new();
        if self.rules.reserve {
            self.reserves(at, (driver, by_log), targets, &mut reserves);
        }
        plan.next_task(self.affected.numbers[at] as u32, (u32::from(priority), below), &reserves);
        self.rules.order.place(plan, turn, self.rules.reserve);
        if by_log {
            plan.recover_by_log();
        }
        // What the log covers is known without a look at the objects. A backfill that was interrupted goes on
        // behind the objects that it has copied.
        let kept = self.kept(at).next().is_some();
        let compares = !kept || !self.kept(at).all(logged);
        if compares {
            let looked_at = if kept { objects } else { self.open(at) };
            plan.compare_first(self.rules.backfill.of(looked_at, !begun));
        }
        compares
    }

    /// The devices that a group reserves: for a backfill its targets; for recovery by log all of its devices
    /// but the driver, as in Ceph (`remote_shards_to_reserve_recovery`).
    fn reserves(
        &self,
        record: usize,
        (driver, by_log): (DeviceId, bool),
        targets: &[DeviceId],
        reserves: &mut Vec<DeviceId>,
    ) {
        reserves.extend(targets);
        if by_log {
            reserves.extend(self.holders[self.places(record)].iter().filter(|holder| **holder != NOWHERE));
            reserves.retain(|device| *device != driver);
        }
    }

    /// The turn of a record with so many parts to spare and so many missing.
    pub(super) fn turn(
        &self,
        record: usize,
        aimed: &Aimed,
        (spare, missing): (u32, usize),
        read_load: &mut [u64],
    ) -> Turn {
        let (driver, source) = self.leader(record, aimed.first, read_load);
        assert_ne!(driver, NOWHERE, "nobody drives a record that can be rebuilt");
        let follows = self.affected.follows;
        let priority = if follows { following::priority(spare, missing) } else { spare as u8 };
        let rank = self.rules.order.rank(priority, self.affected.numbers[record], self.rules.seed);
        // A group that is being copied has its reservations already.
        let begun = self.affected.copied.contains_key(&(record as u32));
        let tie = if begun { 0 } else { order::tie(self.rules.ties, self.affected.numbers[record]) };
        Turn { driver, rank, tie, priority, record: record as u32, source }
    }

    /// Whether a record is read from one device, which is known without a look at its places.
    #[inline]
    pub(super) fn has_one_source(&self, record: usize) -> bool {
        self.data(record) == 1 && !self.affected.follows && !self.rules.reads_all
    }

    /// The devices that a record is read from: the driver first, if it holds a part.
    pub(super) fn sources(&self, record: usize, driver: DeviceId, sources: &mut Vec<DeviceId>) {
        if self.has_one_source(record) {
            debug_assert!(
                self.holders[self.places(record)].contains(&driver),
                "a record is read where it is not"
            );
            sources.clear();
            sources.push(driver);
            return;
        }
        let places = self.places(record);
        let (all, aims) = (&self.holders[places.clone()], &self.aims[places]);
        if self.affected.follows && self.data(record) > 1 && following::sources(all, aims, sources) {
            return;
        }
        sources.clear();
        let holders = all.iter().copied().filter(|holder| *holder != NOWHERE);
        // Devices that take another shard meanwhile come last.
        let last = |holder: &DeviceId| self.affected.follows && aims.contains(holder);
        sources.extend(holders.clone().filter(|holder| *holder == driver && !last(holder)));
        sources.extend(holders.clone().filter(|holder| *holder != driver && !last(holder)));
        sources.extend(holders.filter(last));
        if !self.rules.reads_all {
            sources.truncate(self.data(record));
        }
        let need = self.data(record);
        let fits = sources.len() == need || (self.rules.reads_all && sources.len() > need);
        assert!(fits, "a record is read from {} devices, and its data need {need}", sources.len());
        debug_assert!(
            once(sources) || !once(&self.affected.list(record)[..all.len()]),
            "a record is read twice from one device: {sources:?}"
        );
    }
}
