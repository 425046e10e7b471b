//! Small file systems: every scheduler, workload and disk, caches that are too small, networks that lose
//! messages.

use std::fmt::Write as _;

use towtank_report::Outcome;
use towtank_scenario::Files;

const SCHEDULERS: [&str; 29] = [
    "fifo",
    "fifo:2",
    "sfq:4",
    "ssfq:4",
    "wfq:2",
    "wf2q+:3",
    "drr:4",
    "wrr:4",
    "priority:2",
    "dsfq-a:4",
    "dsfq-d:4",
    "dsfq-f:4",
    "dsfq-atb:4:5ms",
    "dsfq-alb:4:100KiB",
    "edf:3",
    "i2l",
    "sfqrc:4",
    "dta:2",
    "mclock:4",
    "mclock:2:at-limit=allow:idle-after=50ms",
    "crr-n:4",
    "orr:4",
    "trr:4",
    "tbf:8",
    "bfq:4",
    "token-bucket:4",
    "htb:4:rate=20MB/s",
    "htb:2:rate=3MB/s:burst=64KiB:lend",
    "htb:rate=40MB/s:lend",
];
const WORKLOADS: [&str; 6] = ["read", "write", "mix", "create", "stat", "remove"];

/// Traces that are generated from their names: `40-7` has 40 records drawn with seed 7, `layouts-3` has the
/// layouts of their files on three servers.
#[derive(Debug)]
pub struct Traces;

/// The layouts of the volumes of such a trace: each on as many servers as its number leaves room for.
fn layouts(servers: u32) -> Vec<u8> {
    let mut text = String::new();
    for volume in 0..4 {
        let _ = write!(text, "{volume}");
        for place in 0..1 + volume % servers {
            let _ = write!(text, " [{} {}]", (volume + place) % servers, 3_000 * (place + 1));
        }
        text.push('\n');
    }
    text.into_bytes()
}

impl Files for Traces {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        if let Some(servers) = path.strip_prefix("layouts-") {
            return Ok(layouts(servers.parse().map_err(|_| "no such file")?));
        }
        let (count, seed) = path.split_once('-').ok_or("no such file")?;
        let count: u32 = count.parse().map_err(|_| "no such file")?;
        let mut state: u64 = seed.parse().map_err(|_| "no such file")?;
        let mut draw = |below: u64| {
            // Knuth's 64-bit linear congruential generator; its upper half is good enough here.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let (mut text, mut at) = (String::new(), 0);
        for _ in 0..count {
            at += draw(4_000);
            let (volume, write) = (draw(5), ["R", "W"][draw(2) as usize]);
            let _ = writeln!(text, "{volume},{write},{},{},{at}", draw(300_000), draw(40_000));
        }
        Ok(text.into_bytes())
    }
}

fn scheduler_of(draws: &mut dyn FnMut(u64) -> u64) -> &'static str {
    SCHEDULERS[draws(SCHEDULERS.len() as u64) as usize]
}

/// A few clients on a few servers.
pub fn scenario(draws: &mut dyn FnMut(u64) -> u64) -> String {
    let servers = 1 + draws(5);
    let scheduler = scheduler_of(draws);
    let mut text = format!(
        "study = \"pfs\"\npreset = \"{}\"\nworkload = \"{}\"\nservers = {servers}\nstripe_count = {}\nreplicas = {}\n\
         files = {}\nfile_size = \"{}B\"\nrequest_size = \"{}B\"\nstripe = \"{}B\"\nflows = {}\nscheduler = \"{scheduler}\"\n\
         order = \"{}\"\nsharing = \"{}\"\nsample = \"{}ms\"\n",
        ["paper", "hdd", "nvme"][draws(3) as usize],
        WORKLOADS[draws(6) as usize],
        1 + draws(servers),
        1 + draws(servers.min(3)),
        1 + draws(4),
        1 + draws(200_000),
        2_000 + draws(100_000),
        1_000 + draws(70_000),
        1 + draws(4),
        ["sequential", "random"][draws(2) as usize],
        ["own", "interleaved", "segmented"][draws(3) as usize],
        1 + draws(20),
    );
    if draws(2) == 0 {
        text += &format!("think_time = \"{}us\"\n", draws(5_000));
    }
    let of_one = draws(4) != 0;
    if of_one {
        text += &place(draws, scheduler, servers);
    } else {
        let each: Vec<String> = (0..servers).map(|_| format!("\"{}\"", scheduler_of(draws))).collect();
        text += &format!("schedulers = [{}]\n", each.join(", "));
    }
    if draws(6) == 0 {
        text += "alone = true\n";
    }
    if draws(3) == 0 {
        text += &format!("arrival_rate = \"{}/s\"\n", 1 + draws(500));
    }
    if draws(4) == 0 {
        text += &format!("duration = \"{}ms\"\n", 1 + draws(200));
    }
    if draws(3) == 0 {
        text += &format!("write_first = {}\n", draws(2) == 0);
    }
    text += &layout(draws, servers);
    if draws(4) == 0 {
        text += &format!("fsync = \"{}\"\n", ["phase", "file", "request"][draws(3) as usize]);
    }
    applications(draws, &mut text, servers);
    let hears = of_one && scheduler.starts_with("mclock") && !text.contains("scheduler_at");
    let feedback = hears && draws(2) == 0;
    parts(draws, &mut text, feedback);
    text
}

