#!/usr/bin/env bash
# Reads and writes of a small Ceph on loopback and of a plain file, measured with fio: the data of
# scenarios/papers/capacity-ceph.csv and capacity-file.csv, as lines of CSV on stdout.
#
#   peers/capacity.sh ceph|file [ROUNDS] [SECONDS] [BYTES] [KINDS]
#
# Each round runs all points in an order of its own, so that what else changes on the machine is spread over them.
# KINDS (all by default): `alone`, one size; `operations`, one stream that draws from two sizes; `concurrency`, two jobs
# that share 20 operations.
set -euo pipefail
system=${1:?ceph or file} rounds=${2:-3} seconds=${3:-9} bytes=${4:-2147483648} kinds=${5:-alone operations concurrency}
# shellcheck source=peers/cluster.sh
. "$(dirname "$0")/cluster.sh"
need fio rbd python3 shuf
case $system in
ceph)
    start_cluster 3 3 manager <<CONF
osd memory target = 966367641
CONF
    ask osd pool create bench 64 64 >/dev/null
    await 'active+clean' pg stat
    rbd pool init bench
    rbd create --size "${bytes}B" bench/image
    name=ceph-rbd sizes="4 16 64 256 512 1024"
    # The cache of the client would answer reads.
    export CEPH_ARGS="--rbd-cache=false"
    target=(--ioengine=rbd --pool=bench --rbdname=image "--size=$bytes")
    ;;
file)
    dir=$(mktemp -d "${TMPDIR:-/tmp}/peer-file.XXXXXX")
    trap 'rm -rf "$dir"' EXIT
    trap 'exit 130' INT TERM
    name=local-file sizes="4 64 1024"
    target=(--ioengine=libaio --direct=1 "--filename=$dir/file" "--size=$bytes")
    ;;
*) echo "'$system' is neither ceph nor file" >&2; exit 2 ;;
esac
fio --name=fill --rw=write --bs=1M --iodepth=16 "${target[@]}" --output=/dev/null

# One line for each point: KIND SIZE [SIZE SHARE] READS.
points() {
    local size reads first
    for size in $sizes; do
        for reads in $(seq 0 10 100); do
            # 512 KiB only occurs together with 16 KiB.
            if [ "$size" != 512 ] || [ "$reads" = 0 ] || [ "$reads" = 100 ]; then echo "alone $size $reads"; fi
        done
    done
    [ "$system" = ceph ] || return 0
    for first in 10 30 50 70 90; do
        for case in "16 1024 100" "64 1024 0" "16 512 50"; do
            # shellcheck disable=SC2086
            set -- $case
            echo "operations $1 $2 $first $3"
            echo "concurrency $1 $2 $first $3"
        done
    done
}

# Runs fio with its arguments and prints the operations per second of all jobs.
rate() {
    fio "${target[@]}" --randseed="$((round * 1000 + RANDOM % 1000))" --norandommap --ramp_time=1 \
        --runtime="$seconds" --time_based --output-format=json --output="$dir/fio.json" "$@" </dev/null >&2
    python3 -c 'import json, sys
text = open(sys.argv[1]).read()
jobs = json.loads(text[text.index("{"):])["jobs"]
assert not any(job["error"] for job in jobs), "fio reports errors"
print(round(sum(job[way]["iops"] for job in jobs for way in ("read", "write")), 1))' "$dir/fio.json"
}

named() { if [ "$1" = 1024 ]; then echo 1MiB; else echo "${1}KiB"; fi; }
# job SIZE DEPTH READS: the options of one stream.
stream() { echo "--bs=${1}k --iodepth=$2 --rw=randrw --rwmixread=$3"; }

echo "system,size,read_percent,iops,run,shares"
for round in $(seq "$rounds"); do
    points | grep -E "^(${kinds// /|}) " | shuf --random-source=<(yes "$round") | while read -r kind size rest; do
        # shellcheck disable=SC2086
        set -- $rest
        # shellcheck disable=SC2046
        case $kind in
        alone) what="$(named "$size"),$1" shares= iops=$(rate --name=one $(stream "$size" 16 "$1")) ;;
        operations)
            what="$(named "$size"):$2%+$(named "$1"):$((100 - $2))%,$3" shares=operations
            iops=$(rate --name=one --bssplit="${size}k/$2:${1}k/$((100 - $2))" --iodepth=16 --rw=randrw --rwmixread="$3")
            ;;
        concurrency)
            what="$(named "$size"):$2%+$(named "$1"):$((100 - $2))%,$3" shares=concurrency
            iops=$(rate --name=one $(stream "$size" $(($2 / 5)) "$3") --name=two $(stream "$1" $(((100 - $2) / 5)) "$3"))
            ;;
        esac
        echo "$name,$what,$iops,$round,$shares"
    done
done
