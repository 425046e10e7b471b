//! What the monitor knows and decides: the maps, which daemons were heard and when, and their reports.
//!
//! It has no clock, no table and no connection. Whoever asks it makes its [`Changed`] durable before anybody
//! hears an answer.

use std::collections::{BTreeMap, BTreeSet};

use towtank_replication::{Epoch, Incarnation, Member};
use towtank_units::{SimSpan, SimTime};

use crate::admission::fault_in;
use crate::frames::{FromMonitor, GroupReport, Report, Standing, Then, ToMonitor};
use crate::identity::{ClusterId, IdentityError, Shown};
use crate::loss::{Loss, Period};
use crate::map::{Change, ClusterMap, MapId, OsdState, Places};
use crate::monitor::hearing::{FIRST, Hearing};
use crate::settings::Settings;

/// The least number of maps that are forgotten at a time.
const TRIM_LEAST: usize = 16;

/// The most daemons of a cluster.
const OSDS_MAX: u32 = 64;

/// A change of the maps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    /// A new map.
    Made(ClusterMap),
    /// The map of this epoch is not needed any more.
    Forgotten(Epoch),
}

/// A rule that is broken on purpose, so that a test can prove that it would notice.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum Planted {
    /// Any directory is let in under the number of a device.
    LetsAnyoneIn,
    /// A daemon that starts again is not down in between: messages to its former run still count.
    KeepsUp,
    /// A group counts as clean elsewhere whatever its primary reports.
    CleanUnseen,
    /// A run that has said that it ends is let in again.
    ForgetsWhoLeft,
    /// A directory is let in although the last run is not in it.
    LetsOlderIn,
    /// A monitor that starts publishes maps before it has heard what its daemons know.
    HearsNobody,
    /// Whoever asks what a device may be the last to know hears that it is nothing.
    TellsNoLoss,
}

/// The state of the monitor.
#[derive(Debug)]
pub struct State {
    settings: Settings,
    cluster: ClusterId,
    maps: Vec<ClusterMap>,
    changed: Vec<Changed>,
    /// The time of this call.
    now: SimTime,
    heard: BTreeMap<u32, SimTime>,
    down_since: BTreeMap<u32, SimTime>,
    /// The runs that said that they end: what they asked before may arrive after that.
    left: BTreeMap<u32, u64>,
    reports: BTreeMap<u32, Report>,
    hearing: Hearing,
    planted: Option<Planted>,
}

impl State {
    /// A monitor with the maps that it made before. Without any it begins with these devices.
    #[must_use]
    pub fn new(
        settings: Settings,
        cluster: ClusterId,
        maps: Vec<ClusterMap>,
        devices: &BTreeMap<u32, Incarnation>,
        now: SimTime,
    ) -> State {
        let hearing = Hearing::new(maps.last(), now);
        let mut state = State {
            settings,
            cluster,
            maps,
            changed: Vec::new(),
            now,
            heard: BTreeMap::new(),
            down_since: BTreeMap::new(),
            left: BTreeMap::new(),
            reports: BTreeMap::new(),
            hearing,
            planted: None,
        };
        if state.maps.is_empty() {
            let osd = |(id, incarnation): (&u32, &Incarnation)| (*id, OsdState::begins_with(*incarnation));
            let osds = devices.iter().map(osd).collect();
            let (temporary, gone) = (BTreeMap::new(), Vec::new());
            state.publish(ClusterMap { epoch: 1, oldest: 1, change: Change::Osds, osds, temporary, gone });
        }
        // Daemons that ran before get time to report again.
        let up: Vec<u32> = state.map().osds.iter().filter(|(_, osd)| osd.is_up).map(|(id, _)| *id).collect();
        state.heard.extend(up.into_iter().map(|id| (id, now)));
        state
    }

    /// The same with a rule that is broken.
    #[doc(hidden)]
    #[must_use]
    pub fn planted(mut self, planted: Option<Planted>) -> State {
        if planted == Some(Planted::HearsNobody) {
            self.hearing.skip();
        }
        State { planted, ..self }
    }

    /// The changes since the last call, in order. They must be durable before anybody hears of them.
    pub fn changes(&mut self) -> Vec<Changed> {
        std::mem::take(&mut self.changed)
    }

