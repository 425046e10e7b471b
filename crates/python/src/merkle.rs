//! Merkle trees over the objects of a placement group, with many changes at once.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use towtank_merkle::{ObjectId, Position, Shape, Subspace, Tree, Version};
use towtank_placement::crush::objects::name_hash;

use crate::arrays::{bytes_of_u32s, bytes_of_u64s, u64s};

/// A tree.
#[pyclass(frozen, module = "towtank._towtank")]
pub struct MerkleTree(Mutex<Tree>);

impl MerkleTree {
    fn tree(&self) -> MutexGuard<'_, Tree> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl MerkleTree {
    /// The tree of no objects, for one of the groups of a pool, with 2^`leaf_bits` leaves.
    #[new]
    fn new(group: u32, groups: u32, leaf_bits: u8) -> PyResult<MerkleTree> {
        let space = Subspace::of_group(group, groups);
        let missing = || PyValueError::new_err(format!("there is no group {group} of {groups}"));
        let shape = Shape::new(space.ok_or_else(missing)?, leaf_bits);
        let shape = shape.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(MerkleTree(Mutex::new(Tree::new(shape))))
    }

    /// Records that objects changed from one version to another; 0 means that the object does not exist.
    fn update(&self, py: Python<'_>, names: Vec<Vec<u8>>, old: &[u8], new: &[u8]) -> PyResult<()> {
        let (old, new) = (u64s(old)?, u64s(new)?);
        if old.len() != names.len() || new.len() != names.len() {
            let message = format!(
                "{} names, {} old and {} new versions: give one of each",
                names.len(),
                old.len(),
                new.len()
            );
            return Err(PyValueError::new_err(message));
        }
        py.detach(|| {
            let mut tree = self.tree();
            let space = tree.shape().space();
            let hashes: Vec<u32> = names.iter().map(|name| name_hash(name)).collect();
            let outside = hashes.iter().position(|hash| !space.contains(Position::of_hash(*hash)));
            if let Some(at) = outside {
                let name = String::from_utf8_lossy(&names[at]);
                return Err(PyValueError::new_err(format!(
                    "`{name}` does not belong to the group of this tree"
                )));
            }
            let version = |number: u64| (number != 0).then_some(Version(number));
            for (((name, hash), old), new) in names.iter().zip(hashes).zip(old).zip(new) {
                tree.update(hash, ObjectId::of_name(name), version(old), version(new));
            }
            Ok(())
        })
    }

    /// The digest of the whole tree.
    fn root(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.tree().settle().root())
    }

    /// The digests of all leaves.
    fn leaves<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let leaves = py.detach(|| self.tree().leaves().to_vec());
        bytes_of_u64s(py, &leaves)
    }

    /// The ranges of positions where two trees differ: first and last of each.
    fn difference<'py>(&self, py: Python<'py>, other: &MerkleTree) -> PyResult<Bound<'py, PyBytes>> {
        let found = py.detach(|| {
            // One lock at a time, so that two threads that compare two trees both ways never wait for each
            // other.
            let mut theirs = other.tree().clone();
            let mut ours = self.tree();
            ours.settle().difference(&theirs.settle())
        });
        let ranges = found.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let ends: Vec<u32> = ranges.iter().flat_map(|range| [range.first.0, range.last.0]).collect();
        bytes_of_u32s(py, &ends)
    }

    /// A copy.
    fn copy(&self) -> MerkleTree {
        MerkleTree(Mutex::new(self.tree().clone()))
    }
}

/// The positions of objects in the order of a group.
#[pyfunction]
pub fn positions<'py>(py: Python<'py>, names: Vec<Vec<u8>>) -> PyResult<Bound<'py, PyBytes>> {
    let positions: Vec<u32> =
        py.detach(|| names.iter().map(|name| Position::of_hash(name_hash(name)).0).collect());
    bytes_of_u32s(py, &positions)
}
