//! Clusters that are worked out by hand.

use towtank_ceph::balance::{
    Best, CauseKind, Limits, Spread, advice, applied, causes, command, losses, plan, room,
};
use towtank_ceph::{Cluster, Stated};
use towtank_placement::crush::pools::PgId;

use super::clusters::{Host, PoolSpec, TIB, cluster, limits, settle};

const GIB: u64 = 1 << 30;

/// Four hosts with two devices each; one host has devices of double size.
fn one_double_host(copies: u32, pg_num: u32, each: u64) -> Cluster {
    let host = |weight: f64| Host { rack: 0, class: "hdd", weights: vec![weight; 2] };
    let hosts = [host(2.0), host(1.0), host(1.0), host(1.0)];
    let bytes = vec![each; pg_num as usize];
    let pool = PoolSpec { erasure: false, size: copies, data_shards: 1, pg_num, rule: 0, bytes };
    cluster(&hosts, &[pool], |_| 1.0)
}

fn spread(cluster: &Cluster) -> Spread {
    Spread::of(cluster, limits(), &mut |_| true).unwrap().unwrap()
}

fn near(found: f64, want: f64, within: f64) {
    assert!((found - want).abs() <= within, "{found}, but {want} by hand");
}

/// Hosts of 4, 2, 2 and 2 TiB, three copies. The double host has 2/5 of the weight and would hold 6/5 of a
/// copy of each group; it can hold one. The other three hosts share two copies: 2/3 each. Of 1 TiB of data
/// each device of the double host holds 1/2 TiB (1/4 full), each other one 1/3 TiB (1/3 full), and an even
/// fill would be 3/10.
#[test]
fn a_double_host_cannot_be_filled_with_three_copies() {
    let cluster = one_double_host(3, 1024, GIB);
    let spread = spread(&cluster);
    let ideal = &spread.ideal()[0];
    for id in 0..8 {
        near(ideal[&id], if id < 2 { 512.0 } else { 1024.0 / 3.0 }, 1e-6);
    }
    let causes = causes(&spread);
    let added = |kind| causes.iter().find(|cause| cause.kind == kind).unwrap().added.unwrap();
    near(added(CauseKind::EvenFill), 0.3, 1e-9);
    near(added(CauseKind::Overheads), 0.0, 1e-9);
    near(added(CauseKind::Rule), 1.0 / 3.0 - 0.3, 1e-9);
    near(added(CauseKind::CrushWeights), 0.0, 1e-9);
    near(added(CauseKind::Reweights), 0.0, 1e-9);
    // CRUSH misses the double host if three draws go to the others: 3/5 2/4 1/3 = 1/10 of the groups. So the
    // others have 7/10 instead of 2/3.
    near(added(CauseKind::Draws), 0.35 - 1.0 / 3.0, 1e-5);
    assert!(added(CauseKind::TooFewGroups) > 0.0);
    near(added(CauseKind::SizesWithinPools), 0.0, 1e-9);
    near(added(CauseKind::Upmaps), 0.0, 1e-9);
    // At best: devices of the others are full at 0.95 TiB, with 1/3 of the data: 2.85 TiB of data.
    let mix = spread.alone(0);
    let now = room(&spread, &mix).bytes;
    let best = Best::of(&spread).room(&mix, now).bytes;
    near(best / TIB as f64, 1.85, 1e-4);
    assert!(now < best);
}

/// Two copies: the double host has 4/5 of a copy of each group by weight, which the rule allows: 2/5 on each
/// of its devices, 1/5 on each other one; all are 1/5 full, and the rule costs nothing.
#[test]
fn a_double_host_is_filled_with_two_copies() {
    let cluster = one_double_host(2, 1024, GIB);
    let spread = spread(&cluster);
    let causes = causes(&spread);
    let added = |kind| causes.iter().find(|cause| cause.kind == kind).unwrap().added.unwrap();
    near(added(CauseKind::EvenFill), 0.2, 1e-9);
    near(added(CauseKind::Rule), 0.0, 1e-9);
    // Drawn: 1 - 3/5 (3/4 ... one of the others first, then one of the other two rather than the double
    // host: 2/4), so 1 - 3/5 1/2 = 7/10 instead of 8/10; the others have 13/30 instead of 12/30.
    near(added(CauseKind::Draws), 0.2 * (13.0 / 12.0 - 1.0), 1e-5);
    let best = Best::of(&spread).room(&spread.alone(0), 0.0).bytes;
    near(best / TIB as f64, 10.0 * 0.95 / 2.0 - 1.0, 1e-4);
}

/// Weights against sizes: the double devices have the weight of the others.
#[test]
fn weights_that_do_not_fit_are_a_cause() {
    let host = || Host { rack: 0, class: "hdd", weights: vec![1.0; 2] };
    let pool =
        PoolSpec { erasure: false, size: 2, data_shards: 1, pg_num: 1024, rule: 0, bytes: vec![GIB; 1024] };
    let mut cluster =
        cluster(&[host(), host(), host(), host()], &[pool], |at| if at < 2 { 2.0 } else { 1.0 });
    let by_weight = causes(&spread(&cluster));
    let of = |causes: &[towtank_ceph::balance::Cause], kind| {
        causes.iter().find(|cause| cause.kind == kind).unwrap().added.unwrap()
    };
    // Even: 2 TiB of copies on 10 TiB. By weight each device has 1/8 of 2 TiB: 1/4 full.
    near(of(&by_weight, CauseKind::CrushWeights), 0.25 - 0.2, 1e-9);
    cluster.overlay.devices[7].weight = 0x8000;
    settle(&mut cluster, |_| 0);
    let causes = causes(&spread(&cluster));
    // The weights are 2, 2, 2 and 1.5: devices of the first three hosts have 2/7.5 of a copy of each group.
    near(of(&causes, CauseKind::Reweights), 2.0 / 7.5 - 0.25, 1e-9);
}

