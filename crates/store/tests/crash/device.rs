//! One device with one replica of one group, which writes like a daemon.

use std::path::Path;

use towtank_merkle::Subspace;
use towtank_replication::{
    Action, Config, DeviceId, Discovery, Durable, Input, Key, Map, Member, Objects, Operation, Replica,
    RequestId, Summary, Version,
};
use towtank_store::content::{self, Encoded};
use towtank_store::engine::{Engine, Sync};
use towtank_store::names::address;
use towtank_store::objects::{Totals, View};
use towtank_store::saved::Saved;
use towtank_units::SimTime;

const ME: DeviceId = DeviceId(0);

/// The complete state between two transactions.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Key, version and bytes of each object.
    objects: Vec<(Key, Version, Encoded)>,
    log: (Version, Version, usize),
    totals: Totals,
    /// Whether tree and sketch match the objects.
    sums_up: bool,
}

/// A part of a transaction's changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Objects,
    Group,
}

impl Part {
    pub const ALL: [Part; 2] = [Part::Objects, Part::Group];
}

pub struct Device {
    engine: Engine,
    replica: Replica<Encoded>,
    saved: Saved,
    totals: Totals,
    epoch: u32,
    asked: u64,
}

fn config() -> Config {
    let mut config = Config::new(1, Subspace::WHOLE, 6).expect("few leaves");
    config.discovery = Discovery::Sketch;
    config.sketch_cells = 64;
    config.sketch_first_cells = 16;
    (config.log_entries_min, config.log_entries_max, config.log_trim_min) = (4, 8, 1);
    config
}

impl Device {
    pub fn open(directory: &Path) -> Device {
        Device::try_open(directory).expect("the disk can be opened")
    }

    pub fn try_open(directory: &Path) -> Result<Device, String> {
        let engine = Engine::open(directory, Sync::Always).map_err(|error| error.to_string())?;
        let mut transaction = engine.begin();
        let loaded = Saved::load(0, &config(), &mut transaction).map_err(|error| error.to_string())?;
        let (saved, durable, totals) =
            loaded.unwrap_or_else(|| (Saved::nothing(0), Durable::new(&config()), Totals::default()));
        let epoch = durable.epoch;
        drop(transaction);
        let replica = Replica::start(config(), Member::original(ME), durable, SimTime::ZERO);
        Ok(Device { engine, replica, saved, totals, epoch, asked: 0 })
    }

    /// Notes that the last transaction is synced, as an idle daemon does.
    pub fn mark(&self) {
        self.engine.mark().expect("the disk can be written");
    }

    pub fn is_undecided(&self) -> bool {
        self.engine.undecided().expect("the disk can be read").is_some()
    }

    pub fn decide(&self) {
        self.engine.decide().expect("the disk can be written");
    }

    /// Begins an interval in which this is the only replica, and writes some objects.
    pub fn fill(&mut self) {
        (100..110).for_each(|number| self.write(number));
    }

    /// Writes or removes one of a few objects in one transaction.
    pub fn write(&mut self, number: u64) {
        self.transact(number, None);
    }

    /// The same, but omits a part of the transaction, like a disk that tears transactions.
    pub fn write_but(&mut self, number: u64, part: Part) {
        self.transact(number, Some(part));
    }

    fn transact(&mut self, number: u64, leaves_out: Option<Part>) {
        if self.replica.view().is_primary {
            return self.ask(number, leaves_out);
        }
        self.epoch += 1;
        let alive = vec![Member::original(ME)];
        let map = Map { epoch: self.epoch, up: vec![ME], acting: vec![ME], alive, gone: Vec::new() };
        let (inputs, engine) = (vec![Input::Map(map)], self.engine.clone());
        self.handle(inputs, &engine, None);
        self.ask(number, leaves_out);
    }

    fn ask(&mut self, number: u64, leaves_out: Option<Part>) {
        // The same few objects are overwritten with other sizes, and one is removed now and then.
        let name = format!("object {}", number % 7);
        let operation = if number % 5 == 4 {
            Operation::Delete
        } else {
            let data = vec![number as u8; 300 + 400 * (number % 3) as usize];
            Operation::Write(content::encode(&name, &Default::default(), &data))
        };
        self.asked += 1;
        let request = RequestId { client: number, number: self.asked };
        let input = Input::Client { request, key: address(&name, 1).key, operation };
        let engine = self.engine.clone();
        self.handle(vec![input], &engine, leaves_out);
    }

    /// Like the core of a daemon: all changes of some inputs are one transaction.
    fn handle(&mut self, inputs: Vec<Input<Encoded>>, engine: &Engine, leaves_out: Option<Part>) {
        let mut transaction = engine.begin();
        let mut left_out = engine.begin();
        let mut next = inputs;
        while let Some(input) = next.pop() {
            let mut actions = Vec::new();
            let into = if leaves_out == Some(Part::Objects) { &mut left_out } else { &mut transaction };
            let mut view = View::new(into, 0, &mut self.totals);
            self.replica.handle(SimTime::ZERO, input, &mut view, &mut actions);
            let done = actions.into_iter().filter_map(|action| match action {
                Action::Work { token, .. } => Some(Input::Done(token)),
                _ => None,
            });
            next.extend(done);
        }
        let into = if leaves_out == Some(Part::Group) { &mut left_out } else { &mut transaction };
        self.saved.save(self.replica.durable_mut(), self.totals, into);
        transaction.commit().expect("the disk can be written");
    }

    pub fn state(&mut self) -> State {
        let engine = self.engine.clone();
        let mut transaction = engine.begin();
        let mut totals = self.totals;
        let view = View::new(&mut transaction, 0, &mut totals);
        let listed = view.scan(Key::MIN, towtank_replication::Cursor::End, usize::MAX);
        let objects = listed.iter().map(|object| {
            let bytes = view.read(object.key, 0, object.size).expect("it was just listed");
            (object.key, object.version, bytes)
        });
        let objects: Vec<_> = objects.collect();
        let versions = objects.iter().map(|(key, version, _)| (*key, *version));
        let durable = self.replica.durable();
        let sums_up = durable.summary.sums_up_as(&Summary::of_objects(&config(), versions));
        let log = (durable.log.tail(), durable.log.head(), durable.log.iter().count());
        State { objects, log, totals: self.totals, sums_up }
    }
}
