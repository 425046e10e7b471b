//! Where a request is in a log: a table of versions with open addressing, which has hardly anything of the
//! requests themselves.
//!
//! A version takes 12 bytes in it, at most seven of eight places are taken, and it grows by a quarter: a map
//! with requests and versions takes about three times as much. The log is asked for the request of a version:
//! what leaves the log leaves the table too.

use crate::{RequestId, Version};

/// Of eight places, at most seven are taken.
const TAKEN_MOST: (usize, usize) = (7, 8);

/// The least number of places.
const PLACES_LEAST: usize = 16;

/// Bits of a counter: enough for a million changes every second for twelve days, as in trees and sketches.
const COUNTER_BITS: u32 = 40;

/// Bits of the hash of a request.
const TAG_BITS: u32 = 24;

/// A version, and a part of the hash of its request: first what both share with no free place.
#[derive(Clone, Copy, Debug)]
struct Place {
    epoch: u32,
    low: u32,
    /// The upper bits of the counter, below the hash.
    high: u32,
}

impl Place {
    const FREE: Place = Place { epoch: 0, low: 0, high: 0 };

    fn of(version: Version, tag: u32) -> Place {
        let Version { epoch, counter } = version;
        assert!(counter >> COUNTER_BITS == 0, "change {counter} does not fit 40 bits");
        let high = (counter >> 32) as u32 | tag << (u32::BITS - TAG_BITS);
        Place { epoch, low: counter as u32, high }
    }

    /// No change has the version before all changes.
    fn is_free(self) -> bool {
        self.version() == Version::ZERO
    }

    fn tag(self) -> u32 {
        self.high >> (u32::BITS - TAG_BITS)
    }

    fn version(self) -> Version {
        let high = self.high & ((1 << (COUNTER_BITS - 32)) - 1);
        Version { epoch: self.epoch, counter: u64::from(high) << 32 | u64::from(self.low) }
    }
}

/// A part of the hash of a request.
fn tag_of(request: RequestId) -> u32 {
    // The end of SplitMix64, by which neighbouring numbers lie far apart.
    let mix = |mut word: u64| {
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    };
    let hash = mix(mix(request.client.wrapping_add(0x9e37_79b9_7f4a_7c15)) ^ request.number);
    (hash >> (u64::BITS - TAG_BITS)) as u32
}

/// The versions that requests were assigned. It follows from the entries of a log, so two of them are not
/// compared.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    places: Vec<Place>,
    taken: usize,
}

impl PartialEq for Requests {
    fn eq(&self, _: &Requests) -> bool {
        true
    }
}

impl Eq for Requests {}

impl std::hash::Hash for Requests {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

impl Requests {
    /// An empty table with room for so many versions, and a quarter more.
    pub(super) fn for_versions(count: usize) -> Requests {
        let (taken, of) = TAKEN_MOST;
        let places = (count + count / 4).max(PLACES_LEAST) * of / taken + 1;
        Requests { places: vec![Place::FREE; places], taken: 0 }
    }

    /// The place at which a search begins.
    fn first(&self, tag: u32) -> usize {
        ((u64::from(tag) * self.places.len() as u64) >> TAG_BITS) as usize
    }

    /// The first place from where a search begins that is free, or of which this is so.
    fn search(&self, tag: u32, is_it: impl Fn(Place) -> bool) -> usize {
        let is_end = |place: Place| place.is_free() || place.tag() == tag && is_it(place);
        let mut at = self.first(tag);
        while !is_end(self.places[at]) {
            at = (at + 1) % self.places.len();
        }
        at
    }

    /// The place of a request, or the free one where it belongs.
    fn place(&self, request: RequestId, request_of: impl Fn(Version) -> Option<RequestId>) -> usize {
        self.search(tag_of(request), |place| request_of(place.version()) == Some(request))
    }

    pub(super) fn get(
        &self,
        request: RequestId,
        request_of: impl Fn(Version) -> Option<RequestId>,
    ) -> Option<Version> {
        if self.taken == 0 {
            return None;
        }
        let place = self.places[self.place(request, request_of)];
        (!place.is_free()).then(|| place.version())
    }

    /// Sets the version of a request.
    pub(super) fn set(
        &mut self,
        request: RequestId,
        version: Version,
        request_of: impl Fn(Version) -> Option<RequestId>,
    ) {
        let (taken, of) = TAKEN_MOST;
        if (self.taken + 1) * of > self.places.len() * taken {
            self.grow();
        }
        let at = self.place(request, request_of);
        self.taken += usize::from(self.places[at].is_free());
        self.places[at] = Place::of(version, tag_of(request));
    }

    fn grow(&mut self) {
        let mut larger = Requests { taken: self.taken, ..Requests::for_versions(self.taken + 1) };
        for place in self.places.iter().filter(|place| !place.is_free()) {
            let at = larger.search(place.tag(), |_| false);
            larger.places[at] = *place;
        }
        *self = larger;
    }

    /// Removes a request, if it has this version.
    pub(super) fn remove(&mut self, request: RequestId, version: Version) {
        if self.taken == 0 {
            return;
        }
        let mut free = self.search(tag_of(request), |place| place.version() == version);
        if self.places[free].is_free() {
            return;
        }
        (self.places[free], self.taken) = (Place::FREE, self.taken - 1);
        // What comes after it moves up, unless its search begins behind the free place.
        let count = self.places.len();
        let mut at = (free + 1) % count;
        while !self.places[at].is_free() {
            let begins = self.first(self.places[at].tag());
            if (at + count - begins) % count >= (at + count - free) % count {
                self.places.swap(free, at);
                free = at;
            }
            at = (at + 1) % count;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Sets and removes requests in a table with hardly any free place; true if it finds what a map has.
    /// Planted: a place that becomes free stays so, whatever is behind it.
    fn finds_all(planted: bool) -> bool {
        let version = |number: u64| Version { epoch: 1 + (number >> 33) as u32, counter: number + 1 };
        let request = |number: u64| RequestId { client: number % 2, number };
        let request_of = |of: Version| Some(request(of.counter - 1));
        let (mut table, mut map) = (Requests::for_versions(0), BTreeMap::new());
        let mut state = 1_u64;
        for number in 0..2_000 {
            table.set(request(number), version(number), request_of);
            map.insert(request(number), version(number));
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let drawn = map.iter().nth((state >> 33) as usize % map.len());
            let (gone, of) = drawn.map(|(request, version)| (*request, *version)).expect("it is not empty");
            if map.len() > 13 || state >> 20 & 1 > 0 {
                map.remove(&gone);
                match planted {
                    false => table.remove(gone, of),
                    true => {
                        let at = table.place(gone, request_of);
                        (table.places[at], table.taken) = (Place::FREE, table.taken - 1);
                    }
                }
            }
            if (0..=number).any(|it| table.get(request(it), request_of) != map.get(&request(it)).copied()) {
                return false;
            }
        }
        true
    }

    #[test]
    fn what_is_behind_a_place_that_becomes_free_is_found() {
        assert!(finds_all(false));
        assert!(!finds_all(true));
    }

    #[test]
    fn a_version_keeps_its_parts() {
        for version in [(1, 0), (0, 1), (7, (1 << 40) - 1), (u32::MAX, 1 << 32)] {
            let version = Version { epoch: version.0, counter: version.1 };
            for tag in [0, 1, (1 << 24) - 1] {
                let place = Place::of(version, tag);
                assert_eq!((place.version(), place.tag(), place.is_free()), (version, tag, false));
            }
        }
    }
}
