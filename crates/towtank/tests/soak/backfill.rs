//! Small groups: all discoveries, copies or shards, one or more devices away, objects created and deleted,
//! logs that reach back and logs that do not, with and without clients.

use towtank_report::Outcome;

const METHODS: [&str; 5] = ["scan", "bitmap", "merkle", "merkle-levels", "sketch"];

/// A few hundred objects on a few devices.
pub fn scenario(draws: &mut dyn FnMut(u64) -> u64) -> String {
    // Copies, or a code; with a code of two parity shards one position may be away, with one of three two.
    let (keys, width, most_down) = match draws(4) {
        0 => {
            let (data, parity) = (2 + draws(4), 1 + draws(3));
            (format!("ec = \"{data}+{parity}\""), data + parity, (parity - 1).max(1))
        }
        _ => {
            let replicas = 2 + draws(3);
            (format!("replicas = {replicas}"), replicas, replicas - 1)
        }
    };
    let devices = width + draws(3);
    let objects = 1 + draws(400);
    let mut named: Vec<&str> = METHODS.into_iter().filter(|_| draws(2) == 0).collect();
    if named.is_empty() {
        named.push(METHODS[draws(5) as usize]);
    }
    let mut text = format!(
        "study = \"backfill\"\npreset = \"{}\"\ndiscovery = \"{}\"\n{keys}\ndevices = {devices}\n\
         down = {}\ngroups = {}\nobjects_per_group = {objects}\nranges = {}\nobject_size = \"{}B\"\n",
        ["thesis", "ceph16-loopback"][draws(2) as usize],
        named.join(","),
        1 + draws(most_down),
        1 + draws(5),
        1 << draws(12),
        [1, 700, 65_536, 20_000_000][draws(4) as usize],
    );
    text += &match draws(4) {
        0 => format!("outage = \"{}s\"\nwrites_per_second = \"{}/s\"\n", 1 + draws(60), 1 + draws(9)),
        1 => format!("stale_objects = {}\n", draws(objects + 1)),
        _ => format!("stale = \"{}%\"\n", [0, 1, 5, 20, 60, 100][draws(6) as usize]),
    };
    if draws(2) == 0 {
        let created = draws(100);
        text += &format!("created = \"{created}%\"\ndeleted = \"{}%\"\n", draws(101 - created));
    }
    text += &format!(
        "log_entries = {}\nmax_backfills = {}\nrecovery_max_active = {}\nscan_batch = {}\nrecovery_sleep = \"{}ms\"\n",
        [1, 2, 20, 1_000][draws(4) as usize],
        1 + draws(3),
        1 + draws(4),
        [1, 7, 64, 512][draws(4) as usize],
        [0, 0, 1, 100][draws(4) as usize],
    );
    if draws(3) == 0 {
        text += &format!("sketch_cells = {}\n", 16 + draws(200));
    }
    if draws(3) == 0 {
        text += &format!("client_writes = \"{}/s\"\n", 1 + draws(40));
    }
    costs(draws, &mut text);
    text
}

/// What each step takes, and the speeds of the machines.
fn costs(draws: &mut dyn FnMut(u64) -> u64, text: &mut String) {
    for (key, most_us) in [
        ("look_cost", 3_000),
        ("range_check_cost", 20),
        ("recovery_cost", 9_000),
        ("startup", 900_000),
        ("disk_seek", 9_000),
        ("latency", 5_000),
    ] {
        if draws(4) == 0 {
            // A message takes some time.
            *text += &format!("{key} = \"{}us\"\n", draws(most_us) + u64::from(key == "latency"));
        }
    }
    for key in ["disk_rate", "nic"] {
        if draws(4) == 0 {
            *text += &format!("{key} = \"{}MB/s\"\n", 1 + draws(3_000));
        }
    }
    if draws(4) == 0 {
        *text += &format!("cached_objects = {}\n", draws(600));
    }
}

