//! What fails, and when: from the text of a user to the devices it means.

use towtank_rebuild::failures::{Failing, Failure, Word, named, struck_again};
use towtank_scenario::{Draft, Problems};
use towtank_units::SimSpan;

use super::cluster::layout;
use super::ring::{self, Rings};
use super::scenario::Scenario;

/// The failures that the text means, in order of time.
pub fn resolve(
    scenario: &Scenario,
    rings: Option<&Rings>,
    draft: &Draft,
    problems: &mut Problems,
) -> Vec<Failure> {
    let mut failures = Vec::new();
    if scenario.fail.all().is_empty() {
        let hint = "name what fails: fail = \"server\"";
        problems.refuse(draft, "fail", "nothing fails, so there is nothing to rebuild", hint);
    }
    for text in scenario.fail.all() {
        match parse(text, scenario, rings) {
            Ok(failure) => failures.push((failure, text.as_str())),
            Err((message, hint)) => problems.refuse(draft, "fail", message, hint),
        }
    }
    failures.sort_by_key(|(failure, _)| failure.at);
    let hardware = rings.map_or_else(|| layout(scenario), |rings| rings.layout.clone());
    let named = |failure: &Failure| named(failure.what, &hardware);
    let words: Vec<Word<'_>> = failures.iter().map(|(failure, text)| (*text, named(failure))).collect();
    for (message, hint) in struck_again(&words, vec![true; hardware.server_of.len()]) {
        problems.refuse(draft, "fail", message, hint);
    }
    failures.into_iter().map(|(failure, _)| failure).collect()
}

fn parse(text: &str, scenario: &Scenario, rings: Option<&Rings>) -> Result<Failure, (String, String)> {
    let (what, at) = text.split_once('@').unwrap_or((text, "0s"));
    let at: SimSpan = at.trim().parse().map_err(|error| {
        (format!("`fail` is `{text}`: {error}"), "write the time behind an `@`: \"server@10min\"".to_owned())
    })?;
    let what = match (what.trim(), rings) {
        ("server", _) => Failing::Server(None),
        ("disk", _) => Failing::Device(None),
        ("rack", _) => Failing::Rack(None),
        ("zone", Some(_)) => Failing::Rack(None),
        (what, Some(rings)) => ring::named(what, rings)?,
        (what, None) => numbered(what, scenario)?,
    };
    Ok(Failure { what, at })
}

/// Finds a server, a disk or a rack by its number.
fn numbered(what: &str, scenario: &Scenario) -> Result<Failing, (String, String)> {
    let disks = scenario.servers * scenario.disks_per_server;
    let number = |digits: &str, count: u32, names: &str| {
        let number = digits.trim().parse().ok().filter(|&number: &u32| number < count);
        number.map(Some).ok_or_else(|| {
            let last = count - 1;
            (
                format!("`fail` names `{what}`, but {names} go from 0 to {last}"),
                format!("use one of 0 to {last}"),
            )
        })
    };
    Ok(match what.split_once('=') {
        Some(("server", digits)) => Failing::Server(number(digits, scenario.servers, "servers")?),
        Some(("disk", digits)) => Failing::Device(number(digits, disks, "disks")?),
        Some(("rack", digits)) => Failing::Rack(number(digits, scenario.racks, "racks")?),
        _ if is_of_ceph(what) => {
            let message = format!(
                "`fail` names `{what}`, as Ceph does, but no cluster of Ceph is given: this one is described by its keys"
            );
            let hint = format!(
                "for a cluster of Ceph: towtank whatif --report FILE --fail {what}; here: server, disk or rack to have one drawn, or server=5, disk=3, rack=1"
            );
            return Err((message, hint));
        }
        _ => {
            let hint = "write server, disk or rack to have one drawn, or name it: server=5, disk=3, rack=1";
            return Err((
                format!("`fail` names `{what}`, which is no server, disk or rack"),
                hint.to_owned(),
            ));
        }
    })
}

/// Whether it is a name that a map of Ceph has: `osd.3`, `host=a`.
fn is_of_ceph(what: &str) -> bool {
    let kind = what.split(['=', '.']).next().unwrap_or_default();
    ["osd", "host"].contains(&kind)
}

#[cfg(test)]
mod tests;
