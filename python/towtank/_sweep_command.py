"""``python -m towtank sweep``: a campaign on a Dask cluster from the shell."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from towtank import _sweep
from towtank._errors import Interrupted, RunError, ScenarioError
from towtank._report import _needs

DONE, FAILED, BAD_INPUT, GATE_NOT_MET, INTERRUPTED = 0, 1, 2, 3, 130


def main(arguments: list[str]) -> int:
    """Run the command with these arguments, and return its exit code."""
    flags = _parser().parse_args(arguments)
    try:
        keys = dict(_key(text) for text in flags.set)
        over = dict(_values(text) for text in flags.over)
        with _client(flags.dask) as client:
            report = _sweep.sweep(
                flags.scenario,
                over=over,
                client=client,
                out=flags.out,
                block=flags.block,
                fail_if=flags.fail_if,
                force=flags.force,
                quiet=flags.quiet or None,
                keys=keys,
            )
    except (ScenarioError, _MalformedError) as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    except (RunError, OSError, ImportError) as error:
        print(error if isinstance(error, RunError) else f"error: {error}", file=sys.stderr)
        return FAILED
    except Interrupted as stopped:
        print(stopped.words(flags.out is not None), file=sys.stderr)
        return INTERRUPTED
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    if flags.out is not None and not flags.quiet:
        print(f"report: {flags.out}/report.html", file=sys.stderr)
    print(report.text(), end="")
    return GATE_NOT_MET if report.unmet else DONE


class _MalformedError(ValueError):
    """A flag that is not of the form that it needs."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m towtank sweep",
        description="Run a campaign on a Dask cluster, with the results and the directory of `towtank run --out`.",
        epilog="Exit codes: 0 done, 1 failed, 2 bad input, 3 a gate not met, 130 interrupted.",
    )
    add = parser.add_argument
    add("scenario", metavar="FILE|NAME", help="a scenario file, or the name of a built-in scenario")
    add("--dask", default="local", metavar="WHERE", help=f"{_WHERE} [default: local]")
    add("--out", metavar="DIR", help="keep every finished run there; the same command resumes")
    add("--over", action="append", default=[], metavar="KEY=A,B,C", help="sweep a key over values")
    add("--set", action="append", default=[], metavar="KEY=VALUE", help="set a key of the scenario")
    add(
        "--replicates",
        dest="set",
        action="append",
        type=lambda text: f"replicates={text}",
        metavar="N",
        help="runs of each point",
    )
    add("--block", type=_positive, metavar="N", help="runs of a task [default: by the size of the cluster]")
    add("--fail-if", action="append", default=[], metavar="GATE", help="a gate, as in `wait_mean > 5s`")
    add("--force", action="store_true", help="write into a directory that holds other results")
    add("-q", "--quiet", action="store_true", help="no progress")
    return parser


_WHERE = "tcp://HOST:PORT of a scheduler, local, local:N for N processes here, or slurm, pbs … by dask-jobqueue"


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"it is {number}, but must be at least 1")
    return number


def _key(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals:
        raise _MalformedError(f"error: `{text}` has no value\nhint: write key=value, as in replicates=10")
    return key.strip(), _value(value.strip())


def _values(text: str) -> tuple[str, list[Any]]:
    key, equals, values = text.partition("=")
    if not equals or not values.strip():
        raise _MalformedError(f"error: `{text}` has no values\nhint: write key=a,b,c, as in cluster.servers=8,16,32")
    return key.strip(), [_value(value.strip()) for value in values.split(",")]


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text, text)


@contextmanager
def _client(where: str) -> Iterator[Any]:
    """A client of the cluster that the flag names."""
    distributed = _needs("distributed", "dask")
    if "://" in where:
        try:
            client = distributed.Client(where, timeout="10s")
        except (OSError, ValueError) as error:
            hint = "check that a scheduler listens there: `dask scheduler` prints its address"
            raise _MalformedError(f"error: {error}\nhint: {hint}") from error
        with client:
            yield client
        return
    kind, _, count = where.partition(":")
    if kind == "local":
        if count and not count.isdigit():
            raise _MalformedError(f"error: `{where}` has no number of processes\nhint: write local:4")
        workers = int(count) if count else None
        cluster = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
    else:
        name = {"slurm": "SLURM", "pbs": "PBS", "sge": "SGE", "lsf": "LSF", "moab": "Moab", "oar": "OAR"}.get(kind)
        if name is None:
            raise _MalformedError(f"error: `{where}` is no cluster\nhint: write {_WHERE}")
        # Queue, cores and memory come from dask-jobqueue's configuration.
        cluster = getattr(_needs("dask_jobqueue", "jobqueue"), f"{name}Cluster")()
        cluster.adapt(minimum=0, maximum=int(count) if count else 10)
    with cluster, distributed.Client(cluster) as client:
        yield client
