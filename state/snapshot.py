"""A consistent copy of the database, for other processes to look at while the engine runs."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import duckdb

from cqlduck.errors import DatabaseError
from cqlduck.state.connection import ALIAS, STORAGE_VERSION, Database, literal


def write(database: Database, target: str | os.PathLike[str]) -> Path:
    """Copy what is committed into a file, written beside it and renamed into place.

    Raises:
        DatabaseError: The target is the database itself, or cannot be written.
    """
    path = Path(target)
    if database.path != ":memory:" and os.path.realpath(path) == os.path.realpath(database.path):
        raise DatabaseError("a snapshot needs another file than the database itself")
    hidden = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    alias = "cqlduck_snapshot"
    try:
        database.execute(
            f"ATTACH {literal(os.fspath(hidden))} AS {alias} (STORAGE_VERSION '{STORAGE_VERSION}')"
        )
        try:
            database.execute(f"COPY FROM DATABASE {ALIAS} TO {alias}")
        finally:
            database.execute(f"DETACH {alias}")
        os.replace(hidden, path)
    except (duckdb.Error, OSError) as error:
        hidden.unlink(missing_ok=True)
        raise DatabaseError(
            f"the snapshot {path} cannot be written: {str(error).splitlines()[0]}",
            hint="is the folder there, and may you write into it?",
        ) from error
    return path
