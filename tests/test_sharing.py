"""What several queries need of a tick is worked out once, and shows in no answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import choices
import pytest

import cqlduck
from cqlduck.state import reusable
from cqlduck.state.reusable import Tables

S = "CREATE STREAM s (k BIGINT, v BIGINT, t BIGINT) TIMESTAMP BY t"
PAIRS = "SELECT n.v, w.v AS x FROM s [NOW] n, s [RANGE 5] w WHERE n.k + {} = w.k"
SUMS = "SELECT k, sum(v) AS total FROM s [RANGE 5] GROUP BY k {}"


@pytest.fixture
def con() -> Iterator[cqlduck.Connection]:
    """A connection whose queries have plans of their own."""
    with cqlduck.connect(sharing=False) as connection:
        yield connection


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tables that shared statements make from here on."""
    found: list[str] = []
    note = Tables.note

    def noted(self: Tables, table: str, *given: Any) -> None:
        found.append(table)
        note(self, table, *given)

    monkeypatch.setattr(Tables, "note", noted)
    return found


def tick(con: cqlduck.Connection, t: int) -> None:
    # what comes by SQL lies in the store, where all queries read it in one way
    con.execute(f"INSERT INTO s VALUES ({t % 3}, {t}, {t}), ({t % 2}, {10 * t}, {t})")
    con.advance(t)


def changes(con: cqlduck.Connection, name: str) -> Counter[tuple[Any, ...]]:
    return Counter(con.changes(name).fetchall())


@pytest.mark.parametrize(
    ("query", "differ"),
    [
        (PAIRS, ["0", "1"]),
        (SUMS, ["HAVING sum(v) > 1", "HAVING sum(v) > 50"]),
    ],
    ids=["stages of a join", "sums by group"],
)
def test_what_queries_have_in_common_is_worked_out_once(
    query: str, differ: list[str], con: cqlduck.Connection, ran: list[str]
) -> None:
    choices.force_stages(con, True)
    con.execute(f"{S}; CREATE CONTINUOUS QUERY q0 AS {query.format(differ[0])}")
    tick(con, 1)
    tick(con, 2)
    ran.clear()
    tick(con, 3)
    alone = list(ran)
    assert alone
    for i, text in enumerate(differ):
        con.execute(f"CREATE CONTINUOUS QUERY p{i} WITH (history = true) AS {query.format(text)}")
    tick(con, 4)
    ran.clear()
    tick(con, 5)
    assert alone == ran, "three queries make what one made"
    for t in range(6, 20):
        tick(con, t)
    assert changes(con, "q0") == changes(con, "p0")
    assert changes(con, "p0") != changes(con, "p1")


def test_queries_that_are_at_other_instants_share_nothing(
    con: cqlduck.Connection, ran: list[str]
) -> None:
    choices.force_stages(con, True)
    con.execute(S)
    for i in range(3):
        con.execute(f"CREATE CONTINUOUS QUERY q{i} AS {PAIRS.format(0)}")
    for t in range(1, 5):
        tick(con, t)
    con.execute("ALTER CONTINUOUS QUERY q1 DEACTIVATE")
    for t in range(5, 8):
        tick(con, t)
    con.execute("ALTER CONTINUOUS QUERY q1 ACTIVATE")
    ran.clear()
    # the second goes (4, 8] after two that go (7, 8]
    tick(con, 8)
    assert {2} == set(Counter(ran).values())
    for t in range(9, 20):
        tick(con, t)
    assert changes(con, "q0") == changes(con, "q1") == changes(con, "q2")


def test_a_tick_that_is_undone_has_made_nothing(con: cqlduck.Connection, ran: list[str]) -> None:
    """The first query fails after the stages of both are there; the second makes them again."""
    choices.force_stages(con, True)
    con.execute(
        f"{S}; CREATE CONTINUOUS QUERY bad AS SELECT n.v // (n.v - 40) AS v, w.v AS x "
        "FROM s [NOW] n, s [RANGE 5] w WHERE n.k = w.k AND CAST(CASE WHEN n.v = 40 THEN 'no' "
        f"ELSE '1' END AS INTEGER) = 1; CREATE CONTINUOUS QUERY good AS {PAIRS.format(0)}"
    )
    for t in range(1, 8):
        tick(con, t)
    states = dict(con.sql("SELECT name, state FROM cql.queries").fetchall())
    assert {"bad": "failed", "good": "active"} == states
    with cqlduck.connect() as other:
        other.execute(f"{S}; CREATE CONTINUOUS QUERY good AS {PAIRS.format(0)}")
        for t in range(1, 8):
            tick(other, t)
        assert changes(con, "good") == changes(other, "good")


def test_a_query_is_replayed_with_tables_of_its_own() -> None:
    """What is made of a query's own table depends on more than the parameters that it names."""
    found = []
    for most in (3, 1_000):
        with cqlduck.connect(max_tick=most) as con:
            con.execute(
                f"{S} LATE AMEND; CREATE CONTINUOUS QUERY q AS SELECT k, max(n) AS n FROM "
                "(SELECT k, v, count(*) AS n FROM s GROUP BY k, v) x GROUP BY k"
            )
            for t in range(1, 11):
                con.append("s", [(t % 2, t % 3, t)])
            con.advance(20)
            con.append("s", [(0, 0, 5), (7, 0, 5)])
            con.advance(21)
            assert [(0, 2), (1, 2), (7, 1)] == sorted(con.table("q").fetchall())
            found.append(changes(con, "q"))
    assert found[0] == found[1]


def test_no_table_is_left_behind_that_is_large_or_was_for_a_dropped_query(
    con: cqlduck.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reusable, "LARGE_TABLE_ROWS", 10)
    con.execute(f"{S}; CREATE CONTINUOUS QUERY q AS {SUMS.format('')}")

    def left() -> list[int]:
        return [
            rows
            for (rows,) in con.engine.database.rows(
                "SELECT estimated_size FROM duckdb_tables() "
                "WHERE temporary AND regexp_matches(table_name, '^_cql_sums_[0-9a-f]{12}$')"
            )
        ]

    con.append("s", [(k, k, t) for t in (1, 2) for k in range(20)])
    con.advance(3)
    assert [] == left()
    tick(con, 4)
    assert [2] == left()
    con.execute("DROP CONTINUOUS QUERY q")
    assert [] == left()
