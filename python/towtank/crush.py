"""CRUSH, bit for bit as Ceph computes it, for many inputs at once.

>>> import numpy as np
>>> import towtank as tt
>>> map = tt.crush.Map.parse(TEXT)
>>> map.map("replicated_rule", np.arange(3), num_rep=2).shape
(3, 2)
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from towtank import _towtank


class Map:
    """A CRUSH map."""

    def __init__(self, inner: _towtank.CrushMap) -> None:
        self._inner = inner

    @staticmethod
    def read(path: str | os.PathLike[str]) -> Map:
        """Read a map from a file: binary, text or JSON, each possibly compressed by gzip."""
        return Map(_towtank.CrushMap.read(os.fspath(path), Path(path).read_bytes()))

    @staticmethod
    def parse(content: str | bytes) -> Map:
        """Read a map from a text or from bytes."""
        raw = content.encode() if isinstance(content, str) else content
        return Map(_towtank.CrushMap.read("text", raw))

    @property
    def rules(self) -> dict[str, int]:
        """The rules: their names and ids."""
        return {name: number for number, name in self._inner.rules()}

    @property
    def max_devices(self) -> int:
        """One more than the greatest device id."""
        return self._inner.max_devices

    def map(
        self,
        rule: str | int,
        xs: npt.ArrayLike,
        num_rep: int,
        *,
        weights: npt.ArrayLike | None = None,
        pool: int = 0,
        threads: int = 1,
    ) -> npt.NDArray[np.int32]:
        """Map inputs by a rule to ``num_rep`` devices each; -1 stands where there is none.

        ``weights`` say how far each device is in, from 0 to 1; without them all that a bucket contains are
        fully in. ``pool`` selects the choose args.
        """
        if num_rep < 1:
            raise ValueError(f"`num_rep` is {num_rep}, but must be at least 1")
        inputs = _uint32(xs, "xs")
        if weights is None:
            shares = self._inner.present_weights()
        else:
            shares = np.rint(np.asarray(weights, dtype=np.float64) * 0x1_0000).astype(np.uint32).tobytes()
        found = self._inner.map(str(rule), inputs.tobytes(), num_rep, shares, pool, threads)
        return np.frombuffer(found, dtype=np.int32).reshape(*inputs.shape, num_rep)


def name_hash(names: Iterable[str | bytes]) -> npt.NDArray[np.uint32]:
    """The hashes by which Ceph places objects of these names.

    >>> import towtank as tt
    >>> tt.crush.name_hash(["foo"])
    array([2143417350], dtype=uint32)
    """
    return np.frombuffer(_towtank.name_hashes(_raw(names)), dtype=np.uint32)


def _raw(names: Iterable[str | bytes]) -> list[bytes]:
    return [name.encode() if isinstance(name, str) else name for name in names]


def _uint32(values: npt.ArrayLike, what: str) -> npt.NDArray[np.uint32]:
    return _whole(values, what, np.uint32)


def _whole(values: npt.ArrayLike, what: str, kind: Any) -> npt.NDArray[Any]:
    """An array of whole numbers that fit, or an error: a cast would change them without a word."""
    array = np.asarray(values)
    if array.dtype == kind:
        return np.ascontiguousarray(array)
    limits = np.iinfo(kind)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"`{what}` has values of {array.dtype}, but must have whole numbers")
    if array.size and (int(array.min()) < 0 or int(array.max()) > limits.max):
        raise ValueError(f"`{what}` goes from {array.min()} to {array.max()}, but must be in 0 to {limits.max}")
    return np.ascontiguousarray(array.astype(kind))
