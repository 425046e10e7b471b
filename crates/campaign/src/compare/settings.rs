//! What differs between the scenarios of several results, in words.

use std::collections::BTreeMap;

use serde_json::Value;
use towtank_report::human;

use super::Side;

/// A setting that differs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Setting {
    pub key: String,
    /// What it is, in words that begin with a capital; none if that is not known.
    pub words: Option<String>,
    /// Its value in each result; `None` where the scenario does not have it.
    pub values: Vec<Option<Value>>,
}

/// The most characters of a value: a choice. The whole value is in `report.json`.
const VALUE_MAX: usize = 60;

impl Setting {
    /// The words, with the key behind them where another of these settings has the same words; the key where
    /// there are no words.
    pub(crate) fn label(&self, all: &[Setting]) -> String {
        let alike = all.iter().filter(|other| other.words == self.words).count();
        match &self.words {
            None => self.key.clone(),
            Some(words) if alike == 1 => words.clone(),
            Some(words) => format!("{words} ({})", self.key),
        }
    }

    /// The values as text, quantities in one unit.
    pub(crate) fn texts(&self) -> Vec<String> {
        let mut quantities = human::beside(&self.values).into_iter();
        let text = |value: &Option<Value>| match value {
            Some(Value::String(_)) => quantities.next(),
            _ => None,
        };
        let known = self.values.iter().map(text).collect::<Vec<_>>();
        let each = known.into_iter().zip(&self.values);
        each.map(|(text, value)| text.unwrap_or_else(|| text_of(value.as_ref().unwrap_or(&Value::Null))))
            .collect()
    }
}

/// Every setting that is not the same in all results, in the order of the keys. `words` says what a key is.
pub(crate) fn differing(sides: &[Side], words: &dyn Fn(&str) -> Option<String>) -> Vec<Setting> {
    let mut found: BTreeMap<String, Vec<Option<Value>>> = BTreeMap::new();
    for (at, side) in sides.iter().enumerate() {
        let mut leaves = Vec::new();
        gather(String::new(), &side.report.scenario, &mut leaves);
        for (key, value) in leaves {
            found.entry(key).or_insert_with(|| vec![None; sides.len()])[at] = Some(value);
        }
    }
    let differs = |values: &[Option<Value>]| values.iter().any(|value| *value != values[0]);
    let differing = found.into_iter().filter(|(_, values)| differs(values));
    differing.map(|(key, values)| Setting { words: words(&key), key, values }).collect()
}

/// Every value that is no table, and no list of tables: a list of names is one value.
fn gather(key: String, value: &Value, found: &mut Vec<(String, Value)>) {
    let nested = |items: &[Value]| items.iter().any(|item| item.is_object() || item.is_array());
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                let dot = if key.is_empty() { "" } else { "." };
                gather(format!("{key}{dot}{name}"), value, found);
            }
        }
        Value::Array(items) if nested(items) => {
            for (index, value) in items.iter().enumerate() {
                gather(format!("{key}[{index}]"), value, found);
            }
        }
        leaf => found.push((key, leaf.clone())),
    }
}

/// A value for readers.
fn text_of(value: &Value) -> String {
    let text = match value {
        Value::Null => "not set".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Object(fields) if fields.is_empty() => "none".to_owned(),
        Value::Array(items) => items.iter().map(text_of).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    };
    match text.char_indices().nth(VALUE_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use towtank_report::Report;

    use super::*;

    fn sides(scenarios: &[Value]) -> Vec<Side> {
        let side =
            |scenario: &Value| Side::new("A", Report { scenario: scenario.clone(), ..Report::default() });
        scenarios.iter().map(side).collect()
    }

    #[test]
    fn what_differs_is_named_in_words_with_the_value_of_each() {
        let words = |key: &str| match key {
            "profile" => Some("Profile of mClock".to_owned()),
            "disks.hdd.read" | "pools[0].name" => Some("Alike".to_owned()),
            _ => None,
        };
        let found = differing(
            &sides(&[
                json!({"profile": "balanced", "fail": ["osd.3"], "seed": 1, "disks": {"hdd": {"read": "1B/s"}}}),
                json!({"profile": null, "fail": ["osd.3", "osd.4"], "seed": 1, "disks": {}}),
                json!({"fail": [], "seed": 1, "pools": [{"name": "x".repeat(70)}]}),
            ]),
            &words,
        );
        let lines = found.iter().map(|one| format!("{}: {}", one.label(&found), one.texts().join(" | ")));
        insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @"
        disks: not set | none | not set
        Alike (disks.hdd.read): 1 B/s | not set | not set
        fail: osd.3 | osd.3, osd.4 | none
        Alike (pools[0].name): not set | not set | xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
        Profile of mClock: balanced | not set | not set
        ");
    }

    /// A former fault: `150min` stood beside `3800s`.
    #[test]
    fn quantities_of_one_setting_have_one_unit() {
        let of = |values: &[Value]| {
            let scenarios: Vec<Value> = values.iter().map(|value| json!({ "x": value })).collect();
            differing(&sides(&scenarios), &|_| None)[0].texts().join(" | ")
        };
        assert_eq!(of(&[json!("150min"), Value::Null, json!("3800s")]), "9,000 s | not set | 3,800 s");
        assert_eq!(of(&[json!("20%"), json!("35.5%")]), "20 % | 35.5 %");
        assert_eq!(of(&[json!("1GB/s"), json!("500MB/s")]), "1,000 MB/s | 500 MB/s");
        assert_eq!(of(&[json!("0s"), json!("1h")]), "0 h | 1 h");
        // Planted: what is no quantity, or of another kind, stays as it is.
        assert_eq!(of(&[json!("4+2"), json!("8+3")]), "4+2 | 8+3");
        assert_eq!(of(&[json!("1h"), json!("1MiB")]), "1h | 1MiB");
        assert_eq!(of(&[json!("150min"), json!("usual")]), "150min | usual");
    }

    /// The words come from the caller: with those of another key, another line is named.
    #[test]
    fn words_of_another_key_are_noticed() {
        let both = sides(&[json!({"a": 1, "b": 1}), json!({"a": 2, "b": 1})]);
        let label = |words: &dyn Fn(&str) -> Option<String>| {
            let found = differing(&both, words);
            found[0].label(&found)
        };
        assert_eq!(label(&|key| (key == "a").then(|| "First".to_owned())), "First");
        assert_eq!(label(&|key| (key == "b").then(|| "First".to_owned())), "a");
    }
}
