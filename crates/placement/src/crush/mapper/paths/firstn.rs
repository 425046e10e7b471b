//! Choosing the first items that fit: a failed one is left out and the rest move up.

use super::{Descent, Path, Paths, is_among};
use crate::crush::mapper::program::Choice;
use crate::crush::mapper::rows::Child;
use crate::crush::mapper::run::Run;

impl Path {
    /// Starts the descent from its top.
    #[inline]
    pub(super) fn firstn_descend(&mut self, run: &Run<'_>, choice: &Choice) {
        let (top, failures, parent_r, rep) = match self.is_in_leaf {
            false => (self.outer.top, self.outer.failures, 0, self.rep),
            true => {
                (self.leaf.top, self.leaf.failures, self.parent_r, if choice.stable { 0 } else { self.len })
            }
        };
        self.r = rep.wrapping_add(parent_r).wrapping_add(failures);
        self.firstn_enter(run, choice, top);
    }

    /// Picks next in a bucket.
    #[inline]
    fn firstn_enter(&mut self, run: &Run<'_>, choice: &Choice, node: u32) {
        self.row = run.row(node, self.len);
        if choice.fallback_tries > 0 {
            let size = run.node(node).items.len() as u32;
            let fails = self.descent().failures_here;
            self.is_permuted = size > 0 && fails >= size >> 1 && fails > choice.fallback_tries;
        } else {
            self.is_permuted = false;
        }
    }

    /// Goes back to where the item was picked below which a leaf was sought.
    #[inline]
    fn firstn_leave_leaf(&mut self, run: &Run<'_>, choice: &Choice) {
        self.is_in_leaf = false;
        self.goal = choice.goal();
        self.row = run.row(self.above, self.len);
        self.r = self.rep.wrapping_add(self.outer.failures);
    }
}

impl Paths {
    #[inline]
    pub(super) fn firstn_picked(&mut self, run: &Run<'_>, choice: &Choice, at: usize, child: Child) -> bool {
        let path = &mut self.paths[at];
        if child.kind != path.goal {
            if child.item < 0 {
                path.firstn_enter(run, choice, !child.item as u32);
                return true;
            }
            return self.firstn_gave_up(run, choice, at);
        }
        if path.is_in_leaf {
            let collides = is_among(&self.leaves, path.begin, path.len, child.item);
            if collides || run.is_out(path.x, child.item) {
                return self.firstn_failed(run, choice, at, collides);
            }
            let item = path.item;
            path.firstn_leave_leaf(run, choice);
            // A bucket of the type of devices is out.
            if choice.kind == 0 {
                return self.firstn_failed(run, choice, at, false);
            }
            return self.firstn_accept(run, choice, at, (item, child.item));
        }
        if is_among(&self.found, path.begin, path.len, child.item) {
            return self.firstn_failed(run, choice, at, true);
        }
        if choice.leaf && child.item < 0 {
            let vary_r = choice.vary_r;
            path.parent_r = if vary_r == 0 { 0 } else { (path.r as i32).wrapping_shr(vary_r - 1) as u32 };
            path.item = child.item;
            path.above = run.mapper.rows.rows[path.row as usize].node;
            path.leaf = Descent::from(!child.item as u32);
            path.is_in_leaf = true;
            path.goal = 0;
            path.firstn_descend(run, choice);
            return true;
        }
        if choice.kind == 0 && run.is_out(path.x, child.item) {
            return self.firstn_failed(run, choice, at, false);
        }
        self.firstn_accept(run, choice, at, (child.item, child.item))
    }

    #[inline]
    fn firstn_accept(&mut self, run: &Run<'_>, choice: &Choice, at: usize, (item, leaf): (i32, i32)) -> bool {
        let path = &mut self.paths[at];
        let place = (path.begin + path.len) as usize;
        self.found[place] = item;
        self.leaves[place] = leaf;
        path.len += 1;
        self.firstn_next(run, choice, at)
    }

    /// Goes on after a failed try.
    pub(super) fn firstn_failed(
        &mut self,
        run: &Run<'_>,
        choice: &Choice,
        at: usize,
        collides: bool,
    ) -> bool {
        let path = &mut self.paths[at];
        let tries = if path.is_in_leaf { choice.leaf_tries } else { choice.tries };
        let node = run.mapper.rows.rows[path.row as usize].node;
        let now = path.descent();
        now.failures += 1;
        now.failures_here += 1;
        if choice.local_tries > 0 || choice.fallback_tries > 0 {
            let here = now.failures_here;
            let size = run.node(node).items.len() as u32;
            let again_here = (collides && here <= choice.local_tries)
                || (choice.fallback_tries > 0 && here <= size.wrapping_add(choice.fallback_tries));
            if again_here {
                path.r = path.r.wrapping_add(1);
                path.firstn_enter(run, choice, node);
                return true;
            }
        }
        let now = path.descent();
        now.failures_here = 0;
        if now.failures < tries {
            path.firstn_descend(run, choice);
            return true;
        }
        self.firstn_gave_up(run, choice, at)
    }

    fn firstn_gave_up(&mut self, run: &Run<'_>, choice: &Choice, at: usize) -> bool {
        let path = &mut self.paths[at];
        if path.is_in_leaf {
            path.firstn_leave_leaf(run, choice);
            return self.firstn_failed(run, choice, at, false);
        }
        self.firstn_next(run, choice, at)
    }

    /// Goes on with the next replica.
    #[inline]
    fn firstn_next(&mut self, run: &Run<'_>, choice: &Choice, at: usize) -> bool {
        let path = &mut self.paths[at];
        path.rep += 1;
        if path.rep < path.wanted && path.len < path.room {
            path.outer = Descent::from(path.outer.top);
            path.firstn_descend(run, choice);
            return true;
        }
        self.bucket_done(run, at)
    }
}
