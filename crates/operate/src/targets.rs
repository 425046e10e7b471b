//! Pools whose number of groups is changing in the exports already: the manager goes on with it by itself.

use towtank_ceph::{Cluster, upmaps};
use towtank_imports::ceph::{OsdDump, PoolEntry};
use towtank_report::Warning;

use crate::asked::Asked;

/// A number that is changing.
struct Changing<'a> {
    pool: &'a PoolEntry,
    key: &'static str,
    now: u32,
    target: u32,
}

fn changing(dump: &OsdDump) -> impl Iterator<Item = Changing<'_>> {
    dump.pools.iter().flat_map(|pool| {
        let numbers =
            [("pg_num", pool.pg_num, pool.pg_num_target), ("pgp_num", pool.pgp_num, pool.pgp_num_target)];
        let changes = numbers.into_iter().filter_map(|(key, now, target)| {
            let target = target.filter(|target| *target != now && *target > 0)?;
            Some((key, now, target))
        });
        changes.map(move |(key, now, target)| Changing { pool, key, now, target })
    })
}

/// What the manager goes on with by itself.
#[derive(Debug, Default)]
pub(crate) struct Targets {
    /// The cluster in the end, where its groups get other places.
    pub reached: Option<Cluster>,
    /// Pools whose groups are split further: what moves afterwards is not known.
    pub splits: Vec<Split>,
}

/// A pool whose groups are split further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Split {
    pub pool: i64,
    name: String,
    now: u32,
    target: u32,
}

impl Split {
    /// What is going on: `pg_num` of pool `rbd` is changing from 256 to 512.
    pub(crate) fn change(&self) -> String {
        let Split { name, now, target, .. } = self;
        format!("`pg_num` of pool `{name}` is changing from {now} to {target}")
    }

    fn not_known(&self) -> String {
        let Split { name, now, target, .. } = self;
        format!(
            "what moves when the groups of pool `{name}` are split, whose `pg_num` is changing from {now} to {target} \
             (--pg-num {name}={target} splits them at once)"
        )
    }
}

/// What is to be said of the number of groups that a user gives a pool.
fn of_number(pool: &PoolEntry, asked: &Asked) -> Vec<Warning> {
    let name = &pool.name;
    let mut said = Vec::new();
    let Some(number) = asked.map.iter().rev().find_map(|change| change.number("pg_num", pool)) else {
        return said;
    };
    if !number.is_power_of_two() {
        said.push(Warning::note(format!(
            "`pg_num` {number} of pool `{name}` is no power of two: some of its groups have twice as much as others \
             (POOL_PG_NUM_NOT_POWER_OF_TWO)"
        )));
    }
    if pool.is_scaled() {
        said.push(Warning::note(format!(
            "the autoscaler is on for pool `{name}`: where it wants three times as many groups or a third, it changes `pg_num` \
             again, which is not modelled (`ceph osd pool set {name} pg_autoscale_mode off`)"
        )));
    }
    said
}

impl Targets {
    /// What becomes of the pools of a cluster. Those that the user gives another number of groups anyway are
    /// no more split by the manager.
    pub(crate) fn of(start: &Cluster, dump: &OsdDump, asked: &Asked, warnings: &mut Vec<Warning>) -> Targets {
        warnings.extend(dump.pools.iter().flat_map(|pool| of_number(pool, asked)));
        let mut reached = None;
        let mut splits = Vec::new();
        for Changing { pool, key, now, target } in changing(dump) {
            if asked.map.iter().any(|change| change.sets("pg_num", pool)) {
                continue;
            }
            if key == "pg_num" && target > now {
                splits.push(Split { pool: pool.id, name: pool.name.clone(), now, target });
                continue;
            }
            let cluster: &mut Cluster = reached.get_or_insert_with(|| start.clone());
            let Some(state) = cluster.pools.iter_mut().find(|state| state.name == pool.name) else {
                continue;
            };
            match key {
                "pg_num" => drop(state.set_pg_num(target)),
                // There are never fewer groups than places.
                _ => state.placed.pgp_num = target.min(state.placed.pg_num),
            }
            // Of a merge both numbers change, to the same one.
            let is_said = key == "pgp_num" && pool.pg_num_target == Some(target) && pool.pg_num > target;
            let note = format!(
                "`{key}` of pool `{}` is {now} and changing to {target}: the manager goes on with it",
                pool.name
            );
            warnings.extend((!is_said).then(|| Warning::note(note)));
        }
        if let Some(reached) = &mut reached {
            upmaps::drop_merging(start, reached);
        }
        Targets { reached, splits }
    }

    /// What is not known of what moves, in words.
    pub(crate) fn not_known(&self) -> Option<String> {
        let said: Vec<String> = self.splits.iter().map(Split::not_known).collect();
        (!said.is_empty()).then(|| said.join("; "))
    }
}
