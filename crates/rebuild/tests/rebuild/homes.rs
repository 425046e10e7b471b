//! Where objects and their new targets lie: against CRUSH's definition on a map that is written by hand, and
//! drawn sets against the mapping itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use towtank_placement::algorithms::Algorithm;
use towtank_placement::crush::reference::{Question, do_rule};
use towtank_placement::crush::text;
use towtank_rebuild::affected::{Affected, Found};
use towtank_rebuild::map_places::MapPlaces;
use towtank_rebuild::placing::{Domain, LostSet, Placing};
use towtank_rebuild::plan::{DeviceId, NOWHERE};
use towtank_rebuild::redundancy::Redundancy;
use towtank_rebuild::server_places::{DrawnPlaces, LIST, Onward};
use towtank_rebuild::shares::Shares;
use towtank_streams::{Draws, Seed, Uniform};

use crate::cluster::{COPIES, Cluster};
use crate::sample::Size;

/// The values that a chi-squared statistic exceeds once in ten thousand cases, by the approximation of Wilson
/// and Hilferty (1931).
fn chi_max(freedom: usize) -> f64 {
    let (freedom, normal) = (freedom as f64, 3.719);
    let part = 2.0 / (9.0 * freedom);
    freedom * (1.0 - part + normal * part.sqrt()).powi(3)
}

/// For two samples of one distribution, the sum of (a - b)² / (a + b) is chi-squared; returns it with the
/// number of cells.
fn chi<K: Ord + Clone>(left: &BTreeMap<K, f64>, right: &BTreeMap<K, f64>) -> (f64, usize) {
    let mut cells = left.clone();
    right.keys().for_each(|key| _ = cells.entry(key.clone()).or_default());
    let of = |map: &BTreeMap<K, f64>, key: &K| map.get(key).copied().unwrap_or(0.0);
    let sum = cells.keys().map(|key| {
        let (a, b) = (of(left, key), of(right, key));
        (a - b).powi(2) / (a + b)
    });
    (sum.sum(), cells.len())
}

fn alike<K: Ord + Clone>(left: &BTreeMap<K, f64>, right: &BTreeMap<K, f64>) -> bool {
    let (chi, cells) = chi(left, right);
    chi <= chi_max(cells)
}

/// For each record, its list and its targets with these devices out.
fn homes(affected: &Affected, devices: u32, out: &[u32]) -> Vec<(Vec<DeviceId>, Vec<DeviceId>)> {
    let out: Vec<bool> = (0..devices).map(|device| out.contains(&device)).collect();
    let mut asked = affected.homes.as_ref().expect("servers have several disks").with_out(0, &out);
    let of = |record: usize| {
        let mut found = vec![NOWHERE; affected.width];
        asked.find(affected.name(record), &mut found);
        (affected.list(record)[..affected.width].to_vec(), found)
    };
    (0..affected.records()).map(of).collect()
}

/// The case of the issue: crushtool finds another disk of the same server for each of 84 groups.
#[test]
fn a_failed_disk_of_three_servers_is_made_good_on_its_siblings() {
    use Algorithm::{CrushStraw, CrushStraw2, CrushVring, Jump, Rendezvous, Ring};
    for algorithm in [CrushStraw2, CrushStraw, CrushVring, Ring, Rendezvous, Jump] {
        for groups in [Some(256), None] {
            let cluster = Cluster::new((3, 4), algorithm, 300).in_groups(groups);
            let affected = cluster.affected(&[5], 1);
            assert!(affected.objects() > 10, "{cluster:?}");
            for (list, found) in homes(&affected, 12, &[5]) {
                let new: Vec<u32> =
                    found.iter().filter(|home| !list.contains(home)).map(|home| home.0).collect();
                assert!(matches!(new[..], [4 | 6 | 7]), "{list:?} becomes {found:?}: {cluster:?}");
            }
        }
    }
}

