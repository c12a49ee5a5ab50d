"""Interrupts: a call can be interrupted while a statement runs, and not after its outcome is fixed.

A signal (Ctrl-C, an alarm) and `Connection.interrupt` stop the running statement, so the change
around it is rolled back, and the call raises. Python would let a signal's handler raise anywhere,
in COMMIT too, and between COMMIT and the engine's record of it; so inside a call handlers wait
until a statement runs. A signal after a call has committed waits until the call has returned: a
call that raises `KeyboardInterrupt` has changed nothing.

Python runs handlers in the main thread, so other threads have no signals to wait for.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import duckdb

from cqlduck.errors import DatabaseError


def _known(*names: str) -> tuple[signal.Signals, ...]:
    return tuple(getattr(signal, name) for name in names if hasattr(signal, name))


ENDING = _known("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
"""The signals that somebody sends to end the process."""

HELD = (*ENDING, *_known("SIGALRM", "SIGUSR1", "SIGUSR2"))
"""The signals whose handlers wait. Those that have none in Python end the process as ever."""

SOON = 0.005
"""Seconds after the end of a call in which a signal comes that has waited for it."""

Handler = Callable[[int, FrameType | None], Any]


@dataclass
class _Call:
    """A call that is under way in one thread.

    Attributes:
        depth: How many blocks are open.
        settling: How many of them settle an outcome, which nothing may stop.
        running: The connection of the statement that may be stopped now, or None.
        before: The handlers that wait.
        waiting: The signals that have come since.
        stopped: Whether somebody called `interrupt`.
        raised: What a handler raised while a statement ran, or None.
        outcome: What the call raised because it was interrupted, and the signal if it was one.
        over: Whether handlers wait no more.
    """

    depth: int = 0
    settling: int = 0
    running: duckdb.DuckDBPyConnection | None = None
    before: dict[int, Handler] = field(default_factory=dict)
    waiting: list[int] = field(default_factory=list)
    stopped: bool = False
    raised: tuple[BaseException, int] | None = None
    outcome: tuple[BaseException, int | None] | None = None
    over: bool = False

    def hold(self) -> None:
        """Have the handlers wait; only the main thread can."""
        try:
            for number in HELD:
                handler = signal.getsignal(number)
                if callable(handler):
                    self.before[number] = handler
                    signal.signal(number, self._note)
        except BaseException:
            # one that does not wait yet; those that would are asked at once from now on
            self.over = True
            raise

    def release(self) -> None:
        """Give the handlers back, and soon the signals that have come."""
        if self.raised is not None:
            # the statement was done before it could be stopped
            self.waiting.append(self.raised[1])
        go = _sending(self.waiting) if self.waiting else None
        # any of them may raise as soon as it is there, before the next is
        self.over = True
        try:
            # SIGINT last: where it is the default handler it raises
            for number, handler in reversed(self.before.items()):
                signal.signal(number, handler)
        finally:
            if go is not None:
                go.release()

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.over:
            self.before[number](number, frame)
            return
        if self.running is None:
            self.waiting.append(number)
            return
        try:
            self.before[number](number, frame)
        except BaseException as error:
            self.raised = error, number
            self.running.interrupt()

    def check(self) -> None:
        """Raise what has come."""
        if self.raised is not None:
            self.outcome, self.raised = self.raised, None
            raise self.outcome[0]
        while self.waiting:
            number = self.waiting.pop(0)
            try:
                self.before[number](number, None)
            except BaseException as error:
                self.outcome = error, number
                raise
        if self.stopped:
            stopped = DatabaseError(
                "the call was interrupted", hint="uncommitted changes were rolled back; call again"
            )
            self.outcome = stopped, None
            raise stopped


def _sending(numbers: list[int]) -> threading.Lock:
    """Return a lock that sends signals to the main thread soon after it is released."""
    main = threading.main_thread().ident
    go = threading.Lock()
    go.acquire()

    def send() -> None:
        with go:
            time.sleep(SOON)
        for number in dict.fromkeys(numbers):
            if number not in ENDING and not callable(signal.getsignal(number)):
                # an alarm that was taken back with its handler; without one it ends the process
                continue
            if hasattr(signal, "pthread_kill") and main is not None:
                signal.pthread_kill(main, number)
            else:
                signal.raise_signal(number)

    threading.Thread(target=send, name="cqlduck-signal", daemon=True).start()
    return go


# classes, because a tick opens some dozens of these: a generator takes nearly twice as long


class _Held:
    """A block in which signals wait."""

    __slots__ = ("_call", "_interrupts")

    def __init__(self, interrupts: Interrupts) -> None:
        self._interrupts = interrupts

    def __enter__(self) -> None:
        self._call = self._interrupts._enter()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._interrupts._leave(self._call)


class _Settling(_Held):
    """A block that nothing may stop."""

    __slots__ = ()

    def __enter__(self) -> None:
        self._call = self._interrupts._enter()
        self._call.settling += 1

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._call.settling -= 1
        self._interrupts._leave(self._call)


class _Running(_Held):
    """A block whose statement may be stopped."""

    __slots__ = ("_connection", "_outer")

    def __init__(self, interrupts: Interrupts, connection: duckdb.DuckDBPyConnection) -> None:
        self._interrupts = interrupts
        self._connection = connection

    def __enter__(self) -> None:
        self._call = call = self._interrupts._enter()
        self._outer = call.running
        if call.settling:
            return
        if call.waiting or call.raised is not None or call.stopped:
            try:
                call.check()
            except BaseException:
                self._interrupts._leave(call)
                raise
        self._interrupts._runs(call, self._connection)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        call = self._call
        self._interrupts._runs(call, self._outer)
        try:
            was_stopped = kind is not None and issubclass(kind, duckdb.InterruptException)
            if was_stopped and not call.settling:
                call.check()
        finally:
            self._interrupts._leave(call)


class Interrupts:
    """The calls of a database that are under way."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = threading.Lock()
        self._calls: dict[int, _Call] = {}

    def held(self) -> contextlib.AbstractContextManager[None]:
        """Let signals wait, inside of the block, for a statement or for the end of the call.

        A block inside a block is part of it.
        """
        return _Held(self)

    def check(self) -> None:
        """Raise what has come since the call began, as where it waits for another one."""
        call = self._calls.get(threading.get_ident())
        if call is not None and not call.settling:
            call.check()

    def settling(self) -> contextlib.AbstractContextManager[None]:
        """Let nothing stop what the block runs, because it settles what a call has done."""
        return _Settling(self)

    def running(
        self, connection: duckdb.DuckDBPyConnection
    ) -> contextlib.AbstractContextManager[None]:
        """Let signals and `interrupt` stop the statement that the block runs on a connection.

        One that is done in spite of it is followed by no other.

        Raises:
            DatabaseError: Somebody called `interrupt`.
        """
        return _Running(self, connection)

    def _enter(self) -> _Call:
        thread = threading.get_ident()
        call = self._calls.get(thread)
        if call is None:
            call = _Call()
            if threading.current_thread() is threading.main_thread():
                call.hold()
            self._calls[thread] = call
        call.depth += 1
        return call

    def _leave(self, call: _Call) -> None:
        call.depth -= 1
        if call.depth == 0:
            del self._calls[threading.get_ident()]
            call.release()

    def _runs(self, call: _Call, connection: duckdb.DuckDBPyConnection | None) -> None:
        # only the call's own thread says what it runs
        if call.running is not connection:
            with self._lock:
                call.running = connection

    def interrupt(self) -> None:
        """Stop the calls that are under way, in whatever thread."""
        with self._lock:
            for call in list(self._calls.values()):
                call.stopped = True
                if call.running is not None:
                    call.running.interrupt()

    def postpone(self, error: BaseException) -> bool:
        """Let an interruption wait for the end of its call, which has committed what it was for.

        Args:
            error: What the call is about to raise.

        Returns:
            Whether that is an interruption; then the call may return.
        """
        call = self._calls.get(threading.get_ident())
        if call is None or call.outcome is None or call.outcome[0] is not error:
            return False
        if call.outcome[1] is not None:
            call.waiting.append(call.outcome[1])
        return True
