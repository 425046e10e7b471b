//! What was learned of a system, and the file that keeps it.
//!
//! The file holds the runs and, for readers, all that follows from them. When it is read, only the runs count and the rest is
//! worked out anew, so the two cannot differ.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::curvature::{Bent, Curvature, evenness};
use crate::elastic::{Elastic, Ranged};
use crate::fit::{self, FitError};
use crate::mix::{Mix, Part, Shares, tidy};
use crate::run::{Run, mean};
use crate::spread::Spread;

/// The layout of the file. The number rises when a field changes its meaning or goes.
pub const SCHEMA: &str = "towtank-capacity/1";

/// What was learned of a system.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Its name, where the measurements say one.
    pub system: Option<String>,
    /// How far runs of one point scatter; nothing where no point was run twice.
    pub spread: Option<Spread>,
    /// Sizes, the smallest first; never empty.
    pub sizes: Vec<SizeModel>,
    /// Measured mixes of sizes.
    pub mixtures: Vec<Mixture>,
    /// How much more mixes of sizes cost than their parts, from mixtures with shares of operations.
    pub curvature: Option<Curvature>,
}

/// One size.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeModel {
    /// Bytes of an operation.
    pub size_bytes: u64,
    /// Pure reads: T100r, which is C.
    pub reads: Measured,
    /// Pure writes: T100w.
    pub writes: Measured,
    /// Mixes of reads and writes that were measured too, fewest reads first.
    pub mixes: Vec<MeasuredMix>,
    /// How much more mixes cost than the straight line says.
    pub curvature: Option<Curvature>,
}

/// A rate with the runs that it is the mean of.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Operations per second, with the interval that the spread of all runs gives.
    pub iops: Ranged,
    /// Run by run.
    pub runs: Vec<f64>,
}

/// Reads and writes of one size, measured.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredMix {
    /// Which operations are reads, above 0 and below 1.
    pub reads: f64,
    /// What was measured.
    pub iops: Measured,
}

/// Several sizes, measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Mixture {
    /// Which.
    pub mix: Mix,
    /// What its shares are of.
    pub shares: Shares,
    /// What was measured.
    pub iops: Measured,
}

impl Measured {
    pub(crate) fn new(runs: Vec<f64>, spread: Option<Spread>) -> Self {
        let half = spread.map(|spread| spread.half_width(runs.len()));
        Self { iops: Ranged::around(mean(&runs), half), runs }
    }

    fn json(&self) -> Value {
        let (low, high) = self.iops.range.unzip();
        json!({ "mean": self.iops.value, "low": low, "high": high, "runs": self.runs })
    }
}

impl SizeModel {
    /// How many reads a write costs (4); may be below 1.
    #[must_use]
    pub fn f_rw(&self) -> f64 {
        self.reads.iops.value / self.writes.iops.value
    }

    /// The total at a read share (6), on the straight line.
    #[must_use]
    pub fn straight(&self, reads: f64) -> f64 {
        1.0 / (reads / self.reads.iops.value + (1.0 - reads) / self.writes.iops.value)
    }

    /// C of a measured total (3): what the system would do of reads alone.
    #[must_use]
    pub fn capacity(&self, reads: f64, total: f64) -> f64 {
        total * (reads + (1.0 - reads) * self.f_rw())
    }

    pub(crate) fn bent(&self) -> Vec<Bent> {
        let bent = |mix: &MeasuredMix| Bent {
            x: evenness(mix.reads),
            straight: self.straight(mix.reads),
            measured: mix.iops.iops.value,
        };
        self.mixes.iter().map(bent).collect()
    }

    /// The size as people write it.
    #[must_use]
    pub fn size(&self) -> String {
        towtank_units::Bytes::new(self.size_bytes).to_string()
    }

    /// Errors (8) of the straight line at the measured mixes, in percent.
    #[must_use]
    pub fn errors_percent(&self) -> Vec<f64> {
        self.bent().iter().map(|mix| 100.0 * (mix.straight - mix.measured).abs() / mix.measured).collect()
    }

