//! Joins the shards of one campaign.

use std::path::{Path, PathBuf};

use towtank_campaign::{Inputs, MergeError, Store, Writer, merge as join};
use towtank_kernel::Executor;
use towtank_report::Report;
use towtank_scenario::{Problem, Problems};
use towtank_study::Study;

use crate::{Observer, Options, Registry, Remark, Trouble, Unmet, files, gates, run};

/// The result of joining shards.
#[derive(Clone, Debug)]
pub struct Merged {
    /// The report of all available runs.
    pub report: Report,
    /// Whether no run is missing. Otherwise no gate is judged, since gates apply to the whole.
    pub complete: bool,
    /// The gates that are not met.
    pub unmet: Vec<Unmet>,
}

/// Joins the campaign directories `parts`, judges the whole by the gates `fail_if`, and writes it to the
/// options' `out`, if given. Of the other options only `force` is used.
///
/// # Errors
/// When the parts are not of one campaign, are of another version, disagree, are empty or cannot be read,
/// when a gate is invalid, or the whole cannot be written.
pub fn merge(
    registry: &Registry,
    parts: &[PathBuf],
    fail_if: &[String],
    options: &Options,
    observer: &dyn Observer,
) -> Result<Merged, Trouble> {
    if let Some(out) = &options.out {
        refuse_part(out, parts)?;
    }
    let merged = join(parts).map_err(trouble_of)?;
    let study = study_of(registry, &merged)?;
    let (gates, problems): (_, Problems) =
        gates::of_study(study, merged.plan().points().iter().map(|point| &point.scenario), fail_if);
    problems.into_result(())?;
    let complete = tell(&merged, observer);
    let store = match &options.out {
        Some(dir) => {
            let store = Store::open(dir, merged.plan(), options.takeover(), Writer::new(Inputs::default()))?;
            files::may_report(&store)?;
            merged.store(&store)?;
            Some(store)
        }
        None => None,
    };
    // Parts may have been run on different executors; the results are the same.
    let report = run::report(study, merged.plan(), merged.ledger(), Executor::Sequential)?;
    let (report, _) =
        report.ok_or_else(|| Trouble::input("the parts contain no finished run; run them first"))?;
    if let Some(store) = &store {
        files::write_into(&report, store)?;
    }
    let unmet = if complete { gates::judge(&gates, &report) } else { Vec::new() };
    Ok(Merged { report, complete, unmet })
}

/// The study of the parts, if the registry has it in the same version.
fn study_of(registry: &Registry, merged: &towtank_campaign::Merged) -> Result<&'static dyn Study, Trouble> {
    let header = merged.plan().header();
    let study = registry.named(&header.study).ok_or_else(|| {
        Trouble::input(format!(
            "the parts are of the study `{}`, which this version does not have",
            header.study
        ))
    })?;
    if study.results_version() != header.results_version {
        return Err(Trouble::input(format!(
            "the parts have results version {} of `{}`, but this version of towtank has {}; merge with the version that ran them",
            header.results_version,
            header.study,
            study.results_version()
        )));
    }
    Ok(study)
}

/// Reports damaged, duplicate and missing runs; returns whether none is missing.
fn tell(merged: &towtank_campaign::Merged, observer: &dyn Observer) -> bool {
    for damaged in &merged.damaged {
        observer.remark(&Remark::Unusable(damaged));
    }
    if !merged.double.is_empty() {
        observer.remark(&Remark::Double(&merged.double_in_words()));
    }
    let missing = merged.missing_in_words();
    if !missing.is_empty() {
        observer.remark(&Remark::Missing(&missing));
    }
    missing.is_empty()
}

/// Refuses to write the whole over one of its parts, which would claim that this machine ran it all.
fn refuse_part(out: &Path, parts: &[PathBuf]) -> Result<(), Problem> {
    let Ok(target) = out.canonicalize() else { return Ok(()) };
    if parts.iter().any(|part| part.canonicalize().is_ok_and(|part| part == target)) {
        return Err(Problem::new(format!(
            "`{}` is one of the parts, which must not be changed",
            out.display()
        ))
        .hint("name another directory with --out"));
    }
    Ok(())
}

fn trouble_of(error: MergeError) -> Trouble {
    match error {
        MergeError::Store(error) => error.into(),
        error @ MergeError::Conflict { .. } => Trouble::failed(error),
        error => Trouble::input(error),
    }
}
