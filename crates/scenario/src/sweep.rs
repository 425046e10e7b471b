//! `[sweep]`: keys with lists of values, and the points of their cross product.
//!
//! Axes keep the order of the file; the last one varies fastest.

use crate::key::KeyPath;
use crate::node::{Node, Table, Value};
use crate::source::Place;
use crate::{Problem, Problems, header_keys};

/// A free choice: every point is checked and kept in memory before the first one runs.
const POINTS_MAX: usize = 10_000;

/// A swept key and its values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    pub key: KeyPath,
    pub key_place: Place,
    pub values: Vec<Node>,
}

/// Reads the `[sweep]` table; `named` replaces aliases of keys. Keys may be quoted paths (`"cluster.servers"
/// = […]`) or tables (`cluster.servers = […]`).
///
/// # Errors
/// Every invalid axis.
pub(crate) fn axes(sweep: &Node, named: &dyn Fn(KeyPath) -> KeyPath) -> Result<Vec<Axis>, Problems> {
    let mut problems = Problems::new();
    let mut axes = Vec::new();
    match &sweep.value {
        Value::Table(table) => collect(table, &KeyPath::root(), &mut axes, &mut problems),
        _ => problems.push(
            Problem::new(format!("`sweep` is {}, but it must be a table", sweep.quoted()))
                .hint(
                    "write a line `[sweep]` and below it lists of values: \"cluster.servers\" = [8, 16, 32]",
                )
                .at(sweep.place.clone())
                .of_key(KeyPath::root().key(header_keys::SWEEP)),
        ),
    }
    axes.iter_mut().for_each(|axis| axis.key = named(axis.key.clone()));
    check_overlap(&axes, &mut problems);
    let points = axes.iter().try_fold(1usize, |points, axis| points.checked_mul(axis.values.len()));
    if points.is_none_or(|points| points > POINTS_MAX) {
        let counts: Vec<String> = axes.iter().map(|axis| axis.values.len().to_string()).collect();
        let message =
            format!("the sweep has {} points, but at most {POINTS_MAX} can be run", counts.join(" × "));
        problems.push(
            Problem::new(message).hint("sweep fewer keys, or split the scenario").at(sweep.place.clone()),
        );
    }
    problems.into_result(axes)
}

fn collect(table: &Table, path: &KeyPath, axes: &mut Vec<Axis>, problems: &mut Problems) {
    for entry in &table.entries {
        let key = match entry.key.parse::<KeyPath>() {
            Ok(key) => KeyPath::from([path.segments(), key.segments()].concat()),
            Err(error) => {
                let message = format!("`{}` cannot be swept: {error}", entry.key);
                let hint = "name a key of the scenario: \"cluster.servers\" = [8, 16, 32]";
                problems.push(Problem::new(message).hint(hint).at(entry.key_place.clone()));
                continue;
            }
        };
        match &entry.node.value {
            Value::Table(inner) => collect(inner, &key, axes, problems),
            Value::List(values) if !values.is_empty() => {
                axes.push(Axis { key, key_place: entry.key_place.clone(), values: values.clone() });
            }
            Value::List(_) => problems.push(
                Problem::new(format!("the sweep over `{key}` has no values"))
                    .hint("give it at least one value, or remove the line")
                    .at(entry.node.place.clone())
                    .of_key(key),
            ),
            _ => problems.push(
                Problem::new(format!(
                    "the sweep over `{key}` is {}, but it must be a list",
                    entry.node.quoted()
                ))
                .hint(format!("write it in brackets: [{}]", entry.node.quoted()))
                .at(entry.node.place.clone())
                .of_key(key),
            ),
        }
    }
}

fn check_overlap(axes: &[Axis], problems: &mut Problems) {
    for (index, axis) in axes.iter().enumerate() {
        let name = axis.key.to_string();
        if header_keys::KEYS.iter().any(|key| KeyPath::root().key(*key).covers(&axis.key)) {
            let hint = match name.as_str() {
                "seed" | "replicates" => "set `replicates`: every replicate draws from another seed",
                _ => "sweep a key of the study",
            };
            let problem = Problem::new(format!("`{name}` cannot be swept")).hint(hint);
            problems.push(problem.at(axis.key_place.clone()).of_key(axis.key.clone()));
        }
        if let Some(other) =
            axes[..index].iter().find(|other| other.key.covers(&axis.key) || axis.key.covers(&other.key))
        {
            let message = match &other.key {
                key if *key == axis.key => format!("`{name}` is swept twice"),
                key => format!("`{name}` is swept twice: `{key}` holds it or is part of it"),
            };
            let problem = Problem::new(message).hint("keep one of the two");
            problems.push(problem.at(axis.key_place.clone()).of_key(axis.key.clone()));
        }
    }
}

/// For each point, the index of its value on each axis. Without axes, one empty point.
pub(crate) fn points(axes: &[Axis]) -> Vec<Vec<usize>> {
    axes.iter().fold(vec![Vec::new()], |points, axis| {
        points
            .iter()
            .flat_map(|point| {
                (0..axis.values.len()).map(|value| point.iter().copied().chain([value]).collect::<Vec<_>>())
            })
            .collect()
    })
}
