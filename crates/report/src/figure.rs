//! Figures as data: what is drawn, without pixel sizes. The page draws them; the data stays inside the
//! report.
//!
//! A missing number is a gap. Lines on logarithmic axes leave out values that are not positive.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::number::Num;

/// A figure with its data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// Stable name; also the name of the downloaded SVG.
    pub id: String,
    /// Heading.
    pub title: String,
    /// One or two sentences below the figure: what to see in it. May be empty.
    pub caption: String,
    /// The type of the figure, with its data.
    pub kind: Kind,
    /// Stretches of a numeric horizontal axis that have a name, such as the phases of a recovery; absent if
    /// there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bands: Vec<Band>,
}

impl Figure {
    /// A figure without bands.
    #[must_use]
    pub fn new(
        id: impl Into<String>,
        title: impl Into<String>,
        caption: impl Into<String>,
        kind: Kind,
    ) -> Self {
        Self { id: id.into(), title: title.into(), caption: caption.into(), kind, bands: Vec::new() }
    }

    /// With bands.
    #[must_use]
    pub fn with_bands(self, bands: Vec<Band>) -> Self {
        Self { bands, ..self }
    }
}

/// A stretch of the horizontal axis with a name: a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Band {
    /// Its name.
    pub name: String,
    /// Where it starts on the horizontal axis.
    pub from: Num,
    /// Where it ends.
    pub to: Num,
}

impl Band {
    /// Bands that follow each other from zero on, each with its length; those of no length are left out.
    #[must_use]
    pub fn one_after_the_other<'n>(parts: impl IntoIterator<Item = (&'n str, f64)>) -> Vec<Self> {
        let mut at = 0.0;
        let mut band = |(name, length): (&str, f64)| {
            let from = at;
            at += length;
            (length > 0.0).then(|| Self { name: name.to_owned(), from: from.into(), to: at.into() })
        };
        parts.into_iter().filter_map(&mut band).collect()
    }
}

/// A type of figure, with its data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Kind {
    /// Lines or points over a numeric axis; log-log if both axes are logarithmic.
    Line {
        /// Horizontal axis.
        x: Axis,
        /// Vertical axis.
        y: Axis,
        /// The lines.
        series: Vec<LineSeries>,
        /// References: an ideal line, a limit.
        #[serde(default)]
        references: Vec<Reference>,
    },
    /// Box plots, one per category.
    Box {
        /// Name of the category axis: `servers`.
        x: String,
        /// Vertical axis.
        y: Axis,
        /// The boxes, left to right.
        boxes: Vec<BoxStats>,
        /// References, such as limits.
        #[serde(default)]
        references: Vec<Reference>,
    },
    /// Box plots at places of a numeric axis, a series of them for each variant; log-log if both axes are
    /// logarithmic.
    Boxes {
        /// Horizontal axis.
        x: Axis,
        /// Vertical axis.
        y: Axis,
        /// The series.
        series: Vec<BoxSeries>,
        /// References: an ideal line, a limit.
        #[serde(default)]
        references: Vec<Reference>,
    },
    /// Histograms with common or separate bins.
    Histogram {
        /// Horizontal axis: the value.
        x: Axis,
        /// Vertical axis: count, share or density.
        y: Axis,
        /// One histogram per series.
        series: Vec<HistogramSeries>,
        /// References: a mean, a limit.
        #[serde(default)]
        references: Vec<Reference>,
    },
    /// Empirical distribution functions.
    Ecdf {
        /// Horizontal axis: the value.
        x: Axis,
        /// One step line per series.
        series: Vec<EcdfSeries>,
        /// References, such as limits.
        #[serde(default)]
        references: Vec<Reference>,
        /// Whether to draw the share above the value on a logarithmic axis, which shows the tail.
        #[serde(default)]
        tail: bool,
    },
    /// A heat map: coloured squares.
    Heatmap {
        /// Name of the column axis.
        x: String,
        /// Name of the row axis.
        y: String,
        /// Names of the columns, left to right.
        columns: Vec<String>,
        /// Names of the rows, top to bottom.
        rows: Vec<String>,
        /// The quantity that the colour shows.
        value: Axis,
        /// The values, one list per row.
        values: Vec<Vec<Num>>,
    },
    /// A timeline: spans and marks on lanes.
    Timeline {
        /// Horizontal axis: time.
        x: Axis,
        /// The lanes, top to bottom.
        lanes: Vec<Lane>,
    },
    /// A chord diagram: flows between members of one set, drawn as ribbons inside a circle.
    Chord {
        /// The quantity that flows.
        value: Axis,
        /// Names of the members, around the circle.
        labels: Vec<String>,
        /// The group (rack) of each label; members of a group share a colour. Empty if each label has its
        /// own.
        #[serde(default)]
        groups: Vec<String>,
        /// `matrix[from][to]`: the flow from one member to another.
        matrix: Vec<Vec<Num>>,
        /// What these flows are of, where the reader can choose others: `replicate 3`. Else empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        name: String,
        /// Flows that the reader can choose instead.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        others: Vec<ChordFlows>,
    },
    /// Bars, side by side or stacked.
    Bar {
        /// Name of the category axis.
        x: String,
        /// Vertical axis.
        y: Axis,
        /// Names of the categories, left to right.
        categories: Vec<String>,
        /// The series, each with one bar per category.
        series: Vec<BarSeries>,
        /// Whether bars are stacked instead of side by side.
        #[serde(default)]
        stacked: bool,
        /// References, such as limits.
        #[serde(default)]
        references: Vec<Reference>,
    },
}

