//! The placement of a file's bytes: which servers, in which stripes.
//!
//! A file has components, each starting where the one before ends; most files have one without an end. A
//! component is striped round robin over its servers, starting at the file's first server: byte `x` lies on
//! the server with number `(x / stripe) % count` among them, and each server stores its bytes densely. Of any
//! range of the file a server holds one contiguous piece, which is one job. A file may also have its own
//! layout: a list of servers, each with its own number of bytes per round.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Number of bits of an object's number that distinguish components.
const COMPONENT_BITS: u32 = 4;

/// How the bytes of a component are striped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Component {
    /// Its end (exclusive); `None` for a component without an end.
    pub end: Option<u64>,
    /// The number of servers that hold a part of it.
    pub count: u32,
    /// Bytes on one server before the next one follows.
    pub stripe: u64,
}

/// One server's part of each round of a file with its own layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stripe {
    /// The server.
    pub server: u32,
    /// Its bytes per round; never 0.
    pub bytes: u64,
}

/// How files are striped over servers: file `n` begins at server `n` modulo the number of servers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Striping {
    servers: u32,
    components: Vec<Component>,
    /// Files with their own layout.
    files: BTreeMap<u64, Vec<Stripe>>,
}

/// The part of a range of a file that lies on one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Part {
    /// The server, from 0.
    pub server: u32,
    /// The server's number for the file's component.
    pub object: u64,
    /// The first byte, by the server's own offsets.
    pub offset: u64,
    /// The number of bytes.
    pub bytes: u64,
}

impl Striping {
    /// Stripes files by these components over this many servers.
    ///
    /// # Panics
    /// When a component has no servers, more servers than there are, or no stripe; when components are not in
    /// order, the last one ends, or there are more than sixteen.
    #[must_use]
    pub fn new(servers: u32, components: Vec<Component>) -> Striping {
        assert!(components.len() <= 1 << COMPONENT_BITS, "a file has at most sixteen components");
        let sound = |one: &Component| one.count > 0 && one.count <= servers && one.stripe > 0;
        assert!(
            components.iter().all(sound),
            "each component lies on one server at least, and on no more than there are"
        );
        let ends: Vec<u64> = components.iter().map(|one| one.end.unwrap_or(u64::MAX)).collect();
        assert!(ends.is_sorted_by(|left, right| left < right), "components come in the order of their bytes");
        assert!(ends.last() == Some(&u64::MAX), "the last component has no end");
        Striping { servers, components, files: BTreeMap::new() }
    }

    /// Adds a file with its own layout: its bytes are striped over these servers in their order.
    ///
    /// # Panics
    /// When there is no such server, one is named twice, one has no bytes, or a round has 2^62 bytes or more.
    #[must_use]
    pub fn with_file(mut self, file: u64, stripes: Vec<Stripe>) -> Striping {
        let named: std::collections::BTreeSet<u32> = stripes.iter().map(|stripe| stripe.server).collect();
        assert!(!stripes.is_empty() && named.len() == stripes.len(), "each server of a file is named once");
        assert!(
            named.last().is_some_and(|last| *last < self.servers),
            "a file lies on servers that there are"
        );
        assert!(stripes.iter().all(|stripe| stripe.bytes > 0), "each server of a file has bytes of it");
        let round = stripes.iter().try_fold(0_u64, |sum, stripe| sum.checked_add(stripe.bytes));
        assert!(round.is_some_and(|round| round < 1 << 62), "a round of a file ends");
        self.files.insert(file, stripes);
        self
    }

    /// The jobs of a range of a file: at most one per server and component, in the order of servers starting
    /// at the file's first.
    #[must_use]
    pub fn parts(&self, file: u64, offset: u64, bytes: u64) -> Vec<Part> {
        let mut parts = Vec::new();
        let end = offset.saturating_add(bytes);
        if let Some(stripes) = self.files.get(&file) {
            parts_of_file(file, stripes, (offset, end), &mut parts);
            return parts;
        }
        let mut begin = 0;
        for (number, component) in self.components.iter().enumerate() {
            let until = component.end.unwrap_or(u64::MAX);
            let (from, to) = (offset.max(begin), end.min(until));
            if from < to {
                self.parts_of(file, number, component, (from - begin, to - begin), &mut parts);
            }
            begin = until;
        }
        parts
    }

