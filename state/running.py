"""Running SQL: one class through which the statements of the engine go, and the transaction.

This module guarantees of every statement that passes `Runner` that a trace hook sees it, that it
may be stopped while it runs, and that its error says what the machine did to it; and that what
happens inside of `transaction` is one DuckDB transaction. `docs/architecture.md` says which
statements do not pass it.

What belongs to the database and lies in memory takes part (`Participant`): it is one value, which
is replaced and never changed. So to begin a transaction is to remember these values, and to undo
one is to put them back.
"""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import duckdb
import pyarrow as pa

from cqlduck.errors import DatabaseError, first_line
from cqlduck.rewrite.statements.steps import Step
from cqlduck.state import machine
from cqlduck.state.interrupts import Interrupts, Stoppable
from cqlduck.state.parsed import Parsed
from cqlduck.state.profile import BETWEEN, COMMIT, Profile

log = logging.getLogger("cqlduck")

TraceHook = Callable[[str, Any], None]
"""Is called with an SQL statement and its parameters before it runs."""

Parameters = Sequence[Any] | Mapping[str, Any] | None

_NOTHING = contextlib.nullcontext()

# see `copied`
warnings.filterwarnings("ignore", "Arrow output on a DB-API result", UserWarning, r"cqlduck\.")


class Participant(Protocol):
    """What lies in memory beside the database, and takes part in transactions."""

    kept: Any
    """What it is now: a value that is replaced where it changes."""

    def roll_back(self, kept: Any) -> None:
        """Be again what it was: the transaction is undone that began with it."""
        ...


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


