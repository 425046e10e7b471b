//! Checks an input tree against a JSON Schema and reports all errors, not only the first one.
//!
//! The schema is the one that `schemars` derives from the scenario type, so the type stays the only place
//! where keys, ranges and names are defined. Only the features of derived schemas are supported: references,
//! objects with fixed keys, lists, numbers with ranges, texts, choices, and the alternatives of enums. Errors
//! that the schema does not catch are found when the type itself is read (`read.rs`), which stops at its
//! first error.

mod alternatives;
mod quantity;
mod wording;

use serde_json::Value as Json;

use crate::flag::FlagName;
use crate::key::{KeyPath, Segment};
use crate::node::{Entry, Node, Table, Value};
use crate::suggest::{did_you_mean, nearest};
use crate::{Problem, Problems, header_keys};

use wording::{Choice, Range, bracketed, list_of_keys};

/// Every problem of `root` under `schema`. With `flags`, the scenario was given by flags, and missing keys
/// are reported by the names of their flags.
pub(crate) fn check(root: &Node, schema: &Json, flags: Option<&[FlagName]>) -> Problems {
    let mut checker = Checker { schema, flags, problems: Problems::new() };
    checker.node(root, schema, &KeyPath::root());
    checker.problems
}

struct Checker<'a> {
    schema: &'a Json,
    flags: Option<&'a [FlagName]>,
    problems: Problems,
}

/// So many flags stand in a hint in place of a key that is made of parts; the most used come first.
const FLAGS_MAX: usize = 2;

/// The longest chain of references; derived schemas have one or two.
const REFERENCES_MAX: usize = 16;

impl<'a> Checker<'a> {
    fn node(&mut self, node: &Node, schema: &'a Json, path: &KeyPath) {
        if let Some(name) = referenced(schema) {
            if let Some(parse) = quantity::reader(name) {
                return self.quantity(node, parse, path);
            }
            let target = self.resolve(schema);
            // A definition that is missing, or refers only to itself, does not constrain the value.
            if referenced(target).is_none() {
                self.node(node, target, path);
            }
            return;
        }
        if let Some(branches) = alternatives::branches(schema) {
            return self.alternatives(node, branches, path);
        }
        let choices = Choice::all_of(schema);
        if !choices.is_empty() {
            return self.choice(node, &choices, path);
        }
        let wanted = wording::types(schema);
        if !wanted.is_empty() && !wanted.iter().any(|kind| fits(node, kind)) {
            return self.mismatch(node, schema, path);
        }
        match &node.value {
            Value::Table(table) => self.table(node, table, schema, path),
            Value::List(items) => self.list(node, items, schema, path),
            Value::Integer(number) => self.integer(node, *number, schema, path),
            Value::Float(number) => self.float(node, *number, schema, path),
            Value::Text(text) => self.text(node, text, schema, path),
            Value::Bool(_) | Value::Moment(_) => {}
        }
    }

