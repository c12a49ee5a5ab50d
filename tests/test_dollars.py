"""Parameters may stand close together, and texts between dollars stay as they are."""

from __future__ import annotations

import datetime as dt

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cqlduck
from cqlduck.rewrite.text.dollars import spaced

PIECES = [
    *("$1", "$2", ",", " ", "(", ")", "+", "||", "a$1", "::INT"),
    *("'$1,$2'", "'it''s $1'", '"$1"', "$$a$1$$", "$t$ $1,$2 $t$", "e'\\'$1,$2'", "$$$$"),
    *("-- $1,$2\n", "/* $1,$2 */"),
]


@pytest.mark.parametrize("listed", ["$1,$2", "$1 ,$2", "$1,\n$2", "?,?", "$k,$v", "($1),($2)"])
def test_parameters_close_together(con: cqlduck.Connection, listed: str) -> None:
    con.execute("CREATE STREAM s (k INTEGER, v VARCHAR); CREATE CONTINUOUS QUERY q AS FROM s")
    values = {"k": 7, "v": "x"} if "$k" in listed else [7, "x"]
    con.execute(f"INSERT INTO s VALUES ({listed})", values)
    con.execute(f"CREATE TABLE t AS SELECT * FROM (VALUES ({listed})) AS t (a, b)", values)
    assert [(7, "x")] == con.sql("FROM t").fetchall()
    assert [(7, "x")] == con.sql(f"SELECT * FROM (VALUES ({listed}))", values).fetchall()
    con.advance(1)
    assert [(7, "x")] == [row[:2] for row in con.table("q").fetchall()]


def test_an_expression_over_parameters_and_a_text_between_dollars(con: cqlduck.Connection) -> None:
    con.execute("CREATE RELATION r (k INTEGER, v VARCHAR, t TIMESTAMP)")
    text = "INSERT INTO r SELECT $1+$2, $3||'$1,$2'||$$ $1,$2 $$, $4"
    con.execute(text, [1, 2, "x", dt.datetime(2024, 1, 1)])
    con.execute("UPDATE r SET k=k+$1,v=v||$2", [4, "y"])
    con.execute("CREATE CONTINUOUS QUERY q AS FROM r")
    con.advance("2024-01-02")
    assert [(7, "x$1,$2 $1,$2 y", dt.datetime(2024, 1, 1))] == con.table("q").fetchall()


def test_a_query_says_that_it_takes_none(con: cqlduck.Connection) -> None:
    con.execute("CREATE STREAM s (k INTEGER)")
    with pytest.raises(cqlduck.NotSupportedError, match="parameter"):
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT k FROM s WHERE k IN ($1,$2)")


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_only_spaces_come_in_and_only_where_they_mean_nothing(text: str) -> None:
    """DuckDB cuts both into the same words, but for where these begin."""
    text_spaced = spaced(text)
    assert text_spaced.replace(" ", "") == text.replace(" ", "")
    before, after = duckdb.tokenize(text), duckdb.tokenize(text_spaced)
    assert [kind for _, kind in before] == [kind for _, kind in after]
