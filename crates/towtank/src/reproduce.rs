//! Runs published set-ups and compares the results with the published ones.
//!
//! - `listed`: claims and costs of the published scenarios, known before anything runs;
//! - `papers`: the order in which the page shows claims and figures.

mod listed;
mod papers;
#[cfg(test)]
mod sample;

use serde_json::json;
use towtank_campaign::Shard;
use towtank_report::{Answer, Claim, Figure, Report, Verdict, Warning};
use towtank_scenario::{Problem, did_you_mean};
use towtank_studies::rebuild::Rebuild;
use towtank_studies::rebuild::benchmark::beside_published;
use towtank_study::Study;

use crate::measured::{self, CAPACITY};
use crate::{Document, Observer, Options, Registry, Trouble, files, laws, run};

pub use listed::{Announced, Estimate, Listing, QUICK_SECONDS};
pub use papers::{PaperName, paper_of};

/// Which published scenarios are wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// Names of scenarios and studies; all published scenarios if there are none.
    pub names: &'a [String],
    /// Only those that take less than [`QUICK_SECONDS`] in all.
    pub quick: bool,
    /// Whether claims may differ from the listed ones: for whoever writes the list anew.
    pub unlisted: bool,
}

/// What [`reproduce`] would run, what that takes, and which claims it would judge.
///
/// # Errors
/// When a name is unknown.
pub fn listing(registry: &Registry, wanted: Wanted<'_>) -> Result<Listing, Trouble> {
    Ok(listed::listing(registry, &chosen(registry, wanted)?))
}

/// Runs published scenarios one after the other, and reports all claims together with the figures that belong
/// to them, by paper. A claim that misses is a result, not a failure. A `partial` report was stopped.
///
/// The options' `out` receives the report, with a folder for each scenario; their `shard` is ignored.
///
/// # Errors
/// When a name is unknown, a scenario cannot be run, its claims are not the announced ones, or a file cannot
/// be written.
pub fn reproduce(
    registry: &Registry,
    wanted: Wanted<'_>,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Report, Trouble> {
    let names = chosen(registry, wanted)?;
    options.out.as_deref().map(files::refuse_campaign).transpose()?;
    let mut all = Gathered::new(options, wanted.unlisted);
    all.wanted = names.len();
    if names.iter().any(|name| Rebuild.published().contains(name)) {
        all.report.tables.push(beside_published());
    }
    for name in names {
        observer.scenario(name);
        if let Some(judged) = measured::published(name) {
            all.scenarios.push(json!({ "name": name }));
            all.take(name, judged?)?;
            continue;
        }
        let scenario = Document::builtin(name, registry)?.check(registry)?;
        let out = options.out.as_ref().map(|dir| dir.join(name));
        let finished = run(&scenario, &Options { out, shard: Shard::WHOLE, ..options.clone() }, observer)?;
        all.scenarios.push(json!({ "name": name, "hash": scenario.resolved().hash() }));
        if let Some(report) = finished.report {
            all.take(name, report)?;
        }
        if finished.interrupted {
            all.report.partial = true;
            break;
        }
    }
    all.finish(options)
}

/// The names of all published scenarios.
fn published_names(registry: &Registry) -> impl Iterator<Item = &'static str> {
    let simulated = registry.studies().iter().flat_map(|study| study.published().iter().copied());
    simulated.chain(measured::PUBLISHED)
}

/// The scenarios to run: those named, those of the named studies, or all.
fn chosen(registry: &Registry, wanted: Wanted<'_>) -> Result<Vec<&'static str>, Problem> {
    let published = || published_names(registry);
    let mut chosen: Vec<&'static str> = Vec::new();
    if wanted.names.is_empty() {
        chosen.extend(published());
    }
    for name in wanted.names {
        let of_study = registry.named(name).map(|study| study.published().to_vec());
        let one = || published().find(|published| published == name).map(|name| vec![name]);
        let measured = || (name == CAPACITY).then(|| measured::PUBLISHED.to_vec());
        let found = of_study.or_else(measured).or_else(one);
        let found = found.ok_or_else(|| unknown(name, reproducible(registry)))?;
        if found.is_empty() {
            return Err(unpublished(name, registry));
        }
        chosen.extend(found);
    }
    let mut seen = Vec::new();
    chosen.retain(|name| {
        !seen.contains(name) && {
            seen.push(*name);
            true
        }
    });
    Ok(if wanted.quick { listed::quick(chosen) } else { chosen })
}

/// All names that [`reproduce`] takes: published scenarios, and studies that have some.
pub fn reproducible(registry: &Registry) -> impl Iterator<Item = &'static str> {
    published_names(registry).chain(studies_with_some(registry))
}

