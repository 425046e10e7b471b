//! Choosing the first items that fit: a failed one is left out and the rest move up.

use super::{Descent, Run, Turn, Walk, Want};
use crate::crush::map::ItemId;
use crate::crush::mapper::program::Choice;

impl Walk {
    /// The position in the result of the item that is sought.
    fn place(&self) -> usize {
        self.found.len() - self.base
    }

    /// The next pick; `None` in an empty bucket.
    #[inline]
    pub(super) fn firstn_want(&mut self, run: &Run<'_>, choice: &Choice) -> Option<Want> {
        let place = self.place();
        let rep = match self.is_in_leaf {
            false => self.rep as i32,
            true if choice.stable => 0,
            true => place as i32,
        };
        let now = *self.now();
        let size = run.node(now.node).items.len() as u32;
        if size == 0 {
            return None;
        }
        self.r = rep.wrapping_add(now.parent_r).wrapping_add(now.failures as i32);
        let fallback = choice.fallback_tries;
        let is_permuted = fallback > 0 && now.failures_here >= size >> 1 && now.failures_here > fallback;
        Some(Want { node: now.node, r: self.r as u32, position: place as u32, is_permuted })
    }

    #[inline]
    pub(super) fn firstn_picked(&mut self, run: &Run<'_>, choice: &Choice, item: Option<ItemId>) -> Turn {
        let Some(item) = item.filter(|&item| item < run.mapper.max_devices) else { return Turn::GaveUp };
        let Some((slot, kind)) = run.slot_and_kind(item) else { return Turn::GaveUp };
        let goal = if self.is_in_leaf { 0 } else { choice.kind };
        if kind != goal {
            let Some(slot) = slot else { return Turn::GaveUp };
            self.now().node = slot;
            return Turn::Pick;
        }
        if self.is_in_leaf {
            let collides = self.leaves[self.base..].contains(&item);
            if collides || run.is_out(self.x, item) {
                return Turn::Failed { collides };
            }
            self.is_in_leaf = false;
            self.leaves.push(item);
            return self.firstn_accept(run, choice, self.item);
        }
        if self.found[self.base..].contains(&item) {
            return Turn::Failed { collides: true };
        }
        if choice.leaf {
            match slot {
                None => self.leaves.push(item),
                Some(slot) => {
                    let vary_r = choice.vary_r;
                    let parent_r = if vary_r == 0 { 0 } else { self.r.wrapping_shr(vary_r - 1) };
                    self.item = item;
                    self.leaf = Descent::from(slot, parent_r);
                    self.is_in_leaf = true;
                    return Turn::Pick;
                }
            }
        }
        self.firstn_accept(run, choice, item)
    }

    /// Takes an item that has its leaf, unless it is a device that is out.
    fn firstn_accept(&mut self, run: &Run<'_>, choice: &Choice, item: ItemId) -> Turn {
        if choice.kind == 0 && run.is_out(self.x, item) {
            return Turn::Failed { collides: false };
        }
        self.found.push(item);
        Turn::Next
    }

    pub(super) fn firstn_failed(&mut self, run: &Run<'_>, choice: &Choice, collides: bool) -> Turn {
        let tries = if self.is_in_leaf { choice.leaf_tries } else { choice.tries };
        if !self.is_in_leaf && choice.leaf {
            self.leaves.truncate(self.found.len());
        }
        let now = self.now();
        now.failures += 1;
        now.failures_here += 1;
        let size = run.node(now.node).items.len() as u32;
        let again_here = (collides && now.failures_here <= choice.local_tries)
            || (choice.fallback_tries > 0 && now.failures_here <= size.wrapping_add(choice.fallback_tries));
        if again_here {
            return Turn::Pick;
        }
        now.node = now.top;
        now.failures_here = 0;
        if now.failures < tries { Turn::Pick } else { Turn::GaveUp }
    }

    pub(super) fn firstn_gave_up(&mut self) -> Turn {
        if self.is_in_leaf {
            self.is_in_leaf = false;
            return Turn::Failed { collides: false };
        }
        Turn::Next
    }

    pub(super) fn firstn_next(&mut self, run: &Run<'_>) -> Turn {
        self.rep += 1;
        if self.rep < self.wanted as usize && self.found.len() < run.result_max {
            self.outer = Descent::from(self.outer.top, 0);
            return Turn::Pick;
        }
        Turn::NextBucket
    }
}