    fn parts_of(
        &self,
        file: u64,
        number: usize,
        component: &Component,
        (from, to): (u64, u64),
        parts: &mut Vec<Part>,
    ) {
        let first = (file % u64::from(self.servers)) as u32;
        // Servers are taken in the order in which the range meets them.
        let begin = (from / component.stripe % u64::from(component.count)) as u32;
        // A range shorter than a round touches only some of them.
        let touched = (to - 1) / component.stripe - from / component.stripe + 1;
        for step in 0..component.count.min(u32::try_from(touched).unwrap_or(u32::MAX)) {
            let place = (begin + step) % component.count;
            let (low, high) = (component.held(place, from), component.held(place, to));
            debug_assert!(low <= high, "a server holds no less of more bytes");
            if low < high {
                parts.push(Part {
                    server: (first + place) % self.servers,
                    object: file << COMPONENT_BITS | number as u64,
                    offset: low,
                    bytes: high - low,
                });
            }
        }
    }
}

/// The jobs of a range of a file with its own layout.
fn parts_of_file(file: u64, stripes: &[Stripe], (from, to): (u64, u64), parts: &mut Vec<Part>) {
    let round: u64 = stripes.iter().map(|stripe| stripe.bytes).sum();
    let held =
        |before: u64, bytes: u64, x: u64| x / round * bytes + (x % round).saturating_sub(before).min(bytes);
    // Servers are taken in the order in which the range meets them.
    let mut begins = Vec::with_capacity(stripes.len());
    let mut before = 0;
    for stripe in stripes {
        begins.push(before);
        before += stripe.bytes;
    }
    let first = begins.partition_point(|begin| *begin <= from % round).saturating_sub(1);
    debug_assert!(first < stripes.len() && from < to, "bytes {from} to {to} begin at a server");
    for place in (first..stripes.len()).chain(0..first) {
        let Stripe { server, bytes } = stripes[place];
        let (low, high) = (held(begins[place], bytes, from), held(begins[place], bytes, to));
        if low < high {
            let object = file << COMPONENT_BITS;
            parts.push(Part { server, object, offset: low, bytes: high - low });
        }
    }
}

