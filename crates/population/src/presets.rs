//! Predefined data sets.
//!
//! No bins of either data set were published. The head of each file in `data/` states what was published, and
//! which mixture was fitted to it.

use towtank_units::Bytes;

use crate::histogram::SizeHistogram;
use crate::layout::Layout;

/// A predefined data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Preset {
    /// `1000-genomes`: a mean file of 1 GB, in chunks of 64 MiB.
    ThousandGenomes,
    /// `mira`: most files small, most bytes in files of hundreds of GiB, in stripes of 4 MiB.
    Mira,
}

impl Preset {
    /// All presets.
    pub const ALL: [Preset; 2] = [Preset::ThousandGenomes, Preset::Mira];

    /// The name of the preset.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Preset::ThousandGenomes => "1000-genomes",
            Preset::Mira => "mira",
        }
    }

    /// The preset with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Preset> {
        Preset::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// The file sizes of the preset.
    #[must_use]
    pub fn histogram(self) -> SizeHistogram {
        SizeHistogram::read_histogram(self.text().as_bytes())
            .expect("the file of a preset is sound: it is tested")
    }

    /// The text of its file in `data/`; its head states what is published and what is fitted.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Preset::ThousandGenomes => include_str!("../data/1000-genomes.txt"),
            Preset::Mira => include_str!("../data/mira.txt"),
        }
    }

    /// The division of its files into objects; stripes are at most `width_max` objects wide.
    #[must_use]
    pub fn layout(self, width_max: u32) -> Layout {
        match self {
            Preset::ThousandGenomes => Layout::CHUNKS,
            Preset::Mira => Layout::Stripe { unit: Bytes::from_mib(4), width_max },
        }
    }
}

impl SizeHistogram {
    /// File sizes like those of the 1000 Genomes data set: our proposal, fitted to the published mean; not
    /// published bins.
    #[must_use]
    pub fn thousand_genomes() -> SizeHistogram {
        Preset::ThousandGenomes.histogram()
    }

    /// File sizes like those of Mira's file systems: our proposal, fitted to two published facts; not
    /// published bins.
    #[must_use]
    pub fn mira() -> SizeHistogram {
        Preset::Mira.histogram()
    }
}