    /// The maps after an epoch, in order. A daemon, which says what it has of that epoch, gets none if it is
    /// another map, or if this monitor is an older copy.
    #[must_use]
    pub fn maps_after(&self, after: Epoch, digest: Option<u64>) -> Vec<ClusterMap> {
        let own = self.maps.iter().find(|map| map.epoch == after).map(|map| map.id().digest);
        let differs = own.is_some() && digest.is_some() && own != digest;
        if differs || digest.is_some() && self.hearing.older().is_some() {
            return Vec::new();
        }
        self.maps.iter().filter(|map| map.epoch > after).cloned().collect()
    }

    /// The newest map.
    ///
    /// # Panics
    /// Never: there is one from the beginning.
    #[must_use]
    pub fn map(&self) -> &ClusterMap {
        self.maps.last().expect("there is one from the beginning")
    }

    /// The state of the cluster.
    #[must_use]
    pub fn standing(&self) -> Standing {
        Standing {
            map: ClusterMap { oldest: self.maps[0].epoch, ..self.map().clone() },
            replicas: self.settings.replicas,
            groups: self.settings.groups,
            reports: self.reports.clone(),
            older: self.hearing.older().map(str::to_owned),
        }
    }

    fn publish(&mut self, mut map: ClusterMap) {
        map.oldest = self.maps.first().map_or(map.epoch, |first| first.epoch);
        let last = self.maps.last().map_or(0, |last| last.epoch);
        assert_eq!(map.epoch, last + 1, "epochs follow each other");
        assert!(last == 0 || self.hearing.is_done(), "others may know another map {}", map.epoch);
        self.changed.push(Changed::Made(map.clone()));
        self.maps.push(map);
    }

    /// Publishes a map with other daemon states. Temporary acting replicas end if one of them is down, or if
    /// other daemons should hold the group now.
    fn change_osds(&mut self, change: impl FnOnce(&mut BTreeMap<u32, OsdState>)) {
        self.change(|map| change(&mut map.osds));
    }

    fn change(&mut self, change: impl FnOnce(&mut ClusterMap)) {
        let before = Places::new(&self.settings, self.map());
        let mut map = ClusterMap { epoch: self.map().epoch + 1, change: Change::Osds, ..self.map().clone() };
        change(&mut map);
        let after = Places::new(&self.settings, &map);
        let osds = map.osds.clone();
        let is_up = |osd: &u32| osds.get(osd).is_some_and(|osd| osd.is_up);
        map.temporary
            .retain(|group, acting| acting.iter().all(is_up) && before.up(*group) == after.up(*group));
        self.publish(map);
    }

    fn mark_down(&mut self, id: u32) {
        self.heard.remove(&id);
        self.reports.remove(&id);
        self.down_since.insert(id, self.now);
        self.change_osds(|osds| osds.entry(id).or_default().is_up = false);
    }

    /// Marks silent daemons as down, and daemons that were down for long as out.
    pub fn look(&mut self, now: SimTime) {
        self.now = now;
        let grace = SimSpan::from_ms(self.settings.grace_ms);
        self.hearing.pass(now, grace);
        if !self.hearing.is_done() {
            return;
        }
        let late = |since: &SimTime, most: SimSpan| now.since(*since) > most;
        let silent: Vec<u32> =
            self.heard.iter().filter(|(_, at)| late(at, grace)).map(|(id, _)| *id).collect();
        for id in silent {
            self.mark_down(id);
        }
        let out_after = SimSpan::from_secs(self.settings.out_after_s);
        let gone: Vec<u32> =
            self.down_since.iter().filter(|(_, at)| late(at, out_after)).map(|(id, _)| *id).collect();
        for id in gone {
            self.down_since.remove(&id);
            if self.map().osds.get(&id).is_some_and(|osd| osd.is_in) {
                self.change_osds(|osds| {
                    let osd = osds.entry(id).or_default();
                    (osd.is_in, osd.was_away) = (false, true);
                });
            }
        }
        self.trim();
    }

    /// Publishes that a disk became full, or is no longer full.
    fn note_room(&mut self, osd: u32, is_full: bool) {
        let is_known = self.map().osds.get(&osd).is_none_or(|state| state.is_full == is_full);
        if is_known || !self.hearing.is_done() {
            return;
        }
        let mut map = ClusterMap { epoch: self.map().epoch + 1, change: Change::Room, ..self.map().clone() };
        map.osds.entry(osd).or_default().is_full = is_full;
        self.publish(map);
    }

    /// The first epoch of a group's current interval.
    fn interval_of(&self, group: u32) -> Epoch {
        let begins = self.maps.iter().rev().find(|map| map.begins_interval_of(group));
        begins.or(self.maps.first()).map_or(0, |map| map.epoch)
    }

