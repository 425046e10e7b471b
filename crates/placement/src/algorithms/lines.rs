//! The fast way through a ring: one cache line a lookup, for up to three replicas and 16-bit servers.
//!
//! Each circle is cut into equal slices, and each slice has one line of 64 bytes: the servers of the node
//! before the slice, of up to thirteen nodes within it and of the two behind, and of the places of those
//! within the 16 bits that follow the slice's. That is enough to compare with, unless they are equal. Where
//! they are, where a slice is crowded or where one of three neighbours is another's server, the line does not
//! answer and the exact table does. The product of key and number of slices gives both: its upper half is the
//! slice, the top of its lower half the 16 bits, and both rise with the key.

use super::ServerId;

/// Servers that a line can tell of a key.
pub(super) const SERVERS: usize = 3;

const LANES: usize = 16;

/// Nodes within a slice: beside them a line has the one before and those that the last one's list needs.
const NODES: usize = LANES - SERVERS;

/// Nodes of a slice on average: at 6, one slice in 280 has more than thirteen (Poisson).
const NODES_MEAN: usize = 6;

/// Keys of a batch whose lines are fetched together: somewhat more than a core has fetches under way.
const BLOCK: usize = 16;

/// What a node has, before it is packed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stop {
    pub(super) at: u64,
    pub(super) server: u16,
}

#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line {
    /// Of the nodes within the slice, then the greatest value. Biased, so that they compare as signed numbers
    /// do, which vectors can.
    fragments: [i16; LANES],
    /// From the node before the slice on.
    servers: [u16; LANES],
}

impl Line {
    /// One server three times: the line never answers.
    const SILENT: Line = Line { fragments: [i16::MAX; LANES], servers: [0; LANES] };

    /// The servers from the fragment on, where the line can tell.
    #[inline(always)]
    fn servers_from(&self, fragment: i16) -> Option<[u16; SERVERS]> {
        let (mut below, mut equal) = (0u32, false);
        for (at, own) in self.fragments.into_iter().enumerate() {
            below |= u32::from(own < fragment) << at;
            equal |= own == fragment;
        }
        // Fragments rise, so the marks are those of the first ones, and at most all nodes have one.
        let passed = (below.trailing_ones() as usize).min(NODES);
        let [first, second, third] =
            [self.servers[passed], self.servers[passed + 1], self.servers[passed + 2]];
        let distinct = (first != second) & (second != third) & (first != third);
        (distinct & !equal).then_some([first, second, third])
    }
}

/// The lines of all circles, as many for each.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    lines: Vec<Line>,
    slices: u64,
}

impl Lines {
    /// No circle yet; each that is pushed may have up to `nodes_max` nodes.
    pub(super) fn new(nodes_max: usize) -> Lines {
        Lines { lines: Vec::new(), slices: nodes_max.div_ceil(NODES_MEAN).max(1) as u64 }
    }

    /// The slice and the fragment of a place.
    #[inline(always)]
    fn place(&self, at: u64) -> (usize, i16) {
        let product = u128::from(at) * u128::from(self.slices);
        let fragment = (product >> 48) as u16;
        ((product >> 64) as usize, (fragment ^ 0x8000) as i16)
    }

    /// Adds the next circle: its nodes in rising order.
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
                // Around the circle from the node before the first on.
                let around = (first + count - 1..).map(|at| stops[at % count].server);
                line.servers.iter_mut().zip(around).for_each(|(place, server)| *place = server);
                for (at, stop) in stops[first..first + own].iter().enumerate() {
                    let fragment = self.place(stop.at).1;
                    self.lines[begin + slice].fragments[at] = fragment;
                }
            }
            first += own;
        }
    }

    /// Copies the first servers from the key on into up to three places; false where the line cannot tell.
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

    /// Many keys at once; `untold` is asked for those of which a line cannot tell. The lines of a block of
    /// keys are touched before any is read: no key waits for another, so the processor fetches many at a
    /// time.
    #[inline(always)]
    pub(super) fn copy_all<const REPLICAS: usize>(
        &self,
        keys: &[u64],
        circle_of: impl Fn(u64) -> u32,
        places: &mut [[ServerId; REPLICAS]],
        untold: impl Fn(u64, &mut [ServerId]),
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
                // Equal to the first is equal to one of them; asking here keeps the early read alive.
                let told = if fragment == lowest { None } else { self.lines[*at].servers_from(*fragment) };
                match told {
                    Some(servers) => *places = std::array::from_fn(|lane| ServerId(u32::from(servers[lane]))),
                    None => untold(*key, places),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines must answer nearly always, or they only cost memory.
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
        let told = keys.filter(|key| lines.copy(0, *key, &mut places)).count();
        assert!(told > 99_000, "{told}");
    }
}
