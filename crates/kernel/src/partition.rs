//! The division of entities among workers.
//!
//! Conservative workers cannot share entities joined by zero-delay links, so these stay in one partition;
//! optimistic workers keep them together if that leaves enough partitions, to reduce rollbacks. Otherwise
//! consecutive ranges of entities with about the same weight form the partitions, so a model that numbers
//! neighbours consecutively has few messages between workers.

use std::sync::Arc;

use towtank_units::SimSpan;

use crate::context::Rules;
use crate::key::EntityId;
use crate::model::Model;

/// The division of the entities among partitions, the same on every worker.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    layout: Layout,
    /// The least delay of a link between partitions.
    pub look_ahead: SimSpan,
}

#[derive(Clone, Debug)]
enum Layout {
    /// Partition `p` has the entities `bounds[p]..bounds[p + 1]`.
    Stretches(Vec<u32>),
    /// Groups are spread over the numbering, so each entity is looked up in a table.
    Scattered(Arc<Table>),
}

impl Layout {
    fn partitions(&self) -> usize {
        match self {
            Layout::Stretches(bounds) => bounds.len() - 1,
            Layout::Scattered(table) => table.members.len(),
        }
    }

    /// Each entity is in one partition, where both its owner and its place are known.
    fn law_of_division(&self, entities: u32) {
        match self {
            Layout::Stretches(bounds) => {
                let rises = bounds.is_sorted_by(|left, right| left < right) || entities == 0;
                assert!(
                    rises && bounds.first() == Some(&0) && bounds.last() == Some(&entities),
                    "partitions cover all entities once: {bounds:?} of {entities}"
                );
            }
            Layout::Scattered(table) => {
                let sum: usize = table.members.iter().map(Vec::len).sum();
                assert!(sum == entities as usize, "partitions cover all entities once: {sum} of {entities}");
                for id in 0..entities {
                    let (owner, local) = (table.owner[id as usize], table.local[id as usize]);
                    let found = table.members[usize::from(owner)].get(local as usize);
                    assert!(found == Some(&id), "an entity is where the table says: entity {id} is not");
                }
            }
        }
    }
}

/// How entities joined by zero-delay links are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joined {
    /// They share a partition, whatever the number of workers.
    StayTogether,
    /// They share a partition unless some workers would have no entities.
    MayPart,
}

#[derive(Debug)]
struct Table {
    owner: Vec<u16>,
    local: Vec<u32>,
    members: Vec<Vec<u32>>,
}

impl Plan {
    /// Divides the entities among at most `workers` partitions.
    pub(crate) fn new<M: Model>(rules: &Rules<'_, M>, workers: u32, joined: Joined) -> Plan {
        let workers = workers.clamp(1, rules.entities.max(1)).min(u32::from(u16::MAX)) as usize;
        let layout = match rules.links.bound_together(rules.entities) {
            _ if workers == 1 => Layout::Stretches(vec![0, rules.entities]),
            None => stretches(rules, workers),
            Some(mut groups) => {
                let gathered = gather(rules, workers, |id| groups.root(id));
                if joined == Joined::MayPart && gathered.partitions() < workers {
                    stretches(rules, workers)
                } else {
                    gathered
                }
            }
        };
        layout.law_of_division(rules.entities);
        let mut plan = Plan { layout, look_ahead: SimSpan::MAX };
        plan.look_ahead = rules.links.look_ahead(rules.entities, |id| plan.owner(id));
        plan
    }

    pub(crate) fn partitions(&self) -> usize {
        self.layout.partitions()
    }

    /// The partition of an entity.
    #[inline]
    pub(crate) fn owner(&self, id: EntityId) -> usize {
        match &self.layout {
            Layout::Stretches(bounds) if bounds.len() == 3 => usize::from(id.0 >= bounds[1]),
            Layout::Stretches(bounds) => bounds[1..].partition_point(|&bound| bound <= id.0),
            Layout::Scattered(table) => usize::from(table.owner[id.index()]),
        }
    }

    pub(crate) fn territory(&self, partition: usize) -> Territory {
        match &self.layout {
            Layout::Stretches(bounds) => Territory {
                first: bounds[partition],
                count: bounds[partition + 1] - bounds[partition],
                table: None,
                partition,
            },
            Layout::Scattered(table) => Territory {
                first: 0,
                count: table.members[partition].len() as u32,
                table: Some(Arc::clone(table)),
                partition,
            },
        }
    }
}

/// The entities that one executor works on.
pub(crate) trait Realm {
    fn len(&self) -> usize;

    /// Whether an entity belongs to the realm.
    fn has(&self, id: EntityId) -> bool;

    /// The local index of an entity that belongs to the realm.
    fn own(&self, id: EntityId) -> usize;

    /// The entity at a local index.
    fn entity(&self, local: usize) -> EntityId;
}

/// All entities of the model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whole(pub u32);

impl Realm for Whole {
    fn len(&self) -> usize {
        self.0 as usize
    }

    #[inline]
    fn has(&self, _id: EntityId) -> bool {
        true
    }

