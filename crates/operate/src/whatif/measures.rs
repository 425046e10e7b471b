//! The measures of a replicate, under the names that a preview and a rebuild have for them.

use towtank_ceph::GroupStates;

use super::observed::Seen;
use super::scenario::Scenario as Settled;
use crate::preview::moves::DeviceMoves;
use crate::titles::titled;
use towtank_recovery::work;
use towtank_study::{Measure, Value};

type Row = Measure<Seen>;

/// The measures of a replicate.
pub fn measures() -> Vec<Row> {
    let mut measures = of_times();
    measures.extend(work::of_rates());
    measures.extend(of_moves());
    measures.extend(of_risk());
    measures.extend(of_exposure());
    measures.extend(of_groups());
    measures.extend(of_devices());
    measures.extend(work::of_machines());
    measures.extend(work::of_clients());
    titled(measures)
}

fn of_times() -> Vec<Row> {
    vec![
        Row::new(
            "time_to_clean_s",
            "s",
            "from the change or failure until all data are where they belong",
            Seen::clean,
        )
        .titled("Time until all groups are clean"),
        Row::new("time_to_clean_low_s", "s", "the lower end of its range: drawn orders of groups, other disks", |seen| {
            seen.clean_range(0)
        })
        .titled("Time until all groups are clean, lower end"),
        Row::new("time_to_clean_high_s", "s", "the upper end of its range: drawn orders of groups, other disks", |seen| {
            seen.clean_range(1)
        })
        .titled("Time until all groups are clean, upper end"),
        Row::new("time_to_clean_fast_s", "s", "the same with disks faster by `speed_spread`, or four times as fast where the speed of disks that sleep is assumed", |seen| {
            seen.clean_at(1)
        })
        .titled("Time until all groups are clean, faster disks"),
        Row::new("time_to_clean_slow_s", "s", "the same with disks slower by `speed_spread`", |seen| {
            seen.clean_at(0)
        })
        .titled("Time until all groups are clean, slower disks"),
        Row::new(
            "time_to_end_s",
            "s",
            "until everything that can move has moved; data without a target device or room stay behind",
            Seen::ended,
        )
        .titled("Time until the last move has ended"),
        Row::new(
            "time_to_full_redundancy_s",
            "s",
            "until no copy or shard is missing; 0 where none ever is",
            Seen::full,
        )
        .titled("Time until all copies are back"),
        Row::new(
            "time_to_two_copies_s",
            "s",
            "until no object is left with a single copy (or just k shards)",
            Seen::two_copies,
        )
        .titled("Time until no object has a single copy"),
        work::of_transfers(),
        Row::new("detection_s", "s", "part of it until a failure is detected", |seen| seen.detection())
            .titled("Time until the failure is detected")
            .only_where(|seen| seen.fails),
        Row::new("down_out_s", "s", "from then until the failed devices are marked out", Seen::down_out)
            .titled("Time from detection until marked out")
            .only_where(|seen| seen.fails),
        Row::new(
            "pause_s",
            "s",
            "the longest time for which a group serves no requests: until a failure is detected, a read lease ends, and \
             the group has peered",
            Seen::pause,
        )
        .titled("Longest pause of a group"),
        Row::new("start_s", "s", "from a new map until the first object can move", |seen| seen.start())
            .titled("Time from a new map until objects move")
            .formerly("peering_s"),
    ]
}

fn of_moves() -> Vec<Row> {
    vec![
        Row::new("moved_bytes", "bytes", "bytes of copies and shards that must be copied", |seen| {
            Ok(seen.moves.moved_bytes as f64)
        })
        .titled("Data to move"),
        Row::new("moved_objects", "objects", "objects that were copied, each counted once", |seen| {
            Ok(seen.recovered.jobs as f64)
        })
        .titled("Objects moved")
        .formerly("objects_rebuilt"),
        // A group with one copy left gets two new ones, so this may exceed 1.
        Row::new("moved_fraction", "share", "the bytes to copy, over all bytes stored", |seen| {
            Ok(seen.moves.moved_fraction())
        })
        .titled("Share of all data to move"),
        Row::new("moved_groups", "groups", "placement groups to copy, also those without objects", |seen| {
            Ok(seen.moves.moved_groups as f64)
        })
        .titled("Placement groups with data to move"),
        Row::new("written_bytes", "bytes", "bytes that devices wrote for it", |seen| {
            Ok(seen.recovered.disks.iter().map(|disk| disk.2).sum::<u64>() as f64)
        })
        .titled("Data written")
        .formerly("bytes_rebuilt"),
        Row::new(
            "minimum_bytes",
            "bytes",
            "bytes that devices must gain in total: no placement with this outcome moves less",
            |seen| Ok(seen.moves.minimum_bytes() as f64),
        )
        .titled("Minimum data to move"),
        Row::new("pending_bytes", "bytes", "bytes that would move without the change", |seen| {
            Ok(seen.moves.pending_bytes as f64)
        })
        .titled("Data that would move anyway"),
        Row::new(
            "upmaps_dropped",
            "mappings",
            "explicit mappings that the monitors would drop or cut",
            |seen| Ok(seen.upmaps_dropped as f64),
        ),
    ]
}