/// The laws of every backfill.
///
/// # Errors
/// The measure, and what is wrong with it.
pub fn laws(outcome: &Outcome) -> Result<(), String> {
    let value = |name: &str| outcome.measures.get(name).and_then(|measure| measure.value());
    for (name, measure) in &outcome.measures {
        let Some(value) = measure.value() else {
            let reason = measure.reason().filter(|reason| !reason.is_empty());
            reason.ok_or(format!("{name} is missing without a reason"))?;
            continue;
        };
        if !value.is_finite() || value < 0.0 {
            return Err(format!("{name} is {value}"));
        }
    }
    let prefixes = METHODS.map(|method| format!("{}_", method.replace('-', "_")));
    for prefix in std::iter::once("").chain(prefixes.iter().map(String::as_str)) {
        let of = |name: &str| value(&format!("{prefix}{name}"));
        let Some(stale) = of("objects_stale") else { continue };
        if of("clean_s").is_none() {
            return Err(format!("{prefix}: not all groups become clean"));
        }
        if let (Some(backfill), Some(clean)) = (of("backfill_s"), of("clean_s"))
            && backfill > clean
        {
            return Err(format!("{prefix}: backfills take {backfill} s, and all is clean after {clean} s"));
        }
        let done = ["objects_recovered", "objects_removed", "objects_recovered_by_log"]
            .map(|name| of(name).unwrap_or(0.0));
        let clients = of("client_wait_mean_s").is_some();
        // A code has at least two data shards of at least one byte each, so every recovered shard needs at
        // least two bytes read.
        let (read, recovered) = (of("recovery_read_bytes"), done[0] + done[2]);
        if read.is_some_and(|read| read < 2.0 * recovered) {
            return Err(format!("{prefix}: {recovered} shards were made from {read:?} bytes"));
        }
        // Deletes that a log names are done at once and not counted; objects that clients write meanwhile may
        // be recovered too.
        let most = if clients { f64::INFINITY } else { stale };
        if done.iter().sum::<f64>() > most {
            return Err(format!(
                "{prefix}: {done:?} objects were brought up to date, and {stale} were stale"
            ));
        }
        // Objects that clients write meanwhile are compared without being looked at again.
        if !clients && of("backfill_s").is_some() && of("objects_looked_at") < of("objects_recovered") {
            return Err(format!("{prefix}: more objects were recovered than looked at"));
        }
    }
    let scan = value("scan_backfill_s");
    for method in ["bitmap", "merkle", "merkle_levels", "sketch"] {
        let looked = |method: &str| value(&format!("{method}_objects_looked_at"));
        // A scan counts the objects of the side that has more; a sketch names those of both that differ.
        let differing = value(&format!("{method}_objects_stale")).unwrap_or(0.0);
        let clients = value("scan_client_wait_mean_s").is_some();
        if let (Some(_), Some(all), Some(some), false) = (scan, looked("scan"), looked(method), clients)
            && some > all.max(differing)
        {
            return Err(format!("{method} looks at {some} objects, a scan at {all}"));
        }
    }
    Ok(())
}

#[test]
fn the_laws_of_backfills_notice_what_breaks_them() {
    let sound = super::outcome_of(&[
        ("objects_stale", 10.0),
        ("objects_recovered", 9.0),
        ("objects_removed", 1.0),
        ("objects_recovered_by_log", 0.0),
        ("objects_looked_at", 12.0),
        ("backfill_s", 2.0),
        ("clean_s", 3.0),
        ("recovery_read_bytes", 36.0),
    ]);
    for (looked, is_lawful) in [(12.0, true), (30.0, true), (31.0, false)] {
        let mut outcome = sound.clone();
        for (name, value) in [
            ("scan_backfill_s", 2.0),
            ("scan_objects_looked_at", 12.0),
            ("sketch_objects_looked_at", looked),
            ("sketch_objects_stale", 30.0),
            ("sketch_clean_s", 3.0),
        ] {
            outcome.measure(name, value, "");
        }
        assert_eq!(laws(&outcome).is_ok(), is_lawful, "{looked} looked at");
    }
    let changed = [
        ("objects_recovered", 10.0),
        ("objects_looked_at", 8.0),
        ("backfill_s", 4.0),
        ("clean_s", -1.0),
        ("objects_stale", 9.0),
        ("recovery_read_bytes", 17.0),
    ];
    super::each_breaks(laws, &sound, &changed);
}
