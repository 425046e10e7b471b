//! The differences of two JSON documents by key, in the usual notation: `cluster.servers`,
//! `stations[1].rate`.

use std::collections::BTreeMap;

use serde_json::Value;

/// One key that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The key with its parent tables.
    pub key: String,
    /// Its value in the first document; `None` if the key is absent.
    pub one: Option<Value>,
    /// Its value in the second document; `None` if the key is absent.
    pub other: Option<Value>,
}

/// Every key at which two documents differ, in the order of the keys.
#[must_use]
pub(crate) fn differences(one: &Value, other: &Value) -> Vec<Difference> {
    let (mut left, mut right) = (leaves(one), leaves(other));
    let mut keys: Vec<String> = left.keys().chain(right.keys()).cloned().collect();
    keys.sort();
    keys.dedup();
    let pairs = keys.into_iter().map(|key| {
        let (one, other) = (left.remove(&key), right.remove(&key));
        Difference { key, one, other }
    });
    pairs.filter(|difference| difference.one != difference.other).collect()
}

/// Every scalar or empty value, by its key.
fn leaves(document: &Value) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    gather(String::new(), document, &mut found);
    found
}

fn gather(key: String, value: &Value, found: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                let dot = if key.is_empty() { "" } else { "." };
                gather(format!("{key}{dot}{name}"), value, found);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, value) in items.iter().enumerate() {
                gather(format!("{key}[{index}]"), value, found);
            }
        }
        leaf => {
            found.insert(key, leaf.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differing_keys_are_named_with_both_values() {
        let one = json!({"seed": 1, "cluster": {"servers": 8, "disks": []}, "stations": [{"rate": "1/s"}]});
        let other = json!({"seed": 1, "cluster": {"servers": 16, "disks": [1]}, "stations": [{"rate": "1/s"}, {"rate": "2/s"}]});
        let found: Vec<_> = differences(&one, &other)
            .into_iter()
            .map(|d| format!("{}: {:?} {:?}", d.key, d.one, d.other))
            .collect();
        insta::assert_snapshot!(found.join("\n"), @r#"
        cluster.disks: Some(Array []) None
        cluster.disks[0]: None Some(Number(1))
        cluster.servers: Some(Number(8)) Some(Number(16))
        stations[1].rate: None Some(String("2/s"))
        "#);
        assert!(differences(&one, &one).is_empty());
    }
}
