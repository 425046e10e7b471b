//! The work/capacity bound: no run is faster than its busiest device working without a pause.
//!
//! For each disk, card and uplink, what the plan gives it to do: every transfer, and for every object one seek to begin
//! reading it and one to begin writing it, which no order of requests avoids. Reservations, rests, windows and waiting for
//! one another come on top.

use units::{Bytes, SimSpan};

use super::hardware::Hardware;
use super::model::Limits;
use super::plan::{DeviceId, Plan};

/// What a plan gives the devices to do.
#[derive(Clone, Debug)]
pub struct Work {
    /// For each disk.
    pub disks: Vec<SimSpan>,
    /// For each server's card, sending.
    pub sending: Vec<SimSpan>,
    /// For each server's card, receiving.
    pub receiving: Vec<SimSpan>,
    /// For each rack, up and down.
    pub uplinks: Vec<[SimSpan; 2]>,
    /// For each device, what its rate allows.
    pub rates: Vec<SimSpan>,
    /// The longest that one job takes under the rate of a stream.
    pub stream: SimSpan,
    /// Bytes written in all.
    pub bytes: u128,
    /// Bytes each server sends to each other one, if there are few servers.
    pub traffic: Option<Vec<u64>>,
    /// Units in all.
    pub units: u64,
    /// For each disk, bytes read and written.
    pub moved: Vec<[u64; 2]>,
}

/// More servers than this are not shown one by one against each other.
pub const TRAFFIC_SERVERS_MAX: u32 = 1_024;

impl Work {
    /// Adds up a plan.
    #[must_use]
    pub fn of(hardware: &Hardware, limits: &Limits, plan: &Plan) -> Work {
        let servers = hardware.servers() as usize;
        let zero = SimSpan::ZERO;
        let mut work = Work {
            disks: vec![zero; hardware.devices() as usize],
            sending: vec![zero; servers],
            receiving: vec![zero; servers],
            uplinks: vec![[zero; 2]; hardware.racks() as usize],
            rates: vec![zero; hardware.devices() as usize],
            stream: zero,
            bytes: 0,
            traffic: (hardware.servers() <= TRAFFIC_SERVERS_MAX).then(|| vec![0; servers * servers]),
            units: 0,
            moved: vec![[0; 2]; hardware.devices() as usize],
        };
        for (driver, _, job) in plan.each() {
            let left = Left::new(hardware, job.bytes, job.resume);
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
                // The last unit may start when the ones before have had their time.
                let before = left.bytes.saturating_sub(left.last_unit());
                work.stream = work.stream.max(rate.span_for(Bytes::new(before)));
            }
            if let Some(rate) = limits.device_rate {
                let span = &mut work.rates[driver.index()];
                *span = span.saturating_add(rate.span_for(Bytes::new(left.bytes)));
            }
        }
        if let Some(rate) = limits.device_rate {
            // The last unit of all may start when its time begins, and it may be a whole one.
            let grace = rate.span_for(Bytes::new(hardware.unit())).as_ns();
            for span in &mut work.rates {
                *span = SimSpan::from_ns(span.as_ns().saturating_sub(grace));
            }
        }
        work
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

    /// No run of the plan takes less.
    #[must_use]
    pub fn bound(&self) -> SimSpan {
        let all = self.disks.iter().chain(&self.sending).chain(&self.receiving);
        let all = all.chain(self.uplinks.iter().flatten());
        let most = all.copied().max().unwrap_or(SimSpan::ZERO).max(self.stream);
        most.max(self.rates.iter().copied().max().unwrap_or(SimSpan::ZERO))
    }
}

/// What is left of a job.
struct Left {
    full: u32,
    tail: u64,
    bytes: u64,
    from_start: bool,
}

impl Left {
    fn new(hardware: &Hardware, bytes: u64, resume: u32) -> Left {
        let unit = hardware.unit();
        let bytes = bytes - u64::from(resume) * unit;
        Left { full: (bytes / unit) as u32, tail: bytes % unit, bytes, from_start: resume == 0 }
    }

    fn units(&self) -> u32 {
        self.full + u32::from(self.tail > 0)
    }

    fn first_unit(&self, unit: u64) -> u64 {
        if self.full > 0 { unit } else { self.tail }
    }

    fn last_unit(&self) -> u64 {
        if self.tail > 0 { self.tail } else { self.bytes.min(self.bytes / u64::from(self.full.max(1))) }
    }
}
