"""COLLATE in comparisons and ORDER BY, at each instant as in DuckDB; refused where it is kept."""

from __future__ import annotations

import duckdb
import pytest

import cqlduck

TABLES = "CREATE {} s (k INTEGER, a VARCHAR); CREATE {} r (k INTEGER, a VARCHAR)"
QUERIES = [
    "SELECT k FROM s WHERE a COLLATE NOCASE = 'ABC'",
    "SELECT k, a COLLATE NOCASE = 'abc' AS e FROM s",
    "SELECT k, a COLLATE NOCASE.NOACCENT < 'abd' AS e FROM s",
    "SELECT s.k, r.k AS j FROM s JOIN r ON s.a COLLATE NOCASE = r.a",
    "SELECT s.k, r.k AS j FROM s LEFT JOIN r ON s.a COLLATE NOCASE = r.a",
    "SELECT k FROM s SEMI JOIN r ON s.a COLLATE NOCASE = r.a",
    "SELECT k FROM s WHERE a COLLATE NOCASE IN (SELECT a FROM r)",
    "SELECT k FROM s WHERE a COLLATE NOCASE NOT IN (SELECT a FROM r)",
    "SELECT k FROM s WHERE EXISTS (SELECT 1 FROM r WHERE r.a = s.a COLLATE NOCASE)",
    "SELECT k FROM s WHERE k = (SELECT count(*) FROM r WHERE r.a = s.a COLLATE NOCASE)",
    "SELECT a COLLATE NOCASE = 'abc' AS e, count(*) AS n FROM s GROUP BY 1",
    "SELECT k, row_number() OVER (ORDER BY a COLLATE NOCASE, k, a) AS n FROM s",
    "SELECT k FROM s WHERE (a COLLATE NOCASE || 'x') LIKE 'abcX'",
]


def test_comparisons_under_a_collation_are_those_of_duckdb():
    plain = duckdb.connect()
    plain.execute(TABLES.format("TABLE", "TABLE"))
    with cqlduck.connect() as con:
        con.execute(TABLES.format("STREAM", "RELATION"))
        for place, query in enumerate(QUERIES):
            con.execute(
                f"CREATE CONTINUOUS QUERY q{place} AS {query.replace('FROM s', 'FROM s [ROWS 99]')}"
            )
        for instant in (1, 2):
            mine = [(instant, "abc"), (instant + 3, "ABC"), (2, "x"), (3, "ábd"), (1, None)]
            theirs = [(instant, "Abc"), (instant, "ABc")]
            for name, rows in (("s", mine), ("r", theirs)):
                con.append(name, rows, at=instant)
                plain.executemany(f"INSERT INTO {name} VALUES (?, ?)", rows)
            con.advance(instant)
            for place, query in enumerate(QUERIES):
                wanted = sorted(map(repr, plain.execute(query).fetchall()))
                assert wanted == sorted(map(repr, con.table(f"q{place}").fetchall())), query


def test_the_order_of_an_answer_goes_by_a_collation():
    with cqlduck.connect() as con:
        con.execute(TABLES.format("STREAM", "RELATION"))
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT a FROM r ORDER BY a COLLATE NOCASE")
        con.append("r", [(1, "b"), (2, "C"), (3, "A")], at=1)
        con.advance(1)
        assert [("A",), ("b",), ("C",)] == con.table("q").fetchall()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a COLLATE NOCASE AS x FROM s",
        "SELECT DISTINCT a COLLATE NOCASE AS x FROM s",
        "SELECT count(*) AS n FROM s GROUP BY a COLLATE NOCASE",
        "SELECT max(a COLLATE NOCASE) AS m FROM s",
        "SELECT x FROM (SELECT a COLLATE NOCASE AS x FROM s) y WHERE x = 'ABC'",
    ],
)
def test_a_collation_that_would_be_kept_is_refused(query):
    with cqlduck.connect() as con:
        con.execute(TABLES.format("STREAM", "RELATION"))
        text = f"CREATE CONTINUOUS QUERY q AS {query}"
        with pytest.raises(cqlduck.NotSupportedError, match="COLLATE") as error:
            con.execute(text)
        assert "lower" in error.value.hint
        assert text.index("a COLLATE") == error.value.offset


def test_a_collation_of_a_column_is_refused_by_name():
    with cqlduck.connect() as con:
        for kind in ("STREAM", "RELATION"):
            with pytest.raises(cqlduck.NotSupportedError, match="COLLATE on column a"):
                con.execute(f"CREATE {kind} t (k INTEGER, a VARCHAR COLLATE NOCASE)")
