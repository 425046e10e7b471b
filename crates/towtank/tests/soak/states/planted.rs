//! A planted violation of each law: answers that break none, made from the facts, are damaged, or the record
//! of who holds what is.

use std::collections::{BTreeMap, BTreeSet};

use towtank_report::Status;

use towtank_placement::crush::pools::FULL;

use super::cluster::{Cluster, Group, NONE, Osd, Pooled, Shown};
use super::laws::{self, Broken, LAWS, Said};
use super::oracle::facts;
use super::{Asked, Drawn, Question, folder, judged, questions, write};

/// What is done to an answer, or to the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Damage {
    /// Its verdict is another.
    Verdict(Status),
    /// Each count is larger, by more than any that is drawn.
    More,
    /// Groups without objects do not count as below `min_size`.
    Empty,
    /// There is a time, of so many seconds, and no number of objects.
    Time(u32),
    /// In the record, a device of the first group that is whole holds nothing.
    Record,
    /// A loss is sure, and nobody knows of what.
    Probability,
    /// An export is taken away.
    Export,
}

const COUNTS: [&str; 16] = [
    "groups_short_now",
    "groups_incomplete_now",
    "groups_inactive_now",
    "groups_unknown_now",
    "below_min_size",
    "moved_bytes",
    "pending_bytes",
    "written_bytes",
    "moved_groups",
    "one_copy_bytes",
    "two_copies_bytes",
    "halted_objects",
    "devices_critical",
    "hosts_critical",
    "groups_affected",
    "objects_affected",
];

/// An answer that breaks no law.
fn sound(cluster: &Cluster, asked: &Asked) -> Said {
    let failed = asked.failed();
    let (facts, moves) = (facts(cluster, failed), laws::to_move(cluster, &cluster.after(failed)));
    let silent = |group: &&super::cluster::Group| matches!(group.shown, Shown::Unknown | Shown::Stale);
    let silent = cluster.groups.iter().filter(silent).count() as u64;
    let counts = [
        facts.short.sure,
        facts.lost.sure,
        facts.inactive.sure,
        silent,
        facts.below.sure,
        moves.bytes.sure,
        moves.bytes.sure,
        moves.bytes.sure,
        moves.groups,
        facts.last_bytes.sure,
        facts.second_bytes.sure,
        laws::only_misplaced(cluster).sure,
        facts.next.devices.len() as u64,
        facts.next.hosts.len() as u64,
        facts.hit.sure,
        facts.hit_objects.sure,
    ];
    let counts = COUNTS.iter().zip(counts).map(|(name, count)| ((*name).to_owned(), Ok(count as f64)));
    let mut measures: BTreeMap<String, Result<f64, String>> = counts.collect();
    for time in ["time_to_clean_s", "time_to_full_redundancy_s"] {
        measures.insert(time.to_owned(), Err("nobody waits for it".to_owned()));
    }
    measures.insert("lost_objects".to_owned(), Ok(facts.lost_objects.sure as f64));
    measures.insert("moved_objects".to_owned(), Ok(1.0));
    Said { verdict: Status::NotSafe, because: "it is planted".to_owned(), measures }
}

fn damage(damage: Damage, asked: &Asked, cluster: &mut Cluster, said: &mut Said) {
    match damage {
        Damage::Verdict(verdict) => said.verdict = verdict,
        Damage::More => {
            let counts = said.measures.iter_mut().filter(|(name, _)| !name.starts_with("time"));
            counts.for_each(|(_, value)| *value = value.clone().map(|count| count + 1e12));
        }
        Damage::Empty => {
            let facts = facts(cluster, asked.failed());
            let count = (facts.below.sure - facts.empty) as f64;
            said.measures.insert("below_min_size".to_owned(), Ok(count));
        }
        Damage::Time(seconds) => {
            for (name, value) in &mut said.measures {
                if name.starts_with("time") {
                    *value = Ok(f64::from(seconds));
                } else if name.ends_with("_objects") {
                    *value = Ok(0.0);
                }
            }
        }
        Damage::Record => forget(cluster),
        Damage::Probability => {
            said.measures.insert("lost_objects".to_owned(), Err("groups are `incomplete`".to_owned()));
            said.measures.insert("data_loss_probability_fraction".to_owned(), Ok(1.0));
        }
        Damage::Export => {}
    }
}

