//! A disk with a head: seek, rotation, and the rate of the zone in which a request lies.
//!
//! - **Seek** over d cylinders: a + b √d up to a knee, c + e d beyond (Ruemmler and Wilkes, "An introduction
//!   to disk drive modeling", IEEE Computer 27(3), 1994), given by three points of the curve, as in data
//!   sheets and in the parameter files of DiskSim.
//! - **Rotation**: the distance to the first sector is uniform over one revolution, after each seek and each
//!   time a stream is interrupted.
//! - **Transfer** at the rate of each zone that the request touches; a change of track costs a head switch,
//!   during which the drive does not read (its skew).
//! - **Settle**: a write needs a longer settling time than a read.
//! - **Track buffer**: after a read the drive reads on, up to one segment, until the next request comes. What
//!   the buffer holds is sent at the rate of the bus. A write invalidates what it overlaps.
//! - **Streams**: a request that begins where the previous one ended, in the same direction, and arrives
//!   while that one is served or within `stream_gap` after it, continues without seek or rotation: the drive
//!   then has it in its queue or cache.
//!
//! All times are whole nanoseconds; square roots are integer roots of scaled numbers. Left out: the angle of
//! the platter, so rotation has no memory; defects; and reordering inside the drive, for which there is
//! [`super::HeadOrder`].

use towtank_streams::Uniform;
use towtank_units::{Bytes, Rate, SimSpan, SimTime};

use super::{DriveError, Io};
use crate::{Lane, Service};

/// Fractional bits of square roots.
const ROOT_BITS: u32 = 20;
/// More than any drive has; the roots of such numbers fit well within 128 bits.
const CYLINDERS_MAX: u32 = 1 << 30;

/// The seek time as a function of the distance in cylinders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct SeekCurve {
    /// The seek time to the next cylinder.
    pub one: SimSpan,
    /// The distance at which the square root ends and the straight line begins.
    pub knee_cylinders: u32,
    /// The seek time at the knee.
    pub knee: SimSpan,
    /// The full stroke: the number of cylinders minus one.
    pub full_cylinders: u32,
    /// The seek time of the full stroke.
    pub full: SimSpan,
}

impl SeekCurve {
    /// A curve through the times over one cylinder, a third of all and all, with its knee at the third.
    ///
    /// # Errors
    /// If there are fewer than 6 cylinders, or the times decrease.
    pub fn through(
        cylinders: u32,
        one: SimSpan,
        third: SimSpan,
        full: SimSpan,
    ) -> Result<SeekCurve, DriveError> {
        let full_cylinders = cylinders.saturating_sub(1);
        let curve = SeekCurve { one, knee_cylinders: cylinders / 3, knee: third, full_cylinders, full };
        curve.check().map(|()| curve)
    }

    fn check(&self) -> Result<(), DriveError> {
        let cylinders = [1, self.knee_cylinders, self.full_cylinders];
        if !cylinders.is_sorted_by(|near, far| near < far) || self.full_cylinders >= CYLINDERS_MAX {
            let limit =
                format!("above 1 and below those of the full stroke, which must be below {CYLINDERS_MAX}");
            return Err(DriveError::new("knee_cylinders", self.knee_cylinders, limit));
        }
        if ![self.one, self.knee, self.full].is_sorted() {
            return Err(DriveError::new(
                "knee",
                self.knee,
                "between the times over one and over all cylinders",
            ));
        }
        Ok(())
    }

    /// The seek time over this distance; a longer distance than the full stroke takes as long as the full
    /// stroke.
    #[must_use]
    pub fn span(&self, cylinders: u32) -> SimSpan {
        let between = |low: SimSpan, high: SimSpan, part: u128, whole: u128| {
            let more = u128::from(high.as_ns() - low.as_ns()) * part / whole;
            SimSpan::from_ns(low.as_ns() + u64::try_from(more).expect("a part is at most the whole"))
        };
        match cylinders.min(self.full_cylinders) {
            0 => SimSpan::ZERO,
            near if near <= self.knee_cylinders => {
                let one = root(1);
                between(self.one, self.knee, root(near) - one, root(self.knee_cylinders) - one)
            }
            far => {
                let line = self.full_cylinders - self.knee_cylinders;
                between(self.knee, self.full, (far - self.knee_cylinders).into(), line.into())
            }
        }
    }
}

