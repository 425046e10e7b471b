//! The reference implementation of the mapping: slow, close to the definition. The tests compare
//! [`super::Mapper`] with it.
//!
//! Follows section 3 of the project's reference notes on Ceph 16.2.15, with the two choose functions as in
//! Ceph, because the order of tries and the definition of failure affect every mapping. Where Ceph would read
//! out of bounds (a tree bucket with invalid weights, a bucket id without a bucket), the try counts as a bad
//! item. [`msr`] has the multi-step-retry rules of Ceph 19.

use super::bucket::{Bucket, Shape};
use super::hash::{hash2, hash3_by, hash4_by};
use super::ln::draw;
use super::map::{ChooseArgs, ItemId, Map, Mode, NONE, Setting, Step};
use super::msr::MsrRule;
use super::vring::Ring;
use std::cell::RefCell;
use std::collections::BTreeMap;

mod msr;

/// The mark of a position that is still open; used only in this file.
const OPEN: ItemId = 0x7fff_fffe;

/// The arguments of one mapping.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The input to place.
    pub x: u32,
    /// The maximum number of items in the result.
    pub result_max: usize,
    /// The weight at which each device is in, in 16.16 fixed point; devices beyond the end are out.
    pub weights: &'a [u32],
    /// Replacement weights and ids.
    pub choose_args: Option<&'a ChooseArgs>,
}

/// The number of choices by number of retries, as crushtool counts them: each item that `firstn` picks, and
/// each run of `indep`, leaves included.
#[derive(Clone, Debug, Default)]
pub(super) struct TryCounts(RefCell<BTreeMap<u32, u32>>);

impl TryCounts {
    /// The number of choices that took `retries` retries.
    #[must_use]
    pub fn of(&self, retries: u32) -> u32 {
        self.0.borrow().get(&retries).copied().unwrap_or(0)
    }

    /// Ceph's table ends at the tunable, so choices with more retries are not counted.
    fn note(&self, retries: u32, most: u32) {
        if retries <= most {
            let mut counts = self.0.borrow_mut();
            let count = counts.entry(retries).or_default();
            *count = count.wrapping_add(1);
        }
    }
}

/// Runs a rule; an unknown rule gives an empty result.
#[must_use]
pub fn do_rule(map: &Map, rule: usize, question: Question<'_>) -> Vec<ItemId> {
    run_rule(map, rule, question, None)
}

/// Like [`do_rule`], and adds the retries to `counts`.
#[must_use]
pub(super) fn do_rule_counting(
    map: &Map,
    rule: usize,
    question: Question<'_>,
    counts: &TryCounts,
) -> Vec<ItemId> {
    run_rule(map, rule, question, Some(counts))
}

fn run_rule(map: &Map, rule: usize, question: Question<'_>, counts: Option<&TryCounts>) -> Vec<ItemId> {
    let Some(rule) = map.rule(rule) else { return Vec::new() };
    if rule.kind.msr_mode().is_some() {
        let run = Run { map, question, tries: Tries::of(map), counts };
        return MsrRule::of(map, rule).map_or(Vec::new(), |rule| msr::run(&run, &rule));
    }
    let mut run = Run { map, question, tries: Tries::of(map), counts };
    let mut at_hand: Vec<ItemId> = Vec::new();
    let mut result = Vec::new();
    for step in &rule.steps {
        match *step {
            // Ceph ignores steps of multi-step-retry rules in others.
            Step::Noop | Step::ChooseMsr { .. } => {}
            Step::Take(item) => {
                if map.bucket(item).is_some() || (0..map.max_devices).contains(&item) {
                    at_hand = vec![item];
                }
            }
            Step::Set(setting, value) => run.tries.set(setting, value),
            Step::Emit => {
                let room = question.result_max - result.len();
                result.extend(at_hand.drain(..).take(room));
                at_hand.clear();
            }
            Step::Choose { mode, leaf, count, kind } => {
                if !at_hand.is_empty() {
                    at_hand = run.choose(&at_hand, mode, leaf, count, kind);
                }
            }
        }
    }
    result
}

struct Tries {
    total: u32,
    leaf: u32,
    local: u32,
    fallback: u32,
    descend_once: bool,
    vary_r: u32,
    stable: bool,
}

