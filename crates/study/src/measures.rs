//! Measures as rows: a name, its unit, what it means, and how to compute its value from the results of a
//! replicate.
//!
//! A row holds both the name and the function of the value, so a value cannot appear under the name of
//! another measure.

use std::any::TypeId;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use towtank_report::{Interval, Outcome, title};

use crate::{MeasureSpec, Question, StudyError};

/// The value of a measure, or why there is none.
pub type Value = Result<f64, String>;

/// One measure of a study whose replicates yield an `S`.
pub struct Measure<S> {
    /// Stable, snake_case, and unique in its study. Computed where the scenario determines the measures: one
    /// for each method.
    pub name: Cow<'static, str>,
    /// As [`MeasureSpec::unit`].
    pub unit: &'static str,
    /// As [`MeasureSpec::about`].
    pub about: &'static str,
    /// As [`MeasureSpec::title`].
    pub title: Cow<'static, str>,
    /// As [`MeasureSpec::interval`].
    pub interval: Interval,
    /// As [`MeasureSpec::formerly`].
    pub formerly: Option<&'static str>,
    pub(crate) value: Box<dyn Fn(&S) -> Value>,
    applies: Option<fn(&S) -> bool>,
}

impl<S> Measure<S> {
    /// A measure with the function of its value. Where there is no value, the function returns the reason; it
    /// never returns 0 or NaN instead.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        unit: &'static str,
        about: &'static str,
        value: impl Fn(&S) -> Value + 'static,
    ) -> Measure<S> {
        let name = name.into();
        let title = title::of(&name, unit).into();
        let interval = Interval::default();
        Measure { name, unit, about, title, interval, formerly: None, value: Box::new(value), applies: None }
    }

    /// A row of one of several methods: its name begins with the method's prefix (`merkle_levels_`), and its
    /// title ends with the method. An empty prefix makes a plain row.
    #[must_use]
    pub fn under(
        prefix: &str,
        name: &str,
        unit: &'static str,
        about: &'static str,
        value: impl Fn(&S) -> Value + 'static,
    ) -> Measure<S> {
        let method = match prefix.trim_end_matches('_') {
            "" => String::new(),
            method => format!(", {}", method.replace('_', "-")),
        };
        let title = title::of(name, unit) + &method;
        Measure::new(format!("{prefix}{name}"), unit, about, value).titled(title)
    }

    /// The same with another title than its name gives.
    #[must_use]
    pub fn titled(self, title: impl Into<Cow<'static, str>>) -> Measure<S> {
        Measure { title: title.into(), ..self }
    }

    /// The same measure, which had another name.
    #[must_use]
    pub fn formerly(self, name: &'static str) -> Measure<S> {
        Measure { formerly: Some(name), ..self }
    }

    /// The same measure, which may be negative.
    #[must_use]
    pub fn signed(self) -> Measure<S> {
        Measure { interval: Interval::Signed, ..self }
    }

    /// The same measure, whose mean has no interval, for this reason.
    #[must_use]
    pub fn without_interval(self, reason: &'static str) -> Measure<S> {
        Measure { interval: Interval::None(reason), ..self }
    }

    /// The same measure, left out of an outcome where `applies` returns false: latencies of clients, where
    /// there are no clients.
    #[must_use]
    pub fn only_where(self, applies: fn(&S) -> bool) -> Measure<S> {
        Measure { applies: Some(applies), ..self }
    }

    /// The value, or why there is none.
    ///
    /// # Errors
    /// The reason, for a reader of the report.
    pub fn value(&self, seen: &S) -> Value {
        (self.value)(seen)
    }

    fn applies(&self, seen: &S) -> bool {
        self.applies.is_none_or(|applies| applies(seen))
    }
}

/// Records each measure, in the order of the rows. Where nothing was observed, all are missing for the same
/// reason.
///
/// # Errors
/// When two rows have the same name: the second value would replace the first.
pub fn record<S>(
    outcome: &mut Outcome,
    measures: &[Measure<S>],
    seen: Result<&S, &str>,
) -> Result<(), StudyError> {
    for measure in measures {
        let name = measure.name.as_ref();
        if outcome.measures.contains_key(name) {
            let message = format!("two measures are called `{name}`");
            return Err(StudyError::Model { message, hint: None });
        }
        match seen {
            Ok(seen) if !measure.applies(seen) => {}
            Ok(seen) => match measure.value(seen) {
                Ok(value) => outcome.measure(name, value, measure.unit),
                Err(reason) => outcome.missing(name, measure.unit, reason),
            },
            Err(reason) => outcome.missing(name, measure.unit, reason),
        }
    }
    Ok(())
}

/// Interned names and titles that come from scenarios. A process sees few of them, and each is leaked once.
static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

fn kept(name: Cow<'static, str>) -> &'static str {
    let name = match name {
        Cow::Borrowed(name) => return name,
        Cow::Owned(name) => name,
    };
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name.as_str()) {
        return known;
    }
    let name: &'static str = name.leak();
    names.insert(name);
    name
}

/// The specifications of these measures, without values.
#[must_use]
pub fn specs<S>(measures: Vec<Measure<S>>) -> Vec<MeasureSpec> {
    let spec = |measure: Measure<S>| MeasureSpec {
        name: kept(measure.name),
        unit: measure.unit,
        about: measure.about,
        title: kept(measure.title),
        interval: measure.interval,
        formerly: measure.formerly,
    };
    measures.into_iter().map(spec).collect()
}

/// All measures that a study may yield. The list is made once per study and lives as long as the process.
#[must_use]
pub(crate) fn specs_of<Q: Question>() -> &'static [MeasureSpec] {
    static LISTS: Mutex<BTreeMap<TypeId, &'static [MeasureSpec]>> = Mutex::new(BTreeMap::new());
    let mut lists = LISTS.lock().unwrap_or_else(PoisonError::into_inner);
    lists.entry(TypeId::of::<Q>()).or_insert_with(|| specs(Q::measures()).leak())
}

#[cfg(test)]
mod tests;
