//! A data set with a given number of files, which computes any of its objects on request.

use std::ops::{Range, RangeInclusive};

use towtank_streams::{Draws, Purpose, Seed, Uniform};
use towtank_units::Bytes;

use crate::error::PopulationError;
use crate::extent::Extent;
use crate::histogram::SizeHistogram;
use crate::keys::KeySpacing;
use crate::layout::{Layout, Pieces};
use crate::object_tally::add_objects;
use crate::permutation::Permutation;
use crate::strata::{self, Strata, Stratum};
use crate::tally::SizeTally;
use crate::thinning::{Thinned, Thinning};

const SIZE: Purpose = Purpose(2);
const KEYS: Purpose = Purpose(3);

/// A data set: a number of files, each divided into objects.
///
/// Objects are numbered in ascending order of the kind of their file, so ids and sizes are correlated; ranks
/// and keys are not.
#[derive(Clone, Debug)]
pub struct Population {
    pieces: Pieces,
    strata: Strata,
    seed: Seed,
    order: Permutation,
    spacing: KeySpacing,
}

/// An object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Object {
    /// The size, at least 1 byte.
    pub size: Bytes,
    /// The number of the file that contains it.
    pub file: u64,
    /// Its index within the file, from 0.
    pub part: u32,
}

/// A file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct File {
    /// The size, at least 1 byte.
    pub size: Bytes,
    /// The ids of its objects, in order.
    pub objects: Range<u64>,
}

impl Population {
    /// A data set with file sizes from `histogram`, divided into objects by `layout`, as large as `extent`
    /// says. `seed` determines sizes and keys.
    ///
    /// # Errors
    /// If the data set is empty, or has more files or objects than can be numbered.
    pub fn new(
        histogram: &SizeHistogram,
        layout: Layout,
        extent: Extent,
        seed: Seed,
    ) -> Result<Population, PopulationError> {
        let pieces = layout.pieces()?;
        strata::check(histogram, pieces)?;
        let strata = Strata::new(histogram, pieces, extent.amount(histogram, pieces)?)?;
        let spacing = KeySpacing::new(strata.objects, 1, salt(seed))?;
        Ok(Population { pieces, order: Permutation::new(strata.objects, seed), strata, seed, spacing })
    }

    /// The same data set with keys whose remainder modulo `modulus` equals that of their rank, for placements
    /// that divide keys.
    ///
    /// # Errors
    /// If there are too many objects to leave room for that.
    ///
    /// # Panics
    /// If `modulus` is zero.
    pub fn with_key_modulus(self, modulus: u64) -> Result<Population, PopulationError> {
        let spacing = KeySpacing::new(self.strata.objects, modulus, salt(self.seed))?;
        Ok(Population { spacing, ..self })
    }

    /// The number of objects; their ids are `0..objects()`.
    #[must_use]
    pub fn objects(&self) -> u64 {
        self.strata.objects
    }

    /// The number of files, which are numbered `0..files()`.
    #[must_use]
    pub fn files(&self) -> u64 {
        self.strata.files
    }

    /// The expected number of bytes of all files, that is the mean over seeds.
    #[must_use]
    pub fn bytes_expected(&self) -> f64 {
        self.strata.bytes_expected()
    }

    /// The object with this id.
    ///
    /// # Panics
    /// If `id` is not below [`Population::objects`].
    #[inline]
    #[must_use]
    pub fn object(&self, id: u64) -> Object {
        assert!(id < self.strata.objects, "object {id} is not below {}", self.strata.objects);
        let stratum = self.strata.of_object(id);
        let past = id - stratum.first_object;
        let (file, part) =
            if stratum.parts == 1 { (past, 0) } else { (past / stratum.parts, past % stratum.parts) };
        let file = stratum.first_file + file;
        let size = self.pieces.object_size(self.size_of(stratum, file), stratum.parts, part);
        Object { size: Bytes::new(size), file, part: part as u32 }
    }

    /// The file with this number.
    ///
    /// # Panics
    /// If `file` is not below [`Population::files`].
    #[must_use]
    pub fn file(&self, file: u64) -> File {
        assert!(file < self.strata.files, "file {file} is not below {}", self.strata.files);
        let stratum = self.strata.of_file(file);
        let first = stratum.first_object + (file - stratum.first_file) * stratum.parts;
        let size = Bytes::new(self.size_of(stratum, file));
        File { size, objects: first..first + stratum.parts }
    }

