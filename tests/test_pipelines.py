"""Pipelines of joins: their order, what is not written or run, and that DuckDB keeps them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import choices
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

import cqlduck
from cqlduck.rewrite import Compiled
from cqlduck.rewrite.operators import pipelines
from cqlduck.rewrite.physical.form import Form
from cqlduck.rewrite.physical.quiet import Quiet
from cqlduck.rewrite.plan import Join, walk
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.elements import lifetime_names

MANY, SMALL = Form(), Form(single=True, staged=True)


def compiled(con: cqlduck.Connection, body: str) -> Compiled:
    con.execute(f"CREATE CONTINUOUS QUERY q AS {body}")
    return con.engine.compiled["q"]


def streams(con: cqlduck.Connection, count: int) -> None:
    for place in range(count):
        con.execute(
            f"CREATE STREAM s{place} (t BIGINT, a BIGINT, b BIGINT, c BIGINT) TIMESTAMP BY t"
        )


def orders(con: cqlduck.Connection, body: str) -> list[tuple[int, ...]]:
    """The orders in which the pipelines of a query's join meet its inputs."""
    known = compiled(con, body)
    (node,) = [node for node in walk(known.plan) if isinstance(node, Join)]
    return [pipe.order for pipe in pipelines.of(con.engine.catalogue.clock, node)]


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ("s0.a = s1.a AND s1.b = s2.b", [(0, 1, 2), (1, 0, 2), (2, 1, 0)]),
        ("s0.a = s2.a AND s1.b = s2.b", [(0, 2, 1), (1, 2, 0), (2, 0, 1)]),
        ("s0.a < s1.a AND s0.b = s2.b", [(0, 2, 1), (1, 0, 2), (2, 0, 1)]),
        ("s0.a + s1.a = s2.a", [(0, 1, 2), (1, 0, 2), (2, 0, 1)]),
        ("s1.b IS NOT DISTINCT FROM s2.b AND s0.a = 1", [(0, 1, 2), (1, 2, 0), (2, 1, 0)]),
    ],
)
def test_what_an_equality_links_comes_next(
    con: cqlduck.Connection, conditions: str, expected: list[tuple[int, ...]]
) -> None:
    streams(con, 3)
    body = f"SELECT s0.a FROM s0 [RANGE 9], s1 [RANGE 9], s2 [RANGE 9] WHERE {conditions}"
    assert expected == orders(con, body)


@pytest.mark.parametrize(
    ("other", "order"),
    [
        ("(SELECT a, count(*) AS n FROM s2 [RANGE 9] GROUP BY a)", (0, 2, 1)),
        ("r", (0, 2, 1)),
        ("(SELECT a, b + 1 AS c FROM r WHERE b > 1)", (0, 2, 1)),
        ("(SELECT b AS a, a AS b FROM r)", (0, 1, 2)),
        ("s2 [RANGE 9]", (0, 1, 2)),
    ],
)
def test_what_meets_a_tuple_once_at_most_comes_first(
    con: cqlduck.Connection, other: str, order: tuple[int, ...]
) -> None:
    streams(con, 3)
    con.execute("CREATE RELATION r (a BIGINT, b BIGINT) PRIMARY KEY (a)")
    body = f"SELECT s0.a FROM s0 [NOW], s1 [RANGE 9], {other} k WHERE s0.a = s1.a AND s0.a = k.a"
    assert [order] == orders(con, body)


def test_an_input_of_an_instant_never_stands(con: cqlduck.Connection) -> None:
    streams(con, 3)
    body = "SELECT s0.a FROM s0 [RANGE 9], s1 [RANGE 9], s2 [NOW] WHERE s0.a = s1.a AND s1.b = s2.b"
    assert [(2, 1, 0)] == orders(con, body)


JOIN = "SELECT s0.a FROM s0 [RANGE 9], s1 [ROWS 50], s2 [RANGE 9] WHERE s0.a = s1.a AND s1.b = s2.b"


def run(con: cqlduck.Connection, append: dict[str, list[int]], to: int) -> list[str]:
    """Append tuples, advance, and return the statements that ran."""
    for name, values in append.items():
        con.append(name, [(to, value, value, value) for value in values])
    ran: list[str] = []
    con.engine.database.trace = lambda sql, _: ran.append(str(sql))
    con.advance(to)
    con.engine.database.trace = None
    return ran


