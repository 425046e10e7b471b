//! Rebuilds with larger units, against the same rebuilds with the units of the scenario, over drawn clusters.

use std::fmt::Write as _;

use towtank_rebuild::recovery::{Recovered, Recovery};
use towtank_streams::{Draws, Purpose, Uniform as _};
use towtank_units::{SimSpan, SimTime};

use super::*;
use crate::rebuild::generated::Staged;
use crate::rebuild::units::{self, Budget, Ran, Units};

/// A cluster of which the rebuild takes some million events. The same turn gives the same one.
fn drawn(turn: u32) -> String {
    let mut draws = Draws::new(Seed(29), turn, 0);
    let mut draw = |bound: u64| draws.of(Purpose(0)).below(bound);
    let mut text = String::new();
    let one_of = |options: &[u64], turn: u64| options[turn as usize];
    let _ = writeln!(text, "servers = {}", one_of(&[8, 12, 16, 32, 64, 128], draw(6)));
    let _ = writeln!(text, "disks_per_server = {}", one_of(&[1, 1, 2, 6], draw(4)));
    let _ = writeln!(text, "per_server = \"{}GiB\"", 1_600 + draw(4_000));
    let _ = writeln!(text, "recovery_max_active = {}", one_of(&[1, 2, 4, 8, 16, 64], draw(6)));
    let _ = writeln!(text, "window = {}", one_of(&[1, 2, 4, 8, 16], draw(5)));
    if draw(3) == 0 {
        let _ = writeln!(text, "groups_per_server = {}\nmax_backfills = 0", 20 + draw(100));
    }
    if draw(4) == 0 {
        let at = ["primary", "target"][draw(2) as usize];
        let _ = writeln!(text, "ec = \"{}+2\"\ngather = \"{at}\"", 2 + draw(4));
    }
    speeds(&mut draw, &mut text);
    let source = ["primary", "random", "least-loaded"][draw(3) as usize];
    let _ = writeln!(text, "source = \"{source}\"");
    if draw(6) == 0 {
        text += "fail = [\"server\", \"server@5s\"]\n";
    }
    text += "[population]\n";
    match draw(3) {
        0 => text += "preset = \"mira\"\n",
        1 => text += "preset = \"1000-genomes\"\n",
        _ => {
            let size = one_of(&[8, 16, 64, 256, 1024], draw(5));
            let _ = writeln!(text, "distribution = \"constant\"\nsize = \"{size}MiB\"\nlayout = \"whole\"");
        }
    }
    text
}

/// The speeds of its machines, and limits on rates.
fn speeds(draw: &mut impl FnMut(u64) -> u64, text: &mut String) {
    if draw(3) == 0 {
        let _ = writeln!(text, "seeks = \"{}\"", ["none", "hdd"][draw(2) as usize]);
    }
    if draw(4) == 0 {
        let _ = writeln!(text, "seek_extent = \"{}MiB\"", [0, 4, 16, 64][draw(4) as usize]);
    }
    if draw(5) == 0 {
        let _ = writeln!(text, "stream_limit = \"{}MiB/s\"", 20 + draw(400));
    }
    if draw(5) == 0 {
        let _ = writeln!(text, "rate_cap = \"{}MiB/s\"", 20 + draw(200));
    }
    if draw(4) == 0 {
        let _ = writeln!(text, "nic = \"{}Gbit/s\"", [1, 2, 10][draw(3) as usize]);
    }
    if draw(3) == 0 {
        let _ = writeln!(text, "disk_read = \"{0}MiB/s\"\ndisk_write = \"{0}MiB/s\"", 100 + draw(400));
    }
    if draw(6) == 0 {
        let _ = writeln!(text, "recovery_sleep = \"{}ms\"", 1 + draw(50));
    }
    if draw(5) == 0 {
        let _ = writeln!(text, "racks = 4\nuplink = \"{}Gbit/s\"", [2, 10][draw(2) as usize]);
    }
}

