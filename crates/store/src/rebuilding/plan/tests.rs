//! Drawn courses of a cluster: whatever may have been acknowledged is in the new history, or said to be lost.

use proptest::prelude::*;
use towtank_replication::DeviceId;

use super::*;

/// A cluster as it really is: what the monitor has published, and what each device has heard of that.
struct Cluster {
    settings: Settings,
    maps: Vec<ClusterMap>,
    found: Findings,
    lives: u64,
}

impl Cluster {
    fn new(osds: u32, replicas: u32) -> Cluster {
        let settings = Settings { osds, replicas, groups: 4, ..Settings::default() };
        let life = |osd: u32| OsdState::begins_with(Incarnation(u64::from(osd)));
        let first = ClusterMap {
            epoch: 1,
            oldest: 1,
            change: Change::Osds,
            osds: (0..osds).map(|osd| (osd, life(osd))).collect(),
            temporary: BTreeMap::new(),
            gone: Vec::new(),
        };
        let mut cluster =
            Cluster { settings, maps: vec![first], found: Findings::default(), lives: u64::from(osds) };
        for osd in 0..osds {
            cluster.begins(osd, Incarnation(u64::from(osd)));
        }
        cluster
    }

    fn now(&self) -> &ClusterMap {
        self.maps.last().expect("there is a first one")
    }

    fn begins(&mut self, osd: u32, incarnation: Incarnation) {
        let (maps, outlines) = (BTreeMap::new(), BTreeMap::new());
        self.found.testimonies.insert(osd, Testimony { incarnation, runs: Runs::default(), maps, outlines });
    }

    fn publish(&mut self, change: Change, by: impl FnOnce(&mut ClusterMap)) {
        let mut map = ClusterMap { epoch: self.now().epoch + 1, change, ..self.now().clone() };
        by(&mut map);
        self.maps.push(map);
    }

    fn step(&mut self, (what, osd, heard): (u8, u8, u64)) {
        let osd = u32::from(osd) % self.settings.osds;
        let is_up = self.now().osds[&osd].is_up;
        match what % 8 {
            0..=2 => {
                let testimony = self.found.testimonies.get_mut(&osd).expect("all have one");
                if !is_up {
                    testimony.runs.begin(testimony.runs.last().unwrap_or(0) + 1);
                }
                let last_run = testimony.runs.last();
                self.publish(Change::Osds, |map| {
                    let state = map.osds.get_mut(&osd).expect("it is there");
                    (state.is_up, state.last_run) = (!is_up, last_run);
                });
            }
            3 => self.publish(Change::Osds, |map| {
                let state = map.osds.get_mut(&osd).expect("it is there");
                state.is_in = !state.is_in;
            }),
            4 => self.publish(Change::Room, |map| {
                map.osds.get_mut(&osd).expect("it is there").is_full ^= true;
            }),
            5 if !is_up => {
                self.lives += 1;
                let life = Incarnation(self.lives);
                let former = self.now().member(osd);
                self.begins(osd, life);
                self.publish(Change::Osds, |map| {
                    map.gone.extend(former);
                    let state = map.osds.get_mut(&osd).expect("it is there");
                    (state.incarnation, state.last_run) = (Some(life), None);
                });
            }
            // All groups are clean in their present intervals: earlier maps are forgotten.
            6 if self.has_heard_all() => {
                let epoch = self.now().epoch;
                self.maps.retain(|map| map.epoch >= epoch);
                self.maps[0].oldest = epoch;
                self.hear(u64::MAX);
            }
            _ => {}
        }
        self.hear(heard);
    }

    fn has_heard_all(&self) -> bool {
        (0..self.settings.groups).all(|group| self.may_have_served(self.now(), group).is_some())
    }

    /// The daemons that run hear of all maps so far, if their bit is set.
    fn hear(&mut self, heard: u64) {
        let (maps, up) = (&self.maps, self.maps.last().map(ClusterMap::alive).unwrap_or_default());
        for DeviceId(osd) in up.into_iter().map(|member| member.device) {
            if heard >> osd & 1 == 1 {
                let known = &mut self.found.testimonies.get_mut(&osd).expect("all have one").maps;
                known.extend(maps.iter().map(|map| (map.epoch, map.clone())));
                known.retain(|epoch, _| *epoch >= maps[0].epoch);
            }
        }
    }

    /// Who acts in an interval, if it may have served: each of them has heard of it.
    fn may_have_served(&self, map: &ClusterMap, group: u32) -> Option<Vec<Member>> {
        let acting = Places::new(&self.settings, map).map_of(map, group).acting;
        let members: Vec<Member> = acting.iter().filter_map(|device| map.member(device.0)).collect();
        let has_heard = |member: &Member| {
            let testimony = &self.found.testimonies[&member.device.0];
            // A former life did so before it was replaced, or it did not.
            testimony.incarnation != member.incarnation || testimony.maps.contains_key(&map.epoch)
        };
        let serves = members.len() >= self.settings.config(group).size_min && members.iter().all(has_heard);
        (serves && map.begins_interval_of(group)).then_some(members)
    }