/// The square root, with [`ROOT_BITS`] fractional bits.
fn root(number: u32) -> u128 {
    (u128::from(number) << (2 * ROOT_BITS)).isqrt()
}

/// Neighbouring cylinders whose tracks hold the same number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Zone {
    /// The number of cylinders.
    pub cylinders: u32,
    /// The bytes per track.
    pub track: Bytes,
}

/// The buffer into which a drive reads ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct TrackBuffer {
    /// The number of streams it holds; 0 disables read-ahead.
    pub segments: u16,
    /// The size of each segment.
    pub segment: Bytes,
    /// The rate at which buffered data are sent.
    pub bus: Rate,
}

/// The parameters of a disk with a head.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct SeekSpec {
    /// The seek curve.
    pub curve: SeekCurve,
    /// The time of one revolution.
    pub turn: SimSpan,
    /// The zones from the outermost, where addresses begin.
    pub zones: Vec<Zone>,
    /// Tracks per cylinder.
    pub surfaces: u32,
    /// The time from one track to the next.
    pub head_switch: SimSpan,
    /// The settling time that a write needs in addition.
    pub write_settle: SimSpan,
    /// The fixed time per request.
    pub overhead: SimSpan,
    /// How long after its end a stream can continue without rotation.
    pub stream_gap: SimSpan,
    /// The read-ahead buffer.
    pub buffer: TrackBuffer,
}

/// The position of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Site {
    cylinder: u32,
    /// Bytes to the end of its track; `zone_left` is the same for its zone.
    track_left: u64,
    zone_left: u64,
    /// The bytes per track there.
    track: u64,
}

impl SeekSpec {
    pub(super) fn check(&self) -> Result<(), DriveError> {
        self.curve.check()?;
        if self.turn.is_zero() {
            return Err(DriveError::new("turn", self.turn, "above 0"));
        }
        if self.surfaces == 0 {
            return Err(DriveError::new("surfaces", self.surfaces, "at least 1"));
        }
        if let Some(zone) = self.zones.iter().find(|zone| zone.track.is_zero() || zone.cylinders == 0) {
            let value = format!("{} cylinders of {} a track", zone.cylinders, zone.track);
            return Err(DriveError::new("zones", value, "at least one cylinder and one byte each"));
        }
        let cylinders: u64 = self.zones.iter().map(|zone| u64::from(zone.cylinders)).sum();
        if cylinders != u64::from(self.curve.full_cylinders) + 1 {
            let limit = format!("{}, as in the curve", u64::from(self.curve.full_cylinders) + 1);
            return Err(DriveError::new("zones", format!("{cylinders} cylinders"), limit));
        }
        match self.capacity_exact() {
            Some(_) => Ok(()),
            None => Err(DriveError::new("zones", "more than 16 EiB", "at most 16 EiB in total")),
        }
    }

    fn capacity_exact(&self) -> Option<u64> {
        self.zones.iter().try_fold(0u64, |sum, zone| sum.checked_add(self.zone_bytes(zone)?))
    }

    fn zone_bytes(&self, zone: &Zone) -> Option<u64> {
        zone.track.get().checked_mul(u64::from(self.surfaces))?.checked_mul(u64::from(zone.cylinders))
    }

    /// The capacity of the disk.
    #[must_use]
    pub fn capacity(&self) -> Bytes {
        Bytes::new(self.capacity_exact().unwrap_or(u64::MAX))
    }

    /// The position of an address; an address after the last byte lies at the end of the last track.
    fn site(&self, address: u64) -> Site {
        let (mut from, mut cylinder) = (0, 0);
        let mut last = Site { cylinder: 0, track_left: u64::MAX, zone_left: u64::MAX, track: 1 };
        for zone in &self.zones {
            let (bytes, track) = (self.zone_bytes(zone).unwrap_or(u64::MAX), zone.track.get());
            if address - from < bytes {
                let inside = address - from;
                let cylinder = cylinder + (inside / (track * u64::from(self.surfaces))) as u32;
                return Site {
                    cylinder,
                    track_left: track - inside % track,
                    zone_left: bytes - inside,
                    track,
                };
            }
            (from, cylinder) = (from + bytes, cylinder + zone.cylinders);
            // An address beyond the end is treated as if it were in the last zone.
            last = Site { cylinder: cylinder - 1, track_left: u64::MAX, zone_left: u64::MAX, track };
        }
        last
    }

