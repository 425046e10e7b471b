//! Why a cluster is not safe, or why that is not known, in words.

use towtank_report::{Standing, Status, human};

use super::halted::{self, Halted};
use super::unavailable::Unavailable;
use super::view::{View, some_of};
use crate::preview::dangers;

/// How the data fare, with what is unsafe or not known.
#[must_use]
pub fn status(view: &View<'_>) -> Standing {
    let reasons = of(view);
    let of_map = dangers::status(&view.kept.moves);
    let reason = if reasons.is_empty() { of_map.reason().to_owned() } else { reasons.join("; ") };
    Standing::new(level(view, of_map.status()), reason)
}

fn level(view: &View<'_>, of_map: Status) -> Status {
    let unfinished = view.value("time_to_clean_s").is_none();
    let Halted { lacking, unseen, paused, parted, .. } = &view.kept.observed.halted;
    let Unavailable { groups, lost_empty, .. } = view.kept.observed.unavailable;
    let halted = *lacking || *paused || !unseen.is_empty() || groups + lost_empty > 0;
    let own = if halted || view.some("lost_objects") || (unfinished && view.some("stuck_objects")) {
        Status::NotSafe
    } else if parted.is_some() {
        Status::Unknown
    } else if unfinished
        || view.some("one_copy_bytes")
        || !view.kept.exposure.devices.is_empty()
        || view.some("below_min_size")
        || !view.kept.worse.said.is_empty()
    {
        Status::AtRisk
    } else {
        Status::Safe
    };
    of_map.max(own)
}

/// What is unsafe or not known; empty where there is nothing.
fn of(view: &View<'_>) -> Vec<String> {
    let mut dangers = dangers::dangers(&view.kept.moves);
    let mut first = stopped(view);
    if view.some("lost_objects") {
        let lost = view.value("lost_objects").unwrap_or(0.0);
        first.insert(0, format!("{} objects would be lost", human::digits(lost)));
    }
    let below = view.value("below_min_size").unwrap_or(0.0);
    let now = view.kept.moves.safety.below_min_size_now as f64;
    if below > now {
        let verb = ["group serves no requests", "groups serve no requests"];
        let good = if view.some("lost_objects") { ", those that are lost for good" } else { "" };
        first.push(format!("{} for a while{good}", human::plural(below, verb)));
    }
    if view.some("one_copy_bytes") {
        let bytes = view.shown("one_copy_bytes", "bytes").unwrap_or_default();
        let when = view.kept.exposure.when();
        first.push(format!("{bytes} have a single copy (or just k shards) left {when}"));
    }
    first.extend(view.kept.observed.halted.parted.clone());
    first.extend(away(view));
    first.extend(doubled(view));
    first.extend(view.kept.worse.said.iter().cloned());
    dangers.splice(0..0, first);
    if dangers.is_empty() && view.value("time_to_clean_s").is_none() {
        let reason = view.reason("time_to_clean_s").unwrap_or("the reason is not known");
        dangers.push(format!("not all groups become clean: {reason}"));
    }
    dangers
}

/// Groups that no device can serve for a while, since too few of theirs are there, and whose data return.
fn away(view: &View<'_>) -> Option<String> {
    let groups = view.kept.exposure.away_groups;
    let verb = [
        "group has too few copies or shards left to be read",
        "groups have too few copies or shards left to be read",
    ];
    (groups > 0).then(|| format!("{} until devices return", human::plural(groups as f64, verb)))
}

/// Devices that have more shards of a whole group than it can spare.
fn doubled(view: &View<'_>) -> Option<String> {
    let exposure = &view.kept.exposure;
    if exposure.devices.is_empty() || exposure.one_groups > 0 || view.some("lost_objects") {
        return None;
    }
    let who = some_of(&exposure.devices);
    Some(format!("{who} has more shards of a group than it can spare, and would lose data by itself"))
}

/// What is stopped by flags, or waits for devices that are down.
fn stopped(view: &View<'_>) -> Vec<String> {
    let observed = &view.kept.observed;
    let Halted { copies, lacking, unseen, paused, .. } = &observed.halted;
    let mut said: Vec<String> = observed.unavailable.in_words().into_iter().collect();
    if observed.unavailable.lost_empty > 0 {
        let groups = observed.unavailable.lost_empty as f64;
        let groups = human::plural(groups, ["group without objects has", "groups without objects have"]);
        said.push(format!("{groups} too few devices left, and serve no requests"));
    }
    match copies {
        Some((flags, _)) if *lacking && flags.contains("norecover") => {
            said.push(format!("nothing but what clients wait for is rebuilt with {flags} set"));
        }
        Some((flags, _)) if *lacking => said.push(format!("no group is backfilled with {flags} set")),
        Some((flags, objects)) => {
            let objects = human::plural(*objects as f64, ["object stays", "objects stay"]);
            said.push(format!("{objects} where they are with {flags} set"));
        }
        None => {}
    }
    if let Some(who) = halted::who(unseen) {
        said.push(format!(
            "while `nodown` is set, nothing marks {who} down: requests to the groups there wait, and nothing is rebuilt"
        ));
    }
    if *paused {
        said.push("clients are paused (`pause`): all their requests wait".to_owned());
    }
    said
}
