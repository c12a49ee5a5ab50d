"""The inspection views that name every table and count its rows exactly.

The views of schema `cql` are text in `sql/views.sql`; but `cql.synopses` and `cql.stores` read
views of `cql_state` that list tables, and this module writes those. A view names each of its
tables, so a single view over all of them would be rewritten with every registered query. Hence they
are written in pages: a page lists `PAGE` consecutive positions, and the view lists the pages.
DuckDB binds them when they are read.

Bases go by the number of their query: it stays while the base does, and the position may change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter

from cqlduck.state.catalog import Catalogue
from cqlduck.state.connection import ALIAS, Database, literal, quoted
from cqlduck.state.registered import Input, Query

PAGE = 32
"""How many positions of the catalogue one page has."""

_SYNOPSES, _STORES, _BASES = "synopsis_rows", "store_rows", "bases"
_COMMENTS = {
    _SYNOPSES: "How many rows each synopsis has.",
    _STORES: "How many rows each store has, and from when to when.",
    _BASES: "How many rows the base of each query has that others read, and of which instant.",
}
_EMPTY = {
    _SYNOPSES: "SELECT NULL::VARCHAR AS table_name, NULL::BIGINT AS row_count WHERE false",
    _STORES: (
        "SELECT NULL::VARCHAR AS input, NULL::VARCHAR AS table_name, NULL::BIGINT AS "
        "row_count, NULL::BIGINT AS first_instant, NULL::BIGINT AS last_instant WHERE false"
    ),
    _BASES: (
        "SELECT NULL::VARCHAR AS query, NULL::VARCHAR AS table_name, NULL::BIGINT AS "
        "row_count, NULL::BIGINT AS instant WHERE false"
    ),
}
_by_position: Callable[[Input | Query], int] = attrgetter("position")
_by_number: Callable[[Input | Query], int] = attrgetter("number")
_PLACES = {_SYNOPSES: _by_position, _STORES: _by_position, _BASES: _by_number}


def refresh(database: Database, catalogue: Catalogue, thing: Input | Query) -> None:
    """Bring the views up to date with what has been registered or dropped.

    Args:
        database: The database, inside a transaction.
        catalogue: What is registered now.
        thing: What was registered or dropped.
    """
    name = _STORES if isinstance(thing, Input) else _SYNOPSES
    _refresh(database, name, _things(catalogue, name), thing)


def refresh_bases(database: Database, bases: Sequence[Query], query: Query) -> None:
    """Bring the view of bases up to date with one that has been made or dropped.

    Args:
        database: The database, inside a transaction.
        bases: The queries that have one now.
        query: That of which it was made or dropped.
    """
    _refresh(database, _BASES, bases, query)


def _refresh(
    database: Database, name: str, things: Sequence[Input | Query], thing: Input | Query
) -> None:
    page = _PLACES[name](thing) // PAGE
    there = _on_page(things, name, page)
    if there:
        _write_page(database, name, page, there)
    if not there or there == [thing]:
        _write_list(database, things, name)
    if not there:
        database.execute(f"DROP VIEW IF EXISTS {_page(name, page)}")


def refresh_all(database: Database, catalogue: Catalogue, bases: Sequence[Query]) -> None:
    """Make the views anew, inside a transaction.

    Args:
        database: The database.
        catalogue: What is registered.
        bases: The queries that have a base.
    """
    kept = set()
    for name in (_STORES, _SYNOPSES, _BASES):
        things = bases if name == _BASES else _things(catalogue, name)
        for page in _pages(things, name):
            _write_page(database, name, page, _on_page(things, name, page))
            kept.add(_page(name, page))
        _write_list(database, things, name)
    for (view,) in database.rows(
        "SELECT view_name FROM duckdb_views() WHERE database_name = $1 "
        "AND schema_name = 'cql_state' AND regexp_full_match(view_name, $2)",
        [ALIAS, rf"({'|'.join(_COMMENTS)})_\d+"],
    ):
        if f"cql_state.{quoted(view)}" not in kept:
            database.execute(f"DROP VIEW cql_state.{quoted(view)}")


def write_stubs(database: Database, query: Query, reaches: Mapping[str, int | None]) -> None:
    """Write how far a query looks back on its inputs, for `cql.stores`.

    Args:
        database: The database, inside a transaction.
        query: The query.
        reaches: For each input so many instants before its frontier; None if for good.
    """
    if reaches:
        marks = ", ".join(["(?, ?, ?)"] * len(reaches))
        values = [value for name, reach in reaches.items() for value in (query.name, name, reach)]
        database.execute(f"INSERT INTO cql_state.stubs VALUES {marks}", values)


def delete_stubs(database: Database, query: Query) -> None:
    """Delete how far a query looks back, inside a transaction."""
    database.execute("DELETE FROM cql_state.stubs WHERE query = ?", [query.name])


def _things(catalogue: Catalogue, name: str) -> Sequence[Input | Query]:
    return [*catalogue.inputs.values()] if name == _STORES else catalogue.running


def _on_page(things: Iterable[Input | Query], name: str, page: int) -> Sequence[Input | Query]:
    place = _PLACES[name]
    return [thing for thing in things if place(thing) // PAGE == page]


def _pages(things: Iterable[Input | Query], name: str) -> list[int]:
    place = _PLACES[name]
    return sorted({place(thing) // PAGE for thing in things})


def _page(name: str, page: int) -> str:
    return f"cql_state.{quoted(f'{name}_{page}')}"


def _write_page(database: Database, name: str, page: int, things: Sequence[Input | Query]) -> None:
    if name == _SYNOPSES:
        parts = [
            f"SELECT {literal(table)} AS table_name, count(*) AS row_count "
            f"FROM cql_state.{quoted(table)}"
            for (table,) in database.rows(
                "SELECT table_name FROM cql_state.synopses WHERE list_contains(?, query) "
                "ORDER BY ALL",
                [[thing.name for thing in things]],
            )
        ]
    else:
        parts = [_store(one) if isinstance(one, Input) else _base(one) for one in things]
    _write(database, name, _page(name, page), parts)


def _write_list(database: Database, things: Iterable[Input | Query], name: str) -> None:
    pages = [f"FROM {_page(name, page)}" for page in _pages(things, name)]
    _write(database, name, f"cql_state.{name}", pages)


def _store(thing: Input) -> str:
    table = f"cql_state.{quoted(thing.table)}"
    time = "_ts" if thing.kind == "stream" else "_cql_enter"
    return (
        f"SELECT {literal(thing.name)} AS input, {literal(thing.table)} AS table_name, "
        f"count(*) AS row_count, min({time}) AS first_instant, max({time}) AS last_instant "
        f"FROM {table}"
    )


def _base(query: Query) -> str:
    return (
        f"SELECT {literal(query.name)} AS query, {literal(query.base)} AS table_name, "
        f"count(*) AS row_count, max(_ts) AS instant FROM cql_state.{quoted(query.base)}"
    )


def _write(database: Database, name: str, view: str, parts: Sequence[str]) -> None:
    database.view(view, " UNION ALL ".join(parts or [_EMPTY[name]]))
    if view == f"cql_state.{name}":
        database.execute(f"COMMENT ON VIEW {view} IS {literal(_COMMENTS[name])}")
