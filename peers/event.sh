#!/usr/bin/env bash
# Records what operators have after an incident, from a real one: Debian's Ceph on loopback, one monitor, one manager with
# its prometheus module, six OSDs as six hosts, a pool of three copies. One OSD is killed; Ceph notices it, marks it out
# after 30 s, and makes the copies again. `docs/examples/event` was made by this script.
#
#   peers/event.sh DIRECTORY [OBJECTS] [BYTES]
#
# The cluster lies in a directory of its own, which goes at the end with all processes that were started.
set -euo pipefail
out=${1:?the directory for the files} objects=${2:-1800} bytes=${3:-131072}
# shellcheck source=peers/cluster.sh
. "$(dirname "$0")/cluster.sh"
need ceph-mgr /usr/bin/python3
mkdir -p "$out"
out=$(cd "$out" && pwd)
lost=3 web=${WEB:-$((10000 + RANDOM % 9000))}
start_cluster 6 3 manager <<CONF
osd memory target = 939524096
# Logs are kept short while the pool is filled, so that a device that comes new to a group is filled by backfill.
osd min pg log entries = 1
osd max pg log entries = 2
osd pg log trim min = 1
$(for osd in 0 1 2 3 4 5; do printf '[osd.%s]\ncrush location = root=default host=host%s\n' "$osd" "$osd"; done)
[mon]
mon cluster log file = \$run_dir/ceph.log
mon osd down out interval = 30
CONF
for flag in noscrub nodeep-scrub; do ask osd set "$flag" >/dev/null; done
ask balancer off >/dev/null
ask config set mgr mgr/prometheus/server_addr 127.0.0.1 >/dev/null
ask config set mgr mgr/prometheus/server_port "$web" >/dev/null
ask config set mgr mgr/prometheus/scrape_interval 5 >/dev/null
ask mgr module enable prometheus >/dev/null
ask osd crush rule create-replicated hosts default host >/dev/null
ask osd pool create data 32 32 replicated hosts >/dev/null
fill data "$objects" "$bytes"
for key in osd_min_pg_log_entries osd_max_pg_log_entries osd_pg_log_trim_min; do
    ask tell 'osd.*' config set "$key" "$(ceph-conf --name osd.none --conf /dev/null --show-config-value "$key")" >/dev/null
done
for round in $(seq 60); do
    python3 -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:$web/metrics', timeout=4)" 2>/dev/null && break
    [ "$round" -lt 60 ] || { echo "the manager gives no metrics at port $web" >&2; exit 1; }
    sleep 1
done
sleep 15 # statistics are up to 5 s old

exports() {
    ask report -f json >"$out/$1.report.json"
    ask pg dump -f json >"$out/$1.pg_dump.json"
    ask osd df tree -f json >"$out/$1.osd_df.json"
}
perf() { for osd in 0 1 2 4 5; do printf 'osd.%s: ' "$osd"; ask tell "osd.$osd" perf dump osd; done >"$out/$1.perf_dump.txt"; }
now() { date -u +%FT%TZ; }
exports before
perf before

watch_cluster() {
    local round=0
    while [ -d "$dir" ] && [ ! -e "$dir/done" ]; do
        now >>"$out/status.txt"; ask -s >>"$out/status.txt"
        now >>"$out/status.json"; ask -s -f json >>"$out/status.json"; echo >>"$out/status.json"
        now >>"$out/pg_stat.txt"; ask pg stat >>"$out/pg_stat.txt"
        if [ $((round % 6)) = 0 ]; then ask pg dump -f json >"$out/during$((round / 6)).pg_dump.json"; fi
        if [ $((round % 6)) = 3 ]; then ask report -f json >"$out/during$((round / 6)).report.json"; fi
        round=$((round + 1))
        sleep 3
    done
}
scrape() {
    python3 - "$web" "$dir" "$out/scrapes.jsonl" <<'PY'
import json, os, sys, time, urllib.request
port, folder, to = sys.argv[1:]
with open(to, "w") as out:
    while os.path.exists(folder) and not os.path.exists(folder + "/done"):
        at = time.time()
        try:
            text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=4).read().decode()
            out.write(json.dumps([at, text]) + "\n")
        except OSError as error:
            print("no scrape:", error, file=sys.stderr)
        time.sleep(max(0.0, 5 - (time.time() - at)))
PY
}
watch_cluster & pids[watcher]=$!
scrape & pids[scraper]=$!
sleep 20
echo "$(date -u +%FT%T.%3NZ) kill -9 osd.$lost" >"$out/done.txt"
kill -9 "${pids[$lost]}"
await "5 up" osd stat
await "5 in" osd stat
sleep 10
await "pgs: [0-9]* active+clean;" pg stat
echo "$(date -u +%FT%T.%3NZ) clean" >>"$out/done.txt"
sleep 20
touch "$dir/done"
wait "${pids[watcher]}" "${pids[scraper]}"
exports after
perf after
# The log is read by its owner alone.
install -m 644 "$dir/ceph.log" "$out/ceph.log"
grep -lF "$dir" "$out"/* | xargs -r sed -i "s#$dir#/var/lib/ceph#g"
"$(dirname "$0")/event-range.py" "$out/scrapes.jsonl" >"$out/prometheus.json"
rm "$out/scrapes.jsonl"
gzip -9n "$out"/*.json "$out/ceph.log" "$out"/*.perf_dump.txt
