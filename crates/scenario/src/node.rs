//! The tree of an input: TOML values with their places.
//!
//! The common form of files, `--set` and sweep values. Tables keep the order of the text. Nothing is
//! interpreted here: the schema and the scenario type check units, ranges and names.

use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::key::{KeyPath, Segment};
use crate::source::{Place, Source, SourceKind};
use crate::{Problem, Problems};

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub place: Place,
    pub value: Value,
}

/// The TOML values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    /// Dates and times, which no scenario uses; kept for the error message.
    Moment(String),
    List(Vec<Node>),
    Table(Table),
}

/// Entries in the order of the text; keys are unique.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Table {
    pub entries: Vec<Entry>,
}

/// A key, its place, and its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub key: String,
    pub key_place: Place,
    pub node: Node,
}

impl Table {
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.node)
    }

    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    pub fn remove(&mut self, key: &str) -> Option<Entry> {
        let at = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(at))
    }
}

impl Node {
    /// The kind of the value, for messages.
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::Bool(_) => "a boolean",
            Value::Integer(_) => "a whole number",
            Value::Float(_) => "a number",
            Value::Text(_) => "a string",
            Value::Moment(_) => "a date or time",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }

    /// The value as quoted in a message: as it was written if that is short, else its kind.
    pub fn quoted(&self) -> String {
        match &self.value {
            Value::Bool(truth) => truth.to_string(),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => format!("{number:?}"),
            Value::Text(text) if text.chars().count() <= 60 => format!("{text:?}"),
            Value::Text(text) => format!("{:?}…", text.chars().take(60).collect::<String>()),
            Value::Moment(text) => text.clone(),
            Value::List(_) | Value::Table(_) => self.kind().to_owned(),
        }
    }

    /// The node at `path`, if there is one.
    pub fn find(&self, path: &KeyPath) -> Option<&Node> {
        path.segments().iter().try_fold(self, |node, segment| node.child(segment))
    }

    /// The node at `path` or the deepest one on the way to it.
    pub fn nearest(&self, path: &KeyPath) -> &Node {
        let mut node = self;
        for segment in path.segments() {
            match node.child(segment) {
                Some(child) => node = child,
                None => return node,
            }
        }
        node
    }

    fn child(&self, segment: &Segment) -> Option<&Node> {
        match (&self.value, segment) {
            (Value::Table(table), Segment::Key(key)) => table.get(key),
            (Value::List(items), segment) => items.get(list_index(segment)?),
            _ => None,
        }
    }

    /// Puts `node` at `path` and creates missing tables on the way. `key_place` is where the path was
    /// written.
    ///
    /// # Errors
    /// When something on the way is neither a table nor a list that is long enough. The problem is placed at
    /// the path.
    pub fn put(&mut self, path: &KeyPath, key_place: &Place, node: Node) -> Result<(), Problem> {
        self.put_below(path, 0, key_place, node)
            .map_err(|problem| problem.of_key(path.clone()).at(key_place.clone()))
    }

    fn put_below(
        &mut self,
        path: &KeyPath,
        depth: usize,
        key_place: &Place,
        node: Node,
    ) -> Result<(), Problem> {
        let Some(segment) = path.segments().get(depth) else {
            *self = node;
            return Ok(());
        };
        let so_far = || KeyPath::from(path.segments()[..depth].to_vec());
        match (&mut self.value, segment) {
            (Value::Table(table), Segment::Key(key)) => {
                let position = table.entries.iter().position(|entry| &entry.key == key);
                if let (None, Some(Segment::Index(_))) = (position, path.segments().get(depth + 1)) {
                    let list = so_far().key(key.as_str());
                    let message = format!("`{path}` does not exist: the scenario has no list `{list}`");
                    return Err(Problem::new(message).hint(format!("set the whole list: {list}=[…]")));
                }
                let at = position.unwrap_or_else(|| {
                    table.entries.push(Entry::empty(key, key_place));
                    table.entries.len() - 1
                });
                table.entries[at].node.put_below(path, depth + 1, key_place, node)
            }
            (Value::List(items), segment) => {
                let len = items.len();
                if let Some(item) = list_index(segment).and_then(|index| items.get_mut(index)) {
                    return item.put_below(path, depth + 1, key_place, node);
                }
                let list = so_far();
                let items = if len == 1 { "1 item".to_owned() } else { format!("{len} items") };
                let message = format!("`{path}` does not exist: `{list}` has {items}");
                Err(Problem::new(message).hint(format!("count from 0, as in `{list}[0]`")))
            }
            _ => {
                let holder = so_far();
                let message = format!("`{path}` does not exist: `{holder}` is {}", self.kind());
                Err(Problem::new(message).hint(format!("set `{holder}` itself")))
            }
        }
    }
}

