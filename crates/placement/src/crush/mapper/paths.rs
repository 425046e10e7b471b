//! The ways of inputs through a rule: the steps of [`crate::crush::reference`] as a machine that stops
//! wherever an item is to be picked, so that many inputs can pick at once.

mod firstn;
mod indep;

use super::program::{Choice, Op};
use super::rows::Child;
use super::run::{Run, Want};
use crate::crush::map::{ItemId, Mode, slot_of};

/// The mark of a position that is still open; no item has this id.
pub(super) const OPEN: ItemId = 0x7fff_fffe;

/// Items are compared with so many others at once.
pub(super) const ABREAST: usize = 4;

/// What an input does: it seeks the items of one choice below one bucket. One line of the cache.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Path {
    x: u32,
    /// The step of the rule.
    step: u32,
    /// The row of the bucket that picks next, and the attempt.
    row: u32,
    r: u32,
    /// The attempt of the descent, without what uniform buckets add.
    attempt: u32,
    parent_r: u32,
    /// The type sought.
    goal: i32,
    /// The number of the replica or position.
    rep: u32,
    /// The part of the bucket in [`Paths::found`]: where it begins, and the number of items found; in
    /// `indep` all positions.
    begin: u32,
    len: u32,
    /// The maximum of `len`.
    room: u32,
    /// The slot of the bucket where the descent to the item starts.
    top: u32,
    /// The number of failed tries; in `indep` the number of the round.
    failures: u32,
    /// The same below the item.
    leaf_failures: u32,
    /// The item below which a leaf is sought.
    item: ItemId,
    /// Whether the item comes from the bucket's permutation, whatever its algorithm.
    is_permuted: bool,
    is_in_leaf: bool,
}

/// What an input needs seldom.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    number: usize,
    /// The next item at hand to choose from.
    from: u32,
    at_hand: u32,
    /// The number of items that the current step has found before the current bucket.
    filled: u32,
    out: u32,
    /// Where the results are.
    result: List,
    /// The bucket that picked the item below which a leaf is sought.
    above: u32,
    /// The number of failed tries since the descent last started at the top, and the same below the item.
    failures_here: u32,
    leaf_failures_here: u32,
}

#[derive(Clone, Copy, Debug, Default)]
enum List {
    Found,
    Leaves,
    #[default]
    Out,
}

/// All inputs under way. Lists of items have room for the results of each.
#[derive(Clone, Debug, Default)]
pub(super) struct Paths {
    paths: Vec<Path>,
    progress: Vec<Progress>,
    /// The room of an input in each list.
    stride: usize,
    /// Beyond the items found, all are [`OPEN`].
    found: Vec<ItemId>,
    leaves: Vec<ItemId>,
    at_hand: Vec<ItemId>,
    out: Vec<ItemId>,
}

/// An input and the pick that it waits for.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub x: u32,
    pub row: u32,
    pub r: u32,
    pub is_permuted: bool,
}

impl Paths {
    /// Makes room for inputs with so many items each.
    pub(crate) fn restart(&mut self, count: usize, items_max: usize) {
        if self.paths.len() < count {
            self.paths.resize(count, Path::default());
            self.progress.resize(count, Progress::default());
        }
        self.stride = items_max.next_multiple_of(ABREAST) + ABREAST;
        let length = count * self.stride;
        for list in [&mut self.found, &mut self.leaves, &mut self.at_hand, &mut self.out] {
            list.resize(length.max(list.len()), OPEN);
        }
    }

    /// Starts with an input; returns whether it waits for a pick, or is done.
    pub fn start(&mut self, run: &Run<'_>, at: usize, (number, x): (usize, u32)) -> bool {
        self.progress[at] = Progress { number, ..Progress::default() };
        self.paths[at].x = x;
        self.paths[at].step = 0;
        self.steps(run, at) && self.next_bucket(run, at)
    }

    /// The number of the input.
    pub fn number(&self, at: usize) -> usize {
        self.progress[at].number
    }

    /// The result of an input that is done.
    pub fn out(&self, at: usize) -> &[ItemId] {
        let list = match self.progress[at].result {
            List::Found => &self.found,
            List::Leaves => &self.leaves,
            List::Out => &self.out,
        };
        &list[at * self.stride..][..self.progress[at].out as usize]
    }

    /// The pick that the input waits for.
    #[inline]
    pub fn wanted(&self, at: usize) -> Wanted {
        let Path { x, row, r, is_permuted, .. } = self.paths[at];
        Wanted { x, row, r, is_permuted }
    }

    /// The same for an input that picks by itself.
    pub fn want(&self, run: &Run<'_>, at: usize) -> Want {
        let path = &self.paths[at];
        let position = match self.choice(run, at).mode {
            Mode::Firstn => path.len,
            Mode::Indep if path.is_in_leaf => path.rep,
            Mode::Indep => 0,
        };
        let node = run.mapper.rows.rows[path.row as usize].node;
        Want { node, r: path.r, position, is_permuted: path.is_permuted }
    }