/// A map as an operator would write it, with the bucket ids of the study.
fn map_text(racks: i32, hosts: i32, disks: i32, mode: &str) -> String {
    let mut map = "tunable choose_local_tries 0\ntunable choose_local_fallback_tries 0\ntunable choose_total_tries 50\n\
                   tunable chooseleaf_descend_once 1\ntunable chooseleaf_vary_r 1\ntunable chooseleaf_stable 1\n\
                   tunable straw_calc_version 1\n"
        .to_owned();
    (0..hosts * disks).for_each(|osd| map += &format!("device {osd} osd.{osd}\n"));
    map += "type 0 osd\ntype 1 host\ntype 2 rack\ntype 3 root\n";
    let weight = |items: i32| format!("{items}.00000");
    for host in 0..hosts {
        let id = -2 - racks - host;
        map += &format!("host h{host} {{\n\tid {id}\n\talg straw2\n\thash 0\n");
        (host * disks..(host + 1) * disks)
            .for_each(|osd| map += &format!("\titem osd.{osd} weight 1.00000\n"));
        map += "}\n";
    }
    let mut root = String::new();
    let own = |rack: i32| (0..hosts).filter(move |host| host * racks / hosts == rack);
    for rack in 0..racks {
        map += &format!("rack r{rack} {{\n\tid {}\n\talg straw2\n\thash 0\n", -2 - rack);
        own(rack).for_each(|host| map += &format!("\titem h{host} weight {}\n", weight(disks)));
        map += "}\n";
        root += &format!("\titem r{rack} weight {}\n", weight(disks * own(rack).count() as i32));
    }
    if racks == 0 {
        (0..hosts).for_each(|host| root += &format!("\titem h{host} weight {}\n", weight(disks)));
    }
    let domain = if racks == 0 { "host" } else { "rack" };
    map += &format!("root all {{\n\tid -1\n\talg straw2\n\thash 0\n{root}}}\n");
    map += "rule one {\n\tid 0\n\ttype replicated\n\tmin_size 1\n\tmax_size 10\n\tstep take all\n";
    map + &format!("\tstep chooseleaf {mode} 0 type {domain}\n\tstep emit\n}}\n")
}

/// Several disks per host, a host and nothing out: compared with the definition of CRUSH, checked against
/// crushtool, on the same map.
#[test]
fn homes_are_those_of_crush_with_the_disk_at_weight_zero() {
    for (racks, hosts, disks, redundancy, mode) in [
        (0, 3, 4, COPIES, "firstn"),
        (0, 7, 3, COPIES, "firstn"),
        (0, 6, 2, Redundancy { data: 3, width: 5 }, "indep"),
        (4, 9, 2, COPIES, "firstn"),
        (4, 8, 3, Redundancy { data: 2, width: 3 }, "indep"),
    ] {
        let domain = if racks > 0 { Domain::Rack } else { Domain::Server };
        let equal = Cluster::new((hosts as u32, disks as u32), Algorithm::CrushStraw2, 0);
        let size = Size { racks: (racks as u32).max(1), ..equal.size };
        let placing = Placing { domain, redundancy, ..equal.placing };
        let places = MapPlaces::new(&placing, &Cluster { size, placing, ..equal }.hardware());
        let map = text::compile(&map_text(racks, hosts, disks, mode)).unwrap();
        let width = redundancy.width as usize;
        let devices = (hosts * disks) as usize;
        let one_host: Vec<usize> = (0..disks as usize).collect();
        for out in [vec![], vec![1], vec![2, 3], one_host] {
            let is_out: Vec<bool> = (0..devices).map(|device| out.contains(&device)).collect();
            let weights: Vec<u32> = is_out.iter().map(|out| if *out { 0 } else { 0x1_0000 }).collect();
            let asked = places.asked(&is_out);
            for key in 0..2_000 {
                let mut found = vec![NOWHERE; width];
                asked.devices(key, &mut found);
                let x = towtank_placement::algorithms::hashing::scatter(key) as u32;
                let question = Question { x, result_max: width, weights: &weights, choose_args: None };
                let mut want: Vec<DeviceId> = do_rule(&map, 0, question)
                    .into_iter()
                    .map(|item| {
                        if item < 0 || item == towtank_placement::crush::NONE {
                            NOWHERE
                        } else {
                            DeviceId(item as u32)
                        }
                    })
                    .collect();
                want.resize(width, NOWHERE);
                assert_eq!(
                    found, want,
                    "{racks} racks, {hosts} hosts of {disks}, {mode}, key {key}, out {out:?}"
                );
            }
        }
    }
}

