"""Measures of the package beside the command, in turns: sweeps on Dask, and CRUSH on an array.

``python python/benches/measure.py [--runs 2000] [--rounds 3]`` in an environment with the wheel and Dask. The
command is the one that the wheel installs. Prints one line per measure: median (least to most).
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client, LocalCluster

import towtank as tt

MAP = Path(__file__).parents[2] / "docs/examples/cluster/crush.txt"
COMMAND = [sys.executable, "-m", "towtank"]


def seconds(work: Callable[[], Any]) -> float:
    """How long something takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def timed(line: list[str]) -> float:
    """How long a command takes."""
    begin = time.perf_counter()
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def shown(values: list[float], digits: int = 2) -> str:
    """The median, and the range."""
    low, mid, high = (f"{of(values):.{digits}f}" for of in (min, statistics.median, max))
    return f"{mid} ({low} to {high})"


def sweeps(runs: int, rounds: int, load: str) -> None:
    """A campaign of so many runs: the command with two jobs, and two Dask workers on this machine."""
    points = 10
    keys = {"servers": 16, "per_server": load, "fail": "server=3"}
    over = {"recovery_max_active": list(range(4, 4 + points))}
    replicates = runs // points
    with (
        tempfile.TemporaryDirectory() as place,
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        text = ['study = "rebuild"', f"replicates = {replicates}"]
        text += [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
        text += ["[sweep]", f"recovery_max_active = {over['recovery_max_active']}"]
        scenario = Path(place) / "sweep.toml"
        scenario.write_text("\n".join(text) + "\n")
        one = timed([*COMMAND, "run", str(scenario), "--jobs", "1", "--replicates", "20", "--quiet"])
        print(f"a run takes about {one / (20 * points) * 1e3:.0f} ms")
        command, dask = [], []
        for turn in range(rounds):
            out = [f"{place}/{who}{turn}" for who in ("command", "dask")]
            line = [*COMMAND, "run", str(scenario), "--jobs", "2", "--quiet", "--out", out[0]]
            command.append(timed(line))
            begin = time.perf_counter()
            tt.sweep(str(scenario), client=client, out=out[1], quiet=True)
            dask.append(time.perf_counter() - begin)
            reports = [(Path(each) / "report.json").read_bytes() for each in out]
            assert reports[0] == reports[1], "the reports differ"
        done = points * replicates
        print(f"{done} runs, --jobs 2: {shown(command)} s")
        print(f"{done} runs, two workers of Dask: {shown(dask)} s")
        print(f"throughput against --jobs 2: {shown([c / d for c, d in zip(command, dask, strict=True)])}")
        extra = [2 * (d - c) / done * 1e3 for c, d in zip(command, dask, strict=True)]
        print(f"additional time of a run on a worker: {shown(extra, 3)} ms")


def tasks(rounds: int) -> None:
    """What a task costs that does almost nothing: one run of a queue for ten seconds."""
    count = 2_000
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):

        def once() -> None:
            keys = {"span": "10s", "warm_up": "0s"}
            tt.sweep("queue-mm1", replicates=count, client=client, block=1, quiet=True, keys=keys)

        each = [seconds(once) / count * 1e3 for _ in range(rounds)]
    print(f"tasks of one short run: {shown(each, 3)} ms each")


def crush(rounds: int) -> None:
    """A million inputs, mapped by the command and by the package."""
    count = 1_000_000
    chosen = tt.crush.Map.read(MAP)
    inputs = np.arange(count, dtype=np.uint32)
    rates: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        line = [*COMMAND, "bench", "crush", "--map", str(MAP), "--inputs", str(count), "--format", "json"]
        said = json.loads(subprocess.run(line, check=True, capture_output=True, text=True).stdout)
        rates[0].append(said["mappings_per_second"] / 1e6)
        rates[1].append(count / seconds(lambda: chosen.map(0, inputs, 3)) / 1e6)
    print(f"CRUSH, the command: {shown(rates[0])} million a second; the package: {shown(rates[1])}")
    print(f"the package against the command: {shown([b / a for a, b in zip(*rates, strict=True)])}")


def main() -> None:
    """Measure all."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--runs", type=int, default=2_000)
    ask.add_argument("--rounds", type=int, default=3)
    ask.add_argument("--load", default="60GiB", help="data of a server, which sets how long a run takes")
    flags = ask.parse_args()
    crush(flags.rounds)
    tasks(flags.rounds)
    sweeps(flags.runs, flags.rounds, flags.load)


if __name__ == "__main__":
    main()
