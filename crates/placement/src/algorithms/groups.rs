//! Placement groups over any placement: keys are divided into groups by remainder, and groups are placed
//! instead of keys.
//!
//! A table holds each group's servers, so the cost of a lookup does not depend on the underlying algorithm,
//! and the keys of a server follow from the table without trying keys.

use super::draws::fill_from;
use super::guarantees::{Granularity, Guarantees};
use super::hashing::{Modulus, scatter};
use super::{Cluster, KeyRun, KeySpace, Placement, ServerId, ServerSet, SetupError, Territory, Touching};

/// How keys are divided into groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupedSpec {
    /// The number of groups.
    pub groups: u32,
    /// The number of servers per group in the table; longer lists are looked up.
    pub replicas: usize,
    /// Whether the group is the remainder of the key or of its hash.
    pub keys: KeySpace,
}

/// Groups of keys, placed by another algorithm.
#[derive(Debug)]
pub struct Grouped {
    inner: Box<dyn Placement>,
    spec: GroupedSpec,
    groups: Modulus,
    table: Vec<ServerId>,
}

impl Grouped {
    /// Places all groups with `inner`.
    ///
    /// # Errors
    /// If the number of groups or of replicas is zero.
    pub fn new(inner: Box<dyn Placement>, spec: GroupedSpec) -> Result<Grouped, SetupError> {
        for (parameter, is_zero) in [("groups", spec.groups == 0), ("replicas", spec.replicas == 0)] {
            if is_zero {
                return Err(SetupError::Zero { parameter });
            }
        }
        let mut table = vec![ServerId::NONE; spec.groups as usize * spec.replicas];
        for (group, row) in (0u64..).zip(table.chunks_exact_mut(spec.replicas)) {
            let found = inner.lookup(group_key(group), row);
            law_of_lists(group, &row[..found], inner.cluster().ids());
            row[found..].fill(ServerId::NONE);
        }
        Ok(Grouped { inner, spec, groups: Modulus::new(u64::from(spec.groups)), table })
    }

    /// The group of a key.
    #[must_use]
    pub fn group_of(&self, key: u64) -> u64 {
        self.groups.of(self.spec.keys.position(key))
    }

    /// The servers that the table holds for a group.
    ///
    /// # Panics
    /// If there is no such group.
    #[must_use]
    fn servers_of(&self, group: u64) -> &[ServerId] {
        let row = &self.table[group as usize * self.spec.replicas..][..self.spec.replicas];
        let found = row.iter().position(|server| *server == ServerId::NONE).unwrap_or(row.len());
        &row[..found]
    }
}

/// A group is on servers of the cluster, on each once.
fn law_of_lists(group: u64, list: &[ServerId], ids: usize) {
    for (at, server) in list.iter().enumerate() {
        assert!(server.index() < ids, "group {group} is on servers of the cluster: {server:?} of {ids}");
        assert!(!list[..at].contains(server), "group {group} is on each of its servers once: {list:?}");
    }
}

/// The key under which a group is placed.
fn group_key(group: u64) -> u64 {
    scatter(group)
}

impl Placement for Grouped {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn cluster(&self) -> &Cluster {
        self.inner.cluster()
    }

    fn guarantees(&self) -> Guarantees {
        let groups = self.groups.value();
        Guarantees { granularity: Granularity::Groups { groups }, ..self.inner.guarantees() }
    }

    #[inline]
    fn lookup_excluding(&self, key: u64, down: &ServerSet, servers: &mut [ServerId]) -> usize {
        let group = self.group_of(key);
        let found = fill_from(servers, down, self.servers_of(group).iter().copied());
        if found == servers.len() {
            return found;
        }
        self.inner.lookup_excluding(group_key(group), down, servers)
    }

    fn key_space(&self) -> KeySpace {
        self.spec.keys
    }

    fn territory(&self, touching: Touching, run: &mut dyn FnMut(KeyRun)) -> Territory {
        let Touching { server, replicas } = touching;
        let mut longer = vec![ServerId::NONE; replicas];
        for group in 0..self.groups.value() {
            let listed = if replicas <= self.spec.replicas {
                let known = self.servers_of(group);
                &known[..replicas.min(known.len())]
            } else {
                let found = self.inner.lookup(group_key(group), &mut longer);
                &longer[..found]
            };
            if listed.contains(&server) {
                run(KeyRun::residue_class(group, self.groups.value()));
            }
        }
        Territory::Exact(self.spec.keys)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::broken::Broken;
    use super::*;

    fn grouped(list: &[u32]) {
        let spec = GroupedSpec { groups: 2, replicas: list.len(), keys: KeySpace::AsGiven };
        let _ = Grouped::new(Box::new(Broken::listing(3, list)), spec);
    }

    #[test]
    #[should_panic(expected = "group 0 is on servers of the cluster: ServerId(3) of 3")]
    fn a_server_that_is_not_in_the_cluster_breaks_a_law() {
        grouped(&[1, 3]);
    }

    #[test]
    #[should_panic(
        expected = "group 0 is on each of its servers once: [ServerId(1), ServerId(2), ServerId(1)]"
    )]
    fn a_server_twice_in_a_list_breaks_a_law() {
        grouped(&[1, 2, 1]);
    }
}
