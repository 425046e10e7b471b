//! The wording of schemas and values in messages.

use std::fmt;

use serde_json::Value as Json;

use crate::Problem;
use crate::key::{KeyPath, Segment};
use crate::node::{Node, Value};

/// The kinds of value that a schema names; empty where it names none.
pub(super) fn types(schema: &Json) -> Vec<&str> {
    match schema.get("type") {
        Some(Json::String(kind)) => vec![kind],
        Some(Json::Array(kinds)) => {
            kinds.iter().filter_map(Json::as_str).filter(|kind| *kind != "null").collect()
        }
        _ => Vec::new(),
    }
}

/// The kind of value that is required, with its article.
pub(super) fn wanted(schema: &Json) -> String {
    let choices = Choice::all_of(schema);
    if !choices.is_empty() {
        return Choice::listed(&choices);
    }
    let words = types(schema).into_iter().map(|kind| match kind {
        "integer" => "a whole number",
        "number" => "a number",
        "string" => "a string",
        "boolean" => "`true` or `false`",
        "array" => "a list",
        "object" => "a table",
        _ => "of another kind",
    });
    words.collect::<Vec<_>>().join(" or ")
}

/// The hint for a value of the wrong kind.
pub(super) fn mismatch_hint(node: &Node, schema: &Json, path: &KeyPath) -> String {
    let types = types(schema);
    let takes = |kind: &str| types.contains(&kind);
    match &node.value {
        Value::Text(text) if (takes("integer") || takes("number")) && text.parse::<f64>().is_ok() => {
            format!("write it without quotes: {text}")
        }
        Value::Text(text) if takes("boolean") && (text == "true" || text == "false") => {
            format!("write it without quotes: {text}")
        }
        Value::Integer(_) | Value::Float(_) | Value::Bool(_) | Value::Moment(_) if takes("string") => {
            format!("write it in quotes: \"{}\"", node.quoted())
        }
        Value::Float(number) if takes("integer") => {
            format!("write a whole number, such as {}", number.floor())
        }
        Value::List(_) => format!("set `{path}` to one value, without brackets"),
        _ if takes("array") => format!("write it in brackets: [{}]", node.quoted()),
        _ if takes("object") => match path.split_last() {
            Some((_, Segment::Key(_))) => {
                format!("begin a table with the line `[{path}]` and put its keys below")
            }
            _ => "write a table: { key = value, … }".to_owned(),
        },
        _ if takes("boolean") => format!("set `{path}` to true or false, without quotes"),
        _ if takes("integer") || takes("number") => format!("set `{path}` to {}", Range::of(schema).nearby()),
        _ => format!("change `{path}`"),
    }
}

/// The first sentence of a schema's description, without its full stop.
pub(super) fn summary(schema: &Json) -> Option<String> {
    let text = schema.get("description")?.as_str()?;
    let line = text.split("\n\n").next()?.replace('\n', " ");
    let sentence = line.split_inclusive(". ").next()?.trim().trim_end_matches('.');
    let mut chars = sentence.chars();
    let first = chars.next()?;
    // "How many" becomes "how many", but "GVT" and "M/M/1" stay as they are.
    let lower = chars.clone().next().is_none_or(char::is_lowercase) || chars.clone().next() == Some(' ');
    Some(if lower { first.to_lowercase().chain(chars).collect() } else { sentence.to_owned() })
}

/// A fixed text that a value may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice<'a> {
    pub name: &'a str,
    about: Option<&'a str>,
}

