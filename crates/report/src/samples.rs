//! Figures from raw samples: boxes, distributions and histograms, so that every study draws them by the same
//! rule.
//!
//! Samples that are not finite are left out. Quartiles are interpolated linearly between order statistics
//! (type 7 of Hyndman and Fan, 1996, the default of R and NumPy).

use towtank_metrics::quantile::interpolated;

use crate::figure::{Bin, BoxStats, EcdfSeries, HistogramSeries};
use crate::number::Num;

/// Points kept of a distribution: more than the pixels of any drawing.
const ECDF_POINTS: usize = 512;

/// The number of largest samples that are all kept, because the tail matters most in such a figure.
const ECDF_TAIL: usize = 64;

impl BoxStats {
    /// Quartiles, whiskers to the outermost samples within 1.5 times the box (Tukey, 1977), and the samples
    /// beyond.
    #[must_use]
    pub fn of(label: impl Into<String>, samples: &[f64]) -> Self {
        let sorted = finite_sorted(samples);
        let quartile = |share| interpolated(&sorted, share);
        let (q1, q3) = (quartile(0.25), quartile(0.75));
        let reach = q1.zip(q3).map(|(q1, q3)| (q1 - 1.5 * (q3 - q1), q3 + 1.5 * (q3 - q1)));
        let within = |value: f64| reach.is_some_and(|(low, high)| (low..=high).contains(&value));
        let inner = || sorted.iter().copied().filter(|&value| within(value));
        let outliers = sorted.iter().copied().filter(|&value| !within(value)).map(Num::from).collect();
        Self {
            label: label.into(),
            low: inner().next().into(),
            q1: q1.into(),
            median: quartile(0.5).into(),
            q3: q3.into(),
            high: inner().next_back().into(),
            mean: mean(&sorted).into(),
            outliers,
            n: sorted.len() as u64,
        }
    }
}

impl EcdfSeries {
    /// The distribution of the samples; of many samples, evenly chosen ones and all of the largest.
    #[must_use]
    pub fn of(name: impl Into<String>, samples: &[f64]) -> Self {
        let sorted = finite_sorted(samples);
        let count = sorted.len();
        let stride = count.div_ceil(ECDF_POINTS - ECDF_TAIL).max(1);
        let kept = |at: usize| at.is_multiple_of(stride) || at + ECDF_TAIL >= count;
        // Of equal samples, the last one has the correct share.
        let last = |at: usize| sorted.get(at + 1) != Some(&sorted[at]);
        let share = |at: usize| Num::from(ratio(at + 1, count));
        let points = (0..count)
            .filter(|&at| last(at) && (kept(at) || at == 0))
            .map(|at| (Num::from(sorted[at]), share(at)))
            .collect();
        Self { name: name.into(), points }
    }
}

impl HistogramSeries {
    /// The number of samples in each bin between neighbouring `edges` (rising); a bin includes its lower
    /// edge, the last one both. Samples outside all bins are not counted.
    #[must_use]
    pub fn of(name: impl Into<String>, samples: &[f64], edges: &[f64]) -> Self {
        let sorted = finite_sorted(samples);
        let below = |edge: f64| sorted.partition_point(|&value| value < edge);
        let bins = edges.windows(2).enumerate().map(|(at, ends)| {
            let last = at + 2 == edges.len();
            let to = if last { sorted.partition_point(|&value| value <= ends[1]) } else { below(ends[1]) };
            Bin { from: ends[0].into(), to: ends[1].into(), height: to.saturating_sub(below(ends[0])).into() }
        });
        Self { name: name.into(), bins: bins.collect() }
    }
}

fn finite_sorted(samples: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = samples.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^53 samples")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

#[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^53 samples")]
fn mean(sorted: &[f64]) -> Option<f64> {
    (!sorted.is_empty()).then(|| sorted.iter().sum::<f64>() / sorted.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_has_the_quartiles_that_numpy_gives() {
        // numpy.percentile([1, 2, 3, 4, 5, 6, 7, 30], [25, 50, 75]) is [2.75, 4.5, 6.25].
        let stats = BoxStats::of("eight", &[7.0, 30.0, 1.0, f64::NAN, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let num = Num::from;
        assert_eq!((stats.q1, stats.median, stats.q3), (num(2.75), num(4.5), num(6.25)));
        assert_eq!((stats.low, stats.high, stats.outliers), (num(1.0), num(7.0), vec![num(30.0)]));
        assert_eq!((stats.mean, stats.n), (num(7.25), 8));
        let empty = BoxStats::of("none", &[]);
        assert_eq!((empty.median, empty.low, empty.n), (Num::MISSING, Num::MISSING, 0));
        assert_eq!(BoxStats::of("one", &[5.0]).high, num(5.0));
    }

    #[test]
    fn a_distribution_ends_at_one_and_keeps_its_tail() {
        let small = EcdfSeries::of("small", &[2.0, 1.0, 2.0, 4.0]);
        let want = [(1.0, 0.25), (2.0, 0.75), (4.0, 1.0)].map(|(v, s)| (Num::from(v), Num::from(s)));
        assert_eq!(small.points, want);
        let samples: Vec<f64> = (0..100_000).map(f64::from).collect();
        let large = EcdfSeries::of("large", &samples);
        assert!(large.points.len() <= ECDF_POINTS, "{}", large.points.len());
        assert_eq!(large.points.last(), Some(&(99_999.0.into(), 1.0.into())));
        assert_eq!(large.points[0], (0.0.into(), 0.000_01.into()));
    }

    #[test]
    fn a_histogram_counts_lower_edges_and_the_last_upper_one() {
        let edges = [0.0, 1.0, 2.0, 3.0];
        let series = HistogramSeries::of("h", &[-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 3.5], &edges);
        let heights: Vec<Num> = series.bins.iter().map(|bin| bin.height).collect();
        assert_eq!(heights, [2.0, 1.0, 2.0].map(Num::from));
    }
}
