//! Floats as model state: compared, hashed and serialised by their bits.

use std::fmt;

/// A float that is equal to another exactly when all 64 bits are equal: NaN equals itself, and 0.0 does not
/// equal -0.0.
///
/// Model state must be hashable and must survive serialisation unchanged, which plain floats do not
/// guarantee. The value is serialised as the integer of its bits, which no text format can round.
#[derive(Clone, Copy, Default)]
pub struct Bits(pub f64);

impl Bits {
    /// The float.
    #[inline]
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl From<f64> for Bits {
    fn from(value: f64) -> Self {
        Self(value)
    }
}

impl PartialEq for Bits {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Bits {}

impl std::hash::Hash for Bits {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl fmt::Debug for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl serde::Serialize for Bits {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0.to_bits())
    }
}

impl<'de> serde::Deserialize<'de> for Bits {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u64::deserialize(deserializer).map(|bits| Self(f64::from_bits(bits)))
    }
}
