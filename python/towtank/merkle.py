"""Merkle trees over the objects of a placement group, with many changes at once.

>>> import towtank as tt
>>> primary = tt.merkle.Tree(leaf_bits=10)
>>> primary.update(["a", "b", "c"], new=[1, 1, 1])
>>> replica = primary.copy()
>>> primary.update(["b"], old=[1], new=[2])
>>> primary.root == replica.root
False
>>> ranges = primary.difference(replica)
>>> at = tt.merkle.positions(["b"])[0]
>>> bool((ranges[:, 0] <= at).any() and (at <= ranges[:, 1]).any())
True
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from towtank import _towtank
from towtank.crush import _raw, _whole


class Tree:
    """A tree with 2^``leaf_bits`` leaves over the objects of one group of a pool."""

    def __init__(self, *, leaf_bits: int, group: int = 0, groups: int = 1) -> None:
        self._inner = _towtank.MerkleTree(group, groups, leaf_bits)

    def update(
        self,
        names: Iterable[str | bytes],
        old: npt.ArrayLike | None = None,
        new: npt.ArrayLike | None = None,
    ) -> None:
        """Record that objects changed from version ``old`` to ``new``; 0, or none given, means that there is none."""
        raw = _raw(names)
        none = np.zeros(len(raw), dtype=np.uint64)
        before = none if old is None else _whole(old, "old", np.uint64)
        after = none if new is None else _whole(new, "new", np.uint64)
        self._inner.update(raw, before.tobytes(), after.tobytes())

    @property
    def root(self) -> int:
        """The digest of the whole tree: equal trees have equal roots."""
        return self._inner.root()

    @property
    def leaves(self) -> npt.NDArray[np.uint64]:
        """The digests of the leaves, in the order of positions."""
        return np.frombuffer(self._inner.leaves(), dtype=np.uint64)

    def difference(self, other: Tree) -> npt.NDArray[np.uint32]:
        """The ranges of positions where two trees differ: first and last position of each."""
        return np.frombuffer(self._inner.difference(other._inner), dtype=np.uint32).reshape(-1, 2)

    def copy(self) -> Tree:
        """A copy, which later changes do not affect."""
        twin = Tree.__new__(Tree)
        twin._inner = self._inner.copy()
        return twin


def positions(names: Iterable[str | bytes]) -> npt.NDArray[np.uint32]:
    """The positions of objects in the order in which Ceph lists a group."""
    return np.frombuffer(_towtank.positions(_raw(names)), dtype=np.uint32)
