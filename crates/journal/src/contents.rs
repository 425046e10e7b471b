//! The value of a container is its contents: equality, printing, hashing and serialisation depend on the
//! contents alone. The journal is not serialised, so a deserialised container records nothing until `begin`
//! is called.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{JournalCell, JournalMap, JournalVec};

macro_rules! by_contents {
    ($($container:ident<$($parameter:ident),+> . $field:ident),+ $(,)?) => {$(
        impl<$($parameter: PartialEq),+> PartialEq for $container<$($parameter),+> {
            fn eq(&self, other: &Self) -> bool {
                self.$field == other.$field
            }
        }

        impl<$($parameter: Eq),+> Eq for $container<$($parameter),+> {}

        impl<$($parameter: Hash),+> Hash for $container<$($parameter),+> {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.$field.hash(state);
            }
        }

        impl<$($parameter: fmt::Debug),+> fmt::Debug for $container<$($parameter),+> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.$field.fmt(f)
            }
        }
    )+};
}

by_contents!(JournalMap<K, V>.map, JournalVec<T>.items, JournalCell<T>.value);

/// Serialised as a list of pairs, because JSON requires text as the keys of a map.
impl<K: Serialize, V: Serialize> Serialize for JournalMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.map)
    }
}

impl<'de, K: Deserialize<'de> + Ord + Clone, V: Deserialize<'de> + Clone> Deserialize<'de>
    for JournalMap<K, V>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let pairs = Vec::<(K, V)>::deserialize(deserializer)?;
        let count = pairs.len();
        let map: BTreeMap<K, V> = pairs.into_iter().collect();
        if map.len() < count {
            return Err(D::Error::custom("the map contains a key twice"));
        }
        Ok(JournalMap { map, ..JournalMap::new() })
    }
}

impl<T: Serialize> Serialize for JournalVec<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.items.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de> + Clone> Deserialize<'de> for JournalVec<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(JournalVec::new)
    }
}

impl<T: Serialize> Serialize for JournalCell<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de> + Clone> Deserialize<'de> for JournalCell<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(JournalCell::new)
    }
}
