#!/usr/bin/env bash
# Asks when a recovery is done while it is under way, from reports of it, and then looks at the clock. The moments are
# recorded as peers/underway.sh records them; each is asked with all reports until then.
#
#   TOWTANK=target/release/towtank peers/eta.sh DIRECTORY [out|lost|back|split] [OBJECTS] [BYTES]
#
# A directory that has moments already (`clean.txt`) is judged without a new recovery. It fails if the median error from
# 30 % of the time on is above 20 %, or if fewer than half of the moments lie in the range that is said.
set -euo pipefail
out=${1:?the directory for the files}
: "${TOWTANK:?the towtank to judge}"
[ -s "$out/clean.txt" ] || "$(dirname "$0")/underway.sh" "$@" >/dev/null
/usr/bin/python3 - "$out" "$TOWTANK" <<'PY'
import glob, json, os, subprocess, sys
out, towtank = sys.argv[1:]
clean = float(open(f"{out}/clean.txt").read().split()[1])
at_of = lambda path: float(os.path.basename(path)[:-12])
reports = sorted((p for p in glob.glob(f"{out}/*.report.json") if os.path.getsize(p) and at_of(p) < clean), key=at_of)
errors, inside = [], 0
print("   at s   left s   said s   low s  high s")
for number, path in enumerate(reports):
    at = at_of(path)
    if at < 0.1 * clean:
        continue
    flags = [flag for name in reports[: number + 1] for flag in ("--report", name)]
    asked = subprocess.run([towtank, "eta", "--format", "json", "--quiet", *flags], capture_output=True, text=True, check=True)
    answer = json.loads(asked.stdout)
    said, low, high = (answer["summary"][f"time_to_clean_{end}s"].get("value") for end in ("", "low_", "high_"))
    left = clean - at
    if said is None:
        print(f"{at:7.1f} {left:8.1f}        -  {answer['answer']['finding']}")
        continue
    print(f"{at:7.1f} {left:8.1f} {said:8.1f} {low:7.1f} {high:7.1f}")
    if at >= 0.3 * clean:
        errors.append(abs(said - left) / left)
        inside += low <= left <= high
errors.sort()
if not errors:
    sys.exit("no moment was answered")
median = errors[len(errors) // 2]
print(f"from 30 % on: {len(errors)} moments, median error {100 * median:.0f} %, {inside} in the range")
sys.exit(median > 0.2 or 2 * inside < len(errors))
PY
