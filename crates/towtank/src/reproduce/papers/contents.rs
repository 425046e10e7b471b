//! What each paper has, in its order.

use towtank_report::Table;
use towtank_studies::put::charts;

use super::{About, Drawn, Paper, Section};

/// Claims of a scenario by the beginning of their names.
const fn named(scenario: &'static str, starts: &'static str) -> About {
    About { scenario, starts, source_ends: "" }
}

/// Claims of the scenarios of puts by the end of their sources.
const fn of_puts(source_ends: &'static str) -> About {
    About { scenario: "put-*", starts: "", source_ends }
}

const fn drawn(scenario: &'static str, id: &'static str, title: &'static str) -> Drawn {
    Drawn { scenario, id, title, only: "" }
}

/// The throughput of the chunks of one size.
const fn throughput(scenario: &'static str, only: &'static str, title: &'static str) -> Drawn {
    Drawn { scenario, id: "throughput", title, only }
}

/// Some lines of a figure of the thesis.
const fn thesis(id: &'static str, only: &'static str, title: &'static str) -> Drawn {
    Drawn { scenario: "backfill-thesis", id, title, only }
}

const fn section(title: &'static str, figures: &'static [Drawn], claims: &'static [About]) -> Section {
    Section { title, figures, table: None, claims }
}

/// A figure of the paper that is an example of messages.
const fn chart(title: &'static str, make: fn() -> Table) -> Section {
    Section { title, figures: &[], table: Some(make), claims: &[] }
}

/// All papers, the most important first.
pub(super) const PAPERS: &[Paper] = &[
    Paper {
        short: "Data placement",
        title: "Impact of Data Placement on Resilience in Large-Scale Object Storage Systems",
        about: "Slides of MSST 2016. Their plots are not published as numbers; claims are what the slides and the abstract say.",
        sections: DATA_PLACEMENT,
    },
    Paper {
        short: "Replicast",
        title: "Scalable object storage with resource reservations and dynamic load balancing",
        about: "Aizman and Bestler. Tables have numbers; of the figures, what the text says is compared.",
        sections: REPLICAST,
    },
    Paper {
        short: "Capacity",
        title: "Fighting with Unknowns: performance from two measurements",
        about: "Ra and Lee. The paper measured its own Ceph and Swift; the figures here are of a small Ceph on one machine.",
        sections: CAPACITY,
    },
    Paper {
        short: "Merkle trees",
        title: "Ceph backfill with incrementally kept Merkle trees",
        about: "A thesis that measured a modified Ceph; and backfills of a real Ceph 16, measured for this comparison.",
        sections: MERKLE,
    },
    Paper {
        short: "PFSsim",
        title: "PFSsim: simulating I/O schedulers of parallel file systems",
        about: "Its plots are not published as numbers; what its text says of them is compared.",
        sections: PFSSIM,
    },
    Paper {
        short: "Ceph QoS",
        title: "QoS study with mClock and WPQ schedulers",
        about: "Ceph's developer documentation, 2021: a backfill beside a client, on a cluster of four disks.",
        sections: QOS,
    },
    Paper {
        short: "Queueing theory",
        title: "Queueing theory",
        about: "Closed forms, against which the kernel and its random draws are held.",
        sections: QUEUES,
    },
];

const DATA_PLACEMENT: &[Section] = &[
    section(
        "Slide: aggregate rebuild bandwidth example",
        &[
            drawn("rebuild-scaling", "scaling", "Slide: aggregate rebuild bandwidth by number of servers"),
            drawn(
                "rebuild-scaling-boxes",
                "scaling",
                "Slide: the same at every power of two, over ten seeds, with 8 TiB on each server",
            ),
        ],
        &[named("rebuild-pair", ""), named("rebuild-scaling", "groups_fall_behind")],
    ),
    section(
        "Slide: a closer look at inter-server traffic",
        &[
            drawn("rebuild-64", "traffic", "Slide: inter-server traffic"),
            drawn(
                "rebuild-64",
                "evenness",
                "Slide: even utilisation before, uneven traffic during the rebuild",
            ),
            drawn("rebuild-64", "peers", "Slide: more active peers, higher rate"),
        ],
        &[named("rebuild-64", "active_peers"), named("rebuild-peers", "")],
    ),
    section(
        "Slide: where were objects reconstructed?",
        &[
            drawn("rebuild-64", "rebuilt", "Slide: where objects were reconstructed"),
            drawn("rebuild-groups", "rebuild", "Slide: groups that each server rebuilds, over all seeds"),
        ],
        &[named("rebuild-groups", "")],
    ),
    section(
        "Slide: tuning placement to improve the aggregate rebuild rate",
        &[drawn(
            "rebuild-64",
            "rates",
            "Slide: aggregate rebuild rate of 64 servers, groups against objects",
        )],
        &[
            named("rebuild-64", ""),
            named("rebuild-scaling", "objects_"),
            named("rebuild-scaling", "linear_"),
            named("rebuild-scaling", "headline_"),
        ],
    ),
    section(
        "Slide: contrasting data populations, the file-level perspective",
        &[drawn("rebuild-data-sets", "file_sizes", "Slide: file sizes")],
        &[named("rebuild-data-sets", "mira_fullest_file_bin")],
    ),
    section(
        "Slide: contrasting data populations, the object-level perspective",
        &[drawn("rebuild-data-sets", "object_sizes", "Slide: object sizes")],
        &[named("rebuild-data-sets", "genomes_fullest_object_bin")],
    ),
    section(
        "Slide: contrasting data populations, the rebuild algorithm perspective",
        &[drawn("rebuild-data-sets", "scaling", "Slide: aggregate rebuild rate of both data sets")],
        &[named("rebuild-data-sets", "")],
    ),
];

