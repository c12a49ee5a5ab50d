"""The beginning of time: what a relation gets without an instant, before it has any."""

from __future__ import annotations

import datetime
import itertools
from pathlib import Path

import pytest
from counts import fewer_if_brief
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cqlduck

FIRST = datetime.datetime(2013, 1, 1)
HOUR = datetime.timedelta(hours=1)
FILLED = """
    CREATE RELATION r (k INTEGER, name VARCHAR);
    INSERT INTO r VALUES (1, 'one'), (2, 'two'), (3, 'three');
    UPDATE r SET name = 'zwei' WHERE k = 2;
    DELETE FROM r WHERE k = 3;
"""
NAMED = "SELECT Istream(s.k, name) FROM s [NOW], r WHERE s.k = r.k"


def test_a_replay_of_history_joins_with_a_relation_without_instants(
    con: cqlduck.Connection,
) -> None:
    con.execute(FILLED)
    con.execute(f"""
        CREATE STREAM s (k INTEGER, t TIMESTAMP) TIMESTAMP BY t;
        CREATE CONTINUOUS QUERY q AS {NAMED};
        CREATE CONTINUOUS QUERY n AS SELECT count(*) AS n FROM s, r;
    """)
    con.append("r", [(4, "four")])
    con.append("s", [(2, FIRST), (4, FIRST + HOUR)])
    con.advance(FIRST + 2 * HOUR)
    assert [(2, "zwei", FIRST, 1), (4, "four", FIRST + HOUR, 1)] == con.changes("q").fetchall()
    # it begins nobody's time: not that of n either
    assert (3, FIRST, 1) == con.changes("n").fetchall()[0]
    shown = con.sql("SELECT first_element, last_element, elements FROM cql.relations").fetchall()
    assert [("the beginning of time",) * 2 + (7,)] == shown


@given(data=st.data())
@settings(
    deadline=None, max_examples=fewer_if_brief(15), suppress_health_check=[HealthCheck.too_slow]
)
def test_the_order_of_statements_and_of_ticks_changes_nothing(data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=4))
    times = sorted(data.draw(st.lists(st.integers(-5, 9), min_size=1, max_size=5)))
    stream = [(t % 3, t) for t in times]
    cuts = sorted({*data.draw(st.lists(st.integers(-6, 10), max_size=3)), 10})
    steps = [
        ["CREATE RELATION r (k INTEGER, v INTEGER)"],
        ["CREATE STREAM s (k INTEGER, t INTEGER) TIMESTAMP BY t"],
        ["CREATE CONTINUOUS QUERY q AS SELECT s.k, v FROM s [NOW] JOIN r USING (k)"],
        ["CREATE CONTINUOUS QUERY n AS SELECT count(*) AS n FROM r"],
        [f"INSERT INTO r VALUES ({k}, {v})" for k, v in rows],
    ]
    allowed = [
        order
        for order in itertools.permutations(range(5))
        if order.index(2) > max(order.index(0), order.index(1))
        and min(order.index(3), order.index(4)) > order.index(0)
    ]
    order = data.draw(st.sampled_from(allowed))
    with cqlduck.connect() as con:
        for step in order:
            for text in steps[step]:
                con.execute(text)
        for cut, before in zip(cuts, [-100, *cuts[:-1]], strict=True):
            con.append("s", [(k, t) for k, t in stream if before < t <= cut])
            con.advance(cut)
        joined = [(k, v, t) for k, t in stream for rk, v in rows if rk == k]
        expected: dict[tuple, int] = {}
        for k, v, t in joined:
            expected[k, v, t] = expected.get((k, v, t), 0) + 1
            expected[k, v, t + 1] = expected.get((k, v, t + 1), 0) - 1
        found = {row[:3]: row[3] for row in con.changes("q").fetchall()}
        assert {key: n for key, n in expected.items() if n and key[2] <= 10} == found
        assert [(len(rows), 0, 1)] == con.changes("n").fetchall()


