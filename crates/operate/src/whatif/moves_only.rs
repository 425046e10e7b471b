//! `whatif` where only what moves is asked, which is what `preview` answers: no speeds, no time.
//!
//! The command has one study for both. Which of them answers a point is read from its key `moves_only`.

use std::sync::LazyLock;

use serde_json::Value as Json;
use towtank_scenario::{Draft, Problems};
use towtank_study::{
    Flag, Measure, MeasureSpec, Ordered, PointResult, Points, Prepared, Presentation, Question, Replicate,
    RunContext, Study, StudyError, keys_of, prepared,
};

use super::Whatif;
use super::scenario::Scenario;
use crate::preview::case::Case;
use crate::preview::observed::{Kept, Seen};
use crate::preview::{self, Preview};

/// The key that says it.
const KEY: &str = "moves_only";

/// A change of a cluster: with all that follows, or only what moves.
#[derive(Clone, Copy, Debug)]
pub struct WhatifStudy;

/// A change of a cluster, and only what moves.
#[derive(Clone, Copy, Debug)]
struct MovesOnly;

/// A checked scenario with the cluster before and after.
struct Ready {
    scenario: Scenario,
    case: Case,
}

impl Question for MovesOnly {
    const NAME: &'static str = Whatif::NAME;
    const TITLE: &'static str = Whatif::TITLE;
    const ABOUT: &'static str = Whatif::ABOUT;
    const RESULTS_VERSION: u32 = Whatif::RESULTS_VERSION;
    const FLAGS: &'static [Flag] = Whatif::FLAGS;

    type Scenario = Scenario;
    type Settled = Scenario;
    type Ready = Ready;
    type Seen = Seen;
    type Kept = Kept;

    fn check(scenario: Scenario, draft: &Draft) -> Result<Ready, Problems> {
        check_keys(&scenario, draft).into_result(())?;
        let Scenario { exports, changes, map, .. } = scenario.clone();
        let case = Case::of(&preview::scenario::Scenario { exports, changes, map }, draft)?;
        Ok(Ready { scenario, case })
    }

    fn settled(ready: &Ready) -> &Scenario {
        &ready.scenario
    }

    /// Without what is about time, which has no effect.
    fn resolved(ready: &Ready) -> Json {
        let mut value =
            serde_json::to_value(&ready.scenario).expect("a scenario came out of text and goes back into it");
        if let Some(keys) = value.as_object_mut() {
            let of_moves = keys_of::<preview::scenario::Scenario>();
            keys.retain(|key, _| key == KEY || of_moves.contains(key));
        }
        value
    }

    fn measures() -> Vec<Measure<Seen>> {
        <Preview as Question>::measures()
    }

    fn run(ready: &Ready, context: &RunContext<'_>) -> Result<Replicate<Seen>, StudyError> {
        preview::run(&ready.case, context)
    }

    fn keep(seen: Seen) -> Kept {
        Preview::keep(seen)
    }

    fn present(points: &Points<'_, MovesOnly>) -> Presentation {
        preview::present::present(points)
    }
}

/// Refuses keys and changes that say nothing about what moves.
fn check_keys(scenario: &Scenario, draft: &Draft) -> Problems {
    const REBUILT: &str =
        "what fails moves nothing at once: its data are rebuilt elsewhere when it is marked out";
    const IN_PLACE: &str =
        "what comes back or is replaced leaves the map as it is, so that nothing moves in the end";
    const FLAG: &str = "a flag changes no place of data";
    let changes = [
        ("fail", REBUILT, "write mark-out in its place for what moves then, or leave out moves_only"),
        ("returns", IN_PLACE, "leave out moves_only: how long it takes to fill is another question"),
        ("replace", IN_PLACE, "leave out moves_only: how long it takes to fill is another question"),
        ("set_flag", FLAG, "leave out moves_only: flags say when something moves, and whether it does"),
        ("unset_flag", FLAG, "leave out moves_only: flags say when something moves, and whether it does"),
    ];
    let mut problems = Problems::new();
    for (verb, message, hint) in changes.into_iter().filter(|change| scenario.keyed().has(change.0)) {
        let key = if draft.says(verb) { verb } else { "changes" };
        problems.refuse(draft, key, format!("`{verb}`: {message}"), hint);
    }
    let of_moves = keys_of::<preview::scenario::Scenario>();
    let is_change = |key: &String| changes.iter().any(|change| change.0 == key);
    let of_time = keys_of::<Scenario>();
    let of_time = of_time.difference(&of_moves).filter(|key| *key != KEY && !is_change(key));
    for key in of_time.filter(|key| draft.says(key)) {
        let message = format!("`{key}` is about time or risk, and `moves_only` answers neither");
        problems.refuse(draft, key, message, "leave out one of them");
    }
    problems
}