    /// The transfer time once the head is at the first byte: revolutions over tracks, and a head switch at
    /// the end of each track, so that the parts of a request together take as long as the whole.
    #[must_use]
    pub fn transfer(&self, offset: u64, bytes: u64) -> SimSpan {
        let (mut at, mut left, mut ns) = (offset, bytes, 0u128);
        while left > 0 {
            let site = self.site(at);
            let here = left.min(site.zone_left);
            ns += (u128::from(self.turn.as_ns()) * u128::from(here)).div_ceil(u128::from(site.track));
            let tracks = here.checked_sub(site.track_left).map_or(0, |beyond| 1 + beyond / site.track);
            ns += u128::from(self.head_switch.as_ns()) * u128::from(tracks);
            (at, left) = (at.saturating_add(here), left - here);
        }
        SimSpan::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// How many bytes from `offset` on pass under the head in `span`, at most `most`. Bisection, because
    /// `transfer` is monotone.
    fn passed(&self, offset: u64, span: SimSpan, most: u64) -> u64 {
        let (mut sure, mut over) = (0, most.saturating_add(1));
        while over - sure > 1 {
            let middle = sure + (over - sure) / 2;
            if self.transfer(offset, middle) <= span { sure = middle } else { over = middle }
        }
        sure
    }

    /// The rate of a long read at an address: one track per revolution and head switch.
    #[cfg(test)]
    #[must_use]
    pub(super) fn zone_rate_bytes_per_second(&self, address: u64) -> u64 {
        let ns = u128::from(self.turn.as_ns() + self.head_switch.as_ns());
        u64::try_from(u128::from(self.site(address).track) * 1_000_000_000 / ns).unwrap_or(u64::MAX)
    }
}

/// A buffered range of addresses: `from` is included, `to` is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Held {
    from: u64,
    to: u64,
}

/// The state of a disk with a head.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct SeekDrive {
    /// Its queue.
    pub lane: Lane,
    /// The cylinder at which the head is.
    cylinder: u32,
    /// Where the last access to the platter ended, and whether it was a write. Buffer hits do not move the
    /// head.
    last: Option<(u64, bool)>,
    /// The buffered ranges, the oldest first. The newest belongs to the stream that is being read ahead.
    held: Vec<Held>,
    /// Since when the drive has been reading ahead from the end of the newest range; `None` if it is not.
    ahead: Option<SimTime>,
    /// The number of seeks.
    pub seeks: u64,
    /// The number of reads served entirely from the buffer.
    pub hits: u64,
}

impl SeekDrive {
    /// Serves a request that arrives now, after all earlier ones.
    pub fn serve(&mut self, spec: &SeekSpec, now: SimTime, io: Io, source: &mut impl Uniform) -> Service {
        let begin = now.max(self.lane.idle_at);
        let span = match self.buffered(spec, begin, io, source) {
            Some(span) => span,
            None => self.moved(spec, now, begin, io, source),
        };
        self.lane.serve(now, span)
    }

    /// The service time of a read whose beginning is in the buffer or is just being read ahead.
    fn buffered(
        &mut self,
        spec: &SeekSpec,
        begin: SimTime,
        io: Io,
        source: &mut impl Uniform,
    ) -> Option<SimSpan> {
        if io.write || io.bytes == 0 {
            return None;
        }
        let newest = self.held.len().checked_sub(1)?;
        let reached = self.reached(spec, begin);
        let place = self.held.iter().enumerate().rposition(|(place, held)| {
            let follows = place == newest && self.ahead.is_some() && io.offset <= reached;
            let to = if place == newest { reached } else { held.to };
            held.from <= io.offset && (io.end() <= to || follows)
        })?;
        let sent = spec.overhead.saturating_add(spec.buffer.bus.span_for(Bytes::new(io.bytes)));
        let since = if place == newest { self.ahead } else { None };
        let held = self.held[place];
        let full = reached - held.to.min(reached) >= spec.buffer.segment.get();
        if io.end() <= reached || place < newest {
            self.hits += 1;
            if let (Some(since), false) = (since, full || io.end() <= held.to) {
                self.read_up_to(
                    spec,
                    io.end(),
                    since.saturating_add(spec.transfer(held.to, io.end() - held.to)),
                );
            }
            return Some(sent);
        }
        // The head is at the next byte, or has stopped there; in that case it waits for the byte to come
        // round.
        let last_byte = if full {
            let turn = SimSpan::from_ns(source.below(spec.turn.as_ns()));
            let rest = spec.transfer(reached, io.end() - reached);
            begin.saturating_add(spec.overhead).saturating_add(turn).saturating_add(rest)
        } else {
            since?.saturating_add(spec.transfer(held.to, io.end() - held.to))
        };
        self.read_up_to(spec, io.end(), last_byte);
        Some(last_byte.max(begin.saturating_add(sent)).since(begin))
    }

