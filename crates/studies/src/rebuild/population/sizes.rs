//! File sizes from a section of the scenario: which parameters belong to which distribution, and the files
//! that some distributions read.

use std::fmt::Display;

use towtank_imports::{File, ceph};
use towtank_population::{HistogramError, LogNormalSpec, ParetoSpec, ReadError, SizeHistogram};
use towtank_scenario::{Draft, Problem, Problems};
use towtank_units::Bytes;

use super::{Distribution, PopulationSpec, PresetName};

/// File sizes, and warnings about the file they came from.
pub struct Sizes {
    pub histogram: SizeHistogram,
    pub notes: Vec<String>,
}

impl From<SizeHistogram> for Sizes {
    fn from(histogram: SizeHistogram) -> Sizes {
        Sizes { histogram, notes: Vec::new() }
    }
}

/// Builds the file sizes that a section describes.
pub fn of(spec: &PopulationSpec, draft: &Draft, section: &str) -> Result<Sizes, Problems> {
    let reader = Reader { spec, draft, section };
    reader.check_parameters()?;
    let Some(distribution) = spec.distribution else {
        return Ok(spec.preset.unwrap_or(PresetName::ThousandGenomes).preset().histogram().into());
    };
    let sizes = match distribution {
        Distribution::Constant => reader.made(SizeHistogram::constant(reader.needed("size", spec.size)?)),
        Distribution::LogNormal => {
            let (median, sigma) =
                (reader.needed("median", spec.median)?, reader.needed("sigma", spec.sigma)?);
            reader.made(SizeHistogram::log_normal(LogNormalSpec { median, sigma, cap: spec.cap }))
        }
        Distribution::Pareto => {
            let (min, shape) = (reader.needed("min", spec.min)?, reader.needed("shape", spec.shape)?);
            reader.made(SizeHistogram::pareto(ParetoSpec { min, shape, cap: spec.cap }))
        }
        Distribution::Csv => reader.read(SizeHistogram::read_csv),
        Distribution::Histogram => reader.read(SizeHistogram::read_histogram),
        Distribution::PgDump => reader.pg_dump(),
    };
    Ok(sizes?)
}

struct Reader<'a> {
    spec: &'a PopulationSpec,
    draft: &'a Draft,
    section: &'a str,
}

impl Reader<'_> {
    /// Refuses parameters that the distribution does not read, and a preset beside a distribution; reports
    /// required parameters that are missing.
    fn check_parameters(&self) -> Result<(), Problems> {
        let Reader { spec, section, .. } = *self;
        let mut problems = Problems::new();
        if let (Some(preset), Some(distribution)) = (spec.preset, spec.distribution) {
            let message = format!(
                "`{section}.preset` is {} and `{section}.distribution` is {}, but only one of them may be given",
                quoted(&preset),
                quoted(&distribution)
            );
            problems.push(self.problem("preset", message).hint("leave one of the two out"));
        }
        let (needed, optional) = parameters(spec.distribution);
        let given = [
            ("size", spec.size.is_some()),
            ("median", spec.median.is_some()),
            ("sigma", spec.sigma.is_some()),
            ("min", spec.min.is_some()),
            ("shape", spec.shape.is_some()),
            ("cap", spec.cap.is_some()),
            ("file", spec.file.is_some()),
        ];
        let of = spec.distribution.map_or_else(
            || "a preset".to_owned(),
            |distribution| format!("the distribution {}", quoted(&distribution)),
        );
        for (key, given) in given {
            if needed.contains(&key) && !given {
                let message = format!("`{section}.{key}` is missing, but {of} needs it");
                problems.push(self.problem(key, message).hint(format!("add `{key} = {}`", example(key))));
            }
            if given && !needed.contains(&key) && !optional.contains(&key) {
                let message = format!("`{section}.{key}` is given, but {of} does not use it");
                problems.push(self.problem(key, message).hint("leave it out, or change `distribution`"));
            }
        }
        problems.into_result(())
    }

    fn problem(&self, key: &str, message: String) -> Problem {
        self.draft.problem(&format!("{}.{key}", self.section), message)
    }

    fn needed<T>(&self, key: &str, value: Option<T>) -> Result<T, Problem> {
        value.ok_or_else(|| self.problem(key, format!("`{}.{key}` is missing", self.section)))
    }

    fn made(&self, made: Result<SizeHistogram, HistogramError>) -> Result<Sizes, Problem> {
        made.map(Sizes::from).map_err(|error| {
            let key = error.parameter();
            self.problem(key, error.to_string()).hint(format!("write it as in `{key} = {}`", example(key)))
        })
    }

    fn read(&self, read: impl Fn(&[u8]) -> Result<SizeHistogram, ReadError>) -> Result<Sizes, Problem> {
        let input = self.draft.input(&format!("{}.file", self.section))?;
        read(&input.bytes)
            .map(Sizes::from)
            .map_err(|error| self.misread(&input.path, &error, error.fault.hint()))
    }

    /// The objects of each group, each with the mean size of its group.
    fn pg_dump(&self) -> Result<Sizes, Problem> {
        let input = self.draft.input(&format!("{}.file", self.section))?;
        let dump = ceph::read_pg_dump(File { name: &input.path, bytes: &input.bytes }).map_err(|error| {
            let hint = error.hint.clone().unwrap_or_else(|| "export it again, or correct it".to_owned());
            self.problem("file", error.to_string()).hint(hint)
        })?;
        let groups = dump.value.groups.iter().map(|group| group.sum).filter(|sum| sum.num_objects > 0);
        let sizes = groups.map(|sum| {
            let mean = (sum.num_bytes as f64 / sum.num_objects as f64).round() as u64;
            (Bytes::new(mean), sum.num_objects)
        });
        let histogram = SizeHistogram::from_sizes(sizes).map_err(|error| {
            let hint = "export it again; a group must have objects, of less than 1 EiB each";
            self.misread(&input.path, &error.fault, hint)
        })?;
        Ok(Sizes { histogram, notes: dump.notes })
    }

    fn misread(&self, path: &str, error: &dyn Display, hint: &str) -> Problem {
        self.problem("file", format!("`{path}`: {error}")).hint(hint)
    }
}

/// The required and the optional parameters of a distribution.
fn parameters(distribution: Option<Distribution>) -> (&'static [&'static str], &'static [&'static str]) {
    match distribution {
        None => (&[], &[]),
        Some(Distribution::Constant) => (&["size"], &[]),
        Some(Distribution::LogNormal) => (&["median", "sigma"], &["cap"]),
        Some(Distribution::Pareto) => (&["min", "shape"], &["cap"]),
        Some(Distribution::Csv | Distribution::Histogram | Distribution::PgDump) => (&["file"], &[]),
    }
}

fn example(key: &str) -> &'static str {
    match key {
        "sigma" => "1.5",
        "shape" => "1.2",
        "file" => "\"sizes.csv\"",
        "cap" => "\"1TiB\"",
        _ => "\"64MiB\"",
    }
}

/// The name as the scenario writes it, with quotes.
fn quoted(name: &impl serde::Serialize) -> String {
    serde_json::to_string(name).expect("a name has a JSON form")
}