/// An axis or a colour scale.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Axis {
    /// The quantity, without the unit.
    pub label: String,
    /// The unit of its numbers; empty for none.
    pub unit: String,
    /// Linear or logarithmic.
    pub scale: Scale,
}

impl Axis {
    /// A linear axis.
    #[must_use]
    pub fn linear(label: impl Into<String>, unit: impl Into<String>) -> Self {
        Self { label: label.into(), unit: unit.into(), scale: Scale::Linear }
    }

    /// A logarithmic axis.
    #[must_use]
    pub fn log(label: impl Into<String>, unit: impl Into<String>) -> Self {
        Self { label: label.into(), unit: unit.into(), scale: Scale::Log }
    }
}

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Equal distances are equal differences.
    Linear,
    /// Equal distances are equal factors.
    Log,
}

/// A line of a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LineSeries {
    /// Name in the legend.
    pub name: String,
    /// Its points, in order of x.
    pub points: Vec<CurvePoint>,
    /// How the points are joined.
    pub draw: Draw,
}

/// A point of a line, with its interval if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurvePoint {
    /// Position on the horizontal axis.
    pub x: Num,
    /// Position on the vertical axis; a missing value leaves a gap.
    pub y: Num,
    /// Lower end of the interval.
    #[serde(default)]
    pub low: Num,
    /// Upper end of the interval.
    #[serde(default)]
    pub high: Num,
}

impl CurvePoint {
    /// A point without an interval.
    #[must_use]
    pub fn new(x: impl Into<Num>, y: impl Into<Num>) -> Self {
        Self { x: x.into(), y: y.into(), low: Num::MISSING, high: Num::MISSING }
    }

    /// A mean over replicates with its interval, at `x`.
    #[must_use]
    pub fn of_measure(x: impl Into<Num>, measure: &crate::Measure) -> Self {
        let (low, high) = (measure.low().into(), measure.high().into());
        Self { x: x.into(), y: measure.value().into(), low, high }
    }
}

/// How points are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Draw {
    /// Straight lines, with dots if there are few points.
    Line,
    /// Steps: each value holds until the next point.
    Step,
    /// Dots without lines.
    Points,
}

/// A reference that results are compared with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Reference {
    /// A curve: the ideal, the closed form.
    Curve {
        /// Name in the legend.
        name: String,
        /// Its points.
        points: Vec<CurvePoint>,
    },
    /// A value of the vertical axis: a limit.
    Horizontal {
        /// Name beside the line.
        name: String,
        /// The value on the vertical axis.
        at: Num,
    },
    /// A value of the horizontal axis: a deadline.
    Vertical {
        /// Name beside the line.
        name: String,
        /// The value on the horizontal axis.
        at: Num,
    },
}

