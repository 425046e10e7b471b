//! Multi-step-retry rules: [`crate::crush::reference`] for one input after the other, with the items that
//! each step uses in a list with a place for each position of the result.
//!
//! The places of a stride hold the items that the stride uses, from its first place on. There are enough,
//! because after a pass each of them holds at least one device of the stride, and a full stride is left
//! alone.

use super::paths::OPEN;
use super::pick::Scratch;
use super::rows::Child;
use super::run::{Run, Want};
use crate::crush::map::{ItemId, Mode, NONE, slot_of};
use crate::crush::msr::{Block, Level, MsrRule};

/// The working memory of such a rule.
#[derive(Clone, Debug, Default)]
pub(super) struct Strides {
    /// The items in use, step by step; [`OPEN`] where there is none.
    used: Vec<ItemId>,
    /// The number of positions of one stride of each step.
    lengths: Vec<usize>,
    /// The strides whose item gave nothing, of all steps under way.
    idle: Vec<Stride>,
    /// The devices in the order of finding.
    found: Vec<ItemId>,
}

/// The positions of a stride.
#[derive(Clone, Copy, Debug)]
struct Stride {
    number: usize,
    begin: usize,
    end: usize,
}

/// One pass of an input over a block.
struct Pass<'a, 'w> {
    run: &'a Run<'a>,
    levels: &'a [Level],
    x: u32,
    descent: u32,
    collision_tries: u32,
    strides: &'w mut Strides,
    scratch: &'w mut Scratch,
}

impl Strides {
    /// Maps an input; `out` is replaced.
    pub fn map(
        &mut self,
        run: &Run<'_>,
        rule: &MsrRule,
        x: u32,
        scratch: &mut Scratch,
        out: &mut Vec<ItemId>,
    ) {
        out.clear();
        self.found.clear();
        let mut begin = 0usize;
        for block in &rule.blocks {
            let total = self.measure(run, block);
            let end = begin.saturating_add(total).min(run.result_max);
            self.used.clear();
            self.used.resize(block.levels.len() * run.result_max, OPEN);
            let first_leaf = self.used.len() - run.result_max;
            let wanted = self.found.len() + (end - begin);
            let mut descent = 0;
            while descent < rule.descents && self.found.len() < wanted {
                let tries = rule.collision_tries;
                let mut pass = Pass {
                    run,
                    levels: &block.levels,
                    x,
                    descent,
                    collision_tries: tries,
                    strides: &mut *self,
                    scratch: &mut *scratch,
                };
                pass.fill(0, block.take, (begin, end));
                descent += 1;
            }
            if rule.mode == Mode::Indep {
                let leaves = &self.used[first_leaf + begin..first_leaf + end];
                out.extend(leaves.iter().map(|&leaf| if leaf == OPEN { NONE } else { leaf }));
            }
            begin = end;
        }
        match rule.mode {
            Mode::Firstn => out.extend_from_slice(&self.found),
            Mode::Indep => out.resize(run.result_max, NONE),
        }
    }

    /// Notes the lengths of strides; returns the number of positions of the block, or a greater one than
    /// there is room for.
    fn measure(&mut self, run: &Run<'_>, block: &Block) -> usize {
        self.lengths.clear();
        let mut length = 1usize;
        for level in block.levels.iter().rev() {
            self.lengths.push(length);
            length = length.saturating_mul(level.strides(run.result_max));
        }
        self.lengths.reverse();
        length
    }
}

impl Pass<'_, '_> {
    /// Fills positions by the step `step` below a bucket; returns how many.
    fn fill(&mut self, step: usize, bucket: ItemId, (begin, end): (usize, usize)) -> usize {
        let length = self.strides.lengths[step];
        let is_leaf = self.levels[step].kind == 0;
        if is_leaf != (step + 1 == self.levels.len()) {
            return 0;
        }
        let (first_idle, mut filled) = (self.strides.idle.len(), 0);
        let mut stride = Stride { number: 0, begin, end: begin };
        while stride.begin < end {
            stride.end = stride.begin.saturating_add(length).min(end);
            if !self.is_full(stride) {
                filled += self.fill_stride(step, bucket, (begin, end), stride);
            }
            stride = Stride { number: stride.number + 1, begin: stride.end, end: stride.end };
        }
        for idle in self.strides.idle.drain(first_idle..) {
            let places = &mut self.strides.used[step * self.run.result_max..][idle.begin..idle.end];
            if let Some(last) = places.iter_mut().rfind(|item| **item != OPEN) {
                *last = OPEN;
            }
        }
        filled
    }

    fn fill_stride(&mut self, step: usize, bucket: ItemId, range: (usize, usize), stride: Stride) -> usize {
        let Some(child) = self.draw(step, bucket, range, stride) else { return 0 };
        let places = step * self.run.result_max;
        if step + 1 == self.levels.len() {
            if self.run.is_out(self.x, child.item) {
                return 0;
            }
            self.strides.used[places + stride.begin] = child.item;
            self.strides.found.push(child.item);
            return 1;
        }
        if slot_of(child.item).is_none() {
            return 0;
        }
        let filled = self.fill(step + 1, child.item, (stride.begin, stride.end));
        let places = &mut self.strides.used[places..][stride.begin..stride.end];
        if !places.contains(&child.item) {
            if let Some(free) = places.iter_mut().find(|item| **item == OPEN) {
                *free = child.item;
            }
            if filled == 0 {
                self.strides.idle.push(stride);
            }
        }
        filled
    }

    fn is_full(&self, stride: Stride) -> bool {
        let leaves = (self.levels.len() - 1) * self.run.result_max;
        !self.strides.used[leaves..][stride.begin..stride.end].contains(&OPEN)
    }

    /// An item that no other stride of the range uses.
    fn draw(&mut self, step: usize, bucket: ItemId, range: (usize, usize), stride: Stride) -> Option<Child> {
        for local_try in 0..self.collision_tries {
            let child = self.descend(bucket, self.levels[step].kind, stride.number, local_try)?;
            let used = &self.strides.used[step * self.run.result_max..][..self.run.result_max];
            let collides = used[range.0..stride.begin].contains(&child.item)
                || used[stride.end..range.1].contains(&child.item);
            if !collides {
                return Some(child);
            }
        }
        None
    }

    fn descend(&mut self, bucket: ItemId, kind: i32, number: usize, local_try: u32) -> Option<Child> {
        let stride = self.descent.wrapping_mul(self.run.result_max as u32).wrapping_add(number as u32);
        let r = (stride << 16).wrapping_add(local_try);
        let mut bucket = bucket;
        loop {
            let node = slot_of(bucket).filter(|&slot| self.run.has_bucket(slot))? as u32;
            if self.run.node(node).items.is_empty() {
                return None;
            }
            let want = Want { node, r, position: number as u32, is_permuted: false };
            let child = self.run.pick(want, self.x, self.scratch);
            if child == Child::BAD {
                return None;
            }
            if child.item >= 0 || child.kind == kind {
                return Some(child);
            }
            bucket = child.item;
        }
    }
}