    /// The replicas of a group that is clean in its current interval, according to its primary.
    fn clean_acting(&self, group: u32) -> Option<&[u32]> {
        let interval = self.interval_of(group);
        let led = self.reports.values().filter_map(|report| report.led.get(&group));
        let mut clean = led.filter(|report| {
            report.epoch == interval
                && report.is_clean
                && report.acting.len() as u32 == self.settings.replicas
        });
        clean.next().map(|report| &report.acting[..])
    }

    /// Of the groups that a daemon should not hold, those that are clean elsewhere.
    fn clean_elsewhere(&self, osd: u32, strays: &[(u32, Epoch)]) -> Vec<(u32, Epoch)> {
        let is_clean = |(group, known): &&(u32, Epoch)| {
            if self.planted == Some(Planted::CleanUnseen) {
                return true;
            }
            self.interval_of(*group) == *known
                && self.clean_acting(*group).is_some_and(|acting| !acting.contains(&osd))
        };
        strays.iter().filter(is_clean).copied().collect()
    }

    /// When all groups are clean, forgets maps before the first of their current intervals. A daemon that
    /// returns knows some earlier intervals and none of those in between. That is enough: a replica that was
    /// complete in the clean interval knows all that was acknowledged before it, and peering waits for one of
    /// those.
    fn trim(&mut self) {
        let intervals = (0..self.settings.groups).map(|group| self.interval_of(group));
        let oldest = intervals.min().unwrap_or(0);
        let old = self.maps.partition_point(|map| map.epoch < oldest);
        if old < TRIM_LEAST {
            return;
        }
        let mut up = self.map().osds.iter().filter(|(_, osd)| osd.is_up).map(|(id, _)| id);
        let all_know = up.all(|id| self.reports.get(id).is_some_and(|report| report.epoch >= oldest));
        if !all_know || !(0..self.settings.groups).all(|group| self.clean_acting(group).is_some()) {
            return;
        }
        let forgotten = self.maps.drain(..old).map(|map| Changed::Forgotten(map.epoch));
        self.changed.extend(forgotten);
    }

    /// Takes a request, and answers it.
    pub fn take(&mut self, now: SimTime, ask: ToMonitor) -> FromMonitor {
        self.now = now;
        self.hearing.pass(now, SimSpan::from_ms(self.settings.grace_ms));
        match ask {
            ToMonitor::Boot { osd, instance, address, shown, known } => {
                if let Some(why) = self.fault_of_boot(osd, instance, &shown, known) {
                    return FromMonitor::Refused(why);
                }
                self.hearing.heard(osd);
                self.wait().unwrap_or_else(|| self.boot(osd, instance, address))
            }
            ToMonitor::Ping { osd, instance, report } => self.ping(osd, instance, report),
            ToMonitor::Leave { osd, instance } => {
                self.left.insert(osd, instance);
                if self.is_running(osd, instance) {
                    if let Some(wait) = self.wait() {
                        return wait;
                    }
                    self.mark_down(osd);
                }
                FromMonitor::Done
            }
            ToMonitor::Status => FromMonitor::Status(self.standing()),
            ToMonitor::Losing { osd } => match self.fault_of_losing(osd) {
                Some(why) => FromMonitor::Refused(why),
                None => FromMonitor::Loses(self.losing(osd)),
            },
            ToMonitor::Maps { after, digest, .. } => FromMonitor::Maps(self.maps_after(after, digest)),
            change => match self.hearing.older() {
                // A primary asks the same again, also the monitor that is right.
                Some(why) if !matches!(change, ToMonitor::Wants { .. }) => {
                    FromMonitor::Refused(why.to_owned())
                }
                _ => self.wait().unwrap_or_else(|| self.take_change(change)),
            },
        }
    }

    /// What is answered to whoever wants a change while nothing may be published.
    fn wait(&self) -> Option<FromMonitor> {
        let why = self.hearing.older().unwrap_or(FIRST);
        (!self.hearing.is_done()).then(|| FromMonitor::Later(why.to_owned()))
    }

    fn ping(&mut self, osd: u32, instance: u64, report: Report) -> FromMonitor {
        // It goes on as if there were no monitor.
        if let Some(why) = self.hearing.compare(osd, report.known, &self.maps) {
            return FromMonitor::Later(why.to_owned());
        }
        if !self.is_running(osd, instance) {
            return FromMonitor::Refused("this run is not marked up: boot again".to_owned());
        }
        self.hearing.heard(osd);
        self.heard.insert(osd, self.now);
        let clean = self.clean_elsewhere(osd, &report.strays);
        self.note_room(osd, report.is_full);
        self.reports.insert(osd, report);
        FromMonitor::Clean(clean)
    }

