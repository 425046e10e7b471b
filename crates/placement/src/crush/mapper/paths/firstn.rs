//! Choosing the first items that fit: a failed one is left out and the rest move up.

use super::{Path, Paths, Progress, is_among};
use crate::crush::mapper::program::Choice;
use crate::crush::mapper::rows::Child;
use crate::crush::mapper::run::Run;

impl Path {
    /// Starts the descent to an item.
    #[inline]
    pub(super) fn firstn_descend(&mut self, run: &Run<'_>) {
        self.r = self.rep.wrapping_add(self.failures);
        self.is_permuted = false;
        self.row = run.row(self.top, self.len);
    }

    /// Starts the descent to a leaf below the item.
    #[inline]
    fn firstn_descend_to_leaf(&mut self, run: &Run<'_>, choice: &Choice) {
        let rep = if choice.stable { 0 } else { self.len };
        self.r = rep.wrapping_add(self.parent_r).wrapping_add(self.leaf_failures);
        self.is_permuted = false;
        self.row = run.row(!self.item as u32, self.len);
    }

    /// Picks next in a bucket.
    #[inline]
    fn firstn_enter(&mut self, run: &Run<'_>, choice: &Choice, progress: &Progress, node: u32) {
        self.row = run.row(node, self.len);
        self.is_permuted = false;
        if choice.fallback_tries > 0 {
            let size = run.node(node).items.len() as u32;
            let fails = if self.is_in_leaf { progress.leaf_failures_here } else { progress.failures_here };
            self.is_permuted = size > 0 && fails >= size >> 1 && fails > choice.fallback_tries;
        }
    }

    /// Goes back to where the item was picked below which a leaf was sought.
    #[inline]
    fn firstn_leave_leaf(&mut self, run: &Run<'_>, choice: &Choice, progress: &Progress) {
        self.is_in_leaf = false;
        self.goal = choice.goal();
        self.row = run.row(progress.above, self.len);
        self.r = self.rep.wrapping_add(self.failures);
    }
}

impl Paths {
    #[inline(always)]
    pub(super) fn firstn_picked(&mut self, run: &Run<'_>, choice: &Choice, at: usize, child: Child) -> bool {
        let path = &mut self.paths[at];
        if child.kind != path.goal {
            if child.item < 0 {
                path.firstn_enter(run, choice, &self.progress[at], !child.item as u32);
                return true;
            }
            return self.firstn_gave_up(run, choice, at);
        }
        let mut item = child.item;
        if path.is_in_leaf {
            let collides = is_among(&self.leaves, path.begin, path.len, child.item);
            if collides || run.is_out(path.x, child.item) {
                return self.firstn_failed(run, choice, at, collides);
            }
            path.is_in_leaf = false;
            path.goal = choice.goal();
            item = path.item;
            // A bucket of the type of devices is out.
            if choice.kind == 0 {
                path.firstn_leave_leaf(run, choice, &self.progress[at]);
                return self.firstn_failed(run, choice, at, false);
            }
        } else {
            if is_among(&self.found, path.begin, path.len, child.item) {
                return self.firstn_failed(run, choice, at, true);
            }
            if choice.leaf && child.item < 0 {
                self.firstn_seek_leaf(run, choice, at, child);
                return true;
            }
            if choice.kind == 0 && run.is_out(path.x, child.item) {
                return self.firstn_failed(run, choice, at, false);
            }
        }
        let place = (path.begin + path.len) as usize;
        self.found[place] = item;
        if choice.leaf {
            self.leaves[place] = child.item;
        }
        path.len += 1;
        self.firstn_next(run, choice, at)
    }

    #[inline]
    fn firstn_seek_leaf(&mut self, run: &Run<'_>, choice: &Choice, at: usize, child: Child) {
        let (path, progress) = (&mut self.paths[at], &mut self.progress[at]);
        if choice.is_local() {
            progress.leaf_failures_here = 0;
        }
        progress.above = run.mapper.rows.rows[path.row as usize].node;
        path.parent_r = choice.parent_attempt(path.r);
        path.item = child.item;
        path.leaf_failures = 0;
        path.is_in_leaf = true;
        path.goal = 0;
        path.firstn_descend_to_leaf(run, choice);
    }

    /// Goes on after a failed try.
    pub(super) fn firstn_failed(
        &mut self,
        run: &Run<'_>,
        choice: &Choice,
        at: usize,
        collides: bool,
    ) -> bool {
        let (path, progress) = (&mut self.paths[at], &mut self.progress[at]);
        let (failures, failures_here, tries) = if path.is_in_leaf {
            (&mut path.leaf_failures, &mut progress.leaf_failures_here, choice.leaf_tries)
        } else {
            (&mut path.failures, &mut progress.failures_here, choice.tries)
        };
        *failures += 1;
        let is_last = *failures >= tries;
        if choice.is_local() {
            *failures_here += 1;
            let here = *failures_here;
            let node = run.mapper.rows.rows[path.row as usize].node;
            let size = run.node(node).items.len() as u32;
            let again_here = (collides && here <= choice.local_tries)
                || (choice.fallback_tries > 0 && here <= size.wrapping_add(choice.fallback_tries));
            if again_here {
                path.r = path.r.wrapping_add(1);
                path.firstn_enter(run, choice, progress, node);
                return true;
            }
            *failures_here = 0;
        }
        if is_last {
            return self.firstn_gave_up(run, choice, at);
        }
        if path.is_in_leaf {
            path.firstn_descend_to_leaf(run, choice);
        } else {
            path.firstn_descend(run);
        }
        true
    }

    fn firstn_gave_up(&mut self, run: &Run<'_>, choice: &Choice, at: usize) -> bool {
        let path = &mut self.paths[at];
        if path.is_in_leaf {
            path.firstn_leave_leaf(run, choice, &self.progress[at]);
            return self.firstn_failed(run, choice, at, false);
        }
        self.firstn_next(run, choice, at)
    }

    /// Goes on with the next replica.
    #[inline]
    fn firstn_next(&mut self, run: &Run<'_>, choice: &Choice, at: usize) -> bool {
        let path = &mut self.paths[at];
        path.rep += 1;
        if path.rep < choice.wanted(run.result_max) as u32 && path.len < path.room {
            path.failures = 0;
            if choice.is_local() {
                self.progress[at].failures_here = 0;
            }
            path.firstn_descend(run);
            return true;
        }
        self.bucket_done(run, at)
    }
}
