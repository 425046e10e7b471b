//! Kinds of files (strata): the files of a bin that have the same number of objects.
//!
//! A population has a fixed number of files of each kind, in ascending order of size, and its objects are
//! numbered consecutively. These numbers are not drawn: the number of files below each edge is the expected
//! one, rounded. So the few largest files, which hold most bytes of many data sets, are present in the right
//! number at every scale. (Rounding each kind separately, for example by the largest remainder, would lose
//! all of them: each of thousands of kinds expects less than half a file.)

use crate::error::PopulationError;
use crate::histogram::{SizeHistogram, mean_of};
use crate::layout::Pieces;
use crate::limits::{KINDS_MAX, OBJECTS_MAX};
use towtank_units::Bytes;

/// An extent as a number of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Amount {
    /// The number of whole files from the distribution.
    pub(crate) files: u64,
    /// The number of objects (one chunk or strip each) of an additional file; 0 if there is none.
    pub(crate) rest: u64,
}

/// The files of one kind, with the range of their objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stratum {
    pub(crate) first_object: u64,
    pub(crate) first_file: u64,
    pub(crate) files: u64,
    /// The smallest size; 0 stands for 1 byte.
    pub(crate) low: u64,
    /// The number of different sizes.
    pub(crate) span: u64,
    /// The number of objects per file.
    pub(crate) parts: u64,
}

/// All kinds that have at least one file, and an index from object ids to kinds.
#[derive(Clone, Debug)]
pub(crate) struct Strata {
    list: Vec<Stratum>,
    /// The first object of each kind, stored separately so that a search touches little memory.
    starts: Vec<u64>,
    /// For each run of 2^shift ids, the kind of the first.
    index: Vec<u32>,
    shift: u32,
    pub(crate) objects: u64,
    pub(crate) files: u64,
}

/// A kind of files without its position in the numbering.
struct Cut {
    files: u64,
    low: u64,
    span: u64,
    parts: u64,
}

/// Totals for a number of files.
#[derive(Default)]
pub(crate) struct Totals {
    pub(crate) objects: u128,
    /// Twice the expected bytes, without counting files of 0 bytes as 1 byte.
    pub(crate) doubled_bytes: u128,
}

/// The number of objects and bytes of this many files.
pub(crate) fn totals(histogram: &SizeHistogram, pieces: Pieces, files: u64) -> Totals {
    let mut totals = Totals::default();
    each_cut(histogram, pieces, files, |cut| {
        let (files, low, span) = (u128::from(cut.files), u128::from(cut.low), u128::from(cut.span));
        totals.objects += files * u128::from(cut.parts);
        totals.doubled_bytes += files * (2 * low + span - 1);
    });
    totals
}

/// Refuses a data set whose tables would take too much memory.
pub(crate) fn check(histogram: &SizeHistogram, pieces: Pieces) -> Result<(), PopulationError> {
    let (unit, largest) = (Bytes::new(pieces.unit), histogram.largest());
    let objects = pieces.objects_of(largest.get());
    if objects > u64::from(u32::MAX) {
        return Err(PopulationError::TooManyParts { unit, largest, objects });
    }
    let of_bin = |bin: &crate::SizeBin| pieces.objects_of(bin.max - 1) - pieces.objects_of(bin.min) + 1;
    let kinds = histogram.bins().iter().map(of_bin).fold(0, u64::saturating_add);
    if kinds > KINDS_MAX { Err(PopulationError::TooManyKinds { unit, largest, kinds }) } else { Ok(()) }
}

/// Calls `see` for each kind that has a file, in ascending order of size. One more file never leaves fewer
/// files above any edge.
fn each_cut(histogram: &SizeHistogram, pieces: Pieces, files: u64, mut see: impl FnMut(Cut)) {
    let (mut counted, mut below) = (0, 0);
    for bin in histogram.bins() {
        counted += bin.count;
        let below_end = share(files, counted, histogram.total());
        let of_bin = below_end - below;
        below = below_end;
        if of_bin == 0 {
            continue;
        }
        let (mut low, mut given) = (bin.min, 0);
        for parts in pieces.objects_of(bin.min)..=pieces.objects_of(bin.max - 1) {
            let high = pieces.largest_of(parts, bin.max - 1);
            let upto = share(of_bin, high + 1 - bin.min, bin.width());
            if upto > given {
                see(Cut { files: upto - given, low, span: high + 1 - low, parts });
            }
            (low, given) = (high + 1, upto);
        }
    }
}

/// `number * part / whole`, rounded.
fn share(number: u64, part: u64, whole: u64) -> u64 {
    let doubled = u128::from(number) * u128::from(part) * 2 + u128::from(whole);
    match (u64::try_from(doubled), whole.checked_mul(2)) {
        (Ok(doubled), Some(whole)) => doubled / whole,
        _ => (doubled / (2 * u128::from(whole))) as u64,
    }
}

impl Strata {
    /// The kinds of this amount of files, including the partial file.
    pub(crate) fn new(
        histogram: &SizeHistogram,
        pieces: Pieces,
        amount: Amount,
    ) -> Result<Strata, PopulationError> {
        let mut cuts = Vec::new();
        each_cut(histogram, pieces, amount.files, |cut| cuts.push(cut));
        if amount.rest > 0 {
            // It has fewer parts than the largest file, so the product does not overflow.
            let low = amount.rest * pieces.unit;
            let at = cuts.partition_point(|cut| cut.low <= low);
            cuts.insert(at, Cut { files: 1, low, span: 1, parts: amount.rest });
        }
        let mut list: Vec<Stratum> = Vec::with_capacity(cuts.len());
        let (mut first_object, mut first_file) = (0u128, 0);
        for Cut { files, low, span, parts } in cuts {
            let start = u64::try_from(first_object).unwrap_or(u64::MAX);
            list.push(Stratum { first_object: start, first_file, files, low, span, parts });
            first_object += u128::from(files) * u128::from(parts);
            first_file += files;
        }
        if first_object > u128::from(OBJECTS_MAX) {
            return Err(PopulationError::TooMany { what: "objects" });
        }
        let objects = first_object as u64;
        let starts: Vec<u64> = list.iter().map(|stratum| stratum.first_object).collect();
        let runs = (2 * list.len() as u64).next_power_of_two();
        let shift = (objects / runs).max(1).ilog2() + 1;
        let kind_at = |id: u64| starts.partition_point(|start| *start <= id) as u32 - 1;
        let index = (0..=(objects - 1) >> shift).map(|run| kind_at(run << shift)).collect();
        Ok(Strata { list, starts, index, shift, objects, files: first_file })
    }

    /// The kind of an object.
    #[inline]
    pub(crate) fn of_object(&self, id: u64) -> &Stratum {
        let run = (id >> self.shift) as usize;
        let first = self.index[run] as usize;
        let last = self.index.get(run + 1).map_or(self.list.len() - 1, |kind| *kind as usize);
        let kind = first + self.starts[first..=last].partition_point(|start| *start <= id) - 1;
        &self.list[kind]
    }

    /// The kind of a file.
    pub(crate) fn of_file(&self, file: u64) -> &Stratum {
        &self.list[self.list.partition_point(|stratum| stratum.first_file <= file) - 1]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Stratum> {
        self.list.iter()
    }

    pub(crate) fn bytes_expected(&self) -> f64 {
        self.list.iter().map(|stratum| stratum.files as f64 * mean_of(stratum.low, stratum.span)).sum()
    }
}
