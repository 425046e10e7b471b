//! The keys for the data of the cluster: a named data set, a distribution or a file of sizes, and how files
//! become objects.
//!
//! `[population]` of a scenario. [`PopulationSpec::complete`] fills in everything left out, so that the
//! resolved scenario is complete. The amount of data is set elsewhere: it follows from the servers.

mod figures;
mod sizes;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_population::{Extent, Layout, Population, PopulationError, Preset, SizeHistogram};
use towtank_scenario::{Draft, Problem, Problems};
use towtank_streams::Seed;
use towtank_units::Bytes;

pub use figures::Shown;

/// Sizes of files, and how files become objects. Left out: like the 1000 Genomes data set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PopulationSpec {
    /// Name of a data set. Left out, with no `distribution` either: `1000-genomes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<PresetName>,
    /// A distribution of file sizes, or a file of them, instead of a preset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distribution: Option<Distribution>,
    /// Size of all files, with `constant`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Median size, with `log_normal`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median: Option<Bytes>,
    /// Standard deviation of the natural logarithm of sizes, with `log_normal`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 8.0))]
    pub sigma: Option<f64>,
    /// Smallest size, with `pareto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<Bytes>,
    /// Shape of the tail, with `pareto`: a share of `(min / x)^shape` of all files is larger than x.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.01, max = 100.0))]
    pub shape: Option<f64>,
    /// Largest size, with `log_normal` and `pareto`. Left out: 1 EiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap: Option<Bytes>,
    /// The file that `csv`, `histogram` and `pg_dump` read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// How a file becomes objects. Left out: that of the preset; `whole` for `pg_dump`, else `chunks`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<LayoutName>,
    /// Size of a chunk, with the layout `chunks`. Left out: 64 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<Bytes>,
    /// Size of a strip, with the layout `stripe`. Left out: 4 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stripe_unit: Option<Bytes>,
    /// Maximum number of objects per file, with the layout `stripe`. Left out: servers over copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_536))]
    pub stripe_width_max: Option<u32>,
}

/// The name of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PresetName {
    /// Files like those of the 1000 Genomes data set, in chunks of 64 MiB. Proposed, fitted to the published
    /// mean.
    #[serde(rename = "1000-genomes")]
    ThousandGenomes,
    /// Files like those of the file systems of Mira, in stripes of 4 MiB. Proposed, fitted to two published
    /// facts.
    #[serde(rename = "mira")]
    Mira,
}

/// Where file sizes come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// All files have the size `size`.
    Constant,
    /// By `median` and `sigma`, up to `cap`.
    LogNormal,
    /// By `min` and `shape`, up to `cap`.
    Pareto,
    /// A `file` of lines `size,count`.
    Csv,
    /// A `file` of lines `min max count` after `# total_count: N`.
    Histogram,
    /// A `file` that `ceph pg dump -f json` wrote: the objects of each group are as large as their mean.
    PgDump,
}

/// How a file becomes objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LayoutName {
    /// A file is an object.
    Whole,
    /// Objects of one size, `chunk`, and one with the rest.
    Chunks,
    /// Strips of `stripe_unit`, in turn over at most `stripe_width_max` objects.
    Stripe,
}

/// File sizes and their layout, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct DataSet {
    /// The section of the scenario, with all defaults filled in.
    pub spec: PopulationSpec,
    /// The distribution of file sizes.
    pub sizes: SizeHistogram,
    /// How files become objects.
    pub layout: Layout,
    /// Warnings about the file of sizes.
    pub warnings: Vec<String>,
    /// The key of the section in the scenario.
    pub section: String,
}

impl PopulationSpec {
    /// Fills in what was left out. `section` is the key of the section in the scenario, and `width_usual` the
    /// default for the maximum number of objects per striped file: servers over copies.
    ///
    /// # Errors
    /// Each problem with its place in `draft`, those of [`PopulationSpec::data_set`] included.
    pub fn complete(
        mut self,
        draft: &Draft,
        section: &str,
        width_usual: u32,
    ) -> Result<PopulationSpec, Problems> {
        if self.preset.is_none() && self.distribution.is_none() {
            self.preset = Some(PresetName::ThousandGenomes);
        }
        self.fill_layout(width_usual);
        self.data_set(draft, section)?;
        Ok(self)
    }

    /// The data set of a complete section; reads the file of sizes, where there is one.
    ///
    /// # Errors
    /// Each problem with its place in `draft`.
    pub(super) fn data_set(&self, draft: &Draft, section: &str) -> Result<DataSet, Problems> {
        let mut problems = Problems::new();
        let layout = self.checked_layout(draft, section, &mut problems);
        let sizes = match sizes::of(self, draft, section) {
            Ok(sizes) => Some(sizes),
            Err(found) => {
                problems.extend(found);
                None
            }
        };
        problems.into_result(())?;
        let sizes = sizes.expect("without sizes there is a problem");
        let set = DataSet {
            spec: self.clone(),
            sizes: sizes.histogram,
            layout,
            warnings: sizes.notes,
            section: section.to_owned(),
        };
        // A population of one file fails for every reason for which a large one would, except its number of
        // objects.
        match set.population(Extent::Files(1), Seed(0)) {
            Ok(_) => Ok(set),
            Err(error) => Err(set.problem(draft, &error).into()),
        }
    }