    /// Makes a change that a primary or an operator wants.
    fn take_change(&mut self, ask: ToMonitor) -> FromMonitor {
        match ask {
            ToMonitor::Wants { group, epoch, acting } => self.let_act(group, epoch, acting),
            ToMonitor::Mark { osd, is_in } => {
                let Some(state) = self.map().osds.get(&osd) else {
                    return FromMonitor::Refused(format!("there is no osd.{osd}"));
                };
                if state.is_in != is_in {
                    self.change_osds(|osds| {
                        let osd = osds.entry(osd).or_default();
                        (osd.is_in, osd.was_away) = (is_in, false);
                    });
                }
                FromMonitor::Done
            }
            ToMonitor::Add { osd, incarnation } => {
                if osd >= OSDS_MAX {
                    let why = format!("osd.{osd} would be beyond the maximum of {OSDS_MAX} daemons");
                    return FromMonitor::Refused(why);
                }
                if self.map().osds.contains_key(&osd) {
                    return FromMonitor::Refused(format!("there is an osd.{osd} already: try again"));
                }
                let state = OsdState::begins_with(incarnation);
                self.change_osds(|osds| drop(osds.insert(osd, state)));
                FromMonitor::Done
            }
            ToMonitor::Lose { osd, accepted, then } => self.lose(osd, &accepted, then),
            other => unreachable!("{other:?} is no change"),
        }
    }

    fn is_running(&self, osd: u32, instance: u64) -> bool {
        self.map().osds.get(&osd).is_some_and(|state| state.is_up && state.instance == instance)
    }

    /// Why a daemon is not let in: its directory is not the one that belongs in its place, or this monitor's
    /// maps are older than it.
    fn fault_of_boot(
        &mut self,
        osd: u32,
        instance: u64,
        shown: &Shown,
        known: Option<MapId>,
    ) -> Option<String> {
        let said = |error: IdentityError| match error.hint() {
            Some(hint) => format!("{error}: {hint}"),
            None => error.to_string(),
        };
        if self.planted == Some(Planted::LetsAnyoneIn) {
            return None;
        }
        if shown.cluster != self.cluster {
            return Some(format!("the directory of osd.{osd} belongs to another cluster"));
        }
        if self.left.get(&osd) == Some(&instance) && self.planted != Some(Planted::ForgetsWhoLeft) {
            return Some(format!("this run of osd.{osd} has said that it ends"));
        }
        let mut shown = shown.clone();
        if self.planted == Some(Planted::LetsOlderIn) {
            let last_run = self.map().osds.get(&osd).and_then(|state| state.last_run);
            last_run.into_iter().for_each(|run| shown.runs.begin(run));
        }
        // Only what belongs here tells anything of the monitor.
        let fault = fault_in(self.map(), osd, &shown).map(said);
        fault.or_else(|| self.hearing.compare(osd, known, &self.maps).map(str::to_owned))
    }

    fn fault_of_losing(&self, osd: u32) -> Option<String> {
        match self.map().osds.get(&osd) {
            None => Some(format!("there is no osd.{osd}")),
            Some(state) if state.is_up => Some(format!("osd.{osd} counts as up: stop it first")),
            Some(_) => None,
        }
    }

