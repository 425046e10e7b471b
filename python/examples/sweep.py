"""A sweep on a Dask cluster. ``python sweep.py`` starts two processes here; give a scheduler's address instead."""

from __future__ import annotations

import sys

import towtank as tt


def main() -> None:
    """Sweep over the load of a queue, and print the waits."""
    from distributed import Client, LocalCluster

    if len(sys.argv) > 1:
        client = Client(sys.argv[1])
    else:
        client = Client(LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None))
    with client:
        report = tt.sweep(
            study="queue",
            over={"arrival_rate": ["2/s", "5/s", "8/s"]},
            service_rate="10/s",
            span="1000s",
            replicates=10,
            client=client,
            quiet=True,
        )
    waits = report.summary.query("measure == 'wait_mean'")
    print(waits.drop(columns=["reason"]).to_string(index=False))


if __name__ == "__main__":
    main()
