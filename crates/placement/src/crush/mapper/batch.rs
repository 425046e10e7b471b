//! Maps many inputs at once: each is on its own way through the rule, and those that wait for an item of the
//! same kind of bucket pick together, one per lane. An input that is done makes room for the next.
//!
//! Picks wait in queues by kind and size of bucket, so that lanes seldom do work for others. Large buckets
//! pick alone, with lanes over their items.

mod group;

use super::layout::Way;
use super::pick::Scratch;
use super::rows::Kernel;
use super::walk::{Run, Walk, Want};
use crate::crush::lanes::{INPUTS, STEPS};
use crate::crush::map::ItemId;
use group::Group;

/// The number of inputs under way: several times the lanes, so that most picks find a full queue, and few
/// enough to stay in the cache.
const UNDER_WAY: usize = 4 * INPUTS;

/// The maximum number of results of all inputs under way, which limits their memory.
const RESULTS_UNDER_WAY: usize = 1 << 20;

/// A pick in a queue.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    walk: u32,
    row: u32,
    want: Want,
}

/// The working memory of a batch.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    walks: Vec<Walk>,
    /// For each walk the number of its input.
    numbers: Vec<usize>,
    queues: Vec<Vec<Waiting>>,
    group: Group,
}

/// The inputs of a batch, and where their results go.
pub(super) struct Traffic<'a> {
    pub inputs: &'a [u32],
    pub next: usize,
    pub done: &'a mut dyn FnMut(usize, &[ItemId]),
}

impl Batch {
    /// Maps all inputs; results come in any order.
    pub fn map(&mut self, run: &Run<'_>, traffic: &mut Traffic<'_>, scratch: &mut Scratch) {
        let rows = &run.mapper.rows;
        self.queues.resize_with(self.queues.len().max(rows.queues.len()), Vec::new);
        let few = (RESULTS_UNDER_WAY / run.result_max.max(1)).max(1);
        let under_way = UNDER_WAY.min(few).min(traffic.inputs.len());
        if self.walks.len() < under_way {
            self.walks.resize(under_way, Walk::default());
            self.numbers.resize(under_way, 0);
        }
        for walk in 0..under_way {
            let want = self.begin(run, traffic, walk);
            self.settle(run, traffic, scratch, walk, want);
        }
        while let Some(queue) = (0..rows.queues.len()).max_by_key(|&queue| self.queues[queue].len()) {
            if self.queues[queue].is_empty() {
                break;
            }
            self.pick_together(run, traffic, scratch, queue);
        }
    }

    /// Starts the next input, past those that are done without a pick.
    fn begin(&mut self, run: &Run<'_>, traffic: &mut Traffic<'_>, walk: usize) -> Option<Want> {
        while let Some(&x) = traffic.inputs.get(traffic.next) {
            let number = traffic.next;
            traffic.next += 1;
            let want = self.walks[walk].start(run, x);
            self.numbers[walk] = number;
            if want.is_some() {
                return want;
            }
            (traffic.done)(number, &self.walks[walk].out);
        }
        None
    }

    /// Makes the picks of a walk that are made alone, up to one for a queue or the end of the inputs.
    #[inline]
    fn settle(
        &mut self,
        run: &Run<'_>,
        traffic: &mut Traffic<'_>,
        scratch: &mut Scratch,
        walk: usize,
        mut want: Option<Want>,
    ) {
        while let Some(wanted) = want {
            let item = match way(run, wanted) {
                Way::Together(row) => {
                    let queue = run.mapper.rows.rows[row as usize].queue as usize;
                    self.queues[queue].push(Waiting { walk: walk as u32, row, want: wanted });
                    return;
                }
                Way::First => run.node(wanted.node).items.first().copied(),
                Way::Alone => alone(run, wanted, self.walks[walk].x, scratch),
            };
            want = self.picked(run, traffic, walk, item);
        }
    }

    /// Goes on with a picked item; at the end of an input, with the next input.
    #[inline]
    fn picked(
        &mut self,
        run: &Run<'_>,
        traffic: &mut Traffic<'_>,
        walk: usize,
        item: Option<ItemId>,
    ) -> Option<Want> {
        let want = self.walks[walk].picked(run, item);
        if want.is_some() {
            return want;
        }
        (traffic.done)(self.numbers[walk], &self.walks[walk].out);
        self.begin(run, traffic, walk)
    }

    fn pick_together(
        &mut self,
        run: &Run<'_>,
        traffic: &mut Traffic<'_>,
        scratch: &mut Scratch,
        queue: usize,
    ) {
        let waiting = &mut self.queues[queue];
        let first = waiting.len().saturating_sub(INPUTS);
        let count = waiting.len() - first;
        self.group.fill(waiting.drain(first..), |waiting| self.walks[waiting.walk as usize].x);
        let items = self.group.pick(run, run.mapper.rows.queues[queue], scratch);
        for (lane, &item) in items.iter().enumerate().take(count) {
            let walk = self.group.waiting(lane).walk as usize;
            let want = self.picked(run, traffic, walk, item);
            self.settle(run, traffic, scratch, walk, want);
        }
    }
}

/// How the wanted item is picked.
#[inline]
fn way(run: &Run<'_>, want: Want) -> Way {
    let node = run.node(want.node);
    if want.is_permuted {
        return Way::Alone;
    }
    let args = run.args.and_then(|args| args[want.node as usize].as_ref());
    let way = match args {
        Some(args) => *args.ways.get(want.position as usize).or(args.ways.last()).unwrap_or(&node.way),
        None => node.way,
    };
    match way {
        Way::Together(row) => {
            let queue = run.mapper.rows.rows[row as usize].queue as usize;
            let is_late = run.mapper.rows.queues[queue].kernel == Kernel::Uniform
                && want.r as usize % node.items.len() >= STEPS;
            if is_late { Way::Alone } else { way }
        }
        other => other,
    }
}

/// Picks for one input outside of the order of its picks, so that permutations are not kept.
fn alone(run: &Run<'_>, want: Want, x: u32, scratch: &mut Scratch) -> Option<ItemId> {
    scratch.start();
    run.pick(want, x, scratch)
}
