//! One point of an answer: its measures, and what its first replicate kept.

use towtank_report::human;

use super::Whatif;
use super::observed::Kept;
use towtank_study::Point;

/// One point with the results of its first replicate.
pub struct View<'a> {
    /// The point.
    pub point: &'a Point<'a, Whatif>,
    /// What its first replicate kept.
    pub kept: &'a Kept,
}

impl<'a> View<'a> {
    /// The view of a point.
    #[must_use]
    pub fn of(point: &'a Point<'a, Whatif>) -> View<'a> {
        View { point, kept: &point.kept[0] }
    }

    /// The mean of a measure.
    #[must_use]
    pub fn value(&self, measure: &str) -> Option<f64> {
        self.point.value(measure)
    }

    pub(super) fn shown(&self, measure: &str, unit: &str) -> Option<String> {
        Some(human::quantity(self.value(measure)?, unit))
    }

    /// Why a measure has no value.
    pub(super) fn reason(&self, measure: &str) -> Option<&str> {
        self.point.result.outcomes.iter().find_map(|one| one.measures.get(measure)?.reason())
    }

    /// How much slower and faster disks may be, in words.
    pub(super) fn spread(&self) -> String {
        human::quantity(self.point.scenario.speed_spread.fraction_f64(), "share")
    }

    /// Whether the user asks for any change.
    pub(super) fn asks(&self) -> bool {
        !self.kept.observed.changes.is_empty()
    }

    /// How many times as fast as assumed the faster disks are, where they are faster than the spread says.
    pub(super) fn times_as_fast(&self) -> Option<String> {
        let times = self.kept.observed.fast_permille? as f64 / 1e3;
        let more = times - 1.0 > self.point.scenario.speed_spread.fraction_f64() + 1e-9;
        more.then(|| human::digits(times))
    }

    /// Whether what is written is a bound: of objects that clients wrote while a device was away, Ceph copies
    /// the ranges that were written.
    pub(super) fn is_bound(&self) -> bool {
        let clients = &self.point.scenario.keys.clients;
        let scenario = &self.point.scenario;
        let returns = |text: &String| text.starts_with("returns ");
        let any = !scenario.returns.is_empty() || scenario.changes.all().iter().any(returns);
        any && clients.client_size.is_none() && clients.client_load.is_none()
    }

    pub(super) fn some(&self, measure: &str) -> bool {
        self.value(measure).is_some_and(|value| value > 0.0)
    }
}

/// One of several, or all by name.
pub(super) fn some_of(names: &[String]) -> String {
    match names {
        [one] => one.clone(),
        [one, other] => format!("{one} or {other}"),
        [first, ..] => format!("each of {} ({first}, …)", names.len()),
        [] => String::new(),
    }
}
