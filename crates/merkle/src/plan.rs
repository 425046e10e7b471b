//! What to set up for a pool, and the expected cost of finding the stale objects after an outage: the results
//! of `sizing` and `cost` in one table.

use crate::Tree;
use crate::cost::{Cost, Discovery, Group, cells_per_difference, expected};
use crate::sizing::{Outage, distinct, leaf_bits_for, objects_to_check_per_write, ranges_filled};
use crate::sketch::Sketch;

/// A pool, the outage to prepare for, and the cost of single steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pool {
    /// Objects in a placement group.
    pub objects_per_group: f64,
    /// Placement groups.
    pub groups: u64,
    /// Copies of each object.
    pub replicas: u64,
    /// Devices that hold the pool.
    pub devices: u64,
    /// Writes of clients to the pool, per second.
    pub writes_per_second: f64,
    /// How long a replica is away, in seconds.
    pub outage_s: f64,
    /// The base-2 logarithm of the number of leaves of a group's tree; if `None`, the plan chooses it.
    pub leaf_bits: Option<u8>,
    /// Cells of a group's sketch; if `None`, the plan chooses the number.
    pub sketch_cells: Option<u64>,
    /// The cost of single steps.
    pub costs: Costs,
}

/// The cost of single steps of a discovery.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// The time to look at one object, in seconds.
    pub look_s: f64,
    /// The time to send one byte, in seconds.
    pub byte_s: f64,
    /// The time to send one message, in seconds.
    pub message_s: f64,
    /// The time to compute one digest, in seconds.
    pub digest_s: f64,
    /// The size of one entry in a list of objects, in bytes.
    pub entry_bytes: f64,
}

impl Costs {
    /// The thesis's cluster: 5.2 ms per object, fitted from its table 2. The network of 1 Gbit/s with 0.2 ms
    /// per message, 5 ns per digest and 48 bytes per entry are choices of this project.
    pub const THESIS: Costs =
        Costs { look_s: 5.2e-3, byte_s: 8e-9, message_s: 2e-4, digest_s: 5e-9, entry_bytes: 48.0 };

    fn seconds(&self, cost: &Cost) -> f64 {
        cost.looked_at * self.look_s
            + cost.bytes * self.byte_s
            + cost.messages * self.message_s
            + cost.digests * self.digest_s
    }
}

/// What to set up, and what to expect.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The number of ranges that a group's objects fill entirely, by equation (5).
    pub ranges_filled: f64,
    /// Leaves of a group's tree.
    pub leaves: u64,
    /// The base-2 logarithm of `leaves`.
    pub leaf_bits: u8,
    /// Cells of a group's sketch. If the plan chose the number, it is enough for the stale objects plus an
    /// eighth.
    pub sketch_cells: u64,
    /// Memory of one tree, including its marks.
    pub memory_bytes_per_group: u64,
    /// Memory of the trees of all groups of a device.
    pub memory_bytes_per_device: u64,
    /// Memory of one sketch.
    pub sketch_bytes_per_group: u64,
    /// Groups per device, on average.
    pub groups_per_device: f64,
    /// Writes that a group gets during the outage.
    pub writes_per_group: f64,
    /// Objects of a group that are stale after the outage.
    pub stale_objects: f64,
    /// The same by the thesis's equation (1), which divides writes by the replicas and assumes that no object
    /// is written twice.
    pub stale_objects_in_thesis: f64,
    /// Ranges that hold a stale object.
    pub stale_ranges: f64,
    /// Objects to look at per written object.
    pub objects_to_check_per_write: f64,
    /// The cost of each way to find them, per group, in the order of [`Discovery::ALL`].
    pub methods: Vec<Method>,
}

/// The cost of one way to find the stale objects of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Method {
    /// The way to find them.
    pub discovery: Discovery,
    /// Objects that one side looks at.
    pub looked_at: f64,
    /// Bytes sent.
    pub bytes: f64,
    /// Messages sent.
    pub messages: f64,
    /// The time in seconds if the steps run one after the other.
    pub seconds: f64,
}

