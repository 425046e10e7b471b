//! The one result type of Towtank and its files: JSON, CSV, terminal text and one self-contained HTML page.
//!
//! - [`Outcome`] is the result of one replicate of one point; campaigns store it as a point file.
//! - [`Report`] is the result of a run, a sweep or a reproduction. [`Report::to_json`] is `report.json`,
//!   [`csv::files`] the tables, [`html::render`] the page, [`text::render`] the terminal's view.
//!
//! **Invariant:** a report holds no wall-clock time, no path and no thread count. The same scenario and seed
//! give the same bytes, whatever the machine; only the `executor` field says how the run was made.
//!
//! **Invariant:** a report that leaves the program keeps all [`laws`]: shares lie between 0 and 1, values in
//! their intervals, verdicts follow from their numbers.
//!
//! **Invariant:** no number in a report is NaN or infinite. A missing value is `null`, with its reason.

mod answer;
mod chapter;
mod claim;
pub mod csv;
mod figure;
#[cfg(test)]
mod golden;
pub mod html;
pub mod human;
mod interval;
mod laws;
mod measure;
mod number;
mod outcome;
mod report;
pub mod runs;
#[cfg(any(test, feature = "sample"))]
pub mod sample;
mod samples;
mod settings;
mod table;
#[cfg(test)]
mod tests;
pub mod text;
pub mod title;
#[cfg(test)]
mod typescript;
mod warning;

pub use answer::{Answer, Label, Line, Step};
pub use chapter::{Chapter, Part};
pub use claim::{Claim, ClaimDraft, Reading, Tolerance, Verdict};
pub use figure::{
    Axis, Band, BarSeries, Bin, BoxSeries, BoxStats, ChordFlows, CurvePoint, Draw, EcdfSeries, Figure,
    HistogramSeries, Kind, Lane, LineSeries, Mark, PlacedBox, Reference, Scale, Span,
};
pub use interval::Interval;
pub use laws::{Broken, laws};
pub use measure::{Measure, Measurement, Spread};
pub use number::Num;
pub(crate) use number::number_text;
pub use outcome::Outcome;
pub use report::{PointSummary, ReadError, Report, SCHEMA, Standing, Status, SweepAxis};
pub use table::{Cell, Column, ColumnKind, Table, TableError};
pub use warning::{Severity, Warning};

/// A map that keeps insertion order, which is the order that readers see.
pub type Ordered<T> = indexmap::IndexMap<String, T>;
