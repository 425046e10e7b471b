//! Devices, messages and work, on the kernel.
//!
//! There is one entity per device, one that issues maps, as Ceph's monitors do, and one for clients. At time
//! zero all devices that were away are back: each replica receives the new map, and the protocol does the
//! rest.

mod audit;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use towtank_devices::DiskClock;
use towtank_kernel::{
    Committed, Context, EntityId, Fault, Links, Model, Outcome, RunError, RunOptions, Runs,
};
use towtank_replication::objects::Size;
use towtank_replication::{
    Action, DeviceId, Discovery, Epoch, GroupId, Holder, Input, Lot, Map, Member, Note, Operation,
    Outcome as Answer, Request, RequestId, Token, Verdict,
};
use towtank_streams::distributions::Exponential;
use towtank_streams::{Purpose, Uniform};
use towtank_units::{Bytes, SimSpan};

use crate::counts::{Counts, Sample};
use crate::device::Device;
use crate::event::{Event, What};
use crate::objects::View;
use crate::outage::{BACK, Outage};
use crate::spec::Spec;

const COMES: Purpose = Purpose(61);
const OBJECT: Purpose = Purpose(62);
const WHICH: Purpose = Purpose(63);

/// How long a client waits before it repeats a request.
const RETRY: SimSpan = SimSpan::from_ms(10);

/// The model on the kernel.
#[derive(Debug)]
pub struct Backfill<'a> {
    spec: &'a Spec,
    outage: &'a Outage<'a>,
    clock: DiskClock,
    /// Groups of which some replica was away: clients write only to these.
    touched: Vec<u32>,
}

/// A device, the monitor or the clients.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub enum Entity {
    /// A device.
    Device(Box<Device>),
    /// The entity that issues maps: the epoch of each group.
    Monitor(BTreeMap<u32, Epoch>),
    /// The clients: how many requests they have made, and which groups are clean. When all groups are clean,
    /// no more requests are made.
    Clients(u64, BTreeSet<u32>),
}