/// Why there is no plan for a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A count that is 0 and is a divisor.
    #[error("`{key}` is 0, but must be at least 1")]
    None {
        /// The key of that count.
        key: &'static str,
    },
    /// A number that is negative or not finite.
    #[error("`{key}` must be a number of 0 or more")]
    NotAnAmount {
        /// The key of that number.
        key: &'static str,
    },
    /// More leaves than a tree may have.
    #[error("`leaf_bits` is {asked}, but must be at most {most}")]
    TooManyLeaves {
        /// The logarithm requested.
        asked: u8,
        /// The greatest value possible.
        most: u8,
    },
    /// More cells than a sketch may have.
    #[error("`sketch_cells` is {asked}, but must be at most {most}")]
    TooManyCells {
        /// The number requested.
        asked: u64,
        /// The greatest number possible.
        most: u64,
    },
}

impl Plan {
    /// What is stale is a part of what there is, up to the rounding of floats.
    fn law_of_shares(&self, objects: f64) {
        let exceeds = |part: f64, whole: f64| part > whole * (1.0 + 1e-9);
        let stale = self.stale_objects;
        assert!(!exceeds(stale, objects), "no more objects are stale than there are: {stale} of {objects}");
        let (ranges, leaves) = (self.stale_ranges, self.leaves as f64);
        assert!(!exceeds(ranges, leaves), "no more ranges are stale than there are: {ranges} of {leaves}");
    }
}

impl Pool {
    /// What to set up for this pool, and the expected costs.
    ///
    /// # Errors
    ///
    /// If a number of the pool is impossible.
    pub fn plan(&self) -> Result<Plan, PlanError> {
        self.check()?;
        let outage = Outage {
            span_s: self.outage_s,
            writes_per_second: self.writes_per_second,
            groups: self.groups as f64,
        };
        let objects = self.objects_per_group;
        let leaf_bits = self.leaf_bits.unwrap_or_else(|| leaf_bits_for(objects));
        let leaves = 1_u64 << leaf_bits;
        let stale_objects = outage.stale_objects(objects);
        let sketch_cells = self.sketch_cells.unwrap_or_else(|| cells_for(stale_objects));
        let groups_per_device = self.groups as f64 * self.replicas as f64 / self.devices as f64;
        let memory_bytes_per_group = Tree::memory_bytes(leaf_bits);
        let group = Group {
            objects,
            stale: stale_objects,
            leaf_bits,
            stride: 4,
            sketch_cells: sketch_cells as f64,
            entry_bytes: self.costs.entry_bytes,
        };
        let plan = Plan {
            ranges_filled: ranges_filled(objects),
            leaves,
            leaf_bits,
            sketch_cells,
            memory_bytes_per_group,
            memory_bytes_per_device: (groups_per_device * memory_bytes_per_group as f64).ceil() as u64,
            sketch_bytes_per_group: Sketch::memory_bytes(sketch_cells),
            groups_per_device,
            writes_per_group: outage.writes_per_group(),
            stale_objects,
            stale_objects_in_thesis: outage.stale_in_thesis(self.replicas as f64, objects),
            stale_ranges: distinct(leaves as f64, stale_objects),
            objects_to_check_per_write: objects_to_check_per_write(objects, leaves as f64),
            methods: Discovery::ALL.map(|discovery| self.method(discovery, &group)).to_vec(),
        };
        plan.law_of_shares(objects);
        Ok(plan)
    }

    fn method(&self, discovery: Discovery, group: &Group) -> Method {
        let cost = expected(discovery, group);
        let Cost { looked_at, bytes, messages, .. } = cost;
        Method { discovery, looked_at, bytes, messages, seconds: self.costs.seconds(&cost) }
    }

    fn check(&self) -> Result<(), PlanError> {
        for (key, count) in [("groups", self.groups), ("replicas", self.replicas), ("devices", self.devices)]
        {
            if count == 0 {
                return Err(PlanError::None { key });
            }
        }
        for (key, amount) in [
            ("objects_per_group", self.objects_per_group),
            ("writes_per_second", self.writes_per_second),
            ("outage", self.outage_s),
        ] {
            if !(amount >= 0.0 && amount.is_finite()) {
                return Err(PlanError::NotAnAmount { key });
            }
        }
        let most = crate::Shape::LEAF_BITS_MAX;
        if let Some(asked) = self.leaf_bits.filter(|asked| *asked > most) {
            return Err(PlanError::TooManyLeaves { asked, most });
        }
        let most = Sketch::CELLS_MAX as u64;
        match self.sketch_cells.filter(|asked| *asked > most) {
            Some(asked) => Err(PlanError::TooManyCells { asked, most }),
            None => Ok(()),
        }
    }
}

