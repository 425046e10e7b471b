//! Lustre's token bucket filter: requests are divided into classes, a rule sets how many requests per second
//! a class may send, and a server waits while no class has a token.
//!
//! - Rules are ordered; the first that matches a class applies, and the default rule is last. Rules can be
//!   started, changed and stopped during a run ([`Tbf::start`], [`Tbf::change`], [`Tbf::stop`]).
//! - When a class is examined, it gains floor(rate x time since its last request went), and holds at most its
//!   depth (3 by default); a request takes one token, and the time is counted anew. The fraction of a token
//!   is lost, except under a real-time rule, which keeps it and sets no bound on tokens.
//! - Classes lie in order of their deadlines, the last request plus one over the rate. If the first of them
//!   has no token, no class is served before that deadline, even if another has tokens: that is Lustre's
//!   rule, and it bounds the work of a server with many classes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use towtank_units::SimTime;

use crate::room::Room;
use crate::tag::Tag;
use crate::{Access, Discipline, FlowId, Flows, NoMessage, Request};

mod rules;

use rules::Class;
pub use rules::{ClassBy, Rule, RuleError};

/// The token bucket filter: classes with tokens.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Tbf<T> {
    class_by: ClassBy,
    /// In order, without the default rule.
    rules: Vec<Rule>,
    default: Rule,
    #[serde(with = "towtank_units::pairs", bound(serialize = "T: serde::Serialize"))]
    #[serde(bound(deserialize = "T: serde::Deserialize<'de>"))]
    classes: BTreeMap<Class, Queue<T>>,
    /// Classes with requests, by deadline, then by how long they have been waiting for it.
    by_deadline: BTreeSet<(Tag, u64, Class)>,
    /// How often a class was inserted into `by_deadline`.
    laid: u64,
    alarm: Option<SimTime>,
    room: Room,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Queue<T> {
    rate: u64,
    depth: u64,
    realtime: bool,
    tokens: u64,
    /// When its last request went; before that, when the class was first seen.
    counted_from: Tag,
    waiting: VecDeque<Request<T>>,
}

impl<T> Queue<T> {
    fn new(rule: &Rule, now: SimTime) -> Queue<T> {
        Queue {
            rate: rule.rate,
            depth: rule.depth,
            realtime: rule.realtime,
            tokens: rule.depth,
            counted_from: Tag::at(now),
            waiting: VecDeque::new(),
        }
    }

    fn deadline(&self) -> Tag {
        self.counted_from.plus(Tag::span_of(1, self.rate))
    }

    /// The tokens that it has now.
    fn tokens_at(&self, now: Tag) -> u64 {
        let held = self.tokens.saturating_add(self.gained(now));
        if self.realtime { held } else { held.min(self.depth) }
    }

    /// Whole tokens gained since `counted_from`.
    fn gained(&self, now: Tag) -> u64 {
        now.minus(self.counted_from).parts_of(Tag::span_of(1, self.rate))
    }

    /// Gives the next request, taking one of `tokens` tokens.
    fn take(&mut self, now: Tag, tokens: u64) -> Option<Request<T>> {
        debug_assert!(tokens > 0, "a request is let through without a token");
        debug_assert!(now >= self.counted_from, "tokens are counted from later than now");
        let counted = Tag::span_of(self.gained(now), self.rate);
        self.tokens = tokens - 1;
        self.counted_from = if self.realtime { self.counted_from.plus(counted) } else { now };
        debug_assert!(self.counted_from <= now, "time of tokens is counted before it has passed");
        debug_assert!(self.realtime || self.tokens < self.depth, "a bucket of {} holds more", self.depth);
        self.waiting.pop_front()
    }
}

impl<T> Tbf<T> {
    /// Divides requests into classes by `class_by`, under the default rule alone. Without a depth, the number
    /// of requests in service is not bounded.
    ///
    /// # Panics
    /// When the depth is zero: no request would ever be served.
    #[must_use]
    pub fn new(depth: Option<u32>, class_by: ClassBy, default: Rule) -> Tbf<T> {
        Tbf {
            class_by,
            rules: Vec::new(),
            default,
            classes: BTreeMap::new(),
            by_deadline: BTreeSet::new(),
            laid: 0,
            alarm: None,
            room: Room::new(depth),
        }
    }

    /// One class per flow, and a rule for each flow that has a rate. `tokens` is the most that a class holds
    /// if its flow has no burst.
    ///
    /// # Panics
    /// When the depth is zero: no request would ever be served.
    #[must_use]
    pub(crate) fn by_flow(depth: Option<u32>, tokens: u64, realtime: bool, flows: &Flows) -> Tbf<T> {
        let default = Rule { depth: tokens, realtime, ..Rule::default() };
        let mut tbf = Tbf::new(depth, ClassBy::FLOW, default.clone());
        for (number, spec) in (0..).zip(flows.specs()).filter(|(_, spec)| spec.rate > 0) {
            let burst = if spec.burst > 0 { spec.burst } else { tokens };
            let flows = Some(BTreeSet::from([FlowId(number)]));
            let rule = Rule {
                name: format!("flow{number}"),
                flows,
                rate: spec.rate,
                depth: burst,
                ..default.clone()
            };
            tbf.rules.push(rule);
        }
        tbf
    }

