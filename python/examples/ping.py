"""A model in Python: two ends pass a ball to each other. ``python ping.py`` prints when and how often."""

from __future__ import annotations

from typing import TypedDict

import towtank as tt


class Ball(TypedDict):
    """The event."""

    hop: int


class Ping(tt.Model):
    """One end."""

    def __init__(self, peer: str, *, first: bool = False) -> None:
        self.peer = peer
        self.first = first
        self.seen = 0

    def start(self, context: tt.Context) -> None:
        """The first end throws the ball."""
        if self.first:
            context.send(self.peer, Ball(hop=1), after="1ms")

    def handle(self, context: tt.Context, event: Ball) -> None:
        """Throw it back after a random time."""
        self.seen += 1
        if event["hop"] < 1000:
            context.send(self.peer, Ball(hop=event["hop"] + 1), after_s=0.001 + context.exponential(0.004))


def main() -> None:
    """Play one game."""
    done = tt.simulate({"left": Ping("right", first=True), "right": Ping("left")}, seed=1)
    # A throw takes 5 ms in the mean.
    print(f"{done.events} throws in {done.now_s:.3f} s, digest {done.digest}")


if __name__ == "__main__":
    main()