    #[inline]
    fn own(&self, id: EntityId) -> usize {
        id.index()
    }

    fn entity(&self, local: usize) -> EntityId {
        EntityId(local as u32)
    }
}

/// The entities of one partition.
#[derive(Clone, Debug)]
pub(crate) struct Territory {
    first: u32,
    count: u32,
    table: Option<Arc<Table>>,
    partition: usize,
}

impl Realm for Territory {
    fn len(&self) -> usize {
        self.count as usize
    }

    #[inline]
    fn has(&self, id: EntityId) -> bool {
        match &self.table {
            None => id.0.wrapping_sub(self.first) < self.count,
            Some(table) => usize::from(table.owner[id.index()]) == self.partition,
        }
    }

    #[inline]
    fn own(&self, id: EntityId) -> usize {
        match &self.table {
            None => (id.0 - self.first) as usize,
            Some(table) => table.local[id.index()] as usize,
        }
    }

    fn entity(&self, local: usize) -> EntityId {
        match &self.table {
            None => EntityId(self.first + local as u32),
            Some(table) => EntityId(table.members[self.partition][local]),
        }
    }
}

fn stretches<M: Model>(rules: &Rules<'_, M>, workers: usize) -> Layout {
    let weight = |id: u32| u64::from(rules.model.weight(EntityId(id)).max(1));
    let total: u64 = (0..rules.entities).map(weight).sum();
    let mut bounds = vec![0];
    let mut sum = 0;
    for id in 0..rules.entities {
        // A new range begins where its share of the total weight begins, but only after the previous one has
        // at least one entity.
        let due = total * bounds.len() as u64 / workers as u64;
        let last = *bounds.last().expect("bounds begin with zero");
        if bounds.len() < workers && id > last && sum >= due {
            bounds.push(id);
        }
        sum += weight(id);
    }
    bounds.push(rules.entities);
    Layout::Stretches(bounds)
}

/// Assigns whole groups to partitions, in the order of the groups' first members.
fn gather<M: Model>(rules: &Rules<'_, M>, workers: usize, mut root: impl FnMut(u32) -> u32) -> Layout {
    let roots: Vec<u32> = (0..rules.entities).map(&mut root).collect();
    let weight = |id: u32| u64::from(rules.model.weight(EntityId(id)).max(1));
    let total: u64 = (0..rules.entities).map(weight).sum();
    let mut group_weight = vec![0u64; rules.entities as usize];
    for id in 0..rules.entities {
        group_weight[roots[id as usize] as usize] += weight(id);
    }
    let mut owner_of_root = vec![0u16; rules.entities as usize];
    let (mut part, mut sum) = (0usize, 0u64);
    for id in (0..rules.entities).filter(|&id| roots[id as usize] == id) {
        owner_of_root[id as usize] = part as u16;
        sum += group_weight[id as usize];
        if part + 1 < workers && sum >= total * (part as u64 + 1) / workers as u64 {
            part += 1;
        }
    }
    let owner: Vec<u16> = roots.iter().map(|&root| owner_of_root[root as usize]).collect();
    let parts = owner.iter().max().map_or(1, |&last| usize::from(last) + 1);
    let mut members = vec![Vec::new(); parts];
    let mut local = Vec::with_capacity(owner.len());
    for (id, &part) in owner.iter().enumerate() {
        local.push(members[usize::from(part)].len() as u32);
        members[usize::from(part)].push(id as u32);
    }
    if owner.is_sorted() {
        let mut bounds = vec![0];
        bounds.extend(members.iter().scan(0, |end, of| {
            *end += of.len() as u32;
            Some(*end)
        }));
        return Layout::Stretches(bounds);
    }
    Layout::Scattered(Arc::new(Table { owner, local, members }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_divisions_break_a_law() {
        let scattered = |owner: Vec<u16>, local: Vec<u32>, members: Vec<Vec<u32>>| {
            Layout::Scattered(Arc::new(Table { owner, local, members }))
        };
        let good = [
            Layout::Stretches(vec![0, 2, 3]),
            scattered(vec![0, 1, 0], vec![0, 0, 1], vec![vec![0, 2], vec![1]]),
        ];
        good.iter().for_each(|layout| layout.law_of_division(3));
        let damaged = [
            (Layout::Stretches(vec![0, 2, 2, 3]), "partitions cover all entities once: [0, 2, 2, 3] of 3"),
            (Layout::Stretches(vec![0, 2]), "partitions cover all entities once: [0, 2] of 3"),
            (
                scattered(vec![0, 1, 0], vec![0, 0, 1], vec![vec![0, 2], vec![1, 2]]),
                "partitions cover all entities once: 4 of 3",
            ),
            (
                scattered(vec![0, 1, 0], vec![0, 0, 1], vec![vec![2, 0], vec![1]]),
                "an entity is where the table says: entity 0 is not",
            ),
        ];
        for (layout, want) in damaged {
            let broken = std::panic::catch_unwind(|| layout.law_of_division(3));
            let message = crate::plain::panic_message(broken.expect_err("the law is broken").as_ref());
            assert!(message.contains(want), "{message}");
        }
    }
}