fn of_risk() -> Vec<Row> {
    vec![
        Row::new("groups_affected", "groups", "placement groups with data on what fails", |seen| {
            seen.affected(0)
        })
        .only_where(|seen| seen.fails),
        Row::new("objects_affected", "objects", "objects with a copy or shard on what fails", |seen| {
            seen.affected(1)
        })
        .only_where(|seen| seen.fails),
        Row::new("lost_objects", "objects", "objects of which too few copies or shards are left", |seen| {
            seen.lost()
        })
        .titled("Objects lost for good"),
        Row::new(
            "unavailable_objects",
            "objects",
            "objects that wait for devices which are down: too few copies or shards are left without these",
            |seen| seen.at_least(seen.recovered.stuck.unavailable),
        )
        .titled("Objects that wait for devices that are down"),
        Row::new(
            "stuck_objects",
            "objects",
            "objects that lack a copy or shard and get none: what is down stays in, or there is no target device or no \
             room there",
            |seen| {
                let stuck = seen.recovered.stuck;
                Ok((stuck.waiting + stuck.homeless + stuck.full) as f64)
            },
        )
        .titled("Objects that get no new copy"),
        Row::new(
            "unmoved_objects",
            "objects",
            "objects that lack nothing and stay where they are, since their target devices have no room",
            |seen| Ok(seen.recovered.stuck.unmoved as f64),
        )
        .titled("Objects that stay where they are for want of room")
        .only_where(|seen| seen.recovered.stuck.unmoved > 0),
        Row::new(
            "halted_objects",
            "objects",
            "objects that are not copied because a flag of the cluster is set, such as `norecover`",
            |seen| {
                let stuck = seen.recovered.stuck;
                Ok(stuck.halted() as f64)
            },
        )
        .titled("Objects that a flag keeps from being copied"),
        Row::new(
            "objects_unwritten",
            "objects",
            "copies that devices came back with in groups that took no writes meanwhile, so they count at once",
            |seen| Ok(seen.recovered.unwritten as f64),
        )
        .only_where(|seen| seen.recovered.taken_back.iter().any(Option::is_some)),
    ]
}

fn of_exposure() -> Vec<Row> {
    vec![
        Row::new(
            "one_copy_bytes",
            "bytes",
            "bytes of objects with a single copy (or just k shards), at the beginning or after the failure that leaves most of them",
            |seen| seen.at_least(seen.exposure.one_bytes),
        )
        .titled("Data with one copy left"),
        Row::new(
            "two_copies_bytes",
            "bytes",
            "bytes of objects that lack a copy and have two left, at the same moment",
            |seen| seen.at_least(seen.exposure.two_bytes),
        )
        .titled("Data with two copies left"),
        Row::new(
            "devices_critical",
            "devices",
            "devices of which each by itself would lose data, at the same moment",
            |seen| seen.at_least(seen.exposure.devices.len() as u64),
        ),
        Row::new(
            "hosts_critical",
            "hosts",
            "hosts of which each by itself would lose data, at the same moment",
            |seen| seen.at_least(seen.exposure.servers.len() as u64),
        ),
        Row::new(
            "data_loss_probability_fraction",
            "fraction",
            "that further failures of devices lose data before all copies are back, at most",
            Seen::loss,
        )
        .titled("Probability of losing data"),
    ]
}

