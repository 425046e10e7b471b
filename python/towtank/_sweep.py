"""Campaigns on Dask: a task runs some replicates of one point on a worker, and the client keeps the results.

The plan, the keys of results, the files of finished runs and the report are those of ``towtank run --out``, so
a directory may be begun by one and finished by the other. Only the client writes; workers need no common file
system, but for the input files that a scenario names, which they read under the same paths.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from towtank import _progress, _run, _towtank
from towtank._errors import Interrupted
from towtank._report import Report, _needs

if TYPE_CHECKING:
    import pandas as pd

BLOCKS_PER_THREAD = 16
"""How many tasks each thread of the cluster gets, where ``block`` is not given: enough that threads end
together, and few enough that the scheduler's work does not show."""

BLOCK_MAX = 64
"""The most runs of a task, where ``block`` is not given: what the loss of a worker costs, and how rarely the
client hears of progress."""

Task = tuple[int, int]
"""A point and a replicate, both from 0."""


class Sweep:
    """A campaign in progress on a cluster, from :func:`sweep` with ``wait=False``.

    ``futures`` are Dask's; ``report()`` and ``frame()`` show what has come back so far, and ``result()`` waits
    for the rest.
    """

    def __init__(
        self, source: dict[str, Any], options: dict[str, Any], client: Any, block: int | None, retries: int = 0
    ) -> None:
        self._campaign = _towtank.Delegated(source, options)
        self._client = client
        self._blocks: dict[Any, list[Task]] = {}
        self._report: Report | None = None
        self._closed = False
        self._done = self._campaign.done()
        self.remarks: list[str] = list(self._campaign.remarks)
        """What there is to say about the directory: runs that are kept, files that are damaged."""
        try:
            tasks = self._campaign.open_tasks()
            size = block or _block_size(len(tasks), _threads(client))
            for part in blocks(tasks, size):
                future = client.submit(run_block, source, part, pure=False, retries=retries)
                self._blocks[future] = part
        except BaseException:
            self.cancel()
            raise

    @property
    def futures(self) -> list[Any]:
        """The futures of the tasks that are not taken yet."""
        return list(self._blocks)

    @property
    def done(self) -> tuple[int, int]:
        """How many runs are done, and of how many."""
        if not self._closed:
            self._done = self._campaign.done()
        return self._done

    def report(self) -> Report | None:
        """The report of what has come back so far; ``None`` if that is nothing."""
        if self._report is not None:
            return self._report
        self._take_ready()
        found = self._campaign.report()
        return None if found is None else Report(found)

    def frame(self) -> pd.DataFrame:
        """The runs that have come back so far, one row each."""
        import pandas

        report = self.report()
        return pandas.DataFrame() if report is None else report.runs

    def result(self, tell: Callable[[int, int], None] = lambda done, of: None) -> Report:
        """Wait for all runs, write the report into the directory, and return it.

        Calls ``tell`` with the number of runs that are done, and of all. A task that fails ends the campaign:
        what is finished is kept where there is an ``out``.
        """
        if self._report is not None:
            return self._report
        try:
            tell(*self.done)
            from distributed import as_completed

            for future in as_completed(list(self._blocks)):
                self._take(future)
                tell(*self.done)
            report = self._finish()
        except KeyboardInterrupt:
            self.cancel(close=False)
            partial = self._campaign.report()
            if partial is not None:
                self._campaign.finish(partial)
            raise Interrupted(partial, *self.done) from None
        except BaseException:
            self._keep_ready()
            raise
        finally:
            self.cancel()
        self._report = report
        return report

    def cancel(self, *, close: bool = True) -> None:
        """Give up what is not taken yet, and the directory."""
        futures, self._blocks = list(self._blocks), {}
        if futures:
            self._client.cancel(futures)
        if close and not self._closed:
            self._done = self._campaign.done()
            self._closed = True
            self._campaign.close()

    def _take(self, future: Any) -> None:
        tasks = self._blocks.pop(future)
        for (point, replicate), file in zip(tasks, future.result(), strict=True):
            self._campaign.accept(point, replicate, file)

    def _take_ready(self) -> None:
        for future in [future for future in self._blocks if future.status == "finished"]:
            self._take(future)

    def _keep_ready(self) -> None:
        """Take what came back although the campaign fails, so that it need not be run again."""
        with suppress(Exception):
            self._take_ready()

    def _finish(self) -> Report:
        found = self._campaign.report()
        if found is None:
            raise RuntimeError("all tasks ended without a result")
        return Report(found, self._campaign.finish(found))


