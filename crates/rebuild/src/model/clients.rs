//! Clients that read and write during the rebuild.
//!
//! Operations arrive as a Poisson process, or a fixed number of them is under way and each reply brings the
//! next one; both are spread evenly over the working disks. A read is served by one
//! disk, or gathered from k; a write goes to the first server, which forwards it and replies when all copies
//! or shards are durable. The disks of an operation are drawn, not placed: each on a different server. The
//! clients' own NICs and CPUs cost nothing.

use towtank_kernel::{Context, Fault};
use towtank_metrics::Histogram;
use towtank_streams::distributions::Exponential;
use towtank_streams::{Purpose, Uniform};
use towtank_units::{Frequency, SimSpan, SimTime};

use super::event::{Event, Kind, Marks, plain};
use super::server::{Server, shared};
use super::shared::Operation;
use super::{DeviceId, OverTime, Rebuild, Sample};
use crate::hardware::Hardware;
use crate::redundancy::Redundancy;

/// The load that clients offer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// When operations are requested.
    pub arrivals: Arrivals,
    /// The fraction of reads.
    pub reads: f64,
    /// Bytes per operation.
    pub bytes: u32,
    /// Copies or shards.
    pub redundancy: Redundancy,
    /// The shares of a busy device.
    pub weights: Weights,
}

/// When clients request operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// At random, at this mean rate over the whole cluster, whatever the latency is.
    Open(Frequency),
    /// After a reply: so many operations are under way in the whole cluster.
    Closed(u32),
}

/// The shares of a busy device for clients and for the rebuild.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Of clients.
    pub clients: u32,
    /// Of groups that lack copies or shards, and of all groups where the next one is none.
    pub lacking: u32,
    /// Of groups that only move.
    pub moving: Option<u32>,
}

impl Weights {
    /// Clients with this weight against a rebuild with weight 1.
    #[must_use]
    pub fn against_one(clients: u32) -> Weights {
        Weights { clients, lacking: 1, moving: None }
    }
}

impl Load {
    /// Bytes of a copy or of a shard.
    #[must_use]
    pub fn part(&self) -> u32 {
        self.bytes.div_ceil(self.redundancy.data)
    }

    /// The utilisation by clients of the disks, or of the NICs if that is larger, at this rate of operations.
    #[must_use]
    pub fn share(&self, hardware: &Hardware, rate: Frequency) -> f64 {
        let part = u64::from(self.part());
        let (data, width) = (f64::from(self.redundancy.data), f64::from(self.redundancy.width));
        let disks = (0..hardware.devices()).map(DeviceId);
        let mean = disks.map(|device| {
            let disk = hardware.disk(device);
            let each =
                |write| disk.transfer(part, write).saturating_add(disk.seek(part, write)).as_secs_f64();
            self.reads * data * each(false) + (1.0 - self.reads) * width * each(true)
        });
        let rate = rate.per_second_f64();
        let count = f64::from(hardware.devices());
        let disks = rate * mean.sum::<f64>() / count / count;
        let card = |bytes: u32| hardware.card().span(u64::from(bytes)).as_secs_f64();
        let others = |parts: f64| (parts - 1.0) * card(self.part());
        let sent = self.reads * (card(self.bytes) + others(data)) + (1.0 - self.reads) * others(width);
        let received = self.reads * others(data) + (1.0 - self.reads) * (card(self.bytes) + others(width));
        let cards = rate * sent.max(received) / f64::from(hardware.servers());
        assert!(disks >= 0.0 && cards >= 0.0, "clients take {disks} of the disks and {cards} of the cards");
        disks.max(cards)
    }
}

/// The clients of a phase: their load, and the disks that they use.
#[derive(Clone, Debug, PartialEq)]
pub struct Clients {
    load: Load,
    pub(super) weights: Weights,
    live: Vec<DeviceId>,
    /// Working disks of each server.
    live_on: Vec<u32>,
    /// Servers with a working disk.
    servers: u32,
}

/// Latencies of clients.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Latencies {
    /// Of reads, in nanoseconds.
    pub reads: Histogram,
    /// Of writes, in nanoseconds.
    pub writes: Histogram,
    /// By reply time: the number of reads and writes, and the sums of their latencies.
    pub over_time: OverTime<[(u64, u64); 2]>,
}

impl Latencies {
    pub(super) fn add(&mut self, write: bool, latency: SimSpan, at: SimTime) {
        if write { &mut self.writes } else { &mut self.reads }.record(latency.as_ns());
        let mut one = [(0, 0); 2];
        one[usize::from(write)] = (1, latency.as_ns());
        self.over_time.add(at, &one);
    }

