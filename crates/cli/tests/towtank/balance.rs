//! `towtank balance` as users run it: the cluster of the guide, and what is wrong or missing.

use insta::assert_snapshot;

use super::tool::{EXPORTS, Folder, Said, groups};

/// The cluster with one part of the dump of groups replaced.
fn planted(name: &str, from: &str, to: &str) -> Folder {
    let text = groups();
    assert!(text.contains(from), "the dump has no `{from}`");
    let folder = Folder::with_cluster(name);
    folder.write("pg_dump.json.gz", text.replace(from, to));
    folder
}

/// The cluster with another used space of osd.14, in KiB.
fn osd_14_uses(name: &str, kib: &str) -> Folder {
    let size = r#""osd":14,"kb":3906272755,"kb_used":"#;
    planted(name, &format!("{size}2806402785"), &format!("{size}{kib}"))
}

fn balance(folder: &Folder, more: &[&str]) -> Said {
    folder.run(&[&["balance"], &EXPORTS[..], more, &["--quiet", "--verbose"]].concat())
}

fn brief(folder: &Folder, more: &[&str]) -> String {
    balance(folder, more).brief()
}

#[test]
fn the_whole_answer() {
    assert_snapshot!(balance(&Folder::with_cluster("balance"), &[]).without_keys(), @"
    The fullest device, osd.14, is 71.8 % full; weight and rule alone would make it 69 %, and    AT RISK
    an even fill 60.2 %.
    because     nothing more fits after the loss of h0: a device would be 101 % full

    The plan, stage by stage
    Time is that of the bytes alone: the device that takes most, without a pause, at the write rate of
    its class in data sheets (190 MB/s hdd, 500 MB/s ssd, 2 GB/s others). Peering, reads, seeks, rests
    (`osd_recovery_sleep`), reservations (`osd_max_backfills`) and clients make it longer: `towtank
    whatif --upmap-items` simulates them. Fill and usable are those after the stage, with all copies
    where the map puts them. Usable: all pools grow in proportion.
    Stage  Moves [shards]  Moved [GiB]  Time at least [min]  Slowest  Fill max after [percent]
        1               2        73.48                3.466  osd.12                      70.86
        2               2        73.38                3.471  osd.12                      70.27
        3               2        74.11                3.511  osd.6                       69.88
        4               3        90.43                3.083  osd.13                      69.28

    Stage  Usable after [TiB]  Won [GiB]
        1               3.679      202.5
        2               3.802      125.6
        3               3.881       81.3
        4               4.009      130.5

    limit       causes, in percent points: too few groups +10.0, rules that keep copies apart and pools
                to their devices +8.6, explicit mappings -7.7, groups of unequal size between pools
                +0.4, overheads that differ between devices +0.2, groups of unequal size within pools
                +0.2
    try         9 moves in 4 stages (311.4 GiB: 13.53 min for the bytes alone; 1.377 h (0.8965 to 1.485
                h) until all groups are clean, if all are made at once) win 539.9 GiB; the fullest
                device is then 69.3 % full
    also        3.481 TiB more fit until a device is full, 4.112 TiB if every group were placed as well
                as rule and class allow, 0 B after the loss of h0 (a device would be 101 % full)
    assumed     the time until all groups are clean is that of `towtank whatif` with its usual speeds of
                disks and release

    Summary over 1 replicate
                                               mean  95 % interval
    max_device_fill                  71.84 %
    fill_max_ideal                   69.03 %
    fill_max_after                   69.28 %
    fill_even                        60.17 %
    added_by_overheads              0.2251 %
    added_by_rule                    8.638 %
    added_by_crush_weights        4.274e-6 %
    added_by_reweights                   0 %
    added_by_draws                       0 %
    added_by_too_few_groups          9.961 %
    added_by_sizes_between_pools    0.4113 %
    added_by_sizes_within_pools     0.1825 %
    added_by_upmaps                 -7.745 %
    added_by_moves_under_way             0 %
    not_explained                        0 %
    usable_bytes                     3.481 TiB
    usable_bytes_balanced            4.112 TiB
    usable_bytes_after_plan          4.009 TiB
    usable_bytes_after_loss              0 B
    usable_bytes_lost                645.4 GiB
    moved_bytes                      311.4 GiB
    moved_shards                         9 shards
    moved_groups                         9 groups
    plan_time_at_least_s             13.53 min
    plan_time_s                      1.377 h
    plan_time_low_s                  53.79 min
    plan_time_high_s                 1.485 h
    upmaps                              28 mappings
    upmaps_dropped                       0 mappings
    upmaps_to_fuller                    12 mappings
    stored_bytes                     30.03 TiB
    pending_bytes                        0 B
    device_groups_max_before            77 groups
    device_groups_max_after             74 groups
    groups_short_now                     0 groups
    groups_inactive_now                  0 groups
    groups_lost_now                      0 groups
    groups_incomplete_now                0 groups
    groups_unknown_now                   0 groups

    Why the fullest device is so full
    The fill of the fullest device, computed with one more fact in each row. Added are percent points;
    they sum to the fill that is reported. What a row adds depends on the rows above it.
    Cause                Added [percent]  Fill [percent]  Fullest  Meaning
    even_fill                  60.17               60.17  all      all devices equally full
    overheads                   0.2251             60.4   osd.14   overheads that differ between devices
    rule                        8.638              69.03  osd.14   rules that keep copies apart and
                                                                   pools to their devices
    crush_weights               4.274e-6           69.03  osd.14   weights that do not fit the sizes of
                                                                   devices
    reweights                   0                  69.03  osd.14   overrides of weights
    draws                       0                  69.03  osd.14   draws of CRUSH, which give heavy
                                                                   hosts less than their weight
    too_few_groups              9.961              78.99  osd.13   too few groups
    sizes_between_pools         0.4113             79.41  osd.13   groups of unequal size between pools
    sizes_within_pools          0.1825             79.59  osd.13   groups of unequal size within pools
    upmaps                     -7.745              71.84  osd.14   explicit mappings
    not_explained               0                  71.84  osd.14   the rest, which the exports do not
                                                                   explain

    What still fits
    Bytes of objects, without copies, until the first device is 95 % full (`full_ratio`), if this pool
    alone grows, evenly over its groups; overheads do not grow. Last row: all pools grow in proportion.
    Balanced is a bound: no placement within rules and device classes holds more. After the loss of the
    worst host its devices are out, and all copies are made again.
    Pool               Stored [TiB]  Usable [TiB]  Balanced [TiB]  After plan [TiB]  After loss [B]
    rbd                       8.799         3.37            3.804             3.725               0
    archive                   1.817         4.147           6.763             4.657               0
    all in proportion        10.62          3.481           4.112             4.009               0

    Pool               Worst host  First full
    rbd                h0          osd.14
    archive            h0          osd.14
    all in proportion  h0          osd.14

    Commands of the plan
    To paste, stage by stage, each when the one before has ended (HEALTH_OK). Towtank runs none of them.
    Switch the balancer off before (`ceph balancer off`), or it may move the groups back.
    Stage  Command
        1  ceph osd pg-upmap-items 1.46 4 10
        1  ceph osd pg-upmap-items 1.d1 14 12
        2  ceph osd pg-upmap-items 1.2d 1 8 14 2
        2  ceph osd pg-upmap-items 1.f3 0 12
        3  ceph osd pg-upmap-items 1.86 4 6
        3  ceph osd pg-upmap-items 1.cf 1 8
        4  ceph osd pg-upmap-items 1.e6 14 13
        4  ceph osd pg-upmap-items 2.12 9 10
        4  ceph osd pg-upmap-items 2.1d 0 2

    Numbers of groups
    The advice is the power of two nearest to the target: 100 shards on each device
    (`mon_target_pg_per_osd`), of which a pool gets its share of the bytes on its devices. Ceph warns
    above 250 groups a device (`mon_max_pg_per_osd`). Its autoscaler takes the share of the capacity
    instead, and acts only from a factor of 3.
    Pool     Pg num [groups]  Size [shards]  Share [percent]  Target [groups]  Pg num advised [groups]
    rbd                  256              3            89.45            357.8                      256
    archive               32              4            32.91            131.7                      128

    Results of each device
    Copies and shards where the map puts them; ideal is what weight, override and rule give; after is
    after the plan. Fill now is as reported; the others are the same with other bytes of objects and the
    same overheads.
    Device  Host  Shards  Shards ideal  Shards after  Bytes [TiB]  Bytes ideal [TiB]  Bytes after [TiB]
    osd.0   h0        75        73.14             73      2.514               2.459             2.451
    osd.1   h0        75        73.14             74      2.505               2.459             2.469
    osd.2   h0        71        73.14             73      2.395               2.459             2.458
    osd.3   h0         3         4.571             3      0.08673             0.1298            0.08673
    osd.4   h1        76        73.14             74      2.539               2.459             2.466
    osd.5   h1        73        73.14             73      2.463               2.459             2.463
    osd.6   h1        71        73.14             72      2.405               2.459             2.442
    osd.7   h1         4         4.571             4      0.1138              0.1298            0.1138
    osd.8   h2        71        73.14             72      2.405               2.459             2.441
    osd.9   h2        74        73.14             73      2.484               2.459             2.455
    osd.10  h2        71        73.14             73      2.39                2.459             2.455
    osd.11  h2         8         4.571             8      0.2289              0.1298            0.2289
    osd.12  h3        70        73.14             72      2.37                2.459             2.442
    osd.13  h3        72        73.14             73      2.429               2.459             2.461
    osd.14  h3        77        73.14             74      2.561               2.459             2.458
    osd.15  h3         5         4.571             5      0.1398              0.1298            0.1398

    Device  Fill now [percent]  Fill [percent]  Fill ideal [percent]  Fill after [percent]
    osd.0               70.51           70.51                 69.01                 68.78
    osd.1               70.27           70.27                 69                    69.28
    osd.2               67.18           67.18                 68.94                 68.9
    osd.3                4.917           4.917                 7.283                 4.917
    osd.4               71.2            71.2                  69.02                 69.22
    osd.5               69.07           69.07                 68.98                 69.07
    osd.6               67.46           67.46                 68.95                 68.47
    osd.7                6.432           6.432                 7.312                 6.432
    osd.8               67.46           67.46                 68.95                 68.45
    osd.9               69.68           69.68                 68.99                 68.87
    osd.10              67.04           67.04                 68.94                 68.83
    osd.11              12.89           12.89                  7.439                12.89
    osd.12              66.47           66.47                 68.93                 68.44
    osd.13              68.13           68.13                 68.96                 69
    osd.14              71.84           71.84                 69.03                 69
    osd.15               7.893           7.893                 7.341                 7.893

    seed 1, executor sequential, digest KEY, scenario
    KEY, towtank 0.1.0 (results 10)
    --
    exit 0
    ");
}

#[test]
fn what_is_wrong_is_reported_with_a_next_step() {
    let folder = Folder::with_cluster("balance_names");
    assert_snapshot!(balance(&folder, &["--destination", "osd.55"]), @r#"
    error: `destination` is "osd.55": there is no device or bucket called `osd.55`
      --> --destination osd.55
                        ^^^^^^
    hint: the devices are osd.0 to osd.15
    exit 2
    "#);
    assert_snapshot!(balance(&folder, &["--destination", "rack=h1"]), @r#"
    error: `destination` is "rack=h1": `h1` is of type host
      --> --destination rack=h1
                        ^^^^^^^
    hint: write `host=h1`
    exit 2
    "#);
    assert_snapshot!(balance(&folder, &["--stages", "0"]), @"
    error: `stages` is 0, but it must be from 1 to 100
      --> --stages 0
                   ^
    hint: set `stages` to a value from 1 to 100
    exit 2
    ");
    assert_snapshot!(folder.run(&["balance", "--crush-map", "crush.txt", "--quiet", "--verbose"]), @r#"
    error: `osd_dump` is missing
    hint: name the file that `ceph osd dump -f json` wrote: --osd-dump FILE, or osd_dump = "FILE"; or set `report` to the output of `ceph report`
    exit 2
    "#);
}

#[test]
fn a_full_device_comes_first() {
    let folder = osd_14_uses("balance_full", "3750021844");
    assert_snapshot!(brief(&folder, &[]), @"
    an even fill 61.9 %.
    because     osd.14 is 96 % full, above full (95 %); nothing more fits after the loss of h0: a device
                would be 125.2 % full

    The plan, stage by stage
    Time is that of the bytes alone: the device that takes most, without a pause, at the write rate of
    its class in data sheets (190 MB/s hdd, 500 MB/s ssd, 2 GB/s others). Peering, reads, seeks, rests
    (`osd_recovery_sleep`), reservations (`osd_max_backfills`) and clients make it longer: `towtank
    whatif --upmap-items` simulates them. Fill and usable are those after the stage, with all copies
    where the map puts them. Usable: all pools grow in proportion.
    Stage  Moves [shards]  Moved [GiB]  Time at least [min]  Slowest  Fill max after [percent]
        1               6        219.5                6.926  osd.12                      90.11
        2               6        217.8                3.439  osd.13                      84.26
        3               6        216.5                3.424  osd.13                      78.45
        4               7        239.3                3.373  osd.2                       72.02

    Stage  Usable after [TiB]  Won [TiB]
        1              0.7999     0.7999
        2              1.924      1.124
        3              3.278      1.354
        4              3.618      0.3402

    limit       causes, in percent points: overheads that differ between devices +22.7, rules that keep
                copies apart and pools to their devices +8.6, explicit mappings +8.5, too few groups
                -4.8, groups of unequal size between pools -0.7, groups of unequal size within pools
                -0.2
    try         25 moves in 4 stages (893.2 GiB: 17.16 min for the bytes alone; 3.042 h (1.722 to 3.708
                h) until all groups are clean, if all are made at once) win 3.618 TiB; the fullest
                device is then 72 % full
    also        0 B more fit until a device is full, 3.808 TiB if every group were placed as well as
                rule and class allow, 0 B after the loss of h0 (a device would be 125.2 % full)
    assumed     the time until all groups are clean is that of `towtank whatif` with its usual speeds of
                disks and release
    exit 0
    ");
}

#[test]
fn a_device_that_uses_less_than_its_objects_is_reported() {
    let folder = osd_14_uses("balance_compressing", "1006402785");
    assert_snapshot!(brief(&folder, &[]), @"
    even fill 56.9 %.

    unknown     1 device reports less used space than the objects there have bytes, such as osd.14: do
                they compress, or were the dumps made at different times? The difference stays the same
                in every fill that is shown, although compressed objects that move take their saving
                with them

    The plan, stage by stage
    Time is that of the bytes alone: the device that takes most, without a pause, at the write rate of
    its class in data sheets (190 MB/s hdd, 500 MB/s ssd, 2 GB/s others). Peering, reads, seeks, rests
    (`osd_recovery_sleep`), reservations (`osd_max_backfills`) and clients make it longer: `towtank
    whatif --upmap-items` simulates them. Fill and usable are those after the stage, with all copies
    where the map puts them. Usable: all pools grow in proportion.
    Stage  Moves [shards]  Moved [GiB]  Time at least [min]  Slowest  Fill max after [percent]
        1               6        219.8                20.71  osd.14                      69.29
        2               7        255.2                24.04  osd.14                      68.13
        3               7        256.9                24.2   osd.14                      67.31
        4               7        252.1                23.75  osd.14                      66.47

    Stage  Usable after [TiB]  Won [GiB]
        1               4.008      399.7
        2               4.277      274.7
        3               4.451      178.6
        4               4.649      203.3

    limit       causes, in percent points: too few groups +10.0, rules that keep copies apart and pools
                to their devices +8.6, explicit mappings -8.4, overheads that differ between devices
                +3.5, groups of unequal size between pools +0.4, groups of unequal size within pools
                +0.2
    try         27 moves in 4 stages (984.1 GiB: 1.545 h for the bytes alone; 11.18 h (8.287 to 12.14 h)
                until all groups are clean, if all are made at once) win 1.032 TiB; the fullest device
                is then 66.5 % full
    also        3.618 TiB more fit until a device is full, 4.716 TiB if every group were placed as well
                as rule and class allow, 73.42 GiB after the loss of h2
    assumed     the time until all groups are clean is that of `towtank whatif` with its usual speeds of
                disks and release
    exit 0
    ");
}

#[test]
fn exports_of_different_times_are_reported() {
    let folder =
        planted("balance_disagree", r#""up":[13,5,10],"acting":[13,5,10]"#, r#""up":[13,5],"acting":[13,5]"#);
    assert_snapshot!(brief(&folder, &[]), @"
    the map puts them; weight and rule alone would make it 69.9 %, and an even fill 60.2 %.
    because     1 group is short of copies; nothing more fits after the loss of h0: a device would be
                101 % full

    unknown     1 group belongs elsewhere by `crush_map` and `osd_dump` than by `pg_dump`, such as 1.0:
                were they exported at different times?

    The plan, stage by stage
    Time is that of the bytes alone: the device that takes most, without a pause, at the write rate of
    its class in data sheets (190 MB/s hdd, 500 MB/s ssd, 2 GB/s others). Peering, reads, seeks, rests
    (`osd_recovery_sleep`), reservations (`osd_max_backfills`) and clients make it longer: `towtank
    whatif --upmap-items` simulates them. Fill and usable are those after the stage, with all copies
    where the map puts them. Usable: all pools grow in proportion.
    Stage  Moves [shards]  Moved [GiB]  Time at least [min]  Slowest  Fill max after [percent]
        1               2        74.07                3.511  osd.2                       70.86
        2               2        73.7                 3.482  osd.8                       70.27
        3               2        73.16                3.454  osd.10                      69.87
        4               3        87.86                3.045  osd.13                      69.29

    Stage  Usable after [TiB]  Won [GiB]
        1               3.679     202.5
        2               3.802     125.6
        3               3.882      82.16
        4               4.007     128.2

    limit       causes, in percent points: too few groups +9.1, rules that keep copies apart and pools
                to their devices +8.6, explicit mappings -7.7, overheads that differ between devices
                +1.0, groups of unequal size between pools +0.4, groups of unequal size within pools
                +0.2
    try         9 moves in 4 stages (308.8 GiB: 13.49 min for the bytes alone; 1.379 h (1.064 to 1.542
                h) until all groups are clean, if all are made at once) win 538.4 GiB; the fullest
                device is then 69.3 % full
    also        3.481 TiB more fit until a device is full, 4.099 TiB if every group were placed as well
                as rule and class allow, 0 B after the loss of h0 (a device would be 101 % full), from
                when all copies are where the map puts them
    assumed     the time until all groups are clean is that of `towtank whatif` with its usual speeds of
                disks and release
    exit 0
    ");
}

#[test]
fn a_gate_on_the_fullest_device() {
    let folder = Folder::with_cluster("balance_gate");
    let gate = ["--quiet", "--format", "csv", "--fail-if", "max_device_fill > 70%"];
    let said = folder.run(&[&["balance"], &EXPORTS[..], &gate].concat());
    assert_snapshot!(format!("{}exit {}", said.stderr, said.code), @"
    gate not met: --fail-if 'max_device_fill > 70%'
      `max_device_fill` is 0.7184349278753833, which is > 70%
    exit 3
    ");
}

/// The commands that a report lists, as its JSON has them.
fn listed(folder: &Folder, more: &[&str]) -> String {
    let report =
        folder.run(&[&["balance"], &EXPORTS[..], more, &["--quiet", "--format", "json"]].concat()).data();
    let report: serde_json::Value = serde_json::from_str(&report).expect("it is JSON");
    let tables = report["tables"].as_array().expect("there are tables");
    let table = tables.iter().find(|table| table["id"] == "commands").expect("one is of commands");
    let rows = table["rows"].as_array().expect("it has rows").iter();
    rows.map(|row| format!("{}\n", row[1].as_str().expect("a command"))).collect()
}

/// The time of a plan is what `whatif` answers where its commands are given at once.
#[test]
fn the_time_of_a_plan_is_that_of_whatif() {
    let folder = Folder::with_cluster("balance_time");
    let measures = |study: &str, more: &[&str]| {
        let args = [&[study], &EXPORTS[..], more, &["--quiet", "--format", "json"]].concat();
        let report: serde_json::Value = serde_json::from_str(&folder.run(&args).data()).expect("it is JSON");
        report["summary"].clone()
    };
    let moves = ["--max-moves", "5"];
    let commands = listed(&folder, &moves);
    let swaps = commands.lines().map(|line| {
        let words: Vec<&str> = line.trim_start_matches("ceph osd pg-upmap-items ").split(' ').collect();
        let devices: String = words[1..].iter().map(|id| format!(" osd.{id}")).collect();
        format!("{}{devices}", words[0])
    });
    let swaps: Vec<String> = swaps.collect();
    let flags: Vec<&str> = swaps.iter().flat_map(|swap| ["--upmap-items", swap]).collect();
    let (plan, change) = (measures("balance", &moves), measures("whatif", &flags));
    let pairs = [
        ("plan_time_s", "time_to_clean_s"),
        ("plan_time_low_s", "time_to_clean_low_s"),
        ("plan_time_high_s", "time_to_clean_high_s"),
    ];
    for (of_plan, of_change) in pairs {
        assert!(plan[of_plan]["value"].as_f64().expect("a time") > 60.0, "{plan}");
        assert_eq!(plan[of_plan], change[of_change], "{of_plan}");
    }
}

/// The commands of a file, without what stands above them.
fn commands_of(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect()
}

/// The screen says how many commands there are; the file, stdout and the report have the same.
#[test]
fn the_commands_of_the_plan_go_to_a_file() {
    let folder = Folder::with_cluster("balance_commands");
    let want = listed(&folder, &[]);
    assert_eq!(want.lines().count(), 9);
    assert!(want.lines().all(|line| line.starts_with("ceph osd pg-upmap-items ")), "{want}");
    let run = |more: &[&str]| folder.run(&[&["balance"], &EXPORTS[..], more].concat());
    // What must be known first stands above them.
    let known = "# At risk: nothing more fits after the loss of h0: a device would be 101 % full.\n";
    let with = |commands: &str| format!("{known}{commands}");
    let said = run(&["--commands", "plan.txt", "--quiet"]);
    assert_eq!((folder.read("plan.txt"), said.stderr.as_str(), said.code), (with(&want), "", 0));
    assert!(said.stdout.contains("--commands FILE writes 9 commands"), "{}", said.stdout);
    // Another plan replaces the file as a whole.
    let said = run(&["--commands", "plan.txt", "--max-moves", "2"]);
    assert_eq!(commands_of(&folder.read("plan.txt")), listed(&folder, &["--max-moves", "2"]));
    assert!(said.stderr.ends_with("2 commands: plan.txt\n"), "{}", said.stderr);
    let said = run(&["--commands", "-", "--quiet"]);
    assert_eq!((said.stdout, said.stderr.as_str(), said.code), (with(&want), "", 0));
    // A plan without moves has no commands, and the screen does not offer any.
    let said = run(&["--commands", "plan.txt", "--max-moves", "0", "--quiet"]);
    assert_eq!((commands_of(&folder.read("plan.txt")).as_str(), said.code), ("", 0));
    assert!(!said.stdout.contains("--commands"), "{}", said.stdout);
    // A scenario file has the same flag.
    let keys = "study = \"balance\"\ncrush_map = \"crush.txt\"\nosd_dump = \"osd_dump.json\"\npg_dump = \"pg_dump.json.gz\"\n";
    folder.write("balance.toml", keys);
    assert_eq!(folder.run(&["run", "balance.toml", "--commands", "-", "--quiet"]).data(), with(&want));
}

/// Groups that are merged are in no command, and what is left out stands above them; and where `pg_num` is
/// still to grow, that the state afterwards is not known.
#[test]
fn commands_say_what_they_leave_out() {
    let folder = Folder::with_cluster("balance_changing");
    let whole = folder.read("osd_dump.json");
    let head = |target: u32| {
        let now = "\"pg_placement_num_target\":256,\"pg_num_target\":256";
        let then = format!("\"pg_placement_num_target\":{target},\"pg_num_target\":{target}");
        assert!(whole.contains(now));
        folder.write("osd_dump.json", whole.replace(now, &then));
        let more = ["--max-moves", "2", "--commands", "-", "--quiet"];
        let said = folder.run(&[&["balance"], &EXPORTS[..], &more].concat());
        let (head, commands): (Vec<&str>, Vec<&str>) =
            said.stdout.lines().partition(|line| line.starts_with("# "));
        assert!(
            !commands.is_empty() && commands.iter().all(|line| line.starts_with("ceph osd pg-upmap-items "))
        );
        head.join("\n")
    };
    assert_snapshot!(head(192), @"
    # At risk: nothing more fits after the loss of h2: a device would be 102.9 % full.
    # leaves out: 128 of 256 groups of pool `rbd` are not moved: its number of groups or of places is changing
    ");
    assert_snapshot!(head(512), @"
    # Unknown: `pg_num` of pool `rbd` is changing from 256 to 512: where its data will be is not known, so the plan moves no group of it and may be wrong afterwards; nothing more fits after the loss of h0: a device would be 101 % full.
    # leaves out: 256 of 256 groups of pool `rbd` are not moved: its number of groups or of places is changing
    ");
    assert_snapshot!(head(256), @"# At risk: nothing more fits after the loss of h0: a device would be 101 % full.");
}

/// What cannot be written is an error of its own, after the report: nothing of it is lost.
#[test]
fn commands_that_cannot_be_written_are_reported() {
    let folder = Folder::with_cluster("balance_commands_refused");
    let run = |more: &[&str]| folder.run(&[&["balance"], &EXPORTS[..], more, &["--quiet"]].concat());
    let whole = run(&[]).stdout;
    let said = run(&["--commands", "/dev/full", "--out", "results"]);
    assert_eq!(said.code, 1, "{}", said.stderr);
    assert!(said.stderr.contains("`/dev/full`") && said.stderr.contains("space"), "{}", said.stderr);
    assert!(said.stdout.starts_with(whole.split_once("report ").unwrap().0), "{}", said.stdout);
    assert!(folder.read("results/commands.csv").contains("pg-upmap-items"));
    // An input is not overwritten.
    let before = folder.read("osd_dump.json");
    let said = run(&["--commands", "osd_dump.json"]);
    assert_eq!((said.code, folder.read("osd_dump.json") == before), (1, true), "{}", said.stderr);
    // What is refused is refused before the run.
    assert_snapshot!(run(&["--commands", "."]), @"
    error: `.` is a directory
    hint: name a file to write the commands to, or `-` for stdout
    exit 2
    ");
    assert_snapshot!(run(&["--commands", "none/plan.txt"]), @"
    error: cannot write `none/plan.txt`: there is no directory `none`
    hint: make the directory, or name another file
    exit 2
    ");
    assert_snapshot!(run(&["--commands", "-", "--format", "json"]), @"
    error: `--commands -` and `--format` both print to stdout
    hint: leave one of them out, or name a file: --commands FILE
    exit 2
    ");
    assert_snapshot!(run(&["--commands", "plan.txt", "--compare", "stages=2"]), @"
    error: --commands writes one plan, and --compare makes several
    hint: leave one of them out
    exit 2
    ");
    folder.write("sweep.toml", format!("{}[sweep]\nmax_moves = [1, 2]\n", "study = \"balance\"\ncrush_map = \"crush.txt\"\nosd_dump = \"osd_dump.json\"\npg_dump = \"pg_dump.json.gz\"\n"));
    assert_snapshot!(folder.run(&["run", "sweep.toml", "--commands", "plan.txt"]), @"
    error: --commands writes one plan, but the scenario has 2 points
    hint: run one of them alone, with --set in place of the sweep
    exit 2
    ");
    folder.write("counter.toml", super::tool::COUNTER);
    assert_snapshot!(folder.run(&["run", "counter.toml", "--commands", "plan.txt"]), @"
    error: --commands is given, but the study `queue` plans no commands
    hint: leave it out; `towtank balance` plans commands
    exit 2
    ");
    assert!(!folder.path().join("plan.txt").exists());
}
