//! The changes while devices were away, made by the protocol itself in no time: the initial state of the run.
//!
//! The replicas that stayed form a separate interval. Clients' writes, deletes and new objects go through
//! them one by one, with their logs, trees, sketches and bitmaps, so that the state is the one that the
//! protocol produces and not an assumption of a study.

use std::collections::{BTreeMap, VecDeque};

use towtank_replication::objects::Size;
use towtank_replication::{
    Action, Config, DeviceId, Durable, Epoch, Input, Key, Map, Member, Operation, Outcome, Replica,
    RequestId, Summary,
};
use towtank_streams::{Draws, Purpose, Seed, Uniform};
use towtank_units::SimTime;

use crate::device::{Device, Held};
use crate::layout::Layouts;
use crate::objects::{Overlay, View};
use crate::spec::{Spec, Writes};

const CHANGE: Purpose = Purpose(60);

/// The epoch of the interval in which devices were away.
pub const AWAY: Epoch = 2;

/// The epoch of the interval in which they are back.
pub const BACK: Epoch = 3;

/// The state of all devices when those that were away return.
#[derive(Clone, Debug)]
pub struct Outage<'a> {
    /// The positions of objects.
    pub layouts: &'a Layouts,
    /// The devices.
    pub devices: Vec<Device>,
    /// For each touched group, the number of objects in which its stale replicas differ.
    pub differing: BTreeMap<u32, u64>,
    /// The largest number of bytes that the summaries of one device's groups take.
    pub summary_bytes: u64,
}

/// The client of all requests during the outage.
const CLIENT: u64 = 0;

impl<'a> Outage<'a> {
    /// Simulates the outage; none if `stopped` returned true before its end.
    #[must_use]
    pub fn new(
        spec: &Spec,
        layouts: &'a Layouts,
        seed: Seed,
        stopped: &dyn Fn() -> bool,
    ) -> Option<Outage<'a>> {
        let config = spec.config();
        let mut devices: Vec<Device> = (0..spec.devices).map(|_| Device::new(spec.slots)).collect();
        let mut differing = BTreeMap::new();
        // Groups that share a table have the same initial summary.
        let mut filled: BTreeMap<u32, Durable> = BTreeMap::new();
        for group in spec.touched() {
            if stopped() {
                return None;
            }
            let durable =
                filled.entry(group % layouts.tables()).or_insert_with(|| fill(&config, layouts, group));
            let mut away = Away::new(spec, &config, layouts, group, durable);
            away.change(Draws::new(seed, group, 0));
            differing.insert(group, away.differing());
            for (device, held) in away.into_held(&config) {
                devices[device.0 as usize].groups.insert(group, held);
            }
        }
        let summed = |device: &Device| {
            let summaries = device.groups.values().map(|held| held.replica.durable().summary.memory_bytes());
            summaries.sum::<u64>()
        };
        let summary_bytes = devices.iter().map(summed).max().unwrap_or(0);
        Some(Outage { layouts, devices, differing, summary_bytes })
    }
}

/// The state of a replica of a filled and clean group.
fn fill(config: &Config, layouts: &Layouts, group: u32) -> Durable {
    let all = layouts.range(group, Key::MIN, towtank_replication::Cursor::End);
    let summary = Summary::of_objects(config, all.map(|key| (key, Layouts::first_version(key.id))));
    Durable::of_clean_group(1, layouts.last_version(), summary)
}

/// The simulation of one group during the outage.
struct Away<'a> {
    spec: &'a Spec,
    layouts: &'a Layouts,
    group: u32,
    /// The replicas that stayed, the primary first.
    stayed: Vec<(DeviceId, Replica<Size>, Overlay)>,
    /// The state of the replicas that were away.
    before: Durable,
    inputs: VecDeque<(DeviceId, Input<Size>)>,
    requests: u64,
}

