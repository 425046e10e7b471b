//! A measured drive: the service time of a request by its size and its distance from the end of the previous
//! one, after PFSsim's last disk model. Between the points of the table, times are interpolated in the
//! logarithms of both (log-bilinear); outside the table the nearest edge is used, except that the bytes
//! beyond the largest size take the time of sequential bytes.
//!
//! A request that begins where the last one ended is sequential and has its own row. The table does not know
//! what a cache held, or where on the platter a measurement was made: it is a mean.

use towtank_units::{SimSpan, SimTime};

use super::{DriveError, Io};
use crate::{Lane, Service};

/// The maximum number of points of a table along one axis.
const POINTS_MAX: usize = 64;

/// The service times of one direction of data.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Times {
    /// By size, for requests that begin where the previous one ended.
    pub sequential: Vec<SimSpan>,
    /// By size, then by jump.
    pub jumping: Vec<Vec<SimSpan>>,
}

/// The measurements.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct TableSpec {
    /// Request sizes in bytes, ascending.
    pub sizes: Vec<u64>,
    /// Bytes between the end of a request and the beginning of the next, in either direction, ascending.
    pub jumps: Vec<u64>,
    /// The times of reads.
    pub read: Times,
    /// The times of writes.
    pub write: Times,
}

impl TableSpec {
    pub(super) fn check(&self) -> Result<(), DriveError> {
        for (key, points) in [("sizes", &self.sizes), ("jumps", &self.jumps)] {
            let rising =
                points.is_sorted_by(|low, high| low < high) && points.first().is_some_and(|least| *least > 0);
            if !rising || points.len() > POINTS_MAX {
                let limit = format!("1 to {POINTS_MAX} increasing numbers above 0");
                return Err(DriveError::new(key, format!("{points:?}"), limit));
            }
        }
        for (key, times) in [("read", &self.read), ("write", &self.write)] {
            let (sizes, jumps) = (self.sizes.len(), self.jumps.len());
            let rows = times.jumping.len() == sizes && times.jumping.iter().all(|row| row.len() == jumps);
            if !rows || times.sequential.len() != sizes {
                let limit = format!("{sizes} sequential times, and {sizes} rows of {jumps}");
                let value =
                    format!("{} sequential times and {} rows", times.sequential.len(), times.jumping.len());
                return Err(DriveError::new(key, value, limit));
            }
        }
        Ok(())
    }

    /// The service time of a request that begins `jump` bytes from the end of the previous one.
    #[must_use]
    pub fn span(&self, io: Io, jump: u64) -> SimSpan {
        let times = if io.write { &self.write } else { &self.read };
        let size = Between::of(&self.sizes, io.bytes);
        let ns = if jump == 0 {
            size.mix(|row| times.sequential[row].as_ns() as f64)
        } else {
            let near = Between::of(&self.jumps, jump);
            size.mix(|row| near.mix(|column| times.jumping[row][column].as_ns() as f64))
        };
        SimSpan::from_ns_f64_floor(ns).saturating_add(self.rest(times, io.bytes))
    }

    /// The time of the bytes beyond the largest size.
    fn rest(&self, times: &Times, bytes: u64) -> SimSpan {
        let (Some(&most), Some(all)) = (self.sizes.last(), times.sequential.last()) else {
            return SimSpan::ZERO;
        };
        let ns = u128::from(bytes.saturating_sub(most)) * u128::from(all.as_ns()) / u128::from(most);
        SimSpan::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

/// Two neighbouring points, and the position of a number between them.
struct Between {
    low: usize,
    high: usize,
    part: f64,
}

impl Between {
    fn of(points: &[u64], number: u64) -> Between {
        let high = points.partition_point(|point| *point < number);
        match (high.checked_sub(1), points.get(high)) {
            (Some(low), Some(&above)) => {
                let log = |number: u64| libm::log2(number as f64);
                let below = points[low];
                let part = (log(number) - log(below)) / (log(above) - log(below));
                Between { low, high, part }
            }
            (None, _) => Between { low: 0, high: 0, part: 0.0 },
            (Some(last), None) => Between { low: last, high: last, part: 0.0 },
        }
    }

    fn mix(&self, value: impl Fn(usize) -> f64) -> f64 {
        if self.low == self.high {
            return value(self.low);
        }
        let (low, high) = (value(self.low), value(self.high));
        low + (high - low) * self.part
    }
}

/// The state of a `table` drive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct TableDrive {
    /// Its queue.
    pub lane: Lane,
    /// The address at which the last request ended.
    last_end: u64,
}

impl TableDrive {
    /// Serves a request that arrives now, after all earlier ones.
    pub fn serve(&mut self, spec: &TableSpec, now: SimTime, io: Io) -> Service {
        let span = spec.span(io, io.offset.abs_diff(self.last_end));
        self.last_end = io.end();
        self.lane.serve(now, span)
    }
}
