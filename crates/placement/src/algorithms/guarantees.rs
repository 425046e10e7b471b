//! The guarantees of a placement, as data that a study can print beside its measurements.
//!
//! The guarantees are structural and do not include sampling noise: how far the share of a server may deviate
//! from its ideal share, with how many others it shares data, and what a change of the cluster moves.

/// The guarantees of one algorithm with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guarantees {
    /// How evenly keys are distributed over servers.
    pub balance: Balance,
    /// How a server's data are distributed over its peers.
    pub declustering: Declustering,
    /// The effect of weights.
    pub weights: Weights,
    /// The movement when a server joins with the next free id.
    pub on_add: Movement,
    /// The movement when a server leaves.
    pub on_remove: Movement,
    /// The movement when the weight of a server changes.
    pub on_reweight: Movement,
    /// The failure domains by which replicas are separated.
    pub failure_domains: FailureDomains,
    /// The cost of one lookup.
    pub cost: Cost,
    /// Whether single keys or groups of keys are placed.
    pub granularity: Granularity,
}

impl Guarantees {
    /// The relative standard deviation of a server's share that the structure alone causes, at equal weights,
    /// if it is known. The draw of a finite number of keys adds the binomial deviation.
    #[cfg(test)]
    #[must_use]
    pub(super) fn structural_deviation(&self, live_servers: usize, replicas: usize) -> Option<f64> {
        let own = self.balance.structural_deviation(live_servers, replicas)?;
        let Granularity::Groups { groups } = self.granularity else { return Some(own) };
        // The groups themselves are a finite draw.
        let part = (replicas as f64 / live_servers.max(1) as f64).min(1.0);
        let of_groups = (1.0 - part) / (part * groups as f64);
        Some(libm::sqrt(own * own + of_groups))
    }
}

/// How evenly keys are distributed over servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balance {
    /// Like independent draws: only the binomial deviation.
    Independent,
    /// Like independent draws among the members of each group; servers that fill no group get nothing.
    WithinGroups {
        /// The number of servers per group.
        members: u32,
        /// The number of servers with a weight that are in no group.
        idle: u32,
    },
    /// Servers own arcs of random length: a share deviates by about `1/sqrt(virtual_nodes * replicas)` from
    /// its ideal.
    Arcs {
        /// Virtual nodes per weight of 1.0.
        virtual_nodes: u32,
    },
    /// Servers own cells of random shape, less even than arcs: the estimate for arcs holds without the factor
    /// for replicas.
    Cells {
        /// Virtual nodes per weight of 1.0.
        virtual_nodes: u32,
    },
    /// Shares are whole slots of a table: besides the draw of keys they deviate by at most one slot from the
    /// ideal.
    Slots {
        /// The number of slots of the whole table.
        slots: u64,
    },
    /// Load is counted as data are placed, and the less loaded of two choices gets them: the deviation does
    /// not grow with the number of groups.
    LessLoadedOfTwo,
}

impl Balance {
    #[cfg(test)]
    fn structural_deviation(self, live_servers: usize, replicas: usize) -> Option<f64> {
        match self {
            Balance::Independent => Some(0.0),
            Balance::Arcs { virtual_nodes } => {
                Some(1.0 / libm::sqrt(f64::from(virtual_nodes) * replicas.max(1) as f64))
            }
            // Half a slot in either direction is a uniform error: its deviation is 1/sqrt(12) of a slot.
            Balance::Slots { slots } => Some(live_servers as f64 / slots as f64 / libm::sqrt(12.0)),
            Balance::WithinGroups { idle: 0, .. } => Some(0.0),
            // The others share what the idle ones do not get.
            Balance::WithinGroups { idle, .. } => {
                let busy = (live_servers as f64 - f64::from(idle)).max(1.0);
                Some(libm::sqrt(f64::from(idle) / busy))
            }
            Balance::Cells { .. } | Balance::LessLoadedOfTwo => None,
        }
    }
}

/// With which servers a server shares data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declustering {
    /// With any other: replicas are drawn independently of each other.
    Everyone,
    /// Only with the neighbours of its virtual nodes.
    Neighbours {
        /// Virtual nodes per weight of 1.0.
        virtual_nodes: u32,
    },
    /// Only with the other members of its group.
    Members {
        /// The number of servers per group.
        members: u32,
    },
}

impl Declustering {
    /// The maximum number of servers that can share data with a server of weight 1.0.
    #[cfg(test)]
    #[must_use]
    pub(super) fn peers_max(self, live_servers: usize, replicas: usize) -> usize {
        let others = live_servers.saturating_sub(1);
        let apart = replicas.saturating_sub(1);
        match self {
            _ if apart == 0 => 0,
            Declustering::Everyone => others,
            Declustering::Members { members } => others.min(members.saturating_sub(1) as usize),
            Declustering::Neighbours { virtual_nodes } => {
                others.min((virtual_nodes as usize).saturating_mul(2 * apart))
            }
        }
    }
}

/// The effect of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// The first copy goes to each server in proportion to its weight. Further copies go to other servers, so
    /// several copies are draws without replacement ([`super::Placement::expected_shares`]).
    Exact,
    /// Shares are proportional to weights rounded to a number of steps per weight of 1.0.
    Rounded {
        /// Steps per weight of 1.0.
        steps: u32,
    },
    /// Shares are proportional to weights within a group; all groups get the same.
    WithinGroup,
    /// All servers with a weight above zero get the same.
    Ignored,
}

/// The movement caused by a change of the cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Movement {
    /// Only what the changed server gains or loses.
    Minimal,
    /// That for one copy. Several copies are draws that are repeated until the servers differ: a server that
    /// is drawn twice for a key may displace two others when it comes, or let two others in when it goes.
    MinimalForOne,
    /// More than what the changed server gains or loses, but in proportion to it.
    NearMinimal {
        /// The maximum factor over the minimum, if the algorithm is used as its authors recommend.
        times_max: f64,
    },
    /// Nothing: weights are ignored.
    Nothing,
    /// A large part of all data.
    Most,
    /// More than the minimum, by a factor for which no bound is known.
    Unbounded,
}

/// The failure domains by which replicas are separated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureDomains {
    /// Distinct servers only.
    ServersOnly,
}

/// The cost of one lookup as a function of the number of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// The same for any number of servers.
    Constant,
    /// One more step per doubling.
    Logarithmic,
    /// Every server (or virtual node) is examined.
    Linear,
}

/// The unit of placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granularity {
    /// Each key is placed individually, by computation alone.
    AnyKey,
    /// Keys are divided into groups, and groups are placed.
    Groups {
        /// The number of groups.
        groups: u64,
    },
}
