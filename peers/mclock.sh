#!/usr/bin/env bash
# How much time an object takes in the mClock queue of a real Ceph 16.2, on loopback: one monitor, one manager and
# three OSDs (BlueStore in files) from Debian's ceph-mon, ceph-mgr, ceph-osd and ceph-common.
#
#   peers/mclock.sh [PROFILE] [OBJECTS] [BYTES] [LOG]
#
# An OSD is killed, objects are written, and it comes back. Pools have two copies and one group each, so all groups
# are in shard 0. For one and two groups at a time, and for each primary and lacking device, it prints which steps
# were queued at the primary and the seconds between work items. With a LOG of 2 entries the groups are backfilled;
# with more entries than objects (the default), their logs tell what is missing, and a primary that lacks objects
# pulls them.
set -euo pipefail
profile=${1:-high_client_ops} objects=${2:-6} bytes=${3:-4194304} log=${4:-3000}
# shellcheck source=peers/cluster.sh
. "$(dirname "$0")/cluster.sh"
need ceph-mgr rados python3
start_cluster 3 2 manager <<CONF
osd memory target = 939524096
osd op queue = mclock_scheduler
osd mclock profile = $profile
osd mclock skip benchmark = true
osd mclock max capacity iops hdd = 315
osd min pg log entries = $((log < 100 ? 1 : log))
osd max pg log entries = $log
osd pg log trim min = $((log < 100 ? 1 : 100))
debug osd = 20
CONF
ask osd set-require-min-compat-client luminous >/dev/null
for flag in noout noscrub nodeep-scrub; do ask osd set "$flag" >/dev/null; done
head -c "$bytes" /dev/urandom >"$dir/object"

# run GROUPS PRIMARY OTHER LACKING: one line of the table.
run() {
    local groups=$1 primary=$2 other=$3 lacking=$4 pool number since names=()
    for group in $(seq "$groups"); do
        pool=p$groups-$primary-$other-$lacking-$group
        ask osd pool create "$pool" 1 1
        number=$(ask osd pool ls detail | sed -n "s/^pool \([0-9]*\) '$pool'.*/\1/p")
        ask osd pg-upmap "$number.0" "$primary" "$other"
        await "acting \[$primary,$other\]" pg map "$number.0"
        names+=("$pool")
        ids[group]=$number
    done
    sleep 3
    kill "${pids[$lacking]}"; wait "${pids[$lacking]}" 2>/dev/null || true
    ask osd down "$lacking" >/dev/null || true
    for pool in "${names[@]}"; do
        for object in $(seq "$objects"); do timeout 60 rados -p "$pool" put "o$object" "$dir/object"; done
    done
    since=$(date -u +%FT%T)
    start_osd "$lacking"
    await '3 up' osd stat
    sleep 5
    for _ in $(seq 200); do ask pg dump pgs_brief | grep -qE 'recover|backfill|peering|degraded' || break; sleep 1; done
    python3 - "$dir" "$since" "$objects" "$log" "$groups $primary $other $lacking" "${ids[@]:1:$groups}" <<'PY'
import re, sys
folder, since, objects, log, what, *ids = sys.argv[1:]
kinds = {"PGRecovery": "item", "PGRecoveryContext": "context"}
leads, steps = {}, {}
for osd in "012":
    for line in open(f"{folder}/osd.{osd}.log", errors="replace"):
        found = re.match(r"(\S+?)\+0000 \S+ +20 osd\.\d op_wq\(\d\) _process OpSchedulerItem\((\d+)\.0 (\w+)\((.*) queued$", line)
        if not found or found[1] < since or found[2] not in ids or "Recovery" not in found[3]: continue
        sent = re.search(r"op=MOSDPG(\w+)", found[4])
        kind = sent[1] if sent else kinds[found[3]]
        hours, minutes, seconds = found[1][11:].split(":")
        at = int(hours) * 3600 + int(minutes) * 60 + float(seconds)
        if kind == "item": leads.setdefault((osd, found[2]), []).append(at)
        steps[osd, kind] = steps.get((osd, kind), 0) + 1
groups = int(what.split()[0])
gaps = []
for at in leads.values():
    # After the last object there are empty items: two of a backfill, one of recovery by log. Those before the
    # first object belong to an earlier map.
    own = at[:-2 if int(log) < 100 else -1][-int(objects):]
    gaps += [b - a for a, b in zip(own, own[1:])]
gaps.sort()
per = lambda gap: f"{gap / groups:.3f}"
print("  ".join(what.split()), "", per(gaps[len(gaps) // 2]), per(gaps[0]), per(gaps[-1]),
      ", ".join(f"{kind}@{osd} {count}" for (osd, kind), count in sorted(steps.items())), sep="  ")
PY
}
declare -a ids
echo "profile $profile, $objects objects of $bytes bytes, log of $log entries"
echo "groups  primary  other  lacking  seconds per object (median, least, most)  steps at each OSD"
for groups in 1 2; do
    run "$groups" 1 2 2
    run "$groups" 1 0 0
    run "$groups" 2 1 2
    run "$groups" 2 0 2
done