class Runner:
    """A connection on which statements run, alone or in transactions.

    Args:
        connection: The connection.
        path: Where its database lies, for what is said of the machine.
        trace: Is told of each statement and its parameters before it runs.

    Attributes:
        depth: Whether a transaction is under way: 1, or 0.
        is_invalid: Whether a checkpoint failed: then DuckDB wants the file attached anew.
        participants: What takes part in transactions.
        profile: What counts statements, if somebody wants that.
    """

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, path: str, trace: TraceHook | None
    ) -> None:
        """Begin outside of a transaction."""
        self.connection = connection
        self.path = path
        self.interrupts = Interrupts()
        self.trace = None if trace is None else self.interrupts.guarded(trace)
        self.profile: Profile | None = None
        self.depth = 0
        self.is_invalid = False
        self.participants: list[Participant] = []
        self._has_begun = False
        self.commits = 0
        """How many transactions have been committed."""
        self._stoppable = Stoppable(self.interrupts, connection)
        self._parsed = Parsed()

    # -- statements -------------------------------------------------------------------------------

    def execute(self, sql: str, parameters: Parameters = None) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows; of one that writes, how many those were.

        Raises:
            DatabaseError: A disk is full, memory is used up, a file is damaged, or somebody called
                `interrupt`.
        """
        self._begin()
        if self.trace is not None:
            self.trace(sql, parameters)
        try:
            # what has not been fetched is still running
            with self._stoppable:
                statement = self._parsed.statement(sql)
                rows = self.connection.execute(statement, parameters).fetchall()
        except (duckdb.Error, UnicodeDecodeError) as error:
            told = self._failed(error)
            if told is error:
                raise
            raise told from error
        if self.profile is not None:
            self.profile.ran(self.connection)
        return rows

    rows = execute

    def value(self, sql: str, parameters: Parameters = None) -> Any:
        """Run a query and return the first value of its first row, or None."""
        rows = self.execute(sql, parameters)
        return rows[0][0] if rows else None

    def arrow(self, sql: str, parameters: Parameters = None, *, is_large: bool = False) -> pa.Table:
        """Run a query and return its rows as an Arrow table.

        Args:
            sql: The query.
            parameters: Its parameters.
            is_large: Whether it may give so many rows that they should not be copied once more; it
                is planned twice then.
        """
        self._begin()
        if self.trace is not None:
            self.trace(sql, parameters)
        statement = self._parsed.statement(sql)
        with self.running(self.connection):
            if is_large:
                relation = self.connection.sql(statement, params=parameters)
                return pa.table({}) if relation is None else relation.to_arrow_table()
            table = copied(self.connection, statement, parameters)
        if self.profile is not None:
            self.profile.ran(self.connection)
        return table

    def relation(self, sql: str, parameters: Parameters = None) -> duckdb.DuckDBPyRelation | None:
        """Return a query as a relation, which runs when it is read; None if it gives no rows."""
        self._begin()
        if self.trace is not None:
            self.trace(sql, parameters)
        return self.connection.sql(self._parsed.statement(sql), params=parameters)

    def on(self, connection: duckdb.DuckDBPyConnection, sql: str) -> None:
        """Run a statement of the engine on another connection.

        Raises:
            DatabaseError: As `execute`.
        """
        if self.trace is not None:
            self.trace(sql, None)
        try:
            with Stoppable(self.interrupts, connection):
                connection.execute(self._parsed.statement(sql))
        except duckdb.Error as error:
            told = self._failed(error)
            if told is error:
                raise
            raise told from error

    @contextlib.contextmanager
    def running(self, connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
        """Let the statement of the block be stopped, and say what the machine does to it.

        Raises:
            DatabaseError: As `execute`.
        """
        try:
            with Stoppable(self.interrupts, connection):
                yield
        except duckdb.Error as error:
            told = self._failed(error)
            if told is error:
                raise
            raise told from error

    def _failed(self, error: duckdb.Error | UnicodeDecodeError) -> Exception:
        """Return an error, or what the machine did to its statement if that is what failed it."""
        if isinstance(error, UnicodeDecodeError):
            # DuckDB quotes bytes in a message, and cannot hand it over
            return duckdb.ConversionException("Conversion Error: bytes that are no text")
        self.is_invalid = self.is_invalid or machine.is_invalidated(error)
        return machine.of_the_machine(error, self.path) or error

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

    def part(self, name: str, step: Step | None = None) -> contextlib.AbstractContextManager[None]:
        """Tell a profile, if one is taken, what a block is for: a query's step, or bookkeeping."""
        return _NOTHING if self.profile is None else self.profile.part(name, step)

    # -- transactions -----------------------------------------------------------------------------

    @contextlib.contextmanager
    def transaction(self) -> Iterator[bool]:
        """Commit what the block did, or nothing of it; a block inside a block is part of it.

        It yields whether it is the outermost. DuckDB's transaction begins with the first statement:
        one without any would take a third of the time of a small append.

        Raises:
            DatabaseError: It cannot be committed; nothing of it is done.
        """
        if self.depth:
            yield False
            return
        with self.interrupts.deferred as call, self.part(BETWEEN):
            marks = [(participant, participant.kept) for participant in self.participants]
            try:
                self.depth = 1
                try:
                    yield True
                finally:
                    self.depth = 0
                call.settling += 1
                try:
                    if self._has_begun:
                        with self.part(COMMIT):
                            self.execute("COMMIT")
                        self.commits += 1
                except (duckdb.Error, DatabaseError) as error:
                    self._refuse(error)
                finally:
                    call.settling -= 1
            except BaseException as error:
                self._roll_back(marks, error)
                raise
            finally:
                self._has_begun = False
        if self.profile is not None:
            self.profile.committed()

    def _begin(self) -> None:
        """Begin DuckDB's transaction, with the first statement of a change."""
        if self.depth and not self._has_begun:
            self._has_begun = True
            try:
                with self.interrupts.settling, self.part(BETWEEN):
                    self.execute("BEGIN TRANSACTION")
            except BaseException:
                self._has_begun = False
                raise

    def _refuse(self, error: duckdb.Error | DatabaseError) -> None:
        """Raise why a transaction could not be committed, if it was not."""
        if isinstance(error, duckdb.Error):
            raise DatabaseError(
                f"the change could not be committed: {first_line(error)}",
                hint="nothing was changed; call again",
            ) from error
        if not machine.is_durable(error):
            raise error
        log.warning("the change is committed, but %s", error.message)

    def _roll_back(self, marks: Sequence[tuple[Participant, Any]], cause: BaseException) -> None:
        """Undo a transaction, if a COMMIT that failed has not done so.

        A participant that fails keeps none of the others from being what they were, and hides no
        cause, which gets a note.
        """
        with self.interrupts.settling:
            try:
                if self.trace is not None and self._has_begun:
                    self.trace("ROLLBACK", None)
            finally:
                if self._has_begun:
                    with contextlib.suppress(duckdb.Error):
                        self.connection.execute("ROLLBACK")
                for participant, kept in marks:
                    try:
                        participant.roll_back(kept)
                    except Exception as error:
                        log.exception("a part of the change could not be undone in memory")
                        cause.add_note(f"undoing it met another error: {first_line(error)}")
