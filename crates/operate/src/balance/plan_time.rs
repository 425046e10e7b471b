//! How long a plan takes if all its commands are given at once: what `whatif` answers on the same exports.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use towtank_ceph::balance::Applied;
use towtank_placement::crush::ItemId;
use towtank_placement::crush::pools::PgId;
use towtank_study::{RunContext, StudyError};

use super::case::Ready;
use crate::whatif::time_alone::{self, Loaded, Time};

/// How long a plan takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) enum PlanTime {
    /// Nothing moves.
    #[default]
    None,
    /// So long.
    Known(Time),
    /// Why it is not known.
    Unknown(String),
}

impl PlanTime {
    /// A part of it; 0 where nothing moves.
    ///
    /// # Errors
    /// Why it is not known.
    pub(super) fn of(&self, part: impl FnOnce(&Time) -> f64) -> Result<f64, String> {
        match self {
            PlanTime::None => Ok(0.0),
            PlanTime::Known(time) => Ok(part(time)),
            PlanTime::Unknown(reason) => Err(reason.clone()),
        }
    }
}

/// The time of a plan.
///
/// # Errors
/// When the model fails.
pub(super) fn of(ready: &Ready, applied: &Applied, context: &RunContext<'_>) -> Result<PlanTime, StudyError> {
    let Some(scenario) = scenario(ready, applied) else { return Ok(PlanTime::None) };
    if let Some(split) = ready.splits.first() {
        return Ok(PlanTime::Unknown(format!("{}, and what moves then is not known", split.change())));
    }
    let files = Arc::new(Loaded(ready.inputs.clone()));
    Ok(match time_alone::time(scenario, files, context)? {
        Ok(time) => PlanTime::Known(time),
        Err(reason) => PlanTime::Unknown(reason),
    })
}

/// The scenario of `whatif` with the mappings that the plan leaves; none if it changes none.
fn scenario(ready: &Ready, applied: &Applied) -> Option<String> {
    let mut items: BTreeMap<PgId, &Vec<(ItemId, ItemId)>> = BTreeMap::new();
    for stage in &applied.stages {
        items.extend(stage.items.iter().map(|(group, pairs)| (*group, pairs)));
    }
    let had = &ready.end().overlay.upmap_items;
    items.retain(|group, pairs| !pairs.is_empty() || had.contains_key(group));
    if items.is_empty() {
        return None;
    }
    // Texts and lists are written alike in JSON and TOML.
    let mut text = String::from("study = \"whatif\"\n");
    for input in &ready.inputs {
        writeln!(text, "{} = {}", input.key, Json::from(input.path.as_str())).ok()?;
    }
    let changes: Vec<Json> = items
        .into_iter()
        .map(|(group, pairs)| {
            let pairs: String = pairs.iter().map(|(from, to)| format!(" osd.{from} osd.{to}")).collect();
            Json::from(format!("upmap_items {group}{pairs}"))
        })
        .collect();
    writeln!(text, "changes = {}", Json::from(changes)).ok()?;
    Some(text)
}