impl Tries {
    fn of(map: &Map) -> Self {
        let tunables = &map.tunables;
        Self {
            // Ceph once counted retries here rather than tries, and existing clusters depend on it.
            total: tunables.choose_total_tries.wrapping_add(1),
            leaf: 0,
            local: tunables.choose_local_tries,
            fallback: tunables.choose_local_fallback_tries,
            descend_once: tunables.chooseleaf_descend_once != 0,
            vary_r: u32::from(tunables.chooseleaf_vary_r),
            stable: tunables.chooseleaf_stable != 0,
        }
    }

    fn set(&mut self, setting: Setting, value: i32) {
        let Ok(number) = u32::try_from(value) else { return };
        match setting {
            Setting::ChooseTries if number > 0 => self.total = number,
            Setting::ChooseleafTries if number > 0 => self.leaf = number,
            Setting::ChooseTries | Setting::ChooseleafTries => {}
            Setting::ChooseLocalTries => self.local = number,
            Setting::ChooseLocalFallbackTries => self.fallback = number,
            Setting::ChooseleafVaryR => self.vary_r = number,
            Setting::ChooseleafStable => self.stable = number != 0,
            Setting::MsrDescents | Setting::MsrCollisionTries => {}
        }
    }
}

struct Run<'a> {
    map: &'a Map,
    question: Question<'a>,
    tries: Tries,
    counts: Option<&'a TryCounts>,
}

/// The goal of a descent.
#[derive(Clone, Copy)]
struct Goal {
    kind: i32,
    tries: u32,
    /// Tries for a leaf below the item; `None` if the item itself is the goal.
    leaf_tries: Option<u32>,
    parent_r: i32,
}

