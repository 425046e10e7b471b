//! Rules of the token bucket filter, the classes that they match, and their errors.

use std::collections::BTreeSet;

use super::{Access, FlowId, Request};

/// The properties by which requests are divided into classes: those that are `true`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct ClassBy {
    /// By flow: Lustre's job id, user or group.
    pub flow: bool,
    /// By client: Lustre's NID.
    pub client: bool,
    /// By reads and writes: Lustre's opcode.
    pub access: bool,
}

impl ClassBy {
    /// One class per flow.
    pub const FLOW: ClassBy = ClassBy { flow: true, client: false, access: false };
    /// One class per client.
    pub const CLIENT: ClassBy = ClassBy { flow: false, client: true, access: false };
    /// One class for reads and one for writes.
    pub const ACCESS: ClassBy = ClassBy { flow: false, client: false, access: true };

    pub(super) fn class<T>(self, request: &Request<T>) -> Class {
        let about = &request.about;
        Class {
            flow: self.flow.then_some(request.flow),
            client: self.client.then_some(about.client),
            access: self.access.then_some(about.access),
        }
    }
}

/// A class: the properties that all its requests have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Class {
    pub(super) flow: Option<FlowId>,
    pub(super) client: Option<u32>,
    pub(super) access: Option<Access>,
}

/// The request rate of the classes that the rule matches. A property that is `None` matches all; a class that
/// is not divided by a property that the rule names never matches.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Rule {
    /// The name by which it is changed and stopped.
    pub name: String,
    /// The flows that it matches.
    pub flows: Option<BTreeSet<FlowId>>,
    /// The clients that it matches.
    pub clients: Option<BTreeSet<u32>>,
    /// Whether it matches reads or writes.
    pub access: Option<Access>,
    /// Requests per second.
    pub rate: u64,
    /// The most tokens that a class holds.
    pub depth: u64,
    /// Keeps fractions of tokens, and sets no bound on tokens.
    pub realtime: bool,
}

impl Default for Rule {
    /// Lustre's default rule: 10,000 requests per second, 3 tokens.
    fn default() -> Rule {
        Rule {
            name: "default".to_owned(),
            flows: None,
            clients: None,
            access: None,
            rate: 10_000,
            depth: 3,
            realtime: false,
        }
    }
}

impl Rule {
    pub(super) fn matches(&self, class: &Class) -> bool {
        let flow =
            self.flows.as_ref().is_none_or(|flows| class.flow.is_some_and(|flow| flows.contains(&flow)));
        let has = |clients: &BTreeSet<u32>| class.client.is_some_and(|client| clients.contains(&client));
        flow && self.clients.as_ref().is_none_or(has)
            && self.access.is_none_or(|one| class.access == Some(one))
    }

    pub(super) fn check(&self) -> Result<(), RuleError> {
        if self.rate == 0 || self.depth == 0 {
            return Err(RuleError::Never { name: self.name.clone() });
        }
        Ok(())
    }
}

/// Why a rule cannot be started, changed or stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// The name is taken.
    #[error("rule `{name}` already exists: change it, or start one with another name")]
    Known {
        /// The name.
        name: String,
    },
    /// The name is unknown.
    #[error("there is no rule `{name}`: the rules are {}", list(known))]
    Unknown {
        /// The name.
        name: String,
        /// The names of the existing rules.
        known: Vec<String>,
    },
    /// The default rule has no rank and cannot be stopped.
    #[error("the default rule `{name}` is always last: change its rate, or start a rule before it")]
    Default {
        /// The name.
        name: String,
    },
    /// The rule has no rate or no depth.
    #[error(
        "rule `{name}` has a rate or depth of 0, so its classes would wait forever: set it to at least 1"
    )]
    Never {
        /// The name.
        name: String,
    },
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        return "only the default rule".to_owned();
    }
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
