//! The picks that are made together, one per lane.

use super::Waiting;
use crate::crush::lanes::{self, Best, INPUTS, Lanes};
use crate::crush::map::ItemId;
use crate::crush::mapper::layout::NodeShape;
use crate::crush::mapper::pick::Scratch;
use crate::crush::mapper::rows::{Kernel, Queue, Row};
use crate::crush::mapper::walk::Run;

/// The picks of a group, in lanes. Lanes that are left over repeat the last pick.
#[derive(Clone, Debug)]
pub(super) struct Group {
    x: [u32; INPUTS],
    r: [u32; INPUTS],
    waiting: Vec<Waiting>,
    /// The items of the buckets of all lanes, item by item.
    ids: Vec<[u32; INPUTS]>,
    factors: Vec<[f32; INPUTS]>,
    sums: Vec<[u32; INPUTS]>,
    weights: Vec<[u32; INPUTS]>,
}

impl Default for Group {
    fn default() -> Self {
        Self {
            x: [0; INPUTS],
            r: [0; INPUTS],
            waiting: Vec::new(),
            ids: Vec::new(),
            factors: Vec::new(),
            sums: Vec::new(),
            weights: Vec::new(),
        }
    }
}

type Items = [Option<ItemId>; INPUTS];

impl Group {
    /// Takes the picks of a group, at least one and at most one per lane.
    pub fn fill(&mut self, waiting: impl Iterator<Item = Waiting>, input: impl Fn(&Waiting) -> u32) {
        self.waiting.clear();
        for (lane, waiting) in waiting.enumerate() {
            self.x[lane] = input(&waiting);
            self.r[lane] = waiting.want.r;
            self.waiting.push(waiting);
        }
        let (count, last) = (self.waiting.len(), self.waiting[self.waiting.len() - 1]);
        let last_x = self.x[count - 1];
        self.x[count..].fill(last_x);
        self.r[count..].fill(last.want.r);
    }

    /// The pick of a lane.
    pub fn waiting(&self, lane: usize) -> Waiting {
        self.waiting[lane.min(self.waiting.len() - 1)]
    }

    /// The items that the group picks.
    pub fn pick(&mut self, run: &Run<'_>, queue: Queue, scratch: &mut Scratch) -> Items {
        match queue.kernel {
            Kernel::Straw2 | Kernel::Straw => self.straws(run, queue, scratch),
            Kernel::List => self.lists(run, queue),
            Kernel::Tree => self.trees(run, queue),
            Kernel::Uniform => self.permutations(run),
        }
    }

