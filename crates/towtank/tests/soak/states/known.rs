//! Laws that `whatif` breaks, and how. A law is taken out of this list once it holds: a long soak without a
//! violation of a law that is here fails too.

/// The law, and what is wrong.
pub(super) type Known = (&'static str, &'static str);

/// What breaks a law in about one of 1,000 clusters.
const SHARED: &str = "of a group that lacks nothing and does not move, two shards on a device or several on a \
    host are not looked at: seeds 21034, and 10039 of wide clusters";

pub(super) const KNOWN: [Known; 1] = [("failed: hosts critical", SHARED)];

/// Those that `whatif` breaks for wide clusters.
pub(super) const KNOWN_WIDE: [Known; 3] = [
    ("report alone: the same verdict", "not found out, with `nobackfill` set: seed 4283"),
    ("failed: devices critical", SHARED),
    ("failed: hosts critical", SHARED),
];
