"""A template of new databases: the schema is copied from a file, not made by statements.

The schema takes some hundred statements, each of which DuckDB plans and runs in a third of a
millisecond, most of the time that it takes to open a database in memory. A process that makes
several databases, as tests of programs do, makes it once more in a file, and has DuckDB copy it
from there: that is one statement.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import duckdb

AFTER = 2
"""How many databases a process makes by statements before it makes the template."""

NAME = "_cqlduck_template"
"""What the template is called while it is attached."""


class Template:
    """The template of a process.

    Args:
        fill: Makes the schema in the default database of a connection.
    """

    def __init__(self, fill: Callable[[duckdb.DuckDBPyConnection], None]) -> None:
        """Begin without a file."""
        self._fill = fill
        self._lock = threading.Lock()
        self._made = 0
        self._file: Path | None = None
        self._process = os.getpid()

    def file(self) -> Path | None:
        """Return the file to copy the schema from; None if it is to be made by statements."""
        with self._lock:
            if os.getpid() != self._process:
                # it is the parent's, who may be gone before it is copied
                return None
            self._made += 1
            if self._made <= AFTER:
                return None
            if self._file is None or not os.path.exists(self._file):
                with contextlib.suppress(OSError, duckdb.Error):
                    self._file = self._written()
            # who has given up rights meanwhile may not read it
            return self._file if self._file is not None and os.access(self._file, os.R_OK) else None

    def _written(self) -> Path:
        """Write the file; it goes when the process ends."""
        folder = Path(tempfile.mkdtemp(prefix="cqlduck-"))
        atexit.register(self._remove, folder)
        path = folder / "template.duckdb"
        with duckdb.connect(path) as connection:
            self._fill(connection)
        return path

    def _remove(self, folder: Path) -> None:
        if os.getpid() == self._process:
            shutil.rmtree(folder, ignore_errors=True)
