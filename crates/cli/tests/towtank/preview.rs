//! `towtank preview` as users run it: the cluster of the guide, and exports as irregular as real ones.

use insta::assert_snapshot;

use super::tool::{EXPORTS, Folder, Said, example, groups};

fn preview(folder: &Folder, more: &[&str]) -> Said {
    folder.run(&[&["preview"], &EXPORTS[..], more, &["--quiet", "--verbose"]].concat())
}

fn brief(folder: &Folder, more: &[&str]) -> String {
    preview(folder, more).brief()
}

#[test]
fn the_whole_answer_at_eighty_columns() {
    assert_snapshot!(preview(&Folder::with_cluster("preview"), &["--mark-out", "osd.5"]).without_keys(), @"
    osd.5 out: 77/288 (26.74 %) groups, 2.598 TiB/30.03 TiB (8.7 %) bytes to move; the least     AT RISK
    possible is 2.463 TiB.
    because     osd.4 would be 91.6 % full with all that is to move there, above backfillfull (90 %)

    danger      osd.4 would be more than 90 % full (backfillfull), where Ceph moves nothing more onto
                it, so the change stops half-way

    Results of each pool
    Pool     Groups  Moved [groups]  Stored [TiB]  Moved [TiB]
    rbd         256              68        26.4         2.346
    archive      32               9         3.633       0.2513

    Summary over 1 replicate
                                     mean  95 % interval
    moved_bytes            2.598 TiB
    moved_fraction         8.651 %
    moved_groups              77 groups
    moved_shards              77 shards
    minimum_bytes          2.463 TiB
    pending_bytes              0 B
    stored_bytes           30.03 TiB
    primaries_changed         25 groups
    upmaps_dropped             6 mappings
    groups_short               0 groups
    groups_homeless            0 groups
    groups_below_min_size      0 groups
    groups_on_old_devices      0 groups
    groups_short_now           0 groups
    groups_inactive_now        0 groups
    groups_lost_now            0 groups
    groups_incomplete_now      0 groups
    groups_unknown_now         0 groups
    fill_max_before        71.84 %
    fill_max_after         91.61 %

    Results of each device
    Bytes of objects; each copy and shard counts. Fill is the used space that the device reports,
    overheads included, minus outgoing and plus incoming objects.
    Device  Host  In [GiB]  Out [TiB]  Objects before [TiB]  Objects after [TiB]  Shards before
    osd.0   h0      209.8      0                    2.514                2.719               75
    osd.1   h0       36.53     0                    2.505                2.541               75
    osd.2   h0      212.3      0                    2.395                2.602               71
    osd.3   h0        0        0                    0.08673              0.08673              3
    osd.4   h1      760.2      0                    2.539                3.281               76
    osd.5   h1        0        2.463                2.463                0                   73
    osd.6   h1      550.4      0.1352               2.405                2.808               71
    osd.7   h1      112.1      0                    0.1138               0.2232               4
    osd.8   h2       70.23     0                    2.405                2.474               71
    osd.9   h2       71.41     0                    2.484                2.554               74
    osd.10  h2      139.1      0                    2.39                 2.526               71
    osd.11  h2        0        0                    0.2289               0.2289               8
    osd.12  h3      282.9      0                    2.37                 2.646               70
    osd.13  h3       35.05     0                    2.429                2.463               72
    osd.14  h3      180        0                    2.561                2.737               77
    osd.15  h3        0        0                    0.1398               0.1398               5

    Device  Shards after  Fill before [percent]  Fill after [percent]
    osd.0             81                 70.51                 76.15
    osd.1             76                 70.27                 71.25
    osd.2             77                 67.18                 72.88
    osd.3              3                  4.917                 4.917
    osd.4             98                 71.2                  91.61
    osd.5              0                 69.07                  1.381
    osd.6             83                 67.46                 78.52
    osd.7              8                  6.432                12.45
    osd.8             73                 67.46                 69.35
    osd.9             76                 69.68                 71.6
    osd.10            75                 67.04                 70.78
    osd.11             8                 12.89                 12.89
    osd.12            78                 66.47                 74.06
    osd.13            73                 68.13                 69.07
    osd.14            82                 71.84                 76.68
    osd.15             5                  7.893                 7.893

    Flows between devices
    The largest first. A missing copy or shard comes from the primary of its group.
    From   To      Moved [GiB]
    osd.5  osd.4        689.8
    osd.5  osd.6        550.4
    osd.5  osd.12       282.9
    osd.5  osd.14       180
    osd.5  osd.2        178.5
    osd.5  osd.0        175.7
    osd.5  osd.10       139.1
    osd.5  osd.7        112.1
    osd.5  osd.9         71.41
    osd.6  osd.4         70.43
    osd.5  osd.8         70.23
    osd.5  osd.1         36.53
    osd.5  osd.13        35.05
    osd.6  osd.0         34.17
    osd.6  osd.2         33.82

    seed 1, executor sequential, digest KEY, scenario
    KEY, towtank 0.1.0 (results 10)
    --
    exit 0
    ");
}

#[test]
fn near_names_are_suggested() {
    let folder = Folder::with_cluster("preview_names");
    assert_snapshot!(preview(&folder, &["--mark-out", "osd.55"]), @r#"
    error: `mark_out` is "osd.55": there is no device or bucket called `osd.55`
      --> --mark-out osd.55
                     ^^^^^^
    hint: the devices are osd.0 to osd.15
    exit 2
    "#);
    assert_snapshot!(preview(&folder, &["--remove", "host=h22"]), @r#"
    error: `remove` is "host=h22": there is no device or bucket called `h22`
      --> --remove host=h22
                   ^^^^^^^^
    hint: did you mean `h2`?
    exit 2
    "#);
    assert_snapshot!(preview(&folder, &["--pg-num", "archiv=64"]), @r#"
    error: `pg_num` is "archiv=64": there is no pool called `archiv`
      --> --pg-num archiv=64
                   ^^^^^^^^^
    hint: did you mean `archive`?
    exit 2
    "#);
    assert_snapshot!(preview(&folder, &["--rule", "rbd=by_rack"]), @r#"
    error: `rule` is "rbd=by_rack": there is no rule called `by_rack`
      --> --rule rbd=by_rack
                 ^^^^^^^^^^^
    hint: the rules of the map are 0 (replicated_rule), 1 (coded)
    exit 2
    "#);
    assert_snapshot!(preview(&folder, &["--rule", "rbd=coded"]), @r#"
    error: `rule` is "rbd=coded": rule `coded` is for erasure-coded pools, but pool `rbd` is replicated
      --> --rule rbd=coded
                 ^^^^^^^^^
    hint: the only rule for replicated pools is 0 (replicated_rule)
    exit 2
    "#);
    assert_snapshot!(preview(&folder, &["--mark-of", "osd.5"]), @r"
    error: unexpected argument '--mark-of' found

      tip: a similar argument exists: '--mark-out'

    Usage: towtank preview --crush-map <VALUE> --osd-dump <VALUE> --pg-dump <VALUE> --mark-out <VALUE>

    For more information, try '--help'.
    exit 2
    ");
}

#[test]
fn removing_every_device_is_an_answer() {
    assert_snapshot!(brief(&Folder::with_cluster("preview_all"), &["--remove", "default"]), @"
    possible is 0 B.
    because     288 groups would have fewer than `min_size` devices by the map, and would take writes
                only while those that hold them now stay up

    Results of each pool
    Pool     Groups  Moved [groups]  Stored [TiB]  Moved [B]
    rbd         256               0        26.4            0
    archive      32               0         3.633          0
    exit 0
    ");
}

#[test]
fn exports_that_disagree_are_refused_or_reported() {
    let folder = Folder::with_cluster("preview_disagree");
    let dump = String::from_utf8(example("osd_dump.json")).expect("it is text");
    folder.write("osd_dump.json", dump.replace("\"crush_rule\":1", "\"crush_rule\":7"));
    assert_snapshot!(preview(&folder, &[]), @r"
    error: `osd_dump.json`: `pools[1].crush_rule`: pool `archive` has rule 7, which `crush.txt` lacks
      --> --osd-dump osd_dump.json
                     ^^^^^^^^^^^^^
    hint: export both at the same time; the rules of the map are 0 (replicated_rule), 1 (coded)
    exit 2
    ");
    folder.write("osd_dump.json", dump.replace("\"pool\":2,", "\"pool\":5,"));
    assert_snapshot!(brief(&folder, &[]), @"
    0 B.
    because     32 groups are in an unknown state

    unknown     `pg_dump.json.gz` has 32 groups of pool 2, which the osd dump lacks: left out
    unknown     `pg_dump.json.gz` lacks 32 groups of pool `archive`, such as 5.0: counted as empty

    Results of each pool
    Pool     Groups  Moved [groups]  Stored [TiB]  Moved [B]
    rbd         256               0          26.4          0
    archive      32               0           0            0

    note        nothing is changed; data that moves is already in transit
    exit 0
    ");
    folder.write("osd_dump.json", dump.replace("\"osd\":15,", "\"osd\":25,"));
    assert_snapshot!(brief(&folder, &[]), @"
    error: `pg_dump.json.gz`: `up` of group 2.6 has osd.15, which `osd_dump.json` lacks
      --> --pg-dump pg_dump.json.gz
                    ^^^^^^^^^^^^^^^
    hint: export both at the same time: `ceph osd dump -f json` and `ceph pg dump -f json`
    exit 2
    ");
    folder.write("osd_dump.json", "{}");
    assert_snapshot!(preview(&folder, &[]), @r"
    error: `osd_dump.json`: missing field `pools` (line 1, column 2)
      --> --osd-dump osd_dump.json
                     ^^^^^^^^^^^^^
    hint: it should be the output of `ceph osd dump -f json`
    exit 2
    ");
    folder.write("osd_dump.json", &dump[..dump.len() / 2]);
    assert_snapshot!(preview(&folder, &[]), @r"
    error: `osd_dump.json`: `osds[12].?`: it ends too early: EOF while parsing an object (line 18, column 81)
      --> --osd-dump osd_dump.json
                     ^^^^^^^^^^^^^
    hint: export it again, in full
    exit 2
    ");
}

#[test]
fn messy_exports_are_read() {
    let folder = Folder::with_cluster("preview_messy");
    let want = preview(&folder, &["--mark-out", "osd.5", "--format", "csv"]).data();
    let groups = groups();
    // Uncompressed, and with the line that `ceph pg dump` prints before its JSON.
    folder.write("pg_dump.json.gz", format!("dumped all\n{groups}"));
    assert_eq!(preview(&folder, &["--mark-out", "osd.5", "--format", "csv"]).data(), want);
    // Invalid numbers, as in `ceph osd df` and in statistics of empty pools.
    folder.write("pg_dump.json.gz", groups.replacen("\"num_objects\":8930", "\"num_objects\":nan", 1));
    assert_eq!(preview(&folder, &["--mark-out", "osd.5", "--format", "csv"]).data(), want);
    folder.write("pg_dump.json.gz", groups.replacen("\"num_bytes\":37455134720", "\"num_bytes\":inf", 1));
    assert_snapshot!(brief(&folder, &["--mark-out", "osd.5"]), @"
    possible is 2.429 TiB.
    because     osd.4 would be 90.7 % full with all that is to move there, above backfillfull (90 %)

    danger      osd.4 would be more than 90 % full (backfillfull), where Ceph moves nothing more onto
                it, so the change stops half-way

    Results of each pool
    Pool     Groups  Moved [groups]  Stored [TiB]  Moved [TiB]
    rbd         256              68        26.29        2.312
    archive      32               9         3.633       0.2513

    note        `pg_dump.json.gz` has 1 number that is nan or infinite; counted as missing
    exit 0
    ");
    folder.write("pg_dump.json.gz", groups.replacen("\"active+clean\"", "\"stale+down\"", 1));
    assert_snapshot!(brief(&folder, &["--mark-out", "osd.5"]), @"
    possible is 2.429 TiB.
    because     1 group is in an unknown state; osd.4 would be 90.7 % full with all that is to move
                there, above backfillfull (90 %)

    danger      osd.4 would be more than 90 % full (backfillfull), where Ceph moves nothing more onto
                it, so the change stops half-way
    unknown     1 of 288 groups in `pg_dump.json.gz` are stale: they have not been reported for a while,
                so their sizes are old

    Results of each pool
    Pool     Groups  Moved [groups]  Stored [TiB]  Moved [TiB]
    rbd         256              67        26.29        2.312
    archive      32               9         3.633       0.2513
    exit 0
    ");
    folder.write("pg_dump.json.gz", groups.replacen("\"pg_ready\":true", "\"pg_ready\":false", 1));
    assert_snapshot!(brief(&folder, &["--mark-out", "osd.5"]), @"
    possible is 2.463 TiB.
    because     osd.4 would be 91.6 % full with all that is to move there, above backfillfull (90 %)

    danger      osd.4 would be more than 90 % full (backfillfull), where Ceph moves nothing more onto
                it, so the change stops half-way
    unknown     `pg_dump.json.gz`: `pg_ready`: the manager had not heard from every device when it was
                made; sizes and locations of some groups may be out of date

    Results of each pool
    Pool     Groups  Moved [groups]  Stored [TiB]  Moved [TiB]
    rbd         256              68        26.4         2.346
    archive      32               9         3.633       0.2513
    exit 0
    ");
    folder.write("pg_dump.json.gz", "dumped all\n");
    assert_snapshot!(preview(&folder, &[]), @"
    error: `pg_dump.json.gz`: the file contains no JSON
      --> --pg-dump pg_dump.json.gz
                    ^^^^^^^^^^^^^^^
    hint: it should be the output of `ceph pg dump -f json`
    exit 2
    ");
    folder.write("pg_dump.json.gz", &example("pg_dump.json.gz")[..200]);
    assert_snapshot!(preview(&folder, &[]), @r"
    error: `pg_dump.json.gz`: it is compressed with gzip and damaged: incomplete deflate stream
      --> --pg-dump pg_dump.json.gz
                    ^^^^^^^^^^^^^^^
    hint: copy or compress it again
    exit 2
    ");
}