const REPLICAST: &[Section] = &[
    chart("Figure 2: reservations", charts::reservations),
    section(
        "Section II.C: gets, which the paper does not simulate",
        &[Drawn {
            scenario: "put-reads",
            id: "get_latency",
            title: "Section II.C: latency of gets of 90 gateways by the speed of reads",
            only: "gateways = 90",
        }],
        &[named("put-reads", "")],
    ),
    chart("Figure 6: unicast with a captive congestion point", charts::shared_link),
    section("Section IV.E: multicast groups", &[], &[of_puts("section IV.E")]),
    section(
        "Table 2: disks of 400 MiB/s",
        &[
            drawn("put-table2-128k", "throughput", "Table 2: throughput, 128 KiB"),
            drawn("put-table2-1m", "throughput", "Table 2: throughput, 1 MiB"),
        ],
        &[of_puts("table 2")],
    ),
    section(
        "Figure 8",
        &[drawn(
            "put-figure8",
            "latency_over_time",
            "Figure 8: put latency of 30 gateways, 16 KiB, 400 MiB/s",
        )],
        &[of_puts("figure 8")],
    ),
    section(
        "Figure 9",
        &[drawn("put-figure9", "throughput", "Figure 9: put throughput, 128 KiB")],
        &[of_puts("figure 9")],
    ),
    section(
        "Table 3: disks of 1000 MiB/s",
        &[
            drawn("put-table3-128k", "throughput", "Table 3: throughput, 128 KiB"),
            drawn("put-table3-1m", "throughput", "Table 3: throughput, 1 MiB"),
        ],
        &[of_puts("table 3")],
    ),
    section("Table 4: the lab cluster", &[], &[of_puts("table 4")]),
    section("Table 5: undecided bids", &[], &[of_puts("table 5")]),
    section(
        "Figure 10",
        &[
            drawn("put-table2-16k", "throughput", "Figure 10: throughput of 90 gateways, 16 KiB, 400 MiB/s"),
            drawn("put-table3-16k", "throughput", "Figure 10: throughput of 90 gateways, 16 KiB, 1000 MiB/s"),
        ],
        &[of_puts("figure 10")],
    ),
    section(
        "Figure 11",
        &[
            drawn("put-table2-16k", "sorted_latency", "Figure 11: sorted put latency, 16 KiB, 400 MiB/s"),
            drawn("put-table3-16k", "sorted_latency", "Figure 11: sorted put latency, 16 KiB, 1000 MiB/s"),
        ],
        &[of_puts("figure 11")],
    ),
    section(
        "Figures 12 and 13",
        &[
            throughput(
                "put-figures-12-13",
                "chunk = 128KiB",
                "Figure 12: throughput of 30 gateways, 128 KiB",
            ),
            throughput("put-figures-12-13", "chunk = 1MiB", "Figure 13: throughput of 30 gateways, 1 MiB"),
        ],
        &[of_puts("figure 12"), of_puts("figure 13"), of_puts("figures 12 and 13")],
    ),
    section(
        "Section IV.H: utilisation of the disks",
        &[drawn("put-figures-9-10", "sweep_utilisation", "Section IV.H: utilisation by size of chunks")],
        &[of_puts("section IV.H")],
    ),
    section("The model code of its simulator", &[], &[of_puts("")]),
];

