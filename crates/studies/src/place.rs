//! Where does an algorithm put the data? Balance, peers, what a failure asks of whom, and what a change moves.
//!
//! Everything is counted, nothing is timed: reports hold no clocks, and `towtank bench place` measures lookups. What it leaves
//! out: sizes (all that is placed counts the same) and failure domains, which of these algorithms only CRUSH has.
//!
//! - `scenario`: what a user may say;
//! - `algorithms`: from a name to a placement, CRUSH buckets among them;
//! - `observed`: what is counted in one replicate;
//! - `published`: what the first paper says of one failure;
//! - `present`: tables and figures, one row an algorithm of the sweep.

mod algorithms;
mod observed;
mod present;
mod published;
mod scenario;

use towtank_report::Outcome;
use towtank_scenario::{Draft, Problems};
use towtank_units::Bytes;

pub use self::algorithms::{Algorithm, Arrangement};
use self::observed::{MEASURES, Observed};
use self::scenario::Scenario;
use crate::{Flag, MeasureSpec, PointResult, Prepared, Presentation, RunContext, Study, StudyError};

/// The placement study.
#[derive(Clone, Copy, Debug)]
pub struct Place;

const FLAGS: &[Flag] = &[
    Flag { name: "algorithm", key: "algorithm" },
    Flag { name: "servers", key: "servers" },
    Flag { name: "replicas", key: "replicas" },
    Flag { name: "keys", key: "keys" },
    Flag { name: "groups", key: "groups" },
    Flag { name: "vnodes", key: "vnodes" },
    Flag { name: "heavy-servers", key: "heavy_servers" },
    Flag { name: "heavy-weight", key: "heavy_weight" },
    Flag { name: "change", key: "change" },
];

impl Study for Place {
    fn name(&self) -> &'static str {
        "place"
    }

    fn title(&self) -> &'static str {
        "how evenly a placement spreads data, who shares it, and what a change moves"
    }

    fn about(&self) -> &'static str {
        "Places objects, or groups of objects, on servers by CRUSH, rings, rendezvous hashing and others, and counts: load \
         beside what independent draws would give, peers that share data, who rebuilds a failed server, and what a change \
         moves beside the least possible. Several algorithms are held side by side by a sweep: \
         --set 'sweep.algorithm=[\"ring\", \"crush\"]'.\n\n\
         Each replicate places other keys, and draws the virtual nodes anew. Not modelled: sizes, failure domains. Lookups \
         are timed by `towtank bench place`."
    }

    fn results_version(&self) -> u32 {
        1
    }

    fn flags(&self) -> &'static [Flag] {
        FLAGS
    }

    fn schema(&self) -> schemars::Schema {
        schemars::schema_for!(Scenario)
    }

    fn measures(&self) -> &'static [MeasureSpec] {
        MEASURES
    }

    fn memory_keys(&self) -> &'static [&'static str] {
        &["keys", "servers", "vnodes"]
    }

    fn published(&self) -> &'static [&'static str] {
        &["rebuild-groups"]
    }

    fn check(&self, draft: &Draft) -> Result<Box<dyn Prepared>, Problems> {
        let scenario = draft.read::<Scenario>()?.complete(draft)?;
        Ok(Box::new(Ready { scenario }))
    }

    fn present(&self, points: &[PointResult<'_>]) -> Presentation {
        present::present(points)
    }
}

/// A checked scenario.
struct Ready {
    scenario: Scenario,
}

impl Prepared for Ready {
    fn resolved(&self) -> serde_json::Value {
        serde_json::to_value(&self.scenario).expect("a scenario came out of text and goes back into it")
    }

    fn memory_estimate(&self) -> Option<Bytes> {
        Some(self.scenario.memory_estimate())
    }

    fn run(&self, context: &RunContext<'_>) -> Result<Outcome, StudyError> {
        match Observed::of(&self.scenario, context)? {
            Some(observed) => Ok(observed.outcome(&self.scenario)),
            None => {
                let mut outcome = Outcome { partial: true, ..Outcome::default() };
                for measure in MEASURES {
                    outcome.missing(
                        measure.name,
                        measure.unit,
                        "the run was stopped before everything was placed",
                    );
                }
                Ok(outcome)
            }
        }
    }
}

#[cfg(test)]
mod tests;
