//! The changes while devices were away, done by the protocol itself and taking no time: what the run begins
//! with.
//!
//! The replicas that stayed form an interval of their own. Clients' writes, deletes and new objects go
//! through them one by one, with their logs, trees, sketches and bitmaps, so that the state is what the
//! protocol makes of it and not what a study thinks.

use std::collections::{BTreeMap, VecDeque};

use towtank_replication::objects::Size;
use towtank_replication::{
    Action, Config, DeviceId, Durable, Epoch, Input, Key, Map, Operation, Outcome, Replica, RequestId,
    Summary,
};
use towtank_streams::{Draws, Purpose, Seed, Uniform};
use towtank_units::SimTime;

use crate::device::{Device, Held};
use crate::layout::Layouts;
use crate::objects::{Overlay, View};
use crate::spec::{Spec, Writes};

const CHANGE: Purpose = Purpose(60);

/// The interval in which devices were away.
pub const AWAY: Epoch = 2;

/// The interval in which they are back.
pub const BACK: Epoch = 3;

/// All devices when those that were away are back.
#[derive(Clone, Debug)]
pub struct Outage<'a> {
    /// Where objects lie.
    pub layouts: &'a Layouts,
    /// The devices.
    pub devices: Vec<Device>,
    /// For each group that was touched, how many objects its stale replicas have that differ.
    pub differing: BTreeMap<u32, u64>,
    /// Bytes that the summaries of a device's groups take, of the device that has most.
    pub summary_bytes: u64,
}

/// Who asks during the outage.
const CLIENT: u64 = 0;

impl<'a> Outage<'a> {
    /// Goes through it; none where `stopped` says so before its end.
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
        // Groups with one table begin with one summary.
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

/// A group that is filled and clean.
fn fill(config: &Config, layouts: &Layouts, group: u32) -> Durable {
    let all = layouts.range(group, Key::MIN, towtank_replication::Cursor::End);
    let summary = Summary::of_objects(config, all.map(|key| (key, Layouts::first_version(key.id))));
    Durable::of_clean_group(1, layouts.last_version(), summary)
}

/// One group during the outage.
struct Away<'a> {
    spec: &'a Spec,
    layouts: &'a Layouts,
    group: u32,
    /// Those that stayed, the primary first.
    stayed: Vec<(DeviceId, Replica<Size>, Overlay)>,
    /// What those that were away know.
    before: Durable,
    inputs: VecDeque<(DeviceId, Input<Size>)>,
    requests: u64,
}

impl<'a> Away<'a> {
    fn new(spec: &'a Spec, config: &Config, layouts: &'a Layouts, group: u32, durable: &Durable) -> Away<'a> {
        let stayed = spec.stayed(group);
        let replica = |device: &DeviceId| {
            let replica = Replica::start(*config, *device, durable.clone(), SimTime::ZERO);
            (*device, replica, Overlay::default())
        };
        let map = Map { epoch: AWAY, up: stayed.clone(), acting: stayed.clone(), alive: stayed.clone() };
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

    /// Handles what there is, until nothing is left. Work takes no time, and neither do rests.
    fn settle(&mut self) -> Option<Outcome<Size>> {
        let mut answer = None;
        while let Some((device, input)) = self.inputs.pop_front() {
            let held = self.stayed.iter_mut().find(|held| held.0 == device);
            let (_, replica, overlay) = held.expect("who stayed writes to who stayed");
            let mut view = View {
                layouts: self.layouts,
                group: self.group,
                object_bytes: self.spec.held_bytes(),
                overlay,
            };
            let mut actions = Vec::new();
            replica.handle(SimTime::ZERO, input, &mut view, &mut actions);
            for action in actions {
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

    /// All changes of the group.
    fn change(&mut self, mut draws: Draws) {
        let objects = u64::from(self.spec.objects);
        let mut source = draws.of(CHANGE);
        let (created, deleted) = (self.spec.changes.created, self.spec.changes.deleted);
        let mut made = objects;
        let mut targets: Vec<u64> = Vec::new();
        match self.spec.changes.writes {
            Writes::Distinct(count) => {
                // The first of a shuffle of all objects.
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

    /// Objects that those that were away have in another version, lack, or should not have.
    fn differing(&self) -> u64 {
        self.stayed[0].2.len() as u64
    }

    /// All replicas as they are found: nothing volatile is left.
    fn into_held(self, config: &Config) -> Vec<(DeviceId, Held)> {
        let start = |device: DeviceId, durable: Durable, overlay: Overlay| {
            let replica = Replica::start(*config, device, durable, SimTime::ZERO);
            (device, Held { replica, overlay })
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
