//! Recorded requests: what each client of an application requests, and when.
//!
//! The reader of a trace distributes its streams over clients; here the records lie client by client, 32
//! bytes each. In an open loop each request is issued at its time, regardless of completions; in a closed
//! loop the next one is issued when the previous one has ended.

use std::collections::BTreeMap;

use towtank_units::SimSpan;

use crate::layout::Stripe;
use crate::wish::{Operation, Rank, Wish};

/// The most bytes of a recorded request.
pub const RECORD_MAX_BYTES: u64 = u32::MAX as u64;
/// No recorded request ends beyond this byte of its file.
pub const END_MAX: u64 = 1 << 60;

/// One recorded request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// In an open loop: the time of issue, from the beginning of the phase. In a closed loop: the wait before
    /// it.
    pub at: SimSpan,
    /// Its first byte.
    pub offset: u64,
    /// The number of bytes; 0 where the operation moves none.
    pub bytes: u32,
    /// The number of the trace's file, from 0.
    pub file: u32,
    /// The application's client that issues it.
    pub client: u32,
    /// The operation.
    pub operation: Operation,
    /// In a closed loop: whether the wait counts from the issue of the previous request instead of from its
    /// end.
    pub from_start: bool,
}

/// When the next request is issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loop {
    /// At its recorded time, regardless of completions.
    Open,
    /// When the previous one has ended, and after its wait.
    Closed,
}

/// The recorded work of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    pace: Loop,
    records: Vec<Record>,
    /// Where the records of each client end.
    ends: Vec<usize>,
    files: u32,
    bytes: u64,
    span: SimSpan,
    layouts: BTreeMap<u32, Vec<Stripe>>,
}

impl Replay {
    /// The records of this many clients. Those of a client keep their order; in an open loop they are sorted
    /// by time.
    ///
    /// # Panics
    /// When a record is of another client, moves bytes and has none, moves none and has some, or ends beyond
    /// [`END_MAX`].
    #[must_use]
    pub fn new(pace: Loop, clients: u32, mut records: Vec<Record>) -> Replay {
        let sound = |one: &Record| {
            one.client < clients
                && one.operation.moves_bytes() == (one.bytes > 0)
                && one.offset.saturating_add(u64::from(one.bytes)) <= END_MAX
        };
        assert!(records.iter().all(sound), "a record is of a client that there is, and moves what it says");
        match pace {
            Loop::Open if records.is_sorted_by_key(|one| (one.client, one.at)) => {}
            // Most traces are in the order of time. A stable sort of few different clients is fast.
            Loop::Open if records.is_sorted_by_key(|one| one.at) => records.sort_by_key(|one| one.client),
            Loop::Open => records.sort_by_key(|one| (one.client, one.at)),
            Loop::Closed => records.sort_by_key(|one| one.client),
        }
        let ends: Vec<usize> =
            (0..clients).map(|client| records.partition_point(|one| one.client <= client)).collect();
        assert_eq!(ends.last().copied().unwrap_or(0), records.len(), "each record is some client's");
        let files = records.iter().map(|one| one.file + 1).max().unwrap_or(0);
        let bytes = records.iter().map(|one| u64::from(one.bytes)).fold(0, u64::saturating_add);
        let span = match pace {
            Loop::Open => records.iter().map(|one| one.at).max().unwrap_or(SimSpan::ZERO),
            Loop::Closed => SimSpan::ZERO,
        };
        Replay { pace, records, ends, files, bytes, span, layouts: BTreeMap::new() }
    }

    /// Adds the layouts of some of its files.
    ///
    /// # Panics
    /// When the trace has no such file.
    #[must_use]
    pub fn with_layouts(self, layouts: BTreeMap<u32, Vec<Stripe>>) -> Replay {
        assert!(layouts.keys().all(|file| *file < self.files), "a layout is of a file that is named");
        Replay { layouts, ..self }
    }

    /// Files with their own layout.
    #[must_use]
    pub fn layouts(&self) -> &BTreeMap<u32, Vec<Stripe>> {
        &self.layouts
    }

    /// Whether the replay is an open or a closed loop.
    #[must_use]
    pub fn pace(&self) -> Loop {
        self.pace
    }

    /// All records, client by client.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The number of files.
    #[must_use]
    pub fn files(&self) -> u32 {
        self.files
    }

    /// Bytes of all records.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The time of the last record, in an open loop.
    #[must_use]
    pub fn span(&self) -> SimSpan {
        self.span
    }

    /// The records of a client.
    #[must_use]
    pub fn of(&self, rank: Rank) -> &[Record] {
        let client = rank.rank as usize;
        let end = self.ends.get(client).copied().unwrap_or(0);
        let begin = client.checked_sub(1).map_or(0, |before| self.ends[before]);
        debug_assert!(begin <= end && end <= self.records.len(), "records of clients follow each other");
        &self.records[begin.min(end)..end]
    }

    /// A client's request by its number.
    #[must_use]
    pub fn wish(&self, rank: Rank, number: u64) -> Option<Wish> {
        let record = self.of(rank).get(usize::try_from(number).ok()?)?;
        let &Record { operation, offset, bytes, .. } = record;
        debug_assert_eq!(record.client, rank.rank, "a client asks for its own records");
        let file = rank.first_file + u64::from(record.file);
        Some(Wish { operation, file, offset, bytes: u64::from(bytes) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(client: u32, at: u64, bytes: u32) -> Record {
        Record {
            at: SimSpan::from_ns(at),
            offset: 0,
            bytes,
            file: client % 2,
            client,
            operation: Operation::Read,
            from_start: false,
        }
    }

    fn rank(rank: u32) -> Rank {
        Rank { application: 0, rank, of: 4, first_file: 7 }
    }

    /// Each client has its own records, in order of time in an open loop, and in the trace's order in a
    /// closed one.
    #[test]
    fn each_client_has_its_own_records() {
        let records = vec![record(2, 5, 1), record(0, 9, 2), record(2, 3, 3), record(0, 9, 4)];
        let of = |pace: Loop, client: u32| -> Vec<u32> {
            let replay = Replay::new(pace, 4, records.clone());
            replay.of(rank(client)).iter().map(|one| one.bytes).collect()
        };
        assert_eq!(
            [of(Loop::Open, 0), of(Loop::Open, 1), of(Loop::Open, 2)],
            [vec![2, 4], vec![], vec![3, 1]]
        );
        assert_eq!([of(Loop::Closed, 2), of(Loop::Closed, 3)], [vec![1, 3], vec![]]);
        let replay = Replay::new(Loop::Open, 4, records);
        assert_eq!((replay.files(), replay.bytes(), replay.span()), (1, 10, SimSpan::from_ns(9)));
        assert_eq!(replay.wish(rank(2), 1).map(|wish| (wish.file, wish.bytes)), Some((7, 1)));
        assert_eq!(replay.wish(rank(2), 2), None);
    }

    /// The memory estimate of a study relies on the size of a record.
    #[test]
    fn a_record_takes_32_bytes() {
        assert_eq!(size_of::<Record>(), 32);
    }
}
