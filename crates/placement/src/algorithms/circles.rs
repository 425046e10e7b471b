//! Rings of sorted virtual nodes in a fast layout, used by [`super::Ring`] and [`super::MultiRing`].
//!
//! The exact table has two parts. The *directory* has one row per equal slice of the key space, which gives
//! the first node at or above the slice's begin, so the remaining search covers only the nodes of one slice:
//! three comparisons without a branch, more only in crowded slices. Each *node* stores its position and its
//! own server with the next distinct ones, four in all, so no walk along the ring is needed for short lists.
//! The [`Lines`] in front of the table answer nearly every lookup of up to three replicas from one cache
//! line.
//!
//! Servers take 16 bits if they fit (a node then has 16 bytes), else 32 bits (24 bytes): `W` is the size of a
//! node in words.

use super::cluster::{ServerId, ServerSet, SetupError};
use super::draws::fill_from;
use super::lines::{Lines, SERVERS, Stop};

/// The number of distinct servers stored with each node; longer lists walk the ring.
pub(super) const DEPTH: usize = 4;

/// The number of nodes compared without a branch: at half a node per slice, one slice in six hundred has more
/// (Poisson).
const WINDOW: usize = 3;

/// The number of keys in a batch whose directory rows are read before their nodes.
const BLOCK: usize = 32;

/// The maximum number of nodes: with more, nodes and guards could not be numbered in 32 bits.
const NODES_MAX: u64 = 1 << 31;

/// A virtual node before it is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Node {
    pub(super) circle: u32,
    /// Its position. A node at `u64::MAX` is moved down by one, so that a guard can be above all keys.
    pub(super) at: u64,
    pub(super) server: ServerId,
}

/// Both layouts behind one interface. The narrow one has lines in front of its table.
#[derive(Clone, Debug)]
pub(super) enum Circles {
    Narrow(Lines, Layout<2>),
    Wide(Layout<3>),
}

impl Circles {
    pub(super) fn build(circles: u32, nodes: Vec<Node>, servers: usize) -> Result<Circles, SetupError> {
        let asked = nodes.len() as u64;
        if nodes.is_empty() {
            return Err(SetupError::NoServers);
        }
        if asked > NODES_MAX {
            return Err(SetupError::TooManyPositions { asked, limit: NODES_MAX });
        }
        // A lane of all ones means that there is no server.
        if servers <= usize::from(u16::MAX) {
            let layout = Layout::build(circles, nodes);
            Ok(Circles::Narrow(layout.lines(circles), layout))
        } else {
            Ok(Circles::Wide(Layout::build(circles, nodes)))
        }
    }

    #[inline]
    pub(super) fn fill(&self, circle: u32, key: u64, down: &ServerSet, places: &mut [ServerId]) -> usize {
        match self {
            Circles::Narrow(lines, layout) => {
                let answered = places.len() <= SERVERS && lines.copy(circle, key, places);
                if answered && !places.iter().any(|server| down.contains(*server)) {
                    return places.len();
                }
                layout.fill(circle, key, down, places)
            }
            Circles::Wide(layout) => layout.fill(circle, key, down, places),
        }
    }

    /// Looks up many keys; places that cannot be filled from the key's circle hold [`ServerId::NONE`].
    #[inline]
    pub(super) fn fill_batch(
        &self,
        keys: &[u64],
        circle_of: impl Fn(u64) -> u32,
        replicas: usize,
        places: &mut [ServerId],
    ) {
        match (self, replicas) {
            (_, 0) => {}
            // The usual numbers of replicas, as constants for the compiler.
            (Circles::Narrow(lines, layout), 3) => layout.fill_by_lines::<3>(lines, keys, circle_of, places),
            (Circles::Narrow(lines, layout), 2) => layout.fill_by_lines::<2>(lines, keys, circle_of, places),
            (Circles::Narrow(lines, layout), 1) => layout.fill_by_lines::<1>(lines, keys, circle_of, places),
            (Circles::Narrow(_, layout), _) => layout.fill_blocks(keys, circle_of, replicas, places),
            (Circles::Wide(layout), _) => layout.fill_blocks(keys, circle_of, replicas, places),
        }
    }

    /// The servers from the key on, once per node, for one turn around the circle.
    pub(super) fn walk(&self, circle: u32, key: u64) -> Walk<'_> {
        match self {
            Circles::Narrow(_, layout) => Walk::Narrow(layout.walk(circle, key)),
            Circles::Wide(layout) => Walk::Wide(layout.walk(circle, key)),
        }
    }

    pub(super) fn runs(&self, circle: u32, server: ServerId, replicas: usize, run: &mut dyn FnMut(u64, u64)) {
        match self {
            Circles::Narrow(_, layout) => layout.runs(circle, server, replicas, run),
            Circles::Wide(layout) => layout.runs(circle, server, replicas, run),
        }
    }

    pub(super) fn nodes(&self) -> usize {
        match self {
            Circles::Narrow(_, layout) => layout.nodes(),
            Circles::Wide(layout) => layout.nodes(),
        }
    }
}

