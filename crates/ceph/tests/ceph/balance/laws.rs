//! Laws of every answer, on a thousand drawn clusters; each law catches a violation that is planted.

use std::collections::BTreeMap;

use towtank_ceph::Cluster;
use towtank_ceph::balance::{
    Applied, Best, Broken, Cause, Limits, Loss, Move, Picked, Spread, applied, causes, losses, plan, room,
};

use super::clusters::{Draws, Host, PoolSpec, cluster, drawn, limits, retries};

/// An answer to every part of the question.
struct Answer {
    cluster: Cluster,
    spread: Spread,
    ideal: Vec<BTreeMap<i32, f64>>,
    causes: Vec<Cause>,
    /// Now and at best, of each pool and of all in proportion.
    rooms: Vec<(f64, f64)>,
    losses: Vec<Loss>,
    plan: Vec<Move>,
    applied: Applied,
}

const STAGES: usize = 3;

fn answer(cluster: Cluster) -> Answer {
    let spread = Spread::of(&cluster, limits(), &mut |_| true).unwrap().unwrap();
    let mut mixes: Vec<Vec<f64>> = (0..spread.pools.len()).map(|pool| spread.alone(pool)).collect();
    mixes.extend(spread.in_proportion());
    let mut best = Best::of(&spread);
    let rooms = mixes.iter().map(|mix| {
        let now = room(&spread, mix).bytes;
        (now, best.room(mix, now).bytes)
    });
    let rooms = rooms.collect();
    let plan = plan(&spread, &cluster, &Limits { moves: MOVES, destinations: None });
    let applied = applied(&cluster, &spread, &plan, STAGES).unwrap_or_else(|broken| panic!("{broken}"));
    Answer {
        ideal: spread.ideal(),
        causes: causes(&spread),
        rooms,
        losses: losses(&cluster, &spread, &mixes).unwrap(),
        plan,
        applied,
        cluster,
        spread,
    }
}

type Law = fn(&Answer) -> Result<(), String>;

fn is(holds: bool, why: impl Fn() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}

/// No device is expected to hold more than one shard of each group.
fn shares_are_parts(answer: &Answer) -> Result<(), String> {
    answer.spread.pools.iter().zip(&answer.ideal).try_for_each(|(pool, shards)| {
        shards.iter().try_for_each(|(id, count)| {
            let part = count / f64::from(pool.pg_num);
            is((0.0..=1.0 + 1e-9).contains(&part), || format!("osd.{id} has {part} of each group"))
        })
    })
}

/// What is expected is what there is, in another place.
fn ideal_is_complete(answer: &Answer) -> Result<(), String> {
    answer.spread.pools.iter().zip(&answer.ideal).try_for_each(|(pool, shards)| {
        let (sum, all) = (shards.values().sum::<f64>(), pool.shards as f64);
        is((sum - all).abs() < 1e-6 * all.max(1.0), || format!("{}: {sum} of {all} shards", pool.name))
    })
}

fn drawn_are_as_many(answer: &Answer) -> Result<(), String> {
    answer.spread.pools.iter().zip(&answer.ideal).try_for_each(|(pool, even)| {
        let drawn = answer.spread.expected(pool, &|load| load.effective, Picked::Drawn);
        let (left, right) = (drawn.values().sum::<f64>(), even.values().sum::<f64>());
        is((left - right).abs() < 1e-6 * right.max(1.0), || format!("{left} drawn and {right} even"))
    })
}

fn causes_add_up(answer: &Answer) -> Result<(), String> {
    let Some(last) = answer.causes.last() else { return Ok(()) };
    let sum: f64 = answer.causes.iter().filter_map(|cause| cause.added).sum();
    let fullest = answer.spread.fullest_now().map_or(last.fill, |fullest| fullest.1);
    is((sum - fullest).abs() < 1e-9, || format!("the causes add up to {sum} of {fullest}"))
}

fn no_more_than_the_best_fits_now(answer: &Answer) -> Result<(), String> {
    answer.rooms.iter().try_for_each(|(now, best)| {
        is(*now <= best * (1.0 + 1e-6) + 1e6, || format!("{now} now, and {best} at best"))
    })
}

fn the_best_bounds_the_plan(answer: &Answer) -> Result<(), String> {
    let Some((_, best)) = answer.rooms.get(answer.spread.pools.len()) else { return Ok(()) };
    answer.applied.stages.iter().try_for_each(|stage| {
        let won = stage.room.bytes;
        is(won <= best * (1.0 + 1e-5) + 1e6, || format!("{won} after a stage, and {best} at best"))
    })?;
    (0..answer.spread.pools.len()).try_for_each(|pool| {
        let won = room(&answer.applied.after, &answer.spread.alone(pool)).bytes;
        let best = answer.rooms[pool].1;
        is(won <= best * (1.0 + 1e-5) + 1e6, || format!("pool {pool}: {won} after the plan, {best} at best"))
    })
}