    fn row<'a>(&self, run: &Run<'a>, lane: usize) -> &'a Row {
        &run.mapper.rows.rows[self.waiting(lane).row as usize]
    }

    /// The ids of the buckets, as words to hash.
    fn buckets(&self, run: &Run<'_>) -> [u32; INPUTS] {
        std::array::from_fn(|lane| !self.row(run, lane).node)
    }

    fn items(&self, run: &Run<'_>, positions: &[u32; INPUTS]) -> Items {
        std::array::from_fn(|lane| {
            run.node(self.row(run, lane).node).items.get(positions[lane] as usize).copied()
        })
    }

    fn straws(&mut self, run: &Run<'_>, queue: Queue, scratch: &mut Scratch) -> Items {
        let rows = &run.mapper.rows;
        let mut best = Best::NONE;
        let first = self.waiting(0).row;
        if self.waiting.iter().all(|waiting| waiting.row == first) {
            let at = rows.rows[first as usize].at;
            let (ids, factors) = (&rows.ids[at..at + queue.size], &rows.factors[at..at + queue.size]);
            straws_of_one(queue.kernel, run.mapper.lanes, (&self.x, &self.r), ids, factors, &mut best);
        } else {
            self.fill_straws(run, queue.size);
            let (ids, factors) = (&self.ids[..queue.size], &self.factors[..queue.size]);
            straws_of_each(queue.kernel, run.mapper.lanes, (&self.x, &self.r), ids, factors, &mut best);
        }
        let is_straw2 = queue.kernel == Kernel::Straw2;
        std::array::from_fn(|lane| {
            let waiting = self.waiting(lane);
            let row = &rows.rows[waiting.row as usize];
            let position = best.position(lane);
            let is_open = if is_straw2 {
                best.is_open_in_straw2(lane, rows.factors[row.at + position])
            } else {
                best.is_open_in_straw(lane)
            };
            if is_open {
                return run.pick(waiting.want, self.x[lane], scratch);
            }
            run.node(row.node).items.get(position).copied()
        })
    }

    fn fill_straws(&mut self, run: &Run<'_>, size: usize) {
        let rows = &run.mapper.rows;
        if self.ids.len() < size {
            self.ids.resize(size, [0; INPUTS]);
            self.factors.resize(size, [0.0; INPUTS]);
        }
        for lane in 0..INPUTS {
            let at = self.row(run, lane).at;
            let from = rows.ids[at..at + size].iter().zip(&rows.factors[at..at + size]);
            let to = self.ids[..size].iter_mut().zip(&mut self.factors[..size]);
            for ((id, factor), (to_id, to_factor)) in from.zip(to) {
                to_id[lane] = *id;
                to_factor[lane] = *factor;
            }
        }
    }

    fn lists(&mut self, run: &Run<'_>, queue: Queue) -> Items {
        let size = queue.size;
        for columns in [&mut self.ids, &mut self.sums, &mut self.weights] {
            columns.resize(columns.len().max(size), [0; INPUTS]);
        }
        self.factors.resize(self.ids.len(), [0.0; INPUTS]);
        for lane in 0..INPUTS {
            let NodeShape::List { words, sums, weights } = &run.node(self.row(run, lane).node).shape else {
                unreachable!("only lists are in the queues of lists")
            };
            for (from, to) in [(words, &mut self.ids), (sums, &mut self.sums), (weights, &mut self.weights)] {
                for (value, to) in from[from.len() - size..].iter().zip(to) {
                    to[lane] = *value;
                }
            }
        }
        let buckets = self.buckets(run);
        let mut hits = [0; INPUTS];
        let (ids, sums, weights) = (&self.ids[..size], &self.sums[..size], &self.weights[..size]);
        lanes::list_hits(run.mapper.lanes, (&self.x, &self.r, &buckets), ids, sums, weights, &mut hits);
        self.items(run, &hits)
    }

    /// All lanes descend one level at a time; trees of one queue have the same number of levels.
    fn trees(&mut self, run: &Run<'_>, queue: Queue) -> Items {
        let buckets = self.buckets(run);
        let mut nodes = [queue.size as u32 / 2; INPUTS];
        let mut hashes = [0; INPUTS];
        let mut half = queue.size / 4;
        while half > 0 {
            lanes::tree_hashes(run.mapper.lanes, (&self.x, &self.r, &buckets), &nodes, &mut hashes);
            for lane in 0..INPUTS {
                let NodeShape::Tree { node_weights, .. } = &run.node(self.row(run, lane).node).shape else {
                    unreachable!("only trees are in the queues of trees")
                };
                let at = nodes[lane] as usize;
                let point = (u64::from(hashes[lane]) * u64::from(node_weights[at])) >> 32;
                let is_left = point < u64::from(node_weights[at - half]);
                nodes[lane] = (if is_left { at - half } else { at + half }) as u32;
            }
            half /= 2;
        }
        self.items(run, &nodes.map(|node| node >> 1))
    }

    fn permutations(&mut self, run: &Run<'_>) -> Items {
        let buckets = self.buckets(run);
        let sizes = std::array::from_fn(|lane| run.node(self.row(run, lane).node).items.len() as u32);
        let mut places = std::array::from_fn(|lane| self.r[lane] % sizes[lane]);
        lanes::place_in_permutation(run.mapper.lanes, (&self.x, &buckets), &sizes, &mut places);
        self.items(run, &places)
    }
}

type At<'a> = (&'a [u32; INPUTS], &'a [u32; INPUTS]);

fn straws_of_one(kernel: Kernel, lanes: Lanes, at: At<'_>, ids: &[u32], factors: &[f32], best: &mut Best) {
    match kernel {
        Kernel::Straw => lanes::straw_row(lanes, at, ids, factors, best),
        _ => lanes::straw2_row(lanes, at, ids, factors, best),
    }
}

fn straws_of_each(
    kernel: Kernel,
    lanes: Lanes,
    at: At<'_>,
    ids: &[[u32; INPUTS]],
    factors: &[[f32; INPUTS]],
    best: &mut Best,
) {
    match kernel {
        Kernel::Straw => lanes::straw_columns(lanes, at, ids, factors, best),
        _ => lanes::straw2_columns(lanes, at, ids, factors, best),
    }
}
