//! Answers of Prometheus to `query_range`, one or several in a file.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{Deserializer, Error};

use super::series::{self, Field, Series};
use super::{Clock, Format, Record};
use crate::envelope::of_json;
use crate::{File, ImportError, Imported};

#[derive(Deserialize)]
struct Answer {
    status: String,
    #[serde(default)]
    error: String,
    data: Option<Data>,
}

#[derive(Deserialize)]
struct Data {
    #[serde(rename = "resultType")]
    result_type: String,
    result: Vec<OneSeries>,
}

#[derive(Deserialize)]
struct OneSeries {
    metric: BTreeMap<String, String>,
    /// Missing in the answer of one time.
    #[serde(default)]
    values: Vec<Point>,
}

/// Microseconds and a value, which is missing where it is not a number.
struct Point(i64, Option<f64>);

impl<'de> Deserialize<'de> for Point {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Point, D::Error> {
        let (at_s, value) = <(f64, String)>::deserialize(deserializer)?;
        let sound = at_s.is_finite() && (0.0..=1e11).contains(&at_s);
        if !sound {
            return Err(D::Error::custom(format!("{at_s} is not a time in seconds")));
        }
        let number: f64 =
            value.parse().map_err(|_| D::Error::custom(format!("`{value}` is not a number")))?;
        Ok(Point((at_s * 1e6).round() as i64, (!number.is_nan()).then_some(number)))
    }
}

const ASK: &str = "ask for the names themselves, such as query_range?query=ceph_num_objects_degraded";

/// Reads the answers.
///
/// # Errors
/// If one is an error, is damaged, or is no answer to `query_range`.
pub(super) fn read(file: File<'_>, bytes: &[u8]) -> Result<Imported<Record>, ImportError> {
    let mut record = Record::new(Format::Prometheus, Clock::Zoned);
    let (mut all, mut others, mut missing) = (Vec::new(), Vec::new(), 0);
    for answer in serde_json::Deserializer::from_slice(bytes).into_iter::<Answer>() {
        let answer = answer.map_err(|error| of_json(file, &error, "."))?;
        for OneSeries { mut metric, values } in series_of(file, answer)? {
            let name = metric.remove("__name__").unwrap_or_default();
            let Some(field) = Field::of(&name) else {
                others.push(name);
                continue;
            };
            if let Some(pair) = values.windows(2).find(|pair| pair[1].0 <= pair[0].0) {
                let reason = format!("the time goes back after {} s", pair[0].0 / 1_000_000);
                return Err(ImportError::new(file.name, reason).key(name).hint("ask for it again"));
            }
            missing += values.iter().filter(|point| point.1.is_none()).count();
            let values = values.into_iter().filter_map(|Point(at_us, value)| Some((at_us, value?)));
            all.push(Series { field, labels: metric, values: values.collect() });
        }
    }
    let mut notes = series::add(file, &mut record, all)?;
    if missing > 0 {
        notes.push(format!("`{}` has {missing} values that are not numbers; counted as missing", file.name));
    }
    others.sort_unstable();
    others.dedup();
    let nameless = others.iter().filter(|name| name.is_empty()).count();
    if nameless > 0 {
        notes.push(format!("`{}` has series without a name, which are left out: {ASK}", file.name));
    }
    if others.len() > nameless {
        let left_out: Vec<&str> = others.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
        notes.push(format!(
            "`{}`: metrics that are not read are left out: {}",
            file.name,
            left_out.join(", ")
        ));
    }
    Ok(Imported { value: record, notes })
}

fn series_of(file: File<'_>, answer: Answer) -> Result<Vec<OneSeries>, ImportError> {
    let Some(data) = answer.data.filter(|_| answer.status == "success") else {
        let reason = format!("Prometheus answered `{}`: {}", answer.status, answer.error);
        return Err(
            ImportError::new(file.name, reason).hint("ask again, for a shorter time or a longer step")
        );
    };
    if data.result_type != "matrix" {
        let reason = format!("it is a {}, which is the answer of one time", data.result_type);
        return Err(ImportError::new(file.name, reason)
            .key("data.resultType")
            .hint("ask /api/v1/query_range"));
    }
    Ok(data.result)
}
