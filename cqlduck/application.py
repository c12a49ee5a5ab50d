"""Applications: a script of statements, run on a new or an existing database, and its loop.

`go_on` runs the statements of the script that a database lacks, so the same command starts and
resumes an application. `follow` then consumes batches of the drop zone, in steps; `Stop` ends it
between two steps, so that the database is closed properly.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import re
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Protocol

from cqlduck.connection import Connection
from cqlduck.errors import TOLD, CatalogError, DropZoneError, Error
from cqlduck.rewrite import parse_script
from cqlduck.rewrite.text.statements import (
    CreateQuery,
    CreateRelation,
    CreateStream,
    Explain,
    ExplainCreate,
    Show,
    Sql,
    Statement,
)
from cqlduck.rewrite.text.tokens import has_same_words, tokenize
from cqlduck.state.registered import Input
from cqlduck.statements import plain_sql

STEP = 4
"""How many batches of each input a step takes at most, so that a display moves."""

# A statement of DuckDB's own that says itself that it may run again.
_AGAIN = re.compile(r"CREATE\s+(OR\s+REPLACE|(\w+\s+){1,3}IF\s+NOT\s+EXISTS)\s", re.IGNORECASE)


# --- statements -----------------------------------------------------------------------------------


def is_database(file: Path) -> bool:
    """Return whether a file is one of DuckDB's: its header says so."""
    try:
        with file.open("rb") as opened:
            return opened.read(12)[8:] == b"DUCK"
    except OSError:
        return False  # who reads it says what is wrong


def read(application: Path) -> str:
    """Return the text of an application.

    Raises:
        Error: The file is not there, or is no text.
    """
    if is_database(application):
        raise Error(
            f"{application} is a database of DuckDB, and not an application",
            hint="an application is a file of CQL; its database is said with --database",
        )
    try:
        # some editors begin a file with a mark
        text = application.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise Error(f"there is no file {application}") from None
    except UnicodeDecodeError as error:
        raise Error(
            f"{application} is not UTF-8: {error}",
            hint="an application is a file of CQL; this is not one, nor a database of DuckDB",
        ) from None
    except OSError as error:
        raise Error(f"{application} cannot be read: {error.strerror}") from error
    if not text.strip():
        raise Error(
            f"{application} is empty", hint="an application is a file of CQL: CREATE STREAM …"
        )
    return text


def define(con: Connection, application: Path, text: str) -> None:
    """Run those of an application's statements that begin with CREATE.

    Raises:
        Error: What is wrong with one of them, with its place in the file.
    """
    with _in_file(application, text):
        text = _only(text, lambda statement, written: written[:6].upper() == "CREATE")
    execute(con, application, text)


def go_on(con: Connection, application: Path, text: str) -> None:
    """Run an application's statements, on a database that has some of them those that it lacks.

    Raises:
        CatalogError: The database has a stream, relation or query by this name that differs.
        Error: What is wrong with a statement, with its place in the file.
    """
    known = con.engine.catalogue
    if known.inputs or known.queries:
        with _in_file(application, text):
            text = _only(text, functools.partial(_is_new, con, text))
    if text.strip():
        execute(con, application, text)


def only_reads(text: str) -> bool:
    """Return whether an application has statements whose rows nobody gets, and no others."""
    statements = parse_script(text)
    return bool(statements) and all(map(_reads, statements))


def _reads(statement: Statement) -> bool:
    match statement:
        case Show() | Explain() | ExplainCreate():
            return True
        case Sql():
            return plain_sql.reads(statement.text)
    return False


def execute(con: Connection, file: Path, text: str) -> None:
    """Run the statements of a file.

    Raises:
        Error: What is wrong with one of them, with its place in the file.
    """
    with _in_file(file, text):
        con.execute(text)


@contextlib.contextmanager
def _in_file(file: Path, text: str) -> Iterator[None]:
    """Have errors that are about a place in the text of a file name the file."""
    try:
        yield
    except Error as error:
        if error.text == text and error.offset is not None:
            error.file = str(file)
        raise


def _only(text: str, wanted: Callable[[Statement, str], bool]) -> str:
    """Return a script with blanks for statements that are not wanted: places stay true."""
    parts: list[tuple[int, int]] = []
    start: int | None = None
    tokens = tokenize(text)
    for token in tokens:
        if token.text == ";" and text[token.start] == ";":
            if start is not None:
                parts.append((start, token.end + 1))
            start = None
        elif start is None:
            start = token.start
    if start is not None:
        parts.append((start, tokens[-1].end + 1))
    kept = list(re.sub(r"[^\n]", " ", text))
    for (first, last), statement in zip(parts, parse_script(text), strict=True):
        if wanted(statement, text[first:last]):
            kept[first:last] = text[first:last]
    return "".join(kept)


