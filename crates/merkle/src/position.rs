//! Where an object lies in the order of its placement group, and ranges of that order.
//!
//! A position is the bit-reversed 32-bit hash of an object's name; Ceph lists the objects of a group in this
//! order. The low bits of the hash tell a pool's groups apart, so that a group is one contiguous range of
//! positions, and its tree is a subtree of the pool's.

/// A place in the order of objects: the 32-bit hash of the object's name with its bits reversed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Position(pub u32);

impl Position {
    /// The position of objects with this hash.
    #[must_use]
    pub const fn of_hash(hash: u32) -> Position {
        Position(hash.reverse_bits())
    }

    /// The hash of objects at this position.
    #[must_use]
    pub const fn hash(self) -> u32 {
        self.0.reverse_bits()
    }
}

/// All positions from `first` to `last`, both included: an exclusive end after the greatest position would
/// not fit into 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct PositionRange {
    /// The least position of the range.
    pub first: Position,
    /// The greatest; never below `first`.
    pub last: Position,
}

impl PositionRange {
    /// All positions.
    pub const ALL: PositionRange = PositionRange::new(0, u32::MAX);

    pub(crate) const fn new(first: u32, last: u32) -> PositionRange {
        PositionRange { first: Position(first), last: Position(last) }
    }

    /// Whether `at` lies in the range.
    #[must_use]
    pub fn contains(&self, at: Position) -> bool {
        self.first <= at && at <= self.last
    }

    /// The number of positions in the range.
    #[must_use]
    pub fn positions(&self) -> u64 {
        u64::from(self.last.0) - u64::from(self.first.0) + 1
    }
}

impl std::fmt::Display for PositionRange {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{:08x} to {:08x}", self.first.0, self.last.0)
    }
}

/// The positions that share a prefix of bits: a pool, or one of its placement groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Subspace {
    bits: u8,
    /// The fixed bits, at the top; zero below them.
    prefix: u32,
}

impl Subspace {
    /// All positions: a whole pool.
    pub const WHOLE: Subspace = Subspace { bits: 0, prefix: 0 };

    /// The positions of group number `group` in a pool of `groups` groups, as Ceph's `stable_mod` assigns
    /// hashes to groups: by as many low bits as number all groups, or by one bit fewer if the group for those
    /// bits does not exist yet.
    ///
    /// None if the pool has no such group.
    #[must_use]
    pub fn of_group(group: u32, groups: u32) -> Option<Subspace> {
        if group >= groups {
            return None;
        }
        // The bits needed to number `groups` groups; none for a single group.
        let bits = 32 - (groups - 1).leading_zeros();
        let is_undivided = bits > 0 && group < 1 << (bits - 1) && group | 1 << (bits - 1) >= groups;
        let bits = if is_undivided { bits - 1 } else { bits };
        Some(Subspace { bits: bits as u8, prefix: group.reverse_bits() })
    }

    /// The positions whose first `bits` bits are those of `prefix`; none if `prefix` has other bits set, or
    /// `bits` exceeds 32.
    #[must_use]
    pub fn of_prefix(prefix: u32, bits: u8) -> Option<Subspace> {
        let subspace = Subspace { bits, prefix };
        (bits <= 32 && prefix & subspace.free_mask() == 0).then_some(subspace)
    }

    /// The number of fixed bits.
    #[must_use]
    pub fn bits(&self) -> u8 {
        self.bits
    }

    /// The fixed bits, at the top; zero below them.
    #[must_use]
    pub fn prefix(&self) -> u32 {
        self.prefix
    }

    /// The range of its positions.
    #[must_use]
    pub fn range(&self) -> PositionRange {
        PositionRange::new(self.prefix, self.prefix | self.free_mask())
    }

    /// Whether `at` lies in the subspace.
    #[must_use]
    pub fn contains(&self, at: Position) -> bool {
        at.0 & !self.free_mask() == self.prefix
    }