/// A walk in either layout.
pub(super) enum Walk<'a> {
    Narrow(Around<'a, 2>),
    Wide(Around<'a, 3>),
}

impl Iterator for Walk<'_> {
    type Item = ServerId;

    fn next(&mut self) -> Option<ServerId> {
        match self {
            Walk::Narrow(around) => around.next(),
            Walk::Wide(around) => around.next(),
        }
    }
}

/// All circles in one table. Each circle has a copy of its last node before its first (keys below the first
/// belong to it), and [`WINDOW`] guards above all keys after its last.
#[derive(Clone, Debug)]
pub(super) struct Layout<const W: usize> {
    table: Vec<[u64; W]>,
    /// The index of each circle's first node, and one more entry, as if another circle followed.
    starts: Vec<u32>,
    directory: Vec<u32>,
    slices_log2: u32,
}

impl<const W: usize> Layout<W> {
    const LANE_BITS: u32 = if W == 2 { 16 } else { 32 };
    const LANES_PER_WORD: usize = (64 / Self::LANE_BITS) as usize;
    const LANE_MASK: u64 = (1 << Self::LANE_BITS) - 1;
    const NO_SERVERS: [u64; W] = [u64::MAX; W];

    fn build(circles: u32, mut nodes: Vec<Node>) -> Layout<W> {
        nodes.iter_mut().for_each(|node| node.at = node.at.min(u64::MAX - 1));
        nodes.sort_unstable();
        // If two nodes have one position, only one of them can own keys: the one with the lower id is kept.
        nodes.dedup_by_key(|node| (node.circle, node.at));
        let mut table = Vec::with_capacity(nodes.len() + circles as usize * (1 + WINDOW));
        let mut starts = Vec::with_capacity(circles as usize + 1);
        let mut most = 0;
        let mut rest = nodes.as_slice();
        for circle in 0..circles {
            let (own, others) = rest.split_at(rest.partition_point(|node| node.circle == circle));
            rest = others;
            most = most.max(own.len());
            starts.push(table.len() as u32 + 1);
            Self::append_circle(&mut table, own);
        }
        starts.push(table.len() as u32 + 1);
        // At least two slices per node, at most four.
        let slices_log2 = (2 * most).next_power_of_two().trailing_zeros().max(1);
        let mut layout = Layout { table, starts, directory: Vec::new(), slices_log2 };
        layout.law_of_circles();
        layout.directory = layout.index();
        layout
    }

    /// The nodes of a circle are in the order of positions, and each lists distinct servers without a gap.
    fn law_of_circles(&self) {
        for circle in 0..self.starts.len() - 1 {
            let (begin, end) = self.bounds(circle as u32);
            let nodes = &self.table[begin..end];
            let in_order = nodes.is_sorted_by(|left, right| left[0] < right[0]);
            assert!(in_order, "the nodes of a circle are in the order of their positions: circle {circle}");
            let distinct = |node: &[u64; W]| {
                let list: [u64; DEPTH] = std::array::from_fn(|lane| Self::lane(node, lane));
                let kept = list.iter().position(|server| *server == Self::LANE_MASK).unwrap_or(DEPTH);
                let rest = list[kept..].iter().all(|server| *server == Self::LANE_MASK);
                rest && (1..kept).all(|at| !list[..at].contains(&list[at]))
            };
            assert!(
                nodes.iter().all(distinct),
                "a node lists distinct servers without a gap: circle {circle}"
            );
        }
    }

    /// For each slice of each circle, the first node at or above the slice's begin.
    fn index(&self) -> Vec<u32> {
        let slices = 1u64 << self.slices_log2;
        let mut directory = Vec::with_capacity((self.starts.len() - 1) << self.slices_log2);
        for circle in 0..self.starts.len() - 1 {
            let (mut at, end) = self.bounds(circle as u32);
            for slice in 0..slices {
                while at < end && self.table[at][0] < slice << (64 - self.slices_log2) {
                    at += 1;
                }
                directory.push(at as u32);
            }
        }
        directory
    }

    fn nodes(&self) -> usize {
        self.table.len() - (self.starts.len() - 1) * (1 + WINDOW)
    }

    /// The indices of a circle's nodes.
    fn bounds(&self, circle: u32) -> (usize, usize) {
        let circle = circle as usize;
        (self.starts[circle] as usize, self.starts[circle + 1] as usize - 1 - WINDOW)
    }

