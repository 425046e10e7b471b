//! Lower limits on the duration of a rebuild, in closed form: the bound of a placement, and the ideal.
//!
//! Both are computed from the work done: every transfer of each disk, NIC and uplink, and for every object
//! one seek to begin reading and one to begin writing, which no order of requests avoids. Reservations,
//! sleep, windows and waiting come on top and are left out.
//!
//! - The *bound*: the busiest device works without a pause. It is a property of the placement.
//! - The *ideal*: the same total cost in bytes and requests, spread evenly over all surviving disks, the NICs
//!   of their servers and the uplinks of their racks. A mean never exceeds the maximum, so the ideal is at
//!   most the bound. It is at least the longest chain: the units of one object, one after the other, through
//!   their slowest stage.
//!
//! Only units that became durable count, so both limits also hold for phases that are cut short.

use towtank_units::{Bytes, SimSpan};

use crate::hardware::Hardware;
use crate::model::Limits;
use crate::plan::{DeviceId, Plan};

/// The work of each device for those units of a plan that became durable.
#[derive(Clone, Debug)]
pub struct Work {
    /// Busy time of each disk.
    pub disks: Vec<SimSpan>,
    /// Sending time of each server's NIC.
    pub sending: Vec<SimSpan>,
    /// Receiving time of each server's NIC.
    pub receiving: Vec<SimSpan>,
    /// Busy time of each rack's uplink, up and down.
    pub uplinks: Vec<[SimSpan; 2]>,
    /// For each driver, the least time that its rate limit allows.
    pub rates: Vec<SimSpan>,
    /// For each server, the least time that the rate limit of a server allows.
    pub server_rates: Vec<SimSpan>,
    /// The longest time that one job takes under the rate limit of a stream.
    pub stream: SimSpan,
    /// The longest time that one job takes without contention.
    pub chain: SimSpan,
    /// Bytes written in total.
    pub bytes: u128,
    /// Bytes that each server sends to each other server, if there are few servers.
    pub traffic: Option<Vec<u64>>,
    /// Units in total.
    pub units: u64,
    /// Bytes read and bytes written by each disk.
    pub moved: Vec<[u64; 2]>,
}

/// The largest number of servers for which `Work::traffic` is kept.
const TRAFFIC_SERVERS_MAX: u32 = 1_024;

impl Work {
    /// Adds up the work of a plan. `durable` gives the number of durable units of a job; all of them, if
    /// the work that the plan asks for is wanted.
    #[must_use]
    pub fn of(hardware: &Hardware, limits: &Limits, plan: &Plan, durable: impl Fn(u32) -> u32) -> Work {
        let mut work = Work::none(hardware);
        for (number, (driver, _, job)) in (0u32..).zip(plan.each()) {
            let left = Left::new(hardware, job.bytes, job.resume, durable(number));
            if left.bytes == 0 {
                continue;
            }
            let (reads, writes) = (plan.reads(job), plan.writes(job));
            work.units += u64::from(left.units());
            work.bytes += u128::from(left.bytes) * writes.len() as u128;
            for &source in reads {
                work.access(hardware, source, &left, false);
                if hardware.server_of(source) != hardware.server_of(driver) {
                    work.send(hardware, (source, driver), &left);
                }
            }
            for &target in writes {
                work.access(hardware, target, &left, true);
                if hardware.server_of(target) != hardware.server_of(driver) {
                    work.send(hardware, (driver, target), &left);
                }
            }
            if let Some(rate) = limits.stream_rate {
                work.stream = work.stream.max(rate.span_for(Bytes::new(left.bytes)));
            }
            if let Some(rate) = limits.device_rate {
                let span = &mut work.rates[driver.index()];
                *span = span.saturating_add(rate.span_for(Bytes::new(left.bytes)));
            }
            if let Some(rate) = limits.server_rate {
                let span = &mut work.server_rates[hardware.server_of(driver) as usize];
                *span = span.saturating_add(rate.span_for(Bytes::new(left.bytes)));
            }
            work.chain = work.chain.max(left.chain(hardware, [reads[0], driver, writes[0]]));
        }
        work.assert_conserved();
        work
    }

