//! The monitor of a world: its state, and the maps that its disk keeps.

use std::collections::BTreeMap;

use towtank_replication::{Epoch, Incarnation};
use towtank_store::frames::{FromMonitor, ToMonitor};
use towtank_store::map::ClusterMap;
use towtank_store::monitor::state::{Changed, State};
use towtank_units::{SimSpan, SimTime};
use twox_hash::XxHash3_64;

use super::{Event, Node, Packet, World, decoded, encoded};
use crate::planted::Planted;

/// How often the monitor looks for silent daemons.
const LOOK: SimSpan = SimSpan::from_ms(100);

/// A monitor that starts publishes nothing for so long, and after so much longer time without a fault every
/// daemon that runs has said what it knows.
const HEARS_LEAST: SimSpan = SimSpan::from_ms(400);
const HEARS_MOST: SimSpan = SimSpan::from_secs(4);

/// Who waits for maps after an epoch.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    who: Node,
    number: u64,
    after: Epoch,
    digest: Option<u64>,
    until: SimTime,
}

pub(super) struct Keeper {
    /// What the monitor's disk has.
    kept: BTreeMap<Epoch, ClusterMap>,
    /// All maps that were ever made.
    made: BTreeMap<Epoch, ClusterMap>,
    /// What belongs on the disk while it has an older copy.
    aside: Option<BTreeMap<Epoch, ClusterMap>>,
    devices: BTreeMap<u32, Incarnation>,
    /// Whether its directory is lost: then it cannot be started.
    pub is_lost: bool,
    /// When it was started.
    since: SimTime,
    /// Whether its machine is without power.
    is_dark: bool,
    /// None while it does not run.
    pub state: Option<State>,
    pub start: u64,
    waiting: Vec<Waiting>,
}

impl Keeper {
    pub(super) fn new(devices: BTreeMap<u32, Incarnation>) -> Keeper {
        let (kept, made) = (BTreeMap::new(), BTreeMap::new());
        let (aside, since) = (None, SimTime::ZERO);
        Keeper {
            kept,
            made,
            aside,
            devices,
            is_lost: false,
            since,
            is_dark: false,
            state: None,
            start: 0,
            waiting: Vec::new(),
        }
    }
}

impl World {
    pub(super) fn start_monitor(&mut self) {
        if self.keeper.state.is_some() || self.keeper.is_lost {
            return;
        }
        let maps = self.keeper.kept.values().cloned().collect();
        let devices = &self.keeper.devices;
        let state = State::new(self.settings.clone(), self.cluster, maps, devices, self.now);
        let rule = match self.plan.planted {
            Some(Planted::Monitor(rule)) => Some(rule),
            _ => None,
        };
        self.keeper.state = Some(state.planted(rule));
        self.keeper.start = self.give();
        self.keeper.since = self.now;
        self.keeper.is_dark = false;
        self.tell(|| "the monitor starts".to_owned());
        let start = self.keeper.start;
        self.keep();
        self.after(LOOK, Event::Look { start });
    }

    /// The machine of the monitor loses power.
    pub(super) fn cut_power_of_monitor(&mut self) {
        self.kill_monitor();
        self.keeper.is_dark = true;
    }

    /// The monitor ends without a word: what was published is on its disk.
    pub(super) fn kill_monitor(&mut self) {
        self.tell(|| "the monitor is killed".to_owned());
        self.keeper.state = None;
        self.keeper.waiting.clear();
        self.keeper.start = self.give();
    }

    /// The monitor is started with an older copy of its directory; false if there is none.
    pub(super) fn put_older_monitor(&mut self) -> bool {
        let back = 1 + self.below(6) as Epoch;
        let Some((newest, _)) = self.keeper.kept.last_key_value() else { return false };
        let Some(older) = newest.checked_sub(back).and_then(|epoch| self.keeper.made.get(&epoch)) else {
            return false;
        };
        let copy = self.keeper.made.range(older.oldest..=older.epoch);
        let copy = copy.map(|(epoch, map)| (*epoch, map.clone())).collect();
        self.kill_monitor();
        self.tell(|| format!("the monitor's directory is {back} maps older"));
        self.keeper.aside = Some(std::mem::replace(&mut self.keeper.kept, copy));
        self.start_monitor();
        true
    }

    pub(super) fn has_older_monitor(&self) -> bool {
        self.keeper.aside.is_some()
    }

    /// The newest directory of the monitor is put back, and daemons that were not let in are started again.
    pub(super) fn put_newest_monitor(&mut self) {
        let Some(newest) = self.keeper.aside.take() else { return };
        self.kill_monitor();
        self.keeper.kept = newest;
        self.start_monitor();
        self.let_in_again();
    }

    /// Daemons are started again that an older monitor has not let in.
    pub(super) fn let_in_again(&mut self) {
        // An older monitor does not know a device that was added later, either.
        let is_of_older =
            |why: &String| why.contains("monitor/ is an older copy") || why.starts_with("there is no osd.");
        for (osd, host) in &mut self.hosts {
            if host.refused.as_ref().is_some_and(is_of_older) {
                host.refused = None;
                self.events.insert((self.now, self.scheduled + 1), Event::Start { osd: *osd });
                self.scheduled += 1;
            }
        }
    }

    /// The directory of the monitor is lost.
    pub(super) fn lose_directory(&mut self) {
        self.kill_monitor();
        (self.keeper.is_lost, self.keeper.aside) = (true, None);
        self.keeper.kept.clear();
    }