impl Entry {
    fn empty(key: &str, place: &Place) -> Entry {
        Entry { key: key.to_owned(), key_place: place.clone(), node: Node::empty_table(place.clone()) }
    }
}

impl Node {
    /// The value without its places.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Bool(truth) => (*truth).into(),
            Value::Integer(number) => match (i64::try_from(*number), u64::try_from(*number)) {
                (Ok(number), _) => number.into(),
                (_, Ok(number)) => number.into(),
                _ => number.to_string().into(),
            },
            Value::Float(number) => (*number).into(),
            Value::Text(text) | Value::Moment(text) => text.as_str().into(),
            Value::List(items) => items.iter().map(Node::to_json).collect(),
            Value::Table(table) => {
                let entries = table.entries.iter().map(|entry| (entry.key.clone(), entry.node.to_json()));
                entries.collect::<serde_json::Map<_, _>>().into()
            }
        }
    }

    /// A table without entries.
    fn empty_table(place: Place) -> Node {
        Node { place, value: Value::Table(Table::default()) }
    }
}

fn list_index(segment: &Segment) -> Option<usize> {
    match segment {
        Segment::Index(index) => Some(*index),
        Segment::Key(key) => key.parse().ok(),
    }
}

/// The most syntax errors that are reported.
const SYNTAX_PROBLEMS_MAX: usize = 3;

/// Parses a whole TOML text.
///
/// # Errors
/// The first few syntax errors.
pub(crate) fn parse(source: &Arc<Source>) -> Result<Node, Problems> {
    let (table, errors) = DeTable::parse_recoverable(source.text());
    let converter = Converter { source, offset: 0 };
    let mut problems = Problems::new();
    // After the first few errors the parser's recovery is unreliable.
    for error in errors.iter().take(SYNTAX_PROBLEMS_MAX) {
        problems.push(converter.syntax_problem(error));
        // The parser gave up here, so brackets that are closed later look open to it.
        if is_too_deep(error.message()) {
            break;
        }
    }
    problems.into_result(())?;
    converter.table(Place::whole(source), table.get_ref()).map_err(Problems::from)
}

/// Parses one TOML value at `offset` in `source`. A text that is not a TOML value is taken as a string, so
/// that `--set link=10Gbit/s` needs no quotes, unless it looks like broken TOML.
///
/// # Errors
/// A quote or bracket that is not closed.
pub(crate) fn parse_value(source: &Arc<Source>, offset: usize) -> Result<Node, Problem> {
    let text = &source.text()[offset..];
    let converter = Converter { source, offset };
    match DeValue::parse(text) {
        Ok(value) => converter.node(&value),
        Err(error) if text.trim_start().starts_with(['"', '\'', '[', '{']) => {
            Err(converter.syntax_problem(&error))
        }
        Err(_) => Ok(Node {
            place: Place::new(source, offset..source.text().len()),
            value: Value::Text(text.trim().to_owned()),
        }),
    }
}

struct Converter<'a> {
    source: &'a Arc<Source>,
    offset: usize,
}

