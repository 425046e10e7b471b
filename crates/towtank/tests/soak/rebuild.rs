//! Random scenarios of rebuilds: small clusters of every kind, generated or from exports, with all kinds of
//! failures and limits.
//!
//! The draws keep the product of objects, units and simulated time small, so that a run takes milliseconds.
//! Some scenarios are invalid (a second failure of what has failed, more load than the disks serve): `check`
//! must refuse them, and the harness skips them.

use std::fmt::Write;

/// A function that draws one number below its argument.
type Draw<'a> = &'a mut dyn FnMut(u64) -> u64;

/// A drawn scenario, in the form of its file.
pub fn scenario(draws: &mut dyn FnMut(u64) -> u64) -> String {
    if once_in(draws, 5) {
        return super::clusters::failing(draws);
    }
    if once_in(draws, 6) {
        return chassis(draws);
    }
    let mut text = String::from("study = \"rebuild\"\n");
    let shape = Shape::draw(draws);
    shape.write(&mut text, draws);
    redundancy(&shape, &mut text, draws);
    failures(&shape, &mut text, draws);
    speeds(&shape, &mut text, draws);
    limits(&mut text, draws);
    daemons(&shape, &mut text, draws);
    clients(&shape, &mut text, draws);
    costs(&shape, &mut text, draws);
    data(&shape, &mut text, draws);
    text
}

/// The properties on which other parts depend.
struct Shape {
    servers: u64,
    disks: u64,
    racks: u64,
    /// Copies lie in different racks.
    by_rack: bool,
    ceph: bool,
    grouped: bool,
    /// Bytes of a unit.
    unit: u64,
}

