"""Searches: by which key the groups of an aggregate are found through an index.

The points `search` have as options `scan`, and the numbers of keys, counted from 1 as EXPLAIN shows
them.
"""

from __future__ import annotations

import functools

SEARCH = "search"
"""The kind of points at which it is chosen how groups are found."""

Searches = tuple[tuple[int, int], ...]
"""By the number of the aggregate, the key that has an index, from 0; of others none has."""


def key_name(key: int) -> str:
    """Return the option of a key.

    >>> key_name(0)
    '1'
    """
    return str(key + 1)


@functools.lru_cache(maxsize=256)
def key_of(option: str) -> int | None:
    """Return the key that an option is, or None if it is none.

    >>> key_of("2")
    1
    >>> key_of("scan") is key_of("0") is key_of("02") is None
    True
    """
    is_number = option.isascii() and option.isdigit() and len(option) < 4
    return int(option) - 1 if is_number and not option.startswith("0") else None
