"""The files that this process has open, each by one database.

A database that was never closed, because opening it failed or its connection was forgotten, claims
its file only as long as the object exists.
"""

from __future__ import annotations

import gc
import os
import threading
import weakref
from dataclasses import dataclass

from cqlduck.errors import DatabaseError


@dataclass(frozen=True)
class _Claim:
    """Who has a file open: an object, and the process that made it."""

    process: int
    holder: weakref.ref[object]


_CLAIMS: dict[str, _Claim] = {}
"""By the file's real path; a process that was forked has those of its parent."""
_LOCK = threading.Lock()


def _found(path: str) -> _Claim | None:
    claim = _CLAIMS.get(path)
    if claim is not None and claim.holder() is not None:
        # it may be lost, in a circle of references
        gc.collect()
    return None if claim is None or claim.holder() is None else claim


def is_open_here(path: str | os.PathLike[str]) -> bool:
    """Return whether a connection of this process, or of its parent, has a file open."""
    with _LOCK:
        return _found(os.path.realpath(path)) is not None


def claim(path: str, holder: object) -> str:
    """Note that an object has a file open, until it lets go of it or is no more.

    Returns:
        The file's real path, for `release`.

    Raises:
        DatabaseError: Another one has it open, in this process or in the one it was forked from.
    """
    key = os.path.realpath(path)
    with _LOCK:
        other = _found(key)
        if other is not None and other.process != os.getpid():
            raise DatabaseError(
                f"the database {path} is in use by another process, the one that this one was "
                "forked from",
                hint="let that process write a snapshot, and open that",
            )
        if other is not None:
            raise DatabaseError(
                f"the database {path} is open in this process already",
                hint="use that connection, or close it first",
            )
        _CLAIMS[key] = _Claim(os.getpid(), weakref.ref(holder))
    return key


def release(key: str, holder: object) -> None:
    """Let go of a file, if it is this object that has it open."""
    with _LOCK:
        if key in _CLAIMS and _CLAIMS[key].holder() is holder:
            del _CLAIMS[key]
