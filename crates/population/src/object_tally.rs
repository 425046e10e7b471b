//! Counts the objects of a kind of files by power of two of their size, without visiting files.
//!
//! The sizes of a kind's files are uniform over a range, so expected counts are sums over that range. A file
//! striped over n objects fills row after row of n strips: in row r, objects have r or r + 1 strips, and one
//! is in between. If both sizes fall into one bin, so do all objects of all such files, and they are counted
//! together; the few rows that contain a power of two are summed strip by strip. All sums are exact except
//! for the rounding of floats.

use crate::layout::Pieces;
use crate::strata::Stratum;
use crate::tally::{SizeTally, bin_of};

/// Adds the objects of a kind of files to the tally.
pub(crate) fn add_objects(tally: &mut SizeTally, stratum: &Stratum, pieces: Pieces) {
    let each = stratum.files as f64 / stratum.span as f64;
    let high = stratum.low + (stratum.span - 1);
    if stratum.parts == 1 {
        return tally.add_range(stratum.low, high, each);
    }
    let rows = Rows { parts: stratum.parts, unit: pieces.unit, each };
    let length = rows.parts * rows.unit;
    let mut size = stratum.low;
    while size <= high {
        let row = size / length;
        let end = match rows.last_alike(row) {
            Some(last) => {
                let end = high.min((last + 1) * length - 1);
                let files = rows.each * (end - size + 1) as f64;
                let mean = (u128::from(size) + u128::from(end)) as f64 / 2.0;
                tally.add_to_bin(bin_of(row * rows.unit), files * rows.parts as f64, files * mean);
                end
            }
            None => {
                let end = high.min((row + 1) * length - 1);
                rows.add_row(tally, row, [size - row * length, end - row * length]);
                end
            }
        };
        size = end + 1;
    }
}

struct Rows {
    /// The number of objects per file.
    parts: u64,
    unit: u64,
    /// The number of files of each size.
    each: f64,
}

impl Rows {
    /// The last row, from `row` on, whose objects all fall into the same bin as those of `row`; `None` if
    /// those of `row` fall into several.
    fn last_alike(&self, row: u64) -> Option<u64> {
        let least = (row * self.unit).max(1);
        let end = 2u64 << bin_of(least);
        let rows = (end - 1) / self.unit;
        (row > 0 && rows > row).then(|| rows - 1)
    }

    /// Adds the files that end in `row`, between two byte positions in it.
    fn add_row(&self, tally: &mut SizeTally, row: u64, [first, last]: [u64; 2]) {
        let (strip, place) = (first / self.unit, first % self.unit);
        let (last_strip, last_place) = (last / self.unit, last % self.unit);
        if strip == last_strip {
            return self.add_strips(tally, row, [strip, strip], [place, last_place]);
        }
        self.add_strips(tally, row, [strip, strip], [place, self.unit - 1]);
        if strip + 1 < last_strip {
            self.add_strips(tally, row, [strip + 1, last_strip - 1], [0, self.unit - 1]);
        }
        self.add_strips(tally, row, [last_strip, last_strip], [0, last_place]);
    }

    /// Adds the files that end in one of these strips, between two byte positions in the strip.
    fn add_strips(&self, tally: &mut SizeTally, row: u64, strips: [u64; 2], places: [u64; 2]) {
        let number = (strips[1] - strips[0] + 1) as f64;
        let before = (strips[0] + strips[1]) as f64 / 2.0 * number;
        let sizes = self.each * (places[1] - places[0] + 1) as f64;
        let base = row * self.unit;
        tally.add(base + self.unit, sizes * before);
        if row > 0 {
            tally.add(base, sizes * (number * (self.parts - 1) as f64 - before));
        }
        tally.add_range(base + places[0], base + places[1], self.each * number);
    }
}
