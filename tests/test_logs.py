"""What is known of logs: a log that is in order and net is read as it lies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_relation_rules import VALUES

import cqlduck
from cqlduck.state import answers, logs

SCRIPT = """
    CREATE STREAM s (k INTEGER) OUT OF ORDER WITHIN 20;
    CREATE CONTINUOUS QUERY q AS SELECT k FROM s;
    CREATE CONTINUOUS QUERY n AS SELECT k, count(*) AS n FROM s [RANGE 2] GROUP BY k;
"""


@pytest.fixture(autouse=True)
def all_logs_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "LONG_LOG_ELEMENTS", 0)
    monkeypatch.setattr(logs, "SMALL_LOG_ELEMENTS", 0)


def known(con: cqlduck.Connection, query: str = "q", after: int | None = None) -> tuple[bool, bool]:
    found = con.engine.results.logs.known(con.engine.query(query), after)
    return found.in_order, found.is_net


def elements(con: cqlduck.Connection) -> list[tuple[int, int]]:
    return con.sql("SELECT k, _ts FROM cql_state.changes_q ORDER BY rowid").fetchall()


def check(con: cqlduck.Connection, query: str, since: int | None) -> None:
    """Compare `changes` with the sum of what the log has, and its order with that of time."""
    listed = ", ".join(c.name for c in con.engine.query(query).columns)
    low = "" if since is None else f"WHERE _ts > {since}"
    want = con.sql(
        f"SELECT {listed}, _ts, sum(_weight)::BIGINT FROM cql_state.changes_{query} {low} "
        "GROUP BY ALL HAVING sum(_weight) <> 0"
    ).fetchall()
    found = con.changes(query, since).fetchall()
    assert Counter(want) == Counter(found)
    times = [row[-2] for row in found]
    assert sorted(times) == times


ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 6)), max_size=6)


@given(st.lists(ROWS, min_size=1, max_size=4), st.none() | st.integers(-1, 30), st.booleans())
@settings(
    deadline=None,
    max_examples=8,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_changes_are_net_and_in_order_whatever_is_known(
    ticks: Sequence[Sequence[tuple[int, int]]], since: int | None, looks_between: bool
) -> None:
    with cqlduck.connect(threads=1) as con:
        con.execute(SCRIPT)
        for number, rows in enumerate(ticks):
            start = 7 * number
            if rows:
                con.append("s", [(k,) for k, _ in rows], at=[start + t for _, t in rows])
            con.advance(start + 6)
            if looks_between:
                check(con, "q", None if number % 2 else start)
        for after in (since, None, since):
            check(con, "q", after)
            check(con, "n", after)
        written = elements(con)
        times = [t for _, t in written]
        assert known(con) == (sorted(times) == times, len(set(written)) == len(written))


@pytest.mark.parametrize(
    ("rows", "in_order", "is_net"),
    [
        ([(1, 1), (2, 2), (1, 3)], True, True),
        ([(1, 1), (2, 1), (1, 3)], True, True),
        ([(1, 1), (1, 1), (1, 3)], True, False),
        ([(1, 1), (1, 3), (1, 1)], False, False),
        ([(1, 3), (1, 1), (2, 3)], False, True),
        ([*((n, n) for n in range(9)), (9, 8)], True, True),
        ([*((n, n) for n in range(9)), (8, 8)], True, False),
    ],
)
def test_what_is_known_is_so(
    con: cqlduck.Connection, rows: list[tuple[int, int]], in_order: bool, is_net: bool
) -> None:
    con.execute(SCRIPT)
    con.append("s", [(k,) for k, _ in rows], at=[t for _, t in rows])
    con.advance(9)
    assert rows == elements(con)
    assert (in_order, is_net) == known(con)
    con.append("s", [(1,), (2,)], at=[10, 11])
    con.advance(12)
    assert (in_order, is_net) == known(con)
    con.engine.results.logs.forget("changes_q")
    assert (True, True) == known(con, after=9)
    assert (in_order, is_net) == known(con)
    check(con, "q", None)


@pytest.mark.parametrize(("last", "is_net"), [(0, True), (1, False)])
def test_equal_tuples_of_all_types_are_seen(
    con: cqlduck.Connection, last: int, is_net: bool
) -> None:
    listed = ", ".join(f"c{n} {kind}" for n, kind in enumerate(VALUES))
    con.execute(f"CREATE STREAM s ({listed}); CREATE CONTINUOUS QUERY q AS SELECT * FROM s")
    pairs = [[v if isinstance(v, str) else v[0] for v in values] for values in VALUES.values()]
    one, other = (", ".join(values[n] for values in pairs) for n in (0, 1))
    nothing = ", ".join("NULL" for _ in VALUES)
    con.execute("CREATE TABLE t AS FROM (SELECT * FROM s) WITH NO DATA")
    for row in (one, other, (nothing, other)[last]):
        con.execute(f"INSERT INTO t SELECT {row}")
    con.append("s", con.sql("FROM t"), at=1)
    con.advance(2)
    assert (True, is_net) == known(con)


def test_a_log_is_looked_at_once() -> None:
    texts: list[str] = []
    with cqlduck.connect(trace=lambda sql, _: texts.append(sql), threads=1) as con:
        con.execute(SCRIPT)

        def looks(since: int | None = None) -> list[str]:
            texts.clear()
            con.changes("q", since).fetchall()
            return [text for text in texts if "lag(_ts)" in text]

        con.append("s", [(1,), (2,)], at=[1, 2])
        con.advance(3)
        assert [1, 0, 0] == [len(looks(since)) for since in (None, None, 1)]
        con.append("s", [(3,)], at=5)
        con.advance(6)
        (look,) = looks()
        assert "_ts > 3 " in look
        found = con.changes("q")
        views = "SELECT sql FROM duckdb_views() WHERE starts_with(view_name, '_cql_result')"
        view = con.sql(f"{views} ORDER BY view_oid DESC LIMIT 1").fetchall()[0][0]
        assert "changes_q" in view
        assert not any(word in view for word in ("ORDER BY", "GROUP BY"))
        assert [(1, 1, 1), (2, 2, 1), (3, 5, 1)] == found.fetchall()
        con.execute("ALTER CONTINUOUS QUERY q SET (keep = 1)")
        con.execute("ALTER CONTINUOUS QUERY q SET (keep = 'unbounded')")
        con.execute("DROP CONTINUOUS QUERY q")
        con.execute("CREATE CONTINUOUS QUERY q AS SELECT k FROM s WHERE k > 0")
        con.append("s", [(7,), (7,)], at=[8, 8])
        con.advance(9)
        assert [(7, 8, 2)] == con.changes("q").fetchall()


def test_what_a_tick_has_not_committed_is_not_kept_in_mind(con: cqlduck.Connection) -> None:
    con.execute(SCRIPT)
    seen: list[tuple[bool, bool]] = []
    con.engine.on_tick.append(lambda _: seen.append(known(con)))
    con.append("s", [(1,)], at=1)
    con.advance(2)
    assert [(False, False)] == seen
    assert (True, True) == known(con)
