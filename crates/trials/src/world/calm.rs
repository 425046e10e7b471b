//! The calm phase: all faults end, an operator puts right what needs one, and within a deadline all is
//! answered, clean and equal.

use std::collections::{BTreeMap, BTreeSet};

use towtank_replication::RequestId;
use towtank_store::engine::Table;
use towtank_store::frames::{Answer, Ask, Inventory, Reply, Report, Standing, ToMonitor, Wanted};
use towtank_store::map::Places;
use towtank_store::osd::core::Arrival;
use towtank_units::{SimSpan, SimTime};

use super::World;
use super::host::Door;

/// Within this time all must be clean.
const DEADLINE: SimSpan = SimSpan::from_secs(120);

/// How often it is looked whether it is.
const LOOK: SimSpan = SimSpan::from_ms(500);

impl World {
    /// Ends all faults, and waits until all is clean.
    pub(super) fn calm(&mut self) {
        self.tell(|| "all faults end".to_owned());
        self.is_calm = true;
        self.cut.clear();
        self.weather = super::Weather::default();
        self.end_operations();
        for at in 0..self.faults.len() {
            if matches!(self.faults[at].kind, crate::faults::Kind::Full | crate::faults::Kind::SlowDisk) {
                self.end_fault(at);
            }
        }
        self.put_newest_monitor();
        self.rebuild_monitor();
        let until = self.now.saturating_add(DEADLINE);
        for osd in self.osds() {
            self.put_back(osd);
            if let Some(host) = self.hosts.get_mut(&osd) {
                (host.held, host.paused_until) = (0, SimTime::ZERO);
                // An error that has not come yet does not come any more.
                host.run.iter().for_each(|run| run.twin.mend());
            }
        }
        let is_clean = |world: &mut World| {
            world.repair_machines();
            world.clients.iter().all(super::Client::is_done) && world.why_not_clean().is_none()
        };
        if !self.wait_for(until, is_clean) || !self.scrub(until) {
            return;
        }
        self.read_all();
        self.wait_for(until, |world| {
            world.clients.iter().all(super::Client::is_done) && world.why_not_clean().is_none()
        });
    }

    /// Handles events until something is so; false if it is not within the time.
    fn wait_for(&mut self, until: SimTime, mut is_so: impl FnMut(&mut World) -> bool) -> bool {
        while !is_so(self) {
            if self.now >= until {
                self.explain();
                return false;
            }
            let look = self.now.saturating_add(LOOK);
            while self.events.first_key_value().is_some_and(|((at, _), _)| *at <= look) {
                if !self.next() {
                    return false;
                }
            }
            self.now = look;
        }
        true
    }

    /// Says what is not as it should be when the time is over.
    fn explain(&mut self) {
        if self.is_beyond && self.waits_for_harm() {
            self.tell(|| "groups wait for what is lost".to_owned());
            self.outcome.waits = true;
            return;
        }
        let unfound = self.unfound();
        if unfound > 0 && self.is_harmed {
            self.tell(|| format!("{unfound} objects are not found, and their groups say so"));
            self.outcome.with_loss = true;
            return;
        }
        let open: Vec<_> = self.clients.iter().filter_map(super::Client::asks_for).collect();
        let what = match self.why_not_clean() {
            Some(why) => format!("after {DEADLINE} of calm {why}; not answered: {open:?}"),
            None => format!("after {DEADLINE} of calm this is not answered: {open:?}"),
        };
        self.wrong(what);
    }

    /// Whether something says that it waits for a directory that does not come back.
    fn waits_for_harm(&self) -> bool {
        let standing = self.standing();
        let mut reports = standing.iter().flat_map(|standing| standing.reports.values());
        let is_refused = self.keeper.is_lost || self.hosts.values().any(|host| host.refused.is_some());
        let lost = standing.iter().any(|standing| !standing.map.lost().is_empty());
        is_refused
            || lost
            || reports.any(|report| report.led.values().any(|led| led.is_down || led.unfound > 0))
    }

    fn standing(&self) -> Option<Standing> {
        self.keeper.state.as_ref().map(|state| state.standing())
    }

    fn unfound(&self) -> u64 {
        let standing = self.standing();
        let reports = standing.iter().flat_map(|standing| standing.reports.values());
        reports.flat_map(|report| report.led.values()).map(|led| led.unfound).sum()
    }

