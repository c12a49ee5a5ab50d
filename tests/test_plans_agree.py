"""Whatever runs at points of choice, and however it changes from tick to tick, answers agree."""

from __future__ import annotations

from pathlib import Path

import choices
import pytest
import test_differential
import test_sql_differential
from counts import fewer_if_brief
from hypothesis import given, settings
from hypothesis import strategies as st
from sql_strategies import sql_cases

import cqlduck
from cqlduck.errors import Error
from cqlduck.rewrite.plan.orders import FILTERS, ORDER
from cqlduck.state.choices import Point
from cqlduck.streamon.points import (
    ANSWER,
    ARRIVALS,
    CACHING,
    KINDS,
    ORDERING,
    OUTPUT,
    STAGES,
    THREADS,
    UNSTAGED,
)

APPLICATION = """
    CREATE STREAM a (k INTEGER, x INTEGER, t INTEGER) TIMESTAMP BY t;
    CREATE STREAM b (k INTEGER, y INTEGER, t INTEGER) TIMESTAMP BY t;
    CREATE CONTINUOUS QUERY met AS
        SELECT x, y FROM a [RANGE UNBOUNDED], b [RANGE 3] WHERE a.k = b.k;
    CREATE CONTINUOUS QUERY sums AS
        SELECT k, sum(x) AS x, count(DISTINCT x) AS n FROM a GROUP BY k;
    CREATE CONTINUOUS QUERY passed AS SELECT k, x, k + 1 AS more FROM a;
    CREATE CONTINUOUS QUERY chosen AS
        SELECT k, count(*) AS n FROM a [RANGE 4]
        WHERE k::VARCHAR LIKE '%1%' AND x::VARCHAR ~ '[0-7]$' GROUP BY k;
    CREATE CONTINUOUS QUERY star AS
        SELECT a.x, b.y, c.y AS z FROM a [RANGE 2], b [RANGE 3], b [RANGE 1] AS c
        WHERE a.k = b.k AND a.x = c.y;
    CREATE CONTINUOUS QUERY both AS
        SELECT a.k, b.x FROM a [RANGE 4], a [RANGE UNBOUNDED] AS b WHERE a.k = b.k AND a.x = b.x;
"""
QUERIES = ("met", "sums", "passed", "chosen", "star", "both")


@given(case=test_differential.ANY_CASE)
@settings(
    suppress_health_check=test_differential.QUIET,
    deadline=None,
    max_examples=fewer_if_brief(settings.default.max_examples),
)
def test_plans_agree(case) -> None:
    """Options are drawn at all points before each tick; the reference knows nothing of them."""
    test_differential.on_disk_if_it_restarts(case, everywhere=True)


@given(case=sql_cases(shapes=("where_subquery",), plain=0, functions=True))
@settings(
    suppress_health_check=test_differential.QUIET,
    deadline=None,
    max_examples=fewer_if_brief(20),
)
def test_plans_with_subqueries_agree(case) -> None:
    """Conditions wait until an input of a join is met, or not."""
    test_sql_differential.check(case, everywhere=True)


def run(con: cqlduck.Connection, first: int = 0, last: int = 12) -> None:
    for t in range(first, last):
        rows = {"k": [t % 3, 1], "x": [t, -t], "t": [t, t]}
        con.tick({"a": columns(rows), "b": columns({**rows, "y": rows["x"]}, "k", "y", "t")}, to=t)


def columns(rows: dict[str, list[int]], *names: str):
    import pyarrow as pa

    return pa.table({n: pa.array(rows[n], pa.int32()) for n in names or rows})


def answers(con: cqlduck.Connection) -> list[list[tuple[object, ...]]]:
    return [sorted(con.changes(name).fetchall()) for name in QUERIES]


EXPECTED: list[list[list[tuple[object, ...]]]] = []


def expected() -> list[list[tuple[object, ...]]]:
    if not EXPECTED:
        with cqlduck.connect() as con:
            con.execute(APPLICATION)
            run(con)
            EXPECTED.append(answers(con))
    return EXPECTED[0]


ORDERS = {FILTERS: ["2 1"], ORDER: ["1 3 2"]}

OPTIONS = [
    (kind.name, option)
    for kind in KINDS.values()
    for option in (*kind.options, *ORDERS.get(kind.name, ()))
    # they are asked when there is something to choose, or of queries that have the option
    if kind.name not in (ORDERING, CACHING, ANSWER)
]


@pytest.mark.parametrize(("name", "option"), OPTIONS, ids=str)
def test_an_option_that_is_forced_runs_and_changes_no_answer(name: str, option: str) -> None:
    with cqlduck.connect(threads=2) as con:
        choices.force(con, name, option)
        con.execute(APPLICATION)
        run(con)
        assert answers(con) == expected()
        found = con.sql(f"SELECT DISTINCT option FROM cql.points WHERE point = '{name}'").fetchall()
        assert [(option,)] == found


