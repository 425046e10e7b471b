//! Rules of Lustre's token bucket filter that start, change and stop at given times of a run, in the syntax
//! of `lctl set_param`.

use std::collections::BTreeSet;

use towtank_iosched::{FlowId, Kind, Rule};
use towtank_pfs::{RuleCommand, TimedRule};
use towtank_scenario::{Draft, Problems};
use towtank_units::SimSpan;

use super::Settled;

const HINT: &str =
    "write `10s start night jobid={batch} rate=50`, `20s change night rate=80` or `30s stop night`";

impl Settled {
    /// The rules for the model, in order of time.
    pub(super) fn timed_rules(&self) -> Vec<TimedRule> {
        let read = self.rules.iter().map(|text| self.timed_rule(text));
        let mut rules: Vec<TimedRule> = read.collect::<Result<_, _>>().expect("rules were checked");
        rules.sort_by_key(|rule| rule.at);
        rules
    }

    /// Checks the rules: their syntax, names that do not exist at their time, and schedulers without rules.
    pub(super) fn check_rules(&self, draft: &Draft, problems: &mut Problems) {
        if self.rules.is_empty() {
            return;
        }
        let is_tbf = self.schedulers.iter().any(|one| matches!(one.kind, Kind::Tbf { .. }));
        if !is_tbf || !self.scheduler_at.is_server() {
            let message = "`rules` are given, but no server has a scheduler with rules".to_owned();
            problems.refuse(draft, "rules", message, "set `scheduler` to `tbf`, at servers");
        }
        let mut timed = Vec::new();
        for text in &self.rules {
            match self.timed_rule(text) {
                Ok(rule) => timed.push((rule, text)),
                Err(message) => problems.refuse(draft, "rules", message, HINT),
            }
        }
        timed.sort_by_key(|(rule, _)| rule.at);
        let own = self.applications.values().enumerate().filter(|(_, one)| one.request_rate.is_some());
        let mut known: BTreeSet<String> = own.map(|(number, _)| of_flow(number)).collect();
        for (rule, text) in timed {
            let wrong = match rule.command {
                RuleCommand::Start { rule, .. } if rule.name == DEFAULT || known.contains(&rule.name) => {
                    Some("a rule of that name exists at that time")
                }
                RuleCommand::Start { rule, .. } => {
                    known.insert(rule.name);
                    None
                }
                RuleCommand::Change { name, rank: Some(_), .. } if name == DEFAULT => {
                    Some("the default rule is always the last")
                }
                RuleCommand::Change { name, .. } if name == DEFAULT || known.contains(&name) => None,
                RuleCommand::Stop { name } if known.remove(&name) => None,
                RuleCommand::Change { .. } | RuleCommand::Stop { .. } => {
                    Some("there is no rule of that name at that time")
                }
            };
            if let Some(reason) = wrong {
                let message = format!("`rules` has `{text}`, but {reason}");
                let hint = "start a rule before you change or stop it; an application with a \
                            `request_rate` has a rule of its name";
                problems.refuse(draft, "rules", message, hint);
            }
        }
    }

    /// Parses one line: a time, a command, a name, and its settings.
    fn timed_rule(&self, text: &str) -> Result<TimedRule, String> {
        let none = |reason: &str| format!("`rules` has `{text}`: {reason}");
        let mut words = Words(text);
        let at = words.next().and_then(|word| word.parse::<SimSpan>().ok());
        let at = at.ok_or_else(|| none("it does not begin with a time, such as 10s"))?;
        let command = words.next().unwrap_or_default();
        let name = words.next().ok_or_else(|| none("it does not name a rule"))?;
        let mut said = Said::default();
        for word in words {
            self.set(&mut said, word).map_err(|reason| none(&reason))?;
        }
        let known = self.applications.keys().position(|one| one == name);
        let own = |name: &str| known.map_or_else(|| name.to_owned(), of_flow);
        let command = match command {
            "start" => {
                let rate = said.rate.ok_or_else(|| none("it has no rate"))?;
                let depth = said.depth.unwrap_or(self.tokens());
                let default = Rule::default();
                let rule = Rule { name: name.to_owned(), flows: said.flows, rate, depth, ..default };
                if known.is_some() {
                    return Err(none("an application has that name"));
                }
                RuleCommand::Start { rank: said.rank.unwrap_or(0), rule }
            }
            "change" => {
                let rate = said.rate.ok_or_else(|| none("it has no rate"))?;
                if said.flows.is_some() || said.depth.is_some() {
                    return Err(none("only rate and rank of a rule can be changed"));
                }
                RuleCommand::Change { name: own(name), rate, rank: said.rank }
            }
            "stop" if said == Said::default() => RuleCommand::Stop { name: own(name) },
            "stop" => return Err(none("`stop` takes no settings")),
            _ => return Err(none("the command must be start, change or stop")),
        };
        Ok(TimedRule { at, command })
    }

    /// The tokens of a class that does not set them: those of the scheduler.
    fn tokens(&self) -> u64 {
        let of = |one: &towtank_iosched::Description| match one.kind {
            Kind::Tbf { tokens, .. } => Some(tokens),
            _ => None,
        };
        self.schedulers.iter().find_map(of).unwrap_or(Rule::default().depth)
    }

    fn set(&self, said: &mut Said, word: &str) -> Result<(), String> {
        let (key, value) =
            word.split_once('=').ok_or_else(|| format!("`{word}` is not of the form `key=value`"))?;
        let number = || {
            let number = value.parse::<u64>().ok().filter(|number| *number > 0);
            number.ok_or_else(|| format!("`{word}` is not a whole number from 1"))
        };
        match key {
            "rate" => said.rate = Some(number()?),
            "depth" => said.depth = Some(number()?),
            "rank" => {
                let rank = value.parse().map_err(|_| format!("`{word}` is not a whole number"))?;
                said.rank = Some(rank);
            }
            "jobid" => {
                let names = value.trim_start_matches('{').trim_end_matches('}').split_whitespace();
                let flow = |name: &str| {
                    let number = self.applications.keys().position(|one| one == name);
                    let number = number.ok_or_else(|| format!("there is no application `{name}`"))?;
                    Ok(FlowId(number as u32))
                };
                said.flows = Some(names.map(flow).collect::<Result<_, String>>()?);
            }
            _ => return Err(format!("`{key}` must be rate, rank, depth or jobid")),
        }
        Ok(())
    }
}

/// The name of the rule that always exists.
const DEFAULT: &str = "default";

/// The name that the scheduler gives the rule of an application's own `request_rate`.
fn of_flow(number: usize) -> String {
    format!("flow{number}")
}

/// The settings of a line.
#[derive(Debug, Default, PartialEq, Eq)]
struct Said {
    rate: Option<u64>,
    depth: Option<u64>,
    rank: Option<usize>,
    flows: Option<BTreeSet<FlowId>>,
}

/// Words separated by blanks; text in braces is not split.
struct Words<'a>(&'a str);

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.0.trim_start();
        let mut inside = false;
        let end = text.find(|letter: char| {
            inside = (inside || letter == '{') && letter != '}';
            letter.is_whitespace() && !inside
        });
        let (word, rest) = text.split_at(end.unwrap_or(text.len()));
        self.0 = rest;
        (!word.is_empty()).then_some(word)
    }
}
