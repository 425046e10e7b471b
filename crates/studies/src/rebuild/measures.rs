//! The measures of a replicate, each with the function of its value.

use towtank_metrics::{Histogram, spearman};
use towtank_units::{SimSpan, SimTime};

use super::levers::micros;
use super::observed::{Seen, ServerSeen, bare, left, transfer};
use super::resources::Resource;
use super::settled::Settled;
use crate::{Measure, Value};
use towtank_rebuild::model::SPARES;
use towtank_rebuild::plan::MOVES;
use towtank_rebuild::recovery::{Recovered, Waited};

type Row = Measure<Seen>;

/// The measures of a replicate.
pub fn measures() -> Vec<Row> {
    let mut measures = of_times();
    measures.extend(of_rates());
    measures.extend(of_what_was_lost());
    measures.extend(of_machines());
    measures.extend(of_clients());
    measures
}

/// Why this scenario has no value of a measure, whatever happens in its runs.
#[must_use]
pub fn lacks(settled: &Settled, measure: &str) -> Option<&'static str> {
    let in_place = settled.is_in_place();
    match measure {
        "time_to_new_ring_s" if settled.ring_after.is_none() => Some("`ring_after` is not set"),
        "in_place_s" if !in_place => Some(NOT_IN_PLACE),
        "down_out_s" if settled.noout => Some(NOOUT),
        "down_out_s" if in_place => Some(NEVER_OUT),
        "uplink_busy_max" if settled.uplink.is_none() => Some("uplinks are not limited: `uplink` is not set"),
        "max_device_fill"
            if !settled.is_real() && settled.ring.is_none() && settled.disk_capacity.is_none() =>
        {
            Some("the capacity of the disks is not known: `disk_capacity` is not set")
        }
        name if name.starts_with("client_") && settled.clients.is_none() => Some("there are no clients"),
        "peers_rate_correlation" if settled.clients.is_some() => {
            Some("servers also serve clients, so their rates say little about peers")
        }
        _ => None,
    }
}

/// Why the mean of a measure has no interval: the soak counts how often one contains the mean.
const MAXIMUM: &str = "most replicates have its greatest value, and a few have far less";
const FEW_VALUES: &str = "it takes few values, one of them in most replicates";

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
        .only_where(|seen| seen.replicate.affected.follows),
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
        Row::new("transfer_s", "s", "time of the transfers, without the time between them", Seen::transfer)
            .titled("Transfer time"),
    ]
}

