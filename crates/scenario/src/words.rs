//! What a key of a scenario is, in a few words: the beginning of its description in the schema.

use serde_json::Value as Json;

use crate::aliases::Aliases;
use crate::key::{KeyPath, Segment};

/// The most characters of the words: longer ones are no name of a setting.
const WORDS_MAX: usize = 60;

/// What a key is, in a few words that begin with a capital: `profile` is `Profile of mClock`. `None` where
/// the schema does not describe it.
///
/// ```
/// use serde_json::json;
/// let schema = json!({"properties": {"rate": {"description": "Rate of a link, in each direction."}}});
/// assert_eq!(towtank_scenario::words_of(&schema, "rate").as_deref(), Some("Rate of a link"));
/// assert_eq!(towtank_scenario::words_of(&schema, "sweep.rate").as_deref(), Some("Rate of a link"));
/// assert_eq!(towtank_scenario::words_of(&schema, "size"), None);
/// ```
#[must_use]
pub fn words_of(schema: &Json, key: &str) -> Option<String> {
    let path: KeyPath = key.strip_prefix("sweep.").unwrap_or(key).trim_matches('"').parse().ok()?;
    let property = Aliases::of(schema).property(&path)?;
    let text = property.get("description")?.as_str()?.replace('\n', " ");
    let end = [". ", ", ", ": ", "; ", " ("].iter().filter_map(|mark| text.find(mark)).min();
    let words = text[..end.unwrap_or(text.len())].trim_end_matches('.').trim();
    (!words.is_empty() && words.chars().count() <= WORDS_MAX).then(|| words.to_owned())
}

impl<'a> Aliases<'a> {
    /// The schema of the value of a key, with its description.
    fn property(self, path: &KeyPath) -> Option<&'a Json> {
        let mut found = self.schema();
        for segment in path.segments() {
            found = self.inside(found, segment)?;
        }
        Some(found)
    }

    fn inside(self, schema: &'a Json, segment: &Segment) -> Option<&'a Json> {
        let here = self.resolve(schema);
        let own = match segment {
            Segment::Key(key) => self.below(here, key),
            Segment::Index(_) => here.get("items"),
        };
        own.or_else(|| super::aliases::branches(here).find_map(|branch| self.inside(branch, segment)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_found_below_references_lists_and_choices() {
        let schema = json!({
            "properties": {
                "disks": {"anyOf": [{"$ref": "#/$defs/Disks"}, {"type": "null"}]},
                "pools": {"items": {"properties": {"size": {"description": "Copies (of each object)"}}}},
                "bare": {},
                "long": {"description": "x".repeat(100)},
            },
            "$defs": {"Disks": {"properties": {"read": {"description": "Rate of reads.\nOf one disk."}}}},
        });
        let cases = [
            ("disks.read", Some("Rate of reads")),
            ("pools[1].size", Some("Copies")),
            ("bare", None),
            ("long", None),
            ("disks.write", None),
            ("not a key", None),
        ];
        for (key, want) in cases {
            assert_eq!(words_of(&schema, key).as_deref(), want, "{key}");
        }
    }
}