    fn fill_layout(&mut self, width_usual: u32) {
        let usual = match (self.distribution, self.preset) {
            (Some(Distribution::PgDump), _) => LayoutName::Whole,
            (None, Some(PresetName::Mira)) => LayoutName::Stripe,
            _ => LayoutName::Chunks,
        };
        match *self.layout.get_or_insert(usual) {
            LayoutName::Whole => {}
            LayoutName::Chunks => {
                self.chunk.get_or_insert(CHUNK);
            }
            LayoutName::Stripe => {
                self.stripe_unit.get_or_insert(STRIPE_UNIT);
                self.stripe_width_max.get_or_insert(width_usual.max(1));
            }
        }
    }

    /// The layout; reports parameters that do not belong to it as problems.
    fn checked_layout(&self, draft: &Draft, section: &str, problems: &mut Problems) -> Layout {
        let name = self.layout.unwrap_or(LayoutName::Chunks);
        let parameters = [
            ("chunk", self.chunk.is_some(), LayoutName::Chunks),
            ("stripe_unit", self.stripe_unit.is_some(), LayoutName::Stripe),
            ("stripe_width_max", self.stripe_width_max.is_some(), LayoutName::Stripe),
        ];
        for (key, given, of) in parameters {
            if given && of != name {
                let (name, of) = (layout_name(name), layout_name(of));
                let message = format!("`{section}.{key}` is given, but the layout `{name}` does not use it");
                let hint = format!("leave it out, or set `{section}.layout` to \"{of}\"");
                problems.refuse(draft, &format!("{section}.{key}"), message, hint);
            }
        }
        match name {
            LayoutName::Whole => Layout::Whole,
            LayoutName::Chunks => Layout::Chunks(self.chunk.unwrap_or(CHUNK)),
            LayoutName::Stripe => Layout::Stripe {
                unit: self.stripe_unit.unwrap_or(STRIPE_UNIT),
                width_max: self.stripe_width_max.unwrap_or(1),
            },
        }
    }
}

/// The chunk size of Hadoop, and of the 1000 Genomes runs of the first paper.
const CHUNK: Bytes = Bytes::from_mib(64);
/// The stripe unit of Mira in the examples of libch-placement.
const STRIPE_UNIT: Bytes = Bytes::from_mib(4);

fn layout_name(name: LayoutName) -> &'static str {
    match name {
        LayoutName::Whole => "whole",
        LayoutName::Chunks => "chunks",
        LayoutName::Stripe => "stripe",
    }
}

impl PresetName {
    /// The preset that this name stands for.
    #[must_use]
    pub(crate) fn preset(self) -> Preset {
        match self {
            PresetName::ThousandGenomes => Preset::ThousandGenomes,
            PresetName::Mira => Preset::Mira,
        }
    }
}

impl DataSet {
    /// A population of this data set, of the given extent.
    ///
    /// # Errors
    /// Where that is nothing, or more than can be numbered; [`DataSet::problem`] converts the error for the
    /// user.
    pub fn population(&self, extent: Extent, seed: Seed) -> Result<Population, PopulationError> {
        Population::new(&self.sizes, self.layout, extent, seed)
    }

    /// Why there is no such population, reported at the key that causes it.
    #[must_use]
    pub fn problem(&self, draft: &Draft, error: &PopulationError) -> Problem {
        let parameter = match (error, self.layout) {
            (PopulationError::ZeroLayout { parameter }, _) => Some(*parameter),
            (
                PopulationError::TooManyKinds { .. } | PopulationError::TooManyParts { .. },
                Layout::Stripe { .. },
            ) => Some("stripe_unit"),
            (PopulationError::TooManyKinds { .. } | PopulationError::TooManyParts { .. }, _) => Some("chunk"),
            _ => None,
        };
        let key = parameter.map_or(self.section.clone(), |parameter| format!("{}.{parameter}", self.section));
        draft.problem(&key, error.to_string()).hint(error.hint())
    }

    /// The origin of the sizes, as a sentence.
    #[must_use]
    pub fn origin(&self) -> String {
        let spec = &self.spec;
        let file = spec.file.as_deref().unwrap_or_default();
        match (spec.distribution, spec.preset) {
            (None, Some(PresetName::Mira)) => {
                "Sizes of `mira` are proposed: a mixture of log-normals, fitted to the published modal bin and number \
                 of replicas."
                    .to_owned()
            }
            (None, _) => {
                "Sizes of `1000-genomes` are proposed: a mixture of log-normals, fitted to the published mean file."
                    .to_owned()
            }
            (Some(Distribution::Constant), _) => "All files have one size.".to_owned(),
            (Some(Distribution::LogNormal), _) => "Sizes are log-normal.".to_owned(),
            (Some(Distribution::Pareto), _) => "Sizes follow a Pareto distribution.".to_owned(),
            (Some(Distribution::Csv | Distribution::Histogram), _) => format!("Sizes are those of `{file}`."),
            (Some(Distribution::PgDump), _) => {
                format!("Sizes are the mean of each group of `{file}`, so their spread within a group is not visible.")
            }
        }
    }
}

#[cfg(test)]
mod tests;