    /// What an operator does who looks at each machine: starts what does not run, and replaces what cannot.
    fn repair_machines(&mut self) {
        self.start_monitor();
        let Some(standing) = self.standing() else { return };
        let is_there = |osd: &&u32| self.hosts.contains_key(osd);
        for osd in standing.map.osds.keys().filter(|osd| !is_there(osd)).copied().collect::<Vec<_>>() {
            self.remove_again(osd);
        }
        for osd in self.osds() {
            if standing.map.osds.get(&osd).is_some_and(|state| !state.is_in && !state.was_away) {
                self.tell_monitor(ToMonitor::Mark { osd, is_in: true });
            }
            let Some(host) = self.hosts.get(&osd) else { continue };
            if host.run.is_some() {
                continue;
            }
            let is_lost = standing.map.lost().contains(&osd);
            if (host.refused.is_some() || is_lost) && !self.may_replace(osd) {
                return;
            }
            self.start(osd);
        }
    }

    /// Replaces a device that is refused. Only the fragile one may be.
    fn may_replace(&mut self, osd: u32) -> bool {
        if self.is_beyond {
            self.replace(osd);
            return true;
        }
        let why = self.hosts.get(&osd).and_then(|host| host.refused.clone()).unwrap_or_default();
        if self.fragile != Some(osd) {
            self.wrong(format!("osd.{osd} cannot be started, though nothing harmed it: {why}"));
            return false;
        }
        self.replace(osd)
    }

    /// Why the cluster is not clean; none if it is.
    fn why_not_clean(&self) -> Option<String> {
        let Some(standing) = self.standing() else { return Some("the monitor does not run".to_owned()) };
        let map = &standing.map;
        if let Some(osd) = self.osds().into_iter().find(|osd| !self.serves(*osd)) {
            let refused = self.hosts.get(&osd).and_then(|host| host.refused.clone());
            return Some(format!("osd.{osd} does not run: {refused:?}"));
        }
        for (osd, state) in &map.osds {
            let Some(report) = standing.reports.get(osd).filter(|_| state.is_up && state.is_in) else {
                let refused = self.hosts.get(osd).and_then(|host| host.refused.clone());
                return Some(format!("osd.{osd} is not up and in: {refused:?}"));
            };
            if report.epoch != map.epoch {
                return Some(format!("osd.{osd} knows map {} of {}", report.epoch, map.epoch));
            }
        }
        if let Some(why) = self.why_no_group(&standing) {
            return Some(why);
        }
        let left = |(_, report): &(&u32, &Report)| !report.strays.is_empty() || !report.undecided.is_empty();
        let (osd, report) = standing.reports.iter().find(left)?;
        let (strays, undecided) = (&report.strays, &report.undecided);
        Some(format!("osd.{osd} has strays {strays:?}, undecided {undecided:?}"))
    }

    /// Why a group is not clean; none if all are.
    fn why_no_group(&self, standing: &Standing) -> Option<String> {
        let places = Places::new(&self.settings, &standing.map);
        let fault = |group: u32| {
            let up: Vec<u32> = places.up(group);
            let led: Vec<_> = standing
                .reports
                .iter()
                .filter_map(|(osd, report)| Some((osd, report.led.get(&group)?)))
                .collect();
            let is_clean = led.iter().any(|(osd, led)| {
                led.is_clean && led.serves && led.acting == up && Some(**osd) == up.first().copied()
            });
            let is_so = is_clean && led.len() == 1 && !standing.map.temporary.contains_key(&group);
            (!is_so).then(|| format!("group {group} on {up:?} is not clean: {led:?}"))
        };
        (0..self.settings.groups).find_map(fault)
    }

    /// Whether all groups are clean, with all their replicas, on other devices.
    pub(super) fn is_clean_without(&self, osd: u32) -> bool {
        let Some(standing) = self.standing() else { return false };
        let places = Places::new(&self.settings, &standing.map);
        let is_elsewhere = |group: u32| {
            let up = places.up(group);
            up.len() == self.settings.replicas as usize && !up.contains(&osd)
        };
        self.why_no_group(&standing).is_none() && (0..self.settings.groups).all(is_elsewhere)
    }

    /// Looks for damaged copies, as `verify --repair` does, until there are none.
    fn scrub(&mut self, until: SimTime) -> bool {
        loop {
            let inventories = self.inspect(true);
            let is_sound = |found: BTreeMap<_, Inventory>| found.values().all(|it| it.damaged.is_empty());
            if inventories.is_some_and(is_sound) {
                return true;
            }
            let begun = self.now;
            let is_clean = |world: &mut World| {
                world.repair_machines();
                let has_begun = world.now.since(begun) > SimSpan::from_secs(1);
                has_begun && world.why_not_clean().is_none()
            };
            if !self.wait_for(until, is_clean) {
                return false;
            }
        }
    }