    /// Goes on with the item that was picked; returns whether the input waits for a pick, or is done.
    #[inline(always)]
    pub fn picked(&mut self, run: &Run<'_>, at: usize, child: Child) -> bool {
        let choice = self.choice(run, at);
        match choice.mode {
            Mode::Firstn => self.firstn_picked(run, choice, at, child),
            Mode::Indep => self.indep_picked(run, choice, at, child),
        }
    }

    /// Goes on after an empty bucket.
    pub(super) fn found_nothing(&mut self, run: &Run<'_>, at: usize) -> bool {
        let choice = self.choice(run, at);
        match choice.mode {
            Mode::Firstn => self.firstn_failed(run, choice, at, false),
            Mode::Indep => self.indep_failed(run, choice, at),
        }
    }

    #[inline]
    fn choice<'a>(&self, run: &Run<'a>, at: usize) -> &'a Choice {
        match &run.program[self.paths[at].step as usize] {
            Op::Choose(choice) => choice,
            Op::Take(_) | Op::Emit => unreachable!("inputs wait only at steps that choose"),
        }
    }

    /// Runs steps up to one that chooses from items at hand; returns whether there is one.
    fn steps(&mut self, run: &Run<'_>, at: usize) -> bool {
        let first = at * self.stride;
        let (path, progress) = (&mut self.paths[at], &mut self.progress[at]);
        while let Some(op) = run.program.get(path.step as usize) {
            match op {
                Op::Take(item) => {
                    self.at_hand[first] = *item;
                    progress.at_hand = 1;
                }
                Op::Emit => {
                    let room = run.result_max - progress.out as usize;
                    let count = room.min(progress.at_hand as usize);
                    let items = &self.at_hand[first..first + count];
                    self.out[first + progress.out as usize..][..count].copy_from_slice(items);
                    progress.out += count as u32;
                    progress.at_hand = 0;
                }
                Op::Choose(choice) if progress.at_hand > 0 => {
                    progress.from = 0;
                    progress.filled = 0;
                    if choice.wanted(run.result_max) > 0 {
                        self.found[first..first + self.stride].fill(OPEN);
                        if choice.leaf {
                            self.leaves[first..first + self.stride].fill(OPEN);
                        }
                        return true;
                    }
                    progress.at_hand = 0;
                }
                Op::Choose(_) => {}
            }
            path.step += 1;
        }
        false
    }

    /// Begins to choose from the next bucket at hand, or goes on with the next steps; returns whether the
    /// input waits for a pick, or is done.
    fn next_bucket(&mut self, run: &Run<'_>, at: usize) -> bool {
        let first = at * self.stride;
        loop {
            let choice = self.choice(run, at);
            let progress = &mut self.progress[at];
            while progress.from < progress.at_hand {
                let item = self.at_hand[first + progress.from as usize];
                progress.from += 1;
                let Some(top) = slot_of(item).filter(|&slot| run.has_bucket(slot)) else { continue };
                let room = run.result_max - progress.filled as usize;
                if room == 0 {
                    continue;
                }
                let path = &mut self.paths[at];
                path.begin = first as u32 + progress.filled;
                path.goal = choice.goal();
                path.rep = 0;
                path.top = top as u32;
                path.failures = 0;
                path.is_in_leaf = false;
                progress.failures_here = 0;
                match choice.mode {
                    Mode::Firstn => {
                        path.room = room.min(u32::MAX as usize) as u32;
                        path.len = 0;
                        path.firstn_descend(run);
                    }
                    Mode::Indep => {
                        let wanted = choice.wanted(run.result_max) as usize;
                        path.len = room.min(wanted) as u32;
                        path.indep_descend(run, wanted as u32);
                    }
                }
                return true;
            }
            // The usual end: what was chosen is the result.
            if let [Op::Emit] = run.program[self.paths[at].step as usize + 1..]
                && progress.out == 0
            {
                progress.result = if choice.leaf { List::Leaves } else { List::Found };
                progress.out = progress.filled;
                return false;
            }
            let chosen = if choice.leaf { &self.leaves } else { &self.found };
            let chosen = &chosen[first..first + progress.filled as usize];
            self.at_hand[first..first + chosen.len()].copy_from_slice(chosen);
            progress.at_hand = progress.filled;
            self.paths[at].step += 1;
            if !self.steps(run, at) {
                return false;
            }
        }
    }

    /// Goes on after the last item of a bucket.
    fn bucket_done(&mut self, run: &Run<'_>, at: usize) -> bool {
        self.progress[at].filled += self.paths[at].len;
        self.next_bucket(run, at)
    }
}

/// Whether an item is among the `len` from `begin` on, behind which all are [`OPEN`].
#[inline]
pub(super) fn is_among(items: &[ItemId], begin: u32, len: u32, item: ItemId) -> bool {
    // One comparison always, so that their number does not vary from input to input.
    let items = &items[begin as usize..][..(len as usize).next_multiple_of(ABREAST).max(ABREAST)];
    let (some, others) = items.split_first_chunk::<ABREAST>().expect("there are so many at least");
    is_any(some, item) || others.as_chunks::<ABREAST>().0.iter().any(|some| is_any(some, item))
}

#[inline]
fn is_any(items: &[ItemId; ABREAST], item: ItemId) -> bool {
    items.iter().fold(false, |is, &other| is | (other == item))
}
