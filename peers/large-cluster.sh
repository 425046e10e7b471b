#!/usr/bin/env bash
# The exports of a large Ceph cluster, made with crushtool and osdmaptool (Debian's ceph-base): 80 hosts with
# 12 devices of 4 TB (3.638 TiB) each, half full, and one pool of 30,720 groups of three copies. Every group
# has the same number of objects of 4 MiB.
#
#   peers/large-cluster.sh DIR [OBJECTS [PLACED]]
#
# It writes crush.txt, osd_dump.json, pg_dump.json and osd_df.json. PLACED is the power of two of groups a
# device that are placed on their own (pgp_num): 5, all of them, unless given.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
dir=$1 objects=${2:-5461} placed=${3:-5}
for program in crushtool osdmaptool; do
    command -v "$program" >/dev/null || { echo "$program is not installed: apt-get install ceph-base" >&2; exit 2; }
done
mkdir -p "$dir"
cd "$dir"

# Ceph's tools print what they do on stderr; it is shown only if they fail.
quiet() { "$@" 2>messages || { cat messages >&2; exit 1; }; }

quiet crushtool --build --num_osds 960 -o built.crush host straw2 12 root straw2 0
quiet crushtool -d built.crush -o built.txt
# The tool gives every device a weight of 1.
sed 's/^\(\titem osd\.[0-9]* weight\) 1\.000$/\1 3.638/; s/^\(\titem host[0-9]* weight\) 12\.000$/\1 43.656/' \
    built.txt >crush.txt
quiet crushtool -c crush.txt -o map.crush
quiet osdmaptool --createsimple 960 --pg-bits 5 --pgp-bits "$placed" --with-default-pool --clobber osdmap >/dev/null
quiet osdmaptool osdmap --import-crush map.crush >/dev/null
quiet osdmaptool osdmap --mark-up-in --dump json | sed -n '/^{/,$p' >osd_dump.json
quiet osdmaptool osdmap --mark-up-in --test-map-pgs-dump --pool 1 >groups.txt
awk -v objects="$objects" '
    BEGIN { print "{\"pg_ready\":true,\"pg_map\":{\"version\":1,\"pg_stats\":[" }
    $1 ~ /^1\.[0-9a-f]+$/ {
        printf "%s{\"pgid\":\"%s\",\"state\":\"active+clean\",\"stat_sum\":{\"num_bytes\":%.0f,\"num_objects\":%d},\"up\":%s,\"acting\":%s,\"up_primary\":%d,\"acting_primary\":%d}", \
            comma, $1, objects * 4194304, objects, $2, $2, $3, $3
        comma = ",\n"
    }
    END { print "]}}" }
' groups.txt >pg_dump.json
awk 'BEGIN {
    print "{\"nodes\":["
    for (osd = 0; osd < 960; osd++)
        printf "%s{\"id\":%d,\"kb\":3906250000,\"kb_used\":2147483648}", (osd ? ",\n" : ""), osd
    print "]}"
}' >osd_df.json
rm messages built.crush built.txt