fn pick<'a>(draws: Draw<'_>, of: &[&'a str]) -> &'a str {
    of[draws(of.len() as u64) as usize]
}

/// True with probability one in `times`.
fn once_in(draws: Draw<'_>, times: u64) -> bool {
    draws(times) == 0
}

fn line(text: &mut String, key: &str, value: &str) {
    writeln!(text, "{key} = {value}").expect("a string takes all");
}

fn quoted(text: &mut String, key: &str, value: &str) {
    line(text, key, &format!("\"{value}\""));
}

impl Shape {
    fn draw(draws: Draw<'_>) -> Shape {
        let servers = 2 + draws(11);
        let racks = if draws(2) == 0 { 1 } else { 1 + draws(servers.min(6)) };
        Shape {
            servers,
            disks: 1 + draws(4),
            racks,
            by_rack: racks > 1 && draws(2) == 0,
            ceph: once_in(draws, 3),
            grouped: draws(2) == 0,
            unit: [16, 64, 256, 1_024][draws(4) as usize] << 10,
        }
    }

    fn write(&self, text: &mut String, draws: Draw<'_>) {
        if self.ceph {
            quoted(text, "preset", pick(draws, &["ceph-wpq", "ceph"]));
        }
        line(text, "servers", &self.servers.to_string());
        line(text, "racks", &self.racks.to_string());
        line(text, "disks_per_server", &self.disks.to_string());
        quoted(text, "unit", &format!("{}B", self.unit));
        let all = [
            "crush-straw2",
            "crush-straw",
            "crush-vring",
            "ring",
            "multiring",
            "rendezvous",
            "jump",
            "maglev",
            "static-modulo",
        ];
        if self.by_rack {
            quoted(text, "failure_domain", "rack");
            quoted(text, "placement", "crush-straw2");
        } else {
            quoted(text, "placement", pick(draws, &all));
        }
        let vnodes = 1 + draws(32);
        if text.contains("ring\"") && !text.contains("vring\"") {
            line(text, "vnodes", &vnodes.to_string());
        }
        let drawn = !self.by_rack && (text.contains("crush") || text.contains("rendezvous"));
        match (self.grouped, draws(2)) {
            (true, 0) => line(text, "groups", &(1 + draws(64)).to_string()),
            (true, _) => line(text, "groups_per_server", &(1 + draws(12)).to_string()),
            (false, 0) => {
                let how = pick(draws, &["auto", "enumerate", "draw"]);
                quoted(text, "lost_set", if drawn { how } else { "enumerate" });
            }
            (false, _) => {}
        }
    }
}

fn redundancy(shape: &Shape, text: &mut String, draws: Draw<'_>) {
    let domains = if shape.by_rack { shape.racks } else { shape.servers };
    if domains >= 3 && draws(2) == 0 {
        let parity = 1 + draws((domains - 1).min(3));
        let data = 1 + draws((domains - parity).min(6));
        quoted(text, "ec", &format!("{data}+{parity}"));
    } else {
        line(text, "replicas", &(1 + draws(domains.min(4))).to_string());
    }
    quoted(text, "source", pick(draws, &["primary", "random", "least-loaded"]));
    quoted(text, "gather", pick(draws, &["primary", "target"]));
}

/// One chassis: arrays of its disks, or objects and groups on all of them.
fn chassis(draws: Draw<'_>) -> String {
    let mut text =
        String::from("study = \"rebuild\"\nservers = 1\nfailure_domain = \"disk\"\nunit = \"1MiB\"\n");
    let (form, data, parity, spares) = (draws(3), 1 + draws(5), 1 + draws(2), 1 + draws(2));
    let width = data + parity;
    let disks = match form {
        0 => width * (1 + draws(2)) + spares,
        1 => width + spares + draws(6),
        _ => width + 1 + draws(6),
    };
    line(&mut text, "disks_per_server", &disks.to_string());
    quoted(&mut text, "ec", &format!("{data}+{parity}"));
    let amount = 16 * (1 + draws(8));
    if form < 2 {
        quoted(&mut text, "array", ["raid", "draid"][form as usize]);
        line(&mut text, "spares", &spares.to_string());
        let (key, all) = if form == 0 { ("disk_capacity", amount) } else { ("per_server", amount * disks) };
        quoted(&mut text, key, &format!("{all}MiB"));
    } else {
        quoted(&mut text, "per_server", &format!("{}MiB", amount * disks));
        if draws(2) == 0 {
            line(&mut text, "groups", &(1 + draws(64)).to_string());
        }
    }
    let (first, count) = (draws(disks), 1 + draws(3));
    let words = (0..count).map(|at| format!("\"disk={}{}\"", (first + 2 * at) % disks, moment(draws)));
    let words: Vec<String> = words.collect();
    line(&mut text, "fail", &format!("[{}]", words.join(", ")));
    if draws(2) == 0 {
        quoted(&mut text, "detection", &format!("{}ms", draws(400)));
    }
    if draws(3) == 0 {
        quoted(&mut text, "replace", &format!("{}ms", draws(3_000)));
    }
    if draws(2) == 0 {
        quoted(&mut text, "disk_read", &format!("{}MB/s", 20 + draws(400)));
        quoted(&mut text, "disk_write", &format!("{}MB/s", 20 + draws(400)));
    }
    quoted(&mut text, "gather", pick(draws, &["primary", "target"]));
    quoted(&mut text, "source", pick(draws, &["primary", "random", "least-loaded"]));
    if draws(2) == 0 {
        line(&mut text, "window", &(1 + draws(8)).to_string());
        line(&mut text, "recovery_max_active", &(1 + draws(40)).to_string());
    }
    if once_in(draws, 4) {
        line(&mut text, "server_max_active", &(1 + draws(20)).to_string());
    }
    if once_in(draws, 4) {
        quoted(&mut text, "server_rate_cap", &format!("{}MB/s", 20 + draws(900)));
    }
    text
}

/// One failure, as a user would write it. A named one depends on `turn`, so that it seldom coincides with
/// another.
fn failing(shape: &Shape, turn: u64, draws: Draw<'_>) -> String {
    let disks = shape.servers * shape.disks;
    match draws(12) {
        0..4 => "server".to_owned(),
        4..7 => "disk".to_owned(),
        7 => format!("server={}", turn % shape.servers),
        8..10 => format!("osd.{}", disks - 1 - turn % disks),
        10 if shape.racks > 2 => "rack".to_owned(),
        11 if shape.racks > 2 => format!("rack={}", draws(shape.racks)),
        _ => "disk".to_owned(),
    }
}

/// An instant, from the beginning to long after the end, in every order of magnitude.
fn moment(draws: Draw<'_>) -> String {
    let count = 1 + draws(999);
    match draws(8) {
        0 | 1 => String::new(),
        2 => format!("@{count}us"),
        3..6 => format!("@{count}ms"),
        6 => format!("@{}ms", 10 * count),
        _ => format!("@{count}min"),
    }
}

fn failures(shape: &Shape, text: &mut String, draws: Draw<'_>) {
    let most = shape.servers.min(4) - 1;
    let count = 1 + if draws(2) == 0 { 0 } else { draws(most) };
    let mut words = Vec::new();
    for turn in 0..count {
        words.push(format!("\"{}{}\"", failing(shape, turn, draws), moment(draws)));
    }
    line(text, "fail", &format!("[{}]", words.join(", ")));
    if draws(2) == 0 {
        quoted(text, "detection", &format!("{}ms", draws(200)));
    }
    if shape.ceph || draws(2) == 0 {
        quoted(text, "down_out", &format!("{}ms", draws(500)));
    }
    if once_in(draws, 4) {
        line(text, "rack_out", pick(draws, &["true", "false"]));
    }
    if once_in(draws, 16) {
        line(text, "noout", "true");
    }
}

fn speeds(shape: &Shape, text: &mut String, draws: Draw<'_>) {
    // In units per second, so that small units go over slow disks.
    let rate = |draws: Draw<'_>| format!("{}B/s", shape.unit * (20 + draws(2_000)));
    if draws(2) == 0 {
        quoted(text, "disk_read", &rate(draws));
        quoted(text, "disk_write", &rate(draws));
    }
    if draws(2) == 0 {
        quoted(text, "nic", &rate(draws));
    }
    if shape.racks > 1 && draws(2) == 0 {
        quoted(text, "uplink", &rate(draws));
    }
    if draws(2) == 0 {
        quoted(text, "latency", &format!("{}us", 1 + draws(1_000)));
    }
    if draws(2) == 0 {
        quoted(text, "seeks", pick(draws, &["jbod", "hdd", "none"]));
    }
    if once_in(draws, 4) {
        quoted(text, "seek_extent", &format!("{}B", shape.unit * (1 + draws(8))));
    }
}

fn limits(text: &mut String, draws: Draw<'_>) {
    if draws(2) == 0 {
        line(text, "window", &(1 + draws(8)).to_string());
    }
    if draws(2) == 0 {
        line(text, "recovery_max_active", &(1 + draws(12)).to_string());
    }
    if draws(2) == 0 {
        line(text, "max_backfills", &draws(5).to_string());
    }
    match draws(4) {
        0 => quoted(text, "recovery_sleep", &format!("{}us", draws(20_000))),
        1 => quoted(text, "recovery_sleep", "0s"),
        _ => {}
    }
    if once_in(draws, 3) {
        quoted(text, "stream_limit", &format!("{}KiB/s", 64 + draws(50_000)));
    }
    if once_in(draws, 3) {
        quoted(text, "rate_cap", &format!("{}KiB/s", 256 + draws(100_000)));
    }
    if once_in(draws, 8) {
        quoted(text, "disk_capacity", &format!("{}MiB", 1 + draws(400)));
    }
    if once_in(draws, 8) {
        // Such runs are too short for larger units; `rebuild/tests/coarse.rs` draws clusters that have them.
        quoted(text, "units", "auto");
        quoted(text, "within", &format!("{}us", 1 + draws(2_000)));
    }
}

/// What takes the place of what failed, and, for the groups of Ceph, the queue of the daemons.
fn daemons(shape: &Shape, text: &mut String, draws: Draw<'_>) {
    let of_ceph = shape.ceph && shape.grouped;
    // Before what failed is marked out, or long after.
    let after = format!("{}ms", draws(3) * draws(400));
    match draws(8) {
        0 => quoted(text, "replace", &after),
        1..4 if of_ceph => quoted(text, "returns", &after),
        _ => {}
    }
    if !of_ceph || draws(2) == 0 {
        return;
    }
    if draws(3) == 0 {
        quoted(text, "queue", "wpq");
        return;
    }
    quoted(text, "queue", "mclock");
    quoted(text, "profile", pick(draws, &["balanced", "high_client_ops", "high_recovery_ops"]));
    match draws(3) {
        0 => line(text, "ceph_release", &(16 + draws(6)).to_string()),
        _ => quoted(text, "ceph_release", &format!("{}.2.{}", 16 + draws(6), draws(11))),
    }
    // So much that a step takes milliseconds, as all else here does.
    line(text, "osd_capacity", &(10_000 + draws(1_000_000)).to_string());
}

fn clients(shape: &Shape, text: &mut String, draws: Draw<'_>) {
    if draws(4) > 0 {
        return;
    }
    if once_in(draws, 3) {
        line(text, "client_depth", &(1 + draws(2 * shape.servers)).to_string());
    } else {
        quoted(text, "client_load", &format!("{}/s", 1 + draws(6 * shape.servers)));
    }
    if draws(2) == 0 {
        quoted(text, "client_read", &format!("{}%", draws(101)));
        quoted(text, "client_size", &format!("{}KiB", 1 + draws(256)));
        line(text, "client_weight", &(1 + draws(30)).to_string());
    }
}

/// The work of daemons besides moving data, and limits of whole servers.
fn costs(shape: &Shape, text: &mut String, draws: Draw<'_>) {
    let us = |below: u64, draws: Draw<'_>| format!("{}us", draws(below));
    if !text.contains("seeks") && once_in(draws, 4) {
        quoted(text, "io_cost", &us(9_000, draws));
    }
    if once_in(draws, 6) {
        quoted(text, "object_cost", &us(3_000, draws));
    }
    if once_in(draws, 6) {
        quoted(text, "peering", &us(900_000, draws));
    }
    if shape.grouped && once_in(draws, 4) {
        quoted(text, "backfill_begin", &us(90_000, draws));
        quoted(text, "backfill_look", &us(200, draws));
    }
    if once_in(draws, 8) {
        line(text, "server_max_active", &(1 + draws(6)).to_string());
    }
    if once_in(draws, 8) {
        quoted(text, "server_rate_cap", &format!("{}KiB/s", 256 + draws(100_000)));
    }
    if text.contains("disk_capacity") && draws(2) == 0 {
        quoted(text, "backfillfull_ratio", &format!("{}%", 20 + draws(81)));
    }
    if text.contains("mclock") && once_in(draws, 3) {
        quoted(text, "recovery_cost", &format!("{}KiB", 1 + draws(40_000)));
    }
    if text.contains("returns") && draws(2) == 0 {
        line(text, "async_recovery_min_cost", &draws(200).to_string());
    }
}

/// The data: at most some hundred objects and some thousand units.
fn data(shape: &Shape, text: &mut String, draws: Draw<'_>) {
    let units = 1 + draws(160);
    let by_count = draws(2) == 0;
    if by_count {
        line(text, "objects", &(1 + draws(40 * shape.servers)).to_string());
    } else {
        let bytes = shape.unit * 2 * (8 + units) * shape.disks.min(2);
        quoted(text, "per_server", &format!("{bytes}B"));
    }
    // From a fraction of a unit to several units, seldom a whole number of them.
    let size = shape.unit * (1 + draws(64)) / 16 + [0, 1, 777][draws(3) as usize];
    text.push_str("[population]\n");
    match draws(6) {
        0..3 => {
            quoted(text, "distribution", "constant");
            quoted(text, "size", &format!("{size}B"));
        }
        3 => {
            quoted(text, "distribution", "log_normal");
            quoted(text, "median", &format!("{size}B"));
            line(text, "sigma", &format!("0.{}", 1 + draws(9)));
            quoted(text, "cap", &format!("{}B", 8 * size));
        }
        4 => {
            quoted(text, "distribution", "pareto");
            quoted(text, "min", &format!("{size}B"));
            line(text, "shape", &format!("{}.5", 1 + draws(3)));
            quoted(text, "cap", &format!("{}B", 8 * size));
        }
        // Files that become several objects, or fewer of them than a unit has bytes.
        _ if by_count => {
            quoted(text, "distribution", "constant");
            quoted(text, "size", &format!("{}B", 4 * size));
        }
        _ => {
            quoted(text, "distribution", "constant");
            quoted(text, "size", &format!("{}B", size / 2 + 1));
        }
    }
    layout(shape, text, draws);
}

fn layout(shape: &Shape, text: &mut String, draws: Draw<'_>) {
    let part = (shape.unit * (4 + draws(16)) / 8).max(512);
    match draws(3) {
        0 => quoted(text, "layout", "whole"),
        1 => {
            quoted(text, "layout", "chunks");
            quoted(text, "chunk", &format!("{part}B"));
        }
        _ => {
            quoted(text, "layout", "stripe");
            quoted(text, "stripe_unit", &format!("{part}B"));
            line(text, "stripe_width_max", &(1 + draws(6)).to_string());
        }
    }
}

/// The laws of every outcome.
pub fn laws(outcome: &towtank_report::Outcome) -> Result<(), String> {
    let value = |name: &str| outcome.measures.get(name).and_then(towtank_report::Measurement::value);
    let at_most = |name: &str, most: f64| match value(name) {
        Some(found) if !(0.0..=most * (1.0 + 1e-9)).contains(&found) => {
            Err(format!("{name} is {found}, not from 0 to {most}"))
        }
        _ => Ok(()),
    };
    for (name, measure) in outcome.measures.iter().filter(|(_, measure)| measure.unit() == "fraction") {
        at_most(name, if measure.value().is_some() { 1.0 } else { 0.0 })?;
    }
    if let (Some(rate), Some(bound), Some(ideal)) = (
        value("aggregate_rate_bytes_per_s"),
        value("bound_rate_bytes_per_s"),
        value("ideal_rate_bytes_per_s"),
    ) {
        at_most("aggregate_rate_bytes_per_s", bound)?;
        at_most("bound_rate_bytes_per_s", ideal)?;
        at_most("aggregate_rate_bytes_per_s", ideal)?;
        if rate <= 0.0 {
            return Err(format!("the rate is {rate}"));
        }
    }
    if let (Some(all), Some(transfer)) = (value("time_to_full_redundancy_s"), value("transfer_s")) {
        // Disks that replace failed ones take back their data after all is safe.
        at_most("transfer_s", value("time_to_rebalanced_s").unwrap_or(all))?;
        at_most("time_to_two_copies_s", all)?;
        if all == 0.0 && transfer > 0.0 {
            return Err("all is safe at once, but something was transferred".to_owned());
        }
    }
    let unsafe_objects = value("lost_objects").unwrap_or(0.0) + value("stuck_objects").unwrap_or(0.0);
    if (unsafe_objects > 0.0) == value("time_to_full_redundancy_s").is_some() {
        return Err(format!(
            "{unsafe_objects} objects are not safe, but the time until all are is {:?}",
            value("time_to_full_redundancy_s")
        ));
    }
    let unwritten = value("objects_unwritten").unwrap_or(0.0);
    if let (Some(affected), Some(rebuilt)) = (value("objects_affected"), value("objects_rebuilt"))
        && affected > rebuilt + unsafe_objects + unwritten
    {
        return Err(format!(
            "{affected} objects are affected, but {rebuilt} rebuilt, {unwritten} back as they were, and {unsafe_objects} not safe"
        ));
    }
    if unwritten > 0.0 && value("time_to_full_redundancy_s") == Some(0.0) {
        return Err("copies came back, but none was ever missing".to_owned());
    }
    curves(&outcome.series["observed"])
}

/// The progress never decreases, and it ends at all bytes but those reported as unfinished.
fn curves(observed: &serde_json::Value) -> Result<(), String> {
    let points = |name: &str| -> Vec<(f64, u64)> {
        observed[name]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|point| Some((point[0].as_f64()?, point[1].as_u64()?)))
            .collect()
    };
    let progress = points("progress");
    if let Some(back) = progress.windows(2).find(|pair| pair[1].0 < pair[0].0) {
        return Err(format!("the progress goes back in time: {back:?}"));
    }
    let done: u64 = progress.iter().map(|point| point.1).sum();
    let wanted = observed["rebuilt"].as_u64().unwrap_or(0);
    if done != wanted {
        return Err(format!("the progress ends at {done} bytes of {wanted} that are rebuilt"));
    }
    Ok(())
}