/// What moves when a disk of 15 is out, and what of it stays on its host: by a drawn lost set, and by CRUSH
/// itself.
#[test]
fn drawn_homes_are_like_those_of_the_map() {
    for algorithm in [Algorithm::CrushStraw2, Algorithm::CrushVring] {
        let moves = |lost_set: LostSet, out: &[u32], onward: Option<Onward>| {
            let cluster = Cluster::new((5, 3), algorithm, 60_000).found_by(lost_set);
            let found = if lost_set == LostSet::Draw { Found::Drawn } else { Found::ByAsking };
            let mut affected = cluster.affected_as(found, &[4, 5], 2);
            if let Some(onward) = onward {
                let hardware = cluster.hardware();
                let failing = [false, true, false, false, false];
                let shares = Shares::new(&[1.0; 5], &failing, 3);
                affected.homes =
                    Some(Arc::new(DrawnPlaces { shares, hardware, seed: Seed(2), spare: 2, onward }));
            }
            let mut moved = BTreeMap::new();
            for (list, found) in homes(&affected, 15, out) {
                let lost = |device: &DeviceId| out.contains(&device.0);
                assert!(!found.contains(&NOWHERE) && !found.iter().any(lost));
                let kept = list.iter().filter(|device| !lost(device));
                assert!(kept.clone().all(|device| found.contains(device)), "{list:?} becomes {found:?}");
                if list.iter().any(lost) {
                    let new = found.iter().find(|home| !list.contains(home)).copied();
                    let from = list.iter().find(|device| lost(device)).copied();
                    *moved.entry((from, new)).or_insert(0.0) += 1.0;
                }
            }
            moved
        };
        for out in [&[4][..], &[4, 5]] {
            let (drawn, asked) = (moves(LostSet::Draw, out, None), moves(LostSet::Enumerate, out, None));
            let (chi, cells) = chi(&drawn, &asked);
            assert!(
                chi < chi_max(cells),
                "{algorithm:?}: {chi} by {cells} cells, out {out:?}: {drawn:?} {asked:?}"
            );
            let siblings: f64 =
                asked.iter().filter(|((_, new), _)| *new == Some(DeviceId(3))).map(|at| at.1).sum();
            let share = siblings / asked.values().sum::<f64>();
            assert!(share > 0.1 && share < 0.5, "{share} of what moves stays on its host");
            // A deliberate fault, to test the test: disks of the host before all others.
            if algorithm == Algorithm::CrushStraw2 {
                assert!(!alike(&moves(LostSet::Draw, out, Some(Onward::Servers)), &asked));
            }
        }
    }
}

/// Data of a server all of whose disks are out goes to other servers; before that, to its last disk.
#[test]
fn a_ring_passes_a_server_over_when_all_its_disks_are_out() {
    use Algorithm::{Maglev, Rendezvous, Ring};
    for (algorithm, found) in
        [(Ring, Found::ByInverse), (Maglev, Found::ByAsking), (Rendezvous, Found::Drawn)]
    {
        let lost_set = if found == Found::Drawn { LostSet::Draw } else { LostSet::Auto };
        let cluster = Cluster::new((5, 2), algorithm, 3_000).found_by(lost_set);
        let affected = cluster.affected_as(found, &[2, 3], 4);
        for (list, found) in homes(&affected, 10, &[2]) {
            let want: Vec<DeviceId> =
                list.iter().map(|device| if device.0 == 2 { DeviceId(3) } else { *device }).collect();
            assert_eq!(found, want, "{cluster:?}");
        }
        for (list, found) in homes(&affected, 10, &[2, 3]) {
            let kept = list.iter().filter(|device| device.0 / 2 != 1);
            assert!(kept.clone().all(|device| found.contains(device)));
            let mut servers: Vec<u32> = found.iter().map(|device| device.0 / 2).collect();
            servers.sort_unstable();
            servers.dedup();
            assert!(servers.len() == 3 && !servers.contains(&1), "{found:?}: {cluster:?}");
        }
    }
}

/// Counts over the lists that contain a server: the copies on each server, the pairs of servers that hold the
/// other copies, and the ranks of the failed one.
#[derive(Default)]
struct Counted {
    copies: BTreeMap<u32, f64>,
    together: BTreeMap<(u32, u32), f64>,
    ranks: BTreeMap<usize, f64>,
}

impl Counted {
    fn of(lists: impl Iterator<Item = [u32; 3]>, failed: u32) -> Counted {
        let mut counted = Counted::default();
        for list in lists {
            list.iter().for_each(|server| *counted.copies.entry(*server).or_default() += 1.0);
            let rank = list.iter().position(|server| *server == failed).expect("it touches");
            *counted.ranks.entry(rank).or_default() += 1.0;
            let mut others: Vec<u32> = list.into_iter().filter(|server| *server != failed).collect();
            others.sort_unstable();
            *counted.together.entry((others[0], others[1])).or_default() += 1.0;
        }
        counted
    }

