"""Errors of the machine: a full disk, no memory left, a damaged file.

Such errors of DuckDB concern no statement and no rows, and a retry may succeed once there is room.
So they become a `DatabaseError` where SQL runs, before they can be mistaken for a query that fails
or a batch that cannot be read. Other errors pass unchanged.
"""

from __future__ import annotations

import errno
import os
import re

import duckdb

from cqlduck.errors import DatabaseError, first_line

_WRITING = re.compile(
    r'(?:Could not (?:write|truncate|move|remove) file|Failed to create directory) \\?"'
    r'(?P<file>[^"]*?)\\?"(?:: (?P<why>[^"\\\n]*))?'
)
_OPENING = re.compile(r'Cannot open file "(?P<file>[^"]*)": (?P<why>[^"\n]*)')
_READING = re.compile(r'Could not read (?:enough bytes )?from file "(?P<file>[^"]*)"')
_DAMAGED = re.compile(r"Corrupt (?:database|WAL) file|computed checksum|Checksum", re.IGNORECASE)
_INVALID = "has been invalidated"
_DURABLE = "COMMIT succeeded and is durable"
_ORIGINAL = "Original error: "

_UNSTORABLE = re.compile(r"\b(?P<type>\w{1,100}) columns are not supported in storage versions")

NAME_FIELDS = "name the fields of tuples, as in {'a': a, 'b': b} for (a, b)"
"""What to do where tuples cannot be stored: structs can."""

NO_ROOM = frozenset(os.strerror(code) for code in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
"""How the system says that a file cannot grow."""

_UNDONE = "uncommitted changes are rolled back"
_MAKE_ROOM = f"free some space on its disk, then call again; {_UNDONE}"
_SPILLS = (
    "DuckDB writes there what does not fit into memory: free some space, SET temp_directory to "
    f"another folder, or give it more memory with memory_limit; {_UNDONE}"
)


def is_invalidated(error: duckdb.Error) -> bool:
    """Return whether a database has to be attached anew, because a checkpoint of it failed."""
    return _INVALID in str(error)


def is_durable(error: DatabaseError) -> bool:
    """Return whether a COMMIT was done, and only the checkpoint failed that followed it."""
    return _DURABLE in str(error.__cause__)


def unstorable(error: BaseException) -> str | None:
    """Return the kind of a column that no file can have, if that is what an error says."""
    found = _UNSTORABLE.search(str(error))
    return None if found is None else found["type"]


def is_told(error: BaseException) -> bool:
    """Return whether an error says what the machine did to a statement, see `of_the_machine`."""
    return isinstance(error, DatabaseError) and isinstance(error.__cause__, duckdb.Error)


def written_hint(why: str | None) -> str:
    """Return what to do about a file that cannot be written, by what the system says of it."""
    if why in NO_ROOM:
        return _MAKE_ROOM
    return f"see its disk, and whether you may write it; {_UNDONE}"


def of_the_machine(error: duckdb.Error, path: str) -> DatabaseError | None:
    """Return an error of DuckDB's that is about the machine as one of the family, or None.

    Args:
        error: What DuckDB raised.
        path: The path of the database.
    """
    said = str(error)
    if isinstance(error, duckdb.FatalException):
        return DatabaseError(
            f"DuckDB cannot go on with the database {path}: {first_line(error)}",
            hint=f"close the connection, and connect again; {_UNDONE}",
        )
    if is_invalidated(error):
        return _invalidated(error, said, path)
    if isinstance(error, duckdb.OutOfMemoryException):
        return _out_of_memory(error, said)
    # of a block that is not as it was written it is an Error of no kind
    kinds = (duckdb.IOException, duckdb.TransactionException)
    if not isinstance(error, kinds) and type(error) is not duckdb.Error:
        return None
    writing = _WRITING.search(said)
    if writing is not None:
        file, why = writing["file"], writing["why"]
        hint = _SPILLS if "duckdb_temp" in file else written_hint(why)
        return DatabaseError(f"{file} cannot be written: {why or first_line(error)}", hint=hint)
    opening, reading = _OPENING.search(said), _READING.search(said)
    is_opened = opening is not None and opening["file"].startswith(path)
    is_own = reading is not None and reading["file"].startswith(path)
    if (is_opened or is_own) and os.path.isdir(path):
        return DatabaseError(
            f"{path} is a folder, and no database",
            hint="pass the path of a file in it, as in app.duckdb",
        )
    if opening is not None and is_opened:
        file, why = opening["file"], opening["why"]
        return DatabaseError(f"{file} cannot be opened: {why}", hint=written_hint(why))
    if is_own or _DAMAGED.search(said):
        return DatabaseError(
            f"the database {path} is damaged: {first_line(error)}",
            hint="was it truncated or changed while it was copied? Continue from a snapshot",
        )
    return None


def _invalidated(error: duckdb.Error, said: str, path: str) -> DatabaseError:
    why = said.partition(_ORIGINAL)[2] or first_line(error)
    writing = _WRITING.search(why)
    if writing is not None:
        why = f"{writing['file']} cannot be written: {writing['why']}"
    return DatabaseError(
        f"the log of the database {path} could not be merged into it: {why}",
        hint=f"free some space on its disk, then call again; {_UNDONE}",
    )


def _out_of_memory(error: duckdb.Error, said: str) -> DatabaseError:
    if "offload" in said:
        return DatabaseError(f"there is no room on disk for the data: {first_line(error)}",
                             hint=_SPILLS)  # fmt: skip
    return DatabaseError(
        first_line(error),
        hint="give it more with memory_limit, take smaller ticks with max_tick, or append less at "
        f"a time; {_UNDONE}",
    )
