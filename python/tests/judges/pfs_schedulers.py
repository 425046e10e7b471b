"""The schedulers that the guide names, each from its published source and not from the program.

A scheduler of `D` has at most `D` jobs in service. A class says which source it follows, and `planted` names one rule
that it then breaks on purpose.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

SECOND = 1_000_000_000
KIB = 1024
NEVER = 1 << 80
PARTS = 1 << 20


@dataclass
class Settings:
    """What an application sets for schedulers. Rates are bytes per second, or jobs per second in `request_rate`."""

    weight: int = 1
    priority: int = 0
    reservation: int | None = None
    limit: int | None = None
    deadline: int | None = None
    rate: int | None = None
    request_rate: int | None = None
    burst: int | None = None


@dataclass
class Job:
    """The part of a request that lies on one server."""

    flow: int
    client: int
    node: Any
    file: int
    offset: int
    size: int
    read: bool
    began: int
    request: int = 0
    siblings: int = 1
    last: int = 0
    arrived: int = 0
    number: int = 0
    start: Fraction = Fraction(0)
    finish: Fraction = Fraction(0)
    due: int = NEVER
    then: Callable[[], None] | None = None


Message = list[tuple[int, int]]
"""What one server tells the others: bytes by application."""


class Scheduler:
    """First come, first served; and what all schedulers share: a queue for each application and a depth."""

    def __init__(self, flows: list[Settings], depth: int, options: dict[str, str], planted: str) -> None:
        self.flows = flows
        self.depth = depth or NEVER
        self.options = options
        self.planted = planted
        self.queues: list[deque[Job]] = [deque() for _ in flows]
        self.serving = 0
        self.arrivals = 0

    def weight(self, flow: int) -> int:
        return 1 if self.planted == "no weights" else self.flows[flow].weight

    def backlogged(self) -> list[int]:
        return [flow for flow, queue in enumerate(self.queues) if queue]

    def arrive(self, now: int, job: Job) -> None:
        job.number = self.arrivals
        self.arrivals += 1
        self.enqueue(now, job)

    def next(self, now: int) -> Job | None:
        if self.serving >= self.depth:
            return None
        job = self.pick(now)
        self.serving += job is not None
        return job

    def complete(self, now: int, job: Job) -> None:
        self.serving -= 1
        self.completed(now, job)

    def enqueue(self, now: int, job: Job) -> None:
        self.queues[job.flow].append(job)

    def pick(self, now: int) -> Job | None:
        flows = self.backlogged()
        if not flows:
            return None
        newest = self.planted == "last come"
        chosen = (max if newest else min)(flows, key=lambda flow: self.queues[flow][-1 if newest else 0].number)
        return self.queues[chosen].pop() if newest else self.queues[chosen].popleft()

    def completed(self, now: int, job: Job) -> None:
        pass

    def wake_at(self, now: int) -> int | None:
        return None

    def wake(self, now: int) -> None:
        pass

    def tell(self, now: int) -> list[Message]:
        return []

    def hear(self, now: int, message: Message) -> None:
        pass


class StartTime(Scheduler):
    """SFQ(D): Goyal, Vin and Cheng 1996; Jin, Chase and Kaur 2004; ties and idle times as in PFSsim.

    S = max(v, F of the job before), F = S + size / weight; the smallest S goes first; v is the S of the last one that
    went, also when nothing is left. Of equal tags, the application next in turn after the one served last goes first.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.virtual = Fraction(0)
        self.last = [Fraction(0)] * len(self.flows)
        self.turn = 0

    def cost(self, job: Job) -> Fraction:
        """Rounded down to a millionth of a byte or so: tags are not exact, and ties depend on it."""
        return Fraction(job.size * PARTS // self.weight(job.flow), PARTS)

    def enqueue(self, now: int, job: Job) -> None:
        job.start = max(self.virtual, self.last[job.flow])
        job.finish = self.last[job.flow] = job.start + self.cost(job)
        self.queues[job.flow].append(job)

    def pick(self, now: int) -> Job | None:
        flows = self.backlogged()
        if not flows:
            return None
        count = len(self.flows)
        flow = min(flows, key=lambda flow: (self.queues[flow][0].start, (flow - self.turn) % count))
        self.turn = (flow + 1) % count
        job = self.queues[flow].popleft()
        self.virtual = job.start
        return job


class FinishTime(StartTime):
    """WFQ (Demers, Keshav and Shenker 1989): the smallest F goes first; ties go to the application named first.

    v is the round of a fluid server that has done the work that this one has completed: it shares each piece of work
    among the applications that it has not finished yet, by weight.
    """

    def pick(self, now: int) -> Job | None:
        flows = self.backlogged()
        if not flows:
            return None
        flow = min(flows, key=lambda flow: (self.queues[flow][0].finish, flow))
        job = self.queues[flow].popleft()
        if self.planted == "own clock":
            self.virtual = job.finish
        return job

    def completed(self, now: int, job: Job) -> None:
        if self.planted == "own clock":
            return
        work = Fraction(job.size)
        while work > 0:
            active = [flow for flow, last in enumerate(self.last) if last > self.virtual]
            if not active:
                return
            weights = sum(self.weight(flow) for flow in active)
            step = min(work / weights, min(self.last[flow] for flow in active) - self.virtual)
            self.virtual += step
            work -= step * weights


class WorstCaseFair(Scheduler):
    """WF2Q+ (Bennett and Zhang 1997): the smallest F of those with S <= V; V = max(V + work, smallest S)."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.virtual = Fraction(0)
        self.last = [Fraction(0)] * len(self.flows)
        self.sum = sum(self.weight(flow) for flow in range(len(self.flows)))

    def tag(self, job: Job, start: Fraction) -> None:
        job.start = start
        job.finish = self.last[job.flow] = start + Fraction(job.size, self.weight(job.flow))

    def enqueue(self, now: int, job: Job) -> None:
        queue = self.queues[job.flow]
        if not queue:
            self.tag(job, max(self.virtual, self.last[job.flow]))
        queue.append(job)

    def pick(self, now: int) -> Job | None:
        flows = self.backlogged()
        if not flows:
            return None
        heads = [self.queues[flow][0] for flow in flows]
        self.virtual = max(self.virtual, min(head.start for head in heads))
        everyone = self.planted == "all eligible"
        job = min(
            (head for head in heads if everyone or head.start <= self.virtual),
            key=lambda head: (head.finish, head.number),
        )
        queue = self.queues[job.flow]
        queue.popleft()
        if queue:
            self.tag(queue[0], job.finish)
        self.virtual += Fraction(job.size, self.sum)
        return job


class DeficitRound(Scheduler):
    """DRR (Shreedhar and Varghese 1995): each visit adds quantum times weight; a flow that empties loses the rest."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.quantum = size_of(self.options.get("quantum", "64KiB"))
        self.deficit = [0] * len(self.flows)
        self.round: deque[int] = deque()
        self.visited = False

    def enqueue(self, now: int, job: Job) -> None:
        self.queues[job.flow].append(job)
        if job.flow not in self.round:
            self.round.append(job.flow)

    def pick(self, now: int) -> Job | None:
        while self.round:
            flow = self.round[0]
            queue = self.queues[flow]
            if not self.visited:
                self.deficit[flow] += self.quantum * self.weight(flow)
                self.visited = True
            if queue[0].size <= self.deficit[flow]:
                job = queue.popleft()
                self.deficit[flow] -= job.size
                if not queue:
                    self.deficit[flow] = 0
                    self.round.popleft()
                    self.visited = False
                return job
            self.round.rotate(-1)
            self.visited = False
        return None


class WeightedRound(DeficitRound):
    """WRR: a turn is as many jobs as the weight says, or all that wait if these are fewer."""

    def pick(self, now: int) -> Job | None:
        if not self.round:
            return None
        flow = self.round[0]
        if not self.visited:
            self.deficit[flow] = self.weight(flow)
            self.visited = True
        job = self.queues[flow].popleft()
        self.deficit[flow] -= 1
        if not self.queues[flow]:
            self.round.popleft()
            self.visited = False
        elif not self.deficit[flow]:
            self.round.rotate(-1)
            self.visited = False
        return job


class Priority(Scheduler):
    """The lowest number first; equal ones in order of arrival."""

    def pick(self, now: int) -> Job | None:
        flows = self.backlogged()
        if not flows:
            return None
        sign = -1 if self.planted == "highest first" else 1
        flow = min(flows, key=lambda flow: (sign * self.flows[flow].priority, self.queues[flow][0].number))
        return self.queues[flow].popleft()


class Deadline(Scheduler):
    """EDF: the deadline of a job is that of its request, from its start at the client; ties go to the older request.

    A job without a deadline goes after all that have one.
    """

    def enqueue(self, now: int, job: Job) -> None:
        deadline = self.flows[job.flow].deadline
        if deadline is not None and self.planted != "no deadlines":
            job.due = job.began + deadline
        self.queues[job.flow].append(job)

    def pick(self, now: int) -> Job | None:
        jobs = [job for queue in self.queues for job in queue]
        if not jobs:
            return None
        job = min(jobs, key=lambda job: (job.due, job.began, job.number))
        self.queues[job.flow].remove(job)
        return job


class Distributed(StartTime):
    """DSFQ (Wang and Merchant 2007; PFSsim): what other servers report delays the flow by cost / weight.

    `a`, `d` and `f` report arrivals, dispatches and completions; `alb` and `atb` sums of arrivals, by load and by time.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.kind = self.options["kind"]
        self.outbox: list[Message] = []
        self.sums = [0] * len(self.flows)
        self.at_front = self.kind == "f"
        self.period = span_of(self.options["period"]) if "period" in self.options else 0
        self.load = size_of(self.options["load"]) if "load" in self.options else 0
        self.due: int | None = None

    def enqueue(self, now: int, job: Job) -> None:
        super().enqueue(now, job)
        if self.kind == "a":
            self.outbox.append([(job.flow, job.size)])
        self.sums[job.flow] += job.size
        if self.kind == "alb" and self.sums[job.flow] >= self.load:
            self.flush()
        if self.kind == "atb" and self.due is None:
            self.due = (now // self.period + 1) * self.period

    def flush(self) -> None:
        message = [(flow, size) for flow, size in enumerate(self.sums) if size]
        if message:
            self.outbox.append(message)
        self.sums = [0] * len(self.flows)

    def pick(self, now: int) -> Job | None:
        job = super().pick(now)
        if job is not None and self.kind == "d":
            self.outbox.append([(job.flow, job.size)])
        return job

    def completed(self, now: int, job: Job) -> None:
        if self.kind == "f":
            self.outbox.append([(job.flow, job.size)])

    def wake_at(self, now: int) -> int | None:
        return self.due

    def wake(self, now: int) -> None:
        if self.due is not None and self.due <= now:
            self.due = None
            self.flush()

    def tell(self, now: int) -> list[Message]:
        messages, self.outbox = self.outbox, []
        return messages

    def hear(self, now: int, message: Message) -> None:
        if self.planted == "alone":
            return
        for flow, size in message:
            delay = Fraction(size, self.weight(flow))
            queue = self.queues[flow]
            self.last[flow] += delay
            if queue and self.at_front:
                for job in queue:
                    job.start += delay
                    job.finish += delay


class Clocked(Scheduler):
    """mClock (Gulati, Merchant and Varman 2010; Ceph's dmclock): tags by reservation, weight and limit."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.allow = self.options.get("at-limit", "wait") == "allow"
        none: list[Fraction | None] = [None] * len(self.flows)
        self.reserved, self.shared, self.limited = list(none), list(none), list(none)
        self.heads: list[tuple[Fraction, Fraction, Fraction] | None] = [None] * len(self.flows)
        self.went = Fraction(0)

    def tag(self, now: int, flow: int) -> None:
        """Gives tags to the job that has come to the head of its queue."""
        job = self.queues[flow][0]
        at = Fraction(job.arrived)

        def later(before: Fraction | None, rate: int | None, none: Fraction) -> Fraction:
            if not rate:
                return none
            return at if before is None else max(at, before + Fraction(job.size * SECOND, rate))

        reserved = later(self.reserved[flow], self.reservation(flow), Fraction(NEVER))
        limited = later(self.limited[flow], self.limit(flow), Fraction(0))
        start = self.shared[flow]
        if start is None:
            # Nobody is idle again within the 300 s of `idle-after`, so who was here once is among the others.
            start = min((other for other in self.shared if other is not None), default=self.went)
            self.shared[flow] = start
        shared = start + Fraction(job.size * SECOND, self.weight(flow))
        self.reserved[flow], self.limited[flow] = reserved, limited
        self.heads[flow] = (reserved, shared, limited)

    def reservation(self, flow: int) -> int | None:
        return None if self.planted == "no reservations" else self.flows[flow].reservation

    def limit(self, flow: int) -> int | None:
        return None if self.planted == "no limits" else self.flows[flow].limit

    def enqueue(self, now: int, job: Job) -> None:
        self.queues[job.flow].append(job)
        if len(self.queues[job.flow]) == 1:
            self.tag(now, job.flow)

    def take(self, now: int, flow: int, by_weight: bool) -> Job:
        job, head = self.queues[flow].popleft(), self.heads[flow]
        assert head is not None
        self.went, self.heads[flow] = max(self.went, head[1]), None
        self.shared[flow] = head[1]
        reservation = self.reservation(flow)
        before = self.reserved[flow]
        if by_weight and reservation and before is not None:
            self.reserved[flow] = before - Fraction(job.size * SECOND, reservation)
        if self.queues[flow]:
            self.tag(now, flow)
        return job

    def pick(self, now: int) -> Job | None:
        heads = {flow: head for flow, head in enumerate(self.heads) if head is not None}
        if not heads:
            return None
        first = min(heads, key=lambda flow: (heads[flow][0], flow))
        if heads[first][0] <= now:
            return self.take(now, first, False)
        ready = [flow for flow in heads if heads[flow][2] <= now]
        if not ready and self.allow:
            ready = list(heads)
        if not ready:
            return None
        return self.take(now, min(ready, key=lambda flow: (heads[flow][1], flow)), True)

    def wake_at(self, now: int) -> int | None:
        heads = [head for head in self.heads if head is not None]
        if not heads or self.serving >= self.depth or self.allow:
            return None
        return up(min(min(head[0], head[2]) for head in heads))


class Bucket(Scheduler):
    """Token buckets: a job goes when its application's bucket holds its bytes; in order of arrival otherwise."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.tokens = [Fraction(self.burst(flow)) for flow in range(len(self.flows))]
        self.filled = 0

    def rate(self, flow: int) -> int | None:
        return None if self.planted == "no rates" else self.flows[flow].rate

    def burst(self, flow: int) -> int:
        settings = self.flows[flow]
        return settings.burst if settings.burst is not None else (settings.rate or 0) // 10

    def fill(self, now: int) -> None:
        for flow in range(len(self.flows)):
            more = Fraction((self.rate(flow) or 0) * (now - self.filled), SECOND)
            self.tokens[flow] = min(self.tokens[flow] + more, Fraction(self.burst(flow)))
        self.filled = now

    def need(self, job: Job) -> int:
        return min(job.size, self.burst(job.flow))

    def pick(self, now: int) -> Job | None:
        self.fill(now)
        ready = [
            flow
            for flow in self.backlogged()
            if self.rate(flow) is None or self.tokens[flow] >= self.need(self.queues[flow][0])
        ]
        if not ready:
            return None
        flow = min(ready, key=lambda flow: self.queues[flow][0].number)
        job = self.queues[flow].popleft()
        if self.rate(flow) is not None:
            self.tokens[flow] -= job.size
        return job

    def wake_at(self, now: int) -> int | None:
        if self.serving >= self.depth:
            return None
        self.fill(now)
        instants = [
            now + up((self.need(self.queues[flow][0]) - self.tokens[flow]) * SECOND / rate)
            for flow in self.backlogged()
            if (rate := self.rate(flow)) is not None
        ]
        return min(instants) if instants else None


class Budget(Scheduler):
    """BFQ without its heuristics (Checconi and Valente 2010): B-WF2Q+ over budgets, one application at a time.

    A turn ends when the next job exceeds the budget, when the application has nothing for `idle` and nothing in
    service, or when a job is asked for after `timeout`. A used-up budget doubles; any other turn leaves what it used;
    both within `min` and `max`. A budget is at least the first job of the turn.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.least, self.most = size_of(self.options.get("min", "512KiB")), size_of(self.options.get("max", "8MiB"))
        self.idle, self.timeout = (
            span_of(self.options.get("idle", "8ms")),
            span_of(self.options.get("timeout", "125ms")),
        )
        count = len(self.flows)
        self.budgets = [self.least] * count
        self.starts: list[Fraction | None] = [None] * count
        self.finishes = [Fraction(0)] * count
        self.in_service = [0] * count
        self.virtual = Fraction(0)
        self.turn: int | None = None
        self.used, self.began = 0, 0
        self.until: int | None = None

    def place(self, flow: int, start: Fraction) -> None:
        """Queues an application for its next turn."""
        self.budgets[flow] = max(self.budgets[flow], self.queues[flow][0].size)
        self.starts[flow] = start
        self.finishes[flow] = start + Fraction(self.budgets[flow] * PARTS // self.weight(flow), PARTS)

    def enqueue(self, now: int, job: Job) -> None:
        self.queues[job.flow].append(job)
        if job.flow == self.turn:
            self.until = None
        elif self.starts[job.flow] is None:
            self.place(job.flow, max(self.virtual, self.finishes[job.flow]))

    def expire(self, flow: int, used_up: bool) -> None:
        start = self.starts[flow]
        assert start is not None
        weights = sum(self.weight(other) for other in {*self.backlogged(), flow})
        self.virtual += Fraction(self.used, weights)
        self.turn, self.until = None, None
        budget = self.budgets[flow] * 2 if used_up else self.used
        if self.planted != "fixed budgets":
            self.budgets[flow] = max(self.least, min(self.most, budget))
        self.finishes[flow] = start + Fraction(self.used * PARTS // self.weight(flow), PARTS)
        self.starts[flow] = None
        if self.queues[flow]:
            self.place(flow, self.finishes[flow])

    def choose(self, now: int) -> int | None:
        tagged = [(flow, start) for flow in self.backlogged() if (start := self.starts[flow]) is not None]
        if not tagged:
            return None
        self.virtual = max(self.virtual, min(start for _, start in tagged))
        flow = min(
            (flow for flow, start in tagged if start <= self.virtual), key=lambda flow: (self.finishes[flow], flow)
        )
        self.turn, self.used, self.began = flow, 0, now
        return flow

    def over(self, now: int, flow: int) -> bool | None:
        """Whether the turn ends now and the budget is used up; none if the turn goes on."""
        if self.used and now - self.began >= self.timeout:
            return False
        if self.queues[flow]:
            return True if self.used + self.queues[flow][0].size > self.budgets[flow] else None
        if self.idle == 0 or self.planted == "no idling":
            return False
        if self.in_service[flow]:
            self.until = None
        elif self.until is None:
            self.until = now + self.idle
        return False if self.until is not None and self.until <= now else None

    def pick(self, now: int) -> Job | None:
        while (flow := self.choose(now) if self.turn is None else self.turn) is not None:
            used_up = self.over(now, flow)
            if used_up is not None:
                self.expire(flow, used_up)
            elif not self.queues[flow]:
                return None
            else:
                job = self.queues[flow].popleft()
                self.used += job.size
                self.in_service[flow] += 1
                return job
        return None

    def completed(self, now: int, job: Job) -> None:
        self.in_service[job.flow] -= 1

    def wake_at(self, now: int) -> int | None:
        return self.until if self.until is not None and self.until > now else None


class Credit(StartTime):
    """SFQRC as far as the guide goes: jobs within the credit go at once; the others by SFQ, at most `D` of them.

    What credit does to jobs that wait already, and how deadlines hold the others back, the guide does not say. So this
    holds where each application has either more credit than it can use or none, and no deadline.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.within: list[Job] = []
        self.by_shares: set[int] = set()

    def enqueue(self, now: int, job: Job) -> None:
        settings = self.flows[job.flow]
        if settings.rate and self.planted != "no credit":
            self.within.append(job)
        else:
            super().enqueue(now, job)

    def next(self, now: int) -> Job | None:
        if self.within and (self.planted != "depth of all" or self.serving < self.depth):
            job = self.within.pop(0)
            self.serving += self.planted == "depth of all"
            return job
        chosen = super().next(now)
        if chosen is not None:
            self.by_shares.add(chosen.number)
        return chosen

    def complete(self, now: int, job: Job) -> None:
        if job.number in self.by_shares or self.planted == "depth of all":
            self.serving -= 1


def up(value: Fraction) -> int:
    """The next whole number, from a fraction."""
    return -(-value.numerator // value.denominator)


UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9}
SPANS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}


def number_of(text: str, units: dict[str, int]) -> int:
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    return int(Fraction(digits) * units[text[len(digits) :]])


def size_of(text: str) -> int:
    return number_of(text.removesuffix("/s"), UNITS)


def span_of(text: str) -> int:
    return number_of(text, SPANS)


KINDS: dict[str, type[Scheduler]] = {
    "fifo": Scheduler,
    "sfq": StartTime,
    "wfq": FinishTime,
    "wf2q+": WorstCaseFair,
    "drr": DeficitRound,
    "wrr": WeightedRound,
    "priority": Priority,
    "edf": Deadline,
    "mclock": Clocked,
    "token-bucket": Bucket,
    "bfq": Budget,
    "sfqrc": Credit,
}


def scheduler(text: str, flows: list[Settings], planted: str = "") -> Scheduler:
    """The scheduler that a text names, such as `sfq:4`."""
    name, *rest = text.split(":")
    options = dict(part.split("=") for part in rest if "=" in part)
    plain = [part for part in rest if "=" not in part]
    depth = int(plain[0]) if plain else 0
    if name.startswith("dsfq-"):
        options["kind"] = name.removeprefix("dsfq-")
        if len(plain) > 1:
            options["period" if options["kind"] == "atb" else "load"] = plain[1]
        return Distributed(flows, depth, options, planted)
    return KINDS[name](flows, depth, options, planted)
