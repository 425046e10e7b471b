//! A disk with a head: seek, rotation, and the rate of the zone in which a request lies.
//!
//! - **Seek** over d cylinders: a + b √d up to a knee, c + e d beyond (Ruemmler and Wilkes, "An introduction
//!   to disk drive modeling", IEEE Computer 27(3), 1994), given by three points of the curve, as data sheets
//!   and the parameter files of DiskSim have them.
//! - **Rotation**: how far the first sector is away is uniform in one turn, after each seek and each time the
//!   stream is broken.
//! - **Transfer** at the rate of each zone that the request touches; a change of track costs a head switch,
//!   in which the drive does not read (its skew).
//! - **Settle**: a head that is to write must be quieter than one that is to read.
//! - **Track buffer**: after a read the drive reads on, up to a segment, until the next request comes. What
//!   it holds is sent at the rate of its bus. A write throws away what it overlaps.
//! - **Streams**: a request that begins where the one before it ended, in the same direction, and comes while
//!   that is served or within `stream_gap` after it, goes on without seek or rotation: the drive has it in
//!   its queue or cache by then.
//!
//! All of it is whole nanoseconds; roots are whole-number roots of scaled numbers. What is left out: the
//! angle of the platter, so that rotation has no memory; defects; and the drive's own reordering, for which
//! there is [`super::HeadOrder`].

use towtank_streams::Uniform;
use towtank_units::{Bytes, Rate, SimSpan, SimTime};

use super::{DriveError, Io};
use crate::{Lane, Service};

/// Fraction bits of roots.
const ROOT_BITS: u32 = 20;
/// More than any drive has; their roots fit well within 128 bits.
const CYLINDERS_MAX: u32 = 1 << 30;

/// How long a head takes over how many cylinders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct SeekCurve {
    /// To the next cylinder.
    pub one: SimSpan,
    /// Where the root ends and the line begins.
    pub knee_cylinders: u32,
    /// Over as many.
    pub knee: SimSpan,
    /// Over all cylinders: one less than there are.
    pub full_cylinders: u32,
    /// Over as many.
    pub full: SimSpan,
}

impl SeekCurve {
    /// A curve through the times over one cylinder, a third of all and all, with its knee at the third.
    ///
    /// # Errors
    /// If there are fewer than 6 cylinders, or the times fall.
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
            let limit = format!(
                "above 1, and below those of the whole stroke, of which there may be {CYLINDERS_MAX}"
            );
            return Err(DriveError::new("knee_cylinders", self.knee_cylinders, limit));
        }
        if ![self.one, self.knee, self.full].is_sorted() {
            return Err(DriveError::new(
                "knee",
                self.knee,
                "from the time over one cylinder to that over all",
            ));
        }
        Ok(())
    }

    /// How long the head takes over so many cylinders; beyond the last as long as to the last.
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

/// The root, with [`ROOT_BITS`] bits of fraction.
fn root(number: u32) -> u128 {
    (u128::from(number) << (2 * ROOT_BITS)).isqrt()
}

/// Neighbouring cylinders whose tracks hold as much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Zone {
    /// How many.
    pub cylinders: u32,
    /// What one turn over one track reads.
    pub track: Bytes,
}

/// What a drive reads ahead into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct TrackBuffer {
    /// How many streams it keeps; none: it does not read ahead.
    pub segments: u16,
    /// Bytes of each.
    pub segment: Bytes,
    /// How fast they are sent.
    pub bus: Rate,
}

/// What a disk with a head can do.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct SeekSpec {
    /// How long the head takes.
    pub curve: SeekCurve,
    /// One turn.
    pub turn: SimSpan,
    /// From the outermost, where addresses begin.
    pub zones: Vec<Zone>,
    /// Tracks of a cylinder.
    pub surfaces: u32,
    /// From a track to the next one.
    pub head_switch: SimSpan,
    /// What a write waits for more than a read.
    pub write_settle: SimSpan,
    /// What each request costs beside.
    pub overhead: SimSpan,
    /// How long after its end a stream goes on without a turn.
    pub stream_gap: SimSpan,
    /// What it reads ahead into.
    pub buffer: TrackBuffer,
}

