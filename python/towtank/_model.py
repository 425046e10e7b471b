"""Models in Python, run by the kernel: for teaching and prototypes, some hundred times slower than in Rust."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from towtank import _towtank


class Context:
    """What a handler gets: the time, random draws, and the ways to affect others."""

    def __init__(self, hand: _towtank.Hand) -> None:
        self._hand = hand

    @property
    def now_ns(self) -> int:
        """The time in nanoseconds since the start."""
        return self._hand.now_ns

    @property
    def now_s(self) -> float:
        """The time in seconds since the start."""
        return self._hand.now_ns / 1e9

    @property
    def me(self) -> str:
        """The name of the entity that handles the event."""
        return self._hand.me

    def send(
        self,
        to: str,
        event: Any = None,
        *,
        after: str | None = None,
        after_s: float | None = None,
        after_ns: int | None = None,
    ) -> None:
        """Send an event, which arrives at once or after a time: ``after="1ms"``, ``after_s=0.001``.

        It is copied now: changing it later changes nothing.
        """
        given = [value for value in (after, after_s, after_ns) if value is not None]
        if len(given) > 1:
            raise TypeError("give one of after, after_s and after_ns")
        self._hand.send(to, _span_ns(given[0] if given else 0, after_s is not None), event)

    def emit(self, output: Any) -> None:
        """Add an output to the result, with the time and the entity."""
        self._hand.emit(output)

    def random(self) -> float:
        """A number in [0, 1)."""
        return self._hand.random()

    def below(self, bound: int) -> int:
        """A whole number in [0, ``bound``)."""
        return self._hand.below(bound)

    def exponential(self, mean: float) -> float:
        """A number of an exponential distribution."""
        return self._hand.exponential(mean)


class Model:
    """One entity of a model. Its attributes are its state; subclasses say how it starts and handles events.

    Attributes, events and outputs are plain data (None, bool, int, float, str, bytes, list, tuple, dict);
    anything else is refused, because a digest could not cover it. Draws come from the context alone: a
    handler that reads a clock or ``random`` breaks the promise that one seed gives one result.

    >>> import towtank as tt
    >>> class Ping(tt.Model):
    ...     def __init__(self, peer, first=False):
    ...         self.peer, self.first, self.seen = peer, first, 0
    ...     def start(self, context):
    ...         if self.first:
    ...             context.send(self.peer, {"hop": 1}, after="1ms")
    ...     def handle(self, context, event):
    ...         self.seen += 1
    ...         if event["hop"] < 10:
    ...             context.send(self.peer, {"hop": event["hop"] + 1}, after="1ms")
    >>> done = tt.simulate({"left": Ping("right", first=True), "right": Ping("left")})
    >>> done.entities["left"].seen, done.entities["right"].seen, done.now_s
    (5, 5, 0.01)
    """

    def start(self, context: Context) -> None:
        """Called once at time zero."""

    def handle(self, context: Context, event: Any) -> None:
        """Called for each event."""
        raise NotImplementedError(f"{type(self).__name__} got an event, but has no `handle`")

    def _start(self, hand: _towtank.Hand) -> None:
        self.start(Context(hand))

    def _handle(self, hand: _towtank.Hand, event: Any) -> None:
        self.handle(Context(hand), event)


@dataclass(frozen=True)
class Simulated:
    """The result of a simulation."""

    digest: str
    """Covers all states and events: equal for equal entities, seed and end."""
    now_ns: int
    """The time up to which every event has happened."""
    events: int
    """How many events were handled."""
    pending: int
    """How many were still to come at the end."""
    entities: dict[str, Any]
    """The entities in their last states."""
    outputs: list[tuple[float, str, Any]]
    """What was emitted: the time in seconds, the entity, the output."""

    @property
    def now_s(self) -> float:
        """The time up to which every event has happened, in seconds."""
        return self.now_ns / 1e9


def simulate(
    entities: Mapping[str, Model],
    *,
    until: str | None = None,
    until_s: float | None = None,
    seed: int = 1,
    least_delay: str = "0s",
    executor: str = "sequential",
    workers: int = 1,
) -> Simulated:
    """Run entities until no event is left, or until a time.

    The entities that are passed stay as they are. ``executor="check"`` runs each event twice and fails if a
    handler depends on more than its state and its draws; the parallel executors need a ``least_delay`` of all
    events between entities, and give the same digest, but no speed: Python runs one handler at a time.
    """
    for name, entity in entities.items():
        if not isinstance(entity, Model):
            raise TypeError(f"`{name}` is a {type(entity).__name__}, but must be a towtank.Model")
    if until is not None and until_s is not None:
        raise TypeError("give one of until and until_s")
    end = until if until is not None else until_s
    terms = {
        "seed": seed,
        "end_ns": None if end is None else _span_ns(end, until_s is not None),
        "least_ns": _span_ns(least_delay, False),
        "executor": executor,
        "workers": workers,
    }
    digest, now_ns, events, _, pending, states, outputs = _towtank.simulate(list(entities.items()), terms)
    last = {}
    for (name, entity), state in zip(entities.items(), states, strict=True):
        twin = type(entity).__new__(type(entity))
        twin.__dict__.update(state)
        last[name] = twin
    written = [(at_ns / 1e9, name, output) for at_ns, name, output in outputs]
    return Simulated(digest, now_ns, events, pending, last, written)


def _span_ns(span: str | float, seconds: bool) -> int:
    if isinstance(span, str):
        return _towtank.span_ns(span)
    nanoseconds = round(span * 1e9) if seconds else span
    if nanoseconds < 0:
        raise ValueError(f"{span} is before the present; times cannot be negative")
    return int(nanoseconds)
