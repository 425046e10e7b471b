//! libCacheSim's oracleGeneral: 24 bytes per record, little endian: a time in seconds (u32), an object (u64),
//! its size (u32), and its next request (i64, in records), which is ignored. There is no operation: a cache
//! simulator replays reads.

use towtank_units::{SimSpan, SimTime};

use crate::record::{Op, Record, When};

/// Bytes per record.
pub(crate) const RECORD_BYTES: usize = 24;
/// The value in place of the next record's number for an object that is never requested again.
const NEVER: i64 = -1;
const NS_PER_SEC: u64 = 1_000_000_000;

struct Fields {
    seconds: u32,
    object: u64,
    size: u32,
    next: i64,
}

/// Parses a piece of [`RECORD_BYTES`] bytes.
fn fields(piece: &[u8]) -> Fields {
    let [seconds, low, high, size, near, far] = [0, 4, 8, 12, 16, 20]
        .map(|at| u32::from_le_bytes([piece[at], piece[at + 1], piece[at + 2], piece[at + 3]]));
    let wide = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
    Fields { seconds, object: wide(low, high), size, next: wide(near, far) as i64 }
}

/// The record of a piece of [`RECORD_BYTES`] bytes.
pub(super) fn parse(piece: &[u8]) -> Record {
    let Fields { seconds, object, size, .. } = fields(piece);
    let at = SimTime::ZERO.saturating_add(SimSpan::from_ns(u64::from(seconds) * NS_PER_SEC));
    let record = Record::new(When::At(at), Op::Read).with_bytes(0, u64::from(size));
    Record { file: Some(object), ..record }
}

/// Whether bytes look like records: ascending times, next records further on, and content that is not text.
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
