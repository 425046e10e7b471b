//! What may be wrong with the text of a quantity.

/// What is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnitErrorKind {
    /// There is nothing in it.
    Empty,
    /// It does not begin with a plain decimal number.
    NotANumber,
    /// It is below zero.
    Negative,
    /// It has an exponent.
    Exponent,
    /// It is a bare number.
    MissingUnit,
    /// Its unit is none of the quantity's.
    UnknownUnit {
        /// The unit as written.
        unit: String,
    },
    /// It is no whole number of base units.
    NotWhole,
    /// It does not fit in 64 bits of base units.
    TooLarge,
    /// It is zero where the quantity cannot be.
    Zero,
}
