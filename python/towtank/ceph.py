"""Exports of a Ceph cluster. Nothing here contacts a cluster."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from towtank import _towtank
from towtank.crush import Map

if TYPE_CHECKING:
    import pandas as pd

_OSDS = ("osd", "up", "reweight", "primary_affinity", "medium")
_POOLS = ("pool", "name", "size", "min_size", "pg_num", "crush_rule", "bytes", "objects")


@dataclass(frozen=True)
class ClusterReport:
    """What the output of ``ceph report`` says."""

    map: Map
    """The CRUSH map."""
    osds: pd.DataFrame
    """One row per device."""
    pools: pd.DataFrame
    """One row per pool; bytes and objects without copies."""
    notes: list[str]
    """What was skipped or replaced to read it."""


def read_report(path: str | os.PathLike[str]) -> ClusterReport:
    """Read the output of ``ceph report``, possibly compressed by gzip."""
    from towtank._report import _needs

    crush, osds, pools, notes = _towtank.ceph_report(os.fspath(path), Path(path).read_bytes())
    frame = _needs("pandas", "pandas").DataFrame
    return ClusterReport(
        map=Map(crush),
        osds=frame(json.loads(osds), columns=list(_OSDS)),
        pools=frame(json.loads(pools), columns=list(_POOLS)),
        notes=notes,
    )
