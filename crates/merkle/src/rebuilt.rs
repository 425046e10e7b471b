//! A tree that is built from all objects when it is needed, as Cassandra's repair does: 32 Ki leaves, no cost
//! per write, and every object is read before anything can be compared.

use crate::{ObjectId, Shape, Subspace, Tree, Version};

/// The base-2 logarithm of the number of leaves of Cassandra's trees.
pub(crate) const CASSANDRA_LEAF_BITS: u8 = 15;

/// An object as a scan of all objects returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// The hash of its name.
    pub hash: u32,
    /// Its id.
    pub id: ObjectId,
    /// Its version.
    pub version: Version,
}

/// A tree and the cost of building it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebuilt {
    /// The tree.
    pub tree: Tree,
    /// The number of objects read; one digest was computed for each.
    pub objects_read: u64,
}

/// Builds the tree of these objects.
///
/// # Panics
///
/// If an object is not in the shape's space.
pub fn rebuild(shape: Shape, objects: impl IntoIterator<Item = Object>) -> Rebuilt {
    let mut tree = Tree::new(shape);
    let mut objects_read = 0;
    for object in objects {
        tree.update(object.hash, object.id, None, Some(object.version));
        objects_read += 1;
    }
    Rebuilt { tree, objects_read }
}

/// The shape that Cassandra would use for a tree over this space: its number of leaves, or one leaf per
/// position if there are fewer positions.
#[must_use]
pub fn cassandra_shape(space: Subspace) -> Shape {
    let leaf_bits = CASSANDRA_LEAF_BITS.min(32 - space.bits());
    Shape::new(space, leaf_bits).expect("no more leaves than positions")
}
