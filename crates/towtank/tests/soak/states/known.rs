//! Laws that `whatif` breaks, and how. A law is taken out of this list once it holds: 300 clusters without a
//! violation of a law that is here fail the test too.

/// The law, and what is wrong.
pub(super) const KNOWN: [(&str, &str); 23] = [
    ("all: there is an answer", "it panics where one device has two shards of a group"),
    ("failed: a flag that stops backfills leaves no time", "norecover and nobackfill are not looked at"),
    ("failed: a rebuild takes time", "what is copied before the failure is detected counts as never missing"),
    ("failed: bytes with one copy", "a group that is down counts by the devices that would serve it"),
    ("failed: devices critical", "the same; and a device with two shards of a group counts once"),
    ("failed: groups below min_size", "the same; and they are counted from the detection of a failure on"),
    ("failed: hosts critical", "a group that is down counts by the devices that would serve it"),
    ("failed: lost objects", "of a group that is incomplete nothing counts as lost"),
    ("failed: nodown leaves no time", "nodown is not looked at"),
    ("failed: not safe under nodown", "nodown is not looked at"),
    ("failed: not safe while a flag stops rebuilds", "norecover and nobackfill are not looked at"),
    ("failed: not safe while groups are unknown", "groups that the dump lacks are not missed"),
    ("moves only: not safe while groups are unknown", "groups that the dump lacks are not missed"),
    (
        "now: a flag that stops backfills leaves no time to clean",
        "norecover and nobackfill are not looked at",
    ),
    ("now: a flag that stops backfills leaves no time to redundancy", "the same"),
    ("now: a log recovery takes time", "groups that are degraded, but on all devices, take no time"),
    ("now: groups below min_size", "groups that are down or incomplete are not counted"),
    ("now: groups to move", "groups without objects are counted"),
    ("now: norebalance leaves no time to clean", "norebalance is not looked at"),
    ("now: not safe while groups are unknown", "groups that the dump lacks are not missed"),
    ("now: what is never clean has no time", "groups that are down or incomplete count as clean"),
    ("report alone: the same groups below min_size", "states of groups and pg_temp are not looked at"),
    ("report alone: the same verdict", "states of groups and pg_temp are not looked at"),
];
