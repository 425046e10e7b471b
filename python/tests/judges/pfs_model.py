"""A parallel file system, simulated a second time: written from the guide (docs/pfs.md) and not from the program.

It has clients, a network of NICs, metadata servers, striped files, and data servers with a scheduler, threads and a
disk of the model `rate`, which bypass the page cache. Times are whole nanoseconds. Nothing here is drawn at random, so
a scenario of this model has one answer. The schedulers are in `pfs_schedulers.py`.

Not modelled: page caches, caches at clients, losses, routers, fair ports, copies, handshakes, locks, traces, and other
disks.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from pfs_schedulers import Job, Scheduler, Settings, scheduler

SECOND = 1_000_000_000
PAGE = 4096
"""Disks read and write whole pages."""
LAYOUT_BYTES = 1024
"""Bytes of a layout in the answer of a metadata server, beside the header."""


def span(size: int, rate: int) -> int:
    """Nanoseconds for `size` bytes at `rate` bytes per second, rounded up."""
    return -(-size * SECOND // rate)


@dataclass
class Application:
    """One application: the work of its clients, and what schedulers know about it."""

    name: str
    clients: int = 1
    workload: str = "write"
    files: int = 1
    file_size: int = 4 << 20
    request_size: int = 1 << 20
    flows: int = 1
    think: int = 0
    flow: Settings = field(default_factory=Settings)


@dataclass
class System:
    """The file system. Spans are nanoseconds, sizes bytes, rates bytes per second. Defaults: the preset `hdd`."""

    applications: list[Application]
    scheduler: str = "fifo"
    servers: int = 4
    stripe: int = 256 << 10
    stripe_count: int = 0
    card: int = 3_125_000_000
    latency: int = 20_000
    header: int = 256
    metadata_servers: int = 1
    metadata_threads: int = 16
    open: int = 100_000
    request_cost: int = 10_000
    job_cost: int = 5_000
    window: int = 64 << 20
    before: int = 20_000
    after: int = 10_000
    threads: int = 64
    part: int = 1 << 20
    read: int = 200_000_000
    write: int = 200_000_000
    overhead: int = 8_500_000
    planted: str = ""
    """The name of one wrong rule, to see that a comparison finds it."""


class Clock:
    """The events to come. Those of one instant happen in the order in which they were planned."""

    def __init__(self) -> None:
        self.now = 0
        self._next = 0
        self._events: list[tuple[int, float, int, Callable[[], None]]] = []

    def rank(self) -> float:
        """The place of an event among those of its instant, before the order of planning."""
        return 0.0

    def after(self, delay: int, action: Callable[[], None]) -> None:
        self.at(self.now + delay, action)

    def at(self, instant: int, action: Callable[[], None]) -> None:
        heapq.heappush(self._events, (instant, self.rank(), self._next, action))
        self._next += 1

    def run(self) -> None:
        while self._events:
            self.now, _, _, action = heapq.heappop(self._events)
            action()


class Lane:
    """Something that serves one piece of work after the other, in order of arrival."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.free = 0
        self.busy = 0

    def take(self, length: int) -> int:
        """When the work will have begun: now, or when all that came before is done."""
        begins = max(self.clock.now, self.free)
        self.free = begins + length
        self.busy += length
        return begins

    def end(self, length: int) -> int:
        """When work ends that could have begun its own length ago: a message passes through while it arrives."""
        self.free = max(self.clock.now, self.free + length)
        self.busy += length
        return self.free


class Node:
    """A NIC: a lane in each direction. A message begins to arrive one latency after it begins to leave."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.sending = Lane(world.clock)
        self.receiving = Lane(world.clock)

    def send(self, to: Node, size: int, then: Callable[[], None]) -> None:
        clock, system = self.world.clock, self.world.system
        length = span(size + system.header, system.card)
        begins = self.sending.take(length)

        def arrives() -> None:
            clock.at(to.receiving.end(length), then)

        clock.at(begins + length + system.latency, arrives)


class Metadata(Node):
    """A metadata server: threads that answer one request each."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.working = 0
        self.waiting: deque[tuple[Node, Callable[[], None]]] = deque()

    def ask(self, client: Node, then: Callable[[], None]) -> None:
        client.send(self, 0, lambda: self._arrived(client, then))

    def _arrived(self, client: Node, then: Callable[[], None]) -> None:
        self.waiting.append((client, then))
        self._work()

    def _work(self) -> None:
        limit = self.world.system.metadata_threads
        while self.waiting and (limit == 0 or self.working < limit):
            client, then = self.waiting.popleft()
            self.working += 1
            self.world.clock.after(self.world.system.open, lambda c=client, t=then: self._done(c, t))  # type: ignore[misc]

    def _done(self, client: Node, then: Callable[[], None]) -> None:
        self.working -= 1
        self.send(client, LAYOUT_BYTES, then)
        self._work()


