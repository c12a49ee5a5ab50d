"""What is wrong gets an error that says what, where and what to do, and the rest goes on."""

import contextlib
import datetime as dt
import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

import cqlduck
from cqlduck.engine import Engine
from cqlduck.rewrite.text import inputs
from cqlduck.sources import dropzone

INPUTS = """
    CREATE STREAM s (a INTEGER, b VARCHAR);
    CREATE STREAM u (a INTEGER);
    CREATE RELATION r (a INTEGER, b VARCHAR);
"""


def elements(con: cqlduck.Connection, name: str) -> list[tuple[Any, ...]]:
    rows = con.changes(name).fetchall()
    return sorted(rows, key=lambda row: (row[-2], row[-1], repr(row)))


def refused(kind: type[cqlduck.Error], call: Callable[[], Any], *words: str) -> cqlduck.Error:
    """The error of a call: of this kind, with these words in what it says."""
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, cqlduck.Error)
    for word in words:
        assert word.lower() in str(caught.value).lower()
    return caught.value


def catalogue(con: cqlduck.Connection) -> list[Any]:
    """All that is registered, and how many elements there are."""
    # the tables below the views, which are planned ten times as fast
    tables = ("input_rows", "query_rows", "operators", "late")
    return [sorted(con.sql(f"FROM cql_state.{table}").fetchall(), key=repr) for table in tables]


@pytest.fixture(scope="module")
def refusing() -> Iterator[tuple[cqlduck.Connection, list[Any]]]:
    """A connection that is as it was after all that it refuses; and what is in it.

    At the end what was there goes on, and the names are still free.
    """
    with cqlduck.connect() as con:
        con.execute(INPUTS)
        con.execute("CREATE TABLE plain (a INTEGER); CREATE VIEW seen AS FROM plain")
        con.execute("CREATE CONTINUOUS QUERY there AS SELECT a FROM s [ROWS 1]")
        yield con, catalogue(con)
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT a FROM s [ROWS 1]")
        con.execute("CREATE STREAM x (a INTEGER)")
        con.append("s", [(1, "x")], at=1)
        con.append("x", [(2,)], at=1)
        assert 1 == con.advance(1)
        assert [(1, 1, 1)] == elements(con, "q") == elements(con, "there")


# --------------------------------------------------------------------------------------- the texts


