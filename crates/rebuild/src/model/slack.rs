//! The least delay from an event until another server can be affected by it. It lets conservative workers run
//! further than a link's latency before they wait for each other.
//!
//! A unit that is sent arrives no sooner than its bytes have passed the NIC, and one that is written is
//! acknowledged no sooner than the disk's service time. An acknowledgement starts another unit at the
//! driver's own disk, which must be read and sent first. Queue lengths are not known here, so queues count as
//! empty, except for the first units of a job: these arrive at the disk together and are served one after the
//! other.

use towtank_units::SimSpan;

use super::event::{Event, Kind};
use super::{DeviceId, Limits, Rebuild};
use crate::hardware::Hardware;
use crate::plan::{Job, Plan};

/// What is the same for all events of a phase.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slack {
    /// From the end of a job, or of a sleep, until the first unit of the next one is sent.
    next_job: SimSpan,
    /// Whether rate limits may hold back units of a job, so that they do not arrive together.
    paced: bool,
    /// From an acknowledgement until the next full unit, or the first unit of the next job, is sent.
    next_whole: SimSpan,
    /// Whether any job continues from an earlier phase.
    resumed: bool,
    /// Whether a job requests parts from servers other than its driver's by control messages; then no delay
    /// is promised for its beginning.
    asks: bool,
    /// The slack of events of full units.
    pub usual: SimSpan,
}

impl Slack {
    pub(super) fn new(hardware: &Hardware, plan: &Plan, limits: &Limits) -> Slack {
        let devices = || (0..hardware.devices()).map(DeviceId);
        let least = |span: &dyn Fn(DeviceId) -> SimSpan| devices().map(span).min().unwrap_or(SimSpan::ZERO);
        let paced = limits.is_paced();
        // The first unit of an object moves the head, unless the object was started in an earlier phase.
        let resumed = plan.jobs().iter().any(|job| job.resume > 0);
        let seeks = !paced && !resumed;
        let begin = |device| {
            let disk = hardware.disk(device);
            let seek = if seeks { disk.least_seek(false) } else { SimSpan::ZERO };
            disk.transfer(1, false).saturating_add(seek)
        };
        let send = |bytes| hardware.card().span(bytes).saturating_add(hardware.card().spec().latency);
        let unit = hardware.unit();
        let least_transfer = least(&|device| hardware.disk(device).transfer(1, true));
        let written = least(&|device| hardware.disk(device).transfer(unit, true));
        let next_job = least(&begin).saturating_add(send(1).min(least_transfer));
        let read = least(&|device| hardware.disk(device).transfer(unit, false));
        let next_whole = read.saturating_add(send(unit).min(written)).min(next_job);
        let usual = send(unit).min(written.saturating_add(hardware.control())).min(next_job);
        assert!(!usual.is_zero(), "a unit of {unit} bytes is felt at once");
        let asks = plan.each().any(|(driver, _, job)| *plan.reads(job) != [driver]);
        Slack { next_job, paced, next_whole, resumed, asks, usual }
    }

    /// No slack, because clients may arrive at any time.
    pub(super) fn none(self) -> Slack {
        Slack { usual: SimSpan::ZERO, ..self }
    }
}

impl Rebuild<'_> {
    /// See [`towtank_kernel::Model::slack`].
    #[inline]
    pub(super) fn slack_of(&self, event: &Event) -> SimSpan {
        match event.kind {
            Kind::Read => self.read_and_handed_out(event),
            Kind::Out => self.sent(event.bytes),
            Kind::In if event.marks.gathers() => self.handed_out(event.bytes, event.device),
            Kind::Part => self.handed_out(event.bytes, event.device),
            Kind::In | Kind::Push | Kind::Write => self.written(event),
            Kind::Ack | Kind::Reply => self.next_unit(event),
            Kind::Wake | Kind::Start | Kind::Empty
                if self.limits.reservations.is_none() && !self.slack.asks =>
            {
                self.slack.next_job
            }
            // Control messages get no more than the latency of links.
            _ => SimSpan::ZERO,
        }
    }

    /// A unit goes to the NIC.
    #[inline]
    fn sent(&self, bytes: u32) -> SimSpan {
        let card = self.hardware.card();
        card.span(u64::from(bytes)).saturating_add(card.spec().latency)
    }

    /// A unit goes to the NIC, or to any disk of the same server.
    #[inline]
    fn handed_out(&self, bytes: u32, from: DeviceId) -> SimSpan {
        if self.hardware.kinds() > 1 {
            return SimSpan::ZERO;
        }
        let written = self.hardware.disk(from).transfer(u64::from(bytes), true);
        self.sent(bytes).min(written)
    }

    /// A unit arrives at the disk that it is read from.
    fn read_and_handed_out(&self, event: &Event) -> SimSpan {
        let disk = self.hardware.disk(event.device);
        let mut read = disk.transfer(u64::from(event.bytes), false);
        if !event.marks.gathers() && !self.slack.paced {
            let resume = if self.slack.resumed { self.plan.job(event.job).resume } else { 0 };
            let before = event.unit - resume;
            if before < self.limits.window {
                let whole = disk.transfer(self.hardware.unit(), false);
                read = read.saturating_add(whole.saturating_mul(u64::from(before)));
                if resume == 0 {
                    read = read.saturating_add(disk.least_seek(false));
                }
            }
        }
        read.saturating_add(self.handed_out(event.bytes, event.device))
    }

    /// A unit is written to a disk, and its driver is notified.
    #[inline]
    fn written(&self, event: &Event) -> SimSpan {
        let there = self.hardware.disk(event.device).transfer(u64::from(event.bytes), true);
        let same = self.hardware.server_of(event.driver) == self.hardware.server_of(event.device);
        there.saturating_add(if same { self.next_unit(event) } else { self.hardware.control() })
    }

    /// A unit is durable, and the next one may start.
    #[inline]
    fn next_unit(&self, event: &Event) -> SimSpan {
        if self.limits.reservations.is_some() || self.hardware.kinds() > 1 || self.slack.asks {
            // A finished job releases its reservations by control messages, and the next one may request its
            // own by them.
            return SimSpan::ZERO;
        }
        if event.marks.odd_next() { self.odd_unit(event) } else { self.slack.next_whole }
    }

    fn odd_unit(&self, event: &Event) -> SimSpan {
        let job = self.plan.job(event.job);
        let units = self.hardware.units(job.bytes);
        debug_assert!(event.unit < units, "unit {} of {units} is durable", event.unit);
        // With one target all queues keep the order, so the window advances by one: to the last unit, since
        // otherwise the unit would not be marked.
        let bytes = self.unit_bytes(job, units - 1);
        let read = self.hardware.disk(event.driver).transfer(u64::from(bytes), false);
        read.saturating_add(self.handed_out(bytes, event.driver)).min(self.slack.next_job)
    }

    fn unit_bytes(&self, job: &Job, unit: u32) -> u32 {
        let size = self.hardware.unit();
        debug_assert!(u64::from(unit) * size < job.bytes, "unit {unit} begins behind {} bytes", job.bytes);
        size.min(job.bytes - u64::from(unit) * size) as u32
    }
}
