//! A cluster whose data some devices lose: its machines, the placement, and the objects.

use towtank_placement::algorithms::Algorithm;
use towtank_population::{Extent, Layout, Population, SizeHistogram};
use towtank_rebuild::affected::{Affected, Found};
use towtank_rebuild::hardware::Hardware;
use towtank_rebuild::placing::{LostSet, Placing};
use towtank_rebuild::redundancy::Redundancy;
use towtank_rebuild::search::Search;
use towtank_streams::Seed;

use crate::sample::{self, Size};

/// Three copies.
pub const COPIES: Redundancy = Redundancy { data: 1, width: 3 };

#[derive(Clone, Copy, Debug)]
pub struct Cluster {
    pub size: Size,
    pub placing: Placing,
    pub objects: u64,
}

impl Cluster {
    /// Servers with so many disks, in one rack, and three copies of each object.
    pub fn new((servers, disks): (u32, u32), algorithm: Algorithm, objects: u64) -> Cluster {
        let placing = Placing { vnodes: 64, ..sample::placing(algorithm, COPIES) };
        Cluster { size: Size { racks: 1, servers, disks }, placing, objects }
    }

    pub fn found_by(self, lost_set: LostSet) -> Cluster {
        Cluster { placing: Placing { lost_set, ..self.placing }, ..self }
    }

    pub fn in_groups(self, groups: Option<u32>) -> Cluster {
        Cluster { placing: Placing { groups, ..self.placing }, ..self }
    }

    pub fn hardware(&self) -> Hardware {
        sample::hardware(self.size)
    }

    /// Files like those of the 1000 Genomes data set, in chunks.
    pub fn population(&self, seed: Seed) -> Population {
        let (sizes, extent) = (SizeHistogram::thousand_genomes(), Extent::Objects(self.objects));
        let population = Population::new(&sizes, Layout::CHUNKS, extent, seed).expect("not too many");
        match self.placing.algorithm {
            // The ring of a key is its remainder.
            Algorithm::Multiring => population.with_key_modulus(u64::from(self.placing.vnodes)),
            _ => Ok(population),
        }
        .expect("a few rings")
    }

    /// What is affected when these devices fail.
    pub fn affected(&self, failing: &[u32], seed: u64) -> Affected {
        let hardware = self.hardware();
        let failing: Vec<bool> = (0..hardware.devices()).map(|device| failing.contains(&device)).collect();
        let search = Search {
            placing: &self.placing,
            hardware: &hardware,
            population: &self.population(Seed(seed)),
            failing: &failing,
            seed: Seed(seed),
            stopped: &|| false,
        };
        search.run().expect("the placement can be set up").expect("nobody stops it")
    }

    /// The same, where it is known how that is found.
    pub fn affected_as(&self, found: Found, failing: &[u32], seed: u64) -> Affected {
        let affected = self.affected(failing, seed);
        assert_eq!(affected.found, found, "{self:?}");
        affected
    }
}
