"""Scenarios, keywords, reports, errors, interruption."""

from __future__ import annotations

import json
import os
import pickle
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest
from conftest import CLUSTER, COUNTER, LONG

import towtank as tt


def test_a_name_a_path_and_a_text_are_scenarios(tmp_path, counter):
    path = tmp_path / "counter.toml"
    path.write_text(counter)
    digests = {tt.run(what, quiet=True).digest for what in (counter, path, str(path))}
    assert len(digests) == 1
    named = tt.run("queue-mm1", replicates=2, span="100s", quiet=True)
    assert named.study == "queue"


def test_a_report_is_that_of_the_command(tmp_path, counter, towtank):
    path = tmp_path / "counter.toml"
    path.write_text(counter)
    printed = towtank("run", str(path), "--format", "json", "--quiet")
    assert printed.returncode == 0, printed.stderr
    assert tt.run(path, quiet=True)._inner.json() == printed.stdout


@pytest.mark.parametrize(
    "keys",
    [
        {"span": "50s", "servers": 2},
        {"span_s": 50, "servers": 2},
        {"span": "50s", "stations": {"counter": {"servers": 2}}},
        {"span_ms": np.int64(50_000), "keys": {"stations.counter.servers": np.int32(2)}},
    ],
)
def test_keywords_are_flags_or_keys_with_units_as_words_or_endings(keys):
    fixed = {"arrival_rate": "8/s", "service_rate": "5/s", "replicates": 2}
    want = tt.resolve(study="queue", span="50s", servers=2, **fixed)
    assert tt.resolve(study="queue", **fixed, **keys) == want


def test_the_tables_are_frames(counter):
    report = tt.run(counter, over={"arrival_rate": ["5/s", "8/s"]}, quiet=True)
    assert isinstance(report.summary, pd.DataFrame)
    assert set(report.summary["measure"]) >= {"wait_mean", "number_mean"}
    assert len(report.runs) == 6
    assert report.runs["wait_mean"].dtype == "float64"
    assert not report.claims.empty
    assert set(report.claims["verdict"]) <= {"holds", "misses", "cannot_tell", "fitted"}
    for name in report.tables:
        assert len(report.tables[name]) == len(
            next(table for table in report.json["tables"] if table["id"] == name)["rows"]
        )
    assert len(report.figures) == len(report.json["figures"]) > 0
    for figure in report.figures.values():
        assert not figure.data.empty
        assert figure.title
    with pytest.raises(KeyError, match="there is no table `nothing`; there are: "):
        report.tables["nothing"]


def test_a_report_is_saved_read_and_shown(tmp_path, counter):
    report = tt.run(counter, quiet=True)
    page = report.save(tmp_path / "saved")
    assert page.read_text() == report.html
    again = tt.Report.read(tmp_path / "saved")
    assert again.json == report.json
    assert pickle.loads(pickle.dumps(report)).json == report.json
    shown = report._repr_html_()
    assert shown.startswith("<iframe srcdoc=") and "sandbox" in shown
    assert report.finding in " ".join(repr(report).split())
    assert report.answer.startswith(report.finding)
    assert report.verdict is None and report.reason is None


def test_tables_become_parquet_arrow_and_polars(tmp_path, counter):
    report = tt.run(counter, quiet=True)
    written = {path.stem for path in report.to_parquet(tmp_path)}
    assert {"summary", "runs", "claims"} <= written
    back = pd.read_parquet(tmp_path / "runs.parquet")
    pd.testing.assert_frame_equal(back, report.runs)
    assert report.to_polars("runs").shape == report.runs.shape
    assert report.to_arrow("claims").num_rows == len(report.claims)


def test_a_missing_module_is_named(monkeypatch, counter):
    import builtins

    report = tt.run(counter, quiet=True)
    real = builtins.__import__

    def without(name, *more, **keys):
        if name == "pandas":
            raise ImportError("no")
        return real(name, *more, **keys)

    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"this needs pandas.*pip install 'towtank\[pandas\]'"):
        _ = report.summary


def test_mistakes_have_the_words_of_the_command(tmp_path, towtank):
    path = tmp_path / "counter.toml"
    path.write_text(COUNTER.replace('"100s"', '"100"').replace('"5/s"', '"-5/s"'))
    with pytest.raises(tt.ScenarioError) as caught:
        tt.run(path)
    printed = towtank("run", str(path))
    assert printed.returncode == 2
    assert str(caught.value) == printed.stderr.replace("\n\n", "\n").rstrip("\n")
    error = caught.value
    assert len(error.problems) == 2
    assert error.key == "span"
    assert error.file == str(path)
    assert error.line == 5
    assert error.hint is not None and "s" in error.hint
    assert isinstance(error, ValueError)
    assert pickle.loads(pickle.dumps(error)).problems == error.problems


