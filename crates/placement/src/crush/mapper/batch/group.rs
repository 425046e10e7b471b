//! The picks that are made together, one per lane.

use crate::crush::lanes::{self, Best, INPUTS, Lanes};
use crate::crush::mapper::paths::Paths;
use crate::crush::mapper::rows::{Child, Kernel, Queue, Row, Rows};
use crate::crush::mapper::run::Run;

/// The picks of a group, in lanes. Lanes that are left over repeat the last pick.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// The inputs, as numbers of those under way.
    pub paths: [u32; INPUTS],
    pub x: [u32; INPUTS],
    r: [u32; INPUTS],
    rows: [Row; INPUTS],
    /// The items picked.
    pub children: [Child; INPUTS],
    /// The items of the buckets of all lanes, item by item.
    ids: Vec<[u32; INPUTS]>,
    factors: Vec<[f32; INPUTS]>,
    sums: Vec<[u32; INPUTS]>,
    weights: Vec<[u32; INPUTS]>,
}

impl Default for Group {
    fn default() -> Self {
        Self {
            paths: [0; INPUTS],
            x: [0; INPUTS],
            r: [0; INPUTS],
            rows: [Row::NONE; INPUTS],
            children: [Child::BAD; INPUTS],
            ids: Vec::new(),
            factors: Vec::new(),
            sums: Vec::new(),
            weights: Vec::new(),
        }
    }
}

impl Group {
    /// Takes the picks of a group, at least one and at most one per lane; returns their number.
    pub fn fill(&mut self, rows: &Rows, waiting: &[u32], paths: &Paths) -> usize {
        let count = waiting.len();
        for (lane, &path) in waiting.iter().enumerate().take(INPUTS) {
            let want = paths.wanted(path as usize);
            self.paths[lane] = path;
            self.x[lane] = want.x;
            self.r[lane] = want.r;
            self.rows[lane] = rows.rows[want.row as usize];
        }
        let last = count - 1;
        let (x, r, row) = (self.x[last], self.r[last], self.rows[last]);
        self.x[count..].fill(x);
        self.r[count..].fill(r);
        self.rows[count..].fill(row);
        count
    }

    /// Picks for `count` inputs; returns the lanes, one bit each, that have to pick alone.
    pub fn pick(&mut self, run: &Run<'_>, queue: Queue, count: usize) -> u64 {
        let rows = &run.mapper.rows;
        match queue.kernel {
            Kernel::Straw2 | Kernel::Straw => return self.straws(run, queue, count),
            Kernel::List => self.lists(run, queue),
            Kernel::Tree => self.trees(run, queue),
            Kernel::Place => self.places(run, queue),
            Kernel::Empty | Kernel::First | Kernel::Alone => self.choose(rows, &[0; INPUTS]),
        }
        0
    }

    /// The ids of the buckets, as words to hash.
    fn buckets(&self) -> [u32; INPUTS] {
        std::array::from_fn(|lane| !self.rows[lane].node)
    }

    /// Takes the items at these positions.
    fn choose(&mut self, rows: &Rows, positions: &[u32; INPUTS]) {
        for (lane, &position) in positions.iter().enumerate() {
            let row = &self.rows[lane];
            self.children[lane] = rows.children[row.children + position as usize];
        }
    }

    fn straws(&mut self, run: &Run<'_>, queue: Queue, count: usize) -> u64 {
        let rows = &run.mapper.rows;
        let mut best = Best::NONE;
        let first = self.rows[0].at;
        let is_straw2 = queue.kernel == Kernel::Straw2;
        if self.rows.iter().fold(true, |all, row| all & (row.at == first)) {
            let straws = &rows.straws[first..][..queue.size];
            straws_of_one(is_straw2, run.mapper.lanes, (&self.x, &self.r), straws, &mut best);
        } else {
            self.fill_straws(rows, queue.size);
            let (ids, factors) = (&self.ids[..queue.size], &self.factors[..queue.size]);
            straws_of_each(is_straw2, run.mapper.lanes, (&self.x, &self.r), ids, factors, &mut best);
        }
        let mut open = 0;
        for lane in 0..count {
            let row = &self.rows[lane];
            let position = best.position(lane);
            let is_open = if is_straw2 {
                best.is_open_in_straw2(lane, rows.straws[row.at + position].1)
            } else {
                best.is_open_in_straw(lane)
            };
            if is_open {
                open |= 1 << lane;
            } else {
                self.children[lane] = rows.children[row.children + position];
            }
        }
        open
    }

