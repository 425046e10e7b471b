//! Which copies and shards to move, so that the fullest devices become less full: a list of moves, in the
//! form of `ceph osd pg-upmap-items`.
//!
//! The fullest device gives first. It gives one shard to the emptiest device that may take it; of its shards
//! the one that brings both nearest to each other. Devices that have nothing to give are passed over. A move
//! is made only if
//! - the rule allows it: the new device stands in no failure domain that the group uses already, and under
//!   the same bucket of every level above; it has the class of the old one;
//! - the monitors would keep the explicit mapping ([`crate::upmaps`]): they count the outermost bucket of a
//!   type as the failure domain, so under some rules over buckets inside buckets of one type they keep none;
//! - the new device stays less full than the old one was, and below `backfillfull_ratio` even before
//!   anything leaves it;
//! - the room that is left in the cluster does not shrink, and that of its own pool alone does not either.
//!   The room of another pool alone may: it has groups on the new device, which becomes fuller.
//!
//! Moves at the end after which the fullest device is no less full, and no room is greater, are left out.
//!
//! A shard moves at most once in a plan. Groups that are moving already, that are broken, or that have a
//! whole explicit mapping (`pg_upmap`) stay.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use towtank_placement::crush::ItemId;
use towtank_placement::crush::pools::PgId;

use super::causes::together;
use super::room::{Mix, until_full};
use super::shape::Spot;
use super::spread::{Load, Placed, Spread};
use crate::cluster::Cluster;
use crate::upmaps::{self, Domains};

/// What may be planned.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Moves in all.
    pub moves: usize,
    /// The devices that may take data; none for all.
    pub destinations: Option<BTreeSet<ItemId>>,
}

/// One copy or shard that moves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// Its pool.
    pub pool: i64,
    /// The number of its group.
    pub seed: u32,
    /// The device that gives it.
    pub from: ItemId,
    /// The device that takes it.
    pub to: ItemId,
    /// Its bytes.
    pub bytes: u64,
    /// The explicit mapping of the group after the move; empty if none is left.
    pub items: Vec<(ItemId, ItemId)>,
}

impl Move {
    /// The group.
    #[must_use]
    pub fn group(&self) -> PgId {
        PgId { pool: self.pool, seed: self.seed }
    }
}

/// The command that gives a group this explicit mapping.
#[must_use]
pub fn command(group: PgId, items: &[(ItemId, ItemId)]) -> String {
    if items.is_empty() {
        return format!("ceph osd rm-pg-upmap-items {group}");
    }
    let pairs: Vec<String> = items.iter().map(|(from, to)| format!("{from} {to}")).collect();
    format!("ceph osd pg-upmap-items {group} {}", pairs.join(" "))
}

/// Fills that differ by less than this part of the mean count as equal.
const TOLERANCE: f64 = 0.002;

/// A room that grows by less than this part is not won.
const WIN: f64 = 1e-9;

/// Where none of the moves that are allowed wins anything, so many times as many are planned, to see whether
/// they are the first of more.
const LOOK_AHEAD: usize = 10;

/// The rooms that no move may make smaller: of all pools in proportion, and of each alone.
struct Floors {
    all: f64,
    alone: Vec<f64>,
}

/// What is known of a device while moves are planned.
struct Bin<'a> {
    load: &'a Load,
    bytes: f64,
    growth: f64,
    /// What it grows by with each pool alone.
    growths: Vec<f64>,
    /// Bytes that it would hold if nothing had left it yet.
    arrived: f64,
    /// Groups on it that did not move yet.
    groups: BTreeSet<usize>,
    /// The fill of all devices that share pools with it, if it were the same on all.
    even: f64,
}

impl Bin<'_> {
    fn fill(&self) -> f64 {
        self.load.fill_with(self.bytes).unwrap_or(0.0)
    }

    fn room(&self, full: f64) -> f64 {
        self.room_with(self.growth, full)
    }

    /// The bytes that fit until it is full, if it grows by this with each.
    fn room_with(&self, growth: f64, full: f64) -> f64 {
        if growth > 1e-15 { until_full(self.load, self.bytes, growth, full) } else { f64::INFINITY }
    }
}