def test_a_mistaken_keyword_is_quoted():
    with pytest.raises(tt.ScenarioError) as caught:
        tt.run(study="queue", arrival_rate=8, service_rate="1/s")
    assert caught.value.key == "stations.counter.arrival_rate"
    assert caught.value.limit.startswith("a frequency needs one")
    assert "  --> arrival_rate=8" in str(caught.value)
    with pytest.raises(tt.ScenarioError, match="did you mean"):
        tt.run("queue-mm2")
    with pytest.raises(tt.ScenarioError, match="there is no study called `queu`"):
        tt.run(study="queu")
    with pytest.raises(tt.ScenarioError, match="arrival_rat"):
        tt.run(COUNTER, arrival_rat="3/s")
    with pytest.raises(TypeError, match="give either a scenario"):
        tt.run()
    with pytest.raises(ValueError, match="write a finite number"):
        tt.run(COUNTER, seed=float("nan"))
    with pytest.raises(TypeError, match="a set is no value of a scenario"):
        tt.run(COUNTER, seed={1})


def test_gates_are_judged(counter, capsys):
    report = tt.run(counter, fail_if=["wait_mean > 1h", "wait_mean > 1ns"], quiet=True)
    assert list(report.unmet) == ["wait_mean > 1ns"]
    assert "gate not met: wait_mean > 1ns" in capsys.readouterr().err


def test_an_interrupt_ends_a_run_within_a_second_with_what_is_done():
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    sent = time.monotonic() + 1.0
    with pytest.raises(tt.Interrupted) as caught:
        tt.run(LONG, replicates=100_000, jobs=1, quiet=True)
    # A generous bound on a busy machine, far below the hours that all runs would take.
    assert time.monotonic() - sent < 30
    stopped = caught.value
    assert isinstance(stopped, KeyboardInterrupt)
    assert stopped.of == 100_000
    assert stopped.done < stopped.of
    assert stopped.report is not None and stopped.report.partial


def test_progress_is_shown_on_the_calling_thread(counter):
    from towtank import _run, _towtank

    seen = []
    here = threading.get_ident()

    def tell(done, of, running, events, remarks):
        assert threading.get_ident() == here
        seen.append((done, of))

    checked = _towtank.Scenario(**_run.source_of(counter, None, {"replicates": 20}, {}, None, ()))
    _towtank.run(checked, _run.options("sequential", None, 1, None, False, False), tell)
    assert seen[-1] == (20, 20)
    assert seen == sorted(seen)

    def fail(*_):
        raise RuntimeError("the bar broke")

    with pytest.raises(RuntimeError, match="the bar broke"):
        _towtank.run(checked, _run.options("sequential", None, 1, None, False, False), fail)


def test_other_threads_go_on_while_a_run_is_under_way(counter):
    ended = threading.Event()

    def work():
        tt.run(LONG, replicates=4, jobs=1, quiet=True)
        ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    counted = 0
    while not ended.is_set():
        counted += 1
        time.sleep(0.001)
    thread.join()
    # With the interpreter held, this loop would not turn before the end.
    assert counted > 10


def test_finished_runs_are_kept_and_resumed(tmp_path, counter, towtank):
    out = tmp_path / "out"
    report = tt.run(counter, out=out, quiet=True)
    path = tmp_path / "counter.toml"
    path.write_text(counter)
    resumed = towtank("run", str(path), "--out", str(out), "--format", "json")
    assert "3 runs were already finished" in resumed.stderr
    assert json.loads(resumed.stdout) == report.json
    with pytest.raises(tt.ScenarioError, match="holds the results of another campaign"):
        tt.run(counter, seed=8, out=out)


def test_whatif_asks_of_the_exports_of_a_cluster():
    exports = {
        "crush_map": CLUSTER / "crush.txt",
        "osd_dump": CLUSTER / "osd_dump.json",
        "pg_dump": CLUSTER / "pg_dump.json.gz",
    }
    report = tt.whatif(**exports, fail="osd.3", quiet=True)
    assert report.study == "whatif"
    assert "osd.3" in report.finding
    assert report.verdict in {"safe", "at_risk", "unknown", "not_safe"} and report.reason
    two = tt.whatif(**exports, mark_out="osd.6", drain=["osd.7@2h"], quiet=True)
    assert two.answer != report.answer


def test_published_claims_are_reproduced():
    report = tt.reproduce("queue", quiet=True)
    assert set(report.claims["verdict"]) == {"holds"}


def test_what_there_is_is_listed():
    assert "rebuild" in set(tt.studies()["study"])
    assert "queue-mm1" in set(tt.scenarios()["scenario"])
    assert 'study = "queue"' in tt.show("queue-mm1")
    with pytest.raises(tt.ScenarioError, match="queue-mm2"):
        tt.show("queue-mm2")
