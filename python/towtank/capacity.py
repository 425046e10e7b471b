"""The capacity of a system for any mix, from measurements of pure reads and pure writes.

>>> import towtank as tt
>>> model = tt.capacity.fit(
...     {"size": ["4KiB", "4KiB"], "read_percent": [100, 0], "iops": [9000.0, 3000.0]})
>>> found = model.estimate("4KiB:100%:r70")
>>> round(found.total_per_s)
5625
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from towtank import _towtank

COLUMNS = ("system", "size", "read_percent", "iops", "run", "shares")
"""The columns of a frame of measurements; ``size``, ``read_percent`` and ``iops`` are needed."""


@dataclass(frozen=True)
class Rate:
    """A rate with the ends of its interval, which are ``None`` where runs are too few to tell."""

    value: float
    low: float | None
    high: float | None

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.value, digits)

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True)
class Estimate:
    """The rates of a mix."""

    total_per_s: Rate
    reads_per_s: Rate
    writes_per_s: Rate
    bandwidth_bytes_per_s: Rate
    parts: list[dict[str, Any]]
    """The rates of each part of the mix, its size, and whether that size was measured."""


class Model:
    """A model of a system's capacity."""

    def __init__(self, inner: _towtank.CapacityModel, notes: list[str]) -> None:
        self._inner = inner
        self.notes = notes
        """What was skipped in the measurements."""

    @property
    def json(self) -> dict[str, Any]:
        """The model as ``towtank capacity fit -o`` writes it."""
        model: dict[str, Any] = json.loads(self._inner.json())
        return model

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model for ``towtank capacity estimate``."""
        Path(path).write_text(self._inner.json(), encoding="utf-8")

    def estimate(
        self, mix: str, *, shares: str = "operations", extrapolate: bool = False, curved: bool = False
    ) -> Estimate:
        """The rates of a mix, such as ``16KiB:90%:r70,1MiB:10%:r100``, in the notation of the command."""
        found = self._inner.estimate(mix, shares, extrapolate, curved)
        parts = found.pop("parts")
        return Estimate(parts=parts, **{name: Rate(*ends) for name, ends in found.items()})


def fit(measured: Any, *, system: str | None = None) -> Model:
    """Fit a model to measurements: a frame (or a dict of columns), a path, or several paths.

    Files may be of any format that ``towtank capacity fit`` reads: fio, elbencho, warp, rados bench, COSBench,
    or CSV with the columns of a frame.
    """
    if isinstance(measured, (str, os.PathLike)):
        files = [_file(measured)]
    elif isinstance(measured, Sequence):
        files = [_file(path) for path in measured]
    else:
        files = [("frame", _csv(measured))]
    return Model(*_towtank.CapacityModel.fit(files, system))


def _file(path: str | os.PathLike[str]) -> tuple[str, bytes]:
    return os.fspath(path), Path(path).read_bytes()


def _csv(frame: Mapping[str, Any]) -> bytes:
    names = [name for name in COLUMNS if name in frame]
    missing = [name for name in ("size", "read_percent", "iops") if name not in names]
    if missing:
        raise ValueError(f"the frame has no column `{missing[0]}`; its columns are {', '.join(frame)}")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    columns = [[_cell(value) for value in frame[name]] for name in names]
    writer.writerows(zip(*columns, strict=True))
    return out.getvalue().encode()


def _cell(value: Any) -> Any:
    """A frame has NaN where a file has nothing."""
    return "" if value is None or value != value else value