impl<'a> Away<'a> {
    fn new(spec: &'a Spec, config: &Config, layouts: &'a Layouts, group: u32, durable: &Durable) -> Away<'a> {
        let stayed = spec.stayed(group);
        let replica = |device: &DeviceId| {
            let replica = Replica::start(*config, Member::original(*device), durable.clone(), SimTime::ZERO);
            (*device, replica, Overlay::default())
        };
        let alive = stayed.iter().copied().map(Member::original).collect();
        let map = Map { epoch: AWAY, up: stayed.clone(), acting: stayed.clone(), alive, gone: Vec::new() };
        let mut away = Away {
            spec,
            layouts,
            group,
            stayed: stayed.iter().map(replica).collect(),
            before: durable.clone(),
            inputs: stayed.iter().map(|device| (*device, Input::Map(map.clone()))).collect(),
            requests: 0,
        };
        away.settle();
        away
    }

    /// Handles all inputs until none is left. Work and pauses take no time.
    fn settle(&mut self) -> Option<Outcome<Size>> {
        let (mut answer, mut actions) = (None, Vec::new());
        while let Some((device, input)) = self.inputs.pop_front() {
            let held = self.stayed.iter_mut().find(|held| held.0 == device);
            let (_, replica, overlay) = held.expect("who stayed writes to who stayed");
            let mut view = View {
                layouts: self.layouts,
                group: self.group,
                object_bytes: self.spec.held_bytes(),
                overlay,
            };
            replica.handle(SimTime::ZERO, input, &mut view, &mut actions);
            for action in actions.drain(..) {
                match action {
                    Action::Send { to, message } => {
                        self.inputs.push_back((to, Input::Message { from: device, message }));
                    }
                    Action::Work { token, .. } => self.inputs.push_back((device, Input::Done(token))),
                    Action::Wake { token, .. } => self.inputs.push_back((device, Input::Woken(token))),
                    Action::Reserve { token, .. } => self.inputs.push_back((device, Input::Granted(token))),
                    Action::Reply { outcome, .. } => answer = Some(outcome),
                    Action::Release { .. } | Action::WantActing { .. } | Action::Note(_) => {}
                }
            }
        }
        answer
    }

    fn ask(&mut self, key: Key, operation: Operation<Size>) {
        let request = RequestId { client: CLIENT, number: self.requests };
        self.requests += 1;
        let primary = self.stayed[0].0;
        self.inputs.push_back((primary, Input::Client { request, key, operation }));
        let answer = self.settle();
        assert!(matches!(answer, Some(Outcome::Done(_))), "{key:?} of group {}: {answer:?}", self.group);
    }

    /// Makes all changes of the group.
    fn change(&mut self, mut draws: Draws) {
        let objects = u64::from(self.spec.objects);
        let mut source = draws.of(CHANGE);
        let (created, deleted) = (self.spec.changes.created, self.spec.changes.deleted);
        let mut made = objects;
        let mut targets: Vec<u64> = Vec::new();
        match self.spec.changes.writes {
            Writes::Distinct(count) => {
                // The first entries of a shuffle of all objects.
                let mut ids: Vec<u32> = (0..self.spec.objects).collect();
                for at in 0..count.min(self.spec.objects) as usize {
                    let other = at + source.below((ids.len() - at) as u64) as usize;
                    ids.swap(at, other);
                    targets.push(u64::from(ids[at]));
                }
            }
            Writes::Drawn(all) => {
                let (groups, group) = (u64::from(self.spec.groups), u64::from(self.group));
                let own = all / groups + u64::from(group < all % groups);
                targets.extend((0..own).map(|_| source.below(objects)));
            }
        }
        let size = Size(self.spec.held_bytes());
        for id in targets {
            let kind = source.unit_f64();
            if kind < created {
                let key = self.layouts.key(self.group, made);
                made += 1;
                self.ask(key, Operation::Write(size));
            } else if kind < created + deleted {
                self.ask(self.layouts.key(self.group, id), Operation::Delete);
            } else {
                self.ask(self.layouts.key(self.group, id), Operation::Write(size));
            }
        }
    }

    /// Objects that the replicas that were away have in another version, lack, or should not have.
    fn differing(&self) -> u64 {
        self.stayed[0].2.len() as u64
    }

    /// All replicas with their durable state; nothing volatile is kept.
    fn into_held(self, config: &Config) -> Vec<(DeviceId, Held)> {
        let start = |device: DeviceId, durable: Durable, overlay: Overlay| {
            let replica = Replica::start(*config, Member::original(device), durable, SimTime::ZERO);
            (device, Held { replica, overlay, begun: SimTime::ZERO })
        };
        let away = self.spec.up(self.group).into_iter().filter(|device| self.spec.was_away(*device));
        let mut held: Vec<_> =
            away.map(|device| start(device, self.before.clone(), Overlay::default())).collect();
        held.extend(
            self.stayed
                .into_iter()
                .map(|(device, replica, overlay)| start(device, replica.into_durable(), overlay)),
        );
        held
    }
}
