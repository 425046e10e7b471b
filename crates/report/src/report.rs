//! The report: the result of a run, a sweep or a reproduction.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Answer, Cell, Chapter, Claim, Figure, Measure, Ordered, Table, Warning};

/// The layout of `report.json`. The number increases when a field changes its meaning or is removed; new
/// fields do not change it.
pub const SCHEMA: &str = "towtank-report/2";

/// The one result type. Fields are listed in the order in which they are written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// The layout of this file: `towtank-report/2`.
    pub schema: String,
    /// The version of Towtank that made it.
    pub towtank: String,
    /// Raised whenever a change of the model changes results; reports with different numbers are not
    /// comparable.
    pub results_version: u32,
    /// Name of the study: `queue`, `rebuild`, ….
    pub study: String,
    /// Heading: the title of the scenario, or of the study.
    pub title: String,
    /// The answer: verdict, finding, course, what is compared, and what belongs to it.
    #[serde(default)]
    pub answer: Answer,
    /// The name of the main measure: the number that the page shows first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headline: Option<String>,
    /// The `id` of the figure that shows the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub main_figure: Option<String>,
    /// The scenario with every default filled in and every unit resolved.
    pub scenario: serde_json::Value,
    /// Hash of the resolved scenario and of the contents of its input files.
    pub scenario_hash: String,
    /// The seed of all random draws.
    pub seed: u64,
    /// Replicates of each point; 0 where nothing was simulated.
    pub replicates: u32,
    /// The executor of the kernel; the only field that may differ between equal runs.
    pub executor: String,
    /// Digest over all points and replicates; equal on any number of workers.
    pub digest: Option<String>,
    /// Events committed, over all points and replicates.
    #[serde(default)]
    pub events: u64,
    /// Whether the run was stopped early; the report then contains only what was committed.
    pub partial: bool,
    /// The axes of the sweep; empty for a single point.
    #[serde(default)]
    pub sweep: Vec<SweepAxis>,
    /// Mean over replicates by measure; empty with a sweep, where each point has its own.
    pub summary: Ordered<Measure>,
    /// What each measure means, by name.
    #[serde(default)]
    pub glossary: Ordered<String>,
    /// Titles of measures in words, by name; without the unit.
    #[serde(default, skip_serializing_if = "Ordered::is_empty")]
    pub titles: Ordered<String>,
    /// The points of the sweep; empty for a single point.
    #[serde(default)]
    pub points: Vec<PointSummary>,
    /// A row for each replicate of each point: settings, `replicate`, `events`, then every measure. Absent
    /// where nothing was simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<Table>,
    /// The tables of the study.
    pub tables: Vec<Table>,
    /// Figures, with their data.
    pub figures: Vec<Figure>,
    /// Published values compared with ours.
    pub claims: Vec<Claim>,
    /// Claims and figures by source, in the order of each source; empty where the report is of one study.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chapters: Vec<Chapter>,
    /// What the reader must know before trusting the numbers, the most serious first.
    pub warnings: Vec<Warning>,
}

impl Default for Report {
    /// An empty report of this version.
    fn default() -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            towtank: env!("CARGO_PKG_VERSION").to_owned(),
            results_version: 1,
            study: String::new(),
            title: String::new(),
            answer: Answer::default(),
            headline: None,
            main_figure: None,
            scenario: serde_json::Value::Object(serde_json::Map::new()),
            scenario_hash: String::new(),
            seed: 0,
            replicates: 1,
            executor: String::new(),
            digest: None,
            events: 0,
            partial: false,
            sweep: Vec::new(),
            summary: Ordered::new(),
            glossary: Ordered::new(),
            titles: Ordered::new(),
            points: Vec::new(),
            runs: None,
            tables: Vec::new(),
            figures: Vec::new(),
            claims: Vec::new(),
            chapters: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

/// Safety of the data, the worst case over all points and replicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// All copies are restored, and there were at least two at all times.
    Safe,
    /// Nothing is lost, but one more failure, or more data, could have caused a loss or stopped writes.
    AtRisk,
    /// Something that safety depends on is not known.
    Unknown,
    /// Data are lost, not fully redundant again, or unavailable to clients.
    NotSafe,
}

/// Safety of the data with the reason for it: a status never stands without its sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Standing {
    /// Safety of the data; absent if the study does not assess it.
    #[serde(rename = "verdict")]
    status: Status,
    /// Why, in a few words; present where `verdict` is.
    reason: String,
}

impl Standing {
    /// A status with its reason: words that begin in lower case, without a full stop.
    ///
    /// # Panics
    /// If the reason is empty: a reader could not tell what is wrong.
    #[must_use]
    pub fn new(status: Status, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        assert!(!reason.trim().is_empty(), "a status has a reason");
        Self { status, reason }
    }