/// After the loss of a host of three, groups of three copies are short, and nothing moves.
#[test]
fn of_three_hosts_none_can_take_over() {
    let host = || Host { rack: 0, class: "hdd", weights: vec![1.0; 2] };
    let bytes = vec![GIB; 64];
    let pool = PoolSpec { erasure: false, size: 3, data_shards: 1, pg_num: 64, rule: 0, bytes };
    let cluster = cluster(&[host(), host(), host()], &[pool], |_| 1.0);
    let spread = spread(&cluster);
    let losses = losses(&cluster, &spread, &[spread.alone(0)]).unwrap();
    assert_eq!(losses.len(), 3);
    for loss in losses {
        assert_eq!(loss.groups_short, 64, "{}", loss.host);
        let others = spread.devices.values().filter(|load| load.host != loss.host);
        let fullest = others.filter_map(|load| load.fill()).fold(0.0, f64::max);
        near(loss.fill.unwrap().0, fullest, 1e-12);
    }
}

/// The plan fills the double host with a shard of each group, and evens out the rest.
#[test]
fn a_plan_fills_the_double_host() {
    let cluster = one_double_host(3, 256, 4 * GIB);
    let spread = spread(&cluster);
    let moves = plan(&spread, &cluster, &Limits { moves: 1_000, destinations: None });
    let applied = applied(&cluster, &spread, &moves, 4).unwrap();
    assert_eq!(applied.stages.len(), 4);
    let fill = applied.stages[3].fill.unwrap();
    // By hand, 1/3 is the least. One shard is 4 GiB of 1 TiB: 0.4 percent points.
    assert!((1.0 / 3.0..1.0 / 3.0 + 0.008).contains(&fill), "{fill}");
}

/// Sixty equal devices in ten hosts, 4,096 equal groups of three copies: 204 or 205 on each device. No more
/// moves than copies above that, as with `osdmaptool --upmap` and a deviation of 1.
#[test]
fn a_plan_of_equal_groups_takes_the_least_moves() {
    let hosts: Vec<Host> = (0..10).map(|_| Host { rack: 0, class: "hdd", weights: vec![1.0; 6] }).collect();
    let bytes = vec![2 * GIB; 4_096];
    let pool = PoolSpec { erasure: false, size: 3, data_shards: 1, pg_num: 4_096, rule: 0, bytes };
    let cluster = cluster(&hosts, &[pool], |_| 1.0);
    let spread = spread(&cluster);
    let most = spread.devices.values().map(|load| load.shards).max().unwrap();
    let least: u64 = spread.devices.values().map(|load| load.shards.saturating_sub(205)).sum();
    let moves = plan(&spread, &cluster, &Limits { moves: 10_000, destinations: None });
    let after = applied(&cluster, &spread, &moves, 1).unwrap().after;
    let counts: Vec<u64> = after.devices.values().map(|load| load.shards).collect();
    let (low, high) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    assert!(most > 220 && high - low <= 1, "{most} shards on a device, then {low} to {high}");
    let up_to_one = least..=least + 60;
    assert!(up_to_one.contains(&(moves.len() as u64)), "{} moves, at least {least}", moves.len());
}

/// Groups that are on their way elsewhere, or that do not serve, are not in the plan.
#[test]
fn what_moves_already_is_left_alone() {
    let mut cluster = one_double_host(3, 256, GIB);
    let touched = |cluster: &Cluster| -> Vec<u32> {
        let moves = plan(&spread(cluster), cluster, &Limits { moves: 1_000, destinations: None });
        moves.iter().map(|one| one.seed).collect()
    };
    let (first, second) = (touched(&cluster)[0], touched(&cluster)[1]);
    let groups = &mut cluster.pools[0].groups;
    groups[first as usize].acting = Some(vec![2, 4, 6]);
    groups[second as usize].stated = Some(Stated { inactive: true, ..Stated::default() });
    let seeds = touched(&cluster);
    assert!(!seeds.is_empty() && !seeds.contains(&second));
    let settled = spread(&cluster).groups[first as usize].settled;
    assert!(settled || !seeds.contains(&first));
}

#[test]
fn commands_are_those_of_ceph() {
    let group = PgId { pool: 12, seed: 0x2f };
    assert_eq!(command(group, &[(1, 2), (5, 7)]), "ceph osd pg-upmap-items 12.2f 1 2 5 7");
    assert_eq!(command(group, &[]), "ceph osd rm-pg-upmap-items 12.2f");
}

/// Eight devices, 100 shards each: 800 shards, three of a group: 267 groups, so 256.
#[test]
fn the_advice_is_the_nearest_power_of_two() {
    let advice = advice(&spread(&one_double_host(3, 64, GIB)), 100);
    near(advice[0].target.unwrap(), 800.0 / 3.0, 1e-6);
    assert_eq!(advice[0].advised, Some(256));
    near(advice[0].share, 1.0, 1e-9);
}
