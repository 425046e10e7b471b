//! A cluster prepared for mapping: which devices each group belongs on.

use towtank_placement::crush::pools::{GroupPlacement, Placer, Pool};
use towtank_placement::crush::{Ask, Fault, Mapper, Workspace};

use crate::cluster::Cluster;

/// A state of a cluster, prepared for mapping.
pub struct LaidOut<'a> {
    placer: Placer<'a>,
    mapper: Mapper,
    workspace: Workspace,
}

impl<'a> LaidOut<'a> {
    /// Prepares a cluster for mapping.
    ///
    /// # Errors
    /// The fault of an invalid map.
    pub fn new(cluster: &'a Cluster) -> Result<Self, Fault> {
        let mapper = cluster.map.compile()?;
        let placer = Placer::new(&cluster.map, &cluster.overlay);
        Ok(Self { placer, mapper, workspace: Workspace::default() })
    }

    /// The devices that a group belongs on.
    pub fn place(&mut self, pool: &Pool, seed: u32) -> GroupPlacement {
        let (mapper, workspace) = (&self.mapper, &mut self.workspace);
        self.placer.place_by(pool, seed, &mut |rule, x, result_max, weights, pool| {
            let mut found = Vec::with_capacity(result_max);
            mapper.do_rule(Ask { rule, x, result_max, weights, pool }, workspace, &mut found);
            found
        })
    }

    /// The devices that several groups of a pool belong on, in their order: faster than one by one.
    pub fn place_all(&mut self, pool: &Pool, seeds: &[u32]) -> Vec<GroupPlacement> {
        self.placer.place_all(pool, seeds, &self.mapper, &mut self.workspace)
    }
}