    #[inline]
    fn size_of(&self, stratum: &Stratum, file: u64) -> u64 {
        if stratum.span == 1 {
            return stratum.low.max(1);
        }
        let along = Draws::new(self.seed, 0, file).of(SIZE).below(stratum.span);
        (stratum.low + along).max(1)
    }

    /// The object's position in the order of keys: a permutation of the ids that is independent of sizes.
    ///
    /// # Panics
    /// If `id` is not below [`Population::objects`].
    #[inline]
    #[must_use]
    pub fn rank(&self, id: u64) -> u64 {
        self.order.apply(id)
    }

    /// The object at a position in the order of keys.
    ///
    /// # Panics
    /// If `rank` is not below [`Population::objects`].
    #[inline]
    #[must_use]
    pub fn id_of_rank(&self, rank: u64) -> u64 {
        self.order.invert(rank)
    }

    /// The object's key. Keys are unique and spread evenly over 64 bits.
    ///
    /// # Panics
    /// If `id` is not below [`Population::objects`].
    #[inline]
    #[must_use]
    pub fn key(&self, id: u64) -> u64 {
        self.spacing.key(self.order.apply(id))
    }

    /// The object with this key, if there is one.
    #[must_use]
    pub fn id_of_key(&self, key: u64) -> Option<u64> {
        self.spacing.rank(key).map(|rank| self.order.invert(rank))
    }

    /// The objects whose keys are in a range, in ascending order of keys.
    pub fn ids_with_keys(&self, keys: RangeInclusive<u64>) -> impl Iterator<Item = u64> + '_ {
        self.ids_in_run(keys, 0, 1)
    }

    /// The objects with `rank % modulus == residue`, in ascending order of ranks.
    ///
    /// # Panics
    /// If `modulus` is zero.
    pub fn ids_in_residue(&self, residue: u64, modulus: u64) -> impl Iterator<Item = u64> + '_ {
        self.ids_of_ranks(0..self.strata.objects, residue, modulus)
    }

    /// The objects whose keys are in a range and have the remainder `residue` modulo `modulus`, in ascending
    /// order of keys.
    ///
    /// # Panics
    /// If keys do not keep remainders of `modulus`: it must divide the modulus given to
    /// [`Population::with_key_modulus`].
    pub fn ids_in_run(
        &self,
        keys: RangeInclusive<u64>,
        residue: u64,
        modulus: u64,
    ) -> impl Iterator<Item = u64> + '_ {
        assert!(
            self.spacing.modulus().is_multiple_of(modulus),
            "keys keep remainders of {}, not of {modulus}",
            self.spacing.modulus()
        );
        self.ids_of_ranks(self.spacing.ranks(*keys.start(), *keys.end()), residue, modulus)
    }

    fn ids_of_ranks(&self, ranks: Range<u64>, residue: u64, modulus: u64) -> impl Iterator<Item = u64> + '_ {
        assert!(modulus > 0, "the modulus is 0");
        let past = ranks.start % modulus;
        let ahead = if past <= residue { residue - past } else { modulus - past + residue };
        // A residue that is not below the modulus has no objects.
        let end = if residue < modulus { ranks.end } else { 0 };
        let next = move |rank: &u64| rank.checked_add(modulus).filter(|next| *next < end);
        let first = ranks.start.checked_add(ahead).filter(|first| *first < end);
        std::iter::successors(first, next).map(|rank| self.order.invert(rank))
    }

    /// Selects each object independently with the same probability, and returns their ids in ascending order.
    ///
    /// # Panics
    /// If `probability` is not from 0 to 1.
    #[must_use]
    pub fn thin(&self, probability: f64, purpose: Purpose) -> Thinned {
        Thinning::new(probability, self.seed, purpose).ids(0..self.strata.objects)
    }

    /// Files by size, as expected counts; the counts for one seed differ from them only within a kind of
    /// files.
    #[must_use]
    pub fn file_tally(&self) -> SizeTally {
        let mut tally = SizeTally::default();
        for stratum in self.strata.iter() {
            let high = stratum.low + (stratum.span - 1);
            tally.add_range(stratum.low, high, stratum.files as f64 / stratum.span as f64);
        }
        tally
    }

    /// Objects by size, as expected counts.
    #[must_use]
    pub fn object_tally(&self) -> SizeTally {
        let mut tally = SizeTally::default();
        for stratum in self.strata.iter() {
            add_objects(&mut tally, stratum, self.pieces);
        }
        tally
    }
}

fn salt(seed: Seed) -> u64 {
    Draws::new(seed, 0, 0).of(KEYS).next_u64()
}