@pytest.mark.parametrize("clause", [*inputs._OF_STREAM])
def test_a_clause_that_is_there_twice_is_refused_and_not_the_last_one_taken(
    con: cqlduck.Connection, clause: str
) -> None:
    """Whichever it is: the values of the two may differ."""
    values = {"TIMESTAMP BY": "a", "LATE": "KEEP", "FROM": "'folder'"}
    once = f"CREATE STREAM x (a INTEGER) {clause} {values.get(clause, '5')}"
    error = refused(
        cqlduck.ParseError, lambda: con.execute(f"{once} {once[28:]}"), clause, "is there twice"
    )
    assert len(once) + 1 == error.offset


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        # Names. The mark stands before the place that the error points at.
        ("SELECT a FROM ¦nothing", cqlduck.CatalogError, ["nothing"]),
        ("SELECT a FROM s [ROWS 5], ¦S2 [ROWS 1]", cqlduck.CatalogError, ["S2", "did you mean"]),
        ("SELECT a,\n       ¦c\nFROM s", cqlduck.BindError, ["c"]),
        ("SELECT s.¦c FROM s", cqlduck.BindError, ["c", "s"]),
        ("SELECT ¦x.a FROM s", cqlduck.BindError, ["x"]),
        ("SELECT a FROM s WHERE ¦aa > 1", cqlduck.BindError, ["aa", "did you mean"]),
        ("SELECT ¦a FROM s [NOW], u [NOW]", cqlduck.BindError, ["ambiguous", "s.a"]),
        ("SELECT x.* FROM s [NOW] x, ¦u [NOW] x", cqlduck.BindError, ["twice"]),
        ("SELECT a FROM s [PARTITION BY ¦c ROWS 1]", cqlduck.BindError, ["c"]),
        ("SELECT s.a FROM s [NOW] JOIN r USING (zz)", cqlduck.BindError, ["zz"]),
        ("SELECT b FROM s [ROWS 1] GROUP BY a", cqlduck.BindError, ["b", "GROUP BY"]),
        # Types.
        ("SELECT a + b[1] FROM s WHERE b > [1]", cqlduck.BindError, []),
        ("SELECT nofunction(a) FROM s", cqlduck.BindError, ["nofunction"]),
        ("SELECT sum(b) FROM s [ROWS 1]", cqlduck.BindError, ["sum"]),
        ("SELECT ¦count(DISTINCT *) AS n FROM s", cqlduck.BindError, ["count(DISTINCT (a, b))"]),
        ("SELECT CAST(a AS NOTYPE) FROM s", cqlduck.Error, ["notype"]),
        # Windows.
        ("SELECT a FROM r ¦[ROWS 5]", cqlduck.BindError, ["r", "relation", "stream"]),
        ("SELECT a FROM s [ROWS 5] ¦[NOW]", cqlduck.Error, ["window"]),
        ("SELECT a FROM s [ROWS ¦0]", cqlduck.ParseError, ["ROWS"]),
        ("SELECT a FROM s [ROWS ¦99999999999999999999]", cqlduck.ParseError, ["ROWS"]),
        ("SELECT a FROM s [ROWS ¦1.5]", cqlduck.ParseError, ["ROWS"]),
        ("SELECT a FROM s [RANGE ¦1 MONTH]", cqlduck.ParseError, ["MONTH", "DAYS"]),
        ("SELECT a FROM s [RANGE ¦5 PARSECS]", cqlduck.ParseError, ["PARSECS"]),
        ("SELECT a FROM s ¦[ROWS 5", cqlduck.ParseError, ["closed"]),
        ("SELECT a FROM s [ROWS 5 RANGE 5]", cqlduck.ParseError, ["PARTITION BY"]),
        ("SELECT a FROM s [PARTITION BY a]", cqlduck.ParseError, ["ROWS"]),
        ("SELECT a FROM s [RANGE 5 SLIDE 0]", cqlduck.Error, ["slide"]),
        ("SELECT a FROM s [ROWS 5 ¦NONSENSE]", cqlduck.ParseError, ["NONSENSE"]),
        # Relation-to-stream operators.
        ("SELECT Istream(a), b FROM s [NOW]", cqlduck.Error, ["istream"]),
        ("SELECT Istream(Dstream(a)) FROM s [NOW]", cqlduck.Error, ["stream"]),
        # What is not deterministic.
        ("SELECT ¦random() AS x FROM s", cqlduck.NotSupportedError, ["random", "deterministic"]),
        ("SELECT a FROM s WHERE random() < 0.5", cqlduck.NotSupportedError, ["random"]),
        ("SELECT uuid() FROM s [ROWS 1]", cqlduck.NotSupportedError, ["uuid"]),
        ("SELECT gen_random_uuid() FROM s", cqlduck.NotSupportedError, ["uuid"]),
        ("SELECT now() FROM s", cqlduck.BindError, ["now()", "heartbeat"]),
        ("SELECT current_timestamp FROM s", cqlduck.BindError, ["current_timestamp"]),
        ("SELECT current_date FROM s", cqlduck.BindError, ["current_date"]),
        ("SELECT a FROM s ORDER BY random()", cqlduck.NotSupportedError, ["random"]),
        # Positions that the answer has not.
        ("SELECT a FROM s [ROWS 1] ORDER BY 2", cqlduck.BindError, ["ORDER BY 2", "1 to 1"]),
        ("SELECT a FROM s [ROWS 1] ORDER BY a, (0) DESC", cqlduck.BindError, ["ORDER BY 0"]),
        ("SELECT a FROM s [ROWS 1] ORDER BY -1", cqlduck.BindError, ["ORDER BY -1"]),
        ("SELECT a FROM s [ROWS 1] ORDER BY 1.5", cqlduck.BindError, ["ORDER BY 1.5"]),
        ("SELECT a FROM s [ROWS 1] ORDER BY 'a'", cqlduck.BindError, ["ORDER BY 'a'"]),
        ("SELECT a FROM s [ROWS 1] ORDER BY NULL", cqlduck.BindError, ["ORDER BY NULL"]),
        ("SELECT a FROM s ORDER BY 2", cqlduck.BindError, ["ORDER BY 2"]),
        ("SELECT count(*) FILTER (WHERE random() < 1) FROM s", cqlduck.NotSupportedError, []),
        ("SELECT a FROM s [ROWS 5 WHERE random() < 0.5]", cqlduck.NotSupportedError, ["random"]),
        # What is no stream or relation.
        ("SELECT * FROM ¦plain", cqlduck.NotSupportedError, ["plain", "CREATE RELATION"]),
        ("SELECT * FROM ¦seen", cqlduck.NotSupportedError, ["seen", "CREATE RELATION"]),
        ("SELECT * FROM range(5)", cqlduck.BindError, ["reads nothing"]),
        ("SELECT * FROM read_csv('x.csv')", cqlduck.NotSupportedError, ["CREATE RELATION"]),
        ("SELECT 1", cqlduck.BindError, ["FROM"]),
        ("SELECT a FROM s WHERE a = ?", cqlduck.NotSupportedError, ["parameter"]),
        # Windows that are none.
        ("SELECT a FROM s [ROWS 5 ¦SECONDS]", cqlduck.ParseError, ["[RANGE 5 SECONDS]"]),
        ("SELECT a FROM s [TUMBLE 5 ¦EVERY 2]", cqlduck.ParseError, ["HOP w EVERY s"]),
        ("SELECT a FROM s [PARTITION BY ROWS ¦1]", cqlduck.ParseError, ["PARTITION BY a ROWS 10"]),
        ("SELECT a FROM s [RANGE 5 ¦SLIED 2]", cqlduck.ParseError, ["did you mean SLIDE?"]),
        ("SELECT a FROM s [ROWS]", cqlduck.ParseError, ["ROWS needs a number of rows"]),
        ("SELECT a FROM s [ROWS ¦-1]", cqlduck.ParseError, ["not -1"]),
        # Texts that are none.
        ("SELECT FROM s", cqlduck.BindError, ["SELECT lists no columns"]),
        ("SELECT a FROM s WHERE", cqlduck.ParseError, []),
        ("SELECT FROM WHERE", cqlduck.ParseError, []),
        ("SELECT 'open FROM s", cqlduck.ParseError, ["never closed"]),
        ("SELECT a FROM s ¦WITH (keep = '1 day')", cqlduck.ParseError, ["options", "before AS"]),
        ("SELECT arg_max¦(a,", cqlduck.ParseError, ["closed"]),
        ("SELECT list(a¦] FROM s", cqlduck.ParseError, ["closes nothing"]),
        ('SELECT a AS ¦"" FROM s', cqlduck.ParseError, ["a name is not empty"]),
        ("SELECT arg_max(a) FROM s", cqlduck.Error, ["arg_max"]),
        ("SELECT ¦* b FROM s", cqlduck.BindError, ["alias"]),
        ("SELECT x.a FROM ¦s [NOW] AS x (b)", cqlduck.BindError, ["two columns", "b"]),
        ("SELECT a,\n  a b c FROM s", cqlduck.ParseError, []),
        ("SELECT ¦\ud800 FROM s", cqlduck.ParseError, ["half"]),
        ("INSERT INTO s VALUES (1, 'x')", cqlduck.Error, []),
        ("SELECT a FROM s WHERE count(*) > 1", cqlduck.BindError, ["HAVING"]),
        # Reserved names.
        ("SELECT a AS _ts FROM s [ROWS 1]", cqlduck.Error, ["_ts", "reserved"]),
        ("SELECT a AS _weight FROM s [ROWS 1]", cqlduck.Error, ["_weight", "reserved"]),
        ("SELECT _ts FROM s [ROWS 1]", cqlduck.Error, ["_ts", "reserved"]),
        ("SELECT a AS ¦_CQL_at FROM s [ROWS 1]", cqlduck.BindError, ["_CQL_at", "reserved"]),
        (
            'SELECT ¦"_cql_next" FROM (SELECT a AS b FROM s [ROWS 1]) AS t ("_cql_next")',
            cqlduck.BindError,
            ["_cql_next", "reserved"],
        ),
        # Types, wherever they do not fit.
        ("SELECT a FROM s WHERE a = 3 AND ¦b > 3", cqlduck.BindError, ["VARCHAR", "cast"]),
        ("SELECT s.a FROM s JOIN r ON s.a = r.a AND ¦s.b > r.a", cqlduck.BindError, ["INTEGER"]),
        ("SELECT s.a FROM s LEFT JOIN r ON ¦s.b > r.a", cqlduck.BindError, ["INTEGER"]),
        ("SELECT a FROM s [ROWS 3 WHERE ¦b > 3]", cqlduck.BindError, ["VARCHAR", "cast"]),
        ("SELECT a FROM s GROUP BY a HAVING max(b) > 3", cqlduck.BindError, ["VARCHAR"]),
        ("SELECT a FROM s WHERE ¦a > (SELECT max(b) FROM s)", cqlduck.BindError, ["VARCHAR"]),
        ("SELECT a FROM s UNION SELECT a FROM r WHERE ¦b + 1", cqlduck.BindError, ["VARCHAR"]),
        ("SELECT a, ¦a + b FROM s", cqlduck.BindError, ["+(INTEGER, VARCHAR)"]),
        ("SELECT a FROM s WHERE ¦unknown(a) = 3", cqlduck.BindError, ["unknown"]),
    ],
)
def test_a_query_that_is_refused(
    refusing: tuple[cqlduck.Connection, list[Any]],
    text: str,
    kind: type[cqlduck.Error],
    words: list[str],
) -> None:
    con, before = refusing
    compiled = con.engine.compiled["there"]
    whole = f"CREATE CONTINUOUS QUERY q AS\n    {text}"
    error = refused(kind, lambda: con.execute(whole.replace("¦", "")), *words)
    if "¦" in whole:
        ahead = whole[: whole.index("¦")]
        assert (ahead.count("\n") + 1, len(ahead) - ahead.rfind("\n")) == (error.line, error.column)
        assert "^" in str(error)
    assert str(error).encode()
    assert before == catalogue(con)
    assert compiled is con.engine.compiled["there"], "the others are not compiled again"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("CREATE STREAM ¦", []),
        ("CREATE STREAM x", ["columns"]),
        ("CREATE STREAM x ()", []),
        ("CREATE STREAM x (a)", ["type", "a"]),
        ("CREATE STREAM x (a NOTYPE)", ["a", "NOTYPE"]),
        ("CREATE STREAM x (a INTEGER, ¦A VARCHAR)", ["A", "twice"]),
        ("CREATE RELATION x (a INTEGER, PRIMARY KEY (a, ¦A))", ["A", "twice"]),
        ("CREATE RELATION x (a INTEGER) AT 4 ¦AT 5 FROM (SELECT 1 AS a)", ["AT", "twice"]),
        ("CREATE STREAM x (¦_ts INTEGER)", ["_ts", "reserved"]),
        ("CREATE STREAM x (a INTEGER, ¦_Weight INTEGER)", ["_Weight", "reserved"]),
        ("CREATE RELATION x (¦_OP VARCHAR)", ["_OP", "reserved"]),
        ("CREATE STREAM x (a INTEGER, ¦_cql_seq INTEGER)", ["_cql_seq", "reserved"]),
        ("CREATE RELATION x (¦_CQL_enter INTEGER)", ["_CQL_enter", "reserved"]),
        ('CREATE RELATION x (a INTEGER, ¦"_cql_leave" INTEGER)', ["_cql_leave", "reserved"]),
        ("CREATE RELATION x (a INTEGER, ¦_cql_rowid INTEGER)", ["_cql_rowid", "reserved"]),
        ("CREATE RELATION x (¦_cql_held INTEGER, a INTEGER)", ["_cql_held", "reserved"]),
        ("CREATE RELATION x (¦_cql_Same INTEGER, a INTEGER)", ["_cql_Same", "reserved"]),
        ("CREATE STREAM x (a INTEGER, ¦_cql_of_mine INTEGER)", ["_cql_of_mine", "reserved"]),
        ('CREATE RELATION x (¦"_ts" VARCHAR)', ["_ts", "reserved"]),
        ("CREATE STREAM x (a INTEGER) TIMESTAMP BY ¦t", ["t", "a"]),
        ("CREATE STREAM x (a VARCHAR) TIMESTAMP BY a", ["VARCHAR", "TIMESTAMP"]),
        ("CREATE STREAM x (a DOUBLE) TIMESTAMP BY a", ["DOUBLE", "TIMESTAMP"]),
        ("CREATE STREAM x (a INTEGER) LATE ¦SOMETIMES", ["SOMETIMES", "REJECT"]),
        ("CREATE STREAM x (a INTEGER) OUT OF ORDER WITHIN", []),
        ("CREATE STREAM x (a INTEGER) OUT OF ORDER WITHIN 1 YEAR", ["YEAR"]),
        ("CREATE STREAM x (a INTEGER) ¦EVERY DAY", ["EVERY", "TIMESTAMP BY"]),
        ("CREATE STREAM x (a INTEGER) PRIMARY KEY (a)", ["TIMESTAMP BY"]),
        ("CREATE RELATION x (a INTEGER) PRIMARY KEY (b)", ["b", "a"]),
        ("CREATE RELATION x (a INTEGER) TIMESTAMP BY a", ["PRIMARY KEY"]),
        ("CREATE CONTINUOUS x AS SELECT a FROM s", ["QUERY"]),
        ("CREATE CONTINUOUS QUERY x SELECT a FROM s", ["AS"]),
        ("CREATE CONTINUOUS QUERY x AS", []),
        ("CREATE CONTINUOUS QUERY x WITH (speed = 1) AS SELECT a FROM s", ["speed"]),
        ("ALTER CONTINUOUS QUERY there ¦SOON", ["ACTIVATE"]),
        ("DROP STREAM", []),
        ("DROP STREAM ¦nothing", ["nothing"]),
        ("DROP CONTINUOUS QUERY ¦their", ["their", "did you mean there"]),
        ("DROP STREAM ¦s", ["there"]),
        ("INSERT INTO ¦nothing VALUES (1)", ["nothing"]),
        ("INSERT INTO s VALUES (1)", []),
        ("INSERT INTO r VALUES ('x', 'y')", []),
        ("INSERT INTO there VALUES (1)", ["there", "inputs"]),
        ("UPDATE s SET a = 1", ["s", "stream"]),
        ("DELETE FROM s", ["s", "stream"]),
        ("UPDATE r SET c = 1", ["c"]),
        ("SELECT a FROM ¦nothing", ["nothing"]),
        ("WITH x AS (" * 6 + "¦WITH x AS (SELEC" + ")" * 7, ["nested", "one after the other"]),
        ("CREATE TABLE s (a INTEGER)", ["s"]),
        ("DROP TABLE s", ["s"]),
        ("DROP VIEW there", ["there"]),
        ("DROP VIEW s", ["s"]),
        ("CREATE OR REPLACE VIEW There AS SELECT 1 AS a", ["there"]),
        ("CREATE OR REPLACE TABLE there AS SELECT 1 AS a", ["there"]),
        ("ALTER VIEW there RENAME TO theirs", ["there"]),
        ("BEGIN", ["transaction"]),
        ("COMMIT", ["transaction"]),
    ],
)
def test_a_statement_that_is_refused(
    refusing: tuple[cqlduck.Connection, list[Any]], text: str, words: list[str]
) -> None:
    con, before = refusing
    whole = f"SELECT 1;\n{text}".replace("¦", "").rstrip()
    error = refused(cqlduck.Error, lambda: con.execute(whole), *words)
    assert 2 == error.line
    if "¦" in text and text.index("¦") + 1 < len(text):
        assert text.index("¦") + 1 == error.column
    assert before == catalogue(con)