    /// Checks that bytes sent equal bytes received and that bytes written equal the bytes to be rebuilt.
    ///
    /// # Panics
    /// If one of these sums differs.
    fn assert_conserved(&self) {
        let sum = |spans: &[SimSpan]| spans.iter().map(|span| u128::from(span.as_ns())).sum::<u128>();
        let (sending, receiving) = (sum(&self.sending), sum(&self.receiving));
        assert_eq!(sending, receiving, "nanoseconds that cards send, and that cards receive");
        let written: u128 = self.moved.iter().map(|moved| u128::from(moved[1])).sum();
        assert_eq!(written, self.bytes, "bytes written to disks, and bytes made again");
        let read: u128 = self.moved.iter().map(|moved| u128::from(moved[0])).sum();
        assert!((read > 0) == (written > 0), "{read} bytes are read and {written} written");
        let crossed: u128 = self.traffic.iter().flatten().map(|&bytes| u128::from(bytes)).sum();
        assert!(crossed <= read + written, "{crossed} bytes cross the network of {read} + {written} moved");
        assert!((self.units == 0) == (written == 0), "{} units have {written} bytes", self.units);
        for (disk, moved) in self.disks.iter().zip(&self.moved) {
            assert!(disk.is_zero() == (*moved == [0; 2]), "a disk works {disk} for {moved:?} bytes");
        }
    }

    /// No work.
    #[must_use]
    pub fn none(hardware: &Hardware) -> Work {
        let (servers, zero) = (hardware.servers() as usize, SimSpan::ZERO);
        Work {
            disks: vec![zero; hardware.devices() as usize],
            sending: vec![zero; servers],
            receiving: vec![zero; servers],
            uplinks: vec![[zero; 2]; hardware.racks() as usize],
            rates: vec![zero; hardware.devices() as usize],
            server_rates: vec![zero; servers],
            stream: zero,
            chain: zero,
            bytes: 0,
            traffic: (hardware.servers() <= TRAFFIC_SERVERS_MAX).then(|| vec![0; servers * servers]),
            units: 0,
            moved: vec![[0; 2]; hardware.devices() as usize],
        }
    }

