//! The two forms of a scenario: as a user gives it, and with all defaults filled in.
//!
//! Each key is declared once, in a struct that is generic over its form. What a key's type is in each form is
//! an associated type here, so that code which needs a filled-in value cannot get one that is left out.

use std::fmt::Debug;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use towtank_iosched::Description;

use super::{ClientCache, Fsync, Parda};

/// What the value of any key can do.
pub trait Value: Clone + Debug + PartialEq + Serialize + DeserializeOwned {}

impl<T: Clone + Debug + PartialEq + Serialize + DeserializeOwned> Value for T {}

/// A form of a scenario.
pub trait Form: Value {
    /// Whether all defaults are filled in.
    const IS_FILLED: bool;
    /// A key with a default that depends on others, such as the preset.
    type Key<T: Value + JsonSchema>: Value + JsonSchema;
    /// A part that a cluster need not have.
    type Part<T: Value>: Value;
    /// A scheduler.
    type Scheduler: Value;

    /// `client.cache` where it is left out.
    fn no_cache() -> Self::Part<ClientCache<Self>>;

    /// `client.parda` where it is left out.
    fn no_parda() -> Self::Part<Parda<Self>>;

    /// An application's `fsync` where it is left out.
    fn no_fsync() -> Self::Key<Fsync>;

    /// Whether the JSON omits a key that only the filling in of others uses.
    fn omits<T>(_: &T) -> bool {
        Self::IS_FILLED
    }

    /// Whether the JSON omits a key that has the usual value.
    fn omits_usual<T: Default + PartialEq>(value: &T) -> bool {
        Self::IS_FILLED && *value == T::default()
    }

    /// Whether the JSON omits a part.
    fn omits_part<T: Value>(part: &Self::Part<T>) -> bool;

    /// Whether the JSON omits an application's `fsync`.
    fn omits_fsync(fsync: &Self::Key<Fsync>) -> bool {
        Self::IS_FILLED && *fsync == Self::no_fsync()
    }
}

/// As a user gives it: keys may be left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct Given;

impl Form for Given {
    const IS_FILLED: bool = false;
    type Key<T: Value + JsonSchema> = Option<T>;
    type Part<T: Value> = T;
    type Scheduler = String;

    fn no_cache() -> ClientCache {
        ClientCache::default()
    }

    fn no_parda() -> Parda {
        Parda::default()
    }

    fn no_fsync() -> Option<Fsync> {
        None
    }

    fn omits_part<T: Value>(_: &T) -> bool {
        false
    }
}

/// With all defaults filled in: the resolved scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct Filled;

impl Form for Filled {
    const IS_FILLED: bool = true;
    type Key<T: Value + JsonSchema> = T;
    type Part<T: Value> = Option<T>;
    type Scheduler = Description;

    fn no_cache() -> Option<ClientCache<Filled>> {
        None
    }

    fn no_parda() -> Option<Parda<Filled>> {
        None
    }

    fn no_fsync() -> Fsync {
        Fsync::Phase
    }

    fn omits_part<T: Value>(part: &Option<T>) -> bool {
        part.is_none()
    }
}
