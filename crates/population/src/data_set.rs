//! A data set of so many files, in which any object can be asked for.

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

/// A data set: so many files, each of so many objects.
///
/// Objects are numbered in rising order of the kind of their file, so ids and sizes go together; ranks and
/// keys do not.
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
    /// Its size, at least 1 byte.
    pub size: Bytes,
    /// The file it is a part of.
    pub file: u64,
    /// Which part, from 0.
    pub part: u32,
}

/// A file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct File {
    /// Its size, at least 1 byte.
    pub size: Bytes,
    /// Its objects, part by part.
    pub objects: Range<u64>,
}

impl Population {
    /// Files with the sizes of a histogram, laid out as objects, as many as the extent says. The seed draws
    /// sizes and keys.
    ///
    /// # Errors
    /// Where nothing is asked for, or more than can be numbered.
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

    /// The same data set with keys that leave `rank % modulus` when divided by `modulus`, for placements that
    /// divide keys.
    ///
    /// # Errors
    /// When there are too many objects to leave room for that.
    ///
    /// # Panics
    /// When the modulus is zero.
    pub fn with_key_modulus(self, modulus: u64) -> Result<Population, PopulationError> {
        let spacing = KeySpacing::new(self.strata.objects, modulus, salt(self.seed))?;
        Ok(Population { spacing, ..self })
    }

    /// How many objects there are; their ids are the numbers below.
    #[must_use]
    pub fn objects(&self) -> u64 {
        self.strata.objects
    }

    /// How many files there are; their numbers are those below.
    #[must_use]
    pub fn files(&self) -> u64 {
        self.strata.files
    }

    /// The bytes of all files, in the mean over seeds.
    #[must_use]
    pub fn bytes_expected(&self) -> f64 {
        self.strata.bytes_expected()
    }

    /// An object.
    ///
    /// # Panics
    /// When there is no such object.
    #[inline]
    #[must_use]
    pub fn object(&self, id: u64) -> Object {
        assert!(id < self.strata.objects, "there is no object {id} among {}", self.strata.objects);
        let stratum = self.strata.of_object(id);
        let past = id - stratum.first_object;
        let (file, part) =
            if stratum.parts == 1 { (past, 0) } else { (past / stratum.parts, past % stratum.parts) };
        let file = stratum.first_file + file;
        let size = self.pieces.object_size(self.size_of(stratum, file), stratum.parts, part);
        Object { size: Bytes::new(size), file, part: part as u32 }
    }

    /// A file.
    ///
    /// # Panics
    /// When there is no such file.
    #[must_use]
    pub fn file(&self, file: u64) -> File {
        assert!(file < self.strata.files, "there is no file {file} among {}", self.strata.files);
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

    /// The object's place in the order of keys: a permutation of the ids, in which sizes are well mixed.
    ///
    /// # Panics
    /// When there is no such object.
    #[inline]
    #[must_use]
    pub fn rank(&self, id: u64) -> u64 {
        self.order.apply(id)
    }

    /// The object at a place in the order of keys.
    ///
    /// # Panics
    /// When there is no such place.
    #[inline]
    #[must_use]
    pub fn id_of_rank(&self, rank: u64) -> u64 {
        self.order.invert(rank)
    }

    /// The object's key: no two objects share one, and they are spread evenly over 64 bits.
    ///
    /// # Panics
    /// When there is no such object.
    #[inline]
    #[must_use]
    pub fn key(&self, id: u64) -> u64 {
        self.spacing.key(self.order.apply(id))
    }

    /// The object with a key, if there is one.
    #[must_use]
    pub fn id_of_key(&self, key: u64) -> Option<u64> {
        self.spacing.rank(key).map(|rank| self.order.invert(rank))
    }

    /// How ranks become keys.
    #[must_use]
    pub fn spacing(&self) -> &KeySpacing {
        &self.spacing
    }

    /// How many objects have keys in a range.
    #[must_use]
    pub fn count_with_keys(&self, keys: RangeInclusive<u64>) -> u64 {
        let ranks = self.spacing.ranks(*keys.start(), *keys.end());
        ranks.end - ranks.start
    }

    /// The objects with keys in a range, in rising order of keys.
    pub fn ids_with_keys(&self, keys: RangeInclusive<u64>) -> impl Iterator<Item = u64> + '_ {
        self.ids_in_run(keys, 0, 1)
    }

    /// The objects whose rank leaves `residue` when divided by `modulus`, in rising order of ranks.
    ///
    /// # Panics
    /// When the modulus is zero.
    pub fn ids_in_residue(&self, residue: u64, modulus: u64) -> impl Iterator<Item = u64> + '_ {
        self.ids_of_ranks(0..self.strata.objects, residue, modulus)
    }

    /// The objects with keys in a range that leave `residue` when divided by `modulus`, in rising order of
    /// keys.
    ///
    /// # Panics
    /// When keys do not keep remainders of `modulus`: it must divide that of
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
        assert!(modulus > 0, "nothing is divided by 0");
        let past = ranks.start % modulus;
        let ahead = if past <= residue { residue - past } else { modulus - past + residue };
        // A residue that no number leaves has no objects.
        let end = if residue < modulus { ranks.end } else { 0 };
        let next = move |rank: &u64| rank.checked_add(modulus).filter(|next| *next < end);
        let first = ranks.start.checked_add(ahead).filter(|first| *first < end);
        std::iter::successors(first, next).map(|rank| self.order.invert(rank))
    }

    /// Of all objects each with the same probability, independently, in rising order of ids.
    ///
    /// # Panics
    /// When `probability` is not from 0 to 1.
    #[must_use]
    pub fn thin(&self, probability: f64, purpose: Purpose) -> Thinned {
        Thinning::new(probability, self.seed, purpose).ids(0..self.strata.objects)
    }

    /// Files by size: the expected counts, which those of a seed scatter around only within a kind of files.
    #[must_use]
    pub fn file_tally(&self) -> SizeTally {
        let mut tally = SizeTally::default();
        for stratum in self.strata.iter() {
            let high = stratum.low + (stratum.span - 1);
            tally.add_range(stratum.low, high, stratum.files as f64 / stratum.span as f64);
        }
        tally
    }

    /// Objects by size: the expected counts.
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
