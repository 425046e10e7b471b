"""What the tests share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLUSTER = ROOT / "docs" / "examples" / "cluster"

COUNTER = """
study = "queue"
replicates = 3
warm_up = "10s"
span = "100s"

[stations.counter]
service_rate = "10/s"
arrival_rate = "5/s"
"""
"""A queue that is simulated in milliseconds."""

LONG = COUNTER.replace('"100s"', '"100000s"')
"""The same, in some tenths of a second a run."""


@pytest.fixture
def counter() -> str:
    return COUNTER


@pytest.fixture
def towtank() -> Callable[..., subprocess.CompletedProcess[str]]:
    """The command of the wheel."""

    def run(*arguments: str, **more: object) -> subprocess.CompletedProcess[str]:
        program = Path(sys.executable).with_name("towtank")
        environment = {**os.environ, "COLUMNS": "100"}
        return subprocess.run(
            [program, *arguments], capture_output=True, text=True, env=environment, check=False, **more
        )

    return run