    /// What the cluster loses without the directory of a daemon.
    fn losing(&self, osd: u32) -> Loss {
        let (now, mut loss) = (self.map(), Loss::default());
        let Some(member) = now.member(osd).filter(|member| !now.gone.contains(member)) else { return loss };
        if self.planted == Some(Planted::TellsNoLoss) {
            return loss;
        }
        let size_min = self.settings.config(0).size_min;
        let alive = now.alive();
        let placed: Vec<(&ClusterMap, Places)> =
            self.maps.iter().map(|map| (map, Places::new(&self.settings, map))).collect();
        for group in 0..self.settings.groups {
            let interval = self.interval_of(group);
            let led = self.reports.values().filter_map(|report| report.led.get(&group));
            let is_active =
                |report: &&GroupReport| report.epoch == interval && !report.is_down && !report.is_peering;
            let unfound = led
                .into_iter()
                .find(is_active)
                .map(|report| if report.awaited.contains(&osd) { report.unfound } else { 0 });
            let mut periods = Vec::new();
            for (map, places) in placed.iter().filter(|(map, _)| map.begins_interval_of(group)) {
                let acting = places.map_of(map, group).acting;
                let members: Vec<Member> = acting.iter().filter_map(|device| map.member(device.0)).collect();
                if members.len() < size_min || !members.contains(&member) {
                    continue;
                }
                let report = |it: &Member| self.reports.get(&it.device.0);
                let doubts = |it: &Member| report(it).is_some_and(|report| report.doubts(group, map.epoch));
                let runs = |it: &&Member| alive.contains(it);
                let tells_no_more = |it: &&Member| now.gone.contains(it) || runs(it) && doubts(it);
                let silent = members.iter().filter(tells_no_more).map(|it| it.device.0).collect();
                // A daemon that has just started has not said yet whether it doubts.
                let has_said = |it: &Member| report(it).is_some_and(|report| report.epoch >= map.epoch);
                let knows = |it: &Member| runs(&it) && has_said(it) && !doubts(it);
                let acting = members.iter().map(|it| (it.device.0, knows(it))).collect();
                periods.push(Period { epoch: map.epoch, acting, silent });
            }
            loss.add(osd, group, unfound, &periods);
        }
        loss
    }

    /// Goes on without the directory of a daemon, if no more may be lost than was accepted.
    fn lose(&mut self, osd: u32, accepted: &Loss, then: Then) -> FromMonitor {
        if let Some(why) = self.fault_of_losing(osd) {
            return FromMonitor::Refused(why);
        }
        let loss = self.losing(osd);
        if !loss.is_within(accepted) {
            return FromMonitor::Loses(loss);
        }
        if then == Then::Goes && self.map().osds.len() == 1 {
            return FromMonitor::Refused(format!("osd.{osd} is the only daemon of the cluster"));
        }
        if then != Then::Stays {
            self.down_since.remove(&osd);
        }
        let former = self.map().member(osd).filter(|member| !self.map().gone.contains(member));
        self.change(|map| {
            map.gone.extend(former);
            match then {
                Then::Stays => {}
                Then::Goes => drop(map.osds.remove(&osd)),
                Then::Begins(incarnation) => {
                    let state = map.osds.entry(osd).or_default();
                    (state.incarnation, state.last_run) = (Some(incarnation), None);
                }
            }
        });
        FromMonitor::Done
    }

    /// Registers a daemon that started. A daemon that restarts is down in one map before it is up in the
    /// next: messages to its former run are void.
    fn boot(&mut self, osd: u32, instance: u64, address: String) -> FromMonitor {
        if !self.is_running(osd, instance) {
            let keeps = self.planted == Some(Planted::KeepsUp);
            if !keeps && self.map().osds.get(&osd).is_some_and(|state| state.is_up) {
                self.mark_down(osd);
            }
            // A daemon that was out because it was away is in again; one that was marked out stays out until
            // it is marked in.
            self.down_since.remove(&osd);
            self.change_osds(|osds| {
                let state = osds.entry(osd).or_default();
                (state.is_up, state.instance, state.address) = (true, instance, address);
                (state.is_full, state.last_run) = (false, Some(instance));
                state.is_in |= std::mem::take(&mut state.was_away);
            });
        }
        self.heard.insert(osd, self.now);
        FromMonitor::Done
    }

    fn let_act(&mut self, group: u32, epoch: Epoch, acting: Vec<u32>) -> FromMonitor {
        let interval = self.maps.iter().rev().find(|map| map.begins_interval_of(group)).map(|map| map.epoch);
        let is_up = |osd: &u32| self.map().osds.get(osd).is_some_and(|state| state.is_up);
        // A request from a past interval is ignored: the primary will ask again.
        let are_different = acting.iter().collect::<BTreeSet<_>>().len() == acting.len();
        let is_sound = group < self.settings.groups && are_different && acting.iter().all(is_up);
        if !is_sound || interval != Some(epoch) {
            return FromMonitor::Done;
        }
        let mut map =
            ClusterMap { epoch: self.map().epoch + 1, change: Change::Group(group), ..self.map().clone() };
        let up = Places::new(&self.settings, &map).up(group);
        if acting.is_empty() || acting == up {
            map.temporary.remove(&group);
        } else {
            map.temporary.insert(group, acting);
        }
        self.publish(map);
        FromMonitor::Done
    }
}
