//! `towtank capacity`: the capacity of a system for any mix, from pure reads and pure writes. Parses, calls
//! `capacity`, reads and writes files, and starts fio where that is asked for.

mod files;
mod flags;
mod measure;

use std::path::PathBuf;

use serde_json::{Value, json};
use towtank::{Trouble, gates, laws};
use towtank_capacity::present::{self, About, Answered};
use towtank_capacity::{Asked, Beyond, Mix, Model};
use towtank_metrics::Domain;
use towtank_report::Report;
use towtank_scenario::gate::{Gate, Known};
use towtank_scenario::{Place, Problem, Problems, Source, hash_of_bytes};

use crate::exit::Exit;
use crate::output_flags::{OutputFlags, ReportFlags};
use crate::{output, screen};
use files::{Measurements, read_model, write_model};
use flags::{Check, Command, Estimate, Fit};

pub use flags::Flags;

/// Runs the command of the flags.
pub fn run(flags: &Flags) -> Result<Exit, Trouble> {
    match &flags.command {
        Command::Measure(measure) => measure::measure(measure),
        Command::Fit(fit) => self::fit(fit),
        Command::Estimate(estimate) => self::estimate(estimate),
        Command::Check(check) => self::check(check),
    }
}

fn fit(flags: &Fit) -> Result<Exit, Trouble> {
    let found = Measurements::read(&flags.files, flags.chosen.system.as_deref())?;
    let model = towtank_capacity::fit(&found.runs).map_err(|error| found.of_fit(&error))?;
    let report = fitted(&model, found.notes.clone(), found.runs.len(), flags.judged.within)?;
    let to_stdout = flags.model.as_deref().is_some_and(|path| path.as_os_str() == "-");
    if let Some(path) = flags.model.as_deref().filter(|_| !to_stdout) {
        write_model(path, &model, &flags.files)?;
    }
    if to_stdout {
        write_files(&report, &flags.report, &flags.files)?;
        let printed = screen::print(&model.to_json());
        printed.map_err(|error| Trouble::failed(format!("cannot write to stdout: {error}")))?;
        output::say_where(&flags.output, flags.report.out.as_deref());
        return Ok(Exit::Done);
    }
    let shown = Shown { report: &flags.report, output: &flags.output, inputs: &flags.files };
    if flags.model.is_none() && !flags.output.quiet {
        screen::say("note: the model is not kept; -o MODEL writes it\n");
    }
    shown.show(&report)?;
    Ok(Exit::Done)
}

fn fitted(model: &Model, notes: Vec<String>, runs: usize, within: f64) -> Result<Report, Trouble> {
    let checks = towtank_capacity::check(model, &model.groups(), true, Beyond::Extrapolate, within).map_err(
        |error| {
            let hint = error.hint();
            Problem::new(error.to_string()).hint(hint)
        },
    )?;
    let question = json!({ "runs": runs, "within_percent": within });
    asked(present::fitted(model, &checks, notes), model, question)
}

fn estimate(flags: &Estimate) -> Result<Exit, Trouble> {
    let mut problems = Problems::new();
    let mix = mix(&flags.mix).map_err(|problem| problems.push(problem)).ok();
    let gates = gates_of(&present::ESTIMATE_MEASURES, &flags.fail_if, &mut problems);
    let model = read_model(&flags.model).map_err(|problem| problems.push(problem)).ok();
    let (Some(mix), Some(model)) = (&mix, &model) else { return Err(problems.into()) };
    problems.into_result(())?;
    let beyond = if flags.extrapolate { Beyond::Extrapolate } else { Beyond::Refuse };
    let question = Asked { mix, shares: flags.shares, beyond, curved: flags.curved };
    let answered = towtank_capacity::estimate(model, &question).and_then(|found| {
        let answered =
            Answered { model, asked: question, estimate: &found, plan: flags.plan, curve: flags.curve };
        present::estimated(&answered)
    });
    let report = answered.map_err(|error| {
        let at = Place::whole(&Source::flag("--mix", format!("--mix {}", flags.mix)));
        Problem::new(error.to_string()).hint(error.hint()).at(at)
    })?;
    let question = json!({
        "mix": mix.to_string(),
        "shares": flags.shares.name(),
        "curved": flags.curved,
        "extrapolate": flags.extrapolate,
    });
    let report = asked(report, model, question)?;
    let shown =
        Shown { report: &flags.report, output: &flags.output, inputs: std::slice::from_ref(&flags.model) };
    shown.show(&report)?;
    Ok(output::gates(&gates::judge(&gates, &report)))
}