    /// Whether all that may have been acknowledged is waited for, or said to be lost.
    fn judge(&self, plan: &Plan, without: &BTreeSet<u32>) -> Result<(), String> {
        let new = plan.maps.last().expect("there is a new one");
        let is_said = |group| plan.loss.groups.iter().any(|lost| lost.group == group);
        for map in &self.maps {
            for group in 0..self.settings.groups {
                let Some(members) = self.may_have_served(map, group) else { continue };
                let is_left = |it: &Member| !without.contains(&it.device.0) && !self.now().gone.contains(it);
                let is_past = |it: &Member| self.now().gone.contains(it);
                if members.iter().any(is_left) && !plan.maps.contains(map) {
                    return Err(format!("map {} is forgotten", map.epoch));
                }
                let is_lost = !members.iter().any(is_left) && !members.iter().all(is_past);
                if is_lost && !is_said(group) && !plan.may_have_gone_on {
                    return Err(format!(
                        "what group {group} had since map {} is not said to be lost",
                        map.epoch
                    ));
                }
            }
        }
        let all_down = new.osds.values().all(|state| !state.is_up);
        let is_sound =
            all_down && new.epoch == self.found.newest() + AHEAD && new.oldest == plan.maps[0].epoch;
        is_sound.then_some(()).ok_or_else(|| format!("{new:?}"))
    }
}

fn steps() -> impl Strategy<Value = Vec<(u8, u8, u64)>> {
    proptest::collection::vec(any::<(u8, u8, u64)>(), 1..60)
}

proptest! {
    #[test]
    fn what_may_have_been_acknowledged_is_waited_for(
        (osds, replicas) in (1..6_u32).prop_flat_map(|osds| (Just(osds), 1..=osds.min(3))),
        steps in steps(),
        without in any::<u8>(),
        gives_up in any::<bool>(),
        heard in any::<u8>(),
    ) {
        let mut cluster = Cluster::new(osds, replicas);
        steps.into_iter().for_each(|step| cluster.step(step));
        let without: BTreeSet<u32> = (0..osds).filter(|osd| gives_up && without >> osd & 1 == 1).collect();
        let made = made(&cluster.settings, &cluster.found, &without);
        let Ok(plan) = made else {
            let is_left = |(osd, _): &(&u32, &Testimony)| !without.contains(osd);
            let mut left = cluster.found.testimonies.iter().filter(is_left);
            // A new directory of which the others have not heard is named; else nobody knows a map.
            let is_named = matches!(&made, Err(Gap::Devices(_)));
            prop_assert!(is_named || left.all(|(_, it)| it.maps.is_empty()), "{made:?}");
            return Ok(());
        };
        prop_assert_eq!(cluster.judge(&plan, &without), Ok(()));
        // Again, after the first time was interrupted: at least one of those that are left knows the new map.
        let mut found = cluster.found.clone();
        found.testimonies.retain(|osd, _| !without.contains(osd));
        for (at, testimony) in found.testimonies.values_mut().enumerate() {
            if at == 0 || heard >> at & 1 == 1 {
                testimony.maps = plan.maps.iter().map(|map| (map.epoch, map.clone())).collect();
            }
        }
        let again = super::made(&cluster.settings, &found, &BTreeSet::new()).expect("who is gone is not wanted");
        prop_assert_eq!(&again.maps[..again.maps.len() - 1], &plan.maps[..]);
        prop_assert!(again.loss.is_nothing() && again.newest == cluster.found.newest() + AHEAD);
    }
}

/// Two devices with two copies; the second goes on alone.
fn one_goes_on() -> Cluster {
    let mut cluster = Cluster::new(2, 2);
    [(0, 0, 3), (0, 1, 3), (0, 1, 1)].into_iter().for_each(|step| cluster.step(step));
    cluster
}

#[test]
fn a_history_that_lacks_what_one_device_knows_is_noticed() {
    let cluster = one_goes_on();
    let nobody = BTreeSet::new();
    let plan = made(&cluster.settings, &cluster.found, &nobody).expect("all are there");
    assert_eq!((cluster.judge(&plan, &nobody), plan.newest), (Ok(()), 4));
    let mut found = cluster.found.clone();
    found.testimonies.get_mut(&0).expect("it is there").maps.clear();
    let plan = made(&cluster.settings, &found, &nobody).expect("all are there");
    assert_eq!(cluster.judge(&plan, &nobody), Err("map 4 is forgotten".to_owned()));
    // So is a loss that is not said.
    let without = BTreeSet::from([0]);
    let mut plan = made(&cluster.settings, &cluster.found, &without).expect("1 is there");
    assert_eq!(cluster.judge(&plan, &without), Ok(()));
    (plan.loss, plan.may_have_gone_on) = (Loss::default(), false);
    let judged = cluster.judge(&plan, &without).expect_err("0 was alone");
    assert!(judged.contains("is not said to be lost"), "{judged}");
}

