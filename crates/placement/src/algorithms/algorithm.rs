//! Placement algorithms by name: the words that all studies' scenarios use.
//!
//! The words have hyphens. The names of libch-placement, with underscores, and `crush` for CRUSH with its
//! newest kind of bucket are aliases.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::flat_crush::FlatCrush;
use super::{
    Cluster, Jump, MEMBERS_PUBLISHED, Maglev, MultiRing, Negotiating, Placement, Rendezvous, Ring,
    SetupError, StaticModulo, TwoChoice, TwoChoiceSpec, TwoD, Xor,
};
use crate::crush::Alg;

/// How keys find their servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// CRUSH with straw2 buckets, as new Ceph clusters have.
    #[default]
    #[serde(rename = "crush-straw2")]
    #[schemars(extend("x-aliases" = ["crush", "crush_straw2"]))]
    CrushStraw2,
    /// CRUSH with straw buckets, as Ceph had before hammer.
    #[schemars(extend("x-aliases" = ["crush_straw"]))]
    CrushStraw,
    /// CRUSH with one bucket of consistent hashing, which draws each replica independently.
    #[schemars(extend("x-aliases" = ["crush_vring"]))]
    CrushVring,
    /// A consistent-hashing ring with virtual nodes, as in Chord.
    Ring,
    /// One ring per virtual node; the key selects the ring.
    Multiring,
    /// Rendezvous hashing.
    Rendezvous,
    /// Jump consistent hash.
    Jump,
    /// Maglev's lookup table.
    Maglev,
    /// The hash of the key modulo the number of servers.
    #[schemars(extend("x-aliases" = ["static_modulo"]))]
    StaticModulo,
    /// The less loaded of two random servers, from a table of groups.
    #[schemars(extend("x-aliases" = ["two_choice"]))]
    TwoChoice,
    /// The servers at the least XOR distance, as in Kademlia.
    Xor,
    /// The servers nearest to the key in the plane.
    #[schemars(extend("x-aliases" = ["two_d"]))]
    TwoD,
    /// Groups of servers whose members negotiate which of them store a key, as in Replicast.
    Negotiating,
}

/// The parameters of an algorithm besides the servers.
#[derive(Clone, Copy, Debug)]
pub struct Arrangement {
    /// Virtual nodes per server of weight 1.
    pub vnodes: u32,
    /// The number of groups, for algorithms that keep a table of them.
    pub groups: u32,
    /// The slots of Maglev's table. It must stay when servers come or go.
    pub slots: u32,
    /// The number of replicas that are placed and counted as load.
    pub replicas: usize,
    /// The seed of the arrangement.
    pub seed: u32,
}

/// The number of groups of `two-choice` if objects are placed individually.
pub const GROUPS_USUAL: u32 = 65_536;

impl Algorithm {
    /// All algorithms, in the order of the schema.
    pub const ALL: [Algorithm; 13] = [
        Self::CrushStraw2,
        Self::CrushStraw,
        Self::CrushVring,
        Self::Ring,
        Self::Multiring,
        Self::Rendezvous,
        Self::Jump,
        Self::Maglev,
        Self::StaticModulo,
        Self::TwoChoice,
        Self::Xor,
        Self::TwoD,
        Self::Negotiating,
    ];

