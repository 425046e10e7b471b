//! Thirteen events that a real cluster went through.

use super::*;

/// An event: its name, what was done and when in the table of counts, and other keys.
pub(super) struct Event {
    pub name: &'static str,
    /// Its table of counts.
    pub table: &'static str,
    pub changes: &'static [&'static str],
    pub at_s: f64,
    pub keys: &'static [(&'static str, &'static str)],
}

/// What an operator knows of the settings: those of Ceph 16 for rotating disks.
const KNOWN: &[(&str, &str)] = &[("max_backfills", "1"), ("recovery_sleep", "\"100ms\"")];
pub(super) const WPQ: &[(&str, &str)] = &[];
const MCLOCK: &[(&str, &str)] = &[("queue", "\"mclock\"")];
pub(super) const MCLOCK_RECOVERY: &[(&str, &str)] =
    &[("queue", "\"mclock\""), ("profile", "\"high_recovery_ops\"")];

/// Those from which something can be learned: nothing that clients wrote was copied.
pub(super) const EVENTS: [Event; 8] = [
    Event { name: "e1", table: "events16/E1", changes: &["fail osd.4"], at_s: 0.1, keys: WPQ },
    Event { name: "m1", table: "events16/M1", changes: &["fail osd.5"], at_s: 0.2, keys: WPQ },
    Event { name: "m7", table: "events16/M7", changes: &["reweight osd.1=0.6"], at_s: 2.2, keys: WPQ },
    Event { name: "m9", table: "events16/M9", changes: &["add-host host6=1x1.0:hdd"], at_s: 0.2, keys: WPQ },
    Event {
        name: "m10",
        table: "events16/M10",
        changes: &["fail osd.5", "fail osd.1@12.2s"],
        at_s: 1.0,
        keys: WPQ,
    },
    Event { name: "cl1", table: "events16/CL1", changes: &["reweight osd.5=1"], at_s: 0.3, keys: WPQ },
    Event { name: "e3", table: "events16/E3", changes: &["fail osd.4"], at_s: 0.1, keys: MCLOCK },
    Event {
        name: "c3",
        table: "events16/C3",
        changes: &["reweight osd.4=1"],
        at_s: 0.5,
        keys: MCLOCK_RECOVERY,
    },
];

pub(super) fn learned(event: &Event, knows_settings: bool) -> Learning {
    let keys = if knows_settings && event.keys.is_empty() { KNOWN } else { event.keys };
    let table = crates().join(format!("past/tests/{}.csv.gz", event.table));
    let table = std::fs::read(table).unwrap();
    of_table((event.name, &table), exports(event.name), (event.changes, event.at_s), keys)
        .unwrap_or_else(|problems| panic!("{}: {problems:?}", event.name))
}

/// The twelve events that are predicted: exports, keys, and the seconds from the first object to the last.
pub(super) const PREDICTED: [(&str, &str, f64); 12] = [
    ("e1", "changes = [\"fail osd.4\"]\ndown_out = \"0s\"", 10.4),
    ("m1", "changes = [\"fail osd.5\"]\ndown_out = \"0s\"", 42.3),
    ("m3", "changes = [\"fail osd.3\", \"returns osd.3@32.5s\"]\nclient_writes = \"8/s\"", 12.2),
    (
        "m4",
        "changes = [\"fail osd.3\", \"returns osd.3@51.9s\"]\nclient_writes = \"8/s\"\nlog_entries = 2",
        35.6,
    ),
    ("m7", "changes = [\"reweight osd.1=0.6\"]", 8.0),
    ("m9", "changes = [\"add-host host6=1x1.0:hdd\"]", 61.4),
    ("m10", "changes = [\"fail osd.5\", \"fail osd.1@12.2s\"]\ndown_out = \"0s\"", 58.1),
    ("m11", "changes = [\"fail osd.5\", \"fail osd.1@59.4s\"]\ndown_out = \"0s\"", 57.3),
    ("cl1", "changes = [\"reweight osd.5=1\"]", 57.9),
    ("e3", "changes = [\"fail osd.4\"]\ndown_out = \"0s\"\nqueue = \"mclock\"", 63.9),
    (
        "c1",
        "changes = [\"fail osd.3\", \"returns osd.3@28.3s\"]\nclient_writes = \"8/s\"\nqueue = \"mclock\"",
        51.9,
    ),
    ("c3", "changes = [\"reweight osd.4=1\"]\nqueue = \"mclock\"\nprofile = \"high_recovery_ops\"", 43.4),
];

/// Files of this crate, and one that was learned.
#[derive(Debug)]
struct With(String);