def sweep(
    scenario: _run.Scenarios | None = None,
    /,
    *,
    study: str | None = None,
    over: Mapping[str, Sequence[Any]] | None = None,
    client: Any = None,
    out: str | os.PathLike[str] | None = None,
    block: int | None = None,
    retries: int = 0,
    wait: bool = True,
    fail_if: str | Sequence[str] = (),
    force: bool = False,
    quiet: bool | None = None,
    keys: Mapping[str, Any] | None = None,
    **more: Any,
) -> Any:
    """Run a campaign on a Dask cluster: the report of :func:`run`, byte for byte, from many machines.

    ``client`` is a ``distributed.Client``; without one, a cluster of one process per core is started on this
    machine and closed afterwards. A task has ``block`` replicates of one point. With ``wait=False`` a
    :class:`Sweep` is returned at once, with futures and partial results.

    What a directory ``out`` has already is not run again, whether this or the command ran it. A worker that is
    lost costs the runs that it was doing: the scheduler gives them to another. A run that fails would fail
    again, so it ends the campaign, unless ``retries`` says how often to try.
    """
    distributed = _needs("distributed", "dask")
    source = _run.source_of(scenario, study, keys, more, over, fail_if)
    options = _run.options("sequential", None, None, out, force, False)
    if client is None and not wait:
        raise TypeError("wait=False needs a client, which lives as long as the sweep")
    # Before a cluster is started for nothing.
    _towtank.Scenario(**source)
    own = None if client is not None else distributed.LocalCluster(dashboard_address=None, threads_per_worker=1)
    try:
        used = client if own is None else distributed.Client(own)
        try:
            started = Sweep(source, options, used, block, retries)
            return _wait(started, quiet) if wait else started
        finally:
            if own is not None:
                used.close()
    finally:
        if own is not None:
            own.close()


def _wait(started: Sweep, quiet: bool | None) -> Report:
    shower = _progress.shower(quiet)
    remarks = started.remarks

    def tell(done: int, of: int) -> None:
        nonlocal remarks
        shower(done, of, 0.0, 0, remarks)
        remarks = []

    try:
        report = started.result(tell)
    finally:
        shower.end()
    for gate, reasons in report.unmet.items():
        print("\n  ".join([f"gate not met: {gate}", *reasons]), file=sys.stderr)
    return report


def blocks(tasks: Sequence[Task], size: int) -> Iterator[list[Task]]:
    """Tasks in blocks of at most ``size``, each of one point.

    >>> list(blocks([(0, 0), (0, 1), (0, 2), (1, 0)], 2))
    [[(0, 0), (0, 1)], [(0, 2)], [(1, 0)]]
    """
    for _, same in groupby(tasks, key=lambda task: task[0]):
        point = list(same)
        yield from (point[at : at + size] for at in range(0, len(point), size))


def _block_size(tasks: int, threads: int) -> int:
    return max(1, min(BLOCK_MAX, tasks // (threads * BLOCKS_PER_THREAD)))


def _threads(client: Any) -> int:
    threads: dict[str, int] = client.nthreads()
    return max(1, sum(threads.values()))


def run_block(source: dict[str, Any], tasks: list[Task]) -> list[bytes]:
    """Run some replicates on this worker, and return the files of their results."""
    return [_runner(_Key(source)).run(point, replicate) for point, replicate in tasks]


class _Key:
    """A source as the key of a cache."""

    def __init__(self, source: dict[str, Any]) -> None:
        self.source = source
        self._text = repr(source)

    def __hash__(self) -> int:
        return hash(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other._text == self._text


@lru_cache(maxsize=4)
def _runner(key: _Key) -> _towtank.Runner:
    """The scenario of a campaign, checked once on each worker."""
    return _towtank.Runner(key.source)