/// Takes the first device out of the record of a group that has one for each copy.
fn forget(cluster: &mut Cluster) {
    let is_whole = |cluster: &Cluster, at: usize| {
        let group = &cluster.groups[at];
        let live = cluster.live(group).len();
        live == cluster.pool(group).width as usize && group.bytes > 0 && group.shown == Shown::Now
    };
    let Some(at) = (0..cluster.groups.len()).find(|at| is_whole(cluster, *at)) else { return };
    let is_coded = cluster.pool(&cluster.groups[at]).is_coded();
    let group = &mut cluster.groups[at];
    if is_coded {
        group.holders[0] = NONE;
    } else {
        group.holders.remove(0);
    }
    group.acting.clone_from(&group.holders);
}

fn broken(cluster: &Cluster, asked: &Asked, said: &Said) -> Broken {
    match asked {
        Asked::Now => laws::now(cluster, said),
        Asked::Moves => laws::shown(cluster, said),
        Asked::Held => laws::held(cluster, said),
        Asked::Failed { devices, .. } => laws::failed(cluster, devices, said),
    }
}

#[test]
fn a_planted_violation_of_each_law_is_noticed() {
    let mut noticed: BTreeSet<(&str, String)> = BTreeSet::new();
    let is_missed = |noticed: &BTreeSet<(&str, String)>, (law, planted): &&(&'static str, Damage)| {
        *planted != Damage::Export && !noticed.contains(&(*law, format!("{planted:?}")))
    };
    for seed in 1..=300 {
        if !LAWS.iter().any(|one| is_missed(&noticed, &one)) {
            break;
        }
        let cluster = if seed % 2 == 0 { Cluster::wide(seed) } else { Cluster::of(seed) };
        // The rarest law is about a device without room.
        if seed > 80 && cluster.is_roomy {
            continue;
        }
        for Question { asked, .. } in questions(&cluster, seed) {
            let right = sound(&cluster, &asked);
            assert_eq!(broken(&cluster, &asked, &right), [], "seed {seed} {asked:?}");
            assert_eq!(laws::alike(&cluster, &right, &right), []);
            assert_eq!(laws::alone(&cluster, asked.failed(), &right), []);
            for one in BTreeSet::from(LAWS.map(|(_, damage)| format!("{damage:?}"))) {
                let (_, planted) = LAWS.iter().find(|(_, damage)| format!("{damage:?}") == one).unwrap();
                let (mut other, mut said) = (cluster.clone(), right.clone());
                damage(*planted, &asked, &mut other, &mut said);
                let mut found = broken(&other, &asked, &said);
                found.extend(laws::alike(&cluster, &right, &said));
                found.extend(laws::alone(&other, asked.failed(), &said));
                noticed.extend(found.into_iter().map(|(law, _)| (law, one.clone())));
            }
        }
    }
    let missed: Vec<_> = LAWS.iter().filter(|one| is_missed(&noticed, one)).collect();
    assert!(missed.is_empty(), "{missed:?} are not noticed");
}

#[test]
fn an_export_that_is_taken_away_is_noticed() {
    let (cluster, place) = (Cluster::of(1), folder("planted"));
    let laws_of = |file: &str| {
        write(&cluster, 1, &place);
        std::fs::remove_file(place.join(file)).unwrap();
        let found = judged(&cluster, 1, &place).into_iter().flat_map(|(_, broken)| broken);
        found.map(|(law, _)| law).collect::<Vec<_>>()
    };
    assert!(laws_of("crush").contains(&"all: there is an answer"));
    assert!(laws_of("report.json").contains(&"report alone: it is not refused"));
}

