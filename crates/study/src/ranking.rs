//! Which of the points, protocols or methods of a study is best, in words: one rule for every sentence that
//! compares.
//!
//! A name stands alone only where the paired intervals of the replicates tell it from all others
//! ([`towtank_metrics::rank()`]); else all that are tied are named. Exact results, which no seed changes, are
//! compared as they are.

use towtank_metrics::{Better, Chance, Ranking, rank};

use towtank_report::human;

use crate::PointResult;

/// Names of tied candidates that are listed; of more, the number is given.
const NAMED_MAX: usize = 3;

/// Candidates with the values of one measure, and their ranking.
pub struct Ranked {
    labels: Vec<String>,
    ranking: Ranking,
    means: Vec<f64>,
    replicates: usize,
    chance: Chance,
}

impl Ranked {
    /// Ranks candidates: each has a label, and one value a replicate, `None` where that replicate has none.
    #[must_use]
    pub fn of(candidates: Vec<(String, Vec<Option<f64>>)>, better: Better, chance: Chance) -> Ranked {
        let (labels, samples): (Vec<String>, Vec<Vec<Option<f64>>>) = candidates.into_iter().unzip();
        let mean = |sample: &Vec<Option<f64>>| {
            let known: Vec<f64> = sample.iter().copied().flatten().collect();
            towtank_metrics::mean_interval_95(&known).map_or(f64::NAN, |mean| mean.mean)
        };
        Ranked {
            ranking: rank(&samples, better, chance),
            means: samples.iter().map(mean).collect(),
            replicates: samples.iter().map(Vec::len).max().unwrap_or(0),
            labels,
            chance,
        }
    }

    /// Whether the best and the worst cannot be distinguished.
    #[must_use]
    pub fn is_tied(&self) -> bool {
        self.ranking.is_tied()
    }

    /// The ranking by index, in the order of the candidates.
    #[must_use]
    pub fn ranking(&self) -> &Ranking {
        &self.ranking
    }

    /// The best mean and the worst, if any candidate has one.
    #[must_use]
    pub fn ends(&self) -> Option<[f64; 2]> {
        let (best, worst) = (self.ranking.order.first()?, self.ranking.order.last()?);
        Some([self.means[*best], self.means[*worst]])
    }

    /// The only best candidate by its index, if it can be distinguished from all others.
    #[must_use]
    pub fn winner(&self) -> Option<usize> {
        self.ranking.winner()
    }

    /// Both ends of all means, the smaller first: `1.25 to 3.4 ms`; empty where no candidate has a value.
    #[must_use]
    pub fn range(&self, unit: &str) -> String {
        self.range_of(&self.ranking.order, unit)
    }

    /// Both ends of the means of the best.
    #[must_use]
    pub fn range_of_best(&self, unit: &str) -> String {
        self.range_of(&self.ranking.best, unit)
    }

    /// Both ends of the means of the worst.
    #[must_use]
    pub fn range_of_worst(&self, unit: &str) -> String {
        self.range_of(&self.ranking.worst, unit)
    }

    fn range_of(&self, indices: &[usize], unit: &str) -> String {
        let means = || indices.iter().map(|index| self.means[*index]);
        let (low, high) = (means().fold(f64::INFINITY, f64::min), means().fold(f64::NEG_INFINITY, f64::max));
        if low <= high { human::range(low, high, unit) } else { String::new() }
    }

    /// The names of all candidates that have a value, in their own order.
    #[must_use]
    pub fn all(&self) -> String {
        let mut all = self.ranking.order.clone();
        all.sort_unstable();
        self.listed(&all)
    }

    /// The names of all that are tied with the best, without a word about that.
    #[must_use]
    pub fn best_alike(&self) -> String {
        self.listed(&self.ranking.best)
    }

    /// The names of the best: one name, or all that are tied, such as `a and b (tied)`.
    #[must_use]
    pub fn best(&self) -> String {
        self.names(&self.ranking.best)
    }

