//! The picks that are made together, one per lane.

use super::rows::{Child, Kernel, Queue, Row, Rows};
use super::run::Run;
use crate::crush::lanes::{self, Best, INPUTS, Lanes, Lots};

/// The number of lanes that are read for so many picks: kernels read 32 at once.
fn padded(count: usize) -> usize {
    count.next_multiple_of(32).min(INPUTS)
}

/// The picks of a group, in lanes. Lanes that are left over repeat the last pick.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub x: [u32; INPUTS],
    pub r: [u32; INPUTS],
    /// The rows of the buckets, and where their data and their items begin.
    pub rows: [u32; INPUTS],
    at: [u32; INPUTS],
    children_at: [u32; INPUTS],
    /// The places in permutations of uniform buckets.
    pub places: [u32; INPUTS],
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
            x: [0; INPUTS],
            r: [0; INPUTS],
            rows: [0; INPUTS],
            at: [0; INPUTS],
            children_at: [0; INPUTS],
            places: [0; INPUTS],
            children: [Child::BAD; INPUTS],
            ids: Vec::new(),
            factors: Vec::new(),
            sums: Vec::new(),
            weights: Vec::new(),
        }
    }
}

impl Group {
    /// Sets the row of the bucket where a lane picks.
    #[inline(always)]
    pub(super) fn set_row(&mut self, lane: usize, (number, row): (u32, &Row)) {
        self.rows[lane] = number;
        self.at[lane] = row.at;
        self.children_at[lane] = row.children;
    }

    /// Lets lanes that are left over repeat the last pick. There is at least one pick, and at most one per
    /// lane.
    pub(super) fn fill_up(&mut self, count: usize) {
        let end = padded(count);
        let lists =
            [&mut self.x, &mut self.r, &mut self.rows, &mut self.at, &mut self.children_at, &mut self.places];
        for list in lists {
            let last = list[count - 1];
            list[count..end].fill(last);
        }
    }

    /// Picks for `count` inputs; returns the lanes, one bit each, that have to pick alone.
    pub fn pick(&mut self, run: &Run<'_>, queue: Queue, count: usize) -> u64 {
        let rows = &run.mapper.rows;
        match queue.kernel {
            Kernel::Straw2 | Kernel::Straw => return self.straws(run, queue, count),
            Kernel::List => self.lists(run, queue, count),
            Kernel::Tree => self.trees(run, queue, count),
            Kernel::Place => self.places(run, queue, count),
            Kernel::Empty | Kernel::First | Kernel::Alone => self.choose(rows, &[0; INPUTS], count),
        }
        0
    }

