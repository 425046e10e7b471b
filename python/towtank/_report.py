"""Reports: the answer, the tables as frames, the figures, the page."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from towtank import _towtank

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")

_DTYPES = {"number": "float64", "text": "object", "flag": "boolean"}


class Named(Mapping[str, T], Generic[T]):
    """Parts of a report by name; each is made when it is asked for."""

    def __init__(self, what: str, names: list[str], make: Callable[[str], T]) -> None:
        self._what = what
        self._names = names
        self._make = make
        self._made: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._names:
            known = ", ".join(self._names) or "none"
            raise KeyError(f"there is no {self._what} `{name}`; there are: {known}")
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<{self._what}s: {', '.join(self._names)}>"


class Figure:
    """A figure of a report: what it says, and its data."""

    def __init__(self, report: Report, spec: dict[str, Any]) -> None:
        self._report = report
        self.spec = spec
        """The figure as ``report.json`` has it: its axes, series and references."""
        self.title: str = spec["title"]
        self.caption: str = spec["caption"]

    @cached_property
    def data(self) -> pd.DataFrame:
        """One row per drawn value, as in ``figure-ID.csv``."""
        return self._report._frame("figures", self.spec["id"])

    def __repr__(self) -> str:
        return f"<figure {self.spec['id']}: {self.title}>"


class Report:
    """The result of a run, a sweep or a reproduction.

    >>> import towtank as tt
    >>> report = tt.run("queue-mm1", replicates=2, span="100s", quiet=True)
    >>> report.study
    'queue'
    >>> float(report.summary.set_index("measure").loc["wait_mean", "n"])
    2.0
    """

    def __init__(self, inner: _towtank.Report, unmet: list[tuple[str, list[str]]] | None = None) -> None:
        self._inner = inner
        self.unmet: dict[str, list[str]] = dict(unmet or [])
        """The gates that are not met, each with its reasons."""

    @staticmethod
    def read(path: str | os.PathLike[str]) -> Report:
        """Read a ``report.json``, or the directory that has one."""
        path = Path(path)
        file = path / "report.json" if path.is_dir() else path
        return Report(_towtank.Report.from_json(file.read_text(encoding="utf-8")))

    @cached_property
    def json(self) -> dict[str, Any]:
        """The whole report as ``report.json`` has it."""
        whole: dict[str, Any] = json.loads(self._inner.json())
        return whole

    @property
    def study(self) -> str:
        """The study."""
        return str(self.json["study"])

    @property
    def finding(self) -> str:
        """The finding: one sentence."""
        return str(self.json["answer"]["finding"])

    @property
    def verdict(self) -> str | None:
        """Safety of the data: ``safe``, ``at_risk``, ``unknown`` or ``not_safe``; None where a study does not ask."""
        verdict: str | None = self.json["answer"].get("verdict")
        return verdict

    @property
    def reason(self) -> str | None:
        """Why the verdict is what it is."""
        reason: str | None = self.json["answer"].get("reason")
        return reason

    @property
    def answer(self) -> str:
        """All words of the answer: finding, verdict, course, and what limits, helps, moves and is at risk."""
        return self._inner.answer()

    @property
    def headline(self) -> str | None:
        """The name of the main measure."""
        headline: str | None = self.json.get("headline")
        return headline

    @property
    def digest(self) -> str | None:
        """The digest of all runs: equal for the same scenario and seed."""
        digest: str | None = self.json.get("digest")
        return digest

    @property
    def partial(self) -> bool:
        """Whether runs are missing, because somebody stopped them."""
        return bool(self.json["partial"])

    @property
    def warnings(self) -> list[str]:
        """What to know before using the numbers."""
        return [warning["text"] for warning in self.json["warnings"]]

    @cached_property
    def summary(self) -> pd.DataFrame:
        """One row per measure, and with a sweep one per point and measure: mean and 95 % interval."""
        return self._frame("summary")

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row per run with all its measures; empty where the report has no runs."""
        return self._frame("runs")

    @cached_property
    def claims(self) -> pd.DataFrame:
        """One row per published claim: its value, ours, the tolerance, the verdict."""
        return self._frame("claims")

    @cached_property
    def tables(self) -> Named[pd.DataFrame]:
        """The tables of the study by their ids, as frames."""
        names = [table["id"] for table in self.json["tables"]]
        return Named("table", names, lambda name: self._frame("tables", name))

    @cached_property
    def figures(self) -> Named[Figure]:
        """The figures by their ids."""
        specs = {figure["id"]: figure for figure in self.json["figures"]}
        return Named("figure", list(specs), lambda name: Figure(self, specs[name]))

    @cached_property
    def html(self) -> str:
        """The page ``report.html``, in one file."""
        return self._inner.html()

    def text(self, *, width: int = 100, whole: bool = False) -> str:
        """The report as a terminal shows it: one screen, or the whole."""
        return self._inner.text(width, whole)

    def save(self, directory: str | os.PathLike[str]) -> Path:
        """Write ``report.json``, the tables and ``report.html``; return the path of the page."""
        self._inner.save(directory)
        return Path(directory) / "report.html"

    def to_parquet(self, directory: str | os.PathLike[str]) -> list[Path]:
        """Write every table as a Parquet file, which needs pyarrow; return their paths."""
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        frames = {"summary": self.summary, "runs": self.runs, "claims": self.claims}
        frames.update(self.tables)
        frames.update({f"figure-{name}": figure.data for name, figure in self.figures.items()})
        written = []
        for name, frame in frames.items():
            if not frame.empty:
                path = directory / f"{name}.parquet"
                _needs("pyarrow", "polars")
                frame.to_parquet(path)
                written.append(path)
        return written

    def to_polars(self, table: str = "summary") -> Any:
        """A table as a polars frame: ``summary``, ``runs``, ``claims``, or the id of one of ``tables``."""
        return _needs("polars", "polars").from_arrow(self.to_arrow(table))

    def to_arrow(self, table: str = "summary") -> Any:
        """A table as a pyarrow table: ``summary``, ``runs``, ``claims``, or the id of one of ``tables``."""
        own = {"summary", "runs", "claims"}
        frame = getattr(self, table) if table in own else self.tables[table]
        return _needs("pyarrow", "polars").Table.from_pandas(frame)

    def _repr_html_(self) -> str:
        """The page itself, in a frame, so that its styles and scripts stay its own."""
        style = "width:100%;height:640px;border:1px solid #ddd"
        return f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts" style="{style}"></iframe>'

    def __repr__(self) -> str:
        return self.text()

    def __reduce__(self) -> tuple[Any, ...]:
        return _read_back, (self._inner.json(), list(self.unmet.items()))

    def _frame(self, kind: str, name: str = "") -> pd.DataFrame:
        found = self._inner.table(kind, name)
        return frame_of(json.loads(found) if found else {"title": "", "columns": [], "rows": []})


def _read_back(text: str, unmet: list[tuple[str, list[str]]]) -> Report:
    return Report(_towtank.Report.from_json(text), unmet)


def frame_of(table: dict[str, Any]) -> pd.DataFrame:
    """A table as a frame. The units of its columns are in ``frame.attrs["units"]``."""
    pandas = _needs("pandas", "pandas")
    names = [name for name, _, _ in table["columns"]]
    # A missing value is an object with its reason, which a frame has no place for.
    rows = [[None if isinstance(cell, dict) else cell for cell in row] for row in table["rows"]]
    frame: pd.DataFrame = pandas.DataFrame(rows, columns=names, dtype=object)
    for name, _, kind in table["columns"]:
        if kind == "number" and all(isinstance(cell, int) for cell in frame[name]):
            frame[name] = frame[name].astype("int64" if len(frame) else "float64")
        else:
            frame[name] = frame[name].astype(_DTYPES[kind])
    frame.attrs["title"] = table["title"]
    frame.attrs["units"] = {name: unit for name, unit, _ in table["columns"] if unit}
    return frame


def _needs(module: str, extra: str) -> Any:
    """A module that only some uses need."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"this needs {module}, which is not installed: pip install 'towtank[{extra}]'") from error