    /// The lower and the upper half, one for each of the two groups after a split; none if it is a single
    /// position.
    #[must_use]
    pub fn halves(&self) -> Option<(Subspace, Subspace)> {
        let bits = self.bits + 1;
        let top_free = 1_u32.checked_shl(u32::from(32 - self.bits)).map_or(1 << 31, |above| above >> 1);
        let half = |prefix| Subspace { bits, prefix };
        let (low, high) = (half(self.prefix), half(self.prefix | top_free));
        if self.bits == 32 {
            return None;
        }
        let ends = (low.range().first, high.range().last) == (self.range().first, self.range().last);
        let meet = low.range().last.0.checked_add(1) == Some(high.range().first.0);
        assert!(ends && meet, "two halves cover their space, each position once: {low:?} and {high:?}");
        Some((low, high))
    }

    /// The subspace of which this is a half; none for the whole.
    #[must_use]
    pub fn parent(&self) -> Option<Subspace> {
        let bits = self.bits.checked_sub(1)?;
        Some(Subspace { bits, prefix: self.prefix & !(1 << (31 - bits)) })
    }

    fn free_mask(&self) -> u32 {
        u32::MAX.checked_shr(u32::from(self.bits)).unwrap_or(0)
    }
}

/// The positions that a tree covers and its number of leaves. Only trees of the same shape can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Shape {
    space: Subspace,
    leaf_bits: u8,
}

impl std::fmt::Display for Shape {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "2^{} leaves over positions {}", self.leaf_bits, self.space.range())
    }
}

/// More leaves than a tree may have, or than its positions allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`leaf_bits` is {leaf_bits}, but this tree can have at most {most}")]
pub struct TooManyLeaves {
    /// The base-2 logarithm of the number of leaves requested.
    pub leaf_bits: u8,
    /// The greatest value possible.
    pub most: u8,
}

impl Shape {
    /// The greatest base-2 logarithm of the number of leaves: 128 MiB of leaves.
    pub(crate) const LEAF_BITS_MAX: u8 = 24;

    /// A shape of 2^`leaf_bits` leaves over `space`.
    ///
    /// # Errors
    ///
    /// If `leaf_bits` exceeds [`Shape::LEAF_BITS_MAX`], or a leaf would hold less than one position.
    pub fn new(space: Subspace, leaf_bits: u8) -> Result<Shape, TooManyLeaves> {
        let most = Shape::LEAF_BITS_MAX.min(32 - space.bits);
        if leaf_bits > most { Err(TooManyLeaves { leaf_bits, most }) } else { Ok(Shape { space, leaf_bits }) }
    }

    /// The positions that the leaves cover.
    #[must_use]
    pub fn space(&self) -> Subspace {
        self.space
    }

    /// The base-2 logarithm of the number of leaves.
    #[must_use]
    pub fn leaf_bits(&self) -> u8 {
        self.leaf_bits
    }

    /// The number of leaves.
    #[must_use]
    pub fn leaves(&self) -> usize {
        1 << self.leaf_bits
    }

    /// The leaf that holds `at`.
    ///
    /// # Panics
    ///
    /// If `at` is not in the tree's space: the caller passed an object of another group.
    #[inline]
    #[must_use]
    pub fn leaf_of(&self, at: Position) -> usize {
        assert!(self.space.contains(at), "position {:08x} lies outside {}", at.0, self.space.range());
        // In 64 bits, because a tree of one leaf shifts by 32.
        let in_space = (u64::from(at.0) << self.space.bits) & u64::from(u32::MAX);
        (in_space >> (32 - self.leaf_bits)) as usize
    }

