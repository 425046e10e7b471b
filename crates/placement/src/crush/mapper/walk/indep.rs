//! Choosing an item for each position independently: a failed one leaves a hole.

use super::{Descent, OPEN, Run, Turn, Walk, Want};
use crate::crush::map::{ItemId, NONE};
use crate::crush::mapper::layout::NodeShape;
use crate::crush::mapper::program::Choice;

impl Walk {
    /// The next pick; `None` in an empty bucket.
    #[inline]
    pub(super) fn indep_want(&mut self, run: &Run<'_>) -> Option<Want> {
        let now = *self.now();
        let node = run.node(now.node);
        let size = node.items.len() as u32;
        if size == 0 {
            return None;
        }
        let wanted = self.wanted as u32;
        let is_uniform = matches!(node.shape, NodeShape::Uniform);
        let pace = if is_uniform && size.is_multiple_of(wanted) { wanted.wrapping_add(1) } else { wanted };
        let rep = self.rep as u32;
        let r = rep.wrapping_add(now.parent_r as u32).wrapping_add(pace.wrapping_mul(now.failures));
        self.r = r as i32;
        let position = if self.is_in_leaf { rep } else { 0 };
        Some(Want { node: now.node, r, position, is_permuted: false })
    }

    #[inline]
    pub(super) fn indep_picked(&mut self, run: &Run<'_>, choice: &Choice, item: Option<ItemId>) -> Turn {
        let Some(item) = item.filter(|&item| item < run.mapper.max_devices) else { return Turn::GaveUp };
        let Some((slot, kind)) = run.slot_and_kind(item) else { return Turn::GaveUp };
        let goal = if self.is_in_leaf { 0 } else { choice.kind };
        if kind != goal {
            let Some(slot) = slot else { return Turn::GaveUp };
            self.now().node = slot;
            return Turn::Pick;
        }
        let at = self.base + self.rep;
        if self.is_in_leaf {
            if run.is_out(self.x, item) {
                return Turn::Failed { collides: false };
            }
            self.is_in_leaf = false;
            self.leaves[at] = item;
            return self.indep_accept(run, choice, self.item);
        }
        if self.found[self.base..].contains(&item) {
            return Turn::Failed { collides: true };
        }
        if choice.leaf {
            match slot {
                // It stays even if the device is out and no other is found, as in Ceph.
                None => self.leaves[at] = item,
                Some(slot) => {
                    self.item = item;
                    self.leaf = Descent::from(slot, self.r);
                    self.is_in_leaf = true;
                    return Turn::Pick;
                }
            }
        }
        self.indep_accept(run, choice, item)
    }

    /// Takes an item that has its leaf, unless it is a device that is out.
    fn indep_accept(&mut self, run: &Run<'_>, choice: &Choice, item: ItemId) -> Turn {
        if choice.kind != 0 || !run.is_out(self.x, item) {
            self.found[self.base + self.rep] = item;
        }
        Turn::Next
    }

    /// A position that stays open is tried again in the next round.
    pub(super) fn indep_failed(&mut self, choice: &Choice) -> Turn {
        if !self.is_in_leaf {
            return Turn::Next;
        }
        self.leaf.failures += 1;
        self.leaf.node = self.leaf.top;
        if self.leaf.failures < choice.leaf_tries {
            return Turn::Pick;
        }
        self.is_in_leaf = false;
        self.leaves[self.base + self.rep] = NONE;
        Turn::Next
    }

    pub(super) fn indep_gave_up(&mut self, choice: &Choice) -> Turn {
        let at = self.base + self.rep;
        if choice.leaf {
            self.leaves[at] = NONE;
        }
        if !self.is_in_leaf {
            self.found[at] = NONE;
        }
        self.is_in_leaf = false;
        Turn::Next
    }

    pub(super) fn indep_next(&mut self, choice: &Choice) -> Turn {
        let open_from = |from: usize| (from..self.found.len()).find(|&at| self.found[at] == OPEN);
        if let Some(at) = open_from(self.base + self.rep + 1) {
            self.rep = at - self.base;
            self.outer.node = self.outer.top;
            return Turn::Pick;
        }
        if let Some(at) = open_from(self.base)
            && self.outer.failures + 1 < choice.tries
        {
            self.rep = at - self.base;
            self.outer = Descent { failures: self.outer.failures + 1, ..Descent::from(self.outer.top, 0) };
            return Turn::Pick;
        }
        for list in [&mut self.found, &mut self.leaves] {
            list.iter_mut().skip(self.base).filter(|item| **item == OPEN).for_each(|item| *item = NONE);
        }
        Turn::NextBucket
    }
}