impl Component {
    /// Bytes before `x` of the component that lie at a place.
    fn held(&self, place: u32, x: u64) -> u64 {
        let round = self.stripe.saturating_mul(u64::from(self.count));
        debug_assert!(place < self.count, "place {place} of {}", self.count);
        let within = (x % round).saturating_sub(u64::from(place) * self.stripe).min(self.stripe);
        x / round * self.stripe + within
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn plain(servers: u32, count: u32, stripe: u64) -> Striping {
        Striping::new(servers, vec![Component { end: None, count, stripe }])
    }

    #[test]
    fn a_mebibyte_over_four_servers_is_a_stripe_each() {
        let parts = plain(4, 4, 256 << 10).parts(5, 0, 1 << 20);
        let servers: Vec<u32> = parts.iter().map(|part| part.server).collect();
        assert_eq!(servers, [1, 2, 3, 0]);
        assert!(parts.iter().all(|part| (part.offset, part.bytes) == (0, 256 << 10)));
    }

    /// Section 1.3 of the reference: the first amount is reduced by the offset inside its stripe.
    #[test]
    fn a_range_that_begins_inside_a_stripe() {
        let parts = plain(3, 3, 100).parts(0, 250, 400);
        let found: Vec<(u32, u64, u64)> =
            parts.iter().map(|part| (part.server, part.offset, part.bytes)).collect();
        // 250..300 lies on server 2, 300..400 on 0, 400..500 on 1, 500..600 on 2, 600..650 on 0.
        assert_eq!(found, [(2, 50, 150), (0, 100, 150), (1, 100, 100)]);
    }

    /// Byte by byte, with the rule of the layout written out.
    fn slowly(striping: &Striping, file: u64, offset: u64, bytes: u64) -> BTreeMap<(u32, u64), Vec<u64>> {
        let mut found: BTreeMap<(u32, u64), Vec<u64>> = BTreeMap::new();
        for x in offset..offset + bytes {
            if let Some(stripes) = striping.files.get(&file) {
                let round: u64 = stripes.iter().map(|one| one.bytes).sum();
                let (turns, mut left) = (x / round, x % round);
                for one in stripes {
                    if left < one.bytes {
                        let at = found.entry((one.server, file << COMPONENT_BITS)).or_default();
                        at.push(turns * one.bytes + left);
                        break;
                    }
                    left -= one.bytes;
                }
                continue;
            }
            let mut begin = 0;
            for (number, component) in striping.components.iter().enumerate() {
                let until = component.end.unwrap_or(u64::MAX);
                if x < until {
                    let (x, count) = (x - begin, u64::from(component.count));
                    let (stripe, inside) = (x / component.stripe, x % component.stripe);
                    let server = (file + stripe % count) % u64::from(striping.servers);
                    let local = stripe / count * component.stripe + inside;
                    found
                        .entry((server as u32, file << COMPONENT_BITS | number as u64))
                        .or_default()
                        .push(local);
                    break;
                }
                begin = until;
            }
        }
        found
    }

    fn striping() -> impl Strategy<Value = Striping> {
        let component = |servers: u32| (1..=servers, 1_u64..40, 1_u64..200);
        (1_u32..6).prop_flat_map(move |servers| {
            proptest::collection::vec(component(servers), 1..4).prop_map(move |drawn| {
                let mut end = 0;
                let last = drawn.len() - 1;
                let components = drawn.into_iter().enumerate().map(|(at, (count, stripe, length))| {
                    end += length;
                    Component { end: (at < last).then_some(end), count, stripe }
                });
                Striping::new(servers, components.collect())
            })
        })
    }

    /// The same with a layout of one file's own.
    fn with_own() -> impl Strategy<Value = Striping> {
        let stripes = proptest::collection::vec(1_u64..40, 1..6);
        (striping(), stripes, 0_u64..9, 0_u32..6).prop_map(|(striping, bytes, file, first)| {
            let servers = striping.servers;
            let stripes = bytes.into_iter().take(servers as usize).zip(0..);
            let stripes = stripes.map(|(bytes, at)| Stripe { server: (first + at) % servers, bytes });
            striping.with_file(file, stripes.collect())
        })
    }

    /// Section 1.3 of the reference, written by hand: rounds of 5 + 3 + 2 bytes over servers 2, 0 and 1.
    #[test]
    fn stripes_of_a_file_may_differ() {
        let stripes = [(2, 5), (0, 3), (1, 2)].map(|(server, bytes)| Stripe { server, bytes });
        let striping = plain(3, 1, 100).with_file(7, stripes.to_vec());
        let of = |file: u64, offset: u64, bytes: u64| -> Vec<(u32, u64, u64)> {
            let parts = striping.parts(file, offset, bytes);
            parts.iter().map(|part| (part.server, part.offset, part.bytes)).collect()
        };
        // Bytes 6 to 12: 6 and 7 on server 0, 8 and 9 on 1, 10 to 12 on 2.
        assert_eq!(of(7, 6, 7), [(0, 1, 2), (1, 0, 2), (2, 5, 3)]);
        assert_eq!(of(6, 6, 7), [(0, 6, 7)], "another file has the layout of all");
    }

    fn same(parts: &[Part], bytes: &BTreeMap<(u32, u64), Vec<u64>>) -> bool {
        let ranges: BTreeMap<(u32, u64), Vec<u64>> = parts
            .iter()
            .map(|part| ((part.server, part.object), (part.offset..part.offset + part.bytes).collect()))
            .collect();
        ranges.len() == parts.len() && ranges == *bytes
    }

    proptest! {
        #[test]
        fn parts_are_the_bytes_that_lie_there(striping in prop_oneof![striping(), with_own()], file in 0_u64..9, offset in 0_u64..500, bytes in 1_u64..300) {
            let expected = slowly(&striping, file, offset, bytes);
            let parts = striping.parts(file, offset, bytes);
            prop_assert!(same(&parts, &expected), "{:?}, {:?} expected", parts, expected);
            // A part that is a byte short is noticed.
            let mut short = parts.clone();
            short[0].bytes -= 1;
            prop_assert!(!same(&short, &expected));
        }
    }
}
