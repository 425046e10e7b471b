//! What is said of flows beforehand: who has which share, which guarantee, which deadline. One description
//! serves all disciplines, and each looks at what concerns it.

use towtank_units::SimSpan;

use crate::FlowId;

/// What one flow is promised and held to. Units of cost are those of [`crate::Request::cost`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FlowSpec {
    /// The share of what there is, beside the others' weights; at least 1.
    pub weight: u32,
    /// Strict priority: lower goes first.
    pub priority: u32,
    /// Units of cost a second that the flow gets in any case; 0 promises nothing.
    pub reservation: u64,
    /// Units of cost a second that the flow never exceeds; 0 sets no limit.
    pub limit: u64,
    /// How long after it rose a request should be done.
    pub delay: SimSpan,
    /// What its bucket gains a second: units of cost for token buckets and credits, requests for SARC and
    /// TBF. 0 sets no rate, where the discipline knows that.
    pub rate: u64,
    /// What its bucket holds at most, in the unit of `rate`.
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
    /// One flow for each.
    #[must_use]
    pub fn new(specs: Vec<FlowSpec>) -> Flows {
        Flows { specs }
    }

    /// One flow for each weight, of which nothing else is said.
    #[must_use]
    pub fn weighted(weights: &[u32]) -> Flows {
        Flows::new(weights.iter().map(|&weight| FlowSpec { weight, ..FlowSpec::default() }).collect())
    }

    /// So many flows of weight 1.
    #[must_use]
    pub fn equal(count: usize) -> Flows {
        Flows::new(vec![FlowSpec::default(); count])
    }

    /// In the order of their numbers.
    #[must_use]
    pub fn specs(&self) -> &[FlowSpec] {
        &self.specs
    }

    /// What is said of a flow, if it has been named.
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
