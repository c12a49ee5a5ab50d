"""The files that this process has open, each by one database.

Who opens and closes a file that another one of its process has open takes the lock on it away, for
POSIX has locks belong to processes. So the claims are asked before a file is opened, by any name
that it has.

A database that was never closed, because opening it failed or its connection was forgotten, claims
its file only as long as the object exists.
"""

from __future__ import annotations

import contextlib
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
    for known, claim in list(_CLAIMS.items()):
        if claim.holder() is not None and _is_same(path, known):
            # it may be lost, in a circle of references
            gc.collect()
            if claim.holder() is not None:
                return claim
    return None


def _is_same(path: str, other: str) -> bool:
    """Return whether two real paths are one file, which may have several by hard links."""
    with contextlib.suppress(OSError):
        return path == other or os.path.samefile(path, other)
    return False


def is_open_here(path: str | os.PathLike[str]) -> bool:
    """Return whether a connection of this process, or of its parent, has a file open."""
    with _LOCK:
        return _found(os.path.realpath(path)) is not None


def refuse_open_here(path: str | os.PathLike[str]) -> None:
    """Refuse a file that a connection has open.

    Raises:
        DatabaseError: It is one of this process, or of the one it was forked from.
    """
    with _LOCK:
        _refuse(path)


def _refuse(path: str | os.PathLike[str]) -> None:
    other = _found(os.path.realpath(path))
    if other is None:
        return
    if other.process != os.getpid():
        raise DatabaseError(
            f"the database {path} is in use by another process, the one that this one was "
            "forked from",
            hint="let that process write a snapshot, and open that",
        )
    raise DatabaseError(
        f"the database {path} is open in this process already",
        hint="use that connection, or close it first",
    )


def claim(path: str, holder: object) -> str:
    """Note that an object has a file open, until it lets go of it or is no more.

    Returns:
        The file's real path, for `release`.

    Raises:
        DatabaseError: Another one has it open, in this process or in the one it was forked from.
    """
    key = os.path.realpath(path)
    with _LOCK:
        _refuse(path)
        _CLAIMS[key] = _Claim(os.getpid(), weakref.ref(holder))
    return key


def release(key: str, holder: object) -> None:
    """Let go of a file, if it is this object that has it open."""
    with _LOCK:
        if key in _CLAIMS and _CLAIMS[key].holder() is holder:
            del _CLAIMS[key]
