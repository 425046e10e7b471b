//! Disks: service time from a rate, an overhead and a seek, by size and direction of the request.
//!
//! The rule is that of the CODES local storage model: size over rate, plus an overhead, plus a seek if the
//! head is elsewhere. Seek times depend on the request size; each row holds from its size up to the next. One
//! difference, which the rebuild study needs and states: read-ahead and write-back merge neighbouring
//! requests to one object, so one seek is paid per *extent* of an object, even if requests to other objects
//! come between. A stream that has the disk to itself pays one seek.

use towtank_units::{Bytes, Rate, SimSpan, SimTime};

use crate::{Lane, Service};

/// The seek times for requests of at least a given size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeekRow {
    /// The smallest request for which this row holds.
    pub from: Bytes,
    /// The seek time before a read.
    pub read: SimSpan,
    /// The seek time before a write.
    pub write: SimSpan,
}

/// The parameters of a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskSpec {
    /// Read rate in bytes per second, without seeks.
    pub read: Rate,
    /// Write rate in bytes per second, without seeks.
    pub write: Rate,
    /// The fixed time per read.
    pub read_overhead: SimSpan,
    /// The fixed time per write.
    pub write_overhead: SimSpan,
    /// Seek times by ascending size; requests smaller than the first row use the first row. If empty, seeks
    /// take no time.
    pub seeks: Vec<SeekRow>,
    /// The number of bytes of an object that one seek covers.
    pub extent: Bytes,
}

/// A request to a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The stream: one number per object and direction.
    pub stream: u32,
    /// The offset of the first byte in the object.
    pub offset: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// Whether this is a write.
    pub write: bool,
}

impl DiskSpec {
    /// The same disk with other rates and other times, each made from its own.
    #[must_use]
    pub fn with(&self, rate: impl Fn(Rate) -> Rate, span: impl Fn(SimSpan) -> SimSpan) -> DiskSpec {
        let seek = |row: &SeekRow| SeekRow { from: row.from, read: span(row.read), write: span(row.write) };
        DiskSpec {
            read: rate(self.read),
            write: rate(self.write),
            read_overhead: span(self.read_overhead),
            write_overhead: span(self.write_overhead),
            seeks: self.seeks.iter().map(seek).collect(),
            extent: self.extent,
        }
    }

    fn seek(&self, bytes: u64, write: bool) -> SimSpan {
        let row = self.seeks.iter().rev().find(|row| row.from.get() <= bytes).or_else(|| self.seeks.first());
        row.map_or(SimSpan::ZERO, |row| if write { row.write } else { row.read })
    }

    fn least_seek(&self, write: bool) -> SimSpan {
        let seeks = self.seeks.iter().map(|row| if write { row.write } else { row.read });
        seeks.min().unwrap_or(SimSpan::ZERO)
    }

    /// The service time of a request without its seek.
    #[must_use]
    pub fn transfer(&self, bytes: u64, write: bool) -> SimSpan {
        let (rate, overhead) =
            if write { (self.write, self.write_overhead) } else { (self.read, self.read_overhead) };
        rate.span_for(Bytes::new(bytes)).saturating_add(overhead)
    }
}

/// The service times of a disk, with those of the usual size cached.
#[derive(Clone, Debug)]
pub struct DiskClock {
    spec: DiskSpec,
    usual: u64,
    /// Index 0 is read, index 1 write.
    transfer: [SimSpan; 2],
    seek: [SimSpan; 2],
    least_seek: [SimSpan; 2],
}

impl DiskClock {
    /// `usual` is the size of most requests.
    #[must_use]
    pub fn new(spec: DiskSpec, usual: Bytes) -> DiskClock {
        let usual = usual.get();
        let transfer = [spec.transfer(usual, false), spec.transfer(usual, true)];
        let seek = [spec.seek(usual, false), spec.seek(usual, true)];
        let least_seek = [spec.least_seek(false), spec.least_seek(true)];
        DiskClock { spec, usual, transfer, seek, least_seek }
    }

    /// The service time of a request without its seek.
    #[inline]
    #[must_use]
    pub fn transfer(&self, bytes: u64, write: bool) -> SimSpan {
        if bytes == self.usual { self.transfer[usize::from(write)] } else { self.spec.transfer(bytes, write) }
    }

    /// The seek time before a request of this size.
    #[inline]
    #[must_use]
    pub fn seek(&self, bytes: u64, write: bool) -> SimSpan {
        if bytes == self.usual { self.seek[usize::from(write)] } else { self.spec.seek(bytes, write) }
    }

    /// The smallest seek time over all sizes.
    #[inline]
    #[must_use]
    pub fn least_seek(&self, write: bool) -> SimSpan {
        self.least_seek[usize::from(write)]
    }

    /// The parameters of the disk.
    #[must_use]
    pub fn spec(&self) -> &DiskSpec {
        &self.spec
    }
}

/// The state of a disk: its queue and the stream at the head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Disk {
    /// Its queue.
    pub lane: Lane,
    /// The stream that was served last; 0 for none.
    head: u32,
    /// The number of seeks so far.
    pub seeks: u32,
}

