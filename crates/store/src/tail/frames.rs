//! The transactions in a journal of the embedded tree, as fjall 3 writes them: `Start` with the number of
//! items and a sequence number, the items, and `End` with the checksum of the items and four fixed bytes. A
//! journal is allocated in advance, so that it ends with zeros.
//!
//! The checksum does not cover the sequence number, by which the tree orders transactions: a [`Stamp`] in
//! each transaction says what it must be at least, and the next transaction's what it must be less than.

use twox_hash::XxHash3_64;

/// The key of the row with which each transaction replaces the stamp of the one before. No group has this
/// number.
pub(crate) const STAMP_KEY: &[u8] = b"\xff\xff\xff\xffstamp";

/// How far the tree's sequence numbers may have advanced between a stamp and its transaction: flushes take
/// some too.
const SEQUENCE_MOST: u64 = 1 << 20;

const START: u8 = 1;
const ITEM: u8 = 2;
const END: u8 = 3;
const CLEAR: u8 = 4;
const TRAILER: &[u8] = b"FJL\x03";

/// What each transaction says about itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Counts the transactions of the directory, from 1 on.
    pub number: u64,
    /// The last transaction that was known to be synced when this one was written.
    pub synced: u64,
    /// The sequence number that the tree would have taken next.
    pub sequence: u64,
}

impl Stamp {
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        [self.number, self.synced, self.sequence].into_iter().flat_map(u64::to_be_bytes).collect()
    }

    pub(crate) fn of_bytes(bytes: &[u8]) -> Option<Stamp> {
        let (words, rest) = bytes.as_chunks::<8>();
        let [number, synced, sequence] = words else { return None };
        let word = |bytes: &[u8; 8]| u64::from_be_bytes(*bytes);
        let stamp = Stamp { number: word(number), synced: word(synced), sequence: word(sequence) };
        rest.is_empty().then_some(stamp)
    }
}

/// A transaction in a journal, or what is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A transaction that can be read.
    Sound {
        /// Counts the transactions of the directory.
        number: u64,
        /// The last transaction that was known to be synced when it was written.
        synced: u64,
        /// The sequence number by which the tree orders it.
        sequence: u64,
        /// Where the next one begins.
        end: u64,
    },
    /// Bytes that are no transaction.
    Bad {
        /// Where they begin.
        at: u64,
    },
}

/// A transaction that is sound by itself.
#[derive(Clone, Copy, Debug)]
struct Read {
    stamp: Stamp,
    sequence: u64,
    end: usize,
}

/// The transactions of a journal in order. After bytes that are none, those that can be read again follow:
/// their numbers tell what was synced.
pub(crate) fn frames(bytes: &[u8]) -> Vec<Frame> {
    let written = written(bytes);
    let (mut frames, mut at) = (Vec::new(), 0);
    // Where the last sound one begins, and its sequence number.
    let mut before: Option<(usize, u64)> = None;
    while at < written {
        let mut places = at..written;
        let found = places.find_map(|begin| Some((begin, read_at(bytes, begin)?)));
        if found.is_none_or(|(begin, _)| begin > at) {
            frames.push(Frame::Bad { at: at as u64 });
            before = None;
        }
        let Some((begin, Read { stamp, sequence, end })) = found else { break };
        // A stamp has a checksum, so it is the sequence number before it that is damaged.
        if let Some((begin, _)) = before.filter(|(_, before)| *before >= stamp.sequence) {
            frames.pop();
            frames.push(Frame::Bad { at: begin as u64 });
        }
        let Stamp { number, synced, .. } = stamp;
        frames.push(Frame::Sound { number, synced, sequence, end: end as u64 });
        (at, before) = (end, Some((begin, sequence)));
    }
    frames
}

/// The length without the zeros at the end; the last bytes of a transaction are no zeros.
fn written(bytes: &[u8]) -> usize {
    // Whole blocks are compared faster than their bytes.
    static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
    let mut end = bytes.len();
    while end > 0 {
        let begin = end.saturating_sub(ZEROS.len());
        let block = &bytes[begin..end];
        if *block != ZEROS[..block.len()] {
            return begin + block.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        }
        end = begin;
    }
    0
}

fn read_at(bytes: &[u8], at: usize) -> Option<Read> {
    let mut rest = bytes.get(at..)?;
    if take::<1>(&mut rest)? != [START] {
        return None;
    }
    let items = u32::from_le_bytes(take(&mut rest)?);
    let sequence = u64::from_le_bytes(take(&mut rest)?);
    let body = rest;
    let mut stamp = None;
    for _ in 0..items {
        stamp = read_item(&mut rest)?.or(stamp);
    }
    let body = &body[..body.len() - rest.len()];
    let is_end = take::<1>(&mut rest)? == [END];
    let checksum = u64::from_le_bytes(take(&mut rest)?);
    let is_whole = is_end && take::<4>(&mut rest)? == TRAILER && XxHash3_64::oneshot(body) == checksum;
    let stamp = stamp.filter(|_| is_whole)?;
    let range = stamp.sequence..stamp.sequence.saturating_add(SEQUENCE_MOST);
    range.contains(&sequence).then_some(Read { stamp, sequence, end: bytes.len() - rest.len() })
}

/// Passes over an item; returns the stamp, if it is that.
fn read_item(rest: &mut &[u8]) -> Option<Option<Stamp>> {
    match take::<1>(rest)? {
        [ITEM] => {
            // The kind of value, and that it is not compressed.
            let [_, 0] = take::<2>(rest)? else { return None };
            take::<8>(rest)?;
            let key = usize::from(u16::from_le_bytes(take(rest)?));
            let [length, on_disk] = [take(rest)?, take(rest)?].map(u32::from_le_bytes);
            if length != on_disk {
                return None;
            }
            let key = take_some(rest, key)?;
            let value = take_some(rest, length as usize)?;
            if key == STAMP_KEY { Stamp::of_bytes(value).map(Some) } else { Some(None) }
        }
        [CLEAR] => take::<8>(rest).map(|_| None),
        _ => None,
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*first)
}

fn take_some<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (first, after) = rest.split_at_checked(count)?;
    *rest = after;
    Some(first)
}