    /// The statistics of copies, pairs and ranks, each with its number of cells.
    fn against(&self, other: &Counted) -> [(f64, usize); 3] {
        [
            chi(&self.copies, &other.copies),
            chi(&self.together, &other.together),
            chi(&self.ranks, &other.ranks),
        ]
    }

    fn is_like(&self, other: &Counted) -> bool {
        self.against(other).into_iter().all(|(chi, cells)| chi <= chi_max(cells))
    }
}

/// A server fails that holds a copy of each object of a set: the lists by the mapping of every object, and by
/// the draw.
fn compare(servers: u32, objects: u64, algorithm: Algorithm) -> (Vec<[u32; 3]>, Vec<[u32; 3]>) {
    let lists = |lost_set: LostSet| -> Vec<[u32; 3]> {
        let cluster = Cluster::new((servers, 1), algorithm, objects).found_by(lost_set);
        let found = if lost_set == LostSet::Draw { Found::Drawn } else { Found::ByAsking };
        let affected = cluster.affected_as(found, &[4], 9);
        let list = |record| {
            let list = affected.list(record);
            [list[0].0, list[1].0, list[2].0]
        };
        (0..affected.records()).map(list).collect()
    };
    (lists(LostSet::Enumerate), lists(LostSet::Draw))
}

/// Wrong draws, to test the test: equal shares for all servers where the ring's differ, and copies that stay
/// with their neighbours.
fn planted(servers: u32, objects: u64) -> [Counted; 2] {
    let failing: Vec<bool> = (0..servers).map(|server| server == 4).collect();
    let shares = Shares::new(&vec![1.0; servers as usize], &failing, 3);
    let equal = (0..objects).filter_map(|id| {
        let mut draws = Draws::new(Seed(5), 0, id);
        let mut source = draws.of(LIST);
        let mut list = [0; 3];
        (source.unit_f64() < shares.candidates() && shares.draw(&mut list, &mut source)).then_some(list)
    });
    let equal: Vec<[u32; 3]> = equal.collect();
    let beside = equal.iter().map(|list| {
        let other = list.iter().copied().find(|server| *server != 4).expect("three servers differ");
        let next = (1..).map(|step| (other + step) % servers).find(|next| *next != 4).expect("some are left");
        let mut beside = list.map(|server| if server == 4 || server == other { server } else { next });
        beside.rotate_left((other % 3) as usize);
        beside
    });
    [Counted::of(equal.iter().copied(), 4), Counted::of(beside, 4)]
}

/// `TOWTANK_DRAWN_OBJECTS=1000000` runs it with that many objects on 64 servers and with all placements, and
/// prints the contents of `docs/measurements/draws.md`.
#[test]
fn what_is_drawn_is_what_the_mapping_gives_in_distribution_and_in_company() {
    let many: Option<u64> =
        std::env::var("TOWTANK_DRAWN_OBJECTS").ok().map(|text| text.parse().expect("a number of objects"));
    let (servers, objects) = many.map_or((6, 100_000), |objects| (64, objects));
    let all = [Algorithm::CrushVring, Algorithm::CrushStraw2, Algorithm::CrushStraw, Algorithm::Rendezvous];
    let [equal, beside] = planted(servers, objects);
    for algorithm in &all[..if many.is_some() { 4 } else { 2 }] {
        let (asked, drawn) = compare(servers, objects, *algorithm);
        let name = algorithm.name();
        println!("{name}: {} touched by the mapping, {} by the draw", asked.len(), drawn.len());
        let [asked, drawn] = [asked, drawn].map(|lists| Counted::of(lists.into_iter(), 4));
        for (draw, counted) in [("draw", &drawn), ("equal shares", &equal), ("neighbours", &beside)] {
            let seen = counted.against(&asked).map(|(chi, cells)| (chi, cells, chi_max(cells)));
            println!("  {draw}: copies, pairs, ranks (chi-squared, cells, limit) {seen:.1?}");
        }
        assert!(drawn.is_like(&asked), "{name}: {:?}", drawn.against(&asked));
        assert!(!beside.is_like(&asked), "{name}: neighbours pass: {:?}", beside.against(&asked));
        if *algorithm == Algorithm::CrushVring {
            assert!(!equal.is_like(&asked), "equal shares pass: {:?}", equal.against(&asked));
        }
    }
}
