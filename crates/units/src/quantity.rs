//! What all quantities share: text, serde and JSON Schema, all from one table of units.
//!
//! In formats that people read, a quantity is a string with its unit ("250us"), and a bare number is refused
//! because it does not say what it counts. In binary formats, and with [`plain`] also in JSON written for
//! programs, it is the whole number of base units; the name of such a field includes the unit (`elapsed_ns`).

use crate::error::UnitError;
use crate::kind::UnitErrorKind;
use crate::scale::Scale;

/// A whole number of base units that can be written with a larger unit.
pub trait Quantity: Copy {
    /// The units in which it may be written.
    fn scale() -> &'static Scale;
    /// The number of base units.
    fn base_units(self) -> u64;
    /// The quantity of `count` base units, or `None` if `count` is zero and the quantity must not be.
    fn from_base_units(count: u64) -> Option<Self>;

    /// Parses a number with a unit, exactly.
    ///
    /// # Errors
    /// If the text is not a plain decimal number with one of the units, or not a whole number of base units.
    fn parse(text: &str) -> Result<Self, UnitError> {
        let count = Self::scale().parse(text)?;
        Self::from_base_units(count)
            .ok_or_else(|| UnitError::new(text.trim(), UnitErrorKind::Zero, Self::scale()))
    }
}

/// For `#[serde(with = "units::plain")]`: the bare number of base units in every format.
pub mod plain {
    use super::Quantity;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    /// Writes the number of base units.
    ///
    /// # Errors
    /// If the serializer fails.
    pub fn serialize<T: Quantity, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(value.base_units())
    }

    /// Reads the number of base units.
    ///
    /// # Errors
    /// If there is no unsigned integer, or if it is zero and the quantity must not be.
    pub fn deserialize<'de, T: Quantity, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        let count = u64::deserialize(deserializer)?;
        T::from_base_units(count).ok_or_else(|| D::Error::custom(format!("0 is not {}", T::scale().what())))
    }
}

/// Reads a quantity from a string with its unit; refuses a bare number with an explanation.
pub(crate) struct TextVisitor<T>(pub(crate) std::marker::PhantomData<T>);

impl<T: Quantity> TextVisitor<T> {
    fn bare<E: serde::de::Error>(number: impl std::fmt::Display) -> Result<T, E> {
        let text = number.to_string();
        // For a negative number, the sign is the better reason to refuse it than the missing unit.
        let kind = if text.starts_with('-') { UnitErrorKind::Negative } else { UnitErrorKind::MissingUnit };
        Err(E::custom(UnitError::new(&text, kind, T::scale()).with_hint()))
    }
}

impl<T: Quantity> serde::de::Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} as a string with its unit, such as \"{}\"", T::scale().what(), T::scale().examples()[0])
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        T::parse(text).map_err(|error| E::custom(error.with_hint()))
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<T, E> {
        Self::bare(number)
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<T, E> {
        Self::bare(number)
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<T, E> {
        Self::bare(number)
    }
}

/// Text, serde and JSON Schema for a type that is a [`Quantity`].
macro_rules! quantity_text {
    ($($type:ident),*) => {$(
        impl std::fmt::Display for $type {
            /// Exactly, so that the text reads back as the same value.
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&<Self as $crate::Quantity>::scale().print($crate::Quantity::base_units(*self)))
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::UnitError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                <Self as $crate::Quantity>::parse(text)
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() {
                    serializer.collect_str(self)
                } else {
                    $crate::plain::serialize(self, serializer)
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                if deserializer.is_human_readable() {
                    deserializer.deserialize_any($crate::quantity::TextVisitor(std::marker::PhantomData))
                } else {
                    $crate::plain::deserialize(deserializer)
                }
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let scale = <Self as $crate::Quantity>::scale();
                schemars::json_schema!({
                    "type": "string",
                    "description": scale.description(),
                    "pattern": scale.pattern(),
                    "examples": scale.examples(),
                })
            }
        }
    )*};
}
pub(crate) use quantity_text;