/// A plan that is not cut short ends with a move that makes the fullest device less full, or a room greater.
fn the_last_move_wins(answer: &Answer) -> Result<(), String> {
    let Some((_, before)) = answer.plan.split_last().filter(|_| answer.plan.len() < MOVES) else {
        return Ok(());
    };
    let applied = |plan: &[Move]| applied(&answer.cluster, &answer.spread, plan, 1).unwrap().after;
    let rooms = |spread: &Spread| {
        let mixes = (0..spread.pools.len()).map(|pool| spread.alone(pool)).chain(spread.in_proportion());
        let mut rooms: Vec<f64> = mixes.map(|mix| room(spread, &mix).bytes).collect();
        rooms.push(1.0 / spread.devices.values().filter_map(|load| load.fill()).fold(0.0, f64::max));
        rooms
    };
    let (short, whole) = (rooms(&applied(before)), rooms(&answer.applied.after));
    let wins = short.iter().zip(&whole).any(|(short, whole)| whole > short);
    is(wins, || format!("{short:?} without the last move, and {whole:?} with it"))
}

/// No pool loses room by moves of its own groups alone.
fn no_pool_loses_by_its_own_moves(answer: &Answer) -> Result<(), String> {
    let first = |one: &Move| one.pool;
    let pools: std::collections::BTreeSet<i64> = answer.plan.iter().map(first).collect();
    if pools.len() != 1 {
        return Ok(());
    }
    let pool = answer.spread.pools.iter().position(|pool| pools.contains(&pool.id)).unwrap();
    let now = answer.rooms[pool].0;
    let then = room(&answer.applied.after, &answer.spread.alone(pool)).bytes;
    is(then >= now - 1e6, || format!("pool {pool}: {now} fit before, and {then} after"))
}

/// The moves that a plan may have.
const MOVES: usize = 60;

fn each_stage_wins(answer: &Answer) -> Result<(), String> {
    let Some((now, _)) = answer.rooms.get(answer.spread.pools.len()) else { return Ok(()) };
    let mut last = *now;
    answer.applied.stages.iter().try_for_each(|stage| {
        let before = std::mem::replace(&mut last, stage.room.bytes);
        is(last >= before - 1e6, || format!("{before} fit before a stage, and {last} after it"))
    })
}

/// The stages are the plan, no more and no less, and their wins are the win of the plan.
fn stages_are_the_plan(answer: &Answer) -> Result<(), String> {
    let (moves, bytes) = (answer.plan.len() as u64, answer.plan.iter().map(|one| one.bytes).sum::<u64>());
    let stages = &answer.applied.stages;
    let sums = (stages.iter().map(|stage| stage.shards).sum(), stages.iter().map(|stage| stage.bytes).sum());
    is(sums == (moves, bytes), || format!("{sums:?} in stages, and {moves} moves of {bytes} in the plan"))?;
    let mix = answer.spread.in_proportion();
    let (Some(mix), Some(last)) = (mix, stages.last()) else { return Ok(()) };
    let end = room(&answer.applied.after, &mix).bytes;
    is(end == last.room.bytes, || format!("{end} in the end, and {} after the last stage", last.room.bytes))
}

fn fill_never_rises(answer: &Answer) -> Result<(), String> {
    let fullest =
        |spread: &Spread| spread.devices.values().filter_map(|load| load.fill()).fold(0.0, f64::max);
    let (before, after) = (fullest(&answer.spread), fullest(&answer.applied.after));
    is(after <= before + 1e-12, || format!("{before} before and {after} after"))
}

/// By a definition of its own: no two shards of a group on one host, or on one device.
fn domains_stay_apart(answer: &Answer) -> Result<(), String> {
    let hosts = answer.cluster.hosts();
    answer.spread.groups.iter().zip(&answer.applied.after.groups).try_for_each(|(old, new)| {
        let by_device = answer.cluster.pools[new.pool].placed.rule == 3;
        let doubled = |devices: &[i32]| {
            let mut seen = std::collections::BTreeSet::new();
            let key = |id: &i32| if by_device { id.to_string() } else { hosts[id].clone() };
            devices.iter().filter(|id| **id != i32::MAX).filter(|id| !seen.insert(key(id))).count()
        };
        is(doubled(&new.up) <= doubled(&old.up), || format!("{:?} became {:?}", old.up, new.up))
    })
}

