//! Objects in the order of their names, over all groups: a merge of the groups' listings, in small portions.

use std::collections::VecDeque;

use crate::StoreError;
use crate::client::Client;
use crate::engine::ObjectHead;
use crate::names::after;

/// The number of heads in the first request to a group, which doubles with each request: most listings end
/// soon, or skip most names.
const PORTION_FIRST: u32 = 64;

/// The most heads in one request to a group.
const PORTION_MAX: u32 = 1_000;

/// The heads of one group that were fetched but not yet returned.
#[derive(Debug)]
struct Lane {
    heads: VecDeque<ObjectHead>,
    /// The next name to request: all names before it have been fetched.
    from: String,
    ended: bool,
    portion: u32,
}

/// A walk over the objects of a store whose names have a common prefix.
#[derive(Debug)]
pub struct Walk {
    prefix: String,
    lanes: Vec<Lane>,
}

impl Walk {
    /// A walk over names with this prefix, beginning at the first one from `from` on.
    #[must_use]
    pub fn new(client: &Client, prefix: &str, from: &str) -> Walk {
        Walk::over(client.settings().groups, prefix, from)
    }

    /// The same over so many groups, whoever answers for them.
    #[must_use]
    pub fn over(groups: u32, prefix: &str, from: &str) -> Walk {
        let lane =
            || Lane { heads: VecDeque::new(), from: from.to_owned(), ended: false, portion: PORTION_FIRST };
        Walk { prefix: prefix.to_owned(), lanes: (0..groups).map(|_| lane()).collect() }
    }

    /// The next object; none if there are no more.
    ///
    /// # Errors
    /// When a group does not answer in time.
    pub fn next(&mut self, client: &mut Client) -> Result<Option<ObjectHead>, StoreError> {
        self.next_of(|group, prefix, from, most| client.heads(group, prefix, from, most))
    }

    /// The next object; none if there are no more. `ask` has heads of a group with a prefix, from a name on,
    /// at most so many, and whether no name follows.
    ///
    /// # Errors
    /// When a group does not answer.
    pub fn next_of<E>(
        &mut self,
        mut ask: impl FnMut(u32, &str, &str, u32) -> Result<(Vec<ObjectHead>, bool), E>,
    ) -> Result<Option<ObjectHead>, E> {
        let Walk { prefix, lanes } = self;
        next_of(lanes, |group, lane| ask(group, prefix, &lane.from, lane.portion))
    }

    /// Skips all names before this one.
    pub fn skip_to(&mut self, name: &str) {
        skip(&mut self.lanes, name);
    }
}

/// The least head of all lanes; a lane that is empty is filled first.
fn next_of<E>(
    lanes: &mut [Lane],
    mut ask: impl FnMut(u32, &Lane) -> Result<(Vec<ObjectHead>, bool), E>,
) -> Result<Option<ObjectHead>, E> {
    for (group, lane) in lanes.iter_mut().enumerate() {
        while lane.heads.is_empty() && !lane.ended {
            let (heads, is_last) = ask(group as u32, lane)?;
            if let Some(last) = heads.last() {
                lane.from = after(&last.name);
            }
            lane.portion = (lane.portion * 2).min(PORTION_MAX);
            // A group that returns no heads has ended, whatever `is_last` says.
            lane.ended = is_last || heads.is_empty();
            lane.heads = heads.into();
        }
    }
    let least = lanes.iter_mut().filter(|lane| !lane.heads.is_empty());
    let least = least.min_by(|one, other| one.heads[0].name.cmp(&other.heads[0].name));
    Ok(least.and_then(|lane| lane.heads.pop_front()))
}

fn skip(lanes: &mut [Lane], name: &str) {
    for lane in lanes {
        let passed = lane.heads.partition_point(|head| head.name.as_str() < name);
        lane.heads.drain(..passed);
        if lane.heads.is_empty() && lane.from.as_str() < name {
            name.clone_into(&mut lane.from);
            lane.portion = PORTION_FIRST;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use towtank_replication::Version;

    use super::*;

    fn head(name: &str) -> ObjectHead {
        ObjectHead {
            version: Version::ZERO,
            size: 0,
            name: name.to_owned(),
            length: 0,
            attributes: BTreeMap::new(),
        }
    }

    /// Walks over the names of each group, fetched in portions of at most `most`.
    fn walk_over(groups: &[Vec<String>], most: usize, from: &str, skips: &[String]) -> Vec<String> {
        let lane = || Lane { heads: VecDeque::new(), from: from.to_owned(), ended: false, portion: 1 };
        let mut lanes: Vec<Lane> = groups.iter().map(|_| lane()).collect();
        let mut skips = skips.iter();
        let mut seen = Vec::new();
        loop {
            let next = next_of(&mut lanes, |group, lane| {
                let names = groups[group as usize].iter().filter(|name| **name >= lane.from);
                let left = names.clone().count();
                let heads: Vec<ObjectHead> = names.take(most).map(|name| head(name)).collect();
                Ok::<_, ()>((heads, left <= most))
            });
            let Some(next) = next.expect("groups answer") else { return seen };
            seen.push(next.name);
            if let Some(to) = skips.next() {
                skip(&mut lanes, to);
            }
        }
    }

    proptest! {
        #[test]
        fn a_walk_is_the_sorted_whole(
            names in proptest::collection::btree_map("[abc]{0,5}", 0..3_usize, 0..40),
            most in 1..5_usize,
            from in "[abc]{0,3}",
            skips in proptest::collection::vec("[abc]{0,5}", 0..4),
        ) {
            let mut groups = vec![Vec::new(); 3];
            names.iter().for_each(|(name, group)| groups[*group].push(name.clone()));
            let mut rest: Vec<&String> = names.keys().filter(|name| **name >= from).collect();
            let mut want = Vec::new();
            let mut skipped = skips.iter();
            while !rest.is_empty() {
                want.push(rest.remove(0).clone());
                if let Some(to) = skipped.next() {
                    rest.retain(|name| **name >= *to);
                }
            }
            prop_assert_eq!(walk_over(&groups, most, &from, &skips), want);
        }
    }
}
