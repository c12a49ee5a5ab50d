"""What is written in terms of other operators: nothing is recomputed, and all is as DuckDB has it.

Names, types and rows are compared with those of the query over plain tables. That the elements are
right at every instant is what `test_sql_differential` says, with random queries of the same kinds.
"""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest

import cqlduck
from cqlduck.rewrite.plan import Recompute, walk

TABLES = {
    "r": (
        "k INTEGER, v BIGINT, t VARCHAR",
        [(1, 10, "a"), (1, 10, "a"), (2, 20, None), (None, 30, "b"), (3, None, "c"), (3, 5, "a")],
    ),
    "u": ("k SMALLINT, c DOUBLE", [(1, 2.5), (2, None), (2, None), (None, 10.0), (5, 20.0)]),
    "nobody": ("k INTEGER, v BIGINT", []),
}

BY_NAME = [
    "SELECT k, v FROM r UNION BY NAME SELECT c, k FROM u",
    "SELECT k, v FROM r UNION ALL BY NAME SELECT c, K FROM u",
    "SELECT c AS V, k FROM u UNION ALL BY NAME SELECT * FROM r",
    "SELECT [t] AS l FROM r UNION BY NAME SELECT {'a': k} AS s FROM u",
    "SELECT k FROM r UNION BY NAME SELECT c AS k, 'x' AS y FROM u UNION BY NAME SELECT t AS y "
    "FROM r",
    "SELECT k, n FROM (SELECT k, count(*) AS n FROM r GROUP BY k UNION BY NAME FROM u) x",
    "SELECT k FROM r WHERE k IN (SELECT k FROM u UNION ALL BY NAME SELECT k FROM r WHERE v > 5)",
]


def compared(body: str) -> tuple[cqlduck.Connection, duckdb.DuckDBPyConnection]:
    """Return cqlduck with a query `q` over relations, and DuckDB with the same in tables."""
    con, plain = cqlduck.connect(), duckdb.connect()
    for name, (columns, rows) in TABLES.items():
        con.execute(f"CREATE RELATION {name} ({columns})")
        plain.execute(f"CREATE TABLE {name} ({columns})")
        if rows:
            plain.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
            con.append(name, rows[::2])
    con.execute(f"CREATE CONTINUOUS QUERY q AS {body}")
    con.advance(1)
    for at, name in enumerate(TABLES, 2):
        if TABLES[name][1]:
            con.append(name, TABLES[name][1][1::2], at=at)
    con.advance(9)
    return con, plain


@pytest.mark.parametrize("body", BY_NAME)
def test_nothing_is_recomputed_and_all_is_as_in_duckdb(body: str) -> None:
    con, plain = compared(body)
    with con, plain:
        plan = con.engine.compiled["q"].plan
        assert not [node.reason for node in walk(plan) if isinstance(node, Recompute)]
        mine, theirs = con.table("q"), plain.sql(body)
        assert theirs.columns == mine.columns
        assert list(map(str, theirs.types)) == list(map(str, mine.types))
        assert Counter(map(str, theirs.fetchall())) == Counter(map(str, mine.fetchall()))
