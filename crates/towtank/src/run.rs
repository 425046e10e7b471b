//! Runs a checked scenario: makes a campaign of it, and a report of the campaign's outcomes.
//!
//! All decisions are made in the crates below; this module only connects them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use towtank_campaign::{
    Assembled, End, Failure, Ledger, Order, Plan, PointKey, PointOutcomes, Ran, Shard, Stop, Store, Writer,
};
use towtank_kernel::Executor;
use towtank_report::{Claim, Interval, Outcome, Report, Standing, Status, Warning};
use towtank_scenario::Problem;
use towtank_streams::Seed;
use towtank_study::{MeasureSpec, PointResult, RunContext, StopAsked, Study, StudyError};

use crate::machine::{Machine, Threads};
use crate::need::Need;
use crate::{Observer, Options, Remark, Scenario, Trouble, Unmet, Which, files, gates, laws, overflow};

/// The result of running a scenario.
#[derive(Clone, Debug)]
pub struct Run {
    /// The report; `None` for a shard, and where the run was stopped before any replicate was finished.
    pub report: Option<Report>,
    /// Whether it was stopped.
    pub interrupted: bool,
    /// How much was done.
    pub done: Done,
    /// The gates that are not met; they are judged only where the run was not stopped.
    pub unmet: Vec<Unmet>,
}

/// The finished part of a campaign, of one shard, or of several campaigns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Number of finished runs.
    pub runs: usize,
    /// Number of runs of the campaign or shard.
    pub of: usize,
}

/// Runs a scenario, and writes its report into the options' directory, if given.
///
/// # Errors
/// When it does not fit into this machine, a run fails, or a file cannot be read or written.
pub fn run(scenario: &Scenario, options: &Options, observer: &dyn Observer) -> Result<Run, Trouble> {
    Ok(run_and_keep(scenario, options, observer)?.0)
}

/// The same, with the outcomes of its points, in the order of the report.
pub(crate) fn run_and_keep(
    scenario: &Scenario,
    options: &Options,
    observer: &dyn Observer,
) -> Result<(Run, Vec<PointOutcomes>), Trouble> {
    gates::refuse_for_part(options.shard, scenario.fail_if.first().map(String::as_str))?;
    if !options.shard.is_whole() && options.out.is_none() {
        let message =
            format!("no directory is given for part {}, so its results would be lost", options.shard);
        return Err(Problem::new(message).hint("name one with --out").into());
    }
    let plan = scenario.plan()?;
    let machine = Machine::here();
    let need = Need::of(scenario, &plan);
    let threads = machine.threads(options, need.as_ref().map(|need| need.each))?;
    machine.refuse_memory(options, threads, need.as_ref())?;
    let open = |dir| Store::open(dir, &plan, options.takeover(), Writer::new(scenario.inputs.clone()));
    let store = options.out.as_deref().map(open).transpose()?;
    store.as_ref().map(files::may_report).transpose()?;
    let walk = Walk::new(scenario, &plan, options, threads, observer);
    observer.begins();
    let ran = walk.go(store.as_ref(), observer.stop());
    observer.ends();
    walk.remarks(&ran);
    let interrupted = match ran.end {
        End::Failed(failures) => return Err(walk.failed(&failures)),
        End::Interrupted => true,
        End::Done => false,
    };
    let done = count_done(&plan, &ran.ledger, options.shard);
    let made = report(scenario.study(), &plan, ran.ledger, options.executor)?;
    // A shard has no report of its own: `merge` makes the report of all runs.
    let (report, points) = made.filter(|_| options.shard.is_whole()).unzip();
    if let (Some(report), Some(store)) = (&report, &store) {
        files::write_into(report, store)?;
    }
    let judged =
        report.as_ref().filter(|_| !interrupted).map(|report| gates::judge(scenario.gates(), report));
    let run = Run { report, interrupted, done, unmet: judged.unwrap_or_default() };
    Ok((run, points.unwrap_or_default()))
}

