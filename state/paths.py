"""Paths that people pass, before anything is done with them."""

from __future__ import annotations

import os


def written(path: object) -> str | None:
    """Return a path as text, or None if it is none: no text, empty, or nothing a file is called.

    >>> written("a.duckdb"), written(""), written(b"a.duckdb")
    ('a.duckdb', None, None)
    """
    if not isinstance(path, (str, os.PathLike)):
        return None
    text = os.fspath(path)
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        return None
    try:
        # DuckDB takes no other
        text.encode()
    except UnicodeEncodeError:
        return None
    return text