/// The error in the time until all copies are back, and how many times fewer events were simulated, for drawn
/// clusters where larger units are used; and how many times they were not.
fn errors(turns: std::ops::Range<u32>) -> (Vec<[f64; 2]>, u32) {
    let (mut found, mut refused) = (Vec::new(), 0);
    for turn in turns {
        let text = drawn(turn);
        let Ok(complete) = prepare(&text) else { continue };
        let context = RunContext::alone(Seed(u64::from(turn)), 0);
        let staged = Staged::of(&complete, &context).unwrap().unwrap();
        let recovery = Recovery { quiet: false, ..staged.recovery(&complete, &context) };
        // A million events.
        let budget = Budget::of(Units::Auto, Some(SimSpan::from_ms(250)));
        let Ran { recovered, larger, note } = units::run(&recovery, budget, &context).unwrap();
        if larger.is_none() {
            println!("{turn}: {}", note.map_or_else(String::new, |note| note.text));
            refused += 1;
            continue;
        }
        let exact = recovery.run(&context).unwrap();
        if recovery.struck.len() == 1 {
            // A second failure finds other objects in progress.
            let counts = |found: &Recovered| (found.jobs, found.bytes, found.fill.clone());
            assert_eq!(counts(&recovered), counts(&exact), "{text}");
        }
        let since = |at: SimTime| at.since(exact.first_transfer).as_secs_f64();
        let error = (since(recovered.last_write) / since(exact.last_write) - 1.0).abs();
        let times = exact.events as f64 / recovered.events as f64;
        println!("{turn}: {:.3} % off, {times:.1} times fewer events in {text:?}", error * 100.0);
        found.push([error, times]);
    }
    (found, refused)
}

/// Two drawn clusters that pass the checks. `UNITS=160` in the environment draws others too;
/// docs/rebuild.md has the result.
#[test]
fn larger_units_that_are_used_give_the_same_times() {
    let number = |name: &str| std::env::var(name).ok().and_then(|count| count.parse::<u32>().ok());
    let turns = number("UNITS").map_or(1_081..1_083, |count| 1_000..1_000 + count);
    let (mut found, refused) = errors(turns);
    assert!(!found.is_empty(), "no cluster of the drawn ones passes the checks");
    found.sort_by(|left, right| left[0].total_cmp(&right[0]));
    let at = |share: usize| found[(found.len() * share / 100).min(found.len() - 1)][0] * 100.0;
    println!(
        "{} used, {refused} refused: {:.3} % off in the median, 95 % within {:.3} %, {:.3} % at most",
        found.len(),
        at(50),
        at(95),
        at(100)
    );
    assert!(at(100) <= 2.0, "{found:?}");
}

/// Runs something on the recovery of a cluster.
fn on<T>(text: &str, context: &RunContext<'_>, run: impl FnOnce(&Recovery<'_>) -> T) -> T {
    let complete = complete(text);
    let staged = Staged::of(&complete, context).unwrap().unwrap();
    run(&Recovery { quiet: false, ..staged.recovery(&complete, context) })
}

/// The result of a recovery for which every event is one too many.
fn without_time(text: &str, context: &RunContext<'_>) -> Ran {
    let budget = Budget { within: SimSpan::from_ns(1), least: 0 };
    on(text, context, |recovery| units::run(recovery, Some(budget), context).unwrap())
}

/// How much eight times larger units change the time of a recovery.
fn off(text: &str, context: &RunContext<'_>) -> f64 {
    on(text, context, |recovery| {
        let hardware = recovery.hardware.with_larger_units(8);
        let larger = Recovery { hardware: &hardware, ..recovery.clone() };
        let [with, without] = [&larger, recovery].map(|recovery| recovery.run(context).unwrap().last_write);
        (with.as_secs_f64() / without.as_secs_f64() - 1.0).abs()
    })
}

/// One object after the other, each of eight units: a single unit cannot be read and written at the same
/// time. Without the checks it would be used.
#[test]
fn larger_units_that_change_the_time_are_refused() {
    let text = "servers = 8\nper_server = \"100GiB\"\nrecovery_max_active = 1\nwindow = 4\nseeks = \"none\"\n\
                [population]\ndistribution = \"constant\"\nsize = \"32MiB\"\nlayout = \"whole\"";
    let context = RunContext::alone(Seed(1), 0);
    let (ran, off) = (without_time(text, &context), off(text, &context));
    let said = ran.note.expect("what was not done is said").text;
    assert!(
        ran.larger.is_none() && said.contains("all units were simulated, because with units of"),
        "{said}"
    );
    assert!(off > 0.02, "{off}: the planted units are no violation");
}

