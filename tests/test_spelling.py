"""What cannot be read is told in words of ours: the word, its place, and what was meant."""

from __future__ import annotations

import re

import pytest

import cqlduck

TABLES = "CREATE STREAM s (k INTEGER, v BIGINT); CREATE RELATION r (k INTEGER)"
QUERIES = {
    "SELECT k FROM s [RANG 5]": ("RANG", "RANGE"),
    "SELECT k FROM s [ROW 5]": ("ROW", "ROWS"),
    "SELECT k FROM s [TUMBEL 5] x": ("TUMBEL", "TUMBLE"),
    "SELECT k FROM (SELECT k FROM s) [RAGNE 5] x": ("RAGNE", "RANGE"),
    "SELECT k, count(*) AS n FROM s GRUOP BY k": ("GRUOP", "GROUP BY"),
    "SELECT k FROM s WHRE k > 1": ("WHRE", "WHERE"),
    "SELECT k FORM s": ("FORM", "FROM"),
    "SELECT k, count(*) AS n FROM s GROUP BY k HAVNG count(*) > 1": ("HAVNG", "HAVING"),
    "SELECT k FROM s ODER BY k": ("ODER", "ORDER BY"),
    "SELECT k FROM s LIMTI 5": ("LIMTI", "LIMIT"),
    "SELECT s.k FROM s JION r ON s.k = r.k": ("JION", "JOIN"),
    "SELECT Istraem(k) FROM s [ROWS 5]": (None, "Istream"),
    "SELECT uper('a') AS u FROM s": (None, "upper"),
}
STATEMENTS = {
    "CREATE STREEM t (k INTEGER)": ("STREEM", "STREAM"),
    "CREATE REALTION t (k INTEGER)": ("REALTION", "RELATION"),
    "CREATE OR REPLACE CONTINOUS QUERY q AS SELECT k FROM s": ("CONTINOUS", "CONTINUOUS QUERY"),
    "CRAETE STREAM t (k INTEGER)": ("CRAETE", "CREATE"),
    "DROP STREEM s": ("STREEM", "STREAM"),
    "ALTER STRAEM s HEARTBEAT 5": ("STRAEM", "STREAM"),
    "SHOW STREMS": ("STREMS", "STREAMS"),
    "REFRSH RELATION r": ("REFRSH", "REFRESH"),
    "SELCT 1": ("SELCT", "SELECT"),
}
BENEATH = re.compile(
    r"sqlglot|Unexpected token|Invalid expression|Parser Error|Catalog Error|Binder Error|"
    r"Required keyword|Expecting|<class|syntax error",
    re.IGNORECASE,
)


@pytest.fixture(scope="module")
def con():
    with cqlduck.connect() as con:
        con.execute(TABLES)
        yield con


def check(con: cqlduck.Connection, text: str, word: str | None, meant: str) -> None:
    with pytest.raises(cqlduck.Error) as error:
        con.execute(text)
    assert f"did you mean {meant}?" == error.value.hint
    assert BENEATH.search(str(error.value)) is None
    if word is not None:
        assert text.index(word) == error.value.offset


@pytest.mark.parametrize("query", QUERIES)
def test_a_misspelt_word_of_a_query_is_met_with_what_was_meant(con, query):
    check(con, f"CREATE CONTINUOUS QUERY q AS {query}", *QUERIES[query])


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_misspelt_statement_is_met_with_what_was_meant(con, text):
    check(con, text, *STATEMENTS[text])


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k FROM s WHERE",
        "SELECT k FROM s WHERE k >",
        "SELECT k FROM s s s",
        "SELECT (k FROM s",
        "SELECT k) FROM s",
        "SELECT k FROM s [",
        "SELECT k FROM s []",
        "SELECT k FROM s [5]",
        "SELECT k FROM s 5",
        "SELECT f(lambda: 1) FROM s",
        "SELECT CASE WHEN k END FROM s",
        "SELECT k AS FROM s",
        "SELECT k FROM s ORDER k",
        "SELECT k FROM s UNION",
        "SELECT 'open FROM s",
        "SELECT k FROM s JOIN",
        "SELECT k BETWEEN 1 FROM s",
        "SELECT CAST(k INTEGER) FROM s",
        "SELECT k::NOTYPE FROM s",
        "SELECT k FROM",
        "WITH x AS SELECT 1 SELECT k FROM s",
        "SELECT nofunction(k) FROM s",
        "SELECT k FROM s WHERE k LIKE",
        "SELECT {'a': } FROM s",
        "SELECT [1, FROM s",
        "SELECT k COLLATE FROM s",
        "SELECT k AT TIME ZONE FROM s",
        "SELECT sum(k) OVER (PARTITION k) FROM s",
        "SELECT k FROM s ASOF JOIN",
        "INSERT 5",
    ],
)
def test_no_error_is_in_the_words_of_a_parser_beneath(con, query):
    text = f"CREATE CONTINUOUS QUERY broken AS {query}"
    with pytest.raises(cqlduck.Error) as error:
        con.execute(text)
    assert BENEATH.search(str(error.value)) is None
    assert 0 <= error.value.offset < len(text)


@pytest.mark.parametrize(
    "text",
    ["SELECT 1 +", "CREATE TABLE x (", "INSERT INTO r VALUES (1", "SELECT * FORM r", "UPDATE r",
     "CREATE STREAM x", "CREATE STREAM x (k NOTYPE)", "DROP", "CREATE", "SELECT nofunction(1)"],
)  # fmt: skip
def test_no_statement_fails_in_the_words_of_a_parser_beneath(con, text):
    with pytest.raises(cqlduck.Error) as error:
        con.execute(text)
    assert BENEATH.search(str(error.value)) is None


def test_statements_of_duckdb_are_left_alone(con):
    con.execute(
        "CREATE TABLE streem (k INTEGER); CREATE VIEW steam AS FROM streem; DROP VIEW steam"
    )
    con.execute("CREATE SCHEMA relations; DROP TABLE streem; SHOW TABLES; PRAGMA version")
    con.execute("CREATE SEQUENCE steam; RESET threads; ANALYZE; CALL pragma_version()")
