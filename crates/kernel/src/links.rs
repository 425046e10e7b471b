//! Which entities may send to which others, and the least delay of each link.
//!
//! The least delay of the links between two partitions is their look-ahead, on which the conservative
//! executor depends. An entity may always send to itself, after any delay. The most specific declaration
//! applies: a single link, else a link between classes, else the link of all with all.

use std::collections::BTreeMap;

use towtank_units::SimSpan;

use crate::key::EntityId;

/// The declared links of a model.
#[derive(Clone, Debug, Default)]
pub struct Links {
    all: Option<SimSpan>,
    classes: Option<Classes>,
    single: BTreeMap<(u32, u32), SimSpan>,
}

/// The class of each entity, and the links between classes.
#[derive(Clone, Debug)]
struct Classes {
    of: Vec<u16>,
    count: usize,
    least: Vec<Option<SimSpan>>,
}

impl Links {
    /// No links: entities may send only to themselves.
    #[must_use]
    pub fn none() -> Links {
        Links::default()
    }

    /// Every entity may send to every other, after at least `least`.
    #[must_use]
    pub fn all(least: SimSpan) -> Links {
        Links { all: Some(least), ..Links::default() }
    }

    /// Assigns entities to classes: `of[id]` is the class of an entity. Add links between classes with
    /// [`Links::join`].
    #[must_use]
    pub fn by_class(of: Vec<u16>) -> Links {
        let count = of.iter().max().map_or(0, |&class| usize::from(class) + 1);
        Links { classes: Some(Classes { of, count, least: vec![None; count * count] }), ..Links::default() }
    }

    /// Every entity of class `from` may send to every entity of class `to`, after at least `least`.
    ///
    /// # Panics
    /// If the links were not made with [`Links::by_class`], or a class has no members: a defect of the model.
    #[must_use]
    pub fn join(mut self, from: u16, to: u16, least: SimSpan) -> Links {
        let classes = self.classes.as_mut().expect("`join` needs classes: start from `Links::by_class`");
        let (from, to) = (usize::from(from), usize::from(to));
        assert!(from < classes.count && to < classes.count, "class {from} or {to} has no members");
        classes.least[from * classes.count + to] = Some(least);
        self
    }

    /// One entity may send to another, after at least `least`.
    pub fn connect(&mut self, from: EntityId, to: EntityId, least: SimSpan) {
        self.single.insert((from.0, to.0), least);
    }

    /// The least delay between two entities; `None` if no link joins them.
    #[must_use]
    pub fn least(&self, from: EntityId, to: EntityId) -> Option<SimSpan> {
        if from == to {
            return Some(SimSpan::ZERO);
        }
        if let Some(&least) = self.single.get(&(from.0, to.0)) {
            return Some(least);
        }
        if let Some(classes) = &self.classes {
            let (from, to) = (usize::from(classes.of[from.index()]), usize::from(classes.of[to.index()]));
            if let Some(least) = classes.least[from * classes.count + to] {
                return Some(least);
            }
        }
        self.all
    }

    /// The least delay of every pair, if all pairs have the same.
    pub(crate) fn of_any_pair(&self) -> Option<SimSpan> {
        if self.single.is_empty() && self.classes.is_none() { self.all } else { None }
    }

    /// Groups of entities that must share a partition because zero-delay links join them; `None` if there are
    /// no such links.
    pub(crate) fn bound_together(&self, entities: u32) -> Option<Groups> {
        let mut groups = Groups::singletons(entities);
        let mut found = false;
        if self.all == Some(SimSpan::ZERO) {
            for id in 1..entities {
                groups.unite(0, id);
            }
            return Some(groups);
        }
        if let Some(classes) = &self.classes {
            let first: Vec<Option<u32>> = first_members(classes);
            for from in 0..classes.count {
                for to in 0..classes.count {
                    if classes.least[from * classes.count + to] == Some(SimSpan::ZERO)
                        && let (Some(hub), Some(_)) = (first[from], first[to])
                    {
                        found = true;
                        for (id, &class) in classes.of.iter().enumerate() {
                            if usize::from(class) == from || usize::from(class) == to {
                                groups.unite(hub, id as u32);
                            }
                        }
                    }
                }
            }
        }
        for (&(from, to), &least) in &self.single {
            if least == SimSpan::ZERO && from != to {
                found = true;
                groups.unite(from, to);
            }
        }
        found.then_some(groups)
    }

