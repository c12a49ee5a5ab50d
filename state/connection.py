"""The database: one DuckDB instance and one file, opened, attached anew and closed.

Statements and transactions are below, in `state.running`. This module guarantees that the file is
attached under the alias `cqlduck` whatever it is called, in the storage format of DuckDB 1.5. It
relies on being the only writer: a second process is refused by DuckDB's lock on the file, a second
connection of this process by `state.claims`.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from cqlduck.errors import DatabaseError, first_line
from cqlduck.state import claims, machine, migrations, shadows, template
from cqlduck.state.frames import Frames
from cqlduck.state.functions import Callables
from cqlduck.state.incoming import Incoming
from cqlduck.state.paths import written
from cqlduck.state.processes import Owner
from cqlduck.state.row_groups import FILE_ROW_GROUP_ROWS, ROW_GROUP_ROWS
from cqlduck.state.running import Participant, Runner, TraceHook
from cqlduck.state.threads import Threads

log = logging.getLogger("cqlduck")

ALIAS = "cqlduck"
MEMORY = ":memory:"
STORAGE_VERSION = "v1.5.0"
LOG = ".wal"
"""What DuckDB puts behind the path of a database for the file of its log."""

SPILLED = ".tmp"
"""The same for the folder of what does not fit into memory."""

ROOM = "64MB"
"""How much comes into a file before DuckDB's checkpoint.

At DuckDB's own 16 MB a checkpoint compresses what came in and writes it, which was a third of the
time of ticks over many rows. It is as much that is read again after a crash.
"""

ROOM_IN_MEMORY = "256MB"
"""The same in memory; with a memory limit it is DuckDB's own 16 MB.

