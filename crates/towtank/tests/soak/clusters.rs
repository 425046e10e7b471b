//! Exports of small Ceph clusters, drawn from the numbers in their names, with changes, failures and upmap
//! plans on them: pools of copies and of shards, devices that are down or out, and much or little room.

use std::fmt::Write as _;

use towtank_kernel::Executor;
use towtank_report::Outcome;
use towtank_scenario::Files;

type Draw<'a> = &'a mut dyn FnMut(u64) -> u64;

/// A drawn cluster: its exports are `cluster-N.map`, `.osds`, `.pgs` and `.df`.
struct Cluster {
    hosts: u64,
    disks: u64,
    racks: u64,
    /// Devices that are down, and that are out.
    down: Option<u64>,
    out: Option<u64>,
    flash: bool,
    pools: Vec<Pool>,
    /// The size of a device in MiB.
    size: u64,
}

struct Pool {
    /// Data shards; 1 for copies.
    data: u64,
    width: u64,
    groups: u64,
    /// Objects of the first group, and MiB of an object.
    objects: u64,
    mib: u64,
}

impl Cluster {
    fn of(number: u64) -> Cluster {
        let mut draw = super::draws(number ^ 0x5eed_c1a5);
        let (hosts, disks) = (3 + draw(5), 1 + draw(3));
        let racks = if draw(3) == 0 { 2 + draw(2) } else { 0 };
        let some = |draw: Draw<'_>| (draw(6) == 0).then(|| draw(hosts * disks));
        let (down, out) = (some(&mut draw), some(&mut draw));
        let pool = |draw: Draw<'_>| {
            let [data, width] = [[1, 2], [1, 3], [2, 3], [2, 4], [4, 6]][draw(5) as usize];
            let width = if width > hosts { 3 } else { width };
            let data = if width == 3 && data > 2 { 2 } else { data };
            Pool { data, width, groups: 1 << draw(5), objects: 1 + draw(12), mib: 1 + draw(8) }
        };
        let pools: Vec<Pool> = (0..1 + draw(3)).map(|_| pool(&mut draw)).collect();
        let bytes: u64 = pools.iter().map(|pool| pool.bytes() * pool.width / pool.data).sum();
        let size = bytes / (hosts * disks) * (105 + draw(300)) / 100 + 64;
        Cluster { hosts, disks, racks, down, out, flash: draw(4) == 0, pools, size }
    }

    fn devices(&self) -> u64 {
        self.hosts * self.disks
    }

    fn map(&self) -> String {
        let class = if self.flash { "ssd" } else { "hdd" };
        let mut map = String::new();
        for osd in 0..self.devices() {
            let _ = writeln!(map, "device {osd} osd.{osd} class {class}");
        }
        map += "type 0 osd\ntype 1 host\ntype 3 rack\ntype 11 root\n";
        let mut bucket = |kind: &str, name: &str, id: u64, items: &[(String, u64)]| {
            let _ = write!(map, "{kind} {name} {{\n\tid -{id}\n\talg straw2\n\thash 0\n");
            for (item, weight) in items {
                let _ = writeln!(map, "\titem {item} weight {weight}.0");
            }
            map += "}\n";
        };
        for host in 0..self.hosts {
            let disks: Vec<(String, u64)> =
                (0..self.disks).map(|disk| (format!("osd.{}", host * self.disks + disk), 1)).collect();
            bucket("host", &format!("h{host}"), host + 2, &disks);
        }
        let hosts = |rack: u64| {
            let of = (0..self.hosts).filter(|host| self.racks == 0 || host % self.racks == rack);
            of.map(|host| (format!("h{host}"), self.disks)).collect::<Vec<_>>()
        };
        for rack in 0..self.racks {
            bucket("rack", &format!("r{rack}"), self.hosts + 2 + rack, &hosts(rack));
        }
        let racks = (0..self.racks)
            .map(|rack| (format!("r{rack}"), hosts(rack).len() as u64 * self.disks))
            .collect::<Vec<_>>();
        let below = if self.racks == 0 { hosts(0) } else { racks };
        bucket("root", "default", 1, &below);
        let top = if self.racks == 0 { "host" } else { "rack" };
        for (id, (name, over)) in
            [("hosts", "host"), ("devices", "osd"), ("top", top)].into_iter().enumerate()
        {
            for (at, kind, step) in [(0, "replicated", "firstn"), (1, "erasure", "indep")] {
                let _ = write!(
                    map,
                    "rule {kind}_{name} {{\n\tid {}\n\ttype {kind}\n\tmin_size 1\n\tmax_size 10\n\tstep take default\n\
                     \tstep chooseleaf {step} 0 type {over}\n\tstep emit\n}}\n",
                    2 * id + at
                );
            }
        }
        map
    }

    fn osds(&self) -> String {
        let osd = |osd: u64| {
            let (up, into) = (u64::from(self.down != Some(osd)), u64::from(self.out != Some(osd)));
            format!(r#"{{"osd":{osd},"up":{up},"in":{into},"weight":{into}.0}}"#)
        };
        let osds: Vec<String> = (0..self.devices()).map(osd).collect();
        let pool = |(number, pool): (usize, &Pool)| {
            let Pool { data, width, groups, .. } = pool;
            let coded = *data > 1;
            let (kind, rule) = if coded { (3, 1) } else { (1, 0) };
            let least = if coded { data + u64::from(width - data > 1) } else { width.div_ceil(2) };
            let profile = if coded { format!("k{data}") } else { String::new() };
            format!(
                r#"{{"pool":{},"pool_name":"p{number}","type":{kind},"size":{width},"min_size":{least},"crush_rule":{rule},"flags":1,"pg_num":{groups},"pg_placement_num":{groups},"erasure_code_profile":"{profile}"}}"#,
                number + 1
            )
        };
        let pools: Vec<String> = self.pools.iter().enumerate().map(pool).collect();
        let profiles = [2, 4].map(|data| format!(r#""k{data}":{{"k":"{data}"}}"#)).join(",");
        format!(
            r#"{{"pools":[{}],"osds":[{}],"erasure_code_profiles":{{{profiles}}}}}"#,
            pools.join(","),
            osds.join(",")
        )
    }

    /// Groups where the map puts them.
    fn groups(&self) -> String {
        let map = towtank_placement::crush::text::compile(&self.map()).expect("a drawn map is sound");
        let osds = self.osds();
        let osds = towtank_imports::File { name: "osds", bytes: osds.as_bytes() };
        let dump = towtank_imports::ceph::read_osd_dump(osds).expect("a drawn dump is sound").value;
        let overlay = dump.overlay();
        let placer = towtank_placement::crush::pools::Placer::new(&map, &overlay);
        let mut stats = Vec::new();
        for (number, pool) in self.pools.iter().enumerate() {
            let of_dump = dump.pools[number].placed();
            for seed in 0..pool.groups {
                let (objects, bytes) = pool.group(seed);
                let place = placer.place(&of_dump, seed as u32);
                let (up, acting) = (place.up.devices, place.acting.devices);
                let primary = place.acting.primary.unwrap_or(-1);
                stats.push(format!(
                    r#"{{"pgid":"{}.{seed:x}","state":"active+clean","up":{up:?},"acting":{acting:?},"acting_primary":{primary},"stat_sum":{{"num_bytes":{bytes},"num_objects":{objects}}}}}"#,
                    number + 1
                ));
            }
        }
        format!("[{}]", stats.join(","))
    }

    fn fill(&self) -> String {
        let each = self.pools.iter().map(|pool| pool.bytes() * pool.width / pool.data).sum::<u64>();
        let used = each / self.devices() * 1_024;
        let node = |osd: u64| format!(r#"{{"id":{osd},"kb":{},"kb_used":{used}}}"#, self.size * 1_024);
        format!(r#"{{"nodes":[{}]}}"#, (0..self.devices()).map(node).collect::<Vec<_>>().join(","))
    }

    /// The fills of devices that hold what the map puts on them, and a tenth more or less as overheads.
    fn held(&self, number: u64) -> String {
        let text = without_fill(&exports("balance", number)) + "max_moves = 0\n";
        let checked = super::check(&text).expect("the exports are sound");
        let placed = super::run(&checked, 1, (Executor::Sequential, 1)).expect("nothing moves");
        let mut draw = super::draws(number ^ 0x0f11);
        let mut node = |device: &serde_json::Value| {
            let bytes = device["bytes"][0].as_u64().expect("a count");
            let used = (bytes >> 10) * (100 + draw(11)) / 100 + draw(1 << 10);
            let size = (self.size * 1_024).max(used + draw(1 << 14));
            format!(r#"{{"id":{},"kb":{size},"kb_used":{used}}}"#, device["id"])
        };
        let devices = placed.series["devices"].as_array().expect("a list");
        format!(r#"{{"nodes":[{}]}}"#, devices.iter().map(&mut node).collect::<Vec<_>>().join(","))
    }
}

impl Pool {
    /// Objects and bytes of a group: later groups hold less.
    fn group(&self, seed: u64) -> (u64, u64) {
        let objects = self.objects - seed % self.objects.clamp(1, 3);
        (objects, (objects * self.mib) << 20)
    }

    /// MiB of all groups.
    fn bytes(&self) -> u64 {
        (0..self.groups).map(|seed| self.group(seed).1 >> 20).sum()
    }
}

/// The export of a name.
pub fn read(path: &str) -> Option<Vec<u8>> {
    let (number, kind) = path.strip_prefix("cluster-")?.split_once('.')?;
    let number = number.parse().ok()?;
    let cluster = Cluster::of(number);
    let text = match kind {
        "map" => cluster.map(),
        "osds" => cluster.osds(),
        "pgs" => cluster.groups(),
        "df" => cluster.fill(),
        "held" => cluster.held(number),
        _ => return None,
    };
    Some(text.into_bytes())
}

/// The files of all drawn scenarios.
#[derive(Debug)]
pub struct Drawn;

impl Files for Drawn {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        read(path).map_or_else(|| super::pfs::Traces.read(path), Ok)
    }
}

pub fn exports(study: &str, number: u64) -> String {
    let mut text = format!("study = \"{study}\"\n");
    for (key, kind) in [("crush_map", "map"), ("osd_dump", "osds"), ("pg_dump", "pgs"), ("osd_df", "df")] {
        let _ = writeln!(text, "{key} = \"cluster-{number}.{kind}\"");
    }
    text
}

/// The queue of a drawn release, with its profile or its sleeps.
fn queue(draw: Draw<'_>) -> String {
    let major = 15 + draw(7);
    let release = match draw(3) {
        0 => major.to_string(),
        _ => format!("\"{major}.2.{}\"", draw(11)),
    };
    if draw(3) > 0 {
        let profile = ["balanced", "high_client_ops", "high_recovery_ops"][draw(3) as usize];
        let capacity = match draw(3) {
            0 => format!("osd_capacity = {}\n", 50 + draw(30_000)),
            _ => String::new(),
        };
        return format!("queue = \"mclock\"\nprofile = \"{profile}\"\nceph_release = {release}\n{capacity}");
    }
    let sleep = ["0s", "1ms", "100ms"][draw(3) as usize];
    format!(
        "queue = \"wpq\"\nceph_release = {release}\nrecovery_sleep = \"{sleep}\"\nmax_backfills = {}\n",
        draw(4)
    )
}

/// Devices and hosts that fail and come back, with their data or empty, some while others are away, through a
/// queue. The logs cover what was written, or do not.
pub fn returning(draw: Draw<'_>) -> String {
    let number = draw(1 << 40);
    let cluster = Cluster::of(number);
    let mut text = exports("whatif", number);
    let mut changes = Vec::new();
    for _ in 0..1 + draw(3) {
        let osd = draw(cluster.devices());
        let what = match draw(4) {
            0 => format!("host=h{}", osd / cluster.disks),
            _ => format!("osd.{osd}"),
        };
        // Back before they are given up, while their data are made again, or long after that.
        let (fails, away) = (draw(3) * draw(900), 1 + [30, 700, 5_000][draw(3) as usize] * draw(20) / 10);
        changes.push(format!("\"fail {what}@{fails}s\""));
        match draw(8) {
            0 => {}
            1 if what.starts_with("osd") => changes.push(format!("\"replace {what}@{}s\"", fails + away)),
            _ => changes.push(format!("\"returns {what}@{}s\"", fails + away)),
        }
    }
    if draw(3) == 0 {
        let osd = draw(cluster.devices());
        let change = ["mark-out osd.", "drain osd.", "remove osd."][draw(3) as usize];
        changes.push(format!("\"{change}{osd}@{}s\"", draw(2_000)));
    }
    let _ = writeln!(text, "changes = [{}]", changes.join(", "));
    // A cluster holds some hundred objects, so most of them are written in seconds or in hours.
    let writes = ["0/s", "0.01/s", "0.2/s", "5/s", "1000/s"][draw(5) as usize];
    let log = [1, 10, 100, 10_000][draw(4) as usize] + draw(40);
    let _ = writeln!(text, "client_writes = \"{writes}\"\nlog_entries = {log}");
    if draw(3) == 0 && text.contains("returns") {
        let _ = writeln!(text, "async_recovery_min_cost = {}", draw(200));
    }
    text += &queue(draw);
    clients(draw, &mut text);
    text
}

/// Failures on the exports of a drawn cluster, in a rebuild.
pub fn failing(draw: Draw<'_>) -> String {
    let number = draw(1 << 40);
    let cluster = Cluster::of(number);
    let mut text = exports("rebuild", number);
    let fails = (0..1 + draw(3)).map(|_| {
        let (osd, at) = (draw(cluster.devices()), draw(3) * draw(900));
        let what = match draw(6) {
            0 => format!("host=h{}", osd / cluster.disks),
            1 => "osd".to_owned(),
            2 => "host".to_owned(),
            _ => format!("osd.{osd}"),
        };
        format!("\"{what}@{at}s\"")
    });
    let fails = fails.collect::<Vec<_>>().join(", ");
    let _ = writeln!(text, "fail = [{fails}]\ndown_out = \"{}s\"", draw(700));
    text += &queue(draw);
    clients(draw, &mut text);
    text
}

/// Changes of a drawn cluster; devices that come back in one of four.
pub fn change(draw: Draw<'_>) -> String {
    if draw(4) == 0 {
        return returning(draw);
    }
    let number = draw(1 << 40);
    let cluster = Cluster::of(number);
    let mut text = exports("whatif", number);
    let (devices, hosts) = (cluster.devices(), cluster.hosts);
    let mut changes = Vec::new();
    for _ in 0..1 + draw(3) {
        let (osd, host, pool) = (draw(devices), draw(hosts), draw(cluster.pools.len() as u64));
        let Pool { groups, data, .. } = cluster.pools[pool as usize];
        let change = match draw(12) {
            0 => format!("fail osd.{osd}"),
            1 => format!("fail host=h{host}"),
            2 => format!("mark-out osd.{osd}"),
            3 => format!("reweight osd.{osd}=0.{}", draw(10)),
            4 => format!("crush-reweight osd.{osd}={}.5", draw(3)),
            5 => format!("drain host=h{host}"),
            6 => format!("add-host new{osd}={}x1.0@default", 1 + draw(2)),
            7 => format!("remove osd.{osd}"),
            8 => format!("pg-num p{pool}={}", groups << draw(3)),
            9 => format!("pgp-num p{pool}={}", 1 + draw(groups)),
            10 => format!("rule p{pool}={}", 2 * draw(3) + u64::from(data > 1)),
            _ => format!("fail osd.{osd}\", \"returns osd.{osd}@{}s", 1 + draw(2_000)),
        };
        // A time stands behind the change, except where one stands there.
        let later = draw(3) == 0 && !change.contains("returns");
        let time = if later { format!("@{}s", draw(1_500)) } else { String::new() };
        changes.push(format!("\"{change}{time}\""));
    }
    let _ = writeln!(text, "changes = [{}]", changes.join(", "));
    let writes = ["0/s", "0.01/s", "1/s", "1000/s"][draw(4) as usize];
    let _ = writeln!(text, "client_writes = \"{writes}\"\nlog_entries = {}", 1 + draw(40));
    match draw(5) {
        0 => text += "recovery_sleep = \"0s\"\n",
        1 | 2 => text += &queue(draw),
        3 => {
            let _ = writeln!(text, "max_backfills = {}\nrecovery_max_active = {}", draw(4), 1 + draw(4));
        }
        _ => {}
    }
    clients(draw, &mut text);
    machines(draw, &mut text);
    text
}

/// Clients, of one scenario in five.
fn clients(draw: Draw<'_>, text: &mut String) {
    if draw(5) > 0 {
        return;
    }
    *text += ["client_load = \"20/s\"\n", "client_depth = 2\n"][draw(2) as usize];
    if draw(2) == 0 {
        let (read, size) = (draw(101), 1 + draw(256));
        let _ = writeln!(text, "client_read = \"{read}%\"\nclient_size = \"{size}KiB\"");
    }
}

/// Speeds of the machines, the work of daemons, and how failures are noticed.
fn machines(draw: Draw<'_>, text: &mut String) {
    for key in ["disk_read", "disk_write", "nic"] {
        if draw(6) == 0 {
            let _ = writeln!(text, "{key} = \"{}MB/s\"", 20 + draw(2_000));
        }
    }
    if draw(6) == 0 {
        let _ = writeln!(text, "seeks = \"{}\"", ["jbod", "hdd", "none"][draw(3) as usize]);
    }
    for (key, most_us) in [("object_cost", 3_000), ("backfill_begin", 900_000), ("backfill_look", 300)] {
        // What a queue has in place of them.
        if draw(6) == 0 && !text.contains("mclock") {
            let _ = writeln!(text, "{key} = \"{}us\"", draw(most_us));
        }
    }
    for (key, most_s) in [("detection", 90), ("down_out", 2_000)] {
        if draw(4) == 0 {
            let _ = writeln!(text, "{key} = \"{}s\"", draw(most_s));
        }
    }
    for key in ["noout", "rack_out"] {
        if draw(8) == 0 {
            let _ = writeln!(text, "{key} = {}", draw(2) == 0);
        }
    }
    flags(draw, text);
    if draw(4) == 0 {
        let (rate, spread) = (draw(100), draw(90));
        let _ = writeln!(text, "failure_rate = \"{rate}%\"\nspeed_spread = \"{spread}%\"");
    }
}

/// Flags that are set for a while, or for good. What keeps devices from being up or in is refused with some
/// changes, so that the cases by hand have it.
fn flags(draw: Draw<'_>, text: &mut String) {
    let all = ["norecover", "nobackfill", "norebalance", "noout", "nodown"];
    let set: Vec<&str> = all.into_iter().filter(|_| draw(12) == 0).collect();
    let mut list = |key: &str, times: &mut dyn FnMut() -> u64| {
        let flags = set.iter().map(|flag| format!("\"{flag}@{}s\"", times()));
        let _ = writeln!(text, "{key} = [{}]", flags.collect::<Vec<_>>().join(", "));
    };
    if !set.is_empty() {
        list("set_flag", &mut || draw(900));
        if draw(3) > 0 {
            list("unset_flag", &mut || 900 + draw(4_000));
        }
    }
}

/// What fails further.
pub struct Further {
    /// Its name.
    pub name: String,
    /// The scenario in which it does.
    pub text: String,
    /// Whether the device is of it that is down before: what waits for that one is lost with it.
    pub has_down: bool,
}

/// A failure of one device or two of a drawn cluster, and the same with each other device and host as well.
pub fn further(number: u64) -> (String, Vec<Further>) {
    let cluster = Cluster::of(number);
    let mut draw = super::draws(number ^ 0x0f0f);
    let fails: Vec<u64> = (0..1 + draw(2)).map(|_| draw(cluster.devices())).collect();
    let mut first: Vec<String> = fails.iter().map(|osd| format!("fail osd.{osd}")).collect();
    first.dedup();
    let text = |further: Option<&str>| {
        let further = further.map(|name| format!("fail {name}"));
        let all: Vec<String> = first.iter().chain(&further).map(|change| format!("\"{change}\"")).collect();
        format!("{}changes = [{}]\n", exports("whatif", number), all.join(", "))
    };
    let devices = (0..cluster.devices()).filter(|osd| !fails.contains(osd));
    let devices = devices.map(|osd| (format!("osd.{osd}"), cluster.down == Some(osd)));
    let hosts = (0..cluster.hosts).filter(|host| !fails.iter().any(|osd| osd / cluster.disks == *host));
    let has_down = |host: u64| cluster.down.is_some_and(|osd| osd / cluster.disks == host);
    let names = devices.chain(hosts.map(|host| (format!("host=h{host}"), has_down(host))));
    let of = |(name, has_down): (String, bool)| Further { text: text(Some(&name)), name, has_down };
    (text(None), names.map(of).collect())
}

fn without_fill(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| !line.contains("osd_df")).collect()
}

/// Plans for a drawn cluster.
pub fn plan(draw: Draw<'_>) -> String {
    let number = draw(1 << 40);
    let mut text = exports("balance", number);
    text = match draw(4) {
        // Without the sizes of devices, with the same fill on all, or with that of what they hold.
        0 => without_fill(&text),
        1 => text,
        _ => text.replace(".df", ".held"),
    };
    let _ = writeln!(text, "max_moves = {}\nstages = {}", 1 + draw(40), 1 + draw(3));
    text
}

/// The value of a measure, if it has one.
fn known(outcome: &Outcome, name: &str) -> Option<f64> {
    outcome.measures.get(name)?.value()
}

/// Shares lie in 0 to 1, and nothing is negative.
fn bounded(outcome: &Outcome) -> Result<(), String> {
    for (name, found) in &outcome.measures {
        let value = found.value().unwrap_or(0.0);
        let signed = name.starts_with("added_by") || name.contains("won") || name == "peers_rate_correlation";
        if !value.is_finite() || (value < 0.0 && !signed) || (found.unit() == "fraction" && value > 1.0) {
            return Err(format!("{name} = {value}"));
        }
    }
    Ok(())
}

/// The laws of a change.
pub fn laws_of_change(outcome: &Outcome) -> Result<(), String> {
    bounded(outcome)?;
    for (less, more) in [
        ("time_to_full_redundancy_s", "time_to_clean_s"),
        ("time_to_two_copies_s", "time_to_full_redundancy_s"),
        ("time_to_end_s", "time_to_clean_s"),
        ("transfer_s", "time_to_clean_s"),
        ("minimum_bytes", "moved_bytes"),
    ] {
        if let (Some(low), Some(high)) = (known(outcome, less), known(outcome, more))
            && low > high * (1.0 + 1e-9)
        {
            return Err(format!("{less} = {low} exceeds {more} = {high}"));
        }
    }
    let of = |name: &str| known(outcome, name).unwrap_or(0.0);
    let observed = &outcome.series["observed"]["work"];
    let unfinished = observed["unfinished"].as_f64().unwrap_or(f64::NAN);
    let (in_all, moved) = (of("written_bytes") + unfinished, of("moved_bytes"));
    if in_all.is_nan() || in_all < moved {
        return Err(format!("{in_all} bytes are written or left of {moved} that move"));
    }
    let progress: f64 =
        observed["progress"].as_array().into_iter().flatten().filter_map(|step| step[1].as_f64()).sum();
    if progress > of("written_bytes") {
        return Err(format!("{progress} bytes are finished of {} written", of("written_bytes")));
    }
    Ok(())
}

/// The laws of a plan: devices hold as many copies and bytes as before, the fullest is no fuller, and what
/// moves is at least what devices gain.
pub fn laws_of_plan(outcome: &Outcome) -> Result<(), String> {
    bounded(outcome)?;
    let devices = outcome.series["devices"].as_array().ok_or("no devices")?;
    let of = |row: &'static str, at: usize| devices.iter().filter_map(move |device| device[row][at].as_f64());
    for row in ["shards", "bytes"] {
        let (now, after): (f64, f64) = (of(row, 0).sum(), of(row, 2).sum());
        if now != after {
            return Err(format!("{row}: {now} now and {after} after the plan"));
        }
    }
    let most = |at: usize| of("fill", at).fold(0.0, f64::max);
    if most(2) > most(0) * (1.0 + 1e-9) {
        return Err(format!("the plan fills a device to {}, and now the fullest has {}", most(2), most(0)));
    }
    let gained: f64 = of("shards", 0).zip(of("shards", 2)).map(|(now, after)| (after - now).max(0.0)).sum();
    let moved = known(outcome, "moved_shards").ok_or("no moves are known")?;
    if moved < gained { Err(format!("devices gain {gained} copies, and {moved} move")) } else { Ok(()) }
}
