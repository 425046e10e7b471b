#!/bin/sh
# Makes the rings of this folder, those of docs/examples/swift, and golden.json, with the package `swift`
# 2.38.3 of PyPI (`pip install swift==2.38.3`). The seeds make the rings the same each time. Run it in an
# empty folder.
set -eu
build() { swift-ring-builder "$@" > log || test $? -le 1; }

# Two regions, three zones, uneven weights, two ports of one address, IPv6, and a disk without partitions.
build zones.builder create 7 3 0
build zones.builder add r1z1-10.1.1.1:6200/sda 100 r1z1-10.1.1.1:6200/sdb 100 r1z1-10.1.1.2:6200/sda 50 \
    r1z2-10.1.2.1:6200/sda 150 r1z2-10.1.2.1:6201/sdb 30 r1z2-10.1.2.2:6200/sda 100 \
    r2z1-10.2.1.1:6200/sda 200 r2z1-10.2.1.1:6200/sdb 100 'r2z1-[fd00::7]:6200/sda' 70 \
    r2z1-10.2.1.3:6200/sda 0
build zones.builder rebalance --seed 7
build zones.builder write_ring --format-version 2
mv zones.ring.gz zones_v2.ring.gz
build zones.builder write_ring --format-version 1
mv zones.ring.gz zones_before.ring.gz
build zones.builder remove d1
build zones.builder rebalance --seed 8
build zones.builder write_ring --format-version 1
mv zones.ring.gz zones_after.ring.gz
mv zones_before.ring.gz zones.ring.gz

# Fractional replicas: half of the partitions have three rows.
build fraction.builder create 6 2.5 0
for i in 1 2 3 4; do
    build fraction.builder add r1z$((i % 3 + 1))-10.0.0.$i:6200/d1 $((i * 40)) \
        r1z$((i % 3 + 1))-10.0.0.$i:6200/d2 $((30 + i * 7))
done
build fraction.builder rebalance --seed 3
build fraction.builder write_ring --format-version 1

# The rings of docs/other-systems.md: eight servers with four disks in four zones; the third disk of the
# third server is removed.
build object.builder create 10 3 0
for server in 1 2 3 4 5 6 7 8; do
    for disk in sda sdb sdc sdd; do
        build object.builder add r1z$(((server + 1) / 2))-10.0.0.$server:6200/$disk 100
    done
done
build object.builder rebalance --seed 1
build object.builder write_ring --format-version 1
mv object.ring.gz object-before.ring.gz
build object.builder remove 10.0.0.3/sdc
build object.builder rebalance --seed 2
build object.builder write_ring --format-version 1
mv object.ring.gz object-after.ring.gz
mv object-before.ring.gz object.ring.gz

python3 - <<'PYTHON'
# For each ring, the devices of each partition in the order of the rows, and all its handoffs; and handoffs
# of a large ring whose rows follow a formula, since rings of more than 65,536 partitions are searched in
# steps of several partitions.
import array, json, os
from swift.common import utils
from swift.common.ring import Ring
from swift.common.ring.ring import RingData
utils.HASH_PATH_SUFFIX = b"any"
def ids(nodes):
    return [node["id"] for node in nodes]
golden = {}
for name in ["zones", "zones_after", "zones_v2", "fraction", "object", "object-after"]:
    ring = Ring(os.path.abspath(name + ".ring.gz"))
    parts = range(ring.partition_count)
    if name.startswith("object"):
        parts = range(0, ring.partition_count, 16)
    golden[name] = {
        "part_power": ring.part_power,
        "replicas": ring.replica_count,
        "devices": [dev and [dev["region"], dev["zone"], dev["ip"], dev["device"]] for dev in ring.devs],
        "parts": [[part, ids(ring.get_part_nodes(part)), ids(ring.get_more_nodes(part))] for part in parts],
    }
power = 18
devices = [{"id": at, "region": 1 + at // 30, "zone": 1 + at // 10 % 3, "ip": "10.0.%d.%d" % (at // 10, at % 10 // 3),
            "port": 6200, "device": "d%d" % at, "weight": 1.0} for at in range(60)]
rows = [array.array("H", [((part * (row + 3) * 2654435761) >> 7) % 20 + 20 * row for part in range(1 << power)])
        for row in range(3)]
RingData(rows, devices, 32 - power).save("large.ring.gz")
ring = Ring(os.path.abspath("large.ring.gz"))
golden["large"] = [[part, ids(ring.get_more_nodes(part))[:12]] for part in range(0, 1 << power, 5000)]
with open("golden.json", "w") as file:
    lines = ["%s: %s" % (json.dumps(name), json.dumps(value, separators=(",", ":"))) for name, value in golden.items()]
    file.write("{\n" + ",\n".join(lines) + "\n}\n")
PYTHON
