"""Interrupts: a call can be interrupted while a statement runs, and not after its outcome is fixed.

A signal (Ctrl-C, an alarm) and `Connection.interrupt` stop the running statement, so the change
around it is rolled back, and the call raises. Python would let a signal's handler raise anywhere,
in COMMIT too, and between COMMIT and the engine's record of it; so inside a call handlers wait
until a statement runs. A signal after a call has committed waits until the call has returned: a
call that raises `KeyboardInterrupt` has changed nothing.

Python runs handlers in the main thread, so other threads have no signals to wait for.

What of the caller's runs inside of a call, a handler or a trace hook, finds the database in the
middle of it. So calls that come from there are refused (`Interrupts.inside`), but for `close`,
which waits until the call is undone.
"""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import duckdb

from cqlduck.errors import DatabaseError

log = logging.getLogger("cqlduck")

REPEATED_SECONDS = 0.001
"""After how many seconds a statement with a limit is interrupted once more."""


def _known(*names: str) -> tuple[signal.Signals, ...]:
    return tuple(getattr(signal, name) for name in names if hasattr(signal, name))


ENDING = _known("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
"""The signals that somebody sends to end the process."""

DEFERRED_SIGNALS = (*ENDING, *_known("SIGALRM", "SIGUSR1", "SIGUSR2"))
"""The signals whose handlers wait. Those that have none in Python end the process as ever."""

SOON = 0.005
"""Seconds from the end of a call until signals that have waited for it are sent again."""

HANDLER, TRACE = "the handler of a signal", "the trace hook"
"""What of the caller's may run inside of a call."""

Handler = Callable[[int, FrameType | None], Any]


# `signal.signal` makes the text of the handler before: a bound method of this, in each call
@dataclass(repr=False)
class _Call:
    """A call that is under way in one thread.

    Attributes:
        depth: How many blocks are open.
        settling: How many of them settle an outcome, which nothing may stop.
        running: The connection of the statement that may be stopped now, or None.
        outer: What `running` was around each block whose statement may be stopped.
        before: The handlers that wait.
        waiting: The signals that have come since.
        stopped: Whether somebody called `interrupt`.
        raised: What a handler raised while a statement ran, or None.
        outcome: What the call raised because it was interrupted, and the signal if it was one.
        over: Whether handlers wait no more.
        inside: What of the caller's runs inside of it, `HANDLER` or `TRACE`; None if nothing does.
        afterwards: What is to be done when it is over.
    """

    depth: int = 0
    settling: int = 0
    running: duckdb.DuckDBPyConnection | None = None
    outer: list[duckdb.DuckDBPyConnection | None] = field(default_factory=list)
    before: dict[int, Handler] = field(default_factory=dict)
    waiting: list[int] = field(default_factory=list)
    stopped: bool = False
    raised: tuple[BaseException, int] | None = None
    outcome: tuple[BaseException, int | None] | None = None
    over: bool = False
    inside: str | None = None
    afterwards: list[Callable[[], object]] = field(default_factory=list)

    def hold(self) -> None:
        """Have the handlers wait; only the main thread can."""
        try:
            for number in DEFERRED_SIGNALS:
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
            self._handle(number, frame)
        except BaseException as error:
            self.raised = error, number
            self.running.interrupt()
        if self.stopped:
            self.running.interrupt()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        before, self.inside = self.inside, HANDLER
        try:
            self.before[number](number, frame)
        finally:
            self.inside = before

    def check(self) -> None:
        """Raise what has come."""
        if self.raised is not None:
            self.outcome, self.raised = self.raised, None
            raise self.outcome[0]
        while self.waiting:
            number = self.waiting.pop(0)
            try:
                self._handle(number, None)
            except BaseException as error:
                self.outcome = error, number
                raise
        if self.stopped:
            stopped = _stopped()
            self.outcome = stopped, None
            raise stopped


def _stopped() -> DatabaseError:
    return DatabaseError(
        "the call was interrupted", hint="uncommitted changes were rolled back; call again"
    )


def is_of_handler(error: BaseException) -> bool:
    """Return whether the handler of a signal has raised an error, by its traceback."""
    handlers = map(signal.getsignal, DEFERRED_SIGNALS)
    codes = {getattr(handler, "__code__", None) for handler in handlers} - {None}
    return any(frame.f_code in codes for frame, _ in traceback.walk_tb(error.__traceback__))


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


# objects that serve all blocks, because a tick opens some dozens of these: a generator takes nearly
# twice as long, and so does an object for each block


class _Deferred:
    """Blocks in which signals wait, of whatever thread.

    Args:
        interrupts: The calls that are under way.
    """

    __slots__ = ("_calls", "_lock")

    def __init__(self, interrupts: Interrupts) -> None:
        self._calls = interrupts._calls
        self._lock = interrupts._lock

    def __enter__(self) -> _Call:
        thread = threading.get_ident()
        call = self._calls.get(thread)
        if call is None:
            call = _Call()
            if threading.current_thread() is threading.main_thread():
                call.hold()
            self._calls[thread] = call
        call.depth += 1
        return call

    def __exit__(self, kind: type[BaseException] | None = None, *_: object) -> None:
        thread = threading.get_ident()
        call = self._calls[thread]
        call.depth -= 1
        if call.depth == 0:
            del self._calls[thread]
            try:
                call.release()
            finally:
                for one in call.afterwards:
                    try:
                        one()
                    except Exception:
                        # the call has an outcome of its own
                        log.exception("what a signal's handler wanted done failed")


class _Settling(_Deferred):
    """Blocks that nothing may stop."""

    __slots__ = ()

    def __enter__(self) -> _Call:
        call = super().__enter__()
        call.settling += 1
        return call

    def __exit__(self, kind: type[BaseException] | None = None, *_: object) -> None:
        self._calls[threading.get_ident()].settling -= 1
        super().__exit__()


class Stoppable(_Deferred):
    """Blocks whose statement signals and `interrupt` may stop, on one connection.

    A statement that is done in spite of it is followed by no other.

    Args:
        interrupts: The calls that are under way.
        connection: The connection.

    Raises:
        DatabaseError: Somebody called `interrupt`; a block raises it.
    """

    __slots__ = ("_connection",)

    def __init__(self, interrupts: Interrupts, connection: duckdb.DuckDBPyConnection) -> None:
        """Have a block run nothing yet."""
        self._calls = interrupts._calls
        self._lock = interrupts._lock
        self._connection = connection

    def __enter__(self) -> _Call:
        """Let the statement be stopped."""
        call = super().__enter__()
        call.outer.append(call.running)
        if call.settling:
            return call
        if call.waiting or call.raised is not None or call.stopped:
            try:
                call.check()
            except BaseException:
                call.outer.pop()
                super().__exit__()
                raise
        # only the call's own thread says what it runs
        if call.running is not self._connection:
            with self._lock:
                call.running = self._connection
        return call

    def __exit__(self, kind: type[BaseException] | None = None, *_: object) -> None:
        """Raise what has stopped it."""
        call = self._calls[threading.get_ident()]
        outer = call.outer.pop()
        if call.running is not outer:
            with self._lock:
                call.running = outer
        try:
            was_stopped = kind is not None and issubclass(kind, duckdb.InterruptException)
            if was_stopped and not call.settling:
                call.check()
        finally:
            super().__exit__()


class Interrupts:
    """The calls of a database that are under way."""

    def __init__(self) -> None:
        """Begin with none."""
        # the collector runs the caller's code wherever it likes, here too
        self._lock = threading.RLock()
        self._calls: dict[int, _Call] = {}
        self._asked = 0
        self.deferred: contextlib.AbstractContextManager[_Call] = _Deferred(self)
        """Blocks in which signals wait for a statement, or for the end of the call.

        A block inside a block is part of it.
        """
        self.settling: contextlib.AbstractContextManager[_Call] = _Settling(self)
        """Blocks that nothing stops, because they settle what a call has done."""

    def check(self) -> None:
        """Raise what has come since the call began, as where it waits for another one."""
        call = self._calls.get(threading.get_ident())
        if call is not None and not call.settling:
            call.check()

    def interrupt(self) -> None:
        """Stop the calls that are under way, in whatever thread."""
        with self._lock:
            self._asked += 1
            for call in list(self._calls.values()):
                call.stopped = True
                if call.running is not None:
                    call.running.interrupt()

    @contextlib.contextmanager
    def noticed(self) -> Iterator[None]:
        """Raise behind the block if somebody called `interrupt` in it; in it signals do not wait.

        Raises:
            DatabaseError: Somebody did.
        """
        before = self._asked
        yield
        if self._asked != before:
            raise _stopped()

    @property
    def inside(self) -> str | None:
        """What of the caller's runs in this thread inside of a call; None if nothing does."""
        call = self._calls.get(threading.get_ident())
        return None if call is None else call.inside

    def afterwards(self, what: Callable[[], object]) -> None:
        """Stop the call inside of which this is, and do something when it has been undone."""
        call = self._calls[threading.get_ident()]
        call.afterwards.append(what)
        call.stopped = True

    def guarded(self, hook: Callable[[str, Any], None]) -> Callable[[str, Any], None]:
        """Return a trace hook during which calls of its thread are known to be inside of it."""

        def guarded(sql: str, parameters: Any) -> None:
            with self.deferred as call:
                before, call.inside = call.inside, TRACE
                try:
                    hook(sql, parameters)
                finally:
                    call.inside = before

        return guarded

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


@contextlib.contextmanager
def interrupted_after(connection: duckdb.DuckDBPyConnection, seconds: float) -> Iterator[None]:
    """Interrupt what a connection runs in the block after some seconds, and nothing behind it."""
    lock, is_over = threading.Lock(), threading.Event()

    def interrupt() -> None:
        delay = seconds
        while not is_over.wait(delay):
            with lock:
                if not is_over.is_set():
                    connection.interrupt()
            # a statement that is only about to begin forgets it
            delay = REPEATED_SECONDS

    threading.Thread(target=interrupt, name="cqlduck-limit", daemon=True).start()
    try:
        yield
    finally:
        with lock:
            is_over.set()
