"""The inspection views that name the tables of what is registered: they count rows exactly.

The other views of schema `cql` are text in `sql/views.sql`. These two are made anew when a stream,
relation or query is registered or dropped.
"""

from __future__ import annotations

from cqlduck.state.catalog import Catalogue
from cqlduck.state.connection import Database, literal, quoted

SYNOPSES = (
    "One row a synopsis: the state that an operator keeps between ticks. groups: sums of each "
    "group; outliers: doubles that are added up anew; rows: the content of a ROWS window; trace: "
    "the log of a materialized input."
)
STORES = (
    "One row a store: where the elements of a stream or relation are kept once, for all queries. "
    "Windows are positions in it."
)


def refresh(database: Database, catalogue: Catalogue) -> None:
    """Make `cql.synopses` and `cql.stores` for what is registered now."""
    parts = [
        f"SELECT {literal(query)} AS query, CAST({operator} AS INTEGER) AS operator, "
        f"{literal(kind)} AS kind, {literal(_shown(table))} AS table_name, "
        f"(SELECT count(*) FROM {_shown(table)}) AS row_count"
        for query, operator, kind, table in database.rows(
            "SELECT query, operator, kind, table_name FROM cql_state.synopses ORDER BY ALL"
        )
    ]
    empty = (
        "SELECT CAST(NULL AS VARCHAR) AS query, CAST(NULL AS INTEGER) AS operator, "
        "CAST(NULL AS VARCHAR) AS kind, CAST(NULL AS VARCHAR) AS table_name, "
        "CAST(NULL AS BIGINT) AS row_count WHERE false"
    )
    _view(database, "synopses", parts or [empty], SYNOPSES)
    parts = [
        f"SELECT name, kind, {literal(_shown(thing.table))} AS table_name, "
        f"(SELECT count(*) FROM {_shown(thing.table)}) AS row_count, "
        "cql_state.shown(forgotten) AS forgotten_until "
        f"FROM cql_state.inputs WHERE name = {literal(thing.name)}"
        for thing in catalogue.inputs.values()
    ]
    empty = (
        "SELECT name, kind, CAST(NULL AS VARCHAR) AS table_name, CAST(NULL AS BIGINT) AS "
        "row_count, CAST(NULL AS VARCHAR) AS forgotten_until FROM cql_state.inputs WHERE false"
    )
    _view(database, "stores", parts or [empty], STORES)


def _shown(table: str) -> str:
    return f"cql_state.{quoted(table)}"


def _view(database: Database, name: str, parts: list[str], comment: str) -> None:
    database.execute(f"CREATE OR REPLACE VIEW cql.{name} AS {' UNION ALL '.join(parts)}")
    database.execute(f"COMMENT ON VIEW cql.{name} IS {literal(comment)}")
