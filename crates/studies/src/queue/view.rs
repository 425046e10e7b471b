//! A point of the sweep, in the form that answers, tables and figures use.

use towtank_metrics::MeanInterval;

use super::Queue;
use super::classes;
use super::observed::{Observed, ObservedStation, ROWS, Shown, count_above_zero};
use super::service::Tail;
use super::theory::{Closed, Theory};
use towtank_study::Point;
use towtank_study::points::text;

/// With fewer expected waits than this, a mean of waits cannot be judged: a free choice. The number of waits
/// of replicates then varies by a fifth and more, and most replicates may have none.
const WAITS_LEAST: f64 = 20.0;

/// An interval that contains the closed form confirms it only if both ends are within this share of it: a
/// free choice. A wider one would also contain half of the closed form, or one and a half times it.
pub(crate) const APART_MOST: f64 = 0.5;

/// Waits that are too few to judge by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RareWaits {
    /// Visits to stations, in all replicates.
    pub visits: u64,
    /// Those that had to wait.
    pub seen: u64,
    /// By theory, where it is known: the share that must wait, and the visits among which enough do.
    pub expected: Option<(f64, f64)>,
}

/// A count rounded up to two digits, since it is only a guide.
pub(crate) fn up_to_two_digits(count: f64) -> f64 {
    let unit = libm::pow(10.0, libm::floor(libm::log10(count.max(1.0))) - 1.0).max(1.0);
    (count / unit).ceil() * unit
}

/// One point, with everything that tables and figures need of it.
pub struct View<'a> {
    pub point: &'a Point<'a, Queue>,
    /// The closed forms.
    pub theory: Theory,
    /// The merged counts of its replicates, and their time in seconds.
    pub observed: Observed,
    pub seconds: f64,
    /// The swept keys with their values: `servers = 2`; empty without a sweep.
    pub label: String,
}

impl<'a> View<'a> {
    pub fn of(point: &'a Point<'a, Queue>) -> Option<View<'a>> {
        let theory = point.scenario.theory()?;
        let mut observed = point.kept.iter().map(|seen| &seen.observed);
        let mut all = observed.next()?.clone();
        let mut seconds = all.span.as_secs_f64();
        observed.for_each(|one| {
            all.merge(one);
            seconds += one.span.as_secs_f64();
        });
        Some(View { point, theory, observed: all, seconds, label: label(point.result.settings) })
    }

    /// The mean of a measure over the replicates that have it.
    pub fn mean(&self, measure: &str) -> Option<MeanInterval> {
        self.point.mean(measure)
    }

    /// The waits of all replicates, if they are too few to judge a mean of waits by: an interval over
    /// replicates that saw no wait has no width, although it says nothing.
    pub(crate) fn rare_waits(&self) -> Option<RareWaits> {
        let waits = self.observed.waits();
        let (visits, seen) = (waits.count(), count_above_zero(&waits));
        let expected =
            self.theory.wait_share().map(|chance| (chance, up_to_two_digits(WAITS_LEAST / chance)));
        let few = expected.is_none_or(|(_, enough)| (visits as f64) < enough);
        (visits > 0 && few && (seen as f64) < WAITS_LEAST).then_some(RareWaits { visits, seen, expected })
    }

    /// All measures with their closed forms: of all jobs, and of each class.
    pub fn measures(&self) -> Vec<Shown> {
        let all = ROWS.iter().map(|row| Shown {
            name: row.name.to_owned(),
            unit: row.unit,
            about: row.about,
            theory: (row.theory)(&self.theory),
        });
        all.chain(classes::shown(&self.point.scenario, &self.theory)).collect()
    }

    /// A measure with its closed form.
    pub fn measure(&self, name: &str) -> Option<Shown> {
        self.measures().into_iter().find(|measure| measure.name == name)
    }

    /// Where this is, after a key or a name: ` (servers = 2)`; nothing without a sweep.
    pub fn at(&self) -> String {
        if self.label.is_empty() { String::new() } else { format!(" ({})", self.label) }
    }

    /// Whether service times are so heavy-tailed that the interval of a measure says too little to judge by.
    pub(crate) fn is_heavy(&self, measure: &str) -> bool {
        match self.theory.tail() {
            Tail::Light => false,
            Tail::Waits => !["utilisation", "throughput", "little_ratio"].contains(&measure),
            Tail::Times => measure != "little_ratio",
        }
    }

    /// Whether the interval of a measure contains its closed form, but is too wide to confirm it.
    pub(crate) fn is_wide(&self, measure: &Shown) -> bool {
        let range = self.mean(&measure.name).and_then(|mean| mean.range);
        measure.theory.zip(range).is_some_and(|(theory, (low, high))| {
            (low..=high).contains(&theory) && (theory - low).max(high - theory) > APART_MOST * theory
        })
    }

    /// The names of the stations with their closed forms and their counts.
    pub fn stations(&self) -> impl Iterator<Item = (&str, &Closed, &ObservedStation)> {
        let known = self.theory.stations.iter().zip(&self.observed.stations);
        let names = self.point.scenario.stations.keys();
        names.zip(known).map(|(name, (theory, observed))| (name.as_str(), theory, observed))
    }
}

/// The swept keys with their values. Only the last part of a key is shown, unless two keys would then be the
/// same.
fn label(settings: &[(String, serde_json::Value)]) -> String {
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    let alone = |key: &str| settings.iter().filter(|(other, _)| last(other) == last(key)).count() == 1;
    let name = |key: &str| if alone(key) { last(key) } else { key.to_owned() };
    let setting = |(key, value): &(String, serde_json::Value)| format!("{} = {}", name(key), text(value));
    settings.iter().map(setting).collect::<Vec<_>>().join(", ")
}
