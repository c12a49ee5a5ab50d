"""A query that stands still holds its inputs for a while, and then begins from now."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import cqlduck

S = "CREATE STREAM s (k INTEGER, v INTEGER, t INTEGER) TIMESTAMP BY t"
P = "CREATE CONTINUOUS QUERY p WITH (sharing = false) AS SELECT k FROM s WHERE v > 5"


def feed(con: cqlduck.Connection, times: range) -> None:
    for t in times:
        con.tick({"s": [(t % 3, t % 10, t)]}, t)


def states(con: cqlduck.Connection) -> dict[str, str]:
    return dict(con.sql("SELECT name, state FROM cql.queries").fetchall())


def holders(con: cqlduck.Connection) -> set[str | None]:
    rows = con.sql("SELECT unnest(held_by, recursive := true) FROM cql.stores").fetchall()
    return {query for query, *_ in rows}


def stored(con: cqlduck.Connection) -> int:
    return int(con.sql("SELECT row_count FROM cql.stores WHERE name = 's'").fetchall()[0][0])


def refused(con: cqlduck.Connection, text: str, *parts: str) -> None:
    with pytest.raises(cqlduck.CatalogError) as caught:
        con.execute(text)
    for part in parts:
        assert part in f"{caught.value.message} {caught.value.hint}"


QUERIES = {
    "a filter": "SELECT k, v FROM s WHERE v > 2",
    "groups of a window": "SELECT k, count(*) AS n, sum(v) AS v FROM s [RANGE 8] GROUP BY k",
    "a window in rows": "SELECT k, v FROM s [ROWS 3]",
    "worked out again": "SELECT k, v FROM s [RANGE 8] ORDER BY v, k LIMIT 2",
    "with a relation": "SELECT s.v, r.name FROM s [RANGE 8], r WHERE s.k = r.k",
    "everything": "SELECT max(v) AS v FROM s",
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_query_begins_from_now_as_one_that_is_registered_now(query: str) -> None:
    with cqlduck.connect(standing="15 seconds") as con:
        con.execute(f"{S}; CREATE RELATION r (k INTEGER, name VARCHAR); {P}")
        con.append("r", [(0, "a"), (1, "b")], at=0)
        con.execute(f"CREATE CONTINUOUS QUERY q AS {query}")
        feed(con, range(1, 16))
        kept, before = con.table("q").fetchall(), con.changes("q").fetchall()
        con.execute("ALTER CONTINUOUS QUERY q DEACTIVATE")
        feed(con, range(16, 31))
        assert {"p": "active", "q": "inactive"} == states(con)
        assert stored(con) >= 15
        feed(con, range(31, 50))
        assert {"p": "active", "q": "expired"} == states(con)
        assert stored(con) < 15
        assert "q" not in holders(con)
        assert kept == con.table("q").fetchall() or sorted(kept) == sorted(
            con.table("q").fetchall()
        )
        assert sorted(before, key=repr) == sorted(con.changes("q").fetchall(), key=repr)
        con.as_of("q", 15).fetchall()
        con.append("r", [(2, "c")])
        con.execute(
            f"ALTER CONTINUOUS QUERY q ACTIVATE FROM NOW; CREATE CONTINUOUS QUERY twin AS {query}"
        )
        feed(con, range(50, 66))
        kind = con.sql("SELECT kind FROM cql.queries WHERE name = 'q'").fetchall()[0][0]
        if kind == "stream":
            found = con.changes("q", since=49).fetchall()
            assert sorted(con.changes("twin").fetchall()) == sorted(found)
        else:
            for t in range(50, 66):
                twin = sorted(con.as_of("twin", t).fetchall(), key=repr)
                assert twin == sorted(con.as_of("q", t).fetchall(), key=repr), t
            assert sorted(con.table("twin").fetchall()) == sorted(con.table("q").fetchall())
        assert sorted(before, key=repr) == sorted(con.changes("q", until=15).fetchall(), key=repr)


def test_one_that_has_expired_says_how_it_begins(con: cqlduck.Connection) -> None:
    con.execute(f"{S}; {P}; CREATE CONTINUOUS QUERY q AS SELECT k FROM s [RANGE 5]")
    feed(con, range(1, 5))
    refused(con, "ALTER CONTINUOUS QUERY q ACTIVATE FROM NOW", "does not stand still")
    con.execute("ALTER CONTINUOUS QUERY q DEACTIVATE")
    con.advance(86_404)
    assert "inactive" == states(con)["q"], "a day is 86,400 instants"
    con.advance(86_405)
    assert "expired" == states(con)["q"]
    refused(con, "ALTER CONTINUOUS QUERY q ACTIVATE", "q has expired", "stood still at 4",
            "ACTIVATE FROM NOW", "WITH (history = …)")  # fmt: skip
    con.execute("ALTER CONTINUOUS QUERY q DEACTIVATE")
    assert "expired" == states(con)["q"]
    with pytest.raises(cqlduck.BindError, match="forgotten"):
        con.execute("CREATE OR REPLACE CONTINUOUS QUERY q WITH (history = true) AS "
                    "SELECT k FROM s [RANGE 5]")  # fmt: skip
    con.execute("CREATE OR REPLACE CONTINUOUS QUERY q AS SELECT k FROM s [RANGE 5]")
    assert "active" == states(con)["q"]


def test_without_a_bound_and_on_the_clock_on_the_wall() -> None:
    stream = "CREATE STREAM s (v INTEGER, t TIMESTAMP) TIMESTAMP BY t"
    for standing, state in (("unbounded", "inactive"), ("1 hour", "expired")):
        with cqlduck.connect(standing=standing) as con:
            con.execute(f"{stream}; CREATE CONTINUOUS QUERY q AS SELECT v FROM s [RANGE 1 MINUTE]")
            con.append("s", [(1, "2013-01-01 12:00")])
            con.advance("2013-01-01 12:00:30")
            con.execute("ALTER CONTINUOUS QUERY q DEACTIVATE")
            con.append("s", [(2, "2013-01-01 12:30")])
            con.advance("2013-01-01 13:00:30")
            assert {"q": "inactive"} == states(con)
            con.advance("2013-01-01 13:00:31")
            assert {"q": state} == states(con), "no query is active that would have a tick"
            assert (2 if state == "inactive" else 0) == stored(con)
            assert [(1,)] == con.table("q").fetchall()


def test_one_that_failed_expires_with_its_error(con: cqlduck.Connection) -> None:
    """And what it failed at it never sees when it begins from now."""
    con.execute(f"{S}; {P}; CREATE CONTINUOUS QUERY q AS SELECT 12 // (v - 3) AS x FROM s")
    con.execute("CREATE CONTINUOUS QUERY bad AS SELECT CAST('x' || v AS INTEGER) AS x FROM s")
    feed(con, range(1, 4))
    assert "failed" == states(con)["bad"]
    con.advance(90_000)
    assert "expired" == states(con)["bad"]
    error = con.sql("SELECT error FROM cql.queries WHERE name = 'bad'").fetchall()[0][0]
    assert "at 1:" in error
    con.execute("ALTER CONTINUOUS QUERY bad ACTIVATE FROM NOW")
    con.advance(90_010)
    assert "active" == states(con)["bad"]
    con.append("s", [(1, 1, 90_011)])
    con.advance(90_012)
    assert "failed" == states(con)["bad"]


def test_those_above_stand_with_it_and_expire_by_their_own_inputs(con: cqlduck.Connection) -> None:
    con.execute(f"""{S}; {S.replace("STREAM s", "STREAM other")}; {P};
        CREATE CONTINUOUS QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 9] GROUP BY k;
        CREATE CONTINUOUS QUERY above AS SELECT sum(n) AS n FROM q;
        CREATE CONTINUOUS QUERY both AS SELECT q.n FROM q, other [RANGE 9] WHERE q.k = other.k""")
    feed(con, range(1, 10))
    con.execute("ALTER CONTINUOUS QUERY q DEACTIVATE")
    con.append("s", [(0, 1, 100_000)])
    con.heartbeat("s", 100_000)
    con.advance()
    assert {"p": "active", "q": "expired", "above": "expired", "both": "active"} == states(con)
    stood = con.table("above").fetchall()
    refused(con, "ALTER CONTINUOUS QUERY above ACTIVATE FROM NOW", "above reads q", "expired")
    con.execute("ALTER CONTINUOUS QUERY q ACTIVATE FROM NOW")
    con.execute("ALTER CONTINUOUS QUERY above ACTIVATE FROM NOW")
    con.append("other", [(1, 1, 100_004)])
    feed(con, range(100_001, 100_009))
    assert {"active"} == set(states(con).values())
    assert [(8,)] == con.table("above").fetchall()
    assert stood == con.as_of("above", 9).fetchall()
    assert [(n,) for _, n in con.table("q").filter("k = 1").fetchall()] == con.table(
        "both"
    ).fetchall()


def test_an_amended_query_begins_from_now(con: cqlduck.Connection) -> None:
    con.execute(f"{S} LATE AMEND; CREATE CONTINUOUS QUERY q AS SELECT sum(v) AS v FROM s;"
                "CREATE CONTINUOUS QUERY above AS SELECT v FROM q")  # fmt: skip
    feed(con, range(1, 9))
    con.execute("ALTER CONTINUOUS QUERY above DEACTIVATE; ALTER CONTINUOUS QUERY q DEACTIVATE")
    con.advance(100_000)
    con.append("s", [(1, 7, 50)])
    assert {"q": "expired", "above": "expired"} == states(con)
    refused(con, "ALTER CONTINUOUS QUERY q ACTIVATE FROM NOW", "read by above", "LATE AMEND")
    con.execute("DROP CONTINUOUS QUERY above; ALTER CONTINUOUS QUERY q ACTIVATE FROM NOW")
    con.append("s", [(1, 4, 100_010)])
    con.advance(100_020)
    con.append("s", [(1, 2, 100_005)])
    con.advance(100_030)
    assert [(6,)] == con.table("q").fetchall()


SCRIPT = """
import os, signal, sys
import cqlduck
con = cqlduck.connect(sys.argv[1], standing="30 seconds")
con.execute(sys.argv[2])
con.append("s", [(1, 1, 1), (2, 2, 2)])
con.advance(5)
con.execute("ALTER CONTINUOUS QUERY q DEACTIVATE")
con.advance(36)
if sys.argv[3] == "now":
    con.execute("ALTER CONTINUOUS QUERY q ACTIVATE FROM NOW")
    con.append("s", [(3, 3, 40)])
    con.advance(41)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("until", ["expired", "now"])
def test_it_survives_a_kill(until: str, tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    text = f"{S}; {P}; CREATE CONTINUOUS QUERY q AS SELECT k, v FROM s [RANGE 9]"
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(path), text, until], check=False)
    assert -signal.SIGKILL == done.returncode
    found: list[tuple[Any, ...]] = []
    for _ in range(2):
        with cqlduck.connect(path, standing="30 seconds") as con:
            found = con.table("q").order("k").fetchall()
            if until == "expired":
                assert "expired" == states(con)["q"]
                assert [(1, 1), (2, 2)] == found
                assert 0 == stored(con)
                refused(con, "ALTER CONTINUOUS QUERY q ACTIVATE", "expired")
            else:
                assert "active" == states(con)["q"]
                assert [(3, 3)] == found
                assert [(1, 1), (2, 2)] == con.as_of("q", 5).order("k").fetchall()
