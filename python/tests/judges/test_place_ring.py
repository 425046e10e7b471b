"""The ring against `uhashring`, key by key.

A key of `uhashring` belongs to the next point above it; ours belongs to the last virtual node at or below it. So the
judge gets the mirrored ring, where both rules are the same. For lists of several servers, which walk upwards from
there, it gets the end of each arc as the point of the node that the arc begins with.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import place_words as words
import pytest
from uhashring import HashRing

import towtank as tt

SEED = 7
KEYS = np.random.default_rng(38).integers(0, 2**64, 100_000, dtype=np.uint64)


def parsed(name: str) -> tuple[int, int]:
    server, node = name.split("-")
    return int(server), int(node)


def mirrored(key: int | str, beyond: int = 1) -> int:
    """The hash function of the mirrored ring: names of virtual nodes, or keys, which are numbers."""
    if isinstance(key, int):
        return words.MASK - key - beyond
    return words.MASK - words.position(*parsed(key), SEED)


def judged(weights: dict[str, int], vnodes: int, hash_fn=mirrored) -> HashRing:
    return HashRing(weights, vnodes=vnodes, hash_fn=hash_fn)


def first_of(ring: HashRing, keys: np.ndarray) -> np.ndarray:
    return np.array([int(ring.get_node(key)) for key in keys.tolist()])


def weights_of(servers: int, heavy: int = 0) -> dict[str, int]:
    return {str(server): 3 if server < heavy else 1 for server in range(servers)}


def ours(weights: dict[str, int], vnodes: int, servers: int) -> tt.placement.Placement:
    """Servers that left keep their number, with weight 0."""
    return tt.placement.Placement(
        "ring", [weights.get(str(server), 0) for server in range(servers)], vnodes=vnodes, seed=SEED
    )


@pytest.mark.parametrize(("servers", "vnodes", "heavy"), [(1, 3, 0), (2, 1, 0), (8, 64, 0), (16, 10, 4), (64, 64, 1)])
def test_keys_are_where_uhashring_has_them(servers, vnodes, heavy):
    weights = weights_of(servers, heavy)
    at = [words.position(server, node, SEED) for server in range(servers) for node in range(vnodes)]
    keys = np.concatenate([KEYS, np.array([*at, 0, words.MASK], dtype=np.uint64)])
    ring = judged(weights, vnodes)
    found = ours(weights, vnodes, servers).lookup(keys)[:, 0]
    assert (found == first_of(ring, keys)).all()
    # Planted: an interval that is open at the wrong end is noticed at the nodes themselves.
    if servers > 1:
        off = judged(weights, vnodes, lambda key: mirrored(key, beyond=0))
        assert (found != first_of(off, keys)).any()


def test_changes_are_those_of_uhashring():
    vnodes, servers = 40, 12
    weights = weights_of(servers)
    ring = judged(weights, vnodes)
    before = first_of(ring, KEYS)
    ring.add_node("12")
    added = first_of(ring, KEYS)
    assert (added == ours(weights_of(13), vnodes, 13).lookup(KEYS)[:, 0]).all()
    assert (before != added).any() and (added[before != added] == 12).all()
    ring.remove_node("12")
    assert (first_of(ring, KEYS) == before).all()
    ring.remove_node("5")
    del weights["5"]
    assert (first_of(ring, KEYS) == ours(weights, vnodes, servers).lookup(KEYS)[:, 0]).all()
    ring.add_node("7", {"weight": 2})
    weights["7"] = 2
    assert (first_of(ring, KEYS) == ours(weights, vnodes, servers).lookup(KEYS)[:, 0]).all()


def ends_of_arcs(servers: int, vnodes: int, shift: int = 0) -> dict[str, int]:
    """For the name of each node, the position of the next one."""
    nodes = sorted(
        (words.position(server, node, SEED), f"{server}-{node}") for server in range(servers) for node in range(vnodes)
    )
    ends = {name: end for (_, name), (end, _) in pairwise(nodes)}
    return ends | {nodes[-1][1]: nodes[0][0] + shift}


@pytest.mark.parametrize(("servers", "vnodes", "copies"), [(8, 16, 3), (20, 8, 5), (5, 1, 5)])
def test_lists_are_those_of_uhashring(servers, vnodes, copies):
    ends = ends_of_arcs(servers, vnodes)

    def lists(keys: np.ndarray) -> np.ndarray:
        ring = judged(weights_of(servers), vnodes, lambda key: ends[key] if isinstance(key, str) else key)
        return np.array([[int(node["nodename"]) for node in ring.range(key, copies)] for key in keys.tolist()])

    keys = KEYS
    found = ours(weights_of(servers), vnodes, servers).lookup(keys, copies)
    assert (found == lists(keys)).all()
    # Planted: two nodes that are exchanged.
    names = sorted(ends)
    ends[names[0]], ends[names[-1]] = ends[names[-1]], ends[names[0]]
    assert (found != lists(keys)).any()