/// The location of schedulers, and rules that start and stop.
fn place(draws: &mut dyn FnMut(u64) -> u64, scheduler: &str, servers: u64) -> String {
    if scheduler.starts_with("tbf") && draws(2) == 0 {
        let (at, rate) = (draws(40), 50 + draws(4_000));
        return format!(
            "rules = [\"{at}ms start night rate={rate} rank={}\", \"{}ms change night rate={}\", \"{}ms stop night\"]\n",
            draws(3),
            at + draws(40),
            50 + draws(4_000),
            at + 40 + draws(40),
        );
    }
    match draws(6) {
        0 if !scheduler.starts_with("ssfq") && !scheduler.starts_with("dsfq") => {
            "scheduler_at = \"client\"\n".to_owned()
        }
        1 | 2 if !scheduler.starts_with("ssfq") => {
            format!("scheduler_at = \"proxy\"\nproxies = {}\n", 1 + draws(servers))
        }
        _ => String::new(),
    }
}

/// The layout of files, if not all are alike.
fn layout(draws: &mut dyn FnMut(u64) -> u64, servers: u64) -> String {
    let count = |draws: &mut dyn FnMut(u64) -> u64| 1 + draws(servers);
    match draws(4) {
        0 => "layout = \"file\"\n".to_owned(),
        1 => {
            let (first, second) = (count(draws), count(draws));
            let (end, stripe) = (1 + draws(60_000), 1 + draws(20_000));
            let further = end + 1 + draws(60_000);
            format!("layout = \"{first} to {end}B, {second}x{stripe}B to {further}B, all\"\n")
        }
        _ => String::new(),
    }
}

/// The hardware of servers and network.
fn parts(draws: &mut dyn FnMut(u64) -> u64, text: &mut String, feedback: bool) {
    *text += &format!("[cache]\ndirect = {}\n", draws(4) == 0);
    // A few pages at the minimum: less than a request.
    let size = 4 << draws(9);
    let dirty = size.min(4 + draws(60));
    *text += &format!(
        "size = \"{size}KiB\"\ndirty = \"{dirty}KiB\"\nbackground = \"{}KiB\"\nread_ahead = \"{}KiB\"\nreplacement = \"{}\"\n",
        dirty.min(draws(2) * 8),
        draws(64),
        ["lru", "fifo", "mru"][draws(3) as usize],
    );
    if draws(3) == 0 {
        *text += &format!("write_batch = \"{}KiB\"\nread_batch = \"{}KiB\"\n", 4 << draws(5), 4 << draws(5));
    }
    *text += &format!(
        "[disk]\nmodel = \"{}\"\norder = \"{}\"\ncapacity = \"64MiB\"\n",
        ["rate", "rate", "seek", "table", "ssd"][draws(5) as usize],
        ["fifo", "sstf", "clook"][draws(3) as usize],
    );
    if draws(5) == 0 {
        *text += &format!("drive = \"{}\"\n", ["cheetah-9lp", "hp-c3323a", "hdd-7200"][draws(3) as usize]);
    }
    *text += &format!("[network]\nsharing = \"{}\"\n", ["fifo", "fair"][draws(2) as usize]);
    match draws(4) {
        0 => *text += "loss = \"2%\"\n",
        1 => *text += &format!("buffer = \"{}KiB\"\n", 20 + draws(200)),
        2 => *text += "ideal = true\n",
        _ => {}
    }
    if draws(3) == 0 {
        *text += &format!("routers = {}\nrouter_rate = \"{}MiB/s\"\n", 1 + draws(4), 1 + draws(200));
    }
    if draws(3) == 0 {
        *text += &format!("slice = \"{}B\"\nheader = \"{}B\"\n", 500 + draws(40_000), draws(300));
    }
    *text +=
        &format!("[client]\nreads = \"{}\"\nfeedback = {feedback}\n", ["first", "spread"][draws(2) as usize]);
    if draws(4) == 0 {
        *text +=
            &format!("parda.threshold = \"{}us\"\nparda.window = {}\n", 1 + draws(20_000), 1 + draws(20));
    }
    if draws(3) == 0 {
        let window = 1_000 + draws(200_000);
        *text += &format!("window = \"{window}B\"\nkeeps_layouts = {}\n", draws(2) == 0);
    }
    if draws(3) == 0 {
        let dirty = 1 + draws(60_000);
        *text += &format!(
            "cache.size = \"{}B\"\ncache.dirty = \"{dirty}B\"\ncache.background = \"{}B\"\ncache.batch = \"{}B\"\n\
             cache.flushes = {}\ncache.cold = {}\n",
            dirty + draws(200_000),
            draws(dirty),
            1 + draws(50_000),
            1 + draws(4),
            draws(2) == 0,
        );
    }
    *text += &format!("[server]\nhandshake = {}\nlocks = {}\n", draws(2) == 0, draws(3) == 0);
    *text += &format!("threads = {}\npart = \"{}B\"\n", 1 + draws(5), 1_000 + draws(90_000));
    *text += &format!("[metadata]\nservers = {}\nthreads = {}\n", 1 + draws(3), draws(3));
    *text += &format!("by = \"{}\"\n", ["hash", "subtree"][draws(2) as usize]);
}