struct Planner<'a> {
    spread: &'a Spread,
    limits: &'a Limits,
    mix: Mix,
    cluster: &'a Cluster,
    /// The failure domains as the monitors see them.
    domains: RefCell<Domains<'a>>,
    spots: Vec<BTreeMap<ItemId, Vec<Option<Spot>>>>,
    bins: BTreeMap<ItemId, Bin<'a>>,
    /// Where groups are with the moves so far, on devices that are up or not, and their explicit mappings.
    placed: Vec<Vec<ItemId>>,
    items: BTreeMap<usize, Vec<(ItemId, ItemId)>>,
    moves: Vec<Move>,
    /// The best so far of each room and of the fill of the fullest device, and the moves that it took.
    wins: Vec<f64>,
    needed: usize,
}

/// The groups of each pool of which the monitors would keep no explicit mapping: CRUSH itself puts copies
/// where [`upmaps`] finds them in one failure domain.
#[must_use]
pub fn unmappable(spread: &Spread, cluster: &Cluster) -> Vec<u64> {
    let mut domains = Domains::of(&cluster.map);
    let mut counts = vec![0; spread.pools.len()];
    for group in &spread.groups {
        counts[group.pool] += u64::from(!mappable(group, cluster, &mut domains));
    }
    counts
}

fn mappable(group: &Placed, cluster: &Cluster, domains: &mut Domains<'_>) -> bool {
    domains.allow(&cluster.pools[group.pool].placed, &group.raw)
}

/// Plans moves of a cluster, from the explicit mappings that it has.
#[must_use]
pub fn plan(spread: &Spread, cluster: &Cluster, limits: &Limits) -> Vec<Move> {
    let Some(mix) = spread.in_proportion() else { return Vec::new() };
    let mut planner = Planner::of(spread, cluster, limits, mix);
    planner.all_passes(limits.moves);
    if planner.needed == 0 {
        // Whether these are the first of more moves, or nothing is won at all.
        planner.all_passes(limits.moves.saturating_mul(LOOK_AHEAD));
    }
    planner.moves.truncate(planner.needed.min(limits.moves));
    planner.moves
}

fn bins<'a>(
    spread: &'a Spread,
    mix: &Mix,
    mut mappable: impl FnMut(&Placed) -> bool,
) -> BTreeMap<ItemId, Bin<'a>> {
    let mut growths: BTreeMap<ItemId, Vec<f64>> = BTreeMap::new();
    for group in &spread.groups {
        for id in group.held() {
            growths.entry(id).or_insert_with(|| vec![0.0; mix.len()])[group.pool] += group.growth;
        }
    }
    let mut groups: BTreeMap<ItemId, BTreeSet<usize>> = BTreeMap::new();
    let may_move = spread.groups.iter().enumerate().filter(|(_, group)| group.settled && mappable(group));
    for (at, group) in may_move {
        group.held().for_each(|id| {
            groups.entry(id).or_default().insert(at);
        });
    }
    let mut evens: BTreeMap<ItemId, f64> = BTreeMap::new();
    for &id in spread.devices.keys() {
        if evens.contains_key(&id) {
            continue;
        }
        let around = together(spread, id);
        let takes =
            || around.iter().filter_map(|id| spread.devices.get(id)).filter(|load| load.effective > 0.0);
        let capacity: f64 = takes().map(|load| load.capacity).sum();
        let used: f64 = takes().map(|load| load.bytes as f64 + load.overhead).sum();
        let even = if capacity > 0.0 { used / capacity } else { f64::INFINITY };
        evens.extend(around.into_iter().map(|id| (id, even)));
    }
    let bin = |(id, load): (&ItemId, &'a Load)| {
        let bytes = load.bytes as f64;
        let growths = growths.remove(id).unwrap_or_else(|| vec![0.0; mix.len()]);
        let bin = Bin {
            load,
            bytes,
            growth: growths.iter().zip(mix).map(|(growth, part)| growth * part).sum(),
            growths,
            arrived: bytes,
            groups: groups.remove(id).unwrap_or_default(),
            even: evens.get(id).copied().unwrap_or(f64::INFINITY),
        };
        (*id, bin)
    };
    spread.devices.iter().filter(|(_, load)| load.capacity > 0.0).map(bin).collect()
}

