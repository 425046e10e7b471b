//! Aliases of keys and words: a renamed key keeps its old name as an alias, and every alias is replaced by
//! the one name before further processing.
//!
//! A scenario type declares them where it declares the key or the word: `#[schemars(extend("x-aliases" =
//! ["ceph_map"]))]`. They are replaced before anything is checked, so that no later step knows of them.

use serde_json::Value as Json;

use crate::key::{KeyPath, Segment};
use crate::node::{Node, Table, Value};
use crate::{Problem, Problems};

/// The schema's keyword for aliases.
const ALIASES: &str = "x-aliases";

/// How deep schemas and values are followed; derived schemas have a few levels.
const DEPTH_MAX: usize = 16;

/// A schema in which aliases are looked up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aliases<'a> {
    schema: &'a Json,
}

impl<'a> Aliases<'a> {
    pub fn of(schema: &'a Json) -> Aliases<'a> {
        Aliases { schema }
    }

    /// The schema of the whole.
    pub(crate) fn schema(self) -> &'a Json {
        self.schema
    }

    /// Replaces every alias in a tree. A key that is present under two names is a problem.
    pub fn replace(self, root: &mut Node) -> Problems {
        let mut problems = Problems::new();
        self.node(root, self.schema, 0, &mut problems);
        problems
    }

    /// A key path with aliases replaced by the names of the schema.
    pub fn path(self, path: &KeyPath) -> KeyPath {
        let mut schema = Some(self.schema);
        let mut renamed = KeyPath::root();
        for segment in path.segments() {
            let here = schema.map(|schema| self.resolve(schema));
            renamed = match segment {
                Segment::Key(key) => {
                    let name = here.and_then(|here| self.key_named(here, key)).unwrap_or(key);
                    schema = here.and_then(|here| self.below(here, name));
                    renamed.key(name)
                }
                Segment::Index(index) => {
                    schema = here.and_then(|here| here.get("items"));
                    renamed.index(*index)
                }
            };
        }
        renamed
    }

    fn node(self, node: &mut Node, schema: &'a Json, depth: usize, problems: &mut Problems) {
        if depth > DEPTH_MAX {
            return;
        }
        let schema = self.resolve(schema);
        match &mut node.value {
            Value::Table(table) => self.table(table, schema, depth, problems),
            Value::List(items) => {
                if let Some(schema) = schema.get("items") {
                    items.iter_mut().for_each(|item| self.node(item, schema, depth + 1, problems));
                }
            }
            Value::Text(text) => {
                if let Some(word) = word_named(schema, text) {
                    *text = word.to_owned();
                    return;
                }
            }
            Value::Bool(_) | Value::Integer(_) | Value::Float(_) | Value::Moment(_) => {}
        }
        for branch in branches(schema) {
            self.node(node, branch, depth + 1, problems);
        }
    }

    fn table(self, table: &mut Table, schema: &'a Json, depth: usize, problems: &mut Problems) {
        for at in 0..table.entries.len() {
            let key = &table.entries[at].key;
            let name = self.key_named(schema, key).unwrap_or(key).to_owned();
            if name != *key && table.get(&name).is_some() {
                let message = format!("`{key}` is another name of `{name}`, which is given too");
                let place = table.entries[at].key_place.clone();
                problems.push(Problem::new(message).hint(format!("keep one of them: `{name}`")).at(place));
                continue;
            }
            let below = self.below(schema, &name);
            let entry = &mut table.entries[at];
            entry.key = name;
            if let Some(below) = below {
                self.node(&mut entry.node, below, depth + 1, problems);
            }
        }
    }

