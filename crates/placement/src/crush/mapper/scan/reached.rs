//! What descents reach.

use crate::crush::map::ItemId;

/// How a descent ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum End {
    /// At an item of the type sought.
    Item,
    /// At such an item that has been chosen already; no leaf was sought.
    Chosen,
    /// At a bucket without items.
    Empty,
    /// At something else.
    #[default]
    Dead,
}

/// What a descent reached.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reached {
    pub item: ItemId,
    pub leaf: ItemId,
    pub end: End,
    pub leaf_end: End,
    /// Whether a leaf was sought.
    pub is_in_leaf: bool,
}