    /// The names of the worst, likewise.
    #[must_use]
    pub fn worst(&self) -> String {
        self.names(&self.ranking.worst)
    }

    /// Why nothing is distinguished, for the end of a sentence. Only what was run several times is tied.
    #[must_use]
    pub fn why_tied(&self) -> &'static str {
        match (self.chance, self.replicates) {
            (Chance::None, _) => "they are equal",
            (Chance::OneRun, _) => "they differ by less than 1 %",
            (Chance::Seeds, 0 | 1) => "one run of each cannot tell them apart, `--replicates 5` may",
            (Chance::Seeds, _) => "tied, since their differences are within chance",
        }
    }

    fn names(&self, indices: &[usize]) -> String {
        let of_one_run = self.chance == Chance::Seeds && self.replicates < 2;
        let tied = match indices.len() {
            0 | 1 => "",
            _ if of_one_run => " (one run of each cannot tell them apart, `--replicates 5` may)",
            _ => " (tied)",
        };
        self.listed(indices) + tied
    }

    fn listed(&self, indices: &[usize]) -> String {
        let shown = if indices.len() > NAMED_MAX { NAMED_MAX - 1 } else { indices.len() };
        let mut names: Vec<String> =
            indices[..shown].iter().map(|index| self.labels[*index].clone()).collect();
        if shown < indices.len() {
            names.push(format!("{} more", indices.len() - shown));
        }
        match names.split_last() {
            Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
            Some((last, _)) => last.clone(),
            None => String::new(),
        }
    }
}

/// The values of a measure by replicate, `None` where a replicate has none.
#[must_use]
pub fn by_replicate(result: &PointResult<'_>, measure: &str) -> Vec<Option<f64>> {
    result.outcomes.iter().map(|outcome| outcome.measures.get(measure)?.value()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked(samples: &[&[f64]], chance: Chance) -> Ranked {
        let candidates = samples
            .iter()
            .enumerate()
            .map(|(index, sample)| (format!("x = {index}"), sample.iter().copied().map(Some).collect()));
        Ranked::of(candidates.collect(), Better::Lower, chance)
    }

    #[test]
    fn one_name_stands_alone_only_where_it_differs_from_all_others() {
        let clear = ranked(&[&[1.0, 1.1, 1.2], &[2.0, 2.1, 2.3]], Chance::Seeds);
        assert_eq!((clear.best(), clear.worst(), clear.is_tied()), ("x = 0".into(), "x = 1".into(), false));
        let near = ranked(&[&[1.0, 2.0, 3.0], &[1.5, 1.4, 3.1], &[8.0, 8.1, 8.2]], Chance::Seeds);
        assert_eq!((near.best(), near.worst()), ("x = 0 and x = 1 (tied)".into(), "x = 2".into()));
    }

    #[test]
    fn many_that_are_tied_are_counted() {
        let five = ranked(&[[1.0].as_slice(); 5], Chance::Seeds);
        let why = "one run of each cannot tell them apart";
        assert_eq!(five.best(), format!("x = 0, x = 1 and 3 more ({why}, `--replicates 5` may)"));
        assert_eq!(five.why_tied(), format!("{why}, `--replicates 5` may"));
        // Planted: two runs of each are tied, and one run of exact values is.
        assert_eq!(ranked(&[[1.0, 2.0].as_slice(); 2], Chance::Seeds).best(), "x = 0 and x = 1 (tied)");
        assert_eq!(ranked(&[[1.0].as_slice(); 2], Chance::OneRun).best(), "x = 0 and x = 1 (tied)");
        assert_eq!(ranked(&[[1.0].as_slice(); 2], Chance::None).why_tied(), "they are equal");
        assert_eq!(
            ranked(&[[1.0, 2.0].as_slice(); 2], Chance::Seeds).why_tied(),
            "tied, since their differences are within chance"
        );
    }
}
