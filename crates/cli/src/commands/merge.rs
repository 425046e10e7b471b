//! `towtank merge DIR…`: joins what the shards of one campaign left.

use std::path::{Path, PathBuf};

use towtank_campaign::{Inputs, Store, Takeover, Writer, merge as join};
use towtank_kernel::Executor;
use towtank_scenario::Problem;

use super::gates;
use crate::args::{MachineFlags, Merge};
use crate::exit::{Exit, Trouble};
use crate::{output, screen, street};

/// Joins the parts, and reports what there is.
pub fn merge(merge: &Merge) -> Result<Exit, Trouble> {
    if let Some(out) = &merge.keep.out {
        refuse_part(out, &merge.parts)?;
    }
    let merged = join(&merge.parts).map_err(trouble_of)?;
    let header = merged.plan().header();
    let study = towtank_studies::named(&header.study).ok_or_else(|| {
        Trouble::input(format!(
            "the parts are of the study `{}`, which this version does not have",
            header.study
        ))
    })?;
    if study.results_version() != header.results_version {
        return Err(Trouble::input(format!(
            "the parts have results version {} of `{}`, and this version of towtank makes {}; merge with the version that ran them",
            header.results_version,
            header.study,
            study.results_version()
        )));
    }
    let (gates, problems) = gates::read(study, &merge.fail_if);
    problems.into_result(())?;
    for damaged in &merged.damaged {
        screen::say(&format!("note: {damaged}\n"));
    }
    if !merged.double.is_empty() && !merge.output.quiet {
        screen::say("note: these runs are in more than one part, with equal results:\n");
        for line in merged.double_in_words() {
            screen::say(&format!("double: {line}\n"));
        }
    }
    let missing = merged.missing_in_words();
    for line in &missing {
        screen::say(&format!("missing: {line}\n"));
    }
    let machine = MachineFlags {
        jobs: None,
        executor: Executor::Sequential,
        workers: None,
        force: merge.force,
        allow_memory: false,
    };
    let store = match &merge.keep.out {
        Some(dir) => {
            let takeover = if merge.force { Takeover::Force } else { Takeover::Refuse };
            let store = Store::open(dir, merged.plan(), takeover, Writer::new(Inputs::default()))
                .map_err(street::trouble_of)?;
            street::may_report(&store)?;
            merged.store(&store).map_err(street::trouble_of)?;
            Some(store)
        }
        None => None,
    };
    let Some(report) = street::report(study, merged.plan(), merged.ledger(), &machine)? else {
        return Err(Trouble::input("the parts hold no finished run; run them first"));
    };
    if let (Some(store), Some(dir)) = (&store, &merge.keep.out) {
        output::write_into(&report, store).map_err(street::trouble_of)?;
        output::say_where(&merge.output, dir);
    }
    output::print(&report, merge.output.format)?;
    if missing.is_empty() {
        return Ok(gates::judge(&gates, &report));
    }
    if !gates.is_empty() {
        screen::say("not judged: a gate is about the whole, and runs are missing\n");
    }
    Ok(Exit::Failed)
}

/// The whole written over one of its parts would claim that this machine ran it all.
fn refuse_part(out: &Path, parts: &[PathBuf]) -> Result<(), Problem> {
    let Ok(target) = out.canonicalize() else { return Ok(()) };
    if parts.iter().any(|part| part.canonicalize().is_ok_and(|part| part == target)) {
        return Err(Problem::new(format!("`{}` is one of the parts, which are only read", out.display()))
            .hint("name another directory with --out"));
    }
    Ok(())
}

fn trouble_of(error: towtank_campaign::MergeError) -> Trouble {
    match error {
        towtank_campaign::MergeError::Store(error) => street::trouble_of(error),
        error @ towtank_campaign::MergeError::Conflict { .. } => Trouble::failed(error),
        error => Trouble::input(error),
    }
}