class Server(Node):
    """A data server: a scheduler, threads behind it, and a disk that serves one request at a time."""

    def __init__(self, world: World, number: int) -> None:
        super().__init__(world)
        self.number = number
        self.scheduler: Scheduler = scheduler(world.system.scheduler, world.flows, world.system.planted)
        self.disk = Lane(world.clock)
        self.ready: deque[Job] = deque()
        self.working = 0
        self.wakes: set[int] = set()
        self.present = 0
        self.present_since = 0
        self.job_time = 0
        self.bytes = 0
        self.order: list[Job] = []

    def count(self, change: int) -> None:
        now = self.world.clock.now
        self.job_time += self.present * (now - self.present_since)
        self.present, self.present_since = self.present + change, now

    def arrived(self, job: Job) -> None:
        self.count(1)
        job.arrived = self.world.clock.now
        self.scheduler.arrive(job.arrived, job)
        self.tell()
        self.pump()

    def tell(self) -> None:
        """Tells the others what the scheduler has for them: it takes the latency, and nothing of the NICs."""
        for message in self.scheduler.tell(self.world.clock.now):
            for other in self.world.servers:
                if other is not self:
                    self.world.clock.after(self.world.system.latency, lambda o=other, m=message: o.heard(m))  # type: ignore[misc]

    def heard(self, message: list[tuple[int, int]]) -> None:
        self.scheduler.hear(self.world.clock.now, message)
        self.pump()

    def pump(self) -> None:
        now = self.world.clock.now
        while (job := self.scheduler.next(now)) is not None:
            self.order.append(job)
            self.ready.append(job)
            self.tell()
        self.work()
        instant = self.scheduler.wake_at(now)
        if instant is not None and instant not in self.wakes:
            self.wakes.add(instant)
            self.world.clock.at(max(instant, now), lambda: self.woken(instant))

    def woken(self, instant: int) -> None:
        self.wakes.discard(instant)
        self.scheduler.wake(self.world.clock.now)
        self.tell()
        self.pump()

    def work(self) -> None:
        while self.ready and self.working < self.world.system.threads:
            job = self.ready.popleft()
            self.working += 1
            self.world.clock.after(self.world.system.before, lambda j=job: self.process(j, 0))  # type: ignore[misc]

    def process(self, job: Job, done: int) -> None:
        """Serves the next part of a job, or ends it."""
        system, clock = self.world.system, self.world.clock
        if done == job.size:
            clock.after(system.after, lambda: self.finished(job))
            return
        size = min(system.part, job.size - done)
        first, last = (job.offset + done) // PAGE, -(-(job.offset + done + size) // PAGE)
        length = system.overhead + span((last - first) * PAGE, system.read if job.read else system.write)
        clock.at(self.disk.take(length) + length, lambda: self.processed(job, done, size))

    def processed(self, job: Job, done: int, size: int) -> None:
        """Sends what was read as soon as it is there; the last part goes with the answer."""
        if job.read and done + size < job.size:
            self.send(job.node, size, lambda: None)
        job.last = size
        self.process(job, done + size)

    def finished(self, job: Job) -> None:
        self.count(-1)
        self.working -= 1
        self.bytes += job.size
        self.scheduler.complete(self.world.clock.now, job)
        self.tell()
        assert job.then is not None
        self.send(job.node, job.last if job.read else 0, job.then)
        self.pump()


@dataclass
class Request:
    """Some bytes of one file."""

    file: int
    first: bool
    offset: int
    size: int
    began: int = 0
    left: int = 0