    /// Follows references to the schema that they refer to.
    fn resolve(&self, schema: &'a Json) -> &'a Json {
        let mut schema = schema;
        for _ in 0..REFERENCES_MAX {
            match referenced(schema).and_then(|name| self.schema.get("$defs")?.get(name)) {
                Some(target) => schema = target,
                None => break,
            }
        }
        schema
    }

    fn push(&mut self, node: &Node, path: &KeyPath, problem: Problem) {
        self.problems.push(problem.at(node.place.clone()).of_key(path.clone()));
    }

    fn quantity(&mut self, node: &Node, parse: quantity::Reader, path: &KeyPath) {
        let text = match &node.value {
            Value::Text(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            _ => {
                let wanted = parse("").map_or_else(|error| error.scale().what(), |()| "a string");
                let message = format!("`{path}` is {}, but it must be {wanted}", node.quoted());
                let example = parse("").map_or_else(|error| error.scale().examples()[0], |()| "");
                return self.push(
                    node,
                    path,
                    Problem::new(message).hint(format!("write it as \"{example}\"")),
                );
            }
        };
        if let Err(error) = parse(&text) {
            self.push(node, path, Problem::new(format!("`{path}`: {error}")).hint(error.hint()));
        } else if !matches!(node.value, Value::Text(_)) {
            self.push(node, path, Problem::new(format!("`{path}` is {text} without quotes")));
        }
    }

    fn mismatch(&mut self, node: &Node, schema: &Json, path: &KeyPath) {
        let message = format!("`{path}` is {}, but it must be {}", node.quoted(), wording::wanted(schema));
        let problem = Problem::new(message).hint(wording::mismatch_hint(node, schema, path));
        self.push(node, path, problem);
    }

    fn choice(&mut self, node: &Node, choices: &[Choice<'_>], path: &KeyPath) {
        let Value::Text(text) = &node.value else {
            let message =
                format!("`{path}` is {}, but it must be {}", node.quoted(), Choice::listed(choices));
            let first = choices.first().map_or("", |choice| choice.name);
            return self.push(
                node,
                path,
                Problem::new(message).hint(format!("write it in quotes: \"{first}\"")),
            );
        };
        if choices.iter().any(|choice| choice.name == text) {
            return;
        }
        let message = format!("`{path}` is {}, but it must be {}", node.quoted(), Choice::listed(choices));
        let names = choices.iter().map(|choice| choice.name);
        let hint = match nearest(text, names) {
            Some(name) => format!("did you mean \"{name}\"?"),
            None => Choice::explained(choices),
        };
        self.push(node, path, Problem::new(message).hint(hint));
    }

    fn table(&mut self, node: &Node, table: &Table, schema: &'a Json, path: &KeyPath) {
        let known = schema.get("properties").and_then(Json::as_object);
        for entry in &table.entries {
            let below = path.key(entry.key.as_str());
            match (known.and_then(|known| known.get(&entry.key)), schema.get("additionalProperties")) {
                (Some(property), _) => self.node(&entry.node, property, &below),
                (None, Some(Json::Bool(false))) => self.unknown_key(entry, schema, path),
                (None, Some(values @ Json::Object(_))) => self.node(&entry.node, values, &below),
                (None, _) => {}
            }
        }
        for key in
            schema.get("required").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str)
        {
            if table.get(key).is_none() {
                let property = known.and_then(|known| known.get(key)).unwrap_or(&Json::Null);
                self.missing_key(node, key, property, path);
            }
        }
    }

    fn unknown_key(&mut self, entry: &Entry, schema: &Json, path: &KeyPath) {
        let own = schema.get("properties").and_then(Json::as_object).into_iter();
        let own: Vec<&str> = own.flat_map(|known| known.keys().map(String::as_str)).collect();
        let common = if path.is_root() { &header_keys::KEYS[..] } else { &[] };
        let names: Vec<&str> = common.iter().copied().chain(own).collect();
        let below = path.key(entry.key.as_str());
        let hint = did_you_mean(&entry.key, names.iter().copied())
            .or_else(|| self.elsewhere(&entry.key).filter(|full| *full != below).map(|full| belongs(&full)))
            .unwrap_or_else(|| {
                format!("the keys {} are {}", bracketed(path, "").inside(), list_of_keys(&names))
            });
        let message = match path.is_root() {
            true => format!("unknown key `{}`", entry.key),
            false => format!("unknown key `{}` in {}", entry.key, bracketed(path, "")),
        };
        self.problems.push(Problem::new(message).hint(hint).at(entry.key_place.clone()).of_key(below));
    }

    /// A key of this name in another table of the schema.
    fn elsewhere(&self, name: &str) -> Option<KeyPath> {
        let mut found = None;
        self.search(self.schema, name, &KeyPath::root(), 0, &mut found);
        found
    }

    fn search(
        &self,
        schema: &'a Json,
        name: &str,
        path: &KeyPath,
        depth: usize,
        found: &mut Option<KeyPath>,
    ) {
        if depth > REFERENCES_MAX || found.is_some() {
            return;
        }
        let schema = self.resolve(schema);
        for (key, property) in schema.get("properties").and_then(Json::as_object).into_iter().flatten() {
            if key == name {
                found.get_or_insert(path.key(key.as_str()));
                return;
            }
            self.search(property, name, &path.key(key.as_str()), depth + 1, found);
        }
        for branch in alternatives::branches(schema).into_iter().flatten() {
            self.search(branch, name, path, depth + 1, found);
        }
    }

    fn missing_key(&mut self, node: &Node, key: &str, property: &'a Json, path: &KeyPath) {
        let below = path.key(key);
        // A size or a time span needs no description.
        let quantity = referenced(property).is_some_and(|name| quantity::reader(name).is_some());
        let target = if quantity { &Json::Null } else { self.resolve(property) };
        let about = wording::summary(property).or_else(|| wording::summary(target));
        let example = self.example(property, 0);
        let flags = self.flags.unwrap_or_default();
        if flags.iter().all(|flag| flag.key != below)
            && let Some(all) = self.flags_below(flags, property, &below)
        {
            let hint = format!("add {all}");
            return self.push(node, &below, Problem::new(format!("`{below}` is missing")).hint(hint));
        }
        let add = match self.flags {
            None => format!("add `{key} = {example}`{}", bracketed(path, "").under()),
            Some(flags) => match flags.iter().find(|flag| flag.key == below) {
                Some(FlagName { flag, .. }) => format!("add {flag} {}", example.trim_matches('"')),
                None => format!("add --set '{below}={}'", example.trim_matches('"')),
            },
        };
        let hint = about.map_or_else(|| add.clone(), |about| format!("{add}: {about}"));
        self.push(node, &below, Problem::new(format!("`{below}` is missing")).hint(hint));
    }

    /// The flags that set parts of a key, which make the whole of it together, each with a legal value.
    fn flags_below(&self, flags: &[FlagName], property: &'a Json, key: &KeyPath) -> Option<String> {
        let depth = key.segments().len();
        let is_below = |flag: &&FlagName| {
            let segments = flag.key.segments();
            segments.len() > depth && segments.starts_with(key.segments())
        };
        let with_value = |flag: &FlagName| {
            let of = flag.key.segments()[depth..].iter().try_fold(property, |at, part| self.part(at, part));
            let example = of.map_or_else(|| "…".to_owned(), |property| self.example(property, 0));
            // A flag of Python ends so, and its value is written as in a file.
            match flag.flag.ends_with('=') {
                true => format!("{}{example}", flag.flag),
                false => format!("{} {}", flag.flag, example.trim_matches('"')),
            }
        };
        let all: Vec<String> = flags.iter().filter(is_below).map(with_value).take(FLAGS_MAX).collect();
        (!all.is_empty()).then(|| all.join(" and "))
    }

    /// The schema of a part of what another describes.
    fn part(&self, schema: &'a Json, part: &Segment) -> Option<&'a Json> {
        let target = self.resolve(schema);
        match part {
            Segment::Key(key) => target
                .get("properties")
                .and_then(|all| all.get(key))
                .or_else(|| target.get("additionalProperties")),
            Segment::Index(_) => target.get("items"),
        }
    }

    /// A legal value in its written form, as an example.
    fn example(&self, schema: &'a Json, depth: usize) -> String {
        let target = self.resolve(schema);
        for schema in [schema, target] {
            if let Some(example) = schema.get("examples").and_then(|examples| examples.get(0)) {
                return example.to_string();
            }
        }
        if let Some(choice) = Choice::all_of(target).first() {
            return format!("\"{}\"", choice.name);
        }
        if depth < REFERENCES_MAX
            && let Some(branch) = alternatives::branches(target).and_then(|branches| branches.first())
        {
            return self.example(branch, depth + 1);
        }
        match wording::types(target).first() {
            Some(&"integer" | &"number") => Range::of(target).example(),
            Some(&"boolean") => "true".to_owned(),
            Some(&"array") => match target.get("items") {
                Some(items) if depth < 4 => format!("[{}]", self.example(items, depth + 1)),
                _ => "[…]".to_owned(),
            },
            Some(&"object") => "{ … }".to_owned(),
            Some(_) | None => "\"…\"".to_owned(),
        }
    }

    fn list(&mut self, node: &Node, items: &[Node], schema: &'a Json, path: &KeyPath) {
        let limit =
            |name: &str| schema.get(name).and_then(Json::as_u64).and_then(|n| usize::try_from(n).ok());
        let (least, most) = (limit("minItems").unwrap_or(0), limit("maxItems").unwrap_or(usize::MAX));
        if items.len() < least || items.len() > most {
            let problem = wording::count_problem(&format!("`{path}` has"), items.len(), least, most, "item");
            self.push(node, path, problem);
        }
        let fixed = schema.get("prefixItems").and_then(Json::as_array);
        for (index, item) in items.iter().enumerate() {
            let schema = fixed.and_then(|fixed| fixed.get(index)).or_else(|| schema.get("items"));
            if let Some(schema) = schema {
                self.node(item, schema, &path.index(index));
            }
        }
    }

    fn integer(&mut self, node: &Node, number: i128, schema: &Json, path: &KeyPath) {
        let range = Range::of(schema);
        if !range.holds_integer(number) {
            self.out_of_range(node, &range.broken_by(number), path);
        }
    }

    fn float(&mut self, node: &Node, number: f64, schema: &Json, path: &KeyPath) {
        let range = Range::of(schema);
        if !number.is_finite() {
            let message = format!("`{path}` is {number}, but it must be a finite number");
            self.push(node, path, Problem::new(message).hint(format!("set `{path}` to {}", range.nearby())));
        } else if !range.holds(number) {
            self.out_of_range(node, &range, path);
        }
    }

    fn out_of_range(&mut self, node: &Node, range: &Range, path: &KeyPath) {
        let message = format!("`{path}` is {}, but it must be {range}", node.quoted());
        self.push(node, path, Problem::new(message).hint(format!("set `{path}` to {}", range.nearby())));
    }

    fn text(&mut self, node: &Node, text: &str, schema: &Json, path: &KeyPath) {
        let limit =
            |name: &str| schema.get(name).and_then(Json::as_u64).and_then(|n| usize::try_from(n).ok());
        let (least, most) = (limit("minLength").unwrap_or(0), limit("maxLength").unwrap_or(usize::MAX));
        let count = text.chars().count();
        if count < least || count > most {
            let problem = wording::count_problem(&format!("`{path}` has"), count, least, most, "character");
            self.push(node, path, problem);
        }
    }
}

/// The place of a key that is in the wrong table.
fn belongs(full: &KeyPath) -> String {
    match full.segments() {
        [_] => format!("`{full}` belongs at the top of the scenario, above the first `[table]`"),
        _ => format!("did you mean `{full}`?"),
    }
}

/// The definition that a `$ref` refers to.
fn referenced(schema: &Json) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

fn fits(node: &Node, kind: &str) -> bool {
    matches!(
        (&node.value, kind),
        (Value::Bool(_), "boolean")
            | (Value::Integer(_), "integer" | "number")
            | (Value::Float(_), "number")
            | (Value::Text(_), "string")
            | (Value::List(_), "array")
            | (Value::Table(_), "object")
    )
}

#[cfg(test)]
mod tests;
