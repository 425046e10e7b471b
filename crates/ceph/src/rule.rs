//! The CRUSH rules that a pool may have, as `ceph osd pool set POOL crush_rule RULE` checks them.
//!
//! Follows `OSDMonitor::prepare_command_pool_set` and `CrushWrapper::check_crush_rule` of Ceph 16.2: a rule
//! serves pools of its own type, and of the sizes that it names; since 19 `msr_firstn` serves replicated and
//! `msr_indep` erasure-coded pools (`rule_valid_for_pool_type`). Ceph accepts a rule that finds fewer devices
//! than the pool needs, so it is no error here; the groups of the pool are then short of copies.

use towtank_placement::crush::{Map, MsrFault, RuleKind};

use crate::cluster::PoolState;

/// Why a pool cannot have a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// The map has no such rule.
    #[error("there is no rule called `{asked}`")]
    Unknown {
        /// The name or the number that was asked for.
        asked: String,
        /// The rules of the map.
        rules: Vec<String>,
    },
    /// The rule is for pools of another type.
    #[error("rule `{rule}` is for {} pools, but pool `{pool}` is {}", kind_name(*.serves), kind_name(*.kind))]
    WrongKind {
        /// The rule.
        rule: String,
        /// The type of pool that it serves.
        serves: RuleKind,
        /// The pool.
        pool: String,
        /// The type of the pool.
        kind: RuleKind,
        /// The rules for pools of this type.
        rules: Vec<String>,
    },
    /// The rule is for multi-step retry, and can find no device.
    #[error("rule `{rule}` finds no device: {fault}")]
    NoForm {
        /// The rule.
        rule: String,
        /// Why not.
        fault: MsrFault,
    },
    /// The rule is for pools of other sizes.
    #[error("rule `{rule}` is for pools of size {least} to {most}, but pool `{pool}` has size {size}")]
    WrongSize {
        /// The rule.
        rule: String,
        /// The smallest size that it serves: its `min_size`.
        least: u8,
        /// The largest size that it serves: its `max_size`.
        most: u8,
        /// The pool.
        pool: String,
        /// The copies or shards of the pool.
        size: u32,
    },
}

/// The maximum number of rules that a hint names.
const RULES_NAMED: usize = 12;

impl RuleError {
    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Unknown { rules, .. } => list("of the map", rules),
            Self::WrongKind { rules, kind, .. } => list(&format!("for {} pools", kind_name(*kind)), rules),
            Self::NoForm { .. } => "name another rule, or correct this one in the map".to_owned(),
            Self::WrongSize { .. } => {
                "name another rule, or change `min_size` and `max_size` of this one in the map".to_owned()
            }
        }
    }
}

fn list(of: &str, rules: &[String]) -> String {
    let first = rules.iter().take(RULES_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match rules.len() {
        0 => format!("there are no rules {of}; add one to the map"),
        1 => format!("the only rule {of} is {first}"),
        2..=RULES_NAMED => format!("the rules {of} are {first}"),
        all => format!("there are {all} rules {of}, such as {first}"),
    }
}

fn kind_name(kind: RuleKind) -> String {
    match kind {
        RuleKind::Replicated => "replicated".to_owned(),
        RuleKind::Erasure => "erasure-coded".to_owned(),
        RuleKind::MsrFirstn => "replicated (`msr_firstn`)".to_owned(),
        RuleKind::MsrIndep => "erasure-coded (`msr_indep`)".to_owned(),
        RuleKind::Other(number) => format!("of type {number}"),
    }
}

/// The name of a rule, or its id if it has none.
#[must_use]
pub fn rule_name(map: &Map, id: u32) -> String {
    let name = i32::try_from(id).ok().and_then(|id| map.rule_names.get(&id));
    name.cloned().unwrap_or_else(|| id.to_string())
}

/// The rules of a map with their ids, for messages: `0 (replicated_rule)`.
pub(crate) fn rules_of(map: &Map, kind: Option<RuleKind>) -> Vec<String> {
    let serves =
        |id: u32| map.rule(id as usize).is_some_and(|rule| kind.is_none_or(|kind| rule.kind.serves(kind)));
    let shown = |id: u32| match map.rule_names.get(&(id as i32)) {
        Some(name) => format!("{id} ({name})"),
        None => id.to_string(),
    };
    (0..map.rules.len() as u32).filter(|id| serves(*id)).map(shown).collect()
}

/// The id of the rule with this name or id, if the pool may have it.
///
/// # Errors
/// Why Ceph refuses it.
pub fn rule_for(map: &Map, pool: &PoolState, asked: &str) -> Result<u32, RuleError> {
    let named = map.rule_names.iter().find(|(_, name)| *name == asked).map(|(id, _)| *id);
    let id = named.and_then(|id| u32::try_from(id).ok()).or_else(|| asked.parse().ok());
    let Some((id, rule)) = id.and_then(|id| Some((id, map.rule(id as usize)?))) else {
        return Err(RuleError::Unknown { asked: asked.to_owned(), rules: rules_of(map, None) });
    };
    let (name, kind, size) = (rule_name(map, id), pool.placed.kind, pool.placed.size);
    if !rule.kind.serves(kind) {
        return Err(RuleError::WrongKind {
            rule: name,
            serves: rule.kind,
            pool: pool.name.clone(),
            kind,
            rules: rules_of(map, Some(kind)),
        });
    }
    if !(u32::from(rule.min_size)..=u32::from(rule.max_size)).contains(&size) {
        let (least, most) = (rule.min_size, rule.max_size);
        return Err(RuleError::WrongSize { rule: name, least, most, pool: pool.name.clone(), size });
    }
    match map.msr_fault(id as usize) {
        Some(fault) => Err(RuleError::NoForm { rule: name, fault }),
        None => Ok(id),
    }
}