    /// Checks that each reply is both in a histogram and in a time bin.
    ///
    /// # Panics
    /// If one is missing.
    pub(crate) fn assert_adds_up(&self) {
        let [reads, writes] = self.over_time.whole();
        assert_eq!(self.reads.count(), reads.0, "reads by latency, and reads over time");
        assert_eq!(self.writes.count(), writes.0, "writes by latency, and writes over time");
    }

    /// Adds the latencies of another server.
    pub fn merge(&mut self, other: &Latencies) {
        self.reads.merge(&other.reads);
        self.writes.merge(&other.writes);
        self.over_time.merge(&other.over_time);
    }
}

/// A client arrives.
const ARRIVES: Event = Event { marks: Marks::client(), ..plain(Kind::Arrive) };

const COMING: Purpose = Purpose(44);
const ASKING: Purpose = Purpose(45);

/// How often a disk is drawn again while those drawn lie on servers that already have a part.
const TRIES: u32 = 1_000;

impl Clients {
    /// The destination of a reply that leaves the cluster.
    pub(super) const THEMSELVES: DeviceId = DeviceId(u32::MAX);

    /// Clients of the disks for which `works` is true; none if there are no such disks.
    ///
    /// # Panics
    /// If clients request no bytes, or the fractions and weights of the load are out of range.
    #[must_use]
    pub fn new(load: Load, hardware: &Hardware, works: impl Fn(DeviceId) -> bool) -> Option<Clients> {
        assert!((0.0..=1.0).contains(&load.reads), "clients read in a share of {}", load.reads);
        assert!(load.bytes > 0, "clients ask for no bytes");
        assert!(load.arrivals != Arrivals::Closed(0), "clients that wait for a reply have requested nothing");
        assert!(load.weights.clients > 0, "clients have no weight and are never served");
        let Redundancy { data, width } = load.redundancy;
        assert!((1..=width).contains(&data), "clients read {data} parts of {width}");
        let live: Vec<DeviceId> =
            (0..hardware.devices()).map(DeviceId).filter(|&device| works(device)).collect();
        let mut live_on = vec![0; hardware.servers() as usize];
        live.iter().for_each(|&device| live_on[hardware.server_of(device) as usize] += 1);
        let servers = live_on.iter().filter(|&&count| count > 0).count() as u32;
        assert!(live.is_sorted(), "disks of clients are out of order");
        assert!(servers as usize <= live.len(), "{} disks work in {servers} servers", live.len());
        (!live.is_empty()).then_some(Clients { load, weights: load.weights, live, live_on, servers })
    }
}

