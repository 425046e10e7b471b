//! Time overflow: a run exceeds the 584 years that 64-bit nanoseconds can represent. This module names the
//! scenario keys that make time so long.
//!
//! The kernel knows the event at which it happened, but no keys. Here the keys are guessed by what makes a
//! simulation long: spans of weeks and more, and very low rates. Left out: sizes and counts, which are large
//! in every scenario of this field.

use serde_json::Value;
use towtank_kernel::RunError;
use towtank_scenario::Problem;
use towtank_study::StudyError;
use towtank_units::{Frequency, Rate, SimSpan};

/// A span longer than in nearly all scenarios: a week.
const LONG: SimSpan = SimSpan::from_secs(7 * 86_400);

/// A rate below that of any disk or NIC, in bytes per second: a free choice, a thousandth of a slow disk's
/// rate.
const SLOW_BYTES: u64 = 64 << 10;

/// A request rate per second below that of any service: a free choice.
const SELDOM: f64 = 0.01;

/// Keys of spans that delay nothing: a sample is derived from what makes the run long.
const NO_DELAYS: [&str; 1] = ["sample"];

/// The most keys that are named.
const NAMED_MAX: usize = 4;

/// The problem, if the error is a time overflow.
pub(crate) fn problem(error: &StudyError, place: &str, scenario: &Value) -> Option<Problem> {
    let StudyError::Run(RunError::TimeOverflow { place: event, after_ns }) = error else { return None };
    let after = SimSpan::from_ns(*after_ns);
    let message = format!(
        "{place} runs beyond 584 years, the limit of simulated time: {} at {}, and the next step takes {}",
        event.name,
        years(event.key.at.as_ns()),
        if after == SimSpan::MAX { "longer than that".to_owned() } else { years(*after_ns) }
    );
    let mut keys = Vec::new();
    suspects(scenario, &mut String::new(), &mut keys);
    let hint = match keys.len() {
        0 => "use less data, or faster devices".to_owned(),
        _ => format!("change the keys that make it so long: {}", keys.join(", ")),
    };
    Some(Problem::new(message).hint(hint))
}

/// A time for people, in years if it is long.
fn years(ns: u64) -> String {
    let years = ns as f64 / (365.25 * 86_400e9);
    if years < 1.0 {
        towtank_report::human::quantity(ns as f64 / 1e9, "s")
    } else {
        format!("{years:.1} years")
    }
}

/// The keys below `value`, with their values, that can make time long.
fn suspects(value: &Value, key: &mut String, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, inner) in members.iter().filter(|(name, _)| !NO_DELAYS.contains(&name.as_str())) {
                let length = key.len();
                if !key.is_empty() {
                    key.push('.');
                }
                key.push_str(name);
                suspects(inner, key, found);
                key.truncate(length);
            }
        }
        Value::Array(items) => items.iter().for_each(|inner| suspects(inner, key, found)),
        Value::String(text) if found.len() < NAMED_MAX && is_suspect(text) => {
            found.push(format!("`{key}` is {text}"));
        }
        _ => {}
    }
}

fn is_suspect(text: &str) -> bool {
    if let Ok(span) = text.parse::<SimSpan>() {
        return span >= LONG;
    }
    if let Ok(rate) = text.parse::<Rate>() {
        return rate.bytes_per_second() < SLOW_BYTES;
    }
    text.parse::<Frequency>().is_ok_and(|rate| rate.per_second_f64() < SELDOM)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use towtank_kernel::{EntityId, EventKey, Place};
    use towtank_units::SimTime;

    use super::*;

    fn message(scenario: &Value) -> String {
        let at = SimTime::from_ns(1 << 62);
        let key = EventKey { at, step: 0, origin: EntityId(1), sequence: 0 };
        let event = "Unit { part: 3 }".to_owned();
        let place = Box::new(Place { key, entity: EntityId(1), name: "server 7".to_owned(), event });
        let error = StudyError::Run(RunError::TimeOverflow { place, after_ns: u64::MAX });
        let problem = problem(&error, "replicate 0", scenario).expect("time overflows");
        format!("{problem}; {}", problem.next_step().expect("there is one"))
    }

    #[test]
    fn a_time_overflow_names_keys_and_no_events() {
        let scenario = json!({
            "disk_write": "1B/s",
            "nic": "10Gbit/s",
            "detection": "20s",
            "sample": "3y",
            "population": { "size": "4MiB" },
            "stations": { "counter": { "arrival_rate": "0.001/s", "patience": "500y" } },
        });
        let said = message(&scenario);
        assert!(!said.contains("Unit"), "{said}");
        insta::assert_snapshot!(said, @"replicate 0 runs beyond 584 years, the limit of simulated time: server 7 at 146.1 years, and the next step takes longer than that; change the keys that make it so long: `disk_write` is 1B/s, `stations.counter.arrival_rate` is 0.001/s, `stations.counter.patience` is 500y");
        insta::assert_snapshot!(message(&json!({ "nic": "10Gbit/s", "objects": 7 })), @"replicate 0 runs beyond 584 years, the limit of simulated time: server 7 at 146.1 years, and the next step takes longer than that; use less data, or faster devices");
    }
}
