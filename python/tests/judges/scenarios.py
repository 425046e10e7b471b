"""Scenarios for the judge of `pfs`: drawn from a seed, as text for the program and as a `System` for the model."""

from __future__ import annotations

import random
from dataclasses import fields

from pfs_model import Application, System
from pfs_schedulers import Settings

KEYS = {
    "card": "network.card='{}B/s'",
    "latency": "network.latency='{}ns'",
    "header": "network.header='{}B'",
    "metadata_servers": "metadata.servers={}",
    "metadata_threads": "metadata.threads={}",
    "open": "metadata.open='{}ns'",
    "request_cost": "client.request_cost='{}ns'",
    "job_cost": "client.job_cost='{}ns'",
    "window": "client.window='{}B'",
    "before": "server.before='{}ns'",
    "after": "server.after='{}ns'",
    "threads": "server.threads={}",
    "part": "server.part='{}B'",
    "read": "disk.read='{}B/s'",
    "write": "disk.write='{}B/s'",
    "overhead": "disk.overhead='{}ns'",
    "servers": "servers={}",
    "stripe": "stripe='{}B'",
    "stripe_count": "stripe_count={}",
    "scheduler": "scheduler='{}'",
}
APPLICATION = {
    "clients": "clients={}",
    "workload": "workload='{}'",
    "files": "files={}",
    "file_size": "file_size='{}B'",
    "request_size": "request_size='{}B'",
    "flows": "flows={}",
    "think": "think_time='{}ns'",
}
FLOW = {
    "weight": "weight={}",
    "priority": "priority={}",
    "reservation": "reservation='{}B/s'",
    "limit": "limit='{}B/s'",
    "deadline": "deadline='{}ns'",
    "rate": "rate='{}B/s'",
    "request_rate": "request_rate='{}/s'",
    "burst": "burst={}",
}


def text(system: System) -> str:
    """The scenario in TOML. Every key that the model knows is set, so that no default of the program plays a part."""
    lines = ["study='pfs'", "alone=false", "write_first=false", "cache.direct=true"]
    lines += [form.format(getattr(system, key)) for key, form in KEYS.items()]
    for application in system.applications:
        lines.append(f"[applications.{application.name}]")
        lines += [form.format(getattr(application, key)) for key, form in APPLICATION.items()]
        settings = ((form, getattr(application.flow, key)) for key, form in FLOW.items())
        lines += [form.format(value) for form, value in settings if value is not None]
    return "\n".join(lines) + "\n"


def draw(kind: str, seed: str) -> System:
    """A scenario for a scheduler whose text is `kind`, with a depth in place of `D`."""
    rng = random.Random(f"{kind} {seed}")
    name = kind.replace("D", str(rng.choice([1, 1, 2, 3, 5, 8])))
    several = kind.startswith("dsfq")
    servers = rng.choice([2, 3, 4] if several else [1, 1, 2, 3, 4])
    applications = [_application(rng, "abcd"[number], kind) for number in range(rng.randint(2, 4))]
    return System(
        applications,
        scheduler=name,
        servers=servers,
        stripe=rng.choice([65536, 131072, 262144, 1 << 20]),
        stripe_count=rng.randint(2 if several else 1, servers),
        card=rng.choice([3_125_000_000, rng.randint(100, 2000) * 10**6]),
        latency=rng.randint(1_000, 200_000),
        metadata_threads=rng.choice([16, 1]),
        window=rng.choice([64 << 20, 512 << 10]),
        before=rng.randint(1_000, 50_000),
        after=rng.randint(1_000, 50_000),
        threads=rng.choice([64, 64, 4, 2]),
        part=rng.choice([1 << 20, 256 << 10]),
        read=rng.randint(50, 400) * 10**6,
        write=rng.randint(50, 400) * 10**6,
        overhead=rng.choice([8_500_000, 1_000_000, rng.randint(10_000, 9_000_000)]),
    )


def _application(rng: random.Random, name: str, kind: str) -> Application:
    request = rng.choice([rng.randint(1, 40) * 16 * 1024, rng.randint(4_096, 900_000)])
    return Application(
        name,
        clients=rng.randint(1, 3 if kind.startswith("token") else 6),
        workload=rng.choice(["read", "write"]),
        files=rng.randint(1, 3),
        file_size=max(request, int(request * rng.uniform(1, rng.randint(2, 8)))),
        request_size=request,
        flows=rng.choice([1, 1, 1, 2, 3]),
        think=rng.choice([0, 0, rng.randint(1, 60_000_000)]),
        flow=_settings(rng, kind),
    )


def _settings(rng: random.Random, kind: str) -> Settings:
    settings = Settings(weight=rng.choice([1, 1, 2, 3, 4, 5, 10]))
    if kind.startswith("priority"):
        settings.priority = rng.randint(0, 2)
    if kind.startswith("edf"):
        settings.deadline = rng.choice([None, rng.randint(10, 2000) * 10**6, rng.randint(10**6, 5 * 10**8)])
    if kind.startswith("mclock"):
        settings.reservation = rng.choice([None, rng.randint(1, 20) * 10**6])
        settings.limit = rng.choice([None, rng.randint(20, 80) * 10**6])
    if kind.startswith("sfqrc") and rng.random() < 0.5:
        settings.rate, settings.burst = 10**9, 10**10
    if kind.startswith("token-bucket"):
        settings.rate = rng.choice([None, 5 * 10**6, 20 * 10**6, rng.randint(1, 60) * 10**6])
        settings.burst = rng.choice([None, rng.randint(1, 40) * 10**5]) if settings.rate else None
    return settings


def without_names(system: System) -> dict[str, object]:
    """What differs from a system with all defaults, for messages."""
    plain = System([])
    return {
        f.name: getattr(system, f.name) for f in fields(system) if getattr(system, f.name) != getattr(plain, f.name)
    }
