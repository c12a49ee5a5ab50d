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


IN_PARENTHESES = [
    "SELECT r.k, a.w FROM r, ((SELECT k, v AS w FROM s) a LEFT JOIN t ON t.k = a.k)",
    "SELECT r.k, a.w FROM r LEFT JOIN ((SELECT k, v AS w FROM s) a LEFT JOIN t ON t.k = a.k) "
    "ON r.k = a.k",
    "SELECT * FROM ((SELECT k, v AS w FROM s) a JOIN t ON t.k = a.k)",
    "SELECT * FROM ((SELECT k AS j, v AS w FROM s) a JOIN t ON t.k = a.j) AS x",
    "SELECT w FROM (((SELECT k AS j, v AS w FROM s) a JOIN t ON t.k = a.j) JOIN r ON r.k = a.j)",
    "SELECT w FROM ((SELECT k AS j, v AS w FROM s) a NATURAL JOIN (SELECT k AS j FROM t) b)",
    "SELECT w FROM (((SELECT k AS j, v AS w FROM s)) a SEMI JOIN t ON t.k = a.j)",
    "SELECT k, (SELECT max(v) FROM r) AS m FROM ((SELECT k FROM s) a CROSS JOIN (SELECT v FROM t))",
]


@pytest.mark.parametrize("recompute", ["allow", "always"])
def test_a_join_in_parentheses_may_begin_with_a_subquery(recompute):
    content = {"s": [(1, 1), (2, 2), (2, 3)], "t": [(2, 4), (2, 5), (4, 6)], "r": [(1, 7), (2, 8)]}
    database = duckdb.connect()
    with cqlduck.connect(recompute=recompute) as con:
        for name, rows in content.items():
            database.execute(f"CREATE TABLE {name} (k INTEGER, v INTEGER)")
            database.executemany(f"INSERT INTO {name} VALUES (?, ?)", rows)
            con.execute(f"CREATE RELATION {name} (k INTEGER, v INTEGER)")
            con.append(name, rows, at=1)
        for number, text in enumerate(IN_PARENTHESES):
            body = f"SELECT count(*) AS n, * FROM ({text}) GROUP BY ALL"
            con.execute(f"CREATE CONTINUOUS QUERY q{number} AS {body}")
        con.advance(2)
        for number, text in enumerate(IN_PARENTHESES):
            body = f"SELECT count(*) AS n, * FROM ({text}) GROUP BY ALL"
            wanted = database.execute(body).fetchall()
            found = con.sql(f"FROM q{number}").fetchall()
            assert sorted(wanted, key=repr) == sorted(found, key=repr), text
