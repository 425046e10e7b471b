//! Adds simple rules and removes rules.

use super::EditError;
use crate::crush::map::{Map, Mode, Rule, RuleKind, Setting, Step};

/// The number of rules from which on Ceph adds none.
const RULES_MAX: usize = 256;

/// A rule that distributes replicas over buckets of one type.
#[derive(Clone, Copy, Debug)]
pub struct RuleSpec<'a> {
    /// The name.
    pub name: &'a str,
    /// The name of the item from which it starts.
    pub root: &'a str,
    /// The type of bucket in which at most one replica may be; empty for devices.
    pub spread_over: &'a str,
    /// The only device class to use; empty for all devices.
    pub class: &'a str,
    /// How failures appear in the result.
    pub mode: Mode,
}

impl Map {
    /// Adds a rule in the first free slot.
    pub fn create_rule(&mut self, spec: RuleSpec<'_>) -> Result<(), EditError> {
        if self.rule_names.values().any(|known| known == spec.name) {
            return Err(EditError::RuleTaken { name: spec.name.to_owned() });
        }
        super::check_name(spec.name)?;
        let id = self.free_rule()?;
        let root = self.root_of_class(spec.root, spec.class)?;
        let kind = match spec.spread_over {
            "" => 0,
            name => self.type_id(name).ok_or_else(|| EditError::NoType { name: name.to_owned() })?,
        };
        let mut steps = Vec::new();
        let (min_size, max_size) = match spec.mode {
            Mode::Firstn => (1, 10),
            Mode::Indep => {
                steps.push(Step::Set(Setting::ChooseleafTries, 5));
                steps.push(Step::Set(Setting::ChooseTries, 100));
                (3, 20)
            }
        };
        steps.push(Step::Take(root));
        steps.push(Step::Choose { mode: spec.mode, leaf: kind != 0, count: 0, kind });
        steps.push(Step::Emit);
        let rule = Rule { ruleset: id as u8, kind: RuleKind::Replicated, min_size, max_size, steps };
        if id == self.rules.len() {
            self.rules.push(None);
        }
        self.rules[id] = Some(rule);
        self.rule_names.insert(id as i32, spec.name.to_owned());
        Ok(())
    }

    /// An id that is neither a rule's nor an old rule set's.
    fn free_rule(&self) -> Result<usize, EditError> {
        let free = |&id: &usize| {
            self.rule(id).is_none()
                && !self.rules.iter().flatten().any(|rule| usize::from(rule.ruleset) == id)
        };
        let id = (0..self.rules.len()).find(free).unwrap_or(self.rules.len());
        if id < RULES_MAX { Ok(id) } else { Err(EditError::RulesFull) }
    }

    fn root_of_class(&self, root: &str, class: &str) -> Result<i32, EditError> {
        let id = self.named(root)?;
        if class.is_empty() {
            return Ok(id);
        }
        let shadow = self.class_id(class).and_then(|class| self.class_buckets.get(&id)?.get(&class).copied());
        shadow.ok_or_else(|| EditError::NoClass { root: root.to_owned(), class: class.to_owned() })
    }

    /// Removes a rule; its slot stays free.
    pub fn remove_rule(&mut self, name: &str) -> Result<(), EditError> {
        let known = self.rule_names.iter().rev().find(|(_, known)| *known == name).map(|(&id, _)| id);
        let slot = known.and_then(|id| self.rules.get_mut(usize::try_from(id).ok()?));
        let Some(rule) = slot.filter(|rule| rule.is_some()) else {
            return Err(EditError::NoRule { name: name.to_owned() });
        };
        *rule = None;
        self.rule_names.remove(&known.expect("its rule was found"));
        self.rebuild_shadows()
    }
}
