//! Choosing an item for each position independently: a failed one leaves a hole.

use super::{OPEN, Path, Paths, is_among};
use crate::crush::map::NONE;
use crate::crush::mapper::program::Choice;
use crate::crush::mapper::rows::Child;
use crate::crush::mapper::run::Run;

impl Path {
    /// Starts the descent to an item.
    #[inline]
    pub(super) fn indep_descend(&mut self, run: &Run<'_>, wanted: u32) {
        self.attempt = self.rep.wrapping_add(wanted.wrapping_mul(self.failures));
        self.indep_enter(run, wanted, self.top);
    }

    /// Starts the descent to a leaf below the item.
    #[inline]
    fn indep_descend_to_leaf(&mut self, run: &Run<'_>, wanted: u32) {
        let round = wanted.wrapping_mul(self.leaf_failures);
        self.attempt = self.rep.wrapping_add(self.parent_r).wrapping_add(round);
        self.indep_enter(run, wanted, !self.item as u32);
    }

    /// Picks next in a bucket.
    #[inline]
    fn indep_enter(&mut self, run: &Run<'_>, wanted: u32, node: u32) {
        let position = if self.is_in_leaf { self.rep } else { 0 };
        self.row = run.row(node, position);
        self.r = self.attempt;
        self.is_permuted = false;
        let uniform = run.mapper.rows.rows[self.row as usize].uniform;
        if uniform > 0 && uniform.is_multiple_of(wanted) {
            self.r = self.r.wrapping_add(if self.is_in_leaf { self.leaf_failures } else { self.failures });
        }
    }
}

impl Paths {
    #[inline(always)]
    pub(super) fn indep_picked(&mut self, run: &Run<'_>, choice: &Choice, at: usize, child: Child) -> bool {
        let wanted = choice.wanted(run.result_max) as u32;
        let path = &mut self.paths[at];
        if child.kind != path.goal {
            if child.item < 0 {
                path.indep_enter(run, wanted, !child.item as u32);
                return true;
            }
            return self.indep_gave_up(run, choice, at);
        }
        let place = (path.begin + path.rep) as usize;
        if path.is_in_leaf {
            if run.is_out(path.x, child.item) {
                return self.indep_failed(run, choice, at);
            }
            path.is_in_leaf = false;
            path.goal = choice.goal();
            self.leaves[place] = child.item;
            // A bucket of the type of devices is out.
            if choice.kind != 0 {
                self.found[place] = path.item;
            }
            return self.indep_next(run, choice, at);
        }
        if is_among(&self.found, path.begin, path.len, child.item) {
            return self.indep_next(run, choice, at);
        }
        if choice.leaf {
            if child.item < 0 {
                path.parent_r = path.r;
                path.item = child.item;
                path.leaf_failures = 0;
                path.is_in_leaf = true;
                path.goal = 0;
                path.indep_descend_to_leaf(run, wanted);
                return true;
            }
            // It stays even if the device is out and no other is found, as in Ceph.
            self.leaves[place] = child.item;
        }
        if choice.kind != 0 || !run.is_out(path.x, child.item) {
            self.found[place] = child.item;
        }
        self.indep_next(run, choice, at)
    }

    /// Goes on after a failed try: a position that stays open is tried again in the next round.
    pub(super) fn indep_failed(&mut self, run: &Run<'_>, choice: &Choice, at: usize) -> bool {
        let path = &mut self.paths[at];
        if path.is_in_leaf {
            path.leaf_failures += 1;
            if path.leaf_failures < choice.leaf_tries {
                path.indep_descend_to_leaf(run, choice.wanted(run.result_max) as u32);
                return true;
            }
            path.is_in_leaf = false;
            path.goal = choice.goal();
            self.leaves[(path.begin + path.rep) as usize] = NONE;
        }
        self.indep_next(run, choice, at)
    }

    fn indep_gave_up(&mut self, run: &Run<'_>, choice: &Choice, at: usize) -> bool {
        let path = &mut self.paths[at];
        let place = (path.begin + path.rep) as usize;
        if choice.leaf {
            self.leaves[place] = NONE;
        }
        if !path.is_in_leaf {
            self.found[place] = NONE;
        }
        path.is_in_leaf = false;
        path.goal = choice.goal();
        self.indep_next(run, choice, at)
    }

    /// Goes on with the next open position, if need be in the next round.
    #[inline]
    fn indep_next(&mut self, run: &Run<'_>, choice: &Choice, at: usize) -> bool {
        let path = &mut self.paths[at];
        let (begin, end) = (path.begin as usize, (path.begin + path.len) as usize);
        let open_from =
            |from: usize| (from..end).find(|&place| self.found[place] == OPEN).map(|place| place - begin);
        let next = open_from(begin + path.rep as usize + 1);
        let next = next.or_else(|| {
            let first = open_from(begin)?;
            path.failures += 1;
            (path.failures < choice.tries).then_some(first)
        });
        if let Some(rep) = next {
            path.rep = rep as u32;
            path.indep_descend(run, choice.wanted(run.result_max) as u32);
            return true;
        }
        for list in [&mut self.found, &mut self.leaves] {
            list[begin..end].iter_mut().filter(|item| **item == OPEN).for_each(|item| *item = NONE);
        }
        self.bucket_done(run, at)
    }
}