impl Converter<'_> {
    fn place(&self, span: std::ops::Range<usize>) -> Place {
        Place::new(self.source, span.start + self.offset..span.end + self.offset)
    }

    fn syntax_problem(&self, error: &toml::de::Error) -> Problem {
        let end = self.source.text().len() - self.offset;
        let place = self.place(error.span().unwrap_or(end..end));
        let (message, hint) = syntax_words(error.message(), place.text());
        let problem = Problem::new(format!("not valid TOML: {message}"));
        let problem = match self.source.kind() {
            SourceKind::Flag if !is_too_deep(error.message()) => {
                problem.hint("close every quote and bracket of the value")
            }
            _ => problem.hint(hint),
        };
        problem.at(place)
    }

    fn node(&self, value: &Spanned<DeValue<'_>>) -> Result<Node, Problem> {
        let place = self.place(value.span());
        let value =
            match value.get_ref() {
                DeValue::Boolean(truth) => Value::Bool(*truth),
                DeValue::String(text) => Value::Text(text.to_string()),
                DeValue::Datetime(moment) => Value::Moment(moment.to_string()),
                DeValue::Integer(number) => {
                    Value::Integer(i128::from_str_radix(number.as_str(), number.radix()).map_err(|_| {
                        Problem::new(format!("the number {number} is too large"))
                            .at(place.clone())
                            .hint(format!("whole numbers range from {} to {}", i64::MIN, i64::MAX))
                    })?)
                }
                DeValue::Float(number) => Value::Float(number.as_str().parse().map_err(|_| {
                    Problem::new(format!("{} is not a number", number.as_str())).at(place.clone())
                })?),
                DeValue::Array(items) => Value::List(self.list(items)?),
                DeValue::Table(table) => return self.table(place, table),
            };
        Ok(Node { place, value })
    }

    fn list(&self, items: &DeArray<'_>) -> Result<Vec<Node>, Problem> {
        items.iter().map(|item| self.node(item)).collect()
    }

    fn table(&self, place: Place, table: &DeTable<'_>) -> Result<Node, Problem> {
        let mut entries = Vec::with_capacity(table.len());
        for (key, value) in table {
            let key_place = self.place(key.span());
            entries.push(Entry { key: key.get_ref().to_string(), key_place, node: self.node(value)? });
        }
        // The TOML map is sorted by key, but a sweep runs in the order of the file.
        entries.sort_by_key(|entry| entry.key_place.span().start);
        Ok(Node { place, value: Value::Table(Table { entries }) })
    }
}

/// Whether the parser stopped to protect its own stack.
fn is_too_deep(message: &str) -> bool {
    message.contains("recursion limit") || message.contains("max recursion depth")
}

/// Our messages for common mistakes; the parser's own message for the rest.
fn syntax_words(message: &str, text: &str) -> (String, String) {
    if message.starts_with("string values must be quoted") && !text.is_empty() {
        let quoted = text.trim_end_matches(['"', '\'']);
        return (format!("`{text}` is not in quotes"), format!("write \"{quoted}\""));
    }
    if message.starts_with("invalid basic string") && message.ends_with("`\"`") {
        return (
            "a quote is not closed".to_owned(),
            "close the string with `\"` on the same line".to_owned(),
        );
    }
    if message.starts_with("unclosed table") {
        return ("a heading is not closed".to_owned(), "close it with `]`, as in `[cluster]`".to_owned());
    }
    if message.starts_with("duplicate key") {
        return (format!("`{text}` is defined twice"), "keep one of the two".to_owned());
    }
    if is_too_deep(message) {
        let hint = "no scenario needs so many levels; is an earlier bracket not closed?";
        return ("brackets or dotted keys are nested too deeply".to_owned(), hint.to_owned());
    }
    let mut message = message.lines().collect::<Vec<_>>().join(", ");
    if let Some(first) = message.chars().next().filter(char::is_ascii_uppercase) {
        message.replace_range(..1, &first.to_ascii_lowercase().to_string());
    }
    (message, "write `key = value` lines under `[table]` headings; see https://toml.io".to_owned())
}