    /// The positions of the leaves from `first` to `last`, both included.
    #[must_use]
    pub fn positions_of(&self, first: usize, last: usize) -> PositionRange {
        let leaves = self.leaves();
        assert!(first <= last && last < leaves, "leaves {first} to {last} lie in a tree of {leaves}");
        let width = 32 - u32::from(self.space.bits) - u32::from(self.leaf_bits);
        let begin = |leaf: usize| u64::from(self.space.prefix) + ((leaf as u64) << width);
        PositionRange::new(begin(first) as u32, (begin(last + 1) - 1) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ceph's rule as its documentation states it: the low bits that number all groups, or one bit fewer.
    fn group_of(hash: u32, groups: u32) -> u32 {
        let mask = groups.next_power_of_two() - 1;
        if hash & mask < groups { hash & mask } else { hash & (mask >> 1) }
    }

    #[test]
    fn a_hash_lies_in_the_subspace_of_its_group_alone() {
        for groups in [1, 2, 3, 5, 8, 12, 100, 128] {
            for hash in (0..4000_u32).map(|step| step.wrapping_mul(0x9e37_79b9)) {
                let holds = |group: &u32| {
                    Subspace::of_group(*group, groups).expect("it exists").contains(Position::of_hash(hash))
                };
                let holding: Vec<u32> = (0..groups).filter(holds).collect();
                assert_eq!(holding, [group_of(hash, groups)], "{hash:#x} among {groups} groups");
            }
            assert_eq!(Subspace::of_group(groups, groups), None);
        }
    }

    #[test]
    fn halves_partition_and_know_their_parent() {
        for bits in 0..32 {
            let space = Subspace::of_prefix(0, bits).expect("a prefix of zeros");
            let (low, high) = space.halves().expect("more than one position");
            assert_eq!(low.range().first, space.range().first);
            assert_eq!(low.range().last.0 + 1, high.range().first.0);
            assert_eq!(high.range().last, space.range().last);
            assert_eq!((low.parent(), high.parent()), (Some(space), Some(space)));
        }
        assert_eq!(Subspace::of_prefix(7, 32).expect("one position").halves(), None);
        assert_eq!(Subspace::WHOLE.parent(), None);
        assert_eq!(Subspace::of_prefix(1, 31), None, "a bit below the prefix is set");
    }

    #[test]
    fn leaves_partition_the_space() {
        for (bits, leaf_bits) in [(0, 0), (0, 5), (0, 24), (7, 14), (28, 4), (32, 0), (8, 24)] {
            let space = Subspace::of_prefix(0, bits).expect("a prefix of zeros");
            let shape = Shape::new(space, leaf_bits).expect("few enough leaves");
            let leaves = shape.leaves();
            let mut first = space.range().first;
            for leaf in (0..leaves).step_by((leaves / 64).max(1)) {
                let range = shape.positions_of(leaf, leaf);
                assert_eq!((shape.leaf_of(range.first), shape.leaf_of(range.last)), (leaf, leaf));
                assert!(range.first >= first);
                first = range.last;
            }
            assert_eq!(shape.positions_of(0, leaves - 1), space.range());
        }
    }

    #[test]
    fn too_many_leaves_are_refused() {
        let message = |space, bits| Shape::new(space, bits).expect_err("too many").to_string();
        assert_eq!(message(Subspace::WHOLE, 25), "`leaf_bits` is 25, but this tree can have at most 24");
        let narrow = Subspace::of_prefix(0, 30).expect("a prefix of zeros");
        assert!(message(narrow, 3).contains("at most 2"));
    }

    #[test]
    #[should_panic(expected = "two halves cover their space, each position once")]
    fn halves_of_a_space_with_a_bit_below_its_prefix_break_a_law() {
        let _ = Subspace { bits: 4, prefix: 1 }.halves();
    }

    #[test]
    #[should_panic(expected = "leaves 3 to 4 lie in a tree of 4")]
    fn a_leaf_behind_the_last_breaks_a_law() {
        let _ = Shape::new(Subspace::WHOLE, 2).expect("few leaves").positions_of(3, 4);
    }

    #[test]
    #[should_panic(expected = "lies outside")]
    fn an_object_of_another_group_is_noticed() {
        let space = Subspace::of_group(1, 2).expect("it exists");
        let _ = Shape::new(space, 4).expect("few leaves").leaf_of(Position::of_hash(2));
    }
}
