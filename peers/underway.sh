#!/usr/bin/env bash
# Asks how long a recovery still takes while it is under way, and then looks at the clock. Debian's Ceph on loopback: a
# monitor, a manager, six OSDs as six hosts, a pool of three copies. One OSD is marked out, or is killed and marked out, or is
# killed and comes back when all objects have been written once more (recovered by the log), or the pool is split;
# exports are taken every few seconds until all is clean. TOWTANK (a path) is then asked about each of them.
#
#   TOWTANK=target/release/towtank peers/underway.sh DIRECTORY [out|lost|back|split] [OBJECTS] [BYTES]
#
# The cluster lies in a directory of its own, which goes at the end with all processes that were started.
set -euo pipefail
out=${1:?the directory for the files} event=${2:-lost} objects=${3:-1800} bytes=${4:-131072}
towtank=$(realpath "${TOWTANK:?the towtank to judge}")
# shellcheck source=peers/cluster.sh
. "$(dirname "$0")/cluster.sh"
need ceph-mgr /usr/bin/python3
# Logs are kept short while the pool is filled, so that a device that comes new to a group is filled by backfill.
entries=1
[ "$event" != back ] || entries=3000
mkdir -p "$out"
out=$(cd "$out" && pwd)
start_cluster 6 3 manager <<CONF
osd memory target = 939524096
osd min pg log entries = $entries
osd max pg log entries = $((2 * entries))
osd pg log trim min = 1
# The end is seen within a second; usually statistics are up to 5 s old.
mgr stats period = 1
$(for osd in 0 1 2 3 4 5; do printf '[osd.%s]\ncrush location = root=default host=host%s\n' "$osd" "$osd"; done)
CONF
for flag in noscrub nodeep-scrub; do ask osd set "$flag" >/dev/null; done
ask balancer off >/dev/null
ask osd crush rule create-replicated hosts default host >/dev/null
ask osd pool create data 32 32 replicated hosts >/dev/null
fill data "$objects" "$bytes"
sleep 15 # statistics are up to 5 s old

exports() {
    ask pg dump -f json >"$out/$1.pg_dump.json"
    ask report -f json >"$out/$1.report.json"
    ask osd df -f json >"$out/$1.osd_df.json"
}
now() { awk -v now="$(date +%s.%N)" -v start="$start" 'BEGIN { printf "%.1f", now - start }'; }
stop_osd() {
    kill -9 "${pids[3]}"
    wait "${pids[3]}" 2>/dev/null || true
    ask osd down 3 >/dev/null
}
if [ "$event" = back ]; then
    ask osd set noout >/dev/null
    stop_osd
    write_objects data "$objects" "$bytes"
    sleep 8
fi
start=$(date +%s.%N)
case $event in
    back) start_osd 3; await "6 up" osd stat ;;
    lost) stop_osd; ask osd out 3 >/dev/null ;;
    split) ask osd pool set data pg_num 64 >/dev/null ;;
    *) ask osd out 3 >/dev/null ;;
esac
# Whether the manager has made the last step of a split.
is_split() { ask osd dump | grep "^pool .* 'data'" | grep -q "pg_num 64 pgp_num 64"; }
clean=
watch_cluster() { while [ -d "$dir" ]; do at=$(now); exports "$at"; sleep 4; done; }
watch_cluster & pids[watcher]=$!
sleep 8 # until groups are not clean any more
for _ in $(seq 600); do
    if ask pg stat | grep -q "pgs: [0-9]* active+clean;" && { [ "$event" != split ] || is_split; }; then clean=$(now); break; fi
    sleep 0.3
done
kill "${pids[watcher]}"
wait "${pids[watcher]}" 2>/dev/null || true
[ -n "$clean" ] || { echo "the cluster did not become clean" >&2; exit 1; }
echo "clean $clean" >"$out/clean.txt"
for dump in "$out"/*.pg_dump.json; do
    [ -s "$dump" ] && [ -s "${dump%.pg_dump.json}.report.json" ] || continue
    at=${dump##*/} at=${at%.pg_dump.json}
    "$towtank" whatif --report "$out/$at.report.json" --pg-dump "$dump" --osd-df "$out/$at.osd_df.json" --format json --quiet >"$out/$at.answer.json" || test $? = 3
done
/usr/bin/python3 - "$out" "$clean" <<'PY'
import glob, json, os, sys
out, clean = sys.argv[1], float(sys.argv[2])
print("   at s   left s   said s")
for path in sorted(glob.glob(f"{out}/*.answer.json"), key=lambda path: float(os.path.basename(path)[:-12])):
    at = float(os.path.basename(path)[:-12])
    clean_in = json.load(open(path))["summary"]["time_to_clean_s"]["value"]
    print(f"{at:7.1f} {clean - at:8.1f} {float('nan') if clean_in is None else clean_in:8.1f}")
PY
