//! Maps whose keys are no text, as lists of pairs, so that they can be written in any format.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Writes a map as a list of its pairs.
///
/// # Errors
/// As the format has them.
pub fn serialize<K: Serialize, V: Serialize, S: Serializer>(
    map: &BTreeMap<K, V>,
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_seq(map)
}

/// Reads a map from a list of its pairs.
///
/// # Errors
/// As the format has them.
pub fn deserialize<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<K, V>, D::Error> {
    Ok(Vec::<(K, V)>::deserialize(from)?.into_iter().collect())
}

/// A map with something beside it, or neither.
pub mod beside {
    use super::{BTreeMap, Deserialize, Deserializer, Serialize, Serializer};

    /// Both, or neither.
    type Both<K, V, T> = Option<(BTreeMap<K, V>, T)>;

    /// What stands in the file.
    type Listed<K, V, T> = Option<(Vec<(K, V)>, T)>;

    /// Writes both.
    ///
    /// # Errors
    /// As the format has them.
    pub fn serialize<K: Serialize, V: Serialize, T: Serialize, S: Serializer>(
        both: &Option<(BTreeMap<K, V>, T)>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        both.as_ref().map(|(map, beside)| (map.iter().collect::<Vec<_>>(), beside)).serialize(to)
    }

    /// Reads both.
    ///
    /// # Errors
    /// As the format has them.
    pub fn deserialize<'de, K, V, T, D>(from: D) -> Result<Both<K, V, T>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
        T: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        let both = Listed::<K, V, T>::deserialize(from)?;
        Ok(both.map(|(pairs, beside)| (pairs.into_iter().collect(), beside)))
    }
}
