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
    devices: BTreeMap<u32, Incarnation>,
    /// None while it does not run.
    pub state: Option<State>,
    pub start: u64,
    waiting: Vec<Waiting>,
}

impl Keeper {
    pub(super) fn new(devices: BTreeMap<u32, Incarnation>) -> Keeper {
        Keeper { kept: BTreeMap::new(), devices, state: None, start: 0, waiting: Vec::new() }
    }
}

impl World {
    pub(super) fn start_monitor(&mut self) {
        if self.keeper.state.is_some() {
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
        self.tell(|| "the monitor starts".to_owned());
        let start = self.keeper.start;
        self.keep();
        self.after(LOOK, Event::Look { start });
    }

    /// The monitor ends without a word: what was published is on its disk.
    pub(super) fn kill_monitor(&mut self) {
        self.tell(|| "the monitor is killed".to_owned());
        self.keeper.state = None;
        self.keeper.waiting.clear();
        self.keeper.start = self.give();
    }

    /// Makes the changes of the monitor durable, and answers those that wait for them.
    fn keep(&mut self) {
        let Some(state) = &mut self.keeper.state else { return };
        let changes = state.changes();
        for change in changes {
            match change {
                Changed::Made(map) => {
                    let checksum = XxHash3_64::oneshot(&encoded(&ClusterMap { oldest: 0, ..map.clone() }));
                    if *self.published.entry(map.epoch).or_insert(checksum) != checksum {
                        self.wrong(format!("epoch {} is two maps", map.epoch));
                    }
                    self.tell(|| {
                        let up: Vec<_> =
                            map.osds.iter().filter(|(_, osd)| osd.is_up).map(|it| it.0).collect();
                        let temporary = &map.temporary;
                        format!("map {}: {:?}, up {up:?}, temporary {temporary:?}", map.epoch, map.change)
                    });
                    self.mix(checksum);
                    self.keeper.kept.insert(map.epoch, map);
                }
                Changed::Forgotten(epoch) => drop(self.keeper.kept.remove(&epoch)),
            }
        }
        self.answer_waiting();
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
        match decoded(bytes) {
            ToMonitor::Maps { after, digest, wait_ms } if self.keeper.state.is_some() => {
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
        let now = self.now;
        let answer = self.keeper.state.as_mut()?.take(now, ask);
        self.keep();
        Some(answer)
    }
}
