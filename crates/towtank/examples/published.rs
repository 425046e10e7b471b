//! What does each published scenario claim, and what does it take?
//!
//! Runs published scenarios on one core and writes `scenarios/papers/published.json`, the list that
//! `towtank reproduce --list` shows and that each reproduction is checked against. Run it after a change of
//! claims or results:
//!
//! ```text
//! cargo run --release -p towtank --example published -- scenarios/papers/published.json [NAME…]
//! ```
//!
//! With names, only their entries are written anew. Seconds are processor time, so other work on the machine
//! matters little; Linux only.

use std::error::Error;
use std::fs;
use std::num::NonZeroUsize;

use serde_json::{Value, json};
use towtank::{Options, Registry, Wanted, listing, reproduce};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("name the file to write: scenarios/papers/published.json")?;
    let names: Vec<String> = args.collect();
    let registry = Registry::builtin();
    let mut all: Value = serde_json::from_str(&fs::read_to_string(&path)?)?;
    for scenario in listing(&registry, Wanted { names: &names, ..Wanted::default() })?.scenarios {
        let name = scenario.scenario;
        let begun = processor_seconds()?;
        let options = Options { jobs: NonZeroUsize::new(1), ..Options::default() };
        let wanted = Wanted { names: std::slice::from_ref(&name), unlisted: true, ..Wanted::default() };
        let report = reproduce(&registry, wanted, &options, &())?;
        let seconds = processor_seconds()? - begun;
        let claims = report.claims.iter().map(|claim| {
            // The list is by scenario, so its names have none before them.
            let own = claim.name.split_once('/').map_or(&*claim.name, |(_, own)| own);
            json!({ "name": own, "source": claim.source, "statement": claim.statement })
        });
        let claims: Vec<Value> = claims.collect();
        eprintln!("{name}: {} events, {seconds:.2} s", report.events);
        all["machine"] = machine()?.into();
        let rounded = (seconds * 100.0).round() / 100.0;
        all["scenarios"][&name] =
            json!({ "events": report.events, "core_seconds": rounded, "claims": claims });
        fs::write(&path, serde_json::to_string_pretty(&all)? + "\n")?;
    }
    Ok(())
}

/// The machine in words: the processor's name and the number of cores.
fn machine() -> Result<String, Box<dyn Error>> {
    let info = fs::read_to_string("/proc/cpuinfo")?;
    let named = info.lines().find_map(|line| line.strip_prefix("model name"));
    let name = named.map_or("a processor without a name", |text| text.trim_start_matches([' ', '\t', ':']));
    Ok(format!("{name}, {} cores, release build", std::thread::available_parallelism()?))
}

/// Processor time of this process so far: user and system, in hundredths of a second (`proc(5)`).
fn processor_seconds() -> Result<f64, Box<dyn Error>> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(')').ok_or("the format of /proc/self/stat is not known")?;
    let ticks: f64 =
        fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    Ok(ticks / 100.0)
}
