//! Changes of `pgp_num`, which the manager makes in steps: the maps on the way to the target.
//!
//! Each map has the same part of what is to be changed in each pool, and there are at most [`MAPS`] of them,
//! so that of a large pool several groups change together that the manager would change one after another.

use serde::{Deserialize, Serialize};
use towtank_ceph::{Cluster, PoolState};
use towtank_placement::crush::pools::Pool;
use towtank_rebuild::recovery::{Later, Manager, Recovered, Recovery, Stepped, Steps};
use towtank_recovery::estimate::{self, Estimate};
use towtank_recovery::running;
use towtank_report::{Warning, human};
use towtank_scenario::{Draft, Problems};
use towtank_study::{RunContext, StudyError};
use towtank_units::{Percent, SimSpan, SimTime};

use super::scenario::Scenario;
use crate::real::groups::{Groups, OnTheWay};

/// The keys of the manager.
const KEYS: [&str; 3] = ["target_max_misplaced_ratio", "mgr_tick_period", "mgr_stats_period"];

/// The most maps on the way to a target: a choice, since each takes a run of what moves meanwhile.
const MAPS: u32 = 64;

/// `mgr_tick_period` and `mgr_stats_period`.
const TICK: SimSpan = SimSpan::from_secs(2);
const STATISTICS: SimSpan = SimSpan::from_secs(5);

/// `target_max_misplaced_ratio`.
const MISPLACED_MOST: Percent = Percent::from_billionths(50_000_000);

/// For how long groups are inactive that a step moves. The steps of a real Ceph 16.2.15, of one group of 64
/// each and with statistics of the second before, came in pairs with 4 s from one to the next.
const INACTIVE: SimSpan = SimSpan::from_secs(3);

/// The same in the fast and in the slow recovery that the range comes from, in thousandths: each group that
/// moves was inactive for 2 to 5 s, in two parts. A choice.
pub(super) const INACTIVE_PERMILLE: [u64; 2] = [667, 1_333];

/// The maps on the way to a target of `pgp_num`.
#[derive(Debug)]
pub(super) struct Way {
    /// How many maps there are, the last one with the target.
    maps: u32,
    /// What the manager has to do.
    stepped: Vec<Stepped>,
    /// The stage in which it is asked for.
    stage: usize,
    /// Whether groups are split first.
    splits: bool,
    /// The changes in words.
    words: String,
    /// Groups that are merged afterwards.
    merged: u32,
}

/// The steps of the manager in a recovery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Made {
    /// What changes, in words.
    pub words: String,
    /// When the objects of each step began to move, in seconds from the change.
    pub at_s: Vec<f64>,
    /// How many maps it would have taken more to the target.
    pub left: u32,
    /// Groups that are merged afterwards.
    pub merged: u32,
    /// How many seconds all of it takes if the target is reached at once; none if that is not known.
    pub at_once_s: Option<f64>,
    /// What is assumed of the manager.
    pub assumed: String,
}

/// When a recovery with steps is estimated: each object is simulated about three times, so that fewer are
/// simulated one by one, and when a step is made depends on ticks, so that estimates differ by more. Choices.
pub(super) fn limits(limits: estimate::Limits) -> estimate::Limits {
    let estimate::Limits { exact_objects, error_max, groups_least } = limits;
    let exact_objects = if exact_objects == u64::MAX { exact_objects } else { exact_objects.min(200_000) };
    estimate::Limits { exact_objects, error_max: error_max.max(0.1), groups_least }
}

/// Refuses values that the manager cannot have.
pub(super) fn check(scenario: &Scenario, draft: &Draft) -> Problems {
    let mut problems = Problems::new();
    if let Some(most) = scenario.target_max_misplaced_ratio.filter(|most| most.fraction_f64() > 1.0) {
        let message = format!("`{}` is {most}, more than all", KEYS[0]);
        problems.refuse(draft, KEYS[0], message, format!("{MISPLACED_MOST} is what Ceph takes"));
    }
    for (key, period) in KEYS[1..].iter().zip([scenario.mgr_tick_period, scenario.mgr_stats_period]) {
        let possible = SimSpan::from_ms(100)..=SimSpan::from_secs(3_600);
        if let Some(period) = period.filter(|period| !possible.contains(period)) {
            let message = format!("`{key}` is {period}; 100ms to 1h are possible");
            let hint = format!("Ceph takes {TICK} for ticks and {STATISTICS} for statistics");
            problems.refuse(draft, key, message, hint);
        }
    }
    problems
}

