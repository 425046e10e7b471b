//! Models generated from a seed, to compare the executors with each other.
//!
//! Delays are multiples of five nanoseconds, so that ties are frequent. Every entity also has a channel to a
//! fixed partner: its messages carry consecutive numbers and take a constant time, so in the correct order of
//! events they arrive in sequence. Under speculation they may not; the receiver then panics. Such a panic
//! must never reach the outcome of a run.

use std::hash::Hash;

use serde::{Deserialize, Serialize};
use towtank_kernel::{Committed, Context, EntityId, Fault, Links, Model, Statistics, TimerId, UndoBy};
use towtank_streams::{Draws, Purpose, Seed, Uniform, mix};
use towtank_units::SimSpan;

const SHAPE: Purpose = Purpose(0);
const DEED: Purpose = Purpose(1);
const CHANNEL_BEAT: SimSpan = SimSpan::from_ns(55);

/// A deliberate defect of a model, to prove that checks can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The hand-written undo forgets a field.
    WrongInverse,
    /// A handler depends on something outside its entity.
    HiddenState,
}

/// A fault that remains after speculation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fatal {
    /// An entity returns a fault at its n-th event.
    Fault(u32),
    /// An entity panics at its n-th event.
    Panic(u32),
    /// An entity sends sooner than its link allows at its n-th event.
    ShortLink(u32),
}

/// A model made from a seed.
#[derive(Clone, Debug)]
pub struct RandomModel {
    seed: Seed,
    entities: u32,
    neighbours: Vec<Vec<(EntityId, SimSpan)>>,
    /// The partner of each entity's channel, and the delay of its messages.
    channels: Vec<(EntityId, SimSpan)>,
    careful: Vec<bool>,
    /// The deliberate defect, if any.
    pub flaw: Option<Flaw>,
    /// The deliberate failure at one entity, if any.
    pub fatal: Option<(EntityId, Fatal)>,
}

/// The messages and timers of the entities.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RandomEvent {
    /// Work; leads to more work while its energy lasts.
    Work {
        /// The number of generations that may follow.
        energy: u8,
        /// Distinguishes payloads.
        tag: u16,
    },
    /// A timer.
    Alarm(u8),
    /// The timer for the next message on the channel.
    Beat,
    /// The n-th message on a channel.
    Numbered(u32),
}

/// The state of an entity.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RandomEntity {
    id: EntityId,
    fold: u64,
    handled: u32,
    sent: u32,
    expected: Vec<(EntityId, u32)>,
    timers: Vec<TimerId>,
}

/// The overwritten values that are needed to undo an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overwritten {
    fold: u64,
    sent: u32,
    arrived: Option<EntityId>,
    pushed: bool,
    removed: Option<(usize, TimerId)>,
}

/// The statistics of an entity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tally {
    /// The number of samples.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
}

impl Statistics for Tally {
    type Sample = u32;

    fn add(&mut self, sample: u32) {
        self.count += 1;
        self.sum += u64::from(sample);
    }

    fn merge(&mut self, other: &Tally) {
        self.count += other.count;
        self.sum += other.sum;
    }
}

impl RandomModel {
    /// Makes a model. Equal seeds make equal models.
    #[must_use]
    pub fn new(seed: u64) -> RandomModel {
        let mut draws = Draws::new(Seed(seed), u32::MAX, 0);
        let mut shape = draws.of(SHAPE);
        let entities = 2 + shape.below(22) as u32;
        // One model in three has links without delay, and one in four has entities that do not speculate.
        let zero = shape.below(3) == 0;
        let some_careful = shape.below(4) == 0;
        let mut neighbours = Vec::new();
        let mut channels = Vec::new();
        let mut careful = Vec::new();
        for id in 0..entities {
            let mut mine: Vec<(EntityId, SimSpan)> = Vec::new();
            for _ in 0..=shape.below(4) {
                let to = EntityId(shape.below(u64::from(entities)) as u32);
                let least = if zero && shape.below(6) == 0 { 0 } else { 5 * (1 + shape.below(4)) };
                if to.0 != id && !mine.iter().any(|(other, _)| *other == to) {
                    mine.push((to, SimSpan::from_ns(least)));
                }
            }
            let partner = EntityId((id + 1 + shape.below(u64::from(entities - 1)) as u32) % entities);
            if !mine.iter().any(|(other, _)| *other == partner) {
                mine.push((partner, SimSpan::from_ns(10)));
            }
            let least = mine.iter().find(|(other, _)| *other == partner).expect("the partner was added").1;
            channels.push((partner, least.saturating_add(SimSpan::from_ns(5 * shape.below(8)))));
            careful.push(some_careful && shape.below(5) == 0);
            neighbours.push(mine);
        }
        RandomModel { seed: Seed(seed), entities, neighbours, channels, careful, flaw: None, fatal: None }
    }

