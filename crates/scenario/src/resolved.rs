//! The resolved scenario: all defaults filled in, all units in canonical form, and the hash of that.
//!
//! It reads back to the same scenario. Its hash does not depend on how the scenario was written: not on the
//! order of keys, comments, equal units (`1024KiB`, `1MiB`), explicit defaults, or file versus flags. The
//! title does not count either.

use serde_json::{Map, Value as Json};

use crate::document::Outline;
use crate::hash::hash_of_json;
use crate::key::{KeyPath, Segment};
use crate::{Problem, Problems};

/// A scenario after all defaults and units are resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    scenario: Json,
    hash: String,
    axes: Vec<ResolvedAxis>,
    points: Vec<ResolvedPoint>,
}

/// A swept key with its values in canonical form.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedAxis {
    /// The key as in the report: `cluster.servers`.
    pub key: String,
    /// Its values in the order of the scenario.
    pub values: Vec<Json>,
}

/// One resolved point.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedPoint {
    /// The swept keys with this point's values, in the order of the axes.
    pub settings: Vec<(String, Json)>,
    /// All of the study's own keys.
    pub scenario: Json,
    /// The hash of these keys.
    pub hash: String,
}

/// Further inputs of the hash.
#[derive(Clone, Copy, Debug)]
pub struct HashedBeside<'a> {
    /// The study's results version.
    pub results_version: u32,
    /// Hashes of the input files of all points, each once, in the order of first use.
    pub input_hashes: &'a [String],
}

impl Outline {
    /// Joins the study's result for each point (`studies`, in the order of the points) into the resolved
    /// scenario.
    ///
    /// # Errors
    /// When two values of one axis resolve to the same value.
    ///
    /// # Panics
    /// When the number of values differs from the number of points.
    pub fn resolve(&self, studies: Vec<Json>, beside: HashedBeside<'_>) -> Result<Resolved, Problems> {
        assert_eq!(studies.len(), self.points.len(), "one resolved value for each point");
        let axes = self.resolved_axes(&studies)?;
        let keys: Vec<&KeyPath> = self.axes.iter().map(|axis| &axis.key).collect();
        let scenario = self.whole(shared(&studies, &keys), &axes);
        let hash = hash_of_whole(&scenario, beside);
        let point = |(scenario, choice): (Json, &Vec<usize>)| ResolvedPoint {
            settings: axes
                .iter()
                .zip(choice)
                .map(|(axis, &value)| (axis.key.clone(), axis.values[value].clone()))
                .collect(),
            hash: hash_of_json(&scenario),
            scenario,
        };
        let points =
            studies.into_iter().zip(self.points.iter().map(|point| &point.choice)).map(point).collect();
        Ok(Resolved { scenario, hash, axes, points })
    }

    /// The values of each axis as resolved by the study.
    fn resolved_axes(&self, studies: &[Json]) -> Result<Vec<ResolvedAxis>, Problems> {
        let mut problems = Problems::new();
        let mut axes = Vec::with_capacity(self.axes.len());
        for (position, axis) in self.axes.iter().enumerate() {
            let mut values: Vec<Json> = Vec::with_capacity(axis.values.len());
            for (index, node) in axis.values.iter().enumerate() {
                let at = self.points.iter().position(|point| point.choice[position] == index);
                let study = &studies[at.expect("every value of an axis has a point")];
                let value = find(study, &axis.key).cloned().unwrap_or_else(|| node.to_json());
                if let Some(earlier) = values.iter().position(|earlier| *earlier == value) {
                    let message = format!("the sweep over `{}` has {} twice", axis.key, node.quoted());
                    let hint = format!("remove one: it equals value {} of the list", earlier + 1);
                    problems.push(
                        Problem::new(message).hint(hint).at(node.place.clone()).of_key(axis.key.clone()),
                    );
                }
                values.push(value);
            }
            axes.push(ResolvedAxis { key: axis.key.to_string(), values });
        }
        problems.into_result(axes)
    }