    /// The schema's name of a key that is written as an alias.
    fn key_named(self, schema: &'a Json, key: &str) -> Option<&'a str> {
        let properties = schema.get("properties")?.as_object()?;
        if properties.contains_key(key) {
            return None;
        }
        properties
            .iter()
            .find(|(_, property)| other_names(property).any(|alias| alias == key))
            .map(|(name, _)| name.as_str())
    }

    /// The schema of a key's value.
    pub(crate) fn below(self, schema: &'a Json, key: &str) -> Option<&'a Json> {
        let property = schema.get("properties").and_then(|properties| properties.get(key));
        property.or_else(|| schema.get("additionalProperties").filter(|values| values.is_object()))
    }

    /// Follows references to the schema that they refer to.
    pub(crate) fn resolve(self, schema: &'a Json) -> &'a Json {
        let mut schema = schema;
        for _ in 0..DEPTH_MAX {
            let name =
                schema.get("$ref").and_then(Json::as_str).and_then(|name| name.strip_prefix("#/$defs/"));
            match name.and_then(|name| self.schema.get("$defs")?.get(name)) {
                Some(target) => schema = target,
                None => break,
            }
        }
        schema
    }
}

/// The aliases of a key or a word, by its schema.
pub fn other_names(schema: &Json) -> impl Iterator<Item = &str> {
    schema.get(ALIASES).and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str)
}

pub(crate) fn branches(schema: &Json) -> impl Iterator<Item = &Json> {
    ["oneOf", "anyOf"].into_iter().filter_map(|word| schema.get(word)?.as_array()).flatten()
}

/// The word of a choice that is written as an alias.
fn word_named<'a>(schema: &'a Json, text: &str) -> Option<&'a str> {
    let word = schema.get("const").and_then(Json::as_str)?;
    other_names(schema).any(|alias| alias == text).then_some(word)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use schemars::JsonSchema;
    use serde::Deserialize;

    use crate::{Document, Problems, Source};

    #[derive(Debug, Deserialize, JsonSchema, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Cluster {
        /// Its map.
        #[schemars(extend("x-aliases" = ["ceph_map", "map"]))]
        crush_map: Option<String>,
        placement: Option<Placement>,
        racks: Option<Racks>,
    }

    #[derive(Debug, Deserialize, JsonSchema, PartialEq)]
    #[serde(rename_all = "kebab-case")]
    enum Placement {
        /// CRUSH.
        #[schemars(extend("x-aliases" = ["crush"]))]
        CrushStraw2,
        /// A ring.
        Ring,
    }

    #[derive(Debug, Deserialize, JsonSchema, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Racks {
        #[schemars(extend("x-aliases" = ["number"]))]
        count: u32,
    }

    fn read(text: &str) -> Result<Vec<Cluster>, Problems> {
        let source = Source::file("a.toml", format!("study = \"s\"\n{text}"));
        let document = Document::parse(&source)?;
        let schema = schemars::schema_for!(Cluster).to_value();
        let outline = document.with_schema(Arc::new(schema)).outline()?;
        outline.points().iter().map(|point| point.draft().read::<Cluster>()).collect()
    }

    #[test]
    fn keys_and_words_have_other_names() {
        let new = "crush_map = \"m\"\nplacement = \"crush-straw2\"\nracks.count = 3";
        for old in [
            "ceph_map = \"m\"\nplacement = \"crush\"\nracks.number = 3",
            "map = \"m\"\nplacement = \"crush\"\n[racks]\nnumber = 3",
        ] {
            assert_eq!(read(old).unwrap(), read(new).unwrap(), "{old}");
        }
        let problems = read("placement = \"krush\"").unwrap_err();
        assert!(format!("{problems:?}").contains("krush"), "{problems:?}");
    }

    #[test]
    fn swept_keys_and_words_have_other_names() {
        let points = read("[sweep]\nplacement = [\"ring\", \"crush\"]\n\"racks.number\" = [1, 2]").unwrap();
        assert_eq!(points.len(), 4);
        assert_eq!(points[3].placement, Some(Placement::CrushStraw2));
        assert_eq!(points[3].racks, Some(Racks { count: 2 }));
    }

    #[test]
    fn one_key_under_two_names_is_a_problem() {
        for text in ["crush_map = \"a\"\nceph_map = \"b\"", "map = \"a\"\nceph_map = \"b\""] {
            let message = format!("{:?}", read(text).unwrap_err());
            assert!(message.contains("another name of `crush_map`"), "{message}");
        }
    }

    /// A value on the command line that a sweep would replace is refused, whichever name either uses.
    #[test]
    fn a_swept_key_is_the_same_under_another_name() {
        let source = Source::file("a.toml", "study = \"s\"\n[sweep]\ncrush_map = [\"a\", \"b\"]".to_owned());
        let mut document = Document::parse(&source).unwrap();
        document.set(crate::Setting::parse("--set", "ceph_map=c").unwrap()).unwrap();
        let schema = schemars::schema_for!(Cluster).to_value();
        let message = format!("{:?}", document.with_schema(Arc::new(schema)).outline().unwrap_err());
        assert!(message.contains("is swept"), "{message}");
    }
}
