#!/usr/bin/env python3
"""Compares shares of `towtank pfs` under mClock with an independent model of one server.

    peers/dmclock.py TOWTANK [SETS] [SEED]

The model is written from the mClock paper (Gulati, Merchant and Varman, OSDI 2010) and from the rules of Ceph's
dmclock library, in floating point and with lists, and shares no code with Towtank. It has clients in a closed
loop, one queue with reservations, weights and limits, a depth, and one disk. Flow sets are drawn at random: 2 to 4
flows, 1 to 12 clients each, weights 1 to 16, some reservations and limits, depths 1 to 8, with the default idle
age and with Ceph's. It prints each set whose shares differ by more than two points of a hundred, and how many did.

Not in the model: the network (20 us a message, against 8.8 ms of the disk) and CPU costs, which are a pause of
0.2 ms after each request here.
"""
import heapq
import json
import random
import subprocess
import sys
import tempfile

OVERHEAD, RATE, PAUSE, SECONDS = 8.5e-3, 200e6, 0.2e-3, 120.0
TOLERANCE = 0.02


class Flow:
    def __init__(self, clients, weight, size, reservation, limit):
        self.clients, self.weight, self.size = clients, weight, size
        self.reservation, self.limit = reservation, limit
        self.queue, self.running, self.left = [], 0, None
        self.r = self.l = float("-inf")  # tags of the last head
        self.start = 0.0  # P of the last request that was dispatched
        self.head = None  # (R, P, L) of the head
        self.done = 0

    def active(self, now, age):
        return bool(self.queue) or self.running > 0 or (self.left is not None and now - self.left <= age)

    def tag(self):
        if not self.queue:
            self.head = None
            return
        came, cost = self.queue[0], self.size
        r = max(came, self.r + cost / self.reservation) if self.reservation else float("inf")
        l = max(came, self.l + cost / self.limit) if self.limit else float("-inf")
        self.head = [r, self.start + cost / self.weight, l]
        self.r, self.l = r, l


def shares(flows, depth, age):
    """The share of each flow of the bytes that the disk moved."""
    events, order, latest, in_service, disk_free = [], 0, 0.0, 0, 0.0
    pick = random.Random(1)
    for number, flow in enumerate(flows):
        for _ in range(flow.clients):
            heapq.heappush(events, (pick.random() * 1e-4, order, "come", number))
            order += 1
    now, wakes = 0.0, None
    while events:
        now, _, what, number = heapq.heappop(events)
        if now > SECONDS:
            break
        flow = flows[number] if number is not None else None
        if what == "come":
            if not flow.active(now, age):
                others = [one.start for one in flows if one is not flow and one.active(now, age)]
                flow.start = max(flow.start, min(others) if others else latest)
            flow.queue.append(now)
            if len(flow.queue) == 1:
                flow.tag()
        elif what == "done":
            in_service -= 1
            flow.running -= 1
            flow.done += flow.size
            if not flow.queue and flow.running == 0:
                flow.left = now
            heapq.heappush(events, (now + PAUSE, order, "come", number))
            order += 1
        while in_service < depth:
            waiting = [one for one in flows if one.queue]
            due = [one for one in waiting if one.head[0] <= now]
            free = [one for one in waiting if one.head[2] <= now]
            if due:
                chosen, by_weight = min(due, key=lambda one: one.head[0]), False
            elif free:
                chosen, by_weight = min(free, key=lambda one: one.head[1]), True
            else:
                times = [min(one.head[0], one.head[2] if one.limit else float("inf")) for one in waiting]
                if times and (wakes is None or wakes <= now or wakes > min(times)):
                    wakes = min(times)
                    heapq.heappush(events, (wakes, order, "wake", None))
                    order += 1
                break
            chosen.start = chosen.head[1]
            latest = max(latest, chosen.start)
            if by_weight and chosen.reservation:
                chosen.r -= chosen.size / chosen.reservation
            chosen.queue.pop(0)
            chosen.tag()
            in_service += 1
            chosen.running += 1
            disk_free = max(disk_free, now) + OVERHEAD + chosen.size / RATE
            heapq.heappush(events, (disk_free, order, "done", flows.index(chosen)))
            order += 1
    total = sum(flow.done for flow in flows)
    return [flow.done / total for flow in flows]


def scenario(flows, depth, age):
    idle = "" if age == 0 else f":idle-after={age}s"
    lines = [
        'study = "pfs"', 'preset = "hdd"', "servers = 1", f'duration = "{SECONDS:.0f}s"', 'workload = "write"',
        'order = "random"', "files = 100", 'file_size = "1GiB"', "alone = false", 'stripe = "1MiB"',
        f'scheduler = "mclock:{depth}{idle}"', "cache.direct = true", '[disk]', 'jitter = "0%"',
    ]
    for number, flow in enumerate(flows):
        lines += [f"[applications.a{number}]", f"clients = {flow.clients}", f"weight = {flow.weight}",
                  f'request_size = "{flow.size}B"']
        lines += [f'reservation = "{flow.reservation}B/s"'] if flow.reservation else []
        lines += [f'limit = "{flow.limit}B/s"'] if flow.limit else []
    return "\n".join(lines) + "\n"


def of_towtank(program, text, count):
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(text)
        file.flush()
        told = subprocess.run([program, "run", file.name, "--format", "json", "--quiet"], capture_output=True, text=True)
    if told.returncode != 0:
        sys.exit(f"{text}\n{told.stderr}")
    summary = json.loads(told.stdout)["summary"]
    return [summary[f"share[a{number}]"]["value"] for number in range(count)]


def main():
    program = sys.argv[1]
    sets, seed = (int(word) for word in (sys.argv[2:] + ["200", "1"][len(sys.argv) - 2:])[:2])
    draw, apart, worst = random.Random(seed), 0, 0.0
    for number in range(sets):
        capacity = 7_000_000
        drawn = []
        for _ in range(draw.randint(2, 4)):
            size = draw.choice([65536, 131072, 262144])
            reservation = draw.choice([0, 0, draw.randrange(100_000, capacity // 5)])
            limit = draw.choice([0, 0, 0, reservation + draw.randrange(500_000, capacity)])
            drawn.append((draw.randint(1, 12), draw.randint(1, 16), size, reservation, limit))
        depth, age = draw.randint(1, 8), draw.choice([0, 300])
        model = shares([Flow(*one) for one in drawn], depth, age)
        flows = [Flow(*one) for one in drawn]
        found = of_towtank(program, scenario(flows, depth, age), len(flows))
        most = max(abs(one - other) for one, other in zip(model, found))
        worst = max(worst, most)
        if most > TOLERANCE:
            apart += 1
            print(f"set {number}: depth {depth}, idle age {age} s, (clients, weight, size, reservation, limit) {drawn}")
            print("  model  ", " ".join(f"{share:.3f}" for share in model))
            print("  towtank", " ".join(f"{share:.3f}" for share in found))
    print(f"{sets} sets, seed {seed}: {apart} apart by more than {TOLERANCE:.0%}, at most {worst:.2%}")
    sys.exit(1 if apart else 0)


main()