/// A box with its whiskers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BoxStats {
    /// Its category.
    pub label: String,
    /// Lower whisker.
    pub low: Num,
    /// First quartile.
    pub q1: Num,
    /// Median.
    pub median: Num,
    /// Third quartile.
    pub q3: Num,
    /// Upper whisker.
    pub high: Num,
    /// Mean, drawn as a dot.
    #[serde(default)]
    pub mean: Num,
    /// Values beyond the whiskers.
    #[serde(default)]
    pub outliers: Vec<Num>,
    /// Number of values.
    pub n: u64,
}

/// Boxes of one series along a numeric axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BoxSeries {
    /// Name in the legend.
    pub name: String,
    /// Its boxes, in order of x; the medians are joined by a line.
    pub boxes: Vec<PlacedBox>,
}

/// A box at a place of a numeric axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlacedBox {
    /// Position on the horizontal axis.
    pub x: Num,
    /// The box; its label is not drawn.
    pub stats: BoxStats,
}

/// The histogram of one series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistogramSeries {
    /// Name in the legend.
    pub name: String,
    /// Its bins, in order.
    pub bins: Vec<Bin>,
}

/// A bin: values from `from` up to, but not including, `to`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bin {
    /// Lower end.
    pub from: Num,
    /// Upper end.
    pub to: Num,
    /// Height, in the vertical axis' unit.
    pub height: Num,
}

/// The empirical distribution of one series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EcdfSeries {
    /// Name in the legend.
    pub name: String,
    /// `(value, share of values at or below it)`, rising in both.
    pub points: Vec<(Num, Num)>,
}

/// A lane of a timeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lane {
    /// Name at its left.
    pub name: String,
    /// Activities with their start and end.
    #[serde(default)]
    pub spans: Vec<Span>,
    /// Events without a duration.
    #[serde(default)]
    pub marks: Vec<Mark>,
}

/// An activity with a start and an end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// Start, in the unit of the time axis.
    pub from: Num,
    /// End, in the unit of the time axis.
    pub to: Num,
    /// Name of the activity; spans of one name share a colour and a legend entry.
    pub what: String,
    /// Details, shown on hover; may be empty.
    #[serde(default)]
    pub note: String,
}

/// An event without a duration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mark {
    /// Time of the event.
    pub at: Num,
    /// Name of the event.
    pub what: String,
}

/// Flows of a chord diagram that can be drawn instead of its first ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChordFlows {
    /// What they are of: `replicate 3`.
    pub name: String,
    /// Names of the members, around the circle.
    pub labels: Vec<String>,
    /// The group (rack) of each label; members of a group share a colour. Empty if each label has its own.
    #[serde(default)]
    pub groups: Vec<String>,
    /// `matrix[from][to]`: the flow from one member to another.
    pub matrix: Vec<Vec<Num>>,
}

/// The bars of one series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BarSeries {
    /// Name in the legend.
    pub name: String,
    /// One value per category.
    pub values: Vec<Num>,
    /// Lower ends of the intervals, one per category; empty if there are none.
    #[serde(default)]
    pub low: Vec<Num>,
    /// Upper ends of the intervals, one per category; empty if there are none.
    #[serde(default)]
    pub high: Vec<Num>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_follow_each_other_and_those_of_no_length_are_left_out() {
        let bands = Band::one_after_the_other([("detection", 20.0), ("wait", 0.0), ("transfers", 5.0)]);
        let found: Vec<_> = bands.iter().map(|band| (band.name.as_str(), band.from, band.to)).collect();
        assert_eq!(
            found,
            [("detection", Num::from(0.0), Num::from(20.0)), ("transfers", Num::from(20.0), Num::from(25.0))]
        );
    }

    #[test]
    fn a_figure_without_bands_is_written_as_before() {
        let kind = Kind::Timeline { x: Axis::linear("time", "s"), lanes: Vec::new() };
        let figure = Figure::new("lanes", "Lanes", "", kind);
        let text = serde_json::to_string(&figure).unwrap();
        assert!(!text.contains("bands"), "{text}");
        assert_eq!(serde_json::from_str::<Figure>(&text).unwrap(), figure);
        let banded = figure.with_bands(Band::one_after_the_other([("wait", 1.0)]));
        assert!(serde_json::to_string(&banded).unwrap().contains("\"bands\""));
    }
}
