//! Rules of the token bucket filter that start, change and stop at given times of what is measured.

use serde::{Deserialize, Serialize};
use towtank_iosched::{Discipline as _, Rule, RuleError, Scheduler};
use towtank_units::{SimSpan, SimTime};

use crate::Queue;

/// What becomes of a rule, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedRule {
    /// After the last phase has begun.
    pub at: SimSpan,
    /// What becomes of it.
    pub command: RuleCommand,
}

/// What becomes of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleCommand {
    /// It starts.
    Start {
        /// Before so many others.
        rank: usize,
        /// What it says.
        rule: Rule,
    },
    /// Its rate is another, and its rank if one is given.
    Change {
        /// Its name.
        name: String,
        /// Requests a second.
        rate: u64,
        /// Before so many others.
        rank: Option<usize>,
    },
    /// It ends.
    Stop {
        /// Its name.
        name: String,
    },
}

/// How far a server is with the rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ruled {
    /// When the last phase began, if it has.
    pub since: Option<SimTime>,
    /// How many commands it has carried out.
    pub done: u32,
}

impl Ruled {
    /// When the next command is due.
    #[must_use]
    pub fn next_at(&self, rules: &[TimedRule]) -> Option<SimTime> {
        let next = rules.get(self.done as usize)?;
        Some(self.since?.saturating_add(next.at))
    }

    /// Carries out what is due at `now`, each command as of its own time.
    ///
    /// # Errors
    /// When a rule is not as the command wants it, which whoever made the spec has checked.
    pub fn carry_out(
        &mut self,
        queue: &mut Queue,
        rules: &[TimedRule],
        now: SimTime,
    ) -> Result<(), RuleError> {
        while let Some(at) = self.next_at(rules).filter(|at| *at <= now) {
            let command = &rules[self.done as usize].command;
            self.done += 1;
            debug_assert!(self.done as usize <= rules.len(), "a command is carried out that is none");
            let Scheduler::Tbf(tbf) = queue else { continue };
            match command {
                RuleCommand::Start { rank, rule } => tbf.start(at, *rank, rule.clone())?,
                RuleCommand::Change { name, rate, rank } => tbf.change(at, name, *rate, *rank)?,
                RuleCommand::Stop { name } => tbf.stop(at, name)?,
            }
        }
        Ok(())
    }

    /// Checks that a queue has the rules that it began with, those that were started, and none that was
    /// stopped.
    ///
    /// # Errors
    /// What it has too many or too few of.
    pub fn audit(&self, queue: &Queue, before: usize, rules: &[TimedRule]) -> Result<(), String> {
        let Scheduler::Tbf(tbf) = queue else { return Ok(()) };
        let done = rules.get(..self.done as usize).ok_or("more commands were carried out than there are")?;
        let count = |which: fn(&RuleCommand) -> bool| done.iter().filter(|rule| which(&rule.command)).count();
        let started = count(|command| matches!(command, RuleCommand::Start { .. }));
        let stopped = count(|command| matches!(command, RuleCommand::Stop { .. }));
        if tbf.rules().len() + stopped != before + started {
            return Err(format!(
                "{before} rules were there, {started} started and {stopped} stopped, but {} hold",
                tbf.rules().len()
            ));
        }
        Ok(())
    }

    /// When a queue is to be asked again for the sake of the next command, if anything waits in it.
    #[must_use]
    pub fn wakes(&self, queue: &Queue, rules: &[TimedRule]) -> Option<SimTime> {
        let at = self.next_at(rules)?;
        queue.waiting().next().map(|_| at)
    }
}
