//! The choices of inputs below one bucket, a try at a time.

use super::reached::{End, Reached};
use crate::crush::map::{ItemId, Mode, NONE};
use crate::crush::mapper::paths::OPEN;
use crate::crush::mapper::program::Choice;
use crate::crush::mapper::run::Run;

/// What an input chooses below one bucket.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Task {
    /// The input.
    pub input: u32,
    pub x: u32,
    /// The slot of the bucket.
    pub top: u32,
    /// Where its part of the lists begins, and the room there.
    pub begin: u32,
    pub room: u32,
    /// The number of items found; in `indep` all positions.
    pub len: u32,
    /// The number of the replica or position.
    pub rep: u32,
    /// The attempt; in `indep` the round.
    pub attempt: u32,
    pub is_done: bool,
}

/// A choice of a run, with what it has found so far.
pub(super) struct Chosen<'a> {
    pub run: &'a Run<'a>,
    pub choice: &'a Choice,
    /// The number of items that each task seeks.
    pub wanted: u32,
    /// The items found, and their leaves.
    pub found: &'a mut [ItemId],
    pub leaves: &'a mut [ItemId],
}

impl Task {
    pub fn new(mode: Mode, (input, x): (usize, u32), top: u32, begin: usize, room: usize) -> Self {
        let room = room as u32;
        let len = if mode == Mode::Indep { room } else { 0 };
        Self { input: input as u32, x, top, begin: begin as u32, room, len, ..Self::default() }
    }

    /// Goes on with what an attempt reached; returns whether this way can go on.
    #[inline(always)]
    pub fn go_on(&mut self, chosen: Chosen<'_>, reached: Reached) -> bool {
        match chosen.choice.mode {
            Mode::Firstn => self.firstn(chosen, reached),
            Mode::Indep => self.indep(chosen, reached),
        }
    }

    #[inline(always)]
    fn firstn(&mut self, chosen: Chosen<'_>, reached: Reached) -> bool {
        let Chosen { run, choice, wanted, found, leaves } = chosen;
        let mut is_good = false;
        match reached.end {
            // No attempt of the replicas before this one can help any of them.
            End::Dead => self.rep = self.attempt,
            End::Empty | End::Chosen => {}
            End::Item if reached.is_in_leaf => {
                is_good = reached.leaf_end == End::Item && !run.is_out(self.x, reached.leaf);
                // Another leaf is tried, or this one will be when more items have been found.
                let is_last = choice.leaf_tries <= 1 || reached.leaf_end == End::Dead;
                let is_settled = is_good || (is_last && choice.stable);
                if !is_settled {
                    return false;
                }
            }
            End::Item => is_good = choice.kind != 0 || !run.is_out(self.x, reached.item),
        }
        if is_good {
            let place = (self.begin + self.len) as usize;
            found[place] = reached.item;
            if choice.leaf {
                leaves[place] = if reached.is_in_leaf { reached.leaf } else { reached.item };
            }
            self.len += 1;
        }
        self.rep += u32::from(is_good || reached.end == End::Dead);
        self.attempt += 1;
        // A replica without a try left gives up; the next one has one, because it starts one attempt later.
        if self.attempt - self.rep >= choice.tries.max(1) {
            self.rep += 1;
        }
        self.is_done = self.len >= self.room || self.rep >= wanted;
        true
    }

    #[inline(always)]
    fn indep(&mut self, chosen: Chosen<'_>, reached: Reached) -> bool {
        let Chosen { run, choice, found, leaves, .. } = chosen;
        let place = (self.begin + self.rep) as usize;
        match reached.end {
            End::Dead => {
                found[place] = NONE;
                if choice.leaf {
                    leaves[place] = NONE;
                }
            }
            End::Empty | End::Chosen => {}
            End::Item if reached.is_in_leaf => match reached.leaf_end {
                End::Item if !run.is_out(self.x, reached.leaf) => {
                    found[place] = reached.item;
                    leaves[place] = reached.leaf;
                }
                End::Dead => leaves[place] = NONE,
                _ if choice.leaf_tries > 1 => return false,
                _ => leaves[place] = NONE,
            },
            End::Item => {
                // The leaf stays even if the device is out and no other is found, as in Ceph.
                if choice.leaf {
                    leaves[place] = reached.item;
                }
                if choice.kind != 0 || !run.is_out(self.x, reached.item) {
                    found[place] = reached.item;
                }
            }
        }
        self.indep_next(choice, (found, leaves));
        true
    }

    /// Goes on with the next open position, if need be in the next round.
    #[inline]
    fn indep_next(&mut self, choice: &Choice, (found, leaves): (&mut [ItemId], &mut [ItemId])) {
        let part = self.begin as usize..(self.begin + self.room) as usize;
        let positions = &found[part.clone()];
        let open_from = |from: usize| positions.iter().skip(from).position(|&item| item == OPEN);
        if let Some(after) = open_from(self.rep as usize + 1) {
            self.rep += 1 + after as u32;
            return;
        }
        if let Some(first) = open_from(0) {
            self.attempt += 1;
            if self.attempt < choice.tries {
                self.rep = first as u32;
                return;
            }
        }
        self.is_done = true;
        let leaves = if choice.leaf { &mut leaves[part.clone()] } else { &mut [] };
        for item in found[part].iter_mut().chain(leaves).filter(|item| **item == OPEN) {
            *item = NONE;
        }
    }
}