    fn lots(&self, count: usize) -> Lots<'_> {
        Lots { x: &self.x, r: &self.r, count }
    }

    /// The ids of the buckets, as words to hash.
    fn buckets(&self, rows: &Rows, count: usize) -> [u32; INPUTS] {
        let mut ids = [0; INPUTS];
        for (id, &row) in ids.iter_mut().zip(&self.rows).take(padded(count)) {
            *id = !rows.rows[row as usize].node;
        }
        ids
    }

    /// Takes the items at these positions.
    fn choose(&mut self, rows: &Rows, positions: &[u32; INPUTS], count: usize) {
        for (lane, &position) in positions.iter().enumerate().take(count) {
            self.children[lane] = rows.children[(self.children_at[lane] + position) as usize];
        }
    }

    fn straws(&mut self, run: &Run<'_>, queue: Queue, count: usize) -> u64 {
        let rows = &run.mapper.rows;
        let mut best = Best::NONE;
        let first = self.at[0];
        let is_straw2 = queue.kernel == Kernel::Straw2;
        if self.at[..count].iter().fold(true, |all, &at| all & (at == first)) {
            let straws = &rows.straws[first as usize..][..queue.size];
            straws_of_one(is_straw2, run.mapper.lanes, self.lots(count), straws, &mut best);
        } else {
            self.fill_straws(rows, queue.size, count);
            let (ids, factors) = (&self.ids[..queue.size], &self.factors[..queue.size]);
            straws_of_each(is_straw2, run.mapper.lanes, self.lots(count), ids, factors, &mut best);
        }
        let mut open = 0;
        for lane in 0..count {
            let position = best.position(lane);
            let is_open = if is_straw2 {
                best.is_open_in_straw2(lane, rows.straws[self.at[lane] as usize + position].1)
            } else {
                best.is_open_in_straw(lane)
            };
            open |= u64::from(is_open) << lane;
            // Where nothing wins, as in a bucket of straws of length 0, there may be no such item.
            let child = rows.children.get(self.children_at[lane] as usize + position);
            self.children[lane] = child.copied().unwrap_or(Child::BAD);
        }
        open
    }

    fn fill_straws(&mut self, rows: &Rows, size: usize, count: usize) {
        if self.ids.len() < size {
            self.ids.resize(size, [0; INPUTS]);
            self.factors.resize(size, [0.0; INPUTS]);
        }
        for lane in 0..padded(count) {
            let from = &rows.straws[self.at[lane] as usize..][..size];
            let to = self.ids[..size].iter_mut().zip(&mut self.factors[..size]);
            for (&(id, factor), (to_id, to_factor)) in from.iter().zip(to) {
                to_id[lane] = id;
                to_factor[lane] = factor;
            }
        }
    }

    fn lists(&mut self, run: &Run<'_>, queue: Queue, count: usize) {
        let (rows, size) = (&run.mapper.rows, queue.size);
        for columns in [&mut self.ids, &mut self.sums, &mut self.weights] {
            columns.resize(columns.len().max(size), [0; INPUTS]);
        }
        self.factors.resize(self.ids.len(), [0.0; INPUTS]);
        for lane in 0..padded(count) {
            let from = &rows.entries[self.at[lane] as usize..][..size];
            let to = self.ids.iter_mut().zip(&mut self.sums).zip(&mut self.weights);
            for (entry, ((id, sum), weight)) in from.iter().zip(to) {
                (id[lane], sum[lane], weight[lane]) = (entry.id, entry.sum, entry.weight);
            }
        }
        let buckets = self.buckets(&run.mapper.rows, count);
        let mut hits = [0; INPUTS];
        let columns = [&self.ids[..size], &self.sums[..size], &self.weights[..size]];
        lanes::list_hits(run.mapper.lanes, self.lots(count), &buckets, columns, &mut hits);
        self.choose(rows, &hits, count);
    }

    /// All lanes descend one level at a time; trees of one queue have the same number of levels.
    fn trees(&mut self, run: &Run<'_>, queue: Queue, count: usize) {
        let rows = &run.mapper.rows;
        let buckets = self.buckets(&run.mapper.rows, count);
        let mut nodes = [queue.size as u32 / 2; INPUTS];
        let mut hashes = [0; INPUTS];
        let mut half = queue.size / 4;
        while half > 0 {
            lanes::tree_hashes(run.mapper.lanes, self.lots(count), &buckets, &nodes, &mut hashes);
            for lane in 0..count {
                let weights = &rows.trees[self.at[lane] as usize..][..queue.size];
                let at = nodes[lane] as usize;
                let point = (u64::from(hashes[lane]) * u64::from(weights[at])) >> 32;
                let is_left = point < u64::from(weights[at - half]);
                nodes[lane] = (if is_left { at - half } else { at + half }) as u32;
            }
            half /= 2;
        }
        for (lane, node) in nodes.iter().enumerate().take(count) {
            let row = &rows.rows[self.rows[lane] as usize];
            let position = *node as usize >> 1;
            let is_inside = position < run.node(row.node).items.len();
            self.children[lane] =
                if is_inside { rows.children[row.children as usize + position] } else { Child::BAD };
        }
    }

    /// The greatest place is the size of the queue.
    fn places(&mut self, run: &Run<'_>, queue: Queue, count: usize) {
        let buckets = self.buckets(&run.mapper.rows, count);
        let rows = &run.mapper.rows;
        let mut sizes = [1; INPUTS];
        for (size, &row) in sizes.iter_mut().zip(&self.rows).take(padded(count)) {
            *size = rows.rows[row as usize].uniform;
        }
        let mut positions = [0; INPUTS];
        let most = queue.size as u32;
        lanes::place_in_permutation(
            run.mapper.lanes,
            Lots { x: &self.x, r: &self.places, count },
            &buckets,
            &sizes,
            most,
            &mut positions,
        );
        self.choose(rows, &positions, count);
    }
}

fn straws_of_one(is_straw2: bool, lanes: Lanes, lots: Lots<'_>, straws: &[(u32, f32)], best: &mut Best) {
    if is_straw2 {
        lanes::straw2_row(lanes, lots, straws, best);
    } else {
        lanes::straw_row(lanes, lots, straws, best);
    }
}

fn straws_of_each(
    is_straw2: bool,
    lanes: Lanes,
    lots: Lots<'_>,
    ids: &[[u32; INPUTS]],
    factors: &[[f32; INPUTS]],
    best: &mut Best,
) {
    if is_straw2 {
        lanes::straw2_columns(lanes, lots, ids, factors, best);
    } else {
        lanes::straw_columns(lanes, lots, ids, factors, best);
    }
}
