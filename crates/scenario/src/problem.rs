//! Problems of an input: value, limit, place and next step.
//!
//! A [`Problem`] carries its parts; the front end decides how they look on a terminal. The `Display` of
//! [`Problem`] is the message alone, in lower case and without a full stop.

use std::fmt;

use crate::draft::Draft;
use crate::key::KeyPath;
use crate::source::Place;

/// One error in an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    message: String,
    key: Option<KeyPath>,
    place: Option<Box<Place>>,
    hint: Option<String>,
}

impl Problem {
    /// A problem without a place. `message` names the value and its limit.
    pub fn new(message: impl Into<String>) -> Problem {
        Problem { message: message.into(), key: None, place: None, hint: None }
    }

    /// Adds a hint: what the user can do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Problem {
        self.hint = Some(hint.into());
        self
    }

    /// Sets its place.
    #[must_use]
    pub fn at(mut self, place: Place) -> Problem {
        self.place = Some(Box::new(place));
        self
    }

    /// Sets the key that it is about.
    pub(crate) fn of_key(mut self, key: KeyPath) -> Problem {
        self.key = Some(key);
        self
    }

    /// The message: the value and its limit.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The key it is about.
    #[must_use]
    pub fn key(&self) -> Option<&KeyPath> {
        self.key.as_ref()
    }

    /// Its place.
    #[must_use]
    pub fn place(&self) -> Option<&Place> {
        self.place.as_deref()
    }

    /// The hint: what to do about it.
    #[must_use]
    pub fn next_step(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

/// Problems found together, in the order of their places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    found: Vec<Problem>,
}

impl Problems {
    /// An empty list.
    #[must_use]
    pub fn new() -> Problems {
        Problems::default()
    }

    /// Adds a problem, unless an equal one is present: sweep points share most of their keys.
    pub fn push(&mut self, problem: Problem) {
        if !self.found.contains(&problem) {
            self.found.push(problem);
        }
    }

    /// Adds the problem of a key of this draft, with what to do about it.
    pub fn refuse(&mut self, draft: &Draft, key: &str, message: impl Into<String>, hint: impl Into<String>) {
        self.push(draft.problem(key, message).hint(hint));
    }

    /// Adds all of `others`.
    pub fn extend(&mut self, others: Problems) {
        for problem in others.found {
            self.push(problem);
        }
    }

    /// Whether there is no problem.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The number of problems.
    #[must_use]
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// Iterates over the problems.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.found.iter()
    }

    /// `value` if there is no problem.
    ///
    /// # Errors
    /// The problems themselves, sorted by place.
    pub fn into_result<T>(mut self, value: T) -> Result<T, Problems> {
        if self.is_empty() {
            return Ok(value);
        }
        self.sort();
        Err(self)
    }

    /// Files come before flags, each in reading order. The sort is stable, so problems without a place keep
    /// their order.
    fn sort(&mut self) {
        self.found.sort_by_key(|problem| {
            problem.place().map(|place| {
                let source = place.source();
                (source.kind() as u8, source.name().to_owned(), place.span().start)
            })
        });
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Problems {
        Problems { found: vec![problem] }
    }
}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Problem;
    type IntoIter = std::slice::Iter<'a, Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.found.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            fmt::Display::fmt(problem, f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