impl Rebuild<'_> {
    fn clients(&self) -> &Clients {
        self.clients.as_ref().expect("clients come where there are some")
    }

    /// Schedules the first client arrivals at a server.
    pub(super) fn await_clients(&self, context: &mut Context<'_, Self>) {
        let clients = self.clients();
        let Arrivals::Closed(depth) = clients.load.arrivals else { return self.await_client(context) };
        let live = clients.live.len() as u64;
        let disk = |number: u32| clients.live[(u64::from(number) * live / u64::from(depth)) as usize];
        let me = context.me();
        let here = (0..depth).filter(|&number| self.entity_of(disk(number)) == me);
        for _ in here {
            context.send(me, SimSpan::ZERO, ARRIVES);
        }
    }

    /// A client that waits for replies requests its next operation `wait` from now, of any disk.
    fn come_again(&self, wait: SimSpan, context: &mut Context<'_, Self>) {
        let live = &self.clients().live;
        let at = context.draws(COMING).below(live.len() as u64) as usize;
        let wait = wait.saturating_add(self.hardware.control());
        context.send(self.entity_of(live[at]), wait, ARRIVES);
    }

    /// Schedules the next client arrival at a server, where clients do not wait for replies.
    fn await_client(&self, context: &mut Context<'_, Self>) {
        let clients = self.clients();
        let Arrivals::Open(rate) = clients.load.arrivals else { return };
        let here = clients.live_on[context.me().index()];
        debug_assert!(here as usize <= clients.live.len(), "{here} disks work here, more than in all");
        let gap = rate.mean_gap_ns_f64() * clients.live.len() as f64 / f64::from(here);
        if let Ok(gaps) = Exponential::with_mean(gap) {
            let wait = gaps.sample_span(&mut context.draws(COMING));
            context.send(context.me(), wait, ARRIVES);
        }
    }

    /// A client arrives, and the next arrival is scheduled.
    pub(super) fn client_comes(&self, server: &mut Server, context: &mut Context<'_, Self>) {
        if shared(server).over {
            return;
        }
        self.await_client(context);
        let clients = self.clients();
        let me = context.me().0;
        let mine =
            || self.hardware.devices_of(me).filter(|device| clients.live.binary_search(device).is_ok());
        let mut draws = context.draws(ASKING);
        let write = draws.unit_f64() >= clients.load.reads;
        let at = draws.below(u64::from(clients.live_on[me as usize]).max(1)) as usize;
        // The position on the disk: far from what was served before.
        let spot = draws.next_u64() as u32 >> 2;
        let Some(first) = mine().nth(at) else { return };
        // A client that waits for replies sends the bytes of a write first; then they are here.
        let sending = match clients.load.arrivals {
            Arrivals::Closed(_) => self.asking(write).saturating_sub(self.hardware.control()),
            Arrivals::Open(_) => SimSpan::ZERO,
        };
        let since = context.now().saturating_add(sending);
        let operation = Operation { since, left: 0, write };
        let shared = shared(server);
        let number = shared.free.pop().unwrap_or(shared.operations.len() as u32);
        assert!(number as usize <= shared.operations.len(), "a free place for an operation does not exist");
        if number as usize == shared.operations.len() {
            shared.operations.push(operation);
        }
        debug_assert_eq!(shared.operations[number as usize].left, 0, "operation {number} is not over");
        shared.operations[number as usize] = operation;
        let event = Event {
            marks: Marks::client(),
            job: number,
            unit: spot,
            bytes: clients.load.bytes,
            device: first,
            driver: first,
            ..plain(Kind::In)
        };
        if write {
            context.send(context.me(), sending, event);
        } else {
            self.queue_client(server, &event, context);
        }
    }

    /// An operation is at its first device, a write with its bytes: it waits if the queue of the device
    /// limits clients.
    pub(super) fn queue_client(&self, server: &mut Server, event: &Event, context: &mut Context<'_, Self>) {
        let wait = self.admit_client(server, (event, self.clients().load.bytes), context);
        if wait.is_zero() {
            self.client_goes(server, event, context);
        } else {
            context.send(context.me(), wait, event.then(Kind::Start));
        }
    }

    /// An operation has left the queue of its first device.
    pub(super) fn client_goes(&self, server: &mut Server, event: &Event, context: &mut Context<'_, Self>) {
        if shared(server).operations[event.job as usize].write {
            self.client_writes(server, event, context);
        } else {
            self.client_reads(server, event, context);
        }
    }

    /// Requests the parts of a read.
    fn client_reads(&self, server: &mut Server, event: &Event, context: &mut Context<'_, Self>) {
        let load = &self.clients().load;
        let event =
            Event { marks: event.marks.gathering(true), bytes: load.part(), ..event.then(Kind::Read) };
        let parts = self.draw_parts(event.driver, load.redundancy.data, context);
        shared(server).operations[event.job as usize].left = parts.len() as u32;
        for device in parts {
            self.tell(device, Event { device, ..event }, context);
        }
    }

    /// The client's bytes have arrived: sends them to every device that gets a part.
    fn client_writes(&self, server: &mut Server, event: &Event, context: &mut Context<'_, Self>) {
        let load = &self.clients().load;
        let parts = self.draw_parts(event.driver, load.redundancy.width, context);
        shared(server).operations[event.job as usize].left = parts.len() as u32;
        for device in parts {
            let kind = if self.entity_of(device) == context.me() { Kind::Write } else { Kind::Out };
            let part = Event { device, bytes: load.part(), ..event.then(kind) };
            context.send(context.me(), SimSpan::ZERO, part);
        }
    }

    /// Draws the devices of an operation: the first disk, and others on different servers.
    fn draw_parts(&self, first: DeviceId, count: u32, context: &mut Context<'_, Self>) -> Vec<DeviceId> {
        let clients = self.clients();
        let count = count.min(clients.servers) as usize;
        let mut parts = vec![first];
        let mut draws = context.draws(ASKING);
        for _ in 0..TRIES {
            if parts.len() >= count {
                break;
            }
            let device = clients.live[draws.below(clients.live.len() as u64) as usize];
            let server = self.hardware.server_of(device);
            if parts.iter().all(|&part| self.hardware.server_of(part) != server) {
                parts.push(device);
            }
        }
        assert!(parts.len() <= count.max(1), "an operation has more parts than servers");
        assert!(clients.live.binary_search(&first).is_ok(), "a client asks a disk that does not work");
        debug_assert!(
            parts.iter().all(|part| clients.live.binary_search(part).is_ok()),
            "a part is on no disk"
        );
        parts
    }

    /// A part has been read or is durable.
    pub(super) fn client_part(
        &self,
        server: &mut Server,
        event: &Event,
        context: &mut Context<'_, Self>,
    ) -> Result<(), Fault> {
        let operation = &mut shared(server).operations[event.job as usize];
        operation.left = operation.left.checked_sub(1).ok_or("a client has more parts than it requested")?;
        if operation.left > 0 {
            return Ok(());
        }
        if operation.write {
            self.client_served(server, event, self.hardware.control(), context);
        } else {
            let bytes = self.clients().load.bytes;
            let answer = Event { device: Clients::THEMSELVES, bytes, ..event.then(Kind::Out) };
            context.send(context.me(), SimSpan::ZERO, answer);
        }
        Ok(())
    }

    /// The time from a request until it is at the server: that of a control message, or of the bytes of a
    /// write.
    fn asking(&self, write: bool) -> SimSpan {
        let card = self.hardware.card();
        if write {
            card.span(u64::from(self.clients().load.bytes)).saturating_add(card.spec().latency)
        } else {
            self.hardware.control()
        }
    }

    /// A client gets its reply after `wait`.
    pub(super) fn client_served(
        &self,
        server: &mut Server,
        event: &Event,
        wait: SimSpan,
        context: &mut Context<'_, Self>,
    ) {
        let Operation { since, write, left } = shared(server).operations[event.job as usize];
        assert_eq!(left, 0, "a client has its answer, and parts are still missing");
        assert!(!shared(server).free.contains(&event.job), "a client is answered twice");
        shared(server).free.push(event.job);
        let asked = self.asking(write);
        debug_assert!(since <= context.now(), "a client has its answer before it asked");
        let latency = context.now().since(since).saturating_add(asked).saturating_add(wait);
        debug_assert!(!latency.is_zero(), "a client has its answer at once");
        context.record(Sample::Client { write, latency, at: context.now() });
        if !shared(server).over && matches!(self.clients().load.arrivals, Arrivals::Closed(_)) {
            self.come_again(wait, context);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{self, Size};

    fn often(per_second: u64) -> Frequency {
        Frequency::from_per_second(per_second).expect("not so often")
    }

    fn load(reads: f64, bytes: u32, (data, width): (u32, u32)) -> Load {
        let arrivals = Arrivals::Open(often(1_000));
        Load {
            arrivals,
            reads,
            bytes,
            redundancy: Redundancy { data, width },
            weights: Weights::against_one(1),
        }
    }

    #[test]
    fn parts_hold_the_whole() {
        for (bytes, data, want) in [(1_000, 1, 1_000), (1_000, 3, 334), (1, 4, 1), (12, 4, 3)] {
            let part = load(0.5, bytes, (data, data + 1)).part();
            assert_eq!(part, want);
            assert!(part * data >= bytes && (part - 1) * data < bytes, "{bytes} in {data} parts");
        }
    }

    /// 1000 reads per second of 1000 bytes: each keeps one of four disks busy for 6 us, and a NIC for 1 us.
    #[test]
    fn shares_are_worked_by_hand() {
        let hardware = sample::hardware(Size { racks: 1, servers: 4, disks: 1 });
        let near = |found: f64, want: f64| assert!((found - want).abs() < 1e-9, "{found}, not {want}");
        let rate = often(1_000);
        near(load(1.0, 1_000, (1, 3)).share(&hardware, rate), 1_000.0 * 6e-6 / 4.0);
        // A write goes to three disks, 7 us on each.
        near(load(0.0, 1_000, (1, 3)).share(&hardware, rate), 1_000.0 * 3.0 * 7e-6 / 4.0);
        near(load(0.5, 1_000, (1, 3)).share(&hardware, rate), 1_000.0 * (3.0 + 10.5) * 1e-6 / 4.0);
        // Twice the rate is twice the share.
        let of = |rate| load(0.5, 900, (2, 3)).share(&hardware, rate);
        near(of(often(2_000)), 2.0 * of(rate));
    }

    #[test]
    fn clients_come_to_disks_that_work() {
        let hardware = sample::hardware(Size { racks: 1, servers: 3, disks: 2 });
        let of = |works: &dyn Fn(DeviceId) -> bool| Clients::new(load(0.5, 900, (1, 2)), &hardware, works);
        assert_eq!(of(&|_| false), None);
        let some = of(&|device| device.0 > 2).expect("three disks work");
        assert_eq!(some.live, [3, 4, 5].map(DeviceId));
        assert_eq!((&some.live_on[..], some.servers), (&[0, 1, 2][..], 2));
        assert_eq!(some.live_on.iter().sum::<u32>() as usize, some.live.len());
    }

    #[test]
    #[should_panic(expected = "clients read in a share of 1.5")]
    fn a_share_beyond_all_is_refused() {
        let hardware = sample::hardware(Size { racks: 1, servers: 3, disks: 2 });
        let _ = Clients::new(load(1.5, 900, (1, 2)), &hardware, |_| true);
    }

    #[test]
    #[should_panic(expected = "clients read 3 parts of 2")]
    fn more_parts_than_there_are_are_refused() {
        let hardware = sample::hardware(Size { racks: 1, servers: 3, disks: 2 });
        let _ = Clients::new(load(0.5, 900, (3, 2)), &hardware, |_| true);
    }
}
