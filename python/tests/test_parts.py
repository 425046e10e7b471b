"""Arrays in, arrays out: CRUSH, placement, Merkle trees, capacity, exports; each against another way."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import CLUSTER, ROOT

import towtank as tt

MAP = CLUSTER / "crush.txt"
MEASURED = ROOT / "scenarios" / "papers" / "capacity-ceph.csv"


def test_mappings_are_those_of_the_command(tmp_path, towtank):
    crush = tt.crush.Map.read(MAP)
    rule = next(iter(crush.rules))
    xs = np.arange(500)
    found = crush.map(rule, xs, num_rep=3)
    assert found.dtype == np.int32 and found.shape == (500, 3)
    binary = tmp_path / "map.bin"
    assert towtank("crush", "-c", str(MAP), "-o", str(binary)).returncode == 0
    asked = [
        "--test",
        "--show-mappings",
        "--num-rep",
        "3",
        "--min-x",
        "0",
        "--max-x",
        "499",
        "--rule",
        str(crush.rules[rule]),
    ]
    printed = towtank("crush", "-i", str(binary), *asked)
    lines = [line for line in printed.stdout.splitlines() if line.startswith("CRUSH rule")]
    for x, line in zip(xs, lines, strict=True):
        devices = [int(device) for device in line.rpartition("[")[2].rstrip("]").split(",")]
        assert [device for device in found[x].tolist() if device >= 0] == devices, line


def test_threads_weights_and_shapes_of_mappings():
    crush = tt.crush.Map.read(MAP)
    rule = next(iter(crush.rules))
    xs = np.arange(10_010, dtype=np.uint32)
    one = crush.map(rule, xs, 3)
    for threads in (2, 3, 2000):
        assert (crush.map(rule, xs, 3, threads=threads) == one).all()
    assert (crush.map(rule, xs.reshape(7, 1430), 3) == one.reshape(7, 1430, 3)).all()
    weights = np.ones(crush.max_devices)
    weights[one[0, 0]] = 0
    assert (crush.map(rule, xs, 3, weights=weights) != one[0, 0]).all()
    assert crush.map(rule, [], 3).shape == (0, 3)
    with pytest.raises(tt.ScenarioError, match="the map has no rule `replicatd`"):
        crush.map("replicatd", xs, 3)
    with pytest.raises(ValueError, match="-1 to 5"):
        crush.map(rule, [-1, 5], 3)
    with pytest.raises(TypeError, match="must have whole numbers"):
        crush.map(rule, [0.5], 3)
    with pytest.raises(tt.ScenarioError) as caught:
        tt.crush.Map.parse("no map")
    assert caught.value.file == "text"


def test_a_ring_moves_only_what_a_new_server_takes():
    keys = np.random.default_rng(1).integers(0, 2**63, 20_000, dtype=np.uint64)
    before, after = tt.placement.Ring(8, vnodes=200), tt.placement.Ring(9, vnodes=200)
    old, new = before.lookup(keys)[:, 0], after.lookup(keys)[:, 0]
    moved = old != new
    assert (new[moved] == 8).all()
    # A ninth of the keys in the mean; with 200 virtual nodes the share of a server scatters by 7 %, and four
    # times that is met by chance once in 16,000.
    assert abs(moved.mean() * 9 - 1) < 0.28 + 0.04
    assert before.moved(after, keys) == pytest.approx(moved.mean())
    assert before.moved(before, keys) == 0


def test_a_table_of_fixed_size_moves_little():
    """A former bug: the table was sized by the servers of the moment, so one more moved nearly everything."""
    keys = np.random.default_rng(3).integers(0, 2**63, 50_000, dtype=np.uint64)
    before, after = (tt.placement.Placement("maglev", servers) for servers in (16, 17))
    assert 1.0 < before.moved(after, keys) * 17 < 1.2
    # Planted: tables of another size.
    sized = [tt.placement.Placement("maglev", servers, slots=slots) for servers, slots in ((16, 1601), (17, 1709))]
    assert sized[0].moved(sized[1], keys) > 0.9
    with pytest.raises(tt.ScenarioError, match="`slots` is 100, but must be a prime: use 101"):
        tt.placement.Placement("maglev", 16, slots=100)
    with pytest.raises(tt.ScenarioError, match="`slots` is 13 for 16 servers"):
        tt.placement.Placement("maglev", 16, slots=13)


@pytest.mark.parametrize("algorithm", ["ring", "rendezvous", "jump", "maglev", "crush"])
def test_shares_follow_weights(algorithm):
    keys = np.random.default_rng(2).integers(0, 2**63, 50_000, dtype=np.uint64)
    weights = [1.0, 1.0, 1.0, 1.0] if algorithm == "jump" else [1.0, 1.0, 1.0, 2.0]
    placed = tt.placement.Placement(algorithm, weights, vnodes=500)
    want = np.array(weights) / sum(weights)
    # 500 virtual nodes scatter by 4.5 % of a share; four times that, and the scatter of the keys.
    assert np.abs(placed.shares(keys) / want - 1).max() < 0.2
    held = placed.lookup(keys, replicas=3)
    assert (np.sort(held, axis=1)[:, 1:] != np.sort(held, axis=1)[:, :-1]).all()
    with pytest.raises(tt.ScenarioError, match="there is no placement algorithm `rng`"):
        tt.placement.Placement("rng", 3)


def test_a_tree_finds_what_changed():
    names = [f"object-{number}" for number in range(2000)]
    primary = tt.merkle.Tree(leaf_bits=12)
    primary.update(names, new=np.arange(1, 2001))
    replica = primary.copy()
    assert primary.root == replica.root and len(primary.difference(replica)) == 0
    primary.update(names[:5], old=[1, 2, 3, 4, 5], new=[9, 9, 9, 9, 9])
    ranges = primary.difference(replica)
    at = tt.merkle.positions(names)
    inside = ((ranges[:, :1] <= at) & (at <= ranges[:, 1:])).any(axis=0)
    assert inside[:5].all()
    # 5 of 4,096 leaves differ, and share them with others by chance.
    assert inside.sum() < 20
    primary.update(names[:5], old=[9, 9, 9, 9, 9], new=[1, 2, 3, 4, 5])
    assert primary.root == replica.root
    assert (primary.leaves == replica.leaves).all() and len(primary.leaves) == 4096


def test_a_tree_refuses_what_is_not_its_own():
    tree = tt.merkle.Tree(leaf_bits=4, group=1, groups=4)
    hashes = tt.crush.name_hash([str(number) for number in range(100)])
    ours = [str(number) for number in range(100) if hashes[number] % 4 == 1]
    tree.update(ours, new=np.ones(len(ours), dtype=np.uint64))
    root = tree.root
    other = next(str(number) for number in range(100) if hashes[number] % 4 == 2)
    # Of several objects with one that is refused, none is recorded.
    with pytest.raises(ValueError, match="does not belong to the group"):
        tree.update([ours[0], other], old=[1, 0], new=[2, 1])
    assert tree.root == root
    with pytest.raises(ValueError, match="2 names, 2 old and 1 new versions"):
        tree.update(["a", "b"], new=[1])
    with pytest.raises(ValueError, match="there is no group 4 of 4"):
        tt.merkle.Tree(leaf_bits=4, group=4, groups=4)
    with pytest.raises(ValueError, match=r"coarsen the finer one|leaves"):
        tt.merkle.Tree(leaf_bits=3).difference(tt.merkle.Tree(leaf_bits=4))


def test_capacity_is_that_of_the_command(tmp_path, towtank):
    import pandas as pd

    model = tt.capacity.fit(MEASURED, system="ceph-rbd")
    frame = pd.read_csv(MEASURED, comment="#")
    assert tt.capacity.fit(frame[frame["system"] == "ceph-rbd"]).json["sizes"] == model.json["sizes"]
    path = tmp_path / "model.json"
    model.save(path)
    printed = towtank("capacity", "estimate", str(path), "--mix", "4KiB:100%:r70", "--format", "csv")
    assert printed.returncode == 0, printed.stderr
    rates = dict(line.split(",")[:2] for line in printed.stdout.splitlines()[1:])
    found = model.estimate("4KiB:100%:r70")
    assert any(abs(float(value) - found.total_per_s.value) < 1e-9 * found.total_per_s.value for value in rates.values())
    assert found.reads_per_s.value / found.total_per_s.value == pytest.approx(0.7)
    with pytest.raises(tt.ScenarioError, match="outside the measured sizes"):
        model.estimate("64MiB:100%:r70")
    with pytest.raises(tt.ScenarioError, match="mix=4KiB"):
        model.estimate("4KiB:70%:r70")
    with pytest.raises(ValueError, match="no column `iops`"):
        tt.capacity.fit({"size": ["4KiB"], "read_percent": [100]})


def test_a_report_of_ceph_is_read(tmp_path):
    cluster = tt.ceph.read_report(ROOT / "crates" / "imports" / "tests" / "exports" / "report.json.gz")
    assert cluster.osds["up"].dtype == bool and cluster.osds["reweight"].between(0, 1).all()
    assert cluster.pools["size"].min() >= 1
    rule = next(iter(cluster.map.rules))
    assert cluster.map.map(rule, np.arange(10), 3).shape == (10, 3)
    path = tmp_path / "report.json"
    path.write_text("{}")
    with pytest.raises(tt.ScenarioError, match="ceph report") as caught:
        tt.ceph.read_report(path)
    assert caught.value.file == str(path)
