//! The fixed work of `towtank bench rebuild`: the published study's largest run.
//!
//! 1,024 servers of 60 TiB, Mira's files, three copies, object by object on CRUSH's ring bucket, in units of
//! 4 MiB. The published run had "over 200 million events"; here a unit takes five events, none of which
//! merely re-posts itself, so two servers must fail to come near that number.

use serde_json::json;
use towtank_units::SimSpan;

use towtank_rebuild::failures::{Failing, Failure};
use towtank_rebuild::redundancy::Redundancy;

use super::complete::Complete;
use super::population::{DataSet, PresetName};
use super::scenario::Scenario;
use super::settled::Settled;

/// Servers of the published run.
pub const SERVERS: u32 = 1_024;

/// The measured scenario: the published cluster, with the given number of servers, of failed servers, and of
/// bytes per server.
///
/// # Panics
/// Never: the scenario is legal.
#[must_use]
pub fn scenario(servers: u32, failed: u32, per_server: &str) -> Complete {
    let text = json!({
        "servers": servers,
        "per_server": per_server,
        "placement": "crush-vring",
        "population": { "preset": "mira" },
        "lost_set": "draw",
    });
    let scenario: Scenario = serde_json::from_value(text).expect("the benchmark's keys are legal");
    let scenario = Settled::of(scenario);
    let redundancy = Redundancy { data: 1, width: 3 };
    let preset = PresetName::Mira.preset();
    let data = DataSet {
        spec: scenario.population.clone(),
        sizes: preset.histogram(),
        layout: preset.layout((servers / 3).max(1)),
        warnings: Vec::new(),
        section: "population".to_owned(),
    };
    let failure = Failure { what: Failing::Server(None), at: SimSpan::ZERO };
    Complete { scenario, redundancy, failures: vec![failure; failed as usize], data }
}
