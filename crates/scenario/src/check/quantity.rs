//! The quantities of `units` by the names they have in a schema, so that a wrong unit is found by the check
//! and not only by the type, and several of them together.

use schemars::JsonSchema;
use towtank_units::{Bytes, Frequency, Percent, Quantity, Rate, SimSpan, SimTime, UnitError};

/// Says whether a text is such a quantity.
pub(super) type Reader = fn(&str) -> Result<(), UnitError>;

/// How to read what the definition `name` describes, if it is a quantity.
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
