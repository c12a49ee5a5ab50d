"""Results that are read from a log without a copy: they stay as they were, and end."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import cqlduck
from cqlduck.state import answers

SCRIPT = """
    CREATE STREAM s (k INTEGER, v DOUBLE);
    CREATE CONTINUOUS QUERY means AS
        SELECT k, avg(v) AS mean, count(*) AS n FROM s [RANGE 2] GROUP BY k;
    CREATE CONTINUOUS QUERY greatest AS SELECT k, max(v) AS top FROM s [ROWS 3] GROUP BY k;
    CREATE CONTINUOUS QUERY news AS SELECT k, v FROM s WHERE v > 1;
"""


@pytest.fixture(params=[0, 10**9], ids=["from the log", "copied"])
def con(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A database whose results are read from the log, and one whose results are copied."""
    monkeypatch.setattr(answers, "LONG_LOG_ELEMENTS", request.param)
    with cqlduck.connect(tmp_path / "a.duckdb") as connection:
        connection.execute(SCRIPT)
        feed(connection, range(8))
        yield connection


def feed(con: cqlduck.Connection, instants: range) -> None:
    con.append(
        "s",
        [(n % 3, float(n % 5)) for t in instants for n in (t, t + 1)],
        at=[t for t in instants for _ in range(2)],
    )
    con.advance(instants[-1])


def rows(relation: duckdb.DuckDBPyRelation) -> Counter[tuple[Any, ...]]:
    return Counter(relation.fetchall())


def results(con: cqlduck.Connection) -> Iterator[duckdb.DuckDBPyRelation]:
    for query in ("means", "greatest", "news"):
        yield con.changes(query)
        yield con.changes(query, since=2, until=5)
        yield con.changes(query, until=100)
    yield con.table("news")
    yield con.changes("means").filter("n > 1").project("k, n, _ts")


CHANGES: dict[str, Callable[[cqlduck.Connection], object]] = {
    "a tick": lambda con: feed(con, range(8, 12)),
    "queries dropped": lambda con: con.execute(
        "DROP CONTINUOUS QUERY means; DROP CONTINUOUS QUERY news; DROP CONTINUOUS QUERY greatest"
    ),
    "a query replaced": lambda con: con.execute(
        "CREATE OR REPLACE CONTINUOUS QUERY means AS SELECT k FROM s [ROWS 1]"
    ),
    "a history bounded": lambda con: [
        con.execute(f"ALTER CONTINUOUS QUERY {q} SET (keep = 2)")
        for q in ("means", "greatest", "news")
    ],
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_result_stays_as_it_was(con: cqlduck.Connection, change: str) -> None:
    before = [(found, rows(found)) for found in results(con)]
    assert all(known for _, known in before)
    CHANGES[change](con)
    feed(con, range(20, 40))
    for found, known in before:
        assert known == rows(found)
        assert known == rows(found.filter("true"))


def test_both_ways_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    with cqlduck.connect() as con:
        con.execute(SCRIPT)
        for start in (0, 5, 9):
            feed(con, range(start, start + 4))
            both = []
            for least in (0, 10**9):
                monkeypatch.setattr(answers, "LONG_LOG_ELEMENTS", least)
                found = [(r.columns, r.types, r.fetchall()) for r in results(con)]
                for columns, _, given in found[:9]:
                    times = [row[columns.index("_ts")] for row in given]
                    assert sorted(times) == times
                both.append([(columns, types, Counter(given)) for columns, types, given in found])
            assert both[0] == both[1]


def test_what_is_over_leaves_nothing(con: cqlduck.Connection) -> None:
    def left() -> list[Any]:
        con.changes("means", since=10**6)
        gc.collect()
        con.changes("means", since=10**6)
        return con.sql(
            "SELECT view_name FROM duckdb_views() WHERE view_name LIKE '_cql_result%' UNION ALL "
            "SELECT table_name FROM duckdb_tables() WHERE table_name LIKE '_cql_copy%'"
        ).fetchall()

    first = con.changes("means")
    second = first.filter("n > 1")
    known = rows(second)
    assert known
    del first
    gc.collect()
    con.execute("CREATE OR REPLACE CONTINUOUS QUERY means AS SELECT k, v FROM s [ROWS 1]")
    assert known == rows(second)
    del second
    gc.collect()
    assert len(left()) <= 1
    con.changes("greatest").fetchall()
    assert len(left()) <= 1


def test_a_log_that_is_net_has_one_row_each(con: cqlduck.Connection) -> None:
    queries = (
        "SELECT k, count(*) AS n, avg(v) AS mean FROM s [ROWS 4] GROUP BY k HAVING count(*) > 1",
        "SELECT count(*) AS n, sum(v) AS total FROM s [RANGE 3 SLIDE 2]",
        "SELECT DISTINCT v FROM s [ROWS 4] WHERE k < 2",
        "SELECT avg(v) AS mean FROM s [ROWS 5] GROUP BY k",
        "SELECT a.k, b.v FROM s [ROWS 2] a LEFT JOIN s [NOW] b ON a.k = b.k",
        "SELECT Rstream(k) FROM s [ROWS 3]",
        "SELECT Istream(k, count(*) AS n) FROM s [ROWS 3] GROUP BY k",
        "SELECT k, v FROM s [ROWS 3] UNION SELECT k, v FROM s [RANGE 1]",
        "SELECT k FROM s [ROWS 3]",
        "SELECT k, min(v) AS least FROM s [ROWS 3] GROUP BY k",
    )
    for place, text in enumerate(queries):
        con.execute(f"CREATE CONTINUOUS QUERY q{place} AS {text}")
    for start, end in ((8, 9), (9, 15), (15, 22)):
        feed(con, range(start, end))
    net = 0
    for name, query in con.engine.catalogue.queries.items():
        listed = ", ".join(f'"{column.name}"' for column in query.columns)
        twice = con.sql(
            f"SELECT {listed}, _ts FROM cql_state.changes_{name} GROUP BY ALL HAVING count(*) > 1 "
            f"UNION ALL SELECT {listed}, _ts FROM cql_state.changes_{name} WHERE _weight = 0"
        ).fetchall()
        if con.engine.is_net(query):
            net += 1
            assert [] == twice, query.body
    assert net >= 6
