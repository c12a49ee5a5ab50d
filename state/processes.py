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
from collections import deque
from dataclasses import dataclass, field
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

    It goes to the threads that wait in the order in which they came, so one that lets go of it and
    takes it again, as a call of many ticks does, holds nobody up for longer than a tick.

    Args:
        owner: That process.
        interrupts: What may stop a thread that waits for another one.
    """

    def __init__(self, owner: Owner, interrupts: Interrupts) -> None:
        """Begin free."""
        self._owner = owner
        self._interrupts = interrupts
        # the collector runs the caller's code wherever it likes, here too
        self._inner = threading.RLock()
        self._holder: int | None = None
        self._depth = 0
        self._waiting: deque[_Turn] = deque()

    def __enter__(self) -> None:
        """Take it.

        Raises:
            DatabaseError: This is another process, in which nobody would ever free it.
        """
        if os.getpid() != self._owner.process:
            self._owner.check()
        me = threading.get_ident()
        if self._holder == me:
            self._depth += 1
        else:
            self._take(me, 1)

    def __exit__(self, *_: object) -> None:
        """Let go of it."""
        self._depth -= 1
        if not self._depth:
            self._hand_on()

    @property
    def is_mine(self) -> bool:
        """Whether this thread has it."""
        return self._holder == threading.get_ident()

    @property
    def is_wanted(self) -> bool:
        """Whether threads wait for it."""
        return bool(self._waiting)

    def give_way(self) -> bool:
        """Let those who wait have it first, if this thread holds it; then take it again.

        Returns:
            Whether somebody waited.

        Raises:
            DatabaseError: The call is interrupted meanwhile; the lock is held.
        """
        me = threading.get_ident()
        if self._holder != me or not self.is_wanted:
            return False
        depth, self._depth = self._depth, 0
        self._hand_on()
        try:
            self._take(me, depth)
        except BaseException:
            # who holds it lets go of it
            with self._interrupts.settling:
                self._take(me, depth)
            raise
        return True

    def _take(self, me: int, depth: int) -> None:
        """Wait until it is this thread's turn."""
        turn = _Turn(me, depth)
        try:
            with self._inner:
                if self._holder is None:
                    self._holder, self._depth = me, depth
                    return
                self._waiting.append(turn)
            while not turn.came.wait(timeout=0.1):
                self._interrupts.check()
        except BaseException:
            with self._inner:
                if turn in self._waiting:
                    self._waiting.remove(turn)
            # its turn may have come just now
            if self._holder == me:
                self._hand_on()
            raise

    def _hand_on(self) -> None:
        """Give it to who has waited longest, or to nobody."""
        with self._inner:
            turn = self._waiting.popleft() if self._waiting else None
            self._holder, self._depth = (turn.thread, turn.depth) if turn else (None, 0)
        if turn is not None:
            turn.came.set()


@dataclass(eq=False)
class _Turn:
    """The turn of a thread that waits.

    Attributes:
        thread: The thread.
        depth: How many times it then has the lock.
        came: Whether the turn has come.
    """

    thread: int
    depth: int
    came: threading.Event = field(default_factory=threading.Event)


def _leave_alone() -> None:
    """Have a child never take apart what it has of its parent."""
    if not _connections:
        return
    # statements are parsed on DuckDB's own one
    for connection in (*_connections.values(), duckdb.default_connection()):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_alone)
