//! A campaign whose runs are done by other processes, such as the workers of a cluster.
//!
//! A [`Delegated`] campaign stays with one process: it has the plan, the directory with its lock, and the
//! outcomes. The others have the same [`Scenario`]; with a [`Runner`] they make of each task the bytes of a
//! point file, which the campaign accepts only if its key and checksum are those of the run that was asked
//! for. So a directory, its files and its report are those that [`run`](crate::run()) makes.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;

use towtank_campaign::{Ledger, Plan, PointSpec, Stop, Store, Task, Writer};
use towtank_kernel::Executor;
use towtank_report::Report;
use towtank_scenario::Problem;

use crate::machine::{Machine, Threads};
use crate::need::Need;
use crate::run::{self, Walk};
use crate::{Done, Observer, Options, Remark, Scenario, Trouble, Unmet, files, gates};

/// A campaign that others run.
pub struct Delegated {
    scenario: Scenario,
    plan: Plan,
    store: Option<Store>,
    ledger: Ledger,
}

impl Delegated {
    /// Opens the campaign of a scenario, with the runs that its directory `out` has already. Of the options
    /// only `out` and `force` are used.
    ///
    /// # Errors
    /// When the directory cannot be used, or another process is writing there.
    pub fn open(
        scenario: Scenario,
        options: &Options,
        observer: &dyn Observer,
    ) -> Result<Delegated, Trouble> {
        let plan = scenario.plan()?;
        let open =
            |dir: &Path| Store::open(dir, &plan, options.takeover(), Writer::new(scenario.inputs.clone()));
        let store = options.out.as_deref().map(open).transpose()?;
        store.as_ref().map(files::may_report).transpose()?;
        let mut ledger = Ledger::new(&plan);
        if let Some(store) = &store {
            for damaged in store.load(&mut ledger) {
                observer.remark(&Remark::Redone(&damaged));
            }
        }
        let runs = ledger.finished_count();
        if let (Some(out), true) = (&options.out, runs > 0) {
            observer.remark(&Remark::Kept { runs, out });
        }
        Ok(Delegated { scenario, plan, store, ledger })
    }

    /// The runs that are still to be done, in the order of the plan.
    #[must_use]
    pub fn open_tasks(&self) -> Vec<Task> {
        self.ledger.missing()
    }

    /// A run in words.
    #[must_use]
    pub fn describe(&self, task: Task) -> String {
        self.plan.describe(task)
    }

    /// How much is done.
    #[must_use]
    pub fn done(&self) -> Done {
        Done { runs: self.ledger.finished_count(), of: self.plan.task_count() }
    }

    /// Takes the result of a run from another process, and stores it. One that is there already is kept.
    ///
    /// # Errors
    /// When the bytes are not the result of that run, or cannot be stored.
    pub fn accept(&mut self, task: Task, bytes: &[u8]) -> Result<(), Trouble> {
        if self.ledger.is_finished(task) {
            return Ok(());
        }
        match &self.store {
            Some(store) => self.ledger.enter(task, store.accept(task, bytes)?),
            None => self.ledger.accept(&self.plan, task, bytes)?,
        }
        Ok(())
    }

    /// The report of the runs that are finished; `None` if there are none.
    ///
    /// # Errors
    /// When it breaks a law of reports.
    pub fn report(&self) -> Result<Option<Report>, Trouble> {
        let study = self.scenario.study();
        let made = run::report(study, &self.plan, self.ledger.clone(), Executor::Sequential)?;
        Ok(made.map(|(report, _)| report))
    }

    /// Writes the report into the directory, if there is one, and judges the gates, if all runs are finished.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn finish(&self, report: &Report) -> Result<Vec<Unmet>, Trouble> {
        if let Some(store) = &self.store {
            files::write_into(report, store)?;
        }
        let complete = self.ledger.is_complete();
        Ok(if complete { gates::judge(self.scenario.gates(), report) } else { Vec::new() })
    }
}

/// Runs single tasks of a scenario for a [`Delegated`] campaign in another process.
pub struct Runner {
    scenario: Scenario,
    plan: Plan,
}

impl Runner {
    /// Prepares the runs of a scenario.
    ///
    /// # Errors
    /// When its runs do not fit into this machine.
    pub fn new(scenario: Scenario) -> Result<Runner, Trouble> {
        let plan = scenario.plan()?;
        Machine::here().refuse_memory(&alone(), ONE_THREAD, Need::of(&scenario, &plan).as_ref())?;
        Ok(Runner { scenario, plan })
    }

    /// Runs one task, and returns the bytes of its point file.
    ///
    /// # Errors
    /// When there is no such task, or its run fails.
    pub fn run(&self, task: Task, observer: &dyn Observer) -> Result<Vec<u8>, Trouble> {
        let Runner { scenario, plan } = self;
        if task.point >= plan.points().len() || task.replicate >= plan.replicates() {
            let (points, replicates) = (plan.points().len(), plan.replicates());
            let message = format!(
                "there is no replicate {} of point {}: the scenario has {replicates} replicates of {points} points",
                task.replicate,
                task.point + 1
            );
            return Err(Problem::new(message).hint("count both from 0").into());
        }
        let options = alone();
        let walk = Walk::new(scenario, plan, &options, ONE_THREAD, observer);
        let work = |_: &PointSpec, replicate, stop: &Stop| walk.one(task.point, replicate, stop);
        towtank_campaign::run_one(plan, task, observer.stop(), &work)
            .map_err(|failure| walk.failed(&[*failure]))
    }
}

const ONE_THREAD: Threads = Threads { jobs: NonZeroUsize::MIN, workers: NonZeroU32::MIN };

fn alone() -> Options {
    Options { jobs: Some(NonZeroUsize::MIN), ..Options::default() }
}
