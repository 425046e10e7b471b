//! The descents of a try: each from a bucket down to an item of the type sought and, if the rule asks for it,
//! on to a leaf below that item.

use super::reached::{End, Reached};
use super::tasks::Task;
use crate::crush::lanes::INPUTS;
use crate::crush::map::{ItemId, Mode};
use crate::crush::mapper::group::Group;
use crate::crush::mapper::paths::is_among;
use crate::crush::mapper::pick::Scratch;
use crate::crush::mapper::program::Choice;
use crate::crush::mapper::rows::{Child, Kernel, Pass, Queue, Row};
use crate::crush::mapper::run::{Run, Want};

/// Where a descent is that left the others.
#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    /// The slot of the bucket that picks next.
    node: u32,
    attempt: u32,
    /// What is added to the attempt in some uniform buckets.
    round: u32,
}

/// The descents of a try of several tasks, one per lane.
#[derive(Clone, Debug)]
pub(super) struct Descents {
    reached: [Reached; INPUTS],
    /// Descents that go on together, by place: the lane, the slot of the bucket that picks next, and the
    /// attempt.
    members: [u8; INPUTS],
    nodes: [u32; INPUTS],
    attempts: [u32; INPUTS],
    /// Those that do not: their lanes, and where each lane is.
    others: [u8; INPUTS],
    lanes: [Lane; INPUTS],
    group: Group,
}

impl Default for Descents {
    fn default() -> Self {
        Self {
            reached: [Reached::default(); INPUTS],
            members: [0; INPUTS],
            nodes: [0; INPUTS],
            attempts: [0; INPUTS],
            others: [0; INPUTS],
            lanes: [Lane::default(); INPUTS],
            group: Group::default(),
        }
    }
}

/// What all descents of a try have in common.
#[derive(Clone, Copy)]
pub(super) struct Tries<'a> {
    pub choice: &'a Choice,
    /// The number of items that each task seeks.
    pub wanted: u32,
    pub tasks: &'a [Task],
    /// The items found so far.
    pub found: &'a [ItemId],
}

impl Tries<'_> {
    #[inline(always)]
    fn attempt(&self, task: &Task) -> u32 {
        match self.choice.mode {
            Mode::Firstn => task.attempt,
            Mode::Indep => task.rep.wrapping_add(self.wanted.wrapping_mul(task.attempt)),
        }
    }

    /// The round of a lane, which counts in some uniform buckets.
    #[inline]
    fn round(&self, lane: usize) -> u32 {
        match self.choice.mode {
            Mode::Firstn => 0,
            Mode::Indep => self.tasks[lane].attempt,
        }
    }

    /// The number that divides the sizes of those uniform buckets in which the round counts; 0 for none.
    #[inline]
    fn divisor(&self) -> u32 {
        if self.choice.mode == Mode::Indep { self.wanted } else { 0 }
    }

    /// Whether the item has been chosen already.
    #[inline(always)]
    fn is_chosen(&self, lane: usize, item: ItemId) -> bool {
        let task = &self.tasks[lane];
        task.len > 0 && is_among(self.found, task.begin, task.len, item)
    }

    /// The attempt to find a leaf below an item that was picked at attempt `r`.
    #[inline(always)]
    fn leaf_attempt(&self, lane: usize, r: u32) -> u32 {
        let task = &self.tasks[lane];
        match self.choice.mode {
            Mode::Firstn => self.choice.leaf_attempt(task.attempt, task.len),
            Mode::Indep => task.rep.wrapping_add(r),
        }
    }
}

/// The number of a lane as an index; the compiler then knows that it is one.
#[inline(always)]
fn index(lane: u8) -> usize {
    lane as usize % INPUTS
}

impl Descents {
    /// What the descent of a lane reached.
    #[inline(always)]
    pub fn reached(&self, lane: usize) -> Reached {
        self.reached[lane]
    }

    /// Makes the next attempt of each task that is not done.
    pub fn make(&mut self, run: &Run<'_>, tries: Tries<'_>, scratch: &mut Scratch) {
        let mut count = self.make_together(run, tries, scratch);
        while count > 0 {
            let (pass, members, others) = self.gather(run, tries, count);
            self.pick(run, pass, members, scratch);
            count = self.go_on_apart(tries, pass, members, others);
        }
    }