fn of_groups() -> Vec<Row> {
    vec![
        Row::new(
            "groups_below_min_size",
            "groups",
            "placement groups left with fewer devices than `min_size` in the end",
            |seen| {
                let safety = &seen.moves.safety;
                let known = (safety.min_size_unknown == 0).then_some(safety.below_min_size as f64);
                known.ok_or_else(|| "the osd dump does not say the `min_size` of each pool".to_owned())
            },
        ),
        Row::new(
            "groups_on_old_devices",
            "groups",
            "placement groups with fewer devices than `min_size` by the map, which take writes only while the devices \
             that hold them now stay up",
            |seen| Ok(seen.moves.safety.on_old_devices as f64),
        ),
        Row::new(
            "below_min_size",
            "groups",
            "maximum number of placement groups that accepted no writes at the same time",
            Seen::waiting_groups,
        ),
        Row::new(
            "groups_short",
            "groups",
            "placement groups left with fewer devices than asked for in the end",
            |seen| Ok(seen.moves.groups_short as f64),
        ),
        Row::new(
            "groups_short_now",
            "groups",
            "placement groups that are now on fewer devices than asked for",
            |seen| Ok(seen.moves.safety.short_now as f64),
        ),
        Row::new("groups_homeless", "groups", "placement groups left without any device", |seen| {
            Ok(seen.moves.groups_homeless as f64)
        }),
        Row::new("groups_inactive_now", "groups", "placement groups that serve no requests now", |seen| {
            by_state(seen, |states| states.inactive)
        }),
        Row::new("groups_lost_now", "groups", "placement groups with unfound objects now", |seen| {
            by_state(seen, |states| states.lost)
        }),
        Row::new(
            "groups_incomplete_now",
            "groups",
            "placement groups of which nobody knows whether their data are lost, now",
            |seen| by_state(seen, |states| states.incomplete),
        ),
        Row::new(
            "groups_unknown_now",
            "groups",
            "placement groups whose state is unknown or stale now",
            |seen| by_state(seen, |states| states.unknown),
        ),
        Row::new(
            "groups_behind_now",
            "groups",
            "placement groups on all their devices, of which some lack copies of objects now",
            |seen| by_state(seen, |states| states.behind),
        ),
    ]
}

fn by_state(seen: &Seen, count: fn(&GroupStates) -> u64) -> Value {
    let states = &seen.moves.states;
    states.known(count(states)).ok_or_else(|| "the states of groups are in no export".to_owned())
}

fn of_devices() -> Vec<Row> {
    let row = |name: &'static str, about, of: fn((f64, f64)) -> f64| {
        Row::new(name, "share", about, move |seen: &Seen| {
            let fills = seen.moves.devices.values().filter_map(DeviceMoves::fill);
            let fullest = fills.map(of).max_by(f64::total_cmp);
            fullest.ok_or_else(|| "no export says how large the devices are".to_owned())
        })
    };
    let groups = |name: &'static str, about, of: fn(&DeviceMoves) -> u64| {
        Row::new(name, "groups", about, move |seen: &Seen| {
            Ok(seen.moves.devices.values().map(of).max().unwrap_or(0) as f64)
        })
    };
    vec![
        row("fill_max_before", "fill of the fullest device now", |fill| fill.0)
            .titled("Fill of the fullest device now"),
        row(
            "fill_max_after",
            "fill of the fullest device afterwards, if all that is to move moves",
            |fill| fill.1,
        )
        .titled("Fill of the fullest device afterwards")
        .formerly("max_device_fill"),
        groups("device_groups_max_before", "placement groups on the device with the most, now", |device| {
            device.present_shards
        }),
        groups("device_groups_max_after", "placement groups on the device with the most, then", |device| {
            device.target_shards
        }),
    ]
}

/// Why this scenario has no value of a measure, whatever happens in its runs.
#[must_use]
pub fn lacks(settled: &Settled, measure: &str) -> Option<&'static str> {
    match measure {
        name if name.starts_with("client_") && !settled.keys.clients.any() => {
            Some("there are no clients: set `client_load` or `client_depth`")
        }
        "peers_rate_correlation" if settled.keys.clients.any() => {
            Some("servers also serve clients, so their rates say little about peers")
        }
        "detection_s" | "down_out_s" | "groups_affected" | "objects_affected"
            if !settled.keyed().has("fail") =>
        {
            Some("nothing fails")
        }
        "objects_unwritten" if !settled.keyed().has("returns") => Some("nothing comes back: set `returns`"),
        "uplink_busy_max" if settled.keys.machines.uplink.is_none() => {
            Some("uplinks are not limited: `uplink` is not set")
        }
        _ => None,
    }
}
