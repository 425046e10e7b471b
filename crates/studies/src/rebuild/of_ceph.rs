//! Exports of a cluster of Ceph: they are for `whatif`. What was asked is written as the line to run, or as
//! what to change in the scenario file.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use towtank_recovery::keys::Keys;
use towtank_scenario::{Draft, Problem};

use super::Rebuild;
use super::scenario::Scenario;
use towtank_study::{Question, keys_of};

/// The study to run.
const STUDY: &str = "whatif";

/// The other keys that it has too, under the same names and flags: those of what recoveries share, and what
/// fails.
fn kept() -> BTreeSet<String> {
    keys_of::<Keys>().into_iter().chain(["fail".to_owned()]).collect()
}

/// The problem that exports are given, with what to run in place of this study.
pub(super) fn refused(scenario: &Scenario, draft: &Draft) -> Problem {
    let key = Rebuild::ELSEWHERE.iter().find(|key| draft.says(key)).unwrap_or(&"report");
    let message = format!(
        "`{key}` is an export of a cluster of Ceph, and `{}` is for clusters that a scenario describes and for rings of Swift",
        Rebuild::NAME
    );
    let all = serde_json::to_value(scenario).expect("a scenario came out of text and goes back into it");
    let said: Map<String, Value> = match all {
        Value::Object(keys) => keys.into_iter().filter(|(key, _)| draft.says(key)).collect(),
        _ => Map::new(),
    };
    let shared = kept();
    let has = |key: &str| Rebuild::ELSEWHERE.contains(&key) || shared.contains(key);
    let (mut kept, left_out): (Map<String, Value>, Map<String, Value>) =
        said.into_iter().partition(|(key, _)| has(key));
    // Groups are recovered there, never single objects.
    kept.retain(|key, value| key != "order" || value != "object");
    let mut fails: Vec<Value> = scenario.fail.all().iter().map(|text| named(text).into()).collect();
    let fails = if fails.len() == 1 { fails.remove(0) } else { fails.into() };
    let start = left_out.get("peering").cloned();
    // The line has it under its other name; in a file it is to be taken out.
    let left_out: Vec<String> = left_out
        .keys()
        .filter(|key| *key != "peering" || !draft.has_flags())
        .map(|key| format!("`{key}`"))
        .collect();
    let hint = if draft.has_flags() {
        kept.insert("fail".to_owned(), fails);
        kept.extend(start.map(|span| ("start".to_owned(), span)));
        let without =
            if left_out.is_empty() { String::new() } else { format!(" (without {})", left_out.join(", ")) };
        format!("run this, with its gates and other flags as they are{without}: {}", line(&kept))
    } else {
        // A file also has sweeps, gates and comments, which a point of it does not know.
        let mut edits = vec![format!("study = \"{STUDY}\"")];
        edits.extend((kept.get("fail") != Some(&fails)).then(|| format!("fail = {}", written(&fails))));
        edits.extend(start.map(|span| format!("start = {span}")));
        let without = match left_out.is_empty() {
            true => String::new(),
            false => format!(", and leave out {}", left_out.join(", ")),
        };
        format!("write {} in the scenario{without}; all else stays", edits.join(" and "))
    };
    draft.problem(key, message).hint(hint)
}

/// What fails, by a name: that study draws nothing.
fn named(text: &str) -> String {
    let (what, at) = text.split_at(text.find('@').unwrap_or(text.len()));
    let kind = what.trim().split('=').next().unwrap_or_default();
    let name = match (kind, what.trim()) {
        ("server", _) | (_, "host") => "host=NAME",
        ("disk", _) | (_, "osd") => "osd.NUMBER",
        ("rack", "rack") => "rack=NAME",
        ("rack", text) if text[5..].parse::<u32>().is_ok() => "rack=NAME",
        (_, name) => name,
    };
    format!("{name}{at}")
}

/// The command: a flag for each key, or `--set` where it has none.
fn line(keys: &Map<String, Value>) -> String {
    let mut words = vec!["towtank".to_owned(), STUDY.to_owned()];
    for (key, value) in keys {
        let values = match value {
            Value::Array(values) => values.iter().collect(),
            one => vec![one],
        };
        for value in values {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            words.push(match Rebuild::FLAGS.iter().find(|flag| flag.key == key) {
                Some(flag) if *value == Value::Bool(true) => format!("--{}", flag.name),
                Some(flag) if text.starts_with('-') => format!("--{}={}", flag.name, quoted(&text)),
                Some(flag) => format!("--{} {}", flag.name, quoted(&text)),
                None => format!("--set {}", quoted(&format!("{key}={text}"))),
            });
        }
    }
    words.join(" ")
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=@:+,%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A value as a scenario has it.
fn written(value: &Value) -> String {
    match value {
        Value::Array(values) => {
            format!("[{}]", values.iter().map(Value::to_string).collect::<Vec<_>>().join(", "))
        }
        one => one.to_string(),
    }
}