@pytest.mark.parametrize(
    "wrong",
    [
        "SELECT nothing",
        "CREATE STREAM s (a INTEGER)",
        "CREATE CONTINUOUS QUERY y AS SELECT c FROM s",
        "INSERT INTO r VALUES ('one', 'x')",
        "DROP RELATION nothing",
    ],
)
def test_what_stands_around_a_wrong_statement_is_not_done(
    con: cqlduck.Connection, wrong: str
) -> None:
    con.execute(INPUTS)
    con.execute("CREATE CONTINUOUS QUERY there AS SELECT a, b FROM r; CREATE TABLE t (a INTEGER)")
    con.append("r", [(1, "x")], at=0)
    before = catalogue(con)
    script = f"""
        DROP STREAM u;
        CREATE STREAM x (a INTEGER);
        INSERT INTO r VALUES (2, 'y');
        INSERT INTO t VALUES (1);
        CREATE OR REPLACE CONTINUOUS QUERY there AS SELECT b FROM r;
        ALTER CONTINUOUS QUERY there DEACTIVATE;
        {wrong};
        CREATE RELATION x2 (a INTEGER);
        INSERT INTO t VALUES (2);
    """
    error = refused(cqlduck.Error, lambda: con.execute(script))
    assert 8 == error.line
    assert before == catalogue(con)
    assert [] == con.sql("FROM t").fetchall()
    con.append("u", [(1,)], at=3)
    con.advance(3)
    assert [(1, "x", 0, 1)] == elements(con, "there")


@pytest.mark.parametrize("first", ["STREAM", "RELATION", "CONTINUOUS QUERY", "TABLE", "VIEW"])
@pytest.mark.parametrize("second", ["STREAM", "RELATION", "CONTINUOUS QUERY", "TABLE", "VIEW"])
def test_one_namespace_without_regard_to_case(
    con: cqlduck.Connection, first: str, second: str
) -> None:
    con.execute("CREATE STREAM base (a INTEGER)")
    texts = {
        "STREAM": "CREATE STREAM {} (a INTEGER)",
        "RELATION": "CREATE RELATION {} (a INTEGER)",
        "CONTINUOUS QUERY": "CREATE CONTINUOUS QUERY {} AS SELECT a FROM base [ROWS 1]",
        "TABLE": "CREATE TABLE {} (a INTEGER)",
        "VIEW": "CREATE VIEW {} AS SELECT 1 AS a",
    }
    con.execute(texts[first].format("Thing"))
    before = catalogue(con)
    refused(cqlduck.Error, lambda: con.execute(texts[second].format("tHING")), "thing")
    assert before == catalogue(con)
    con.execute(texts[second].format("another"))


# ---------------------------------------------------------------------------------------- the rows


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([("one", "x")], ["s", "one"]),
        ([(1, "x"), ("two", "y")], ["two"]),
        ([(2**40, "x")], ["s"]),
        ([(1,)], ["row 0", "1", "2", "a, b"]),
        ([(1, "x"), (2, "y", 3)], ["row 1", "3"]),
        ([1, 2], ["row 0", "int"]),
        (["ab"], ["row 0", "str"]),
        ("ab", ["str"]),
        (17, ["int"]),
        (None, ["NoneType"]),
        ([{"a": 1}], ["b"]),
        ([{"a": 1, "b": "x", "c": 2}], ["c"]),
        ([{"a": 1, "bb": "x"}], ["bb", "did you mean b"]),
        (pd.DataFrame({"a": [1], "c": ["x"]}), ["lacks b", "c"]),
        (pd.DataFrame({"a": ["one"], "b": ["x"]}), ["one"]),
        (pa.table({"a": [1]}), ["lacks b"]),
        (pa.table({"a": [[1]], "b": ["x"]}), ["a"]),
    ],
    ids=lambda value: None,
)
def test_rows_that_do_not_fit(con: cqlduck.Connection, data: Any, words: list[str]) -> None:
    con.execute(INPUTS)
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT * FROM s [ROWS 9]")
    con.append("s", [(0, "before")], at=1)
    before = catalogue(con)
    error = refused(cqlduck.DataError, lambda: con.append("s", data, at=2), *words)
    assert error.hint
    refused(cqlduck.DataError, lambda: con.append("r", data, at=2))
    refused(cqlduck.DataError, lambda: con.retract("r", data, at=2))
    assert before == catalogue(con)
    # Nothing of it was taken, not the rows before the bad one either.
    con.append("s", [(1, "after")], at=2)
    con.advance(2)
    assert [(0, "before", 1, 1), (1, "after", 2, 1)] == elements(con, "q")
    assert [] == con.sql("FROM r").fetchall()


@pytest.mark.parametrize(
    ("at", "words"),
    [
        ([1], ["1", "2"]),
        ([1, 2, 3], ["3", "2"]),
        ([1, None], ["None"]),
        (1.5, ["1.5"]),
        (True, ["True"]),
        ("soon", ["soon"]),
        (["2013-01-01", 5], []),
        (object(), ["object"]),
    ],
    ids=["fewer", "more", "NULL", "a float", "a boolean", "no time", "both kinds", "an object"],
)
def test_instants_that_are_none(con: cqlduck.Connection, at: Any, words: list[str]) -> None:
    con.execute(INPUTS)
    error = refused(cqlduck.DataError, lambda: con.append("u", [(1,), (2,)], at=at), *words)
    assert error.hint
    # The kind of time is still open.
    con.append("u", [(1,), (2,)], at="2013-01-01")


@pytest.mark.parametrize("moment", ["290000-01-01", "infinity", 2**63, -(2**63) - 1])
def test_moments_beyond_all_instants(con: cqlduck.Connection, moment: Any) -> None:
    con.execute(INPUTS)
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT a FROM u")
    for call in (
        lambda: con.advance(moment),
        lambda: con.heartbeat("u", moment),
        lambda: con.append("u", [(1,)], at=moment),
        lambda: con.append("u", [(1,)], at=[moment]),
    ):
        refused(cqlduck.DataError, call)
    # No heartbeat has moved.
    con.append("u", [(1,)], at=1 if isinstance(moment, int) else "2013-01-01")


def test_a_row_without_a_timestamp(con: cqlduck.Connection) -> None:
    con.execute("CREATE STREAM s (t INTEGER, a INTEGER) TIMESTAMP BY t")
    error = refused(
        cqlduck.DataError, lambda: con.append("s", [(1, 1), (2, 2), (None, 3)]), "s", "row 2"
    )
    assert "t" in (error.hint or "")
    refused(cqlduck.DataError, lambda: con.append("s", [(1, 1)], at=1), "t")
    assert [(0,)] == con.sql("SELECT elements FROM cql.streams").fetchall()


def test_names_that_there_are_not(con: cqlduck.Connection) -> None:
    con.execute(INPUTS)
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT a FROM s [ROWS 1]")
    for call in (
        lambda: con.append("nothing", [(1,)], at=1),
        lambda: con.retract("nothing", [(1,)], at=1),
        lambda: con.heartbeat("nothing", 1),
    ):
        error = refused(cqlduck.CatalogError, call, "nothing")
        assert error.hint
    refused(cqlduck.CatalogError, lambda: con.append("q", [(1,)], at=1), "q", "query")
    refused(cqlduck.DataError, lambda: con.retract("s", [(1, "x")], at=1), "s", "stream")


# -------------------------------------------------------------------------------------------- late


