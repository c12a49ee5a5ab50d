"""Whatever is written gets an error that says where, or is done; and nothing in between."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections import Counter
from typing import Any

import mangling
import pytest
from counts import is_brief, some_if_brief

import cqlduck
from cqlduck.state.connection import quoted

FEW = 500
MANY = int(os.environ.get("FUZZ", "100000"))
PATIENCE = 20
# how many texts a process takes by itself, so that several can share them
SHARE = 5_000


class Target:
    """A connection that is as it was before each text."""

    def __init__(self) -> None:
        self.con: cqlduck.Connection | None = None
        self.outcomes: Counter[str] = Counter()
        self.renew()

    def renew(self) -> None:
        if self.con is not None:
            self.con.close()
        self.con = cqlduck.connect()
        self.con.execute(mangling.BASE)
        self.base = self.state()
        self.tables = self.stored()
        known = self.con.engine.catalogue
        self.names = {thing.name for thing in (*known.inputs.values(), *known.queries.values())}
        self.since: list[str] = []

    def state(self) -> tuple[Any, ...]:
        """All that is registered, as the engine has it."""
        assert self.con is not None
        known = self.con.engine.catalogue
        return (
            [repr(thing) for thing in (*known.inputs.values(), *known.queries.values())],
            sorted(known.settings.items()),
            sorted(self.con.engine.compiled),
            self.con.engine.database.depth,
        )

    def stored(self) -> list[tuple[Any, ...]]:
        """All tables and views, and how much is in them, as the database has it."""
        assert self.con is not None
        database = self.con.engine.database
        found = database.rows(
            "SELECT schema_name, table_name, true FROM duckdb_tables() WHERE NOT temporary "
            "UNION ALL SELECT schema_name, view_name, false FROM duckdb_views() "
            "WHERE NOT internal ORDER BY ALL"
        )
        # what DuckDB estimates counts rows that are deleted
        counted = [
            f"SELECT {place}, count(*) FROM {quoted(schema)}.{quoted(name)}"
            for place, (schema, name, is_table) in enumerate(found)
            if is_table
        ]
        return found + database.rows(" UNION ALL ".join(counted) + " ORDER BY ALL")

    def close(self) -> None:
        assert self.con is not None
        self.con.close()

    def take(self, text: str) -> str | None:
        """Execute a text; return what is wrong with how it went, or None."""
        assert self.con is not None
        try:
            self.con.execute(text)
        except cqlduck.Error as error:
            self.outcomes[type(error).__name__] += 1
            problem = wrong_place(error, text)
            if problem is None and self.changed(text):
                problem = f"it, or one of those before it, changed something: {self.since}"
            if problem is not None:
                problem = f"{problem}\n{error!r}\n{error}"
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        else:
            self.outcomes["done"] += 1
            self.undo()
            return None
        if problem is not None:
            self.renew()
        return problem

    def undo(self) -> None:
        """Drop what is new; begin anew if that does not do."""
        assert self.con is not None
        known = self.con.engine.catalogue
        try:
            for kind, things in (
                ("CONTINUOUS QUERY", known.queries),
                ("STREAM", {k: v for k, v in known.inputs.items() if v.kind == "stream"}),
                ("RELATION", {k: v for k, v in known.inputs.items() if v.kind == "relation"}),
            ):
                for thing in reversed(list(things.values())):
                    if thing.name not in self.names:
                        name = thing.name.replace('"', '""')
                        self.con.execute(f'DROP {kind} "{name}"')
        except cqlduck.Error:
            pass
        if self.state() != self.base or self.stored() != self.tables:
            self.renew()

    def changed(self, text: str) -> bool:
        """Whether something is not as it was; the database is asked once in a while."""
        self.since.append(text)
        if self.state() != self.base:
            return True
        if len(self.since) < PATIENCE:
            return False
        if self.stored() != self.tables:
            return True
        self.since.clear()
        return False


def wrong_place(error: cqlduck.Error, text: str) -> str | None:
    """Say what is wrong with the place of an error, if anything is."""
    if error.line is None or error.column is None:
        return "it has no place"
    if error.text != text:
        return "its place is in another text"
    lines = text.split("\n")
    if not 1 <= error.line <= len(lines):
        return f"line {error.line} of {len(lines)}"
    if not 1 <= error.column <= len(lines[error.line - 1]) + 1:
        return f"column {error.column} of line {error.line}"
    if not str(error) or not error.message.strip():
        return "it says nothing"
    return None


def problems(numbers: range) -> tuple[list[str], Counter[str]]:
    """Take the texts of these numbers; return what went wrong, and how many went how."""
    target = Target()
    found = []
    for number in numbers:
        text = mangling.mangled(number)
        problem = target.take(text)
        if problem is not None:
            shown = ascii(text) if len(text) < 3000 else ascii(text[:500]) + " …"
            found.append(f"text {number}: {shown}\n{problem}")
    target.close()
    return found, target.outcomes


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(n, marks=pytest.mark.long) for n in range(1, 12))]
)
def test_the_corpus_is_about_something(first: int) -> None:
    """Many texts do what they say, as long as nobody mangles them."""
    texts = some_if_brief(mangling.corpus()[first::12], 6)
    assert len(texts) > 12
    assert all(not mangling.OUTSIDE.search(text) for text in texts)
    target = Target()
    assert [] == [(text, problem) for text in texts if (problem := target.take(text))]
    target.close()
    assert target.outcomes["done"] > len(texts) / (10 if is_brief() else 5)


@pytest.mark.parametrize("first", range(0, FEW, 250))
def test_what_is_mangled_gets_an_error_with_a_place_and_changes_nothing(first: int) -> None:
    found, outcomes = problems(range(first, first + 250))
    assert not found, f"{len(found)} of 250:\n" + "\n\n".join(found[:3])
    assert {"ParseError", "BindError", "CatalogError"} <= set(outcomes)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("SELECT (*) FROM s", "done"),
        ("SELECT (*) AS a FROM s", "BindError"),
        ("SELECT e, count(*) AS n FROM (SELECT [] AS e FROM s) AS i GROUP BY e", "done"),
        ("SELECT e FROM (SELECT DISTINCT {'x': [[]]} AS e FROM s) AS i", "done"),
        ("SELECT 1 + (*) FROM s", "BindError"),
        ("SELECT count(*) AS n FROM s GROUP BY 1e-400", "done"),
        ("SELECT k FROM s GROUP BY 1.0", "BindError"),
        ("SELECT k FROM s 1e-400.% SAMPLE", "ParseError"),
        ("SELECT k FROM s 1e% SAMPLE", "ParseError"),
        ("SELECT #1.5 FROM s", "BindError"),
        ("SELECT k, count( -> ) AS n FROM s GROUP BY k", "ParseError"),
        ("SELECT k FROM s [ROWS 1 WHERE WHERE v = 1]", "ParseError"),
        ("SELECT k FROM s [ROWS 1 WHERE k AS 'x']", "ParseError"),
        ("SELECT k FROM s [ROWS 1 WHERE *]", "ParseError"),
        ("SELECT k FROM s [ROWS 1 WHERE k = 1, v = 2]", "ParseError"),
        ("SELECT k FROM s [ROWS 1 WHERE k = 1 GROUP BY k]", "ParseError"),
        ("SELECT k FROM s [ROWS 1 WHERE DISTINCT k = 1]", "ParseError"),
        ("SELECT k FROM s [ROWS 1 WHERE k = 1 ORDER BY k LIMIT 1]", "ParseError"),
        ("SELECT k FROM s [ROWS 1 WHERE NOT (k IN (1, 2) OR v BETWEEN 1 AND k)]", "done"),
        ("SELECT k FROM s [ROWS 1 WHERE k = 2\u0130]", "ParseError"),
        ("SELECT k FROM s 10% SAMPLE [ROWS  [ROWS 5] AS x", "ParseError"),
        ("CREATE RELATION found (a VARCHAR) FROM  UNION 'airlines'", "ParseError"),
        ("CREATE RELATION found (a VARCHAR) FROM SECONDS]  'folder'", "ParseError"),
        ("CREATE RELATION found (a VARCHAR) FROM  [1] ", "ParseError"),
        ("CREATE RELATION found (a INTEGER) AT 1 FROM (SELECT 'one', 1;)", "ParseError"),
        ("CREATE RELATION found FROM (SELECT nothing FROM s)", "BindError"),
        ("REFRESH RELATION r FROM (SELECT 1 AS)", "ParseError"),
        ("SELECT k FROM s WHERE k = (SELECT count(*) FROM r WHERE r.a = s.)", "ParseError"),
        ("SELECT k FROM s WHERE k IN (0, 1x.)", "ParseError"),
        ("SELECT {'a': k.} FROM s", "ParseError"),
        ("SELECT MAP {1: k.} FROM s", "ParseError"),
        ("SELECT extract(year FROM k.) FROM s", "ParseError"),
        ("SELECT CAST(k. AS INTEGER) FROM s", "ParseError"),
        ("SELECT a FROM s [PARTITION BY k ROWS # ]", "ParseError"),
        ("SELECT (CASE WHEN a THEN 1.) END FROM s", "ParseError"),
        ("SELECT count(CASE WHEN a THEN *) END FROM s", "ParseError"),
        ("SELECT k, count(DISTINCT ) AS n FROM s GROUP BY k", "BindError"),
        ("INSERT INTO r (k, a) VALUES (1, 2) ON ", "ParseError"),
        ("SELECT s.* EXCLUDE", "ParseError"),
        ("SELECT * RENAME a (v AS z) FROM s", "ParseError"),
        ("SELECT * RENAME a FROM s", "ParseError"),
        ("SELECT a, (SELECT count(((*))) FROM r) AS n FROM s [NOW]", "done"),
        ("SELECT * EXCLUDE FROM s", "ParseError"),
        ("SELECT * RENAME, k FROM s", "ParseError"),
        ("SELECT count(* REPLACE) FROM s", "ParseError"),
        ("SELECT * REPLACE", "ParseError"),
        ("SELECT k FROM s WHERE s.* EXCLUDE", "ParseError"),
        ("INSERT INTO main.r (k, a) VALUES (1, SHOW", "ParseError"),
        (";;\nINSERT INTO main. SHOW  VALUES (0, NULL);", "ParseError"),
        ("INSERT INTO main.ONTINUOUS  SELECT a FROM s [ROWS 1 cql.streams b = 'y']", "ParseError"),
        ("DELETE FROM main.r WHERE nothing = 1", "BindError"),
        ("UPDATE main.r SET nothing = 1", "BindError"),
        # to sqlglot what follows is a string, to DuckDB gigabytes
        ("EXPLAIN " + "WITH x AS (" * 8 + "SELECT 1" + ")" * 8, "ParseError"),
        ("PREPARE p AS " + "WITH x AS (" * 8 + "SELECT 1" + ")" * 8, "NotSupportedError"),
    ],
)
def test_what_was_found(text: str, outcome: str) -> None:
    target = Target()
    try:
        is_whole = not text.startswith(("SELECT", "FROM"))
        whole = text if is_whole else f"CREATE CONTINUOUS QUERY found AS {text}"
        assert target.take(whole) is None
        assert {outcome: 1} == dict(target.outcomes)
    finally:
        target.close()


@pytest.mark.parametrize(
    "whole",
    [
        "INSERT INTO r ( k , t ) SELECT DISTINCT 1 , '2020-01-01' UNION ( SELECT ALL k , t FROM r",
        "INSERT INTO r BY NAME ( SELECT 1 AS k , coalesce ( t , '2020-01-01' ) AS t FROM s [NOW] )",
        "INSERT INTO r WITH c AS ( SELECT 1 ) VALUES ( 1 , '2020-01-01' ) , ( 2 , DEFAULT )",
        "UPDATE r SET t = CASE WHEN k = 1 THEN '2020-01-01' ELSE t END , k = 2 WHERE k = 1",
        "DELETE FROM r WHERE t = '2020-01-01' AND k IN ( SELECT k FROM r )",
    ],
)
def test_a_statement_that_ends_anywhere_is_done_or_an_error(whole: str) -> None:
    words = whole.split()
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (k INTEGER, t TIMESTAMP)")
        con.execute("CREATE RELATION r (k INTEGER, t TIMESTAMP)")
        for end in range(2, len(words)):
            with contextlib.suppress(cqlduck.Error):
                con.execute(" ".join(words[:end]))


ODD_NUMBERS = (*mangling.NUMBERS, "1e", "1e-400.", "1e+", "1_0", "1__0", "0b1", "1.e1", "10.", "08")
TAKE_NUMBERS = (
    "SELECT a FROM s {}% SAMPLE", "SELECT a FROM r SAMPLE {}%", "SELECT a FROM s [RANGE {}]",
    "SELECT a FROM s [ROWS {0} SLIDE {0}]", "SELECT a FROM s [RANGE {0} SLIDE {0}]",
    "SELECT a FROM s [HOP {0} EVERY {0}]", "SELECT a FROM s [TUMBLE {}]",
    "SELECT a FROM s [RANGE '{} seconds']", "SELECT a FROM s [PARTITION BY a ROWS {0} RANGE {0}]",
    "SELECT a, count(*) AS n FROM s GROUP BY {}", "SELECT a FROM s ORDER BY {}",
    "SELECT a FROM s LIMIT {0} OFFSET {0}", "SELECT a FROM s LIMIT {}%", "SELECT #{} FROM s",
    "SELECT l[{0}:{0}] FROM (SELECT [a] AS l FROM s) AS x", "SELECT a FROM s WHERE _ts > {}",
    "SELECT count(*) OVER (ORDER BY a ROWS {} PRECEDING) AS n FROM s",
    "SELECT a FROM t WHERE at > current_timestamp - INTERVAL {} DAYS",
    "SELECT a FROM s QUALIFY row_number() OVER () <= {}", "SELECT {} AS n, a FROM s",
    "SELECT CAST(a AS DECIMAL({}, 1)) AS n FROM s", "SELECT DISTINCT ON ({}) a FROM s",
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "first"),
    [
        pytest.param(text, first, marks=[pytest.mark.long] if (first + at) % 3 else [])
        for at, text in enumerate(TAKE_NUMBERS)
        for first in range(3)
    ],
)
def test_any_number_is_taken_or_an_error(text: str, first: int) -> None:
    with cqlduck.connect() as con:
        con.execute(mangling.BASE)
        for number in ODD_NUMBERS[first::3]:
            body = text.format(number)
            with contextlib.suppress(cqlduck.Error):
                con.execute(f"CREATE OR REPLACE CONTINUOUS QUERY x AS {body}")


@pytest.mark.long
@pytest.mark.parametrize("first", range(FEW, MANY, SHARE))
def test_the_same_for_a_hundred_thousand(first: int) -> None:
    found, _ = problems(range(first, min(first + SHARE, MANY)))
    assert not found, f"{len(found)}:\n" + "\n\n".join(found[:10])


if __name__ == "__main__":
    low, high = map(int, sys.argv[1:3])
    for first in range(low, high, 1000):
        started = time.monotonic()
        wrong, counted = problems(range(first, min(first + 1000, high)))
        seconds = time.monotonic() - started
        print("\n\n".join(wrong))
        print(f"{first}: {len(wrong)} in {seconds:.1f} s: {dict(counted)}", flush=True)
