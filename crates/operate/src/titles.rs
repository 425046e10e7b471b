//! Titles of the measures that several studies of real clusters have.

use towtank_study::Measure;

const TITLES: [(&str, &str); 20] = [
    ("upmaps_dropped", "Explicit mappings that the monitors drop"),
    ("primaries_changed", "Groups with another primary"),
    ("groups_affected", "Groups with data on what fails"),
    ("objects_affected", "Objects with data on what fails"),
    ("objects_unwritten", "Copies that count again at once"),
    ("devices_critical", "Devices that would lose data by themselves"),
    ("hosts_critical", "Hosts that would lose data by themselves"),
    ("groups_below_min_size", "Groups with too few devices for writes in the end"),
    ("groups_on_old_devices", "Groups that take writes only while their old devices stay up"),
    ("groups_short", "Groups with too few devices in the end"),
    ("groups_short_now", "Groups with too few devices now"),
    ("groups_homeless", "Groups without a device in the end"),
    ("groups_inactive_now", "Groups that serve no requests now"),
    ("groups_lost_now", "Groups with unfound objects now"),
    ("groups_incomplete_now", "Groups that may have lost data now"),
    ("groups_unknown_now", "Groups in an unknown state now"),
    ("groups_behind_now", "Groups that lack copies of objects now"),
    ("device_groups_max_before", "Most groups on one device now"),
    ("device_groups_max_after", "Most groups on one device afterwards"),
    ("below_min_size", "Maximum of groups that accepted no writes"),
];

/// The same measures, with these titles.
pub(crate) fn titled<S>(measures: Vec<Measure<S>>) -> Vec<Measure<S>> {
    let of = |measure: Measure<S>| {
        let found = TITLES.iter().find(|(name, _)| *name == measure.name);
        match found {
            Some((_, title)) => measure.titled(*title),
            None => measure,
        }
    };
    measures.into_iter().map(of).collect()
}
