//! What the report shows of the population: files and objects by size, by number and by volume.

use serde::{Deserialize, Serialize};
use towtank_population::{Population, SizeTally, TallyBin};
use towtank_report::{Axis, Bin, Cell, Column, Figure, HistogramSeries, Kind, Num, Table};

use super::DataSet;

/// What the report shows of the data, kept from a run for the presentation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shown {
    /// Histograms of files and of objects.
    pub figures: Vec<Figure>,
    /// The numbers of the figures.
    pub tables: Vec<Table>,
}

impl Shown {
    /// What the report shows of a data set.
    #[must_use]
    pub fn of(set: &DataSet, population: &Population) -> Shown {
        Shown { figures: figures(set, population), tables: tables(set, population) }
    }

    /// The lower end of the bin that holds the most bytes in one of the histograms, and its share of all
    /// bytes.
    #[must_use]
    pub(crate) fn fullest_bin(&self, histogram: &str) -> Option<(f64, f64)> {
        let figure = self.figures.iter().find(|figure| figure.id == histogram)?;
        let Kind::Histogram { series, .. } = &figure.kind else { return None };
        // The second of the two has the bytes.
        let known = |bin: &Bin| Some((bin.from.get()?, bin.height.get()?));
        let bins = series.get(1)?.bins.iter().filter_map(known);
        bins.max_by(|one, other| one.1.total_cmp(&other.1))
    }
}

/// Two histograms by powers of two: of files, and of objects.
fn figures(set: &DataSet, population: &Population) -> Vec<Figure> {
    vec![
        figure("file_sizes", "File sizes", "files", &set.origin(), &population.file_tally()),
        figure(
            "object_sizes",
            "Object sizes",
            "objects",
            "What is stored, lost and rebuilt, each copy counted once. Expected values, not those of one seed.",
            &population.object_tally(),
        ),
    ]
}

fn figure(id: &str, title: &str, things: &str, caption: &str, tally: &SizeTally) -> Figure {
    let (count, bytes) = (tally.count(), tally.bytes());
    let bins = tally.bins();
    let series = |name: String, share: &dyn Fn(&TallyBin) -> f64| HistogramSeries {
        name,
        bins: bins.iter().map(|bin| bar(bin, share(bin))).collect(),
    };
    Figure::new(
        id,
        title,
        caption,
        Kind::Histogram {
            x: Axis::log("size", "bytes"),
            y: Axis::linear("share", "fraction"),
            series: vec![
                series(format!("of {things}"), &|bin| bin.count / count),
                series(format!("of bytes in {things}"), &|bin| bin.bytes / bytes),
            ],
            references: Vec::new(),
        },
    )
}

fn bar(bin: &TallyBin, height: f64) -> Bin {
    Bin { from: Num::from(bin.low.get()), to: Num::from(bin.high.get()), height: Num::from(height) }
}

/// The numbers of the figures.
fn tables(set: &DataSet, population: &Population) -> Vec<Table> {
    let about = |things: &str| {
        format!("Each row is a power of two; numbers of {things} are expected values. {}", set.origin())
    };
    vec![
        table("file_sizes", "File sizes", &about("files"), &population.file_tally()),
        table("object_sizes", "Object sizes", &about("objects"), &population.object_tally()),
    ]
}

fn table(id: &str, title: &str, about: &str, tally: &SizeTally) -> Table {
    let columns = vec![
        Column::number("size_from", "bytes"),
        Column::number("size_to", "bytes"),
        Column::number("count", ""),
        Column::number("volume", "bytes"),
        Column::number("count_share", "fraction"),
        Column::number("volume_share", "fraction"),
    ];
    let (count, bytes) = (tally.count(), tally.bytes());
    let mut table = Table::new(id, title, columns).about(about);
    for bin in tally.bins() {
        let shares = [bin.count / count, bin.bytes / bytes];
        let mut row: Vec<Cell> = vec![bin.low.get().into(), bin.high.get().into()];
        row.extend([bin.count, bin.bytes, shares[0], shares[1]].map(Cell::from));
        table.push(row);
    }
    table
}
