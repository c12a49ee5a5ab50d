"""Paths that callers pass, checked before they are used."""

from __future__ import annotations

import os
from pathlib import PurePosixPath, PureWindowsPath


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


def leads_out(path: str) -> bool:
    """Return whether a relative path is none, on any system, or goes up from where it begins.

    >>> leads_out("a/b"), leads_out("../b"), leads_out("/b"), leads_out("C:b")
    (False, True, True, True)
    """
    parts = PureWindowsPath(path)
    is_absolute = parts.anchor or PurePosixPath(path).anchor
    return bool("\0" in path or is_absolute or ".." in parts.parts)