fn unknown(name: &str, published: impl Iterator<Item = &'static str>) -> Problem {
    let names: Vec<&str> = published.collect();
    let hint = did_you_mean(name, names.iter().copied())
        .unwrap_or_else(|| format!("these can be reproduced: {}", names.join(", ")));
    Problem::new(format!("`{name}` is neither a published scenario nor a study")).hint(hint)
}

/// A study of which nothing is compared with published values.
fn unpublished(study: &str, registry: &Registry) -> Problem {
    let studies: Vec<&str> = studies_with_some(registry).collect();
    let hint = format!(
        "these have published results: {}; `towtank reproduce --list` names the scenarios",
        studies.join(", ")
    );
    Problem::new(format!("no published results of the study `{study}` are known")).hint(hint)
}

/// The names of the studies with published scenarios.
fn studies_with_some(registry: &Registry) -> impl Iterator<Item = &'static str> {
    let studies = registry.studies().iter().filter(|study| !study.published().is_empty());
    studies.map(|study| study.name()).chain([CAPACITY])
}

/// What the scenarios gave so far.
struct Gathered {
    report: Report,
    /// Their names and hashes.
    scenarios: Vec<serde_json::Value>,
    /// Their figures, each with the name of its scenario.
    figures: Vec<(String, Figure)>,
    unlisted: bool,
    /// How many scenarios were to be run.
    wanted: usize,
    /// How many gave all their runs.
    complete: usize,
}

impl Gathered {
    fn new(options: &Options, unlisted: bool) -> Gathered {
        let report = Report {
            study: "reproduce".to_owned(),
            title: "Published results compared with ours".to_owned(),
            executor: options.executor.name().to_owned(),
            // Each scenario has its own number of replicates, and its own seed.
            replicates: 0,
            ..Report::default()
        };
        Gathered { report, scenarios: Vec::new(), figures: Vec::new(), unlisted, wanted: 0, complete: 0 }
    }

    fn take(&mut self, name: &str, report: Report) -> Result<(), Trouble> {
        if !report.partial && !self.unlisted {
            listed::hold(name, &report.claims, &report.figures)?;
        }
        self.complete += usize::from(!report.partial);
        let all = &mut self.report;
        all.results_version = all.results_version.max(report.results_version);
        all.events += report.events;
        all.partial |= report.partial;
        // Tables of a simulation are in its own report; judged measurements have no other report.
        all.tables.extend(report.tables.into_iter().filter(|_| report.study == CAPACITY));
        // Names are unique within a scenario only.
        let renamed = |claim: Claim| Claim { name: format!("{name}/{}", claim.name), ..claim };
        all.claims.extend(report.claims.into_iter().map(renamed));
        self.figures.extend(report.figures.into_iter().map(|figure| (name.to_owned(), figure)));
        let prefixed = |warning: Warning| Warning { text: format!("{name}: {}", warning.text), ..warning };
        all.warnings.extend(report.warnings.into_iter().map(prefixed));
        Ok(())
    }

    /// The report of all claims, written into the common directory.
    fn finish(self, options: &Options) -> Result<Report, Trouble> {
        let mut all = self.report;
        let list = serde_json::Value::from(self.scenarios);
        all.scenario_hash = towtank_scenario::hash_of_bytes(list.to_string().as_bytes());
        all.scenario = json!({ "scenarios": list });
        let mut finding = summary(&all.claims);
        if all.partial {
            let (complete, wanted) = (self.complete, self.wanted);
            finding = format!("Stopped with {complete} of {wanted} scenarios complete. {finding}");
        }
        all.answer = Answer::of(finding);
        let bound = papers::bind(&all.claims, &self.figures);
        let tally = papers::tally(&bound);
        all.main_figure = tally.as_ref().map(|figure| figure.id.clone());
        all.figures = tally.into_iter().chain(bound.figures).collect();
        all.tables.extend(bound.tables);
        (all.chapters, all.claims) = (bound.chapters, bound.claims);
        all.warnings = Warning::by_severity(all.warnings);
        let all = laws::hold(all)?;
        if let Some(dir) = &options.out {
            files::write_report(&all, dir, &[])?;
        }
        Ok(all)
    }
}

