//! `towtank reproduce [NAME…]`: published set-ups, run and held against what was published.

use campaign::{Inputs, Shard, Writer};
use report::{Claim, Report, Verdict};
use scenario::{Problem, did_you_mean};
use serde_json::json;

use crate::args::Reproduce;
use crate::exit::{Exit, Trouble};
use crate::street::{self, Job};
use crate::{capacity, load, output, screen};

/// What all measurements of capacities are called together.
const CAPACITY: &str = "capacity";

/// Runs them one after the other, and reports all claims together. Claims that miss are a result, not a failure.
pub fn reproduce(reproduce: &Reproduce) -> Result<Exit, Trouble> {
    let names = chosen(&reproduce.names)?;
    reproduce.keep.out.as_deref().map(output::refuse_campaign).transpose()?;
    let mut all = Report {
        study: "reproduce".to_owned(),
        title: "What was published, and what comes out here".to_owned(),
        executor: reproduce.machine.executor.name().to_owned(),
        ..Report::default()
    };
    let mut scenarios = Vec::new();
    for name in names {
        if !reproduce.output.quiet {
            screen::say(&format!("running {name}\n"));
        }
        if let Some(measured) = capacity::published(name) {
            scenarios.push(json!({ "name": name }));
            take(&mut all, measured?, name);
            continue;
        }
        let loaded = load::load(name)?;
        let scenario = studies::check(loaded.document)?;
        let out = reproduce.keep.out.as_ref().map(|dir| dir.join(name));
        let job = Job {
            machine: &reproduce.machine,
            output: &reproduce.output,
            out: out.as_deref(),
            shard: Shard::WHOLE,
            inputs: Inputs::default(),
        };
        let finished = street::run(&scenario, job)?;
        scenarios.push(json!({ "name": name, "hash": scenario.resolved().hash() }));
        if let Some(report) = finished.report {
            if let Some(store) = &finished.store {
                output::write_into(&report, store).map_err(street::trouble_of)?;
            }
            take(&mut all, report, name);
        }
        if finished.interrupted {
            all.partial = true;
            break;
        }
    }
    finish(all, scenarios, reproduce)
}

/// The scenarios to run: those named, those of studies named, or all.
fn chosen(names: &[String]) -> Result<Vec<&'static str>, Problem> {
    let simulated = || studies::all().iter().flat_map(|study| study.published().iter().copied());
    let published = || simulated().chain(capacity::PUBLISHED);
    if names.is_empty() {
        return Ok(published().collect());
    }
    let mut chosen: Vec<&'static str> = Vec::new();
    for name in names {
        let of_study = studies::named(name).map(|study| study.published().to_vec());
        let one = || published().find(|published| published == name).map(|name| vec![name]);
        let measured = || (name == CAPACITY).then(|| capacity::PUBLISHED.to_vec());
        let found = of_study.or_else(measured).or_else(one).ok_or_else(|| unknown(name, published()))?;
        chosen.extend(found);
    }
    let mut seen = Vec::new();
    chosen.retain(|name| {
        !seen.contains(name) && {
            seen.push(*name);
            true
        }
    });
    Ok(chosen)
}

fn unknown(name: &str, published: impl Iterator<Item = &'static str>) -> Problem {
    let names: Vec<&str> = published.chain(studies_with_some()).collect();
    let hint = did_you_mean(name, names.iter().copied())
        .unwrap_or_else(|| format!("what can be reproduced: {}", names.join(", ")));
    Problem::new(format!("`{name}` is no published scenario and no study")).hint(hint)
}

/// A study that has published nothing reproduces nothing.
fn studies_with_some() -> impl Iterator<Item = &'static str> {
    let studies =
        studies::all().iter().filter(|study| !study.published().is_empty()).map(|study| study.name());
    studies.chain([CAPACITY])
}

fn take(all: &mut Report, report: Report, name: &str) {
    all.results_version = all.results_version.max(report.results_version);
    all.events += report.events;
    all.partial |= report.partial;
    // Names are told apart within a scenario only.
    all.claims.extend(
        report.claims.into_iter().map(|claim| Claim { name: format!("{name}/{}", claim.name), ..claim }),
    );
    all.warnings.extend(report.warnings.into_iter().map(|warning| format!("{name}: {warning}")));
}

fn finish(
    mut all: Report,
    scenarios: Vec<serde_json::Value>,
    reproduce: &Reproduce,
) -> Result<Exit, Trouble> {
    let list = serde_json::Value::from(scenarios);
    all.scenario_hash = scenario::hash_of_bytes(list.to_string().as_bytes());
    all.scenario = json!({ "scenarios": list });
    let count = |verdict| all.claims.iter().filter(|claim| claim.verdict == verdict).count();
    let (holds, misses, fitted) = (count(Verdict::Holds), count(Verdict::Misses), count(Verdict::Fitted));
    let missed = if misses == 0 { String::new() } else { format!(", {misses} miss") };
    let proven =
        if fitted == 0 { String::new() } else { format!("; {fitted} were fitted and so prove nothing") };
    all.answer = format!("{holds} of {} claims hold{missed}{proven}.", all.claims.len());
    if let Some(dir) = &reproduce.keep.out {
        let writer = Writer::new(Inputs::default());
        output::write_alone(&all, dir, &writer)?;
    }
    output::print(&all, reproduce.output.format)?;
    if let Some(dir) = &reproduce.keep.out {
        output::say_where(&reproduce.output, dir);
    }
    if all.partial {
        screen::say("interrupted: what follows the last scenario was not run\n");
        return Ok(Exit::Interrupted);
    }
    Ok(Exit::Done)
}
