"""Models in Python: order, draws, digests, and what is refused."""

from __future__ import annotations

import threading

import pytest

import towtank as tt


class Ping(tt.Model):
    """Passes a ball to and fro, after a random time."""

    def __init__(self, peer: str, first: bool = False) -> None:
        self.peer = peer
        self.first = first
        self.seen: list[int] = []

    def start(self, context: tt.Context) -> None:
        if self.first:
            context.send(self.peer, {"hop": 1}, after="1ms")

    def handle(self, context: tt.Context, event: dict[str, int]) -> None:
        self.seen.append(event["hop"])
        context.emit((context.me, event["hop"]))
        if event["hop"] < 50:
            wait = 0.001 + context.exponential(0.002) + context.below(3) * 1e-6
            context.send(self.peer, {"hop": event["hop"] + 1}, after_s=wait)


def pair() -> dict[str, tt.Model]:
    return {"left": Ping("right", first=True), "right": Ping("left")}


def test_one_seed_has_one_digest_on_every_executor():
    want = tt.simulate(pair(), seed=7)
    assert want.entities["right"].seen == list(range(1, 51, 2))
    assert [output[2][1] for output in want.outputs] == list(range(1, 51))
    assert want.events == 50 and want.pending == 0
    for executor, workers in [("sequential", 1), ("check", 1), ("conservative", 2), ("optimistic", 2)]:
        again = tt.simulate(pair(), seed=7, least_delay="1ms", executor=executor, workers=workers)
        assert again == want or (again.digest, again.outputs) == (want.digest, want.outputs), executor
    assert tt.simulate(pair(), seed=8).digest != want.digest


def test_a_difference_in_a_state_changes_the_digest():
    class Other(Ping):
        def handle(self, context, event):
            super().handle(context, event)
            if event["hop"] == 50:
                self.seen[-1] = 51

    want = tt.simulate(pair(), seed=7)
    found = tt.simulate({"left": Other("right", first=True), "right": Other("left")}, seed=7)
    assert found.digest != want.digest
    assert found.outputs == want.outputs


def test_a_handler_that_reads_the_world_is_found_by_the_check():
    ticks = iter(range(10_000))

    class Cheat(Ping):
        def handle(self, context, event):
            super().handle(context, event)
            self.seen.append(next(ticks))

    cheats = {"left": Cheat("right", first=True), "right": Cheat("left")}
    with pytest.raises(tt.ModelError):
        tt.simulate(cheats, executor="check")


def test_the_entities_that_are_passed_stay_as_they_are_and_events_are_copied():
    class Sender(tt.Model):
        def __init__(self):
            self.got = []

        def start(self, context):
            event = {"list": [1]}
            context.send(context.me, event)
            event["list"].append(2)

        def handle(self, context, event):
            self.got.append(event)

    sender = Sender()
    done = tt.simulate({"sender": sender})
    assert sender.got == []
    assert done.entities["sender"].got == [{"list": [1]}]


def test_a_run_ends_at_its_end():
    done = tt.simulate(pair(), seed=7, until_s=0.02)
    assert 0 < done.events < 50 and done.pending == 1
    assert all(at < 0.02 for at, _, _ in done.outputs)
    assert tt.simulate(pair(), seed=7, until="20ms").digest == done.digest


@pytest.mark.parametrize(
    "value",
    [{1, 2}, object(), lambda: None, 1 + 2j, threading.Lock, 1 << 200, type("Sub", (dict,), {})()],
    ids=["set", "object", "function", "complex", "class", "large", "subclass"],
)
def test_what_is_not_plain_data_is_refused(value):
    class Holder(tt.Model):
        def __init__(self, held=None):
            self.held = held

        def start(self, context):
            context.send(context.me, "go")

        def handle(self, context, event):
            self.held = value

    with pytest.raises(TypeError, match="the state of `holder` has a"):
        tt.simulate({"holder": Holder(value)})
    with pytest.raises(tt.ModelError, match="the state of `holder` has a") as caught:
        tt.simulate({"holder": Holder()})
    assert isinstance(caught.value.__cause__, TypeError)


def test_a_list_within_itself_is_refused():
    class Holder(tt.Model):
        def __init__(self):
            self.held = []
            self.held.append(self.held)

    with pytest.raises(TypeError, match="nested more than 64 deep"):
        tt.simulate({"holder": Holder()})


def test_mistakes_name_the_entity_the_time_and_the_event():
    class Wrong(tt.Model):
        def start(self, context):
            context.send(context.me, {"kind": "go"}, after="1ms")

        def handle(self, context, event):
            raise KeyError("no such chunk")

    with pytest.raises(tt.ModelError, match=r"`a` at 1000000 ns.*no such chunk") as caught:
        tt.simulate({"a": Wrong()})
    assert isinstance(caught.value.__cause__, KeyError)

    class Lost(Wrong):
        def start(self, context):
            context.send("nobody")

    with pytest.raises(tt.ModelError, match="there is no entity `nobody`; there are a"):
        tt.simulate({"a": Lost()})
    with pytest.raises(TypeError, match=r"`a` is a int, but must be a towtank\.Model"):
        tt.simulate({"a": 3})

    class Twice(Wrong):
        def start(self, context):
            context.send(context.me, after="1ms", after_s=0.001)

    with pytest.raises(tt.ModelError, match="give one of after"):
        tt.simulate({"a": Twice()})


def test_values_come_back_as_they_were():
    values = [None, True, -(2**100), 1.5, float("inf"), -0.0, "ü", b"\0", (1, [2]), {"a": {1: (True,)}}]

    class Keeper(tt.Model):
        def __init__(self):
            self.got = None

        def start(self, context):
            context.send(context.me, values)

        def handle(self, context, event):
            self.got = event

    got = tt.simulate({"keeper": Keeper()}).entities["keeper"].got
    assert got == values
    assert [type(value) for value in got] == [type(value) for value in values]
