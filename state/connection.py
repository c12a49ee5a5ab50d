"""The database: one DuckDB instance, one file, one function through which all SQL runs.

Every statement passes `Database.execute` (so a trace hook sees all), all between `begin` and
`commit` is one DuckDB transaction, and the file is attached under the alias `cqlduck` whatever its
name is, in the storage format of DuckDB 1.5. The module relies on being the only writer: a second
process is refused by DuckDB's lock on the file, a second connection of this process by
`state.claims`.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from cqlduck.errors import DatabaseError, first_line
from cqlduck.rewrite.statements.steps import Step
from cqlduck.state import claims, machine, migrations, shadows
from cqlduck.state.buffers import Participant
from cqlduck.state.frames import Frames
from cqlduck.state.incoming import Incoming
from cqlduck.state.interrupts import Interrupts
from cqlduck.state.parsed import Parsed
from cqlduck.state.paths import written
from cqlduck.state.processes import Owner
from cqlduck.state.profile import BETWEEN, COMMIT, Profile
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

ROW_GROUP = 30_720
"""How many rows DuckDB stores together in a file: a fourth of what it does by itself.

Rows that fill a group are compressed and written where they stay. Fewer go into the log first, and
are written again at a checkpoint: of 92,000 rows at a time that took twice as long. Each group has
its least and greatest values, by which a join skips it; so smaller ones skip more.
"""

DUCKDBS = 122_880
"""How many rows DuckDB stores together by itself, as it does in memory."""

PAUSE = 0.001
"""Seconds between two attempts to close a connection that another thread reads from."""

Trace = Callable[[str, Any], None]

# see `copied`
warnings.filterwarnings("ignore", "Arrow output on a DB-API result", UserWarning, r"cqlduck\.")

_NOTHING = contextlib.nullcontext()


CONFIG: dict[str, str | bool | int | float | list[str]] = {
    # DuckDB would look for the variables of frames that are ours
    "python_enable_replacements": False,
    # they find rows by row ids, of which a scan in DuckDB 2.0 loses committed ones, now and then,
    # where the same transaction has appended
    "disabled_optimizers": "late_materialization,top_n_window_elimination",
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


def copied(
    connection: duckdb.DuckDBPyConnection,
    statement: str | duckdb.Statement,
    parameters: Sequence[Any] | Mapping[str, Any] | None = None,
) -> pa.Table:
    """Run a query of few rows and return them as an Arrow table.

    DuckDB (release 2.0) warns that they are copied once more; of few rows that takes less than to
    plan the statement twice, as a relation does.
    """
    result = connection.execute(statement, parameters)
    try:
        return result.to_arrow_table()
    except UserWarning:
        # somebody makes errors of all warnings
        result.fetchall()
        return connection.sql(statement, params=parameters).to_arrow_table()


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


class Database:
    """A DuckDB instance with the file attached; not for several threads at once."""

    def __init__(
        self,
        path: str | os.PathLike[str] = ":memory:",
        *,
        memory_limit: str | None = None,
        threads: int | None = None,
        trace: Trace | None = None,
    ) -> None:
        """Open or make a database.

        Raises:
            DatabaseError: The file is in use, is no DuckDB database, or cannot be written.
        """
        self.trace = trace
        self.interrupts = Interrupts()
        self.profile: Profile | None = None
        self.path = _written(path)
        self._key: str | None = None
        self._asking: duckdb.DuckDBPyConnection | None = None
        self._readers: weakref.WeakSet[duckdb.DuckDBPyConnection] = weakref.WeakSet()
        self.depth = 0
        self.recorded: set[tuple[str, str]] = set()
        """What the change has written that is cut at its end (`state.records`): table and owner."""
        self.in_memory = in_memory = self.path == MEMORY
        self.is_new = in_memory or not os.path.exists(self.path)
        self.is_invalid = False
        """Whether a checkpoint failed: then DuckDB wants the file attached anew (`reattach`)."""
        self.connection = duckdb.connect(":memory:", config=CONFIG)
        self.owner = Owner(self.connection)
        self.frames = Frames()
        self._parsed = Parsed()
        self.incoming = Incoming(self.connection, DUCKDBS if in_memory else ROW_GROUP)
        self.participants: list[Participant] = [self.incoming]
        """What takes part in transactions."""
        self.threads = Threads(self.rows)
        if not in_memory:
            self._claim()
        try:
            with self.interrupts.held():
                if memory_limit is not None:
                    self.execute(f"SET memory_limit = {literal(memory_limit)}")
                if memory_limit is None or not in_memory:
                    room = ROOM_IN_MEMORY if in_memory else ROOM
                    self.execute(f"SET checkpoint_threshold = {literal(room)}")
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
        with self._understood(), self.transaction():
            self._migrate()
            yield

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
        options = f" (STORAGE_VERSION '{STORAGE_VERSION}', ROW_GROUP_SIZE {ROW_GROUP})"
        text = f"ATTACH {literal(self.path)} AS {ALIAS}{'' if self.in_memory else options}"
        try:
            self._traced(text, connection=connection)
        except duckdb.IOException as error:
            said = str(error)
            if "lock" in said.lower():
                # somebody else has made it meanwhile
                self.is_new = False
                raise DatabaseError(
                    f"the database {self.path} is in use by another process",
                    hint="stop that process, or have it write a snapshot and look at that",
                ) from error
            raise DatabaseError(
                f"the database {self.path} cannot be opened: {said.splitlines()[0]}",
                hint="is it a DuckDB file, and may you write it?",
            ) from error
        except duckdb.Error as error:
            raise DatabaseError(
                f"the database {self.path} cannot be opened: {str(error).splitlines()[0]}",
                hint=f"cqlduck writes DuckDB's storage format {STORAGE_VERSION}; make a new "
                "database, and copy your tables into it with COPY FROM DATABASE",
            ) from error

    def reattach(self) -> None:
        """Attach the file anew after a checkpoint of it failed; what is committed is all there.

        Raises:
            DatabaseError: There is still no room, or somebody still reads.
        """
        self._forget_asking()
        # the others have it as their default, by its name, and nothing binds there for now
        apart = self.connection.cursor()
        try:
            self._traced(f"DETACH DATABASE IF EXISTS {ALIAS}", connection=apart)
            self._attach(apart)
        finally:
            apart.close()
        self.incoming.roll_back()
        self.is_invalid = False

    def session(self, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
        """Make a connection see the file as its default, in UTC; return it."""
        connection.execute(f"USE {ALIAS}")
        connection.execute("SET TimeZone = 'UTC'")
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

    def _migrate(self) -> None:
        if not self.is_new:
            shadows.refuse(self, ALIAS)
        try:
            migrations.run(self)
        except duckdb.CatalogException as error:
            raise DatabaseError(
                f"the database {self.path} was made by another version of cqlduck: "
                f"{str(error).splitlines()[0]}",
                hint="use that version, or make a new database",
            ) from error

    # -- running SQL ------------------------------------------------------------------------------

    def execute(
        self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None
    ) -> duckdb.DuckDBPyConnection:
        """Run a statement."""
        result = self._traced(sql, parameters)
        self._ran()
        return result

    def _traced(
        self,
        sql: str,
        parameters: Sequence[Any] | Mapping[str, Any] | None = None,
        connection: duckdb.DuckDBPyConnection | None = None,
    ) -> duckdb.DuckDBPyConnection:
        """Run a statement, by default on the engine's connection; the one place where SQL runs."""
        connection = connection or self.connection
        try:
            with self.interrupts.running(connection):
                return self._run(connection, sql, parameters)
        except duckdb.Error as error:
            self._tell(error)
            raise

    def _run(
        self,
        connection: duckdb.DuckDBPyConnection,
        sql: str,
        parameters: Sequence[Any] | Mapping[str, Any] | None,
    ) -> duckdb.DuckDBPyConnection:
        if self.trace is not None:
            self.trace(sql, parameters)
        try:
            return connection.execute(self._parsed.statement(sql), parameters)
        except UnicodeDecodeError as error:
            # DuckDB quotes bytes in a message, and cannot hand it over
            raise duckdb.ConversionException("Conversion Error: bytes that are no text") from error

    def _tell(self, error: duckdb.Error) -> None:
        """Raise what the machine did to a statement, if that is what failed it."""
        self.is_invalid = self.is_invalid or machine.is_invalidated(error)
        told = machine.of_the_machine(error, self.path)
        if told is not None:
            raise told from error

    @contextlib.contextmanager
    def running(self, connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
        """Let the statement of the block be stopped, and say what the machine does to it.

        Raises:
            DatabaseError: A disk is full, memory is used up, a file is damaged, or somebody called
                `interrupt`.
        """
        try:
            with self.interrupts.running(connection):
                yield
        except duckdb.Error as error:
            self._tell(error)
            raise

    def expect(self, sql: str, statement: duckdb.Statement | None = None) -> None:
        """Parse a statement that is going to run, unless it is given as it was parsed."""
        self._parsed.expect(sql, statement)

    def view(self, name: str, query: str) -> None:
        """Make a view, in the place of another one; DuckDB binds it when it is read.

        Args:
            name: Its name, as SQL.
            query: What it shows, of ours: it is parsed here, and nothing more.
        """
        self.execute(f"CREATE OR REPLACE VIEW {name} WITH (DEFER_BINDING) AS {query}")

    def run(self, step: Step, instants: Mapping[str, int | None]) -> int:
        """Run a statement of a tick; return how many rows it wrote."""
        given = {name: instants[name] for name in step.parameters}
        return sum(int(row[0]) for row in self.rows(step.sql, given))

    def _ran(self) -> None:
        if self.profile is not None:
            self.profile.ran()
            if self.profile.looks_inside:
                self.profile.inside(self.connection.get_profiling_information(format="json"))

    def part(self, name: str, step: Step | None = None) -> contextlib.AbstractContextManager[None]:
        """Tell a profile, if one is taken, what a block is for: a query's step, or bookkeeping."""
        return _NOTHING if self.profile is None else self.profile.part(name, step)

    def rows(
        self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None
    ) -> list[tuple[Any, ...]]:
        """Run a query and return its rows."""
        connection = self.connection
        try:
            # what has not been fetched is still running
            with self.interrupts.running(connection):
                rows = self._run(connection, sql, parameters).fetchall()
        except duckdb.Error as error:
            self._tell(error)
            raise
        self._ran()
        return rows

    def value(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None) -> Any:
        """Run a query and return the first value of its first row, or None."""
        rows = self.rows(sql, parameters)
        return rows[0][0] if rows else None

    def arrow(
        self,
        sql: str,
        parameters: Sequence[Any] | Mapping[str, Any] | None = None,
        *,
        is_large: bool = False,
    ) -> pa.Table:
        """Run a query and return its rows as an Arrow table.

        Args:
            sql: The query.
            parameters: Its parameters.
            is_large: Whether it may give so many rows that they should not be copied once more; it
                is planned twice then.
        """
        if self.trace is not None:
            self.trace(sql, parameters)
        statement = self._parsed.statement(sql)
        with self.running(self.connection):
            if is_large:
                relation = self.connection.sql(statement, params=parameters)
                return pa.table({}) if relation is None else relation.to_arrow_table()
            table = copied(self.connection, statement, parameters)
        self._ran()
        return table

    def relation(
        self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None
    ) -> duckdb.DuckDBPyRelation | None:
        """Return a query as a relation, which runs when it is read; None if it gives no rows."""
        if self.trace is not None:
            self.trace(sql, parameters)
        return self.connection.sql(self._parsed.statement(sql), params=parameters)

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

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what the block did, or nothing of it; a block inside a block is part of it."""
        if self.depth:
            yield
            return
        with self.interrupts.held(), self.part(BETWEEN):
            marks = [(participant, participant.mark()) for participant in self.participants]
            try:
                with self.interrupts.settling():
                    self.execute("BEGIN TRANSACTION")
                self.depth = 1
                try:
                    yield
                finally:
                    self.depth = 0
                with self.part(COMMIT), self.interrupts.settling():
                    self._commit()
            except BaseException:
                self._roll_back(marks)
                raise
        if self.profile is not None:
            self.profile.committed()

    def _commit(self) -> None:
        """Commit the transaction.

        Raises:
            DatabaseError: It cannot be; nothing of it is done.
        """
        try:
            self.execute("COMMIT")
        except DatabaseError as error:
            if not machine.is_durable(error):
                raise
            log.warning("the change is committed, but %s", error.message)
        except duckdb.Error as error:
            raise DatabaseError(
                f"the change could not be committed: {first_line(error)}",
                hint="nothing was changed; call again",
            ) from error

    def _roll_back(self, marks: Sequence[tuple[Participant, Any]]) -> None:
        """Undo a transaction, if a COMMIT that failed has not done so."""
        with self.interrupts.settling():
            try:
                if self.trace is not None:
                    self.trace("ROLLBACK", None)
            finally:
                with contextlib.suppress(duckdb.Error):
                    self.connection.execute("ROLLBACK")
                for participant, mark in marks:
                    participant.roll_back(mark)
                self.recorded.clear()

    def reader(self) -> duckdb.DuckDBPyConnection:
        """Return a connection of its own that sees what is committed."""
        self.threads.all()
        reader = self.connection.cursor()
        self._readers.add(reader)
        return self.session(reader)

    def close(self) -> None:
        """Write everything into the file and let go of it; what is being read of it is stopped."""
        if self.owner.is_other:
            return
        # half closed, a file could be opened no more
        with self.interrupts.settling():
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