class Client(Node):
    """A client: requests one after the other, `flows` of them at once, and one processor."""

    def __init__(self, world: World, number: int, flow: int, first_file: int) -> None:
        super().__init__(world)
        self.number = number
        self.flow = flow
        self.application = world.system.applications[flow]
        self.processor = Lane(world.clock)
        self.known: set[int] = set()
        app = self.application
        self.requests = deque(
            Request(first_file + file, offset == 0, offset, min(app.request_size, app.file_size - offset))
            for file in range(app.files)
            for offset in range(0, app.file_size, app.request_size)
        )

    def start(self) -> None:
        for _ in range(self.application.flows):
            self.begin()

    def begin(self) -> None:
        if not self.requests:
            return
        request = self.requests.popleft()
        request.began = self.world.clock.now
        self.compute(self.world.system.request_cost, lambda: self.layout(request))

    def compute(self, cost: int, then: Callable[[], None]) -> None:
        self.world.clock.at(self.processor.take(cost) + cost, then)

    def layout(self, request: Request) -> None:
        """Asks for the layout of the file, if no answer has come yet."""
        if request.file in self.known:
            self.split(request, 0)
        else:
            self.world.metadata_of(request.file).ask(self, lambda: self.opened(request))

    def opened(self, request: Request) -> None:
        self.known.add(request.file)
        self.split(request, 0)

    def split(self, request: Request, done: int) -> None:
        """Sends the jobs of the next window of a request."""
        size = min(self.world.system.window, request.size - done)
        parts = self.world.parts(request.file, request.offset + done, size)
        request.left = len(parts)
        for server, where, amount in parts:
            job = Job(
                flow=self.flow,
                client=self.number,
                node=self,
                file=request.file,
                offset=where,
                size=amount,
                read=self.application.workload == "read",
                began=request.began,
                request=id(request),
                siblings=len(parts),
            )
            job.then = lambda: self.answered(request, done + size)
            self.compute(self.world.system.job_cost, lambda j=job, s=server: self.dispatch(j, s))  # type: ignore[misc]

    def dispatch(self, job: Job, server: Server) -> None:
        self.send(server, 0 if job.read else job.size, lambda: server.arrived(job))

    def answered(self, request: Request, done: int) -> None:
        request.left -= 1
        if request.left:
            return
        if done < request.size:
            self.split(request, done)
            return
        self.world.record(self, request)
        if self.application.think:
            self.world.clock.after(self.application.think, self.begin)
        else:
            self.begin()


class World:
    """A system in motion, and what is measured of it."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.clock = Clock()
        self.flows = [application.flow for application in system.applications]
        self.metadata = [Metadata(self) for _ in range(system.metadata_servers)]
        self.servers = [Server(self, number) for number in range(system.servers)]
        self.clients: list[Client] = []
        file = 0
        for flow, application in enumerate(system.applications):
            for _ in range(application.clients):
                self.clients.append(Client(self, len(self.clients), flow, file))
                file += application.files
        self.latencies: list[list[int]] = [[] for _ in system.applications]
        self.done_bytes = [0] * len(system.applications)
        self.last = [0] * len(system.applications)

    def metadata_of(self, file: int) -> Metadata:
        return self.metadata[file % len(self.metadata)]

    def parts(self, file: int, offset: int, size: int) -> list[tuple[Server, int, int]]:
        """The jobs of some bytes: server, place in the file's part there, and size; in order of their first bytes."""
        system = self.system
        count = system.stripe_count or system.servers
        parts: dict[int, list[int]] = {}
        at = offset
        while at < offset + size:
            stripe = at // system.stripe
            amount = min((stripe + 1) * system.stripe, offset + size) - at
            where = stripe // count * system.stripe + at % system.stripe
            part = parts.setdefault(stripe % count, [where, 0])
            part[1] += amount
            at += amount
        return [
            (self.servers[(file + column) % system.servers], where, amount) for column, (where, amount) in parts.items()
        ]

    def record(self, client: Client, request: Request) -> None:
        self.latencies[client.flow].append(self.clock.now - request.began)
        self.done_bytes[client.flow] += request.size
        self.last[client.flow] = self.clock.now

    def run(self) -> dict[str, float]:
        for client in self.clients:
            self.clock.at(0, client.start)
        self.clock.run()
        unserved = sum(len(client.requests) for client in self.clients) + sum(server.present for server in self.servers)
        assert unserved == 0, f"{unserved} requests or jobs were never served"
        return self.measures()

    def measures(self) -> dict[str, float]:
        span_ns = max(self.last)
        every = [latency for flow in self.latencies for latency in flow]
        measures = {
            "makespan_s": span_ns / SECOND,
            "latency_mean_s": sum(every) / len(every) / SECOND,
            "throughput_bytes_per_s": sum(self.done_bytes) * SECOND / span_ns,
            "disk_busy": sum(server.disk.busy for server in self.servers) / len(self.servers) / span_ns,
            "queue_depth_mean": sum(server.job_time for server in self.servers) / len(self.servers) / span_ns,
        }
        for flow, application in enumerate(self.system.applications):
            latencies = sorted(self.latencies[flow])
            measures[f"latency_p99_s[{application.name}]"] = latencies[-(-len(latencies) * 99 // 100) - 1] / SECOND
            measures[f"latency_mean_s[{application.name}]"] = sum(latencies) / len(latencies) / SECOND
            measures[f"throughput_bytes_per_s[{application.name}]"] = self.done_bytes[flow] * SECOND / self.last[flow]
        return measures


def simulate(system: System) -> dict[str, float]:
    """The measures of a scenario, by their names in a report."""
    return World(system).run()