def late_rows(con: cqlduck.Connection) -> list[tuple[Any, ...]]:
    return con.sql("SELECT input, instant, occurrences FROM cql.late ORDER BY ALL").fetchall()


def test_late_elements_are_rejected_together_with_the_rest(con: cqlduck.Connection) -> None:
    con.execute(INPUTS)
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT a FROM s")
    con.append("s", [(1, "x")], at=5)
    con.advance(7)
    rows = [(2, "on time"), (3, "late"), (4, "on time"), (5, "late too")]
    error = refused(
        cqlduck.LateError, lambda: con.append("s", rows, at=[8, 7, 9, 3]), "s", "1, 3", "7"
    )
    assert isinstance(error, cqlduck.LateError)
    assert [1, 3] == error.rows
    assert error.hint
    assert [(1,)] == con.sql("SELECT elements FROM cql.streams WHERE name = 's'").fetchall()
    con.append("s", rows[:1], at=8)
    con.advance(8)
    assert [(1, 5, 1), (2, 8, 1)] == elements(con, "q")


def test_late_elements_of_a_relation(con: cqlduck.Connection) -> None:
    con.execute(INPUTS)
    con.append("r", [(1, "x")], at=3)
    con.advance(5)
    # Before its heartbeat in any order, after it not.
    con.append("r", [(2, "y"), (3, "z")], at=[9, 6])
    error = refused(cqlduck.LateError, lambda: con.retract("r", [(1, "x")], at=5), "r")
    assert isinstance(error, cqlduck.LateError)
    assert [0] == error.rows


def test_late_elements_are_dropped_and_counted(con: cqlduck.Connection) -> None:
    con.execute("""
        CREATE STREAM s (a INTEGER) LATE DROP;
        CREATE CONTINUOUS QUERY q AS SELECT a FROM s;
    """)
    con.heartbeat("s", 4)
    assert 2 == con.append("s", [(1,), (2,), (3,), (4,)], at=[5, 4, 1, 5])
    assert 0 == con.append("s", [(5,)], at=3)
    con.advance(5)
    assert [(1, 5, 1), (4, 5, 1)] == elements(con, "q")
    assert 3 == sum(row[-1] for row in late_rows(con))
    assert [(None,)] == con.sql("SELECT DISTINCT element FROM cql.late").fetchall()


def test_late_elements_are_kept(con: cqlduck.Connection) -> None:
    con.execute("""
        CREATE STREAM s (a INTEGER, b VARCHAR) LATE KEEP;
        CREATE CONTINUOUS QUERY q AS SELECT a FROM s;
    """)
    con.heartbeat("s", 4)
    assert 1 == con.append("s", [(1, "x"), (2, "lost")], at=[5, 4])
    con.advance(5)
    assert [(1, 5, 1)] == elements(con, "q")
    assert [("s", "4", 1)] == late_rows(con)
    ((element,),) = con.sql("SELECT element FROM cql.late").fetchall()
    assert "2" in element
    assert "lost" in element


# ------------------------------------------------------------------------------- the kinds of time


def test_two_kinds_of_time_do_not_mix(con: cqlduck.Connection) -> None:
    con.execute(INPUTS)
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT a FROM s")
    con.append("s", [(1, "x")], at=1)
    moment = "2013-01-01"
    for call in (
        lambda: con.append("u", [(1,)], at=moment),
        lambda: con.append("u", [(1,)], at=dt.datetime(2013, 1, 1)),
        lambda: con.append("u", [(1,)], at=[dt.date(2013, 1, 1)]),
        lambda: con.append("u", pd.DataFrame({"a": [1], "_ts": [pd.Timestamp(moment)]})),
        lambda: con.heartbeat("u", moment),
        lambda: con.advance(moment),
        lambda: con.execute("CREATE STREAM w (t TIMESTAMP) TIMESTAMP BY t"),
        lambda: con.execute("CREATE STREAM w (t DATE) TIMESTAMP BY t"),
    ):
        refused(cqlduck.DataError, call, "integer", "hint")
    assert 1 == con.advance(1)


def test_integers_are_no_instants_of_wall_clock_time(con: cqlduck.Connection) -> None:
    con.execute(INPUTS)
    con.append("s", [(1, "x")], at="2013-01-01")
    for call in (
        lambda: con.append("u", [(1,)], at=1),
        lambda: con.append("u", [{"a": 1, "_ts": 1}]),
        lambda: con.heartbeat("u", 1),
        lambda: con.advance(1),
        lambda: con.execute("CREATE STREAM w (t INTEGER) TIMESTAMP BY t"),
        lambda: con.execute("CREATE STREAM w (t INTEGER) OUT OF ORDER WITHIN 5"),
    ):
        refused(cqlduck.Error, call, "wall-clock", "hint")
    con.append("u", [(1,)], at="2013-01-01")


@pytest.mark.parametrize("window", ["RANGE 5", "RANGE 5 MINUTES SLIDE 5", "HOP 5 EVERY 5 MINUTES"])
def test_a_bare_number_is_no_duration_on_wall_clock_time(
    con: cqlduck.Connection, window: str
) -> None:
    con.execute("CREATE STREAM s (t TIMESTAMP) TIMESTAMP BY t")
    text = f"CREATE CONTINUOUS QUERY q AS SELECT t FROM s [{window}]"
    error = refused(cqlduck.BindError, lambda: con.execute(text), "number", "unit")
    assert text.index("[") + 1 == error.column


def test_a_bare_number_makes_it_integer_time(con: cqlduck.Connection) -> None:
    con.execute(INPUTS)
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT a FROM s [RANGE 5]")
    refused(cqlduck.DataError, lambda: con.append("s", [(1, "x")], at="2013-01-01"), "integer")
    con.append("s", [(1, "x")], at=1)


# --------------------------------------------------------------------------- dropped, or standing


def test_a_query_over_something_that_was_dropped(con: cqlduck.Connection) -> None:
    con.execute(INPUTS)
    con.execute("CREATE CONTINUOUS QUERY inner_ AS SELECT a FROM u [ROWS 2]")
    con.execute("DROP STREAM s; DROP CONTINUOUS QUERY inner_")
    for name in ("s", "inner_"):
        text = f"CREATE CONTINUOUS QUERY q AS SELECT a FROM {name}"
        error = refused(cqlduck.CatalogError, lambda t=text: con.execute(t), name)
        assert text.index(f" {name}") + 2 == error.column
        assert error.hint
    # And what is read is not dropped.
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT u.a FROM u [ROWS 2], r WHERE u.a = r.a")
    for what in ("STREAM u", "RELATION r"):
        error = refused(cqlduck.CatalogError, lambda w=what: con.execute(f"DROP {w}"), "q")
        assert error.hint
    con.append("u", [(1,)], at=1)
    con.append("r", [(1, "x")], at=1)
    con.advance(1)
    assert [(1, 1, 1)] == elements(con, "q")


# ---------------------------------------------------------------------- what fails while it runs


