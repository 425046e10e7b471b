//! A placement that gives every key the same list, whatever is in it, for planted violations.

use super::*;

#[derive(Debug)]
pub(in crate::algorithms) struct Broken {
    /// Has the cluster, and what a placement must say of itself.
    modulo: StaticModulo,
    list: Vec<ServerId>,
}

impl Broken {
    pub fn listing(servers: u32, list: &[u32]) -> Broken {
        let modulo = StaticModulo::new(&Cluster::equal(servers)).expect("there are servers");
        Broken { modulo, list: list.iter().copied().map(ServerId).collect() }
    }
}

impl Placement for Broken {
    fn name(&self) -> &'static str {
        "broken"
    }

    fn cluster(&self) -> &Cluster {
        self.modulo.cluster()
    }

    fn guarantees(&self) -> Guarantees {
        self.modulo.guarantees()
    }

    fn lookup_excluding(&self, _: u64, _: &ServerSet, servers: &mut [ServerId]) -> usize {
        let found = servers.len().min(self.list.len());
        servers[..found].copy_from_slice(&self.list[..found]);
        found
    }

    fn key_space(&self) -> KeySpace {
        KeySpace::AsGiven
    }
}
