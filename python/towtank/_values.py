"""Values of Python as values of a scenario, which is TOML."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

Given = tuple[str, str, str]
"""A keyword, its value in TOML, and what that value is: ``number``, ``text`` or ``other``."""


def given(keys: Mapping[str, Any]) -> list[Given]:
    """The keywords with their values; tables are taken apart into their keys.

    >>> given({"replicates": 3, "cluster": {"servers": 8, "nic": "10Gbit/s"}})
    [('replicates', '3', 'number'), ('cluster.servers', '8', 'number'), ('cluster.nic', '"10Gbit/s"', 'text')]
    """
    return [(name, toml(value), _kind(value)) for name, value in _flat("", keys) if value is not None]


def toml(value: Any) -> str:
    """A value in TOML.

    >>> toml([1, "10Gbit/s", {"servers": True}])
    '[1, "10Gbit/s", {"servers" = true}]'
    """
    value = _plain(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} is no value of a scenario: write a finite number")
        return repr(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml(str(key))} = {toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    raise TypeError(
        f"a {type(value).__name__} is no value of a scenario: write a text, a number, a truth value, a list or a dict"
    )


def _plain(value: Any) -> Any:
    """Numbers and arrays of numpy as those of Python, and paths as texts."""
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        return value.tolist()
    if hasattr(value, "__fspath__"):
        return value.__fspath__()
    return list(value) if isinstance(value, range) else value


def _kind(value: Any) -> str:
    value = _plain(value)
    if isinstance(value, str):
        return "text"
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return "number" if number else "other"


def _flat(prefix: str, keys: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in keys.items():
        if isinstance(value, Mapping):
            yield from _flat(f"{prefix}{key}.", value)
        else:
            yield f"{prefix}{key}", value
