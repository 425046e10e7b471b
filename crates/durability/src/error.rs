//! What is refused, with the limit and what to do.

/// Why a question has no answer here.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DurabilityError {
    /// An AFR that is no probability.
    #[error("an AFR of {0} is no probability of failing in a year: give one above 0 and below 1, or a rate")]
    NoProbability(f64),
    /// A number that has to be above zero and finite.
    #[error("{what} is {value}: give a finite number above 0")]
    NotPositive {
        /// Which number.
        what: &'static str,
        /// What it is.
        value: f64,
    },
    /// A number outside its range.
    #[error("{what} is {value}, but it has to be from {low} to {high}: change one of them")]
    OutOfRange {
        /// Which number.
        what: &'static str,
        /// What it is.
        value: f64,
        /// The least.
        low: f64,
        /// The most.
        high: f64,
    },
    /// Pieces of a hazard that do not begin at age 0, or are not in the order of age.
    #[error("piece {0} of the hazard by age is out of order: begin at age 0, and let ages rise")]
    PiecesOutOfOrder(usize),
    /// A burst that cannot happen.
    #[error(
        "no set of {failed} units touches exactly {racks} racks here: ask for fewer units or other racks"
    )]
    NoSuchBurst {
        /// Units that fail.
        failed: u64,
        /// Racks they touch.
        racks: u64,
    },
    /// Names of a system that do not fit together.
    #[error("{what} {index} names {named}, but there are {there}: name one of these")]
    Unknown {
        /// What names something.
        what: &'static str,
        /// Which of them.
        index: usize,
        /// What it names.
        named: usize,
        /// How many there are.
        there: usize,
    },
    /// A system that is not modelled.
    #[error("{what} is not modelled: {next}")]
    NotModelled {
        /// What is not.
        what: &'static str,
        /// What to do instead.
        next: &'static str,
    },
}

/// Refuses what is not above zero and finite.
pub(crate) fn positive(what: &'static str, value: f64) -> Result<f64, DurabilityError> {
    if value > 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(DurabilityError::NotPositive { what, value })
    }
}

/// Refuses what is outside a range, its ends included.
pub(crate) fn within(what: &'static str, value: f64, low: f64, high: f64) -> Result<f64, DurabilityError> {
    let fits = (low..=high).contains(&value);
    if fits { Ok(value) } else { Err(DurabilityError::OutOfRange { what, value, low, high }) }
}
