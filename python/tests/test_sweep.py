"""Sweeps on a real cluster of processes on this machine: the results of the command, whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import COUNTER, LONG
from distributed import Client, LocalCluster

import towtank as tt

OVER = {"stations.counter.arrival_rate": ["2/s", "5/s", "8/s"]}
SWEPT = '\n[sweep]\n"stations.counter.arrival_rate" = ["2/s", "5/s", "8/s"]\n'
WORKERS = 2


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(
        n_workers=WORKERS, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
    ) as started:
        yield started


@pytest.fixture
def client(cluster):
    with Client(cluster) as connected:
        yield connected


def by_command(towtank, tmp_path, text, name="command"):
    """The directory that the command makes of a scenario."""
    path = tmp_path / f"{name}.toml"
    path.write_text(text)
    out = tmp_path / name
    ran = towtank("run", str(path), "--out", str(out), "--quiet")
    assert ran.returncode == 0, ran.stderr
    return out


def same(one, other):
    """Whether two directories have the same report and the same results."""
    assert (one / "report.json").read_bytes() == (other / "report.json").read_bytes()
    files = {path.relative_to(one): path.read_bytes() for path in (one / "points").rglob("*.json")}
    assert files == {path.relative_to(other): path.read_bytes() for path in (other / "points").rglob("*.json")}


def test_a_sweep_is_that_of_the_command_byte_for_byte(tmp_path, client, towtank):
    want = by_command(towtank, tmp_path, COUNTER + SWEPT)
    report = tt.sweep(COUNTER, over=OVER, client=client, out=tmp_path / "dask", quiet=True)
    same(want, tmp_path / "dask")
    assert report._inner.json() == (want / "report.json").read_text()
    without = tt.sweep(COUNTER, over=OVER, client=client, block=1, quiet=True)
    assert without._inner.json() == report._inner.json()


def test_what_one_has_done_the_other_skips(tmp_path, client, towtank):
    want = by_command(towtank, tmp_path, COUNTER + SWEPT)
    begun = by_command(towtank, tmp_path, COUNTER.replace("replicates = 3", "replicates = 1") + SWEPT, "begun")
    before = {path: path.stat().st_mtime_ns for path in (begun / "points").rglob("*.json")}
    assert len(before) == 3
    started = tt.sweep(COUNTER, over=OVER, client=client, out=begun, wait=False, block=1)
    assert len(started.futures) == 6
    assert "3 runs were already finished" in started.remarks[0]
    started.result()
    same(want, begun)
    assert all(path.stat().st_mtime_ns == then for path, then in before.items())
    path = tmp_path / "again.toml"
    path.write_text(COUNTER + SWEPT)
    again = towtank("run", str(path), "--out", str(begun))
    assert "9 runs were already finished" in again.stderr


def test_results_are_there_while_a_sweep_goes_on(client):
    started = tt.sweep(LONG, over=OVER, client=client, wait=False, block=1)
    assert started.report() is None or started.report().partial
    deadline = time.monotonic() + 120
    while len(started.frame()) == 0 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert 0 < len(started.frame()) <= 9
    report = started.result()
    assert not report.partial and len(report.runs) == 9
    assert started.result() is report
    assert started.futures == [] and started.done == (9, 9)


def test_a_worker_that_is_killed_costs_nothing(tmp_path, cluster, client, towtank):
    text = LONG.replace("replicates = 3", "replicates = 4")
    want = by_command(towtank, tmp_path, text + SWEPT)
    started = tt.sweep(text, over=OVER, client=client, out=tmp_path / "dask", wait=False, block=1)
    killed = []

    def tell(done, of):
        if done >= 3 and not killed:
            process = next(iter(client.run(os.getpid).values()))
            killed.append(process)
            os.kill(process, signal.SIGKILL)

    report = started.result(tell)
    assert killed and not report.partial
    same(want, tmp_path / "dask")
    client.wait_for_workers(WORKERS)


def test_a_client_that_is_killed_leaves_what_came_back(tmp_path, cluster, towtank):
    text = LONG.replace("replicates = 3", "replicates = 4")
    want = by_command(towtank, tmp_path, text + SWEPT)
    path, out = tmp_path / "command.toml", tmp_path / "dask"
    command = [sys.executable, "-m", "towtank", "sweep", str(path), "--dask", cluster.scheduler_address]
    first = subprocess.Popen([*command, "--out", str(out), "--block", "1", "-q"], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while len(list(out.glob("points/*/*.json"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    first.kill()
    first.wait()
    kept = len(list(out.glob("points/*/r*.json")))
    assert 3 <= kept < 12
    second = subprocess.run([*command, "--out", str(out)], capture_output=True, text=True, check=False)
    assert second.returncode == 0, second.stderr
    same(want, out)


def test_bad_input_fails_before_the_cluster_and_a_failing_task_is_not_repeated(tmp_path, client):
    with pytest.raises(tt.ScenarioError, match="did you mean"):
        tt.sweep(COUNTER, over={"stations.counter.arival_rate": ["2/s"]}, client=client)
    from towtank import _run, _sweep

    source = _run.source_of(COUNTER, None, None, {}, OVER, ())
    future = client.submit(_sweep.run_block, source, [(0, 0), (7, 0)], pure=False)
    with pytest.raises(tt.ScenarioError, match="there is no replicate 0 of point 8") as caught:
        future.result()
    assert caught.value.hint == "count both from 0"


def test_a_failing_task_ends_the_sweep_and_keeps_the_rest(tmp_path, client, monkeypatch):
    from towtank import _sweep

    real = _sweep.run_block

    def fails_in_point_1(source, tasks):
        if tasks[0][0] == 1:
            time.sleep(0.5)
            raise tt.RunError(
                [
                    {
                        "message": "it broke",
                        "key": None,
                        "hint": None,
                        "text": "error: it broke\n",
                        "file": None,
                        "line": None,
                        "column": None,
                    }
                ]
            )
        return real(source, tasks)

    monkeypatch.setattr(_sweep, "run_block", fails_in_point_1)
    out = tmp_path / "out"
    with pytest.raises(tt.RunError, match="it broke"):
        tt.sweep(COUNTER, over=OVER, client=client, out=out, block=3, quiet=True)
    assert len(list(out.glob("points/*/*.json"))) >= 3
    monkeypatch.setattr(_sweep, "run_block", real)
    assert not tt.sweep(COUNTER, over=OVER, client=client, out=out, quiet=True).partial


def test_two_clients_do_not_write_into_one_directory(tmp_path, client, counter):
    out = tmp_path / "out"
    first = tt.sweep(LONG, over=OVER, client=client, out=out, wait=False)
    with pytest.raises(tt.RunError, match="is being written by another run"):
        tt.sweep(LONG, over=OVER, client=client, out=out)
    report = first.result()
    # Once the first is done, the second has nothing left to do.
    second = tt.sweep(LONG, over=OVER, client=client, out=out, wait=False)
    assert second.futures == [] and second.result()._inner.json() == report._inner.json()


def test_another_scenario_of_a_worker_is_not_taken(client, counter, monkeypatch):
    from towtank import _sweep

    real = _sweep.run_block

    def another(source, tasks):
        other = {**source, "given": [*source["given"], ("seed", "99", "number")]}
        return real(other, tasks)

    monkeypatch.setattr(_sweep, "run_block", another)
    with pytest.raises(tt.RunError, match="it belongs to key"):
        tt.sweep(counter, client=client, quiet=True)


def test_the_command_has_the_exit_codes_of_the_other(tmp_path, cluster):
    path = tmp_path / "counter.toml"
    path.write_text(COUNTER)

    def sweep(*arguments):
        command = [sys.executable, "-m", "towtank", "sweep", str(path), "--dask", cluster.scheduler_address, "-q"]
        return subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)

    done = sweep("--over", "stations.counter.arrival_rate=2/s,5/s", "--replicates", "2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("The mean wait of a visit is ") and "at all points" in done.stdout
    assert sweep("--fail-if", "wait_mean > 1ns").returncode == 3
    wrong = sweep("--set", "span=100")
    assert wrong.returncode == 2
    assert "`span`" in wrong.stderr and "hint: " in wrong.stderr
    assert sweep("--set", "span").returncode == 2
    lost = subprocess.run(
        [sys.executable, "-m", "towtank", "sweep", str(path), "--dask", "nonsense"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert lost.returncode == 2 and "hint: write tcp://" in lost.stderr


def test_a_cluster_of_ones_own_is_started_and_ended(counter):
    report = tt.sweep(counter, quiet=True)
    assert not report.partial
    with pytest.raises(TypeError, match="needs a client"):
        tt.sweep(counter, wait=False)