    /// Makes the descents as far as all are in buckets that can pick together, and all pick items of the type
    /// sought at once; returns the number of the others.
    fn make_together(&mut self, run: &Run<'_>, tries: Tries<'_>, scratch: &mut Scratch) -> usize {
        let mut count = 0;
        for (lane, task) in tries.tasks.iter().enumerate().take(INPUTS) {
            self.members[count] = lane as u8;
            self.nodes[count] = task.top;
            self.attempts[count] = tries.attempt(task);
            self.group.x[count] = task.x;
            count += usize::from(!task.is_done);
        }
        if count == 0 {
            return 0;
        }
        let goal = tries.choice.goal();
        let are_at_items = loop {
            let Some(pass) = self.load(run, tries, count, false) else {
                return self.leave(tries, count, false);
            };
            self.pick(run, pass, count, scratch);
            let children = &self.group.children[..count];
            let of_goal = children.iter().map(|child| usize::from(child.kind == goal)).sum::<usize>();
            if of_goal > 0 || children.iter().any(|child| child.item >= 0) {
                break of_goal == count;
            }
            for (node, child) in self.nodes.iter_mut().zip(children) {
                *node = !child.item as u32;
            }
        };
        if !are_at_items {
            self.leave(tries, count, false);
            return self.go_on_apart(tries, Pass::APART, count, 0);
        }
        count = self.reach_items(tries, count);
        if count == 0 {
            return 0;
        }
        let Some(pass) = self.load(run, tries, count, true) else { return self.leave(tries, count, true) };
        self.pick(run, pass, count, scratch);
        let children = &self.group.children[..count];
        if !children.iter().fold(true, |all, child| all & (child.kind == 0)) {
            self.leave(tries, count, true);
            return self.go_on_apart(tries, Pass::APART, count, 0);
        }
        for (child, &lane) in children.iter().zip(&self.members) {
            let reached = &mut self.reached[index(lane)];
            (reached.leaf, reached.leaf_end) = (child.item, End::Item);
        }
        0
    }

    /// Puts the descents into the group, if they can pick together.
    #[inline(always)]
    fn load(&mut self, run: &Run<'_>, tries: Tries<'_>, count: usize, is_in_leaf: bool) -> Option<Pass> {
        let rows = &run.mapper.rows.rows;
        let nodes = &self.nodes[..count];
        let pass = rows[run.row(nodes[0], 0) as usize].pass;
        let (mut is_one, mut uniform) = (true, 0);
        for (place, &node) in nodes.iter().enumerate() {
            let number = run.row(node, 0);
            let row = &rows[number as usize];
            is_one &= row.pass == pass;
            uniform |= row.uniform;
            self.group.set_row(place, (number, row));
        }
        if !is_one || matches!(pass.kernel(), Kernel::Empty | Kernel::Alone) {
            return None;
        }
        self.group.r[..count].copy_from_slice(&self.attempts[..count]);
        if uniform > 0 && !self.load_places(rows, tries, count, is_in_leaf) {
            return None;
        }
        Some(pass)
    }

    /// Sets the places of picks in uniform buckets; returns whether all can pick together.
    fn load_places(&mut self, rows: &[Row], tries: Tries<'_>, count: usize, is_in_leaf: bool) -> bool {
        let mut are_all = true;
        for place in 0..count {
            let round = if is_in_leaf { 0 } else { tries.round(index(self.members[place])) };
            let row = &rows[self.group.rows[place] as usize];
            let (pass, r, at) = row.pass_at(self.attempts[place], round, tries.divisor());
            self.group.r[place] = r;
            self.group.places[place] = at;
            are_all &= pass == row.pass;
        }
        are_all
    }

    /// Notes the items that the descents have reached; those that seek a leaf go on below them. Returns their
    /// number.
    #[inline(always)]
    fn reach_items(&mut self, tries: Tries<'_>, count: usize) -> usize {
        // Items of other types than devices are buckets.
        let is_leaf_below = tries.choice.leaf && tries.choice.goal() != 0;
        let mut left = 0;
        for place in 0..count {
            let lane = self.members[place];
            let item = self.group.children[place].item;
            let is_chosen = tries.is_chosen(index(lane), item);
            let end = if is_chosen { End::Chosen } else { End::Item };
            let goes_on = is_leaf_below & !is_chosen;
            self.reached[index(lane)] = Reached { item, end, is_in_leaf: goes_on, ..Reached::default() };
            self.members[left] = lane;
            self.nodes[left] = !item as u32;
            self.attempts[left] = tries.leaf_attempt(index(lane), self.group.r[place]);
            self.group.x[left] = self.group.x[place];
            left += usize::from(goes_on);
        }
        left
    }

