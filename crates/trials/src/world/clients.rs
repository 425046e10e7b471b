//! Clients: each asks for one thing at a time, repeats it until it is answered, and never asks for anything
//! else before. What it writes is a number, in the encoding of the store.

use std::collections::BTreeMap;

use towtank_replication::history::Act;
use towtank_replication::model::{Answered, Object};
use towtank_replication::{Key, Operation, RequestId};
use towtank_store::client::asking::Asking;
use towtank_store::content;
use towtank_store::frames::{Answer, Ask, FromMonitor, Reply, ToMonitor, Wanted};
use towtank_store::map::{ClusterMap, Places};
use towtank_store::names::address;
use towtank_units::SimSpan;

use super::{Event, Node, Packet, World, decoded, encoded};

/// How long a client is patient: it never gives up.
const PATIENCE: SimSpan = SimSpan::from_secs(100_000);

/// How long the monitor may take.
const MAP_TIME: SimSpan = SimSpan::from_ms(300);

/// What is asked for and not answered.
#[derive(Debug)]
struct Open {
    ask: Ask,
    name: String,
    asking: Asking,
}

#[derive(Debug)]
enum Step {
    Thinks,
    /// Of this daemon.
    WaitsForAnswer(u32),
    Rests,
    WaitsForMap,
}

/// How a client differs from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Habit {
    Usual,
    /// It never writes, and goes on until all faults are over.
    ReadsOnly,
    /// It asks for the newest map before each operation: so it writes to a new primary while others still
    /// read from the former one.
    AsksForMaps,
    /// It asks what a gateway wants.
    Gateway,
}

#[derive(Debug)]
pub(super) struct Client {
    map: Option<(ClusterMap, Places)>,
    open: Option<Open>,
    step: Step,
    /// The event that is due, or the question to the monitor.
    number: u64,
    left: u64,
    habit: Habit,
    /// Whether it reads each object once more, and which is next.
    reads_on: Option<usize>,
}

impl Client {
    pub(super) fn new(habit: Habit, operations: u64) -> Client {
        let left = if habit == Habit::ReadsOnly { u64::MAX } else { operations };
        Client { map: None, open: None, step: Step::Thinks, number: 0, left, habit, reads_on: None }
    }

    /// The group and the key of the object that it asks for, and the daemons that serve it by its map.
    pub(super) fn asks_of(&self) -> Option<(u32, Key, Vec<u32>)> {
        let (open, (map, places)) = (self.open.as_ref()?, self.map.as_ref()?);
        let Wanted::Object { key, .. } = open.ask.what else { return None };
        let acting = places.map_of(map, open.ask.group).acting;
        Some((open.ask.group, key, acting.into_iter().map(|device| device.0).collect()))
    }

    /// Whether it has been answered, and asks for nothing more.
    pub(super) fn is_done(&self) -> bool {
        self.open.is_none() && self.left == 0
    }

    /// What it asks for, for a message about what does not end.
    pub(super) fn asks_for(&self) -> Option<(u32, &str)> {
        self.open.as_ref().map(|open| (open.ask.group, open.name.as_str()))
    }
}

/// The number that was written, if the bytes are of the object and nothing else.
fn number_in(name: &str, bytes: &[u8]) -> Option<u64> {
    let (head, data) = content::decode(bytes).ok()?;
    let number = u64::from_le_bytes(data.get(..8)?.try_into().ok()?);
    (head.name == name && data == data_of(number)).then_some(number)
}

fn data_of(number: u64) -> Vec<u8> {
    let times = if number.is_multiple_of(50) { 1_000 } else { 1 + number % 20 };
    number.to_le_bytes().repeat(times as usize)
}

impl World {
    /// Each client reads every object once more; no other operations follow.
    pub(super) fn read_all(&mut self) {
        let names = self.names.len();
        for client in 0..self.clients.len() {
            let it = &mut self.clients[client];
            (it.reads_on, it.left) = (Some(0), if client == 0 { names as u64 } else { 0 });
            if it.habit == Habit::Gateway {
                self.clients[client].left = self.acts_at_the_end();
            }
            if self.clients[client].open.is_none() {
                self.client_at(client, SimSpan::from_ms(1));
            }
        }
    }

    /// No client begins anything further.
    pub(super) fn end_operations(&mut self) {
        self.clients.iter_mut().for_each(|client| client.left = 0);
    }

    fn client_at(&mut self, client: usize, span: SimSpan) {
        let number = self.give();
        self.clients[client].number = number;
        self.after(span, Event::Client { client, number });
    }

    /// A client's wait is over.
    pub(super) fn client(&mut self, client: usize, number: u64) {
        let it = &mut self.clients[client];
        if it.number != number {
            return;
        }
        match it.step {
            Step::Thinks => self.think(client),
            Step::WaitsForAnswer(_) => {
                if let Some(open) = &mut it.open {
                    open.asking.timed_out();
                }
                self.rest_client(client);
            }
            Step::Rests => self.learn_map(client),
            Step::WaitsForMap => self.attempt(client),
        }
    }

