//! Runs published set-ups and compares the results with the published ones.

use serde_json::json;
use towtank_campaign::Shard;
use towtank_report::{Claim, Report, Verdict};
use towtank_scenario::{Problem, did_you_mean};
use towtank_studies::Study;
use towtank_studies::rebuild::Rebuild;
use towtank_studies::rebuild::benchmark::beside_published;

use crate::measured::{self, CAPACITY};
use crate::{Document, Observer, Options, Registry, Trouble, files, laws, run};

/// Runs published scenarios (those named, those of the named studies, or all) one after the other, and
/// reports all claims together. A claim that misses is a result, not a failure. A `partial` report was
/// stopped.
///
/// The options' `out` receives the report, with a folder for each scenario; their `shard` is ignored.
///
/// # Errors
/// When a name is unknown, a scenario cannot be run, or a file cannot be written.
pub fn reproduce(
    registry: &Registry,
    names: &[String],
    options: &Options,
    observer: &dyn Observer,
) -> Result<Report, Trouble> {
    let names = chosen(registry, names)?;
    options.out.as_deref().map(files::refuse_campaign).transpose()?;
    let mut all = Report {
        study: "reproduce".to_owned(),
        title: "Published results compared with ours".to_owned(),
        executor: options.executor.name().to_owned(),
        ..Report::default()
    };
    let mut scenarios = Vec::new();
    if names.iter().any(|name| Rebuild.published().contains(name)) {
        all.tables.push(beside_published());
    }
    for name in names {
        observer.scenario(name);
        if let Some(measured) = measured::published(name) {
            scenarios.push(json!({ "name": name }));
            take(&mut all, measured?, name);
            continue;
        }
        let scenario = Document::builtin(name, registry)?.check(registry)?;
        let out = options.out.as_ref().map(|dir| dir.join(name));
        let finished = run(&scenario, &Options { out, shard: Shard::WHOLE, ..options.clone() }, observer)?;
        scenarios.push(json!({ "name": name, "hash": scenario.resolved().hash() }));
        if let Some(report) = finished.report {
            take(&mut all, report, name);
        }
        if finished.interrupted {
            all.partial = true;
            break;
        }
    }
    finish(all, scenarios, options)
}

/// The scenarios to run: those named, those of the named studies, or all.
fn chosen(registry: &Registry, names: &[String]) -> Result<Vec<&'static str>, Problem> {
    let simulated = || registry.studies().iter().flat_map(|study| study.published().iter().copied());
    let published = || simulated().chain(measured::PUBLISHED);
    if names.is_empty() {
        return Ok(published().collect());
    }
    let mut chosen: Vec<&'static str> = Vec::new();
    for name in names {
        let of_study = registry.named(name).map(|study| study.published().to_vec());
        let one = || published().find(|published| published == name).map(|name| vec![name]);
        let measured = || (name == CAPACITY).then(|| measured::PUBLISHED.to_vec());
        let found = of_study.or_else(measured).or_else(one);
        let found = found.ok_or_else(|| unknown(name, published().chain(studies_with_some(registry))))?;
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
    let names: Vec<&str> = published.collect();
    let hint = did_you_mean(name, names.iter().copied())
        .unwrap_or_else(|| format!("these can be reproduced: {}", names.join(", ")));
    Problem::new(format!("`{name}` is neither a published scenario nor a study")).hint(hint)
}

/// The names of the studies with published scenarios.
fn studies_with_some(registry: &Registry) -> impl Iterator<Item = &'static str> {
    let studies = registry.studies().iter().filter(|study| !study.published().is_empty());
    studies.map(|study| study.name()).chain([CAPACITY])
}

fn take(all: &mut Report, report: Report, name: &str) {
    all.results_version = all.results_version.max(report.results_version);
    all.events += report.events;
    all.partial |= report.partial;
    // Tables of a simulation are in its own report; judged measurements have no other report.
    all.tables.extend(report.tables.into_iter().filter(|_| report.study == CAPACITY));
    // Names are unique within a scenario only.
    all.claims.extend(
        report.claims.into_iter().map(|claim| Claim { name: format!("{name}/{}", claim.name), ..claim }),
    );
    all.warnings.extend(report.warnings.into_iter().map(|warning| format!("{name}: {warning}")));
}

/// The report of all claims, written into the common directory.
fn finish(mut all: Report, scenarios: Vec<serde_json::Value>, options: &Options) -> Result<Report, Trouble> {
    let list = serde_json::Value::from(scenarios);
    all.scenario_hash = towtank_scenario::hash_of_bytes(list.to_string().as_bytes());
    all.scenario = json!({ "scenarios": list });
    all.answer = summary(&all.claims);
    let all = laws::hold(all)?;
    if let Some(dir) = &options.out {
        files::write_report(&all, dir, &[])?;
    }
    Ok(all)
}

/// The number of claims that hold, miss, cannot be judged and were fitted.
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
        words.push_str(&format!("; {fitted} were fitted and prove nothing ({holding} would hold)"));
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
            "1 of 5 claims hold, 1 miss, 1 cannot tell; 2 were fitted and prove nothing (1 would hold)."
        );
        assert_eq!(summary(&claims[..1]), "1 of 1 claims hold.");
    }
}