impl Files for With {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        if path == "machines.toml" { Ok(self.0.clone().into_bytes()) } else { Kept.read(path) }
    }
}

/// The time from the first object to the last, and its range, with what was learned.
fn predicted(machines: &Learned, (name, keys, _): &(&str, &str, f64)) -> [f64; 3] {
    let mut text = "study = \"whatif\"\nmachines = \"machines.toml\"\n".to_owned();
    exports(name).iter().for_each(|(key, value)| text += &format!("{key} = \"{value}\"\n"));
    if keys.contains("fail") {
        text += "detection = \"0s\"\n";
    }
    text += keys;
    let files = Arc::new(With(machines.text()));
    let context = towtank_study::RunContext::alone(towtank_streams::Seed(3), 1);
    let times = crate::whatif::time_alone::moving(text, files, &context);
    times.unwrap_or_else(|problems| panic!("{name}: {problems:?}"))
}

/// What one event predicts of the others with the same queue.
#[derive(Default)]
pub(super) struct Judged {
    errors: Vec<f64>,
    halves: Vec<f64>,
    held: usize,
    /// Those that are more than a fifth off and not in the stated range.
    pub missed: Vec<&'static str>,
}

impl Judged {
    pub(super) fn judge(
        &mut self,
        (machines, from): (&Learned, &str),
        predicted_ones: &[(&'static str, &'static str, f64)],
    ) {
        let queue = machines.event.queue.as_deref();
        let is_other = |other: &&(&'static str, &str, f64)| {
            other.0 != from && (queue == Some("mclock")) == other.1.contains("mclock")
        };
        for other in predicted_ones.iter().filter(is_other) {
            let [time, low, high] = predicted(machines, other);
            let measured = other.2;
            let is_held = (low..=high).contains(&measured);
            println!(
                "{from} -> {}: measured {measured}, {time:.1} ({low:.1} to {high:.1}) {is_held}",
                other.0
            );
            self.errors.push((time / measured - 1.0).abs());
            self.halves.push((high - low) / 2.0 / time);
            self.held += usize::from(is_held);
            if !is_held && (time / measured - 1.0).abs() > 0.2 {
                self.missed.push(other.0);
            }
        }
    }

    /// The median error, half of a range in the median, and the share of ranges that hold.
    pub(super) fn sums(&self) -> [f64; 3] {
        let median = |values: &[f64]| {
            let mut values = values.to_vec();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        [median(&self.errors), median(&self.halves), self.held as f64 / self.errors.len() as f64]
    }
}

/// What all events predict of the others.
fn judged(knows_settings: bool) -> Judged {
    let mut all = Judged::default();
    for event in &EVENTS {
        let Learning { learned, doubts } = learned(event, knows_settings);
        let Recovery { took_s, predicted_s, error_after, error_within, .. } = learned.event;
        println!(
            "{}: took {took_s}, {predicted_s} by its first half, {error_after} off, {error_within} in all",
            event.name
        );
        for (name, _, Constant { assumed, value, low, high, known }) in learned.constants.all() {
            println!("   {name:<15} {value} ({low} to {high}), assumed {assumed}, known {known}");
        }
        doubts.iter().for_each(|doubt| println!("   {doubt}"));
        let mut own = Judged::default();
        own.judge((&learned, event.name), &PREDICTED);
        println!("== from {}: {:.3?}, missed {:?}", event.name, own.sums(), own.missed);
        all.errors.extend(own.errors);
        all.halves.extend(own.halves);
        all.held += own.held;
        all.missed.extend(own.missed);
    }
    let [error, half, held] = all.sums();
    println!(
        "settings known: {knows_settings}: error {error:.3}, half {half:.3}, held {held:.3}, missed {:?}",
        all.missed
    );
    all
}

/// Each event predicts the others of its queue. Wanted were a median error of 10 %, ranges of a quarter to
/// each side in the median, of which four in five hold, and each event within a fifth or in its range.
///
/// The last is missed by seven of 52, of e1 and m3, which took 10 and 12 s: the bound keeps it from becoming
/// worse.
#[test]
fn one_event_predicts_the_others() {
    let all = judged(true);
    let [error, half, held] = all.sums();
    assert!(error <= 0.1 && half <= 0.25 && held >= 0.8, "{error} {half} {held}");
    assert!(all.missed.len() <= 8, "{:?}", all.missed);
}

/// The same where nothing is known of the settings: ranges are wider, and m7, of 8 s, says least of others.
#[test]
fn one_event_predicts_the_others_without_settings() {
    let [error, half, held] = judged(false).sums();
    assert!(error <= 0.15 && half <= 0.3 && held >= 0.8, "{error} {half} {held}");
}