/// Cells for so many objects that differ, and an eighth more, since the number that is needed varies.
#[must_use]
pub fn cells_for(differing: f64) -> u64 {
    let cells = differing * cells_per_difference(differing.max(1.0)) * 1.125;
    (cells.ceil() as u64).clamp(64, Sketch::CELLS_MAX as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const POOL: Pool = Pool {
        objects_per_group: 250_000.0,
        groups: 128,
        replicas: 3,
        devices: 6,
        writes_per_second: 1000.0,
        outage_s: 3600.0,
        leaf_bits: None,
        sketch_cells: None,
        costs: Costs::THESIS,
    };

    #[test]
    fn the_thesis_example_is_planned() {
        let plan = POOL.plan().expect("its numbers are possible");
        assert_eq!((plan.leaves, plan.leaf_bits), (16_384, 14));
        assert!((plan.ranges_filled - 23_500.0).abs() < 50.0);
        assert!((plan.writes_per_group - 28_125.0).abs() < 1e-6);
        assert!((plan.stale_objects - 26_600.0).abs() < 100.0, "{}", plan.stale_objects);
        assert!((plan.stale_objects_in_thesis - 9_375.0).abs() < 1e-6);
        // 64 groups of 2^14 leaves on a device: the thesis needs about 100 MB for them.
        assert!((plan.groups_per_device - 64.0).abs() < 1e-9);
        assert!(
            (16 << 20..17 << 20).contains(&plan.memory_bytes_per_device),
            "{}",
            plan.memory_bytes_per_device
        );
        let of =
            |discovery| *plan.methods.iter().find(|it| it.discovery == discovery).expect("all are there");
        let scan = of(Discovery::Scan);
        assert!((scan.looked_at - 250_000.0).abs() < 1e-6 && scan.seconds > 1_300.0);
        let sketch = of(Discovery::Sketch);
        assert!((sketch.looked_at - plan.stale_objects).abs() < 1e-6);
        assert!(sketch.bytes <= 64.0 * plan.stale_objects);
        assert!(plan.methods.iter().all(|method| method.looked_at <= scan.looked_at + 1e-6));
    }

    #[test]
    #[should_panic(expected = "no more objects are stale than there are: 11 of 10")]
    fn more_stale_objects_than_objects_break_a_law() {
        Plan { stale_objects: 11.0, ..POOL.plan().expect("its numbers are possible") }.law_of_shares(10.0);
    }

    #[test]
    #[should_panic(expected = "no more ranges are stale than there are: 16385 of 16384")]
    fn more_stale_ranges_than_leaves_break_a_law() {
        Plan { stale_ranges: 16_385.0, ..POOL.plan().expect("its numbers are possible") }.law_of_shares(1e9);
    }

    #[test]
    fn impossible_pools_are_refused() {
        let message = |pool: Pool| pool.plan().expect_err("impossible").to_string();
        assert_eq!(message(Pool { groups: 0, ..POOL }), "`groups` is 0, but must be at least 1");
        assert_eq!(message(Pool { outage_s: -1.0, ..POOL }), "`outage` must be a number of 0 or more");
        assert_eq!(
            message(Pool { leaf_bits: Some(25), ..POOL }),
            "`leaf_bits` is 25, but must be at most 24"
        );
        assert!(message(Pool { sketch_cells: Some(1 << 23), ..POOL }).contains("at most 4194304"));
    }

    #[test]
    fn a_quiet_pool_costs_the_trees_two_roots() {
        let plan = Pool { writes_per_second: 0.0, ..POOL }.plan().expect("nothing happens");
        let of =
            |discovery| *plan.methods.iter().find(|it| it.discovery == discovery).expect("all are there");
        for discovery in [Discovery::Merkle, Discovery::MerkleLevels, Discovery::Sketch] {
            assert_eq!((of(discovery).looked_at, of(discovery).messages), (0.0, 2.0), "{discovery:?}");
        }
        assert!(of(Discovery::Rebuilt).looked_at > 0.0, "it is built before anything is known");
    }
}
