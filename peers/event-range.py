#!/usr/bin/env python3
"""Makes of scrapes of the manager, one a line as [time, text], the answer that Prometheus gives to
`query_range?query={__name__=~"…"}&step=15`: at each step the value of the last scrape; a series that is not in it
has none, as Prometheus marks it as stale."""

import json
import re
import sys

NAMES = re.compile(
    r"ceph_num_objects_.*|ceph_osd_(up|in|recovery_ops|recovery_bytes)|ceph_pg_(total|clean)"
    r"|ceph_pool_recovering_(bytes|objects)_per_sec"
)
STEP_S = 15

scrapes = [json.loads(line) for line in open(sys.argv[1])]
series = {}
for at, text in scrapes:
    for line in text.splitlines():
        found = re.match(r'([a-z_]+)(?:\{(.*)\})? (\S+)$', line)
        if not found or not NAMES.fullmatch(found[1]):
            continue
        labels = dict(re.findall(r'(\w+)="([^"]*)"', found[2] or ""))
        metric = {"__name__": found[1], "instance": "mgr.x:9283", "job": "ceph", **labels}
        key = json.dumps(metric, sort_keys=True)
        series.setdefault(key, (metric, []))[1].append((at, float(found[3])))
first, last = scrapes[0][0], scrapes[-1][0]
steps = [first + STEP_S * step for step in range(int((last - first) / STEP_S) + 1)]
result = []
for metric, points in series.values():
    values = []
    for step in steps:
        scrape = max(at for at, _ in scrapes if at <= step)
        values += [[round(step, 3), f"{value:.12g}"] for at, value in points if at == scrape]
    result.append({"metric": metric, "values": values})
json.dump({"status": "success", "data": {"resultType": "matrix", "result": result}}, sys.stdout, separators=(",", ":"))