def test_a_query_of_relations_alone_begins_where_it_is_advanced_to(
    con: cqlduck.Connection,
) -> None:
    con.execute(FILLED)
    con.execute("""
        CREATE STREAM s (t TIMESTAMP) TIMESTAMP BY t;
        CREATE CONTINUOUS QUERY q AS SELECT count(*) AS n FROM r;
        CREATE CONTINUOUS QUERY above AS SELECT n + 1 AS n FROM q;
    """)
    con.advance(FIRST)
    con.execute("INSERT INTO r VALUES (7, 'seven')")
    con.advance(FIRST + HOUR)
    microsecond = datetime.timedelta(microseconds=1)
    assert [(2, FIRST, 1)] == con.changes("q", until=FIRST).fetchall()
    later = FIRST + microsecond
    assert {(2, later, -1), (3, later, 1)} == set(con.changes("q", since=FIRST).fetchall())
    assert [(3,)] == con.as_of("above", FIRST).fetchall()
    con.execute("CREATE CONTINUOUS QUERY registered_later AS SELECT count(*) AS n FROM r")
    con.advance(FIRST + 2 * HOUR)
    assert [(3, FIRST + HOUR + microsecond, 1)] == con.changes("registered_later").fetchall()


@pytest.mark.parametrize("max_tick", [1, 1000])
def test_how_large_a_tick_is_does_not_say_where_a_query_begins(max_tick: int) -> None:
    with cqlduck.connect(max_tick=max_tick) as con:
        con.execute(FILLED)
        con.execute("""
            CREATE STREAM s (t TIMESTAMP) TIMESTAMP BY t;
            CREATE CONTINUOUS QUERY q AS SELECT count(*) AS n FROM r;
            CREATE CONTINUOUS QUERY ticks AS SELECT count(*) AS n FROM s [RANGE 1 HOUR];
        """)
        con.append("s", [(FIRST + n * HOUR,) for n in range(6)])
        con.advance(FIRST + 9 * HOUR)
        assert [(2, FIRST + 9 * HOUR, 1)] == con.changes("q").fetchall()


def test_from_the_first_instant_on_changes_have_instants(con: cqlduck.Connection) -> None:
    con.execute("CREATE RELATION r (k INTEGER); CREATE CONTINUOUS QUERY q AS SELECT k FROM r")
    con.append("r", [(1,), (2,)])
    con.append("r", [(3,)], at=5)
    con.execute("DELETE FROM r WHERE k = 1")
    con.advance(4)
    con.execute("INSERT INTO r VALUES (4)")
    con.advance(9)
    assert [(1, 0, 1), (2, 0, 1), (1, 5, -1), (3, 5, 1), (4, 5, 1)] == sorted(
        con.changes("q").fetchall(), key=lambda row: (row[1], row[0])
    )


def test_wrong_elements_of_the_beginning_are_recorded_there(con: cqlduck.Connection) -> None:
    con.execute("""
        CREATE RELATION r (k INTEGER PRIMARY KEY, v INTEGER);
        CREATE CONTINUOUS QUERY q AS SELECT v FROM r;
    """)
    con.append("r", [(1, 1), (1, 2)])
    con.retract("r", [(3, 3)])
    con.advance(1)
    assert {
        ("the beginning of time", "{'k': 1, 'v': 2}"),
        ("the beginning of time", "{'k': 3, 'v': 3}"),
    } == set(con.sql("SELECT instant, element FROM cql.late").fetchall())


def test_a_file_goes_on_with_what_waits_at_the_beginning(tmp_path: Path) -> None:
    path = tmp_path / "cql.duckdb"
    with cqlduck.connect(path, granularity="1 second") as con:
        con.execute(FILLED)
    with cqlduck.connect(path) as con:
        con.execute(f"""
            INSERT INTO r VALUES (5, 'five');
            CREATE RELATION copy FROM r;
            CREATE STREAM s (k INTEGER, t TIMESTAMP) TIMESTAMP BY t;
            CREATE CONTINUOUS QUERY q AS {NAMED};
            CREATE CONTINUOUS QUERY n AS SELECT count(*) AS n FROM copy;
        """)
    with cqlduck.connect(path) as con:
        con.execute("REFRESH RELATION copy FROM (SELECT * FROM r WHERE k < 5)")
        con.append("s", [(5, FIRST)])
        con.advance(FIRST + HOUR)
    with cqlduck.connect(path) as con:
        assert [(5, "five", FIRST, 1)] == con.changes("q").fetchall()
        assert [(2,)] == con.table("n").fetchall()


def test_a_query_that_fails_where_it_begins_fails_there(con: cqlduck.Connection) -> None:
    con.execute("""
        CREATE RELATION r (k VARCHAR);
        INSERT INTO r VALUES ('x');
        CREATE STREAM s (t TIMESTAMP) TIMESTAMP BY t;
        CREATE CONTINUOUS QUERY q AS SELECT CAST(k AS INTEGER) AS k FROM r;
    """)
    con.advance(FIRST)
    (found,) = con.sql("SELECT state, error FROM cql.queries").fetchall()
    assert "failed" == found[0]
    assert str(FIRST) in found[1]
