//! The file that stores the model of a system.
//!
//! It holds the runs and, for human readers, the values derived from them. Reading uses only the runs and
//! derives the rest anew, so the two cannot differ.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::elastic::Ranged;
use crate::fit::{self, FitError};
use crate::mix::{Mix, Part, Shares, tidy};
use crate::model::{Measured, Model, SizeModel};
use crate::run::{Run, mean};

/// The version of the file's layout. The number rises when a field changes its meaning or is removed.
pub const SCHEMA: &str = "towtank-capacity/1";

impl Model {
    /// The content of the file.
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
    /// If it is not a model, has another layout, or no model can be made from its runs.
    pub fn from_json(name: &str, text: &str) -> Result<Self, ReadError> {
        let json: Value =
            serde_json::from_str(text).map_err(|error| ReadError::Json { reason: error.to_string() })?;
        match json.get("schema").and_then(Value::as_str) {
            Some(SCHEMA) => {}
            Some(found) => return Err(ReadError::Schema { found: found.to_owned() }),
            None => return Err(ReadError::Json { reason: "it has no `schema`".to_owned() }),
        }
        let file: File =
            serde_json::from_value(json).map_err(|error| ReadError::Json { reason: error.to_string() })?;
        Ok(fit::fit(&file.runs(name)?)?)
    }
}

impl Measured {
    fn json(&self) -> Value {
        let (low, high) = self.iops.range.unzip();
        json!({ "mean": self.iops.value, "low": low, "high": high, "runs": self.runs })
    }
}

impl SizeModel {
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

/// Why a file is not a valid model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Not JSON, or not of the right structure.
    #[error("it is not a capacity model: {reason}")]
    Json {
        /// The error.
        reason: String,
    },
    /// The file has another layout.
    #[error("the model has layout `{found}`, but this version reads `{SCHEMA}`")]
    Schema {
        /// The layout named in the file.
        found: String,
    },
    /// An impossible number.
    #[error("`{key}`: {reason}")]
    Value {
        /// Its key.
        key: String,
        /// The error.
        reason: String,
    },
    /// No model can be made from its runs.
    #[error(transparent)]
    Fit(#[from] FitError),
}

/// The part of the file that is read.
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