fn count_done(plan: &Plan, ledger: &Ledger, shard: Shard) -> Done {
    let ours = || plan.tasks().enumerate().filter(|(index, _)| shard.holds(*index));
    Done { runs: ours().filter(|(_, task)| ledger.is_finished(*task)).count(), of: ours().count() }
}

/// The report of the available runs, with their outcomes; `None` if there are none. A report that breaks a
/// law is an error.
pub(crate) fn report(
    study: &dyn Study,
    plan: &Plan,
    ledger: Ledger,
    executor: Executor,
) -> Result<Option<(Report, Vec<PointOutcomes>)>, Trouble> {
    let about = gates::measures(study, plan.points().iter().map(|point| &point.scenario));
    let interval = |name: &str| {
        about
            .iter()
            .find(|measure| measure.name == name)
            .map_or_else(Interval::default, |found| found.interval)
    };
    let Assembled { mut report, points } =
        towtank_campaign::assemble_by(plan, ledger, executor.name(), &interval);
    let results: Vec<PointResult<'_>> = plan
        .points()
        .iter()
        .zip(&points)
        .filter(|(_, found)| !found.outcomes.is_empty())
        .map(|(spec, found)| PointResult {
            settings: &spec.settings,
            scenario: &spec.scenario,
            outcomes: &found.outcomes,
        })
        .collect();
    if results.is_empty() {
        return Ok(None);
    }
    if let Some(what) = study.unreadable(&results) {
        let problem = Problem::new(format!("a stored point cannot be read: {what}"));
        let hint = "another version of the program wrote it: run the scenario again into a new directory";
        return Err(Trouble::Failed(problem.hint(hint)));
    }
    let shown = study.present(&results);
    report.answer = shown.answer;
    if report.partial && !report.answer.finding.is_empty() {
        report.answer.finding = format!("Not finished: {}", report.answer.finding);
    }
    let any_done = results.iter().any(|point| point.outcomes.iter().any(|outcome| !outcome.partial));
    let done = if report.partial { Some(any_done) } else { None };
    report.answer.verdict = report.answer.verdict.take().map(|verdict| of_part(verdict, done));
    report.headline = shown.headline;
    report.main_figure = shown.main_figure;
    report.tables = shown.tables;
    report.figures = shown.figures;
    // A claim, as a gate, is about the whole.
    let open = report.partial;
    let judged = |claim: Claim| if open { claim.not_judged() } else { claim };
    report.claims = shown.claims.into_iter().map(judged).collect();
    report.warnings.extend(shown.warnings);
    report.warnings = Warning::by_severity(report.warnings);
    let summaries =
        || std::iter::once(&report.summary).chain(report.points.iter().map(|point| &point.summary));
    let shown: Vec<&MeasureSpec> =
        about.iter().filter(|measure| summaries().any(|all| all.contains_key(measure.name))).collect();
    report.titles = shown.iter().map(|each| (each.name.to_owned(), each.title.to_owned())).collect();
    report.glossary = shown.iter().map(|each| (each.name.to_owned(), each.about.to_owned())).collect();
    drop(results);
    laws::hold(report).map(|report| Some((report, points)))
}

/// The verdict of a report of which runs are missing, with whether any is done. What is safe in those that
/// are done may not be so in the others, and where none is done nothing is known.
fn of_part(verdict: Standing, any_done: Option<bool>) -> Standing {
    match (any_done, verdict.status()) {
        (Some(false), _) => Standing::new(Status::Unknown, "no run was finished"),
        (Some(true), Status::Safe) => Standing::new(
            Status::Unknown,
            format!("runs are missing; in those that are done, {}", verdict.reason()),
        ),
        _ => verdict,
    }
}