    /// The first node of the key's slice.
    #[inline]
    fn slice_begin(&self, circle: u32, key: u64) -> usize {
        let row = (circle as usize) << self.slices_log2 | (key >> (64 - self.slices_log2)) as usize;
        self.directory[row] as usize
    }

    /// The last node at or below the key: its index, or that of the copy of the last node.
    #[inline]
    fn find_from(&self, slice_begin: usize, key: u64) -> usize {
        let key = key.min(u64::MAX - 1);
        let window = &self.table[slice_begin..slice_begin + WINDOW];
        let passed: usize = window.iter().map(|node| usize::from(node[0] <= key)).sum();
        let mut above = slice_begin + passed;
        if passed == WINDOW {
            while self.table[above][0] <= key {
                above += 1;
            }
        }
        above - 1
    }

    #[inline]
    fn find(&self, circle: u32, key: u64) -> usize {
        self.find_from(self.slice_begin(circle, key), key)
    }

    /// The server in a lane, or a number above all servers.
    #[inline]
    fn lane(node: &[u64; W], lane: usize) -> u64 {
        node[1 + lane / Self::LANES_PER_WORD] >> (Self::LANE_BITS * (lane % Self::LANES_PER_WORD) as u32)
            & Self::LANE_MASK
    }

    #[inline]
    fn fill(&self, circle: u32, key: u64, down: &ServerSet, places: &mut [ServerId]) -> usize {
        let replicas = places.len();
        if replicas == 0 {
            return 0;
        }
        let found = self.find(circle, key);
        if replicas <= DEPTH
            && self.copy_lanes(found, places)
            && !places.iter().any(|server| down.contains(*server))
        {
            return replicas;
        }
        fill_from(places, down, self.walk_from(circle, found))
    }

    /// Copies the node's servers; returns false if the circle has fewer servers than there are places.
    #[inline]
    fn copy_lanes(&self, index: usize, places: &mut [ServerId]) -> bool {
        let node = &self.table[index];
        for (lane, place) in places.iter_mut().enumerate() {
            *place = ServerId(Self::lane(node, lane) as u32);
        }
        // Lists have no gaps: if the last entry is present, all are.
        Self::lane(node, places.len() - 1) != Self::LANE_MASK
    }

