//! The file layouts of a PFSsim scenario: one line per file, `file [server stripe] [server stripe] …`.
//! Blanks, tabs, commas and brackets all separate the numbers; a stripe may end in `k` (1024 bytes) or `m`
//! (1024²).

use std::collections::BTreeMap;
use std::io::Read;

use crate::error::{Fault, TraceError};
use crate::fields::{shown, whole};
use crate::lines::Lines;
use crate::packing::Unpacked;
use crate::reader::{of_io, of_stopped};

/// The maximum number of files: the map is held in memory.
pub const FILES_MAX: usize = 1_000_000;
/// The maximum number of stripes per file.
pub const STRIPES_MAX: usize = 65_536;

/// One server's part of each round of striping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stripe {
    /// The server.
    pub server: u32,
    /// Bytes on this server per round; never 0.
    pub bytes: u64,
}

/// The layout of a file: its servers in round-robin order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// At least one.
    pub stripes: Vec<Stripe>,
}

/// Reads the layouts of all files, by number. Empty lines are skipped.
///
/// # Errors
/// If the input cannot be read, a line is invalid, or a file has two layouts.
pub fn read_layouts(name: &str, input: impl Read) -> Result<BTreeMap<u64, Layout>, TraceError> {
    let mut lines =
        Lines::new(Unpacked::open(input).map_err(|error| of_io(name, crate::Place::File, None, &error))?);
    let mut layouts = BTreeMap::new();
    loop {
        let packed = lines.source().by();
        let line = match lines.line() {
            Ok(Some(line)) => line.to_vec(),
            Ok(None) => return Ok(layouts),
            Err(stopped) => return Err(of_stopped(name, packed, stopped)),
        };
        let place = crate::Place::Line(lines.line_number());
        let Some((file, layout)) = parse(&line).map_err(|fault| fault.at(name, place))? else { continue };
        if layouts.len() == FILES_MAX {
            return Err(Fault::new(format!("there are more than {FILES_MAX} files")).at(name, place));
        }
        if layouts.insert(file, layout).is_some() {
            let fault = Fault::new(format!("file {file} already has a layout"));
            return Err(fault.hint("keep one line per file").at(name, place));
        }
    }
}

fn parse(line: &[u8]) -> Result<Option<(u64, Layout)>, Box<Fault>> {
    let parts = |byte: &u8| matches!(byte, b' ' | b'\t' | b',' | b'[' | b']');
    let mut words = line.split(parts).filter(|word| !word.is_empty());
    let Some(first) = words.next() else { return Ok(None) };
    let file = whole(first).ok_or_else(|| none_of("file", first, "a whole number"))?;
    let mut stripes = Vec::new();
    while let Some(server) = words.next() {
        let number = whole(server).and_then(|number| u32::try_from(number).ok());
        let number = number.ok_or_else(|| none_of("server", server, "a whole number of 32 bits"))?;
        let Some(size) = words.next() else {
            return Err(Fault::new(format!("server {number} has no stripe")).hint(FORM));
        };
        let bytes = sized(size).filter(|bytes| *bytes > 0);
        let bytes =
            bytes.ok_or_else(|| none_of("stripe", size, "a size above 0, with or without `k` or `m`"))?;
        if stripes.len() == STRIPES_MAX {
            return Err(Fault::new(format!("file {file} has more than {STRIPES_MAX} stripes")));
        }
        stripes.push(Stripe { server: number, bytes });
    }
    let round = stripes.iter().try_fold(0u64, |sum, stripe| sum.checked_add(stripe.bytes));
    match (stripes.is_empty(), round) {
        (true, _) => Err(Fault::new(format!("file {file} is on no server")).hint(FORM)),
        (_, None) => Err(Fault::new(format!("the stripes of file {file} add up to more than {}", u64::MAX))),
        _ => Ok(Some((file, Layout { stripes }))),
    }
}

const FORM: &str = "a line is `file [server stripe] [server stripe] …`";

fn none_of(what: &str, word: &[u8], wanted: &str) -> Box<Fault> {
    Fault::new(format!("the {what} is `{}`, but must be {wanted}", shown(word))).hint(FORM)
}

fn sized(word: &[u8]) -> Option<u64> {
    let (digits, unit) = match word.split_last()? {
        (b'k' | b'K', digits) => (digits, 1 << 10),
        (b'm' | b'M', digits) => (digits, 1 << 20),
        _ => (word, 1),
    };
    whole(digits)?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<BTreeMap<u64, Layout>, TraceError> {
        read_layouts("layout", text.as_bytes())
    }

    #[test]
    fn every_separator_and_suffix_is_read() {
        let layout = |stripes: &[(u32, u64)]| Layout {
            stripes: stripes.iter().map(|&(server, bytes)| Stripe { server, bytes }).collect(),
        };
        let found = read("0 [0 64k] [1 64k]\n\n7\t[3,1m],[2,512]\r\n12 1 100 0 2M").unwrap();
        let want = [
            (0, layout(&[(0, 65_536), (1, 65_536)])),
            (7, layout(&[(3, 1 << 20), (2, 512)])),
            (12, layout(&[(1, 100), (0, 2 << 20)])),
        ];
        assert_eq!(found, BTreeMap::from(want));
    }

    #[test]
    fn what_is_no_layout_is_refused_with_its_line() {
        let check = |text: &str, want: &str| assert_eq!(read(text).unwrap_err().to_string(), want);
        check("0 [0 64k]\n0 [1 64k]", "`layout`, line 2: file 0 already has a layout");
        check("0", "`layout`, line 1: file 0 is on no server");
        check("0 [1 ]", "`layout`, line 1: server 1 has no stripe");
        check(
            "\n0 [1 0]",
            "`layout`, line 2: the stripe is `0`, but must be a size above 0, with or without `k` or `m`",
        );
        check("0 [-1 5]", "`layout`, line 1: the server is `-1`, but must be a whole number of 32 bits");
        check(
            "0 [1 17592186044416m] ",
            "`layout`, line 1: the stripe is `17592186044416m`, but must be a size above 0, with or without `k` or `m`",
        );
        check(
            "3 [0 18446744073709551615] [1 1]",
            "`layout`, line 1: the stripes of file 3 add up to more than 18446744073709551615",
        );
    }
}
