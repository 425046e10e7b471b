//! How a bucket picks when many inputs are mapped at once.

/// How a bucket picks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Always its first item.
    First,
    /// By itself.
    Alone,
    /// Together with others: the number of its row.
    Together(u32),
}
