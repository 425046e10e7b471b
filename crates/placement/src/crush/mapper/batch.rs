//! Maps many inputs at once: each is on its own way through the rule, and those that wait for an item of the
//! same kind of bucket pick together, one per lane. An input that is done makes room for the next.
//!
//! Picks wait in queues by kind and size of bucket, so that lanes seldom do work for others. Large buckets
//! pick alone, with lanes over their items.

use super::group::Group;
use super::mappings::Mappings;
use super::paths::Paths;
use super::pick::Scratch;
use super::rows::{ALONE, Child, Kernel, PLACES};
use super::run::Run;
use crate::crush::lanes::{INPUTS, STEPS};

/// The number of inputs under way: several times the lanes, so that most picks find a full queue, and few
/// enough to stay in the cache.
const UNDER_WAY: usize = 3 * INPUTS;

/// The maximum number of items of all inputs under way, which limits their memory.
const ITEMS_UNDER_WAY: usize = 1 << 20;

/// The working memory of a batch.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    paths: Paths,
    /// The inputs under way that wait for a pick, with room for all of them in each queue.
    queues: Vec<[u32; UNDER_WAY]>,
    /// The number of inputs in each queue.
    waiting: Vec<usize>,
    group: Group,
    /// The inputs in the lanes.
    in_lanes: Vec<u32>,
}

/// The inputs of a batch with their numbers, and where their results go.
pub(super) struct Traffic<'a> {
    pub inputs: &'a [(usize, u32)],
    pub next: usize,
    pub found: &'a mut Mappings,
}

impl Batch {
    /// Maps all inputs.
    pub fn map(&mut self, run: &Run<'_>, mut traffic: Traffic<'_>, scratch: &mut Scratch) {
        let queues = run.mapper.rows.queues.len();
        self.queues.resize(self.queues.len().max(queues), [0; UNDER_WAY]);
        self.waiting.clear();
        self.waiting.resize(queues, 0);
        let items_max = run.items_max();
        let few = (ITEMS_UNDER_WAY / items_max).max(1);
        let under_way = UNDER_WAY.min(few).min(traffic.inputs.len());
        self.paths.restart(under_way, items_max);
        for path in 0..under_way {
            self.begin(run, &mut traffic, path);
        }
        while let Some(queue) = (0..queues).max_by_key(|&queue| self.waiting[queue]) {
            if self.waiting[queue] == 0 {
                break;
            }
            self.pick_together(run, &mut traffic, scratch, queue);
        }
    }

    /// Starts the next input, past those that are done without a pick.
    fn begin(&mut self, run: &Run<'_>, traffic: &mut Traffic<'_>, path: usize) {
        while let Some(&(number, x)) = traffic.inputs.get(traffic.next) {
            traffic.next += 1;
            if self.paths.start(run, path, (number, x)) {
                return self.wait(run, path);
            }
            traffic.found.set(number, self.paths.out(path));
        }
    }

    /// Puts an input into the queue of its next pick.
    #[inline]
    fn wait(&mut self, run: &Run<'_>, path: usize) {
        let want = self.paths.wanted(path);
        let row = &run.mapper.rows.rows[want.row as usize];
        let mut queue = row.queue;
        if want.is_permuted {
            queue = ALONE;
        } else if queue == PLACES {
            let place = if want.r < row.uniform { want.r } else { want.r % row.uniform };
            queue = if place < STEPS as u32 { PLACES + place } else { ALONE };
        }
        let waiting = &mut self.waiting[queue as usize];
        self.queues[queue as usize][*waiting] = path as u32;
        *waiting += 1;
    }

    fn pick_together(
        &mut self,
        run: &Run<'_>,
        traffic: &mut Traffic<'_>,
        scratch: &mut Scratch,
        queue: usize,
    ) {
        let waiting = &mut self.waiting[queue];
        let first = waiting.saturating_sub(INPUTS);
        self.in_lanes.clear();
        self.in_lanes.extend_from_slice(&self.queues[queue][first..*waiting]);
        *waiting = first;
        let queue = run.mapper.rows.queues[queue];
        for (lane, &path) in self.in_lanes.iter().enumerate() {
            let want = self.paths.wanted(path as usize);
            let row = &run.mapper.rows.rows[want.row as usize];
            self.group.x[lane] = want.x;
            self.group.r[lane] = want.r;
            self.group.set_row(lane, (want.row, row));
            self.group.places[lane] = queue.size as u32;
        }
        let count = self.in_lanes.len();
        self.group.fill_up(count);
        match queue.kernel {
            Kernel::Empty => {}
            Kernel::Alone => {
                for lane in 0..count {
                    self.group.children[lane] = self.alone(run, lane, scratch);
                }
            }
            _ => {
                let mut open = self.group.pick(run, queue, count);
                while open > 0 {
                    let lane = open.trailing_zeros() as usize;
                    self.group.children[lane] = self.alone(run, lane, scratch);
                    open &= open - 1;
                }
            }
        }
        for lane in 0..count {
            let path = self.in_lanes[lane] as usize;
            let waits = match queue.kernel {
                Kernel::Empty => self.paths.found_nothing(run, path),
                _ => self.paths.picked(run, path, self.group.children[lane]),
            };
            if waits {
                self.wait(run, path);
            } else {
                traffic.found.set(self.paths.number(path), self.paths.out(path));
                self.begin(run, traffic, path);
            }
        }
    }

    /// Picks for one input outside of the order of its picks, so that permutations are not kept.
    fn alone(&self, run: &Run<'_>, lane: usize, scratch: &mut Scratch) -> Child {
        let path = self.in_lanes[lane] as usize;
        let want = self.paths.want(run, path);
        scratch.start();
        run.pick(want, self.group.x[lane], scratch)
    }
}
