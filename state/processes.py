"""Forked processes: a connection that was open before a fork belongs to the parent alone.

Two processes that write one file destroy it, DuckDB's locks do not tell a child from its parent,
and a fork does not copy threads. So a child cannot use a connection that it inherits; nor is
DuckDB's instance destroyed there, which would write into the file, or crash.
"""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from typing import Any

import duckdb

from cqlduck.errors import DatabaseError
from cqlduck.state.interrupts import Interrupts

_connections: weakref.WeakKeyDictionary[object, Any] = weakref.WeakKeyDictionary()


def never_let_go(holder: object, connection: Any) -> None:
    """Have a child never take apart a connection, as long as its holder is there at the fork."""
    _connections[holder] = connection


class Owner:
    """The process that opened a database.

    Args:
        connection: DuckDB's connection, which a child never lets go of.
    """

    def __init__(self, connection: Any) -> None:
        """Remember this process."""
        self.process = os.getpid()
        """Its number."""
        never_let_go(self, connection)

    @property
    def is_other(self) -> bool:
        """Whether this is another process, a child of that one."""
        return os.getpid() != self.process

    def check(self) -> None:
        """Refuse to go on in another process.

        Raises:
            DatabaseError: This is a child of the process that opened the database.
        """
        if self.is_other:
            raise DatabaseError(
                "this connection belongs to the process that this one was forked from",
                hint="connect after the fork; while one process has a file open, no other can "
                "open it, but each may look at a snapshot",
            )


class OwnLock:
    """A lock that a thread may take several times, in the process that made it.

    Args:
        owner: That process.
        interrupts: What may stop a thread that waits for another one.
    """

    def __init__(self, owner: Owner, interrupts: Interrupts) -> None:
        """Begin free."""
        self._lock = threading.RLock()
        self._owner = owner
        self._interrupts = interrupts

    def __enter__(self) -> None:
        """Take it.

        Raises:
            DatabaseError: This is another process, in which nobody would ever free it.
        """
        if os.getpid() != self._owner.process:
            self._owner.check()
        while not self._lock.acquire(timeout=0.1):
            self._interrupts.check()

    def __exit__(self, *_: object) -> None:
        """Let go of it."""
        self._lock.release()


def _leave_alone() -> None:
    """Have a child never take apart what it has of its parent."""
    if not _connections:
        return
    # statements are parsed on DuckDB's own one
    for connection in (*_connections.values(), duckdb.default_connection()):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_alone)