@pytest.mark.parametrize("cuts", [[9], [4, 5, 9], list(range(10))], ids=["one", "some", "each"])
def test_a_query_that_fails_stops_before_that_instant(
    con: cqlduck.Connection, cuts: list[int]
) -> None:
    con.execute(INPUTS)
    con.execute("""
        CREATE CONTINUOUS QUERY bad AS SELECT CAST(b AS INTEGER) AS n FROM s [ROWS 2];
        CREATE CONTINUOUS QUERY above AS SELECT sum(n) AS total FROM bad;
        CREATE CONTINUOUS QUERY fine AS SELECT b FROM s [ROWS 2];
    """)
    con.append("s", [(1, "1"), (2, "2"), (3, "oops"), (4, "4")], at=[1, 3, 5, 7])
    for cut in cuts:
        reached = con.advance(cut)
    states = con.sql("SELECT name, state, frontier FROM cql.queries ORDER BY name").fetchall()
    assert [("above", "active", "4"), ("bad", "failed", "4"), ("fine", "active", "9")] == states
    # What stands above it waits there too, so that is the least frontier of the active ones.
    assert 4 == reached
    ((error,),) = con.sql("SELECT error FROM cql.queries WHERE name = 'bad'").fetchall()
    assert "oops" in error
    assert "5" in error
    assert [(1, 1, 1), (2, 3, 1)] == elements(con, "bad")
    assert [
        (None, 0, 1), (None, 1, -1), (1, 1, 1), (1, 3, -1), (3, 3, 1),
    ] == elements(con, "above")  # fmt: skip
    assert [("4",), ("oops",)] == sorted(con.table("fine").fetchall())
    # Activated it meets the same row again; replaced it begins anew.
    con.execute("ALTER CONTINUOUS QUERY bad ACTIVATE")
    con.advance(10)
    assert [("failed",)] == con.sql("SELECT state FROM cql.queries WHERE name = 'bad'").fetchall()
    con.execute("DROP CONTINUOUS QUERY above")
    con.execute("""
        CREATE OR REPLACE CONTINUOUS QUERY bad AS SELECT TRY_CAST(b AS INTEGER) AS n FROM s [ROWS 2]
    """)
    con.append("s", [(5, "what")], at=11)
    assert 11 == con.advance(11)
    assert [(None, 11, 1)] == elements(con, "bad")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT CAST(b AS INTEGER) AS n FROM s",
        "SELECT sum(CAST(b AS INTEGER)) AS n FROM s [ROWS 3]",
        "SELECT a, max(CAST(b AS INTEGER)) AS n FROM s [RANGE 2] GROUP BY a",
        "SELECT s.a FROM s [NOW], r WHERE CAST(s.b AS INTEGER) = r.a",
        "SELECT DISTINCT CAST(b AS INTEGER) AS n FROM s [ROWS 1]",
        "SELECT a FROM s [ROWS 2] GROUP BY a HAVING sum(CAST(b AS INTEGER)) > 0",
        "SELECT CAST(a * 1000000000 AS INTEGER) AS n FROM s [ROWS 1]",
        "SELECT CAST(concat(b, '!') AS INTEGER) AS n FROM s [ROWS 1] WHERE b = 'oops'",
    ],
)
def test_wherever_it_fails(con: cqlduck.Connection, text: str) -> None:
    con.execute(INPUTS)
    con.execute(f"CREATE CONTINUOUS QUERY bad AS {text}")
    con.execute("CREATE CONTINUOUS QUERY fine AS SELECT b FROM s")
    con.append("r", [(1, "x")], at=0)
    con.append("s", [(1, "1"), (2, "2"), (3, "oops")], at=[1, 3, 5])
    assert 9 == con.advance(9)
    states = con.sql("SELECT name, state, frontier FROM cql.queries ORDER BY name").fetchall()
    assert [("bad", "failed", "4"), ("fine", "active", "9")] == states
    assert 3 == len(elements(con, "fine"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "SELECT CAST(b AS INTEGER) AS n FROM s WHERE b <> 'oops'",
            [(1, 1, 1), (2, 3, 1), (4, 7, 1)],
        ),
        (
            "SELECT n FROM (SELECT a, CAST(b AS INTEGER) AS n FROM s WHERE a <> 3) AS t",
            [(1, 1, 1), (2, 3, 1), (4, 7, 1)],
        ),
        (
            "SELECT Istream(CAST(b AS INTEGER) AS n) FROM s [ROWS 1 WHERE a <> 3]",
            [(1, 1, 1), (2, 3, 1), (4, 7, 1)],
        ),
        (
            "SELECT sum(CAST(b AS INTEGER))::BIGINT AS n FROM s WHERE b <> 'oops' GROUP BY a = a",
            [(1, 1, 1), (1, 3, -1), (3, 3, 1), (3, 7, -1), (7, 7, 1)],
        ),
    ],
)
def test_where_guards_the_projection(
    con: cqlduck.Connection, text: str, expected: list[Any]
) -> None:
    con.execute(INPUTS)
    con.execute(f"CREATE CONTINUOUS QUERY q AS {text}")
    con.append("s", [(1, "1"), (2, "2"), (3, "oops"), (4, "4")], at=[1, 3, 5, 7])
    assert 9 == con.advance(9)
    assert [(None,)] == con.sql("SELECT error FROM cql.queries").fetchall()
    assert expected == elements(con, "q")


def test_a_query_above_a_failed_one_does_not_hold_back_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the one that stands still has not read is no reason for the others to take less."""
    steps: list[int | None] = []
    step = Engine._step

    def counted(self: Engine, until: int | None) -> None:
        steps.append(until)
        assert 500 > len(steps), "no tick gets anywhere"
        step(self, until)

    monkeypatch.setattr(Engine, "_step", counted)
    with cqlduck.connect(max_tick=3) as con:
        con.execute(
            "CREATE STREAM s (v BIGINT, t BIGINT) TIMESTAMP BY t; CREATE CONTINUOUS QUERY bad AS "
            "SELECT CAST(CASE WHEN v = 5 THEN 'x' ELSE '1' END AS INTEGER) AS w FROM s;"
            "CREATE CONTINUOUS QUERY above AS SELECT w FROM bad [RANGE 2];"
            "CREATE CONTINUOUS QUERY fine AS SELECT v FROM s [RANGE 2]"
        )
        for t in range(1, 20):
            con.append("s", [(t, t)])
            con.advance(t)
        states = con.sql("SELECT name, state, frontier FROM cql.queries ORDER BY name").fetchall()
        assert [
            ("above", "active", "4"),
            ("bad", "failed", "4"),
            ("fine", "active", "19"),
        ] == states
        assert [(17,), (18,), (19,)] == sorted(con.table("fine").fetchall())


def test_a_failed_query_is_failed_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "bad.duckdb"
    with cqlduck.connect(path) as con:
        con.execute(INPUTS)
        con.execute("CREATE CONTINUOUS QUERY bad AS SELECT CAST(b AS INTEGER) AS n FROM s [ROWS 2]")
        con.append("s", [(1, "1"), (2, "oops")], at=[1, 3])
        con.advance(5)
    with cqlduck.connect(path) as con:
        assert con.advance(6) is None
        assert [("failed", "2")] == con.sql("SELECT state, frontier FROM cql.queries").fetchall()
        assert [(1, 1, 1)] == elements(con, "bad")


# ------------------------------------------------------------------------------ wrong retractions


def test_a_retraction_of_what_is_not_there_is_recorded(con: cqlduck.Connection) -> None:
    con.execute("CREATE RELATION r (a INTEGER); CREATE CONTINUOUS QUERY q AS SELECT a FROM r")
    con.append("r", [(1,), (1,)], at=[1, 5])
    con.retract("r", [(1,), (1,), (2,)], at=[3, 4, 4])
    con.advance(9)
    # The one at 5 stays: what was retracted too often at 4 had no effect.
    assert [(1, 1, 1), (1, 3, -1), (1, 5, 1)] == elements(con, "q")
    assert [("r", "4", 1), ("r", "4", 1)] == late_rows(con)
    reasons = con.sql("SELECT DISTINCT reason FROM cql.late").fetchall()
    assert 1 == len(reasons)
    assert "not there" in reasons[0][0]


def test_retractions_are_judged_net_for_each_instant(con: cqlduck.Connection) -> None:
    con.execute("CREATE RELATION r (a INTEGER); CREATE CONTINUOUS QUERY q AS SELECT a FROM r")
    # At one instant the insertion may come after the deletion.
    con.retract("r", [(1,), (2,)], at=3)
    con.append("r", [(2,), (1,), (1,)], at=3)
    con.advance(9)
    assert [(1, 3, 1)] == elements(con, "q")
    assert [] == late_rows(con)


def test_a_second_row_under_a_key_is_recorded(con: cqlduck.Connection) -> None:
    con.execute("""
        CREATE RELATION r (k INTEGER, v VARCHAR) PRIMARY KEY (k);
        CREATE CONTINUOUS QUERY q AS SELECT * FROM r;
    """)
    con.append("r", [(1, "x"), (1, "y")], at=[1, 3])
    con.retract("r", [(1, "z")], at=4)
    # Net: the row of the key changes.
    con.append("r", [(1, "w")], at=5)
    con.retract("r", [(1, "x")], at=5)
    con.advance(9)
    assert [(1, "x", 1, 1), (1, "x", 5, -1), (1, "w", 5, 1)] == elements(con, "q")
    assert [("r", "3", 1), ("r", "4", 1)] == late_rows(con)


@pytest.mark.parametrize("key", ["", "PRIMARY KEY (a)"])
def test_strict_is_an_error_before_anything_moves(key: str) -> None:
    with cqlduck.connect(strict=True) as con:
        con.execute(f"""
            CREATE RELATION r (a INTEGER) {key};
            CREATE STREAM s (a INTEGER);
            CREATE CONTINUOUS QUERY q AS SELECT a FROM r;
            CREATE CONTINUOUS QUERY other AS SELECT a FROM s;
        """)
        con.append("s", [(7,)], at=2)
        con.append("r", [(1,)], at=1)
        con.retract("r", [(2,)], at=4)
        refused(cqlduck.DataError, lambda: con.advance(9), "r", "2", "strict")
        assert [] == elements(con, "q")
        assert [] == elements(con, "other")
        assert [] == late_rows(con)
        # Net it is there, once it is appended.
        con.append("r", [(2,)], at=3)
        assert 9 == con.advance(9)
        assert [(1, 1, 1), (2, 3, 1), (2, 4, -1)] == elements(con, "q")
        assert [(7, 2, 1)] == elements(con, "other")


# ------------------------------------------------------------------------------- the drop zone

ZONE = """
    CREATE STREAM bad (a INTEGER, b VARCHAR) FROM 'bad';
    CREATE STREAM good (a INTEGER) FROM 'good';
    CREATE CONTINUOUS QUERY of_bad AS SELECT * FROM bad;
    CREATE CONTINUOUS QUERY of_good AS SELECT * FROM good;
