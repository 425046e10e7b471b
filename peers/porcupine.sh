#!/usr/bin/env bash
# Judges the answers of `towtank store torture` with porcupine, a checker of linearizability in Go by Anish Athalye
# (MIT), which shares no code with Towtank. Go fetches it through its module proxy, by the sums in porcupine/go.sum.
#
#   peers/porcupine.sh [--planted] [MINUTES] [SEED] [FLAG…]
#
# Torture runs with FLAGs of its own (by default --osds 4, so that all faults occur: with three daemons no objects
# move), and porcupine/main.go checks each object of each round against a register. With --planted, 20 reads are then
# changed, one at a time, into a value that was overwritten before they were called, and each must be found. Exit
# code 1 if a history is not linearizable, a planted read is not found, or torture itself finds something.
set -euo pipefail
planted=0
if [ "${1:-}" = --planted ]; then planted=20; shift; fi
minutes=${1:-2} seed=${2:-1} flags=("${@:3}")
[ ${#flags[@]} -gt 0 ] || flags=(--osds 4)
towtank=${TOWTANK:-target/release/towtank}
[ -x "$towtank" ] || { echo "$towtank is not built: make build" >&2; exit 2; }
command -v go >/dev/null || { echo "go is not installed: apt-get install golang-go" >&2; exit 2; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/peer-porcupine.XXXXXX")
finish() {
    "$towtank" store down --dir "$dir/store" >/dev/null 2>&1 || true
    rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM
(cd "$(dirname "$0")/porcupine" && go build -mod=readonly -o "$dir/judge" .)
code=0
"$towtank" store torture --minutes "$minutes" --seed "$seed" --dir "$dir/store" --history "$dir/history.jsonl" "${flags[@]}" || code=$?
# With another code it was refused or interrupted.
[ "$code" -le 1 ] && [ -s "$dir/history.jsonl" ] || exit "$code"
"$dir/judge" -planted "$planted" -seed "$seed" "$dir/history.jsonl" || code=$?
exit "$code"
