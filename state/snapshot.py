"""A consistent copy of the database, for other processes to read while the engine runs."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import time
import uuid
from pathlib import Path

import duckdb

from cqlduck.errors import DatabaseError, first_line
from cqlduck.state import machine
from cqlduck.state.claims import is_open_here
from cqlduck.state.connection import ALIAS, LOG, STORAGE_VERSION, Database, literal
from cqlduck.state.paths import written


def write(database: Database, target: str | os.PathLike[str]) -> Path:
    """Copy what is committed into a file, written beside it and renamed into place.

    Raises:
        DatabaseError: The target is no path, a folder, the database itself, or open somewhere, has
            the log of a database that was not closed beside it, or cannot be written.
    """
    text = written(target)
    if text is None or os.path.isdir(text):
        wrong = "no path" if text is None else "a folder"
        raise DatabaseError(
            f"the snapshot cannot be written: {text or repr(target)} is {wrong}",
            hint="pass the path of the file that it becomes",
        )
    path = Path(text)
    if database.path != ":memory:" and os.path.realpath(path) == os.path.realpath(database.path):
        raise DatabaseError("a snapshot needs another file than the database itself")
    _refuse_in_use(path)
    _refuse_other_file(path)
    _remove_abandoned(path)
    hidden = path.with_name(f".{path.name}.{os.getpid()}-{uuid.uuid4().hex}")
    alias = "cqlduck_snapshot"
    try:
        database.execute(
            f"ATTACH {literal(os.fspath(hidden))} AS {alias} (STORAGE_VERSION '{STORAGE_VERSION}')"
        )
        try:
            database.execute(f"COPY FROM DATABASE {ALIAS} TO {alias}")
        finally:
            with database.interrupts.settling:
                database.execute(f"DETACH {alias}")
        os.replace(hidden, path)
    except (duckdb.Error, DatabaseError, OSError) as error:
        if isinstance(error, DatabaseError) and not machine.is_told(error):
            raise  # an interruption
        hint = error.hint if isinstance(error, DatabaseError) else None
        kind = machine.unstorable(error)
        if kind is not None:
            hint = f"{kind} columns stay in memory; {machine.NAME_FIELDS}"
        raise DatabaseError(
            f"the snapshot {path} cannot be written: {first_line(error)}",
            hint=hint or "does the folder exist, and may you write into it?",
        ) from error
    finally:
        for left in (hidden, hidden.with_name(hidden.name + LOG)):
            left.unlink(missing_ok=True)
    return path


ABANDONED_SECONDS = 60.0
"""After how long a copy that nobody writes any more is one of a process that was killed."""


def _remove_abandoned(path: Path) -> None:
    """Remove copies that other processes have begun, and did not end before they were killed."""
    for found in path.parent.glob(f".{glob.escape(path.name)}.*-*"):
        process = re.fullmatch(r"(\d+)-[0-9a-f]{32}", found.name[len(path.name) + 2 :])
        # to look whether this process has locked a file would take the lock away
        if process is None or int(process[1]) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            is_old = time.time() - found.stat().st_mtime > ABANDONED_SECONDS
            if is_old and not _is_written(found):
                found.unlink()


_MAGIC = slice(8, 12)
"""Where in a file of DuckDB its mark lies."""


def _refuse_in_use(path: Path) -> None:
    """Refuse to replace a file that somebody writes, or whose log would be taken for the copy's.

    Raises:
        DatabaseError: What it is, and what to do.
    """
    log = path.with_name(path.name + LOG)
    if is_open_here(path) or _is_written(path):
        raise DatabaseError(
            f"the snapshot cannot be written onto {path}, which is open as a database: what is "
            "written there from now on would be lost",
            hint="write it to another path, or close that database first",
        )
    if log.exists():
        raise DatabaseError(
            f"beside {path} lies {log.name}, the log of a database that was not closed",
            hint="open that database and close it, which merges the log; or write the snapshot "
            "to another path",
        )


def _refuse_other_file(path: Path) -> None:
    """Refuse to replace a file that is no database.

    Raises:
        DatabaseError: The file has something in it, and not what a database begins with.
    """
    try:
        with path.open("rb") as file:
            begin = file.read(_MAGIC.stop)
    except OSError:
        return  # it is not there, or cannot be replaced either
    if begin and begin[_MAGIC] != b"DUCK":
        raise DatabaseError(
            f"the snapshot cannot be written onto {path}, which is no database",
            hint="write it to another path, or remove that file first",
        )


def _is_written(path: Path) -> bool:
    """Return whether another process has a file open for writing, by the lock that DuckDB takes."""
    try:
        import fcntl
    except ImportError:
        return False  # there, no file that is open can be replaced
    try:
        with path.open("rb") as file:
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