/// Refuses its keys where `pgp_num` stays as it is.
pub(super) fn check_used(way: Option<&Way>, after: &[Cluster], start: &Cluster, draft: &Draft) -> Problems {
    let mut problems = Problems::new();
    let places = |cluster: &Cluster| cluster.pools.iter().map(|pool| pool.placed.pgp_num).collect::<Vec<_>>();
    if way.is_some() || after.iter().any(|cluster| places(cluster) != places(start)) {
        return problems;
    }
    for key in KEYS.into_iter().filter(|key| draft.says(key)) {
        let message = format!("`{key}` is about steps of `pgp_num`, but nothing changes it");
        let hint = "change it with --pg-num or --pgp-num, or leave the key out";
        problems.push(draft.problem(key, message).hint(hint));
    }
    problems
}

/// What the manager did in a recovery, and how long it takes without its steps.
///
/// # Errors
/// When the model fails.
pub(super) fn made(
    way: Option<&Way>,
    (scenario, begins): (&Scenario, SimSpan),
    (recovery, recovered): (&Recovery<'_>, &Recovered),
    estimate: Option<&Estimate>,
    context: &RunContext<'_>,
) -> Result<Option<Made>, StudyError> {
    let Some(way) = way else { return Ok(None) };
    let begins = begins.as_secs_f64();
    let mut at_once_s = None;
    if recovered.maps_left == 0 && !recovered.partial && !context.stopped() {
        let (base, scale) = Estimate::or_whole(estimate, recovery);
        let steps = base.later.steps.as_ref().map(Steps::at_once);
        let later = Later { steps, ..base.later.clone() };
        let once = Recovery { later: &later, clients: None, quiet: false, ..base };
        let once = context.within(1.0..1.0, |context| running::run(&once, context))?;
        at_once_s = (!once.partial).then(|| begins + once.last().as_secs_f64() * scale);
    }
    Ok(Some(Made {
        words: way.words.clone(),
        at_s: recovered.steps.iter().map(|at| begins + at.as_secs_f64()).collect(),
        left: recovered.maps_left,
        merged: way.merged,
        at_once_s,
        assumed: Way::assumed(scenario),
    }))
}

/// A pool with another `pgp_num`.
struct Change {
    pool: usize,
    from: u32,
    to: u32,
}

impl Way {
    /// The way to what these stages ask for, which then keep `pgp_num` as it is at the beginning, with its
    /// maps. None if no stage changes it, or other changes of the user follow: then it changes at once, which
    /// is said.
    pub(super) fn of(
        start: &Cluster,
        (after, by_user): (&mut [Cluster], &[bool]),
        warnings: &mut Vec<Warning>,
    ) -> Option<(Way, OnTheWay)> {
        let changes = |stage: usize, after: &[Cluster]| {
            let before = if stage == 0 { start } else { &after[stage - 1] };
            changed(before, &after[stage], start)
        };
        let stages: Vec<usize> =
            (0..after.len()).filter(|stage| !changes(*stage, after).is_empty()).collect();
        let &stage = stages.first()?;
        if stages.len() > 1 || by_user[stage + 1..].contains(&true) {
            warnings.push(Warning::unknown(
                "how long the steps take in which the manager changes `pgp_num`, because the map is changed again later: it \
                 changes at once here, so that the times are less than in Ceph",
            ));
            return None;
        }
        let changes = changes(stage, after);
        let end = after.last()?.clone();
        let maps = changes.iter().map(|change| change.by()).max()?.min(MAPS);
        for cluster in &mut after[stage..] {
            for change in &changes {
                cluster.pools[change.pool].placed = change.placed(&end, start, (0, maps));
            }
        }
        let map = |at: u32| {
            let mut map = end.without_groups();
            for change in changes.iter().filter(|_| at < maps) {
                map.pools[change.pool].placed = change.placed(&end, start, (at, maps));
            }
            map
        };
        let groups = |change: &Change| {
            let [before, after] = [start, &end].map(|cluster| cluster.pools[change.pool].placed.pg_num);
            (before, after)
        };
        let word = |change: &Change| {
            let name = &end.pools[change.pool].name;
            format!("`pgp_num` of {name} from {} to {}", change.from, change.to)
        };
        let way = Way {
            maps,
            stepped: changes
                .iter()
                .map(|change| Stepped { groups: groups(change).0.max(groups(change).1), by: change.by() })
                .collect(),
            stage,
            splits: changes.iter().any(|change| groups(change).1 > groups(change).0),
            words: changes.iter().map(word).collect::<Vec<_>>().join(", "),
            merged: changes.iter().map(|change| groups(change).0.saturating_sub(groups(change).1)).sum(),
        };
        let pools = changes.iter().map(|change| change.pool).collect();
        Some((way, OnTheWay { maps: (1..=maps).map(map).collect(), pools }))
    }

    /// What the manager does in a recovery; `moment` is when the first object moves after a change at a time,
    /// and `lag` how long that takes.
    pub(super) fn steps(
        &self,
        scenario: &Scenario,
        times: &[SimSpan],
        cluster: &Cluster,
        (moment, lag): (impl Fn(SimSpan) -> SimTime, SimSpan),
    ) -> Steps {
        let asked_at = times[self.stage];
        let last = times.last().copied().unwrap_or_default();
        let most = scenario.target_max_misplaced_ratio.unwrap_or(MISPLACED_MOST);
        Steps {
            pools: self.stepped.clone(),
            maps: self.maps,
            from: moment(asked_at),
            lag,
            earliest: last.saturating_sub(asked_at),
            splits: self.splits,
            copies: copies(cluster),
            manager: Manager {
                tick: scenario.mgr_tick_period.unwrap_or(TICK),
                statistics: scenario.mgr_stats_period.unwrap_or(STATISTICS),
                misplaced_most: most.fraction_f64(),
                inactive: INACTIVE,
            },
        }
    }

    /// What is assumed of the manager.
    fn assumed(scenario: &Scenario) -> String {
        let most = scenario.target_max_misplaced_ratio.unwrap_or(MISPLACED_MOST).fraction_f64();
        format!(
            "the manager changes `pgp_num` in steps, one every {} at most, while at most {} of objects are misplaced and none is degraded: --target-max-misplaced-ratio, --mgr-tick-period, --mgr-stats-period",
            scenario.mgr_tick_period.unwrap_or(TICK),
            human::quantity(most, "fraction")
        )
    }
}

impl Change {
    /// By how much it changes.
    fn by(&self) -> u32 {
        self.from.abs_diff(self.to)
    }

    /// The pool in one of so many maps on the way: all groups that there are before or after.
    fn placed(&self, end: &Cluster, start: &Cluster, (at, maps): (u32, u32)) -> Pool {
        let placed = end.pools[self.pool].placed;
        let done = (u64::from(at) * u64::from(self.by())).div_ceil(u64::from(maps)) as u32;
        let pgp_num = if self.to > self.from { self.from + done } else { self.from - done };
        let pg_num = placed.pg_num.max(start.pools[self.pool].placed.pg_num);
        Pool { pg_num, pgp_num, ..placed }
    }
}

/// Pools that have another `pgp_num` after a stage. One with at most one object in a group grows at once.
fn changed(before: &Cluster, after: &Cluster, start: &Cluster) -> Vec<Change> {
    let pools = before.pools.iter().zip(&after.pools).zip(&start.pools).enumerate();
    let changes = pools.filter_map(|(pool, ((before, after), state))| {
        let (from, to) = (before.placed.pgp_num, after.placed.pgp_num);
        let at_once = to > from && objects(state) <= u64::from(to);
        (from != to && !at_once).then_some(Change { pool, from, to })
    });
    changes.collect()
}

fn objects(pool: &PoolState) -> u64 {
    pool.groups.iter().map(Groups::objects).sum()
}

/// Copies and shards of all objects.
fn copies(cluster: &Cluster) -> u64 {
    cluster.pools.iter().map(|pool| objects(pool).saturating_mul(u64::from(pool.placed.size))).sum()
}
