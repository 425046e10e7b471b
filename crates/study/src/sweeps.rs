//! Figures over a sweep: a swept number is the horizontal axis, and each combination of the other settings is
//! a line.

use serde_json::Value as Json;
use towtank_report::{Axis, CurvePoint, Draw, Figure, Kind, LineSeries, Num};
use towtank_units::{Bytes, Frequency, Percent, Rate, SimSpan};

use crate::PointResult;
use crate::points::text;

/// A swept key with at least two numbers among its values.
#[derive(Clone, Debug, PartialEq)]
pub struct SweptNumber {
    /// The key.
    pub key: String,
    /// How many different numbers there are.
    pub count: usize,
    /// Whether every point has one, all of the same unit.
    pub is_complete: bool,
    unit: &'static str,
    least: f64,
    most: f64,
}

impl SweptNumber {
    /// Those of a sweep, in the order of its keys.
    #[must_use]
    pub fn all(points: &[&PointResult<'_>]) -> Vec<SweptNumber> {
        let settings = points.first().map_or(&[][..], |point| point.settings);
        settings.iter().filter_map(|(key, _)| SweptNumber::of(points, key)).collect()
    }

    fn of(points: &[&PointResult<'_>], key: &str) -> Option<SweptNumber> {
        let found: Vec<(f64, &'static str)> =
            points.iter().filter_map(|point| number(setting(point, key)?)).collect();
        let unit = found.last()?.1;
        let is_complete = found.len() == points.len() && found.iter().all(|(_, other)| *other == unit);
        let mut values: Vec<f64> = found.into_iter().map(|(value, _)| value).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let (least, most) = (values[0], values[values.len() - 1]);
        let (key, count) = (key.to_owned(), values.len());
        (count > 1).then_some(SweptNumber { key, count, is_complete, unit, least, most })
    }

    /// The largest over the least; 0 if that is not above zero, where an axis cannot be logarithmic.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        if self.least > 0.0 { self.most / self.least } else { 0.0 }
    }

    /// Its axis, with this label.
    #[must_use]
    pub fn axis(&self, label: &str, is_log: bool) -> Axis {
        let of = if is_log { Axis::log } else { Axis::linear };
        of(label.to_owned(), self.unit.to_owned())
    }

    /// The other settings of a point, but for the key that lines are named by anyway: `servers = 2`.
    #[must_use]
    pub fn others(&self, point: &PointResult<'_>, but: Option<&str>) -> Vec<String> {
        let is_other = |key: &str| key != self.key && Some(key) != but;
        let others = point.settings.iter().filter(|(key, _)| is_other(key));
        others.map(|(key, value)| format!("{key} = {}", text(value))).collect()
    }
}

/// A value that a figure over a sweep draws.
pub struct SweptValue<'p> {
    /// The point that it belongs to.
    pub at: &'p PointResult<'p>,
    /// The words that name its line.
    pub name: Vec<String>,
    /// The value, in the measure's unit.
    pub mean: f64,
    /// Its interval, if it is drawn.
    pub range: Option<(f64, f64)>,
}

/// What a figure over a sweep draws.
#[derive(Clone, Copy, Debug)]
pub struct Drawn<'a> {
    /// The id of the figure.
    pub id: &'a str,
    /// Its title.
    pub title: &'a str,
    /// The measure that it draws.
    pub measure: &'a str,
    /// The label of its axis.
    pub label: &'a str,
    /// The unit of its axis.
    pub unit: &'a str,
    /// How many of that unit one of the measure's is.
    pub factor: f64,
}

impl<'a> Drawn<'a> {
    /// A figure of this id and title, of a measure.
    #[must_use]
    pub const fn of(id: &'a str, title: &'a str, measure: &'a str) -> Drawn<'a> {
        Drawn { id, title, measure, label: "", unit: "", factor: 1.0 }
    }

    /// With an axis of this label and unit.
    #[must_use]
    pub const fn on(self, label: &'a str, unit: &'a str) -> Drawn<'a> {
        Drawn { label, unit, ..self }
    }

    /// Each of the measure's units is so many of the axis.
    #[must_use]
    pub const fn times(self, factor: f64) -> Drawn<'a> {
        Drawn { factor, ..self }
    }

    /// The lines over a swept number, each with the points of its name in the order of the sweep. A line
    /// without a name has that of the measure.
    pub fn lines<'p>(
        &self,
        over: &SweptNumber,
        values: impl IntoIterator<Item = SweptValue<'p>>,
    ) -> Vec<LineSeries> {
        let mut series: Vec<LineSeries> = Vec::new();
        for SweptValue { at, name, mean, range } in values {
            let Some((x, _)) = setting(at, &over.key).and_then(number) else { continue };
            let end = |pick: fn((f64, f64)) -> f64| Num::from(range.map(|range| pick(range) * self.factor));
            let (low, high) = (end(|range| range.0), end(|range| range.1));
            let point = CurvePoint { low, high, ..CurvePoint::new(x, mean * self.factor) };
            let name = if name.is_empty() { self.measure.replace('_', " ") } else { name.join(", ") };
            match series.iter_mut().find(|line| line.name == name) {
                Some(line) => line.points.push(point),
                None => series.push(LineSeries { name, points: vec![point], draw: Draw::Line }),
            }
        }
        series
    }

    /// The figure of lines, with its vertical axis linear.
    #[must_use]
    pub fn figure(&self, x: Axis, series: Vec<LineSeries>) -> Figure {
        let y = Axis::linear(self.label, self.unit);
        let kind = Kind::Line { x, y, series, references: Vec::new() };
        Figure::new(self.id.to_owned(), self.title.to_owned(), "", kind)
    }
}

/// The value of a swept key at a point, if the key is swept.
fn setting<'a>(result: &'a PointResult<'_>, key: &str) -> Option<&'a Json> {
    result.settings.iter().find(|(other, _)| other == key).map(|(_, value)| value)
}

/// A setting as a number with its unit.
fn number(value: &Json) -> Option<(f64, &'static str)> {
    let Json::String(text) = value else { return value.as_f64().map(|number| (number, "")) };
    let percent = || text.parse::<Percent>().ok().map(|share| (share.fraction_f64() * 100.0, "%"));
    let frequency = || text.parse::<Frequency>().ok().map(|rate| (rate.per_second_f64(), "1/s"));
    let rate = || {
        let mib = |rate: Rate| rate.bytes_per_second() as f64 / f64::from(1 << 20);
        text.parse::<Rate>().ok().map(|rate| (mib(rate), "MiB/s"))
    };
    let bytes = || text.parse::<Bytes>().ok().map(|bytes| (bytes.get() as f64 / 1024.0, "KiB"));
    let span = || text.parse::<SimSpan>().ok().map(|span| (span.as_ns() as f64 / 1e3, "us"));
    percent().or_else(frequency).or_else(rate).or_else(bytes).or_else(span)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_numbers_with_units() {
        let of = |text: &str| number(&Json::from(text));
        assert_eq!(of("128KiB"), Some((128.0, "KiB")));
        assert_eq!(of("400MiB/s"), Some((400.0, "MiB/s")));
        assert_eq!(of("50000/s"), Some((50_000.0, "1/s")));
        assert_eq!(of("30%"), Some((30.0, "%")));
        assert_eq!(of("5us"), Some((5.0, "us")));
        assert_eq!(of("replicast-m"), None);
        assert_eq!(number(&Json::from(9)), Some((9.0, "")));
    }
}
