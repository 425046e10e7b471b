//! What the store holds: manifests, attributes, records of parts.

use std::collections::BTreeMap;

use super::{reads_back, says_why};
use crate::attributes::Attributes;
use crate::depot::Record;
use crate::manifest::{Manifest, Slice};

/// The most slices of a range that are looked at: an invalid manifest may have 2^64.
const SLICES_MAX: usize = 64;

/// Any bytes as a manifest, and as the attributes of an object and of a part: lines of `NAME=VALUE`. What is
/// read is written and read as the same, and the slices of a range lie in their pieces, one after the other.
pub fn stored(data: &[u8]) {
    match Manifest::decode(data) {
        Ok(manifest) => {
            reads_back(&manifest, Manifest::decode(&manifest.encode()).ok().as_ref());
            let length = manifest.length();
            for (first, end) in
                [(0, length), (length / 3, length / 2), (length.saturating_sub(9), length), (7, 7)]
            {
                let (first, end) = (first.min(length), end.min(length));
                let slices: Vec<Slice> = manifest.slices(first, end).take(SLICES_MAX).collect();
                slices_follow(&manifest, (first, end), &slices);
            }
        }
        Err(fault) => says_why(&fault),
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    let labels: BTreeMap<_, _> = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    match Attributes::decode(&labels) {
        Ok(attributes) => {
            reads_back(&attributes, Attributes::decode(&attributes.encode()).ok().as_ref());
            for date in [attributes.modified.iso(), attributes.modified.http()] {
                assert!(date.is_ascii() && date.len() <= 29, "{date}");
            }
        }
        Err(fault) => says_why(&fault),
    }
    match Record::decode(&labels) {
        Ok(record) => reads_back(&record, Record::decode(&record.encode()).ok().as_ref()),
        Err(fault) => says_why(&fault),
    }
}

/// The first slices of a range lie in their pieces and in the range, and leave nothing out between them.
pub(super) fn slices_follow(manifest: &Manifest, (first, end): (u64, u64), slices: &[Slice]) {
    let mut at = first;
    let mut begins = 0_u64;
    let mut segments = manifest.segments.iter();
    let mut segment = segments.next();
    for slice in slices {
        while let Some(passed) = segment.filter(|it| begins + it.length <= at) {
            begins += passed.length;
            segment = segments.next();
        }
        let of = segment.expect("a slice lies in a segment");
        let (piece, offset) = ((at - begins) / of.piece, (at - begins) % of.piece);
        assert_eq!((&slice.id, slice.piece, slice.at), (&of.id, piece, offset), "a slice lies elsewhere");
        let rest = (of.piece - offset).min(begins + of.length - at).min(end - at);
        assert_eq!(slice.length, rest, "a slice does not end with its piece, its segment or the range");
        at += slice.length;
    }
    assert!(at == end || slices.len() == SLICES_MAX, "{at} of {end} bytes are in slices");
}
