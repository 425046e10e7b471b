//! The locations of chunks that were stored long before a run, which gets request.
//!
//! A store holds far more chunks than a run of milliseconds adds. So the chunks that are read existed before,
//! and no table of them is kept: the name of a chunk determines its group and which members hold it, or for
//! the unicast protocols which servers. Replicast chose holders by their load at that time, which no longer
//! matters, so every choice is equally likely.

use towtank_streams::{Draws, Purpose, Seed, Uniform};

use crate::{ServerId, Terms};

/// The name of a stored chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct ChunkName(pub u64);

/// Draws the group.
const GROUP: Purpose = Purpose(1);
/// Draws the servers.
const HOLDERS: Purpose = Purpose(2);

impl Terms {
    /// The group that a chunk belongs to.
    #[must_use]
    pub(crate) fn group_of(&self, chunk: ChunkName) -> u32 {
        Draws::new(Seed(chunk.0), 0, 0).of(GROUP).below(u64::from(self.groups().max(1))) as u32
    }

    /// The servers that hold a chunk, one per replica.
    #[must_use]
    pub fn holders(&self, chunk: ChunkName) -> Vec<ServerId> {
        let (first, count) = if self.fixed.protocol.negotiates() {
            (self.group_of(chunk) * self.fixed.group, self.fixed.group)
        } else {
            (0, self.fixed.servers)
        };
        let mut draws = Draws::new(Seed(chunk.0), 0, 0);
        let mut draws = draws.of(HOLDERS);
        let mut holders = Vec::with_capacity(self.replicas());
        while holders.len() < self.replicas().min(count as usize) {
            let server = ServerId(first + draws.below(u64::from(count.max(1))) as u32);
            if !holders.contains(&server) {
                holders.push(server);
            }
        }
        debug_assert!(
            holders.iter().all(|server| server.0 < self.fixed.servers),
            "a chunk lies beyond the {} servers: {holders:?}",
            self.fixed.servers
        );
        holders
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Protocol;
    use crate::terms::tests::fixed;

    #[test]
    fn holders_are_distinct_members_and_evenly_chosen() {
        let terms = Terms::new(fixed(Protocol::ReplicastM));
        let mut held = vec![0_u32; 90];
        for name in 0..9_000 {
            let chunk = ChunkName(name);
            let holders = terms.holders(chunk);
            let members: Vec<ServerId> = terms.members(terms.group_of(chunk)).collect();
            assert!(holders.len() == 3 && holders.iter().all(|server| members.contains(server)));
            assert!(holders[0] != holders[1] && holders[1] != holders[2] && holders[0] != holders[2]);
            holders.iter().for_each(|server| held[server.0 as usize] += 1);
        }
        // 300 each, with a standard deviation of 17.
        assert!(held.iter().all(|count| (220..380).contains(count)), "{held:?}");
        let unicast = Terms::new(fixed(Protocol::UchCcp));
        assert!((0..900).any(|name| unicast.holders(ChunkName(name)).iter().any(|server| server.0 > 80)));
    }
}
