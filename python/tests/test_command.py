"""The command of the wheel: it is the one that cargo builds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from conftest import LONG

import towtank as tt

PROGRAM = Path(sys.executable).with_name("towtank")


def test_help_version_and_exit_codes(towtank):
    version = towtank("--version")
    assert version.stdout == f"towtank {tt.__version__}\n" and version.returncode == 0
    assert "rebuild" in towtank("--help").stdout
    assert towtank("run", "queue-mm2").returncode == 2
    assert towtank("nonsense").returncode == 2
    gate = ["run", "queue-mm1", "--replicates", "2", "--set", "span=100s", "--fail-if", "wait_mean > 1ns"]
    assert towtank(*gate).returncode == 3
    module = subprocess.run([sys.executable, "-m", "towtank", "--version"], capture_output=True, text=True, check=True)
    assert module.stdout == version.stdout


def test_a_closed_pipe_is_no_error():
    shell = f"'{PROGRAM}' list | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", shell], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stderr == ""


def test_an_interrupt_ends_it_with_130(tmp_path):
    path = tmp_path / "long.toml"
    path.write_text(LONG.replace("replicates = 3", "replicates = 100000"))
    process = subprocess.Popen([PROGRAM, "run", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    _, words = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in words


def test_the_processes_of_a_store_are_started_by_it(tmp_path):
    home = str(tmp_path / "demo")
    environment = {**os.environ, "COLUMNS": "100"}

    def store(*arguments):
        command = [PROGRAM, "store", *arguments, "--dir", home]
        return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)

    up = store("up", "--osds", "1")
    try:
        assert up.returncode == 0, up.stderr
        assert store("status").returncode == 0
    finally:
        store("down")