    /// Draws the next operation.
    fn think(&mut self, client: usize) {
        if self.clients[client].left == 0 || self.clients[client].open.is_some() {
            return;
        }
        if self.clients[client].habit == Habit::Gateway {
            return self.use_gateway(client, self.clients[client].reads_on);
        }
        self.clients[client].left -= 1;
        let looks = self.below(4) > 0;
        let wanted = self.wanted().filter(|_| looks);
        let at = match self.clients[client].reads_on.or(wanted) {
            Some(at) => at,
            None => self.below(self.names.len() as u64) as usize,
        };
        let reads_on = self.clients[client].reads_on.map(|at| at + 1);
        self.clients[client].reads_on = reads_on;
        let (name, request) = (self.names[at].clone(), self.request(client));
        let reads = reads_on.is_some() || wanted.is_some() || self.clients[client].habit == Habit::ReadsOnly;
        let kind = if reads { 9 } else { self.below(10) };
        let content = request.number;
        let (act, operation) = match kind {
            0..5 => {
                let bytes = content::encode(&name, &BTreeMap::new(), &data_of(content));
                (Act::Set(Some(content)), Operation::Write(bytes))
            }
            5 => (Act::Set(None), Operation::Delete),
            _ => (Act::Read(None), Operation::Read),
        };
        let at = address(&name, self.settings.groups);
        self.judge.ask(request, Object { group: at.group, key: at.key }, act);
        self.tell(|| format!("client {client} asks {request:?}: {act:?} of {name} in group {}", at.group));
        let ask = Ask { request, group: at.group, what: Wanted::Object { key: at.key, operation } };
        self.begin_asking(client, name, ask);
    }

    fn begin_asking(&mut self, client: usize, name: String, ask: Ask) {
        let asking = Asking::new(self.now, PATIENCE, self.answer_time);
        self.clients[client].open = Some(Open { ask, name, asking });
        match self.clients[client].habit {
            Habit::AsksForMaps => self.learn_map(client),
            _ => self.attempt(client),
        }
    }

    /// The client of a gateway asks for something.
    pub(super) fn open(&mut self, client: usize, name: String, group: u32, what: Wanted) {
        let ask = Ask { request: self.request(client), group, what };
        self.begin_asking(client, name, ask);
    }

    /// The user of a gateway begins another act.
    pub(super) fn begin_act(&mut self, client: usize) {
        let it = &mut self.clients[client];
        it.left -= 1;
        it.reads_on = it.reads_on.map(|at| at + 1);
    }

    /// A client thinks for a while.
    pub(super) fn think_after(&mut self, client: usize, pause: SimSpan) {
        let it = &mut self.clients[client];
        (it.open, it.step) = (None, Step::Thinks);
        self.client_at(client, pause);
    }

    /// Asks the primary of the map that the client knows.
    fn attempt(&mut self, client: usize) {
        let now = self.now;
        let it = &mut self.clients[client];
        let Some(open) = &it.open else { return };
        let Some((map, places)) = &it.map else { return self.learn_map(client) };
        let Some(primary) = places.map_of(map, open.ask.group).acting.first().copied() else {
            return self.rest_client(client);
        };
        let (wait, bytes) = (open.asking.wait(now), encoded(&open.ask));
        it.step = Step::WaitsForAnswer(primary.0);
        self.client_at(client, wait);
        let number = self.clients[client].number;
        self.send(Node::Client(client), Node::Osd(primary.0), Packet::Ask { number, bytes });
    }

    fn rest_client(&mut self, client: usize) {
        let now = self.now;
        let it = &mut self.clients[client];
        let rest = it.open.as_mut().and_then(|open| open.asking.rest(now));
        it.step = Step::Rests;
        self.client_at(client, rest.unwrap_or(PATIENCE));
    }

    fn learn_map(&mut self, client: usize) {
        let after = self.clients[client].map.as_ref().map_or(0, |(map, _)| map.epoch);
        self.clients[client].step = Step::WaitsForMap;
        self.client_at(client, MAP_TIME);
        let (number, bytes) =
            (self.clients[client].number, encoded(&ToMonitor::Maps { after, digest: None, wait_ms: 0 }));
        self.send(Node::Client(client), Node::Monitor, Packet::ToMonitor { number, bytes });
    }

    pub(super) fn map_for_client(&mut self, client: usize, number: u64, bytes: &[u8]) {
        let FromMonitor::Maps(maps) = decoded(bytes) else { return };
        let it = &mut self.clients[client];
        if let Some(map) = maps.into_iter().next_back()
            && it.map.as_ref().is_none_or(|(known, _)| known.epoch < map.epoch)
        {
            let places = Places::new(&self.settings, &map);
            it.map = Some((map, places));
        }
        if number == it.number {
            self.attempt(client);
        }
    }