/// The number of claims that hold, miss, cannot be decided and were fitted. Those of a scenario that was
/// stopped come first.
fn summary(claims: &[Claim]) -> String {
    let count = |verdict| claims.iter().filter(|claim| claim.verdict == verdict).count();
    let (open, holds, all) = (count(Verdict::NotJudged), count(Verdict::Holds), claims.len());
    let mut words = match open {
        0 => format!("{holds} of {all} claims hold"),
        _ if open == all => format!("{open} of {all} claims are not judged, since runs are missing"),
        _ => format!(
            "{open} of {all} claims are not judged, since runs are missing; of the other {}, {holds} hold",
            all - open
        ),
    };
    let (misses, undecided, fitted) =
        (count(Verdict::Misses), count(Verdict::CannotTell), count(Verdict::Fitted));
    if misses > 0 {
        words.push_str(&format!(", {misses} miss"));
    }
    if undecided > 0 {
        words.push_str(&format!(", {undecided} cannot tell"));
    }
    if fitted > 0 {
        let holding = claims.iter().filter(|claim| claim.would_be == Some(Verdict::Holds)).count();
        words.push_str(&format!("; {fitted} were fitted and prove nothing ({holding} would hold)"));
    }
    words + "."
}

#[cfg(test)]
mod tests {
    use towtank_report::{ClaimDraft, Kind, Reading, Tolerance};

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
        let open = claim(2.0, 3.0, false).not_judged();
        let with = |more: &[Claim]| summary(&[more, &[open.clone(), open.clone()]].concat());
        assert_eq!(with(&[]), "2 of 2 claims are not judged, since runs are missing.");
        assert_eq!(
            with(&claims[..2]),
            "2 of 4 claims are not judged, since runs are missing; of the other 2, 1 hold, 1 miss."
        );
    }

    /// A former fault: claims of a scenario that was stopped missed by the part that was done.
    #[test]
    fn a_reproduction_that_was_stopped_says_so_first() {
        let mut all = Gathered::new(&Options::default(), true);
        all.wanted = 3;
        let claim = sample::claim("rate", "a paper");
        let report = |claim: Claim, partial| Report { claims: vec![claim], partial, ..Report::default() };
        all.take("whole", report(claim.clone(), false)).expect("nothing is announced");
        all.take("part", report(claim.not_judged(), true)).expect("nothing is announced");
        let report = all.finish(&Options::default()).expect("it keeps the laws");
        assert_eq!(
            report.answer.finding,
            "Stopped with 1 of 3 scenarios complete. 1 of 2 claims are not judged, since runs are missing; of the other 1, 1 \
             hold."
        );
        let tally =
            report.figures.iter().find(|figure| figure.id == "claims-by-source").expect("it is there");
        let Kind::Bar { series, .. } = &tally.kind else { panic!("no bars") };
        assert!(series.iter().any(|series| series.name == "not judged"), "{series:?}");
    }

    /// A former fault: warnings were in the order of the scenarios.
    #[test]
    fn the_worst_warning_of_all_scenarios_comes_first() {
        let mut all = Gathered::new(&Options::default(), false);
        let warned = |warnings| Report { warnings, ..Report::default() };
        let first = vec![Warning::note("few replicates")];
        all.take("a scenario", warned(first)).expect("it announced nothing");
        let second = vec![Warning::danger("data are lost"), Warning::unknown("a cost is not known")];
        all.take("another", warned(second)).expect("it announced nothing");
        let report = all.finish(&Options::default()).expect("it keeps the laws");
        assert_eq!(
            Warning::texts(report.warnings),
            ["another: data are lost", "another: a cost is not known", "a scenario: few replicates"]
        );
    }
}
