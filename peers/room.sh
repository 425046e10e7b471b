#!/usr/bin/env bash
# Asks a real Ceph which groups move where devices have little room: two full devices that change places, a chain whose
# end is full, a chain whose end is free. Each pool has one group of one copy, put on its device by an explicit mapping.
# The exports of before go to DIRECTORY; TOWTANK (a path) is asked the same from them, and what stays must be equal.
#
#   TOWTANK=target/release/towtank peers/room.sh DIRECTORY
#
# The cluster lies in a directory of its own, which goes at the end with all processes that were started.
set -euo pipefail
out=${1:?the directory for the files} towtank=${TOWTANK:?the towtank to judge}
# shellcheck source=peers/cluster.sh
. "$(dirname "$0")/cluster.sh"
need ceph-mgr /usr/bin/python3
mkdir -p "$out"
out=$(cd "$out" && pwd) towtank=$(realpath "$towtank")
start_cluster 8 1 manager <<CONF
bluestore block size = 1073741824
osd memory target = 939524096
osd max backfills = 10
osd backfill retry interval = 10
# Logs are kept short while pools are filled, so that a device that comes new to a group is filled by backfill.
osd min pg log entries = 1
osd max pg log entries = 2
osd pg log trim min = 1
[mon]
mon allow pool size one = true
CONF
for flag in noscrub nodeep-scrub; do ask osd set "$flag" >/dev/null; done
ask balancer off >/dev/null
ask osd set-require-min-compat-client luminous >/dev/null
# An empty device has about 27 % (of 1 GiB), one with 300 MB 57 %: it has no room for another 300 MB.
ask osd set-full-ratio 0.95 >/dev/null
ask osd set-backfillfull-ratio 0.75 >/dev/null
ask osd set-nearfull-ratio 0.7 >/dev/null

# The pools: name, device, device after the change (- for one that stays). 300 MB each.
pools="circle0 0 1
circle1 1 0
closed0 2 3
closed1 3 4
closed2 4 -
open0 5 6
open1 6 7"
declare -A group
while read -r name from _; do
    ask osd pool create "$name" 1 1 >/dev/null
    ask osd pool set "$name" size 1 --yes-i-really-mean-it >/dev/null
    number=$(ask osd pool ls detail -f json | python3 -c "import json,sys; print(next(p['pool_id'] for p in json.load(sys.stdin) if p['pool_name'] == '$name'))")
    group[$name]=$number.0
    ask osd pg-upmap "$number.0" "$from" >/dev/null
done <<<"$pools"
await "pgs: [0-9]* active+clean;" pg stat
while read -r name _; do fill "$name" 75 4194304; done <<<"$pools"
sleep 15 # statistics are up to 5 s old
ask report -f json >"$out/report.json"
ask pg dump -f json >"$out/pg_dump.json"
ask osd df -f json >"$out/osd_df.json"

changes=()
while read -r name _ to; do
    [ "$to" = - ] || changes+=(--upmap "${group[$name]} osd.$to")
done <<<"$pools"
"$towtank" whatif --report "$out/report.json" --pg-dump "$out/pg_dump.json" "${changes[@]}" --out "$out/answer" --quiet >"$out/answer.txt" ||
    test $? = 3
start=$(date +%s.%N)
while read -r name _ to; do
    [ "$to" = - ] || ask osd pg-upmap "${group[$name]}" "$to" >/dev/null
done <<<"$pools"
for _ in $(seq 60); do
    echo "$(date +%s.%N | awk -v s="$start" '{ printf "%.1f", $1 - s }') $(ask pg dump pgs_brief -f json | python3 -c '
import json, sys
groups = json.load(sys.stdin)
groups = groups.get("pg_stats", groups) if isinstance(groups, dict) else groups
print(*(g["pgid"] + "=" + g["state"] + str(g["acting"]) for g in groups))')" | tee -a "$out/states.txt" >/dev/null
    sleep 2
done
ask osd df -f json >"$out/after.osd_df.json"
while read -r name from to; do
    acting=$(ask pg map "${group[$name]}" -f json | python3 -c 'import json,sys; print(json.load(sys.stdin)["acting"][0])')
    echo "$name from osd.$from to osd.$to: on osd.$acting"
done <<<"$pools" | tee "$out/judged.txt"

# Each pool has 75 objects. What stays where it is must be as many as the answer says, and no answer is none.
python3 - "$out" <<'PY'
import csv, sys
out = sys.argv[1]
lines = [line.split() for line in open(f"{out}/judged.txt")]
stays = 75 * sum(1 for _, _, _, _, to, _, at in lines if to != "osd.-:" and at != to.rstrip(":"))
rows = {row[0]: row[1] for row in csv.reader(open(f"{out}/answer/summary.csv"))}
said = float(rows["unmoved_objects"] or "nan")
print(f"{stays} objects stay, and the answer says {said:g}")
sys.exit(said != stays)
PY
