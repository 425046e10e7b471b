#!/usr/bin/env python3
"""Builds all Rust tests, and runs their binaries side by side.

    scripts/test-rust.py            every binary of the workspace, and the examples in its documentation
    scripts/test-rust.py store      those whose name contains `store`
    scripts/test-rust.py -v         with the output of those that pass

As many binaries run at once as there are processors, those that take longest first; one that mostly waits runs
beside them. A binary's own threads are left as they are. Of a binary that passes, the closing line is printed, of one
that fails, everything. `target/test-seconds.txt` has the seconds of each afterwards.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CARGO = os.environ.get("CARGO", "cargo")

# What takes longest is begun first, so that nothing is left to run alone at the end.
LONGEST_FIRST = [
    "towtank-studies lib",
    "towtank-operate lib",
    "towtank-cli documents",
    "towtank-kernel kernel",
    "towtank-cli towtank",
    "towtank-replication schedules",
    "towtank soak",
    "documentation",
]

# What waits for processes and clocks more than it computes, and how many of its tests run at once: it takes little of
# the processors from the others.
WAITS = {"towtank-cli store": 4, "towtank-store crash": 2}


class Job:
    """One binary, or the examples in the documentation of all crates."""

    def __init__(self, name, command, again, directory, env):
        self.name, self.command, self.again = name, command, again
        self.directory, self.env = directory, env
        self.seconds = 0.0
        self.code = None
        self.output = ""

    def run(self, running):
        began = time.monotonic()
        child = subprocess.Popen(
            self.command,
            cwd=self.directory,
            env={**os.environ, **self.env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        running[self.name] = child
        self.output, _ = child.communicate()
        running.pop(self.name, None)
        self.code = child.returncode
        self.seconds = time.monotonic() - began

    def closing_lines(self):
        return [line for line in self.output.splitlines() if line.startswith("test result:")]


def built():
    """Builds everything that `cargo test` builds; returns a job for each binary with tests."""
    command = [CARGO, "test", "--locked", "--workspace", "--no-run", "--message-format", "json-render-diagnostics"]
    build = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    jobs = []
    for line in build.stdout:
        made = json.loads(line)
        if made.get("reason") != "compiler-artifact" or not made["executable"] or not made["profile"]["test"]:
            continue
        directory = Path(made["manifest_path"]).parent
        # `…/crates/cli#towtank-cli@0.1.0`, or only the version where the package is named as its directory.
        package, parted, _ = made["package_id"].split("#")[-1].partition("@")
        if not parted:
            package = directory.name
        kind, target = made["target"]["kind"][0], made["target"]["name"]
        which = {"lib": ["--lib"], "bin": ["--bin", target], "example": ["--example", target]}
        name = f"{package} {target if kind not in ('lib', 'bin') else kind}"
        again = f"cargo test --locked -p {package} {' '.join(which.get(kind, ['--test', target]))}"
        env = {"CARGO": CARGO, "CARGO_MANIFEST_DIR": str(directory), "CARGO_PKG_NAME": package}
        threads = ["--test-threads", str(WAITS[name])] if name in WAITS else []
        jobs.append(Job(name, [made["executable"], *threads], again, directory, env))
    if build.wait() != 0:
        sys.exit(1)
    return jobs


def documentation():
    """The examples in the documentation, which rustdoc compiles and runs."""
    again = "cargo test --locked --workspace --doc"
    return Job("documentation", [CARGO, *again.split()[1:], "--no-fail-fast", "--quiet"], again, ROOT, {})


def tell(job, verbose):
    lines = job.closing_lines()
    words = "ok" if job.code == 0 else f"FAILED ({'signal' if job.code < 0 else 'exit code'} {abs(job.code)})"
    print(f"     Running {job.name}: {words}, {job.seconds:.1f} s")
    if verbose or job.code != 0:
        print(job.output.rstrip())
    else:
        print("\n".join(line for line in lines if not line.startswith("test result: ok. 0 passed")) or "no tests")
    sys.stdout.flush()


def run_all(jobs, verbose):
    """Runs the jobs side by side; returns those that failed."""
    order = {name: place for place, name in enumerate(LONGEST_FIRST)}
    jobs = sorted(jobs, key=lambda job: order.get(job.name, len(order)))
    lanes = [[job for job in jobs if job.name not in WAITS]] * (os.cpu_count() or 2)
    lanes += [[job for job in jobs if job.name == waits] for waits in WAITS]
    ended, running, begun, lock = queue.Queue(), {}, set(), threading.Lock()
    stops = threading.Event()

    def lane(todo):
        for job in todo:
            with lock:
                if job.name in begun or stops.is_set():
                    continue
                begun.add(job.name)
            job.run(running)
            ended.put(job)

    threads = [threading.Thread(target=lane, args=(todo,), daemon=True) for todo in lanes]
    for thread in threads:
        thread.start()
    failed = []
    try:
        for _ in jobs:
            job = ended.get()
            tell(job, verbose)
            if job.code != 0:
                failed.append(job)
    except KeyboardInterrupt:
        stops.set()
        for child in list(running.values()):
            child.send_signal(signal.SIGINT)
        print(f"\ninterrupted: {', '.join(sorted(running)) or 'nothing'} had not ended", file=sys.stderr)
        sys.exit(130)
    return failed


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    options = set(sys.argv[1:]) - set(words)
    if options - {"-v"}:
        print(__doc__.strip())
        sys.exit(0 if options & {"-h", "--help"} else 2)
    jobs = built() + [documentation()]
    jobs = [job for job in jobs if not words or any(word in job.name for word in words)]
    if not jobs:
        sys.exit(f"error: no binary has `{'` or `'.join(words)}` in its name")
    began = time.monotonic()
    failed = run_all(jobs, "-v" in options)
    seconds = time.monotonic() - began
    table = "".join(f"{job.seconds:8.1f}  {job.name}\n" for job in sorted(jobs, key=lambda job: -job.seconds))
    (Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "test-seconds.txt").write_text(table)
    tests = sum(int(line.split(" passed")[0].split()[-1]) for job in jobs for line in job.closing_lines())
    print(f"\n{tests} tests passed, in {len(jobs)} binaries and {seconds:.0f} s.")
    for job in failed:
        print(f"failed: {job.name}; again: {job.again}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