At more than that a checkpoint was seen to leave rows as they are, at up to three times the memory.
It frees what was deleted, and took 75 ms of every fiftieth tick at 64 MB.
"""

PAUSE = 0.001
"""Seconds between two attempts to close a connection that another thread reads from."""

CONFIG: dict[str, str | bool | int | float | list[str]] = {
    # DuckDB would look for the variables of frames that are ours
    "python_enable_replacements": False,
    # two find rows by row ids, of which a scan in DuckDB 2.0 loses committed ones, now and then,
    # where the same transaction has appended; the third ends with an internal error over equal
    # aggregates beside a DISTINCT one in LATERAL
    "disabled_optimizers": "late_materialization,top_n_window_elimination,projection_pullup",
}
"""The settings of DuckDB that an instance begins with."""


def quoted(name: str) -> str:
    """Return a name as an SQL identifier.

    >>> quoted('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def is_locked(said: str) -> bool:
    """Return whether an error of DuckDB says that another process has a file open."""
    return "Could not set lock on file" in said or "used by another process" in said


def unopened(error: duckdb.Error, path: str) -> DatabaseError:
    """Return what DuckDB says of a file that it cannot open, as one of the family.

    Args:
        error: What it says.
        path: The path of the file.
    """
    known = machine.of_the_machine(error, path)
    if known is not None:
        return known
    said = str(error)
    what = f"the database {path} cannot be opened: {first_line(error)}"
    if not isinstance(error, duckdb.IOException):
        return DatabaseError(
            what,
            hint=f"cqlduck writes DuckDB's storage format {STORAGE_VERSION}; make a new "
            "database, and copy your tables into it with COPY FROM DATABASE",
        )
    if is_locked(said):
        return DatabaseError(
            f"the database {path} is in use by another process",
            hint="stop that process, or have it write a snapshot and look at that: by "
            "Connection.snapshot(), or cqlduck run --follow --snapshot FILE",
        )
    return DatabaseError(what, hint="is it a DuckDB file, and may you write it?")


def _written(path: object) -> str:
    """Return the path of a database as text.

    Raises:
        DatabaseError: It is none.
    """
    text = written(path)
    if text is None or (MEMORY in text and text != MEMORY):
        raise DatabaseError(
            f"the database {path!r} is no path",
            hint=f"pass the path of a file, or '{MEMORY}' for one in memory",
        )
    return text


class Database(Runner):
    """A DuckDB instance with the file attached; not for several threads at once."""

    def __init__(
        self,
        path: str | os.PathLike[str] = ":memory:",
        *,
        memory_limit: str | None = None,
        threads: int | None = None,
        trace: TraceHook | None = None,
    ) -> None:
        """Open or make a database.

        Raises:
            DatabaseError: The file is in use, is no DuckDB database, or cannot be written.
        """
        config = CONFIG
        if memory_limit is None or _written(path) != MEMORY:
            room = ROOM_IN_MEMORY if _written(path) == MEMORY else ROOM
            config = {**CONFIG, "checkpoint_threshold": room}
        super().__init__(duckdb.connect(":memory:", config=config), _written(path), trace)
        self._key: str | None = None
        self._asking: duckdb.DuckDBPyConnection | None = None
        self._readers: weakref.WeakSet[duckdb.DuckDBPyConnection] = weakref.WeakSet()
        self.recorded: set[tuple[str, str]] = set()
        """What the change has written that is cut at its end (`state.records`): table and owner."""
        self.in_memory = in_memory = self.path == MEMORY
        self.is_limited = memory_limit is not None
        """Whether its memory is limited, so that little of it is worth more than time."""
        self.is_new = in_memory or not os.path.exists(self.path)
        self.has_others = not self.is_new
        """Whether there may be tables, views and macros that are not ours."""
        self.owner = Owner(self.connection)
        self.frames = Frames()
        self.functions = Callables(self.connection)
        self.incoming = Incoming(
            self.connection, ROW_GROUP_ROWS if in_memory else FILE_ROW_GROUP_ROWS
        )
        self.participants.append(self.incoming)
        self.threads = Threads(self.rows)
        if not in_memory:
            self._claim()
        try:
            with self.interrupts.deferred:
                if memory_limit is not None:
                    self.execute(f"SET memory_limit = {literal(memory_limit)}")
                if threads is not None:
                    self.execute(f"SET threads = {int(threads)}")
                if not in_memory:
                    # as DuckDB has it of its main file; otherwise it is in the working folder
                    self.execute(f"SET temp_directory = {literal(self.path + SPILLED)}")
                self._attach(self.connection)
                with self._understood():
                    self.session(self.connection)
        except BaseException:
            self.abandon()
            raise

    @contextlib.contextmanager
    def opening(self) -> Iterator[None]:
        """Make what is missing of ours, and read in the block what is there, in one transaction.

        So a file that is refused stays as it was.

        Raises:
            DatabaseError: It is damaged, or holds what cqlduck has not written.
        """
        with self._understood(), self._copying() as copying, self.transaction():
            self._migrate(copying)
            yield

    @contextlib.contextmanager
    def _copying(self) -> Iterator[str | None]:
        """Give what copies the schema of a new database from the template, or None."""
        path = migrations.TEMPLATE.file() if self.is_new else None
        if path is None:
            yield None
            return
        try:
            self.execute(f"ATTACH {literal(str(path))} AS {template.NAME} (READ_ONLY)")
        except duckdb.Error:
            migrations.TEMPLATE.give_up()
            yield None
            return
        yield f"COPY FROM DATABASE {template.NAME} TO {ALIAS} (SCHEMA)"
        # after an error the database is abandoned
        self.execute(f"DETACH {template.NAME}")

    @contextlib.contextmanager
    def _understood(self) -> Iterator[None]:
        """Say which file it is that the block cannot read."""
        try:
            yield
        except (duckdb.Error, RuntimeError) as error:
            raise DatabaseError(
                f"the database {self.path} cannot be opened: {first_line(error)}",
                hint="it may be damaged, or not a database; continue from a snapshot",
            ) from error

    def _claim(self) -> None:
        parent = Path(os.path.realpath(self.path)).parent
        if not parent.is_dir():
            raise DatabaseError(
                f"the folder {parent} of the database {self.path} does not exist",
                hint="make it first; a database is a file of this machine",
            )
        self._key = claims.claim(self.path, self)

    def _release(self) -> None:
        if self._key is not None:
            claims.release(self._key, self)
            self._key = None

    def _attach(self, connection: duckdb.DuckDBPyConnection) -> None:
        options = (
            # by its name DuckDB would take a file for data, and a database in memory for it
            f" (TYPE duckdb, STORAGE_VERSION '{STORAGE_VERSION}', "
            f"ROW_GROUP_SIZE {FILE_ROW_GROUP_ROWS})"
        )
        text = f"ATTACH {literal(self.path)} AS {ALIAS}{'' if self.in_memory else options}"
        try:
            self.on(connection, text)
        except duckdb.Error as error:
            # if it is in use, somebody else has made it meanwhile
            self.is_new = self.is_new and not is_locked(str(error))
            raise unopened(error, self.path) from error

    def reattach(self) -> None:
        """Attach the file anew after a checkpoint of it failed; what is committed is all there.

        Raises:
            DatabaseError: There is still no room, or somebody still reads.
        """
        self._forget_asking()
        # the others have it as their default, by its name, and nothing binds there for now
        apart = self.connection.cursor()
        try:
            self.on(apart, f"DETACH DATABASE IF EXISTS {ALIAS}")
            self._attach(apart)
        finally:
            apart.close()
        self.incoming.roll_back()
        self.is_invalid = False

    def session(self, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
        """Make a connection see the file as its default, in UTC; return it."""
        connection.execute(f"USE {ALIAS}")
        connection.execute("SET TimeZone = 'UTC'")
        if self.frames.tables:
            self.frames.show(connection)
        return connection

    def register(self, name: str, table: pa.Table) -> None:
        """Let all statements of users read a table by a name, in the place of another frame."""
        self.frames.add(name, table, self.connection)
        self._forget_asking()

    def unregister(self, name: str) -> None:
        """Take a registered table back."""
        self.frames.remove(name, self.connection)
        self._forget_asking()

    def _forget_asking(self) -> None:
        if self._asking is not None:
            self._asking.close()
            self._asking = None

    def _migrate(self, copying: str | None) -> None:
        if not self.is_new:
            shadows.refuse(self, ALIAS)
        try:
            migrations.run(self, copying)
        except duckdb.CatalogException as error:
            raise DatabaseError(
                f"the database {self.path} was made by another version of cqlduck: "
                f"{str(error).splitlines()[0]}",
                hint="use that version, or make a new database",
            ) from error

    def described(self, sql: str) -> list[tuple[str, str]] | None:
        """Return the columns of a SELECT over what is committed, or None if it does not bind.

        It asks on a connection of its own, because an error would end the transaction.
        """
        if self._asking is None:
            self._asking = self.reader()
        try:
            rows = self._asking.execute(f"DESCRIBE {sql}").fetchall()
        except duckdb.Error:
            return None
        return [(row[0], row[1]) for row in rows]

    def _roll_back(self, marks: Sequence[tuple[Participant, Any]], cause: BaseException) -> None:
        super()._roll_back(marks, cause)
        self.recorded.clear()

    def reader(self, *, is_large: bool = True) -> duckdb.DuckDBPyConnection:
        """Return a connection of its own that sees what is committed.

        Args:
            is_large: Whether it may read much, for which all threads are.
        """
        if is_large:
            self.threads.all()
        reader = self.connection.cursor()
        self._readers.add(reader)
        return self.session(reader)

    def close(self) -> None:
        """Write everything into the file and let go of it; what is being read of it is stopped."""
        if self.owner.is_other:
            return
        # half closed, a file could be opened no more
        with self.interrupts.settling:
            try:
                self._forget_asking()
                try:
                    self.execute("USE memory")
                    self.execute(f"DETACH DATABASE IF EXISTS {ALIAS}")
                except (duckdb.Error, DatabaseError) as error:
                    self._keep_log(error)
                self._close_all()
            finally:
                self._release()

    def _keep_log(self, error: BaseException) -> None:
        """Say that a file was closed with its log beside it, if it was."""
        if not self.in_memory and os.path.exists(self.path + LOG):
            log.warning(
                "what is new in the database %s stays in its log, %s: %s; keep them together, "
                "opening the database merges the log",
                self.path, self.path + LOG, first_line(error),
            )  # fmt: skip

    def abandon(self) -> None:
        """Close a database that could not be opened; one that was new leaves no file."""
        self.close()
        if self.is_new and not self.in_memory:
            for file in (self.path, self.path + LOG):
                with contextlib.suppress(OSError):
                    os.unlink(file)

    def _close_all(self) -> None:
        """Close the connection and its readers, of which other threads may be reading."""
        while True:
            try:
                self.connection.close()
            except duckdb.ResourceInUseException:
                for reader in list(self._readers):
                    # who reads may be done meanwhile, and have closed it
                    with contextlib.suppress(duckdb.ConnectionException):
                        reader.interrupt()
                time.sleep(PAUSE)
            else:
                return