    /// The directory of the monitor is made anew, with these maps, the last of which is new.
    pub(super) fn make_directory(&mut self, maps: Vec<ClusterMap>) {
        self.keeper.is_lost = false;
        let Some(newest) = maps.last() else { return };
        self.publish(newest.clone());
        self.keeper.kept = maps.into_iter().map(|map| (map.epoch, map)).collect();
    }

    /// A daemon that knows a later map than the monitor, which must have heard that from it before it
    /// publishes anything.
    fn who_knows_more(&self) -> Option<u32> {
        let (now, newest) = (self.now, self.keeper.kept.last_key_value().map(|(epoch, _)| *epoch));
        let began = now.since(self.keeper.since) < HEARS_LEAST;
        let is_calm = now.since(self.keeper.since.max(self.disturbed_at)) > HEARS_MOST;
        let knows_more = |osd: &u32| {
            let Some(host) = self.hosts.get(osd) else { return false };
            let known = host.run.as_ref().and_then(|run| run.core.known()).map(|map| map.epoch);
            let (it, monitor) = (Node::Osd(*osd), Node::Monitor);
            let reaches = self.reaches(it, monitor) && self.reaches(monitor, it);
            self.serves(*osd) && known > newest && reaches && host.paused_until <= now
        };
        self.osds().into_iter().find(knows_more).filter(|_| began || is_calm)
    }

    /// An older monitor publishes a map: nobody who knows more reaches it, or it has not listened. The
    /// operator, who knows better, puts the newest directory back before anybody hears of that map.
    fn withdraw(&mut self, epoch: Epoch) {
        if let Some(osd) = self.who_knows_more() {
            return self.wrong(format!("an older monitor makes another map {epoch}, though osd.{osd} runs"));
        }
        self.put_newest_monitor();
    }

    /// Makes the changes of the monitor durable, and answers those that wait for them.
    fn keep(&mut self) {
        let Some(state) = &mut self.keeper.state else { return };
        let changes = state.changes();
        if let Some(Changed::Made(map)) = changes.first().filter(|_| self.has_older_monitor()) {
            return self.withdraw(map.epoch);
        }
        for change in changes {
            match change {
                Changed::Made(map) => self.publish(map),
                Changed::Forgotten(epoch) => drop(self.keeper.kept.remove(&epoch)),
            }
        }
        self.answer_waiting();
    }

    /// A map that the monitor's disk has from now on: no other may ever have its epoch.
    fn publish(&mut self, map: ClusterMap) {
        let checksum = XxHash3_64::oneshot(&encoded(&ClusterMap { oldest: 0, ..map.clone() }));
        if *self.published.entry(map.epoch).or_insert(checksum) != checksum {
            self.wrong(format!("epoch {} is two maps", map.epoch));
        }
        self.tell(|| {
            let up: Vec<_> = map.osds.iter().filter(|(_, osd)| osd.is_up).map(|it| it.0).collect();
            let temporary = &map.temporary;
            format!("map {}: {:?}, up {up:?}, temporary {temporary:?}", map.epoch, map.change)
        });
        self.mix(checksum);
        self.keeper.made.insert(map.epoch, map.clone());
        self.keeper.kept.insert(map.epoch, map);
    }

    fn answer_waiting(&mut self) {
        let Some(state) = &self.keeper.state else { return };
        let (newest, now) = (state.map().epoch, self.now);
        let is_due = |it: &Waiting| it.after < newest || it.until <= now;
        let due: Vec<Waiting> = self.keeper.waiting.iter().copied().filter(is_due).collect();
        self.keeper.waiting.retain(|it| !is_due(it));
        for Waiting { who, number, after, digest, .. } in due {
            let maps =
                self.keeper.state.as_ref().map(|state| state.maps_after(after, digest)).unwrap_or_default();
            let bytes = encoded(&FromMonitor::Maps(maps));
            self.send(Node::Monitor, who, Packet::FromMonitor { number, bytes });
        }
    }

    pub(super) fn look(&mut self, start: u64) {
        if self.keeper.start != start {
            return;
        }
        let now = self.now;
        if let Some(state) = &mut self.keeper.state {
            state.look(now);
        }
        self.keep();
        self.after(LOOK, Event::Look { start });
    }

    pub(super) fn ask_monitor(&mut self, from: Node, start: u64, number: u64, bytes: &[u8]) {
        // A connection ends with the process that has made it.
        if let Node::Osd(osd) = from
            && self.hosts.get(&osd).is_none_or(|host| host.start != start)
        {
            return;
        }
        if self.keeper.state.is_none() {
            // A daemon tries again after a while in any case.
            if matches!(from, Node::Client(_)) && !self.keeper.is_dark {
                self.send(Node::Monitor, from, Packet::Refused { number });
            }
            return;
        }
        match decoded(bytes) {
            ToMonitor::Maps { after, digest, wait_ms } => {
                let until = self.now.saturating_add(SimSpan::from_ms(wait_ms.into()));
                self.keeper.waiting.push(Waiting { who: from, number, after, digest, until });
                self.answer_waiting();
            }
            ask => {
                let Some(answer) = self.tell_monitor(ask) else { return };
                let bytes = encoded(&answer);
                self.send(Node::Monitor, from, Packet::FromMonitor { number, bytes });
            }
        }
    }

    /// What the monitor answers, once that is durable; none if it does not run. Operators ask it so, without
    /// a network.
    pub(super) fn tell_monitor(&mut self, ask: ToMonitor) -> Option<FromMonitor> {
        let (now, start) = (self.now, self.keeper.start);
        let answer = self.keeper.state.as_mut()?.take(now, ask);
        self.keep();
        (self.keeper.start == start).then_some(answer)
    }
}