fn check(flags: &Check) -> Result<Exit, Trouble> {
    let mut problems = Problems::new();
    let gates = gates_of(&present::CHECK_MEASURES, &flags.fail_if, &mut problems);
    problems.into_result(())?;
    let model = read_model(&flags.model)?;
    let found = Measurements::read(&flags.against, flags.chosen.system.as_deref())?;
    let own = flags.against.is_empty();
    let groups = if own { model.groups() } else { towtank_capacity::groups(&found.runs) };
    let beyond = if flags.extrapolate { Beyond::Extrapolate } else { Beyond::Refuse };
    let checks = towtank_capacity::check(&model, &groups, own, beyond, flags.judged.within)
        .map_err(|error| Problem::new(error.to_string()).hint(error.hint()))?;
    if own && checks.whole.is_none() {
        let problem =
            Problem::new("the model was made of pure loads alone, so there is nothing to hold it against");
        return Err(problem.hint("measure mixes, and name their results with --against").into());
    }
    let question = json!({ "points": groups.len(), "own": own, "within_percent": flags.judged.within });
    let report = asked(present::checked(&model, &checks, found.notes.clone()), &model, question)?;
    let inputs: Vec<PathBuf> = flags.against.iter().chain([&flags.model]).cloned().collect();
    Shown { report: &flags.report, output: &flags.output, inputs: &inputs }.show(&report)?;
    Ok(output::gates(&gates::judge(&gates, &report)))
}

fn mix(text: &str) -> Result<Mix, Problem> {
    Mix::parse(text).map_err(|error| {
        let source = Source::flag("--mix", format!("--mix {text}"));
        let shift = "--mix ".len();
        let at = Place::new(&source, error.span.start + shift..error.span.end + shift);
        Problem::new(error.reason).hint(error.hint).at(at)
    })
}

fn gates_of(measures: &[About], texts: &[String], problems: &mut Problems) -> Vec<Gate> {
    // What a plan leaves is negative where the plan does not fit.
    let of = |(name, unit, _): &About| match *name {
        "headroom" => Known { domain: Domain::Any, ..Known::new(name, unit) },
        _ => Known::new(name, unit),
    };
    let known: Vec<Known<'_>> = measures.iter().map(of).collect();
    let (gates, found) = gates::read(&known, texts);
    problems.extend(found);
    gates
}

/// A report with its question; the same model and question give the same bytes.
fn asked(report: Report, model: &Model, question: Value) -> Result<Report, Trouble> {
    let model_hash = hash_of_bytes(model.to_json().as_bytes());
    let scenario = json!({ "model": model_hash, "system": model.system, "question": question });
    laws::hold(Report { scenario_hash: hash_of_bytes(scenario.to_string().as_bytes()), scenario, ..report })
}

/// The destination of a report.
struct Shown<'a> {
    report: &'a ReportFlags,
    output: &'a OutputFlags,
    /// Files that must not be overwritten.
    inputs: &'a [PathBuf],
}

impl Shown<'_> {
    fn show(&self, report: &Report) -> Result<(), Trouble> {
        write_files(report, self.report, self.inputs)?;
        output::print(report, self.output, self.report.out.as_deref())
    }
}

fn write_files(report: &Report, flags: &ReportFlags, inputs: &[PathBuf]) -> Result<(), Trouble> {
    match &flags.out {
        Some(dir) => towtank::write_report(report, dir, inputs),
        None => Ok(()),
    }
}