/// Where an address lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Site {
    cylinder: u32,
    /// Bytes to the end of its track, and of its zone.
    track_left: u64,
    zone_left: u64,
    /// Bytes of a track there.
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
            let limit = format!("{} as in the curve", u64::from(self.curve.full_cylinders) + 1);
            return Err(DriveError::new("zones", format!("{cylinders} cylinders"), limit));
        }
        match self.capacity_exact() {
            Some(_) => Ok(()),
            None => Err(DriveError::new("zones", "more than 16 EiB", "at most that together")),
        }
    }

    fn capacity_exact(&self) -> Option<u64> {
        self.zones.iter().try_fold(0u64, |sum, zone| sum.checked_add(self.zone_bytes(zone)?))
    }

    fn zone_bytes(&self, zone: &Zone) -> Option<u64> {
        zone.track.get().checked_mul(u64::from(self.surfaces))?.checked_mul(u64::from(zone.cylinders))
    }

    /// What it holds.
    #[must_use]
    pub fn capacity(&self) -> Bytes {
        Bytes::new(self.capacity_exact().unwrap_or(u64::MAX))
    }

    /// Where an address lies; one behind the last byte lies at the end of the last track.
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
            // Whatever is asked for beyond the end is as if it were in the last zone.
            last = Site { cylinder: cylinder - 1, track_left: u64::MAX, zone_left: u64::MAX, track };
        }
        last
    }

    /// How long the bytes take once the head is above the first: turns over tracks, and a switch at the end
    /// of each, so that parts of a request take as long as all of it.
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

    /// How many bytes from an address on pass under the head in so long, at most `most`: by halving, since
    /// `transfer` rises.
    fn passed(&self, offset: u64, span: SimSpan, most: u64) -> u64 {
        let (mut sure, mut over) = (0, most.saturating_add(1));
        while over - sure > 1 {
            let middle = sure + (over - sure) / 2;
            if self.transfer(offset, middle) <= span { sure = middle } else { over = middle }
        }
        sure
    }

    /// The rate at which a long request is read at an address: a track in a turn and a head switch.
    #[must_use]
    pub fn zone_rate_bytes_per_second(&self, address: u64) -> u64 {
        let ns = u128::from(self.turn.as_ns() + self.head_switch.as_ns());
        u64::try_from(u128::from(self.site(address).track) * 1_000_000_000 / ns).unwrap_or(u64::MAX)
    }
}

/// Bytes that the buffer holds: from the first address up to the second.
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
    /// The cylinder under the head.
    cylinder: u32,
    /// Where the head ended last, and whether that was a write. What the buffer serves moves no head.
    last: Option<(u64, bool)>,
    /// What is held, the oldest first. The newest is that of the stream that is read ahead.
    held: Vec<Held>,
    /// Since when the newest is being read ahead from its end on; none: it is not.
    ahead: Option<SimTime>,
    /// Seeks made.
    pub seeks: u64,
    /// Reads of which all came from the buffer.
    pub hits: u64,
}

impl SeekDrive {
    /// A request comes now and is served after all that came before it.
    pub fn serve(&mut self, spec: &SeekSpec, now: SimTime, io: Io, source: &mut impl Uniform) -> Service {
        let begin = now.max(self.lane.idle_at);
        let span = match self.buffered(spec, begin, io, source) {
            Some(span) => span,
            None => self.moved(spec, now, begin, io, source),
        };
        self.lane.serve(now, span)
    }

    /// How long a read takes of which the buffer has the beginning, or is just reading it.
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
        // The head is above the next byte, or has stopped there: then it waits for it to come round.
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

    /// The newest segment is filled up to an address at an instant, and is read on from there.
    fn read_up_to(&mut self, spec: &SeekSpec, to: u64, since: SimTime) {
        if let Some(held) = self.held.last_mut() {
            *held = Held { from: to.saturating_sub(spec.buffer.segment.get()).max(held.from), to };
        }
        self.ahead = Some(since);
        self.cylinder = spec.site(to).cylinder;
        self.last = Some((to, false));
    }

    /// Up to where the newest segment is filled by now: at most a segment beyond what was asked for, and then
    /// it stays as it is.
    fn reached(&self, spec: &SeekSpec, now: SimTime) -> u64 {
        let Some(held) = self.held.last() else { return 0 };
        let Some(span) = self.ahead.and_then(|since| now.checked_since(since)) else { return held.to };
        let most = spec.buffer.segment.get().min(spec.capacity().get().saturating_sub(held.to));
        held.to + spec.passed(held.to, span, most)
    }

    /// How long a request takes for which the head moves, or goes on where it is.
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

    /// What was read so far stays; the head is needed elsewhere.
    fn stop_reading_ahead(&mut self, spec: &SeekSpec, now: SimTime) {
        let reached = self.reached(spec, now);
        if let (Some(held), true) = (self.held.last_mut(), self.ahead.is_some()) {
            let from = reached.saturating_sub(spec.buffer.segment.get()).max(held.from);
            *held = Held { from, to: reached };
            self.cylinder = spec.site(reached).cylinder;
        }
        self.ahead = None;
    }

    /// A read has been served by the platter, and the drive reads on from its end.
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