impl<'a> Choice<'a> {
    /// The texts that a schema allows, if it allows nothing else.
    pub fn all_of(schema: &'a Json) -> Vec<Choice<'a>> {
        let about = schema.get("description").and_then(Json::as_str);
        if let Some(name) = schema.get("const").and_then(Json::as_str) {
            return vec![Choice { name, about }];
        }
        if let Some(names) = schema.get("enum").and_then(Json::as_array) {
            return names.iter().filter_map(Json::as_str).map(|name| Choice { name, about: None }).collect();
        }
        let branches = schema.get("oneOf").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
        let nested: Vec<Vec<Choice<'a>>> = branches.iter().map(Choice::all_of).collect();
        if nested.iter().any(Vec::is_empty) { Vec::new() } else { nested.concat() }
    }

    /// The text that `branch` requires under `tag`.
    pub(super) fn of_tag(branch: &'a Json, tag: &str) -> Option<Choice<'a>> {
        let name = branch.get("properties")?.get(tag)?.get("const")?.as_str()?;
        Some(Choice { name, about: branch.get("description").and_then(Json::as_str) })
    }

    /// `"fifo", "lifo" or "random"`; a single value stands alone in its quotes.
    pub fn listed(choices: &[Choice<'_>]) -> String {
        match choices {
            [only] => format!("\"{}\"", only.name),
            [rest @ .., last] => {
                let rest: Vec<String> = rest.iter().map(|choice| format!("\"{}\"", choice.name)).collect();
                format!("{} or \"{}\"", rest.join(", "), last.name)
            }
            [] => "nothing".to_owned(),
        }
    }

    /// Each choice with its description, for a hint.
    pub(super) fn explained(choices: &[Choice<'_>]) -> String {
        let explain =
            |choice: &Choice<'_>| match choice.about.and_then(|about| about.split(['\n', '.']).next()) {
                Some(about) => format!("\"{}\" ({about})", choice.name),
                None => format!("\"{}\"", choice.name),
            };
        let words: Vec<String> = choices.iter().map(explain).collect();
        format!("write one of {}", words.join(", "))
    }
}

/// The numbers that a schema allows.
pub(super) struct Range {
    low: Option<Limit>,
    high: Option<Limit>,
    whole: bool,
}

#[derive(Clone, Copy)]
struct Limit {
    value: f64,
    /// The value where it is whole: large ones must not pass through a float.
    exact: Option<i128>,
    inclusive: bool,
    /// This is the limit of the number's type, not one of the schema.
    of_type: bool,
}

impl Range {
    pub fn of(schema: &Json) -> Range {
        let limit = |inclusive: &str, exclusive: &str, tighter: fn(&Limit, &Limit) -> bool| {
            let read = |name: &str, inclusive: bool| Limit::read(schema.get(name)?, inclusive);
            match (read(inclusive, true), read(exclusive, false)) {
                (Some(a), Some(b)) => Some(if tighter(&a, &b) { a } else { b }),
                (a, b) => a.or(b),
            }
        };
        let format = schema.get("format").and_then(Json::as_str);
        let (format_low, format_high) = format.map_or((None, None), integer_limits);
        let low = limit("minimum", "exclusiveMinimum", |a, b| a.value > b.value).or(format_low);
        let high = limit("maximum", "exclusiveMaximum", |a, b| a.value < b.value).or(format_high);
        Range { low, high, whole: types(schema) == ["integer"] }
    }

    pub fn holds(&self, number: f64) -> bool {
        let above =
            self.low.is_none_or(|low| if low.inclusive { number >= low.value } else { number > low.value });
        let below = self
            .high
            .is_none_or(|high| if high.inclusive { number <= high.value } else { number < high.value });
        above && below
    }

    pub(super) fn holds_integer(&self, number: i128) -> bool {
        let against = |limit: Limit| match limit.exact {
            Some(exact) => number.cmp(&exact),
            None => (number as f64).total_cmp(&limit.value),
        };
        let above =
            self.low.is_none_or(|low| against(low).is_gt() || (low.inclusive && against(low).is_eq()));
        let below =
            self.high.is_none_or(|high| against(high).is_lt() || (high.inclusive && against(high).is_eq()));
        above && below
    }

    /// The range without the type's limits that `number` does not exceed: "at least 1" is clearer than "from
    /// 1 to 4294967295".
    pub(super) fn broken_by(self, number: i128) -> Range {
        let high = self.high.filter(|high| !high.of_type || high.exact.is_some_and(|high| number > high));
        let low = self.low.filter(|low| !low.of_type || high.is_none_or(|high| high.of_type));
        Range { low, high, whole: self.whole }
    }

    /// A description of legal values, for a hint.
    pub(super) fn nearby(&self) -> String {
        match (self.low, self.high) {
            (Some(low), Some(high)) if low.inclusive && high.inclusive => {
                format!("a value from {low} to {high}")
            }
            (Some(low), None) if low.inclusive => format!("{low} or more"),
            (None, Some(high)) if high.inclusive => format!("at most {high}"),
            (None, None) if self.whole => "a whole number".to_owned(),
            (None, None) => "a number".to_owned(),
            _ => format!("a number {self}"),
        }
    }

    /// A legal value.
    pub fn example(&self) -> String {
        match (self.low, self.high, self.whole) {
            (Some(low), _, _) if low.inclusive && low.value > 0.0 => low.to_string(),
            (_, Some(high), false) if high.value <= 1.0 => (high.value / 2.0).to_string(),
            (_, Some(high), _) if high.value < 1.0 => high.to_string(),
            (_, _, true) => "1".to_owned(),
            (_, _, false) => "1.0".to_owned(),
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lower = |low: &Limit| format!("{} {low}", if low.inclusive { "at least" } else { "more than" });
        let upper = |high: &Limit| format!("{} {high}", if high.inclusive { "at most" } else { "less than" });
        match (&self.low, &self.high) {
            (Some(low), Some(high)) if low.inclusive && high.inclusive => write!(f, "from {low} to {high}"),
            (Some(low), Some(high)) => write!(f, "{} and {}", lower(low), upper(high)),
            (Some(low), None) => f.write_str(&lower(low)),
            (None, Some(high)) => f.write_str(&upper(high)),
            (None, None) => f.write_str("a number"),
        }
    }
}

impl Limit {
    fn read(value: &Json, inclusive: bool) -> Option<Limit> {
        let number = value.as_f64()?;
        let whole = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
        // A range written for a float field reads 1.0; it prints as 1.
        let exact =
            whole.or_else(|| (number.fract() == 0.0 && number.abs() < 1e15).then_some(number as i128));
        Some(Limit { value: number, exact, inclusive, of_type: false })
    }

    fn of_type(exact: i128) -> Option<Limit> {
        Some(Limit { value: exact as f64, exact: Some(exact), inclusive: true, of_type: true })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.exact {
            Some(exact) => write!(f, "{exact}"),
            None => write!(f, "{}", self.value),
        }
    }
}

/// The limits of the integer types: `schemars` records the type, but not always its limits.
fn integer_limits(format: &str) -> (Option<Limit>, Option<Limit>) {
    let (low, high): (i128, i128) = match format {
        "uint8" => (0, u8::MAX.into()),
        "uint16" => (0, u16::MAX.into()),
        "uint32" => (0, u32::MAX.into()),
        // TOML numbers are signed, so unsigned ones end at the same limit and print back.
        "uint64" | "uint" => (0, i64::MAX.into()),
        "int8" => (i8::MIN.into(), i8::MAX.into()),
        "int16" => (i16::MIN.into(), i16::MAX.into()),
        "int32" => (i32::MIN.into(), i32::MAX.into()),
        "int64" | "int" => (i64::MIN.into(), i64::MAX.into()),
        _ => return (None, None),
    };
    (Limit::of_type(low), Limit::of_type(high))
}

/// Reports a count that is too small or too large.
pub(super) fn count_problem(subject: &str, count: usize, least: usize, most: usize, noun: &str) -> Problem {
    let nouns = |count: usize| if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") };
    if least == most {
        let message = format!("{subject} {}, but it must have {}", nouns(count), nouns(least));
        return Problem::new(message).hint(format!("give it {}", nouns(least)));
    }
    let (word, limit) = if count < least { ("at least", least) } else { ("at most", most) };
    let message = format!("{subject} {}, but it must have {word} {}", nouns(count), nouns(limit));
    Problem::new(message).hint(format!("give it {word} {}", nouns(limit)))
}

/// The heading of a table: `[cluster]`, or `root` for the top of the scenario.
pub(super) fn bracketed<'a>(path: &'a KeyPath, root: &'a str) -> Heading<'a> {
    Heading { path, root }
}

/// The heading of a table in messages.
pub(super) struct Heading<'a> {
    path: &'a KeyPath,
    root: &'a str,
}

impl Heading<'_> {
    /// `of `[cluster]``, or `here` at the top.
    pub fn inside(&self) -> String {
        if self.path.is_root() { "here".to_owned() } else { format!("of {self}") }
    }

    /// ` under `[cluster]``, or nothing at the top.
    pub fn under(&self) -> String {
        if self.path.is_root() { String::new() } else { format!(" under {self}") }
    }
}

impl fmt::Display for Heading<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inside_list = self.path.segments().iter().any(|segment| matches!(segment, Segment::Index(_)));
        match (self.path.is_root(), inside_list) {
            (true, _) => f.write_str(self.root),
            (false, true) => write!(f, "`{}`", self.path),
            (false, false) => write!(f, "`[{}]`", self.path),
        }
    }
}

/// A list of names, each in backticks.
pub(super) fn list_of_keys(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
