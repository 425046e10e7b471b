//! A tree that is built when it is needed, from all objects, as Cassandra's repair does: 32 Ki leaves, no
//! cost on a write, and every object read before anything can be compared.

use crate::{ObjectId, Shape, Subspace, Tree, Version};

/// The leaves of Cassandra's trees, as a power of two.
pub const CASSANDRA_LEAF_BITS: u8 = 15;

/// An object as a reader of all objects finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// The hash of its name.
    pub hash: u32,
    /// Its id.
    pub id: ObjectId,
    /// The version that it has.
    pub version: Version,
}

/// A tree with what it took to build it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebuilt {
    /// The tree.
    pub tree: Tree,
    /// How many objects were read; as many digests were computed for leaves.
    pub objects_read: u64,
}

/// The tree of all these objects.
///
/// # Panics
///
/// Where one of them is not in the shape's space.
pub fn rebuild(shape: Shape, objects: impl IntoIterator<Item = Object>) -> Rebuilt {
    let mut tree = Tree::new(shape);
    let mut objects_read = 0;
    for object in objects {
        tree.update(object.hash, object.id, None, Some(object.version));
        objects_read += 1;
    }
    Rebuilt { tree, objects_read }
}

/// The shape that Cassandra would give a tree over this space: its number of leaves, or as many as there are
/// positions.
#[must_use]
pub fn cassandra_shape(space: Subspace) -> Shape {
    let leaf_bits = CASSANDRA_LEAF_BITS.min(32 - space.bits());
    Shape::new(space, leaf_bits).expect("no more leaves than positions")
}