    /// Records that the newest segment is filled up to `to` at `since` and is read on from there.
    fn read_up_to(&mut self, spec: &SeekSpec, to: u64, since: SimTime) {
        if let Some(held) = self.held.last_mut() {
            *held = Held { from: to.saturating_sub(spec.buffer.segment.get()).max(held.from), to };
        }
        self.ahead = Some(since);
        self.cylinder = spec.site(to).cylinder;
        self.last = Some((to, false));
    }

    /// The address up to which the newest segment is filled by now: at most one segment beyond the last
    /// request.
    fn reached(&self, spec: &SeekSpec, now: SimTime) -> u64 {
        let Some(held) = self.held.last() else { return 0 };
        let Some(span) = self.ahead.and_then(|since| now.checked_since(since)) else { return held.to };
        let most = spec.buffer.segment.get().min(spec.capacity().get().saturating_sub(held.to));
        held.to + spec.passed(held.to, span, most)
    }

    /// The service time of a request for which the head seeks, or continues where it is.
    fn moved(
        &mut self,
        spec: &SeekSpec,
        now: SimTime,
        begin: SimTime,
        io: Io,
        source: &mut impl Uniform,
    ) -> SimSpan {
        self.stop_reading_ahead(spec, begin);
        let target = spec.site(io.offset).cylinder;
        let streams = self.last == Some((io.offset, io.write))
            && now <= self.lane.idle_at.saturating_add(spec.stream_gap);
        let mut span = spec.overhead;
        if streams {
            span = SimSpan::ZERO;
        } else {
            let distance = target.abs_diff(self.cylinder);
            self.seeks += u64::from(distance > 0);
            span = span.saturating_add(spec.curve.span(distance));
            span = span.saturating_add(SimSpan::from_ns(source.below(spec.turn.as_ns())));
            if io.write {
                span = span.saturating_add(spec.write_settle);
            }
        }
        span = span.saturating_add(spec.transfer(io.offset, io.bytes));
        self.cylinder = spec.site(io.end()).cylinder;
        self.last = Some((io.end(), io.write));
        if io.write {
            self.held.retain(|held| held.to <= io.offset || io.end() <= held.from);
        } else {
            self.keep(spec, io, begin.saturating_add(span));
        }
        span
    }

    /// Stops reading ahead and keeps what was read so far.
    fn stop_reading_ahead(&mut self, spec: &SeekSpec, now: SimTime) {
        let reached = self.reached(spec, now);
        if let (Some(held), true) = (self.held.last_mut(), self.ahead.is_some()) {
            let from = reached.saturating_sub(spec.buffer.segment.get()).max(held.from);
            *held = Held { from, to: reached };
            self.cylinder = spec.site(reached).cylinder;
        }
        self.ahead = None;
    }

    /// Records a read from the platter, after whose end the drive reads on.
    fn keep(&mut self, spec: &SeekSpec, io: Io, end: SimTime) {
        if spec.buffer.segments == 0 || spec.buffer.segment.is_zero() {
            return;
        }
        if self.held.len() == usize::from(spec.buffer.segments) {
            self.held.remove(0);
        }
        let from = io.end().saturating_sub(spec.buffer.segment.get()).max(io.offset);
        self.held.push(Held { from, to: io.end() });
        self.ahead = Some(end);
    }
}

#[cfg(test)]
mod tests;