@given(seed=st.integers())
@settings(deadline=None, max_examples=fewer_if_brief(5))
def test_random_options_change_no_answer(seed: int) -> None:
    with cqlduck.connect() as con:
        choices.draw(con, seed, everywhere=True)
        con.execute(APPLICATION)
        run(con)
        assert answers(con) == expected()


def test_what_is_chosen_survives_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "some.duckdb"
    with cqlduck.connect(path) as con:
        con.execute(APPLICATION)
        choices.draw(con, 1, everywhere=True)
        choices.force(con, OUTPUT, "log", "passed")
        run(con, 0, 6)
        before = con.sql("FROM cql.points").fetchall()
        logged = con.sql("FROM cql.plan_log").fetchall()
        chosen = dict(con.engine.streamon.executor.kept.choices)
        shown = con.sql("SELECT sql FROM cql.operators").fetchall()
        assert logged
        assert {"measured", "user"} <= {row[7] for row in before}
    with cqlduck.connect(path) as con:
        assert before == con.sql("FROM cql.points").fetchall()
        assert logged == con.sql("FROM cql.plan_log").fetchall()
        assert chosen == dict(con.engine.streamon.executor.kept.choices)
        assert shown == con.sql("SELECT sql FROM cql.operators").fetchall()
        run(con, 6, 12)
        assert answers(con) == expected()
        con.execute("DROP CONTINUOUS QUERY met")
        left = "SELECT count(*) FROM cql_state.{} WHERE owner = 'met'"
        for table in ("choices", "plan_log"):
            assert [(0,)] == con.sql(left.format(table)).fetchall()


def undone(con: cqlduck.Connection) -> None:
    with con.engine.still(), con.engine.changing():
        con.engine.streamon.pin(STAGES, UNSTAGED)
        run(con, 3, 4)
        raise ZeroDivisionError


def test_a_tick_that_is_undone_undoes_what_it_chose(tmp_path: Path) -> None:
    with cqlduck.connect(tmp_path / "some.duckdb") as con:
        con.execute(APPLICATION)
        choices.measure(con)
        run(con, 0, 3)
        executor = con.engine.streamon.executor
        before = dict(executor.kept.choices)
        with pytest.raises(ZeroDivisionError):
            undone(con)
        assert before == dict(executor.kept.choices)
        assert [] == con.sql("FROM cql.plan_log").fetchall()
        run(con, 3, 12)
        assert answers(con) == expected()


def test_the_log_says_what_changed_when_and_why() -> None:
    with cqlduck.connect() as con:
        con.execute(APPLICATION)
        choices.measure(con)
        run(con, 0, 3)
        choices.force(con, OUTPUT, "log", "passed")
        run(con, 3, 5)
        choices.force(con, OUTPUT, "buffer")
        run(con, 5, 6)
        choices.force(con, OUTPUT, None, "passed")
        run(con, 6, 12)
        found = con.sql(
            "SELECT tick, instant, owner, from_option, to_option, chosen_by FROM cql.plan_log "
            "WHERE point = 'output'"
        ).fetchall()
        assert found == [
            (4, "2", "passed", "buffer", "log", "user"),
            (7, "5", "passed", "log", "buffer", "user"),
        ]
        assert answers(con) == expected()
        choices.force(con, OUTPUT, None)
        choices.force(con, OUTPUT, "log", "sums")
        run(con, 12, 13)
        choices.force(con, OUTPUT, None, "sums")
        run(con, 13, 14)
        standing = con.sql("SELECT owner, option, chosen_by FROM cql.points WHERE point = 'output'")
        assert {(name, "buffer", "default") for name in QUERIES} == set(standing.fetchall())


def test_every_statement_is_counted_within_the_budget() -> None:
    with cqlduck.connect() as con:
        con.execute(APPLICATION)
        choices.measure(con)
        con.engine.streamon.budget.fraction = con.engine.streamon.budget.ticks = 1.0
        run(con)
        profiler = con.engine.streamon.profiler
        counted = [c for query in QUERIES for _, _, c in profiler.steps(query)]
        for query in QUERIES:
            ends = [c for _, step, c in profiler.steps(query) if step.answer is not None]
            assert 12 == sum(c.runs + c.skipped for c in ends)
        assert all(c.seconds > 0 for c in counted if c.runs)
        written = [c.rows for _, s, c in profiler.steps("passed") if s.answer is not None]
        assert 24 == sum(written)
        con.engine.streamon.budget.fraction = 0.0
        run(con, 12, 14)
        assert 24 == sum(c.rows for _, s, c in profiler.steps("passed") if s.answer is not None)


def test_what_is_no_option_is_refused(con: cqlduck.Connection) -> None:
    with pytest.raises(Error, match="no point of choice thread") as caught:
        choices.force(con, "thread", "one")
    assert "threads" in (caught.value.hint or "")
    with pytest.raises(Error, match="no option two"):
        choices.force(con, THREADS, "two")
    assert Point(ARRIVALS, None, None, None) not in con.engine.streamon.executor.kept.choices