def test_a_pipeline_whose_input_did_not_change_is_not_run(con: cqlduck.Connection) -> None:
    streams(con, 3)
    choices.force_stages(con, True)
    compiled(con, JOIN)
    places = {"s0": [1, 2], "s1": [1, 2], "s2": [1, 2]}
    into = 'INSERT INTO temp."_cql_delta_q_'
    assert 3 == sum(into in sql for sql in run(con, places, 1))
    assert 1 == sum(into in sql for sql in run(con, {"s1": [1]}, 3))
    assert 2 == sum(into in sql for sql in run(con, {"s1": [1], "s2": [2]}, 5))
    # what came at 1 leaves two of the windows
    assert 2 == sum(into in sql for sql in run(con, {}, 11))
    assert 0 == sum(into in sql for sql in run(con, {}, 12))
    assert "active" == con.sql("SELECT state FROM cql.queries").fetchall()[0][0]


WINDOWS = (
    "SELECT s0.a FROM s0 [RANGE 9], s1 [RANGE 9], s2 [RANGE 3] WHERE s0.a = s1.a AND s1.b = s2.b"
)
LIVES = 'TEMPORARY TABLE temp."_cql_lives_'


def lives(statements: list[str]) -> set[str]:
    """Return the streams of which it was asked what begins or ends."""
    return {sql.split('temp."_cql_arrivals_')[1][:2] for sql in statements if LIVES in sql}


def test_a_window_over_a_quiet_stream_is_not_asked_what_begins_or_ends(
    con: cqlduck.Connection,
) -> None:
    streams(con, 3)
    choices.force_stages(con, True)
    compiled(con, WINDOWS)
    assert {"s0", "s1", "s2"} == lives(run(con, {"s0": [1], "s1": [1], "s2": [1]}, 1))
    # what was there is no longer
    assert {"s0", "s1", "s2"} == lives(run(con, {"s0": [2]}, 2))
    assert {"s0"} == lives(run(con, {"s0": [1]}, 3))
    assert {"s0"} == lives(run(con, {}, 4))
    # what came at 1 leaves
    assert {"s2"} == lives(run(con, {}, 5))
    assert {"s2", "s1"} == lives(run(con, {"s1": [1]}, 6))
    assert {"s0", "s1"} == lives(run(con, {}, 13))
    assert 0 == len(con.table("q"))


def test_a_relation_that_does_not_change_is_not_asked_what_begins_or_ends(
    con: cqlduck.Connection,
) -> None:
    texts: list[str] = []
    con.execute("""
        CREATE RELATION r (a INTEGER, b INTEGER) PRIMARY KEY (a);
        CREATE RELATION p (b INTEGER, c INTEGER);
    """)
    choices.force_stages(con, True)
    con.execute("CREATE CONTINUOUS QUERY q AS SELECT a, c FROM r JOIN p ON r.b = p.b")

    def asked(at: int, *statements: str) -> set[str]:
        con.execute("; ".join(statements) or "SELECT 1")
        con.engine.database.trace = lambda sql, _: texts.append(str(sql))
        con.advance(at)
        con.engine.database.trace = None
        found = {sql.split('temp."_cql_changes_')[1][0] for sql in texts if LIVES in sql}
        texts.clear()
        return found

    assert {"r", "p"} == asked(1, "INSERT INTO r VALUES (1, 1)", "INSERT INTO p VALUES (1, 2)")
    assert {"r", "p"} == asked(2, "INSERT INTO r VALUES (2, 1)")
    assert {"r"} == asked(3, "INSERT INTO r VALUES (3, 1)")
    # what was there of r is no longer
    assert {"r", "p"} == asked(4, "DELETE FROM p")
    assert {"p"} == asked(5, "INSERT INTO p VALUES (1, 5)")
    assert [(1, 5), (2, 5), (3, 5)] == sorted(con.table("q").fetchall())