    fn whole(&self, study: Json, axes: &[ResolvedAxis]) -> Json {
        let header = &self.header;
        let mut whole = Map::new();
        whole.insert("study".to_owned(), header.study.as_str().into());
        if let Some(title) = &header.title {
            whole.insert("title".to_owned(), title.as_str().into());
        }
        whole.insert("seed".to_owned(), header.seed.into());
        whole.insert("replicates".to_owned(), header.replicates.into());
        if let Json::Object(study) = study {
            whole.extend(study);
        }
        if !axes.is_empty() {
            let axes = axes.iter().map(|axis| (axis.key.clone(), Json::from(axis.values.clone())));
            whole.insert(crate::header_keys::SWEEP.to_owned(), axes.collect::<Map<_, _>>().into());
        }
        whole.into()
    }
}

impl Resolved {
    /// The whole scenario, with its sweep and without the swept keys.
    #[must_use]
    pub fn scenario(&self) -> &Json {
        &self.scenario
    }

    /// Identifies everything that the results depend on: the scenario, its seed and replicates, its input
    /// files and the results version.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The swept keys.
    #[must_use]
    pub fn axes(&self) -> &[ResolvedAxis] {
        &self.axes
    }

    /// The points, in sweep order.
    #[must_use]
    pub fn points(&self) -> &[ResolvedPoint] {
        &self.points
    }

    /// The resolved scenario as a scenario file.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(&without_nulls(&self.scenario))
            .expect("a resolved scenario came out of TOML or its equal")
    }
}

fn hash_of_whole(scenario: &Json, beside: HashedBeside<'_>) -> String {
    let mut hashed = scenario.clone();
    if let Json::Object(map) = &mut hashed {
        map.shift_remove("title");
    }
    hash_of_json(&serde_json::json!({
        "towtank scenario": 1,
        "results_version": beside.results_version,
        "inputs": beside.input_hashes,
        "scenario": hashed,
    }))
}

/// The part common to all points, without the swept keys. A default that depends on a swept value differs
/// between points and is left out; it is filled in again on reading.
fn shared(studies: &[Json], swept: &[&KeyPath]) -> Json {
    let mut common = studies.first().cloned().unwrap_or(Json::Null);
    if studies.len() > 1 || !swept.is_empty() {
        for key in swept {
            remove(&mut common, key.segments());
        }
        for study in studies {
            keep_common(&mut common, study);
        }
    }
    common
}

fn keep_common(common: &mut Json, other: &Json) {
    match (common, other) {
        (Json::Object(common), Json::Object(other)) => {
            common.retain(|key, value| match other.get(key) {
                Some(other) => {
                    keep_common(value, other);
                    value.is_object() || value.is_array() || value == other
                }
                None => false,
            });
        }
        (Json::Array(common), Json::Array(other)) if common.len() == other.len() => {
            common.iter_mut().zip(other).for_each(|(common, other)| keep_common(common, other));
        }
        _ => {}
    }
}

fn remove(value: &mut Json, way: &[Segment]) {
    match (value, way) {
        (Json::Object(map), [Segment::Key(key)]) => {
            map.shift_remove(key);
        }
        (Json::Object(map), [Segment::Key(key), rest @ ..]) => {
            if let Some(inner) = map.get_mut(key) {
                remove(inner, rest);
            }
        }
        (Json::Array(items), [segment, rest @ ..]) if !rest.is_empty() => {
            if let Some(inner) = position(segment).and_then(|index| items.get_mut(index)) {
                remove(inner, rest);
            }
        }
        // An item of a list cannot be removed without moving the others; the sweep sets it anyway.
        _ => {}
    }
}

fn find<'a>(value: &'a Json, path: &KeyPath) -> Option<&'a Json> {
    path.segments().iter().try_fold(value, |value, segment| match (value, segment) {
        (Json::Object(map), Segment::Key(key)) => map.get(key),
        (Json::Array(items), segment) => items.get(position(segment)?),
        _ => None,
    })
}

fn position(segment: &Segment) -> Option<usize> {
    match segment {
        Segment::Index(index) => Some(*index),
        Segment::Key(key) => key.parse().ok(),
    }
}

fn without_nulls(value: &Json) -> Json {
    match value {
        Json::Object(map) => {
            let kept = map.iter().filter(|(_, value)| !value.is_null());
            kept.map(|(key, value)| (key.clone(), without_nulls(value))).collect::<Map<_, _>>().into()
        }
        Json::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}
