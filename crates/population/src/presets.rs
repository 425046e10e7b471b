//! The data sets that have a name.
//!
//! No bins of either were published. What was published of them, and which mixture was fitted to that, stands
//! at the head of each file in `data/`.

use towtank_units::Bytes;

use crate::histogram::SizeHistogram;
use crate::layout::Layout;

/// A data set by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Preset {
    /// `1000-genomes`: a mean file of 1 GB, in chunks of 64 MiB.
    ThousandGenomes,
    /// `mira`: most files small, most bytes in files of hundreds of GiB, in stripes of 4 MiB.
    Mira,
}

impl Preset {
    /// All there are.
    pub const ALL: [Preset; 2] = [Preset::ThousandGenomes, Preset::Mira];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Preset::ThousandGenomes => "1000-genomes",
            Preset::Mira => "mira",
        }
    }

    /// The preset of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Preset> {
        Preset::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// Its file sizes.
    #[must_use]
    pub fn histogram(self) -> SizeHistogram {
        SizeHistogram::read_histogram(self.text().as_bytes())
            .expect("the file of a preset is sound: it is tested")
    }

    /// Its file in `data/`, with what is published and what is fitted at its head.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Preset::ThousandGenomes => include_str!("../data/1000-genomes.txt"),
            Preset::Mira => include_str!("../data/mira.txt"),
        }
    }

    /// How its files become objects; stripes are at most `width_max` objects wide.
    #[must_use]
    pub fn layout(self, width_max: u32) -> Layout {
        match self {
            Preset::ThousandGenomes => Layout::CHUNKS,
            Preset::Mira => Layout::Stripe { unit: Bytes::from_mib(4), width_max },
        }
    }
}

impl SizeHistogram {
    /// File sizes like those of the 1000 Genomes data set: proposed, fitted to the published mean; not
    /// published bins.
    #[must_use]
    pub fn thousand_genomes() -> SizeHistogram {
        Preset::ThousandGenomes.histogram()
    }

    /// File sizes like those of Mira's file systems: proposed, fitted to two published facts; not published
    /// bins.
    #[must_use]
    pub fn mira() -> SizeHistogram {
        Preset::Mira.histogram()
    }
}
