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
    /// Stable name, also of the downloaded SVG.
    pub id: String,
    /// Heading.
    pub title: String,
    /// One or two sentences below the figure: what to see in it. May be empty.
    pub caption: String,
    /// What is drawn.
    pub kind: Kind,
}

/// What is drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Kind {
    /// Lines or points over a numeric axis; log-log when both axes say so.
    Line {
        /// Horizontal axis.
        x: Axis,
        /// Vertical axis.
        y: Axis,
        /// The lines.
        series: Vec<LineSeries>,
        /// What they are held against: an ideal line, a limit.
        #[serde(default)]
        references: Vec<Reference>,
    },
    /// Box and whiskers, one a category.
    Box {
        /// What the categories are: `servers`.
        x: String,
        /// Vertical axis.
        y: Axis,
        /// The boxes, left to right.
        boxes: Vec<BoxStats>,
        /// Limits to hold them against.
        #[serde(default)]
        references: Vec<Reference>,
    },
    /// Histograms over common or own bins.
    Histogram {
        /// Horizontal axis: the value.
        x: Axis,
        /// Vertical axis: count, share or density.
        y: Axis,
        /// One histogram a series.
        series: Vec<HistogramSeries>,
        /// Marks to hold them against: a mean, a limit.
        #[serde(default)]
        references: Vec<Reference>,
    },
    /// Empirical distribution functions.
    Ecdf {
        /// Horizontal axis: the value.
        x: Axis,
        /// One step line a series.
        series: Vec<EcdfSeries>,
        /// Marks to hold them against.
        #[serde(default)]
        references: Vec<Reference>,
        /// Draw the share above the value on a logarithmic axis instead: shows the tail.
        #[serde(default)]
        tail: bool,
    },
    /// Coloured squares.
    Heatmap {
        /// What the columns are.
        x: String,
        /// What the rows are.
        y: String,
        /// Names of the columns, left to right.
        columns: Vec<String>,
        /// Names of the rows, top to bottom.
        rows: Vec<String>,
        /// What the colour shows.
        value: Axis,
        /// One list a row.
        values: Vec<Vec<Num>>,
    },
    /// Spans and marks on lanes over time.
    Timeline {
        /// Horizontal axis: time.
        x: Axis,
        /// The lanes, top to bottom.
        lanes: Vec<Lane>,
    },
    /// Flows between members of one set, drawn as ribbons inside a circle.
    Chord {
        /// What the numbers are.
        value: Axis,
        /// Names round the circle.
        labels: Vec<String>,
        /// Groups that share a colour (racks), one a label; empty when each label has its own.
        #[serde(default)]
        groups: Vec<String>,
        /// `matrix[from][to]`: what flows between the two.
        matrix: Vec<Vec<Num>>,
    },
    /// Bars, side by side or stacked.
    Bar {
        /// What the categories are.
        x: String,
        /// Vertical axis.
        y: Axis,
        /// Names of the categories, left to right.
        categories: Vec<String>,
        /// One bar a category each.
        series: Vec<BarSeries>,
        /// Stacked instead of side by side.
        #[serde(default)]
        stacked: bool,
        /// Limits to hold them against.
        #[serde(default)]
        references: Vec<Reference>,
    },
}

/// An axis or a colour scale.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Axis {
    /// What it shows, without the unit.
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

/// How an axis is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Equal steps.
    Linear,
    /// Equal factors.
    Log,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LineSeries {
    /// Name in the legend.
    pub name: String,
    /// Its points, in order of x.
    pub points: Vec<CurvePoint>,
    /// How the points are joined.
    pub draw: Draw,
}

/// A point of a line, with its interval where there is one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurvePoint {
    /// Across.
    pub x: Num,
    /// Up; missing makes a gap.
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
    /// Straight lines, and dots where the points are few.
    Line,
    /// Steps: each value holds until the next point.
    Step,
    /// Dots alone.
    Points,
}

/// What results are held against.
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
        /// Where.
        at: Num,
    },
    /// A value of the horizontal axis: a deadline.
    Vertical {
        /// Name beside the line.
        name: String,
        /// Where.
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

/// One histogram.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistogramSeries {
    /// Name in the legend.
    pub name: String,
    /// Its bins, in order.
    pub bins: Vec<Bin>,
}

/// A bin: values from `from` up to, not with, `to`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bin {
    /// Lower end.
    pub from: Num,
    /// Upper end.
    pub to: Num,
    /// Height, in the vertical axis' unit.
    pub height: Num,
}

/// One empirical distribution.
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
    /// What went on, from when to when.
    #[serde(default)]
    pub spans: Vec<Span>,
    /// Moments.
    #[serde(default)]
    pub marks: Vec<Mark>,
}

/// Something that lasted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// Start.
    pub from: Num,
    /// End.
    pub to: Num,
    /// What it was; spans of one name share a colour and a legend entry.
    pub what: String,
    /// More about it, shown on hover; may be empty.
    #[serde(default)]
    pub note: String,
}

/// A moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mark {
    /// When.
    pub at: Num,
    /// What happened.
    pub what: String,
}

/// The bars of one series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BarSeries {
    /// Name in the legend.
    pub name: String,
    /// One value a category.
    pub values: Vec<Num>,
    /// Lower ends of the intervals, one a category; empty for none.
    #[serde(default)]
    pub low: Vec<Num>,
    /// Upper ends of the intervals, one a category; empty for none.
    #[serde(default)]
    pub high: Vec<Num>,
}
