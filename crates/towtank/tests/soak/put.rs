//! Scenarios of puts: all protocols and both fidelities, odd sizes and links, racks, failures, closed and
//! open loops.

use towtank_report::Outcome;

type Draws<'a> = &'a mut dyn FnMut(u64) -> u64;

fn pick<'a>(draws: Draws<'_>, list: &[&'a str]) -> &'a str {
    list[draws(list.len() as u64) as usize]
}

fn one_in(draws: Draws<'_>, n: u64) -> bool {
    draws(n) == 0
}

/// A small cluster with some hundred puts.
pub fn scenario(draws: &mut dyn FnMut(u64) -> u64) -> String {
    let surge = one_in(draws, 6);
    let protocol = pick(draws, &["replicast-m", "replicast-h", "uch-ccp", "uch-aimd", "serial"]);
    let surge = surge && protocol != "serial";
    let replicas = 1 + draws(4);
    let group = replicas + draws(8);
    let servers = group * (1 + draws(3)) + if one_in(draws, 4) { draws(group) } else { 0 };
    let gateways = 1 + draws(12);
    let chunk = pick(draws, &["1B", "1KiB", "8999B", "9000B", "9001B", "16KiB", "70KiB", "128KiB"]);
    let mut text = format!(
        "study = \"put\"\nprotocol = \"{protocol}\"\ngateways = {gateways}\nservers = {servers}\ngroup = {group}\n\
         replicas = {replicas}\nchunk = \"{chunk}\"\nduration = \"{}us\"\n",
        200 + draws(2_000)
    );
    if one_in(draws, 2) {
        text += &format!("disk = \"{}\"\n", pick(draws, &["1MiB/s", "100MiB/s", "1000MiB/s", "20GB/s"]));
    }
    if surge {
        text += "fidelity = \"surge\"\n";
    } else {
        text += &beyond_surge(draws);
        if protocol.starts_with("replicast") {
            text += &of_negotiations(draws);
        }
    }
    let racks = if surge || one_in(draws, 2) { 1 } else { 1 + draws(servers.min(4)) };
    text += &network(draws, racks);
    if !surge && protocol.starts_with("replicast") && one_in(draws, 3) {
        text += &format!("request_rate = \"{}/s\"\n", [500, 5_000, 50_000, 1_000_000][draws(4) as usize]);
    }
    text += &bids(draws);
    text + &faults(draws, (servers, surge))
}

/// Keys that SURGE does not have.
fn beyond_surge(draws: Draws<'_>) -> String {
    let mut text = format!("warm_up = \"{}us\"\n", draws(400));
    if one_in(draws, 2) {
        text += &format!("start_spread = \"{}us\"\n", draws(300));
    }
    if one_in(draws, 2) {
        text += &format!("in_flight = {}\n", 1 + draws(5));
    }
    if one_in(draws, 3) {
        text += &format!("arrival_rate = \"{}/s\"\n", 1_000 + draws(300_000));
    }
    if one_in(draws, 3) {
        let (chunk, share) = (1 + draws(40_000), draws(101));
        text += &format!("other_chunks = [{{ chunk = \"{chunk}B\", share = \"{share}%\" }}]\n");
    }
    if one_in(draws, 3) {
        text += &format!("read_share = \"{}%\"\n", pick(draws, &["1", "30", "70", "100"]));
        if one_in(draws, 2) {
            text += &format!("disk_read = \"{}\"\n", pick(draws, &["1MiB/s", "900MiB/s", "30GB/s"]));
        }
    }
    text + if one_in(draws, 3) { "pipelined = true\n" } else { "" }
}

/// Keys of protocols that negotiate.
fn of_negotiations(draws: Draws<'_>) -> String {
    let mut text = String::new();
    if one_in(draws, 3) {
        text += &format!("known_share = \"{}%\"\n", pick(draws, &["1", "40", "100"]));
    }
    if one_in(draws, 3) {
        text += &format!("capacity = \"{}\"\n", pick(draws, &["128KiB", "500KiB", "3MiB", "1TiB"]));
    }
    text
}

fn network(draws: Draws<'_>, racks: u64) -> String {
    let mut text =
        format!("[network]\ntrip = \"{}ns\"\n", [1, 2, 3, 100, 1_000, 10_000, 50_000][draws(7) as usize]);
    if racks > 1 {
        let uplink = pick(draws, &["1Gbit/s", "3Gbit/s", "40Gbit/s", "1Tbit/s"]);
        let layout = pick(draws, &["spread", "blocks"]);
        text += &format!("racks = {racks}\nuplink = \"{uplink}\"\nlayout = \"{layout}\"\n");
    }
    if one_in(draws, 3) {
        text += &format!("link = \"{}\"\n", pick(draws, &["100Mbit/s", "1Gbit/s", "100Gbit/s"]));
    }
    if one_in(draws, 4) {
        text += &format!("frame = \"{}B\"\n", [1_500, 64_000, 333][draws(3) as usize]);
    }
    if one_in(draws, 4) {
        text += &format!("data_share = \"{}%\"\noverhead = \"{}%\"\n", 1 + draws(99), draws(30));
    }
    if one_in(draws, 5) {
        text += &format!(
            "control_replicast = \"{}B\"\ncontrol_unicast = \"{}B\"\n",
            1 + draws(2_000),
            1 + draws(2_000)
        );
    }
    if one_in(draws, 5) {
        text += &format!("bucket_spare = \"{}B\"\naimd_look = \"{}ns\"\n", draws(3_000), 1 + draws(50_000));
    }
    text
}

fn bids(draws: Draws<'_>) -> String {
    let mut text = "[bids]\n".to_owned();
    if one_in(draws, 3) {
        text +=
            &format!("extension_m = \"{}%\"\nextension_h = \"{}%\"\n", 100 + draws(300), 100 + draws(300));
    }
    if one_in(draws, 4) {
        text += &format!("lead = \"{}ns\"\n", draws(60_000));
    }
    if one_in(draws, 4) {
        text += &format!("gap = \"{}ns\"\n", draws(60_000));
    }
    if one_in(draws, 3) {
        text += &format!("keep_holes = {}\n", one_in(draws, 2));
    }
    if one_in(draws, 4) {
        text += &format!("queue = \"{}KiB\"\nqueue_chunks = {}\n", draws(600), 1 + draws(6));
    }
    text
}

fn faults(draws: Draws<'_>, (servers, surge): (u64, bool)) -> String {
    let mut text = "[faults]\n".to_owned();
    if one_in(draws, 3) {
        text += &format!("slow_servers = {}\nslow_disk = \"{}MiB/s\"\n", draws(servers + 1), 1 + draws(400));
    }
    if !surge && one_in(draws, 3) {
        let failed = if one_in(draws, 8) { servers } else { 1 + draws(servers.min(4)) };
        text += &format!(
            "failed_servers = {failed}\nbid_timeout = \"{}us\"\nack_timeout = \"{}us\"\n",
            30 + draws(600),
            500 + draws(3_000)
        );
        if one_in(draws, 2) {
            text += &format!("fail_at = \"{}us\"\n", draws(1_500));
        }
    }
    text
}

/// The laws of every run of puts.
///
/// # Errors
/// The measure, and what is wrong with it.
pub fn laws(outcome: &Outcome) -> Result<(), String> {
    let value = |name: &str| outcome.measures.get(name).and_then(|measure| measure.value());
    for (name, measure) in &outcome.measures {
        let Some(value) = measure.value() else {
            measure
                .reason()
                .filter(|reason| !reason.is_empty())
                .ok_or(format!("{name} is missing without a reason"))?;
            continue;
        };
        if !value.is_finite() || value < 0.0 {
            return Err(format!("{name} is {value}"));
        }
        if ["disk_utilisation", "undecided_share", "uplink_utilisation"].contains(&name.as_str())
            && value > 1.0
        {
            return Err(format!("{name} is {value}, more than all"));
        }
    }
    for kind in ["put", "get"] {
        let latency = |of: &str| value(&format!("{kind}_latency_{of}_us"));
        let order = [latency("p50"), latency("p99"), latency("p999")];
        let order: Vec<f64> = order.into_iter().flatten().collect();
        if !order.is_sorted() {
            return Err(format!("quantiles of {kind} latency: {order:?}"));
        }
    }
    match (value("chunks_per_second"), value("puts_measured")) {
        (Some(rate), Some(puts)) if (rate > 0.0) == (puts > 0.0) => Ok(()),
        (None, None) => Ok(()),
        (rate, puts) => Err(format!("{rate:?} chunks a second of {puts:?} puts")),
    }
}
