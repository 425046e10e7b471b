//! Properties of flows that are given beforehand: share, guarantee, deadline. One description serves all
//! disciplines; each uses the fields that concern it.

use towtank_units::SimSpan;

use crate::FlowId;

/// The guarantees and limits of one flow. Units of cost are those of [`crate::Request::cost`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FlowSpec {
    /// Its share of the resource, relative to the others' weights; at least 1.
    pub weight: u32,
    /// Strict priority: lower goes first.
    pub priority: u32,
    /// Units of cost per second that the flow gets in any case; 0 guarantees nothing.
    pub reservation: u64,
    /// Units of cost per second that the flow never exceeds; 0 sets no limit.
    pub limit: u64,
    /// The time from the issue of a request to its deadline.
    pub delay: SimSpan,
    /// What its bucket gains per second: units of cost for token buckets and credits, requests for SARC and
    /// TBF. 0 means no rate, for disciplines that allow that.
    pub rate: u64,
    /// The most that its bucket holds, in the unit of `rate`.
    pub burst: u64,
    /// The cost of its largest request, which SFQRC reserves time for.
    pub request_cost: u64,
}

impl Default for FlowSpec {
    fn default() -> FlowSpec {
        FlowSpec {
            weight: 1,
            priority: 0,
            reservation: 0,
            limit: 0,
            delay: SimSpan::ZERO,
            rate: 0,
            burst: 0,
            request_cost: 0,
        }
    }
}

/// All flows of a resource, numbered from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Flows {
    specs: Vec<FlowSpec>,
}

impl Flows {
    /// One flow per spec.
    #[must_use]
    pub fn new(specs: Vec<FlowSpec>) -> Flows {
        Flows { specs }
    }

    /// One flow per weight, with defaults for everything else.
    #[must_use]
    pub fn weighted(weights: &[u32]) -> Flows {
        Flows::new(weights.iter().map(|&weight| FlowSpec { weight, ..FlowSpec::default() }).collect())
    }

    /// This many flows of weight 1.
    #[must_use]
    pub fn equal(count: usize) -> Flows {
        Flows::new(vec![FlowSpec::default(); count])
    }

    /// The specs, in the order of the flow numbers.
    #[must_use]
    pub fn specs(&self) -> &[FlowSpec] {
        &self.specs
    }

    /// The spec of a flow, if the flow exists.
    #[must_use]
    pub fn get(&self, flow: FlowId) -> Option<&FlowSpec> {
        self.specs.get(flow.0 as usize)
    }

    /// The weights in the order of the flows.
    ///
    /// # Panics
    /// When a weight is zero: such a flow would never be served.
    pub(crate) fn weights(&self) -> impl Iterator<Item = u32> + '_ {
        self.specs.iter().map(|spec| {
            assert!(spec.weight > 0, "a flow without weight is never served");
            spec.weight
        })
    }
}