fn of_rates() -> Vec<Row> {
    vec![
        Row::new(
            "aggregate_rate_bytes_per_s",
            "bytes/s",
            "bytes rebuilt over the time of the transfers",
            Seen::rate,
        )
        .titled("Throughput of the rebuild"),
        Row::new(
            "ideal_rate_bytes_per_s",
            "bytes/s",
            "rate if the same work were spread evenly over all survivors",
            Seen::ideal,
        )
        .titled("Rate if all survivors shared the work evenly")
        .without_interval(FEW_VALUES),
        Row::new(
            "bound_rate_bytes_per_s",
            "bytes/s",
            "rate that the busiest device allows with this placement",
            |seen| seen.over(seen.recovered().bound),
        )
        .titled("Rate that the busiest device allows"),
        Row::new("ideal_share", "fraction", "aggregate rate over the ideal rate", |seen| {
            Ok(seen.rate()? / seen.ideal()?)
        })
        .titled("Share of the ideal rate"),
        Row::new(
            "rate_per_survivor_bytes_per_s",
            "bytes/s",
            "aggregate rate over the number of survivors",
            |seen| Ok(seen.rate()? / f64::from(seen.replicate.setting.survivors)),
        )
        .titled("Rate per survivor"),
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

fn of_machines() -> Vec<Row> {
    vec![
        Row::new("servers_driving", "disks", "disks that led a rebuild", |seen| {
            Ok(seen.recovered().drivers as f64)
        })
        .titled("Disks that led a rebuild")
        .without_interval(FEW_VALUES),
        Row::new("servers_writing", "servers", "servers that wrote rebuilt data", Seen::writing)
            .titled("Servers that wrote rebuilt data")
            .without_interval(FEW_VALUES),
        Row::new(
            "written_max_over_mean",
            "ratio",
            "most bytes written on one survivor over the mean of all survivors",
            Seen::written_max_over_mean,
        )
        .titled("Most bytes written on one survivor, over the mean"),
        Row::new(
            "peers_rate_correlation",
            "",
            "Spearman's rank correlation, over survivors, of the number of active peers and the rate",
            Seen::peers_and_rate,
        )
        .titled("Rank correlation of active peers and rate")
        .signed()
        .only_where(|seen| seen.recovered().clients.is_none() && seen.peers_and_rate().is_ok()),
        Row::new(
            "disk_busy_max",
            "fraction",
            "share of the transfer time that the busiest disk is busy",
            |seen| Ok(seen.most(|server| server.disk_busy)),
        )
        .titled("Utilisation of the busiest disk")
        .without_interval(MAXIMUM),
        Row::new("disk_busy_mean", "fraction", "the same, mean of all surviving disks", |seen| {
            Ok(seen.mean_of("disks"))
        })
        .titled("Mean utilisation of the disks"),
        Row::new("card_busy_max", "fraction", "the same for the busiest NIC, sending or receiving", |seen| {
            Ok(seen.most(|server| server.sending_busy.max(server.receiving_busy)))
        })
        .titled("Utilisation of the busiest NIC"),
        Row::new("uplink_busy_max", "fraction", "the same for the busiest uplink", Seen::uplink_busy)
            .titled("Utilisation of the busiest uplink")
            .without_interval(MAXIMUM),
        Row::new(
            "reserving_share",
            "fraction",
            "share of time that the slots of leading disks waited for reservations",
            |seen| Ok(seen.mean_of("reservations")),
        )
        .titled("Time waiting for reservations"),
        Row::new(
            "sleeping_share",
            "fraction",
            "share of the transfer time that leading disks slept",
            |seen| Ok(seen.mean_of("sleep")),
        )
        .titled("Time in recovery sleep"),
        Row::new("max_device_fill", "share", "fill of the fullest disk after the rebuild", Seen::fill)
            .titled("Fill of the fullest device"),
    ]
}

/// Latencies of clients; these measures are left out where there are no clients.
fn of_clients() -> Vec<Row> {
    let row = |name: &'static str, unit, about, value: fn(&Waited) -> Value| {
        let measure = Row::new(name, unit, about, move |seen| {
            value(seen.recovered().clients.as_ref().ok_or("there are no clients")?)
        });
        measure.only_where(|seen| seen.recovered().clients.is_some())
    };
    vec![
        row("client_operations", "operations", "operations of clients during the rebuild", |waited| {
            Ok((waited.during.reads.count() + waited.during.writes.count()) as f64)
        }),
        row("client_operations_per_s", "operations/s", "their rate during the rebuild", |waited| {
            waited.rates()[0].ok_or_else(none_done)
        }),
        row("client_operations_quiet_per_s", "operations/s", "their rate without a rebuild", |waited| {
            waited.rates()[1].ok_or_else(none_done)
        }),
        row("client_read_latency_mean_us", "us", "mean latency of their reads", |waited| {
            mean(&waited.during.reads)
        }),
        row("client_read_latency_p99_us", "us", "99th percentile", |waited| p99(&waited.during.reads)),
        row("client_write_latency_mean_us", "us", "mean latency of their writes", |waited| {
            mean(&waited.during.writes)
        }),
        row("client_write_latency_p99_us", "us", "99th percentile", |waited| p99(&waited.during.writes)),
        row("client_read_latency_quiet_mean_us", "us", "mean latency of reads without a rebuild", |waited| {
            mean(&waited.quiet.reads)
        }),
        row("client_read_latency_quiet_p99_us", "us", "99th percentile", |waited| p99(&waited.quiet.reads)),
        row(
            "client_write_latency_quiet_mean_us",
            "us",
            "mean latency of writes without a rebuild",
            |waited| mean(&waited.quiet.writes),
        ),
        row("client_write_latency_quiet_p99_us", "us", "99th percentile", |waited| p99(&waited.quiet.writes)),
    ]
}

fn mean(latencies: &Histogram) -> Value {
    latencies.mean().map(|mean| mean / 1e3).ok_or_else(none_done)
}

fn p99(latencies: &Histogram) -> Value {
    micros(latencies, 0.99).ok_or_else(none_done)
}

fn none_done() -> String {
    "no such operation was done".to_owned()
}

fn nothing_moved() -> String {
    "nothing was transferred".to_owned()
}

impl Seen {
    fn recovered(&self) -> &Recovered {
        &self.replicate.recovered
    }

    /// Seconds from the first failure to an instant.
    fn since_failure(&self, at: SimTime) -> f64 {
        let first = self.replicate.struck.first();
        let first = first.map_or(SimTime::ZERO, |struck| SimTime::ZERO.saturating_add(struck.at));
        at.as_secs_f64() - first.as_secs_f64()
    }

    fn full(&self) -> Value {
        match left(self.recovered(), self.waiting) {
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
        match left(self.recovered(), self.waiting) {
            Some(reason) => Err(reason),
            None if self.recovered().last() == SimTime::ZERO => Ok(0.0),
            None => Ok(self.since_failure(self.recovered().last())),
        }
    }

    fn two_copies(&self) -> Value {
        bare(self.recovered(), self.waiting).map_or_else(|| Ok(self.until(0)), Err)
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

    fn transfer(&self) -> Value {
        transfer(self.recovered()).ok_or_else(nothing_moved).map(SimSpan::as_secs_f64)
    }

    /// The rate of the rebuild over a span.
    fn over(&self, span: SimSpan) -> Value {
        let (bytes, seconds) = (self.recovered().bytes as f64, span.as_secs_f64());
        if bytes > 0.0 && seconds > 0.0 { Ok(bytes / seconds) } else { Err(nothing_moved()) }
    }

    fn rate(&self) -> Value {
        self.over(transfer(self.recovered()).ok_or_else(nothing_moved)?)
    }

    fn ideal(&self) -> Value {
        self.over(self.recovered().ideal)
    }

    fn stuck(&self) -> Value {
        let stuck = self.recovered().stuck;
        Ok((stuck.waiting + stuck.homeless + stuck.full) as f64)
    }

    fn writing(&self) -> Value {
        Ok(self.observed.servers.iter().filter(|server| server.written > 0).count() as f64)
    }

    fn written_max_over_mean(&self) -> Value {
        let written = || self.observed.servers.iter().map(|server| server.written as f64);
        let mean = written().sum::<f64>() / written().len().max(1) as f64;
        if mean > 0.0 { Ok(written().fold(0.0, f64::max) / mean) } else { Err(nothing_moved()) }
    }

    /// A server that took no part has no rate, and is left out.
    fn peers_and_rate(&self) -> Value {
        if self.observed.servers.iter().any(|server| server.peers.is_none()) {
            return Err("the cluster has too many servers to keep what each pair of them sent".to_owned());
        }
        let sustained = self.observed.servers.iter().filter_map(ServerSeen::sustained);
        let (peers, rates): (Vec<f64>, Vec<f64>) = sustained.unzip();
        let same = "all servers that took part have as many active peers, or the same rate";
        spearman(&peers, &rates).ok_or_else(|| same.to_owned())
    }

    fn most(&self, busy: fn(&ServerSeen) -> f64) -> f64 {
        self.observed.servers.iter().map(busy).fold(0.0, f64::max)
    }

    fn resource(&self, name: &str) -> Option<&Resource> {
        self.observed.resources.iter().find(|resource| resource.name == name)
    }

    fn mean_of(&self, name: &str) -> f64 {
        self.resource(name).map_or(0.0, |resource| resource.mean)
    }

    fn uplink_busy(&self) -> Value {
        let uplinks = self.resource("rack uplinks").map(|resource| resource.busiest);
        uplinks.ok_or_else(|| "uplinks are not limited".to_owned())
    }

    fn fill(&self) -> Value {
        let capacity = self.replicate.setting.capacity.as_ref();
        let capacity = capacity.ok_or_else(|| "the capacity of the disks is not known".to_owned())?;
        let fills =
            self.recovered().fill.iter().zip(capacity).map(|(used, size)| *used as f64 / *size as f64);
        Ok(fills.fold(0.0, f64::max))
    }
}

#[cfg(test)]
mod tests;
