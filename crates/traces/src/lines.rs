//! Splits a source of bytes into lines, or into pieces of fixed length, with one block that is refilled.

use std::io::{self, Read};

use crate::error::{Fault, Place};

/// The maximum length of a line in bytes. The longest lines written in practice have a path of at most 4096
/// bytes and a list of some hundred targets.
pub const LINE_MAX_BYTES: usize = 64 << 10;
/// Bytes held at a time.
pub(crate) const BLOCK_BYTES: usize = 256 << 10;

/// The lines of a source.
pub(crate) struct Lines<R> {
    source: R,
    block: Vec<u8>,
    /// The part of the block not yet returned: `from` to `to`.
    from: usize,
    to: usize,
    ended: bool,
    /// Number of lines returned so far.
    number: u64,
    /// Bytes of the source before the block.
    before: u64,
    /// Position of the piece returned last.
    piece_at: u64,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(source: R) -> Lines<R> {
        let block = vec![0; BLOCK_BYTES];
        Lines { source, block, from: 0, to: 0, ended: false, number: 0, before: 0, piece_at: 0 }
    }

    /// The first block, and whether it is the whole source. Nothing is consumed.
    pub(crate) fn head(&mut self) -> io::Result<(&[u8], bool)> {
        self.fill()?;
        Ok((&self.block[self.from..self.to], self.ended))
    }

    /// The number of the line returned last, from 1.
    pub(crate) fn line_number(&self) -> u64 {
        self.number
    }

    /// Position of the piece returned last.
    pub(crate) fn piece_at(&self) -> u64 {
        self.piece_at
    }

    /// The source.
    pub(crate) fn source(&self) -> &R {
        &self.source
    }

    /// The next line, without its line end; none at the end.
    #[inline]
    pub(crate) fn line(&mut self) -> Result<Option<&[u8]>, Stopped> {
        let mut searched = 0;
        loop {
            let held = &self.block[self.from..self.to];
            if let Some(length) = newline(&held[searched..]).map(|at| searched + at) {
                return self.give(length, 1).map(Some);
            }
            searched = held.len();
            if self.ended {
                return if searched == 0 { Ok(None) } else { self.give(searched, 0).map(Some) };
            }
            if searched > LINE_MAX_BYTES {
                return self.give(searched, 0).map(Some);
            }
            self.fill().map_err(|error| Stopped::Unread(error, Place::Line(self.number + 1)))?;
        }
    }

    /// The next piece of `length` bytes; none at the end.
    pub(crate) fn piece(&mut self, length: usize) -> Result<Option<&[u8]>, Stopped> {
        self.piece_at = self.before + self.from as u64;
        if self.to - self.from < length && !self.ended {
            self.fill().map_err(|error| Stopped::Unread(error, Place::Byte(self.piece_at)))?;
        }
        let held = self.to - self.from;
        if held == 0 {
            return Ok(None);
        }
        if held < length {
            let reason = format!("it ends after {held} of the {length} bytes of a record");
            let fault = Fault::new(reason).hint("copy the whole trace again");
            return Err(Stopped::Refused(fault, Place::Byte(self.piece_at)));
        }
        let from = self.from;
        self.from += length;
        Ok(Some(&self.block[from..self.from]))
    }

    /// Returns a line of `length` bytes whose line end has `end` bytes.
    #[inline]
    fn give(&mut self, length: usize, end: usize) -> Result<&[u8], Stopped> {
        self.number += 1;
        if length > LINE_MAX_BYTES {
            let reason = format!("it is longer than {LINE_MAX_BYTES} bytes, the limit of a line");
            let fault = Fault::new(reason).hint("is it text with one record per line?");
            return Err(Stopped::Refused(fault, Place::Line(self.number)));
        }
        let line = &self.block[self.from..self.from + length];
        self.from += length + end;
        Ok(line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// Moves the rest to the front and reads until the block is full or the source ends.
    fn fill(&mut self) -> io::Result<()> {
        self.block.copy_within(self.from..self.to, 0);
        self.before += self.from as u64;
        self.to -= self.from;
        self.from = 0;
        while !self.ended && self.to < self.block.len() {
            match self.source.read(&mut self.block[self.to..]) {
                Ok(0) => self.ended = true,
                Ok(count) => self.to += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Why there is no next line, and its place.
#[derive(Debug)]
pub(crate) enum Stopped {
    Unread(io::Error, Place),
    Refused(Box<Fault>, Place),
}

/// Finds a newline, eight bytes at a time: a byte of `word ^ NEWLINES` is zero where a newline is.
#[inline]
fn newline(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    const NEWLINES: u64 = ONES * b'\n' as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word) ^ NEWLINES;
        let zeros = word.wrapping_sub(ONES) & !word & HIGHS;
        if zeros != 0 {
            return Some(at * 8 + (zeros.trailing_zeros() / 8) as usize);
        }
    }
    rest.iter().position(|byte| *byte == b'\n').map(|at| words.len() * 8 + at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A source that returns at most this many bytes at a time.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(into.len());
            into[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_reported_with_its_number() {
        let long = [b"ok\n".to_vec(), vec![b'a'; LINE_MAX_BYTES + 1], b"\nok".to_vec()].concat();
        for text in [&long[..], &long[..LINE_MAX_BYTES + 4], &vec![b'a'; 4 * BLOCK_BYTES][..]] {
            let mut lines = Lines::new(Drip(text, 1 << 16));
            let stopped = loop {
                match lines.line() {
                    Ok(Some(line)) => assert_eq!(line, b"ok"),
                    Ok(None) => panic!("the line is too long"),
                    Err(stopped) => break stopped,
                }
            };
            let Stopped::Refused(_, place) = stopped else { panic!("it can be read") };
            assert_eq!(place, Place::Line(if text[0] == b'o' { 2 } else { 1 }));
        }
        let most = vec![b'a'; LINE_MAX_BYTES];
        assert_eq!(Lines::new(&most[..]).line().unwrap().map(<[u8]>::len), Some(LINE_MAX_BYTES));
    }

    #[test]
    fn a_piece_that_is_cut_is_reported_with_its_place() {
        let mut lines = Lines::new(&[7; 60][..]);
        assert_eq!(lines.piece(24).unwrap(), Some(&[7; 24][..]));
        assert_eq!((lines.piece(24).unwrap().map(<[u8]>::len), lines.piece_at()), (Some(24), 24));
        let Err(Stopped::Refused(_, place)) = lines.piece(24) else { panic!("it is cut") };
        assert_eq!(place, Place::Byte(48));
    }

    proptest! {
        #[test]
        fn lines_are_those_of_the_whole_text(text in "[a-c\n]{0,200}", at_once in 1usize..40) {
            let mut lines = Lines::new(Drip(text.as_bytes(), at_once));
            let mut found = Vec::new();
            while let Some(line) = lines.line().unwrap() {
                found.push(String::from_utf8(line.to_vec()).unwrap());
            }
            prop_assert_eq!(found, text.lines().map(str::to_owned).collect::<Vec<_>>());
        }

        #[test]
        fn a_newline_is_found_where_it_is(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(newline(&bytes), bytes.iter().position(|byte| *byte == b'\n'));
        }
    }
}
