# A real Ceph of Debian's packages on loopback, for the scripts beside this one, which source it: a monitor and OSDs
# (BlueStore in files) in a directory of its own, which goes at the end with all processes that were started.
# It sets `dir`, the processes `pids` by name, and CEPH_CONF. A script may define `finish_before` for what it started.

# need PROGRAM…: ends with a message if one is not installed.
need() {
    local program
    for program in ceph-mon ceph-osd ceph monmaptool "$@"; do
        command -v "$program" >/dev/null && continue
        echo "$program is not installed: apt-get install ceph-mon ceph-mgr ceph-osd ceph-common fio" >&2
        exit 2
    done
}

declare -A pids
finish_cluster() {
    local pid
    if declare -F finish_before >/dev/null; then finish_before; fi
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$dir"
}

ask() { timeout 60 ceph "$@" 2>/dev/null; }
# Waits until the answer to a question has a word.
await() { for _ in $(seq 300); do ask "${@:2}" | grep -q "$1" && return; sleep 0.3; done; echo "no $1 in 'ceph ${*:2}'" >&2; exit 1; }
start_osd() { ceph-osd -f -i "$1" >/dev/null 2>&1 & pids[$1]=$!; }

# write_objects POOL OBJECTS BYTES: writes that many objects of that size.
write_objects() {
    /usr/bin/python3 - "$@" <<'PY'
import os, sys
import rados
name, objects, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with rados.Rados(conffile=os.environ["CEPH_CONF"]) as cluster, cluster.open_ioctx(name) as pool:
    for number in range(objects):
        pool.write_full(f"object{number:06}", os.urandom(size))
PY
}
# fill POOL OBJECTS BYTES: the same, and waits until all groups are clean.
fill() {
    write_objects "$@"
    await "pgs: [0-9]* active+clean;" pg stat
}

# start_cluster OSDS COPIES [manager]: lines for ceph.conf, whose last section is [osd], come from standard input.
start_cluster() {
    local port=${PORT:-$((20000 + RANDOM % 12000))} fsid osd uuid
    dir=$(mktemp -d "${TMPDIR:-/tmp}/peer-ceph.XXXXXX")
    trap finish_cluster EXIT
    trap 'exit 130' INT TERM
    fsid=$(cat /proc/sys/kernel/random/uuid)
    cat >"$dir/ceph.conf" <<CONF
[client]
admin socket =
[global]
fsid = $fsid
mon host = v2:127.0.0.1:$port/0
ms bind msgr1 = false
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
osd pool default size = $2
osd pool default min size = $(($2 - 1))
osd crush chooseleaf type = 0
osd pool default pg autoscale mode = off
mon data = $dir/mon.\$id
mgr data = $dir/mgr.\$id
osd data = $dir/osd.\$id
run dir = $dir
admin socket = $dir/\$name.asok
pid file = $dir/\$name.pid
log file = $dir/\$name.log
mon allow pool delete = true
mon warn on pool no redundancy = false
[osd]
bluestore block size = 8589934592
bluestore fsck on mount = false
CONF
    cat >>"$dir/ceph.conf"
    export CEPH_CONF=$dir/ceph.conf
    monmaptool --create --clobber --fsid "$fsid" --addv a "[v2:127.0.0.1:$port]" "$dir/monmap" >/dev/null
    mkdir "$dir/mon.a" "$dir/mgr.x"
    ceph-mon --mkfs -i a --monmap "$dir/monmap" >/dev/null
    ceph-mon -f -i a >/dev/null 2>&1 & pids[mon]=$!
    await quorum mon stat
    if [ "${3:-}" = manager ]; then ceph-mgr -f -i x >/dev/null 2>&1 & pids[mgr]=$!; fi
    for osd in $(seq 0 $(($1 - 1))); do
        uuid=$(cat /proc/sys/kernel/random/uuid)
        ask osd new "$uuid" >/dev/null
        mkdir "$dir/osd.$osd"
        ceph-osd -i "$osd" --mkfs --osd-uuid "$uuid" >/dev/null 2>&1
        start_osd "$osd"
    done
    await "$1 up" osd stat
}