fn is_moves_only(scenario: &Json) -> bool {
    scenario[KEY] == Json::Bool(true)
}

/// All measures: those of `whatif`, and those that only moves have.
static MEASURES: LazyLock<Vec<MeasureSpec>> = LazyLock::new(|| {
    let mut all = Study::measures(&Whatif).to_vec();
    let more =
        Study::measures(&MovesOnly).iter().filter(|row| all.iter().all(|other| other.name != row.name));
    let more: Vec<MeasureSpec> = more.cloned().collect();
    all.extend(more);
    all
});

impl Study for WhatifStudy {
    fn name(&self) -> &'static str {
        Study::name(&Whatif)
    }

    fn title(&self) -> &'static str {
        Study::title(&Whatif)
    }

    fn about(&self) -> &'static str {
        Study::about(&Whatif)
    }

    fn results_version(&self) -> u32 {
        Study::results_version(&Whatif)
    }

    fn examples(&self) -> &'static [&'static str] {
        Study::examples(&Whatif)
    }

    fn flags(&self) -> &'static [Flag] {
        Study::flags(&Whatif)
    }

    fn ordered(&self) -> Option<Ordered> {
        Study::ordered(&Whatif)
    }

    fn schema(&self) -> schemars::Schema {
        Study::schema(&Whatif)
    }

    fn measures(&self) -> &'static [MeasureSpec] {
        &MEASURES
    }

    fn measures_of(&self, scenario: &Json) -> Vec<MeasureSpec> {
        if is_moves_only(scenario) { MovesOnly.measures_of(scenario) } else { Whatif.measures_of(scenario) }
    }

    fn lacks(&self, scenario: &Json, measure: &str) -> Option<String> {
        let has = |study: &dyn Study| study.measures().iter().any(|row| row.name == measure);
        match is_moves_only(scenario) {
            true if !has(&MovesOnly) => {
                Some("`moves_only` is set, which leaves out time and risk".to_owned())
            }
            true => None,
            false if !has(&Whatif) => Some("it is of what moves alone: set `moves_only`".to_owned()),
            false => Whatif.lacks(scenario, measure),
        }
    }

    fn check(&self, draft: &Draft) -> Result<Box<dyn Prepared>, Problems> {
        let scenario: Scenario = draft.read()?;
        if !scenario.moves_only && draft.says(KEY) {
            let message = "`moves_only` is false, as it is if it is left out; a sweep over it would mix two kinds of results";
            return Err(draft.problem(KEY, message).hint("leave it out, or set it to true").into());
        }
        match scenario.moves_only {
            true => prepared::<MovesOnly>(scenario, draft),
            false => prepared::<Whatif>(scenario, draft),
        }
    }

    fn present(&self, points: &[PointResult<'_>]) -> Presentation {
        let moves_only = points.first().is_some_and(|point| is_moves_only(point.scenario));
        if moves_only { Study::present(&MovesOnly, points) } else { Study::present(&Whatif, points) }
    }

    fn unreadable(&self, points: &[PointResult<'_>]) -> Option<String> {
        let moves_only = points.iter().filter(|point| is_moves_only(point.scenario)).count();
        match moves_only {
            0 => Whatif.unreadable(points),
            all if all == points.len() => MovesOnly.unreadable(points),
            _ => Some(format!("`{KEY}` differs from point to point, and they have other results")),
        }
    }
}