impl<'a> Backfill<'a> {
    /// The model of the run after an outage.
    #[must_use]
    pub fn new(spec: &'a Spec, outage: &'a Outage<'a>) -> Backfill<'a> {
        let clock = DiskClock::new(spec.disk.clone(), Bytes::new(spec.held_bytes()));
        Backfill { spec, outage, clock, touched: spec.touched().collect() }
    }

    fn monitor(&self) -> EntityId {
        EntityId(self.spec.devices)
    }

    fn clients(&self) -> EntityId {
        EntityId(self.spec.devices + 1)
    }

    fn map(&self, group: u32, epoch: Epoch, acting: Vec<DeviceId>) -> Input<Size> {
        let alive = (0..self.spec.devices).map(DeviceId).map(Member::original).collect();
        Input::Map(Map { epoch, up: self.spec.up(group), acting, alive, gone: Vec::new() })
    }

    /// Passes an input to a replica, and carries out its actions.
    fn tell(
        &self,
        device: &mut Device,
        group: u32,
        input: Input<Size>,
        context: &mut Context<'_, Self>,
    ) -> Result<(), Fault> {
        let (mut inputs, mut actions) = (VecDeque::new(), Vec::new());
        let mut next = Some((group, input));
        while let Some((group, input)) = next {
            let Some(held) = device.groups.get_mut(&group) else {
                return Err("a device received a message for a group that it does not hold".into());
            };
            let mut view = View {
                layouts: self.outage.layouts,
                group,
                object_bytes: self.spec.held_bytes(),
                overlay: &mut held.overlay,
            };
            held.replica.handle(context.now(), input, &mut view, &mut actions);
            for action in actions.drain(..) {
                self.carry_out(device, group, action, &mut inputs, context);
            }
            next = inputs.pop_front();
        }
        Ok(())
    }

    fn carry_out(
        &self,
        device: &mut Device,
        group: u32,
        action: Action<Size>,
        inputs: &mut VecDeque<(u32, Input<Size>)>,
        context: &mut Context<'_, Self>,
    ) {
        let (now, me) = (context.now(), context.me());
        match action {
            Action::Send { to, message } => {
                let bytes = message.wire_bytes();
                context.record(Sample::Sent(bytes));
                let span = self.spec.nic.span_for(Bytes::new(bytes));
                let sent = device.out.send(now, span).end.saturating_add(self.spec.latency);
                let what = What::Arrives { from: DeviceId(me.0), span, message };
                context.send_at(EntityId(to.0), sent, Event { group, what });
            }
            Action::Work { token, work } => {
                let begins = device.may_begin(now, group, work);
                let done = device.work(begins, work, &self.spec.costs, &self.clock);
                let input = Input::Done(token);
                if done == now {
                    inputs.push_back((group, input));
                } else {
                    context.send_at(me, done, Event { group, what: What::Input(input) });
                }
            }
            Action::Wake { token, after } => {
                context.send(me, after, Event { group, what: What::Input(Input::Woken(token)) });
            }
            Action::Reply { request, outcome } => self.answer(device, request, &outcome, context),
            Action::Reserve { token, lot, priority, bytes } => {
                let holder = Holder { group: GroupId(group), token };
                let mut verdicts = Vec::new();
                device.reserver.request(Request { holder, lot, priority, bytes }, &mut verdicts);
                inputs.extend(verdicts.into_iter().map(input_of));
            }
            Action::Release { token, lot } => give_back(device, group, token, lot, inputs),
            Action::WantActing { epoch, acting } => {
                let what = What::Wants(epoch, acting);
                context.send(self.monitor(), self.spec.latency, Event { group, what });
            }
            Action::Note(note) => self.note(device, group, note, context),
        }
    }

    /// Records a note; two kinds of notes also cost time.
    fn note(&self, device: &mut Device, group: u32, note: Note, context: &mut Context<'_, Self>) {
        let (now, costs) = (context.now(), &self.spec.costs);
        match &note {
            Note::BackfillBegan { .. } => {
                let begun = device.looking.serve(now, costs.startup).end;
                if let Some(held) = device.groups.get_mut(&group) {
                    held.begun = begun;
                }
            }
            Note::Discovered { by, differing, .. } if *by != Discovery::Scan && *by != Discovery::Sketch => {
                // The ranges to skip are the gaps between the ranges to look at: as many, but at most the
                // remaining leaves.
                let leaves = 1_u64 << self.spec.leaf_bits;
                let skipped = (*differing).min(leaves.saturating_sub(*differing));
                let checks = skipped.saturating_mul(u64::from(self.spec.objects));
                device.looking.serve(now, costs.range_check.saturating_mul(checks));
            }
            Note::Clean if self.spec.clients.is_some() => {
                context.send(self.clients(), self.spec.latency, Event { group, what: What::Clean });
            }
            _ => {}
        }
        context.record(Sample::Noted { group, at: now, note });
    }

    fn answer(
        &self,
        device: &mut Device,
        request: RequestId,
        outcome: &Answer<Size>,
        context: &mut Context<'_, Self>,
    ) {
        match outcome {
            Answer::Retry => {
                context.record(Sample::Retried);
                let group = self.group_of(request);
                context.send(context.me(), RETRY, Event { group, what: What::Writes(request) });
            }
            Answer::Done(_) | Answer::Read { .. } => {
                if let Some(since) = device.asked.remove(&request) {
                    context.record(Sample::Waited(context.now().since(since)));
                }
            }
        }
    }

    /// The group that a request writes to, encoded in its client number.
    fn group_of(&self, request: RequestId) -> u32 {
        (request.client >> 32) as u32
    }

    /// The object that a request writes to.
    fn key_of(&self, request: RequestId) -> towtank_replication::Key {
        self.outage.layouts.key(self.group_of(request), request.client & u64::from(u32::MAX))
    }

    /// Makes a client request, and schedules the next one.
    fn client_comes(&self, made: &mut u64, context: &mut Context<'_, Self>) {
        let Some(rate) = self.spec.clients.filter(|_| !self.touched.is_empty()) else { return };
        // Writes are spread over all groups evenly; groups that were not touched by the outage are not
        // modelled.
        let at = context.draws(OBJECT).below(u64::from(self.spec.groups)) as usize;
        if let Some(&group) = self.touched.get(at) {
            let id = context.draws(WHICH).below(u64::from(self.spec.objects));
            let request = RequestId { client: u64::from(group) << 32 | id, number: *made };
            let what = What::Writes(request);
            let primary = self.spec.up(group)[0];
            context.send(EntityId(primary.0), self.spec.latency, Event { group, what });
        }
        *made += 1;
        if let Ok(gaps) = Exponential::with_mean(rate.mean_gap_ns_f64()) {
            let wait = gaps.sample_span(&mut context.draws(COMES));
            context.send(context.me(), wait, Event { group: 0, what: What::Comes });
        }
    }
}

/// The group and the input that a reserver's verdict becomes.
fn input_of(verdict: Verdict) -> (u32, Input<Size>) {
    let (holder, input): (Holder, fn(Token) -> Input<Size>) = match verdict {
        Verdict::Granted(holder) => (holder, Input::Granted),
        Verdict::Rejected(holder) => (holder, Input::Rejected),
        Verdict::Revoked(holder) => (holder, Input::Revoked),
    };
    (holder.group.0, input(holder.token))
}

fn give_back(
    device: &mut Device,
    group: u32,
    token: Token,
    lot: Lot,
    inputs: &mut VecDeque<(u32, Input<Size>)>,
) {
    let mut verdicts = Vec::new();
    device.reserver.release(lot, Holder { group: GroupId(group), token }, &mut verdicts);
    inputs.extend(verdicts.into_iter().map(input_of));
}

impl Runs for Backfill<'_> {
    fn run(&self, options: RunOptions<'_>) -> Result<Outcome<Self>, RunError> {
        towtank_kernel::run(self, options)
    }
}

