//! The fast path of a ring: one cache line per lookup, for up to three replicas and 16-bit servers.
//!
//! Each circle is divided into equal slices, and each slice has one line of 64 bytes: the servers of the node
//! before the slice, of up to thirteen nodes within it and of the two after it, and for the nodes within it a
//! 16-bit fragment of their position inside the slice. Comparing fragments is enough unless they are equal.
//! If fragments are equal, if a slice is crowded, or if two of three neighbours have the same server, the
//! line gives no answer and the exact table is used. The product of key and number of slices gives both
//! parts: its upper half is the slice, the top 16 bits of its lower half are the fragment, and both increase
//! with the key.

use super::ServerId;

/// The maximum number of servers that a line can return for a key.
pub(super) const SERVERS: usize = 3;

const LANES: usize = 16;

/// Nodes within a slice; a line also holds the node before them and those that complete the list of the last
/// one.
const NODES: usize = LANES - SERVERS;

/// The mean number of nodes per slice: at 6, one slice in 280 has more than thirteen (Poisson).
const NODES_MEAN: usize = 6;

/// The number of keys whose lines are fetched together: slightly more than a core's outstanding memory
/// accesses.
const BLOCK: usize = 16;

/// A node before it is packed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stop {
    pub(super) at: u64,
    pub(super) server: u16,
}

#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line {
    /// The fragments of the nodes within the slice, then the largest value. Biased, so that they can be
    /// compared as signed numbers, which vector instructions support.
    fragments: [i16; LANES],
    /// The servers, starting with the node before the slice.
    servers: [u16; LANES],
}

impl Line {
    /// A line that never answers: all its servers are the same.
    const SILENT: Line = Line { fragments: [i16::MAX; LANES], servers: [0; LANES] };

    /// The servers from the fragment on, if the line can answer.
    #[inline(always)]
    fn servers_from(&self, fragment: i16) -> Option<[u16; SERVERS]> {
        let (mut below, mut equal) = (0u32, false);
        for (at, own) in self.fragments.into_iter().enumerate() {
            below |= u32::from(own < fragment) << at;
            equal |= own == fragment;
        }
        // Fragments ascend, so the set bits are the lowest ones, and there are at most as many as nodes.
        let passed = (below.trailing_ones() as usize).min(NODES);
        let [first, second, third] =
            [self.servers[passed], self.servers[passed + 1], self.servers[passed + 2]];
        let distinct = (first != second) & (second != third) & (first != third);
        (distinct & !equal).then_some([first, second, third])
    }
}

/// The lines of all circles, the same number for each.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    lines: Vec<Line>,
    slices: u64,
}

impl Lines {
    /// No circles yet; each circle pushed may have up to `nodes_max` nodes.
    pub(super) fn new(nodes_max: usize) -> Lines {
        Lines { lines: Vec::new(), slices: nodes_max.div_ceil(NODES_MEAN).max(1) as u64 }
    }

    /// The slice and the fragment of a position.
    #[inline(always)]
    fn place(&self, at: u64) -> (usize, i16) {
        let product = u128::from(at) * u128::from(self.slices);
        let fragment = (product >> 48) as u16;
        ((product >> 64) as usize, (fragment ^ 0x8000) as i16)
    }

    /// Adds the next circle: its nodes in ascending order.
    pub(super) fn push_circle(&mut self, stops: &[Stop]) {
        let begin = self.lines.len();
        self.lines.resize(begin + self.slices as usize, Line::SILENT);
        let count = stops.len();
        if count < SERVERS {
            return;
        }
        let mut first = 0;
        for slice in 0..self.slices as usize {
            let own = stops[first..].partition_point(|stop| self.place(stop.at).0 == slice);
            if own <= NODES {
                let line = &mut self.lines[begin + slice];
                // Around the circle, starting with the node before the first.
                let around = (first + count - 1..).map(|at| stops[at % count].server);
                line.servers.iter_mut().zip(around).for_each(|(place, server)| *place = server);
                for (at, stop) in stops[first..first + own].iter().enumerate() {
                    let fragment = self.place(stop.at).1;
                    let before = if at == 0 { i16::MIN } else { self.lines[begin + slice].fragments[at - 1] };
                    assert!(
                        before <= fragment,
                        "the fragments of a line ascend: {fragment} follows {before}"
                    );
                    self.lines[begin + slice].fragments[at] = fragment;
                }
            }
            first += own;
        }
        assert!(first == count, "each node of a circle is in a slice: {first} of {count} are");
    }

