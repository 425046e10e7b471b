//! The page's types, generated from the schema of [`crate::Report`]: `web/src/report.ts`.
//!
//! It supports the forms of schema that our types produce and stops at any other, so that a new form is
//! noticed here and not in a browser.

use std::fmt::Write;

use serde_json::{Map, Value};

use crate::{Report, golden};

#[test]
fn the_page_is_given_the_types() {
    golden::check("web/src/report.ts", &file(&Report::json_schema()));
}

fn file(root: &Value) -> String {
    let mut out = "// Written from the types of the `report` crate by its tests; do not edit.\n\
        // `TOWTANK_UPDATE=1 cargo test -p towtank-report` writes it anew.\n"
        .to_owned();
    let empty = Map::new();
    let parts = root.get("$defs").and_then(Value::as_object).unwrap_or(&empty);
    for (name, schema) in parts.iter().chain([(&"Report".to_owned(), root)]) {
        out.push('\n');
        comment(&mut out, schema, "");
        match schema.get("properties").filter(|_| schema.get("oneOf").is_none()) {
            Some(_) => writeln!(out, "export interface {name} {}", object(schema, "")),
            None => writeln!(out, "export type {name} ={};", spaced(&kind(schema, ""))),
        }
        .expect("writing to a string cannot fail");
    }
    out
}

/// A space before text that continues on the same line.
fn spaced(text: &str) -> String {
    if text.starts_with('\n') { text.to_owned() } else { format!(" {text}") }
}

fn comment(out: &mut String, schema: &Value, indent: &str) {
    if let Some(about) = schema.get("description").and_then(Value::as_str) {
        let about = about.replace('\n', " ");
        writeln!(out, "{indent}/** {about} */").expect("writing to a string cannot fail");
    }
}

fn kind(schema: &Value, indent: &str) -> String {
    if *schema == Value::Bool(true) {
        return "unknown".to_owned();
    }
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        return name.rsplit('/').next().expect("a split has a last part").to_owned();
    }
    if let Some(constant) = schema.get("const") {
        return constant.to_string();
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return union(values.iter().map(Value::to_string));
    }
    for choice in ["oneOf", "anyOf"] {
        if let Some(choices) = schema.get(choice).and_then(Value::as_array) {
            return variants(choices, indent);
        }
    }
    match schema.get("type") {
        Some(Value::String(name)) => named(name, schema, indent),
        Some(Value::Array(names)) => {
            union(names.iter().map(|name| named(name.as_str().expect("types are names"), schema, indent)))
        }
        // schemars writes `serde_json::Value` as a schema that allows anything.
        None if schema.get("properties").is_none() => "unknown".to_owned(),
        _ => panic!("no rule for {schema}"),
    }
}

/// Variants with fields stand on separate lines, below their comments; plain ones share a line.
fn variants(choices: &[Value], indent: &str) -> String {
    let fields = |schema: &&Value| schema.get("properties").is_some();
    if !choices.iter().any(|schema| fields(&schema)) {
        return union(choices.iter().map(|each| kind(each, indent)));
    }
    let deeper = format!("{indent}  ");
    let mut out = String::new();
    for schema in choices {
        out.push('\n');
        comment(&mut out, schema, &deeper);
        write!(out, "{deeper}| {}", kind(schema, &deeper)).expect("writing to a string cannot fail");
    }
    out
}

/// Each kind once.
fn union(parts: impl Iterator<Item = String>) -> String {
    let mut kinds: Vec<String> = Vec::new();
    for part in parts {
        if !kinds.contains(&part) {
            kinds.push(part);
        }
    }
    kinds.join(" | ")
}

fn named(name: &str, schema: &Value, indent: &str) -> String {
    match name {
        "string" | "boolean" | "null" => name.to_owned(),
        "number" | "integer" => "number".to_owned(),
        "array" => array(schema, indent),
        "object" if schema.get("properties").is_some() => object(schema, indent),
        "object" => {
            let values =
                schema.get("additionalProperties").map_or("unknown".to_owned(), |each| kind(each, indent));
            format!("Record<string, {values}>")
        }
        other => panic!("no rule for the type {other}"),
    }
}

fn array(schema: &Value, indent: &str) -> String {
    if let Some(places) = schema.get("prefixItems").and_then(Value::as_array) {
        let kinds: Vec<String> = places.iter().map(|place| kind(place, indent)).collect();
        return format!("[{}]", kinds.join(", "));
    }
    let item = schema.get("items").map_or("unknown".to_owned(), |item| kind(item, indent));
    if item.contains('|') { format!("({item})[]") } else { format!("{item}[]") }
}

fn object(schema: &Value, indent: &str) -> String {
    let required = schema.get("required").and_then(Value::as_array);
    let properties = schema.get("properties").and_then(Value::as_object).expect("the caller saw properties");
    let mut out = "{\n".to_owned();
    let deeper = format!("{indent}  ");
    for (name, each) in properties {
        comment(&mut out, each, &deeper);
        let optional = if required.is_some_and(|all| all.iter().any(|one| one == name)) { "" } else { "?" };
        writeln!(out, "{deeper}{name}{optional}: {};", kind(each, &deeper))
            .expect("writing to a string cannot fail");
    }
    write!(out, "{indent}}}").expect("writing to a string cannot fail");
    out
}
