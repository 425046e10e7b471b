"""Queues against two simulators from outside: `ciw` (networks, service, priorities) and `simpy` (M/G/k, by hand).

Both sides run replicates, and their means are compared by Welch's test. Cases and seeds are fixed, so a test that
passes always passes; `JUDGE_CASES=N` compares N more cases that are drawn.
"""

from __future__ import annotations

import math
import os
import random
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import pytest

import towtank as tt

ciw = pytest.importorskip("ciw")
simpy = pytest.importorskip("simpy")

WARM_UP, SPAN = 200.0, 1500.0
"""Seconds; jobs that arrive in the warm-up are not counted."""

THEIRS, OURS = 12, 20
"""Replicates: those of the judges take most of the time."""

Values = dict[str, float]


@dataclass(frozen=True)
class Shape:
    """Service times with a mean, in the words of each side."""

    toml: str
    draw: Callable[[random.Random], float]


def exponential(mean: float) -> Shape:
    return Shape(f'service_rate = "{1 / mean:.9f}/s"', lambda rng: rng.expovariate(1 / mean))


def constant(mean: float) -> Shape:
    return Shape(f'service_rate = "{1 / mean:.9f}/s"\nservice = "constant"', lambda _: mean)


def erlang(mean: float, phases: int) -> Shape:
    toml = f'service_rate = "{1 / mean:.9f}/s"\nservice = {{ erlang = {{ phases = {phases} }} }}'
    return Shape(toml, lambda rng: sum(rng.expovariate(phases / mean) for _ in range(phases)))


def branches(often: int, fast: float, slow: float) -> Shape:
    toml = (
        f'service = {{ branches = [{{ share = "{often}%", rate = "{fast}/s" }}, '
        f'{{ share = "{100 - often}%", rate = "{slow}/s" }}] }}'
    )
    return Shape(toml, lambda rng: rng.expovariate(fast if rng.random() < often / 100 else slow))


def hyperexponential(mean: float, scv: float) -> Shape:
    toml = f'service_rate = "{1 / mean:.9f}/s"\nservice = {{ hyperexponential = {{ scv = {scv} }} }}'
    share = (1 + math.sqrt((scv - 1) / (scv + 1))) / 2

    def draw(rng: random.Random) -> float:
        own = share if rng.random() < share else 1 - share
        return rng.expovariate(2 * own / mean)

    return Shape(toml, draw)


def lognormal(mean: float, cv: float) -> Shape:
    toml = f'service_rate = "{1 / mean:.9f}/s"\nservice = {{ lognormal = {{ cv = {cv} }} }}'
    variance = math.log(1 + cv * cv)
    return Shape(toml, lambda rng: rng.lognormvariate(math.log(mean) - variance / 2, math.sqrt(variance)))


def pareto(mean: float, shape: float) -> Shape:
    toml = f'service_rate = "{1 / mean:.9f}/s"\nservice = {{ pareto = {{ shape = {shape} }} }}'
    return Shape(toml, lambda rng: mean * (shape - 1) / shape * rng.paretovariate(shape))


def empirical(weights: dict[float, int]) -> Shape:
    spans = ", ".join(f'"{span}s"' for span in weights)
    counts = list(weights.values())
    toml = f"service = {{ empirical = {{ spans = [{spans}], weights = {counts} }} }}"
    return Shape(toml, lambda rng: rng.choices(list(weights), counts)[0])


@dataclass(frozen=True)
class Station:
    shape: Shape
    arrivals: float = 0.0
    servers: int = 1
    routes: dict[int, int] = field(default_factory=dict)
    """Percent of its jobs, by the number of the station they go to."""


@dataclass(frozen=True)
class Case:
    name: str
    stations: list[Station]
    order: str = "fifo"
    shares: tuple[int, ...] = ()
    """Percent of the jobs in each class, the most urgent first."""

    def toml(self) -> str:
        text = f'study = "queue"\nwarm_up = "{WARM_UP}s"\nspan = "{SPAN}s"\n'
        for number, share in enumerate(self.shares):
            text += f'[[classes]]\nname = "c{number}"\nshare = "{share}%"\n'
        for number, station in enumerate(self.stations):
            routes = ", ".join(f's{to} = "{share}%"' for to, share in station.routes.items())
            text += (
                f'[stations.s{number}]\nservers = {station.servers}\narrival_rate = "{station.arrivals}/s"\n'
                f'order = "{self.order}"\n{station.shape.toml}\nroutes = {{ {routes} }}\n'
            )
        return text


def ours(case: Case) -> dict[str, list[float]]:
    """The values of our replicates."""
    runs = tt.run(case.toml(), seed=1, replicates=OURS, quiet=True).runs
    names = ["sojourn_mean"] + [f"sojourn_mean[c{number}]" for number in range(len(case.shares))]
    found = {name: [float(value) for value in runs[name]] for name in names}
    if case.order != "preemptive":
        found["wait_mean"] = [float(value) for value in runs["wait_mean"]]
        pairs = zip(runs["sojourn_mean"], runs["wait_mean"], strict=True)
        if len(case.stations) == 1 and not case.stations[0].routes:
            found["service_mean"] = [float(sojourn) - float(wait) for sojourn, wait in pairs]
    return found


