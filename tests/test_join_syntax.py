"""A JOIN says what it joins on, as in DuckDB: what DuckDB's parser refuses is refused here."""

from __future__ import annotations

import itertools

import duckdb
import pytest

import cqlduck
from cqlduck.rewrite.text.queries import parse_query

KINDS = [
    "JOIN", "INNER JOIN", "CROSS JOIN", "NATURAL JOIN", "LEFT JOIN", "RIGHT OUTER JOIN",
    "FULL JOIN", "SEMI JOIN", "ANTI JOIN", "ASOF JOIN", "ASOF LEFT JOIN", "NATURAL LEFT JOIN",
    "POSITIONAL JOIN", ",",
]  # fmt: skip
ITEMS = ["t", "(SELECT * FROM t) u", "(t JOIN r USING (k)) x"]
SAID = ["", "ON s.k = 1", "USING (k)"]
CHAINS = [
    "s JOIN t JOIN r ON t.k = r.k",
    "s JOIN t JOIN r ON t.k = r.k ON s.k = t.k",
    "s JOIN t ON s.k = t.k JOIN r",
    "s, t JOIN r",
    "s JOIN t USING (k), r",
    "(s JOIN t)",
    "s JOIN LATERAL (SELECT s.k AS z) y",
    "s CROSS JOIN LATERAL (SELECT s.k AS z) y",
    "(FROM s JOIN t) x",
]


def test_a_join_is_read_exactly_if_duckdb_reads_it():
    database = duckdb.connect()
    written = [f"s {k} {i} {on}".strip() for k, i, on in itertools.product(KINDS, ITEMS, SAID)]
    for name in "str":
        database.execute(f"CREATE TABLE {name} (k INTEGER, v INTEGER)")
    refused = 0
    for clause in [*written, *CHAINS]:
        query = f"SELECT 1 AS one FROM {clause}"
        try:
            database.extract_statements(query)
        except duckdb.Error:
            refused += 1
            with pytest.raises(cqlduck.ParseError):
                parse_query(query)
        else:
            parse_query(query)
    assert 30 < refused < len(written)


def test_a_join_without_on_is_told_of_cross_join_and_shown():
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (k INTEGER); CREATE RELATION r (k INTEGER)")
        text = "CREATE CONTINUOUS QUERY q AS SELECT * FROM s JOIN r"
        with pytest.raises(cqlduck.ParseError, match="has no condition") as error:
            con.execute(text)
        assert text.index("r", text.index("JOIN")) == error.value.offset
        assert "CROSS JOIN" in error.value.hint
        con.execute(text.replace("JOIN", "CROSS JOIN"))
        con.append("s", [(1,), (2,)], at=1)
        con.append("r", [(7,)], at=1)
        con.advance(1)
        assert [(1, 7), (2, 7)] == sorted(con.table("q").fetchall())
