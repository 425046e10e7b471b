//! What a placement promises, as data: what a study prints beside what it measures.
//!
//! The terms are structural, before any sampling noise: how far the share of a server may stand from its
//! ideal share, with how many others it shares data, and what a change of the cluster moves.

/// The promises of one algorithm as it was set up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guarantees {
    /// How evenly keys are spread over servers.
    pub balance: Balance,
    /// How a server's data are spread over its peers.
    pub declustering: Declustering,
    /// What weights do.
    pub weights: Weights,
    /// What moves when a server joins with the next free id.
    pub on_add: Movement,
    /// What moves when a server leaves.
    pub on_remove: Movement,
    /// What moves when the weight of a server changes.
    pub on_reweight: Movement,
    /// Whether replicas are kept apart by more than the server.
    pub failure_domains: FailureDomains,
    /// What one lookup costs.
    pub cost: Cost,
    /// What a lookup is for: any object, or groups placed once and remembered.
    pub granularity: Granularity,
}

impl Guarantees {
    /// The relative standard deviation of a server's share that comes from the structure alone, at equal
    /// weights, where it is known. What the draw of a finite number of keys adds is the binomial deviation.
    #[must_use]
    pub fn structural_deviation(&self, live_servers: usize, replicas: usize) -> Option<f64> {
        let own = self.balance.structural_deviation(live_servers, replicas)?;
        let Granularity::Groups { groups } = self.granularity else { return Some(own) };
        // The groups themselves are a finite draw.
        let part = (replicas as f64 / live_servers.max(1) as f64).min(1.0);
        let of_groups = (1.0 - part) / (part * groups as f64);
        Some(libm::sqrt(own * own + of_groups))
    }
}

/// How evenly keys are spread over servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balance {
    /// Like independent draws: the binomial spread and nothing on top.
    Independent,
    /// Servers own arcs of random length: a share stands about `1/sqrt(virtual_nodes * replicas)` from its
    /// ideal.
    Arcs {
        /// Virtual nodes at weight 1.0.
        virtual_nodes: u32,
    },
    /// Servers own cells of random shape, less even than arcs: the bound of arcs holds with no replicas
    /// counted.
    Cells {
        /// Virtual nodes at weight 1.0.
        virtual_nodes: u32,
    },
    /// Shares are whole slots of a table, so that they stand at most one slot (and the draw of keys) from the
    /// ideal.
    Slots {
        /// Slots of the whole table.
        slots: u64,
    },
    /// Load is counted as data are placed, and the less loaded of two choices gets them: a deviation that
    /// does not grow with the number of groups.
    LessLoadedOfTwo,
}

impl Balance {
    fn structural_deviation(self, live_servers: usize, replicas: usize) -> Option<f64> {
        match self {
            Balance::Independent => Some(0.0),
            Balance::Arcs { virtual_nodes } => {
                Some(1.0 / libm::sqrt(f64::from(virtual_nodes) * replicas.max(1) as f64))
            }
            // Half a slot either way is a uniform error: its deviation is 1/sqrt(12) of a slot.
            Balance::Slots { slots } => Some(live_servers as f64 / slots as f64 / libm::sqrt(12.0)),
            Balance::Cells { .. } | Balance::LessLoadedOfTwo => None,
        }
    }
}

/// With how many others a server shares data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declustering {
    /// With any other: replicas are drawn independently of each other.
    Everyone,
    /// With the neighbours of its virtual nodes alone.
    Neighbours {
        /// Virtual nodes at weight 1.0.
        virtual_nodes: u32,
    },
    /// With the other members of its group alone.
    Members {
        /// Servers of one group.
        members: u32,
    },
}

impl Declustering {
    /// The most servers that can share data with a server of weight 1.0.
    #[must_use]
    pub fn peers_max(self, live_servers: usize, replicas: usize) -> usize {
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

/// What weights do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// Shares follow the weights, apart from what distinct replicas forbid.
    Exact,
    /// Shares follow the weights rounded to so many steps for a weight of 1.0.
    Rounded {
        /// Steps for a weight of 1.0.
        steps: u32,
    },
    /// Shares follow the weights among the members of a group; groups get the same.
    WithinGroup,
    /// Servers with any weight get the same; zero still means none.
    Ignored,
}

/// What a change of the cluster moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Movement {
    /// Only what the changed server gains or loses.
    Minimal,
    /// More than the changed server gains or loses, but in proportion to it.
    NearMinimal {
        /// At most so many times the least, where the algorithm is used as its authors advise.
        times_max: f64,
    },
    /// Nothing: weights are ignored.
    Nothing,
    /// A large part of everything.
    Most,
}

/// Whether replicas are kept apart by more than the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureDomains {
    /// Distinct servers, nothing else.
    ServersOnly,
}

/// What one lookup costs, in the number of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// The same for any number of servers.
    Constant,
    /// A step more for each doubling.
    Logarithmic,
    /// Every server (or virtual node) is looked at.
    Linear,
}

/// What a lookup is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granularity {
    /// Each key is placed for itself, by computation alone.
    AnyKey,
    /// Keys fall into groups, and groups are placed.
    Groups {
        /// How many groups.
        groups: u64,
    },
}