impl Disk {
    /// Serves a request that arrives now.
    #[inline]
    pub fn serve(&mut self, clock: &DiskClock, now: SimTime, access: Access) -> Service {
        let mut span = clock.transfer(access.bytes, access.write);
        // Stream and direction in one number; never 0.
        let stream = (access.stream << 1 | u32::from(access.write)).wrapping_add(2);
        if self.head != stream {
            self.head = stream;
            let extent = clock.spec.extent.get();
            if extent == 0 || access.offset % extent < access.bytes {
                span = span.saturating_add(clock.seek(access.bytes, access.write));
                self.seeks += 1;
            }
        }
        self.lane.serve(now, span)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MIB: u64 = 1 << 20;

    fn clock(extent: u64) -> DiskClock {
        let rate = |count: u64| Rate::from_bytes_per_second(count * MIB).expect("above zero");
        let row = |from: u64, read: u64, write: u64| SeekRow {
            from: Bytes::new(from),
            read: SimSpan::from_us(read),
            write: SimSpan::from_us(write),
        };
        let spec = DiskSpec {
            read: rate(1024),
            write: rate(512),
            read_overhead: SimSpan::from_us(1),
            write_overhead: SimSpan::from_us(2),
            seeks: vec![row(4096, 100, 10), row(MIB, 1000, 500)],
            extent: Bytes::new(extent),
        };
        DiskClock::new(spec, Bytes::new(4 * MIB))
    }

    fn access(stream: u32, offset: u64, bytes: u64, write: bool) -> Access {
        Access { stream, offset, bytes, write }
    }

    #[test]
    fn seeks_are_by_size_and_direction() {
        let check = |bytes: u64, write: bool, want_us: f64| {
            let mut disk = Disk::default();
            let done = disk.serve(&clock(0), SimTime::ZERO, access(0, 0, bytes, write)).end;
            assert!((done.as_secs_f64() * 1e6 - want_us).abs() < 0.01, "{bytes} {write}: {done}");
        };
        check(1, false, 100.0 + 1.0 + 0.001);
        check(4096, true, 10.0 + 2.0 + 7.6294);
        check(MIB, false, 1000.0 + 1.0 + 976.5625);
        check(4 * MIB, true, 500.0 + 2.0 + 7812.5);
    }

    #[test]
    fn one_stream_alone_seeks_once() {
        let mut disk = Disk::default();
        for unit in 0..16 {
            disk.serve(&clock(4 * MIB), SimTime::ZERO, access(7, unit * 4 * MIB, 4 * MIB, false));
        }
        assert_eq!(disk.seeks, 1);
    }

    #[test]
    fn streams_that_take_turns_seek_once_an_extent() {
        let seeks = |extent: u64| {
            let mut disk = Disk::default();
            for unit in 0..16 {
                for stream in [1, 2] {
                    disk.serve(&clock(extent), SimTime::ZERO, access(stream, unit * 4 * MIB, 4 * MIB, true));
                }
            }
            disk.seeks
        };
        assert_eq!(seeks(4 * MIB), 32);
        assert_eq!(seeks(16 * MIB), 8);
        assert_eq!(seeks(64 * MIB), 2);
    }

    #[test]
    fn reading_and_writing_one_object_are_two_streams() {
        let mut disk = Disk::default();
        for write in [false, true, false] {
            disk.serve(&clock(0), SimTime::ZERO, access(0, 0, MIB, write));
        }
        assert_eq!(disk.seeks, 3);
    }

    proptest! {
        #[test]
        fn the_usual_size_is_no_exception(bytes in 1u64..10 * MIB, write: bool) {
            let usual = DiskClock::new(clock(0).spec.clone(), Bytes::new(bytes));
            prop_assert_eq!(usual.transfer(bytes, write), clock(0).spec.transfer(bytes, write));
            prop_assert_eq!(usual.seek(bytes, write), clock(0).spec.seek(bytes, write));
            prop_assert!(usual.least_seek(write) <= usual.seek(bytes, write));
        }

        #[test]
        fn a_disk_is_busy_for_as_long_as_its_requests_take(
            requests in prop::collection::vec((0u32..4, 1u64..64, any::<bool>(), 0u64..50_000_000), 1..40)
        ) {
            let (clock, mut disk, mut now, mut idle) = (clock(4 * MIB), Disk::default(), SimTime::ZERO, SimTime::ZERO);
            for (stream, size, write, gap) in requests {
                now = now.saturating_add(SimSpan::from_ns(gap));
                let before = disk.lane.busy;
                let Service { begin, end: done } = disk.serve(&clock, now, access(stream, 0, size << 16, write));
                let span = disk.lane.busy.as_ns() - before.as_ns();
                prop_assert_eq!(begin, now.max(idle));
                prop_assert_eq!(done, begin.saturating_add(SimSpan::from_ns(span)));
                idle = done;
            }
        }
    }
}