    fn json(&self, f_rw: Ranged) -> Value {
        let (low, high) = f_rw.range.unzip();
        let mixes = self.mixes.iter().map(|mix| {
            let (total, straight) = (mix.iops.iops.value, self.straight(mix.reads));
            json!({
                "reads": mix.reads,
                "read_percent": tidy(100.0 * mix.reads),
                "iops": mix.iops.json(),
                "c": self.capacity(mix.reads, total),
                "estimate": straight,
                "error_percent": 100.0 * (straight - total).abs() / total,
            })
        });
        let capacities = || self.mixes.iter().map(|mix| self.capacity(mix.reads, mix.iops.iops.value));
        let errors = self.errors_percent();
        let hypothesis = (!errors.is_empty()).then(|| {
            json!({
                "c": self.reads.iops.value,
                "c_least": capacities().fold(f64::INFINITY, f64::min),
                "c_most": capacities().fold(0.0, f64::max),
                "error_mean_percent": mean(&errors),
                "error_max_percent": errors.iter().copied().fold(0.0, f64::max),
            })
        });
        json!({
            "size": self.size(),
            "size_bytes": self.size_bytes,
            "t100r": self.reads.json(),
            "t100w": self.writes.json(),
            "f_rw": { "value": f_rw.value, "low": low, "high": high },
            "hypothesis": hypothesis,
            "curvature": self.curvature,
            "mixes": mixes.collect::<Vec<_>>(),
        })
    }
}

impl Model {
    /// Half widths of the logarithms of all pure rates: reads and writes of each size in turn.
    #[must_use]
    pub fn half_widths(&self) -> Option<Vec<f64>> {
        let spread = self.spread?;
        let half = |measured: &Measured| spread.half_width(measured.runs.len());
        Some(self.sizes.iter().flat_map(|size| [half(&size.reads), half(&size.writes)]).collect())
    }

    pub(crate) fn pure(&self, at: usize) -> (Elastic, Elastic) {
        let (count, size) = (2 * self.sizes.len(), &self.sizes[at]);
        (
            Elastic::measured(size.reads.iops.value, 2 * at, count),
            Elastic::measured(size.writes.iops.value, 2 * at + 1, count),
        )
    }

    /// Each inner size as its neighbours would have it: errors of pure reads and pure writes in percent.
    #[must_use]
    pub fn interpolation_errors(&self) -> Vec<(&SizeModel, f64, f64)> {
        let error = |three: &[SizeModel], rate: &dyn Fn(&SizeModel) -> f64| {
            let log = |at: usize| libm::log(three[at].size_bytes as f64);
            let at = (log(1) - log(0)) / (log(2) - log(0));
            let guess = libm::exp((1.0 - at) * libm::log(rate(&three[0])) + at * libm::log(rate(&three[2])));
            100.0 * (guess - rate(&three[1])).abs() / rate(&three[1])
        };
        let of = |three| {
            (error(three, &|size| size.reads.iops.value), error(three, &|size| size.writes.iops.value))
        };
        self.sizes.windows(3).map(|three| (&three[1], of(three).0, of(three).1)).collect()
    }

    /// `f_rw` of a size with its interval.
    #[must_use]
    pub fn f_rw(&self, size: &SizeModel) -> Ranged {
        let half =
            |measured: &Measured| self.spread.map_or(0.0, |spread| spread.half_width(measured.runs.len()));
        let both = libm::hypot(half(&size.reads), half(&size.writes));
        Ranged::around(size.f_rw(), self.spread.map(|_| both))
    }

