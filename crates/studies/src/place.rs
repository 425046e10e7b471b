//! Where does an algorithm put the data? Balance, peers, which devices a failure loads, and how much a change
//! moves.
//!
//! Everything is counted, nothing is timed: reports hold no clocks, and `towtank bench place` measures
//! lookups. What it leaves out: sizes (all objects count the same) and failure domains, which of these
//! algorithms only CRUSH has.
//!
//! - `scenario`: the keys of a scenario;
//! - `observed`: the counts of one replicate;
//! - `published`: what the first paper says of one failure;
//! - `answer`: the answer in words, and its warnings;
//! - `promised`: what the algorithms guarantee, in words, and shares by weight;
//! - `view`: a point as these three see it;
//! - `present`: tables and figures, one row per algorithm of the sweep.

mod answer;
mod observed;
mod present;
mod promised;
mod published;
mod scenario;
mod view;

use towtank_report::Outcome;
use towtank_scenario::{Draft, Problems};
use towtank_units::Bytes;

use self::observed::{Kept, Seen};
use self::scenario::Scenario;
use towtank_study::{Flag, Measure, Points, Presentation, Question, Replicate, RunContext, StudyError};

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
    Flag { name: "slots", key: "slots" },
    Flag { name: "heavy-servers", key: "heavy_servers" },
    Flag { name: "heavy-weight", key: "heavy_weight" },
    Flag { name: "change", key: "change" },
];

impl Question for Place {
    const NAME: &'static str = "place";
    const TITLE: &'static str =
        "how evenly an algorithm spreads data, which servers share it, and what a change moves";
    const ABOUT: &'static str = "Places objects, or groups of objects, on servers with CRUSH, rings, rendezvous hashing and other algorithms, and counts: \
         load, compared with independent draws; peers that share data; which survivors rebuild a failed server; and what a \
         change moves, compared with the minimum. A sweep compares several algorithms: \
         --set 'sweep.algorithm=[\"ring\", \"crush-straw2\"]'.\n\n\
         Each replicate places other keys and draws new virtual nodes. Not modelled: sizes, failure domains. \
         `towtank bench place` measures the time of lookups.";
    const RESULTS_VERSION: u32 = 2;
    const EXAMPLES: &'static [&'static str] = &[
        "towtank place --servers 64 --algorithm crush-straw2",
        "towtank place --servers 64 --groups 4096 --change add",
        "towtank run place-algorithms --out results",
    ];
    const FLAGS: &'static [Flag] = FLAGS;
    const MEMORY_KEYS: &'static [&'static str] = &["keys", "servers", "vnodes"];
    const PUBLISHED: &'static [&'static str] = &["rebuild-groups"];

    type Scenario = Scenario;
    type Settled = Scenario;
    type Ready = Scenario;
    type Seen = Seen;
    type Kept = Kept;

    fn check(scenario: Scenario, draft: &Draft) -> Result<Scenario, Problems> {
        scenario.checked(draft)
    }

    fn settled(ready: &Scenario) -> &Scenario {
        ready
    }

    /// Without the keys that have no meaning here, which are refused where they are given.
    fn resolved(ready: &Scenario) -> serde_json::Value {
        let mut value =
            serde_json::to_value(ready).expect("a scenario came out of text and goes back into it");
        if let Some(table) = value.as_object_mut() {
            ready.unused().into_iter().for_each(|key| _ = table.remove(key));
        }
        value
    }

    fn memory(ready: &Scenario) -> Option<Bytes> {
        Some(ready.memory_estimate())
    }

    fn measures() -> Vec<Measure<Seen>> {
        observed::measures()
    }

    fn run(ready: &Scenario, context: &RunContext<'_>) -> Result<Replicate<Seen>, StudyError> {
        Ok(match Seen::of(ready, context)? {
            Some(seen) => {
                Replicate { seen: Ok(seen), beside: Outcome { events: ready.items(), ..Outcome::default() } }
            }
            None => Replicate {
                seen: Err("the run was stopped before everything was placed"),
                beside: Outcome { partial: true, ..Outcome::default() },
            },
        })
    }

    fn keep(seen: Seen) -> Kept {
        seen.keep()
    }

    fn present(points: &Points<'_, Place>) -> Presentation {
        present::present(points)
    }
}

#[cfg(test)]
mod tests;
