//! Multi-step-retry rules, as section h of the project's reference notes on Ceph by release defines them.
//!
//! A rule that says `choosemsr 4 type host`, `choosemsr 2 type osd` splits eight positions into four strides
//! of two, one for each host, and each of these into two of one, one for each device. It goes depth first: it
//! picks a host, then the two devices, then the next host. A device that is out leaves its position empty;
//! the next pass over the block fills it, with a device of the same host or of one that no other stride uses.

use super::{NONE, Run};
use crate::crush::bucket::Bucket;
use crate::crush::map::{ItemId, Mode};
use crate::crush::msr::{Block, MsrRule};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The result of the rule.
pub(super) fn run(run: &Run<'_>, rule: &MsrRule) -> Vec<ItemId> {
    let result_max = run.question.result_max;
    let mut found = Found { positions: vec![NONE; result_max], in_order: Vec::new() };
    let mut start = 0usize;
    for block in &rule.blocks {
        // The product of the numbers of the steps, which may be more than there is room for.
        let total =
            block.levels.iter().fold(1usize, |total, level| total.saturating_mul(level.strides(result_max)));
        let range = start..start.saturating_add(total).min(result_max);
        start = range.end;
        let Some(top) = run.map.bucket(block.take) else { continue };
        let mut used = vec![BTreeMap::new(); block.levels.len()];
        for descent in 0..rule.descents {
            if found.is_full(range.clone()) {
                break;
            }
            let pass = Pass { run, rule, block, descent };
            pass.fill(0, top, range.clone(), &mut used, &mut found);
        }
    }
    match rule.mode {
        Mode::Firstn => found.in_order,
        Mode::Indep => found.positions,
    }
}

/// What the rule has found, by position and in the order of finding.
struct Found {
    positions: Vec<ItemId>,
    in_order: Vec<ItemId>,
}

impl Found {
    fn is_full(&self, range: Range<usize>) -> bool {
        !self.positions[range].contains(&NONE)
    }
}

/// The items that one step uses, for each of its strides, by where the stride starts.
type Used = BTreeMap<usize, BTreeSet<ItemId>>;

/// One pass over a block.
struct Pass<'a> {
    run: &'a Run<'a>,
    rule: &'a MsrRule,
    block: &'a Block,
    /// The number of the pass.
    descent: u32,
}

impl Pass<'_> {
    /// Fills the empty positions of a range below a bucket by the step `step`; returns how many it filled.
    /// It is entered once more only below a bucket inside this one, so it is as deep as the hierarchy.
    fn fill(
        &self,
        step: usize,
        bucket: &Bucket,
        range: Range<usize>,
        used: &mut [Used],
        found: &mut Found,
    ) -> usize {
        let result_max = self.run.question.result_max;
        let length = self.block.levels[step + 1..]
            .iter()
            .fold(1usize, |length, level| length.saturating_mul(level.strides(result_max)));
        let is_last = step + 1 == self.block.levels.len();
        let wants_leaf = self.block.levels[step].kind == 0;
        let mut filled = 0;
        let mut gave_nothing = Vec::new();
        for (number, begin) in range.clone().step_by(length).enumerate() {
            let stride = begin..begin.saturating_add(length).min(range.end);
            if found.is_full(stride.clone()) {
                continue;
            }
            let Some(item) = self.draw(step, bucket, &range, begin, number, &used[step]) else { continue };
            // Only the last step may want a leaf, and it must; Ceph then leaves the stride empty.
            if wants_leaf != is_last {
                continue;
            }
            if wants_leaf {
                if self.run.is_out(item) {
                    continue;
                }
                used[step].entry(begin).or_default().insert(item);
                found.positions[begin] = item;
                found.in_order.push(item);
                filled += 1;
            } else {
                let Some(below) = self.run.map.bucket(item) else { continue };
                let filled_below = self.fill(step + 1, below, stride, used, found);
                let is_new = used[step].entry(begin).or_default().insert(item);
                if is_new && filled_below == 0 {
                    gave_nothing.push((begin, item));
                }
                filled += filled_below;
            }
        }
        // Only now, so that in this pass what follows draws as if the item had given something.
        for (begin, item) in gave_nothing {
            if let Some(items) = used[step].get_mut(&begin) {
                items.remove(&item);
            }
        }
        filled
    }

    /// Draws the item of one stride: again, if another stride of the range uses it.
    fn draw(
        &self,
        step: usize,
        bucket: &Bucket,
        range: &Range<usize>,
        begin: usize,
        number: usize,
        used: &Used,
    ) -> Option<ItemId> {
        for local_try in 0..self.rule.collision_tries {
            let item = self.descend(bucket, self.block.levels[step].kind, number, local_try)?;
            let collides =
                used.range(range.clone()).any(|(&other, items)| other != begin && items.contains(&item));
            if !collides {
                return Some(item);
            }
        }
        None
    }

    /// The first item of the type, or device, on the way down; `None` if the way ends before.
    fn descend(&self, bucket: &Bucket, kind: i32, number: usize, local_try: u32) -> Option<ItemId> {
        let result_max = self.run.question.result_max as u32;
        let stride = self.descent.wrapping_mul(result_max).wrapping_add(number as u32);
        let r = stride.wrapping_mul(0x1_0000).wrapping_add(local_try);
        let mut bucket = bucket;
        loop {
            if bucket.items.is_empty() {
                return None;
            }
            let item = self.run.pick(bucket, r as i32, number)?;
            if item >= self.run.map.max_devices {
                return None;
            }
            if item >= 0 {
                return Some(item);
            }
            bucket = self.run.map.bucket(item)?;
            if i32::from(bucket.kind) == kind {
                return Some(item);
            }
        }
    }
}