    /// An answer of a daemon has arrived.
    pub(super) fn answered(&mut self, client: usize, bytes: &[u8]) {
        let Answer { request, reply } = decoded(bytes);
        let Some(open) = self.clients[client].open.as_ref().filter(|open| open.ask.request == request) else {
            return;
        };
        let name = open.name.clone();
        let is_gateway = self.clients[client].habit == Habit::Gateway;
        let answer = match reply {
            // A disk is full, or the group is not ready: it is asked again.
            Reply::Retry(_) | Reply::Refused(_) => return self.again(client),
            reply if is_gateway => return self.answer_gateway(client, &name, reply),
            Reply::Done(version) => Answered::Done(version),
            Reply::Found(None) => Answered::Read { found: None, as_of: None },
            Reply::Found(Some((version, bytes))) => match number_in(&name, &bytes) {
                Some(number) => Answered::Read { found: Some((version, number)), as_of: None },
                None => return self.wrong(format!("{request:?} found bytes that nobody wrote to {name}")),
            },
            other => return self.wrong(format!("{request:?} is answered by {other:?}")),
        };
        self.end_operation(client, request, answer);
    }

    /// Nobody listens where the client has asked, or the process there has ended.
    pub(super) fn refused(&mut self, client: usize, number: u64) {
        if self.clients[client].number != number {
            return;
        }
        match self.clients[client].step {
            Step::WaitsForAnswer(_) => self.rest_client(client),
            // The map that it knows may still be right.
            Step::WaitsForMap => self.attempt(client),
            Step::Thinks | Step::Rests => {}
        }
    }

    /// A daemon has ended: if its machine has power, the connections of clients end with it.
    pub(super) fn hang_up(&mut self, osd: u32) {
        if self.hosts.get(&osd).is_none_or(|host| host.is_dark) {
            return;
        }
        let waits = |(client, it): (usize, &Client)| match it.step {
            Step::WaitsForAnswer(asked) if asked == osd => Some((client, it.number)),
            _ => None,
        };
        let waiting: Vec<(usize, u64)> = self.clients.iter().enumerate().filter_map(waits).collect();
        for (client, number) in waiting {
            self.send(Node::Osd(osd), Node::Client(client), Packet::Refused { number });
        }
    }

    fn again(&mut self, client: usize) {
        if matches!(self.clients[client].step, Step::WaitsForAnswer(_)) {
            self.rest_client(client);
        }
    }

    fn end_operation(&mut self, client: usize, request: RequestId, answer: Answered) {
        self.tell(|| format!("client {client} is answered {request:?}: {answer:?}"));
        if let Err(why) = self.judge.answer(request, answer) {
            return self.wrong(why);
        }
        self.outcome.operations += 1;
        self.mix(request.number);
        let pause = match self.clients[client].habit {
            // While a primary is cut off it may read what is old.
            Habit::ReadsOnly if self.is_cut() => 2_000,
            Habit::ReadsOnly => 40_000,
            // Most operations are made while something is wrong, and some until the end.
            _ if self.is_disturbed() => [1_000, 20_000, 150_000][self.below(3) as usize],
            _ => [20_000, 200_000, 2_000_000][self.below(3) as usize],
        };
        let pause = self.around(pause);
        self.think_after(client, pause);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use towtank_units::SimTime;

    use super::*;
    use crate::world::Plan;

    /// How long a client waits that asks a daemon which has just ended.
    fn wait(loses_power: bool) -> SimSpan {
        let mut world = World::new(Plan {
            seed: 1,
            only: Some(BTreeSet::new()),
            planted: None,
            traces: false,
            gateway: false,
        });
        let asks = |world: &World| -> BTreeSet<usize> {
            let is_waiting = |it: &(usize, &Client)| matches!(it.1.step, Step::WaitsForAnswer(_));
            world.clients.iter().enumerate().filter(is_waiting).map(|(client, _)| client).collect()
        };
        while world.now < SimTime::from_ns(2_000_000_000) {
            assert!(world.next());
        }
        // Without the monitor the clients go on with the map that they know.
        world.kill_monitor();
        world.osds().into_iter().for_each(|osd| world.down(osd, loses_power));
        let client = loop {
            let before = asks(&world);
            assert!(world.next());
            if let Some(client) = asks(&world).difference(&before).next() {
                break *client;
            }
        };
        let (began, number) = (world.now, world.clients[client].number);
        while world.clients[client].number == number {
            assert!(world.next());
        }
        world.now.since(began)
    }

    #[test]
    fn who_asks_where_nobody_listens_is_refused_if_the_machine_has_power() {
        let (refused, lost) = (wait(false), wait(true));
        assert!(refused < SimSpan::from_ms(10), "{refused}");
        assert!(lost >= SimSpan::from_ms(50), "{lost}");
    }
}
