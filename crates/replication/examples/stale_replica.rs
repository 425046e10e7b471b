//! A replica was away while 1 % of its group's 50,000 objects were written, more than the log holds. For each
//! way to find out what differs: how long does it take until the replica is complete again, and how many
//! objects are looked at?
//!
//! Run it with `cargo run -p towtank-replication --example stale_replica`.

use std::collections::BTreeMap;

use towtank_merkle::Subspace;
use towtank_replication::objects::{Memory, Size};
use towtank_replication::{
    Action, Config, DeviceId, Discovery, Durable, GroupId, Holder, Input, Key, Map, Member, Note, Objects,
    Operation, Replica, Request, RequestId, Reserver, Summary, Token, Verdict, Version, Work,
};
use towtank_units::{SimSpan, SimTime};

/// The time per object looked at, on one side: half of what the two sides took in a small Ceph cluster.
const LOOK: SimSpan = SimSpan::from_us(11);
/// The time to read or write an object for recovery: a recovery took 1.09 ms in that cluster.
const MOVE: SimSpan = SimSpan::from_us(500);
/// The network latency in one direction.
const LINK: SimSpan = SimSpan::from_us(40);

/// Bytes of recovery at one device.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moved {
    /// Bytes read there.
    pub read: u64,
    /// Bytes written there.
    pub written: u64,
}

/// A host of a few replicas of one group, which carries out their actions in virtual time.
pub struct Cluster {
    /// The time of the latest event.
    pub now: SimTime,
    /// The replicas, by device.
    pub devices: Vec<(Replica<Size>, Memory<Size>, Reserver)>,
    /// The notes of all replicas, with their times.
    pub notes: Vec<(SimTime, Note)>,
    /// The outcomes that clients received.
    pub outcomes: BTreeMap<RequestId, towtank_replication::Outcome<Size>>,
    /// The bytes that each device has read and written for recovery.
    pub moved: BTreeMap<u32, Moved>,
    map: Map,
    events: BTreeMap<(SimTime, u64), (usize, Input<Size>)>,
    scheduled: u64,
    asked: u64,
}

impl Cluster {
    /// A clean group of `devices` devices, each holding the same objects.
    pub fn new(config: Config, devices: u32, objects: &[(Key, Size)]) -> Cluster {
        let version = |at: usize| Version { epoch: 1, counter: 1 + at as u64 };
        let mut stored = Memory::new();
        for (at, (key, size)) in objects.iter().enumerate() {
            stored.put(*key, version(at), *size);
        }
        let summary = Summary::of_objects(&config, stored.iter().map(|(key, version, _)| (key, version)));
        let last_update = version(objects.len());
        let device = |device| {
            let durable = Durable::of_clean_group(1, last_update, summary.clone());
            let replica = Replica::start(config, Member::original(DeviceId(device)), durable, SimTime::ZERO);
            (replica, stored.clone(), Reserver::new(1))
        };
        let mut cluster = Cluster {
            now: SimTime::ZERO,
            devices: (0..devices).map(device).collect(),
            notes: Vec::new(),
            outcomes: BTreeMap::new(),
            moved: BTreeMap::new(),
            map: Map { epoch: 1, up: Vec::new(), acting: Vec::new(), alive: Vec::new(), gone: Vec::new() },
            events: BTreeMap::new(),
            scheduled: 0,
            asked: 0,
        };
        let size = config.size as u32;
        cluster.set_up(&(0..devices.min(size)).collect::<Vec<_>>());
        cluster
    }

    /// Begins an interval in which these devices hold the group, and no others are alive.
    pub fn begin(&mut self, up: &[u32]) {
        let up: Vec<DeviceId> = up.iter().map(|device| DeviceId(*device)).collect();
        let alive = up.iter().copied().map(Member::original).collect();
        self.tell(Map { epoch: self.map.epoch + 1, acting: up.clone(), alive, gone: Vec::new(), up });
    }

    /// Like [`Cluster::begin`], and runs until no event is left.
    pub fn set_up(&mut self, up: &[u32]) {
        self.begin(up);
        self.run();
    }

    fn tell(&mut self, map: Map) {
        self.map = map;
        for member in self.map.alive.clone() {
            let map = self.map.clone();
            self.schedule(LINK, member.device.0 as usize, Input::Map(map));
        }
    }

    /// Sends a request to the primary. The outcome is known after a run.
    pub fn ask(&mut self, key: Key, operation: Operation<Size>) -> RequestId {
        self.asked += 1;
        let request = RequestId { client: 1, number: self.asked };
        let primary = self.map.acting[0].0 as usize;
        self.schedule(LINK, primary, Input::Client { request, key, operation });
        request
    }

    /// Sends a request again, to the present primary.
    pub fn repeat(&mut self, request: RequestId, key: Key, operation: Operation<Size>) {
        let primary = self.map.acting[0].0 as usize;
        self.schedule(LINK, primary, Input::Client { request, key, operation });
    }

    fn schedule(&mut self, after: SimSpan, device: usize, input: Input<Size>) {
        self.scheduled += 1;
        self.events.insert((self.now.saturating_add(after), self.scheduled), (device, input));
    }

    /// Runs until no event is left.
    pub fn run(&mut self) {
        while self.step() {}
    }

