"""From a scenario to its report: ``run`` and its relatives."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from towtank import _progress, _towtank, _values
from towtank._report import Report

if TYPE_CHECKING:
    import pandas as pd

Scenarios = str | os.PathLike[str]
"""A built-in scenario's name, the path of a file, or a scenario's text."""


def run(
    scenario: Scenarios | None = None,
    /,
    *,
    study: str | None = None,
    out: str | os.PathLike[str] | None = None,
    over: Mapping[str, Sequence[Any]] | None = None,
    fail_if: str | Sequence[str] = (),
    jobs: int | None = None,
    executor: str = "sequential",
    workers: int | None = None,
    force: bool = False,
    allow_memory: bool = False,
    quiet: bool | None = None,
    keys: Mapping[str, Any] | None = None,
    **more: Any,
) -> Report:
    """Run a scenario, or a study whose keys are all given here, and return its report.

    Keywords are the flags of the command with underscores, or keys of the scenario; ``keys`` takes those
    whose names are not words. Values are as people write them (``"1TiB"``), or numbers whose unit is in the
    keyword (``per_server_tib=1``). ``over`` sweeps a key over values. The other arguments are the command's
    flags: ``out`` keeps finished runs, and the same call resumes.

    An interrupt ends it within a second: ``Interrupted`` has the report of what was finished.

    >>> import towtank as tt
    >>> report = tt.run(study="queue", arrival_rate="8/s", service_rate="1/s", servers=10,
    ...                 span_s=50, replicates=2, quiet=True)
    >>> report.partial
    False
    >>> tt.run("queue-mm1", replicates=0, quiet=True)
    Traceback (most recent call last):
    towtank.ScenarioError: error: `replicates` is 0, but it must be at least 1
    ...
    """
    source = source_of(scenario, study, keys, more, over, fail_if)
    checked = _towtank.Scenario(**source)
    given = options(executor, workers, jobs, out, force, allow_memory)
    shower = _progress.shower(quiet)
    try:
        report, unmet = _towtank.run(checked, given, shower)
    finally:
        shower.end()
    for gate, reasons in unmet:
        print("\n  ".join([f"gate not met: {gate}", *reasons]), file=sys.stderr)
    return Report(report, unmet)


def whatif(*, report: str | os.PathLike[str] | None = None, **more: Any) -> Report:
    """Ask what a change of a Ceph cluster does, from its exports: ``whatif(report="report.json", fail="osd.3")``.

    Takes the flags of ``towtank whatif`` as keywords, and the arguments of :func:`run`. Changes happen in the
    order of the keywords.
    """
    if report is not None:
        more = {"report": report, **more}
    return run(study="whatif", **more)


def reproduce(
    *names: str,
    quick: bool = False,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    quiet: bool | None = None,
) -> Report:
    """Run published set-ups (those named, those of the named studies, or all), and judge their claims.

    ``quick`` chooses those that take little time together.
    """
    given = options("sequential", None, jobs, out, False, False)
    shower = _progress.shower(quiet)
    try:
        return Report(_towtank.reproduce(list(names), quick, given, shower))
    finally:
        shower.end()


def studies() -> pd.DataFrame:
    """The studies: their names, their questions, and their keywords with the keys that these set.

    >>> import towtank as tt
    >>> "rebuild" in list(tt.studies()["study"])
    True
    """
    from towtank._report import _needs

    rows = [(name, title, dict(flags)) for name, title, flags in _towtank.studies()]
    frame: pd.DataFrame = _needs("pandas", "pandas").DataFrame(rows, columns=["study", "question", "keywords"])
    return frame


def scenarios() -> pd.DataFrame:
    """The built-in scenarios: their names, studies and titles."""
    from towtank._report import _needs

    columns = ["scenario", "study", "title"]
    frame: pd.DataFrame = _needs("pandas", "pandas").DataFrame(_towtank.scenarios(), columns=columns)
    return frame


def show(name: str) -> str:
    """The text of a built-in scenario, to edit and to pass to :func:`run`."""
    return _towtank.scenario_text(name)


def resolve(
    scenario: Scenarios | None = None,
    /,
    *,
    study: str | None = None,
    over: Mapping[str, Sequence[Any]] | None = None,
    keys: Mapping[str, Any] | None = None,
    **more: Any,
) -> str:
    """Check a scenario, and return it in TOML with every default filled in."""
    return _towtank.Scenario(**source_of(scenario, study, keys, more, over, ())).to_toml()


def options(
    executor: str,
    workers: int | None,
    jobs: int | None,
    out: str | os.PathLike[str] | None,
    force: bool,
    allow_memory: bool,
) -> dict[str, Any]:
    """The options of a run as the extension takes them."""
    return {
        "executor": executor,
        "workers": workers,
        "jobs": jobs,
        "out": None if out is None else os.fspath(out),
        "force": force,
        "allow_memory": allow_memory,
    }


def source_of(
    scenario: Scenarios | None,
    study: str | None,
    keys: Mapping[str, Any] | None,
    more: Mapping[str, Any],
    over: Mapping[str, Sequence[Any]] | None,
    fail_if: str | Sequence[str],
) -> dict[str, Any]:
    """A scenario before it is checked, as the extension takes it; plain data, so that it can be sent."""
    if (scenario is None) == (study is None):
        raise TypeError("give either a scenario (a name, a path or a text) or study=…")
    return {
        "origin": _origin(scenario) if scenario is not None else _of_study(str(study)),
        "given": _values.given({**more, **(keys or {})}),
        "over": _values.given({key: list(values) for key, values in (over or {}).items()}),
        "fail_if": [fail_if] if isinstance(fail_if, str) else list(fail_if),
    }


def _of_study(study: str) -> dict[str, Any]:
    return {"kind": "study", "what": study, "name": "", "folder": os.getcwd()}


def _origin(scenario: Scenarios) -> dict[str, Any]:
    what = os.fspath(scenario)
    path = Path(what)
    if "\n" in what or ("=" in what and not path.exists()):
        return {"kind": "text", "what": what, "name": "text", "folder": os.getcwd()}
    return {"kind": "find", "what": what, "name": "", "folder": ""}