    fn fill_straws(&mut self, rows: &Rows, size: usize) {
        if self.ids.len() < size {
            self.ids.resize(size, [0; INPUTS]);
            self.factors.resize(size, [0.0; INPUTS]);
        }
        for lane in 0..INPUTS {
            let from = &rows.straws[self.rows[lane].at..][..size];
            let to = self.ids[..size].iter_mut().zip(&mut self.factors[..size]);
            for (&(id, factor), (to_id, to_factor)) in from.iter().zip(to) {
                to_id[lane] = id;
                to_factor[lane] = factor;
            }
        }
    }

    fn lists(&mut self, run: &Run<'_>, queue: Queue) {
        let (rows, size) = (&run.mapper.rows, queue.size);
        for columns in [&mut self.ids, &mut self.sums, &mut self.weights] {
            columns.resize(columns.len().max(size), [0; INPUTS]);
        }
        self.factors.resize(self.ids.len(), [0.0; INPUTS]);
        for lane in 0..INPUTS {
            let from = &rows.entries[self.rows[lane].at..][..size];
            let to = self.ids.iter_mut().zip(&mut self.sums).zip(&mut self.weights);
            for (entry, ((id, sum), weight)) in from.iter().zip(to) {
                (id[lane], sum[lane], weight[lane]) = (entry.id, entry.sum, entry.weight);
            }
        }
        let buckets = self.buckets();
        let mut hits = [0; INPUTS];
        let (ids, sums, weights) = (&self.ids[..size], &self.sums[..size], &self.weights[..size]);
        lanes::list_hits(run.mapper.lanes, (&self.x, &self.r, &buckets), ids, sums, weights, &mut hits);
        self.choose(rows, &hits);
    }

    /// All lanes descend one level at a time; trees of one queue have the same number of levels.
    fn trees(&mut self, run: &Run<'_>, queue: Queue) {
        let rows = &run.mapper.rows;
        let buckets = self.buckets();
        let mut nodes = [queue.size as u32 / 2; INPUTS];
        let mut hashes = [0; INPUTS];
        let mut half = queue.size / 4;
        while half > 0 {
            lanes::tree_hashes(run.mapper.lanes, (&self.x, &self.r, &buckets), &nodes, &mut hashes);
            for lane in 0..INPUTS {
                let weights = &rows.trees[self.rows[lane].at..][..queue.size];
                let at = nodes[lane] as usize;
                let point = (u64::from(hashes[lane]) * u64::from(weights[at])) >> 32;
                let is_left = point < u64::from(weights[at - half]);
                nodes[lane] = (if is_left { at - half } else { at + half }) as u32;
            }
            half /= 2;
        }
        for (lane, node) in nodes.iter().enumerate() {
            let row = &self.rows[lane];
            let position = *node as usize >> 1;
            let is_inside = position < run.node(row.node).items.len();
            self.children[lane] = if is_inside { rows.children[row.children + position] } else { Child::BAD };
        }
    }

    fn places(&mut self, run: &Run<'_>, queue: Queue) {
        let rows = &run.mapper.rows;
        let buckets = self.buckets();
        let sizes = std::array::from_fn(|lane| self.rows[lane].uniform);
        let mut places = [0; INPUTS];
        lanes::place_in_permutation(
            run.mapper.lanes,
            (&self.x, &buckets),
            &sizes,
            queue.size as u32,
            &mut places,
        );
        self.choose(rows, &places);
    }
}

type At<'a> = (&'a [u32; INPUTS], &'a [u32; INPUTS]);

fn straws_of_one(is_straw2: bool, lanes: Lanes, at: At<'_>, straws: &[(u32, f32)], best: &mut Best) {
    if is_straw2 {
        lanes::straw2_row(lanes, at, straws, best);
    } else {
        lanes::straw_row(lanes, at, straws, best);
    }
}

fn straws_of_each(
    is_straw2: bool,
    lanes: Lanes,
    at: At<'_>,
    ids: &[[u32; INPUTS]],
    factors: &[[f32; INPUTS]],
    best: &mut Best,
) {
    if is_straw2 {
        lanes::straw2_columns(lanes, at, ids, factors, best);
    } else {
        lanes::straw_columns(lanes, at, ids, factors, best);
    }
}
