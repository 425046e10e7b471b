//! Values that may take one of several forms: Rust enums and options, as `schemars` writes them.
//!
//! The intended form is determined before problems are reported: by the name in the tag key, by the only key
//! of the table, or by the kind of value. So the problem is about the form that the user was writing.

use serde_json::Value as Json;

use super::wording::{self, Choice, bracketed};
use super::{Checker, fits};
use crate::key::KeyPath;
use crate::node::{Node, Table, Value};
use crate::suggest::did_you_mean;
use crate::{Problem, Problems};

/// The alternatives of a schema, if it has several.
pub(super) fn branches(schema: &Json) -> Option<&Vec<Json>> {
    schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Json::as_array)
}

impl<'a> Checker<'a> {
    pub(super) fn alternatives(&mut self, node: &Node, branches: &'a [Json], path: &KeyPath) {
        // TOML has no null; null is expressed by leaving the key out.
        let branches: Vec<&Json> = branches
            .iter()
            .filter(|branch| wording::types(branch) != ["null"] || branch.get("$ref").is_some())
            .collect();
        if let [only] = branches[..] {
            return self.node(node, only, path);
        }
        let resolved: Vec<&'a Json> = branches.iter().map(|branch| self.resolve(branch)).collect();
        let each: Vec<Vec<Choice<'_>>> = resolved.iter().map(|branch| Choice::all_of(branch)).collect();
        let only_names = each.iter().all(|choices| !choices.is_empty());
        let choices: Vec<Choice<'_>> = each.into_iter().flatten().collect();
        let tables: Vec<&'a Json> =
            resolved.iter().copied().filter(|branch| wording::types(branch) == ["object"]).collect();
        match &node.value {
            Value::Table(table) if !tables.is_empty() => {
                if let Some(tag) = tag_of(&tables) {
                    return self.tagged(node, table, tag, &tables, path);
                }
                if tables.iter().all(|branch| only_key(branch).is_some()) {
                    return self.keyed(node, table, &tables, path);
                }
            }
            Value::Text(_) if !choices.is_empty() => return self.choice(node, &choices, path),
            _ if only_names => return self.choice(node, &choices, path),
            _ => {}
        }
        self.by_kind(node, &branches, path);
    }

    /// Forms distinguished by the text under one key: `kind = "fixed"`.
    fn tagged(&mut self, node: &Node, table: &Table, tag: &str, tables: &[&'a Json], path: &KeyPath) {
        let below = path.key(tag);
        let choices: Vec<Choice<'_>> =
            tables.iter().filter_map(|branch| Choice::of_tag(branch, tag)).collect();
        let Some(value) = table.get(tag) else {
            let message = format!("`{below}` is missing");
            let hint =
                format!("add `{tag} = …`{}: {}", bracketed(path, "").under(), Choice::explained(&choices));
            self.problems.push(Problem::new(message).hint(hint).at(node.place.clone()).of_key(below));
            return;
        };
        let meant = tables.iter().find(|branch| {
            Choice::of_tag(branch, tag)
                .is_some_and(|choice| matches!(&value.value, Value::Text(text) if text == choice.name))
        });
        match meant {
            Some(branch) => self.table(node, table, branch, path),
            None => self.choice(value, &choices, &below),
        }
    }

    /// Forms distinguished by their only key: `{ fixed = { … } }`.
    fn keyed(&mut self, node: &Node, table: &Table, tables: &[&'a Json], path: &KeyPath) {
        let names: Vec<&str> = tables.iter().filter_map(|branch| only_key(branch)).collect();
        let listed = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let [entry] = &table.entries[..] else {
            let message =
                format!("`{path}` has {} keys, but it must have one of {listed}", table.entries.len());
            let hint = format!("keep the intended one under {}", bracketed(path, "here"));
            self.problems.push(Problem::new(message).hint(hint).at(node.place.clone()).of_key(path.clone()));
            return;
        };
        match tables.iter().find(|branch| only_key(branch) == Some(entry.key.as_str())) {
            Some(branch) => self.table(node, table, branch, path),
            None => {
                let hint = did_you_mean(&entry.key, names.iter().copied())
                    .unwrap_or_else(|| format!("the keys {} are {listed}", bracketed(path, "").inside()));
                let message = format!("unknown key `{}` in {}", entry.key, bracketed(path, "the scenario"));
                let problem = Problem::new(message).hint(hint).at(entry.key_place.clone());
                self.problems.push(problem.of_key(path.key(entry.key.as_str())));
            }
        }
    }

    /// Forms distinguished by the kind of the value; where several fit, the one with the fewest problems
    /// counts as intended.
    fn by_kind(&mut self, node: &Node, branches: &[&'a Json], path: &KeyPath) {
        let mut best: Option<Problems> = None;
        for branch in branches {
            let types = wording::types(self.resolve(branch));
            if !types.is_empty() && !types.iter().any(|kind| fits(node, kind)) {
                continue;
            }
            let mut attempt = Checker { schema: self.schema, flags: self.flags, problems: Problems::new() };
            attempt.node(node, branch, path);
            if best.as_ref().is_none_or(|best| attempt.problems.len() < best.len()) {
                best = Some(attempt.problems);
            }
        }
        match best {
            Some(problems) => self.problems.extend(problems),
            None => {
                let mut wanted: Vec<String> =
                    branches.iter().map(|branch| wording::wanted(self.resolve(branch))).collect();
                wanted.dedup();
                let message =
                    format!("`{path}` is {}, but it must be {}", node.quoted(), wanted.join(" or "));
                let hint = match self.any_text(branches) {
                    // What is meant as a name may look like a number.
                    Some(text) if is_bare(node) => wording::mismatch_hint(node, text, path),
                    _ => format!("change `{path}`; `towtank schema` shows its forms"),
                };
                self.problems
                    .push(Problem::new(message).hint(hint).at(node.place.clone()).of_key(path.clone()));
            }
        }
    }

    /// The form that takes any text, if there is one.
    fn any_text(&self, branches: &[&'a Json]) -> Option<&'a Json> {
        let is_any = |schema: &&Json| {
            wording::types(schema).contains(&"string")
                && schema.get("enum").is_none()
                && schema.get("const").is_none()
        };
        branches.iter().map(|branch| self.resolve(branch)).find(is_any)
    }
}

/// Whether a value is written without quotes and brackets.
fn is_bare(node: &Node) -> bool {
    matches!(node.value, Value::Integer(_) | Value::Float(_) | Value::Bool(_) | Value::Moment(_))
}

/// The key whose fixed text distinguishes the forms.
fn tag_of<'a>(tables: &[&'a Json]) -> Option<&'a str> {
    let properties = tables.first()?.get("properties")?.as_object()?;
    let is_tag = |key: &str| tables.iter().all(|branch| Choice::of_tag(branch, key).is_some());
    properties.keys().map(String::as_str).find(|key| is_tag(key))
}

/// The key of a form that has exactly one.
fn only_key(branch: &Json) -> Option<&str> {
    let properties = branch.get("properties")?.as_object()?;
    let mut keys = properties.keys();
    let key = keys.next()?;
    keys.next().is_none().then_some(key.as_str())
}
