//! Measures as rows: a name, its unit, what it means, and how its value is had from what a replicate came to
//! know.
//!
//! A value stands in the row that names it, so its place in a list cannot give it the name of another.

use std::any::TypeId;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use towtank_report::Outcome;

use crate::{MeasureSpec, Question, StudyError};

/// A value, or why there is none.
pub type Value = Result<f64, String>;

/// One measure of a study whose replicates come to know an `S`.
pub struct Measure<S> {
    /// Stable, snake_case, and of no other measure of its study. Computed where a scenario says which
    /// measures there are: one for each method.
    pub name: Cow<'static, str>,
    /// As [`MeasureSpec::unit`].
    pub unit: &'static str,
    /// As [`MeasureSpec::about`].
    pub about: &'static str,
    value: Box<dyn Fn(&S) -> Value>,
    applies: Option<fn(&S) -> bool>,
}

impl<S> Measure<S> {
    /// A measure with its value. A value that is not there says why; it is never 0 and never NaN.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        unit: &'static str,
        about: &'static str,
        value: impl Fn(&S) -> Value + 'static,
    ) -> Measure<S> {
        Measure { name: name.into(), unit, about, value: Box::new(value), applies: None }
    }

    /// The same, but left out of an outcome where `applies` says no: what clients waited, where there are no
    /// clients.
    #[must_use]
    pub fn only_where(self, applies: fn(&S) -> bool) -> Measure<S> {
        Measure { applies: Some(applies), ..self }
    }

    /// Its value, or why there is none.
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

/// Records each measure, in the order of the rows. Where nothing was seen, each is missing for the same
/// reason.
///
/// # Errors
/// When two rows have one name: the second value would take the place of the first.
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

/// Names that scenarios gave: a process sees few of them, and each is kept once.
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

/// What these measures are, without their values.
#[must_use]
pub fn specs<S>(measures: Vec<Measure<S>>) -> Vec<MeasureSpec> {
    let spec = |measure: Measure<S>| MeasureSpec {
        name: kept(measure.name),
        unit: measure.unit,
        about: measure.about,
    };
    measures.into_iter().map(spec).collect()
}

/// What a study promises to yield. The list is made once for each study and lives as long as the process.
#[must_use]
pub fn specs_of<Q: Question>() -> &'static [MeasureSpec] {
    static LISTS: Mutex<BTreeMap<TypeId, &'static [MeasureSpec]>> = Mutex::new(BTreeMap::new());
    let mut lists = LISTS.lock().unwrap_or_else(PoisonError::into_inner);
    lists.entry(TypeId::of::<Q>()).or_insert_with(|| specs(Q::measures()).leak())
}

#[cfg(test)]
pub mod by_hand;
#[cfg(test)]
mod tests;