    /// The file.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mixtures = self.mixtures.iter().map(|mixture| {
            json!({ "mix": mixture.mix.parts(), "shares": mixture.shares, "iops": mixture.iops.json() })
        });
        let file = json!({
            "schema": SCHEMA,
            "towtank": env!("CARGO_PKG_VERSION"),
            "system": self.system,
            "spread": self.spread,
            "sizes": self.sizes.iter().map(|size| size.json(self.f_rw(size))).collect::<Vec<_>>(),
            "mixtures": mixtures.collect::<Vec<_>>(),
            "curvature": self.curvature,
        });
        format!("{file:#}\n")
    }

    /// Reads the file; `name` is for messages.
    ///
    /// # Errors
    /// When it is no model, or one of another layout, or one whose runs make no model.
    pub fn from_json(name: &str, text: &str) -> Result<Self, ReadError> {
        let json: Value =
            serde_json::from_str(text).map_err(|error| ReadError::Json { reason: error.to_string() })?;
        match json.get("schema").and_then(Value::as_str) {
            Some(SCHEMA) => {}
            Some(found) => return Err(ReadError::Schema { found: found.to_owned() }),
            None => return Err(ReadError::Json { reason: "it does not name its `schema`".to_owned() }),
        }
        let file: File =
            serde_json::from_value(json).map_err(|error| ReadError::Json { reason: error.to_string() })?;
        Ok(fit::fit(&file.runs(name)?)?)
    }
}

/// Why a file is no model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// No JSON, or not of the right shape.
    #[error("it is no model of a capacity: {reason}")]
    Json {
        /// What is wrong.
        reason: String,
    },
    /// Another layout.
    #[error("the model is of layout `{found}`, but this version reads `{SCHEMA}`")]
    Schema {
        /// The layout that it names.
        found: String,
    },
    /// A number that cannot be.
    #[error("`{key}`: {reason}")]
    Value {
        /// Which.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Its runs make no model.
    #[error(transparent)]
    Fit(#[from] FitError),
}

/// What counts of the file.
#[derive(Deserialize)]
struct File {
    system: Option<String>,
    sizes: Vec<FileSize>,
    #[serde(default)]
    mixtures: Vec<FileMixture>,
}

#[derive(Deserialize)]
struct FileSize {
    size_bytes: u64,
    t100r: FileRuns,
    t100w: FileRuns,
    #[serde(default)]
    mixes: Vec<FileMix>,
}

#[derive(Deserialize)]
struct FileRuns {
    runs: Vec<f64>,
}

#[derive(Deserialize)]
struct FileMix {
    reads: f64,
    iops: FileRuns,
}

#[derive(Deserialize)]
struct FileMixture {
    mix: Vec<Part>,
    shares: Shares,
    iops: FileRuns,
}

impl File {
    fn runs(self, name: &str) -> Result<Vec<Run>, ReadError> {
        let mut all = Vec::new();
        let mut take = |key: String, mix: Option<Mix>, shares: Shares, runs: FileRuns| {
            let wrong = |reason: &str| ReadError::Value { key: key.clone(), reason: reason.to_owned() };
            let mix = mix.ok_or_else(|| wrong("a size or a share is out of its bounds"))?;
            if runs.runs.is_empty() || runs.runs.iter().any(|iops| !(iops.is_finite() && *iops > 0.0)) {
                return Err(wrong("runs are one or more numbers above zero"));
            }
            for iops in runs.runs {
                let (system, file, place) = (self.system.clone(), name.to_owned(), key.clone());
                all.push(Run { system, mix: mix.clone(), shares, iops, file, place });
            }
            Ok(())
        };
        let alone = |size_bytes: u64, reads: f64| Mix::new(vec![Part { size_bytes, share: 1.0, reads }]);
        for (at, size) in self.sizes.into_iter().enumerate() {
            let bytes = size.size_bytes;
            take(format!("sizes[{at}].t100r"), alone(bytes, 1.0), Shares::Operations, size.t100r)?;
            take(format!("sizes[{at}].t100w"), alone(bytes, 0.0), Shares::Operations, size.t100w)?;
            for (mix_at, mix) in size.mixes.into_iter().enumerate() {
                let key = format!("sizes[{at}].mixes[{mix_at}]");
                take(key, alone(bytes, mix.reads), Shares::Operations, mix.iops)?;
            }
        }
        for (at, mixture) in self.mixtures.into_iter().enumerate() {
            take(format!("mixtures[{at}]"), Mix::new(mixture.mix), mixture.shares, mixture.iops)?;
        }
        Ok(all)
    }
}