/// With each host out, by placing every group again: what was worked out from the groups on it alone.
fn losses_are_those_of_a_full_placement(answer: &Answer) -> Result<(), String> {
    answer.losses.iter().take(2).try_for_each(|loss| {
        let mut after = answer.cluster.clone();
        // Where data are now does not change, so overheads stay the same.
        for group in &answer.spread.groups {
            after.pools[group.pool].groups[group.seed as usize].acting = Some(group.up.clone());
        }
        for (id, host) in answer.cluster.hosts() {
            if host == loss.host {
                after.overlay.devices[id as usize].weight = 0;
            }
        }
        towtank_ceph::upmaps::drop_broken(&mut after);
        let spread = Spread::of(&after, limits(), &mut |_| true).unwrap().unwrap();
        let takes = |host: &str| host != loss.host;
        let fills = spread.devices.values().filter(|load| takes(&load.host)).filter_map(|load| load.fill());
        let want = fills.fold(0.0, f64::max);
        let found = loss.fill.map_or(0.0, |fill| fill.0);
        is((want - found).abs() < 1e-9, || format!("{}: {want} by all groups, {found} reported", loss.host))
    })
}

const LAWS: [(&str, Law); 12] = [
    ("shares are parts", shares_are_parts),
    ("the ideal is complete", ideal_is_complete),
    ("as many are drawn", drawn_are_as_many),
    ("causes add up", causes_add_up),
    ("no more than the best fits now", no_more_than_the_best_fits_now),
    ("the best bounds the plan", the_best_bounds_the_plan),
    ("each stage wins", each_stage_wins),
    ("stages are the plan", stages_are_the_plan),
    ("fill never rises", fill_never_rises),
    ("domains stay apart", domains_stay_apart),
    ("the last move wins", the_last_move_wins),
    ("no pool loses by its own moves", no_pool_loses_by_its_own_moves),
];

#[test]
fn laws_hold_on_a_thousand_clusters() {
    let (mut moves, mut upmaps, mut spans, mut retried) = (0, 0, 0, 0);
    for seed in 0..1_000 {
        let answer = answer(drawn(seed));
        for (name, law) in LAWS {
            law(&answer).unwrap_or_else(|why| panic!("cluster {seed}: {name}: {why}"));
        }
        if seed % 10 == 0 {
            losses_are_those_of_a_full_placement(&answer)
                .unwrap_or_else(|why| panic!("cluster {seed}: {why}"));
        }
        moves += answer.plan.len();
        retried += if retries(seed) { answer.plan.len() } else { 0 };
        upmaps += answer.cluster.overlay.upmap_items.len();
        spans += usize::from(answer.applied.stages.len() == STAGES);
    }
    // The clusters are not so plain that laws hold for want of a case.
    assert!(
        moves > 5_000 && upmaps > 300 && spans > 500 && retried > 1_000,
        "{moves} moves, {upmaps} mappings, {spans} in stages, {retried} by multi-step retry"
    );
}

/// A code with as many shards as there are hosts fills each host with one shard of each group, so that
/// nothing is left over anywhere in the network of the bound: sums that are rounded apart made it half of
/// what fits.
#[test]
fn a_code_as_wide_as_its_hosts_fits_at_best_what_fits_now() {
    let mut whole = 0;
    for seed in 0..2u64 {
        let mut draws = Draws(seed);
        let width = draws.pick(&[12usize, 12, 9]);
        let host = |weight: f64| Host { rack: 0, class: "hdd", weights: vec![weight; 24] };
        let weight = draws.pick(&[9.0, 10.69, 14.6]);
        let hosts: Vec<Host> = (0..width).map(|_| host(weight)).collect();
        let pg_num = draws.pick(&[1500u32, 2048]);
        let each = (200 + draws.below(300)) * 1_000_000_007;
        let bytes = vec![each; pg_num as usize];
        let (size, data_shards) = (width as u32, width as u32 - 2);
        let pool = PoolSpec { erasure: true, size, data_shards, pg_num, rule: 5, bytes };
        let answer = answer(cluster(&hosts, &[pool], |_| 1.0));
        no_more_than_the_best_fits_now(&answer).unwrap_or_else(|why| panic!("cluster {seed}: {why}"));
        whole += u32::from(answer.spread.pools[0].shards == u64::from(pg_num) * u64::from(size));
        // What fits now need not be told to the search.
        let mix = answer.spread.alone(0);
        let (now, found) = (answer.rooms[0].0, Best::of(&answer.spread).room(&mix, 0.0).bytes);
        assert!(found >= now * (1.0 - 1e-6), "cluster {seed}: {now} now, and {found} at best");
    }
    assert!(whole > 0, "only {whole} clusters have all their shards");
}