#[test]
fn who_is_wanting_is_named_and_what_only_it_knows_is_said() {
    let cluster = one_goes_on();
    let (settings, whole) = (&cluster.settings, &cluster.found);
    let said =
        |found: &Findings, without: &[u32]| match made(settings, found, &without.iter().copied().collect()) {
            Ok(plan) => {
                let since: BTreeSet<Epoch> = plan.loss.groups.iter().map(|lost| lost.since).collect();
                format!("map {}, lost since {since:?}, {}", plan.newest, plan.may_have_gone_on)
            }
            Err(gap) => gap.to_string(),
        };
    let with = |change: &dyn Fn(&mut Findings)| {
        let mut found = whole.clone();
        change(&mut found);
        found
    };
    let changed = |osd: u32, change: &dyn Fn(&mut Testimony)| {
        with(&|found| change(found.testimonies.get_mut(&osd).expect("it is there")))
    };
    let missing = with(&|found| drop(found.testimonies.remove(&1)));
    let rotten = with(&|found| {
        found.testimonies.remove(&1);
        found.faults.insert(1, "osd.1: it is rotten".to_owned());
    });
    let nobody = with(&|found| {
        let all = std::mem::take(&mut found.testimonies);
        found.faults = all.keys().map(|osd| (*osd, format!("osd.{osd}: it is rotten"))).collect();
    });
    let new = Testimony {
        incarnation: Incarnation(77),
        runs: Runs::default(),
        maps: BTreeMap::new(),
        outlines: BTreeMap::new(),
    };
    let added = with(&|found| drop(found.testimonies.insert(2, new.clone())));
    let all = [
        said(whole, &[]),
        said(whole, &[1]),
        said(whole, &[0]),
        said(&missing, &[]),
        said(&rotten, &[]),
        said(&rotten, &[1]),
        said(&nobody, &[0]),
        said(&with(&|found| found.testimonies.clear()), &[]),
        said(&changed(1, &|it| it.incarnation = Incarnation(9)), &[]),
        said(&changed(1, &|it| it.runs = Runs::default()), &[]),
        said(&changed(1, &|it| it.maps.values_mut().for_each(|map| map.change = Change::Room)), &[]),
        said(&changed(0, &|it| drop(it.maps.remove(&3))), &[1]),
        said(&with(&|found| found.traces.extend([7])), &[]),
        said(&with(&|found| found.traces.extend([7])), &[7]),
        said(&added, &[]),
    ];
    let expected = "map 4, lost since {}, false
map 4, lost since {}, true
map 3, lost since {2}, true
osd.1: its directory is missing
osd.1: it is rotten
map 4, lost since {}, true
osd.1: it is rotten
no directory of a device keeps a map of the cluster
the directory of osd.1 is not the one that the other devices know
the directory of osd.1 is an older copy: a run that others know is not in it
osd.0 and osd.1 know different maps 1
the maps between 2 and 4 are missing in all directories
osd.7 has run here, and no directory that is left knows of it
map 4, lost since {}, true
map 4, lost since {}, false";
    assert_eq!(all.join("\n"), expected);
}

/// What was acknowledged before an interval in which a complete replica took part is known to that replica.
#[test]
fn what_a_complete_replica_has_heard_of_is_not_lost() {
    let mut cluster = Cluster::new(2, 2);
    // 0 and then 1 act alone, then both; then 1 goes.
    let course = [(0, 0, 3), (0, 0, 3), (0, 1, 3), (0, 0, 3), (0, 1, 1)];
    course.into_iter().for_each(|step| cluster.step(step));
    let without = BTreeSet::from([1]);
    let losing = |last_epoch_started, is_complete, missing: &[u8]| {
        let row = |key: &u8| (vec![*key], vec![1]);
        let missing = missing.iter().map(row).collect();
        let outline = Outline { epoch: 5, last_epoch_started, is_complete, missing };
        let mut found = cluster.found.clone();
        let of_all = (0..4).map(|group| (group, outline.clone())).collect();
        found.testimonies.get_mut(&0).expect("it is there").outlines = of_all;
        made(&cluster.settings, &found, &without).expect("1 is given up").loss
    };
    let since: BTreeSet<Epoch> = losing(3, true, &[]).groups.iter().map(|lost| lost.since).collect();
    assert_eq!(since, BTreeSet::from([4]), "1 was alone then");
    assert!(losing(5, true, &[]).is_nothing(), "0 has taken over what 1 had");
    assert_eq!(losing(5, false, &[]).groups.len(), 4, "0 is being filled, and knows little");
    let loss = losing(5, true, &[7, 8]);
    assert_eq!((loss.groups.len(), loss.unfound), (0, 8), "nobody else has these objects");
}