    /// The rules in their order, without the default rule.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Starts a rule at a rank; a rank past the last rule puts it last, before the default rule.
    ///
    /// # Errors
    /// When a rule of that name exists already, or the rule would let no request go.
    pub fn start(&mut self, now: SimTime, rank: usize, rule: Rule) -> Result<(), RuleError> {
        rule.check()?;
        if self.rules.iter().chain([&self.default]).any(|known| known.name == rule.name) {
            return Err(RuleError::Known { name: rule.name });
        }
        self.rules.insert(rank.min(self.rules.len()), rule);
        self.match_anew(now);
        Ok(())
    }

    /// Changes the rate of a rule, the default rule's too, and its rank if one is given.
    ///
    /// # Errors
    /// When there is no such rule, the rate is zero, or the default rule is given a rank.
    pub fn change(
        &mut self,
        now: SimTime,
        name: &str,
        rate: u64,
        rank: Option<usize>,
    ) -> Result<(), RuleError> {
        if rate == 0 {
            return Err(RuleError::Never { name: name.to_owned() });
        }
        if self.default.name == name {
            if rank.is_some() {
                return Err(RuleError::Default { name: name.to_owned() });
            }
            self.default.rate = rate;
        } else {
            let at = self.place_of(name)?;
            let rule = Rule { rate, ..self.rules.remove(at) };
            self.rules.insert(rank.unwrap_or(at).min(self.rules.len()), rule);
        }
        self.match_anew(now);
        Ok(())
    }

    /// Stops a rule. Its classes come under the next rule that matches.
    ///
    /// # Errors
    /// When there is no such rule, or it is the default rule.
    pub fn stop(&mut self, now: SimTime, name: &str) -> Result<(), RuleError> {
        if self.default.name == name {
            return Err(RuleError::Default { name: name.to_owned() });
        }
        let at = self.place_of(name)?;
        self.rules.remove(at);
        self.match_anew(now);
        Ok(())
    }

    fn place_of(&self, name: &str) -> Result<usize, RuleError> {
        let unknown = || RuleError::Unknown {
            name: name.to_owned(),
            known: self.rules.iter().map(|rule| rule.name.clone()).collect(),
        };
        self.rules.iter().position(|rule| rule.name == name).ok_or_else(unknown)
    }

    /// Gives each class the rule that applies now; it keeps its tokens up to the new depth.
    fn match_anew(&mut self, now: SimTime) {
        self.by_deadline.clear();
        for (class, queue) in &mut self.classes {
            let rule = rule_for(&self.rules, &self.default, class);
            let tokens = queue.tokens_at(Tag::at(now)).min(rule.depth);
            if (queue.rate, queue.depth, queue.realtime) != (rule.rate, rule.depth, rule.realtime) {
                let waiting = std::mem::take(&mut queue.waiting);
                *queue = Queue { tokens, waiting, ..Queue::new(rule, now) };
            }
            if !queue.waiting.is_empty() {
                self.by_deadline.insert((queue.deadline(), self.laid, *class));
                self.laid += 1;
            }
        }
        self.alarm = self.alarm.and(Some(now));
    }
}

fn rule_for<'a>(rules: &'a [Rule], default: &'a Rule, class: &Class) -> &'a Rule {
    rules.iter().find(|rule| rule.matches(class)).unwrap_or(default)
}

impl<T: Clone> Discipline for Tbf<T> {
    type Item = T;
    type Message = NoMessage;

    fn arrive(&mut self, now: SimTime, request: Request<T>) {
        let class = self.class_by.class(&request);
        let new = || Queue::new(rule_for(&self.rules, &self.default, &class), now);
        let queue = self.classes.entry(class).or_insert_with(new);
        if queue.waiting.is_empty() {
            self.by_deadline.insert((queue.deadline(), self.laid, class));
            self.laid += 1;
        }
        queue.waiting.push_back(request);
    }

    fn next(&mut self, now: SimTime) -> Option<Request<T>> {
        self.alarm = None;
        if self.room.is_full() {
            return None;
        }
        let &(deadline, _, class) = self.by_deadline.first()?;
        let now = Tag::at(now);
        let queue = self.classes.get_mut(&class)?;
        let tokens = queue.tokens_at(now);
        if tokens == 0 {
            self.alarm = Some(deadline.instant());
            return None;
        }
        let request = queue.take(now, tokens)?;
        self.by_deadline.pop_first();
        if !queue.waiting.is_empty() {
            self.by_deadline.insert((queue.deadline(), self.laid, class));
            self.laid += 1;
        }
        let waiting = || self.classes.values().filter(|queue| !queue.waiting.is_empty()).count();
        debug_assert_eq!(self.by_deadline.len(), waiting(), "classes with a deadline, and that wait");
        self.room.take();
        Some(request)
    }

    fn complete(&mut self, _: SimTime, _: &Request<T>) {
        self.room.release();
    }

    fn wake_at(&self) -> Option<SimTime> {
        self.alarm
    }

    fn wake(&mut self, now: SimTime) {
        self.alarm = self.alarm.filter(|&alarm| alarm > now);
    }

    /// Class by class.
    fn waiting(&self) -> Box<dyn Iterator<Item = &Request<T>> + '_> {
        Box::new(self.classes.values().flat_map(|queue| &queue.waiting))
    }
}

#[cfg(test)]
mod tests;
