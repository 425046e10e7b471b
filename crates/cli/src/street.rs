//! The street, walked: a checked scenario becomes a campaign, its outcomes a report.
//!
//! Everything that decides lies in the crates below; here they are only put one after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use towtank_campaign::{
    Assembled, End, Failure, Inputs, KeyParts, Ledger, Order, Plan, PointKey, PointSpec, Ran, Shard, Stop,
    Store, StoreError, Takeover, WriteError, Writer,
};
use towtank_report::{Outcome, Report, SweepAxis};
use towtank_scenario::{Input, Problem};
use towtank_streams::Seed;
use towtank_studies::{CheckedScenario, PointResult, RunContext, Study, StudyError};

use crate::args::{self, MachineFlags, OutputFlags};
use crate::exit::Trouble;
use crate::interrupt;
use crate::laws;
use crate::machine::{Machine, Need, Threads};
use crate::overflow;
use crate::progress::Bar;

/// How to run a scenario.
pub struct Job<'a> {
    pub machine: &'a MachineFlags,
    pub output: &'a OutputFlags,
    /// Where finished runs are kept.
    pub out: Option<&'a Path>,
    /// Which part of it.
    pub shard: Shard,
    /// Files that must not be overwritten.
    pub inputs: Inputs,
}

/// What came of it.
pub struct Finished {
    /// What there is to report; `None` when nothing was done.
    pub report: Option<Report>,
    /// Where to write it.
    pub store: Option<Store>,
    /// Somebody stopped it.
    pub interrupted: bool,
    /// Runs that are done, and all there are in this part.
    pub done: (usize, usize),
}

/// The plan of a scenario.
pub fn plan(scenario: &CheckedScenario) -> Result<Plan, Trouble> {
    let (study, header, resolved) = (scenario.study(), scenario.header(), scenario.resolved());
    let axes = resolved.axes().iter();
    let axes = axes.map(|axis| SweepAxis { key: axis.key.clone(), values: axis.values.clone() }).collect();
    let points = resolved.points().iter().zip(scenario.points()).map(|(resolved, checked)| PointSpec {
        settings: resolved.settings.clone(),
        scenario: resolved.scenario.clone(),
        key: PointKey::new(&KeyParts {
            study: study.name(),
            scenario_hash: &resolved.hash,
            input_hashes: &checked.inputs.iter().map(|input| input.hash.clone()).collect::<Vec<_>>(),
            seed: header.seed,
            results_version: study.results_version(),
        }),
    });
    let head = towtank_campaign::Header {
        study: study.name().to_owned(),
        title: title(scenario),
        results_version: study.results_version(),
        seed: header.seed,
        scenario: resolved.scenario().clone(),
        scenario_hash: resolved.hash().to_owned(),
    };
    Plan::new(head, header.replicates, axes, points.collect()).map_err(Trouble::input)
}

/// The heading of the report: the user's own words, or those of the study, which are no sentence by themselves.
fn title(scenario: &CheckedScenario) -> String {
    let title = scenario.title();
    if title == scenario.study().title() { args::capitalised(title) } else { title.to_owned() }
}

/// The files that a scenario reads, itself among them.
pub fn inputs(file: Option<&Path>, folder: &Path, scenario: &CheckedScenario) -> Inputs {
    let named = scenario.points().iter().flat_map(|point| &point.inputs);
    let named = named.map(|Input { path, .. }| folder.join(path)).collect::<BTreeSet<PathBuf>>();
    Inputs::new(file.map(Path::to_owned).into_iter().chain(named))
}

/// Runs a scenario.
pub fn run(scenario: &CheckedScenario, job: Job<'_>) -> Result<Finished, Trouble> {
    let plan = plan(scenario)?;
    let machine = Machine::here();
    let need = need(scenario, &plan);
    let threads = machine.threads(job.machine, need.as_ref().map(|need| need.each))?;
    machine.refuse_memory(job.machine, threads, need.as_ref())?;
    let takeover = if job.machine.force { Takeover::Force } else { Takeover::Refuse };
    let writer = Writer::new(job.inputs.clone());
    let store =
        job.out.map(|dir| Store::open(dir, &plan, takeover, writer)).transpose().map_err(trouble_of)?;
    store.as_ref().map(may_report).transpose()?;
    let bar = Bar::new(job.output.quiet);
    let walk = Walk { scenario, plan: &plan, job: &job, threads, bar: &bar, told: Mutex::default() };
    let ran = walk.go(store.as_ref(), interrupt::watch());
    bar.clear();
    walk.remarks(&ran);
    let interrupted = match ran.end {
        End::Failed(failures) => return Err(walk.failed(&failures)),
        End::Interrupted => true,
        End::Done => false,
    };
    let finished = count_done(&plan, &ran.ledger, job.shard);
    let report = report(scenario.study(), &plan, ran.ledger, job.machine)?;
    Ok(Finished { report, store, interrupted, done: finished })
}

/// What the hungriest point takes.
fn need<'a>(scenario: &CheckedScenario, plan: &Plan) -> Option<Need<'a>> {
    let estimates = scenario.points().iter().zip(plan.points());
    let estimates = estimates.enumerate().filter_map(|(index, (point, spec))| {
        Some((point.prepared.memory_estimate()?, std::cmp::Reverse(index), spec.label()))
    });
    let (each, std::cmp::Reverse(index), label) = estimates.max()?;
    let place = if label.is_empty() { label } else { format!("point {} ({label})", index + 1) };
    Some(Need { each, place, keys: scenario.study().memory_keys() })
}