const CAPACITY: &[Section] = &[
    section(
        "Figure 2 (a): C by read share",
        &[drawn("capacity-ceph", "c_values", "Figure 2 (a): C by read share")],
        &[named("capacity-ceph", "constant_c_")],
    ),
    section(
        "Figure 2 (b) and (c): estimation errors",
        &[
            drawn("capacity-ceph", "errors_small", "Figure 2 (b): errors, small operations"),
            drawn("capacity-ceph", "errors_large", "Figure 2 (c): errors, large operations"),
        ],
        &[named("capacity-ceph", "error_")],
    ),
    section(
        "Figure 3: the cost of a write",
        &[drawn("capacity-ceph", "f_rw", "Figure 3: f_rw, the cost of a write in reads")],
        &[named("capacity-ceph", "f_rw_")],
    ),
    section(
        "Figures 4 and 5: mixes of sizes",
        &[
            drawn("capacity-ceph", "mixed_sizes_operations", "Figure 4: mixes of sizes, one stream"),
            drawn("capacity-ceph", "mixed_sizes_concurrency", "Figure 4: mixes of sizes, two streams"),
            drawn("capacity-ceph", "mixed_sizes_errors_operations", "Figure 5: their errors, one stream"),
            drawn("capacity-ceph", "mixed_sizes_errors_concurrency", "Figure 5: their errors, two streams"),
        ],
        &[named("capacity-ceph", "sizes_")],
    ),
];

const MERKLE: &[Section] = &[
    section(
        "Equations (1), (5) and (6)",
        &[],
        &[named("backfill-thesis*", "equation_"), named("backfill-thesis*", "memory")],
    ),
    section("Figure 15", &[], &[named("backfill-thesis*", "figure_15")]),
    section(
        "Figures 17 and 18: recovering 1,000 objects",
        &[drawn("backfill-thesis-thousand", "time", "Figures 17 and 18: time to recover 1,000 objects")],
        &[named("backfill-thesis-thousand", "figure_17"), named("backfill-thesis-thousand", "figure_18")],
    ),
    section(
        "Figures 19 to 22: times over that of a scan",
        &[thesis(
            "share",
            "merkle, ranges = 16384",
            "Figures 19 to 22: time with trees of 16 Ki ranges, over that of a scan",
        )],
        &[
            named("backfill-thesis", "figure_19"),
            named("backfill-thesis", "figure_2"),
            named("backfill-thesis", "more_ranges_"),
        ],
    ),
    section(
        "Figure 27 and table 2: times",
        &[thesis("time", "ranges = 16384", "Figure 27: time of the backfill, 16 Ki ranges")],
        &[named("backfill-thesis", "table_2")],
    ),
    section(
        "Backfills of Ceph 16, measured",
        &[drawn("backfill-ceph16", "time", "Measured Ceph 16: time of the backfill in the model")],
        &[named("backfill-ceph16", "")],
    ),
];

const PFSSIM: &[Section] = &[
    section(
        "Figure 2: throughput by number of clients",
        &[
            drawn("pfs-reads", "throughput", "Figure 2: throughput of reads"),
            drawn("pfs-writes", "throughput", "Figure 2: throughput of writes"),
        ],
        &[
            named("pfs-reads", "t1_"),
            named("pfs-reads", "t2_"),
            named("pfs-reads", "t3_"),
            named("pfs-writes", "t4_"),
        ],
    ),
    section(
        "Figure 3: response time by number of clients",
        &[
            drawn("pfs-reads", "latency_mean", "Figure 3: mean response time of reads"),
            drawn("pfs-writes", "latency_mean", "Figure 3: mean response time of writes"),
        ],
        &[named("pfs-reads", "t5_"), named("pfs-writes", "t5_")],
    ),
    section(
        "Figure 4: shares of two groups",
        &[drawn("pfs-shares", "shares", "Figure 4: shares of two groups, against their weights")],
        &[named("pfs-shares", "")],
    ),
];

const QOS: &[Section] = &[
    section(
        "mClock",
        &[drawn("qos-mclock", "progress", "mClock: progress of the recovery by profile")],
        &[named("qos-mclock", "")],
    ),
    section("WPQ", &[drawn("qos-wpq", "progress", "WPQ: progress of the recovery")], &[named("qos-wpq", "")]),
    section(
        "WPQ, boosted",
        &[drawn("qos-wpq-boosted", "progress", "WPQ with 1,000 backfills: progress of the recovery")],
        &[named("qos-wpq-boosted", "")],
    ),
];

const QUEUES: &[Section] = &[
    section(
        "M/M/1",
        &[drawn("queue-mm1", "replicates", "M/M/1: replicates and the closed form")],
        &[named("queue-mm1", "")],
    ),
    section(
        "A network of queues",
        &[drawn(
            "queue-network",
            "responses",
            "A network of queues: time at a station, beside the closed form",
        )],
        &[named("queue-network", "")],
    ),
];
