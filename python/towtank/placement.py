"""Placement algorithms over servers, for many keys at once.

>>> import numpy as np
>>> import towtank as tt
>>> ring = tt.placement.Ring(8, vnodes=64)
>>> ring.lookup(np.arange(1000, dtype=np.uint64), replicas=3).shape
(1000, 3)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from towtank import _towtank
from towtank.crush import _whole

VNODES = 64
"""Virtual nodes of a server of weight 1, where none are given: the default of scenarios."""

SLOTS = 65_537
"""Slots of the table of ``maglev``, where none are given: a prime, which must stay when servers come or go."""


class Placement:
    """An algorithm by its name in scenarios, set up for servers: a number of them, or their weights."""

    def __init__(
        self,
        algorithm: str,
        servers: int | Sequence[float],
        *,
        vnodes: int = VNODES,
        slots: int = SLOTS,
        replicas: int = 3,
        seed: int = 1,
    ) -> None:
        shares = np.ones(servers) if isinstance(servers, int) else np.asarray(servers, dtype=np.float64)
        fixed = np.rint(shares * 0x1_0000).astype(np.uint32)
        self.algorithm = algorithm
        self.servers = len(fixed)
        self._inner = _towtank.Placement(algorithm, fixed.tobytes(), vnodes, slots, replicas, seed)

    def lookup(self, keys: npt.ArrayLike, replicas: int = 1) -> npt.NDArray[np.int32]:
        """The first ``replicas`` servers of each key; -1 stands where there are fewer."""
        wanted = _whole(keys, "keys", np.uint64)
        found = self._inner.lookup(wanted.tobytes(), replicas)
        return np.frombuffer(found, dtype=np.int32).reshape(*wanted.shape, replicas)

    def shares(self, keys: npt.ArrayLike, replicas: int = 1) -> npt.NDArray[np.float64]:
        """The share of the replicas of these keys that each server holds."""
        held = self.lookup(keys, replicas)
        counts = np.bincount(held[held >= 0], minlength=self.servers)
        shares: npt.NDArray[np.float64] = counts / max(int(counts.sum()), 1)
        return shares

    def moved(self, other: Placement, keys: npt.ArrayLike, replicas: int = 1) -> float:
        """The share of the replicas of these keys that another placement has on other servers."""
        ours, theirs = self.lookup(keys, replicas), other.lookup(keys, replicas)
        stay = (ours[..., :, None] == theirs[..., None, :]).any(axis=-1)
        return float(1.0 - stay.mean()) if stay.size else 0.0


class Ring(Placement):
    """A ring of consistent hashing with virtual nodes."""

    def __init__(self, servers: int | Sequence[float], *, vnodes: int = VNODES, seed: int = 1) -> None:
        super().__init__("ring", servers, vnodes=vnodes, seed=seed)


class Rendezvous(Placement):
    """Rendezvous hashing."""

    def __init__(self, servers: int | Sequence[float], *, seed: int = 1) -> None:
        super().__init__("rendezvous", servers, seed=seed)


class Jump(Placement):
    """Jump consistent hash."""

    def __init__(self, servers: int | Sequence[float], *, seed: int = 1) -> None:
        super().__init__("jump", servers, seed=seed)