/// Objects of many units, at a rate that is limited: what each disk does is the same.
#[test]
fn larger_units_that_do_not_change_the_time_are_used() {
    let text = "servers = 8\nper_server = \"1TiB\"\nrate_cap = \"60MiB/s\"\n\
                [population]\ndistribution = \"constant\"\nsize = \"256MiB\"\nlayout = \"whole\"";
    let context = RunContext::alone(Seed(1), 0);
    let (ran, off) = (without_time(text, &context), off(text, &context));
    let said = ran.note.expect("an estimate is named").text;
    assert!(ran.larger.is_some() && said.contains("so times are estimates"), "{said}");
    assert!(off < 0.02, "{off}: larger units are off");
}

/// Larger units are not tried where they save nothing, or change what is asked.
#[test]
fn larger_units_are_used_only_where_they_help() {
    let said = |keys: &str| {
        let text = format!("servers = 8\nper_server = \"10GiB\"\n{keys}");
        without_time(&text, &RunContext::alone(Seed(1), 0)).note.expect("what was not done is said").text
    };
    let small = "[population]\ndistribution = \"constant\"\nsize = \"4MiB\"\nlayout = \"whole\"";
    assert!(said(small).contains("larger ones would hardly take fewer events"));
    let reserved = "placement = \"crush-straw2\"\ngroups = 40\nmax_backfills = 1";
    assert!(said(reserved).contains("the order in which groups get their reservations"));
    assert!(said("client_load = \"100/s\"").contains("latencies of clients depend on the size of units"));
    let back = "preset = \"ceph-wpq\"\ngroups = 40\nreturns = \"1s\"";
    assert!(said(back).contains("devices that come back"));
    let outcome = outcome("servers = 8\nper_server = \"10GiB\"\nunits = \"auto\"\nwithin = \"1us\"", 1);
    assert!(outcome.warnings.iter().all(|warning| !warning.text.contains("units = auto")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Any small cluster, with larger units whether or not a check would allow them, and as the
    /// checks decide: all executors agree, and the same objects are rebuilt as with all units.
    #[test]
    fn larger_units_give_one_result_on_all_executors(
        servers in 5u32..14, disks in 1u32..4, mib in 1u64..400, groups in prop::option::of(4u32..50), code: bool,
        streams in 1u32..9, window in 1u32..9, seeks in 0usize..3, factor in 2u32..20, seed in 0u64..1000,
    ) {
        let groups = groups.map_or(String::new(), |groups| format!("groups = {groups}\nmax_backfills = 0\n"));
        let text = format!(
            "servers = {servers}\ndisks_per_server = {disks}\nobjects = 200\nrecovery_max_active = {streams}\n\
             window = {window}\nseeks = \"{}\"\n{}{groups}[population]\ndistribution = \"log_normal\"\n\
             median = \"{mib}MiB\"\nsigma = 1.0\nlayout = \"whole\"",
            ["jbod", "hdd", "none"][seeks],
            if code { "ec = \"3+2\"\n" } else { "" },
        );
        let forced = |context: &RunContext<'_>| on(&text, context, |recovery| {
            let hardware = recovery.hardware.with_larger_units(factor);
            Recovery { hardware: &hardware, ..recovery.clone() }.run(context).unwrap()
        });
        let results = |context: &RunContext<'_>| {
            let (ran, forced) = (without_time(&text, context), forced(context));
            (ran.recovered.digests, ran.note.map(|note| note.text), forced.digests, forced.jobs, forced.bytes)
        };
        let want = with(Executor::Sequential, 1, seed, results);
        for (executor, workers) in [(Executor::Check, 1), (Executor::Conservative, 2), (Executor::Optimistic, 2)] {
            prop_assert_eq!(&with(executor, workers, seed, results), &want, "{:?}", executor);
        }
        let exact = with(Executor::Sequential, 1, seed, |context| {
            on(&text, context, |recovery| recovery.run(context).unwrap())
        });
        prop_assert_eq!((want.3, want.4), (exact.jobs, exact.bytes));
    }
}
