//! The keys that every scenario has, whatever its study: `study`, `title`, `seed`, `replicates` and
//! `[sweep]`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::Problems;
use crate::check::check;
use crate::header_keys::{KEYS, SWEEP};
use crate::node::{Node, Table, Value};
use crate::read::read;

/// The keys that a scenario may have in addition to those of its study. Also the schema of these keys.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct Header {
    /// The name of the study; `towtank list` shows all studies.
    pub study: String,
    /// Heading of the report. Default: the title of the study.
    #[serde(default)]
    pub title: Option<String>,
    /// The seed of all random draws. The same scenario and seed give the same result, to the last digit.
    #[serde(default = "one_seed")]
    #[schemars(range(max = 9_223_372_036_854_775_807u64))]
    pub seed: u64,
    /// Number of runs of each point, each with different random draws. With two or more, the report has 95 %
    /// intervals.
    #[serde(default = "one_replicate")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub replicates: u32,
}

fn one_seed() -> u64 {
    1
}

fn one_replicate() -> u32 {
    1
}

impl Header {
    /// The schema of these keys, without the sweep.
    pub(crate) fn schema() -> Json {
        schemars::schema_for!(Header).to_value()
    }

    /// Removes the header and the sweep from a scenario's table, and leaves the study's keys.
    ///
    /// # Errors
    /// Errors in the header's keys. The sweep is not checked.
    pub(crate) fn take(table: &mut Table, root: &Node) -> Result<(Header, Option<Node>), Problems> {
        let sweep = table.remove(SWEEP).map(|entry| entry.node);
        let entries = KEYS.iter().filter_map(|key| table.remove(key)).collect();
        let own = Node { place: root.place.clone(), value: Value::Table(Table { entries }) };
        check(&own, &Header::schema(), None).into_result(())?;
        Ok((read(&own)?, sweep))
    }
}