    /// Handles the next event; false if there is none.
    pub fn step(&mut self) -> bool {
        let Some(((at, _), (device, input))) = self.events.pop_first() else { return false };
        self.now = at;
        let is_alive = self.map.alive.iter().any(|alive| alive.device.0 as usize == device);
        if is_alive {
            let (replica, objects, _) = &mut self.devices[device];
            let mut actions = Vec::new();
            replica.handle(at, input, objects, &mut actions);
            actions.into_iter().for_each(|action| self.carry_out(device, action));
        }
        true
    }

    fn carry_out(&mut self, device: usize, action: Action<Size>) {
        match action {
            Action::Send { to, message } => {
                let input = Input::Message { from: DeviceId(device as u32), message };
                self.schedule(LINK, to.0 as usize, input);
            }
            Action::Work { token, work } => {
                let moved = self.moved.entry(device as u32).or_default();
                match work {
                    Work::Read { bytes, is_recovery: true } => moved.read += bytes,
                    Work::Apply { bytes, is_recovery: true } => moved.written += bytes,
                    _ => {}
                }
                let span = match work {
                    Work::Look { objects } => SimSpan::from_ns(LOOK.as_ns() * objects),
                    _ => MOVE,
                };
                self.schedule(span, device, Input::Done(token));
            }
            Action::Wake { token, after } => self.schedule(after, device, Input::Woken(token)),
            Action::Reply { request, outcome } => {
                self.outcomes.insert(request, outcome);
            }
            Action::Reserve { token, lot, priority, bytes } => {
                let request = Request { holder: holder(token), lot, priority, bytes };
                self.reserve(device, |reserver, verdicts| reserver.request(request, verdicts));
            }
            Action::Release { token, lot } => {
                self.reserve(device, |reserver, verdicts| reserver.release(lot, holder(token), verdicts));
            }
            Action::WantActing { epoch, acting } if epoch == self.map.epoch => {
                self.tell(Map { epoch: epoch + 1, acting, ..self.map.clone() });
            }
            Action::WantActing { .. } => {}
            Action::Note(note) => self.notes.push((self.now, note)),
        }
    }

    /// Calls a device's reserver and passes its verdicts to the group's replica; verdicts for other holders
    /// are dropped.
    pub fn reserve(&mut self, device: usize, ask: impl FnOnce(&mut Reserver, &mut Vec<Verdict>)) {
        let mut verdicts = Vec::new();
        ask(&mut self.devices[device].2, &mut verdicts);
        for verdict in verdicts {
            let (to, input) = match verdict {
                Verdict::Granted(holder) => (holder, Input::Granted(holder.token)),
                Verdict::Rejected(holder) => (holder, Input::Rejected(holder.token)),
                Verdict::Revoked(holder) => (holder, Input::Revoked(holder.token)),
            };
            if to != holder(to.token) {
                continue;
            }
            self.schedule(SimSpan::from_ns(0), device, input);
        }
    }
}

fn holder(token: Token) -> Holder {
    Holder { group: GroupId(0), token }
}

/// The key of object `number`.
pub fn object(number: u32) -> Key {
    Key::of_hash(number.wrapping_mul(0x9e37_79b9), u64::from(number))
}

/// The cost of each way, as the text that is printed.
pub fn answer(objects: u32, written: u32) -> String {
    let mut lines = format!("{objects} objects, {written} written while a replica was away\n");
    for discovery in Discovery::ALL {
        let mut config = Config::new(3, Subspace::WHOLE, 14).expect("2^14 leaves are few enough");
        config.discovery = discovery;
        config.sketch_cells = written * 2;
        config.sketch_first_cells = written * 7 / 5;
        (config.log_entries_min, config.log_entries_max, config.log_trim_min) = (1, 2, 1);
        let all: Vec<(Key, Size)> = (0..objects).map(|number| (object(number), Size(1024))).collect();
        let mut cluster = Cluster::new(config, 3, &all);
        cluster.set_up(&[0, 1]);
        for number in (0..objects).step_by((objects / written) as usize) {
            cluster.ask(object(number), Operation::Write(Size(1024)));
            cluster.run();
        }
        cluster.set_up(&[0, 1, 2]);
        lines += &line(discovery, &cluster);
    }
    lines
}

fn line(discovery: Discovery, cluster: &Cluster) -> String {
    let at = |is: fn(&Note) -> bool| cluster.notes.iter().find(|(_, note)| is(note)).map(|(at, _)| *at);
    let began = at(|note| matches!(note, Note::BackfillBegan { .. })).expect("the log remembers too little");
    let found = at(|note| matches!(note, Note::Discovered { .. })).expect("it found out");
    let ended = at(|note| matches!(note, Note::BackfillEnded { .. })).expect("it was completed");
    let tally = cluster.notes.iter().find_map(|(_, note)| match note {
        Note::BackfillEnded { tally, .. } => Some(*tally),
        _ => None,
    });
    let tally = tally.expect("it was completed");
    let name = format!("{discovery:?}:");
    let (discovery_ms, backfill_ms) =
        (found.since(began).as_ns() / 1_000_000, ended.since(began).as_ns() / 1_000_000);
    format!(
        "{name:13} {:5} looked at, {:3} sent, {:6} bytes to find out in {discovery_ms} ms, {backfill_ms:4} ms in all\n",
        tally.looked_at, tally.recovered, tally.exchanged_bytes
    )
}

fn main() {
    print!("{}", answer(50_000, 500));
}
