//! Classes of jobs, and the order in which a station serves them.
//!
//! A class is a share of all jobs, drawn when a job comes from outside and kept on its whole way. A station
//! may serve the classes in their order: without interrupting a service (`priority`), or interrupting a less
//! urgent one, which is continued later where it was left (`preemptive`). What this leaves out: classes with
//! routes of their own.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_units::{Frequency, Percent};

use super::service;

/// A class of jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Name: lower-case letters, digits and `_`.
    #[schemars(example = &"urgent")]
    pub name: String,
    /// Share of the jobs that come from outside. All shares add up to 100%.
    pub share: Percent,
}

/// How a station serves jobs of one class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassService {
    /// Mean rate at which one busy server finishes jobs of this class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_rate: Option<Frequency>,
    /// Distribution of their service times.
    #[serde(default, skip_serializing_if = "service::Service::is_exponential")]
    pub service: service::Service,
}

/// Which waiting job is served next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// First come, first served
    #[default]
    Fifo,
    /// The most urgent class; a service is never interrupted
    Priority,
    /// The most urgent class; it interrupts less urgent services, which are continued later
    Preemptive,
}

impl Order {
    /// Whether this is the default.
    pub(super) fn is_fifo(&self) -> bool {
        *self == Order::Fifo
    }

    /// Lets a job wait: behind all, or behind those that are at least as urgent. `class` is lower for more
    /// urgent ones.
    pub(super) fn enqueue<J>(self, waiting: &mut VecDeque<J>, job: J, class: impl Fn(&J) -> u8) {
        let place = match self {
            Order::Fifo => waiting.len(),
            _ => waiting.partition_point(|other| class(other) <= class(&job)),
        };
        waiting.insert(place, job);
    }
}