    /// Adds the work of a later phase.
    pub fn add(&mut self, later: &Work) {
        assert_eq!(self.disks.len(), later.disks.len(), "disks of both phases");
        assert_eq!(self.sending.len(), later.sending.len(), "cards of both phases");
        assert_eq!(self.uplinks.len(), later.uplinks.len(), "uplinks of both phases");
        let spans = |mine: &mut [SimSpan], theirs: &[SimSpan]| {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine = mine.saturating_add(*theirs));
        };
        spans(&mut self.disks, &later.disks);
        spans(&mut self.sending, &later.sending);
        spans(&mut self.receiving, &later.receiving);
        spans(&mut self.rates, &later.rates);
        spans(&mut self.server_rates, &later.server_rates);
        self.uplinks.iter_mut().zip(&later.uplinks).for_each(|(mine, theirs)| spans(mine, theirs));
        self.stream = self.stream.saturating_add(later.stream);
        self.chain = self.chain.saturating_add(later.chain);
        self.bytes += later.bytes;
        self.units += later.units;
        for (mine, theirs) in self.traffic.iter_mut().flatten().zip(later.traffic.iter().flatten()) {
            *mine += theirs;
        }
        for (mine, theirs) in self.moved.iter_mut().flatten().zip(later.moved.iter().flatten()) {
            *mine += theirs;
        }
        self.assert_conserved();
    }

    /// Multiplies all times and bytes but those of a single job: the same work on so many times as many
    /// objects.
    pub(crate) fn scale(&mut self, by: u64) {
        let uplinks = self.uplinks.iter_mut().flatten();
        let rates = self.rates.iter_mut().chain(&mut self.server_rates);
        let spans = self.disks.iter_mut().chain(&mut self.sending).chain(&mut self.receiving).chain(uplinks);
        for span in spans.chain(rates) {
            *span = span.saturating_mul(by);
        }
        for bytes in self.moved.iter_mut().flatten().chain(self.traffic.iter_mut().flatten()) {
            *bytes = bytes.saturating_mul(by);
        }
        self.bytes *= u128::from(by);
        self.units = self.units.saturating_mul(by);
        self.assert_conserved();
    }

    fn access(&mut self, hardware: &Hardware, device: DeviceId, left: &Left, write: bool) {
        let clock = hardware.disk(device);
        let mut span = clock.transfer(hardware.unit(), write).saturating_mul(u64::from(left.full));
        if left.tail > 0 {
            span = span.saturating_add(clock.transfer(left.tail, write));
        }
        if left.from_start {
            span = span.saturating_add(clock.seek(left.first_unit(hardware.unit()), write));
        }
        let total = &mut self.disks[device.index()];
        *total = total.saturating_add(span);
        self.moved[device.index()][usize::from(write)] += left.bytes;
    }

    fn send(&mut self, hardware: &Hardware, (from, to): (DeviceId, DeviceId), left: &Left) {
        let card = hardware.card();
        let mut span = card.span(hardware.unit()).saturating_mul(u64::from(left.full));
        if left.tail > 0 {
            span = span.saturating_add(card.span(left.tail));
        }
        let (from, to) = (hardware.server_of(from), hardware.server_of(to));
        let add = |total: &mut SimSpan, span| *total = total.saturating_add(span);
        add(&mut self.sending[from as usize], span);
        add(&mut self.receiving[to as usize], span);
        let racks = (hardware.rack_of(from), hardware.rack_of(to));
        if let Some(uplinks) = hardware.uplinks().filter(|_| racks.0 != racks.1) {
            let span = uplinks.rate.span_for(Bytes::new(left.bytes));
            add(&mut self.uplinks[racks.0 as usize][0], span);
            add(&mut self.uplinks[racks.1 as usize][1], span);
        }
        if let Some(traffic) = &mut self.traffic {
            traffic[(from * hardware.servers() + to) as usize] += left.bytes;
        }
    }

    /// A lower bound on the duration of any run of the plan.
    #[must_use]
    pub fn bound(&self) -> SimSpan {
        let all = self.disks.iter().chain(&self.sending).chain(&self.receiving);
        let all = all.chain(self.uplinks.iter().flatten()).chain(&self.rates).chain(&self.server_rates);
        all.copied().fold(self.chain.max(self.stream), SimSpan::max)
    }

    /// The duration if the work is spread evenly over the surviving devices.
    #[must_use]
    ///
    /// # Panics
    /// If more disks had work than survive.
    pub fn ideal(&self, survivors: &Survivors) -> SimSpan {
        let busy = self.disks.iter().filter(|span| !span.is_zero()).count();
        assert!(
            busy <= survivors.devices as usize,
            "{busy} disks had work, and {} survive",
            survivors.devices
        );
        let sends = self.sending.iter().filter(|span| !span.is_zero()).count();
        assert!(
            sends <= survivors.servers as usize,
            "{sends} cards had work, and those of {} servers survive",
            survivors.servers
        );
        let even = |spans: &mut dyn Iterator<Item = &SimSpan>, over: u32| {
            let sum: u128 = spans.map(|span| u128::from(span.as_ns())).sum();
            SimSpan::from_ns(u64::try_from(sum / u128::from(over.max(1))).unwrap_or(u64::MAX))
        };
        let way = |way: usize| even(&mut self.uplinks.iter().map(|both| &both[way]), survivors.racks);
        [
            even(&mut self.disks.iter(), survivors.devices),
            even(&mut self.rates.iter(), survivors.devices),
            even(&mut self.server_rates.iter(), survivors.servers),
            even(&mut self.sending.iter(), survivors.servers),
            even(&mut self.receiving.iter(), survivors.servers),
            way(0),
            way(1),
            self.stream,
        ]
        .into_iter()
        .fold(self.chain, SimSpan::max)
    }
}

