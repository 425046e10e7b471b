//! The result of one replicate of one point. Campaigns store it as a point file and read it back.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Claim, Measurement, Ordered, Table, Warning};

/// The result of one replicate of one point, before any averaging.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Named values, in the order readers should see them.
    pub measures: Ordered<Measurement>,
    /// Tables of this replicate alone.
    #[serde(default)]
    pub tables: Vec<Table>,
    /// Data that the study needs again to present all points: samples, bins, matrices.
    #[serde(default)]
    pub series: BTreeMap<String, serde_json::Value>,
    /// Claims that one replicate can judge.
    #[serde(default)]
    pub claims: Vec<Claim>,
    /// Warnings that the reader must know before trusting the numbers.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// Digest of the committed run.
    #[serde(default)]
    pub digest: Option<String>,
    /// Events committed.
    #[serde(default)]
    pub events: u64,
    /// The run was stopped before its end; the values are of the part that was committed.
    #[serde(default)]
    pub partial: bool,
}

impl Outcome {
    /// Records a value; one that is not finite becomes null with a reason.
    pub fn measure(&mut self, name: impl Into<String>, value: f64, unit: impl Into<String>) {
        self.measures.insert(name.into(), Measurement::new(value, unit));
    }

    /// Records that a value could not be measured, and why.
    pub fn missing(&mut self, name: impl Into<String>, unit: impl Into<String>, reason: impl Into<String>) {
        self.measures.insert(name.into(), Measurement::missing(unit, reason));
    }
}