/// A violation of each law, and the law that it breaks.
#[test]
fn each_law_catches_what_is_planted() {
    type Damage = fn(&mut Answer);
    let damages: [Damage; 12] = [
        |answer| {
            let pool = &answer.spread.pools[0];
            *answer.ideal[0].values_mut().next().unwrap() = 1.5 * f64::from(pool.pg_num);
        },
        |answer| *answer.ideal[0].values_mut().next().unwrap() += 0.5,
        |answer| *answer.ideal[0].values_mut().next().unwrap() -= 0.5,
        |answer| {
            answer.causes.remove(6);
        },
        |answer| answer.rooms[0].1 = answer.rooms[0].0 * 0.9,
        |answer| answer.rooms[answer.spread.pools.len()].1 *= 0.5,
        |answer| answer.applied.stages.swap(0, 2),
        |answer| {
            answer.plan.pop();
        },
        |answer| answer.applied.after.devices.values_mut().next().unwrap().bytes *= 20,
        |answer| {
            let group = &mut answer.applied.after.groups[0];
            group.up[1] = group.up[0];
        },
        |answer| answer.applied.after = answer.spread.clone(),
        |answer| {
            answer.plan.truncate(1);
            answer.rooms.iter_mut().for_each(|room| room.0 *= 1e3);
        },
    ];
    for ((name, law), damage) in LAWS.iter().zip(damages) {
        let mut answer = answer(drawn(PLAIN));
        law(&answer).unwrap_or_else(|why| panic!("{name}: {why}"));
        damage(&mut answer);
        assert!(law(&answer).is_err(), "{name} holds although it is violated");
    }
    let mut answer = answer(drawn(PLAIN));
    let fill = answer.losses[0].fill.as_mut().unwrap();
    fill.0 += 0.01;
    assert!(losses_are_those_of_a_full_placement(&answer).is_err());
}

/// A cluster with a plan of three stages that each win something.
const PLAIN: u64 = 2;

/// The audit of a plan catches each kind of damage by its name.
#[test]
fn the_audit_catches_a_planted_violation() {
    let Answer { cluster, spread, plan, .. } = answer(drawn(PLAIN));
    let audit = |plan: &[Move]| applied(&cluster, &spread, plan, STAGES).err();
    assert_eq!(audit(&plan), None);
    // A second shard on the host of another one of the same group.
    let hosts = cluster.hosts();
    let mut bad = plan.clone();
    let one = &mut bad[0];
    let at = spread
        .groups
        .iter()
        .position(|group| (spread.pools[group.pool].id, group.seed) == (one.pool, one.seed));
    let others: Vec<i32> =
        spread.groups[at.unwrap()].up.iter().copied().filter(|id| *id != one.from).collect();
    let twin = hosts.keys().copied().find(|id| {
        !others.contains(id) && *id != one.from && others.iter().any(|other| hosts[other] == hosts[id])
    });
    let (old, twin) = (one.to, twin.unwrap());
    one.items.iter_mut().filter(|pair| pair.1 == old).for_each(|pair| pair.1 = twin);
    one.to = twin;
    let found = audit(&bad);
    assert!(matches!(found, Some(Broken::Dropped(_) | Broken::Shared(_))), "{found:?}");
    // A mapping that does nothing, so that bytes are missing.
    let mut bad = plan.clone();
    bad[0].items = vec![(bad[0].to, bad[0].from)];
    assert!(matches!(audit(&bad), Some(Broken::Bytes(..))));
    // Moves to the fullest device.
    let fullest = spread
        .devices
        .iter()
        .max_by(|left, right| left.1.fill().unwrap().total_cmp(&right.1.fill().unwrap()));
    let fullest = *fullest.unwrap().0;
    let group = spread.groups.iter().filter(|group| {
        group.up.iter().all(|id| hosts[id] != hosts[&fullest])
            && cluster.overlay.upmap_items.keys().all(|id| id.seed != group.seed)
    });
    let group = group.max_by_key(|group| group.shard).unwrap();
    let from = group.up[0];
    let pool = spread.pools[group.pool].id;
    let items = vec![(from, fullest)];
    let bad = [Move { pool, seed: group.seed, from, to: fullest, bytes: group.shard, items }];
    let found = audit(&bad);
    assert!(matches!(found, Some(Broken::Fuller(_))), "{found:?}");
}

/// A plan with a limit on destinations moves to nothing else, and one with fewer moves is its beginning.
#[test]
fn a_filter_of_destinations_holds() {
    for seed in 0..100 {
        let cluster = drawn(seed);
        let spread = Spread::of(&cluster, limits(), &mut |_| true).unwrap().unwrap();
        let wanted = [0, 1, 2].into();
        let few = plan(&spread, &cluster, &Limits { moves: 30, destinations: Some(wanted) });
        assert!(few.iter().all(|one| one.to <= 2), "cluster {seed}");
        let audit = applied(&cluster, &spread, &few, 1).err();
        assert_eq!(audit, None, "cluster {seed}");
        let all = plan(&spread, &cluster, &Limits { moves: 30, destinations: None });
        let short = plan(&spread, &cluster, &Limits { moves: 5, destinations: None });
        assert!(all.starts_with(&short), "cluster {seed}: {short:?} is not the beginning of {all:?}");
    }
}
