//! libCacheSim's oracleGeneral: 24 bytes a record, little endian: a time in seconds (u32), an object (u64), its size (u32), and when
//! it is asked for next (i64, in records), which is passed over. There is no operation: what a cache simulator replays are reads.

use towtank_units::{SimSpan, SimTime};

use crate::record::{Op, Record, When};

/// Bytes of a record.
pub(crate) const RECORD_BYTES: usize = 24;
/// An object that is never asked for again has this in place of the next record's number.
const NEVER: i64 = -1;
const NS_PER_SEC: u64 = 1_000_000_000;

struct Fields {
    seconds: u32,
    object: u64,
    size: u32,
    next: i64,
}

fn fields(piece: &[u8]) -> Fields {
    let part = |from: usize, length: usize| {
        piece[from..from + length].iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte))
    };
    Fields {
        seconds: part(0, 4) as u32,
        object: part(4, 8),
        size: part(12, 4) as u32,
        next: part(16, 8) as i64,
    }
}

/// The record of a piece of [`RECORD_BYTES`].
pub(super) fn parse(piece: &[u8]) -> Record {
    let Fields { seconds, object, size, .. } = fields(piece);
    let at = SimTime::ZERO.saturating_add(SimSpan::from_ns(u64::from(seconds) * NS_PER_SEC));
    let record = Record::new(When::At(at), Op::Read).with_bytes(0, u64::from(size));
    Record { file: Some(object), ..record }
}

/// Whether bytes look like records: times that rise, next records that lie ahead, and something that is not text.
pub(crate) fn fits(head: &[u8], all: bool) -> bool {
    let whole = !all || head.len().is_multiple_of(RECORD_BYTES);
    let mut last = 0;
    let mut pieces = head.chunks_exact(RECORD_BYTES).map(fields).zip(0i64..);
    let sound = pieces.all(|(record, number)| {
        let rises = last <= record.seconds;
        last = record.seconds;
        rises && (record.next == NEVER || record.next > number || record.next == i64::MAX)
    });
    whole && sound && head.len() >= RECORD_BYTES && head.iter().any(|byte| *byte < b'\t')
}
