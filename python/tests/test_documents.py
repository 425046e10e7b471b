"""The guide, the docstrings, the examples and the notebooks say what happens."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import CLUSTER, ROOT
from notebooks import rendered

import towtank

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
EXAMPLES = ROOT / "python" / "examples"
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
MODULES = [info.name for info in pkgutil.iter_modules(towtank.__path__) if info.name != "__main__"]


def failures(name: str, text: str, globs: dict[str, object]) -> str:
    """What a text of examples prints that differs from what it says."""
    out: list[str] = []
    test = doctest.DocTestParser().get_doctest(text, dict(globs), name, name, 0)
    doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=out.append)
    return "".join(out)


def test_the_examples_of_docstrings_hold(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    text = (CLUSTER / "crush.txt").read_text()
    count = 0
    for name in MODULES:
        module = importlib.import_module(f"towtank.{name}")
        for test in doctest.DocTestFinder().find(module, extraglobs={"TEXT": text}):
            out: list[str] = []
            count += len(test.examples)
            doctest.DocTestRunner(optionflags=OPTIONS | doctest.IGNORE_EXCEPTION_DETAIL).run(test, out=out.append)
            assert not out, "".join(out)
    assert count > 20


def test_the_guide_holds(monkeypatch):
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "python.md").read_text()
    blocks = re.findall(r"^```pycon\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 6
    assert not failures("docs/python.md", "\n".join(blocks), {})


def test_a_wrong_output_in_a_guide_is_found():
    assert "Expected:" in failures("planted", ">>> 1 + 1\n3\n", {})


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_the_examples_print_what_is_checked_in(path: Path):
    ran = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    _compare(path.with_suffix(".out"), ran.stdout)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebooks_are_executed_and_rendered(path: Path):
    _compare(path.with_suffix(".md"), rendered(path))


def _compare(path: Path, text: str) -> None:
    """Compare a text with a checked-in file; TOWTANK_UPDATE=1 writes it instead."""
    if os.environ.get("TOWTANK_UPDATE") == "1":
        path.write_text(text)
    assert path.read_text() == text, f"{path.name} is out of date; TOWTANK_UPDATE=1 writes it anew"