    /// Copies the first servers from the key on into up to three places; returns false if the line cannot
    /// answer.
    #[inline(always)]
    pub(super) fn copy(&self, circle: u32, key: u64, places: &mut [ServerId]) -> bool {
        let (slice, fragment) = self.place(key);
        let line = &self.lines[circle as usize * self.slices as usize + slice];
        let Some(servers) = line.servers_from(fragment) else { return false };
        for (place, server) in places.iter_mut().zip(servers) {
            *place = ServerId(u32::from(server));
        }
        true
    }

    /// Looks up many keys; `fallback` is called for those that their line cannot answer. The lines of a block
    /// of keys are touched before any is read: the keys are independent, so the processor can overlap their
    /// memory accesses.
    #[inline(always)]
    pub(super) fn copy_all<const REPLICAS: usize>(
        &self,
        keys: &[u64],
        circle_of: impl Fn(u64) -> u32,
        places: &mut [[ServerId; REPLICAS]],
        fallback: impl Fn(u64, &mut [ServerId]),
    ) {
        const { assert!(REPLICAS <= SERVERS, "a line has three servers for a key") };
        let mut touched = [(0usize, 0i16, 0i16); BLOCK];
        for (keys, places) in keys.chunks(BLOCK).zip(places.chunks_mut(BLOCK)) {
            for (touched, key) in touched.iter_mut().zip(keys) {
                let (slice, fragment) = self.place(*key);
                let at = circle_of(*key) as usize * self.slices as usize + slice;
                *touched = (at, fragment, self.lines[at].fragments[0]);
            }
            for ((places, key), (at, fragment, lowest)) in places.iter_mut().zip(keys).zip(&touched) {
                // Equality with the lowest fragment also means that the line cannot answer; testing it here
                // keeps the early read from being optimised away.
                let answer = if fragment == lowest { None } else { self.lines[*at].servers_from(*fragment) };
                match answer {
                    Some(servers) => *places = std::array::from_fn(|lane| ServerId(u32::from(servers[lane]))),
                    None => fallback(*key, places),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines must answer nearly always; otherwise they would only cost memory.
    #[test]
    fn lines_answer_nearly_every_key() {
        let mut ats: Vec<u64> = (0..60_000).map(super::super::hashing::scatter).collect();
        ats.sort_unstable();
        let stops: Vec<Stop> =
            ats.iter().zip(0..).map(|(at, number)| Stop { at: *at, server: number % 1000 }).collect();
        let mut lines = Lines::new(stops.len());
        lines.push_circle(&stops);
        let mut places = [ServerId::NONE; 3];
        let keys = (0..100_000).map(|id| super::super::hashing::scatter(id + 1_000_000));
        let answered = keys.filter(|key| lines.copy(0, *key, &mut places)).count();
        assert!(answered > 99_000, "{answered}");
    }

    fn push(nodes_max: usize, positions: &[u64]) {
        let stops: Vec<Stop> =
            (0..).zip(positions).map(|(server, at)| Stop { at: at << 32, server }).collect();
        Lines::new(nodes_max).push_circle(&stops);
    }

    #[test]
    #[should_panic(expected = "the fragments of a line ascend")]
    fn fragments_out_of_order_break_a_law() {
        push(1, &[1 << 20, 3 << 20, 2 << 20]);
    }

    #[test]
    #[should_panic(expected = "each node of a circle is in a slice: 3 of 4 are")]
    fn a_node_in_no_slice_breaks_a_law() {
        push(12, &[1 << 20, 2 << 20, 3 << 30, 3 << 20]);
    }
}
