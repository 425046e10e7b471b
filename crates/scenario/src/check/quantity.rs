//! The quantities of `units` by their names in a schema, so that the schema check also finds wrong units, and
//! reports several of them together.

use schemars::JsonSchema;
use towtank_units::{Bytes, Frequency, Percent, Quantity, Rate, SimSpan, SimTime, UnitError};

/// Checks whether a text is such a quantity.
pub(super) type Reader = fn(&str) -> Result<(), UnitError>;

/// The check for the definition `name`, if it is a quantity.
pub(super) fn reader(name: &str) -> Option<Reader> {
    fn entry<T: Quantity + JsonSchema>() -> (std::borrow::Cow<'static, str>, Reader) {
        (T::schema_name(), |text| T::parse(text).map(|_| ()))
    }
    let known = [
        entry::<SimSpan>(),
        entry::<SimTime>(),
        entry::<Bytes>(),
        entry::<Rate>(),
        entry::<Frequency>(),
        entry::<Percent>(),
    ];
    known.into_iter().find(|(known, _)| known == name).map(|(_, read)| read)
}
