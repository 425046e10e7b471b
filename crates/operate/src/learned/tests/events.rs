//! Thirteen events that a real cluster went through.

use super::*;

/// An event: its name, what was done and when in the table of counts, and other keys.
struct Event {
    name: &'static str,
    changes: &'static [&'static str],
    at_s: f64,
    keys: &'static [(&'static str, &'static str)],
}

const WPQ: &[(&str, &str)] = &[];
const MCLOCK: &[(&str, &str)] = &[("queue", "\"mclock\"")];
const MCLOCK_RECOVERY: &[(&str, &str)] = &[("queue", "\"mclock\""), ("profile", "\"high_recovery_ops\"")];

/// Those from which something can be learned: nothing that clients wrote was copied.
const EVENTS: [Event; 8] = [
    Event { name: "e1", changes: &["fail osd.4"], at_s: 0.1, keys: WPQ },
    Event { name: "m1", changes: &["fail osd.5"], at_s: 0.2, keys: WPQ },
    Event { name: "m7", changes: &["reweight osd.1=0.6"], at_s: 2.2, keys: WPQ },
    Event { name: "m9", changes: &["add-host host6=1x1.0:hdd"], at_s: 0.2, keys: WPQ },
    Event { name: "m10", changes: &["fail osd.5", "fail osd.1@12.2s"], at_s: 1.0, keys: WPQ },
    Event { name: "cl1", changes: &["reweight osd.5=1"], at_s: 0.3, keys: WPQ },
    Event { name: "e3", changes: &["fail osd.4"], at_s: 0.1, keys: MCLOCK },
    Event { name: "c3", changes: &["reweight osd.4=1"], at_s: 0.5, keys: MCLOCK_RECOVERY },
];

fn learned(event: &Event) -> Learning {
    let table = crates().join(format!("past/tests/events16/{}.csv.gz", event.name.to_uppercase()));
    let table = std::fs::read(table).unwrap();
    of_table((event.name, &table), exports(event.name), (event.changes, event.at_s), event.keys)
        .unwrap_or_else(|problems| panic!("{}: {problems:?}", event.name))
}

/// The twelve events that are predicted: exports, keys, and the seconds from the first object to the last.
const PREDICTED: [(&str, &str, f64); 12] = [
    ("e1", "changes = [\"fail osd.4\"]\ndown_out = \"0s\"", 10.4),
    ("m1", "changes = [\"fail osd.5\"]\ndown_out = \"0s\"", 42.3),
    (
        "m3",
        "changes = [\"fail osd.3\", \"returns osd.3@32.5s\"]\nclient_writes = \"8/s\"",
        12.2,
    ),
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

#[test]
fn one_event_predicts_the_others() {
    for event in &EVENTS {
        let learned = learned(event).learned;
        let queue = learned.event.queue.clone().unwrap();
        let (mut errors, mut halves, mut held, mut missed) = (Vec::new(), Vec::new(), 0, Vec::new());
        let others = PREDICTED.iter().filter(|(name, keys, _)| {
            *name != event.name && (queue == "mclock") == keys.contains("mclock")
        });
        for other in others {
            let [time, low, high] = predicted(&learned, other);
            let measured = other.2;
            errors.push((time / measured - 1.0).abs());
            halves.push((high - low) / 2.0 / time);
            let is_in = (low..=high).contains(&measured);
            held += usize::from(is_in);
            if !is_in && (time / measured - 1.0).abs() > 0.2 {
                missed.push(other.0);
            }
            println!("{} -> {}: measured {measured}, {time:.1} ({low:.1} to {high:.1}) {}", event.name, other.0, if is_in { "" } else { "OUT" });
        }
        errors.sort_by(f64::total_cmp);
        halves.sort_by(f64::total_cmp);
        let count = errors.len();
        println!("== from {}: median error {:.3}, half range {:.3}, held {held} of {count}, missed {missed:?}", event.name, errors[count / 2], halves[count / 2]);
    }
}

#[test]
fn what_is_learned_of_each() {
    for event in &EVENTS {
        let Learning { learned, doubts } = learned(event);
        println!("== {} took {} predicted {} error {} {}", event.name, learned.event.took_s, learned.event.predicted_s, learned.event.error_after, learned.event.error_within);
        for (name, _, of) in learned.constants.all() {
            println!("   {name:<15} {:<12} {:<12} {} to {} told {}", of.assumed, of.value, of.low, of.high, of.told);
        }
        doubts.iter().for_each(|doubt| println!("   {doubt}"));
    }
}
