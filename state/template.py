"""A template of new databases: the schema is copied from a file, not made by statements.

The schema takes some hundred statements, each of which DuckDB plans and runs in a third of a
millisecond, most of the time that it takes to open a database in memory. A process that makes
several databases, as tests of programs do, makes it once more in a file, and has DuckDB copy it
from there: that is one statement.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import duckdb

AFTER = 2
"""How many databases a process makes by statements before it makes the template."""

PREFIX = "cqlduck-template-"
"""What folders of templates are called, before the number of the process."""

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
        self._has_failed = False

    def file(self) -> Path | None:
        """Return the file to copy the schema from; None if it is to be made by statements."""
        if os.getpid() != self._process:
            # it is the parent's, who may be gone before it is copied
            return None
        with self._lock:
            self._made += 1
            if self._made <= AFTER or self._has_failed:
                return None
            try:
                if self._file is None or not os.path.exists(self._file):
                    self._file = self._written()
            except (OSError, duckdb.Error):
                self._has_failed = True
                return None
            # who has given up rights meanwhile may not read it
            return self._file if os.access(self._file, os.R_OK) else None

    def give_up(self) -> None:
        """Make all further databases by statements: the file cannot be read."""
        self._has_failed = True

    def _written(self) -> Path:
        """Write the file; it goes when the process ends.

        Raises:
            OSError: There is no room for it.
            duckdb.Error: Likewise.
        """
        _sweep()
        folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
        atexit.register(self._remove, folder)
        path = folder / "template.duckdb"
        try:
            with duckdb.connect(path) as connection:
                self._fill(connection)
        except BaseException:
            self._remove(folder)
            raise
        return path

    def _remove(self, folder: Path) -> None:
        if os.getpid() == self._process:
            shutil.rmtree(folder, ignore_errors=True)


def _sweep() -> None:
    """Remove what processes have left that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        number = folder.name.removeprefix(PREFIX).partition("-")[0]
        if number.isdigit() and not _is_alive(int(number)):
            shutil.rmtree(folder, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        # it is somebody else's
        return True
    return True