impl Run<'_> {
    fn choose(&mut self, from: &[ItemId], mode: Mode, leaf: bool, count: i32, kind: i32) -> Vec<ItemId> {
        let result_max = self.question.result_max as i32;
        let wanted = if count <= 0 { count.saturating_add(result_max) } else { count };
        let mut found: Vec<ItemId> = Vec::new();
        if wanted <= 0 {
            return found;
        }
        for &item in from {
            let Some(bucket) = self.map.bucket(item) else { continue };
            let room = self.question.result_max - found.len();
            let (mut out, mut leaves) = (Vec::new(), Vec::new());
            let goal = Goal {
                kind,
                tries: self.tries.total,
                leaf_tries: leaf.then(|| self.leaf_tries(mode)),
                parent_r: 0,
            };
            match mode {
                Mode::Firstn => {
                    self.firstn(bucket, goal, wanted, room, &mut out, &mut leaves);
                }
                Mode::Indep => {
                    let window = room.min(wanted as usize);
                    out.resize(window, OPEN);
                    leaves.resize(window, OPEN);
                    self.indep(bucket, goal, wanted as u32, 0, &mut out, &mut leaves);
                }
            }
            found.extend(if leaf { leaves } else { out });
        }
        found
    }

    fn leaf_tries(&self, mode: Mode) -> u32 {
        match mode {
            _ if self.tries.leaf > 0 => self.tries.leaf,
            Mode::Indep => 1,
            Mode::Firstn if self.tries.descend_once => 1,
            Mode::Firstn => self.tries.total,
        }
    }

    /// Appends the items found to `out` (and leaves to `leaves`, if the goal has leaves).
    fn firstn(
        &self,
        top: &Bucket,
        goal: Goal,
        wanted: i32,
        room: usize,
        out: &mut Vec<ItemId>,
        leaves: &mut Vec<ItemId>,
    ) {
        let mut room = room;
        let mut rep = if self.tries.stable { 0 } else { out.len() as i32 };
        while rep < wanted && room > 0 {
            if let Some(item) = self.firstn_one(top, goal, rep, room, out, leaves) {
                out.push(item);
                room -= 1;
            }
            rep += 1;
        }
    }

    /// One replica: its item, or `None` if every try failed. Its leaf is appended to `leaves`.
    fn firstn_one(
        &self,
        top: &Bucket,
        goal: Goal,
        rep: i32,
        room: usize,
        out: &[ItemId],
        leaves: &mut Vec<ItemId>,
    ) -> Option<ItemId> {
        let mut failures = 0u32;
        'from_the_top: loop {
            let mut bucket = top;
            let mut failures_here = 0u32;
            loop {
                let r = rep.wrapping_add(goal.parent_r).wrapping_add(failures as i32);
                let mut collides = false;
                if !bucket.items.is_empty() {
                    let item = self.firstn_pick(bucket, r, failures_here, out.len())?;
                    if item >= self.map.max_devices {
                        return None;
                    }
                    let kind = self.kind_of(item)?;
                    if kind != goal.kind {
                        bucket = self.map.bucket(item)?;
                        continue;
                    }
                    collides = out.contains(&item);
                    let good = !collides
                        && self.leaf_below(item, goal, r, room, out.len(), leaves)
                        && !(kind == 0 && self.is_out(item));
                    if good {
                        self.count(failures);
                        return Some(item);
                    }
                    leaves.truncate(out.len());
                }
                failures += 1;
                failures_here += 1;
                let size = bucket.items.len() as u32;
                let again_here = (collides && failures_here <= self.tries.local)
                    || (self.tries.fallback > 0 && failures_here <= size.wrapping_add(self.tries.fallback));
                if !again_here {
                    if failures < goal.tries {
                        continue 'from_the_top;
                    }
                    return None;
                }
            }
        }
    }

    fn firstn_pick(&self, bucket: &Bucket, r: i32, failures_here: u32, position: usize) -> Option<ItemId> {
        let fallback = self.tries.fallback;
        let size = bucket.items.len() as u32;
        if fallback > 0 && failures_here >= size >> 1 && failures_here > fallback {
            return Some(permuted(bucket, self.question.x, r as u32));
        }
        self.pick(bucket, r, position)
    }

    /// Whether the goal needs no leaf, or one was found below `item` and appended to `leaves`.
    fn leaf_below(
        &self,
        item: ItemId,
        goal: Goal,
        r: i32,
        room: usize,
        position: usize,
        leaves: &mut Vec<ItemId>,
    ) -> bool {
        let Some(leaf_tries) = goal.leaf_tries else { return true };
        if item >= 0 {
            leaves.push(item);
            return true;
        }
        let Some(bucket) = self.map.bucket(item) else { return false };
        let vary_r = self.tries.vary_r;
        let parent_r = if vary_r == 0 { 0 } else { r.wrapping_shr(vary_r - 1) };
        let wanted = if self.tries.stable { 1 } else { position as i32 + 1 };
        let leaf_goal = Goal { kind: 0, tries: leaf_tries, leaf_tries: None, parent_r };
        self.firstn(bucket, leaf_goal, wanted, room, leaves, &mut Vec::new());
        leaves.len() > position
    }

    /// Fills the open positions of `out`; `first` is the number of the first one. `wanted` determines the
    /// attempt numbers.
    fn indep(
        &self,
        top: &Bucket,
        goal: Goal,
        wanted: u32,
        first: usize,
        out: &mut [ItemId],
        leaves: &mut [ItemId],
    ) {
        let mut rounds = 0;
        for round in 0..goal.tries {
            if !out.contains(&OPEN) {
                break;
            }
            rounds = round + 1;
            for position in 0..out.len() {
                if out[position] == OPEN {
                    self.indep_one(top, goal, Round { wanted, first, round }, position, out, leaves);
                }
            }
        }
        self.count(rounds);
        for hole in out.iter_mut().chain(leaves).filter(|item| **item == OPEN) {
            *hole = NONE;
        }
    }

    fn indep_one(
        &self,
        top: &Bucket,
        goal: Goal,
        at: Round,
        position: usize,
        out: &mut [ItemId],
        leaves: &mut [ItemId],
    ) {
        let mut bucket = top;
        loop {
            let size = bucket.items.len() as u32;
            if size == 0 {
                return;
            }
            let uniform = matches!(bucket.shape, Shape::Uniform { .. });
            let pace =
                if uniform && size.is_multiple_of(at.wanted) { at.wanted.wrapping_add(1) } else { at.wanted };
            let rep = (at.first + position) as u32;
            let r = rep.wrapping_add(goal.parent_r as u32).wrapping_add(pace.wrapping_mul(at.round)) as i32;
            let give_up = |out: &mut [ItemId], leaves: &mut [ItemId]| {
                out[position] = NONE;
                if let Some(leaf) = leaves.get_mut(position) {
                    *leaf = NONE;
                }
            };
            let Some(item) = self.pick(bucket, r, at.first).filter(|&item| item < self.map.max_devices)
            else {
                return give_up(out, leaves);
            };
            let Some(kind) = self.kind_of(item) else { return give_up(out, leaves) };
            if kind != goal.kind {
                match self.map.bucket(item) {
                    Some(inner) => bucket = inner,
                    None => return give_up(out, leaves),
                }
                continue;
            }
            if out.contains(&item) {
                return;
            }
            if let Some(leaf_tries) = goal.leaf_tries {
                leaves[position] = if item >= 0 {
                    item
                } else {
                    let Some(below) = self.map.bucket(item) else { return give_up(out, leaves) };
                    let leaf_goal = Goal { kind: 0, tries: leaf_tries, leaf_tries: None, parent_r: r };
                    let mut leaf = [OPEN];
                    self.indep(below, leaf_goal, at.wanted, at.first + position, &mut leaf, &mut []);
                    leaf[0]
                };
                if leaves[position] == NONE {
                    return;
                }
            }
            if kind == 0 && self.is_out(item) {
                return;
            }
            out[position] = item;
            return;
        }
    }

    fn count(&self, retries: u32) {
        if let Some(counts) = self.counts {
            counts.note(retries, self.map.tunables.choose_total_tries);
        }
    }

    /// The type of an item: 0 for a device; `None` for a bucket that the map does not contain.
    fn kind_of(&self, item: ItemId) -> Option<i32> {
        if item >= 0 { Some(0) } else { self.map.bucket(item).map(|bucket| i32::from(bucket.kind)) }
    }

    fn is_out(&self, device: ItemId) -> bool {
        match self.question.weights.get(device as usize) {
            None | Some(0) => true,
            Some(&weight) => weight < 0x1_0000 && (hash2(self.question.x, device as u32) & 0xffff) >= weight,
        }
    }

    /// The item that a bucket picks; `None` if a draw ends outside the bucket.
    fn pick(&self, bucket: &Bucket, r: i32, position: usize) -> Option<ItemId> {
        let (x, r, id) = (self.question.x, r as u32, bucket.id as u32);
        let items = &bucket.items;
        match &bucket.shape {
            Shape::Uniform { .. } => Some(permuted(bucket, x, r)),
            Shape::List { weights, sums } => {
                let index = (0..items.len()).rev().find(|&index| {
                    let draw = u64::from(hash4_by(bucket.hash, x, items[index] as u32, r, id) & 0xffff);
                    (draw * u64::from(sums[index])) >> 16 < u64::from(weights[index])
                });
                Some(items[index.unwrap_or(0)])
            }
            Shape::Tree { node_weights } => {
                let mut node = node_weights.len() / 2;
                if node == 0 {
                    return None;
                }
                while node & 1 == 0 {
                    let point = (u64::from(hash4_by(bucket.hash, x, node as u32, r, id))
                        * u64::from(node_weights[node]))
                        >> 32;
                    let half = 1 << (node.trailing_zeros() - 1);
                    let left = node - half;
                    node = if point < u64::from(node_weights[left]) { left } else { node + half };
                }
                items.get(node >> 1).copied()
            }
            Shape::Straw { straws, .. } => first_greatest(items.len(), |index| {
                let draw = u64::from(hash3_by(bucket.hash, x, items[index] as u32, r) & 0xffff);
                (draw * u64::from(straws[index])) as i64
            })
            .map(|index| items[index]),
            Shape::Straw2 { weights } => {
                let arg = self.question.choose_args.and_then(|args| args.get(&((-1 - bucket.id) as u32)));
                let weights = arg
                    .and_then(|arg| arg.weight_sets.get(position).or(arg.weight_sets.last()))
                    .unwrap_or(weights);
                let ids = arg.map(|arg| &arg.ids).filter(|ids| !ids.is_empty()).unwrap_or(items);
                first_greatest(items.len(), |index| {
                    let id = ids.get(index).copied().unwrap_or(items[index]);
                    draw(
                        hash3_by(bucket.hash, x, id as u32, r) as u16,
                        weights.get(index).copied().unwrap_or(0),
                    )
                })
                .map(|index| items[index])
            }
            Shape::Vring { .. } => Some(items[Ring::new(bucket).pick(x, r).unwrap_or(0)]),
        }
    }
}

/// The position of a descent in the rounds of `indep`.
#[derive(Clone, Copy)]
struct Round {
    wanted: u32,
    first: usize,
    round: u32,
}

fn first_greatest(count: usize, draw: impl Fn(usize) -> i64) -> Option<usize> {
    (0..count).rev().max_by_key(|&index| draw(index))
}

/// The item at place `r` of a permutation that depends on `x` and the bucket.
fn permuted(bucket: &Bucket, x: u32, r: u32) -> ItemId {
    let size = bucket.items.len() as u32;
    let place = r % size;
    let mut order: Vec<u32> = (0..size).collect();
    for p in 0..=place.min(size.saturating_sub(2)) {
        if p + 1 < size {
            let offset = hash3_by(bucket.hash, x, bucket.id as u32, p) % (size - p);
            order.swap(p as usize, (p + offset) as usize);
        }
    }
    bucket.items[order[place as usize] as usize]
}