/// The number of devices over which even work is spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Survivors {
    /// Working disks.
    pub devices: u32,
    /// Servers with a working disk.
    pub servers: u32,
    /// Racks with such a server.
    pub racks: u32,
}

impl Survivors {
    /// Counts the devices that have not stopped.
    #[must_use]
    pub fn of(hardware: &Hardware, stopped: &[bool]) -> Survivors {
        let works = |server: &u32| hardware.devices_of(*server).any(|device| !stopped[device.index()]);
        let servers: Vec<u32> = (0..hardware.servers()).filter(works).collect();
        let mut racks: Vec<u32> = servers.iter().map(|&server| hardware.rack_of(server)).collect();
        racks.sort_unstable();
        racks.dedup();
        let devices = stopped.iter().filter(|stopped| !**stopped).count() as u32;
        let (servers, racks) = (servers.len() as u32, racks.len() as u32);
        assert!(servers <= devices, "{servers} servers have one of {devices} disks that work");
        assert!(racks <= servers, "{racks} racks have one of {servers} servers that work");
        Survivors { devices, servers, racks }
    }
}

/// The part of a job that counts as work.
struct Left {
    full: u32,
    tail: u64,
    bytes: u64,
    from_start: bool,
}

impl Left {
    /// From the unit `resume` up to the unit `durable`.
    fn new(hardware: &Hardware, bytes: u64, resume: u32, durable: u32) -> Left {
        let unit = hardware.unit();
        let end = bytes.min(u64::from(durable) * unit);
        let bytes = end.saturating_sub(u64::from(resume) * unit);
        debug_assert!(durable >= resume, "{durable} units are durable, and {resume} were before");
        Left { full: (bytes / unit) as u32, tail: bytes % unit, bytes, from_start: resume == 0 }
    }

    fn units(&self) -> u32 {
        self.full + u32::from(self.tail > 0)
    }

    fn first_unit(&self, unit: u64) -> u64 {
        if self.full > 0 { unit } else { self.tail }
    }

    fn last_unit(&self, unit: u64) -> u64 {
        if self.tail > 0 { self.tail } else { unit }
    }

    /// The time that the units take from source to driver to target without contention: the first unit
    /// through the stages before the slowest, all units through the slowest, and the last unit through the
    /// stages after it.
    fn chain(&self, hardware: &Hardware, [source, driver, target]: [DeviceId; 3]) -> SimSpan {
        let unit = hardware.unit();
        let apart = |from, to| hardware.server_of(from) != hardware.server_of(to);
        let card = |size: u64| hardware.card().span(size).saturating_add(hardware.card().spec().latency);
        let gathered = apart(source, driver);
        let handed_out = apart(driver, target);
        let (first, last) = (self.first_unit(unit), self.last_unit(unit));
        debug_assert!(first > 0 && last > 0, "a job has units of {first} and of {last} bytes");
        let stage = |number: usize, size: u64| match number {
            0 => hardware.disk(source).transfer(size, false),
            1 if gathered => card(size),
            2 if handed_out => card(size),
            3 => hardware.disk(target).transfer(size, true),
            _ => SimSpan::ZERO,
        };
        let through = |stages: std::ops::Range<usize>, size: u64| {
            stages.map(|number| stage(number, size)).fold(SimSpan::ZERO, SimSpan::saturating_add)
        };
        let all = |number: usize| {
            let full = if (1..3).contains(&number) && stage(number, unit) > SimSpan::ZERO {
                // Latencies of consecutive units overlap.
                hardware.card().span(unit)
            } else {
                stage(number, unit)
            };
            let tail = if self.tail > 0 { stage(number, self.tail) } else { SimSpan::ZERO };
            let full = full.saturating_mul(u64::from(self.full));
            full.saturating_add(tail)
        };
        (0..4)
            .map(|slowest| {
                let (before, after) = (through(0..slowest, first), through(slowest + 1..4, last));
                before.saturating_add(all(slowest)).saturating_add(after)
            })
            .fold(SimSpan::ZERO, SimSpan::max)
    }
}

#[cfg(test)]
mod tests;