    /// What each holder of each group has; none if one of them ends meanwhile.
    fn inspect(&mut self, repairs: bool) -> Option<BTreeMap<(u32, u32), Inventory>> {
        let standing = self.standing()?;
        let places = Places::new(&self.settings, &standing.map);
        self.inspections.clear();
        let mut asked = BTreeMap::new();
        for group in 0..self.settings.groups {
            for osd in places.up(group) {
                let request = RequestId { client: 0, number: self.give() };
                let ask = Ask { request, group, what: Wanted::Inventory { repairs } };
                let start = self.hosts.get(&osd).map_or(0, |host| host.start);
                asked.insert(request, (group, osd));
                self.arrive(osd, start, Arrival::Ask { ask, door: Door::Inspector });
            }
        }
        let (given_up, count) = (self.now.saturating_add(SimSpan::from_secs(5)), asked.len());
        let is_over = |world: &mut World| world.inspections.len() >= count || world.now >= given_up;
        let ended = self.wait_for(given_up.saturating_add(LOOK), is_over);
        let found = std::mem::take(&mut self.inspections).into_iter();
        let found: BTreeMap<_, _> = found.filter_map(|(it, held)| Some((*asked.get(&it)?, held))).collect();
        (ended && found.len() == count).then_some(found)
    }

    pub(super) fn inspected(&mut self, osd: u32, answer: Answer) {
        match answer.reply {
            Reply::Inventory(inventory) => drop(self.inspections.insert(answer.request, inventory)),
            other => self.wrong(format!("osd.{osd} has no inventory: {other:?}")),
        }
    }

    /// Judges all answers, and compares all replicas.
    pub(super) fn judge_all(&mut self) {
        let waits = self.outcome.with_loss || self.outcome.waits;
        let judged = if waits { self.judge.check_open_histories() } else { self.judge.check_histories() };
        if let Err(why) = judged {
            return self.wrong(why);
        }
        if waits {
            return;
        }
        let Some(inventories) = self.inspect(false) else {
            return self.wrong("a daemon ends though nothing disturbs it".to_owned());
        };
        let mut first: BTreeMap<u32, &Inventory> = BTreeMap::new();
        let mut faults = Vec::new();
        for ((group, osd), inventory) in &inventories {
            let at = format!("osd.{osd}, group {group}");
            if !inventory.sums_up {
                faults.push(format!("{at}: tree and sketch do not match its objects"));
            }
            if !inventory.is_complete || !inventory.damaged.is_empty() {
                faults.push(format!("{at}: the replica is not complete, or damaged"));
            }
            if first.entry(*group).or_insert(inventory).objects != inventory.objects {
                faults.push(format!("{at}: other replicas hold different objects"));
            }
        }
        for osd in self.osds() {
            faults.extend(self.fault_of_tables(osd, &inventories));
        }
        if let Some(fault) = faults.into_iter().next() {
            self.wrong(fault);
        }
    }

    /// What is wrong with the tables of a device: each object has one name and one content, and nothing is
    /// left of groups that it does not hold.
    fn fault_of_tables(&self, osd: u32, held: &BTreeMap<(u32, u32), Inventory>) -> Option<String> {
        let twin = &self.hosts.get(&osd)?.run.as_ref()?.twin;
        let rows = |table| twin.rows(table);
        let (heads, data, names) = (rows(Table::Heads), rows(Table::Data), rows(Table::Names));
        if heads.keys().ne(data.keys()) {
            return Some(format!("osd.{osd}: heads and data are of different objects"));
        }
        let named: BTreeSet<Vec<u8>> =
            names.iter().map(|(name, at)| [&name[..4.min(name.len())], at].concat()).collect();
        if named.iter().ne(heads.keys()) {
            return Some(format!("osd.{osd}: the index of names is not that of the objects"));
        }
        if !rows(Table::Staged).is_empty() {
            return Some(format!("osd.{osd}: parts of objects are left that nobody receives any more"));
        }
        let group = |key: &Vec<u8>| key.first_chunk::<4>().map_or(0, |group| u32::from_be_bytes(*group));
        let is_strange = |key: &&Vec<u8>| !held.contains_key(&(group(key), osd));
        let strange = heads.keys().find(is_strange)?;
        Some(format!("osd.{osd}: objects are left of group {}", group(strange)))
    }
}
