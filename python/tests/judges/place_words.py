"""The integers that the placement algorithms hash to, written from their definitions.

The judges place by their own rules and are given these integers, so that they can be compared key by key:
Jenkins' lookup3 for virtual nodes, the finaliser of SplitMix64 for seeds, and the folded product of wyhash for draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

MASK = 2**64 - 1
GOLDEN, ROOT_TWO = 0x9E3779B97F4A7C15, 0x6A09E667F3BCC909


def scatter(number: int) -> int:
    """The finaliser of SplitMix64."""
    word = (number + GOLDEN) & MASK
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
    return word ^ (word >> 31)


def mix(left: int, right: int) -> int:
    """Both halves of the product, xored."""
    product = left * right
    return (product & MASK) ^ (product >> 64)


def draw_word(key: int, seed: int, attempt: int) -> int:
    """The word of one draw for a key."""
    word = mix(key ^ scatter(seed), GOLDEN)
    return mix(word ^ (attempt * ROOT_TWO & MASK), ROOT_TWO)


def position(server: int, node: int, seed: int) -> int:
    """Where a virtual node of a server is: lookup3 of the server's number in eight bytes."""
    bits = 2**32 - 1
    a = b = (0xDEADBEEF + 8 + node) & bits
    c = (a + seed) & bits
    a, b = (a + (server & bits)) & bits, (b + (server >> 32)) & bits

    def turned(word: int, by: int) -> int:
        return ((word << by) | (word >> (32 - by))) & bits

    c = ((c ^ b) - turned(b, 14)) & bits
    a = ((a ^ c) - turned(c, 11)) & bits
    b = ((b ^ a) - turned(a, 25)) & bits
    c = ((c ^ b) - turned(b, 16)) & bits
    a = ((a ^ c) - turned(c, 4)) & bits
    b = ((b ^ a) - turned(a, 14)) & bits
    c = ((c ^ b) - turned(b, 24)) & bits
    return c | b << 32


def distinct(draw: Callable[[int], int], copies: int) -> Iterator[int]:
    """The first servers of a sequence of draws, each once."""
    found: set[int] = set()
    attempt = 0
    while len(found) < copies:
        server = draw(attempt)
        attempt += 1
        if server not in found:
            found.add(server)
            yield server