impl<'a> Planner<'a> {
    /// A planner that has moved nothing yet.
    fn of(spread: &'a Spread, cluster: &'a Cluster, limits: &'a Limits, mix: Mix) -> Planner<'a> {
        let mut domains = Domains::of(&cluster.map);
        let mut planner = Planner {
            spread,
            limits,
            cluster,
            spots: spread.pools.iter().map(|pool| pool.shape.spots()).collect(),
            bins: bins(spread, &mix, |group| {
                let pool = &cluster.pools[group.pool].placed;
                mappable(group, cluster, &mut domains) && domains.are_apart(pool, &group.mapped)
            }),
            domains: RefCell::new(Domains::of(&cluster.map)),
            mix,
            placed: spread.groups.iter().map(|group| group.mapped.clone()).collect(),
            items: BTreeMap::new(),
            moves: Vec::new(),
            wins: Vec::new(),
            needed: 0,
        };
        planner.wins = planner.rooms();
        planner
    }
}

impl Planner<'_> {
    /// What moves can win: the room of each pool alone, that of all in proportion, and one divided by the
    /// fill of the fullest device.
    fn rooms(&self) -> Vec<f64> {
        let full = self.spread.limits.full;
        let least =
            |room: &dyn Fn(&Bin<'_>) -> f64| self.bins.values().map(room).fold(f64::INFINITY, f64::min);
        let alone = (0..self.mix.len()).map(|pool| least(&|bin| bin.room_with(bin.growths[pool], full)));
        // What does not fit now is not won by less being above the limit.
        let mut rooms: Vec<f64> =
            alone.chain([least(&|bin| bin.room(full))]).map(|room| room.max(0.0)).collect();
        rooms.push(least(&|bin| 1.0 / bin.fill()));
        rooms
    }

    /// Notes whether the moves so far have won something.
    fn note_wins(&mut self) {
        let rooms = self.rooms();
        for (best, room) in self.wins.iter_mut().zip(rooms) {
            if room > *best * (1.0 + WIN) {
                self.needed = self.moves.len();
                *best = room;
            }
        }
    }

    /// Makes passes until there is nothing to move, or there are so many moves.
    fn all_passes(&mut self, most: usize) {
        loop {
            let before = self.moves.len();
            self.pass(most);
            if self.moves.len() == before || self.moves.len() >= most {
                return;
            }
        }
    }

    /// From the fullest device to the emptiest, as long as each has something to give.
    fn pass(&mut self, most: usize) {
        let mut stuck: BTreeSet<ItemId> = BTreeSet::new();
        while self.moves.len() < most {
            let gives = self.bins.iter().filter(|(id, bin)| {
                !stuck.contains(*id) && bin.fill() > bin.even * (1.0 + TOLERANCE) && !bin.groups.is_empty()
            });
            let fullest = gives.map(|(id, bin)| (bin.fill(), *id));
            let Some((_, from)) = fullest.reduce(|best, next| if next.0 > best.0 { next } else { best })
            else {
                return;
            };
            if !self.give(from) {
                stuck.insert(from);
            }
        }
    }

    /// Moves one shard away from a device, if one may move.
    fn give(&mut self, from: ItemId) -> bool {
        let giver = &self.bins[&from];
        let fill = giver.fill();
        let mut takers: Vec<(f64, ItemId)> = self
            .bins
            .iter()
            .filter(|(id, bin)| {
                let wanted = self.limits.destinations.as_ref().is_none_or(|wanted| wanted.contains(*id));
                wanted && bin.load.effective > 0.0 && bin.load.class == giver.load.class && bin.fill() < fill
            })
            .map(|(id, bin)| (bin.fill(), *id))
            .collect();
        takers.sort_by(|left, right| left.0.total_cmp(&right.0).then(left.1.cmp(&right.1)));
        let floor =
            self.bins.values().map(|bin| bin.room(self.spread.limits.full)).fold(f64::INFINITY, f64::min);
        let full = self.spread.limits.full;
        let alone = |pool: usize| self.bins.values().map(move |bin| bin.room_with(bin.growths[pool], full));
        let floors = Floors {
            all: floor,
            alone: (0..self.mix.len()).map(|pool| alone(pool).fold(f64::INFINITY, f64::min)).collect(),
        };
        for (_, to) in takers {
            if let Some((group, items)) = self.best(from, to, &floors) {
                self.take(group, from, to, items);
                self.note_wins();
                return true;
            }
        }
        false
    }

    /// The shard that brings both devices nearest to each other, and the explicit mapping that moves it.
    fn best(&self, from: ItemId, to: ItemId, floors: &Floors) -> Option<(usize, Vec<(ItemId, ItemId)>)> {
        let (giver, taker) = (&self.bins[&from], &self.bins[&to]);
        let (high, low) = (giver.fill(), taker.fill());
        let (give, take) = (giver.load.capacity, taker.load.capacity);
        let wanted = (high - low) * give * take / (give + take);
        let limits = self.spread.limits;
        let fits = |at: &usize| {
            let group = &self.spread.groups[*at];
            let bytes = group.shard as f64;
            let growth = group.growth * self.mix[group.pool];
            let then = |growth| until_full(taker.load, taker.bytes + bytes, growth, limits.full);
            let alone = taker.growths[group.pool] + group.growth;
            let filled = taker.load.fill_with(taker.arrived + bytes).unwrap_or(f64::INFINITY);
            bytes > 0.0
                && low + bytes / take <= high - TOLERANCE * giver.even
                && filled <= limits.backfillfull
                && (growth <= 0.0 || then(taker.growth + growth) >= floors.all)
                && then(alone) >= floors.alone[group.pool]
        };
        let mut groups: Vec<(f64, usize)> = giver
            .groups
            .iter()
            .filter(|at| fits(at))
            .map(|&at| ((self.spread.groups[at].shard as f64 - wanted).abs(), at))
            .collect();
        groups.sort_by(|left, right| left.0.total_cmp(&right.0).then(left.1.cmp(&right.1)));
        groups
            .into_iter()
            .filter(|(_, at)| self.allowed(*at, from, to))
            .find_map(|(_, at)| Some((at, self.mapping(at, from, to)?)))
    }

    /// Whether the rule of a group allows one device in place of another.
    fn allowed(&self, at: usize, from: ItemId, to: ItemId) -> bool {
        let group = &self.spread.groups[at];
        // What left a device does not come back: one move would do for two.
        if group.mapped.contains(&to) {
            return false;
        }
        let spots = &self.spots[group.pool];
        let (Some(old), Some(new)) = (spots.get(&from), spots.get(&to)) else { return false };
        let stands = old.iter().zip(new).all(|pair| match pair {
            (Some(old), Some(new)) => old.within == new.within,
            (old, new) => old.is_none() && new.is_none(),
        });
        let others = || super::spread::real(&self.placed[at]).filter(|id| *id != from);
        let free = |other: ItemId| {
            let Some(spot) = spots.get(&other) else { return false };
            other != to
                && spot.iter().zip(new).all(|pair| match pair {
                    (Some(other), Some(new)) => other.domain != new.domain,
                    _ => true,
                })
        };
        stands && others().all(free)
    }

    /// The explicit mapping of a group after a move; nothing if Ceph would not apply it as meant.
    fn mapping(&self, at: usize, from: ItemId, to: ItemId) -> Option<Vec<(ItemId, ItemId)>> {
        let group = &self.spread.groups[at];
        let id = PgId { pool: self.spread.pools[group.pool].id, seed: group.seed };
        let overlay = &self.cluster.overlay;
        if overlay.upmap.contains_key(&id) {
            return None;
        }
        let now = self.items.get(&at).or_else(|| overlay.upmap_items.get(&id));
        let mut items: Vec<(ItemId, ItemId)> = Vec::new();
        let mut moved = false;
        for &(source, target) in now.into_iter().flatten() {
            // Pairs whose source CRUSH does not give have no effect.
            if !group.raw.contains(&source) {
                continue;
            }
            let target = if target == from { to } else { target };
            moved |= target == to;
            if source != target {
                items.push((source, target));
            }
        }
        if !moved {
            items.push((from, to));
        }
        let mut want = self.placed[at].clone();
        want.iter_mut().filter(|id| **id == from).for_each(|id| *id = to);
        let out = |id: ItemId| self.spread.devices.get(&id).is_some_and(|load| load.reweight <= 0.0);
        let found = crate::upmaps::apply(&group.raw, None, Some(&items), out);
        let pool = &self.cluster.pools[group.pool].placed;
        let kept =
            || upmaps::would_keep(overlay, &mut self.domains.borrow_mut(), pool, &group.raw, Some(&items));
        let same = !crate::gains::differs(&found, &want, true);
        (same && kept()).then_some(items)
    }

    fn take(&mut self, at: usize, from: ItemId, to: ItemId, items: Vec<(ItemId, ItemId)>) {
        let group = &self.spread.groups[at];
        let (bytes, growth) = (group.shard as f64, group.growth * self.mix[group.pool]);
        let (has, gets) = (self.placed[at].contains(&from), self.placed[at].contains(&to));
        assert!(has && !gets, "a shard moves from a device of its group to one that is not: {from} to {to}");
        self.placed[at].iter_mut().filter(|id| **id == from).for_each(|id| *id = to);
        if let Some(giver) = self.bins.get_mut(&from) {
            let held = giver.bytes;
            // Of more than 2^53 bytes, floats tell a few less.
            assert!(bytes <= held * (1.0 + 1e-9), "a device gives no more than it holds: {bytes} of {held}");
            giver.bytes -= bytes;
            giver.growth -= growth;
            giver.growths[group.pool] -= group.growth;
            let may_move = giver.groups.remove(&at);
            assert!(may_move, "a shard moves at most once, and only if it may: group {at} on device {from}");
        }
        if let Some(taker) = self.bins.get_mut(&to) {
            taker.bytes += bytes;
            taker.arrived += bytes;
            taker.growth += growth;
            taker.growths[group.pool] += group.growth;
        }
        let pool = self.spread.pools[group.pool].id;
        self.items.insert(at, items.clone());
        self.moves.push(Move { pool, seed: group.seed, from, to, bytes: group.shard, items });
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{cluster, spread};
    use super::*;

    const LIMITS: Limits = Limits { moves: 9, destinations: None };

    /// A move of the first group: a device that has it gives it to one that has not.
    fn moved(damage: impl FnOnce(&mut Planner<'_>, &mut ItemId, &mut ItemId)) {
        let cluster = cluster();
        let spread = spread(&cluster);
        let mix = spread.in_proportion().expect("something is stored");
        let mut planner = Planner::of(&spread, &cluster, &LIMITS, mix);
        let up = &spread.groups[0].up;
        let (mut from, mut to) = (up[0], (0..4).find(|id| !up.contains(id)).expect("it is on two of four"));
        damage(&mut planner, &mut from, &mut to);
        planner.take(0, from, to, vec![(from, to)]);
    }

    #[test]
    fn a_move_is_taken() {
        moved(|_, _, _| ());
    }

    #[test]
    #[should_panic(expected = "a shard moves from a device of its group to one that is not")]
    fn a_move_from_a_device_that_has_nothing_breaks_a_law() {
        moved(|_, from, to| *from = *to);
    }

    #[test]
    #[should_panic(expected = "a device gives no more than it holds: 1000 of 999")]
    fn a_device_that_gives_too_much_breaks_a_law() {
        moved(|planner, from, _| planner.bins.get_mut(from).expect("a device").bytes = 999.0);
    }

    #[test]
    #[should_panic(expected = "a shard moves at most once, and only if it may: group 0")]
    fn a_shard_that_may_not_move_breaks_a_law() {
        moved(|planner, from, _| planner.bins.get_mut(from).expect("a device").groups.clear());
    }
}