"""


def bad_rows(number: int) -> pa.Table:
    at = [10 * number, 10 * number + 1]
    return pa.table({"a": at, "b": ["x", "y"], "_ts": at})


def write_zone(root: Path, numbers: range = range(3)) -> None:
    for number in numbers:
        end = 10 * number + 9
        dropzone.write_batch(root, "bad", number, bad_rows(number), heartbeat=end)
        rows = pa.table({"a": [number], "_ts": [10 * number]})
        dropzone.write_batch(root, "good", number, rows, heartbeat=end)


def rewrite_rows(folder: Path, table: pa.Table) -> None:
    """Put other rows under the manifest that is there."""
    import pyarrow.parquet as pq

    pq.write_table(table, folder / "part-0.parquet")
    change_manifest(folder, checksums={})


def change_manifest(folder: Path, **changes: Any) -> None:
    path = folder / dropzone.MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def cut_in_half(folder: Path) -> None:
    file = folder / "part-0.parquet"
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


def without_checksums(spoil: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """The same, where the manifest does not give it away."""

    def spoiled(folder: Path) -> None:
        spoil(folder)
        change_manifest(folder, checksums={})

    return spoiled


BREAKAGES: dict[str, tuple[Callable[[Path], Any], list[str]]] = {
    "not JSON": (lambda f: (f / dropzone.MANIFEST).write_text("{not JSON"), ["JSON", "manifest"]),
    "an empty manifest": (lambda f: (f / dropzone.MANIFEST).write_text(""), ["JSON"]),
    "a list": (lambda f: (f / dropzone.MANIFEST).write_text("[1, 2]"), ["JSON object"]),
    "not UTF-8": (lambda f: (f / dropzone.MANIFEST).write_bytes(b"\xff\xfe{}"), ["UTF-8"]),
    "no manifest": (lambda f: (f / dropzone.MANIFEST).unlink(), ["without a manifest"]),
    "another version": (lambda f: change_manifest(f, version=2), ["version", "2"]),
    "another stream": (lambda f: change_manifest(f, stream="good"), ["stream", "good"]),
    "another number": (lambda f: change_manifest(f, batch=7), ["batch", "7"]),
    "half a file": (without_checksums(cut_in_half), ["part-0.parquet", "cannot be read"]),
    "half a file with a checksum": (cut_in_half, ["part-0.parquet", "checksum", "manifest says"]),
    "no file": (lambda f: (f / "part-0.parquet").unlink(), ["part-0.parquet"]),
    "no Parquet": (
        without_checksums(lambda f: (f / "part-0.parquet").write_text("a,b\n1,x\n")),
        ["cannot be read"],
    ),
    "more rows than it says": (lambda f: change_manifest(f, rows=1), ["2 rows", "1"]),
    "fewer rows than it says": (lambda f: change_manifest(f, rows=3), ["2 rows", "3"]),
    "a column less": (
        lambda f: rewrite_rows(f, bad_rows(1).drop_columns(["b"])),
        ["lacks b", "bad"],
    ),
    "another column": (
        lambda f: rewrite_rows(f, bad_rows(1).rename_columns(["a", "bb", "_ts"])),
        ["lacks b", "bb", "did you mean"],
    ),
    "a column more": (
        lambda f: rewrite_rows(f, bad_rows(1).append_column("c", [[1, 2]])),
        ["c too many"],
    ),
    "no timestamps": (lambda f: rewrite_rows(f, bad_rows(1).drop_columns(["_ts"])), ["_ts"]),
    "a timestamp that is NULL": (
        lambda f: rewrite_rows(f, bad_rows(1).set_column(2, "_ts", [[10, None]])),
        ["row 1", "timestamp"],
    ),
    "another type": (
        lambda f: rewrite_rows(f, bad_rows(1).set_column(0, "a", [["one", "two"]])),
        ["one"],
    ),
    "the other kind of time": (
        lambda f: rewrite_rows(
            f, bad_rows(1).set_column(2, "_ts", [[dt.datetime(2013, 1, 1)] * 2])
        ),
        ["integer"],
    ),
}


@pytest.mark.parametrize("which", BREAKAGES)
def test_a_batch_that_cannot_be_taken(tmp_path: Path, which: str) -> None:
    spoil, words = BREAKAGES[which]
    zone = tmp_path / "zone"
    write_zone(zone)
    folder = dropzone.batch_folder(zone / "bad", 1)
    whole = tmp_path / "whole"
    shutil.copytree(folder, whole)
    spoil(folder)
    path = tmp_path / "it.duckdb"
    with cqlduck.connect(path, drop_zone=zone) as con:
        con.execute(ZONE)
        for _ in range(2):
            error = refused(cqlduck.DropZoneError, con.follow, *words, folder.name)
            assert error.hint
        # Its stream waits at it, and says why; the other one has gone on.
        assert [("bad", 1, True), ("good", 3, False)] == con.sql(
            "SELECT name, next_batch, waiting_for IS NOT NULL FROM cql.streams ORDER BY name"
        ).fetchall()
        assert [(0, "x", 0, 1), (1, "y", 1, 1)] == elements(con, "of_bad")
        assert [(0, 0, 1), (1, 10, 1), (2, 20, 1)] == elements(con, "of_good")
    # Repaired, also after reopening, everything is taken, once.
    shutil.rmtree(folder)
    shutil.copytree(whole, folder)
    with cqlduck.connect(path, drop_zone=zone) as con:
        assert 2 == con.follow()
        assert 29 == con.advance()
        assert [
            (t, "xy"[t % 10], t, 1) for t in (0, 1, 10, 11, 20, 21)
        ] == elements(con, "of_bad")  # fmt: skip
        assert 3 == len(elements(con, "of_good"))
        assert [(None,), (None,)] == con.sql("SELECT waiting_for FROM cql.streams").fetchall()


@pytest.mark.parametrize("others", [0, 3], ids=["alone", "with others"])
@pytest.mark.parametrize("files", [1, 2])
@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("a", "zwölf", ["row 2 does not fit", "a: ", "'zwölf'"]),
        ("a", str(2**31), ["row 2 does not fit", "a: ", "2147483648"]),
        ("_ts", "noon", ["row 2 does not fit", "_ts: ", "noon"]),
        ("_ts", None, ["row 2", "no timestamp"]),
    ],
)
def test_the_file_and_the_row_of_a_batch_are_named(
    tmp_path: Path, column: str, value: str | None, words: list[str], files: int, others: int
) -> None:
    """Rows count from 0, as those of `append` do; in a batch of several files in each of them."""
    import pyarrow.parquet as pq

    columns = {name: [str(n) for n in range(5)] for name in ("a", "b", "_ts")}
    columns["_ts"] = [f"2013-01-01 00:00:0{n}" for n in range(5)]
    dates = [dt.datetime(2013, 1, 1)] * (5 * files)
    dropzone.write_batch(tmp_path, "bad", 0, pa.table({"a": dates, "_ts": dates}))
    folder = dropzone.batch_folder(tmp_path / "bad", 0)
    for file in range(files):
        if file == files - 1:
            columns[column][2] = value
        pq.write_table(pa.table(columns), folder / f"part-{file}.parquet")
    times = {"min_ts": "2013-01-01T00:00:00Z", "max_ts": "2013-01-01T00:00:04Z"}
    names = [f"part-{file}.parquet" for file in range(files)]
    change_manifest(folder, files=names, checksums={}, **times)
    for number in range(1, others + 1):
        shutil.copytree(folder, dropzone.batch_folder(tmp_path / "bad", number))
        change_manifest(dropzone.batch_folder(tmp_path / "bad", number), batch=number)
    with cqlduck.connect(drop_zone=tmp_path) as con:
        con.execute("CREATE STREAM bad (a INTEGER, b VARCHAR) FROM 'bad'")
        error = refused(cqlduck.DropZoneError, con.follow, folder.name, names[-1], *words)
        assert error.hint
        assert [(0, error.message)] == con.sql(
            "SELECT next_batch, waiting_for FROM cql.streams"
        ).fetchall()


@pytest.mark.parametrize(
    ("key", "operations", "words"),
    [
        ("", ["+", "x"], ["row 1", "x"]),
        ("", ["+", None], ["row 1"]),
        ("", ["u", "+"], ["row 0", "PRIMARY KEY"]),
        ("PRIMARY KEY (a)", ["u", "insert"], ["row 1", "insert"]),
    ],
)
def test_a_batch_with_a_wrong_operation(
    tmp_path: Path, key: str, operations: list[Any], words: list[str]
) -> None:
    with cqlduck.connect(drop_zone=tmp_path) as con:
        con.execute(f"""
            CREATE RELATION r (a INTEGER) {key} FROM 'r';
            CREATE CONTINUOUS QUERY q AS SELECT a FROM r;
        """)
        rows = pa.table({"a": [1, 2], "_ts": [1, 1], "_op": operations})
        dropzone.write_batch(tmp_path, "r", 0, rows, heartbeat=5)
        error = refused(cqlduck.Error, con.follow, "r", *words)
        assert error.hint
        assert [] == elements(con, "q")
        shutil.rmtree(dropzone.batch_folder(tmp_path / "r", 0))
        good = pa.table({"a": [1, 2], "_ts": [1, 1]})
        dropzone.write_batch(tmp_path, "r", 0, good, heartbeat=5)
        assert 1 == con.follow()
        assert [(1, 1, 1), (2, 1, 1)] == elements(con, "q")


def test_a_late_batch_is_quarantined_whole(tmp_path: Path) -> None:
    with cqlduck.connect(drop_zone=tmp_path) as con:
        con.execute(ZONE)
        write_zone(tmp_path, range(1))
        late = pa.table({"a": [5, 6, 7], "b": ["p", "q", "r"], "_ts": [12, 9, 13]})
        dropzone.write_batch(tmp_path, "bad", 1, late, heartbeat=99)
        dropzone.write_batch(tmp_path, "bad", 2, bad_rows(2), heartbeat=29)
        # Nothing of it counts, not its heartbeat either, and following goes on.
        with pytest.warns(RuntimeWarning, match="batch 1 of bad is passed over: 1 of the rows"):
            assert 4 == con.follow()
        assert [(t, "xy"[t % 10], t, 1) for t in (0, 1, 20, 21)] == elements(con, "of_bad")
        assert [("bad", 3, "29", None)] == con.sql(
            "SELECT name, next_batch, heartbeat, waiting_for FROM cql.streams WHERE name = 'bad'"
        ).fetchall()
        ((number, rows, reason),) = con.sql(
            "SELECT batch, row_count, reason FROM cql.batches WHERE state = 'quarantined'"
        ).fetchall()
        assert (1, 3) == (number, rows)
        assert "late" in reason
        assert 0 == con.follow()


def test_late_rows_of_a_batch_under_drop(tmp_path: Path) -> None:
    with cqlduck.connect(drop_zone=tmp_path) as con:
        con.execute("""
            CREATE STREAM s (a INTEGER) LATE DROP FROM 's';
            CREATE CONTINUOUS QUERY q AS SELECT a FROM s;
        """)
        first = pa.table({"a": [1], "_ts": [5]})
        dropzone.write_batch(tmp_path, "s", 0, first, heartbeat=9)
        second = pa.table({"a": [2, 3], "_ts": [9, 10]})
        dropzone.write_batch(tmp_path, "s", 1, second, heartbeat=19)
        assert 2 == con.follow()
        assert [(1, 5, 1), (3, 10, 1)] == elements(con, "q")
        assert 1 == sum(row[-1] for row in late_rows(con))


def test_a_gap_waits_and_shows(tmp_path: Path) -> None:
    with cqlduck.connect(drop_zone=tmp_path) as con:
        con.execute(ZONE)
        write_zone(tmp_path)
        gone = dropzone.batch_folder(tmp_path / "bad", 1)
        aside = gone.with_name(".aside")
        gone.rename(aside)
        assert 1 + 3 == con.follow()
        assert 2 == len(elements(con, "of_bad"))
        ((waiting,),) = con.sql("SELECT waiting_for FROM cql.streams WHERE name = 'bad'").fetchall()
        assert "1" in waiting
        assert 0 == con.follow()
        aside.rename(gone)
        assert 2 == con.follow()
        assert 6 == len(elements(con, "of_bad"))
        assert [(None,)] == con.sql(
            "SELECT waiting_for FROM cql.streams WHERE name = 'bad'"
        ).fetchall()


def test_a_batch_counts_once(tmp_path: Path) -> None:
    zone, path = tmp_path / "zone", tmp_path / "it.duckdb"
    write_zone(zone)
    with cqlduck.connect(path, drop_zone=zone) as con:
        con.execute(ZONE)
        assert 6 == con.follow()
        expected = elements(con, "of_bad")
    # Written again: once while it is there, and once after it was cleared away.
    assert not dropzone.write_batch(zone, "bad", 1, bad_rows(9), heartbeat=99)
    shutil.rmtree(dropzone.batch_folder(zone / "bad", 1))
    assert dropzone.write_batch(zone, "bad", 1, bad_rows(1), heartbeat=19)
    with cqlduck.connect(path, drop_zone=zone) as con:
        assert 0 == con.follow()
        dropzone.write_batch(zone, "bad", 3, heartbeat=39)
        assert 1 == con.follow()
        assert expected == elements(con, "of_bad")
        assert 6 == len(expected)


def test_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    with cqlduck.connect(drop_zone=tmp_path / "later") as con:
        con.execute(ZONE)
        assert 0 == con.follow()
        write_zone(tmp_path / "later")
        assert 6 == con.follow()


def test_hidden_and_foreign_names_are_nobody_s_business(tmp_path: Path) -> None:
    with cqlduck.connect(drop_zone=tmp_path) as con:
        con.execute(ZONE)
        write_zone(tmp_path)
        (tmp_path / "bad" / ".batch=000000000003-abc").mkdir()
        (tmp_path / "bad" / "_temporary").mkdir()
        (tmp_path / "bad" / "notes.txt").write_text("hello")
        folder = dropzone.batch_folder(tmp_path / "bad", 0)
        (folder / "part-9.parquet").write_text("not listed")
        assert 6 == con.follow()
        assert 6 == len(elements(con, "of_bad"))


def test_a_failing_query_does_not_hold_the_drop_zone_back(tmp_path: Path) -> None:
    with cqlduck.connect(drop_zone=tmp_path) as con:
        con.execute(ZONE)
        con.execute("CREATE CONTINUOUS QUERY fails AS SELECT CAST(b AS INTEGER) AS n FROM bad")
        write_zone(tmp_path)
        assert 6 == con.follow()
        assert 6 == len(elements(con, "of_bad"))
        assert [("failed",)] == con.sql(
            "SELECT state FROM cql.queries WHERE name = 'fails'"
        ).fetchall()


def test_strict_quarantines_a_batch_with_a_wrong_retraction(tmp_path: Path) -> None:
    with cqlduck.connect(drop_zone=tmp_path, strict=True) as con:
        con.execute("""
            CREATE RELATION r (a INTEGER) FROM 'r';
            CREATE CONTINUOUS QUERY q AS SELECT a FROM r;
        """)
        rows = pa.table({"a": [1, 2], "_ts": [1, 2], "_op": ["+", "-"]})
        dropzone.write_batch(tmp_path, "r", 0, rows, heartbeat=5)
        assert 1 == con.follow()
        assert [] == elements(con, "q")
        assert [("r", 1)] == con.sql("SELECT name, next_batch FROM cql.relations").fetchall()
        ((batch, state, reason),) = con.sql(
            "SELECT batch, state, reason FROM cql.batches"
        ).fetchall()
        assert (0, "quarantined") == (batch, state)
        assert "retracts what is not there" in reason


# ------------------------------------------------------------------------------- the database


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_a_file_of_rows_that_cannot_be_read_is_named(
    con: cqlduck.Connection, tmp_path: Path, kind: str
) -> None:
    con.execute("CREATE STREAM s (k INTEGER, v VARCHAR)")
    path = tmp_path / f"rows.{kind}"
    duckdb.sql(f"COPY (SELECT range AS k, 'x' AS v FROM range(900)) TO '{path}'")
    assert 900 == con.append("s", path, at=1)
    whole = path.read_bytes()
    cuts = range(1, len(whole) - 2, len(whole) // 12)
    for cut in cuts if kind != "csv" else ():
        if kind == "json" and whole[cut - 1 : cut] in (b"}", b"\n"):
            continue  # as if it had never had more
        path.write_bytes(whole[:cut])
        assert refused(cqlduck.DataError, lambda: con.append("s", path, at=1), path.name).hint
    path.unlink()
    assert refused(cqlduck.DataError, lambda: con.append("s", path, at=1), path.name).hint
    path.mkdir()
    assert refused(cqlduck.DataError, lambda: con.append("s", path, at=1), path.name).hint
    assert [(900,)] == con.sql("SELECT count(*) FROM s").fetchall()


def test_a_second_process_on_the_same_database(tmp_path: Path) -> None:
    path = tmp_path / "it.duckdb"
    with cqlduck.connect(path) as con:
        con.execute(INPUTS)
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT a FROM s")
        program = (
            "import cqlduck, sys\n"
            "try:\n"
            "    cqlduck.connect(sys.argv[1])\n"
            "except cqlduck.DatabaseError as error:\n"
            "    print(error)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, str(path)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert (0, "") == (done.returncode, done.stderr)
        assert str(path) in done.stdout
        assert "another process" in done.stdout
        assert "hint" in done.stdout
        # The first one goes on.
        con.append("s", [(1, "x")], at=1)
        assert 1 == con.advance(1)
        # What the second one should look at instead:
        copy = con.snapshot(tmp_path / "copy.duckdb")
        with duckdb.connect(str(copy), read_only=True) as reader:
            assert [(1, 1)] == reader.execute("SELECT a, _ts FROM q").fetchall()


def test_a_second_connection_in_the_same_process(tmp_path: Path) -> None:
    path = tmp_path / "it.duckdb"
    with cqlduck.connect(path):
        link = tmp_path / "link.duckdb"
        link.symlink_to(path)
        for same in (path, str(path), tmp_path / "." / "it.duckdb", link):
            error = refused(cqlduck.DatabaseError, lambda s=same: cqlduck.connect(s), "open")
            assert error.hint
    cqlduck.connect(path).close()


def test_files_that_are_no_database(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a database\n" * 1000)
    data = [tmp_path / f"data.{kind}" for kind in ("csv", "parquet", "json")]
    for file in data:
        duckdb.sql("SELECT 1 AS a").to_df().to_csv(file)
    for wrong, word in (
        (text, "notes.txt"),
        # DuckDB attaches these as data, with a database in memory
        *((file, file.name) for file in data),
        (tmp_path, tmp_path.name),
        (tmp_path / "nowhere" / "it.duckdb", "nowhere"),
    ):
        error = refused(cqlduck.DatabaseError, lambda w=wrong: cqlduck.connect(w), word)
        assert error.hint
    # It was not touched, and can be tried again.
    assert text.read_text().startswith("not a database")
    refused(cqlduck.DatabaseError, lambda: cqlduck.connect(text), text.name)


def test_a_database_with_other_content_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.duckdb"
    with duckdb.connect() as own:
        own.execute(f"ATTACH '{path}' AS mine (STORAGE_VERSION 'v1.5.0')")
        own.execute("CREATE TABLE mine.mine AS SELECT 42 AS x")
    with cqlduck.connect(path) as con:
        assert [(42,)] == con.sql("FROM mine").fetchall()
        refused(cqlduck.CatalogError, lambda: con.execute("CREATE STREAM mine (a INTEGER)"), "mine")
        con.execute(INPUTS)
    with duckdb.connect(str(path)) as own:
        assert [(42,)] == own.execute("FROM mine").fetchall()
        assert Counter(["s", "u"]) == Counter(
            name for (name,) in own.execute("SELECT name FROM cql.streams").fetchall()
        )


def test_a_database_in_a_newer_format(tmp_path: Path) -> None:
    path = tmp_path / "mine.duckdb"
    with duckdb.connect() as own:
        own.execute(f"ATTACH '{path}' AS mine (STORAGE_VERSION 'latest')")
        own.execute("CREATE TABLE mine.mine AS SELECT 42 AS x")
    # It could not be kept in the format that an older shell reads.
    error = refused(cqlduck.DatabaseError, lambda: cqlduck.connect(path), "mine.duckdb")
    assert error.hint
    with duckdb.connect(str(path)) as own:
        assert [(42,)] == own.execute("FROM mine").fetchall()


NESTED = [
    "SELECT {}",
    "FROM s SELECT {}",
    "INSERT INTO r VALUES ({})",
    "INSERT INTO r SELECT {} FROM r",
    "UPDATE r SET a = {}",
    "DELETE FROM r WHERE a = {}",
    "CREATE RELATION made FROM SELECT {} AS a",
    "CREATE TABLE plain AS SELECT {} AS a",
    "CREATE VIEW seen AS SELECT {} AS a",
    "CREATE CONTINUOUS QUERY made AS SELECT {} AS x FROM s",
]


@pytest.mark.parametrize("statement", NESTED)
@pytest.mark.parametrize("inner", ["[1]", "CASE WHEN 1 THEN 1 END", "- 1"])
def test_what_is_nested_deeply_is_done_or_refused(statement: str, inner: str) -> None:
    """No statement fails in Python's own words, however deep Python's stack is already."""

    def below(depth: int, text: str) -> None:
        if depth:
            below(depth - 1, text)
        else:
            con.execute(text)

    opening, closing = inner.rsplit("1", 1)
    # a type of 900 levels takes DuckDB itself ten seconds
    for depth, stack in ((60, 0), (60, 400), (120 if inner == "[1]" else 900, 0)):
        text = statement.format(opening * depth + "1" + closing * depth)
        with cqlduck.connect() as con:
            con.execute("CREATE STREAM s (a INTEGER); CREATE RELATION r (a INTEGER)")
            with contextlib.suppress(cqlduck.Error):
                below(stack, text)
            con.execute("INSERT INTO r VALUES (7)")
            con.append("s", [(1,)], at=1)
            con.advance(1)


def test_a_slide_of_less_than_an_instant_says_when_that_is_shorter(con: cqlduck.Connection) -> None:
    con.execute("CREATE STREAM x (a INTEGER)")
    query = "CREATE CONTINUOUS QUERY q AS SELECT a FROM x [TUMBLE 500 MILLISECONDS]"
    error = refused(cqlduck.BindError, lambda: con.execute(query), "at least one instant")
    assert "TIMESTAMP BY" in (error.hint or "")
    con.execute("CREATE STREAM clock (t TIMESTAMP) TIMESTAMP BY t")
    con.execute(query)


OWN = [
    "UPDATE cql_state.query_rows SET body = 'SELECT 1'",
    "DELETE FROM cqlduck.cql_state.query_rows",
    "INSERT INTO cql_state.ticks DEFAULT VALUES",
    'DROP TABLE "cql_state"."changes_q"',
    "DROP SCHEMA cql_state CASCADE",
    "CREATE TABLE cql.x (a INTEGER)",
    "DROP VIEW IF EXISTS cql.queries",
    "ALTER TABLE cql_state.ticks ADD COLUMN x INTEGER",
    "TRUNCATE cql_state.ticks",
    "WITH x AS (SELECT 1) INSERT INTO cql_state.ticks FROM x",
    "COPY cql_state.ticks FROM 'ticks.csv'",
]


@pytest.mark.parametrize("text", OWN)
def test_what_is_our_own_is_changed_by_nobody(text: str) -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (k INTEGER); CREATE CONTINUOUS QUERY q AS SELECT k FROM s")
        with pytest.raises(cqlduck.CatalogError, match="what is in the schema cql") as caught:
            con.execute(text)
        assert caught.value.hint
        con.append("s", [(1,)], at=1)
        con.advance(1)
        assert con.table("q").fetchall() == [(1, 1)]


def test_what_is_shown_can_be_written_into_files(tmp_path: Path) -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (k INTEGER); CREATE CONTINUOUS QUERY q AS SELECT k FROM s")
        con.append("s", [(7,)], at=1)
        con.advance(1)
        for name in ("q", "s", "cql.queries", "cql_state.ticks"):
            file = tmp_path / f"{name}.csv"
            con.execute(f"COPY {name} TO '{file}'")
            assert len(file.read_text().splitlines()) == 2
        con.execute("CREATE TABLE cql (a INTEGER); DROP TABLE cql")


@pytest.mark.parametrize("text", ["PREPARE p AS DELETE FROM t", "EXECUTE p", "DEALLOCATE p"])
def test_statements_are_not_prepared(text: str) -> None:
    """What a prepared one changes would be seen nowhere."""
    with cqlduck.connect() as con, pytest.raises(cqlduck.NotSupportedError) as caught:
        con.execute(text)
    assert "execute(text, parameters)" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "text",
    [
        "CREATE STREAM deep (a {})",
        "CREATE RELATION deep (k INTEGER, a {}, PRIMARY KEY (k))",
        "CREATE CONTINUOUS QUERY deep AS SELECT NULL::{} AS a FROM s",
    ],
)
@pytest.mark.parametrize("kind", ["INTEGER" + "[]" * 61, "STRUCT(a INTEGER" + "[]" * 60 + ")"])
def test_a_type_of_more_levels_than_arrow_hands_out_is_refused(text: str, kind: str) -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (k INTEGER)")
        with pytest.raises(cqlduck.NotSupportedError, match="column a has a type of 61 levels"):
            con.execute(text.format(kind))
        con.execute(text.format(kind.replace("[][]", "[]", 1)))
        con.append("s", [(1,)], at=1)
        con.advance(2)
        for query in con.queries:
            con.arrow(query)


ANALYZED = [
    "EXPLAIN ANALYZE CREATE TABLE made AS SELECT 1 AS x",
    "/* why */ EXPLAIN ANALYZE INSERT INTO t VALUES (1)",
    "explain (analyze, format json) DELETE FROM cql_state.settings",
    "EXPLAIN ANALYZE (FORMAT JSON) UPDATE t SET x = 1",
    "EXPLAIN (FORMAT JSON, ANALYZE) (WITH a AS (SELECT 1 AS x) INSERT INTO t FROM a)",
    "EXPLAIN ANALYZE WITH a AS (SELECT 1 AS x) INSERT INTO t FROM a",
    "EXPLAIN ANALYZE COPY t TO '{}/t.csv'",
]


@pytest.mark.parametrize("text", ANALYZED)
@pytest.mark.parametrize("call", ["sql", "execute"])
def test_explain_analyze_runs_nothing_that_changes_something(
    tmp_path: Path, text: str, call: str
) -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE TABLE t (x INTEGER)")
        with pytest.raises(cqlduck.Error):
            getattr(con, call)(text.format(tmp_path))
        settings = "SELECT count(*) FROM cql_state.settings"
        assert [(5,)] == con.sql(settings).fetchall()
        assert [] == con.sql("FROM t").fetchall()
        assert [] == con.sql("SHOW TABLES").filter("name = 'made'").fetchall()
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text",
    [
        "EXPLAIN ANALYZE FROM t",
        "EXPLAIN (ANALYZE, FORMAT JSON) WITH a AS (FROM t) FROM a",
        "EXPLAIN ANALYZE (SELECT 1)",
        "EXPLAIN (SELECT 1)",
        "EXPLAIN (FORMAT JSON) DELETE FROM t",
        "EXPLAIN DELETE FROM t",
    ],
)
def test_explain_shows_the_plan_of_what_only_reads_or_is_not_run(text: str) -> None:
    with cqlduck.connect() as con:
        con.execute("CREATE TABLE t AS SELECT 1 AS x")
        assert con.sql(text).fetchall()
        con.execute(text)
        assert [(1,)] == con.sql("FROM t").fetchall()
