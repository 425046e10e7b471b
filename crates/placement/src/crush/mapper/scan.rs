//! Maps many inputs at once by rules of the usual kinds, a try of each at the same time.
//!
//! Where a failed try is not repeated in the same bucket, the replicas of a choice make attempt 0, 1, 2 and
//! so on in turn, because an attempt that failed once fails for all replicas after it. So an attempt needs
//! to be made only once, unlike in the definition, where each replica starts again at its own number. Inputs
//! whose tries depend on more than that are left to [`super::batch`].
//!
//! Only one way leads from a start of a rule to an item. So what is found below different items differs, and
//! need not be compared: neither leaves, nor items below different buckets at hand, which are found at the
//! same time.

mod descents;
mod reached;
mod tasks;

use super::mappings::Mappings;
use super::paths::{ABREAST, OPEN};
use super::pick::Scratch;
use super::program::{Choice, Op};
use super::run::Run;
use crate::crush::lanes::INPUTS;
use crate::crush::map::{ItemId, slot_of};
use descents::{Descents, Tries};
use tasks::{Chosen, Task};

/// The number of inputs that go through a rule together: many, because at the end of each step the last tries
/// leave lanes empty, and few enough to stay in the cache.
const BLOCK: usize = 512;

/// The maximum number of items of all inputs of a block, which limits their memory.
const ITEMS_MAX: usize = 1 << 20;

/// Whether the rule is one of those that this way maps.
pub(super) fn can_map(run: &Run<'_>) -> bool {
    let is_usual = |op: &Op| !matches!(op, Op::Choose(choice) if choice.is_local());
    !run.mapper.has_buckets_as_devices
        && !run.mapper.has_several_ways
        && !run.args.is_some_and(|args| args.by_position)
        && run.program.iter().all(is_usual)
}

/// The lists of items of the inputs of a block, each with the same room.
#[derive(Clone, Debug, Default)]
struct Lists {
    items: Vec<ItemId>,
    counts: Vec<u32>,
}

/// The working memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Scan {
    /// The room of an input in each list.
    stride: usize,
    at_hand: Lists,
    out: Lists,
    /// What the current step found: items and, if it seeks leaves, those.
    found: Vec<ItemId>,
    leaves: Vec<ItemId>,
    /// The inputs that are left to the general way.
    is_left: Vec<bool>,
    /// The inputs with buckets at hand for which no room is left if the tasks before find what they seek.
    is_full: Vec<bool>,
    tasks: Vec<Task>,
    /// The tasks that are not done after the first tries.
    late: Vec<Task>,
    descents: Descents,
}

impl Scan {
    /// Maps the inputs; returns those that are left, with their numbers.
    pub fn map(
        &mut self,
        run: &Run<'_>,
        inputs: &[u32],
        found: &mut Mappings,
        scratch: &mut Scratch,
    ) -> Vec<(usize, u32)> {
        let mut left = Vec::new();
        self.stride = run.items_max().next_multiple_of(ABREAST) + ABREAST;
        let together = (ITEMS_MAX / self.stride).clamp(1, BLOCK);
        for (block, xs) in inputs.chunks(together).enumerate() {
            let first = block * together;
            self.restart(xs.len());
            self.steps(run, xs, scratch);
            found.set_all(first, &self.out.items, self.stride, &self.out.counts);
            let is_left = self.is_left.iter().zip(xs).enumerate().filter(|(_, (is_left, _))| **is_left);
            left.extend(is_left.map(|(at, (_, &x))| (first + at, x)));
        }
        left
    }

    fn restart(&mut self, count: usize) {
        for lists in [&mut self.at_hand, &mut self.out] {
            lists.items.resize(count * self.stride, OPEN);
            lists.counts.clear();
            lists.counts.resize(count, 0);
        }
        self.is_left.clear();
        self.is_left.resize(count, false);
    }

    fn steps(&mut self, run: &Run<'_>, xs: &[u32], scratch: &mut Scratch) {
        for (step, op) in run.program.iter().enumerate() {
            match op {
                Op::Take(item) => {
                    for at in 0..xs.len() {
                        self.at_hand.items[at * self.stride] = *item;
                    }
                    self.at_hand.counts.fill(1);
                }
                Op::Choose(choice) => self.choose(run, choice, xs, scratch),
                Op::Emit if step + 1 == run.program.len() && self.out.counts.iter().all(|&n| n == 0) => {
                    std::mem::swap(&mut self.out, &mut self.at_hand);
                    for count in &mut self.out.counts {
                        *count = (*count).min(run.result_max as u32);
                    }
                }
                Op::Emit => self.emit(run.result_max),
            }
        }
    }

