"""Towtank: what-if answers for distributed storage.

>>> import towtank as tt
>>> report = tt.run("queue-mm1", replicates=2, span="100s", quiet=True)
>>> print(report.answer)
A job waits ...

Everything that can be done with the ``towtank`` command can be done here: :func:`run` runs a scenario,
:func:`whatif` asks about a Ceph cluster, :func:`reproduce` judges published claims, :func:`sweep` runs a
campaign on a cluster of machines with Dask.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from towtank._errors import Interrupted, ModelError, Problem, RunError, ScenarioError
from towtank._model import Context, Model, Simulated, simulate
from towtank._report import Figure, Report
from towtank._run import reproduce, resolve, run, scenarios, show, studies, whatif
from towtank._sweep import Sweep, sweep
from towtank._towtank import __version__

# They are known by the names that users catch them by.
for _error in (Interrupted, ModelError, RunError, ScenarioError):
    _error.__module__ = "towtank"

if TYPE_CHECKING:
    from towtank import capacity, ceph, crush, merkle, placement

_PARTS = ("capacity", "ceph", "crush", "merkle", "placement")


def __getattr__(name: str) -> Any:
    """Load a part when it is used: the command starts without numpy."""
    if name in _PARTS:
        return importlib.import_module(f"towtank.{name}")
    raise AttributeError(f"module 'towtank' has no attribute {name!r}")


__all__ = [
    "Context",
    "Figure",
    "Interrupted",
    "Model",
    "ModelError",
    "Problem",
    "Report",
    "RunError",
    "ScenarioError",
    "Simulated",
    "Sweep",
    "__version__",
    "capacity",
    "ceph",
    "crush",
    "merkle",
    "placement",
    "reproduce",
    "resolve",
    "run",
    "scenarios",
    "show",
    "simulate",
    "studies",
    "sweep",
    "whatif",
]
