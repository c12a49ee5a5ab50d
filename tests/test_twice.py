"""What may run twice: a script, a definition that is there already, a query in another's place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import duckdb
import pytest
from counts import fewer_if_brief
from hypothesis import given, settings
from hypothesis import strategies as st

import cqlduck

SCRIPT = """
    DROP CONTINUOUS QUERY IF EXISTS old; DROP STREAM IF EXISTS gone; DROP RELATION IF EXISTS lost;
    CREATE STREAM IF NOT EXISTS s (k INTEGER, v INTEGER);
    CREATE TABLE IF NOT EXISTS plain AS SELECT 1 AS k, 'one' AS name;
    CREATE RELATION IF NOT EXISTS r FROM plain;
    CREATE RELATION IF NOT EXISTS empty (a INTEGER);
    CREATE CONTINUOUS QUERY IF NOT EXISTS q AS SELECT k, count(*) AS n FROM s [ROWS 3] GROUP BY k;
    CREATE OR REPLACE CONTINUOUS QUERY p AS SELECT k, n FROM q WHERE n > 1;
"""


def shown(con: cqlduck.Connection, *queries: str) -> dict[str, Any]:
    found: dict[str, Any] = {name: sorted(con.changes(name).fetchall()) for name in queries}
    found["catalogue"] = con.sql("SELECT name, frontier, began, query FROM cql.queries").fetchall()
    found["rows"] = con.sql("FROM r").fetchall()
    return found


def test_a_script_runs_twice(con: cqlduck.Connection) -> None:
    con.execute(SCRIPT)
    con.append("s", [(1, 1), (1, 2), (2, 3)], at=[1, 2, 3])
    con.advance(4)
    before = shown(con, "q", "p")
    assert before["p"]
    con.execute(SCRIPT)
    con.execute(SCRIPT.replace("SELECT k, n", "SELECT k,  n -- with a comment\n "))
    assert before == shown(con, "q", "p")
    con.append("s", [(2, 4)], at=5)
    con.advance(6)
    assert [(2, 2)] == con.table("p").fetchall()


def test_if_not_exists_leaves_a_query_as_it_is(con: cqlduck.Connection) -> None:
    con.execute(SCRIPT)
    con.execute("CREATE CONTINUOUS QUERY IF NOT EXISTS q AS SELECT count(*) AS other FROM s")
    assert ["k", "n"] == con.table("q").columns
    for taken in ("s", "r", "plain"):
        with pytest.raises(cqlduck.CatalogError, match=taken):
            con.execute(f"CREATE CONTINUOUS QUERY IF NOT EXISTS {taken} AS SELECT k FROM s")
    with pytest.raises(cqlduck.CatalogError, match="IF NOT EXISTS"):
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT k FROM s")


@pytest.mark.parametrize(
    "text",
    [
        "CREATE OR REPLACE STREAM s (a INTEGER)",
        "CREATE OR REPLACE RELATION s (a INTEGER)",
        "CREATE OR REPLACE CONTINUOUS QUERY IF NOT EXISTS q AS SELECT 1",
    ],
)
def test_what_cannot_be_replaced(con: cqlduck.Connection, text: str) -> None:
    with pytest.raises(cqlduck.ParseError, match="IF NOT EXISTS") as caught:
        con.execute(text)
    assert caught.value.line == 1


def test_the_same_text_sets_keep_and_changes_nothing_else(con: cqlduck.Connection) -> None:
    con.execute(SCRIPT)
    con.append("s", [(1, 1), (1, 2)], at=[1, 2])
    con.advance(4)
    before = con.changes("p").fetchall()
    con.execute(
        "CREATE OR REPLACE CONTINUOUS QUERY p WITH (keep = 20) AS SELECT k, n FROM q WHERE n > 1"
    )
    assert before == con.changes("p").fetchall()
    assert [("20",)] == con.sql("SELECT keep FROM cql.queries WHERE name = 'p'").fetchall()
    with pytest.raises(cqlduck.BindError, match="wrong"):
        con.execute("CREATE OR REPLACE CONTINUOUS QUERY p WITH (wrong = 1) AS FROM q WHERE n > 1")


def test_a_query_that_failed_begins_anew_with_the_same_text(con: cqlduck.Connection) -> None:
    con.execute("CREATE STREAM t (x VARCHAR)")
    text = "CREATE OR REPLACE CONTINUOUS QUERY q AS SELECT x::INTEGER AS n FROM t [NOW]"
    con.execute(text)
    con.append("t", [("1",), ("one",)], at=[1, 2])
    con.advance(3)
    assert [("failed",)] == con.sql("SELECT state FROM cql.queries").fetchall()
    con.execute(text)
    con.append("t", [("4",)], at=4)
    con.advance(4)
    assert [(4,)] == con.table("q").fetchall()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("SELECT k, n, n + 1 AS more FROM q", "columns"),
        ("SELECT k AS l, n FROM q", "columns"),
        ("SELECT k, n::DOUBLE AS n FROM q", "columns"),
        ("SELECT Istream(k, n) FROM q", "stream"),
        ("SELECT k, n FROM top", "top"),
        ("SELECT k, n FROM p", "p"),
        ("SELECT k, sum(v)::BIGINT AS n FROM am [ROWS 2] GROUP BY k", "AMEND"),
    ],
)
def test_what_is_read_is_not_replaced_by_what_does_not_fit(
    con: cqlduck.Connection, text: str, why: str
) -> None:
    con.execute(SCRIPT)
    con.execute("CREATE CONTINUOUS QUERY mid AS SELECT k, n + 1 AS n FROM p")
    con.execute("CREATE CONTINUOUS QUERY top AS SELECT k, n FROM mid")
    con.execute("CREATE STREAM am (k INTEGER, v INTEGER) LATE AMEND")
    con.append("s", [(1, 1), (1, 2)], at=[1, 2])
    con.advance(4)
    before = shown(con, "q", "p", "mid", "top")
    with pytest.raises(cqlduck.Error, match=why):
        con.execute(f"CREATE OR REPLACE CONTINUOUS QUERY p AS {text}")
    with pytest.raises(cqlduck.CatalogError, match="history"):
        con.execute(
            "CREATE OR REPLACE CONTINUOUS QUERY p WITH (history = true) AS SELECT k, n + 2 AS n "
            "FROM q"
        )
    assert before == shown(con, "q", "p", "mid", "top")
    con.advance(9)
    assert con.table("top").fetchall() == [(1, 3)]


# -- a query in the place of one that others read -------------------------------------------------

# All yield k and n. Some answers are read from synopses, others from the log; some are empty.
BODIES = (
    "SELECT k, count(*) AS n FROM s [RANGE 4] GROUP BY k",
    "SELECT k, sum(v)::BIGINT AS n FROM s [ROWS 3] GROUP BY k",
    "SELECT k, v::BIGINT AS n FROM s [RANGE 2]",
    "SELECT DISTINCT k, v::BIGINT AS n FROM s [RANGE 6] WHERE v > 1",
    "SELECT k, v::BIGINT AS n FROM s [ROWS 2]",
    "SELECT k, n FROM late [ROWS 3]",
)
READERS = (
    "SELECT k, n FROM {q} WHERE n > 0",
    "SELECT k, sum(n)::BIGINT AS n FROM {q} GROUP BY k",
    "SELECT a.k, b.n FROM {q} a JOIN {q} b ON a.n = b.n",
    "SELECT DISTINCT n, 1 AS one FROM {q}",
    "SELECT max(n) AS n, count(*) AS c FROM {q}",
    "SELECT k, count(*) FILTER (n > 1) AS n FROM {q} GROUP BY ALL HAVING count(*) > 1",
)
ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=0, max_size=3)


def bag(relation: Any) -> Counter[tuple[Any, ...]]:
    return Counter(relation.fetchall())


def content(query: str, rows: Iterable[tuple[Any, ...]], reader: str) -> Counter[tuple[Any, ...]]:
    """What DuckDB says on a reader over these rows of a query."""
    with duckdb.connect() as plain:
        plain.execute(f"CREATE TABLE {query} (k INTEGER, n BIGINT)")
        for row in rows:
            plain.execute(f"INSERT INTO {query} VALUES (?, ?)", row)
        return bag(plain.sql(reader))


REPLACEMENTS = {
    "bodies": st.lists(st.sampled_from(BODIES), min_size=2, max_size=3),
    "reader": st.sampled_from(READERS),
    "batches": st.lists(ROWS, min_size=4, max_size=7),
    "cuts": st.sets(st.integers(1, 6)),
    "at": st.integers(0, 3),
}


@settings(max_examples=fewer_if_brief(10))
@given(**REPLACEMENTS)
def test_readers_of_a_replaced_query_go_on(
    bodies: list[str],
    reader: str,
    batches: list[list[tuple[int, int]]],
    cuts: set[int],
    at: int,
) -> None:
    """Up to the frontier all answers stay; after it each is plain SQL over what stands then."""
    end = len(batches) - 1
    with cqlduck.connect() as con:
        con.execute("CREATE STREAM s (k INTEGER, v INTEGER)")
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT k, v::BIGINT AS n FROM s [ROWS 4]")
        con.execute(f"CREATE CONTINUOUS QUERY above AS {reader.format(q='q')}")
        con.execute(
            "CREATE CONTINUOUS QUERY late AS SELECT Istream(k, v::BIGINT AS n) FROM s [NOW]"
        )
        con.execute("CREATE CONTINUOUS QUERY first AS SELECT k, v::BIGINT AS n FROM s [ROWS 4]")
        for tau, rows in enumerate(batches):
            con.append("s", rows, at=tau)
            if tau in cuts | {at, end}:
                con.advance(tau)
            if tau == at:
                for body in bodies:
                    con.execute(f"CREATE OR REPLACE CONTINUOUS QUERY q AS {body}")
                    con.execute(f"CREATE OR REPLACE CONTINUOUS QUERY twin AS {body}")
                assert bag(con.table("q")) == bag(con.as_of("q", tau)) == bag(con.sql("FROM q"))
        for tau in range(end + 1):
            answer = bag(con.as_of("q", tau))
            assert answer == bag(con.as_of("twin" if tau > at else "first", tau))
            wanted = content("q", answer.elements(), reader.format(q="q"))
            assert wanted == bag(con.as_of("above", tau)), tau
        assert bag(con.table("q")) == bag(con.as_of("q", end)) == bag(con.sql("FROM q"))


@pytest.mark.parametrize("sharing", [True, False])
def test_readers_of_a_replaced_query_get_the_difference_alone(sharing: bool) -> None:
    """A tuple that the old answer and the new one have is neither deleted nor inserted."""
    with cqlduck.connect(sharing=sharing) as con:
        con.execute("""
            CREATE RELATION r (k INTEGER, name VARCHAR);
            CREATE CONTINUOUS QUERY q AS SELECT k, name FROM r WHERE k < 3;
            CREATE CONTINUOUS QUERY other AS SELECT k, name FROM r WHERE k < 9;
            CREATE CONTINUOUS QUERY above AS SELECT k, name FROM q;
            CREATE CONTINUOUS QUERY come AS SELECT Istream(k, name) FROM q;
            CREATE CONTINUOUS QUERY gone AS SELECT Dstream(k, name) FROM q;
        """)
        con.append("r", [(1, "a"), (2, "b"), (3, "c")], at=1)
        con.advance(1)
        con.execute("CREATE OR REPLACE CONTINUOUS QUERY q AS SELECT k, name FROM r WHERE k > 1")
        con.advance(2)
        wanted = [(1, "a", 2, -1), (3, "c", 2, 1)]
        assert wanted == sorted(con.changes("above", since=1).fetchall())
        assert [(3, "c", 2, 1)] == con.changes("come", since=1).fetchall()
        assert [(1, "a", 2, 1)] == con.changes("gone", since=1).fetchall()
