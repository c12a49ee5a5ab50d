"""The check of synopses: each is compared with its content, computed anew from its inputs.

A check changes nothing. Each comparison is one statement that reads a synopsis and what is stored
below its operator, as of the query's frontier. So an error is reported at its own operator: an
operator above a wrong synopsis passes if its synopsis agrees with that one.

The answer of a query is compared as well: what the elements in its log sum up to, with the content
of the root of its plan. A member of a family has no plan. Its answer is compared with what its own
text says of the inputs alone, so neither its family nor its place in that counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import duckdb

from cqlduck.errors import first_line
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.physical.statement import Synopsis
from cqlduck.rewrite.statements.content import Content, answer_at_rest, contents
from cqlduck.rewrite.text.time import Instant
from cqlduck.state.answers import weighted_sql
from cqlduck.state.catalog import Catalogue
from cqlduck.state.columns import differing
from cqlduck.state.connection import Database, quoted
from cqlduck.state.contents import Frontier
from cqlduck.state.registered import Query

State = Literal["right", "wrong", "cannot be had"]

Found = tuple[State, int | None, str | None]
"""The state, how many rows are missing or too many, and why that cannot be had."""


@dataclass(frozen=True)
class Checked:
    """What a comparison came to.

    Attributes:
        query: The query.
        operator: The number of the operator in its plan, as in `cql.operators`; None for an answer.
        description: What the operator does, or whose the answer is.
        kind: Which kind of synopsis it is, or 'answer'.
        synopsis: Its table in `cql_state`; of an answer, the log.
        state: Whether it holds what it should, or why not: 'right', 'wrong' or 'cannot be had'.
        rows: How many rows are missing or too many; None if that cannot be had.
        reason: Why it cannot be had, or None.
    """

    query: str
    operator: int | None
    description: str
    kind: str
    synopsis: str
    state: State
    rows: int | None = None
    reason: str | None = None


class Checker:
    """Compares synopses with their content, on a connection of its own.

    Args:
        database: The database; everything is flushed, and nothing changes meanwhile.
        catalogue: What is registered.
        shown: Gives an instant as people see it.
        bases: Gives the instant of the base of a query by its name, if it has one.
    """

    def __init__(
        self,
        database: Database,
        catalogue: Catalogue,
        shown: Callable[[Instant | None], str],
        bases: Callable[[str], Sequence[Instant]],
    ) -> None:
        """Begin a transaction that only reads."""
        self._database = database
        self._catalogue = catalogue
        self._shown, self._bases = shown, bases
        self._reader = database.reader()
        self._reader.execute("BEGIN TRANSACTION")

    def close(self) -> None:
        """End the transaction."""
        self._reader.close()

    def check(
        self, query: Query, compiled: Compiled, caches: Sequence[Synopsis]
    ) -> Iterator[Checked]:
        """Yield a line for each synopsis of a query, from the bottom of its plan.

        Args:
            query: The query.
            compiled: Its plan.
            caches: The caches that its joins have.
        """
        synopses = (*compiled.synopses, *caches)
        for content in contents(query.name, compiled.plan, self._catalogue.clock, synopses):
            state, rows, reason = self._state(query, content)
            synopsis = content.synopsis
            yield Checked(
                query.name,
                synopsis.operator,
                content.operator,
                synopsis.kind,
                synopsis.name,
                state,
                rows,
                reason,
            )

    def check_answer(self, query: Query, compiled: Compiled) -> Iterator[Checked]:
        """Yield a line for the answer of a query, if it yields a relation and has begun.

        Args:
            query: The query, which may be a member of a family.
            compiled: The plan of its own text.
        """
        if query.kind != "relation" or query.begin_instant is None:
            return
        synopses = () if query.family is not None else compiled.synopses
        content = answer_at_rest(query.name, compiled.plan, self._catalogue.clock, synopses)
        frontier = self._frontier(query)
        reason = frontier.lacks(content)
        found: Found = "cannot be had", None, reason
        if reason is None:
            columns = tuple(c for c in query.columns if c.name not in content.loose)
            sql = differing(columns, content.query.sql("duckdb"), weighted_sql(query))
            found = self._compared(frontier, sql)
        said = "answer" if query.family is None else f"answer, a part of {query.family}"
        yield Checked(query.name, None, said, "answer", query.changes, *found)

    def _state(self, query: Query, content: Content) -> Found:
        if query.begin_instant is None:
            return self._judged(self._rows_of(content.synopsis))
        frontier = self._frontier(query)
        reason = frontier.lacks(content)
        if reason is not None or content.found is None:
            return "cannot be had", None, reason
        return self._compared(frontier, content.differing.sql("duckdb"))

    def _frontier(self, query: Query) -> Frontier:
        missing = self._database.functions.missing(self._catalogue.functions_of(query))
        return Frontier(query, self._catalogue, self._value, self._shown, missing, self._bases)

    def _compared(self, frontier: Frontier, sql: str) -> Found:
        try:
            return self._judged(frontier.value(sql))
        except duckdb.Error as error:
            # stored rows may make an expression raise that no tick has evaluated
            self._reader.execute("ROLLBACK")
            self._reader.execute("BEGIN TRANSACTION")
            return "cannot be had", None, f"DuckDB fails at its SELECT: {first_line(error)}"

    @staticmethod
    def _judged(rows: int) -> Found:
        return ("wrong" if rows else "right"), rows, None

    def _rows_of(self, synopsis: Synopsis) -> int:
        return self._value(f"SELECT count(*) FROM cql_state.{quoted(synopsis.name)}", {})

    def _value(self, sql: str, given: Mapping[str, int]) -> int:
        with self._database.running(self._reader):
            ((value,),) = self._reader.execute(sql, dict(given)).fetchall()
        return int(value)
