//! Settings of a sweep's points for people: `service = {"erlang":{"phases":4}}` is `erlang (phases 4)` under
//! a head that names the key. CSV, JSON and labels that figures go by keep what a scenario has.

use serde_json::Value;

/// A swept value in words: percents as everywhere in reports, tables without their quotes and brackets.
///
/// ```
/// use serde_json::json;
/// use towtank_report::human::setting;
/// assert_eq!(setting(&json!("20%")), "20 %");
/// assert_eq!(setting(&json!({ "erlang": { "phases": 4 } })), "erlang (phases 4)");
/// assert_eq!(setting(&json!(["a", 2])), "a, 2");
/// ```
#[must_use]
pub fn setting(value: &Value) -> String {
    match value {
        Value::String(text) => of_text(text),
        Value::Array(items) => items.iter().map(setting).collect::<Vec<_>>().join(", "),
        Value::Object(entries) => {
            let entry = |(key, value): (&String, &Value)| match value {
                Value::Object(inner) if inner.is_empty() => words(key),
                Value::Object(_) => format!("{} ({})", words(key), setting(value)),
                _ => format!("{} {}", words(key), setting(value)),
            };
            entries.iter().map(entry).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

fn of_text(text: &str) -> String {
    match text.strip_suffix('%').filter(|number| number.parse::<f64>().is_ok()) {
        Some(number) => format!("{number} %"),
        None => text.to_owned(),
    }
}

/// The last part of a key in words: `network.uplink` is `uplink`.
fn words(key: &str) -> String {
    key.rsplit('.').next().unwrap_or(key).replace('_', " ")
}

/// A point's settings in a sentence.
///
/// ```
/// use serde_json::json;
/// use towtank_report::human::settings;
/// let of = |key: &str, value| settings(&[(key.to_owned(), value)]);
/// assert_eq!(of("service", json!("constant")), "service constant");
/// assert_eq!(of("stations.counter.arrival_rate", json!("0.5/s")), "arrival rate 0.5/s");
/// ```
#[must_use]
pub fn settings(settings: &[(String, Value)]) -> String {
    let name = |key: &str| {
        let last = words(key);
        let alike = settings.iter().filter(|(other, _)| words(other) == last).count() > 1;
        if alike { key.replace('_', " ") } else { last }
    };
    let one = |(key, value): &(String, Value)| format!("{} {}", name(key), setting(value));
    settings.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// A key in words, with its value at each point.
type KeyColumn = (String, Vec<String>);

/// Labels of points, `KEY = VALUE, …` each, that all have the same keys: for each its words, and the values.
pub(crate) fn of_keys(labels: &[String]) -> Option<Vec<KeyColumn>> {
    let points: Vec<Vec<(&str, &str)>> = labels.iter().map(|label| parts(label)).collect::<Option<_>>()?;
    let first = points.first()?;
    let keys: Vec<&str> = first.iter().map(|(key, _)| *key).collect();
    let has_keys = |point: &Vec<(&str, &str)>| point.iter().map(|(key, _)| *key).eq(keys.iter().copied());
    let alike = |key: &str| keys.iter().filter(|other| words(other) == words(key)).count() > 1;
    if !points.iter().all(has_keys) {
        return None;
    }
    let column = |(at, key): (usize, &&str)| {
        let head = if alike(key) { key.replace('_', " ") } else { words(key) };
        (head, points.iter().map(|point| shown(point[at].1)).collect())
    };
    Some(keys.iter().enumerate().map(column).collect())
}

/// The settings of a label; `None` if it has something else.
fn parts(label: &str) -> Option<Vec<(&str, &str)>> {
    // The brackets of a table may have commas in them.
    let whole = label.contains(['{', '[']).then(|| vec![label]);
    let parts = whole.unwrap_or_else(|| label.split(", ").collect());
    parts.into_iter().map(|part| part.split_once(" = ").filter(is_setting)).collect()
}

fn is_setting((key, value): &(&str, &str)) -> bool {
    !key.is_empty() && !key.contains([' ', ',']) && !value.contains(" = ")
}

fn shown(value: &str) -> String {
    match serde_json::from_str::<Value>(value) {
        Ok(table @ (Value::Object(_) | Value::Array(_))) => setting(&table),
        _ => of_text(value),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn labels_with_the_same_keys_name_each_once() {
        let of = |labels: &[&str]| of_keys(&labels.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>());
        let column = |key: &str, values: [&str; 2]| (key.to_owned(), values.map(str::to_owned).to_vec());
        assert_eq!(of(&["stale = 0.1%", "stale = 20%"]), Some(vec![column("stale", ["0.1 %", "20 %"])]));
        let two = ["network.uplink = 1GB/s, disk = 1", "network.uplink = 2GB/s, disk = 2"];
        assert_eq!(of(&two), Some(vec![column("uplink", ["1GB/s", "2GB/s"]), column("disk", ["1", "2"])]));
        let table = r#"service = {"erlang":{"phases":4,"scv":4.0}}"#;
        let want = ["constant", "erlang (phases 4, scv 4.0)"];
        assert_eq!(of(&["service = constant", table]), Some(vec![column("service", want)]));
        // Planted: keys that differ, and labels that are no settings.
        assert_eq!(of(&["chunk = 1MiB", "disk = 1GB/s"]), None);
        assert_eq!(of(&["chunk = 1MiB", "chunk = 1MiB, disk = 1GB/s"]), None);
        assert_eq!(of(&["crush-straw, 128 groups"]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn several_settings_are_told_apart() {
        let of = |keys: [&str; 2]| settings(&keys.map(|key| (key.to_owned(), json!("5%"))));
        assert_eq!(of(["read_share", "stale"]), "read share 5 %, stale 5 %");
        assert_eq!(of(["stations.a.rate", "stations.b.rate"]), "stations.a.rate 5 %, stations.b.rate 5 %");
    }
}
