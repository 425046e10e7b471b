#!/usr/bin/env python3
"""Draws changes of the code that should make a test fail, and tells which are not noticed.

    scripts/mutants.py                  12 changes of each crate below, drawn with seed 1
    scripts/mutants.py --seed 2 --each 30 --crate kernel
    scripts/mutants.py --list           what would be drawn

`cargo-mutants` finds and makes the changes, in a copy of the last commit below out/mutants; the tests of the changed
crate alone are to notice. Results are kept for each change, so that a run that was stopped goes on from there; those
of another commit are removed. The exit code is 3 if fewer than 85 % of the changes that compile are noticed.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "out" / "mutants"
TREE = OUT / "tree"
CRATES = ["kernel", "placement", "replication", "merkle", "rebuild"]
LEAST = 0.85

# How long the tests of a crate may take with a change; some changes never end.
TIMEOUT_S = 600


def mutants(arguments, **more):
    command = [os.environ["CARGO_MUTANTS"], "mutants", *arguments]
    return subprocess.run(command, cwd=TREE, stdin=subprocess.DEVNULL, text=True, **more)


def copy_of_commit():
    """Makes the copy, unless it is of this commit."""
    commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=ROOT, text=True).strip()
    stamp = OUT / "commit"
    if not stamp.exists() or stamp.read_text() != commit:
        shutil.rmtree(OUT, ignore_errors=True)
        OUT.mkdir(parents=True)
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(TREE)], check=True)
        stamp.write_text(commit)
    # A run that was stopped may have left a change.
    subprocess.run(["git", "checkout", "--quiet", "--", "."], cwd=TREE, check=True)
    return commit


def drawn(crates, each, seed):
    """So many changes of each crate, the same for the same seed and code."""
    found = []
    for crate in crates:
        listed = mutants(["--list", "--json", "-p", f"towtank-{crate}"], capture_output=True, check=True)
        names = [change["name"] for change in json.loads(listed.stdout)]
        taken = random.Random(f"{seed} {crate}").sample(range(len(names)), min(each, len(names)))
        found += [(crate, names[place], f"{place}/{len(names)}") for place in taken]
    return found


def outcome(crate, name, shard):
    """What the tests say of a change: caught, missed, timeout or unviable. Each change is a shard of its own, because
    `--re` always takes the changes that delete a field."""
    known = OUT / "results.json"
    results = json.loads(known.read_text()) if known.exists() else {}
    if name not in results:
        shutil.rmtree(OUT / "last", ignore_errors=True)
        flags = ["--in-place", "--baseline", "skip", "--timeout", str(TIMEOUT_S), "--output", str(OUT / "last")]
        run = mutants(["-p", f"towtank-{crate}", "--shard", shard, *flags], capture_output=True)
        file = OUT / "last" / "mutants.out" / "outcomes.json"
        if run.returncode not in (0, 2, 3) or not file.exists():
            sys.exit(f"error: cargo-mutants failed with `{name}`:\n{run.stdout}{run.stderr}")
        ended = [one for one in json.loads(file.read_text())["outcomes"] if one["scenario"] != "Baseline"]
        names = [one["scenario"]["Mutant"]["name"] for one in ended]
        if names != [name]:
            sys.exit(f"error: shard {shard} of {crate} is {names}, not `{name}`")
        results[name] = ended[0]["summary"]
        known.write_text(json.dumps(results, indent=1))
    return results[name]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--crate", action="append", choices=CRATES)
    parser.add_argument("--each", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true")
    asked = parser.parse_args()
    commit = copy_of_commit()
    os.environ["CARGO_TARGET_DIR"] = str(OUT / "target")
    os.environ.setdefault("TOWTANK_CRUSHTOOL_MAPS", "4")
    changes = drawn(asked.crate or CRATES, asked.each, asked.seed)
    if asked.list:
        print("\n".join(name for _, name, _ in changes))
        return
    for crate in asked.crate or CRATES:
        subprocess.run(["cargo", "test", "--locked", "--quiet", "-p", f"towtank-{crate}"], cwd=TREE, check=True)
    counts, missed = {}, []
    for number, (crate, name, shard) in enumerate(changes, 1):
        result = outcome(crate, name, shard)
        print(f"{number:3} of {len(changes)}  {result:14} {name}", flush=True)
        counts.setdefault(crate, []).append(result)
        if result == "MissedMutant":
            missed.append(name)
    noticed = compiled = 0
    for crate, results in counts.items():
        of_crate = [result for result in results if result != "Unviable"]
        caught = sum(result in ("CaughtMutant", "Timeout") for result in of_crate)
        noticed, compiled = noticed + caught, compiled + len(of_crate)
        print(f"{crate}: {caught} of {len(of_crate)} noticed, {len(results) - len(of_crate)} do not compile")
    print(f"{noticed} of {compiled} changes noticed at {commit[:9]}, seed {asked.seed}; not noticed:")
    print("\n".join(f"  {name}" for name in missed) or "  none")
    sys.exit(0 if noticed >= LEAST * compiled else 3)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