def test_many_combinations_that_several_threads_insert_are_found() -> None:
    """DuckDB 2.0 loses them before the end of a transaction, in a table made by AS of no rows."""
    with cqlduck.connect(threads=2) as con:
        streams(con, 3)
        con.pin("threads", "all")
        compiled(con, "SELECT count(*) AS n, sum(s0.b) AS b FROM s0 [RANGE 9], s1 [RANGE 9], "
                      "s2 [RANGE 9] WHERE s0.a = s1.a AND s1.b = s2.b")  # fmt: skip
        for t in range(2):
            batches = {}
            for name, size in (("s0", 500), ("s1", 400), ("s2", 1)):
                same = pa.array([1] * size, pa.int64())
                at = pa.array([t] * size, pa.int64())
                batches[name] = pa.table({"t": at, "a": same, "b": same, "c": same})
            # so many that a tick runs on all threads
            idle = pa.array([2] * 25_000, pa.int64())
            at = pa.array([t] * 25_000, pa.int64())
            more = pa.table({"t": at, "a": idle, "b": idle, "c": idle})
            batches["s2"] = pa.concat_tables([batches["s2"], more])
            con.tick(batches, to=t)
            assert [(200_000 * (t + 1) ** 3,) * 2] == con.table("q").fetchall()


def test_what_a_tick_made_that_was_undone_is_made_again(con: cqlduck.Connection) -> None:
    streams(con, 3)
    choices.force_stages(con, True)
    compiled(con, WINDOWS)
    run(con, {"s0": [1], "s1": [1], "s2": [1]}, 1)

    def fail(sql: object, _: object) -> None:
        if str(sql) == "COMMIT":
            raise KeyboardInterrupt

    con.append("s0", [(2, 1, 1, 1)])
    con.engine.database.trace = fail
    with pytest.raises(KeyboardInterrupt):
        con.advance(2)
    con.engine.database.trace = None
    assert {"s0", "s1", "s2"} == lives(run(con, {}, 2))
    assert 2 == len(con.table("q"))


@given(
    instants=st.lists(st.integers(-3, 12), max_size=3),
    lifetime=st.none() | st.integers(0, 6),
    t0=st.integers(-2, 20),
    width=st.integers(1, 4),
)
def test_nothing_begins_or_ends_while_it_is_quiet(instants, lifetime, t0, width) -> None:
    def is_quiet() -> bool:
        ends = (min(instants), max(instants)) if instants else (None, None)
        return Quiet("s", lifetime).holds(*ends, t0, t0 + width)

    moves = [t for instant in instants for t in (instant, instant + (lifetime or 0))]
    changes = any(t0 < t <= t0 + width for t in moves)
    assert not (changes and is_quiet())
    # one element can be told exactly
    if len(set(instants)) < 2:
        assert changes != is_quiet()


def joins(plan: dict[str, Any]) -> Iterator[tuple[dict[str, Any], frozenset[str]]]:
    """The joins of a physical plan, from the bottom, each with the tables below it."""
    for child in plan["children"]:
        yield from joins(child)
    if "JOIN" in plan["name"] or plan["name"] == "CROSS_PRODUCT":
        yield plan, frozenset(tables(plan))


def tables(plan: dict[str, Any]) -> Iterator[str]:
    table = plan["extra_info"].get("Table")
    if table is not None:
        yield str(table).rsplit(".", 1)[-1].strip('"')
    for child in plan["children"]:
        yield from tables(child)