    fn walk(&self, circle: u32, key: u64) -> Around<'_, W> {
        self.walk_from(circle, self.find(circle, key))
    }

    fn walk_from(&self, circle: u32, found: usize) -> Around<'_, W> {
        let (begin, end) = self.bounds(circle);
        let at = if found < begin { end.max(begin + 1) - 1 } else { found };
        Around { circle: &self.table[begin..end], at: at - begin, left: end - begin }
    }

    /// Calls `run` for disjoint runs of keys whose first `replicas` distinct servers include `server`.
    fn runs(&self, circle: u32, server: ServerId, replicas: usize, run: &mut dyn FnMut(u64, u64)) {
        let (begin, end) = self.bounds(circle);
        let nodes = &self.table[begin..end];
        let owns = |at: &usize| Self::lane(&nodes[*at], 0) == u64::from(server.0);
        if replicas == 0 {
            return;
        }
        for own in (0..nodes.len()).filter(owns) {
            let Some(first) = Self::earliest_start(nodes, own, server, replicas) else {
                run(0, u64::MAX);
                return;
            };
            // The keys of a node end before the next node; those of the last node wrap around to below the
            // first.
            let next = if own + 1 == nodes.len() { 0 } else { own + 1 };
            let (from, to) = (nodes[first][0], nodes[next][0].wrapping_sub(1));
            if from <= to {
                run(from, to);
            } else {
                run(from, u64::MAX);
                run(0, to);
            }
        }
    }

    /// The earliest node from which a list of `replicas` servers still reaches the node `own` of `server`,
    /// without passing another node of the same server; `None` if every node does.
    fn earliest_start(nodes: &[[u64; W]], own: usize, server: ServerId, replicas: usize) -> Option<usize> {
        let mut passed: Vec<ServerId> = Vec::with_capacity(replicas.min(nodes.len()));
        let mut first = own;
        loop {
            let earlier = if first == 0 { nodes.len() - 1 } else { first - 1 };
            let other = ServerId(Self::lane(&nodes[earlier], 0) as u32);
            if earlier == own {
                return None;
            }
            let is_new = !passed.contains(&other);
            if other == server || (is_new && passed.len() + 1 >= replicas) {
                return Some(first);
            }
            if is_new {
                passed.push(other);
            }
            first = earlier;
        }
    }

    fn append_circle(table: &mut Vec<[u64; W]>, nodes: &[Node]) {
        let guard = table.len();
        table.push(Self::NO_SERVERS);
        table.extend(nodes.iter().map(|node| {
            let mut row = Self::NO_SERVERS;
            row[0] = node.at;
            row
        }));
        // A node's list is its own server followed by the next node's list without it. The first turn starts
        // from an empty list after the last node; after the second turn all lists are correct.
        let mut list = [ServerId::NONE; DEPTH];
        for (at, node) in (0..nodes.len()).rev().chain((0..nodes.len()).rev()).map(|at| (at, nodes[at])) {
            let kept = list.iter().position(|server| *server == node.server).unwrap_or(DEPTH - 1);
            list.copy_within(..kept, 1);
            list[0] = node.server;
            Self::write_lanes(&mut table[guard + 1 + at], &list);
        }
        if !nodes.is_empty() {
            table[guard] = table[guard + nodes.len()];
        }
        table.extend([Self::NO_SERVERS; WINDOW]);
    }

    fn write_lanes(row: &mut [u64; W], list: &[ServerId; DEPTH]) {
        row[1..].fill(0);
        for (lane, server) in list.iter().enumerate() {
            let value = u64::from(server.0) & Self::LANE_MASK;
            row[1 + lane / Self::LANES_PER_WORD] |=
                value << (Self::LANE_BITS * (lane % Self::LANES_PER_WORD) as u32);
        }
    }

    /// Looks up many keys, each block in two steps: first all rows of the directory, then all nodes. Within a
    /// step the keys are independent, so the processor can overlap their memory accesses.
    fn fill_blocks(
        &self,
        keys: &[u64],
        circle_of: impl Fn(u64) -> u32,
        replicas: usize,
        places: &mut [ServerId],
    ) {
        let mut begins = [0usize; BLOCK];
        for (keys, places) in keys.chunks(BLOCK).zip(places.chunks_mut(BLOCK * replicas)) {
            for (begin, key) in begins.iter_mut().zip(keys) {
                *begin = self.slice_begin(circle_of(*key), *key);
            }
            for ((begin, key), places) in begins.iter().zip(keys).zip(places.chunks_exact_mut(replicas)) {
                let found = self.find_from(*begin, *key);
                if replicas > DEPTH || !self.copy_lanes(found, places) {
                    let filled =
                        fill_from(places, &ServerSet::none(), self.walk_from(circle_of(*key), found));
                    places[filled..].fill(ServerId::NONE);
                }
            }
        }
    }

    #[inline]
    fn fill_by_lines<const REPLICAS: usize>(
        &self,
        lines: &Lines,
        keys: &[u64],
        circle_of: impl Fn(u64) -> u32,
        places: &mut [ServerId],
    ) {
        let (rows, _) = places.as_chunks_mut::<REPLICAS>();
        let circle = &circle_of;
        lines.copy_all(keys, circle, rows, |key, places| {
            let filled = self.fill(circle(key), key, &ServerSet::none(), places);
            places[filled..].fill(ServerId::NONE);
        });
    }
}

impl Layout<2> {
    /// Builds the lines in front of this table.
    fn lines(&self, circles: u32) -> Lines {
        let nodes_of = |circle: u32| {
            let (begin, end) = self.bounds(circle);
            &self.table[begin..end]
        };
        let most = (0..circles).map(|circle| nodes_of(circle).len()).max().unwrap_or(0);
        let mut lines = Lines::new(most);
        for circle in 0..circles {
            let stop = |node: &[u64; 2]| Stop { at: node[0], server: Self::lane(node, 0) as u16 };
            let stops: Vec<Stop> = nodes_of(circle).iter().map(stop).collect();
            lines.push_circle(&stops);
        }
        lines
    }
}

/// One turn around a circle, node by node.
pub(super) struct Around<'a, const W: usize> {
    circle: &'a [[u64; W]],
    at: usize,
    left: usize,
}

impl<const W: usize> Iterator for Around<'_, W> {
    type Item = ServerId;

    #[inline]
    fn next(&mut self) -> Option<ServerId> {
        self.left = self.left.checked_sub(1)?;
        let server = Layout::<W>::lane(&self.circle[self.at], 0);
        self.at = if self.at + 1 == self.circle.len() { 0 } else { self.at + 1 };
        Some(ServerId(server as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Layout<2> {
        let node = |at: u32| Node { circle: 0, at: u64::from(at) << 56, server: ServerId(at % 5) };
        Layout::build(1, (0..20).map(node).collect())
    }

    #[test]
    #[should_panic(expected = "the nodes of a circle are in the order of their positions: circle 0")]
    fn nodes_out_of_order_break_a_law() {
        let mut layout = layout();
        layout.table.swap(7, 8);
        layout.law_of_circles();
    }

    #[test]
    #[should_panic(expected = "a node lists distinct servers without a gap: circle 0")]
    fn a_node_that_lists_a_server_twice_breaks_a_law() {
        let mut layout = layout();
        Layout::write_lanes(&mut layout.table[7], &[1, 2, 1, 3].map(ServerId));
        layout.law_of_circles();
    }
}
