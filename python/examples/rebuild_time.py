"""How long until redundancy is back after a server fails, and does a second rack help?

``python rebuild_time.py`` prints the answers.
"""

from __future__ import annotations

import towtank as tt


def main() -> None:
    """Ask twice, and compare."""
    cluster = {
        "preset": "ceph",
        "disks_per_server": 12,
        "per_server": "2TiB",
        "groups_per_server": 1200,
        "fail": "server=3",
    }
    for servers in (12, 24):
        report = tt.run(study="rebuild", servers=servers, quiet=True, keys=cluster)
        span_s = report.summary.set_index("measure")["value"]["time_to_full_redundancy_s"]
        print(f"{servers} servers: {span_s / 60:.1f} min")
        print(report.answer)


if __name__ == "__main__":
    main()
