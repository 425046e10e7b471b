//! Small clusters whose capacity is measured: the plain one and those of the put protocols.

use serde_json::{Value, json};
use towtank_report::Outcome;

/// A few servers, for some milliseconds.
pub fn scenario(draws: &mut dyn FnMut(u64) -> u64) -> String {
    let system = ["disks", "disks", "disks", "replicast-m", "replicast-h", "uch-ccp", "uch-aimd", "serial"];
    let system = system[draws(8) as usize];
    let disks = system == "disks";
    let replicas = 1 + draws(4);
    let servers = if disks { replicas + draws(10) } else { 9 + draws(4) };
    let depth = 1 + draws(if disks { 12 } else { 3 });
    let mut text = format!(
        "study = \"capacity-sim\"\nsystem = \"{system}\"\nservers = {servers}\nreplicas = {replicas}\ndepth = {depth}\n\
         size = \"{}\"\nwarm_up = \"{}us\"\nduration = \"{}us\"\n",
        ["1B", "4KiB", "64KiB", "100000B", "1MiB"][draws(5) as usize],
        draws(800),
        200 + draws(1_500)
    );
    if draws(2) == 0 {
        text += &format!("trip = \"{}ns\"\n", [1, 100, 1_000, 10_000, 200_000][draws(5) as usize]);
    }
    if draws(2) == 0 {
        text += &format!("disk = \"{}\"\n", ["10MiB/s", "400MiB/s", "3GiB/s"][draws(3) as usize]);
    }
    if draws(2) == 0 {
        text += &format!("link = \"{}\"\n", ["1Gbit/s", "25Gbit/s"][draws(2) as usize]);
    }
    if disks {
        text += &mix(draws, depth * servers);
        text += &plain(draws);
    }
    text
}

/// A mix of sizes, of which each part has an operation in flight, or one size alone: pure, because the law of
/// pure mixes cannot see the share of reads.
fn mix(draws: &mut dyn FnMut(u64) -> u64, in_flight: u64) -> String {
    let alone = ["1B:100%:r0", "64KiB:100%:r100", "100000B:100%:r0"];
    let several = [
        "4KiB:50%:r100,1MiB:50%:r100",
        "1B:10%:r50,64KiB:90%:r0",
        "4KiB:30%:r20,64KiB:30%:r70,1MiB:40%:r100",
    ];
    let mix = match draws(4) {
        0 => alone[draws(3) as usize],
        1 if in_flight >= 10 => several[draws(3) as usize],
        _ => return String::new(),
    };
    format!("mix = \"{mix}\"\n")
}

/// Keys that only the plain cluster has.
fn plain(draws: &mut dyn FnMut(u64) -> u64) -> String {
    let mut text = String::new();
    if draws(2) == 0 {
        text += &format!("read_overhead = \"{}us\"\nwrite_overhead = \"{}us\"\n", draws(100), draws(100));
    }
    if draws(2) == 0 {
        text += &format!("cache_hits = \"{}%\"\ncached = \"{}ns\"\n", draws(101), draws(20_000));
    }
    if draws(2) == 0 {
        text += &format!("fast_servers = \"{}%\"\nfast_disk = \"{}MB/s\"\n", draws(101), 20 + draws(5_000));
    }
    match draws(6) {
        0 => text += "ack = \"majority\"\n",
        1 => text += &format!("ack = {}\n", 1 + draws(4)),
        _ => {}
    }
    let reads: Vec<String> = (0..=draws(3)).map(|_| format!("\"{}%\"", draws(101))).collect();
    text += &format!(
        "[control]\ntarget = \"{}%\"\nreads = [{}]\nphase = \"{}us\"\nwindow = \"{}us\"\noffered = \"{}%\"\n",
        1 + draws(100),
        reads.join(", "),
        100 + draws(600),
        50 + draws(500),
        1 + draws(400)
    );
    text
}