class Drawn(ciw.dists.Distribution if hasattr(ciw, "dists") else object):  # type: ignore[misc]
    """A distribution of ciw that draws from a generator of its own."""

    def __init__(self, draw: Callable[[random.Random], float], rng: random.Random) -> None:
        super().__init__()
        self.draw, self.rng = draw, rng

    def sample(self, t: float | None = None, ind: object = None) -> float:
        return self.draw(self.rng)


def by_ciw(case: Case, seed: int) -> Values:
    """One replicate of ciw."""
    ciw.seed(seed)
    rng = random.Random(f"{case.name} {seed}")
    shares = case.shares or (100,)
    classes = [f"Class {number}" for number in range(len(shares))]
    arrivals = {
        name: [
            ciw.dists.Exponential(station.arrivals * share / 100) if station.arrivals else None
            for station in case.stations
        ]
        for name, share in zip(classes, shares, strict=True)
    }
    services = {name: [Drawn(station.shape.draw, rng) for station in case.stations] for name in classes}
    count = len(case.stations)
    routing = [[station.routes.get(to, 0) / 100 for to in range(count)] for station in case.stations]
    more = {}
    if case.order != "fifo":
        ranks = {name: number for number, name in enumerate(classes)}
        more["priority_classes"] = (ranks, ["resume"] * count) if case.order == "preemptive" else ranks
    network = ciw.create_network(
        arrival_distributions=arrivals,
        service_distributions=services,
        number_of_servers=[station.servers for station in case.stations],
        routing=dict.fromkeys(classes, routing),
        **more,
    )
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_time(WARM_UP + SPAN)
    return measured(simulation.get_all_records(), classes if case.shares else [], case)


def measured(records: Iterable, classes: list[str], case: Case) -> Values:
    """The measures of the visits and jobs that ended after the warm-up."""
    visits = [one for one in records if one.record_type == "service"]
    jobs: dict[int, list] = {}
    for one in visits:
        jobs.setdefault(one.id_number, []).append(one)
    through: list[tuple[str, float]] = []
    for own in jobs.values():
        own.sort(key=lambda one: one.arrival_date)
        if own[-1].destination == -1 and own[-1].exit_date >= WARM_UP:
            through.append((own[-1].customer_class, own[-1].exit_date - own[0].arrival_date))
    values = {"sojourn_mean": statistics.fmean(span for _, span in through)}
    for number, name in enumerate(classes):
        values[f"sojourn_mean[c{number}]"] = statistics.fmean(span for of, span in through if of == name)
    counted = [one for one in visits if one.exit_date >= WARM_UP]
    if case.order != "preemptive":
        values["wait_mean"] = statistics.fmean(one.waiting_time for one in counted)
        if len(case.stations) == 1 and not case.stations[0].routes:
            values["service_mean"] = statistics.fmean(one.service_time for one in counted)
    return values


def by_simpy(case: Case, seed: int) -> Values:
    """One replicate of M/G/k, first come first served, written by hand."""
    (station,) = case.stations
    rng = random.Random(f"{case.name} {seed}")
    world = simpy.Environment()
    servers = simpy.Resource(world, station.servers)
    waits: list[float] = []
    sojourns: list[float] = []

    def job() -> Iterable:
        came = world.now
        with servers.request() as turn:
            yield turn
            waited = world.now - came
            yield world.timeout(station.shape.draw(rng))
        if world.now >= WARM_UP:
            waits.append(waited)
            sojourns.append(world.now - came)

    def source() -> Iterable:
        while True:
            yield world.timeout(rng.expovariate(station.arrivals))
            world.process(job())

    world.process(source())
    world.run(until=WARM_UP + SPAN)
    wait, sojourn = statistics.fmean(waits), statistics.fmean(sojourns)
    return {"wait_mean": wait, "sojourn_mean": sojourn, "service_mean": sojourn - wait}


def theirs(case: Case, judge: Callable[[Case, int], Values]) -> dict[str, list[float]]:
    replicates = [judge(case, seed) for seed in range(THEIRS)]
    return {name: [one[name] for one in replicates] for name in replicates[0]}


def limit(freedom: float, z: float) -> float:
    """The quantile of Student's distribution that belongs to the quantile z of the normal one (Cornish and Fisher)."""
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


CERTAIN = 3.29
"""Differences are told where chance gives less than one in a thousand."""


def differing(mine: dict[str, list[float]], other: dict[str, list[float]], z: float = CERTAIN) -> list[str]:
    """The measures whose means differ (B. L. Welch, Biometrika 34, 1947)."""
    found = []
    for name, left in mine.items():
        right = other.get(name)
        if right is None:
            continue
        errors = [statistics.variance(side) / len(side) for side in (left, right)]
        apart = abs(statistics.fmean(left) - statistics.fmean(right))
        if sum(errors) == 0:
            # Constant times: the two sides may round them differently.
            if apart > 1e-6 * statistics.fmean(left):
                found.append(name)
            continue
        parts = [error**2 / (len(side) - 1) for error, side in zip(errors, (left, right), strict=True)]
        if apart > limit(sum(errors) ** 2 / sum(parts), z) * math.sqrt(sum(errors)):
            found.append(f"{name}: {statistics.fmean(left):.5g} and {statistics.fmean(right):.5g}")
    return found


