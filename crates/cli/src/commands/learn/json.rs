//! What `learn` finds, for programs.

use serde_json::{Value, json};
use towtank_imports::past::{Clock, Is};
use towtank_past::{Change, Counters, Event, Past, Span, disagreements};

use super::constants::Constants;

/// What is found, of so many files.
pub(super) struct Found<'a> {
    pub past: &'a Past,
    pub events: &'a [Event],
    pub files: usize,
    pub constants: &'a Constants,
    pub notes: &'a [String],
}

/// One object, with a line break behind it. Times are in seconds of the clock that it names.
pub(super) fn of(Found { past, events, files, constants, notes }: &Found<'_>) -> String {
    let clock = match past.clock {
        Clock::Zoned => "utc_since_1970",
        Clock::Local => "local_since_1970",
        Clock::Start => "any_start",
    };
    let (learned, doubts, why) = match constants {
        Constants::Fitted(of) => (json!(of.learned), json!(of.doubts), Value::Null),
        Constants::NotAsked(why) => (Value::Null, json!([]), json!(why)),
    };
    let found = json!({
        "clock": clock,
        "cluster": past.fsid,
        "files": files,
        "samples": past.samples().len(),
        "events": events.iter().map(event).collect::<Vec<_>>(),
        "disagreements": disagreements(past),
        "rebuilt": past.rebuilt().map(rebuilt),
        "learned": learned,
        "doubts": doubts,
        "not_learned_because": why,
        "notes": notes,
    });
    format!("{found:#}\n")
}

fn rebuilt(Counters { devices, all, since_start }: Counters) -> Value {
    json!({
        "devices": devices,
        "groups": all.groups,
        "seconds": all.seconds,
        "shortest_s": all.shortest_s,
        "longest_s": all.longest_s,
        "since_start": since_start,
    })
}

fn seconds(at_us: i64) -> f64 {
    at_us as f64 / 1e6
}

fn span(Span { after_us, by_us }: Span) -> Value {
    json!({ "after_s": after_us.map(seconds), "by_s": seconds(by_us) })
}

fn event(event: &Event) -> Value {
    json!({
        "began": span(event.began),
        "ended": event.ended.map(span),
        "clean": event.clean.map(span),
        "degraded_max": event.degraded_max,
        "misplaced_max": event.misplaced_max,
        "moved": event.moved,
        "changes": event.changes.iter().map(change).collect::<Vec<_>>(),
        "warnings": event.warnings,
    })
}

fn change(Change { device, is, when, file }: &Change) -> Value {
    json!({ "osd": device, "is": word(*is), "when": span(*when), "file": file })
}

/// What a device became, in a word.
pub(super) fn word(is: Is) -> &'static str {
    match is {
        Is::Up => "up",
        Is::Down => "down",
        Is::In => "in",
        Is::Out => "out",
    }
}
