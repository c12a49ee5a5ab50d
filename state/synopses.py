"""The tables of a query's plan: its synopses, and the rows that describe its operators.

They are created when the query is registered, and again when the database learns that its time is
wall-clock time: until then a query is compiled as if instants were integers.

A database that another version of cqlduck has written may have other synopses than the plans of
this version need. `adopt` migrates them when the database is opened. A synopsis of the same
operator stays, whatever its name is. A missing one is filled with its content, from the stores and
the synopses below it; after that, synopses that no plan needs are dropped. If the content of one
cannot be computed, the database is refused, and stays unchanged. Caches of joins are dropped: the
next tick makes and fills those that it is to have (`caches`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from cqlduck.errors import DatabaseError, first_line
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.physical.statement import DISPOSABLE, Synopsis
from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.relalg.elements import SEQ
from cqlduck.rewrite.statements.content import Content, contents
from cqlduck.rewrite.statements.row_synopses import RowSynopsis
from cqlduck.state.columns import typed
from cqlduck.state.connection import ALIAS, Database, quoted
from cqlduck.state.contents import Frontier


def create(database: Database, query: str, compiled: Compiled) -> None:
    """Make the synopses of a query, empty, and describe its operators in `cql.operators`.

    Args:
        database: The database, inside a transaction.
        query: The name of the query.
        compiled: Its plan and statements.
    """
    for synopsis in compiled.synopses:
        make(database, query, synopsis)
    _list(database, query, compiled)


def make(database: Database, query: str, synopsis: Synopsis) -> None:
    """Make a synopsis, empty; inside a transaction."""
    _make_table(database, synopsis)
    _note(database, query, synopsis)


def _make_table(database: Database, synopsis: Synopsis) -> None:
    name = f"cql_state.{quoted(synopsis.name)}"
    database.execute(f"CREATE TABLE {name} ({typed(synopsis.columns)})")


def _note(database: Database, query: str, synopsis: Synopsis) -> None:
    """Note of a table which synopsis it is."""
    database.execute(
        f"COMMENT ON TABLE cql_state.{quoted(synopsis.name)} IS 'Synopsis ({synopsis.kind}) of "
        f"operator {synopsis.operator} of a continuous query.'"
    )
    database.execute(
        "INSERT INTO cql_state.synopses VALUES (?, ?, ?, ?, ?, ?, 0)",
        [query, synopsis.operator, synopsis.kind, synopsis.name, synopsis.reach, synopsis.is_log],
    )


def describe(database: Database, query: str, compiled: Compiled) -> None:
    """Describe the operators of a query in `cql.operators`, in place of what stands there."""
    database.execute("DELETE FROM cql_state.operators WHERE query = ?", [query])
    _list(database, query, compiled)


def _list(database: Database, query: str, compiled: Compiled) -> None:
    rows = [
        (query, o.number, o.parent, o.id, list(o.inputs), o.kind, o.description, o.sql)
        for o in compiled.operators
    ]
    marks = ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?)"] * len(rows))
    database.execute(
        f"INSERT INTO cql_state.operators VALUES {marks}",
        [value for row in rows for value in row],
    )


@dataclass(frozen=True)
class _Stored:
    """A synopsis that the database has.

    Attributes:
        table: Its table.
        operator: The number of its operator, in the plan that it was made for.
        kind: Its kind.
        columns: Its columns.
    """

    table: str
    operator: int
    kind: str
    columns: tuple[Column, ...]


def adopt(
    database: Database,
    frontier: Frontier,
    compiled: Compiled,
    known_contents: Sequence[Content] | None = None,
) -> None:
    """Bring the synopses that a database has of a query to those of its plan.

    Args:
        database: The database, inside the transaction that opens it.
        frontier: The query, and what is kept of its inputs. One that has not begun has nothing in
            its synopses, so they are made anew.
        compiled: Its plan.
        known_contents: The contents of the plan's synopses, if they have been written before.

    Raises:
        DatabaseError: The plan needs one that is not there and whose content cannot be had.
    """
    query = frontier.query
    if query.begin_instant is None:
        drop(database, query.name)
        create(database, query.name, compiled)
        return
    there = [
        _Stored(table, number, kind, columns_of(database, table))
        for number, kind, table in database.rows(
            "SELECT operator, kind, table_name FROM cql_state.synopses WHERE query = ? "
            "AND NOT list_contains(?, kind) ORDER BY operator DESC, kind",
            [query.name, DISPOSABLE],
        )
    ]
    _drop_made(database, query.name, [stored.table for stored in there])
    known = _same(database, query.name, there, compiled)
    missing = {s.name for s in compiled.synopses if s.name not in known}
    if known_contents is None:
        clock = frontier.catalogue.clock
        known_contents = contents(query.name, compiled.plan, clock, compiled.synopses)
    fill = [content for content in known_contents if content.synopsis.name in missing]
    for content in fill:
        reason = frontier.lacks(content)
        if reason is not None or content.found is None:
            raise _refused(query.name, content, reason)
    moved = {name: stored.table for name, stored in known.items() if stored.table != name}
    old = {stored.table for stored in there} - {stored.table for stored in known.values()}
    # out of the way of those that take their names
    for table in [*moved.values(), *sorted(old)]:
        _rename(database, table, _before(table))
    database.execute("DELETE FROM cql_state.synopses WHERE query = ?", [query.name])
    for synopsis in compiled.synopses:
        if synopsis.name in moved:
            _rename(database, _before(moved[synopsis.name]), synopsis.name)
        if synopsis.name in known:
            _note(database, query.name, synopsis)
        else:
            make(database, query.name, synopsis)
    # from the bottom: what is above reads what is below
    for content in fill:
        _fill(database, frontier, content)
    for table in sorted(old):
        database.execute(f"DROP TABLE cql_state.{quoted(_before(table))}")
    describe(database, query.name, compiled)


def fill(
    database: Database,
    frontier: Frontier,
    compiled: Compiled,
    given: Mapping[str, str] | None = None,
) -> str | None:
    """Put its content into each synopsis of a query, which are empty, inside a transaction.

    Args:
        database: The database.
        frontier: The query, which has begun, and what is kept of its inputs.
        compiled: Its plan.
        given: SELECTs of the content of some, by name (`copied_rows`).

    Returns:
        Why one cannot be filled, or None; then some may be filled, and some not.
    """
    query, clock = frontier.query.name, frontier.catalogue.clock
    for name, rows in (given or {}).items():
        database.execute(f"INSERT INTO cql_state.{quoted(name)} {rows}")
    contained = contents(query, compiled.plan, clock, compiled.synopses)
    found = [content for content in contained if content.synopsis.name not in (given or {})]
    for content in found:
        reason = frontier.lacks(content)
        if content.found is None or reason is not None:
            return f"{content.synopsis.name} ({content.operator}) cannot be had: {reason}"
    # from the bottom: what is above reads what is below
    for content in found:
        _fill(database, frontier, content)
    return None


def have_same_rows(database: Database, one: RowSynopsis, other: RowSynopsis) -> bool:
    """Return whether two synopses have the same elements of a stream, by their numbers."""
    both = [_rows(one), _rows(other)]
    counts = [database.value(f"SELECT count(*) FROM {table}") for table in both]
    if counts[0] != counts[1]:
        return False
    missing = " EXCEPT ".join(f"SELECT {SEQ} FROM {table}" for table in both)
    return not database.rows(f"FROM ({missing}) AS missing LIMIT 1")


def copied_rows(wanted: RowSynopsis, those: Sequence[RowSynopsis]) -> str | None:
    """Return a SELECT of the rows that a synopsis is to have, from others of the same rows.

    Args:
        wanted: The synopsis.
        those: Those of other queries. One of them may have what another one lacks.

    Returns:
        (columns of the synopsis), or None if none of those of the same window has some column.
    """
    same = [one for one in those if one.id == wanted.id]
    listed, places = [], set()
    for column in wanted.synopsis.columns:
        meaning = wanted.meanings[column.name]
        found = [
            (place, name)
            for place, one in enumerate(same)
            for name, its in one.meanings.items()
            if its == meaning
        ]
        if not found:
            return None
        place, name = found[0]
        places.add(place)
        listed.append(f"i{place}.{quoted(name)}")
    # each has the numbers of the elements: where one has all columns, no other is read
    tables = f"{_rows(same[0])} AS i0" + "".join(
        f" JOIN {_rows(same[place])} AS i{place} ON i{place}.{SEQ} = i0.{SEQ}"
        for place in sorted(places - {0})
    )
    return f"SELECT {', '.join(listed)} FROM {tables}"


def _rows(rows: RowSynopsis) -> str:
    return f"cql_state.{quoted(rows.synopsis.name)}"


def _same(
    database: Database, query: str, there: Sequence[_Stored], compiled: Compiled
) -> dict[str, _Stored]:
    """Return the synopses of a plan that a database has, by their names.

    They have the name, or the plan is the one that they were made for: then their place in it says
    which they are.
    """
    wanted = {s.name: s for s in compiled.synopses}
    places = {(s.operator, s.kind): s for s in there}
    if all(
        (s.operator, s.kind) in places and places[s.operator, s.kind].columns == s.columns
        for s in compiled.synopses
    ) and len(places) == len(wanted):
        then = database.rows(
            "SELECT number, kind, description FROM cql_state.operators WHERE query = ? "
            "ORDER BY number",
            [query],
        )
        # before operators had ids nothing else is known of the plan
        if not then or then == [(o.number, o.kind, o.description) for o in compiled.operators]:
            return {name: places[s.operator, s.kind] for name, s in wanted.items()}
    return {s.table: s for s in there if s.table in wanted and s.columns == wanted[s.table].columns}


def _refused(query: str, content: Content, reason: str | None) -> DatabaseError:
    return DatabaseError(
        f"the synopses that the database has of the continuous query {query} are not those of its "
        f"plan, and {content.synopsis.name} ({content.operator}) cannot be made anew: {reason}",
        hint="it was made by another version of cqlduck; use that one, or make the query anew "
        "in a new database",
    )


def _fill(database: Database, frontier: Frontier, content: Content) -> None:
    """Put its content into a synopsis that is empty.

    Raises:
        DatabaseError: DuckDB cannot work it out.
    """
    sql = content.query.sql("duckdb")
    names = [column.name for column in content.synopsis.columns]
    listed = ", ".join(map(quoted, names))
    copies = "" if "_weight" in names else ", range(_weight) AS copies(_cql_copy)"
    try:
        database.execute(
            f"INSERT INTO cql_state.{quoted(content.synopsis.name)} "
            f"SELECT {listed} FROM ({sql}) AS content{copies}",
            frontier.given(sql),
        )
    except duckdb.Error as error:
        reason = f"DuckDB fails at its SELECT: {first_line(error)}"
        raise _refused(frontier.query.name, content, reason) from error


def _before(table: str) -> str:
    return f"{table} of before"


def _rename(database: Database, old: str, new: str) -> None:
    database.execute(f"ALTER TABLE cql_state.{quoted(old)} RENAME TO {quoted(new)}")


def stand_in(database: Database, frontier: Frontier, filled: Sequence[Content]) -> None:
    """Make and fill the tables of synopses that are no plan's; `stand_out` drops them.

    Args:
        database: The database, inside a transaction.
        frontier: The query, which has begun, and what is kept of its inputs.
        filled: Their contents, which can be had.
    """
    for content in filled:
        _make_table(database, content.synopsis)
        _fill(database, frontier, content)


def stand_out(database: Database, filled: Sequence[Content]) -> None:
    """Drop the tables that `stand_in` has made."""
    for content in filled:
        database.execute(f"DROP TABLE cql_state.{quoted(content.synopsis.name)}")


def fits(database: Database, query: str, compiled: Compiled) -> bool:
    """Return whether the synopses that a database has of a query are those of its plan."""
    there = {
        table: columns_of(database, table)
        for (table,) in database.rows(
            "SELECT table_name FROM cql_state.synopses "
            "WHERE query = ? AND NOT list_contains(?, kind)",
            [query, DISPOSABLE],
        )
    }
    return there == {synopsis.name: synopsis.columns for synopsis in compiled.synopses}


def columns_of(database: Database, table: str) -> tuple[Column, ...]:
    """Return the columns of a table in `cql_state`."""
    described = database.rows(f"DESCRIBE cql_state.{quoted(table)}")
    return tuple(Column(name, kind) for name, kind, *_ in described)


def _drop_made(database: Database, query: str, tables: Sequence[str]) -> None:
    """Drop the caches of a query, and the indexes of synopses: DuckDB renames no table with one."""
    _drop_caches(database, query)
    for (name,) in database.rows(
        "SELECT index_name FROM duckdb_indexes() WHERE database_name = ? "
        "AND schema_name = 'cql_state' AND list_contains(?, table_name) ORDER BY ALL",
        [ALIAS, [*tables]],
    ):
        database.execute(f"DROP INDEX cql_state.{quoted(name)}")


def _drop_caches(database: Database, query: str) -> None:
    for (table,) in database.rows(
        "SELECT table_name FROM cql_state.synopses WHERE query = ? AND list_contains(?, kind)",
        [query, DISPOSABLE],
    ):
        database.execute(f"DROP TABLE IF EXISTS cql_state.{quoted(table)}")


def drop(database: Database, query: str) -> None:
    """Remove the synopses of a query and the description of its operators."""
    for (table,) in database.rows(
        "SELECT table_name FROM cql_state.synopses WHERE query = ?", [query]
    ):
        database.execute(f"DROP TABLE IF EXISTS cql_state.{quoted(table)}")
    for described in ("synopses", "operators"):
        database.execute(f"DELETE FROM cql_state.{described} WHERE query = ?", [query])
