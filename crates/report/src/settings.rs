//! The settings of a sweep's points as the first columns of a table.

use serde_json::Value;

use crate::{Cell, Column, ColumnKind, Ordered};

/// A column per key, in the order of first occurrence: of numbers if every point has a number for the key,
/// otherwise of text.
pub(crate) fn columns(points: &[&Ordered<Value>]) -> Vec<Column> {
    let numbers = |key: &str| points.iter().all(|point| point.get(key).is_none_or(Value::is_number));
    let column = |key: &String| if numbers(key) { Column::number(key, "") } else { Column::text(key) };
    names(points.iter().copied()).iter().map(column).collect()
}

/// The cells of a point under [`columns`].
pub(crate) fn cells(columns: &[Column], point: &Ordered<Value>) -> Vec<Cell> {
    columns.iter().map(|column| cell(point.get(&column.name), column.kind)).collect()
}

fn cell(value: Option<&Value>, kind: ColumnKind) -> Cell {
    match value {
        None | Some(Value::Null) => Cell::Empty,
        Some(Value::Number(number)) if kind == ColumnKind::Number => Cell::Number(number.clone()),
        Some(Value::Number(number)) => Cell::Text(number_text(number)),
        Some(Value::String(text)) => Cell::Text(text.clone()),
        Some(other) => Cell::Text(other.to_string()),
    }
}

/// Whole numbers with all their digits, others as ECMAScript prints them.
pub(crate) fn number_text(number: &serde_json::Number) -> String {
    if number.is_f64() {
        number.as_f64().map_or_else(String::new, crate::number_text)
    } else {
        number.to_string()
    }
}

/// The keys of several maps, each once, in the order of first occurrence.
pub(crate) fn names<'a, T: 'a>(maps: impl IntoIterator<Item = &'a Ordered<T>>) -> Vec<String> {
    let first: Ordered<()> = maps.into_iter().flat_map(Ordered::keys).map(|key| (key.clone(), ())).collect();
    first.into_keys().collect()
}