TWO = [Station(exponential(0.5), 0.8, routes={1: 50}), Station(exponential(0.8), 0.3, 2, routes={0: 25})]
GENERAL = [
    Station(erlang(0.5, 3), 0.8, routes={1: 60}),
    Station(lognormal(0.9, 1.5), 0.2, 2, routes={0: 20, 1: 10}),
    Station(constant(0.4), 0.3, routes={1: 30}),
]
ONE = Station(exponential(0.9), 0.8)

CASES = [
    Case("Jackson", TWO),
    Case("general network", GENERAL),
    Case("measured times", [Station(empirical({0.25: 4, 1.0: 5, 3.0: 1}), 0.7)]),
    Case("branches", [Station(branches(80, 2, 0.5), 0.7)]),
    Case("Pareto", [Station(pareto(0.8, 3.5), 0.8)]),
    Case("priority", [ONE], "priority", (30, 70)),
    Case("preemptive", [ONE], "preemptive", (30, 30, 40)),
    Case("preemptive, Erlang, two servers", [Station(erlang(1.8, 2), 0.8, 2)], "preemptive", (30, 70)),
    Case("priority network", GENERAL, "priority", (50, 50)),
    Case("preemptive network", TWO, "preemptive", (50, 50)),
]

MANY = [
    Case("M/D/1", [Station(constant(0.9), 0.8)]),
    Case("M/E4/2", [Station(erlang(1.8, 4), 0.8, 2)]),
    Case("M/H2/3", [Station(hyperexponential(2.5, 4), 0.8, 3)]),
    Case("M/LN/4", [Station(lognormal(3.2, 1.2), 0.9, 4)]),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_queues_agree_with_ciw(case: Case) -> None:
    assert differing(ours(case), theirs(case, by_ciw)) == []


@pytest.mark.parametrize("case", MANY, ids=lambda case: case.name)
def test_several_servers_agree_with_simpy(case: Case) -> None:
    assert differing(ours(case), theirs(case, by_simpy)) == []


def test_the_comparison_notices_a_service_that_is_five_percent_longer() -> None:
    right, wrong = (Case("M/E4/1", [Station(erlang(mean, 4), 0.7)]) for mean in (1.0, 1.05))
    told = differing(ours(wrong), theirs(right, by_simpy))
    assert any(one.startswith("service_mean") for one in told), told


def test_the_comparison_notices_priorities_the_other_way_round() -> None:
    right, wrong = (Case("two classes", [ONE], order, (50, 50)) for order in ("priority", "preemptive"))
    other = theirs(right, by_ciw)
    swapped = {**other, "sojourn_mean[c0]": other["sojourn_mean[c1]"], "sojourn_mean[c1]": other["sojourn_mean[c0]"]}
    assert len(differing(ours(right), swapped)) == 2
    # So is an interruption where there is none.
    assert any(one.startswith("sojourn_mean[c0]") for one in differing(ours(wrong), other))


def drawn(number: int) -> Case:
    """A case of one to three stations, each below 80 % of its capacity."""
    rng = random.Random(number)
    count = rng.randint(1, 3)
    stations = []
    for _ in range(count):
        servers = rng.randint(1, 3)
        mean = rng.uniform(0.3, 1.2) * servers
        shape = rng.choice(
            [
                exponential(mean),
                constant(mean),
                erlang(mean, rng.randint(2, 6)),
                hyperexponential(mean, rng.choice([2, 4])),
                lognormal(mean, rng.choice([0.5, 1.5])),
                pareto(mean, 4.5),
            ]
        )
        arrivals = round(rng.uniform(0.2, 0.8) * servers / mean / count, 6)
        routes = {to: rng.randint(0, 20) for to in range(count) if rng.random() < 0.5}
        stations.append(Station(shape, arrivals, servers, routes))
    order = rng.choice(["fifo", "priority", "preemptive"])
    shares = rng.choice([(30, 70), (20, 30, 50)]) if order != "fifo" or rng.random() < 0.3 else ()
    return Case(f"drawn {number}", stations, order, shares)


def test_drawn_queues_agree_with_ciw() -> None:
    """The long form: differences at one in a million fail, and so do too many at one in a thousand."""
    compared, told = 0, []
    for number in range(int(os.environ.get("JUDGE_CASES", "0"))):
        case = drawn(number)
        try:
            mine = ours(case)
        except tt.ScenarioError:
            continue  # Jobs that come back overload a station.
        other = theirs(case, by_ciw)
        assert differing(mine, other, z=4.9) == [], case
        told += [(number, one) for one in differing(mine, other)]
        compared += len(mine)
    assert len(told) <= 3 + compared / 200, told
