//! Short hashes of contents: the first half of a SHA-256, as 32 hexadecimal digits.

use serde_json::Value as Json;
use sha2::{Digest, Sha256};

/// The hash of a file's contents.
#[must_use]
pub fn hash_of_bytes(bytes: &[u8]) -> String {
    short(Sha256::digest(bytes).as_slice())
}

/// The hash of a JSON value, independent of the order of its keys. Null values count as absent keys.
pub(crate) fn hash_of_json(value: &Json) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    hash_of_bytes(text.as_bytes())
}

fn short(digest: &[u8]) -> String {
    digest[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

fn write_canonical(value: &Json, out: &mut String) {
    match value {
        Json::Object(map) => {
            let mut entries: Vec<_> = map.iter().filter(|(_, value)| !value.is_null()).collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (key, value) in entries {
                out.push_str(&Json::from(key.as_str()).to_string());
                out.push(':');
                write_canonical(value, out);
                out.push(',');
            }
            out.push('}');
        }
        Json::Array(items) => {
            out.push('[');
            for item in items {
                write_canonical(item, out);
                out.push(',');
            }
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_order_of_keys_and_nulls_do_not_count() {
        let hash = hash_of_json(&json!({"a": 1, "b": {"c": [1, 2], "d": "x"}}));
        assert_eq!(hash, hash_of_json(&json!({"b": {"d": "x", "e": null, "c": [1, 2]}, "a": 1})));
        assert_ne!(hash, hash_of_json(&json!({"a": 1, "b": {"c": [2, 1], "d": "x"}})));
    }

    #[test]
    fn a_hash_never_changes_between_versions() {
        // printf '{"a":1,}' | sha256sum
        assert_eq!(hash_of_json(&json!({"a": 1})), hash_of_bytes(b"{\"a\":1,}"));
        insta::assert_snapshot!(hash_of_bytes(b""), @"e3b0c44298fc1c149afbf4c8996fb924");
    }
}
