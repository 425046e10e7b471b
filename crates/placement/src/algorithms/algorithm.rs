//! From a name to a placement: the words of scenarios, which every study shares.
//!
//! The words of scenarios have hyphens. Those of libch-placement, with underscores, and `crush` for its
//! newest kind of bucket are other names.

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
    /// CRUSH with one ring bucket of independent draws.
    #[schemars(extend("x-aliases" = ["crush_vring"]))]
    CrushVring,
    /// A ring with virtual nodes, in the manner of Chord.
    Ring,
    /// One ring a virtual node.
    Multiring,
    /// Rendezvous hashing.
    Rendezvous,
    /// Jump consistent hash.
    Jump,
    /// Maglev's table.
    Maglev,
    /// The remainder of a hash.
    #[schemars(extend("x-aliases" = ["static_modulo"]))]
    StaticModulo,
    /// The less loaded of two, by a table of groups.
    #[schemars(extend("x-aliases" = ["two_choice"]))]
    TwoChoice,
    /// Least bitwise distance.
    Xor,
    /// Least distance in the plane.
    #[schemars(extend("x-aliases" = ["two_d"]))]
    TwoD,
    /// Groups of servers that negotiate among themselves, as in Replicast.
    Negotiating,
}

/// What an algorithm needs to know beside the servers.
#[derive(Clone, Copy, Debug)]
pub struct Arrangement {
    /// Virtual nodes of a server of weight 1.
    pub vnodes: u32,
    /// Groups, for algorithms that keep a table of them.
    pub groups: u32,
    /// Copies that are placed and counted as load.
    pub replicas: usize,
    /// What makes one arrangement differ from another.
    pub seed: u32,
}

/// Groups of the table of two choices where objects are placed one by one.
pub const GROUPS_USUAL: u32 = 65_536;

impl Algorithm {
    /// Every one, in the order of the schema.
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

    /// The word in scenarios.
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

    /// The algorithm of that name, or of one of its other names.
    #[must_use]
    pub fn named(name: &str) -> Option<Algorithm> {
        let name = if name == "crush" { "crush-straw2" } else { name };
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name.replace('_', "-"))
    }

    /// The kind of CRUSH's buckets, where it is CRUSH.
    #[must_use]
    pub fn bucket(self) -> Option<Alg> {
        match self {
            Self::CrushStraw2 => Some(Alg::Straw2),
            Self::CrushStraw => Some(Alg::Straw),
            Self::CrushVring => Some(Alg::Vring),
            _ => None,
        }
    }

    /// Whether it uses `vnodes`.
    #[must_use]
    pub fn has_virtual_nodes(self) -> bool {
        matches!(self, Self::Ring | Self::Multiring | Self::Xor | Self::TwoD)
    }

    /// Whether it looks groups up by their number in a table of its own.
    #[must_use]
    pub fn has_table(self) -> bool {
        self == Self::TwoChoice
    }

    /// Bytes that a server takes beside what it takes in every algorithm, and a virtual node of it, before
    /// and after the change: measured with 2,000 and 16,384 servers.
    #[must_use]
    pub fn memory(self) -> (u64, u64) {
        match self {
            Self::CrushVring => (40_000, 0),
            Self::Maglev => (900, 0),
            Self::Ring | Self::Multiring => (0, 84),
            Self::Xor => (0, 27),
            Self::TwoD => (0, 8),
            _ => (0, 0),
        }
    }

    /// Servers of a negotiating group.
    #[must_use]
    pub fn members(self) -> Option<u32> {
        (self == Self::Negotiating).then_some(MEMBERS_PUBLISHED)
    }

    /// Sets it up.
    ///
    /// # Errors
    /// When it cannot serve such a cluster.
    pub fn set_up(self, cluster: &Cluster, with: &Arrangement) -> Result<Box<dyn Placement>, SetupError> {
        let Arrangement { vnodes, groups, replicas, seed } = *with;
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
            Self::Maglev => Box::new(Maglev::new(cluster, Maglev::slots_for(cluster.ids() as u32), seed)?),
            Self::StaticModulo => Box::new(StaticModulo::new(cluster)?),
            Self::TwoChoice => Box::new(TwoChoice::new(cluster, TwoChoiceSpec { groups, replicas, seed })?),
            Self::Xor => Box::new(Xor::new(cluster, vnodes, seed)?),
            Self::TwoD => Box::new(TwoD::new(cluster, vnodes, seed)?),
            Self::Negotiating => Box::new(Negotiating::new(cluster, MEMBERS_PUBLISHED, seed)?),
        })
    }
}

/// The most positions on rings: each takes 16 bytes or more.
pub const POSITIONS_MAX: u64 = 100_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    /// What a schema lists, with its other names, is what `named` finds.
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
