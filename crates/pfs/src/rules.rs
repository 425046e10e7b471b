//! Rules of the token bucket filter that start, change and stop at given times of the measured phase.

use serde::{Deserialize, Serialize};
use towtank_iosched::{Discipline as _, Rule, RuleError, Scheduler};
use towtank_units::{SimSpan, SimTime};

use crate::Queue;

/// A command for a rule, and its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedRule {
    /// Time after the beginning of the last phase.
    pub at: SimSpan,
    /// The command.
    pub command: RuleCommand,
}

/// A command for a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleCommand {
    /// Starts a rule.
    Start {
        /// Its rank: the number of rules before it.
        rank: usize,
        /// The rule.
        rule: Rule,
    },
    /// Changes its rate, and its rank if one is given.
    Change {
        /// Its name.
        name: String,
        /// Requests per second.
        rate: u64,
        /// Its rank, if that changes.
        rank: Option<usize>,
    },
    /// Stops a rule.
    Stop {
        /// Its name.
        name: String,
    },
}

/// The progress of a server through the timed rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ruled {
    /// When the last phase began, if it has.
    pub since: Option<SimTime>,
    /// The number of commands carried out.
    pub done: u32,
}

impl Ruled {
    /// When the next command is due.
    #[must_use]
    pub fn next_at(&self, rules: &[TimedRule]) -> Option<SimTime> {
        let next = rules.get(self.done as usize)?;
        Some(self.since?.saturating_add(next.at))
    }

    /// Carries out the commands that are due at `now`, each as of its own time.
    ///
    /// # Errors
    /// When a rule does not fit the command; the creator of the spec checks this.
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

    /// Checks that a queue has its initial rules and those that were started, and none that was stopped.
    ///
    /// # Errors
    /// The surplus or missing rules.
    pub fn audit(&self, queue: &Queue, before: usize, rules: &[TimedRule]) -> Result<(), String> {
        let Scheduler::Tbf(tbf) = queue else { return Ok(()) };
        let done = rules.get(..self.done as usize).ok_or("more commands were executed than there are")?;
        let count = |which: fn(&RuleCommand) -> bool| done.iter().filter(|rule| which(&rule.command)).count();
        let started = count(|command| matches!(command, RuleCommand::Start { .. }));
        let stopped = count(|command| matches!(command, RuleCommand::Stop { .. }));
        if tbf.rules().len() + stopped != before + started {
            return Err(format!(
                "of {before} initial rules, {started} started and {stopped} stopped, {} are active",
                tbf.rules().len()
            ));
        }
        Ok(())
    }

    /// When a queue is to be asked again because of the next command, if anything waits in it.
    #[must_use]
    pub fn wakes(&self, queue: &Queue, rules: &[TimedRule]) -> Option<SimTime> {
        let at = self.next_at(rules)?;
        queue.waiting().next().map(|_| at)
    }
}
