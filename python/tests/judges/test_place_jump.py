"""Jump consistent hash against `jump-consistent-hash`, key by key.

The judge gets the word of each draw as its key; a draw of a server that has a copy already is repeated.
"""

from __future__ import annotations

import jump
import numpy as np
import place_words as words
import pytest

import towtank as tt

SEED = 3
KEYS = np.random.default_rng(39).integers(0, 2**64, 100_000, dtype=np.uint64)


def lists(keys: np.ndarray, servers: int, copies: int, buckets: int | None = None) -> np.ndarray:
    def one(key: int) -> list[int]:
        draw = lambda attempt: jump.hash(words.draw_word(key, SEED, attempt), buckets or servers)  # noqa: E731
        return list(words.distinct(draw, copies))

    return np.array([one(key) for key in keys.tolist()])


@pytest.mark.parametrize(("servers", "copies"), [(1, 1), (2, 1), (8, 1), (9, 3), (64, 3), (1000, 1)])
def test_keys_are_where_jump_consistent_hash_has_them(servers, copies):
    found = tt.placement.Jump(servers, seed=SEED).lookup(KEYS, copies)
    assert (found == lists(KEYS, servers, copies)).all()
    # Planted: one bucket more.
    assert (found != lists(KEYS, servers, copies, servers + 1)).any()


def test_a_server_that_joins_takes_what_jump_consistent_hash_gives_it():
    before = tt.placement.Jump(16, seed=SEED).lookup(KEYS)[:, 0]
    after = tt.placement.Jump(17, seed=SEED).lookup(KEYS)[:, 0]
    judged = np.array([jump.hash(words.draw_word(key, SEED, 0), 17) for key in KEYS.tolist()])
    assert (after == judged).all() and (after[before != after] == 16).all() and (before != after).any()