    /// The status.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status
    }

    /// The reason.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The status in words, for a screen: `At risk`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self.status {
            Status::Safe => "Safe",
            Status::AtRisk => "At risk",
            Status::Unknown => "Unknown",
            Status::NotSafe => "Not safe",
        }
    }

    /// The status and its reason: `At risk: 3 groups accept no writes.`
    #[must_use]
    pub fn sentence(&self) -> String {
        let stop = if self.reason.ends_with(['.', '?']) { "" } else { "." };
        format!("{}: {}{stop}", self.word(), self.reason)
    }

    /// The worst of several points, with its reason, and the name of the point where others fare better; none
    /// where there are no points.
    #[must_use]
    pub fn worst(all: impl IntoIterator<Item = (String, Standing)>) -> Option<Standing> {
        let all: Vec<(String, Standing)> = all.into_iter().collect();
        let status = all.iter().map(|(_, one)| one.status).max()?;
        let (name, first) = all.iter().find(|(_, one)| one.status == status)?;
        let alike = all.iter().filter(|(_, one)| one == first).count();
        let others = all.iter().filter(|(_, one)| one.status == status && one != first).count();
        // What is safe is so everywhere, and of equal points none is named.
        let place = match alike {
            _ if status == Status::Safe || alike == all.len() || name.is_empty() => String::new(),
            1 => format!("{name}: "),
            _ => format!("{alike} of {}: ", all.len()),
        };
        let more = match others {
            0 => String::new(),
            _ if status == Status::Safe => String::new(),
            count => format!("; and {count} more for another reason"),
        };
        Some(Self { status, reason: format!("{place}{}{more}", first.reason) })
    }
}

/// One axis of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepAxis {
    /// The scenario key that varies: `cluster.servers`.
    pub key: String,
    /// The values it takes, in order.
    pub values: Vec<serde_json::Value>,
}

/// The results of one point of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PointSummary {
    /// The swept keys and this point's values.
    pub settings: Ordered<serde_json::Value>,
    /// The settings in short, for legends: `servers=8`.
    pub label: String,
    /// Mean over replicates by measure.
    pub summary: Ordered<Measure>,
    /// Digest over this point's replicates.
    pub digest: Option<String>,
    /// Whether a replicate was stopped early or is missing.
    pub partial: bool,
}

impl Report {
    /// What stands over the page, and in the tab of a browser: the finding, or the title where there is none.
    #[must_use]
    pub fn heading(&self) -> &str {
        [self.answer.finding.as_str(), &self.title, &self.study]
            .into_iter()
            .find(|text| !text.is_empty())
            .unwrap_or("Towtank report")
    }

    /// The commands of the plan that the report lists, in their order: the column `command` of its table
    /// `commands`; `None` if it has none.
    pub fn commands(&self) -> Option<impl Iterator<Item = &str>> {
        let table = self.tables.iter().find(|table| table.id() == "commands")?;
        let at = table.columns().iter().position(|column| column.name == "command")?;
        Some(table.rows().iter().filter_map(move |row| match row.get(at) {
            Some(Cell::Text(text)) => Some(text.as_str()),
            _ => None,
        }))
    }

    /// The number of replicates of which these means are: the most of any measure.
    #[must_use]
    pub(crate) fn replicates_in(summary: &Ordered<Measure>) -> u32 {
        summary.values().map(Measure::n).max().unwrap_or(0)
    }

    /// `report.json`: two spaces of indent, fields in the order of the type, a newline at the end.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut json =
            serde_json::to_string_pretty(self).expect("every field has a JSON form and every key is text");
        json.push('\n');
        json
    }

    /// The JSON Schema of `report.json`.
    #[must_use]
    pub fn json_schema() -> serde_json::Value {
        let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
        settings.into_generator().into_root_schema_for::<Self>().to_value()
    }

    /// Reads `report.json` back.
    ///
    /// # Errors
    /// When the text is not JSON, or not a report of this layout.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        /// Read first, to distinguish a report of another layout from a broken file.
        #[derive(Deserialize)]
        struct Head {
            schema: String,
        }
        let head: Head = serde_json::from_str(text)?;
        if head.schema != SCHEMA {
            return Err(ReadError::Schema { found: head.schema });
        }
        Ok(serde_json::from_str(text)?)
    }
}

/// Why a file cannot be read as a report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Not JSON, or JSON of another shape.
    #[error("not a report: {0}; is it the `report.json` of a run?")]
    Json(#[from] serde_json::Error),
    /// The file has another layout.
    #[error(
        "the report is of layout `{found}`, but this version reads `{SCHEMA}`; use the version that wrote it, or run its scenario again"
    )]
    Schema {
        /// The layout that the file names.
        found: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(points: &[(&str, Status, &str)]) -> String {
        let all = points.iter().map(|(name, status, why)| ((*name).to_owned(), Standing::new(*status, *why)));
        Standing::worst(all).map_or_else(String::new, |one| one.sentence())
    }

    #[test]
    fn the_worst_point_is_named_unless_it_is_one_of_equal_ones() {
        let (safe, risk, bad) = (Status::Safe, Status::AtRisk, Status::NotSafe);
        assert_eq!(of(&[]), "");
        assert_eq!(of(&[("", risk, "full")]), "At risk: full.");
        assert_eq!(of(&[("a", safe, "well"), ("b", risk, "full")]), "At risk: b: full.");
        assert_eq!(of(&[("a", risk, "full"), ("b", risk, "full")]), "At risk: full.");
        assert_eq!(
            of(&[("a", risk, "full"), ("b", safe, "well"), ("c", risk, "full")]),
            "At risk: 2 of 3: full."
        );
        assert_eq!(of(&[("a", safe, "well"), ("b", safe, "well")]), "Safe: well.");
        assert_eq!(
            of(&[("a", bad, "lost"), ("b", bad, "stuck"), ("c", Status::Unknown, "who knows")]),
            "Not safe: a: lost; and 1 more for another reason."
        );
        assert_eq!(of(&[("a", risk, "full"), ("b", Status::Unknown, "who knows")]), "Unknown: b: who knows.");
    }
}