@pytest.mark.parametrize("form", [MANY, SMALL], ids=str)
@pytest.mark.parametrize("sizes", list(itertools.permutations((3, 60, 2000))), ids=str)
def test_duckdb_keeps_the_written_order(
    con: cqlduck.Connection, sizes: tuple[int, ...], form: Form
) -> None:
    """Whatever it knows of the tables: it meets one more input a time, and by an equality."""
    streams(con, 3)
    body = JOIN.replace("[ROWS 50]", "[RANGE 3000]").replace("[RANGE 9]", "[RANGE 3000]")
    known = compiled(con, body)
    for place, size in enumerate(sizes):
        at = [t * 2000 // size for t in range(size)]
        con.append(f"s{place}", pa.table({"t": at, "a": at, "b": at, "c": at}))
    con.advance(1000)
    con.engine.reading(everything=True)
    database = con.engine.database
    values = {"t0": 1000, "t1": 1001, "low": 1000, "begin": 0, "since": -1}
    found = 0
    with con.engine.changing():
        for step in known.steps.of(form):
            given = {name: values[name] for name in step.parameters}
            ((_, text),) = database.rows(f"EXPLAIN (FORMAT JSON) {step.sql}", given)
            for node, below in joins(json.loads(text)[0]):
                assert "HASH_JOIN" == node["name"]
                assert any(" = " in c for c in listed(node["extra_info"]["Conditions"]))
                # a step of a pipeline has a table on one side, and the steps before on the other
                assert any(1 >= len(set(tables(child))) for child in node["children"])
                found += len(below) > 1
            database.execute(step.sql, given)
    # each of three pipelines joins twice
    assert 6 <= found


def listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


GRAPHS = st.integers(2, 5).flatmap(
    lambda n: st.tuples(*(st.tuples(st.integers(0, k), st.integers(0, 2)) for k in range(n - 1)))
)
"""Connected join graphs: for each input but the first one that came before, and a column."""


@settings(max_examples=8)
@given(graph=GRAPHS, data=st.data())
def test_no_step_is_without_an_equality_while_the_graph_is_connected(graph, data) -> None:
    """Also beside inequalities, constants, and an input of an instant."""
    count = len(graph) + 1
    links = [
        f"s{place}.{'abc'[key]} = s{other}.{'abc'[(key + place) % 3]}"
        for place, (other, key) in enumerate(graph, 1)
    ]
    more = st.sampled_from(["s0.a < 5", f"s0.a <= s{count - 1}.b", "s1.c IS NULL", "true"])
    conditions = data.draw(st.permutations(links + data.draw(st.lists(more, max_size=2))))
    windows = [data.draw(st.sampled_from(["NOW", "RANGE 9", "ROWS 5"])) for _ in range(count)]
    items = ", ".join(f"s{place} [{window}]" for place, window in enumerate(windows))
    with cqlduck.connect() as con:
        streams(con, count)
        body = f"SELECT s0.a FROM {items} WHERE {' AND '.join(conditions)}"
        known = compiled(con, body)
        (node,) = [node for node in walk(known.plan) if isinstance(node, Join)]
        pipes = list(pipelines.of(con.engine.catalogue.clock, node))
    assert 1 == len(pipes) if "NOW" in windows else count == len(pipes)
    for pipe in pipes:
        legs = {
            place: Rows.of(exp.to_table("x"), lifetime_names(plan.columns))
            for place, plan in enumerate(node.inputs)
        }
        (arm,) = pipelines.arms(node)
        written = pipelines.nested(node, pipe, arm, legs).query()
        steps = [select for select in written.find_all(exp.Select) if select.args.get("joins")]
        assert count - 1 == len(steps)
        for select in steps:
            assert select.args["where"].find(exp.EQ) is not None


def test_text_grows_at_most_with_the_square(con: cqlduck.Connection) -> None:
    streams(con, 8)
    sizes = {}
    for count in (2, 4, 8):
        items = ", ".join(f"s{place} [RANGE 9]" for place in range(count))
        links = " AND ".join(f"s0.a = s{place}.a" for place in range(1, count))
        known = compiled(con, f"SELECT s0.a FROM {items} WHERE {links}")
        sizes[count] = sum(len("".join(step.sql.split())) for step in known.steps.of(MANY))
        con.execute("DROP CONTINUOUS QUERY q")
    assert sizes[4] <= 4 * sizes[2]
    assert sizes[8] <= 4 * sizes[4]


def test_what_raises_is_found_where_no_value_is_null(con: cqlduck.Connection) -> None:
    """DuckDB answers IS NULL from statistics then, without working out what would raise."""
    streams(con, 2)
    compiled(con, "SELECT s0.a FROM s0 [NOW], s1 [RANGE 90] WHERE s0.c <> s1.c AND s0.a + 1 = s1.b")
    con.append("s1", [(1, 0, 6, 5)])
    con.advance(1)
    con.append("s0", [(2, 5, 0, 1), (2, 2**63 - 1, 0, 5)])
    con.advance(2)
    con.append("s0", [(3, 5, 0, 1), (3, 2**63 - 1, 0, 1)])
    with pytest.warns(RuntimeWarning, match=r"failed at 3: .*Overflow in addition of .*\)($|, at)"):
        con.advance(3)
    assert [(5, 2, 1)] == con.changes("q").fetchall()