/// A campaign in progress.
pub(crate) struct Walk<'a> {
    scenario: &'a Scenario,
    plan: &'a Plan,
    options: &'a Options,
    threads: Threads,
    observer: &'a dyn Observer,
    /// Kinds of notices that were already reported: every replicate has the same.
    reported: Mutex<BTreeSet<String>>,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(
        scenario: &'a Scenario,
        plan: &'a Plan,
        options: &'a Options,
        threads: Threads,
        observer: &'a dyn Observer,
    ) -> Walk<'a> {
        Walk { scenario, plan, options, threads, observer, reported: Mutex::default() }
    }

    fn go(&self, store: Option<&Store>, stop: &Stop) -> Ran<StudyError> {
        let progress = |progress| self.observer.campaign(progress);
        let order = Order {
            plan: self.plan,
            shard: self.options.shard,
            jobs: self.threads.jobs,
            store,
            stop,
            progress: &progress,
        };
        let position: BTreeMap<&PointKey, usize> =
            self.plan.points().iter().enumerate().map(|(index, point)| (&point.key, index)).collect();
        towtank_campaign::run(&order, &|point, replicate, stop| {
            self.one(position[&point.key], replicate, stop)
        })
    }

    pub(crate) fn one(&self, point: usize, replicate: u32, stop: &Stop) -> Result<Outcome, StudyError> {
        let which = Which { point, replicate };
        let context = RunContext {
            seed: Seed(self.scenario.header().seed).replicate(replicate),
            replicate,
            executor: self.options.executor,
            workers: self.threads.workers.get(),
            stop: StopAsked::by(stop.flag()),
            progress: &|progress| self.observer.run(which, progress),
            notice: &|text| self.notice(text),
        };
        let outcome = self.scenario.points()[point].prepared.run(&context);
        self.observer.ended(which, outcome.as_ref().map_or(0, |outcome| outcome.events));
        outcome
    }

    fn notice(&self, text: &str) {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.insert(kind_of(text)) {
            self.observer.remark(&Remark::Notice(text));
        }
    }

    /// Reports the state of the stored runs.
    fn remarks(&self, ran: &Ran<StudyError>) {
        for damaged in &ran.damaged {
            self.observer.remark(&Remark::Redone(damaged));
        }
        if let (Some(out), true) = (&self.options.out, ran.reused > 0) {
            self.observer.remark(&Remark::Kept { runs: ran.reused, out });
        }
    }

    /// The first failure, with the line that replays it.
    pub(crate) fn failed(&self, failures: &[Failure<StudyError>]) -> Trouble {
        let Some(first) = failures.first() else { return Trouble::failed("a run failed without a message") };
        let more = match failures.len() {
            1 => String::new(),
            2 => " (1 more run failed)".to_owned(),
            count => format!(" ({} more runs failed)", count - 1),
        };
        if let Failure::Study { task, place, error } = first
            && let Some(problem) = overflow::problem(error, place, &self.plan.points()[task.point].scenario)
        {
            return problem.into();
        }
        let hint = match first {
            // The run itself succeeded: replaying it would show nothing.
            Failure::Store { place, source, .. } => {
                return Trouble::failed(format!("{place} is done but not stored{more}: {source}"));
            }
            Failure::Study { error: StudyError::Model { hint: Some(hint), .. }, .. } => format!("{hint}\n"),
            _ => String::new(),
        };
        let (hash, seed) = (self.scenario.resolved().hash(), self.scenario.header().seed);
        let version = env!("CARGO_PKG_VERSION");
        Trouble::Failed(Problem::new(format!("{first}{more}")).hint(format!(
            "{hint}replay: towtank {version}, study {}, scenario {hash}, seed {seed}",
            self.scenario.study().name()
        )))
    }
}

/// The kind of a notice: its text without counts, which differ between replicates.
fn kind_of(notice: &str) -> String {
    notice.chars().filter(|c| !c.is_ascii_digit()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A former bug: every replicate of an inefficient run printed its own line.
    #[test]
    fn a_notice_with_other_counts_is_the_same_notice() {
        let notice = |committed, rolled_back| {
            let waste = towtank_kernel::Waste::Undone { committed, rolled_back };
            kind_of(&towtank_kernel::Notice::DoesNotPay(waste).to_string())
        };
        assert_eq!(notice(1_803, 18_510), notice(174, 22_174));
        assert_ne!(notice(1, 2), kind_of(&towtank_kernel::Notice::RestartedWithClones.to_string()));
    }
}
