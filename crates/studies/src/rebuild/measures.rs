//! The measures of a replicate, each with the function of its value.

use towtank_units::{SimSpan, SimTime};

use towtank_recovery::observed::{DiskSeen, ServerSeen, bare, left, waits};

use super::observed::Seen;
use super::settled::Settled;
use towtank_rebuild::model::SPARES;
use towtank_rebuild::plan::MOVES;
use towtank_rebuild::recovery::Recovered;
use towtank_recovery::resources::Resource;
use towtank_recovery::work::{self, Work};
use towtank_study::{Measure, Value};

type Row = Measure<Seen>;

/// The measures of a replicate.
pub fn measures() -> Vec<Row> {
    let mut measures = of_times();
    measures.extend(work::of_rates());
    measures.extend(of_what_was_lost());
    measures.extend(work::of_machines());
    measures.extend(of_disks());
    measures.push(
        Row::new("max_device_fill", "share", "fill of the fullest disk after the rebuild", Seen::fill)
            .titled("Fill of the fullest device"),
    );
    measures.extend(work::of_clients());
    measures
}

/// Why this scenario has no value of a measure, whatever happens in its runs.
#[must_use]
pub fn lacks(settled: &Settled, measure: &str) -> Option<&'static str> {
    let in_place = settled.is_in_place();
    match measure {
        "time_to_new_ring_s" if settled.ring_after.is_none() => Some("`ring_after` is not set"),
        "time_to_rebalanced_s" if !settled.rebalances() => Some(NOT_REBALANCED),
        name if name.starts_with("disk_read_bytes") || name.starts_with("disk_written_bytes") => {
            (!settled.is_chassis()).then_some("disks are listed where one server has all of them")
        }
        "in_place_s" if !in_place => Some(NOT_IN_PLACE),
        "down_out_s" if settled.settings.noout => Some(NOOUT),
        "down_out_s" if in_place => Some(NEVER_OUT),
        "uplink_busy_max" if settled.settings.uplink.is_none() => {
            Some("uplinks are not limited: `uplink` is not set")
        }
        "max_device_fill" if settled.array.is_some() => Some(NOT_FILLED),
        "max_device_fill" if settled.ring.is_none() && settled.disk_capacity.is_none() => {
            Some("the capacity of the disks is not known: `disk_capacity` is not set")
        }
        name if name.starts_with("client_") && settled.settings.clients.is_none() => {
            Some("there are no clients")
        }
        "peers_rate_correlation" if settled.settings.clients.is_some() => {
            Some("servers also serve clients, so their rates say little about peers")
        }
        _ => None,
    }
}

const NOT_FILLED: &str = "an array is rebuilt to spares, which have their room";
const NOT_REBALANCED: &str = "no disks replace failed ones after a rebuild to spares";
const NOT_IN_PLACE: &str = "nothing is replaced or comes back";
const NOOUT: &str = "`noout` is set";
const NEVER_OUT: &str = "what failed is replaced or comes back, and is never marked out";

fn of_times() -> Vec<Row> {
    vec![
        Row::new(
            "time_to_full_redundancy_s",
            "s",
            "time from the first failure until the last durable write is acknowledged",
            Seen::full,
        )
        .titled("Time until all copies are back"),
        Row::new(
            "time_to_two_copies_s",
            "s",
            "time until no object has only a single copy (or k shards)",
            Seen::two_copies,
        )
        .titled("Time until all objects have two copies"),
        Row::new(
            "time_to_new_ring_s",
            "s",
            "time until the copies that the new ring moves are in place too",
            Seen::moved,
        )
        .titled("Time until the new ring is complete")
        .only_where(|seen| seen.replicate.affected.follows && !seen.replicate.setting.rebalances),
        Row::new(
            "time_to_rebalanced_s",
            "s",
            "time until the disks that replace failed ones have their data, and the spares are free",
            Seen::moved,
        )
        .titled("Time until new disks have taken over")
        .only_where(|seen| seen.replicate.setting.rebalances),
        Row::new("detection_s", "s", "part of it until the first failure is detected", |seen| {
            Ok(seen.waiting.detection.as_secs_f64())
        })
        .titled("Time until the failure is detected"),
        Row::new("down_out_s", "s", "from then until the failed devices are marked out", Seen::down_out)
            .titled("Time from detection until marked out"),
        Row::new("in_place_s", "s", "from detection until what failed is replaced or back", |seen| {
            seen.in_place.map(SimSpan::as_secs_f64).ok_or_else(|| NOT_IN_PLACE.to_owned())
        })
        .titled("Time from detection until replaced or back")
        .only_where(|seen| seen.in_place.is_some()),
        Row::new("peering_s", "s", "from then until the first object can move", |seen| {
            Ok(seen.waiting.peering.as_secs_f64())
        })
        .titled("Time from a new map until objects move")
        .only_where(|seen| !seen.waiting.peering.is_zero()),
        work::of_transfers(),
    ]
}