/// The laws of every run.
///
/// # Errors
/// The measure, and what is wrong with it.
pub fn laws(outcome: &Outcome) -> Result<(), String> {
    for (name, measure) in &outcome.measures {
        let Some(value) = measure.value() else {
            measure
                .reason()
                .filter(|reason| !reason.is_empty())
                .ok_or(format!("{name} is missing without a reason"))?;
            continue;
        };
        let signed = ["error_25", "error_50", "error_75"].contains(&name.as_str())
            || name.ends_with("_error")
            || name.ends_with("_error_miscounted");
        if !value.is_finite() || value < if signed { -1.0 } else { 0.0 } {
            return Err(format!("{name} is {value}"));
        }
        if (name.ends_with("_utilisation") || name.ends_with("_sent_away")) && value > 1.0 {
            return Err(format!("{name} is {value}, more than all"));
        }
    }
    outcome.series.get("measured").and_then(|measured| measured.get("mixed")).map_or(Ok(()), |mixed| {
        shares(mixed)?;
        pure(outcome, mixed)
    })
}

/// The shares of the parts of each run of a mix: each from 0 to 1, and together 1 in a run that did anything.
fn shares(mixed: &Value) -> Result<(), String> {
    for held in mixed["held"].as_array().ok_or("there is no run of the mix")? {
        let parts = held["parts"].as_array().ok_or("a run has no parts")?;
        for way in ["operations", "concurrency", "capacity"] {
            let shares: Vec<f64> = parts.iter().filter_map(|part| part[way].as_f64()).collect();
            if shares.len() != parts.len() || shares.iter().any(|share| !(0.0..=1.0).contains(share)) {
                return Err(format!("{} {way}: the shares are {shares:?}", held["shares"]));
            }
            let sum: f64 = shares.iter().sum();
            if held["per_second"].as_f64() > Some(0.0) && (sum - 1.0).abs() > 1e-9 {
                return Err(format!("{} {way}: the shares add up to {sum}", held["shares"]));
            }
        }
    }
    Ok(())
}

/// A mix of one part, which is pure here, is estimated exactly, whatever its share is of.
fn pure(outcome: &Outcome, mixed: &Value) -> Result<(), String> {
    if mixed["held"][0]["parts"].as_array().is_none_or(|parts| parts.len() != 1) {
        return Ok(());
    }
    let errors =
        outcome.measures.iter().filter(|(name, _)| name.starts_with("mix_by_") && name.contains("_error"));
    for (name, measure) in errors {
        if measure.value().is_some_and(|error| error.abs() > 1e-9) {
            return Err(format!("{name} of a pure mix is {:?}", measure.value()));
        }
    }
    Ok(())
}

/// Laws that cannot fail prove nothing.
#[test]
fn a_broken_law_of_mixes_is_noticed() {
    let sound = || {
        let part = |share: f64| json!({"operations": share, "concurrency": share, "capacity": share});
        let mut outcome = Outcome::default();
        outcome.measure("mix_by_operations_error", 0.5, "share");
        let held = json!([{"shares": "operations", "per_second": 9.0, "parts": [part(0.25), part(0.75)]}]);
        outcome.series.insert("measured".to_owned(), json!({"mixed": {"held": held}}));
        outcome
    };
    assert_eq!(laws(&sound()), Ok(()));
    let broken = |damage: &dyn Fn(&mut Outcome, &mut Value)| {
        let mut outcome = sound();
        let mut measured = outcome.series["measured"].clone();
        damage(&mut outcome, &mut measured["mixed"]["held"][0]["parts"]);
        outcome.series.insert("measured".to_owned(), measured);
        laws(&outcome).expect_err("a law is broken")
    };
    assert!(broken(&|_, parts| parts[0]["capacity"] = json!(0.3)).contains("add up to"));
    assert!(broken(&|_, parts| parts[1]["operations"] = json!(1.2)).contains("the shares are"));
    assert!(
        broken(&|_, parts| *parts = json!([{"operations": 1.0, "concurrency": 1.0, "capacity": 1.0}]))
            .contains("of a pure mix")
    );
    assert!(broken(&|outcome, _| outcome.measure("mix_by_capacity_error", -2.0, "share")).contains("is -2"));
}
