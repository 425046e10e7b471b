"""Progress of runs: a line in a terminal, a bar in a notebook, nothing elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from html import escape
from typing import Any

Tell = Callable[[int, int, float, int, "list[str]"], None]
"""Takes finished runs, all runs, shares of the runs in flight, events, and remarks to show."""

_REDRAW_S = 0.1


def shower(quiet: bool | None) -> Shower:
    """What shows progress where this process runs; ``quiet`` shows nothing, and ``None`` decides."""
    if quiet:
        return Shower()
    if _in_notebook():
        return _Notebook()
    if sys.stderr is not None and sys.stderr.isatty():
        return _Terminal()
    return Shower() if quiet is None else _Lines()


class Shower:
    """Shows nothing."""

    def __call__(self, done: int, of: int, running: float, events: int, remarks: list[str]) -> None:
        """Take the progress of a campaign."""

    def end(self) -> None:
        """Remove what was shown."""


class _Lines(Shower):
    """Prints remarks alone."""

    def __call__(self, done: int, of: int, running: float, events: int, remarks: list[str]) -> None:
        for remark in remarks:
            print(f"note: {remark}", file=sys.stderr)


class _Drawn(Shower):
    def __init__(self) -> None:
        self._began = time.monotonic()
        self._drawn = 0.0

    def __call__(self, done: int, of: int, running: float, events: int, remarks: list[str]) -> None:
        for remark in remarks:
            self.say(f"note: {remark}")
        now = time.monotonic()
        if of and now - self._drawn >= _REDRAW_S:
            self._drawn = now
            self.draw(words(done, of, running, now - self._began), (done + running) / of)

    def say(self, line: str) -> None:
        raise NotImplementedError

    def draw(self, line: str, share: float) -> None:
        raise NotImplementedError


def words(done: int, of: int, running: float, elapsed_s: float) -> str:
    """Progress in words.

    >>> words(10, 40, 2.0, 12.0)
    '10 of 40 runs, 12 s, 28 s left'
    >>> words(0, 40, 0.0, 0.4)
    '0 of 40 runs, 0 s'
    """
    share = (done + running) / of
    left = f", {elapsed_s * (1 - share) / share:.0f} s left" if share > 0 and elapsed_s >= 1 else ""
    return f"{done} of {of} runs, {elapsed_s:.0f} s{left}"


class _Terminal(_Drawn):
    def say(self, line: str) -> None:
        print(f"\r\x1b[K{line}", file=sys.stderr)

    def draw(self, line: str, share: float) -> None:
        filled = int(20 * min(share, 1.0))
        print(f"\r\x1b[K[{'#' * filled}{' ' * (20 - filled)}] {line}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


class _Notebook(_Drawn):
    def __init__(self) -> None:
        super().__init__()
        self._handle: Any = None

    def say(self, line: str) -> None:
        print(line, file=sys.stderr)

    def draw(self, line: str, share: float) -> None:
        self._show(f'<progress max="1" value="{share:.3f}"></progress> {escape(line)}')

    def end(self) -> None:
        if self._handle is not None:
            self._show("")

    def _show(self, html: str) -> None:
        from IPython.display import HTML, display

        if self._handle is None:
            self._handle = display(HTML(html), display_id=True)
        else:
            self._handle.update(HTML(html))


def _in_notebook() -> bool:
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    shell = get_ipython()
    return type(shell).__name__ == "ZMQInteractiveShell"