/// Told before the runs and not after them: a report that may not be written because an input lies in its place. The names of a
/// study's own tables are known when they are; writing them checks again.
pub fn may_report(store: &Store) -> Result<(), Trouble> {
    let names = ["report.json", "report.html", "summary.csv", "points.csv", "claims.csv"];
    names.iter().try_for_each(|name| store.may_write(name)).map_err(trouble_of)
}

fn count_done(plan: &Plan, ledger: &Ledger, shard: Shard) -> (usize, usize) {
    let ours = || plan.tasks().enumerate().filter(|(index, _)| shard.holds(*index));
    (ours().filter(|(_, task)| ledger.is_finished(*task)).count(), ours().count())
}

/// The report of what there is; `None` when there is nothing. One that breaks a law of reports is an error.
pub fn report(
    study: &dyn Study,
    plan: &Plan,
    ledger: Ledger,
    machine: &MachineFlags,
) -> Result<Option<Report>, Trouble> {
    let Assembled { mut report, points } = towtank_campaign::assemble(plan, ledger, machine.executor.name());
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
    let shown = study.present(&results);
    report.answer = shown.answer;
    report.tables = shown.tables;
    report.figures = shown.figures;
    report.claims = shown.claims;
    report.warnings.extend(shown.warnings);
    let summaries =
        || std::iter::once(&report.summary).chain(report.points.iter().map(|point| &point.summary));
    let about =
        study.measures().iter().filter(|measure| summaries().any(|all| all.contains_key(measure.name)));
    report.glossary = about.map(|measure| (measure.name.to_owned(), measure.about.to_owned())).collect();
    laws::hold(report).map(Some)
}

/// One campaign under way.
struct Walk<'a> {
    scenario: &'a CheckedScenario,
    plan: &'a Plan,
    job: &'a Job<'a>,
    threads: Threads,
    bar: &'a Bar,
    /// Kinds of notices that were shown already: every replicate has the same.
    told: Mutex<BTreeSet<String>>,
}

impl Walk<'_> {
    fn go(&self, store: Option<&Store>, stop: &Stop) -> Ran<StudyError> {
        let progress = |progress| self.bar.campaign(progress);
        let order = Order {
            plan: self.plan,
            shard: self.job.shard,
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

    fn one(&self, point: usize, replicate: u32, stop: &Stop) -> Result<Outcome, StudyError> {
        let context = RunContext {
            seed: Seed(self.scenario.header().seed).replicate(replicate),
            replicate,
            executor: self.job.machine.executor,
            workers: self.threads.workers.get(),
            stop: stop.flag(),
            progress: &|progress| self.bar.run(point, replicate, progress),
            notice: &|text| self.notice(text),
        };
        let outcome = self.scenario.points()[point].prepared.run(&context);
        self.bar.ended(point, replicate, outcome.as_ref().map_or(0, |outcome| outcome.events));
        outcome
    }

    fn notice(&self, text: &str) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.job.output.quiet && told.insert(kind_of(text)) {
            self.bar.say(&format!("note: {text}\n"));
        }
    }

    /// What was found in the store.
    fn remarks(&self, ran: &Ran<StudyError>) {
        if self.job.output.quiet {
            return;
        }
        for damaged in &ran.damaged {
            self.bar.say(&format!("note: {damaged}; its run is done again\n"));
        }
        if let (Some(out), true) = (self.job.out, ran.reused > 0) {
            let runs = if ran.reused == 1 { "1 run was" } else { &format!("{} runs were", ran.reused) };
            self.bar.say(&format!("note: {runs} done already and kept from `{}`\n", out.display()));
        }
    }

    /// The first failure, and the line that replays it.
    fn failed(&self, failures: &[Failure<StudyError>]) -> Trouble {
        let Some(first) = failures.first() else { return Trouble::failed("a run failed without a word") };
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
            // The run went well: to replay it would show nothing.
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

/// What a notice says: replicates run differently, so its counts differ.
fn kind_of(notice: &str) -> String {
    notice.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// Who is to blame for a directory that cannot be used.
pub fn trouble_of(error: StoreError) -> Trouble {
    match error {
        StoreError::OtherCampaign { .. }
        | StoreError::Foreign { .. }
        | StoreError::NoCampaign { .. }
        | StoreError::NotALock { .. }
        | StoreError::DamagedManifest { .. }
        | StoreError::Write(WriteError::OverInput { .. }) => Trouble::input(error),
        StoreError::Write(WriteError::Directory { ref source, .. }) if is_in_the_way(source) => {
            Trouble::input(error)
        }
        error => Trouble::failed(error),
    }
}

/// A file where a directory should be.
fn is_in_the_way(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every replicate of a wasteful run said so in a line of its own.
    #[test]
    fn a_notice_with_other_counts_is_the_same_notice() {
        let notice = |committed, rolled_back| {
            kind_of(&towtank_kernel::Notice::MostlyTakenBack { committed, rolled_back }.to_string())
        };
        assert_eq!(notice(1_803, 18_510), notice(174, 22_174));
        assert_ne!(notice(1, 2), kind_of(&towtank_kernel::Notice::RestartedWithClones.to_string()));
    }
}
