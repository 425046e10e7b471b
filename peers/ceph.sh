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
port=${PORT:-$((20000 + RANDOM % 20000))}
for program in ceph-mon ceph-osd ceph rados monmaptool; do
    command -v "$program" >/dev/null || { echo "$program is not installed: apt-get install ceph-mon ceph-osd ceph-common" >&2; exit 2; }
done
[ -x "$towtank" ] || { echo "$towtank is not built: make build" >&2; exit 2; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/peer-ceph.XXXXXX")
pids=()
finish() {
    "$towtank" store down --dir "$dir/store" >/dev/null 2>&1 || true
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM

fsid=$(cat /proc/sys/kernel/random/uuid)
cat >"$dir/ceph.conf" <<CONF
[global]
fsid = $fsid
mon host = v2:127.0.0.1:$port/0
ms bind msgr1 = false
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
osd pool default size = 3
osd pool default min size = 2
osd crush chooseleaf type = 0
osd pool default pg autoscale mode = off
mon data = $dir/mon.\$id
osd data = $dir/osd.\$id
run dir = $dir
admin socket = $dir/\$name.asok
pid file = $dir/\$name.pid
log file = $dir/\$name.log
mon allow pool delete = true
mon warn on pool no redundancy = false
bluestore block size = 8589934592
bluestore fsck on mount = false
osd memory target = 1073741824
[client]
admin socket =
CONF
export CEPH_CONF=$dir/ceph.conf
monmaptool --create --clobber --fsid "$fsid" --addv a "[v2:127.0.0.1:$port]" "$dir/monmap" >/dev/null
mkdir "$dir/mon.a"
ceph-mon --mkfs -i a --monmap "$dir/monmap" -c "$CEPH_CONF" >/dev/null
ceph-mon -f -i a -c "$CEPH_CONF" >/dev/null 2>&1 &
pids+=($!)
for _ in $(seq 100); do timeout 5 ceph -c "$CEPH_CONF" mon stat >/dev/null 2>&1 && break; sleep 0.2; done
for osd in 0 1 2; do
    uuid=$(cat /proc/sys/kernel/random/uuid)
    timeout 20 ceph -c "$CEPH_CONF" osd new "$uuid" >/dev/null
    mkdir "$dir/osd.$osd"
    ceph-osd -i "$osd" --mkfs --osd-uuid "$uuid" -c "$CEPH_CONF" >/dev/null 2>&1
    ceph-osd -f -i "$osd" -c "$CEPH_CONF" >/dev/null 2>&1 &
    pids+=($!)
done
for _ in $(seq 100); do
    timeout 5 ceph -c "$CEPH_CONF" osd stat 2>/dev/null | grep -q '3 up' && break
    sleep 0.2
done
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