fn applications(draws: &mut dyn FnMut(u64) -> u64, text: &mut String, servers: u64) {
    let count = draws(4);
    if count == 0 {
        *text += &format!("clients = {}\n", 1 + draws(5));
        return;
    }
    for number in 0..count {
        *text += &format!(
            "[applications.a{number}]\nclients = {}\nweight = {}\nrate = \"{}MB/s\"\nrequest_rate = \"{}/s\"\n\
             reservation = \"{}MB/s\"\nlimit = \"{}MB/s\"\ndeadline = \"{}ms\"\npriority = {}\n",
            1 + draws(3),
            1 + draws(8),
            5 + draws(50),
            100 + draws(3_000),
            1 + draws(5),
            20 + draws(80),
            1 + draws(60),
            draws(3),
        );
        if draws(3) == 0 {
            let pace = ["open", "closed"][draws(2) as usize];
            *text +=
                &format!("trace.file = \"{}-{}\"\ntrace.format = \"alibaba\"\n", 1 + draws(60), draws(1_000));
            *text += &format!("trace.loop = \"{pace}\"\ntrace.speed = \"{}x\"\n", 1 + draws(4));
            if draws(3) == 0 {
                *text += &format!("trace.layouts = \"layouts-{servers}\"\n");
            }
        }
        if draws(2) == 0 {
            *text += &format!("workload = \"{}\"\n", WORKLOADS[draws(6) as usize]);
        }
        if draws(2) == 0 {
            *text += &format!("files = {}\nfile_size = \"{}B\"\n", 1 + draws(3), 1 + draws(90_000));
            *text += &format!("request_size = \"{}B\"\n", 2_000 + draws(60_000));
        }
        if draws(2) == 0 {
            *text += &format!("flows = {}\nthink_time = \"{}us\"\n", 1 + draws(5), draws(30_000));
        }
        if draws(4) == 0 {
            *text += &format!("arrival_rate = \"{}/s\"\n", 1 + draws(300));
        }
    }
}

/// The laws of every file system.
///
/// # Errors
/// The measure, and what is wrong with it.
pub fn laws(outcome: &Outcome) -> Result<(), String> {
    let mut shares = (0.0, 0);
    for (name, measure) in &outcome.measures {
        let Some(value) = measure.value() else {
            let reason = measure.reason().filter(|reason| !reason.is_empty());
            reason.ok_or(format!("{name} is missing without a reason"))?;
            continue;
        };
        if !value.is_finite() || value < 0.0 {
            return Err(format!("{name} is {value}"));
        }
        let is_share = [
            "share[",
            "jain_index",
            "cache_hit_share",
            "client_cache_hit_share",
            "disk_busy",
            "network_busy",
            "router_busy",
        ];
        if is_share.iter().any(|one| name.starts_with(one)) && value > 1.0 + 1e-9 {
            return Err(format!("{name} is {value}, more than all"));
        }
        if name.starts_with("share[") {
            shares = (shares.0 + value, shares.1 + 1);
        }
    }
    if shares.1 > 0 && (shares.0 - 1.0_f64).abs() > 1e-9 {
        return Err(format!("{} shares are {} together", shares.1, shares.0));
    }
    let value = |name: &str| outcome.measures.get(name).and_then(|measure| measure.value());
    if let (Some(mean), Some(makespan)) = (value("latency_mean_s"), value("makespan_s"))
        && mean > makespan * (1.0 + 1e-9)
        && value("requests_per_s").is_some_and(|rate| rate > 0.0)
    {
        return Err(format!("a request takes {mean} s on average, and all are done after {makespan} s"));
    }
    Ok(())
}

#[test]
fn the_laws_of_file_systems_notice_what_breaks_them() {
    let sound = super::outcome_of(&[
        ("latency_mean_s", 0.5),
        ("makespan_s", 2.0),
        ("requests_per_s", 10.0),
        ("disk_busy", 0.4),
        ("share[a]", 0.3),
        ("share[b]", 0.7),
    ]);
    let changed = [
        ("latency_mean_s", 2.5),
        ("disk_busy", 1.1),
        ("share[a]", 0.4),
        ("makespan_s", -1.0),
        ("share[b]", 1.2),
    ];
    super::each_breaks(laws, &sound, &changed);
}