    /// Lets the descents leave each other; returns their number.
    fn leave(&mut self, tries: Tries<'_>, count: usize, is_in_leaf: bool) -> usize {
        for place in 0..count {
            let lane = self.members[place];
            let round = if is_in_leaf { 0 } else { tries.round(index(lane)) };
            let (node, attempt) = (self.nodes[place], self.attempts[place]);
            self.lanes[index(lane)] = Lane { node, attempt, round };
            if !is_in_leaf {
                self.reached[index(lane)] = Reached::default();
            }
            self.others[place] = lane;
        }
        count
    }

    /// Goes on with what descents have picked in buckets of one pass, each by itself; returns the number of
    /// all that have not ended, with so many others.
    fn go_on_apart(&mut self, tries: Tries<'_>, pass: Pass, members: usize, others: usize) -> usize {
        let mut count = others;
        for place in 0..members {
            let lane = self.members[place];
            self.others[count] = lane;
            count += usize::from(self.goes_on(tries, pass, (index(lane), place)));
        }
        count
    }

    /// Puts those lanes into the group that can pick together with the first one; returns their number, and
    /// that of the others.
    fn gather(&mut self, run: &Run<'_>, tries: Tries<'_>, count: usize) -> (Pass, usize, usize) {
        let (mut members, mut others) = (0, 0);
        let all = &run.mapper.rows.rows;
        let mut pass = None;
        for place in 0..count {
            let number = self.others[place];
            let Lane { node, attempt, round } = self.lanes[index(number)];
            let of = run.row(node, 0);
            let row = &all[of as usize];
            let (own, r, at) = row.pass_at(attempt, round, tries.divisor());
            let is_member = *pass.get_or_insert(own) == own;
            self.members[members] = number;
            self.others[others] = number;
            self.group.x[members] = tries.tasks[index(number)].x;
            self.group.r[members] = r;
            self.group.set_row(members, (of, row));
            self.group.places[members] = at;
            members += usize::from(is_member);
            others += usize::from(!is_member);
        }
        (pass.unwrap_or(Pass::APART), members, others)
    }

    fn pick(&mut self, run: &Run<'_>, pass: Pass, members: usize, scratch: &mut Scratch) {
        let rows = &run.mapper.rows.rows;
        let mut alone = match pass.kernel() {
            Kernel::Empty => 0,
            Kernel::Alone => u64::MAX >> (INPUTS - members),
            kernel => {
                self.group.fill_up(members);
                let most = match kernel {
                    Kernel::Place => self.group.places[..members].iter().copied().max(),
                    _ => self.group.rows[..members].iter().map(|&row| rows[row as usize].size).max(),
                };
                self.group.pick(run, Queue { kernel, size: most.unwrap_or(0) as usize }, members)
            }
        };
        while alone > 0 {
            let lane = alone.trailing_zeros() as usize;
            let node = rows[self.group.rows[lane] as usize].node;
            let want = Want { node, r: self.group.r[lane], position: 0, is_permuted: false };
            scratch.start();
            self.group.children[lane] = run.pick(want, self.group.x[lane], scratch);
            alone &= alone - 1;
        }
    }

    /// Goes on with the item that a lane has picked; returns whether the descent goes on.
    fn goes_on(&mut self, tries: Tries<'_>, pass: Pass, (lane, place): (usize, usize)) -> bool {
        let Child { item, kind } = self.group.children[place];
        let (Lane { node, attempt, round }, reached) = (&mut self.lanes[lane], &mut self.reached[lane]);
        let goal = if reached.is_in_leaf { 0 } else { tries.choice.goal() };
        let is_empty = pass.kernel() == Kernel::Empty;
        if kind != goal || is_empty {
            let end = if reached.is_in_leaf { &mut reached.leaf_end } else { &mut reached.end };
            *end = if is_empty { End::Empty } else { End::Dead };
            *node = !item as u32;
            return item < 0 && !is_empty;
        }
        if reached.is_in_leaf {
            (reached.leaf, reached.leaf_end) = (item, End::Item);
            return false;
        }
        reached.item = item;
        if tries.is_chosen(lane, item) {
            reached.end = End::Chosen;
            return false;
        }
        reached.end = End::Item;
        if !tries.choice.leaf || item >= 0 {
            return false;
        }
        reached.is_in_leaf = true;
        *attempt = tries.leaf_attempt(lane, self.group.r[place]);
        *round = 0;
        *node = !item as u32;
        true
    }
}
