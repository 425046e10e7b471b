//! Kinds of mistakes in the text of a quantity.

/// The kind of mistake in the text of a quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnitErrorKind {
    /// The text is empty.
    Empty,
    /// The text does not begin with a plain decimal number.
    NotANumber,
    /// The number is negative.
    Negative,
    /// The number has an exponent.
    Exponent,
    /// The number has no unit.
    MissingUnit,
    /// The unit is not one of the quantity's units.
    UnknownUnit {
        /// The unit as written.
        unit: String,
    },
    /// The value is not a whole number of base units.
    NotWhole,
    /// The value does not fit in 64 bits of base units.
    TooLarge,
    /// The value is zero, which the quantity does not allow.
    Zero,
}
