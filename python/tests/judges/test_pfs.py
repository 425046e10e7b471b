"""The study `pfs` beside a model of it that was written from the guide alone.

Each scheduler has a fixed set of random scenarios in which every time is determined, and the measures must agree to a
billionth. `JUDGE_CASES=2000` runs that many of each. `TOWTANK=path` takes a command in place of the package.

What happens at one instant has an order that the guide does not fix. Where the two differ, some order of the model's
events of one instant must give the answer of the program, to a billionth; and there must be few of these.
Where a scenario has many events, such an order may exist and not be found.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
from dataclasses import replace

import pfs_model
import pytest
from pfs_model import Application, System, simulate
from scenarios import draw, text, without_names

CASES = int(os.environ.get("JUDGE_CASES", "6"))
NEAR = 1e-9
ROUNDED_UP = 0.008
"""The most by which a percentile is rounded up, by the guide."""
BY_ORDER = ("latency_p99_s", "queue_depth_mean")
"""What another order of jobs within an instant changes even where makespan, throughput and mean latencies stay."""
KINDS = [
    "fifo:D",
    "sfq:D",
    "wfq:D",
    "wf2q+:D",
    "drr:D",
    "drr:D:quantum=300KiB",
    "wrr:D",
    "priority:D",
    "edf:D",
    "dsfq-a:D",
    "dsfq-d:D",
    "dsfq-f:D",
    "dsfq-atb:2:50ms",
    "dsfq-alb:2:1MiB",
    "token-bucket:D",
    "sfqrc:D",
    "bfq:D",
    "bfq:D:min=64KiB:max=512KiB:idle=3ms:timeout=30ms",
    "mclock:D:idle-after=300s",
    "mclock:D:at-limit=allow:idle-after=300s",
]
PLANTED = [
    ("fifo:D", "last come"),
    ("sfq:D", "no weights"),
    ("wfq:D", "no weights"),
    ("wfq:D", "own clock"),
    ("wf2q+:D", "no weights"),
    ("wf2q+:D", "all eligible"),
    ("drr:D", "no weights"),
    ("wrr:D", "no weights"),
    ("priority:D", "highest first"),
    ("edf:D", "no deadlines"),
    ("dsfq-a:D", "alone"),
    ("dsfq-d:D", "alone"),
    ("dsfq-f:D", "alone"),
    ("dsfq-atb:2:50ms", "alone"),
    ("dsfq-alb:2:1MiB", "alone"),
    ("token-bucket:D", "no rates"),
    ("sfqrc:D", "no credit"),
    ("sfqrc:D", "depth of all"),
    ("bfq:D", "no weights"),
    ("bfq:D", "fixed budgets"),
    ("bfq:D", "no idling"),
    ("mclock:D:idle-after=300s", "no weights"),
    ("mclock:D:idle-after=300s", "no reservations"),
    ("mclock:D:idle-after=300s", "no limits"),
]


def program(system: System) -> dict[str, float | None]:
    """The measures of the program."""
    if command := os.environ.get("TOWTANK"):
        done = subprocess.run(
            [command, "run", "-", "--quiet", "--format", "json"],
            input=text(system),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{done.stderr}\n{text(system)}"
        report = json.loads(done.stdout)
    else:
        import towtank as tt

        report = tt.run(text(system), quiet=True).json
    return {name: measure["value"] for name, measure in report["summary"].items()}


def differences(said: dict[str, float | None], system: System) -> dict[str, tuple[float | None, float]]:
    """Measures that differ: what the program says, and what the model does."""
    found: dict[str, tuple[float | None, float]] = {}
    for name, ours in simulate(system).items():
        theirs = said.get(name)
        if not name.startswith(BY_ORDER) and (theirs is None or abs(theirs - ours) > NEAR * abs(ours)):
            found[name] = (theirs, ours)
    return found


def some_order_agrees(said: dict[str, float | None], system: System, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the model says the same if a few events change places with others of their instant."""
    for seed in range(ORDERS):
        rng = random.Random(seed)
        share = rng.choice([0.002, 0.01, 0.05, 0.2])
        with monkeypatch.context() as patch:
            patch.setattr(
                pfs_model.Clock, "rank", lambda _, r=rng, s=share: r.choice([-1.0, 1.0]) if r.random() < s else 0.0
            )
            if not differences(said, system):
                return True
    return False


@pytest.mark.parametrize("kind", KINDS)
def test_the_program_agrees_with_the_guide(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    differ, unexplained = 0, []
    for case in range(CASES):
        system = draw(kind, str(case))
        said = program(system)
        found = differences(said, system)
        if not found:
            continue
        differ += 1
        if not some_order_agrees(said, system, monkeypatch):
            unexplained.append(f"case {case}: program, model: {found}\n{without_names(system)}\n{text(system)}")
    assert len(unexplained) <= CASES * UNEXPLAINED, f"{kind}: " + "\n".join(unexplained)
    assert differ <= 1 + CASES * TIED, f"{differ} of {CASES} scenarios have another order within one instant"


TIED = 0.1
"""Share of scenarios, at most, in which the program has another order within an instant than the model."""
UNEXPLAINED = 0.03
"""Share, at most, for which no such order was found among those tried: none of a few cases, and some of many."""
ORDERS = 300
"""Orders that are tried."""


@pytest.mark.parametrize(("kind", "planted"), PLANTED)
def test_a_wrong_rule_is_found(kind: str, planted: str) -> None:
    for case in range(40):
        system = draw(kind, str(case))
        right, wrong = simulate(system), simulate(replace(system, planted=planted))
        if any(abs(wrong[name] - value) > 1e-3 * value for name, value in right.items()):
            break
    else:
        raise AssertionError(f"no scenario shows {planted} of {kind}")
    said = program(system)
    assert differences(said, replace(system, planted=planted)), f"{planted} of {kind} was not found"


def test_a_wrong_disk_and_a_wrong_network_are_found() -> None:
    system = draw("fifo:D", "0")
    said = program(system)
    assert differences(said, replace(system, overhead=system.overhead + 1))
    assert differences(said, replace(system, latency=system.latency + 1))
    assert differences(said, replace(system, job_cost=system.job_cost + 1))


@pytest.mark.parametrize("scheduler", ["sfq:4", "dsfq-atb:4:10s"])
def test_the_mean_depth_is_over_the_measured_phase(scheduler: str) -> None:
    """A former fault: it went on until the last timer, so it was 0.13 in place of 3.8 with one of 10 s."""
    system = System([Application("a", clients=4, files=2)], scheduler=scheduler, servers=2, stripe_count=2)
    assert program(system)["queue_depth_mean"] == pytest.approx(simulate(system)["queue_depth_mean"], rel=NEAR)


@pytest.mark.parametrize("kind", ["fifo:D", "sfq:D", "edf:D"])
def test_percentiles_are_rounded_up_by_little(kind: str) -> None:
    for case in range(min(CASES, 12)):
        system = draw(kind, str(case))
        said, ours = program(system), simulate(system)
        for name in (name for name in ours if name.startswith("latency_p99_s")):
            theirs = said[name]
            assert theirs is not None and ours[name] * (1 - NEAR) <= theirs <= ours[name] * (1 + ROUNDED_UP), (
                case,
                name,
            )