/// The states that a cluster may be in, and whether it is.
pub(super) fn states(cluster: &Cluster) -> Vec<(&'static str, bool)> {
    let facts = facts(cluster, &[]);
    let has = |shown: Shown| cluster.groups.iter().any(|group| group.shown == shown);
    let flagged = |flag: &str| cluster.has_flag(flag);
    let osd = |is: &dyn Fn(&Osd) -> bool| cluster.devices.iter().any(is);
    let pool = |is: &dyn Fn(&Pooled) -> bool| cluster.pools.iter().any(is);
    let clean = |group: &Group| group.shown == Shown::Now && group.up == group.acting;
    vec![
        ("missing", facts.missing > 0),
        ("misplaced", facts.misplaced > 0),
        ("homeless", facts.homeless > 0),
        ("below min_size", facts.below.sure > 0),
        ("unread", facts.unread.sure > 0),
        ("lost", facts.lost.sure > 0),
        ("stale", has(Shown::Stale)),
        ("unknown", has(Shown::Unknown)),
        ("left out", has(Shown::Left)),
        ("behind", facts.behind > 0),
        ("last copies", facts.last.sure > 0),
        ("explicit mappings", !cluster.upmaps.is_empty()),
        ("clean", cluster.groups.iter().all(clean)),
        ("backfilling", cluster.groups.iter().any(|group| group.begun && group.up != group.acting)),
        ("copied in part", cluster.groups.iter().any(|group| group.part.values().any(|some| *some > 0))),
        ("down and in", osd(&|osd| !osd.up && osd.weight > 0)),
        ("out", osd(&|osd| osd.weight == 0)),
        ("reweighted", osd(&|osd| osd.weight > 0 && osd.weight < FULL)),
        ("destroyed", osd(&|osd| osd.destroyed)),
        ("coded", pool(&Pooled::is_coded)),
        ("no number of objects", !cluster.counts_objects),
        ("little room", !cluster.is_roomy),
        ("racks", cluster.racks > 0),
        ("noout", flagged("noout")),
        ("norecover", flagged("norecover")),
        ("nobackfill", flagged("nobackfill")),
        ("norebalance", flagged("norebalance")),
        ("nodown", flagged("nodown")),
        ("pause", flagged("pauserd")),
    ]
}

/// The same of those that only wide clusters have.
pub(super) fn wide_states(cluster: &Cluster) -> Vec<(&'static str, bool)> {
    let osd = |is: &dyn Fn(&Osd) -> bool| cluster.devices.iter().any(is);
    let pool = |is: &dyn Fn(&Pooled) -> bool| cluster.pools.iter().any(is);
    let of_part = osd(&|osd| osd.noout) || cluster.hosts.iter().any(|host| host.noout);
    vec![
        ("two classes", osd(&|osd| osd.class == "hdd") && osd(&|osd| osd.class == "ssd")),
        ("a rule of a class", pool(&|pool| pool.class().is_some())),
        ("weights in the map", osd(&|osd| osd.heavy != 100)),
        ("primary affinity", osd(&|osd| osd.affinity < FULL)),
        ("isa", pool(&|pool| pool.is_coded() && pool.plugin == "isa")),
        ("whole mappings", !cluster.whole_upmaps.is_empty()),
        ("split, places to follow", pool(&|pool| pool.placed_groups < pool.groups)),
        ("a split to come", pool(&|pool| pool.goal > pool.groups)),
        ("sums of a split", cluster.groups.iter().any(|group| group.invalid)),
        ("noout of a part", of_part || cluster.noout_class.is_some()),
    ]
}

/// Each kind of bad state is drawn often enough to be judged.
#[test]
fn every_bad_state_is_drawn() {
    // Of a wide cluster, whoever is up reports a group, so that few are stale.
    for (of, least) in [(Cluster::of as Drawn, 3), (Cluster::wide, 1)] {
        let mut drawn: BTreeMap<&str, u32> = BTreeMap::new();
        for cluster in (1..=300).map(of) {
            let wide = if cluster.is_wide { wide_states(&cluster) } else { Default::default() };
            for (state, is_there) in states(&cluster).into_iter().chain(wide) {
                *drawn.entry(state).or_default() += u32::from(is_there);
            }
        }
        let few: Vec<_> = drawn.iter().filter(|(_, times)| **times < least).collect();
        assert!(few.is_empty(), "{few:?} of {drawn:?}");
    }
}

/// An answer in which what is down stays in, as if the monitors did nothing.
#[test]
fn what_is_down_and_never_marked_out_is_noticed() {
    let now = Asked::Now;
    let differs = |cluster: &Cluster| {
        let (stays, later) = (laws::to_move(cluster, cluster), laws::to_move(cluster, &cluster.after(&[])));
        !later.bytes.holds(stays.bytes.sure as f64) && facts(cluster, &[]).unknown == 0
    };
    let cluster = (1..=300).map(Cluster::of).find(differs).expect("one of them has a device down and in");
    let mut said = sound(&cluster, &now);
    let stays = laws::to_move(&cluster, &cluster).bytes.sure as f64;
    said.measures.insert("moved_bytes".to_owned(), Ok(stays));
    let found = broken(&cluster, &now, &said);
    assert_eq!(found.iter().map(|(law, _)| *law).collect::<Vec<_>>(), ["now: bytes to move"], "{found:?}");
}