    /// The least delay of any link between partitions; `SimSpan::MAX` if there is none.
    pub(crate) fn look_ahead(&self, entities: u32, owner: impl Fn(EntityId) -> usize) -> SimSpan {
        let mut least = SimSpan::MAX;
        let divided = (1..entities).any(|id| owner(EntityId(id)) != owner(EntityId(0)));
        if !divided {
            return least;
        }
        if let Some(all) = self.all {
            least = least.min(all);
        }
        if let Some(classes) = &self.classes {
            least = least.min(classes_look_ahead(classes, &owner));
        }
        for (&(from, to), &delay) in &self.single {
            if owner(EntityId(from)) != owner(EntityId(to)) {
                least = least.min(delay);
            }
        }
        least
    }
}

fn first_members(classes: &Classes) -> Vec<Option<u32>> {
    let mut first = vec![None; classes.count];
    for (id, &class) in classes.of.iter().enumerate() {
        first[usize::from(class)].get_or_insert(id as u32);
    }
    first
}

fn classes_look_ahead(classes: &Classes, owner: impl Fn(EntityId) -> usize) -> SimSpan {
    // For each class, the partition that contains all of it, if there is one.
    let mut home: Vec<Option<usize>> = vec![None; classes.count];
    let mut spread = vec![false; classes.count];
    for (id, &class) in classes.of.iter().enumerate() {
        let class = usize::from(class);
        let here = owner(EntityId(id as u32));
        match home[class] {
            None => home[class] = Some(here),
            Some(there) if there != here => spread[class] = true,
            Some(_) => {}
        }
    }
    let mut least = SimSpan::MAX;
    for from in 0..classes.count {
        for to in 0..classes.count {
            let Some(delay) = classes.least[from * classes.count + to] else { continue };
            let crosses = spread[from] || spread[to] || home[from] != home[to];
            if crosses && home[from].is_some() && home[to].is_some() {
                least = least.min(delay);
            }
        }
    }
    least
}

/// Disjoint sets of entities.
#[derive(Clone, Debug)]
pub(crate) struct Groups {
    parent: Vec<u32>,
}

impl Groups {
    fn singletons(entities: u32) -> Groups {
        Groups { parent: (0..entities).collect() }
    }

    fn unite(&mut self, left: u32, right: u32) {
        let (left, right) = (self.root(left), self.root(right));
        // The smaller id becomes the root, so that groups come out in the order of their first members.
        let (low, high) = (left.min(right), left.max(right));
        self.parent[high as usize] = low;
    }

    /// The least member of the group, which represents it.
    pub(crate) fn root(&mut self, mut id: u32) -> u32 {
        while self.parent[id as usize] != id {
            let grandparent = self.parent[self.parent[id as usize] as usize];
            self.parent[id as usize] = grandparent;
            id = grandparent;
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: SimSpan = SimSpan::from_ns(1_000_000);

    #[test]
    fn the_most_specific_link_counts() {
        let mut links = Links::by_class(vec![0, 0, 1]).join(0, 1, MS);
        assert_eq!(links.least(EntityId(0), EntityId(2)), Some(MS));
        assert_eq!(links.least(EntityId(2), EntityId(0)), None);
        assert_eq!(links.least(EntityId(0), EntityId(1)), None);
        assert_eq!(links.least(EntityId(1), EntityId(1)), Some(SimSpan::ZERO));
        links.connect(EntityId(0), EntityId(2), SimSpan::ZERO);
        assert_eq!(links.least(EntityId(0), EntityId(2)), Some(SimSpan::ZERO));
        assert_eq!(links.least(EntityId(1), EntityId(2)), Some(MS));
    }

    #[test]
    fn zero_delay_links_bind_entities_together() {
        let mut links = Links::all(MS);
        assert!(links.bound_together(4).is_none());
        links.connect(EntityId(3), EntityId(1), SimSpan::ZERO);
        let mut groups = links.bound_together(4).expect("a zero-delay link was declared");
        assert_eq!([0, 1, 2, 3].map(|id| groups.root(id)), [0, 1, 2, 1]);
    }

    #[test]
    fn look_ahead_is_the_least_delay_that_crosses() {
        let mut links = Links::by_class(vec![0, 0, 1, 1]).join(0, 0, SimSpan::from_ns(10)).join(
            0,
            1,
            SimSpan::from_ns(30),
        );
        let halves = |id: EntityId| id.index() / 2;
        assert_eq!(links.look_ahead(4, halves), SimSpan::from_ns(30));
        assert_eq!(links.look_ahead(4, |id| id.index() % 2), SimSpan::from_ns(10));
        assert_eq!(links.look_ahead(4, |_| 0), SimSpan::MAX);
        links.connect(EntityId(3), EntityId(0), SimSpan::from_ns(5));
        assert_eq!(links.look_ahead(4, halves), SimSpan::from_ns(5));
    }
}