    /// Appends what is at hand to the results.
    fn emit(&mut self, result_max: usize) {
        let counts = self.at_hand.counts.iter_mut().zip(&mut self.out.counts);
        for (at, (at_hand, out)) in counts.enumerate() {
            let first = at * self.stride;
            let count = (result_max - *out as usize).min(*at_hand as usize);
            let items = &self.at_hand.items[first..first + count];
            self.out.items[first + *out as usize..][..count].copy_from_slice(items);
            *out += count as u32;
            *at_hand = 0;
        }
    }

    /// Runs a step that chooses below each item at hand.
    fn choose(&mut self, run: &Run<'_>, choice: &Choice, xs: &[u32], scratch: &mut Scratch) {
        if choice.wanted(run.result_max) <= 0 {
            return self.at_hand.counts.fill(0);
        }
        let length = xs.len() * self.stride;
        self.found.clear();
        self.found.resize(length, OPEN);
        if choice.leaf {
            self.leaves.clear();
            self.leaves.resize(length, OPEN);
        }
        self.plan(run, choice, xs);
        self.run_tasks(run, choice, scratch);
        let chosen = if choice.leaf { &mut self.leaves } else { &mut self.found };
        std::mem::swap(chosen, &mut self.at_hand.items);
    }

    /// Makes a task for each bucket at hand. Each begins where the one before ends if that finds as many
    /// items as it has room for; if not, the input is left.
    fn plan(&mut self, run: &Run<'_>, choice: &Choice, xs: &[u32]) {
        self.tasks.clear();
        self.is_full.clear();
        self.is_full.resize(xs.len(), false);
        let wanted = choice.wanted(run.result_max) as usize;
        for (at, &x) in xs.iter().enumerate() {
            let first = at * self.stride;
            let mut filled = 0;
            let count = std::mem::take(&mut self.at_hand.counts[at]) as usize;
            for place in first..first + count {
                let item = self.at_hand.items[place];
                let Some(top) = slot_of(item).filter(|&slot| run.has_bucket(slot)) else { continue };
                let room = wanted.min(run.result_max - filled);
                if room > 0 {
                    self.tasks.push(Task::new(choice.mode, (at, x), top as u32, first + filled, room));
                    filled += room;
                } else {
                    self.is_full[at] = true;
                }
            }
            self.at_hand.counts[at] = filled as u32;
        }
    }

    fn run_tasks(&mut self, run: &Run<'_>, choice: &Choice, scratch: &mut Scratch) {
        let mut tasks = std::mem::take(&mut self.tasks);
        self.late.clear();
        for group in tasks.chunks_mut(INPUTS) {
            let room = group.iter().map(|task| task.room).max().unwrap_or(0);
            for _ in 0..room {
                self.try_all(run, choice, group, scratch);
            }
            self.late.extend(group.iter().filter(|task| !task.is_done));
            while self.late.len() >= INPUTS {
                self.try_late(run, choice, scratch);
            }
        }
        while !self.late.is_empty() {
            self.try_late(run, choice, scratch);
        }
        self.tasks = tasks;
    }

    /// Makes a try of the last late tasks, which are taken out unless they are done.
    fn try_late(&mut self, run: &Run<'_>, choice: &Choice, scratch: &mut Scratch) {
        let first = self.late.len().saturating_sub(INPUTS);
        let mut group = [Task::default(); INPUTS];
        let count = self.late.len() - first;
        group[..count].copy_from_slice(&self.late[first..]);
        self.late.truncate(first);
        self.try_all(run, choice, &mut group[..count], scratch);
        self.late.extend(group[..count].iter().filter(|task| !task.is_done));
    }

    /// Makes a try of each task, at most one per lane.
    fn try_all(&mut self, run: &Run<'_>, choice: &Choice, tasks: &mut [Task], scratch: &mut Scratch) {
        let wanted = choice.wanted(run.result_max) as u32;
        self.descents.make(run, Tries { choice, wanted, tasks, found: &self.found }, scratch);
        for (lane, task) in tasks.iter_mut().enumerate().filter(|(_, task)| !task.is_done) {
            let (found, leaves) = (&mut self.found[..], &mut self.leaves[..]);
            let chosen = Chosen { run, choice, wanted, found, leaves };
            if !task.go_on(chosen, self.descents.reached(lane)) {
                self.is_left[task.input as usize] = true;
                task.is_done = true;
            } else if task.is_done && task.len < task.room {
                self.ended_early(task);
            }
        }
    }

    /// Notes that a task found fewer items than it had room for, which shortens the list of its input if no
    /// other bucket follows.
    fn ended_early(&mut self, task: &Task) {
        let at = task.input as usize;
        let end = at * self.stride + self.at_hand.counts[at] as usize;
        if (task.begin + task.room) as usize == end && !self.is_full[at] {
            self.at_hand.counts[at] -= task.room - task.len;
        } else {
            self.is_left[at] = true;
        }
    }
}
