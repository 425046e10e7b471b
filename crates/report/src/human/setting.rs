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

/// Units that scenarios have besides those of reports, and how many seconds or bytes they are.
const TYPED: [(&str, &str, f64); 6] = [
    ("us", "s", 1e-6),
    ("kB", "B", 1e3),
    ("MB", "B", 1e6),
    ("GB", "B", 1e9),
    ("TB", "B", 1e12),
    ("PB", "B", 1e15),
];

/// What a unit measures, and how much it is.
fn scale(unit: &str) -> Option<(String, f64)> {
    let (bare, per) = unit.strip_suffix("/s").map_or((unit, ""), |bare| (bare, "/s"));
    let kind = |kind: &str| format!("{kind}{per}");
    let of = |steps: &[(&str, f64)], one: f64| {
        steps.iter().find(|(name, _)| *name == bare).map(|(_, factor)| factor / one)
    };
    let typed = TYPED.iter().find(|(name, ..)| *name == bare).map(|(_, of, factor)| (kind(of), *factor));
    let span = || Some((kind("s"), of(&super::SPANS, 1e9).filter(|_| per.is_empty())?));
    let size = || Some((kind("B"), of(&super::SIZES, 1.0)?));
    let bits = || Some((kind("bit"), of(&super::BITS, 1.0)?));
    let plain = || matches!(unit, "%" | "/s").then(|| (unit.to_owned(), 1.0));
    typed.or_else(span).or_else(size).or_else(bits).or_else(plain)
}

/// The number of a quantity, and its unit.
fn quantity(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok()?, unit))
}

/// Values of one key that stand beside each other, as far as they are texts: in one unit, the smallest that
/// any of them has. Nothing if one of them is no quantity, or they measure different things.
///
/// ```
/// use serde_json::json;
/// use towtank_report::human::beside;
/// assert_eq!(beside(&[Some(json!("150min")), None, Some(json!("3800s"))]), ["9,000 s", "3,800 s"]);
/// assert_eq!(beside(&[Some(json!("150min")), Some(json!("none"))]), [""; 0]);
/// ```
#[must_use]
pub fn beside(values: &[Option<Value>]) -> Vec<String> {
    let texts = values.iter().flatten().filter_map(Value::as_str);
    let known = |text| {
        let (number, unit) = quantity(text)?;
        let (kind, factor) = scale(unit)?;
        Some((number, unit, kind, factor))
    };
    let Some(all) = texts.map(known).collect::<Option<Vec<_>>>() else { return Vec::new() };
    // Nothing is nothing in any unit.
    let some =
        all.iter().filter(|(number, ..)| *number > 0.0).min_by(|left, right| left.3.total_cmp(&right.3));
    let Some((_, unit, kind, factor)) = some.or(all.first()) else { return Vec::new() };
    if all.iter().any(|(_, _, other, _)| other != kind) {
        return Vec::new();
    }
    let name = if *unit == "us" { "µs" } else { unit };
    let gap = if name.starts_with('/') { "" } else { " " };
    all.iter()
        .map(|(number, .., own)| format!("{}{gap}{name}", super::digits(number * own / factor)))
        .collect()
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