impl Model for Backfill<'_> {
    type Entity = Entity;
    type Event = Event;
    type Undo = ();
    type Statistics = Counts;
    type Output = ();

    fn entities(&self) -> u32 {
        self.spec.devices + 2
    }

    fn links(&self) -> Links {
        Links::all(self.spec.latency)
    }

    fn create(&self, id: EntityId) -> Entity {
        if id == self.monitor() {
            return Entity::Monitor(self.touched.iter().map(|group| (*group, BACK)).collect());
        }
        match self.outage.devices.get(id.0 as usize) {
            Some(device) => Entity::Device(Box::new(device.clone())),
            None => Entity::Clients(0, BTreeSet::new()),
        }
    }

    fn start(&self, entity: &mut Entity, context: &mut Context<'_, Self>) -> Result<(), Fault> {
        match entity {
            Entity::Device(device) => {
                let groups: Vec<u32> = device.groups.keys().copied().collect();
                for group in groups {
                    let input = self.map(group, BACK, self.spec.up(group));
                    let what = What::Input(input);
                    context.send(context.me(), SimSpan::ZERO, Event { group, what });
                }
            }
            Entity::Clients(..) if self.spec.clients.is_some() => {
                context.send(context.me(), SimSpan::ZERO, Event { group: 0, what: What::Comes });
            }
            Entity::Monitor(_) | Entity::Clients(..) => {}
        }
        Ok(())
    }

    fn handle(
        &self,
        entity: &mut Entity,
        event: &Event,
        context: &mut Context<'_, Self>,
    ) -> Result<(), Fault> {
        let group = event.group;
        match (entity, &event.what) {
            (Entity::Device(device), What::Input(input)) => self.tell(device, group, input.clone(), context),
            (Entity::Device(device), What::Arrives { from, span, message }) => {
                let now = context.now();
                let here = device.inward.receive(now, *span).end;
                let input = Input::Message { from: *from, message: message.clone() };
                if here > now {
                    context.send_at(context.me(), here, Event { group, what: What::Input(input) });
                    return Ok(());
                }
                self.tell(device, group, input, context)
            }
            (Entity::Device(device), What::Writes(request)) => {
                let now = context.now();
                device.asked.entry(*request).or_insert(now);
                let (request, key) = (*request, self.key_of(*request));
                let operation = Operation::Write(Size(self.spec.held_bytes()));
                self.tell(device, group, Input::Client { request, key, operation }, context)
            }
            (Entity::Monitor(epochs), What::Wants(epoch, acting)) => {
                let known = epochs.get_mut(&group).ok_or("an unaffected group requested a map")?;
                // A request from a past interval is ignored: the primary will ask again.
                if epoch == known {
                    *known += 1;
                    let devices = self.spec.up(group);
                    for device in devices {
                        let what = What::Input(self.map(group, *known, acting.clone()));
                        context.send(EntityId(device.0), self.spec.latency, Event { group, what });
                    }
                }
                Ok(())
            }
            (Entity::Clients(made, clean), What::Comes) => {
                if clean.len() < self.touched.len() {
                    self.client_comes(made, context);
                }
                Ok(())
            }
            (Entity::Clients(_, clean), What::Clean) => {
                clean.insert(group);
                Ok(())
            }
            _ => Err("an event reached an entity that cannot handle it".into()),
        }
    }

    /// Not speculative: the protocol asserts that messages arrive as they were sent, which speculation cannot
    /// guarantee, and a device is expensive to clone.
    fn speculative(&self, _id: EntityId) -> bool {
        false
    }

    fn describe(&self, id: EntityId) -> String {
        if id == self.monitor() {
            "the monitor".to_owned()
        } else if id == self.clients() {
            "clients".to_owned()
        } else {
            format!("device {id}")
        }
    }

    fn audit(&self, committed: &Committed<'_, Self>) -> Result<(), Fault> {
        audit::audit(self.spec, self.outage, committed)
    }
}
