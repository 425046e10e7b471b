//! `towtank reproduce [NAME…]`: published set-ups, run and held against what was published.

use serde_json::json;
use towtank_campaign::{Inputs, Shard, Writer};
use towtank_report::{Claim, Report, Verdict};
use towtank_scenario::{Problem, did_you_mean};

use crate::args::Reproduce;
use crate::exit::{Exit, Trouble};
use crate::street::{self, Job};
use crate::{capacity, laws, load, output, screen};

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
        let scenario = towtank_studies::check(loaded.document)?;
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
    let simulated = || towtank_studies::all().iter().flat_map(|study| study.published().iter().copied());
    let published = || simulated().chain(capacity::PUBLISHED);
    if names.is_empty() {
        return Ok(published().collect());
    }
    let mut chosen: Vec<&'static str> = Vec::new();
    for name in names {
        let of_study = towtank_studies::named(name).map(|study| study.published().to_vec());
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
        towtank_studies::all().iter().filter(|study| !study.published().is_empty()).map(|study| study.name());
    studies.chain([CAPACITY])
}

fn take(all: &mut Report, report: Report, name: &str) {
    all.results_version = all.results_version.max(report.results_version);
    all.events += report.events;
    all.partial |= report.partial;
    // Tables of a simulation stand in its own report; what was asked of measurements has no other.
    all.tables.extend(report.tables.into_iter().filter(|_| report.study == CAPACITY));
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
    all.scenario_hash = towtank_scenario::hash_of_bytes(list.to_string().as_bytes());
    all.scenario = json!({ "scenarios": list });
    all.answer = summary(&all.claims);
    let all = laws::hold(all)?;
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

/// How many claims hold, miss, cannot be told and were fitted.
fn summary(claims: &[Claim]) -> String {
    let count = |verdict| claims.iter().filter(|claim| claim.verdict == verdict).count();
    let mut words = format!("{} of {} claims hold", count(Verdict::Holds), claims.len());
    let (misses, untold, fitted) =
        (count(Verdict::Misses), count(Verdict::CannotTell), count(Verdict::Fitted));
    if misses > 0 {
        words.push_str(&format!(", {misses} miss"));
    }
    if untold > 0 {
        words.push_str(&format!(", {untold} cannot tell"));
    }
    if fitted > 0 {
        let holding = claims.iter().filter(|claim| claim.would_be == Some(Verdict::Holds)).count();
        words.push_str(&format!("; {fitted} were fitted and so prove nothing ({holding} would hold)"));
    }
    words + "."
}

#[cfg(test)]
mod tests {
    use towtank_report::{ClaimDraft, Reading, Tolerance};

    use super::*;

    #[test]
    fn the_summary_counts_every_verdict() {
        let claim = |low: f64, high: f64, fitted: bool| {
            ClaimDraft {
                name: "rate".to_owned(),
                source: "a paper".to_owned(),
                statement: "the rate is 1".to_owned(),
                unit: String::new(),
                published: Reading::of(1.0),
                ours: Reading::with_range(f64::midpoint(low, high), low, high),
                tolerance: Tolerance::Relative { fraction: 0.1 },
                fitted,
                note: None,
            }
            .judge()
        };
        let claims = [
            claim(0.95, 1.05, false),
            claim(2.0, 3.0, false),
            claim(0.5, 1.0, false),
            claim(1.0, 1.0, true),
            claim(2.0, 2.0, true),
        ];
        assert_eq!(
            summary(&claims),
            "1 of 5 claims hold, 1 miss, 1 cannot tell; 2 were fitted and so prove nothing (1 would hold)."
        );
        assert_eq!(summary(&claims[..1]), "1 of 1 claims hold.");
    }
}
