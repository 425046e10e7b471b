#!/usr/bin/env bash
# Everything that takes hours: each step with a log of its own in out/nightly, and one summary at the end.
#   scripts/nightly.sh SECONDS SEED         all steps; SECONDS is how long each study of the soak is drawn
#   scripts/nightly.sh SECONDS SEED STEP…   only these: soak tests judges fuzz simulate torture reproduce dependencies
# A step that fails does not keep the others from running; the exit code is 1 if any failed.
set -uo pipefail
cd "$(dirname "$0")/.."

seconds=${1:?say for how many seconds each study is drawn} seed=${2:?say from which seed on}
shift 2
steps=(soak tests judges fuzz simulate torture reproduce dependencies)
[ $# -eq 0 ] || steps=("$@")
out=out/nightly
towtank=${CARGO_TARGET_DIR:-target}/release/towtank
TORTURES=30

soak() { make soak SECONDS="$seconds" SEED="$seed"; }

# All Rust tests, with as many cases as their measurements in docs/ had, and damaged inputs by the thousand.
tests() {
  env EDITS=3000 TREES=8000 ESTIMATES=60 CRASH_POINTS=1000 FAULT_POINTS=1000 FAULT_SEED="$seed" SOAK_MOMENTS=1000 TWIN_CASES=300 TOWTANK_CRUSHTOOL_MAPS=270 \
    TOWTANK_CRUSHTOOL_SEED="$seed" TOWTANK_DRAWN_OBJECTS=1000000 TOWTANK_DURABILITY_LONG=1 PROPTEST_CASES=5000 scripts/test-rust.py
}

judges() { env JUDGE_CASES=1000 make test-python; }

fuzz() { make fuzz; }

# The whole store under ten thousand seeds.
simulate() { make build && "$towtank" store simulate --seeds "$((seed * 100000))..$((seed * 100000 + 9999))"; }

# Two minutes each, as long as in the tests, with another seed and another way to find what differs each time.
torture() {
  local ways=(scan bitmap merkle merkle-levels sketch) number way failed=0
  make build || return 1
  for ((number = 0; number < TORTURES; number++)); do
    way=${ways[number % ${#ways[@]}]}
    rm -rf "$out/torture-$number"
    if "$towtank" store torture --minutes 2 --seed $((seed + number)) --log-entries 20 --discovery "$way" \
      --dir "$out/torture-$number"; then
      rm -rf "$out/torture-$number"
    else
      echo "torture $number failed: its cluster and logs are in $out/torture-$number"
      failed=$((failed + 1))
    fi
  done
  echo "$((TORTURES - failed)) of $TORTURES torture runs lost nothing"
  [ $failed = 0 ]
}

reproduce() { make build && "$towtank" reproduce --quiet; }

dependencies() { make deny; }

# The line of a log that tells most: what failed, or how many held.
gist() { grep -aE '^(failed:|error|[0-9]+ (tests passed|of [0-9]+ torture)|advisories|test result|.*claims|[0-9]+ seeds,)' "$1" | tail -n 1; }

summary() {
  printf '\n%-14s %9s  %-7s %s\n' step seconds result 'what it said last'
  cat "$out/summary"
  echo "The logs are in $out."
}

for step in "${steps[@]}"; do
  case $step in
    soak | tests | judges | fuzz | torture | reproduce | dependencies) ;;
    *) printf 'error: there is no step %s\nhint: read the head of scripts/nightly.sh\n' "$step" >&2; exit 2 ;;
  esac
done
rm -rf "$out"
mkdir -p "$out"
: >"$out/summary"
trap 'summary; exit 130' INT
failed=0
for step in "${steps[@]}"; do
  printf '== %s\n' "$step"
  began=$SECONDS result=ok
  "$step" >"$out/$step.log" 2>&1 </dev/null || { result=FAILED failed=1; }
  printf '%-14s %9s  %-7s %s\n' "$step" $((SECONDS - began)) $result "$(gist "$out/$step.log")" | tee -a "$out/summary"
done
summary
exit $failed