def _is_new(con: Connection, text: str, statement: Statement, written: str) -> bool:
    known = con.engine.catalogue
    match statement:
        case CreateStream() | CreateRelation():
            thing = known.inputs.get(statement.name.lower())
            if thing is None:
                return True
            if not statement.if_not_exists and not _is_same_input(con, statement, thing):
                raise CatalogError(
                    f"the database has another {thing.kind} {thing.name}",
                    hint="use a new database, or another name",
                ).at(text, statement.offset)
        case CreateQuery():
            query = known.queries.get(statement.name.lower())
            if query is None:
                return True
            if not statement.if_not_exists and not has_same_words(query.body, statement.body):
                if not statement.or_replace:
                    raise CatalogError(
                        f"the database has the query {query.name} with another text",
                        hint=f"CREATE OR REPLACE CONTINUOUS QUERY {query.name} begins it anew; "
                        "or use a new database",
                    ).at(text, statement.offset)
                return True
        case Sql():
            return _AGAIN.match(written) is not None
    return False


def _is_same_input(con: Connection, statement: CreateStream | CreateRelation, thing: Input) -> bool:
    wanted = ", ".join(f"typeof(CAST(NULL AS {kind}))" for _, kind in statement.columns)
    kinds = con.sql(f"SELECT {wanted}").fetchall()[0]
    names = [name for name, _ in statement.columns]
    same = (
        list(zip(names, kinds, strict=True)) == [(c.name, c.type) for c in thing.columns]
        and statement.source == thing.source
    )
    if isinstance(statement, CreateRelation):
        return same and thing.kind == "relation" and statement.primary_key == thing.primary_key
    bound, ahead = (d and d.shown for d in (statement.bound, statement.ahead))
    return (
        same
        and thing.kind == "stream"
        and (statement.timestamp_by, bound, statement.late, ahead)
        == (thing.timestamp_by, thing.bound_text, thing.late, thing.ahead_text)
    )


# --- following ------------------------------------------------------------------------------------


class Watcher(Protocol):
    """Who is told how following goes."""

    def update(self) -> None:
        """Look at how it is now."""

    def warn(self, error: Error) -> None:
        """Hear of an error that does not end anything."""


def follow(
    con: Connection,
    watcher: Watcher,
    stop: Stop,
    *,
    poll: float,
    complete: Callable[[], bool],
) -> DropZoneError | None:
    """Take batches in small steps until a signal comes, or nothing is left and none is to come.

    Args:
        con: The connection.
        watcher: Is told after each step.
        stop: Ends the loop.
        poll: Seconds to wait when there was nothing to take.
        complete: Whether all that is to come is in the drop zone.

    Returns:
        The error of a batch that still holds its input; it was shown, the other inputs went on.
    """
    shown: set[str] = set()
    held: DropZoneError | None = None
    while not stop:
        last = complete()
        before = batches(con)
        held = None
        with _telling(watcher):
            try:
                con.follow(limit=STEP, slices=1)
            except DropZoneError as error:
                held = error
                if error.message not in shown:
                    shown.add(error.message)
                    watcher.warn(error)
        watcher.update()
        if batches(con) == before and not con.engine.has_backfill():
            if last:
                break
            stop.wait(poll)
    return held


@contextlib.contextmanager
def _telling(watcher: Watcher) -> Iterator[None]:
    """Have a watcher told of what the block warns of, which is not logged besides."""
    log = logging.getLogger("cqlduck")
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RuntimeWarning)
            log.addFilter(_is_not_told)
            yield
    finally:
        log.removeFilter(_is_not_told)
        for one in caught:
            if issubclass(one.category, RuntimeWarning):
                watcher.warn(Error(str(one.message)))
            else:
                warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def _is_not_told(record: logging.LogRecord) -> bool:
    return not getattr(record, TOLD, False)


def batches(con: Connection) -> int:
    """Return how many batches have been taken since the database was made."""
    return sum(thing.next_batch for thing in con.engine.catalogue.inputs.values())


SECONDS_BEFORE_HINT = 3.0
"""How long after a signal something is said, if what runs has not ended."""

STOPPING = "stopping after the step that runs; the same signal again stops it now\n"
"""What is said."""


class Stop:
    """Remembers a Ctrl-C or SIGTERM until it suits; a second one interrupts at once.

    A context manager; true once a signal has come.
    """

    def __init__(self) -> None:
        """Nothing has come yet."""
        self._signal: int | None = None
        self._before: dict[int, Any] = {}
        self._hint = threading.Timer(SECONDS_BEFORE_HINT, self._say)
        self._hint.daemon = True

    def __enter__(self) -> Stop:
        """Take over the signals (only the main thread can)."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give the signals back."""
        self._hint.cancel()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._signal is not None:
            raise KeyboardInterrupt
        self._signal = number
        self._hint.start()

    @staticmethod
    def _say() -> None:
        """Say why nothing seems to happen: what runs may take long."""
        with contextlib.suppress(OSError):
            os.write(2, STOPPING.encode())

    def __bool__(self) -> bool:
        """Return whether a signal has come."""
        return self._signal is not None

    @property
    def code(self) -> int:
        """The exit code that tells of the signal; 0 without one."""
        return 0 if self._signal is None else 128 + self._signal

    def wait(self, seconds: float) -> None:
        """Sleep, but not past a signal."""
        until = time.monotonic() + seconds
        while not self and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, 0.1))