    /// The seed it was made from.
    #[must_use]
    pub fn seed(&self) -> Seed {
        self.seed
    }

    fn fail(&self, entity: &RandomEntity, context: &mut Context<'_, Self>) -> Result<(), Fault> {
        match self.fatal {
            Some((id, Fatal::Fault(at))) if id == entity.id && at == entity.handled => {
                Err("a planted fault".into())
            }
            Some((id, Fatal::Panic(at))) if id == entity.id && at == entity.handled => {
                panic!("a planted panic")
            }
            Some((id, Fatal::ShortLink(at))) if id == entity.id && at == entity.handled => {
                let (to, _) =
                    self.neighbours[id.index()].iter().max_by_key(|(_, least)| *least).expect("all have one");
                context.send(*to, SimSpan::ZERO, RandomEvent::Beat);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn work(&self, entity: &mut RandomEntity, energy: u8, context: &mut Context<'_, Self>) -> Overwritten {
        let mut undo =
            Overwritten { fold: entity.fold, sent: entity.sent, arrived: None, pushed: false, removed: None };
        if energy == 0 {
            return undo;
        }
        let neighbours = &self.neighbours[entity.id.index()];
        let mut draws = context.draws(DEED);
        let (children, dice) = (draws.below(3), draws.below(100));
        for _ in 0..children {
            let mut draws = context.draws(DEED);
            let chosen = draws.below(neighbours.len() as u64 + 1) as usize;
            let more = SimSpan::from_ns(5 * draws.below(5));
            let tag = draws.below(1000) as u16;
            let (to, least) = neighbours.get(chosen).copied().unwrap_or((entity.id, SimSpan::ZERO));
            context.send(to, least.saturating_add(more), RandomEvent::Work { energy: energy - 1, tag });
        }
        if dice < 30 && entity.timers.len() < 4 {
            let after = SimSpan::from_ns(5 * context.draws(DEED).below(20));
            entity.timers.push(context.set_timer(after, RandomEvent::Alarm(dice as u8)));
            undo.pushed = true;
        } else if dice > 70 && !entity.timers.is_empty() {
            let place = context.draws(DEED).below(entity.timers.len() as u64) as usize;
            let timer = entity.timers.remove(place);
            let live = context.cancel(timer);
            entity.fold = mix(entity.fold ^ u64::from(live), 0x9e37_79b9_7f4a_7c15);
            undo.removed = Some((place, timer));
        }
        undo
    }
}

impl Model for RandomModel {
    type Entity = RandomEntity;
    type Event = RandomEvent;
    type Undo = Overwritten;
    type Statistics = Tally;
    type Output = u64;

    const UNDO: UndoBy = UndoBy::Inverse;
    const AUDITS_PENDING: bool = true;

    fn entities(&self) -> u32 {
        self.entities
    }

    fn links(&self) -> Links {
        let mut links = Links::none();
        for (from, neighbours) in self.neighbours.iter().enumerate() {
            for &(to, least) in neighbours {
                links.connect(EntityId(from as u32), to, least);
            }
        }
        links
    }

    fn create(&self, id: EntityId) -> RandomEntity {
        let senders = (0..self.entities).map(EntityId).filter(|from| self.channels[from.index()].0 == id);
        RandomEntity {
            id,
            fold: u64::from(id.0),
            handled: 0,
            sent: 0,
            expected: senders.map(|from| (from, 0)).collect(),
            timers: Vec::new(),
        }
    }

    fn start(&self, entity: &mut RandomEntity, context: &mut Context<'_, Self>) -> Result<(), Fault> {
        context.send(entity.id, CHANNEL_BEAT, RandomEvent::Beat);
        for tag in 0..3 {
            let after = SimSpan::from_ns(5 * context.draws(DEED).below(10));
            context.send(entity.id, after, RandomEvent::Work { energy: 40, tag });
        }
        context.emit(u64::from(entity.id.0));
        Ok(())
    }

    fn handle(
        &self,
        entity: &mut RandomEntity,
        event: &RandomEvent,
        context: &mut Context<'_, Self>,
    ) -> Result<Overwritten, Fault> {
        self.fail(entity, context)?;
        entity.handled += 1;
        let fold = entity.fold;
        let mut undo = match *event {
            RandomEvent::Work { energy, tag } => {
                entity.fold = mix(entity.fold ^ u64::from(tag), 0x2545_f491_4f6c_dd1d);
                self.work(entity, energy, context)
            }
            RandomEvent::Alarm(number) => {
                context.record(u32::from(number));
                Overwritten { fold, sent: entity.sent, arrived: None, pushed: false, removed: None }
            }
            RandomEvent::Beat => {
                let (to, takes) = self.channels[entity.id.index()];
                context.send(to, takes, RandomEvent::Numbered(entity.sent));
                context.send(entity.id, CHANNEL_BEAT, RandomEvent::Beat);
                entity.sent += 1;
                Overwritten { fold, sent: entity.sent - 1, arrived: None, pushed: false, removed: None }
            }
            RandomEvent::Numbered(number) => {
                let from = context.key().origin;
                let expected = entity.expected.iter_mut().find(|(sender, _)| *sender == from);
                let (_, next) = expected.expect("channels are known from the start");
                // A defective model must run on to show its flaw.
                let spoiled = self.flaw.is_some();
                assert!(spoiled || *next == number, "message {number} of {from} came when {next} was due");
                *next += 1;
                context.emit(u64::from(number));
                Overwritten { fold, sent: entity.sent, arrived: Some(from), pushed: false, removed: None }
            }
        };
        undo.fold = fold;
        let key = context.key();
        entity.fold =
            mix(entity.fold ^ key.at.as_ns(), key.sequence ^ (u64::from(key.origin.0) << 40) ^ 0x9e37_79b9);
        if self.flaw == Some(Flaw::HiddenState) {
            thread_local!(static CALLS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) });
            CALLS.set(CALLS.get() + 1);
            entity.fold ^= CALLS.get();
        }
        Ok(undo)
    }

    fn undo(&self, entity: &mut RandomEntity, _event: &RandomEvent, undo: Overwritten) {
        entity.handled -= 1;
        entity.sent = undo.sent;
        if self.flaw != Some(Flaw::WrongInverse) {
            entity.fold = undo.fold;
        }
        if let Some(from) = undo.arrived {
            let (_, next) =
                entity.expected.iter_mut().find(|(sender, _)| *sender == from).expect("it was found before");
            *next -= 1;
        }
        if undo.pushed {
            entity.timers.pop();
        }
        if let Some((place, timer)) = undo.removed {
            entity.timers.insert(place, timer);
        }
    }

    fn speculative(&self, id: EntityId) -> bool {
        !self.careful[id.index()]
    }

    /// Messages on channels are conserved: sent = arrived + pending.
    fn audit(&self, committed: &Committed<'_, Self>) -> Result<(), Fault> {
        let sent: u64 = committed.entities.iter().map(|entity| u64::from(entity.sent)).sum();
        let arrived: u64 = committed
            .entities
            .iter()
            .flat_map(|entity| &entity.expected)
            .map(|&(_, next)| u64::from(next))
            .sum();
        let pending =
            committed.pending.iter().filter(|event| matches!(event.event, RandomEvent::Numbered(_))).count()
                as u64;
        if sent == arrived + pending {
            Ok(())
        } else {
            Err(format!("{sent} channel messages sent, but {arrived} arrived and {pending} are pending")
                .into())
        }
    }
}
