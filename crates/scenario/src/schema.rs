//! The JSON Schema of a study's scenario files: the study's own keys and the common ones.

use serde_json::{Map, Value as Json, json};

use crate::header::Header;
use crate::header_keys::SWEEP;

/// A study's parts of its schema.
#[derive(Clone, Copy, Debug)]
pub struct SchemaParts<'a> {
    /// The study's name.
    pub study: &'a str,
    /// A one-line description.
    pub title: &'a str,
    /// The schema of its own keys.
    pub own: &'a Json,
}

/// The schema of a whole scenario file of one study, in draft 2020-12.
#[must_use]
pub fn file_schema(parts: SchemaParts<'_>) -> Json {
    let header = Header::schema();
    let mut properties = object(header.get("properties"));
    if let Some(Json::Object(study)) = properties.get_mut("study") {
        study.insert("const".to_owned(), parts.study.into());
    }
    properties.extend(object(parts.own.get("properties")));
    properties.insert(SWEEP.to_owned(), sweep_schema());
    let required =
        |schema: &Json| schema.get("required").and_then(Json::as_array).cloned().unwrap_or_default();
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.insert("title".to_owned(), format!("Towtank scenario: {}", parts.study).into());
    schema.insert("description".to_owned(), parts.title.into());
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    schema.insert("required".to_owned(), [required(&header), required(parts.own)].concat().into());
    schema.insert("additionalProperties".to_owned(), false.into());
    let definitions = object(parts.own.get("$defs"));
    if !definitions.is_empty() {
        schema.insert("$defs".to_owned(), definitions.into());
    }
    schema.into()
}

fn sweep_schema() -> Json {
    json!({
        "description": "Keys to vary, each with a list of values: \"cluster.servers\" = [8, 16, 32]. Every combination is a \
                        point, run `replicates` times; the last key turns fastest.",
        "type": "object",
        "additionalProperties": { "type": ["array", "object"], "minItems": 1 },
    })
}

fn object(value: Option<&Json>) -> Map<String, Json> {
    value.and_then(Json::as_object).cloned().unwrap_or_default()
}