/// What each disk of one chassis read and wrote.
fn of_disks() -> Vec<Row> {
    type Bytes = fn(&DiskSeen) -> u64;
    let of = |name: &'static str, about: &'static str, title: &'static str, (bytes, most): (Bytes, bool)| {
        let value = move |seen: &Seen| {
            let disks = seen.observed.disks.iter().map(bytes);
            Ok(match most {
                true => disks.max().unwrap_or(0) as f64,
                false => disks.sum::<u64>() as f64 / seen.observed.disks.len().max(1) as f64,
            })
        };
        Row::new(name, "bytes", about, value).titled(title).only_where(|seen| seen.replicate.setting.by_disk)
    };
    let (read, written): (Bytes, Bytes) = (|disk| disk.read, |disk| disk.written);
    vec![
        of("disk_read_bytes_max", "most bytes read by one disk", "Most bytes read by a disk", (read, true)),
        of(
            "disk_read_bytes_mean",
            "the same, mean of all disks but those that failed for good",
            "Bytes read by a disk",
            (read, false),
        ),
        of(
            "disk_written_bytes_max",
            "most bytes written to one disk",
            "Most bytes written to a disk",
            (written, true),
        ),
        of(
            "disk_written_bytes_mean",
            "the same, mean of all disks but those that failed for good",
            "Bytes written to a disk",
            (written, false),
        ),
    ]
}

fn of_what_was_lost() -> Vec<Row> {
    vec![
        Row::new("bytes_rebuilt", "bytes", "bytes of copies or shards written", |seen| {
            Ok(seen.recovered().bytes as f64)
        })
        .titled("Data rebuilt"),
        Row::new("objects_affected", "objects", "objects with a copy or shard on a failed device", |seen| {
            Ok(seen.replicate.affected.objects() as f64)
        }),
        Row::new(
            "objects_rebuilt",
            "objects",
            "objects written to their new targets; twice after two failures",
            |seen| Ok(seen.recovered().jobs as f64),
        ),
        Row::new(
            "objects_unwritten",
            "objects",
            "copies that devices came back with in groups that took no writes meanwhile, so they count at once",
            |seen| Ok(seen.recovered().unwritten as f64),
        )
        .only_where(|seen| seen.recovered().taken_back.iter().any(Option::is_some)),
        Row::new(
            "groups_affected",
            "groups",
            "groups, or single objects, with data on a failed device",
            |seen| Ok(seen.replicate.affected.records() as f64),
        ),
        Row::new("lost_objects", "objects", "objects with too few copies or shards left", |seen| {
            Ok(seen.recovered().stuck.lost as f64)
        })
        .titled("Objects lost for good"),
        Row::new(
            "stuck_objects",
            "objects",
            "objects that were not rebuilt: no target, no room, or still waiting",
            Seen::stuck,
        )
        .titled("Objects that were not rebuilt"),
        Row::new(
            "below_min_size",
            "groups",
            "maximum number of groups, or single objects, that accepted no writes at the same time",
            |seen| Ok(seen.recovered().below_min_size as f64),
        )
        .titled("Maximum of groups that accepted no writes"),
    ]
}

impl Work for Seen {
    fn recovered(&self) -> &Recovered {
        &self.replicate.recovered
    }

    fn servers(&self) -> &[ServerSeen] {
        &self.observed.servers
    }

    fn resources(&self) -> &[Resource] {
        &self.observed.resources
    }

    fn survivors(&self) -> u32 {
        self.replicate.setting.survivors
    }
}

impl Seen {
    /// Seconds from the first failure to an instant.
    fn since_failure(&self, at: SimTime) -> f64 {
        let first = self.replicate.struck.first();
        let first = first.map_or(SimTime::ZERO, |struck| SimTime::ZERO.saturating_add(struck.at));
        at.as_secs_f64() - first.as_secs_f64()
    }

    fn full(&self) -> Value {
        match left(self.recovered(), waits(self.waiting)) {
            Some(reason) => Err(reason),
            // What only moves to a new ring lacks no copy.
            None if self.replicate.affected.follows => Ok(self.until(MOVES as usize - 1)),
            None => Ok(self.until(SPARES - 1)),
        }
    }

    /// Seconds until no object that lacked a copy is left with at most this many to spare.
    fn until(&self, spare: usize) -> f64 {
        self.recovered().until(spare).map_or(0.0, |at| self.since_failure(at))
    }

    /// The last write of all, also of copies that only move.
    fn moved(&self) -> Value {
        match left(self.recovered(), waits(self.waiting)) {
            Some(reason) => Err(reason),
            None if self.recovered().last() == SimTime::ZERO => Ok(0.0),
            None => Ok(self.since_failure(self.recovered().last())),
        }
    }

    fn two_copies(&self) -> Value {
        bare(self.recovered(), waits(self.waiting)).map_or_else(|| Ok(self.until(0)), Err)
    }

    fn down_out(&self) -> Value {
        if self.waiting.noout {
            Err(NOOUT.to_owned())
        } else if self.in_place.is_some() {
            Err(NEVER_OUT.to_owned())
        } else {
            Ok(self.waiting.down_out.as_secs_f64())
        }
    }

    fn stuck(&self) -> Value {
        let stuck = self.recovered().stuck;
        Ok((stuck.waiting + stuck.homeless + stuck.full) as f64)
    }

    fn fill(&self) -> Value {
        let capacity = self.replicate.setting.capacity.as_ref();
        let why = if self.replicate.setting.of_arrays {
            NOT_FILLED
        } else {
            "the capacity of the disks is not known"
        };
        let capacity = capacity.ok_or_else(|| why.to_owned())?;
        let fills =
            self.recovered().fill.iter().zip(capacity).map(|(used, size)| *used as f64 / *size as f64);
        Ok(fills.fold(0.0, f64::max))
    }
}

#[cfg(test)]
mod tests;