    /// The name in scenarios.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CrushStraw2 => "crush-straw2",
            Self::CrushStraw => "crush-straw",
            Self::CrushVring => "crush-vring",
            Self::Ring => "ring",
            Self::Multiring => "multiring",
            Self::Rendezvous => "rendezvous",
            Self::Jump => "jump",
            Self::Maglev => "maglev",
            Self::StaticModulo => "static-modulo",
            Self::TwoChoice => "two-choice",
            Self::Xor => "xor",
            Self::TwoD => "two-d",
            Self::Negotiating => "negotiating",
        }
    }

    /// The algorithm with this name or alias.
    #[must_use]
    pub fn named(name: &str) -> Option<Algorithm> {
        let name = if name == "crush" { "crush-straw2" } else { name };
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name.replace('_', "-"))
    }

    /// The kind of bucket, if the algorithm is CRUSH.
    #[must_use]
    pub fn bucket(self) -> Option<Alg> {
        match self {
            Self::CrushStraw2 => Some(Alg::Straw2),
            Self::CrushStraw => Some(Alg::Straw),
            Self::CrushVring => Some(Alg::Vring),
            _ => None,
        }
    }

    /// Whether the algorithm uses `vnodes`.
    #[must_use]
    pub fn has_virtual_nodes(self) -> bool {
        matches!(self, Self::Ring | Self::Multiring | Self::Xor | Self::TwoD)
    }

    /// Whether the algorithm keeps a table of groups, looked up by number.
    #[must_use]
    pub fn has_table(self) -> bool {
        self == Self::TwoChoice
    }

    /// Additional bytes per server, and per virtual node, for the placements before and after the change
    /// together, beyond what every algorithm needs: measured with 2,000 and 16,384 servers.
    #[must_use]
    pub fn memory(self) -> (u64, u64) {
        match self {
            Self::CrushVring => (40_000, 0),
            Self::Maglev => (100, 0),
            Self::Ring | Self::Multiring => (0, 84),
            Self::Xor => (0, 27),
            Self::TwoD => (0, 8),
            _ => (0, 0),
        }
    }

    /// The number of servers in a negotiating group; `None` for other algorithms.
    #[must_use]
    pub fn members(self) -> Option<u32> {
        (self == Self::Negotiating).then_some(MEMBERS_PUBLISHED)
    }

    /// Sets up the algorithm for a cluster.
    ///
    /// # Errors
    /// If the algorithm cannot serve such a cluster.
    pub fn set_up(self, cluster: &Cluster, with: &Arrangement) -> Result<Box<dyn Placement>, SetupError> {
        let Arrangement { vnodes, groups, slots, replicas, seed } = *with;
        let positions: u64 = cluster.live().map(|(_, weight)| u64::from(weight.share_of(vnodes))).sum();
        if self.has_virtual_nodes() && positions > POSITIONS_MAX {
            return Err(SetupError::TooManyPositions { asked: positions, limit: POSITIONS_MAX });
        }
        Ok(match self {
            Self::CrushStraw2 => Box::new(FlatCrush::new(cluster, Alg::Straw2, seed)?),
            Self::CrushStraw => Box::new(FlatCrush::new(cluster, Alg::Straw, seed)?),
            Self::CrushVring => Box::new(FlatCrush::new(cluster, Alg::Vring, seed)?),
            Self::Ring => Box::new(Ring::new(cluster, vnodes, seed)?),
            Self::Multiring => Box::new(MultiRing::new(cluster, vnodes, seed)?),
            Self::Rendezvous => Box::new(Rendezvous::new(cluster, seed)?),
            Self::Jump => Box::new(Jump::new(cluster, seed)?),
            Self::Maglev => Box::new(Maglev::new(cluster, slots, seed)?),
            Self::StaticModulo => Box::new(StaticModulo::new(cluster)?),
            Self::TwoChoice => Box::new(TwoChoice::new(cluster, TwoChoiceSpec { groups, replicas, seed })?),
            Self::Xor => Box::new(Xor::new(cluster, vnodes, seed)?),
            Self::TwoD => Box::new(TwoD::new(cluster, vnodes, seed)?),
            Self::Negotiating => Box::new(Negotiating::new(cluster, MEMBERS_PUBLISHED, seed)?),
        })
    }
}

/// The maximum number of positions on rings: each takes 16 bytes or more.
pub const POSITIONS_MAX: u64 = 100_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    /// `named` finds every name and alias in the schema.
    #[test]
    fn names_are_those_of_the_schema() {
        let schema = schemars::schema_for!(Algorithm).to_value();
        let mut listed = Vec::new();
        for (word, algorithm) in schema["oneOf"].as_array().unwrap().iter().zip(Algorithm::ALL) {
            assert_eq!(word["const"], algorithm.name());
            let others = word["x-aliases"].as_array().into_iter().flatten();
            for name in others.chain([&word["const"]]) {
                assert_eq!(Algorithm::named(name.as_str().unwrap()), Some(algorithm), "{name}");
            }
            listed.push(algorithm);
        }
        assert_eq!(listed, Algorithm::ALL);
        for unknown in ["", "crush_straw3", "CRUSH", "ring "] {
            assert_eq!(Algorithm::named(unknown), None, "{unknown}");
        }
    }
}
