"""The exceptions of the package, in the words of the command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from towtank._report import Report


@dataclass(frozen=True)
class Problem:
    """One mistake in an input."""

    message: str
    """The value and its limit, as the command says it."""
    key: str | None
    """The scenario key that it is about."""
    hint: str | None
    """What to do about it."""
    text: str
    """The whole problem as the command prints it: message, place and hint."""
    file: str | None
    """The file that it is in; ``None`` for a keyword."""
    line: int | None
    """The line in the file, from 1."""
    column: int | None
    """The column in the line, from 1."""

    @property
    def limit(self) -> str:
        """The part of the message that says what is allowed: what follows "but", if it has that."""
        return self.message.rpartition(", but ")[2]


class _ProblemsError(Exception):
    def __init__(self, problems: Sequence[dict[str, Any] | Problem]) -> None:
        self.problems: list[Problem] = [
            problem if isinstance(problem, Problem) else Problem(**problem) for problem in problems
        ]
        super().__init__("\n".join(problem.text.rstrip("\n") for problem in self.problems))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problems,)

    @property
    def _first(self) -> Problem:
        return self.problems[0]

    @property
    def message(self) -> str:
        """The message of the first problem."""
        return self._first.message

    @property
    def key(self) -> str | None:
        """The key of the first problem."""
        return self._first.key

    @property
    def limit(self) -> str:
        """The limit of the first problem."""
        return self._first.limit

    @property
    def hint(self) -> str | None:
        """The hint of the first problem."""
        return self._first.hint

    @property
    def file(self) -> str | None:
        """The file of the first problem."""
        return self._first.file

    @property
    def line(self) -> int | None:
        """The line of the first problem."""
        return self._first.line


class ScenarioError(_ProblemsError, ValueError):
    """The input must be changed: what is wrong, where, the limit, and what to do."""


class RunError(_ProblemsError, RuntimeError):
    """A run failed, and its input is not at fault."""


class Interrupted(KeyboardInterrupt):
    """A run was interrupted. What was finished is in ``report``."""

    def __init__(self, report: Any, done: int, of: int) -> None:
        from towtank._report import Report

        self.report: Report | None = None if report is None else Report(report)
        """The report of what was finished, marked as partial; ``None`` if there is nothing to report."""
        self.done = done
        """The number of finished runs."""
        self.of = of
        """The number of runs."""
        next_step = "the report is `.report` of this exception (sys.last_value.report)"
        super().__init__(self._told() if self.report is None else f"{self._told()}; {next_step}")

    def words(self, kept: bool) -> str:
        """What the command says."""
        if kept:
            return f"{self._told()}; the same command goes on from here"
        return f"{self._told()}; with --out DIR, what is done would be kept"

    def _told(self) -> str:
        if self.report is None:
            return "interrupted before there was anything to report"
        return f"interrupted: {self.done} of {self.of} runs are done" if self.of else "interrupted"


class ModelError(RuntimeError):
    """A model in Python failed, or used something that the kernel cannot keep."""
