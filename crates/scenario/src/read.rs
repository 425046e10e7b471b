//! Reads a scenario type from an input tree.
//!
//! A `serde` deserializer over [`Node`] whose errors have a key and a place. It stops at the first error; the
//! schema check, which runs before, finds the others.

use serde::de::{self, DeserializeOwned, DeserializeSeed, Unexpected, Visitor, value::StrDeserializer};
use towtank_units::HINT_MARK;

use crate::key::{KeyPath, Segment};
use crate::node::{Entry, Node, Value};
use crate::source::Place;
use crate::{Problem, Problems};

/// Reads a `T`.
///
/// # Errors
/// The first error of `T`.
pub(crate) fn read<T: DeserializeOwned>(root: &Node) -> Result<T, Problems> {
    T::deserialize(root).map_err(|failure| failure.into_problem(root).into())
}

/// Why a value was refused. The path is collected while the error propagates.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    place: Option<Place>,
    /// Innermost first.
    way: Vec<Segment>,
}

impl Failure {
    fn inside(mut self, segment: Segment, place: &Place) -> Failure {
        self.way.push(segment);
        self.place.get_or_insert_with(|| place.clone());
        self
    }

    fn into_problem(mut self, root: &Node) -> Problem {
        self.way.reverse();
        let key = KeyPath::from(self.way);
        // Keys of a flattened table lose their way to the root; their errors begin with the key.
        let named = || {
            let (name, _) = self.message.strip_prefix('`')?.split_once('`')?;
            if let Value::Table(table) = &root.value { table.entry(name) } else { None }
        };
        let named = named().filter(|_| key.is_root());
        let place =
            self.place.or_else(|| Some(named?.node.place.clone())).unwrap_or_else(|| root.place.clone());
        let (message, hint) = match self.message.split_once(HINT_MARK) {
            Some((message, hint)) => (message, hint.to_owned()),
            None if key.is_root() => {
                (self.message.as_str(), "see `towtank schema` for what is allowed".to_owned())
            }
            None => {
                (self.message.as_str(), format!("change `{key}`; `towtank schema` shows what is allowed"))
            }
        };
        let message = if key.is_root() { message.to_owned() } else { format!("`{key}`: {message}") };
        Problem::new(message).hint(hint).at(place).of_key(key)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl de::Error for Failure {
    fn custom<T: std::fmt::Display>(message: T) -> Failure {
        Failure { message: message.to_string(), place: None, way: Vec::new() }
    }
}

impl<'de> de::Deserializer<'de> for &'de Node {
    type Error = Failure;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match &self.value {
            Value::Bool(truth) => visitor.visit_bool(*truth),
            Value::Integer(number) => match (i64::try_from(*number), u64::try_from(*number)) {
                (Ok(number), _) => visitor.visit_i64(number),
                (_, Ok(number)) => visitor.visit_u64(number),
                _ => visitor.visit_i128(*number),
            },
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Text(text) => visitor.visit_borrowed_str(text),
            Value::Moment(text) => Err(de::Error::invalid_type(Unexpected::Other(text), &visitor)),
            Value::List(items) => visitor.visit_seq(Items { items: items.iter().enumerate() }),
            Value::Table(table) => {
                visitor.visit_map(Entries { entries: table.entries.iter(), current: None })
            }
        }
    }

    /// TOML has no null: a value that is present is `Some`.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        match &self.value {
            Value::Text(name) => visitor.visit_enum(Variant { name, content: None }),
            Value::Table(table) => match &table.entries[..] {
                [entry] => visitor.visit_enum(Variant { name: &entry.key, content: Some(entry) }),
                _ => Err(de::Error::invalid_type(Unexpected::Map, &"a table with one key")),
            },
            _ => Err(de::Error::custom(format!("{} is not a form of this value", self.quoted()))),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

struct Items<'de> {
    items: std::iter::Enumerate<std::slice::Iter<'de, Node>>,
}

impl<'de> de::SeqAccess<'de> for Items<'de> {
    type Error = Failure;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Failure> {
        let Some((index, item)) = self.items.next() else { return Ok(None) };
        let read = seed.deserialize(item);
        read.map(Some).map_err(|failure| failure.inside(Segment::Index(index), &item.place))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

struct Entries<'de> {
    entries: std::slice::Iter<'de, Entry>,
    current: Option<&'de Entry>,
}

impl<'de> de::MapAccess<'de> for Entries<'de> {
    type Error = Failure;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Failure> {
        self.current = self.entries.next();
        let Some(entry) = self.current else { return Ok(None) };
        let key: StrDeserializer<'_, Failure> = de::IntoDeserializer::into_deserializer(entry.key.as_str());
        let read = seed.deserialize(key);
        read.map(Some).map_err(|failure| failure.inside(Segment::Key(entry.key.clone()), &entry.key_place))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Failure> {
        let entry = self.current.take().expect("serde asks for a value right after its key");
        let read = seed.deserialize(&entry.node);
        read.map_err(|failure| failure.inside(Segment::Key(entry.key.clone()), &entry.node.place))
    }
}

struct Variant<'de> {
    name: &'de str,
    content: Option<&'de Entry>,
}

impl<'de> de::EnumAccess<'de> for Variant<'de> {
    type Error = Failure;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Failure> {
        let name: StrDeserializer<'_, Failure> = de::IntoDeserializer::into_deserializer(self.name);
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> Variant<'de> {
    /// Reads the content, and notes its place on failure.
    fn within<T>(self, read: impl FnOnce(&'de Node) -> Result<T, Failure>) -> Result<T, Failure> {
        let entry = self.content.ok_or_else(|| -> Failure {
            de::Error::custom(format!("\"{}\" needs a value: {{ {} = … }}", self.name, self.name))
        })?;
        read(&entry.node)
            .map_err(|failure| failure.inside(Segment::Key(entry.key.clone()), &entry.node.place))
    }
}

impl<'de> de::VariantAccess<'de> for Variant<'de> {
    type Error = Failure;

    fn unit_variant(self) -> Result<(), Failure> {
        match self.content {
            None => Ok(()),
            Some(entry) => Err(de::Error::custom(format!("write \"{}\", it takes no value", entry.key))),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Failure> {
        self.within(|node| seed.deserialize(node))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Failure> {
        self.within(|node| de::Deserializer::deserialize_any(node, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.within(|node| de::Deserializer::deserialize_any(node, visitor))
    }
}
