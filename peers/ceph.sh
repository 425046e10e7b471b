#!/usr/bin/env bash
# A real Ceph beside the store, on loopback: one monitor and three OSDs (BlueStore in files) from Debian's
# ceph-mon, ceph-osd and ceph-common, writes and reads of `rados bench`, in turn with `towtank store bench`.
#
#   peers/ceph.sh [ROUNDS] [SECONDS] [BYTES] [CLIENTS]
#
# Everything lies in a directory of its own, which goes at the end with all processes that were started.
set -euo pipefail
rounds=${1:-3} seconds=${2:-10} bytes=${3:-1024} clients=${4:-32}
towtank=${TOWTANK:-target/release/towtank}
# shellcheck source=peers/cluster.sh
. "$(dirname "$0")/cluster.sh"
need rados
[ -x "$towtank" ] || { echo "$towtank is not built: make build" >&2; exit 2; }
finish_before() { "$towtank" store down --dir "$dir/store" >/dev/null 2>&1 || true; }
start_cluster 3 3 <<CONF
osd memory target = 1073741824
CONF
timeout 20 ceph -c "$CEPH_CONF" osd pool create bench 16 16 >/dev/null
"$towtank" store up --dir "$dir/store" --osds 3 --groups 16 >/dev/null

# The lines of a tool's output that say how much it did in a second.
ceph_rate() { awk -F: '/^Average IOPS/ { gsub(/ /, "", $2); print $2 }'; }
echo "round  tool     bytes  clients  writes/s  reads/s"
for round in $(seq "$rounds"); do
    writes=$(timeout $((seconds + 60)) rados -c "$CEPH_CONF" bench -p bench "$seconds" write -b "$bytes" -t "$clients" --no-cleanup 2>/dev/null | ceph_rate)
    reads=$(timeout $((seconds + 60)) rados -c "$CEPH_CONF" bench -p bench "$seconds" rand -t "$clients" 2>/dev/null | ceph_rate)
    timeout 300 rados -c "$CEPH_CONF" -p bench cleanup >/dev/null 2>&1 || true
    echo "$round  ceph     $bytes  $clients  ${writes:-none}  ${reads:-none}"
    "$towtank" store bench --dir "$dir/store" --time "${seconds}s" --size "${bytes}B" --clients "$clients" --bare --format json >"$dir/bench.json"
    python3 - "$dir/bench.json" "$round" "$bytes" "$clients" <<'PY'
import json, sys
found = json.load(open(sys.argv[1]))
rate = lambda what: round(found[what]["requests_per_s"])
print(sys.argv[2], " towtank ", sys.argv[3], sys.argv[4], rate("writes"), rate("reads"), sep="  ")
print(sys.argv[2], " bare    ", sys.argv[3], sys.argv[4], rate("bare_writes"), "-", sep="  ")
PY
done
