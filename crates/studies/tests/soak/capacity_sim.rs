//! Small clusters whose capacity is measured: the plain one and those of the put protocols.

use towtank_report::Outcome;

/// A few servers, for some milliseconds.
pub fn scenario(draws: &mut dyn FnMut(u64) -> u64) -> String {
    let system = ["disks", "disks", "disks", "replicast-m", "replicast-h", "uch-ccp", "uch-aimd", "serial"];
    let system = system[draws(8) as usize];
    let disks = system == "disks";
    let replicas = 1 + draws(4);
    let servers = if disks { replicas + draws(10) } else { 9 + draws(4) };
    let mut text = format!(
        "study = \"capacity-sim\"\nsystem = \"{system}\"\nservers = {servers}\nreplicas = {replicas}\ndepth = {}\n\
         size = \"{}\"\nwarm_up = \"{}us\"\nduration = \"{}us\"\n",
        1 + draws(if disks { 12 } else { 3 }),
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
        text += &plain(draws);
    }
    text
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
        text += &format!("fast_servers = \"{}%\"\n", draws(101));
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
        let signed = ["error_25", "error_50", "error_75"].contains(&name.as_str());
        if !value.is_finite() || value < if signed { -1.0 } else { 0.0 } {
            return Err(format!("{name} is {value}"));
        }
        if (name.ends_with("_utilisation") || name.ends_with("_sent_away")) && value > 1.0 {
            return Err(format!("{name} is {value}, more than all"));
        }
    }
    Ok(())
}
